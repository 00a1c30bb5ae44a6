//! Jobs from a file of ads, such as a queue or a history, with their arrival times and run times. Only the attributes
//! of an ad to which policies may refer are kept.

use std::io::{self, BufRead};
use std::path::Path;

use bstr::BString;

use super::per_job_attributes::{ALWAYS_READ_ATTRIBUTES, PRIORITY_ATTRIBUTE, clamp_priority};
use super::random::RandomGenerator;
use super::scenario::JobGroup;
use super::times::to_micros;
use htc_base::job::{JobStatus, attr};
use htc_base::world::World;
use htc_classad::references::AttrNames;
use htc_classad::stream::{AdError, AdReader, AdRecord};
use htc_classad::{ClassAd, Context, Dialect};

/// Job from a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredJob {
    pub id: Option<(i32, i32)>,
    pub arrives: u64,
    pub runs: u64,
    pub kind: u32,
    pub exit: i32,
    pub priority: i32,
}

/// Reason why an ad of a file was skipped.
#[derive(Debug)]
pub enum SkippedAd<'a> {
    /// The ad contains an invalid attribute.
    InvalidAttribute(&'a AdError),
    /// The ad has no QDate, so the arrival of its job is unknown.
    NoQueueDate {
        /// Line number of the ad's first line, from 1.
        line: u64,
    },
}

/// Access to the files of a scenario's jobs.
pub struct JobFiles<'a> {
    /// Function that opens a file.
    pub open: &'a mut dyn FnMut(&Path) -> io::Result<Box<dyn BufRead>>,
    /// Function that is called with the name of a file for each ad skipped in the file.
    pub on_skipped: &'a mut dyn FnMut(&str, SkippedAd<'_>),
}

/// Reader of the jobs in the file of one job group.
pub(super) struct JobFileReader<'a> {
    pub index: usize,
    pub group: &'a JobGroup,
    pub file: &'a str,
    pub attributes: Option<&'a AttrNames>,
    pub world: &'a dyn World,
    /// Random seed of the scenario.
    pub seed: u64,
}

/// Reason why no jobs were read from a file.
pub(super) enum JobFileError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file contains no jobs; the text says which ads are missing.
    NoJobs(&'static str),
}

impl JobFileReader<'_> {
    /// Reads the jobs and returns each with its arrival time in epoch seconds, sorted by arrival. `kind_of` returns
    /// the kind number of an ad.
    pub(super) fn read_jobs(
        &self,
        kind_of: &mut dyn FnMut(ClassAd) -> u32,
        path: &Path,
        files: &mut JobFiles<'_>,
    ) -> Result<Vec<(i64, StoredJob)>, JobFileError> {
        let reader = (files.open)(path).map_err(JobFileError::Io)?;
        let most = self.group.count.unwrap_or(u32::MAX) as usize;
        let mut ads = AdReader::new(reader, None).dialect(Dialect::of_world(self.world));
        let mut jobs: Vec<(i64, StoredJob)> = Vec::new();
        let mut left_out = 0u64;
        let mut dice = RandomGenerator::new(&[self.seed, self.index as u64, 0xF11E]);
        while jobs.len() < most {
            let Some(record) = ads.next_record().map_err(JobFileError::Io)? else { break };
            match self.queue_time(&record) {
                Ok(Some(queued)) => jobs.push((queued, self.stored_job(kind_of, &record.ad, &mut dice))),
                Ok(None) => {}
                Err(why) => {
                    left_out += 1;
                    (files.on_skipped)(self.file, why);
                }
            }
        }
        if jobs.is_empty() {
            let problem = if left_out > 0 { "has no ad that can be simulated" } else { "has no ad" };
            return Err(JobFileError::NoJobs(problem));
        }
        jobs.sort_by_key(|(queued, _)| *queued);
        Ok(jobs)
    }

    /// Returns the arrival time of an ad's job, or `None` for an empty ad.
    fn queue_time<'r>(&self, record: &'r AdRecord) -> Result<Option<i64>, SkippedAd<'r>> {
        if let Some(error) = record.errors.first() {
            return Err(SkippedAd::InvalidAttribute(error));
        }
        if record.ad.is_empty() {
            return Ok(None);
        }
        let queued = Context::new(self.world).my(&record.ad).int("QDate");
        queued.map(Some).ok_or(SkippedAd::NoQueueDate { line: record.line })
    }

    fn stored_job(
        &self,
        kind_of: &mut dyn FnMut(ClassAd) -> u32,
        ad: &ClassAd,
        dice: &mut RandomGenerator,
    ) -> StoredJob {
        let context = Context::new(self.world).my(ad);
        let runs = match last_run_seconds(&context) {
            Some(seconds) => seconds,
            None => self.group.runs.as_ref().map_or(0.0, |runs| runs.sample(dice)),
        };
        let by_signal = context.boolean("ExitBySignal") == Some(true);
        let exit = match context.int("ExitSignal").filter(|_| by_signal) {
            Some(signal) => signal.saturating_add(128),
            None => context.int("ExitCode").unwrap_or(self.group.exit),
        };
        let number = |name: &str| context.int(name).and_then(|number| i32::try_from(number).ok());
        let id = number(attr::CLUSTER_ID).zip(Some(number(attr::PROC_ID).unwrap_or(0)));
        let priority = clamp_priority(context.int(PRIORITY_ATTRIBUTE).unwrap_or(0));
        let kind = kind_of(relevant_attributes(ad, self.attributes));
        let exit = i32::try_from(exit).unwrap_or(1);
        StoredJob { id, arrives: 0, runs: to_micros(runs), kind, exit, priority }
    }
}

