//! Reads a recording of slots and their policy: the daemon's log and the recorder's actions (`timeline.txt`),
//! changes and claim events (`events.jsonl`), calls of hooks and cron jobs, submit files, and the requested
//! ads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::Result;
use super::happening::{Changes, Happening, What};
use super::log::{self, Line};
use super::submit::{self, Submit};

/// A state change of a slot: seconds since the start, and the new state and activity.
pub type Change = (f64, String);
/// State changes of each slot.
pub type States = BTreeMap<String, Vec<Change>>;

/// A call of FETCH_WORK that returned a job.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Start time.
    pub at: f64,
    /// Output.
    pub stdout: Vec<u8>,
}

/// A recording.
pub struct Recording {
    pub directory: PathBuf,
    /// Title from its README.
    pub title: String,
    pub config: String,
    /// Start of the recording, in seconds since the epoch.
    pub epoch: f64,
    pub happenings: Vec<Happening>,
    /// State changes of each slot.
    pub states: States,
    pub fetches: Vec<Fetch>,
    pub submits: BTreeMap<i64, Submit>,
    /// Times at which the daemon ended without being told to.
    pub ends: Vec<f64>,
    /// Duration in seconds.
    pub end: f64,
}

/// STARTER_INITIAL_UPDATE_INTERVAL of all these recordings, in seconds.
const FIRST_UPDATE: f64 = 2.0;
/// Values that starters measured, by the title of the recording, with the seconds after the start of the job:
/// from READMEs and ads.
const MEASURED: &[(&str, f64, &str)] = &[
    ("use POLICY : Preempt_If_Memory_Exceeded, driven", 18.0, "MemoryUsage = 150"),
    ("use POLICY : Hold_If_Memory_Exceeded, driven", 18.0, "MemoryUsage = 150"),
    ("use POLICY : Preempt_If_Disk_Exceeded, driven", 2.0, "DiskUsage = 58609"),
    ("use POLICY : Hold_If_Disk_Exceeded, driven", 2.0, "DiskUsage = 58609"),
];
/// Returns true if a directory contains such a recording.
pub fn is_one(directory: &Path) -> bool {
    directory.join("events.jsonl").is_file()
}

