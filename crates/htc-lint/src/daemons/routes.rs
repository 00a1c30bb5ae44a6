//! Routes that the router skips or loads with values other than those written, and routes that get no jobs.

use bstr::{BStr, ByteSlice};
use htc_base::job::Universe;
use htc_base::quirks::QuirkMode;
use htc_base::text::{Span, caseless, list, unqualified_name};
use htc_classad::{Value, explain, references};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_router::{MacroProblem, NoteSubject, Route, RouteError, RouteLoadContext, RouterParameters};
use htc_transform::TransformStatement;
use rustc_hash::{FxHashMap, FxHashSet};

use super::lint_scope::LintScope;
use crate::config::LintSubject;

/// Route without errors, with the entry that defines it.
struct LoadedRoute<'a> {
    route: Route,
    entry: &'a MacroEntry,
}

/// Loads each listed route in the same way as the router. If other files belong to the configuration, only values are reported
/// that these files cannot change.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let listed = subject.view.text("JOB_ROUTER_ROUTE_NAMES").unwrap_or_default();
    if listed.is_empty() {
        return;
    }
    let parameters = RouterParameters::load(&subject.view, &mut |_| ());
    let context = RouteLoadContext {
        view: &subject.view,
        parameters: &parameters,
        world: subject.world,
        quirks: QuirkMode::Manual,
    };
    let sets_resource = parameters.hook_keyword.is_some() || transforms_set_grid_resource(subject);
    let listed_names: FxHashSet<Vec<u8>> = list::split(&listed).map(<[u8]>::to_ascii_lowercase).collect();
    let mut routes = Vec::new();
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        let Some(route) = caseless::strip_prefix(name, b"JOB_ROUTER_ROUTE_") else { continue };
        let is_listed = listed_names.contains(&route.to_ascii_lowercase());
        let raw = entry.raw();
        if !is_listed || caseless::eq(route, b"NAMES") || raw.trim_start().starts_with(b"[") {
            continue;
        }
        let mut notes = Vec::new();
        let loaded = Route::load(route, raw, context, &mut |subject, _| notes.push(subject));
        let is_complete = scope.is_complete;
        if !is_complete && raw.contains_str("$(") {
            continue;
        }
        let check = RouteCheck { subject, entry, name: route.as_bstr(), sets_resource, is_complete };
        check.report(loaded.as_ref(), &notes, findings);
        routes.extend(loaded.ok().map(|route| LoadedRoute { route, entry }));
    }
    if !parameters.round_robin && scope.is_complete {
        let by_name: FxHashMap<Vec<u8>, &LoadedRoute<'_>> =
            routes.iter().rev().map(|loaded| (loaded.route.name.to_ascii_lowercase(), loaded)).collect();
        let in_order: Vec<&LoadedRoute<'_>> = list::split(&listed)
            .filter_map(|name| by_name.get(&name.to_ascii_lowercase()).copied())
            .collect();
        check_catch_all_routes(subject, &in_order, findings);
    }
    subject.view.take_messages();
}

/// True if a transform that applies to all routes sets GridResource, or if one of these transforms cannot be checked.
fn transforms_set_grid_resource(subject: &LintSubject<'_>) -> bool {
    ["JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES", "JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES"].iter().any(|names| {
        let names = subject.view.text(names).unwrap_or_default();
        list::split(&names).any(|name| {
            let body = subject.view.raw_bytes(&[b"JOB_ROUTER_TRANSFORM_", name].concat());
            body.is_none_or(|body| caseless::contains(&body, b"GridResource"))
        })
    })
}

/// Check of one route.
struct RouteCheck<'a, 's> {
    subject: &'s LintSubject<'a>,
    entry: &'a MacroEntry,
    name: &'a BStr,
    /// True if something outside of the route may set GridResource.
    sets_resource: bool,
    /// False if other files may set defaults and conditions of all routes.
    is_complete: bool,
}

