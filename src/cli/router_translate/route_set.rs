//! Routes in the form that explanations of matches need: each route is treated as a slot, but its conditions are
//! evaluated with the job's ad as MY.

use super::router_setup::RouterSetup;
use crate::classad::{ClassAd, Context, Expr, Truth, explain};
use crate::router::{RouteChooser, RouteState};
use crate::why::matching::{ClauseSide, JobCondition, OtherRefusal, SideNames, SlotSet};
use crate::world::World;

/// Condition that every job in a queue meets. It is omitted, because it would put each job into a separate group.
const ALWAYS_TRUE: &str = "target.ProcId >= 0";

/// Route, and an ad with its Requirements.
struct RouteEntry {
    /// Index of the route in the routing table.
    index: usize,
    name: String,
    ad: ClassAd,
    /// Reason why the route accepts no more jobs, or `None`.
    full: Option<String>,
}

/// Routes in the order in which they are tried.
pub(super) struct RouteSet<'a> {
    chooser: RouteChooser<'a>,
    routes: Vec<RouteEntry>,
    conditions: Vec<JobCondition>,
    world: &'a dyn World,
    empty: ClassAd,
}

impl<'a> RouteSet<'a> {
    /// Creates the set of all routes in a routing table, with their current states.
    pub(super) fn new(setup: &'a RouterSetup, states: &[RouteState], world: &'a dyn World) -> Self {
        let chooser = RouteChooser::new(&setup.table, &setup.parameters, None, world);
        let routes = setup.table.routes_in_order().map(|(index, route)| {
            let mut ad = ClassAd::new();
            ad.insert("Requirements", route.requirements().cloned().unwrap_or_else(|| Expr::literal(true)));
            let full = states[index].full_reason(route).map(|full| full.to_string());
            RouteEntry { index, name: route.name.to_string(), ad, full }
        });
        let routes = routes.collect();
        let parts = [
            ("JOB_ROUTER_SOURCE_JOB_CONSTRAINT", chooser.constraint()),
            ("candidate", chooser.candidate_condition()),
        ];
        let of_part = |(attribute, expr): (&str, Option<&Expr>)| {
            let clauses = expr.map(explain::conjuncts).unwrap_or_default().into_iter();
            let clauses = clauses.map(|clause| clause.without_parentheses());
            clauses
                .filter(|clause| !clause.unparse().eq_ignore_ascii_case(ALWAYS_TRUE.as_bytes()))
                .map(|expr| JobCondition { attribute: attribute.to_owned(), expr })
                .collect::<Vec<_>>()
        };
        let conditions = parts.into_iter().flat_map(of_part).collect();
        RouteSet { chooser, routes, conditions, world, empty: ClassAd::new() }
    }
}

impl SlotSet for RouteSet<'_> {
    fn len(&self) -> usize {
        self.routes.len()
    }

    fn name(&self, slot: usize) -> &str {
        &self.routes[slot].name
    }

    fn ad(&self, slot: usize) -> &ClassAd {
        &self.routes[slot].ad
    }

    fn world(&self) -> &dyn World {
        self.world
    }

    fn side_names(&self) -> SideNames {
        SideNames::ROUTES
    }

    /// Returns the context of a condition. In a route's Requirements, the job's ad is MY; in the constraint of the
    /// router, it is TARGET.
    fn context_in<'c>(
        &'c self,
        world: &'c dyn World,
        side: ClauseSide,
        _slot: &'c ClassAd,
        job: &'c ClassAd,
    ) -> Context<'c> {
        match side {
            ClauseSide::Slot => Context::new(world).my(job).without_enclosing_ad(),
            ClauseSide::Job => Context::new(world).my(&self.empty).target(job),
        }
    }

    fn reading_side(&self, side: ClauseSide) -> ClauseSide {
        match side {
            ClauseSide::Slot => ClauseSide::Job,
            ClauseSide::Job => ClauseSide::Slot,
        }
    }

    fn group_number(&self, slot: usize) -> u64 {
        slot as u64
    }

    fn job_conditions(&self) -> Option<&[JobCondition]> {
        Some(&self.conditions)
    }

    fn hidden_expressions(&self) -> Vec<Expr> {
        self.conditions.iter().map(|condition| condition.expr.clone()).collect()
    }

    fn has_other_conditions(&self, _slot: usize, _job: &ClassAd) -> bool {
        true
    }

    fn refusal_beyond_requirements(&self, slot: usize, job: &ClassAd) -> Option<OtherRefusal> {
        let route = &self.routes[slot];
        if let Some(full) = &route.full {
            return Some(OtherRefusal::new(full.clone(), Vec::new()));
        }
        // The router evaluates Requirements a second time with the job as TARGET.
        match self.chooser.evaluate_requirements(route.index, job) {
            (Truth::True, Truth::True) => None,
            _ => Some(OtherRefusal::new(
                "the route's Requirements are not true if the job is TARGET: write names without a scope"
                    .to_owned(),
                Vec::new(),
            )),
        }
    }

    fn accepts(&self, slot: usize, job: &ClassAd) -> bool {
        let condition =
            |condition: &JobCondition| self.context(ClauseSide::Job, &self.empty, job).holds(&condition.expr);
        self.conditions.iter().all(condition)
            && self
                .context(ClauseSide::Slot, &self.empty, job)
                .holds(&self.routes[slot].ad.get("Requirements").unwrap_or_else(|| Expr::literal(true)))
            && self.refusal_beyond_requirements(slot, job).is_none()
    }
}
