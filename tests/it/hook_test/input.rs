//! Tests that compare the input which `htc-hook-test` gives to a hook with the recorded input of real callers.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::hook_test::calls::{program, run, text};
use crate::support::children::write_executable;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\n");
    std::fs::write(home.path().join("job.ad"), FETCHED).unwrap();
    home
}

/// Returns the values of an ad in the long form, by name.
fn ad(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(" = ")).collect()
}

/// Output of a recorded fetch hook.
const FETCHED: &str = r#"MyType = "Job"
ClusterId = 1
ProcId = 0
Owner = "alice"
User = "alice@host"
JobUniverse = 5
Cmd = "job.d/job"
Iwd = "/L/iwd"
In = "/dev/null"
Out = "out.1"
Err = "err.1"
Args = "3"
Env = "COLOUR=green"
Extra = 1 + 2
"#;

/// Recorded input of the prepare hook for the job in `FETCHED`.
const PREPARED: &str = r#"Args = "3"
ClusterId = 1
Cmd = "/L/iwd/job.d/job"
Env = "COLOUR=green"
Err = "err.1"
Extra = 1 + 2
HookKeyword = "FARM"
In = "/dev/null"
Iwd = "/L/iwd"
JobUniverse = 5
MyType = "Job"
OrigCmd = "job.d/job"
OrigIwd = "/L/iwd"
Out = "out.1"
Owner = "alice"
ProcId = 0
RequestCpus = 1
RequestDisk = 1
RequestMemory = 1
User = "alice@host"
"#;

/// Additional attributes in the input of the update hook once the job has run.
const RUN_ATTRIBUTES: [&str; 20] = [
    "BlockReadKbytes",
    "BlockReads",
    "BlockWriteKbytes",
    "BlockWrites",
    "ImageSize",
    "JobPid",
    "JobStartDate",
    "JobState",
    "MemoryUsage",
    "NumPids",
    "RecentBlockReadKbytes",
    "RecentBlockReads",
    "RecentBlockWriteKbytes",
    "RecentBlockWrites",
    "RecentStatsLifetime",
    "RemoteSysCpu",
    "RemoteUserCpu",
    "Renice",
    "ResidentSetSize",
    "StatsLifetime",
];

#[test]
fn starter_hooks_read_the_fetched_job_as_startd_and_starter_change_it() {
    let home = home();
    let shown = |words: &[&str]| {
        let words = [words, &["--ads", "job.ad", "--keyword", "FARM", "--show-input"]].concat();
        run(home.path(), &words).map(|output| (text(&output.stdout), text(&output.stderr)))
    };
    let Some((prepared, message)) = shown(&["prepare", "h"]) else { return };
    assert_eq!(prepared, PREPARED);
    assert!(!message.contains("MAINJOB"), "{message}");
    let (update, message) = shown(&["update", "h"]).unwrap();
    let more: Vec<&str> =
        ad(&update).keys().copied().filter(|name| !ad(PREPARED).contains_key(name)).collect();
    assert_eq!(more, RUN_ATTRIBUTES);
    assert_eq!(ad(&update)["JobState"], "\"Running\"");
    assert!(message.contains(&format!("env: _CONDOR_JOB_PIDS={}\n", ad(&update)["JobPid"])), "{message}");
    let (exit, message) = shown(&["exit", "h", "exit"]).unwrap();
    let more: Vec<&str> = ad(&exit).keys().copied().filter(|name| !ad(&update).contains_key(name)).collect();
    assert_eq!(more, ["ExitBySignal", "ExitCode", "ExitReason", "JobDuration"]);
    assert_eq!((ad(&exit)["JobState"], ad(&exit)["NumPids"]), ("\"Exited\"", "0"));
    assert!(message.contains("env: _CONDOR_MAINJOB_EXIT_CODE=0\n"), "{message}");
    // The ad shows how the job ended; the argument of the hook shows what was requested.
    let (exit, message) = shown(&["exit", "h", "--set", "ExitCode=3"]).unwrap();
    assert_eq!((ad(&exit)["ExitCode"], ad(&exit)["ExitBySignal"]), ("3", "false"));
    assert!(message.contains("env: _CONDOR_MAINJOB_EXIT_CODE=3\n"), "{message}");
    let (evict, message) = shown(&["exit", "h", "evict", "--set", "KillSig=\"SIGINT\""]).unwrap();
    assert_eq!((ad(&evict)["ExitSignal"], ad(&evict)["VacateReasonCode"]), ("2", "1010"));
    assert!(
        !evict.contains("ExitCode") && message.contains("env: _CONDOR_MAINJOB_EXIT_SIGNAL=2\n"),
        "{message}"
    );
    let (never, message) = shown(&["exit", "h", "evict", "--before-job"]).unwrap();
    assert_eq!(never, PREPARED);
    assert!(!message.contains("MAINJOB"), "{message}");
    // With a shadow, no job is fetched, and the job ad contains the provisioned resources.
    let (claimed, _) = shown(&["prepare", "h", "--shadow", "--set-slot", "Cpus=7"]).unwrap();
    assert!(!claimed.contains("HookKeyword") && !claimed.contains("RequestCpus"), "{claimed}");
    assert_eq!(ad(&claimed)["CpusProvisioned"], "7");
}

