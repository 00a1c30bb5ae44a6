//! Simulations for tests, created from the text of a configuration and of a scenario.

#[cfg(test)]
use std::collections::BTreeMap;
#[cfg(test)]
use std::rc::Rc;

#[cfg(test)]
use super::{
    JobFiles, ParameterOrigins, Scenario, Simulation, SimulationOptions, SimulationPlan, SimulationSource,
    Workload,
};
#[cfg(test)]
use htc_base::quirks::QuirkMode;
#[cfg(test)]
use htc_config::Config;
#[cfg(test)]
use htc_os::RealWorld;
#[cfg(test)]
use htc_slot::{ExitLimits, HostMeasurements, configure};
#[cfg(test)]
use htc_testing::config_of;

/// Simulation of one machine, defined by two texts.
#[cfg(test)]
pub(super) struct TextCourse {
    scenario: Scenario,
    plan: SimulationPlan,
    configs: Vec<Config>,
    world: RealWorld,
}

#[cfg(test)]
impl TextCourse {
    /// Creates the simulation. Parameters in the scenario are ignored; those in the configuration apply.
    pub(super) fn new(config: &str, scenario: &str) -> Self {
        let scenario = Scenario::parse(scenario).unwrap();
        let (config, world) = config_of("STARTD", config);
        let mut make = |_: &BTreeMap<String, String>, _: Option<i64>| {
            let measurements = HostMeasurements::default();
            let made = configure(&config, &world, &measurements, QuirkMode::Manual, ExitLimits::default());
            made.map(|made| (made.settings, 0)).map_err(|error| error.to_string())
        };
        let plan = SimulationPlan::new(&scenario, &world, &mut make).unwrap();
        TextCourse { scenario, plan, configs: vec![config], world }
    }
}

#[cfg(test)]
impl SimulationSource for TextCourse {
    type Error = String;

    fn begin(&self) -> Result<Simulation<'_>, String> {
        let files =
            JobFiles { open: &mut |_| Err(std::io::ErrorKind::NotFound.into()), on_skipped: &mut |_, _| () };
        let jobs = Workload::new(&self.scenario, self.plan.start, None, &self.world, files);
        let jobs = jobs.map_err(|error| error.to_string())?;
        let world = Rc::new(RealWorld::new().with_seed(1));
        Ok(Simulation::new(&self.scenario, &self.plan, jobs, world, SimulationOptions::default()))
    }

    fn origins(&self) -> ParameterOrigins<'_> {
        ParameterOrigins {
            configs: &self.configs,
            command_line_names: &[],
            command_line_origin: "above",
            scenario: &self.scenario,
            file: "s.toml",
            world: &self.world,
        }
    }
}

/// Configuration with two slots that refuse mallory's jobs and preempt other jobs after an hour. The last two lines
/// are START and PREEMPT.
#[cfg(test)]
pub(super) const CONFIG: &str = "NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000\nNUM_CPUS = 2\nMEMORY = 2000\n\
    NUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%\nSLOT_TYPE_1_PARTITIONABLE = False\nFetchWorkDelay = 60\n\
    START = TARGET.Owner =!= \"mallory\"\nPREEMPT = (time() - JobStart) > 3600\n";

/// Scenario with a job of ana that takes longer than an hour, and a job of mallory.
#[cfg(test)]
pub(super) const SCENARIO: &str = "start = 2026-11-02 08:00:00\nlength = '6h'\n[[jobs]]\nruns = '2h'\nowner = 'ana'\nleaves = '1m'\n\
    [[jobs]]\nowner = 'mallory'\n";
