//! From configuration, ad and command line to a machine and what carries it out.
//!
//! The order is that of `JICLocal::init`: hooks, job, account, scratch directory, log. Whatever refuses the job is kept
//! in the machine, which then tells JOB_EXIT of it (quirk `starter-refusal-untold`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::accounts;
use super::carriage;
use super::credentials::Credentials;
use super::job::Job;
use super::notice;
use super::sandbox::Sandbox;
use super::user_log::{LogSettings, Opening, UserLog};
use super::visa::Visa;
use crate::classad::{ClassAd, Context};
use crate::config::not_done::NotDone;
use crate::config::{ValueError, View};
use crate::job::attr;
use crate::os::{cgroup, identity, mounts};
use crate::process::Identity;
use crate::quirks::{Quirk, Quirks};
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::hook_limits;
use crate::starter::container::Surroundings;
use crate::starter::disk;
use crate::starter::hooks::{self, Found};
use crate::starter::not_done::With;
use crate::starter::virtual_machine::{self, VmPlace};
use crate::starter::{JobInfo, Overrides, Refusal, Settings, Setup, Starter, job_info, not_done};
use crate::world::{Account, World};

/// What a caller knows of the job and wants of its run.
pub struct Request<'w> {
    /// Where everything else is asked.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: Quirks,
    /// The job's ad as it was read, completed from the configuration where a keyword was given.
    pub ad: ClassAd,
    /// What the starter was itself started with.
    pub environment: DaemonEnvironment,
    /// The slot's ad the job was accepted with.
    pub machine: Option<ClassAd>,
    /// Ids and standard files of the command line.
    pub overrides: Overrides,
    /// Name of the slot for variables; empty for none.
    pub slot: BString,
    /// Name of the slot for events, if it is another.
    pub event_slot: Option<String>,
    /// `-job-output-ad`: `-` is standard output, which is the caller's business.
    pub output_ad: Option<BString>,
    /// `-job-update-ad`.
    pub update_ad: Option<BString>,
    /// Limit for hooks that the reference waits for without end.
    pub hook_timeout: Option<Duration>,
    /// Limit for the whole job.
    pub timeout: Option<Duration>,
    /// How long the job may go on when whoever started this program is gone.
    pub orphan_grace: Option<Duration>,
    /// The slot runner's private directory.
    pub private: Option<PathBuf>,
    /// A directory for scratch directories where the configuration names none.
    pub fallback_execute: PathBuf,
    /// What is added to the wall clock, in microseconds.
    pub skew_us: i64,
    /// Who of a pool is played beside the starter.
    pub with: With,
    /// The helper that moves files: a program and its words.
    pub helper: (PathBuf, Vec<BString>),
    /// Where checkpoints and the output of evicted jobs are kept for the next run.
    pub spool: Option<PathBuf>,
    /// A shell for a person instead of the job.
    pub shell: Option<BString>,
    /// The job's log instead of that which its ad names.
    pub log: Option<PathBuf>,
}

/// Everything that [`super::run_with`] needs.
pub struct Plan<'w> {
    /// The machine.
    pub machine: Starter<'w>,
    /// What carries it out.
    pub job: Job,
    /// What a user should know before anything happens.
    pub warnings: Vec<String>,
}

