//! Tests of invariants of simulations: no job is lost, no resource is used twice, and all of the time is accounted for. A
//! simulation also agrees with a real run.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::support::point::Point;
use crate::support::simulate_place::Place;

/// Returns numbers less than `below`, which are the same for the same seed.
fn below(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Returns a history in the format of a schedd.
fn history(jobs: u32) -> String {
    let mut dice = 7;
    let mut at = 1_790_000_000;
    let job = |number: u32| {
        at += below(&mut dice, 60) as i64;
        let (runs, cpus) = (below(&mut dice, 7000), 1 + below(&mut dice, 5));
        let owner = ["ana", "ben", "eve"][below(&mut dice, 3) as usize];
        format!(
            "ClusterId = {}\nProcId = {}\nOwner = \"{owner}\"\nQDate = {at}\nRequestCpus = {cpus}\nRequestMemory = {}\n\
             RequestDisk = 1\nRemoteWallClockTime = {runs}.0\nCumulativeSuspensionTime = 0\nExitCode = {}\nJobUniverse = 5\n\
             *** Offset = 0 ClusterId = {} ProcId = {} Owner = \"{owner}\" CompletionDate = {}\n",
            1 + number / 10,
            number % 10,
            100 + below(&mut dice, 900),
            below(&mut dice, 2),
            1 + number / 10,
            number % 10,
            at + runs as i64
        )
    };
    (0..jobs).map(job).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The complete test is `SIMULATE_SEEDS=100 SIMULATE_JOBS=100000 SIMULATE_DAYS=60`. `SIMULATE_WITH` names an optimised build for
/// it, and `SIMULATE_FROM` is the first seed.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn no_job_is_lost_and_no_resource_is_oversold() {
    let expected = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let (seeds, jobs) = (expected("SIMULATE_SEEDS").unwrap_or(1), expected("SIMULATE_JOBS").unwrap_or(400));
    let days = expected("SIMULATE_DAYS").unwrap_or(2);
    let place = Place::new(
        "NETWORK_INTERFACE = 127.0.0.1\nDISK = 100000000\nSLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\n\
         SLOT_TYPE_1 = 100%\nFetchWorkDelay = 60\nPOLLING_INTERVAL = 30\nSLOTS_CONNECTED_TO_KEYBOARD = 9\nSUSPEND = KeyboardIdle < 60\n\
         CONTINUE = KeyboardIdle > 300\nWANT_SUSPEND = TARGET.Owner == \"ana\"\nPREEMPT = TARGET.Owner == \"ben\" && SUSPEND\n\
         MaxJobRetirementTime = 60\n",
    );
    place.write("history", history(jobs));
    place.write(
        "s.toml",
        "length = 'DAYSd'\n[[machine]]\nname = 'node'\ncount = 4\ncpus = 8\nmemory = '16G'\n[[jobs]]\nfrom = 'history'\nleaves = '5s'\n\
         [[keyboard]]\nbusy = 'exponential 10m'\naway = 'exponential 5h'\n[[event]]\nat = '6h'\nmachines = 'node1'\ncommand = 'drain'\n\
         resume = true\n[[hook]]\ntype = 'FETCH_WORK'\npercent = 1\nprints = 'nonsense'\n"
            .replace("DAYS", &days.to_string()),
    );
    for seed in expected("SIMULATE_FROM").unwrap_or(1)..=seeds {
        let run = |words: &[&str]| {
            let seed = seed.to_string();
            let (status, output, stderr) =
                place.run(&[&["simulate", "s.toml", "--seed", &seed], words].concat());
            assert_eq!(status, 0, "seed {seed}: {stderr}");
            output
        };
        let all: Value = serde_json::from_str(&run(&["--json"])).unwrap();
        let summary = &all[0];
        let count = |key: &str| number(&summary["jobs"][key]);
        assert_eq!(count("arrived"), u64::from(jobs), "seed {seed}");
        let known = ["completed", "running", "waiting", "held", "dropped"].map(count);
        assert_eq!(known.iter().sum::<u64>(), count("arrived"), "seed {seed}: {}", summary["jobs"]);
        // Partitionable slots exist during the whole simulation.
        for slots in summary["slot_types"].as_array().unwrap() {
            let seconds: f64 = slots["states"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
            assert!((seconds - slots["seconds"].as_f64().unwrap()).abs() < 1.0, "seed {seed}: {slots}");
            if slots["name"].as_str().is_some_and(|name| name.contains("partitionable")) {
                assert!((seconds - 4.0 * f64::from(days) * 86_400.0).abs() < 1.0, "seed {seed}: {seconds}");
            }
        }
        assert!(summary["utilisation"].as_f64().unwrap() <= 1.0);
        if jobs <= 1000 {
            oversold(&run(&["--events", "--jsonl"]), seed);
        }
    }
}

/// Checks that jobs on a machine never use more resources than it has.
fn oversold(events: &str, seed: u32) {
    let text = history(400);
    let mut requests: BTreeMap<String, u64> = BTreeMap::new();
    for record in text.split("*** ") {
        let of = |name: &str| {
            let line = record.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim_start_matches(" = ").parse::<u64>().ok())
        };
        if let (Some(cluster), Some(proc), Some(cpus)) = (of("ClusterId"), of("ProcId"), of("RequestCpus")) {
            requests.insert(format!("{cluster}.{proc}"), cpus);
        }
    }
    let mut used: BTreeMap<String, i64> = BTreeMap::new();
    let (mut starts, mut most) = (0, 0);
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let (Some(slot), Some(job)) = (event["slot"].as_str(), event["job"].as_str()) else { continue };
        let machine = slot.split('@').nth(1).unwrap_or_default().to_owned();
        let cpus = requests.get(job).map_or(0, |cpus| *cpus as i64);
        let change = match event["event"].as_str() {
            Some("starter") => cpus,
            Some("job") if event.get("exit").is_some() => -cpus,
            _ => continue,
        };
        starts += i64::from(change > 0);
        let sum = used.entry(machine).or_default();
        *sum += change;
        most = most.max(*sum);
        assert!((0..=8).contains(sum), "seed {seed}: {sum} of 8 processors: {line}");
    }
    assert!(starts >= 390 && most >= 7, "seed {seed}: {starts} starts, {most} processors at most");
}

