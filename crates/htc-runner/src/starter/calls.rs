//! The hooks of a job: called, and what came of them told to the machine.

use std::io;
use std::time::Duration;

use nix::libc;

use super::live::{Asked, Live};
use super::reopened::Reopened;
use crate::events::full_text;
use crate::hook_call::HookCall;
use crate::spawning::Spawning;
use htc_base::process::Exit;
use htc_base::time::Now;
use htc_hook::HookType;
use htc_os as os;
use htc_os::{ChildId, Whom, clock};
use htc_starter::{Call, CallId, Event, killed_last};

/// How long the hooks that nobody waits for, the last UPDATE_JOB_INFO above all, may still run when everything else is
/// done.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The same for 25.14, which removes its directory by another program meanwhile.
const LAST_CALLS_OF_REFERENCE: Duration = Duration::from_millis(150);

impl Live<'_> {
    pub(super) fn call(&mut self, now: Now, call: Call) {
        let id = call.id;
        if call.hook == HookType::JobExit {
            let reopened = Reopened::open(&self.job.sandbox.scratch, self.job.identity.as_ref());
            self.reopened = reopened.map(|reopened| (id, reopened));
        }
        let environment = self.job.hook_environment.clone().with(call.environment);
        let mut hook = HookCall::new(call.hook, call.path, call.stdin, environment);
        hook.arguments = call.arguments;
        hook.directory = Some(self.job.hook_directory());
        hook.identity = self.job.identity.clone();
        hook.output_limit = self.job.output_limit;
        hook.limits.clone_from(&self.job.hook_limits);
        hook.ancestor = Some(HookCall::marker(now, self.world.random()));
        hook.quirks = self.job.quirks;
        self.liken(&mut hook);
        let past_start = !matches!(hook.hook, HookType::PrepareJob) && self.past_start;
        let spec = hook.child_spec().map_err(|error| (error.to_string(), false)).map(|mut spec| {
            if past_start {
                spec.blocked_signals.retain(|signal| *signal != libc::SIGPROF);
            }
            spec
        });
        let started = spec
            .and_then(|spec| self.reactor.spawn(spec).map_err(|error| (full_text(&error), error.may_pass())));
        match started {
            Ok(child) => {
                self.calls.insert(child, id);
                let pid = self.pid(child);
                self.events.push_back(Event::CallStarted { call: id, pid });
            }
            Err((reason, again)) => {
                self.events.push_back(Event::CallFailed { call: id, reason, again });
            }
        }
    }

    /// Two oddities of a daemon that has just started, which hooks inherit: SIGPROF is blocked until a child, hook or job,
    /// has ended (s12, s21b), and TZ is unset until the first child was made (s32).
    fn liken(&mut self, hook: &mut HookCall) {
        let first = !std::mem::replace(&mut self.called, true);
        let unset = !self.job.environment.iter().any(|(name, _)| name == "TZ");
        if first && unset && Spawning::of(self.job.quirks).as_daemon {
            hook.environment.variables.remove("TZ");
        }
    }

    pub(super) fn call_ended(
        &mut self,
        child: ChildId,
        exit: Exit,
        stdout: os::Captured,
        stderr: os::Captured,
    ) {
        if let Some(call) = self.calls.remove(&child) {
            if self.reopened.as_ref().is_some_and(|(of, _)| *of == call) {
                self.close_scratch();
            }
            self.events.push_back(Event::CallEnded {
                call,
                exit,
                stdout: stdout.bytes,
                cut: stdout.cut,
                stderr: stderr.bytes,
            });
        }
    }

    /// Gives a scratch directory that was opened for JOB_EXIT the mode back that the job had set.
    pub(super) fn close_scratch(&mut self) {
        if let Some((_, reopened)) = self.reopened.take() {
            reopened.close(self.job.identity.as_ref());
        }
    }

    /// Kills a hook, or a call of a container's runtime.
    pub(super) fn kill_call(&mut self, call: CallId) {
        let tool = self.tools.iter().find(|tool| tool.call == call).map(|tool| tool.child);
        let hook = || self.calls.iter().find(|(_, id)| **id == call).map(|(child, _)| *child);
        if let Some(child) = tool.or_else(hook) {
            self.reactor.kill(child, libc::SIGKILL, Whom::Family);
        }
    }

    /// Kills the hooks that do not end in time.
    pub(super) fn kill_calls(&mut self) {
        if let Err(error) = self.wait_for_calls() {
            self.warn(format!("cannot wait for hooks: {error}"));
        }
        for (child, _) in self.calls.drain() {
            self.reactor.kill(child, libc::SIGKILL, Whom::Family);
        }
    }

    /// Gives the last hooks a moment, unless somebody is impatient.
    pub(super) fn wait_for_calls(&mut self) -> io::Result<()> {
        let limit = match killed_last(self.job.quirks).as_reference {
            true => LAST_CALLS_OF_REFERENCE,
            false if self.asked == Asked::AtOnce => Duration::ZERO,
            false => LAST_CALLS,
        };
        let until = clock::tick().plus(limit);
        while !self.calls.is_empty() && clock::tick() < until {
            match self.reactor.next(Some(until))? {
                os::Event::Exited { child, exit, stdout, stderr, .. } => {
                    self.call_ended(child, exit, stdout, stderr);
                }
                os::Event::Signal(libc::SIGTERM | libc::SIGQUIT | libc::SIGINT) => break,
                os::Event::Readable(token) => {
                    let before = self.asked;
                    self.ordered(token);
                    if self.asked == Asked::AtOnce || (self.asked == Asked::Softly && before != self.asked) {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