/// Makes the plan. The process's file mask becomes that of all daemons, whatever the caller's is: the job's log and ads,
/// which are written later, have its modes.
///
/// # Errors
/// A knob that is no number or truth value where it has to be one. For a job that a slot has accepted that is a refusal,
/// which the machine knows.
pub fn plan<'w>(request: Request<'w>, view: &View<'_>) -> Result<Plan<'w>, ValueError> {
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let Request { world, quirks, mut ad, machine, overrides, .. } = request;
    let with_shadow = request.with == With::Shadow;
    let slot_ad = machine.as_ref().filter(|_| with_shadow || !quirks.has(Quirk::MachineAdEmpty));
    // A job that a slot has accepted is not left to its silence: JOB_EXIT is told.
    let mut refuses = Refuses { accepted: request.private.is_some(), reason: None };
    let configured = || Settings {
        execute: view.string("EXECUTE").ok().flatten().map(|path| path.value.to_path_lossy().into_owned()),
        ..Settings::default()
    };
    let settings = match quirks.has(Quirk::StarterExceptions) {
        true => Settings::read_late(view, slot_ad, world)?,
        false => refuses.or_else(Settings::read(view, slot_ad, world), configured)?,
    };
    let output_limit = refuses.or_else(output_limit(view), || crate::runner::hook_call::PIPE_BUFFER_MAX)?;
    let affinity = match affinity(view, &request.slot) {
        // It is among the faults of the settings.
        Err(_) if quirks.has(Quirk::StarterExceptions) => Vec::new(),
        read => refuses.or_else(read, Vec::new)?,
    };
    let mut warnings = Vec::new();
    warnings.extend(told_at_start(&ad, view, request.private.as_deref(), request.with, world));
    let own = request.environment.variables().to_vec();
    let root = world.effective_uid() == 0;

    let Found { mut hooks, lookup, refusal } = hooks::find(&ad, view, world, quirks);
    let refusal = refusal.or(refuses.reason);
    let no_execute = settings.execute.is_none().then_some(Quirk::NoExecuteCrashes);
    for quirk in lookup.quirk.filter(|quirk| !quirks.has(*quirk)).into_iter().chain(no_execute) {
        warnings.push(format!("in HTCondor 25.14 {} ({})", quirk.line(), quirk.id()));
    }
    if let Some(keyword) = lookup.keyword.as_ref().filter(|_| {
        refusal.is_none()
            && hooks.prepare.is_none()
            && hooks.update.is_none()
            && hooks.exit.is_none()
            && !quirks.has(Quirk::HooklessKeywordSilent)
    }) && notice::is_news(request.private.as_deref(), &no_hook_mark(keyword))
    {
        warnings.push(format!(
            "neither {keyword}_HOOK_PREPARE_JOB nor _UPDATE_JOB_INFO nor _JOB_EXIT is set: jobs of the keyword \
             '{keyword}' run without hooks"
        ));
    }
    let execute = execute_directory(&settings, &request.fallback_execute, quirks, view);
    let top = free_name(&execute, std::process::id(), world);
    let scratch = if settings.nested_scratch { top.join("scratch") } else { top.clone() };

    // The visa shows the ad as it came.
    let visa = Visa::asked_for(&ad, address(world), quirks, world);
    let wishes = match request.with {
        With::Shadow => carriage::wishes(&ad, view, world),
        With::Nobody | With::Schedd => Ok(None),
    };
    let submitted = ad.clone();
    let info = match &wishes {
        Ok(Some(wishes)) => {
            job_info::read_transferred(&mut ad, &scratch, wishes, &overrides, (quirks, world))
        }
        Ok(None) => job_info::read(&mut ad, &scratch, &overrides, quirks, world),
        Err(refusal) => Err(refusal.clone()),
    };
    let account = accounts::choose(&ad, view, &request.slot, request.with, quirks);
    let (account, refused) = match account {
        Ok(chosen) => {
            warnings.extend(accounts::told(&chosen, root));
            (Some(chosen), None)
        }
        Err(refusal) => (None, Some(refusal)),
    };
    let dedicated = account.as_ref().filter(|chosen| chosen.dedicated).map(|chosen| chosen.account.uid);
    let account = account.map(|chosen| chosen.account);
    let job: Result<JobInfo, Refusal> = match (refusal, info, refused) {
        (Some(refusal), _, _) | (None, Err(refusal), _) | (None, Ok(_), Some(refusal)) => Err(refusal),
        (None, Ok(info), None) => Ok(info),
    };
    let credentials = match request.with {
        With::Shadow => Credentials::read(&ad, &scratch, view, world),
        With::Nobody | With::Schedd => None,
    };
    let credentials = match credentials {
        Some(Ok(credentials)) => {
            warnings.push(
                "the job's tokens (OAuthServicesNeeded) are laid down once: a pool brings new ones every SEC_CREDENTIAL_REFRESH seconds"
                    .to_owned(),
            );
            Some(credentials)
        }
        Some(Err(why)) => {
            warnings.push(format!("no tokens (OAuthServicesNeeded): {why}"));
            None
        }
        None => None,
    };
    let job = job.map(|job| {
        let directory =
            |credentials: &Credentials| credentials.directory.as_os_str().as_encoded_bytes().into();
        JobInfo { credentials: credentials.as_ref().map(directory), ..job }
    });
    let condor = if root { accounts::condor_identity(view, world) } else { None };
    // Groups are looked up through all that the machine's accounts come from.
    let own_identity = account.as_ref().map(identity::of_account);
    // Only a shadow's starter knows PrimaryUnixGroup; a job whose owner is not in it was held before.
    let in_group = |job: Identity| match request.with {
        With::Shadow => accounts::in_primary_group(job.clone(), &ad, world).unwrap_or(job),
        With::Nobody | With::Schedd => job,
    };
    let job_identity = own_identity.clone().filter(|_| root).map(in_group);
    let hook_identity = match (&job_identity, root) {
        (None, true) => {
            let is_called = hooks.exit.is_some() && !quirks.has(Quirk::StarterRefusalUntold);
            let (identity, said) = hook_identity_without_account(condor.as_ref(), is_called, world);
            warnings.extend(said);
            // Never root.
            if identity.is_none() {
                hooks = Default::default();
            }
            identity
        }
        (identity, _) => identity.clone(),
    };
    let output_ad = request.output_ad.filter(|path| path != "-");
    let resolve = |path: &BString| resolve(path, &scratch, quirks, world);
    let output_path = output_ad.as_ref().map(resolve);
    // Whose supplementary groups are those of the job's account by then: `set_condor_egid` leaves them.
    let condor_in_job = condor.clone().map(|condor| match &job_identity {
        Some(job) => Identity { groups: job.groups.clone(), ..condor },
        None => condor,
    });
    // Relative names lie in the job's directory then: not with root's rights.
    let ad_writer = match quirks.has(Quirk::OutputAdAsCondor) {
        true => condor_in_job.clone().or_else(|| job_identity.clone()),
        false => None,
    };
    // Never with more rights than those who may write there.
    let wrapper_reader = match quirks.has(Quirk::WrapperErrorFileIgnored) {
        true => condor_in_job.or_else(|| job_identity.clone()),
        false => job_identity.clone(),
    };
    let log = match &job {
        Ok(info) if request.with == With::Nobody => {
            log_of((&ad, info), &scratch, (view, request.log.clone()), quirks, world)?
        }
        // Schedd and shadow keep another.
        Ok(_) | Err(_) => None,
    };
    let stack = Context::new(world).my(&ad).int("StackSize");
    let hook_stack = stack.and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0);
    let daemon_uid = condor.as_ref().map_or_else(|| world.effective_uid(), |condor| condor.uid);
    let daemon_home = world.account_by_uid(daemon_uid).map(|account| account.home);
    let surroundings = Surroundings {
        slot_directory: top.clone(),
        account: own_identity,
        processors: affinity.clone(),
        daemon_home: daemon_home.clone(),
    };
    let moves = (request.with == With::Shadow)
        .then(|| carriage::moves(wishes.as_ref().ok().and_then(Option::as_ref), world));
    let carriage = match wishes.ok().flatten() {
        Some(wishes) => {
            let about = carriage::About { ad: &submitted, view, world, job: job_identity.as_ref() };
            let made = carriage::make(wishes, about, request.helper, request.spool)?;
            warnings.extend(made.1);
            Some(made.0)
        }
        None => None,
    };
    let place = VmPlace {
        server: view.string("VM_GAHP_SERVER")?.map(|server| server.value),
        scratch: &scratch,
        account: job_identity.as_ref(),
        world,
    };
    let virtual_machine = virtual_machine::describe(&ad, &place);
    let enforces_disk = settings.enforce_disk && !quirks.has(Quirk::DiskUnwatched);
    let carriage_is_there = carriage.is_some();
    let polling = view.int("POLLING_INTERVAL")?.map_or(5, |setting| setting.value);
    let volume = disk::limit_kib(machine.as_ref().unwrap_or(&ClassAd::new()), &ad, world)
        .and_then(|kib| u64::try_from(kib).ok())
        .filter(|_| enforces_disk && root && mounts::may_mount() && settings.move_on_exit.is_none())
        .map(|kib| kib.saturating_mul(1024));
    let job_plan = Job {
        carriage,
        virtual_machine,
        credentials,
        daemon_home,
        sandbox: Sandbox {
            top,
            scratch: scratch.clone(),
            mode: settings.scratch_mode,
            owner: job_identity,
            condor,
            move_to: settings.move_on_exit.clone(),
            delay: settings.remove_delay,
            volume,
            made_as_condor: quirks.has(Quirk::ScratchMadeAsCondor),
            keeps_modes: !quirks.has(Quirk::UnremovableScratchSilent),
        },
        identity: hook_identity,
        hook_environment: request.environment.for_hooks(quirks),
        hook_limits: hook_limits::of_daemon(view),
        hook_stack,
        output_limit,
        quirks,
        environment: own.clone(),
        // A relative one counts from where the job begins.
        iwd: job.as_ref().map_or_else(|_| scratch.clone(), |info| scratch.join(info.iwd.to_path_lossy())),
        id: job.as_ref().map_or_else(|_| id_of(&ad, quirks, world), JobInfo::id),
        slot: request.event_slot.unwrap_or_else(|| request.slot.to_string()),
        update_ad: request.update_ad.as_ref().map(resolve),
        output_ad: output_path.clone(),
        ad_writer,
        wrapper_reader,
        log,
        visa,
        affinity,
        dedicated,
        snapshot: settings.snapshot,
        polling: Duration::from_secs(polling.max(1).unsigned_abs()),
        ad: ad.clone(),
        proportional: settings.proportional,
        measures_disk: carriage_is_there || enforces_disk,
        private: request.private,
        timeout: request.timeout,
        orphan_grace: request.orphan_grace,
        log_directory: match quirks.has(Quirk::HupMovesHooks) {
            true => view.string("LOG").ok().flatten().map(|log| log.value.to_path_lossy().into_owned()),
            false => None,
        },
        reread: false,
        skew_us: request.skew_us,
    };
    let home = account.as_ref().map(|account: &Account| account.home.clone());
    let machine = Starter::new(Setup {
        world,
        quirks,
        ad,
        machine,
        job,
        settings,
        hooks,
        scratch,
        starter_pid: std::process::id(),
        own_environment: own,
        slot: request.slot,
        home,
        output_ad: output_path.map(|path| BString::from(path.into_os_string().into_vec())),
        can_mount: root && mounts::may_mount(),
        no_groups: (quirks.has(Quirk::GroupsUnfound) && !cgroup::reference_would())
            .then(|| "HTCondor 25.14 finds no control groups here".to_owned()),
        hook_timeout: request.hook_timeout,
        surroundings,
        moves,
        shell: request.shell,
    });
    Ok(Plan { machine, job: job_plan, warnings })
}

