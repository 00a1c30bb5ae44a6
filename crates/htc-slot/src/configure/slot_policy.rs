//! Policy expressions as attributes of the internal ad (`ResMgr::init_config_classad`,
//! `Resource::publish_slot_config_overrides`).

use std::cell::RefCell;

use super::parameters::{ConfigureError, SlotParameters};
use crate::fetch_work::DEFAULT_FETCH_DELAY;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::{ClassAd, Expr, Value};
use htc_config::ConfigView;

/// Policy attributes, which are copied from parameters of the same name, and their defaults.
const POLICY_DEFAULTS: [(&str, Option<&str>); 26] = [
    ("SUSPEND", Some("false")),
    ("CONTINUE", Some("true")),
    ("PREEMPT", Some("false")),
    ("KILL", Some("false")),
    ("WANT_SUSPEND", Some("false")),
    ("WANT_VACATE", Some("true")),
    ("WANT_HOLD", Some("false")),
    ("WANT_HOLD_REASON", None),
    ("WANT_HOLD_SUBCODE", None),
    ("CLAIM_WORKLIFE", None),
    ("MaxJobRetirementTime", None),
    ("PERIODIC_CHECKPOINT", None),
    ("RunBenchmarks", None),
    ("Rank", None),
    ("SUSPEND_VANILLA", None),
    ("CONTINUE_VANILLA", None),
    ("PREEMPT_VANILLA", None),
    ("KILL_VANILLA", None),
    ("WANT_SUSPEND_VANILLA", None),
    ("WANT_VACATE_VANILLA", None),
    ("START_BACKFILL", None),
    ("EVICT_BACKFILL", None),
    ("FetchWorkDelay", None),
    ("HIBERNATE", None),
    ("Unhibernate", Some("MY.MachineLastMatchTime =!= UNDEFINED")),
    ("STARTD_REHOME_ALLOW_REBOOT", None),
];

/// Policy parameters that apply to jobs of the VM universe (13) according to the manual. 25.14 never reads them (quirk
/// `vm-policy-knobs-dead`).
const VM_POLICY_PARAMETERS: [&str; 6] =
    ["SUSPEND_VM", "CONTINUE_VM", "PREEMPT_VM", "KILL_VM", "WANT_SUSPEND_VM", "WANT_VACATE_VM"];

/// Returns the policy attributes of a slot's internal ad. `slot` is the configuration as the slot reads it, `global` as the
/// daemon reads it.
///
/// # Errors
/// Fails if START or MachineMaxVacateTime does not parse.
pub fn read_slot_policy(
    slot: ConfigView<'_>,
    global: ConfigView<'_>,
    quirks: QuirkMode,
) -> Result<ClassAd, ConfigureError> {
    let problems = RefCell::default();
    let mut ad = ClassAd::new();
    let parameters_of = |view| SlotParameters::new(view, &problems, quirks);
    publish_policy(&parameters_of(slot), &parameters_of(global), &mut ad)?;
    Ok(ad)
}

/// Returns START as an expression. If it does not parse, fails with the location of the error; in 25.14, the result is the
/// literal `error`, without a message.
pub(super) fn start_expression(parameters: &SlotParameters<'_>) -> Result<Expr, ConfigureError> {
    match parameters.parse_expr("START") {
        Ok(expr) => Ok(expr.unwrap_or_else(|| Expr::literal(Value::Bool(true)))),
        Err(_) if parameters.reproduces(Quirk::StartSyntaxSilent) => Ok(Expr::literal(Value::Error)),
        Err(error) => Err(error),
    }
}

/// Publishes the policy of a slot in its internal ad.
pub(super) fn publish_policy(
    parameters: &SlotParameters<'_>,
    global: &SlotParameters<'_>,
    ad: &mut ClassAd,
) -> Result<(), ConfigureError> {
    // A START that does not parse is published only with Requirements, which spell the attribute `Start`.
    let name = if parameters.parse_expr("START").is_ok() { "START" } else { "Start" };
    ad.insert(name, start_expression(parameters)?);
    for (name, default) in POLICY_DEFAULTS {
        // If the value for the slot type does not parse, the global value is used.
        let expr = parameters.expr_or_warn(name).or_else(|| global.expr_or_warn(name));
        let default = || default.and_then(|text| Expr::parse(text.as_bytes()).ok());
        if let Some(expr) = expr.or_else(default) {
            ad.insert(name, expr);
        }
    }
    warn_about_fetch_delay(parameters, ad);
    let vacate = parameters.parse_expr("MachineMaxVacateTime")?;
    ad.insert("MachineMaxVacateTime", vacate.unwrap_or_else(|| Expr::literal(Value::Int(600))));
    if !parameters.reproduces(Quirk::VmPolicyKnobsDead) {
        for name in VM_POLICY_PARAMETERS {
            if let Some(expr) = parameters.expr_or_warn(name) {
                ad.insert(name, expr);
            }
        }
    }
    ad.insert("IsOwner", is_owner_expression(parameters, global));
    // The attribute SlotWeight comes from SLOT_WEIGHT; a parameter SlotWeight has no effect.
    let weight = parameters.parse_expr("SLOT_WEIGHT")?.or_else(|| Expr::parse(b"Cpus").ok());
    if let Some(weight) = weight {
        ad.insert("SlotWeight", weight);
    }
    let busy = parameters.expr_or_warn("CpuBusy").or_else(|| global.expr_or_warn("cpu_busy"));
    ad.insert("CpuBusy", busy.unwrap_or_else(|| Expr::literal(Value::Bool(false))));
    Ok(())
}

/// Warns if FetchWorkDelay is a constant but not a number, so that its default is used, as in 25.14.
fn warn_about_fetch_delay(parameters: &SlotParameters<'_>, ad: &ClassAd) {
    let Some(delay) = ad.get("FetchWorkDelay") else { return };
    if let Some(Value::Str(_) | Value::Undefined | Value::Error) = delay.as_literal() {
        let value = delay.unparse_old();
        parameters.warn(format!(
            "FetchWorkDelay is not a number: {value}; slots wait {DEFAULT_FETCH_DELAY} s between fetches"
        ));
    }
}

/// Returns the IsOwner expression. The parameter IsOwner takes precedence over IS_OWNER, which 25.14 ignores for a slot type.
fn is_owner_expression(parameters: &SlotParameters<'_>, global: &SlotParameters<'_>) -> Expr {
    let by_type = if parameters.reproduces(Quirk::SlotTypeIsOwnerIgnored) { global } else { parameters };
    let expr = parameters.expr_or_warn("IsOwner").or_else(|| by_type.expr_or_warn("IS_OWNER"));
    expr.or_else(|| Expr::parse(b"(START =?= False)").ok())
        .unwrap_or_else(|| Expr::literal(Value::Bool(false)))
}
