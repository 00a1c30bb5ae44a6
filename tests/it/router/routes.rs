//! Tests of routes as in HTCondor's own test of its router, of the verbs for one hook with hooks of every kind, and of old routes
//! with the same name.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Returns exit status, standard output and standard error of htc-router-translate in a directory.
fn translate(place: &Path, words: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
        .args(words)
        .args(["--no-env", "--config-file", "config"])
        .current_dir(place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Four routes in two pairs, which match by the bits of a number, and one transform before all routes.
const POOLS: &str = "JOB_ROUTER_NAME = r
COLLECTOR_NAME = jira
JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = Plain
JOB_ROUTER_TRANSFORM_Plain @=t
  DELETE RouteMe
  SET RoutedJob true
  SET Requirements true
  SET CollHost \"$(COLLECTOR_NAME)\"
@t
JOB_ROUTER_ROUTE_NAMES = Odd1 Even3 Odd2 Even4
JOB_ROUTER_ROUTE_Odd1 @=r
  UNIVERSE Vanilla
  REQUIREMENTS RouteMe && (ProcId & 1)
  #MaxJobs = 1
  SET ProductionJob 1
  SET Requirements target.slotId & 1
@r
JOB_ROUTER_ROUTE_Odd2 @=r
  UNIVERSE VANILLA
  REQUIREMENTS RouteMe && (ProcId & 1)
  SET ProductionJob 2
  SET Requirements !(target.slotId & 1)
@r
JOB_ROUTER_ROUTE_Even3 @=r
  UNIVERSE 5
  REQUIREMENTS RouteMe && !(ProcId & 1)
  SET ProductionJob 0
  SET AnalysisRun 3
@r
JOB_ROUTER_ROUTE_Even4 @=r
  UNIVERSE vanilla
  Requirements RouteMe && !(ProcId & 1)
  SET ProductionJob 0
  SET AnalysisRun  4
@r
";

#[test]
fn jobs_are_routed_to_pools_by_their_numbers() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let jobs: String = (0..16)
        .map(|proc| {
            format!(
                "ClusterId = 1\nProcId = {proc}\nOwner = \"ana\"\nJobStatus = 1\nJobUniverse = 5\nRouteMe = {}\n\
                 Requirements = Target.PoolName == My.Totem\n\n",
                proc / 8
            )
        })
        .collect();
    let routed = |config: &str| -> Vec<String> {
        fs::write(place.join("config"), config).unwrap();
        let (status, out, stderr) = translate(place, &["route"], &jobs);
        assert_eq!(status, 1, "half of them are not routed: {stderr}");
        out.split("\n\n").filter(|ad| !ad.trim().is_empty()).map(str::to_owned).collect()
    };
    let copies = routed(POOLS);
    assert_eq!(copies.len(), 8);
    for (at, copy) in copies.iter().enumerate() {
        let odd = at % 2 == 1;
        let mut lines = vec![
            format!("RoutedFromJobId = \"1.{}\"", at + 8),
            format!("RouteName = \"{}\"", if odd { "Odd1" } else { "Even3" }),
            "CollHost = \"jira\"".to_owned(),
            "RoutedJob = true".to_owned(),
            "JobUniverse = 5".to_owned(),
            format!("ProductionJob = {}", i32::from(odd)),
        ];
        // An attribute that a route sets overrides that of the transform before it.
        lines.push(format!("Requirements = {}", if odd { "target.slotId & 1" } else { "true" }));
        for line in lines {
            assert!(copy.lines().any(|found| found == line), "no {line} in\n{copy}");
        }
        assert!(!copy.contains("RouteMe") && copy.contains("AnalysisRun = 3") != odd, "{copy}");
    }
    // With a limit, the second route of each pair gets the remaining jobs, and consecutive jobs get different routes.
    let limited =
        routed(&POOLS.replace("#MaxJobs", "MaxJobs").replace("UNIVERSE 5", "UNIVERSE 5\n  MaxJobs = 1"));
    let names = |copies: &[String], name: &str| {
        copies.iter().filter(|copy| copy.contains(&format!("RouteName = \"{name}\"\n"))).count()
    };
    let counts = ["Odd1", "Odd2", "Even3", "Even4"].map(|name| names(&limited, name));
    assert_eq!(counts, [1, 3, 1, 3]);
    let turns = routed(&format!("{POOLS}JOB_ROUTER_ROUND_ROBIN_SELECTION = true\n"));
    assert_eq!(["Odd1", "Odd2"].map(|name| names(&turns, name)).iter().sum::<usize>(), 4);
    assert!(names(&turns, "Odd2") + names(&turns, "Even4") > 0);
}

#[test]
fn the_later_of_two_old_routes_decides_which_one_applies() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let job = "ClusterId = 1\nProcId = 0\nOwner = \"ana\"\nJobStatus = 1\nJobUniverse = 5\n\n";
    // A later route replaces the earlier one, unless OverrideRoutingEntry is false.
    for (mark, tag, word) in [
        ("OverrideRoutingEntry = True;", 2, ""),
        ("", 2, "replaces an earlier route"),
        ("OverrideRoutingEntry = False;", 1, "OverrideRoutingEntry is false: it is left out"),
    ] {
        let entries = format!(
            "JOB_ROUTER_ENTRIES @=e\n[ Name = \"A\"; TargetUniverse = 5; Requirements = true; set_Tag = 1; ]\n\
             [ Name = \"A\"; TargetUniverse = 5; Requirements = true; {mark} set_Tag = 2; ]\n@e\n"
        );
        fs::write(place.join("config"), entries).unwrap();
        let (status, out, stderr) = translate(place, &["route"], job);
        assert_eq!(status, 0, "{stderr}");
        assert!(out.contains(&format!("Tag = {tag}\n")), "{mark}: {out}\n{stderr}");
        assert!(
            stderr.contains(word)
                && (stderr.contains("replaces an earlier") || stderr.contains("left out")) != word.is_empty(),
            "{stderr}"
        );
    }
}

