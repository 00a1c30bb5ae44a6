//! Route table: all routes and transforms, their order, and the errors of routes that are refused (`JobRouter::config`,
//! `SetRoutingTable`).

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::old_routes::{LOADABLE_OPTIONS, OldRoute};
use super::parameters;
use super::route::{Route, RouteLoadContext};
use super::table_note::{NoteSubject, RouteError, TableNote, invalid_value_reporter};
use htc_base::quirks::Quirk;
use htc_base::text::{caseless, list};
use htc_classad::{ClassAd, Dialect};
use htc_config::ConfigView;
use htc_transform::route_conversion::{self, OldRouteReader};
use htc_transform::{Transform, TransformLoadError};

/// Routes and transforms of a router.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// All routes, sorted by name, ignoring case.
    pub routes: Vec<Route>,
    /// Indexes of routes in the order in which they are tried; a name listed twice appears twice.
    pub order: Vec<usize>,
    /// Transforms that are applied before each route.
    pub pre_transforms: Vec<Transform>,
    /// Transforms that are applied after each route.
    pub post_transforms: Vec<Transform>,
    /// True if routing is enabled.
    pub enabled: bool,
    by_name: FxHashMap<Vec<u8>, usize>,
}

/// Reads a list of names from a parameter, without duplicates, ignoring case
/// (`param_and_insert_unique_items`).
fn read_unique_names(
    view: &ConfigView<'_>,
    parameter: &str,
    complain: &mut dyn FnMut(String, String),
) -> Vec<BString> {
    let mut names: Vec<BString> = Vec::new();
    for name in list::split(&parameters::read_text(view, parameter, complain).unwrap_or_default()) {
        if !names.iter().any(|known| caseless::eq(known, name)) {
            names.push(name.into());
        }
    }
    names
}

/// Returns the unexpanded text of a parameter, or `None` if it is unset or empty.
fn unexpanded_text(view: &ConfigView<'_>, name: &str) -> Option<BString> {
    view.raw(name).map(|setting| setting.value).filter(|text| !text.is_empty())
}

/// Reader of a route table.
struct TableLoader<'a> {
    table: RouteTable,
    context: RouteLoadContext<'a>,
    report: &'a mut dyn FnMut(NoteSubject, BString),
}

