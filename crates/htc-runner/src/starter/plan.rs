//! From configuration, ad and command line to a machine and what carries it out.
//!
//! The order is that of `JICLocal::init`: hooks, job, account, scratch directory, log. Whatever refuses the job is kept
//! in the machine, which then tells JOB_EXIT of it (quirk `starter-refusal-untold`).

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::credentials::{Credentials, Reading};
use super::file_transfer::{self, FileTransfer};
use super::job::Job;
use super::notice;
use super::plan_knobs::{Knobs, told_at_start, told_of_hooks};
use super::plan_places::{execute_directory, free_name, id_of, log_of, resolve};
use super::plan_request::Request;
use super::rights::{AdWriting, Rights};
use super::sandbox::Sandbox;
use super::user_log::{UserLog, looked_for_in_root};
use super::visa::Visa;
use super::volume::Limited;
use crate::hook_limits;
use htc_base::job::{Universe, attr};
use htc_base::process::Identity;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context};
use htc_config::{ValueError, View};
use htc_hook::transfer::TransferRequest;
use htc_os::{cgroup, mounts};
use htc_starter::container::Surroundings;
use htc_starter::disk;
use htc_starter::hooks::{self, Found};
use htc_starter::logical_volume::VolumeKnobs;
use htc_starter::not_done::With;
use htc_starter::virtual_machine::{self, VmPlace};
use htc_starter::{
    Hooks, JobInfo, Refusal, Setup, Starter, Vacate, job_info, process, remains_untold, untold_refusal,
};

/// Everything that [`super::run_with`] needs.
pub struct Plan<'w> {
    /// The machine.
    pub machine: Starter<'w>,
    /// What carries it out.
    pub job: Job,
    /// What a user should know before anything happens.
    pub warnings: Vec<String>,
    /// With what its shadow holds the job before it runs.
    pub held: Option<Vacate>,
}

/// Makes the plan. The job's log and ads, which are written later, have the modes that the umask of this process leaves them: a
/// program that stands for a daemon takes that of daemons before ([`htc_os::identity::take_umask`]).
///
/// # Errors
/// A knob that is no number or truth value where it has to be one. For a job that a slot has accepted that is a refusal,
/// which the machine knows.
pub fn plan<'w>(request: Request<'w>, view: &View<'_>) -> Result<Plan<'w>, ValueError> {
    let mut planning = Planning::begin(request, view)?;
    let credentials = planning.find_credentials();
    let held = planning.held.take();
    let file_transfer = planning.file_transfer()?;
    let job = planning.carrier(file_transfer, credentials)?;
    let warnings = std::mem::take(&mut planning.warnings);
    Ok(Plan { machine: Starter::new(planning.setup(&job)), job, warnings, held })
}

/// A plan that is being made, in the order of `JICLocal::init`.
struct Planning<'w, 'v> {
    request: Request<'w>,
    view: &'v View<'v>,
    knobs: Knobs,
    hooks: Hooks,
    /// The account of hooks.
    hook_identity: Option<Identity>,
    top: PathBuf,
    scratch: PathBuf,
    /// The ad as it came; that of the request has what a starter adds.
    submitted: ClassAd,
    visa: Option<Visa>,
    transfers: Option<TransferRequest>,
    rights: Rights,
    job: Result<JobInfo, Refusal>,
    held: Option<Vacate>,
    warnings: Vec<String>,
}

