//! Cron jobs played on a clock that runs while a program runs and skips the time between.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::cron::{self, CronArgs, List};
use super::options::Shared;
use super::{one, screen, setup, variables};
use crate::classad::{ClassAd, Context};
use crate::cli::common::{Painter, Session};
use crate::hook::cron_job::{CronJob, CronManager, CronMode};
use crate::os::{Event, Reactor, RealWorld, clock, identity};
use crate::quirks::{Quirk, Quirks};
use crate::runner::cron::{CronRunner, CronSurroundings, CronTold};
use crate::runner::hook_test;
use crate::runner::hook_test::CronHeard;
use crate::slot::cron_ads::CronAds;
use crate::slot::cron_schedule::{CronEvent, CronNote};
use crate::time::{Now, Tick};
use crate::world::World;

/// How long programs are given to end when the time is up.
const FAREWELL: Duration = Duration::from_secs(2);

/// How many characters of a bad line are shown, and how many such lines.
const SHOWN: usize = 120;
const MOST_BAD_LINES: usize = 50;

/// What else happens, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    Reconfig,
    JobBegins,
    End,
}

/// How it is played.
pub(super) struct Manner {
    pub quirks: Quirks,
    /// How long a program may take.
    pub patience: Duration,
    /// Nothing is told, but kept for [`Play::heard`].
    pub silent: bool,
}

impl Manner {
    /// As the command line says.
    pub(super) fn of(cli: &Shared) -> Self {
        let patience = cli.events.timeout.unwrap_or(hook_test::PATIENCE);
        Manner { quirks: cli.quirks.quirks, patience, silent: false }
    }
}

/// Cron jobs being played.
pub(super) struct Play<'a> {
    cli: &'a Shared,
    manager: CronManager,
    args: &'a CronArgs,
    slots: &'a [ClassAd],
    world: &'a RealWorld,
    session: &'a Session,
    painter: Painter,
    manner: Manner,
    heard: CronHeard,
    runner: CronRunner,
    reactor: Reactor,
    /// How often each job was let start.
    started: RefCell<BTreeMap<BString, u64>>,
    /// Jobs that wait for their CONDITION, or cannot be started.
    blocked: Vec<BString>,
    /// The real instant at which it began, and the time skipped since.
    began: Tick,
    base: Now,
    skipped: Duration,
    moments: Vec<(Duration, Moment)>,
    bad: bool,
    timed_out: bool,
    /// Lines that were told to be no attributes; each is told once.
    bad_lines: BTreeSet<BString>,
    _log: tempfile::TempDir,
}

impl<'a> Play<'a> {
    pub(super) fn new(
        cli: &'a Shared,
        manner: Manner,
        manager: CronManager,
        args: &'a CronArgs,
        slots: &'a [ClassAd],
        world: &'a RealWorld,
        session: &'a Session,
    ) -> anyhow::Result<Self> {
        let log = tempfile::Builder::new().prefix("htc-hook-cron.").tempdir()?;
        let quirks = manner.quirks;
        let daemon = identity::by_uid(identity::effective_uid());
        // Cron jobs get no keys of daemons, in the reference neither.
        let mut environment = hook_test::caller_environment(world, &cli.config.choice(), Quirks::None);
        variables::put(&mut environment, &variables::pairs(&args.env)?, &args.path_prepend);
        let account = setup::account(args.user.as_deref())?;
        let switches = args.user.is_some() && account != daemon;
        let identity = account.as_ref().filter(|_| switches).map(identity::of_account);
        if switches {
            // The account must be able to enter the directory of the daemon.
            std::fs::set_permissions(log.path(), std::fs::Permissions::from_mode(0o755))?;
        }
        let directory = log.path().to_owned();
        let runner = CronRunner::new(CronSurroundings { manager, environment, directory, identity, quirks });
        let mut moments: Vec<_> = args.reconfig.iter().map(|at| (*at, Moment::Reconfig)).collect();
        moments.extend(args.job_begins.iter().map(|at| (*at, Moment::JobBegins)));
        moments.extend(args.seconds.iter().map(|at| (*at, Moment::End)));
        moments.sort_by_key(|moment| moment.0);
        Ok(Play {
            cli,
            manager,
            args,
            slots,
            world,
            session,
            painter: Painter::stderr(cli.output.color),
            manner,
            heard: CronHeard::default(),
            runner,
            reactor: one::reactor()?,
            started: RefCell::default(),
            blocked: Vec::new(),
            began: clock::tick(),
            base: world.now(),
            skipped: Duration::ZERO,
            moments,
            bad: false,
            timed_out: false,
            bad_lines: BTreeSet::new(),
            _log: log,
        })
    }

