//! Compares the results of our programs with a recording.

use std::collections::BTreeMap;

use super::accounts::Accounts;
use super::calls::{Call, JobCalls, by_job};
use super::exceptions::{Allow, Exceptions};
use super::findings::{Difference, Findings, attributes};
use super::handed_out;
use super::outcome::Counts;
use super::play::Played;
use super::scenario::Scenario;
use super::states;
use super::subject::Subject;

/// Returns the names of places that lists may contain: jobs, cases of a starter that is run directly
/// (including its calls), slots, and the order of jobs.
pub fn places(scenario: &Scenario) -> Vec<String> {
    let cases: Vec<(String, f64)> =
        scenario.cases.iter().map(|case| (case.name.clone(), case.start)).collect();
    let (jobs, _) = by_job(&scenario.calls, &cases);
    let jobs = jobs.iter().map(|group| format!("job {}", group.job));
    let called = cases.iter().flat_map(|(name, _)| [name.clone(), format!("job {name}")]);
    let slots = states::recorded(&scenario.timeline).into_keys();
    jobs.chain(called).chain(slots).chain(["jobs".to_owned()]).collect()
}

/// The inputs of a comparison.
pub struct Comparison<'a> {
    pub scenario: &'a Scenario,
    pub subject: &'a Subject,
    pub accounts: &'a Accounts,
    pub exceptions: &'a Exceptions,
    pub only: Option<&'a str>,
}

