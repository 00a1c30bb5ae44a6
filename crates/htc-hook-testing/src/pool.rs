//! Many calls side by side, on one loop.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::aside::Aside;
use super::call::{Ended, Ending, Outcome};
use htc_base::process::ChildSpec;
use htc_base::time::Tick;
use htc_os::{ChildId, Event, Interest, Reactor, Whom, clock};

/// One call to be made.
#[derive(Clone, Debug)]
pub struct Job<T> {
    /// What it is known by.
    pub tag: T,
    /// The child.
    pub spec: ChildSpec,
    /// How long it may take.
    pub patience: Duration,
}

struct Running<T> {
    tag: T,
    began: Tick,
    deadline: Tick,
    killed: bool,
    aside: Option<Aside>,
}

/// A call that has ended, and whose bystander has not.
struct Finished<T> {
    tag: T,
    ended: Ended,
    took: Duration,
    aside: Aside,
}

/// Calls that come one by one, from somebody who may take his time.
pub trait Coming {
    /// What can be read when `next` is to be asked.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Whether no more will come.
    fn is_over(&self) -> bool;
}

/// Begins a call; one that cannot be is done.
fn begin<T>(
    reactor: &mut Reactor,
    job: Job<T>,
    done: &mut dyn FnMut(T, Outcome),
) -> Option<(ChildId, Running<T>)> {
    let Job { tag, mut spec, patience } = job;
    let aside = Aside::of(reactor, &mut spec);
    let began = clock::tick();
    match reactor.spawn(spec) {
        Ok(child) => {
            Some((child, Running { tag, began, deadline: began.plus(patience), killed: false, aside }))
        }
        Err(error) => {
            aside.into_iter().for_each(|mut aside| aside.dismiss(reactor));
            let ending = Ending::not_started(&error);
            done(tag, Outcome { ending, took: clock::tick().since(began) });
            None
        }
    }
}

/// Ends a call; one whose bystander has not ended is not done yet.
fn end<T>(
    reactor: &mut Reactor,
    one: Running<T>,
    mut ended: Ended,
    done: &mut dyn FnMut(T, Outcome),
) -> Option<Finished<T>> {
    ended.to_group = one.aside.as_ref().and_then(Aside::signalled);
    let took = clock::tick().since(one.began);
    match one.aside.filter(|aside| !aside.is_over()) {
        Some(mut aside) => {
            aside.dismiss(reactor);
            Some(Finished { tag: one.tag, ended, took, aside })
        }
        None => {
            done(one.tag, Outcome { ending: Ending::Ran(ended), took });
            None
        }
    }
}

/// Makes the calls that `next` gives, at most `parallel` at a time, and hands each outcome to `done`, after which `next`
/// is asked again. It is over when nothing runs and `next` has nothing. Returns the signal
/// that ended it early, if one came for the program; everything is killed then.
///
/// # Errors
/// The loop itself fails.
pub fn run_many<T>(
    reactor: &mut Reactor,
    parallel: usize,
    next: &mut dyn FnMut() -> Option<Job<T>>,
    done: &mut dyn FnMut(T, Outcome),
) -> io::Result<Option<i32>> {
    run_coming(reactor, parallel, None, next, done)
}

/// The same with calls that are still coming: `next` may have nothing for a while, in which signals, deadlines and what has ended
/// are looked after.
///
/// # Errors
/// The loop itself fails.
pub fn run_coming<T>(
    reactor: &mut Reactor,
    parallel: usize,
    coming: Option<&dyn Coming>,
    next: &mut dyn FnMut() -> Option<Job<T>>,
    done: &mut dyn FnMut(T, Outcome),
) -> io::Result<Option<i32>> {
    let mut running: FxHashMap<ChildId, Running<T>> = FxHashMap::default();
    let mut finished: Vec<Finished<T>> = Vec::new();
    let mut watch = None;
    loop {
        while running.len() < parallel.max(1) {
            let Some(job) = next() else { break };
            running.extend(begin(reactor, job, done));
        }
        // With all hands full nobody looks at what comes next.
        let awaited = coming.filter(|coming| running.len() < parallel.max(1) && !coming.is_over());
        match (awaited, watch) {
            (Some(coming), None) => watch = Some(reactor.watch(coming.descriptor(), Interest::Read)?),
            (None, Some(token)) => {
                reactor.unwatch(token);
                watch = None;
            }
            _ => {}
        }
        if running.is_empty() && finished.is_empty() && awaited.is_none() {
            return Ok(None);
        }
        let deadline = running.values().filter(|one| !one.killed).map(|one| one.deadline).min();
        // Looked at after every event: while others end all the time there is no time-out.
        let now = clock::tick();
        for (&child, one) in &mut running {
            if !one.killed && one.deadline <= now {
                one.killed = true;
                reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
            }
        }
        let event = reactor.next(deadline)?;
        if running.values_mut().filter_map(|one| one.aside.as_mut()).any(|aside| aside.sees(&event)) {
            continue;
        }
        if let Some(at) = finished.iter_mut().position(|one| one.aside.sees(&event)) {
            let Finished { tag, mut ended, took, aside } = finished.swap_remove(at);
            ended.to_group = aside.signalled();
            done(tag, Outcome { ending: Ending::Ran(ended), took });
            continue;
        }
        match event {
            Event::Signal(number) => {
                watch.into_iter().for_each(|token| reactor.unwatch(token));
                reactor.kill_all(Duration::from_secs(2));
                return Ok(Some(number));
            }
            Event::Exited { child, .. } => {
                let Some(one) = running.remove(&child) else { continue };
                let Some(ended) = Ended::of(event, one.killed) else { continue };
                if !ended.left_behind.is_empty() {
                    reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
                }
                finished.extend(end(reactor, one, ended, done));
            }
            _ => {}
        }
    }
}
