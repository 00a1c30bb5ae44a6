//! Table of the programs' speed: streams of ads relative to `grep -c '^Owner = "a'` on the same file, starts
//! relative to `/bin/true`, and memory in MB, each next to its goal.
//!
//! `cargo bench --bench speed`; `HTC_BENCH_ADS` sets the number of ads, `HTC_BENCH_ONLY` selects rows by a
//! part of their name, and `HTC_BENCH_DIR` names a directory in which the data are kept.
//!
//! Programs that are compared run in turn, and the figures are medians of the ratios of each turn: of
//! processor time, which other processes on the machine affect little, or of elapsed time where numbers of
//! cores are compared.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

mod ads;
mod logs;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;

const CONSTRAINT: &str = "JobStatus == 1 && RequestCpus >= 2 && regexp(\"^a\", Owner)";

const RULES: &str = "\
NAME bench
REQUIREMENTS JobUniverse == 5
limit = 2048
SET Requirements (OpSys == \"LINUX\") && (Arch == \"X86_64\")
EVALSET RequestMemory ifThenElse(RequestMemory > $(limit), RequestMemory, $(limit))
DEFAULT MaxWallTime 3600
EVALMACRO cpus RequestCpus * 2
SET DoubleCpus $(cpus)
COPY Owner OriginalOwner
RENAME Rank OldRank
DELETE NiceUser
COPY /^Request(.+)$/ Original\\1
if defined MY.AccountingGroup
  SET Group \"$(MY.AccountingGroup)\"
endif
EVALSET Label strcat(Owner, \"-\", ClusterId)
";

const PROGRAMS: [(&str, &str); 7] = [
    ("classad-eval", env!("CARGO_BIN_EXE_htc-classad-eval")),
    ("config-dump", env!("CARGO_BIN_EXE_htc-config-dump")),
    ("hook-test", env!("CARGO_BIN_EXE_htc-hook-test")),
    ("router-status", env!("CARGO_BIN_EXE_htc-router-status")),
    ("router-translate", env!("CARGO_BIN_EXE_htc-router-translate")),
    ("slot-run", env!("CARGO_BIN_EXE_htc-slot-run")),
    ("starter-run", env!("CARGO_BIN_EXE_htc-starter-run")),
];

fn main() {
    if let Some(words) = std::env::var_os("HTC_BENCH_PEAK").map(|_| std::env::args_os().skip(1)) {
        return peak(&words.collect::<Vec<_>>());
    }
    // `cargo test` runs benchmarks too; then a few ads are enough to check that they work.
    let testing = !std::env::args().any(|word| word == "--bench");
    let wanted = std::env::var("HTC_BENCH_ADS").ok().and_then(|text| text.parse().ok());
    let count: u32 = wanted.unwrap_or(if testing { 100 } else { 100_000 });
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("HTC_BENCH_DIR").map(PathBuf::from);
    let place = kept.as_deref().unwrap_or(temporary.path());
    let only = std::env::var("HTC_BENCH_ONLY").unwrap_or_default();
    if !testing {
        build_as_installed();
    }
    let table = Table { place, only, rounds: if testing { 1 } else { 7 } };
    table.prepare(count);
    println!("{:<66} {:>10} {:>10} {:>9} {:>6}", "work", "ours", "theirs", "measured", "goal");
    table.streams();
    table.logs();
    table.tool_forms();
    table.bounded();
    table.starts();
}

/// Builds the programs as users get them, replacing those that were built with this benchmark: dependencies
/// of tests and benchmarks enable features that enlarge tables (for example Unicode in patterns), which slows
/// each start.
fn build_as_installed() {
    let words = ["build", "--release", "--locked", "--quiet", "--bins"];
    let built = Command::new(env!("CARGO")).args(words).current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(built.is_ok_and(|status| status.success()), "the programs cannot be built");
}

/// A command line, and true if it runs on one core.
struct Job<'a> {
    program: &'a Path,
    words: &'a [&'a str],
    one_core: bool,
}

/// Returns a command line that runs on one core.
fn alone<'a>(program: &'a Path, words: &'a [&'a str]) -> Job<'a> {
    Job { program, words, one_core: true }
}

/// Times of a run.
#[derive(Clone, Copy)]
struct Took {
    processor: Duration,
    elapsed: Duration,
}

struct Table<'a> {
    place: &'a Path,
    only: String,
    rounds: usize,
}

