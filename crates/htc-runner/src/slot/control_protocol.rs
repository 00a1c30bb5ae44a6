//! Requests to a running execution point and its answers, as they are sent through the control socket.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::control_keys::{InvalidRequest, check_object};
use super::run_counters::RunCounters;
use crate::control;
use htc_slot::{DrainCompletion, DrainSpeed, DrainStatus, ShutdownMode};

/// Request at the control socket, written as one JSON object with the key `command`.
///
/// [`SlotControlRequest::parse`] reads a request; its errors name the invalid key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SlotControlRequest {
    /// Matches a slot, as a negotiator does.
    Match {
        /// Name of the slot, such as `slot1`.
        slot: String,
    },
    /// Claims a slot, as a schedd does. The ad of the job follows the line of the request.
    Claim {
        /// Name of the slot, such as `slot1`.
        slot: String,
        /// Length in bytes of the job ad (long form) after the line of the request.
        #[serde(default, skip_serializing_if = "is_zero")]
        ad_length: usize,
        /// Name of the job ad in messages: the file that contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ad_name: Option<String>,
        /// Time in seconds after which an idle claim ends if no `alive` arrives, or `None` for the configured lease.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<i64>,
        /// Name of the schedd, for RemoteScheddName.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schedd: Option<String>,
        /// Names of dynamic slots of the partitionable slot; their claims are preempted at once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        preempts: Vec<String>,
    },
    /// Runs a job in a claimed slot, as a shadow does. The ad of the job follows the line of the request.
    Activate {
        /// Name of the slot, such as `slot1`.
        slot: String,
        /// Length in bytes of the job ad (long form) after the line of the request.
        #[serde(default, skip_serializing_if = "is_zero")]
        ad_length: usize,
        /// Name of the job ad in messages: the file that contains it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ad_name: Option<String>,
    },
    /// Renews the lease of a claim.
    Alive {
        /// Name of the slot, such as `slot1`.
        slot: String,
    },
    /// Puts the job of a slot on hold.
    Hold {
        /// Name of the slot, such as `slot1`.
        slot: String,
        /// HoldReason of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Suspends the job of a slot, or the jobs of all slots.
    Suspend {
        /// Name of the slot, or `None` for all slots.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
    },
    /// Continues the suspended job of a slot, or the suspended jobs of all slots.
    Continue {
        /// Name of the slot, or `None` for all slots.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
    },
    /// Vacates one slot or all slots.
    Vacate {
        /// Name of the slot, or `None` for all slots.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
        /// Speed, or `None` for a graceful vacate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<VacateSpeed>,
    },
    /// Ends the job of a slot and keeps the claim.
    Deactivate {
        /// Name of the slot, such as `slot1`.
        slot: String,
        /// Speed, or `None` for a graceful end of the job.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<VacateSpeed>,
    },
    /// Gives up a claim.
    ReleaseClaim {
        /// Name of the slot, such as `slot1`.
        slot: String,
        /// True to give up the claim that is waiting to replace the current one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waiting: bool,
    },
    /// Drains the execution point.
    Drain {
        /// Speed, or `None` for a graceful drain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<DrainSpeed>,
        /// Value of the attribute `DrainReason`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Action when all slots are drained.
        #[serde(default, skip_serializing_if = "is_default_completion")]
        on_completion: DrainCompletion,
        /// Expression that must be true in each slot's ad for the drain to begin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        check: Option<String>,
        /// START expression during a graceful drain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
    },
    /// Ends a drain.
    Undrain {
        /// Number of the drain, or `None` for any drain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
    },
    /// Ends the execution point.
    Off {
        /// Speed, or `None` for a graceful end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<ShutdownMode>,
    },
    /// Reads the configuration again.
    Reconfig {},
    /// Requests the ads of all slots.
    Ads {},
    /// Requests the state of all slots.
    Status {
        /// Slot that must exist; a request for an unknown slot is refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<String>,
        /// True if the answer should also have the counts since the start of the execution point.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counters: bool,
    },
}

/// Speed at which a slot is vacated or a claim deactivated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VacateSpeed {
    /// The job keeps its retirement time and its vacate time.
    Graceful,
    /// The job is killed at once.
    Fast,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_default_completion(completion: &DrainCompletion) -> bool {
    *completion == DrainCompletion::Nothing
}

/// Answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotControlAnswer {
    /// True if the command was carried out or started.
    pub ok: bool,
    /// Error message, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Kind of the error, if `error` is set.
    #[serde(default, skip_serializing_if = "RefusalKind::is_default")]
    pub refusal: RefusalKind,
    /// For `drain`: number of the drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<u64>,
    /// For `status`: the active drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
    /// For `status`: all slots. For `claim`: the slot that was claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotStatus>,
    /// For `ads`: the ads of all slots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ads: Vec<RunningSlotAd>,
    /// For `status` with `counters`: counts since the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<RunCounters>,
    /// Note about the command. For `claim`: which attribute of the job
    /// has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// For `claim`: what the claim is waiting for, if the slot is not available at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// Ad of a slot of a running execution point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunningSlotAd {
    /// Name of the slot, such as `slot1`.
    pub slot: String,
    /// The ad, in long form.
    pub ad: String,
    /// True if the slot calls FETCH_WORK; the Requirements of the jobs that it fetches are not evaluated.
    pub fetches: bool,
}

/// Kind of the reason for which a request is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request is not valid.
    #[default]
    Request,
    /// The ad in the request, or the configuration to be read, is not valid.
    Input,
    /// The state of the slot or of the execution point does not allow the command.
    State,
}

impl RefusalKind {
    fn is_default(&self) -> bool {
        *self == RefusalKind::default()
    }
}

/// Drain that has begun and was not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActiveDrain {
    /// Number of the drain.
    pub request_id: u64,
    /// Speed of the drain.
    pub how: DrainSpeed,
    /// Value of the attribute `DrainReason`.
    pub reason: String,
    /// Account that requested the drain.
    pub by: String,
    /// Start time, in seconds since the epoch.
    pub since: i64,
    /// Estimated end of the drain, in seconds since the epoch, or `None` when all slots are drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Action when all slots are drained.
    #[serde(default, skip_serializing_if = "is_default_completion")]
    pub on_completion: DrainCompletion,
    /// START expression during the drain, or `None` for the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Number of drained slots.
    pub drained: i64,
}

impl From<DrainStatus> for ActiveDrain {
    fn from(status: DrainStatus) -> Self {
        let DrainStatus { id, request, since, until, drained } = status;
        ActiveDrain {
            request_id: id,
            how: request.speed,
            reason: request.reason,
            by: request.requester,
            since,
            until,
            on_completion: request.completion,
            start: request.start_while_draining.map(|start| start.unparse().to_string()),
            drained,
        }
    }
}

/// Status of one slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotStatus {
    /// Slot id.
    pub slot: String,
    /// Slot state.
    pub state: String,
    /// Slot activity.
    pub activity: String,
    /// Run time of the job in seconds, or `None` if no job is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_seconds: Option<i64>,
    /// Job as `cluster.proc`, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Owner of the job, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Verdict on the last fetch: `accepted`, `rejected`, `no work` or `bad answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Reason for the verdict, or `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time in seconds until the next fetch, or `None` if the slot does not fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_in: Option<u64>,
    /// Names of the running hooks of the slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
    /// Active drain of the execution point; set in output that prints each slot separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<ActiveDrain>,
}

/// Sends a request with its ad and waits for the answer.
///
/// # Errors
/// No process listens at the socket, the listener is neither root nor the caller's account, or the answer is not
/// valid.
pub fn send_request(socket: &Path, request: &SlotControlRequest, ad: &[u8]) -> io::Result<SlotControlAnswer> {
    let mut request = request.clone();
    if let SlotControlRequest::Claim { ad_length, .. } | SlotControlRequest::Activate { ad_length, .. } =
        &mut request
    {
        *ad_length = ad.len();
    }
    control::send_request(socket, LISTENER_NAME, &request, ad)
}

/// Name of the listening program in messages.
pub(super) const LISTENER_NAME: &str = "execution point";

impl SlotControlRequest {
    /// Reads the line of a request.
    ///
    /// # Errors
    /// The line is not JSON, or has an unknown command, key or value.
    pub fn parse(line: &[u8]) -> Result<Self, InvalidRequest> {
        let invalid = |message| InvalidRequest { key: "command".to_owned(), message };
        check_object(&control::parse_request(line).map_err(invalid)?)?;
        // The line is parsed again, because the parsed object contains only one of several equal keys.
        control::parse_request(line).map_err(invalid)
    }

    /// Returns the slot that the request names, or `None` if it applies to all slots.
    pub fn slot(&self) -> Option<&str> {
        match self {
            Self::Match { slot }
            | Self::Claim { slot, .. }
            | Self::Activate { slot, .. }
            | Self::Alive { slot }
            | Self::Hold { slot, .. }
            | Self::Deactivate { slot, .. }
            | Self::ReleaseClaim { slot, .. } => Some(slot),
            Self::Suspend { slot }
            | Self::Continue { slot }
            | Self::Vacate { slot, .. }
            | Self::Status { slot, .. } => slot.as_deref(),
            Self::Drain { .. }
            | Self::Undrain { .. }
            | Self::Off { .. }
            | Self::Reconfig {}
            | Self::Ads {} => None,
        }
    }
}
