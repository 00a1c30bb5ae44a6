//! `htc-router-translate run` with a submit command, and with a directory that is not as it should be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const CONFIG: &str = "JOB_ROUTER_NAME = jobrouter\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\n\
    JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n@r\n";
const JOB: &str = "Owner = \"ana\"\nJobStatus = 1\nJobUniverse = 5\nWantRoute = true\n";

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// A queue with the job 1.0.
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("config"), CONFIG).unwrap();
        fs::create_dir(directory.path().join("queue")).unwrap();
        fs::write(directory.path().join("queue/1.0.ad"), JOB).unwrap();
        Place { directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn command(&self, queue: &str, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_htc-router-translate")])
            .args(["run", "--no-env", "--config-file", "config", "--queue", queue])
            .args(words)
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Status and standard error of a run.
    fn run(&self, queue: &str, words: &[&str]) -> (i32, String) {
        let output = self.command(queue, words).output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A submit command: writes down that it was called, then goes on as told.
    fn submit(&self, script: &str) -> String {
        format!("cat > ad; echo called >> calls; {script}")
    }

    fn calls(&self) -> usize {
        self.read("calls").lines().count()
    }
}

fn waits_for(what: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn is_gone(pid: &Path) -> bool {
    let pid = fs::read_to_string(pid).unwrap_or_default();
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

#[test]
fn what_condor_submit_prints_names_the_copy() {
    let place = Place::new();
    let submit = place.submit("echo 'Submitting job(s).'; echo '1 job(s) submitted to cluster 5.'");
    let (status, told) = place.run("queue", &["--once", "--submit", &submit]);
    assert_eq!(status, 0, "{told}");
    assert!(place.read("queue/5.0.ad").contains("RoutedFromJobId = \"1.0\"\n"), "{told}");
    assert!(!place.file("queue/.submitting.1.0").exists());
    assert!(place.read("ad").contains("RoutedFromJobId = \"1.0\"\n"));
}

#[test]
fn what_may_have_been_submitted_is_not_submitted_again() {
    for unclear in ["echo done", "kill -9 $$", "echo 1.0"] {
        let place = Place::new();
        let submit = place.submit(unclear);
        let router = place.command("queue", &["--period", "1", "--submit", &submit]).spawn().unwrap();
        assert!(waits_for(|| place.calls() > 0));
        // Time enough for the polls of a run that looks for orphans twice.
        std::thread::sleep(Duration::from_secs(6));
        kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
        let output = router.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(place.calls(), 1, "{unclear}: {told}");
        assert_eq!(told.matches("may have been submitted").count(), 1, "{unclear}: {told}");
        assert!(place.read("queue/1.0.ad").contains("Managed = \"External\"\n"), "{unclear}: {told}");
        // Nor by the next router, until somebody has looked.
        let (status, told) = place.run("queue", &["--once", "--submit", &submit]);
        assert_eq!((status, place.calls()), (0, 1), "{unclear}: {told}");
        assert_eq!(told.matches("may have been submitted").count(), 1, "{unclear}: {told}");
        fs::remove_file(place.file("queue/.submitting.1.0")).unwrap();
        for _ in 0..2 {
            place.run("queue", &["--once", "--submit", &place.submit("echo 7.0")]);
        }
        assert!(place.read("queue/7.0.ad").contains("RoutedFromJobId = \"1.0\"\n"), "{unclear}");
    }
}

#[test]
fn a_submit_command_that_fails_has_submitted_nothing() {
    let place = Place::new();
    let (status, told) = place.run("queue", &["--once", "--submit", &place.submit("echo full >&2; exit 1")]);
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("exited with status 1") && told.contains("says: full"), "{told}");
    assert!(!place.file("queue/.submitting.1.0").exists());
    assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"));
}

#[test]
fn a_submit_command_that_hangs_is_ended() {
    let place = Place::new();
    let submit = place.submit("echo $$ > pid; sleep 300");
    let begin = Instant::now();
    let (status, told) = place.run("queue", &["--once", "--hook-limit", "1", "--submit", &submit]);
    assert_eq!(status, 0, "{told}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(told.contains("may have been submitted: the submit command took too long"), "{told}");
    assert!(place.file("queue/.submitting.1.0").exists() && is_gone(&place.file("pid")));
}

#[test]
fn a_signal_is_heard_while_a_submit_command_runs() {
    let place = Place::new();
    let submit = place.submit("trap 'echo 8.0; exit 0' TERM; echo $$ > pid; while :; do sleep 0.1; done");
    let router = place.command("queue", &["--submit", &submit]).spawn().unwrap();
    assert!(waits_for(|| !place.read("pid").is_empty()));
    let begin = Instant::now();
    kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
    let output = router.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(begin.elapsed() < Duration::from_secs(15), "{told}");
    // What the command said at its end is written down.
    assert!(waits_for(|| place.file("queue/8.0.ad").exists()), "{told}");
    assert!(waits_for(|| is_gone(&place.file("pid"))), "{told}");
    assert!(!place.file("queue/.submitting.1.0").exists(), "{told}");
}

#[test]
fn what_is_no_job_in_the_queue_is_named_once_and_passed_over() {
    let place = Place::new();
    nix::unistd::mkfifo(&place.file("queue/2.0.ad"), nix::sys::stat::Mode::from_bits_truncate(0o600))
        .unwrap();
    fs::write(place.file("queue/3.0.ad"), "").unwrap();
    fs::create_dir(place.file("queue/4.0.ad")).unwrap();
    let router = place.command("queue", &["--period", "1"]).spawn().unwrap();
    assert!(waits_for(|| place.file("queue/5.0.ad").exists()));
    std::thread::sleep(Duration::from_secs(3));
    kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
    let told = String::from_utf8_lossy(&router.wait_with_output().unwrap().stderr).into_owned();
    assert_eq!(told.matches("2.0.ad': is not a regular file").count(), 1, "{told}");
    assert_eq!(told.matches("3.0.ad': has no attributes").count(), 1, "{told}");
    assert_eq!(told.matches("4.0.ad': is not a regular file").count(), 1, "{told}");
}

#[test]
fn a_queue_that_cannot_be_used_is_unreadable_input() {
    let place = Place::new();
    for queue in ["nope", "config"] {
        let (status, told) = place.run(queue, &["--once"]);
        assert_eq!(status, 3, "{told}");
        assert!(told.contains(&format!("cannot use '{queue}'")), "{told}");
    }
}

#[test]
fn a_route_that_is_left_out_is_not_called_undefined() {
    let place = Place::new();
    let config = "JOB_ROUTER_ROUTE_NAMES = R, S\nJOB_ROUTER_ROUTE_R @=r\n  REQUIREMENTS (\n@r\n";
    fs::write(place.file("config"), config).unwrap();
    let (_, told) = place.run("queue", &["--once"]);
    assert!(told.contains("route R is left out"), "{told}");
    assert!(!told.contains("route R of") && told.contains("route S of"), "{told}");
}

fn status(words: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    let ads: String = [(2, "ana"), (5, "ana"), (1, "bo")]
        .iter()
        .enumerate()
        .map(|(at, (status, owner))| {
            format!(
                "ClusterId = {}\nProcId = 0\nOwner = \"{owner}\"\nJobStatus = {status}\nRouteName = \"R\"\n\
                 RoutedBy = \"jobrouter\"\nRoutedFromJobId = \"1.{at}\"\nRequestCpus = 2\n\n",
                at + 10
            )
        })
        .collect();
    fs::write(place.path().join("jobs.ads"), ads).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-router-status"))
        .arg("jobs.ads")
        .args(words)
        .current_dir(place.path())
        .output()
        .unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn counts_are_data_where_data_are_asked_for() {
    let counts: serde_json::Value = serde_json::from_str(&status(&["--by", "user", "--json"])).unwrap();
    let expected = serde_json::json!([
        { "user": "ana", "jobs": 2, "idle": 0, "running": 1, "held": 1, "done": 0, "other": 0 },
        { "user": "bo", "jobs": 1, "idle": 1, "running": 0, "held": 0, "done": 0, "other": 0 },
    ]);
    assert_eq!(counts, expected);
    let long = status(&["--by", "route", "--long"]);
    assert!(long.contains("Route = \"R\"\n") && long.contains("Jobs = 3\n"), "{long}");
    assert_eq!(status(&["--by", "user", "--af", "User", "Jobs"]), "ana 2\nbo 1\n");
}

#[test]
fn af_takes_expressions() {
    let lines = status(&["--af", "Owner", "JobStatus*2", "RequestCpus,ClusterId", "max({1, RequestCpus})"]);
    assert_eq!(lines, "ana 4 2 10 2\nana 10 2 11 2\nbo 2 2 12 2\n");
    assert!(status(&["--af", "JobStatus*"]).contains("--af JobStatus*: "));
}