#[test]
fn a_job_without_a_directory_begins_in_its_scratch_directory() {
    let home = home();
    std::fs::write(home.path().join("small.ad"), "Cmd = \"a.out\"\n").unwrap();
    let Some(output) = run(home.path(), &["prepare", "h", "--ads", "small.ad", "--show-input"]) else {
        return;
    };
    let (input, message) = (text(&output.stdout), text(&output.stderr));
    let directory = message.lines().find_map(|line| line.strip_prefix("directory: ")).unwrap();
    assert_eq!(ad(&input)["Iwd"], format!("\"{directory}\""));
    assert_eq!(ad(&input)["Cmd"], format!("\"{directory}/a.out\""));
    // The file that _CONDOR_JOB_AD names contains the ad from before the job's start.
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat \"$_CONDOR_JOB_AD\" >&2\n");
    let message = text(&run(home.path(), &["exit", "h", "--ads", "small.ad"]).unwrap().stderr);
    assert!(message.contains("OrigCmd = \"a.out\"\n") && !message.contains("JobState"), "{message}");
}

#[test]
fn a_recorded_input_is_not_completed_a_second_time() {
    let home = home();
    for hook in ["prepare", "update", "exit", "reply"] {
        let Some(first) = run(home.path(), &[hook, "h", "--ads", "job.ad", "--show-input"]) else { return };
        std::fs::write(home.path().join("read"), &first.stdout).unwrap();
        let mut words = vec![hook, "h", "--ads", "read", "--show-input"];
        if hook == "reply" {
            // Both ads are in one file.
            let both = text(&first.stdout);
            let (job, slot) = both.split_once("-----\n").unwrap();
            let (slot, _) = slot.split_once("ClaimId").unwrap();
            std::fs::write(home.path().join("read"), job).unwrap();
            std::fs::write(home.path().join("slot"), slot).unwrap();
            words.extend(["--slot-ads", "slot"]);
        }
        let second = run(home.path(), &words).unwrap();
        assert_eq!(text(&second.stdout), text(&first.stdout), "{hook}");
    }
}

