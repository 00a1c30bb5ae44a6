//! `htc-router-translate compare`: do two rule sets, or two whole routers, do the same?

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use bstr::ByteSlice;
use clap::Args;

use super::compare_routers;
use super::iteration;
use super::rules::{self, RulesOptions};
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Dialect, format};
use crate::cli::common::{
    ConfigOptions, OutputOptions, Problem, Progress, Session as Program, Status, open_input, pipe_ends,
};
use crate::cli::transform_report as report;
use crate::config::{CommandPolicy, MacroSource};
use crate::os::RealWorld;
use crate::transform::compare::{Comparison, Difference, Outcome, Side};
use crate::transform::cover::{Cover, Random};
use crate::transform::{Session, Transform};
use crate::world::World as _;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The first rules file, or configuration of a router
    #[arg(value_name = "A")]
    pub(super) left: PathBuf,
    /// The second one
    #[arg(value_name = "B")]
    pub(super) right: PathBuf,
    /// Compare on the ads of FILE too; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) ads: Vec<PathBuf>,
    /// Take the files for configurations of routers: routes, transforms, constraint (the usual guess if they set
    /// JOB_ROUTER_ knobs)
    #[arg(long)]
    routers: bool,
    /// Run the commands that rules name ('include command', TRANSFORM from 'prog |'), each once
    #[arg(long, hide_short_help = true)]
    exec: bool,
    /// How many ads are made by chance, beside those that make each condition true and false
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(super) generate: usize,
    /// Begin making ads with this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
}

impl Arguments {
    fn commands(&self) -> CommandPolicy {
        if self.exec { CommandPolicy::BOUNDED } else { CommandPolicy::Refused }
    }
}

/// At most so many of the given ads are also changed to make others.
const MOST_SEEDS: usize = 256;
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
    let world = world.strict(config.as_ref().is_some_and(|config| config.is_strict()));
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
    if comparison.is_alike() {
        return Looked::given((arguments, program), difference)?.tell_alike("ad", arguments, &[]);
    }
    let mut cover = comparison.cover(names, &world);
    let mut looked = Looked::all((arguments, program), &mut cover, difference, |cover| {
        comparison.evaluated(names, cover)
    })?;
    if let Some(found) = looked.found.take() {
        return tell(arguments, (turns, &looked), comparison.shrink(found));
    }
    let unreached = [cover.unreached(), comparison.unreached(names)].concat();
    looked.tell_none("ad", &unreached, &cover, arguments, &[])
}

/// The world with its clock stopped: both sides see one time.
pub(super) fn still_world() -> RealWorld {
    let world = RealWorld::new();
    let now = world.now();
    world.at(now)
}

/// What was looked at.
pub(super) struct Looked<D> {
    pub(super) given: u64,
    pub(super) made: u64,
    /// How many of the given ones differ.
    pub(super) changed: u64,
    /// The first difference.
    pub(super) found: Option<D>,
}

impl<D> Looked<D> {
    /// Only reads the given ads, for two that are one: what goes wrong with them is told.
    pub(super) fn given(
        (arguments, program): (&Arguments, &Program),
        difference: impl Fn(&ClassAd) -> anyhow::Result<Option<D>>,
    ) -> anyhow::Result<Self> {
        let Given { given, changed, found, .. } = Given::read((arguments, program), difference)?;
        Ok(Looked { given, made: 0, changed, found })
    }

    /// Says that the two are one.
    pub(super) fn tell_alike(
        &self,
        what: &str,
        arguments: &Arguments,
        routes: &[String],
    ) -> anyhow::Result<Status> {
        if arguments.output.json || arguments.output.jsonl {
            self.tell_as_json(&[], arguments, routes)?;
        } else if !arguments.output.quiet {
            println(&format!("the two say the same: no {what} can make a difference"))?;
        }
        Ok(Status::Done)
    }

