//! State machine of the starter: its state, its entry point and its timers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::action::{CallId, JobLogEvent, JobOutcome, StarterAction, StarterHookCall, StarterNotice};
use super::environment::EnvironmentInputs;
use super::event::{StarterCommand, StarterEvent};
use super::hook_quirks::hook_tmpdir_decision;
use super::job_info::JobInfo;
use super::prepare_verdict::PrepareOutput;
use super::setup::StarterSetup;
use super::state::container::{JobContainer, ToolAnswer};
use super::state::job_end::JobEnd;
use super::state::job_run::{JobRun, JobScripts, MeasurePurpose, ProcessEnd};
use super::state::phase::{self, EndStep, StarterPhase};
use super::state::shutdown_requests::ShutdownRequests;
use super::state::transfer_progress::TransferProgress;
use super::update_timer::{decide_update_rounding, is_rounding_visible, next_update, wake_time};
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::environment::Environment;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::HookType;

/// Running hooks, and the counter for call identifiers.
#[derive(Debug, Default)]
pub(super) struct HookCalls {
    pub(super) open: BTreeMap<CallId, HookType>,
    last: u32,
}

impl HookCalls {
    /// Returns a new identifier for a call.
    pub(super) fn new_id(&mut self) -> CallId {
        self.last += 1;
        CallId(self.last)
    }
}

/// State machine of one job.
pub struct Starter<'w> {
    pub(super) setup: StarterSetup<'w>,
    /// Current job ad.
    pub(super) ad: ClassAd,
    /// Slot ad; empty if the starter uses no slot ad.
    pub(super) machine: ClassAd,
    pub(super) phase: StarterPhase,
    pub(super) shutdown_requests: ShutdownRequests,
    pub(super) calls: HookCalls,
    pub(super) transfer_progress: TransferProgress,
    pub(super) scripts: JobScripts,
    pub(super) container: JobContainer,
    pub(super) job_run: JobRun,
    pub(super) job_end: JobEnd,
    /// Temporary directory of the job.
    pub(super) temporary_directory: PathBuf,
    woken_at: Option<MonotonicTime>,
}

/// Returns true if the starter uses the slot ad that it gets from the slot runner. With a shadow it always does.
pub fn has_slot_ad(with_shadow: bool, quirks: QuirkMode) -> bool {
    with_shadow || !quirks.reproduces(Quirk::MachineAdEmpty)
}

impl<'w> Starter<'w> {
    /// Returns true if JOB_EXIT is configured.
    pub fn has_exit_hook(&self) -> bool {
        self.setup.hooks.exit.is_some()
    }

    /// Creates a state machine that waits for `Begin`.
    pub fn new(mut setup: StarterSetup<'w>) -> Self {
        let has_slot_ad = has_slot_ad(setup.transfer.is_some(), setup.quirks);
        Starter {
            ad: std::mem::take(&mut setup.ad),
            machine: setup.machine.take().filter(|_| has_slot_ad).unwrap_or_default(),
            phase: StarterPhase::New,
            shutdown_requests: ShutdownRequests::default(),
            calls: HookCalls::default(),
            transfer_progress: TransferProgress::default(),
            scripts: JobScripts::default(),
            container: JobContainer {
                pending_execute_event: Some(JobLogEvent::Execute),
                ..JobContainer::default()
            },
            job_run: JobRun::new(setup.settings.statistics_window),
            job_end: JobEnd::default(),
            temporary_directory: setup.scratch.clone(),
            woken_at: None,
            setup,
        }
    }

    /// Returns true if this quirk of 25.14 is reproduced.
    pub(super) fn has_quirk(&self, quirk: Quirk) -> bool {
        self.setup.quirks.reproduces(quirk)
    }

    /// Returns true once a step has returned `Finish`.
    pub fn is_finished(&self) -> bool {
        self.phase == StarterPhase::Finished
    }

