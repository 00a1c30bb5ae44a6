//! `htc-router-translate compare` for two configurations: checks if the two routers have the same effect.

use std::path::Path;

use bstr::BString;
use serde::Serialize;
use serde_json::value::RawValue;

use super::compare_search::{
    CompareArguments, DifferenceSearch, ad_to_raw_json, print_row, render_ad, to_lines,
    world_with_stopped_clock,
};
use super::compared_file::ComparedFile;
use super::router_setup::RouterSetup;
use crate::classad::ClassAd;
use crate::cli::common::{ConfigOptions, ProgramContext, Status, write_to_stdout};
use crate::cli::transform_report as report;
use crate::quirks::QuirkMode;
use crate::router::TranslateError;
use crate::runner::configured_world;
use crate::why::router_comparison::{RouterComparison, RouterDifference, RouterOutcome, RouterSide};

/// Runs the verb `compare` for two routers. The exit status is 0 if no difference was found, otherwise 1, and the smallest job
/// that shows a difference is printed.
pub(super) fn run(
    files: [&ComparedFile; 2],
    arguments: &CompareArguments,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let world = world_with_stopped_clock();
    let load = |path: &Path| {
        let options = ConfigOptions { config_file: Some(path.to_owned()), ..arguments.config.clone() };
        RouterSetup::load(&options, QuirkMode::Manual, &world, program)
    };
    let (left, right) = (load(&files[0].path)?, load(&files[1].path)?);
    let world_of =
        |setup: &RouterSetup| configured_world(world.clone(), &setup.config, &mut |text| program.warn(text));
    let (left_world, right_world) = (world_of(&left), world_of(&right));
    let (left_view, right_view) = (left.config.view(&left_world), right.config.view(&right_world));
    let names = [files[0].name.clone(), files[1].name.clone()];
    let comparison = RouterComparison::new(
        RouterSide::new(&names[0], &left.table, &left.parameters, &left_view),
        RouterSide::new(&names[1], &right.table, &right.parameters, &right_view),
        &world,
        QuirkMode::Manual,
    );
    let is_text = !arguments.wants_rows() && !arguments.output.quiet;
    let mut routes = [comparison.left.describe_routes(), comparison.right.describe_routes()].concat();
    routes.extend(comparison.describe_renamed_routes());
    routes.extend(comparison.order_warning());
    if is_text {
        write_to_stdout(to_lines(&routes))?;
    }
    let limits = comparison.describe_setting_differences();
    let difference = |ad: &ClassAd| Ok(comparison.find_difference(ad));
    let is_usable = comparison.left.has_usable_route() || comparison.right.has_usable_route();
    let mut search = DifferenceSearch::compare_given_ads("job", arguments, program, difference)?;
    if limits.is_empty() && is_usable && comparison.is_same_router() {
        return search.report_identical(&routes);
    }
    let mut cover = comparison.build_coverage();
    search
        .search_generated_ads(&mut cover, difference, |cover| comparison.add_evaluated_conditions(cover))?;
    if let Some(found) = search.difference.take() {
        let found = comparison.shrink_difference(found);
        let reasons =
            [&comparison.left, &comparison.right].map(|side| comparison.unrouted_reason(side, &found.ad));
        return print_difference(arguments, &routes, &limits, &search, &found, &reasons);
    }
    let mut unreached = comparison.unreached_parts(&cover);
    if !is_usable {
        unreached =
            vec!["neither router has a route that a job can get, so there is nothing to compare".into()];
        if is_text && limits.is_empty() {
            write_to_stdout(to_lines(&unreached))?;
            return Ok(Status::Undefined);
        }
    }
    if limits.is_empty() {
        return search.report_no_difference(&unreached, &cover, &routes);
    }
    if is_text {
        let jobs = search.searched_ads_text();
        let text =
            format!("the routers differ as shown above, but have the same result for each of {jobs}\n");
        write_to_stdout(to_lines(&limits) + &to_lines(&unreached) + &text)?;
    } else if !arguments.output.quiet {
        let answer = serde_json::json!({
            "same": false, "routes": routes, "limits": limits, "given": search.given, "generated": search.generated,
            "unreached": unreached,
        });
        print_row(&answer, arguments)?;
    }
    Ok(Status::No)
}