#[test]
fn a_built_in_slot_has_the_start_of_the_configuration() {
    let home = home();
    let hook = "#!/bin/sh\ncat >/dev/null\nprintf 'Cmd = \"/x\"\\nIwd = \"/\"\\nRequestMemory = 128\\n'\n";
    crate::support::children::write_executable(&home.path().join("fetch"), hook.as_bytes());
    std::fs::write(
        home.path().join("conf"),
        "START = TARGET.RequestMemory <= 64\nRANK = 3\nNUM_SLOTS_TYPE_1 = 1\n",
    )
    .unwrap();
    std::fs::write(home.path().join("slot"), "State = \"Unclaimed\"\nRequirements = Start\nStart = true\n")
        .unwrap();
    let words = ["fetch", "./fetch", "--config-file", "conf"];
    let Some(output) = run(home.path(), &words) else { return };
    let stderr = text(&output.stderr);
    assert!(stderr.contains("RequestMemory <= 64 is false"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    // Options and ads of the command line override those of the configuration.
    for more in [["--set", "start = true"], ["--set-slot", "Start=true"], ["--slot-ads", "slot"]] {
        let output = run(home.path(), &[&words[..], &more].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", text(&output.stderr));
    }
    let output = run(home.path(), &[&words[..], &["--show-input"]].concat()).unwrap();
    assert_eq!(ad(&text(&output.stdout))["Rank"], "3");
}

/// Regression test: the configuration was ignored, and reply and evict received a built-in static slot; slots lacked the
/// abilities of their starter.
#[test]
fn fetch_reply_and_evict_read_the_slot_that_the_configuration_makes() {
    let home = home();
    let docker = "#!/bin/sh\ncase $1 in -v) echo 'Docker version 25.0.1, build x' ;; *) echo ok ;; esac\n";
    write_executable(&home.path().join("docker"), docker.as_bytes());
    write_executable(&home.path().join("foreign"), b"#!/bin/sh\necho 'HasWings = true'\n");
    let config = "NUM_CPUS = 2\nSLOT_TYPE_1_PARTITIONABLE = true\nDOCKER = $(CONFIG_ROOT)/docker\n\
                  DOCKER_PERFORM_TEST = false\n";
    std::fs::write(home.path().join("conf"), config).unwrap();
    let foreign = "STARTER=$(CONFIG_ROOT)/foreign";
    for (words, name, kind) in [
        (&["fetch", "h"][..], "slot1@", "Partitionable"),
        (&["fetch", "h", "--slot", "slot1_1"], "slot1_1@", "Dynamic"),
        (&["reply", "h", "accept"], "slot1_1@", "Dynamic"),
        (&["reply", "h", "reject"], "slot1@", "Partitionable"),
        (&["reply", "h", "accept", "--quirks", "reference"], "slot1@", "Partitionable"),
        (&["evict", "h"], "slot1_1@", "Dynamic"),
        (&["evict", "h", "--param", foreign], "slot1_1@", "Dynamic"),
    ] {
        let words = [words, &["--config-file", "conf", "--show-input"]].concat();
        let Some(output) = run(home.path(), &words) else { return };
        let input = text(&output.stdout);
        let slot = ad(input.rsplit("-----\n").next().unwrap());
        let is = |name: &str| slot.get(name).copied().unwrap_or("missing");
        assert!(is("Name").starts_with(&format!("\"{name}")), "{words:?}: {}", is("Name"));
        assert_eq!(is("SlotType").trim_matches('"'), kind, "{words:?}");
        let wings = words.contains(&foreign);
        assert_eq!(is("HasDocker"), if wings { "missing" } else { "true" }, "{words:?}");
        assert_eq!(is("HasWings"), if wings { "true" } else { "missing" }, "{words:?}");
    }
}

#[test]
fn reply_reads_the_internal_ad_with_the_policy() {
    let home = home();
    let config = "STARTD_JOB_HOOK_KEYWORD = FARM\nSUSPEND = KeyboardIdle < 7\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\n";
    std::fs::write(home.path().join("conf"), config).unwrap();
    let words = ["reply", "./h", "--ads", "job.ad", "--config-file", "conf", "--set-slot", "Start=Cpus > 1"];
    let Some(output) = run(home.path(), &[&words[..], &["--show-input"]].concat()) else { return };
    let input = text(&output.stdout);
    let (job, slot) = input.split_once("-----\n").unwrap();
    for line in ["HookKeyword = \"FARM\"", "RequestCpus = 1", "RequestDisk = 1", "RequestMemory = 1"] {
        assert!(job.contains(line), "{line}: {job}");
    }
    assert!(!job.contains("OrigCmd"), "{job}");
    let slot = ad(slot);
    // These values come from the slot's ad, from the configuration, and from the defaults.
    assert_eq!(
        (slot["START"], slot["SUSPEND"], slot["CLAIM_WORKLIFE"]),
        ("Cpus > 1", "KeyboardIdle < 7", "1200")
    );
    assert_eq!((slot["IsOwner"], slot["WANT_VACATE"]), ("false", "true"));
    for name in ["Start", "LastHeardFrom", "DaemonStartTime", "MaxJobRetirementTime"] {
        assert!(!slot.contains_key(name), "{name}");
    }
    let output = run(home.path(), &["fetch", "h", "--show-input"]).unwrap();
    assert!(ad(&text(&output.stdout)).contains_key("Start"));
}

#[test]
fn the_exit_hook_of_the_quickstart_moves_a_completed_job_to_done() {
    let home = home();
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart/hooks/job_exit");
    for directory in ["hooks", "queue", "queue/claimed", "queue/done", "queue/failed", "queue/new"] {
        std::fs::create_dir(home.path().join(directory)).unwrap();
    }
    write_executable(&home.path().join("hooks/job_exit"), &std::fs::read(quickstart).unwrap());
    let job = format!("{FETCHED}QueueName = \"a\"\n");
    std::fs::write(home.path().join("job.ad"), &job).unwrap();
    std::fs::write(home.path().join("queue/claimed/a.ad"), &job).unwrap();
    let Some(output) = run(home.path(), &["exit", "hooks/job_exit", "exit", "--ads", "job.ad"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(home.path().join("queue/done/a.ad").exists(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ExitCode = 0\n"));
}

#[test]
fn one_bad_path_of_a_starter_hook_refuses_the_job() {
    let home = home();
    for name in ["prepare", "exit"] {
        write_executable(&home.path().join(name), b"#!/bin/sh\ncat >/dev/null\n");
    }
    let make_writable = |name: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(home.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    make_writable("exit", 0o757);
    let config = "STARTER_JOB_HOOK_KEYWORD = K\nK_HOOK_PREPARE_JOB = $(CONFIG_ROOT)/prepare\n\
        K_HOOK_JOB_EXIT = $(CONFIG_ROOT)/exit\n";
    std::fs::write(home.path().join("conf"), config).unwrap();
    let verdict = |words: &[&str]| {
        let words = [words, &["--config-file", "conf", "--sample-job", "vanilla", "--json"]].concat();
        let output = run(home.path(), &words)?;
        let stdout: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = format!("{} {}", stdout[0]["verdict"]["decision"], stdout[0]["verdict"]["reason"]);
        Some((output.status.code(), result, text(&output.stderr)))
    };
    let Some((status, result, _)) = verdict(&["prepare"]) else { return };
    assert_eq!(status, Some(1));
    assert!(result.starts_with("\"not-started\"") && result.contains("K_HOOK_JOB_EXIT"), "{result}");
    make_writable("exit", 0o755);
    assert!(verdict(&["prepare"]).unwrap().1.starts_with("\"go-on\""));
    // With invalid arguments of PREPARE_JOB, the job is not started either, and JOB_EXIT is called for the refused job.
    std::fs::write(home.path().join("conf"), format!("{config}K_HOOK_PREPARE_JOB_ARGS = 'open\n")).unwrap();
    let (status, result, _) = verdict(&["prepare"]).unwrap();
    assert_eq!(status, Some(1));
    assert!(result.starts_with("\"not-started\"") && result.contains("K_HOOK_PREPARE_JOB_ARGS"), "{result}");
    let (status, result, warned) = verdict(&["exit"]).unwrap();
    assert_eq!(status, Some(0), "{warned}");
    assert!(result == "\"done\" \"evict\"" && warned.contains("refuses the job"), "{result} {warned}");
    let (status, result, _) = verdict(&["exit", "--quirks", "reference"]).unwrap();
    assert!(status == Some(1) && result.starts_with("\"not-started\""), "{result}");
}

#[test]
fn the_time_out_is_an_expression_as_for_the_starter() {
    let home = home();
    write_executable(&home.path().join("h"), b"#!/bin/sh\nexec sleep 50\n");
    let told = |value: &str, words: &[&str]| {
        let config = format!("STARTER_JOB_HOOK_KEYWORD = K\nK_HOOK_JOB_EXIT_TIMEOUT = {value}\n");
        std::fs::write(home.path().join("conf"), config).unwrap();
        let words = [&["exit", "./h", "--config-file", "conf", "--ads", "job.ad"], words].concat();
        run(home.path(), &words).map(|output| text(&output.stderr))
    };
    let Some(said) = told("2 - 1", &[]) else { return };
    assert!(said.contains("timed-out") && said.contains("after 1 s"), "{said}");
    let said = told("soon", &["--timeout", "0.2"]).unwrap();
    assert!(said.contains("K_HOOK_JOB_EXIT_TIMEOUT is 'soon'"), "{said}");
    // The message says how long the caller would wait; the program itself does not wait.
    assert!(said.contains("the cleanup waits for the hook") && said.contains("waits 30 s for it"), "{said}");
    let said = told("soon", &["--timeout", "0.2", "--protocol", "7.1"]).unwrap();
    assert!(said.contains("waits without a limit") && !said.contains("continues without the hook"), "{said}");
}

#[test]
fn only_the_home_of_starter_hooks_is_that_of_another_account() {
    let home = home();
    if !nix::unistd::geteuid().is_root() {
        let Some(user) = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap() else {
            println!("skipped: the id that runs the tests has no account");
            return;
        };
        let name = user.name;
        let Some(output) = run(home.path(), &["prepare", "h", "--ads", "job.ad", "--user", &name]) else {
            return;
        };
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        return;
    }
    let shown = |hook: &str| {
        let words = [hook, "h", "--user", "nobody", "--show-input"];
        run(home.path(), &words).map(|output| text(&output.stderr))
    };
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().dir;
    let Some(said) = shown("prepare") else { return };
    assert!(said.contains("env: LOGNAME=root\n") && said.contains("env: USER=root\n"), "{said}");
    assert!(said.contains(&format!("env: HOME={}\n", nobody.display())), "{said}");
    let said = shown("fetch").unwrap();
    assert!(said.contains("env: HOME=/root\n") && said.contains("env: USER=root\n"), "{said}");
}

#[test]
fn verdicts_describe_the_actual_caller() {
    let home = home();
    let verdict = |script: &str, words: &[&str]| {
        write_executable(&home.path().join("h"), script.as_bytes());
        run(home.path(), words).map(|output| text(&output.stderr))
    };
    let fails = "#!/bin/sh\ncat >/dev/null\nexit 1\n";
    let Some(said) = verdict(fails, &["router-update", "h"]) else { return };
    assert!(said.contains("status is still checked\n"), "{said}");
    let said = verdict(fails, &["router-update", "h", "--quirks", "reference"]).unwrap();
    assert!(said.contains("status is not checked\n"), "{said}");
    let silent = "#!/bin/sh\ncat >/dev/null\n";
    let said = verdict(silent, &["translate", "h"]).unwrap();
    assert!(said.contains("if it prints nothing again, the job is released"), "{said}");
    let said = verdict(silent, &["translate", "h", "--quirks", "reference"]).unwrap();
    assert!(said.contains("called again at each poll"), "{said}");
    let said = verdict(fails, &["prepare", "h", "--shadow", "--quirks", "reference"]).unwrap();
    assert!(said.contains("JOB_EXIT is not called"), "{said}");
    let long = "#!/bin/sh\ncat >/dev/null\nfor i in $(seq 1000); do echo \"Attribute$i = 123456\"; done 2>/dev/null\nexit 0\n";
    let said = verdict(long, &["shadow-prepare", "h"]).unwrap();
    assert!(said.contains("held") && said.contains("hold code 48, subcode 1"), "{said}");
    let said = verdict(long, &["shadow-prepare", "h", "--quirks", "reference"]).unwrap();
    assert!(said.contains("go-on"), "{said}");
    let late = "#!/bin/sh\ncat >/dev/null\necho 'TransferInput = \"a\"'\n";
    assert!(verdict(late, &["prepare", "h"]).unwrap().contains("too-late"));
    assert!(!verdict(late, &["prepare-before-transfer", "h"]).unwrap().contains("too-late"));
}

#[test]
fn locations_and_messages_refer_to_the_given_texts() {
    let home = home();
    let utf =
        b"#!/bin/sh\ncat >/dev/null\nprintf 'A = \"\\303\\244\\377\\377\\377\\377\"\\nB = 1\\nno line\\n'\n";
    write_executable(&home.path().join("h"), utf);
    let Some(output) = run(home.path(), &["prepare", "h", "--json"]) else { return };
    let stdout: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bad = stdout[0]["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "bad-line").unwrap();
    assert_eq!((bad["line"].as_u64(), bad["column"].as_u64()), (Some(3), Some(1)), "{bad}");

    std::fs::write(
        home.path().join("conf"),
        "JOB_ROUTER_HOOK_KEYWORD = R\nR_HOOK_TRANSLATE_JOB = $(CONFIG_ROOT)/h\nR_HOOK_JOB_FINALIZE = $(CONFIG_ROOT)/w\n\
         R_HOOK_JOB_EXIT = $(CONFIG_ROOT)/h\nJOB_ROUTER_ROUTE_NAMES = Site1\nJOB_ROUTER_ROUTE_Site1 @=r\n\
         REQUIREMENTS (\n@r\n",
    )
    .unwrap();
    let output = run(home.path(), &["translate", "--config-file", "conf", "--route", "Site1"]).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).to_lowercase().contains("requirements"), "{}", text(&output.stderr));
    let stderr = text(&run(home.path(), &["finalize", "--config-file", "conf", "--explain"]).unwrap().stderr);
    assert!(stderr.contains("R_HOOK_JOB_EXIT is '") && stderr.contains("conf, line 4"), "{stderr}");
    assert!(stderr.contains("R_HOOK_JOB_FINALIZE"), "{stderr}");

    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\n");
    let suite = run(home.path(), &["init", "h", "--type", "prepare"]).unwrap();
    std::fs::write(home.path().join("new.toml"), &suite.stdout).unwrap();
    let output = run(home.path(), &["run", "new.toml"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let case = "[[case]]\nname = \"two\\nlines\"\nhook = \"h\"\ntype = \"prepare\"\n";
    std::fs::write(home.path().join("s.toml"), case).unwrap();
    let output = run(home.path(), &["run", "s.toml", "--tap"]).unwrap();
    let tap = text(&output.stdout);
    assert!(tap.lines().skip(2).all(|line| line.starts_with("ok ") || line.starts_with('#')), "{tap}");
}

#[test]
fn the_command_that_fuzz_prints_reproduces_the_failure() {
    let home = home();
    let hook = "#!/bin/sh\nad=$(cat)\n[ -n \"$SITE_X\" ] || exit 0\n\
        printf '%s\\n' \"$ad\" | grep -q '^Owner = \"' || exit 3\n";
    write_executable(&home.path().join("h"), hook.as_bytes());
    let words =
        ["prepare", "h", "--fuzz", "60", "--seed", "4", "--env", "SITE_X=a b", "--shadow", "--keyword", "K"];
    let Some(output) = run(home.path(), &words) else { return };
    let stderr = text(&output.stderr);
    let command = stderr.lines().find(|line| line.contains("| htc-hook-test")).expect(&stderr).trim();
    let program = program().unwrap();
    let directory = program.parent().unwrap().display();
    let mut again = Command::new("sh");
    again.args(["-c", command]).env("PATH", format!("{directory}:/usr/bin:/bin"));
    let again = again.output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{command}: {}", text(&again.stderr));
    assert!(text(&again.stderr).contains("held"), "{command}: {}", text(&again.stderr));
    // A failure that the unchanged ad also causes is not counted by --fuzz, but it is a failure.
    write_executable(&home.path().join("h"), b"#!/bin/sh\ncat >/dev/null\nexit 3\n");
    let output = run(home.path(), &["prepare", "h", "--fuzz", "20", "--seed", "4"]).unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("also found with the unchanged ad"), "{}", text(&output.stderr));
}
