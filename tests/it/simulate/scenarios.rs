//! Tests with scenarios of `tests/data/slot`: policies in virtual time, compared line by line.

use std::path::Path;

use serde_json::Value;

use crate::support::simulate_place::Place;

/// Configuration of one slot, of a type that scenarios change.
const PLAIN: &str = include_str!("../../data/slot/plain.conf");

#[test]
fn every_scenario_takes_the_recorded_course() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/slot");
    let mut scenarios = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        scenarios += 1;
        let scenario = std::fs::read_to_string(&path).unwrap();
        let (status, text, stderr) = Place::new(PLAIN).play(&scenario, &["--events"]);
        assert_eq!(status, 0, "{}: {stderr}", path.display());
        // Warnings describe differences from a real pool, and their wording may change.
        let ours: Vec<&str> = text.lines().filter(|line| !line.contains(" warning")).collect();
        let expected = std::fs::read_to_string(path.with_extension("out")).unwrap();
        let expected: Vec<&str> = expected.lines().collect();
        assert_eq!(ours, expected, "{}", path.display());
    }
    assert!(scenarios >= 4);
}

#[test]
fn a_scenario_may_have_more_than_16_mib() {
    let comments = "# a comment of a generated scenario\n".repeat((17 << 20) / 36);
    let scenario = format!("{comments}length = 10\n");
    let (status, _, stderr) = Place::new(PLAIN).play(&scenario, &[]);
    assert_eq!(status, 0, "{stderr}");
}

#[test]
fn an_invalid_scenario_is_reported_with_its_location() {
    let place = Place::new(PLAIN);
    for (text, said) in [
        ("until = 10\n[[event]]\nat = 1\ncommand = \"dance\"\n", "no command 'dance'"),
        // Regression test: the name of an unknown slot was ignored.
        (
            "until = 10\n[[event]]\nat = 1\ncommand = \"vacate\"\nslot = \"slto1\"\n",
            "event 1: there is no slot 'slto1'; did you mean slot1?",
        ),
        (
            "until = 10\n[[event]]\nat = 2\ncommand = \"reconfig\"\n",
            "'reconfig' has no effect here; for reconfig use 'knobs'",
        ),
        (
            "until = 10\n[[event]]\nat = 1\nmachines = \"b*\"\ncommand = \"drain\"\n",
            "[[event]]: no machine has the name 'b*'",
        ),
        ("until = 10\n[[machine]]\nname = \"a\"\n[[machine]]\nname = \"a\"\n", "two machines are called 'a'"),
        ("until = 10\n[[machine]]\ncount = 0\n", "'count' must not be 0"),
        ("until = 10\n[[jobs]]\ncount = 4000000000\n", "at most 50000000 can be simulated"),
        ("until = \"soon\"\n", "1:9"),
        ("[[job]]\n", "the key 'length' is missing"),
        (
            "until = 10\nkeyboard = 5\n",
            "s.toml:2:12: 'keyboard' is the number 5: expected tables, each of which begins with a line [[keyboard]]",
        ),
        ("until = 10\nidel = 0\n", "did you mean 'idle', a key of [[event]]?"),
    ] {
        let (status, _, stderr) = place.play(text, &[]);
        assert_eq!(status, 3, "{stderr}");
        assert!(stderr.contains(said), "'{said}' is not in\n{stderr}");
    }
}

#[test]
fn a_scenario_that_is_not_text_is_reported_with_its_location() {
    let place = Place::new(PLAIN);
    place.write("s.toml", b"until = 10\n\x1b[2J\xff");
    let (status, _, stderr) = place.run(&["simulate", "s.toml"]);
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains(":2:5: a scenario is text (TOML in UTF-8)"), "{stderr}");
    assert!(!stderr.contains('\x1b'), "{stderr}");
}

/// Simulates `scenario` on four slots with `arguments`; returns the output lines.
fn on_four_slots(arguments: &[&str], scenario: &str) -> Vec<String> {
    let place = Place::new(PLAIN);
    let parameters = "NUM_CPUS = \"4\"\nNUM_SLOTS_TYPE_1 = \"4\"\nSLOT_TYPE_1 = \"25%\"\n";
    let queue = "queue = { refused = \"drop\", evicted = \"drop\" }\n";
    let scenario = queue.to_owned() + &scenario.replace("[knobs]\n", &format!("[knobs]\n{parameters}"));
    place.write("s.toml", scenario);
    let (status, output, stderr) = place.run(&[arguments, &["simulate", "s.toml", "--events"]].concat());
    assert_eq!(status, 0, "{stderr}");
    output.lines().map(str::to_owned).collect()
}