/// Returns the duration in seconds of the last run of a job in a history, without the time for which the job was
/// suspended in that run.
///
/// RemoteWallClockTime is the sum of all runs, and LastRemoteWallClockTime is the last run; both include suspensions
/// (`update_remote_wall_clock`, schedd.cpp). CumulativeSuspensionTime is the sum of suspensions in all runs.
/// CommittedSuspensionTime is the part that belongs to the run that completed and to checkpoints before it
/// (`CommitSuspensionTime`, baseshadow.cpp).
fn last_run_seconds(context: &Context<'_>) -> Option<f64> {
    let positive = |name: &str| context.real(name).filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    let dates = || {
        let from = context.int("JobCurrentStartDate").or_else(|| context.int("JobStartDate"))?;
        let to = context.int("CompletionDate").filter(|to| *to > 0)?;
        (to >= from).then(|| to.saturating_sub(from) as f64)
    };
    let (wall, last) = match positive("RemoteWallClockTime") {
        // The last run is the one in which the job completed.
        Some(wall) => {
            (wall, positive("LastRemoteWallClockTime").filter(|last| *last <= wall).unwrap_or(wall))
        }
        None => dates().map(|last| (last, last))?,
    };
    let suspended = positive("CumulativeSuspensionTime").unwrap_or(0.0);
    let committed = positive("CommittedSuspensionTime").unwrap_or(0.0);
    // Suspension that is longer than all earlier runs together must have been partly in the last run.
    let least = (suspended - (wall - last)).clamp(0.0, last);
    let most = suspended.clamp(least, last.max(least));
    Some(last - committed.clamp(least, most))
}

/// Returns the attributes of an ad to which machines may refer, without attributes whose value differs between jobs
/// of one kind.
fn relevant_attributes(ad: &ClassAd, referenced_names: Option<&AttrNames>) -> ClassAd {
    // Ids, times and results of a job.
    const PER_JOB_ATTRIBUTES: [&str; 12] = [
        "ClusterId",
        "ProcId",
        "QDate",
        "CompletionDate",
        "ExitCode",
        "ExitBySignal",
        "ExitSignal",
        "JobFinishedHookDone",
        "Managed",
        "ManagedManager",
        "RoutedToJobId",
        "RemoteHost",
    ];
    let mut kept = ClassAd::new();
    match referenced_names {
        None => {
            kept = ad.clone();
            PER_JOB_ATTRIBUTES.into_iter().for_each(|name| drop(kept.remove(name)));
        }
        Some(referenced) => {
            let names = ALWAYS_READ_ATTRIBUTES.iter().map(|name| BString::from(*name));
            let referenced = referenced.iter().map(|name| BString::from(name.as_bytes()));
            let mut todo: Vec<BString> = names.chain(referenced).collect();
            while let Some(name) = todo.pop() {
                let is_own = PER_JOB_ATTRIBUTES.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(&name));
                if is_own || kept.contains(&*name) {
                    continue;
                }
                let Some(expr) = ad.get(&*name) else { continue };
                // Attributes to which an expression of the ad refers are kept as well.
                let names = htc_classad::references::all_names(&expr);
                todo.extend(names.iter().map(|name| BString::from(name.as_bytes())));
                kept.insert(&*name, expr);
            }
        }
    }
    if kept.contains("JobStatus") {
        kept.set("JobStatus", JobStatus::IDLE);
    }
    if let Some(user) = ad.string("User").filter(|_| !kept.contains("Owner")) {
        let name = user.split(|byte| *byte == b'@').next().unwrap_or(user);
        kept.set("Owner", BString::from(name));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn a_run_has_the_length_of_its_job() {
        let world = RealWorld::new();
        for (lines, seconds) in [
            // The job had one run and was suspended during part of it.
            (
                "RemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 1000.0\nCumulativeSuspensionTime = 400\nCommittedSuspensionTime = 400",
                Some(600.0),
            ),
            ("RemoteWallClockTime = 1000.0\nCumulativeSuspensionTime = 400", Some(600.0)),
            // The job had two runs and was suspended in the first, in the last, or in both.
            (
                "RemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 300.0\nCumulativeSuspensionTime = 400",
                Some(300.0),
            ),
            (
                "RemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 300.0\nCumulativeSuspensionTime = 100\nCommittedSuspensionTime = 100",
                Some(200.0),
            ),
            (
                "RemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 900.0\nCumulativeSuspensionTime = 400",
                Some(600.0),
            ),
            // The attributes claim more suspension than run time.
            ("RemoteWallClockTime = 100.0\nCumulativeSuspensionTime = 400", Some(0.0)),
            ("JobStartDate = 1000\nCompletionDate = 1600\nCumulativeSuspensionTime = 100", Some(500.0)),
            ("JobStartDate = 1000", None),
        ] {
            let (ad, _) = htc_classad::format::long::parse(lines.as_bytes());
            assert_eq!(last_run_seconds(&Context::new(&world).my(&ad)), seconds, "{lines}");
        }
    }
}
