//! Tests of jobs in containers, with fake docker and singularity programs that record every call and behave as instructed.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use nix::sys::signal::Signal;

use crate::support::children::write_executable;
use crate::support::place::{Place, RunResult, read_fifo, send, shell};

/// Fake docker that records its arguments; the files in `state/` are its instructions. `start` runs `state/job`, and `kill`
/// signals it.
const DOCKER: &str = r#"#!/bin/sh
state=@STATE@
calls=@CALLS@
case $1 in
images) echo "docker images $2" >> $calls; cat $state/images 2>/dev/null ;;
inspect)
    case $3 in
    *LastTag*) echo "docker tags" >> $calls ;;
    *Architecture*) echo "docker architecture" >> $calls; echo amd64 ;;
    *)
        echo "docker state" >> $calls
        printf 'ContainerId="f"\nPid=0\nName="/c"\nRunning=false\nExitCode=%s\nStartedAt=""\nFinishedAt=""\n' \
            "$(cat $state/code 2>/dev/null || echo 0)"
        printf 'DockerError="%s"\nOOMKilled="%s"\n' "$(cat $state/error 2>/dev/null)" "$(cat $state/oom 2>/dev/null)" ;;
    esac ;;
pull) echo "docker pull $3" >> $calls; [ -z "$DOCKER_CONFIG" ] || cat $DOCKER_CONFIG/config.json > $state/pull.config
    [ ! -e $state/pipe ] || { echo $$ > $state/pipe; exec sleep 600; }
    [ ! -e $state/nopull ] || { printf 'no such\nimage\n' >&2; exit 1; } ;;
rmi) echo "docker rmi $2" >> $calls; : > $state/images ;;
create) echo "docker create" >> $calls; [ -z "$DOCKER_CONFIG" ] || cat $DOCKER_CONFIG/config.json > $state/create.config; printf '%s\n' "$@" > $state/created
    [ ! -e $state/nocreate ] || { printf 'bad\noption\n' >&2; exit 125; } ;;
start) echo "docker start" >> $calls
    # Whoever hears of the job finds its process here.
    sh -c "echo \$\$ > $state/pid; exec sh $state/job" &
    wait $!; code=$?
    [ -e $state/code ] || echo $code > $state/code
    exit $code ;;
kill) echo "docker kill $3" >> $calls; kill -$3 $(cat $state/pid); echo $4 ;;
*) echo "docker $1" >> $calls; echo x ;;
esac
"#;

