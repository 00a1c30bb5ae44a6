//! Search for a difference between two sides: first on the given ads, then on generated ones.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::classad::stream::AdForm;
use crate::classad::{ClassAd, format};
use crate::cli::common::{
    AdErrorReporter, ConfigOptions, JsonLineWriter, OutputOptions, Problem, ProgramContext, Progress,
    RowOptions, Status, list_inputs, open_input, open_stdio_pipe, parse_form, write_to_stdout,
};
use crate::cli::transform_report as report;
use crate::os::RealWorld;
use crate::text::plural::counted;
use crate::why::coverage::{ConditionCoverage, SeededRandom};
use crate::world::World as _;

/// Options of `compare`.
#[derive(Args, Debug)]
pub(super) struct CompareArguments {
    /// First rules file, or configuration of a router
    #[arg(value_name = "A")]
    pub(super) left: PathBuf,
    /// Second rules file, or configuration of a router
    #[arg(value_name = "B")]
    pub(super) right: PathBuf,
    /// These ads are compared in addition to the generated ones.
    #[arg(long, value_name = "FILE")]
    pub(super) ads: Vec<PathBuf>,
    /// Read ads in this format: long, json, jsonl, xml, new, newl [default: detected]
    #[arg(long, value_name = "FORM", value_parser = parse_form, hide_short_help = true)]
    pub(super) from: Option<AdForm>,
    /// Compare configurations of routers [default: if they set JOB_ROUTER_*]
    ///
    /// Routes, transforms and JOB_ROUTER_SOURCE_JOB_CONSTRAINT are compared.
    #[arg(long)]
    pub(super) routers: bool,
    /// Run each command that rules name ('include command', TRANSFORM from 'prog |') once
    #[arg(long, hide_short_help = true)]
    pub(super) exec: bool,
    /// Compare on N random ads
    ///
    /// In addition, ads are generated that make each condition true and false.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(super) generate: usize,
    /// Seed of the generated ads.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) rows: RowOptions,
}

impl CompareArguments {
    /// True if the result is printed as JSON or as separated rows.
    pub(super) fn wants_rows(&self) -> bool {
        self.output.wants_json() || self.rows.report_form().is_some()
    }
}

/// Maximum number of given ads that are mutated to generate other ads.
const MAX_SEEDS: usize = 256;
/// Returns a world whose clock does not advance, so that both sides see the same time.
pub(super) fn world_with_stopped_clock() -> RealWorld {
    let world = RealWorld::new();
    let now = world.now();
    world.with_fixed_time(now)
}

/// Progress and result of the search for a difference.
pub(super) struct DifferenceSearch<'a, D> {
    arguments: &'a CompareArguments,
    /// Noun for an ad in messages.
    ad_noun: &'static str,
    /// Number of given ads that were compared.
    pub(super) given: u64,
    /// Number of given ads for which the sides differ.
    pub(super) changed: u64,
    /// Given ads from which other ads are generated.
    seeds: Vec<ClassAd>,
    /// Number of generated ads that were compared.
    pub(super) generated: u64,
    /// First difference that was found, or `None`.
    pub(super) difference: Option<D>,
}

impl<'a, D> DifferenceSearch<'a, D> {
    /// Compares both sides on all given ads.
    pub(super) fn compare_given_ads(
        what: &'static str,
        arguments: &'a CompareArguments,
        program: &ProgramContext,
        difference: impl Fn(&ClassAd) -> anyhow::Result<Option<D>>,
    ) -> anyhow::Result<Self> {
        let mut search = DifferenceSearch {
            arguments,
            ad_noun: what,
            given: 0,
            changed: 0,
            seeds: Vec::new(),
            generated: 0,
            difference: None,
        };
        let progress = Progress::new("given ads", None, arguments.output.quiet);
        for path in list_inputs(&arguments.ads, program)? {
            let (input, name) = open_input(&path, open_stdio_pipe().0, program)?;
            let problem = || Problem::cannot_read(&name);
            let mut errors = AdErrorReporter::new(name.clone(), program);
            let mut reader = program.ad_reader(input);
            while let Some(record) = reader.next_record().with_context(problem)? {
                errors.report(&record)?;
                search.given += 1;
                progress.advance(1);
                if let Some(found) = difference(&record.ad)? {
                    search.changed += 1;
                    search.difference.get_or_insert(found);
                }
                if search.seeds.len() < MAX_SEEDS {
                    search.seeds.push(record.ad);
                }
            }
            errors.end();
        }
        Ok(search)
    }

