//! Rewrites routes of the old syntax as `JOB_ROUTER_ROUTE_<name>`, ready for a configuration, and lists losses and
//! points to check.

use bstr::{BString, ByteSlice};
use htc_config::lint_rule::LintRule;
use serde::Serialize;

use crate::transforms::{TransformRunner, lint};
use htc_base::quirks::QuirkMode;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::Dialect;
use htc_config::ConfigView;
use htc_router::RouterParameters;
use htc_router::old_routes::OldRoute;
use htc_router::route::{Route, RouteLoadContext};
use htc_router::table_note::{NoteSubject, RouteError};

/// Result of migrating one route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MigratedRouteRecord {
    /// Parameter that contains the old route.
    pub source: String,
    /// Index of the route in that parameter.
    pub number: usize,
    /// Name of the new route, or `None` if there is none.
    pub name: Option<String>,
    /// Value of `JOB_ROUTER_ROUTE_<name>`.
    pub route: Option<String>,
    /// Losses and warnings.
    pub problems: Vec<String>,
}

/// Writer of the new configuration.
pub struct RouteMigration<'a> {
    view: &'a ConfigView<'a>,
    world: &'a dyn World,
    /// Configuration text written so far.
    pub text: Vec<u8>,
    /// Results, one per route.
    pub routes: Vec<MigratedRouteRecord>,
    /// Number of routes and attributes that were lost.
    pub failed: usize,
    entries: Vec<MigratedRoute>,
}

/// Route of the new configuration.
struct MigratedRoute {
    /// Name of the old route; a later route with the same name replaces it.
    old_name: BString,
    /// Name used in the parameter `JOB_ROUTER_ROUTE_<name>`.
    name: String,
    /// Statement of the migrated route, preceded by its comments.
    text: Vec<u8>,
    /// Index in [`RouteMigration::routes`].
    row: usize,
}

/// Turns a route's name into one that is valid in a parameter name.
fn parameter_name(name: &[u8], number: usize) -> String {
    let kept: String = name
        .iter()
        .map(|&byte| char::from(byte))
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' })
        .collect();
    if kept.trim_matches('_').is_empty() { format!("route{number}") } else { kept }
}

impl<'a> RouteMigration<'a> {
    /// Creates a writer with no routes.
    pub fn new(view: &'a ConfigView<'a>, world: &'a dyn World) -> Self {
        RouteMigration { view, world, text: Vec::new(), routes: Vec::new(), failed: 0, entries: Vec::new() }
    }

    /// Converts an old route to the new syntax, or records why it cannot be converted.
    pub fn add_route(&mut self, route: &OldRoute) {
        let (source, number) = (route.source.to_string(), route.number);
        self.routes.push(MigratedRouteRecord { source, number, ..MigratedRouteRecord::default() });
        self.write_route(route);
    }

    /// Writes the routes in their order and the list of their names; writes nothing if there are no routes.
    pub fn finish(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.entries.iter().for_each(|entry| self.text.extend(&entry.text));
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        self.text.extend(format!("JOB_ROUTER_ROUTE_NAMES = {}\n", names.join(" ")).into_bytes());
    }

    /// Records a loss in the current route.
    fn record_loss(&mut self, text: &str) {
        self.failed += 1;
        self.record_warning(text);
    }

    /// Records a warning about the current route.
    fn record_warning(&mut self, text: &str) {
        if let Some(row) = self.routes.last_mut() {
            row.problems.push(text.to_owned());
        }
    }

    fn write_route(&mut self, route: &OldRoute) {
        let place = format!("{} [{}]", route.source, route.number);
        let converted = match &route.converted {
            Ok(converted) => converted,
            Err(error) => return self.record_loss(&format!("{place}: {error}")),
        };
        for name in &converted.unnameable {
            self.record_loss(&format!(
                "{place}: '{name}' is left out: it is not a valid name in a statement"
            ));
        }
        let former = self.entries.iter().position(|entry| {
            !converted.name.trim().is_empty() && caseless::eq(&entry.old_name, &converted.name)
        });
        let name = match former {
            Some(at) => {
                let (known, name) = (&self.entries[at].name, parameter_name(&converted.name, at + 1));
                if known.eq_ignore_ascii_case(&name) { name } else { known.clone() }
            }
            None => self.unused_name(&place, &converted.name),
        };
        let router_parameters = RouterParameters::load(self.view, &mut |_| {});
        let mut problems = Vec::new();
        let mut collect_problem = |subject: NoteSubject, _: BString| match subject {
            NoteSubject::InvalidValue(text) => problems.push(text),
            NoteSubject::InvalidMacro(found) => problems.push(found.text),
            _ => {}
        };
        let (view, world) = (self.view, self.world);
        let context =
            RouteLoadContext { view, parameters: &router_parameters, world, quirks: QuirkMode::Manual };
        let loaded = Route::load(name.as_bytes(), &converted.text, context, &mut collect_problem);
        problems.iter().for_each(|text| self.record_warning(&format!("{place}: {text}")));
        if let Err(error) = loaded {
            let hint = match error {
                RouteError::NoRequirements => "; add them, or set JOB_ROUTER_SOURCE_JOB_CONSTRAINT",
                _ => "",
            };
            let error = error.to_string();
            let text = format!(
                "{place}: route {name} is left out, because no router would load it: {}{hint}",
                error.trim_end().trim_end_matches('.')
            );
            return self.record_loss(&text);
        }
        if let Ok(transform) = converted.to_transform(Dialect::of_world(world)) {
            let findings = lint(&transform, TransformRunner::Router, Some(view), world);
            let is_loss = |rule| matches!(rule, LintRule::Universe | LintRule::Scope);
            for finding in findings.iter().filter(|finding| is_loss(finding.rule)) {
                self.record_warning(&format!("{place}: {}; {}", finding.message, finding.fix));
            }
        }
        if former.is_some() && route.overrides == Some(false) {
            return self.record_warning(&format!(
                "{place}: route {name} is already defined, and OverrideRoutingEntry is false: it is left out"
            ));
        }
        let statement: Vec<BString> = route_lines(&converted.text).collect();
        if let Some(row) = self.routes.last_mut() {
            row.route = Some(statement.iter().map(|line| format!("{line}\n")).collect());
            row.name = Some(name.clone());
        }
        let text = route_statement(&place, route, &name, &statement);
        let row = self.routes.len() - 1;
        let entry = MigratedRoute { old_name: converted.name.clone(), name, text, row };
        match former {
            Some(at) => self.replace_route(at, entry, &place, route.overrides.is_none()),
            None => self.entries.push(entry),
        }
    }

