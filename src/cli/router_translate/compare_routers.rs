//! `htc-router-translate compare` of two configurations: do the two routers do the same?

use std::path::Path;

use super::compare::{Arguments, Given, lossy, print_text, println, shown};
use super::router::Setup;
use crate::cli::common::{ConfigOptions, Session as Program, Status};
use crate::cli::transform_report as report;
use crate::os::RealWorld;
use crate::quirks::Quirks;
use crate::router::compare::{Comparison, Difference, Outcome, Side};

/// Carries it out: 0 when no difference was found, 1 with the smallest job otherwise.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let load = |path: &Path| {
        let options = ConfigOptions { config_file: Some(path.to_owned()), ..arguments.config.clone() };
        Setup::load(&options, Quirks::None, &world, program)
    };
    let (left, right) = (load(&arguments.left)?, load(&arguments.right)?);
    let (left_view, right_view) = (left.config.view(&world), right.config.view(&world));
    let comparison = Comparison {
        left: Side { table: &left.table, knobs: &left.knobs, config: &left_view },
        right: Side { table: &right.table, knobs: &right.knobs, config: &right_view },
        world: &world,
        quirks: Quirks::None,
    };
    let limits = comparison.limits();
    let Given { given, seeds, mut found } = Given::read(arguments, |ad| Ok(comparison.difference(ad)))?;
    if found.is_none() {
        let mut made = comparison.generate(&seeds, arguments.generate, arguments.seed);
        found = made.find_map(|ad| comparison.difference(&ad));
    }
    if let Some(found) = found {
        return tell(arguments, &limits, comparison.shrink(found));
    }
    let made = arguments.generate;
    if arguments.output.json || arguments.output.jsonl {
        let same = limits.is_empty();
        let answer = serde_json::json!({ "same": same, "limits": limits, "given": given, "generated": made });
        println(&answer.to_string())?;
    } else if !arguments.output.quiet {
        for line in &limits {
            println(line)?;
        }
        println(&format!("jobs are routed alike: no difference on {given} given and {made} generated jobs"))?;
    }
    Ok(if limits.is_empty() { Status::Done } else { Status::No })
}

fn tell(arguments: &Arguments, limits: &[String], found: Difference) -> anyhow::Result<Status> {
    if arguments.output.json || arguments.output.jsonl {
        let side = |outcome: &Outcome| {
            let ad = match outcome {
                Outcome::Copy { ad, .. } | Outcome::Edited(_, ad) => lossy(&report::json_line(ad)),
                Outcome::NotRouted | Outcome::Failed(..) => "null".to_owned(),
            };
            let (what, route, failed) = match outcome {
                Outcome::NotRouted => ("not routed", None, None),
                Outcome::Copy { route, sandboxed: false, .. } => ("routed", Some(route), None),
                Outcome::Copy { route, .. } => ("routed with a sandbox", Some(route), None),
                Outcome::Edited(route, _) => ("edited in place", Some(route), None),
                Outcome::Failed(route, reason) => ("failed", Some(route), Some(reason)),
            };
            let route = route.map(|route| route.to_string());
            let facts = serde_json::json!({ "outcome": what, "route": route, "reason": failed }).to_string();
            format!("{},\"ad\":{ad}}}", facts.trim_end_matches('}'))
        };
        return println(&format!(
            "{{\"same\":false,\"limits\":{},\"job\":{},\"left\":{},\"right\":{}}}",
            serde_json::json!(limits),
            lossy(&report::json_line(&found.ad)),
            side(&found.left),
            side(&found.right)
        ))
        .map(|()| Status::No);
    }
    let mut text = limits.iter().map(|line| format!("{line}\n")).collect::<String>();
    text.push_str(&format!(
        "the routers differ; the smallest job found with which they do:\n\n{}",
        shown(&found.ad)
    ));
    for (path, outcome) in [(&arguments.left, &found.left), (&arguments.right, &found.right)] {
        let changes = |ad| report::Difference::between(&found.ad, ad).to_string();
        let result = match outcome {
            Outcome::NotRouted => "  not routed\n".to_owned(),
            Outcome::Copy { route, sandboxed, ad } => {
                let sandbox = if *sandboxed { ", through a sandbox" } else { "" };
                format!("  route {route}{sandbox}\n{}", changes(ad))
            }
            Outcome::Edited(route, ad) => format!("  route {route}, edited in place\n{}", changes(ad)),
            Outcome::Failed(route, reason) => format!("  route {route} fails: {}\n", reason.trim_end()),
        };
        text.push_str(&format!("\n{}:\n{result}", path.display()));
    }
    print_text(&text)?;
    Ok(Status::No)
}
