//! Behaviour under the name `htc-config-dump`: selects the task that the command line requests.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use bstr::{BStr, BString, ByteSlice};
use clap::{ArgMatches, FromArgMatches};

use super::config_query::{ConfigQuery, ToolOutput};
use super::config_request::{ConfigRequest, RequestedName};
use super::listing::print_listing;
use super::loading::{config_problem, load};
use super::options::{ConfigDumpCli, ConfigDumpVerb};
use super::{compare, hook_table, lint, lsp};
use crate::cli::common::{
    FileTexts, OutputOptions, Painter, Problem, ProgramContext, RowOptions, RowOrderOptions, Status,
    path_to_open, stdout,
};
use crate::cli::lint::{print_explanation, print_rules};
use crate::config::compare::ConfigComparison;
use crate::config::redact;
use crate::config::{CommandPolicy, Config, LoadOptions, LookupContext};
use crate::lint::config::DAEMON_NAMES;
use crate::lint::daemons::build_hook_report;
use crate::os::RealWorld;
use crate::text::control_characters::mask_terminal_controls;
use crate::text::similar_names;
use crate::world::World;

/// Runs the program.
pub(super) fn run(matches: &ArgMatches, session: &ProgramContext) -> anyhow::Result<Status> {
    let cli = ConfigDumpCli::from_arg_matches(matches)?;
    cli.limit.start(session);
    let world = RealWorld::new();
    let request = cli.request();
    refuse_unknown_subsystem(request.subsystem.as_ref())?;
    if let Some(ConfigDumpVerb::Lint { files, job_ad, here, rules, lint: lint_options }) = &cli.verb {
        if *rules {
            return print_rules(lint_options, &cli.output, session);
        }
        if let Some(rule) = lint_options.explain {
            return print_explanation(rule, lint_options, &cli.output);
        }
        let mut options = cli.load_options();
        if !cli.who.exec {
            options.commands = CommandPolicy::Skipped;
        }
        let request = lint::LintCommand {
            parameters: Vec::new(),
            files: files.clone(),
            job_ad: job_ad.clone(),
            here: *here,
            options,
            who: cli.lookup_context(),
            lint: lint_options,
            output: cli.output,
            redact: cli.show.redact,
        };
        return lint::run(&request, &world, session);
    }
    if let Some(ConfigDumpVerb::Lsp { lsp: lsp_options }) = &cli.verb {
        let mut options = cli.load_options();
        if !cli.who.exec {
            options.commands = CommandPolicy::Skipped;
        }
        return lsp::run(lsp_options, options, cli.lookup_context(), cli.show.redact, &world, session);
    }
    if let Some(ConfigDumpVerb::Compare { before, after, rows, order }) = &cli.verb {
        return compare_files([before, after], (cli.output, *rows, order), &cli, &world, session);
    }
    refuse_records(&cli)?;
    if let Some(ConfigDumpVerb::Use { templates }) = &cli.verb {
        return print_templates(templates, &request, session);
    }
    if cli.show.hooks {
        return print_hooks(&cli, &world, session);
    }
    let is_plain =
        !(request.trace || request.expand_text.is_some() || request.write.is_some() || request.sources)
            && request.check_if.is_none();
    let lists = cli.show.dump || cli.names.is_empty();
    let has_form = cli.output.ad_format().is_some() || cli.rows.report_form().is_some();
    if cli.show.why || is_plain && (lists || has_form) {
        return print_listing(&cli, &world, session);
    }
    print_values(&request, &world, session, cli.show.redact)
}

/// Compares two configurations; `-` is standard input.
fn compare_files(
    [before, after]: [&Path; 2],
    output: (OutputOptions, RowOptions, &RowOrderOptions),
    cli: &ConfigDumpCli,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let paths = [path_to_open(before), path_to_open(after)];
    if paths[0] == paths[1] && paths[0] == path_to_open(Path::new("-")) {
        return Err(Problem::usage("both files are standard input").into());
    }
    // The configurations are loaded once for each daemon, but a pipe can be read only once.
    let texts = FileTexts::read(&paths, world)?;
    let request = ConfigComparison {
        files: [&paths[0], &paths[1]],
        // A setting that equals its default is treated as unset, so that the comparison does not report it.
        options: LoadOptions { keep_defaults: false, ..cli.load_options() },
        subsystem: cli.who.subsystem.to_str().filter(|name| *name != "TOOL"),
        local_name: cli.who.local_name.as_bytes().into(),
        redact: cli.show.redact,
    };
    compare::run(&request, &texts.world(world), output, session)
}

/// Refuses output formats that the request does not support.
fn refuse_records(cli: &ConfigDumpCli) -> anyhow::Result<()> {
    let text_requests = [
        (cli.show.summary, "--summary"),
        (cli.show.sources, "--sources"),
        (cli.show.trace, "--trace"),
        (cli.show.expand, "--macro"),
        (cli.show.check_if.is_some(), "--check-if"),
    ];
    let mut text_requests = text_requests.into_iter().filter(|(is_requested, _)| *is_requested);
    text_requests.clone().try_for_each(|(_, what)| cli.output.refuse_json(what))?;
    let text = text_requests.next().map(|(_, what)| what);
    let text = text.or(cli.show.why.then_some("--why")).or(cli.show.hooks.then_some("--hooks"));
    match (cli.rows.given_option().or(cli.output.long.then_some("--long")), text) {
        (Some(option), Some(what)) => {
            Err(Problem::usage(format!("{option} works for lists of parameters, not for {what}")).into())
        }
        _ => Ok(()),
    }
}

