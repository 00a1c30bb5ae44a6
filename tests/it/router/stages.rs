//! Tests of the verbs for one stage of a routed job: the route of `translate`, the pairs of `finalize` and `finish`, skipped files
//! of `run`, and routes that a conversion renames.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::children::write_executable;

/// Returns exit status, standard output and standard error of htc-router-translate in a directory.
fn router(place: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
        .args(words)
        .current_dir(place)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Two routes, of which the first takes the jobs of one priority only, and hooks that print what they read.
fn place_with_hooks() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let hook = place.path().join("translate");
    write_executable(&hook, b"#!/bin/sh\nread route; read dashes; echo \"PassedRoute = \\\"$(echo \"$route\" | tr -d '\\\"')\\\"\"; cat\n");
    let finalize = place.path().join("finalize");
    write_executable(&finalize, b"#!/bin/sh\ncat > /dev/null; echo Finalized = true\n");
    let config = format!(
        "JOB_ROUTER_NAME = r\nJOB_ROUTER_HOOK_KEYWORD = KW\nKW_HOOK_TRANSLATE_JOB = {}\nKW_HOOK_JOB_FINALIZE = {}\n\
         JOB_ROUTER_ROUTE_NAMES = First Second\n\
         JOB_ROUTER_ROUTE_First @=r\n REQUIREMENTS JobPrio == 1\n UNIVERSE VANILLA\n@r\n\
         JOB_ROUTER_ROUTE_Second @=r\n REQUIREMENTS JobPrio != 9\n UNIVERSE VANILLA\n@r\n",
        hook.display(),
        finalize.display()
    );
    fs::write(place.path().join("config"), config).unwrap();
    place
}

fn source(cluster: u32, owner: &str, more: &str) -> String {
    format!(
        "ClusterId = {cluster}\nProcId = 0\nOwner = \"{owner}\"\nJobStatus = 1\nJobUniverse = 5\n{more}\n"
    )
}

#[test]
fn translate_passes_the_route_that_the_router_chooses() {
    let place = place_with_hooks();
    let jobs = [
        source(1, "nobody", "JobPrio = 0\n"),
        source(2, "nobody", "JobPrio = 1\n"),
        source(3, "nobody", "JobPrio = 9\n"),
    ]
    .concat();
    fs::write(place.path().join("jobs"), jobs).unwrap();
    let words = ["translate", "--no-env", "--config-file", "config", "jobs"];
    let (status, out, err) = router(place.path(), &words);
    let passed: Vec<&str> = out.lines().filter(|line| line.starts_with("PassedRoute")).collect();
    assert_eq!(status, Some(1), "a job without a route is not translated: {err}");
    assert!(passed.len() == 2 && passed[0].contains("Second") && passed[1].contains("First"), "{out}{err}");
    assert!(!out.contains("ClusterId = 3"), "{out}");
    assert!(err.contains("1 job not routed") && err.contains("JobPrio != 9 is not true"), "{err}");
    let (status, out, err) = router(place.path(), &[&words[..], &["--route", "First"]].concat());
    assert_eq!((status, out.matches("First").count()), (Some(0), 3), "{out}{err}");
    let (status, _, err) = router(place.path(), &[&words[..], &["--route", "Nope"]].concat());
    assert!(status == Some(2) && err.contains("routes are: First, Second"), "{err}");
}

