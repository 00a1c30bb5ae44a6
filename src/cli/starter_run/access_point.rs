//! `--as shadow` and `--as local`: acts as the access point of one job, and runs the helper that transfers its files.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use bstr::{BString, ByteSlice};
use nix::libc;

use super::super::common::{Problem, ProgramContext, Status, stdout};
use super::control_client;
use super::options::{StarterRole, is_standard_stream};
use super::starter_invocation::{StarterInvocation, keep_unwritten_ad};
use crate::classad::format::long;
use crate::classad::{ClassAd, Context, System};
use crate::config::{ConfigView, ValueError};
use crate::hook::ParameterSource;
use crate::job::{HoldCode, JobStatus, Universe, attr};
use crate::os::{self, Reactor, clock};
use crate::process::{Exit, ProcessIdentity};
use crate::runner::events::EventStream;
use crate::runner::parent_process::ParentWatch;
use crate::runner::shadow::{self, PolicyParameters, ShadowRunInputs};
use crate::runner::starter::{
    Plan, RunRequest, UserLog, UserLogInputs, UserLogSettings, condor_identity, handled_signals,
    in_primary_group, plan, queue_owner,
};
use crate::runner::transfer::execute_task;
use crate::shadow::{RunLimit, ShadowSetup};
use crate::starter::job_info::JobInfo;
use crate::text::plural::counted;
use crate::transfer::TransferTask;
use crate::world::World;

/// Runs the transfer helper, which reads a task from standard input and writes its result to standard output.
pub(super) fn run_transfer_helper() -> anyhow::Result<Status> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text).context("cannot read the list of files to transfer")?;
    let task: TransferTask = serde_json::from_slice(&text).with_context(|| {
        Problem::usage("--carry is used only by the starter, which writes a task to standard input")
    })?;
    let carried = execute_task(&task).context("cannot change to the account that transfers files")?;
    let mut stdout = stdout();
    stdout.write_all(&serde_json::to_vec(&carried)?)?;
    stdout.flush()?;
    Ok(Status::Done)
}

/// Retries of a starter of the local universe that reports to its queue (`JICLocalSchedd::retryJobCleanup`).
struct CleanupRetries {
    /// Maximum number of tries: LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES.
    tries: i64,
    /// Time between two tries: LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY.
    delay: Duration,
}

