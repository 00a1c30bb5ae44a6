//! Tests of transforms of a job that would be held (`TransformOnEvict`), as condor_submit makes them for retry_request_memory
//! (`unit_test_transform_undo.run` of the reference).

use crate::support::place::{Place, Ran, shell};

fn run(job: &str) -> (Ran, String) {
    let place =
        Place::new().option(&["--as", "shadow", "--until", "done"]).knob("PERIODIC_EXPR_INTERVAL = 1");
    let ran = place.run(&format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\nUserLog = \"log\"\n{job}"));
    (ran, std::fs::read_to_string(place.path("iwd/log")).unwrap_or_default())
}

fn count(log: &str, number: &str) -> usize {
    log.lines().filter(|line| line.starts_with(number)).count()
}

#[test]
fn a_job_that_would_be_held_is_run_again_with_a_larger_request_up_to_its_maximum() {
    // The transform is the body of retry_request_memory_increase with retry_request_memory_max.
    let more = "RequestMemory = 100\nMaxRequestMemory = 300\nNextRequestMemory = RequestMemory * 2\n\
                TransformOnEvict = \"Other RequestMemory\"\nTransformBody_Other = \"REQUIREMENTS false\x1eSET RequestCpus 9\"\n\
                TransformBody_RequestMemory = \"REQUIREMENTS HoldReasonCode == 3\x1eEVALSET RequestMemory MIN({NextRequestMemory, MaxRequestMemory})\"\n\
                OnExitHold = RequestMemory < 1000";
    let (ran, log) = run(&format!("{}\n{more}", shell("exit 3")));
    // The request is 100, 200, then 300. At this maximum, the job is held.
    for line in ["JobStatus = 5", "RequestMemory = 300", "NumJobStarts = 3", "NumHolds = 1"] {
        assert!(ran.has(line), "{line}: {}\n{}", ran.ad, ran.told);
    }
    assert_eq!((count(&log, "001 ("), count(&log, "012 (")), (3, 1), "{log}");
    assert!(!ran.ad.contains("RequestCpus = 9"), "{}", ran.ad);
    assert!(ran.told.contains("runs it again with RequestMemory = 200"), "{}", ran.told);

    // If the larger request is sufficient, the job is not held.
    let more = more.replace("RequestMemory < 1000", "RequestMemory < 200");
    let (ran, log) = run(&format!("{}\n{more}", shell("exit 3")));
    assert!(ran.has("JobStatus = 4") && ran.has("RequestMemory = 200"), "{}\n{}", ran.ad, ran.told);
    assert_eq!(count(&log, "012 ("), 0, "{log}");
}

#[test]
fn a_transform_that_changes_no_request_or_cannot_be_applied_leaves_the_job_held() {
    for (body, told) in [
        ("SET Note 1", ""),
        ("REQUIREMENTS ((\x1eSET RequestMemory 1", "TransformOnEvict: X is not applied: "),
        ("error : stop", "TransformOnEvict: X is not applied: "),
    ] {
        let more = format!("TransformOnEvict = \"X\"\nTransformBody_X = \"{body}\"\nOnExitHold = true");
        let (ran, log) = run(&format!("{}\n{more}", shell("exit 3")));
        assert!(ran.has("JobStatus = 5") && ran.has("NumJobStarts = 1"), "{body}: {}", ran.ad);
        assert!(ran.told.contains(told), "{body}: {}", ran.told);
        assert_eq!(ran.has("Note = 1"), body == "SET Note 1", "{body}: {}", ran.ad);
        assert_eq!(count(&log, "012 ("), 1, "{body}: {log}");
    }
}
