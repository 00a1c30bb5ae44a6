//! A directory of job ads as a queue: one file a job, each change one rename.
//!
//! A file is `CLUSTER.PROC.ad`, in the long form. What leaves the queue is appended to `history` there. Whatever is killed
//! at whatever moment leaves whole files: a claim, a submission, a release each stand in one file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bstr::{BString, ByteSlice};

use super::submission;
use htc_base::job::{HoldCode, JobId, JobStatus};
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::format::long::{self, PrintOptions};
use htc_classad::{ClassAd, Context, Dialect, Expr, Value};
use htc_os::files::open_regular_file;
use htc_router::lifecycle::set_submission_attributes;
use htc_router::{QueueView, RouterParameters, YieldError};

/// The job's file ends in this.
const JOB_FILE_SUFFIX: &str = ".ad";
/// Where jobs go that leave.
const HISTORY_FILE: &str = "history";

/// The number of the next cluster.
const CLUSTER_COUNTER_FILE: &str = ".next_cluster";
/// The largest ad of a job, in bytes.
const MAX_AD_SIZE: u64 = 64 << 20;
/// How much of the history is searched for a record that may be there already, in bytes.
const HISTORY_TAIL_LENGTH: u64 = 1 << 20;

/// Attributes that a schedd lets nobody take from a job (recording r12).
const PROTECTED_ATTRIBUTES: [&str; 8] =
    ["ClusterId", "ProcId", "MyType", "TargetType", "Owner", "User", "JobUniverse", "TotalSubmitProcs"];

struct JobEntry {
    ad: ClassAd,
    modified: Option<SystemTime>,
    size: u64,
    entered: u64,
}

/// The jobs of a directory as last read.
pub struct JobDirectory {
    path: PathBuf,
    /// How the jobs' files are read.
    dialect: Dialect,
    jobs: BTreeMap<JobId, JobEntry>,
    entered: u64,
    next_cluster: i32,
    /// What was said of files that cannot be used, so that it is said once.
    reported_errors: BTreeMap<JobId, String>,
    /// Sources that may have been submitted elsewhere: not listed as long as the note of the attempt is there.
    withheld: BTreeSet<JobId>,
}

impl QueueView for JobDirectory {
    fn job(&self, id: JobId) -> Option<ClassAd> {
        self.jobs.get(&id).map(|entry| entry.ad.clone())
    }

