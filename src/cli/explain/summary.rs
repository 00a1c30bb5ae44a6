//! Summary of any number of jobs and slots on one screen: the kinds of jobs without a slot, the reasons, and suggested
//! changes.

use std::collections::{BTreeMap, BTreeSet};

use super::screen::{ScreenText, count, screen_lines, shorten, table_heading};
use crate::text::count::format_thousands;
use crate::why::matching::{Analysis, Cause, ClauseSide, SideNames};

/// Maximum number of kinds of jobs that are explained one by one.
const MAX_KINDS: usize = 3;

/// Minimum number of lines for one kind of jobs: enough for a cause and a suggestion.
const MIN_KIND_LINES: usize = 7;

/// Maximum number of clauses in the overview.
const MAX_CLAUSES: usize = 4;

/// Maximum number of suggestions for each kind of jobs.
const MAX_SUGGESTIONS: usize = 3;

/// Maximum number of demands that no slot meets, for each kind of jobs.
const MAX_IMPOSSIBLE: usize = 2;

/// Attribute that both jobs and slots have.
const REQUIREMENTS: &str = "Requirements";

/// Maximum length of a clause in the overview.
const MAX_CLAUSE: usize = 56;

/// Maximum length of a sentence.
const MAX_SENTENCE: usize = 280;

