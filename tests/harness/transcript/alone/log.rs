//! The log of schedd and shadow: events, reduced to the parts that are the same in each run.

use std::collections::BTreeMap;

use super::super::normalise;

/// Returns the events of a log by number and by index among those of the same number. Measured values (006,
/// usage, tables) are omitted, and so is the end of the output transfer that 25.14 tries after a failed input
/// transfer, because it does not always get that far.
pub fn events(text: &str) -> BTreeMap<String, String> {
    let all: Vec<&str> = text.split("...\n").filter(|event| !event.trim().is_empty()).collect();
    let run = all.iter().any(|event| event.starts_with("001 "));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut events = BTreeMap::new();
    for event in all {
        let number = event.get(..3).unwrap_or_default();
        if number == "006" || (!run && event.contains("Finished transferring output files")) {
            continue;
        }
        let count = counts.entry(number.to_owned()).or_default();
        *count += 1;
        let mut lines = event.lines();
        // Number, id, date and time come first.
        let first = lines.next().unwrap_or_default().splitn(5, ' ').nth(4).unwrap_or_default();
        let told = std::iter::once(first).chain(lines).filter(|line| !is_measured(line));
        let told: Vec<String> = told.map(|told| line(row(told).unwrap_or(told))).collect();
        events.insert(format!("{number} {count}"), told.join(" | "));
    }
    events
}

/// Attributes of an event that contain times, the slot's share, or measured values.
const MEASURED: [&str; 16] = [
    "Cpus",
    "Disk",
    "GPUs",
    "Memory",
    "EventTime",
    "Size",
    "MemoryUsage",
    "ResidentSetSize",
    "ProportionalSetSize",
    "CpusUsage",
    "DiskUsage",
    "SentBytes",
    "ReceivedBytes",
    "TotalSentBytes",
    "TotalReceivedBytes",
    "TimeSlotBusyUsage",
];

/// Returns the name of a row of the table of resources, whose values are measured.
fn row(line: &str) -> Option<&str> {
    Some(line.strip_prefix("\t   ")?.split_once(" : ")?.0.trim_end())
}

/// Returns true if a line contains measured values, or the slot's share of the machine.
fn is_measured(line: &str) -> bool {
    let rest = line.trim_start();
    let of_ad = |name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = "));
    rest.starts_with("Usr ")
        || line.contains("  -  ")
        || line.contains("Resources :")
        || rest.starts_with("SlotName: ")
        || MEASURED.iter().any(|name| of_ad(name))
}

/// Returns a line without names of slots and hosts, addresses and process ids.
pub fn line(text: &str) -> String {
    let mut words = Vec::new();
    for word in normalise::scratch(text).split(' ') {
        let bare = word.trim_matches(|c| "\"':;,.|\t".contains(c));
        let replaced = match () {
            () if bare.starts_with("slot") && bare.contains('@') => word.replace(bare, "SLOT"),
            () if bare.starts_with('<') && bare.contains(':') => word.replace(bare, "ADDRESS"),
            () if bare.split('.').count() == 4
                && bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') =>
            {
                word.replace(bare, "IP")
            }
            () => word.to_owned(),
        };
        words.push(replaced);
    }
    // The access point is named by its host, which is not that of the recording.
    let mut line = words.join(" ");
    for lead in ["access point "] {
        let mut out = String::new();
        let mut rest = line.as_str();
        while let Some(at) = rest.find(lead) {
            let (before, after) = rest.split_at(at + lead.len());
            out += before;
            out += "HOST";
            let end = after.find([' ', '.']).unwrap_or(after.len());
            // A host name may contain dots; a sentence ends with a dot and a blank.
            let end = after
                .find(". ")
                .or_else(|| after.find(' '))
                .unwrap_or(end)
                .min(after.find(' ').unwrap_or(after.len()));
            rest = &after[end..];
        }
        line = out + rest;
    }
    // Iwd has another name here.
    iwd(&line)
}

fn iwd(text: &str) -> String {
    const PLACE: &str = "@LOCAL_DIR@/j/";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(PLACE) {
        out += &rest[..at];
        out += "@LOCAL_DIR@/iwd";
        let after = &rest[at + PLACE.len()..];
        rest = after.find(['/', '"']).map_or("", |end| &after[end..]);
    }
    out + rest
}
