//! A hook called with random changes of its ad: what goes wrong, each with the smallest ad that shows it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::call::{Ending, Outcome, call};
use super::case::Case;
use super::find::find;
use super::fuzz::{Mutation, Random, shorten, shrink};
use super::judge::verdict;
use super::place::Place;
use super::pool::{Job, run_many};
use super::setup::{CallError, Setup};
use super::shown::Shown;
use htc_base::process::{Exit, Stdio};
use htc_classad::ClassAd;
use htc_os::{Reactor, clock};

/// Questions asked of a hook to make an ad smaller.
const MOST_QUESTIONS: usize = 150;

/// How long one ad may take to get smaller: a hook that hangs uses all of its time at every question.
pub const LONGEST_SHRINK: Duration = Duration::from_secs(60);

/// What is kept of the standard error of each call, in bytes.
const STDERR: usize = 64 * 1024;

/// The first call that showed some trouble, and how many did.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The call.
    pub case: Case,
    /// How its ad was changed.
    pub mutations: Vec<Mutation>,
    /// How many calls showed it.
    pub calls: u32,
}

/// The smallest ad that was found to show some trouble.
#[derive(Clone, Debug)]
pub struct Smallest {
    /// The ad.
    pub ad: ClassAd,
    /// Whether there was no time to make it smaller still.
    pub out_of_time: bool,
    /// The signal that interrupted the search, if one did.
    pub interrupted: Option<i32>,
}

/// A search for trouble.
pub struct Search<'a> {
    setup: &'a mut Setup,
    /// The case with the ad as it was given.
    original: Case,
    /// Rules that the unchanged ad breaks as well.
    usual: Vec<&'static str>,
    /// Trouble that the unchanged ad makes as well: it is not the change's.
    pub always: Option<String>,
    /// What was found.
    pub found: BTreeMap<String, Trouble>,
}

impl<'a> Search<'a> {
    /// A search that knows what the unchanged ad shows.
    pub fn new(setup: &'a mut Setup, baseline: &Shown) -> Self {
        let usual = baseline.findings.iter().map(|finding| finding.rule.word()).collect();
        let original = setup.case.clone();
        let mut search = Search { setup, original, usual, always: None, found: BTreeMap::new() };
        search.always = signature(search.setup, &search.usual, &baseline.case, &baseline.outcome);
        search
    }

    /// The set-up, with the case as it was given.
    pub fn setup(&mut self) -> &Setup {
        self.setup.case = self.original.clone();
        self.setup
    }

    /// Makes so many calls, some at a time; the signal that ended them early, if one did.
    ///
    /// # Errors
    /// The loop itself fails.
    pub fn calls(
        &mut self,
        reactor: &mut Reactor,
        (times, random): (u32, &mut Random),
        advance: &dyn Fn(),
    ) -> io::Result<Option<i32>> {
        let parallel = std::thread::available_parallelism().map_or(4, |count| count.get());
        let mut number = 0;
        let shared = RefCell::new(self);
        run_many(
            reactor,
            parallel,
            &mut || {
                if number >= times {
                    return None;
                }
                number += 1;
                shared.borrow_mut().changed(random)
            },
            &mut |(case, mutations, _place), outcome| {
                advance();
                let search = &mut *shared.borrow_mut();
                let what = signature(search.setup, &search.usual, &case, &outcome);
                if let Some(what) = what.filter(|what| Some(what) != search.always.as_ref()) {
                    let trouble = search.found.entry(what).or_insert(Trouble { case, mutations, calls: 0 });
                    trouble.calls += 1;
                }
            },
        )
    }

    /// A call with some things of its ad changed.
    fn changed(&mut self, random: &mut Random) -> Option<Job<(Case, Vec<Mutation>, Place)>> {
        let mut case = self.original.clone();
        let mut mutations = Vec::new();
        for _ in 0..=random.below(3) {
            let ad = case.subject_mut();
            if let Some(mutation) = Mutation::of(ad, random) {
                mutation.apply(ad);
                mutations.push(mutation);
            }
        }
        self.setup.case = case.clone();
        let place = self.setup.place().ok()?;
        let mut spec = self.setup.child(&place, self.setup.environment(&place)).ok()?;
        spec.stdio[2] = Stdio::Capture { limit: STDERR };
        Some(Job { tag: (case, mutations, place), spec, patience: self.setup.patience })
    }

    /// Makes the ad of a call that showed some trouble smaller, as long as it shows that.
    pub fn smallest(&mut self, reactor: &mut Reactor, what: &str, case: &Case) -> Smallest {
        let until = clock::tick().plus(LONGEST_SHRINK);
        let mut interrupted = None;
        let mut shows = |ad: &ClassAd| {
            // Nothing can be read of an empty ad.
            if ad.is_empty() || interrupted.is_some() || clock::tick() >= until {
                return false;
            }
            let mut asked = case.clone();
            *asked.subject_mut() = ad.clone();
            match self.again(reactor, &asked) {
                Ok(Ok(outcome)) => {
                    signature(self.setup, &self.usual, &asked, &outcome).as_deref() == Some(what)
                }
                Ok(Err(signal)) => {
                    interrupted = Some(signal);
                    false
                }
                Err(_) => false,
            }
        };
        let ad = case.subject().clone();
        let small = shrink(&ad, MOST_QUESTIONS, &mut shows);
        let small = shorten(&small, MOST_QUESTIONS, &mut shows);
        Smallest { ad: small, out_of_time: clock::tick() >= until, interrupted }
    }

    /// One more call with another ad; the signal that interrupted it, if one did.
    fn again(&mut self, reactor: &mut Reactor, case: &Case) -> Result<Result<Outcome, i32>, CallError> {
        self.setup.case = case.clone();
        let place = self.setup.place()?;
        let spec = self.setup.child(&place, self.setup.environment(&place))?;
        Ok(call(reactor, spec, Some(self.setup.patience), &mut |_| {})?)
    }
}

/// What is wrong with a call that was not wrong with the unchanged ad; `None`: nothing.
fn signature(setup: &Setup, usual: &[&'static str], case: &Case, outcome: &Outcome) -> Option<String> {
    let judged = verdict(case, outcome, &setup.path, &*setup.world, setup.quirks);
    if let Ending::Ran(ended) = &outcome.ending {
        match ended.exit {
            None => return Some("hangs".to_owned()),
            Some(Exit::Signal { number, .. }) => return Some(format!("dies of signal {number}")),
            Some(_) => {}
        }
    }
    let mut rules: Vec<&str> = find(case, outcome, &judged)
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
