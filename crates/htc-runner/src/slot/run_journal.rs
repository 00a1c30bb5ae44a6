//! Journal of a run: actions are recorded before they are performed, so that the run after a kill does not repeat an
//! action.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::execute::remove_leftovers_of;
use crate::events::{RunnerEvent, RunnerEventKind, UNKNOWN};
use crate::journal::{JournalError, JournalFile, sync_directory};
use crate::starter::{ExecuteCleaner, kill_tree, withdraw_job};
use htc_base::process::ProcessInstance;
use htc_base::text::plural::counted;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::journal::{Journal, JournalDamage, JournalFlaw};
use htc_os::{clock, files, process_table};
use htc_slot::{JournalRecord, SlotHookType, add_record, open_records};

/// Name of the journal in the state directory.
const JOURNAL_NAME: &str = "journal";
/// Name of a file that contains the id of the machine's boot, and exists while a run writes its journal. Appended
/// records are not written to the disk at once, so after a power failure the last records may be missing. The journal
/// itself does not show that; this file does.
const BOOT_NAME: &str = "journal.boot";
/// File of the kernel with the id of the current boot.
const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";
/// Message about a run that was interrupted by a restart of the machine.
const RESTART_WARNING: &str = "the machine was restarted while a run wrote its journal: the last records may be missing, and a job \
    fetched shortly before may be lost; compare the queue with the jobs named here";
/// Length in bytes above which the journal is compacted.
const COMPACTION_THRESHOLD: u64 = 1 << 20;
/// Maximum time for a starter that outlived its run to end its job and clean up.
const STARTER_END_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between checks whether a process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Journal of the current run.
#[derive(Debug)]
pub struct RunJournal {
    file: JournalFile,
    directory: PathBuf,
    /// Records of actions that have not ended.
    open_records: Vec<JournalRecord>,
    /// Start time of the run, used in the names of ad files so that they differ from those of earlier runs.
    started_at: i64,
    /// True if the machine was restarted while the last run was writing its journal.
    follows_restart: bool,
}

impl Drop for RunJournal {
    /// Removes the file with the id of the boot if all recorded actions have ended.
    fn drop(&mut self) {
        if self.open_records.is_empty() {
            drop(fs::remove_file(self.directory.join(BOOT_NAME)));
        }
    }
}

/// Fetched job that was not run; its queue must be informed.
#[derive(Clone, Debug)]
pub struct JobToReturn {
    /// Number of the accepted job in the new journal.
    pub accepted: u64,
    /// Slot that accepted the job.
    pub slot: String,
    /// The job as `cluster.proc`.
    pub job: String,
    /// Path of the job ad.
    pub ad: PathBuf,
}

/// State of a run that was killed, after its processes were ended and its files cleaned up.
#[derive(Debug, Default)]
pub struct RecoveredRun {
    /// Events to report.
    pub events: Vec<RunnerEvent>,
    /// Jobs whose queues must be informed that they were not run.
    pub jobs_to_return: Vec<JobToReturn>,
}

impl RecoveredRun {
    /// Adds a warning that jobs may be lost, which is printed even with `--quiet`.
    pub fn warn(&mut self, reason: impl Into<String>) {
        let event = RunnerEvent::new(clock::now(), RunnerEventKind::Warning).verdict(UNKNOWN);
        self.events.push(event.reason(reason));
    }
}

impl RunJournal {
    /// Opens the journal of a state directory with the records of an earlier run. Also returns one line about
    /// unreadable parts, or `None` if the whole journal is readable.
    ///
    /// # Errors
    /// Fails if another run is writing the journal, if another account could change it, or on errors of the system.
    pub fn open(directory: &Path) -> Result<(Self, Option<String>), JournalError> {
        let (file, journal) = JournalFile::open::<JournalRecord>(&directory.join(JOURNAL_NAME))?;
        let Journal { records, damage } = journal;
        let damage = summarize_damage(&damage);
        Ok((
            RunJournal {
                file,
                directory: directory.into(),
                open_records: open_records(records),
                started_at: clock::now().epoch(),
                follows_restart: mark_boot(directory),
            },
            damage,
        ))
    }

