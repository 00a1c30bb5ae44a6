//! The journal of a run: what is about to be done stands in it before it is done, so that after a kill nothing is done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::execute::remove_leftovers_of;
use crate::events::{RunnerEvent as StreamEvent, RunnerEventKind};
use crate::journal::{JournalError, JournalFile};
use crate::starter::{ExecuteCleaner, kill_tree, withdraw_job};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::journal::{Journal, JournalDamage, JournalFlaw};
use htc_os::{clock, files, process_table};
use htc_slot::{JournalRecord, SlotHookType, add_record, open_records};

/// Its name in the state directory.
const JOURNAL_NAME: &str = "journal";
/// It is made anew when it is longer than this, in bytes.
const COMPACTION_THRESHOLD: u64 = 1 << 20;
/// How long a starter that outlived its run may take to end its job at once and to clean up.
const STARTER_END_TIMEOUT: Duration = Duration::from_secs(20);
/// How often one looks whether it has.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The journal of this run.
#[derive(Debug)]
pub struct RunJournal {
    file: JournalFile,
    directory: PathBuf,
    /// What is not over.
    open_records: Vec<JournalRecord>,
    /// In the names of ads: those of an earlier run may still be there.
    started_at: i64,
}

/// A fetched job whose queue has to be told that it comes back.
#[derive(Clone, Debug)]
pub struct JobToReturn {
    /// Its number in the new journal.
    pub accepted: u64,
    /// The slot that had accepted it.
    pub slot: String,
    /// The job.
    pub job: String,
    /// Its ad.
    pub ad: PathBuf,
}

/// What a run that was killed had under way, ended and cleaned.
#[derive(Debug, Default)]
pub struct RecoveredRun {
    /// What is to be told.
    pub events: Vec<StreamEvent>,
    /// What has to be told to queues.
    pub jobs_to_return: Vec<JobToReturn>,
}

impl RunJournal {
    /// Opens that of a state directory; with it what an earlier run had under way, and in a line what of that cannot be read.
    ///
    /// # Errors
    /// Another run writes it; it is not safe; the system refuses.
    pub fn open(directory: &Path) -> Result<(Self, Option<String>), JournalError> {
        let (file, journal) = JournalFile::open::<JournalRecord>(&directory.join(JOURNAL_NAME))?;
        let Journal { records, damage } = journal;
        let damage = summarize_damage(&damage);
        let begun = clock::now().epoch();
        Ok((
            RunJournal {
                file,
                directory: directory.into(),
                open_records: open_records(records),
                started_at: begun,
            },
            damage,
        ))
    }