/// The name of the mark that says that a keyword without hooks has been told of.
fn no_hook_mark(keyword: &[u8]) -> String {
    let plain = |letter: &u8| if letter.is_ascii_alphanumeric() { char::from(*letter) } else { '_' };
    format!("no-hook-{}", keyword.iter().map(plain).collect::<String>())
}

/// What becomes of knobs that are wrong.
struct Refuses {
    /// Whether the job has been accepted by a slot.
    accepted: bool,
    reason: Option<Refusal>,
}

impl Refuses {
    /// A value, or for an accepted job another in its place, with the reason kept.
    fn or_else<T>(
        &mut self,
        read: Result<T, ValueError>,
        instead: impl FnOnce() -> T,
    ) -> Result<T, ValueError> {
        match read {
            Err(error) if self.accepted => {
                self.reason.get_or_insert(Refusal::Knob { reason: error.to_string() });
                Ok(instead())
            }
            read => read,
        }
    }
}

/// Whether a starter could read its knobs, whatever the job.
///
/// # Errors
/// A knob that is no number or truth value where it has to be one.
pub fn check_knobs(view: &View<'_>, world: &dyn World) -> Result<(), ValueError> {
    Settings::read(view, None, world)?;
    output_limit(view)?;
    affinity(view, b"slot1")?;
    Ok(())
}

