//! Compares our verdicts on all recorded calls with those of the real daemons.

#[path = "harness/mod.rs"]
mod harness;

use std::path::PathBuf;

#[test]
fn verdicts_are_as_recorded() {
    let shared = std::env::var_os("HTC_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let directory = shared.join("transcripts");
    if !directory.is_dir() {
        println!("skipped: no recordings (set HTC_SHARED to the directory that holds transcripts/)");
        return;
    }
    let mut tally = harness::verdicts::Tally::default();
    harness::verdicts::compare(&directory, &mut tally).unwrap();
    harness::verdicts::report(&tally);
    assert!(tally.compared > 1000, "only {} records were compared", tally.compared);
    assert!(tally.differences.is_empty(), "{} verdicts differ", tally.differences.len());
}