    /// Ends what still runs of the run that was killed, cleans up after it, and says what became of it. Only then is it forgotten.
    ///
    /// Starters are ended, not adopted: a pool does the same. A starter of 25.14 that loses its startd ends its job at once and tells
    /// its hooks so (`daemon_core_main.cpp`, `check_parent`), and a new startd knows no claim of the old one. Its job goes back to
    /// where it came from by JOB_EXIT with `evict`, or by EVICT_CLAIM if it does not come so far.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn recover(
        &mut self,
        cleaner: &ExecuteCleaner,
        world: &dyn World,
    ) -> Result<RecoveredRun, JournalError> {
        let mut found = RecoveredRun::default();
        let left = std::mem::take(&mut self.open_records);
        let starters = recorded_starters(&left);
        // All at once: each takes its time.
        for process in
            starters.iter().filter_map(|(_, process)| process.as_ref()).filter(|one| is_process_running(one))
        {
            let _ = kill(Pid::from_raw(process.0), Signal::SIGQUIT);
        }
        let mut came_to_an_end = Vec::new();
        for (record, process) in starters {
            let JournalRecord::StarterBegins { slot, job, execute, note, accepted, .. } = record else {
                continue;
            };
            for line in end_starter(process, execute.as_deref(), cleaner, world) {
                let event = StreamEvent::new(clock::now(), RunnerEventKind::Warning).slot(slot).job(job);
                found.events.push(event.reason(line));
            }
            if process.is_some() && !note.exists() {
                came_to_an_end.extend(accepted);
            }
        }
        for record in &left {
            found.events.extend(self.end_hook(record, record.process_of(&left)));
        }
        // What is owed is owed until the hook begins; a starter that came to an end has told its own hooks.
        for record in &left {
            let JournalRecord::Accepted { accepted, slot, job, ad } = record else { continue };
            if came_to_an_end.contains(accepted) {
                continue;
            }
            // The numbers of the new run begin at the other end.
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

    /// Removes ads that no record names and files that were being written: what a run leaves that is killed in between.
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

    /// A call whose end nobody saw.
    fn end_hook(&self, record: &JournalRecord, process: Option<(i32, u64)>) -> Option<StreamEvent> {
        let JournalRecord::HookBegins { hook, slot, word, job, ad, .. } = record else { return None };
        if let Some(process) = process {
            // A queue had better be told to the end; what a fetch hook says nobody hears any more.
            if hook != SlotHookType::FetchWork.name() {
                wait_for(&process);
            }
            if is_process_running(&process) {
                kill_tree(process.0);
            }
        }
        let word = if word.is_empty() { String::new() } else { format!(" {word}") };
        // What is owed may need it as well, and then removes its own.
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
            "{hook}{word} began in a run that was killed, and its end was not recorded; it is not called again{ad}"
        );
        let event = StreamEvent::new(clock::now(), RunnerEventKind::HookFailed)
            .slot(slot)
            .verdict("unknown")
            .reason(reason);
        Some(match job {
            Some(job) => event.job(job),
            None => event,
        })
    }

    /// Writes a record; what it says may be done then, and not before.
    ///
    /// # Errors
    /// In words: it could not be written, and must not be done.
    pub(super) fn append_record(&mut self, record: JournalRecord) -> Result<(), String> {
        self.file.append(&record).map_err(|error| format_journal_error(&error))?;
        for ended in add_record(&mut self.open_records, record) {
            // With hundreds of slots it is asked often.
            let Some(ad) = ended.ad_path() else { continue };
            let names_it = |record: &JournalRecord| {
                record.ad_path().is_some_and(|other| other.as_os_str() == ad.as_os_str())
            };
            if !self.open_records.iter().any(names_it) {
                drop(fs::remove_file(ad));
            }
        }
        if self.file.len() > COMPACTION_THRESHOLD {
            // It goes on as it is, and grows.
            drop(self.file.compact(&self.open_records));
        }
        Ok(())
    }

    /// Where it stands: a directory of its account alone, which outlives the machine.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// An accepted job, and where its ad stands.
    pub(super) fn accepted_job(&self, accepted: u64) -> Option<(String, PathBuf)> {
        self.open_records.iter().find_map(|record| match record {
            JournalRecord::Accepted { accepted: other, job, ad, .. } if *other == accepted => {
                Some((job.clone(), ad.clone()))
            }
            _ => None,
        })
    }

    /// Keeps the ad of the job that a hook is told of, less what is private: what stands in front of the dashes.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn store_job_ad(&self, run: u64, stdin: &[u8]) -> io::Result<(ClassAd, PathBuf)> {
        let end = stdin.find(b"\n-----\n").map_or(stdin.len(), |at| at + 1);
        let (ad, _) = long::parse(&stdin[..end]);
        let path = self.directory.join(format!("job.{}.{run}.ad", self.started_at));
        files::replace_file(&path, &long::print(&ad), 0o600, None)?;
        Ok((ad, path))
    }
}

/// Of so many jobs and kinds of damage the line tells.
const MAX_SHOWN: usize = 8;

