//! Execution of the cases of suites in parallel.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use super::call::CallOutcome;
use super::call_directories::CallDirectories;
use super::call_pool::{PooledCall, run_pool};
use super::case_error::CaseError;
use super::interruptible::Interruptible;
use super::suite::SuiteCase;
use super::suite_case::{CaseRequirements, SuiteSettings, prepare_case};
use super::suite_compare::{self, CaseResult};
use super::suite_cron::{self, CallableCronCase};
use super::suite_hook::{self, CallableHookCase};
use htc_base::process::Stdio;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};

/// Maximum number of bytes kept of the standard error of each call.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Case after its preparation.
#[allow(clippy::large_enum_variant, reason = "one at a time")]
enum CasePreparation {
    Hook(CallableHookCase),
    Cron(CallableCronCase),
    /// Case that is skipped; contains the reason.
    Skipped(String),
}

/// Runs the cases and returns their results in the order of the cases, or the number of the signal that interrupted
/// them. Calls `reactor` once for the hook cases and again for each cron case, after the previous reactor has been
/// dropped. Calls `advance` after each case.
///
/// # Errors
/// A reactor cannot be created, or the event loop fails. Errors of a case are in its result.
pub fn run_cases(
    cases: Vec<SuiteCase>,
    how: &SuiteSettings,
    reactor: &dyn Fn() -> io::Result<Reactor>,
    advance: &dyn Fn(),
) -> io::Result<Interruptible<Vec<CaseResult>>> {
    let world = Rc::new(RealWorld::new());
    let board = RefCell::new(SuiteProgress::default());
    let mut waiting = cases.into_iter().enumerate();
    // Both closures borrow `board` mutably, which is safe because `run_pool` never calls one closure within the
    // other.
    let interrupted = run_pool(
        &mut reactor()?,
        how.parallel,
        &mut || {
            for (number, case) in waiting.by_ref() {
                let mut board = board.borrow_mut();
                if let Some(job) = board.start_case(number, case, how, &world) {
                    return Some(job);
                }
                if board.done.contains_key(&number) {
                    advance();
                }
            }
            None
        },
        &mut |number, outcome| {
            board.borrow_mut().finish_call(number, &outcome);
            advance();
        },
    )?;
    if let Some(signal) = interrupted {
        return Ok(Interruptible::Interrupted(signal));
    }
    let SuiteProgress { crons, mut done, .. } = board.into_inner();
    for (number, case, ready) in crons {
        // Cron cases run one at a time, each with its own reactor, because a process can have only one reactor that
        // tracks leftover processes.
        match suite_cron::run_cron_case(how, &case, ready, &world, &mut reactor()?) {
            Ok(Interruptible::Finished(result)) => done.insert(number, result),
            Ok(Interruptible::Interrupted(signal)) => return Ok(Interruptible::Interrupted(signal)),
            Err(error) => done.insert(number, suite_compare::failed_result(&case, error.to_message())),
        };
        advance();
    }
    Ok(Interruptible::Finished(done.into_values().collect()))
}

/// Progress of all cases.
#[derive(Default)]
struct SuiteProgress {
    running: BTreeMap<usize, (SuiteCase, CallableHookCase)>,
    /// Cron cases, which are run one at a time after the hook cases, because each has a session with its own clock.
    crons: Vec<(usize, SuiteCase, CallableCronCase)>,
    done: BTreeMap<usize, CaseResult>,
    /// Directories of finished cases, which later cases reuse.
    spare_directories: Vec<CallDirectories>,
}

impl SuiteProgress {
    /// Prepares a case and returns its hook call. Returns `None` for a cron case, which is kept for later, and for a
    /// case without a call, which gets its result at once.
    fn start_case(
        &mut self,
        number: usize,
        case: SuiteCase,
        how: &SuiteSettings,
        world: &Rc<RealWorld>,
    ) -> Option<PooledCall<usize>> {
        let result = match make_callable(how, &case, world, self.spare_directories.pop()) {
            Ok(CasePreparation::Cron(ready)) => {
                self.crons.push((number, case, ready));
                return None;
            }
            Ok(CasePreparation::Hook(ready)) => {
                match (ready.setup.refused_outcome(), pooled_call(number, &ready)) {
                    (Some(outcome), _) => suite_compare::judge_case(&case, &ready, &outcome),
                    (None, Ok(job)) => {
                        self.running.insert(number, (case, ready));
                        return Some(job);
                    }
                    (None, Err(error)) => suite_compare::failed_result(&case, error.to_message()),
                }
            }
            Ok(CasePreparation::Skipped(reason)) => suite_compare::skipped_result(&case, reason),
            Err(error) => suite_compare::failed_result(&case, error.to_message()),
        };
        self.done.insert(number, result);
        None
    }

    fn finish_call(&mut self, number: usize, outcome: &CallOutcome) {
        let Some((case, ready)) = self.running.remove(&number) else { return };
        self.done.insert(number, suite_compare::judge_case(&case, &ready, outcome));
        if suite_compare::has_nothing_running(outcome) {
            self.spare_directories.push(ready.directories);
        }
    }
}

/// Prepares a case. If directories of a finished case are available, they are reused.
fn make_callable(
    how: &SuiteSettings,
    case: &SuiteCase,
    world: &Rc<RealWorld>,
    spare: Option<CallDirectories>,
) -> Result<CasePreparation, CaseError> {
    let prepared = match prepare_case(how, case)? {
        CaseRequirements::Met(prepared) => *prepared,
        CaseRequirements::Missing(reason) => return Ok(CasePreparation::Skipped(reason)),
    };
    let kind = prepared.text.kind.as_deref().ok_or(CaseError::NoType)?;
    if let Some(manager) = suite_cron::parse_cron_manager(kind) {
        return suite_cron::prepare_cron_case(manager, prepared, &case.base).map(CasePreparation::Cron);
    }
    let hook = HookType::from_name(kind.as_bytes()).ok_or_else(|| CaseError::UnknownType(kind.to_owned()))?;
    suite_cron::refuse_cron_keys(&prepared.text)?;
    suite_hook::prepare_hook_case(how, prepared, hook, case, world, spare).map(CasePreparation::Hook)
}

fn pooled_call(number: usize, ready: &CallableHookCase) -> Result<PooledCall<usize>, CaseError> {
    let setup = &ready.setup;
    let mut spec = setup.child_spec(&ready.directories, setup.hook_environment(&ready.directories))?;
    spec.stdio[2] = Stdio::Capture { limit: MAX_STDERR_BYTES };
    Ok(PooledCall { tag: number, spec, patience: setup.patience })
}
