//! Which slots would take a job, and why the others would not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use super::decided::{knob, place_in};
use super::options::{Cli, ExplainOptions};
use super::{ads, explain_cron, load};
use crate::classad::references::{self, Names};
use crate::classad::{AttrName, ClassAd, Dialect, Expr};
use crate::cli::common::{Problem, Session, Status, patience, pipe_ends, print_out, read_ads};
use crate::config::Config;
use crate::os::RealWorld;
use crate::quirks::Quirks;
use crate::runner::slot::at_rest;
use crate::slot::{Clause, ExecutionPoint, Offer, SlotKey, SlotPlan, consider_ad};
use crate::text::similar::nearest;
use crate::world::World;

/// What one slot would say to one job.
#[derive(Serialize)]
struct Considered {
    slot: String,
    job: String,
    accepted: bool,
    reason: String,
    details: Vec<Detail>,
}

/// A condition that is not true, and where it was set.
#[derive(Serialize)]
struct Detail {
    #[serde(flatten)]
    clause: Clause,
    /// File and line; empty for slots of a pool.
    place: String,
}

/// Slots that can be asked: those of a configuration, or ads of a pool.
enum Slots {
    Configured {
        machine: Box<ExecutionPoint>,
        keys: Vec<SlotKey>,
        config: Box<Config>,
        /// The numbers of those that call FETCH_WORK.
        fetching: BTreeSet<u32>,
    },
    Ads(Vec<(String, ClassAd)>, Quirks),
}

impl Slots {
    fn len(&self) -> usize {
        match self {
            Slots::Configured { keys, .. } => keys.len(),
            Slots::Ads(ads, _) => ads.len(),
        }
    }

    fn name(&self, at: usize) -> String {
        match self {
            Slots::Configured { machine, keys, .. } => machine.slot_id(keys[at]).unwrap_or("?").to_owned(),
            Slots::Ads(ads, _) => ads[at].0.clone(),
        }
    }

    fn consider(&self, at: usize, job: &ClassAd, world: &dyn World) -> Option<Offer> {
        match self {
            Slots::Configured { machine, keys, fetching, .. } => {
                let offer = machine.consider(keys[at], job)?;
                Some(if fetching.contains(&keys[at].number) { offer } else { offer.to_a_claim() })
            }
            Slots::Ads(ads, quirks) => Some(consider_ad(&ads[at].1, job, world, *quirks)),
        }
    }

    /// How jobs are read: as the configuration of the slots says.
    fn dialect(&self) -> Dialect {
        let is_strict = matches!(self, Slots::Configured { config, .. } if config.is_strict());
        Dialect::new_syntax().strict(is_strict)
    }

    /// Where an attribute of a slot was set.
    fn place(&self, at: usize, attribute: &str, world: &dyn World) -> String {
        let Slots::Configured { machine, keys, config, .. } = self else { return String::new() };
        let type_id = machine.type_id(keys[at]).unwrap_or(0);
        place_in(config, type_id, knob(attribute), world)
    }
}

/// What is to be told, and the names that slots have or ask for.
#[derive(Default)]
struct Heard {
    warnings: Vec<String>,
    known: Names,
}

impl Heard {
    /// Two configurations may well say the same.
    fn warn(&mut self, warnings: Vec<String>) {
        let new: Vec<String> =
            warnings.into_iter().filter(|warning| !self.warnings.contains(warning)).collect();
        self.warnings.extend(new);
    }

    /// What ads have, and what their expressions ask for.
    fn know<'a>(&mut self, ads: impl IntoIterator<Item = &'a ClassAd>) {
        for (attribute, expr) in ads.into_iter().flat_map(ClassAd::iter) {
            self.known.insert(attribute.into());
            self.known.extend(references::every(&expr));
        }
    }

    /// Why it may be a slip to set an attribute: no slot has it, and no expression of theirs or of the jobs asks for it.
    fn unasked(&self, arguments: &ExplainOptions, jobs: &[ClassAd]) -> Vec<String> {
        let mut known = self.known.clone();
        for (_, expr) in jobs.iter().flat_map(ClassAd::iter) {
            known.extend(references::every(&expr));
        }
        let names = arguments.set.iter().map(|(name, _)| name.as_str());
        let unknown = names.filter(|name| !known.contains(&AttrName::from(*name)));
        unknown.map(|name| unasked(name, &known)).collect()
    }
}

