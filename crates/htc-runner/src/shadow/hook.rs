//! SHADOW_PREPARE_JOB: finds the hook, calls it and waits for it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::libc;

use crate::hook_call::HookCall;
use crate::hook_environment::HookEnvironment;
use htc_base::process::{Exit, ProcessIdentity};
use htc_base::quirks::QuirkMode;
use htc_base::text::arguments;
use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::keyword;
use htc_hook::{HookCaller, HookType, ParameterSource, caller_timeout, hook_input, path_check};
use htc_os as os;
use htc_os::{Reactor, SignalScope, clock};
use htc_starter::shadow::ShadowHook;

const HOOK_TYPE: HookType = HookType::ShadowPrepareJob;

/// Hook of a job, its time limit, and the reason why a configured hook cannot be used.
#[derive(Debug, Default)]
pub struct ShadowHookSettings {
    /// The hook, or `None` if no hook is called.
    pub hook: Option<ShadowHook>,
    /// Maximum time to wait for the hook, or `None` for no limit.
    pub limit: Option<Duration>,
    /// Reason why a configured hook is not called; the shadow continues without it.
    pub complaint: Option<String>,
}

/// Finds the hook (`ShadowHookMgr::initialize`).
pub fn find_shadow_hook(
    ad: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
    quirks: QuirkMode,
) -> ShadowHookSettings {
    let Some(keyword) = keyword::starter_keyword(HookCaller::Shadow, ad, parameters, world, quirks).keyword
    else {
        return ShadowHookSettings::default();
    };
    let refused = |reason: String| ShadowHookSettings {
        complaint: Some(format!("{} is not called: {reason}", HOOK_TYPE.path_parameter(&keyword))),
        ..ShadowHookSettings::default()
    };
    let path = match path_check::configured_path(world, parameters, &keyword, HOOK_TYPE) {
        Ok(None) => return ShadowHookSettings::default(),
        Ok(Some(path)) => path,
        Err(refusal) => return refused(refusal.to_string()),
    };
    let text = HOOK_TYPE.arguments_parameter(&keyword).and_then(|parameter| parameters.get(&parameter));
    let arguments = match text.map(|text| arguments::parse_v2_raw(&text)).transpose() {
        Ok(words) => words.unwrap_or_default(),
        Err(error) => return refused(error.to_string()),
    };
    let (limit, _) = caller_timeout(HOOK_TYPE, &keyword, parameters, world);
    ShadowHookSettings { hook: Some(ShadowHook { path, arguments }), limit, complaint: None }
}

/// Time to wait for the end of a hook that was killed: the kill has no effect while the hook is in an uninterruptible
/// system call.
const KILL_WAIT: Duration = Duration::from_secs(5);

const TIMEOUT_MESSAGE: &str = "the hook ran longer than its time limit";

/// Further inputs of a hook call.
pub(super) struct HookCallContext<'a> {
    pub(super) environment: &'a HookEnvironment,
    pub(super) identity: Option<&'a ProcessIdentity>,
    pub(super) directory: PathBuf,
    pub(super) limit: Option<Duration>,
    pub(super) quirks: QuirkMode,
}

/// Outcome of a hook call.
pub(super) enum ShadowHookOutcome {
    /// The hook ended by itself.
    Ended {
        exit: Exit,
        stdout: Vec<u8>,
        /// Standard error of the hook.
        complaint: String,
    },
    /// The hook could not be executed; contains the reason.
    Failed(String),
    /// The hook was killed because it exceeded the time limit; contains its standard error.
    TimedOut(String),
    /// The hook was killed because waiting was aborted; contains the reason and the hook's standard error.
    Stopped(WaitAborted, String),
}

/// Reason why waiting for a hook was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitAborted {
    /// A signal asked this program to end, its parent has exited, or the total time limit was exceeded.
    RunEnding,
    /// A command to hold, remove or release the job was accepted.
    Order,
    /// The time limit of the hook was exceeded.
    TimedOut,
}

