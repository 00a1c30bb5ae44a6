//! Plan of a simulation, made from a scenario and a configuration: the settings of all machines, and the effects of
//! the events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::random::RandomGenerator;
use super::scenario::{MachineSpec, Scenario, matches_machine};
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::references::AttrNames;
use htc_hook::cron_job::{AutoPublish, CronJob};
use htc_hook::cron_output::CronOutput;
use htc_runner::slot::SlotControlRequest;
use htc_slot::cron_ads::CronAds;
use htc_slot::{DrainCompletion, ExitLimits, SlotHookPaths, SlotHookType, StartdEvent, StartdSettings};

/// Plan of equal machines.
pub struct MachinePlan {
    /// Name of the machines, followed by a number if there are several machines. `None` for the only machine of a
    /// scenario that names no machine.
    pub name: Option<String>,
    /// Number of machines.
    pub count: u32,
    /// Settings of the machines at the start.
    pub settings: StartdSettings,
    /// Attributes to which policy expressions of the machines may refer, or `None` if unknown.
    pub attributes_read: Option<AttrNames>,
    /// True if RANK may differ between jobs.
    pub can_rank_jobs: bool,
    /// Ads of cron jobs, by the index of the event that publishes them.
    pub cron: BTreeMap<usize, Box<CronAds>>,
    /// Settings after a reconfiguration, by the index of the event that causes it.
    pub reconfigured: BTreeMap<usize, Box<StartdSettings>>,
    /// Numbers of the configurations: at the start (key `None`), and by the index of the event that causes a
    /// reconfiguration.
    pub configs: BTreeMap<Option<usize>, usize>,
}

/// Plan of a simulation.
pub struct SimulationPlan {
    /// Start time, in epoch seconds.
    pub start: i64,
    /// Plans of the machines.
    pub machines: Vec<MachinePlan>,
    /// Commands to the machines, by the index of the event.
    pub commands: BTreeMap<usize, StartdEvent>,
}

/// Error that prevents simulating a scenario with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No slots can be made from the configuration.
    #[error("{0}")]
    Configuration(String),
    /// A machine pattern matches no machine.
    #[error("[[{what}]]: no machine has the name '{pattern}'; {known}")]
    NoSuchMachine {
        /// Name of the table.
        what: &'static str,
        /// Index of the table among tables of that name, from 0.
        index: usize,
        /// The pattern for machine names.
        pattern: String,
        /// Names of the existing machines.
        known: String,
    },
    /// An event is not valid.
    #[error("event {number}: {reason}")]
    Event {
        /// Number of the event, from 1.
        number: usize,
        /// The key with the error.
        key: &'static str,
        /// Reason why the event is not valid.
        reason: String,
    },
}

/// Function that makes the settings of a machine. Its arguments are the parameters that override the machine's
/// configuration, and its disk space in KiB, if set. The function also returns the number of the configuration.
pub type ConfigureMachine<'a> =
    &'a mut dyn FnMut(&BTreeMap<String, String>, Option<i64>) -> Result<(StartdSettings, usize), String>;

/// Function like [`ConfigureMachine`] that configures equal machines only once.
type ConfigureOnce<'a> =
    &'a mut dyn FnMut(&ParameterMap, Option<i64>) -> Result<(StartdSettings, usize), PlanError>;

/// Values of parameters by name.
type ParameterMap = BTreeMap<String, String>;

/// Machines with the same settings.
struct MachineGroup {
    name: Option<String>,
    count: u32,
    knobs: ParameterMap,
    /// Disk space in KiB, or `None` if not set.
    disk: Option<i64>,
}

