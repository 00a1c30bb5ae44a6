//! Explanations of why a job gets its route, or none, with the values involved. The daemon's log does not
//! contain them.

use bstr::{BString, ByteSlice};

use super::route_choice::{UmbrellaConstraint, UmbrellaOutcomes};
use super::{FullReason, Route, RouteChooser, RouteState, RouteTable};
use htc_base::text::plural::counted;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, Truth, explain};
use htc_transform::scope_reference::find_scope;

/// Clause of the umbrella constraint or of a route's requirements that is not true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedClause {
    /// The clause as written.
    pub text: BString,
    /// The clause with attribute names replaced by their values.
    pub explanation: String,
}

/// Result of checking one route for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteEvaluation {
    /// Name of the route.
    pub route: BString,
    /// Reason why the route takes no further jobs, or `None` if it can take more jobs.
    pub full_reason: Option<FullReason>,
    /// Value of the route's requirements.
    pub matches: Truth,
    /// First clause of the requirements that is not true, or `None` if all are.
    pub clause: Option<FailedClause>,
    /// Hint about a mistake in the requirements, for example a scope that is undefined when they are evaluated;
    /// `None` if no mistake was found.
    pub hint: Option<String>,
}

/// Complete explanation of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobExplanation {
    /// Value of the umbrella constraint.
    pub umbrella: Truth,
    /// Name of the part of the umbrella that excludes the job, with the clause; `None` if no part does.
    pub excluded_by: Option<(&'static str, FailedClause)>,
    /// Routes in the order in which they are tried, up to the requested number.
    pub routes: Vec<RouteEvaluation>,
    /// Number of further routes.
    pub more_routes: usize,
}

/// Maximum number of routes that [`JobExplanation::reason`] names.
pub const MAX_NAMED_ROUTES: usize = 8;

/// Returns true if a clause contains the scope TARGET.
fn names_target(clause: &FailedClause) -> bool {
    find_scope(&clause.text, "TARGET").is_some()
}

/// Returns a phrase about full routes that match a job: "route A matches, but accepts no more jobs".
fn full_routes_phrase(names: &[&BString]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED_ROUTES).map(|name| name.to_string()).collect();
    let more = match names.len().saturating_sub(MAX_NAMED_ROUTES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match &shown[..] {
        [one] => format!("route {one} matches, but accepts no more jobs"),
        several => format!("routes {}{more} match, but accept no more jobs", several.join(", ")),
    }
}

fn first_failed_clause(context: &Context<'_>, expr: &Expr) -> Option<FailedClause> {
    let clause = explain::first_not_true(context, expr)?;
    Some(FailedClause { text: clause.expr.unparse(), explanation: clause.to_string() })
}

/// Explainer of route choices. Refers to the route table, the chooser of routes and the states of the routes.
pub struct JobExplainer<'a> {
    /// Chooser of routes.
    pub chooser: &'a RouteChooser<'a>,
    /// Route table.
    pub table: &'a RouteTable,
    /// Umbrella constraint, which every candidate job must meet, or `None` if no route accepts jobs.
    pub umbrella: Option<&'a UmbrellaConstraint>,
    /// States of the routes before the job was routed.
    pub route_states: &'a [RouteState],
    /// Clock and other values from outside of this process, for evaluation.
    pub world: &'a dyn World,
}

