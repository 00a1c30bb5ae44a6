//! Tests of `htc-starter-run --as shadow`: plugins that upload output and leave no readable ad.

use std::fs;

use crate::support::children::write_executable;
use crate::support::place::{Place, RunResult, shell};

/// Runs a job whose output goes through a plugin that ends with the script part `end`.
fn run(quirks: &str, end: &str) -> (RunResult, Vec<String>) {
    let place = Place::new().option(&["--as", "shadow", "--quirks", quirks]);
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -classad ] && echo 'SupportedMethods = \"dbl\"\nMultipleFileSupport = true' && exit\n{end}\n"
    );
    write_executable(&place.path("hooks/pl.sh"), text.as_bytes());
    let parameter = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/pl.sh").display());
    let place = place.parameter(&parameter);
    let ad = format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         TransferOutput = \"f\"\nOutputDestination = \"dbl://ok/d\"\nUserLog = \"log\"",
        shell("echo x > f")
    );
    let result = place.run(&ad);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    let starts = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    let numbers = starts.map(|line| line[..3].to_owned()).filter(|number| number != "006").collect();
    (result, numbers)
}

#[test]
fn an_output_plugin_without_ads_holds_the_job() {
    for (end, subcode) in [("exit 0", 1), ("exit 1", 256), ("kill -9 $$", 9)] {
        let (result, events) = run("none", end);
        assert!(result.has("JobStatus = 5"), "{end}: {}\n{}", result.ad, result.stderr);
        assert!(result.has(&format!("HoldReasonSubCode = {subcode}")), "{end}: {}", result.ad);
        assert_eq!(result.stderr.matches("(plugin-no-ads-loops)").count(), 1, "{end}: {}", result.stderr);
        assert_eq!(events, ["000", "040", "040", "001", "040", "040", "021", "004", "012"], "{end}");
    }
}

#[test]
fn in_the_reference_it_reconnects_four_times_and_requeues_the_job() {
    let mut expected = vec!["000", "040", "040", "001"];
    for _ in 0..4 {
        expected.extend(["040", "040", "022", "023"]);
    }
    expected.extend(["040", "040", "021", "004"]);
    for (end, subcode) in [("exit 0", -1004), ("echo no ad > \"$4\"; exit 1", -1004), ("kill -9 $$", -1000)] {
        let (result, events) = run("reference", end);
        assert_eq!(events, expected, "{end}: {}", result.stderr);
        assert!(!result.stderr.contains("plugin-no-ads-loops"), "{end}: {}", result.stderr);
        for line in [
            "JobStatus = 1",
            "NumJobReconnects = 4",
            "TotalJobReconnectAttempts = 4",
            "NumOutputTransferStarts = 5",
            "JobCurrentReconnectAttempt = undefined",
            "JobDisconnectedDate = undefined",
            &format!("VacateReasonSubCode = {subcode}"),
        ] {
            assert!(result.has(line), "{end}: {line}: {}", result.ad);
        }
        assert!(result.left.is_empty(), "{end}: {:?}", result.left);
    }
}