/// Exit status 0: every job is taken by some slot.
pub(super) fn explain(cli: &Cli, session: &Session, arguments: &ExplainOptions) -> anyhow::Result<Status> {
    let mut heard = Heard::default();
    // While others are waited for nothing of ours runs.
    let wait =
        || patience(cli.end, session, "the time given with --timeout is over before all slots were asked");
    let (slots, other) = match &arguments.slot_ads {
        Some(path) => {
            wait();
            (of_pool((cli, session), path, arguments, &mut heard)?, None)
        }
        None => {
            let slots = configured((cli, session), None, arguments, &mut heard)?;
            let other = arguments.compare.as_deref();
            let other = other.map(|file| configured((cli, session), Some(file), arguments, &mut heard));
            let other = other.transpose()?;
            wait();
            (slots, other)
        }
    };
    let input = &arguments.input;
    let jobs = read_ads(&input.ads, input.strict_input, usize::MAX, &session.reading(slots.dialect()))?;
    if jobs.is_empty() {
        return Err(Problem::unreadable(format!("{}: there is no ad", input.ads.display())).into());
    }
    load::warn(session, &heard.warnings);
    load::warn(session, &heard.unasked(arguments, &jobs));
    let world = RealWorld::new();
    match arguments.compare.as_ref().zip(other) {
        Some((file, other)) => {
            let heading = super::simulate_compare::heading(&cli.config.name(), file);
            compare((cli, &heading), (&slots, &other), &jobs, &world)
        }
        None => tell(cli, &slots, &jobs, &world),
    }
}

