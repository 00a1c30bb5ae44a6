//! Search for failures of a hook by random mutations of its ad. Each failure is reduced to a small ad that shows it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::call::{CallEnding, CallOutcome, call_hook};
use super::call_directories::CallDirectories;
use super::call_findings::find_problems;
use super::call_pool::{PooledCall, run_pool};
use super::call_report::CallReport;
use super::call_setup::{CallError, CallSetup};
use super::case::Case;
use super::fuzz::{Mutation, RandomGenerator, remove_attributes, shorten_strings};
use super::interruptible::Interruptible;
use super::judge::judge_call;
use htc_base::process::{Exit, Stdio};
use htc_classad::ClassAd;
use htc_os::{Reactor, clock};

/// Maximum number of hook calls of each of the two steps that reduce an ad.
const MAX_SHRINK_CALLS: usize = 150;

/// Maximum time for reducing one ad. It is needed because a hook that never ends uses its whole timeout at every
/// call.
pub const MAX_SHRINK_TIME: Duration = Duration::from_secs(60);

/// Maximum number of bytes kept of the standard error of each call.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Failure of the hook, with the first call that showed it and the number of such calls.
#[derive(Clone, Debug)]
pub struct FuzzFailure {
    /// Inputs of the first call that showed the failure.
    pub case: Case,
    /// Mutations of the ad of that call.
    pub mutations: Vec<Mutation>,
    /// Number of calls that showed the failure.
    pub calls: u32,
}

/// Result of reducing an ad.
#[derive(Clone, Debug)]
pub struct ShrunkAd {
    /// Smallest ad found that shows the failure.
    pub ad: ClassAd,
    /// True if the reduction ended because `MAX_SHRINK_TIME` had passed.
    pub out_of_time: bool,
    /// Signal that interrupted the reduction, or `None`.
    pub interrupted: Option<i32>,
}

/// Search for failures of one hook.
pub struct FuzzSearch<'a> {
    setup: &'a mut CallSetup,
    /// Case with the ad as given, without mutations.
    original: Case,
    /// Rules of the findings that the hook also has with the given ad.
    baseline_rules: Vec<&'static str>,
    /// Failure that the hook also shows with the given ad, so that mutations do not cause it; or `None`.
    pub baseline_failure: Option<String>,
    /// Failures that were found, by a text that identifies the failure.
    pub failures: BTreeMap<String, FuzzFailure>,
}

impl<'a> FuzzSearch<'a> {
    /// Creates a search; `baseline` is the report of a call with the given ad, for comparison.
    pub fn new(setup: &'a mut CallSetup, baseline: &CallReport) -> Self {
        let usual = baseline.findings.iter().map(|finding| finding.rule.word()).collect();
        let original = setup.case.clone();
        let mut search = FuzzSearch {
            setup,
            original,
            baseline_rules: usual,
            baseline_failure: None,
            failures: BTreeMap::new(),
        };
        search.baseline_failure =
            failure_signature(search.setup, &search.baseline_rules, &baseline.case, &baseline.outcome);
        search
    }

    /// Returns the setup with the given ad, without mutations.
    pub fn original_setup(&mut self) -> &CallSetup {
        self.setup.case = self.original.clone();
        self.setup
    }

    /// Makes `times` calls with mutated ads, with one call per CPU at a time. Returns the signal that interrupted the
    /// calls, or `None`.
    ///
    /// # Errors
    /// The event loop fails.
    pub fn make_calls(
        &mut self,
        reactor: &mut Reactor,
        times: u32,
        random: &mut RandomGenerator,
        advance: &dyn Fn(),
    ) -> io::Result<Option<i32>> {
        let parallel = std::thread::available_parallelism().map_or(4, |count| count.get());
        let mut number = 0;
        let shared = RefCell::new(self);
        run_pool(
            reactor,
            parallel,
            &mut || {
                if number >= times {
                    return None;
                }
                number += 1;
                shared.borrow_mut().mutated_call(random)
            },
            &mut |(case, mutations, _place), outcome| {
                advance();
                let search = &mut *shared.borrow_mut();
                let failure = failure_signature(search.setup, &search.baseline_rules, &case, &outcome);
                if let Some(failure) =
                    failure.filter(|failure| Some(failure) != search.baseline_failure.as_ref())
                {
                    let trouble =
                        search.failures.entry(failure).or_insert(FuzzFailure { case, mutations, calls: 0 });
                    trouble.calls += 1;
                }
            },
        )
    }

