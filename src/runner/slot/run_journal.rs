//! The journal of a run: what is about to be done stands in it before it is done, so that after a kill nothing is done twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::execute::remove_left_by;
use crate::classad::ClassAd;
use crate::classad::format::long;
use crate::journal::Journal;
use crate::os::{clock, files, process_table};
use crate::runner::events::{Event as Told, Kind};
use crate::runner::journal::{JournalError, JournalFile};
use crate::runner::starter::{Cleaner, kill_tree};
use crate::slot::{Record, note, recover};
use crate::world::World;

/// Its name in the state directory.
const NAME: &str = "journal";
/// It is made anew when it is longer than this, in bytes.
const LONG: u64 = 1 << 20;
/// How long a starter that outlived its run may take to end its job at once and to clean up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often one looks whether it has.
const PAUSE: Duration = Duration::from_millis(10);

/// The journal of this run.
#[derive(Debug)]
pub struct RunJournal {
    file: JournalFile,
    directory: PathBuf,
    /// What is not over.
    open: Vec<Record>,
    /// In the names of ads: those of an earlier run may still be there.
    begun: i64,
}

/// A fetched job whose queue has to be told that it comes back.
#[derive(Clone, Debug)]
pub struct Owed {
    /// The slot that had accepted it.
    pub slot: String,
    /// The job.
    pub job: String,
    /// Its ad.
    pub ad: PathBuf,
}

/// What a run that was killed had under way, ended and cleaned.
#[derive(Debug, Default)]
pub struct Recovered {
    /// What is to be told.
    pub told: Vec<Told>,
    /// What has to be told to queues.
    pub owed: Vec<Owed>,
}

impl RunJournal {
    /// Opens that of a state directory; with it what an earlier run had under way.
    ///
    /// # Errors
    /// Another run writes it; it is not safe; the system refuses.
    pub fn open(directory: &Path) -> Result<(Self, Vec<String>), JournalError> {
        let (file, journal) = JournalFile::open::<Record>(&directory.join(NAME))?;
        let Journal { records, damage } = journal;
        let damage = damage.iter().map(|damage| {
            let place = &damage.place;
            format!("the journal of the last run, bytes {} to {}: {}", place.start, place.end, damage.flaw)
        });
        let damage = damage.collect();
        let begun = clock::now().epoch();
        Ok((RunJournal { file, directory: directory.into(), open: recover(records), begun }, damage))
    }

