//! The program's own command line.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use serde::Serialize;
use std::io::Write;

use super::answer::{Answer, Output};
use super::entries::{self, Row};
use super::request::{Asked, Filter, Request};
use super::{hooks, json, lint, reads_back, why};
use crate::classad::regex::{Options as RegexOptions, Regex};
use crate::cli::common::{AdFormat, ConfigOptions, OutputOptions, Painter, Problem, Session, Status};
use crate::config::lint::{Finding, Subject};
use crate::config::load::Warning;
use crate::config::redact;
use crate::config::story::{self, Story};
use crate::config::{CommandPolicy, Config, ConfigError, LoadOptions, SourceId, Who, print};
use crate::os::RealWorld;
use crate::runner::config_lint::{self, Scope};
use crate::text::caret::LineCaret;
use crate::text::caseless;
use crate::world::World;

/// The command line.
#[derive(Parser, Debug)]
#[command(args_conflicts_with_subcommands = false, subcommand_precedence_over_arg = true)]
pub(super) struct Cli {
    /// Parameters to print; with --dump regular expressions, with --macro texts
    #[arg(value_name = "NAME")]
    names: Vec<OsString>,
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    show: ShowOptions,
    #[command(flatten)]
    who: WhoOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Find mistakes that HTCondor passes over in silence (exit status 1 if there are any, 4 if there is none but not
    /// all could be looked at)
    Lint {
        /// Files that are the configuration, in order, with the files and directories that they name; --exec runs the
        /// commands that they name, too
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Look at the ad of a fetched job in place of the configuration; '-' is standard input
        #[arg(long, value_name = "FILE")]
        job_ad: Option<PathBuf>,
        /// Say instead what is set that these programs do not do, and what a pool would do with it (exit status 1 if
        /// there is anything)
        #[arg(long)]
        here: bool,
    },
    /// Print the statements of a template, or the templates of a category
    Use {
        /// CATEGORY, or CATEGORY:NAME with arguments in parentheses
        #[arg(value_name = "TEMPLATE", required = true)]
        templates: Vec<OsString>,
    },
}

/// What is shown and how.
#[derive(Args, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct ShowOptions {
    /// Print all parameters, defaults too, or those whose names match
    #[arg(long, help_heading = "What to show")]
    dump: bool,
    /// Print values before expansion
    #[arg(long, help_heading = "What to show")]
    raw: bool,
    /// Print expanded values, also with --dump and use
    #[arg(long, global = true, hide_short_help = true, help_heading = "What to show")]
    expanded: bool,
    /// Print compiled-in defaults
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    default: bool,
    /// Print location, raw value and default, too
    #[arg(long, short = 'v', global = true, help_heading = "What to show")]
    verbose: bool,
    /// Tell the story of each value: definitions, conditions, steps of its expansion
    #[arg(long, help_heading = "What to show")]
    why: bool,
    /// List the hooks of every slot, starter, shadow and router
    #[arg(long, help_heading = "What to show")]
    hooks: bool,
    /// Print only what files changed, by file
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    summary: bool,
    /// Print the files that were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    sources: bool,
    /// Print each change of the values while files were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    trace: bool,
    /// Expand the words as texts
    #[arg(long = "macro", hide_short_help = true, help_heading = "What to show")]
    expand: bool,
    /// Say whether CONDITION holds in an 'if' (exit status 1 if not)
    #[arg(long, value_name = "CONDITION", hide_short_help = true, help_heading = "What to show")]
    check_if: Option<OsString>,
    /// Mask passwords and other secrets
    #[arg(long, global = true, help_heading = "Output")]
    redact: bool,
}

/// For whom the configuration is read.
#[derive(Args, Debug)]
struct WhoOptions {
    /// Read as this daemon
    #[arg(long, value_name = "NAME", default_value = "TOOL", global = true, help_heading = "Configuration")]
    subsystem: OsString,
    /// Read as the daemon of this local name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        global = true,
        help_heading = "Configuration"
    )]
    local_name: OsString,
    /// Run the commands that the configuration names
    #[arg(long, global = true, hide_short_help = true, help_heading = "Configuration")]
    exec: bool,
}

