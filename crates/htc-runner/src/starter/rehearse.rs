//! The same machine without a single process: what would be made, called and run, in order.
//!
//! Hooks and job are assumed to answer as the script says, and the clock jumps from one deadline to the next.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::child;
use super::job::Job;
use super::notice;
use super::story::{self, Refused, Story};
use crate::events::{self, Kind};
use htc_base::process::{Exit, LimitKind};
use htc_base::text::arguments;
use htc_base::time::{Now, Tick};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::HookType;
use htc_hook::transfer::{List, Transferred, Way};
use htc_starter::container::{self, ContainerPlan, Runtime, ToolCall};
use htc_starter::logical_volume::LogicalVolume;
use htc_starter::volume_group::VolumeGroup;
use htc_starter::{
    Account, Action, Call, CallId, Event, FamilyUsage, JobProcess, LogEvent, Notice, StandardFile, Standing,
    Starter,
};

/// What stands for the key of a volume that would be encrypted.
const KEY: &[u8] = b"/dev/shm/cryptokeyXXXXXX";

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
    /// The same as data.
    pub story: Story,
}

/// What would be moved.
fn transfer(way: Way, job: &Job) -> String {
    let Some(file_transfer) = &job.file_transfer else { return "move no files".to_owned() };
    let scratch = BString::from(job.sandbox.scratch.as_os_str().as_bytes());
    let task = file_transfer.task(way, &scratch, job.identity.as_ref());
    let what = match &task.list {
        List::Named(names) if names.is_empty() => "nothing".to_owned(),
        List::Named(names) => bstr::join(", ", names).as_bstr().to_string(),
        List::Changed { .. } => "what is new or changed".to_owned(),
    };
    let to = task.destination.as_ref().unwrap_or(&task.target);
    format!("transfer {what} from {} to {to}", task.base)
}

/// Rehearses a job from the present on.
pub fn rehearse(mut machine: Starter<'_>, job: &Job, script: &Script, world: &dyn World) -> Rehearsed {
    let mut rehearsal = Rehearsal::new(job, script, world);
    // A machine that asks for nothing more has come to its end or waits for a person.
    for _ in 0..100_000 {
        let Some(event) = rehearsal.next() else { break };
        for action in machine.step(rehearsal.now, event) {
            if let Action::Finish { standing, .. } = action {
                return rehearsal.finished(standing);
            }
            rehearsal.act(action, machine.machine_ad());
        }
    }
    rehearsal.finished(Standing::NotStarted)
}

/// A job that is being rehearsed.
struct Rehearsal<'a> {
    job: &'a Job,
    script: &'a Script,
    world: &'a dyn World,
    started: Tick,
    now: Now,
    story: Story,
    lines: Vec<String>,
    events: VecDeque<Event>,
    wake_at: Option<Tick>,
    ends_at: Option<Tick>,
}

impl<'a> Rehearsal<'a> {
    fn new(job: &'a Job, script: &'a Script, world: &'a dyn World) -> Self {
        let now = world.now();
        let mut story = Story { runtime: "plain", ..Story::default() };
        story.user(job.identity.as_ref());
        let mut lines = vec![match &job.identity {
            Some(identity) => format!("account: uid {}, gid {}", identity.uid, identity.gid),
            None => "account: the caller's own".to_owned(),
        }];
        lines.extend(job.virtual_machine.iter().flatten().cloned());
        Rehearsal {
            job,
            script,
            world,
            started: now.tick(),
            now,
            story,
            lines,
            events: VecDeque::from([Event::Begin]),
            wake_at: None,
            ends_at: None,
        }
    }

