//! Origins of a simulation's parameters: a configuration file, the scenario, or the command line, which overrides
//! both.

use std::collections::BTreeSet;

use bstr::ByteSlice;

use super::job_events::SlotIdentity;
use super::scenario::Scenario;
use htc_base::world::World;
use htc_config::Config;
use htc_lint::config::LintSubject;
use htc_lint::config::name_usage::{self, NameUsage};
use htc_slot::policy_parameter;

/// Configurations of a simulation, and the sources that override their files.
#[derive(Clone, Copy)]
pub struct ParameterOrigins<'a> {
    /// Configurations of all machines, at the start and after events, indexed by their numbers.
    pub configs: &'a [Config],
    /// Names of the parameters that are set on the command line and override the scenario.
    pub command_line_names: &'a [String],
    /// Origin to report for parameters of the command line.
    pub command_line_origin: &'a str,
    /// The scenario, whose parameters override all configuration files.
    pub scenario: &'a Scenario,
    /// Path of the scenario's file.
    pub file: &'a str,
    /// Clock and other values from outside of this process, for evaluating the configurations.
    pub world: &'a dyn World,
}

impl ParameterOrigins<'_> {
    /// Returns the place where a parameter was set in the configuration of a slot, or an empty string if it was not
    /// set.
    pub fn parameter_origin(&self, of: &SlotIdentity, knob: &str) -> String {
        let Some(config) = self.configs.get(of.config_number) else { return String::new() };
        let setter = |name: &str, value: &str| {
            let is_commanded = self.command_line_names.iter().any(|it| it.eq_ignore_ascii_case(name));
            let line = if is_commanded { None } else { self.place_in_scenario(name, value) };
            line.unwrap_or_else(|| self.command_line_origin.to_owned())
        };
        policy_parameter::parameter_origin(config, self.world, of.slot_type, knob, &setter)
    }

    /// Returns the places of parameters in the first configuration and in the scenario that nothing uses but whose
    /// names are similar to a used parameter. Because of such a typing error, a policy would have no effect in the
    /// simulation.
    pub fn misspelled_parameters(&self) -> Vec<String> {
        let Some(config) = self.configs.first() else { return Vec::new() };
        let subject = LintSubject::new(config, self.world);
        let view = config.view(self.world);
        let mut names: BTreeSet<String> = self.scenario.parameter_names().map(str::to_owned).collect();
        names.extend(subject.user_written_entries().map(|entry| entry.name.to_str_lossy().into_owned()));
        let describe = |name: &String| {
            let NameUsage::Misspelled(near) = name_usage::classify_usage(&subject, name.as_bytes()) else {
                return None;
            };
            let setting = view.string(name.as_str()).ok().flatten();
            let value = setting.as_ref().map(|setting| setting.raw.to_string()).unwrap_or_default();
            let of_file =
                setting.map(|setting| setting.origin.to_string()).filter(|origin| !origin.contains("<Over>"));
            let place = of_file.or_else(|| self.place_in_scenario(name, &value));
            let place = place.unwrap_or_else(|| self.command_line_origin.to_owned());
            Some(format!("{place}: nothing reads {name}; did you mean {near}?"))
        };
        names.iter().filter_map(describe).collect()
    }

    /// Returns the file and line of the scenario where a parameter has this value.
    fn place_in_scenario(&self, name: &str, value: &str) -> Option<String> {
        let line = self.scenario.line_of_parameter(name, value)?;
        Some(format!("{}, line {line}", self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deciding_expressions::SimulationSource;
    use crate::of_text::{CONFIG, SCENARIO, TextCourse};

    #[test]
    fn parameters_of_files_and_scenario_have_locations_and_suggestions() {
        let config = format!("{CONFIG}PREMPT = true\n");
        let scenario = format!("{SCENARIO}[knobs]\nSTRAT = 'true'\n");
        let course = TextCourse::new(&config, &scenario);
        let origins = course.origins();
        let at = |config| SlotIdentity { slot: "slot1".to_owned(), slot_type: 1, config_number: config };
        assert!(origins.parameter_origin(&at(0), "START").ends_with("condor_config, line 9"));
        assert_eq!(
            (origins.parameter_origin(&at(7), "START"), origins.parameter_origin(&at(0), "NOBODYS")),
            Default::default()
        );
        let slips = origins.misspelled_parameters();
        let of = |name: &str| slips.iter().find(|slip| slip.contains(name)).cloned().unwrap_or_default();
        assert!(
            of("reads PREMPT")
                .ends_with("condor_config, line 11: nothing reads PREMPT; did you mean PREEMPT?"),
            "{slips:?}"
        );
        assert_eq!(of("reads STRAT"), "s.toml, line 10: nothing reads STRAT; did you mean START?");
    }
}