impl Cli {
    fn load_options(&self) -> LoadOptions {
        let commands = if self.who.exec { CommandPolicy::BOUNDED } else { CommandPolicy::Refused };
        LoadOptions { keep_texts: true, ..self.config.load_options(commands) }
    }

    fn who(&self) -> Who {
        Who {
            subsystem: self.who.subsystem.as_bytes().into(),
            local_name: self.who.local_name.as_bytes().into(),
        }
    }

    /// The part of the request that the tool knows as well.
    fn request(&self) -> Request {
        let options = self.load_options();
        let asked = match &self.verb {
            Some(Verb::Use { templates }) => {
                templates.iter().map(|text| Asked::Template(text.as_bytes().into())).collect()
            }
            Some(Verb::Lint { .. }) => Vec::new(),
            None => {
                let text = |name: &OsString| match self.show.redact && self.show.expand {
                    true => redact::masked(b"", name.as_bytes()).into_owned().into(),
                    false => BString::from(name.as_bytes()),
                };
                self.names.iter().map(|name| Asked::Name(text(name))).collect()
            }
        };
        let asked_none = asked.is_empty();
        Request {
            asked,
            own_root: true,
            // Conditions are asked of the values as they are; the answer tells none.
            redact: self.show.redact && self.show.check_if.is_none(),
            subsystem: self.who.subsystem.as_bytes().into(),
            local_name: self.who.local_name.as_bytes().into(),
            root: options.file.map(|file: PathBuf| file.into_os_string().into_vec().into()),
            environment: options.environment,
            overlay: options.overlay,
            commands: options.commands,
            raw: self.show.raw,
            default: self.show.default,
            verbose: self.show.verbose,
            dump: self.show.dump,
            expanded: self.show.expanded,
            trace: self.show.trace,
            trace_all: self.show.trace && asked_none,
            expand_text: self.show.expand.then_some(false),
            write: self.show.summary.then(|| ("-".into(), Filter::SUMMARY)),
            sources: self.show.sources,
            check_if: self.show.check_if.as_ref().map(|text| text.as_bytes().into()),
            ..Request::default()
        }
    }
}

/// A configuration that cannot be read, as this program tells it.
fn problem(error: &ConfigError) -> Problem {
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let mut problem = match &error.place {
        Some(place) => {
            let name = place.name.to_str_lossy();
            let caret =
                LineCaret { source: &name, line: place.line, text: &place.text, span: place.span, cut: 0 };
            Problem::unreadable(said.join("\n")).at_line(&caret)
        }
        None => Problem::unreadable(said.join("\n")),
    };
    if let Some(place) = &error.place {
        for (file, line) in &place.included_from {
            problem = problem.hint(format!("included from {file}, line {line}"));
        }
    }
    match &error.hint {
        Some(hint) => problem.hint(hint.as_str()),
        None => problem,
    }
}

/// Runs the program.
pub(super) fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    let world = RealWorld::new();
    let request = cli.request();
    if let Some(Verb::Lint { files, job_ad, here }) = &cli.verb {
        let mut options = cli.load_options();
        if !cli.who.exec {
            options.commands = CommandPolicy::Skipped;
        }
        let request = lint::Request {
            files: files.clone(),
            job_ad: job_ad.clone(),
            here: *here,
            options,
            who: cli.who(),
            json: cli.output.format().is_some(),
            painter: Painter::stdout(cli.output.color),
            redact: cli.show.redact,
        };
        return lint::run(&request, &world, session);
    }
    refuse_records(&cli)?;
    if let Some(Verb::Use { templates }) = &cli.verb {
        return templates_of(templates, &request, session);
    }
    if cli.show.hooks {
        return hooks_of(&cli, &world);
    }
    let is_plain =
        !(request.trace || request.expand_text.is_some() || request.write.is_some() || request.sources)
            && request.check_if.is_none();
    let lists = cli.show.dump || cli.names.is_empty();
    if cli.show.why || is_plain && (lists || cli.output.format().is_some()) {
        return listing(&cli, &world, session);
    }
    values(&request, &world, session, cli.show.redact)
}

