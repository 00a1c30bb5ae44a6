//! Directory of job ads used as a queue: one file per job, and one rename per change.
//!
//! A file is named `CLUSTER.PROC.ad` and is in the long form. Jobs that leave the queue are appended to the file
//! `history` in the directory. The files are complete even if a program is killed at any moment, because a claim, a
//! submission or a release changes only one file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bstr::{BString, ByteSlice};

use super::job_file::{
    CLUSTER_COUNTER_FILE, JOB_FILE_SUFFIX, complete_ad, is_temporary, job_id_of_file, read_job_file,
    record_attribute_change,
};
use super::submission;
use htc_base::job::{JobId, JobStatus};
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::format::long::{self, PrintOptions};
use htc_classad::{ClassAd, Context, Dialect, Expr};
use htc_os::files::open_regular_file;
use htc_router::lifecycle::set_submission_attributes;
use htc_router::{QueueView, RouterParameters, YieldError};

/// File for jobs that have left the queue.
const HISTORY_FILE: &str = "history";

/// Number of bytes at the end of the history in which an existing record of a job is searched for.
const HISTORY_TAIL_LENGTH: u64 = 1 << 20;

/// Attributes that a schedd does not allow to be deleted from a job.
const PROTECTED_ATTRIBUTES: [&str; 8] =
    ["ClusterId", "ProcId", "MyType", "TargetType", "Owner", "User", "JobUniverse", "TotalSubmitProcs"];

struct JobEntry {
    ad: ClassAd,
    modified: Option<SystemTime>,
    size: u64,
    entered: u64,
}

/// Jobs of a directory as of the last read.
pub struct JobDirectory {
    path: PathBuf,
    /// Dialect in which the jobs' files are parsed.
    dialect: Dialect,
    jobs: BTreeMap<JobId, JobEntry>,
    entered: u64,
    next_cluster: i32,
    /// Last error reported for each unusable file. Kept so that each error is reported only once.
    reported_errors: BTreeMap<JobId, String>,
    /// Files whose names are not those of job files; each is reported once.
    reported_names: BTreeSet<OsString>,
    /// Jobs that could not be read because of an error of the system, and of which no earlier version is known.
    unread: BTreeMap<JobId, String>,
    /// Source jobs that may already have been submitted by a submit command. They are not listed while the note of
    /// the attempt exists.
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

    fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }
}

impl JobDirectory {
    /// Creates a directory that has not been read yet.
    pub fn new(path: &Path, dialect: Dialect) -> Self {
        JobDirectory {
            path: path.to_owned(),
            dialect,
            jobs: BTreeMap::new(),
            entered: 0,
            next_cluster: 1,
            reported_errors: BTreeMap::new(),
            reported_names: BTreeSet::new(),
            unread: BTreeMap::new(),
            withheld: BTreeSet::new(),
        }
    }

    fn file(&self, id: JobId) -> PathBuf {
        self.path.join(format!("{id}{JOB_FILE_SUFFIX}"))
    }