const KEYWORD: &str = "JOB_ROUTER_NAME = r\nJOB_ROUTER_HOOK_KEYWORD = KW\nJOB_ROUTER_ROUTE_NAMES = R\n\
    JOB_ROUTER_ROUTE_R @=r\n  REQUIREMENTS true\n  UNIVERSE vanilla\n@r\n";

const JOB: &str = "ClusterId = 1\nProcId = 0\nOwner = \"nobody\"\nJobStatus = 1\nJobUniverse = 5\n\n";
const COPY: &str = "ClusterId = 7\nProcId = 0\nOwner = \"nobody\"\nJobStatus = 2\nJobUniverse = 5\n\
    RoutedFromJobId = \"1.0\"\n\n";

/// Creates a directory with one hook, to which the job's owner has access.
fn hooked(parameter: &str, script: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let hook = place.path().join("hook");
    fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place.path().join("config"), format!("{KEYWORD}KW_HOOK_{parameter} = {}\n", hook.display()))
        .unwrap();
    place
}

#[test]
fn a_translate_hook_makes_the_ad_and_its_failures_are_reported() {
    // This is a typical hook: it reads the route, then the job, and adds one attribute.
    let script = "read route; read dashes; case $route in *'Name = \"R\"'*) ;; *) exit 9;; esac; cat; echo 'Added = 1'";
    let place = hooked("TRANSLATE_JOB", script);
    let (status, out, stderr) = translate(place.path(), &["translate"], JOB);
    assert_eq!(status, 0, "{stderr}");
    assert!(out.contains("Added = 1\n") && out.contains("JobUniverse = 5\n"), "{out}");
    // For each script: the report, and true if an ad is printed by default, and with `--quirks reference`.
    for (script, report, out_here, out_there) in [
        ("cat >/dev/null", "(returned no data); 25.14: ", false, false),
        ("cat >/dev/null; echo", "job ad lacks universe", false, false),
        ("cat >/dev/null; echo A = 1", "job ad lacks universe", false, false),
        ("cat >/dev/null; echo 'JobUniverse = 5'; echo 'no line'", "no line", false, false),
        ("cat >/dev/null; echo 'JobUniverse = 5'; exit 3", "status 3", false, false),
        ("read a; read b; cat; kill -9 $$", "signal 9", false, true),
    ] {
        let place = hooked("TRANSLATE_JOB", script);
        let (status, out, stderr) = translate(place.path(), &["translate"], JOB);
        assert!(status == 1 && stderr.contains(report), "{script}: {status} {stderr}");
        assert_eq!(!out.is_empty(), out_here, "{script}: {out}");
        let (_, out, stderr) = translate(place.path(), &["translate", "--quirks", "reference"], JOB);
        assert_eq!(!out.is_empty(), out_there, "{script}: {out} {stderr}");
    }
}