impl<'w, 'v> Planning<'w, 'v> {
    fn begin(mut request: Request<'w>, view: &'v View<'v>) -> Result<Self, ValueError> {
        let (world, quirks) = (request.world, request.quirks);
        let knobs = Knobs::read(&request, view)?;
        let mut warnings = told_at_start(&request, view);
        let found = hooks::find(&request.ad, view, world, quirks);
        warnings.extend(told_of_hooks(&found, &knobs, &request));
        let Found { mut hooks, refusal, .. } = found;
        let execute = execute_directory(&knobs.settings, &request.fallback_execute, quirks, view);
        let top = free_name(&execute, std::process::id(), world);
        let scratch = if knobs.settings.nested_scratch { top.join("scratch") } else { top.clone() };
        // The visa shows the ad as it came.
        let visa = Visa::asked_for(&request.ad, quirks, world);
        let submitted = request.ad.clone();
        let (transfers, info) = read_job(&mut request, &scratch, view);
        let rights = Rights::of(&request.ad, &request, view);
        warnings.extend(rights.warnings.iter().cloned());
        let refusal = refusal.or_else(|| knobs.refusal.clone());
        let job = match refusal {
            Some(refusal) => Err(refusal),
            None => info.and_then(|info| rights.refusal.clone().map_or(Ok(info), Err)),
        };
        let is_called = hooks.exit.is_some() && !untold_refusal(quirks).as_reference;
        let (hook_identity, said) = rights.of_hooks(is_called, world);
        warnings.extend(said);
        if hook_identity.is_err() {
            hooks = Hooks::default();
        }
        Ok(Planning {
            request,
            view,
            knobs,
            hooks,
            hook_identity: hook_identity.unwrap_or_default(),
            top,
            scratch,
            submitted,
            visa,
            transfers,
            rights,
            job,
            held: None,
            warnings,
        })
    }

    /// Looks for the credentials that the job needs, of which it is told.
    fn find_credentials(&mut self) -> Option<Credentials> {
        let login = self.rights.account.as_ref().map(|account| account.name.clone()).unwrap_or_default();
        let found = Reading {
            ad: &self.request.ad,
            scratch: &self.scratch,
            with: self.request.with,
            login: &login,
            view: self.view,
            quirks: self.request.quirks,
            world: self.request.world,
        }
        .find();
        self.warnings.extend(found.warnings);
        self.held = found.held;
        if let Ok(job) = &mut self.job {
            job.tokens = found.tokens;
        }
        found.credentials
    }

    /// What moves the job's files, where they are moved.
    fn file_transfer(&mut self) -> Result<Option<FileTransfer>, ValueError> {
        let Some(transfers) = self.transfers.clone() else { return Ok(None) };
        let about = file_transfer::About {
            ad: &self.submitted,
            view: self.view,
            world: self.request.world,
            job: self.rights.job.as_ref(),
        };
        let (helper, spool) = (self.request.helper.clone(), self.request.spool.clone());
        let (made, warnings) = file_transfer::make(transfers, about, helper, spool)?;
        self.warnings.extend(warnings);
        Ok(Some(made))
    }

    fn is_root(&self) -> bool {
        self.request.world.effective_uid() == 0
    }

    fn enforces_disk(&self) -> bool {
        disk::is_watched(&self.knobs.settings, self.request.quirks)
    }

    /// Who asks for an encrypted directory: ENCRYPT_EXECUTE_DIRECTORY, else the job, unless none is (`execDCStarter`).
    fn wants_encryption(&self) -> Result<Option<String>, ValueError> {
        let truth = |name: &str| self.view.boolean(name).map(|found| found.filter(|setting| setting.value));
        if truth("DISABLE_EXECUTE_DIRECTORY_ENCRYPTION")?.is_some() {
            return Ok(None);
        }
        const KNOB: &str = "ENCRYPT_EXECUTE_DIRECTORY";
        const OF_JOB: &str = "EncryptExecuteDirectory";
        let of_job = Context::new(self.request.world).my(&self.request.ad).boolean(OF_JOB) == Some(true);
        // What is no truth value has been told by whoever has read the settings.
        let asking = self.view.crufty(KNOB).ok().flatten().filter(|setting| setting.value);
        let asker = asking.map(|setting| format!("{KNOB} ({})", setting.origin.told()));
        Ok(asker.or(of_job.then(|| OF_JOB.into())))
    }

