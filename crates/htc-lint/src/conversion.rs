//! Routes of the old syntax written as `JOB_ROUTER_ROUTE_<name>`, ready for a configuration, with what is lost or to be looked at.

use bstr::{BString, ByteSlice};
use serde::Serialize;

use crate::transforms::{Runner, lint};
use htc_base::quirks::Quirks;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::Dialect;
use htc_config::View;
use htc_router::Knobs;
use htc_router::deprecated::OldRoute;
use htc_router::note::{RouteError, Subject};
use htc_router::route::{Reading, Route};

/// What became of a route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The parameter that the old route stands in.
    pub source: String,
    /// Its place there.
    pub number: usize,
    /// What the new route is called; without it there is none.
    pub name: Option<String>,
    /// The value of `JOB_ROUTER_ROUTE_<name>`.
    pub route: Option<String>,
    /// What is lost or to be looked at.
    pub problems: Vec<String>,
}

/// The new configuration while it is written.
pub struct Conversion<'a> {
    view: &'a View<'a>,
    world: &'a dyn World,
    /// Its text so far.
    pub text: Vec<u8>,
    /// What became of each route.
    pub routes: Vec<Written>,
    /// How often something was lost.
    pub failed: usize,
    entries: Vec<Entry>,
}

/// A route of the new configuration.
struct Entry {
    /// The name of the old route; one of the same name replaces it.
    old_name: BString,
    /// The name in the parameter.
    name: String,
    /// Its statement, with the comments before it.
    text: Vec<u8>,
    /// Its number among the rows.
    row: usize,
}

/// A name that can stand in a parameter's.
fn knob_name(name: &[u8], number: usize) -> String {
    let kept: String = name
        .iter()
        .map(|&byte| char::from(byte))
        .map(|character| if character.is_ascii_alphanumeric() || character == '_' { character } else { '_' })
        .collect();
    if kept.trim_matches('_').is_empty() { format!("route{number}") } else { kept }
}

impl<'a> Conversion<'a> {
    /// Nothing has been written.
    pub fn new(view: &'a View<'a>, world: &'a dyn World) -> Self {
        Conversion { view, world, text: Vec::new(), routes: Vec::new(), failed: 0, entries: Vec::new() }
    }

    /// Writes a route that routers load, or says why there is none.
    pub fn add(&mut self, route: &OldRoute) {
        let (source, number) = (route.source.to_string(), route.number);
        self.routes.push(Written { source, number, ..Written::default() });
        self.write(route);
    }

    /// Writes the routes in their order, and the list of their names; nothing where there is none.
    pub fn end(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.entries.iter().for_each(|entry| self.text.extend(&entry.text));
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        self.text.extend(format!("JOB_ROUTER_ROUTE_NAMES = {}\n", names.join(" ")).into_bytes());
    }

    /// Something is lost.
    fn fail(&mut self, text: &str) {
        self.failed += 1;
        self.warn(text);
    }

    /// Something about the present route is to be looked at.
    fn warn(&mut self, text: &str) {
        if let Some(row) = self.routes.last_mut() {
            row.problems.push(text.to_owned());
        }
    }

    fn write(&mut self, route: &OldRoute) {
        let place = format!("{} [{}]", route.source, route.number);
        let converted = match &route.converted {
            Ok(converted) => converted,
            Err(error) => return self.fail(&format!("{place}: {error}")),
        };
        for name in &converted.left_out {
            self.fail(&format!("{place}: '{name}' is left out: no statement can name it"));
        }
        let former = self.entries.iter().position(|entry| {
            !converted.name.trim().is_empty() && caseless::eq(&entry.old_name, &converted.name)
        });
        let name = match former {
            Some(at) => {
                let (known, name) = (&self.entries[at].name, knob_name(&converted.name, at + 1));
                if known.eq_ignore_ascii_case(&name) { name } else { known.clone() }
            }
            None => self.free_name(&place, &converted.name),
        };
        let knobs = Knobs::load(self.view, &mut |_| {});
        let mut complaints = Vec::new();
        let mut say = |subject: Subject, _: BString| {
            if let Subject::Complaint(text) = subject {
                complaints.push(text);
            }
        };
        let (view, world) = (self.view, self.world);
        let with = Reading { view, knobs: &knobs, world, quirks: Quirks::None };
        let loaded = Route::load(name.as_bytes(), &converted.text, with, &mut say);
        complaints.iter().for_each(|text| self.warn(&format!("{place}: {text}")));
        if let Err(error) = loaded {
            let hint = match error {
                RouteError::NoRequirements => "; give it some, or set JOB_ROUTER_SOURCE_JOB_CONSTRAINT",
                _ => "",
            };
            let error = error.to_string();
            let text =
                format!("{place}: route {name} is left out, no router loads it: {}{hint}", error.trim_end());
            return self.fail(&text);
        }
        if let Ok(transform) = converted.transform(Dialect::of(world)) {
            let findings = lint(&transform, Runner::Router, Some(view), world);
            for finding in findings.iter().filter(|finding| finding.rule == "universe") {
                self.warn(&format!("{place}: {}; {}", finding.message, finding.fix));
            }
        }
        if former.is_some() && route.overrides == Some(false) {
            return self.warn(&format!(
                "{place}: route {name} is there already, and OverrideRoutingEntry is false: left out"
            ));
        }
        let statement: Vec<BString> = lines(&converted.text).collect();
        if let Some(row) = self.routes.last_mut() {
            row.route = Some(statement.iter().map(|line| format!("{line}\n")).collect());
            row.name = Some(name.clone());
        }
        let text = entry_text(&place, route, &name, &statement);
        let row = self.routes.len() - 1;
        let entry = Entry { old_name: converted.name.clone(), name, text, row };
        match former {
            Some(at) => self.replace(at, entry, &place, route.overrides.is_none()),
            None => self.entries.push(entry),
        }
    }

