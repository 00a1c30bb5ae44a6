//! Tests of container images: chosen by hooks that download them, pulled, pulled with credentials, pruned.

use std::fs;

use nix::sys::signal::Signal;

use crate::starter::containers::{IMAGE, assert_clean, with_docker, with_singularity};
use crate::support::children::{is_alive, write_executable};
use crate::support::place::{Place, read_fifo, send};

/// Typical hook of a pilot. It keeps images in a separate directory tree, which several slots share under a lock; reads the ads
/// that the starter provides; returns a status with a message; and leaves helper processes in the scratch directory.
const PILOT: &str = r#"#!/bin/sh
tree=$(readlink -f "$(dirname "$0")/..")
end() { printf 'HookStatusCode=%d\nHookStatusMessage="%s"\n' "$1" "$2"; echo "$1 $2" >&2; exit $(($1 % 100)); }
[ "$(sed -n 's/^ALLOW_DOWNLOADS = //p' "$_CONDOR_MACHINE_AD")" = true ] || end 305 "no images may be fetched"
image=$(sed -n 's/^ContainerImage = "\(.*\)"$/\1/p' "$_CONDOR_JOB_AD")
name=$(echo "$image" | sed 's;^[[:alnum:]]*://;;; s;[:/];__;g')
picked=$(
    (
        flock -w 60 9
        [ -e "$tree/images/$name" ] || cp "$tree/store/$name" "$tree/images/$name" || exit 1
        echo "$tree/images/$name"
    ) 9> "$tree/images/$name.lock"
) || end 1 "Unable to fetch $image"
mkdir -p .helpers
echo "ContainerImage=\"$picked\""
end 0 "Using image $picked"
"#;

#[test]
fn a_job_runs_in_the_image_that_a_hook_with_a_lock_fetches() {
    let place = with_singularity();
    for name in ["pilot", "pilot/job", "pilot/images", "pilot/store"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    place.chown_to_nobody("pilot/images");
    fs::write(place.path("pilot/store/r.example__el9__1"), "an image\n").unwrap();
    write_executable(&place.path("pilot/job/prepare"), PILOT.as_bytes());
    let slot = place.path("slot.ad");
    let hook = place.path("pilot/job/prepare").display().to_string();
    let place = place
        .parameter(&format!("FARM_HOOK_PREPARE_JOB = {hook}\nSINGULARITY_JOB = true"))
        .option(&["--slot-ads", slot.to_str().unwrap()]);
    fs::write(&slot, "ALLOW_DOWNLOADS = true\n").unwrap();
    let ad = |image: &str| format!("Cmd = \"/bin/true\"\nContainerImage = \"docker://{image}\"");
    let run = place.run(&ad("r.example/el9:1"));
    let picked = place.path("pilot/images/r.example__el9__1").display().to_string();
    assert!(run.has(&format!("ContainerImage = \"{picked}\"")), "{}{}", run.ad, run.stderr);
    assert!(run.has(&format!("HookStatusMessage = \"Using image {picked}\"")), "{}", run.ad);
    assert!(run.calls.contains(&format!(" {picked} /bin/true\n")), "{}", run.calls);
    assert_clean(&run);
    let run = place.run(&ad("r.example/none:1"));
    assert!(run.stderr.contains("Unable to fetch docker://r.example/none:1"), "{}", run.stderr);
    assert!(run.status == 1 && !run.calls.contains("/bin/true\nexit exit\nsing"), "{}", run.calls);
    fs::write(&slot, "ALLOW_DOWNLOADS = false\n").unwrap();
    let run = place.run(&ad("r.example/el9:1"));
    // A code from 300 on sends a job back to the queue. Without a queue, the job is not started.
    assert!(run.stderr.contains("305") && run.stderr.contains("no images may be fetched"), "{}", run.stderr);
    assert_clean(&run);
}

/// Tests `CONDOR_get_docker_creds` (NTreceivers.cpp) and `DockerProc::StartJob` (docker_proc.cpp).
#[test]
fn docker_uses_the_credentials_of_the_access_points_program() {
    let place = |script: &str| {
        let place = with_docker().option(&["--as", "shadow"]);
        let producer = place.path("producer");
        write_executable(&producer, format!("#!/bin/sh\n{script}\n").as_bytes());
        place.parameter(&format!("DOCKER_PAT_PRODUCER = {}", producer.display()))
    };
    let ad = format!("{IMAGE}\nShouldTransferFiles = \"NO\"\nDockerSendCredentials = true");
    let good = place("echo '{\"auths\": {\"r.example\": {\"auth\": \"c2VjcmV0\"}}}'");
    let run = good.run(&ad);
    assert!(run.has("JobStatus = 4"), "{}{}", run.ad, run.stderr);
    for call in ["pull", "create"] {
        let text = fs::read_to_string(good.path(&format!("state/{call}.config"))).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["auths"]["r.example"]["auth"], "c2VjcmV0", "{call}: {text}");
    }
    assert_clean(&run);
    for (script, reason) in [
        ("echo '{\"HTCondorError\": \"expired\"}'; exit 1", "expired"),
        ("exit 0", "Cannot parse json emitted by docker pat producer"),
    ] {
        let run = place(script).run(&ad);
        assert!(
            run.has("JobStatus = 5") && run.has("HoldReasonCode = 35"),
            "{script}: {}{}",
            run.ad,
            run.stderr
        );
        assert!(run.ad.contains(reason) && !run.calls.contains("docker"), "{}{}", run.ad, run.calls);
        assert_clean(&run);
    }
    let run = with_docker().parameter("DOCKER_PAT_PRODUCER =").option(&["--as", "shadow"]).run(&ad);
    assert!(
        run.ad.contains("No DOCKER_PAT_PRODUCER configured on the access point"),
        "{}{}",
        run.ad,
        run.stderr
    );
    // Without an access point, there are no credentials.
    let alone = with_docker();
    let run = alone.run(&ad);
    assert!(run.status == 0 && run.stderr.contains("docker has no credentials"), "{}", run.stderr);
    let text = fs::read_to_string(alone.path("state/create.config")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), serde_json::json!({}));
}

