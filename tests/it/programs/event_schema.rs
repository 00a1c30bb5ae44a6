//! Tests that compare the event stream with the table that describes it.

use std::collections::BTreeMap;

use crate::support::point::Point;

/// Returns the table of `runner::events`: the keys of each kind of event.
fn table() -> BTreeMap<String, Vec<String>> {
    let text = include_str!("../../../crates/htc-runner/src/events.rs");
    let mut kinds = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//! | `")) {
        let (names, rest) = line.split_once(" | ").unwrap();
        let (keys, _) = rest.split_once(" | ").unwrap();
        let keys: Vec<String> = keys.split(' ').map(str::to_owned).collect();
        for name in names.split(", ") {
            kinds.insert(name.trim_matches('`').to_owned(), keys.clone());
        }
    }
    kinds
}

/// Creates an execution point with hooks and cron jobs that succeed, fail, print errors, are missing or never end.
fn point() -> Point {
    let job = |cluster: u32| {
        format!("ClusterId = {cluster}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n")
    };
    let complains = "#!/bin/sh\ncat > /dev/null\necho oops >&2\nexit 3\n";
    Point::new()
        .job("1", &job(1))
        .job("2", &format!("{}Cmd = \"/no/such\"\n", job(2)))
        .hook("reply", "#!/no/such/interpreter\n")
        .hook("evict", "#!/bin/sh\nexec sleep 600\n")
        .hook("exit", complains)
        .hook("cron", "#!/bin/sh\necho A = 1\necho oops >&2\n")
        .parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit")
        .parameter("T_HOOK_UPDATE_JOB_INFO = $(CONFIG_ROOT)/hooks/exit")
        .parameter("STARTD_CRON_JOBLIST = GOOD, BAD\nSTARTD_CRON_GOOD_MODE = OneShot\nSTARTD_CRON_BAD_MODE = OneShot")
        .parameter("STARTD_CRON_GOOD_EXECUTABLE = $(CONFIG_ROOT)/hooks/cron\nSTARTD_CRON_BAD_EXECUTABLE = /no/such")
        .arguments(["--once", "--starter", env!("CARGO_BIN_EXE_htc-starter-run")])
}

#[test]
fn events_have_the_keys_that_are_described() {
    let kinds = table();
    assert!(kinds.len() >= 15 && kinds["state"].contains(&"activity".to_owned()), "{kinds:?}");
    let run = point().run();
    let mut seen = BTreeMap::new();
    for event in &run.events {
        let event = event.as_object().unwrap();
        let kind = event["event"].as_str().unwrap();
        let keys = kinds.get(kind).unwrap_or_else(|| panic!("{kind} is not described"));
        assert!(event["time"].is_f64(), "{event:?}");
        for key in event.keys().filter(|key| !["event", "time"].contains(&key.as_str())) {
            assert!(keys.contains(key), "{kind} has {key}, which is not described: {event:?}");
        }
        *seen.entry(kind.to_owned()).or_insert(0) += 1;
    }
    // Events of a router are tested in `json_schema`, and notes in `drain`.
    for kind in kinds
        .keys()
        .filter(|kind| !["log", "note"].contains(&kind.as_str()))
        .filter(|kind| *kind != "cron-failed" || seen.contains_key(*kind))
    {
        assert!(seen.contains_key(kind), "there is no event of the kind {kind}: {}", run.stderr);
    }
}