impl Table<'_> {
    fn prepare(&self, count: u32) {
        for (name, kind) in [("alike", ads::Kind::Alike), ("various", ads::Kind::Various)] {
            let bytes = ads::write(&self.place.join(name), kind, count).unwrap();
            println!("{name}: {count} ads, {} MB", bytes / 1_000_000);
        }
        logs::write(self.place, count).unwrap();
        fs::write(self.place.join("rules"), RULES).unwrap();
        fs::write(self.place.join("condor_config"), "RELEASE_DIR = /usr\nLOCAL_DIR = .\nLOG = .\n").unwrap();
        for (name, target) in [("condor_q", PROGRAMS[0].1), ("condor_transform_ads", PROGRAMS[4].1)] {
            let _ = fs::remove_file(self.place.join(name));
            symlink(target, self.place.join(name)).unwrap();
        }
    }

    fn streams(&self) {
        let eval = Path::new(PROGRAMS[0].1);
        let (queue, transform) = (self.place.join("condor_q"), self.place.join("condor_transform_ads"));
        for data in ["alike", "various"] {
            let filter = ["-ads", data, "-constraint", CONSTRAINT, "-af", "ClusterId", "Owner"];
            let q = ["-jobads", data, "-constraint", CONSTRAINT, "-af", "ClusterId", "Owner"];
            let jsonl = ["-ads", data, "-jsonl"];
            let rules = ["-rules", "rules", data];
            let grep =
                Job { program: Path::new("grep"), words: &["-c", "^Owner = \"a", data], one_core: true };
            let goal = if data == "alike" { 2.0 } else { 3.0 };
            self.row(&format!("{data}: filter"), goal, &alone(eval, &filter), &grep);
            self.cores(&format!("{data}: filter"), eval, &filter);
            let strict =
                ["-ads", data, "--strict-input", "-constraint", CONSTRAINT, "-af", "ClusterId", "Owner"];
            self.cores(&format!("{data}: filter, --strict-input"), eval, &strict);
            self.row(&format!("{data}: filter as condor_q"), 3.0, &alone(&queue, &q), &grep);
            self.row(&format!("{data}: -jsonl"), 7.0, &alone(eval, &jsonl), &grep);
            self.row(&format!("{data}: transform"), f64::NAN, &alone(&transform, &rules), &grep);
            self.cores(&format!("{data}: transform"), &transform, &rules);
            for (name, program, words) in
                [("filter", eval, &filter[..]), ("-jsonl", eval, &jsonl), ("transform", &transform, &rules)]
            {
                self.memory(&format!("{data}: {name}"), program, words);
            }
            for (name, goal, words, ours) in [
                ("condor_q", f64::NAN, &q[..], &queue),
                ("condor_transform_ads", 1.0 / 12.0, &rules[..], &transform),
            ] {
                if let Some(theirs) = on_path(name) {
                    let name = format!("{data}: {name}, by the reference's");
                    self.row(&name, goal, &alone(ours, words), &alone(&theirs, words));
                }
            }
        }
    }

    /// Measures histories, queue logs and event logs.
    fn logs(&self) {
        let [eval, status, starter] = [0, 3, 6].map(|at: usize| Path::new(PROGRAMS[at].1));
        for (name, goal, program, file, words) in [
            ("history", 3.0, status, "history", &["history", "--limit", "100", "--af=ClusterId"][..]),
            ("history, all of it", 3.0, eval, "history", &["--count"]),
            ("queue log", 15.0, status, "job_queue.log", &["queue", "--af=ClusterId"]),
            ("event log", 15.0, starter, "events.log", &["--events-of"]),
        ] {
            let file_words: &[&str] = if program == eval { &["--ads", file] } else { &[file] };
            let words = [words, file_words].concat();
            let grep = ["-c", "^Owner = \"a", file];
            self.row(name, goal, &alone(program, &words), &alone(Path::new("grep"), &grep));
            self.memory_below(name, 50.0, program, &words);
        }
    }

    /// Measures the output formats of `condor_q`.
    fn tool_forms(&self) {
        let queue = self.place.join("condor_q");
        let grep = ["-c", "^Owner = \"a", "alike"];
        for form in [
            &["-long"][..],
            &["-json"],
            &["-xml"],
            &["-af", "ClusterId", "Owner", "JobStatus", "RequestCpus"],
        ] {
            let words = [&["-jobads", "alike"], form].concat();
            let name = format!("condor_q {}", form[0]);
            self.row(&name, f64::NAN, &alone(&queue, &words), &alone(Path::new("grep"), &grep));
            self.memory_below(&name, 50.0, &queue, &words);
            if let Some(theirs) = on_path("condor_q") {
                let name = format!("{name}, by the reference's");
                self.row(&name, 0.1, &alone(&queue, &words), &alone(&theirs, &words));
            }
        }
    }

    /// Measures inputs that are not ads, or one endless ad: the memory must not depend on their size.
    fn bounded(&self) {
        let [eval, status] = [0, 3].map(|at: usize| Path::new(PROGRAMS[at].1));
        for (name, program, words) in [
            ("bad lines", eval, &["--ads", "bad-lines", "--count"][..]),
            ("history without banners", status, &["history", "bare-history"]),
            ("a gigabyte of NULs", eval, &["--ads", "nuls", "--count"]),
            ("/dev/zero", eval, &["--ads", "/dev/zero", "--count"]),
        ] {
            self.memory_below(name, 200.0, program, words);
        }
    }

    fn starts(&self) {
        let none = Job { program: Path::new("/bin/true"), words: &[], one_core: true };
        let dump = Path::new(PROGRAMS[1].1);
        let start = |what: &str, goal, program, words| {
            let table = Table { rounds: self.rounds * 20, only: self.only.clone(), ..*self };
            table.row(&format!("start: {what}"), goal, &Job { program, words, one_core: true }, &none);
        };
        start("dump of all parameters", 2.5, dump, &["--dump"]);
        start("one value", 1.8, dump, &["LOG"]);
        if let Some(theirs) = on_path("condor_config_val") {
            let table = Table { rounds: self.rounds * 20, only: self.only.clone(), ..*self };
            for (what, words) in [("dump of all parameters", ["-dump"]), ("one value", ["LOG"])] {
                let name = format!("start: {what}, by condor_config_val of the reference");
                table.row(&name, 0.1, &alone(dump, &words), &alone(&theirs, &words));
            }
        }
        for (name, program) in &PROGRAMS {
            start(&format!("{name} --version"), 1.6, Path::new(program), &["--version"]);
        }
    }

    /// Prints a row: the time of a command relative to another one, run in turn.
    fn row(&self, name: &str, goal: f64, job: &Job<'_>, yardstick: &Job<'_>) {
        if !name.contains(&self.only) {
            return;
        }
        let runs: Vec<(Took, Took)> =
            (0..self.rounds).map(|_| (self.run(yardstick), self.run(job))).collect();
        let theirs = median(runs.iter().map(|run| run.0.processor));
        let ours = median(runs.iter().map(|run| run.1.processor));
        let times = median(runs.iter().map(|run| ratio(run.1.processor, run.0.processor)));
        tell(name, &format!("{ours:.2?}"), &format!("{theirs:.2?}"), times, goal);
    }

    /// Prints a row: the maximum memory of a command with two threads, in MB.
    fn memory(&self, name: &str, program: &Path, words: &[&str]) {
        self.memory_below(&format!("{name}, two threads"), 40.0, program, words);
    }

    /// Prints a row: the maximum memory of a command in MB.
    fn memory_below(&self, name: &str, goal: f64, program: &Path, words: &[&str]) {
        let name = format!("{name}, memory in MB");
        if !name.contains(&self.only) {
            return;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(program).args(words).env("HTC_BENCH_PEAK", "1");
        let output = self.at_its_place(&mut command).stdout(Stdio::piped()).output().unwrap();
        let kilobytes: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        tell(&name, "", "", kilobytes / 1024.0, goal);
    }

    /// Prints a row: the speed on two cores, relative to twice the speed on one core.
    fn cores(&self, name: &str, program: &Path, words: &[&str]) {
        let name = format!("{name}, two cores");
        if !name.contains(&self.only) {
            return;
        }
        let job = |one_core| Job { program, words, one_core };
        let (mut ones, mut twos) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            ones.push(self.run(&job(true)));
            let alone = fs::read(self.place.join("out")).unwrap();
            twos.push(self.run(&job(false)));
            assert_eq!(fs::read(self.place.join("out")).unwrap(), alone, "the outputs differ");
        }
        let elapsed = |runs: &[Took]| median(runs.iter().map(|took| took.elapsed));
        let pairs = || ones.iter().zip(&twos);
        let linear = median(pairs().map(|(one, two)| ratio(one.elapsed, two.elapsed) / 2.0));
        let (ours, theirs) = (format!("{:.2?}", elapsed(&twos)), format!("{:.2?}", elapsed(&ones)));
        tell(&format!("{name}, of linear"), &ours, &theirs, linear, 0.8);
        let more = median(pairs().map(|(one, two)| ratio(two.processor, one.processor)));
        tell(&format!("{name}, processor time by one's"), "", "", more, f64::NAN);
    }

    fn run(&self, job: &Job<'_>) -> Took {
        let mut cores = CpuSet::new();
        (0..if job.one_core { 1 } else { 2 }).for_each(|core| cores.set(core).unwrap());
        sched_setaffinity(Pid::from_raw(0), &cores).unwrap();
        let mut command = Command::new(job.program);
        self.at_its_place(&mut command).args(job.words);
        let (before, start) = (of_children(), Instant::now());
        command.spawn().unwrap().wait().unwrap();
        Took { processor: of_children() - before, elapsed: start.elapsed() }
    }

    /// Makes a command run in the directory of the data.
    fn at_its_place<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.place)
            .env("CONDOR_CONFIG", self.place.join("condor_config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(File::create(self.place.join("out")).unwrap())
    }
}

/// Prints a row.
fn tell(name: &str, ours: &str, theirs: &str, measured: f64, goal: f64) {
    let goal = if goal.is_nan() { String::new() } else { format!("{goal:.2}") };
    println!("{name:<66} {ours:>10} {theirs:>10} {measured:>9.2} {goal:>6}");
}

/// Runs a command line and prints its maximum memory in KiB. It runs in a process of its own, because the
/// kernel reports the maximum of all children.
fn peak(words: &[OsString]) {
    let (program, words) = words.split_first().unwrap();
    Command::new(program).args(words).stdout(Stdio::null()).status().unwrap();
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss());
}

/// Returns the processor time of all children that have ended.
fn of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let micros =
        |time: nix::sys::time::TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    micros(usage.user_time()) + micros(usage.system_time())
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn median<T: PartialOrd + Copy>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
    all[all.len() / 2]
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}
