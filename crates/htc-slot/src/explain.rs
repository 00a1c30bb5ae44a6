//! Explanations why a slot would accept or refuse a job: which conditions are not true, and the values they refer to.

use serde::Serialize;

use super::change_prediction::ClockContext;
use super::device_choice::{check_devices, check_devices_by_ad, check_undivided_slot_devices};
use super::evaluated_condition::{
    EvaluatedCondition, attribute_values, format_value, truncate, untrue_conditions,
};
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

/// Verdict of a slot about a job that was not fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotVerdict {
    /// True if the slot would accept the job when free.
    pub accepted: bool,
    /// Reason, in one line.
    pub reason: String,
    /// The conditions that are not true.
    pub untrue_conditions: Vec<EvaluatedCondition>,
    /// Reason why a claim for the job would nevertheless be refused, or `None`. The reason is that the dynamic slot
    /// would not accept the job, which is not checked for fetched jobs.
    pub claim_unfit_reason: Option<UnfitReason>,
}

impl From<UnfitReason> for SlotVerdict {
    fn from(unfit: UnfitReason) -> Self {
        SlotVerdict::refused(unfit)
    }
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

    /// Converts the verdict to that of a claim request instead of a fetch.
    pub fn into_claim_verdict(self) -> Self {
        match self.claim_unfit_reason {
            Some(unfit) => SlotVerdict::refused(unfit),
            None => self,
        }
    }
}

/// Returns the refusal of a slot by the job's own Requirements, or `None` if they are true or missing.
pub fn refusal_by_job(slot: &ClassAd, job: &ClassAd, world: &dyn World) -> Option<SlotVerdict> {
    let context = Context::new(world).my(job).target(slot);
    if !job.contains("Requirements") || context.boolean("Requirements") == Some(true) {
        return None;
    }
    let untrue_conditions = untrue_conditions(job, &context);
    let reason = match untrue_conditions.first() {
        Some(condition) => format!("the job's Requirements are not true for this slot: {condition}"),
        None => "the job's Requirements are not true for this slot".to_owned(),
    };
    Some(SlotVerdict::refused(UnfitReason { reason, untrue_conditions }))
}

/// Maximum length of an expression in an explanation.
const MAX_EXPRESSION_LENGTH: usize = 4000;

impl Slot {
    /// Returns the job as if the slot had fetched it.
    fn job_as_fetched(&self, job: &ClassAd) -> ClassAd {
        let mut job = job.clone();
        if self.kind == SlotKind::Static {
            add_default_requests(&mut job);
        }
        job
    }
}

impl ExecutionPoint {
    /// Returns the verdict of a slot about a job, as if the slot were free; `None` if there is no such slot.
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

    /// Returns the first second at which the verdict may change with time alone; `i64::MAX` for never.
    pub fn verdict_valid_until(&self, key: SlotKey, job: &ClassAd) -> Option<i64> {
        let slot = self.slots.get(&key)?;
        let job = slot.job_as_fetched(job);
        let moving = slot.clock_context(&self.core);
        // Attributes that depend on time were published at the last poll, and change from there.
        let published = self.core.current_time.min(moving.now);
        self.core.schedule.change_predictor.begin(ClockContext { now: published, ..moving });
        // Rank is only evaluated for a job that meets Requirements.
        slot.eval_in_slot_ad(&self.core, Some(&job), |context| {
            context.boolean("Requirements").filter(|wanted| *wanted).map(|_| context.real("Rank"))
        });
        Some(self.core.schedule.change_predictor.end())
    }

    /// Returns the world of the execution point with its clock stopped at the last event.
    pub fn frozen_world(&self) -> FrozenClockWorld<'_> {
        FrozenClockWorld { world: &*self.core.world, now: self.core.now }
    }

    /// Returns a key for comparing slots: two slots judge all jobs alike if their keys are equal and the expressions in
    /// their ads are equal.
    pub fn judgement_key(&self, key: SlotKey) -> Option<String> {
        let slot = self.slots.get(&key)?;
        let plan = &slot.plan;
        let devices: Vec<_> = slot
            .amounts
            .custom
            .iter()
            .map(|custom| (&custom.tag, custom.quantity, &custom.assigned))
            .collect();
        let text = |expr: &Expr| expr.unparse().to_string();
        Some(format!(
            "{:?}",
            (
                (plan.type_id, slot.kind, slot.broken.as_ref().map(|broken| &broken.reason), devices),
                (slot.amounts.cpus, slot.amounts.memory, slot.amounts.disk),
                plan.modify_request.each_ref().map(|expr| expr.as_ref().map(text)),
                (plan.must_modify, plan.has_consumption_policy, text(&plan.child_requirements.expr)),
            )
        ))
    }

    /// Returns expressions that are evaluated when a job is judged, in addition to Requirements: rounding of requests,
    /// consumption policies, Requirements of dynamic slots.
    pub fn judging_expressions(&self) -> Vec<Expr> {
        let mut found: Vec<Expr> = Vec::new();
        let mut add = |expr: &Expr| {
            if !found.contains(expr) {
                found.push(expr.clone());
            }
        };
        for slot in self.slots.values() {
            let child = &slot.plan.child_requirements;
            [&child.start, &child.expr].into_iter().chain(&child.limits).for_each(&mut add);
            slot.plan.modify_request.iter().flatten().for_each(&mut add);
            let names = slot.ads.live.flattened_chain();
            let consumption = names
                .names()
                .filter(|name| name.len() > 11 && name[..11].eq_ignore_ascii_case(b"Consumption"));
            consumption.for_each(|name| add(&Expr::attribute(name)));
        }
        found
    }

    /// Sets an attribute to this value in all slot ads, overriding what is published.
    pub fn override_attribute(&mut self, name: &str, value: &Expr) {
        for slot in self.slots.values_mut() {
            slot.ads.live.insert(name, value.clone());
        }
    }
}

