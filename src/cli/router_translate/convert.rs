//! `htc-router-translate convert`: routes of the old syntax as `JOB_ROUTER_ROUTE_<name>`, ready for a configuration.

use std::io::Write;

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::Args;

use crate::cli::common::{ConfigOptions, Problem, Session as Program, Status, pipe_ends};
use crate::config::{CommandPolicy, Config, Who};
use crate::os::RealWorld;
use crate::router::deprecated;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigOptions,
}

/// A name that can stand in a parameter's.
fn knob_name(name: &[u8], number: usize) -> String {
    let kept: String = name
        .iter()
        .map(|&byte| char::from(byte))
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' })
        .collect();
    if kept.trim_matches('_').is_empty() { format!("route{number}") } else { kept }
}

/// Carries it out: 0 when all routes were converted, 1 when one could not be.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let who = Who { subsystem: "JOB_ROUTER".into(), ..Who::default() };
    let load = arguments.config.load_options(CommandPolicy::BOUNDED);
    let (config, warnings) = Config::load(&world, &who, &load)
        .with_context(|| Problem::unreadable("cannot read the configuration"))?;
    warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
    let view = config.view(&world);
    let mut failed = 0;
    let routes = deprecated::routes(&view, &world, true, &mut |text| {
        failed += 1;
        program.warn(&text);
    });
    if routes.is_empty() {
        program.warn(
            "there are no routes of the old syntax: JOB_ROUTER_ENTRIES, _FILE and _CMD are not set or empty",
        );
        return Ok(Status::No);
    }
    let mut out = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for route in routes {
        let place = format!("{} [{}]", route.source, route.number);
        let converted = match &route.converted {
            Ok(converted) => converted,
            Err(error) => {
                failed += 1;
                program.warn(&format!("{place}: {error}"));
                continue;
            }
        };
        if let Err(error) = converted.transform() {
            failed += 1;
            program.warn(&format!("{place}: {error}"));
            continue;
        }
        let mut name = knob_name(&converted.name, names.len() + 1);
        if let Some(at) = names.iter().position(|known| known.eq_ignore_ascii_case(&name)) {
            program.warn(&format!(
                "{place}: a second route {name}; routers took the {}, here it gets a name of its own",
                if route.overrides == Some(false) { "first one" } else { "last one" }
            ));
            name = format!("{name}_{}", names.len() + 1);
            debug_assert!(at < names.len());
        }
        out.extend_from_slice(format!("# from {place}\n").as_bytes());
        for comment in &route.comments {
            // A backslash at the end would draw the next line into the comment.
            let comment = comment.trim_end_with(|character| character == '\\').trim_end();
            out.extend_from_slice(&[b"# ", comment, b"\n"].concat());
        }
        out.extend_from_slice(format!("JOB_ROUTER_ROUTE_{name} @=route\n").as_bytes());
        for line in lines(&converted.text) {
            out.extend_from_slice(b"   ");
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        out.extend_from_slice(b"@route\n\n");
        names.push(name);
    }
    out.extend_from_slice(format!("JOB_ROUTER_ROUTE_NAMES = {}\n", names.join(" ")).as_bytes());
    let mut stdout = pipe_ends().1;
    stdout.write_all(&out)?;
    stdout.finish()?;
    Ok(if failed > 0 { Status::No } else { Status::Done })
}

/// The lines of a converted route without its name, which the parameter's says.
fn lines(text: &[u8]) -> impl Iterator<Item = BString> + '_ {
    text.lines()
        .map(ByteSlice::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(b"NAME "))
        .map(Into::into)
}