impl MachineGroup {
    /// Returns the groups of equal machines of a scenario's table: one group if the sizes of the machines are
    /// constant, one group per machine if they are random.
    fn from_spec(kind: &MachineSpec, name: Option<String>, seed: u64, at: usize) -> Vec<MachineGroup> {
        let make = |name: Option<String>, count: u32, number: u32| {
            let mut dice = RandomGenerator::new(&[seed, 0x3A_C41E, at as u64, u64::from(number)]);
            let memory = kind.memory.as_ref().map(|memory| memory.sample_integer(&mut dice));
            let disk = kind.disk.as_ref().map(|disk| disk.sample_integer(&mut dice));
            MachineGroup { name, count, knobs: machine_parameters(kind, memory), disk }
        };
        let is_given = kind.memory.as_ref().is_none_or(|memory| memory.is_fixed())
            && kind.disk.as_ref().is_none_or(|disk| disk.is_fixed());
        match &name {
            Some(base) if kind.count > 1 && !is_given => {
                (1..=kind.count).map(|number| make(Some(format!("{base}{number}")), 1, number)).collect()
            }
            _ => vec![make(name.clone(), kind.count, 1)],
        }
    }
}

impl MachinePlan {
    /// Plans a group of machines, including the effects of events on their configuration and cron jobs.
    fn new(
        scenario: &Scenario,
        machines: MachineGroup,
        world: &FrozenClockWorld<'_>,
        make: ConfigureOnce<'_>,
    ) -> Result<MachinePlan, PlanError> {
        let MachineGroup { name, count, knobs: machine_parameters, disk } = machines;
        let mut knobs = scenario.knobs.0.clone();
        knobs.extend(machine_parameters);
        let (settings, number) = make(&knobs, disk)?;
        let mut plan = MachinePlan {
            name,
            count,
            attributes_read: None,
            can_rank_jobs: can_rank_jobs(&settings),
            settings,
            cron: BTreeMap::new(),
            reconfigured: BTreeMap::new(),
            configs: BTreeMap::from([(None, number)]),
        };
        for (number, event) in scenario.events.iter().enumerate() {
            if let Some(above) = &event.knobs {
                let mut knobs = knobs.clone();
                knobs.extend(above.0.clone());
                let (settings, call) = make(&knobs, disk)?;
                plan.reconfigured.insert(number, Box::new(settings));
                plan.configs.insert(Some(number), call);
            }
            if let Some(text) = &event.cron {
                let ads = parse_cron_output(text, plan.settings.quirks, world);
                let fail = |reason| PlanError::Event { number: number + 1, key: "cron", reason };
                let ads = ads.map_err(fail)?;
                plan.cron.insert(number, Box::new(ads));
            }
        }
        Ok(plan)
    }
}