fn lines_with(lines: &[String], expected: &str) -> usize {
    lines.iter().filter(|line| line.contains(expected)).count()
}

/// No more jobs are fetched than --max-jobs permits: a job that is refused only because of the limit would be lost if hooks move
/// it to another directory on `reject`.
#[test]
fn max_jobs_limits_the_number_of_fetches() {
    let jobs: String = (1..=4)
        .map(|number| format!("[[job]]\nruns = 1\nad = \"ClusterId = {number}\\nProcId = 0\\n\"\n"))
        .collect();
    for (most, there) in [(1, 4), (3, 4), (2, 1)] {
        let jobs: String = jobs.split_inclusive("[[job]]").take(there + 1).collect();
        let jobs = jobs.strip_suffix("[[job]]").unwrap_or(&jobs);
        let scenario = format!("until = 100\nfetch_takes = 2\n[knobs]\nFetchWorkDelay = \"5\"\n{jobs}");
        let lines = on_four_slots(&["--max-jobs", &most.to_string()], &scenario);
        let accepted = lines_with(&lines, "accepted");
        assert_eq!(accepted, most.min(there), "{lines:#?}");
        assert_eq!(lines_with(&lines, "rejected"), 0, "{lines:#?}");
        // A slot that would exceed the limit fetches as soon as another fetch has returned nothing.
        if there < most {
            assert!(lines.iter().any(|line| line.contains("slot4: hook started FETCH_WORK")), "{lines:#?}");
        } else {
            assert_eq!(lines_with(&lines, "stop: --max-jobs"), 1, "{lines:#?}");
        }
    }
}

/// The idle time ends while a fetch still runs: its job is accepted, and the idle time starts again.
#[test]
fn idle_exit_waits_for_the_answer_of_a_fetch() {
    let scenario = "until = 100\nfetch_takes = 4\n[knobs]\nFetchWorkDelay = \"1\"\n\
                    [[job]]\nat = 3\nruns = 1\nad = \"ClusterId = 1\\nProcId = 0\\n\"\n";
    let lines = on_four_slots(&["--idle-exit", "2"], scenario);
    assert_eq!(lines_with(&lines, "rejected"), 0, "{lines:#?}");
    assert_eq!(lines_with(&lines, "exited 0"), 1, "{lines:#?}");
    // The job comes at +4 and ends at +5, and the idle time ends at +7. Running fetches are completed, and no new fetch starts.
    let stop = lines.iter().find(|line| line.contains("stop: no work (--idle-exit)")).expect("it never ends");
    let at: f64 = stop.split_whitespace().next().unwrap().parse().unwrap();
    assert!((7.0..=11.0).contains(&at), "{lines:#?}");
}

/// The timer of the lease restarts with the job, with a length of zero (25.14 does this for 0 and for -5).
#[test]
fn a_lease_of_length_zero_kills_the_job_only_in_the_reference() {
    for (quirks, lease, killed) in
        [("reference", 0, 1), ("reference", -5, 1), ("reference", 2, 0), ("none", -5, 0)]
    {
        let scenario = format!(
            "until = 1000\n[knobs]\nFetchWorkDelay = \"300\"\n[[job]]\nruns = 9\n\
             ad = \"ClusterId = 1\\nProcId = 0\\nJobLeaseDuration = {lease}\\n\"\n"
        );
        let lines = on_four_slots(&["--quirks", quirks], &scenario);
        assert_eq!(lines_with(&lines, "accepted"), 1, "{lines:#?}");
        assert_eq!(lines_with(&lines, "signalled 9"), killed, "{quirks} {lease}: {lines:#?}");
        assert_eq!(lines_with(&lines, "exited 0"), 1 - killed, "{quirks} {lease}: {lines:#?}");
    }
}

/// 25.14 evaluates the attributes that it reads from the job ad.
#[test]
fn attributes_of_a_job_may_be_expressions() {
    let scenario = r#"until = 60
[knobs]
FetchWorkDelay = "300"
[[job]]
runs = 30
ad = """
ClusterId = 40 + 2
ProcId = 3
"""
"#;
    let lines = on_four_slots(&[], scenario);
    assert!(lines_with(&lines, "job 42.3") >= 2, "{lines:#?}");
}

