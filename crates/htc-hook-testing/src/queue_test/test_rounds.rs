//! The rounds of a proof, one after the other, and what each has shown.

use std::cell::RefCell;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use bstr::BString;

use super::hook_effects::HookEffects;
use super::queue_directory::QueueDirectory;
use super::queue_error::QueueError;
use super::queue_hooks::{CallFactory, QueueHooks};
use super::round_driver::{JobProgress, RoundDriver};
use super::slot_step::SlotStep;
use super::test_plan::{QueueTest, TestRound};
use crate::call_pool::run_pool;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, SessionMode, Stdio};
use htc_base::world::World;
use htc_os::{Reactor, ReactorEvent, identity};
use htc_runner::hook_call::HookCall;

/// What a round has shown.
#[derive(Clone, Debug)]
pub struct RoundReport {
    /// How the hooks were driven.
    pub round: TestRound,
    /// Calls that were made.
    pub calls: u32,
    /// Jobs that were handed out.
    pub jobs: usize,
    /// Jobs that ended.
    pub finished: usize,
    /// Jobs that were evicted once.
    pub evicted: usize,
    /// Jobs that were rejected once.
    pub rejected: usize,
    /// Rejected jobs that REPLY_FETCH has put aside.
    pub set_aside: usize,
    /// Calls that were killed in the middle.
    pub killed: u32,
    /// Jobs of which nobody can say any more whether the queue has them.
    pub doubtful: usize,
    /// The round was over before the queue was empty.
    pub stopped: bool,
    /// What breaks the contract, each with the calls that led to it.
    pub violations: Vec<String>,
}

impl RoundReport {
    fn from_driver(drive: &RoundDriver<'_>) -> Self {
        let count =
            |which: fn(&JobProgress) -> bool| drive.jobs.values().filter(|known| which(known)).count();
        RoundReport {
            round: drive.round,
            calls: drive.calls,
            jobs: drive.jobs.len(),
            finished: count(|known| known.finished),
            evicted: count(|known| known.evicted),
            rejected: count(|known| known.rejected),
            set_aside: count(|known| known.set_aside),
            killed: drive.killed,
            doubtful: drive.lost_fetches + count(|known| known.in_doubt),
            stopped: drive.stopped && !drive.round.one_at_a_time,
            violations: drive.violations.clone(),
        }
    }
}

/// What all rounds have shown.
#[derive(Debug, Default)]
pub struct QueueTestReport {
    /// The rounds that were begun.
    pub rounds: Vec<RoundReport>,
    /// What the hooks do to the files of the queue.
    pub effects: HookEffects,
    /// No JOB_EXIT is configured, so that no job can have an exit record.
    pub no_exit: bool,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
}

impl QueueTestReport {
    /// Whether nothing was seen that breaks the contract of a queue.
    pub fn is_passed(&self) -> bool {
        !self.no_exit && self.rounds.iter().all(|round| round.violations.is_empty())
    }
}

