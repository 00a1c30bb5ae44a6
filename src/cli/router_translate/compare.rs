//! `htc-router-translate compare`: do two rule sets, or two whole routers, do the same?

use std::fs::File;
use std::io::Read;

use bstr::ByteSlice;
use serde::Serialize;
use serde_json::value::RawValue;

use super::compare_routers;
use super::compare_search::{Arguments, Looked, ad_in_row, print_row, shown, still_world};
use super::iteration;
use super::rules::{self, RulesOptions};
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::{Session as Program, Status, print_out};
use crate::cli::transform_report as report;
use crate::config::{CommandPolicy, MacroSource};
use crate::os::RealWorld;
use crate::runner::configured_world;
use crate::transform::{Session, Transform};
use crate::why::transforms::{Comparison, Difference, Outcome, Side};

/// How much of a file is looked at to see what it is, in bytes.
const LOOKED_AT: u64 = 16 << 20;

/// Carries it out: 0 when no difference was found, 1 with the smallest ad otherwise.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    if arguments.routers || [&arguments.left, &arguments.right].into_iter().any(|path| is_configuration(path))
    {
        return compare_routers::run(arguments, program);
    }
    let world = still_world();
    let config = rules::load_config(&arguments.config, &RulesOptions::default(), &world, program)?;
    let world = match &config {
        Some(config) => configured_world(world, config, &mut |text| program.warn(text)),
        None => world,
    };
    let view = config.as_ref().map(|config| config.view(&world));
    let knobs = view.as_ref().map(|view| view as &dyn MacroSource);
    let (left, right) =
        (load(&arguments.left, Dialect::of(&world))?, load(&arguments.right, Dialect::of(&world))?);
    let side = |rules| side(rules, arguments, (&world, knobs), program);
    let comparison = Comparison { left: side(&left)?, right: side(&right)? };
    let turns = comparison.turns();
    let difference = |ad: &ClassAd| {
        comparison.difference(ad).map_err(|failure| report::failure(&failure, Status::Unreadable))
    };
    let names = [arguments.left.display().to_string(), arguments.right.display().to_string()];
    let names = [names[0].as_str(), names[1].as_str()];
    let mut looked = Looked::given("ad", (arguments, program), difference)?;
    if comparison.is_alike() {
        return looked.tell_alike(&[]);
    }
    let mut cover = comparison.cover(names, &world);
    looked.search(&mut cover, difference, |cover| comparison.evaluated(names, cover))?;
    if let Some(found) = looked.found.take() {
        return tell(arguments, (turns, &looked), comparison.shrink(found));
    }
    let unreached = [cover.unreached(), comparison.unreached(names)].concat();
    looked.tell_none(&unreached, &cover, &[])
}

/// Whether a file sets knobs of the router; one that cannot be read is complained of later.
fn is_configuration(path: &std::path::Path) -> bool {
    let mut text = Vec::new();
    if let Ok(file) = File::open(path) {
        let _ = file.take(LOOKED_AT).read_to_end(&mut text);
    }
    ByteSlice::lines(text.as_slice()).any(|line| {
        let line = line.trim_start();
        let knob = line.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"JOB_ROUTER_"));
        knob && line.contains(&b'=')
    })
}

fn load(path: &std::path::Path, dialect: Dialect) -> anyhow::Result<[Transform; 1]> {
    let text = rules::read(path)?;
    Transform::from_file(&path.to_string_lossy(), &text, dialect)
        .map(|transform| [transform])
        .map_err(|error| report::load_error(&error, Status::Unreadable))
}

/// A rule set with what it sees. Its commands are run only with --exec, and once.
fn side<'a>(
    rules: &'a [Transform],
    arguments: &Arguments,
    (world, knobs): (&'a RealWorld, Option<&'a dyn MacroSource>),
    program: &'a Program,
) -> anyhow::Result<Side<'a>> {
    let mut session = Session::new(world, knobs);
    session.commands = if arguments.exec { CommandPolicy::BOUNDED } else { CommandPolicy::Refused };
    let plan = iteration::plan(&mut session, rules, None, &mut report::Stderr::new(program))?;
    Ok(Side::new(rules, session, plan))
}

/// A difference for programs.
#[derive(Serialize)]
struct Row {
    same: bool,
    given: u64,
    changed: u64,
    ad: Box<RawValue>,
    left: Made,
    right: Made,
}

/// What one side makes of the ad.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Made {
    Ad(Box<RawValue>),
    Ads(Vec<Box<RawValue>>),
    Failed(String),
}

impl Row {
    fn new(looked: &Looked<'_, Difference>, found: &Difference) -> serde_json::Result<Self> {
        let made = |outcome: &Outcome| -> serde_json::Result<Made> {
            Ok(match outcome {
                Outcome::Ads(ads) => match &ads[..] {
                    [ad] => Made::Ad(ad_in_row(ad)?),
                    ads => Made::Ads(ads.iter().map(ad_in_row).collect::<Result<_, _>>()?),
                },
                Outcome::Failed(transform, reason) => Made::Failed(format!("{transform}: {reason}")),
            })
        };
        let Looked { given, changed, .. } = *looked;
        let ad = ad_in_row(&found.ad)?;
        Ok(Row { same: false, given, changed, ad, left: made(&found.left)?, right: made(&found.right)? })
    }
}

fn tell(
    arguments: &Arguments,
    (turns, looked): (Option<(u64, u64)>, &Looked<'_, Difference>),
    found: Difference,
) -> anyhow::Result<Status> {
    let names = [arguments.left.display().to_string(), arguments.right.display().to_string()];
    if arguments.output.wants_json() {
        print_row(&Row::new(looked, &found)?, arguments)?;
    } else {
        let mut text = looked.told_changed();
        text.push_str("the rule sets differ; the smallest ad found on which they do:\n\n");
        text.push_str(&shown(&found.ad));
        if let Some((left, right)) = turns {
            text.push_str(&format!("\nof each ad the first makes {left}, the second {right}\n"));
        }
        for (name, outcome) in names.iter().zip([&found.left, &found.right]) {
            let result = match outcome {
                Outcome::Ads(ads) => shown_turns(&found.ad, ads),
                Outcome::Failed(transform, reason) => format!("  fails: {transform}: {reason}\n"),
            };
            text.push_str(&format!("\n{name}:\n{result}"));
        }
        print_out(text)?;
    }
    Ok(Status::No)
}

/// What each turn makes of an ad.
fn shown_turns(before: &ClassAd, ads: &[ClassAd]) -> String {
    let changes = |ad| {
        let difference = report::Difference::between(before, ad).to_string();
        if difference.is_empty() { "  nothing changes\n".to_owned() } else { difference }
    };
    match ads {
        [ad] => changes(ad),
        ads => {
            let told = ads.iter().take(MOST_SHOWN).enumerate();
            let mut text: String =
                told.map(|(turn, ad)| format!("  turn {turn}:\n{}", changes(ad))).collect();
            if ads.len() > MOST_SHOWN {
                text.push_str("  ...\n");
            }
            text
        }
    }
}

/// Of so many turns it is told what they do.
const MOST_SHOWN: usize = 10;
