//! Which slots would take a job, and why the others would not.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::ads;
use super::load::{self, MadeUp};
use super::options::Cli;
use super::simulate_why::place;
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Expr};
use crate::cli::common::{InputOptions, Problem, Session, Status, assignment, pipe_ends, read_ads};
use crate::config::Config;
use crate::os::RealWorld;
use crate::runner::slot::at_rest;
use crate::slot::{ExecutionPoint, Offer, SlotKey, consider_ad};
use crate::world::World;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: InputOptions,
    /// Ask these slots, a pool's own ads (condor_status -long), in place of the configuration's
    #[arg(long, value_name = "FILE")]
    slot_ads: Option<PathBuf>,
    /// Let an attribute of all slots have this value, such as LoadAvg=0; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Tell how many of the jobs each slot would take with this configuration in place of the present one
    #[arg(long, value_name = "FILE", conflicts_with = "slot_ads")]
    compare: Option<PathBuf>,
    /// Only these slots, such as slot1
    #[arg(value_name = "SLOT")]
    slots: Vec<String>,
}

/// What one slot would say to one job.
#[derive(Serialize)]
struct Considered {
    slot: String,
    job: String,
    accepted: bool,
    reason: String,
    details: Vec<String>,
    /// Where the attributes that `details` stand in were set.
    places: Vec<String>,
}

/// Slots that can be asked: those of a configuration, or ads of a pool.
enum Slots {
    Configured { machine: Box<ExecutionPoint>, keys: Vec<SlotKey>, config: Box<Config> },
    Ads(Vec<(String, ClassAd)>),
}

impl Slots {
    fn len(&self) -> usize {
        match self {
            Slots::Configured { keys, .. } => keys.len(),
            Slots::Ads(ads) => ads.len(),
        }
    }

    fn name(&self, at: usize) -> String {
        match self {
            Slots::Configured { machine, keys, .. } => machine.slot_id(keys[at]).unwrap_or("?").to_owned(),
            Slots::Ads(ads) => ads[at].0.clone(),
        }
    }

    fn consider(&self, at: usize, job: &ClassAd, world: &dyn World) -> Option<Offer> {
        match self {
            Slots::Configured { machine, keys, .. } => machine.consider(keys[at], job),
            Slots::Ads(ads) => Some(consider_ad(&ads[at].1, job, world)),
        }
    }

    /// Where an attribute of a slot was set.
    fn place(&self, at: usize, attribute: &str, world: &dyn World) -> String {
        let Slots::Configured { machine, keys, config } = self else { return String::new() };
        let type_id = machine.type_id(keys[at]).unwrap_or(0);
        let text = place(Some(config), attribute, type_id, world);
        text.trim_start_matches(", ").to_owned()
    }
}

/// Exit status 0: every job is taken by some slot.
pub(super) fn explain(cli: &Cli, session: &Session, arguments: &Arguments) -> anyhow::Result<Status> {
    let world = Rc::new(RealWorld::new());
    let slots = match &arguments.slot_ads {
        Some(path) => of_pool(path, arguments)?,
        None => configured(cli, session, None, arguments)?,
    };
    let (_, mut output) = pipe_ends();
    let input = &arguments.input;
    let jobs = read_ads(&input.ads, input.strict_input, usize::MAX, session)?;
    if jobs.is_empty() {
        return Err(Problem::unreadable(format!("{}: there is no ad", input.ads.display())).into());
    }
    if let Some(file) = &arguments.compare {
        let other = configured(cli, session, Some(file), arguments)?;
        return compare(cli, (&slots, &other), &jobs, &*world);
    }
    let mut all_taken = true;
    let mut offers = Vec::new();
    let as_rows = cli.output.json || cli.output.jsonl;
    for ad in &jobs {
        let mut taken = false;
        for at in 0..slots.len() {
            let Some(offer) = slots.consider(at, ad, &*world) else { continue };
            taken |= offer.accepted;
            let slot = slots.name(at);
            let job = crate::slot::job_id(ad, &*world);
            let Offer { accepted, reason, details, stand_in } = offer;
            let places: Vec<String> = stand_in.iter().map(|name| slots.place(at, name, &*world)).collect();
            if as_rows {
                offers.push(Considered { slot, job, accepted, reason, details, places });
                continue;
            }
            let word = if accepted { "accepts" } else { "refuses" };
            writeln!(output, "{slot} {word} job {job}: {reason}").context("standard output")?;
            for ((line, name), place) in details.iter().zip(&stand_in).zip(&places) {
                let from = if place.is_empty() { String::new() } else { format!("  [{name}: {place}]") };
                writeln!(output, "    {line}{from}").context("standard output")?;
            }
        }
        all_taken &= taken;
    }
    if let Some(text) = cli.output.rows(&offers)? {
        output.write_all(text.as_bytes()).context("standard output")?;
    }
    output.flush().context("standard output")?;
    Ok(if all_taken { Status::Done } else { Status::No })
}

