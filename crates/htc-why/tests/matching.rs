//! Groups, counts and suggestions, compared with the evaluation of every pair of a job and a slot.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use htc_classad::{ClassAd, Context, Dialect, Expr, MatchAd};
use htc_os::RealWorld;
use htc_why::matching::{AdPool, Analysis, JobGrouper, SlotSet};

/// Random numbers (xorshift), the same in every run.
struct Random {
    state: u64,
    /// True if expressions may read attributes that they do not name.
    reads_any: bool,
}

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const NAMES: [&str; 9] =
    ["Memory", "RequestMemory", "Cpus", "RequestCpus", "Arch", "HasDocker", "Small", "Big", "Project"];
const LITERALS: [&str; 13] = [
    "1",
    "2",
    "4",
    "1.5",
    "2.0",
    "0",
    "\"X86_64\"",
    "\"arm\"",
    "\"ARM\"",
    "true",
    "false",
    "undefined",
    "error",
];

fn reference(random: &mut Random) -> String {
    format!("{}{}", random.pick(&["", "MY.", "TARGET.", "TARGET."]), random.pick(&NAMES))
}

fn operand(random: &mut Random) -> String {
    match random.below(10) {
        0..6 => reference(random),
        6..9 => random.pick(&LITERALS).to_owned(),
        _ => format!("({} * {})", reference(random), random.pick(&["1", "2", "1.1"])),
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match random.below(5) {
            0 => reference(random),
            _ => {
                let operator = random.pick(&["==", "!=", "<", "<=", ">", ">=", "=?=", "=!="]);
                format!("{} {operator} {}", operand(random), operand(random))
            }
        };
    }
    let [one, two, three] = [(); 3].map(|()| condition(random, depth - 1));
    match random.below(14) {
        0..6 => format!("{one} && {two}"),
        6..8 => format!("({one} || {two})"),
        8 => format!("!({one})"),
        9 => format!("ifThenElse({one}, {two}, {three})"),
        10 if random.reads_any => format!("eval(\"{}\")", random.pick(&NAMES)),
        11 if random.reads_any => format!("MY[\"{}\"] == {}", random.pick(&NAMES), random.pick(&LITERALS)),
        12 => format!("isUndefined({})", reference(random)),
        _ => one,
    }
}