    fn jobs(&self) -> Vec<JobId> {
        let listed = self.jobs.iter().filter(|(id, _)| !self.withheld.contains(id));
        let mut ids: Vec<(u64, JobId)> = listed.map(|(id, entry)| (entry.entered, *id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }
}

/// The id that a file's name says.
fn job_id_of_file(name: &str) -> Option<JobId> {
    JobId::parse_key(name.strip_suffix(JOB_FILE_SUFFIX)?.as_bytes()).filter(|id| id.is_job())
}

/// Whether a file is one that is renamed once it is whole: `.CLUSTER.PROC.PID`, or the counter's.
fn is_temporary(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((whole, pid)) = name.rsplit_once('.') else { return false };
    let of_job = whole.strip_prefix('.').and_then(|id| JobId::parse_key(id.as_bytes()));
    is_number(pid) && (whole == CLUSTER_COUNTER_FILE || of_job.is_some_and(|id| id.is_job()))
}

/// Reads a job's file. What is no file is not even opened, and no open ever waits for somebody else.
fn read(path: &Path, dialect: Dialect) -> io::Result<ClassAd> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let mut text = Vec::new();
    open_regular_file(path, OpenOptions::new().read(true))?.take(MAX_AD_SIZE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_AD_SIZE {
        return Err(invalid(format!("is larger than {} MiB", MAX_AD_SIZE >> 20)));
    }
    let (ad, errors) = long::parse_with(&text, dialect);
    match errors.into_iter().next() {
        Some(error) => Err(invalid(error.to_string())),
        None if ad.is_empty() => Err(invalid("has no attributes".into())),
        None => Ok(ad),
    }
}

/// What a schedd notes when an attribute is set: the former state, and how often and why a job was held (`SetAttribute`,
/// qmgmt.cpp).
fn record_attribute_change(ad: &mut ClassAd, name: &[u8], expr: Option<&Expr>, world: &dyn World) {
    let value = expr.and_then(|expr| expr.as_literal()?.as_int());
    if caseless::eq(name, b"JobStatus") {
        let former = ad.literal("JobStatus").and_then(|status| status.as_int());
        if let (Some(former), true) = (former, value.is_some() && former != value) {
            ad.set("LastJobStatus", former);
        }
    }
    // Files that are still to be spooled are not counted.
    let counts = |code: &i64| *code != HoldCode::SpoolingInput.number();
    let Some(code) = value.filter(|code| caseless::eq(name, b"HoldReasonCode") && counts(code)) else {
        return;
    };
    let held = Context::new(world).my(ad).int("NumHolds").unwrap_or(0);
    let reasons = match Context::new(world).my(ad).eval_attr("NumHoldsByReason") {
        Value::Ad(reasons) => reasons,
        _ => Arc::default(),
    };
    let mut reasons = ClassAd::clone(&reasons);
    let reason = HoldCode::from_number(code).unwrap_or(HoldCode::Unspecified).name();
    let so_far = Context::new(world).my(&reasons).int(reason).unwrap_or(0);
    reasons.set(reason, so_far + 1);
    ad.set("NumHolds", held + 1);
    ad.set("NumHoldsByReason", Value::Ad(Arc::new(reasons)));
}

/// A job's file as the router sees it.
fn add_job_id(id: JobId, mut ad: ClassAd) -> ClassAd {
    ad.set("ClusterId", i64::from(id.cluster));
    ad.set("ProcId", i64::from(id.proc));
    // A schedd notes when the hooks of a finished job are done; whoever writes files need not know that.
    let done = ad.literal("JobStatus").and_then(|status| status.as_int()) == Some(JobStatus::COMPLETED);
    if done && !ad.contains("JobFinishedHookDone") {
        ad.set("JobFinishedHookDone", 1);
    }
    ad
}

impl JobDirectory {
    /// A directory, not yet read.
    pub fn new(path: &Path, dialect: Dialect) -> Self {
        JobDirectory {
            path: path.to_owned(),
            dialect,
            jobs: BTreeMap::new(),
            entered: 0,
            next_cluster: 1,
            reported_errors: BTreeMap::new(),
            withheld: BTreeSet::new(),
        }
    }

    fn file(&self, id: JobId) -> PathBuf {
        self.path.join(format!("{id}{JOB_FILE_SUFFIX}"))
    }

    /// Reads what has changed; tells what cannot be read. `copies` is the queue of the copies if it is another one.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub fn refresh(&mut self, copies: Option<&JobDirectory>, note: &mut dyn FnMut(String)) -> io::Result<()> {
        let (mut seen, mut fresh) = (Vec::new(), Vec::new());
        let mut noted = BTreeSet::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            noted.extend(entry.file_name().to_str().and_then(submission::source_of_note));
            let Some(id) = entry.file_name().to_str().and_then(job_id_of_file) else { continue };
            let Ok(status) = entry.metadata() else { continue };
            seen.push(id);
            self.next_cluster = self.next_cluster.max(id.cluster.saturating_add(1));
            let (modified, size) = (status.modified().ok(), status.len());
            let known = self.jobs.get(&id);
            if known.is_some_and(|known| known.modified == modified && known.size == size) {
                continue;
            }
            let ad = match read(&entry.path(), self.dialect) {
                Ok(ad) => ad,
                Err(error) => {
                    self.unreadable(id, &entry.path(), &error, note);
                    continue;
                }
            };
            self.reported_errors.remove(&id);
            let entered = known.map_or(0, |known| known.entered);
            if known.is_none() {
                fresh.push(id);
            }
            self.jobs.insert(id, JobEntry { ad: add_job_id(id, ad), modified, size, entered });
        }
        seen.sort_unstable();
        self.jobs.retain(|id, _| seen.binary_search(id).is_ok());
        self.reported_errors.retain(|id, _| seen.binary_search(id).is_ok());
        self.withhold_noted_sources(noted, copies, note);
        // New jobs of one look entered in the order of their numbers.
        fresh.sort_unstable();
        for id in fresh {
            if let Some(entry) = self.jobs.get_mut(&id) {
                self.entered += 1;
                entry.entered = self.entered;
            }
        }
        Ok(())
    }

    /// Notes once that a job cannot be read.
    fn unreadable(&mut self, id: JobId, path: &Path, error: &io::Error, note: &mut dyn FnMut(String)) {
        // What is known of it stays where it cannot be read just now.
        if error.kind() == io::ErrorKind::InvalidData {
            self.jobs.remove(&id);
        }
        let text = format!("'{}': {error}; the job is left alone", path.display());
        if self.reported_errors.get(&id) != Some(&text) {
            note(text.clone());
            self.reported_errors.insert(id, text);
        }
    }

