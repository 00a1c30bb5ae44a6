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
    /// Creates the side of a comparison for a router. Nothing has been observed yet.
    pub fn new<'a>(
        name: &'a str,
        table: &'a RouteTable,
        parameters: &'a RouterParameters,
        config: &'a ConfigView<'a>,
    ) -> RouterSide<'a> {
        RouterSide {
            name,
            table,
            parameters,
            config,
            umbrella_order: Vec::new(),
            observations: RefCell::default(),
        }
    }

    /// Returns true if there is a route that a job may get.
    pub fn has_usable_route(&self) -> bool {
        let is_usable = |route: &Route| {
            route.requirements().and_then(Expr::as_literal).is_none_or(|value| value.truth() == Some(true))
        };
        self.reachable_routes().any(|(_, route, _)| is_usable(route))
    }

    pub(super) fn qualified_name(&self, kind: &str, name: &[u8]) -> String {
        format!("{}: {kind} {}", self.name, name.as_bstr())
    }

    fn parse_constraint(&self) -> Option<Expr> {
        self.parameters.constraint.as_ref().and_then(|text| {
            Expr::parse_with(text, Dialect::new_syntax().strict(self.parameters.strict)).ok()
        })
    }

    /// Returns the routes in the order in which they are tried, each with the preconditions for a job to get
    /// it. Routes after one that takes every job are omitted.
    pub(super) fn reachable_routes(&self) -> impl Iterator<Item = (usize, &Route, Vec<Goal>)> {
        let mut earlier_goals: Vec<Goal> =
            self.parse_constraint().iter().map(|expr| Goal::new(expr, WantedOutcomes::TRUE)).collect();
        let mut is_open = self.table.enabled;
        self.table.routes_in_order().map_while(move |(at, route)| {
            if !is_open {
                return None;
            }
            let mut preconditions = earlier_goals.clone();
            match route.requirements() {
                Some(expr) => {
                    preconditions.push(Goal::new(expr, WantedOutcomes::TRUE));
                    // An error would exclude the job from all routes, because the router first evaluates the
                    // disjunction of all requirements.
                    earlier_goals.push(Goal::new(expr, WantedOutcomes::FALSE_OR_UNDEFINED));
                    is_open = expr.as_literal().is_none_or(|value| value.truth() != Some(true));
                }
                None => is_open = false,
            }
            Some((at, route, preconditions))
        })
    }

    /// Adds everything that this router evaluates for a job to `coverage`.
    pub(super) fn add_conditions_to(
        &self,
        both: &RouterComparison<'_>,
        coverage: &mut ConditionCoverage<'_>,
    ) {
        let mut add = |name: String, expr: &Expr, (is_condition, is_equal), preconditions: &[Goal]| {
            let (expr, preconditions) = (expr.clone(), preconditions.to_vec());
            coverage.add_condition(Condition {
                name,
                expr,
                is_condition,
                preconditions,
                is_same_in_both: is_equal,
            });
        };
        if let Some(constraint) = self.parse_constraint() {
            let is_equal = both.left.parse_constraint() == both.right.parse_constraint();
            add(
                format!("{}: JOB_ROUTER_SOURCE_JOB_CONSTRAINT", self.name),
                &constraint,
                (true, is_equal),
                &[],
            );
        }
        for (_, route, preconditions) in self.reachable_routes() {
            let name = self.qualified_name("route", &route.name);
            let is_equal = both.has_equal_effect(route);
            if let Some((expr, (_, earlier_goals))) = route.requirements().zip(preconditions.split_last()) {
                add(
                    format!("{name}: REQUIREMENTS"),
                    expr,
                    (true, is_equal && both.has_equal_requirements(route)),
                    earlier_goals,
                );
            }
            let values = [("SharedX509UserProxy", &route.shared_proxy), ("SendIDTokens", &route.send_tokens)];
            let settings = routing_exprs(route).map(|(label, setting)| (label, setting, true)).into_iter();
            for (label, setting, is_condition) in
                settings.chain(values.map(|(label, setting)| (label, setting, false)))
            {
                if let Some(expr) = &setting.expr {
                    add(format!("{name}: {label}"), expr, (is_condition, is_equal), &preconditions);
                }
            }
        }
        let first =
            self.reachable_routes().next().map(|(_, _, preconditions)| preconditions).unwrap_or_default();
        let transforms = self.table.pre_transforms.iter().chain(&self.table.post_transforms);
        for transform in transforms.clone() {
            if let Some(requirements) = &transform.envelope.requirements {
                let name = format!("{}: REQUIREMENTS", self.qualified_name("transform", &transform.name));
                // These requirements are evaluated in the copy; whether the transform was applied is recorded
                // when the copy is made.
                add(name, &requirements.expr, (false, both.is_frame_equal), &first);
            }
        }
        let frame_attributes: BTreeSet<_> = transforms.flat_map(attributes_mentioned_by).collect();
        for (_, route, preconditions) in self.reachable_routes() {
            let is_equal = both.has_equal_effect(route);
            coverage.add_attributes(ReferencedAttributes {
                attributes: &attributes_mentioned_by(&route.transform) | &frame_attributes,
                preconditions,
                is_same_in_both: is_equal,
            });
        }
    }

    /// Adds messages about routes that no job got, and transforms that were always or never applied. Parts
    /// that both routers have in common are omitted, because they are not a difference.
    pub(super) fn add_unreached(
        &self,
        is_frame_equal: bool,
        is_equal: &dyn Fn(&Route) -> bool,
        lines: &mut Vec<String>,
    ) {
        let observations = self.observations.borrow();
        let known: Vec<&BString> = {
            let routes = self.table.routes.iter().filter(|route| is_equal(route)).map(|route| &route.name);
            let transforms = self
                .table
                .pre_transforms
                .iter()
                .chain(&self.table.post_transforms)
                .filter(|_| is_frame_equal);
            routes.chain(transforms.map(|transform| &transform.name)).collect()
        };
        lines.extend(
            observations
                .transform_observations
                .unreached_conditions(self.name, &|transform| known.contains(&transform)),
        );
        for (at, route, _) in self.reachable_routes().filter(|(_, route, _)| !is_equal(route)) {
            let is_never_true = route
                .requirements()
                .and_then(Expr::as_literal)
                .is_some_and(|value| value.truth() != Some(true));
            match observations.chosen_routes.get(&at) {
                None if !is_never_true => {
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
            self.table.pre_transforms.iter().chain(&self.table.post_transforms).filter(|_| !is_frame_equal)
        {
            let outcomes = observations.transforms.get(&transform.name).copied().unwrap_or_default();
            let has_condition =
                transform.envelope.requirements.as_ref().is_some_and(|it| it.expr.as_literal().is_none());
            let missing = match (outcomes, has_condition) {
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
    pub(super) fn add_opposed_goals(&self, coverage: &mut ConditionCoverage<'_>) {
        let [left, right] = [&self.left, &self.right].map(|side| side.reachable_routes().collect::<Vec<_>>());
        for (_, route, preconditions) in &left {
            for (_, other, other_preconditions) in
                right.iter().filter(|(_, other, _)| self.is_same_route_name(&route.name, &other.name))
            {
                let mut oppose = |name: String, all: &[Goal], others: &[Goal]| {
                    let differs = |goal: &&Goal| !all.iter().any(|known| known.is_same(goal));
                    let one: Vec<Goal> = others.iter().filter(differs).map(Goal::to_opposite).collect();
                    if !one.is_empty() {
                        coverage.add_opposed_goals(OpposedGoals { name, all_of: all.to_vec(), one_of: one });
                    }
                };
                let [first, second] = [
                    self.left.qualified_name("route", &route.name),
                    self.right.qualified_name("route", &other.name),
                ];
                oppose(
                    format!("jobs that get route {first} only in the first router"),
                    preconditions,
                    other_preconditions,
                );
                oppose(
                    format!("jobs that get route {second} only in the second router"),
                    other_preconditions,
                    preconditions,
                );
                for ((label, one), (_, two)) in routing_exprs(route).into_iter().zip(routing_exprs(other)) {
                    let (Some(one), Some(two)) = (&one.expr, &two.expr) else { continue };
                    let [one, two] = [one, two].map(|expr| Goal::new(expr, WantedOutcomes::TRUE));
                    let with_goal = |goal: &Goal| [&preconditions[..], std::slice::from_ref(goal)].concat();
                    oppose(format!("{first}: {label} true only here"), &with_goal(&one), &with_goal(&two));
                    oppose(format!("{second}: {label} true only here"), &with_goal(&two), &with_goal(&one));
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
