//! The same machine without a single process: what would be made, called and run, in order.
//!
//! Hooks and job are assumed to answer as the script says, and the clock jumps from one deadline to the next.

use std::collections::VecDeque;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::job::Job;
use super::notice;
use crate::hook::HookType;
use crate::process::Exit;
use crate::runner::events::{self, Kind};
use crate::starter::{Action, Event, FamilyUsage, JobProcess, StandardFile, Standing, Starter};
use crate::text::arguments;
use crate::time::{Now, Tick};

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
}

/// Rehearses a job from `now` on.
pub fn rehearse(mut machine: Starter<'_>, job: &Job, script: &Script, mut now: Now) -> Rehearsed {
    let started = now;
    let mut lines = vec![match &job.identity {
        Some(identity) => format!("account: uid {}, gid {}", identity.uid, identity.gid),
        None => "account: the caller's own".to_owned(),
    }];
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
                    usage,
                    core: false,
                    wrapper_failure: None,
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
                    let (exit, stdout) = match call.hook {
                        HookType::PrepareJob => script.prepare.clone(),
                        _ => (Exit::Code(0), Vec::new()),
                    };
                    let stderr = Vec::new();
                    events.push_back(Event::CallEnded { call: call.id, exit, stdout, cut: false, stderr });
                }
                Action::StartProcess(process) => {
                    describe(&process).into_iter().for_each(&mut say);
                    if !process.failures.is_empty() {
                        events.push_back(Event::ProcessFailed(process.failures.clone()));
                        continue;
                    }
                    events.push_back(Event::ProcessStarted { pid: 0 });
                    let runs = if process.script { Duration::ZERO } else { script.runs };
                    ends_at = Some(now.tick().plus(runs));
                }
                Action::Measure => events.push_back(Event::Measured(FamilyUsage::default())),
                Action::WakeAt(at) => wake_at = at,
                Action::WriteFile(file) => say(format!("write {}", file.name)),
                Action::RemoveScratch => {
                    say("remove the scratch directory".to_owned());
                    events.push_back(Event::ScratchRemoved { remains: Vec::new() });
                }
                Action::Tell(notice) => {
                    let event = notice::event(events::Event::new(now, Kind::Warning), notice);
                    if matches!(event.kind, Kind::Warning | Kind::Verdict | Kind::HookFailed)
                        || event.verdict.as_deref() == Some("not started")
                    {
                        say(event.readable());
                    }
                }
                Action::Finish { standing, .. } => return Rehearsed { lines, standing },
                Action::SignalJob(_) | Action::KillFamily => ends_at = Some(now.tick()),
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
    Rehearsed { lines, standing: Standing::NotStarted }
}

fn shown<'a>(words: impl IntoIterator<Item = &'a BString>) -> BString {
    arguments::join_v2_raw(words)
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
    for (source, target) in &process.mounts {
        lines.push(format!("    {} is its {}", source.display(), target.display()));
    }
    lines.extend(process.environment.iter().map(|entry| format!("    env {entry}")));
    lines
}
