//! Rehearsal: runs the state machine without processes, and shows in order what would be created, called and run.
//!
//! Hooks and job behave as given by the script, and the clock jumps from one deadline to the next.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::execution_context::ExecutionContext;
use super::job_child;
use super::notice;
use super::run_preview::{self, RunPreview, StartRefusal};
use crate::events::{self, RunnerEventKind};
use htc_base::process::{Exit, ResourceLimitKind};
use htc_base::text::arguments;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::HookType;
use htc_hook::transfer::{FileList, TransferKind, TransferOutcome};
use htc_starter::container::{self, ContainerPlan, ContainerRuntime, ToolCall};
use htc_starter::logical_volume::LogicalVolume;
use htc_starter::volume_group::VolumeGroup;
use htc_starter::{
    CallId, FamilyUsage, JobLogEvent, JobOutcome, JobProcess, ProcessAccount, StandardFile, Starter,
    StarterAction, StarterEvent, StarterHookCall, StarterNotice,
};

/// Placeholder for the path of the key of an encrypted volume.
const KEY_PLACEHOLDER: &[u8] = b"/dev/shm/cryptokeyXXXXXX";

/// Assumed behavior of hooks and job in a rehearsal.
#[derive(Clone, Debug)]
pub struct RehearsalScript {
    /// Exit status and output of PREPARE_JOB.
    pub prepare_end: (Exit, Vec<u8>),
    /// Exit status of the job.
    pub job_exit: Exit,
    /// Run time of the job.
    pub job_run_time: Duration,
}

impl Default for RehearsalScript {
    /// Returns a script in which PREPARE_JOB prints nothing and the job exits with 0 after one second.
    fn default() -> Self {
        RehearsalScript {
            prepare_end: (Exit::Code(0), Vec::new()),
            job_exit: Exit::Code(0),
            job_run_time: Duration::from_secs(1),
        }
    }
}

/// Result of a rehearsal.
#[derive(Debug)]
pub struct RehearsalResult {
    /// One line for each action.
    pub lines: Vec<String>,
    /// The results of the rehearsal as data.
    pub preview: RunPreview,
}

/// Describes the files that would be transferred in one direction.
fn transfer(kind: TransferKind, job: &ExecutionContext) -> String {
    let Some(file_transfer) = &job.file_transfer else { return "move no files".to_owned() };
    let scratch = BString::from(job.sandbox.scratch.as_os_str().as_bytes());
    let task = file_transfer.task(kind, &scratch, job.identity.as_ref());
    let what = match &task.list {
        FileList::Named(names) if names.is_empty() => "nothing".to_owned(),
        FileList::Named(names) => bstr::join(", ", names).as_bstr().to_string(),
        FileList::Changed { .. } => "new and changed files".to_owned(),
    };
    let to = task.destination.as_ref().unwrap_or(&task.target);
    format!("transfer {what} from {} to {to}", task.base)
}

/// Rehearses a job, starting at the current time.
pub fn rehearse(
    mut machine: Starter<'_>,
    job: &ExecutionContext,
    script: &RehearsalScript,
    world: &dyn World,
) -> RehearsalResult {
    let mut rehearsal = Rehearsal::new(job, script, world);
    // If there is no next event, the state machine has ended or is waiting for the user.
    for _ in 0..100_000 {
        let Some(event) = rehearsal.next() else { break };
        for action in machine.step(rehearsal.now, event) {
            if let StarterAction::Finish { job_outcome: standing, .. } = action {
                return rehearsal.into_result(standing);
            }
            rehearsal.act(action, machine.machine_ad());
        }
    }
    rehearsal.into_result(JobOutcome::NotStarted)
}

/// State of a rehearsal.
struct Rehearsal<'a> {
    job: &'a ExecutionContext,
    script: &'a RehearsalScript,
    world: &'a dyn World,
    started: MonotonicTime,
    now: ClockReading,
    preview: RunPreview,
    lines: Vec<String>,
    events: VecDeque<StarterEvent>,
    wake_at: Option<MonotonicTime>,
    ends_at: Option<MonotonicTime>,
}

impl<'a> Rehearsal<'a> {
    fn new(job: &'a ExecutionContext, script: &'a RehearsalScript, world: &'a dyn World) -> Self {
        let now = world.now();
        let mut preview = RunPreview { runtime: "plain", ..RunPreview::default() };
        preview.set_user(job.identity.as_ref());
        let mut lines = vec![match &job.identity {
            Some(identity) => format!("account: uid {}, gid {}", identity.uid, identity.gid),
            None => "account: the caller's own".to_owned(),
        }];
        lines.extend(job.virtual_machine.iter().flatten().cloned());
        Rehearsal {
            job,
            script,
            world,
            started: now.monotonic(),
            now,
            preview,
            lines,
            events: VecDeque::from([StarterEvent::Begin]),
            wake_at: None,
            ends_at: None,
        }
    }

