//! Compares what our programs did with a recording.

use std::collections::BTreeMap;
use std::fmt;

use super::accounts::Accounts;
use super::calls::{Call, JobCalls, by_job};
use super::exceptions::{Allow, Exceptions};
use super::play::Played;
use super::scenario::Scenario;
use super::{normalise, states};

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Calls that had a counterpart.
    pub calls: usize,
    /// Attributes, variables and facts.
    pub values: usize,
    /// States of slots.
    pub states: usize,
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Job and record it is about.
    pub place: String,
    /// What differs.
    pub what: String,
    /// As recorded; nothing when only ours has it.
    pub recorded: Option<String>,
    /// As ours; nothing when only the recording has it.
    pub ours: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "(nothing)".to_owned());
        write!(
            f,
            "{}: {}: recorded {}, ours {}",
            self.place,
            self.what,
            side(&self.recorded),
            side(&self.ours)
        )
    }
}

/// What is compared with what.
pub struct Comparison<'a> {
    pub scenario: &'a Scenario,
    pub accounts: &'a Accounts,
    pub exceptions: &'a Exceptions,
    pub only: Option<&'a str>,
}

/// Collects.
struct Findings {
    counts: Counts,
    differences: Vec<Difference>,
}

impl Findings {
    fn differ(&mut self, place: &str, what: &str, recorded: Option<String>, ours: Option<String>) {
        self.differences.push(Difference { place: place.to_owned(), what: what.to_owned(), recorded, ours });
    }
}

