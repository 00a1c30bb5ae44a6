//! Tests of questions to `simulate` and `explain`: why, what if, what changes; and of the effect of every key of a scenario.

use std::path::Path;
use std::process::Command;

use crate::support::simulate_place::{CONFIG, Place};
use crate::support::tests_all_combinations;

const POLICY: &str = "START = TARGET.Owner =!= \"mallory\" && TARGET.RequestMemory < 500
PREEMPT = (time() - JobStart) > 3600
";

const SCENARIO: &str = "start = 2026-11-02 08:00:00
length = \"6h\"
[[jobs]]
name = \"good\"
count = 3
every = \"30m\"
runs = \"2h\"
owner = \"ana\"
memory = 100
leaves = \"5s\"
[[jobs]]
name = \"evil\"
count = 2
owner = \"mallory\"
runs = \"5m\"
";

const JOBS: &str = "ClusterId = 7
ProcId = 0
Owner = \"ana\"
RequestMemory = 100
QDate = 1700000000
JobStatus = 4
RemoteWallClockTime = 600.0
CompletionDate = 1700001000
ExitCode = 3

ClusterId = 8
ProcId = 4
Owner = \"mallory\"
RequestMemory = 900
QDate = 1700000300
JobStartDate = 1700000310
CompletionDate = 1700000370
";

fn config() -> String {
    format!("{CONFIG}{POLICY}")
}

fn place() -> Place {
    let place = Place::new(&config());
    place.write("s.toml", SCENARIO);
    place.write("jobs.ads", JOBS);
    place
}

#[test]
fn why_of_a_job_shows_its_history_and_decisions_with_locations_and_values() {
    let place = place();
    let output = place.stdout_of(&["simulate", "s.toml", "--why", "1.0"]);
    let expected = "         +0s job 1.0 arrived
      +0.01s job 1.0 started on slot1
         +1h job 1.0 was evicted from slot1: PREEMPT is true
                 PREEMPT = (time() - JobStart) > 3600 (c.conf, line 10)
                     is true
                     JobStart = 1793606400
";
    assert!(output.starts_with(expected), "{output}");
    let refused = place.stdout_of(&["simulate", "s.toml", "--why", "2.0"]);
    let clause = "                 START = TARGET.Owner =!= \"mallory\" (c.conf, line 9)
                     is false
                     TARGET.Owner = \"mallory\"
";
    assert!(refused.contains(clause), "{refused}");
    // JSON has the same content.
    let output = place.stdout_of(&["simulate", "s.toml", "--why", "1.0", "--json"]);
    let story: serde_json::Value = serde_json::from_str(&output).unwrap();
    let decided = &story[0]["happened"][2]["decided"][0];
    assert_eq!(
        (&decided["knob"], &decided["place"]),
        (&"PREEMPT".into(), &"c.conf, line 10".into()),
        "{output}"
    );
    let (status, output, stderr) = place.run(&["simulate", "s.toml", "--why", "9.0"]);
    assert_eq!((status, output.as_str()), (2, ""));
    assert!(stderr.contains("this scenario has no job 9.0"), "{stderr}");
}

#[test]
fn why_of_a_slot_shows_its_last_change_and_its_current_policy() {
    let place = place();
    let output = place.stdout_of(&["simulate", "s.toml", "--why", "slot1@09:00:10"]);
    let expected = "slot1 at +1h: Preempting/Vacating
since +1h: Claimed/Retiring: PREEMPT is true
    PREEMPT = (time() - JobStart) > 3600 (c.conf, line 10)
        is true
        JobStart = 1793606400
since +1h: Preempting/Vacating: retirement has ended
policy at +1h (* = caused the current state):
    START = ";
    assert!(output.starts_with(expected), "{output}");
    assert!(output.contains("  * PREEMPT = "), "{output}");
    for (what, said) in [
        ("slot1@7h", "the time is 7h after the start of the scenario, which lasts 6h"),
        ("slto1@1h", "there is no slot 'slto1' at that time\nhint: did you mean slot1@1h?"),
        ("slot1@soon", "'soon' is not a valid time"),
        ("slot1", "expected a job such as 1.17, or SLOT@TIME"),
        ("@2h", "expected a job such as 1.17, or SLOT@TIME"),
        ("1.2.3", "expected a job such as 1.17, or SLOT@TIME"),
    ] {
        let (status, output, stderr) = place.run(&["simulate", "s.toml", "--why", what]);
        assert_eq!((status, output.as_str()), (2, ""), "{what}");
        assert!(stderr.contains(said), "{what}: {stderr}");
    }
}

