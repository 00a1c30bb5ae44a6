//! Tests of `userMap()` in every program, which uses the maps of the daemon or tool as which the program acts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");
const SLOT: &str = env!("CARGO_BIN_EXE_htc-slot-run");
const STARTER: &str = env!("CARGO_BIN_EXE_htc-starter-run");
const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");

const ROUTER: &str = "\
LOCAL_DIR = $ENV(PWD)
JOB_ROUTER_CLASSAD_USER_MAP_NAMES = Groups
CLASSAD_USER_MAPDATA_Groups @=end
* alice projA,projB
* /^(.*)@EXAMPLE\\.org$/i group_\\1
claimtobe alice other
@end
JOB_ROUTER_ROUTE_NAMES = R
JOB_ROUTER_ROUTE_R @=end
UNIVERSE VANILLA
EVALSET AcctGroup userMap(\"Groups\", Owner)
@end
JOB_ROUTER_SOURCE_JOB_CONSTRAINT = true
";

const JOB: &str = "ClusterId = 1\nProcId = 0\nOwner = \"alice\"\nUser = \"alice@x\"\nJobUniverse = 5\nJobStatus = 1\nRequestCpus = 1\nRequestMemory = 1\nRequestDisk = 1\n";

/// Creates a directory with a configuration and a job.
fn place(config: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("condor_config"), config).unwrap();
    fs::write(place.path().join("job.ad"), JOB).unwrap();
    place
}