impl QueueTest<'_> {
    /// Drives the hooks through all rounds. A signal that the reactor reports ends it early.
    ///
    /// # Errors
    /// The queue cannot be copied or filled, its hooks not be found, or they work on something else than the copy.
    pub fn run_rounds(&self, reactor: &mut Reactor) -> Result<QueueTestReport, QueueError> {
        let mut proof = QueueTestReport::default();
        for &round in &self.rounds {
            let directory = match self.in_place {
                true => QueueDirectory::in_place(&self.config_file)?,
                false => QueueDirectory::copy_of(&self.config_file)?,
            };
            proof.interrupted = self.fill_queue(round, &directory, reactor)?;
            if proof.interrupted.is_some() {
                break;
            }
            let hooks = QueueHooks::from_config(self, &directory)?;
            proof.no_exit = hooks.exit.is_none();
            let mut drive = RoundDriver::new(self, round, (&hooks, &directory), &mut proof.effects);
            proof.interrupted = self.run_round(&mut drive, reactor)?;
            if proof.interrupted.is_none() {
                drive.check_missing_jobs();
            }
            if let Some(path) = drive.changed_original.take() {
                return Err(QueueError::OriginalChanged { path });
            }
            let empty = drive.jobs.is_empty();
            let report = RoundReport::from_driver(&drive);
            proof.rounds.push(report);
            let unbroken = proof.rounds.iter().all(|round| round.violations.is_empty());
            if empty && proof.interrupted.is_none() && unbroken {
                return Err(QueueError::NoJobs);
            }
            // Hooks that give no job at all give none to many slots either.
            if empty || proof.interrupted.is_some() {
                break;
            }
        }
        Ok(proof)
    }

    /// Runs the command that fills the queue; the signal that interrupted it, if one did. What it leaves running may be a
    /// part of the queue, and goes when the reactor does.
    fn fill_queue(
        &self,
        round: TestRound,
        directory: &QueueDirectory,
        reactor: &mut Reactor,
    ) -> Result<Option<i32>, QueueError> {
        let Some(command) = &self.fill else { return Ok(None) };
        let own = std::env::vars_os().filter(|(name, _)| name != "JOBS");
        let mut env: Vec<BString> =
            own.map(|(name, value)| [name.into_vec(), value.into_vec()].join(&b'=').into()).collect();
        env.push(format!("JOBS={}", round.jobs.unwrap_or(0)).into());
        let child = reactor.spawn(ChildSpec {
            argv: vec!["/bin/sh".into(), "-c".into(), command.as_str().into()],
            env,
            cwd: Some(directory.path().to_owned()),
            stdio: [Stdio::Inherit, Stdio::Inherit, Stdio::Inherit],
            session: SessionMode::Inherit,
            umask: identity::umask(),
            ancestor_stamp: Some(HookCall::new_family_marker(self.world.now(), self.world.random())),
            leftover_policy: LeftoverPolicy::Keep,
            ..ChildSpec::new("/bin/sh")
        });
        let child = child.map_err(|error| std::io::Error::from_raw_os_error(error.errno()))?;
        loop {
            match reactor.next_event(None)? {
                ReactorEvent::Signal(number) => {
                    reactor.kill_all(Duration::from_secs(2));
                    return Ok(Some(number));
                }
                ReactorEvent::Exited { child: from, exit, .. } if from == child => {
                    return if exit == Exit::Code(0) { Ok(None) } else { Err(QueueError::FillFailed(exit)) };
                }
                _ => {}
            }
        }
    }

    /// Drives one round until nothing is left to do; the signal that interrupted it, if one did.
    fn run_round(
        &self,
        drive: &mut RoundDriver<'_>,
        reactor: &mut Reactor,
    ) -> Result<Option<i32>, QueueError> {
        let slots = drive.round.slots;
        let calls = CallFactory::new(self, drive.hooks, drive.directory.config_file.clone(), slots)?;
        let drive = RefCell::new(drive);
        // A place that cannot be made ends the round with its error.
        let failure = RefCell::new(None);
        let interrupted = run_pool(
            reactor,
            slots,
            &mut || {
                let mut drive = drive.borrow_mut();
                let (slot, step) = drive.ready.pop_front()?;
                drive.calls += 1;
                match &step {
                    // From here on the queue may hand it out again, long before the hook has ended.
                    SlotStep::Reply { id, accept: false, .. } => drive.release_job(id),
                    SlotStep::Exit { id, word, .. } if *word != "exit" => drive.release_job(id),
                    _ => {}
                }
                let doom = drive.choose_kill_delay();
                calls.build_call(slot, step, doom).unwrap_or_else(|error| {
                    failure.replace(Some(error));
                    None
                })
            },
            &mut |tag, outcome| drive.borrow_mut().handle_outcome(tag, &outcome),
        )?;
        failure.into_inner().map_or(Ok(interrupted), Err)
    }
}
