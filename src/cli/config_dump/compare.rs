//! `compare A B`: prints the effective values that differ between two configurations, and the daemons
//! concerned.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use super::loading::config_problem;
use crate::cli::common::{OutputOptions, Painter, Status, stdout};
use crate::config::compare::{
    ConfigComparison, ConfigDifferences, DEFAULT_DAEMONS, ParameterDifference, UnreadableConfig,
};
use crate::world::World;

/// Formats the differences for people.
fn render(found: &ConfigDifferences, painter: Painter, files: [&Path; 2]) -> String {
    let mut text = String::new();
    let mut last = None;
    for ParameterDifference { name, daemons, before, after } in &found.changed {
        if last.is_some_and(|last: &String| last != name) {
            text.push('\n');
        }
        last = Some(name);
        let of = if daemons.len() == DEFAULT_DAEMONS.len() {
            "all daemons".to_owned()
        } else {
            daemons.join(", ")
        };
        text += &format!("{}  ({of})\n", painter.bold(name));
        for (sign, seen) in [('-', before), ('+', after)] {
            let value = match &seen.value {
                Some(value) => value.replace('\n', "\n      | "),
                None if seen.origin.is_empty() => "not defined".to_owned(),
                None => "empty".to_owned(),
            };
            let from = if seen.origin.is_empty() { String::new() } else { format!("  [{}]", seen.origin) };
            text += &format!("    {sign} {value}{from}\n");
        }
    }
    let [before, after] = files.map(|file| file.display().to_string());
    let count = found.changed.iter().map(|it| &it.name).collect::<BTreeSet<_>>().len();
    text += &match count {
        0 => format!("{before} and {after} come to the same; "),
        1 => "\n1 parameter differs; ".to_owned(),
        _ => format!("\n{count} parameters differ; "),
    };
    text += &match found.unchanged_count {
        0 if count == 0 => "neither sets anything\n".to_owned(),
        1 => "1 that one of them sets comes to the same\n".to_owned(),
        same => format!("{same} that one of them sets come to the same\n"),
    };
    text
}

/// Compares and prints; exit status 1 if anything differs.
pub(super) fn run(
    asked: &ConfigComparison<'_>,
    world: &dyn World,
    output: OutputOptions,
) -> anyhow::Result<Status> {
    let found = asked.compare(world).map_err(|UnreadableConfig(file, error)| {
        anyhow::Error::from(config_problem(&error)).context(format!("'{}'", file.display()))
    })?;
    let text = || render(&found, Painter::stdout(output.color), asked.files);
    let text = output.render_json(&found.changed)?.unwrap_or_else(text);
    stdout().write_all(text.as_bytes())?;
    Ok(if found.changed.is_empty() { Status::Done } else { Status::No })
}
