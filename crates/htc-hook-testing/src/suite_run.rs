//! A suite of cases, called side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use super::call::Outcome;
use super::place::Place;
use super::pool::{Job, run_many};
use super::suite::SuiteCase;
use super::suite_case::{SuiteSettings, lay_out};
use super::suite_compare::{self, Done};
use super::suite_cron::{self, CronReady};
use super::suite_error::CaseError;
use super::suite_hook::{self, Ready};
use htc_base::process::Stdio;
use htc_hook::HookType;
use htc_os::{Reactor, RealWorld};

/// What is kept of the standard error of each call, in bytes.
const STDERR: usize = 64 * 1024;

/// What a case is after it was laid out.
#[allow(clippy::large_enum_variant, reason = "one at a time")]
enum Made {
    Hook(Ready),
    Cron(CronReady),
    /// Why it is skipped.
    Skipped(String),
}

/// Runs the cases and says what came of each, in their order; the signal that ended them early, if one came. `reactor` is
/// called again when the one before is gone, `advance` after each case.
///
/// # Errors
/// A reactor cannot be made, or the loop itself fails. What is wrong with a case is what came of it.
pub fn run(
    cases: Vec<SuiteCase>,
    how: &SuiteSettings,
    reactor: &dyn Fn() -> io::Result<Reactor>,
    advance: &dyn Fn(),
) -> io::Result<Result<Vec<Done>, i32>> {
    let world = Rc::new(RealWorld::new());
    let board = RefCell::new(Board::default());
    let mut waiting = cases.into_iter().enumerate();
    // Both closures use the board; they never run at the same time.
    let interrupted = run_many(
        &mut reactor()?,
        how.parallel,
        &mut || {
            for (number, case) in waiting.by_ref() {
                let mut board = board.borrow_mut();
                if let Some(job) = board.take(number, case, how, &world) {
                    return Some(job);
                }
                if board.done.contains_key(&number) {
                    advance();
                }
            }
            None
        },
        &mut |number, outcome| {
            board.borrow_mut().call_ended(number, &outcome);
            advance();
        },
    )?;
    if let Some(signal) = interrupted {
        return Ok(Err(signal));
    }
    let Board { crons, mut done, .. } = board.into_inner();
    for (number, case, ready) in crons {
        // Only one reactor can know what is left behind.
        match suite_cron::run(how, &case, ready, (&world, &mut reactor()?)) {
            Ok(Ok(result)) => done.insert(number, result),
            Ok(Err(signal)) => return Ok(Err(signal)),
            Err(error) => done.insert(number, suite_compare::failed(&case, error.told())),
        };
        advance();
    }
    Ok(Ok(done.into_values().collect()))
}

/// How it stands with the cases.
#[derive(Default)]
struct Board {
    running: BTreeMap<usize, (SuiteCase, Ready)>,
    /// Programs of daemons' cron jobs have their own clock: they come one by one, behind the hooks.
    crons: Vec<(usize, SuiteCase, CronReady)>,
    done: BTreeMap<usize, Done>,
    /// Places of cases that are over, for the next ones.
    spares: Vec<Place>,
}

impl Board {
    /// Begins with a case; its call, if there is one to make.
    fn take(
        &mut self,
        number: usize,
        case: SuiteCase,
        how: &SuiteSettings,
        world: &Rc<RealWorld>,
    ) -> Option<Job<usize>> {
        let result = match prepare(how, &case, world, self.spares.pop()) {
            Ok(Made::Cron(ready)) => {
                self.crons.push((number, case, ready));
                return None;
            }
            Ok(Made::Hook(ready)) => match (ready.setup.refused(), job(number, &ready)) {
                (Some(outcome), _) => suite_compare::judge(&case, &ready, &outcome),
                (None, Ok(job)) => {
                    self.running.insert(number, (case, ready));
                    return Some(job);
                }
                (None, Err(error)) => suite_compare::failed(&case, error.told()),
            },
            Ok(Made::Skipped(reason)) => suite_compare::skipped(&case, reason),
            Err(error) => suite_compare::failed(&case, error.told()),
        };
        self.done.insert(number, result);
        None
    }

    fn call_ended(&mut self, number: usize, outcome: &Outcome) {
        let Some((case, ready)) = self.running.remove(&number) else { return };
        self.done.insert(number, suite_compare::judge(&case, &ready, outcome));
        if suite_compare::is_over(outcome) {
            self.spares.push(ready.place);
        }
    }
}

/// Makes a case ready, in the place of an earlier one where there is one.
fn prepare(
    how: &SuiteSettings,
    case: &SuiteCase,
    world: &Rc<RealWorld>,
    spare: Option<Place>,
) -> Result<Made, CaseError> {
    let laid = match lay_out(how, case)? {
        Ok(laid) => laid,
        Err(reason) => return Ok(Made::Skipped(reason)),
    };
    let kind = laid.text.kind.as_deref().unwrap_or_default();
    if let Some(manager) = suite_cron::manager(kind) {
        return suite_cron::prepare(manager, laid, &case.base).map(Made::Cron);
    }
    let hook = HookType::from_name(kind.as_bytes()).ok_or_else(|| CaseError::UnknownType(kind.to_owned()))?;
    suite_cron::is_for_hooks(&laid.text)?;
    suite_hook::prepare(how, laid, hook, (case, world), spare).map(Made::Hook)
}

fn job(number: usize, ready: &Ready) -> Result<Job<usize>, CaseError> {
    let setup = &ready.setup;
    let mut spec = setup.child(&ready.place, setup.environment(&ready.place))?;
    spec.stdio[2] = Stdio::Capture { limit: STDERR };
    Ok(Job { tag: number, spec, patience: setup.patience })
}
