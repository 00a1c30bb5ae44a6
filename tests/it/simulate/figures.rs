//! Tests that the figures of a simulation agree with its events: waiting times, shares of time, reasons why jobs never ran.

use serde_json::Value;

use crate::support::simulate_place::{CONFIG, Place};

/// Returns the configuration of twenty slots that accept jobs from this number of seconds after the start.
fn from(seconds: u32) -> String {
    format!(
        "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 20\nMEMORY = 20000\nNUM_SLOTS_TYPE_1 = 20\nSLOT_TYPE_1 = 5%\n\
         SLOT_TYPE_1_PARTITIONABLE = False\nFetchWorkDelay = 10\nSTART = time() >= {}\n",
        1_793_606_400 + seconds
    )
}

/// Returns the output of `simulate` for a valid scenario.
fn report(place: &Place, scenario: &str, words: &[&str]) -> String {
    let (status, output, stderr) = place.play(scenario, words);
    assert_eq!((status, stderr.as_str()), (0, ""), "{output}");
    output
}

/// Returns the line that begins with this text.
fn line<'a>(text: &'a str, begin: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("no {begin}: {text}"))
}

/// Regression test: the comparison printed `median wait 59m59s 59m59s same`.
#[test]
fn five_more_minutes_of_waiting_are_a_difference() {
    let place = Place::new(&from(3450));
    place.write("after.conf", from(3750));
    let scenario = "start = 2026-11-02 08:00:00\nlength = '4h'\n[[jobs]]\ncount = 21\nruns = '10m'\n";
    let (status, output, _) = place.play(scenario, &["--compare", "after.conf"]);
    assert_eq!(status, 1, "{output}");
    let row: Vec<&str> = line(&output, "median wait").split_whitespace().collect();
    assert_eq!(row, ["median", "wait", "57m30s", "1h02m", "+5m"]);
}

/// Regression test: waiting times were the centers of buckets that are 9 % wide.
#[test]
fn waits_agree_with_the_events() {
    let place = Place::new(CONFIG);
    let scenario = "length = '1d'\n[[jobs]]\ncount = 40\nevery = '10m'\nruns = 'uniform 5m 45m'\n";
    let summary = place.summary(scenario, &[]);
    let (status, events, _) = place.run(&["simulate", "s.toml", "--events", "--jsonl"]);
    assert_eq!(status, 0);
    let start = summary["start"].as_f64().unwrap();
    let mut waits: Vec<f64> = Vec::new();
    for event in events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if event["event"] == "starter" {
            let number: f64 = event["job"].as_str().unwrap().split('.').next().unwrap().parse().unwrap();
            let number =
                number + event["job"].as_str().unwrap().split('.').nth(1).unwrap().parse::<f64>().unwrap();
            waits.push(event["time"].as_f64().unwrap() - start - (number - 1.0) * 600.0);
        }
    }
    assert_eq!(waits.len(), 40);
    waits.sort_by(f64::total_cmp);
    let told = &summary["waits"];
    for (key, at) in [("median", 19), ("of_95_in_100", 37), ("longest", 39)] {
        let told = told[key].as_f64().unwrap();
        assert!((told - waits[at]).abs() < 0.02, "{key}: {told} and {}", waits[at]);
    }
}

/// Regression test: the job was accepted at +0.010 although START was false.
#[test]
fn an_event_at_the_start_affects_the_first_evaluation() {
    let place = Place::new(&format!("{CONFIG}SLOTS_CONNECTED_TO_KEYBOARD = 2\nSTART = KeyboardIdle > 60\n"));
    let told =
        report(&place, "length = '20m'\n[[event]]\nat = 0\nidle = 0\n[[jobs]]\nruns = '5m'\n", &["--events"]);
    let accepted = told.lines().find(|line| line.contains(": accepted")).expect(&told);
    let at: f64 = accepted.split_whitespace().next().unwrap().parse().unwrap();
    assert!(at >= 60.0, "{accepted}");

    let place = Place::new(&format!("{CONFIG}IS_OWNER = X =?= true\n"));
    let told = report(&place, "length = '20m'\n[[event]]\nat = 0\ncron = 'X=true'\n", &["--events"]);
    assert!(!told.contains("Unclaimed"), "{told}");

    let place = Place::new(&format!("{CONFIG}IS_OWNER = LoadAvg > 0.5\n"));
    let told = report(&place, "length = '20m'\n[[event]]\nat = 0\nload = 2.0\n", &["--events"]);
    assert!(!told.contains("Unclaimed"), "{told}");
}

