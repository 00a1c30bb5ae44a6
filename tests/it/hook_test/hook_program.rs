//! Tests of the program `htc-hook-test`: suites, recording and replay.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::hook_test::calls::{command, program, run, status_and_output, text};
use crate::support::children::{flood, write_executable};
use crate::support::place::send;

/// Names of the verbs for the types of hooks.
const HOOKS: [&str; 12] = [
    "fetch",
    "reply",
    "evict",
    "prepare-before-transfer",
    "prepare",
    "update",
    "exit",
    "shadow-prepare",
    "translate",
    "router-update",
    "finalize",
    "cleanup",
];

#[test]
fn the_suites_of_the_repository_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(output) = run(root, &["run", "tests/data/suites", "tests/data/suites/public", "--tap"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("not ok"));
}

#[test]
fn one_changed_answer_of_a_suite_is_the_one_that_fails() {
    let place = tempfile::tempdir().unwrap();
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/suites");
    let copied = std::process::Command::new("cp").arg("-r").args([&suites, &place.path().join("s")]).status();
    assert!(copied.unwrap().success());
    let file = place.path().join("s/good.toml");
    let suite = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, suite.replacen("subcode = 190", "subcode = 191", 1)).unwrap();
    let Some(output) = run(place.path(), &["run", "s/good.toml", "--tap"]) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let failed: Vec<&str> = stdout.lines().filter(|line| line.starts_with("not ok")).collect();
    assert!(failed.len() == 1 && failed[0].contains("no image means hold"), "{stdout}");
}

#[test]
fn a_failing_case_shows_the_difference_and_status_1() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\nexit 3\n");
    std::fs::write(home.path().join("s.toml"), "[[case]]\nname = \"x\"\nhook = \"h\"\ntype = \"prepare\"\n")
        .unwrap();
    let Some(output) = run(home.path(), &["run", "s.toml", "--junit", "out.xml"]) else { return };
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("- a success\n") && stderr.contains("+ not-started ("), "{stderr}");
    let junit = std::fs::read_to_string(home.path().join("out.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure"), "{junit}");
    std::fs::write(home.path().join("s.toml"), "[[case]]\nhok = \"h\"\n").unwrap();
    let output = run(home.path(), &["run", "s.toml"]).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("s.toml:2:1: "), "{}", text(&output.stderr));
}

#[test]
fn a_recorded_hook_behaves_as_without_the_recorder_and_is_replayed() {
    let Some(program) = program() else { return };
    let home = tempfile::tempdir().unwrap();
    let hook = "#!/bin/sh\ncat >/dev/null\necho 'Note = \"'$1'\"'\necho oh >&2\nexit 4\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    let stand_in =
        format!("#!/bin/sh\nexec {} record --into calls --type prepare -- ./h \"$@\"\n", program.display());
    write_executable(&home.path().join("stand-in"), stand_in.as_bytes());
    let call = |stdin: Stdio| {
        Command::new(home.path().join("stand-in"))
            .arg("one word")
            .current_dir(home.path())
            .stdin(stdin)
            .output()
            .unwrap()
    };
    std::fs::write(home.path().join("job.ad"), "Cmd = \"/bin/true\"\nA = 1\n").unwrap();
    let output = call(std::fs::File::open(home.path().join("job.ad")).unwrap().into());
    assert_eq!(output.status.code(), Some(4));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("Note = \"one word\"\n".into(), "oh\n".into()));
    let same = run(home.path(), &["replay", "calls", "--hook", "h"]).unwrap();
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    write_executable(&home.path().join("new"), hook.replace("exit 4", "exit 0").as_bytes());
    let changed = run(home.path(), &["replay", "calls", "--hook", "new"]).unwrap();
    assert_eq!(changed.status.code(), Some(1));
    assert!(text(&changed.stderr).contains("+ go-on"), "{}", text(&changed.stderr));
    run(home.path(), &["replay", "calls", "--hook", "new", "--junit", "out.xml"]).unwrap();
    let junit = std::fs::read_to_string(home.path().join("out.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("+ go-on"), "{junit}");
    write_executable(&home.path().join("h"), b"#!/bin/sh\nkill -TERM $$\n");
    let output = call(Stdio::null());
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(15));
}

