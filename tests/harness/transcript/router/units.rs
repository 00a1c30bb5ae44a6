//! Splits the recorded queue log into units that were written at once, with their writer and time.

use std::collections::{BTreeMap, BTreeSet};

use htc_hooks::job::JobId;

/// An action of a router, as it appears in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Managed = "External".
    Claim,
    /// A copy with this id is submitted.
    Submit(JobId),
    /// Attributes of a source job are set.
    Write,
    /// Output of an update hook is set in a copy.
    Answer,
    /// LeaveJobInQueue = FALSE.
    Finalize,
    /// The copy is removed.
    Remove,
    /// Managed = "Schedd" or "ScheddDone".
    Yield {
        /// True if the job is done.
        done: bool,
    },
}

impl Kind {
    /// Returns true if the action concerns a copy, so that its id is that of the copy and not of the source
    /// job.
    pub fn is_of_copy(self) -> bool {
        matches!(self, Kind::Answer | Kind::Finalize | Kind::Remove)
    }
}

/// A transaction, or a record outside of one.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its lines.
    pub text: Vec<u8>,
    /// True if it belongs to the log of the second queue.
    pub is_second: bool,
    /// The job concerned (see [`Kind::is_of_copy`]) and the action, if the router wrote it.
    pub router: Option<(JobId, Kind)>,
    /// The resulting attributes of all keys by lower-case name; `None` for a deleted one.
    pub sets: BTreeMap<String, (String, Option<String>)>,
    /// Earliest time.
    pub after: f64,
    /// Latest time.
    pub before: f64,
    /// True if a person held, released or removed the job.
    pub by_hand: bool,
    /// True if it was caused by a periodic expression of a source job.
    pub periodic: bool,
    /// The latest time among its attributes that are set to the current time.
    pub stamp: Option<f64>,
    /// Offset of its end in the log, in bytes.
    pub end: u64,
}

/// Attributes that are set to the current time.
const STAMPS: [&str; 3] = ["enteredcurrentstatus", "qdate", "jobfinishedhookdone"];
/// Maximum delay between the timestamp of a router's write and its appearance in the log.
const SLACK: f64 = 1.4;
/// The same for the schedd, which buffers most of its writes.
const BUFFERED: f64 = 8.0;

struct Line<'a> {
    op: &'a str,
    key: Option<JobId>,
    name: &'a str,
    value: &'a str,
}

fn line(text: &str) -> Line<'_> {
    let mut words = text.splitn(4, ' ');
    let op = words.next().unwrap_or_default();
    let key = words.next().and_then(|key| JobId::parse_key(key.as_bytes()));
    Line { op, key, name: words.next().unwrap_or_default(), value: words.next().unwrap_or_default() }
}

/// Splits a queue log, and recognizes the writes of the router with this name. `answered` are the lower-case
/// names of all attributes in the outputs of update hooks.
pub fn cut(log: &str, router: &str, answered: &BTreeSet<String>) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut classifier = Classifier::new(router, answered);
    let mut open: Option<Vec<&str>> = None;
    for text in log.split_inclusive('\n') {
        match (text.get(..3), &mut open) {
            (Some("105"), _) => open = Some(vec![text]),
            (Some("106"), Some(_)) => {
                let mut lines = open.take().unwrap_or_default();
                lines.push(text);
                units.push(classifier.unit(&lines));
            }
            (_, Some(lines)) => lines.push(text),
            _ => units.push(classifier.unit(&[text])),
        }
    }
    let mut end = 0;
    for unit in &mut units {
        end += unit.text.len() as u64;
        unit.end = end;
    }
    let mut after = 0.0_f64;
    for unit in &mut units {
        after = after.max(unit.stamp.unwrap_or(0.0));
        unit.after = after;
    }
    let mut before = f64::INFINITY;
    for unit in units.iter_mut().rev() {
        let slack = if unit.router.is_some() { SLACK } else { BUFFERED };
        before = before.min(unit.stamp.map_or(f64::INFINITY, |stamp| stamp + slack));
        unit.before = before;
    }
    units
}

/// Determines the writer of one unit of a log after the other.
pub struct Classifier<'a> {
    router: &'a str,
    answered: &'a BTreeSet<String>,
    /// Copies and their source jobs.
    copies: BTreeMap<JobId, JobId>,
    /// Source jobs that the router has released.
    given_back: BTreeSet<JobId>,
}

impl<'a> Classifier<'a> {
    pub fn new(router: &'a str, answered: &'a BTreeSet<String>) -> Self {
        Classifier { router, answered, copies: BTreeMap::new(), given_back: BTreeSet::new() }
    }

