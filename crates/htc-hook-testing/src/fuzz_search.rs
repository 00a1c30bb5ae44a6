//! A hook called with random changes of its ad: what goes wrong, each with the smallest ad that shows it.

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
use super::judge::judge_call;
use htc_base::process::{Exit, Stdio};
use htc_classad::ClassAd;
use htc_os::{Reactor, clock};

/// Questions asked of a hook to make an ad smaller.
const MAX_SHRINK_CALLS: usize = 150;

/// How long one ad may take to get smaller: a hook that hangs uses all of its time at every question.
pub const MAX_SHRINK_TIME: Duration = Duration::from_secs(60);

/// What is kept of the standard error of each call, in bytes.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// The first call that showed some trouble, and how many did.
#[derive(Clone, Debug)]
pub struct FuzzFailure {
    /// The call.
    pub case: Case,
    /// How its ad was changed.
    pub mutations: Vec<Mutation>,
    /// How many calls showed it.
    pub calls: u32,
}

/// The smallest ad that was found to show some trouble.
#[derive(Clone, Debug)]
pub struct ShrunkAd {
    /// The ad.
    pub ad: ClassAd,
    /// Whether there was no time to make it smaller still.
    pub out_of_time: bool,
    /// The signal that interrupted the search, if one did.
    pub interrupted: Option<i32>,
}

/// A search for trouble.
pub struct FuzzSearch<'a> {
    setup: &'a mut CallSetup,
    /// The case with the ad as it was given.
    original: Case,
    /// Rules that the unchanged ad breaks as well.
    baseline_rules: Vec<&'static str>,
    /// Trouble that the unchanged ad makes as well: it is not the change's.
    pub baseline_failure: Option<String>,
    /// What was found.
    pub failures: BTreeMap<String, FuzzFailure>,
}

impl<'a> FuzzSearch<'a> {
    /// A search that knows what the unchanged ad shows.
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

    /// The set-up, with the case as it was given.
    pub fn original_setup(&mut self) -> &CallSetup {
        self.setup.case = self.original.clone();
        self.setup
    }

    /// Makes so many calls, some at a time; the signal that ended them early, if one did.
    ///
    /// # Errors
    /// The loop itself fails.
    pub fn make_calls(
        &mut self,
        reactor: &mut Reactor,
        (times, random): (u32, &mut RandomGenerator),
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
                let what = failure_signature(search.setup, &search.baseline_rules, &case, &outcome);
                if let Some(what) = what.filter(|what| Some(what) != search.baseline_failure.as_ref()) {
                    let trouble =
                        search.failures.entry(what).or_insert(FuzzFailure { case, mutations, calls: 0 });
                    trouble.calls += 1;
                }
            },
        )
    }

    /// A call with some things of its ad changed.
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

    /// Makes the ad of a call that showed some trouble smaller, as long as it shows that.
    pub fn shrink_failure(&mut self, reactor: &mut Reactor, what: &str, case: &Case) -> ShrunkAd {
        let until = clock::monotonic_now().plus(MAX_SHRINK_TIME);
        let mut interrupted = None;
        let mut shows = |ad: &ClassAd| {
            // Nothing can be read of an empty ad.
            if ad.is_empty() || interrupted.is_some() || clock::monotonic_now() >= until {
                return false;
            }
            let mut asked = case.clone();
            *asked.subject_mut() = ad.clone();
            match self.repeat_call(reactor, &asked) {
                Ok(Ok(outcome)) => {
                    failure_signature(self.setup, &self.baseline_rules, &asked, &outcome).as_deref()
                        == Some(what)
                }
                Ok(Err(signal)) => {
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

    /// One more call with another ad; the signal that interrupted it, if one did.
    fn repeat_call(
        &mut self,
        reactor: &mut Reactor,
        case: &Case,
    ) -> Result<Result<CallOutcome, i32>, CallError> {
        self.setup.case = case.clone();
        let place = self.setup.create_directories()?;
        let spec = self.setup.child_spec(&place, self.setup.hook_environment(&place))?;
        Ok(call_hook(reactor, spec, Some(self.setup.patience), &mut |_| {})?)
    }
}

/// What is wrong with a call that was not wrong with the unchanged ad; `None`: nothing.
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
            Some(Exit::Signal { number, .. }) => return Some(format!("dies of signal {number}")),
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
