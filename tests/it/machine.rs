//! An execution point alone, in virtual time: what slots go through when they are told this and that.

use std::rc::Rc;
use std::time::Duration;

use htc_hooks::classad::ClassAd;
use htc_hooks::classad::format::long;
use htc_hooks::config::{Config, LoadOptions, Who};
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::Quirks;
use htc_hooks::slot::{
    Action, ClaimCommand, ClaimRequest, Configured, Event, ExecutionPoint, Limits, Measured, Notice, SlotKey,
    StarterId, StarterSignal, Surroundings, configure,
};
use htc_hooks::time::Now;

/// An execution point, its clock, and what its slots went through.
pub(crate) struct Machine {
    pub(crate) point: ExecutionPoint,
    pub(crate) now: Now,
    pub(crate) states: Vec<String>,
    pub(crate) starter: Option<StarterId>,
    pub(crate) warnings: Vec<String>,
    /// Signals that starters got.
    pub(crate) signals: Vec<StarterSignal>,
    world: Rc<RealWorld>,
    quirks: Quirks,
    gpus: Option<String>,
}

impl Machine {
    /// As 25.14 would.
    pub(crate) fn new(lines: &str) -> Self {
        Machine::with(lines, Quirks::Reference, None)
    }

    pub(crate) fn with(lines: &str, quirks: Quirks, gpus: Option<&str>) -> Self {
        let world = Rc::new(RealWorld::new());
        let gpus = gpus.map(str::to_owned);
        let made = configured(lines, &world, quirks, &gpus);
        let now = Now::at_epoch(1_800_000_000);
        let point = ExecutionPoint::new(made.settings, world.clone(), now);
        let warnings = made.warnings;
        let (states, signals) = (Vec::new(), Vec::new());
        let mut machine =
            Machine { point, now, states, starter: None, warnings, signals, world, quirks, gpus };
        machine.step(Event::Start);
        machine.states.clear();
        machine
    }

    pub(crate) fn reconfigure(&mut self, lines: &str) {
        let made = configured(lines, &self.world, self.quirks, &self.gpus);
        self.step(Event::Reconfigure(Box::new(made.settings)));
    }

    /// Others make this load; nobody touches the keyboard.
    pub(crate) fn measure(&mut self, load: f64) {
        let measured = Measured { load, virtual_memory: 1_000_000, ..Measured::default() };
        self.step(Event::Measured(Box::new(measured)));
    }

    /// The backfill client ends.
    pub(crate) fn client_ends(&mut self) {
        let starter = self.starter.take().unwrap();
        self.step(Event::StarterExited { starter, exit: Exit::Code(0) });
    }

    pub(crate) fn step(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.point.step(self.now, event) {
                match action {
                    Action::SpawnStarter(call) => {
                        self.starter = Some(call.starter);
                        events.push(Event::StarterSpawned { starter: call.starter, pid: 77 });
                    }
                    Action::Tell(Notice::State { state, activity, .. }) => {
                        self.states.push(format!("{state}/{activity}"));
                    }
                    Action::Tell(Notice::Warning { text, .. }) => self.warnings.push(text),
                    Action::SignalStarter { signal, .. } => self.signals.push(signal),
                    Action::RunHook(call) => {
                        events.push(Event::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
                    }
                    _ => {}
                }
            }
        }
    }

    pub(crate) fn ask(&mut self, slot: &str, command: ClaimCommand) {
        self.step(Event::Command { slot: slot.into(), command });
    }

    pub(crate) fn claim(&mut self, slot: &str, lines: &str, lease: i64) {
        let (job, schedd, host) = (job(lines), "submit".into(), "10.0.0.1".into());
        self.ask(
            slot,
            ClaimCommand::Request(Box::new(ClaimRequest { job, lease, schedd, host, preempts: Vec::new() })),
        );
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        let end = self.now.plus(Duration::from_secs(seconds));
        while let Some(wake) = self.point.next_wake().filter(|wake| *wake <= end.tick()) {
            self.now = self.now.plus(wake.since(self.now.tick()));
            self.step(Event::Tick);
        }
        self.now = end;
    }

    pub(crate) fn starter_ends(&mut self) {
        let starter = self.starter.take().unwrap();
        self.step(Event::FinalUpdate { starter });
        self.step(Event::StarterExited { starter, exit: Exit::Code(0) });
    }

    pub(crate) fn went(&mut self) -> String {
        std::mem::take(&mut self.states).join(" ")
    }

    pub(crate) fn ad(&self, key: SlotKey) -> String {
        String::from_utf8(long::print(&self.point.sent_ad(key).unwrap())).unwrap()
    }
}

pub(crate) fn job(lines: &str) -> ClassAd {
    let base = "User = \"alice@here\"\nOwner = \"alice\"\nJobUniverse = 5\nRequestCpus = 1\nRequestMemory = 10\nRequestDisk = 10\n";
    let (ad, errors) = long::parse(format!("{base}{lines}\n").as_bytes());
    assert!(errors.is_empty());
    ad
}

fn configured(lines: &str, world: &RealWorld, quirks: Quirks, gpus: &Option<String>) -> Configured {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("condor_config");
    let text = format!("NUM_CPUS = 4\nMEMORY = 1000\nSTARTD_DETECT_GPUS =\nPOLLING_INTERVAL = 1\n{lines}\n");
    std::fs::write(&file, text).unwrap();
    let who = Who { subsystem: "STARTD".into(), ..Who::default() };
    let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
    let (config, _) = Config::load(world, &who, &options).unwrap();
    let around = Surroundings {
        disk_free: 1_000_000,
        virtual_memory: 1_000_000,
        gpus: gpus.clone(),
        ..Surroundings::default()
    };
    configure(&config, world, &around, quirks, Limits::default()).unwrap()
}
