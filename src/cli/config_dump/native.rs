//! The program under its own name: which of its tasks a command line asks for.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use anyhow::Context;
use bstr::{BStr, BString, ByteSlice};
use clap::{ArgMatches, FromArgMatches};

use super::answer::{Answer, Output};
use super::listing::listing;
use super::loading::{load, problem};
use super::options::{Cli, Verb};
use super::request::{Asked, Request};
use super::{compare, hooks, lint};
use crate::cli::common::{Painter, Session, Status, stdout};
use crate::config::compare::Comparison;
use crate::config::redact;
use crate::config::{CommandPolicy, Config, LoadOptions, Who};
use crate::lint::config::DAEMONS;
use crate::lint::daemons::hook_report;
use crate::os::RealWorld;
use crate::text::similar;
use crate::world::World;

/// Runs the program.
pub(super) fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    let world = RealWorld::new();
    let request = cli.request();
    if let Some(problem) = unknown_subsystem(request.subsystem.as_ref()) {
        session.warn(&problem);
    }
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
            output: cli.output,
            redact: cli.show.redact,
        };
        return lint::run(&request, &world, session);
    }
    if let Some(Verb::Compare { before, after }) = &cli.verb {
        let request = Comparison {
            files: [before, after],
            // What is set as its default is set to nothing else.
            options: LoadOptions { keep_defaults: false, ..cli.load_options() },
            subsystem: cli.who.subsystem.to_str().filter(|name| *name != "TOOL"),
            local_name: cli.who.local_name.as_bytes().into(),
            redact: cli.show.redact,
        };
        return compare::run(&request, &world, cli.output);
    }
    refuse_records(&cli)?;
    if let Some(Verb::Use { templates }) = &cli.verb {
        return templates_of(templates, &request, session);
    }
    if cli.show.hooks {
        return hooks_of(&cli, &world, session);
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

/// That no daemon or tool has the name that `--subsystem` gives; a local name and a dot may stand in front of it.
fn unknown_subsystem(name: &BStr) -> Option<String> {
    let is_known = |name: &[u8]| DAEMONS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
    if is_known(name.split_once_str(".").map_or(name.as_bytes(), |(name, _)| name)) {
        return None;
    }
    let hint = similar::nearest(name, DAEMONS.iter().map(|known| known.as_bytes()));
    let hint = hint.map(|near| format!("; did you mean {}?", BStr::new(near))).unwrap_or_default();
    Some(format!("no daemon of HTCondor is called '{name}'{hint}"))
}

fn templates_of(templates: &[OsString], request: &Request, session: &Session) -> anyhow::Result<Status> {
    let mut out = Vec::new();
    let mut status = Status::Done;
    for template in templates {
        let (text, warning) =
            super::use_template::print(template.as_bytes(), request.expanded, request.verbose);
        if let Some(warning) = warning {
            session.warn(&warning);
        }
        if text.starts_with(b"Not defined: ") {
            session.tell(&text.to_str_lossy());
            status = Status::Undefined;
        } else {
            out.extend_from_slice(&text);
        }
    }
    stdout().write_all(&out)?;
    Ok(status)
}

fn hooks_of(cli: &Cli, world: &dyn World, session: &Session) -> anyhow::Result<Status> {
    let local_name = BString::from(cli.who.local_name.as_bytes());
    let mut secrets = redact::Secrets::default();
    let mut learn = |config: &Config| {
        if cli.show.redact {
            secrets.learn(config, world);
        }
    };
    let report = hook_report(world, &cli.load_options(), local_name.as_ref(), &mut learn)
        .map_err(|error| problem(&error))?;
    if let Some(error) = &report.no_slots {
        session.warn(&format!("no startd starts with this configuration, no slots are told of: {error}"));
    }
    report.warnings.iter().for_each(|warning| session.warn(warning));
    let any_refused = report.any_refused() || report.no_slots.is_some();
    let text = match cli.output.wants_json() {
        true => cli.output.rows(&report.records())?.unwrap_or_default(),
        false => hooks::text(&report, Painter::stdout(cli.output.color)),
    };
    let text = if cli.show.redact { secrets.sweep(text.as_bytes()) } else { text.as_bytes().into() };
    stdout().write_all(&text)?;
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
    stdout().write_all(&output.out)?;
    session.tell(&output.err.to_str_lossy());
    Ok(())
}