/// Refuses `--json` and `--jsonl` where what is asked for is text by its nature.
fn refuse_records(cli: &Cli) -> anyhow::Result<()> {
    if !(cli.output.json || cli.output.jsonl) {
        return Ok(());
    }
    let option = if cli.output.json { "--json" } else { "--jsonl" };
    let asked = [
        (matches!(cli.verb, Some(Verb::Use { .. })), "use"),
        (cli.show.summary, "--summary"),
        (cli.show.sources, "--sources"),
        (cli.show.trace, "--trace"),
        (cli.show.expand, "--macro"),
        (cli.show.check_if.is_some(), "--check-if"),
    ];
    match asked.into_iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => {
            Err(Problem::usage(format!("{option} cannot be had with {what}, which prints text")).into())
        }
        None => Ok(()),
    }
}

fn templates_of(templates: &[OsString], request: &Request, session: &Session) -> anyhow::Result<Status> {
    let mut out = Vec::new();
    let mut status = Status::Done;
    for template in templates {
        let mut warnings = Vec::new();
        let text = super::use_template::print(
            template.as_bytes(),
            request.expanded,
            request.verbose,
            &mut |warning| {
                warnings.push(warning);
            },
        );
        for warning in warnings {
            session.warn(&warning);
        }
        if text.starts_with(b"Not defined: ") {
            session.tell(&text.to_str_lossy());
            status = Status::Undefined;
        } else {
            out.extend_from_slice(&text);
        }
    }
    std::io::stdout().write_all(&out)?;
    Ok(status)
}

fn hooks_of(cli: &Cli, world: &dyn World) -> anyhow::Result<Status> {
    let local_name = BString::from(cli.who.local_name.as_bytes());
    let mut secrets = redact::Secrets::default();
    let mut learn = |config: &Config| {
        if cli.show.redact {
            secrets.learn(config, world);
        }
    };
    let report = hooks::report(world, &cli.load_options(), local_name.as_ref(), &mut learn)
        .map_err(|error| problem(&error))?;
    let any_refused = report.any_refused();
    let mut out = match cli.output.format().filter(|format| *format != AdFormat::Long) {
        Some(format) => {
            let mut out = Vec::new();
            records_as(format, &report.records(), &mut out)?;
            out
        }
        None => report.text(Painter::stdout(cli.output.color)).into_bytes(),
    };
    if cli.show.redact {
        out = secrets.sweep(&out).into();
    }
    std::io::stdout().write_all(&out)?;
    Ok(if any_refused { Status::No } else { Status::Done })
}

/// Values by the tool's own rules, with hints about what is not defined.
fn values(
    request: &Request,
    world: &dyn World,
    session: &Session,
    redacting: bool,
) -> anyhow::Result<Status> {
    let mut output = Output::default();
    let mut answer = match Answer::load(request, world, &mut output) {
        Ok(answer) => answer,
        Err(_) => {
            let who = Who { subsystem: request.subsystem.clone(), local_name: request.local_name.clone() };
            let options = LoadOptions { keep_texts: true, ..super::answer::load_options(request) };
            return match load(world, &who, &options, redacting) {
                Err(error) => Err(problem(&error)).context("the configuration cannot be read"),
                Ok(_) => anyhow::bail!("the configuration changes while it is read"),
            };
        }
    };
    if answer.before_daemons(&mut output).is_some() {
        let holds = output.out.ends_with(b"true\n");
        finish(&output, session)?;
        return Ok(if holds { Status::Done } else { Status::No });
    }
    let undefined = answer.names(&mut output) != 0;
    if redacting {
        output.out = redact::masked(b"", &output.out).into_owned();
    }
    if undefined {
        for asked in &request.asked {
            if let Asked::Name(name) = asked {
                answer.explain_undefined(name, &mut output);
            }
        }
    }
    finish(&output, session)?;
    Ok(if undefined { Status::Undefined } else { Status::Done })
}