impl Comparison<'_> {
    /// Compares everything.
    pub fn compare(&self, calls: &[Call], played: &Played) -> (Counts, Vec<Difference>) {
        let mut findings = Findings { counts: Counts::default(), differences: Vec::new() };
        let (recorded, recorded_idle) = by_job(&self.scenario.calls, &self.recorded_cases());
        let our_cases: Vec<(String, f64)> =
            played.cases.iter().map(|case| (case.name.clone(), case.start)).collect();
        let (ours, our_idle) = by_job(calls, &our_cases);
        self.order_of_jobs(&recorded, &ours, &mut findings);
        for group in &recorded {
            match ours.iter().find(|other| other.job == group.job) {
                Some(other) => self.job(group, other, &mut findings),
                None => {
                    findings.differ(&format!("job {}", group.job), "calls", Some(kinds(&group.main)), None)
                }
            }
        }
        for group in &ours {
            if !recorded.iter().any(|other| other.job == group.job) {
                findings.differ(&format!("job {}", group.job), "calls", None, Some(kinds(&group.main)));
            }
        }
        // Fetches that brought nothing are as many as fit into the time: those in the same state of a slot must agree.
        let state = |call: &Call| {
            let stdin = call.stdin.as_deref().unwrap_or_default();
            let value = |name| super::calls::value(stdin, name).unwrap_or_default();
            (call.slot(), value("State"), value("Activity"), value("JobId"), value("JobStarts"))
        };
        for recorded in &recorded_idle {
            if let Some(ours) = our_idle.iter().find(|ours| state(ours) == state(recorded)) {
                self.call(&format!("idle {}", recorded.label), recorded, ours, &mut findings);
            }
        }
        if !recorded_idle.is_empty() && our_idle.is_empty() {
            findings.differ(
                "idle",
                "fetches that bring nothing",
                Some(recorded_idle.len().to_string()),
                None,
            );
        }
        self.states(played, &mut findings);
        self.cases(played, &mut findings);
        self.left(played, &mut findings);
        for what in &played.not_done {
            findings.differ("harness", "cannot be done to htc-slot-run", Some(what.clone()), None);
        }
        (findings.counts, findings.differences)
    }

    fn recorded_cases(&self) -> Vec<(String, f64)> {
        self.scenario.cases.iter().map(|case| (case.name.clone(), case.start)).collect()
    }

    /// With one slot jobs must come in the recorded order; with more they race.
    fn order_of_jobs(&self, recorded: &[JobCalls<'_>], ours: &[JobCalls<'_>], findings: &mut Findings) {
        let slots = states::recorded(&self.scenario.timeline).len();
        let list = |groups: &[JobCalls<'_>]| {
            groups.iter().map(|group| group.job.clone()).collect::<Vec<_>>().join(" ")
        };
        let (recorded, ours) = (list(recorded), list(ours));
        if slots <= 1 && recorded != ours {
            findings.differ("jobs", "order", Some(recorded), Some(ours));
        }
    }

    fn job(&self, recorded: &JobCalls<'_>, ours: &JobCalls<'_>, findings: &mut Findings) {
        let place = format!("job {}", recorded.job);
        let (then, now) = (kinds(&recorded.main), kinds(&ours.main));
        if then != now {
            findings.differ(&place, "calls", Some(then), Some(now));
        }
        // Slots that ask the same queue race for its jobs: which one got a job is no difference.
        let slot = |calls: &[&Call]| calls.iter().find_map(|call| call.slot());
        let raced = slot(&recorded.main) != slot(&ours.main);
        let from = findings.differences.len();
        for (then, now) in pairs(&recorded.main, &ours.main) {
            self.call(&format!("{place} {}", then.label), then, now, findings);
        }
        // Nobody waits for updates, and their number depends on time: what is told in the first, and after that in the
        // same state of the job, must agree.
        for then in &recorded.updates {
            let now = ours.updates.iter().find(|now| state_of(then) == state_of(now));
            match now {
                Some(now) => self.call(&format!("{place} {}", then.label), then, now, findings),
                None => {
                    let all: Vec<String> = ours.updates.iter().map(|update| state_of(update)).collect();
                    findings.differ(
                        &format!("{place} {}", then.label),
                        "update",
                        Some(state_of(then)),
                        Some(all.join(" ")),
                    );
                }
            }
        }
        if raced {
            let of_slot = |difference: &Difference| {
                difference.what.starts_with("slot-ad") || difference.what.ends_with("_CONDOR_SLOT")
            };
            let mut index = 0;
            findings.differences.retain(|difference| {
                index += 1;
                index <= from || !of_slot(difference)
            });
        }
        let total = self.recorded_updates(&recorded.job);
        if total > 0 && total.abs_diff(ours.updates.len()) > 1 + total / 4 {
            findings.differ(
                &place,
                "number of updates",
                Some(total.to_string()),
                Some(ours.updates.len().to_string()),
            );
        }
    }

    /// The timeline lists every update, the records only the first three of a starter.
    fn recorded_updates(&self, job: &str) -> usize {
        let needle = format!(" job {job},");
        self.scenario
            .timeline
            .lines()
            .filter(|line| {
                line.contains("_HOOK_UPDATE_JOB_INFO (pid")
                    && line.contains(" starts ")
                    && line.contains(&needle)
            })
            .count()
    }

    fn call(&self, place: &str, recorded: &Call, ours: &Call, findings: &mut Findings) {
        let kind = recorded.kind();
        if self.only.is_some_and(|only| only != kind) {
            return;
        }
        findings.counts.calls += 1;
        if recorded.argv != ours.argv {
            findings.differ(
                place,
                "argv",
                Some(format!("{:?}", recorded.argv)),
                Some(format!("{:?}", ours.argv)),
            );
        }
        if let (Some(then), Some(now)) = (&recorded.stdin, &ours.stdin) {
            self.input(place, &kind, then, now, findings);
        }
        if let Some(then) = &recorded.env {
            let now = ours.env.as_deref().unwrap_or_default();
            let map = |env: &[(String, String)]| {
                env.iter()
                    .map(|(name, value)| (name.clone(), normalise::scratch(value)))
                    .collect::<BTreeMap<_, _>>()
            };
            let mut then = map(then);
            if !self.accounts.own {
                then.remove("HOME");
            }
            let mut now = map(now);
            if !self.accounts.own {
                now.remove("HOME");
            }
            self.maps(place, &format!("env.{kind}"), &then, &now, findings);
        }
        if let (Some(then), Some(now)) = (&recorded.job_ad, &ours.job_ad) {
            self.maps(place, "job-ad", &attributes(then), &attributes(now), findings);
        }
        if let Some(then) = &recorded.machine_ad {
            let now = ours.machine_ad.as_deref().unwrap_or_default();
            self.maps(place, "machine-ad", &attributes(then), &attributes(now), findings);
        }
        let mut then: BTreeMap<String, String> = recorded
            .meta
            .iter()
            .map(|(name, value)| (name.clone(), normalise::list(&normalise::scratch(value))))
            .collect();
        if !self.accounts.own {
            ["uid", "gid", "groups"].iter().for_each(|name| drop(then.remove(*name)));
        }
        let now: BTreeMap<String, String> = ours
            .meta
            .iter()
            .filter(|(name, _)| then.contains_key(*name))
            .map(|(name, value)| (name.clone(), normalise::list(value)))
            .collect();
        self.maps(place, &format!("fact.{kind}"), &then, &now, findings);
    }

    /// Standard input: one ad, or job ad, `-----` and slot ad.
    fn input(&self, place: &str, kind: &str, recorded: &[u8], ours: &[u8], findings: &mut Findings) {
        let (then, now) = (parts(recorded), parts(ours));
        if then.len() != now.len() {
            findings.differ(place, "ads on stdin", Some(then.len().to_string()), Some(now.len().to_string()));
        }
        for (index, (then, now)) in then.iter().zip(&now).enumerate() {
            let what = if kind == "FETCH_WORK" || index == 1 { "slot-ad" } else { "job-ad" };
            let (left, right) = (attributes(then.as_bytes()), attributes(now.as_bytes()));
            self.maps(place, &format!("{what}.{kind}"), &left, &right, findings);
            let sorted = |text: &str| {
                let names: Vec<&str> =
                    text.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
                names.iter().take_while(|name| **name != "ClaimId").is_sorted()
            };
            if sorted(then) && !sorted(now) {
                findings.differ(
                    place,
                    "order of attributes on stdin",
                    Some("sorted".to_owned()),
                    Some("not sorted".to_owned()),
                );
            }
        }
        let ends = |bytes: &[u8]| bytes.last() == Some(&b'\n');
        if !recorded.is_empty() && ends(recorded) != ends(ours) {
            let word = |yes: bool| Some(if yes { "a newline".to_owned() } else { "no newline".to_owned() });
            findings.differ(place, "end of stdin", word(ends(recorded)), word(ends(ours)));
        }
    }

    fn maps(
        &self,
        place: &str,
        what: &str,
        recorded: &BTreeMap<String, String>,
        ours: &BTreeMap<String, String>,
        findings: &mut Findings,
    ) {
        let scenario = self
            .scenario
            .directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let allowed = |name: &str, wanted| self.exceptions.allow(&scenario, what, name, wanted);
        for (name, then) in recorded {
            findings.counts.values += 1;
            match ours.get(name) {
                Some(now) if now == then => {}
                Some(now) if !allowed(name, Allow::Value) => {
                    findings.differ(place, &format!("{what} {name}"), Some(then.clone()), Some(now.clone()));
                }
                None if !allowed(name, Allow::Missing) => {
                    findings.differ(place, &format!("{what} {name}"), Some(then.clone()), None);
                }
                _ => {}
            }
        }
        for (name, now) in ours {
            if !recorded.contains_key(name) && !allowed(name, Allow::Extra) {
                findings.differ(place, &format!("{what} {name}"), None, Some(now.clone()));
            }
        }
    }

    fn states(&self, played: &Played, findings: &mut Findings) {
        if !self.scenario.cases.is_empty() {
            return;
        }
        let ours = states::ours(&played.events);
        for (slot, then) in states::recorded(&self.scenario.timeline) {
            let now = ours.get(&slot).cloned().unwrap_or_default();
            findings.counts.states += then.len();
            let at = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
            // What the end of the run cuts off is not compared: shutting down is done by signals to whole daemons.
            if at < then.len() {
                let from = at.saturating_sub(1);
                let show = |list: &[String]| Some(list.get(from..).unwrap_or_default().join(" "));
                findings.differ(&slot, &format!("state {at}"), show(&then), show(&now));
            }
        }
    }

    fn cases(&self, played: &Played, findings: &mut Findings) {
        for (case, ours) in self.scenario.cases.iter().zip(&played.cases) {
            findings.counts.calls += 1;
            if case.exit != ours.exit {
                let why = ours.stderr.lines().next().unwrap_or_default();
                findings.differ(
                    &case.name,
                    "exit",
                    Some(case.exit.clone()),
                    Some(format!("{} ({why})", ours.exit)),
                );
            }
            self.maps(
                &case.name,
                "result-ad",
                &attributes(&case.stdout),
                &attributes(&ours.stdout),
                findings,
            );
        }
    }

    fn left(&self, played: &Played, findings: &mut Findings) {
        let remaining =
            std::fs::read_to_string(self.scenario.directory.join("remaining.txt")).unwrap_or_default();
        let nothing = remaining.lines().nth(1) == Some("none");
        if nothing && !played.left.is_empty() {
            findings.differ(
                "EXECUTE",
                "left at the end",
                Some("none".to_owned()),
                Some(played.left.join(" ")),
            );
        }
    }
}