impl JobExplainer<'_> {
    /// Explains why one job gets a route or none, with the details of the first `limit` routes.
    pub fn explain(&self, job: &ClassAd, limit: usize) -> JobExplanation {
        let JobExplainer { chooser, table, umbrella, route_states: states, world } = *self;
        let empty = ClassAd::new();
        let as_target = Context::new(world).my(&empty).target(job);
        let as_my = Context::new(world).my(job).without_enclosing_ad();
        let outcomes = umbrella.map(|umbrella| chooser.evaluate_umbrella_parts(umbrella, job));
        let routes: Vec<RouteEvaluation> = table
            .routes_in_order()
            .take(limit)
            .map(|(at, route)| {
                let (umbrella, wants) = chooser.evaluate_requirements(at, job);
                let clause = match route.requirements() {
                    Some(expr) if wants != Truth::True => first_failed_clause(&as_my, expr),
                    _ => None,
                };
                let trap = match (umbrella, wants) {
                    (Truth::True, Truth::Undefined | Truth::Error) => {
                        Some("REQUIREMENTS of a route are evaluated without TARGET: write the name without a scope")
                    }
                    (Truth::Undefined | Truth::Error, Truth::True) => {
                        Some("the combined constraint of all routes is evaluated without MY: write the name without a scope")
                    }
                    (Truth::True, Truth::False) if clause.as_ref().is_some_and(names_target) => {
                        Some("TARGET. is undefined in REQUIREMENTS of a route: write the name without a scope")
                    }
                    _ => None,
                };
                RouteEvaluation {
                    route: route.name.clone(),
                    full_reason: states[at].full_reason(route),
                    matches: wants,
                    clause,
                    hint: trap.map(str::to_owned),
                }
            })
            .collect();
        let more = table.order.len() - routes.len();
        let Some(outcomes) = outcomes else {
            return JobExplanation { umbrella: Truth::False, excluded_by: None, routes, more_routes: more };
        };
        let left_out = match outcomes.umbrella {
            Truth::True => None,
            _ => self.excluding_clause(&outcomes, &as_target),
        };
        JobExplanation { umbrella: outcomes.umbrella, excluded_by: left_out, routes, more_routes: more }
    }

    /// Returns the name of the part of the umbrella that excludes a job, with the clause that is not true.
    fn excluding_clause(
        &self,
        outcomes: &UmbrellaOutcomes,
        job: &Context<'_>,
    ) -> Option<(&'static str, FailedClause)> {
        let chooser = self.chooser;
        let parts = [
            ("JOB_ROUTER_SOURCE_JOB_CONSTRAINT", outcomes.constraint, chooser.constraint()),
            ("no candidate", outcomes.candidate_condition, chooser.candidate_condition()),
        ];
        let clause = |(name, truth, expr): (_, Option<Truth>, Option<&Expr>)| {
            truth.filter(|truth| *truth != Truth::True)?;
            Some((name, first_failed_clause(job, expr?)?))
        };
        let owner = || {
            let owner = chooser.owner().filter(|_| outcomes.owner != Some(Truth::True))?;
            let because = format!("a router that is not root routes only the jobs of {owner}");
            Some(("owner", FailedClause { text: "Owner".into(), explanation: because }))
        };
        parts.into_iter().find_map(clause).or_else(owner)
    }

    /// Returns the same text as [`JobExplanation::reason`] without tracing evaluations, for counting the
    /// reasons of many jobs.
    pub(super) fn untraced_reason(&self, job: &ClassAd) -> String {
        let JobExplainer { chooser, table, umbrella, route_states: states, world } = *self;
        let empty = ClassAd::new();
        let as_target = Context::new(world).my(&empty).target(job);
        let as_my = Context::new(world).my(job).without_enclosing_ad();
        let first = |context: &Context<'_>, expr: &Expr| -> Option<FailedClause> {
            let clause = explain::conjuncts(expr).into_iter().find(|clause| !context.holds(clause))?;
            Some(FailedClause { text: clause.unparse(), explanation: String::new() })
        };
        let mut left_out = None;
        if let Some(umbrella) = umbrella
            && chooser.evaluate_umbrella_parts(umbrella, job).umbrella != Truth::True
        {
            let constraint = chooser.constraint().and_then(|expr| first(&as_target, expr));
            let sanity = || chooser.candidate_condition().and_then(|expr| first(&as_target, expr));
            left_out = match constraint {
                Some(clause) => Some(("JOB_ROUTER_SOURCE_JOB_CONSTRAINT", clause)),
                None => sanity().map(|clause| ("no candidate", clause)),
            };
        }
        let evaluate = |(at, route): (usize, &Route)| {
            let clause = route.requirements().and_then(|expr| first(&as_my, expr));
            let wants = if clause.is_none() { Truth::True } else { Truth::False };
            RouteEvaluation {
                route: route.name.clone(),
                full_reason: states[at].full_reason(route),
                matches: wants,
                clause,
                hint: None,
            }
        };
        let routes: Vec<RouteEvaluation> =
            table.routes_in_order().take(MAX_NAMED_ROUTES).map(evaluate).collect();
        let more = table.order.len() - routes.len();
        JobExplanation { umbrella: Truth::True, excluded_by: left_out, routes, more_routes: more }.reason()
    }
}

