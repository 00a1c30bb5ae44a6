//! Slot settings that contradict each other, read as the startd reads them (`slot_builder.cpp`, `hibernator.cpp`).

use bstr::ByteSlice;
use htc_base::quirks::QuirkMode;
use htc_classad::{Expr, Value};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_slot::{ResourceShare, SleepState, SlotTypeShares};

use super::lint_scope::LintScope;
use crate::config::LintSubject;

/// Default of MAX_SLOT_TYPES.
const DEFAULT_MAX_TYPES: i64 = 10;

/// Maximum share of the machine that the slot types may take together; more is refused. It is above 1 because three
/// times `33.4%` is rounded down.
const MAX_TOTAL: f64 = 1.005;

pub(super) fn lint(
    subject: &LintSubject<'_>,
    scope: LintScope,
    tags: &[String],
    findings: &mut Vec<Finding>,
) {
    check_slot_count(subject, scope, findings);
    check_totals(subject, scope, tags, findings);
    check_hibernate(subject, scope, findings);
}

fn user_entry<'a>(subject: &LintSubject<'a>, name: &str) -> Option<&'a MacroEntry> {
    let entry = subject.config.set.find_exact(name.as_bytes())?;
    (entry.current.is_user_written() && !entry.raw().trim().is_empty()).then_some(entry)
}

fn integer(subject: &LintSubject<'_>, name: &str) -> Option<i64> {
    subject.view.int(name).ok().flatten().map(|setting| setting.value)
}

/// Reports NUM_SLOTS if another setting replaces it, or if it creates no slot.
fn check_slot_count(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let Some(entry) = user_entry(subject, "NUM_SLOTS") else { return };
    let limit = integer(subject, "MAX_SLOT_TYPES").unwrap_or(DEFAULT_MAX_TYPES).clamp(0, 1000);
    let count_of = |number: i64| {
        let name = format!("NUM_SLOTS_TYPE_{number}");
        integer(subject, &name).filter(|count| *count != 0).map(|count| (name, count))
    };
    let counts: Vec<(String, i64)> = (1..=limit).filter_map(count_of).collect();
    let total: i64 = counts.iter().map(|(_, count)| *count).fold(0, i64::saturating_add);
    let message = match (counts.first(), integer(subject, "NUM_SLOTS")) {
        // An example in the manual sets the same number in both parameters.
        (Some((name, _)), Some(number)) if number != total => {
            format!("NUM_SLOTS has no effect, because {name} is set")
        }
        (None, Some(number)) if number < 0 => format!("NUM_SLOTS = {number} creates no slot"),
        (None, Some(number)) if number > 0 && scope.is_complete => {
            return check_slot_kind(subject, entry, findings);
        }
        _ => return,
    };
    findings.push(subject.make_finding(LintRule::NoEffect, &entry.current, None, message, None));
}

/// Reports NUM_SLOTS without a setting for the kind of slots, because the default differs from the manual
/// (`slot_builder.cpp`, `initTypes`).
fn check_slot_kind(subject: &LintSubject<'_>, entry: &MacroEntry, findings: &mut Vec<Finding>) {
    const KIND: &str = "SLOT_TYPE_0_PARTITIONABLE";
    if subject.view.text(KIND).is_some() {
        return;
    }
    let message = format!(
        "{}: HTCondor 25.14 creates partitionable slots, each with a share of the processors; according to the manual, and by \
         default in htc-slot-run, they are static (num-slots-partitionable)",
        entry.name
    );
    let fix = format!("set {KIND} to True or False");
    findings.push(subject.make_finding(LintRule::DiffersFromManual, &entry.current, None, message, fix));
}

/// Slot type with a number of slots.
struct SlotTypeCount<'a> {
    entry: &'a MacroEntry,
    count: i64,
    shares: SlotTypeShares,
    is_backfill: bool,
}

fn slot_type_counts<'a>(subject: &LintSubject<'a>, tags: &[String]) -> Vec<SlotTypeCount<'a>> {
    let limit = integer(subject, "MAX_SLOT_TYPES").unwrap_or(DEFAULT_MAX_TYPES).clamp(0, 1000);
    let read = |number: i64| {
        let count = integer(subject, &format!("NUM_SLOTS_TYPE_{number}")).filter(|count| *count > 0)?;
        let entry = user_entry(subject, &format!("SLOT_TYPE_{number}"))?;
        let text = subject.view.text(&format!("SLOT_TYPE_{number}"))?;
        let shares = SlotTypeShares::parse(text.to_str().ok()?, tags, QuirkMode::Manual).ok()?;
        let is_backfill = subject.view.boolean(&format!("SLOT_TYPE_{number}_BACKFILL")).ok().flatten();
        let is_backfill = is_backfill.is_some_and(|setting| setting.value);
        Some(SlotTypeCount { entry, count, shares, is_backfill })
    };
    (1..=limit).filter_map(read).collect()
}