    /// Tells of a wish for encryption that no volume fulfils.
    fn told_of_encryption(&self, sandbox: &Sandbox) -> Result<Option<String>, ValueError> {
        let is_done = sandbox.volume.as_ref().is_some_and(|volume| volume.logical.is_some());
        let Some(asker) = self.wants_encryption()?.filter(|_| !is_done) else { return Ok(None) };
        let name = asker.split(' ').next().unwrap_or_default();
        let news = notice::is_news(self.request.private.as_deref(), name);
        Ok(news.then(|| {
            format!(
                "the scratch directory is not encrypted though {asker} asks for that: only a logical volume is \
                 (STARTD_ENFORCE_DISK_LIMITS with LVM_VOLUME_GROUP_NAME, as root), as in a pool"
            )
        }))
    }

    /// Tells of a volume that is to be seen by its job alone (`VolumeManager::CheckHideMount`).
    fn told_of_hiding(&self, sandbox: &Sandbox) -> Option<String> {
        const KNOB: &str = "LVM_HIDE_MOUNT";
        let is_made = sandbox.volume.as_ref().is_some_and(|volume| volume.logical.is_some());
        // Whatever is no truth value is AUTO, as nothing is.
        let asked = self.view.boolean(KNOB).ok().flatten();
        let is_hidden = asked.as_ref().map_or_else(|| self.may_hide(), |asked| asked.value);
        if !is_made || !is_hidden || !notice::is_news(self.request.private.as_deref(), KNOB) {
            return None;
        }
        let (knob, others) = match asked {
            Some(asked) => {
                (format!("{KNOB} = true ({})", asked.origin.told()), ", and jobs of docker are not taken")
            }
            None => (format!("{KNOB} is AUTO"), ""),
        };
        Some(format!(
            "{knob}: the job's volume is mounted where the whole machine sees it; in a pool the job alone does{others}"
        ))
    }

    /// Whether LVM_HIDE_MOUNT = AUTO hides the volume of this job (`isHideMountCompatible`).
    fn may_hide(&self) -> bool {
        let slot = self.request.machine.clone().unwrap_or_default();
        let of = |ad, name: &str| Context::new(self.request.world).my(ad).boolean(name).unwrap_or(false);
        let ad = &self.request.ad;
        let by_docker = of(ad, "WantDocker") || of(ad, "WantDockerImage") && of(&slot, "HasDocker");
        let universe = Context::new(self.request.world).my(ad).int(attr::JOB_UNIVERSE);
        !by_docker
            && universe.is_some_and(|universe| universe != Universe::Vm.number())
            && !of(ad, "IsTransferShadow")
    }

    /// A limit that is to be enforced, and that nobody has set.
    fn told_of_no_limit(&self) -> Option<String> {
        const KNOB: &str = "STARTD_ENFORCE_DISK_LIMITS";
        let slot = self.request.machine.clone().unwrap_or_default();
        let is_set = disk::limit_kib(&slot, &self.request.ad, self.request.world).is_some();
        let is_told = self.enforces_disk() && !is_set;
        (is_told && notice::is_news(self.request.private.as_deref(), KNOB)).then(|| {
            format!(
                "{KNOB} is true, and neither Disk of the slot nor RequestDisk is a number above 0: the job's directory has no limit"
            )
        })
    }

