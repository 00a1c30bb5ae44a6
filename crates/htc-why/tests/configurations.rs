//! Slots of random configurations: groups and suggestions, compared with the judgement of every pair.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the size of the sample is part of the result")]

mod random;

use std::collections::BTreeSet;
use std::rc::Rc;

use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_classad::{ClassAd, Context, Dialect};
use htc_slot::{ExecutionPoint, ExitLimits, HostMeasurements, SlotKey, StartdEvent, configure};
use htc_testing::config_of;
use htc_why::matching::{Analysis, JobGrouper, MachineSlots};
use random::{Random, sample_size};

/// Slots of a configuration, and which of them call FETCH_WORK.
struct Machine {
    point: ExecutionPoint,
    keys: Vec<SlotKey>,
    fetching: BTreeSet<u32>,
}

const STARTS: [&str; 6] = [
    "True",
    "TARGET.Owner =!= \"mallory\"",
    "TARGET.RequestMemory >= 100",
    "TARGET.Owner == \"ann\" || TARGET.RequestCpus <= 2",
    "SlotID != 1 && (TARGET.Project is undefined || Memory > 1000)",
    "ifThenElse(TARGET.Owner is undefined, False, TARGET.RequestDisk < 500000)",
];

const ROUNDINGS: [&str; 5] = [
    "quantize(RequestMemory,{128})",
    "quantize(RequestMemory,{TARGET.TotalSlotMemory / 4})",
    "RequestMemory + 100",
    "ifThenElse(RequestMemory < 200, 200, quantize(RequestMemory, {300, 900, 1000}))",
    "quantize(RequestMemory,{1000}) * 2",
];

