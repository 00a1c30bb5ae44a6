//! Sentences about clauses that are not true.

use super::clauses::ClauseSide;
use super::evidence::{ClauseEvidence, SeenAttribute};
use super::seen_values::expr_text;

/// Returns why a clause is not true.
pub(super) fn clause_sentence(evidence: &ClauseEvidence) -> String {
    let text = expr_text(&evidence.part);
    let mut reasons = Vec::new();
    reasons.extend(seen_phrase(evidence, ClauseSide::Slot));
    reasons.extend(seen_phrase(evidence, ClauseSide::Job));
    for missing in &evidence.missing {
        reasons.push(match missing.slots_with {
            0 if evidence.missing_of_both.contains(&missing.name) => {
                format!("neither the job nor any slot has {}", missing.name)
            }
            0 => format!("no slot has {}", missing.name),
            with => format!("{} is not there; {with} of {} slots have it", missing.name, evidence.slot_count),
        });
    }
    if !evidence.missing_of_job.is_empty() {
        reasons.push(format!("the job has no {}", evidence.missing_of_job.join(" and no ")));
    }
    reasons.extend(evidence.error.clone());
    if evidence.part.is_reference() && evidence.missing.len() + evidence.missing_of_job.len() == 1 {
        return reasons.join(", ");
    }
    let is_bare = evidence.part.as_literal().is_some() || evidence.part.is_reference();
    let said = match is_bare {
        // A literal is repeated by its value; the attribute that contains it is more useful.
        true if evidence.part.as_literal().is_some() => {
            format!("{} is {}", evidence.attribute, evidence.value_text())
        }
        true => {
            let whose = match evidence.seen.first().map(|seen| seen.side) {
                Some(ClauseSide::Job) => " (of the job)",
                _ => "",
            };
            return format!("{text} is {}{whose}", evidence.value_text());
        }
        false => format!("{text} is not true"),
    };
    if reasons.is_empty() { said } else { format!("{said}: {}", reasons.join(", ")) }
}

/// Returns the values of one side: "the slots have 2000 to 8000", "the job asks for 32000".
fn seen_phrase(evidence: &ClauseEvidence, side: ClauseSide) -> Option<String> {
    let seen: Vec<&SeenAttribute> = evidence.seen.iter().filter(|seen| seen.side == side).collect();
    let values = match &seen[..] {
        [] => return None,
        [one] => one.values.text(),
        many => {
            let named = |seen: &&SeenAttribute| format!("{} {}", seen.name, seen.values.text());
            many.iter().map(named).collect::<Vec<_>>().join(" and ")
        }
    };
    let asks = seen.len() == 1 && seen[0].name.len() > 7 && seen[0].name[..7].eq_ignore_ascii_case("Request");
    Some(match (side, asks, evidence.refused_count) {
        (ClauseSide::Job, true, _) => format!("the job asks for {values}"),
        (ClauseSide::Job, false, _) => format!("the job has {values}"),
        (ClauseSide::Slot, _, 1) => format!("the slot has {values}"),
        (ClauseSide::Slot, ..) => format!("the slots have {values}"),
    })
}
