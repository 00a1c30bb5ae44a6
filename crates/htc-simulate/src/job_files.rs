//! Jobs out of a file of ads, such as a queue or a history: as they came and as long as they ran. Of each ad as much is kept as the
//! policy may ask for.

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

/// A job out of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredJob {
    pub id: Option<(i32, i32)>,
    pub arrives: u64,
    pub runs: u64,
    pub kind: u32,
    pub exit: i32,
    pub priority: i32,
}

/// Why an ad of a file is left out.
#[derive(Debug)]
pub enum SkippedAd<'a> {
    /// Something in it is no attribute.
    InvalidAttribute(&'a AdError),
    /// Nobody knows when its job came.
    NoQueueDate {
        /// The line on which it begins, from 1.
        line: u64,
    },
}

/// The files of a scenario's jobs.
pub struct JobFiles<'a> {
    /// Opens one.
    pub open: &'a mut dyn FnMut(&Path) -> io::Result<Box<dyn BufRead>>,
    /// Is told of what is left out of one.
    pub on_skipped: &'a mut dyn FnMut(&str, SkippedAd<'_>),
}

/// What the jobs of a file are read for.
pub(super) struct JobFileReader<'a> {
    pub index: usize,
    pub group: &'a JobGroup,
    pub file: &'a str,
    pub attributes: Option<&'a AttrNames>,
    pub world: &'a dyn World,
    /// Where chance begins.
    pub seed: u64,
}

/// Why no jobs come out of a file.
pub(super) enum JobFileError {
    /// It cannot be read.
    Io(io::Error),
    /// It has none.
    NoJobs(&'static str),
}

impl JobFileReader<'_> {
    /// The jobs with the seconds since the epoch at which they came, in that order; `kind_of` knows the number of those with one ad.
    pub(super) fn read_jobs(
        &self,
        kind_of: &mut dyn FnMut(ClassAd) -> u32,
        (path, files): (&Path, &mut JobFiles<'_>),
    ) -> Result<Vec<(i64, StoredJob)>, JobFileError> {
        let reader = (files.open)(path).map_err(JobFileError::Io)?;
        let most = self.group.count.unwrap_or(u32::MAX) as usize;
        let mut ads = AdReader::new(reader, None).dialect(Dialect::of_world(self.world));
        let mut jobs: Vec<(i64, StoredJob)> = Vec::new();
        let mut left_out = 0u64;
        let mut dice = RandomGenerator::new(&[self.seed, self.index as u64, 0xF11E]);
        while jobs.len() < most {
            let Some(record) = ads.next_ad().map_err(JobFileError::Io)? else { break };
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
            let problem = if left_out > 0 { "has no ad that can be played" } else { "has no ad" };
            return Err(JobFileError::NoJobs(problem));
        }
        jobs.sort_by_key(|(queued, _)| *queued);
        Ok(jobs)
    }

    /// When the job of an ad came; none for what is no ad.
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

/// How long a job of a history has run at last: the time of its last run, less what it stood still in it.
///
/// RemoteWallClockTime adds up all runs and LastRemoteWallClockTime is the last of them, both with the time in which the job was
/// suspended (`update_remote_wall_clock`, schedd.cpp). CumulativeSuspensionTime adds that up for all runs; CommittedSuspensionTime has
/// what belongs to the run that came to its end, and to checkpoints before it (`CommitSuspensionTime`, baseshadow.cpp).
fn last_run_seconds(context: &Context<'_>) -> Option<f64> {
    let positive = |name: &str| context.real(name).filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    let dates = || {
        let from = context.int("JobCurrentStartDate").or_else(|| context.int("JobStartDate"))?;
        let to = context.int("CompletionDate").filter(|to| *to > 0)?;
        (to >= from).then(|| to.saturating_sub(from) as f64)
    };
    let (wall, last) = match positive("RemoteWallClockTime") {
        // Of several runs the last is the one that came to its end.
        Some(wall) => {
            (wall, positive("LastRemoteWallClockTime").filter(|last| *last <= wall).unwrap_or(wall))
        }
        None => dates().map(|last| (last, last))?,
    };
    let suspended = positive("CumulativeSuspensionTime").unwrap_or(0.0);
    let committed = positive("CommittedSuspensionTime").unwrap_or(0.0);
    // What earlier runs had no room for was in the last one.
    let least = (suspended - (wall - last)).clamp(0.0, last);
    let most = suspended.clamp(least, last.max(least));
    Some(last - committed.clamp(least, most))
}

/// What of an ad the machines may ask for, and nothing that belongs to one job alone.
fn relevant_attributes(ad: &ClassAd, asked: Option<&AttrNames>) -> ClassAd {
    // Its number, its time, and what became of it.
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
    match asked {
        None => {
            kept = ad.clone();
            PER_JOB_ATTRIBUTES.into_iter().for_each(|name| drop(kept.remove(name)));
        }
        Some(asked) => {
            let names = ALWAYS_READ_ATTRIBUTES.iter().map(|name| BString::from(*name));
            let asked = asked.iter().map(|name| BString::from(name.as_bytes()));
            let mut todo: Vec<BString> = names.chain(asked).collect();
            while let Some(name) = todo.pop() {
                let is_own = PER_JOB_ATTRIBUTES.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(&name));
                if is_own || kept.contains(&*name) {
                    continue;
                }
                let Some(expr) = ad.get(&*name) else { continue };
                // What an attribute refers to has to be there, too.
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
    fn a_run_is_as_long_as_its_job_ran_in_it() {
        let world = RealWorld::new();
        for (lines, seconds) in [
            // One run, of which it was suspended for a while.
            (
                "RemoteWallClockTime = 1000.0\nLastRemoteWallClockTime = 1000.0\nCumulativeSuspensionTime = 400\nCommittedSuspensionTime = 400",
                Some(600.0),
            ),
            ("RemoteWallClockTime = 1000.0\nCumulativeSuspensionTime = 400", Some(600.0)),
            // Two runs: suspended in the first, in the last, in either.
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
            // More than there was.
            ("RemoteWallClockTime = 100.0\nCumulativeSuspensionTime = 400", Some(0.0)),
            ("JobStartDate = 1000\nCompletionDate = 1600\nCumulativeSuspensionTime = 100", Some(500.0)),
            ("JobStartDate = 1000", None),
        ] {
            let (ad, _) = htc_classad::format::long::parse(lines.as_bytes());
            assert_eq!(last_run_seconds(&Context::new(&world).my(&ad)), seconds, "{lines}");
        }
    }
}
