//! Effect of a prepare hook's output on a starter.
//!
//! Reference: `HookPrepareJobClient::hookExited` of `StarterHookMgr.cpp`. [`htc_hook::hook_output`] parses
//! the output; this module judges it.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::{ClassAd, Dialect};
use htc_hook::HookType;
use htc_hook::hook_output::{self, BadOutputLine, PrepareStatusReader};

/// Outcome of a hook whose output was cut off.
pub const CUT_OUTPUT_TEXT: &str = "output cut at PIPE_BUFFER_MAX";

/// Verdict on a prepare hook.
#[derive(Clone, Debug)]
pub struct PrepareVerdict {
    /// Attributes in the output, up to the first invalid line.
    pub update: ClassAd,
    /// 0 if the job continues; otherwise the exit status or `HookStatusCode`, or minus the signal that killed
    /// the hook.
    pub status: i64,
    /// Value of the attribute `HookStatusMessage`.
    pub message: BString,
    /// Line for the log and event 021, such as `PREPARE_JOB (script) failed (exited with status 3): <no
    /// message>`.
    pub text: BString,
    /// Line at which parsing stopped; it and all later lines are ignored.
    pub unread: Option<BadOutputLine>,
}

impl PrepareVerdict {
    /// Returns true if the job continues.
    pub fn lets_job_continue(&self) -> bool {
        self.status == 0
    }

    /// Returns true if something is reported: a failure, or a success with a message.
    pub fn is_reported(&self) -> bool {
        self.status != 0 || !self.message.is_empty()
    }

    /// Returns the hold code of a failure; with 0, a job with a shadow goes back to idle.
    pub fn hold_code(&self) -> i64 {
        if (1..300).contains(&self.status) { HoldCode::HookPrepareJobFailure.number() } else { 0 }
    }
}

/// Exit and output of a prepare hook.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOutput<'a> {
    /// Exit of the hook.
    pub exit: Exit,
    /// Standard output.
    pub stdout: &'a [u8],
    /// True if the output reached the limit and was cut off.
    pub cut: bool,
}

/// Judges the output of a prepare hook. `hook` is `PREPARE_JOB` or `PREPARE_JOB_BEFORE_TRANSFER`, `path` its
/// path. Output that was cut off fails the hook; pass `cut: false` for quirk `answer-cut-accepted`.
pub fn judge_prepare_hook(
    hook: HookType,
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
