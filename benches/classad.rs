//! Benchmarks of the hot paths of the ClassAd language on generated ads: reading, printing, parsing,
//! evaluating, matching, filtering.
//!
//! `cargo bench --bench classad`; `HTC_BENCH_ADS` sets the number of ads [default: 100,000], and
//! `HTC_BENCH_ONLY` selects rows by a part of their name. Each figure is shown next to that of the
//! reference's C++ library, measured on a machine with two cores. If `HTC_PYTHON` names a Python that has the
//! module `classad2`, the module does the same work in the same run where it can.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use htc_hooks::classad::format::{json, long};
use htc_hooks::classad::stream::AdReader;
use htc_hooks::classad::{ClassAd, Context, Expr, MatchAd};
use htc_hooks::os::RealWorld;
use nix::time::{ClockId, clock_gettime};

const CONSTRAINT: &str = "JobStatus == 1 && RequestCpus >= 2 && RequestMemory < 3000 && regexp(\"^a\", Owner) && \
                          (QDate > 1700000000 || NiceUser =?= true)";
const FILTER: &str = "JobStatus == 1 && RequestCpus >= 2 && regexp(\"^a\", Owner)";

/// Random number generator with the same sequence everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

fn main() {
    // `cargo test` runs benchmarks too; then a few ads are enough to check that they work.
    let testing = !std::env::args().any(|word| word == "--bench");
    let wanted = std::env::var("HTC_BENCH_ADS").ok().and_then(|text| text.parse().ok());
    let count: usize = wanted.unwrap_or(if testing { 200 } else { 100_000 });
    let rounds = if testing { 1 } else { 5 };
    let mut random = Random(42);
    let mut text = String::new();
    for number in 0..count {
        job(&mut text, number, &mut random);
    }
    println!("{count} job ads of 30 attributes, {} MB", text.len() / 1_000_000);
    let table = Table { rounds };
    let world = RealWorld::new();

    let read = || -> Vec<ClassAd> {
        let mut ads = Vec::with_capacity(count);
        let mut reader = AdReader::new(text.as_bytes(), None);
        while let Some(record) = reader.next_record().unwrap() {
            assert!(record.errors.is_empty());
            ads.push(record.ad);
        }
        ads
    };
    let ads = read();
    assert_eq!(ads.len(), count);
    table.row("read long form (stream)", count, Some(45_000.0), || {
        let mut reader = AdReader::new(text.as_bytes(), None);
        while let Some(record) = reader.next_record().unwrap() {
            black_box(&record.ad);
        }
    });
    table.row("print long form", count, Some(110_000.0), || {
        for ad in &ads {
            black_box(long::print(ad));
        }
    });
    let mut some_json = Vec::new();
    for ad in &ads[..count.min(20_000)] {
        let mut out = Vec::new();
        json::push(ad, json::JsonLayout::OneLine, &mut out);
        some_json.push(out);
    }
    table.row("read JSON", some_json.len(), Some(28_000.0), || {
        for text in &some_json {
            black_box(json::parse(text, htc_hooks::classad::Dialect::json()).unwrap());
        }
    });
    let lines = some_json.join(&b'\n');
    table.row("read JSON (stream)", some_json.len(), Some(28_000.0), || {
        let mut reader = AdReader::new(&lines[..], None);
        while let Some(record) = reader.next_record().unwrap() {
            black_box(&record.ad);
        }
    });
    let times = if testing { 100 } else { 200_000 };
    table.row("parse a constraint of 5 clauses", times, Some(390_000.0), || {
        for _ in 0..times {
            black_box(Expr::parse(black_box(CONSTRAINT.as_bytes())).unwrap());
        }
    });
    let constraint = Expr::parse(CONSTRAINT.as_bytes()).unwrap();
    // Few enough ads for the caches, repeated many times: this measures evaluation, not memory.
    let few = &ads[..count.min(1000)];
    table.row("evaluate it (most ads stop early)", times, Some(1_200_000.0), || {
        for ad in few.iter().cycle().take(times) {
            black_box(Context::new(&world).my(ad).holds(&constraint));
        }
    });
    let mut full = ClassAd::new();
    for line in [
        "JobStatus = 1",
        "RequestCpus = 4",
        "RequestMemory = 100",
        "Owner = \"ana\"",
        "QDate = 1",
        "NiceUser = true",
    ] {
        full.insert_line(line.as_bytes()).unwrap();
    }
    assert!(Context::new(&world).my(&full).holds(&constraint));
    table.row("evaluate it, all five clauses", times, None, || {
        for _ in 0..times {
            black_box(Context::new(&world).my(black_box(&full)).holds(&constraint));
        }
    });
    let slots: Vec<ClassAd> = (0..1000).map(|number| slot(number, &mut random)).collect();
    table.row("symmetric match", times, Some(150_000.0), || {
        for (ad, slot) in few.iter().cycle().zip(slots.iter().cycle()).take(times) {
            black_box(MatchAd::new(&world, ad, slot).symmetric());
        }
    });
    let filter = Expr::parse(FILTER.as_bytes()).unwrap();
    let mut found = 0;
    let filtered = table.row("read and filter, two columns", count, Some(count as f64 / 1.25), || {
        let mut out = String::new();
        found = 0;
        let mut reader = AdReader::new(text.as_bytes(), None);
        while let Some(record) = reader.next_record().unwrap() {
            let context = Context::new(&world).my(&record.ad);
            if context.holds(&filter) {
                found += 1;
                let _ = writeln!(out, "{} {}", context.eval_attr("ClusterId"), context.eval_attr("Owner"));
            }
        }
        black_box(out);
    });
    println!("{found} ads pass the filter");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ads");
    fs::write(&file, &text).unwrap();
    let grep = (0..rounds).map(|_| grep(&file)).min().unwrap_or_default();
    println!(
        "grep -c '^Owner = \"a' takes {grep:.3?}: filtering takes {:.1} times as long",
        ratio(filtered, grep)
    );
    python(&place.path().join("ads"), testing);
}

