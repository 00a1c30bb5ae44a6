//! The machine: its state, its one entrance, its timers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use super::action::{Action, Call, CallId, Notice, Standing};
use super::again::{EndStep, Tries};
use super::contained::Container;
use super::container::Surroundings;
use super::disk::DiskLimit;
use super::environment::Publication;
use super::event::{Event, FamilyUsage, Request, Vacate};
use super::failure::StartFailure;
use super::java::Java;
use super::job_info::{JobInfo, Refusal};
use super::moves::{Moved, Moves};
use super::running::LastRequest;
use super::settings::Settings;
use super::update_timer::next_update;
use super::usage::Meter;
use crate::classad::{ClassAd, format::long};
use crate::hook::HookType;
use crate::process::Exit;
use crate::quirks::{Quirk, Quirks};
use crate::text::environment::Environment;
use crate::time::{Now, Tick};
use crate::world::{Frozen, World};

/// The hooks of one job, found and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// PREPARE_JOB.
    pub prepare: Option<BString>,
    /// PREPARE_JOB_BEFORE_TRANSFER, which is called only with a shadow.
    pub before: Option<BString>,
    /// UPDATE_JOB_INFO.
    pub update: Option<BString>,
    /// JOB_EXIT.
    pub exit: Option<BString>,
    /// Arguments of PREPARE_JOB (`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`).
    pub prepare_arguments: Vec<BString>,
    /// How long JOB_EXIT is waited for (`<KEYWORD>_HOOK_JOB_EXIT_TIMEOUT`).
    pub exit_timeout: Duration,
}

/// Everything a machine is made from.
pub struct Setup<'w> {
    /// What expressions are evaluated in; its clock is not used.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: Quirks,
    /// The job's ad, completed by [`super::job_info::read`].
    pub ad: ClassAd,
    /// The slot's ad, where the slot runner gave one; counts only without quirk `machine-ad-empty`.
    pub machine: Option<ClassAd>,
    /// The job, or why it is not taken on.
    pub job: Result<JobInfo, Refusal>,
    /// The configuration.
    pub settings: Settings,
    /// The hooks.
    pub hooks: Hooks,
    /// The scratch directory to be made.
    pub scratch: PathBuf,
    /// The starter's own process.
    pub starter_pid: u32,
    /// The starter's own environment.
    pub own_environment: Vec<(BString, BString)>,
    /// Name of the slot; may be empty.
    pub slot: BString,
    /// Home of the job's account.
    pub home: Option<BString>,
    /// File of the result ad, unless it is standard output.
    pub output_ad: Option<BString>,
    /// Whether directories can be bound over others here (root with the capability).
    pub can_mount: bool,
    /// Limit for hooks that the reference would wait for without end.
    pub hook_timeout: Option<Duration>,
    /// Why there can be no control groups, where that is known beforehand.
    pub no_groups: Option<String>,
    /// What containers need to know.
    pub surroundings: Surroundings,
    /// What is done for a shadow, where there is one.
    pub moves: Option<Moves>,
    /// The shell that is run for a person instead of the job.
    pub shell: Option<BString>,
}

/// Where the job's life has got to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not begun.
    New,
    /// The scratch directory is being made.
    Scratch,
    /// PREPARE_JOB runs, until the time at the latest.
    Preparing { call: CallId, until: Option<Tick> },
    /// Files are moved.
    Moving,
    /// Waiting for DeferralTime.
    Deferred { until: Tick },
    /// PreCmd is being started or runs.
    PreScript,
    /// The runtime of the job's container is asked, before the job, after it or before the clean-up.
    Container,
    /// The job is being started.
    Starting,
    /// The job runs.
    Running,
    /// PostCmd is being started or runs.
    PostScript,
    /// JOB_EXIT runs.
    Exiting { call: CallId, until: Tick },
    /// A step of the ending failed and is tried again then.
    Again { step: EndStep, until: Tick },
    /// The scratch directory is being removed.
    Removing,
    /// Nothing follows.
    Finished,
}

/// What has been asked for so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    pub(super) graceful: bool,
    pub(super) fast: bool,
    pub(super) remove: bool,
    pub(super) hold: bool,
    /// The slot holds the job (WANT_HOLD).
    pub(super) held_by_slot: bool,
    /// `fast` comes from such a hold and nothing else.
    pub(super) fast_for_hold: bool,
}

impl Asked {
    pub(super) fn any(self) -> bool {
        self.graceful || self.fast || self.remove || self.hold || self.held_by_slot
    }

    /// The argument of JOB_EXIT (`getExitReasonString`). A hold by the slot counts as no request in 25.14 (quirk
    /// `slot-hold-unnoticed`).
    pub(super) fn word(self, quirks: Quirks) -> &'static str {
        let unnoticed = quirks.has(Quirk::SlotHoldUnnoticed);
        match self {
            Asked { hold: true, .. } => "hold",
            Asked { held_by_slot: true, .. } if !unnoticed => "hold",
            Asked { remove: true, .. } => "remove",
            Asked { graceful: true, .. } | Asked { fast: true, fast_for_hold: false, .. } => "evict",
            _ => "exit",
        }
    }
}

