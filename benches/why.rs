//! Benchmark of explanations why jobs do not run, in a table next to their goals. `cargo bench --bench why`; `HTC_BENCH_ONLY`
//! selects rows by a part of their name, `HTC_BENCH_SHARE=100` tries it with a hundredth of the jobs and slots. Figures are
//! processor and elapsed time of the whole program as the median of some rounds with the distance between the best and the
//! worst round, which is noise, and the largest memory.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

const EXPLAIN: &str = env!("CARGO_BIN_EXE_htc-slot-run");
const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");

/// Number of rounds of each row.
const ROUNDS: usize = 5;

/// Jobs and slots of one row.
struct Load {
    name: &'static str,
    jobs: usize,
    job_kinds: usize,
    slots: usize,
    slot_kinds: usize,
    goal: &'static str,
    counts_pairs: bool,
}

const LOADS: [Load; 3] = [
    Load {
        name: "explain --summary, 10,000 jobs x 1,000 slots",
        jobs: 10_000,
        job_kinds: 200,
        slots: 1_000,
        slot_kinds: 100,
        goal: "0.1 s beyond reading",
        counts_pairs: false,
    },
    Load {
        name: "explain --summary, 1,000,000 jobs of 500 kinds x 20,000 slots of 300 kinds",
        jobs: 1_000_000,
        job_kinds: 500,
        slots: 20_000,
        slot_kinds: 300,
        goal: "5 s, 2 GB",
        counts_pairs: false,
    },
    Load {
        name: "-match --count, 10,000 x 1,000, all different",
        jobs: 10_000,
        job_kinds: 10_000,
        slots: 1_000,
        slot_kinds: 1_000,
        goal: "1.0 s",
        counts_pairs: true,
    },
];

/// Writes jobs of 60 attributes and about 1 KB.
fn write_jobs(path: &Path, load: &Load) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    for job in 0..load.jobs {
        let kind = job * 7919 % load.job_kinds;
        write!(
            out,
            "ClusterId = {}\nProcId = {}\nOwner = \"user{}\"\nJobUniverse = 5\nJobStatus = 1\nQDate = {}\nRequestCpus = {}\n\
             RequestMemory = {}\nRequestDisk = {}\nRequirements = (TARGET.Arch == \"X86_64\") && (TARGET.OpSys == \"LINUX\") && \
             (TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)\n",
            job / 100,
            job % 100,
            kind % 40,
            1_795_000_000 + job,
            1 + kind % 8,
            500 + kind * 13,
            1000 + kind
        )
        .unwrap();
        (0..48).for_each(|at| writeln!(out, "Attr{at} = {}", job * 31 + at).unwrap());
        out.write_all(b"\n").unwrap();
    }
}

fn write_slots(path: &Path, load: &Load) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    for slot in 0..load.slots {
        let kind = slot * 7919 % load.slot_kinds;
        write!(
            out,
            "Name = \"slot1@node{slot}\"\nMyType = \"Machine\"\nArch = \"X86_64\"\nOpSys = \"LINUX\"\nCpus = {}\nMemory = {}\n\
             Disk = {}\nStart = TARGET.Owner =!= \"user{}\"\nWithinResourceLimits = TARGET.RequestCpus <= MY.Cpus && \
             TARGET.RequestMemory <= MY.Memory && TARGET.RequestDisk <= MY.Disk\nRequirements = START && WithinResourceLimits\n",
            1 + kind % 16,
            2000 + kind * 17,
            100_000 + kind,
            kind % 40
        )
        .unwrap();
        (0..40).for_each(|at| writeln!(out, "Attr{at} = {}", slot * 31 + at).unwrap());
        out.write_all(b"\n").unwrap();
    }
}

/// Returns the seconds of processor time and of elapsed time of a program.
fn measure(program: &str, directory: &Path, arguments: &[&str]) -> [f64; 2] {
    let seconds = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let (user, system) = (usage.user_time(), usage.system_time());
        (user.tv_sec() + system.tv_sec()) as f64 + (user.tv_usec() + system.tv_usec()) as f64 / 1e6
    };
    let (before, start) = (seconds(), Instant::now());
    let mut command = Command::new(program);
    command.current_dir(directory).args(arguments).stdout(Stdio::null());
    command.status().unwrap();
    [seconds() - before, start.elapsed().as_secs_f64()]
}

/// Times of several rounds.
struct Rounds(Vec<f64>);

impl Rounds {
    /// Returns the median with the distance between the best and the worst round: `1.23 (0.05)`.
    fn text(mut self) -> String {
        self.0.sort_by(f64::total_cmp);
        let [best, median, worst] = [0, self.0.len() / 2, self.0.len() - 1].map(|at| self.0[at]);
        format!("{median:.2} ({:.2})", worst - best)
    }
}

/// Measures a program several times, and returns its processor times and its elapsed times.
fn measure_rounds(program: &str, directory: &Path, arguments: &[&str]) -> [String; 2] {
    let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| measure(program, directory, arguments)).collect();
    [0, 1].map(|at| Rounds(rounds.iter().map(|round| round[at]).collect()).text())
}

/// Returns the number by which `HTC_BENCH_SHARE` divides the numbers of jobs and slots.
fn divisor() -> usize {
    std::env::var("HTC_BENCH_SHARE").map_or(1, |share| share.parse().expect("HTC_BENCH_SHARE is a number"))
}

fn main() {
    let only = std::env::var("HTC_BENCH_ONLY").unwrap_or_default();
    let divisor = divisor();
    if divisor > 1 {
        println!("With 1 of {divisor} jobs and slots: these are not the figures that the goals are about.\n");
    }
    println!(
        "Seconds, median of {ROUNDS} rounds (worst less best).\n\n\
         | work | reading: processor | elapsed | all: processor | elapsed | goal | largest memory so far |\n\
         |---|---|---|---|---|---|---|"
    );
    for load in LOADS.iter().filter(|load| load.name.contains(&only)) {
        let load = Load { jobs: (load.jobs / divisor).max(1), slots: (load.slots / divisor).max(1), ..*load };
        let directory = tempfile::tempdir().unwrap();
        write_jobs(&directory.path().join("jobs"), &load);
        write_slots(&directory.path().join("slots"), &load);
        // This constraint reads about as many attributes of each ad as explanations do.
        let condition = "RequestMemory > Memory && Requirements";
        let arguments = ["--ads", "jobs", "--ads", "slots", "-c", condition, "--count", "--quiet"];
        let [reading, reading_elapsed] = measure_rounds(EVAL, directory.path(), &arguments);
        let [all, elapsed] = match load.counts_pairs {
            true => measure_rounds(EVAL, directory.path(), &["--ads", "jobs", "--match", "slots", "--count"]),
            false => {
                let arguments = ["explain", "--summary", "--ads", "jobs", "--slot-ads", "slots"];
                measure_rounds(EXPLAIN, directory.path(), &arguments)
            }
        };
        let memory = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() >> 10;
        println!(
            "| {} | {reading} | {reading_elapsed} | {all} | {elapsed} | {} | {memory} MB |",
            load.name, load.goal
        );
    }
}