    /// Returns a call whose ad has up to three random mutations, or `None` if the call cannot be prepared.
    fn mutated_call(
        &mut self,
        random: &mut RandomGenerator,
    ) -> Option<PooledCall<(Case, Vec<Mutation>, CallDirectories)>> {
        let mut case = self.original.clone();
        let mut mutations = Vec::new();
        for _ in 0..=random.next_below(3) {
            let ad = case.subject_mut();
            if let Some(mutation) = Mutation::random(ad, random) {
                mutation.apply(ad);
                mutations.push(mutation);
            }
        }
        self.setup.case = case.clone();
        let place = self.setup.create_directories().ok()?;
        let mut spec = self.setup.child_spec(&place, self.setup.hook_environment(&place)).ok()?;
        spec.stdio[2] = Stdio::Capture { limit: MAX_STDERR_BYTES };
        Some(PooledCall { tag: (case, mutations, place), spec, patience: self.setup.patience })
    }

    /// Reduces the ad of a call that showed the given failure to a smaller ad that shows the same failure.
    pub fn shrink_failure(&mut self, reactor: &mut Reactor, failure: &str, case: &Case) -> ShrunkAd {
        let until = clock::monotonic_now().plus(MAX_SHRINK_TIME);
        let mut interrupted = None;
        let mut shows = |ad: &ClassAd| {
            // A hook that gets an empty ad probably fails for another reason.
            if ad.is_empty() || interrupted.is_some() || clock::monotonic_now() >= until {
                return false;
            }
            let mut smaller_case = case.clone();
            *smaller_case.subject_mut() = ad.clone();
            match self.repeat_call(reactor, &smaller_case) {
                Ok(Interruptible::Finished(outcome)) => {
                    failure_signature(self.setup, &self.baseline_rules, &smaller_case, &outcome).as_deref()
                        == Some(failure)
                }
                Ok(Interruptible::Interrupted(signal)) => {
                    interrupted = Some(signal);
                    false
                }
                Err(_) => false,
            }
        };
        let ad = case.subject().clone();
        let small = remove_attributes(&ad, MAX_SHRINK_CALLS, &mut shows);
        let small = shorten_strings(&small, MAX_SHRINK_CALLS, &mut shows);
        ShrunkAd { ad: small, out_of_time: clock::monotonic_now() >= until, interrupted }
    }

    /// Calls the hook with the ads of another case. Returns the outcome, or the signal that interrupted the call.
    fn repeat_call(
        &mut self,
        reactor: &mut Reactor,
        case: &Case,
    ) -> Result<Interruptible<CallOutcome>, CallError> {
        self.setup.case = case.clone();
        let place = self.setup.create_directories()?;
        let spec = self.setup.child_spec(&place, self.setup.hook_environment(&place))?;
        Ok(call_hook(reactor, spec, Some(self.setup.patience), &mut |_| {})?)
    }
}

/// Returns a text that identifies the failure of a call, or `None` if the call succeeded or failed in the same way as
/// with the given ad.
fn failure_signature(
    setup: &CallSetup,
    usual: &[&'static str],
    case: &Case,
    outcome: &CallOutcome,
) -> Option<String> {
    let judged = judge_call(case, outcome, &setup.path, &*setup.world, setup.quirks);
    if let CallEnding::Ran(ended) = &outcome.ending {
        match ended.exit {
            None => return Some("hangs".to_owned()),
            Some(Exit::Signal { number, .. }) => return Some(format!("is killed by signal {number}")),
            Some(_) => {}
        }
    }
    let mut rules: Vec<&str> = find_problems(case, outcome, &judged)
        .iter()
        .filter(|finding| !finding.rule.is_note())
        .map(|finding| finding.rule.word())
        .filter(|rule| !usual.contains(rule))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    if !judged.good {
        let reason: String = judged.reason.chars().take(90).collect();
        let how = if rules.is_empty() { reason } else { rules.join(", ") };
        return Some(format!("{}: {how}", judged.decision));
    }
    (!rules.is_empty()).then(|| rules.join(", "))
}