impl CleanupRetries {
    fn from_config(view: &ConfigView<'_>) -> Result<Self, ValueError> {
        let int = |name: &str, default: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(default, |setting| setting.value))
        };
        let delay = int("LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY", 30)?.max(0).unsigned_abs();
        Ok(CleanupRetries {
            tries: int("LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES", 5)?,
            delay: Duration::from_secs(delay),
        })
    }

    /// Waits until the next try; returns false if a shutdown is requested during the wait.
    fn wait(
        &self,
        error: &std::io::Error,
        tries: i64,
        reactor: &mut Reactor,
        session: &ProgramContext,
    ) -> anyhow::Result<bool> {
        session.warn(&format!(
            "cannot write the job's ad to standard output: {error}; tried again in {} s, {} \
             (LOCAL_UNIVERSE_JOB_CLEANUP_RETRY_DELAY, LOCAL_UNIVERSE_MAX_JOB_CLEANUP_RETRIES)",
            self.delay.as_secs(),
            counted(tries, "more time")
        ));
        let end = clock::monotonic_now().plus(self.delay);
        while clock::monotonic_now() < end {
            let event = reactor.next_event(Some(end)).context("cannot wait")?;
            if matches!(event, os::ReactorEvent::Signal(libc::SIGTERM | libc::SIGINT | libc::SIGQUIT)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Inputs of a run with an access point.
pub(super) struct AccessPointRunSetup<'w> {
    pub(super) view: &'w ConfigView<'w>,
    pub(super) world: &'w dyn World,
    pub(super) ad: ClassAd,
    pub(super) machine: Option<ClassAd>,
    pub(super) until: RunLimit,
    pub(super) local: bool,
    /// Spool directory, in which a job keeps files for its next run, or `None`.
    pub(super) spool: Option<&'w Path>,
}

impl StarterInvocation<'_> {
    /// Runs the job, and prints its ad as it would be in the queue. `request` creates the request for a run from the
    /// job ad.
    pub(super) fn run_job_as_queue_does<'w>(
        &self,
        setup: AccessPointRunSetup<'w>,
        request: &dyn Fn(ClassAd) -> RunRequest<'w>,
        stream: &mut EventStream,
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        let (view, world, spool, local) = (setup.view, setup.world, setup.spool, setup.local);
        if local {
            check_local_universe(&setup.ad, world, session)?;
        }
        // Errors that would prevent every run are reported before the job is started.
        if let Err(error) = plan(request(setup.ad.clone()), view) {
            return self.report_refusal(&error, session);
        }
        let unreadable = |error: ValueError| Problem::unreadable(error.user_message());
        let retries = local.then(|| CleanupRetries::from_config(view)).transpose().map_err(unreadable)?;
        let inputs = self.prepare_run(setup, request, session)?;
        let mut reactor =
            Reactor::new(&handled_signals()).context("cannot set up signal handlers and child processes")?;
        let control = control_client::socket(self.cli.job.control.as_ref(), &mut reactor)?;
        let inputs = ShadowRunInputs { control, ..inputs };
        let quiet = self.cli.output.quiet;
        let mut printed_lines = Vec::new();
        let mut print_once = |line: &str| {
            // Each run would repeat the same message.
            if !quiet && !printed_lines.iter().any(|printed| printed == line) {
                session.warn(line);
                printed_lines.push(line.to_owned());
            }
        };
        let mut planner = |ad: ClassAd| -> Result<Plan<'w>, String> {
            plan(request(ad), view).map_err(|error| error.to_string())
        };
        let mut outcome = shadow::run(inputs, &mut planner, &mut reactor, stream, &mut print_once)
            .context("cannot wait for children")?;
        let status = self.exit_status_of_run(&outcome);
        if !quiet && !has_left_queue(&outcome.ad) {
            spool.iter().for_each(|spool| warn_of_kept_files(spool, session));
        }
        let printed = self.print_queue_ad(&outcome.ad, retries, &mut reactor, session);
        if printed.is_err() {
            let state = outcome.last_run.as_mut().and_then(|last| last.state.take());
            keep_unwritten_ad(state, Some(&long::print(&outcome.ad)), session);
        }
        printed?;
        outcome.last_run.as_ref().map_or(Ok(status), |last| self.status_with_result_ad(last, status, session))
    }

    /// Prepares the run of the job, without a control socket.
    fn prepare_run<'w>(
        &self,
        setup: AccessPointRunSetup<'w>,
        request: &dyn Fn(ClassAd) -> RunRequest<'w>,
        session: &ProgramContext,
    ) -> anyhow::Result<ShadowRunInputs<'w>> {
        let first = request(setup.ad.clone());
        let quirks = first.quirks;
        let (owner, missing_group) = job_account(&setup, &first, session)?;
        let AccessPointRunSetup { view, world, ad, machine, until, local, .. } = setup;
        let shadow_hook =
            if local { Default::default() } else { shadow::find_shadow_hook(&ad, view, world, quirks) };
        if let Some(complaint) = &shadow_hook.complaint {
            session.warn(complaint);
        }
        let (policy, warnings) = PolicyParameters::read(view).map_err(Problem::from_value_error)?;
        if !self.cli.output.quiet {
            warnings.iter().for_each(|line| session.warn(line));
        }
        let address = BString::from(format!("<{}:0>", world.ip_address()));
        let settings = UserLogSettings::read(view, self.log_path()?).map_err(Problem::from_value_error)?;
        let log = UserLog::for_queue(&UserLogInputs {
            ad: &ad,
            job: &job_info_of(&ad, world),
            scratch: Path::new("/"),
            settings: &settings,
            daemon: if world.effective_uid() == 0 { condor_identity(view, world) } else { None },
            address: address.clone(),
            quirks,
            world,
        });
        let host = world.full_host();
        let reader = owner.clone();
        let hook_credentials =
            move |ad: &ClassAd| shadow::HookCredentials::create(ad, reader.as_ref(), view, world);
        Ok(ShadowRunInputs {
            setup: ShadowSetup {
                world,
                quirks,
                parameters: view as &dyn ParameterSource,
                ad,
                slot: full_slot_name(&first.slot, &host),
                slot_ad: machine.clone(),
                host,
                address,
                hook: shadow_hook.hook,
                run_limit: until,
                interval: policy.interval,
                local,
                graceful: policy.removes_gracefully,
                log_unavailable: false,
                missing_group,
                controlled: self.cli.job.control.is_some(),
            },
            machine,
            log,
            owner,
            environment: first.environment.for_hooks(quirks),
            hook_limit: [shadow_hook.limit, self.cli.job.hook_timeout].into_iter().flatten().min(),
            hook_credentials: Box::new(hook_credentials),
            max_vacate_time: policy.max_vacate_time,
            clock_skew_us: first.clock_skew_us,
            control: None,
            parent: self.cli.job.orphan_grace.map(ParentWatch::new),
            timeout: self.cli.events.timeout,
        })
    }

    /// Prints the job ad as it would be in the queue. In the local universe, a failure is retried.
    fn print_queue_ad(
        &self,
        ad: &ClassAd,
        retries: Option<CleanupRetries>,
        reactor: &mut Reactor,
        session: &ProgramContext,
    ) -> anyhow::Result<()> {
        if is_standard_stream(&self.cli.job.job_stdout)
            || (self.as_tool && !is_standard_stream(&self.cli.job.job_output_ad))
        {
            return Ok(());
        }
        let mut text = self.format_ad(&long::print(ad));
        if !self.as_tool && !self.cli.output.wants_json() {
            text.push(b'\n');
        }
        let stdout = std::io::stdout().as_fd().try_clone_to_owned().map(File::from);
        let mut stdout = stdout.context("cannot write the job's ad to standard output")?;
        let mut written = 0;
        let mut tries = retries.as_ref().map_or(0, |retries| retries.tries);
        loop {
            let error = match stdout.write(&text[written..]) {
                Ok(0) if written < text.len() => std::io::ErrorKind::WriteZero.into(),
                Ok(count) if written + count == text.len() => return Ok(()),
                Ok(count) => {
                    written += count;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => error,
            };
            let will_retry = match &retries {
                Some(retries) if tries > 0 => retries.wait(&error, tries, reactor, session)?,
                _ => false,
            };
            if !will_retry {
                return Err(
                    anyhow::Error::from(error).context("cannot write the job's ad to standard output")
                );
            }
            tries -= 1;
        }
    }

    /// Returns true if a starter of the local universe missed the job's deferral time.
    fn has_missed_deferral(&self, outcome: &shadow::ShadowRunOutcome) -> bool {
        let code = context_of(&outcome.ad).int("HoldReasonCode");
        self.cli.job.played_as == StarterRole::Local
            && code == Some(HoldCode::MissedDeferredExecutionTime as i64)
    }

    fn exit_status_of_run(&self, outcome: &shadow::ShadowRunOutcome) -> Status {
        let status = context_of(&outcome.ad).int(attr::JOB_STATUS);
        if outcome.timed_out {
            return Status::TimedOut;
        }
        match (status, outcome.exit) {
            (status, _) if self.is_daemon() => Status::Tool(match self.has_missed_deferral(outcome) {
                true => JOB_MISSED_DEFERRAL_TIME,
                false => shadow_exit_status(status),
            }),
            (Some(JobStatus::COMPLETED), Some(Exit::Code(0)) | None) => Status::Done,
            // The job was skipped as a dataflow job (SkipIfDataflow).
            (Some(JobStatus::COMPLETED), _) if is_dataflow_job_skipped(&outcome.ad) => Status::Done,
            _ => Status::No,
        }
    }
}

