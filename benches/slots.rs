//! Benchmarks of the slot runner under load: `cargo bench --bench slots`.
//!
//! The rows are: jobs of `/bin/true` with four hooks each on 200 slots, compared with the same five programs
//! per job run by `xargs -P 200`; the cost of 200 idle slots; and the time until the status of 2,000 slots is
//! available. `HTC_BENCH_JOBS` sets the number of jobs [default: 2,000], and `HTC_BENCH_BIN` names a
//! directory with other programs. The figures are processor times, which do not include other processes on
//! the machine.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

const SLOTS: usize = 200;

fn program(name: &str) -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).parent().unwrap();
    std::env::var_os("HTC_BENCH_BIN").map_or(built.to_owned(), PathBuf::from).join(name)
}

/// An execution point with a queue of files.
struct Point {
    home: tempfile::TempDir,
}

impl Point {
    fn new(slots: usize, jobs: usize, delay: u32) -> Self {
        let point = Point { home: tempfile::tempdir().unwrap() };
        let home = point.home.path().display().to_string();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["hooks", "execute", "log", "queue", "taken"] {
            fs::create_dir(point.path(directory)).unwrap();
        }
        for directory in ["queue", "taken"] {
            fs::set_permissions(point.path(directory), fs::Permissions::from_mode(0o777)).unwrap();
        }
        point.script(
            "fetch",
            &format!(
                "for file in {home}/queue/*; do\n  [ -e \"$file\" ] || continue\n  mv \"$file\" {home}/taken/ 2>/dev/null || continue\n  \
                 exec cat {home}/taken/${{file##*/}}\ndone"
            ),
        );
        for hook in ["reply", "prepare", "exit"] {
            point.script(hook, "exec cat > /dev/null");
        }
        for job in 1..=jobs {
            let ad = format!(
                "ClusterId = {job}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nJobUniverse = 5\nIwd = \"/\"\n"
            );
            fs::write(point.path("queue").join(job.to_string()), ad).unwrap();
        }
        let starter = program("htc-starter-run");
        let config = format!(
            "NUM_CPUS = {slots}\nMEMORY = {}\nNUM_SLOTS_TYPE_1 = {slots}\nSLOT_TYPE_1 = cpus=1\nEXECUTE = {home}/execute\n\
             LOG = {home}/log\nSTARTER = {}\nSTARTD_JOB_HOOK_KEYWORD = T\nSTARTER_JOB_HOOK_KEYWORD = T\n\
             T_HOOK_FETCH_WORK = {home}/hooks/fetch\nT_HOOK_REPLY_FETCH = {home}/hooks/reply\n\
             T_HOOK_PREPARE_JOB = {home}/hooks/prepare\nT_HOOK_JOB_EXIT = {home}/hooks/exit\nFetchWorkDelay = {delay}\n",
            slots * 128,
            starter.display()
        );
        fs::write(point.path("config"), config).unwrap();
        point
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path("hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program("htc-slot-run"));
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("CONDOR_IDS", "65534.65534")
            .args(words)
            .arg("--config-file")
            .arg(self.path("config"))
            .stdin(Stdio::null());
        command
    }

    fn start(&self, words: &[&str]) -> Child {
        self.command(words).arg("--quiet").stdout(Stdio::null()).spawn().unwrap()
    }
}

/// Returns the processor time of all children that have ended, in seconds.
fn used() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Returns the processor time of a running child in seconds, without its children.
fn used_by(child: &Child) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let fields: Vec<f64> =
        text.rsplit(") ").next().unwrap().split(' ').filter_map(|it| it.parse().ok()).collect();
    fields.get(10..12).map_or(0.0, |ticks| ticks.iter().sum::<f64>() / 100.0)
}

fn resident_mib(child: &Child) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<f64>().unwrap() / 1024.0
}

/// Waits for the end of a child, and returns its own processor time.
fn wait(child: &mut Child) -> f64 {
    let mut own = 0.0;
    while child.try_wait().unwrap().is_none() {
        own = used_by(child).max(own);
        std::thread::sleep(Duration::from_millis(20));
    }
    own
}

fn jobs() {
    let jobs: usize = std::env::var("HTC_BENCH_JOBS").map_or(2000, |jobs| jobs.parse().unwrap());
    let point = Point::new(SLOTS, jobs, 0);
    let (before, begun) = (used(), Instant::now());
    let own = wait(&mut point.start(&["--once"]));
    let (ours, elapsed) = (used() - before, begun.elapsed().as_secs_f64());
    // Runs the same hooks, which fetch from the same queue.
    for entry in fs::read_dir(point.path("taken")).unwrap().flatten() {
        fs::rename(entry.path(), point.path("queue").join(entry.file_name())).unwrap();
    }
    let hooks = point.path("hooks").display().to_string();
    point.script(
        "five",
        &format!(
            "ad=$({hooks}/fetch)\nfor hook in reply prepare; do echo \"$ad\" | {hooks}/$hook; done\n/bin/true\n\
             echo \"$ad\" | {hooks}/exit"
        ),
    );
    let (before, begun) = (used(), Instant::now());
    let script = format!("seq {jobs} | xargs -P {SLOTS} -n 1 {hooks}/five");
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    let (theirs, by_xargs) = (used() - before, begun.elapsed().as_secs_f64());
    println!(
        "{jobs} jobs on {SLOTS} slots: {ours:.2} s of processor time ({own:.2} s the runner's own), {elapsed:.1} s"
    );
    println!("the same five processes by xargs: {theirs:.2} s, {by_xargs:.1} s: {:.2} times", ours / theirs);
}

fn idle() {
    let point = Point::new(SLOTS, 0, 300);
    let mut child = point.start(&[]);
    let seconds = 20.0;
    std::thread::sleep(Duration::from_secs(10));
    let before = used_by(&child);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let share = (used_by(&child) - before) / seconds * 100.0;
    println!("{SLOTS} idle slots: {share:.2} % of a core, {:.1} MiB", resident_mib(&child));
    assert!(point.command(&["off"]).status().unwrap().success());
    child.wait().unwrap();
}

fn many() {
    let point = Point::new(2000, 0, 300);
    let begun = Instant::now();
    let mut child = point.start(&[]);
    let lines = loop {
        let output = point.command(&["status"]).output().unwrap();
        if output.status.success() {
            break output.stdout.split(|byte| *byte == b'\n').count() - 2;
        }
    };
    let (elapsed, own) = (begun.elapsed().as_secs_f64(), used_by(&child));
    println!(
        "{lines} slots are listed {elapsed:.1} s after the start, of which {own:.2} s are processor time"
    );
    assert!(point.command(&["off", "--fast"]).status().unwrap().success());
    child.wait().unwrap();
}

fn main() {
    jobs();
    idle();
    many();
}