#[test]
fn random_ads_find_what_a_hook_does_not_expect() {
    let home = tempfile::tempdir().unwrap();
    let hook =
        "#!/bin/sh\nset -u\ncmd=$(sed -n 's/^Cmd = \"\\(.*\\)\"$/\\1/p')\n[ -n \"$cmd\" ] || kill -SEGV $$\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    let words = ["prepare", "./h", "--fuzz", "300", "--seed", "7"];
    let Some(output) = run(home.path(), &words) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("is killed by signal 11") && stderr.contains("| htc-hook-test prepare"),
        "{stderr}"
    );
    // The smallest ad has an attribute, because an empty ad could not be shown on a command line.
    assert!(stderr.contains("smallest ad, 1 attribute:"), "{stderr}");
}

#[test]
fn an_interrupted_search_prints_what_it_found_so_far() {
    let home = tempfile::tempdir().unwrap();
    // The hook counts its failing calls, and the search is interrupted after the 20th.
    let hook = "#!/bin/sh\nset -u\ncmd=$(sed -n 's/^Cmd = \"\\(.*\\)\"$/\\1/p')\n[ -n \"$cmd\" ] && exit\n\
        echo >> HERE/failed\nkill -SEGV $$\n";
    let hook = hook.replace("HERE", &home.path().display().to_string());
    write_executable(&home.path().join("h"), hook.as_bytes());
    std::fs::set_permissions(home.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let words = ["prepare", "./h", "--fuzz", "100000", "--seed", "7"];
    let Some(mut command) = command(home.path(), &words) else { return };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let failures = || std::fs::read(home.path().join("failed")).map_or(0, |lines| lines.len());
    let deadline = Instant::now() + Duration::from_secs(60);
    while failures() < 20 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    send(&child, Signal::SIGTERM);
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{stderr}");
    assert!(stderr.contains("found (") && stderr.contains("is killed by signal 11"), "{stderr}");
    assert!(stderr.contains("interrupted: 1 different failure so far with seed 7"), "{stderr}");
}

#[test]
fn values_of_cron_jobs_are_checked_as_lint_checks_them() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("job"), b"#!/bin/sh\necho 'Site = north'\necho 'Load = 3'\n");
    let Some(output) = run(home.path(), &["startd-cron", "./job"]) else { return };
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("warning unquoted-string: north is").count(), 1, "{stderr}");
    assert!(!stderr.contains("Load"), "{stderr}");
    let suite =
        "[[case]]\nhook = './job'\ntype = 'startd-cron'\nexpect = { findings = ['unquoted-string'] }\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let output = run(home.path(), &["run", "s.toml"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn cron_jobs_aim_their_records_at_slots() {
    let home = tempfile::tempdir().unwrap();
    let job = "#!/bin/sh\necho 'Temp = 20'\necho 'SlotId = 1'\necho '- first'\necho 'Cold = true'\n\
        echo 'SlotMergeConstraint = SlotId > 1'\necho '- second update:true'\n";
    write_executable(&home.path().join("job"), job.as_bytes());
    let slot = |number: u32| format!("Name = \"slot{number}@h\"\nSlotId = {number}\n\n");
    std::fs::write(home.path().join("slots.ad"), slot(1) + &slot(2)).unwrap();
    let Some(output) = run(home.path(), &["startd-cron", "./job", "--slot-ads", "slots.ad"]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let (first, second) = stdout.split_once("\n\n").unwrap();
    assert!(first.contains("Temp = 20") && !first.contains("Cold"), "{stdout}");
    assert!(second.contains("Cold = true") && !second.contains("Temp"), "{stdout}");
    for source in [&["--slot-ads", "slots.ad"][..], &[]] {
        let words =
            [&["startd-cron", "./job", "--slot", "2", "--expect", "Cold && Temp =?= undefined"], source]
                .concat();
        let output = run(home.path(), &words).unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("Name = \"slot2@"), "{}", text(&output.stdout));
    }
}

