//! Tests of the end of a job in the starter's state machine: for every request or failure in every stage, there is exactly one
//! end, which is reported once.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use htc_hooks::classad::{ClassAd, format::long};
use htc_hooks::hook::HookType;
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::starter::{
    CallId, FamilyUsage, JobLogEvent, JobOutcome, StartFailure, Starter, StarterAction, StarterCommand,
    StarterEvent, StarterHookCall, StarterHooks, StarterNotice, StarterSettings, StarterSetup, TRANSITIONS,
    TransferSetup, job_info,
};
use htc_hooks::time::{ClockReading, MonotonicTime};
use htc_hooks::transfer::{
    TransferFailure, TransferKind, TransferOutcome, TransferRetry, WhenToTransferOutput,
};
use htc_hooks::world::World;

use crate::starter::machine::setting;

const BEGIN: ClockReading = ClockReading { wall_us: 1_700_000_000_000_000, monotonic_us: 1_000_000 };

/// Stage in which the end is requested. The operation in progress does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Scratch,
    Before,
    Input,
    Prepare,
    Deferred,
    Pre,
    Open,
    Running,
    Post,
    Exit,
    Output,
    Removal,
}

const STAGES: [Stage; 12] = [
    Stage::Scratch,
    Stage::Before,
    Stage::Input,
    Stage::Prepare,
    Stage::Deferred,
    Stage::Pre,
    Stage::Open,
    Stage::Running,
    Stage::Post,
    Stage::Exit,
    Stage::Output,
    Stage::Removal,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// An operation that hangs ends because of its limit, or by itself after a long time.
    Patience,
    Soft,
    /// A soft kill is requested, and the job ignores it.
    SoftIgnored,
    SoftTwice,
    Hard,
    Hold,
    HoldIgnored,
    Remove,
    RemoveIgnored,
    /// The job is suspended, and continued much later.
    Suspend,
    /// The job is suspended, and killed while it is suspended.
    SuspendHard,
    /// No file can be written any longer.
    DiskFull,
    /// The scratch directory was removed.
    ScratchGone,
}

const ENDS: [End; 13] = [
    End::Patience,
    End::Soft,
    End::SoftIgnored,
    End::SoftTwice,
    End::Hard,
    End::Hold,
    End::HoldIgnored,
    End::Remove,
    End::RemoveIgnored,
    End::Suspend,
    End::SuspendHard,
    End::DiskFull,
    End::ScratchGone,
];

/// Operation that does not end by itself.
#[derive(Clone, Debug, PartialEq)]
enum Hang {
    Call(CallId),
    Process,
    Transfer(TransferKind),
}

/// Result of one simulated run.
#[derive(Debug, Default)]
struct RunRecord {
    finished: Vec<(JobOutcome, bool)>,
    exit_hooks: u32,
    results: u32,
    ends: u32,
    removals: u32,
    made: bool,
    not_started: u32,
    warnings: Vec<String>,
    seconds: u64,
    /// Transitions of the machine: phase, event, next phase.
    ways: BTreeSet<[&'static str; 3]>,
}

struct Played<'w> {
    machine: Starter<'w>,
    now: ClockReading,
    queue: VecDeque<StarterEvent>,
    wake: Option<MonotonicTime>,
    stage: Stage,
    end: End,
    begun: bool,
    job_started: bool,
    hanging: Vec<Hang>,
    record: RunRecord,
    /// Number of failures that follow: to start JOB_EXIT, to transfer output, and to remove the directory.
    failing: [u32; 3],
}

fn machine(world: &RealWorld, stage: Stage) -> Starter<'_> {
    let deferral = if stage == Stage::Deferred { "DeferralTime = 1700000100\n" } else { "" };
    let text = format!(
        "Cmd = \"/bin/true\"\nIwd = \"/tmp\"\nPreCmd = \"pre\"\nPostCmd = \"post\"\nClusterId = 7\nProcId = 1\n{deferral}"
    );
    let mut ad: ClassAd = long::parse(text.as_bytes()).0;
    let scratch = PathBuf::from("/execute/dir_1/scratch");
    let world: &dyn World = world;
    let quirks = QuirkMode::Manual;
    let job = job_info::read_job_info(&mut ad, &scratch, quirks, world);
    let hooks = StarterHooks {
        prepare_before_transfer: Some("before".into()),
        prepare: Some("prepare".into()),
        update: Some("update".into()),
        exit: Some("exit".into()),
        exit_timeout: Duration::from_secs(30),
        ..StarterHooks::default()
    };
    let moves = TransferSetup {
        when_to_transfer: Some(WhenToTransferOutput::OnExitOrEvict),
        failure_files: false,
        names_failure_files: false,
        manifest: None,
        ip: "host".to_owned(),
    };
    let settings = StarterSettings { allow_scripts: Some(setting("True")), ..StarterSettings::default() };
    Starter::new(StarterSetup {
        settings,
        hooks,
        transfer: Some(moves),
        ..StarterSetup::minimal(world, ad, job, scratch)
    })
}