/// The decisive condition of a long policy is named. The reason for the loss of a job is the reason for its eviction, not a later
/// event.
#[test]
fn why_names_the_condition_that_decides() {
    let place = place();
    let policy = "SUSPEND = TARGET.Owner == \"ana\" && (KeyboardIdle < 60 || LoadAvg > 9)\nCONTINUE = KeyboardIdle > 100\n\
        WANT_SUSPEND = True\nPREEMPT = Activity == \"Suspended\" && (time() - EnteredCurrentActivity) > 30\n\
        MaxJobRetirementTime = 7200\nSLOTS_CONNECTED_TO_KEYBOARD = 1\n\
        START = TARGET.Owner != \"x\" && (KeyboardIdle > 10 || TARGET.RequestMemory < 500)\n";
    place.write("c.conf", config() + policy);
    place.write(
        "k.toml",
        "length = '4h'\n[[jobs]]\nruns = '3h'\nowner = 'ana'\nmemory = 1\n[[event]]\nat = '30m'\nevery = '30m'\nidle = 0\n",
    );
    let stdout = place.stdout_of(&["simulate", "k.toml", "--why", "slot1@30m20s"]);
    let expected = "        is false\n        because (time() - EnteredCurrentActivity) > 30 is false\n        Activity = ";
    assert!(stdout.contains(expected), "{stdout}");
    let stdout = place.stdout_of(&["simulate", "k.toml", "--why", "1.0"]);
    assert!(stdout.contains("was evicted from slot1: PREEMPT is true\n"), "{stdout}");
    assert!(!stdout.contains("was evicted from slot1: CONTINUE"), "{stdout}");
    place.write(
        "c.conf",
        config() + "START = TARGET.Owner == \"ana\" && (KeyboardIdle > 1000000 || TARGET.Site =?= \"x\")\n",
    );
    let sizes = "length = '4h'\n[[jobs]]\nname = 'short'\ncount = 20\nowner = 'ana'\nmemory = [1, 2, 3]\n";
    place.write("n.toml", sizes);
    let stdout = place.stdout_of(&["simulate", "n.toml"]);
    let never: Vec<&str> = stdout.lines().filter(|line| line.starts_with("never ran")).collect();
    let wanted_never = "never ran: 20 of short of ana: no slot was offered a job: START is false in 2 slots: \
        KeyboardIdle > 1000000 || TARGET.Site =?= \"x\" (KeyboardIdle = ";
    assert!(never.len() == 1 && never[0].starts_with(wanted_never), "{stdout}");
    assert!(never[0].ends_with("without a job == gives undefined where =?= gives false"), "{stdout}");
}

/// A condition on Activity is true while the job is Busy, but not when it leaves. The explanation shows the values at the time of
/// the decision.
#[test]
fn why_shows_the_values_at_the_time_of_the_decision() {
    let place = place();
    place.write("c.conf", config() + "PREEMPT = Activity == \"Busy\" && TotalJobRunTime > 600\n");
    let stdout = place.stdout_of(&["simulate", "s.toml", "--why", "1.0"]);
    assert!(stdout.contains("                     Activity = \"Busy\"\n"), "{stdout}");
    // For a parameter that an event sets later, the location of that setting is shown.
    place.write(
        "r.toml",
        "length = '1h'\n[[jobs]]\nruns = '2h'\n[[event]]\nat = '20m'\nknobs = { PREEMPT = 'true' }\n",
    );
    let stdout = place.stdout_of(&["simulate", "r.toml", "--why", "1.0"]);
    assert!(stdout.contains("PREEMPT = true (r.toml, line 6)"), "{stdout}");
}