    /// Reads changed files and reports unreadable ones. `copies` is the queue of the routed jobs, or `None` if they
    /// are in this directory.
    ///
    /// # Errors
    /// Fails if the directory itself cannot be read.
    pub fn refresh(&mut self, copies: Option<&JobDirectory>, note: &mut dyn FnMut(String)) -> io::Result<()> {
        let (mut seen, mut fresh) = (Vec::new(), Vec::new());
        let mut noted = BTreeSet::new();
        self.unread.clear();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            noted.extend(entry.file_name().to_str().and_then(submission::source_job_of_file));
            let Some(id) = entry.file_name().to_str().and_then(job_id_of_file) else {
                self.report_unused_file(&entry, note);
                continue;
            };
            let status = match entry.metadata() {
                Ok(status) => status,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    seen.push(id);
                    self.report_unreadable_job(id, &entry.path(), &error, note);
                    continue;
                }
            };
            seen.push(id);
            self.next_cluster = self.next_cluster.max(id.cluster.saturating_add(1));
            let (modified, size) = (status.modified().ok(), status.len());
            let known = self.jobs.get(&id);
            if known.is_some_and(|known| known.modified == modified && known.size == size) {
                continue;
            }
            let ad = match read_job_file(&entry.path(), self.dialect) {
                Ok(ad) => ad,
                Err(error) => {
                    self.report_unreadable_job(id, &entry.path(), &error, note);
                    continue;
                }
            };
            self.reported_errors.remove(&id);
            let entered = known.map_or(0, |known| known.entered);
            if known.is_none() {
                fresh.push(id);
            }
            self.jobs.insert(id, JobEntry { ad: complete_ad(id, ad), modified, size, entered });
        }
        seen.sort_unstable();
        self.jobs.retain(|id, _| seen.binary_search(id).is_ok());
        self.reported_errors.retain(|id, _| seen.binary_search(id).is_ok());
        self.withhold_possibly_submitted(noted, copies, note);
        // Jobs first seen in the same pass are ordered by id.
        fresh.sort_unstable();
        for id in fresh {
            if let Some(entry) = self.jobs.get_mut(&id) {
                self.entered += 1;
                entry.entered = self.entered;
            }
        }
        Ok(())
    }

    /// Reports once a regular file that is skipped because its name is not that of a job file. The history and hidden
    /// files are not reported.
    fn report_unused_file(&mut self, entry: &fs::DirEntry, note: &mut dyn FnMut(String)) {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        let is_history =
            text.strip_prefix(HISTORY_FILE).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let is_known = is_history || text.starts_with('.') || self.reported_names.contains(&name);
        if !is_known && fs::metadata(entry.path()).is_ok_and(|status| status.is_file()) {
            let path = self.path.join(&name);
            note(format!(
                "'{}' is not read: the file of a job must be called CLUSTER.PROC{JOB_FILE_SUFFIX}",
                path.display()
            ));
            self.reported_names.insert(name);
        }
    }

    /// Reports once that a job cannot be read.
    fn report_unreadable_job(
        &mut self,
        id: JobId,
        path: &Path,
        error: &io::Error,
        note: &mut dyn FnMut(String),
    ) {
        // If the error may be temporary, the last known ad is kept.
        if error.kind() == io::ErrorKind::InvalidData {
            self.jobs.remove(&id);
        } else if error.kind() != io::ErrorKind::NotFound && !self.jobs.contains_key(&id) {
            self.unread.insert(id, format!("its file cannot be read: {error}"));
        }
        let text = format!("'{}': {error}; the job is not routed", path.display());
        if self.reported_errors.get(&id) != Some(&text) {
            note(text.clone());
            self.reported_errors.insert(id, text);
        }
    }

    /// Returns the number of files that were skipped because their names are not those of job files.
    pub(super) fn unused_file_count(&self) -> usize {
        self.reported_names.len()
    }

    /// Returns the jobs that could not be read, with the reasons.
    pub(super) fn unread_jobs(&self) -> impl Iterator<Item = (JobId, &str)> {
        self.unread.iter().map(|(id, reason)| (*id, reason.as_str()))
    }

    /// Withholds the source jobs that may have been submitted, and reports each once.
    fn withhold_possibly_submitted(
        &mut self,
        mut noted: BTreeSet<JobId>,
        copies: Option<&JobDirectory>,
        note: &mut dyn FnMut(String),
    ) {
        if !noted.is_empty() {
            // If the routed job exists, the attempt succeeded, and the router was killed before it removed the note.
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
                "{source} may have been submitted by an earlier run and is not routed: look for its routed job, then remove '{}'",
                submission::note_path(&self.path, *source).display()
            ));
        }
        self.withheld = noted;
    }

    /// Removes a source job from the listing while it is being submitted by a submit command.
    pub(super) fn withhold(&mut self, source: JobId) {
        self.withheld.insert(source);
    }

    /// Lists a source job again once the outcome of its submission is known.
    pub(super) fn release_source(&mut self, source: JobId) {
        self.withheld.remove(&source);
    }

    /// Removes temporary files of a router that was killed. The directory is locked, so no other router is writing to
    /// it.
    pub(super) fn remove_unfinished_files(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_temporary) {
                // A file that cannot be removed does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns true if the job has a file, readable or not.
    pub(super) fn has_file(&self, id: JobId) -> bool {
        self.file(id).symlink_metadata().is_ok()
    }

    /// Reads the job's file as it is now.
    fn read_current_job(&self, id: JobId) -> io::Result<ClassAd> {
        read_job_file(&self.file(id), self.dialect)
    }

    /// Writes a job's file atomically.
    fn write_job(&mut self, id: JobId, ad: &ClassAd) -> io::Result<()> {
        let path = self.file(id);
        let mut text = long::print_with(ad, &PrintOptions { private: true, ..PrintOptions::default() });
        // The empty line lets users concatenate the files of several jobs.
        text.push(b'\n');
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
        let ad = complete_ad(id, ad.clone());
        self.jobs.insert(id, JobEntry { ad, modified: status.modified().ok(), size: status.len(), entered });
        Ok(())
    }

    /// Sets Managed and ManagedManager of a job that is idle and not managed (`claim_job`).
    ///
    /// # Errors
    /// Fails with the reason why the job cannot be claimed.
    pub fn claim(&mut self, id: JobId, manager: &[u8], world: &dyn World) -> Result<(), String> {
        let mut ad = self.read_current_job(id).map_err(|error| error.to_string())?;
        let context = Context::new(world).my(&ad);
        if context.int("JobStatus") != Some(JobStatus::IDLE) {
            return Err("the job is no longer idle".into());
        }
        if context.string("Managed").is_some_and(|managed| managed != "Schedd") {
            return Err("another manager has already claimed it".into());
        }
        ad.set("Managed", "External");
        ad.set("ManagedManager", BString::from(manager));
        self.write_job(id, &ad).map_err(|error| error.to_string())
    }

    /// Adds a routed job as a new cluster.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn submit(&mut self, copy: &ClassAd, now: i64) -> io::Result<JobId> {
        let id = self.allocate_job_id()?;
        self.submit_with_id(id, copy, now).map(|()| id)
    }

    /// Reserves the id of the next routed job.
    ///
    /// # Errors
    /// Fails if the number cannot be stored.
    pub(super) fn allocate_job_id(&mut self) -> io::Result<JobId> {
        self.allocate_cluster().map(|cluster| JobId::new(cluster, 0))
    }

    /// Adds a routed job under an id reserved by [`JobDirectory::allocate_job_id`].
    ///
    /// # Errors
    /// Fails if the file cannot be written.
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

    /// Records a routed job of `source` that was submitted to another queue, so that its state can be written to a
    /// file here.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if another job has that id.
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

    /// Sets and deletes attributes. JobStatus is unchanged if the job is removed or completed.
    ///
    /// # Errors
    /// Fails if the job is gone or cannot be written.
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

    /// Edits a source job in place. Attributes that a schedd keeps in every job are not deleted; trying to delete
    /// them is not an error.
    ///
    /// # Errors
    /// Fails if the job is gone or cannot be written, or if its id or owner would change.
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
        // 25.14 moves an edited job to the end of its list (`FinishSubmitJob`).
        self.entered += 1;
        if let Some(entry) = self.jobs.get_mut(&id) {
            entry.entered = self.entered;
        }
        Ok(())
    }

    /// Removes a job from the queue after writing its record to the history.
    ///
    /// # Errors
    /// Fails if the history cannot be written or the file cannot be removed.
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
        // If a router was killed between this step and the removal of the file, the record exists already.
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

    /// Returns true if the end of the history has a record of the job.
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

    /// Returns the number of the next cluster; numbers are never reused.
    fn allocate_cluster(&mut self) -> io::Result<i32> {
        let path = self.path.join(CLUSTER_COUNTER_FILE);
        let mut text = String::new();
        match open_regular_file(&path, OpenOptions::new().read(true)) {
            // The file contains only a number, so 64 bytes suffice. An invalid number is treated as 1.
            Ok(file) => match file.take(64).read_to_string(&mut text) {
                Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
                Ok(_) | Err(_) => {}
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut cluster = self.next_cluster.max(text.trim().parse().unwrap_or(1));
        let none_left = || io::Error::other("all cluster numbers are used");
        while self.file(JobId::new(cluster, 0)).exists() {
            cluster = cluster.checked_add(1).ok_or_else(none_left)?;
        }
        self.next_cluster = cluster.checked_add(1).ok_or_else(none_left)?;
        let temporary = self.path.join(format!("{CLUSTER_COUNTER_FILE}.{}", std::process::id()));
        fs::write(&temporary, format!("{}\n", self.next_cluster))?;
        fs::rename(&temporary, &path)?;
        Ok(cluster)
    }

    /// Releases a source job from the router's management (`yield_job`).
    ///
    /// # Errors
    /// Fails if the source is no longer managed by this router, or if its file cannot be written; writing may be
    /// tried again.
    pub fn yield_job(
        &mut self,
        id: JobId,
        done: bool,
        parameters: &RouterParameters,
        world: &dyn World,
    ) -> Result<(), YieldError> {
        let mut ad = match self.read_current_job(id) {
            Ok(ad) => ad,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(YieldError::NotOurs),
            Err(_) => return Err(YieldError::WriteFailed),
        };
        let context = Context::new(world).my(&ad);
        let is = |name: &str, wanted: &[u8]| context.string(name).is_some_and(|text| text == wanted);
        if !is("Managed", b"External") || !is("ManagedManager", &parameters.name) {
            return Err(YieldError::NotOurs);
        }
        let status = context.int("JobStatus");
        let idle = |ad: &mut ClassAd| {
            record_attribute_change(ad, b"JobStatus", Some(&Expr::literal(JobStatus::IDLE)), world);
            ad.set("JobStatus", JobStatus::IDLE);
        };
        let copied = context.boolean("HoldCopiedFromTargetJob").unwrap_or(false);
        let managed = if done { "ScheddDone" } else { "Schedd" };
        // A removed or completed job leaves the queue in one step: if the router is killed meanwhile, the job is still
        // managed.
        if matches!(status, Some(JobStatus::REMOVED | JobStatus::COMPLETED)) {
            let mark = [("Managed", Expr::literal(managed)), ("ManagedManager", Expr::literal(""))];
            return self.move_to_history(id, &mark, world.now().epoch()).map_err(|_| YieldError::WriteFailed);
        }
        ad.set("Managed", managed);
        ad.set("ManagedManager", "");
        match status {
            Some(JobStatus::HELD) if copied && parameters.release_on_hold => {
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
            let mut reports = 0;
            directory.refresh(None, &mut |_| reports += 1).unwrap();
            assert_eq!((directory.jobs().len(), reports), if strict { (1, 0) } else { (0, 1) });
        }
    }

    #[test]
    fn each_file_with_an_invalid_name_is_reported_once() {
        let place = tempfile::tempdir().unwrap();
        for name in ["7.ad", "1.0.ad", "notes", ".7.0.12"] {
            fs::write(place.path().join(name), "A = 1\n").unwrap();
        }
        let mut directory = JobDirectory::new(place.path(), Dialect::new_syntax());
        let mut reports = Vec::new();
        for _ in 0..2 {
            directory.refresh(None, &mut |text| reports.push(text)).unwrap();
        }
        assert_eq!(directory.jobs().len(), 1);
        reports.sort();
        assert_eq!(reports.len(), 2, "{reports:?}");
        assert!(
            reports[0].contains("7.ad' is not read") && reports[1].contains("notes' is not read"),
            "{reports:?}"
        );
    }
}