#[test]
fn pairs_are_found_by_the_ids_in_the_ads() {
    let place = place_with_hooks();
    let routed = |cluster: u32, from: &str| {
        source(cluster, "nobody", &format!("RoutedFromJobId = \"{from}\"\nExitCode = {cluster}\n"))
    };
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write("sources", &[source(1, "nobody", "Mark = 1\n"), source(2, "nobody", "Mark = 2\n")].concat());
    write("routed", &[routed(8, "2.0"), routed(7, "1.0")].concat());
    for verb in ["finish", "finalize"] {
        for files in [["sources", "routed"], ["routed", "sources"]] {
            let words = [&[verb, "--no-env", "--config-file", "config"][..], &files].concat();
            let (status, out, err) = router(place.path(), &words);
            assert_eq!(status, Some(0), "{verb}: {err}");
            // Each source job has its own mark.
            let sources: Vec<&str> = out
                .split("\n\n")
                .flat_map(|pair| pair.split("------\n"))
                .filter(|ad| ad.contains("Mark = "))
                .collect();
            assert_eq!(sources.len(), 2, "{out}");
            for ad in sources {
                let mark = if ad.contains("Mark = 1") { 1 } else { 2 };
                assert!(ad.contains(&format!("ClusterId = {mark}\n")), "{verb}: {out}");
                assert!(verb == "finish" || ad.contains("Finalized = true\n"), "{out}");
            }
        }
    }
    for (files, expected) in [
        (&["sources"][..], "job 1.0: no routed job in the input has its id as RoutedFromJobId"),
        (&["routed"], "job 8.0: its source job 2.0 is not in the input"),
    ] {
        let words = [&["finish", "--no-env", "--config-file", "config"][..], files].concat();
        let (status, out, err) = router(place.path(), &words);
        assert!(status == Some(1) && out.is_empty() && err.contains(expected), "{status:?} {out}{err}");
        assert!(err.contains("hint: RoutedFromJobId of the routed job"), "{err}");
    }
    // A source job that names another routed job is no counterpart.
    write("other", &source(1, "nobody", "RoutedToJobId = \"9.0\"\n"));
    write("one", &routed(7, "1.0"));
    let (status, _, err) =
        router(place.path(), &["finish", "--no-env", "--config-file", "config", "other", "one"]);
    assert!(status == Some(1) && err.contains("job 1.0: its routed job 9.0 is not in the input"), "{err}");
}

#[test]
fn run_names_each_file_that_it_does_not_read() {
    let place = place_with_hooks();
    let queue = place.path().join("queue");
    fs::create_dir(&queue).unwrap();
    for name in ["1.0.ads", "a.ad", "history", "history.1.gz"] {
        fs::write(queue.join(name), source(1, "nobody", "JobPrio = 9\n")).unwrap();
    }
    let words = ["run", "--once", "--queue", "queue", "--no-env", "--config-file", "config"];
    let (status, _, err) = router(place.path(), &words);
    assert_eq!(status, Some(1), "{err}");
    for name in ["1.0.ads", "a.ad"] {
        let expected = format!("{name}' is not read: the file of a job must be called CLUSTER.PROC.ad");
        assert!(err.contains(&expected), "{err}");
    }
    assert!(!err.contains("history"), "{err}");
    let (status, _, err) = router(place.path(), &[&words[..], &["-q"]].concat());
    assert!(status == Some(1) && err.contains("2 files of the queue not read"), "{err}");
    for name in ["1.0.ads", "a.ad"] {
        fs::remove_file(queue.join(name)).unwrap();
    }
    assert_eq!(router(place.path(), &words).0, Some(0));
}

#[test]
fn a_scope_that_is_undefined_in_a_route_is_reported_by_convert_and_lint() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write(
        "old",
        "JOB_ROUTER_ENTRIES @=e\n[ name = \"A\"; TargetUniverse = 5; Requirements = other.RequestMemory > 1000; ]\n@e\n",
    );
    let (status, new, err) = router(place.path(), &["convert", "--no-env", "--config-file", "old"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("other. is undefined in the REQUIREMENTS of a transform"), "{err}");
    write("new", &new);
    let (status, out, err) = router(place.path(), &["lint", "new"]);
    assert!(status == Some(1) && out.contains("write the attribute's name without 'other.'"), "{out}{err}");
}

