//! Hints about pairs: those of many jobs together are the same as those of each pair alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the size of the sample is part of the result")]

use htc_base::time::ClockReading;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Dialect};
use htc_os::RealWorld;
use htc_why::matching::{AdPool, PairHints};

mod random;

use random::{Random, sample_size};

/// Conditions with mistakes and values that hints explain, and some without.
const CONDITIONS: [&str; 22] = [
    "TARGET.Memory >= RequestMemory",
    "MY.Memory >= RequestMemory",
    "Memory >= MY.RequestMemory",
    "TARGET.RequestMemory <= MY.Memory",
    "TARGET.RequestCpus <= Cpus",
    "TARGET.Cpus >= RequestCpus",
    "TARGET.Arch =?= \"x86_64\"",
    "TARGET.Arch == X86_64",
    "TARGET.HasDoker",
    "Projekt == \"atlas\"",
    "TARGET.Project =?= \"Atlas\"",
    "ClockMin > 1080",
    "IsNight",
    "ClockDay == 6 || TARGET.Small",
    "CurrentTime - TARGET.QDate < 3600",
    "versionGE(split(TARGET.CondorVersion)[1], \"25.15\")",
    "TARGET.CondorVersion >= \"$CondorVersion: 25.0.0\"",
    "ifThenElse(TARGET.RequestGPUs =!= undefined, TARGET.RequestGPUs <= MY.GPUs, TARGET.RequestCpus <= MY.Cpus)",
    "TARGET.FileSystemDomain == MY.FileSystemDomain",
    "!isUndefined(TARGET.Project)",
    "RequestMemory =?= \"100\"",
    "true",
];

const VALUES: [(&str, &[&str]); 14] = [
    ("Memory", &["1000", "2000.5", "\"text\""]),
    ("Cpus", &["1", "4"]),
    ("RequestMemory", &["500", "5000", "\"4 GB\"", "undefined", "ImageSize / 1024"]),
    ("RequestCpus", &["1", "8"]),
    ("RequestGPUs", &["1"]),
    ("GPUs", &["0", "2"]),
    ("Arch", &["\"X86_64\"", "\"ARM\""]),
    ("Project", &["\"atlas\"", "\"Atlas\""]),
    ("HasDocker", &["true", "false"]),
    ("ClockMin", &["600", "1200"]),
    ("ClockDay", &["1", "6"]),
    ("IsNight", &["ClockMin > 1080", "false"]),
    ("FileSystemDomain", &["\"a\"", "\"b\""]),
    ("ShouldTransferFiles", &["\"YES\"", "\"NO\""]),
];

fn random_ad(random: &mut Random, more: &str) -> ClassAd {
    let mut text = format!("[ CondorVersion = \"$CondorVersion: 25.14.0 2026-01-01 $\"; {more} ");
    for (name, values) in VALUES {
        if random.below(2) == 0 {
            text += &format!("{name} = {}; ", random.pick(values));
        }
    }
    let clauses: Vec<&str> = (0..1 + random.below(3)).map(|_| random.pick(&CONDITIONS)).collect();
    text += &format!("Start = ({}); Requirements = START; ]", clauses.join(") && ("));
    ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn hints_about_many_pairs_are_those_of_each_pair() {
    let mut random = Random::new(20_261_130);
    let real = RealWorld::new();
    let world = FrozenClockWorld { world: &real, now: ClockReading::from_epoch(1_798_200_000) };
    let wanted = sample_size("HTC_HINT_PAIRS", 2000);
    let (mut pairs, mut hints) = (0, 0);
    while pairs < wanted {
        let divided = "PartitionableSlot = true; TotalSlotCpus = 8; TotalSlotMemory = 9000;";
        let slots: Vec<(String, ClassAd)> = (0..8)
            .map(|at| {
                (format!("slot1@n{at}"), random_ad(&mut random, if at % 4 == 0 { divided } else { "" }))
            })
            .collect();
        let jobs: Vec<ClassAd> = (0..12).map(|_| random_ad(&mut random, "")).collect();
        let pool = AdPool::new(slots, &world);
        let mut together = PairHints::new(&pool, &jobs);
        for (number, job) in jobs.iter().enumerate() {
            let mut alone = PairHints::new(&pool, std::slice::from_ref(job));
            for slot in 0..8 {
                let expected = alone.hints_for_pair(0, slot);
                assert_eq!(together.hints_for_pair(number, slot), expected, "{job} {slot}");
                (pairs, hints) = (pairs + 1, hints + expected.len());
            }
        }
    }
    assert!(hints > pairs / 2, "{hints} hints about {pairs} pairs");
    println!("{hints} hints about {pairs} pairs");
}
