//! Reads the records of our own recorder, in the format of the recordings.

use std::fs;
use std::path::Path;

use super::Result;
use super::calls::{Call, Meta};
use super::normalise;
use super::scenario::environment;
use super::stage::Stage;

/// Returns all calls in order of start, with the placeholders of the recordings.
pub fn read(stage: &Stage) -> Result<Vec<Call>> {
    let records = stage.records();
    let entries = fs::read_dir(&records).map_err(|error| format!("{}: {error}", records.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    // A record without `ready` belongs to a call that was killed while the recorder was writing, so it is not
    // reliable.
    names.retain(|name| records.join(name).join("ready").exists());
    Ok(names.iter().filter_map(|name| call(stage, &records.join(name), name)).collect())
}

fn call(stage: &Stage, record: &Path, label: &str) -> Option<Call> {
    let file = |name: &str| fs::read(record.join(name)).ok().map(|bytes| stage.take_out(&bytes));
    let (start, rest) = label.split_once('-')?;
    let (name, pid) = rest.rsplit_once('-')?;
    let argv = file("argv")?;
    let argv = argv.split(|byte| *byte == 0).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut argv: Vec<String> = argv.collect();
    argv.pop();
    let facts = String::from_utf8_lossy(&file("facts")?).into_owned();
    let status = String::from_utf8_lossy(&file("status")?).into_owned();
    let limits = String::from_utf8_lossy(&file("limits")?).into_owned();
    let environ = file("environ")?;
    let environ: Vec<u8> = environ.iter().map(|byte| if *byte == 0 { b'\n' } else { *byte }).collect();
    let (ppid, meta) = meta(&facts, &status, &limits);
    Some(Call {
        label: label.to_owned(),
        name: name.to_owned(),
        start: start.parse().unwrap_or(0.0),
        end: None,
        pid: pid.parse().unwrap_or(0),
        ppid,
        argv,
        exit: file("exit").map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()),
        env: Some(environment(&environ)),
        stdin: file("stdin"),
        stdout: file("stdout").unwrap_or_default(),
        job_ad: file("job.ad"),
        machine_ad: file("machine.ad"),
        meta,
    })
}

fn meta(facts: &str, status: &str, limits: &str) -> (i64, Meta) {
    let mut meta = Meta::new();
    let mut lines = facts.lines();
    let mut next = || lines.next().unwrap_or_default();
    meta.insert("umask".to_owned(), next().to_owned());
    let stat = next();
    // As in /proc/self/stat: the name in parentheses is followed by state, parent, process group and session.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i64>().ok()).unwrap_or(0);
    let pid: i64 = stat.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0);
    let ppid = number(1);
    let whose = |id: i64| if id == pid { "own".to_owned() } else { "parent".to_owned() };
    meta.insert("pgid".to_owned(), whose(number(2)));
    meta.insert("sid".to_owned(), whose(number(3)));
    meta.insert("cwd".to_owned(), normalise::scratch(next()));
    for fd in 0..=2 {
        meta.insert(format!("fd {fd}"), descriptor(next()));
    }
    for line in status.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let list = |words: &[&str]| format!("[{}]", words.join(","));
        match name {
            "Uid" | "Gid" => meta.insert(name.to_lowercase(), list(words.get(..3).unwrap_or_default())),
            "Groups" => meta.insert("groups".to_owned(), list(&words)),
            "SigBlk" | "SigIgn" => {
                meta.insert(name.to_owned(), signals(words.first().copied().unwrap_or("0")))
            }
            _ => None,
        };
    }
    for (line, name) in [
        ("Max core file size", "rlimit_core"),
        ("Max stack size", "rlimit_stack"),
        ("Max address space", "rlimit_as"),
        ("Max cpu time", "rlimit_cpu"),
    ] {
        if let Some(rest) = limits.lines().find_map(|text| text.strip_prefix(line)) {
            let words: Vec<&str> = rest.split_whitespace().take(2).collect();
            meta.insert(name.to_owned(), words.join(" "));
        }
    }
    (ppid, meta)
}

/// Formats a signal mask from /proc without leading zeros, as in the recordings, and without the two signals
/// that the C library reserves and that are ignored in every child of `posix_spawn`, which some callers of
/// the harness use.
fn signals(mask: &str) -> String {
    let all = u64::from_str_radix(mask, 16).unwrap_or(0);
    let blocked = all >> 33 != 0;
    format!("{:x}", if blocked { all } else { all & !(0b11 << 31) })
}

/// Converts `TARGET flags: 0100002` to the format of the recordings.
fn descriptor(line: &str) -> String {
    let Some((target, flags)) = line.rsplit_once(" flags:") else { return line.to_owned() };
    let flags = u32::from_str_radix(flags.trim(), 8).unwrap_or(0);
    let mut words = ["r", "w", "rw"][(flags & 3).min(2) as usize].to_owned();
    if flags & 0o2000 != 0 {
        words += ",append";
    }
    let target = if target.starts_with("pipe:") { "pipe" } else { target };
    let target = if target.starts_with("socket:") { "socket" } else { target };
    format!("{words} {}", normalise::scratch(target))
}
