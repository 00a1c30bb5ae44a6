//! Sentences about clauses that are not true.

use htc_classad::ExprKind;

use super::clauses::ClauseSide;
use super::definedness::tests_definition;
use super::evidence::{ClauseEvidence, RefusedValues, SeenAttribute};
use super::seen_values::{SentenceLength, clause_text};
use super::side_names::SideNames;

/// Returns a sentence of each length about the reason why a clause is not true, the longest first.
pub(super) fn clause_sentences(evidence: &ClauseEvidence) -> Vec<String> {
    let notes: String = evidence.notes.iter().map(|note| format!("; {note}")).collect();
    let mut sentences: Vec<String> =
        SentenceLength::ALL.iter().map(|length| reason_sentence(evidence, *length) + &notes).collect();
    sentences.dedup();
    sentences
}

/// Returns why a clause about devices is not true: what the devices lack, and what else the clause reads.
fn device_sentence(evidence: &ClauseEvidence, devices: &str, length: SentenceLength) -> String {
    let slot = evidence.side_names.slot;
    let without = evidence.missing.iter().map(|missing| {
        let count = evidence.slot_count - missing.slots_with;
        format!("; {count} of {} {slot}s have no {}", evidence.slot_count, missing.name)
    });
    let is_count = matches!(evidence.part.kind(), ExprKind::Compare(..) | ExprKind::Call(..));
    let beside = [ClauseSide::Slot, ClauseSide::Job].map(|side| {
        let phrase = if is_count { None } else { seen_phrase(evidence, side, length) };
        phrase.map(|phrase| format!("; {phrase}")).unwrap_or_default()
    });
    let text = clause_text(&evidence.part, length);
    format!("{text} is not true: {devices}{}{}", without.collect::<String>(), beside.concat())
}

fn reason_sentence(evidence: &ClauseEvidence, length: SentenceLength) -> String {
    let SideNames { job, slot } = evidence.side_names;
    let text = clause_text(&evidence.part, length);
    if let Some(devices) = &evidence.devices {
        return device_sentence(evidence, devices, length);
    }
    let mut reasons = Vec::new();
    reasons.extend(seen_phrase(evidence, ClauseSide::Slot, length));
    reasons.extend(seen_phrase(evidence, ClauseSide::Job, length));
    for missing in &evidence.missing {
        reasons.push(match missing.slots_with {
            0 if evidence.missing_of_both.contains(&missing.name) => {
                format!("neither the {job} nor any {slot} has {}", missing.name)
            }
            0 => format!("no {slot} has {}", missing.name),
            with => format!(
                "{} is missing; {with} of {} {slot}s have it ({}{}){}",
                missing.name,
                evidence.slot_count,
                if with > missing.examples.len() { "such as " } else { "" },
                missing.examples.join(", "),
                refused_with_phrase(evidence, (&missing.name, with), length)
            ),
        });
    }
    if !evidence.missing_of_job.is_empty() {
        reasons.push(format!("the {job} has no {}", evidence.missing_of_job.join(" and no ")));
    }
    reasons.extend(evidence.error.clone());
    if evidence.part.is_reference() && evidence.missing.len() + evidence.missing_of_job.len() == 1 {
        return reasons.join(", ");
    }
    let is_bare = evidence.part.as_literal().is_some() || evidence.part.is_reference();
    let said = match is_bare {
        // The value of a literal only repeats the literal; the attribute that contains it is more useful.
        true if evidence.part.as_literal().is_some() => {
            format!("{} is {}{}", evidence.attribute, evidence.value_text(), draining_phrase(evidence))
        }
        true => {
            let whose = match evidence.seen.first().map(|seen| seen.side) {
                Some(ClauseSide::Job) => format!(" (of the {job})"),
                _ => String::new(),
            };
            let value = match &evidence.seen[..] {
                [SeenAttribute { side: ClauseSide::Slot, values, .. }] => values.text_of_length(length),
                _ => evidence.value_text(),
            };
            return format!("{text} is {value}{whose}{}", draining_phrase(evidence));
        }
        false => format!("{text} is not true"),
    };
    if reasons.is_empty() { said } else { format!("{said}: {}", reasons.join(", ")) }
}

/// Returns the values of a missing attribute at slots that have it and are nevertheless refused.
fn refused_with_phrase(
    evidence: &ClauseEvidence,
    (name, with): (&str, usize),
    length: SentenceLength,
) -> String {
    match evidence.refused_with.iter().find(|refused| refused.name == name) {
        Some(RefusedValues { slot_count, values, .. }) if *slot_count == with => {
            format!(", but it is {} there", values.text_of_length(length))
        }
        Some(RefusedValues { slot_count: count @ 1.., values, .. }) => {
            format!(", but it is {} at {count} of them", values.text_of_length(length))
        }
        _ => String::new(),
    }
}

/// Returns a phrase that says that the slots are being drained, or an empty text if they are not.
fn draining_phrase(evidence: &ClauseEvidence) -> String {
    let slot = evidence.side_names.slot;
    match (evidence.draining_count, evidence.refused_count) {
        (0, _) => String::new(),
        (1, 1) => format!(": the {slot} is draining"),
        (some, all) if some == all => format!(": the {slot}s are draining"),
        (some, all) => format!(": {some} of {all} {slot}s are draining"),
    }
}

/// Returns the values of one side: "the slots have 2000 to 8000", "the job asks for 32000".
fn seen_phrase(evidence: &ClauseEvidence, side: ClauseSide, length: SentenceLength) -> Option<String> {
    let is_shown = |seen: &&SeenAttribute| length != SentenceLength::Shortest || seen.values.are_numbers();
    let seen: Vec<&SeenAttribute> =
        evidence.seen.iter().filter(|seen| seen.side == side).filter(is_shown).collect();
    let values = match &seen[..] {
        [] => return None,
        [one] if tests_definition(&evidence.part) => {
            format!("{} = {}", one.name, one.values.text_of_length(length))
        }
        [one] => one.values.text_of_attribute(&one.name, length),
        many => {
            let named = |seen: &&SeenAttribute| {
                format!("{} {}", seen.name, seen.values.text_of_attribute(&seen.name, length))
            };
            many.iter().map(named).collect::<Vec<_>>().join(" and ")
        }
    };
    let asks = seen.len() == 1 && seen[0].name.len() > 7 && seen[0].name[..7].eq_ignore_ascii_case("Request");
    let SideNames { job, slot } = evidence.side_names;
    Some(match (side, asks, evidence.refused_count) {
        (ClauseSide::Job, true, _) => format!("the {job} asks for {values}"),
        (ClauseSide::Job, false, _) => format!("the {job} has {values}"),
        (ClauseSide::Slot, _, 1) => format!("the {slot} has {values}"),
        (ClauseSide::Slot, ..) => format!("the {slot}s have {values}"),
    })
}