    /// Returns the next event for the state machine, and advances the clock to it.
    fn next(&mut self) -> Option<StarterEvent> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        let at = [self.ends_at, self.wake_at].into_iter().flatten().min()?;
        self.now = self.now.plus(at.since(self.now.monotonic()));
        if self.ends_at.is_none_or(|at| at > self.now.monotonic()) {
            self.wake_at = None;
            return Some(StarterEvent::Timeout);
        }
        self.ends_at = None;
        Some(StarterEvent::process_ended(self.script.job_exit, FamilyUsage::default()))
    }

    fn add_line(&mut self, line: String) {
        let at = self.now.monotonic().since(self.started).as_secs();
        self.lines.push(format!("{at:>5} s  {line}"));
    }

    /// Adds a line about the job. If prepare hooks were not called, the line says that they may change it.
    fn add_job_line(&mut self, line: String) {
        let mark = match self.preview.assumed_hooks.as_slice() {
            [] => String::new(),
            hooks => format!("  ({} may change this)", hooks.join(" and ")),
        };
        self.add_line(line + &mark);
    }

    fn add_lines(&mut self, lines: Vec<String>) {
        lines.into_iter().for_each(|line| self.add_line(line));
    }

    fn into_result(mut self, standing: JobOutcome) -> RehearsalResult {
        self.preview.started = matches!(standing, JobOutcome::Ran(_));
        RehearsalResult { lines: self.lines, preview: self.preview }
    }

    fn act(&mut self, action: StarterAction, machine: &ClassAd) {
        match action {
            StarterAction::MakeScratch { files } => {
                let names: Vec<_> = files.iter().map(|file| file.name).collect();
                let path = self.job.sandbox.scratch.display();
                self.add_line(format!("create {path} with {}", names.join(" and ")));
                let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.as_ref());
                let group = volume.and_then(|volume| volume.on_file.as_ref());
                let making = group.map(VolumeGroup::all_create_commands).unwrap_or_default();
                let all = volume.map(|volume| volume.create_commands(KEY_PLACEHOLDER)).unwrap_or_default();
                for words in making.iter().chain(&all) {
                    self.add_line(format!("run {}", join_words(words)));
                }
                let encrypted = volume.is_some_and(|volume| volume.encrypted);
                self.events.push_back(StarterEvent::ScratchMade { encrypted });
            }
            StarterAction::Call(call) => self.call(call),
            StarterAction::StartProcess(process) => self.start(&process),
            StarterAction::Transfer(kind) => {
                self.add_job_line(transfer(kind, self.job));
                self.events.push_back(StarterEvent::Transferred(Box::new(TransferOutcome::empty(kind))));
            }
            StarterAction::Manifest { directory, name, .. } => {
                self.add_line(format!("write {directory}/{name}"))
            }
            StarterAction::Measure => self.events.push_back(StarterEvent::Measured(FamilyUsage::default())),
            StarterAction::WakeAt(at) => self.wake_at = at,
            StarterAction::WriteFile(file) => self.add_line(format!("write {}", file.name)),
            StarterAction::RemoveScratch => {
                self.add_line("remove the scratch directory".to_owned());
                let volume = self.job.sandbox.volume.as_ref().and_then(|volume| volume.logical.as_ref());
                let group = volume.and_then(|volume| volume.on_file.as_ref());
                let going = group.map(VolumeGroup::all_remove_commands).unwrap_or_default();
                let all = volume.map(LogicalVolume::remove_commands).unwrap_or_default();
                for words in all.iter().chain(&going) {
                    self.add_line(format!("run {}", join_words(words)));
                }
                self.events.push_back(StarterEvent::ScratchRemoved { remains: Vec::new() });
            }
            StarterAction::Log(JobLogEvent::Error { failure, critical: true }) => {
                self.preview.set_refusal(&failure)
            }
            StarterAction::Report(notice) => self.add_notice(notice),
            StarterAction::SignalJob(_) | StarterAction::KillFamily => {
                self.ends_at = Some(self.now.monotonic())
            }
            StarterAction::RunTool(call, tool) => self.rehearse_runtime_call(call, &tool, machine),
            StarterAction::OpenFiles(_) => self.events.push_back(StarterEvent::FilesOpened(Vec::new())),
            StarterAction::DockerConfig(Some(_)) => {
                self.add_line("write docker's configuration with its login credentials".to_owned());
                self.events.push_back(StarterEvent::DockerConfig(None));
            }
            StarterAction::AbortTransfer
            | StarterAction::ReconnectShadow
            | StarterAction::MakeDirectory { .. }
            | StarterAction::RememberContainer { .. }
            | StarterAction::RememberPull { .. }
            | StarterAction::DockerConfig(None)
            | StarterAction::StopFamily
            | StarterAction::ContinueFamily
            | StarterAction::KillCall(_)
            | StarterAction::KillCalls
            | StarterAction::OpenLog
            | StarterAction::WriteUpdateAd(_)
            | StarterAction::WriteResultAd(_)
            | StarterAction::Finish { .. }
            | StarterAction::Log(_) => {}
        }
    }

    fn call(&mut self, call: StarterHookCall) {
        let waited_for = call.hook.is_waited_for();
        let waited = if waited_for { "" } else { " (not waited for)" };
        let words = || std::iter::once(&call.path).chain(&call.arguments);
        self.add_line(format!("call {} {}{waited}", call.hook.name(), join_words(words())));
        let command = words().map(ToString::to_string).collect();
        self.preview.hooks.push(run_preview::PlannedHook { hook: call.hook.name(), command, waited_for });
        let (exit, stdout) = match call.hook {
            HookType::PrepareJob => self.script.prepare_end.clone(),
            _ => (Exit::Code(0), Vec::new()),
        };
        let prepares = matches!(call.hook, HookType::PrepareJob | HookType::PrepareJobBeforeTransfer);
        if prepares && self.is_output_assumed() {
            self.add_line(
                "    assumed to exit with status 0 and to print nothing; it is not called".to_owned(),
            );
            self.preview.assumed_hooks.push(call.hook.name());
        }
        let stderr = Vec::new();
        self.events.push_back(StarterEvent::CallEnded { call: call.id, exit, stdout, cut: false, stderr });
    }

    /// Returns true if the output of a prepare hook is only assumed, so that no verdict on it is shown.
    fn is_output_assumed(&self) -> bool {
        self.script.prepare_end == RehearsalScript::default().prepare_end
    }

    fn start(&mut self, process: &JobProcess) {
        let mut lines = describe_isolation(process).into_iter();
        lines.next().into_iter().for_each(|line| self.add_job_line(line));
        self.add_lines(lines.collect());
        if !process.script {
            self.preview.set_process(process);
            let missing = missing_program_line(&process.argv, process.account, self.world, &mut self.preview);
            self.add_lines(missing.into_iter().collect());
        }
        if !process.failures.is_empty() {
            return self.events.push_back(StarterEvent::ProcessFailed(process.failures.clone()));
        }
        self.events.push_back(StarterEvent::ProcessStarted { pid: 0 });
        let runs = if process.script { Duration::ZERO } else { self.script.job_run_time };
        self.ends_at = Some(self.now.monotonic().plus(runs));
    }

    fn rehearse_runtime_call(&mut self, call: CallId, tool: &ToolCall, machine: &ClassAd) {
        self.add_job_line(format!("ask {}", join_words(&tool.argv)));
        self.preview.add_runtime_call(tool);
        let missing = missing_program_line(&tool.argv, ProcessAccount::Daemon, self.world, &mut self.preview);
        self.add_lines(missing.into_iter().collect());
        let output = container::rehearsed_answer(tool, machine, self.script.job_exit, self.world);
        let exit = Some(Exit::Code(0));
        self.events.push_back(StarterEvent::ToolEnded { call, exit, output, errors: Vec::new() });
    }

    fn add_notice(&mut self, notice: StarterNotice) {
        match notice {
            StarterNotice::RuntimeChosen(choice) => {
                if choice.runtime != ContainerRuntime::Plain {
                    self.add_job_line(format!(
                        "the job is run in {}: {}",
                        runtime_name(choice.runtime),
                        choice.reason
                    ));
                }
                self.preview.set_runtime(choice.runtime, &choice.reason, &choice.unused);
            }
            StarterNotice::ContainerPlanned(plan) => {
                let mut lines = describe_container(&plan).into_iter();
                lines.next().into_iter().for_each(|line| self.add_job_line(line));
                self.add_lines(lines.collect());
                self.preview.set_container(&plan);
            }
            StarterNotice::NotMounted { target, why, .. } => {
                self.add_line(notice::unbound_directory_warning(&target, why))
            }
            StarterNotice::NotStarted { reason } => {
                self.add_job_line(format!("the job is not started: {reason}"));
                self.preview
                    .refused
                    .get_or_insert_with(|| StartRefusal { reason, ..StartRefusal::default() });
            }
            StarterNotice::Verdict { .. } if self.is_output_assumed() => {}
            notice => {
                let event = notice::notice_to_event(
                    events::RunnerEvent::new(self.now, RunnerEventKind::Warning),
                    notice,
                );
                let is_said = |kind: RunnerEventKind| {
                    matches!(
                        kind,
                        RunnerEventKind::Warning | RunnerEventKind::Verdict | RunnerEventKind::HookFailed
                    )
                };
                if let Some(event) = event.filter(|event| is_said(event.kind)) {
                    self.add_line(event.to_readable_line());
                }
            }
        }
    }
}

