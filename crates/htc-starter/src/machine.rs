//! The machine: its state, its one entrance, its timers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::action::{Action, Call, CallId, LogEvent, Notice, Standing};
use super::environment::Publication;
use super::event::{Event, Request};
use super::job_info::JobInfo;
use super::kept::asked::Asked;
use super::kept::closing::Closing;
use super::kept::container::{Answer as ToolAnswer, Container};
use super::kept::job_run::{Ended, JobRun, Measuring, Scripts};
use super::kept::moved::Moved;
use super::kept::phase::{self, EndStep, Phase};
use super::prepare::Answer;
use super::setup::Setup;
use super::starter_hooks::temporary_of_job;
use super::update_timer::{next_update, shows_rounding, update_rounding, wake_for};
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::text::environment::Environment;
use htc_base::time::{Now, Tick};
use htc_base::world::{Frozen, World};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::HookType;

/// The hooks that run, and the numbers of all calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) open: BTreeMap<CallId, HookType>,
    last: u32,
}

impl Calls {
    /// A number for a call that has none yet.
    pub(super) fn new_id(&mut self) -> CallId {
        self.last += 1;
        CallId(self.last)
    }
}

/// The machine of one job.
pub struct Starter<'w> {
    pub(super) setup: Setup<'w>,
    /// The job's ad as it is now.
    pub(super) ad: ClassAd,
    /// The slot's ad, empty where there is none.
    pub(super) machine: ClassAd,
    pub(super) phase: Phase,
    pub(super) asked: Asked,
    pub(super) calls: Calls,
    pub(super) moved: Moved,
    pub(super) scripts: Scripts,
    pub(super) container: Container,
    pub(super) run: JobRun,
    pub(super) closing: Closing,
    /// The job's temporary directory.
    pub(super) temporary: PathBuf,
    woken_at: Option<Tick>,
}

/// Whether a starter that is given the slot's ad has it. A shadow brings it along.
pub fn has_slot_ad(with_shadow: bool, quirks: Quirks) -> bool {
    with_shadow || !quirks.has(Quirk::MachineAdEmpty)
}

impl<'w> Starter<'w> {
    /// Whether a hook tells how the job ends.
    pub fn has_exit_hook(&self) -> bool {
        self.setup.hooks.exit.is_some()
    }

    /// A machine that has not begun.
    pub fn new(mut setup: Setup<'w>) -> Self {
        let has_slot_ad = has_slot_ad(setup.moves.is_some(), setup.quirks);
        Starter {
            ad: std::mem::take(&mut setup.ad),
            machine: setup.machine.take().filter(|_| has_slot_ad).unwrap_or_default(),
            phase: Phase::New,
            asked: Asked::default(),
            calls: Calls::default(),
            moved: Moved::default(),
            scripts: Scripts::default(),
            container: Container { unwritten: Some(LogEvent::Execute), ..Container::default() },
            run: JobRun::new(setup.settings.statistics_window),
            closing: Closing::default(),
            temporary: setup.scratch.clone(),
            woken_at: None,
            setup,
        }
    }

    /// Whether a deviation of 25.14 is kept.
    pub(super) fn has(&self, quirk: Quirk) -> bool {
        self.setup.quirks.has(quirk)
    }

