//! Calls of one hook side by side, each set up when it is its turn.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use super::call::Outcome;
use super::pool::{Coming, Job, run_coming};
use super::setup::{CallError, Setup};
use super::shown::{Begun, Shown};
use htc_base::process::Stdio;
use htc_os::Reactor;

/// What is kept of the standard error of each call, in bytes.
const STDERR: usize = 64 * 1024;

/// What comes counts for nothing after a failure.
struct Unless<'a> {
    coming: &'a dyn Coming,
    failure: &'a dyn Fn() -> bool,
}

impl Coming for Unless<'_> {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.coming.descriptor()
    }

    fn is_over(&self) -> bool {
        (self.failure)() || self.coming.is_over()
    }
}

/// Makes the calls that `next` gives, at most `parallel` at a time, and hands what each has shown to `done`, with its number from 1.
/// `next` may have nothing for a while as long as `coming` is not over.
/// An error of either ends the calls when those that run are over. The signal that interrupted them, if one did.
///
/// # Errors
/// A call cannot be made, and what `next` and `done` return.
pub fn call_many<E: From<CallError>>(
    reactor: &mut Reactor,
    (parallel, coming): (usize, &dyn Coming),
    next: &mut dyn FnMut() -> Result<Option<Setup>, E>,
    done: &mut dyn FnMut(usize, &Setup, Shown) -> Result<(), E>,
) -> Result<Option<i32>, E> {
    let mut number = 0;
    // Both closures may find something that ends the calls.
    let failure = RefCell::new(None);
    let running: RefCell<HashMap<usize, (Setup, Begun)>> = RefCell::default();
    let finished = RefCell::new(|number: usize, setup: &Setup, shown: Shown| {
        if let Err(error) = done(number, setup, shown) {
            failure.borrow_mut().get_or_insert(error);
        }
    });
    let mut job = || -> Result<Option<Job<usize>>, E> {
        while let Some(setup) = next()? {
            number += 1;
            let (begun, mut spec) = setup.begin()?;
            if let Some(outcome) = setup.refused() {
                let shown = setup.end(begun, outcome);
                finished.borrow_mut()(number, &setup, shown);
                if failure.borrow().is_some() {
                    return Ok(None);
                }
                continue;
            }
            spec.stdio[2] = Stdio::Capture { limit: STDERR };
            let patience = setup.patience;
            running.borrow_mut().insert(number, (setup, begun));
            return Ok(Some(Job { tag: number, spec, patience }));
        }
        Ok(None)
    };
    let coming = Unless { coming, failure: &|| failure.borrow().is_some() };
    let interrupted = run_coming(
        reactor,
        parallel,
        Some(&coming),
        &mut || {
            if failure.borrow().is_some() {
                return None;
            }
            job().unwrap_or_else(|error| {
                failure.borrow_mut().get_or_insert(error);
                None
            })
        },
        &mut |number: usize, outcome: Outcome| {
            let Some((setup, begun)) = running.borrow_mut().remove(&number) else { return };
            let shown = setup.end(begun, outcome);
            finished.borrow_mut()(number, &setup, shown);
        },
    )
    .map_err(CallError::Loop)?;
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(interrupted),
    }
}