    /// What was heard of the programs.
    pub(super) fn heard(&self) -> &CronHeard {
        &self.heard
    }

    pub(super) fn ads(&self) -> &CronAds {
        self.runner.ads()
    }

    /// How the program of a job is called.
    pub(super) fn call(&self, job: &CronJob) -> String {
        screen::call(&self.runner.child(job, self.now(), self.world))
    }

    /// Seconds that have passed on the clock.
    pub(super) fn seconds(&self) -> i64 {
        i64::try_from(self.elapsed().as_secs()).unwrap_or(i64::MAX)
    }

    /// Whether a program could not be started, or printed lines that are no attributes.
    pub(super) fn bad(&self) -> bool {
        self.bad
    }

    /// Whether a program was killed because it did not end.
    pub(super) fn timed_out(&self) -> bool {
        self.timed_out
    }

    fn elapsed(&self) -> Duration {
        clock::tick().since(self.began) + self.skipped
    }

    fn now(&self) -> Now {
        self.base.plus(self.elapsed())
    }

    /// The real instant of a point on the clock.
    fn real(&self, at: Tick) -> Tick {
        let from_start = at.since(self.base.tick());
        self.began.plus(from_start.saturating_sub(self.skipped))
    }

    /// Plays to the end; the signal that ended it early, if one came.
    pub(super) fn run(&mut self, list: List) -> anyhow::Result<Option<i32>> {
        self.configure(list);
        let patience = self.manner.patience;
        let mut idle_since = clock::tick();
        loop {
            self.tell();
            if self.args.seconds.is_none() && self.is_done() {
                return Ok(None);
            }
            if self.moments.first().is_some_and(|moment| moment.0 <= self.elapsed()) {
                let (_, moment) = self.moments.remove(0);
                match moment {
                    Moment::Reconfig => self.reconfigure()?,
                    Moment::JobBegins => {
                        if let Some(slot) = self.slots.get(self.args.job_slot.saturating_sub(1)) {
                            self.line("", "a job begins");
                            self.runner.ads_mut().job_begins(slot, self.world);
                        }
                    }
                    Moment::End => return self.end(),
                }
                continue;
            }
            let moment = self.moments.first().map(|moment| self.base.plus(moment.0).tick());
            let wake = self.runner.next_wake().into_iter().chain(moment).min();
            if self.runner.alive() == 0 {
                // Nothing to wait for but the clock, which is put forward.
                let Some(wake) = wake else { return Ok(None) };
                self.skipped += wake.since(self.now().tick());
                self.step(CronEvent::TimePasses);
                idle_since = clock::tick();
                continue;
            }
            // Without --for a program that does not end is not waited for without end.
            let limit = self.args.seconds.is_none().then(|| idle_since.plus(patience));
            let deadline = wake.map(|wake| self.real(wake)).into_iter().chain(limit).min();
            // A program that prints without end leaves no room for a time-out.
            let over = limit.is_some_and(|limit| limit <= clock::tick());
            let event = if over { Event::Timeout } else { self.reactor.next(deadline)? };
            match event {
                Event::Timeout if limit.is_some_and(|limit| limit <= clock::tick()) => {
                    self.timed_out = true;
                    let text = format!("killed: it did not end within {} s", patience.as_secs_f64());
                    for name in self.runner.running() {
                        self.line(&self.painter.bad(&name).to_string(), &text);
                    }
                    self.reactor.kill_all(Duration::ZERO);
                    return Ok(None);
                }
                Event::Timeout => self.step(CronEvent::TimePasses),
                Event::Signal(number) => {
                    self.reactor.kill_all(FAREWELL);
                    return Ok(Some(number));
                }
                event => {
                    if matches!(event, Event::Exited { .. }) {
                        idle_since = clock::tick();
                    }
                    self.take(event);
                }
            }
        }
    }

