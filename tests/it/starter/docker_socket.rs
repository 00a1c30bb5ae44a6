//! Tests of docker's socket, which reports a container's resource usage and the ports of its services.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread::JoinHandle;

use crate::support::children::write_executable;
use crate::support::place::Place;

/// Fake docker whose container runs until it is ended.
const DOCKER: &str = r#"#!/bin/sh
case $1 in
images) echo "sha256:1 alpine:3" ;;
create) echo f00 ;;
start) while [ ! -e @STATE@/end ]; do sleep 0.05; done ;;
inspect)
    case $3 in
    *LastTag*) ;;
    *Architecture*) echo amd64 ;;
    *) printf 'ContainerId="f0"\nPid=0\nName="/C"\nRunning=false\nExitCode=0\nStartedAt="2026"\nFinishedAt="2026"\nDockerError=""\nOOMKilled="false"\n' ;;
    esac ;;
*) echo x ;;
esac
"#;

fn place() -> Place {
    let place = Place::new().hook("JOB_EXIT", "cat > $CALLS.exit").parameter("POLLING_INTERVAL = 1");
    fs::create_dir(place.path("state")).unwrap();
    fs::set_permissions(place.path("state"), fs::Permissions::from_mode(0o777)).unwrap();
    let text = DOCKER.replace("@STATE@", place.path("state").to_str().unwrap());
    write_executable(&place.path("docker"), text.as_bytes());
    let parameter = format!("DOCKER = {}", place.path("docker").display());
    let mut place = place.parameter(&parameter);
    let host = format!("unix://{}", place.path("docker.sock").display());
    place.environment.push(("DOCKER_HOST".to_owned(), host));
    place
}

/// Answers this many requests, and then makes the container end. Returns the requests.
fn serve(place: &Place, answers: Vec<&'static str>) -> JoinHandle<Vec<String>> {
    let listener = UnixListener::bind(place.path("docker.sock")).unwrap();
    let end: PathBuf = place.path("state/end");
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut client, _) = listener.accept().unwrap();
            let mut text = Vec::new();
            while !text.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                text.push(byte[0]);
            }
            let text = String::from_utf8(text).unwrap();
            asked.push(text.lines().next().unwrap().split("_PID").next().unwrap().to_owned());
            // A client that disconnects early is not an error.
            let _ = client.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{answer}").as_bytes());
        }
        // When the next request comes, the last answer has been read.
        let (last, _) = listener.accept().unwrap();
        fs::write(end, "").unwrap();
        drop(last);
        asked
    })
}

const JOB: &str = "Cmd = \"/bin/true\"\nWantDocker = true\nDockerImage = \"alpine:3\"";

#[test]
fn usage_and_service_ports_of_a_container_are_in_the_job_ad() {
    let place = place();
    let ports = r#"{"NetworkSettings":{"Ports":{"80/tcp":[{"HostIp":"0.0.0.0","HostPort":"49153"}]}}}"#;
    let much = r#"{"memory_stats":{"stats":{"rss":8388608}},"networks":{"e":{"rx_bytes":2500000,"tx_bytes":1500000}},"u":{"usage_in_usermode":3000000000,"usage_in_kernelmode":1000000000}}"#;
    let less = r#"{"memory_stats":{"stats":{"rss":4096}},"networks":{"e":{"rx_bytes":3500000,"tx_bytes":1500000}},"u":{"usage_in_usermode":4000000000,"usage_in_kernelmode":1000000000}}"#;
    let server = serve(&place, vec![ports, much, "garbage", less]);
    let run = place.run(&format!("{JOB}\nContainerServiceNames = \"web\"\nweb_ContainerPort = 80"));
    assert_eq!(run.status, 0, "{}\n{}", run.stderr, run.ad);
    let asked = server.join().unwrap();
    assert!(asked[0].starts_with("GET /containers/HTCJob7_1_"), "{asked:?}");
    assert_eq!(asked.len(), 4);
    for line in [
        "ResidentSetSize = 8192",
        "MemoryUsage = 8",
        "ImageSize = 8",
        "NetworkInputMb = 3.5",
        "NetworkOutputMb = 1.5",
        "RemoteUserCpu = 4",
        "RemoteSysCpu = 1",
    ] {
        assert!(run.has(line), "{line}\n{}", run.ad);
    }
    assert!(run.has("web_HostPort = undefined"), "{}", run.ad);
    assert!(run.left.is_empty());
}

#[test]
fn a_missing_or_silent_docker_socket_blocks_nothing() {
    let place = place();
    fs::write(place.path("state/end"), "").unwrap();
    let run = place.run(JOB);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let mut place = self::place();
    place.environment.retain(|(name, _)| name != "DOCKER_HOST");
    place.environment.push(("DOCKER_HOST".to_owned(), "tcp://127.0.0.1:1".to_owned()));
    fs::write(place.path("state/end"), "").unwrap();
    let run = place.run(JOB);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("DOCKER_HOST (tcp://127.0.0.1:1) is not a unix socket"), "{}", run.stderr);
}
