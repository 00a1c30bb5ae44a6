//! `htc-router-translate convert`: converts routes of the old syntax to `JOB_ROUTER_ROUTE_<name>`, ready for
//! a configuration.

use std::io::Write;

use clap::Args;

use crate::cli::common::{
    ConfigOptions, OptionGroup, OutputOptions, Problem, ProgramContext, Status, open_stdio_pipe,
};
use crate::config::{CommandPolicy, Config, LookupContext};
use crate::lint::route_migration::RouteMigration;
use crate::os::RealWorld;
use crate::router::old_routes;

/// Options of the verb `convert`.
#[derive(Args, Debug)]
pub(super) struct ConvertArguments {
    #[command(flatten)]
    config: ConfigOptions,
    /// Prints one object for each route, with the result of its conversion.
    #[arg(long, conflicts_with = "jsonl", help_heading = OptionGroup::Output)]
    json: bool,
    /// Prints one object for each route, with the result of its conversion.
    #[arg(long, conflicts_with = "json", help_heading = OptionGroup::Output)]
    jsonl: bool,
}

/// Runs the verb `convert`. The exit status is 0 if all routes were converted, otherwise 1.
pub(super) fn run(arguments: &ConvertArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
    let load = arguments.config.load_options(CommandPolicy::BOUNDED_RUN);
    let (config, warnings) = Config::load(&world, &who, &load).map_err(Problem::from_config_error)?;
    warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
    let world = world.with_strict_mode(config.is_strict());
    let view = config.view(&world);
    let mut conversion = RouteMigration::new(&view, &world);
    let mut unread = 0;
    let routes = old_routes::load_old_routes(&view, &world, true, &mut |text| {
        unread += 1;
        program.warn(&text);
    });
    if routes.is_empty() {
        program.warn(
            "there are no routes of the old syntax: JOB_ROUTER_ENTRIES, _FILE and _CMD are not set or empty",
        );
        return Ok(Status::No);
    }
    for route in &routes {
        conversion.add_route(route);
        let problems = conversion.routes.last().into_iter().flat_map(|written| &written.problems);
        problems.for_each(|problem| program.warn(problem));
    }
    conversion.finish();
    let output = OutputOptions { json: arguments.json, jsonl: arguments.jsonl, ..OutputOptions::default() };
    let mut stdout = open_stdio_pipe().1;
    match output.render_json(&conversion.routes)? {
        Some(rows) => stdout.write_all(rows.as_bytes())?,
        None => stdout.write_all(&conversion.text)?,
    }
    stdout.finish()?;
    Ok(if unread + conversion.failed > 0 { Status::No } else { Status::Done })
}