#[test]
fn compare_shows_changes_and_the_first_job_with_another_course() {
    let place = place();
    place.write("new.conf", config().replace("3600", "7300"));
    let (status, output, stderr) = place.run(&["simulate", "s.toml", "--compare", "new.conf"]);
    assert_eq!((status, stderr.as_str()), (1, ""), "{output}");
    assert!(output.starts_with("before: c.conf\nafter:  new.conf\n\n  "), "{output}");
    let completed = output.lines().find(|line| line.starts_with("jobs completed ")).unwrap_or_default();
    assert!(completed.split_whitespace().eq(["jobs", "completed", "0", "3", "+3"]), "{output}");
    let expected = "the first job with a different result is 1.0:
    before: at +1h it was evicted from slot1: PREEMPT is true
                PREEMPT = (time() - JobStart) > 3600 (c.conf, line 10)
                    is true
                    JobStart = 1793606400
    after:  at +2h it ended with status 0
";
    assert!(output.ends_with(expected), "{output}");
    let (status, output, _) = place.run(&["simulate", "s.toml", "--compare", "c.conf"]);
    assert!(status == 0 && output.ends_with("\nevery job has the same result\n"), "{output}");
    for words in [["--compare", "new.conf", "--svg", "x.svg"], ["--why", "1.0", "--html", "x.html"]] {
        let mut all = vec!["simulate", "s.toml"];
        all.extend(words);
        let (status, _, stderr) = place.run(&all);
        assert!(status == 2 && stderr.contains("cannot be used with"), "{stderr}");
    }
}

/// The jobs have the owners, requests, intervals, run times and exit status of the history.
#[test]
fn a_history_is_simulated() {
    let place = place();
    place.write(
        "h.toml",
        "length = '1h'\n[[jobs]]\nname = 'history'\nfrom = 'jobs.ads'\n[knobs]\nSTART = 'True'\n",
    );
    let stdout = place.stdout_of(&["simulate", "h.toml", "--why", "7.0"]);
    assert!(stdout.ends_with("     +10m job 7.0 ended with status 3\n"), "{stdout}");
    let stdout = place.stdout_of(&["simulate", "h.toml", "--why", "8.4"]);
    assert!(
        stdout.contains("+5m job 8.4 arrived\n") && stdout.contains(" job 8.4 ended with status 0\n"),
        "{stdout}"
    );
    let summary = place.row(&["simulate", "h.toml", "--json"]);
    assert_eq!(summary["jobs"]["completed"], 2);
    assert_eq!(summary["jobs"]["failed"], 1);
    assert_eq!(summary["owners"][1]["goodput"], 60.0, "{summary}");
    std::fs::create_dir(place.path("empty")).unwrap();
    for (from, said) in [("nowhere", "No such file"), ("empty", "has no ads"), ("c.conf", "jobs 1")] {
        place.write("h.toml", format!("length = '1h'\n[[jobs]]\nfrom = '{from}'\n"));
        let (status, _, stderr) = place.run(&["simulate", "h.toml"]);
        assert!(status == 3 && stderr.contains(said), "{from}: {status} {stderr}");
    }
}

#[test]
fn simulated_hooks_hang_fail_print_nonsense_and_take_time() {
    let place = place();
    let hook = |from: &str, to: &str, does: &str| {
        format!("[[hook]]\ntype = 'FETCH_WORK'\nfrom = '{from}'\nto = '{to}'\n{does}\n")
    };
    let scenario = format!(
        "length = '10m'\n{}{}{}",
        hook("90s", "150s", "prints = 'this is no job'"),
        hook("210s", "270s", "fails = true"),
        hook("390s", "450s", "hangs = true")
    );
    place.write("h.toml", &scenario);
    let summary = place.row(&["simulate", "h.toml", "--json"]);
    let fetch = &summary["hooks"][0];
    // Two slots fetch at 0, 60, ... 420 s. The slot whose hook hangs at 420 s does not fetch again.
    assert_eq!(
        (&fetch["calls"], &fetch["bad"], &fetch["failed"]),
        (&16.into(), &2.into(), &4.into()),
        "{fetch}"
    );
    assert_eq!(fetch["nothing"], 10, "{fetch}");
    place.write("d.toml", "length = '10m'\nfetch_takes = '20s'\n[[jobs]]\nruns = '1m'\nmemory = 1\n");
    let stdout = place.stdout_of(&["simulate", "d.toml", "--events"]);
    assert!(stdout.contains("   +20.000 slot1: state Claimed/Busy"), "{stdout}");
}

