//! Tests of details of scenarios that are easy to get wrong: jobs that only some policies distinguish, priorities, histories,
//! several patterns at the same time, impossible requests. Problems must be reported.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::simulate_place::{CONFIG, Place};

/// If a policy refers to attributes of individual jobs, a slot that refuses one job is offered the next one.
#[test]
fn jobs_are_offered_one_by_one_if_policy_refers_to_their_ids() {
    let place = Place::new(CONFIG);
    let scenario = "start = 1700000000\nlength = '5h'\n[[jobs]]\ncount = 10\nruns = '10m'\n";
    let spread = "start = 1700000000\nlength = '5h'\n[[jobs]]\ncount = 10\nevery = 200\nruns = '10m'\n";
    let by_ad = "start = 1700000000\nlength = '5h'\n[[jobs]]\ncount = 10\nruns = '10m'\nad = 'Odd = ProcId % 2 == 1'\n";
    for (scenario, start, run) in [
        (scenario, "TARGET.ProcId % 2 == 1", 5),
        (spread, "TARGET.QDate > 1700000900", 5),
        (by_ad, "TARGET.Odd", 5),
        (scenario, "TARGET.ClusterId == 1", 10),
        (scenario, "TARGET.Owner == \"nobody\"", 0),
    ] {
        let parameter = format!("START={start}");
        let summary = place.summary(scenario, &["--param", &parameter]);
        assert_eq!(summary["jobs"]["completed"], run, "{start}: {summary}");
    }
    let (status, output, _) =
        place.play(scenario, &["--param", "START=TARGET.ProcId % 2 == 1", "--why", "1.1"]);
    assert!(status == 0 && output.contains("job 1.1 ended with status 0"), "{output}");
}

#[test]
fn priorities_apply_wherever_they_are_set() {
    let place = Place::new(CONFIG);
    let first = |low: &str, high: &str| {
        let scenario = format!(
            "length = '2h'\n[queue]\norder = 'priority'\n[[machine]]\nslots = 1\n[[jobs]]\nname = 'low'\nruns = '10m'\n{low}\n\
             [[jobs]]\nname = 'high'\nruns = '10m'\n{high}\n"
        );
        let (status, output, stderr) = place.play(&scenario, &["--events"]);
        assert_eq!((status, stderr.as_str()), (0, ""));
        let began =
            output.lines().find(|line| line.contains(": state Claimed/Busy") || line.contains("starter"));
        let began =
            output.lines().find(|line| line.contains("accepted")).or(began).unwrap_or_default().to_owned();
        assert!(began.contains("2.0"), "{low} {high}: {began}\n{output}");
    };
    first("ad = 'JobPrio = 1'", "ad = 'JobPrio = 20'");
    first("priority = -5", "");
    first("priority = -20", "priority = -5");
    first("ad = 'JobPrio = 5'", "ad = 'JobPrio = ClusterId * 10'");
    // The key `priority` sets JobPrio, so policies can refer to it.
    let jobs = "length = '2h'\n[[jobs]]\ncount = 40\nruns = '1m'\npriority = 'uniform -5 5'\n";
    let some = place.summary(jobs, &["--param", "START=TARGET.JobPrio > 0"]);
    let some = some["jobs"]["completed"].as_u64().unwrap();
    assert!((5..35).contains(&some), "{some}");
    let all = place.summary(jobs, &["--param", "START=TARGET.JobPrio >= -5"]);
    assert_eq!(all["jobs"]["completed"], 40);
}

const HISTORY: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ana\"\nQDate = 1700000000\nRemoteWallClockTime = 600.0\n\n\
    ClusterId = 2\nProcId = 0\nOwner = \"ben\"\nRemoteWallClockTime = 600.0\n\n\
    ClusterId = 3\nProcId = 0\nOwner = \"eve\"\nQDate = 1700000060\nthis is damaged\n\n\
    ClusterId = 4\nProcId = 0\nOwner = \"ana\"\nQDate = 1700000120\nRemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 1000.0\n\
    CumulativeSuspensionTime = 400\n\n\
    ClusterId = 5\nProcId = 0\nOwner = \"ana\"\nQDate = 1700090000\nRemoteWallClockTime = 600.0\n";