impl SimulationPlan {
    /// Plans the simulation of a scenario.
    ///
    /// # Errors
    /// Fails if no slots can be made from the configuration, or if an event is not valid.
    pub fn new(
        scenario: &Scenario,
        world: &dyn World,
        configure: ConfigureMachine<'_>,
    ) -> Result<SimulationPlan, PlanError> {
        let start = scenario.start.to_epoch(|epoch| i64::from(world.zone(epoch).offset));
        let one = [MachineSpec { count: 1, ..MachineSpec::default() }];
        let kinds = if scenario.machines.is_empty() { &one[..] } else { &scenario.machines[..] };
        let names_none = scenario.machines.is_empty();
        // If several machines have the same random sizes, they are configured only once.
        let mut known: BTreeMap<(ParameterMap, Option<i64>), (StartdSettings, usize)> = BTreeMap::new();
        let mut make = |knobs: &ParameterMap, disk: Option<i64>| {
            if let Some(made) = known.get(&(knobs.clone(), disk)) {
                return Ok(made.clone());
            }
            let (settings, number) = configure(knobs, disk).map_err(PlanError::Configuration)?;
            let made = (with_simulated_hooks(settings), number);
            known.insert((knobs.clone(), disk), made.clone());
            Ok(made)
        };
        let now = FrozenClockWorld { world, now: ClockReading::from_epoch(start) };
        let mut machines = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let name = match (&kind.name, kinds.len(), kind.count) {
                (Some(name), ..) => Some(name.clone()),
                (None, 1, 1) => None,
                (None, 1, _) => Some("machine".to_owned()),
                (None, ..) => Some(format!("machine{}_", at + 1)),
            };
            let name = name.filter(|_| !names_none || kind.count > 1);
            for alike in MachineGroup::from_spec(kind, name, scenario.seed, at) {
                machines.push(MachinePlan::new(scenario, alike, &now, &mut make)?);
            }
        }
        let mut plan = SimulationPlan { start, machines, commands: BTreeMap::new() };
        plan.check_names(scenario)?;
        plan.read_commands(scenario)?;
        Ok(plan)
    }

    /// Reads the commands in the scenario's events.
    fn read_commands(&mut self, scenario: &Scenario) -> Result<(), PlanError> {
        for (number, event) in scenario.events.iter().enumerate() {
            let Some(command) = &event.command else { continue };
            let fail = |key: &str, reason: String| {
                // Keys with different names in a request and in an event.
                let keys =
                    [("slot", "slot"), ("how", "how"), ("reason", "reason"), ("on_completion", "resume")];
                let key = keys.into_iter().find(|(of_request, _)| *of_request == key);
                let key = key.map_or("command", |(_, of_event)| of_event);
                PlanError::Event { number: number + 1, key, reason }
            };
            let texts = [("slot", &event.slot), ("how", &event.how), ("reason", &event.reason)];
            let texts = texts.into_iter().filter_map(|(key, text)| Some((key, text.clone()?.into())));
            let resume = event.resume.then(|| ("on_completion", DrainCompletion::Resume.name().into()));
            let keys = texts.chain(resume).chain([("command", command.clone().into())]);
            let object: serde_json::Map<String, serde_json::Value> =
                keys.map(|(key, value)| (key.to_owned(), value)).collect();
            let line = serde_json::Value::Object(object).to_string();
            let request = SlotControlRequest::parse(line.as_bytes())
                .map_err(|error| fail(&error.key, error.message))?;
            let slots = self.machines.iter().flat_map(|machine| &machine.settings.slots);
            let known: Vec<&str> = slots.map(|slot| slot.id.as_str()).collect();
            // A dynamic slot, whose name contains `_`, does not exist yet, so its name cannot be checked.
            if !request.slot().is_some_and(|slot| slot.contains('_')) {
                request.check_slot(&known).map_err(|reason| fail("slot", reason))?;
            }
            match request
                .into_event(Vec::new(), "", QuirkMode::Manual)
                .map_err(|reason| fail("command", reason))?
            {
                Some(command) => drop(self.commands.insert(number, command)),
                None => {
                    let reason = format!("'{command}' has no effect here; for reconfig use 'knobs'");
                    return Err(fail("command", reason));
                }
            }
        }
        Ok(())
    }

    /// Checks that every pattern for machine names matches a machine.
    fn check_names(&self, scenario: &Scenario) -> Result<(), PlanError> {
        let known: Vec<String> = self
            .machines
            .iter()
            .flat_map(|plan| {
                let name = plan.name.clone().unwrap_or_default();
                (1..=plan.count).map(move |number| match plan.count {
                    1 => name.clone(),
                    _ => format!("{name}{number}"),
                })
            })
            .collect();
        let events = scenario.events.iter().map(|it| &it.machines).enumerate();
        let hooks = scenario.hooks.iter().map(|it| &it.machines).enumerate();
        let keyboards = scenario.keyboards.iter().map(|it| &it.machines).enumerate();
        let loads = scenario.loads.iter().map(|it| &it.machines).enumerate();
        let events = events.map(|it| ("event", it));
        let hooks = hooks.map(|it| ("hook", it));
        let patterns = keyboards.map(|it| ("keyboard", it)).chain(loads.map(|it| ("load", it)));
        for (what, (index, pattern)) in events.chain(hooks).chain(patterns) {
            let Some(pattern) = pattern else { continue };
            if !known.iter().any(|name| matches_machine(Some(pattern), name)) {
                let some: Vec<&str> = known.iter().take(5).map(String::as_str).collect();
                let known = match some.as_slice() {
                    [""] => "the only machine has no name: remove 'machines', or give the machine a name"
                        .to_owned(),
                    some => format!("there are {}", some.join(", ")),
                };
                return Err(PlanError::NoSuchMachine { what, index, pattern: pattern.clone(), known });
            }
        }
        Ok(())
    }

    /// Returns notes about parts of the scenario that have no effect on any machine.
    pub fn notes(&self, scenario: &Scenario) -> Vec<String> {
        let mut notes = Vec::new();
        for (number, event) in (1..).zip(&scenario.events) {
            let names = event.knobs.iter().flat_map(|knobs| knobs.0.keys());
            let layout_names: Vec<&str> =
                names.map(String::as_str).filter(|name| is_layout_parameter(name)).collect();
            if !layout_names.is_empty() {
                notes.push(format!(
                    "event {number}: {} takes effect only after a restart: in HTCondor 25.14 a reconfiguration does not change slots",
                    layout_names.join(", ")
                ));
            }
        }
        for (number, keyboard) in (1..).zip(&scenario.keyboards) {
            if !self.sees_keyboard(keyboard.machines.as_deref()) {
                notes.push(format!(
                    "[[keyboard]] {number} changes nothing: no slot of its machines is connected to the keyboard \
                     (SLOTS_CONNECTED_TO_KEYBOARD)"
                ));
            }
        }
        notes
    }

    /// Returns true if a slot of the machines that match the pattern is ever connected to the keyboard.
    fn sees_keyboard(&self, pattern: Option<&str>) -> bool {
        let is_meant = |machine: &&MachinePlan| {
            let base = machine.name.as_deref().unwrap_or_default();
            (1..=machine.count).any(|number| match machine.count {
                1 => matches_machine(pattern, base),
                _ => matches_machine(pattern, &format!("{base}{number}")),
            })
        };
        self.machines.iter().filter(is_meant).any(MachinePlan::sees_keyboard)
    }

    /// Returns the quirk mode of the simulated machines: it selects the behaviour where 25.14 and its manual differ.
    pub fn quirks(&self) -> QuirkMode {
        self.machines.first().map_or(QuirkMode::Manual, |machine| machine.settings.quirks)
    }

    /// Returns the job attributes to which any policy may refer, or `None` if they are unknown.
    pub fn attributes_read_in_jobs(&self) -> Option<AttrNames> {
        let mut all = AttrNames::new();
        for machine in &self.machines {
            for settings in
                std::iter::once(&machine.settings).chain(machine.reconfigured.values().map(|it| &**it))
            {
                all.extend(htc_slot::referenced_attributes(settings, &machine.cron_ads())?);
            }
        }
        Some(all)
    }

    /// Adds the slot attributes to which the job ads may refer to those to which policies refer.
    pub fn add_job_references<'a>(&mut self, ads: impl Iterator<Item = &'a htc_classad::ClassAd> + Clone) {
        for machine in &mut self.machines {
            let published = machine.cron_ads();
            let all = std::iter::once(&machine.settings).chain(machine.reconfigured.values().map(|it| &**it));
            let mut names = Some(AttrNames::new());
            for settings in all {
                let referenced = htc_slot::referenced_attributes(
                    settings,
                    ads.clone().map(|ad: &htc_classad::ClassAd| ad).chain(&published),
                );
                names = names.zip(referenced).map(|(mut names, referenced)| {
                    names.extend(referenced);
                    names
                });
            }
            machine.attributes_read = names;
        }
    }
}