#[test]
fn a_cron_job_that_does_not_end_is_named_with_status_124() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("endless"), b"#!/bin/sh\nexec sleep 1000\n");
    for verb in ["startd-cron", "schedd-cron"] {
        let Some(output) = run(home.path(), &[verb, "./endless", "--timeout", "0.3"]) else { return };
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(124), "{stderr}");
        assert!(stderr.contains("ENDLESS: killed: it did not end within 0.3 s"), "{stderr}");
    }
}

#[test]
fn a_cron_job_of_the_schedd_adds_to_the_ad_of_a_schedd() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("job"), b"#!/bin/sh\necho 'Licences = 3'\n");
    let expect =
        "MyType == \"Scheduler\" && Licences == 3 && TotalRunningJobs =!= undefined && State =?= undefined";
    let Some(output) = run(home.path(), &["schedd-cron", "./job", "--expect", expect]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(home.path(), &["schedd-cron", "./job", "--slot", "1"]).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn invalid_option_values_are_refused_with_their_location() {
    let home = tempfile::tempdir().unwrap();
    let hook = format!("#!/bin/sh\ncat >/dev/null\n: >'{}'\n", home.path().join("called").display());
    write_executable(&home.path().join("h"), hook.as_bytes());
    for (option, value, said) in [
        ("--set", "a b=3", "--set:1:2: a name has letters, digits and `_` only"),
        ("--set-slot", "a.b=3", "--set-slot:1:2: "),
        ("--set-routed", "1a=3", "--set-routed:1:1: a name does not begin with a digit"),
        ("--set", "=3", "--set:1:1: no name"),
        ("--slot", "xyz", "'xyz'"),
        ("--slot", "slot0", "'slot0'"),
        ("--slot", "slot1_2_3", "'slot1_2_3'"),
        ("--repeat", "0", "'0'"),
        ("--time", "0", "'0'"),
        ("--fuzz", "0", "'0'"),
    ] {
        let words = ["prepare", "./h", "--sample-job", "vanilla", option, value];
        let Some(output) = run(home.path(), &words) else { return };
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option} {value}: {stderr}");
        assert!(stderr.contains(said), "{option} {value}: {stderr}");
        assert!(!said.starts_with("--set") || stderr.contains('^'), "{stderr}");
        assert!(!home.path().join("called").exists(), "{option} {value}");
    }
    let words = ["prepare", "./h", "--sample-job", "vanilla", "--set", " A_1 = 3", "--slot", "slot1_2"];
    let output = run(home.path(), &words).unwrap();
    assert!(home.path().join("called").exists(), "{}", text(&output.stderr));
}

