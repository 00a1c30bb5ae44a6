//! The same machine without a single process: what would be made, called and run, in order.
//!
//! Hooks and job are assumed to answer as the script says, and the clock jumps from one deadline to the next.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::job::Job;
use super::notice;
use super::story::{self, Refused, Story};
use crate::hook::HookType;
use crate::process::{Exit, LimitKind};
use crate::runner::events::{self, Kind};
use crate::starter::container::{self, ContainerPlan, Runtime};
use crate::starter::{
    Account, Action, Event, FamilyUsage, JobProcess, LogEvent, Notice, StandardFile, Standing, Starter,
};
use crate::text::arguments;
use crate::time::Tick;
use crate::transfer::{List, Transferred, Way};
use crate::world::World;

/// What hooks and job are assumed to do.
#[derive(Clone, Debug)]
pub struct Script {
    /// How PREPARE_JOB ends and what it prints.
    pub prepare: (Exit, Vec<u8>),
    /// How the job ends.
    pub job: Exit,
    /// How long the job runs.
    pub runs: Duration,
}

impl Default for Script {
    /// All goes well: PREPARE_JOB prints nothing, the job exits with 0 after one second.
    fn default() -> Self {
        Script { prepare: (Exit::Code(0), Vec::new()), job: Exit::Code(0), runs: Duration::from_secs(1) }
    }
}

/// What a rehearsal shows.
#[derive(Debug)]
pub struct Rehearsed {
    /// One line for each thing that would be done.
    pub lines: Vec<String>,
    /// How it would stand with the job.
    pub standing: Standing,
    /// The same as data.
    pub story: Story,
}

/// What would be moved.
fn transfer(way: Way, job: &Job) -> String {
    let Some(carriage) = &job.carriage else { return "move no files".to_owned() };
    let scratch = BString::from(job.sandbox.scratch.as_os_str().as_bytes());
    let errand = carriage.errand(way, &scratch, job.identity.as_ref());
    let what = match &errand.list {
        List::Named(names) if names.is_empty() => "nothing".to_owned(),
        List::Named(names) => bstr::join(", ", names).as_bstr().to_string(),
        List::Changed { .. } => "what is new or changed".to_owned(),
    };
    let to = errand.destination.as_ref().unwrap_or(&errand.target);
    format!("transfer {what} from {} to {to}", errand.base)
}

