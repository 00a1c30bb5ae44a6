//! Channel for ads that a separate thread reads, so that running calls, their output and signals do not wait for the next ad.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::Scope;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::classad::ClassAd;
use crate::cli::common::{AdStream, InputWatch};
use crate::hook_testing::CallSource;

/// Ads of a stream up to a limit. The first ads have already been read.
pub(super) struct LimitedAds<'a> {
    pub first: std::vec::IntoIter<ClassAd>,
    pub rest: AdStream<'a>,
    pub remaining: u64,
    /// Watch that limits the time for which the program waits for ads.
    pub watch: InputWatch,
}

impl LimitedAds<'_> {
    fn next(&mut self) -> anyhow::Result<Option<ClassAd>> {
        if self.remaining == 0 {
            return Ok(None);
        }
        self.remaining -= 1;
        match self.first.next() {
            Some(ad) => Ok(Some(ad)),
            None => self.watch.wait_for(|| self.rest.next()),
        }
    }
}

/// Channel of ads that have been read but not yet processed.
pub(super) struct AdChannel {
    ads: Receiver<anyhow::Result<ClassAd>>,
    /// Descriptor that is readable when another ad may be available.
    ready_event: Arc<EventFd>,
    is_ended: Cell<bool>,
}

impl AdChannel {
    /// Starts the thread that reads ads. It reads at most `ahead` ads in advance.
    ///
    /// # Errors
    /// Returns an error if the thread or descriptor cannot be created.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        ads: LimitedAds<'scope>,
        ahead: usize,
    ) -> io::Result<AdChannel> {
        let ready_event = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let (sender, receiver) = sync_channel(ahead);
        let thread_event = Arc::clone(&ready_event);
        std::thread::Builder::new().spawn_scoped(scope, move || send_ads(ads, sender, &thread_event))?;
        Ok(AdChannel { ads: receiver, ready_event, is_ended: Cell::new(false) })
    }

    /// Returns the next ad if it has been read, otherwise `None`.
    ///
    /// # Errors
    /// Returns an error if the ad could not be read.
    pub(super) fn next(&self) -> anyhow::Result<Option<ClassAd>> {
        match self.try_receive() {
            // Any ad that arrives later makes the descriptor readable again.
            None if !self.is_ended.get() => {
                let _ = self.ready_event.read();
                self.try_receive().transpose()
            }
            taken => taken.transpose(),
        }
    }

    fn try_receive(&self) -> Option<anyhow::Result<ClassAd>> {
        match self.ads.try_recv() {
            Ok(ad) => Some(ad),
            Err(end) => {
                self.is_ended.set(end == TryRecvError::Disconnected);
                None
            }
        }
    }
}

impl CallSource for AdChannel {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ready_event.as_fd()
    }

    fn is_finished(&self) -> bool {
        self.is_ended.get()
    }
}

fn send_ads(mut ads: LimitedAds<'_>, sender: SyncSender<anyhow::Result<ClassAd>>, ready_event: &EventFd) {
    loop {
        let next = ads.next().transpose();
        let is_last = !matches!(next, Some(Ok(_)));
        let is_taken = next.is_none_or(|next| sender.send(next).is_ok());
        if is_last || !is_taken {
            break;
        }
        // The write cannot fail, because the reader resets the counter long before it reaches its maximum.
        let _ = ready_event.write(1);
    }
    drop(sender);
    let _ = ready_event.write(1);
}