/// What the job asks for and is not done, and where no slot runner has told it what of the configuration is not.
fn told_at_start(
    ad: &ClassAd,
    view: &View<'_>,
    private: Option<&Path>,
    with: With,
    world: &dyn World,
) -> Vec<String> {
    let mut lines = match private {
        None => NotDone::of(view).lines(view, &["starter"]),
        Some(_) => Vec::new(),
    };
    let asked = not_done::told(ad, with, world).into_iter();
    let untold = asked.filter(|told| notice::is_news(private, &told.attributes));
    lines.extend(untold.map(|told| told.line));
    let dead = ad.contains("RequestedChroot") || view.is_defined("NAMED_CHROOT");
    if dead && notice::is_news(private, "chroot") {
        let line = "RequestedChroot and NAMED_CHROOT change nothing: HTCondor 25.14 knows no chroots any more (use a container)";
        lines.push(line.to_owned());
    }
    lines
}

/// Where scratch directories are made.
///
/// # Errors
/// A knob that is no number or truth value where it has to be one.
pub fn execute(view: &View<'_>, fallback: &Path, world: &dyn World) -> Result<PathBuf, ValueError> {
    Ok(execute_directory(&Settings::read(view, None, world)?, fallback, Quirks::None, view))
}

/// EXECUTE, where some source sets it or its directory is there; else a directory of ours.
fn execute_directory(settings: &Settings, fallback: &Path, quirks: Quirks, view: &View<'_>) -> PathBuf {
    let set = |name: &str| view.raw(name).is_some_and(|setting| !setting.origin.is_default());
    match &settings.execute {
        Some(execute)
            if quirks.has(Quirk::ExecuteUnchecked)
                || set("EXECUTE")
                || set("LOCAL_DIR")
                || execute.is_dir() =>
        {
            execute.clone()
        }
        _ => fallback.to_owned(),
    }
}

