//! Groups, counts and suggestions, compared with the evaluation of every pair of a job and a slot.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the size of the sample is part of the result")]

use htc_classad::format::long;
use htc_classad::stream::{AdForm, AdReader, AdRecord, Projection};
use htc_classad::{AttrName, ClassAd, Context, Dialect, Expr, MatchAd};
use htc_os::RealWorld;
use htc_why::matching::{AdPool, Analysis, JobCounter, JobGrouper, JobPlace, SlotSet, ThreadedJobGrouper};

mod random;

use random::{Random, sample_size};

const NAMES: [&str; 9] =
    ["Memory", "RequestMemory", "Cpus", "RequestCpus", "Arch", "HasDocker", "Small", "Big", "Project"];
const LITERALS: [&str; 15] = [
    "1",
    "2",
    "4",
    "1.5",
    "2.0",
    "0",
    "1E-17",
    "3E-17",
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

/// Returns the decision about one pair, by the rules alone: both sides' Requirements, and the job that a
/// claimed slot runs.
fn is_match(world: &RealWorld, slot: &ClassAd, job: &ClassAd) -> bool {
    let context = Context::new(world);
    let of_slot = context.my(slot).target(job);
    let is_claimed = slot.string("State").is_some_and(|state| state == "Claimed");
    let prefers = || of_slot.real("Rank") > of_slot.real("CurrentRank");
    of_slot.boolean("Requirements") == Some(true)
        && (!job.contains("Requirements")
            || context.my(job).target(slot).boolean("Requirements") == Some(true))
        && (!is_claimed || of_slot.real("Rank").is_some() && prefers())
}

/// Adds a state, and a rank of jobs, to some slots.
fn add_claims(random: &mut Random, slots: &mut [ClassAd]) {
    for slot in slots {
        slot.set("State", random.pick(&["Unclaimed", "Claimed"]));
        slot.set("CurrentRank", random.below(3) as f64);
        let rank = random.pick(&["RequestMemory", "TARGET.RequestCpus * 2", "0", "Project == \"arm\""]);
        slot.insert("Rank", Expr::parse(rank).unwrap());
    }
}

/// Returns ads of which some are repeated with another number.
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

/// Analyses jobs that three threads add, in an order of which each thread sees a part. They are read as from a file.
fn analyse_by_threads<'s>(pool: &'s AdPool<'s>, jobs: &[ClassAd], random: &mut Random) -> Analysis<'s> {
    let mut grouper = JobGrouper::new(pool);
    let shared = ThreadedJobGrouper::new(&mut grouper, &["ProcId", "Number"]);
    let mut starts = vec![0];
    let new_reader = |_| (shared.counter(), Projection::with_prefixes(JobCounter::PREFIXES));
    let mut readers: Vec<_> = (0..3).map(new_reader).collect();
    for (batch, jobs) in jobs.chunks(2).enumerate() {
        let (counter, projection) = &mut readers[random.below(3)];
        if random.below(2) == 0 {
            counter.update_names();
        }
        for (index, job) in jobs.iter().enumerate() {
            let place = JobPlace { batch: batch as u64, index: index as u64 };
            let mut record = AdRecord::default();
            let names: Option<Vec<AttrName>> = counter.names().map(|names| names.cloned().collect());
            if let Some(names) = names {
                names.into_iter().for_each(|name| projection.add(name));
                let text = long::print(job);
                let mut reader = AdReader::new(&text[..], Some(AdForm::Long));
                assert!(reader.next_projected(projection, &mut record).unwrap());
                if counter.count(&mut record.ad, place) {
                    continue;
                }
            }
            counter.add(job.clone(), place);
        }
        starts.push(starts[batch] + jobs.len() as u64);
    }
    drop(readers);
    let first = jobs.iter().map(|job| job.literal("Number")).collect::<Vec<_>>();
    shared.finish(&starts, &|job: &ClassAd, number: u64| {
        let at = number as usize - 1;
        assert_eq!(job.literal("Number"), first[at], "the label of job {at}");
        at.to_string()
    });
    Analysis::new(pool, grouper)
}

#[test]
fn groups_decide_every_pair_as_its_evaluation_does() {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let world = RealWorld::new();
    let (mut matches, mut pairs, mut grouped) = (0, 0, 0);
    let wanted = sample_size("HTC_WHY_PAIRS", 17_000);
    for case in 0.. {
        if pairs >= wanted {
            break;
        }
        random.reads_any = case % 6 == 0;
        let mut slots = random_ads(&mut random, 12, true);
        if case % 3 == 0 {
            add_claims(&mut random, &mut slots);
        }
        let jobs = random_ads(&mut random, 12, false);
        let named = slots.iter().enumerate().map(|(at, ad)| (format!("slot{at}"), ad.clone()));
        let pool = AdPool::new(named.collect(), &world).with_claims();
        let analysis = analyse(&pool, &jobs);
        let by_threads = analyse_by_threads(&pool, &jobs, &mut random);
        assert_eq!(analysis.job_groups(), by_threads.job_groups(), "case {case}");
        assert_eq!(analysis.slot_groups(), by_threads.slot_groups(), "case {case}");
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
        for (at, group) in analysis.job_groups().iter().enumerate() {
            let job = &jobs[group.first.parse::<usize>().unwrap()];
            for (slot_group, members) in analysis.slot_groups().iter().enumerate() {
                for slot in &members.members {
                    let expected = is_match(&world, &slots[*slot], job);
                    let text = || format!("case {case}: {:?}\n{job:?}", slots[*slot]);
                    assert_eq!(analysis.is_accepted(at, slot_group), expected, "{}", text());
                }
            }
        }
        for group in analysis.slot_groups() {
            for slot in &group.members {
                let accepted = accepted_by_slot[*slot];
                assert_eq!(group.accepted_jobs, accepted, "case {case}: slot{slot}: {:?}", slots[*slot]);
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
        matches > pairs / 100 && grouped > pairs / 60,
        "{matches} of {pairs} pairs match, {grouped} ads grouped"
    );
}

/// Regression test: the sentence began with the catalogs and was cut before it named the request, and nothing was suggested.
#[test]
fn a_term_that_is_zero_for_the_job_is_left_out_of_the_sentence() {
    let world = RealWorld::new();
    let ad = |text: &str| ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap();
    let slot = ad("[ Disk = 4000; MappingMethod = \"Hardlink\"; Requirements = WithinResourceLimits; \
         WithinResourceLimits = (TARGET.RequestDisk - ifThenElse((MappingMethod ?: \"\") != \"Copy\", \
         ifThenElse(RequestedCatalogs =?= undefined || catalogs =?= undefined, 0, CatalogSize), 0)) <= MY.Disk ]");
    let pool = AdPool::new(vec![("slot".to_owned(), slot)], &world);
    let analysis = analyse(&pool, &[ad("[ RequestDisk = 9000 ]"), ad("[ Owner = \"ann\" ]")]);
    assert_eq!(
        analysis.causes(0)[0].sentence,
        "TARGET.RequestDisk <= MY.Disk is not true: the slot has 4000 KiB, the job asks for 9000 KiB"
    );
    assert_eq!(analysis.suggestions(0, 3)[0].to_string(), "RequestDisk 4000 instead of 9000: 1 more slot");
    assert_eq!(
        analysis.causes(1)[0].sentence,
        "TARGET.RequestDisk <= MY.Disk is not true: the slot has 4000 KiB, the job has no RequestDisk; \
         condor_submit sets RequestDisk = 1048576 by default (JOB_DEFAULT_REQUESTDISK)"
    );
    // Of several values for a missing request, only the one that gains most slots is suggested.
    let slots = [100, 5_000_000].map(|disk| {
        let slot = ad(&format!("[ Disk = {disk}; Requirements = TARGET.RequestDisk <= MY.Disk ]"));
        (format!("slot{disk}"), slot)
    });
    let two = AdPool::new(slots.to_vec(), &world);
    let analysis = analyse(&two, &[ad("[ Owner = \"ann\" ]")]);
    let suggestions: Vec<String> = analysis.suggestions(0, 3).iter().map(ToString::to_string).collect();
    assert_eq!(suggestions, ["with RequestDisk = 100: 2 more slots"]);
    // The term is not zero for a job that uses catalogs.
    let catalogs = ad("[ RequestDisk = 9000; RequestedCatalogs = \"a\"; catalogs = \"a\"; CatalogSize = 1 ]");
    let analysis = analyse(&pool, &[catalogs]);
    assert!(analysis.causes(0)[0].sentence.contains("CatalogSize"), "{}", analysis.causes(0)[0].sentence);
}

/// Real numbers that are equal by `SameAs`, or that print alike with 16 digits.
#[test]
fn close_real_numbers_separate_groups() {
    let world = RealWorld::new();
    for [small, large] in [["1E-17", "3E-17"], ["0.3", "0.30000000000000004"]] {
        let slot = ClassAd::parse_new(
            format!("[ Load = {large}; Requirements = true ]").as_bytes(),
            Dialect::new_syntax(),
        );
        let pool = AdPool::new(vec![("slot".to_owned(), slot.unwrap())], &world);
        let job = |condition: &str| {
            let text = format!("[ Requirements = {condition}; Number = 1 ]");
            ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap()
        };
        let (willing, other) =
            (job(&format!("TARGET.Load > {small}")), job(&format!("TARGET.Load > {large}")));
        let jobs: Vec<ClassAd> =
            (0..12).map(|at| if at % 2 == 0 { willing.clone() } else { other.clone() }).collect();
        let analysis = analyse(&pool, &jobs);
        let counts = |analysis: &Analysis<'_>| {
            let groups = analysis.job_groups();
            groups.iter().map(|group| [group.count, group.accepting_slots]).collect::<Vec<_>>()
        };
        assert_eq!(counts(&analysis), [[6, 1], [6, 0]], "{small} {large}");
        let mut grouper = JobGrouper::new(&pool);
        let shared = ThreadedJobGrouper::new(&mut grouper, &["Number"]);
        let mut counter = shared.counter();
        for (index, job) in (0..).zip(&jobs) {
            let place = JobPlace { batch: 0, index };
            if !counter.count(&mut job.clone(), place) {
                counter.add(job.clone(), place);
            }
        }
        drop(counter);
        shared.finish(&[0, 12], &|_, number| number.to_string());
        assert_eq!(counts(&Analysis::new(&pool, grouper)), [[6, 1], [6, 0]], "{small} {large} by threads");
        // Both comparisons in one job: two clauses, though they print alike.
        let both = job(&format!("TARGET.Load > {small} && TARGET.Load > {large}"));
        assert_eq!(counts(&analyse(&pool, &[both])), [[1, 0]], "{small} {large}");
    }
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
fn each_suggestion_yields_exactly_the_promised_slots() {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    random.reads_any = true;
    let world = RealWorld::new();
    let mut checked = 0;
    let wanted = sample_size("HTC_WHY_SUGGESTIONS", 60);
    for case in 0.. {
        if case >= 40 && checked >= wanted {
            break;
        }
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
    println!("{checked} suggestions applied");
}

#[test]
fn the_symmetric_match_of_two_ads_needs_both_requirements() {
    let mut random = Random::new(0x0dd0_51ed_1234_9876);
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
        [
            "TARGET.RequestMemory <= MY.Memory is not true: the slots have 2000 to 7800 MiB, the job asks for 8192 MiB"
        ]
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
            "HasDocker is missing; 2 of 5 slots have it (slot4, slot5)",
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
    // Both sides state the same condition, so it is reported once.
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

#[test]
fn a_claimed_slot_keeps_its_job_unless_it_ranks_the_new_one_higher() {
    let world = RealWorld::new();
    let slot = ad(
        "[ State = \"Claimed\"; RemoteUser = \"bob@x\"; Rank = TARGET.Prio; CurrentRank = 5.0; Requirements = true ]",
    );
    let pool = AdPool::new(vec![("slot1".into(), slot)], &world).with_claims();
    let analysis = analyse(&pool, &[ad("[ Prio = 5 ]"), ad("[ Prio = 6 ]"), ad("[ A = 1 ]")]);
    let accepting: Vec<_> = analysis.job_groups().iter().map(|group| group.accepting_slots).collect();
    assert_eq!(accepting, [0, 1, 0]);
    let cause = &analysis.causes(0)[0];
    assert_eq!((&*cause.attribute, &*cause.clause), ("Rank", "Rank > CurrentRank"));
    assert_eq!(
        cause.sentence,
        "claimed: the slot's Rank of this job is 5, not higher than 5, that of the job it runs"
    );
}

#[test]
fn a_start_that_is_false_because_slots_drain_says_so() {
    let (free, drains) = (
        "[ START = true; Requirements = START ]",
        "[ START = false; Draining = true; Requirements = START ]",
    );
    assert_eq!(explain(&[(drains, 2)], "[ ]").0, ["START is false: the slots are draining"]);
    assert_eq!(explain(&[(free, 3), (drains, 1)], "[ ]").0, ["START is false: the slot is draining"]);
}

#[test]
fn a_demand_that_no_slot_meets_is_named() {
    let world = RealWorld::new();
    let slot = ad("[ Arch = \"X86_64\"; Memory = 4000; Requirements = true ]");
    let pool = AdPool::new(vec![("slot1".into(), slot)], &world);
    let job = "[ RequestMemory = 1; Requirements = TARGET.Arch == \"ARM\" && 64000 <= TARGET.Memory && TARGET.Cpus > 1 ]";
    let analysis = analyse(&pool, &[ad(job)]);
    assert_eq!(analysis.impossible_demands(0), ["no slot has Arch = \"ARM\"", "no slot has Memory >= 64000"]);
    let row = analysis.explain_jobs(0);
    assert_eq!((row.jobs, row.accepting_slots, row.impossible.len()), (1, 0, 2));
    // A name that the job has, too, is that of the job.
    let analysis = analyse(&pool, &[ad("[ Memory = 500; Requirements = Memory >= 2000 ]")]);
    assert_eq!(
        analysis.impossible_demands(0),
        ["Memory is the job's own attribute; TARGET.Memory is that of the slot"]
    );
}

/// A change of one condition that makes the job run comes before changes of two that gain more slots, and the smallest change
/// of the attribute is among the first.
#[test]
fn one_change_is_suggested_before_two() {
    let slot = |memory: u32, version: u32| {
        format!(
            "[ Memory = {memory}; Version = {version}; Requirements = TARGET.RequestMemory <= MY.Memory ]"
        )
    };
    let slots: Vec<String> = [(8, 9), (16, 9), (32, 9), (64, 9), (8, 8), (16, 8), (32, 8)]
        .map(|(memory, version)| slot(memory * 1000, version))
        .into();
    let counts = [4, 3, 2, 1, 20, 10, 5];
    let slots: Vec<(&str, usize)> = slots.iter().map(String::as_str).zip(counts).collect();
    let (_, changes) = explain(&slots, "[ RequestMemory = 100000; Requirements = TARGET.Version >= 9 ]");
    assert_eq!(changes[0], "RequestMemory 8000 instead of 100000: 10 more slots", "{changes:?}");
    assert_eq!(changes[1], "RequestMemory 64000 instead of 100000: 1 more slot", "{changes:?}");
    assert!(changes[2..].iter().any(|change| change.contains(" and ")), "{changes:?}");
}