/// Jobs of a history that cannot be simulated are reported with their line, and the other jobs are simulated.
#[test]
fn skipped_jobs_of_a_history_are_reported() {
    let place = Place::new(CONFIG);
    place.write("h.ads", HISTORY);
    let scenario = "length = '2h'\n[[jobs]]\nfrom = 'h.ads'\nowner = 'x'\nmemory = 5\nwithin = '1h'\n";
    let (status, output, stderr) = place.play(scenario, &["--json"]);
    let summary: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((status, &summary[0]["jobs"]["completed"]), (0, &2.into()), "{stderr}");
    for said in [
        "h.ads:7: this ad has no QDate",
        "h.ads:16:",
        "h.ads: 2 ads cannot be simulated and are left out",
        "jobs of 'h.ads' that do not arrive: 1 of 3: the last would arrive 1d01h after the start, but the scenario ends after 2h",
        "'owner' has no effect with 'from'",
        "'memory' has no effect with 'from'",
        "'within' has no effect with 'from'",
    ] {
        assert!(stderr.contains(said), "'{said}' is not in\n{stderr}");
    }
    // The run time does not include the time of suspension.
    let (_, output, again) = place.play("length = '2h'\n[[jobs]]\nfrom = 'h.ads'\n", &["--why", "4.0"]);
    assert!(output.ends_with("+12m job 4.0 ended with status 0\n"), "{output}");
    // The scenario is simulated twice, but the line is reported once.
    assert_eq!(again.matches("h.ads:7:").count(), 1, "{again}");
    place.write("h.ads", "ClusterId = 2\nOwner = \"ben\"\n");
    let (status, _, stderr) = place.play("length = '2h'\n[[jobs]]\nfrom = 'h.ads'\n", &[]);
    assert!(
        status == 3 && stderr.contains("s.toml:3:8: jobs 1: 'h.ads' has no ad that can be simulated"),
        "{stderr}"
    );
}

/// Jobs can come from a queue or a history in any format, as for all verbs that read ads.
#[test]
fn jobs_are_read_from_every_kind_of_input() {
    let place = Place::new(CONFIG);
    let ad = |cluster: u32| {
        format!("ClusterId = {cluster}\nProcId = 0\nQDate = 1700000000\nRemoteWallClockTime = 60.0\n")
    };
    let both = ad(1) + "\n" + &ad(2);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(both.as_bytes()).unwrap();
    place.write("h.gz", packed.finish().unwrap());
    place.write(
        "job_queue.log",
        "107 1 CreationTimestamp 1700000000\n105\n101 01.-1 Job Machine\n103 01.-1 QDate 1700000000\n101 1.0 Job Machine\n\
         103 1.0 ClusterId 1\n103 1.0 ProcId 0\n101 1.1 Job Machine\n103 1.1 ClusterId 1\n103 1.1 ProcId 1\n106\n",
    );
    std::fs::create_dir(place.path("d")).unwrap();
    place.write("d/1.ad", ad(1));
    place.write("d/2.ad", ad(2));
    place.write(
        "h.json",
        "[\n{\"ClusterId\": 1, \"ProcId\": 0, \"QDate\": 1700000000},\n{\"ClusterId\": 2, \"ProcId\": 0, \"QDate\": 1700000000}\n]\n",
    );
    for from in ["h.gz", "job_queue.log", "d", "h.json"] {
        let summary = place.summary(&format!("length = '1h'\n[[jobs]]\nfrom = '{from}'\nruns = 60\n"), &[]);
        assert_eq!(summary["jobs"]["completed"], 2, "{from}");
    }
    place.write("h.xz", b"\xfd7zXZ\0 and so on");
    let (status, _, stderr) = place.play("length = '1h'\n[[jobs]]\nfrom = 'h.xz'\n", &[]);
    assert!(status == 3 && stderr.contains("the xz data is damaged"), "{stderr}");
}

