//! `explain --by-slot`: for each kind of slots, the clauses that refuse jobs, and the jobs that the slots accept.

use super::screen::{ScreenText, count, screen_lines, shorten, table_heading};
use crate::text::count::format_thousands;
use crate::why::matching::{Analysis, SideNames, SlotView};

/// Maximum number of kinds of slots that are shown.
const MAX_KINDS: usize = 3;

/// Maximum number of accepted kinds of jobs that are listed for each kind of slots.
const MAX_ACCEPTED: usize = 3;

/// Maximum length of a sentence.
const MAX_SENTENCE: usize = 210;

/// Returns a summary, at most one screen long, of the slots that accept the fewest jobs.
pub(super) fn text(analysis: &Analysis<'_>) -> String {
    let groups = analysis.slot_groups();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|at| (groups[*at].accepted_jobs, std::cmp::Reverse(groups[*at].count)));
    let empty: usize = groups.iter().filter(|group| group.accepted_jobs == 0).map(|group| group.count).sum();
    let SideNames { job, slot } = analysis.side_names();
    let mut screen = ScreenText::new();
    screen.add(&format!(
        "{} of {}, {} of {}: {} that no {job} can use\n",
        count(analysis.slot_count(), slot),
        count(groups.len(), "kind"),
        count(analysis.job_count(), job),
        count(analysis.job_groups().len(), "kind"),
        count(empty, slot),
    ));
    let shown = order.len().min(MAX_KINDS);
    let mut done = 0;
    for (number, at) in order.iter().copied().take(shown).enumerate() {
        let share = screen.left().saturating_sub(1) / (shown - number);
        if share < 4 {
            break;
        }
        screen.add(&slot_block(analysis, at, share));
        done = number + 1;
    }
    if order.len() > done {
        screen.add(&format!("and {} of {slot}s; --json lists all\n", count(order.len() - done, "more kind")));
    }
    screen.into_text()
}

fn slot_block(analysis: &Analysis<'_>, at: usize, share: usize) -> String {
    let group = &analysis.slot_groups()[at];
    let SlotView { accepted_jobs, accepted, causes } = analysis.slot_view(at);
    let SideNames { job, slot } = analysis.side_names();
    let name = match group.count {
        1 => group.first.clone(),
        slots => format!("{} like {}", count(slots, slot), group.first),
    };
    let names: Vec<&str> = accepted.iter().take(MAX_ACCEPTED).map(|(first, _)| first.as_str()).collect();
    let which = match accepted.len() {
        0 => String::new(),
        kinds if kinds > MAX_ACCEPTED => format!(" (such as {})", names.join(", ")),
        _ => format!(" (like {})", names.join(", ")),
    };
    let of = count(analysis.job_count(), job);
    let accepted_jobs = format_thousands(accepted_jobs as u64);
    let heading = format!("\n{name}: accepts {accepted_jobs} of {of}{which}\n");
    let mut block = String::new();
    let mut hidden = causes.len();
    for cause in &causes {
        let place = match cause.place.is_empty() {
            true => String::new(),
            false => format!("  [{}: {}]", cause.attribute, cause.place),
        };
        let (refuses, alone) = (format_thousands(cause.refuses as u64), format_thousands(cause.alone as u64));
        let line = format!(
            "{refuses:>9}{alone:>9}  {}{place}\n",
            shorten(cause.sentence_within(MAX_SENTENCE), MAX_SENTENCE)
        );
        if screen_lines(&heading) + 1 + screen_lines(&block) + screen_lines(&line) > share
            && hidden < causes.len()
        {
            break;
        }
        block += &line;
        hidden -= 1;
    }
    if causes.is_empty() {
        return heading;
    }
    heading + &table_heading(&of, hidden) + &block
}