fn join_words<'a>(words: impl IntoIterator<Item = &'a BString>) -> BString {
    arguments::join_v2_raw(words)
}

fn runtime_name(runtime: ContainerRuntime) -> &'static str {
    match runtime {
        ContainerRuntime::Plain => "no container",
        ContainerRuntime::Docker => "a docker container",
        ContainerRuntime::Singularity => "a container of Singularity or Apptainer",
    }
}

/// Describes the plan of a container without its command line, which is shown separately.
fn describe_container(plan: &ContainerPlan) -> Vec<String> {
    let mut lines = vec![format!("    image {}", plan.image)];
    lines.extend(plan.mounts.iter().map(|mount| match &mount.source {
        Some(source) => format!("    mount {source} as {}", mount.target),
        None => format!("    mount a directory of its own as {}", mount.target),
    }));
    lines.extend(plan.limits.iter().map(|limit| format!("    limit {} {}", limit.resource, limit.value)));
    if plan.runtime == ContainerRuntime::Docker {
        lines.extend(plan.environment.entries().iter().map(|entry| format!("    env {entry} (inside)")));
    }
    lines
}

/// Returns a line about a program that is missing on this machine, or `None` if it exists or has been reported.
fn missing_program_line(
    argv: &[BString],
    account: ProcessAccount,
    world: &dyn World,
    preview: &mut RunPreview,
) -> Option<String> {
    let program = argv.first()?;
    let there = match program.starts_with(b"/") {
        true => world.stat(program.to_path_lossy().as_ref()).is_ok(),
        false => job_child::find_program(program, world).is_some(),
    };
    let name = program.to_string();
    // A relative path is relative to the scratch directory, which does not exist yet, so the program cannot be
    // checked.
    let unknown = account == ProcessAccount::Job && !program.starts_with(b"/");
    if there || unknown || preview.missing.contains(&name) {
        return None;
    }
    let line = format!("    there is no '{name}' on this machine");
    preview.missing.push(name);
    Some(line)
}