fn call(place: &Path, program: &str, words: &[&str]) -> Output {
    Command::new(program)
        .args(words)
        .current_dir(place)
        .env("CONDOR_CONFIG", place.join("condor_config"))
        .env("PWD", place)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_route_uses_the_user_maps_of_the_router() {
    let place = place(ROUTER);
    let routed = call(place.path(), TRANSLATE, &["route", "job.ad"]);
    assert!(
        out(&routed).contains("AcctGroup = \"projA,projB\"\n"),
        "{} {}",
        out(&routed),
        stderr_of(&routed)
    );
    // The maps of another daemon are not used.
    fs::write(place.path().join("condor_config"), ROUTER.replace("JOB_ROUTER_CLASSAD", "SCHEDD_CLASSAD"))
        .unwrap();
    let routed = call(place.path(), TRANSLATE, &["route", "job.ad"]);
    assert!(out(&routed).contains("AcctGroup = undefined\n"), "{}", out(&routed));
}

#[test]
fn job_transforms_in_all_threads_use_the_user_maps_of_the_schedd() {
    let config = "\
SCHEDD_CLASSAD_USER_MAP_NAMES = Groups
CLASSAD_USER_MAPFILE_Groups = groups.map
JOB_TRANSFORM_NAMES = A
JOB_TRANSFORM_A @=end
EVALSET AcctGroup userMap(\"Groups\", Owner, \"PROJb\")
@end
";
    let place = place(config);
    fs::write(place.path().join("groups.map"), "* alice projA,projB\n").unwrap();
    fs::write(place.path().join("many.ads"), format!("{JOB}\n").repeat(20_000)).unwrap();
    let words = ["transform", "--config-file", "condor_config", "--job-transforms", "A", "many.ads"];
    let done = call(place.path(), TRANSLATE, &words);
    assert_eq!(out(&done).matches("AcctGroup = \"projB\"\n").count(), 20_000, "{}", stderr_of(&done));
}

#[test]
fn a_policy_uses_the_user_maps_of_the_startd() {
    let config = "\
LOCAL_DIR = $ENV(PWD)
STARTD_CLASSAD_USER_MAP_NAMES = Groups
CLASSAD_USER_MAPDATA_Groups = * alice projA
START = userMap(\"Groups\", TARGET.Owner) == \"projA\"
";
    let place = place(config);
    let explained = call(place.path(), SLOT, &["explain", "--ads", "job.ad"]);
    assert_eq!(explained.status.code(), Some(0), "{} {}", out(&explained), stderr_of(&explained));
}

#[test]
fn a_starter_uses_its_user_maps() {
    let config = "\
STARTER_CLASSAD_USER_MAP_NAMES = Groups
CLASSAD_USER_MAPFILE_Groups = missing.map
";
    let place = place(config);
    fs::write(place.path().join("run.ad"), "Cmd = \"/bin/true\"\n").unwrap();
    let run = call(place.path(), STARTER, &["--dry-run", "--ads", "run.ad"]);
    let expected = "user map 'Groups' was not loaded: cannot read 'missing.map': No such file";
    assert!(stderr_of(&run).contains(expected), "{}", stderr_of(&run));
}

#[test]
fn hook_test_uses_the_user_maps_of_the_calling_daemon() {
    let config = "\
STARTD_CLASSAD_USER_MAP_NAMES = Groups
CLASSAD_USER_MAPDATA_Groups = * alice projA
START = userMap(\"Groups\", TARGET.Owner) == \"projA\"
";
    let place = place(config);
    crate::support::children::write_executable(
        &place.path().join("fetch"),
        format!("#!/bin/sh\ncat <<E\n{JOB}Cmd = \"/bin/true\"\nE\n").as_bytes(),
    );
    let words = ["fetch", "./fetch", "--expect-verdict", "accepted"];
    let called = call(place.path(), HOOK_TEST, &words);
    assert_eq!(called.status.code(), Some(0), "{} {}", out(&called), stderr_of(&called));
}

#[test]
fn an_undefined_user_map_says_why() {
    let place = place(
        "TOOL_CLASSAD_USER_MAP_NAMES = Groups Gone\nCLASSAD_USER_MAPFILE_Gone = /no/such\nCLASSAD_USER_MAPDATA_Groups = * alice projA\n",
    );
    let why = |config: &str, expression: &str| {
        let output = Command::new(EVAL)
            .args(["-explain", expression])
            .env("CONDOR_CONFIG", config)
            .env("HOME", place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        out(&output) + &stderr_of(&output)
    };
    let config = place.path().join("condor_config").display().to_string();
    for (expression, expected) in [
        ("userMap(\"Groups\", \"bob\")", "the user map 'Groups' has no entry for 'bob'"),
        (
            "userMap(\"Other\", \"bob\")",
            "there is no user map 'Other': TOOL_CLASSAD_USER_MAP_NAMES does not name it",
        ),
        ("userMap(\"Gone\", \"bob\")", "the user map 'Gone' was not loaded: cannot read '/no/such'"),
        ("userMap(\"gone\", \"bob\")", "warning: user map 'Gone' was not loaded: cannot read '/no/such'"),
        ("userMap(\"groups\", \"alice\")", "\"projA\""),
    ] {
        let told = why(&config, expression);
        assert!(told.contains(expected), "{expression}: {told}");
    }
    let told = why("ONLY_ENV", "userMap(\"Groups\", \"alice\")");
    assert!(told.contains("TOOL_CLASSAD_USER_MAP_NAMES does not name it"), "{told}");
}

/// A daemon would wait forever if a map were a pipe.
#[test]
fn a_user_map_must_be_a_regular_file_of_limited_size() {
    let place = place(
        "TOOL_CLASSAD_USER_MAP_NAMES = A B C D\nCLASSAD_USER_MAPFILE_A = fifo\nCLASSAD_USER_MAPFILE_B = /dev/zero\nCLASSAD_USER_MAPFILE_C = huge\nCLASSAD_USER_MAPFILE_D = .\n",
    );
    nix::unistd::mkfifo(&place.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::File::create(place.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
    let began = Instant::now();
    let output = call(place.path(), EVAL, &["-quiet", "userMap(\"A\", \"x\")"]);
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(out(&output), "undefined\n");
    let stderr = stderr_of(&output);
    assert_eq!(stderr.matches("it is not a regular file").count(), 3, "{stderr}");
    assert!(stderr.contains("cannot read 'huge': it is larger than 64 MiB"), "{stderr}");
}

#[test]
fn an_included_file_may_not_include_another() {
    let place = place("TOOL_CLASSAD_USER_MAP_NAMES = A\nCLASSAD_USER_MAPFILE_A = $(CONFIG_ROOT)/a.map\n");
    fs::create_dir(place.path().join("more")).unwrap();
    fs::write(place.path().join("a.map"), "@include more\n@include missing\n* y own\n").unwrap();
    fs::write(place.path().join("more/1"), "@include 2\n* x first\n").unwrap();
    fs::write(place.path().join("more/2"), "* x second\n* y second\n").unwrap();
    let output = call(place.path(), EVAL, &["-quiet", "userMap(\"A\", \"x\")", "userMap(\"A\", \"y\")"]);
    assert_eq!(out(&output), "\"first\"\n\"second\"\n", "{}", stderr_of(&output));
    assert!(
        stderr_of(&output).contains("an included file may not include another"),
        "{}",
        stderr_of(&output)
    );
    assert!(stderr_of(&output).contains("a.map, line 2: cannot read"), "{}", stderr_of(&output));
}
