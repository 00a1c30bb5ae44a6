//! Tests of invalid settings and attributes about containers and control groups: each is reported once, with its location, and
//! the result is that of 25.14.

use std::fs;

use crate::starter::containers::{IMAGE, assert_clean, with_docker, with_singularity};
use crate::support::place::{Place, RunResult, shell};

const SIF: &str = "Cmd = \"/bin/true\"\nWantSIF = true\nContainerImage = \"/img.sif\"";

/// Checks that exactly one line reports the parameter, and that the line contains these parts.
fn assert_told(run: &RunResult, parameter: &str, parts: &[&str]) {
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains(parameter)).collect();
    assert_eq!(lines.len(), 1, "{parameter}: {}", run.stderr);
    for part in parts {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
}

#[test]
fn an_expression_without_a_string_value_is_reported_with_its_effect() {
    for (text, reason) in [
        ("/data", "is not a valid expression"),
        ("(((", "is not a valid expression"),
        ("5", "has the value 5, which is not a string"),
        ("data", "has the value undefined, which is not a string"),
    ] {
        let run = with_singularity().parameter(&format!("SINGULARITY_BIND_EXPR = {text}")).run(SIF);
        assert_eq!(run.status, 0, "{text}: {}", run.stderr);
        let shown = format!(", line 10) = {text} {reason}: no directory is bound");
        assert_told(
            &run,
            "SINGULARITY_BIND_EXPR",
            &["warning job 7.1: SINGULARITY_BIND_EXPR (", &shown, "in double quotes"],
        );
    }
    let run = with_singularity().parameter("SINGULARITY_IMAGE_EXPR = 5").run(SIF);
    assert_told(
        &run,
        "SINGULARITY_IMAGE_EXPR",
        &["= 5 has the value 5, which is not a string: the image is the job's ContainerImage"],
    );
    assert!(run.calls.contains(" /img.sif "), "{}", run.calls);
    let run = with_singularity().parameter("SINGULARITY_EXTRA_ARGUMENTS = TARGET.More").run(SIF);
    assert_told(
        &run,
        "SINGULARITY_EXTRA_ARGUMENTS",
        &["is not a string for this job: the words of the expression are used as arguments"],
    );
    assert!(run.calls.contains(" TARGET.More /img.sif"), "{}", run.calls);
}

#[test]
fn missing_paths_and_attributes_are_reported_only_if_requested() {
    let asked = "SINGULARITY_BIND_EXPR = TARGET.Binds\nSINGULARITY_IMAGE_EXPR = TARGET.Image\nSINGULARITY_USE_PID_NAMESPACES = Auto";
    let run = with_singularity().parameter(asked).run(SIF);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("SINGULARITY"), "{}", run.stderr);
    let run = with_singularity().parameter("SINGULARITY_BIND_EXPR = \"/etc /no/a:/x /no/b\"").run(SIF);
    assert_told(&run, "SINGULARITY_BIND_EXPR", &["not bound because it is missing: '/no/a:/x', '/no/b'"]);
    assert!(run.calls.contains(" -B /etc "), "{}", run.calls);
    let run = with_singularity().parameter("SINGULARITY_USE_PID_NAMESPACES = sometimes").run(SIF);
    assert_told(
        &run,
        "SINGULARITY_USE_PID_NAMESPACES",
        &["= sometimes is neither true nor false: it is treated as 'auto'"],
    );
    assert!(run.calls.contains(" --contain --ipc --cleanenv "), "{}", run.calls);
}

#[test]
fn a_default_container_without_an_image_is_reported() {
    for (image, reason) in
        [("", "DEFAULT_CONTAINER_IMAGE is not set"), ("\nDEFAULT_CONTAINER_IMAGE = 5", "= 5 has the value 5")]
    {
        let place =
            Place::new().with_recording_hooks().parameter(&format!("USE_DEFAULT_CONTAINER = true{image}"));
        let run = place.run(&shell("echo job >> calls"));
        assert_eq!((run.status, run.calls.as_str()), (0, "prepare\njob\nexit exit\n"), "{}", run.stderr);
        assert_told(
            &run,
            "DEFAULT_CONTAINER_IMAGE",
            &[reason, "the job runs outside of a container", ", line "],
        );
    }
}

