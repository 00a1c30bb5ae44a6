//! One call of a router hook, run to its end within a time limit (`JobRouterHookMgr.cpp`).

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

/// How long a hook has between the two.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Runs router hooks one at a time.
pub struct HookRunner<'a> {
    /// Where keywords and paths are configured.
    pub knobs: &'a dyn ParameterSource,
    /// What is outside.
    pub world: &'a dyn World,
    /// What hooks inherit.
    pub environment: HookEnvironment,
    /// How long a hook may take; the reference waits for ever.
    pub limit: Option<Duration>,
    /// The daemon's log directory, in which hooks start; `None` is that of the program.
    pub directory: Option<PathBuf>,
    /// Deviations.
    pub quirks: QuirkMode,
}

/// A hook that was called and has ended.
#[derive(Clone, Debug)]
pub struct CompletedHook {
    /// The path as configured.
    pub path: BString,
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
    /// Whether its output was cut at its limit.
    pub is_truncated: bool,
    /// Whether it was killed because it took too long.
    pub timed_out: bool,
}

/// Why there was no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHookReason {
    /// None is configured for the job.
    NotConfigured,
    /// The path was refused: a failure, unless the quirk says that it counts as not configured.
    Refused(String),
    /// It cannot be started: the job stays as it is and the hook is tried again.
    Failed(String),
}

/// What the machine is told of it.
impl From<NoHookReason> for RouterHookResult {
    fn from(none: NoHookReason) -> Self {
        match none {
            NoHookReason::NotConfigured => RouterHookResult::NotConfigured,
            NoHookReason::Refused(reason) | NoHookReason::Failed(reason) => RouterHookResult::Failed(reason),
        }
    }
}

impl HookRunner<'_> {
    /// The path of the hook for a source job.
    ///
    /// # Errors
    /// There is none, or it is refused.
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

    /// What a hook reads.
    pub fn stdin(hook: HookType, route: &[u8], source: &ClassAd, routed: &ClassAd) -> Vec<u8> {
        match hook {
            HookType::TranslateJob => hook_input::translate_job_input(route, source),
            HookType::JobFinalize => hook_input::job_finalize_input(source, routed),
            _ => hook_input::job_ad_input(routed),
        }
    }

    /// The specification of a call.
    ///
    /// # Errors
    /// There is no hook, or it may not be run.
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
    /// There is no hook, or it cannot be started.
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