/// Refuses a name that is not the name of a daemon or tool. A local name and a dot may precede the name.
fn refuse_unknown_subsystem(name: &BStr) -> anyhow::Result<()> {
    let is_known = |name: &[u8]| DAEMON_NAMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
    if is_known(name.split_once_str(".").map_or(name.as_bytes(), |(name, _)| name)) {
        return Ok(());
    }
    let near = similar_names::nearest(name, DAEMON_NAMES.iter().map(|known| known.as_bytes()));
    let problem =
        Problem::usage(format!("--subsystem: HTCondor has no daemon or tool of this name: '{name}'"));
    let hint = match near {
        Some(near) => format!("did you mean {}?", BStr::new(near)),
        None => format!("the names are {}", DAEMON_NAMES.join(", ")),
    };
    Err(problem.hint(hint).into())
}

fn print_templates(
    templates: &[OsString],
    request: &ConfigRequest,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut out = Vec::new();
    let mut status = Status::Done;
    if templates.is_empty() {
        let categories = super::use_template::category_names();
        out.extend(categories.iter().flat_map(|name| format!("{name}\n").into_bytes()));
    }
    for template in templates {
        let (text, warning) =
            super::use_template::render_template(template.as_bytes(), request.expanded, request.verbose);
        if let Some(warning) = warning {
            session.warn(&warning);
        }
        if text.starts_with(b"Not defined: ") {
            session.write_stderr(&text.to_str_lossy());
            if let Some(hint) = super::use_template::undefined_template_hint(template.as_bytes()) {
                session.write_stderr(&format!("hint: {hint}\n"));
            }
            status = Status::Undefined;
        } else {
            out.extend_from_slice(&text);
        }
    }
    stdout().write_all(&out)?;
    Ok(status)
}

fn print_hooks(cli: &ConfigDumpCli, world: &dyn World, session: &ProgramContext) -> anyhow::Result<Status> {
    let local_name = BString::from(cli.who.local_name.as_bytes());
    let mut secrets = redact::KnownSecrets::default();
    let mut learn = |config: &Config| {
        if cli.show.redact {
            secrets.learn_from_config(config, world);
        }
    };
    let report = build_hook_report(world, &cli.load_options(), local_name.as_ref(), &mut learn)
        .map_err(|error| config_problem(&error))?;
    if let Some(error) = &report.no_slots {
        session.warn(&format!("no startd can start with this configuration, so no slots are shown: {error}"));
    }
    report.warnings.iter().for_each(|warning| session.warn(warning));
    let any_refused = report.has_refused_hook() || report.no_slots.is_some();
    let text = match cli.output.wants_json() {
        true => cli.output.render_json(&report.into_records())?.unwrap_or_default(),
        false => hook_table::render_report(&report, Painter::stdout(cli.output.color)),
    };
    let text = if cli.show.redact { secrets.remove_secrets(text.as_bytes()) } else { text.as_bytes().into() };
    stdout().write_all(&text)?;
    Ok(if any_refused { Status::No } else { Status::Done })
}

/// Prints values by the rules of the tool, with hints about undefined names.
fn print_values(
    request: &ConfigRequest,
    world: &dyn World,
    session: &ProgramContext,
    redacting: bool,
) -> anyhow::Result<Status> {
    let mut output = ToolOutput::default();
    let mut answer = match ConfigQuery::load(request, world, &mut output) {
        Ok(answer) => answer,
        Err(_) => {
            let who = LookupContext {
                subsystem: request.subsystem.clone(),
                local_name: request.local_name.clone(),
            };
            let options = LoadOptions { keep_texts: true, ..super::config_query::load_options(request) };
            return match load(world, &who, &options, redacting) {
                Err(error) => Err(config_problem(&error)).context("the configuration cannot be read"),
                Ok(_) => anyhow::bail!("the configuration changed while it was read"),
            };
        }
    };
    if answer.run_before_daemons(&mut output).is_some() {
        let holds = output.out.ends_with(b"true\n");
        write_output(&output, session)?;
        return Ok(if holds { Status::Done } else { Status::No });
    }
    let undefined = answer.print_names(&mut output) != 0;
    if redacting {
        output.out = redact::mask_value(b"", &output.out).into_owned();
    }
    if undefined {
        for asked in &request.requested {
            if let RequestedName::Name(name) = asked {
                answer.explain_undefined(name, &mut output);
            }
        }
    }
    write_output(&output, session)?;
    Ok(if undefined { Status::Undefined } else { Status::Done })
}

fn write_output(output: &ToolOutput, session: &ProgramContext) -> anyhow::Result<()> {
    stdout().write_all(&output.out)?;
    session.write_stderr(&mask_terminal_controls(&output.err.to_str_lossy()));
    Ok(())
}
