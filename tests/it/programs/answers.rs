//! Tests that a program does not answer a question about a part of its input, or another question, without a message.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::children::write_executable;

/// Returns exit status, standard output and standard error of a program that reads a text from standard input.
fn call_with_input(place: &Path, line: &str, input: &str) -> (Option<i32>, String, String) {
    let (program, words) = line.split_once(' ').unwrap();
    let program = match program {
        "classad-eval" => env!("CARGO_BIN_EXE_htc-classad-eval"),
        "config-dump" => env!("CARGO_BIN_EXE_htc-config-dump"),
        "hook-test" => env!("CARGO_BIN_EXE_htc-hook-test"),
        "router-status" => env!("CARGO_BIN_EXE_htc-router-status"),
        _ => env!("CARGO_BIN_EXE_htc-router-translate"),
    };
    let mut child = Command::new(program)
        .args(words.split(' '))
        .current_dir(place)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn call(place: &Path, line: &str) -> (Option<i32>, String, String) {
    call_with_input(place, line, "")
}

#[test]
fn each_of_several_configurations_is_checked() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    for site in ["a", "b"] {
        fs::create_dir_all(place.join(site).join("config.d")).unwrap();
        fs::write(place.join(site).join("condor_config"), "LOCAL_CONFIG_DIR = $(CONFIG_ROOT)/config.d\n")
            .unwrap();
    }
    fs::write(place.join("a/config.d/10"), "NUM_CPUS = 4\n").unwrap();
    fs::write(place.join("b/config.d/10"), "NUM_CPUS = four\n").unwrap();
    let (status, out, err) = call(place, "config-dump lint a/condor_config b/condor_config");
    assert!(status == Some(1) && out.contains("b/config.d/10:1") && out.contains("'four'"), "{out}{err}");
    assert!(err.contains("2 configurations are checked"), "{err}");
    let (status, _, err) = call(place, "config-dump lint a/condor_config a/config.d/10 b/condor_config");
    assert!(
        status == Some(2) && err.contains("'b/condor_config' is the main file of another configuration"),
        "{err}"
    );
    for program in ["config-dump", "router-translate"] {
        let (status, _, err) =
            call(place, &format!("{program} lint --config-file b/condor_config a/condor_config"));
        assert!(
            status == Some(2) && err.contains("--config-file cannot be used with FILE"),
            "{program}: {err}"
        );
    }
    // A main file and its parts are one configuration.
    let (status, _, err) = call(place, "config-dump lint a/condor_config a/config.d/10");
    assert_eq!(status, Some(0), "{err}");
}

#[test]
fn lint_says_which_hooks_it_does_not_check() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::write(place.join("c"), "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /no/such/hook\n")
        .unwrap();
    let (status, _, err) = call(place, "config-dump lint c");
    assert!(
        status == Some(0) && err.contains("1 hook not on this machine is not reported (--config-file"),
        "{err}"
    );
    let (status, out, _) = call(place, "config-dump lint --config-file c");
    assert!(status == Some(1) && out.contains("[hook-refused]"), "{out}");
    let (status, out, _) = call(place, "config-dump lint --no-env --config-file c");
    assert!(status == Some(0) && out.contains("[hook-missing]"), "{out}");
    let (_, out, _) = call(place, "config-dump lint --explain hook-missing");
    assert!(out.contains("wrong (lint --no-env --config-file FILE):"), "{out}");
}

#[test]
fn lint_refuses_a_file_that_is_not_a_configuration() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::create_dir(place.join("config.d")).unwrap();
    fs::write(place.join("month.toml"), "length = \"30d\"\n[[jobs]]\ncount = 3\n").unwrap();
    let (status, _, err) = call(place, "config-dump lint config.d");
    assert!(status == Some(3) && err.contains("hint: 'lint config.d/*' checks its files"), "{err}");
    let (status, _, err) = call(place, "config-dump lint month.toml");
    assert!(status == Some(3) && err.contains("is a TOML file, not a configuration"), "{err}");
}

#[test]
fn a_baseline_reports_findings_that_are_gone() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    fs::write(place.join("c"), "NUM_CPUS = four\nMEMORY = many\n").unwrap();
    call(place, "config-dump lint --write-baseline known c");
    fs::write(place.join("c"), "NUM_CPUS = four\n").unwrap();
    let (status, _, err) = call(place, "config-dump lint --baseline known c");
    assert!(status == Some(0) && err.contains("1 finding of the baseline no longer found"), "{err}");
}

