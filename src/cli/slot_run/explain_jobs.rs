//! `explain`: shows which slots would accept a job, and why the others refuse it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::job_stream::{JobStream, job_name};
use super::options::{ExplainOptions, SlotRunCli};
use super::{control_client, explain_cron, negotiator_notes, slot_ads, slot_config};
use crate::classad::format::long;
use crate::classad::{ClassAd, Dialect, Expr};
use crate::cli::common::{
    Problem, ProgramContext, RowOptions, Status, exit_at_deadline, open_stdio_pipe, read_ads,
    stdin_twice_problem, write_to_stdout,
};
use crate::cli::explain::ExplanationReport;
use crate::job::attr::CLUSTER_ID;
use crate::runner::slot::{
    CandidateSlots, KnownAttributes, OfferChange, PoolSlots, SlotControlRequest, SlotDecision,
    UnmetCondition, offer_changes, passive_execution_point,
};
use crate::slot::{EvaluatedCondition, SlotPlan};
use crate::text::plural::counted;
use crate::why::matching::{AdPool, Analysis, JobGrouper, MachineSlots, NegotiatedSlots, PairHints, SlotSet};
use crate::world::World;

/// Maximum number of pairs of a job and a slot that are printed one by one.
const MAX_PAIRS: usize = 10;

/// Number of jobs for which hints about pairs are prepared together.
const HINTED_JOBS: usize = 1000;

/// Maximum number of slots that a message names.
const MAX_NAMED_SLOTS: usize = 5;

/// Keys of the decision of a slot on a job.
const OFFER_KEYS: [&str; 5] = ["slot", "job", "accepted", "reason", "details"];

/// Keys of the change of the jobs that a slot accepts.
const CHANGE_KEYS: [&str; 6] = ["slot", "jobs", "before", "after", "refused_before", "refused_after"];

/// Warnings to print, and the names of attributes that slots have or to which their expressions refer.
#[derive(Default)]
struct CollectedWarnings {
    warnings: Vec<String>,
    known: KnownAttributes,
}

impl CollectedWarnings {
    /// Adds warnings that are not in the list. Two configurations may cause the same warnings.
    fn add_new_warnings(&mut self, warnings: Vec<String>) {
        let new: Vec<String> =
            warnings.into_iter().filter(|warning| !self.warnings.contains(warning)).collect();
        self.warnings.extend(new);
    }

    /// Returns warnings about set attributes that are probably misspelled: no slot has them, and no
    /// expression of slots or jobs refers to them.
    fn unknown_attribute_warnings(&self, arguments: &ExplainOptions, jobs: &[ClassAd]) -> Vec<String> {
        let names = arguments.set.iter().map(|(name, _)| name.as_str());
        let warning = |(name, near): (&str, Option<String>)| {
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!(
                "--set {name}: no slot has this attribute, and no expression of a slot or job refers to it{hint}"
            )
        };
        self.known.unreferenced_names(names, jobs).into_iter().map(warning).collect()
    }
}