/// Returns a context in which expressions of an ad can be evaluated on this machine.
fn context_of(ad: &ClassAd) -> Context<'_> {
    Context::new(&System).my(ad)
}

fn is_dataflow_job_skipped(ad: &ClassAd) -> bool {
    context_of(ad).boolean("DataflowJobSkipped") == Some(true)
}

/// Exit status of a starter of the local universe that missed the job's deferral time.
const JOB_MISSED_DEFERRAL_TIME: u8 = 114;

/// Returns the account of the job, or `None` if it is the account of this process; and a group to which the account
/// must belong but does not. This is called before anything is written, because root must not write logs or call hooks
/// for an unknown account.
fn job_account(
    setup: &AccessPointRunSetup<'_>,
    first: &RunRequest<'_>,
    session: &ProgramContext,
) -> anyhow::Result<(Option<ProcessIdentity>, Option<BString>)> {
    let AccessPointRunSetup { view, world, ad, local, .. } = setup;
    let owner = queue_owner(ad, view, &first.slot, first.quirks).map_err(|refusal| {
        Problem::unreadable(format!("the job is not run: {refusal}"))
            .hint("add a line such as User = \"alice@example.org\" to the ad, or run as that account")
    })?;
    Ok(match owner {
        Some(owner) if !local => match in_primary_group(owner.clone(), ad, *world) {
            Ok(owner) => (Some(owner), None),
            Err(group) => (Some(owner), Some(group)),
        },
        None if !local && ad.contains("PrimaryUnixGroup") => {
            session.warn("PrimaryUnixGroup needs root: the job runs with the group that this program has");
            (None, None)
        }
        owner => (owner, None),
    })
}