impl<'w> Played<'w> {
    fn new(world: &'w RealWorld, stage: Stage, end: End) -> Self {
        Played {
            machine: machine(world, stage),
            now: BEGIN,
            queue: VecDeque::from([StarterEvent::Begin]),
            wake: None,
            stage,
            end,
            begun: false,
            job_started: false,
            hanging: Vec::new(),
            record: RunRecord::default(),
            failing: [0; 3],
        }
    }

    fn play(mut self) -> RunRecord {
        for _ in 0..10_000 {
            if let Some(event) = self.queue.pop_front() {
                let (from, name) = (self.machine.phase(), event.name());
                let actions = self.machine.step(self.now, event);
                if self.machine.phase() != from {
                    self.record.ways.insert([from, name, self.machine.phase()]);
                }
                actions.into_iter().for_each(|action| self.act(action));
            } else if !self.record.finished.is_empty() {
                assert!(
                    !self.hanging.iter().any(|hang| matches!(hang, Hang::Transfer(_))),
                    "{}",
                    self.whence()
                );
                self.record.seconds = (self.now.monotonic_us - BEGIN.monotonic_us) / 1_000_000;
                return self.record;
            } else if !self.begun && (!self.hanging.is_empty() || self.machine.state() == "deferred") {
                self.request_end();
            } else if self.is_late() && !self.hanging.is_empty() {
                self.release();
            } else if let Some(wake) = self.wake.take() {
                self.go_on_to(wake);
                self.queue.push_back(StarterEvent::Timeout);
            } else {
                assert!(!self.hanging.is_empty(), "{} hangs: {}", self.whence(), self.machine.state());
                self.release();
            }
        }
        panic!("{} goes on for ever", self.whence());
    }

    /// Returns true if all limits have passed.
    fn is_late(&self) -> bool {
        self.now.monotonic_us - BEGIN.monotonic_us > 1_850_000_000
    }

    fn whence(&self) -> String {
        format!("{:?} at {:?}", self.end, self.stage)
    }

    fn go_on_to(&mut self, wake: MonotonicTime) {
        let passed = u64::try_from(wake.since(self.now.monotonic()).as_micros()).unwrap();
        self.now.wall_us += passed.cast_signed();
        self.now.monotonic_us += passed;
    }

    /// Requests the end of the job.
    fn request_end(&mut self) {
        self.begun = true;
        let asked = |request| StarterEvent::Requested(request);
        match self.end {
            End::Patience | End::DiskFull | End::ScratchGone => self.release(),
            End::Soft | End::SoftIgnored => self.queue.push_back(asked(StarterCommand::Graceful(None))),
            End::SoftTwice => {
                self.queue.push_back(asked(StarterCommand::Graceful(None)));
                self.queue.push_back(asked(StarterCommand::Graceful(None)));
            }
            End::Hard => self.queue.push_back(asked(StarterCommand::Fast(None))),
            End::Hold | End::HoldIgnored => self.queue.push_back(asked(StarterCommand::Hold(None))),
            End::Remove | End::RemoveIgnored => self.queue.push_back(asked(StarterCommand::Remove(None))),
            End::Suspend => self.queue.push_back(asked(StarterCommand::Suspend)),
            End::SuspendHard => {
                self.queue.push_back(asked(StarterCommand::Suspend));
                self.queue.push_back(asked(StarterCommand::Fast(None)));
            }
        }
    }

