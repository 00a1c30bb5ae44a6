//! One job from its submission to its end: the loop around its starters.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use nix::libc;

use super::companion::{LastWord, RunSeen, ShadowCompanion};
use super::credentials::HookCredentials;
use super::hook::{self, Answer, Calling, GivenUp, Meanwhile};
use crate::control::Control;
use crate::events::EventStream;
use crate::hook_environment::HookEnvironment;
use crate::parent::Parent;
use crate::starter::{
    self, Beside, Companion as _, ControlCommand, Finished, Plan, Reply, UserLog, command_of,
};
use htc_base::job::attr;
use htc_base::process::{Exit, Identity};
use htc_base::quirks::Quirks;
use htc_base::time::{Now, Tick};
use htc_classad::{ClassAd, Context};
use htc_os as os;
use htc_os::{Reactor, clock};
use htc_starter::shadow::{Action, Ended, Event, Hook, HookEnd, Setup, Shadow};
use htc_starter::{Standing, ending};

/// Everything that a job is played with.
pub struct Play<'w> {
    /// What the machine is made from.
    pub setup: Setup<'w>,
    /// The slot's ad, if there is one.
    pub machine: Option<ClassAd>,
    /// The job's log (UserLog).
    pub log: Option<UserLog>,
    /// Its owner; `None` is our own account.
    pub owner: Option<Identity>,
    /// The environment of the hook.
    pub environment: HookEnvironment,
    /// How long the hook is waited for.
    pub hook_limit: Option<Duration>,
    /// The credentials that the hook is given for a job.
    pub hook_credentials: CredentialsOf<'w>,
    /// How long a job that is asked to end may take (MachineMaxVacateTime).
    pub vacate: Duration,
    /// What is added to the wall clock, in microseconds.
    pub skew_us: i64,
    /// A socket by which the job is held, removed, released.
    pub control: Option<Control>,
    /// Whoever the job does not outlive.
    pub parent: Option<Parent>,
    /// How long all of it may take.
    pub timeout: Option<Duration>,
}

/// What came of a job.
#[derive(Debug)]
pub struct Outcome {
    /// The job as the queue has it.
    pub ad: ClassAd,
    /// The last run.
    pub last: Option<Finished>,
    /// How it ended, if it ran to its end.
    pub exit: Option<Exit>,
    /// Whether it took longer than it may.
    pub timed_out: bool,
}

/// Lays down what the hook of a job is given of its user's credentials.
pub type CredentialsOf<'w> = Box<dyn Fn(&ClassAd) -> Result<Option<HookCredentials>, String> + 'w>;

/// Makes the plan of a run for the job's ad as it is then.
type Planner<'p, 'w> = &'p mut dyn FnMut(ClassAd) -> Result<Plan<'w>, String>;

/// Plays a job.
///
/// # Errors
/// The reactor cannot wait any more.
pub fn run<'w>(
    play: Play<'w>,
    planner: Planner<'_, 'w>,
    reactor: &mut Reactor,
    stream: &mut EventStream,
    say: &mut dyn FnMut(&str),
) -> io::Result<Outcome> {
    let mut playing = Playing::new(play);
    playing.tell(Event::Begin);
    loop {
        playing.companion.told.drain(..).for_each(|line| say(&line));
        let next = match playing.companion.open.is_empty() {
            true => None,
            false => Some(playing.companion.open.remove(0)),
        };
        match next {
            Some(Action::Finish(ad)) => {
                return Ok(playing.outcome(*ad));
            }
            Some(Action::Call(hook)) => playing.call(&hook, reactor)?,
            Some(Action::Run(ad)) => playing.starter(*ad, planner, reactor, stream)?,
            // Everything else is done at once.
            Some(_) => {}
            None if playing.companion.wake_at.is_none() && playing.control.is_none() => {
                let ad = playing.companion.shadow.ad().clone();
                return Ok(playing.outcome(ad));
            }
            None => playing.wait(reactor)?,
        }
    }
}

struct Playing<'w> {
    companion: ShadowCompanion<'w>,
    machine: Option<ClassAd>,
    owner: Option<Identity>,
    environment: HookEnvironment,
    hook_limit: Option<Duration>,
    hook_credentials: CredentialsOf<'w>,
    quirks: Quirks,
    skew_us: i64,
    control: Option<Control>,
    parent: Option<Parent>,
    ends_at: Option<Tick>,
    timed_out: bool,
    last: Option<Finished>,
    exit: Option<Exit>,
}

