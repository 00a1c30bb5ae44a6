//! Knobs that nobody reads and that are called nearly like one that is read: a policy with such a slip plays as if it were not there.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::ByteSlice;

use super::load::OF_COMMAND;
use crate::cli::common::line_of_knob;
use crate::config::Config;
use crate::config::lint::Subject;
use crate::config::lint::usage::{self, Use};
use crate::runner::simulate::Scenario;
use crate::world::World;

/// The slips in a configuration and in the knobs of a scenario, each with its place.
pub(super) fn slips(config: &Config, of: (&Scenario, &Path), world: &dyn World) -> Vec<String> {
    let subject = Subject::new(config, world);
    let view = config.view(world);
    let mut names: BTreeSet<String> = of.0.knob_names().map(str::to_owned).collect();
    names.extend(subject.written().map(|entry| entry.name.to_str_lossy().into_owned()));
    let told = |name: &String| {
        let Use::Misspelled(near) = usage::of(&subject, name.as_bytes()) else { return None };
        let setting = view.string(name.as_str()).ok().flatten();
        let value = setting.as_ref().map(|setting| setting.raw.to_string()).unwrap_or_default();
        let of_file =
            setting.map(|setting| setting.origin.to_string()).filter(|origin| !origin.contains("<Over>"));
        let of_scenario =
            || line_of_knob(of, name, &value).map(|(file, line)| format!("{file}, line {line}"));
        let place = of_file.or_else(of_scenario).unwrap_or_else(|| OF_COMMAND.to_owned());
        Some(format!("{place}: nobody reads {name}; did you mean {near}?"))
    };
    names.iter().filter_map(told).collect()
}
