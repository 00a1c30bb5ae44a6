//! Why a job gets its route or none, with values: what the daemon's log does not say.

use bstr::{BString, ByteSlice};

use super::choose::{Story, Umbrella};
use super::{Chooser, Full, Route, RouteState, RouteTable};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr, Truth, explain};

/// A part of the umbrella that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The clause as written.
    pub text: BString,
    /// With the values it saw.
    pub because: String,
}

/// A route in the eyes of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its name.
    pub route: BString,
    /// What keeps it from taking any job.
    pub full: Option<Full>,
    /// Whether its requirements hold.
    pub wants: Truth,
    /// The first clause of its requirements that is not true.
    pub clause: Option<Clause>,
    /// A scope that names nothing where the requirements are looked at.
    pub trap: Option<&'static str>,
}

/// The whole story of one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether it is a candidate.
    pub umbrella: Truth,
    /// Which part of the umbrella leaves it out: its name and the clause.
    pub left_out: Option<(&'static str, Clause)>,
    /// The routes in the order in which they are tried, as many as were asked for.
    pub routes: Vec<Seen>,
    /// How many more there are.
    pub more: usize,
}

/// As many routes as [`Explanation::reason`] names.
pub const NAMED: usize = 3;

fn first_clause(context: &Context<'_>, expr: &Expr) -> Option<Clause> {
    let clause = explain::first_not_true(context, expr)?;
    Some(Clause { text: clause.expr.unparse(), because: clause.to_string() })
}

/// What jobs are explained with.
pub struct Explainer<'a> {
    /// How a route is chosen.
    pub chooser: &'a Chooser<'a>,
    /// The routes.
    pub table: &'a RouteTable,
    /// What every job must meet, whatever its route.
    pub umbrella: Option<&'a Umbrella>,
    /// The routes as they were before the job was looked at.
    pub states: &'a [RouteState],
    /// Everything outside.
    pub world: &'a dyn World,
}

impl Explainer<'_> {
    /// Explains one job, with the first `limit` routes.
    pub fn explain(&self, job: &ClassAd, limit: usize) -> Explanation {
        let Explainer { chooser, table, umbrella, states, world } = *self;
        let empty = ClassAd::new();
        let as_target = Context::new(world).my(&empty).target(job);
        let as_my = Context::new(world).my(job).alone();
        let story = umbrella.map(|umbrella| chooser.story(umbrella, job));
        let routes: Vec<Seen> = table
            .in_order()
            .take(limit)
            .map(|(at, route)| {
                let (umbrella, wants) = chooser.wants(at, job);
                let clause = match route.requirements() {
                    Some(expr) if wants != Truth::True => first_clause(&as_my, expr),
                    _ => None,
                };
                let trap = match (umbrella, wants) {
                    (Truth::True, Truth::Undefined | Truth::Error) => {
                        Some("a route's own test has no TARGET: write the name without a scope")
                    }
                    (Truth::Undefined | Truth::Error, Truth::True) => {
                        Some("the umbrella has no MY: write the name without a scope")
                    }
                    _ => None,
                };
                Seen { route: route.name.clone(), full: states[at].full(route), wants, clause, trap }
            })
            .collect();
        let more = table.order.len() - routes.len();
        let Some(story) = story else {
            return Explanation { umbrella: Truth::False, left_out: None, routes, more };
        };
        let left_out = match story.umbrella {
            Truth::True => None,
            _ => self.left_out(&story, &as_target),
        };
        Explanation { umbrella: story.umbrella, left_out, routes, more }
    }

    /// Which part of the umbrella leaves a job out.
    fn left_out(&self, story: &Story, job: &Context<'_>) -> Option<(&'static str, Clause)> {
        let chooser = self.chooser;
        let parts = [
            ("JOB_ROUTER_SOURCE_JOB_CONSTRAINT", story.constraint, chooser.constraint()),
            ("no candidate", story.sanity, chooser.sanity()),
        ];
        let clause = |(name, truth, expr): (_, Option<Truth>, Option<&Expr>)| {
            truth.filter(|truth| *truth != Truth::True)?;
            Some((name, first_clause(job, expr?)?))
        };
        let owner = || {
            let owner = chooser.owner().filter(|_| story.owner != Some(Truth::True))?;
            let because = format!("a router that is not root routes jobs of {owner} alone");
            Some(("owner", Clause { text: "Owner".into(), because }))
        };
        parts.into_iter().find_map(clause).or_else(owner)
    }

    /// What [`Explanation::reason`] would say, without tracing any evaluation: for counting the reasons of very many jobs.
    pub(super) fn reason(&self, job: &ClassAd) -> String {
        let Explainer { chooser, table, umbrella, states, world } = *self;
        let empty = ClassAd::new();
        let as_target = Context::new(world).my(&empty).target(job);
        let as_my = Context::new(world).my(job).alone();
        let first = |context: &Context<'_>, expr: &Expr| -> Option<Clause> {
            let clause = explain::conjuncts(expr).into_iter().find(|clause| !context.holds(clause))?;
            Some(Clause { text: clause.unparse(), because: String::new() })
        };
        let mut left_out = None;
        if let Some(umbrella) = umbrella
            && chooser.story(umbrella, job).umbrella != Truth::True
        {
            let constraint = chooser.constraint().and_then(|expr| first(&as_target, expr));
            let sanity = || chooser.sanity().and_then(|expr| first(&as_target, expr));
            left_out = match constraint {
                Some(clause) => Some(("JOB_ROUTER_SOURCE_JOB_CONSTRAINT", clause)),
                None => sanity().map(|clause| ("no candidate", clause)),
            };
        }
        let seen = |(at, route): (usize, &Route)| {
            let clause = route.requirements().and_then(|expr| first(&as_my, expr));
            let wants = if clause.is_none() { Truth::True } else { Truth::False };
            Seen { route: route.name.clone(), full: states[at].full(route), wants, clause, trap: None }
        };
        let routes: Vec<Seen> = table.in_order().take(NAMED).map(seen).collect();
        let more = table.order.len() - routes.len();
        Explanation { umbrella: Truth::True, left_out, routes, more }.reason()
    }
}

