//! Reconstructs the log of a second queue from the recorded data.
//!
//! A schedd rewrites its log when it stops, so that the log contains only the last state of each job. The
//! other sources are the ads in the input of hooks, `condor_q -l` before the end, the recorder's own
//! commands, and the router's log, which shows when the router submitted a copy, when it saw its values, and
//! when it noticed that it was gone. If nothing else is known about a copy, it was submitted like that of
//! another proc of the same cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use htc_hooks::job::JobId;

use super::super::Result;
use super::recording::{read, seconds_of, timed};
use super::units::{Classifier, Kind, Unit};

/// Attributes of a copy that its schedd sets while the copy runs and ends, whatever the route.
const RUN_ATTRIBUTES: [&str; 26] = [
    "CompletionDate",
    "CumulativeRemoteSysCpu",
    "CumulativeRemoteUserCpu",
    "CumulativeSlotTime",
    "EnteredCurrentStatus",
    "ExitBySignal",
    "ExitCode",
    "ExitSignal",
    "ExitStatus",
    "JobCoolDownExpiration",
    "JobCurrentStartDate",
    "JobFinishedHookDone",
    "JobLastStartDate",
    "JobRunCount",
    "JobStartDate",
    "JobStatus",
    "LastJobStatus",
    "LastRemoteWallClockTime",
    "NumJobCompletions",
    "NumJobCoolDowns",
    "NumJobStarts",
    "OrigMaxHosts",
    "RemoteSysCpu",
    "RemoteUserCpu",
    "RemoteWallClockTime",
    "ShadowBday",
];

/// Attributes by name.
type Values = BTreeMap<String, String>;

/// Inserts the reconstructed entries of the second queue's log, if there is one, between those of the first;
/// returns true if there is one.
///
/// # Errors
/// A file of the recording is missing, or nothing is known about a copy.
pub fn merge(
    directory: &Path,
    router: &str,
    answered: &BTreeSet<String>,
    zero: f64,
    units: &mut Vec<Unit>,
) -> Result<bool> {
    let Ok(rewritten) = fs::read_to_string(directory.join("job_queue2.log")) else { return Ok(false) };
    let log = read(&directory.join("JobRouterLog.extract"))?;
    let told = RouterMessage::all(&log);
    let known = Known::read(directory, &rewritten)?;
    let mut history = History {
        classifier: Classifier::new(router, answered),
        written: written(units, &told),
        now: BTreeMap::new(),
        made: Vec::new(),
    };
    history.jobs_of_others(&known, &told);
    for told in &told {
        history.look(&known, told)?;
    }
    for line in read(&directory.join("timeline.txt"))?.lines() {
        let Some((_, text)) = line.split_once("All jobs in cluster ") else { continue };
        let cluster = text.split(' ').next().and_then(|number| number.parse().ok());
        if let (Some(seconds), Some(cluster)) = (seconds_of(line), cluster) {
            history.removed(JobId::new(cluster, 0), zero + seconds, &told);
        }
    }
    history.rest(&known);
    history.merge_into(units);
    Ok(true)
}

/// A message of the router's log about a job.
struct RouterMessage<'a> {
    at: f64,
    source: JobId,
    copy: Option<JobId>,
    sentence: &'a str,
    /// Attributes that it set in the source job just before.
    set: Values,
}

impl<'a> RouterMessage<'a> {
    fn all(log: &'a str) -> Vec<Self> {
        let mut all = Vec::new();
        let mut set = Values::new();
        for (at, text) in timed(log) {
            if let Some((name, value)) = text.strip_prefix("Setting ").and_then(|text| text.split_once(" = "))
            {
                set.insert(name.to_owned(), value.to_owned());
            }
            let Some(rest) = text.strip_prefix("JobRouter (src=") else { continue };
            let Some((description, sentence)) = rest.split_once("): ") else { continue };
            let mut parts = description.split(',');
            let Some(source) = parts.next().and_then(|id| JobId::parse_key(id.as_bytes())) else { continue };
            let copy = parts.find_map(|part| JobId::parse_key(part.strip_prefix("dest=")?.as_bytes()));
            all.push(RouterMessage { at, source, copy, sentence, set: std::mem::take(&mut set) });
        }
        all
    }

