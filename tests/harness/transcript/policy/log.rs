//! Reads external events from the log of the recorded daemon and the recorder's notes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Result;
use super::happening::{Changes, Happening, What};
use super::recording::States;

/// Time in which the daemon ends after it was told to, in seconds.
const ASKED: f64 = 8.0;

/// Source of the lines about ends of a backfill client's starter.
const CLIENT: &str = "starter boinc";

/// A relevant line of `timeline.txt` or `events.jsonl`.
#[derive(Clone, Debug)]
pub struct Line {
    pub at: f64,
    pub source: &'static str,
    pub slot: Option<String>,
    pub text: String,
}

/// Contents of a log.
#[derive(Default)]
pub struct Log {
    /// External events, in order for each source.
    pub happenings: Vec<Happening>,
    /// Times at which the daemon ended without being told to.
    pub ends: Vec<f64>,
    /// The arguments of condor_drain, until the daemon logs the command.
    drain: Vec<String>,
    cancelled: f64,
    fetched: f64,
    begins: Option<f64>,
    /// Times at which the backfill clients of slots were told to end.
    killing: BTreeMap<String, f64>,
    /// Times at which the starters of the backfill client ended.
    client_ends: Vec<f64>,
    /// Dynamic slots that were killed while busy.
    killed: Vec<(String, f64)>,
    /// Dynamic slots that were created and are not yet claimed.
    born: BTreeMap<String, f64>,
}

/// Reads the daemon's log with the recorder's actions, and the lines about claims.
pub fn read(timeline: &[Line], claims: &[Line]) -> Log {
    let client_ends = timeline.iter().filter(|line| line.source == CLIENT).map(|line| line.at).collect();
    let mut log =
        Log { cancelled: f64::NEG_INFINITY, fetched: f64::NEG_INFINITY, client_ends, ..Log::default() };
    for (number, line) in timeline.iter().enumerate() {
        match (line.source, &line.slot) {
            ("harness", _) => log.done(line),
            ("startd", None) => log.of_daemon(&timeline[..number], line, &timeline[number + 1..]),
            ("startd", Some(slot)) => log.of_slot(line, slot),
            _ => {}
        }
    }
    claims.iter().for_each(|line| log.of_claim(line));
    log
}

impl Log {
    fn add(&mut self, at: f64, what: What) {
        self.happenings.push(Happening { at, what, after: Changes::new() });
    }

    /// True if the starter of the backfill client ended after it was told to, or the recording has no such
    /// lines.
    fn client_ended_since(&self, told: Option<f64>) -> bool {
        let told = told.unwrap_or(f64::NEG_INFINITY);
        self.client_ends.is_empty() || self.client_ends.iter().any(|at| (told..told + ASKED).contains(at))
    }

    fn done(&mut self, line: &Line) {
        if let Some(words) = line.text.strip_prefix("run condor_drain ") {
            self.drain = words.split(' ').map(str::to_owned).collect();
        }
        if let Some(what) = harness(&line.text) {
            self.add(line.at, what);
        }
    }

    fn of_daemon(&mut self, before: &[Line], line: &Line, after: &[Line]) {
        let (at, text) = (line.at, line.text.as_str());
        if text.starts_with("Processing drain request") {
            self.add(at, What::Drain(self.drain.clone()));
        } else if text.starts_with("Processing cancel drain request") {
            let next = after.iter().find(|line| line.source == "startd");
            // The request may name another drain than the current one.
            if next.is_none_or(|next| !next.text.starts_with("Failed to cancel draining")) {
                self.cancelled = at;
                self.add(at, What::CancelDrain);
            }
        } else if text == "State change: benchmarks completed" {
            self.add(at, What::BenchmarksEnded);
        } else if text.contains("Finished fetching work successfully") {
            self.fetched = at;
        } else if text.contains("received VACATE_ALL_CLAIMS command") {
            self.add(at, What::Vacate { slot: None, fast: false });
        } else if text.contains("received VACATE_ALL_FAST command") {
            self.add(at, What::Vacate { slot: None, fast: true });
        } else if text.starts_with("** condor_startd") {
            self.begins = Some(at);
        } else if text.starts_with("Got SIG") {
            let mut asked = before.iter().rev().take_while(|it| it.at > at - ASKED);
            let how = match text {
                _ if text.contains("graceful") => "graceful",
                _ if text.contains("peaceful") => "peaceful",
                _ => "fast",
            };
            if asked.any(|it| it.source == "harness" && is_end(&it.text)) {
                self.add(at, What::ShutDown(how));
            } else {
                self.ends.push(at);
            }
        }
    }