/// `dir_<pid>`, or with a number behind it where a starter that was killed has left one.
fn free_name(execute: &Path, pid: u32, world: &dyn World) -> PathBuf {
    // Put together as text: an EXECUTE that ends in a slash shows two in all that names the directory.
    let named = |name: String| {
        let mut path = execute.as_os_str().to_owned();
        path.push("/");
        path.push(name);
        PathBuf::from(path)
    };
    let plain = named(format!("dir_{pid}"));
    let taken = |path: &PathBuf| world.stat(path).is_ok();
    if !taken(&plain) {
        return plain;
    }
    let numbered = (1..1000).map(|number| named(format!("dir_{pid}.{number}")));
    numbered.into_iter().find(|path| !taken(path)).unwrap_or(plain)
}

/// Who runs JOB_EXIT for a job that has no account here, and what is said of it: the account of daemons, else `nobody`, as
/// jobs of unknown users have it. Daemons of 25.14 do not start as root without an account (`uids.cpp`,
/// `init_condor_ids`), and their starter calls no hook for a job that it refuses.
fn hook_identity_without_account(
    condor: Option<&Identity>,
    is_called: bool,
    world: &dyn World,
) -> (Option<Identity>, Option<String>) {
    if let Some(condor) = condor {
        return (Some(condor.clone()), None);
    }
    let nobody = world.account_by_name(b"nobody").filter(|account| account.uid != 0);
    let nobody = nobody.map(|account| identity::of_account(&account));
    let who = match nobody {
        Some(_) => "JOB_EXIT runs as 'nobody'",
        None => "JOB_EXIT is not called for this job, as hooks do not run as root",
    };
    let said = is_called.then(|| {
        format!(
            "{who}: the job has no account here, and CONDOR_IDS names no ordinary one, nor is there an account 'condor' (daemons of a \
             pool do not start so); set CONDOR_IDS = UID.GID"
        )
    });
    (nobody, said)
}

/// Names on the command line: 25.14 takes relative ones below the scratch directory, which is removed; by default they
/// lie where the caller is.
fn resolve(path: &BString, scratch: &Path, quirks: Quirks, world: &dyn World) -> PathBuf {
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let base = match quirks.has(Quirk::OutputAdAsCondor) {
        true => scratch.to_owned(),
        false => world.current_dir().unwrap_or_default(),
    };
    base.join(path)
}

