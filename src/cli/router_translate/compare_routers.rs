//! `htc-router-translate compare` of two configurations: do the two routers do the same?

use std::path::Path;

use bstr::BString;
use serde::Serialize;
use serde_json::value::RawValue;

use super::compare_search::{Arguments, Looked, ad_in_row, lines, print_row, shown, still_world};
use super::router::Setup;
use crate::classad::ClassAd;
use crate::cli::common::{ConfigOptions, Session as Program, Status, print_out};
use crate::cli::transform_report as report;
use crate::quirks::Quirks;
use crate::router::TranslateError;
use crate::runner::configured_world;
use crate::why::routers::{Comparison, Difference, Outcome, Side};

/// Carries it out: 0 when no difference was found, 1 with the smallest job otherwise.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = still_world();
    let load = |path: &Path| {
        let options = ConfigOptions { config_file: Some(path.to_owned()), ..arguments.config.clone() };
        Setup::load(&options, Quirks::None, &world, program)
    };
    let (left, right) = (load(&arguments.left)?, load(&arguments.right)?);
    let world_of =
        |setup: &Setup| configured_world(world.clone(), &setup.config, &mut |text| program.warn(text));
    let (left_world, right_world) = (world_of(&left), world_of(&right));
    let (left_view, right_view) = (left.config.view(&left_world), right.config.view(&right_world));
    let names = [arguments.left.display().to_string(), arguments.right.display().to_string()];
    let comparison = Comparison::new(
        Side::new(&names[0], &left.table, &left.knobs, &left_view),
        Side::new(&names[1], &right.table, &right.knobs, &right_view),
        &world,
        Quirks::None,
    );
    let is_text = !arguments.output.json && !arguments.output.jsonl && !arguments.output.quiet;
    let mut routes = [comparison.left.routes(), comparison.right.routes()].concat();
    routes.extend(comparison.reordered());
    if is_text {
        print_out(lines(&routes))?;
    }
    let limits = comparison.limits();
    let difference = |ad: &ClassAd| Ok(comparison.difference(ad));
    let is_usable = comparison.left.is_usable() || comparison.right.is_usable();
    let mut looked = Looked::given("job", (arguments, program), difference)?;
    if limits.is_empty() && is_usable && comparison.is_alike() {
        return looked.tell_alike(&routes);
    }
    let mut cover = comparison.cover();
    looked.search(&mut cover, difference, |cover| comparison.evaluated(cover))?;
    if let Some(found) = looked.found.take() {
        let found = comparison.shrink(found);
        let reasons = [&comparison.left, &comparison.right].map(|side| comparison.reason(side, &found.ad));
        return tell(arguments, (&routes, &limits, &looked), &found, &reasons);
    }
    let mut unreached = comparison.unreached(&cover);
    if !is_usable {
        unreached =
            vec!["neither of the two has a route that a job may get: there is nothing to compare".into()];
        if is_text && limits.is_empty() {
            print_out(lines(&unreached))?;
            return Ok(Status::Undefined);
        }
    }
    if limits.is_empty() {
        return looked.tell_none(&unreached, &cover, &routes);
    }
    if is_text {
        let jobs = looked.count();
        let text =
            format!("the routers differ as told above; no difference in what they do with each of {jobs}\n");
        print_out(lines(&limits) + &lines(&unreached) + &text)?;
    } else if !arguments.output.quiet {
        let answer = serde_json::json!({
            "same": false, "routes": routes, "limits": limits, "given": looked.given, "generated": looked.made,
            "unreached": unreached,
        });
        print_row(&answer, arguments)?;
    }
    Ok(Status::No)
}

/// A difference for programs.
#[derive(Serialize)]
struct Row<'a> {
    same: bool,
    given: u64,
    changed: u64,
    routes: &'a [String],
    limits: &'a [String],
    job: Box<RawValue>,
    left: Done,
    right: Done,
}

/// What one router does with the job.
#[derive(Serialize)]
struct Done {
    outcome: &'static str,
    reason: Option<String>,
    route: Option<String>,
    ad: Option<Box<RawValue>>,
}

impl Done {
    fn new(outcome: &Outcome, why_not: &str) -> serde_json::Result<Self> {
        let (outcome, route, reason, ad) = match outcome {
            Outcome::NotRouted => ("not routed", None, Some(why_not.to_owned()), None),
            Outcome::Copy { route, sandboxed: false, ad } => ("routed", Some(route), None, Some(ad)),
            Outcome::Copy { route, ad, .. } => ("routed with a sandbox", Some(route), None, Some(ad)),
            Outcome::Edited(route, ad) => ("edited in place", Some(route), None, Some(ad)),
            Outcome::Failed(route, error) => ("failed", Some(route), Some(reason(route, error)), None),
        };
        let ad = ad.map(ad_in_row).transpose()?;
        Ok(Done { outcome, reason, route: route.map(ToString::to_string), ad })
    }
}

fn tell(
    arguments: &Arguments,
    (routes, limits, looked): (&[String], &[String], &Looked<'_, Difference>),
    found: &Difference,
    why_not: &[String; 2],
) -> anyhow::Result<Status> {
    if arguments.output.wants_json() {
        let row = Row {
            same: false,
            given: looked.given,
            changed: looked.changed,
            routes,
            limits,
            job: ad_in_row(&found.ad)?,
            left: Done::new(&found.left, &why_not[0])?,
            right: Done::new(&found.right, &why_not[1])?,
        };
        return print_row(&row, arguments).map(|()| Status::No);
    }
    let mut text = lines(limits);
    text.push_str(&looked.told_changed());
    text.push_str(&format!(
        "the routers differ; the smallest job found with which they do:\n\n{}",
        shown(&found.ad)
    ));
    let sides = [(&arguments.left, &found.left), (&arguments.right, &found.right)];
    for ((path, outcome), why_not) in sides.into_iter().zip(why_not) {
        let changes = |ad| report::Difference::between(&found.ad, ad).to_string();
        let result = match outcome {
            Outcome::NotRouted => format!("  not routed: {why_not}\n"),
            Outcome::Copy { route, sandboxed, ad } => {
                let sandbox = if *sandboxed { ", through a sandbox" } else { "" };
                format!("  route {route}{sandbox}\n{}", changes(ad))
            }
            Outcome::Edited(route, ad) => format!("  route {route}, edited in place\n{}", changes(ad)),
            Outcome::Failed(route, error) => format!("  route {route} fails: {}\n", reason(route, error)),
        };
        text.push_str(&format!("\n{}:\n{result}", path.display()));
    }
    print_out(text)?;
    Ok(Status::No)
}

/// Why a copy could not be made, as the reference's log says it.
fn reason(route: &BString, error: &TranslateError) -> String {
    error.reference_text("", route.as_ref()).trim_end().to_owned()
}