impl JobExplanation {
    /// Returns why the job gets no route, without the job's own values, so that jobs with the same problem have the
    /// same text.
    pub fn reason(&self) -> String {
        match &self.excluded_by {
            Some(("owner", clause)) => return format!("owner: {}", clause.text),
            Some((name, clause)) => return format!("{name}: {} is not true", clause.text),
            None => {}
        }
        let mut reasons = Vec::new();
        for evaluation in &self.routes {
            let reason = match (&evaluation.full_reason, &evaluation.clause) {
                // A full route is reported as full only if its requirements are true for the job.
                (_, Some(clause)) => format!("{} is not true in route {}", clause.text, evaluation.route),
                (Some(FullReason::MaxJobs { .. }), None) => {
                    format!("route {} is full (MaxJobs)", evaluation.route)
                }
                (Some(FullReason::MaxIdleJobs { .. }), None) => {
                    format!("route {} is full (MaxIdleJobs)", evaluation.route)
                }
                (Some(FullReason::Throttle { .. }), None) => {
                    format!("route {} is throttled", evaluation.route)
                }
                (None, None) => continue,
            };
            reasons.push(reason);
            if reasons.len() == MAX_NAMED_ROUTES {
                break;
            }
        }
        let others = (self.routes.len() + self.more_routes).saturating_sub(reasons.len());
        if others > 0 && reasons.len() == MAX_NAMED_ROUTES {
            reasons.push(counted(others, "more route"));
        }
        match reasons.is_empty() {
            true if self.routes.is_empty() => "there are no routes".into(),
            true => "a scope (MY. or TARGET.) excludes the job from its route".into(),
            false => reasons.join("; "),
        }
    }

    /// Returns true if a route with true requirements was evaluated, or if some routes were not.
    fn may_be_routed(&self) -> bool {
        self.more_routes > 0 || self.routes.iter().any(|route| route.matches == Truth::True)
    }

    /// Returns the names of the routes that match the job and take no further jobs.
    pub fn full_matching_routes(&self) -> Vec<&BString> {
        let is_full = |route: &&RouteEvaluation| route.full_reason.is_some() && route.matches == Truth::True;
        self.routes.iter().filter(is_full).map(|route| &route.route).collect()
    }

    /// Returns a readable report, with the job itself on the first line.
    pub fn to_report_lines(&self, job: &str, chosen: Option<&[u8]>) -> Vec<String> {
        let mut lines = vec![match chosen {
            Some(route) => format!("{job}  route {}", route.as_bstr()),
            None => format!("{job}  not routed"),
        }];
        match &self.excluded_by {
            Some(("no candidate", clause)) => lines.push(format!("  no candidate: {}", clause.explanation)),
            Some((name, clause)) => lines.push(format!("  no candidate ({name}): {}", clause.explanation)),
            None if self.umbrella == Truth::True && chosen.is_none() && !self.may_be_routed() => {
                lines.push("  candidate: yes, but no route's REQUIREMENTS are true".into());
            }
            None if self.umbrella == Truth::True => lines.push("  candidate: yes".into()),
            None => lines.push(match self.full_matching_routes() {
                full if full.is_empty() => "  no candidate: no enabled route matches".into(),
                full => format!("  not a candidate now: {}", full_routes_phrase(&full)),
            }),
        }
        for (number, evaluation) in self.routes.iter().enumerate() {
            let is_chosen = chosen.is_some_and(|chosen| chosen == evaluation.route.as_slice());
            let state = match (&evaluation.full_reason, evaluation.matches, &evaluation.clause) {
                (Some(full), _, Some(clause)) => format!("{}; {full}", clause.explanation),
                (Some(full), _, None) => full.to_string(),
                (None, Truth::True, _) if is_chosen => "chosen".into(),
                (None, Truth::True, _) => "would match".into(),
                (None, _, Some(clause)) => clause.explanation.clone(),
                (None, ..) => "does not accept the job".into(),
            };
            let trap = evaluation.hint.as_ref().map(|trap| format!(" ({trap})")).unwrap_or_default();
            lines.push(format!("  {} {}: {state}{trap}", number + 1, evaluation.route));
        }
        lines
    }
}