/// Runs the verb. The exit status is 0 if every job is accepted by some slot.
pub(super) fn explain_jobs(
    cli: &SlotRunCli,
    session: &ProgramContext,
    arguments: &ExplainOptions,
) -> anyhow::Result<Status> {
    refuse_files_as_slots(arguments)?;
    let mut collected = CollectedWarnings::default();
    // No other work is pending while the program waits for the processes.
    let start_time_limit = || {
        exit_at_deadline(
            cli.end,
            session,
            "the time limit (--timeout) expired before all slots were compared",
        )
    };
    let (slots, other) = match (&arguments.slot_ads, arguments.is_about_running_slots()) {
        (Some(path), _) => {
            start_time_limit();
            (pool_slots(cli, session, path, arguments, &mut collected)?, None)
        }
        (None, true) => {
            start_time_limit();
            (running_slots(cli, session, arguments, &mut collected)?, None)
        }
        (None, false) => {
            let slots = configured_slots(cli, session, None, arguments, &mut collected)?;
            let other = arguments.compare.as_deref();
            let other =
                other.map(|file| configured_slots(cli, session, Some(file), arguments, &mut collected));
            let other = other.transpose()?;
            start_time_limit();
            (slots, other)
        }
    };
    slot_config::warn_once(session, &collected.warnings);
    let world = slot_config::query_world(cli);
    let session_of_jobs = session.with_dialect(slots.dialect());
    let mut stream = JobStream::open(arguments, &session_of_jobs)?;
    let jobs = stream.take(jobs_for_pairs(cli, arguments, slots.names().len()))?;
    slot_config::warn_once(session, &unlikely_job_warnings(&jobs, &arguments.input.names()));
    slot_config::warn_once(session, &negotiator_notes::conditions_beyond_ads(&jobs, &slots, &world));
    if let Some((file, other)) = arguments.compare.as_ref().zip(other) {
        slot_config::warn_once(session, &collected.unknown_attribute_warnings(arguments, &jobs));
        let heading = super::simulate_compare::heading(&cli.config.display_name(), file);
        return compare_slots((cli, arguments.rows), &heading, &slots, &other, &jobs, &world);
    }
    // Without jobs, a summary or web page is about the slots alone.
    let is_about_slots = jobs.is_empty() && wants_summary(arguments);
    if stream.is_finished() && !is_about_slots {
        slot_config::warn_once(session, &collected.unknown_attribute_warnings(arguments, &jobs));
        slot_config::warn_once(session, &negotiator_notes::notes_about_jobs(&jobs, &slots, &world));
        return print_answers(cli, arguments, &slots, &jobs, &world);
    }
    let set = slot_set(&slots, &world);
    let mut grouper = JobGrouper::new(&*set);
    (1..).zip(jobs).for_each(|(number, job)| grouper.add(job_name(&job, number, set.world()), job));
    stream.group_rest(&mut grouper, set.world())?;
    let analysis = Analysis::new(&*set, grouper);
    let job_ads = analysis.job_ads();
    slot_config::warn_once(session, &collected.unknown_attribute_warnings(arguments, &job_ads));
    slot_config::warn_once(session, &negotiator_notes::notes_about_jobs(&job_ads, &slots, set.world()));
    let ExplainOptions { by_slot, any, html, rows, .. } = arguments;
    ExplanationReport {
        output: &cli.output,
        rows: *rows,
        by_slot: *by_slot,
        html: html.as_deref(),
        any: *any,
    }
    .print(&analysis)
}

/// Returns the slots in the form that explanations need. `world` is used for slots that are known only by their ads.
fn slot_set<'a>(slots: &'a CandidateSlots, world: &'a dyn World) -> Box<dyn SlotSet + 'a> {
    match slots {
        CandidateSlots::Configured { machine, keys, fetching, .. } => {
            let place = |slot: usize, attribute: &str| slots.attribute_place(slot, attribute, world);
            let unpublished = |slot: usize, attribute: &str| slots.unpublished_place(slot, attribute, world);
            let set = MachineSlots::new(machine, keys, fetching)
                .with_setting_places(place)
                .with_unpublished_macros(unpublished);
            Box::new(NegotiatedSlots::new(set))
        }
        CandidateSlots::Ads(PoolSlots { ads, fetching, counts_claims, quirks }) => {
            let pool =
                AdPool::from_borrowed(ads, world).quirks(*quirks).with_fetching_slots(fetching.clone());
            Box::new(NegotiatedSlots::new(if *counts_claims { pool.with_claims() } else { pool }))
        }
    }
}

/// True if an option requests a summary of all jobs and slots.
fn wants_summary(arguments: &ExplainOptions) -> bool {
    arguments.summary || arguments.by_slot || arguments.html.is_some()
}

/// Returns the maximum number of jobs for which each pair of a job and a slot is printed.
fn jobs_for_pairs(cli: &SlotRunCli, arguments: &ExplainOptions, slots: usize) -> usize {
    let summary = wants_summary(arguments);
    let has_rows = cli.output.wants_json() || arguments.rows.report_form().is_some();
    let all = arguments.pairs || arguments.compare.is_some() || (has_rows && !summary);
    match (all, summary) {
        (true, _) => usize::MAX,
        (false, true) => 0,
        (false, false) => MAX_PAIRS / slots.max(1),
    }
}

