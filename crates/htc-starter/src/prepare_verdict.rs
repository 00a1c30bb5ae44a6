//! What the answer of a prepare hook means to a starter.
//!
//! Reference: `HookPrepareJobClient::hookExited` of `StarterHookMgr.cpp`. How an answer is read stands in
//! [`htc_hook::hook_output`]; here it is judged.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::{ClassAd, Dialect};
use htc_hook::hook_output::{self, BadOutputLine, PrepareStatusReader};

/// How a hook ended whose answer was cut.
pub const CUT_OUTPUT_TEXT: &str = "output cut at PIPE_BUFFER_MAX";

/// The verdict on a prepare hook.
#[derive(Clone, Debug)]
pub struct PrepareVerdict {
    /// What it printed, as far as it can be read.
    pub update: ClassAd,
    /// 0: go on. Positive: the exit status or `HookStatusCode`. Negative: minus the signal that killed it.
    pub status: i64,
    /// `HookStatusMessage`.
    pub message: BString,
    /// The line of the log and of event 021, such as
    /// `PREPARE_JOB (script) failed (exited with status 3): <no message>`.
    pub text: BString,
    /// The line at which the reading ended; nothing from there on counts.
    pub unread: Option<BadOutputLine>,
}

impl PrepareVerdict {
    /// Returns true if the job goes on.
    pub fn lets_job_continue(&self) -> bool {
        self.status == 0
    }

    /// Returns true if something is reported: a failure, or a success with a message.
    pub fn is_reported(&self) -> bool {
        self.status != 0 || !self.message.is_empty()
    }

    /// The hold code of a failure; 0 sends a job with a shadow back to idle.
    pub fn hold_code(&self) -> i64 {
        if (1..300).contains(&self.status) { HoldCode::HookPrepareJobFailure.number() } else { 0 }
    }
}

/// How a hook ended and what it printed.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOutput<'a> {
    /// How it ended.
    pub exit: Exit,
    /// What it printed.
    pub stdout: &'a [u8],
    /// True if that reached the limit and was cut.
    pub cut: bool,
}

/// Judges the answer of a prepare hook. `hook` is `PREPARE_JOB` or `PREPARE_JOB_BEFORE_TRANSFER`, `path` its path. A cut one
/// fails the hook; pass false for quirk `answer-cut-accepted`.
pub fn judge_prepare_hook(
    hook: &str,
    path: &[u8],
    answer: &PrepareOutput<'_>,
    world: &dyn World,
) -> PrepareVerdict {
    let read = hook_output::parse_ad_prefix(answer.stdout, Dialect::of_world(world));
    let mut said =
        hook_output::read_prepare_status(answer.exit, &read.ad, PrepareStatusReader::Starter, world);
    if answer.cut && said.status == 0 {
        said.status = 1;
        said.how = CUT_OUTPUT_TEXT.to_owned();
    }
    let text = said.log_message(hook, path);
    PrepareVerdict { update: read.ad, status: said.status, message: said.message, text, unread: read.unread }
}