struct Table {
    rounds: u32,
}

impl Table {
    /// Runs a piece of work several times and prints its best time next to the reference's.
    fn row(&self, name: &str, count: usize, reference: Option<f64>, mut work: impl FnMut()) -> Duration {
        if std::env::var("HTC_BENCH_ONLY").is_ok_and(|only| !name.contains(&only)) {
            return Duration::ZERO;
        }
        // Processor time, so that other processes on the machine do not count.
        let once = |work: &mut dyn FnMut()| {
            let start = processor_time();
            work();
            processor_time().saturating_sub(start)
        };
        let best = (0..self.rounds).map(|_| once(&mut work)).min().unwrap_or_default();
        let per_second = count as f64 / best.as_secs_f64();
        let nanoseconds = best.as_secs_f64() * 1e9 / count as f64;
        let against = reference.map(|reference| format!("{:>6.1} x the reference", per_second / reference));
        println!("{name:<36} {nanoseconds:>9.0} ns {per_second:>12.0}/s {}", against.unwrap_or_default());
        best
    }
}

fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn grep(file: &std::path::Path) -> Duration {
    let start = Instant::now();
    // The output must not be /dev/null, because grep would stop at the first match.
    let output = Command::new("grep").args(["-c", "^Owner = \"a"]).arg(file).output().unwrap();
    assert!(output.status.success());
    start.elapsed()
}