/// The keyboard is in use while any of the patterns applies, and loads of several patterns add up.
#[test]
fn several_patterns_of_one_machine_are_combined() {
    let place = Place::new(CONFIG);
    let changes = |text: &str| {
        let (status, output, stderr) = place.play(text, &["--events"]);
        assert_eq!((status, stderr.as_str()), (0, ""), "{text}");
        let is_change =
            |line: &&str| line.contains("slot1: state Owner") || line.contains("slot1: state Unclaimed");
        let time = |line: &str| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
        output.lines().filter(is_change).map(|line| (time(line), line.contains("Owner"))).collect::<Vec<_>>()
    };
    let head = "start = 2026-11-02 08:00:00\nlength = '12h'\n[knobs]\nUPDATE_INTERVAL = 60\nSLOTS_CONNECTED_TO_KEYBOARD = 2\n";
    let hours = |table: &str, hours: &str, more: &str| {
        format!("[[{table}]]\nhours = '{hours}'\nbusy = '24h'\naway = 0\n{more}\n")
    };
    let is_owner = |all: &[(f64, bool)], at: f64| {
        all.iter().rev().find(|(when, _)| *when <= at).is_some_and(|(_, is_owner)| *is_owner)
    };
    // The patterns are from 9 to 12 and from 10 to 15, so the keyboard is still in use at 13.
    let keyboards = hours("keyboard", "09:00-12:00", "") + &hours("keyboard", "10:00-15:00", "");
    let all = changes(&format!("{head}IS_OWNER = 'KeyboardIdle < 60'\n{keyboards}"));
    let seen = [0.5, 2.0, 5.0, 8.0].map(|hours: f64| is_owner(&all, hours * 3600.0));
    assert_eq!(seen, [false, true, true, false], "{all:?}");
    // Only together, 0.4 and 0.5 exceed 0.6.
    let loads = hours("load", "09:00-12:00", "load = 0.4") + &hours("load", "10:00-15:00", "load = 0.5");
    let all = changes(&format!("{head}IS_OWNER = 'LoadAvg > 0.6'\n{loads}"));
    let seen = [1.5, 3.0, 5.0].map(|hours: f64| is_owner(&all, hours * 3600.0));
    assert_eq!(seen, [false, true, false], "{all:?}");
}

/// Sizes have no upper limit, unlike times.
#[test]
fn sizes_have_no_upper_limit() {
    let place = Place::new(CONFIG);
    let scenario = "length = '1h'\n[[jobs]]\ndisk = '10T'\nruns = 60\n";
    let (_, output, _) = place.play(scenario, &["--why", "1.0"]);
    assert!(output.contains("RequestDisk = 10737418240"), "{output}");
}