    /// Whether the machine has said `Finish`.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Its phase, as [`super::TRANSITIONS`] calls it.
    pub fn phase(&self) -> &'static str {
        self.phase.name()
    }

    /// How far it has got, in a word.
    pub fn state(&self) -> &'static str {
        match self.phase {
            Phase::Running if self.run.suspended => "suspended",
            Phase::Running => "running",
            Phase::Moving(way) if way.is_input() => "fetching input",
            Phase::Moving(_) | Phase::Again { step: EndStep::Output(_), .. } => "sending output",
            Phase::Deferred { .. } => "deferred",
            Phase::PostScript | Phase::Exiting { .. } | Phase::Again { step: EndStep::ExitHook, .. } => {
                "ending"
            }
            Phase::Removing | Phase::Again { step: EndStep::Removal, .. } | Phase::Finished => "ended",
            Phase::New | Phase::Scratch { .. } | Phase::Preparing { .. } => "preparing",
            Phase::PreScript | Phase::Container | Phase::Starting => "starting",
        }
    }

    /// The slot's ad, empty where there is none.
    pub fn machine_ad(&self) -> &ClassAd {
        &self.machine
    }

    /// One thing happened; what is to be done. After `Finish` nothing is.
    pub fn step(&mut self, now: Now, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        if self.is_finished() {
            return out;
        }
        let (from, name) = (self.phase.name(), event.name());
        self.handle(now, event, &mut out);
        let to = self.phase.name();
        debug_assert!(phase::is_known(from, name, to), "no way from {from} by {name} to {to}");
        self.periodic_update(now, &mut out);
        self.tell_remarks(&mut out);
        self.set_alarm(now, &mut out);
        out
    }

    fn handle(&mut self, now: Now, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::Begin => self.begin(now, out),
            Event::ScratchMade { encrypted } => {
                self.run.encrypted = encrypted;
                self.scratch_made(now, out);
            }
            Event::ScratchFailed { no_execute, reason } => self.scratch_failed(now, no_execute, &reason, out),
            Event::WriteFailed { path, reason } => self.write_failed(&path, &reason, out),
            Event::CallStarted { call, pid } => {
                if let Some(hook) = self.calls.open.get(&call) {
                    out.push(Action::Tell(Notice::HookStarted { hook: hook.name(), pid }));
                }
            }
            Event::CallFailed { call, reason, again } => {
                self.call_failed(now, call, (&reason, again), out);
            }
            Event::CallEnded { call, exit, stdout, cut, stderr } => {
                if let Some(hook) = self.calls.open.remove(&call) {
                    Self::tell_end(hook.name(), exit, &stderr, out);
                    self.call_ended(now, (call, hook), &Answer { exit, stdout: &stdout, cut }, out);
                }
            }
            Event::ToolEnded { call, exit, output, errors } => {
                self.tool_ended(now, call, ToolAnswer { exit, output: &output, errors: &errors }, out);
            }
            Event::Transferred(done) => self.transferred(now, &done, out),
            Event::FilesOpened(failures) => self.files_opened(now, failures, out),
            Event::DockerConfig(failure) => self.config_laid(now, failure, out),
            Event::ProcessStarted { pid } => self.process_started(now, pid, out),
            Event::ProcessFailed(failures) => self.process_failed(now, failures, out),
            Event::ProcessEnded { exit, inside, usage, core, wrapper_failure, java } => {
                let exit = self.true_exit(exit, inside);
                let exit = java.map_or(exit, |records| self.java_ended(exit, &records, out));
                let ended = Ended { at: now, exit, core };
                self.process_ended(ended, usage, wrapper_failure, out);
            }
            Event::Services(ports) => self.services_known(*ports, out),
            Event::Measured(usage) => self.measured(now, usage, out),
            Event::Asked(request) => {
                // The daemon wakes once for the connection, and only then for what is asked (s08: two of three times).
                self.periodic_update(now, out);
                self.asked(now, request, out);
            }
            Event::Timeout => self.timeout(now, out),
            Event::ScratchRemoved { remains } => self.scratch_removed(now, &remains, out),
        }
    }

    /// The time of some deadline has come, perhaps not of the one asked for last.
    fn timeout(&mut self, now: Now, out: &mut Vec<Action>) {
        self.woken_at = None;
        let due = |at: Option<Tick>| at.is_some_and(|at| at <= now.tick());
        match self.phase {
            Phase::Preparing { limit, .. } if due(limit.ends()) => self.prepare_timed_out(now, out),
            Phase::Deferred { until } if due(Some(until)) => self.start_scripts(now, out),
            Phase::Container if due(self.container.until()) => self.look_again(out),
            Phase::Exiting { call, until, .. } if due(Some(until)) => self.exit_timed_out(now, call, out),
            Phase::Again { step, until } if due(Some(until)) => self.step_again(now, step, out),
            _ => {}
        }
        if due(self.asked.graceful_until) {
            self.asked.graceful_until = None;
            out.push(Action::Tell(Notice::Warning(
                "the job did not end within SHUTDOWN_GRACEFUL_TIMEOUT; killing it".to_owned(),
            )));
            self.asked(now, Request::Fast(None), out);
        }
    }

    /// The periodic update, as soon as anything happens after its time: the daemon looks at its timers whenever it is awake.
    fn periodic_update(&mut self, now: Now, out: &mut Vec<Action>) {
        let due = self.run.update_due.filter(|at| self.phase == Phase::Running && *at <= now.tick());
        if let Some(due) = due {
            let (interval, rounded) = (self.setup.settings.update_interval, self.rounds_updates(out));
            self.run.update_due = Some(next_update(now, due, interval, rounded));
            self.measure(Measuring::Update { vacating: self.asked.vacate.is_some() }, out);
        }
        if self.phase == Phase::Running && self.run.disk.as_mut().is_some_and(|disk| disk.is_due(now.tick()))
        {
            self.measure(Measuring::Disk, out);
        }
    }

    /// True if updates are rounded to whole seconds, as 25.14 does it; where that is visible to a hook and is not done, it is reported.
    fn rounds_updates(&mut self, out: &mut Vec<Action>) -> bool {
        let rounding = update_rounding(self.setup.quirks);
        let visible =
            self.setup.hooks.update.is_some() && shows_rounding(self.setup.settings.update_interval);
        if visible && !rounding.as_reference && !std::mem::replace(&mut self.run.rounding_reported, true) {
            Self::tell_quirk(rounding.quirk, "UPDATE_JOB_INFO keeps its interval", out);
        }
        rounding.as_reference
    }

    /// Asks to be woken at the earliest deadline, if that has changed.
    fn set_alarm(&mut self, now: Now, out: &mut Vec<Action>) {
        let of_phase = match self.phase {
            Phase::Preparing { limit, .. } => limit.ends(),
            Phase::Deferred { until } | Phase::Exiting { until, .. } | Phase::Again { until, .. } => {
                Some(until)
            }
            Phase::Container => self.container.until(),
            _ => None,
        };
        let rounded = update_rounding(self.setup.quirks).as_reference;
        let others = [
            self.run.update_due.map(|at| wake_for(at, now, rounded)),
            self.asked.graceful_until,
            self.run.disk.map(|disk| disk.due),
        ];
        let at = match self.phase {
            Phase::Finished | Phase::Removing => None,
            _ => of_phase.into_iter().chain(others.into_iter().flatten()).min(),
        };
        if at != self.woken_at && !self.is_finished() {
            self.woken_at = at;
            out.push(Action::WakeAt(at));
        }
    }

    /// The world at this moment.
    pub(super) fn frozen(&self, now: Now) -> Frozen<'w> {
        Frozen { world: self.setup.world, now }
    }

    /// Job id for messages; the refused have none.
    pub(super) fn id(&self) -> String {
        self.setup.job.as_ref().map_or_else(|_| "?".to_owned(), JobInfo::id)
    }

    /// The variables of a hook, over those of the starter.
    fn hook_environment(&self, now: Now) -> Vec<(BString, BString)> {
        let Ok(job) = &self.setup.job else { return Vec::new() };
        let world = self.frozen(now);
        let of_job = temporary_of_job(self.setup.quirks).as_reference;
        let temporary: &Path = if of_job { &self.temporary } else { &self.setup.scratch };
        let pid = self.run.alive().map(|process| process.pid);
        let mut environment = Environment::new();
        self.publication(job, &world, temporary, pid.as_slice()).publish(&mut environment);
        environment.iter().map(|(name, value)| (name.clone(), BString::from(value))).collect()
    }

    /// What variables are made of.
    pub(super) fn publication<'a>(
        &'a self,
        job: &'a JobInfo,
        world: &'a dyn World,
        temporary: &'a Path,
        pids: &'a [u32],
    ) -> Publication<'a> {
        Publication {
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
            main_exit: self.run.ended().map(|ended| ended.exit),
            pids,
            quirks: self.setup.quirks,
            world,
        }
    }

    /// Starts a hook and returns its call.
    pub(super) fn call(
        &mut self,
        now: Now,
        (hook, path, arguments): (HookType, BString, Vec<BString>),
        stdin: &ClassAd,
        out: &mut Vec<Action>,
    ) -> CallId {
        let id = self.calls.new_id();
        self.calls.open.insert(id, hook);
        out.push(Action::Call(Call {
            id,
            hook,
            path,
            arguments,
            stdin: htc_hook::input::job_ad(stdin),
            environment: self.hook_environment(now),
        }));
        id
    }

    fn tell_end(hook: &'static str, exit: Exit, stderr: &[u8], out: &mut Vec<Action>) {
        out.push(Action::Tell(Notice::HookEnded { hook, exit }));
        let complaint = stderr.trim();
        if complaint.is_empty() {
            return;
        }
        out.push(Action::Tell(Notice::HookStderr { hook, text: excerpt(complaint) }));
    }

    /// Whether 25.14's own behaviour is wanted; where it is not, what is done instead is told.
    pub(super) fn has_or_tells(&self, quirk: Quirk, instead: &str, out: &mut Vec<Action>) -> bool {
        let has = self.has(quirk);
        if !has {
            Self::tell_quirk(quirk, instead, out);
        }
        has
    }

    /// The same of what 25.14 does where there is no shadow alone.
    pub(super) fn has_by_hand(&self, quirk: Quirk, instead: &str, out: &mut Vec<Action>) -> bool {
        let has = self.has(quirk);
        if !has {
            self.tell_quirk_by_hand(quirk, instead, out);
        }
        has
    }

    /// Says that 25.14 would have done otherwise, where there is no shadow with which it would not.
    pub(super) fn tell_quirk_by_hand(&self, quirk: Quirk, reason: &str, out: &mut Vec<Action>) {
        if self.setup.moves.is_none() {
            Self::tell_quirk(quirk, reason, out);
        }
    }

    /// Says that a real pool would have done otherwise. Only called where the quirk is decided against.
    pub(super) fn tell_quirk(quirk: Quirk, reason: impl Into<String>, out: &mut Vec<Action>) {
        out.push(Action::Tell(Notice::Quirk { quirk, reason: reason.into() }));
    }

    /// Everything is over.
    pub(super) fn finish(&mut self, out: &mut Vec<Action>) {
        let ran = self.run.ended().map(|ended| ended.exit);
        let outcome = ran.map(|_| long::print(self.closing.exit_ad().unwrap_or(&self.ad)));
        let standing = ran.map_or(Standing::NotStarted, Standing::Ran);
        self.phase = Phase::Finished;
        out.push(Action::Finish { status: self.closing.status, standing, outcome });
    }
}

/// As much of a hook's text as a message can hold.
pub(super) fn excerpt(text: &[u8]) -> String {
    const MOST: usize = 400;
    let shown = text[..text.len().min(MOST)].as_bstr();
    match text.len() {
        0..=MOST => shown.to_string(),
        all => format!("{shown}... ({all} bytes)"),
    }
}

/// The hooks of a starter without a shadow.
pub(super) const PREPARE_JOB: HookType = HookType::PrepareJob;
/// See above.
pub(super) const UPDATE_JOB_INFO: HookType = HookType::UpdateJobInfo;
/// See above.
pub(super) const JOB_EXIT: HookType = HookType::JobExit;
