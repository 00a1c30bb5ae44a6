//! Conditions that a router evaluates for a job, in order: jobs that reveal differences between two routers
//! are generated from them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use super::comparison::{RouterComparison, RouterSide};
use crate::coverage::{
    Condition, ConditionCoverage, Goal, OpposedGoals, ReferencedAttributes, WantedOutcomes,
    attributes_mentioned_by,
};
use htc_base::text::plural::counted;
use htc_classad::{Dialect, Expr};
use htc_config::ConfigView;
use htc_router::route::RouteExpr;
use htc_router::{Route, RouteTable, RouterParameters};

impl RouterSide<'_> {
    /// Creates the side of a comparison for a router without any observations.
    pub fn new<'a>(
        name: &'a str,
        table: &'a RouteTable,
        knobs: &'a RouterParameters,
        config: &'a ConfigView<'a>,
    ) -> RouterSide<'a> {
        RouterSide {
            name,
            table,
            parameters: knobs,
            config,
            umbrella_order: Vec::new(),
            observations: RefCell::default(),
        }
    }

    /// Returns true if there is a route that a job may get.
    pub fn has_usable_route(&self) -> bool {
        let can = |route: &Route| {
            route.requirements().and_then(Expr::as_literal).is_none_or(|value| value.truth() == Some(true))
        };
        self.reachable_routes().any(|(_, route, _)| can(route))
    }

    pub(super) fn qualified_name(&self, what: &str, name: &[u8]) -> String {
        format!("{}: {what} {}", self.name, name.as_bstr())
    }

    fn parse_constraint(&self) -> Option<Expr> {
        self.parameters.constraint.as_ref().and_then(|text| {
            Expr::parse_with(text, Dialect::new_syntax().strict(self.parameters.strict)).ok()
        })
    }

    /// Returns the routes in the order in which they are tried, each with the preconditions for a job to get
    /// it. Routes after one that takes every job are omitted.
    pub(super) fn reachable_routes(&self) -> impl Iterator<Item = (usize, &Route, Vec<Goal>)> {
        let mut around: Vec<Goal> =
            self.parse_constraint().iter().map(|expr| Goal::new(expr, WantedOutcomes::TRUE)).collect();
        let mut is_open = self.table.enabled;
        self.table.routes_in_order().map_while(move |(at, route)| {
            if !is_open {
                return None;
            }
            let mut within = around.clone();
            match route.requirements() {
                Some(expr) => {
                    within.push(Goal::new(expr, WantedOutcomes::TRUE));
                    // An error would exclude the job from all routes, because the router first evaluates the
                    // disjunction of all requirements.
                    around.push(Goal::new(expr, WantedOutcomes::FALSE_OR_UNDEFINED));
                    is_open = expr.as_literal().is_none_or(|value| value.truth() != Some(true));
                }
                None => is_open = false,
            }
            Some((at, route, within))
        })
    }

    /// Adds everything that this router evaluates for a job to `cover`.
    pub(super) fn add_conditions_to(&self, both: &RouterComparison<'_>, cover: &mut ConditionCoverage<'_>) {
        let mut ask = |name: String, expr: &Expr, (is_condition, is_alike), within: &[Goal]| {
            let (expr, within) = (expr.clone(), within.to_vec());
            cover.add_condition(Condition {
                name,
                expr,
                is_condition,
                preconditions: within,
                is_same_in_both: is_alike,
            });
        };
        if let Some(constraint) = self.parse_constraint() {
            let is_alike = both.left.parse_constraint() == both.right.parse_constraint();
            ask(
                format!("{}: JOB_ROUTER_SOURCE_JOB_CONSTRAINT", self.name),
                &constraint,
                (true, is_alike),
                &[],
            );
        }
        for (_, route, within) in self.reachable_routes() {
            let name = self.qualified_name("route", &route.name);
            let is_alike = both.has_equal_effect(route);
            if let Some((expr, around)) = route.requirements().zip(within.split_last()) {
                ask(
                    format!("{name}: REQUIREMENTS"),
                    expr,
                    (true, is_alike && both.has_equal_requirements(route)),
                    around.1,
                );
            }
            let values = [("SharedX509UserProxy", &route.shared_proxy), ("SendIDTokens", &route.send_tokens)];
            let steers = routing_exprs(route).map(|(what, steer)| (what, steer, true)).into_iter();
            for (what, steer, is_condition) in steers.chain(values.map(|(what, steer)| (what, steer, false)))
            {
                if let Some(expr) = &steer.expr {
                    ask(format!("{name}: {what}"), expr, (is_condition, is_alike), &within);
                }
            }
        }
        let first = self.reachable_routes().next().map(|(_, _, within)| within).unwrap_or_default();
        let around = self.table.pre_transforms.iter().chain(&self.table.post_transforms);
        for transform in around.clone() {
            if let Some(requirements) = &transform.envelope.requirements {
                let name = format!("{}: REQUIREMENTS", self.qualified_name("transform", &transform.name));
                // These requirements are evaluated in the copy; whether the transform was applied is recorded
                // when the copy is made.
                ask(name, &requirements.expr, (false, both.is_frame_equal), &first);
            }
        }
        let around: BTreeSet<_> = around.flat_map(attributes_mentioned_by).collect();
        for (_, route, within) in self.reachable_routes() {
            let is_alike = both.has_equal_effect(route);
            cover.add_attributes(ReferencedAttributes {
                attributes: &attributes_mentioned_by(&route.transform) | &around,
                preconditions: within,
                is_same_in_both: is_alike,
            });
        }
    }

    /// Adds messages about routes that no job got, and transforms that were always or never applied. Parts
    /// that both routers have in common are omitted, because they are not a difference.
    pub(super) fn add_unreached(
        &self,
        is_frame_alike: bool,
        is_alike: &dyn Fn(&Route) -> bool,
        lines: &mut Vec<String>,
    ) {
        let met = self.observations.borrow();
        let known: Vec<&BString> = {
            let routes = self.table.routes.iter().filter(|route| is_alike(route)).map(|route| &route.name);
            let around = self
                .table
                .pre_transforms
                .iter()
                .chain(&self.table.post_transforms)
                .filter(|_| is_frame_alike);
            routes.chain(around.map(|transform| &transform.name)).collect()
        };
        lines.extend(
            met.transform_observations
                .unreached_conditions(self.name, &|transform| known.contains(&transform)),
        );
        for (at, route, _) in self.reachable_routes().filter(|(_, route, _)| !is_alike(route)) {
            let never = route
                .requirements()
                .and_then(Expr::as_literal)
                .is_some_and(|value| value.truth() != Some(true));
            match met.chosen_routes.get(&at) {
                None if !never => {
                    lines.push(format!(
                        "{}: no job was found that gets this route",
                        self.qualified_name("route", &route.name)
                    ));
                }
                Some(Some(reason)) => {
                    let name = self.qualified_name("route", &route.name);
                    lines.push(format!("{name}: no job was found for which it makes a routed job: {reason}"));
                }
                None | Some(None) => {}
            }
        }
        for transform in
            self.table.pre_transforms.iter().chain(&self.table.post_transforms).filter(|_| !is_frame_alike)
        {
            let seen = met.transforms.get(&transform.name).copied().unwrap_or_default();
            let asked =
                transform.envelope.requirements.as_ref().is_some_and(|it| it.expr.as_literal().is_none());
            let missing = match (seen, asked) {
                ([true, true], _) | (_, false) => continue,
                ([false, _], true) => "true",
                ([true, false], true) => "anything but true",
            };
            let name = self.qualified_name("transform", &transform.name);
            lines.push(format!("{name}: REQUIREMENTS: no job was found for which it is {missing}"));
        }
    }

    /// Describes the loaded routes, with the reason for each route that no job can get.
    pub fn describe_routes(&self) -> Vec<String> {
        let names: Vec<&[u8]> =
            self.table.routes_in_order().map(|(_, route)| route.name.as_slice()).collect();
        if names.is_empty() || !self.table.enabled {
            return vec![format!("{}: no route is loaded", self.name)];
        }
        let shown = bstr::join(", ", &names);
        let mut lines = vec![format!("{}: {} {}", self.name, counted(names.len(), "route"), shown.as_bstr())];
        let reached: Vec<usize> = self.reachable_routes().map(|(at, ..)| at).collect();
        let last = reached.last().map(|at| self.table.routes[*at].name.as_bstr());
        for (at, route) in self.table.routes_in_order() {
            if let Some(last) = last.filter(|_| !reached.contains(&at)) {
                lines.push(format!(
                    "{}: no job gets it, because the routes before it take all jobs, the last of them {last}",
                    self.qualified_name("route", &route.name)
                ));
            } else if let Some(value) = route.requirements().and_then(Expr::as_literal)
                && value.truth() != Some(true)
            {
                lines.push(format!(
                    "{}: no job gets it, because its REQUIREMENTS are {value}",
                    self.qualified_name("route", &route.name)
                ));
            }
        }
        lines
    }
}

