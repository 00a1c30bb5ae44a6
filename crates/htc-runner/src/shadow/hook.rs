//! SHADOW_PREPARE_JOB: found, called, waited for.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::libc;

use crate::hook_call::HookCall;
use crate::hook_environment::HookEnvironment;
use htc_base::process::{Exit, Identity};
use htc_base::quirks::Quirks;
use htc_base::text::arguments;
use htc_base::time::Tick;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::keyword;
use htc_hook::{Caller, HookType, Knobs, caller_waits, input, path_check};
use htc_os as os;
use htc_os::{Reactor, Whom, clock};
use htc_starter::shadow::Hook;

const SHADOW: HookType = HookType::ShadowPrepareJob;

/// The hook of a job, how long it is waited for, and why there is none though one is configured.
#[derive(Debug, Default)]
pub struct Found {
    /// The hook.
    pub hook: Option<Hook>,
    /// How long.
    pub limit: Option<Duration>,
    /// Why not; the shadow goes on without it.
    pub complaint: Option<String>,
}

/// Finds the hook (`ShadowHookMgr::initialize`).
pub fn find(ad: &ClassAd, knobs: &dyn Knobs, world: &dyn World, quirks: Quirks) -> Found {
    let Some(keyword) = keyword::starter(Caller::Shadow, ad, knobs, world, quirks).keyword else {
        return Found::default();
    };
    let refused = |reason: String| Found {
        complaint: Some(format!("{} is not called: {reason}", SHADOW.knob(&keyword))),
        ..Found::default()
    };
    let path = match path_check::configured(world, knobs, &keyword, SHADOW) {
        Ok(None) => return Found::default(),
        Ok(Some(path)) => path,
        Err(refusal) => return refused(refusal.to_string()),
    };
    let text = SHADOW.arguments_knob(&keyword).and_then(|knob| knobs.get(&knob));
    let arguments = match text.map(|text| arguments::parse_v2_raw(&text)).transpose() {
        Ok(words) => words.unwrap_or_default(),
        Err(error) => return refused(error.to_string()),
    };
    let (limit, _) = caller_waits(SHADOW, &keyword, knobs, world);
    Found { hook: Some(Hook { path, arguments }), limit, complaint: None }
}

/// How long a hook that was killed is waited for: it may still be in the kernel.
const KILL_WAIT: Duration = Duration::from_secs(5);

const LATE: &str = "it ran longer than its time-out";

/// What a call needs beside the hook.
pub(super) struct Calling<'a> {
    pub(super) environment: &'a HookEnvironment,
    pub(super) identity: Option<&'a Identity>,
    pub(super) directory: PathBuf,
    pub(super) limit: Option<Duration>,
    pub(super) quirks: Quirks,
}

/// What came of a call.
pub(super) enum Answer {
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
    Late(String),
    /// It was killed because somebody wants something else of the job, or of us; what it said.
    Stopped(GivenUp, String),
}

/// Why a hook is waited for no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// A signal asked for our end, whoever started us is gone, or all has taken too long.
    Leaving,
    /// An order for the job has been taken.
    Order,
    /// The time-out.
    Late,
}

/// Who is asked things while the hook runs.
pub(super) trait Meanwhile {
    /// When [`Meanwhile::look`] is to be called.
    fn next_look(&self) -> Option<Tick>;
    /// It is time to look. Whether the hook is to end because whoever it runs for is gone or waits no longer.
    fn look(&mut self, reactor: &mut Reactor) -> bool;
    /// Something can be read. Whether the hook is to end for what was asked.
    fn heard(&mut self, token: os::Token, reactor: &mut Reactor) -> bool;
}

/// Calls it and waits for its end.
///
/// # Errors
/// The reactor cannot wait.
pub(super) fn call(
    hook: &Hook,
    ad: &ClassAd,
    calling: &Calling<'_>,
    meanwhile: &mut dyn Meanwhile,
    reactor: &mut Reactor,
) -> io::Result<Answer> {
    let mut call = HookCall::new(SHADOW, hook.path.clone(), input::job_ad(ad), calling.environment.clone());
    call.arguments.clone_from(&hook.arguments);
    call.directory = Some(calling.directory.clone());
    call.identity = calling.identity.cloned();
    call.quirks = calling.quirks;
    let mut spec = match call.child_spec() {
        Ok(spec) => spec,
        Err(refused) => return Ok(Answer::Failed(refused.to_string())),
    };
    // No record of a scratch directory tells --clean of it.
    spec.dies_with_us = true;
    let child = match reactor.spawn(spec) {
        Ok(child) => child,
        Err(error) => return Ok(Answer::Failed(error.to_string())),
    };
    let mut until = calling.limit.map(|limit| clock::tick().plus(limit));
    let mut given_up: Option<GivenUp> = None;
    loop {
        let reason = match reactor.next([until, meanwhile.next_look()].into_iter().flatten().min())? {
            os::Event::Exited { child: ended, exit, stdout, stderr, .. } if ended == child => {
                let complaint = stderr.bytes.trim().as_bstr().to_string();
                return Ok(match given_up {
                    None => Answer::Ended { exit, stdout: stdout.bytes, complaint },
                    Some(reason) => reason.answer(complaint),
                });
            }
            os::Event::Signal(libc::SIGTERM | libc::SIGINT | libc::SIGQUIT) => GivenUp::Leaving,
            os::Event::Readable(token) if meanwhile.heard(token, reactor) => GivenUp::Order,
            // Whatever else comes is no reason to wait longer.
            _ if until.is_some_and(|until| until <= clock::tick()) => GivenUp::Late,
            _ if meanwhile.look(reactor) => GivenUp::Leaving,
            _ => continue,
        };
        if let Some(first) = given_up {
            // It cannot even be killed, or somebody is in a hurry.
            let asked = [first, reason].into_iter().find(|reason| *reason != GivenUp::Late);
            return Ok(asked.unwrap_or(GivenUp::Late).answer(String::new()));
        }
        reactor.kill(child, libc::SIGKILL, Whom::Family);
        given_up = Some(reason);
        until = Some(clock::tick().plus(KILL_WAIT));
    }
}

impl GivenUp {
    fn answer(self, complaint: String) -> Answer {
        match self {
            GivenUp::Late if complaint.is_empty() => Answer::Late(LATE.to_owned()),
            GivenUp::Late => Answer::Late(format!("{LATE}; it said: {complaint}")),
            GivenUp::Leaving | GivenUp::Order => Answer::Stopped(self, complaint),
        }
    }
}

/// The name of a hook's path for messages.
pub(super) fn shown(hook: &Hook) -> BString {
    hook.path.as_bstr().into()
}