impl RouteCheck<'_, '_> {
    fn report(
        &self,
        loaded: Result<&Route, &RouteError>,
        notes: &[NoteSubject],
        findings: &mut Vec<Finding>,
    ) {
        let shown = self.name;
        let universe = loaded.ok().and_then(|route| route.transform.envelope.universe);
        let has_universe = universe == Some(0);
        let place = loaded.ok().and_then(universe_place);
        if let Some(number) =
            universe.filter(|number| *number != 0 && Universe::from_number(*number).is_none())
        {
            let message = format!("route {shown}: there is no universe {number}");
            let fix = "write VANILLA, GRID, SCHEDULER or LOCAL";
            findings.push(self.make_finding(LintRule::Universe, place, message, Some(fix)));
        }
        if has_universe {
            let message =
                format!("route {shown}: the UNIVERSE is not known, so its jobs are of the grid universe");
            let fix = "write VANILLA, GRID, SCHEDULER or LOCAL";
            findings.push(self.make_finding(LintRule::Universe, place, message, Some(fix)));
        }
        // A macro called REQUIREMENTS is reported where it is set.
        let has_macro = find_macro_value(self.entry.raw(), "REQUIREMENTS").is_some();
        if self.is_complete && !has_macro && matches!(loaded, Err(RouteError::NoRequirements)) {
            let message = format!(
                "route {shown} is left out: it has no REQUIREMENTS, and JOB_ROUTER_SOURCE_JOB_CONSTRAINT is not set"
            );
            let fix = "add REQUIREMENTS to the route";
            findings.push(self.make_finding(LintRule::Transform, None, message, Some(fix)));
        }
        for note in notes {
            match note {
                NoteSubject::InvalidValue(problem) => {
                    let message = format!("route {shown}: {problem}");
                    findings.push(self.make_finding(LintRule::BadValue, None, message, None));
                }
                // The rules for transforms report TARGET, with its place.
                NoteSubject::InvalidMacro(found) if found.problem == MacroProblem::NotNumber => {
                    let place = find_macro_value(self.entry.raw(), found.name);
                    let message = format!("route {shown}: {}", found.text);
                    findings.push(self.make_finding(
                        LintRule::BadValue,
                        place,
                        message,
                        Some("write a number"),
                    ));
                }
                NoteSubject::MissingGridResource
                    if !has_universe && !self.sets_resource && self.is_complete =>
                {
                    findings.extend(loaded.ok().and_then(|route| self.check_grid_resource(route)));
                }
                _ => {}
            }
        }
    }

    /// Reports a route of the grid universe whose jobs have no GridResource.
    fn check_grid_resource(&self, route: &Route) -> Option<Finding> {
        // The route may set GridResource, or accept only jobs that have it.
        if caseless::contains(self.entry.raw(), b"GridResource") {
            return None;
        }
        let message = match route.transform.envelope.universe {
            Some(_) => format!("route {} of the grid universe has no GridResource: its jobs fail", self.name),
            None => format!(
                "route {} has no UNIVERSE, which means grid, and no GridResource: its jobs fail",
                self.name
            ),
        };
        let fix = match route.transform.envelope.universe {
            Some(_) => "add a line GridResource = \"batch slurm\", or that of another system",
            None => "add UNIVERSE VANILLA, or a line GridResource = ...",
        };
        Some(self.make_finding(LintRule::Universe, universe_place(route), message, Some(fix)))
    }

    fn make_finding(
        &self,
        rule: LintRule,
        place: Option<(usize, usize)>,
        message: String,
        fix: Option<&str>,
    ) -> Finding {
        self.subject.make_finding(rule, &self.entry.current, place, message, fix.map(Advice::from))
    }
}

/// Returns the place of the last UNIVERSE statement in the text of a route, which the router uses, or `None` if the
/// route has no such statement.
fn universe_place(route: &Route) -> Option<(usize, usize)> {
    let lines = &route.transform.envelope.lines;
    let (_, line) = lines.iter().rev().find(|(keyword, _)| *keyword == "UNIVERSE")?;
    let span = line.locate(Span::new(0, line.text.len()));
    Some((span.start as usize, span.end as usize))
}

/// Returns the place of a macro's value in the text of a route, or `None` if it is not assigned in one line.
fn find_macro_value(raw: &[u8], name: &str) -> Option<(usize, usize)> {
    let mut start = 0;
    let mut found = None;
    for line in raw.split(|&byte| byte == b'\n') {
        if let Some((left, value)) = line.split_once_str("=")
            && caseless::eq(left.trim(), name.as_bytes())
            && !value.trim().is_empty()
        {
            let from = start + left.len() + 1 + (value.len() - value.trim_start().len());
            found = Some((from, from + value.trim().len()));
        }
        start += line.len() + 1;
    }
    found
}

