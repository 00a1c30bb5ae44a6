//! Campaigns: all calls of a workload fail once with their most likely errno; other errnos and signals are sampled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::fault::{Fault, Scope, likely_errno, sampled_effect};
use crate::strace::{CallCount, count_calls, run_with_fault};
use crate::workload::{Workload, remove_cgroup_base};

/// Number of faults in each workload if no time is given.
const SAMPLE: usize = 12;
/// A long campaign samples one fault after each group of this size, so that slow machines also try signals and other errnos.
const SAMPLED_EACH: usize = 4;
/// Limit of a sample, which takes a few seconds.
const LONGEST_SAMPLE: Duration = Duration::from_secs(120);

/// Extent of a campaign.
pub(crate) struct Extent {
    pub(crate) seed: u64,
    /// Time after which no further fault is injected.
    pub(crate) time: Duration,
    /// Maximum number of faults.
    pub(crate) faults: usize,
}

impl Extent {
    /// Reads INJECT_SEED [default: 1] and INJECT_SECONDS. Without a time the number of faults is fixed, so that a slow
    /// machine tries the same faults as a fast one.
    pub(crate) fn read() -> Extent {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        Extent {
            seed: number("INJECT_SEED").unwrap_or(1),
            time: number("INJECT_SECONDS").map_or(LONGEST_SAMPLE, Duration::from_secs),
            faults: if number("INJECT_SECONDS").is_some() { usize::MAX } else { SAMPLE },
        }
    }
}

/// Results of a campaign.
#[derive(Default)]
struct Tally {
    likely: usize,
    injected_likely: usize,
    injected_sampled: usize,
    missed: usize,
    statuses: BTreeMap<i32, usize>,
    failures: Vec<String>,
}

/// Runs a campaign and prints its results.
///
/// # Panics
/// The contract was violated.
pub(crate) fn run(workload: &dyn Workload, extent: &Extent) {
    if let Ok(text) = std::env::var("INJECT_FAULT") {
        return run_one(workload, &text);
    }
    let begin = Instant::now();
    let mut dice = Dice(extent.seed);
    let counts = baseline(workload);
    let mut likely: Vec<Fault> =
        counts.iter().flat_map(|((scope, call), count)| likely_faults(*scope, call, *count)).collect();
    shuffle(&mut likely, &mut dice);
    let mut tally = Tally { likely: likely.len(), ..Tally::default() };
    let keys: Vec<&(Scope, String)> = counts.keys().collect();
    let (mut left, mut tried) = (likely.iter(), 0);
    while begin.elapsed() < extent.time && tried < extent.faults {
        tried += 1;
        let is_sampled = extent.faults == usize::MAX && tried % SAMPLED_EACH == 0;
        if let Some(fault) = (!is_sampled).then(|| left.next()).flatten() {
            try_fault(workload, fault, &mut dice, &mut tally, true);
            continue;
        }
        let (scope, call) = keys[dice.next(keys.len() as u64) as usize].clone();
        let most = counts[&(scope, call.clone())].most as u64;
        let number = dice.next(most) as usize + 1;
        let effect = sampled_effect(&call, &mut dice);
        let fault = Fault { call, number, effect, scope };
        try_fault(workload, &fault, &mut dice, &mut tally, false);
    }
    remove_cgroup_base();
    println!(
        "{}: seed {}: {} of {} calls failed once, {} sampled errnos and signals, {} not reached; statuses {:?}; {} violations",
        workload.name(),
        extent.seed,
        tally.injected_likely,
        tally.likely,
        tally.injected_sampled,
        tally.missed,
        tally.statuses,
        tally.failures.len()
    );
    assert!(tally.failures.is_empty(), "{}", tally.failures.join("\n"));
}

/// Counts the calls of a run without faults, which fulfils the contract.
fn baseline(workload: &dyn Workload) -> BTreeMap<(Scope, String), CallCount> {
    let scopes = if workload.has_helpers() { vec![Scope::Program, Scope::All] } else { vec![Scope::Program] };
    let mut all = BTreeMap::new();
    for scope in scopes {
        let home = tempfile::tempdir().unwrap();
        workload.prepare(home.path());
        let (run, counts) = count_calls(&workload.command(home.path(), false), home.path(), scope);
        let violations = workload.judge(home.path(), &run, false);
        assert!(violations.is_empty() && run.code() == 0, "{}: {violations:?}: {}", run.code(), run.stderr);
        let counts = counts.into_iter().filter(|(call, _)| likely_errno(call).is_some());
        all.extend(counts.map(|(call, count)| ((scope, call), count)));
    }
    all
}

fn likely_faults(scope: Scope, call: &str, count: CallCount) -> Vec<Fault> {
    let Some(errno) = likely_errno(call) else { return Vec::new() };
    let effect = crate::fault::Effect::Error(errno);
    (1..=count.most).map(|number| Fault { call: call.to_owned(), number, effect, scope }).collect()
}

fn shuffle(faults: &mut [Fault], dice: &mut Dice) {
    for last in (1..faults.len()).rev() {
        faults.swap(last, dice.next(last as u64 + 1) as usize);
    }
}

fn try_fault(workload: &dyn Workload, fault: &Fault, dice: &mut Dice, tally: &mut Tally, is_likely: bool) {
    let quiet = dice.next(2) == 0;
    let home = tempfile::tempdir().unwrap();
    workload.prepare(home.path());
    let run = run_with_fault(&workload.command(home.path(), quiet), home.path(), fault);
    match (run.hit, run.hit_another, is_likely) {
        (false, false, _) => tally.missed += 1,
        (true, _, true) => tally.injected_likely += 1,
        _ => tally.injected_sampled += 1,
    }
    *tally.statuses.entry(run.code()).or_default() += 1;
    let violations = workload.judge(home.path(), &run, quiet);
    if !violations.is_empty() {
        let quiet = if quiet { " --quiet" } else { "" };
        let failure = format!(
            "{}{quiet}: INJECT_FAULT={fault}: status {}: {}",
            workload.name(),
            run.code(),
            violations.join("; ")
        );
        println!("{failure}");
        tally.failures.push(failure);
    }
}

/// Runs one fault, such as one that a campaign has found, and prints everything.
fn run_one(workload: &dyn Workload, text: &str) {
    let fault = Fault::parse(text).unwrap();
    let quiet = std::env::var_os("INJECT_QUIET").is_some();
    let home = tempfile::tempdir().unwrap();
    workload.prepare(home.path());
    let run = run_with_fault(&workload.command(home.path(), quiet), home.path(), &fault);
    println!("{fault}: status {}, hit {}\n{}{}", run.code(), run.hit, run.stdout, run.stderr);
    let trace = std::fs::read(home.path().join("trace")).unwrap_or_default();
    let trace = String::from_utf8_lossy(&trace).into_owned();
    trace.lines().filter(|line| line.contains("INJECTED")).for_each(|line| println!("{line}"));
    let violations = workload.judge(home.path(), &run, quiet);
    if std::env::var_os("INJECT_KEEP").is_some() {
        println!("kept: {}", home.keep().display());
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