/// HIBERNATE for a machine that has been idle for two hours.
const HIBERNATES: &str = "SLOTS_CONNECTED_TO_KEYBOARD = 2\nHIBERNATE_CHECK_INTERVAL = 20\n\
    HIBERNATE = ifThenElse(KeyboardIdle > 900 && (time() - EnteredCurrentState) > 7200, \"RAM\", \"NONE\")\n";

/// Regression test: the job ran at +5h.
#[test]
fn a_hibernating_machine_accepts_no_job_until_it_is_woken() {
    let place = Place::new(&format!("{CONFIG}{HIBERNATES}"));
    let asleep = "length = '8h'\n[[event]]\nat = 0\nidle = '1h'\n[[jobs]]\nat = '5h'\nruns = '1h'\n";
    let told = report(&place, asleep, &[]);
    assert!(told.contains("1 waiting, 1 never ran"), "{told}");
    assert!(told.contains("waits: no job has started; the longest has waited for 3h\n"), "{told}");
    let never = line(&told, "never ran: ");
    assert!(never.ends_with("2 slots are on machines that sleep at the end (HIBERNATE)"), "{never}");
    assert!(told.contains("note: a machine sleeps (HIBERNATE)"), "{told}");

    let woken = format!("{asleep}[[event]]\nat = '6h'\nidle = 0\n");
    let summary = place.summary(&woken, &[]);
    assert_eq!(summary["jobs"]["completed"], 1, "{summary}");
    let waited = summary["waits"]["longest"].as_f64().unwrap();
    assert!((3600.0..3700.0).contains(&waited), "{waited}");
}

/// Regression test: DAEMON_SHUTDOWN was ignored without a message.
#[test]
fn daemon_shutdown_ends_a_machine() {
    let scenario = "length = '8h'\n[[jobs]]\ncount = 9\nevery = '1h'\nruns = '30m'\n";
    for (parameter, preempted) in [("DAEMON_SHUTDOWN", 0), ("DAEMON_SHUTDOWN_FAST", 1)] {
        let place = Place::new(&format!(
            "{CONFIG}MaxJobRetirementTime = 3600\n{parameter} = (time() - DaemonStartTime) > 3660\n"
        ));
        let summary = place.summary(scenario, &[]);
        assert_eq!(summary["ended"], format!("{parameter} is true"), "{summary}");
        assert_eq!(summary["jobs"]["preempted"], preempted, "{summary}");
        assert_eq!(summary["jobs"]["completed"], 2 - preempted, "{summary}");
    }
}

