//! 100,000 job ads of 30 attributes through a transform of twelve statements, by our program and, where it is on PATH, by
//! the reference's `condor_transform_ads`; `grep -c` on the same file is the yardstick.
//!
//! `cargo bench --bench transform`; `HTC_BENCH_ADS` changes the number of ads.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

fn main() {
    // `cargo test` runs benchmarks too; there a few ads are enough to see that it works.
    let testing = !std::env::args().any(|word| word == "--bench");
    let wanted = std::env::var("HTC_BENCH_ADS").ok().and_then(|text| text.parse().ok());
    let count: u32 = wanted.unwrap_or(if testing { 100 } else { 100_000 });
    let place = tempfile::tempdir().unwrap();
    let ads = place.path().join("ads");
    write_ads(&ads, count);
    fs::write(place.path().join("rules"), RULES).unwrap();
    fs::write(place.path().join("condor_config"), "RELEASE_DIR = /usr\nLOCAL_DIR = .\nLOG = .\n").unwrap();
    println!("{count} ads, {} MB", fs::metadata(&ads).unwrap().len() / 1_000_000);
    let ours = place.path().join("condor_transform_ads");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_htc-router-translate"), &ours).unwrap();
    let yardstick = best(5, || run(place.path(), Path::new("grep"), &["-c", "Owner", "ads"]));
    println!("grep -c            {yardstick:>10.3?}");
    let mine = best(if testing { 1 } else { 3 }, || run(place.path(), &ours, &["-rules", "rules", "ads"]));
    println!("htc-router-translate {mine:>8.3?}  {:.1} times grep", ratio(mine, yardstick));
    match on_path("condor_transform_ads") {
        None => println!("no condor_transform_ads on PATH to compare with"),
        Some(theirs) => {
            let time = best(1, || run(place.path(), &theirs, &["-rules", "rules", "ads"]));
            println!("condor_transform_ads {time:>8.3?}  {:.1} times grep", ratio(time, yardstick));
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
        .env("CONDOR_CONFIG", directory.join("condor_config"))
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

fn write_ads(path: &Path, count: u32) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let filler = "x".repeat(180);
    for number in 0..count {
        let (cluster, cpus, memory) = (number / 10, 1 + number % 8, 512 + number % 4096);
        write!(
            out,
            "Args = \"--input file{number} --mode fast {filler}\"\nClusterId = {cluster}\nProcId = {}\nCmd = \"/usr/bin/analyse\"\n\
             Owner = \"user{}\"\nUser = \"user{}@example.org\"\nJobUniverse = 5\nJobStatus = 1\nJobPrio = 0\n\
             RequestCpus = {cpus}\nRequestMemory = {memory}\nRequestDisk = DiskUsage\nDiskUsage = {}\nImageSize = 1000\n\
             Rank = 0.0\nNiceUser = false\nIwd = \"/home/user{}/work\"\nIn = \"/dev/null\"\nOut = \"out.{number}\"\n\
             Err = \"err.{number}\"\nUserLog = \"/home/user/log.{cluster}\"\nQDate = {}\nEnteredCurrentStatus = {}\n\
             Environment = \"A=1 B=2 PATH=/usr/bin:/bin HOME=/home/user LANG=C.UTF-8\"\nAccountingGroup = \"group_{}\"\n\
             TransferInput = \"a.dat,b.dat,c.dat\"\nLeaveJobInQueue = JobStatus == 4 && (time() - CompletionDate) < 86400\n\
             Requirements = (TARGET.Arch == \"X86_64\") && (TARGET.OpSys == \"LINUX\") && (TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory)\n\
             PeriodicRemove = (JobStatus == 5) && ((time() - EnteredCurrentStatus) > 604800)\nNumJobStarts = 0\n\n",
            number % 10,
            number % 97,
            number % 97,
            number % 50_000,
            number % 97,
            1_700_000_000 + number,
            1_700_000_100 + number,
            number % 13,
        )
        .unwrap();
    }
}