    fn sandbox(&self) -> Result<Sandbox, ValueError> {
        let (settings, quirks) = (&self.knobs.settings, self.request.quirks);
        let slot = self.request.machine.clone().unwrap_or_default();
        let is_limited =
            self.enforces_disk() && self.is_root() && mounts::may_mount() && settings.move_on_exit.is_none();
        let volume = disk::limit_kib(&slot, &self.request.ad, self.request.world)
            .and_then(|kib| u64::try_from(kib).ok())
            .filter(|_| is_limited)
            .map(|kib| (kib, self.request.slot.as_slice()));
        let logical = VolumeKnobs::read(self.view)?;
        let encrypted = self.wants_encryption()?.is_some();
        let volume = volume.map(|(kib, slot)| {
            let logical = logical.map(|knobs| knobs.volume(slot, std::process::id(), kib));
            let logical = logical.map(|volume| volume.encrypting(encrypted));
            Limited::new(kib.saturating_mul(1024), logical)
        });
        Ok(Sandbox {
            top: self.top.clone(),
            scratch: self.scratch.clone(),
            mode: settings.scratch_mode,
            owner: self.rights.job.clone(),
            condor: self.rights.condor.clone(),
            move_to: settings.move_on_exit.clone(),
            delay: settings.remove_delay,
            volume,
            made_as_condor: quirks.has(Quirk::ScratchMadeAsCondor),
            keeps_modes: !remains_untold(quirks).as_reference,
        })
    }

