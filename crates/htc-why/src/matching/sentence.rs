//! Sentences about clauses that are not true.

use htc_classad::ExprKind;

use super::clauses::ClauseSide;
use super::definedness::tests_definition;
use super::evidence::{AttributeValues, ClauseEvidence, RefusedValues};
use super::side_names::SideNames;
use super::value_summary::{SentenceLength, clause_text};

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
    let missing_phrases = evidence.missing.iter().map(|missing| {
        let count = evidence.slot_count - missing.slots_with;
        format!("; {count} of {} {slot}s have no {}", evidence.slot_count, missing.name)
    });
    let is_count = matches!(evidence.part.kind(), ExprKind::Compare(..) | ExprKind::Call(..));
    let other_values = [ClauseSide::Slot, ClauseSide::Job].map(|side| {
        let phrase = if is_count { None } else { values_phrase(evidence, side, length) };
        phrase.map(|phrase| format!("; {phrase}")).unwrap_or_default()
    });
    let text = clause_text(&evidence.part, length);
    format!("{text} is not true: {devices}{}{}", missing_phrases.collect::<String>(), other_values.concat())
}

fn reason_sentence(evidence: &ClauseEvidence, length: SentenceLength) -> String {
    let SideNames { job, slot } = evidence.side_names;
    let text = clause_text(&evidence.part, length);
    if let Some(devices) = &evidence.devices {
        return device_sentence(evidence, devices, length);
    }
    let mut reasons = Vec::new();
    reasons.extend(values_phrase(evidence, ClauseSide::Slot, length));
    reasons.extend(values_phrase(evidence, ClauseSide::Job, length));
    for missing in &evidence.missing {
        reasons.push(match missing.slots_with {
            0 if evidence.missing_of_both.contains(&missing.name) => {
                format!("neither the {job} nor any {slot} has {}", missing.name)
            }
            0 => format!("no {slot} has {}", missing.name),
            slots_with => format!(
                "{} is missing; {slots_with} of {} {slot}s have it ({}{}){}",
                missing.name,
                evidence.slot_count,
                if slots_with > missing.examples.len() { "such as " } else { "" },
                missing.examples.join(", "),
                refused_with_phrase(evidence, (&missing.name, slots_with), length)
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
    let statement = match is_bare {
        // The value of a literal only repeats the literal; the attribute that contains it is more useful.
        true if evidence.part.as_literal().is_some() => {
            format!("{} is {}{}", evidence.attribute, evidence.value_text(), draining_phrase(evidence))
        }
        true => {
            let owner = match evidence.attributes.first().map(|first| first.side) {
                Some(ClauseSide::Job) => format!(" (of the {job})"),
                _ => String::new(),
            };
            let value = match &evidence.attributes[..] {
                [AttributeValues { side: ClauseSide::Slot, values, .. }] => values.text_of_length(length),
                _ => evidence.value_text(),
            };
            return format!("{text} is {value}{owner}{}", draining_phrase(evidence));
        }
        false => format!("{text} is not true"),
    };
    if reasons.is_empty() { statement } else { format!("{statement}: {}", reasons.join(", ")) }
}

/// Returns the values of a missing attribute at slots that have it and are nevertheless refused.
fn refused_with_phrase(
    evidence: &ClauseEvidence,
    (name, slots_with): (&str, usize),
    length: SentenceLength,
) -> String {
    match evidence.refused_with.iter().find(|refused| refused.name == name) {
        Some(RefusedValues { slot_count, values, .. }) if *slot_count == slots_with => {
            format!(", but it is {} there", values.text_of_length(length))
        }
        Some(RefusedValues { slot_count: count @ 1.., values, .. }) => {
            format!(", but it is {} on {count} of them", values.text_of_length(length))
        }
        _ => String::new(),
    }
}

/// Returns a phrase that says that the slots are being drained, or an empty string if they are not.
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
fn values_phrase(evidence: &ClauseEvidence, side: ClauseSide, length: SentenceLength) -> Option<String> {
    let is_shown =
        |shown: &&AttributeValues| length != SentenceLength::Shortest || shown.values.are_numbers();
    let shown: Vec<&AttributeValues> =
        evidence.attributes.iter().filter(|shown| shown.side == side).filter(is_shown).collect();
    let values = match &shown[..] {
        [] => return None,
        [one] if tests_definition(&evidence.part) => {
            format!("{} = {}", one.name, one.values.text_of_length(length))
        }
        [one] => one.values.text_of_attribute(&one.name, length),
        many => {
            let name_and_values = |shown: &&AttributeValues| {
                format!("{} {}", shown.name, shown.values.text_of_attribute(&shown.name, length))
            };
            many.iter().map(name_and_values).collect::<Vec<_>>().join(" and ")
        }
    };
    let is_request =
        shown.len() == 1 && shown[0].name.len() > 7 && shown[0].name[..7].eq_ignore_ascii_case("Request");
    let SideNames { job, slot } = evidence.side_names;
    Some(match (side, is_request, evidence.refused_count) {
        (ClauseSide::Job, true, _) => format!("the {job} asks for {values}"),
        (ClauseSide::Job, false, _) => format!("the {job} has {values}"),
        (ClauseSide::Slot, _, 1) => format!("the {slot} has {values}"),
        (ClauseSide::Slot, ..) => format!("the {slot}s have {values}"),
    })
}
