//! Parameters as statements that read back, as JSON, and the stories of their values.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};

use super::loading::{load, problem};
use super::options::Cli;
use super::{json, why};
use crate::classad::regex::{Options as RegexOptions, Regex};
use crate::cli::common::{Problem, Session, Status, stdout};
use crate::config::finding::Finding;
use crate::config::reads_back::Line;
use crate::config::redact;
use crate::config::rows::{self, Row};
use crate::config::{Config, View, print, reads_back};
use crate::lint::config::Subject;
use crate::lint::daemons as config_lint;
use crate::lint::daemons::Scope;
use crate::lint::story::{self, Story};
use crate::text::caseless;
use crate::world::World;

/// `--why`, `--json`, and whole configurations as statements.
pub(super) fn listing(cli: &Cli, world: &dyn World, session: &Session) -> anyhow::Result<Status> {
    let (config, warnings) =
        load(world, &cli.who(), &cli.load_options(), cli.show.redact).map_err(|error| problem(&error))?;
    for warning in &warnings {
        session.warn(&warning.to_string());
    }
    let view = config.view(world);
    let redacting = cli.show.redact;
    if cli.show.why {
        if cli.names.is_empty() {
            return Err(Problem::usage("--why needs the name of a parameter").into());
        }
        return stories(cli, &Subject::new(&config, world));
    }
    let rows = rows::merged(&config.set, world, false);
    let (chosen, missing) = choose(cli, &rows, &config, world)?;
    if cli.output.wants_json() {
        let all: Vec<_> = chosen.iter().map(|row| json::parameter(row, &config, &view, redacting)).collect();
        let text = cli.output.rows(&all)?.unwrap_or_default();
        stdout().write_all(text.as_bytes())?;
    } else {
        // A line of a dump has some forty bytes.
        let mut out = Vec::with_capacity(chosen.len() * 48);
        statements(cli, &chosen, (&config, &view), &mut out);
        stdout().write_all(&out)?;
    }
    for name in &missing {
        session.tell(&format!("Not defined: {name}\n"));
        let mut text = String::new();
        why::hints(&story::hints(name.as_ref(), &config), &mut text);
        session.tell(&text);
    }
    Ok(if missing.is_empty() { Status::Done } else { Status::Undefined })
}

/// The rows that are asked for, and names that are asked for and not defined.
fn choose<'r, 'c>(
    cli: &Cli,
    rows: &'r [Row<'c>],
    config: &Config,
    world: &dyn World,
) -> anyhow::Result<(Vec<&'r Row<'c>>, Vec<BString>)> {
    if cli.show.dump {
        let patterns = cli.names.iter().map(|pattern| {
            Regex::compile(pattern.as_bytes(), RegexOptions::CASELESS).map_err(|error| {
                Problem::usage(format!("'{}' is no regular expression: {error}", pattern.to_string_lossy()))
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
        let shown = config.set.find_shown(name, &config.who, world);
        let shown = shown.map(|found| BString::from(found.shown_name().into_owned()));
        // What counts for the subsystem comes first, wherever it stands in the list.
        let named = |wanted: &[u8]| rows.iter().find(|row| caseless::eq(&row.name, wanted));
        match shown.and_then(|shown| named(&shown)).or_else(|| named(name)) {
            Some(row) => chosen.push(row),
            None => missing.push(BString::from(name)),
        }
    }
    Ok((chosen, missing))
}

/// Statements that read back as this configuration.
fn statements(cli: &Cli, rows: &[&Row<'_>], (config, view): (&Config, &View<'_>), out: &mut Vec<u8>) {
    let is_whole = cli.names.is_empty() && !cli.show.dump;
    if !is_whole {
        rows.iter().for_each(|row| statement(cli, row, config, view, out));
        return;
    }
    let whole = reads_back::whole(config, rows, &cli.load_options(), cli.show.redact, view.world());
    for line in &whole.lines {
        match line {
            Line::Statement(row) | Line::BroughtIn(row)
                if !cli.show.default && reads_back::is_default(row) => {}
            Line::Statement(row) => statement(cli, row, config, view, out),
            Line::BroughtIn(row) => {
                let shown = row.raw.to_str_lossy().replace('\n', "\n#   ");
                let text = format!("# what it brings in is in here: {} = {shown}\n", row.name);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
    if whole.without_user_file {
        out.extend_from_slice(b"# what the user's own file brings in is in here\nUSER_CONFIG_FILE =\n");
    }
}

/// `--why`.
fn stories(cli: &Cli, subject: &Subject<'_>) -> anyhow::Result<Status> {
    let redacting = cli.show.redact;
    let complete = subject.config.not_read.is_empty();
    let mut all = config_lint::lint(subject, Scope { elsewhere: false, complete, part: false });
    all.retain(why::is_of_value);
    if redacting {
        let mut secrets = redact::Secrets::default();
        secrets.learn(subject.config, subject.world);
        all.iter_mut().for_each(|finding| secrets.clean(finding, None));
    }
    let told = |name: &OsString| {
        let name = name.as_bytes().as_bstr();
        let findings = all.iter().filter(|finding| caseless::eq(&finding.name, name)).cloned();
        (Story::of(name, subject), findings.collect::<Vec<Finding>>())
    };
    let stories: Vec<(Story, Vec<Finding>)> = cli.names.iter().map(told).collect();
    let record = |(story, findings): &(Story, Vec<Finding>)| why::record(story, findings, redacting);
    let text = match cli.output.wants_json() {
        true => cli.output.rows(&stories.iter().map(record).collect::<Vec<_>>())?.unwrap_or_default(),
        false => {
            let mut text = String::new();
            for (story, findings) in &stories {
                why::tell(story, findings, redacting, &mut text);
            }
            text
        }
    };
    stdout().write_all(text.as_bytes())?;
    Ok(if stories.iter().all(|(story, _)| story.has_value()) { Status::Done } else { Status::Undefined })
}

/// One parameter as a statement that reads back.
fn statement(cli: &Cli, row: &Row<'_>, config: &Config, view: &crate::config::View<'_>, out: &mut Vec<u8>) {
    let name: &[u8] = &row.name;
    let default = || match row.kind {
        rows::Kind::Set(entry) => entry.parameter.map(|parameter| parameter.default()),
        rows::Kind::Detected => None,
        rows::Kind::Default(parameter) => Some(parameter.default()),
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
    let value = if cli.show.redact { redact::masked(name, &value) } else { Cow::Borrowed(&value[..]) };
    if !print::push_statement(name, &value, out) {
        // No file can say this: environment variables may have any name and hold line ends.
        let shown = format!("# cannot be written in a file: {} = {}", name.as_bstr(), value.as_bstr());
        out.extend_from_slice(shown.replace('\n', "\n#   ").as_bytes());
        out.push(b'\n');
    }
    if cli.show.verbose {
        let place = match row.kind {
            rows::Kind::Set(entry) => config.set.describe(&entry.current.place),
            rows::Kind::Detected => "<Detected>".into(),
            rows::Kind::Default(_) => "<Default>".into(),
        };
        out.extend_from_slice(&[b"# at: ", &place[..], b"\n"].concat());
        if let Some(default) = default().filter(|default| !default.is_empty()) {
            out.extend_from_slice(b"# default: ");
            out.extend_from_slice(default.to_str_lossy().replace('\n', "\n#   ").as_bytes());
            out.push(b'\n');
        }
    }
}