impl Comparison<'_> {
    /// Compares everything.
    pub fn compare(&self, calls: &[Call], played: &Played) -> (Counts, Vec<Difference>) {
        let mut findings = Findings::new(self.exceptions, self.subject, self.accounts.own, self.only);
        let (recorded, recorded_idle) = by_job(&self.scenario.calls, &self.recorded_cases());
        let our_cases: Vec<(String, f64)> =
            played.cases.iter().map(|case| (case.name.clone(), case.start)).collect();
        let (ours, our_idle) = by_job(calls, &our_cases);
        self.order_of_jobs(&recorded, &ours, &mut findings);
        for group in &recorded {
            match ours.iter().find(|other| other.job == group.job) {
                Some(other) => self.job(group, other, &mut findings),
                None => {
                    let then = names(kinds(&group.main));
                    findings.maps(&format!("job {}", group.job), "calls", &then, &BTreeMap::new());
                }
            }
        }
        for group in &ours {
            if !recorded.iter().any(|other| other.job == group.job) {
                let now = names(kinds(&group.main));
                findings.maps(&format!("job {}", group.job), "calls", &BTreeMap::new(), &now);
            }
        }
        // The number of fetches without a result depends on timing: those in the same state of a slot must
        // agree.
        let state = |call: &Call| {
            let stdin = call.stdin.as_deref().unwrap_or_default();
            let value = |name| super::calls::value(stdin, name).unwrap_or_default();
            (call.slot(), value("State"), value("Activity"), value("JobId"), value("JobStarts"))
        };
        // Times are relative to the first fetch, which both sides have.
        let first = |calls: &[Call]| {
            calls.iter().find(|call| call.kind() == "FETCH_WORK").map_or(0.0, |call| call.start)
        };
        let (then, now) = (first(&self.scenario.calls), first(calls));
        for recorded in &recorded_idle {
            let apart = |ours: &Call| ((ours.start - now) - (recorded.start - then)).abs();
            let alike = our_idle.iter().filter(|ours| state(ours) == state(recorded));
            match alike.min_by(|a, b| apart(a).total_cmp(&apart(b))) {
                Some(ours) => findings.call(&format!("idle {}", recorded.label), recorded, ours),
                None => findings.counts.calls.skipped += 1,
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

    /// Compares the order of jobs: with one slot, jobs must come in the recorded order; with several slots
    /// they race.
    fn order_of_jobs(&self, recorded: &[JobCalls<'_>], ours: &[JobCalls<'_>], findings: &mut Findings<'_>) {
        let slots = states::recorded(&self.scenario.timeline).len();
        let list = |groups: &[JobCalls<'_>]| {
            let of_jobs = groups.iter().filter(|group| !group.is_cron());
            of_jobs.map(|group| group.job.clone()).collect::<Vec<_>>().join(" ")
        };
        let (recorded, ours) = (list(recorded), list(ours));
        if slots <= 1 && recorded != ours {
            findings.maps("jobs", "order", &names(recorded), &names(ours));
        }
    }

    fn job(&self, recorded: &JobCalls<'_>, ours: &JobCalls<'_>, findings: &mut Findings<'_>) {
        let place = format!("job {}", recorded.job);
        if recorded.is_cron() {
            return self.cron(recorded, ours, findings);
        }
        let (then, now) = (kinds(&recorded.main), kinds(&ours.main));
        findings.maps(&place, "calls", &names(then), &names(now));
        // Slots that fetch from the same queue race for its jobs, so a difference in the slot is ignored.
        let slot = |calls: &[&Call]| calls.iter().find_map(|call| call.slot());
        let raced = slot(&recorded.main) != slot(&ours.main);
        let from = findings.differences.len();
        for (then, now) in pairs(&recorded.main, &ours.main) {
            findings.call(&format!("{place} {}", then.label), then, now);
        }
        // No caller waits for updates, and their number depends on time: the input of the first one must
        // agree, and that of later ones with those in the same state of the job.
        for (index, then) in recorded.updates.iter().enumerate() {
            let Some(_) = &then.stdin else {
                // The input was not recorded: only the order is known.
                match ours.updates.get(index) {
                    Some(now) => findings.call(&format!("{place} {}", then.label), then, now),
                    None => findings.counts.calls.skipped += 1,
                }
                continue;
            };
            let now = ours.updates.iter().find(|now| state_of(then) == state_of(now));
            match now {
                Some(now) => findings.call(&format!("{place} {}", then.label), then, now),
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
            let (mut index, before) = (0, findings.differences.len());
            findings.differences.retain(|difference| {
                index += 1;
                index <= from || !of_slot(difference)
            });
            let fewer = before - findings.differences.len();
            let values = &mut findings.counts.values;
            values.compared = values.compared.saturating_sub(fewer);
            values.excused += fewer;
        }
        // The timeline contains updates of all runs of a job, of which only the first is replayed.
        let total = match self.scenario.machine_ad {
            Some(_) => 0,
            None => self.recorded_updates(&recorded.job),
        };
        if total > 0 && total.abs_diff(ours.updates.len()) > 1 + total / 4 {
            findings.differ(
                &place,
                "number of updates",
                Some(total.to_string()),
                Some(ours.updates.len().to_string()),
            );
        }
    }

    /// Compares the runs of one cron job. Only the first two are recorded, but the timeline lists all. They
    /// are compared run by run, with the seconds since the job's first run; the number may differ by the run
    /// at the end.
    fn cron(&self, recorded: &JobCalls<'_>, ours: &JobCalls<'_>, findings: &mut Findings<'_>) {
        let place = &recorded.job;
        let times = self.cron_starts(place);
        if times.len().abs_diff(ours.main.len()) > 1 + times.len() / 10 {
            let number = |runs: usize| Some(runs.to_string());
            findings.differ(place, "number of runs", number(times.len()), number(ours.main.len()));
        }
        for (then, now) in recorded.main.iter().zip(&ours.main) {
            findings.call(&format!("cron {}", then.label), then, now);
            if then.exit.is_some() && then.exit != now.exit {
                findings.differ(place, "exit", then.exit.clone(), now.exit.clone());
            }
        }
        let since = |starts: &[f64]| -> Vec<f64> { starts.iter().map(|at| at - starts[0]).collect() };
        let ours: Vec<f64> = ours.main.iter().map(|call| call.start).collect();
        for (run, (then, now)) in since(&times).iter().zip(since(&ours)).enumerate() {
            // The daemon's timers have whole seconds and are late by some milliseconds each time.
            if (then - now).abs() > 1.2 {
                let seconds = |at: f64| Some(format!("{at:.1} s"));
                findings.differ(place, &format!("start of run {}", run + 1), seconds(*then), seconds(now));
                break;
            }
        }
    }

    /// Returns the start times of a cron job, from the timeline.
    fn cron_starts(&self, name: &str) -> Vec<f64> {
        let needle = format!(" {name} (pid");
        let starts =
            self.scenario.timeline.lines().filter(|line| line.contains(&needle) && line.contains(" starts"));
        starts
            .filter_map(|line| line.trim_start().strip_prefix('+')?.split(' ').next()?.parse().ok())
            .collect()
    }

    /// Returns the number of updates in the timeline, because only the first three of a starter are recorded.
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

    fn states(&self, played: &Played, findings: &mut Findings<'_>) {
        if !self.scenario.cases.is_empty() {
            return;
        }
        let ours = states::ours(&played.events);
        let recorded = states::recorded(&self.scenario.timeline);
        if recorded.is_empty() {
            // No slot can be created with this configuration.
            findings.counts.states.compared += 1;
            if !ours.is_empty() {
                findings.differ("slots", "states", None, Some(format!("{ours:?}")));
            }
        }
        for (slot, then) in recorded {
            let mut then = then;
            let mut now = ours.get(&slot).cloned().unwrap_or_default();
            if findings.allowed("", "states", "no work in between", Allow::Value) {
                (then, now) = (states::without_gaps(&then), states::without_gaps(&now));
            }
            findings.counts.states.compared += then.len();
            let at = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
            // States that the end of the run cuts off are not compared: whole daemons are shut down by
            // signals.
            let place = format!("state {at}");
            if at < then.len() && !findings.allowed(&slot, "states", &place, Allow::Value) {
                let from = at.saturating_sub(1);
                let show = |list: &[String]| Some(list.get(from..).unwrap_or_default().join(" "));
                findings.differ(&slot, &place, show(&then), show(&now));
            }
        }
    }

    fn cases(&self, played: &Played, findings: &mut Findings<'_>) {
        for (case, ours) in self.scenario.cases.iter().zip(&played.cases) {
            findings.counts.calls.compared += 1;
            if case.exit != ours.exit {
                let reason = ours.stderr.lines().next().unwrap_or_default();
                let ends = |end: String| BTreeMap::from([("status".to_owned(), end)]);
                let now = ends(format!("{} ({reason})", ours.exit));
                findings.maps(&case.name, "exit", &ends(case.exit.clone()), &now);
            }
            if let Some(log) = &case.log {
                let (then, now) = (handed_out::events(log), handed_out::events(&ours.log));
                findings.maps(&format!("job {}", case.name), "log", &then, &now);
            }
            findings.maps(&case.name, "result-ad", &attributes(&case.stdout), &attributes(&ours.stdout));
        }
    }

    fn left(&self, played: &Played, findings: &mut Findings<'_>) {
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
        if !played.left_running.is_empty() {
            findings.differ("processes", "left running", None, Some(played.left_running.join(", ")));
        }
    }
}

/// Returns a list of names as a value that exceptions can apply to.
fn names(list: String) -> BTreeMap<String, String> {
    BTreeMap::from([("names".to_owned(), list)])
}

/// Returns the kinds of calls in order, with the argument that distinguishes them.
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
    // No caller waits for REPLY_FETCH: the starter's first hook may begin before it.
    if let Some(reply) = words.iter().position(|word| word.starts_with("REPLY_FETCH"))
        && let Some(fetch) = words.iter().position(|word| word == "FETCH_WORK")
        && fetch < reply
    {
        let word = words.remove(reply);
        words.insert(fetch + 1, word);
    }
    words.join(" ")
}

/// Returns the pairs of calls of the same kind, in order.
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

/// Returns the job's state in the input of a starter hook: `before`, `Running`, `Suspended`, `Exited`; with
/// `vacating`.
fn state_of(call: &Call) -> String {
    let stdin = call.stdin.as_deref().unwrap_or_default();
    let state = super::calls::value(stdin, "JobState")
        .map_or("before".to_owned(), |state| state.trim_matches('"').to_owned());
    if super::calls::value(stdin, "VacateReason").is_some() { format!("{state} vacating") } else { state }
}