/// 25.14 keeps only the lower 32 bits of the value, so that NextFetchWorkDelay is -1294967296.
#[test]
fn a_fetch_delay_beyond_32_bits_is_ignored_only_in_the_reference() {
    for (quirks, fetches) in [("reference", 10..1000), ("none", 0..10)] {
        let scenario = "until = 60\n[knobs]\nFetchWorkDelay = \"3000000000\"\nUPDATE_INTERVAL = \"5\"\n";
        let lines = on_four_slots(&["--quirks", quirks], scenario);
        let seen = lines.iter().filter(|line| line.contains("slot1:") && line.contains("no work")).count();
        assert!(fetches.contains(&seen), "{quirks}: {seen}: {lines:#?}");
    }
}

/// For a job with one of these attributes, no process renews the lease, and 25.14 kills the job after 3 s.
#[test]
fn a_lease_without_renewal_kills_the_job_only_in_the_reference() {
    let renewed = "StartdSendsAlives = false";
    for (quirks, first, killed) in [
        ("reference", renewed, 1),
        ("reference", "StarterHandlesAlives = false", 1),
        ("reference", "StartdSendsAlives = true", 0),
        ("none", renewed, 0),
    ] {
        let scenario = format!(
            "until = 100\n[knobs]\nFetchWorkDelay = \"300\"\n[[job]]\nruns = 9\n\
             ad = \"ClusterId = 1\\nProcId = 0\\nJobLeaseDuration = 3\\n{first}\\n\"\n"
        );
        let lines = on_four_slots(&["--quirks", quirks], &scenario);
        assert_eq!(lines_with(&lines, "signalled 9"), killed, "{quirks} {first}: {lines:#?}");
        assert_eq!(lines_with(&lines, "exited 0"), 1 - killed, "{quirks} {first}: {lines:#?}");
    }
}

/// By default, the lease counts from the end of the job, as if it had been renewed until then.
#[test]
fn a_claim_with_a_lease_without_renewal_outlives_a_long_job() {
    let scenario = "until = 1802\n[knobs]\nFetchWorkDelay = \"3600\"\n[[job]]\nruns = 1795\n\
                    ad = \"ClusterId = 1\\nProcId = 0\\nStartdSendsAlives = false\\n\"\n";
    let lines = on_four_slots(&["--quirks", "none"], scenario);
    assert_eq!(lines_with(&lines, "exited 0"), 1, "{lines:#?}");
    assert_eq!(lines_with(&lines, "lease has expired"), 0, "{lines:#?}");
}