    /// Ends the operations that hang, after all limits.
    fn release(&mut self) {
        if self.end == End::Suspend {
            self.queue.push_back(StarterEvent::Requested(StarterCommand::Continue));
        }
        if self.hanging.is_empty() {
            return;
        }
        let event = match self.hanging.remove(0) {
            Hang::Call(call) => ended_call(call, Exit::Code(0)),
            Hang::Process => ended(Exit::Code(0)),
            Hang::Transfer(way) => self.moved(way, true),
        };
        self.queue.push_back(event);
    }

    fn moved(&self, way: TransferKind, late: bool) -> StarterEvent {
        let fails = self.is_broken() || late && self.end == End::Patience;
        let failure = fails.then(|| TransferFailure::from_plugin(way, 28, b"no space", TransferRetry::Never));
        StarterEvent::Transferred(Box::new(TransferOutcome { failure, ..TransferOutcome::empty(way) }))
    }

    fn is_broken(&self) -> bool {
        self.begun && matches!(self.end, End::DiskFull | End::ScratchGone)
    }

    fn hang(&mut self, stage: Stage, hang: Hang, answer: StarterEvent) {
        match stage == self.stage {
            true => self.hanging.push(hang),
            false => self.queue.push_back(answer),
        }
    }

    /// If an operation ends at once, the request comes before its end.
    fn at_once(&mut self, stage: Stage, answer: StarterEvent) {
        if stage == self.stage && !self.begun {
            self.request_end();
        }
        self.queue.push_back(answer);
    }