/// Callbacks of the caller while a hook runs.
pub(super) trait HookWaiter {
    /// Returns the time for the next call of [`HookWaiter::should_stop_waiting`].
    fn next_check(&self) -> Option<MonotonicTime>;
    /// Returns true if the hook should end because the parent has exited or the total time limit was exceeded.
    fn should_stop_waiting(&mut self, reactor: &mut Reactor) -> bool;
    /// Handles a readable descriptor; returns true if it carried a command that requires the hook to end.
    fn handle_readable(&mut self, token: os::WatchToken, reactor: &mut Reactor) -> bool;
}

/// Calls the hook and waits for its end.
///
/// # Errors
/// Fails if the reactor cannot wait.
pub(super) fn call_hook(
    hook: &ShadowHook,
    ad: &ClassAd,
    calling: &HookCallContext<'_>,
    meanwhile: &mut dyn HookWaiter,
    reactor: &mut Reactor,
) -> io::Result<ShadowHookOutcome> {
    let mut call = HookCall::new(
        HOOK_TYPE,
        hook.path.clone(),
        hook_input::job_ad_input(ad),
        calling.environment.clone(),
    );
    call.arguments.clone_from(&hook.arguments);
    call.directory = Some(calling.directory.clone());
    call.identity = calling.identity.cloned();
    call.quirks = calling.quirks;
    let mut spec = match call.child_spec() {
        Ok(spec) => spec,
        Err(refused) => return Ok(ShadowHookOutcome::Failed(refused.to_string())),
    };
    // The hook is recorded nowhere, so `--clean` could not find it after a crash.
    spec.dies_with_parent = true;
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => return Ok(ShadowHookOutcome::Failed(error.to_string())),
    };
    let mut until = calling.limit.map(|limit| clock::monotonic_now().plus(limit));
    let mut given_up: Option<WaitAborted> = None;
    loop {
        let reason = match reactor.next_event([until, meanwhile.next_check()].into_iter().flatten().min())? {
            os::ReactorEvent::Exited { child: ended, exit, stdout, stderr, .. } if ended == child => {
                let complaint = stderr.bytes.trim().as_bstr().to_string();
                return Ok(match given_up {
                    None => ShadowHookOutcome::Ended { exit, stdout: stdout.bytes, complaint },
                    Some(reason) => reason.to_outcome(complaint),
                });
            }
            os::ReactorEvent::Signal(libc::SIGTERM | libc::SIGINT | libc::SIGQUIT) => WaitAborted::RunEnding,
            os::ReactorEvent::Readable(token) if meanwhile.handle_readable(token, reactor) => {
                WaitAborted::Order
            }
            // Events other than the end of the hook do not extend the time limit.
            _ if until.is_some_and(|until| until <= clock::monotonic_now()) => WaitAborted::TimedOut,
            _ if meanwhile.should_stop_waiting(reactor) => WaitAborted::RunEnding,
            _ => continue,
        };
        if let Some(first) = given_up {
            // The hook did not end after SIGKILL, or waiting was aborted a second time. A request of the user takes
            // precedence over the time limit.
            let user_request = [first, reason].into_iter().find(|reason| *reason != WaitAborted::TimedOut);
            return Ok(user_request.unwrap_or(WaitAborted::TimedOut).to_outcome(String::new()));
        }
        reactor.send_signal(child, libc::SIGKILL, SignalScope::Family);
        given_up = Some(reason);
        until = Some(clock::monotonic_now().plus(KILL_WAIT));
    }
}

impl WaitAborted {
    fn to_outcome(self, complaint: String) -> ShadowHookOutcome {
        match self {
            WaitAborted::TimedOut if complaint.is_empty() => {
                ShadowHookOutcome::TimedOut(TIMEOUT_MESSAGE.to_owned())
            }
            WaitAborted::TimedOut => ShadowHookOutcome::TimedOut(format!(
                "{TIMEOUT_MESSAGE}; it printed on standard error: {complaint}"
            )),
            WaitAborted::RunEnding | WaitAborted::Order => ShadowHookOutcome::Stopped(self, complaint),
        }
    }
}

/// Returns the hook's path for messages.
pub(super) fn display_path(hook: &ShadowHook) -> BString {
    hook.path.as_bstr().into()
}