    /// Ends what still runs of the run that was killed, cleans up after it, and says what became of it. Only then is it forgotten.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn recover(&mut self, cleaner: &Cleaner, world: &dyn World) -> Result<Recovered, JournalError> {
        let mut found = Recovered::default();
        let left = std::mem::take(&mut self.open);
        let mut came_to_an_end = Vec::new();
        for record in &left {
            let process = record.process_of(&left);
            match record {
                Record::StarterBegins { slot, job, execute, note, .. } => {
                    let told = end_starter(process, execute.as_deref(), cleaner, world);
                    for line in told {
                        let event = Told::new(clock::now(), Kind::Warning).slot(slot).job(job);
                        found.told.push(event.reason(line));
                    }
                    if !note.exists() {
                        came_to_an_end.push(slot);
                    }
                }
                Record::HookBegins { .. } => found.told.extend(self.end_hook(record, process)),
                Record::Accepted { .. }
                | Record::Claim { .. }
                | Record::HookRuns { .. }
                | Record::HookEnds { .. }
                | Record::StarterRuns { .. }
                | Record::StarterEnds { .. } => {}
            }
        }
        // What is owed is owed until the hook begins; a starter that came to an end has told its own hooks.
        for record in &left {
            let Record::Accepted { slot, job, ad } = record else { continue };
            if came_to_an_end.contains(&slot) {
                continue;
            }
            found.owed.push(Owed { slot: slot.clone(), job: job.clone(), ad: ad.clone() });
            self.open.push(record.clone());
        }
        self.file.compact(&self.open)?;
        let needed = |ad: &PathBuf| self.open.iter().any(|record| record.ad() == Some(ad));
        for ad in left.iter().filter_map(Record::ad).filter(|ad| !needed(ad)) {
            drop(fs::remove_file(ad));
        }
        Ok(found)
    }

    /// A call whose end nobody saw.
    fn end_hook(&self, record: &Record, process: Option<(i32, u64)>) -> Option<Told> {
        let Record::HookBegins { hook, slot, word, job, ad, .. } = record else { return None };
        if let Some((pid, _)) = process.filter(runs) {
            kill_tree(pid);
        }
        let word = if word.is_empty() { String::new() } else { format!(" {word}") };
        // What is owed may need it as well, and then removes its own.
        let kept = ad.as_ref().and_then(|ad| {
            let mut name = std::ffi::OsString::from("unknown.");
            name.push(ad.file_name()?);
            let kept = ad.with_file_name(name);
            files::replace(&kept, &fs::read(ad).ok()?, 0o600, None).ok()?;
            Some(kept)
        });
        let ad = match kept {
            Some(ad) => format!("; the job's ad is '{}'", ad.display()),
            None => String::new(),
        };
        let reason = format!(
            "{hook}{word} began in a run that was killed, and its end was not recorded; it is not called again{ad}"
        );
        let event = Told::new(clock::now(), Kind::HookFailed).slot(slot).verdict("unknown").reason(reason);
        Some(match job {
            Some(job) => event.job(job),
            None => event,
        })
    }

    /// Writes a record; what it says may be done then, and not before.
    ///
    /// # Errors
    /// In words: it could not be written, and must not be done.
    pub(super) fn note(&mut self, record: Record) -> Result<(), String> {
        self.file.append(&record).map_err(|error| told(&error))?;
        let before: Vec<PathBuf> = self.open.iter().filter_map(Record::ad).cloned().collect();
        note(&mut self.open, record);
        for ad in before {
            if !self.open.iter().any(|record| record.ad() == Some(&ad)) {
                drop(fs::remove_file(ad));
            }
        }
        if self.file.len() > LONG {
            // It goes on as it is, and grows.
            drop(self.file.compact(&self.open));
        }
        Ok(())
    }

    /// Keeps the ad of the job that a hook is told of, less what is private: what stands in front of the dashes.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep_ad(&self, run: u64, stdin: &[u8]) -> io::Result<(ClassAd, PathBuf)> {
        let end = stdin.find(b"\n-----\n").map_or(stdin.len(), |at| at + 1);
        let (ad, _) = long::parse(&stdin[..end]);
        let path = self.directory.join(format!("job.{}.{run}.ad", self.begun));
        files::replace(&path, &long::print(&ad), 0o600, None)?;
        Ok((ad, path))
    }
}

/// An error of the journal with its cause.
pub fn told(error: &JournalError) -> String {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{error}{cause}")
}

/// Whether a process is the one that was started then, and has not ended.
fn runs((pid, started): &(i32, u64)) -> bool {
    process_table::read(*pid).is_some_and(|one| one.started == *started && !one.is_zombie())
}

/// Ends a starter that outlived its run with its job, and cleans up behind it; lines of what was done.
fn end_starter(
    process: Option<(i32, u64)>,
    execute: Option<&Path>,
    cleaner: &Cleaner,
    world: &dyn World,
) -> Vec<String> {
    let Some(process) = process else {
        return vec!["a run that was killed was about to start a starter for it".to_owned()];
    };
    let pid = process.0;
    let mut lines = vec![match runs(&process) {
        false => "a run that was killed had started it: its starter has ended, and nobody saw how".to_owned(),
        true => {
            let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
            let begun = Instant::now();
            while runs(&process) && begun.elapsed() < PATIENCE {
                std::thread::sleep(PAUSE);
            }
            if runs(&process) {
                kill_tree(pid);
            }
            "it still ran under the starter of a run that was killed: it was ended".to_owned()
        }
    }];
    if let Some(execute) = execute {
        lines.extend(cleaner.clean(execute, Some(pid), true, world).into_iter().map(|one| one.line));
        lines.extend(u32::try_from(pid).into_iter().flat_map(|pid| remove_left_by(execute, pid)));
    }
    lines
}