    fn is(&self, sentence: &str) -> bool {
        self.sentence == sentence || self.sentence.starts_with(&format!("{sentence} ("))
    }

    /// Returns the copy whose submission the message reports.
    fn submitted(&self) -> Option<JobId> {
        self.copy.filter(|_| self.is("submitted job"))
    }
}

/// Returns the times at which the router wrote each unit of the first queue's log, according to its own log.
fn written(units: &[Unit], told: &[RouterMessage<'_>]) -> Vec<Option<(f64, JobId)>> {
    let mut written = vec![None; units.len()];
    for told in told {
        let fits = |kind: Kind| match kind {
            Kind::Claim => told.is("claimed job"),
            Kind::Write => told.is("updated job status"),
            Kind::Yield { .. } => told.is("yielded job"),
            _ => false,
        };
        let found = units.iter().zip(&written).position(|(unit, known): (&Unit, &Option<_>)| {
            known.is_none() && unit.router.is_some_and(|(id, kind)| id == told.source && fits(kind))
        });
        if let Some(found) = found {
            written[found] = Some((told.at, told.source));
        }
    }
    written
}

/// Recorded data of the jobs of the second queue.
struct Known {
    /// The initial attributes of a job, from its cluster's ad in the rewritten log.
    first: BTreeMap<JobId, Values>,
    /// The whole ad when it was last recorded.
    last: BTreeMap<JobId, Values>,
}

impl Known {
    fn read(directory: &Path, rewritten: &str) -> Result<Self> {
        let mut first: BTreeMap<JobId, Values> = BTreeMap::new();
        for line in rewritten.lines() {
            let mut words = line.splitn(4, ' ');
            let (op, key) = (words.next(), words.next().and_then(|key| JobId::parse_key(key.as_bytes())));
            let (Some("103"), Some(key), Some(name), Some(value)) = (op, key, words.next(), words.next())
            else {
                continue;
            };
            // Later changes are in the job's own ad.
            if key.cluster > 0 && (key.proc == -1 || ["ProcId", "GlobalJobId"].contains(&name)) {
                let values = first.entry(JobId::new(key.cluster, 0)).or_default();
                values.insert(name.to_owned(), value.to_owned());
            }
        }
        let mut texts: Vec<String> =
            read(&directory.join("q2.ads"))?.split("\n\n").map(str::to_owned).collect();
        for entry in fs::read_dir(directory.join("hooks")).into_iter().flatten().flatten() {
            // Hooks that receive both ads: the copy follows the source job.
            let stdin = fs::read_to_string(entry.path().join("stdin")).unwrap_or_default();
            texts.extend(stdin.split_once("\n------\n").map(|(_, copy)| copy.to_owned()));
        }
        let ads = texts.iter().map(|text| {
            let lines = text.lines().filter_map(|line| line.split_once(" = "));
            let values = lines.filter(|(name, _)| *name != "ServerTime");
            values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Values>()
        });
        let last = ads.filter_map(|ad| {
            let number = |name: &str| ad.get(name)?.parse().ok();
            Some((JobId::new(number("ClusterId")?, number("ProcId")?), ad))
        });
        Ok(Known { first, last: last.collect() })
    }

    /// Returns the initial attributes of a copy.
    fn first(&self, copy: JobId, source: JobId) -> Result<Values> {
        if let Some(first) = self.first.get(&copy) {
            return Ok(first.clone());
        }
        let new = || {
            self.first.values().filter(|first| first.get("NumJobStarts").is_some_and(|starts| starts == "0"))
        };
        if let Some(last) = self.last.get(&copy) {
            // Attributes that a schedd never changes are taken from the last ad; the others are the same as
            // in another copy of the same route.
            let other = new().find(|other| other.get("RouteName") == last.get("RouteName"));
            let mut values = last.clone();
            values.retain(|name, _| !RUN_ATTRIBUTES.contains(&name.as_str()));
            for (name, value) in
                other.into_iter().flatten().filter(|(name, _)| RUN_ATTRIBUTES.contains(&name.as_str()))
            {
                let value = if name == "EnteredCurrentStatus" { &last["QDate"] } else { value };
                values.insert(name.clone(), value.clone());
            }
            return Ok(values);
        }
        let from =
            |other: &Values| JobId::parse_key(other.get("RoutedFromJobId")?.trim_matches('"').as_bytes());
        let other = new().find(|other| from(other).is_some_and(|from| from.cluster == source.cluster));
        let mut values = other.cloned().ok_or_else(|| format!("nothing is known of the copy {copy}"))?;
        let former = format!("#{}.0#", values["ClusterId"]);
        values.insert("RoutedFromJobId".into(), format!("\"{source}\""));
        values.insert("ClusterId".into(), copy.cluster.to_string());
        values.entry("GlobalJobId".into()).and_modify(|id| *id = id.replace(&former, &format!("#{copy}#")));
        Ok(values)
    }
}

/// The second queue over time.
struct History<'a> {
    classifier: Classifier<'a>,
    written: Vec<Option<(f64, JobId)>>,
    /// The current state of the copies.
    now: BTreeMap<JobId, Values>,
    /// Units of its log, each with the index of the first queue's unit that follows it.
    made: Vec<(usize, Unit)>,
}