/// The processors of the slot where ENFORCE_CPU_AFFINITY is true: STARTD_ASSIGNED_AFFINITY, else SLOT<N>_CPU_AFFINITY,
/// else the one of the slot's number (`OsProc::StartJob`). Empty: all.
fn affinity(view: &View<'_>, slot: &[u8]) -> Result<Vec<usize>, ValueError> {
    let wanted = view.boolean("ENFORCE_CPU_AFFINITY")?.is_some_and(|setting| setting.value);
    let digits = slot.to_str_lossy();
    let digits = digits.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let Some(number) = digits[..end].parse::<usize>().ok().filter(|number| wanted && *number > 0) else {
        return Ok(Vec::new());
    };
    for name in ["STARTD_ASSIGNED_AFFINITY".to_owned(), format!("SLOT{number}_CPU_AFFINITY")] {
        if let Some(list) = view.list(&name)? {
            let number =
                |cpu: &BString| usize::try_from(crate::starter::job_source::leading_number(cpu)).ok();
            return Ok(list.value.iter().filter_map(number).collect());
        }
    }
    Ok(vec![number - 1])
}

/// PIPE_BUFFER_MAX.
fn output_limit(view: &View<'_>) -> Result<usize, ValueError> {
    let setting = view.int("PIPE_BUFFER_MAX")?;
    let configured = setting.and_then(|setting| usize::try_from(setting.value).ok());
    Ok(configured.filter(|limit| *limit > 0).unwrap_or(crate::runner::hook_call::PIPE_BUFFER_MAX))
}

fn log_of(
    (ad, job): (&ClassAd, &JobInfo),
    scratch: &Path,
    (view, named): (&View<'_>, Option<PathBuf>),
    quirks: Quirks,
    world: &dyn World,
) -> Result<Option<UserLog>, ValueError> {
    if !ad.contains("StarterUserLog") && named.is_none() {
        return Ok(None);
    }
    let settings = LogSettings::read(view, named)?;
    let daemon = if world.effective_uid() == 0 { accounts::condor_identity(view, world) } else { None };
    let (settings, address) = (&settings, address(world));
    Ok(UserLog::asked_for(&Opening { ad, job, scratch, settings, daemon, address, quirks, world }))
}

/// What stands for the starter's address: there is no command port to name.
fn address(world: &dyn World) -> BString {
    format!("<{}:0>", world.machine().ip_address).into()
}

/// The id of a job that is refused, as far as its ad has one.
fn id_of(ad: &ClassAd, quirks: Quirks, world: &dyn World) -> String {
    let id = |name: &str| job_info::id(ad, name, quirks, world);
    let (cluster, proc) = (id(attr::CLUSTER_ID), id(attr::PROC_ID));
    format!("{}.{}", cluster.unwrap_or(1), proc.unwrap_or(0))
}

/// The slot's name where only that of the log tells it: what follows the first dot before `slot`, or before another
/// prefix of slot names. `-a slot1_2` makes the log `StarterLog.slot1_2` (`Starter::getMySlotName`).
pub fn slot_of_log(log: &[u8], prefix: &[u8]) -> BString {
    let name = log.rsplit(|byte| *byte == b'/').next().unwrap_or(log);
    let marked = [b".", prefix].concat();
    name.find(&marked).map_or_else(BString::default, |at| name[at + 1..].into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn the_slot_stands_behind_the_dot_in_the_name_of_the_log() {
        assert_eq!(slot_of_log(b"/var/StarterLog.slot2", b"slot"), "slot2");
        assert_eq!(slot_of_log(b"StarterLog.x.slot1_3", b"slot"), "slot1_3");
        assert_eq!(slot_of_log(b"Log.slot7.x", b"slot"), "slot7.x");
        assert_eq!(slot_of_log(b"StarterLog.myslot2", b"slot"), "");
        assert_eq!(slot_of_log(b"/var/log.slot1/StarterLog", b"slot"), "");
        assert_eq!(slot_of_log(b"StarterLog.vm3", b"vm"), "vm3");
    }

    #[test]
    fn keywords_without_hooks_have_marks_of_their_own() {
        assert_eq!(no_hook_mark(b"A_1"), "no-hook-A_1");
        assert_eq!(no_hook_mark(b"../b.c"), "no-hook-___b_c");
    }

    #[test]
    fn paths_of_bytes_stay_what_they_are() {
        let world = crate::os::RealWorld::new();
        let path = resolve(&"/x/\u{e9}".into(), Path::new("/s"), Quirks::Reference, &world);
        assert_eq!(path.as_os_str().as_bytes(), "/x/\u{e9}".as_bytes());
    }
}
