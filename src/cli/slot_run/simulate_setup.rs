//! Inputs of a simulation: the scenario, the configuration of each of its machines, and the jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::options::SlotRunCli;
use super::slot_config::{self, COMMAND_LINE, HypotheticalMachine};
use crate::cli::common::{
    InputWatch, Problem, ProgramContext, find_param_line, read_jobs, read_scenario, scenario_problem,
};
use crate::config::Config;
use crate::os::RealWorld;
use crate::simulate::{
    ParameterOrigins, PlanError, Scenario, Simulation, SimulationKind, SimulationOptions, SimulationPlan,
    SimulationSource, Workload,
};
use crate::slot::StartdSettings;
use crate::world::World;

/// Inputs of a simulation that were read and checked.
pub(super) struct PreparedSimulation {
    pub scenario: Scenario,
    pub plan: SimulationPlan,
    /// File of the scenario.
    path: PathBuf,
    /// Name of the scenario for messages.
    name: String,
    /// Configurations of all machines by number: those at the start and those after events of the scenario.
    configs: Vec<Config>,
    /// Parameters of the command line, which override those of the scenario.
    command_line_params: Vec<String>,
    /// World with which the configurations are read.
    world: RealWorld,
    /// Jobs that have already been read, for the first simulation; `None` after their use.
    unused_workload: RefCell<Option<Workload>>,
    /// Context without messages, for reading the jobs again without repeating the warnings.
    silent: ProgramContext,
}

impl PreparedSimulation {
    /// Returns the places where parameters are set.
    pub(super) fn setting_locations(&self) -> ParameterOrigins<'_> {
        ParameterOrigins {
            configs: &self.configs,
            command_line_names: &self.command_line_params,
            command_line_origin: COMMAND_LINE,
            scenario: &self.scenario,
            file: &self.name,
            world: &self.world,
        }
    }
}

/// Prepared simulation and the options of its run.
pub(super) struct SimulationRun<'r> {
    pub ready: &'r PreparedSimulation,
    pub run_options: SimulationOptions,
}

impl SimulationSource for SimulationRun<'_> {
    type Error = anyhow::Error;

    fn begin(&self) -> anyhow::Result<Simulation<'_>> {
        start_simulation(self.ready, self.run_options)
    }

    fn origins(&self) -> ParameterOrigins<'_> {
        self.ready.setting_locations()
    }
}

/// Configurations of the machines that have been created so far.
#[derive(Default)]
struct ConfigurationSet {
    all: Vec<Config>,
    /// Index in `all` of each configuration, by the parameters of its machines.
    numbers: BTreeMap<BTreeMap<String, String>, usize>,
    /// Collected warnings without duplicates.
    seen_warnings: Vec<String>,
    failed: Option<anyhow::Error>,
}

impl ConfigurationSet {
    /// Returns the settings of a machine, and the number of its configuration.
    fn slots_of_machine(
        &mut self,
        cli: &SlotRunCli,
        machine: &HypotheticalMachine<'_>,
    ) -> Result<(StartdSettings, usize), String> {
        let loaded = match slot_config::load_hypothetical(cli, machine) {
            Ok(loaded) => loaded,
            Err(error) => {
                let text = format!("{error:#}");
                self.failed = Some(error);
                return Err(text);
            }
        };
        // Machines that differ only in random sizes share one configuration, because only the places of settings are
        // read from it.
        let mut shared_parameters = machine.knobs.clone();
        shared_parameters.remove("MEMORY");
        let number = *self.numbers.entry(shared_parameters).or_insert_with(|| {
            self.all.push(loaded.config);
            self.all.len() - 1
        });
        // Warnings about missing hooks are left out, because a simulation runs no hooks.
        let is_about_hook =
            |warning: &str| loaded.hook_warnings.iter().any(|hook_warning| hook_warning.text() == warning);
        let is_new = |warning: &String| !is_about_hook(warning) && !self.seen_warnings.contains(warning);
        let new: Vec<String> = loaded.warnings.iter().filter(|warning| is_new(warning)).cloned().collect();
        self.seen_warnings.extend(new);
        Ok((loaded.settings, number))
    }
}