/// A refused job is offered again as soon as START may have changed, not only after `retry`.
#[test]
fn a_refused_job_is_offered_again_when_start_may_have_changed() {
    let place = Place::new(CONFIG);
    let head = "start = 2026-11-02 17:00:00\nlength = '6h'\n[[jobs]]\nat = '17:50'\nruns = '5m'\n";
    let began = |scenario: &str, start: &str| {
        let parameter = format!("START={start}");
        place.summary(scenario, &["--param", &parameter]);
        let (_, output, _) = place.play(scenario, &["--param", &parameter, "--why", "1.0"]);
        let line =
            output.lines().find(|line| line.contains(" started on ")).unwrap_or_else(|| panic!("{output}"));
        line.split_whitespace().next().unwrap().to_owned()
    };
    // START changes when the clock reaches 18:00, not an hour after 17:50.
    let at = began(head, "TARGET.RequestCpus > 0 && (TARGET.RequestCpus > 5 || ClockMin >= 1080)");
    assert!(at == "+1h" || at == "+1h01m", "{at}");
    let load = format!("{head}[[event]]\nat = 0\nload = 1.0\n[[event]]\nat = '18:10'\nload = 0\n");
    let at = began(&load, "TARGET.RequestCpus > 5 || TotalLoadAvg < 0.5");
    assert!(at == "+1h10m" || at == "+1h11m", "{at}");
    // A partitionable slot has more free resources when the job of a dynamic slot ends.
    place.write(
        "c.conf",
        CONFIG.replace("50%", "100%").replace("= False", "= True").replace("TYPE_1 = 2", "TYPE_1 = 1"),
    );
    let full = "length = '6h'\n[[jobs]]\ncount = 2\nruns = '20m'\ncpus = 1\nmemory = 100\ndisk = 1\n\
        [[jobs]]\nat = '5m'\ncpus = 2\nmemory = 100\ndisk = 1\nruns = '5m'\n";
    place.summary(full, &[]);
    let (_, output, _) = place.play(full, &["--why", "2.0"]);
    let line =
        output.lines().find(|line| line.contains(" started on ")).unwrap_or_else(|| panic!("{output}"));
    let minutes = line.trim().strip_prefix('+').and_then(|rest| rest.split('m').next()).unwrap();
    assert!(minutes.parse::<u32>().is_ok_and(|minutes| (20..50).contains(&minutes)), "{output}");
}

/// If its policy refers to another slot, a slot is offered a refused job again as soon as the other slot has changed, not only
/// after `retry`.
#[test]
fn a_refused_job_is_offered_again_when_another_slot_has_changed() {
    let place = Place::new(CONFIG);
    let scenario =
        "length = '3h'\n[[jobs]]\nruns = '10m'\nad = 'First = true'\n[[jobs]]\nat = '2m'\nruns = '5m'\n";
    let run = |start: &str, more: &[&str]| {
        let parameter = format!("START={start}");
        let words = [&["--param", &parameter], more].concat();
        place.summary(scenario, &words);
        let (_, output, _) = place.play(scenario, &[&words, &["--why", "2.0"][..]].concat());
        let line = output
            .lines()
            .find(|line| line.contains(" started on slot2"))
            .unwrap_or_else(|| panic!("{output}"));
        let minutes = line.trim().strip_prefix('+').and_then(|rest| rest.split('m').next()).unwrap();
        assert!(minutes.parse::<u32>().is_ok_and(|minutes| (10..25).contains(&minutes)), "{output}");
    };
    let second = |most: &str| {
        format!(
            "ifThenElse(SlotID == 1, TARGET.First == true, TARGET.First =!= true && TARGET.RequestCpus > {most})"
        )
    };
    run(&second("ifThenElse(slot1_State =?= \"Claimed\", 5, 0)"), &["--param", "STARTD_SLOT_ATTRS=State"]);
}

