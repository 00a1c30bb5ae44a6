//! Reads a recording of slots and their policy: the daemon's log and what was done to it (`timeline.txt`), changes and claim events
//! (`events.jsonl`), calls of hooks and cron jobs, submit files, and the ads that were asked for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::Result;
use super::happening::{Changes, Happening, What};
use super::submit::{self, Submit};

/// One change of a slot: seconds since the start, and the state and activity it went to.
pub type Change = (f64, String);

/// What is known of a call of FETCH_WORK that brought a job.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// When it began.
    pub at: f64,
    /// What it printed.
    pub stdout: Vec<u8>,
}

/// One recording.
pub struct Recording {
    pub directory: PathBuf,
    /// What its README says that it shows.
    pub title: String,
    pub config: String,
    /// When the recording began, in seconds since the epoch.
    pub epoch: f64,
    pub happenings: Vec<Happening>,
    /// What each slot went through.
    pub states: BTreeMap<String, Vec<Change>>,
    pub fetches: Vec<Fetch>,
    pub submits: BTreeMap<i64, Submit>,
    /// When the daemon ended without being asked to.
    pub ends: Vec<f64>,
    /// How long it lasted.
    pub end: f64,
}

/// STARTER_INITIAL_UPDATE_INTERVAL of all these recordings, in seconds.
const FIRST_UPDATE: f64 = 2.0;
/// What starters measured of jobs, in recordings of this title, so many seconds after their start: from READMEs and ads.
const MEASURED: &[(&str, f64, &str)] = &[
    ("use POLICY : Preempt_If_Memory_Exceeded, driven", 18.0, "MemoryUsage = 150"),
    ("use POLICY : Hold_If_Memory_Exceeded, driven", 18.0, "MemoryUsage = 150"),
    ("use POLICY : Preempt_If_Disk_Exceeded, driven", 2.0, "DiskUsage = 58609"),
    ("use POLICY : Hold_If_Disk_Exceeded, driven", 2.0, "DiskUsage = 58609"),
];
/// How long after it was asked to end the daemon does so, in seconds.
const ASKED: f64 = 8.0;

/// Whether a directory holds such a recording.
pub fn is_one(directory: &Path) -> bool {
    directory.join("events.jsonl").is_file()
}

/// One line of `timeline.txt` or `events.jsonl` that matters.
#[derive(Clone, Debug)]
struct Line {
    at: f64,
    source: &'static str,
    slot: Option<String>,
    text: String,
}

