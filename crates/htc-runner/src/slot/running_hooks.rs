//! Hooks that run: how long they may, who is told that they still do, and what their end says.

use bstr::ByteSlice;
use nix::libc;

use super::live::Live;
use super::running_hook::{Limit, REMIND, RunningHook, STDERR_SHOWN};
use crate::events::{Event as StreamEvent, Kind, exit_words, full_text};
use crate::hook_call;
use crate::hook_environment::HookEnvironment;
use htc_base::process::{Ancestor, ChildSpec, Exit};
use htc_classad::Dialect;
use htc_hook::HookType;
use htc_hook::job_ad;
use htc_os::{Captured, Whom, clock};
use htc_slot::{Event, HookCall, Record, SlotHook};

/// So much is told of the attributes of fetched jobs, and no more.
const MOST_OF_WORK: usize = 100;
impl Live<'_> {
    /// Calls a hook, once that is noted.
    pub(super) fn run_hook(&mut self, call: HookCall) {
        let slot = self.slot_name(call.slot);
        let name = call.hook.name();
        let now = clock::now();
        let spawned = self.note_hook(&call, &slot).and_then(|()| {
            let spec = self.hook_spec(&call).map_err(|refused| refused.to_string())?;
            self.reactor.spawn(spec).map_err(|error| full_text(&error))
        });
        match spawned {
            Ok(child) => {
                let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                self.note_hook_runs(call.run, pid);
                let tick = now.tick();
                if call.hook == SlotHook::FetchWork {
                    self.outcome.uncalled.remove(&slot);
                }
                self.tell(StreamEvent::new(now, Kind::HookStart).slot(&slot).hook(name).pid(pid));
                let hook = RunningHook {
                    run: call.run,
                    slot,
                    hook: call.hook,
                    name,
                    pid,
                    // The limit is for what 25.14 waits for without end.
                    limit: self
                        .options
                        .hook_timeout
                        .filter(|_| HookType::from(call.hook).is_waited_for())
                        .map_or(Limit::None, |limit| Limit::Until(tick.plus(limit))),
                    remind: tick.plus(REMIND),
                    started: tick,
                    stderr: Vec::new(),
                };
                self.hooks.insert(child, hook);
            }
            Err(reason) => {
                if call.hook == SlotHook::FetchWork {
                    self.outcome.uncalled.insert(slot.clone(), reason.clone());
                }
                self.tell(StreamEvent::new(now, Kind::HookFailed).slot(slot).hook(name).reason(&reason));
                self.note_done(Record::HookEnds { run: call.run.0 });
                self.waiting.push_back(Event::HookFailed { run: call.run, reason });
            }
        }
    }

    pub(super) fn hook_spec(&self, call: &HookCall) -> Result<ChildSpec, hook_call::RootRefused> {
        use std::os::unix::ffi::OsStrExt;
        let path = call.path.as_os_str().as_bytes();
        let mut hook =
            hook_call::HookCall::new(call.hook.into(), path, call.stdin.clone(), self.environment());
        hook.arguments.clone_from(&call.arguments);
        hook.identity.clone_from(&self.options.account.identity);
        hook.directory.clone_from(&self.options.log_directory);
        hook.limits.clone_from(&self.options.hook_limits);
        hook.output_limit = call.output_limit.unwrap_or(hook_call::PIPE_BUFFER_MAX);
        hook.ancestor = Some(self.marker());
        hook.quirks = self.options.quirks;
        hook.child_spec()
    }

    /// What hooks and starters inherit.
    pub(super) fn environment(&self) -> HookEnvironment {
        self.options.environment.for_hooks(self.options.quirks)
    }

    /// The mark of a process family.
    pub(super) fn marker(&self) -> Ancestor {
        hook_call::HookCall::marker(clock::now(), self.options.world.random())
    }

    pub(super) fn hook_ended(&mut self, hook: RunningHook, exit: Exit, stdout: Captured, stderr: &Captured) {
        let now = clock::now();
        let words = exit_words(exit);
        self.tell(
            StreamEvent::new(now, Kind::HookEnd).slot(&hook.slot).hook(hook.name).pid(hook.pid).exit(words),
        );
        let said = if stderr.bytes.is_empty() { &hook.stderr } else { &stderr.bytes };
        let said = said[..said.len().min(STDERR_SHOWN)].to_str_lossy();
        for line in said.lines().filter(|line| !line.trim().is_empty()) {
            let event =
                StreamEvent::new(now, Kind::HookStderr).slot(&hook.slot).hook(hook.name).pid(hook.pid);
            self.tell(event.reason(line));
        }
        if hook.limit == Limit::Passed {
            let seconds = self.options.hook_timeout.unwrap_or_default().as_secs_f64();
            let reason = format!("it ran longer than {seconds} s (--hook-timeout) and was killed");
            self.tell(
                StreamEvent::new(now, Kind::HookFailed).slot(&hook.slot).hook(hook.name).reason(&reason),
            );
            self.step(Event::HookTimedOut { run: hook.run, reason });
        } else {
            if hook.hook == SlotHook::FetchWork {
                self.look_at_work(&hook.slot, &stdout.bytes);
            }
            self.step(Event::HookEnded { run: hook.run, stdout: stdout.bytes, cut: stdout.cut });
        }
        // What it brought stands in the journal by now, if it was taken.
        self.note_done(Record::HookEnds { run: hook.run.0 });
    }

    /// Tells of attributes of a fetched job that mean nothing, or not what was meant: each once.
    fn look_at_work(&mut self, slot: &str, work: &[u8]) {
        for finding in job_ad::lint("FETCH_WORK", work, Dialect::of(&*self.options.world)) {
            // What is missing the starter tells of the job that lacks it; a bad line is a verdict.
            if finding.spot.is_none() || finding.name.is_empty() {
                continue;
            }
            let fix = finding.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
            let text = format!("FETCH_WORK: {}{fix}", finding.message);
            if self.told_of_work.len() < MOST_OF_WORK && self.told_of_work.insert(text.clone()) {
                self.warn(Some(slot.to_owned()), &text);
            }
        }
    }

    /// Ends hooks that run too long; tells of those that are waited for.
    pub(super) fn look_at_hooks(&mut self) {
        let tick = clock::tick();
        let mut told = Vec::new();
        for (&child, hook) in &mut self.hooks {
            if matches!(hook.limit, Limit::Until(deadline) if deadline <= tick) {
                hook.limit = Limit::Passed;
                self.reactor.kill(child, libc::SIGKILL, Whom::Family);
            }
            if hook.remind <= tick {
                hook.remind = hook.remind.plus(REMIND);
                let seconds = tick.since(hook.started).as_secs();
                let waited_for = HookType::from(hook.hook).is_waited_for();
                told.push((hook.slot.clone(), hook.name, hook.pid, seconds, waited_for));
            }
        }
        for (slot, name, pid, seconds, waited_for) in told {
            let text = match waited_for {
                true => format!(
                    "still runs after {seconds} s and is waited for; --hook-timeout SECONDS would end it"
                ),
                false => format!("still runs after {seconds} s; nothing waits for it"),
            };
            let event = StreamEvent::new(clock::now(), Kind::Warning).slot(slot).hook(name).pid(pid);
            self.tell(event.reason(text));
        }
    }
}