    /// Returns the phase of the job, as named in [`super::TRANSITIONS`].
    pub fn phase(&self) -> &'static str {
        self.phase.name()
    }

    /// Returns the state of the job in one or two words.
    pub fn state(&self) -> &'static str {
        match self.phase {
            StarterPhase::Running if self.job_run.suspended => "suspended",
            StarterPhase::Running => "running",
            StarterPhase::Transferring(way) if way.is_input() => "fetching input",
            StarterPhase::Transferring(_) | StarterPhase::Retrying { step: EndStep::Output(_), .. } => {
                "sending output"
            }
            StarterPhase::Deferred { .. } => "deferred",
            StarterPhase::PostScript
            | StarterPhase::Exiting { .. }
            | StarterPhase::Retrying { step: EndStep::ExitHook, .. } => "ending",
            StarterPhase::Removing
            | StarterPhase::Retrying { step: EndStep::Removal, .. }
            | StarterPhase::Finished => "ended",
            StarterPhase::New | StarterPhase::MakingScratch { .. } | StarterPhase::Preparing { .. } => {
                "preparing"
            }
            StarterPhase::PreScript | StarterPhase::Container | StarterPhase::Starting => "starting",
        }
    }

    /// Returns the slot ad; empty if the starter uses no slot ad.
    pub fn machine_ad(&self) -> &ClassAd {
        &self.machine
    }

    /// Processes an event and returns the actions to perform. Returns no actions after `Finish`.
    pub fn step(&mut self, now: ClockReading, event: StarterEvent) -> Vec<StarterAction> {
        let mut out = Vec::new();
        if self.is_finished() {
            return out;
        }
        let (from, name) = (self.phase.name(), event.name());
        self.handle_event(now, event, &mut out);
        let to = self.phase.name();
        debug_assert!(
            phase::is_known_transition(from, name, to),
            "no transition from {from} by {name} to {to}"
        );
        self.update_if_due(now, &mut out);
        self.report_remarks(&mut out);
        self.set_alarm(now, &mut out);
        out
    }

    fn handle_event(&mut self, now: ClockReading, event: StarterEvent, out: &mut Vec<StarterAction>) {
        match event {
            StarterEvent::Begin => self.begin(now, out),
            StarterEvent::ScratchMade { encrypted } => {
                self.job_run.encrypted = encrypted;
                self.on_scratch_made(now, out);
            }
            StarterEvent::ScratchFailed { no_execute, reason } => {
                self.on_scratch_failed(now, no_execute, &reason, out)
            }
            StarterEvent::WriteFailed { path, reason } => self.on_write_failed(&path, &reason, out),
            StarterEvent::CallStarted { call, pid } => {
                if let Some(hook) = self.calls.open.get(&call) {
                    out.push(StarterAction::Report(StarterNotice::HookStarted { hook: *hook, pid }));
                }
            }
            StarterEvent::CallFailed { call, reason, retry: again } => {
                self.on_hook_call_failed(now, call, &reason, again, out);
            }
            StarterEvent::CallEnded { call, exit, stdout, cut, stderr } => {
                if let Some(hook) = self.calls.open.remove(&call) {
                    Self::report_hook_end(hook, exit, &stderr, out);
                    self.on_hook_call_ended(
                        now,
                        call,
                        hook,
                        &PrepareOutput { exit, stdout: &stdout, cut },
                        out,
                    );
                }
            }
            StarterEvent::ToolEnded { call, exit, output, errors } => {
                self.on_tool_ended(now, call, ToolAnswer { exit, output: &output, errors: &errors }, out);
            }
            StarterEvent::Transferred(done) => self.on_transferred(now, &done, out),
            StarterEvent::FilesOpened(failures) => self.on_files_opened(now, failures, out),
            StarterEvent::DockerConfig(failure) => self.on_docker_config_written(now, failure, out),
            StarterEvent::ProcessStarted { pid } => self.on_process_started(now, pid, out),
            StarterEvent::ProcessFailed(failures) => self.on_process_failed(now, failures, out),
            StarterEvent::ProcessEnded { exit, inside, usage, core, wrapper_failure, java } => {
                let exit = self.exit_inside_namespace(exit, inside);
                let exit = java.map_or(exit, |records| self.judge_java_exit(exit, &records, out));
                let ended = ProcessEnd { at: now, exit, core };
                self.on_process_ended(ended, usage, wrapper_failure, out);
            }
            StarterEvent::ServicePorts(ports) => self.on_service_ports(*ports, out),
            StarterEvent::Measured(usage) => self.on_measured(now, usage, out),
            StarterEvent::Requested(request) => {
                // 25.14 checks its timers when it wakes up for the connection, so a due update precedes the request.
                self.update_if_due(now, out);
                self.on_request(now, request, out);
            }
            StarterEvent::Timeout => self.on_timeout(now, out),
            StarterEvent::ScratchRemoved { remains } => self.on_scratch_removed(now, &remains, out),
        }
    }

    /// Handles a timeout, at which any deadline may have passed, not only the one requested last.
    fn on_timeout(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        self.woken_at = None;
        let due = |at: Option<MonotonicTime>| at.is_some_and(|at| at <= now.monotonic());
        match self.phase {
            StarterPhase::Preparing { limit, .. } if due(limit.expires_at()) => {
                self.on_prepare_hook_timeout(now, out)
            }
            StarterPhase::Deferred { until } if due(Some(until)) => self.start_pre_script_or_job(now, out),
            StarterPhase::Container if due(self.container.next_state_query()) => self.query_state_again(out),
            StarterPhase::Exiting { call, until, .. } if due(Some(until)) => {
                self.on_exit_hook_timeout(now, call, out)
            }
            StarterPhase::Retrying { step, until } if due(Some(until)) => self.retry_step(now, step, out),
            _ => {}
        }
        if due(self.shutdown_requests.graceful_until) {
            self.shutdown_requests.graceful_until = None;
            out.push(StarterAction::Report(StarterNotice::Warning(
                "the job did not end within SHUTDOWN_GRACEFUL_TIMEOUT; killing it".to_owned(),
            )));
            self.on_request(now, StarterCommand::Fast(None), out);
        }
    }

    /// Sends the periodic update at the first event after it is due, because the daemon checks its timers whenever it
    /// wakes up.
    fn update_if_due(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let due = self
            .job_run
            .update_due
            .filter(|at| self.phase == StarterPhase::Running && *at <= now.monotonic());
        if let Some(due) = due {
            let (interval, rounded) = (self.setup.settings.update_interval, self.rounds_updates(out));
            self.job_run.update_due = Some(next_update(now, due, interval, rounded));
            self.request_measurement(
                MeasurePurpose::Update { vacating: self.shutdown_requests.vacate.is_some() },
                out,
            );
        }
        if self.phase == StarterPhase::Running
            && self.job_run.disk.as_mut().is_some_and(|disk| disk.take_due(now.monotonic()))
        {
            self.request_measurement(MeasurePurpose::Disk, out);
        }
    }

    /// Returns true if updates are rounded to whole seconds, as in 25.14. Otherwise reports the difference if a hook
    /// could see it.
    fn rounds_updates(&mut self, out: &mut Vec<StarterAction>) -> bool {
        let rounding = decide_update_rounding(self.setup.quirks);
        let visible =
            self.setup.hooks.update.is_some() && is_rounding_visible(self.setup.settings.update_interval);
        if visible && !rounding.as_reference && !std::mem::replace(&mut self.job_run.rounding_reported, true)
        {
            Self::report_quirk(rounding.quirk, "UPDATE_JOB_INFO keeps its interval", out);
        }
        rounding.as_reference
    }

    /// Requests a wake-up at the earliest deadline, if that deadline has changed.
    fn set_alarm(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let of_phase = match self.phase {
            StarterPhase::Preparing { limit, .. } => limit.expires_at(),
            StarterPhase::Deferred { until }
            | StarterPhase::Exiting { until, .. }
            | StarterPhase::Retrying { until, .. } => Some(until),
            StarterPhase::Container => self.container.next_state_query(),
            _ => None,
        };
        let rounded = decide_update_rounding(self.setup.quirks).as_reference;
        let others = [
            self.job_run.update_due.map(|at| wake_time(at, now, rounded)),
            self.shutdown_requests.graceful_until,
            self.job_run.disk.map(|disk| disk.due),
        ];
        let at = match self.phase {
            StarterPhase::Finished | StarterPhase::Removing => None,
            _ => of_phase.into_iter().chain(others.into_iter().flatten()).min(),
        };
        if at != self.woken_at && !self.is_finished() {
            self.woken_at = at;
            out.push(StarterAction::WakeAt(at));
        }
    }

    /// Returns the world with its clock stopped at the given time.
    pub(super) fn world_at(&self, now: ClockReading) -> FrozenClockWorld<'w> {
        FrozenClockWorld { world: self.setup.world, now }
    }

    /// Returns the job ID for messages, or `?` for a refused job.
    pub(super) fn job_id(&self) -> String {
        self.setup.job.as_ref().map_or_else(|_| "?".to_owned(), JobInfo::id)
    }

    /// Returns the variables that a hook gets in addition to the starter's environment. They override the starter's
    /// variables.
    fn hook_environment(&self, now: ClockReading) -> Vec<(BString, BString)> {
        let Ok(job) = &self.setup.job else { return Vec::new() };
        let world = self.world_at(now);
        let of_job = hook_tmpdir_decision(self.setup.quirks).as_reference;
        let temporary: &Path = if of_job { &self.temporary_directory } else { &self.setup.scratch };
        let pid = self.job_run.live_process().map(|process| process.pid);
        let mut environment = Environment::new();
        self.environment_inputs(job, &world, temporary, pid.as_slice()).publish(&mut environment);
        environment.iter().map(|(name, value)| (name.clone(), BString::from(value))).collect()
    }

    /// Returns the inputs from which the environment of hooks and jobs is made.
    pub(super) fn environment_inputs<'a>(
        &'a self,
        job: &'a JobInfo,
        world: &'a dyn World,
        temporary: &'a Path,
        pids: &'a [u32],
    ) -> EnvironmentInputs<'a> {
        EnvironmentInputs {
            settings: &self.setup.settings,
            job,
            ad: &self.ad,
            machine: &self.machine,
            scratch: &self.setup.scratch,
            temporary,
            starter_pid: self.setup.starter_pid,
            slot: self.setup.slot.as_bstr(),
            home: self.setup.home.as_ref().map(|home| home.as_bstr()),
            output_ad: self.setup.output_ad.as_ref().map(|output| output.as_bstr()),
            pre_exit: self.scripts.pre.and_then(|pre| pre.exit()),
            main_exit: self.job_run.process_end().map(|ended| ended.exit),
            pids,
            quirks: self.setup.quirks,
            world,
        }
    }

    /// Starts a hook and returns the identifier of the call.
    pub(super) fn call_hook(
        &mut self,
        now: ClockReading,
        hook: HookType,
        path: BString,
        arguments: Vec<BString>,
        stdin: &ClassAd,
        out: &mut Vec<StarterAction>,
    ) -> CallId {
        let id = self.calls.new_id();
        self.calls.open.insert(id, hook);
        out.push(StarterAction::Call(StarterHookCall {
            id,
            hook,
            path,
            arguments,
            stdin: htc_hook::hook_input::job_ad_input(stdin),
            environment: self.hook_environment(now),
        }));
        id
    }

    fn report_hook_end(hook: HookType, exit: Exit, stderr: &[u8], out: &mut Vec<StarterAction>) {
        out.push(StarterAction::Report(StarterNotice::HookEnded { hook, exit }));
        let complaint = stderr.trim();
        if complaint.is_empty() {
            return;
        }
        out.push(StarterAction::Report(StarterNotice::HookStderr { hook, text: excerpt(complaint) }));
    }

    /// Returns true if a quirk of 25.14 is reproduced. Otherwise reports what the starter does instead.
    pub(super) fn decide_quirk_and_report(
        &self,
        quirk: Quirk,
        instead: &str,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let has = self.has_quirk(quirk);
        if !has {
            Self::report_quirk(quirk, instead, out);
        }
        has
    }

    /// Returns true if a quirk of 25.14 is reproduced. Otherwise reports what the starter does instead, but only
    /// without a shadow, because 25.14 has the quirk only then.
    pub(super) fn decide_quirk_without_shadow(
        &self,
        quirk: Quirk,
        instead: &str,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let has = self.has_quirk(quirk);
        if !has {
            self.report_quirk_without_shadow(quirk, instead, out);
        }
        has
    }

    /// Reports that 25.14 would have behaved differently, but only without a shadow, because 25.14 has the quirk only
    /// then.
    pub(super) fn report_quirk_without_shadow(
        &self,
        quirk: Quirk,
        reason: &str,
        out: &mut Vec<StarterAction>,
    ) {
        if self.setup.transfer.is_none() {
            Self::report_quirk(quirk, reason, out);
        }
    }

    /// Reports that 25.14 would have behaved differently. Call this function only if the quirk is not reproduced.
    pub(super) fn report_quirk(quirk: Quirk, reason: impl Into<String>, out: &mut Vec<StarterAction>) {
        out.push(StarterAction::Report(StarterNotice::Quirk { quirk, reason: reason.into() }));
    }

    /// Finishes the work of the starter: requests `Finish` with the outcome of the job and the final job ad.
    pub(super) fn finish(&mut self, out: &mut Vec<StarterAction>) {
        let ran = self.job_run.process_end().map(|ended| ended.exit);
        let outcome = ran.map(|_| long::print(self.job_end.exit_ad().unwrap_or(&self.ad)));
        let standing = ran.map_or(JobOutcome::NotStarted, JobOutcome::Ran);
        self.phase = StarterPhase::Finished;
        out.push(StarterAction::Finish {
            status: self.job_end.status,
            job_outcome: standing,
            outcome_ad: outcome,
        });
    }
}

/// Returns the beginning of a hook's output, short enough for a message.
pub(super) fn excerpt(text: &[u8]) -> String {
    const MAX_BYTES: usize = 400;
    let shown = text[..text.len().min(MAX_BYTES)].as_bstr();
    match text.len() {
        0..=MAX_BYTES => shown.to_string(),
        all => format!("{shown}... ({all} bytes)"),
    }
}

/// Hook type of PREPARE_JOB.
pub(super) const PREPARE_JOB_HOOK: HookType = HookType::PrepareJob;
/// Hook type of the starter's UPDATE_JOB_INFO.
pub(super) const UPDATE_JOB_INFO_HOOK: HookType = HookType::UpdateJobInfo;
/// Hook type of JOB_EXIT.
pub(super) const JOB_EXIT_HOOK: HookType = HookType::JobExit;