/// Rehearses a job from the present on.
pub fn rehearse(mut machine: Starter<'_>, job: &Job, script: &Script, world: &dyn World) -> Rehearsed {
    let mut now = world.now();
    let started = now;
    let mut story = Story { runtime: "plain", ..Story::default() };
    story.user(job.identity.as_ref());
    let mut lines = vec![match &job.identity {
        Some(identity) => format!("account: uid {}, gid {}", identity.uid, identity.gid),
        None => "account: the caller's own".to_owned(),
    }];
    lines.extend(job.virtual_machine.iter().flatten().cloned());
    let mut events = VecDeque::from([Event::Begin]);
    let (mut wake_at, mut ends_at): (Option<Tick>, Option<Tick>) = (None, None);
    // A machine that asks for nothing more has come to its end or waits for a person.
    for _ in 0..100_000 {
        let Some(event) = events.pop_front() else {
            match [ends_at, wake_at].into_iter().flatten().min() {
                None => break,
                Some(at) => now = now.plus(at.since(now.tick())),
            }
            if ends_at.is_some_and(|at| at <= now.tick()) {
                ends_at = None;
                let usage = FamilyUsage::default();
                events.push_back(Event::ProcessEnded {
                    exit: script.job,
                    inside: None,
                    usage,
                    core: false,
                    wrapper_failure: None,
                    java: None,
                });
            } else {
                wake_at = None;
                events.push_back(Event::Timeout);
            }
            continue;
        };
        for action in machine.step(now, event) {
            let at = now.tick().since(started.tick()).as_secs();
            let mut say = |line: String| lines.push(format!("{at:>5} s  {line}"));
            match action {
                Action::MakeScratch { files } => {
                    let names: Vec<_> = files.iter().map(|file| file.name).collect();
                    let path = job.sandbox.scratch.display();
                    say(format!("make {path} with {}", names.join(" and ")));
                    events.push_back(Event::ScratchMade);
                }
                Action::Call(call) => {
                    let words = std::iter::once(&call.path).chain(&call.arguments);
                    let waited = match call.hook.is_waited_for() {
                        true => "",
                        false => " (not waited for)",
                    };
                    say(format!("call {} {}{waited}", call.hook.name(), shown(words)));
                    story.hooks.push(story::Hook {
                        hook: call.hook.name(),
                        command: std::iter::once(&call.path)
                            .chain(&call.arguments)
                            .map(ToString::to_string)
                            .collect(),
                        waited_for: call.hook.is_waited_for(),
                    });
                    let (exit, stdout) = match call.hook {
                        HookType::PrepareJob => script.prepare.clone(),
                        _ => (Exit::Code(0), Vec::new()),
                    };
                    let stderr = Vec::new();
                    events.push_back(Event::CallEnded { call: call.id, exit, stdout, cut: false, stderr });
                }
                Action::StartProcess(process) => {
                    describe(&process).into_iter().for_each(&mut say);
                    if !process.script {
                        story.process(&process);
                        missing(&process.argv, process.account, world, &mut story)
                            .into_iter()
                            .for_each(&mut say);
                    }
                    if !process.failures.is_empty() {
                        events.push_back(Event::ProcessFailed(process.failures.clone()));
                        continue;
                    }
                    events.push_back(Event::ProcessStarted { pid: 0 });
                    let runs = if process.script { Duration::ZERO } else { script.runs };
                    ends_at = Some(now.tick().plus(runs));
                }
                Action::Transfer(way) => {
                    say(transfer(way, job));
                    events.push_back(Event::Transferred(Box::new(Transferred::nothing(way))));
                }
                Action::Manifest { directory, name, .. } => say(format!("write {directory}/{name}")),
                Action::AbortTransfer => {}
                Action::Measure => events.push_back(Event::Measured(FamilyUsage::default())),
                Action::WakeAt(at) => wake_at = at,
                Action::WriteFile(file) => say(format!("write {}", file.name)),
                Action::RemoveScratch => {
                    say("remove the scratch directory".to_owned());
                    events.push_back(Event::ScratchRemoved { remains: Vec::new() });
                }
                Action::Tell(Notice::Runtime(choice)) => {
                    if choice.runtime != Runtime::Plain {
                        say(format!("the job is run in {}: {}", word(choice.runtime), choice.because));
                    }
                    story.runtime(choice.runtime, &choice.because, &choice.passed);
                }
                Action::Tell(Notice::Contained(plan)) => {
                    contained(&plan).into_iter().for_each(&mut say);
                    story.contained(&plan);
                }
                Action::Tell(Notice::NotStarted { reason }) => {
                    say(format!("the job is not started: {reason}"));
                    story.refused.get_or_insert_with(|| Refused { reason, ..Refused::default() });
                }
                Action::Log(LogEvent::Error { failure, critical: true }) => story.refused(&failure),
                Action::Tell(notice) => {
                    let Some(event) = notice::event(events::Event::new(now, Kind::Warning), notice) else {
                        continue;
                    };
                    if matches!(event.kind, Kind::Warning | Kind::Verdict | Kind::HookFailed) {
                        say(event.readable());
                    }
                }
                Action::Finish { standing, .. } => {
                    story.started = matches!(standing, Standing::Ran(_));
                    return Rehearsed { lines, standing, story };
                }
                Action::SignalJob(_) | Action::KillFamily => ends_at = Some(now.tick()),
                Action::RunTool(call, tool) => {
                    say(format!("ask {}", shown(&tool.argv)));
                    story.call(&tool);
                    missing(&tool.argv, Account::Daemon, world, &mut story).into_iter().for_each(&mut say);
                    let output = container::rehearsed_answer(&tool, machine.machine_ad(), script.job, world);
                    let exit = Some(Exit::Code(0));
                    events.push_back(Event::ToolEnded { call, exit, output, errors: Vec::new() });
                }
                Action::OpenFiles(_) => events.push_back(Event::FilesOpened(Vec::new())),
                Action::MakeDirectory { .. } | Action::Remember { .. } => {}
                Action::StopFamily
                | Action::ContinueFamily
                | Action::KillCall(_)
                | Action::KillCalls
                | Action::OpenLog
                | Action::WriteUpdateAd(_)
                | Action::WriteResultAd(_)
                | Action::Log(_) => {}
            }
        }
    }
    Rehearsed { lines, standing: Standing::NotStarted, story }
}