/// Regression test: the table had no column Backfill, so that the row added up to 25 %.
#[test]
fn the_columns_of_a_slot_type_add_up_to_its_whole_time() {
    let place = Place::new(&format!(
        "{CONFIG}ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\nSTART_BACKFILL = (time() - EnteredCurrentState) > 300\n\
         BOINC_Executable = /bin/true\nBOINC_Universe = vanilla\nBOINC_InitialDir = /\n"
    ));
    let told = report(&place, "length = '4h'\n[[jobs]]\nat = '1h'\nruns = '1237s'\n", &[]);
    let heading = line(&told, "SLOT TYPE");
    assert!(heading.contains("UNCLAIMED  BACKFILL  OWNER"), "{heading}");
    let row = line(&told, "static type 1");
    let parts: Vec<f64> = row.split(" %").filter_map(|part| part.rsplit(' ').next()?.parse().ok()).collect();
    assert!((parts.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{row}");
    assert!(parts[6] > 80.0, "{row}");
}

/// Configuration of two small slots and two large ones.
const SIZES: &str = "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 4\nMEMORY = 10000\nNUM_SLOTS_TYPE_1 = 2\n\
    SLOT_TYPE_1 = cpus=1,mem=1000,disk=25%\nSLOT_TYPE_1_PARTITIONABLE = False\nNUM_SLOTS_TYPE_2 = 2\n\
    SLOT_TYPE_2 = cpus=1,mem=4000,disk=25%\nSLOT_TYPE_2_PARTITIONABLE = False\nFetchWorkDelay = 60\n";

/// Regression test: `TARGET.RequestMemory <= MY.Memory is false (3000, MY.Memory = 1000)` was reported, although this is only the
/// reason why the small slots refuse the jobs.
#[test]
fn the_reason_of_jobs_that_never_ran_is_about_large_enough_slots() {
    let jobs = "length = '5h'\n[[jobs]]\ncount = 6\nruns = '10h'\nmemory = 3000\nowner = 'ann'\n";
    let told = report(&Place::new(SIZES), jobs, &[]);
    let never = line(&told, "never ran: 4 of jobs 1 of ann: ");
    assert!(
        never.ends_with(": large enough: 2 of 4 slots; of these, busy with other jobs at the end: 2"),
        "{never}"
    );
    let waits = line(&told, "waits of the 2 started: ");
    assert!(waits.ends_with("; 4 not started, the longest for 5h"), "{waits}");

    let refusing = Place::new(&format!("{SIZES}SLOT_TYPE_2_START = TARGET.Owner =!= \"ann\"\n"));
    let never = report(&refusing, jobs, &[]);
    let never = line(&never, "never ran: 6 ");
    assert!(never.contains("TARGET.Owner =!= \"ann\" is false"), "{never}");

    // A partitionable slot counts as large enough even if its other jobs leave too few resources.
    let divided = Place::new(&SIZES.replace("2_PARTITIONABLE = False", "2_PARTITIONABLE = True"));
    let asked = format!("{jobs}cpus = 1\nad = \"RequestDisk = 1\"\n");
    let never = report(&divided, &asked, &[]);
    let never = line(&never, "never ran: 4 ");
    assert!(
        never.ends_with(": large enough: 2 of 4 slots; of these, busy with other jobs at the end: 2"),
        "{never}"
    );

    let large = report(&Place::new(SIZES), &jobs.replace("3000", "9000"), &[]);
    let large = line(&large, "never ran: 6 ");
    assert!(large.contains("RequestMemory") && large.contains("9000"), "{large}");
}

#[test]
fn jobs_that_never_start_have_no_waits() {
    let place = Place::new(CONFIG);
    place.write("never.conf", format!("{CONFIG}START = false\n"));
    let scenario = "length = '2h'\n[[jobs]]\ncount = 2\nruns = '10m'\nowner = 'eve'\n";
    let (status, told, _) = place.play(scenario, &["--compare", "never.conf"]);
    assert_eq!(status, 1, "{told}");
    let row = |begin: &str| line(&told, begin).split_whitespace().rev().take(3).collect::<Vec<_>>();
    for name in ["median wait", "longest wait  ", "owner eve, median wait"] {
        let [change, after, before] = row(name)[..] else { panic!("{told}") };
        assert!(change == "-" && after == "-" && before != "-", "{name}: {told}");
    }
    assert_eq!(row("longest wait, never ran")[1..], ["2h", "-"], "{told}");
    assert_eq!(row("owner eve, never ran"), ["+2", "2", "0"], "{told}");
    place.write("c.conf", format!("{CONFIG}START = false\n"));
    let summary = place.summary(scenario, &[]);
    assert_eq!(summary["waits"]["median"], Value::Null, "{summary}");
    assert_eq!(summary["owners"][0]["waits"]["longest"], Value::Null, "{summary}");
    let told = report(&place, scenario, &[]);
    assert!(line(&told, "eve ").split_whitespace().any(|cell| cell == "-"), "{told}");
}

#[test]
fn the_history_of_a_job_has_no_gaps() {
    let place = Place::new(CONFIG);
    let scenario = "length = '2d'\n[[jobs]]\ncount = 3\nruns = '25h30m'\n";
    let (_, output, _) = place.play(scenario, &["--why", "1.2"]);
    assert!(output.contains("no slot was offered the job for 1d01h"), "{output}");
    assert!(output.contains("+1d01h3"), "times are precise to the minute: {output}");
}

#[test]
fn quiet_reports_have_no_notes() {
    let place = Place::new(CONFIG);
    let scenario = "length = '2h'\n[[jobs]]\nruns = '10m'\n";
    assert!(report(&place, scenario, &[]).contains("\nnote: "));
    let told = report(&place, scenario, &["-q"]);
    assert!(told.contains("jobs: 1 arrived") && !told.contains("note: "), "{told}");
}

/// Returns the CPU seconds of a summary: in which jobs ran, that were good, that were lost, and in which jobs were suspended.
fn times(summary: &Value) -> [f64; 4] {
    let capacity = summary["cpus"].as_f64().unwrap() * summary["length"].as_f64().unwrap();
    let part = |name: &str| summary[name].as_f64().unwrap() * capacity;
    let lost = summary["badput"].as_object().unwrap();
    let seconds = |lost: &Value| lost["cpu_seconds"].as_f64().unwrap();
    let suspended = lost.get("suspended").map_or(0.0, seconds);
    [part("utilisation"), part("goodput"), lost.values().map(seconds).sum(), suspended]
}

/// The book: utilisation plus the suspended time is goodput plus badput. Jobs that run or are suspended at the end were counted
/// in the first sum only.
#[test]
fn used_and_suspended_time_is_goodput_and_badput() {
    let place = Place::new(CONFIG);
    let suspend = "[[event]]\nat = '10m'\ncommand = 'suspend'\nslot = 'slot1'\n";
    let resume = "[[event]]\nat = '20m'\ncommand = 'continue'\nslot = 'slot1'\n";
    let again = "[[event]]\nat = '30m'\ncommand = 'suspend'\nslot = 'slot1'\n";
    let vacate = "[[event]]\nat = '40m'\ncommand = 'vacate'\n";
    for (runs, events) in [
        ("3h", String::new()),
        ("3h", suspend.to_owned()),
        ("3h", [suspend, resume, again].concat()),
        ("50m", [suspend, resume].concat()),
        ("3h", [suspend, vacate].concat()),
    ] {
        let scenario =
            format!("length = '2h'\n[[jobs]]\ncount = 2\nruns = '{runs}'\nleaves = '1m'\n{events}");
        let summary = place.summary(&scenario, &[]);
        let [used, good, lost, suspended] = times(&summary);
        assert!(
            (used + suspended - good - lost).abs() < 1.0,
            "{events}: {used} + {suspended}, {good} + {lost}"
        );
        assert!(used > 1000.0, "{summary}");
        assert_eq!(suspended > 0.0, events.contains("suspend"), "{summary}");
        let owners: f64 =
            summary["owners"].as_array().unwrap().iter().map(|owner| owner["badput"].as_f64().unwrap()).sum();
        assert!((owners - lost).abs() < 1.0, "{owners} {lost}");
        if suspended > 0.0 {
            assert_eq!(summary["badput"]["suspended"]["count"], summary["jobs"]["suspended"], "{summary}");
        }
    }
    let running = place.summary("length = '2h'\n[[jobs]]\ncount = 1\nruns = '3h'\n", &[]);
    assert_eq!(running["badput"]["still running at the end"]["count"], 1, "{running}");
}

#[test]
fn dropped_jobs_that_never_started_never_ran() {
    let place = Place::new(CONFIG);
    let scenario =
        "length = '2h'\n[[jobs]]\ncount = 4\nruns = '1h'\nmemory = 99999\n[queue]\nrefused = 'drop'\n";
    let told = report(&place, scenario, &[]);
    assert!(told.contains(", 0 waiting, 4 never ran\n") && told.contains(", 4 dropped\n"), "{told}");
    let never = line(&told, "never ran: 4 ");
    assert!(never.contains("RequestMemory") && never.contains("99999"), "{never}");
    assert!(told.contains("    try RequestMemory "), "{told}");
    let summary = place.summary(scenario, &[]);
    assert_eq!((&summary["jobs"]["never_run"], &summary["never_run"][0]["count"]), (&4.into(), &4.into()));
}

#[test]
fn max_jobs_counts_the_jobs_of_all_machines() {
    let place = Place::new(CONFIG);
    for (machines, most) in [(4, 1), (2, 3), (1, 3), (3, 7)] {
        let scenario = format!(
            "length = '9h'\n[[machine]]\ncount = {machines}\ncpus = 2\nslots = 2\n[[jobs]]\ncount = 20\nruns = '30m'\n"
        );
        let summary = place.summary(&scenario, &["--max-jobs", &most.to_string()]);
        assert_eq!(summary["jobs"]["completed"], most, "{machines} {most}: {summary}");
        assert_eq!(summary["jobs"]["starts"], most, "{machines} {most}: {summary}");
        let ended = format!("--max-jobs {most} is reached");
        assert_eq!(summary["ended"], ended, "{machines} {most}: {summary}");
        assert!(summary["length"].as_f64().unwrap() < 3.0 * 3600.0, "{summary}");
    }
}

/// Regression test: the free space of the file system was the Disk of machines without `disk`.
#[test]
fn a_simulation_without_disk_can_be_repeated() {
    let place = Place::new(&CONFIG.replace("DISK = 1000000\n", ""));
    let scenario =
        "length = '1h'\n[[machine]]\ncpus = 2\n[[jobs]]\ncount = 1\nad = 'RequestDisk = 1000000000000000'\n";
    let before = place.summary(scenario, &[]);
    place.write("filler", "x".repeat(20_000_000));
    assert_eq!(before, place.summary(scenario, &[]));
}
