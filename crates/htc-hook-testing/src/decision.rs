//! What callers decide, each in the word that recorded sessions and suites have for it.

use std::fmt;

use htc_base::text::similar_names;
use htc_router::HookDecision;
use htc_slot::FetchDecision;

/// What a caller does with the answer of a hook, or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Of the startd, on an answer of FETCH_WORK.
    Fetch(FetchDecision),
    /// Of the job router, on an answer of one of its hooks.
    Router(HookDecision),
    /// The caller takes the hook for not configured.
    NotConfigured,
    /// What was to be started is not.
    NotStarted,
    /// Things go on as if all were well.
    GoOn,
    /// They do, and the user is told something.
    GoOnWithWarning,
    /// The caller does nothing more, for ever.
    Stuck,
    /// The caller looks at nothing that the hook does.
    NoEffect,
    /// This caller never calls the hook.
    NeverCalled,
    /// The hook has not ended, and is waited for.
    StillRunning,
    /// The caller has waited as long as it waits.
    TimedOut,
    /// The last step of a job is over.
    Done,
    /// The job is put on hold.
    Held,
    /// The job goes back to idle.
    Requeued,
    /// What a cron job printed is in the ad.
    Published,
    /// A cron job printed nothing that could be published.
    NothingPublished,
    /// What a cron job published is for other slots.
    NotForSlot,
}

impl Decision {
    /// Those that neither a slot nor a router takes.
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

    /// Every word that a verdict can be, in the order of a job's life.
    pub fn all_words() -> impl Iterator<Item = &'static str> {
        let fetch = FetchDecision::ALL.iter().map(|decision| decision.word());
        let router = HookDecision::ALL.iter().filter(|decision| **decision != HookDecision::Stuck);
        let common = Decision::COMMON.iter().map(|decision| decision.word());
        fetch.chain(common).chain(router.map(|decision| decision.word()))
    }

    /// Whether a verdict has this word; if not, what one could say.
    ///
    /// # Errors
    /// The words that there are, and the one that was perhaps meant.
    pub fn check_word(text: &str) -> Result<(), String> {
        if Decision::all_words().any(|word| word == text) {
            return Ok(());
        }
        let meant = similar_names::nearest(text, Decision::all_words());
        let hint = meant.map_or_else(String::new, |word| format!(", did you mean '{word}'"));
        let words: Vec<&str> = Decision::all_words().collect();
        Err(format!("no verdict has this word{hint}: there are {}", words.join(", ")))
    }

    /// The word of suites, recordings and messages.
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
    fn every_verdict_has_a_word_of_its_own() {
        let words: Vec<&str> = Decision::all_words().collect();
        let different: std::collections::BTreeSet<&str> = words.iter().copied().collect();
        assert_eq!(words.len(), different.len(), "{words:?}");
        assert!(
            words.contains(&"held") && words.contains(&"accepted-lost") && words.contains(&"router-abort")
        );
    }
}