#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn events_of_every_kind_take_effect_at_their_time() {
    let place = place();
    let tried = |keys: &str, expected: &[(&str, f64, f64)]| {
        place.write("k.toml", format!("start = 2026-11-02 08:00:00\nlength = '2d'\n{keys}"));
        let stdout = place.stdout_of(&["simulate", "k.toml", "--events"]);
        for (state, from, to) in expected {
            let fits = |line: &&str| {
                let at: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
                line.contains(state) && (*from..=*to).contains(&at)
            };
            let found = stdout.lines().find(fits);
            assert!(found.is_some(), "{keys}: no {state} from {from} to {to}: {stdout}");
        }
        // With --every-poll, the events are the same.
        let naive = place.stdout_of(&["simulate", "k.toml", "--events", "--every-poll"]);
        let states = |stdout: &str| {
            stdout.lines().filter(|line| line.contains(": state ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(states(&stdout), states(&naive), "{keys}");
    };
    let owner = |when: &str| format!("[knobs]\nIS_OWNER = '{when}'\nSLOTS_CONNECTED_TO_KEYBOARD = 1\n");
    tried(
        &format!(
            "{}[[event]]\nat = '10m'\ncron = 'Sick = true'\n[[event]]\nat = '30m'\ncron = ''\n",
            owner("Sick =?= true")
        ),
        &[("slot1: state Owner/Idle", 600.0, 901.0), ("slot1: state Unclaimed/Idle", 1800.0, 2101.0)],
    );
    tried(
        &format!("{}[[event]]\nat = 'Tue 08:30'\nload = 0.9\n", owner("LoadAvg > 0.5")),
        &[("slot1: state Owner/Idle", 88_200.0, 88_501.0)],
    );
    tried(
        &format!(
            "{}[[load]]\nhours = '10:00-11:00'\nbusy = '5h'\naway = 0\nload = 0.7\n",
            owner("LoadAvg > 0.5")
        ),
        &[("slot1: state Owner/Idle", 7200.0, 7501.0), ("slot1: state Unclaimed/Idle", 10_800.0, 11_101.0)],
    );
    tried(
        &format!(
            "{}[[keyboard]]\nhours = '09:00-10:00'\ndays = 'Tue'\nbusy = '5h'\naway = 0\n",
            owner("KeyboardIdle < 60")
        ),
        &[
            ("slot1: state Owner/Idle", 90_000.0, 90_301.0),
            ("slot1: state Unclaimed/Idle", 93_660.0, 93_961.0),
        ],
    );
    tried(
        "[[event]]\nat = 2026-11-02 09:00:00\ncommand = 'drain'\nresume = true\n",
        &[("slot1: state Drained/Idle", 3600.0, 3601.0), ("slot2: state Unclaimed/Idle", 3600.0, 3901.0)],
    );
    tried(
        "[[jobs]]\nruns = '10m'\nmemory = 900\n[[event]]\nat = '1h'\nknobs = { START = 'true' }\n",
        &[("state Claimed/Busy", 3600.0, 7300.0)],
    );
}

/// Each slot type has its own SUSPEND. The attributes to which that of the second type refers must be published.
#[test]
fn slot_types_with_their_own_policies_are_evaluated_in_time() {
    let place = place();
    let mut config = "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 3\nMEMORY = 3000\n\
        FetchWorkDelay = 60\nSLOTS_CONNECTED_TO_KEYBOARD = 9\nWANT_SUSPEND = True\n"
        .to_owned();
    for (number, suspend) in [(1, "False"), (2, "KeyboardIdle < 60"), (3, "False")] {
        config += &format!(
            "NUM_SLOTS_TYPE_{number} = 1\nSLOT_TYPE_{number} = cpus=1,memory=1000,auto\nSLOT_TYPE_{number}_PARTITIONABLE = False\n\
             SLOT_TYPE_{number}_SUSPEND = {suspend}\n"
        );
    }
    place.write("c.conf", &config);
    place.write(
        "t.toml",
        "length = '2h'\n[[jobs]]\ncount = 3\nruns = '90m'\n[[event]]\nat = '1h'\nidle = 0\n",
    );
    let stdout = place.stdout_of(&["simulate", "t.toml", "--events"]);
    let suspended: Vec<&str> = stdout.lines().filter(|line| line.contains("Claimed/Suspended")).collect();
    assert!(!suspended.is_empty() && suspended.iter().all(|line| line.contains("slot2: ")), "{stdout}");
}

/// The number of counted fetches is the same as if every fetch were made.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn skipped_fetches_are_counted_like_real_ones() {
    let place = place();
    let pairs = [(300, 300), (7, 61), (60, 300), (301, 300), (299, 300)];
    let count = if tests_all_combinations() { pairs.len() } else { 2 };
    for (delay, update) in pairs.into_iter().take(count) {
        let scenario = format!(
            "length = '1d'\n[knobs]\nFetchWorkDelay = {delay}\nUPDATE_INTERVAL = {update}\nSTART = 'true'\n\
             [[jobs]]\ncount = 20\nwithin = '23h'\nruns = '20m'\nmemory = 1\n"
        );
        place.write("f.toml", &scenario);
        let lazy = place.row(&["simulate", "f.toml", "--json"]);
        let naive = place.row(&["simulate", "f.toml", "--json", "--every-poll"]);
        for part in ["hooks", "jobs", "waits", "slot_types", "transitions"] {
            assert_eq!(lazy[part], naive[part], "FetchWorkDelay {delay}, UPDATE_INTERVAL {update}: {part}");
        }
    }
}

#[test]
fn explain_uses_slot_ads_of_a_pool_and_assumed_values() {
    let place = place();
    let slot = |name: &str, cpus: u32, load: &str| {
        format!(
            "Name = \"slot1@{name}\"\nCpus = {cpus}\nMemory = 4000\nSTART = LoadAvg < 0.3\nLoadAvg = {load}\n\
             Requirements = START && WithinResourceLimits\nWithinResourceLimits = TARGET.RequestMemory <= MY.Memory\n\n"
        )
    };
    place.write("slots.ads", &(slot("one", 4, "0.8") + &slot("two", 1, "0.0")));
    let ask = |more: &[&str]| {
        let mut words = vec!["explain", "--slot-ads", "slots.ads", "--ads", "jobs.ads"];
        words.extend(more);
        place.run(&words)
    };
    let (status, output, stderr) = ask(&["slot1@one"]);
    assert_eq!((status, stderr.as_str()), (1, ""));
    assert!(output.starts_with("slot1@one refuses job 7.0: START is not true for this job: LoadAvg < 0.3 is false (LoadAvg = 0.8)\n"), "{output}");
    let (status, output, _) = ask(&["--set", "LoadAvg=0"]);
    assert_eq!((status, output.matches(" accepts job ").count()), (0, 4), "{output}");
    let (_, output, _) = ask(&["--json"]);
    let all: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        (all[0]["details"][0]["attribute"].as_str(), all[0]["details"][0]["text"].as_str()),
        (Some("START"), Some("LoadAvg < 0.3")),
        "{output}"
    );
    let (status, _, stderr) = ask(&["slot9"]);
    assert!(status == 3 && stderr.contains("no ad has the Name 'slot9'"), "{stderr}");
}