#[test]
fn jobs_that_no_slot_fetches_have_a_reason() {
    let place = Place::new(CONFIG);
    place.write("c.conf", format!("{CONFIG}START = KeyboardIdle > 900000\n"));
    let scenario =
        "length = '3h'\n[[jobs]]\ncount = 3\nruns = 60\n[[jobs]]\nname = 'late'\nat = '1h'\nruns = 60\n";
    let (status, output, stderr) = place.play(scenario, &[]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    let expected = "never ran: 3 of jobs 1: no slot was offered a job: START is false in 2 slots: KeyboardIdle > 900000 (KeyboardIdle = ";
    assert!(output.contains(expected) && output.contains("c.conf, line 9)"), "{output}");
    let (status, output, _) = place.play(scenario, &["--why", "2.0"]);
    assert_eq!(status, 1);
    assert!(
        output.contains(
            "no slot was ever offered this job\n    1 of late never ran: no slot was offered a job: START is false"
        ),
        "{output}"
    );
    assert!(!output.contains("of jobs 1"), "{output}");
    // The message has the location of the setting in the scenario.
    let (_, output, _) = place.play("length = '1h'\n[knobs]\nSTART = 'False'\n[[jobs]]\n", &[]);
    assert!(output.contains("START is false in 2 slots: false (s.toml, line 3)"), "{output}");
    place.write("c.conf", CONFIG);
    let (_, output, _) =
        place.play("length = '1h'\n[[jobs]]\ncount = 2\nruns = '2h'\n[[jobs]]\nname = 'last'\n", &[]);
    assert!(
        output.contains(
            "never ran: 1 of last: large enough: 2 of 2 slots; of these, busy with other jobs at the end: 2"
        ),
        "{output}"
    );
}

#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn each_machine_of_a_distribution_has_its_own_random_size() {
    let place = Place::new(CONFIG);
    let scenario = |seed: u32| {
        format!(
            "seed = {seed}\nlength = '3h'\n[[machine]]\nname = 'm'\ncount = 12\nslots = 1\nmemory = [1000, 8000]\n[[jobs]]\ncount = 12\n\
             memory = 2000\nruns = '4h'\n"
        )
    };
    let running = |seed: u32| place.summary(&scenario(seed), &[])["jobs"]["running"].as_u64().unwrap();
    let found: Vec<u64> = (1..=4).map(running).collect();
    assert!(found.iter().all(|count| (1..12).contains(count)), "{found:?}");
    assert!(found.iter().any(|count| *count != found[0]), "{found:?}");
    // The location of a setting is known for each of the machines, not only for the first one.
    place.write(
        "s.toml",
        scenario(1).replace("slots = 1\n", "slots = 1\nknobs = { PREEMPT = 'Memory < 9' }\n"),
    );
    let stdout = place.stdout_of(&["simulate", "s.toml", "--why", "slot1@m12@1h"]);
    assert!(stdout.contains("PREEMPT = Memory < 9 (s.toml, line 7)"), "{stdout}");
    let (_, _, stderr) = place.run(&["simulate", "s.toml", "--why", "quite-another@1h"]);
    assert!(
        stderr.contains("the slots are slot1@m1, ")
            && stderr.contains(" and 4 more; write, for example, slot1@m1@1h"),
        "{stderr}"
    );
    for (count, title) in [("1", "1 slot, 3h"), ("2", "2 slots, 3h")] {
        place.write("one.toml", format!("length = '3h'\n[[machine]]\nslots = {count}\n"));
        let page = place.stdout_of(&["simulate", "one.toml", "--html", "-"]);
        assert!(page.contains(&format!(">{title}<")), "{page}");
    }
}

/// Parameters with misspelled names have no effect, which is reported.
#[test]
fn misspelled_parameters_are_reported_with_their_location() {
    let place = Place::new(&format!("{CONFIG}STRAT = False\nMyOwn = 5\nRANK = $(MyOwn)\n"));
    let scenario =
        "length = '1h'\n[knobs]\nPREEMTP = 'True'\n[[event]]\nat = 5\nknobs = { SUSPNED = 'True' }\n";
    let (status, _, stderr) = place.play(scenario, &["--param", "CONTINEU=True"]);
    assert_eq!(status, 0, "{stderr}");
    for said in [
        "c.conf, line 9: nothing reads STRAT; did you mean START?",
        "s.toml, line 3: nothing reads PREEMTP; did you mean PREEMPT?",
        "s.toml, line 6: nothing reads SUSPNED; did you mean SUSPEND?",
        "--param: nothing reads CONTINEU; did you mean CONTINUE?",
    ] {
        assert!(stderr.contains(said), "'{said}' is not in\n{stderr}");
    }
    assert_eq!(stderr.lines().count(), 4, "{stderr}");
}