    /// Searches for a difference, on ads that make each condition true or false and on random ads, until one is found.
    /// `evaluated` adds the conditions that an evaluation reached.
    pub(super) fn search_generated_ads(
        &mut self,
        cover: &mut ConditionCoverage<'_>,
        difference: impl Fn(&ClassAd) -> anyhow::Result<Option<D>>,
        evaluated: impl Fn(&mut ConditionCoverage<'_>),
    ) -> anyhow::Result<()> {
        let DifferenceSearch { arguments, seeds, generated: made, difference: found, .. } = self;
        seeds.iter().for_each(|ad| cover.record_ad(ad));
        if found.is_some() {
            return Ok(());
        }
        let mut failed = None;
        let progress = Progress::new("comparing jobs", None, arguments.output.quiet);
        let mut compare_ad = |ad: &ClassAd| {
            *made += 1;
            progress.advance(1);
            match difference(ad) {
                Ok(difference_of_ad) => *found = difference_of_ad,
                Err(error) => failed = Some(error),
            }
            found.is_none() && failed.is_none()
        };
        let mut random = SeededRandom(arguments.seed | 1);
        cover.search(seeds, arguments.generate, &mut random, &mut compare_ad, &evaluated);
        failed.map_or(Ok(()), Err)
    }

    /// Reports that the two sides are identical.
    pub(super) fn report_identical(&self, routes: &[String]) -> anyhow::Result<Status> {
        if self.arguments.wants_rows() {
            self.report_as_json(&[], routes)?;
        } else if !self.arguments.output.quiet {
            write_to_stdout(format!("the two have the same effect for every {}\n", self.ad_noun))?;
        }
        Ok(Status::Done)
    }

    /// Reports that no difference was found, with the number of tested conditions.
    pub(super) fn report_no_difference(
        &self,
        unreached: &[String],
        cover: &ConditionCoverage<'_>,
        routes: &[String],
    ) -> anyhow::Result<Status> {
        if self.arguments.wants_rows() {
            self.report_as_json(unreached, routes)?;
        } else if !self.arguments.output.quiet {
            let found = format!(
                "no difference found in {}; {}\n",
                self.searched_ads_text(),
                coverage_text(unreached, cover)
            );
            write_to_stdout(to_lines(unreached) + &found)?;
        }
        Ok(if unreached.is_empty() { Status::Done } else { Status::Undefined })
    }

    fn report_as_json(&self, unreached: &[String], routes: &[String]) -> anyhow::Result<()> {
        let mut answer = json!({
            "same": unreached.is_empty(), "given": self.given, "generated": self.generated, "unreached": unreached,
        });
        if !routes.is_empty() {
            answer["routes"] = json!(routes);
        }
        print_row(&answer, self.arguments)
    }

    /// Returns a sentence with the number of given ads for which the sides differ.
    pub(super) fn changed_ads_text(&self) -> String {
        let what = self.ad_noun;
        match (self.given, self.changed) {
            (0, _) => String::new(),
            (1, 0) => {
                format!(
                    "the given {what} is treated the same by both, but a generated one is treated differently\n"
                )
            }
            (1, _) => format!("the given {what} is treated differently\n"),
            (given, 0) => format!(
                "all {given} given {what}s are treated the same by both, but a generated one is treated differently\n"
            ),
            (given, 1) => format!("1 of the {given} given {what}s is treated differently\n"),
            (given, changed) => format!("{changed} of the {given} given {what}s are treated differently\n"),
        }
    }

    /// Returns a phrase with the number of ads that were compared.
    pub(super) fn searched_ads_text(&self) -> String {
        let number = self.given + self.generated;
        format!("{number} {}{}", self.ad_noun, if number == 1 { "" } else { "s" })
    }
}

/// Returns a sentence about the conditions that were tested by a search without a difference.
fn coverage_text(unreached: &[String], cover: &ConditionCoverage<'_>) -> String {
    match (unreached.len(), cover.condition_count()) {
        (0, 0) => "no condition depends on them".into(),
        (0, _) => match cover.skipped_count() {
            0 => "every condition was tested with both outcomes, true and false".into(),
            1 => "every condition was tested with both outcomes, true and false, except 1 that has the same effect in both"
                .into(),
            number => format!(
                "every condition was tested with both outcomes, true and false, except {number} that have the same effect in both"
            ),
        },
        (1, _) => "for one condition no ad was found that makes it true (or false)".into(),
        (number, _) => format!("for {} no ad was found that makes them true (or false)", counted(number, "condition")),
    }
}

/// Prints one row: as a separated row, as a JSON object, or with --json as an array with one object.
pub(super) fn print_row(row: &impl Serialize, arguments: &CompareArguments) -> anyhow::Result<()> {
    if let Some(rows) = arguments.rows.render(&[row], &[])? {
        return write_to_stdout(rows);
    }
    let mut rows = JsonLineWriter::new(open_stdio_pipe().1, arguments.output.json);
    rows.write_value(row)?;
    Ok(rows.end()?)
}

/// Converts an ad to raw JSON.
pub(super) fn ad_to_raw_json(ad: &ClassAd) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(lossy_text(&report::ad_to_json_line(ad)))
}

/// Joins lines, each with its newline.
pub(super) fn to_lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Formats an ad as text.
pub(super) fn render_ad(ad: &ClassAd) -> String {
    if ad.is_empty() {
        "  (an ad without attributes)\n".to_owned()
    } else {
        lossy_text(&format::long::print(ad))
    }
}
