//! Tests that kill runners and starters at random times and check the contract of queues: each job is done exactly once, unless
//! it was returned by a call whose end was not seen. Each run of the tests has 25 trials; for more, use `KILL_TRIALS=1000 cargo
//! test --test it slot::killed`.

#![allow(clippy::print_stdout, reason = "how many were killed, and what became of the jobs")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::starter::left::{groups, remove_base};
use crate::support::point::{Point, Run, is};

/// Number of slots.
const SLOTS: usize = 2;

/// Returns the parent of the control groups of this test's jobs.
fn base() -> String {
    format!("htc-hooks-killed-{}", std::process::id())
}

/// Creates a queue of jobs: they wait in `queue`, are in `taken` after they were fetched, and end in `done`, with a new name for
/// each end.
fn queue(jobs: usize) -> Point {
    let point = Point::new();
    let home = point.path("");
    let home = home.display();
    std::fs::create_dir(point.path("done")).unwrap();
    std::fs::set_permissions(point.path("done"), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(point.path("execute"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let id = "id=$(sed -n 's/^ClusterId = //p' | head -n 1)\n";
    let back = format!("mv {home}/taken/$id {home}/queue/$id 2>/dev/null\nexit 0\n");
    let fetch = format!(
        "#!/bin/sh\nfor file in {home}/queue/*; do\n  [ -e \"$file\" ] || exit 0\n  mv \"$file\" {home}/taken/ 2>/dev/null || \
         continue\n  exec cat {home}/taken/${{file##*/}}\ndone\n"
    );
    let exit = format!(
        "#!/bin/sh\n{id}if [ \"$1\" = exit ]; then\n  mv {home}/taken/$id {home}/done/$id.$$\n  exit \
         0\nfi\n{back}"
    );
    let mut point = point
        .hook("fetch", &fetch)
        .hook("evict", &format!("#!/bin/sh\n{id}{back}"))
        .hook("exit", &exit)
        .hook("reply", &format!("#!/bin/sh\n{id}[ \"$1\" = reject ] || exit 0\n{back}"))
        .parameter(&format!("STARTER = {}", env!("CARGO_BIN_EXE_htc-starter-run")))
        .parameter("NUM_CPUS = 4")
        .parameter("NUM_SLOTS_TYPE_1 = 2")
        .parameter("SLOT_TYPE_1 = 50%")
        .parameter("T_HOOK_JOB_EXIT = $(CONFIG_ROOT)/hooks/exit")
        .parameter("STARTER_JOB_HOOK_KEYWORD = T")
        .parameter("MAX_CLAIM_ALIVES_MISSED = 6")
        .parameter(&format!("BASE_CGROUP = {}", base()));
    for number in 1..=jobs {
        let length = if number.is_multiple_of(7) { 0.4 } else { 0.05 };
        let ad = format!(
            "ClusterId = {number}\nProcId = 0\nCmd = \"/bin/sleep\"\nArguments = \"{length}\"\nOwner = \"nobody\"\nJobUniverse = 5\n\
             Iwd = \"/\"\nRequestCpus = 1\nHookKeyword = \"T\"\n"
        );
        point = point.job(&number.to_string(), &ad);
    }
    point
}

/// Returns the starters that are children of a process.
fn starters(runner: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{runner}/task/{runner}/children")).unwrap_or_default();
    let is_starter = |pid: &u32| {
        let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        name.ends_with("htc-starter-run")
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_starter).collect()
}

fn kill(pid: u32) {
    Command::new("kill").args(["-9", &pid.to_string()]).output().unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Killed processes, and the reports about them.
#[derive(Default)]
struct Toll {
    runners: usize,
    starters: usize,
    /// Number of FETCH_WORK calls whose end was not seen: only the queue knows which jobs they returned.
    fetches: usize,
    /// Jobs of calls that return a job to the queue and whose end was not seen.
    named: BTreeSet<String>,
    reports: String,
}

impl Toll {
    /// Kills the runner, its starters, or both, at a time derived from `random`. If only its starters are killed, the runner may
    /// notice.
    fn kill(&mut self, point: &Point, child: &mut Child, random: u64) {
        if random.is_multiple_of(2) {
            point.wait_for(child, &[("event", "start")]);
        }
        std::thread::sleep(Duration::from_millis(random % 700));
        let starters = starters(child.id());
        if !random.is_multiple_of(3) {
            child.kill().unwrap();
            self.runners += 1;
        }
        if random % 3 != 1 {
            self.starters += starters.len();
            starters.into_iter().for_each(kill);
        }
        if random.is_multiple_of(3) {
            std::thread::sleep(Duration::from_millis(random / 700 % 200));
            self.runners += 1;
            child.kill().unwrap();
        }
    }

    /// Records what a run reports about the run that was killed before it.
    fn record_reports(&mut self, run: &Run) {
        for event in run.events.iter().filter(|event| is(event, &[("verdict", "unknown")])) {
            let reason = event["reason"].as_str().unwrap();
            self.fetches += usize::from(reason.contains(" called FETCH_WORK"));
            if reason.contains(" called REPLY_FETCH reject") || reason.contains(" called EVICT_CLAIM") {
                self.named.insert(event["job"].as_str().unwrap().trim_end_matches(".0").to_owned());
            }
        }
        self.reports += &run.stderr;
    }
}

/// Returns the processes that have this execution point's directory in their environment.
fn processes(point: &Point) -> Vec<String> {
    let home = point.path("").display().to_string();
    let home = home.trim_end_matches('/').as_bytes();
    let mut found = names(Path::new("/proc"));
    found.retain(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(home.len()).any(|part| part == home)
    });
    found
}

#[test]
fn after_any_kill_each_job_runs_once_or_was_lost_by_a_reported_call() {
    let trials: u64 = std::env::var("KILL_TRIALS").map_or(25, |trials| trials.parse().unwrap());
    let jobs = usize::try_from(trials).unwrap() * 2;
    let point = queue(jobs);
    let mut toll = Toll::default();
    // Any sequence of numbers that differs from trial to trial is suitable.
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..trials {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = point.start();
        toll.kill(&point, &mut child, random);
        toll.record_reports(&point.end(child));
    }
    let run = point.run();
    toll.record_reports(&run);
    let reports = &toll.reports;
    assert_eq!(run.status, Some(0), "{reports}");
    let done = names(&point.path("done"));
    let (lost, left) = (names(&point.path("taken")), names(&point.path("queue")));
    println!(
        "{trials} kills: {} of the runner, {} starters; {jobs} jobs, {} done; handed out by a call whose end nobody saw: {lost:?}; \
         such calls: {} of FETCH_WORK, and those that give back {:?}",
        toll.runners,
        toll.starters,
        done.len(),
        toll.fetches,
        toll.named
    );
    assert_eq!(left, Vec::<String>::new(), "{reports}");
    let by_fetch = lost.iter().filter(|id| !toll.named.contains(*id)).count();
    assert!(by_fetch <= toll.fetches, "{lost:?}, {} unseen: {reports}", toll.fetches);
    assert!(lost.len() <= SLOTS * toll.runners, "{lost:?}: {reports}");
    for number in 1..=jobs {
        let times =
            done.iter().filter(|name| name.split_once('.').is_some_and(|(id, _)| id == number.to_string()));
        let expected = usize::from(!lost.contains(&number.to_string()));
        assert_eq!(times.count(), expected, "job {number}: {reports}");
    }
    assert_eq!(names(&point.path("execute")), Vec::<String>::new(), "{reports}");
    assert_eq!(processes(&point), Vec::<String>::new(), "{reports}");
    assert_eq!(groups(&base()), Vec::<PathBuf>::new(), "{reports}");
    let kept = names(&point.path("log/htc-slot-run"));
    let expected = |name: &String| name.starts_with("journal") || name.starts_with("unknown.");
    assert!(kept.iter().all(expected), "{kept:?}");
    remove_base(&base());
}

/// One or two of 1,000 kills come between writing a file and its record, or while a file is written.
#[test]
fn files_that_a_killed_run_was_writing_are_removed() {
    let point = Point::new();
    assert_eq!(point.run().status, Some(0));
    let state = point.path("log/htc-slot-run");
    for name in [".replaceAbCdEf", "job.1795429210.3.ad", "unknown.job.1.2.ad"] {
        std::fs::write(state.join(name), "ClusterId = 1\n").unwrap();
    }
    assert_eq!(point.run().status, Some(0));
    assert_eq!(names(&state), ["journal", "journal.lock", "unknown.job.1.2.ad"]);
}

#[test]
fn all_jobs_of_a_partitionable_slot_are_returned_after_a_kill() {
    let mut point = Point::new()
        .parameter("SLOT_TYPE_1_PARTITIONABLE = True")
        // A dynamic slot would fetch the second job and refuse it.
        .hook(
            "fetch",
            "#!/bin/sh\ncase $(cat) in *'DynamicSlot = true'*) exit 0;; esac\nfor file in \"$HOME\"/queue/*; do\n  \
             [ -e \"$file\" ] || exit 0\n  mv \"$file\" \"$HOME/taken/\"\n  exec cat \"$HOME/taken/${file##*/}\"\ndone\n",
        )
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .arguments([]);
    for id in ["1", "2"] {
        let ad = format!(
            "ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nRequestCpus = 1\nRequestMemory = 1\n\
             RequestDisk = 1\n"
        );
        point = point.job(id, &ad);
    }
    let mut child = point.start();
    for slot in ["slot1_1", "slot1_2"] {
        point.wait_for(&mut child, &[("event", "state"), ("slot", slot), ("activity", "Busy")]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let point = point.arguments(["--once"]);
    let run = point.run();
    for id in ["1", "2"] {
        let ad = format!("ClusterId = {id}\n");
        let evicted = point.recorded_files("evict");
        assert_eq!(evicted.iter().filter(|text| text.contains(&ad)).count(), 1, "{id}: {}", run.stderr);
    }
}

/// 25.14 does not report the job: the claim runs its next job, and the previous one is forgotten.
#[test]
fn a_job_of_a_killed_starter_is_returned_before_the_next_job_runs() {
    let job = |id: &str| format!("ClusterId = {id}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n");
    let starter = "#!/bin/sh\ncat > \"$HOME/job\"\ngrep -q 'ClusterId = 1$' \"$HOME/job\" && kill -9 $$\ncat \"$HOME/job\"\n\
                   echo 'ExitBySignal = false'\necho 'ExitCode = 0'\n";
    let point = Point::new().job("1", &job("1")).job("2", &job("2")).hook("starter", starter);
    let run = point.run();
    let evicted = point.recorded_files("evict");
    assert_eq!(evicted.iter().filter(|text| text.contains("ClusterId = 1\n")).count(), 1, "{}", run.stderr);
    assert_eq!(run.count(&[("event", "job"), ("job", "2.0"), ("verdict", "succeeded")]), 1, "{}", run.stderr);
}

#[test]
fn a_second_runner_on_a_directory_names_the_first() {
    let point = Point::new().parameter("FetchWorkDelay = 300").arguments([]);
    let mut first = point.start();
    point.wait_for(&mut first, &[("event", "verdict"), ("verdict", "no work")]);
    let mut command = point.command();
    let second = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains(&format!("is in use by process {}", first.id())), "{stderr}");
    assert!(stderr.contains("another execution point is running with this LOG"), "{stderr}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn an_unfinished_reply_is_not_repeated_and_its_job_is_returned_once() {
    let job = "ClusterId = 3\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let point = Point::new()
        .job("3", job)
        .hook("reply", "#!/bin/sh\ncat > /dev/null\necho \"$@\" >> \"$HOME/out/replies\"\nexec sleep 1000\n")
        .hook("starter", "#!/bin/sh\ncat > /dev/null\nexec sleep 1000\n")
        .arguments([]);
    let mut child = point.start();
    point.wait_for(&mut child, &[("event", "state"), ("activity", "Busy")]);
    crate::support::waiting::wait_until("the reply comes", || point.path("out/replies").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let point = point.arguments(["--once"]);
    let run = point.run();
    let unknown: Vec<_> = run.events.iter().filter(|event| event["verdict"] == "unknown").collect();
    assert_eq!(unknown.len(), 1, "{}", run.stderr);
    let reason = unknown[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("an earlier run called REPLY_FETCH accept and was killed"), "{reason}");
    assert_eq!(unknown[0]["job"], "3.0");
    let ad = reason.rsplit('\'').nth(1).unwrap();
    let ad = std::fs::read_to_string(ad).unwrap();
    assert!(ad.contains("ClusterId = 3\n") && !ad.contains("ClaimId"), "{ad}");
    assert_eq!(std::fs::read_to_string(point.path("out/replies")).unwrap(), "accept\n");
    let evicted = point.recorded_files("evict");
    assert_eq!(evicted.iter().filter(|text| text.contains("ClusterId = 3\n")).count(), 1, "{evicted:?}");
    assert!(!std::fs::read_to_string(point.path("log/htc-slot-run/journal")).unwrap().contains("ClaimId"));
}

/// A job that runs as the same ordinary user can stop its starter.
#[test]
fn a_starter_that_was_stopped_is_continued_and_its_job_ends() {
    let point = queue(7);
    let mut child = point.start();
    let begun = std::time::Instant::now();
    while starters(child.id()).is_empty() {
        assert!(begun.elapsed() < crate::support::children::LONG && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    for pid in starters(child.id()) {
        Command::new("kill").args(["-STOP", &pid.to_string()]).output().unwrap();
    }
    let run = point.end(child);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("its starter was stopped by a signal"), "{}", run.stderr);
    remove_base(&base());
}