/// Settings without effect are reported.
#[test]
fn settings_without_effect_are_reported() {
    let place = Place::new(CONFIG);
    for (scenario, said) in [
        (
            "length = '5h'\n[[keyboard]]\n",
            "[[keyboard]] 1 changes nothing: no slot of its machines is connected",
        ),
        (
            "length = '5h'\n[[event]]\nat = 5\nknobs = { NUM_SLOTS_TYPE_1 = 1, MEMORY = 10, START = 'True' }\n",
            "event 1: MEMORY, NUM_SLOTS_TYPE_1 takes effect only after a restart",
        ),
        (
            "length = '5h'\n[[jobs]]\nat = '1d'\n",
            "jobs 1: no job arrives: the first would arrive 1d after the start, but the scenario ends after 5h",
        ),
    ] {
        let (status, output, stderr) = place.play(scenario, &[]);
        assert!(
            status == 0 && stderr.contains(said) && stderr.lines().count() == 1,
            "{said}: {output}{stderr}"
        );
    }
    // The scenario that --init writes causes no warnings.
    let (_, first, _) = place.run(&["simulate", "--init"]);
    let (status, _, stderr) =
        place.play(&first.replace("\"7d\"", "\"4d\"").replace("count  = 400", "count  = 20"), &[]);
    assert_eq!((status, stderr.as_str()), (0, ""));
}

#[test]
fn impossible_settings_are_reported_with_key_file_and_line() {
    let place = Place::new(CONFIG);
    for (scenario, said) in [
        (
            "length = 10\n[[event]]\nat = 20\nidle = 0\n",
            "s.toml:3:6: 'at' is 20s after the start: it ends after 10s",
        ),
        (
            "length = 10\n[[event]]\nat = 1\ncommand = 'drain'\nslot = 'slot1'\n",
            "s.toml:5:8: 'drain' is for the whole",
        ),
        (
            "length = 10\n[[event]]\nat = 1\ncommand = 'dance'\n",
            "s.toml:4:11: event 1: there is no command 'dance'",
        ),
        (
            "length = 10\n[[event]]\nat = 1\ncron = 'no attribute'\n",
            "s.toml:4:8: event 1: the output of a cron job has",
        ),
        (
            "length = 10\n[[load]]\nmachines = 'zz*'\n",
            "s.toml:3:12: [[load]]: no machine has the name 'zz*'; the only machine has no name",
        ),
        ("length = 10\n[[jobs]]\nad = 'no attribute'\n", "s.toml:3:6: jobs 1: 'ad': "),
        ("length = 10\n[[machine]]\ncpus = 0\n", "s.toml:3:8: 'cpus' must not be 0"),
        (
            "length = 10\n[[event]]\nat = 1\ncommand = 'vacate'\nhow = 'slowly'\n",
            "s.toml:5:7: event 1: 'slowly' is not a valid value",
        ),
        ("length = 10\n[knobs]\nA = 1\nSTART = '('\n", "s.toml:4: START: "),
        (
            "length = 10\n[[jobs]]\nfrom = 'nowhere'\n",
            "s.toml:3:8: jobs 1: 'from': cannot read 'nowhere': No such",
        ),
        (
            "length = 10\n[[queue]]\nretry = 5\n",
            "'queue' is a list: expected one table, which begins with a line [queue]",
        ),
    ] {
        let (status, _, stderr) = place.play(scenario, &[]);
        assert!(status == 3 && stderr.contains(said), "'{said}' is not in\n{stderr}");
    }
    let (_, _, stderr) = place.play("length = 10\n[knobs]\nSTART = 'True'\n", &["--param", "START=("]);
    assert!(stderr.contains("--param: START: "), "{stderr}");
}

