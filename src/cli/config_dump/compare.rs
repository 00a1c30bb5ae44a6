//! `compare A B`: which effective values two configurations give to which daemons, in print.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use super::loading::problem;
use crate::cli::common::{OutputOptions, Painter, Status, stdout};
use crate::config::compare::{Comparison, DAEMONS, Difference, Differences, Unreadable};
use crate::world::World;

/// For people.
fn text(found: &Differences, painter: Painter, files: [&Path; 2]) -> String {
    let mut text = String::new();
    let mut last = None;
    for Difference { name, daemons, before, after } in &found.all {
        if last.is_some_and(|last: &String| last != name) {
            text.push('\n');
        }
        last = Some(name);
        let of = if daemons.len() == DAEMONS.len() { "all daemons".to_owned() } else { daemons.join(", ") };
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
    let count = found.all.iter().map(|it| &it.name).collect::<BTreeSet<_>>().len();
    text += &match count {
        0 => format!("{before} and {after} come to the same; "),
        1 => "\n1 parameter differs; ".to_owned(),
        _ => format!("\n{count} parameters differ; "),
    };
    text += &match found.same {
        0 if count == 0 => "neither sets anything\n".to_owned(),
        1 => "1 that one of them sets comes to the same\n".to_owned(),
        same => format!("{same} that one of them sets come to the same\n"),
    };
    text
}

/// Compares and prints; exit status 1 if anything differs.
pub(super) fn run(
    asked: &Comparison<'_>,
    world: &dyn World,
    output: OutputOptions,
) -> anyhow::Result<Status> {
    let found = asked.differences(world).map_err(|Unreadable(file, error)| {
        anyhow::Error::from(problem(&error)).context(format!("'{}'", file.display()))
    })?;
    let text = || text(&found, Painter::stdout(output.color), asked.files);
    let text = output.rows(&found.all)?.unwrap_or_else(text);
    stdout().write_all(text.as_bytes())?;
    Ok(if found.all.is_empty() { Status::Done } else { Status::No })
}