    /// What the machine is told next; the clock goes on to that.
    fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let at = [self.ends_at, self.wake_at].into_iter().flatten().min()?;
        self.now = self.now.plus(at.since(self.now.tick()));
        if self.ends_at.is_none_or(|at| at > self.now.tick()) {
            self.wake_at = None;
            return Some(Event::Timeout);
        }
        self.ends_at = None;
        Some(Event::process_ended(self.script.job, FamilyUsage::default()))
    }

    fn say(&mut self, line: String) {
        let at = self.now.tick().since(self.started).as_secs();
        self.lines.push(format!("{at:>5} s  {line}"));
    }

    fn say_all(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.say(line));
    }

    fn finished(mut self, standing: Standing) -> Rehearsed {
        self.story.started = matches!(standing, Standing::Ran(_));
        Rehearsed { lines: self.lines, story: self.story }
    }

    fn act(&mut self, action: Action, machine: &ClassAd) {
        match action {
            Action::MakeScratch { files } => {
                let names: Vec<_> = files.iter().map(|file| file.name).collect();
                let path = self.job.sandbox.scratch.display();
                self.say(format!("make {path} with {}", names.join(" and ")));
                let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.as_ref());
                let group = volume.and_then(|volume| volume.on_file.as_ref());
                let making = group.map(VolumeGroup::rehearsed).unwrap_or_default();
                let all = volume.map(|volume| volume.making(KEY)).unwrap_or_default();
                for words in making.iter().chain(&all) {
                    self.say(format!("run {}", shown(words)));
                }
                let encrypted = volume.is_some_and(|volume| volume.encrypted);
                self.events.push_back(Event::ScratchMade { encrypted });
            }
            Action::Call(call) => self.call(call),
            Action::StartProcess(process) => self.start(&process),
            Action::Transfer(way) => {
                self.say(transfer(way, self.job));
                self.events.push_back(Event::Transferred(Box::new(Transferred::nothing(way))));
            }
            Action::Manifest { directory, name, .. } => self.say(format!("write {directory}/{name}")),
            Action::Measure => self.events.push_back(Event::Measured(FamilyUsage::default())),
            Action::WakeAt(at) => self.wake_at = at,
            Action::WriteFile(file) => self.say(format!("write {}", file.name)),
            Action::RemoveScratch => {
                self.say("remove the scratch directory".to_owned());
                let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.as_ref());
                let group = volume.and_then(|volume| volume.on_file.as_ref());
                let going = group.map(VolumeGroup::rehearsed_end).unwrap_or_default();
                let all = volume.map(LogicalVolume::removing).unwrap_or_default();
                for words in all.iter().chain(&going) {
                    self.say(format!("run {}", shown(words)));
                }
                self.events.push_back(Event::ScratchRemoved { remains: Vec::new() });
            }
            Action::Log(LogEvent::Error { failure, critical: true }) => self.story.refused(&failure),
            Action::Tell(notice) => self.tell(notice),
            Action::SignalJob(_) | Action::KillFamily => self.ends_at = Some(self.now.tick()),
            Action::RunTool(call, tool) => self.ask(call, &tool, machine),
            Action::OpenFiles(_) => self.events.push_back(Event::FilesOpened(Vec::new())),
            Action::DockerConfig(Some(_)) => {
                self.say("lay down docker's configuration with what it logs in with".to_owned());
                self.events.push_back(Event::DockerConfig(None));
            }
            Action::AbortTransfer
            | Action::MakeDirectory { .. }
            | Action::Remember { .. }
            | Action::Pulling { .. }
            | Action::DockerConfig(None)
            | Action::StopFamily
            | Action::ContinueFamily
            | Action::KillCall(_)
            | Action::KillCalls
            | Action::OpenLog
            | Action::WriteUpdateAd(_)
            | Action::WriteResultAd(_)
            | Action::Finish { .. }
            | Action::Log(_) => {}
        }
    }

    fn call(&mut self, call: Call) {
        let waited_for = call.hook.is_waited_for();
        let waited = if waited_for { "" } else { " (not waited for)" };
        let words = || std::iter::once(&call.path).chain(&call.arguments);
        self.say(format!("call {} {}{waited}", call.hook.name(), shown(words())));
        let command = words().map(ToString::to_string).collect();
        self.story.hooks.push(story::Hook { hook: call.hook.name(), command, waited_for });
        let (exit, stdout) = match call.hook {
            HookType::PrepareJob => self.script.prepare.clone(),
            _ => (Exit::Code(0), Vec::new()),
        };
        let prepares = matches!(call.hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer);
        if prepares && self.assumes_silence() {
            self.say("    assumed to exit with status 0 and to print nothing; it is not called".to_owned());
        }
        let stderr = Vec::new();
        self.events.push_back(Event::CallEnded { call: call.id, exit, stdout, cut: false, stderr });
    }

    /// True if the answer of a prepare hook is our assumption, of which no verdict is shown.
    fn assumes_silence(&self) -> bool {
        self.script.prepare == Script::default().prepare
    }

    fn start(&mut self, process: &JobProcess) {
        self.say_all(describe(process));
        if !process.script {
            self.story.process(process);
            let missing = missing(&process.argv, process.account, self.world, &mut self.story);
            self.say_all(missing.into_iter().collect());
        }
        if !process.failures.is_empty() {
            return self.events.push_back(Event::ProcessFailed(process.failures.clone()));
        }
        self.events.push_back(Event::ProcessStarted { pid: 0 });
        let runs = if process.script { Duration::ZERO } else { self.script.runs };
        self.ends_at = Some(self.now.tick().plus(runs));
    }

    fn ask(&mut self, call: CallId, tool: &ToolCall, machine: &ClassAd) {
        self.say(format!("ask {}", shown(&tool.argv)));
        self.story.call(tool);
        let missing = missing(&tool.argv, Account::Daemon, self.world, &mut self.story);
        self.say_all(missing.into_iter().collect());
        let output = container::rehearsed_answer(tool, machine, self.script.job, self.world);
        let exit = Some(Exit::Code(0));
        self.events.push_back(Event::ToolEnded { call, exit, output, errors: Vec::new() });
    }

    fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::Runtime(choice) => {
                if choice.runtime != Runtime::Plain {
                    self.say(format!("the job is run in {}: {}", word(choice.runtime), choice.because));
                }
                self.story.runtime(choice.runtime, &choice.because, &choice.passed);
            }
            Notice::Contained(plan) => {
                self.say_all(contained(&plan));
                self.story.contained(&plan);
            }
            Notice::Unbound { target, why, .. } => self.say(notice::unbound(&target, why)),
            Notice::NotStarted { reason } => {
                self.say(format!("the job is not started: {reason}"));
                self.story.refused.get_or_insert_with(|| Refused { reason, ..Refused::default() });
            }
            Notice::Verdict { .. } if self.assumes_silence() => {}
            notice => {
                let event = notice::event(events::Event::new(self.now, Kind::Warning), notice);
                let is_said = |kind: Kind| matches!(kind, Kind::Warning | Kind::Verdict | Kind::HookFailed);
                if let Some(event) = event.filter(|event| is_said(event.kind)) {
                    self.say(event.readable());
                }
            }
        }
    }
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
        false => child::program(program, world).is_some(),
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
fn describe(process: &JobProcess) -> Vec<String> {
    let mut lines = vec![match process.script {
        // Its own name is condor_Prescript, whatever file that is.
        true => {
            let program = BString::from(process.program.as_os_str().as_encoded_bytes());
            let words: Vec<BString> =
                std::iter::once(program).chain(process.argv.iter().skip(1).cloned()).collect();
            format!("run script {}", shown(&words).as_bstr())
        }
        false => format!("run {}", shown(&process.argv).as_bstr()),
    }];
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
    lines.extend(story::isolation(process).into_iter().map(|line| format!("    {line}")));
    for (source, target) in &process.mounts {
        lines.push(format!("    {} is its {}", source.display(), target.display()));
    }
    lines.extend(process.environment.iter().map(|entry| format!("    env {entry}")));
    lines
}