    fn of_slot(&mut self, line: &Line, slot: &str) {
        let (at, text) = (line.at, line.text.as_str());
        if text.starts_with("New ")
            && text.contains("lot of type")
            && let Some(since) = self.begins.take()
        {
            self.add(at, What::Start { since });
        }
        if text == "Changing activity: Busy -> Killing" {
            self.killing.insert(slot.to_owned(), at);
        }
        let after_kill = text.starts_with("Changing state and activity: Backfill/Killing");
        // Slots share one client, which keeps running while another slot needs it.
        let shared = after_kill && !self.client_ended_since(self.killing.get(slot).copied());
        if text.starts_with("State change: Backfill starter exited") || after_kill && !shared {
            self.add(at, What::ClientExited { slot: slot.to_owned() });
        }
        if text == "Changing state and activity: Claimed/Busy -> Preempting/Killing" && is_dynamic(slot) {
            self.killed.push((slot.to_owned(), at));
        }
        if text.starts_with("New dSlot") {
            self.born.insert(slot.to_owned(), at);
            return;
        }
        let is_claimed = text.ends_with("-> Claimed") || text.ends_with("-> Claimed/Idle");
        if text.starts_with("Changing state") && is_claimed {
            let taken_over = text.contains("Preempting/") || at - self.fetched < 0.5;
            let killed = self.killing.get(slot).copied().filter(|_| after_kill);
            let asked = self.born.remove(slot).or(killed).unwrap_or(at);
            let dynamic = is_dynamic(slot);
            if !taken_over {
                let mut what = request(slot, dynamic);
                // Slots that were killed immediately before it was created, without another reason in the
                // log.
                let killed = std::mem::take(&mut self.killed);
                let for_it: Vec<_> =
                    killed.into_iter().filter(|(_, at)| (0.0..0.01).contains(&(asked - at))).collect();
                let first = for_it.first().map(|(_, at)| *at);
                if let What::Request { preempts, .. } = &mut what
                    && dynamic
                {
                    *preempts = for_it.into_iter().map(|(slot, _)| slot).collect();
                }
                self.add(first.filter(|_| dynamic).unwrap_or(asked), what);
            }
        } else if text.starts_with("Partitionable slot can't be split")
            || text.starts_with("State change: preempting claim based on")
        {
            self.add(at, request(slot, false));
        } else if text.contains("unretiring because no preempting claim exists") {
            if at - self.cancelled > 0.2 {
                self.add(at, What::Release { slot: slot.to_owned(), waiting: true });
            }
        } else if let Some(what) = of_slot(slot, text) {
            self.add(at, what);
        }
    }

    fn of_claim(&mut self, line: &Line) {
        let Some(slot) = line.slot.clone() else { return };
        let what = match line.text.as_str() {
            "Called deactivate_claim()" => What::Deactivate { slot, how: "" },
            "Called deactivate_claim_forcibly()" => What::Deactivate { slot, how: "forcibly" },
            "Called deactivate_claim_job_done()" => What::Deactivate { slot, how: "job_done" },
            "State change: received RELEASE_CLAIM command" => What::Release { slot, waiting: false },
            "State change: received RELEASE_CLAIM command from preempting claim" => {
                What::Release { slot, waiting: true }
            }
            // Such lines of `ResState::starterExited` (ResState.cpp) are about the backfill client.
            text if text.starts_with("State change: starter exited") && text.contains("ResState.cpp") => {
                return;
            }
            text if text.starts_with("State change: starter exited") => What::StarterExited { slot },
            _ => return,
        };
        self.add(line.at, what);
    }
}

/// Returns true if the harness told the daemon to end.
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
    let (slot, claimed) = (addressed.to_owned(), slot.to_owned());
    What::Request { slot, claimed, job: None, lease: 1800, preempts: Vec::new() }
}

fn of_slot(slot: &str, text: &str) -> Option<What> {
    let slot = slot.to_owned();
    if text.starts_with("Changing activity") && text.ends_with("-> Cleaning") {
        return Some(What::FinalUpdate { slot });
    }
    // An activation that the slot refused because of its job's Requirements or its own.
    if text.starts_with("Machine Requirements check") && text.ends_with("failed!") {
        return Some(What::Activate { slot, job: (0, 0) });
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
    // `the console device`, or `k2` if there are several devices.
    if text.ends_with(" is touched") || text.starts_with("the console device is touched") {
        return Some(What::Touched);
    }
    text.strip_prefix("condor_status -long  -> ads/").map(|name| What::Status(name.trim().to_owned()))
}

/// Parses `A = 1, B = f(2, 3), C removed`.
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

/// Parses lines such as `   +1.501 startd         slot1: text`.
pub fn timeline(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((at, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(at) = at.trim_start_matches('+').parse::<f64>() else { continue };
        let (source, rest) = match rest.split_once(' ') {
            Some(("harness", rest)) => ("harness", rest),
            Some(("startd", rest)) => ("startd", rest),
            Some(("starter", rest))
                if rest.starts_with("boinc") && rest.contains(" EXITING WITH STATUS ") =>
            {
                (CLIENT, rest)
            }
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

/// Returns true for the name of a slot, which ends in a number and contains no blank: `slot1`, `big1_2`,
/// `slot1[3.0]`.
fn is_slot(word: &str) -> bool {
    let name = word.split('[').next().unwrap_or(word);
    !name.contains(' ')
        && name.ends_with(|c: char| c.is_ascii_digit())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Changes of each slot, and the lines about claims.
pub fn events(text: &str) -> Result<(States, Vec<Line>)> {
    let (mut states, mut claims) = (States::new(), Vec::new());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_output_is_split_at_commas_outside_of_calls() {
        let printed = assignments(r#"A = f(1, "x, y"), B removed"#);
        assert_eq!(printed, [("A".into(), Some(r#"f(1, "x, y")"#.into())), ("B".into(), None)]);
    }
}