#[test]
fn a_keyword_without_the_hook_is_reported_once_and_the_ads_stay_unchanged() {
    let place = hooked("TRANSLATE_JOB", "exit 9");
    let job = JOB.replace("\n\n", "\nHookKeyword = \"NOPE\"\n\n");
    let (status, out, stderr) = translate(place.path(), &["translate"], &[job.as_str(), &job].concat());
    assert_eq!((status, out.matches("HookKeyword = \"NOPE\"").count()), (0, 2), "{out}{stderr}");
    let note = "NOPE_HOOK_TRANSLATE_JOB is not set, so TRANSLATE_JOB is not called";
    assert_eq!(stderr.matches(note).count(), 1, "{stderr}");
    fs::write(place.path().join("config"), KEYWORD.replace("JOB_ROUTER_HOOK_KEYWORD = KW\n", "")).unwrap();
    let (status, _, stderr) = translate(place.path(), &["translate"], JOB);
    assert!(status == 0 && stderr.contains("JOB_ROUTER_HOOK_KEYWORD is not set, so"), "{stderr}");
}

#[test]
fn a_job_that_stays_claimed_is_not_reported_as_released() {
    for (script, words, told_of) in [
        ("cat >/dev/null", &["route"][..], "1.0: stays claimed, and the hook is called again: "),
        ("cat >/dev/null; echo A = 1", &["route"], "1.0: released: "),
        ("cat >/dev/null; echo A = 1", &["route", "--quirks", "reference"], "1.0: the router aborts here: "),
    ] {
        let place = hooked("TRANSLATE_JOB", script);
        let (status, out, stderr) = translate(place.path(), words, JOB);
        assert!(status == 1 && out.is_empty() && stderr.contains(told_of), "{script}: {out}{stderr}");
    }
}

#[test]
fn a_hook_that_hangs_is_killed_in_time_with_all_its_children() {
    let place = hooked("UPDATE_JOB_INFO", "trap '' TERM; sleep 300 & sleep 300");
    let begin = Instant::now();
    let (status, out, stderr) = translate(place.path(), &["update", "--hook-timeout", "1"], COPY);
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(status == 1 && stderr.contains("took longer than 1 s and was killed"), "{status}: {stderr}");
    // The copy is printed unchanged.
    assert!(out.contains("JobStatus = 2\n"), "{out}");
}