/// Does the same work with the reference's Python module; its own overhead is included.
fn python(file: &std::path::Path, testing: bool) {
    let Some(python) = std::env::var_os("HTC_PYTHON").filter(|_| !testing) else {
        println!("HTC_PYTHON is not set: no comparison with the module classad2 in this run");
        return;
    };
    let program = format!(
        r#"
import os, sys, time
os.environ["CONDOR_CONFIG"] = "/dev/null"
import htcondor2, classad2
def row(name, count, work):
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    print(f"classad2: {{name:<26}} {{seconds / count * 1e9:>9.0f}} ns {{count / seconds:>12.0f}}/s")
text = open(sys.argv[1]).read(30_000_000)
texts = text.split("\n\n")[:20000]
ads = []
row("read long form", len(texts), lambda: ads.extend(classad2.parseOne(t, classad2.Parser.Old) for t in texts))
row("print long form", len(ads), lambda: [ad.printOld() for ad in ads])
constraint = {CONSTRAINT:?}
row("parse constraint", 20000, lambda: [classad2.ExprTree(constraint) for _ in range(20000)])
expr = classad2.ExprTree(constraint)
row("evaluate", len(ads), lambda: [expr.eval(ad) for ad in ads])
"#
    );
    let mut child = Command::new(python).arg("-").arg(file).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    child.wait().unwrap();
}

const OWNERS: [&str; 12] =
    ["ana", "bob", "carla", "dave", "eve", "frank", "grace", "heidi", "ivan", "judy", "mallory", "niaj"];

fn job(out: &mut String, number: usize, random: &mut Random) {
    let (cluster, proc) = (number / 10, number % 10);
    let owner = OWNERS[random.below(12) as usize];
    let (cpus, memory) = (1 + random.below(8), 512 + random.below(4096));
    let status = 1 + random.below(5);
    let filler = "x".repeat(140 + random.below(80) as usize);
    let _ = write!(
        out,
        "Args = \"--input file{number} --mode fast {filler}\"\nClusterId = {cluster}\nProcId = {proc}\n\
         Cmd = \"/usr/bin/analyse\"\nOwner = \"{owner}\"\nUser = \"{owner}@example.org\"\nJobUniverse = 5\n\
         JobStatus = {status}\nJobPrio = 0\nRequestCpus = {cpus}\nRequestMemory = {memory}\n\
         RequestDisk = DiskUsage\nDiskUsage = {}\nImageSize = 1000\nRank = 0.0\nNiceUser = false\n\
         Iwd = \"/home/{owner}/work\"\nIn = \"/dev/null\"\nOut = \"out.{number}\"\nErr = \"err.{number}\"\n\
         UserLog = \"/home/{owner}/log.{cluster}\"\nQDate = {}\nEnteredCurrentStatus = {}\n\
         Environment = \"A=1 B=2 PATH=/usr/bin:/bin HOME=/home/user LANG=C.UTF-8\"\n\
         AccountingGroup = \"group_{}\"\nTransferInput = \"a.dat,b.dat,c.dat\"\n\
         LeaveJobInQueue = JobStatus == 4 && (time() - CompletionDate) < 86400\n\
         Requirements = (TARGET.Arch == \"X86_64\") && (TARGET.OpSys == \"LINUX\") && (TARGET.Disk >= RequestDisk) && \
         (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)\n\
         PeriodicRemove = (JobStatus == 5) && ((time() - EnteredCurrentStatus) > 604800)\nNumJobStarts = 0\n\n",
        random.below(50_000),
        1_700_000_000 + number,
        1_700_000_100 + number,
        random.below(13),
    );
}

fn slot(number: u64, random: &mut Random) -> ClassAd {
    let mut ad = ClassAd::new();
    let lines = [
        String::from("Arch = \"X86_64\""),
        String::from("OpSys = \"LINUX\""),
        format!("Name = \"slot{number}@host.example.org\""),
        format!("Memory = {}", 1024 + random.below(8192)),
        format!("Disk = {}", 10_000 + random.below(100_000)),
        format!("Cpus = {}", 1 + random.below(16)),
        String::from("State = \"Unclaimed\""),
        String::from("Activity = \"Idle\""),
        String::from("LoadAvg = 0.05"),
        String::from("KeyboardIdle = 4000"),
        String::from(
            "Requirements = (LoadAvg < 0.3) && (KeyboardIdle > 15 * 60) && (TARGET.JobUniverse == 5) && \
             (TARGET.RequestMemory <= Memory) && (TARGET.Owner != \"mallory\")",
        ),
        String::from("Rank = TARGET.JobPrio"),
    ];
    for line in lines {
        ad.insert_line(line.as_bytes()).unwrap();
    }
    ad
}