    /// Withholds the sources that may have been submitted; says so once of each.
    fn withhold_noted_sources(
        &mut self,
        mut noted: BTreeSet<JobId>,
        copies: Option<&JobDirectory>,
        note: &mut dyn FnMut(String),
    ) {
        if !noted.is_empty() {
            // An attempt whose copy is here has succeeded: the router was killed before it took the note away.
            let of = |entry: &JobEntry| JobId::parse_key(entry.ad.string("RoutedFromJobId")?);
            let copies = copies.map_or(&self.jobs, |copies| &copies.jobs).values();
            for source in copies.filter_map(of).filter(|id| self.jobs.contains_key(id)) {
                if noted.contains(&source)
                    && fs::remove_file(submission::note_path(&self.path, source)).is_ok()
                {
                    noted.remove(&source);
                }
            }
        }
        for source in noted.difference(&self.withheld).filter(|id| self.jobs.contains_key(id)) {
            note(format!(
                "{source} may have been submitted by a former run; it is left alone: look for its copy, then remove '{}'",
                submission::note_path(&self.path, *source).display()
            ));
        }
        self.withheld = noted;
    }

    /// Lists a source no more: it is being submitted elsewhere.
    pub(super) fn withhold(&mut self, source: JobId) {
        self.withheld.insert(source);
    }

    /// Lists a source again: it is clear what came of its submission.
    pub(super) fn release_source(&mut self, source: JobId) {
        self.withheld.remove(&source);
    }

    /// Removes what a killed router was still writing. Nobody else writes here: the directory is locked.
    pub(super) fn remove_unfinished_files(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_temporary) {
                // One that cannot be removed is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Whether there is a file of the job, readable or not.
    pub(super) fn has_file(&self, id: JobId) -> bool {
        self.file(id).symlink_metadata().is_ok()
    }

    /// The job as it stands in its file now.
    fn read_current_job(&self, id: JobId) -> io::Result<ClassAd> {
        read(&self.file(id), self.dialect)
    }

    /// Writes a job's file in one go.
    fn write_job(&mut self, id: JobId, ad: &ClassAd) -> io::Result<()> {
        let path = self.file(id);
        let text = long::print_with(ad, &PrintOptions { private: true, ..PrintOptions::default() });
        let temporary = self.path.join(format!(".{id}.{}", std::process::id()));
        let mut file = File::create(&temporary)?;
        file.write_all(&text)?;
        file.sync_data()?;
        drop(file);
        fs::rename(&temporary, &path)?;
        let status = fs::metadata(&path)?;
        let entered = match self.jobs.get(&id) {
            Some(known) => known.entered,
            None => {
                self.entered += 1;
                self.entered
            }
        };
        let ad = add_job_id(id, ad.clone());
        self.jobs.insert(id, JobEntry { ad, modified: status.modified().ok(), size: status.len(), entered });
        Ok(())
    }

    /// Sets Managed and ManagedManager of a job that is idle and not managed (`claim_job`).
    ///
    /// # Errors
    /// Why it is not ours now.
    pub fn claim(&mut self, id: JobId, manager: &[u8], world: &dyn World) -> Result<(), String> {
        let mut ad = self.read_current_job(id).map_err(|error| error.to_string())?;
        let context = Context::new(world).my(&ad);
        if context.int("JobStatus") != Some(JobStatus::IDLE) {
            return Err("the job is not idle any more".into());
        }
        if context.string("Managed").is_some_and(|managed| managed != "Schedd") {
            return Err("it is already claimed by somebody else".into());
        }
        ad.set("Managed", "External");
        ad.set("ManagedManager", BString::from(manager));
        self.write_job(id, &ad).map_err(|error| error.to_string())
    }

    /// Adds a copy as a new cluster.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn submit(&mut self, copy: &ClassAd, now: i64) -> io::Result<JobId> {
        let id = self.allocate_job_id()?;
        self.submit_with_id(id, copy, now).map(|()| id)
    }

    /// The id of the next copy, which nobody else gets.
    ///
    /// # Errors
    /// The number cannot be noted.
    pub(super) fn allocate_job_id(&mut self) -> io::Result<JobId> {
        self.allocate_cluster().map(|cluster| JobId::new(cluster, 0))
    }