/// Prints each slot's answer for each job.
fn print_answers(
    cli: &SlotRunCli,
    arguments: &ExplainOptions,
    slots: &CandidateSlots,
    jobs: &[ClassAd],
    world: &dyn World,
) -> anyhow::Result<Status> {
    let (_, mut output) = open_stdio_pipe();
    let (mut all_accepted, mut any_accepted) = (true, false);
    let mut offers = Vec::new();
    let as_rows = cli.output.wants_json() || arguments.rows.report_form().is_some();
    let set = slot_set(slots, world);
    let mut hints = None;
    for (at_job, ad) in jobs.iter().enumerate() {
        if arguments.pairs && !as_rows && at_job % HINTED_JOBS == 0 {
            let end_job = jobs.len().min(at_job + HINTED_JOBS);
            hints = Some(PairHints::new(&*set, &jobs[at_job..end_job]));
        }
        let mut decisions = slots.consider(ad, world);
        let is_accepted = decisions.iter().any(|it| it.accepted);
        (all_accepted, any_accepted) = (all_accepted && is_accepted, any_accepted || is_accepted);
        if as_rows {
            offers.append(&mut decisions);
            continue;
        }
        let job = job_name(ad, at_job as u64 + 1, set.world());
        for (at, SlotDecision { slot, accepted, reason, details, .. }) in decisions.into_iter().enumerate() {
            let word = if accepted { "accepts" } else { "refuses" };
            writeln!(output, "{slot} {word} job {job}: {reason}").context("standard output")?;
            for line in refusal_details(&reason, &details) {
                writeln!(output, "    {line}").context("standard output")?;
            }
            let hints = hints.as_mut().filter(|_| !accepted && set.name(at) == slot);
            let hints = hints.map(|hints| hints.hints_for_pair(at_job % HINTED_JOBS, at));
            for hint in hints.unwrap_or_default() {
                writeln!(output, "    hint: {hint}").context("standard output")?;
            }
        }
    }
    if let Some(text) = cli.output.render_json(&offers)? {
        output.write_all(text.as_bytes()).context("standard output")?;
    } else if let Some(rows) = arguments.rows.render(&offers, &OFFER_KEYS)? {
        output.write_all(&rows).context("standard output")?;
    }
    if !as_rows && !arguments.pairs && !all_accepted {
        let summary = summary_after_pairs(&*set, jobs);
        write!(output, "\n{summary}").context("standard output")?;
    }
    output.flush().context("standard output")?;
    let is_yes = if arguments.any { any_accepted } else { all_accepted };
    Ok(if is_yes { Status::Done } else { Status::No })
}

/// Returns the summary that follows the list of all pairs.
fn summary_after_pairs(slots: &dyn SlotSet, jobs: &[ClassAd]) -> String {
    let mut grouper = JobGrouper::new(slots);
    (1..).zip(jobs).for_each(|(number, job)| grouper.add(job_name(job, number, slots.world()), job.clone()));
    crate::cli::explain::summary_text(&Analysis::new(slots, grouper))
}

/// Returns the lines below a refusal: the place where its condition is set, and the other conditions that are not true.
fn refusal_details(reason: &str, details: &[UnmetCondition]) -> Vec<String> {
    let condition = [" is not true for this job: ", " are not true for this slot: "]
        .iter()
        .find_map(|words| reason.split_once(words))
        .map_or(reason, |(_, condition)| condition);
    let is_in_reason = |it: &UnmetCondition| {
        let EvaluatedCondition { attribute, text, value, .. } = &it.clause;
        condition.starts_with(text.trim_end_matches("..."))
            || condition.starts_with(&format!("{attribute} is {value}"))
    };
    let in_reason = details.iter().position(is_in_reason);
    let line = |(at, UnmetCondition { clause, place }): (usize, &UnmetCondition)| {
        let origin =
            if place.is_empty() { String::new() } else { format!("[{}: {place}]", clause.attribute) };
        match (Some(at) == in_reason, origin.is_empty()) {
            (true, true) => None,
            (true, false) => Some(origin),
            (false, true) if clause.attribute == "WithinResourceLimits" => Some(match in_reason {
                Some(first) if details[first].clause.text == clause.text => {
                    "WithinResourceLimits has the same condition".to_owned()
                }
                _ => format!("{clause}  [WithinResourceLimits]"),
            }),
            (false, true) => Some(clause.to_string()),
            (false, false) => Some(format!("{clause}  {origin}")),
        }
    };
    details.iter().enumerate().filter_map(line).collect()
}

fn configured_slots(
    cli: &SlotRunCli,
    session: &ProgramContext,
    file: Option<&Path>,
    arguments: &ExplainOptions,
    collected: &mut CollectedWarnings,
) -> anyhow::Result<CandidateSlots> {
    let loaded = slot_config::load_for_query(cli, file, session)?;
    collected.add_new_warnings(loaded.warnings);
    let fetches = |slot: &&SlotPlan| slot.hooks.as_ref().is_some_and(|hooks| hooks.fetch.is_some());
    let fetching = loaded.settings.slots.iter().filter(fetches).map(|slot| slot.number).collect();
    let mut machine = passive_execution_point(loaded.settings, loaded.world);
    if let Some(path) = &arguments.cron {
        let publish = || explain_cron::publish_attribute_file(&mut machine, path, cli.quirks.quirks);
        slot_config::input_watch(cli, session).wait_for(publish)?;
    } else if arguments.run_cron {
        explain_cron::run_cron_jobs_once(&mut machine, cli, session)?;
    }
    // Only --set has names that may be misspelled.
    if !arguments.set.is_empty() {
        let ads: Vec<ClassAd> = machine.slots().filter_map(|(key, ..)| machine.sent_ad(key)).collect();
        collected.known.add_ads(&ads);
    }
    for (name, value) in &arguments.set {
        machine.override_attribute(name, &attribute_value(name, value)?);
    }
    let keys = slot_ads::select_slots(&machine, &arguments.slots)?;
    let (machine, config) = (Box::new(machine), Box::new(loaded.config));
    Ok(CandidateSlots::Configured { machine, keys, config, fetching, commander: slot_config::COMMAND_LINE })
}

