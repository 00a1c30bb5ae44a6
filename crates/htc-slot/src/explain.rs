//! Why a slot would or would not take a job: which conditions are not true, and the values they saw.

use serde::Serialize;

use super::clause::{Clause, cut, plain, values_in};
use super::device_choice::{has_devices, has_devices_by_ad, whole_has};
use super::execution_point::ExecutionPoint;
use super::fetch_verdict::add_requests;
use super::interface::SlotKey;
use super::settings::SlotKind;
use super::single::Slot;
use super::unfit::Unfit;
use super::watch::Moving;
use htc_base::quirks::Quirks;
use htc_base::world::{Frozen, World};
use htc_classad::explain::{Step, trace};
use htc_classad::{ClassAd, Context, Expr, Shape, Value};

/// What a slot says to a job that nobody has fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Whether it would take it, were it free.
    pub accepted: bool,
    /// In one line.
    pub reason: String,
    /// The conditions that are not true.
    pub details: Vec<Clause>,
    /// Why a claim for the job would be refused all the same: the dynamic slot would not take it, which nobody asks of a fetched
    /// job.
    pub unfit_to_claim: Option<Unfit>,
}

impl Offer {
    fn refused(unfit: Unfit) -> Self {
        let Unfit { reason, clauses } = unfit;
        Offer { accepted: false, reason, details: clauses, unfit_to_claim: None }
    }

    fn accepted(rank: f64, unfit_to_claim: Option<Unfit>) -> Self {
        Offer { accepted: true, reason: format!("rank {rank}"), details: Vec::new(), unfit_to_claim }
    }

    /// What whoever claims is told, not a fetch hook.
    pub fn to_a_claim(self) -> Self {
        match self.unfit_to_claim {
            Some(unfit) => Offer::refused(unfit),
            None => self,
        }
    }
}

/// An expression that is asked after, up to this one.
const LONGEST: usize = 4000;

impl Slot {
    /// A job as it would be had the slot fetched it.
    fn as_fetched(&self, job: &ClassAd) -> ClassAd {
        let mut job = job.clone();
        if self.kind == SlotKind::Static {
            add_requests(&mut job);
        }
        job
    }
}

impl ExecutionPoint {
    /// What a slot, were it free, would say to the job; `None` when there is no such slot.
    pub fn consider(&self, key: SlotKey, job: &ClassAd) -> Option<Offer> {
        let slot = self.slots.get(&key)?;
        let job = slot.as_fetched(job);
        let core = &self.core;
        let (takes, rank) = slot.look(core, Some(&job), |context| {
            (context.boolean("Requirements") == Some(true), context.real("Rank").unwrap_or(0.0))
        });
        if slot.broken.is_some() || !takes {
            return Some(Offer::refused(slot.unfit_for(core, &job)));
        }
        let tried = match slot.kind {
            SlotKind::Partitionable => slot.try_split(core, &job),
            SlotKind::Static | SlotKind::Dynamic => {
                let found = whole_has(|| has_devices(slot, core, &job), core.quirks());
                found.map(|()| None).map_err(|(unfit, _)| unfit)
            }
        };
        Some(match tried {
            Ok(unfit) => Offer::accepted(rank, unfit),
            Err(unfit) => Offer::refused(unfit),
        })
    }

    /// The second from which on a slot may say something else to the job than now, by the clock alone; `i64::MAX` for never.
    pub fn says_so_until(&self, key: SlotKey, job: &ClassAd) -> Option<i64> {
        let slot = self.slots.get(&key)?;
        let job = slot.as_fetched(job);
        let moving = slot.moving(&self.core);
        // What moves was published at the last poll, and goes on from there.
        let published = self.core.current_time.min(moving.now);
        self.core.watch.begin(Moving { now: published, ..moving });
        // Rank is asked of a job that is wanted only.
        slot.look(&self.core, Some(&job), |context| {
            context.boolean("Requirements").filter(|wanted| *wanted).map(|_| context.real("Rank"))
        });
        Some(self.core.watch.end())
    }

    /// An attribute has this value in all slots from now on, whatever is published of it.
    pub fn assume(&mut self, name: &str, value: &Expr) {
        for slot in self.slots.values_mut() {
            slot.live.insert(name, value.clone());
        }
    }
}