    /// Ends the remaining processes of the run that was killed, cleans up after it, and reports the results. The
    /// records of that run are dropped only afterwards.
    ///
    /// Starters are ended, not adopted, as in a pool: a starter of 25.14 that loses its startd ends its job at once
    /// and informs its hooks (`daemon_core_main.cpp`, `check_parent`), and a new startd does not know the claims of
    /// the old one. The job is returned to its queue by JOB_EXIT with `evict`, or by EVICT_CLAIM if the starter
    /// cannot call JOB_EXIT.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn recover(
        &mut self,
        cleaner: &ExecuteCleaner,
        world: &dyn World,
    ) -> Result<RecoveredRun, JournalError> {
        let mut found = RecoveredRun::default();
        if std::mem::take(&mut self.follows_restart) {
            found.warn(RESTART_WARNING);
        }
        let left = std::mem::take(&mut self.open_records);
        let starters = recorded_starters(&left);
        // All processes are asked to end before the first one is waited for, because each takes a while.
        for process in
            starters.iter().filter_map(|(_, process)| *process).filter(|one| is_process_running(*one))
        {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGQUIT);
        }
        let mut ended_jobs = Vec::new();
        for (record, process) in starters {
            let JournalRecord::StarterBegins { slot, job, execute, note, accepted, .. } = record else {
                continue;
            };
            for line in end_starter(process, execute.as_deref(), cleaner, world) {
                let event = RunnerEvent::new(clock::now(), RunnerEventKind::Warning).slot(slot).job(job);
                found.events.push(event.reason(line));
            }
            if process.is_some() && !note.exists() {
                ended_jobs.extend(accepted);
            }
        }
        for record in &left {
            found.events.extend(self.end_hook(record, record.process_of(&left)));
        }
        // A job must be returned to its queue unless a hook that informs the queue has begun. A starter that ended
        // properly has called such a hook.
        for record in &left {
            let JournalRecord::Accepted { accepted, slot, job, ad } = record else { continue };
            if ended_jobs.contains(accepted) {
                continue;
            }
            // Returned jobs are numbered from `u64::MAX` downwards, so that their numbers differ from those of jobs
            // accepted in the new run.
            let accepted = u64::MAX - found.jobs_to_return.len() as u64;
            let (slot, job, ad) = (slot.clone(), job.clone(), ad.clone());
            self.open_records.push(JournalRecord::Accepted {
                accepted,
                slot: slot.clone(),
                job: job.clone(),
                ad: ad.clone(),
            });
            found.jobs_to_return.push(JobToReturn { accepted, slot, job, ad });
        }
        self.file.compact(&self.open_records)?;
        self.remove_unneeded_files();
        Ok(found)
    }

    /// Removes job ads that no record names, and temporary files of a run that was killed.
    fn remove_unneeded_files(&self) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_ad = name.starts_with("job.") && name.ends_with(".ad");
            let is_needed = || self.open_records.iter().any(|record| record.ad_path() == Some(&path));
            if name.starts_with(files::TEMPORARY_PREFIX) || (is_ad && !is_needed()) {
                drop(fs::remove_file(path));
            }
        }
    }

    /// Ends a hook that was running when the run was killed; returns an event about it.
    fn end_hook(&self, record: &JournalRecord, process: Option<ProcessInstance>) -> Option<RunnerEvent> {
        let JournalRecord::HookBegins { hook, slot, word, job, ad, .. } = record else { return None };
        if let Some(process) = process {
            // A hook that informs a queue gets time to complete; the output of FETCH_WORK is no longer needed.
            if hook != SlotHookType::FetchWork.name() {
                wait_for(process);
            }
            if is_process_running(process) {
                kill_tree(process.pid);
            }
        }
        let word = if word.is_empty() { String::new() } else { format!(" {word}") };
        // The ad is copied: a job to be returned may need it, and its file is removed when the job has been
        // returned.
        let kept = ad.as_ref().and_then(|ad| {
            let mut name = std::ffi::OsString::from("unknown.");
            name.push(ad.file_name()?);
            let kept = ad.with_file_name(name);
            files::replace_file(&kept, &fs::read(ad).ok()?, 0o600, None).ok()?;
            Some(kept)
        });
        let ad = match kept {
            Some(ad) => format!("; the job's ad is '{}'", ad.display()),
            None => String::new(),
        };
        let reason = format!(
            "an earlier run called {hook}{word} and was killed before it recorded the end of the hook; the hook is not called again{ad}"
        );
        let event = RunnerEvent::new(clock::now(), RunnerEventKind::HookFailed)
            .slot(slot)
            .verdict("unknown")
            .reason(reason);
        Some(match job {
            Some(job) => event.job(job),
            None => event,
        })
    }

    /// Writes a record; the recorded action may be performed only afterwards.
    ///
    /// # Errors
    /// Fails with a message; the action must then not be performed.
    pub(super) fn append_record(&mut self, record: JournalRecord) -> Result<(), String> {
        self.file.append(&record).map_err(|error| format_journal_error(&error))?;
        for ended in add_record(&mut self.open_records, record) {
            // With hundreds of slots this loop runs often, so records without an ad are skipped first.
            let Some(ad) = ended.ad_path() else { continue };
            let names_it = |record: &JournalRecord| {
                record.ad_path().is_some_and(|other| other.as_os_str() == ad.as_os_str())
            };
            if !self.open_records.iter().any(names_it) {
                drop(fs::remove_file(ad));
            }
        }
        if self.file.len() > COMPACTION_THRESHOLD {
            // If compaction fails, the journal continues to grow, which is harmless.
            drop(self.file.compact(&self.open_records));
        }
        Ok(())
    }

    /// Returns the directory of the journal, which only this account can access and which is not deleted by a reboot.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the id of an accepted job and the path of its ad, or `None` if no open record names the job.
    pub(super) fn accepted_job(&self, accepted: u64) -> Option<(String, PathBuf)> {
        self.open_records.iter().find_map(|record| match record {
            JournalRecord::Accepted { accepted: other, job, ad, .. } if *other == accepted => {
                Some((job.clone(), ad.clone()))
            }
            _ => None,
        })
    }

    /// Stores the job ad that a hook receives (the part of `stdin` before the dashes), without private attributes.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn store_job_ad(&self, run: u64, stdin: &[u8]) -> io::Result<(ClassAd, PathBuf)> {
        let end = stdin.find(b"\n-----\n").map_or(stdin.len(), |at| at + 1);
        let (ad, _) = long::parse(&stdin[..end]);
        let path = self.directory.join(format!("job.{}.{run}.ad", self.started_at));
        files::replace_file(&path, &long::print(&ad), 0o600, None)?;
        Ok((ad, path))
    }
}

