//! State machine of an execution point in virtual time, for tests of the effects of events on slots.

use std::rc::Rc;
use std::time::Duration;

use htc_hooks::classad::ClassAd;
use htc_hooks::classad::format::long;
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::slot::{
    ClaimCommand, ClaimRequest, ExecutionPoint, ExitLimits, HookCall, HookRunId, HostMeasurements,
    Measurements, SettingsWithWarnings, SlotHookType, SlotKey, SlotNotice, StartdAction, StartdEvent,
    StarterId, StarterSignal, configure,
};
use htc_hooks::time::ClockReading;

/// Execution point with its clock and the states of its slots.
pub(crate) struct Machine {
    pub(crate) point: ExecutionPoint,
    pub(crate) now: ClockReading,
    pub(crate) states: Vec<String>,
    pub(crate) starter: Option<StarterId>,
    pub(crate) warnings: Vec<String>,
    /// Refusals of commands.
    pub(crate) refusals: Vec<String>,
    /// Names of the quirks that were reported.
    pub(crate) quirks: Vec<&'static str>,
    /// Signals that were sent to starters.
    pub(crate) signals: Vec<StarterSignal>,
    /// Running fetch hooks if the test ends them itself, otherwise `None`.
    pub(crate) running_fetches: Option<Vec<HookRunId>>,
    world: Rc<RealWorld>,
    mode: QuirkMode,
    gpus: Option<String>,
}

impl Machine {
    /// Creates a machine that behaves like 25.14.
    pub(crate) fn new(lines: &str) -> Self {
        Machine::with(lines, QuirkMode::Reference, None)
    }

    pub(crate) fn with(lines: &str, quirks: QuirkMode, gpus: Option<&str>) -> Self {
        let world = Rc::new(RealWorld::new());
        let gpus = gpus.map(str::to_owned);
        let loaded = load_settings(lines, &world, quirks, &gpus, ExitLimits::default());
        let now = ClockReading::from_epoch(1_800_000_000);
        let point = ExecutionPoint::new(loaded.settings, world.clone(), now);
        let warnings = loaded.warnings;
        let running_fetches = None;
        let (states, signals) = (Vec::new(), Vec::new());
        let mut machine = Machine {
            point,
            now,
            states,
            starter: None,
            warnings,
            refusals: Vec::new(),
            signals,
            running_fetches,
            world,
            mode: quirks,
            quirks: Vec::new(),
            gpus,
        };
        machine.step(StartdEvent::Start);
        machine.states.clear();
        machine
    }

    /// Starts a machine with `--once`. The test ends its fetch hooks.
    pub(crate) fn once(lines: &str) -> Self {
        let mut machine = Machine::with("", QuirkMode::Manual, None);
        let limits = ExitLimits { exit_when_no_work: true, ..ExitLimits::default() };
        let loaded = load_settings(lines, &machine.world, machine.mode, &None, limits);
        machine.point = ExecutionPoint::new(loaded.settings, machine.world.clone(), machine.now);
        machine.running_fetches = Some(Vec::new());
        machine.step(StartdEvent::Start);
        machine.states.clear();
        machine
    }

    /// Ends the oldest fetch hook that runs, with this text as its output.
    pub(crate) fn fetch_ends(&mut self, stdout: &[u8]) {
        let run = self.running_fetches.as_mut().unwrap().remove(0);
        self.step(StartdEvent::HookEnded { run, stdout: stdout.to_vec(), cut: false });
    }

    pub(crate) fn reconfigure(&mut self, lines: &str) {
        let loaded = load_settings(lines, &self.world, self.mode, &self.gpus, ExitLimits::default());
        self.step(StartdEvent::Reconfigure(Box::new(loaded.settings)));
    }

    /// Passes measurements with this load of other processes and without input at the keyboard.
    pub(crate) fn measure(&mut self, load: f64) {
        let measured = Measurements { load, virtual_memory: 1_000_000, ..Measurements::default() };
        self.step(StartdEvent::MeasurementsTaken(Box::new(measured)));
    }

    /// Ends the backfill client.
    pub(crate) fn client_ends(&mut self) {
        let starter = self.starter.take().unwrap();
        self.step(StartdEvent::StarterExited { starter, exit: Exit::Code(0) });
    }

    pub(crate) fn step(&mut self, event: StartdEvent) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for action in self.point.step(self.now, event) {
                match action {
                    StartdAction::SpawnStarter(call) => {
                        self.starter = Some(call.starter);
                        events.push(StartdEvent::StarterSpawned { starter: call.starter, pid: 77 });
                    }
                    StartdAction::Notify(SlotNotice::StateChanged { state, activity, .. }) => {
                        self.states.push(format!("{state}/{activity}"));
                    }
                    StartdAction::Notify(SlotNotice::Warning { text, .. }) => self.warnings.push(text),
                    StartdAction::Notify(SlotNotice::Refusal { text, .. }) => {
                        self.refusals.push(text.clone());
                        self.warnings.push(text);
                    }
                    StartdAction::Notify(SlotNotice::Quirk { quirk, .. }) => self.quirks.push(quirk.id()),
                    StartdAction::SignalStarter { signal, .. } => self.signals.push(signal),
                    StartdAction::RunHook(HookCall { run, hook: SlotHookType::FetchWork, .. })
                        if self.running_fetches.is_some() =>
                    {
                        self.running_fetches.iter_mut().for_each(|runs| runs.push(run));
                    }
                    StartdAction::RunHook(call) => {
                        events.push(StartdEvent::HookEnded { run: call.run, stdout: Vec::new(), cut: false });
                    }
                    _ => {}
                }
            }
        }
    }

    pub(crate) fn ask(&mut self, slot: &str, command: ClaimCommand) {
        self.step(StartdEvent::Command { slot: slot.into(), command });
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
        while let Some(wake) = self.point.next_wake().filter(|wake| *wake <= end.monotonic()) {
            self.now = self.now.plus(wake.since(self.now.monotonic()));
            self.step(StartdEvent::Tick);
        }
        self.now = end;
    }

    pub(crate) fn starter_ends(&mut self) {
        let starter = self.starter.take().unwrap();
        self.step(StartdEvent::FinalUpdate { starter });
        self.step(StartdEvent::StarterExited { starter, exit: Exit::Code(0) });
    }

    pub(crate) fn take_states(&mut self) -> String {
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

fn load_settings(
    lines: &str,
    world: &RealWorld,
    quirks: QuirkMode,
    gpus: &Option<String>,
    limits: ExitLimits,
) -> SettingsWithWarnings {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("condor_config");
    let text = format!("NUM_CPUS = 4\nMEMORY = 1000\nSTARTD_DETECT_GPUS =\nPOLLING_INTERVAL = 1\n{lines}\n");
    std::fs::write(&file, text).unwrap();
    let context = LookupContext { subsystem: "STARTD".into(), ..LookupContext::default() };
    let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
    let (config, _) = Config::load(world, &context, &options).unwrap();
    let measurements = HostMeasurements {
        disk_free: 1_000_000,
        virtual_memory: 1_000_000,
        gpu_discovery_output: gpus.clone(),
        ..HostMeasurements::default()
    };
    configure(&config, world, &measurements, quirks, limits).unwrap()
}