/// Reads the scenario, and the configuration for each of its machines. `config`, if given, replaces the configuration of the
/// command line.
pub(super) fn prepare_simulation(
    cli: &SlotRunCli,
    session: &ProgramContext,
    path: &Path,
    seed: Option<u64>,
    config: Option<&Path>,
) -> anyhow::Result<PreparedSimulation> {
    let silent = session.with_kept_messages();
    // Warnings about the scenario and its jobs are printed only for the first configuration.
    let of_scenario = if config.is_some() { &silent } else { session };
    let watch = InputWatch::start(cli.events.timeout, session);
    let scenario = watch.wait_for(|| read_scenario(path, seed, SimulationKind::Slots, of_scenario))?;
    let world = RealWorld::new();
    let mut machine_configs = ConfigurationSet::default();
    let plan = SimulationPlan::new(&scenario, &world, &mut |knobs, disk| {
        let set_at = |name: &str, value: &str| find_param_line(&scenario, path, name, value);
        machine_configs
            .slots_of_machine(cli, &HypotheticalMachine { file: config, knobs, disk, set_at: &set_at })
    });
    let ConfigurationSet { all: configs, seen_warnings: config_warnings, failed, .. } = machine_configs;
    if let Some(error) = failed {
        return Err(error);
    }
    slot_config::warn_once(session, &config_warnings);
    let plan = plan.map_err(|error| plan_problem(error, &scenario, path))?;
    slot_config::warn_once(of_scenario, &plan.notes(&scenario));
    let mut ready = PreparedSimulation {
        scenario,
        plan,
        path: path.to_owned(),
        name: path.display().to_string(),
        configs,
        command_line_params: cli.config.param.iter().map(|(name, _)| name.clone()).collect(),
        world,
        unused_workload: RefCell::new(None),
        silent: silent.clone(),
    };
    let mut misspelled = ready.setting_locations().misspelled_parameters();
    misspelled.retain(|warning| !config_warnings.contains(warning));
    slot_config::warn_once(session, &misspelled);
    let jobs = read_workload(&ready, &ready.world, of_scenario)?;
    // Slots must publish the attributes that job ads refer to.
    ready.plan.add_job_references(jobs.all_job_ads());
    ready.unused_workload = RefCell::new(Some(jobs));
    Ok(ready)
}

/// Returns the error for invalid machines or events of a scenario, with its location.
fn plan_problem(error: PlanError, scenario: &Scenario, path: &Path) -> Problem {
    match &error {
        PlanError::Configuration(text) => Problem::unreadable(text.clone()),
        PlanError::Event { number, key, .. } => {
            scenario_problem(error.to_string(), scenario, path, "event", number.saturating_sub(1), key)
        }
        PlanError::NoSuchMachine { what, index, .. } => {
            scenario_problem(error.to_string(), scenario, path, what, *index, "machines")
        }
    }
}

/// Returns the jobs of a scenario.
fn read_workload(
    ready: &PreparedSimulation,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Workload> {
    if let Some(jobs) = ready.unused_workload.take() {
        return Ok(jobs);
    }
    let job_attributes = ready.plan.attributes_read_in_jobs();
    read_jobs(&ready.scenario, &ready.path, ready.plan.start, job_attributes.as_ref(), world, session)
}

/// Creates a simulation at the start of its scenario.
pub(super) fn start_simulation(
    ready: &PreparedSimulation,
    run_options: SimulationOptions,
) -> anyhow::Result<Simulation<'_>> {
    let world: Rc<dyn World> = Rc::new(RealWorld::new().with_seed(1));
    let workload = read_workload(ready, &*world, &ready.silent)?;
    Ok(Simulation::new(&ready.scenario, &ready.plan, workload, world, run_options))
}