/// A process that was started, the job or a script.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) started: Now,
    pub(super) ended: Option<(Now, Exit)>,
}

/// Why the machine measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measuring {
    /// For an update, which tells of a vacate only when it was asked for before.
    Update { vacating: bool },
    /// For event 010.
    Suspended,
    /// For the limit of the scratch directory.
    Disk,
}

/// The machine of one job.
pub struct Starter<'w> {
    pub(super) world: &'w dyn World,
    pub(super) quirks: Quirks,
    pub(super) ad: ClassAd,
    pub(super) machine: ClassAd,
    pub(super) job: Result<JobInfo, Refusal>,
    pub(super) settings: Settings,
    pub(super) hooks: Hooks,
    pub(super) scratch: PathBuf,
    pub(super) starter_pid: u32,
    pub(super) own_environment: Vec<(BString, BString)>,
    pub(super) slot: BString,
    pub(super) home: Option<BString>,
    pub(super) output_ad: Option<BString>,
    pub(super) can_mount: bool,
    pub(super) hook_timeout: Option<Duration>,
    pub(super) phase: Phase,
    pub(super) asked: Asked,
    pub(super) vacate: Option<Vacate>,
    pub(super) last: LastRequest,
    pub(super) suspended: bool,
    pub(super) calls: BTreeMap<CallId, &'static str>,
    next_call: u32,
    pub(super) main: Option<Process>,
    /// PreCmd, until the job is started.
    pub(super) pre: Option<Process>,
    pub(super) post: Option<Process>,
    pub(super) script_running: bool,
    pub(super) scripts_allowed: bool,
    /// Whether the job's end had been asked for when it ended.
    pub(super) evicted: bool,
    pub(super) usage: FamilyUsage,
    pub(super) meter: Meter,
    pub(super) core: bool,
    pub(super) java: Java,
    pub(super) temporary: PathBuf,
    pub(super) measuring: Vec<Measuring>,
    pub(super) update_due: Option<Tick>,
    pub(super) graceful_until: Option<Tick>,
    pub(super) failure: Option<StartFailure>,
    pub(super) missed: Option<Now>,
    pub(super) status: u8,
    /// 25.14 ends by an exception.
    pub(super) excepted: bool,
    /// The call of the prepare hook, from its start to its end, and which of the two it is.
    pub(super) prepare_call: Option<CallId>,
    pub(super) preparing: HookType,
    pub(super) moves: Option<Moves>,
    pub(super) shell: Option<BString>,
    /// The limit of its directory.
    pub(super) disk: DiskLimit,
    pub(super) moved: Moved,
    /// The job was started when JOB_EXIT ran already.
    pub(super) late: bool,
    pub(super) exit_done: bool,
    /// How often the step of the ending that is under way has failed.
    pub(super) tries: Tries,
    pub(super) write_failure: Option<String>,
    /// The prepare hook ran too long and is being killed.
    pub(super) given_up: bool,
    pub(super) scratch_made: bool,
    pub(super) exit_ad: Option<ClassAd>,
    pub(super) container: Container,
    pub(super) no_groups: Option<String>,
    /// The memory that the job was given, in MiB.
    pub(super) memory_mib: i64,
    woken_at: Option<Tick>,
}

impl<'w> Starter<'w> {
    /// A machine that has not begun.
    pub fn new(setup: Setup<'w>) -> Self {
        let window = setup.settings.statistics_window;
        // A shadow brings the slot's ad along.
        let empty = setup.moves.is_none() && setup.quirks.has(Quirk::MachineAdEmpty);
        let machine = setup.machine.filter(|_| !empty).unwrap_or_default();
        Starter {
            world: setup.world,
            quirks: setup.quirks,
            ad: setup.ad,
            machine,
            job: setup.job,
            hooks: setup.hooks,
            temporary: setup.scratch.clone(),
            scratch: setup.scratch,
            starter_pid: setup.starter_pid,
            own_environment: setup.own_environment,
            slot: setup.slot,
            home: setup.home,
            output_ad: setup.output_ad,
            can_mount: setup.can_mount,
            hook_timeout: setup.hook_timeout,
            settings: setup.settings,
            phase: Phase::New,
            asked: Asked::default(),
            vacate: None,
            last: LastRequest::default(),
            suspended: false,
            calls: BTreeMap::new(),
            next_call: 1,
            main: None,
            pre: None,
            post: None,
            script_running: false,
            scripts_allowed: false,
            evicted: false,
            usage: FamilyUsage::default(),
            meter: Meter::new(0, window),
            core: false,
            java: Java::default(),
            measuring: Vec::new(),
            update_due: None,
            graceful_until: None,
            failure: None,
            missed: None,
            status: 0,
            excepted: false,
            prepare_call: None,
            preparing: HookType::PrepareJob,
            disk: DiskLimit::default(),
            moves: setup.moves,
            shell: setup.shell,
            moved: Moved::default(),
            late: false,
            exit_done: false,
            tries: Tries::default(),
            write_failure: None,
            given_up: false,
            scratch_made: false,
            exit_ad: None,
            container: Container::new(setup.surroundings),
            no_groups: setup.no_groups,
            memory_mib: 0,
            woken_at: None,
        }
    }

