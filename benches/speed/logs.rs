//! The queue of [`ads`](super::ads) as a queue log and as a history, an event log, and inputs that are not
//! ads.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Size of the file of NULs, which takes no space on the disk.
const NULS: u64 = 1 << 30;

/// Writes all files for a queue of `count` jobs in the file `alike`.
pub(super) fn write(place: &Path, count: u32) -> io::Result<()> {
    let open =
        |name: &str| File::create(place.join(name)).map(|file| BufWriter::with_capacity(1 << 20, file));
    let (mut log, mut history, mut bare) = (open("job_queue.log")?, open("history")?, open("bare-history")?);
    writeln!(log, "107 1 CreationTimestamp 1700000000")?;
    let mut ad: Vec<String> = Vec::new();
    for line in BufReader::new(File::open(place.join("alike"))?).lines() {
        let line = line?;
        if !line.is_empty() {
            ad.push(line);
            continue;
        }
        let value = |name: &str| {
            let found = ad.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            found.unwrap_or_default().to_owned()
        };
        let (cluster, process, owner) = (value("ClusterId"), value("ProcId"), value("Owner"));
        writeln!(log, "101 {cluster}.{process} Job Machine")?;
        for (name, value) in ad.iter().filter_map(|line| line.split_once(" = ")) {
            writeln!(log, "103 {cluster}.{process} {name} {value}")?;
        }
        for line in &ad {
            writeln!(history, "{line}")?;
            writeln!(bare, "{line}")?;
        }
        writeln!(history, "RouteName = \"A\"")?;
        writeln!(
            history,
            "*** Offset = 0 ClusterId = {cluster} ProcId = {process} Owner = {owner} CompletionDate = 1700000000"
        )?;
        ad.clear();
    }
    [log, history, bare].iter_mut().try_for_each(Write::flush)?;
    write_event_log(&mut open("events.log")?, count)?;
    let mut bad = open("bad-lines")?;
    (0..count * 30).try_for_each(|number| writeln!(bad, "line {number} is no attribute"))?;
    bad.flush()?;
    fs::File::create(place.join("nuls"))?.set_len(NULS)
}

/// Writes four events of each of `count` jobs.
fn write_event_log(out: &mut impl Write, count: u32) -> io::Result<()> {
    for number in 0..count {
        let id = format!("({:03}.{:03}.000)", 1000 + number / 10, number % 10);
        let at = |minute: u32| format!("2026-01-01 {:02}:{:02}:00", number % 24, minute);
        writeln!(out, "000 {id} {} Job submitted from host: <127.0.0.1:9618>\n...", at(1))?;
        writeln!(out, "001 {id} {} Job executing on host: <127.0.0.1:9620>\n...", at(2))?;
        writeln!(
            out,
            "006 {id} {} Image size of job updated: {number}\n\t3  -  MemoryUsage of job (MB)\n\t2924  -  ResidentSetSize of job (KB)\n...",
            at(3)
        )?;
        writeln!(
            out,
            "005 {id} {} Job terminated.\n\t(1) Normal termination (return value 0)\n\t\tUsr 0 00:00:01, Sys 0 00:00:00  -  Run Remote Usage\n...",
            at(4)
        )?;
    }
    out.flush()
}
