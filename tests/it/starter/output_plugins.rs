//! Tests of `htc-starter-run --as shadow`: plugins that upload output and leave no readable ad.

use std::fs;

use crate::support::children::write_executable;
use crate::support::place::{Place, Ran, shell};

/// Runs a job whose output goes through a plugin that ends with the script part `end`.
fn run(quirks: &str, end: &str) -> (Ran, Vec<String>) {
    let place = Place::new().option(&["--as", "shadow", "--quirks", quirks]);
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -classad ] && echo 'SupportedMethods = \"dbl\"\nMultipleFileSupport = true' && exit\n{end}\n"
    );
    write_executable(&place.path("hooks/pl.sh"), text.as_bytes());
    let knob = format!("FILETRANSFER_PLUGINS = {}", place.path("hooks/pl.sh").display());
    let place = place.knob(&knob);
    let ad = format!(
        "{}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\n\
         TransferOutput = \"f\"\nOutputDestination = \"dbl://ok/d\"\nUserLog = \"log\"",
        shell("echo x > f")
    );
    let ran = place.run(&ad);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    let starts = log.lines().filter(|line| line.get(3..5) == Some(" ("));
    let numbers = starts.map(|line| line[..3].to_owned()).filter(|number| number != "006").collect();
    (ran, numbers)
}

#[test]
fn an_output_plugin_without_ads_holds_the_job() {
    for (end, subcode) in [("exit 0", 1), ("exit 1", 256), ("kill -9 $$", 9)] {
        let (ran, events) = run("none", end);
        assert!(ran.has("JobStatus = 5"), "{end}: {}\n{}", ran.ad, ran.told);
        assert!(ran.has(&format!("HoldReasonSubCode = {subcode}")), "{end}: {}", ran.ad);
        assert_eq!(ran.told.matches("(plugin-no-ads-loops)").count(), 1, "{end}: {}", ran.told);
        assert_eq!(events, ["000", "040", "040", "001", "040", "040", "021", "004", "012"], "{end}");
    }
}

#[test]
fn in_the_reference_it_reconnects_four_times_and_requeues_the_job() {
    let mut wanted = vec!["000", "040", "040", "001"];
    for _ in 0..4 {
        wanted.extend(["040", "040", "022", "023"]);
    }
    wanted.extend(["040", "040", "021", "004"]);
    for (end, subcode) in [("exit 0", -1004), ("echo no ad > \"$4\"; exit 1", -1004), ("kill -9 $$", -1000)] {
        let (ran, events) = run("reference", end);
        assert_eq!(events, wanted, "{end}: {}", ran.told);
        assert!(!ran.told.contains("plugin-no-ads-loops"), "{end}: {}", ran.told);
        for line in [
            "JobStatus = 1",
            "NumJobReconnects = 4",
            "TotalJobReconnectAttempts = 4",
            "NumOutputTransferStarts = 5",
            "JobCurrentReconnectAttempt = undefined",
            "JobDisconnectedDate = undefined",
            &format!("VacateReasonSubCode = {subcode}"),
        ] {
            assert!(ran.has(line), "{end}: {line}: {}", ran.ad);
        }
        assert!(ran.left.is_empty(), "{end}: {:?}", ran.left);
    }
}