fn random_machine(random: &mut Random) -> Machine {
    let (fixed, divided) = (random.below(3), 1 + random.below(2));
    let mut text = String::from(
        "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 16\nMEMORY = 8000\n\
         SLOT_TYPE_1 = 12%\nSLOT_TYPE_1_PARTITIONABLE = False\nSLOT_TYPE_2 = 25%\nSLOT_TYPE_2_PARTITIONABLE = True\n",
    );
    text += &format!("NUM_SLOTS_TYPE_1 = {fixed}\nNUM_SLOTS_TYPE_2 = {divided}\n");
    text += &format!("START = {}\n", random.pick(&STARTS));
    if random.below(2) == 0 {
        text += &format!("SLOT_TYPE_2_START = {}\n", random.pick(&STARTS));
    }
    if random.below(3) > 0 {
        text += &format!("MODIFY_REQUEST_EXPR_REQUESTMEMORY = {}\n", random.pick(&ROUNDINGS));
    }
    if random.below(4) == 0 {
        text += "MODIFY_REQUEST_EXPR_REQUESTCPUS = quantize(RequestCpus,{2})\n";
    }
    if random.below(5) == 0 {
        text += "CONSUMPTION_POLICY = True\nCONSUMPTION_MEMORY = quantize(TARGET.RequestMemory,{512})\n";
    }
    let (config, world) = config_of("STARTD", &text);
    let host = HostMeasurements::default();
    let made = configure(&config, &world, &host, QuirkMode::Manual, ExitLimits::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let now = ClockReading::from_epoch(1_800_000_000);
    let mut point = ExecutionPoint::new(made.settings, Rc::new(world), now);
    point.step(now, StartdEvent::Start);
    let keys: Vec<SlotKey> = point.slots().map(|(key, ..)| key).collect();
    let fetching = keys.iter().map(|key| key.number).filter(|_| random.below(2) == 0).collect();
    Machine { point, keys, fetching }
}

fn random_job(random: &mut Random) -> ClassAd {
    let mut text = String::from("[ ");
    if random.below(8) > 0 {
        text += &format!("RequestCpus = {}; ", 1 + random.below(6));
    }
    if random.below(8) > 0 {
        text += &format!(
            "RequestMemory = {}; ",
            random.pick(&["1", "90", "300", "900", "1000", "1500", "2100", "4000"])
        );
    }
    text += &format!("RequestDisk = {}; ", random.pick(&["1", "1000", "200000", "900000"]));
    if random.below(5) > 0 {
        text += &format!("Owner = \"{}\"; ", random.pick(&["ann", "bob", "mallory"]));
    }
    if random.below(4) == 0 {
        text += "Project = 1; ";
    }
    match random.below(5) {
        0 => text += "Requirements = TARGET.Memory >= RequestMemory && TARGET.Cpus >= RequestCpus; ",
        1 => text += "Requirements = TARGET.SlotID == 2; ",
        2 => text += "Requirements = TARGET.HasDocker =?= true || TARGET.PartitionableSlot; ",
        _ => {}
    }
    ClassAd::parse_new((text + "]").as_bytes(), Dialect::new_syntax()).unwrap()
}

impl Machine {
    fn accepts(&self, slot: usize, job: &ClassAd) -> bool {
        let key = self.keys[slot];
        let verdict = self.point.judge_job(key, job).unwrap();
        if self.fetching.contains(&key.number) {
            return verdict.accepted;
        }
        let world = self.point.frozen_world();
        let own = Context::new(&world).my(job).target(self.point.live_ad(key).unwrap());
        verdict.into_claim_verdict().accepted
            && (!job.contains("Requirements") || own.boolean("Requirements") == Some(true))
    }
}

fn analyse<'s>(slots: &'s MachineSlots<'s>, jobs: &[ClassAd]) -> Analysis<'s> {
    let mut grouper = JobGrouper::new(slots);
    jobs.iter().enumerate().for_each(|(at, job)| grouper.add(at.to_string(), job.clone()));
    Analysis::new(slots, grouper)
}

#[test]
fn slots_of_configurations_are_grouped_exactly_and_their_suggestions_hold() {
    let mut random = Random::new(0x51ed_270b_9f12_3c01);
    let (wanted_pairs, wanted) =
        (sample_size("HTC_WHY_PAIRS", 2_000) / 4, sample_size("HTC_WHY_SUGGESTIONS", 40));
    let (mut pairs, mut accepted, mut applied, mut pools) = (0, 0, 0, 0);
    while pools < 40 || pairs < wanted_pairs || applied < wanted {
        pools += 1;
        let machine = random_machine(&mut random);
        let jobs: Vec<ClassAd> = (0..30).map(|_| random_job(&mut random)).collect();
        let slots = MachineSlots::new(&machine.point, &machine.keys, &machine.fetching);
        let analysis = analyse(&slots, &jobs);
        for (at, group) in analysis.job_groups().iter().enumerate() {
            let job = &jobs[group.first.parse::<usize>().unwrap()];
            for (slot_group, members) in analysis.slot_groups().iter().enumerate() {
                for slot in &members.members {
                    let expected = machine.accepts(*slot, job);
                    assert_eq!(analysis.is_accepted(at, slot_group), expected, "pool {pools}: {job:?}");
                    (pairs, accepted) = (pairs + 1, accepted + usize::from(expected));
                }
            }
        }
        let total: usize = (0..machine.keys.len())
            .map(|slot| jobs.iter().filter(|job| machine.accepts(slot, job)).count())
            .sum();
        assert_eq!(analysis.match_count(), total, "pool {pools}");
        for (at, group) in analysis.job_groups().iter().enumerate() {
            let job = &jobs[group.first.parse::<usize>().unwrap()];
            for suggestion in analysis.suggestions(at, 5) {
                let mut changed = job.clone();
                suggestion.apply(&mut changed);
                let all = 0..machine.keys.len();
                let won = all
                    .clone()
                    .filter(|slot| machine.accepts(*slot, &changed) && !machine.accepts(*slot, job));
                let lost =
                    all.filter(|slot| !machine.accepts(*slot, &changed) && machine.accepts(*slot, job));
                assert_eq!(
                    (suggestion.slots_won, suggestion.slots_lost),
                    (won.count(), lost.count()),
                    "pool {pools}: {suggestion}: {job:?}"
                );
                applied += 1;
            }
        }
    }
    assert!(accepted > pairs / 10 && accepted < pairs, "{accepted} of {pairs} pairs");
    println!("{pools} pools, {pairs} pairs, {applied} suggestions applied");
}
