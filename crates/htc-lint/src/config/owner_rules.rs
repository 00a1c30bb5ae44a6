//! References to attributes that the ad in which they are looked up never has: `MY.ImageSize` in a policy of a slot.

use htc_config::Advice;
use htc_config::lint_rule::LintRule;
use htc_config::registry::ExpressionScope;

use super::attribute_owners::{AttributeOwner, job_counterpart};
use super::expression_types::AttributeReference;

/// Rule, message and advice of a finding about a reference.
pub(super) type ReferenceProblem = (LintRule, String, Option<Advice>);

/// Checks that the ad in which an attribute is looked up can have it.
pub(super) fn check_owner(
    scope: ExpressionScope,
    reference: &AttributeReference,
) -> Option<ReferenceProblem> {
    let name = &reference.name;
    let owner = AttributeOwner::of_attribute(name)?;
    let (my, target) = match scope {
        ExpressionScope::Slot | ExpressionScope::Match => {
            (Some(AttributeOwner::Slot), Some(AttributeOwner::Job))
        }
        ExpressionScope::Machine => (Some(AttributeOwner::Slot), None),
        ExpressionScope::JobAndSlot => (Some(AttributeOwner::Job), Some(AttributeOwner::Slot)),
        ExpressionScope::Job => (Some(AttributeOwner::Job), None),
        ExpressionScope::Schedd | ExpressionScope::Submit => {
            return check_schedd_owner(reference, owner);
        }
        _ => return None,
    };
    let (expected_owner, other_scope) = match &reference.scope[..] {
        b"MY" => (my?, "TARGET."),
        b"TARGET" => (target?, "MY."),
        // A name without a scope is looked up in both ads.
        _ if target.is_some() => return None,
        _ => (my?, ""),
    };
    if owner == expected_owner {
        return None;
    }
    let (has_not, has) = match expected_owner {
        AttributeOwner::Job => ("a job", "slots"),
        AttributeOwner::Slot => ("a slot", "jobs"),
    };
    let dot = if reference.scope.is_empty() { "" } else { "." };
    let message = format!(
        "{}{dot}{name} is always undefined: {has_not} has no {name}, which is an attribute of {has}",
        reference.scope
    );
    let fix = match (target, job_counterpart(name).filter(|_| expected_owner == AttributeOwner::Job)) {
        (Some(_), Some(near)) if my == Some(owner) => {
            Some(format!("write {other_scope}{name}, or {}.{near}", reference.scope).into())
        }
        (Some(_), Some(near)) => Some(format!("write {}.{near}", reference.scope).into()),
        (Some(_), None) if my == Some(owner) || target == Some(owner) => {
            Some(format!("write {other_scope}{name}").into())
        }
        (Some(_), None) => None,
        (None, Some(near)) => Some(Advice::DidYouMean(near.into())),
        (None, None) => None,
    };
    Some((LintRule::MissingTarget, message, fix))
}

/// Checks a reference in an expression for which MY is the schedd's ad and TARGET is a job.
fn check_schedd_owner(reference: &AttributeReference, owner: AttributeOwner) -> Option<ReferenceProblem> {
    let name = &reference.name;
    let (message, fix) = match (&reference.scope[..], owner) {
        (b"MY", AttributeOwner::Job) => {
            let message = format!(
                "MY.{name} is always undefined: MY is the schedd's own ad, and {name} is an attribute of jobs"
            );
            (message, Some(Advice::from(format!("write TARGET.{name}"))))
        }
        (b"MY", AttributeOwner::Slot) if job_counterpart(name).is_some() => {
            let message = format!(
                "MY.{name} is always undefined: MY is the schedd's own ad, and {name} is an attribute of slots"
            );
            (message, job_counterpart(name).map(|near| Advice::from(format!("write TARGET.{near}"))))
        }
        (b"TARGET", AttributeOwner::Slot) => {
            let message = format!(
                "TARGET.{name} is always undefined: a job has no {name}, which is an attribute of slots"
            );
            let near = job_counterpart(name);
            (message, near.map(|near| Advice::from(format!("write TARGET.{near}"))))
        }
        _ => return None,
    };
    Some((LintRule::MissingTarget, message, fix))
}
