//! What starters do not do: jobs that are to run in a container, under java or beside a tool are refused clearly, never run
//! otherwise than asked; the rest is told, and they run.

use std::fs;

use crate::place::{Place, shell};

#[test]
fn whatever_asks_for_a_container_the_job_is_not_run_outside_of_one() {
    let asked = [
        ("WantDocker = true\nDockerImage = \"busybox\"", ""),
        ("WantSIF = true\nContainerImage = \"x.sif\"", ""),
        ("WantContainer = true\nWantSandboxImage = true\nContainerImage = \"/img\"", ""),
        ("WantDockerImage = true\nContainerImage = \"docker://busybox\"", ""),
        ("JobUniverse = 10", ""),
        ("ToolDaemonCmd = \"/bin/true\"", ""),
        ("X = 1", "SINGULARITY_JOB = true"),
        ("WantsBox = true", "SINGULARITY_JOB = TARGET.WantsBox"),
        ("X = 1", "USE_DEFAULT_CONTAINER = true\nDEFAULT_CONTAINER_IMAGE = \"/img\""),
    ];
    for (ad, knobs) in asked {
        let place = Place::new().noting().knob(knobs);
        let ran = place.run(&format!("{}\n{ad}", shell("echo job >> calls")));
        assert_eq!((ran.status, ran.ad.as_str()), (1, ""), "{ad} {knobs}: {}", ran.told);
        assert!(
            ran.told.contains(" is not done here: the starter of a pool would "),
            "{ad} {knobs}: {}",
            ran.told
        );
        assert_eq!(ran.calls, "prepare\nexit evict\n", "{ad} {knobs}");
        assert!(ran.left.is_empty());
    }
}

#[test]
fn a_configuration_that_wants_no_container_for_this_job_runs_it() {
    let asked = [
        ("X = 1", "SINGULARITY_JOB = false"),
        ("WantsBox = false", "SINGULARITY_JOB = TARGET.WantsBox"),
        // No image: "doesn't evaluate to a string, skipping containerizing".
        ("X = 1", "USE_DEFAULT_CONTAINER = true\nDEFAULT_CONTAINER_IMAGE = TARGET.NoSuch"),
        ("X = 1", "USE_DEFAULT_CONTAINER = false\nDEFAULT_CONTAINER_IMAGE = \"/img\""),
    ];
    for (ad, knobs) in asked {
        let place = Place::new().noting().knob(knobs);
        let ran = place.run(&format!("{}\n{ad}", shell("echo job >> calls")));
        assert_eq!(
            (ran.status, ran.calls.as_str()),
            (0, "prepare\njob\nexit exit\n"),
            "{knobs}: {}",
            ran.told
        );
    }
}

#[test]
fn isolation_that_this_version_does_not_do_is_told_and_the_job_runs() {
    let place = Place::new().noting().knob("USE_PID_NAMESPACES = true\nNO_JOB_NETWORKING = false");
    let ran = place.run(&shell("echo job >> calls"));
    assert_eq!((ran.status, ran.calls.as_str()), (0, "prepare\njob\nexit exit\n"), "{}", ran.told);
    assert!(
        ran.told.contains(
            "USE_PID_NAMESPACES is not done here: the starter of a pool would run each job in a PID namespace"
        ),
        "{}",
        ran.told
    );
    assert!(!ran.told.contains("NO_JOB_NETWORKING"), "{}", ran.told);
}

#[test]
fn what_a_job_asks_of_a_shadow_is_told_and_the_job_runs() {
    let place = Place::new().noting();
    let asks = "TransferInput = \"no-such,calls\"\nShouldTransferFiles = \"YES\"\nOnExitRemove = true\nPeriodicHold = false";
    let ran = place.run(&format!("{}\n{asks}", shell("echo job >> calls")));
    assert_eq!((ran.status, ran.calls.as_str()), (0, "prepare\njob\nexit exit\n"), "{}", ran.told);
    let lines: Vec<&str> = ran.told.lines().filter(|line| line.contains("not done here")).collect();
    assert_eq!(lines.len(), 1, "{}", ran.told);
    assert!(
        lines[0].contains(
            "ShouldTransferFiles, TransferInput are not done here: the shadow of a pool would copy"
        )
    );
    assert!(lines[0].ends_with("the job will not find 'no-such', 'calls'"), "{}", lines[0]);
}

#[test]
fn only_settings_that_a_starter_would_heed_and_that_ask_for_something_are_told_when_it_begins() {
    let place = Place::new()
        .knob("CGROUP_MEMORY_LIMIT_POLICY = soft\nUSE_GID_PROCESS_TRACKING = $(NO_SUCH:false)")
        .knob("CONSUMPTION_POLICY = true\nNEGOTIATOR_INTERVAL = 20\nSTARTER.MAX_STARTER_LOG = 5");
    let ran = place.run(&shell("true"));
    assert_eq!(ran.status, 0, "{}", ran.told);
    let told: Vec<&str> =
        ran.told.lines().filter(|line| !line.contains("FARM") && line.contains("warning: ")).collect();
    assert_eq!(told.len(), 2, "{}", ran.told);
    assert!(
        told[0].contains("CGROUP_MEMORY_LIMIT_POLICY is not done here") && told[0].ends_with(", line 4)"),
        "{told:?}"
    );
    assert!(told[1].contains("2 settings are for what is not here"), "{told:?}");
}

#[test]
fn a_singularity_job_that_is_no_truth_value_is_told_in_the_references_words() {
    let place = Place::new().noting().knob("SINGULARITY_JOB = a b").option(&["--quirks", "reference"]);
    let ran = place.run(&format!("{}\nStarterUserLog = \"log\"", shell("echo job >> calls")));
    // An exception: JOB_EXIT is called and not waited for.
    assert_eq!(ran.status, 4, "{}", ran.told);
    assert!(ran.calls.starts_with("prepare\n") && !ran.calls.contains("job"), "{}", ran.calls);
    assert!(ran.told.contains("hook started JOB_EXIT"), "{}", ran.told);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.starts_with("001 ") && log.contains("\n021 "), "{log}");
    let words = "SINGULARITY_JOB in the condor configuration  is not a valid boolean (\"a b\").  Please set it to True or False";
    assert!(log.contains(words), "{log}");
}
