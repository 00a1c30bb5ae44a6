//! Workload: a job router over a directory. The copy of job 1.0 has ended and is finalized; job 8.0 is routed.

use std::fs;
use std::path::Path;

use crate::strace::{self, CommandLine, FaultedRun};
use crate::workload::{
    Workload, account, is_asked_to_end, judge_leftovers, judge_program, make_directories, names, write_script,
};

/// Router with four hooks.
pub(crate) struct Router;

const ENDED: &str = "JobStatus = 1\nJobUniverse = 5\nWantRoute = true\nManaged = \"External\"\n\
    ManagedManager = \"jobrouter\"\nRoutedToJobId = \"2.0\"\nRouteName = \"R\"\n";
const COPY: &str = "JobStatus = 4\nExitCode = 0\nExitBySignal = false\nJobUniverse = 5\nLeaveJobInQueue = JobStatus == 4\n\
    RouteName = \"R\"\nRoutedBy = \"jobrouter\"\nRoutedFromJobId = \"1.0\"\nWantRoute = true\n";
const NEW: &str = "JobStatus = 1\nJobUniverse = 5\nWantRoute = true\n";

impl Workload for Router {
    fn name(&self) -> &'static str {
        "router"
    }

    fn prepare(&self, home: &Path) {
        make_directories(home, &["hooks", "queue"], &["tmp"]);
        let mut config = "JOB_ROUTER_NAME = jobrouter\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\n\
            JOB_ROUTER_HOOK_KEYWORD = K\nJOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n@r\n"
            .to_owned();
        for (name, text) in [
            ("TRANSLATE_JOB", "sed -n '/^------$/,$p' | grep ' = '\n"),
            ("UPDATE_JOB_INFO", "cat >/dev/null\n"),
            ("JOB_FINALIZE", "cat >/dev/null\n"),
            ("JOB_CLEANUP", "cat >/dev/null\n"),
        ] {
            let path = home.join("hooks").join(name);
            write_script(&path, text);
            config += &format!("K_HOOK_{name} = {}\n", path.display());
        }
        fs::write(home.join("config"), config).unwrap();
        let owner = format!("Owner = \"{}\"\n", account());
        for (job, ad) in [("1.0", ENDED), ("2.0", COPY), ("8.0", NEW)] {
            fs::write(home.join(format!("queue/{job}.ad")), owner.clone() + ad).unwrap();
        }
        fs::write(home.join("queue/.next_cluster"), "9\n").unwrap();
    }

    fn command(&self, home: &Path, quiet: bool) -> CommandLine {
        let words = ["run", "--no-env", "--once", "--config-file", "config", "--queue", "queue", "--events"];
        let events = if home.join("events").exists() { "events.next" } else { "events" };
        let line = CommandLine::new(env!("CARGO_BIN_EXE_htc-router-translate"), words, home).word(events);
        if quiet { line.word("--quiet") } else { line }
    }

    fn judge(&self, home: &Path, run: &FaultedRun, quiet: bool) -> Vec<String> {
        let mut violations = judge_program(run, !run.stderr.is_empty());
        let routed = |home: &Path| copies(home).iter().filter(|source| *source == "8.0").count();
        if run.code() == 0 && !is_asked_to_end(run) && routed(home) == 0 && !run.stderr.contains("8.0") {
            violations.push("status 0 although job 8.0 was not routed".to_owned());
        }
        let mut last = strace::run(&self.command(home, quiet), home);
        // The next start may only find what the first has left, and act at the following poll.
        for _ in 0..2 {
            if ended(home, "1.0") == 0 || routed(home) == 0 {
                last = strace::run(&self.command(home, quiet), home);
            }
        }
        violations.extend(
            judge_program(&last, true).into_iter().map(|violation| format!("next start: {violation}")),
        );
        if last.code() != 0 {
            violations.push(format!("next start: status {}: {}", last.code(), last.stderr));
        }
        if routed(home) != 1 {
            violations.push(format!("job 8.0 has {} copies", routed(home)));
        }
        for job in ["1.0", "2.0"] {
            let waits = home.join(format!("queue/{job}.ad")).exists();
            let ended = ended(home, job);
            if ended != 1 || waits {
                violations
                    .push(format!("job {job} is in the history {ended} times, and in the queue: {waits}"));
            }
        }
        let is_known = |name: &String| {
            name.ends_with(".0.ad") || [".lock", ".next_cluster", "history"].contains(&name.as_str())
        };
        let unknown: Vec<String> =
            names(&home.join("queue")).into_iter().filter(|name| !is_known(name)).collect();
        if !unknown.is_empty() {
            violations.push(format!("left in the queue: {unknown:?}"));
        }
        violations.extend(judge_leftovers(home, &["tmp"]));
        violations
    }
}

/// Returns the sources of the copies in the queue.
fn copies(home: &Path) -> Vec<String> {
    let texts = names(&home.join("queue")).into_iter().filter(|name| name.ends_with(".ad"));
    let texts = texts.map(|name| fs::read_to_string(home.join("queue").join(name)).unwrap_or_default());
    let source = |text: String| {
        let line =
            text.lines().find_map(|line| line.strip_prefix("RoutedFromJobId = \""))?.trim_end_matches('"');
        Some(line.to_owned())
    };
    texts.filter_map(source).collect()
}

/// Returns the number of times that a job is in the history.
fn ended(home: &Path, job: &str) -> usize {
    let history = fs::read_to_string(home.join("queue/history")).unwrap_or_default();
    let (cluster, proc) = job.split_once('.').unwrap();
    let banner = format!(" ClusterId = {cluster} ProcId = {proc} ");
    history.lines().filter(|line| line.starts_with("*** ") && line.contains(&banner)).count()
}