impl<'w> Playing<'w> {
    /// A job that nobody has begun to run.
    fn new(play: Play<'w>) -> Self {
        let Play { mut setup, machine, mut log, owner, environment, hook_limit, hook_credentials, .. } = play;
        let Play { vacate, skew_us, control, parent, timeout, .. } = play;
        let (world, quirks, local) = (setup.world, setup.quirks, setup.local);
        let mut told = Vec::new();
        if let Some(opened) = &mut log
            && let Err(error) = opened.open(owner.as_ref())
        {
            told.push(format!("the job's log '{}' cannot be opened: {error}", opened.path().display()));
            // What stands in the log of all jobs is written all the same.
            setup.no_log = true;
        }
        let companion = ShadowCompanion {
            shadow: Shadow::new(setup),
            log,
            world,
            local,
            scratch: BString::default(),
            open: Vec::new(),
            wake_at: None,
            vacate,
            told,
            run: RunSeen::default(),
        };
        Playing {
            companion,
            machine,
            owner,
            environment,
            hook_limit,
            hook_credentials,
            quirks,
            skew_us,
            control,
            parent,
            ends_at: timeout.map(|limit| clock::tick().plus(limit)),
            timed_out: false,
            last: None,
            exit: None,
        }
    }

    fn now(&self) -> Now {
        let now = clock::now();
        Now { wall_us: now.wall_us.saturating_add(self.skew_us), ..now }
    }

    fn outcome(self, ad: ClassAd) -> Outcome {
        let timed_out = self.timed_out || self.last.as_ref().is_some_and(|last| last.timed_out);
        Outcome { ad, last: self.last, exit: self.exit, timed_out }
    }

    /// No starter runs: there is nobody to be asked.
    fn tell(&mut self, event: Event) {
        let now = self.now();
        drop(self.companion.tell(now, event));
    }

    fn call(&mut self, hook: &Hook, reactor: &mut Reactor) -> io::Result<()> {
        let ad = self.companion.shadow.given();
        let iwd = Context::new(self.companion.world).my(&ad).string(attr::IWD);
        let directory = iwd.map(|iwd| iwd.to_path_lossy().into_owned()).filter(|iwd| iwd.is_dir());
        let credentials = match (self.hook_credentials)(&ad) {
            Ok(credentials) => credentials,
            Err(why) => {
                // The hook is not called without the credentials of its job (`ShadowHookMgr::tryHookPrepareJob`).
                let told = format!("SHADOW_PREPARE_JOB is not called: no credentials for it: {why}");
                self.companion.told.push(told);
                self.tell(Event::HookEnded(HookEnd::NoCredentials));
                return Ok(());
            }
        };
        let variable = credentials.as_ref().map(HookCredentials::variable);
        let (environment, identity) = (self.environment.clone().with(variable), self.owner.clone());
        let calling = Calling {
            environment: &environment,
            identity: identity.as_ref(),
            directory: directory.unwrap_or_else(|| PathBuf::from("/")),
            limit: self.hook_limit,
            quirks: self.quirks,
        };
        let answer = hook::call(hook, &ad, &calling, self, reactor)?;
        self.companion.told.extend(credentials.and_then(HookCredentials::take_away));
        let it_said = |said: &str| Some(format!("it said: {said}")).filter(|_| !said.is_empty());
        let said = match &answer {
            Answer::Failed(reason) | Answer::Late(reason) => Some(reason.clone()),
            Answer::Stopped(_, complaint) if complaint.is_empty() => Some("its end was asked for".to_owned()),
            Answer::Stopped(_, complaint) => Some(format!("its end was asked for; it said: {complaint}")),
            Answer::Ended { complaint, .. } => it_said(complaint),
        };
        let tell = |said| format!("SHADOW_PREPARE_JOB '{}': {said}", hook::shown(hook));
        self.companion.told.extend(said.map(tell));
        match answer {
            Answer::Ended { exit, stdout, .. } => self.tell(Event::HookEnded(HookEnd::Exited(exit, stdout))),
            Answer::Failed(_) => self.tell(Event::HookEnded(HookEnd::Unexecuted)),
            Answer::Late(_) => self.tell(Event::HookEnded(HookEnd::TimedOut)),
            // The machine has had its order.
            Answer::Stopped(GivenUp::Order, _) => {}
            Answer::Stopped(..) => {
                self.tell(Event::HookEnded(HookEnd::Abandoned));
                self.leave();
            }
        }
        Ok(())
    }

    /// Whether all of it has taken as long as it may.
    fn is_late(&mut self) -> bool {
        self.timed_out |= self.ends_at.is_some_and(|at| at <= clock::tick());
        self.timed_out
    }

    /// A person wants no more: the job stays in the queue as it is.
    fn leave(&mut self) {
        if self.companion.open.is_empty() {
            let ad = self.companion.shadow.ad().clone();
            self.companion.open.push(Action::Finish(Box::new(ad)));
        }
    }

    fn starter(
        &mut self,
        ad: ClassAd,
        planner: Planner<'_, 'w>,
        reactor: &mut Reactor,
        stream: &mut EventStream,
    ) -> io::Result<()> {
        if let Some(machine) = &self.machine {
            let provisioned = ending::provisioned(machine, self.companion.world);
            self.tell(Event::Known(Box::new(provisioned)));
        }
        if self.is_late() {
            self.tell(Event::Ended(Ended { asked: true, last: true, ..Ended::default() }));
            return Ok(());
        }
        // What the run before has left open is over now, and this one notes under the same number what it begins.
        self.last = None;
        let Some(plan) = self.planned(ad, planner) else { return Ok(()) };
        let world = self.companion.world;
        let beside = Beside {
            companion: Some(&mut self.companion),
            control: self.control.as_mut(),
            parent: self.parent.as_mut(),
        };
        let finished = starter::run_with(plan.machine, plan.job, world, (reactor, stream), beside)?;
        self.starter_ended(finished);
        Ok(())
    }