impl Explanation {
    /// Why the job gets no route, in a form that is the same for jobs that fail alike: without the job's own values.
    pub fn reason(&self) -> String {
        if let Some((name, clause)) = &self.left_out {
            return format!("{name}: {}", clause.text);
        }
        let mut reasons = Vec::new();
        for seen in &self.routes {
            let reason = match (&seen.full, &seen.clause) {
                // A limit blocks only jobs that the route would take.
                (_, Some(clause)) => format!("{} is not true in route {}", clause.text, seen.route),
                (Some(Full::Jobs { .. }), None) => format!("route {} is full (MaxJobs)", seen.route),
                (Some(Full::Idle { .. }), None) => format!("route {} is full (MaxIdleJobs)", seen.route),
                (Some(Full::Throttle { .. }), None) => format!("route {} is throttled", seen.route),
                (None, None) => continue,
            };
            reasons.push(reason);
            if reasons.len() == NAMED {
                break;
            }
        }
        let others = (self.routes.len() + self.more).saturating_sub(reasons.len());
        if others > 0 && reasons.len() == NAMED {
            reasons.push(format!("{others} more routes"));
        }
        match reasons.is_empty() {
            true if self.routes.is_empty() => "there are no routes".into(),
            true => "a scope keeps its route from it".into(),
            false => reasons.join("; "),
        }
    }

    /// Lines for people, the job's own first.
    pub fn lines(&self, job: &str, chosen: Option<&[u8]>) -> Vec<String> {
        let mut lines = vec![match chosen {
            Some(route) => format!("{job}  route {}", route.as_bstr()),
            None => format!("{job}  not routed"),
        }];
        match &self.left_out {
            Some(("no candidate", clause)) => lines.push(format!("  no candidate: {}", clause.because)),
            Some((name, clause)) => lines.push(format!("  no candidate ({name}): {}", clause.because)),
            None if self.umbrella == Truth::True => lines.push("  candidate: yes".into()),
            None => lines.push("  no candidate: no route that takes jobs wants it".into()),
        }
        for (number, seen) in self.routes.iter().enumerate() {
            let is_chosen = chosen.is_some_and(|chosen| chosen == seen.route.as_slice());
            let state = match (&seen.full, seen.wants, &seen.clause) {
                (Some(full), _, Some(clause)) => format!("{}; {full}", clause.because),
                (Some(full), _, None) => full.to_string(),
                (None, Truth::True, _) if is_chosen => "chosen".into(),
                (None, Truth::True, _) => "would do".into(),
                (None, _, Some(clause)) => clause.because.clone(),
                (None, ..) => "does not want it".into(),
            };
            let trap = seen.trap.map(|trap| format!(" ({trap})")).unwrap_or_default();
            lines.push(format!("  {} {}: {state}{trap}", number + 1, seen.route));
        }
        lines
    }
}