fn random_ad(random: &mut Random, is_slot: bool) -> ClassAd {
    let mut text = String::from("[ ");
    for name in NAMES {
        if random.below(3) > 0 {
            let value = match (name, random.below(8)) {
                ("Small" | "Big", _) => condition(random, 1),
                (_, 0) => operand(random),
                _ => random.pick(&LITERALS).to_owned(),
            };
            text += &format!("{name} = {value}; ");
        }
    }
    // Nothing reads it, so it does not separate groups.
    text += &format!("Number = {}; ", random.below(1000));
    if is_slot {
        let depth = random.below(3);
        text += &format!("Start = {}; ", condition(random, depth));
        let requirements = ["START", "START && Small", "MY.Start && (TARGET.RequestMemory <= MY.Memory)"];
        if random.below(12) > 0 {
            text += &format!("Requirements = {}; ", random.pick(&requirements));
        }
    } else if random.below(4) > 0 {
        let depth = random.below(3);
        text += &format!("Requirements = {}; ", condition(random, depth));
    }
    text += "]";
    ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Decision about one pair, by the rules alone.
fn is_match(world: &RealWorld, slot: &ClassAd, job: &ClassAd) -> bool {
    let context = Context::new(world);
    context.my(slot).target(job).boolean("Requirements") == Some(true)
        && (!job.contains("Requirements")
            || context.my(job).target(slot).boolean("Requirements") == Some(true))
}

/// Ads of which some are repeated with another number.
fn random_ads(random: &mut Random, count: usize, is_slot: bool) -> Vec<ClassAd> {
    let mut ads: Vec<ClassAd> = Vec::new();
    while ads.len() < count {
        let mut ad = match ads.len() {
            0 => random_ad(random, is_slot),
            known if random.below(3) == 0 => ads[random.below(known)].clone(),
            _ => random_ad(random, is_slot),
        };
        ad.set("Number", random.below(1000) as i64);
        ads.push(ad);
    }
    ads
}

fn analyse<'s>(pool: &'s AdPool<'s>, jobs: &[ClassAd]) -> Analysis<'s> {
    let mut grouper = JobGrouper::new(pool);
    jobs.iter().enumerate().for_each(|(at, job)| grouper.add(at.to_string(), job.clone()));
    Analysis::new(pool, grouper)
}

#[test]
fn groups_decide_every_pair_as_its_evaluation_does() {
    let mut random = Random { state: 0x9e37_79b9_7f4a_7c15, reads_any: false };
    let world = RealWorld::new();
    let (mut matches, mut pairs, mut grouped) = (0, 0, 0);
    for case in 0..120 {
        random.reads_any = case % 6 == 0;
        let slots = random_ads(&mut random, 12, true);
        let jobs = random_ads(&mut random, 12, false);
        let named = slots.iter().enumerate().map(|(at, ad)| (format!("slot{at}"), ad.clone()));
        let pool = AdPool::new(named.collect(), &world);
        let analysis = analyse(&pool, &jobs);
        // The groups of jobs, one job at a time: the group of a job is the one that it joins.
        let counts: usize = analysis.job_groups().iter().map(|group| group.count).sum();
        assert_eq!((counts, analysis.slot_count()), (jobs.len(), slots.len()));
        grouped += (jobs.len() - analysis.job_groups().len()) + (slots.len() - analysis.slot_groups().len());
        let mut accepted_by_slot = vec![0; slots.len()];
        let mut accepting_by_job = Vec::new();
        for job in &jobs {
            let decisions: Vec<bool> = slots.iter().map(|slot| is_match(&world, slot, job)).collect();
            for (at, is_match) in decisions.iter().enumerate() {
                accepted_by_slot[at] += usize::from(*is_match);
                assert_eq!(pool.accepts(at, job), *is_match, "case {case}: slot{at}");
                matches += usize::from(*is_match);
                pairs += 1;
            }
            accepting_by_job.push(decisions.into_iter().filter(|is_match| *is_match).count());
        }
        for group in analysis.slot_groups() {
            for slot in &group.members {
                assert_eq!(group.accepted_jobs, accepted_by_slot[*slot], "case {case}: slot{slot}");
            }
        }
        for group in analysis.job_groups() {
            let first: usize = group.first.parse().unwrap();
            assert_eq!(group.accepting_slots, accepting_by_job[first], "case {case}: job {first}");
        }
        let weighted: usize =
            analysis.job_groups().iter().map(|group| group.count * group.accepting_slots).sum();
        assert_eq!(weighted, accepting_by_job.iter().sum::<usize>(), "case {case}");
        check_counts(&analysis, &slots, &jobs);
    }
    assert!(
        matches > pairs / 100 && grouped > 300,
        "{matches} of {pairs} pairs match, {grouped} ads grouped"
    );
}

/// Compares counts of causes with the clauses evaluated for each slot.
fn check_counts(analysis: &Analysis<'_>, slots: &[ClassAd], jobs: &[ClassAd]) {
    let world = RealWorld::new();
    for (at, group) in analysis.job_groups().iter().enumerate() {
        let job = &jobs[group.first.parse::<usize>().unwrap()];
        let causes = analysis.causes(at);
        let refused: usize = slots.iter().filter(|slot| !is_match(&world, slot, job)).count();
        assert_eq!(refused, slots.len() - group.accepting_slots);
        assert!(causes.iter().map(|cause| cause.alone).sum::<usize>() <= refused);
        assert!(causes.iter().all(|cause| cause.refuses >= cause.alone && cause.refuses <= refused));
        assert!(refused == 0 || !causes.is_empty());
        for cause in causes.iter().filter(|cause| cause.attribute.eq_ignore_ascii_case("Requirements")) {
            let expr = Expr::parse_with(cause.clause.as_bytes(), Dialect::old_syntax()).unwrap();
            if cause.side == htc_why::matching::ClauseSide::Job {
                let untrue =
                    slots.iter().filter(|slot| !Context::new(&world).my(job).target(slot).holds(&expr));
                assert_eq!(cause.refuses, untrue.count(), "{}", cause.clause);
            }
        }
    }
}

#[test]
fn each_suggestion_wins_exactly_the_slots_that_it_promises() {
    let mut random = Random { state: 0x1234_5678_9abc_def1, reads_any: true };
    let world = RealWorld::new();
    let mut checked = 0;
    for case in 0..40 {
        let slots = random_ads(&mut random, 10, true);
        let jobs = random_ads(&mut random, 4, false);
        let named = slots.iter().enumerate().map(|(at, ad)| (format!("slot{at}"), ad.clone()));
        let pool = AdPool::new(named.collect(), &world);
        let analysis = analyse(&pool, &jobs);
        for (at, group) in analysis.job_groups().iter().enumerate() {
            let job = &jobs[group.first.parse::<usize>().unwrap()];
            for suggestion in analysis.suggestions(at, 10) {
                let mut changed = job.clone();
                suggestion.apply(&mut changed);
                let gained = slots
                    .iter()
                    .filter(|slot| is_match(&world, slot, &changed) && !is_match(&world, slot, job));
                let lost = slots
                    .iter()
                    .filter(|slot| !is_match(&world, slot, &changed) && is_match(&world, slot, job));
                assert_eq!(
                    (suggestion.slots_won, suggestion.slots_lost),
                    (gained.count(), lost.count()),
                    "case {case}: {suggestion}\n{job:?}"
                );
                assert!(suggestion.slots_won > 0);
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked} suggestions");
}

#[test]
fn the_symmetric_match_of_two_ads_needs_both_requirements() {
    let mut random = Random { state: 0x0dd0_51ed_1234_9876, reads_any: true };
    let world = RealWorld::new();
    for case in 0..40 {
        random.reads_any = case % 4 == 0;
        let slots = random_ads(&mut random, 10, true);
        let jobs = random_ads(&mut random, 10, false);
        let named = slots.iter().map(|ad| (String::new(), ad.clone()));
        let pool = AdPool::new(named.collect(), &world).symmetric();
        let matches =
            |job: &ClassAd| slots.iter().filter(|slot| MatchAd::new(&world, job, slot).symmetric()).count();
        assert_eq!(
            analyse(&pool, &jobs).match_count(),
            jobs.iter().map(matches).sum::<usize>(),
            "case {case}"
        );
    }
}

fn ad(text: &str) -> ClassAd {
    ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap()
}

/// Returns the sentences of the causes, and the suggestions, for one job.
fn explain(slots: &[(&str, usize)], job: &str) -> (Vec<String>, Vec<String>) {
    let world = RealWorld::new();
    let mut named = Vec::new();
    for (text, count) in slots {
        (0..*count).for_each(|_| named.push((format!("slot{}", named.len() + 1), ad(text))));
    }
    let pool = AdPool::new(named, &world);
    let analysis = analyse(&pool, &[ad(job)]);
    let causes = analysis.causes(0).into_iter().map(|cause| cause.sentence).collect();
    (causes, analysis.suggestions(0, 5).iter().map(ToString::to_string).collect())
}

#[test]
fn reasons_are_sentences_with_the_values_of_both_sides() {
    let limits = "Requirements = START && WithinResourceLimits;
        WithinResourceLimits = ifThenElse(TARGET._cp isnt undefined, false,
            MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus) && TARGET.RequestMemory <= MY.Memory";
    let slot = |memory: u32, more: &str| {
        format!("[ Cpus = 4; Memory = {memory}; Arch = \"X86_64\"; START = true; {limits}; {more} ]")
    };
    let (small, large) = (slot(2000, ""), slot(7800, "HasDocker = true"));
    let job = "[ RequestMemory = 8192; RequestCpus = 1 ]";
    let (causes, changes) = explain(&[(&small, 3), (&large, 2)], job);
    assert_eq!(
        causes,
        ["TARGET.RequestMemory <= MY.Memory is not true: the slots have 2000 to 7800, the job asks for 8192"]
    );
    assert_eq!(
        changes,
        [
            "RequestMemory 2000 instead of 8192: 5 more slots",
            "RequestMemory 7800 instead of 8192: 2 more slots"
        ]
    );
    let job =
        "[ RequestMemory = 10; RequestCpus = 8; Requirements = TARGET.HasDocker && TARGET.Arch == \"ARM\" ]";
    let (causes, changes) = explain(&[(&small, 3), (&large, 2)], job);
    assert_eq!(
        causes,
        [
            "TARGET.RequestCpus <= MY.Cpus is not true: the slots have 4, the job asks for 8",
            "TARGET.Arch == \"ARM\" is not true: the slots have \"X86_64\"",
            "HasDocker is not there; 2 of 5 slots have it",
        ]
    );
    assert_eq!(
        changes,
        [
            "RequestCpus 4 instead of 8 and without TARGET.Arch == \"ARM\": 2 more slots",
            "RequestCpus 4 instead of 8 and TARGET.Arch == \"X86_64\" instead of TARGET.Arch == \"ARM\": 2 more slots"
        ]
    );
    let job = "[ RequestMemory = 10; RequestCpus = 1; Requirements = TARGET.HasDocker ]";
    let (_, changes) = explain(&[(&small, 3), (&large, 2)], job);
    assert_eq!(changes, ["without TARGET.HasDocker: 3 more slots"]);
    // Both sides state the same condition, so that it counts as one.
    let job = "[ RequestMemory = 8000; RequestCpus = 1; Requirements = TARGET.Memory >= RequestMemory ]";
    let (causes, changes) = explain(&[(&large, 2)], job);
    assert_eq!(causes.len(), 1);
    assert_eq!(changes, ["RequestMemory 7800 instead of 8000: 2 more slots"]);
    let job = "[ RequestMemory = 8000; RequestCpus = 6 ]";
    let (_, changes) = explain(&[(&large, 2)], job);
    assert_eq!(changes, ["RequestCpus 4 instead of 6 and RequestMemory 7800 instead of 8000: 2 more slots"]);
}

#[test]
fn the_other_direction_counts_jobs() {
    let world = RealWorld::new();
    let slot = ad(
        "[ Memory = 2000; Start = TARGET.Project == \"x\"; Requirements = START && TARGET.RequestMemory <= Memory ]",
    );
    let pool = AdPool::new(vec![("slot1".into(), slot)], &world);
    let jobs = [
        ad("[ RequestMemory = 1; Project = \"x\" ]"),
        ad("[ RequestMemory = 1; Project = \"y\" ]"),
        ad("[ RequestMemory = 1; Project = \"y\" ]"),
        ad("[ RequestMemory = 9000; Project = \"y\" ]"),
    ];
    let view = analyse(&pool, &jobs).slot_view(0);
    assert_eq!((view.accepted_jobs, &view.accepted[..]), (1, &[("0".to_owned(), 1)][..]));
    let counts: Vec<_> =
        view.causes.iter().map(|cause| (&*cause.attribute, cause.refuses, cause.alone)).collect();
    assert_eq!(counts, [("START", 3, 2), ("Requirements", 1, 0)]);
}