    /// Returns a parameter name for an old route that no other route uses.
    fn unused_name(&mut self, place: &str, old: &[u8]) -> String {
        let number = self.entries.len() + 1;
        let name = parameter_name(old, number);
        if old != name.as_bytes() {
            let reason = match old.trim().is_empty() {
                true => "the route has no name".to_owned(),
                false => format!("'{}' cannot be a part of a parameter's name", old.as_bstr()),
            };
            self.record_warning(&format!("{place}: {reason}: the new name is {name}, also in RouteName"));
        }
        if !self.entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(&name)) {
            return name;
        }
        let free = format!("{name}_{number}");
        self.record_warning(&format!(
            "{place}: another route already has the name {name}: this one is now called {free}"
        ));
        free
    }

    /// Replaces an earlier route of the same name, as routers did with the old syntax.
    fn replace_route(&mut self, at: usize, entry: MigratedRoute, place: &str, is_implicit: bool) {
        let name = entry.name.clone();
        let old_route = std::mem::replace(&mut self.entries[at], entry);
        let row = &mut self.routes[old_route.row];
        (row.name, row.route) = (None, None);
        row.problems.push(format!("route {name} is replaced by {place}"));
        let old_route = format!("{} [{}]", row.source, row.number);
        if is_implicit {
            self.record_warning(&format!(
                "{place}: route {name} replaces {old_route}; set OverrideRoutingEntry = true if this is intended"
            ));
        }
    }
}

/// Returns the statement of a route, preceded by its comments.
fn route_statement(place: &str, route: &OldRoute, name: &str, statement: &[BString]) -> Vec<u8> {
    let mut text = format!("# from {place}\n").into_bytes();
    for comment in &route.comments {
        // A backslash at the end would continue the comment on the next line.
        let comment = comment.trim_end_with(|character| character == '\\').trim_end();
        text.extend([b"# ", comment, b"\n"].concat());
    }
    text.extend(format!("JOB_ROUTER_ROUTE_{name} @=route\n").into_bytes());
    statement.iter().for_each(|line| text.extend([b"   ", line.as_slice(), b"\n"].concat()));
    text.extend(b"@route\n\n");
    text
}

/// Returns the lines of a converted route without its NAME, which the parameter's name already contains.
fn route_lines(text: &[u8]) -> impl Iterator<Item = BString> + '_ {
    text.lines()
        .map(ByteSlice::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(b"NAME "))
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_router::old_routes;
    use htc_testing::config_of;

    #[test]
    fn old_routes_are_converted_and_unloadable_ones_skipped() {
        let old = "[ Name = \"my site\"; Requirements = true; TargetUniverse = 5; set_A = 1 ] [ Name = \"none\"; TargetUniverse = 5 ]";
        let (config, world) = config_of("JOB_ROUTER", &format!("JOB_ROUTER_ENTRIES = {old}\n"));
        let view = config.view(&world);
        let mut conversion = RouteMigration::new(&view, &world);
        old_routes::load_old_routes(&view, &world, false, &mut |_| {})
            .iter()
            .for_each(|route| conversion.add_route(route));
        conversion.finish();
        let [one, other] = &conversion.routes[..] else { panic!("{:?}", conversion.routes) };
        assert_eq!((one.name.as_deref(), one.number), (Some("my_site"), 1));
        assert!(one.route.as_ref().is_some_and(|text| text.contains("SET A 1\n")), "{one:?}");
        assert_eq!((other.name.as_deref(), other.problems.len(), conversion.failed), (None, 1, 1));
        assert!(
            other.problems[0].ends_with("; add them, or set JOB_ROUTER_SOURCE_JOB_CONSTRAINT"),
            "{other:?}"
        );
        let text = conversion.text.to_str_lossy();
        assert!(
            text.starts_with("# from JOB_ROUTER_ENTRIES [1]\nJOB_ROUTER_ROUTE_my_site @=route\n   "),
            "{text}"
        );
        assert!(text.ends_with("@route\n\nJOB_ROUTER_ROUTE_NAMES = my_site\n"), "{text}");
    }
}