fn finish(output: &Output, session: &Session) -> anyhow::Result<()> {
    std::io::stdout().write_all(&output.out)?;
    session.tell(&output.err.to_str_lossy());
    Ok(())
}

/// Reads a configuration, and masks its secrets where that is wanted.
fn load(
    world: &dyn World,
    who: &Who,
    options: &LoadOptions,
    redacting: bool,
) -> Result<(Config, Vec<Warning>), ConfigError> {
    let mut attempt = Config::attempt(world, who, options);
    if redacting {
        redact::attempt(&mut attempt, world);
    }
    match attempt.error {
        Some(error) => Err(error),
        None => Ok((attempt.config, attempt.warnings)),
    }
}

/// `--why`, `--json`, and whole configurations as statements.
fn listing(cli: &Cli, world: &dyn World, session: &Session) -> anyhow::Result<Status> {
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
    let rows = entries::merged(&config.set, world, false);
    let mut missing = Vec::new();
    let chosen: Vec<&Row<'_>> = if cli.show.dump {
        let mut patterns = Vec::new();
        for pattern in &cli.names {
            let regex = Regex::compile(pattern.as_bytes(), RegexOptions::CASELESS).map_err(|error| {
                Problem::usage(format!("'{}' is no regular expression: {error}", pattern.to_string_lossy()))
            })?;
            patterns.push(regex);
        }
        let wanted = |name: &[u8]| {
            patterns.is_empty() || patterns.iter().any(|regex| regex.is_match(name).unwrap_or(false))
        };
        rows.iter().filter(|row| wanted(&row.name)).collect()
    } else if cli.names.is_empty() {
        rows.iter().filter(|row| is_set(row)).collect()
    } else {
        let mut chosen = Vec::new();
        for name in &cli.names {
            let name = name.as_bytes();
            let shown = config.set.find_shown(name, &config.who, world);
            let shown = shown.map(|found| BString::from(found.shown_name().into_owned()));
            let row = rows.iter().find(|row| {
                let wanted = shown.as_ref().map_or(name, |shown| &shown[..]);
                crate::text::caseless::eq(&row.name, wanted) || crate::text::caseless::eq(&row.name, name)
            });
            match row {
                Some(row) => chosen.push(row),
                None => missing.push(BString::from(name)),
            }
        }
        chosen
    };
    let mut out = Vec::new();
    match cli.output.format() {
        Some(format @ (AdFormat::Json | AdFormat::Jsonl)) => {
            let all: Vec<_> =
                chosen.iter().map(|row| json::parameter(row, &config, &view, redacting)).collect();
            records_as(format, &all, &mut out)?;
        }
        Some(AdFormat::Long) | None => {
            let is_whole = cli.names.is_empty() && !cli.show.dump;
            let once =
                is_whole && !reads_back::is_same(&config, &chosen, &cli.load_options(), redacting, world);
            for row in &chosen {
                if is_whole && !cli.show.default && reads_back::is_default(row) {
                    continue;
                }
                if once && reads_back::names_sources(row, &config.who) {
                    let shown = row.raw.to_str_lossy().replace('\n', "\n#   ");
                    let text = format!("# what it brings in is in here: {} = {shown}\n", row.name);
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                statement(cli, row, &config, &view, &mut out);
            }
            if once && reads_back::has_user_file(&config, world) {
                out.extend_from_slice(
                    b"# what the user's own file brings in is in here\nUSER_CONFIG_FILE =\n",
                );
            }
        }
    }
    std::io::stdout().write_all(&out)?;
    for name in &missing {
        session.tell(&format!("Not defined: {name}\n"));
        let mut text = String::new();
        why::hints(&story::hints(name.as_ref(), &config), &mut text);
        session.tell(&text);
    }
    Ok(if missing.is_empty() { Status::Done } else { Status::Undefined })
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
    let mut out = Vec::new();
    match cli.output.format().filter(|format| *format != AdFormat::Long) {
        Some(format) => {
            let record = |(story, findings): &(Story, Vec<Finding>)| why::record(story, findings, redacting);
            records_as(format, &stories.iter().map(record).collect::<Vec<_>>(), &mut out)?;
        }
        None => {
            let mut text = String::new();
            for (story, findings) in &stories {
                why::tell(story, findings, redacting, &mut text);
            }
            out = text.into_bytes();
        }
    }
    std::io::stdout().write_all(&out)?;
    Ok(if stories.iter().all(|(story, _)| story.has_value()) { Status::Done } else { Status::Undefined })
}

