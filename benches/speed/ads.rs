//! Generated queues of jobs, the same on every machine.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Kind of a queue's ads.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// 30 attributes in the same order; each line resembles that of the previous ad.
    Alike,
    /// 30 to 40 attributes in changing order, with escapes in strings, and expressions with numbers that
    /// differ in each ad.
    Various,
}

/// Pseudorandom numbers with the same sequence each time.
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

const NAMES: [&str; 10] =
    ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"];

/// Writes a queue of `count` jobs in the long form, and returns its size in bytes.
pub(super) fn write(path: &Path, kind: Kind, count: u32) -> io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut chance = Chance(1);
    let (mut text, mut bytes) = (String::new(), 0);
    for number in 0..count {
        text.clear();
        match kind {
            Kind::Alike => alike(&mut text, number, &mut chance),
            Kind::Various => various(&mut text, number, &mut chance),
        }
        .map_err(io::Error::other)?;
        out.write_all(text.as_bytes())?;
        bytes += text.len() as u64;
    }
    out.flush()?;
    Ok(bytes)
}

fn alike(out: &mut String, number: u32, chance: &mut Chance) -> std::fmt::Result {
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
}

fn various(out: &mut String, number: u32, chance: &mut Chance) -> std::fmt::Result {
    let (cluster, process) = (1000 + number / 7, number % 7);
    let owner = format!("{}{}", chance.of(&NAMES), chance.below(5000));
    let (size, start) = (1000 + chance.below(9_000_000), 1_700_000_000 + chance.below(50_000_000));
    let mut lines = Vec::with_capacity(40);
    let mut line = |text: std::fmt::Arguments<'_>| lines.push(text.to_string());
    line(format_args!("ClusterId = {cluster}"));
    line(format_args!("ProcId = {process}"));
    line(format_args!("Owner = \"{owner}\""));
    line(format_args!("User = \"{owner}@submit{}.example.org\"", chance.below(9)));
    line(format_args!("JobStatus = {}", chance.of(&["1", "1", "2", "2", "5", "4"])));
    line(format_args!("JobUniverse = 5"));
    line(format_args!("QDate = {start}"));
    line(format_args!("EnteredCurrentStatus = {}", start + chance.below(100_000)));
    line(format_args!("Cmd = \"/home/{owner}/bin/step {number}.sh\""));
    line(format_args!(
        "Arguments = \"--title \\\"run {number}\\\" --file 'a b_{size}.h5' --level {}\"",
        chance.below(99)
    ));
    line(format_args!("Environment = \"HOME=/home/{owner} LABEL='\\\"x{number}\\\"' SEED={size}\""));
    line(format_args!("Iwd = \"/home/{owner}/run/{number}\""));
    line(format_args!("RequestCpus = {}", chance.of(&["1", "2", "4", "8"])));
    line(format_args!(
        "RequestMemory = ifThenElse(MemoryUsage isnt undefined, MemoryUsage * 1.{}, {})",
        chance.below(1000),
        512 + chance.below(9000)
    ));
    line(format_args!("RequestDisk = max({{ DiskUsage, {size} }})"));
    line(format_args!("MemoryUsage = ((ResidentSetSize + {}) / 1024)", chance.below(1 << 20)));
    line(format_args!(
        "Rank = TARGET.KFlops / {}.0 + {} * (TARGET.Machine == \"node{}\")",
        1 + chance.below(1000),
        chance.below(100),
        chance.below(5000)
    ));
    line(format_args!(
        "Requirements = (TARGET.Arch == \"X86_64\") && (TARGET.Memory >= {}) && (TARGET.Disk > {size}) && TARGET.Machine =!= \"node{}\"",
        512 + chance.below(9000),
        chance.below(5000)
    ));
    line(format_args!(
        "PeriodicRemove = JobStatus == 5 && time() - EnteredCurrentStatus > {}",
        3600 + chance.below(900_000)
    ));
    line(format_args!("PeriodicHold = (NumJobStarts > {}) || (ImageSize > {size})", chance.below(20)));
    line(format_args!("CumulativeSlotTime = {}.{:06}", chance.below(90_000), chance.below(1_000_000)));
    line(format_args!("TransferInput = \"data_{number}.h5,C:\\dir\\{size},lib/h.py\""));
    line(format_args!(
        "JobDescription = \"{}\"",
        chance.of(&["", "a, b; c = d", "100 % \\\\ done", "\u{e4}\u{f6}\u{fc}"])
    ));
    line(format_args!("RemoteUserCpu = {}.0", chance.below(90_000)));
    line(format_args!("ImageSize = {}", 1000 + chance.below(9_000_000)));
    line(format_args!("OnExitRemove = ExitCode =?= 0 || NumJobStarts >= {}", chance.below(1000)));
    line(format_args!("BatchName = \"batch-{}\"", chance.below(1_000_000)));
    line(format_args!("LeaveJobInQueue = false"));
    line(format_args!("NumJobStarts = {}", chance.below(30)));
    for extra in 0..chance.below(10) {
        line(format_args!("Custom{}_{extra} = {}", chance.below(40), chance.below(1 << 40)));
    }
    // Attributes appear in another order than in the previous ad.
    let turn = chance.below(lines.len() as u64) as usize;
    lines.rotate_left(if chance.below(4) == 0 { turn } else { 0 });
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out.push('\n');
    Ok(())
}