#[test]
fn an_unknown_template_has_a_hint() {
    let home = tempfile::tempdir().unwrap();
    for (line, expected) in [
        ("config-dump use POLCY", "did you mean POLICY?"),
        ("config-dump use ROLE:Exeute", "did you mean ROLE:Execute?"),
        ("config-dump use Nonsense", "the categories are EXPERIMENTAL, FEATURE"),
    ] {
        let (status, _, err) = call(home.path(), line);
        assert!(status == Some(4) && err.contains(expected), "{line}: {err}");
    }
    let (status, out, _) = call(home.path(), "config-dump use");
    assert!(status == Some(0) && out.lines().any(|line| line == "POLICY"), "{out}");
}

#[test]
fn a_setting_of_the_command_line_is_called_by_its_option() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("c"), "NUM_CPUS = 1\n").unwrap();
    let (_, out, _) =
        call(home.path(), "config-dump --no-env --config-file c --why NUM_CPUS --param NUM_CPUS=3");
    assert!(out.contains("    --param   <- this one is used") && !out.contains("<Over>"), "{out}");
}

#[test]
fn hints_name_options_that_exist() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("old.conf"), "A = 1\n").unwrap();
    let (status, _, err) = call(home.path(), "router-translate convert old.conf");
    assert!(status == Some(2) && err.contains("--config-file old.conf") && !err.contains("--ads"), "{err}");
    let hook = home.path().join("fetch");
    write_executable(&hook, b"#!/bin/sh\n");
    fs::write(
        home.path().join("config"),
        format!("STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = {}\n", hook.display()),
    )
    .unwrap();
    let (status, _, err) = call(home.path(), "hook-test queue --config-file config --fill true --jobs 2");
    assert!(status == Some(3) && err.contains("printed no job after the command of --fill"), "{err}");
}

#[test]
fn options_without_effect_are_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("j.ad"), "ClusterId = 1\nProcId = 0\n").unwrap();
    for line in [
        "hook-test prepare /bin/true --ads j.ad --sample-job java",
        "hook-test fetch /bin/true --slot-ads j.ad --sample-slot gpu",
    ] {
        let (status, _, err) = call(home.path(), line);
        assert!(status == Some(2) && err.contains("cannot be used with"), "{line}: {err}");
    }
}

#[test]
fn a_cron_job_of_the_configuration_is_not_called_as_a_program() {
    let home = tempfile::tempdir().unwrap();
    let health = home.path().join("health");
    write_executable(&health, b"#!/bin/sh\necho Healthy = true\n");
    fs::write(
        home.path().join("cc"),
        format!(
            "NUM_CPUS = 2\nSLOT_TYPE_1 = 50%\nNUM_SLOTS_TYPE_1 = 2\nSTARTD_CRON_JOBLIST = HEALTH\nSTARTD_CRON_HEALTH_EXECUTABLE = {}\nSTARTD_CRON_HEALTH_PERIOD = 1m\n",
            health.display()
        ),
    )
    .unwrap();
    let (status, _, err) = call(home.path(), "hook-test startd-cron --config-file cc HEALTH");
    assert!(status == Some(2) && err.contains("hint: --name HEALTH runs this job"), "{err}");
    let (status, out, err) =
        call(home.path(), "hook-test startd-cron --config-file cc --name HEALTH --slot slot2");
    assert!(status == Some(0) && out.contains("Healthy = true"), "{out}{err}");
}

#[test]
fn the_route_of_a_hook_test_is_that_of_the_configuration() {
    let home = tempfile::tempdir().unwrap();
    fs::write(
        home.path().join("router.conf"),
        "JOB_ROUTER_ROUTE_NAMES = Zed All\n\
         JOB_ROUTER_ROUTE_Zed @=r\n REQUIREMENTS Owner == \"zed\"\n UNIVERSE VANILLA\n@r\n\
         JOB_ROUTER_ROUTE_All @=r\n REQUIREMENTS Owner == \"ann\"\n UNIVERSE VANILLA\n@r\n",
    )
    .unwrap();
    let translate = |owner: &str| {
        fs::write(
            home.path().join("j.ad"),
            format!("ClusterId = 1\nProcId = 0\nJobStatus = 1\nJobUniverse = 5\nOwner = \"{owner}\"\n"),
        )
        .unwrap();
        call(home.path(), "hook-test translate /bin/cat --config-file router.conf --ads j.ad --show-input")
    };
    let (status, out, err) = translate("ann");
    assert_eq!(status, Some(0), "{err}");
    assert!(
        (out.clone() + &err).contains("Name = \"All\"") && err.contains("using the route 'All'"),
        "{out}{err}"
    );
    let (_, _, err) = translate("eve");
    assert!(err.contains("the router has no route for this job (") && err.contains("'Site1'"), "{err}");
}