#[test]
fn update_and_cleanup_hooks_change_only_permitted_attributes() {
    let update = |script: &str, words: &[&str]| {
        let place = hooked("UPDATE_JOB_INFO", script);
        translate(place.path(), &[&["update"], words].concat(), COPY)
    };
    let (status, out, stderr) =
        update("cat >/dev/null; echo JobStatus = 5; echo MyType = '\"x\"'; echo Far = 1", &[]);
    assert_eq!(status, 0, "{stderr}");
    assert!(out.contains("JobStatus = 5\n") && out.contains("Far = 1\n") && !out.contains("MyType"), "{out}");
    // In 25.14, an id that the hook prints addresses another job; here it is reported, and the output is ignored.
    let (status, out, stderr) = update("cat >/dev/null; echo ClusterId = 99; echo Far = 1", &[]);
    assert!(status == 1 && stderr.contains("ClusterId"), "{status}: {out}{stderr}");
    assert!(!out.contains("ClusterId = 99"), "{out}");
    let (_, _, stderr) = update("cat >/dev/null; exit 4", &[]);
    assert!(stderr.contains("status 4"), "{stderr}");
    let cleanup = |script: &str| {
        let place = hooked("JOB_CLEANUP", script);
        translate(place.path(), &["cleanup"], COPY)
    };
    let (status, out, stderr) = cleanup("cat >/dev/null; echo JobStatus = 1");
    assert!(status == 0 && out.contains("JobStatus = 2\n"), "its output counts for nothing: {out}{stderr}");
    let (status, _, stderr) = cleanup("cat >/dev/null; exit 1");
    assert!(status == 1 && stderr.contains("status 1"), "{stderr}");
}

#[test]
fn a_finalize_hook_reads_both_ads_and_changes_the_source() {
    let script =
        "awk '/^------$/ { part = 1 } part && /^ExitCode/ { print }'; echo Sum = 3; echo >&2 done with it";
    let place = hooked("JOB_FINALIZE", script);
    let copy = COPY.replace("JobStatus = 2", "JobStatus = 4\nExitCode = 6");
    let pair = format!("{}------\n{copy}", JOB.trim_end_matches('\n').to_owned() + "\n");
    let (status, out, stderr) = translate(place.path(), &["finalize"], &pair);
    assert_eq!(status, 0, "{out}{stderr}");
    assert!(
        out.contains("ExitCode = 6\n") && out.contains("Sum = 3\n") && stderr.contains("done with it"),
        "{out}{stderr}"
    );
    let place = hooked("JOB_FINALIZE", "cat >/dev/null; echo Sum = 3; exit 2");
    let (status, out, stderr) = translate(place.path(), &["finalize"], &pair);
    assert!(
        status == 1 && !out.contains("Sum = 3") && stderr.contains("non-zero return code"),
        "{out}{stderr}"
    );
}

/// Explanations of routes have the screen, rows and statuses of `htc-slot-run explain`, with a route in place of a slot.
#[test]
fn jobs_without_a_route_are_explained_on_one_screen() {
    let place = tempfile::tempdir().unwrap();
    let config = "JOB_ROUTER_NAME = r\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = Site =?= \"here\"\n\
        JOB_ROUTER_ROUTE_NAMES = Small Large Full\n\
        JOB_ROUTER_ROUTE_Small @=r\n REQUIREMENTS RequestMemory <= 2000 && Owner != \"guest\"\n UNIVERSE VANILLA\n@r\n\
        JOB_ROUTER_ROUTE_Large @=r\n REQUIREMENTS RequestMemory > 8000\n UNIVERSE VANILLA\n@r\n\
        JOB_ROUTER_ROUTE_Full @=r\n MaxJobs = 0\n UNIVERSE VANILLA\n@r\n";
    fs::write(place.path().join("config"), config).unwrap();
    let job = |process: usize, owner: &str, memory: usize, site: &str| {
        format!(
            "ClusterId = 7\nProcId = {process}\nJobStatus = 1\nJobUniverse = 5\nOwner = \"{owner}\"\n\
             RequestMemory = {memory}\nSite = \"{site}\"\n\n"
        )
    };
    let mut jobs: String = (0..5).map(|at| job(at, "ann", 4000, "here")).collect();
    jobs += &(5..8).map(|at| job(at, "guest", 100, "here")).collect::<String>();
    jobs += &job(8, "ann", 100, "there");
    jobs += &job(9, "ann", 100, "here");
    let words = ["match", "--explain", "--summary"];
    let (status, text, stderr) = translate(place.path(), &words, &jobs);
    assert_eq!(status, 1, "{text}{stderr}");
    assert!(text.starts_with("10 jobs of 4 kinds, 3 routes of 3 kinds: 9 jobs without a route; "), "{text}");
    for expected in [
        "5 jobs like 7.0: no route",
        "RequestMemory <= 2000 is not true: the job asks for 4000",
        "try RequestMemory 2000 instead of 4000: 1 more route",
        "3 jobs like 7.5: no route",
        "Owner != \"guest\" is not true: the job has \"guest\"",
        "job 7.8: no route",
        "Site =?= \"here\" is not true: the job has \"there\"",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (status, rows, stderr) =
        translate(place.path(), &["match", "--explain", "--summary", "--json"], &jobs);
    let rows: serde_json::Value =
        serde_json::from_str(&rows).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let accepting: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["accepting_slots"].as_u64()).collect();
    assert_eq!((status, accepting), (1, vec![Some(0), Some(0), Some(0), Some(1)]));
    let (status, text, _) = translate(place.path(), &words, &job(9, "ann", 100, "here"));
    assert_eq!(
        (status, text.lines().next()),
        (0, Some("1 job of 1 kind, 3 routes of 3 kinds: the job has a route; 2 routes accept no job"))
    );
}

