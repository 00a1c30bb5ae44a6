//! Verdict of a starter on the output of a prepare hook.
//!
//! Reference: `HookPrepareJobClient::hookExited` of `StarterHookMgr.cpp`. [`htc_hook::hook_output`] parses the output;
//! this module judges the result.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::{ClassAd, Dialect};
use htc_hook::HookType;
use htc_hook::hook_output::{self, BadOutputLine, PrepareStatusReader};

/// Text about a hook whose output was cut off.
pub const CUT_OUTPUT_TEXT: &str = "output cut at PIPE_BUFFER_MAX";

/// Verdict on the output of a prepare hook.
#[derive(Clone, Debug)]
pub struct PrepareVerdict {
    /// Attributes in the output before the first invalid line.
    pub update: ClassAd,
    /// 0 if the job continues; otherwise the exit status, the value of `HookStatusCode`, or minus the number of the
    /// signal that killed the hook.
    pub status: i64,
    /// Value of the attribute `HookStatusMessage`.
    pub message: BString,
    /// Line for the log and event 021, such as `PREPARE_JOB (script) failed (exited with status 3): <no
    /// message>`.
    pub text: BString,
    /// Line at which parsing stopped. This line and all later lines are ignored.
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

    /// Returns the hold code for a failure. If the code is 0, a job with a shadow returns to idle.
    pub fn hold_code(&self) -> i64 {
        if (1..300).contains(&self.status) { HoldCode::HookPrepareJobFailure.number() } else { 0 }
    }
}

/// Exit and output of a prepare hook that has ended.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOutput<'a> {
    /// Exit of the hook.
    pub exit: Exit,
    /// Standard output.
    pub stdout: &'a [u8],
    /// True if the output reached the limit and was cut off.
    pub cut: bool,
}

/// Judges the output of a prepare hook. `hook` is `PREPARE_JOB` or `PREPARE_JOB_BEFORE_TRANSFER`, and `path` is its
/// path. Output that was cut off makes the hook fail; pass `cut: false` to reproduce the quirk `answer-cut-accepted`.
pub fn judge_prepare_hook(
    hook: HookType,
    path: &[u8],
    answer: &PrepareOutput<'_>,
    world: &dyn World,
) -> PrepareVerdict {
    let read = hook_output::parse_ad_prefix(answer.stdout, Dialect::of_world(world));
    let mut result =
        hook_output::read_prepare_status(answer.exit, &read.ad, PrepareStatusReader::Starter, world);
    if answer.cut && result.status == 0 {
        result.status = 1;
        result.how = CUT_OUTPUT_TEXT.to_owned();
    }
    let text = result.log_message(hook, path);
    PrepareVerdict {
        update: read.ad,
        status: result.status,
        message: result.message,
        text,
        unread: read.unread,
    }
}