/// The jobs of a configuration run with a clock that skips idle time, so that half a minute takes less.
#[test]
fn a_cron_list_is_simulated_with_periods_loads_and_reconfigs() {
    let home = tempfile::tempdir().unwrap();
    let job = "#!/bin/sh\necho \"Runs_$1 = $(($(cat n.$1 2>/dev/null || echo 0) + 1))\" | tee out.$1\n\
        sed -n 's/.*= //p' out.$1 >n.$1\n";
    write_executable(&home.path().join("job"), job.as_bytes());
    let list = |names: &str, more: &str| {
        let mut text = format!("STARTD_CRON_JOBLIST = {names}\nSTARTD_CRON_MAX_JOB_LOAD = 0.2\n{more}");
        for (name, mode, period) in
            [("A", "Periodic", "10s"), ("W", "WaitForExit", "5"), ("S", "OneShot", ""), ("D", "OnDemand", "")]
        {
            let home = home.path().display();
            text += &format!(
                "STARTD_CRON_{name}_EXECUTABLE = {home}/job\nSTARTD_CRON_{name}_CWD = {home}\n\
                 STARTD_CRON_{name}_ARGS = {name}\nSTARTD_CRON_{name}_MODE = {mode}\n"
            );
            if !period.is_empty() {
                text += &format!("STARTD_CRON_{name}_PERIOD = {period}\n");
            }
        }
        text
    };
    std::fs::write(home.path().join("one"), list("A W S D", "STARTD_CRON_S_RECONFIG_RERUN = true\n"))
        .unwrap();
    let again = list("A S", "STARTD_CRON_S_RECONFIG_RERUN = true\nSTARTD_CRON_A_JOB_LOAD = 5\n");
    std::fs::write(home.path().join("two"), again).unwrap();
    let began = std::time::Instant::now();
    let words =
        ["startd-cron", "--config-file", "one", "--for", "32", "--expect", "Runs_A == 4 && Runs_S == 1"];
    let Some(output) = run(home.path(), &words) else { return };
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(began.elapsed().as_secs() < 20, "the clock does not skip");
    let runs = text(&output.stdout).lines().find_map(|line| Some(line.strip_prefix("Runs_W = ")?.to_owned()));
    assert!(["6", "7"].contains(&runs.unwrap().as_str()), "{message}");
    for name in ["A", "W", "S"] {
        std::fs::remove_file(home.path().join(format!("n.{name}"))).unwrap();
    }
    let words =
        ["startd-cron", "--config-file", "one", "--for", "25", "--reconfig", "12", "--reconfig-file", "two"];
    let output = run(home.path(), &words).unwrap();
    let (ad, message) = (text(&output.stdout), text(&output.stderr));
    // A job whose load exceeds the limit is never started again; its last output remains.
    assert!(
        ad.contains("Runs_A = 2\n") && ad.contains("Runs_S = 2\n") && !ad.contains("Runs_W"),
        "{ad}{message}"
    );
    assert!(
        message.contains("W: the job is removed") && message.contains("A: JOB_LOAD is above MAX_JOB_LOAD"),
        "{message}"
    );
}

#[test]
fn a_monitor_counts_from_the_start_of_a_job() {
    let home = tempfile::tempdir().unwrap();
    let job = "#!/bin/sh\necho 'SlotMergeConstraint = SlotId == 1'\necho 'UptimeGPUsSeconds = 2.0'\n\
        echo 'UptimeGPUsMemoryPeakUsage = 70'\necho '- gpu0'\n";
    write_executable(&home.path().join("m"), job.as_bytes());
    let words = [
        "startd-cron",
        "./m",
        "--metrics",
        "SUM:GPUs,PEAK:GPUsMemory",
        "--for",
        "9.5",
        "--job-begins",
        "4.5",
        "--expect",
        "DeviceGPUsMemoryPeakUsage == 70 && GPUsMemoryUsage == 70 && GPUsAverageUsage > 1.5 && GPUsAverageUsage < 3",
    ];
    let Some(output) = run(home.path(), &words) else { return };
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stderr), text(&output.stdout));
    assert!(text(&output.stderr).contains("seen by policy only, not sent:"));
}