fn configured(
    cli: &Cli,
    session: &Session,
    file: Option<&PathBuf>,
    arguments: &Arguments,
) -> anyhow::Result<Slots> {
    let loaded = match file {
        None => load::load(cli)?,
        Some(file) => {
            load::load_made_up(cli, &MadeUp { file: Some(file), knobs: &BTreeMap::new(), disk: None })?
        }
    };
    load::warn(session, &loaded.warnings);
    let mut machine = at_rest(loaded.settings, loaded.world);
    for (name, value) in &arguments.set {
        machine.assume(name, &value_of(name, value)?);
    }
    let keys = ads::chosen(&machine, &arguments.slots)?;
    Ok(Slots::Configured { machine: Box::new(machine), keys, config: Box::new(loaded.config) })
}

fn of_pool(path: &Path, arguments: &Arguments) -> anyhow::Result<Slots> {
    let cannot = || Problem::unreadable(format!("cannot read '{}'", path.display()));
    let file = std::fs::File::open(path).with_context(cannot)?;
    let mut reader = AdReader::new(std::io::BufReader::new(file), None);
    let mut ads = Vec::new();
    while let Some(record) = reader.next_ad().with_context(cannot)? {
        let mut ad = record.ad;
        if ad.is_empty() {
            continue;
        }
        for (name, value) in &arguments.set {
            ad.insert(name.as_str(), value_of(name, value)?);
        }
        let name = ad.string("Name").map_or_else(|| format!("ad {}", ads.len() + 1), |name| name.to_string());
        let short = name.split('@').next().unwrap_or(&name);
        let wanted = |it: &String| it.eq_ignore_ascii_case(&name) || it.eq_ignore_ascii_case(short);
        if arguments.slots.is_empty() || arguments.slots.iter().any(wanted) {
            ads.push((name, ad));
        }
    }
    match ads.is_empty() {
        true => {
            Err(Problem::unreadable(format!("'{}': there is no ad of such a slot", path.display())).into())
        }
        false => Ok(Slots::Ads(ads)),
    }
}

fn value_of(name: &str, value: &str) -> anyhow::Result<Expr> {
    Expr::parse(value.as_bytes())
        .map_err(|error| Problem::usage(format!("--set {name}={value}: {error}")).into())
}

/// What one slot takes before and after, and which clause decides.
#[derive(Serialize)]
struct Change {
    slot: String,
    jobs: usize,
    before: usize,
    after: usize,
    /// Jobs that are refused, by the clauses that are not true.
    refused_before: BTreeMap<String, usize>,
    refused_after: BTreeMap<String, usize>,
}

/// Exit status 1: a slot takes other jobs than before.
fn compare(
    cli: &Cli,
    (before, after): (&Slots, &Slots),
    jobs: &[ClassAd],
    world: &dyn World,
) -> anyhow::Result<Status> {
    let mut names: Vec<String> = (0..before.len()).map(|at| before.name(at)).collect();
    names.extend((0..after.len()).map(|at| after.name(at)));
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let mut changes = Vec::new();
    let mut differs = false;
    for slot in names {
        let ask = |slots: &Slots| -> (Vec<bool>, BTreeMap<String, usize>) {
            let at = (0..slots.len()).find(|at| slots.name(*at) == slot);
            let mut clauses = BTreeMap::new();
            let taken = jobs.iter().map(|job| {
                let offer = at.and_then(|at| slots.consider(at, job, world));
                let Some(offer) = offer else { return false };
                for (line, name) in offer.details.iter().zip(&offer.stand_in) {
                    let clause = line.split(" is ").next().unwrap_or(line);
                    *clauses.entry(format!("{name}: {clause}")).or_default() += 1;
                }
                offer.accepted
            });
            (taken.collect(), clauses)
        };
        let (one, refused_before) = ask(before);
        let (other, refused_after) = ask(after);
        differs |= one != other;
        let count = |taken: &[bool]| taken.iter().filter(|taken| **taken).count();
        changes.push(Change {
            slot,
            jobs: jobs.len(),
            before: count(&one),
            after: count(&other),
            refused_before,
            refused_after,
        });
    }
    let (_, mut output) = pipe_ends();
    match cli.output.rows(&changes)? {
        Some(text) => output.write_all(text.as_bytes()).context("standard output")?,
        None => {
            for change in &changes {
                let Change { slot, jobs, before, after, refused_before, refused_after } = change;
                writeln!(output, "{slot}: takes {before} of {jobs} jobs before, {after} after")
                    .context("standard output")?;
                for (clause, count) in refused_after {
                    let was = refused_before.get(clause).copied().unwrap_or(0);
                    writeln!(output, "    {clause}: refuses {was} before, {count} after")
                        .context("standard output")?;
                }
                for (clause, count) in
                    refused_before.iter().filter(|(clause, _)| !refused_after.contains_key(*clause))
                {
                    writeln!(output, "    {clause}: refuses {count} before, none after")
                        .context("standard output")?;
                }
            }
        }
    }
    output.flush().context("standard output")?;
    Ok(if differs { Status::No } else { Status::Done })
}