    /// The time is up: what runs is told to end, and killed if it does not.
    fn end(&mut self) -> anyhow::Result<Option<i32>> {
        self.step(CronEvent::ShutDown { fast: false });
        let deadline = clock::tick().plus(FAREWELL);
        while self.runner.alive() > 0 {
            match self.reactor.next(Some(deadline))? {
                Event::Timeout => break,
                Event::Signal(number) => return Ok(Some(number)),
                event => self.take(event),
            }
        }
        self.reactor.kill_all(Duration::ZERO);
        self.tell();
        Ok(None)
    }

    fn reconfigure(&mut self) -> anyhow::Result<()> {
        self.line("", "reconfig");
        let file = self.args.reconfig_file.as_deref();
        let list = cron::list(self.cli, self.manager, self.args, file, self.world, self.session)?;
        self.configure(list);
        Ok(())
    }

    fn configure(&mut self, list: List) {
        self.bad |= list.skipped;
        for job in list.jobs.iter().filter(|job| job.mode == CronMode::OnDemand) {
            if !self.manner.silent {
                self.session.tell(&format!("{}: OnDemand: nothing ever starts it\n", job.name));
            }
        }
        let (daemon, now) = (self.daemon_ad(), self.now());
        let Play { runner, reactor, started, args, world, manager, .. } = self;
        let may_start = |job: &CronJob| may_start(job, *manager, &daemon, started, args, world);
        runner.configure(reactor, now, list.jobs, list.max_load, list.auto_publish, &may_start, *world);
    }

    fn step(&mut self, event: CronEvent) {
        let (daemon, now) = (self.daemon_ad(), self.now());
        let Play { runner, reactor, started, args, world, manager, .. } = self;
        let may_start = |job: &CronJob| may_start(job, *manager, &daemon, started, args, world);
        runner.step(reactor, now, event, &may_start, *world);
    }

    fn take(&mut self, event: Event) {
        let (daemon, now) = (self.daemon_ad(), self.now());
        let Play { runner, reactor, started, args, world, manager, .. } = self;
        let may_start = |job: &CronJob| may_start(job, *manager, &daemon, started, args, world);
        runner.take(reactor, now, event, &may_start, *world);
    }

    /// What CONDITION is evaluated in.
    fn daemon_ad(&self) -> ClassAd {
        let mut ad = self.slots.first().cloned().unwrap_or_default();
        self.runner.ads().merge_into(&mut ad, self.world);
        ad
    }

    /// Whether every job that can be started was started often enough.
    fn is_done(&self) -> bool {
        let started = self.started.borrow();
        self.runner.alive() == 0
            && self.runner.schedule().jobs().all(|job| {
                let wanted = wanted(job, self.args);
                self.blocked.contains(&job.name) || started.get(&job.name).copied().unwrap_or(0) >= wanted
            })
    }

    fn line(&self, name: &str, text: &str) {
        if self.manner.silent {
            return;
        }
        let when = match self.args.seconds {
            Some(_) => format!("+{:.1} ", self.elapsed().as_secs_f64()),
            None => String::new(),
        };
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        self.session.tell(&format!("{when}{name}{text}\n"));
    }

    /// Tells what has happened.
    fn tell(&mut self) {
        let told: Vec<CronTold> = self.runner.told().collect();
        for one in told {
            if self.manner.silent {
                self.heard.hear(&one);
            }
            self.tell_one(one);
        }
    }

