//! Why a slot would or would not take a job: which conditions are not true, and the values they saw.

use serde::Serialize;

use super::change_prediction::ClockContext;
use super::device_choice::{check_devices, check_devices_by_ad, check_undivided_slot_devices};
use super::evaluated_condition::{EvaluatedCondition, attribute_values, format_value, truncate};
use super::events::SlotKey;
use super::execution_point::ExecutionPoint;
use super::fetch_verdict::add_default_requests;
use super::settings::SlotKind;
use super::slot::Slot;
use super::unfit_reason::UnfitReason;
use htc_base::quirks::QuirkMode;
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::explain::{TraceStep, trace};
use htc_classad::{ClassAd, Context, Expr, ExprKind, Value};

/// What a slot says to a job that nobody has fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotVerdict {
    /// Whether it would take it, were it free.
    pub accepted: bool,
    /// In one line.
    pub reason: String,
    /// The conditions that are not true.
    pub untrue_conditions: Vec<EvaluatedCondition>,
    /// Why a claim for the job would be refused all the same: the dynamic slot would not take it, which nobody asks of a fetched
    /// job.
    pub claim_unfit_reason: Option<UnfitReason>,
}

impl SlotVerdict {
    fn refused(unfit: UnfitReason) -> Self {
        let UnfitReason { reason, untrue_conditions: clauses } = unfit;
        SlotVerdict { accepted: false, reason, untrue_conditions: clauses, claim_unfit_reason: None }
    }

    fn accepted(rank: f64, unfit_to_claim: Option<UnfitReason>) -> Self {
        SlotVerdict {
            accepted: true,
            reason: format!("rank {rank}"),
            untrue_conditions: Vec::new(),
            claim_unfit_reason: unfit_to_claim,
        }
    }

    /// What whoever claims is told, not a fetch hook.
    pub fn into_claim_verdict(self) -> Self {
        match self.claim_unfit_reason {
            Some(unfit) => SlotVerdict::refused(unfit),
            None => self,
        }
    }
}

/// An expression that is asked after, up to this one.
const MAX_EXPRESSION_LENGTH: usize = 4000;

impl Slot {
    /// A job as it would be had the slot fetched it.
    fn job_as_fetched(&self, job: &ClassAd) -> ClassAd {
        let mut job = job.clone();
        if self.kind == SlotKind::Static {
            add_default_requests(&mut job);
        }
        job
    }
}

impl ExecutionPoint {
    /// What a slot, were it free, would say to the job; `None` when there is no such slot.
    pub fn judge_job(&self, key: SlotKey, job: &ClassAd) -> Option<SlotVerdict> {
        let slot = self.slots.get(&key)?;
        let job = slot.job_as_fetched(job);
        let core = &self.core;
        let (takes, rank) = slot.eval_in_slot_ad(core, Some(&job), |context| {
            (context.boolean("Requirements") == Some(true), context.real("Rank").unwrap_or(0.0))
        });
        if slot.broken.is_some() || !takes {
            return Some(SlotVerdict::refused(slot.unfit_reason(core, &job)));
        }
        let tried = match slot.kind {
            SlotKind::Partitionable => slot.check_split(core, &job),
            SlotKind::Static | SlotKind::Dynamic => {
                let found = check_undivided_slot_devices(|| check_devices(slot, core, &job), core.quirks());
                found.map(|()| None).map_err(|(unfit, _)| unfit)
            }
        };
        Some(match tried {
            Ok(unfit) => SlotVerdict::accepted(rank, unfit),
            Err(unfit) => SlotVerdict::refused(unfit),
        })
    }

    /// The second from which on a slot may say something else to the job than now, by the clock alone; `i64::MAX` for never.
    pub fn verdict_valid_until(&self, key: SlotKey, job: &ClassAd) -> Option<i64> {
        let slot = self.slots.get(&key)?;
        let job = slot.job_as_fetched(job);
        let moving = slot.clock_context(&self.core);
        // What moves was published at the last poll, and goes on from there.
        let published = self.core.current_time.min(moving.now);
        self.core.change_predictor.begin(ClockContext { now: published, ..moving });
        // Rank is asked of a job that is wanted only.
        slot.eval_in_slot_ad(&self.core, Some(&job), |context| {
            context.boolean("Requirements").filter(|wanted| *wanted).map(|_| context.real("Rank"))
        });
        Some(self.core.change_predictor.end())
    }

    /// An attribute has this value in all slots from now on, whatever is published of it.
    pub fn override_attribute(&mut self, name: &str, value: &Expr) {
        for slot in self.slots.values_mut() {
            slot.live_ad.insert(name, value.clone());
        }
    }
}

/// What a slot that is known by its ad alone would say to the job, were it free.
pub fn judge_job_by_ad(slot: &ClassAd, job: &ClassAd, world: &dyn World, quirks: QuirkMode) -> SlotVerdict {
    let context = Context::new(world).my(slot).target(job);
    if context.boolean("Requirements") != Some(true) {
        return SlotVerdict::refused(UnfitReason::from_requirements(slot, job, world));
    }
    let splits = context.boolean("PartitionableSlot") == Some(true);
    let has = || check_devices_by_ad(slot, job, world, quirks);
    let devices = match splits {
        true => has(),
        false => check_undivided_slot_devices(has, quirks).map_err(|(unfit, _)| unfit),
    };
    match devices {
        Ok(()) => SlotVerdict::accepted(context.real("Rank").unwrap_or(0.0), None),
        Err(unfit) => SlotVerdict::refused(unfit),
    }
}

