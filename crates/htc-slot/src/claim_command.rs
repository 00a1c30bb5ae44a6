//! What negotiators, schedds and shadows can ask of a slot.

use bstr::BString;

use htc_classad::ClassAd;

/// What is asked of a slot.
#[derive(Clone, Debug)]
pub enum ClaimCommand {
    /// The negotiator has given the slot to somebody who will claim it (MATCH_INFO).
    Match,
    /// A schedd wants the slot, or a dynamic one carved from it (REQUEST_CLAIM). A claimed slot changes hands when RANK does not
    /// speak against it.
    Request(Box<ClaimRequest>),
    /// A shadow wants its job run (ACTIVATE_CLAIM).
    Activate(Box<ClassAd>),
    /// The claimer is alive (ALIVE): the lease begins anew.
    Alive,
    /// The job is to end, or has ended; the claim stays (DEACTIVATE_CLAIM and its forms).
    Deactivate(Deactivation),
    /// The claim is given back (RELEASE_CLAIM).
    Release {
        /// Whether the claim that waits is meant.
        waiting: bool,
    },
}

/// Who claims, for which job.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The job as the schedd shows it.
    pub job: ClassAd,
    /// Seconds without a word from the claimer after which an idle claim ends: the alive interval times
    /// MAX_CLAIM_ALIVES_MISSED; 0 for those of the configuration. An activated claim has the job's JobLeaseDuration, where it has
    /// one.
    pub lease: i64,
    /// Name of the schedd; may be empty.
    pub schedd: BString,
    /// The machine it asks from; may be empty.
    pub host: BString,
    /// Of a partitionable slot: ids of the dynamic slots that have to make room at once (ALLOW_PSLOT_PREEMPTION of the negotiator).
    pub preempts: Vec<String>,
}

/// How the job under a claim ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deactivation {
    /// DEACTIVATE_CLAIM: it is asked to leave.
    Graceful,
    /// DEACTIVATE_CLAIM_FORCIBLY: it is killed.
    Forcibly,
    /// DEACTIVATE_CLAIM_JOB_DONE: it has ended by itself.
    JobDone,
}
