//! The text of a scenario is read: every mistake is told with its place.

use std::ops::Range;

use super::check::Mistake;
use super::scenario::{Knobs, Scenario};
use super::scenario_error::{ScenarioError, place_of, place_of_knob, told};

impl Scenario {
    /// Reads one.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn read(text: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario = toml::from_str(text).map_err(|error| told(text, &error))?;
        scenario.text = text.to_owned();
        scenario.check().map_err(|mistake| scenario.misplaced(mistake))?;
        Ok(scenario)
    }

    /// Refuses what means nothing in the time in which it is played; `offset` says how far local time is ahead.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn refuse_other_times(&self, offset: &dyn Fn(i64) -> i64) -> Result<(), ScenarioError> {
        self.check_times(offset).map_err(|mistake| self.misplaced(mistake))
    }

    fn misplaced(&self, Mistake { message, table, index, key }: Mistake) -> ScenarioError {
        ScenarioError { message, hint: None, span: self.place(table, index, key) }
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a key stands in one of several tables, or the table where it does not.
    pub fn place(&self, table: &str, index: usize, key: &str) -> Range<usize> {
        place_of(&self.text, (table, index), key)
    }

    /// Where a knob of this name is set: to this value, if it is so anywhere.
    pub fn place_of_knob(&self, name: &str, value: &str) -> Option<Range<usize>> {
        let machines = self.machines.iter().enumerate().map(|(at, it)| (("machine", at), Some(&it.knobs)));
        let events = self.events.iter().enumerate().map(|(at, it)| (("event", at), it.knobs.as_ref()));
        let tables: Vec<_> =
            std::iter::once((("", 0), Some(&self.knobs))).chain(machines).chain(events).collect();
        let find = |is_it: &dyn Fn(&str) -> bool| {
            let has =
                |knobs: &Knobs| knobs.0.iter().any(|(it, set)| it.eq_ignore_ascii_case(name) && is_it(set));
            tables.iter().find(|(_, knobs)| knobs.is_some_and(has)).map(|(table, _)| *table)
        };
        let table = find(&|set| set.trim() == value.trim()).or_else(|| find(&|_| true))?;
        Some(place_of_knob(&self.text, table, name))
    }

    /// The line, from 1, on which a knob is set, as in [`Scenario::place_of_knob`].
    pub fn line_of_knob(&self, name: &str, value: &str) -> Option<usize> {
        let above = self.text.get(..self.place_of_knob(name, value)?.start)?;
        Some(1 + above.matches('\n').count())
    }
}