/// Regression test: after the job that filled the last route, an identical job was said to match no enabled route.
#[test]
fn jobs_are_explained_if_all_matching_routes_are_full() {
    let place = tempfile::tempdir().unwrap();
    let route = |name: &str| {
        format!(
            "JOB_ROUTER_ROUTE_{name} @=e\nREQUIREMENTS RequestCpus > 0\nMaxJobs = 1\nUNIVERSE VANILLA\n@e\n"
        )
    };
    let config = format!("JOB_ROUTER_ROUTE_NAMES = A B\n{}{}", route("A"), route("B"));
    fs::write(place.path().join("config"), config).unwrap();
    let job = |number: u32, cpus: u32| {
        format!(
            "ClusterId = 1\nProcId = {number}\nOwner = \"ann\"\nJobUniverse = 5\nJobStatus = 1\nRequestCpus = {cpus}\n\n"
        )
    };
    let jobs: String = (0..4).map(|number| job(number, 1)).chain([job(4, 0)]).collect();
    let (_, output, _) = translate(place.path(), &["match", "--explain"], &jobs);
    let blocks: Vec<&str> = output.split("\n1.").collect();
    assert!(blocks[2].contains("candidate: yes"), "{output}");
    assert!(
        blocks[3].contains("not a candidate now: routes A, B match, but accept no more jobs"),
        "{output}"
    );
    assert!(blocks[4].contains("no candidate: no enabled route matches"), "{output}");
    let (_, output, _) = translate(place.path(), &["match", "--explain", "--jsonl"], &jobs);
    let full: Vec<serde_json::Value> = output
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["full_routes"].clone())
        .collect();
    let names = |names: &[&str]| serde_json::json!(names);
    assert_eq!(
        full,
        [names(&[]), names(&["A"]), names(&["A", "B"]), names(&["A", "B"]), names(&[])],
        "{output}"
    );
}

#[test]
fn jobs_that_are_missing_in_the_output_are_reported_with_quiet() {
    let place = tempfile::tempdir().unwrap();
    let config = "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=e\nREQUIREMENTS Owner == \"ann\"\nUNIVERSE VANILLA\n@e\n";
    fs::write(place.path().join("config"), config).unwrap();
    let job = "ClusterId = 1\nProcId = 0\nOwner = \"bob\"\nJobUniverse = 5\nJobStatus = 1\n\n";
    for verb in ["route", "translate"] {
        let (status, out, err) = translate(place.path(), &[verb, "--quiet"], job);
        assert_eq!((status, out.as_str()), (1, ""), "{err}");
        assert!(err.contains("1 job not routed") && err.contains("is not true in route A"), "{verb}: {err}");
    }
    // The result of match says it itself.
    let (status, out, err) = translate(place.path(), &["match", "--quiet"], job);
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(out.contains("is not true in route A"), "{out}");
}
