//! Files of sandboxed jobs, and proxies lent by routes, in a running router.

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

use bstr::ByteSlice;
use nix::libc;

use super::LiveRouter;
use crate::router::spool::{self, CopyDirection, SpoolCopy};
use htc_base::job::JobId;
use htc_base::process::{Exit, ProcessIdentity};
use htc_base::time::MonotonicTime;
use htc_classad::{ClassAd, Context, Expr};
use htc_os as os;
use htc_os::directory_tree::remove_tree;
use htc_os::files::{make_directory, open_regular_file};
use htc_os::{ChildId, clock};
use htc_router::{QueueView, RouterEvent};

/// Maximum size of an X.509 proxy, in bytes.
const MAX_PROXY_SIZE: u64 = 1 << 20;

impl LiveRouter<'_> {
    /// Copies the X.509 proxy that the route lends to its jobs, readable only by the job's owner. Returns `None` if
    /// the route lends no proxy (`RoutedJob::PrepareSharedX509UserProxy`).
    pub(super) fn copy_lent_proxy(&self, source: JobId, ad: &ClassAd) -> Result<Option<PathBuf>, String> {
        let job = self.router.job(source);
        let lent = job.and_then(|job| self.router.lent_proxy(job, self.options.world));
        let Some(file) = lent else { return Ok(None) };
        let copy = PathBuf::from(format!("{}.{source}", file.to_path_lossy().display()));
        let copied = || -> io::Result<()> {
            let mut content = Vec::new();
            let proxy = open_regular_file(&file.to_path_lossy(), OpenOptions::new().read(true))?;
            io::Read::read_to_end(&mut io::Read::take(proxy, MAX_PROXY_SIZE), &mut content)?;
            let owner = self.owner(ad).map_err(io::Error::other)?;
            os::files::replace_file(&copy, &content, 0o600, owner.as_ref())
        };
        copied().map_err(|error| format!("failed to copy {file} to {}. ({error})", copy.display()))?;
        Ok(Some(copy))
    }

    /// Returns the account that owns the job's files, or `None` if this program cannot change accounts.
    pub(super) fn owner(&self, ad: &ClassAd) -> Result<Option<ProcessIdentity>, String> {
        let owner = ad.string("Owner").unwrap_or_default();
        os::identity::identity_of_owner(owner, "root does not read or write files of jobs")
    }

    /// Starts to copy the input files of a routed job into the spool; returns an event if that fails.
    pub(super) fn spool(&mut self, source: JobId, mut ad: ClassAd, now: i64) -> Option<RouterEvent> {
        let proxy = match self.copy_lent_proxy(source, &ad) {
            Ok(proxy) => proxy,
            Err(reason) => return Some(RouterEvent::SubmitNotPrepared(source, reason)),
        };
        match self.spawn_spooling(&mut ad, now) {
            Ok((child, copy)) => {
                let deadline = self.options.hook_limit.map(|limit| clock::monotonic_now().plus(limit));
                let direction = CopyDirection::IntoSpool(Box::new(ad), proxy);
                self.copying.insert(child, SpoolCopy { source, copy, direction, deadline, timed_out: false });
                None
            }
            Err(reason) => {
                self.remove_proxy(proxy);
                Some(RouterEvent::SubmitResult(source, Err(format!("cannot spool its files: {reason}"))))
            }
        }
    }

    fn spawn_spooling(&mut self, ad: &mut ClassAd, now: i64) -> Result<(ChildId, JobId), String> {
        let world = self.options.world;
        let copy = self.copies_queue_mut().allocate_job_id().map_err(|error| error.to_string())?;
        let place = spool::job_spool_directory(&self.copies_absolute, copy);
        let owner = self.owner(ad)?;
        // The directory may exist if an earlier run reserved the id but never submitted the job.
        remove_tree(&place);
        let parent = place.parent().unwrap_or(&place);
        std::fs::create_dir_all(parent)
            .and_then(|()| make_directory(&place, 0o700, owner.as_ref()))
            .map_err(|error| format!("'{}': {error}", place.display()))?;
        let inputs = spool::input_copies(ad, &place, world);
        let home = Context::new(world).my(ad).string("Iwd").unwrap_or_default();
        let home = self.absolute.join(home.to_path_lossy());
        spool::rewrite_ad_for_spool(ad, &place, now, world);
        let spec = spool::copy_child_spec(&inputs, &home, owner, world);
        self.reactor.spawn(spec).map(|child| (child, copy)).map_err(|error| {
            remove_tree(&place);
            error.to_string()
        })
    }

    /// Starts to copy the output of a routed job that has ended. Returns an event if there is no output or if copying
    /// fails.
    pub(super) fn start_fetching_output(
        &mut self,
        source: JobId,
        copy: JobId,
        now: i64,
    ) -> Option<RouterEvent> {
        let world = self.options.world;
        let ad = self.copies_queue().job(copy).filter(|ad| ad.contains("SUBMIT_Iwd"));
        let place = spool::job_spool_directory(&self.copies_absolute, copy);
        let Some(ad) = ad.filter(|_| place.is_dir()) else {
            return Some(self.finish_copy(source, copy, None, now));
        };
        let spawned = self.owner(&ad).and_then(|owner| {
            let spec = spool::copy_child_spec(
                &spool::output_copies(&ad, &place, world),
                &self.absolute,
                owner,
                world,
            );
            self.reactor.spawn(spec).map_err(|error| error.to_string())
        });
        match spawned {
            Ok(child) => {
                let deadline = self.options.hook_limit.map(|limit| clock::monotonic_now().plus(limit));
                self.copying.insert(
                    child,
                    SpoolCopy {
                        source,
                        copy,
                        direction: CopyDirection::OutOfSpool(now),
                        deadline,
                        timed_out: false,
                    },
                );
                None
            }
            Err(reason) => Some(RouterEvent::FinalizeResult(source, Err(reason))),
        }
    }

    /// Moves a routed job that has ended to the history. `begun` is the time at which copying of its output began, or
    /// `None` if nothing was copied.
    fn finish_copy(&mut self, source: JobId, copy: JobId, begun: Option<i64>, now: i64) -> RouterEvent {
        let mut changes = vec![("LeaveJobInQueue", Expr::literal(false))];
        if let Some(begun) = begun {
            changes.push(("StageOutStart", Expr::literal(begun)));
            changes.push(("StageOutFinish", Expr::literal(now)));
        }
        let left =
            self.copies_queue_mut().move_to_history(copy, &changes, now).map_err(|error| error.to_string());
        if left.is_ok() {
            self.remove_spool(copy);
        }
        RouterEvent::FinalizeResult(source, left)
    }

    /// Removes the spooled files of a routed job that has left the queue.
    pub(super) fn remove_spool(&self, copy: JobId) {
        let place = spool::job_spool_directory(&self.copies_absolute, copy);
        if place.is_dir() {
            for left in remove_tree(&place) {
                (self.options.log)(&format!("cannot remove '{}'", left.path.display()));
            }
        }
    }

    /// Removes files left by a router that was killed: its temporary files, and the spooled files of jobs that it did
    /// not submit or did not clean up.
    pub(super) fn remove_leftovers(&self) {
        self.directory.remove_unfinished_files();
        self.copies_queue().remove_unfinished_files();
        for (_, job) in spool::job_spool_directories(&self.copies_absolute) {
            if !self.copies_queue().has_file(job) {
                self.remove_spool(job);
            }
        }
    }

    /// Removes the proxy that was copied for a submission.
    pub(super) fn remove_proxy(&self, proxy: Option<PathBuf>) {
        if let Some(proxy) = proxy
            && let Err(error) = std::fs::remove_file(&proxy)
        {
            (self.options.log)(&format!("Failed to remove {}: {error}", proxy.display()));
        }
    }

    /// Converts the end of copying files to an event for the router.
    pub(super) fn handle_copying_end(
        &mut self,
        copying: SpoolCopy,
        exit: Exit,
        complaint: &[u8],
    ) -> RouterEvent {
        let now = self.options.world.now().epoch();
        let SpoolCopy { source, copy, direction, timed_out: late, .. } = copying;
        let done = match exit {
            Exit::Code(0) => Ok(()),
            _ if late => Err("copying the job's files took too long".to_owned()),
            _ if complaint.trim().is_empty() => Err(format!("copying the job's files {exit}")),
            _ => Err(format!("copying the job's files: {}", complaint.trim().as_bstr())),
        };
        match direction {
            CopyDirection::IntoSpool(ad, proxy) => {
                let submitted = done.and_then(|()| {
                    self.copies_queue_mut().submit_with_id(copy, &ad, now).map_err(|error| error.to_string())
                });
                self.remove_proxy(proxy);
                match submitted {
                    Ok(()) => RouterEvent::SubmitResult(source, Ok(copy)),
                    Err(reason) => {
                        self.remove_spool(copy);
                        RouterEvent::SpoolFailed(source, copy, reason)
                    }
                }
            }
            CopyDirection::OutOfSpool(begun) => match done {
                Ok(()) => self.finish_copy(source, copy, Some(begun), now),
                Err(reason) => RouterEvent::FinalizeResult(source, Err(reason)),
            },
        }
    }

    /// Kills copies that take too long.
    pub(super) fn kill_late_copying(&mut self, now: MonotonicTime) {
        for (child, copying) in &mut self.copying {
            if copying.deadline.is_some_and(|deadline| deadline <= now) {
                (copying.timed_out, copying.deadline) = (true, None);
                self.reactor.send_signal(*child, libc::SIGKILL, os::SignalScope::Family);
            }
        }
    }
}