/// After the drain, slots accept jobs again when a drained slot is next evaluated, which in 25.14 is one second after the drain
/// was complete.
#[test]
fn a_drain_that_resumes_does_so_within_a_second_of_its_end() {
    for quirks in ["reference", "none"] {
        let scenario = "until = 60\n[knobs]\nFetchWorkDelay = \"300\"\nUPDATE_INTERVAL = \"7\"\n\
                        [[event]]\nat = 10\ncommand = \"drain\"\nresume = true\n";
        let lines = on_four_slots(&["--quirks", quirks], scenario);
        let time = |what: &str| -> f64 {
            let line = lines.iter().find(|line| line.contains("slot1:") && line.contains(what));
            let line = line.unwrap_or_else(|| panic!("{quirks}: no {what}: {lines:#?}"));
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let late = time("no longer draining") - time("draining is complete");
        assert!((0.0..=1.0).contains(&late), "{quirks}: {lines:#?}");
    }
}

/// `can_create_dslot` is also true for dynamic slots: in 25.14, slot1_2 gets all resources of slot1_1, and both jobs run.
#[test]
fn the_next_job_of_a_dynamic_slot_runs_in_another_only_in_the_reference() {
    let job = |cluster: u32| {
        format!(
            "[[job]]\nruns = 9\nad = \"ClusterId = {cluster}\\nProcId = 0\\nRequestCpus = 1\\nRequestMemory = 1\\n\
             RequestDisk = 1\\n\"\n"
        )
    };
    let jobs: String = (1..=8).map(job).collect();
    let scenario = format!(
        "until = 40\n[knobs]\nSLOT_TYPE_1_PARTITIONABLE = \"True\"\nRANK = \"TARGET.ClusterId\"\n\
         FetchWorkDelay = \"ifThenElse(DynamicSlot =?= true, 1, 300)\"\n{jobs}"
    );
    for (quirks, splits) in [("reference", true), ("none", false)] {
        let lines = on_four_slots(&["--quirks", quirks], &scenario);
        let second = lines_with(&lines, "_2: state Claimed/Busy");
        assert_eq!(second > 0, splits, "{quirks}: {lines:#?}");
        assert!(lines_with(&lines, "_1: state Claimed/Busy") >= 4, "{quirks}: {lines:#?}");
        let ended = lines_with(&lines, "exited 0");
        assert_eq!(ended == 8, splits, "{quirks}: {lines:#?}");
    }
}

#[test]
fn invalid_times_are_refused_with_their_location() {
    let place = Place::new("");
    for (text, line) in [
        ("until = nan\n", 1),
        ("until = -1\n", 1),
        ("until = inf\n", 1),
        ("until = 1e300\n", 1),
        ("until = 5\nfetch_takes = -0.5\n", 2),
        ("until = 5\nstart = 9223372036854775807\n", 2),
        ("until = 5\n[[job]]\nad = \"A = 1\"\nruns = nan\n", 4),
        ("until = 5\n[[event]]\nat = -inf\n", 3),
    ] {
        let (status, _, stderr) = place.play(text, &[]);
        assert_eq!(status, 3, "{text}: {stderr}");
        assert!(
            stderr.contains(&format!("s.toml:{line}:")) && stderr.contains("expected seconds"),
            "{text}: {stderr}"
        );
    }
}

/// Events, summary and picture of a simulation.
type Course = (String, Value, String);

/// Simulates `s.toml` with these options and returns the summary and, if the options write them, events and picture.
fn simulated(place: &Place, words: &[&str]) -> Course {
    // Events are appended to their file.
    place.write("events.jsonl", "");
    place.write("x.svg", "");
    let (status, output, stderr) = place.run(&[&["simulate", "s.toml", "--json"], words].concat());
    assert_eq!(status, 0, "{stderr}");
    (place.read("events.jsonl"), serde_json::from_str(&output).unwrap(), place.read("x.svg"))
}

/// Returns the course with slots that are not evaluated while nothing changes. Summary and picture are those of a run without
/// events, which only counts fetches that return no work.
fn lazy_course(place: &Place) -> Course {
    let (events, ..) = simulated(place, &["--events", "events.jsonl"]);
    let (_, summary, picture) = simulated(place, &["--svg", "x.svg"]);
    (events, summary, picture)
}

/// Returns the course with all slots evaluated at every poll, and all fetches made.
fn naive_course(place: &Place) -> Course {
    simulated(place, &["--events", "events.jsonl", "--svg", "x.svg", "--every-poll"])
}

/// Returns numbers less than `below`, which are the same for the same seed.
fn below(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Returns a random scenario: policies made of typical expressions, and workloads with everything that affects slots.
fn random_scenario(seed: u64) -> String {
    let mut dice = seed.wrapping_mul(0x9E37_79B9).wrapping_add(77);
    let mut pick = |list: &[&str]| list[below(&mut dice, list.len() as u64) as usize].to_owned();
    let conditions = [
        "True",
        "False",
        "KeyboardIdle > 300",
        "KeyboardIdle < 60",
        "(time() - EnteredCurrentActivity) > 200",
        "(time() - JobStart) > 431",
        "Activity == \"Busy\" && (time() - EnteredCurrentState) >= 777",
        "ClockMin > 450 && ClockMin < 500",
        "ClockDay == 3",
        "TotalJobRunTime > 333",
        "TotalTimeClaimedBusy > 1000",
        "TARGET.Memory > 3",
        "(MyCurrentTime % 700) > 350",
        "LoadAvg > 0.3",
        "CpuBusyTime =!= undefined && (time() - CpuBusyTime) > 120",
        "formatTime(time(), \"%M\") > \"30\"",
    ];
    // With these conditions, a decision about one job holds for all similar jobs, unless a condition distinguishes them.
    let still = [
        "True",
        "False",
        "TARGET.RequestMemory > 3",
        "TARGET.ProcId % 3 == 1",
        "(time() % 700) > 350",
        "Memory > 10",
        "TARGET.Owner == \"ana\"",
        "formatTime(time(), \"%M\") > \"30\"",
    ];
    let is_still = seed % 3 == 2;
    let conditions = if is_still { &still[..] } else { &conditions };
    let mut parameters = String::new();
    for (parameter, often) in [
        ("START", 2),
        ("SUSPEND", 2),
        ("CONTINUE", 2),
        ("PREEMPT", 2),
        ("KILL", 4),
        ("WANT_SUSPEND", 3),
        ("WANT_VACATE", 3),
        ("IS_OWNER", 5),
    ] {
        if pick(&["0", "1", "2", "3", "4", "5"][..often.max(2)]) == "0" {
            let mut condition = pick(conditions);
            if pick(&["", "!"]) == "!" {
                condition = format!("!({condition})");
            }
            // An undefined condition would end a real startd.
            let condition = format!("(({condition}) =?= true)");
            parameters += &format!("{parameter} = '{condition}'\n");
        }
    }
    for (parameter, values) in [
        ("MaxJobRetirementTime", &["0", "300", "ifThenElse(KeyboardIdle > 500, 600, 30)"][..]),
        ("MachineMaxVacateTime", &["0", "10", "100"][..]),
        ("CLAIM_WORKLIFE", &["-1", "0", "400", "1200"][..]),
        ("FetchWorkDelay", &["7", "60", "300", "ifThenElse(State == \"Claimed\", 0, 100)"][..]),
        ("POLLING_INTERVAL", &["1", "5", "7", "30"][..]),
        ("UPDATE_INTERVAL", &["300", "61"][..]),
        ("STARTD_LATCH_EXPRS", &["CpuBusy", ""][..]),
        ("CpuBusy", &["(LoadAvg > 0.5)", "(KeyboardIdle < 200)"][..]),
        ("SLOTS_CONNECTED_TO_KEYBOARD", &["0", "1", "9"][..]),
        ("RANK", &["0", "TARGET.RequestMemory"][..]),
    ] {
        let mut value = pick(values);
        if is_still && !value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            // An expression that refers to the slot's state or to a job could change while the slot is not evaluated.
            value = if parameter == "FetchWorkDelay" { "60".to_owned() } else { continue };
        }
        parameters += &format!("{parameter} = '{value}'\n");
    }
    let partitionable = pick(&["True", "False", "False"]);
    let mut text = format!(
        "length = '4h'\nseed = {seed}\nstart = 1700006400\nfetch_takes = {}\n[knobs]\nNUM_CPUS = 3\nMEMORY = 3000\n\
         NUM_SLOTS_TYPE_1 = {}\nSLOT_TYPE_1 = '{}'\nSLOT_TYPE_1_PARTITIONABLE = '{partitionable}'\n{parameters}",
        pick(&["0.01", "2", "0"]),
        if partitionable == "True" { "1" } else { "3" },
        if partitionable == "True" { "100%" } else { "33%" },
    );
    text += &format!(
        "[queue]\nretry = '{}'\n[[jobs]]\ncount = {}\nwithin = '3h'\nruns = 'exponential 12m'\nleaves = {}\n\
         memory = [2, 4]\ncpus = 1\ndisk = 1\nowner = {{ ana = 1, ben = 1 }}\n{}",
        pick(&["1m", "1h"]),
        pick(&["0", "3", "30", "30", "60"]),
        pick(&["0", "20", "500"]),
        // If a job's retirement time equals the machine's, it ends in the same second as FetchWorkDelay.
        pick(&[
            "",
            "",
            "ad = 'MaxJobRetirementTime = 50'\n",
            "ad = 'MaxJobRetirementTime = TARGET.Cpus * 100'\n"
        ]),
    );
    if pick(&["0", "1"]) == "0" {
        let hours = pick(&["", "hours = '00:30-01:30'\n", "hours = '01:00-03:17'\ndays = 'Mon-Wed'\n"]);
        text += &format!("[[keyboard]]\n{hours}busy = 'exponential 5m'\naway = 'exponential 20m'\n");
    }
    if pick(&["0", "1", "2"]) == "0" {
        text += "[[load]]\nbusy = 'exponential 5m'\naway = 'exponential 20m'\nload = 0.7\n";
    }
    for command in ["vacate", "suspend", "continue", "drain", "undrain"] {
        if pick(&["0", "1", "2"]) == "0" {
            let at = pick(&["31m", "1h", "2h", "3h17s", "100m"]);
            text += &format!("[[event]]\nat = '{at}'\ncommand = '{command}'\n");
        }
    }
    for done in [
        "load = 0.9",
        "load = 0",
        "idle = '20m'",
        "cron = 'NodeIsHealthy = false'",
        "cron = \"SlotID = 2\\nNodeIsHealthy = false\"",
        "knobs = { START = 'KeyboardIdle > 600' }",
        "knobs = { POLLING_INTERVAL = '11', FetchWorkDelay = '45' }",
        "knobs = { UPDATE_INTERVAL = '77' }",
        "command = 'drain'\nresume = true",
    ] {
        if pick(&["0", "1", "2", "3", "4"]) == "0" {
            let at = pick(&["5m", "47m3s", "90m", "2h41s", "3h"]);
            text += &format!("[[event]]\nat = '{at}'\n{done}\n");
        }
    }
    // Slots of several machines fetch at the same time.
    if pick(&["0", "1", "2"]) == "0" {
        text += "[[machine]]\nname = 'node'\ncount = 4\n";
    }
    text
}

/// Simulates a scenario twice: with slots that are not evaluated while nothing changes, and with all slots evaluated at every
/// poll. Checks that the events are the same, and returns their number.
fn same_course(scenario: &str) -> usize {
    let place = Place::new(PLAIN);
    place.write("s.toml", scenario);
    let (events, summary, picture) = lazy_course(&place);
    let (made, counted, drawn) = naive_course(&place);
    let (lazy, naive): (Vec<&str>, Vec<&str>) = (events.lines().collect(), made.lines().collect());
    if let Some(at) = (0..naive.len().max(lazy.len())).find(|at| naive.get(*at) != lazy.get(*at)) {
        let near = |lines: &[&str]| {
            lines[at.saturating_sub(4).min(lines.len())..(at + 3).min(lines.len())].join("\n")
        };
        panic!("line {at}:\n{scenario}\nevery poll:\n{}\nlooking less:\n{}", near(&naive), near(&lazy));
    }
    assert_eq!(summary, counted, "what was counted and what was made:\n{scenario}");
    assert!(picture == drawn, "another timeline:\n{scenario}");
    naive.len()
}

#[test]
fn poll_skipping_does_not_change_the_course() {
    let seeds = std::env::var("SIMULATE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2u64);
    let first = std::env::var("SIMULATE_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0u64);
    let changes: usize = (first..first + seeds).map(|seed| same_course(&random_scenario(seed))).sum();
    assert!(changes > 200, "{changes}");
}

/// A call of FETCH_WORK that ends at the time of a poll is handled after the poll, whether it was made or only counted.
#[test]
fn a_poll_comes_before_the_end_of_a_hook_at_the_same_time() {
    let scenario = "length = '4h'\n[knobs]\nPREEMPT = 'Memory > 10'\nFetchWorkDelay = '7'\nMachineMaxVacateTime = '0'\n\
        MaxJobRetirementTime = '300'\n[[jobs]]\nruns = 'exponential 12m'\n";
    assert!(same_course(scenario) > 100);
}

/// Retirement and FetchWorkDelay end in the same second, after the slot was last evaluated at an update.
#[test]
fn a_resting_slot_does_not_fetch_earlier_than_with_polls() {
    let scenario = "length = '4h'\n[knobs]\nPREEMPT = '(MyCurrentTime % 700) <= 350'\nUPDATE_INTERVAL = '61'\n\
        FetchWorkDelay = '300'\nMachineMaxVacateTime = '0'\nMaxJobRetirementTime = '300'\n\
        [[jobs]]\ncount = 30\nwithin = '3h'\nruns = 'exponential 12m'\n";
    assert!(same_course(scenario) > 100);
}

/// The used time is a sum of fractions. It must be equal to the last digit, in whatever order runs are stored.
#[test]
fn run_times_at_the_end_are_added_in_the_order_of_slots() {
    let scenario = "length = '4h'\nseed = 230\n[knobs]\nNUM_CPUS = 3\nNUM_SLOTS_TYPE_1 = 3\nSLOT_TYPE_1 = '33%'\n\
        START = '((time() - EnteredCurrentActivity) > 200) =?= true'\nUPDATE_INTERVAL = '61'\nCLAIM_WORKLIFE = '-1'\n\
        [[jobs]]\ncount = 60\nruns = 'exponential 12m'\n\
        [[event]]\nat = '5m'\nknobs = { POLLING_INTERVAL = '11', FetchWorkDelay = '45' }\n";
    assert!(same_course(scenario) > 100);
}

/// If START becomes false before FetchWorkDelay has ended, the slot fetches at the end of the delay, not a whole delay later.
#[test]
fn an_unwilling_slot_keeps_the_rest_of_its_fetch_delay() {
    let scenario = "length = '4h'\n[knobs]\nFetchWorkDelay = '300'\nPREEMPT = 'True'\nPOLLING_INTERVAL = '7'\n\
        START = '!((time() - EnteredCurrentActivity) > 200)'\nMachineMaxVacateTime = '0'\nMaxJobRetirementTime = '300'\n\
        [[jobs]]\nruns = 'exponential 12m'\n";
    assert!(same_course(scenario) > 100);
}

/// The first output of a cron job does not bring back attributes that another job no longer prints.
#[test]
fn the_first_output_of_a_cron_job_restores_no_old_attributes() {
    let scenario = "length = '4h'\n[knobs]\nFetchWorkDelay = '7'\nRANK = 'TARGET.RequestMemory'\n\
        [[jobs]]\ncount = 60\nwithin = '3h'\nruns = 'exponential 12m'\nleaves = 500\nmemory = [2, 4]\n\
        [[event]]\nat = '2h41s'\ncron = 'NodeIsHealthy = false'\n";
    same_course(scenario);
}

/// A slot with a suspended job fetches when its timer expires. At the same time, slots that a poll allows to fetch come before
/// it.
#[test]
fn slots_that_fetch_at_the_same_time_do_so_in_the_order_of_polls_and_timers() {
    let scenario = "length = '1h'\nfetch_takes = 2\n[knobs]\nNUM_CPUS = 3\nNUM_SLOTS_TYPE_1 = 3\nSLOT_TYPE_1 = '33%'\n\
        FetchWorkDelay = '48'\nPOLLING_INTERVAL = '5'\nUPDATE_INTERVAL = '300'\nRANK = 'TARGET.JobPrio'\n\
        [[jobs]]\nruns = '50m'\nmemory = 1\n[[event]]\nat = '5m'\ncommand = 'suspend'\n";
    assert!(same_course(scenario) > 100);
}

/// A slot that an update evaluates, and one that it only allows to fetch, are processed in the order of slots.
#[test]
fn resting_slots_fetch_in_the_order_of_slots() {
    let scenario = "length = '1h'\n[knobs]\nNUM_CPUS = 3\nNUM_SLOTS_TYPE_1 = 3\nSLOT_TYPE_1 = '33%'\n\
        START = '(SlotID == 3 || TARGET.RequestMemory > 5) && ((time() - EnteredCurrentActivity) > 200) =?= true'\n\
        FetchWorkDelay = '300'\nPOLLING_INTERVAL = '30'\nUPDATE_INTERVAL = '300'\nRANK = 'TARGET.JobPrio'\n\
        [[jobs]]\nat = '10m'\nruns = '83s'\nmemory = 1\n";
    assert!(same_course(scenario) > 50);
}

/// TotalJobRunTime is undefined until one second has passed, and a poll may come before that.
#[test]
fn a_counted_attribute_may_become_defined_between_polls() {
    let scenario = "length = '2h'\nfetch_takes = 0.5\n[knobs]\nPREEMPT = 'TARGET.Second && TotalJobRunTime > 333'\n\
        FetchWorkDelay = 'ifThenElse(Activity == \"Idle\", 0, 3600)'\nMaxJobRetirementTime = '0'\n\
        MachineMaxVacateTime = '0'\n[[jobs]]\nruns = 0.2\nmemory = 1\nad = 'Second = false'\n\
        [[jobs]]\nruns = '30m'\nmemory = 1\nad = 'Second = true'\n";
    assert!(same_course(scenario) > 50);
}

/// A slot with a suspended job uses a new FetchWorkDelay only after its next fetch.
#[test]
fn a_slot_that_does_not_fetch_in_polls_keeps_its_delay_until_it_fetches() {
    let scenario = "length = '4h'\n[[jobs]]\ncount = 60\nruns = 'exponential 12m'\n[[event]]\nat = '47m3s'\ncommand = 'suspend'\n\
        [[event]]\nat = '2h41s'\nknobs = { POLLING_INTERVAL = '11', FetchWorkDelay = '45' }\n";
    assert!(same_course(scenario) > 100);
}

/// Slots that differ only in their numbers share one configuration, unless an expression refers to the
/// number.
#[test]
fn evict_backfill_may_refer_to_the_slot_number() {
    let scenario = "length = '10m'\n[knobs]\nNUM_CPUS = 2\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = '50%'\nENABLE_BACKFILL = 'True'\n\
        BACKFILL_SYSTEM = 'BOINC'\nBOINC_Universe = 'vanilla'\nBOINC_InitialDir = '/'\nBOINC_Executable = '/bin/true'\n\
        START_BACKFILL = 'True'\nEVICT_BACKFILL = 'SlotID == 1'\n";
    assert!(same_course(scenario) > 10);
}

/// If no poll allows a slot to fetch, the slot's timer continues: with its delay while START is false, and every second while the
/// slot preempts. A delay that is an expression may have changed by then.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn the_timer_of_a_slot_that_may_not_fetch_continues() {
    let suspended = "length = '4h'\n[knobs]\nSLOTS_CONNECTED_TO_KEYBOARD = '1'\n[[jobs]]\nruns = '5m'\n[[keyboard]]\naway = '11m'\n\
        [[event]]\nat = '47m3s'\nknobs = { START = 'KeyboardIdle > 600' }\n[[event]]\nat = '5m'\ncommand = 'suspend'\n";
    assert!(same_course(suspended) > 10);
    let preempting = "length = '9h'\n[knobs]\nSTART = '!(CurrentRank > 2 && max({KeyboardIdle, 300}) > 400) =?= true'\n\
        PREEMPT = '!((time() - JobStart) > 431) =?= true'\nUPDATE_INTERVAL = '77'\nRANK = 'TARGET.RequestMemory'\n\
        [[jobs]]\nruns = 'exponential 12m'\nleaves = 500\nmemory = [2, 900]\n";
    assert!(same_course(preempting) > 50);
    let moving = "length = '4h'\nseed = 2259\nstart = '2026-10-25 00:30:00'\n[knobs]\nPREEMPT = 'LastDrainStartTime =?= undefined'\n\
        SLOT_TYPE_1_START = '!(ClockDay == 3 || TotalLoadAvg > 0.5) =?= true'\nPOLLING_INTERVAL = '60'\n\
        FetchWorkDelay = 'ifThenElse(KeyboardIdle > 600, 20, 200)'\n[[jobs]]\nruns = 'uniform 1m 30m'\nleaves = 'exponential 30s'\n\
        [[load]]\nbusy = 'exponential 5m'\naway = 'exponential 20m'\nload = 'uniform 0.1 1.9'\n[[machine]]\ncount = 2\n";
    assert!(same_course(moving) > 50);
}

/// Timers come before ends of jobs at the same time. This includes the timer of a slot that is not evaluated because its START is
/// false: it fetches one delay later, although the end of the job has made START true.
#[test]
fn a_timer_comes_before_the_end_of_a_job_at_the_same_time() {
    let scenario = "length = '4h'\nseed = 2276\nfetch_takes = 0\n[knobs]\nNUM_CPUS = 3\nSLOT_TYPE_1_PARTITIONABLE = 'True'\n\
        START = '(Cpus > 1 || AcceptedWhileDraining) =?= true'\nFetchWorkDelay = '300'\nPOLLING_INTERVAL = '7'\nUPDATE_INTERVAL = '77'\n\
        CLAIM_WORKLIFE = '0'\n[[jobs]]\nruns = '5m'\nmemory = [2, 4]\ncpus = [1, 2]\ndisk = 1\n[[machine]]\nname = 'a'\ncount = 2\n";
    assert!(same_course(scenario) > 20);
}

/// A poll removes a dynamic slot whose idle claim has ended, and the partitionable slot may then fetch again.
#[test]
fn a_slot_that_gets_resources_back_fetches_again() {
    let scenario = "length = '4h'\n[knobs]\nNUM_CPUS = 3\nSLOT_TYPE_1_PARTITIONABLE = 'True'\nFetchWorkDelay = '300'\n\
        START = '(Cpus > 1 || AcceptedWhileDraining) =?= true'\n[[jobs]]\ncount = 60\nmemory = [2, 4]\ncpus = [1, 2]\ndisk = 1\n";
    assert!(same_course(scenario) > 100);
}
