//! One screen about any number of jobs and slots: which kinds of jobs have no slot, why, and what to change.

use std::collections::BTreeMap;

use serde::Serialize;

use super::candidate_set::CandidateSet;
use super::explain_screen::{ScreenText, count, screen_lines, shorten};
use super::job_stream::JobStream;
use super::options::{ExplainOptions, SlotRunCli};
use super::{explain_html, explain_reverse};
use crate::classad::ClassAd;
use crate::cli::common::{Problem, Status, write_to_stdout};
use crate::slot::job_id;
use crate::text::count::format_thousands;
use crate::why::matching::{Analysis, Cause, JobGrouper, SlotSet, Suggestion};

/// Maximum number of kinds of jobs that are explained one by one.
const MAX_KINDS: usize = 3;

/// Maximum number of clauses in the overview.
const MAX_CLAUSES: usize = 4;

/// Maximum number of suggestions for each kind of jobs.
const MAX_SUGGESTIONS: usize = 3;

/// Maximum length of a clause in the overview.
const MAX_CLAUSE: usize = 56;

/// Maximum length of a sentence.
const MAX_SENTENCE: usize = 210;

/// Adds all jobs to the groups that slots can distinguish, and compares them with the slots.
pub(super) fn read_jobs<'s>(
    set: &'s CandidateSet<'_>,
    first: Vec<ClassAd>,
    stream: &mut JobStream<'_>,
) -> anyhow::Result<Analysis<'s>> {
    let mut jobs = JobGrouper::new(set);
    let mut add = |job: ClassAd| jobs.add(job_id(&job, set.world()), job);
    first.into_iter().for_each(&mut add);
    while let Some(job) = stream.next()? {
        add(job);
    }
    Ok(Analysis::new(set, jobs))
}

/// Jobs that no slot can distinguish, as a row of JSON.
#[derive(Serialize)]
struct JobGroupRow {
    first: String,
    last: String,
    jobs: usize,
    slots: usize,
    accepting_slots: usize,
    causes: Vec<Cause>,
    suggestions: Vec<SuggestionRow>,
}

#[derive(Serialize)]
struct SuggestionRow {
    text: String,
    slots_won: usize,
    slots_lost: usize,
}

impl From<Suggestion> for SuggestionRow {
    fn from(suggestion: Suggestion) -> Self {
        let Suggestion { slots_won, slots_lost, .. } = suggestion;
        SuggestionRow { text: suggestion.to_string(), slots_won, slots_lost }
    }
}

/// Prints the summary. Exit status 0: every job has a slot.
pub(super) fn print(
    cli: &SlotRunCli,
    arguments: &ExplainOptions,
    analysis: &Analysis<'_>,
) -> anyhow::Result<Status> {
    let rows =
        || -> Vec<JobGroupRow> { (0..analysis.job_groups().len()).map(|at| row(analysis, at)).collect() };
    let text = match (cli.output.wants_json(), arguments.reverse) {
        (true, false) => cli.output.render_json(&rows())?.unwrap_or_default(),
        (true, true) => cli.output.render_json(&explain_reverse::rows(analysis))?.unwrap_or_default(),
        (false, true) => explain_reverse::text(analysis),
        (false, false) => summary_text(analysis),
    };
    if let Some(path) = &arguments.html {
        std::fs::write(path, explain_html::page(analysis))
            .map_err(|error| Problem::unreadable(format!("cannot write '{}': {error}", path.display())))?;
    }
    write_to_stdout(text)?;
    let mut has_slot = analysis.job_groups().iter().map(|group| group.accepting_slots > 0);
    let is_yes = if arguments.any { has_slot.any(|has| has) } else { has_slot.all(|has| has) };
    Ok(if is_yes { Status::Done } else { Status::No })
}

fn row(analysis: &Analysis<'_>, at: usize) -> JobGroupRow {
    let group = &analysis.job_groups()[at];
    let suggestions =
        if group.accepting_slots == 0 { analysis.suggestions(at, MAX_SUGGESTIONS) } else { Vec::new() };
    JobGroupRow {
        first: group.first.clone(),
        last: group.last.clone(),
        jobs: group.count,
        slots: analysis.slot_count(),
        accepting_slots: group.accepting_slots,
        causes: analysis.causes(at),
        suggestions: suggestions.into_iter().map(SuggestionRow::from).collect(),
    }
}

fn summary_text(analysis: &Analysis<'_>) -> String {
    let groups = analysis.job_groups();
    let mut order: Vec<usize> =
        (0..groups.len()).filter(|at| groups[*at].accepting_slots < analysis.slot_count()).collect();
    // Jobs without a slot first, most jobs first; then those with fewest slots.
    order.sort_by_key(|at| (groups[*at].accepting_slots, std::cmp::Reverse(groups[*at].count)));
    let without: Vec<usize> = order.iter().copied().filter(|at| groups[*at].accepting_slots == 0).collect();
    let mut screen = ScreenText::new();
    let mut done = 0;
    screen.add(&heading(analysis, &without));
    if without.len() > MAX_KINDS {
        add_overview(analysis, &without, &mut screen);
    }
    let shown = order.len().min(MAX_KINDS);
    for (number, at) in order.iter().copied().take(shown).enumerate() {
        // The rest of the screen is divided among the kinds that are still to come.
        let share = screen.left().saturating_sub(1) / (shown - number);
        if share < 3 || !add_kind(analysis, at, share, &mut screen) {
            break;
        }
        done = number + 1;
    }
    let hidden = order.len() - done;
    if hidden > 0 {
        screen.add(&format!("and {} of jobs; --json has all\n", count(hidden, "more kind")));
    }
    screen.into_text()
}

