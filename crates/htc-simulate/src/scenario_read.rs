//! The text of a scenario is read: every mistake is told with its place.

use std::ops::Range;

use super::scenario::{ParameterSettings, Scenario};
use super::scenario_check::ScenarioMistake;
use super::scenario_error::{ScenarioError, explain_toml_error, span_of_key, span_of_parameter};

impl Scenario {
    /// Reads one.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| explain_toml_error(text, &error))?;
        scenario.text = text.to_owned();
        scenario.check().map_err(|mistake| scenario.locate_mistake(mistake))?;
        Ok(scenario)
    }

    /// Refuses what means nothing in the time in which it is played; `offset` says how far local time is ahead.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn validate_times(&self, offset: &dyn Fn(i64) -> i64) -> Result<(), ScenarioError> {
        self.check_times(offset).map_err(|mistake| self.locate_mistake(mistake))
    }

    fn locate_mistake(
        &self,
        ScenarioMistake { message, table, index, key }: ScenarioMistake,
    ) -> ScenarioError {
        ScenarioError { message, hint: None, span: self.span_of_key(table, index, key) }
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a key stands in one of several tables, or the table where it does not.
    pub fn span_of_key(&self, table: &str, index: usize, key: &str) -> Range<usize> {
        span_of_key(&self.text, (table, index), key)
    }

    /// Where a knob of this name is set: to this value, if it is so anywhere.
    pub fn span_of_parameter(&self, name: &str, value: &str) -> Option<Range<usize>> {
        let machines = self.machines.iter().enumerate().map(|(at, it)| (("machine", at), Some(&it.knobs)));
        let events = self.events.iter().enumerate().map(|(at, it)| (("event", at), it.knobs.as_ref()));
        let tables: Vec<_> =
            std::iter::once((("", 0), Some(&self.knobs))).chain(machines).chain(events).collect();
        let find = |is_it: &dyn Fn(&str) -> bool| {
            let has = |knobs: &ParameterSettings| {
                knobs.0.iter().any(|(it, set)| it.eq_ignore_ascii_case(name) && is_it(set))
            };
            tables.iter().find(|(_, knobs)| knobs.is_some_and(has)).map(|(table, _)| *table)
        };
        let table = find(&|set| set.trim() == value.trim()).or_else(|| find(&|_| true))?;
        Some(span_of_parameter(&self.text, table, name))
    }

    /// The line, from 1, on which a knob is set, as in [`Scenario::span_of_parameter`].
    pub fn line_of_parameter(&self, name: &str, value: &str) -> Option<usize> {
        let above = self.text.get(..self.span_of_parameter(name, value)?.start)?;
        Some(1 + above.matches('\n').count())
    }
}