    /// Looks for a difference on the given ads, on those that make each condition true and false, and on some made by chance, until
    /// there is one. `evaluated` adds what was met meanwhile.
    pub(super) fn all(
        (arguments, program): (&Arguments, &Program),
        cover: &mut Cover<'_>,
        difference: impl Fn(&ClassAd) -> anyhow::Result<Option<D>>,
        evaluated: impl Fn(&mut Cover<'_>),
    ) -> anyhow::Result<Self> {
        let Given { given, changed, seeds, found } = Given::read((arguments, program), &difference)?;
        let mut looked = Looked { given, made: 0, changed, found };
        seeds.iter().for_each(|ad| cover.tried(ad));
        let look_further = looked.found.is_none();
        let mut failed = None;
        let progress = Progress::new("comparing jobs", None, arguments.output.quiet);
        let mut look = |ad: &ClassAd| {
            looked.made += 1;
            progress.advance(1);
            match difference(ad) {
                Ok(found) => looked.found = found,
                Err(error) => failed = Some(error),
            }
            looked.found.is_none() && failed.is_none()
        };
        if look_further {
            let mut random = Random(arguments.seed | 1);
            cover.search((&seeds, arguments.generate), &mut random, &mut look, &evaluated);
        }
        failed.map_or(Ok(looked), Err)
    }

    /// Says that there was no difference, and whether that means something.
    pub(super) fn tell_none(
        &self,
        what: &str,
        unreached: &[String],
        cover: &Cover<'_>,
        arguments: &Arguments,
        routes: &[String],
    ) -> anyhow::Result<Status> {
        if arguments.output.json || arguments.output.jsonl {
            self.tell_as_json(unreached, arguments, routes)?;
        } else if !arguments.output.quiet {
            unreached.iter().try_for_each(|line| println(line))?;
            println(&format!("no difference found in {}; {}", self.count(what), reached(unreached, cover)))?;
        }
        Ok(if unreached.is_empty() { Status::Done } else { Status::Undefined })
    }

    fn tell_as_json(
        &self,
        unreached: &[String],
        arguments: &Arguments,
        routes: &[String],
    ) -> anyhow::Result<()> {
        let mut answer = serde_json::json!({
            "same": unreached.is_empty(), "given": self.given, "generated": self.made, "unreached": unreached,
        });
        if !routes.is_empty() {
            answer["routes"] = serde_json::json!(routes);
        }
        print_json(&answer.to_string(), arguments)
    }

    /// How many of the given ones differ, in words.
    pub(super) fn told_changed(&self, what: &str) -> String {
        let (one, verb) = if self.given == 1 { ("", "s") } else { ("s", "") };
        match (self.given, self.changed) {
            (0, _) => String::new(),
            (1, 1) => format!("the given {what} changes\n"),
            (given, 0) => format!("none of {given} given {what}{one} changes; one that was made up does\n"),
            (given, 1) => format!("1 of {given} given {what}{one} changes\n"),
            (given, changed) => format!("{changed} of {given} given {what}{one} change{verb}\n"),
        }
    }

    /// How many ads were looked at, in words.
    pub(super) fn count(&self, what: &str) -> String {
        let number = self.given + self.made;
        format!("{number} {what}{}", if number == 1 { "" } else { "s" })
    }
}

/// What a search that found nothing is worth.
fn reached(unreached: &[String], cover: &Cover<'_>) -> String {
    match (unreached.len(), cover.conditions()) {
        (0, 0) => "no condition depends on them".into(),
        (0, _) => match cover.left_out() {
            0 => "every condition was made true and false".into(),
            number => format!(
                "every condition was made true and false but {number} that both have, which lead to the same in both"
            ),
        },
        (1, _) => "one condition could not be reached".into(),
        (number, _) => format!("{number} conditions could not be reached"),
    }
}

/// What came of the given ads.
pub(super) struct Given<D> {
    /// How many there were.
    pub(super) given: u64,
    /// How many of them make a difference.
    pub(super) changed: u64,
    /// Some of them.
    pub(super) seeds: Vec<ClassAd>,
    /// The first difference.
    pub(super) found: Option<D>,
}

impl<D> Given<D> {
    /// Compares on all of the given ads.
    pub(super) fn read(
        (arguments, program): (&Arguments, &Program),
        difference: impl Fn(&ClassAd) -> anyhow::Result<Option<D>>,
    ) -> anyhow::Result<Self> {
        let mut all = Given { given: 0, changed: 0, seeds: Vec::new(), found: None };
        let progress = Progress::new("given ads", None, arguments.output.quiet);
        for path in &arguments.ads {
            let problem = || Problem::unreadable(format!("cannot read '{}'", path.display()));
            let mut reader = AdReader::new(open_input(path, pipe_ends().0, program)?.0, None);
            while let Some(record) = reader.next_ad().with_context(problem)? {
                all.given += 1;
                progress.advance(1);
                if let Some(found) = difference(&record.ad)? {
                    all.changed += 1;
                    all.found.get_or_insert(found);
                }
                if all.seeds.len() < MOST_SEEDS {
                    all.seeds.push(record.ad);
                }
            }
        }
        Ok(all)
    }
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

/// One JSON value: with --json in an array.
pub(super) fn print_json(object: &str, arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.output.jsonl { println(object) } else { println(&format!("[\n{object}\n]")) }
}

pub(super) fn println(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(Into::into)
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
    session.commands = arguments.commands();
    let plan = iteration::plan(&mut session, rules, None, &mut report::Stderr::new(program))?;
    Ok(Side::new(rules, session, plan))
}

fn tell(
    arguments: &Arguments,
    (turns, looked): (Option<(u64, u64)>, &Looked<Difference>),
    found: Difference,
) -> anyhow::Result<Status> {
    let names = [arguments.left.display().to_string(), arguments.right.display().to_string()];
    if arguments.output.json || arguments.output.jsonl {
        let side = |outcome: &Outcome| match outcome {
            Outcome::Ads(ads) => match &ads[..] {
                [ad] => format!("{{\"ad\":{}}}", lossy(&report::json_line(ad))),
                ads => {
                    let ads: Vec<String> = ads.iter().map(|ad| lossy(&report::json_line(ad))).collect();
                    format!("{{\"ads\":[{}]}}", ads.join(","))
                }
            },
            Outcome::Failed(transform, reason) => {
                serde_json::json!({ "failed": format!("{transform}: {reason}") }).to_string()
            }
        };
        let object = format!(
            "{{\"same\":false,\"given\":{},\"changed\":{},\"ad\":{},\"left\":{},\"right\":{}}}",
            looked.given,
            looked.changed,
            lossy(&report::json_line(&found.ad)),
            side(&found.left),
            side(&found.right)
        );
        print_json(&object, arguments)?;
    } else {
        let mut text = looked.told_changed("ad");
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
        print_text(&text)?;
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

pub(super) fn print_text(text: &str) -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Into::into)
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn shown(ad: &ClassAd) -> String {
    if ad.is_empty() { "  (an ad without attributes)\n".to_owned() } else { lossy(&format::long::print(ad)) }
}