/// Reports the first slot type at which the sum of all types exceeds a resource of the machine. Amounts are checked
/// only if the configuration sets the total, or if it is the configuration of this machine.
fn check_totals(subject: &LintSubject<'_>, scope: LintScope, tags: &[String], findings: &mut Vec<Finding>) {
    let total_of = |name: &str| {
        let is_known = user_entry(subject, name).is_some_and(|entry| !entry.raw().contains(&b'$'));
        let total = integer(subject, name).filter(|_| is_known || !scope.for_other_machine);
        total.filter(|total| *total > 0).map(|total| total as f64)
    };
    let types = slot_type_counts(subject, tags);
    for (resource, parameter) in [("cpus", "NUM_CPUS"), ("memory", "MEMORY")] {
        let total = total_of(parameter);
        let share_of = |shares: &SlotTypeShares| if resource == "cpus" { shares.cpus } else { shares.memory };
        let mut taken = [0.0; 2];
        for kind in &types {
            let part = match share_of(&kind.shares) {
                ResourceShare::Fraction(part) => part,
                ResourceShare::Amount(amount) => total.map_or(0.0, |total| amount / total),
                ResourceShare::Auto => 0.0,
            };
            let type_share = part * kind.count as f64;
            let taken = &mut taken[usize::from(kind.is_backfill)];
            let before = *taken;
            *taken += type_share;
            let is_amount = matches!(share_of(&kind.shares), ResourceShare::Amount(_));
            // Another finding reports a single type that takes too much.
            let is_reported = type_share > MAX_TOTAL && !is_amount;
            if before > MAX_TOTAL || before + type_share <= MAX_TOTAL || is_reported {
                continue;
            }
            let percent = (before + type_share) * 100.0;
            let message = format!(
                "{}: the slot types together take {percent:.0}% of the machine's {resource}: not all slots are created",
                kind.entry.name
            );
            let fix = "reduce the shares so that all slots together use at most 100%";
            findings.push(subject.make_finding(LintRule::SlotType, &kind.entry.current, None, message, fix));
        }
    }
}

/// Reports a sleep state that does not exist, and states that are never evaluated.
fn check_hibernate(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let Some(entry) = user_entry(subject, "HIBERNATE") else { return };
    let Some(text) = subject.view.text("HIBERNATE") else { return };
    let Ok(expr) = Expr::parse_with(&text, subject.dialect().old()) else { return };
    let Some(Value::Str(state)) = expr.without_parentheses().as_literal() else {
        if !matches!(expr.without_parentheses().as_literal(), Some(Value::Undefined)) {
            check_hibernate_interval(subject, scope, entry, findings);
        }
        return;
    };
    let state = state.to_string();
    if ["", "0"].contains(&state.as_str()) || state.eq_ignore_ascii_case("NONE") {
        return;
    }
    if SleepState::from_name(&state).is_some() {
        check_hibernate_interval(subject, scope, entry, findings);
        return;
    }
    let message = format!("HIBERNATE: \"{state}\" is not a sleep state: the machine stays awake");
    let fix = "use \"S1\" to \"S5\", or a name such as \"RAM\"";
    findings.push(subject.make_finding(LintRule::BadValue, &entry.current, None, message, fix));
}

fn check_hibernate_interval(
    subject: &LintSubject<'_>,
    scope: LintScope,
    entry: &MacroEntry,
    findings: &mut Vec<Finding>,
) {
    const INTERVAL: &str = "HIBERNATE_CHECK_INTERVAL";
    let is_set = user_entry(subject, INTERVAL).is_some();
    if integer(subject, INTERVAL).unwrap_or(0) > 0 || !(is_set || scope.is_complete) {
        return;
    }
    let message = format!("HIBERNATE is never evaluated, because {INTERVAL} is not above 0");
    let fix = format!("set {INTERVAL} to a number of seconds");
    findings.push(subject.make_finding(LintRule::NoEffect, &entry.current, None, message, fix));
}