/// What cannot be read of a journal, and the jobs that it names.
fn summarize_damage(damage: &[JournalDamage]) -> Option<String> {
    let (first, last) = (damage.first()?, damage.last()?);
    if first.flaw == JournalFlaw::Truncated {
        return Some(format!(
            "the journal of the last run: {}: what it says was not begun",
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
    let flaws = some(flaws.iter().map(|(flaw, count)| format!("{count} times {flaw}")).collect(), "; ");
    let jobs = match jobs.len() {
        0 => "which jobs they are about cannot be read".to_owned(),
        _ => format!("about the jobs {}", some(jobs.into_iter().collect(), ", ")),
    };
    let count = match damage.len() {
        1 => "1 record".to_owned(),
        count => format!("{count} records"),
    };
    Some(format!(
        "the journal of the last run: {count} cannot be read, bytes {from} to {to}, {jobs}: {flaws}; of what was under way then \
         some may not be given back"
    ))
}

/// The job that a piece of a journal names, as far as one can see.
fn find_job_id(piece: &[u8]) -> Option<String> {
    const JOB_KEY: &[u8] = b"\"job\":\"";
    let id = &piece[piece.find(JOB_KEY)? + JOB_KEY.len()..];
    let id = &id[..id.find_byte(b'"')?];
    let is_id = !id.is_empty() && id.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    is_id.then(|| id.to_str_lossy().into_owned())
}

/// An error of the journal with its cause.
pub fn format_journal_error(error: &JournalError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

/// The starters that were under way, each with its process: as noted, or as it told itself before it took its job. Those that had not
/// done that never will.
fn recorded_starters(left: &[JournalRecord]) -> Vec<(&JournalRecord, Option<(i32, u64)>)> {
    let process = |record: &JournalRecord| {
        let JournalRecord::StarterBegins { note, .. } = record else { return None };
        record.process_of(left).or_else(|| withdraw_job(note.parent()?))
    };
    let begun = left.iter().filter(|record| matches!(record, JournalRecord::StarterBegins { .. }));
    begun.map(|record| (record, process(record))).collect()
}

/// Waits until a process has ended, as long as there is patience.
fn wait_for(process: &(i32, u64)) {
    let begun = Instant::now();
    while is_process_running(process) && begun.elapsed() < STARTER_END_TIMEOUT {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a process is the one that was started then, and has not ended.
fn is_process_running((pid, started): &(i32, u64)) -> bool {
    process_table::read_process(*pid).is_some_and(|one| one.start_ticks == *started && !one.is_zombie())
}

/// Waits for the end of a starter that outlived its run and was told to end its job, and cleans up behind it; lines of what was done.
fn end_starter(
    process: Option<(i32, u64)>,
    execute: Option<&Path>,
    cleaner: &ExecuteCleaner,
    world: &dyn World,
) -> Vec<String> {
    let Some(process) = process else {
        return vec!["a run that was killed was about to start a starter for it".to_owned()];
    };
    let pid = process.0;
    let mut lines = vec![match is_process_running(&process) {
        false => "a run that was killed had started it: its starter has ended, and nobody saw how".to_owned(),
        true => {
            wait_for(&process);
            if is_process_running(&process) {
                kill_tree(pid);
            }
            "it still ran under the starter of a run that was killed: it was ended".to_owned()
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

    #[test]
    fn however_much_is_damaged_it_is_told_in_a_line_with_its_jobs() {
        assert_eq!(summarize_damage(&[]), None);
        let torn = summarize_damage(&[damage("00", JournalFlaw::Truncated)]).unwrap();
        assert!(torn.ends_with("the last record was not written to its end: what it says was not begun"));
        let of = |number| damage(&format!("x{{\"job\":\"{number}.0\"}}"), JournalFlaw::Changed);
        let many: Vec<JournalDamage> = (10..38).map(of).collect();
        let line = summarize_damage(&many).unwrap();
        assert!(
            line.contains("28 records cannot be read, bytes 100 to 200, about the jobs 10.0, 11.0, "),
            "{line}"
        );
        assert!(
            line.contains("17.0, and 20 more: 28 times the record was changed after it was written; "),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
        let none = summarize_damage(&[damage("\"job\":\"\u{1b}\"", JournalFlaw::Changed)]).unwrap();
        assert!(
            none.contains("1 record cannot be read") && none.contains("which jobs they are about"),
            "{none}"
        );
    }
}
