//! Commands of negotiators, schedds and shadows for a slot.

use bstr::BString;

use htc_classad::ClassAd;

/// Command for a slot.
#[derive(Clone, Debug)]
pub enum ClaimCommand {
    /// The negotiator has matched the slot to a schedd, which will claim it (MATCH_INFO).
    Match,
    /// A schedd claims the slot, or a dynamic slot to be carved out of it (REQUEST_CLAIM). If the slot is claimed already and
    /// RANK prefers the new claim, the old claim is preempted.
    Request(Box<ClaimRequest>),
    /// A shadow starts its job (ACTIVATE_CLAIM).
    Activate(Box<ClassAd>),
    /// The claimer is still alive, so its lease is renewed (ALIVE).
    Alive,
    /// The job is to end, or has ended; the claim is kept (DEACTIVATE_CLAIM and its forms).
    Deactivate(Deactivation),
    /// The claim is released (RELEASE_CLAIM).
    Release {
        /// True to release the claim that waits for the end of the current one, false to release the current one.
        waiting: bool,
    },
}

/// Claim request of a schedd for a job.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The job ad that the schedd sends.
    pub job: ClassAd,
    /// Lease in seconds, or 0 for the configured lease: an idle claim ends after this time without an alive message. The schedd
    /// computes it as its alive interval times MAX_CLAIM_ALIVES_MISSED. After activation, the job's JobLeaseDuration applies if
    /// it is set.
    pub lease: i64,
    /// Name of the schedd; may be empty.
    pub schedd: BString,
    /// Host of the schedd; may be empty.
    pub host: BString,
    /// Ids of dynamic slots of a partitionable slot that this claim preempts at once (ALLOW_PSLOT_PREEMPTION of the negotiator).
    pub preempts: Vec<String>,
}

/// Mode of deactivating a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deactivation {
    /// DEACTIVATE_CLAIM: the job is soft-killed.
    Graceful,
    /// DEACTIVATE_CLAIM_FORCIBLY: the job is hard-killed.
    Forcibly,
    /// DEACTIVATE_CLAIM_JOB_DONE: the job has ended by itself.
    JobDone,
}
