//! One call of a router hook, run to its end within a time limit (`JobRouterHookMgr.cpp`).

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use nix::libc;

use crate::hook_call::HookCall;
use crate::hook_environment::HookEnvironment;
use crate::hook_limits;
use htc_base::process::Exit;
use htc_base::quirks::Quirks;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::{HookType, Knobs, input, keyword, path_check};
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_router::{HookResult, skips_refused};

/// How long a hook has between the two.
const GRACE: Duration = Duration::from_secs(5);

/// Runs router hooks one at a time.
pub struct HookRunner<'a> {
    /// Where keywords and paths are configured.
    pub knobs: &'a dyn Knobs,
    /// What is outside.
    pub world: &'a dyn World,
    /// What hooks inherit.
    pub environment: HookEnvironment,
    /// How long a hook may take; the reference waits for ever.
    pub limit: Option<Duration>,
    /// The daemon's log directory, in which hooks start; `None` is that of the program.
    pub directory: Option<PathBuf>,
    /// Deviations.
    pub quirks: Quirks,
}

/// A hook that was called and has ended.
#[derive(Clone, Debug)]
pub struct Called {
    /// The path as configured.
    pub path: BString,
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained of.
    pub stderr: Vec<u8>,
    /// Whether its output was cut at its limit.
    pub cut: bool,
    /// Whether it was killed because it took too long.
    pub timed_out: bool,
}

/// Why there was no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHook {
    /// None is configured for the job.
    NotConfigured,
    /// The path was refused: a failure, unless the quirk says that it counts as not configured.
    Refused(String),
    /// It cannot be started: the job stays as it is and the hook is tried again.
    Failed(String),
}

/// What the machine is told of it.
impl From<NoHook> for HookResult {
    fn from(none: NoHook) -> Self {
        match none {
            NoHook::NotConfigured => HookResult::NotConfigured,
            NoHook::Refused(reason) | NoHook::Failed(reason) => HookResult::Failed(reason),
        }
    }
}

impl HookRunner<'_> {
    /// The path of the hook for a source job.
    ///
    /// # Errors
    /// There is none, or it is refused.
    pub fn path(&self, hook: HookType, source: &ClassAd) -> Result<BString, NoHook> {
        let keyword = keyword::router(source, self.knobs, self.world).keyword;
        let Some(keyword) = keyword.filter(|keyword| !keyword.is_empty()) else {
            return Err(NoHook::NotConfigured);
        };
        match path_check::configured(self.world, self.knobs, &keyword, hook) {
            Ok(Some(path)) => Ok(path),
            Ok(None) => Err(NoHook::NotConfigured),
            Err(_) if skips_refused(self.quirks).as_reference => Err(NoHook::NotConfigured),
            Err(refusal) => Err(NoHook::Refused(format!("{} of {keyword}: {refusal}", hook.name()))),
        }
    }

    /// What a hook reads.
    pub fn stdin(hook: HookType, route: &[u8], source: &ClassAd, routed: &ClassAd) -> Vec<u8> {
        match hook {
            HookType::TranslateJob => input::translate(route, source),
            HookType::JobFinalize => input::finalize(source, routed),
            _ => input::job_ad(routed),
        }
    }

    /// The specification of a call.
    ///
    /// # Errors
    /// There is no hook, or it may not be run.
    pub fn call(
        &self,
        hook: HookType,
        source: &ClassAd,
        stdin: Vec<u8>,
    ) -> Result<(BString, HookCall), NoHook> {
        let path = self.path(hook, source)?;
        let mut call = HookCall::new(hook, path.clone(), stdin, self.environment.clone());
        call.directory.clone_from(&self.directory);
        let owner = source.string("Owner").unwrap_or_default();
        call.identity =
            os::identity::of_owner(owner, "a hook is never run as root").map_err(NoHook::Failed)?;
        call.limits = hook_limits::of_daemon(self.knobs);
        call.ancestor = Some(HookCall::marker(self.world.now(), self.world.random()));
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
    ) -> Result<Called, NoHook> {
        let (path, call) = self.call(hook, source, stdin)?;
        let spec = call.child_spec().map_err(|error| NoHook::Failed(error.to_string()))?;
        let child = reactor.spawn(spec).map_err(|error| NoHook::Failed(error.to_string()))?;
        let mut deadline = self.limit.map(|limit| clock::tick().plus(limit));
        let (mut timed_out, mut signal) = (false, libc::SIGTERM);
        loop {
            match reactor.next(deadline).map_err(|error| NoHook::Failed(error.to_string()))? {
                os::Event::Exited { child: ended, exit, stdout, stderr, .. } if ended == child => {
                    let cut = stdout.cut;
                    return Ok(Called {
                        path,
                        exit,
                        stdout: stdout.bytes,
                        stderr: stderr.bytes,
                        cut,
                        timed_out,
                    });
                }
                os::Event::Timeout => {
                    timed_out = true;
                    reactor.kill(child, signal, os::Whom::Family);
                    signal = libc::SIGKILL;
                    deadline = Some(clock::tick().plus(GRACE));
                }
                os::Event::Signal(number) => {
                    reactor.kill(child, number, os::Whom::Family);
                }
                _ => {}
            }
        }
    }
}