    /// The job's own log; schedd and shadow keep another.
    fn log(&self) -> Result<Option<UserLog>, ValueError> {
        let Request { ad, quirks, log, .. } = &self.request;
        match &self.job {
            Ok(info) if self.request.with == With::Nobody => {
                log_of((ad, info), &self.scratch, (self.view, log.clone()), *quirks)
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// A log in the scratch directory is gone with it.
    fn told_of_log(&self) -> Option<String> {
        let Request { ad, world, quirks, log, with, .. } = &self.request;
        let name = Context::new(*world).my(ad).string("StarterUserLog").filter(|_| *with == With::Nobody)?;
        let in_root = self.job.as_ref().ok().and_then(|job| looked_for_in_root(&job.iwd, *quirks))?;
        let goes = log.is_none() && !name.starts_with(b"/") && !in_root.as_reference;
        goes.then(|| {
            format!(
                "the job's log '{name}' lies in the scratch directory and is removed with it, since Iwd is empty; {}",
                in_root.quirk.told()
            )
        })
    }

    fn virtual_machine(&self) -> Result<Option<Vec<String>>, ValueError> {
        let place = VmPlace {
            server: self.view.string("VM_GAHP_SERVER")?.map(|server| server.value),
            scratch: &self.scratch,
            account: self.rights.job.as_ref(),
            world: self.request.world,
        };
        Ok(virtual_machine::describe(&self.request.ad, &place))
    }

    fn ad_writing(&self) -> AdWriting {
        self.rights.ad_writing(&self.scratch, self.request.quirks, self.request.world)
    }

    fn named(&self, path: &BString) -> PathBuf {
        resolve(path, &self.ad_writing().base)
    }

    fn daemon_home(&self) -> Option<BString> {
        let world = self.request.world;
        let uid = self.rights.condor.as_ref().map_or_else(|| world.effective_uid(), |condor| condor.uid);
        world.account_by_uid(uid).map(|account| account.home)
    }

    /// What carries the job out.
    fn carrier(
        &mut self,
        file_transfer: Option<FileTransfer>,
        credentials: Option<Credentials>,
    ) -> Result<Job, ValueError> {
        let visa = self.visa.take();
        let sandbox = self.sandbox()?;
        let told = self.told_of_encryption(&sandbox)?;
        self.warnings.extend(told);
        self.warnings.extend(self.told_of_hiding(&sandbox));
        self.warnings.extend(self.told_of_no_limit());
        self.warnings.extend(self.told_of_log());
        let (request, settings) = (&self.request, &self.knobs.settings);
        let (world, quirks) = (request.world, request.quirks);
        let moves = quirks.decide(Quirk::HupMovesHooks);
        let log = self.view.string("LOG").ok().flatten().filter(|_| moves.as_reference);
        let job = self.job.as_ref();
        Ok(Job {
            measures_disk: file_transfer.is_some() || self.enforces_disk(),
            file_transfer,
            virtual_machine: self.virtual_machine()?,
            credentials,
            daemon_home: self.daemon_home(),
            sandbox,
            identity: self.hook_identity.clone(),
            hook_environment: request.environment.for_hooks(quirks),
            hook_limits: hook_limits::of_daemon(self.view),
            hook_stack: process::stack_limit(&request.ad, world),
            output_limit: self.knobs.output_limit,
            quirks,
            environment: request.environment.variables().to_vec(),
            // A relative one counts from where the job begins.
            iwd: job.map_or_else(|_| self.scratch.clone(), |job| self.scratch.join(job.iwd.to_path_lossy())),
            id: job.map_or_else(|_| id_of(&request.ad, quirks, world), JobInfo::id),
            slot: request.event_slot.clone().unwrap_or_else(|| request.slot.to_string()),
            update_ad: request.update_ad.as_ref().map(|path| self.named(path)),
            output_ad: request.output_ad.as_ref().filter(|path| *path != "-").map(|path| self.named(path)),
            ad_writer: self.ad_writing().writer,
            wrapper_reader: self.rights.wrapper_reader(quirks),
            log: self.log()?,
            visa,
            affinity: self.knobs.affinity.clone(),
            dedicated: self.rights.dedicated,
            snapshot: settings.snapshot,
            polling: self.knobs.polling,
            ad: request.ad.clone(),
            proportional: settings.proportional,
            private: request.private.clone(),
            timeout: request.timeout,
            orphan_grace: request.orphan_grace,
            log_directory: log.map(|log| log.value.to_path_lossy().into_owned()).ok_or(moves.quirk),
            reread: false,
            skew_us: request.skew_us,
        })
    }

    /// What the machine is made from.
    fn setup(self, job: &Job) -> Setup<'w> {
        let quirks = self.request.quirks;
        let can_mount = self.is_root() && mounts::may_mount();
        let surroundings = Surroundings {
            slot_directory: self.top,
            account: self.rights.own,
            processors: self.knobs.affinity,
            daemon_home: job.daemon_home.clone(),
        };
        let moves = || file_transfer::moves(self.transfers.as_ref(), self.request.world);
        let output_ad = job.output_ad.clone().map(|path| BString::from(path.into_os_string().into_vec()));
        Setup {
            world: self.request.world,
            quirks,
            moves: (self.request.with == With::Shadow).then(moves),
            ad: self.request.ad,
            machine: self.request.machine,
            job: self.job,
            settings: self.knobs.settings,
            hooks: self.hooks,
            scratch: self.scratch,
            starter_pid: std::process::id(),
            own_environment: job.environment.clone(),
            slot: self.request.slot,
            home: self.rights.account.map(|account| account.home),
            output_ad,
            can_mount,
            no_groups: (quirks.has(Quirk::GroupsUnfound) && !cgroup::reference_would())
                .then(|| "HTCondor 25.14 finds no control groups here".to_owned()),
            hook_timeout: self.request.hook_timeout,
            surroundings,
            shell: self.request.shell,
        }
    }
}

/// What the job wants to have moved, and what is read from its ad, which that completes.
fn read_job(
    request: &mut Request<'_>,
    scratch: &Path,
    view: &View<'_>,
) -> (Option<TransferRequest>, Result<JobInfo, Refusal>) {
    let Request { world, quirks, with, ad, overrides, .. } = request;
    let (world, quirks) = (*world, *quirks);
    let transfers = match with {
        With::Shadow => file_transfer::request(ad, view, world),
        With::Nobody | With::Schedd => Ok(None),
    };
    match transfers {
        Ok(Some(transfers)) => {
            let info = job_info::read_transferred(ad, scratch, &transfers, (quirks, world));
            (Some(transfers), info.map(|info| info.with(overrides)))
        }
        Ok(None) => (None, job_info::read(ad, scratch, quirks, world).map(|info| info.with(overrides))),
        Err(refusal) => (None, Err(refusal)),
    }
}
