//! A suite of cases, called side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use super::call::CallOutcome;
use super::call_directories::CallDirectories;
use super::call_pool::{PooledCall, run_pool};
use super::case_error::CaseError;
use super::suite::SuiteCase;
use super::suite_case::{SuiteSettings, prepare_case};
use super::suite_compare::{self, CaseResult};
use super::suite_cron::{self, CallableCronCase};
use super::suite_hook::{self, CallableHookCase};
use htc_base::process::Stdio;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};

/// What is kept of the standard error of each call, in bytes.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// What a case is after it was laid out.
#[allow(clippy::large_enum_variant, reason = "one at a time")]
enum CasePreparation {
    Hook(CallableHookCase),
    Cron(CallableCronCase),
    /// Why it is skipped.
    Skipped(String),
}

/// Runs the cases and says what came of each, in their order; the signal that ended them early, if one came. `reactor` is
/// called again when the one before is gone, `advance` after each case.
///
/// # Errors
/// A reactor cannot be made, or the loop itself fails. What is wrong with a case is what came of it.
pub fn run_cases(
    cases: Vec<SuiteCase>,
    how: &SuiteSettings,
    reactor: &dyn Fn() -> io::Result<Reactor>,
    advance: &dyn Fn(),
) -> io::Result<Result<Vec<CaseResult>, i32>> {
    let world = Rc::new(RealWorld::new());
    let board = RefCell::new(SuiteProgress::default());
    let mut waiting = cases.into_iter().enumerate();
    // Both closures use the board; they never run at the same time.
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
        return Ok(Err(signal));
    }
    let SuiteProgress { crons, mut done, .. } = board.into_inner();
    for (number, case, ready) in crons {
        // Only one reactor can know what is left behind.
        match suite_cron::run_cron_case(how, &case, ready, (&world, &mut reactor()?)) {
            Ok(Ok(result)) => done.insert(number, result),
            Ok(Err(signal)) => return Ok(Err(signal)),
            Err(error) => done.insert(number, suite_compare::failed_result(&case, error.to_message())),
        };
        advance();
    }
    Ok(Ok(done.into_values().collect()))
}

/// How it stands with the cases.
#[derive(Default)]
struct SuiteProgress {
    running: BTreeMap<usize, (SuiteCase, CallableHookCase)>,
    /// Programs of daemons' cron jobs have their own clock: they come one by one, behind the hooks.
    crons: Vec<(usize, SuiteCase, CallableCronCase)>,
    done: BTreeMap<usize, CaseResult>,
    /// Places of cases that are over, for the next ones.
    spare_directories: Vec<CallDirectories>,
}

impl SuiteProgress {
    /// Begins with a case; its call, if there is one to make.
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

/// Makes a case ready, in the place of an earlier one where there is one.
fn make_callable(
    how: &SuiteSettings,
    case: &SuiteCase,
    world: &Rc<RealWorld>,
    spare: Option<CallDirectories>,
) -> Result<CasePreparation, CaseError> {
    let laid = match prepare_case(how, case)? {
        Ok(laid) => laid,
        Err(reason) => return Ok(CasePreparation::Skipped(reason)),
    };
    let kind = laid.text.kind.as_deref().unwrap_or_default();
    if let Some(manager) = suite_cron::parse_cron_manager(kind) {
        return suite_cron::prepare_cron_case(manager, laid, &case.base).map(CasePreparation::Cron);
    }
    let hook = HookType::from_name(kind.as_bytes()).ok_or_else(|| CaseError::UnknownType(kind.to_owned()))?;
    suite_cron::refuse_cron_keys(&laid.text)?;
    suite_hook::prepare_hook_case(how, laid, hook, (case, world), spare).map(CasePreparation::Hook)
}

fn pooled_call(number: usize, ready: &CallableHookCase) -> Result<PooledCall<usize>, CaseError> {
    let setup = &ready.setup;
    let mut spec = setup.child_spec(&ready.directories, setup.hook_environment(&ready.directories))?;
    spec.stdio[2] = Stdio::Capture { limit: MAX_STDERR_BYTES };
    Ok(PooledCall { tag: number, spec, patience: setup.patience })
}