    /// Creates the unit of these lines, which were written at once.
    pub fn unit(&mut self, lines: &[&str]) -> Unit {
        let parsed: Vec<Line<'_>> = lines.iter().map(|text| line(text.trim_end_matches('\n'))).collect();
        let mut sets = BTreeMap::new();
        for line in &parsed {
            match line.op {
                "103" => {
                    sets.insert(line.name.to_lowercase(), (line.name.to_owned(), Some(line.value.to_owned())))
                }
                "104" => sets.insert(line.name.to_lowercase(), (line.name.to_owned(), None)),
                _ => None,
            };
        }
        let stamp = STAMPS.iter().filter_map(|name| value(&sets, name)?.parse::<f64>().ok());
        // A value set by a hook need not be a time of a recording.
        let stamp = stamp.filter(|stamp| *stamp > 1e9).max_by(f64::total_cmp);
        let mut unit = Unit {
            text: lines.concat().into_bytes(),
            is_second: false,
            router: None,
            sets,
            after: 0.0,
            before: f64::INFINITY,
            by_hand: false,
            periodic: false,
            stamp,
            end: 0,
        };
        unit.router = self.router_of(&parsed, &unit.sets);
        unit.by_hand = unit.router.is_none() && unit.sets.contains_key("jobstatus") && by_hand(&unit.sets);
        // Mirrored values have the timestamps of others; values that the router itself sets are new.
        if matches!(unit.router, Some((_, Kind::Write | Kind::Answer)))
            && !unit.sets.contains_key("jobstatus")
        {
            unit.stamp = None;
        }
        if let Some((_, Kind::Write)) = unit.router {
            let code = value(&unit.sets, "holdreasoncode") == Some("3");
            let removed = value(&unit.sets, "removereason").is_some();
            unit.periodic = removed || (code && !unit.sets.contains_key("holdcopiedfromtargetjob"));
        }
        unit
    }

    fn router_of(
        &mut self,
        lines: &[Line<'_>],
        sets: &BTreeMap<String, (String, Option<String>)>,
    ) -> Option<(JobId, Kind)> {
        let is = |name: &str, expected: &str| value(sets, name) == Some(expected);
        let mut created = lines.iter().filter(|line| line.op == "101").filter_map(|line| line.key);
        if let Some(copy) = created.rfind(|key| key.is_job()) {
            let from = value(sets, "routedfromjobid").map(|text| text.trim_matches('"').to_owned());
            let ours = value(sets, "routedby").is_some_and(|by| by.trim_matches('"') == self.router);
            let source = from.and_then(|from| JobId::parse_key(from.as_bytes())).filter(|_| ours)?;
            self.copies.insert(copy, source);
            return Some((source, Kind::Submit(copy)));
        }
        if lines.first().is_none_or(|line| line.op != "105") {
            return None;
        }
        let key = lines.iter().filter_map(|line| line.key).find(|key| key.is_job())?;
        // This attribute marks the recorder's own edits.
        if sets.contains_key("editedbyhand") {
            return None;
        }
        let others = |(name, _): (&String, _)| !["managed", "managedmanager"].contains(&name.as_str());
        // The gridmanager also claims copies and releases them.
        let is_copy = self.copies.contains_key(&key);
        if is("managed", "\"External\"") && !sets.iter().any(others) && !is_copy {
            self.given_back.remove(&key);
            return Some((key, Kind::Claim));
        }
        if (is("managed", "\"Schedd\"") || is("managed", "\"ScheddDone\"")) && !is_copy {
            self.given_back.insert(key);
            return Some((key, Kind::Yield { done: is("managed", "\"ScheddDone\"") }));
        }
        let by_user = by_hand(sets);
        if self.copies.contains_key(&key) {
            let removed = value(sets, "removereason").is_some_and(|text| text.starts_with("\"JobRouter"));
            let leaves =
                value(sets, "leavejobinqueue").is_some_and(|text| text.eq_ignore_ascii_case("false"));
            // Otherwise a router sets only attributes of a hook's output in a copy.
            let counts = ["numholds", "numholdsbyreason"];
            let by_hook = |name: &String| {
                let name = name.strip_suffix("_raw").unwrap_or(name);
                counts.contains(&name) || self.answered.contains(name)
            };
            let answered = !sets.is_empty() && sets.keys().all(by_hook);
            return match () {
                () if removed => Some((key, Kind::Remove)),
                () if leaves && sets.len() == 1 => Some((key, Kind::Finalize)),
                () if answered => Some((key, Kind::Answer)),
                () => None,
            };
        }
        // The schedd maintains the state of jobs that were released.
        if self.given_back.contains(&key) && sets.contains_key("jobstatus") {
            return None;
        }
        let destroyed = lines.iter().any(|line| line.op == "102");
        if destroyed || (by_user && !sets.contains_key("holdcopiedfromtargetjob")) {
            return None;
        }
        // The schedd does not change managed jobs, and in a recording nothing else edits an idle one without
        // a copy.
        let others = sets.contains_key("jobpreparingtasks") || sets.contains_key("jobfinishedhookdone");
        (!others && !sets.is_empty()).then_some((key, Kind::Write))
    }
}

fn by_hand(sets: &BTreeMap<String, (String, Option<String>)>) -> bool {
    let reasons = ["holdreason", "removereason", "releasereason"];
    reasons.iter().any(|name| value(sets, name).is_some_and(|text| text.starts_with("\"via condor_")))
}

/// Returns the value of an attribute in a unit.
fn value<'a>(sets: &'a BTreeMap<String, (String, Option<String>)>, name: &str) -> Option<&'a str> {
    sets.get(name)?.1.as_deref()
}