    /// A name for the parameter of an old route that no other has.
    fn free_name(&mut self, place: &str, old: &[u8]) -> String {
        let number = self.entries.len() + 1;
        let name = knob_name(old, number);
        if !self.entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(&name)) {
            return name;
        }
        let free = format!("{name}_{number}");
        self.warn(&format!("{place}: another route is called {name} already: this one is called {free}"));
        free
    }

    /// Puts a route in the place of the former one of its name, as routers did.
    fn replace(&mut self, at: usize, entry: Entry, place: &str, is_unsaid: bool) {
        let name = entry.name.clone();
        let former = std::mem::replace(&mut self.entries[at], entry);
        let row = &mut self.routes[former.row];
        (row.name, row.route) = (None, None);
        row.problems.push(format!("route {name} is replaced by {place}"));
        let former = format!("{} [{}]", row.source, row.number);
        if is_unsaid {
            self.warn(&format!(
                "{place}: route {name} takes the place of {former}; OverrideRoutingEntry = true says that this is meant"
            ));
        }
    }
}

/// The statement of a route with the comments before it.
fn entry_text(place: &str, route: &OldRoute, name: &str, statement: &[BString]) -> Vec<u8> {
    let mut text = format!("# from {place}\n").into_bytes();
    for comment in &route.comments {
        // A backslash at the end would draw the next line into the comment.
        let comment = comment.trim_end_with(|character| character == '\\').trim_end();
        text.extend([b"# ", comment, b"\n"].concat());
    }
    text.extend(format!("JOB_ROUTER_ROUTE_{name} @=route\n").into_bytes());
    statement.iter().for_each(|line| text.extend([b"   ", line.as_slice(), b"\n"].concat()));
    text.extend(b"@route\n\n");
    text
}

/// The lines of a converted route without its name, which the parameter's says.
fn lines(text: &[u8]) -> impl Iterator<Item = BString> + '_ {
    text.lines()
        .map(ByteSlice::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(b"NAME "))
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_router::deprecated;
    use htc_testing::config_of;

    #[test]
    fn old_routes_are_written_anew_and_what_no_router_loads_is_left_out() {
        let old = "[ Name = \"my site\"; Requirements = true; TargetUniverse = 5; set_A = 1 ] [ Name = \"none\"; TargetUniverse = 5 ]";
        let (config, world) = config_of("JOB_ROUTER", &format!("JOB_ROUTER_ENTRIES = {old}\n"));
        let view = config.view(&world);
        let mut conversion = Conversion::new(&view, &world);
        deprecated::routes(&view, &world, false, &mut |_| {}).iter().for_each(|route| conversion.add(route));
        conversion.end();
        let [one, other] = &conversion.routes[..] else { panic!("{:?}", conversion.routes) };
        assert_eq!((one.name.as_deref(), one.number), (Some("my_site"), 1));
        assert!(one.route.as_ref().is_some_and(|text| text.contains("SET A 1\n")), "{one:?}");
        assert_eq!((other.name.as_deref(), other.problems.len(), conversion.failed), (None, 1, 1));
        assert!(
            other.problems[0].ends_with("; give it some, or set JOB_ROUTER_SOURCE_JOB_CONSTRAINT"),
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
