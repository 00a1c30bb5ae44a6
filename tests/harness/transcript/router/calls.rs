//! Calls of hooks during a replay: each is compared with the recorded one, whose output it receives.

use htc_hooks::classad::ClassAd;
use htc_hooks::hook::HookType;
use htc_hooks::job::JobId;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{self, RouterEvent};
use htc_hooks::runner::hook_environment::HookEnvironment;
use htc_hooks::runner::router::HookRunner;

use super::recording::Call;
use super::session::{Running, Session, Stage};
use super::units::Kind;

impl Session<'_> {
    pub(super) fn hook(&mut self, asked: router::RouterHookCall, at: f64) -> Option<RouterEvent> {
        let router::RouterHookCall { source, hook, route, source_ad, copy_ad, is_in_place: in_place } = asked;
        let runner = HookRunner {
            knobs: self.stage.view,
            world: self.stage.world,
            environment: HookEnvironment::default(),
            limit: None,
            directory: None,
            quirks: QuirkMode::Reference,
        };
        let path = match runner.path(hook, &source_ad) {
            Ok(path) => path.to_string(),
            Err(none) => return Some(RouterEvent::HookEnded(source, hook, none.into())),
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let stdin = HookRunner::stdin(hook, &route, &source_ad, &copy_ad);
        let stdin = self.neutral(&String::from_utf8_lossy(&stdin));
        let calls = &self.stage.recording.calls;
        let fits = |(number, call): &(usize, &Call)| {
            let job = match call.source {
                Some(id) if call.is_certain => id == source,
                Some(id) => id.cluster == source.cluster,
                None => true,
            };
            !self.called[*number]
                && call.hook == name
                && job
                && (call.start - at).abs() < 0.45 * self.stage.period
        };
        let found = calls.iter().enumerate().find(fits);
        let label = format!("job {source} {name}");
        let call = match found {
            Some((number, call)) => {
                self.called[number] = true;
                self.counts.calls.compared += 1;
                if let Some(recorded) = &call.stdin {
                    self.input(&format!("job {source} {}", call.label), recorded, &stdin);
                }
                let mut call = call.clone();
                if call.stdout.is_none() {
                    self.unkept(&mut call, source, hook, &copy_ad, &stdin);
                }
                call
            }
            None => {
                if !self.stage.recording.has_more_calls {
                    let begun = self.stage.recording.lives.first().copied().unwrap_or(0.0);
                    self.differ(
                        label,
                        "call",
                        None,
                        Some(format!("made {:.1} s after the start", at - begun)),
                    );
                }
                let soon = |(number, call): (usize, &Call)| {
                    !self.called[number]
                        && call.hook == name
                        && call.source == Some(source)
                        && call.start > at
                };
                self.doubts += 3 * usize::from(calls.iter().enumerate().any(soon));
                let mut call = Call {
                    label: name.clone(),
                    hook: name.clone(),
                    source: Some(source),
                    is_certain: true,
                    start: at,
                    lasted: Some(0.01),
                    exit: Exit::Code(0),
                    stdin: None,
                    stdout: None,
                    printed: usize::MAX,
                };
                if let Some(former) = self.answers.get(&(source, name.clone())) {
                    (call.exit, call.printed) = (former.exit, former.printed);
                }
                self.unkept(&mut call, source, hook, &copy_ad, &stdin);
                call
            }
        };
        if let Some(lasted) = call.lasted {
            self.running.push(Running {
                ends: at + lasted + 0.005,
                source,
                hook,
                source_ad: *source_ad,
                copy_ad: *copy_ad,
                in_place,
                exit: call.exit,
                stdout: call.stdout.clone().unwrap_or_default(),
            });
        }
        self.answers.insert((source, name), call);
        None
    }

    /// Determines an output that was not recorded: that of the hook's script, or else that of the previous
    /// call of this kind for the job, with the values that the queue shows next.
    fn unkept(&self, call: &mut Call, source: JobId, hook: HookType, copy: &ClassAd, stdin: &str) {
        if call.printed == 0 {
            call.stdout = Some(Vec::new());
            return;
        }
        let former = self.answers.get(&(source, call.hook.clone())).and_then(|former| former.stdout.clone());
        let script = self.stage.recording.behaviours.iter().find(|(name, _)| *name == call.hook);
        let printed = script.and_then(|(_, text)| self.stage.printed(&call.hook, text, stdin));
        let mut answer = printed.or(former).unwrap_or_default();
        if hook == HookType::RouterUpdateJobInfo {
            // Scripts that count print other numbers now.
            let id = copy.literal("ClusterId").and_then(|value| value.as_int());
            let next = id.and_then(|id| self.first(JobId::new(i32::try_from(id).ok()?, 0), true));
            let sets = next
                .map(|number| &self.units()[number])
                .and_then(|unit| matches!(unit.router, Some((_, Kind::Answer))).then_some(&unit.sets));
            if let Some(sets) = sets {
                let text = String::from_utf8_lossy(&answer).into_owned();
                let lines = text.lines().map(|line| {
                    let name =
                        line.split_once('=').map(|(name, _)| name.trim().to_lowercase()).unwrap_or_default();
                    match sets.get(&name) {
                        Some((name, Some(value))) => format!("{name} = {value}\n"),
                        _ => format!("{line}\n"),
                    }
                });
                answer = lines.collect::<String>().into_bytes();
            }
        }
        call.stdout = Some(answer);
    }
}

impl Stage<'_> {
    /// Returns the output of a hook's script for this input; each script is run once per input.
    fn printed(&self, hook: &str, script: &str, stdin: &str) -> Option<Vec<u8>> {
        let key = (hook.to_owned(), stdin.to_owned());
        if let Some(known) = self.printed.borrow().get(&key) {
            return known.clone();
        }
        let answer = printed(script, stdin);
        self.printed.borrow_mut().insert(key, answer.clone());
        answer
    }
}

/// Returns the output of a recorded script for this input; `None` if it takes too long.
fn printed(script: &str, stdin: &str) -> Option<Vec<u8>> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut command = Command::new("timeout");
    command
        .args(["5", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = super::super::forks::spawn(&mut command).ok()?;
    let mut input = child.stdin.take()?;
    // A script need not read its input.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    child.wait_with_output().ok().map(|output| output.stdout)
}
