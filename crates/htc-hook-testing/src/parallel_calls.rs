//! Parallel calls of one hook. Each call is prepared just before it starts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use super::call::CallOutcome;
use super::call_pool::{CallSource, PooledCall, run_pool_from_source};
use super::call_report::{CallReport, PendingCall};
use super::call_setup::{CallError, CallSetup};
use htc_base::process::Stdio;
use htc_os::Reactor;

/// Maximum number of bytes kept of the standard error of each call.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Source of calls that has no more calls after the first failure.
struct CancelOnFailure<'a> {
    coming: &'a dyn CallSource,
    failure: &'a dyn Fn() -> bool,
}

impl CallSource for CancelOnFailure<'_> {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.coming.descriptor()
    }

    fn is_finished(&self) -> bool {
        (self.failure)() || self.coming.is_finished()
    }
}

/// Makes the calls that `next` returns, at most `parallel` at a time. Passes each report to `done` with the number of
/// the call, from 1. `next` may return `None` for a while as long as `coming` is not finished. After an error of
/// `next` or `done`, no more calls are started, and the running calls are completed. Returns the signal that
/// interrupted the calls, or `None`.
///
/// # Errors
/// A call cannot be made, or `next` or `done` returns an error.
pub fn call_hooks_in_parallel<E: From<CallError>>(
    reactor: &mut Reactor,
    parallel: usize,
    coming: &dyn CallSource,
    next: &mut dyn FnMut() -> Result<Option<CallSetup>, E>,
    done: &mut dyn FnMut(usize, &CallSetup, CallReport) -> Result<(), E>,
) -> Result<Option<i32>, E> {
    let mut number = 0;
    // First error of a closure, which ends the calls.
    let failure = RefCell::new(None);
    let running: RefCell<HashMap<usize, (CallSetup, PendingCall)>> = RefCell::default();
    let finished = RefCell::new(|number: usize, setup: &CallSetup, report: CallReport| {
        if let Err(error) = done(number, setup, report) {
            failure.borrow_mut().get_or_insert(error);
        }
    });
    let mut job = || -> Result<Option<PooledCall<usize>>, E> {
        while let Some(setup) = next()? {
            number += 1;
            let (begun, mut spec) = setup.begin_call()?;
            if let Some(outcome) = setup.refused_outcome() {
                let report = setup.end_call(begun, outcome);
                finished.borrow_mut()(number, &setup, report);
                if failure.borrow().is_some() {
                    return Ok(None);
                }
                continue;
            }
            spec.stdio[2] = Stdio::Capture { limit: MAX_STDERR_BYTES };
            let patience = setup.patience;
            running.borrow_mut().insert(number, (setup, begun));
            return Ok(Some(PooledCall { tag: number, spec, patience }));
        }
        Ok(None)
    };
    let coming = CancelOnFailure { coming, failure: &|| failure.borrow().is_some() };
    let interrupted = run_pool_from_source(
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
        &mut |number: usize, outcome: CallOutcome| {
            let Some((setup, begun)) = running.borrow_mut().remove(&number) else { return };
            let report = setup.end_call(begun, outcome);
            finished.borrow_mut()(number, &setup, report);
        },
    )
    .map_err(CallError::EventLoop)?;
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(interrupted),
    }
}