/// Records as one array or a line each.
fn records_as<Record: Serialize>(
    format: AdFormat,
    records: &[Record],
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    match format {
        AdFormat::Jsonl => {
            for record in records {
                serde_json::to_writer(&mut *out, record)?;
                out.push(b'\n');
            }
        }
        AdFormat::Json | AdFormat::Long => {
            serde_json::to_writer_pretty(&mut *out, records)?;
            out.push(b'\n');
        }
    }
    Ok(())
}

/// Whether a source set it, in contrast to what was detected or compiled in.
pub(super) fn is_set(row: &Row<'_>) -> bool {
    matches!(row.kind, entries::Kind::Set(entry) if entry.current.place.source != SourceId::DETECTED)
}

/// One parameter as a statement that reads back.
fn statement(cli: &Cli, row: &Row<'_>, config: &Config, view: &crate::config::View<'_>, out: &mut Vec<u8>) {
    let name: &[u8] = &row.name;
    let default = match row.kind {
        entries::Kind::Set(entry) => entry.parameter.map(|parameter| parameter.default()),
        entries::Kind::Detected => None,
        entries::Kind::Default(parameter) => Some(parameter.default()),
    };
    let value: Vec<u8> = match (cli.show.default, cli.show.expanded) {
        (true, _) => default.clone().unwrap_or_default().into_owned(),
        (false, true) => match view.expand_raw(name, &row.raw) {
            Ok(value) => value.into(),
            Err(error) => {
                out.extend_from_slice(format!("# {}: {error}\n", name.as_bstr()).as_bytes());
                row.raw.to_vec()
            }
        },
        (false, false) => row.raw.to_vec(),
    };
    let value = if cli.show.redact { redact::masked(name, &value).into_owned() } else { value };
    match print::statement(name, &value) {
        Some(text) => out.extend_from_slice(&text),
        // No file can say this: environment variables may have any name and hold line ends.
        None => {
            let shown = format!("# cannot be written in a file: {} = {}", name.as_bstr(), value.as_bstr());
            out.extend_from_slice(shown.replace('\n', "\n#   ").as_bytes());
            out.push(b'\n');
        }
    }
    if cli.show.verbose {
        let place = match row.kind {
            entries::Kind::Set(entry) => config.set.describe(&entry.current.place),
            entries::Kind::Detected => "<Detected>".into(),
            entries::Kind::Default(_) => "<Default>".into(),
        };
        out.extend_from_slice(&[b"# at: ", &place[..], b"\n"].concat());
        if let Some(default) = default.filter(|default| !default.is_empty()) {
            out.extend_from_slice(b"# default: ");
            out.extend_from_slice(default.to_str_lossy().replace('\n', "\n#   ").as_bytes());
            out.push(b'\n');
        }
    }
}