const JOBS: &str =
    "ClusterId = 1\nProcId = 0\nRequestMemory = 500\n\nClusterId = 2\nProcId = 0\nRequestMemory = 5000\n";

#[test]
fn a_sum_is_one_number() {
    let home = tempfile::tempdir().unwrap();
    let sum = |input: &str, more: &str| {
        let line = format!("classad-eval --ads - --sum RequestMemory{more}");
        call_with_input(home.path(), &line, input).1
    };
    assert_eq!(sum(JOBS, ""), "5500\n");
    assert_eq!(sum(JOBS, " -c false"), "0\n");
    assert_eq!(sum(JOBS, " --max ClusterId"), "5500 2\n");
    assert_eq!(sum(JOBS, " --count-by ProcId"), "2 0 5500\n");
}

#[test]
fn numbers_are_true_or_false_as_in_conditions() {
    let home = tempfile::tempdir().unwrap();
    for (expression, status) in
        [("7", 0), ("0", 1), ("true", 0), ("false", 1), ("undefined", 4), ("\"x\"", 5)]
    {
        assert_eq!(
            call(home.path(), &format!("classad-eval -q -e {expression}")).0,
            Some(status),
            "{expression}"
        );
    }
    let (_, help, _) = call(home.path(), "classad-eval --help-all");
    assert!(help.contains("true or a number other than 0: 0"), "{help}");
}

#[test]
fn match_reports_ads_without_requirements() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("slots"), "Name = \"s\"\nRequirements = true\n").unwrap();
    fs::write(home.path().join("jobs"), JOBS).unwrap();
    for more in ["", " --count", " -af ClusterId"] {
        let (_, _, err) = call(home.path(), &format!("classad-eval --ads jobs --match slots{more}"));
        assert!(
            err.contains("some ads have no Requirements, and an ad without them matches nothing"),
            "{more}: {err}"
        );
    }
    fs::write(home.path().join("jobs"), JOBS.replace("ProcId", "Requirements = true\nProcId")).unwrap();
    let (_, out, err) = call(home.path(), "classad-eval --ads jobs --match slots --count");
    assert_eq!((out.as_str(), err.as_str()), ("2\n", ""));
}

#[test]
fn a_definition_that_refers_to_itself_is_explained() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"))
        .args(["X = 5", "X = X + 1", "X"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("X refers to itself"), "{err}");
    drop(home);
}

#[test]
fn separated_rows_have_the_columns_of_the_table() {
    let home = tempfile::tempdir().unwrap();
    let jobs = "ClusterId = 1\nProcId = 0\nRouteName = \"A\"\nRoutedFromJobId = \"5.0\"\nJobStatus = 2\nOwner = \"ann\"\n";
    let header = |more: &str| {
        let (_, out, err) = call_with_input(home.path(), &format!("router-status queue --csv{more} -"), jobs);
        out.lines().next().unwrap_or_else(|| panic!("{err}")).to_owned()
    };
    assert_eq!(header(""), "copy,source,route,owner,job_status,state,seconds,resource,hold_reason,trouble");
    assert_eq!(header(" --by route"), "route,jobs,idle,running,held,done,other");
}

#[test]
fn a_skipped_ad_shows_in_the_exit_status() {
    let home = tempfile::tempdir().unwrap();
    let (status, _, err) =
        call_with_input(home.path(), "router-status queue -", "RouteName = \"A\"\nJobStatus = 1\n");
    assert!(
        status == Some(3) && err.contains("an ad without ClusterId and ProcId is skipped"),
        "{status:?} {err}"
    );
}

#[test]
fn requirements_that_are_an_error_are_counted() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("r.xfm"), "REQUIREMENTS RequestMemory > 100\nSET A 1\n").unwrap();
    let input = "RequestMemory = \"4 GB\"\n\nRequestMemory = 200\n";
    for threads in ["1", "2"] {
        let line = format!("router-translate transform --rules r.xfm --threads {threads} -");
        let (_, out, err) = call_with_input(home.path(), &line, input);
        assert_eq!(out.matches("A = 1").count(), 1, "{out}");
        assert!(err.contains("REQUIREMENTS are an error for 1 ad"), "{err}");
    }
}