impl RouterComparison<'_> {
    /// Adds goals for jobs that get a route in only one of the routers, or are treated differently by it.
    pub(super) fn add_opposed_goals(&self, cover: &mut ConditionCoverage<'_>) {
        let [left, right] = [&self.left, &self.right].map(|side| side.reachable_routes().collect::<Vec<_>>());
        for (_, route, within) in &left {
            for (_, other, without) in
                right.iter().filter(|(_, other, _)| self.is_same_route_name(&route.name, &other.name))
            {
                let mut oppose = |name: String, all: &[Goal], others: &[Goal]| {
                    let differs = |goal: &&Goal| !all.iter().any(|known| known.is_same(goal));
                    let one: Vec<Goal> = others.iter().filter(differs).map(Goal::to_opposite).collect();
                    if !one.is_empty() {
                        cover.add_opposed_goals(OpposedGoals { name, all_of: all.to_vec(), one_of: one });
                    }
                };
                let [first, second] = [
                    self.left.qualified_name("route", &route.name),
                    self.right.qualified_name("route", &other.name),
                ];
                oppose(format!("jobs that get route {first} only in the first router"), within, without);
                oppose(format!("jobs that get route {second} only in the second router"), without, within);
                for ((what, one), (_, two)) in routing_exprs(route).into_iter().zip(routing_exprs(other)) {
                    let (Some(one), Some(two)) = (&one.expr, &two.expr) else { continue };
                    let [one, two] = [one, two].map(|expr| Goal::new(expr, WantedOutcomes::TRUE));
                    let with = |goal: &Goal| [&within[..], std::slice::from_ref(goal)].concat();
                    oppose(format!("{first}: {what} true only here"), &with(&one), &with(&two));
                    oppose(format!("{second}: {what} true only here"), &with(&two), &with(&one));
                }
            }
        }
    }
}

/// Returns the conditions that control the treatment of a job that gets the route.
fn routing_exprs(route: &Route) -> [(&'static str, &RouteExpr); 3] {
    [
        ("EditJobInPlace", &route.edit_job_in_place),
        ("JobShouldBeSandboxed", &route.job_should_be_sandboxed),
        ("UseSharedX509UserProxy", &route.use_shared_proxy),
    ]
}
