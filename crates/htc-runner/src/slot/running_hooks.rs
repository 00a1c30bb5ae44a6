//! Running hooks of slots: their start, time limits, reminders and ends.

use bstr::ByteSlice;
use nix::libc;

use super::live_execution_point::LiveExecutionPoint;
use super::run_counters::HookEnd;
use super::running_hook::{HookDeadline, MAX_STDERR_SHOWN, REMINDER_INTERVAL, RunningHook};
use crate::events::{RunnerEvent, RunnerEventKind, UNKNOWN, describe_exit, error_with_causes};
use crate::hook_call;
use crate::hook_environment::HookEnvironment;
use htc_base::process::{AncestorStamp, ChildSpec, Exit};
use htc_classad::Dialect;
use htc_hook::HookType;
use htc_hook::job_ad_lint;
use htc_os::{CapturedOutput, SignalScope, clock};
use htc_slot::{HookCall, JournalRecord, SlotHookType, StartdEvent};

/// Maximum number of warnings about the attributes of fetched jobs.
const MAX_ATTRIBUTE_WARNINGS: usize = 100;
impl LiveExecutionPoint<'_> {
    /// Starts a hook after recording the call in the journal.
    pub(super) fn run_hook(&mut self, call: HookCall) {
        let slot = self.slot_name(call.slot);
        let name = call.hook.name();
        let now = clock::now();
        let spawned = self.record_hook_begin(&call, &slot).and_then(|()| {
            let spec = self.hook_spec(&call).map_err(|refused| refused.to_string())?;
            self.reactor.spawn(spec).map_err(|error| error_with_causes(&error))
        });
        match spawned {
            Ok(child) => {
                let pid = self.reactor.pid(child).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                self.record_hook_process(call.run, pid);
                let tick = now.monotonic();
                if call.hook == SlotHookType::FetchWork {
                    self.outcome.uncalled_fetches.remove(&slot);
                }
                self.report(
                    RunnerEvent::new(now, RunnerEventKind::HookStart).slot(&slot).hook(name).pid(pid),
                );
                let hook = RunningHook {
                    run: call.run,
                    slot,
                    hook: call.hook,
                    name,
                    pid,
                    // Only hooks that 25.14 waits for without a limit have this time limit.
                    deadline: self
                        .options
                        .hook_timeout
                        .filter(|_| HookType::from(call.hook).is_waited_for())
                        .map_or(HookDeadline::Unlimited, |limit| HookDeadline::Until(tick.plus(limit))),
                    next_reminder: tick.plus(REMINDER_INTERVAL),
                    started: tick,
                    stderr: Vec::new(),
                };
                self.hooks.insert(child, hook);
            }
            Err(reason) => {
                if call.hook == SlotHookType::FetchWork {
                    self.outcome.uncalled_fetches.insert(slot.clone(), reason.clone());
                }
                self.counters.count_unstarted_hook(name);
                self.report(
                    RunnerEvent::new(now, RunnerEventKind::HookFailed).slot(slot).hook(name).reason(&reason),
                );
                self.write_record_or_warn(JournalRecord::HookEnds { run: call.run.0 });
                self.waiting_events.push_back(StartdEvent::HookFailed { run: call.run, reason });
            }
        }
    }

    pub(super) fn hook_spec(&self, call: &HookCall) -> Result<ChildSpec, hook_call::RootHookError> {
        use std::os::unix::ffi::OsStrExt;
        let path = call.path.as_os_str().as_bytes();
        let mut hook =
            hook_call::HookCall::new(call.hook.into(), path, call.stdin.clone(), self.environment());
        hook.arguments.clone_from(&call.arguments);
        hook.identity.clone_from(&self.options.account.identity);
        hook.directory.clone_from(&self.options.log_directory);
        hook.limits.clone_from(&self.options.hook_limits);
        hook.output_limit = call.output_limit.unwrap_or(hook_call::DEFAULT_PIPE_BUFFER_MAX);
        hook.ancestor = Some(self.new_family_marker());
        hook.quirks = self.options.quirks;
        hook.child_spec()
    }

    /// Returns the environment that hooks and starters inherit.
    pub(super) fn environment(&self) -> HookEnvironment {
        self.options.environment.for_hooks(self.options.quirks)
    }

    /// Returns a new family marker (`_CONDOR_ANCESTOR_*`) for a child.
    pub(super) fn new_family_marker(&self) -> AncestorStamp {
        hook_call::HookCall::new_family_marker(clock::now(), self.options.world.random())
    }

    pub(super) fn handle_hook_end(
        &mut self,
        hook: RunningHook,
        exit: Exit,
        stdout: CapturedOutput,
        stderr: &CapturedOutput,
    ) {
        let now = clock::now();
        let end = match hook.deadline {
            HookDeadline::Exceeded => HookEnd::TimedOut,
            HookDeadline::Unlimited | HookDeadline::Until(_) => HookEnd::Exited(exit),
        };
        self.counters.count_hook(hook.name, end, now.monotonic().since(hook.started));
        let words = describe_exit(exit);
        self.report(
            RunnerEvent::new(now, RunnerEventKind::HookEnd)
                .slot(&hook.slot)
                .hook(hook.name)
                .pid(hook.pid)
                .exit(words),
        );
        let shown_stderr = if stderr.bytes.is_empty() { &hook.stderr } else { &stderr.bytes };
        let shown_stderr = shown_stderr[..shown_stderr.len().min(MAX_STDERR_SHOWN)].to_str_lossy();
        for line in shown_stderr.lines().filter(|line| !line.trim().is_empty()) {
            let event = RunnerEvent::new(now, RunnerEventKind::HookStderr)
                .slot(&hook.slot)
                .hook(hook.name)
                .pid(hook.pid);
            self.report(event.reason(line));
        }
        let seconds = self.options.hook_timeout.unwrap_or_default().as_secs_f64();
        let failure = match hook.deadline {
            HookDeadline::Exceeded => {
                Some(format!("it ran longer than {seconds} s (--hook-timeout) and was killed"))
            }
            HookDeadline::Unlimited | HookDeadline::Until(_) => stdout.read_failure(),
        };
        if let Some(reason) = failure {
            if hook.hook == SlotHookType::FetchWork {
                self.outcome.unknown_fetches.push(format!("{}: FETCH_WORK: {reason}", hook.slot));
            }
            self.report(
                RunnerEvent::new(now, RunnerEventKind::HookFailed)
                    .slot(&hook.slot)
                    .hook(hook.name)
                    .reason(&reason),
            );
            self.step(StartdEvent::HookTimedOut { run: hook.run, reason });
        } else {
            if hook.hook == SlotHookType::FetchWork {
                self.warn_about_killed_fetch(&hook, exit, &stdout.bytes);
                self.warn_about_work_attributes(&hook.slot, &stdout.bytes);
            }
            self.step(StartdEvent::HookEnded {
                run: hook.run,
                stdout: stdout.bytes,
                cut: stdout.is_truncated,
            });
        }
        // If the output of the hook was used, the journal contains the results by now.
        self.write_record_or_warn(JournalRecord::HookEnds { run: hook.run.0 });
    }

    /// Warns about a FETCH_WORK that was killed before it printed a job, for example because of a lack of memory: the
    /// hook may have taken a job from its queue. 25.14 ignores how a hook ends.
    fn warn_about_killed_fetch(&mut self, hook: &RunningHook, exit: Exit, work: &[u8]) {
        if !matches!(exit, Exit::Signal { .. }) || !work.trim().is_empty() {
            return;
        }
        let end = describe_exit(exit);
        self.outcome.unknown_fetches.push(format!("{}: FETCH_WORK {end}", hook.slot));
        let event = RunnerEvent::new(clock::now(), RunnerEventKind::Warning)
            .slot(&hook.slot)
            .hook(hook.name)
            .pid(hook.pid)
            .verdict(UNKNOWN);
        self.report(event.reason(format!(
            "{end} and printed nothing; a job that it has taken from the queue may be lost"
        )));
    }

    /// Warns once about each attribute of a fetched job that has no effect or an unexpected one.
    fn warn_about_work_attributes(&mut self, slot: &str, work: &[u8]) {
        if work.trim().is_empty() {
            return;
        }
        for finding in job_ad_lint::lint_job_ad("FETCH_WORK", work, Dialect::of_world(&*self.options.world)) {
            // The starter reports missing attributes for a job that needs them, and an invalid line is reported with
            // the verdict.
            if finding.spot.is_none() || finding.name.is_empty() {
                continue;
            }
            let fix = finding.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
            let text = format!("FETCH_WORK: {}{fix}", finding.message);
            if self.warned_attributes.len() < MAX_ATTRIBUTE_WARNINGS
                && self.warned_attributes.insert(text.clone())
            {
                self.warn(Some(slot.to_owned()), &text);
            }
        }
    }

    /// Kills hooks that have exceeded their time limit; prints reminders for hooks without one.
    pub(super) fn check_running_hooks(&mut self) {
        let tick = clock::monotonic_now();
        let mut reminders = Vec::new();
        for (&child, hook) in &mut self.hooks {
            if matches!(hook.deadline, HookDeadline::Until(deadline) if deadline <= tick) {
                hook.deadline = HookDeadline::Exceeded;
                self.reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
            }
            if hook.next_reminder <= tick {
                hook.next_reminder = hook.next_reminder.plus(REMINDER_INTERVAL);
                let seconds = tick.since(hook.started).as_secs();
                let waited_for = HookType::from(hook.hook).is_waited_for();
                reminders.push((hook.slot.clone(), hook.name, hook.pid, seconds, waited_for));
            }
        }
        for (slot, name, pid, seconds, waited_for) in reminders {
            let text = match waited_for {
                true => format!("still running after {seconds} s; --hook-timeout SECONDS would kill it"),
                false => format!("still running after {seconds} s; nothing waits for it"),
            };
            let event =
                RunnerEvent::new(clock::now(), RunnerEventKind::Warning).slot(slot).hook(name).pid(pid);
            self.report(event.reason(text));
        }
    }
}