/// Writes the id of the current boot to the file that marks a run. Returns true if the file exists with the id of
/// another boot.
fn mark_boot(directory: &Path) -> bool {
    let Ok(boot) = fs::read_to_string(BOOT_ID_PATH) else { return false };
    let path = directory.join(BOOT_NAME);
    let before = fs::read_to_string(&path).ok();
    if before.as_ref() != Some(&boot) {
        // If this write fails, writing the journal fails as well, and that failure is reported.
        let written = files::replace_file(&path, boot.as_bytes(), 0o600, None);
        drop(written.and_then(|()| fs::File::open(&path)?.sync_data()));
        sync_directory(&path);
    }
    before.is_some_and(|before| before != boot)
}

/// Maximum number of jobs, and of kinds of damage, in the line about a damaged journal.
const MAX_SHOWN: usize = 8;

/// Describes the unreadable parts of a journal and the jobs that they name, or returns `None` if there are no such
/// parts.
fn summarize_damage(damage: &[JournalDamage]) -> Option<String> {
    let (first, last) = (damage.first()?, damage.last()?);
    if first.flaw == JournalFlaw::Truncated {
        return Some(format!(
            "the journal of the last run: {}: the recorded step was not started",
            JournalFlaw::Truncated
        ));
    }
    let (from, to) = (first.place.start, last.place.end);
    let mut flaws: BTreeMap<String, usize> = BTreeMap::new();
    let mut jobs: BTreeSet<String> = BTreeSet::new();
    for JournalDamage { piece, flaw, .. } in damage {
        *flaws.entry(flaw.to_string()).or_default() += 1;
        jobs.extend(find_job_id(piece));
    }
    let some = |all: Vec<String>, between: &str| {
        let more = all.len().saturating_sub(MAX_SHOWN);
        let shown = all[..all.len() - more].join(between);
        if more == 0 { shown } else { format!("{shown}{between}and {more} more") }
    };
    let flaws =
        some(flaws.iter().map(|(flaw, count)| format!("{} {flaw}", counted(count, "time"))).collect(), "; ");
    let jobs = match jobs.len() {
        0 => "the ids of their jobs cannot be read".to_owned(),
        _ => format!("of the jobs {}", some(jobs.into_iter().collect(), ", ")),
    };
    let count = counted(damage.len(), "record");
    Some(format!(
        "the journal of the last run: {count} cannot be read, bytes {from} to {to}, {jobs}: {flaws}; some of the jobs that \
         ran then may not be returned to their queue"
    ))
}

