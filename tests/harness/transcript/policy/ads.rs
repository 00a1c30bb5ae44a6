//! Compares the ads that slots send with those of the recorded collector, attribute by attribute.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use htc_hooks::classad::ClassAd;
use htc_hooks::classad::format::long;
use htc_hooks::os::RealWorld;
use htc_hooks::world::World as _;

use super::super::findings::Difference;
use super::super::outcome::Tally;
use super::super::readings::kind;
use super::super::{Outcome, Result};
use super::compare::tick;
use super::player::{Played, Sent};
use super::recording::Recording;

/// Attributes as they are in an ad.
pub type Attributes = BTreeMap<String, String>;

/// Attributes without a counterpart here: those that need daemons or a network, and measured values. `*`
/// stands for any beginning or end.
const WITHOUT_COUNTERPART: &[&str] = &[
    // Added by the collector, or about the connection to it.
    "Authenticat*",
    "Updates*",
    "UpdateSequenceNumber",
    "LastHeardFrom",
    "DaemonLastReconfigTime",
    // Command sockets, network adapters, sleep states.
    "MyAddress",
    "AddressV1",
    "StartdIpAddr",
    "IsWake*",
    "WakeOnLan*",
    "PublicClaimId",
    "ChildPublicClaimId",
    // The daemon's measurements of itself.
    "MonitorSelf*",
    "DaemonCoreDutyCycle",
    "RecentDaemonCoreDutyCycle",
    // The machine: processor, system, load, and its processes.
    "CpuFamily",
    "CpuModelNumber",
    "CpuCacheSize",
    "Microarch",
    "has_*",
    "Utsname*",
    "OpSys*",
    "DetectedCpus",
    "DetectedMemory",
    "DetectedDisk",
    "LoadAvg",
    "TotalLoadAvg",
    "CondorLoadAvg",
    "TotalCondorLoadAvg",
    "HasUserNamespaces",
    "CondorVersion",
    "CondorPlatform",
    "Arch",
    "ImageSize",
    "CpusUsage",
    "ResidentSetSize",
    "MemoryUsage",
    "DiskUsage",
    "StarterPid",
    "NumPids",
    "StdoutMtime",
    "StderrMtime",
    "ScratchDirFileCount",
    "ProportionalSetSizeKb",
    "CPUsUsage",
    "JobPid",
    "ExecutableSize",
    // Depends on whether the negotiator matched the slot, or the schedd knew it from an earlier claim.
    "RemoteNegotiatingGroup",
    "RemoteAutoregroup",
    // Time of the last run of the harness's cron job, which runs every second.
    "LastUpdate",
];
/// Times and sums of seconds: they may differ by as much as a change may be late.
const TIMES: &[&str] = &[
    "EnteredCurrent*",
    "JobStart",
    "MyCurrentTime",
    "DaemonStartTime",
    "TotalTime*",
    "TotalJobRunTime",
    "TotalJobSuspendTime",
    "TotalClaimRunTime",
    "TotalClaimSuspendTime",
    "RetirementTimeRemaining",
    "ClockMin",
    "KeyboardIdle",
    "ConsoleIdle",
    "ExpectedMachine*",
    "LastFetchWork*",
    "LastDrain*",
    "NumDynamicSlotsTime",
    "TotalMachineDraining*",
    "LastBenchmark",
    "*LastUpdate",
    "*Time",
];
const MINUTES_OF_DAY: i64 = 24 * 60;
/// Age of an ad in the collector, in seconds.
const AGE: i64 = 3;

/// Returns the ads in one output of condor_status, by the slots' ids.
pub fn read(directory: &Path, name: &str) -> Result<BTreeMap<String, Attributes>> {
    Ok(parse(&text(directory, name)?))
}

/// Returns the ads in a text, by the slots' ids.
pub fn parse(text: &str) -> BTreeMap<String, Attributes> {
    let mut ads = BTreeMap::new();
    for part in text.split("\n\n") {
        let ad = attributes_of(part);
        let slot = ad.get("Name").and_then(|name| name.trim_matches('"').split_once('@'));
        if let Some((slot, _)) = slot.filter(|_| ad.contains_key("SlotID")) {
            ads.insert(slot.to_owned(), ad);
        }
    }
    ads
}

