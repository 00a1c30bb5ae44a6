//! Calls of a router hook, each run to its end within a time limit (`JobRouterHookMgr.cpp`).

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use nix::libc;

use crate::hook_call::HookCall;
use crate::hook_environment::HookEnvironment;
use crate::hook_limits;
use htc_base::process::Exit;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::{HookType, ParameterSource, hook_input, keyword, path_check};
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_router::{RouterHookResult, decide_skipping_refused_hook};

/// Time between SIGTERM and SIGKILL for a hook.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Runner that calls router hooks one at a time.
pub struct HookRunner<'a> {
    /// Parameters from which hook keywords and paths are read.
    pub knobs: &'a dyn ParameterSource,
    /// Access to the outside world: time, files, accounts, environment, programs.
    pub world: &'a dyn World,
    /// Environment that hooks inherit.
    pub environment: HookEnvironment,
    /// Maximum run time of a hook, or `None` to wait forever, as the reference does.
    pub limit: Option<Duration>,
    /// The daemon's log directory, in which hooks start, or `None` for the working directory of this program.
    pub directory: Option<PathBuf>,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Hook that was called and has ended.
#[derive(Clone, Debug)]
pub struct CompletedHook {
    /// The path of the hook as configured.
    pub path: BString,
    /// Exit status.
    pub exit: Exit,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// True if the output of the hook was cut at the maximum length.
    pub is_truncated: bool,
    /// True if the hook was killed because it exceeded the time limit.
    pub timed_out: bool,
}

/// Reason why a hook was not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHookReason {
    /// No hook is configured for the job.
    NotConfigured,
    /// The path was rejected. The router treats this as a failure or, if the quirk of 25.14 is reproduced, as a hook
    /// that is not configured.
    Refused(String),
    /// The hook cannot be started: the job is unchanged, and the hook is called again later.
    Failed(String),
}

/// Converts to the result for the router.
impl From<NoHookReason> for RouterHookResult {
    fn from(none: NoHookReason) -> Self {
        match none {
            NoHookReason::NotConfigured => RouterHookResult::NotConfigured,
            NoHookReason::Refused(reason) | NoHookReason::Failed(reason) => RouterHookResult::Failed(reason),
        }
    }
}

impl HookRunner<'_> {
    /// Returns the path of the hook for a source job.
    ///
    /// # Errors
    /// No hook is configured, or its path is rejected.
    pub fn path(&self, hook: HookType, source: &ClassAd) -> Result<BString, NoHookReason> {
        let keyword = keyword::router_keyword(source, self.knobs, self.world).keyword;
        let Some(keyword) = keyword.filter(|keyword| !keyword.is_empty()) else {
            return Err(NoHookReason::NotConfigured);
        };
        match path_check::configured_path(self.world, self.knobs, &keyword, hook) {
            Ok(Some(path)) => Ok(path),
            Ok(None) => Err(NoHookReason::NotConfigured),
            Err(_) if decide_skipping_refused_hook(self.quirks).as_reference => {
                Err(NoHookReason::NotConfigured)
            }
            Err(refusal) => Err(NoHookReason::Refused(format!("{} of {keyword}: {refusal}", hook.name()))),
        }
    }

    /// Returns the standard input of a hook for the given route, source job and routed job.
    pub fn stdin(hook: HookType, route: &[u8], source: &ClassAd, routed: &ClassAd) -> Vec<u8> {
        match hook {
            HookType::TranslateJob => hook_input::translate_job_input(route, source),
            HookType::JobFinalize => hook_input::job_finalize_input(source, routed),
            _ => hook_input::job_ad_input(routed),
        }
    }

    /// Prepares a call of a hook.
    ///
    /// # Errors
    /// No hook is configured, or it is not allowed to run.
    pub fn prepare_call(
        &self,
        hook: HookType,
        source: &ClassAd,
        stdin: Vec<u8>,
    ) -> Result<(BString, HookCall), NoHookReason> {
        let path = self.path(hook, source)?;
        let mut call = HookCall::new(hook, path.clone(), stdin, self.environment.clone());
        call.directory.clone_from(&self.directory);
        let owner = source.string("Owner").unwrap_or_default();
        call.identity = os::identity::identity_of_owner(owner, "a hook is never run as root")
            .map_err(NoHookReason::Failed)?;
        call.limits = hook_limits::daemon_limits(self.knobs);
        call.ancestor = Some(HookCall::new_family_marker(self.world.now(), self.world.random()));
        call.quirks = self.quirks;
        Ok((path, call))
    }

    /// Calls a hook and waits for its end.
    ///
    /// # Errors
    /// No hook is configured, or it cannot be started.
    pub fn run(
        &self,
        reactor: &mut Reactor,
        hook: HookType,
        source: &ClassAd,
        stdin: Vec<u8>,
    ) -> Result<CompletedHook, NoHookReason> {
        let (path, call) = self.prepare_call(hook, source, stdin)?;
        let spec = call.child_spec().map_err(|error| NoHookReason::Failed(error.to_string()))?;
        let child = reactor.spawn(spec).map_err(|error| NoHookReason::Failed(error.to_string()))?;
        let mut deadline = self.limit.map(|limit| clock::monotonic_now().plus(limit));
        let (mut timed_out, mut signal) = (false, libc::SIGTERM);
        loop {
            match reactor.next_event(deadline).map_err(|error| NoHookReason::Failed(error.to_string()))? {
                os::ReactorEvent::Exited { child: ended, exit, stdout, stderr, .. } if ended == child => {
                    let cut = stdout.is_truncated;
                    return Ok(CompletedHook {
                        path,
                        exit,
                        stdout: stdout.bytes,
                        stderr: stderr.bytes,
                        is_truncated: cut,
                        timed_out,
                    });
                }
                os::ReactorEvent::Timeout => {
                    timed_out = true;
                    reactor.send_signal(child, signal, os::SignalScope::Family);
                    signal = libc::SIGKILL;
                    deadline = Some(clock::monotonic_now().plus(KILL_GRACE));
                }
                os::ReactorEvent::Signal(number) => {
                    reactor.send_signal(child, number, os::SignalScope::Family);
                }
                _ => {}
            }
        }
    }
}
