//! What a simulation is played with: the scenario, the configuration of each of its machines, the jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::load::{self, MadeUp, OF_COMMAND};
use super::options::Cli;
use crate::cli::common::{Problem, Session, in_scenario, line_of_knob, read_jobs, read_scenario};
use crate::config::Config;
use crate::os::RealWorld;
use crate::simulate::{Courses, Origins, Plan, PlanError, Play, Players, Scenario, Simulation, Workload};
use crate::slot::Settings;
use crate::world::World;

/// What a simulation is played with.
pub(super) struct Ready {
    pub scenario: Scenario,
    pub plan: Plan,
    /// The file of the scenario.
    path: PathBuf,
    /// Its name.
    name: String,
    /// The configurations of all machines, at the start and from an event on, by their numbers.
    configs: Vec<Config>,
    /// The knobs of the command line, which stand above those of the scenario.
    commanded: Vec<String>,
    /// What the configurations are looked at in.
    world: RealWorld,
    /// The jobs, read already, for whoever plays it first.
    jobs: RefCell<Option<Workload>>,
    /// For reading them again: what is odd about them was told.
    silent: Session,
}

impl Ready {
    /// Where its knobs were set.
    pub(super) fn origins(&self) -> Origins<'_> {
        Origins {
            configs: &self.configs,
            commanded: &self.commanded,
            commander: OF_COMMAND,
            scenario: &self.scenario,
            file: &self.name,
            world: &self.world,
        }
    }
}

/// What is played, and how.
pub(super) struct Course<'r> {
    pub ready: &'r Ready,
    pub play: Play,
}

impl Courses for Course<'_> {
    type Error = anyhow::Error;

    fn begin(&self) -> anyhow::Result<Simulation<'_>> {
        simulation(self.ready, self.play)
    }

    fn origins(&self) -> Origins<'_> {
        self.ready.origins()
    }
}

/// The configurations of machines while they are made up, one after another.
#[derive(Default)]
struct Configurations {
    all: Vec<Config>,
    /// Their numbers, by the knobs of the machines that have them.
    numbers: BTreeMap<BTreeMap<String, String>, usize>,
    /// What is odd about them.
    told: Vec<String>,
    failed: Option<anyhow::Error>,
}

impl Configurations {
    /// The slots of a machine, and the number of its configuration.
    fn of(&mut self, cli: &Cli, machine: &MadeUp<'_>) -> Result<(Settings, usize), String> {
        let loaded = match load::load_made_up(cli, machine) {
            Ok(loaded) => loaded,
            Err(error) => {
                let text = format!("{error:#}");
                self.failed = Some(error);
                return Err(text);
            }
        };
        // Of machines whose sizes are thrown one configuration is kept: where a knob was set is the same for all.
        let mut alike = machine.knobs.clone();
        alike.remove("MEMORY");
        let number = *self.numbers.entry(alike).or_insert_with(|| {
            self.all.push(loaded.config);
            self.all.len() - 1
        });
        // That hooks are missing does not matter: none is run.
        let is_new = |warning: &String| !warning.contains("_HOOK_") && !self.told.contains(warning);
        let new: Vec<String> = loaded.warnings.into_iter().filter(is_new).collect();
        self.told.extend(new);
        Ok((loaded.settings, number))
    }
}

/// Reads the scenario, and the configuration for each of its machines; `config` in place of the one that is given.
pub(super) fn prepare(
    (cli, session): (&Cli, &Session),
    (path, seed): (&Path, Option<u64>),
    config: Option<&Path>,
) -> anyhow::Result<Ready> {
    let silent = session.keeping();
    // What is odd about the scenario and its jobs is told once.
    let of_scenario = if config.is_some() { &silent } else { session };
    let scenario = read_scenario(path, seed, Players::Slots, of_scenario)?;
    let world = RealWorld::new();
    let mut found = Configurations::default();
    let plan = Plan::new(&scenario, &world, &mut |knobs, disk| {
        let set_at = |name: &str, value: &str| line_of_knob((&scenario, path), name, value);
        found.of(cli, &MadeUp { file: config, knobs, disk, set_at: &set_at })
    });
    let Configurations { all: configs, told, failed, .. } = found;
    if let Some(error) = failed {
        return Err(error);
    }
    load::warn(session, &told);
    let plan = plan.map_err(|error| unplanned(error, (&scenario, path)))?;
    load::warn(of_scenario, &plan.notes(&scenario));
    let mut ready = Ready {
        scenario,
        plan,
        path: path.to_owned(),
        name: path.display().to_string(),
        configs,
        commanded: cli.config.set_knob.iter().map(|(name, _)| name.clone()).collect(),
        world,
        jobs: RefCell::new(None),
        silent: silent.clone(),
    };
    let mut slips = ready.origins().slips();
    slips.retain(|slip| !told.contains(slip));
    load::warn(session, &slips);
    let jobs = workload(&ready, &ready.world, of_scenario)?;
    // What jobs' ads may ask of slots has to be there.
    ready.plan.know_jobs(jobs.bases());
    ready.jobs = RefCell::new(Some(jobs));
    Ok(ready)
}

/// Why machines and events of a scenario come to no plan, with the place.
fn unplanned(error: PlanError, of: (&Scenario, &Path)) -> Problem {
    match &error {
        PlanError::Configuration(text) => Problem::unreadable(text.clone()),
        PlanError::Event { number, key, .. } => {
            in_scenario(error.to_string(), of, ("event", number.saturating_sub(1), key))
        }
        PlanError::Nobody { what, index, .. } => {
            in_scenario(error.to_string(), of, (what, *index, "machines"))
        }
    }
}

/// The jobs of a scenario.
fn workload(ready: &Ready, world: &dyn World, session: &Session) -> anyhow::Result<Workload> {
    if let Some(jobs) = ready.jobs.take() {
        return Ok(jobs);
    }
    let asked = ready.plan.asked_of_jobs();
    read_jobs((&ready.scenario, &ready.path), ready.plan.start, (asked.as_ref(), world), session)
}

/// A scenario as it begins.
pub(super) fn simulation(ready: &Ready, play: Play) -> anyhow::Result<Simulation<'_>> {
    let world: Rc<dyn World> = Rc::new(RealWorld::new().seeded(1));
    let workload = workload(ready, &*world, &ready.silent)?;
    Ok(Simulation::new(&ready.scenario, &ready.plan, workload, world, play))
}
