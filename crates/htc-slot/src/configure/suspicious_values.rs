//! Warnings about values of HIBERNATE and of backfill expressions that have no effect, neither here nor in a pool.

use super::parameters::SlotParameters;
use crate::settings::SlotPlan;
use crate::sleep_state::SleepState;
use htc_classad::{Expr, Value};

/// Words that look like booleans, but are attribute names in an expression.
const BOOLEAN_LOOKALIKES: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];

/// Returns the distinct expressions of the attribute `name` in all slots.
fn distinct_slot_expressions(slots: &[SlotPlan], name: &str) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    for expr in slots.iter().filter_map(|slot| slot.config.get(name)) {
        if !found.contains(&expr) {
            found.push(expr);
        }
    }
    found
}

/// Checks HIBERNATE. `is_evaluated` is true if HIBERNATE is evaluated, because HIBERNATE_CHECK_INTERVAL is above 0.
pub(super) fn check_hibernate(parameters: &SlotParameters<'_>, slots: &[SlotPlan], is_evaluated: bool) {
    let known = |text: &str| {
        SleepState::from_name(text).is_some()
            || ["", "0"].contains(&text)
            || text.eq_ignore_ascii_case("NONE")
    };
    for expr in distinct_slot_expressions(slots, "HIBERNATE") {
        let text = expr.unparse_old();
        if !is_evaluated {
            parameters.warn(format!(
                "HIBERNATE = {text}: HIBERNATE_CHECK_INTERVAL is not above 0, so it is never evaluated, as in a pool"
            ));
            continue;
        }
        let what = match (expr.as_literal(), expr.as_attribute()) {
            (Some(Value::Str(state)), _) if known(&state.to_string()) => continue,
            (Some(Value::Str(_)), _) => {
                "is not a sleep state: use \"S1\" to \"S5\", or a name such as \"RAM\""
            }
            (Some(Value::Undefined), _) => continue,
            (Some(_), _) => "is not a string such as \"S3\"",
            (None, Some(name)) if known(&name.to_string()) => {
                "is the name of an attribute: put it into quotes"
            }
            (None, _) => continue,
        };
        parameters.warn(format!("HIBERNATE = {text} {what}; the machine stays awake, as in a pool"));
    }
}

/// Checks the expressions START_BACKFILL and EVICT_BACKFILL.
pub(super) fn check_backfill(parameters: &SlotParameters<'_>, slots: &[SlotPlan]) {
    for name in ["START_BACKFILL", "EVICT_BACKFILL"] {
        for expr in distinct_slot_expressions(slots, name) {
            let what = match (expr.as_literal(), expr.as_attribute()) {
                (Some(Value::Bool(_) | Value::Int(_) | Value::Real(_) | Value::Undefined), _) => continue,
                (Some(_), _) => "is neither true nor false",
                (None, Some(word)) if BOOLEAN_LOOKALIKES.iter().any(|it| word == **it) => {
                    "is the name of an attribute: write True or False"
                }
                (None, _) => continue,
            };
            parameters.warn(format!(
                "{name} = {} {what}; it is treated as false, as in a pool",
                expr.unparse_old()
            ));
        }
    }
}