/// Reports routes for certain jobs after one that takes every job.
fn check_catch_all_routes(
    subject: &LintSubject<'_>,
    routes: &[&LoadedRoute<'_>],
    findings: &mut Vec<Finding>,
) {
    const DEFAULT_LIMITS: [&[u8]; 2] =
        [b"JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE", b"JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE"];
    // With limits, jobs overflow to the next route on purpose.
    if DEFAULT_LIMITS.iter().any(|limit| subject.config.set.find_exact(limit).is_some()) {
        return;
    }
    check_covered_routes(subject, routes, findings);
    let takes_all = |loaded: &LoadedRoute<'_>| takes_every_job(&loaded.route, subject);
    for (at, first) in routes.iter().enumerate() {
        if has_own_limit(&first.route) || !takes_all(first) {
            continue;
        }
        let Some(later) = routes[at + 1..].iter().find(|later| !takes_all(later)) else { return };
        let (name, other) = (&first.route.name, &later.route.name);
        let message = format!(
            "route {name} takes every job: {other}, which is after it, gets jobs only while {name} is full or throttled"
        );
        let fix = format!("list {name} last in JOB_ROUTER_ROUTE_NAMES, or give it MaxJobs");
        findings.push(subject.make_finding(
            LintRule::CatchAllRoute,
            &first.entry.current,
            None,
            message,
            fix,
        ));
        return;
    }
}

/// Reports a route that gets no jobs because an earlier route takes them: its condition has all clauses of the earlier
/// route's condition, and more.
fn check_covered_routes(subject: &LintSubject<'_>, routes: &[&LoadedRoute<'_>], findings: &mut Vec<Finding>) {
    let clauses = |loaded: &LoadedRoute<'_>| -> FxHashSet<Vec<u8>> {
        let parts = loaded.route.requirements().map(explain::conjuncts).unwrap_or_default();
        parts.iter().map(|part| part.without_parentheses().unparse().to_vec()).collect()
    };
    let all: Vec<FxHashSet<Vec<u8>>> = routes.iter().map(|loaded| clauses(loaded)).collect();
    for (at, later) in routes.iter().enumerate() {
        let covers = |first: &usize| {
            let first_clauses = &all[*first];
            !has_own_limit(&routes[*first].route)
                && !first_clauses.is_empty()
                && first_clauses.len() < all[at].len()
                && first_clauses.is_subset(&all[at])
        };
        let Some(first) = (0..at).find(covers) else { continue };
        let (name, other) = (&routes[first].route.name, &later.route.name);
        let message = format!(
            "route {name} takes every job of {other}, which is after it: {other} gets a job only while {name} is throttled"
        );
        let fix = format!("list {other} before {name} in JOB_ROUTER_ROUTE_NAMES, or give {name} MaxJobs");
        let rule = LintRule::CatchAllRoute;
        findings.push(subject.make_finding(rule, &routes[first].entry.current, None, message, fix));
    }
}

/// True if a route sets one of its limits.
fn has_own_limit(route: &Route) -> bool {
    const LIMITS: [&str; 3] = ["MaxJobs", "MaxIdleJobs", "FailureRateThreshold"];
    route.transform.statements().any(|(_, statement)| match statement {
        TransformStatement::Assign(assignment) => {
            LIMITS.iter().any(|limit| caseless::eq(&assignment.name, limit.as_bytes()))
        }
        _ => false,
    })
}

/// True if the requirements of a route are missing or always true.
fn takes_every_job(route: &Route, subject: &LintSubject<'_>) -> bool {
    let Some(requirements) = route.requirements() else { return true };
    if !references::mentioned_attributes(requirements).is_empty() {
        return false;
    }
    let ad = htc_classad::ClassAd::new();
    let value = htc_classad::Context::new(subject.world).my(&ad).eval(requirements);
    matches!(value, Value::Bool(true)) || matches!(value, Value::Int(number) if number != 0)
}