/// Fake singularity that records its arguments and its own variables, and runs the command after the image.
const SINGULARITY: &str = r#"#!/bin/sh
calls=@CALLS@
echo "singularity $*" >> $calls
case "$*" in
--version) echo "apptainer version 1.3.2" ;;
*" test "*) env | sort > @STATE@/env; [ ! -e @STATE@/untestable ] || { printf '\033[31mFATAL:\033[0m no\nmore\n'; exit 255; } ;;
*) while case $1 in /img.sif | */pilot/images/*) false ;; esac; do shift; done; shift; exec "$@" ;;
esac
"#;

fn double(place: &Place, name: &str, text: &str) -> String {
    let state = place.path("state");
    fs::create_dir_all(&state).unwrap();
    place.chown_to_nobody("state");
    let calls = place.path("iwd/calls");
    let text = text.replace("@STATE@", state.to_str().unwrap()).replace("@CALLS@", calls.to_str().unwrap());
    let path = place.path(name);
    write_executable(&path, text.as_bytes());
    path.display().to_string()
}

pub(crate) fn with_docker() -> Place {
    let place = Place::new().with_recording_hooks();
    let docker = double(&place, "docker", DOCKER);
    fs::write(place.path("state/job"), "exit 0\n").unwrap();
    place.parameter(&format!("DOCKER = {docker}"))
}

pub(crate) fn with_singularity() -> Place {
    let place = Place::new().with_recording_hooks();
    let singularity = double(&place, "singularity", SINGULARITY);
    place.parameter(&format!("SINGULARITY = {singularity}\nMOUNT_UNDER_SCRATCH ="))
}

pub(crate) const IMAGE: &str =
    "Cmd = \"/bin/true\"\nArguments = \"a 'b c'\"\nWantDocker = true\nDockerImage = \"alpine:3\"";

/// Calls for an image that is not present, until the container is started.
const BEFORE: &str = "prepare\ndocker images --format\ndocker tags\ndocker images --format\ndocker tags\n\
                      docker pull alpine:3\ndocker create\ndocker tag\ndocker architecture\ndocker start\n";

pub(crate) fn assert_clean(run: &RunResult) {
    assert!(run.left.is_empty(), "{:?}", run.left);
}

/// An engine would create these mount points as an account of the container, and the starter could not remove them.
#[test]
fn mount_points_in_mounted_directories_are_made_before_the_container() {
    let place = with_docker();
    let top = place.path("").display().to_string();
    let top = top.trim_end_matches('/');
    let state = place.path("state").display().to_string();
    let file = place.path("iwd/file").display().to_string();
    fs::write(&file, "").unwrap();
    let job = format!(
        "cd \"$(sed -n 's|:{top}$||p' {state}/created)\" && find . -mindepth 1 | sort > {state}/points\n"
    );
    fs::write(place.path("state/job"), job).unwrap();
    let volumes = format!(
        "DOCKER_MOUNT_VOLUMES = STATE, FILE, ABOVE\nDOCKER_VOLUME_DIR_STATE = {state}:{top}/in/side:ro\n\
         DOCKER_VOLUME_DIR_FILE = {file}\nDOCKER_VOLUME_DIR_ABOVE = {state}:{top}/../above"
    );
    let place = place.parameter(&format!("MOUNT_UNDER_SCRATCH = {top}\n{volumes}"));
    let run = place.run(IMAGE);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let points = fs::read_to_string(place.path("state/points")).unwrap();
    let points: Vec<&str> = points.lines().collect();
    assert!(points.len() == 5 && points[1].starts_with("./execute/dir_"), "{points:?}");
    assert_eq!([points[0], points[2], points[3], points[4]], ["./execute", "./in", "./in/side", "./iwd"]);
    assert_clean(&run);
}

#[test]
fn a_docker_container_is_pulled_created_started_inspected_and_removed() {
    let place = with_docker();
    let run = place.run(IMAGE);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let expected = format!("{BEFORE}docker state\nexit exit\ndocker state\ndocker rm\n");
    assert_eq!(run.calls, expected, "{}", run.stderr);
    assert!(run.has("ExitCode = 0"), "{}", run.ad);
    let created = fs::read_to_string(place.path("state/created")).unwrap();
    let iwd = place.path("iwd").display().to_string();
    for words in [
        "--cpu-shares=100\n--cap-drop=all\n--cap-add=SYS_PTRACE\n--security-opt\nno-new-privileges\n--init\n--name\nHTCJob7_1__PID",
        "--label=org.htcondorproject=True\n--log-driver\nnone\n-e\n",
        &format!("--volume\n{iwd}:{iwd}\n"),
        &format!("--workdir\n{iwd}\n--user\n"),
        "--hostname\nunknown-7.1-host\nalpine:3\n/bin/true\na\nb c\n",
    ] {
        assert!(created.contains(words), "{words} in\n{created}");
    }
    assert_clean(&run);
}

#[test]
fn an_image_of_ours_is_not_pulled_again() {
    let place = with_docker();
    fs::write(place.path("state/images"), "htcondor.org/nobody_at_example.org/alpine:3 aa 7MB\n").unwrap();
    let run = place.run(IMAGE);
    assert!(!run.calls.contains("pull") && run.calls.contains("docker start"), "{}", run.calls);
}

#[test]
fn an_image_that_cannot_be_pulled_is_reported_and_the_starter_ends() {
    let place = with_docker();
    fs::write(place.path("state/nopull"), "").unwrap();
    let run = place.run(IMAGE);
    assert_eq!((run.status, run.ad.as_str()), (1, ""), "{}", run.stderr);
    assert!(run.stderr.contains("Cannot pull image alpine:3 no suchimage"), "{}", run.stderr);
    assert!(run.stderr.contains("(docker-start-hangs)"), "{}", run.stderr);
    assert!(run.calls.ends_with("docker pull alpine:3\nexit evict\n"), "{}", run.calls);
    assert_clean(&run);
}

#[test]
fn a_container_that_cannot_be_created_is_not_the_exit_of_the_job() {
    let place = with_docker();
    fs::write(place.path("state/nocreate"), "").unwrap();
    let run = place.run(&format!("{IMAGE}\nStarterUserLog = \"log\""));
    assert_eq!((run.status, run.ad.as_str()), (1, ""), "{}", run.stderr);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.starts_with("001 ") && log.contains("\n\tbad option \n"), "{log}");
    assert!(run.calls.ends_with("docker create\nexit evict\ndocker state\ndocker rm\n"), "{}", run.calls);
    // In 25.14, the exit status of docker becomes that of the job.
    let place = with_docker().option(&["--quirks", "reference", "--job-output-ad", "-"]);
    fs::write(place.path("state/nocreate"), "").unwrap();
    let run = place.run(IMAGE);
    assert!(run.has("ExitCode = 125"), "{}{}", run.ad, run.stderr);
}

#[test]
fn a_container_that_cannot_be_removed_is_reported_with_a_command() {
    let place = with_docker();
    double(
        &place,
        "docker",
        &DOCKER.replace("*) echo \"docker $1\"", "rm) echo busy >&2; exit 1 ;;\n*) echo \"docker $1\""),
    );
    let run = place.run(IMAGE);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("could not be removed: busy; remove it with 'docker rm -f -v HTCJob"),
        "{}",
        run.stderr
    );
}

#[test]
fn exit_codes_of_docker_above_128_are_signals_except_255() {
    for (code, line) in [("255", "ExitCode = 255"), ("137", "ExitSignal = 9"), ("128", "ExitCode = 128")] {
        let place = with_docker();
        fs::write(place.path("state/code"), code).unwrap();
        let run = place.run(IMAGE);
        assert!(run.has(line), "{code}: {}{}", run.ad, run.stderr);
    }
    let place = with_docker().option(&["--quirks", "reference", "--job-output-ad", "-"]);
    fs::write(place.path("state/code"), "255").unwrap();
    let run = place.run(IMAGE);
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
}

#[test]
fn a_container_out_of_memory_holds_the_job() {
    let place = with_docker();
    fs::write(place.path("state/oom"), "true").unwrap();
    fs::write(place.path("state/code"), "137").unwrap();
    let run = place.run(&format!("{IMAGE}\nStarterUserLog = \"log\""));
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.contains("Docker job has gone over memory limit of 0 Mb"), "{log}");
    assert!(run.calls.ends_with("docker state\nexit hold\ndocker state\ndocker rm\n"), "{}", run.calls);
}

/// As in a pool, transferred files are in the initial directory of the container.
#[test]
fn a_transferred_executable_is_run_in_the_containers_directory() {
    for (more, command) in [("", "./prog"), ("TransferExecutable = false", "/elsewhere/prog")] {
        let place = with_docker().option(&["--as", "shadow"]);
        let program = if more.is_empty() { place.path("iwd/prog") } else { "/elsewhere/prog".into() };
        if more.is_empty() {
            write_executable(&program, b"#!/bin/sh\n");
        }
        let run = place.run(&format!(
            "Cmd = \"{}\"\nWantDocker = true\nDockerImage = \"alpine:3\"\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\n{more}",
            program.display()
        ));
        assert!(run.has("JobStatus = 4"), "{}{}", run.ad, run.stderr);
        let created = fs::read_to_string(place.path("state/created")).unwrap();
        assert_eq!(created.lines().last(), Some(command), "{created}");
    }
}

/// A shadow in a pool holds the job as well, while a starter of 25.14 without a shadow treats a job that docker did not run as
/// one that ran.
#[test]
fn as_shadow_holds_a_job_that_docker_could_not_run() {
    for (state, reason, code) in [
        ("nocreate", "bad option ", 35),
        ("oom", "Docker job has gone over memory limit of 128 Mb", 34),
        ("error", "Error running docker job: true", 6),
    ] {
        for quirks in ["none", "reference"] {
            let place = with_docker().option(&["--as", "shadow", "--quirks", quirks]);
            let slot = place.path("slot.ad");
            fs::write(&slot, "Memory = 128\n").unwrap();
            let place = place.option(&["--slot-ads", slot.to_str().unwrap()]);
            fs::write(place.path("state").join(state), "true").unwrap();
            let run =
                place.run(&format!("{IMAGE}\nShouldTransferFiles = \"YES\"\nWhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false"));
            assert!(run.has("JobStatus = 5"), "{state} {quirks}: {}{}", run.ad, run.stderr);
            assert!(run.has(&format!("HoldReasonCode = {code}")), "{state} {quirks}: {}", run.ad);
            assert!(run.ad.contains(&format!(": {reason}\"\n")), "{state} {quirks}: {}", run.ad);
            // A pool behaves in the same way, so the quirk is not reported.
            assert!(!run.stderr.contains("docker-create-status"), "{}", run.stderr);
            assert_clean(&run);
        }
    }
}

#[test]
fn requests_reach_the_container_through_docker_commands() {
    let place = with_docker();
    let pipe = place.pipe();
    let job = format!("trap 'exit 5' TERM; echo ready > {}; while :; do sleep 0.05; done\n", pipe.display());
    fs::write(place.path("state/job"), job).unwrap();
    let told = format!(
        "pause) echo \"docker pause\" >> $calls; echo paused > {}; echo $2 ;;\n*) echo \"docker $1\"",
        pipe.display()
    );
    double(&place, "docker", &DOCKER.replace("*) echo \"docker $1\"", &told));
    let child = place.start(IMAGE);
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGTSTP);
    assert_eq!(read_fifo(&pipe), "paused\n");
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    let after =
        "docker pause\ndocker unpause\ndocker kill 15\ndocker state\nexit evict\ndocker state\ndocker rm\n";
    assert_eq!(run.calls, format!("{BEFORE}{after}"), "{}", run.stderr);
    assert!(run.has("ExitCode = 5"), "{}", run.ad);
}

/// Creates a fake docker that handles one command differently and reports the command through the FIFO.
fn with_docker_that(place: &Place, word: &str, pipe: &std::path::Path, then: &str) {
    let told = format!(
        "{word}) echo \"docker {word}\" >> $calls; echo {word} > {}; {then} ;;\nimages) ",
        pipe.display()
    );
    double(place, "docker", &DOCKER.replacen("images) ", &told, 1));
}

#[test]
fn a_container_that_docker_does_not_pause_is_reported_and_continues() {
    let place = with_docker();
    let pipe = place.pipe();
    let job = format!("trap 'exit 5' TERM; echo ready > {}; while :; do sleep 0.05; done\n", pipe.display());
    fs::write(place.path("state/job"), job).unwrap();
    with_docker_that(&place, "pause", &pipe, "exit 1");
    let mut child = place.start(IMAGE);
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGTSTP);
    assert_eq!(read_fifo(&pipe), "pause\n");
    // The fake docker replies after its report.
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(stderr.any(|line| line.contains("docker failed to pause the container: the job continues")));
    send(&child, Signal::SIGTERM);
    let rest: Vec<String> = stderr.collect();
    let run = place.finish(child);
    assert!(run.calls.contains("docker pause\n") && run.calls.contains("docker kill 15\n"), "{}", run.calls);
    assert!(!run.calls.contains("docker unpause"), "{}", run.calls);
    assert!(run.has("ExitCode = 5"), "{}{rest:?}", run.ad);
}

#[test]
fn a_second_request_kills_the_process_of_a_container_that_remains() {
    let place = with_docker();
    let pipe = place.pipe();
    let job = format!("echo ready > {}; exec sleep 600\n", pipe.display());
    fs::write(place.path("state/job"), job).unwrap();
    with_docker_that(&place, "kill", &pipe, "exit 0");
    let child = place.start(IMAGE);
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGQUIT);
    assert_eq!(read_fifo(&pipe), "kill\n");
    send(&child, Signal::SIGQUIT);
    let run = place.finish(child);
    assert!(run.calls.ends_with("exit evict\ndocker state\ndocker rm\n"), "{}{}", run.calls, run.stderr);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn a_job_that_must_end_during_the_pull_is_not_started() {
    let place = with_docker();
    let pipe = place.pipe();
    let slow = DOCKER.replace("pull) ", &format!("pull) echo ready > {}; sleep 60; ", pipe.display()));
    double(&place, "docker", &slow);
    let child = place.start(IMAGE);
    assert_eq!(read_fifo(&pipe), "ready\n");
    send(&child, Signal::SIGTERM);
    let run = place.finish(child);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.calls.ends_with("exit evict\n") && !run.calls.contains("create"), "{}", run.calls);
    assert_clean(&run);
}

#[test]
fn singularity_prints_its_version_tests_the_image_and_runs_the_job() {
    let place = with_singularity();
    let run =
        place.run(&format!("{}\nWantSIF = true\nContainerImage = \"/img.sif\"", shell("echo job >> calls")));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let calls: Vec<&str> = run.calls.lines().collect();
    let iwd = place.path("iwd").display().to_string();
    assert_eq!(calls[..2], ["prepare", "singularity --version"]);
    assert!(calls[2].starts_with(&format!("singularity -s -q test -B {iwd} -W ")), "{}", calls[2]);
    assert!(
        calls[2].ends_with(&format!("--pwd {iwd} -B {iwd} --contain --ipc --cleanenv /img.sif")),
        "{}",
        calls[2]
    );
    assert!(
        calls[3].starts_with("singularity -s exec ") && calls[3].contains("/img.sif /bin/sh -c"),
        "{}",
        calls[3]
    );
    assert_eq!(calls[4..], ["job", "exit exit"]);
    let env = fs::read_to_string(place.path("state/env")).unwrap();
    assert!(env.contains("APPTAINERENV_BATCH_SYSTEM=HTCondor\n") && !env.contains("\nHOME="), "{env}");
}

#[test]
fn a_failed_image_test_is_reported_in_one_line() {
    let place = with_singularity();
    fs::write(place.path("state/untestable"), "").unwrap();
    let run = place
        .run("Cmd = \"/bin/true\"\nWantSIF = true\nContainerImage = \"/img.sif\"\nStarterUserLog = \"log\"");
    assert_eq!(run.status, 1, "{}", run.stderr);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.contains("\n\tSingularity test failed:FATAL: no\n"), "{log}");
    assert!(run.calls.ends_with("exit evict\n"), "{}", run.calls);
}

#[test]
fn a_job_whose_image_fails_its_test_is_held_and_requeued_in_25_14() {
    for (quirks, status, code) in [
        ("none", "JobStatus = 5", "HoldReasonCode = 45"),
        ("reference", "JobStatus = 1", "VacateReasonCode = 45"),
    ] {
        let place = with_singularity().option(&["--as", "shadow", "--quirks", quirks]);
        fs::write(place.path("state/untestable"), "").unwrap();
        let job = "Cmd = \"/bin/true\"\nJobUniverse = 5\nShouldTransferFiles = \"NO\"\nUserLog = \"log\"";
        let run = place.run(&format!("{job}\nWantSIF = true\nContainerImage = \"/img.sif\""));
        assert!(run.has(status) && run.has(code), "{quirks}: {}\n{}", run.ad, run.stderr);
        assert_eq!(run.stderr.contains("(singularity-test-requeues)"), quirks == "none", "{}", run.stderr);
    }
}

#[test]
fn a_job_without_an_image_does_not_run_in_an_image_named_singularityimage() {
    let place = with_singularity();
    let run = place.run("Cmd = \"/bin/true\"\nWantSIF = true");
    assert!(run.stderr.contains("no image: SINGULARITY_IMAGE_EXPR"), "{}", run.stderr);
    assert!(!run.calls.contains(" exec "), "{}", run.calls);
    let place = with_singularity().option(&["--quirks", "reference"]);
    let run = place.run("Cmd = \"/bin/true\"\nWantSIF = true");
    assert!(run.calls.contains("/iwd/SingularityImage"), "{}", run.calls);
}

#[test]
fn scratch_dir_outside_container_is_a_path_of_the_machine() {
    let outside = |place: Place| {
        let place = place.parameter("SINGULARITY_TARGET_DIR = /srv");
        place.run("Cmd = \"/bin/true\"\nWantSIF = true\nContainerImage = \"/img.sif\"");
        let env = fs::read_to_string(place.path("state/env")).unwrap();
        let line =
            env.lines().find(|line| line.starts_with("_CONDOR_SCRATCH_DIR_OUTSIDE_CONTAINER=")).unwrap();
        line.split_once('=').unwrap().1.to_owned()
    };
    let ours = outside(with_singularity());
    assert!(ours.contains("/execute/dir_") && ours.ends_with("/scratch"), "{ours}");
    assert_eq!(outside(with_singularity().option(&["--quirks", "reference"])), "/condor_scratch/scratch");
}

#[test]
fn a_missing_runtime_is_reported_and_the_job_does_not_run() {
    for (ad, parameters) in [
        ("WantDocker = true\nDockerImage = \"busybox\"", "DOCKER = /no/such/docker"),
        ("WantSIF = true\nContainerImage = \"x.sif\"", "SINGULARITY = /no/such/singularity"),
        (
            "X = 1",
            "SINGULARITY_JOB = true\nSINGULARITY = /no/such/singularity\nSINGULARITY_IMAGE_EXPR = \"/x\"",
        ),
        ("JobUniverse = 10", "JAVA ="),
        ("ToolDaemonCmd = \"/bin/true\"", ""),
    ] {
        let place = Place::new().with_recording_hooks().parameter(parameters);
        let run = place.run(&format!("{}\n{ad}", shell("echo job >> calls")));
        assert_eq!((run.status, run.ad.as_str()), (1, ""), "{ad} {parameters}: {}", run.stderr);
        assert_eq!(run.calls, "prepare\nexit evict\n", "{ad} {parameters}: {}", run.stderr);
        assert_clean(&run);
    }
}

#[test]
fn a_job_for_which_no_container_is_configured_runs_without_one() {
    let asked = [
        ("X = 1", "SINGULARITY_JOB = false"),
        ("WantsBox = false", "SINGULARITY_JOB = TARGET.WantsBox"),
        // The default image is not a string: "doesn't evaluate to a string, skipping containerizing".
        ("X = 1", "USE_DEFAULT_CONTAINER = true\nDEFAULT_CONTAINER_IMAGE = TARGET.NoSuch"),
        ("X = 1", "USE_DEFAULT_CONTAINER = false\nDEFAULT_CONTAINER_IMAGE = \"/img\""),
        ("WantContainer = true\nContainerImage = \"/img\"", ""),
    ];
    for (ad, parameters) in asked {
        let place = Place::new().with_recording_hooks().parameter(parameters);
        let run = place.run(&format!("{}\n{ad}", shell("echo job >> calls")));
        let expected = (0, "prepare\njob\nexit exit\n");
        assert_eq!((run.status, run.calls.as_str()), expected, "{parameters}: {}", run.stderr);
    }
}

#[test]
fn attributes_that_need_a_shadow_are_reported_and_the_job_runs() {
    let place = Place::new().with_recording_hooks();
    let asks = "TransferInput = \"no-such,calls\"\nShouldTransferFiles = \"YES\"\nOnExitRemove = true\nPeriodicHold = false";
    let run = place.run(&format!("{}\n{asks}", shell("echo job >> calls")));
    assert_eq!((run.status, run.calls.as_str()), (0, "prepare\njob\nexit exit\n"), "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains("unsupported here")).collect();
    assert_eq!(lines.len(), 1, "{}", run.stderr);
    assert!(
        lines[0]
            .contains("ShouldTransferFiles, TransferInput are unsupported here: the shadow of a pool would"),
        "{}",
        lines[0]
    );
    assert!(lines[0].ends_with("the job will not find 'no-such', 'calls'"), "{}", lines[0]);
}

#[test]
fn only_settings_that_would_affect_this_starter_are_reported() {
    let place = Place::new()
        .parameter("ENCRYPT_EXECUTE_DIRECTORY = true\nUSE_PROCESS_GROUPS = $(NO_SUCH:true)")
        .parameter("CONSUMPTION_POLICY = true\nNEGOTIATOR_INTERVAL = 20\nSTARTER.MAX_STARTER_LOG = 5");
    let run = place.run(&shell("true"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let stderr: Vec<&str> =
        run.stderr.lines().filter(|line| !line.contains("FARM") && line.contains("warning: ")).collect();
    assert_eq!(stderr.len(), 2, "{}", run.stderr);
    assert!(
        stderr[1].contains("not encrypted although ENCRYPT_EXECUTE_DIRECTORY")
            && stderr[1].contains(", line 5)"),
        "{stderr:?}"
    );
    assert!(stderr[0].contains("2 settings have no effect here"), "{stderr:?}");
}

#[test]
fn an_invalid_singularity_job_has_the_references_message() {
    let place = Place::new()
        .with_recording_hooks()
        .parameter("SINGULARITY_JOB = a b")
        .option(&["--quirks", "reference"]);
    let run = place.run(&format!("{}\nStarterUserLog = \"log\"", shell("echo job >> calls")));
    // After an exception, JOB_EXIT is called, but the starter does not wait for it.
    assert_eq!(run.status, 4, "{}", run.stderr);
    assert!(run.calls.starts_with("prepare\n") && !run.calls.contains("job"), "{}", run.calls);
    assert!(run.stderr.contains("hook started JOB_EXIT"), "{}", run.stderr);
    let log = fs::read_to_string(place.path("iwd/log")).unwrap();
    assert!(log.starts_with("001 ") && log.contains("\n021 "), "{log}");
    let words = "SINGULARITY_JOB in the condor configuration  is not a valid boolean (\"a b\").  Please set it to True or False";
    assert!(log.contains(words), "{log}");
}

#[test]
fn the_hook_of_the_examples_picks_the_image() {
    let hook = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/containers/pick-image");
    let place = with_docker().parameter(&format!("FARM_HOOK_PREPARE_JOB = {hook}"));
    let run = place.run("Cmd = \"/bin/true\"\nWantSoftware = \"python3\"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.calls.contains("docker pull python:3-slim\n"), "{}", run.calls);
    let mut child = place.command().spawn().unwrap();
    child.stdin.take().unwrap().write_all(place.complete_ad(&shell("exit 3")).as_bytes()).unwrap();
    assert!(place.finish(child).has("ExitCode = 3"), "a job that names none runs as it is");
}