fn shown<'a>(words: impl IntoIterator<Item = &'a BString>) -> BString {
    arguments::join_v2_raw(words)
}

fn word(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Plain => "no container",
        Runtime::Docker => "a docker container",
        Runtime::Singularity => "a container of Singularity or Apptainer",
    }
}

/// What the plan of a container shows beside its command line, which is among the calls or is the job's.
fn contained(plan: &ContainerPlan) -> Vec<String> {
    let mut lines = vec![format!("    image {}", plan.image)];
    lines.extend(plan.mounts.iter().map(|mount| match &mount.source {
        Some(source) => format!("    mount {source} as {}", mount.target),
        None => format!("    mount a directory of its own as {}", mount.target),
    }));
    lines.extend(plan.limits.iter().map(|limit| format!("    limit {} {}", limit.of, limit.value)));
    if plan.runtime == Runtime::Docker {
        lines.extend(plan.environment.entries().iter().map(|entry| format!("    env {entry} (inside)")));
    }
    lines
}

/// A line for a program that is not on this machine, once.
fn missing(argv: &[BString], account: Account, world: &dyn World, story: &mut Story) -> Option<String> {
    let program = argv.first()?;
    let there = match program.starts_with(b"/") {
        true => world.stat(program.to_path_lossy().as_ref()).is_ok(),
        false => super::tools::found(program, world).is_some(),
    };
    let name = program.to_string();
    // A relative one lies in the scratch directory, which is not there yet.
    let unknown = account == Account::Job && !program.starts_with(b"/");
    if there || unknown || story.missing.contains(&name) {
        return None;
    }
    let line = format!("    there is no '{name}' on this machine");
    story.missing.push(name);
    Some(line)
}

/// What it does not share with the machine, and what its processes are known by.
pub(super) fn isolation(process: &JobProcess) -> Vec<String> {
    let made = &process.isolation;
    let mut lines = Vec::new();
    if made.namespaces.processes {
        lines.push("a PID namespace of its own".to_owned());
    }
    if made.namespaces.network {
        lines.push("no network".to_owned());
    }
    if let Some(range) = &made.tracking {
        lines.push(format!("a group of its own, one of {} to {}", range.start(), range.end()));
    }
    if !process.script {
        lines.push(format!("its processes are known by {}", made.known_by(process.group.is_some()).line()));
    }
    lines
}

fn describe(process: &JobProcess) -> Vec<String> {
    let what = if process.script { "run script" } else { "run" };
    let mut lines = vec![format!("{what} {}", shown(&process.argv).as_bstr())];
    lines.push(format!("    in {}", process.cwd.display()));
    for (file, name) in process.files.iter().zip(["input", "output", "errors"]) {
        match file {
            StandardFile::Null => {}
            StandardFile::Own => lines.push(format!("    {name}: the starter's own")),
            StandardFile::Path { path, .. } => lines.push(format!("    {name}: {}", path.display())),
        }
    }
    if process.nice != 0 {
        lines.push(format!("    nice {}", process.nice));
    }
    for limit in &process.limits {
        let (LimitKind::Core | LimitKind::Stack | LimitKind::AddressSpace, Some(soft)) =
            (limit.kind, limit.soft)
        else {
            continue;
        };
        lines.push(format!("    limit {:?} {soft} bytes", limit.kind));
    }
    let groups = process.group.iter().flat_map(|plan| &plan.because);
    lines.extend(groups.map(|limit| format!("    limit of {}: {}", limit.of, limit.value)));
    lines.extend(isolation(process).into_iter().map(|line| format!("    {line}")));
    for (source, target) in &process.mounts {
        lines.push(format!("    {} is its {}", source.display(), target.display()));
    }
    lines.extend(process.environment.iter().map(|entry| format!("    env {entry}")));
    lines
}