    fn tell_one(&mut self, told: CronTold) {
        let quiet = self.cli.output.quiet;
        match told {
            CronTold::Started { name, .. } => {
                if self.args.seconds.is_some() && !quiet {
                    self.line(&name.to_string(), "started");
                }
            }
            CronTold::NotStarted { name, reason } => {
                self.bad = true;
                let mode = self.runner.schedule().job(&name).map(|job| job.mode);
                let last = match mode {
                    Some(CronMode::Periodic) => "tried again after its period".to_owned(),
                    _ => format!("25.14 never tries it again ({})", Quirk::CronFailedStartFinal.id()),
                };
                self.line(&self.painter.bad(&name).to_string(), &format!("not started: {reason}; {last}"));
                self.blocked.push(name);
            }
            CronTold::Published { job, block } => {
                for line in &block.bad {
                    let shown: BString = line.line.chars().take(SHOWN).collect::<String>().into();
                    if self.bad_lines.len() < MOST_BAD_LINES && self.bad_lines.insert(shown.clone()) {
                        let text = format!("Can't insert '{shown}' into '{job}' ClassAd");
                        self.line("  warning bad-line", &text);
                    }
                }
                self.bad |= !block.bad.is_empty();
                match block.attributes {
                    None => {
                        self.bad = true;
                        self.line(&format!("  {job}"), "a block without a good line: nothing is published");
                    }
                    Some(count) if !quiet => {
                        let update = match (block.asked, block.update) {
                            (_, true) => ", collector updated",
                            (Some(false), _) => ", no update",
                            _ => "",
                        };
                        self.line(&format!("  {}", block.name), &format!("{count} attributes{update}"));
                        for word in &block.ignored {
                            self.line("  note", &format!("'{word}' behind the dash means nothing"));
                        }
                    }
                    Some(_) => {}
                }
            }
            CronTold::Unended { line, .. } => self.line(
                "  warning last-line",
                &format!(
                    "'{line}' has no newline; it is glued to the next run ({})",
                    Quirk::CronLastLineLeaks.id()
                ),
            ),
            CronTold::Signalled { name, signal } => {
                if !quiet {
                    self.line(&name.to_string(), &format!("gets signal {signal}"));
                }
            }
            CronTold::Ended { name, exit, took, stderr, left_behind } => {
                if quiet {
                    return;
                }
                let note = match exit.is_success() {
                    false => "; nobody looks at that, what it printed counts",
                    true => "",
                };
                let mode = self.runner.schedule().job(&name).map_or("dropped", |job| job.mode.name());
                let name = self.painter.good(&name).to_string();
                let took = took.as_secs_f64() * 1e3;
                self.line(&format!("{name} ({mode})"), &format!("{exit}, {took:.1} ms{note}"));
                for left in &left_behind {
                    let name = left.command.as_bstr();
                    let text = format!("process {} ({name}) is not killed by the daemon", left.pid);
                    self.line("  warning left-behind", &text);
                }
                for line in stderr.lines() {
                    self.line("  stderr", &line.as_bstr().to_string());
                }
            }
            CronTold::TooLarge { name } => {
                self.bad = true;
                self.line(&name.to_string(), "a block of more than 4 MiB: the rest of it is dropped");
            }
            CronTold::Dropped { name } => self.line(&name.to_string(), "dropped, and its attributes with it"),
            CronTold::Note(CronNote::Waits { name, for_load }) => {
                let over = self.args.seconds.is_none()
                    && self.started.borrow().get(&name).copied().unwrap_or(0) >= self.args.runs;
                if !for_load && !over {
                    self.line(&name.to_string(), "not started: CONDITION does not hold");
                    self.blocked.push(name);
                } else if for_load && !quiet {
                    self.line(&name.to_string(), "waiting for load");
                }
            }
            CronTold::Note(CronNote::NeverFits { name }) => {
                self.bad = true;
                self.line(&name.to_string(), "JOB_LOAD is above MAX_JOB_LOAD: it never starts");
                self.blocked.push(name);
            }
            CronTold::Note(note) => {
                if !quiet {
                    self.line("", &note.to_string());
                }
            }
        }
    }
}

/// How often a job is to be started where no time is given.
fn wanted(job: &CronJob, args: &CronArgs) -> u64 {
    match job.mode {
        CronMode::OnDemand => 0,
        CronMode::OneShot => args.runs.min(1),
        CronMode::Periodic | CronMode::WaitForExit => args.runs,
    }
}

/// CONDITION of the job, and whether it was started often enough; counts what is let start.
fn may_start(
    job: &CronJob,
    manager: CronManager,
    daemon: &ClassAd,
    started: &RefCell<BTreeMap<BString, u64>>,
    args: &CronArgs,
    world: &RealWorld,
) -> bool {
    let mut started = started.borrow_mut();
    let count = started.entry(job.name.clone()).or_default();
    if args.seconds.is_none() && *count >= wanted(job, args) {
        return false;
    }
    // The schedd reads CONDITION and never evaluates it.
    let holds = match &job.condition {
        Some(condition) if manager == CronManager::Startd => {
            Context::new(world).my(daemon).eval(condition).truth() == Some(true)
        }
        _ => true,
    };
    *count += u64::from(holds);
    holds
}