    /// Adds a copy under an id of [`JobDirectory::allocate_job_id`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn submit_with_id(&mut self, id: JobId, copy: &ClassAd, now: i64) -> io::Result<()> {
        let mut ad = copy.clone();
        for name in htc_router::translate::NEVER_SENT_ATTRIBUTES {
            ad.remove(name);
        }
        ad.set("ClusterId", i64::from(id.cluster));
        ad.set("ProcId", i64::from(id.proc));
        set_submission_attributes(&mut ad, now);
        self.write_job(id, &ad)
    }

    /// Notes a copy of `source` that was submitted elsewhere, so that its state can be written here.
    ///
    /// # Errors
    /// The file cannot be written, or there is another job of that id.
    pub fn adopt_copy(&mut self, id: JobId, source: JobId, copy: &ClassAd, now: i64) -> io::Result<()> {
        if self.file(id).exists() {
            let there = self.read_current_job(id)?;
            if there.string("RoutedFromJobId").and_then(|text| JobId::parse_key(text)) != Some(source) {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "another job has this id"));
            }
        }
        let mut ad = copy.clone();
        ad.set("QDate", now);
        self.write_job(id, &ad)
    }

    /// Sets and deletes attributes. JobStatus stays where the job is removed or completed.
    ///
    /// # Errors
    /// The job is gone or cannot be written.
    pub fn update(
        &mut self,
        id: JobId,
        changes: &[(BString, Option<Expr>)],
        world: &dyn World,
    ) -> io::Result<()> {
        let mut ad = self.read_current_job(id)?;
        let status = Context::new(world).my(&ad).int("JobStatus");
        for (name, expr) in changes {
            if name.eq_ignore_ascii_case(b"JobStatus")
                && matches!(status, Some(JobStatus::REMOVED | JobStatus::COMPLETED))
            {
                continue;
            }
            record_attribute_change(&mut ad, name, expr.as_ref(), world);
            match expr {
                Some(expr) => ad.insert(name, expr.clone()),
                None => {
                    ad.remove(name);
                }
            }
        }
        self.write_job(id, &ad)
    }

    /// Edits a source in place. What a schedd keeps of every job cannot be deleted; that it is asked for is no failure.
    ///
    /// # Errors
    /// The job is gone or cannot be written, or is to get another id or owner.
    pub fn edit_in_place(
        &mut self,
        id: JobId,
        changes: &[(BString, Option<Expr>)],
        world: &dyn World,
    ) -> io::Result<()> {
        let kept =
            |name: &BString| PROTECTED_ATTRIBUTES.iter().any(|kept| caseless::eq(kept.as_bytes(), name));
        if let Some((name, _)) = changes.iter().find(|(name, expr)| expr.is_some() && kept(name)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("Failed to set {name}")));
        }
        let allowed: Vec<_> = changes.iter().filter(|(name, _)| !kept(name)).cloned().collect();
        self.update(id, &allowed, world)?;
        // 25.14 puts an edited job behind all others, so that they are looked at first (`FinishSubmitJob`).
        self.entered += 1;
        if let Some(entry) = self.jobs.get_mut(&id) {
            entry.entered = self.entered;
        }
        Ok(())
    }

    /// Lets a job leave the queue: its record goes to the history first.
    ///
    /// # Errors
    /// The history cannot be written or the file not removed.
    pub fn move_to_history(&mut self, id: JobId, changes: &[(&str, Expr)], now: i64) -> io::Result<()> {
        let mut ad = match self.read_current_job(id) {
            Ok(ad) => ad,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.jobs.remove(&id);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (name, expr) in changes {
            ad.insert(name, expr.clone());
        }
        let mut record = long::print_with(&ad, &PrintOptions::default());
        let owner = ad.string("Owner").map(|owner| owner.to_string()).unwrap_or_else(|| "?".into());
        let done = ad.literal("CompletionDate").and_then(|value| value.as_int()).unwrap_or(-1);
        let trailer = format!(
            "*** Offset = -1 ClusterId = {} ProcId = {} Owner = \"{owner}\" CompletionDate = {done} CurrentTime = {now}\n",
            id.cluster, id.proc
        );
        record.extend_from_slice(trailer.as_bytes());
        // A router that was killed here has written the record already.
        if !self.is_in_history(id)? {
            let path = self.path.join(HISTORY_FILE);
            let mut history = open_regular_file(&path, OpenOptions::new().create(true).append(true))?;
            history.write_all(&record)?;
            history.sync_data()?;
        }
        fs::remove_file(self.file(id))?;
        self.jobs.remove(&id);
        Ok(())
    }

    /// Whether the end of the history has a record of the job.
    fn is_in_history(&self, id: JobId) -> io::Result<bool> {
        let mut file = match open_regular_file(&self.path.join(HISTORY_FILE), OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(HISTORY_TAIL_LENGTH)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let trailer = format!(" ClusterId = {} ProcId = {} Owner = ", id.cluster, id.proc);
        Ok(ByteSlice::lines(text.as_slice())
            .any(|line| line.starts_with(b"***") && line.contains_str(&trailer)))
    }

    /// The number of the next cluster: never one that was in use before.
    fn allocate_cluster(&mut self) -> io::Result<i32> {
        let path = self.path.join(CLUSTER_COUNTER_FILE);
        let mut text = String::new();
        match open_regular_file(&path, OpenOptions::new().read(true)) {
            // A number has few digits; what is none counts as the first.
            Ok(file) => file.take(64).read_to_string(&mut text).map(drop).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut cluster = self.next_cluster.max(text.trim().parse().unwrap_or(1));
        let none_left = || io::Error::other("there is no cluster number left");
        while self.file(JobId::new(cluster, 0)).exists() {
            cluster = cluster.checked_add(1).ok_or_else(none_left)?;
        }
        self.next_cluster = cluster.checked_add(1).ok_or_else(none_left)?;
        let temporary = self.path.join(format!("{CLUSTER_COUNTER_FILE}.{}", std::process::id()));
        fs::write(&temporary, format!("{}\n", self.next_cluster))?;
        fs::rename(&temporary, &path)?;
        Ok(cluster)
    }

    /// Gives a source back (`yield_job`; 8.7). `Err(false)`: it is not ours any more.
    ///
    /// # Errors
    /// Whether it is worth trying again.
    pub fn yield_job(
        &mut self,
        id: JobId,
        done: bool,
        knobs: &RouterParameters,
        world: &dyn World,
    ) -> Result<(), YieldError> {
        let mut ad = match self.read_current_job(id) {
            Ok(ad) => ad,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(YieldError::NotOurs),
            Err(_) => return Err(YieldError::WriteFailed),
        };
        let context = Context::new(world).my(&ad);
        let is = |name: &str, wanted: &[u8]| context.string(name).is_some_and(|text| text == wanted);
        if !is("Managed", b"External") || !is("ManagedManager", &knobs.name) {
            return Err(YieldError::NotOurs);
        }
        let status = context.int("JobStatus");
        let idle = |ad: &mut ClassAd| {
            record_attribute_change(ad, b"JobStatus", Some(&Expr::literal(JobStatus::IDLE)), world);
            ad.set("JobStatus", JobStatus::IDLE);
        };
        let copied = context.boolean("HoldCopiedFromTargetJob").unwrap_or(false);
        let managed = if done { "ScheddDone" } else { "Schedd" };
        // What is removed or completed leaves at once, in one go: killed in between, it is found managed as before.
        if matches!(status, Some(JobStatus::REMOVED | JobStatus::COMPLETED)) {
            let mark = [("Managed", Expr::literal(managed)), ("ManagedManager", Expr::literal(""))];
            return self.move_to_history(id, &mark, world.now().epoch()).map_err(|_| YieldError::WriteFailed);
        }
        ad.set("Managed", managed);
        ad.set("ManagedManager", "");
        match status {
            Some(JobStatus::HELD) if copied && knobs.release_on_hold => {
                ad.remove("HoldCopiedFromTargetJob");
                idle(&mut ad);
            }
            Some(JobStatus::IDLE | JobStatus::HELD) => {}
            _ => idle(&mut ad),
        }
        self.write_job(id, &ad).map_err(|_| YieldError::WriteFailed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_in_the_mode_of_the_configuration() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("1.0.ad"), "A = 010\n").unwrap();
        for strict in [false, true] {
            let mut directory = JobDirectory::new(place.path(), Dialect::new_syntax().strict(strict));
            let mut told = 0;
            directory.refresh(None, &mut |_| told += 1).unwrap();
            assert_eq!((directory.jobs().len(), told), if strict { (1, 0) } else { (0, 1) });
        }
    }
}
