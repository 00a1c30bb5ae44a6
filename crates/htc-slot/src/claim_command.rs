//! Commands of negotiators, schedds and shadows for a slot.

use bstr::BString;

use htc_classad::ClassAd;

/// Command for a slot.
#[derive(Clone, Debug)]
pub enum ClaimCommand {
    /// The negotiator has matched the slot to a schedd that will claim it (MATCH_INFO).
    Match,
    /// A schedd claims the slot, or a dynamic slot carved out of it (REQUEST_CLAIM). The claim of a claimed slot is preempted
    /// if RANK permits.
    Request(Box<ClaimRequest>),
    /// A shadow starts its job (ACTIVATE_CLAIM).
    Activate(Box<ClassAd>),
    /// The claimer is alive (ALIVE): the lease is renewed.
    Alive,
    /// The job is to end, or has ended; the claim is kept (DEACTIVATE_CLAIM and its forms).
    Deactivate(Deactivation),
    /// The claim is released (RELEASE_CLAIM).
    Release {
        /// True for the waiting claim.
        waiting: bool,
    },
}

/// Claim request of a schedd for a job.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The job ad that the schedd sends.
    pub job: ClassAd,
    /// Lease in seconds: an idle claim ends after this time without an alive message, which is the alive interval times
    /// MAX_CLAIM_ALIVES_MISSED; 0 for the configured values. After activation, the job's JobLeaseDuration applies if set.
    pub lease: i64,
    /// Name of the schedd; may be empty.
    pub schedd: BString,
    /// Host of the schedd; may be empty.
    pub host: BString,
    /// Ids of dynamic slots to preempt at once, for a partitionable slot (ALLOW_PSLOT_PREEMPTION of the negotiator).
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