#[test]
fn the_manual_of_7_1_has_six_hooks_and_no_time_outs() {
    let home = tempfile::tempdir().unwrap();
    let hook = "#!/bin/sh\nsed -n 's/^-----$/Separated = true/p'\necho 'HookStatusCode = 7'\necho 'A = 1'\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    let Some(output) =
        run(home.path(), &["prepare", "./h", "--protocol", "7.1", "--expect", "A =?= undefined"])
    else {
        return;
    };
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("ignored: A, HookStatusCode, Separated"), "{stderr}");
    let output = run(home.path(), &["shadow-prepare", "./h", "--protocol", "7.1"]).unwrap();
    assert_eq!(output.status.code(), Some(2));
    write_executable(&home.path().join("slow"), b"#!/bin/sh\nexec sleep 60\n");
    let words =
        ["exit", "./slow", "--protocol", "7.1", "--timeout", "0.3", "--expect-verdict", "still-running"];
    let output = run(home.path(), &words).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn new_answers_are_accepted_into_the_suite_and_nothing_else_changes() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\necho \"A = $1\"\nexit $1\n");
    let suite = "# kept\n[defaults]\nhook = \"h\" # too\ntype = \"prepare\"\n\n[[case]]\nname = \"one\"\nwords = [\"3\"]\n\n\
        [[case]]\nname = \"two\"\nwords = [\"0\"]\nexpect = { verdict = \"held\", stdout = '''\nB''', exit = 4 }\n\n\
        [[case]]\nname = \"three\"\nwords = [\"${N}\"]\neach = [{ N = \"5\" }]\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let Some(output) = run(home.path(), &["run", "s.toml", "--update"]) else { return };
    assert!(
        text(&output.stderr).contains("not updated: s: three [1]: it has parameters"),
        "{}",
        text(&output.stderr)
    );
    let stderr = text(&output.stderr);
    assert!(stderr.contains("updated: s: two\n") && !stderr.contains("failed: s: two"), "{stderr}");
    let new = std::fs::read_to_string(home.path().join("s.toml")).unwrap();
    assert!(new.starts_with("# kept\n[defaults]\nhook = \"h\" # too\n"), "{new}");
    assert!(new.contains("[[case]]\nexpect = { verdict = \"not-started\" }\nname = \"one\"\n"), "{new}");
    assert!(new.contains("verdict = \"go-on\", exit = 0, stdout = \"\"\"\nA = 0\n\"\"\" }\n"), "{new}");
    let again = run(home.path(), &["run", "s.toml", "--filter", "o"]).unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
}

#[test]
fn cases_are_skipped_with_the_reason_if_something_is_missing() {
    let home = tempfile::tempdir().unwrap();
    let suite = "[defaults]\nhook = \"${DIR}/h\"\ntype = \"prepare\"\nfiles = { h = \"#!${sh}\\nexit 0\\n\" }\n\
        [[case]]\nname = \"a\"\nneeds = [\"sh\"]\n[[case]]\nname = \"b\"\nneeds = [\"no-such-program\"]\n\
        [[case]]\nname = \"c\"\nhook_directory = \"NO_SUCH_VARIABLE\"\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let Some(output) = run(home.path(), &["run", "s.toml", "--tap"]) else { return };
    let (tap, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(tap.contains("ok 1 - s: a\nok 2 - s: b # SKIP 'no-such-program' is missing\n"), "{tap}");
    assert!(tap.contains("ok 3 - s: c # SKIP NO_SUCH_VARIABLE is not set\n"), "{tap}");
}

#[test]
fn parameters_that_nothing_reads_are_reported() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\n");
    let parameter = |name: &str, value: &str| format!("{name} = {value}\n");
    let path = home.path().join("h").display().to_string();
    let common = parameter("STARTER_JOB_HOOK_KEYWORD", "K");
    std::fs::write(home.path().join("c"), common.clone() + &parameter("K_JOB_HOOK_PREPARE_JOB", &path))
        .unwrap();
    let Some(output) = run(home.path(), &["prepare", "--config-file", "c"]) else { return };
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("K_JOB_HOOK_PREPARE_JOB is set, but nothing reads it"));
    let more = parameter("K_HOOK_PREPARE_JOB", &path) + &parameter("K_HOOK_PREPARE_JOB_TIMEOUT", "900");
    std::fs::write(home.path().join("c"), common + &more).unwrap();
    let output = run(home.path(), &["prepare", "--config-file", "c"]).unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("K_HOOK_PREPARE_JOB_TIMEOUT is set, but nothing reads it"), "{stderr}");
}

/// Runs the program for every hook type: memory is bounded, and no files are left behind.
#[test]
fn endless_output_uses_little_memory_and_leaves_no_file() {
    let Some(program) = program() else { return };
    let home = tempfile::tempdir().unwrap();
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let script = format!("#!/bin/sh\n{}\n", flood(&home.path().join("part"), 200_000_000));
    write_executable(&home.path().join("h"), script.as_bytes());
    for kind in HOOKS.into_iter().chain(["startd-cron", "schedd-cron"]) {
        let mut child = Command::new(&program)
            .args([kind, "./h", "--quiet"])
            .current_dir(home.path())
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // High-water mark of memory in the kernel, as last read before the process ended.
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            if let Some(line) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
                peak = line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(peak < 64 * 1024, "{kind}: {peak} KiB");
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{kind} leaves files behind");
    }
}