impl TableLoader<'_> {
    /// Reads JOB_ROUTER_ROUTE_NAMES. If it is undefined, routing is disabled.
    fn read_route_names(&mut self) -> BString {
        let names = parameters::read_text(
            self.context.view,
            "JOB_ROUTER_ROUTE_NAMES",
            &mut invalid_value_reporter(self.report),
        );
        let old: Vec<&str> = ["JOB_ROUTER_ENTRIES_FILE", "JOB_ROUTER_ENTRIES_CMD", "JOB_ROUTER_ENTRIES"]
            .into_iter()
            .filter(|name| {
                parameters::read_text(self.context.view, name, &mut invalid_value_reporter(self.report))
                    .is_some()
            })
            .collect();
        if !old.is_empty() {
            let first =
                format!("JobRouter WARNING: {} are no longer supported. New configuration\n", old.join(", "));
            (self.report)(NoteSubject::Warning, first.into());
            let second = "                   syntax for the job router is defined using \
                JOB_ROUTER_ROUTE_NAMES and JOB_ROUTER_ROUTE_<name>.\n";
            (self.report)(NoteSubject::Warning, second.into());
        }
        if names.is_none() {
            let text = "JobRouter WARNING: JOB_ROUTER_ROUTE_NAMES is not defined, so job routing will not take \
                place.\n";
            self.disable(text.into());
        }
        names.unwrap_or_default()
    }

    fn disable(&mut self, why: BString) {
        self.table.enabled = false;
        (self.report)(NoteSubject::Disabled, why);
    }

    /// Loads the transforms that are applied before (`pre` is true) or after each route.
    fn load_transforms(&mut self, pre: bool) {
        let parameter = match pre {
            true => "JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES",
            false => "JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES",
        };
        let tags = read_unique_names(self.context.view, parameter, &mut invalid_value_reporter(self.report));
        for tag in tags {
            let name = format!("JOB_ROUTER_TRANSFORM_{tag}");
            let loaded = match unexpanded_text(self.context.view, &name) {
                None => Err(format!("ERROR: {name} not found\n")),
                Some(text) => Transform::from_parameter(
                    &tag.to_str_lossy(),
                    &text,
                    Dialect::of_world(self.context.world),
                )
                .map_err(|TransformLoadError::Requirements { text, .. }| {
                    format!("{name} load error: invalid REQUIREMENTS : {text}\n")
                }),
            };
            match loaded {
                Ok(transform) if pre => self.table.pre_transforms.push(transform),
                Ok(transform) => self.table.post_transforms.push(transform),
                Err(text) => self.disable(text.into()),
            }
        }
    }

    /// Loads `JOB_ROUTER_ROUTE_<name>`.
    fn load_route(&mut self, name: &[u8]) {
        let shown = name.as_bstr();
        let Some(text) = unexpanded_text(self.context.view, &format!("JOB_ROUTER_ROUTE_{shown}")) else {
            return;
        };
        if text.trim().is_empty() {
            let text = format!("JOB_ROUTER_ROUTE_{shown} definition is empty, ignoring.\n");
            (self.report)(NoteSubject::Warning, text.into());
            return;
        }
        let text = self.convert_if_old(name, text);
        match Route::load(name, &text, self.context, self.report) {
            Ok(route) => self.add_route(name, route),
            Err(error) => self.report_refused_route(name, &error),
        }
    }

    /// Returns the text of a route. Converts the old syntax, which 25.14 refuses, unless that quirk is reproduced.
    fn convert_if_old(&mut self, name: &[u8], text: BString) -> BString {
        // 25.14 expands the macros of a route in the old syntax before it refuses the route.
        let text = match text.trim_start() {
            old if old.starts_with(b"[") || old.starts_with(b"/*") => {
                self.context.view.expand(&text).unwrap_or(text)
            }
            _ => text,
        };
        for message in self.context.view.take_messages() {
            invalid_value_reporter(self.report)(message.text.to_string(), format!("{message}\n"));
        }
        if !text.trim_start().starts_with(b"[") || self.context.quirks.reproduces(Quirk::OldRoutesRefused) {
            return text;
        }
        let Some(Ok(route)) = OldRouteReader::new(&text).next() else { return text };
        let converted = route_conversion::convert_route(
            &route,
            name,
            &ClassAd::new(),
            LOADABLE_OPTIONS,
            self.context.world,
        );
        let warning = format!(
            "JOB_ROUTER_ROUTE_{} has the old syntax, which HTCondor 25.14 refuses; it is converted here\n",
            name.as_bstr()
        );
        (self.report)(NoteSubject::Warning, warning.into());
        converted.text
    }

    fn add_route(&mut self, name: &[u8], route: Route) {
        let table = &mut self.table;
        let key = name.to_ascii_lowercase();
        let Some(&at) = table.by_name.get(&key) else {
            table.by_name.insert(key, table.routes.len());
            table.routes.push(route);
            return;
        };
        let former = std::mem::replace(&mut table.routes[at], route);
        let text = format!(
            "JobRouter CONFIGURATION WARNING: while parsing JOB_ROUTER_ROUTE_{} found and overwrite a route from {} \
             with the same name\n",
            name.as_bstr(),
            former.name
        );
        (self.report)(NoteSubject::Warning, text.into());
    }

    fn report_refused_route(&mut self, name: &[u8], error: &RouteError) {
        let shown = name.as_bstr();
        let (line, ignored) = match error {
            RouteError::NoRequirements => (format!("JobRouter CONFIGURATION ERROR: {error}\n"), false),
            RouteError::TooShort => (String::new(), false),
            RouteError::InvalidStatement { reference, .. } => {
                let invalid = format!("JobRouter: route {shown} is not valid: {reference}\n");
                (self.report)(NoteSubject::Warning, invalid.into());
                match reference.is_empty() {
                    true => (String::new(), false),
                    false => (format!("JobRouter CONFIGURATION ERROR: {reference}\n"), true),
                }
            }
            RouteError::InvalidRequirements(_) => (format!("JobRouter CONFIGURATION ERROR: {error}\n"), true),
        };
        (self.report)(NoteSubject::RouteRefused(name.into(), error.clone()), line.into());
        if ignored {
            // The reference logs the name of an ignored route as a separate message.
            let text = format!("Ignoring route entry in JOB_ROUTER_ROUTE_{shown}\n");
            (self.report)(NoteSubject::Progress, text.into());
        }
    }

    /// Determines the order in which the routes are tried.
    fn order_routes(&mut self, names: &[u8]) {
        for route in &self.table.routes {
            let text = format!("JobRouter Note: adding new route '{}'\n", route.description());
            (self.report)(NoteSubject::Progress, text.into());
        }
        parameters::read_text(
            self.context.view,
            "JOB_ROUTER_ROUTE_NAMES",
            &mut invalid_value_reporter(self.report),
        );
        for name in list::split(names) {
            match self.table.index_of(name) {
                Some(at) => self.table.order.push(at),
                None => {
                    let name = BString::from(name);
                    let text = format!(
                        "route '{name}' from JOB_ROUTER_ROUTE_NAMES not found in the routing table.\n"
                    );
                    (self.report)(NoteSubject::RouteNotFound(name), text.into());
                }
            }
        }
        let order: Vec<&[u8]> =
            self.table.routes_in_order().map(|(_, route)| route.name.as_slice()).collect();
        let text =
            [b"Routes will be matched in this order: ", bstr::join(", ", order).as_slice(), b"\n"].concat();
        (self.report)(NoteSubject::Progress, text.into());
    }
}