#[test]
fn events_and_pictures_are_written_or_the_failure_is_reported() {
    let place = Place::new(CONFIG);
    let scenario = "length = '1h'\n[[machine]]\nname = \"a\\u001b[2J\\u0000b\"\n[[jobs]]\nruns = '10m'\n";
    let (status, output, stderr) = place.play(scenario, &["--events", "--svg", "x.svg", "--html", "x.html"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(output.contains(": state ") && !output.contains(['\x1b', '\0']), "{output:?}");
    assert!(place.read("x.svg").contains("<svg") && place.read("x.html").contains("<svg"));
    let (status, output, _) = place.play(scenario, &["--events", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&output).unwrap();
    assert!(status == 0 && all.iter().any(|event| event["event"] == "state"), "{output}");
    let (_, output, _) = place.play(scenario, &["--events", "--jsonl"]);
    assert!(output.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{output}");
    // The picture is written to standard output, and no summary is printed.
    let (status, output, _) = place.play(scenario, &["--svg", "-"]);
    assert!(status == 0 && output.starts_with("<svg") && !place.path("-").exists(), "{output}");
    for words in [&["--svg", "-", "--html", "-"][..], &["--svg", "-", "--events"], &["--html", "-", "--json"]]
    {
        assert_eq!(place.play(scenario, words).0, 2, "{words:?}");
    }
    // The error is reported before the simulation starts.
    let (status, output, stderr) = place.play(scenario, &["--svg", "nowhere/x.svg"]);
    assert_ne!(status, 0);
    assert!(output.is_empty() && stderr.contains("cannot write 'nowhere/x.svg'"), "{output}{stderr}");
    if Path::new("/dev/full").exists() {
        let (status, output, stderr) = place.play(scenario, &["--events", "/dev/full"]);
        assert!(status != 0 && output.contains("utilisation"), "{output}");
        assert!(stderr.contains("cannot write events to '/dev/full'"), "{stderr}");
        let (status, output, stderr) = place.play(scenario, &["--svg", "/dev/full"]);
        assert!(
            status != 0 && output.contains("utilisation") && stderr.contains("cannot write '/dev/full'"),
            "{stderr}"
        );
    }
}

/// Even without jobs, two configurations can differ in many ways.
#[test]
fn compare_shows_states_hooks_and_all_owners() {
    let place = Place::new(CONFIG);
    place.write("own.conf", format!("{CONFIG}IS_OWNER = True\n"));
    let (status, output, _) = place.play("length = '5h'\n", &["--compare", "own.conf"]);
    assert_eq!(status, 1, "{output}");
    let owner = output.lines().find(|line| line.starts_with("static type 1, Owner/Idle "));
    assert!(owner.is_some_and(|line| line.ends_with("    0s    10h    +10h")), "{output}");
    let owners: String =
        (1..=7).map(|number| format!("[[jobs]]\nowner = 'o{number}'\nruns = 60\n")).collect();
    let scenario = format!("length = '5h'\n{owners}");
    place.write("no.conf", format!("{CONFIG}START = False\n"));
    let (_, output, _) = place.play(&scenario, &["--compare", "no.conf"]);
    assert!(output.contains("(2 owners not shown; --json has them)"), "{output}");
    assert!(output.contains("FETCH_WORK, accepted"), "{output}");
}

#[test]
fn explain_reports_misspelled_names_of_set() {
    let place = Place::new(CONFIG);
    place.write("c.conf", format!("{CONFIG}EXECUTE = {}\nSTART = LoadAvg < 0.3\n", place.path("").display()));
    place.write("j.ads", "Owner = \"a\"\n");
    let ask = |set: &str| place.run(&["explain", "--ads", "j.ads", "--set", set, "slot1"]);
    let (_, _, stderr) = ask("Lodavg=1");
    assert!(
        stderr.contains("--set Lodavg: no slot has this attribute")
            && stderr.contains("did you mean LoadAvg?"),
        "{stderr}"
    );
    let (status, _, stderr) = ask("Load Avg=1");
    assert!(status == 2 && stderr.contains("'Load Avg' is not a valid attribute name"), "{stderr}");
    let (_, _, stderr) = ask("loadavg=1");
    assert_eq!(stderr, "");
    // Only a job refers to the attribute HasThing.
    place.write("j.ads", "Owner = \"a\"\nRequirements = TARGET.HasThing\n");
    let (_, _, stderr) = ask("hasthing=true");
    assert_eq!(stderr, "");
    let words = ["explain", "--ads", "j.ads", "--param", "START=TARGET.X", "slot1"];
    let (_, output, _) = place.run(&words);
    assert!(output.contains("[Start: --param]"), "{output}");
}

/// Times are relative to the start, because seconds since 1970 would lose fractions.
#[test]
fn times_in_json_keep_their_fractions() {
    let place = Place::new(CONFIG);
    let (_, output, _) =
        place.play("length = '1h'\n[[jobs]]\nruns = '10m'\n", &["--why", "slot1@1m", "--json"]);
    assert!(output.contains("\"at\": 0.01"), "{output}");
}

/// Attributes that cron jobs publish are treated like the configuration: they may refer to individual jobs, and change while no
/// poll is made.
#[test]
fn attributes_from_a_cron_event_may_refer_to_jobs_and_keyboard() {
    let place = Place::new(CONFIG);
    let odd = "length = '1d'\n[[jobs]]\ncount = 10\nruns = '10m'\n[[event]]\nat = '0s'\ncron = 'Odd = TARGET.ProcId % 2 == 1'\n";
    let summary = place.summary(odd, &["--param", "START=Odd"]);
    assert_eq!(summary["jobs"]["completed"], 5, "{summary}");
    let quiet = "length = '4h'\n[[jobs]]\ncount = 4\nruns = '10m'\n[[event]]\nat = '0s'\ncron = 'Quiet = KeyboardIdle > 600'\n\
                 [[keyboard]]\nbusy = '20m'\naway = '30m'\n";
    let summary =
        place.summary(quiet, &["--param", "START=Quiet", "--param", "SLOTS_CONNECTED_TO_KEYBOARD=2"]);
    assert_eq!(summary["jobs"]["completed"], 4, "{summary}");
}

/// A fraction of a unit is rounded up to one unit, also in a list of sizes. A pipe receives its picture.
#[test]
fn small_sizes_are_rounded_up_and_a_pipe_receives_its_picture() {
    let place = Place::new(CONFIG);
    let jobs = "length = '1h'\n[[jobs]]\ncount = 1\nruns = '10m'\nmemory = ['256K']\n";
    let summary = place.summary(jobs, &["--param", "START=TARGET.RequestMemory == 1"]);
    assert_eq!(summary["jobs"]["completed"], 1, "{summary}");
    let pipe = place.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    assert_eq!(place.play(jobs, &["--svg", "pipe"]).0, 0);
    assert!(reader.join().unwrap().contains("</svg>"));
}

/// The program waits for a blocked reader only until --timeout, although a simulation has no time limit of its own.
#[test]
fn a_blocked_reader_is_waited_for_until_the_timeout() {
    let place = Place::new(CONFIG);
    place.write("s.toml", "length = '30d'\n");
    let pipe = place.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for events in [&["--events"][..], &["--events=pipe"], &["--svg", "pipe"], &["--html", "pipe"]] {
        let words = [&["simulate", "s.toml", "--timeout", "1"], events].concat();
        let mut child = place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(124), "{stderr}");
        assert!(stderr.contains("the time limit (--timeout) "), "{stderr}");
    }
}

#[test]
fn jobs_that_hooks_do_not_return_have_a_reason() {
    let place = Place::new(CONFIG);
    for (does, expected) in [
        ("fails = true", "calls of FETCH_WORK "),
        ("hangs = true", "calls of FETCH_WORK "),
        ("prints = 'no ad'", "printed something that is not a job ad"),
    ] {
        let scenario = format!("length = '1h'\n[[jobs]]\ncount = 2\n[[hook]]\ntype = 'FETCH_WORK'\n{does}\n");
        let (_, output, _) = place.play(&scenario, &[]);
        let never =
            output.lines().find(|line| line.starts_with("never ran")).unwrap_or_else(|| panic!("{output}"));
        assert!(never.contains(" at the end; of ") && never.contains(expected), "{does}: {never}");
    }
    let off = "length = '1h'\n[[jobs]]\n[[hook]]\ntype = 'FETCH_WORK'\ntakes = '3h'\n[[event]]\nat = '10m'\ncommand = 'off'\n";
    let (_, output, _) = place.play(off, &[]);
    assert!(
        output.contains("never ran: 1 of jobs 1: no slot was offered a job: no machine is left ("),
        "{output}"
    );
}
