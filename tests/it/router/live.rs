//! Tests of `htc-router-translate run` with a submit command, and with unusual contents of the queue's directory.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const CONFIG: &str = "JOB_ROUTER_NAME = jobrouter\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\n\
    JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n@r\n";

pub(crate) const JOB: &str = "Owner = \"ana\"\nJobStatus = 1\nJobUniverse = 5\nWantRoute = true\n";

pub(crate) struct Place {
    pub(crate) directory: tempfile::TempDir,
}

impl Place {
    /// Creates a queue with the job 1.0.
    pub(crate) fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("config"), CONFIG).unwrap();
        fs::create_dir(directory.path().join("queue")).unwrap();
        fs::write(directory.path().join("queue/1.0.ad"), JOB).unwrap();
        Place { directory }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    pub(crate) fn command(&self, queue: &str, words: &[&str]) -> Command {
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

    /// Starts a router that runs until it is stopped. Its messages can be read while it runs.
    pub(super) fn start(&self, words: &[&str]) -> Child {
        let told = fs::File::create(self.file("told")).unwrap();
        self.command("queue", words).stderr(told).spawn().unwrap()
    }

    /// Waits for this number of polls. For each poll, a directory is created in the queue, which the poll reports.
    pub(super) fn polls(&self, times: u32) {
        for number in 0..times {
            let name = format!("77{number}9.0.ad");
            let put = self.file(&format!("queue/{name}"));
            fs::create_dir(&put).unwrap();
            assert!(waits_for(|| self.read("told").contains(&name)), "{}", self.read("told"));
            fs::remove_dir(&put).unwrap();
        }
    }

    /// Stops the router; returns its messages.
    pub(super) fn stop(&self, mut router: Child) -> String {
        kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
        router.wait().unwrap();
        self.read("told")
    }

    /// Returns exit status and standard error of a run.
    pub(crate) fn run(&self, queue: &str, words: &[&str]) -> (i32, String) {
        let output = self.command(queue, words).output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Creates a submit command that records its call and then runs the script.
    pub(super) fn submit(&self, script: &str) -> String {
        format!("cat > ad; echo called >> calls; {script}")
    }

    pub(super) fn calls(&self) -> usize {
        self.read("calls").lines().count()
    }
}

pub(crate) fn waits_for(what: impl Fn() -> bool) -> bool {
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
fn the_routed_job_has_the_id_that_condor_submit_prints() {
    let place = Place::new();
    let submit = place.submit("echo 'Submitting job(s).'; echo '1 job(s) submitted to cluster 5.'");
    let (status, output) = place.run("queue", &["--once", "--submit", &submit]);
    assert_eq!(status, 0, "{output}");
    assert!(place.read("queue/5.0.ad").contains("RoutedFromJobId = \"1.0\"\n"), "{output}");
    assert!(!place.file("queue/.submitting.1.0").exists());
    assert!(place.read("ad").contains("RoutedFromJobId = \"1.0\"\n"));
}

#[test]
fn a_job_that_may_have_been_submitted_is_not_submitted_again() {
    for unclear in ["echo done", "kill -9 $$", "echo 1.0"] {
        let place = Place::new();
        let submit = place.submit(unclear);
        let router = place.start(&["--period", "0.2", "--submit", &submit]);
        assert!(waits_for(|| place.calls() > 0));
        // A router looks for orphans only in its first polls.
        place.polls(6);
        let told = place.stop(router);
        assert_eq!(place.calls(), 1, "{unclear}: {told}");
        assert_eq!(told.matches("may have been submitted").count(), 1, "{unclear}: {told}");
        assert!(place.read("queue/1.0.ad").contains("Managed = \"External\"\n"), "{unclear}: {told}");
        // The next router does not submit the job either, until the administrator has removed the file.
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
    let (status, output) =
        place.run("queue", &["--once", "--submit", &place.submit("echo full >&2; exit 1")]);
    assert_eq!(status, 1, "{output}");
    assert!(
        output.contains("exited with status 1") && output.contains("printed on standard error: full"),
        "{output}"
    );
    assert!(!place.file("queue/.submitting.1.0").exists());
    assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"));
}

#[test]
fn a_submit_command_that_hangs_is_ended() {
    let place = Place::new();
    let submit = place.submit("echo $$ > pid; sleep 300");
    let begin = Instant::now();
    let (status, output) = place.run("queue", &["--once", "--hook-timeout", "1", "--submit", &submit]);
    assert_eq!(status, 1, "{output}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert!(output.contains("may have been submitted: the submit command took too long"), "{output}");
    assert!(place.file("queue/.submitting.1.0").exists() && is_gone(&place.file("pid")));
}

#[test]
fn a_signal_is_handled_while_a_submit_command_runs() {
    let place = Place::new();
    let submit = place.submit("trap 'echo 8.0; exit 0' TERM; echo $$ > pid; while :; do sleep 0.1; done");
    let router = place.command("queue", &["--submit", &submit]).spawn().unwrap();
    assert!(waits_for(|| !place.read("pid").is_empty()));
    let begin = Instant::now();
    kill(Pid::from_raw(router.id() as i32), Signal::SIGTERM).unwrap();
    let output = router.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(begin.elapsed() < Duration::from_secs(15), "{stderr}");
    // The router uses the output that the command has printed by its end.
    assert!(waits_for(|| place.file("queue/8.0.ad").exists()), "{stderr}");
    assert!(waits_for(|| is_gone(&place.file("pid"))), "{stderr}");
    assert!(!place.file("queue/.submitting.1.0").exists(), "{stderr}");
}

#[test]
fn files_that_are_not_jobs_are_named_once_and_skipped() {
    let place = Place::new();
    nix::unistd::mkfifo(&place.file("queue/2.0.ad"), nix::sys::stat::Mode::from_bits_truncate(0o600))
        .unwrap();
    fs::write(place.file("queue/3.0.ad"), "").unwrap();
    fs::create_dir(place.file("queue/4.0.ad")).unwrap();
    let router = place.start(&["--period", "0.2"]);
    assert!(waits_for(|| place.file("queue/5.0.ad").exists()));
    place.polls(3);
    let told = place.stop(router);
    assert_eq!(told.matches("2.0.ad': is not a regular file").count(), 1, "{told}");
    assert_eq!(told.matches("3.0.ad': has no attributes").count(), 1, "{told}");
    assert_eq!(told.matches("4.0.ad': is not a regular file").count(), 1, "{told}");
}

#[test]
fn a_queue_that_cannot_be_used_is_unreadable_input() {
    let place = Place::new();
    for queue in ["nope", "config"] {
        let (status, output) = place.run(queue, &["--once"]);
        assert_eq!(status, 3, "{output}");
        assert!(output.contains(&format!("cannot use '{queue}'")), "{output}");
    }
}

#[test]
fn an_invalid_route_is_not_reported_as_undefined() {
    let place = Place::new();
    let config = "JOB_ROUTER_ROUTE_NAMES = R, S\nJOB_ROUTER_ROUTE_R @=r\n  REQUIREMENTS (\n@r\n";
    fs::write(place.file("config"), config).unwrap();
    let (_, output) = place.run("queue", &["--once"]);
    assert!(output.contains("route R is left out"), "{output}");
    assert!(!output.contains("route R of") && output.contains("route S of"), "{output}");
}

pub(super) fn status(words: &[&str]) -> String {
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
fn counts_are_printed_as_json_ads_and_columns() {
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

#[test]
fn a_pipe_in_the_queue_directory_is_reported_and_not_waited_for() {
    let fifo = |place: &Place, name: &str| {
        nix::unistd::mkfifo(&place.file(name), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    };
    let place = Place::new();
    fifo(&place, "queue/.lock");
    let (status, output) = place.run("queue", &["--once"]);
    assert!(status == 3 && output.contains("is not a regular file"), "{status}: {output}");
    let place = Place::new();
    fifo(&place, "queue/.next_cluster");
    let (status, output) = place.run("queue", &["--once"]);
    assert!(status == 1 && output.contains("failed to submit job: is not a regular file"), "{output}");
    assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"));
    // A job that has to leave the queue stays in it if the history cannot be written.
    let place = Place::new();
    fifo(&place, "queue/history");
    place.run("queue", &["--once"]);
    let copy = place.read("queue/2.0.ad");
    fs::write(place.file("queue/2.0.ad"), copy.replace("JobStatus = 1\n", "JobStatus = 4\n")).unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert!(status == 0 && output.contains("failed to finalize job: is not a regular file"), "{output}");
    assert!(place.file("queue/1.0.ad").exists());
}

#[test]
fn no_cluster_is_created_after_the_last_number() {
    let place = Place::new();
    fs::write(place.file("queue/2147483647.0.ad"), "Owner = \"x\"\nJobStatus = 5\n").unwrap();
    let (status, output) = place.run("queue", &["--once"]);
    assert!(status == 1 && output.contains("all cluster numbers are used"), "{status}: {output}");
    assert!(place.read("queue/1.0.ad").contains("Managed = \"Schedd\"\n"));
}

#[test]
fn a_second_router_on_a_queue_is_refused_as_unreadable_input() {
    let place = Place::new();
    let first = place.command("queue", &["--period", "60"]).spawn().unwrap();
    assert!(waits_for(|| place.file("queue/2.0.ad").exists()));
    let (status, output) = place.run("queue", &["--once"]);
    kill(Pid::from_raw(first.id() as i32), Signal::SIGTERM).unwrap();
    first.wait_with_output().unwrap();
    assert_eq!(status, 3, "{output}");
    assert!(output.contains("another router is using the directory 'queue'"), "{output}");
}

#[test]
fn a_submit_command_that_outlives_its_router_is_not_repeated() {
    let place = Place::new();
    let submit = place.submit("sleep 2; echo 9.0 > answer; echo 9.0");
    let mut router = place.command("queue", &["--submit", &submit]).spawn().unwrap();
    assert!(waits_for(|| place.calls() == 1));
    // The parent of the router is `timeout`; the router itself is killed.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", router.id())).unwrap();
    let pid: i32 = children.split_whitespace().next().unwrap().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    router.wait().unwrap();
    for _ in 0..2 {
        let (status, output) = place.run("queue", &["--once", "--submit", &submit]);
        assert!(status == 0 && output.contains("1.0 may have been submitted by an earlier run"), "{output}");
    }
    assert!(waits_for(|| place.file("answer").exists()));
    let (_, output) = place.run("queue", &["--once", "--submit", &submit]);
    assert_eq!(place.calls(), 1, "{output}");
    assert!(place.read("queue/1.0.ad").contains("Managed = \"External\"\n"));
}

/// Creates a queue with sandboxed jobs, in a directory that their owner can use.
pub(super) fn sandboxed(lines: &str, route: &str) -> Place {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    for (directory, mode) in [("", 0o755), ("home", 0o777)] {
        let path = place.file(directory);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let route = format!("  UNIVERSE vanilla\n  JobShouldBeSandboxed = true\n{route}");
    fs::write(place.file("config"), CONFIG.replace("  UNIVERSE vanilla\n", &route)).unwrap();
    let home = place.file("home");
    let job = JOB.replace("ana", "nobody");
    fs::write(place.file("queue/1.0.ad"), format!("{job}Iwd = \"{}\"\n{lines}", home.display())).unwrap();
    place
}

#[test]
fn an_invalid_history_is_unreadable_and_a_valid_one_is_counted() {
    let place = Place::new();
    let noise: Vec<u8> = (0..20_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(place.file("noise"), noise).unwrap();
    let record = |id: u32, route: &str, owner: &str| {
        format!(
            "ClusterId = {id}\nProcId = 0\nRouteName = \"{route}\"\nOwner = \"{owner}\"\nJobStatus = 4\n*** x\n"
        )
    };
    let text = record(1, "A", "ana") + &record(2, "B", "bo") + &record(3, "A", "bo");
    fs::write(place.file("history"), text).unwrap();
    let status = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_htc-router-status"))
            .args(words)
            .current_dir(place.directory.path())
            .output()
            .unwrap();
        let out = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&out).into_owned())
    };
    let (code, output) = status(&["history", "noise"]);
    assert!(code == 3 && output.contains("'noise' has no record of a job"), "{code}: {output}");
    // A file that has only errors is not a valid queue either.
    let lines: String = (0..40).map(|at| format!("A{at} = )\n\n")).collect();
    fs::write(place.file("no.ads"), lines).unwrap();
    for words in [&["no.ads"][..], &["doctor", "no.ads"]] {
        let (code, output) = status(words);
        assert!(code == 3 && output.contains("'no.ads' has no job ad"), "{code}: {output}");
        assert!(output.contains("no.ads: 40 errors in total") && output.lines().count() < 80, "{output}");
    }
    assert_eq!(
        status(&["history", "--by", "user", "--af", "User", "Jobs", "--", "history"]),
        (0, "ana 1\nbo 2\n".into())
    );
    let held = "ClusterId = 7\nProcId = 0\nRouteName = \"A\"\nOwner = \"ana\"\nJobStatus = 5\n\n";
    fs::write(place.file("jobs.ads"), format!("{held}{}", held.replace("= 7", "= 8").replace("= 5", "= 2")))
        .unwrap();
    let (code, output) =
        status(&["doctor", "--by", "route", "--af", "Route", "Jobs", "Held", "--", "jobs.ads"]);
    assert_eq!((code, output.as_str()), (1, "A 1 1\n"));
    let scenario = "duration = 600\n[[jobs]]\nad = \"WantRoute = true\"\nfail = 101\n";
    fs::write(place.file("s.toml"), scenario).unwrap();
    let simulate = |file: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
            .args(["simulate", file, "--no-env", "--config-file", "config"])
            .current_dir(place.directory.path())
            .output()
            .unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = simulate("s.toml");
    assert!(code == 3 && stderr.contains("'fail' is 101: expected a percentage from 0 to 100"), "{stderr}");
    let (code, stderr) = simulate("/dev/zero");
    assert!(code == 3 && stderr.contains("cannot read '/dev/zero'"), "{stderr}");
}

/// Runs a router for a few polls.
fn looks(place: &Place) {
    let router = place.start(&["--period", "0.2"]);
    place.polls(4);
    place.stop(router);
}

#[test]
fn jobs_that_are_edited_in_place_take_turns() {
    let place = Place::new();
    let route = "  REQUIREMENTS true\n  MaxJobs = 1\n  EditJobInPlace = true\n  EVALSET N (N ?: 0) + 1\n";
    fs::write(place.file("config"), CONFIG.replace("  UNIVERSE vanilla\n", route)).unwrap();
    fs::copy(place.file("queue/1.0.ad"), place.file("queue/2.0.ad")).unwrap();
    assert!(waits_for(|| {
        looks(&place);
        place.read("queue/2.0.ad").contains("\nN = 2")
    }));
    assert!(place.read("queue/1.0.ad").contains("\nN = "), "{}", place.read("queue/1.0.ad"));
}

#[test]
fn events_are_also_written_to_the_dagman_log_with_requested_attributes() {
    use std::os::unix::fs::PermissionsExt;
    let place = sandboxed("", "");
    fs::write(place.file("config"), CONFIG).unwrap();
    let home = place.file("home");
    let job = |lines: &str| {
        format!("{}Iwd = \"{}\"\nUserLog = \"log\"\n{lines}", JOB.replace("ana", "nobody"), home.display())
    };
    // The job is removed while it is routed.
    let play = |lines: &str| {
        for name in ["log", "dag"] {
            let _ = fs::remove_file(place.file("home").join(name));
        }
        let _ = fs::remove_dir_all(place.file("queue"));
        fs::create_dir(place.file("queue")).unwrap();
        fs::set_permissions(place.file("queue"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place.file("queue/1.0.ad"), job(lines)).unwrap();
        place.run("queue", &["--once"]);
        let edit = |name: &str, from: &str, to: &str| {
            let text = place.read(name);
            assert!(text.contains(from), "{text}");
            fs::write(place.file(name), text.replace(from, to)).unwrap();
        };
        edit("queue/2.0.ad", "JobStatus = 1\n", "JobStatus = 2\n");
        place.run("queue", &["--once"]);
        edit("queue/1.0.ad", "JobStatus = 2\n", "JobStatus = 3\nRemoveReason = \"enough\"\n");
        place.run("queue", &["--once"]);
        (place.read("home/log"), place.read("home/dag"))
    };
    let (log, dag) = play("DAGManNodesLog = \"dag\"\nDAGManNodesMask = \"0, 9,16\"\nUserLogUseXML = true\n");
    assert!(
        log.contains("ExecuteEvent") && log.contains("<a n=\"MyType\"><s>JobAbortedEvent</s></a>"),
        "{log}"
    );
    assert!(dag.starts_with("009 (001.000.000) ") && dag.matches("\n...\n").count() == 1, "{dag}");
    // Without DAGManNodesMask, the log of the DAG has all events, like the other log.
    let (log, dag) = play("DAGManNodesLog = \"dag\"\nUserLogUseXML = 2\n");
    assert!(log == dag && log.contains("  \"MyType\": \"ExecuteEvent\",\n"), "{log}\n{dag}");
    let asked =
        "DAGManNodesLog = \"dag\"\nDAGManNodesMask = \"1\"\nJobAdInformationAttrs = \"Owner, Missing\"\n";
    let (log, dag) = play(asked);
    assert!(!dag.contains("028 ") && dag.starts_with("001 "), "{dag}");
    let told = log.split("...\n").nth(1).unwrap_or_default();
    assert!(told.starts_with("028 (001.000.000) "), "{log}");
    let lines: Vec<&str> = told.lines().skip(1).filter(|line| !line.starts_with("EventTime = ")).collect();
    let expected = [
        "Cluster = 1",
        "EventTypeNumber = 28",
        "ExecuteHost = \"2.0\"",
        "MyType = \"ExecuteEvent\"",
        "Owner = \"nobody\"",
        "Proc = 0",
        "Subproc = 0",
        "TriggerEventTypeName = \"ULOG_EXECUTE\"",
        "TriggerEventTypeNumber = 1",
    ];
    assert_eq!(lines, expected, "{log}");
}

#[test]
fn unfinished_files_of_a_killed_router_are_removed() {
    let place = Place::new();
    let left = [".1.0.4711", ".next_cluster.4711"];
    let kept = [".far-1.0.ad", ".1.0", ".1.0.x", ".submitting.9.0", "1.0.4711"];
    left.iter().chain(&kept).for_each(|name| fs::write(place.file("queue").join(name), "half").unwrap());
    place.run("queue", &["--once"]);
    let there = |name: &&&str| place.file("queue").join(name).exists();
    assert_eq!(left.iter().filter(there).count(), 0);
    assert_eq!(kept.iter().filter(there).count(), kept.len());
}

#[test]
fn an_ended_copy_is_finalized_although_its_update_hook_always_answers() {
    let place = sandboxed("", "");
    let hook = place.file("answer");
    fs::write(&hook, "#!/bin/sh\ncat > /dev/null\necho Progress = 5\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let hooks = format!("{CONFIG}JOB_ROUTER_HOOK_KEYWORD = K\nK_HOOK_UPDATE_JOB_INFO = {}\n", hook.display());
    fs::write(place.file("config"), hooks).unwrap();
    place.run("queue", &["--once"]);
    let copy = place.read("queue/2.0.ad");
    fs::write(place.file("queue/2.0.ad"), copy.replace("JobStatus = 1\n", "JobStatus = 4\nExitCode = 0\n"))
        .unwrap();
    for _ in 0..2 {
        place.run("queue", &["--once"]);
    }
    assert!(!place.file("queue/2.0.ad").exists(), "{}", place.read("queue/2.0.ad"));
    assert!(place.read("queue/history").contains("Progress = 5\n"));
}

#[test]
fn compressed_queue_logs_are_read_and_a_watch_survives_a_missing_log() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("job_queue.log");
    let text = "107 1 CreationTimestamp 1\n101 07.-1 Job Machine\n101 7.0 Job Machine\n\
        103 7.0 ProcId 0\n103 7.0 ClusterId 7\n103 7.0 RoutedBy \"r\"\n103 7.0 RouteName \"Here\"\n\
        103 7.0 RoutedFromJobId \"1.0\"\n103 7.0 JobStatus 2\n";
    fs::write(&log, text).unwrap();
    let status = || {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60", env!("CARGO_BIN_EXE_htc-router-status")]).current_dir(&place);
        command
    };
    let plain = status().arg("job_queue.log").output().unwrap();
    assert!(String::from_utf8_lossy(&plain.stdout).contains("Here"));
    if Command::new("gzip").arg("-k").arg(&log).status().is_ok_and(|status| status.success()) {
        let packed = status().arg("job_queue.log.gz").output().unwrap();
        assert_eq!(packed.stdout, plain.stdout);
        // A compressed file is recognized by its contents, not by its name.
        fs::write(place.path().join("broken.gz"), b"\x1f\x8b\x08 and so on").unwrap();
        assert_eq!(status().arg("broken.gz").output().unwrap().status.code(), Some(3));
    }
    let shown = place.path().join("shown");
    let told = place.path().join("told");
    let mut watch = status()
        .args(["--watch", "0.1", "job_queue.log"])
        .stdout(fs::File::create(&shown).unwrap())
        .stderr(fs::File::create(&told).unwrap())
        .spawn()
        .unwrap();
    let count = || fs::read_to_string(&shown).unwrap_or_default().matches("Here").count();
    assert!(waits_for(|| count() > 0));
    fs::remove_file(&log).unwrap();
    assert!(waits_for(|| fs::read_to_string(&told).unwrap_or_default().contains("cannot read")));
    let before = count();
    fs::write(&log, text).unwrap();
    let again = waits_for(|| count() > before);
    kill(Pid::from_raw(watch.id() as i32), Signal::SIGTERM).unwrap();
    watch.wait().unwrap();
    assert!(again, "{}", fs::read_to_string(&told).unwrap());
}

#[test]
fn a_run_that_ends_by_itself_reports_unrouted_jobs_in_its_status() {
    let run = |place: &Place, words: &[&str]| {
        let output = place.command("queue", words).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for until in ["--once", "--idle-exit=0"] {
        // The hook cannot be executed.
        let place = Place::new();
        let hooks = "JOB_ROUTER_HOOK_KEYWORD = K\nK_HOOK_TRANSLATE_JOB = /no/such/hook\n";
        fs::write(place.file("config"), CONFIG.to_owned() + hooks).unwrap();
        let (status, message) = run(&place, &[until, "--quiet", "--period", "1"]);
        assert_eq!(status, Some(1), "{until}: {message}");
        assert!(message.contains("warning: 1.0: not routed: TRANSLATE_JOB: "), "{until}: {message}");
        // The route lends a proxy without naming it.
        let place = Place::new();
        fs::write(
            place.file("config"),
            CONFIG.replace("@=r\n  UNI", "@=r\n  UseSharedX509UserProxy = true\n  UNI"),
        )
        .unwrap();
        let (status, message) = run(&place, &[until, "-q", "--period", "1"]);
        assert_eq!(status, Some(1), "{until}: {message}");
        assert!(message.contains("SharedX509UserProxy is invalid"), "{until}: {message}");
    }
    // A successful routing is not a failure, even if an earlier attempt failed.
    let place = Place::new();
    let (status, message) = run(&place, &["--once", "-q"]);
    assert_eq!((status, message.as_str()), (Some(0), ""));
}

#[test]
fn daemon_shutdown_ends_a_router_with_the_no_restart_status() {
    let place = Place::new();
    let condition =
        "JOB_ROUTER.DAEMON_SHUTDOWN = MyType == \"Job_Router\" && MyCurrentTime >= DaemonStartTime\n";
    fs::write(place.file("config"), CONFIG.to_owned() + condition).unwrap();
    let (status, output) = place.run("queue", &["--period", "1"]);
    assert_eq!(status, 99, "{output}");
    assert!(output.contains("DAEMON_SHUTDOWN is true: the router stops"), "{output}");
    // The condition of another daemon does not end a router.
    fs::write(place.file("config"), CONFIG.to_owned() + "STARTD.DAEMON_SHUTDOWN = true\n").unwrap();
    assert_eq!(place.run("queue", &["--once"]).0, 0);
}

#[test]
fn file_names_among_the_columns_of_af_are_reported() {
    let place = Place::new();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-router-status"))
        .args(["--config-file", "config", "--af", "ClusterId", "queue/1.0.ad"])
        .current_dir(place.directory.path())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("'queue/1.0.ad' is a column of -af, and a file has this name"), "{err}");
    assert!(
        err.contains("hint: files are written before -af") && !err.contains("'ClusterId' is a column"),
        "{err}"
    );
}
