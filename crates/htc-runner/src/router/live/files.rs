//! The files of sandboxed jobs and the proxies that routes lend, while a router runs.

use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

use bstr::ByteSlice;
use nix::libc;

use super::Live;
use crate::router::spool::{self, Copying, Way};
use htc_base::job::JobId;
use htc_base::process::{Exit, Identity};
use htc_base::time::Tick;
use htc_classad::{ClassAd, Context, Expr};
use htc_os as os;
use htc_os::files::{make_directory, open_regular};
use htc_os::tree::remove_tree;
use htc_os::{ChildId, clock};
use htc_router::{Event, Queue};

/// The largest proxy, in bytes.
const LARGEST_PROXY: u64 = 1 << 20;

impl Live<'_> {
    /// Copies the proxy that the route lends, for the job's owner alone; none if it lends none (`RoutedJob::PrepareSharedX509UserProxy`).
    pub(super) fn lend(&self, source: JobId, ad: &ClassAd) -> Result<Option<PathBuf>, String> {
        let job = self.router.job(source);
        let lent = job.and_then(|job| self.router.lent_proxy(job, self.options.world));
        let Some(file) = lent else { return Ok(None) };
        let copy = PathBuf::from(format!("{}.{source}", file.to_path_lossy().display()));
        let copied = || -> io::Result<()> {
            let mut content = Vec::new();
            let proxy = open_regular(&file.to_path_lossy(), OpenOptions::new().read(true))?;
            io::Read::read_to_end(&mut io::Read::take(proxy, LARGEST_PROXY), &mut content)?;
            let owner = self.owner(ad).map_err(io::Error::other)?;
            os::files::replace(&copy, &content, 0o600, owner.as_ref())
        };
        copied().map_err(|error| format!("failed to copy {file} to {}. ({error})", copy.display()))?;
        Ok(Some(copy))
    }

    /// The account whose files they are, where we may change to it.
    pub(super) fn owner(&self, ad: &ClassAd) -> Result<Option<Identity>, String> {
        let owner = ad.string("Owner").unwrap_or_default();
        os::identity::of_owner(owner, "files of jobs are not touched as root")
    }

    /// Begins to spool the files of a copy; an answer at once where that fails.
    pub(super) fn spool(&mut self, source: JobId, mut ad: ClassAd, now: i64) -> Option<Event> {
        let proxy = match self.lend(source, &ad) {
            Ok(proxy) => proxy,
            Err(reason) => return Some(Event::Unprepared(source, reason)),
        };
        match self.begin_spooling(&mut ad, now) {
            Ok((child, copy)) => {
                let deadline = self.options.hook_limit.map(|limit| clock::tick().plus(limit));
                let way = Way::In(Box::new(ad), proxy);
                self.copying.insert(child, Copying { source, copy, way, deadline, late: false });
                None
            }
            Err(reason) => {
                self.take_back(proxy);
                Some(Event::Submitted(source, Err(format!("its files: {reason}"))))
            }
        }
    }

    fn begin_spooling(&mut self, ad: &mut ClassAd, now: i64) -> Result<(ChildId, JobId), String> {
        let world = self.options.world;
        let copy = self.copies_mut().next_job().map_err(|error| error.to_string())?;
        let place = spool::directory(&self.copies_absolute, copy);
        let owner = self.owner(ad)?;
        // One of a former life, whose job was never submitted.
        remove_tree(&place);
        let parent = place.parent().unwrap_or(&place);
        std::fs::create_dir_all(parent)
            .and_then(|()| make_directory(&place, 0o700, owner.as_ref()))
            .map_err(|error| format!("'{}': {error}", place.display()))?;
        let inputs = spool::inputs(ad, &place, world);
        let home = Context::new(world).my(ad).string("Iwd").unwrap_or_default();
        let home = self.absolute.join(home.to_path_lossy());
        spool::spooled(ad, &place, now, world);
        let spec = spool::child_spec(&inputs, &home, owner, world);
        self.reactor.spawn(spec).map(|child| (child, copy)).map_err(|error| {
            remove_tree(&place);
            error.to_string()
        })
    }

    /// Begins to bring the files of a copy back that has ended; an answer at once where it has none or that fails.
    pub(super) fn fetch(&mut self, source: JobId, copy: JobId, now: i64) -> Option<Event> {
        let world = self.options.world;
        let ad = self.copies().job(copy).filter(|ad| ad.contains("SUBMIT_Iwd"));
        let place = spool::directory(&self.copies_absolute, copy);
        let Some(ad) = ad.filter(|_| place.is_dir()) else {
            return Some(self.leave(source, copy, None, now));
        };
        let spawned = self.owner(&ad).and_then(|owner| {
            let spec = spool::child_spec(&spool::outputs(&ad, &place, world), &self.absolute, owner, world);
            self.reactor.spawn(spec).map_err(|error| error.to_string())
        });
        match spawned {
            Ok(child) => {
                let deadline = self.options.hook_limit.map(|limit| clock::tick().plus(limit));
                self.copying
                    .insert(child, Copying { source, copy, way: Way::Out(now), deadline, late: false });
                None
            }
            Err(reason) => Some(Event::Finalized(source, Err(reason))),
        }
    }

    /// Lets a copy leave that has ended; its files came back since `begun`.
    fn leave(&mut self, source: JobId, copy: JobId, begun: Option<i64>, now: i64) -> Event {
        let mut changes = vec![("LeaveJobInQueue", Expr::literal(false))];
        if let Some(begun) = begun {
            changes.push(("StageOutStart", Expr::literal(begun)));
            changes.push(("StageOutFinish", Expr::literal(now)));
        }
        let left = self.copies_mut().leave(copy, &changes, now).map_err(|error| error.to_string());
        if left.is_ok() {
            self.clear(copy);
        }
        Event::Finalized(source, left)
    }

    /// Removes the spooled files of a copy that is gone.
    pub(super) fn clear(&self, copy: JobId) {
        let place = spool::directory(&self.copies_absolute, copy);
        if place.is_dir() {
            for left in remove_tree(&place) {
                (self.options.log)(&format!("cannot remove '{}'", left.path.display()));
            }
        }
    }

    /// Removes the spooled files of jobs that a killed router did not submit, or was about to clear away, and files that it
    /// was writing.
    pub(super) fn sweep(&self) {
        self.directory.sweep();
        self.copies().sweep();
        for (_, job) in spool::directories(&self.copies_absolute) {
            if !self.copies().has_file(job) {
                self.clear(job);
            }
        }
    }

    /// Removes the proxy that was copied for a submission.
    pub(super) fn take_back(&self, proxy: Option<PathBuf>) {
        if let Some(proxy) = proxy
            && let Err(error) = std::fs::remove_file(&proxy)
        {
            (self.options.log)(&format!("Failed to remove {}: {error}", proxy.display()));
        }
    }

    /// What the end of copying files leads to.
    pub(super) fn copied(&mut self, copying: Copying, exit: Exit, complaint: &[u8]) -> Event {
        let now = self.options.world.now().epoch();
        let Copying { source, copy, way, late, .. } = copying;
        let done = match exit {
            Exit::Code(0) => Ok(()),
            _ if late => Err("copying its files took too long".to_owned()),
            _ if complaint.trim().is_empty() => Err(format!("copying its files {exit}")),
            _ => Err(format!("copying its files: {}", complaint.trim().as_bstr())),
        };
        match way {
            Way::In(ad, proxy) => {
                let submitted = done.and_then(|()| {
                    self.copies_mut().submit_as(copy, &ad, now).map_err(|error| error.to_string())
                });
                self.take_back(proxy);
                match submitted {
                    Ok(()) => Event::Submitted(source, Ok(copy)),
                    Err(reason) => {
                        self.clear(copy);
                        Event::NotSpooled(source, copy, reason)
                    }
                }
            }
            Way::Out(begun) => match done {
                Ok(()) => self.leave(source, copy, Some(begun), now),
                Err(reason) => Event::Finalized(source, Err(reason)),
            },
        }
    }

    /// Kills what copies for too long.
    pub(super) fn end_late_copying(&mut self, now: Tick) {
        for (child, copying) in &mut self.copying {
            if copying.deadline.is_some_and(|deadline| deadline <= now) {
                (copying.late, copying.deadline) = (true, None);
                self.reactor.kill(*child, libc::SIGKILL, os::Whom::Family);
            }
        }
    }
}
