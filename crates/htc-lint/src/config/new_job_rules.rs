//! Conditions for new jobs that need an attribute that a job gets only when it runs.

use bstr::BString;
use htc_base::text::{caseless, unqualified_name};
use htc_classad::{Expr, ExprKind, Truth, Value};
use htc_config::registry;

use super::abstract_outcomes::possible_outcomes;
use super::condition_outcomes::OutcomeSet;
use super::expression_parts::{for_each_part, reference_name, reference_scope};

/// Attributes that the shadow or schedd sets when a job runs or has run, and that a submit file does not set, each with
/// an attribute of new jobs to use instead (`SubmitHash`, `Scheduler::`, `BaseShadow::`).
const LATER_ATTRIBUTES: [(&str, Option<&str>); 18] = [
    ("MemoryUsage", Some("RequestMemory")),
    ("ResidentSetSize", Some("RequestMemory")),
    ("ProportionalSetSizeKb", Some("RequestMemory")),
    ("CpusUsage", Some("RequestCpus")),
    ("GPUsUsage", Some("RequestGPUs")),
    ("JobStartDate", None),
    ("JobCurrentStartDate", None),
    ("JobCurrentStartExecutingDate", None),
    ("JobLastStartDate", None),
    ("LastRemoteHost", None),
    ("LastVacateTime", None),
    ("LastSuspensionTime", None),
    ("RemoteHost", None),
    ("ShadowBday", None),
    ("MemoryProvisioned", Some("RequestMemory")),
    ("CpusProvisioned", Some("RequestCpus")),
    ("DiskProvisioned", Some("RequestDisk")),
    ("LastHoldReason", None),
];

/// Parameters that decide about a job before it runs for the first time.
const START_CONDITIONS: [&str; 3] = ["START", "START_LOCAL_UNIVERSE", "START_SCHEDULER_UNIVERSE"];

/// Attribute that new jobs do not have, so that a condition is not true for them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingAttribute {
    /// Reference to the attribute, as in the condition.
    pub(super) reference: BString,
    /// Attribute of new jobs to use instead, or `None` if no attribute corresponds to it.
    pub(super) instead: Option<&'static str>,
}

/// True for a parameter that decides about jobs that have not run.
pub(super) fn decides_about_new_jobs(name: &[u8]) -> bool {
    let bare = registry::strip_slot_prefix(unqualified_name(name));
    let is_setting =
        ["NAMES", "_REASON", "_IS_WARNING"].iter().any(|end| caseless::ends_with(bare, end.as_bytes()));
    START_CONDITIONS.iter().any(|known| caseless::eq(known.as_bytes(), bare))
        || caseless::starts_with(bare, b"SUBMIT_REQUIREMENT_") && !is_setting
}

/// Returns an attribute that no new job has and without which the condition is never true.
pub(super) fn find_missing_attribute(
    expr: &Expr,
    is_site: &dyn Fn(&[u8]) -> bool,
) -> Option<MissingAttribute> {
    let mut found: Option<MissingAttribute> = None;
    for_each_part(expr, &mut |part| {
        let Some(name) = reference_name(part).filter(|name| found.is_none() && !is_site(name)) else {
            return;
        };
        let is_named = |(known, _): &&(&str, _)| caseless::eq(known.as_bytes(), &name);
        let Some((_, instead)) = LATER_ATTRIBUTES.iter().find(is_named) else { return };
        let is_job = reference_scope(part) != "MY";
        let is_missing = |other: &Expr| {
            reference_name(other).is_some_and(|other| caseless::eq(&other, &name))
                && reference_scope(other) != "MY"
        };
        if is_job && !possible_outcomes(expr, &|part| known_outcomes(part, &is_missing)).contains(Truth::True)
        {
            found =
                Some(MissingAttribute { reference: part.without_parentheses().unparse(), instead: *instead });
        }
    });
    found
}

/// Maximum depth to which a condition is examined.
const MAX_DEPTH: usize = 100;

/// Returns the outcomes of a part of a condition if some attributes are undefined.
fn known_outcomes(expr: &Expr, is_missing: &dyn Fn(&Expr) -> bool) -> Option<OutcomeSet> {
    let undefined = Some(OutcomeSet::of(Truth::Undefined));
    match expr.kind() {
        ExprKind::Compare("=?=" | "=!=", ..) => None,
        ExprKind::Compare(_, left, right) => {
            let is_undefined = [&left, &right].into_iter().any(|side| is_undefined(side, is_missing, 0));
            undefined.filter(|_| is_undefined)
        }
        _ => undefined.filter(|_| is_undefined(expr, is_missing, 0)),
    }
}

/// True if a value is undefined whenever these attributes are undefined.
fn is_undefined(expr: &Expr, is_missing: &dyn Fn(&Expr) -> bool, depth: usize) -> bool {
    match expr.kind() {
        ExprKind::Reference => is_missing(expr),
        ExprKind::Other(parts) => {
            let is_strict = matches!(expr.operator(), Some("+" | "-" | "*" | "/" | "%"));
            is_strict
                && depth < MAX_DEPTH
                && parts.iter().any(|part| is_undefined(part, is_missing, depth + 1))
        }
        ExprKind::Literal(Value::Undefined) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_attribute_of(text: &str) -> Option<String> {
        let expr = Expr::parse(text).unwrap();
        find_missing_attribute(&expr, &|_| false).map(|found| found.reference.to_string())
    }

    #[test]
    fn conditions_that_no_new_job_meets_are_found() {
        for wrong in [
            "TARGET.MemoryUsage < 4000",
            "Cpus > 1 && (time() - TARGET.JobStartDate < 3600)",
            "TARGET.MemoryUsage + 100 < Memory || TARGET.ResidentSetSize / 1024 < Memory && MemoryUsage < 5",
        ] {
            assert!(missing_attribute_of(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn conditions_that_a_new_job_can_meet_are_not_reported() {
        for good in [
            "TARGET.MemoryUsage =?= undefined || TARGET.MemoryUsage < 4000",
            "(TARGET.MemoryUsage ?: 0) < 4000",
            "isUndefined(MemoryUsage) || MemoryUsage < 5",
            "ifThenElse(MemoryUsage =!= undefined, MemoryUsage < 5, true)",
            "TARGET.RequestMemory < 4000",
            "Owner == \"ann\" || MemoryUsage < 3",
            "!(MemoryUsage > 3) =!= false",
            "MY.MemoryUsage < 3",
        ] {
            assert_eq!(missing_attribute_of(good), None, "{good}");
        }
    }

    #[test]
    fn parameters_for_new_jobs_are_known() {
        assert!(decides_about_new_jobs(b"SLOT1_START") && decides_about_new_jobs(b"SUBMIT_REQUIREMENT_Mem"));
        assert!(
            !decides_about_new_jobs(b"SUBMIT_REQUIREMENT_Mem_REASON") && !decides_about_new_jobs(b"PREEMPT")
        );
    }
}