/// Returns the lines of one ad.
pub fn attributes_of(text: &str) -> Attributes {
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns true if an attribute has no counterpart here.
pub fn is_without_counterpart(name: &str) -> bool {
    fits(WITHOUT_COUNTERPART, name)
}

/// Compares all requested ads.
pub fn compare(recording: &Recording, played: &Played, outcome: &mut Outcome) -> Result<()> {
    for name in recording.statuses() {
        for (slot, recorded) in read(&recording.directory, name)? {
            let heard =
                recorded.get("LastHeardFrom").and_then(|value| value.parse::<i64>().ok()).unwrap_or(0);
            let near = |sent: &&Sent| sent.slot == slot && (heard - AGE..=heard + 1).contains(&sent.epoch);
            let ours = played.sent.iter().filter(near).map(|sent| attributes(&sent.ad, played));
            let compared = ours.map(|ours| differences(recording, &recorded, &ours));
            let place = format!("ads/{name} {slot}");
            let Some((tally, mut found)) = compared.min_by_key(|(_, found)| found.len()) else {
                outcome.differences.push(Difference {
                    place,
                    what: "ad".to_owned(),
                    recorded: Some("an ad".to_owned()),
                    ours: None,
                });
                continue;
            };
            outcome.counts.values += tally;
            found.iter_mut().for_each(|found| found.place.clone_from(&place));
            outcome.differences.append(&mut found);
        }
    }
    Ok(())
}

/// Returns an output, or the result of applying its difference to the output named in the first line of the
/// difference.
fn text(directory: &Path, name: &str) -> Result<String> {
    let read = |kind: &str| {
        let path = directory.join("ads").join(format!("{name}.{kind}"));
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let whole = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let Ok(diff) = read("diff") else { return read("ads").map(whole) };
    let diff = whole(diff);
    let from = diff.lines().next().and_then(|line| line.strip_prefix("--- "));
    let from = from.ok_or_else(|| format!("ads/{name}.diff names no other answer"))?;
    patched(&text(directory, from.trim())?, &diff)
        .ok_or_else(|| format!("ads/{name}.diff does not fit {from}"))
}

/// Applies a unified diff.
fn patched(from: &str, diff: &str) -> Option<String> {
    let old: Vec<&str> = from.lines().collect();
    let (mut at, mut new) = (0, Vec::new());
    let mut inside = false;
    for line in diff.lines() {
        if let Some(rest) = line.strip_prefix("@@ -") {
            let number = rest.split([',', ' ']).next()?.parse::<usize>().ok()?;
            let start = number.saturating_sub(usize::from(!rest.starts_with(&format!("{number},0 "))));
            new.extend_from_slice(old.get(at..start)?);
            (at, inside) = (start, true);
        } else if inside {
            match line.split_at_checked(1) {
                Some(("-", _)) => at += 1,
                Some(("+", added)) => new.push(added),
                _ => {
                    new.push(old.get(at)?);
                    at += 1;
                }
            }
        }
    }
    new.extend_from_slice(old.get(at..)?);
    Some(new.join("\n"))
}

fn attributes(ad: &ClassAd, played: &Played) -> Attributes {
    let text = long::print(ad);
    let mut attributes =
        attributes_of(&taken_out(&String::from_utf8_lossy(&text), &played.local, &played.host));
    as_recorder(&mut attributes);
    attributes
}

/// Replaces values that depend on the account and the time zone of the tests, because the recordings were
/// made by root in UTC.
fn as_recorder(attributes: &mut Attributes) {
    let number = |name: &str| attributes.get(name).and_then(|value| value.parse::<i64>().ok());
    if let (Some(minute), Some(day), Some(now)) =
        (number("ClockMin"), number("ClockDay"), number("MyCurrentTime"))
    {
        let offset = i64::from(RealWorld::new().zone(now).offset) / 60;
        // A cron job may publish another time of day, which does not depend on the time zone.
        let is_local = ((now / 60 + offset).rem_euclid(MINUTES_OF_DAY) - minute).abs() <= 1;
        let offset = if is_local { offset } else { 0 };
        let minutes = (day * MINUTES_OF_DAY + minute - offset).rem_euclid(7 * MINUTES_OF_DAY);
        attributes.insert("ClockMin".to_owned(), (minutes % MINUTES_OF_DAY).to_string());
        attributes.insert("ClockDay".to_owned(), (minutes / MINUTES_OF_DAY).to_string());
    }
    let account = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    if let (Some(reason), Some(account)) = (attributes.get_mut("DrainReason"), account)
        && *reason == format!("\"by {}\"", account.name)
    {
        *reason = "\"by root\"".to_owned();
    }
}

/// Returns the number of compared attributes, and the differences. Measured values are compared by type, if
/// ours has them.
fn differences(recording: &Recording, recorded: &Attributes, ours: &Attributes) -> (Tally, Vec<Difference>) {
    let tick = tick(recording) + AGE as f64;
    let (mut tally, mut found) = (Tally::default(), Vec::new());
    let names = recorded.keys().chain(ours.keys().filter(|name| !recorded.contains_key(*name)));
    for name in names {
        let (then, now) = (recorded.get(name), ours.get(name));
        if is_without_counterpart(name) {
            match (then, now) {
                (Some(then), Some(now)) if kind(then) == kind(now) => tally.compared += 1,
                (Some(then), Some(now)) => found.push(Difference {
                    place: String::new(),
                    what: format!("{name} (its kind)"),
                    recorded: Some(then.clone()),
                    ours: Some(now.clone()),
                }),
                (Some(_), None) => {
                    tally.skipped += 1;
                    if std::env::var_os("HTC_REPLAY_SAID").is_some() {
                        println!("skipped slot-ad {name}");
                    }
                }
                (None, _) => {}
            }
            continue;
        }
        tally.compared += 1;
        let number = |value: Option<&String>| value.map_or(Ok(0.0), |value| value.parse::<f64>());
        // Seconds of all processors together.
        let tick = if name.ends_with("Badput") { tick * 8.0 } else { tick };
        let near = fits(TIMES, name)
            && matches!((number(then), number(now)), (Ok(then), Ok(now)) if (then - now).abs() <= tick);
        if then != now && !near {
            found.push(Difference {
                place: String::new(),
                what: name.clone(),
                recorded: then.cloned(),
                ours: now.cloned(),
            });
        }
    }
    (tally, found)
}

/// Inserts the placeholders of recordings for this directory and this host.
pub fn taken_out(text: &str, local: &str, host: &str) -> String {
    let mut text = text.replace(local, "@LOCAL_DIR@");
    // The name of a host may be any word.
    for (before, after) in [("@", "\""), ("@", "#"), ("\"", "\""), ("\"", "#")] {
        text = text.replace(&format!("{before}{host}{after}"), &format!("{before}@HOST@{after}"));
    }
    text
}

fn fits(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => *pattern == name,
    })
}