#[test]
fn routes_of_the_old_syntax_after_other_text_are_converted_and_matched() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    let route = |name: &str| {
        format!("[ name = \"{name}\"; TargetUniverse = 5; Requirements = target.Owner == \"{name}\" ]")
    };
    write("job", "ClusterId = 1\nProcId = 0\nOwner = \"C\"\nJobUniverse = 5\nJobStatus = 1\n");
    for between in [",", "garbage", "garbage,"] {
        write("old", &format!("JOB_ROUTER_ENTRIES = {} {between} {}\n", route("A"), route("C")));
        let (status, new, err) = router(place.path(), &["convert", "--no-env", "--config-file", "old"]);
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("expected an ad, which begins with `[`"), "{err}");
        assert!(new.contains("JOB_ROUTER_ROUTE_NAMES = A C\n"), "{between}: {new}");
        let (_, out, err) = router(place.path(), &["match", "--no-env", "--config-file", "old", "job"]);
        assert!(out.contains("C"), "{between}: {out}{err}");
    }
}

#[test]
fn a_renamed_route_is_mentioned_by_compare() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write(
        "old",
        "JOB_ROUTER_ENTRIES @=e\n[ name = \"Cluster B\"; TargetUniverse = 5; Requirements = target.WantB; ]\n@e\n",
    );
    let (_, new, _) = router(place.path(), &["convert", "--no-env", "--config-file", "old"]);
    write("new", &new);
    let (status, out, err) = router(place.path(), &["compare", "--no-env", "old", "new"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(
        out.contains("RouteName of routed jobs differs: 'Cluster B' in old is 'Cluster_B' in new"),
        "{out}"
    );
}

#[test]
fn every_route_that_refuses_a_job_is_named() {
    let place = tempfile::tempdir().unwrap();
    let names = ["A", "B", "C", "D", "E"];
    let mut config = format!("JOB_ROUTER_ROUTE_NAMES = {}\n", names.join(" "));
    for (at, name) in names.iter().enumerate() {
        config += &format!(
            "JOB_ROUTER_ROUTE_{name} @=r\n REQUIREMENTS RequestMemory > 1{at}\n UNIVERSE VANILLA\n@r\n"
        );
    }
    fs::write(place.path().join("config"), config).unwrap();
    fs::write(place.path().join("jobs"), source(1, "ann", "RequestMemory = 0\n")).unwrap();
    let (_, out, _) = router(place.path(), &["match", "--no-env", "--config-file", "config", "jobs"]);
    assert!(names.iter().all(|name| out.contains(&format!("route {name}"))), "{out}");
}

#[test]
fn an_explanation_of_a_route_has_hints() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write(
        "config",
        "JOB_ROUTER_ROUTE_NAMES = A B C\n\
         JOB_ROUTER_ROUTE_A @=r\n REQUIREMENTS Queue =!= undefined\n UNIVERSE VANILLA\n@r\n\
         JOB_ROUTER_ROUTE_B @=r\n REQUIREMENTS stringListMember(AcctGroup, \"atlas,cms\")\n UNIVERSE VANILLA\n@r\n\
         JOB_ROUTER_ROUTE_C @=r\n REQUIREMENTS TARGET.WantBig =?= true\n UNIVERSE VANILLA\n@r\n",
    );
    write("jobs", &source(1, "ann", "AcctGroup = \"ATLAS\"\nWantBig = true\n"));
    let words = ["match", "--explain", "--no-env", "--config-file", "config", "jobs"];
    let (status, out, err) = router(place.path(), &words);
    assert_eq!(status, Some(1), "{out}{err}");
    for expected in [
        "candidate: yes, but no route's REQUIREMENTS are true",
        "stringListMember() compares case-sensitively; stringListIMember() would be true",
        "TARGET. is undefined in REQUIREMENTS of a route: write the name without a scope",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    let (_, out, _) = router(place.path(), &[&words[..], &["--summary"]].concat());
    assert!(!out.contains("must be quoted"), "the route tests whether the attribute exists: {out}");
}
