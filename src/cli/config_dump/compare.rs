//! `compare A B`: prints the effective values that differ between two configurations, and the daemons that they affect.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::loading::config_problem;
use crate::cli::common::{
    OutputOptions, Painter, ProgramContext, RowOptions, RowOrderOptions, Status, render_objects, stdout,
};
use crate::config::compare::{
    ConfigComparison, ConfigDifferences, DEFAULT_DAEMONS, ParameterDifference, UnreadableConfig,
};
use crate::text::plural::counted;
use crate::world::World;

/// Formats the differences as text.
fn render(differences: &ConfigDifferences, painter: Painter, files: [&Path; 2]) -> String {
    let mut text = String::new();
    let mut last = None;
    for ParameterDifference { name, daemons, before, after } in &differences.changed {
        if last.is_some_and(|last: &String| last != name) {
            text.push('\n');
        }
        last = Some(name);
        let daemon_list = if daemons.len() == DEFAULT_DAEMONS.len() {
            "all daemons".to_owned()
        } else {
            daemons.join(", ")
        };
        text += &format!("{}  ({daemon_list})\n", painter.bold(name));
        for (sign, effective) in [('-', before), ('+', after)] {
            let value = match &effective.value {
                Some(value) => value.replace('\n', "\n      | "),
                None if effective.origin.is_empty() => "not defined".to_owned(),
                None => "empty".to_owned(),
            };
            let origin =
                if effective.origin.is_empty() { String::new() } else { format!("  [{}]", effective.origin) };
            text += &format!("    {sign} {value}{origin}\n");
        }
    }
    let [before, after] = files.map(|file| file.display().to_string());
    let count = differences.changed.iter().map(|it| &it.name).collect::<BTreeSet<_>>().len();
    text += &match count {
        0 => format!("{before} and {after} have the same effect"),
        1 => "\n1 parameter differs".to_owned(),
        _ => format!("\n{} differ", counted(count, "parameter")),
    };
    text += match (count, differences.common_count, differences.unchanged_count) {
        (0, 0, 0) => "; neither sets anything",
        _ => "",
    };
    text += &match differences.common_count {
        0 => String::new(),
        1 => "; 1 is set to the same value in both".to_owned(),
        common => format!("; {common} are set to the same values in both"),
    };
    text += &match differences.unchanged_count {
        0 => "\n".to_owned(),
        1 => "; 1 more is set in only one file but has the same value\n".to_owned(),
        same => format!("; {same} more are set in only one file but have the same value\n"),
    };
    let relocated: Vec<&str> = differences.relocated.iter().map(String::as_str).collect();
    text += &match relocated.len() {
        0 => String::new(),
        1 => format!("{} differs only because the files are in different directories\n", relocated[0]),
        count => format!(
            "{count} differ only because the files are in different directories: {}\n",
            relocated.join(", ")
        ),
    };
    text
}

/// Output row for a parameter that differs.
#[derive(Serialize)]
struct DifferenceRow<'a> {
    name: &'a str,
    daemons: String,
    before: Option<&'a str>,
    before_origin: &'a str,
    after: Option<&'a str>,
    after_origin: &'a str,
}

impl<'a> DifferenceRow<'a> {
    /// Names of the members.
    const KEYS: [&'static str; 6] = ["name", "daemons", "before", "before_origin", "after", "after_origin"];

    fn new(difference: &'a ParameterDifference) -> Self {
        let ParameterDifference { name, daemons, before, after } = difference;
        DifferenceRow {
            name,
            daemons: daemons.join(", "),
            before: before.value.as_deref(),
            before_origin: &before.origin,
            after: after.value.as_deref(),
            after_origin: &after.origin,
        }
    }
}

/// Compares two configurations and prints the differences. The exit status is 1 if anything differs.
pub(super) fn run(
    request: &ConfigComparison<'_>,
    world: &dyn World,
    (output, rows, order): (OutputOptions, RowOptions, &RowOrderOptions),
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut differences = request.compare(world).map_err(|UnreadableConfig(file, error)| {
        anyhow::Error::from(config_problem(&error)).context(format!("'{}'", file.display()))
    })?;
    let differs = !differences.changed.is_empty();
    // Sorting and limiting are refused for text output, because its last line counts all differences.
    if rows.report_form().is_none() && !output.wants_json() {
        order.refuse("text output: use --csv, --tsv, --null or --json")?;
    }
    differences.changed =
        order.apply(differences.changed, |it| serde_json::to_string(&DifferenceRow::new(it)), session)?;
    if let Some(form) = rows.report_form() {
        let rows: Vec<DifferenceRow<'_>> = differences.changed.iter().map(DifferenceRow::new).collect();
        stdout().write_all(&render_objects(form, &rows, &DifferenceRow::KEYS)?)?;
        return Ok(if differs { Status::No } else { Status::Done });
    }
    let text = || render(&differences, Painter::stdout(output.color), request.files);
    let text = output.render_json(&differences.changed)?.unwrap_or_else(text);
    stdout().write_all(text.as_bytes())?;
    Ok(if differs { Status::No } else { Status::Done })
}