/// Describes a process: its command line, directory, files, limits, isolation, mounts and environment.
fn describe_isolation(process: &JobProcess) -> Vec<String> {
    let mut lines = vec![match process.script {
        // `argv[0]` of a script is `condor_Prescript`, whatever the name of the file.
        true => {
            let program = BString::from(process.program.as_os_str().as_encoded_bytes());
            let words: Vec<BString> =
                std::iter::once(program).chain(process.argv.iter().skip(1).cloned()).collect();
            format!("run script {}", join_words(&words).as_bstr())
        }
        false => format!("run {}", join_words(&process.argv).as_bstr()),
    }];
    lines.push(format!("    in {}", process.cwd.display()));
    for (file, name) in process.files.iter().zip(["input", "output", "errors"]) {
        match file {
            StandardFile::Null => {}
            StandardFile::Inherited => lines.push(format!("    {name}: the starter's own")),
            StandardFile::Path { path, .. } => lines.push(format!("    {name}: {}", path.display())),
        }
    }
    if process.nice != 0 {
        lines.push(format!("    nice {}", process.nice));
    }
    for limit in &process.limits {
        let (
            ResourceLimitKind::Core | ResourceLimitKind::Stack | ResourceLimitKind::AddressSpace,
            Some(soft),
        ) = (limit.kind, limit.soft)
        else {
            continue;
        };
        lines.push(format!("    limit {:?} {soft} bytes", limit.kind));
    }
    let groups = process.group.iter().flat_map(|plan| &plan.limits);
    lines.extend(groups.map(|limit| format!("    limit of {}: {}", limit.resource, limit.value)));
    lines.extend(run_preview::isolation(process).into_iter().map(|line| format!("    {line}")));
    for (source, target) in &process.mounts {
        lines.push(format!("    {} is its {}", source.display(), target.display()));
    }
    lines.extend(process.environment.iter().map(|entry| format!("    env {entry}")));
    lines
}