fn pool_slots(
    cli: &SlotRunCli,
    session: &ProgramContext,
    path: &Path,
    arguments: &ExplainOptions,
    collected: &mut CollectedWarnings,
) -> anyhow::Result<CandidateSlots> {
    // Ads are read from standard input if no option names them.
    if path == Path::new("-") && arguments.input.reads_stdin() {
        return Err(stdin_twice_problem("--ads", "--slot-ads").into());
    }
    let (mut ads, mut names) = (Vec::new(), Vec::new());
    let all_ads = read_ads(&[path.to_owned()], arguments.input.strict_input, usize::MAX, session)?;
    if !arguments.set.is_empty() {
        collected.known.add_ads(&all_ads);
    }
    for mut ad in all_ads {
        override_attributes(&mut ad, arguments)?;
        let name =
            ad.string("Name").map_or_else(|| format!("ad {}", names.len() + 1), |name| name.to_string());
        names.push(name.clone());
        if is_selected(&name, arguments) {
            ads.push((name, ad));
        }
    }
    match ads.is_empty() {
        true => Err(missing_slot_problem(path, &names, arguments).into()),
        false => Ok(CandidateSlots::Ads(PoolSlots {
            ads,
            fetching: BTreeSet::new(),
            counts_claims: !arguments.ignore_claims,
            quirks: cli.quirks.quirks,
        })),
    }
}

/// Refuses names of files in place of names of slots.
fn refuse_files_as_slots(arguments: &ExplainOptions) -> anyhow::Result<()> {
    let is_file =
        |name: &&String| !name.to_ascii_lowercase().starts_with("slot") && Path::new(name).is_file();
    let mut files = arguments.slots.iter().filter(is_file);
    let Some(first) = files.next() else { return Ok(()) };
    let second = files.next().map_or_else(String::new, |second| format!(" --slot-ads {second}"));
    let problem =
        Problem::usage(format!("'{first}' is a file, and arguments without an option are names of slots"));
    Err(problem.hint(format!("to read ads: --ads {first}{second}")).into())
}

/// Returns the error for a file without ads of the requested slots.
fn missing_slot_problem(path: &Path, names: &[String], arguments: &ExplainOptions) -> Problem {
    let path = path.display();
    if names.is_empty() {
        return Problem::unreadable(format!("{path}: no ad found"));
    }
    let wanted = arguments.slots.join("', '");
    let known = names.iter().take(MAX_NAMED_SLOTS).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMED_SLOTS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Problem::unreadable(format!("{path}: no ad has the Name '{wanted}'"))
        .hint(format!("the file has {known}{more}"))
}

/// Returns warnings about ads that are probably not jobs: ads of slots, and parts of an ad that contains an empty line.
fn unlikely_job_warnings(jobs: &[ClassAd], source: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_machine =
        |ad: &&ClassAd| ad.string("MyType").is_some_and(|kind| kind.eq_ignore_ascii_case(b"Machine"));
    if jobs.iter().any(|ad| is_machine(&ad)) {
        warnings.push(format!(
            "{source}: contains slot ads (MyType = \"Machine\") instead of job ads; --slot-ads names a file of slots"
        ));
    }
    let first = jobs.first().is_some_and(|job| job.contains(CLUSTER_ID));
    if let Some(at) = jobs.iter().position(|job| !job.contains(CLUSTER_ID)).filter(|_| first) {
        warnings.push(format!(
            "{source}: ad {} has no ClusterId, and the ads before it have one: an empty line ends an ad",
            at + 1
        ));
    }
    warnings
}