    /// What a starter is to do; `None`: the run is over before one begins.
    fn planned(&mut self, ad: ClassAd, planner: Planner<'_, 'w>) -> Option<Plan<'w>> {
        let mut plan = match planner(ad) {
            Ok(plan) => plan,
            Err(reason) => {
                self.companion.told.push(format!("the job is not started: {reason}"));
                self.tell(Event::Ended(Ended { reason: Some(reason), last: true, ..Ended::default() }));
                return None;
            }
        };
        self.companion.told.append(&mut plan.warnings);
        plan.job.timeout = self.ends_at.map(|at| at.since(clock::tick()));
        self.companion.scratch = plan.job.sandbox.scratch.as_os_str().as_bytes().into();
        self.companion.run = RunSeen::default();
        if let Some(held) = plan.held.take() {
            let now = self.now();
            drop(self.companion.ordered(now, ControlCommand::Vacate(Some(held), false)));
            self.companion.run.fast_at = None;
            self.tell(Event::Ended(Ended { asked: true, ..Ended::default() }));
            return None;
        }
        Some(plan)
    }

    fn starter_ended(&mut self, finished: Finished) {
        // Attributes that tell how it ended come with the job's last word.
        if let Some(outcome) = &finished.outcome {
            let mut outcome = htc_classad::format::long::parse(outcome).0;
            if self.companion.run.last_word == LastWord::Lost {
                // The shadow says that there is none before it holds the job (c31 o08).
                outcome.set(attr::JOB_CORE_DUMPED, false);
            }
            for name in self.companion.unsaid() {
                drop(outcome.remove(name));
            }
            self.tell(Event::Known(Box::new(outcome)));
        }
        let exit = match finished.standing {
            Standing::Ran(exit) => Some(exit),
            Standing::NotStarted => None,
        };
        let asked = self.companion.run.evicted || finished.requested;
        self.exit = exit.filter(|_| !asked);
        let last = finished.requested;
        let reason = finished.not_started.clone();
        self.last = Some(finished);
        self.tell(Event::Ended(Ended { exit, asked, reason, last }));
    }

    /// Waits for the time that the machine asked for, or for a person who wants no more.
    fn wait(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        match reactor.next([self.companion.wake_at, self.next_look()].into_iter().flatten().min())? {
            os::Event::Readable(token) => drop(self.heard(token, reactor)),
            os::Event::Signal(libc::SIGTERM | libc::SIGINT | libc::SIGQUIT) => self.leave(),
            _ => {
                if self.look(reactor) {
                    self.leave();
                    return Ok(());
                }
                if self.companion.wake_at.is_some_and(|at| at <= clock::tick()) {
                    self.companion.wake_at = None;
                    self.tell(Event::Timeout);
                }
            }
        }
        Ok(())
    }
}

impl Meanwhile for Playing<'_> {
    fn next_look(&self) -> Option<Tick> {
        let control = self.control.as_ref().and_then(Control::next_look);
        let parent = self.parent.as_ref().map(Parent::check_at);
        [control, parent, self.ends_at].into_iter().flatten().min()
    }

    fn look(&mut self, reactor: &mut Reactor) -> bool {
        let now = clock::tick();
        if let Some(control) = &mut self.control {
            control.look(now, reactor);
        }
        let is_gone = self.parent.as_mut().is_some_and(|parent| parent.is_gone(now));
        if is_gone {
            self.companion.told.push("whoever started this is gone: the job stays in the queue".to_owned());
            self.parent = None;
        }
        is_gone || self.is_late()
    }

    /// Somebody asks something while no starter runs.
    fn heard(&mut self, token: os::Token, reactor: &mut Reactor) -> bool {
        let Some(said) = self.control.as_mut().and_then(|control| control.readable(token, reactor)) else {
            return false;
        };
        let client = said.client;
        let now = self.now();
        let (reply, taken) = match command_of(said) {
            Ok(ControlCommand::Status) => {
                let ad = self.companion.shadow.ad();
                let number = |name| Context::new(self.companion.world).my(ad).int(name).unwrap_or(0);
                let id = format!("{}.{}", number(attr::CLUSTER_ID), number(attr::PROC_ID));
                (Reply::status(&id, self.companion.shadow.state()), false)
            }
            // There is no starter that anything could be asked of.
            Ok(command) => {
                let taken = self.companion.ordered(now, command).map(drop);
                let is_taken = taken.is_ok();
                (Reply::of(taken), is_taken)
            }
            Err(error) => (Reply::of(Err(error)), false),
        };
        if let Some(control) = &mut self.control {
            control.answer(client, &reply, reactor);
        }
        taken
    }
}
