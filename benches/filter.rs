//! A queue of job ads of 30 attributes, filtered by a constraint of three clauses into two columns: by our program, by the
//! reference's `condor_q -jobads` where it is on PATH, and `grep -c` on the same file as the yardstick.
//!
//! `cargo bench --bench filter`; `HTC_BENCH_ADS` changes the number of ads.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CONSTRAINT: &str = "JobStatus == 1 && RequestCpus >= 2 && regexp(\"^a\", Owner)";

fn main() {
    // `cargo test` runs benchmarks too; there a few ads are enough to see that it works.
    let testing = !std::env::args().any(|word| word == "--bench");
    let wanted = std::env::var("HTC_BENCH_ADS").ok().and_then(|text| text.parse().ok());
    let count: u32 = wanted.unwrap_or(if testing { 100 } else { 100_000 });
    let times = if testing { 1 } else { 7 };
    let place = tempfile::tempdir().unwrap();
    let ads = place.path().join("ads");
    write_ads(&ads, count);
    println!("{count} ads, {} MB", fs::metadata(&ads).unwrap().len() / 1_000_000);
    let program = Path::new(env!("CARGO_BIN_EXE_htc-classad-eval"));
    let filter = ["-ads", "ads", "-constraint", CONSTRAINT, "-af", "ClusterId", "Owner"];
    let theirs = ["-jobads", "ads", "-constraint", CONSTRAINT, "-af", "ClusterId", "Owner"];

    let yardstick = best(times, || run(place.path(), Path::new("grep"), &["-c", "^Owner = \"a", "ads"]));
    println!("grep -c                     {yardstick:>10.3?}");
    let tell = |what: &str, time: Duration| {
        println!("{what:<27} {time:>10.3?}  {:.2} times grep", ratio(time, yardstick));
    };
    let mine = best(times, || run(place.path(), program, &filter));
    tell("htc-classad-eval", mine);
    let ours = fs::read(place.path().join("out")).unwrap();
    let whole = best(times, || run(place.path(), program, &["-ads", "ads", "-jsonl"]));
    tell("htc-classad-eval -jsonl", whole);
    let start = best(20, || run(place.path(), program, &["-quiet", "1"]));
    let nothing = best(20, || run(place.path(), Path::new("true"), &[]));
    println!("start of the program        {start:>10.3?}  {:.2} times that of true", ratio(start, nothing));
    match on_path("condor_q") {
        None => println!("no condor_q on PATH to compare with"),
        Some(condor_q) => {
            let time = best(if testing { 1 } else { 3 }, || run(place.path(), &condor_q, &theirs));
            tell("condor_q -jobads", time);
            assert_eq!(fs::read(place.path().join("out")).unwrap(), ours, "the answers differ");
            println!("ours needs 1/{:.1} of the reference's time", ratio(time, mine));
        }
    }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn best(times: u32, mut what: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| what()).min().unwrap_or_default()
}

fn run(directory: &Path, program: &Path, words: &[&str]) -> Duration {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .stdout(File::create(directory.join("out")).unwrap())
        .spawn()
        .unwrap();
    child.wait().unwrap();
    start.elapsed()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// The same ads on every machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

fn write_ads(path: &Path, count: u32) {
    const NAMES: [&str; 10] =
        ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"];
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut chance = Chance(1);
    for number in 0..count {
        let (cluster, process, queued) = (1000 + number / 10, number % 10, 1_700_000_000 + number * 3);
        let owner = format!("{}{}", chance.of(&NAMES), chance.below(50));
        let project = chance.below(1000);
        write!(
            out,
            "MyType = \"Job\"\nClusterId = {cluster}\nProcId = {process}\nOwner = \"{owner}\"\nUser = \"{owner}@example.org\"\n\
             AcctGroup = \"group_{}\"\nJobStatus = {}\nJobUniverse = 5\nQDate = {queued}\nEnteredCurrentStatus = {}\n\
             Cmd = \"/home/{owner}/projects/analysis_{project}/bin/run_step.sh\"\n\
             Arguments = \"--input data_{number}.h5 --output out_{number}.h5 --threads {} --verbose\"\n\
             Iwd = \"/home/{owner}/projects/analysis_{project}/run\"\nOut = \"out/job_{cluster}_{process}.out\"\n\
             Err = \"err/job_{cluster}_{process}.err\"\nUserLog = \"/home/{owner}/projects/logs/cluster_{cluster}.log\"\n\
             RequestCpus = {}\nRequestMemory = ifThenElse(MemoryUsage =!= undefined,MemoryUsage,{})\n\
             RequestDisk = {}\nImageSize = {}\nRemoteWallClockTime = {}.5\nNumJobStarts = {}\nJobPrio = {}\n\
             Requirements = (TARGET.Arch == \"X86_64\") && (TARGET.OpSys == \"LINUX\") && (TARGET.Disk >= RequestDisk) && \
             (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && (TARGET.HasFileTransfer)\nRank = 0.0\n\
             PeriodicRemove = (JobStatus == 5) && (time() - EnteredCurrentStatus > 3600 * 24 * {})\n\
             PeriodicHold = (NumJobStarts > 10) && (JobStatus == 2)\n\
             LeaveJobInQueue = JobStatus == 4 && (CompletionDate =?= undefined || CompletionDate == 0)\n\
             TransferInput = \"data_{number}.h5,config_{}.yaml,lib/helpers.py\"\nWantContainer = {}\n\n",
            chance.below(20),
            chance.of(&["1", "1", "2", "2", "5", "4"]),
            u64::from(queued) + chance.below(1000),
            1 + chance.below(8),
            chance.of(&["1", "1", "2", "4", "8"]),
            chance.of(&["1024", "2048", "4096"]),
            1000 + chance.below(9_000_000),
            1000 + chance.below(9_000_000),
            chance.below(100_000),
            chance.below(3),
            chance.below(6),
            chance.of(&["2", "7"]),
            chance.below(20),
            chance.of(&["true", "false"]),
        )
        .unwrap();
    }
}