impl Recording {
    /// Reads a recording.
    pub fn read(directory: &Path) -> Result<Self> {
        let text = |name: &str| {
            let path = directory.join(name);
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let timeline = log::timeline(&text("timeline.txt")?);
        let (states, claims) = log::events(&text("events.jsonl")?)?;
        let mut recording = Recording {
            directory: directory.to_owned(),
            title: String::new(),
            config: text("condor_config")?,
            epoch: epoch(&text("StartLog.extract")?, &timeline)?,
            happenings: Vec::new(),
            fetches: Vec::new(),
            ends: Vec::new(),
            submits: BTreeMap::new(),
            end: timeline.iter().map(|line| line.at).fold(0.0, f64::max),
            states,
        };
        recording.submissions(&timeline)?;
        recording.title = title(&text("README.md")?);
        let log = log::read(&timeline, &claims);
        (recording.happenings, recording.ends) = (log.happenings, log.ends);
        recording.jobs_of_claims(&claims);
        recording.measured();
        recording.before_edits();
        recording.calls()?;
        recording.order();
        Ok(recording)
    }

    /// Restores the configuration at the start, because the recorded file also contains lines that were
    /// appended later.
    fn before_edits(&mut self) {
        let edits = self.happenings.iter().rev().filter_map(|happening| match &happening.what {
            What::Configure(lines) => Some(lines.clone()),
            _ => None,
        });
        for lines in edits.collect::<Vec<_>>() {
            let config = self.config.trim_end();
            if let Some(before) = config.strip_suffix(lines.as_str()) {
                self.config = format!("{}\n", before.trim_end());
            }
        }
    }

    /// Assigns submit files to clusters.
    fn submissions(&mut self, timeline: &[Line]) -> Result<()> {
        let defaults = submit::defaults(&self.config);
        let (mut owner, mut file) = (String::new(), None);
        for line in timeline.iter().filter(|line| line.source == "harness") {
            if let Some(rest) = line.text.strip_prefix("submit as ") {
                owner = rest.split(':').next().unwrap_or_default().to_owned();
            } else if let Some(rest) = line.text.strip_prefix("run condor_submit ") {
                file = rest.split('/').next_back().map(str::to_owned);
            } else if let Some(rest) = line.text.strip_prefix("condor_submit returned 0: ")
                && let Some(cluster) = rest.split('.').next().and_then(|number| number.parse().ok())
                && let Some(file) = file.take()
            {
                let path = self.directory.join("subs").join(&file);
                let text =
                    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                self.submits.insert(
                    cluster,
                    Submit { owner: owner.clone(), text, at: line.at, defaults: defaults.clone() },
                );
            }
        }
        Ok(())
    }

    /// Finds the job of each claim, which is known when the claim is activated, and its lease, which is in
    /// the log.
    fn jobs_of_claims(&mut self, claims: &[Line]) {
        let remote: Vec<(f64, String, (i64, i64))> = claims
            .iter()
            .filter_map(|line| {
                let (cluster, proc) = line.text.strip_prefix("Remote job ID is ")?.split_once('.')?;
                Some((line.at, line.slot.clone()?, (cluster.parse().ok()?, proc.parse().ok()?)))
            })
            .collect();
        let leases: Vec<(f64, String, i64)> = claims
            .iter()
            .filter_map(|line| {
                let (_, rest) = line.text.split_once(" w/ ")?;
                Some((line.at, line.slot.clone()?, rest.split(' ').next()?.parse().ok()?))
            })
            .collect();
        let mut requested: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        let submits: Vec<(f64, i64)> = self.submits.iter().map(|(id, submit)| (submit.at, *id)).collect();
        for happening in &mut self.happenings {
            let at = happening.at;
            match &mut happening.what {
                What::Activate { slot, job } => {
                    let named = remote.iter().rev().find(|(t, s, _)| s == slot && *t <= at + 0.001);
                    // No line names the job of an activation that was refused.
                    let requested = requested.get(slot).copied().unwrap_or((0, 0));
                    *job = named.map_or(requested, |(_, _, id)| *id);
                }
                What::Request { claimed, job, lease, .. } => {
                    let next = remote.iter().find(|(t, s, _)| s == claimed && *t >= at - 0.001);
                    let latest = submits.iter().rev().find(|(t, _)| *t <= at).map(|(_, id)| (*id, 0));
                    // The next job may have been submitted later, under the same claim.
                    let there = next
                        .map(|(_, _, id)| *id)
                        .filter(|(cluster, _)| submits.iter().any(|(t, id)| id == cluster && *t <= at));
                    *job = there.or(latest);
                    requested.insert(claimed.clone(), job.unwrap_or((0, 0)));
                    if let Some((_, _, seconds)) =
                        leases.iter().find(|(t, s, _)| s == claimed && *t >= at - 0.001)
                    {
                        *lease = *seconds;
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds the updates that starters send to the startd some seconds after the start: that the job runs, and
    /// measured values if the recording contains them.
    fn measured(&mut self) {
        let mut updates = Vec::new();
        for happening in &self.happenings {
            let What::Activate { slot, .. } = &happening.what else { continue };
            let mut update = |after: f64, lines: &str| {
                let (slot, lines) = (slot.clone(), lines.to_owned());
                let what = What::JobUpdate { slot, lines };
                updates.push(Happening { at: happening.at + after, what, after: Changes::new() });
            };
            update(FIRST_UPDATE, "JobState = \"Running\"");
            for (title, after, lines) in MEASURED.iter().filter(|(title, ..)| *title == self.title) {
                debug_assert!(!title.is_empty());
                update(*after, lines);
            }
        }
        self.happenings.extend(updates);
    }

    /// Reads the calls of cron jobs and fetch hooks, with their outputs.
    fn calls(&mut self) -> Result<()> {
        let Ok(entries) = fs::read_dir(self.directory.join("hooks")) else { return Ok(()) };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(meta) = fs::read(path.join("meta.json")) else { continue };
            let meta: Value =
                serde_json::from_slice(&meta).map_err(|error| format!("{}: {error}", path.display()))?;
            let number = |key: &str| meta.get(key).and_then(Value::as_f64);
            let Some(name) = meta.get("hook").and_then(Value::as_str) else { continue };
            let stdout = fs::read(path.join("stdout")).unwrap_or_default();
            let starter = ["PREPARE_JOB", "UPDATE_JOB_INFO", "JOB_EXIT", "REPLY_FETCH", "EVICT_CLAIM"];
            if name.ends_with("FETCH_WORK") {
                if let Some(at) = number("start_s").filter(|_| !stdout.is_empty()) {
                    self.fetches.push(Fetch { at, stdout });
                }
            } else if name != "job"
                && !starter.iter().any(|hook| name.ends_with(hook))
                && let Some(end) = number("end_s")
            {
                for (at, stdout) in rounds(number("start_s").unwrap_or(end), end, &stdout) {
                    let what = What::CronOutput { program: name.to_owned(), stdout };
                    self.happenings.push(Happening { at, what, after: Changes::new() });
                }
            }
        }
        self.fetches.sort_by(|a, b| a.at.total_cmp(&b.at));
        Ok(())
    }

    /// Sorts the events by time, each with the number of state changes before it.
    fn order(&mut self) {
        self.happenings.sort_by(|a, b| a.at.total_cmp(&b.at));
        for happening in &mut self.happenings {
            let until = match happening.what {
                // Within the same millisecond, the log lists the cause first.
                What::StarterExited { .. } | What::FinalUpdate { .. } => happening.at - 0.0005,
                _ => happening.at - 0.0015,
            };
            for (slot, changes) in &self.states {
                let count = changes.iter().take_while(|(at, _)| *at <= until).count();
                happening.after.insert(slot.clone(), count);
            }
        }
    }

    /// Returns the first output of condor_status after this time, or the last one before it.
    pub fn status_after(&self, at: f64) -> Option<&str> {
        let named = self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Status(name) => Some((happening.at, name.as_str())),
            _ => None,
        });
        let all: Vec<(f64, &str)> = named.collect();
        all.iter().find(|(then, _)| *then >= at).or(all.last()).map(|(_, name)| *name)
    }

    /// Returns the names of the outputs of condor_status.
    pub fn statuses(&self) -> impl Iterator<Item = &str> {
        self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Status(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the time of the `count`th change of a slot.
    pub fn changed_at(&self, slot: &str, count: usize) -> Option<f64> {
        self.states.get(slot)?.get(count.checked_sub(1)?).map(|(at, _)| *at)
    }
}

/// Returns the heading without the name of the recording.
fn title(readme: &str) -> String {
    let heading = readme.lines().next().unwrap_or_default();
    heading.split_once(": ").map_or(heading, |(_, title)| title).trim().to_owned()
}

/// Returns the epoch of the recording's start, from `11/21/26 00:31:03.711` and the seconds since the start.
fn epoch(log: &str, timeline: &[Line]) -> Result<f64> {
    let line = log.lines().find(|line| line.contains("STARTING UP")).ok_or("StartLog.extract: no start")?;
    let first = timeline.iter().find(|line| line.text.starts_with("** condor_startd"));
    let at = first.ok_or("timeline.txt: no start")?.at;
    let numbers: Vec<f64> = line
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter(|part| !part.is_empty())
        .take(6)
        .filter_map(|part| part.parse().ok())
        .collect();
    let [month, day, year, hour, minute, second] = numbers[..] else {
        return Err(format!("StartLog.extract: no time in {line:?}"));
    };
    let days = days(2000 + year as i64, month as i64, day as i64);
    Ok(days as f64 * 86_400.0 + hour * 3600.0 + minute * 60.0 + second - at)
}

/// Returns the number of days from the epoch to a date (the usual algorithm with eras of 400 years).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns the outputs of a cron job with their times. A job that keeps running prints records at whole
/// intervals from its start; the output of any other job is read at its end.
fn rounds(start: f64, end: f64, stdout: &[u8]) -> Vec<(f64, Vec<u8>)> {
    let lines: Vec<&[u8]> = stdout.split_inclusive(|byte| *byte == b'\n').collect();
    let Some(last) = lines.iter().rfind(|line| line.starts_with(b"-")) else {
        return vec![(end, stdout.to_vec())];
    };
    let mut rounds = vec![Vec::new()];
    for line in &lines {
        if let Some(round) = rounds.last_mut() {
            round.extend_from_slice(line);
        }
        if line == last {
            rounds.push(Vec::new());
        }
    }
    rounds.retain(|round| !round.is_empty());
    let every = ((end - start) / rounds.len() as f64).round();
    if rounds.len() < 2 || every < 1.0 {
        return vec![(end, stdout.to_vec())];
    }
    rounds.into_iter().enumerate().map(|(number, round)| (start + every * number as f64, round)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_the_epoch() {
        assert_eq!((days(1970, 1, 1), days(2026, 11, 21)), (0, 20_778));
    }
}
