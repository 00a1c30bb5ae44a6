//! Parsing of scenarios, with the location of every mistake.

use std::ops::Range;

use super::scenario::{ParameterSettings, Scenario};
use super::scenario_check::ScenarioMistake;
use htc_runner::deserialize_fault::read_toml;

use super::scenario_error::{ScenarioError, explain_toml_error, span_of_key, span_of_parameter};

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    /// Returns the first mistake with its location.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario =
            read_toml(text).map_err(|(fault, error)| explain_toml_error(text, fault, &error))?;
        scenario.text = text.to_owned();
        scenario.check().map_err(|mistake| scenario.locate_mistake(mistake))?;
        Ok(scenario)
    }

    /// Checks that all times are within the simulated time. `offset` returns the offset of local time.
    ///
    /// # Errors
    /// Returns the first mistake with its location.
    pub fn validate_times(&self, offset: &dyn Fn(i64) -> i64) -> Result<(), ScenarioError> {
        self.check_times(offset).map_err(|mistake| self.locate_mistake(mistake))
    }

    fn locate_mistake(
        &self,
        ScenarioMistake { message, table, index, key }: ScenarioMistake,
    ) -> ScenarioError {
        ScenarioError { message, hint: None, span: self.span_of_key(table, index, key) }
    }

    /// Returns the text from which the scenario was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range of a key in the table with the given name and index. If the table does not have the key,
    /// returns the range of the table.
    pub fn span_of_key(&self, table: &str, index: usize, key: &str) -> Range<usize> {
        span_of_key(&self.text, table, index, key)
    }

    /// Returns the range of the key that sets a parameter to the given value or, if no key does, to any value.
    pub fn span_of_parameter(&self, name: &str, value: &str) -> Option<Range<usize>> {
        let machines = self.machines.iter().enumerate().map(|(at, it)| ("machine", at, Some(&it.knobs)));
        let events = self.events.iter().enumerate().map(|(at, it)| ("event", at, it.knobs.as_ref()));
        let tables: Vec<_> =
            std::iter::once(("", 0, Some(&self.knobs))).chain(machines).chain(events).collect();
        let find = |is_it: &dyn Fn(&str) -> bool| {
            let has = |knobs: &ParameterSettings| {
                knobs.0.iter().any(|(it, set)| it.eq_ignore_ascii_case(name) && is_it(set))
            };
            tables.iter().find(|(.., knobs)| knobs.is_some_and(has)).map(|(table, index, _)| (*table, *index))
        };
        let (table, index) = find(&|set| set.trim() == value.trim()).or_else(|| find(&|_| true))?;
        Some(span_of_parameter(&self.text, table, index, name))
    }

    /// Returns the line number, from 1, of the key that sets a parameter. The key is the one that
    /// [`Scenario::span_of_parameter`] finds.
    pub fn line_of_parameter(&self, name: &str, value: &str) -> Option<usize> {
        let above = self.text.get(..self.span_of_parameter(name, value)?.start)?;
        Some(1 + above.matches('\n').count())
    }
}