impl Recording {
    /// Reads everything.
    pub fn read(directory: &Path) -> Result<Self> {
        let text = |name: &str| {
            let path = directory.join(name);
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let timeline = timeline(&text("timeline.txt")?);
        let (states, claims) = events(&text("events.jsonl")?)?;
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
        recording.happened(&timeline, &claims);
        recording.measured();
        recording.before_edits();
        recording.calls()?;
        recording.order();
        Ok(recording)
    }

    /// The configuration as it was at the start: what was put behind it later stands in the recorded file as well.
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

    /// Which submit file became which cluster.
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

    fn happened(&mut self, timeline: &[Line], claims: &[Line]) {
        let mut drain_words = Vec::new();
        let mut cancelled = f64::NEG_INFINITY;
        let mut fetched = f64::NEG_INFINITY;
        let mut begins = false;
        let mut born: BTreeMap<String, f64> = BTreeMap::new();
        let add = |happenings: &mut Vec<Happening>, at, what| {
            happenings.push(Happening { at, what, after: Changes::new() });
        };
        let out = &mut self.happenings;
        for (number, line) in timeline.iter().enumerate() {
            let text = line.text.as_str();
            if line.source == "harness" {
                if let Some(words) = text.strip_prefix("run condor_drain ") {
                    drain_words = words.split(' ').map(str::to_owned).collect();
                }
                if let Some(what) = harness(text) {
                    add(out, line.at, what);
                }
                continue;
            }
            if line.source != "startd" {
                continue;
            }
            let Some(slot) = line.slot.clone() else {
                match text {
                    _ if text.starts_with("Processing drain request") => {
                        add(out, line.at, What::Drain(drain_words.clone()));
                    }
                    _ if text.starts_with("Processing cancel drain request") => {
                        let next = timeline[number + 1..].iter().find(|line| line.source == "startd");
                        // A cancellation that names another drain than the present one.
                        if next.is_none_or(|next| !next.text.starts_with("Failed to cancel draining")) {
                            cancelled = line.at;
                            add(out, line.at, What::CancelDrain);
                        }
                    }
                    _ if text.contains("Finished fetching work successfully") => fetched = line.at,
                    _ if text.contains("received VACATE_ALL_CLAIMS command") => {
                        add(out, line.at, What::Vacate { slot: None, fast: false });
                    }
                    _ if text.contains("received VACATE_ALL_FAST command") => {
                        add(out, line.at, What::Vacate { slot: None, fast: true });
                    }
                    _ if text.starts_with("** condor_startd") => begins = true,
                    _ if text.starts_with("Got SIG") => {
                        let asked = timeline[..number].iter().rev().take_while(|it| it.at > line.at - ASKED);
                        let how = match text {
                            _ if text.contains("graceful") => "graceful",
                            _ if text.contains("peaceful") => "peaceful",
                            _ => "fast",
                        };
                        if asked.filter(|it| it.source == "harness").any(|it| is_end(&it.text)) {
                            add(out, line.at, What::ShutDown(how));
                        } else {
                            self.ends.push(line.at);
                        }
                    }
                    _ => {}
                }
                continue;
            };
            if text.starts_with("New ") && text.contains("lot of type") && std::mem::take(&mut begins) {
                add(out, line.at, What::Start);
            }
            if text.starts_with("New dSlot") {
                born.insert(slot, line.at);
                continue;
            }
            let ends_claimed = text.ends_with("-> Claimed") || text.ends_with("-> Claimed/Idle");
            if text.starts_with("Changing state") && ends_claimed {
                let taken_over = text.contains("Preempting/") || line.at - fetched < 0.5;
                let at = born.remove(&slot).unwrap_or(line.at);
                if !taken_over {
                    add(out, at, self::request(&slot, at < line.at || is_dynamic(&slot)));
                }
            } else if text.starts_with("Partitionable slot can't be split") {
                add(out, line.at, self::request(&slot, false));
            } else if let Some(what) = of_slot(&slot, text) {
                add(out, line.at, what);
            } else if text.contains("unretiring because no preempting claim exists")
                && line.at - cancelled > 0.2
            {
                add(out, line.at, What::Release { slot, waiting: true });
            } else if text.starts_with("State change: preempting claim based on") {
                add(out, line.at, self::request(&slot, false));
            }
        }
        for line in claims {
            let Some(slot) = line.slot.clone() else { continue };
            let what = match line.text.as_str() {
                "Called deactivate_claim()" => What::Deactivate { slot, how: "" },
                "Called deactivate_claim_forcibly()" => What::Deactivate { slot, how: "forcibly" },
                "Called deactivate_claim_job_done()" => What::Deactivate { slot, how: "job_done" },
                "State change: received RELEASE_CLAIM command" => What::Release { slot, waiting: false },
                "State change: received RELEASE_CLAIM command from preempting claim" => {
                    What::Release { slot, waiting: true }
                }
                text if text.starts_with("State change: starter exited") => What::StarterExited { slot },
                _ => continue,
            };
            add(out, line.at, what);
        }
        self.jobs_of_claims(timeline, claims);
    }

    /// Which job a claim was made for is known when it is activated; and with which lease from the log.
    fn jobs_of_claims(&mut self, timeline: &[Line], claims: &[Line]) {
        let _ = timeline;
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
        let submits: Vec<(f64, i64)> = self.submits.iter().map(|(id, submit)| (submit.at, *id)).collect();
        for happening in &mut self.happenings {
            let at = happening.at;
            match &mut happening.what {
                What::Activate { slot, job } => {
                    let named = remote.iter().rev().find(|(t, s, _)| s == slot && *t <= at + 0.001);
                    *job = named.map_or((0, 0), |(_, _, id)| *id);
                }
                What::Request { claimed, job, lease, .. } => {
                    let next = remote.iter().find(|(t, s, _)| s == claimed && *t >= at - 0.001);
                    let latest = submits.iter().rev().find(|(t, _)| *t <= at).map(|(_, id)| (*id, 0));
                    // The next job may be one that was submitted later, under the same claim.
                    let there = next
                        .map(|(_, _, id)| *id)
                        .filter(|(cluster, _)| submits.iter().any(|(t, id)| id == cluster && *t <= at));
                    *job = there.or(latest);
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

    /// Starters tell the startd of their jobs some seconds after the start: that they run, and what was measured of them as far as
    /// the recordings know it.
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

    /// Calls of cron jobs and fetch hooks, with what they printed.
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
                && let Some(at) = number("end_s")
            {
                let what = What::CronOutput { program: name.to_owned(), stdout };
                self.happenings.push(Happening { at, what, after: Changes::new() });
            }
        }
        self.fetches.sort_by(|a, b| a.at.total_cmp(&b.at));
        Ok(())
    }

    /// In order of time, each with how far the slots were.
    fn order(&mut self) {
        self.happenings.sort_by(|a, b| a.at.total_cmp(&b.at));
        for happening in &mut self.happenings {
            let until = match happening.what {
                // Within the millisecond the log tells the cause first.
                What::StarterExited { .. } | What::FinalUpdate { .. } => happening.at - 0.0005,
                _ => happening.at - 0.0015,
            };
            for (slot, changes) in &self.states {
                let count = changes.iter().take_while(|(at, _)| *at <= until).count();
                happening.after.insert(slot.clone(), count);
            }
        }
    }

    /// The first answer of condor_status after this time, or the last before it.
    pub fn status_after(&self, at: f64) -> Option<&str> {
        let named = self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Status(name) => Some((happening.at, name.as_str())),
            _ => None,
        });
        let all: Vec<(f64, &str)> = named.collect();
        all.iter().find(|(then, _)| *then >= at).or(all.last()).map(|(_, name)| *name)
    }

    /// Names of the answers of condor_status.
    pub fn statuses(&self) -> impl Iterator<Item = &str> {
        self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Status(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// When a slot changed last before it had changed so often.
    pub fn changed_at(&self, slot: &str, count: usize) -> Option<f64> {
        self.states.get(slot)?.get(count.checked_sub(1)?).map(|(at, _)| *at)
    }
}

/// Whether the harness asked the daemon to end.
fn is_end(what: &str) -> bool {
    ["stop: ", "still running: ", "run condor_off", "run condor_restart"]
        .iter()
        .any(|words| what.starts_with(words))
}

fn is_dynamic(slot: &str) -> bool {
    slot.rsplit_once('_').is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

fn request(slot: &str, dynamic: bool) -> What {
    let parent = slot.rsplit_once('_').map_or(slot, |(parent, _)| parent);
    let addressed = if dynamic { parent } else { slot };
    What::Request { slot: addressed.to_owned(), claimed: slot.to_owned(), job: None, lease: 1800 }
}

fn of_slot(slot: &str, text: &str) -> Option<What> {
    let slot = slot.to_owned();
    if text.starts_with("Changing activity") && text.ends_with("-> Cleaning") {
        return Some(What::FinalUpdate { slot });
    }
    Some(match text.strip_prefix("State change: ")? {
        "received VACATE_CLAIM command" => What::Vacate { slot: Some(slot), fast: false },
        "received VACATE_CLAIM_FAST command" => What::Vacate { slot: Some(slot), fast: true },
        "received SUSPEND_CLAIM command" => What::Suspend { slot, stop: true },
        "received CONTINUE_CLAIM command" => What::Suspend { slot, stop: false },
        "match notification protocol successful" => What::Match { slot },
        text if text.starts_with("claim-activation protocol successful") => {
            What::Activate { slot, job: (0, 0) }
        }
        _ => return None,
    })
}

fn harness(text: &str) -> Option<What> {
    if let Some(printed) = text.strip_prefix("ctl: ") {
        return Some(What::Printed(assignments(printed)));
    }
    if let Some(lines) = text.strip_prefix("condor_config gets: ").or(text.strip_prefix("condor_config: ")) {
        return Some(What::Configure(lines.replace(" | ", "\n")));
    }
    if text.starts_with("run condor_reconfig") {
        return Some(What::Reconfigure);
    }
    if text.starts_with("the console device is touched") {
        return Some(What::Touched);
    }
    text.strip_prefix("condor_status -long  -> ads/").map(|name| What::Status(name.trim().to_owned()))
}

/// `A = 1, B = f(2, 3), C removed`.
fn assignments(text: &str) -> Vec<(String, Option<String>)> {
    let (mut depth, mut quoted, mut parts) = (0i32, false, vec![String::new()]);
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    let read = |part: &String| match part.split_once(" = ") {
        Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
        None => (part.trim().trim_end_matches(" removed").to_owned(), None),
    };
    parts.iter().map(read).collect()
}

/// `   +1.501 startd         slot1: text`.
fn timeline(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((at, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(at) = at.trim_start_matches('+').parse::<f64>() else { continue };
        let (source, rest) = match rest.split_once(' ') {
            Some(("harness", rest)) => ("harness", rest),
            Some(("startd", rest)) => ("startd", rest),
            _ => continue,
        };
        let rest = rest.trim();
        let (slot, text) = match rest.split_once(": ") {
            Some((slot, text)) if source == "startd" && is_slot(slot) => {
                (Some(slot.split('[').next().unwrap_or(slot).to_owned()), text)
            }
            _ => (None, rest),
        };
        lines.push(Line { at, source, slot, text: text.to_owned() });
    }
    lines
}

/// Names of slots end in a number and have no blank: `slot1`, `big1_2`, `slot1[3.0]`.
fn is_slot(word: &str) -> bool {
    let name = word.split('[').next().unwrap_or(word);
    !name.contains(' ')
        && name.ends_with(|c: char| c.is_ascii_digit())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Changes of each slot, and the lines on claims.
fn events(text: &str) -> Result<(BTreeMap<String, Vec<Change>>, Vec<Line>)> {
    let (mut states, mut claims) = (BTreeMap::<String, Vec<Change>>::new(), Vec::new());
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).map_err(|error| format!("events.jsonl: {error}"))?;
        let word = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        let at = event.get("t").and_then(Value::as_f64).unwrap_or(0.0);
        let (slot, why) = (word("slot"), word("why").unwrap_or_default());
        if event.get("claim").is_some() {
            claims.push(Line { at, source: "startd", slot, text: why });
        } else if let (Some(slot), Some(to)) = (slot, word("to")) {
            states.entry(slot).or_default().push((at, to));
        }
    }
    Ok((states, claims))
}

/// The heading without the name of the recording.
fn title(readme: &str) -> String {
    let heading = readme.lines().next().unwrap_or_default();
    heading.split_once(": ").map_or(heading, |(_, title)| title).trim().to_owned()
}

/// `11/21/26 00:31:03.711` is so many seconds after the start of the recording.
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

/// Days since the epoch of a date (the usual count over eras of 400 years).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cron_job_prints_is_told_apart_by_commas_outside_of_calls() {
        let printed = assignments(r#"A = f(1, "x, y"), B removed"#);
        assert_eq!(printed, [("A".into(), Some(r#"f(1, "x, y")"#.into())), ("B".into(), None)]);
    }

    #[test]
    fn dates_are_days_since_the_epoch() {
        assert_eq!((days(1970, 1, 1), days(2026, 11, 21)), (0, 20_778));
    }
}