/// A policy expression as it stands and what it says now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvaluatedExpression {
    /// The attribute, such as `PREEMPT`.
    pub name: String,
    /// The expression.
    pub text: String,
    /// Its value.
    pub value: String,
    /// Of several conditions joined by `&&` or `||` the one that makes it so.
    pub because: Option<EvaluatedCondition>,
    /// The attributes that it names, with their values.
    pub parts: Vec<String>,
}

/// The expressions that decide about a slot, in the order in which they are asked.
const POLICY_EXPRESSIONS: [&str; 12] = [
    "START",
    "IsOwner",
    "WANT_SUSPEND",
    "SUSPEND",
    "CONTINUE",
    "PREEMPT",
    "MaxJobRetirementTime",
    "WANT_VACATE",
    "KILL",
    "WANT_HOLD",
    "CLAIM_WORKLIFE",
    "Rank",
];

impl ExecutionPoint {
    /// What the policy expressions of a slot say now, with the job that it has.
    pub fn evaluate_policy_expressions(&self, key: SlotKey) -> Vec<EvaluatedExpression> {
        POLICY_EXPRESSIONS.into_iter().filter_map(|name| self.evaluate_expression(key, name)).collect()
    }

    /// What one expression of a slot says now, with the job that it has.
    pub fn evaluate_expression(&self, key: SlotKey, name: &str) -> Option<EvaluatedExpression> {
        let slot = self.slots.get(&key)?;
        let world = FrozenClockWorld { world: &*self.core.world, now: self.core.now };
        let mut context = Context::new(&world).my(&slot.live_ad);
        if let Some(job) = slot.job() {
            context = context.target(job);
        }
        let expr = slot.live_ad.get(name)?;
        let parts =
            if expr.as_literal().is_some() { Vec::new() } else { collect_values(&context, slot, &expr) };
        let text = truncate(&expr.unparse_old().to_string(), MAX_EXPRESSION_LENGTH);
        let because = find_deciding_condition(&context, &expr);
        Some(EvaluatedExpression {
            name: name.to_owned(),
            text,
            value: format_value(&context.eval_attr(name)),
            because,
            parts,
        })
    }
}

/// The condition within an expression that makes its value.
fn find_deciding_condition(context: &Context<'_>, expr: &Expr) -> Option<EvaluatedCondition> {
    let whole = trace(context, expr);
    let part = find_deciding_part(&whole);
    let value = part.value.as_ref().filter(|_| !std::ptr::eq(part, &whole))?;
    Some(EvaluatedCondition {
        attribute: String::new(),
        text: truncate(&part.expr.without_parentheses().unparse_old().to_string(), MAX_EXPRESSION_LENGTH),
        value: format_value(value),
        seen: attribute_values(context, &part.expr),
    })
}

/// The first part that is not true of a conjunction that is not, or that is true of a disjunction that is; names are followed.
fn find_deciding_part(step: &TraceStep) -> &TraceStep {
    let truth = step.value.as_ref().and_then(Value::truth);
    let same = || step.steps.iter().find(|part| part.value == step.value);
    let part = match step.expr.kind() {
        ExprKind::And(..) if truth != Some(true) => same(),
        ExprKind::Or(..) if truth == Some(true) => same(),
        // What a name stands for, where that is made of several conditions.
        ExprKind::Reference => {
            step.steps.last().filter(|inner| !std::ptr::eq(find_deciding_part(inner), *inner))
        }
        _ => None,
    };
    part.map_or(step, find_deciding_part)
}

/// The values of the names in an expression, and of those in the expressions that these stand for.
fn collect_values(context: &Context<'_>, slot: &Slot, expr: &Expr) -> Vec<String> {
    let mut found = attribute_values(context, expr);
    let mut todo: Vec<Expr> = vec![expr.clone()];
    let mut turns = 0;
    while let Some(expr) = todo.pop() {
        turns += 1;
        if turns > 40 {
            break;
        }
        for name in htc_classad::references::mentioned_attributes(&expr) {
            let Some(inner) = slot.live_ad.get(&name).filter(|inner| inner.as_literal().is_none()) else {
                continue;
            };
            let new: Vec<String> =
                attribute_values(context, &inner).into_iter().filter(|line| !found.contains(line)).collect();
            if !new.is_empty() {
                found.extend(new);
                todo.push(inner);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_that_decides_is_found() {
        let mut ad = ClassAd::new();
        for line in ["A = 1", "B = 2", "Idle = A > 5", "Quiet = A > 0 && Idle"] {
            ad.insert_line(line.as_bytes()).unwrap();
        }
        let world = htc_os::RealWorld::new();
        let context = Context::new(&world).my(&ad);
        let found = |text: &str| {
            let because = find_deciding_condition(&context, &Expr::parse(text.as_bytes()).unwrap());
            because.map(|clause| clause.to_string())
        };
        for (text, wanted) in [
            ("A > 5", None),
            ("A > 0 && B > 1", None),
            ("A > 0 && (B > 1 && B > 2) && A > 9", Some("B > 2 is false (B = 2)")),
            ("Job =?= 1 || A > 9 || B > 1", Some("B > 1 is true (B = 2)")),
            ("Job == 1 && A > 9", Some("A > 9 is false (A = 1)")),
            ("Job == 1 && A > 0", Some("Job == 1 is undefined (Job = undefined)")),
            ("B > 1 && Quiet", Some("Idle is false (Idle = false)")),
            ("Quiet || Idle", None),
        ] {
            assert_eq!(found(text).as_deref(), wanted, "{text}");
        }
    }
}