    /// Whether the machine has said `Finish`.
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// The job's ad as it is now.
    pub fn ad(&self) -> &ClassAd {
        &self.ad
    }

    /// How far it has got, in a word.
    pub fn state(&self) -> &'static str {
        match self.phase {
            Phase::Running if self.suspended => "suspended",
            Phase::Running => "running",
            Phase::Moving if self.moved.under_way.is_some_and(|way| !way.is_input()) => "sending output",
            Phase::Moving => "fetching input",
            Phase::Deferred { .. } => "deferred",
            Phase::Again { step: EndStep::Output, .. } => "sending output",
            Phase::PostScript | Phase::Exiting { .. } | Phase::Again { step: EndStep::ExitHook, .. } => {
                "ending"
            }
            Phase::Removing | Phase::Again { step: EndStep::Removal, .. } | Phase::Finished => "ended",
            Phase::New | Phase::Scratch | Phase::Preparing { .. } => "preparing",
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
        match event {
            Event::Begin => self.begin(now, &mut out),
            Event::ScratchMade => self.scratch_made(now, &mut out),
            Event::ScratchFailed { no_execute, reason } => {
                self.scratch_failed(now, no_execute, &reason, &mut out)
            }
            Event::WriteFailed { path, reason } => self.write_failed(&path, &reason, &mut out),
            Event::CallStarted { call, pid } => {
                if let Some(hook) = self.calls.get(&call) {
                    out.push(Action::Tell(Notice::HookStarted { hook, pid }));
                }
            }
            Event::CallFailed { call, reason, again } => {
                self.call_failed(now, call, (&reason, again), &mut out);
            }
            Event::CallEnded { call, exit, stdout, cut, stderr } => {
                if let Some(hook) = self.calls.remove(&call) {
                    self.tell_end(hook, exit, &stderr, &mut out);
                    self.call_ended(now, call, exit, &stdout, cut, &mut out);
                }
            }
            Event::ToolEnded { call, exit, output, errors } => {
                self.tool_ended(now, call, (exit, &output, &errors), &mut out);
            }
            Event::Transferred(done) => self.transferred(now, &done, &mut out),
            Event::FilesOpened(failures) => self.files_opened(now, failures, &mut out),
            Event::ProcessStarted { pid } => self.process_started(now, pid, &mut out),
            Event::ProcessFailed(failures) => self.process_failed(now, failures, &mut out),
            Event::ProcessEnded { exit, inside, usage, core, wrapper_failure, java } => {
                let exit = self.true_exit(exit, inside);
                let exit = java.map_or(exit, |records| self.java_ended(exit, &records, &mut out));
                self.process_ended(now, exit, usage, core, wrapper_failure, &mut out);
            }
            Event::Services(ports) => self.services_known(*ports, &mut out),
            Event::Measured(usage) => self.measured(now, usage, &mut out),
            Event::Asked(request) => {
                // The daemon wakes once for the connection, and only then for what is asked (s08: two of three times).
                self.periodic_update(now, &mut out);
                self.asked(now, request, &mut out);
            }
            Event::Timeout => self.timeout(now, &mut out),
            Event::ScratchRemoved { remains } => self.scratch_removed(now, &remains, &mut out),
        }
        self.periodic_update(now, &mut out);
        self.set_alarm(now, &mut out);
        out
    }

    /// The time of some deadline has come, perhaps not of the one asked for last.
    fn timeout(&mut self, now: Now, out: &mut Vec<Action>) {
        self.woken_at = None;
        let due = |at: Option<Tick>| at.is_some_and(|at| at <= now.tick());
        match self.phase {
            Phase::Preparing { call, until } if due(until) => self.prepare_timed_out(now, call, out),
            Phase::Deferred { until } if due(Some(until)) => self.start_scripts(now, out),
            Phase::Container if due(self.container.until()) => self.look_again(out),
            Phase::Exiting { call, until } if due(Some(until)) => self.exit_timed_out(now, call, out),
            Phase::Again { step, until } if due(Some(until)) => self.step_again(now, step, out),
            _ => {}
        }
        if due(self.graceful_until) {
            self.graceful_until = None;
            out.push(Action::Tell(Notice::Warning(
                "the job did not end within SHUTDOWN_GRACEFUL_TIMEOUT; killing it".to_owned(),
            )));
            self.asked(now, Request::Fast(None), out);
        }
    }