/// What each slot says to each job.
fn tell(cli: &Cli, slots: &Slots, jobs: &[ClassAd], world: &dyn World) -> anyhow::Result<Status> {
    let (_, mut output) = pipe_ends();
    let mut all_taken = true;
    let mut offers = Vec::new();
    let as_rows = cli.output.wants_json();
    for ad in jobs {
        let mut taken = false;
        for at in 0..slots.len() {
            let Some(offer) = slots.consider(at, ad, world) else { continue };
            taken |= offer.accepted;
            let slot = slots.name(at);
            let job = crate::slot::job_id(ad, world);
            let Offer { accepted, mut reason, details, unfit_to_claim } = offer;
            if let Some(unfit) = unfit_to_claim {
                reason += &format!("; whoever claims it for the job is refused: {}", unfit.reason);
            }
            let placed = |clause: Clause| {
                let place = slots.place(at, &clause.attribute, world);
                Detail { clause, place }
            };
            let details: Vec<Detail> = details.into_iter().map(placed).collect();
            if as_rows {
                offers.push(Considered { slot, job, accepted, reason, details });
                continue;
            }
            let word = if accepted { "accepts" } else { "refuses" };
            writeln!(output, "{slot} {word} job {job}: {reason}").context("standard output")?;
            for line in below(&reason, &details) {
                writeln!(output, "    {line}").context("standard output")?;
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

/// The lines below a refusal: where its reason was set, and the other conditions that are not true.
fn below(reason: &str, details: &[Detail]) -> Vec<String> {
    let condition =
        reason.split_once(" is not true for this job: ").map_or(reason, |(_, condition)| condition);
    let said = |it: &Detail| condition.starts_with(it.clause.text.trim_end_matches("..."));
    let said = details.iter().position(said);
    let line = |(at, Detail { clause, place }): (usize, &Detail)| {
        let from = if place.is_empty() { String::new() } else { format!("[{}: {place}]", clause.attribute) };
        match (Some(at) == said, from.is_empty()) {
            (true, true) => None,
            (true, false) => Some(from),
            (false, true) => Some(clause.to_string()),
            (false, false) => Some(format!("{clause}  {from}")),
        }
    };
    details.iter().enumerate().filter_map(line).collect()
}

fn configured(
    (cli, session): (&Cli, &Session),
    file: Option<&Path>,
    arguments: &ExplainOptions,
    heard: &mut Heard,
) -> anyhow::Result<Slots> {
    let loaded = load::load_to_ask(cli, file)?;
    heard.warn(loaded.warnings);
    let fetches = |slot: &&SlotPlan| slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
    let fetching = loaded.settings.slots.iter().filter(fetches).map(|slot| slot.number).collect();
    let mut machine = at_rest(loaded.settings, loaded.world);
    if let Some(path) = &arguments.cron {
        explain_cron::given(&mut machine, path, cli.quirks.quirks)?;
    } else if arguments.run_cron {
        explain_cron::run_first(&mut machine, cli, session)?;
    }
    let ads: Vec<ClassAd> = machine.slots().filter_map(|(key, ..)| machine.sent_ad(key)).collect();
    heard.know(&ads);
    for (name, value) in &arguments.set {
        machine.assume(name, &value_of(name, value)?);
    }
    let keys = ads::chosen(&machine, &arguments.slots)?;
    let (machine, config) = (Box::new(machine), Box::new(loaded.config));
    Ok(Slots::Configured { machine, keys, config, fetching })
}

fn of_pool(
    (cli, session): (&Cli, &Session),
    path: &Path,
    arguments: &ExplainOptions,
    heard: &mut Heard,
) -> anyhow::Result<Slots> {
    if path == Path::new("-") && arguments.input.ads == Path::new("-") {
        return Err(Problem::usage("--slot-ads and --ads are both standard input").into());
    }
    let mut ads = Vec::new();
    let read = read_ads(path, arguments.input.strict_input, usize::MAX, session)?;
    heard.know(&read);
    for mut ad in read {
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
        false => Ok(Slots::Ads(ads, cli.quirks.quirks)),
    }
}

/// That nobody knows the name, with the one that was meant.
fn unasked(name: &str, known: &Names) -> String {
    let known: Vec<String> =
        known.iter().map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()).collect();
    let lower: Vec<String> = known.iter().map(|name| name.to_ascii_lowercase()).collect();
    let near = nearest(name.to_ascii_lowercase(), lower.iter().map(String::as_str));
    let near = near.and_then(|near| known.iter().find(|name| name.eq_ignore_ascii_case(near)));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!(
        "--set {name}: no slot has such an attribute, and no expression of theirs or of a job asks for it{hint}"
    )
}

fn value_of(name: &str, value: &str) -> anyhow::Result<Expr> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.bytes().all(is_name) || name.starts_with(|first: char| first.is_ascii_digit()) {
        let problem = format!("--set {name}={value}: '{name}' is no name of an attribute");
        return Err(Problem::usage(problem).into());
    }
    Expr::parse_with(value.as_bytes(), Dialect::old_syntax())
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

impl Change {
    /// For people.
    fn told(&self) -> String {
        let Change { slot, jobs, before, after, refused_before, refused_after } = self;
        let mut text = format!("{slot}: takes {before} of {jobs} jobs before, {after} after\n");
        let gone = refused_before.keys().filter(|clause| !refused_after.contains_key(*clause));
        for clause in refused_after.keys().chain(gone) {
            let count = |refused: &BTreeMap<String, usize>| {
                refused.get(clause).map_or_else(|| "none".to_owned(), ToString::to_string)
            };
            let (before, after) = (count(refused_before), count(refused_after));
            text += &format!("    {clause}: refuses {before} before, {after} after\n");
        }
        text
    }
}

/// Exit status 1: a slot takes other jobs than before.
fn compare(
    (cli, heading): (&Cli, &str),
    (before, after): (&Slots, &Slots),
    jobs: &[ClassAd],
    world: &dyn World,
) -> anyhow::Result<Status> {
    let mut names: Vec<String> = (0..before.len()).map(|at| before.name(at)).collect();
    names.extend((0..after.len()).map(|at| after.name(at)));
    let mut seen = BTreeSet::new();
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
                for clause in &offer.details {
                    *clauses.entry(format!("{}: {}", clause.attribute, clause.text)).or_default() += 1;
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
    let text = || changes.iter().fold(heading.to_owned(), |text, change| text + &change.told());
    print_out(cli.output.rows(&changes)?.unwrap_or_else(text))?;
    Ok(if differs { Status::No } else { Status::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_with_its_place() {
        let detail = |text: &str, place: &str| Detail {
            clause: Clause {
                attribute: "START".into(),
                text: text.into(),
                value: "false".into(),
                seen: vec!["A = 1".into()],
            },
            place: place.into(),
        };
        let details = [detail("A > 2", "c, line 1"), detail("A > 3", "c, line 2"), detail("A > 4", "")];
        let reason = "START is not true for this job: A > 2 is false (A = 1)";
        assert_eq!(
            below(reason, &details),
            ["[START: c, line 1]", "A > 3 is false (A = 1)  [START: c, line 2]", "A > 4 is false (A = 1)"]
        );
        assert_eq!(below("the slot is broken: no memory", &details[2..]), ["A > 4 is false (A = 1)"]);
        assert_eq!(below("A > 4 is false", &details[2..]), Vec::<String>::new());
        // A long one is cut in the list.
        let long = format!("START is not true for this job: {} > 2 is false", "A".repeat(200));
        let details = [detail(&format!("{}...", "A".repeat(120)), "c, line 9")];
        assert_eq!(below(&long, &details), ["[START: c, line 9]"]);
    }
}
