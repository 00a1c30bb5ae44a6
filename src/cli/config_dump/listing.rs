//! Output of parameters: as statements that can be read back, as JSON, and as explanations of values.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};

use super::loading::{config_problem, load};
use super::options::ConfigDumpCli;
use super::{json, why};
use crate::classad::regex::{Regex, RegexOptions};
use crate::cli::common::{Problem, ProgramContext, Status, stdout};
use crate::config::finding::Finding;
use crate::config::parameter_rows::{self, ParameterRow};
use crate::config::redact;
use crate::config::round_trip::DumpLine;
use crate::config::{Config, ConfigView, round_trip, statement_text};
use crate::lint::config::LintSubject;
use crate::lint::daemons as config_lint;
use crate::lint::daemons::LintScope;
use crate::lint::value_explanation::{self, ValueExplanation};
use crate::text::caseless;
use crate::world::World;

/// Prints parameters as statements, as JSON (`--json`) or as explanations (`--why`).
pub(super) fn print_listing(
    cli: &ConfigDumpCli,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let (config, warnings) = load(world, &cli.lookup_context(), &cli.load_options(), cli.show.redact)
        .map_err(|error| config_problem(&error))?;
    for warning in &warnings {
        session.warn(&warning.to_string());
    }
    let view = config.view(world);
    let redacting = cli.show.redact;
    if cli.show.why {
        if cli.names.is_empty() {
            return Err(Problem::usage("--why needs the name of a parameter").into());
        }
        return print_explanations(cli, &LintSubject::new(&config, world));
    }
    let rows = parameter_rows::rows_with_defaults(&config.set, world, false);
    let (chosen, missing) = choose(cli, &rows, &config, world)?;
    if cli.output.wants_json() {
        let all: Vec<_> =
            chosen.iter().map(|row| json::parameter_record(row, &config, &view, redacting)).collect();
        let text = cli.output.render_json(&all)?.unwrap_or_default();
        stdout().write_all(text.as_bytes())?;
    } else if let Some(form) = cli.rows.report_form() {
        let mut rows = Vec::new();
        form.push_header(["name", "value", "expanded", "source", "line"], &mut rows);
        for row in &chosen {
            form.push_row(json::parameter_record(row, &config, &view, redacting).into_cells(), &mut rows);
        }
        stdout().write_all(&rows)?;
    } else {
        // A line of a dump has about 48 bytes.
        let mut out = Vec::with_capacity(chosen.len() * 48);
        write_statements(cli, &chosen, &config, &view, &mut out);
        stdout().write_all(&out)?;
    }
    for name in &missing {
        session.write_stderr(&format!("Not defined: {name}\n"));
        let mut text = String::new();
        why::push_hints(&value_explanation::suggest_names(name.as_ref(), &config), &mut text);
        session.write_stderr(&text);
    }
    Ok(if missing.is_empty() { Status::Done } else { Status::Undefined })
}

/// Returns the rows of the requested parameters, and the requested names that are not defined.
fn choose<'r, 'c>(
    cli: &ConfigDumpCli,
    rows: &'r [ParameterRow<'c>],
    config: &Config,
    world: &dyn World,
) -> anyhow::Result<(Vec<&'r ParameterRow<'c>>, Vec<BString>)> {
    if cli.show.dump {
        let patterns = cli.names.iter().map(|pattern| {
            Regex::compile(pattern.as_bytes(), RegexOptions::CASELESS).map_err(|error| {
                Problem::usage(format!(
                    "'{}' is not a valid regular expression: {error}",
                    pattern.to_string_lossy()
                ))
            })
        });
        let patterns = patterns.collect::<Result<Vec<Regex>, _>>()?;
        let wanted = |name: &[u8]| {
            patterns.is_empty() || patterns.iter().any(|regex| regex.is_match(name).unwrap_or(false))
        };
        return Ok((rows.iter().filter(|row| wanted(&row.name)).collect(), Vec::new()));
    }
    if cli.names.is_empty() {
        return Ok((rows.iter().filter(|row| row.is_set()).collect(), Vec::new()));
    }
    let (mut chosen, mut missing) = (Vec::new(), Vec::new());
    for name in &cli.names {
        let name = name.as_bytes();
        let shown = config.set.find_for_display(name, &config.context, world);
        let shown = shown.map(|found| BString::from(found.display_name().into_owned()));
        // The name that applies to the subsystem takes precedence, even if the requested name comes first in the list.
        let named = |wanted: &[u8]| rows.iter().find(|row| caseless::eq(&row.name, wanted));
        match shown.and_then(|shown| named(&shown)).or_else(|| named(name)) {
            Some(row) => chosen.push(row),
            None => missing.push(BString::from(name)),
        }
    }
    Ok((chosen, missing))
}

