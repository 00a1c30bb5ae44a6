//! `htc-router-translate compare`: checks if two rule sets, or two whole routers, have the same effect.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bstr::ByteSlice;
use serde::Serialize;
use serde_json::value::RawValue;

use super::compare_routers;
use super::compare_search::{
    CompareArguments, DifferenceSearch, ad_to_raw_json, print_row, render_ad, world_with_stopped_clock,
};
use super::compared_file::ComparedFile;
use super::iteration;
use super::rules::{self, RulesOptions};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{Problem, ProgramContext, Status, write_to_stdout};
use crate::cli::transform_report as report;
use crate::config::{CommandPolicy, MacroSource};
use crate::os::RealWorld;
use crate::runner::configured_world;
use crate::transform::{Transform, TransformSession};
use crate::why::transform_comparison::{
    TransformComparison, TransformDifference, TransformOutcome, TransformSide,
};

/// Maximum number of bytes that are read to find out if a file sets parameters of a router.
const MAX_SNIFFED_BYTES: u64 = 16 << 20;

/// Runs the verb `compare`. The exit status is 0 if no difference was found, otherwise 1, and the smallest ad that shows a
/// difference is printed.
pub(super) fn run(arguments: &CompareArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    if arguments.left == Path::new("-") && arguments.right == Path::new("-") {
        return Err(Problem::usage("both files are standard input").into());
    }
    let files = (ComparedFile::open(&arguments.left)?, ComparedFile::open(&arguments.right)?);
    if arguments.routers || is_configuration(&files.0.path) || is_configuration(&files.1.path) {
        return compare_routers::run([&files.0, &files.1], arguments, program);
    }
    let world = world_with_stopped_clock();
    let config = rules::load_config(&arguments.config, &RulesOptions::default(), &world, program)?;
    let world = match &config {
        Some(config) => configured_world(world, config, &mut |text| program.warn(text)),
        None => world,
    };
    let view = config.as_ref().map(|config| config.view(&world));
    let macros = view.as_ref().map(|view| view as &dyn MacroSource);
    let (left, right) =
        (load(&files.0, Dialect::of_world(&world))?, load(&files.1, Dialect::of_world(&world))?);
    let side = |rules| make_side(rules, arguments, &world, macros, program);
    let comparison = TransformComparison { left: side(&left)?, right: side(&right)? };
    let turns = comparison.differing_turn_counts();
    let difference = |ad: &ClassAd| {
        comparison
            .find_difference(ad)
            .map_err(|failure| report::problem_from_failure(&failure, Status::Unreadable))
    };
    let names = [files.0.name.clone(), files.1.name.clone()];
    let names = [names[0].as_str(), names[1].as_str()];
    let mut search = DifferenceSearch::compare_given_ads("ad", arguments, program, difference)?;
    if comparison.are_rule_sets_equal() {
        return search.report_identical(&[]);
    }
    let mut cover = comparison.build_coverage(names, &world);
    search.search_generated_ads(&mut cover, difference, |cover| {
        comparison.add_evaluated_conditions(names, cover)
    })?;
    if let Some(found) = search.difference.take() {
        return print_difference(arguments, turns, &search, comparison.shrink_difference(found));
    }
    let unreached = [cover.unreached_parts(), comparison.unreached_conditions(names)].concat();
    search.report_no_difference(&unreached, &cover, &[])
}

/// Returns true if a file sets parameters of the router. If the file cannot be read, returns false; the error is reported later.
fn is_configuration(path: &std::path::Path) -> bool {
    let mut text = Vec::new();
    if let Ok(file) = File::open(path) {
        let _ = file.take(MAX_SNIFFED_BYTES).read_to_end(&mut text);
    }
    ByteSlice::lines(text.as_slice()).any(|line| {
        let line = line.trim_start();
        let is_router_parameter =
            line.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"JOB_ROUTER_"));
        is_router_parameter && line.contains(&b'=')
    })
}

fn load(file: &ComparedFile, dialect: Dialect) -> anyhow::Result<[Transform; 1]> {
    let text = rules::read_rules_file(&file.path)?;
    rules::refuse_other_kinds(&file.name, &text, false)?;
    Transform::from_file(&file.name, &text, dialect)
        .map(|transform| [transform])
        .map_err(|error| report::load_problem(&error, Status::Unreadable))
}