    fn act(&mut self, action: StarterAction) {
        match action {
            StarterAction::MakeScratch { .. } => {
                self.record.made = true;
                let fails = self.stage == Stage::Scratch && self.end == End::DiskFull;
                let answer = match fails {
                    true => StarterEvent::ScratchFailed { no_execute: false, reason: "no space".to_owned() },
                    false => StarterEvent::ScratchMade { encrypted: false },
                };
                self.at_once(Stage::Scratch, answer);
            }
            StarterAction::WriteFile(file) if self.is_broken() => {
                self.queue.push_back(StarterEvent::WriteFailed {
                    path: file.name.into(),
                    reason: "no space".to_owned(),
                })
            }
            StarterAction::Call(call) => self.call(&call),
            StarterAction::OpenFiles(_) => {
                let broken =
                    self.stage == Stage::Open && matches!(self.end, End::DiskFull | End::ScratchGone);
                let failures = broken.then(|| StartFailure::new("cannot open", 7, 2));
                self.at_once(Stage::Open, StarterEvent::FilesOpened(failures.into_iter().collect()));
            }
            StarterAction::StartProcess(process) => {
                let stage = match (process.script, self.job_started) {
                    (true, false) => Stage::Pre,
                    (true, true) => Stage::Post,
                    (false, _) => Stage::Running,
                };
                if self.is_broken() {
                    let failure = StartFailure::new("cannot start", 6, 2);
                    return self.queue.push_back(StarterEvent::ProcessFailed(vec![failure]));
                }
                self.job_started |= stage == Stage::Running;
                self.queue.push_back(StarterEvent::ProcessStarted { pid: 7 });
                self.hang(stage, Hang::Process, ended(Exit::Code(0)));
            }
            StarterAction::SignalJob(number) => {
                let deaf = matches!(self.end, End::SoftIgnored | End::HoldIgnored | End::RemoveIgnored);
                if !deaf {
                    self.kill_process(number);
                }
            }
            StarterAction::KillFamily => self.kill_process(9),
            StarterAction::Transfer(way) => {
                let stage = if way.is_input() { Stage::Input } else { Stage::Output };
                let answer = match self.failing[1] {
                    0 => self.moved(way, false),
                    _ => {
                        self.failing[1] -= 1;
                        let failure = Some(TransferFailure::from_helper(way, "killed"));
                        StarterEvent::Transferred(Box::new(TransferOutcome {
                            failure,
                            ..TransferOutcome::empty(way)
                        }))
                    }
                };
                self.hang(stage, Hang::Transfer(way), answer);
            }
            StarterAction::AbortTransfer => self.hanging.retain(|hang| !matches!(hang, Hang::Transfer(_))),
            StarterAction::KillCall(call) if self.hanging.contains(&Hang::Call(call)) => {
                self.hanging.retain(|hang| *hang != Hang::Call(call));
                self.queue.push_back(ended_call(call, Exit::Signal { number: 9, core_dumped: false }));
            }
            StarterAction::KillCalls => self.hanging.retain(|hang| !matches!(hang, Hang::Call(_))),
            StarterAction::Measure => self.queue.push_back(StarterEvent::Measured(FamilyUsage::default())),
            StarterAction::WakeAt(at) => self.wake = at,
            StarterAction::WriteResultAd(_) => self.record.results += 1,
            StarterAction::Log(JobLogEvent::Evicted { .. } | JobLogEvent::Terminated { .. }) => {
                self.record.ends += 1
            }
            StarterAction::Report(StarterNotice::NotStarted { .. }) => self.record.not_started += 1,
            StarterAction::Report(StarterNotice::Warning(text)) => self.record.warnings.push(text),
            StarterAction::RemoveScratch => {
                self.record.removals += 1;
                let remains = match self.failing[2] {
                    0 => Vec::new(),
                    _ => {
                        self.failing[2] -= 1;
                        vec![PathBuf::from("/execute/dir_1/scratch/x")]
                    }
                };
                self.at_once(Stage::Removal, StarterEvent::ScratchRemoved { remains });
            }
            StarterAction::Finish { job_outcome: standing, outcome_ad: outcome, .. } => {
                self.record.finished.push((standing, outcome.is_some()))
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &StarterHookCall) {
        let stage = match call.hook {
            HookType::PrepareJobBeforeTransfer => Some(Stage::Before),
            HookType::PrepareJob => Some(Stage::Prepare),
            HookType::JobExit => Some(Stage::Exit),
            _ => None,
        };
        if stage == Some(Stage::Exit) && self.failing[0] > 0 {
            self.failing[0] -= 1;
            let reason = "cannot make a process".to_owned();
            return self.queue.push_back(StarterEvent::CallFailed { call: call.id, reason, retry: true });
        }
        self.record.exit_hooks += u32::from(stage == Some(Stage::Exit));
        self.queue.push_back(StarterEvent::CallStarted { call: call.id, pid: 8 });
        let answer = ended_call(call.id, Exit::Code(0));
        match stage {
            Some(stage) => self.hang(stage, Hang::Call(call.id), answer),
            None => self.queue.push_back(answer),
        }
    }

    fn kill_process(&mut self, number: i32) {
        if self.hanging.contains(&Hang::Process) {
            self.hanging.retain(|hang| *hang != Hang::Process);
            self.queue.push_back(ended(Exit::Signal { number, core_dumped: false }));
        }
    }
}

fn ended(exit: Exit) -> StarterEvent {
    StarterEvent::process_ended(exit, FamilyUsage::default())
}

fn ended_call(call: CallId, exit: Exit) -> StarterEvent {
    StarterEvent::CallEnded { call, exit, stdout: Vec::new(), cut: false, stderr: Vec::new() }
}

#[test]
fn each_end_in_each_stage_has_one_outcome_that_is_reported_once() {
    let world = RealWorld::new();
    for stage in STAGES {
        for end in ENDS {
            let record = Played::new(&world, stage, end).play();
            let which = format!("{end:?} at {stage:?}: {record:?}");
            assert_eq!(record.finished.len(), 1, "{which}");
            let (standing, has_ad) = record.finished[0];
            let ran = matches!(standing, JobOutcome::Ran(_));
            assert_eq!(has_ad, ran, "{which}");
            assert_eq!(record.ends, u32::from(ran), "{which}");
            assert_eq!(record.results, u32::from(ran), "{which}");
            assert_eq!(record.not_started > 0, !ran, "{which}");
            assert_eq!(record.removals, u32::from(record.made), "{which}");
            // If its input cannot be transferred, the job is never started.
            let broken = matches!(end, End::DiskFull | End::ScratchGone);
            let no_input = match stage {
                Stage::Scratch => end == End::ScratchGone,
                Stage::Before => broken,
                Stage::Input => broken || end == End::Patience,
                _ => false,
            };
            assert_eq!(record.exit_hooks, u32::from(!no_input), "{which}");
            assert!(record.not_started <= 1, "{which}");
            // No limit is longer than SHUTDOWN_GRACEFUL_TIMEOUT.
            assert!(record.seconds <= 2500, "{which}");
        }
    }
}

#[test]
fn an_exit_hook_that_cannot_be_started_is_tried_five_times() {
    let world = RealWorld::new();
    for (failures, calls, said) in [(2, 1, false), (4, 1, false), (5, 0, true), (50, 0, true)] {
        let mut played = Played::new(&world, Stage::Removal, End::Patience);
        played.failing[0] = failures;
        let record = played.play();
        assert_eq!(
            (record.exit_hooks, record.ends, record.removals),
            (calls, 1, 1),
            "{failures}: {record:?}"
        );
        let given_up = record.warnings.iter().any(|text| text.contains("JOB_EXIT failed 5 times"));
        assert_eq!(given_up, said, "{failures}: {record:?}");
    }
}

#[test]
fn a_temporary_output_failure_is_retried_without_repeating_other_steps() {
    let world = RealWorld::new();
    for (failures, held) in [(1, false), (4, false), (5, true)] {
        let mut played = Played::new(&world, Stage::Removal, End::Patience);
        // The transfer of input must not fail, so failures are set after it.
        played.failing[1] = 0;
        while played.machine.state() != "running" {
            let event = played.queue.pop_front().unwrap();
            let actions = played.machine.step(played.now, event);
            actions.into_iter().for_each(|action| played.act(action));
        }
        played.failing[1] = failures;
        let record = played.play();
        assert_eq!((record.exit_hooks, record.ends, record.removals), (1, 1, 1), "{failures}: {record:?}");
        let given_up = record.warnings.iter().any(|text| text.contains("is not tried again"));
        assert_eq!(given_up, held, "{failures}: {record:?}");
    }
}

#[test]
fn removal_of_a_directory_is_tried_three_times_and_reported() {
    let world = RealWorld::new();
    for (failures, removals) in [(1, 2), (2, 3), (3, 3), (9, 3)] {
        let mut played = Played::new(&world, Stage::Open, End::Patience);
        played.failing[2] = failures;
        let record = played.play();
        assert_eq!((record.removals, record.ends), (removals, 1), "{failures}: {record:?}");
        let named = record.warnings.iter().any(|text| text.starts_with("cannot remove /execute"));
        assert_eq!(named, failures >= 3, "{record:?}");
    }
}

#[test]
fn a_request_for_a_fast_end_skips_further_tries() {
    let world = RealWorld::new();
    let mut played = Played::new(&world, Stage::Removal, End::Patience);
    played.failing[0] = 50;
    while let Some(event) = played.queue.pop_front() {
        let actions = played.machine.step(played.now, event);
        actions.into_iter().for_each(|action| played.act(action));
    }
    assert_eq!(played.machine.state(), "ending");
    played.queue.push_back(StarterEvent::Requested(StarterCommand::Fast(None)));
    let record = played.play();
    assert_eq!((record.exit_hooks, record.ends, record.seconds), (0, 1, 0), "{record:?}");
}

#[test]
fn the_phase_table_has_exactly_the_observed_transitions() {
    let world = RealWorld::new();
    let mut ways = BTreeSet::new();
    for stage in STAGES {
        for end in ENDS {
            ways.extend(Played::new(&world, stage, end).play().ways);
            for step in 0..3 {
                let mut played = Played::new(&world, stage, end);
                played.failing[step] = 2;
                ways.extend(played.play().ways);
            }
        }
    }
    for way @ [from, event, to] in &ways {
        let row = TRANSITIONS.iter().find(|row| (row.from, row.event) == (*from, *event));
        assert!(row.is_some_and(|row| row.to.contains(to)), "{way:?} is missing");
    }
    let untaken: Vec<_> = TRANSITIONS
        .iter()
        .filter(|row| !ways.iter().any(|[from, event, _]| (*from, *event) == (row.from, row.event)))
        .map(|row| (row.from, row.event))
        .collect();
    // Separate tests cover hooks that cannot be started or exceed their limit, containers, and exceptions of 25.14. They also
    // compare each transition with the table.
    let elsewhere = [
        ("preparing", "call failed"),
        ("preparing", "timeout"),
        ("pre script", "timeout"),
        ("container", "files opened"),
        ("container", "docker config"),
        ("container", "tool ended"),
        ("container", "timeout"),
        ("container", "asked"),
        ("starting", "asked"),
        ("running", "process failed"),
        ("running", "asked"),
        ("post script", "timeout"),
        ("again", "asked"),
    ];
    assert_eq!(untaken, elsewhere);
}
