//! Routes that the router leaves out, or loads with other values than they name.

use bstr::ByteSlice;
use htc_base::quirks::QuirkMode;
use htc_base::text::{caseless, list, unqualified_name};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_router::{NoteSubject, Route, RouteError, RouteLoadContext, RouterParameters};

use crate::config::LintSubject;

/// Loads each route that is listed as the router does.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
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
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        let Some(route) = caseless::strip_prefix(name, b"JOB_ROUTER_ROUTE_") else { continue };
        let is_listed = list::split(&listed).any(|known| caseless::eq(known, route));
        let raw = entry.raw();
        if !is_listed || caseless::eq(route, b"NAMES") || raw.trim_start().starts_with(b"[") {
            continue;
        }
        let mut notes = Vec::new();
        let loaded = Route::load(route, raw, context, &mut |subject, text| notes.push((subject, text)));
        let shown = route.as_bstr();
        let mut report = |rule: LintRule, message: String, fix: Option<String>| {
            findings.push(subject.make_finding(rule, &entry.current, None, message, fix));
        };
        let has_universe = loaded.as_ref().is_ok_and(|route| route.transform.envelope.universe == Some(0));
        if has_universe {
            let message =
                format!("route {shown}: the UNIVERSE is not known, so its jobs are of the grid universe");
            report(LintRule::Universe, message, Some("write VANILLA, GRID, SCHEDULER or LOCAL".to_owned()));
        }
        if let Err(RouteError::NoRequirements) = loaded {
            let message = format!(
                "route {shown} is left out: it has no REQUIREMENTS, and JOB_ROUTER_SOURCE_JOB_CONSTRAINT is not set"
            );
            report(LintRule::Transform, message, Some("add REQUIREMENTS to the route".to_owned()));
        }
        for (about, text) in notes {
            match about {
                NoteSubject::InvalidValue(problem) => {
                    report(LintRule::BadValue, format!("route {shown}: {problem}"), None);
                }
                NoteSubject::Warning if text.contains_str("GridResource") && !has_universe => {
                    let message = format!("route {shown} has no GridResource: its jobs fail");
                    report(LintRule::Universe, message, Some("SET GridResource \"batch slurm\"".to_owned()));
                }
                _ => {}
            }
        }
    }
    subject.view.take_messages();
}
