//! Calls of a job's hooks; their results are passed to the state machine.

use std::io;
use std::time::Duration;

use nix::libc;

use super::reopened_directory::ReopenedDirectory;
use super::run_state::{EndRequest, RunState};
use crate::events::error_with_causes;
use crate::hook_call::HookCall;
use crate::spawn_mode::SpawnMode;
use htc_base::process::Exit;
use htc_base::time::ClockReading;
use htc_hook::HookType;
use htc_os as os;
use htc_os::{ChildId, SignalScope, clock};
use htc_starter::{CallId, StarterEvent, StarterHookCall, final_hook_kill_decision};

/// Time that a hook whose end the starter does not wait for, such as the last UPDATE_JOB_INFO, may run after
/// everything else has ended.
const LAST_CALLS_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that hooks have in 25.14 after everything else has ended, while another program removes the scratch
/// directory.
const REFERENCE_LAST_CALLS_TIMEOUT: Duration = Duration::from_millis(150);

impl RunState<'_> {
    pub(super) fn start_hook_call(&mut self, now: ClockReading, call: StarterHookCall) {
        let id = call.id;
        if call.hook == HookType::JobExit {
            let reopened =
                ReopenedDirectory::open(&self.context.sandbox.scratch, self.context.identity.as_ref());
            self.hooks.reopened_directory = reopened.map(|reopened| (id, reopened));
        }
        let environment = self.context.hook_environment.clone().with_variables(call.environment);
        let mut hook = HookCall::new(call.hook, call.path, call.stdin, environment);
        hook.arguments = call.arguments;
        hook.directory = Some(self.context.hook_directory());
        hook.identity = self.context.identity.clone();
        hook.output_limit = self.context.output_limit;
        hook.limits.clone_from(&self.context.hook_limits);
        hook.ancestor = Some(HookCall::new_family_marker(now, self.world.random()));
        hook.quirks = self.context.quirks;
        self.imitate_fresh_daemon(&mut hook);
        // A daemon that has just started blocks SIGPROF until a child, hook or job, has ended.
        let past_start = !matches!(hook.hook, HookType::PrepareJob) && self.ending.child_has_ended;
        let spec = hook.child_spec().map_err(|error| (error.to_string(), false)).map(|mut spec| {
            if past_start {
                spec.blocked_signals.retain(|signal| *signal != libc::SIGPROF);
            }
            spec
        });
        let started = spec.and_then(|spec| {
            self.reactor.spawn(spec).map_err(|error| (error_with_causes(&error), error.is_transient()))
        });
        match started {
            Ok(child) => {
                self.hooks.calls.insert(child, id);
                let pid = self.pid(child);
                self.events.push_back(StarterEvent::CallStarted { call: id, pid });
            }
            Err((reason, again)) => {
                self.events.push_back(StarterEvent::CallFailed { call: id, reason, retry: again });
            }
        }
    }

    /// Removes TZ from the environment of the first hook if the environment of this program does not have it: a
    /// daemon of 25.14 sets TZ only after starting its first child.
    fn imitate_fresh_daemon(&mut self, hook: &mut HookCall) {
        let first = !std::mem::replace(&mut self.hooks.any_called, true);
        let unset = !self.context.environment.iter().any(|(name, _)| name == "TZ");
        if first && unset && SpawnMode::from_quirks(self.context.quirks).as_daemon {
            hook.environment.variables.remove("TZ");
        }
    }

    pub(super) fn call_ended(
        &mut self,
        child: ChildId,
        exit: Exit,
        stdout: os::CapturedOutput,
        stderr: os::CapturedOutput,
    ) {
        if let Some(call) = self.hooks.calls.remove(&child) {
            if self.hooks.reopened_directory.as_ref().is_some_and(|(of, _)| *of == call) {
                self.close_scratch();
            }
            if let Some(reason) = stdout.read_failure() {
                self.events.push_back(StarterEvent::CallFailed { call, reason, retry: false });
                return;
            }
            self.events.push_back(StarterEvent::CallEnded {
                call,
                exit,
                stdout: stdout.bytes,
                cut: stdout.is_truncated,
                stderr: stderr.bytes,
            });
        }
    }

    /// Restores the mode that the job gave the scratch directory, which was opened for JOB_EXIT.
    pub(super) fn close_scratch(&mut self) {
        if let Some((_, reopened)) = self.hooks.reopened_directory.take() {
            reopened.close(self.context.identity.as_ref());
        }
    }

    /// Kills a hook or a call of a container runtime.
    pub(super) fn kill_call(&mut self, call: CallId) {
        let tool = self.job.runtime_calls.iter().find(|tool| tool.call == call).map(|tool| tool.child);
        let hook = || self.hooks.calls.iter().find(|(_, id)| **id == call).map(|(child, _)| *child);
        if let Some(child) = tool.or_else(hook) {
            self.reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
        }
    }

    /// Kills the hooks that have exceeded their time limit.
    pub(super) fn kill_calls(&mut self) {
        if let Err(error) = self.wait_for_calls() {
            self.warn(format!("cannot wait for hooks: {error}"));
        }
        for (child, _) in self.hooks.calls.drain() {
            self.reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
        }
    }

    /// Waits for the last hooks up to a time limit. After a request for a hard end there is no wait, except with the
    /// quirk that imitates 25.14.
    pub(super) fn wait_for_calls(&mut self) -> io::Result<()> {
        let limit = match final_hook_kill_decision(self.context.quirks).as_reference {
            true => REFERENCE_LAST_CALLS_TIMEOUT,
            false if self.ending.request == EndRequest::Hard => Duration::ZERO,
            false => LAST_CALLS_TIMEOUT,
        };
        let until = clock::monotonic_now().plus(limit);
        while !self.hooks.calls.is_empty() && clock::monotonic_now() < until {
            match self.reactor.next_event(Some(until))? {
                os::ReactorEvent::Exited { child, exit, stdout, stderr, .. } => {
                    self.call_ended(child, exit, stdout, stderr);
                }
                os::ReactorEvent::Signal(libc::SIGTERM | libc::SIGQUIT | libc::SIGINT) => break,
                os::ReactorEvent::Readable(token) => {
                    let before = self.ending.request;
                    self.handle_control_socket(token);
                    if self.ending.request == EndRequest::Hard
                        || (self.ending.request == EndRequest::Soft && before != self.ending.request)
                    {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
