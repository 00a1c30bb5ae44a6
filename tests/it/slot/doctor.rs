//! Tests of `htc-slot-run doctor`, which reports failures before anything runs.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::point::Point;

/// Returns the exit status, and the checks with this result: subject and text.
fn checks_with(point: &Point, standing: &str) -> (Option<i32>, Vec<(String, String)>) {
    let output = point.query().args(["doctor", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = rows.as_array().unwrap().iter().filter(|row| row["standing"] == standing);
    let report = rows.map(|row| {
        if standing == "fails" {
            assert_ne!(text(row, "todo"), "", "{row}");
        }
        (text(row, "subject"), text(row, "found"))
    });
    (output.status.code(), report.collect())
}

fn healthy() -> Point {
    Point::new().arguments([])
}

#[test]
fn a_configuration_that_works_has_nothing_that_fails() {
    let point = healthy();
    assert_eq!(checks_with(&point, "fails"), (Some(0), Vec::new()));
    let (_, good) = checks_with(&point, "good");
    for subject in ["configuration", "slots", "users", "hooks", "starter", "execute", "log", "clock", "gpus"]
    {
        assert!(good.iter().any(|(about, _)| about == subject), "{subject}: {good:?}");
    }
    let lines = point.query().arg("doctor").output().unwrap();
    let text = String::from_utf8(lines.stdout).unwrap();
    assert!(text.lines().all(|line| ["ok   ", "note ", "fails"].contains(&&line[..5])), "{text}");
}

#[test]
fn predicted_failures_are_reported_with_a_correction() {
    let cases: [(&str, &str, &str); 11] = [
        ("T_HOOK_FETCH_WORK = $(CONFIG_ROOT)/hooks/none", "hooks", "No such file"),
        ("T_HOOK_REPLY_FETCH = $(CONFIG_ROOT)/queue/x", "hooks", "queue' is world-writable"),
        ("T_HOOK_EVICT_CLAIM = $(CONFIG_ROOT)/hooks/crlf", "hooks", "there is no interpreter"),
        ("T_HOOK_PREPARE_JOB = $(CONFIG_ROOT)/hooks/text", "hooks", "neither a program nor a script"),
        ("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/plain", "hooks", "jobs of this keyword do not start"),
        ("EXECUTE = $(CONFIG_ROOT)/nowhere", "execute", "No such file"),
        ("STARTD_JOB_HOOK_KEYWORD = U", "hooks", "no hook is configured"),
        ("ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC", "backfill", "boinc_universe is not set"),
        (
            "ENABLE_BACKFILL = True\nBACKFILL_SYSTEM = BOINC\nBOINC_Universe = vanilla\nBOINC_InitialDir = /\nBOINC_Executable = $(CONFIG_ROOT)/hooks/none",
            "backfill",
            "No such file",
        ),
        ("STARTER = $(CONFIG_ROOT)/none", "starter", "there is no file"),
        ("T_HOOK_JOB_EXIT = hooks/plain", "hooks", "is relative to the scratch directory of each job"),
    ];
    for (parameter, subject, text) in cases {
        let point = healthy()
            .parameter(parameter)
            .hook("crlf", "#!/bin/sh\r\ntrue\n")
            .hook("text", "true\n")
            .hook("plain", "");
        std::fs::write(point.path("queue/x"), "#!/bin/sh\n").unwrap();
        for (name, mode) in [("queue/x", 0o755), ("hooks/plain", 0o644)] {
            std::fs::set_permissions(point.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let (status, failing) = checks_with(&point, "fails");
        assert_eq!(status, Some(1), "{parameter}");
        let found = failing.iter().any(|(about, found)| about == subject && found.contains(text));
        assert!(found, "{parameter}: {failing:?}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_one_failing_line() {
    let point = healthy().parameter("if");
    let (status, failing) = checks_with(&point, "fails");
    assert_eq!((status, failing.len(), failing[0].0.as_str()), (Some(1), 1, "configuration"));
}

/// The starter rehearses a typical job, and reports why no job would start.
#[test]
fn obstacles_to_the_start_of_jobs_are_reported() {
    let ours = format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run"));
    let (_, good) = checks_with(&healthy().parameter(&ours), "good");
    assert!(good.iter().any(|(about, found)| about == "jobs" && found.ends_with("would start")), "{good:?}");
    for (parameters, expected) in [
        ("USER_JOB_WRAPPER = /no/wrapper", "Cannot find/execute USER_JOB_WRAPPER file"),
        (
            "SINGULARITY = /no/apptainer\nSINGULARITY_JOB = True",
            "there is no '/no/apptainer' on this machine",
        ),
        ("USE_GID_PROCESS_TRACKING = True", "USE_GID_PROCESS_TRACKING enabled, but MIN_TRACKING_GID is 0"),
    ] {
        let (status, failing) = checks_with(&healthy().parameter(&ours).parameter(parameters), "fails");
        // Only root can use tracking groups.
        if parameters.starts_with("USE_GID") && !nix::unistd::geteuid().is_root() {
            continue;
        }
        let found =
            failing.iter().any(|(about, found)| about == "jobs" && found.contains("is not started: "));
        assert!(
            found && failing.iter().any(|(_, found)| found.contains(expected)),
            "{parameters}: {failing:?}"
        );
        assert_eq!(status, Some(1), "{parameters}");
    }
}

/// The program is not a starter.
#[test]
fn a_starter_without_reported_abilities_is_a_note() {
    let (status, notes) = checks_with(&healthy().parameter("STARTER = /bin/false"), "note");
    assert_eq!(status, Some(0));
    let found = notes.iter().any(|(_, found)| found.contains("does not report its capabilities"));
    assert!(found, "{notes:?}");
}

/// Findings of `lint --here` about the configuration are included.
#[test]
fn unsupported_settings_are_notes() {
    let (status, notes) = checks_with(&healthy().parameter("ASSIGN_CPU_AFFINITY = True"), "note");
    assert_eq!(status, Some(0));
    assert!(
        notes.iter().any(|(about, found)| about == "lint" && found.contains("ASSIGN_CPU_AFFINITY")),
        "{notes:?}"
    );
}

/// `check_execute_dir_perms`: daemons of root refuse a directory that does not belong to HTCondor's account.
#[test]
fn an_execute_directory_that_a_startd_would_refuse_is_reported_to_root() {
    let root = nix::unistd::geteuid().is_root();
    let (_, notes) = checks_with(&healthy(), "note");
    let told_of = notes
        .iter()
        .any(|(about, found)| about == "execute" && found.contains("the slots of a startd would be broken"));
    assert_eq!(told_of, root, "{notes:?}");
}

/// `init_condor_ids`: an unknown account is an error for root; an ordinary user does not need the account.
#[test]
fn condor_ids_without_an_account_stop_root_only() {
    let root = nix::unistd::geteuid().is_root();
    // A run of an ordinary user starts, and ends as soon as it finds no work.
    for words in [&["--once", "--idle-exit", "0"][..], &["doctor"]] {
        let point = healthy();
        let mut command = if words.contains(&"doctor") { point.query() } else { point.command() };
        let output = command.args(words).env("CONDOR_IDS", "99999.99999").output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(text.contains("no account of this machine has the uid 99999"), root, "{words:?}: {text}");
        if root {
            assert_eq!(output.status.code(), Some(if words == ["doctor"] { 1 } else { 3 }), "{text}");
        }
    }
}

/// The configuration names resources that the machine lacks: the run works without them, but differently than intended.
#[test]
fn a_missing_volume_group_and_missing_devices_are_reported() {
    let enforced = "STARTD_ENFORCE_DISK_LIMITS = True";
    let root = nix::unistd::geteuid().is_root();
    let none = if root { "htc-no-such-group" } else { "nothing can be mounted here" };
    let lvm = format!("{enforced}\nLVM_VOLUME_GROUP_NAME = htc-no-such-group");
    let (status, notes) = checks_with(&healthy().parameter(&lvm), "note");
    let found = notes.iter().find(|(about, _)| about == "disk").map(|(_, found)| found.as_str());
    // If LVM itself is missing, the message says so.
    let found = found.is_some_and(|found| found.contains(none) || found.contains("there is no "));
    assert!(status == Some(0) && found, "{notes:?}");
    let (_, notes) = checks_with(&healthy(), "note");
    assert!(!notes.iter().any(|(about, _)| about == "disk" || about == "console"), "{notes:?}");
    let (_, notes) = checks_with(&healthy().parameter("CONSOLE_DEVICES = htc-mouse, null, zero"), "note");
    let of_console: Vec<_> = notes.iter().filter(|(about, _)| about == "console").collect();
    assert_eq!(of_console.len(), 3, "{notes:?}");
    assert!(of_console[0].1.contains("'htc-mouse': there is no such device"), "{of_console:?}");
    assert!(of_console[2].1.contains("memory device"), "{of_console:?}");
}