impl History<'_> {
    fn put(&mut self, place: usize, after: f64, before: f64, lines: &[String]) {
        let lines: Vec<&str> =
            ["105 \n"].into_iter().chain(lines.iter().map(String::as_str)).chain(["106 \n"]).collect();
        let mut unit = self.classifier.unit(&lines);
        (unit.is_second, unit.after, unit.before) = (true, after, before);
        self.made.push((place, unit));
    }

    /// Returns the index of the first matching write of the router.
    fn place(&self, fits: impl Fn(f64) -> bool) -> usize {
        let known = |written: &Option<(f64, JobId)>| written.is_some_and(|(at, _)| fits(at));
        self.written.iter().position(known).unwrap_or(self.written.len())
    }

    /// Returns the index after the last write about a source job up to that second.
    fn behind(&self, at: f64, source: JobId) -> usize {
        let known = |known: &Option<(f64, JobId)>| known.is_some_and(|(then, id)| then <= at && id == source);
        self.written.iter().rposition(known).map_or(0, |last| last + 1)
    }

    fn submit(&mut self, place: usize, after: f64, before: f64, id: JobId, values: Values) {
        let cluster = id.cluster;
        let mut lines = vec![
            format!("101 0{cluster}.-1 Job Machine\n"),
            format!("101 {cluster}.-2 ClusterPvt (empty)\n"),
            format!("101 {id} Job Machine\n"),
        ];
        lines.extend(values.iter().map(|(name, value)| match name.as_str() {
            "ProcId" | "GlobalJobId" => format!("103 {id} {name} {value}\n"),
            _ => format!("103 0{cluster}.-1 {name} {value}\n"),
        }));
        self.put(place, after, before, &lines);
        self.now.insert(id, values);
    }

    /// Adds jobs that the router found there.
    fn jobs_of_others(&mut self, known: &Known, told: &[RouterMessage<'_>]) {
        let submitted: Vec<JobId> = told.iter().filter_map(RouterMessage::submitted).collect();
        for (id, last) in
            known.last.iter().filter(|(id, _)| known.first.contains_key(id) && !submitted.contains(id))
        {
            let at = last.get("QDate").and_then(|second| second.parse().ok()).unwrap_or(0.0);
            self.submit(self.place(|second| second > at), at, at + 1.0, *id, last.clone());
        }
    }

    /// Adds the information in one message about a copy.
    fn look(&mut self, known: &Known, message: &RouterMessage<'_>) -> Result<()> {
        let Some(copy) = message.copy else { return Ok(()) };
        if message.submitted().is_some() {
            let values = known.first(copy, message.source)?;
            self.submit(self.behind(message.at, message.source), message.at, message.at + 1.4, copy, values);
        } else if message.is("updated job status") {
            let mut values = message.set.clone();
            // These attributes belong to the source job.
            values.retain(|name, _| name != "RoutedToJobId" && name != "EnteredCurrentStatus");
            let status = message.set.get("JobStatus");
            let is_last = |last: &&Values| status.is_some() && last.get("JobStatus") == status;
            let mut gone = Vec::new();
            if let (Some(last), Some(now)) = (known.last.get(&copy).filter(is_last), self.now.get_mut(&copy))
            {
                // With that state, the copy has all attributes that the schedd had set by then, and lacks
                // those it had removed.
                values.extend(last.clone());
                now.retain(|name, _| {
                    let stays = last.contains_key(name);
                    gone.extend((!stays).then(|| name.clone()));
                    stays
                });
            }
            let place = self.place(|second| second >= message.at);
            self.change(place, message.at + 1.0, copy, values, gone);
        } else if message.is("finalized job") {
            let place = self.behind(message.at, message.source);
            self.put(place, message.at, message.at + 2.0, &[format!("103 {copy} LeaveJobInQueue FALSE\n")]);
            self.gone(place, message.at, message.at + 4.0, copy);
        }
        Ok(())
    }

    /// Adds a unit with the changed and the removed attributes of a copy.
    fn change(&mut self, place: usize, before: f64, copy: JobId, mut values: Values, gone: Vec<String>) {
        let Some(now) = self.now.get_mut(&copy) else { return };
        values.retain(|name, value| now.get(name) != Some(value));
        if values.is_empty() {
            return;
        }
        now.extend(values.clone());
        let mut lines: Vec<String> =
            values.iter().map(|(name, value)| format!("103 {copy} {name} {value}\n")).collect();
        lines.extend(gone.iter().map(|name| format!("104 {copy} {name}\n")));
        self.put(place, latest(&values, before).unwrap_or(0.0), before, &lines);
        // Written by the schedd, or by another manager of the copy.
        if let Some((_, unit)) = self.made.last_mut() {
            unit.router = None;
        }
    }

    /// Adds the removal of a job of this queue, before the router notices it.
    fn removed(&mut self, copy: JobId, at: f64, told: &[RouterMessage<'_>]) {
        let place = self.place(|second| second >= at);
        let lines = [
            format!("103 {copy} JobStatus 3\n"),
            format!("103 {copy} RemoveReason \"via condor_rm (by user root)\"\n"),
        ];
        self.put(place, at - 0.1, at + 0.2, &lines);
        let missed = told.iter().find(|told| told.copy == Some(copy) && told.is("dest job was removed!"));
        if let Some(missed) = missed {
            self.gone(self.place(|second| second >= missed.at), at, missed.at + 1.0, copy);
        }
    }

    fn gone(&mut self, place: usize, after: f64, before: f64, copy: JobId) {
        let lines = [
            format!("102 {copy}\n"),
            format!("102 0{}.-1\n", copy.cluster),
            format!("102 {}.-2\n", copy.cluster),
        ];
        self.put(place, after, before, &lines);
        self.now.remove(&copy);
    }

    /// Adds the changes of remaining copies that the router never mirrored.
    fn rest(&mut self, known: &Known) {
        let left: Vec<JobId> = self.now.keys().copied().filter(|id| known.first.contains_key(id)).collect();
        for id in left {
            let Some(last) = known.last.get(&id) else { continue };
            let mut values = last.clone();
            values.retain(|name, value| self.now[&id].get(name) != Some(value));
            let at = latest(&values, f64::INFINITY).unwrap_or(f64::INFINITY);
            self.change(self.place(|second| second > at), at + 8.0, id, values, Vec::new());
        }
    }

    fn merge_into(mut self, units: &mut Vec<Unit>) {
        self.made.sort_by(|(place, a), (other, b)| place.cmp(other).then(a.after.total_cmp(&b.after)));
        for (place, unit) in self.made.into_iter().rev() {
            units.insert(place, unit);
        }
    }
}

/// Returns the latest time in the values up to `limit`; some values are in the future.
fn latest(values: &Values, limit: f64) -> Option<f64> {
    let seconds = values.values().filter_map(|value| value.parse::<f64>().ok());
    seconds.filter(|second| *second > 1e9 && *second <= limit).max_by(f64::total_cmp)
}