/// Returns the name of a slot with its host.
fn full_slot_name(name: &BString, host: &str) -> BString {
    match name.as_slice() {
        b"" => format!("slot1@{host}").into(),
        whole if whole.contains(&b'@') => name.clone(),
        name => format!("{}@{host}", name.as_bstr()).into(),
    }
}

/// Returns the exit status of a shadow for a job status (`exit.h`).
fn shadow_exit_status(status: Option<i64>) -> u8 {
    match status {
        Some(JobStatus::COMPLETED) => 100,
        Some(JobStatus::HELD) => 112,
        Some(JobStatus::REMOVED) => 113,
        _ => 107,
    }
}

/// Checks the universe of the job, because a schedd itself runs only jobs of the local universe (`JICLocalSchedd::initJobInfo`).
/// Warns about mail that would be sent to the user.
fn check_local_universe(ad: &ClassAd, world: &dyn World, session: &ProgramContext) -> anyhow::Result<()> {
    let int = |name: &str| Context::new(world).my(ad).int(name);
    match int(attr::JOB_UNIVERSE) {
        Some(number) if number == Universe::Local.number() => {}
        Some(other) => {
            let message =
                format!("--as local needs JobUniverse = 12, but the job ad has JobUniverse = {other}");
            let hint = match other == Universe::Scheduler.number() {
                true => "JobUniverse = 12 runs the job on the same machine, but under a starter",
                false => "use --as shadow",
            };
            return Err(Problem::unreadable(message).hint(hint).into());
        }
        None => {
            let message = "--as local needs JobUniverse = 12, but the job ad has no JobUniverse";
            return Err(Problem::unreadable(message).into());
        }
    }
    if int("JobNotification").is_some_and(|when| when != 0) {
        session
            .warn("JobNotification is unsupported: the schedd of a pool would send mail to the job's user");
    }
    Ok(())
}

/// Returns the information about the job that its event log needs.
fn job_info_of(ad: &ClassAd, world: &dyn World) -> JobInfo {
    let context = || Context::new(world).my(ad);
    JobInfo {
        cluster: context().int(attr::CLUSTER_ID).unwrap_or(1),
        proc: context().int(attr::PROC_ID).unwrap_or(0),
        iwd: context().string(attr::IWD).unwrap_or_else(|| "/".into()),
        ..JobInfo::default()
    }
}

/// Returns true if the job has left the queue, so that its spooled files can be removed.
fn has_left_queue(ad: &ClassAd) -> bool {
    matches!(context_of(ad).int(attr::JOB_STATUS), Some(JobStatus::COMPLETED | JobStatus::REMOVED))
}

/// Warns about files that the last run kept for a further run, because they are removed with their directory.
fn warn_of_kept_files(spool: &Path, session: &ProgramContext) {
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| format!("{:?}", entry.file_name())).collect();
    if names.is_empty() {
        return;
    }
    names.sort();
    let count = names.len();
    let listed = names[..count.min(5)].join(", ");
    let more = if count > 5 { ", ..." } else { "" };
    session.warn(&format!(
        "the files that the job kept for its next run are removed when this program ends ({listed}{more}: {count} at the top); a \
         schedd keeps them in SPOOL; --until done or --until N runs the job again from there"
    ));
}