/// Waits until the process is gone. The kernel kills a pull whose starter is killed, but the signal may still be pending.
fn until_gone(pid: i32) {
    while is_alive(pid) {
        std::thread::yield_now();
    }
}

/// Starts a job whose image is being pulled, and kills its starter.
fn killed_while_pulling(images: &str) -> (Place, i32) {
    let place = with_docker();
    fs::write(place.path("state/images"), images).unwrap();
    let pipe = place.pipe();
    fs::rename(pipe, place.path("state/pipe")).unwrap();
    let mut child = place.start(IMAGE);
    let pid = read_fifo(&place.path("state/pipe")).trim().parse().unwrap();
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    (place, pid)
}

#[test]
fn clean_removes_only_the_image_that_a_killed_starter_pulled() {
    let clean = |place: &Place| {
        let output = place.clean_command().output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let entries = fs::read_dir(place.path("execute")).unwrap();
        assert_eq!(entries.count(), 0);
        (
            String::from_utf8_lossy(&output.stderr).into_owned(),
            fs::read_to_string(place.path("iwd/calls")).unwrap(),
        )
    };
    let (place, pid) = killed_while_pulling("");
    // When --clean runs, the pull has produced this image.
    fs::write(place.path("state/images"), "alpine:3 aa 7MB\n").unwrap();
    let (text, calls) = clean(&place);
    until_gone(pid);
    assert!(text.contains("removed the image 'alpine:3', which was being pulled"), "{text}");
    assert!(calls.ends_with("docker images --format\ndocker rmi alpine:3\n"), "{calls}");
    let (place, pid) = killed_while_pulling("alpine:3 aa 7MB\n");
    let (text, calls) = clean(&place);
    until_gone(pid);
    assert!(!text.contains("image"), "{text}");
    assert!(!calls.contains("rmi"), "{calls}");
}