/// Creates one side of the comparison from a rules file. Commands in the file are run only with --exec, and only once.
fn make_side<'a>(
    rules: &'a [Transform],
    arguments: &CompareArguments,
    world: &'a RealWorld,
    macros: Option<&'a dyn MacroSource>,
    program: &'a ProgramContext,
) -> anyhow::Result<TransformSide<'a>> {
    let mut session = TransformSession::new(world, macros);
    session.commands = if arguments.exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Refused };
    let plan =
        iteration::plan_iteration(&mut session, rules, None, &mut report::StderrObserver::new(program))?;
    Ok(TransformSide::new(rules, session, plan))
}

/// Difference between two rule sets as JSON.
#[derive(Serialize)]
struct RulesDifferenceRecord {
    same: bool,
    given: u64,
    changed: u64,
    ad: Box<RawValue>,
    left: SideResultRecord,
    right: SideResultRecord,
}

/// Result of one rule set for the ad as JSON.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum SideResultRecord {
    Ad(Box<RawValue>),
    Ads(Vec<Box<RawValue>>),
    Failed(String),
}

impl RulesDifferenceRecord {
    fn new(
        search: &DifferenceSearch<'_, TransformDifference>,
        found: &TransformDifference,
    ) -> serde_json::Result<Self> {
        let made = |outcome: &TransformOutcome| -> serde_json::Result<SideResultRecord> {
            Ok(match outcome {
                TransformOutcome::Ads(ads) => match &ads[..] {
                    [ad] => SideResultRecord::Ad(ad_to_raw_json(ad)?),
                    ads => SideResultRecord::Ads(ads.iter().map(ad_to_raw_json).collect::<Result<_, _>>()?),
                },
                TransformOutcome::Failed(transform, reason) => {
                    SideResultRecord::Failed(format!("{transform}: {reason}"))
                }
            })
        };
        let DifferenceSearch { given, changed, .. } = *search;
        let ad = ad_to_raw_json(&found.ad)?;
        Ok(RulesDifferenceRecord {
            same: false,
            given,
            changed,
            ad,
            left: made(&found.left)?,
            right: made(&found.right)?,
        })
    }
}

fn print_difference(
    arguments: &CompareArguments,
    turns: Option<(u64, u64)>,
    search: &DifferenceSearch<'_, TransformDifference>,
    found: TransformDifference,
) -> anyhow::Result<Status> {
    let names = [arguments.left.display().to_string(), arguments.right.display().to_string()];
    if arguments.wants_rows() {
        print_row(&RulesDifferenceRecord::new(search, &found)?, arguments)?;
    } else {
        let mut text = search.changed_ads_text();
        text.push_str("the rule sets differ; the smallest ad found that they treat differently:\n\n");
        text.push_str(&render_ad(&found.ad));
        if let Some((left, right)) = turns {
            text.push_str(&format!("\nthe first makes {left} from each ad, the second {right}\n"));
        }
        for (name, outcome) in names.iter().zip([&found.left, &found.right]) {
            let result = match outcome {
                TransformOutcome::Ads(ads) => render_turns(&found.ad, ads),
                TransformOutcome::Failed(transform, reason) => format!("  fails: {transform}: {reason}\n"),
            };
            text.push_str(&format!("\n{name}:\n{result}"));
        }
        write_to_stdout(text)?;
    }
    Ok(Status::No)
}

/// Formats the ads that the iterations produce from one ad.
fn render_turns(before: &ClassAd, ads: &[ClassAd]) -> String {
    let changes = |ad| {
        let difference = report::AdDifference::between(before, ad).to_string();
        if difference.is_empty() { "  nothing changes\n".to_owned() } else { difference }
    };
    match ads {
        [ad] => changes(ad),
        ads => {
            let shown_ads = ads.iter().take(MAX_SHOWN_TURNS).enumerate();
            let mut text: String =
                shown_ads.map(|(turn, ad)| format!("  turn {turn}:\n{}", changes(ad))).collect();
            if ads.len() > MAX_SHOWN_TURNS {
                text.push_str("  ...\n");
            }
            text
        }
    }
}

/// Maximum number of iterations of each side that are shown.
const MAX_SHOWN_TURNS: usize = 10;
