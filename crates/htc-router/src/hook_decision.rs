//! What the router does with the answer of a hook.

use htc_base::text::words;

words! {
    /// What the router does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum HookDecision.word {
        /// The answer is the new routed job; the usual translation follows.
        Routed => "routed",
        /// The source is edited in place.
        Edited => "edited",
        /// The job is given back and routed again later; with UPDATE_JOB_INFO the routed job is removed.
        Dropped => "dropped",
        /// Nothing happens; the hook is called again at the next poll.
        Stuck => "stuck",
        /// The daemon aborts.
        RouterAbort => "router-abort",
        /// The answer is merged into the routed job.
        Updated => "updated",
        /// There is nothing to merge.
        Unchanged => "unchanged",
        /// The hook failed. UPDATE_JOB_INFO: the answer is dropped; JOB_FINALIZE: the source is to be routed again;
        /// JOB_CLEANUP: it is called again.
        Failed => "failed",
        /// The answer is merged into the source, which is done.
        Finalized => "finalized",
        /// The routed job is cleaned up.
        Cleaned => "cleaned",
    }
}

impl HookDecision {
    /// Whether the hook has done what it is for.
    pub fn is_success(self) -> bool {
        !matches!(
            self,
            HookDecision::Dropped | HookDecision::Stuck | HookDecision::RouterAbort | HookDecision::Failed
        )
    }
}