impl MachinePlan {
    /// Returns true if a slot of the machines is ever connected to the keyboard.
    pub(super) fn sees_keyboard(&self) -> bool {
        let later = self.reconfigured.values().map(|it| &**it);
        let mut all = std::iter::once(&self.settings).chain(later);
        all.any(|settings| settings.keyboard_slots.max(settings.console_slots) > 0)
    }

    /// Returns the ads that events publish as the output of cron jobs.
    fn cron_ads(&self) -> Vec<htc_classad::ClassAd> {
        self.cron.values().map(|ads| ads.merged_ad()).collect()
    }

    /// Returns true if the machines may sleep or end by themselves, at the start or after a reconfiguration.
    pub fn may_stop_by_itself(&self) -> bool {
        self.settings.can_stop_by_itself() || self.reconfigured.values().any(|it| it.can_stop_by_itself())
    }

    /// Returns true if no limit ends the machines before the end of the simulation.
    pub fn has_no_limits(&self) -> bool {
        self.settings.limits == ExitLimits::default()
    }
}

/// Returns true if the parameter affects the division of a machine into slots, which is made only at the start.
fn is_layout_parameter(name: &str) -> bool {
    const LAYOUT_PARAMETERS: [&str; 8] = [
        "NUM_CPUS",
        "NUM_SLOTS",
        "MEMORY",
        "RESERVED_MEMORY",
        "DISK",
        "RESERVED_DISK",
        "COUNT_HYPERTHREAD_CPUS",
        "MAX_SLOT_TYPES",
    ];
    let upper = name.to_ascii_uppercase();
    let of_type = upper.strip_prefix("SLOT_TYPE_").map(|rest| rest.trim_end_matches("_PARTITIONABLE"));
    LAYOUT_PARAMETERS.contains(&upper.as_str())
        || upper.starts_with("NUM_SLOTS_TYPE_")
        || upper.starts_with("MACHINE_RESOURCE_")
        || of_type.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if RANK may differ between jobs.
pub(super) fn can_rank_jobs(settings: &StartdSettings) -> bool {
    settings.slots.iter().any(|slot| slot.config.get("Rank").is_some_and(|rank| rank.as_literal().is_none()))
}

fn machine_parameters(kind: &MachineSpec, memory: Option<i64>) -> ParameterMap {
    let mut knobs = BTreeMap::new();
    if let Some(cpus) = kind.cpus {
        knobs.insert("NUM_CPUS".to_owned(), cpus.to_string());
    }
    if let Some(memory) = memory {
        knobs.insert("MEMORY".to_owned(), memory.to_string());
    }
    if let Some(slots) = kind.slots {
        knobs.insert("NUM_SLOTS_TYPE_1".to_owned(), slots.to_string());
        knobs.insert("SLOT_TYPE_1".to_owned(), "auto".to_owned());
        knobs.insert("SLOT_TYPE_1_PARTITIONABLE".to_owned(), "False".to_owned());
        if kind.cpus.is_none() {
            knobs.insert("NUM_CPUS".to_owned(), slots.to_string());
        }
    }
    knobs.extend(kind.knobs.0.clone());
    knobs
}

/// Configures simulated hooks for every slot instead of the configured ones, so that no hook is executed.
fn with_simulated_hooks(mut settings: StartdSettings) -> StartdSettings {
    for slot in &mut settings.slots {
        let keyword =
            slot.hooks.as_ref().map_or_else(|| "SIMULATED".to_owned(), |hooks| hooks.keyword.clone());
        let path = |hook: SlotHookType| Some(PathBuf::from(hook.name()));
        let hooks = SlotHookPaths {
            keyword,
            fetch: path(SlotHookType::FetchWork),
            fetch_refused: None,
            reply: path(SlotHookType::ReplyFetch),
            evict: path(SlotHookType::EvictClaim),
        };
        slot.hooks = Some(hooks.clone());
        slot.default_child_hooks = Some(hooks);
        slot.child_hooks.clear();
    }
    settings
}

/// Parses the output of a cron job that the scenario gives, and returns the ads that the job publishes.
///
/// # Errors
/// Fails if a line is not a valid attribute.
pub fn parse_cron_output(
    text: &str,
    quirks: QuirkMode,
    world: &FrozenClockWorld<'_>,
) -> Result<CronAds, String> {
    let job = CronJob::new(b"SIMULATED", b"/simulated");
    let mut ads = CronAds::new(quirks);
    ads.configure([&job]);
    let mut output = CronOutput::new(b"", quirks);
    output.begin_run();
    let mut text = text.trim().to_owned();
    if text.is_empty() {
        return Ok(CronAds::new(quirks));
    }
    text.push('\n');
    let mut blocks: Vec<_> = output.push_output(text.as_bytes()).into();
    blocks.extend(output.finish_run());
    for block in blocks {
        let published = ads.publish(&job, &block, AutoPublish::Never, world.now, world);
        if let Some(bad) = published.bad_lines.first() {
            return Err(format!(
                "the output of a cron job has a line that is not a valid attribute: {}",
                bad.reference_message()
            ));
        }
    }
    Ok(ads)
}