/// Returns the job named in a piece of a journal, or `None` if no job id is recognizable.
fn find_job_id(piece: &[u8]) -> Option<String> {
    const JOB_KEY: &[u8] = b"\"job\":\"";
    let id = &piece[piece.find(JOB_KEY)? + JOB_KEY.len()..];
    let id = &id[..id.find_byte(b'"')?];
    let is_id = !id.is_empty() && id.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_id.then(|| id.to_str_lossy().into_owned())
}

/// Formats an error of the journal together with its cause.
pub fn format_journal_error(error: &JournalError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

/// Returns the starters that were running, each with its process. The process is known from the record, or from the
/// file that a starter writes before it takes its job. A starter that has not written that file can no longer take
/// the job.
fn recorded_starters(left: &[JournalRecord]) -> Vec<(&JournalRecord, Option<ProcessInstance>)> {
    let process = |record: &JournalRecord| {
        let JournalRecord::StarterBegins { note, .. } = record else { return None };
        record.process_of(left).or_else(|| withdraw_job(note.parent()?))
    };
    let begun = left.iter().filter(|record| matches!(record, JournalRecord::StarterBegins { .. }));
    begun.map(|record| (record, process(record))).collect()
}

/// Waits until a process has ended, up to the time limit.
fn wait_for(process: ProcessInstance) {
    let begun = Instant::now();
    while is_process_running(process) && begun.elapsed() < STARTER_END_TIMEOUT {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns true if the process with that id is the recorded one, and has not ended.
fn is_process_running(process: ProcessInstance) -> bool {
    process_table::read_process(process.pid).is_some_and(|one| one.instance() == process && !one.is_zombie())
}

/// Waits for the end of a starter that was asked to end its job after its run was killed, and cleans up after it.
/// Returns lines that describe what was done.
fn end_starter(
    process: Option<ProcessInstance>,
    execute: Option<&Path>,
    cleaner: &ExecuteCleaner,
    world: &dyn World,
) -> Vec<String> {
    let Some(process) = process else {
        return vec!["an earlier run was killed when it was about to start a starter for it".to_owned()];
    };
    let pid = process.pid;
    let mut lines = vec![match is_process_running(process) {
        false => {
            "an earlier run started it and was killed; its starter has ended, with unknown status".to_owned()
        }
        true => {
            wait_for(process);
            if is_process_running(process) {
                kill_tree(pid);
            }
            "it was still running under the starter of an earlier run that was killed: it was ended"
                .to_owned()
        }
    }];
    if let Some(execute) = execute {
        lines.extend(cleaner.clean(execute, Some(pid), true, world).into_iter().map(|one| one.line));
        lines.extend(u32::try_from(pid).into_iter().flat_map(|pid| remove_leftovers_of(execute, pid)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(piece: &str, flaw: JournalFlaw) -> JournalDamage {
        JournalDamage { place: 100..200, piece: piece.into(), flaw }
    }

    /// Writes a journal with `jobs` accepted jobs, of which every third has ended; returns its directory.
    fn write_run(jobs: u64) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let (mut journal, _) = RunJournal::open(place.path()).unwrap();
        for accepted in 0..jobs {
            let run = 1000 + accepted;
            let (_, ad) = journal.store_job_ad(accepted, b"ClusterId = 1\nCmd = \"/bin/true\"\n").unwrap();
            let (slot, job) = ("slot1".to_owned(), format!("{accepted}.0"));
            journal.append_record(JournalRecord::Accepted { accepted, slot: slot.clone(), job, ad }).unwrap();
            if accepted % 3 == 0 {
                journal.append_record(JournalRecord::GivenUp { accepted }).unwrap();
            }
            let word = "x".repeat(usize::try_from(accepted % 7 * 50).unwrap());
            let hook = SlotHookType::FetchWork.name().to_owned();
            let begins =
                JournalRecord::HookBegins { run, hook, slot, word, job: None, ad: None, accepted: None };
            journal.append_record(begins).unwrap();
            journal.append_record(JournalRecord::HookEnds { run }).unwrap();
        }
        // Imitates a kill: the reserved space is not released, and no file is removed.
        std::mem::forget(journal);
        place
    }

    /// After a power failure each page of the journal and each ad may be missing, because a file system writes them
    /// in any order.
    #[test]
    fn lost_records_are_reported_and_jobs_of_the_others_returned() {
        let cleaner = ExecuteCleaner::new(&Default::default(), Vec::new().into(), None);
        let world = htc_os::RealWorld::new();
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for trial in 0..60 {
            let place = write_run(40);
            let path = place.path().join(JOURNAL_NAME);
            let mut bytes = fs::read(&path).unwrap();
            for page in bytes.chunks_mut(512) {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if random >> 60 < trial % 8 {
                    page.fill(0);
                }
            }
            // The new length of the journal may be missing as well.
            if trial % 3 == 0 {
                bytes.truncate((random >> 33) as usize % bytes.len());
            }
            let survives = |job: &str| bytes.find(format!("\"job\":\"{job}\"")).is_some();
            // Imitates a restart: the lock is free, and the boot id is that of another boot.
            let _ = fs::remove_file(place.path().join("journal.lock"));
            fs::write(&path, &bytes).unwrap();
            fs::write(place.path().join(BOOT_NAME), "another boot\n").unwrap();
            let (mut journal, damage) = RunJournal::open(place.path()).unwrap();
            let found = journal.recover(&cleaner, &world).unwrap();
            let is_known =
                |job: &str| found.jobs_to_return.iter().any(|owed| owed.job == job) || damage.is_some();
            let reported = found.events.iter().any(|event| event.reason.as_deref() == Some(RESTART_WARNING));
            assert!(reported, "trial {trial}");
            for accepted in (0..40).filter(|accepted| accepted % 3 != 0) {
                let job = format!("{accepted}.0");
                assert!(!survives(&job) || is_known(&job), "trial {trial}: {job}: {damage:?}");
            }
        }
    }

    #[test]
    fn a_restart_of_the_machine_is_reported_only_if_a_run_was_interrupted() {
        let place = tempfile::tempdir().unwrap();
        let follows_restart = || RunJournal::open(place.path()).unwrap().0.follows_restart;
        assert!(!follows_restart());
        let mark = place.path().join(BOOT_NAME);
        assert!(!mark.exists(), "a run that has ended leaves a mark");
        fs::write(&mark, fs::read(BOOT_ID_PATH).unwrap()).unwrap();
        assert!(!follows_restart());
        fs::write(&mark, "another boot\n").unwrap();
        assert!(follows_restart());
        assert!(!follows_restart());
    }

    #[test]
    fn any_damage_is_reported_in_one_line_with_its_jobs() {
        assert_eq!(summarize_damage(&[]), None);
        let torn = summarize_damage(&[damage("00", JournalFlaw::Truncated)]).unwrap();
        assert!(
            torn.ends_with("the last record was not written to its end: the recorded step was not started")
        );
        let of = |number| damage(&format!("x{{\"job\":\"{number}.0\"}}"), JournalFlaw::Changed);
        let many: Vec<JournalDamage> = (10..38).map(of).collect();
        let line = summarize_damage(&many).unwrap();
        assert!(
            line.contains("28 records cannot be read, bytes 100 to 200, of the jobs 10.0, 11.0, "),
            "{line}"
        );
        assert!(
            line.contains("17.0, and 20 more: 28 times the record was changed after it was written; "),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
        let none = summarize_damage(&[damage("\"job\":\"\u{1b}\"", JournalFlaw::Changed)]).unwrap();
        assert!(none.contains("1 record cannot be read") && none.contains("the ids of their jobs"), "{none}");
    }
}