#[test]
fn explain_compares_configurations_clause_by_clause() {
    let place = place();
    let execute = place.path("execute");
    let base = config() + &format!("EXECUTE = {}\n", execute.display());
    std::fs::create_dir(&execute).unwrap();
    place.write("c.conf", &base);
    place.write("new.conf", base.replace("500", "950"));
    let (status, output, stderr) =
        place.run(&["explain", "--ads", "jobs.ads", "--compare", "new.conf", "slot1"]);
    assert_eq!((status, stderr.as_str()), (0, ""), "{output}");
    let expected = "before: c.conf\nafter:  new.conf\n\nslot1: accepts 1 of 2 jobs before, 1 after
    Start: TARGET.Owner =!= \"mallory\": refuses 1 before, 1 after
    Start: TARGET.RequestMemory < 500: refuses 1 before, none after
";
    assert_eq!(output, expected);
    // A missing EXECUTE has no effect on policy: it is reported once, and the slots are explained.
    std::fs::remove_dir(&execute).unwrap();
    let (status, output, stderr) =
        place.run(&["explain", "--ads", "jobs.ads", "--compare", "new.conf", "slot1"]);
    assert_eq!((status, output.as_str()), (0, expected));
    assert_eq!(stderr.matches("the slots behave as if it existed").count(), 1, "{stderr}");
    let (_, output, _) = place.run(&["explain", "--ads", "jobs.ads", "slot2"]);
    assert!(output.contains("[Start: c.conf, line 9]"), "{output}");
    // Jobs are read in the evaluation mode of the configuration; only strict mode accepts leading zeros.
    place.write("zeros.ads", "Owner = \"a\"\nRequestMemory = 0100\n");
    let ask = || place.run(&["explain", "--ads", "zeros.ads", "slot1"]).2.contains("`0100` is not a number");
    assert!(ask());
    place.write("c.conf", format!("{base}STRICT_CLASSAD_EVALUATION = true\n"));
    assert!(!ask());
}

