//! The recorded queue log cut into what entered the queue at once, with who wrote it and when.

use std::collections::{BTreeMap, BTreeSet};

use htc_hooks::job::JobId;

/// What a router does to the queue, as it shows there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Managed = "External".
    Claim,
    /// A copy is submitted; its id.
    Submit(JobId),
    /// Attributes of a source are set.
    Write,
    /// What an update hook answered is set in a copy.
    Answer,
    /// LeaveJobInQueue = FALSE.
    Finalize,
    /// The copy is removed.
    Remove,
    /// Managed = "Schedd" or "ScheddDone".
    Yield {
        /// Whether the job is done.
        done: bool,
    },
}

impl Kind {
    /// Whether it is done to a copy, whose id then stands beside it, and not the source's.
    pub fn is_of_copy(self) -> bool {
        matches!(self, Kind::Answer | Kind::Finalize | Kind::Remove)
    }
}

/// A transaction, or a record outside of one.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its lines.
    pub text: Vec<u8>,
    /// Whether it stands in the log of the second queue.
    pub is_second: bool,
    /// What the router did with it: the job it is about (see [`Kind::is_of_copy`]), and what.
    pub router: Option<(JobId, Kind)>,
    /// The attributes it leaves behind by lower-case name, of all keys; `None` for a deleted one.
    pub sets: BTreeMap<String, (String, Option<String>)>,
    /// Not before this second.
    pub after: f64,
    /// Not after it.
    pub before: f64,
    /// Whether somebody held, released or removed the job by hand.
    pub by_hand: bool,
    /// Whether a periodic expression of a source was the cause.
    pub periodic: bool,
    /// The latest second that it names as that of its own making.
    pub stamp: Option<f64>,
    /// Where it ends in the log, in bytes.
    pub end: u64,
}

/// Attributes whose value is the second in which they are set.
const STAMPS: [&str; 3] = ["enteredcurrentstatus", "qdate", "jobfinishedhookdone"];
/// How long after its stamp a write of the router may enter the log.
const SLACK: f64 = 1.4;
/// The same for one of the schedd: it leaves most of them in its buffer until it has to write.
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

/// Cuts a queue log, and tells the writes of the router of this name from others. `answered` are the names, in lower case,
/// of all attributes that update hooks answered.
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

/// Tells who wrote what, one piece of a log after the other.
pub struct Classifier<'a> {
    router: &'a str,
    answered: &'a BTreeSet<String>,
    /// Copies and what they are copies of.
    copies: BTreeMap<JobId, JobId>,
    /// Sources that the router managed and manages no more.
    given_back: BTreeSet<JobId>,
}

impl<'a> Classifier<'a> {
    pub fn new(router: &'a str, answered: &'a BTreeSet<String>) -> Self {
        Classifier { router, answered, copies: BTreeMap::new(), given_back: BTreeSet::new() }
    }

    /// What these lines, which enter the queue at once, are.
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
        // What a hook put there need be no time of a recording.
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
        // What the router mirrors was stamped by others; what it sets itself is new.
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
        let is = |name: &str, wanted: &str| value(sets, name) == Some(wanted);
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
        // So a recorder marks what it edited itself.
        if sets.contains_key("editedbyhand") {
            return None;
        }
        let others = |(name, _): (&String, _)| !["managed", "managedmanager"].contains(&name.as_str());
        // The gridmanager claims copies, and gives them back.
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
            // Beside that a router writes to a copy only what a hook has answered.
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
        // Of what was given back the schedd minds the state.
        if self.given_back.contains(&key) && sets.contains_key("jobstatus") {
            return None;
        }
        let destroyed = lines.iter().any(|line| line.op == "102");
        if destroyed || (by_user && !sets.contains_key("holdcopiedfromtargetjob")) {
            return None;
        }
        // The schedd leaves managed jobs alone; an idle one without a copy is edited by nobody else in a recording.
        let others = sets.contains_key("jobpreparingtasks") || sets.contains_key("jobfinishedhookdone");
        (!others && !sets.is_empty()).then_some((key, Kind::Write))
    }
}

fn by_hand(sets: &BTreeMap<String, (String, Option<String>)>) -> bool {
    let reasons = ["holdreason", "removereason", "releasereason"];
    reasons.iter().any(|name| value(sets, name).is_some_and(|text| text.starts_with("\"via condor_")))
}

/// What a unit sets an attribute to.
fn value<'a>(sets: &'a BTreeMap<String, (String, Option<String>)>, name: &str) -> Option<&'a str> {
    sets.get(name)?.1.as_deref()
}
