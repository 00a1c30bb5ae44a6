//! Drain requests, and the status of a drain.

use htc_classad::Expr;
use serde::{Deserialize, Serialize};

/// Speed of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DrainSpeed {
    /// Jobs get retirement and vacate time; retirement is coordinated between slots.
    #[default]
    Graceful,
    /// Jobs get vacate time only.
    Quick,
    /// Jobs are killed at once.
    Fast,
}

impl DrainSpeed {
    /// Returns the name of the speed: value of the key `how` in requests and answers.
    pub const fn name(self) -> &'static str {
        match self {
            DrainSpeed::Graceful => "graceful",
            DrainSpeed::Quick => "quick",
            DrainSpeed::Fast => "fast",
        }
    }
}

impl DrainCompletion {
    /// Returns the name of the action: value of the key `on_completion`, or `None` if there is no action.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            DrainCompletion::Nothing => None,
            DrainCompletion::Resume => Some("resume"),
            DrainCompletion::Exit => Some("exit"),
            DrainCompletion::Restart => Some("restart"),
            DrainCompletion::Reconfigure => Some("reconfig"),
        }
    }
}

/// Action after all slots are drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DrainCompletion {
    /// The slots stay drained.
    #[default]
    #[serde(skip)]
    Nothing,
    /// The slots accept jobs again.
    Resume,
    /// The execution point shuts down.
    Exit,
    /// The execution point restarts.
    Restart,
    /// The configuration is read again, and the slots accept jobs.
    #[serde(rename = "reconfig")]
    Reconfigure,
}

/// Request for a drain.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainRequest {
    /// Speed of the drain request.
    pub speed: DrainSpeed,
    /// Reason, published as DrainReason.
    pub reason: String,
    /// User who sent the request; may be empty.
    pub requester: String,
    /// Action after all slots are drained.
    pub completion: DrainCompletion,
    /// Check expression, or `None`. If it is not true in every slot ad, the drain is refused.
    pub check: Option<Expr>,
    /// START during a graceful drain, or `None` to use DEFAULT_DRAINING_START_EXPR.
    pub start_while_draining: Option<Expr>,
}

impl DrainRequest {
    /// Creates a request without a check and without an action on completion.
    pub fn new(speed: DrainSpeed, reason: &str) -> Self {
        let (reason, by) = (reason.to_owned(), String::new());
        DrainRequest {
            speed,
            reason,
            requester: by,
            completion: DrainCompletion::Nothing,
            check: None,
            start_while_draining: None,
        }
    }
}

/// Status of the current drain.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainStatus {
    /// Id of the drain request.
    pub id: u64,
    /// Request that began the drain.
    pub request: DrainRequest,
    /// Start time, in epoch seconds.
    pub since: i64,
    /// Estimated time at which all slots will be drained, in epoch seconds, or `None` if all slots are drained.
    pub until: Option<i64>,
    /// Number of drained slots.
    pub drained: i64,
}