#[test]
fn attributes_of_wrong_types_and_volumes_without_directories_are_reported() {
    let parameters = "DOCKER_MOUNT_VOLUMES = A B C\nDOCKER_VOLUME_DIR_B = /b";
    let more = "DockerPullPolicy = \"sometimes\"\nDockerNetworkType = 5\nDockerOverrideEntrypoint = \"yes\"\nMountUnderScratch = {1}";
    let run = with_docker().parameter(parameters).run(&format!("{IMAGE}\n{more}"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    for (name, parts) in [
        (
            "DOCKER_MOUNT_VOLUMES",
            &["= A B C: not mounted, because they are not set: DOCKER_VOLUME_DIR_A, DOCKER_VOLUME_DIR_C"][..],
        ),
        ("DockerPullPolicy", &["'sometimes' is not valid: only 'always' is"]),
        ("DockerNetworkType", &["DockerNetworkType = 5 is not a string: it is ignored"]),
        ("DockerOverrideEntrypoint", &["= \"yes\" is neither true nor false: it is ignored"]),
        ("MountUnderScratch", &["is not a string: it is ignored"]),
    ] {
        assert_told(&run, name, parts);
    }
}

/// As with `might_EXCEPT` of 25.14, the job does not start, and its log contains this message.
#[test]
fn an_invalid_value_prevents_the_start_and_its_location_is_reported() {
    let truth = |parameter: &str, text: &str, default: &str| {
        format!(
            "{parameter} in the condor configuration  is not a valid boolean (\"{text}\").  Please set it to True or False (default is {default})"
        )
    };
    let volumes = "DOCKER_MOUNT_VOLUMES = A\nDOCKER_VOLUME_DIR_A = /a\nDOCKER_VOLUME_DIR_A_MOUNT_IF";
    let size = "in condor configuration.  Please set it to an integer expression in the range -9223372036854775808 to 9223372036854775807 (default 0).";
    for (parameter, text, words) in [
        (volumes, "(((", truth("DOCKER_VOLUME_DIR_A_MOUNT_IF", "(((", "False")),
        (volumes, "TARGET.No", truth("DOCKER_VOLUME_DIR_A_MOUNT_IF", "TARGET.No", "False")),
        ("DOCKER_SHM_SIZE", "1g", format!("Invalid expression for DOCKER_SHM_SIZE (1g) {size}")),
        (
            "DOCKER_SHM_SIZE",
            "TARGET.No",
            format!("Invalid result (not an integer) for DOCKER_SHM_SIZE (TARGET.No) {size}"),
        ),
        // Expressions of these parameters can refer neither to the slot nor to the job.
        (
            "DOCKER_RUN_UNDER_INIT",
            "TARGET.ClusterId > 0",
            truth("DOCKER_RUN_UNDER_INIT", "TARGET.ClusterId > 0", "True"),
        ),
        ("DOCKER_LOG_DRIVER_NONE", "maybe", truth("DOCKER_LOG_DRIVER_NONE", "maybe", "True")),
    ] {
        for quirks in ["none", "reference"] {
            let place =
                with_docker().parameter(&format!("{parameter} = {text}")).option(&["--quirks", quirks]);
            let run = place.run(&format!("{IMAGE}\nStarterUserLog = \"log\""));
            assert_eq!(run.status, if quirks == "none" { 1 } else { 4 }, "{parameter}: {}", run.stderr);
            assert!(
                run.stderr.contains(&format!("{words} (")) && run.stderr.contains(", line "),
                "{}",
                run.stderr
            );
            let log = fs::read_to_string(place.path("iwd/log")).unwrap();
            assert!(log.starts_with("001 ") && log.contains(&format!("\t{words}\n")), "{log}");
            // In 25.14, the starter has read the job before: it is killed, and JOB_EXIT is not called.
            let end = if quirks == "none" {
                "docker pull alpine:3\nexit evict\n"
            } else {
                "docker pull alpine:3\ndocker kill 9\n"
            };
            assert!(run.calls.ends_with(end), "{}", run.calls);
        }
    }
    let run = with_docker().parameter("DOCKER_IMAGE_CACHE_SIZE = many").run(IMAGE);
    assert!(
        run.stderr.contains("Invalid result (not an integer) for DOCKER_IMAGE_CACHE_SIZE (many)"),
        "{}",
        run.stderr
    );
    assert_eq!(run.calls, "prepare\ndocker images --format\ndocker tags\nexit evict\n", "{}", run.stderr);
    assert_clean(&run);
    let run = with_docker().parameter("DOCKER_TRUST_LOCAL_IMAGES = maybe").run(IMAGE);
    assert_eq!(run.calls, "prepare\ndocker images --format\ndocker tags\nexit evict\n", "{}", run.stderr);
    // The parameter is evaluated for jobs without a container, too.
    let run = Place::new()
        .with_recording_hooks()
        .parameter("SINGULARITY_USE_LAUNCHER = perhaps")
        .run(&shell("echo job >> calls"));
    assert!(run.stderr.contains(&truth("SINGULARITY_USE_LAUNCHER", "perhaps", "False")), "{}", run.stderr);
    assert!(!run.calls.contains("job"), "{}", run.calls);
}
