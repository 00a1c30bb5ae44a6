//! Execution of the rounds of a queue test, and the results of the rounds.

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

/// Result of one round of a queue test.
#[derive(Clone, Debug)]
pub struct RoundReport {
    /// Options of the round.
    pub round: TestRound,
    /// Number of hook calls.
    pub calls: u32,
    /// Number of jobs handed out.
    pub jobs: usize,
    /// Number of jobs that finished.
    pub finished: usize,
    /// Number of jobs that were evicted once.
    pub evicted: usize,
    /// Number of jobs that were rejected once.
    pub rejected: usize,
    /// Number of rejected jobs that REPLY_FETCH set aside.
    pub set_aside: usize,
    /// Number of hooks that the test killed.
    pub killed: u32,
    /// Number of jobs of which it is unknown whether the queue still has them.
    pub doubtful: usize,
    /// True if the round ended before the queue was empty.
    pub stopped: bool,
    /// Violations of the rules for a queue, each with the calls that led to it.
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

/// Result of a queue test.
#[derive(Debug, Default)]
pub struct QueueTestReport {
    /// Results of the rounds that were started.
    pub rounds: Vec<RoundReport>,
    /// Effects of the hooks on the files of the queue that were observed.
    pub effects: HookEffects,
    /// True if JOB_EXIT is not configured, so that no exit record is expected.
    pub no_exit: bool,
    /// Signal that interrupted the test, or `None`.
    pub interrupted: Option<i32>,
}

impl QueueTestReport {
    /// Returns true if exits are recorded and no round has a violation.
    pub fn is_passed(&self) -> bool {
        !self.no_exit && self.rounds.iter().all(|round| round.violations.is_empty())
    }
}

impl QueueTest<'_> {
    /// Runs all rounds of the test. A signal that the reactor reports ends the test early.
    ///
    /// # Errors
    /// The queue cannot be copied or filled, its hooks cannot be found, the hooks do not work on the copy, or they
    /// hand out no job.
    pub fn run_rounds(&self, reactor: &mut Reactor) -> Result<QueueTestReport, QueueError> {
        let mut proof = QueueTestReport::default();
        for &round in &self.rounds {
            let directory = match self.in_place {
                true => QueueDirectory::in_place(&self.config_file)?,
                false => QueueDirectory::copy_of(&self.config_file, self.copy_end())?,
            };
            proof.interrupted = self.fill_queue(round, &directory, reactor)?;
            if proof.interrupted.is_some() {
                break;
            }
            let hooks = QueueHooks::from_config(self, &directory)?;
            proof.no_exit = hooks.exit.is_none();
            let mut drive = RoundDriver::new(self, round, &hooks, &directory, &mut proof.effects);
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
            // If a round with one slot got no job, rounds with more slots will get none either.
            if empty || proof.interrupted.is_some() {
                break;
            }
        }
        Ok(proof)
    }

    /// Runs the command that fills the queue. Returns the signal that interrupted it, or `None`. Processes that the
    /// command leaves behind may belong to the queue, so they are killed only when the reactor is dropped.
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

    /// Runs one round until no step is left. Returns the signal that interrupted it, or `None`.
    fn run_round(
        &self,
        drive: &mut RoundDriver<'_>,
        reactor: &mut Reactor,
    ) -> Result<Option<i32>, QueueError> {
        let slots = drive.round.slots;
        let calls = CallFactory::new(self, drive.hooks, drive.directory.config_file.clone(), slots)?;
        let drive = RefCell::new(drive);
        // Error of a call that cannot be built, for example because a directory cannot be created. It ends the round.
        let failure = RefCell::new(None);
        let interrupted = run_pool(
            reactor,
            slots,
            &mut || {
                let mut drive = drive.borrow_mut();
                let (slot, step) = drive.ready.pop_front()?;
                drive.calls += 1;
                match &step {
                    // The hook may put the job back into the queue long before the hook ends, so the job may be
                    // handed out again as soon as the hook is started.
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