/// Returns the verdict of a slot about a job, given only the slot's ad, as if the slot were free.
pub fn judge_job_by_ad(slot: &ClassAd, job: &ClassAd, world: &dyn World, quirks: QuirkMode) -> SlotVerdict {
    let context = Context::new(world).my(slot).target(job);
    if context.boolean("Requirements") != Some(true) {
        return SlotVerdict::refused(UnfitReason::from_requirements(slot, job, world));
    }
    match check_slot_ad_devices(slot, job, world, quirks) {
        Ok(()) => SlotVerdict::accepted(context.real("Rank").unwrap_or(0.0), None),
        Err(unfit) => SlotVerdict::refused(unfit),
    }
}

/// Checks, with the slot ad alone, that a slot whose Requirements are true has the devices that a job requires.
///
/// # Errors
/// Fails if there are too few devices; the error is the reason.
pub fn check_slot_ad_devices(
    slot: &ClassAd,
    job: &ClassAd,
    world: &dyn World,
    quirks: QuirkMode,
) -> Result<(), UnfitReason> {
    let splits = Context::new(world).my(slot).target(job).boolean("PartitionableSlot") == Some(true);
    let has = || check_devices_by_ad(slot, job, world, quirks);
    match splits {
        true => has(),
        false => check_undivided_slot_devices(has, quirks).map_err(|(unfit, _)| unfit),
    }
}

/// True if a slot, according to its ad, runs a job or is claimed for one. Always false for a partitionable slot, which
/// offers the resources that its dynamic slots do not use, whatever its state.
pub fn is_claimed_by_ad(slot: &ClassAd, world: &dyn World) -> bool {
    let own = Context::new(world).my(slot);
    let is_in_state =
        |state: &str| own.string("State").is_some_and(|it| it.eq_ignore_ascii_case(state.as_bytes()));
    (is_in_state("Claimed") || is_in_state("Preempting")) && own.boolean("PartitionableSlot") != Some(true)
}

/// Returns why a claimed slot keeps its job, or `None` if it is free or ranks the new job higher (matchmaker.cpp,
/// `rankCondStd`). PREEMPTION_REQUIREMENTS, a parameter of the negotiator, is assumed to be false, its default.
pub fn refusal_by_claim(slot: &ClassAd, job: &ClassAd, world: &dyn World) -> Option<UnfitReason> {
    if !is_claimed_by_ad(slot, world) {
        return None;
    }
    let context = Context::new(world).my(slot).target(job);
    let (rank, current) = (context.real("Rank"), context.real("CurrentRank"));
    if rank.zip(current).is_some_and(|(rank, current)| rank > current) {
        return None;
    }
    let [rank, current] = [rank, current].map(|rank| rank.unwrap_or(0.0));
    let reason = format!(
        "claimed: the slot's Rank of this job is {rank}, not higher than {current}, that of the job it runs"
    );
    let seen = ["State", "RemoteUser", "JobId"].into_iter().filter_map(|name| {
        let value = context.string(name)?;
        Some(format!("{name} = \"{value}\""))
    });
    let condition = EvaluatedCondition {
        attribute: "Rank".to_owned(),
        text: "Rank > CurrentRank".to_owned(),
        value: "false".to_owned(),
        seen: seen.collect(),
    };
    Some(UnfitReason { reason, untrue_conditions: vec![condition] })
}

/// Policy expression and its current value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvaluatedExpression {
    /// Name of the attribute, such as `PREEMPT`.
    pub name: String,
    /// Text of the expression.
    pub text: String,
    /// Value of the evaluated expression.
    pub value: String,
    /// The condition that decides the value, if the expression joins several by `&&` or `||`.
    pub because: Option<EvaluatedCondition>,
    /// The attributes it refers to, with their values.
    pub parts: Vec<String>,
}

/// Expressions that decide about a slot, in order of evaluation.
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
    /// Evaluates the policy expressions of a slot, with its current job.
    pub fn evaluate_policy_expressions(&self, key: SlotKey) -> Vec<EvaluatedExpression> {
        POLICY_EXPRESSIONS.into_iter().filter_map(|name| self.evaluate_expression(key, name)).collect()
    }

    /// Evaluates one expression of a slot, with its current job.
    pub fn evaluate_expression(&self, key: SlotKey, name: &str) -> Option<EvaluatedExpression> {
        let slot = self.slots.get(&key)?;
        let world = FrozenClockWorld { world: &*self.core.world, now: self.core.now };
        let mut context = Context::new(&world).my(&slot.ads.live);
        if let Some(job) = slot.job() {
            context = context.target(job);
        }
        let expr = slot.ads.live.get(name)?;
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

/// Finds the condition within an expression that decides its value.
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

/// Finds the first part that makes a conjunction not true or a disjunction true; names are followed.
fn find_deciding_part(step: &TraceStep) -> &TraceStep {
    let truth = step.value.as_ref().and_then(Value::truth);
    let same = || step.steps.iter().find(|part| part.value == step.value);
    let part = match step.expr.kind() {
        ExprKind::And(..) if truth != Some(true) => same(),
        ExprKind::Or(..) if truth == Some(true) => same(),
        // The expression of a name, if it consists of several conditions.
        ExprKind::Reference => {
            step.steps.last().filter(|inner| !std::ptr::eq(find_deciding_part(inner), *inner))
        }
        _ => None,
    };
    part.map_or(step, find_deciding_part)
}

/// Returns the values of the attributes in an expression, and of those in the expressions they refer to.
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
            let Some(inner) = slot.ads.live.get(&name).filter(|inner| inner.as_literal().is_none()) else {
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
    fn the_deciding_condition_is_found() {
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
