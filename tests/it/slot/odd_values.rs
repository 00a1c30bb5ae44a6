//! Tests of configuration values that have no effect: each is reported in one line, with the behaviour of a pool.

use crate::support::point::Point;

const BOINC: &str = "ENABLE_BACKFILL = true\nBACKFILL_SYSTEM = BOINC\nBOINC_Universe = vanilla\nBOINC_InitialDir = /\n\
                     BOINC_Executable = /bin/true\n";

/// Returns the lines on standard error that contain a text.
fn lines_with<'a>(stderr: &'a str, text: &str) -> Vec<&'a str> {
    stderr.lines().filter(|line| line.contains(text)).collect()
}

#[test]
fn bad_values_of_power_and_backfill_are_one_line_each() {
    let looks = "HIBERNATE_CHECK_INTERVAL = 5\n";
    for (before, line, expected) in [
        (
            looks,
            "HIBERNATE = \"deep\"",
            "HIBERNATE = \"deep\" is not a sleep state: use \"S1\" to \"S5\", or a name such as",
        ),
        (looks, "HIBERNATE = RAM", "HIBERNATE = RAM is the name of an attribute: put it into quotes"),
        (
            looks,
            "HIBERNATE = 3",
            "HIBERNATE = 3 is not a string such as \"S3\"; the machine stays awake, as in a pool",
        ),
        (
            "",
            "HIBERNATE = \"S3\"",
            "HIBERNATE_CHECK_INTERVAL is not above 0, so it is never evaluated, as in a pool",
        ),
        (
            BOINC,
            "START_BACKFILL = yes",
            "START_BACKFILL = yes is the name of an attribute: write True or False; it is treated as false",
        ),
        (
            BOINC,
            "START_BACKFILL = \"no\"",
            "START_BACKFILL = \"no\" is neither true nor false; it is treated as false, as in a pool",
        ),
        (
            BOINC,
            "EVICT_BACKFILL = error",
            "EVICT_BACKFILL = error is neither true nor false; it is treated as false",
        ),
        (
            BOINC,
            "BOINC_Executable =",
            "ENABLE_BACKFILL is true, but BOINC_Executable is not set: there is no backfill, as in a pool",
        ),
        ("", "COUNT_HYPERTHREAD_CPUS = maybe", "COUNT_HYPERTHREAD_CPUS in the condor configuration"),
    ] {
        let run = Point::new().parameter(before).parameter(line).arguments(["--dry-run"]).run();
        assert_eq!(run.status, Some(0), "{line}: {}", run.stderr);
        assert_eq!(lines_with(&run.stderr, expected).len(), 1, "{line}: {expected}\n{}", run.stderr);
    }
    for good in ["HIBERNATE = \"none\"", "HIBERNATE = ifThenElse(KeyboardIdle > 60, \"RAM\", \"NONE\")"] {
        let run = Point::new().parameter(looks).parameter(good).arguments(["--dry-run"]).run();
        assert_eq!(lines_with(&run.stderr, "HIBERNATE = ").len(), 0, "{}", run.stderr);
    }
}

/// A startd exits with each of these values, as with an invalid NUM_CPUS (`param_integer`, `param_boolean`).
#[test]
fn values_with_which_a_startd_exits_are_refused() {
    for line in [
        "HIBERNATE_CHECK_INTERVAL = -5",
        "HIBERNATE_CHECK_INTERVAL = soon",
        "ENABLE_BACKFILL = maybe",
        "POLLING_INTERVAL = five",
        "UPDATE_INTERVAL = 5m",
        "MAX_SLOT_TYPES = ten",
        "NUM_CPUS = four",
        "SLOT_TYPE_1_PARTITIONABLE = often\nNUM_SLOTS_TYPE_1 = 1",
    ] {
        let run = Point::new().parameter(line).arguments(["--dry-run"]).run();
        assert_eq!(run.status, Some(3), "{line}: {}", run.stderr);
        let name = line.split(' ').next().expect("a name");
        assert!(run.stderr.contains(name), "{line}: {}", run.stderr);
    }
}

#[test]
fn invalid_arguments_of_the_backfill_client_are_reported_once() {
    let point = Point::new().parameter(BOINC).parameter("BOINC_Arguments = --name \"my host\" --x");
    let expected = "rguments = --name \"my host\" --x cannot be put into the job ad";
    let run = point.run();
    let warnings = lines_with(&run.stderr, expected);
    assert_eq!(warnings.len(), 1, "{}", run.stderr);
    assert!(warnings[0].ends_with("the backfill client runs without it, as in a pool"), "{}", warnings[0]);
    let doctor = point.arguments([]).query().arg("doctor").output().unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(lines_with(&doctor, expected).len(), 1, "{doctor}");
}