/// What a slot that is known by its ad alone would say to the job, were it free.
pub fn consider_ad(slot: &ClassAd, job: &ClassAd, world: &dyn World, quirks: Quirks) -> Offer {
    let context = Context::new(world).my(slot).target(job);
    if context.boolean("Requirements") != Some(true) {
        return Offer::refused(Unfit::of(slot, job, world));
    }
    let splits = context.boolean("PartitionableSlot") == Some(true);
    let has = || has_devices_by_ad(slot, job, world, quirks);
    let devices = match splits {
        true => has(),
        false => whole_has(has, quirks).map_err(|(unfit, _)| unfit),
    };
    match devices {
        Ok(()) => Offer::accepted(context.real("Rank").unwrap_or(0.0), None),
        Err(unfit) => Offer::refused(unfit),
    }
}

/// A policy expression as it stands and what it says now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The attribute, such as `PREEMPT`.
    pub name: String,
    /// The expression.
    pub text: String,
    /// Its value.
    pub value: String,
    /// Of several conditions joined by `&&` or `||` the one that makes it so.
    pub because: Option<Clause>,
    /// The attributes that it names, with their values.
    pub parts: Vec<String>,
}

/// The expressions that decide about a slot, in the order in which they are asked.
const POLICY: [&str; 12] = [
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
    pub fn policy(&self, key: SlotKey) -> Vec<Asked> {
        POLICY.into_iter().filter_map(|name| self.asked(key, name)).collect()
    }

    /// What one expression of a slot says now, with the job that it has.
    pub fn asked(&self, key: SlotKey, name: &str) -> Option<Asked> {
        let slot = self.slots.get(&key)?;
        let world = Frozen { world: &*self.core.world, now: self.core.now };
        let mut context = Context::new(&world).my(&slot.live);
        if let Some(job) = slot.job() {
            context = context.target(job);
        }
        let expr = slot.live.get(name)?;
        let parts = if expr.as_literal().is_some() { Vec::new() } else { deep_values(&context, slot, &expr) };
        let text = cut(&expr.unparse_old().to_string(), LONGEST);
        let because = because(&context, &expr);
        Some(Asked { name: name.to_owned(), text, value: plain(&context.eval_attr(name)), because, parts })
    }
}

/// The condition within an expression that makes its value.
fn because(context: &Context<'_>, expr: &Expr) -> Option<Clause> {
    let whole = trace(context, expr);
    let part = deciding(&whole);
    let value = part.value.as_ref().filter(|_| !std::ptr::eq(part, &whole))?;
    Some(Clause {
        attribute: String::new(),
        text: cut(&part.expr.without_parentheses().unparse_old().to_string(), LONGEST),
        value: plain(value),
        seen: values_in(context, &part.expr),
    })
}

/// The first part that is not true of a conjunction that is not, or that is true of a disjunction that is; names are followed.
fn deciding(step: &Step) -> &Step {
    let truth = step.value.as_ref().and_then(Value::truth);
    let same = || step.steps.iter().find(|part| part.value == step.value);
    let part = match step.expr.shape() {
        Shape::And(..) if truth != Some(true) => same(),
        Shape::Or(..) if truth == Some(true) => same(),
        // What a name stands for, where that is made of several conditions.
        Shape::Reference => step.steps.last().filter(|inner| !std::ptr::eq(deciding(inner), *inner)),
        _ => None,
    };
    part.map_or(step, deciding)
}

/// The values of the names in an expression, and of those in the expressions that these stand for.
fn deep_values(context: &Context<'_>, slot: &Slot, expr: &Expr) -> Vec<String> {
    let mut found = values_in(context, expr);
    let mut todo: Vec<Expr> = vec![expr.clone()];
    let mut turns = 0;
    while let Some(expr) = todo.pop() {
        turns += 1;
        if turns > 40 {
            break;
        }
        for name in htc_classad::references::of(&expr) {
            let Some(inner) = slot.live.get(&name).filter(|inner| inner.as_literal().is_none()) else {
                continue;
            };
            let new: Vec<String> =
                values_in(context, &inner).into_iter().filter(|line| !found.contains(line)).collect();
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
            let because = because(&context, &Expr::parse(text.as_bytes()).unwrap());
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
