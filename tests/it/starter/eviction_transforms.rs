//! Tests of transforms of a job that would be held (`TransformOnEvict`), as condor_submit makes them for retry_request_memory
//! (`unit_test_transform_undo.run` of the reference).

use crate::support::place::{Place, RunResult, shell};

fn run(job: &str) -> (RunResult, String) {
    let place =
        Place::new().option(&["--as", "shadow", "--until", "done"]).parameter("PERIODIC_EXPR_INTERVAL = 1");
    let result =
        place.run(&format!("JobUniverse = 5\nShouldTransferFiles = \"NO\"\nUserLog = \"log\"\n{job}"));
    (result, std::fs::read_to_string(place.path("iwd/log")).unwrap_or_default())
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
    let (result, log) = run(&format!("{}\n{more}", shell("exit 3")));
    // The request is 100, 200, then 300. At this maximum, the job is held.
    for line in ["JobStatus = 5", "RequestMemory = 300", "NumJobStarts = 3", "NumHolds = 1"] {
        assert!(result.has(line), "{line}: {}\n{}", result.ad, result.stderr);
    }
    assert_eq!((count(&log, "001 ("), count(&log, "012 (")), (3, 1), "{log}");
    assert!(!result.ad.contains("RequestCpus = 9"), "{}", result.ad);
    assert!(result.stderr.contains("runs it again with RequestMemory = 200"), "{}", result.stderr);

    // If the larger request is sufficient, the job is not held.
    let more = more.replace("RequestMemory < 1000", "RequestMemory < 200");
    let (result, log) = run(&format!("{}\n{more}", shell("exit 3")));
    assert!(
        result.has("JobStatus = 4") && result.has("RequestMemory = 200"),
        "{}\n{}",
        result.ad,
        result.stderr
    );
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
        let (result, log) = run(&format!("{}\n{more}", shell("exit 3")));
        assert!(result.has("JobStatus = 5") && result.has("NumJobStarts = 1"), "{body}: {}", result.ad);
        assert!(result.stderr.contains(told), "{body}: {}", result.stderr);
        assert_eq!(result.has("Note = 1"), body == "SET Note 1", "{body}: {}", result.ad);
        assert_eq!(count(&log, "012 ("), 1, "{body}: {log}");
    }
}
