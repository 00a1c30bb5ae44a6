//! The program's own command line.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand};
use std::io::Write;

use super::answer::{Answer, Output};
use super::listing::{listing, records_as};
use super::request::{Asked, Filter, Request};
use super::{compare, hooks, lint};
use crate::cli::common::{AdFormat, ConfigOptions, OutputOptions, Painter, Problem, Session, Status};
use crate::config::load::Warning;
use crate::config::redact;
use crate::config::{CommandPolicy, Config, ConfigError, LoadOptions, Who};
use crate::os::RealWorld;
use crate::text::caret::LineCaret;
use crate::world::World;

/// The command line.
#[derive(Parser, Debug)]
#[command(args_conflicts_with_subcommands = false, subcommand_precedence_over_arg = true)]
pub(super) struct Cli {
    /// Parameters to print; with --dump regular expressions, with --macro texts
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<OsString>,
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    pub(super) show: ShowOptions,
    #[command(flatten)]
    pub(super) who: WhoOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
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
    /// Tell which effective values differ between two configurations, for which daemons, and where they come from (exit
    /// status 1 if any do)
    Compare {
        /// The configuration before
        #[arg(value_name = "BEFORE")]
        before: PathBuf,
        /// The configuration after
        #[arg(value_name = "AFTER")]
        after: PathBuf,
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
pub(super) struct ShowOptions {
    /// Print all parameters, defaults too, or those whose names match
    #[arg(long, help_heading = "What to show")]
    pub(super) dump: bool,
    /// Print values before expansion
    #[arg(long, help_heading = "What to show")]
    pub(super) raw: bool,
    /// Print expanded values, also with --dump and use
    #[arg(long, global = true, hide_short_help = true, help_heading = "What to show")]
    pub(super) expanded: bool,
    /// Print compiled-in defaults
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) default: bool,
    /// Print location, raw value and default, too
    #[arg(long, short = 'v', global = true, help_heading = "What to show")]
    pub(super) verbose: bool,
    /// Tell the story of each value: definitions, conditions, steps of its expansion
    #[arg(long, help_heading = "What to show")]
    pub(super) why: bool,
    /// List the hooks of every slot, starter, shadow and router
    #[arg(long, help_heading = "What to show")]
    pub(super) hooks: bool,
    /// Print only what files changed, by file
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) summary: bool,
    /// Print the files that were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) sources: bool,
    /// Print each change of the values while files were read
    #[arg(long, hide_short_help = true, help_heading = "What to show")]
    pub(super) trace: bool,
    /// Expand the words as texts
    #[arg(long = "macro", hide_short_help = true, help_heading = "What to show")]
    pub(super) expand: bool,
    /// Say whether CONDITION holds in an 'if' (exit status 1 if not)
    #[arg(long, value_name = "CONDITION", hide_short_help = true, help_heading = "What to show")]
    pub(super) check_if: Option<OsString>,
    /// Mask passwords and other secrets
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) redact: bool,
}

/// For whom the configuration is read.
#[derive(Args, Debug)]
pub(super) struct WhoOptions {
    /// Read as this daemon
    #[arg(long, value_name = "NAME", default_value = "TOOL", global = true, help_heading = "Configuration")]
    pub(super) subsystem: OsString,
    /// Read as the daemon of this local name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        global = true,
        help_heading = "Configuration"
    )]
    pub(super) local_name: OsString,
    /// Run the commands that the configuration names
    #[arg(long, global = true, hide_short_help = true, help_heading = "Configuration")]
    pub(super) exec: bool,
}

impl Cli {
    pub(super) fn load_options(&self) -> LoadOptions {
        let commands = if self.who.exec { CommandPolicy::BOUNDED } else { CommandPolicy::Refused };
        LoadOptions { keep_texts: true, ..self.config.load_options(commands) }
    }

    pub(super) fn who(&self) -> Who {
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
            Some(Verb::Lint { .. } | Verb::Compare { .. }) => Vec::new(),
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
            write: self.show.summary.then(|| ("-".into(), Filter::summary())),
            sources: self.show.sources,
            check_if: self.show.check_if.as_ref().map(|text| text.as_bytes().into()),
            ..Request::new()
        }
    }
}

/// A configuration that cannot be read, as this program tells it.
pub(super) fn problem(error: &ConfigError) -> Problem {
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
            json: cli.output.format().filter(|format| *format != AdFormat::Long),
            painter: Painter::stdout(cli.output.color),
            redact: cli.show.redact,
        };
        return lint::run(&request, &world, session);
    }
    if let Some(Verb::Compare { before, after }) = &cli.verb {
        let request = compare::Request {
            files: [before, after],
            options: cli.load_options(),
            subsystem: cli.who.subsystem.to_str().filter(|name| *name != "TOOL"),
            local_name: cli.who.local_name.as_bytes().into(),
            redact: cli.show.redact,
        };
        return compare::run(&request, &world, (cli.output.format(), Painter::stdout(cli.output.color)));
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
    let asked = [
        (matches!(cli.verb, Some(Verb::Use { .. })), "use"),
        (cli.show.summary, "--summary"),
        (cli.show.sources, "--sources"),
        (cli.show.trace, "--trace"),
        (cli.show.expand, "--macro"),
        (cli.show.check_if.is_some(), "--check-if"),
    ];
    let mut asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
    asked.try_for_each(|(_, what)| cli.output.is_text(what))
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
pub(super) fn load(
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