/// A running execution point and a simulated one use the same state machine: for the same configuration and jobs, their states
/// are the same.
#[test]
fn a_simulation_takes_the_same_course_as_a_real_run() {
    let starter = "#!/bin/sh\ncat > \"$HOME/job.$$\"\n\
        if grep -q 'ClusterId = 2' \"$HOME/job.$$\"; then trap 'kill $!; exit 1' TERM; sleep 60 & wait; fi\n";
    let job =
        |cluster: u32, more: &str| format!("ClusterId = {cluster}\nProcId = 0\nOwner = \"nobody\"\n{more}");
    let point = Point::new()
        .hook("starter", starter)
        .parameter("PREEMPT = TARGET.ClusterId == 2 && (time() - JobStart) > 1")
        .parameter("START = TARGET.Wanted =!= false")
        .job("1", &job(1, ""))
        .job("2", &job(2, ""))
        .job("3", &job(3, "Wanted = false\n"));
    let run = point.run();
    let scenario = format!(
        "length = '1h'\n[queue]\nevicted = 'drop'\nrefused = 'drop'\n[[jobs]]\nad = '''\n{}'''\n[[jobs]]\nruns = '60s'\nad = '''\n{}'''\n\
         [[jobs]]\nad = '''\n{}'''\n",
        job(1, ""),
        job(2, ""),
        job(3, "Wanted = false\n")
    );
    std::fs::write(point.path("scenario"), scenario).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-slot-run"))
        .args([
            "--once",
            "simulate",
            "scenario",
            "--no-env",
            "--events",
            "--jsonl",
            "--config-file",
            "config",
        ])
        .current_dir(point.path(""))
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let states: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "state" && event["slot"] == "slot1")
        .map(|event| format!("{}/{}", event["state"].as_str().unwrap(), event["activity"].as_str().unwrap()))
        .collect();
    assert_eq!(states.join(" "), run.states("slot1"), "{}", run.stderr);
    assert!(states.iter().any(|state| state == "Preempting/Vacating") && states.len() > 6, "{states:?}");
}
