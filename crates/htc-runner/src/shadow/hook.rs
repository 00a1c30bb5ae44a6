//! SHADOW_PREPARE_JOB: found, called, waited for.

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

/// The hook of a job, how long it is waited for, and why there is none though one is configured.
#[derive(Debug, Default)]
pub struct ShadowHookSettings {
    /// The hook.
    pub hook: Option<ShadowHook>,
    /// How long.
    pub limit: Option<Duration>,
    /// Why not; the shadow goes on without it.
    pub complaint: Option<String>,
}

/// Finds the hook (`ShadowHookMgr::initialize`).
pub fn find_shadow_hook(
    ad: &ClassAd,
    knobs: &dyn ParameterSource,
    world: &dyn World,
    quirks: QuirkMode,
) -> ShadowHookSettings {
    let Some(keyword) = keyword::starter_keyword(HookCaller::Shadow, ad, knobs, world, quirks).keyword else {
        return ShadowHookSettings::default();
    };
    let refused = |reason: String| ShadowHookSettings {
        complaint: Some(format!("{} is not called: {reason}", HOOK_TYPE.path_parameter(&keyword))),
        ..ShadowHookSettings::default()
    };
    let path = match path_check::configured_path(world, knobs, &keyword, HOOK_TYPE) {
        Ok(None) => return ShadowHookSettings::default(),
        Ok(Some(path)) => path,
        Err(refusal) => return refused(refusal.to_string()),
    };
    let text = HOOK_TYPE.arguments_parameter(&keyword).and_then(|knob| knobs.get(&knob));
    let arguments = match text.map(|text| arguments::parse_v2_raw(&text)).transpose() {
        Ok(words) => words.unwrap_or_default(),
        Err(error) => return refused(error.to_string()),
    };
    let (limit, _) = caller_timeout(HOOK_TYPE, &keyword, knobs, world);
    ShadowHookSettings { hook: Some(ShadowHook { path, arguments }), limit, complaint: None }
}

/// How long a hook that was killed is waited for: it may still be in the kernel.
const KILL_WAIT: Duration = Duration::from_secs(5);

const TIMEOUT_MESSAGE: &str = "it ran longer than its time-out";

/// What a call needs beside the hook.
pub(super) struct HookCallContext<'a> {
    pub(super) environment: &'a HookEnvironment,
    pub(super) identity: Option<&'a ProcessIdentity>,
    pub(super) directory: PathBuf,
    pub(super) limit: Option<Duration>,
    pub(super) quirks: QuirkMode,
}

/// What came of a call.
pub(super) enum ShadowHookOutcome {
    /// It ended by itself.
    Ended {
        exit: Exit,
        stdout: Vec<u8>,
        /// What it printed to its standard error.
        complaint: String,
    },
    /// It could not be executed, for this reason.
    Failed(String),
    /// It was killed, as it ran longer than the shadow waits, in words.
    TimedOut(String),
    /// It was killed because somebody wants something else of the job, or of us; what it said.
    Stopped(WaitAborted, String),
}

/// Why a hook is waited for no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitAborted {
    /// A signal asked for our end, whoever started us is gone, or all has taken too long.
    RunEnding,
    /// An order for the job has been taken.
    Order,
    /// The time-out.
    TimedOut,
}

/// Who is asked things while the hook runs.
pub(super) trait HookWaiter {
    /// When [`HookWaiter::should_stop_waiting`] is to be called.
    fn next_check(&self) -> Option<MonotonicTime>;
    /// It is time to look. Whether the hook is to end because whoever it runs for is gone or waits no longer.
    fn should_stop_waiting(&mut self, reactor: &mut Reactor) -> bool;
    /// Something can be read. Whether the hook is to end for what was asked.
    fn handle_readable(&mut self, token: os::WatchToken, reactor: &mut Reactor) -> bool;
}

/// Calls it and waits for its end.
///
/// # Errors
/// The reactor cannot wait.
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
    // No record of a scratch directory tells --clean of it.
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
            // Whatever else comes is no reason to wait longer.
            _ if until.is_some_and(|until| until <= clock::monotonic_now()) => WaitAborted::TimedOut,
            _ if meanwhile.should_stop_waiting(reactor) => WaitAborted::RunEnding,
            _ => continue,
        };
        if let Some(first) = given_up {
            // It cannot even be killed, or somebody is in a hurry.
            let asked = [first, reason].into_iter().find(|reason| *reason != WaitAborted::TimedOut);
            return Ok(asked.unwrap_or(WaitAborted::TimedOut).to_outcome(String::new()));
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
            WaitAborted::TimedOut => {
                ShadowHookOutcome::TimedOut(format!("{TIMEOUT_MESSAGE}; it said: {complaint}"))
            }
            WaitAborted::RunEnding | WaitAborted::Order => ShadowHookOutcome::Stopped(self, complaint),
        }
    }
}

/// The name of a hook's path for messages.
pub(super) fn display_path(hook: &ShadowHook) -> BString {
    hook.path.as_bstr().into()
}