/// The kinds of calls in order, with the argument that tells one from another.
fn kinds(calls: &[&Call]) -> String {
    let mut words: Vec<String> = calls
        .iter()
        .map(|call| match call.kind().as_str() {
            kind @ ("REPLY_FETCH" | "JOB_EXIT") => {
                format!("{kind}({})", call.argv.get(1).map_or("", String::as_str))
            }
            kind => kind.to_owned(),
        })
        .collect();
    // Nobody waits for REPLY_FETCH: the starter's first hook may begin before it.
    if let Some(reply) = words.iter().position(|word| word.starts_with("REPLY_FETCH"))
        && let Some(fetch) = words.iter().position(|word| word == "FETCH_WORK")
        && fetch < reply
    {
        let word = words.remove(reply);
        words.insert(fetch + 1, word);
    }
    words.join(" ")
}

/// Calls of the same kind, first with first and so on.
fn pairs<'a>(recorded: &[&'a Call], ours: &[&'a Call]) -> Vec<(&'a Call, &'a Call)> {
    let mut used = vec![false; ours.len()];
    let mut pairs = Vec::new();
    for then in recorded {
        let found = ours.iter().enumerate().find(|(index, now)| !used[*index] && now.kind() == then.kind());
        if let Some((index, now)) = found {
            used[index] = true;
            pairs.push((*then, *now));
        }
    }
    pairs
}

/// What a starter hook is told of the job's state: `before`, `Running`, `Suspended`, `Exited`; with `vacating`.
fn state_of(call: &Call) -> String {
    let stdin = call.stdin.as_deref().unwrap_or_default();
    let state = super::calls::value(stdin, "JobState")
        .map_or("before".to_owned(), |state| state.trim_matches('"').to_owned());
    if super::calls::value(stdin, "VacateReason").is_some() { format!("{state} vacating") } else { state }
}

/// The ads of a standard input.
fn parts(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.split("-----\n").map(str::to_owned).collect()
}

/// Attributes of a long form, spelling kept; paths made comparable.
fn attributes(ad: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(ad);
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.trim().to_owned(), normalise::scratch(value.trim()))).collect()
}