    /// The periodic update, as soon as anything happens after its time: the daemon looks at its timers whenever it is awake.
    fn periodic_update(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.phase == Phase::Running && self.update_due.is_some_and(|at| at <= now.tick()) {
            self.update_due = Some(next_update(now, self.settings.update_interval));
            self.measure(Measuring::Update { vacating: self.vacate.is_some() }, out);
        }
        if self.phase == Phase::Running && self.disk.is_due(now.tick()) {
            self.measure(Measuring::Disk, out);
        }
    }

    /// Asks to be woken at the earliest deadline, if that has changed.
    fn set_alarm(&mut self, now: Now, out: &mut Vec<Action>) {
        let of_phase = match self.phase {
            Phase::Preparing { until, .. } => until,
            Phase::Deferred { until } | Phase::Exiting { until, .. } | Phase::Again { until, .. } => {
                Some(until)
            }
            Phase::Container => self.container.until(),
            _ => None,
        };
        // The daemon sleeps whole seconds from the moment it last looked at its timers.
        let awake = Duration::from_micros(now.wall_us.rem_euclid(1_000_000).unsigned_abs());
        let others = [self.update_due.map(|at| at.plus(awake)), self.graceful_until, self.disk.due];
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
        Frozen { world: self.world, now }
    }

    /// Job id for messages; the refused have none.
    pub(super) fn id(&self) -> String {
        self.job.as_ref().map_or_else(|_| "?".to_owned(), JobInfo::id)
    }

    /// The variables of a hook, over those of the starter.
    fn hook_environment(&self, now: Now) -> Vec<(BString, BString)> {
        let Ok(job) = &self.job else { return Vec::new() };
        let world = self.frozen(now);
        let after_job = !self.quirks.has(Quirk::HookTmpdirAfterJob);
        let temporary: &Path = if after_job { &self.scratch } else { &self.temporary };
        let pid = self.main.as_ref().filter(|main| main.ended.is_none()).map(|main| main.pid);
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
            settings: &self.settings,
            job,
            ad: &self.ad,
            machine: &self.machine,
            scratch: &self.scratch,
            temporary,
            starter_pid: self.starter_pid,
            slot: self.slot.as_bstr(),
            home: self.home.as_ref().map(|home| home.as_bstr()),
            output_ad: self.output_ad.as_ref().map(|output| output.as_bstr()),
            pre_exit: self.pre.as_ref().and_then(|pre| pre.ended).map(|(_, exit)| exit),
            main_exit: self.main.as_ref().and_then(|main| main.ended).map(|(_, exit)| exit),
            pids,
            quirks: self.quirks,
            world,
        }
    }

    /// A number for a call that has none yet.
    pub(super) fn new_call(&mut self) -> CallId {
        let id = CallId(self.next_call);
        self.next_call += 1;
        id
    }

    /// Starts a hook and returns its call.
    pub(super) fn call(
        &mut self,
        now: Now,
        hook: HookType,
        path: &BStr,
        arguments: Vec<BString>,
        stdin: &ClassAd,
        out: &mut Vec<Action>,
    ) -> CallId {
        let id = self.new_call();
        self.calls.insert(id, hook.name());
        out.push(Action::Call(Call {
            id,
            hook,
            path: path.into(),
            arguments,
            stdin: crate::hook::input::job_ad(stdin),
            environment: self.hook_environment(now),
        }));
        id
    }

    fn tell_end(&self, hook: &'static str, exit: Exit, stderr: &[u8], out: &mut Vec<Action>) {
        out.push(Action::Tell(Notice::HookEnded { hook, exit }));
        let complaint = stderr.trim();
        if complaint.is_empty() {
            return;
        }
        out.push(Action::Tell(Notice::HookStderr { hook, text: excerpt(complaint) }));
    }

    /// Says that a real pool would have done otherwise. Only called where the quirk is decided against.
    pub(super) fn tell_quirk(quirk: Quirk, reason: impl Into<String>, out: &mut Vec<Action>) {
        out.push(Action::Tell(Notice::Quirk { quirk, reason: reason.into() }));
    }

    /// Everything is over.
    pub(super) fn finish(&mut self, out: &mut Vec<Action>) {
        let ran = self.main.as_ref().and_then(|main| main.ended).map(|(_, exit)| exit);
        let outcome = ran.map(|_| long::print(self.exit_ad.as_ref().unwrap_or(&self.ad)));
        let standing = ran.map_or(Standing::NotStarted, Standing::Ran);
        self.phase = Phase::Finished;
        out.push(Action::Finish { status: self.status, standing, outcome });
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