/// Output of cron jobs is given in a file, or the jobs are run first.
#[test]
fn explain_uses_the_attributes_of_cron_jobs() {
    let place = place();
    let script = place.path("health");
    crate::support::children::write_executable(&script, b"#!/bin/sh\necho 'NodeIsHealthy = true'\n");
    let cron = "STARTD_CRON_JOBLIST = HEALTH\nSTARTD_CRON_HEALTH_EXECUTABLE = ";
    let asks_cron = format!(
        "EXECUTE = {0}\nSTART = NodeIsHealthy =?= true\n{cron}{1}\nSTARTD_CRON_HEALTH_PERIOD = 1h\n",
        place.path("").display(),
        script.display()
    );
    place.write("c.conf", config() + &asks_cron);
    place.write("one.ad", "RequestMemory = 1\n");
    place.write("given", "NodeIsHealthy = true\n");
    place.write("bad", "this is not a valid attribute\n");
    let ask = |more: &[&str]| place.run(&[&["explain", "slot1", "--ads", "one.ad"], more].concat());
    let (status, output, _) = ask(&[]);
    assert!(
        status == 1 && output.contains("NodeIsHealthy =?= true is false (NodeIsHealthy = undefined)"),
        "{output}"
    );
    for words in [&["--cron", "given"][..], &["--run-cron"], &["--set", "NodeIsHealthy=true"]] {
        let (status, output, stderr) = ask(words);
        assert_eq!((status, stderr.as_str()), (0, ""), "{words:?}: {output}");
    }
    let (status, _, stderr) = ask(&["--cron", "bad"]);
    assert!(
        status == 3
            && stderr.contains("bad: the output of a cron job has a line that is not a valid attribute"),
        "{stderr}"
    );
    place.write("c.conf", config() + &format!("EXECUTE = {}\n", place.path("").display()));
    let (_, _, stderr) = ask(&["--run-cron"]);
    assert!(stderr.contains("the configuration has no cron job"), "{stderr}");
}

#[test]
fn slots_and_routes_have_the_same_scenario_format() {
    let place = place();
    place.write(
        "r.toml",
        "length = '2h'\n[[jobs]]\ncount = 20\nevery = '1m'\nruns = '10m'\nwait = '2m'\nad = 'WantRoute = true'\n[queue]\norder = 'priority'\n",
    );
    place.write(
        "router.conf",
        "JOB_ROUTER_ROUTE_NAMES = far\nJOB_ROUTER_ROUTE_far @=end\n  REQUIREMENTS WantRoute\n  UNIVERSE VANILLA\n  MaxJobs = 5\n@end\n",
    );
    let router = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
            .args(["simulate", "r.toml", "--no-env", "--config-file", "router.conf"])
            .args(words)
            .current_dir(place.path(""))
            .env_clear()
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (status, report, stderr) = router(&[]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stderr.contains("'[queue]' is for slots (htc-slot-run simulate) and has no effect here"),
        "{stderr}"
    );
    assert!(
        report.starts_with(
            "2h: 20 jobs arrived, 20 finished, 0 without a route at the end, 0 removed as routed jobs\n"
        ),
        "{report}"
    );
    assert!(report.contains("\nfar        20        20        0        5"), "{report}");
    let (_, report, _) = router(&["--json"]);
    let totals: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        (&totals[0]["finished"], &totals[0]["routes"][0]["most"]),
        (&20.into(), &5.into()),
        "{report}"
    );
    let (_, report, _) = router(&["--events"]);
    assert!(report.lines().count() > 100, "{report}");
    let (status, _, stderr) = place.run(&["simulate", "r.toml"]);
    assert!(status == 0 && stderr.contains("'wait' is for routes"), "{stderr}");
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("man/htc-scenario.5").exists());
}