fn heading(analysis: &Analysis<'_>, without: &[usize]) -> String {
    let groups = analysis.job_groups();
    let jobs_without: usize = without.iter().map(|at| groups[*at].count).sum();
    let all = analysis.job_count();
    let of_slots = analysis.slot_groups();
    let empty: usize =
        of_slots.iter().filter(|group| group.accepted_jobs == 0).map(|group| group.count).sum();
    let jobs = match jobs_without {
        0 if all == 1 => "the job has a slot".to_owned(),
        0 => "every job has a slot".to_owned(),
        some if some == all => "no job has a slot".to_owned(),
        some => format!("{} without a slot", count(some, "job")),
    };
    format!(
        "{} of {}, {} of {}: {jobs}; {} no job\n",
        count(all, "job"),
        count(groups.len(), "kind"),
        count(analysis.slot_count(), "slot"),
        count(of_slots.len(), "kind"),
        match empty {
            1 => "1 slot accepts".to_owned(),
            0 => "no slot accepts".to_owned(),
            some => format!("{} accept", count(some, "slot")),
        }
    )
    .replace("; no slot accepts no job", "; every slot accepts a job")
}

/// Adds the clauses that refuse every slot to most jobs.
fn add_overview(analysis: &Analysis<'_>, without: &[usize], screen: &mut ScreenText) {
    let mut jobs_by_clause: BTreeMap<(String, String), usize> = BTreeMap::new();
    for &at in without {
        for (attribute, clause) in analysis.clauses_refusing_all(at) {
            *jobs_by_clause.entry((attribute, clause)).or_default() += analysis.job_groups()[at].count;
        }
    }
    let mut clauses: Vec<_> = jobs_by_clause.into_iter().collect();
    clauses.sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
    if clauses.is_empty() {
        return;
    }
    screen.add("Clauses that refuse every slot:\n");
    for ((attribute, clause), jobs) in clauses.into_iter().take(MAX_CLAUSES) {
        let clause = shorten(&clause, MAX_CLAUSE);
        screen.add(&format!("{:>9} jobs  {attribute}: {clause}\n", format_thousands(jobs as u64)));
    }
}

/// Adds one kind of jobs if it fits; returns false if it does not.
fn add_kind(analysis: &Analysis<'_>, at: usize, share: usize, screen: &mut ScreenText) -> bool {
    let group = &analysis.job_groups()[at];
    let name = match group.count {
        1 => format!("job {}", group.first),
        jobs => format!("{} like {}", count(jobs, "job"), group.first),
    };
    let verdict = match group.accepting_slots {
        0 => "no slot".to_owned(),
        some => format!("{} of {}", format_thousands(some as u64), count(analysis.slot_count(), "slot")),
    };
    let mut block = format!("\n{name}: {verdict}\n  refuses    alone\n");
    let suggestions =
        if group.accepting_slots == 0 { analysis.suggestions(at, MAX_SUGGESTIONS) } else { Vec::new() };
    let suggested: Vec<String> = suggestions
        .iter()
        .map(|suggestion| format!("  try {}\n", shorten(&suggestion.to_string(), MAX_SENTENCE)))
        .collect();
    let reserved: usize = suggested.iter().take(2).map(|line| screen_lines(line)).sum();
    let causes = analysis.causes(at);
    let mut hidden = causes.len();
    for cause in &causes {
        let line = cause_line(cause);
        if screen_lines(&block) + screen_lines(&line) + reserved + 1 > share && hidden < causes.len() {
            break;
        }
        block += &line;
        hidden -= 1;
    }
    if hidden > 0 {
        block += &format!("  and {}\n", count(hidden, "more clause"));
    }
    for line in suggested {
        if screen_lines(&block) + screen_lines(&line) <= share {
            block += &line;
        }
    }
    if screen_lines(&block) >= screen.left() {
        return false;
    }
    screen.add(&block);
    true
}

fn cause_line(cause: &Cause) -> String {
    let place = match (cause.place.is_empty(), cause.attribute.is_empty()) {
        (false, _) => format!("  [{}: {}]", cause.attribute, cause.place),
        (true, _) => String::new(),
    };
    let (refuses, alone) = (format_thousands(cause.refuses as u64), format_thousands(cause.alone as u64));
    format!("{refuses:>9}{alone:>9}  {}{place}\n", shorten(&cause.sentence, MAX_SENTENCE))
}