/// Returns the slots of a running execution point, with their claims.
fn running_slots(
    cli: &SlotRunCli,
    session: &ProgramContext,
    arguments: &ExplainOptions,
    collected: &mut CollectedWarnings,
) -> anyhow::Result<CandidateSlots> {
    let answer = control_client::ask(cli, session, &arguments.running, SlotControlRequest::Ads {})?;
    let (mut ads, mut fetching) = (Vec::new(), BTreeSet::new());
    for running in answer.ads {
        let (mut ad, errors) = long::parse(&running.ad);
        if let Some(error) = errors.first() {
            return Err(Problem::unreadable(format!("the ad of slot {}: {error}", running.slot)).into());
        }
        collected.known.add_ads([&ad]);
        override_attributes(&mut ad, arguments)?;
        if is_selected(&running.slot, arguments) {
            if running.fetches {
                fetching.insert(ads.len());
            }
            ads.push((running.slot, ad));
        }
    }
    if ads.is_empty() {
        return Err(Problem::usage(format!("there is no slot '{}'", arguments.slots.join("', '"))).into());
    }
    let counts_claims = !arguments.ignore_claims;
    Ok(CandidateSlots::Ads(PoolSlots { ads, fetching, counts_claims, quirks: cli.quirks.quirks }))
}

/// True if the command line names the slot, with or without its machine, or names no slots.
fn is_selected(name: &str, arguments: &ExplainOptions) -> bool {
    let short = name.split('@').next().unwrap_or(name);
    let wanted = |it: &String| it.eq_ignore_ascii_case(name) || it.eq_ignore_ascii_case(short);
    arguments.slots.is_empty() || arguments.slots.iter().any(wanted)
}

fn override_attributes(ad: &mut ClassAd, arguments: &ExplainOptions) -> anyhow::Result<()> {
    for (name, value) in &arguments.set {
        ad.insert(name.as_str(), attribute_value(name, value)?);
    }
    Ok(())
}

fn attribute_value(name: &str, value: &str) -> anyhow::Result<Expr> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.bytes().all(is_name) || name.starts_with(|first: char| first.is_ascii_digit()) {
        let problem = format!("--set {name}={value}: '{name}' is not a valid attribute name");
        return Err(Problem::usage(problem).into());
    }
    Expr::parse_with(value.as_bytes(), Dialect::old_syntax())
        .map_err(|error| Problem::usage(format!("--set {name}={value}: {error}")).into())
}

/// Formats the number of jobs that a slot accepts before and after, as text.
fn change_text(change: &OfferChange) -> String {
    let OfferChange { slot, jobs, before, after, refused_before, refused_after, .. } = change;
    let mut text = format!("{slot}: accepts {before} of {} before, {after} after\n", counted(jobs, "job"));
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

/// Compares two sets of slots. The exit status is 1 if a slot accepts different jobs.
fn compare_slots(
    (cli, rows): (&SlotRunCli, RowOptions),
    heading: &str,
    before: &CandidateSlots,
    after: &CandidateSlots,
    jobs: &[ClassAd],
    world: &dyn World,
) -> anyhow::Result<Status> {
    let changes = offer_changes(before, after, jobs, world);
    let text = || changes.iter().fold(heading.to_owned(), |text, change| text + &change_text(change));
    match rows.render(&changes, &CHANGE_KEYS)? {
        Some(rows) => write_to_stdout(rows)?,
        None => write_to_stdout(cli.output.render_json(&changes)?.unwrap_or_else(text))?,
    }
    Ok(if changes.iter().any(|change| change.differs) { Status::No } else { Status::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_printed_once_with_its_location() {
        let detail = |text: &str, place: &str| UnmetCondition {
            clause: EvaluatedCondition {
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
            refusal_details(reason, &details),
            ["[START: c, line 1]", "A > 3 is false (A = 1)  [START: c, line 2]", "A > 4 is false (A = 1)"]
        );
        assert_eq!(
            refusal_details("the slot is broken: no memory", &details[2..]),
            ["A > 4 is false (A = 1)"]
        );
        assert_eq!(refusal_details("A > 4 is false", &details[2..]), Vec::<String>::new());
        let mut limits = detail("A > 2", "");
        limits.clause.attribute = "WithinResourceLimits".into();
        let details = [detail("A > 2", "c, line 1"), limits.clone()];
        assert_eq!(
            refusal_details(reason, &details),
            ["[START: c, line 1]", "WithinResourceLimits has the same condition"]
        );
        assert_eq!(
            refusal_details("the slot is broken: no memory", &[limits]),
            ["A > 2 is false (A = 1)  [WithinResourceLimits]"]
        );
        // A long condition is shortened in the list.
        let long = format!("START is not true for this job: {} > 2 is false", "A".repeat(200));
        let details = [detail(&format!("{}...", "A".repeat(120)), "c, line 9")];
        assert_eq!(refusal_details(&long, &details), ["[START: c, line 9]"]);
    }
}