impl RouteTable {
    /// Reads transforms and routes from the configuration.
    pub fn load(context: RouteLoadContext<'_>, note: &mut dyn FnMut(TableNote)) -> Self {
        let table = RouteTable { enabled: true, ..RouteTable::default() };
        let add_note = &mut |subject: NoteSubject, text: BString| note(TableNote { text, subject });
        let mut loading = TableLoader { table, context, report: add_note };
        let names = loading.read_route_names();
        loading.load_transforms(true);
        loading.load_transforms(false);
        for name in list::split(&names).filter(|name| !caseless::eq(name, b"NAMES")) {
            loading.load_route(name);
        }
        loading.table.sort();
        if loading.table.enabled {
            loading.order_routes(&names);
        }
        loading.table
    }

    /// Sorts the routes by name, ignoring case.
    fn sort(&mut self) {
        self.routes.sort_by_key(|route| route.name.to_ascii_lowercase());
        let numbers = self.routes.iter().enumerate();
        self.by_name = numbers.map(|(at, route)| (route.name.to_ascii_lowercase(), at)).collect();
    }

    /// Sets the order in which routes are tried to that of a list of names.
    pub fn set_order(&mut self, names: &[u8]) {
        self.order = list::split(names).filter_map(|name| self.index_of(name)).collect();
    }

    /// Adds routes in the old syntax after the existing routes. A route replaces an earlier route with its name unless
    /// its OverrideRoutingEntry is false.
    pub fn add_old_routes(
        &mut self,
        routes: &[OldRoute],
        context: RouteLoadContext<'_>,
        note: &mut dyn FnMut(TableNote),
    ) {
        for old in routes {
            let place = format!("{} [{}]", old.source, old.number);
            let mut add_note = |subject: NoteSubject, text: BString| note(TableNote { text, subject });
            let converted = match &old.converted {
                Ok(converted) => converted,
                Err(error) => {
                    add_note(NoteSubject::Warning, format!("{place}: {error}\n").into());
                    continue;
                }
            };
            let mut name = converted.name.clone();
            if name.trim().is_empty() {
                name = format!("route{}", self.routes.len() + 1).into();
            }
            let loaded = Route::load(&name, &converted.text, context, &mut |subject, text| {
                if matches!(subject, NoteSubject::InvalidValue(_) | NoteSubject::InvalidMacro(_)) {
                    add_note(subject, text);
                }
            });
            match loaded {
                Ok(route) => {
                    if let Some(why) = self.add_or_replace(route, old.overrides) {
                        add_note(NoteSubject::Warning, format!("{place}: route {name} {why}\n").into());
                    }
                }
                Err(error) => {
                    let text = format!("{place}: route {name}: {error}\n");
                    add_note(NoteSubject::RouteRefused(name, error), text.into());
                }
            }
        }
        let order: Vec<BString> = self.order.iter().map(|&at| self.routes[at].name.clone()).collect();
        self.sort();
        self.order = order.iter().filter_map(|name| self.index_of(name)).collect();
        self.enabled = true;
    }

    /// Adds a route after all others, or replaces the one with its name unless OverrideRoutingEntry is false.
    /// Returns the warning to log.
    fn add_or_replace(&mut self, route: Route, overrides: Option<bool>) -> Option<&'static str> {
        let key = route.name.to_ascii_lowercase();
        let Some(&at) = self.by_name.get(&key) else {
            self.by_name.insert(key, self.routes.len());
            self.order.push(self.routes.len());
            self.routes.push(route);
            return None;
        };
        if overrides == Some(false) {
            return Some("is already defined, and OverrideRoutingEntry is false: it is left out");
        }
        self.routes[at] = route;
        overrides.is_none().then_some(
            "replaces an earlier route of the same name; set OverrideRoutingEntry = true if this is intended",
        )
    }

    /// Returns the index of a route by its name, ignoring case.
    pub fn index_of(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(&name.to_ascii_lowercase()).copied()
    }

    /// Returns the routes with their indexes, in the order in which they are tried.
    pub fn routes_in_order(&self) -> impl Iterator<Item = (usize, &Route)> {
        self.order.iter().map(|&at| (at, &self.routes[at]))
    }
}