/// Writes statements that define the same configuration when they are read back.
fn write_statements(
    cli: &ConfigDumpCli,
    rows: &[&ParameterRow<'_>],
    config: &Config,
    view: &ConfigView<'_>,
    out: &mut Vec<u8>,
) {
    let is_whole = cli.names.is_empty() && !cli.show.dump;
    if !is_whole {
        rows.iter().for_each(|row| write_statement(cli, row, config, view, out));
        return;
    }
    let whole = round_trip::build_dump(config, rows, &cli.load_options(), cli.show.redact, view.world());
    for line in &whole.lines {
        match line {
            DumpLine::Statement(row) | DumpLine::AlreadyIncluded(row)
                if !cli.show.default && round_trip::is_redundant_default(row) => {}
            DumpLine::Statement(row) => write_statement(cli, row, config, view, out),
            DumpLine::AlreadyIncluded(row) => {
                let shown = row.raw.to_str_lossy().replace('\n', "\n#   ");
                let text = format!(
                    "# not needed, because this file contains its settings: {} = {shown}\n",
                    row.name
                );
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
    if whole.disables_user_file {
        out.extend_from_slice(
            b"# the settings of the user's own file are included here\nUSER_CONFIG_FILE =\n",
        );
    }
}

/// Handles `--why`: prints explanations of values.
fn print_explanations(cli: &ConfigDumpCli, subject: &LintSubject<'_>) -> anyhow::Result<Status> {
    let redacting = cli.show.redact;
    let complete = subject.config.unread_sources.is_empty();
    let mut all = config_lint::lint(
        subject,
        LintScope { for_other_machine: false, is_isolated: false, is_complete: complete, is_partial: false },
    );
    all.retain(why::is_about_value);
    if redacting {
        let mut secrets = redact::KnownSecrets::default();
        secrets.learn_from_config(subject.config, subject.world);
        all.iter_mut().for_each(|finding| secrets.redact_finding(finding, None));
    }
    let explain = |name: &OsString| {
        let name = name.as_bytes().as_bstr();
        let findings = all.iter().filter(|finding| caseless::eq(&finding.name, name)).cloned();
        (ValueExplanation::explain(name, subject), findings.collect::<Vec<Finding>>())
    };
    let explanations: Vec<(ValueExplanation, Vec<Finding>)> = cli.names.iter().map(explain).collect();
    let record = |(explanation, findings): &(ValueExplanation, Vec<Finding>)| {
        why::explanation_record(explanation, findings, redacting)
    };
    let text = match cli.output.wants_json() {
        true => {
            cli.output.render_json(&explanations.iter().map(record).collect::<Vec<_>>())?.unwrap_or_default()
        }
        false => {
            let mut text = String::new();
            for (explanation, findings) in &explanations {
                why::render_explanation(explanation, findings, redacting, &mut text);
            }
            text
        }
    };
    stdout().write_all(text.as_bytes())?;
    Ok(if explanations.iter().all(|(explanation, _)| explanation.has_value()) {
        Status::Done
    } else {
        Status::Undefined
    })
}

/// Writes one parameter as a statement that defines the same value when it is read back.
fn write_statement(
    cli: &ConfigDumpCli,
    row: &ParameterRow<'_>,
    config: &Config,
    view: &crate::config::ConfigView<'_>,
    out: &mut Vec<u8>,
) {
    let name: &[u8] = &row.name;
    let default = || match row.kind {
        parameter_rows::RowKind::Set(entry) => entry.parameter.map(|parameter| parameter.default()),
        parameter_rows::RowKind::Detected => None,
        parameter_rows::RowKind::Default(parameter) => Some(parameter.default()),
    };
    let raw = Cow::Borrowed(&row.raw[..]);
    let value = match (cli.show.default, cli.show.expanded) {
        (true, _) => default().unwrap_or_default(),
        (false, true) => match view.expand_raw(name, &row.raw) {
            Ok(value) => Cow::Owned(value.into()),
            Err(error) => {
                out.extend_from_slice(format!("# {}: {error}\n", name.as_bstr()).as_bytes());
                raw
            }
        },
        (false, false) => raw,
    };
    let value = if cli.show.redact { redact::mask_value(name, &value) } else { Cow::Borrowed(&value[..]) };
    if !statement_text::push_statement(name, &value, out) {
        // A file cannot represent every setting, because environment variables may have any name and contain newlines.
        let shown = match value.first().is_some_and(|first| b" \t".contains(first)) && !value.contains(&b'\n')
        {
            true => format!(
                "# {} = \"{}\" (leading space is lost when read from a file)",
                name.as_bstr(),
                value.as_bstr()
            ),
            false => format!("# cannot be written in a file: {} = {}", name.as_bstr(), value.as_bstr()),
        };
        out.extend_from_slice(shown.replace('\n', "\n#   ").as_bytes());
        out.push(b'\n');
    }
    if cli.show.verbose {
        let place = match row.kind {
            parameter_rows::RowKind::Set(entry) => config.set.describe_place(&entry.current.place),
            parameter_rows::RowKind::Detected => "<Detected>".into(),
            parameter_rows::RowKind::Default(_) => "<Default>".into(),
        };
        out.extend_from_slice(&[b"# at: ", &place[..], b"\n"].concat());
        if let Some(default) = default().filter(|default| !default.is_empty()) {
            out.extend_from_slice(b"# default: ");
            out.extend_from_slice(default.to_str_lossy().replace('\n', "\n#   ").as_bytes());
            out.push(b'\n');
        }
    }
}