/// Returns a summary, at most one screen long, of the jobs that the fewest slots accept.
pub(super) fn text(analysis: &Analysis<'_>) -> String {
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
    // A few kinds with suggestions are more useful than many without.
    let shown = order.len().min(MAX_KINDS).min((screen.left() / MIN_KIND_LINES).max(1));
    for (number, at) in order.iter().copied().take(shown).enumerate() {
        // The rest of the screen is divided among the remaining kinds.
        let share = screen.left().saturating_sub(1) / (shown - number);
        if share < 3 || !add_kind(analysis, at, share, &mut screen) {
            break;
        }
        done = number + 1;
    }
    let hidden = order.len() - done;
    if hidden > 0 {
        let job = analysis.side_names().job;
        screen.add(&format!("and {} of {job}s; --json lists all\n", count(hidden, "more kind")));
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
    let SideNames { job, slot } = analysis.side_names();
    let jobs = match jobs_without {
        0 if all == 1 => format!("the {job} has a {slot}"),
        0 => format!("every {job} has a {slot}"),
        some if some == all => format!("no {job} has a {slot}"),
        some => format!("{} without a {slot}", count(some, job)),
    };
    let slots = match empty {
        0 => format!("every {slot} accepts a {job}"),
        1 => format!("1 {slot} accepts no {job}"),
        some => format!("{} accept no {job}", count(some, slot)),
    };
    format!(
        "{} of {}, {} of {}: {jobs}; {slots}\n",
        count(all, job),
        count(groups.len(), "kind"),
        count(analysis.slot_count(), slot),
        count(of_slots.len(), "kind"),
    )
}

/// Adds the clauses that refuse every slot to most jobs.
fn add_overview(analysis: &Analysis<'_>, without: &[usize], screen: &mut ScreenText) {
    let mut jobs_by_clause: BTreeMap<(ClauseSide, String, String), usize> = BTreeMap::new();
    for &at in without {
        let clauses: BTreeSet<_> = analysis.clauses_refusing_all(at).into_iter().collect();
        for clause in clauses {
            *jobs_by_clause.entry(clause).or_default() += analysis.job_groups()[at].count;
        }
    }
    let mut clauses: Vec<_> = jobs_by_clause.into_iter().collect();
    clauses.sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
    if clauses.is_empty() {
        return;
    }
    let SideNames { job, slot } = analysis.side_names();
    screen.add(&format!("Clauses that refuse every {slot}:\n"));
    for ((side, attribute, clause), jobs) in clauses.into_iter().take(MAX_CLAUSES) {
        let attribute = match (attribute.eq_ignore_ascii_case(REQUIREMENTS), side) {
            (true, ClauseSide::Job) => format!("{job}'s {attribute}"),
            (true, ClauseSide::Slot) => format!("{slot}'s {attribute}"),
            (false, _) => attribute,
        };
        let clause = shorten(&clause, MAX_CLAUSE);
        let plural = if jobs == 1 { " " } else { "s" };
        screen.add(&format!("{:>9} {job}{plural}  {attribute}: {clause}\n", format_thousands(jobs as u64)));
    }
}

/// Adds the text about one kind of jobs if it fits on the screen. Returns false if it does not fit.
fn add_kind(analysis: &Analysis<'_>, at: usize, share: usize, screen: &mut ScreenText) -> bool {
    let group = &analysis.job_groups()[at];
    let SideNames { job, slot } = analysis.side_names();
    let name = match group.count {
        1 => format!("{job} {}", group.first),
        jobs => format!("{} like {}", count(jobs, job), group.first),
    };
    let verdict = match group.accepting_slots {
        0 => format!("no {slot}"),
        some => format!("{} of {}", format_thousands(some as u64), count(analysis.slot_count(), slot)),
    };
    let mut block = String::new();
    // The empty line, the line with the name, and the heading of the table.
    let heading_lines = 2 + screen_lines(&format!("{name}: {verdict}"));
    let causes = analysis.causes(at);
    let (mut suggestions, mut demands): (Vec<String>, Vec<String>) = Default::default();
    if group.accepting_slots == 0 {
        let line = |text: String| format!("  {}\n", shorten(&text, MAX_SENTENCE));
        let found = analysis.suggestions(at, MAX_SUGGESTIONS);
        suggestions.extend(found.iter().map(|suggestion| line(format!("try {suggestion}"))));
        let is_said = |demand: &String| causes.iter().any(|cause| cause.sentence.contains(demand));
        let unsaid = analysis.impossible_demands(at).into_iter().filter(|demand| !is_said(demand));
        demands.extend(unsaid.take(MAX_IMPOSSIBLE).map(line));
    }
    // The demands that no slot meets, and the best suggestion, are the most important lines, so space is reserved for
    // them.
    let of_demands: usize = demands.iter().map(|line| screen_lines(line)).sum();
    let reserved = of_demands + suggestions.first().map_or(0, |line| screen_lines(line));
    let mut hidden = causes.len();
    for cause in &causes {
        let has_double = causes.iter().any(|it| it.side != cause.side && it.clause == cause.clause);
        let line = cause_line(cause, has_double.then_some(analysis.side_names()));
        // The job's owner can change the conditions of the job, so as many of them are shown as fit on the screen.
        let most = if cause.side == ClauseSide::Job { screen.left().saturating_sub(1) } else { share };
        if heading_lines + screen_lines(&block) + screen_lines(&line) + reserved > most
            && hidden < causes.len()
        {
            continue;
        }
        block += &line;
        hidden -= 1;
    }
    let all = count(analysis.slot_count(), slot);
    block = format!("\n{name}: {verdict}\n{}{block}", table_heading(&all, hidden));
    for (line, later) in
        suggestions.iter().map(|line| (line, of_demands)).chain(demands.iter().map(|line| (line, 0)))
    {
        if screen_lines(&block) + screen_lines(line) + later <= share {
            block += line;
        }
    }
    if screen_lines(&block) >= screen.left() {
        return false;
    }
    screen.add(&block);
    true
}

/// Formats a cause. If jobs and slots have the same clause, `sides` has the nouns for them, and the line says which of
/// them has the clause.
fn cause_line(cause: &Cause, sides: Option<SideNames>) -> String {
    let owner = match (sides, cause.side) {
        (Some(SideNames { job, .. }), ClauseSide::Job) => Some(format!("{job}'s {}", cause.attribute)),
        (Some(SideNames { slot, .. }), ClauseSide::Slot) => Some(format!("{slot}'s {}", cause.attribute)),
        (None, _) => None,
    };
    let place = match (owner, cause.place.is_empty()) {
        (Some(owner), true) => format!("  [{owner}]"),
        (Some(owner), false) => format!("  [{owner}: {}]", cause.place),
        (None, false) => format!("  [{}: {}]", cause.attribute, cause.place),
        (None, true) => String::new(),
    };
    let (refuses, alone) = (format_thousands(cause.refuses as u64), format_thousands(cause.alone as u64));
    let sentence = shorten(cause.sentence_within(MAX_SENTENCE), MAX_SENTENCE);
    format!("{refuses:>9}{alone:>9}  {sentence}{place}\n")
}
