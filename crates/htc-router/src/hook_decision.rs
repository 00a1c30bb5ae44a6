//! Decisions of the router on hook output.

use htc_base::text::words;

words! {
    /// Decision of the router on the output of a hook.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum HookDecision.word {
        /// The output is the new routed job; the standard translation follows.
        Routed => "routed",
        /// The source job is edited in place.
        Edited => "edited",
        /// The source job is released and routed again later; with UPDATE_JOB_INFO the routed job is removed.
        Dropped => "dropped",
        /// The job stays as it is; the hook is called again at the next poll.
        Stuck => "stuck",
        /// The daemon aborts.
        RouterAbort => "router-abort",
        /// The output is merged into the routed job.
        Updated => "updated",
        /// The output has nothing to merge.
        Unchanged => "unchanged",
        /// The hook failed. UPDATE_JOB_INFO: the output is ignored; JOB_FINALIZE: the source job is to be
        /// routed again; JOB_CLEANUP: the hook is called again.
        Failed => "failed",
        /// The output is merged into the source job. Its routing is done.
        Finalized => "finalized",
        /// The routed job is cleaned up.
        Cleaned => "cleaned",
    }
}

impl HookDecision {
    /// Returns true if the hook was successful.
    pub fn is_success(self) -> bool {
        !matches!(
            self,
            HookDecision::Dropped | HookDecision::Stuck | HookDecision::RouterAbort | HookDecision::Failed
        )
    }
}