/// Difference between two routers as JSON.
#[derive(Serialize)]
struct RouterDifferenceRecord<'a> {
    same: bool,
    given: u64,
    changed: u64,
    routes: &'a [String],
    limits: &'a [String],
    job: Box<RawValue>,
    left: RouterResultRecord,
    right: RouterResultRecord,
}

/// Result of one router for the job as JSON.
#[derive(Serialize)]
struct RouterResultRecord {
    outcome: &'static str,
    reason: Option<String>,
    route: Option<String>,
    ad: Option<Box<RawValue>>,
}

impl RouterResultRecord {
    fn new(outcome: &RouterOutcome, why_not: &str) -> serde_json::Result<Self> {
        let (outcome, route, reason, ad) = match outcome {
            RouterOutcome::NotRouted => ("not routed", None, Some(why_not.to_owned()), None),
            RouterOutcome::Copy { route, sandboxed: false, ad } => ("routed", Some(route), None, Some(ad)),
            RouterOutcome::Copy { route, ad, .. } => ("routed with a sandbox", Some(route), None, Some(ad)),
            RouterOutcome::Edited(route, ad) => ("edited in place", Some(route), None, Some(ad)),
            RouterOutcome::Failed(route, error) => {
                ("failed", Some(route), Some(failure_reason(route, error)), None)
            }
        };
        let ad = ad.map(ad_to_raw_json).transpose()?;
        Ok(RouterResultRecord { outcome, reason, route: route.map(ToString::to_string), ad })
    }
}

fn print_difference(
    arguments: &CompareArguments,
    routes: &[String],
    limits: &[String],
    search: &DifferenceSearch<'_, RouterDifference>,
    found: &RouterDifference,
    why_not: &[String; 2],
) -> anyhow::Result<Status> {
    if arguments.wants_rows() {
        let row = RouterDifferenceRecord {
            same: false,
            given: search.given,
            changed: search.changed,
            routes,
            limits,
            job: ad_to_raw_json(&found.ad)?,
            left: RouterResultRecord::new(&found.left, &why_not[0])?,
            right: RouterResultRecord::new(&found.right, &why_not[1])?,
        };
        return print_row(&row, arguments).map(|()| Status::No);
    }
    let mut text = to_lines(limits);
    text.push_str(&search.changed_ads_text());
    text.push_str(&format!(
        "the routers differ; the smallest job found that they treat differently:\n\n{}",
        render_ad(&found.ad)
    ));
    let sides = [(&arguments.left, &found.left), (&arguments.right, &found.right)];
    for ((path, outcome), why_not) in sides.into_iter().zip(why_not) {
        let changes = |ad| report::AdDifference::between(&found.ad, ad).to_string();
        let result = match outcome {
            RouterOutcome::NotRouted => format!("  not routed: {why_not}\n"),
            RouterOutcome::Copy { route, sandboxed, ad } => {
                let sandbox = if *sandboxed { ", through a sandbox" } else { "" };
                format!("  route {route}{sandbox}\n{}", changes(ad))
            }
            RouterOutcome::Edited(route, ad) => format!("  route {route}, edited in place\n{}", changes(ad)),
            RouterOutcome::Failed(route, error) => {
                format!("  route {route} fails: {}\n", failure_reason(route, error))
            }
        };
        text.push_str(&format!("\n{}:\n{result}", path.display()));
    }
    write_to_stdout(text)?;
    Ok(Status::No)
}

/// Returns the reason why a job could not be copied, in the form of the reference's log.
fn failure_reason(route: &BString, error: &TranslateError) -> String {
    error.reference_text("", route.as_ref()).trim_end().to_owned()
}