#[test]
fn a_first_suite_can_be_run_for_every_type() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\n");
    for kind in HOOKS {
        let Some(output) = run(home.path(), &["init", "./h", "--type", kind]) else { return };
        std::fs::write(home.path().join("s.toml"), &output.stdout).unwrap();
        let output = run(home.path(), &["run", "s.toml", "--tap"]).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{kind}: {}", text(&output.stderr));
        assert!(text(&output.stdout).lines().count() > 6, "{kind}");
        let only_verdicts = text(&output.stdout).lines().filter(|line| line.starts_with("# ")).all(|line| {
            ["# verdict", "#   - a success", "#   + "].iter().any(|begin| line.starts_with(begin))
        });
        assert!(only_verdicts, "{kind}: {}", text(&output.stdout));
    }
    assert_eq!(run(home.path(), &["init", "./h"]).unwrap().status.code(), Some(2));
}

#[test]
fn a_slot_may_be_named_by_its_number() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\n");
    let config = "NUM_SLOTS = 2\nSLOT2_JOB_HOOK_KEYWORD = TWO\nTWO_HOOK_FETCH_WORK = $(CONFIG_ROOT)/h\n";
    std::fs::write(home.path().join("c"), config).unwrap();
    let status =
        |slot| Some(run(home.path(), &["fetch", "--config-file", "c", "--slot", slot])?.status.code());
    assert_eq!(status("2"), option_env!("CARGO_BIN_EXE_htc-hook-test").map(|_| Some(0)));
    assert_eq!(status("1"), option_env!("CARGO_BIN_EXE_htc-hook-test").map(|_| Some(3)));
}

/// Many scripts contain `trap 'kill 0' EXIT`, and the process group of a hook is that of its starter.
#[test]
fn a_hook_that_kills_its_group_is_reported_and_ends_only_itself() {
    let home = tempfile::tempdir().unwrap();
    // A shell that has run a program unblocks signals, so this script runs none.
    let script = "#!/bin/sh\nwhile read line; do :; done\nread pid name state parent group rest < /proc/self/stat\n\
                  echo \"Leads = $((pid == group))\"\nkill 0\n";
    write_executable(&home.path().join("kills"), script.as_bytes());
    write_executable(&home.path().join("good"), b"#!/bin/sh\ncat > /dev/null\nsleep 0.3\n");
    let call = ["prepare", "./kills", "--sample-job", "vanilla"];
    let Some((status, _, output)) = status_and_output(home.path(), &call) else { return };
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("failed (died with signal 15)"), "{output}");
    let finding = "warning signals-caller: the hook sends signal 15 to its process group (kill 0), which includes the starter";
    assert!(output.contains(finding), "{output}");
    // When a daemon calls the hook, nearly all signals are blocked: the hook continues, and its starter receives the signal.
    let (status, ad, output) =
        status_and_output(home.path(), &[&call[..], &["--quirks", "reference"]].concat()).unwrap();
    assert_eq!(status, 0, "{output}");
    assert!(ad.contains("Leads = 0\n") && output.contains(finding), "{ad}{output}");
    // Calls that run in parallel are not affected.
    let case = |number: usize| {
        let (hook, expect) = match number % 2 {
            0 => ("good", "verdict = \"go-on\", findings = []"),
            _ => ("kills", "verdict = \"not-started\", findings = [\"signals-caller\"]"),
        };
        format!(
            "[[case]]\nname = \"{number}\"\ntype = \"prepare\"\nhook = \"./{hook}\"\nsample_job = \"vanilla\"\nexpect = {{ {expect} }}\n"
        )
    };
    std::fs::write(home.path().join("suite.toml"), (0..4).map(case).collect::<String>()).unwrap();
    let (status, output, errors) = status_and_output(home.path(), &["run", "suite.toml", "-j", "4"]).unwrap();
    assert_eq!(status, 0, "{output}{errors}");
    assert!(errors.contains("4 cases passed"), "{output}{errors}");
}