/// Regression test: for a value that equals the default, the default was shown as its origin.
#[test]
fn why_names_the_line_of_a_value_that_equals_the_default() {
    let place = place();
    place.write("c.conf", config() + "KILL = False\nWANT_VACATE = True\n");
    let stdout = place.stdout_of(&["simulate", "s.toml", "--why", "slot1@09:00:10"]);
    for (line, expected) in [(11, "KILL = false"), (12, "WANT_VACATE = true")] {
        assert!(stdout.contains(&format!("{expected} (c.conf, line {line})")), "{stdout}");
    }
    assert!(stdout.contains("SUSPEND = false (default)"), "{stdout}");
    assert!(stdout.contains(" (* = caused the current state):\n"), "{stdout}");
}

/// As for other descriptors, events are written as JSON, followed by the summary.
#[test]
fn events_for_descriptor_1_are_json() {
    let place = place();
    let stdout = place.stdout_of(&["simulate", "s.toml", "--events", "fd:1"]);
    let (events, rest): (Vec<&str>, Vec<&str>) = stdout.lines().partition(|line| line.starts_with('{'));
    assert!(events.len() > 5 && rest.iter().any(|line| line.starts_with("waits of the")), "{stdout}");
    for event in events {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        assert!(event["event"].is_string(), "{event}");
    }
    let (status, _, stderr) = place.run(&["simulate", "s.toml", "--events", "fd:1", "--csv"]);
    assert_eq!(status, 2, "{stderr}");
}

/// Regression test: with this keyboard, the machine was evaluated at other times and used other random numbers.
#[test]
fn a_keyboard_without_a_connected_slot_changes_no_result() {
    let config = format!("{CONFIG}START = KeyboardIdle > 600\n");
    let place = Place::new(&config);
    let scenario = "start = 2026-11-02 07:00:00\nlength = '1d'\nseed = 3\n[[jobs]]\ncount = 40\nwithin = '12h'\nruns = '30m'\nmemory = 100\n";
    let keyboard =
        "[[keyboard]]\nhours = '09:00-17:00'\nbusy = 'exponential 20m'\naway = 'exponential 40m'\n";
    let (_, without, _) = place.play(scenario, &[]);
    let (_, with, stderr) = place.play(&format!("{scenario}{keyboard}"), &[]);
    assert!(stderr.contains("[[keyboard]] 1 changes nothing"), "{stderr}");
    assert_eq!(without, with);
}

/// `cpus` and `memory` are keys of the same group of jobs; the hint names the one that is missing.
#[test]
fn a_missing_request_is_fixed_by_a_key_of_the_scenario() {
    let config = CONFIG.replace("SLOT_TYPE_1_PARTITIONABLE = False", "SLOT_TYPE_1_PARTITIONABLE = True");
    let place = Place::new(&config.replace("NUM_SLOTS_TYPE_1 = 2", "NUM_SLOTS_TYPE_1 = 1"));
    let jobs = "length = '2h'\n[[jobs]]\ncpus = 1\nmemory = 10\nruns = '10m'\n";
    let (_, output, _) = place.play(jobs, &[]);
    assert!(
        output.contains(
            "add a line such as 'disk = 1048576' to the [[jobs]] of the scenario: it sets RequestDisk"
        ),
        "{output}"
    );
    let (_, output, _) = place.play(&format!("{jobs}disk = 10\n"), &[]);
    assert!(!output.contains("never ran:"), "{output}");
}
