//! Decisions of the callers of hooks, each with its word in recordings and suites.

use std::fmt;

use htc_base::text::similar_names;
use htc_router::HookDecision;
use htc_slot::FetchDecision;

/// Decision of a caller about a hook's output, or about a hook without output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Decision of the startd about the output of FETCH_WORK.
    Fetch(FetchDecision),
    /// Decision of the job router about one of its hooks.
    Router(HookDecision),
    /// The caller treats the hook as not configured.
    NotConfigured,
    /// The job, claim or routed job for which the hook was called is not started.
    NotStarted,
    /// The caller continues normally.
    GoOn,
    /// The caller continues and logs a warning.
    GoOnWithWarning,
    /// The caller waits forever, so nothing more happens to the slot or job.
    Stuck,
    /// The caller ignores the hook's output and exit status.
    NoEffect,
    /// This version of HTCondor never calls the hook.
    NeverCalled,
    /// The hook is still running, and the caller is still waiting for it.
    StillRunning,
    /// The hook exceeded the caller's timeout.
    TimedOut,
    /// The job has completed its last step.
    Done,
    /// The job is put on hold.
    Held,
    /// The job goes back to idle.
    Requeued,
    /// The output of a cron job is in the ad.
    Published,
    /// A cron job printed nothing that can be published.
    NothingPublished,
    /// The output of a cron job was published for other slots only.
    NotForSlot,
}

impl Decision {
    /// Decisions that are neither a [`FetchDecision`] nor a [`HookDecision`].
    const COMMON: &[Decision] = &[
        Decision::NotConfigured,
        Decision::NotStarted,
        Decision::GoOn,
        Decision::GoOnWithWarning,
        Decision::Stuck,
        Decision::NoEffect,
        Decision::NeverCalled,
        Decision::StillRunning,
        Decision::TimedOut,
        Decision::Done,
        Decision::Held,
        Decision::Requeued,
        Decision::Published,
        Decision::NothingPublished,
        Decision::NotForSlot,
    ];

    /// Returns the words of all decisions, in the order of a job's life.
    pub fn all_words() -> impl Iterator<Item = &'static str> {
        let fetch = FetchDecision::ALL.iter().map(|decision| decision.word());
        let router = HookDecision::ALL.iter().filter(|decision| **decision != HookDecision::Stuck);
        let common = Decision::COMMON.iter().map(|decision| decision.word());
        fetch.chain(common).chain(router.map(|decision| decision.word()))
    }

    /// Checks that a text is the word of a decision.
    ///
    /// # Errors
    /// Returns a message with the closest word and all valid words.
    pub fn check_word(text: &str) -> Result<(), String> {
        if Decision::all_words().any(|word| word == text) {
            return Ok(());
        }
        let similar = similar_names::nearest(text, Decision::all_words());
        let hint = similar.map_or_else(String::new, |word| format!(", did you mean '{word}'"));
        let words: Vec<&str> = Decision::all_words().collect();
        Err(format!("unknown verdict{hint}: the verdicts are {}", words.join(", ")))
    }

    /// Returns the word for the decision in suites, recordings and messages.
    pub fn word(self) -> &'static str {
        match self {
            Decision::Fetch(decision) => decision.word(),
            Decision::Router(decision) => decision.word(),
            Decision::NotConfigured => "not-configured",
            Decision::NotStarted => "not-started",
            Decision::GoOn => "go-on",
            Decision::GoOnWithWarning => "go-on-with-warning",
            Decision::Stuck => "stuck",
            Decision::NoEffect => "no-effect",
            Decision::NeverCalled => "never-called",
            Decision::StillRunning => "still-running",
            Decision::TimedOut => "timed-out",
            Decision::Done => "done",
            Decision::Held => "held",
            Decision::Requeued => "requeued",
            Decision::Published => "published",
            Decision::NothingPublished => "nothing-published",
            Decision::NotForSlot => "not-for-slot",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_own_word() {
        let words: Vec<&str> = Decision::all_words().collect();
        let different: std::collections::BTreeSet<&str> = words.iter().copied().collect();
        assert_eq!(words.len(), different.len(), "{words:?}");
        assert!(
            words.contains(&"held") && words.contains(&"accepted-lost") && words.contains(&"router-abort")
        );
    }
}
