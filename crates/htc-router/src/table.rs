//! The routing table: which routes and transforms there are, in which order, and what was wrong with the others
//! (`JobRouter::config`, `SetRoutingTable`).

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use super::deprecated::{LOADABLE, OldRoute};
use super::knobs;
use super::note::{Note, RouteError, Subject, complain};
use super::route::{Reading, Route};
use htc_base::quirks::Quirk;
use htc_base::text::{caseless, list};
use htc_classad::{ClassAd, Dialect};
use htc_config::View;
use htc_transform::legacy::{self, Routes};
use htc_transform::{LoadError, Transform};

/// Routes and transforms.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// All routes, sorted by name without case.
    pub routes: Vec<Route>,
    /// Numbers of routes in the order in which they are tried; a name listed twice stands here twice.
    pub order: Vec<usize>,
    /// Transforms before each route.
    pub pre: Vec<Transform>,
    /// Transforms after each route.
    pub post: Vec<Transform>,
    /// Whether jobs are routed at all.
    pub enabled: bool,
    by_name: FxHashMap<Vec<u8>, usize>,
}

/// Where a name of a list stands: once per name, without case (`param_and_insert_unique_items`).
fn unique(view: &View<'_>, knob: &str, complain: &mut dyn FnMut(String, String)) -> Vec<BString> {
    let mut names: Vec<BString> = Vec::new();
    for name in list::split(&knobs::noted_text(view, knob, complain).unwrap_or_default()) {
        if !names.iter().any(|known| caseless::eq(known, name)) {
            names.push(name.into());
        }
    }
    names
}

/// The unexpanded text of a knob; an empty one reads as undefined.
fn unexpanded(view: &View<'_>, name: &str) -> Option<BString> {
    view.raw(name).map(|setting| setting.value).filter(|text| !text.is_empty())
}

/// A table being read.
struct Loading<'a> {
    table: RouteTable,
    with: Reading<'a>,
    say: &'a mut dyn FnMut(Subject, BString),
}

impl Loading<'_> {
    /// JOB_ROUTER_ROUTE_NAMES; without it nothing is routed.
    fn names(&mut self) -> BString {
        let names = knobs::noted_text(self.with.view, "JOB_ROUTER_ROUTE_NAMES", &mut complain(self.say));
        let old: Vec<&str> = ["JOB_ROUTER_ENTRIES_FILE", "JOB_ROUTER_ENTRIES_CMD", "JOB_ROUTER_ENTRIES"]
            .into_iter()
            .filter(|name| knobs::noted_text(self.with.view, name, &mut complain(self.say)).is_some())
            .collect();
        if !old.is_empty() {
            let first =
                format!("JobRouter WARNING: {} are no longer supported. New configuration\n", old.join(", "));
            (self.say)(Subject::Warning, first.into());
            let second = "                   syntax for the job router is defined using \
                JOB_ROUTER_ROUTE_NAMES and JOB_ROUTER_ROUTE_<name>.\n";
            (self.say)(Subject::Warning, second.into());
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
        (self.say)(Subject::Disabled, why);
    }

    /// The transforms before each route, or those after.
    fn transforms(&mut self, pre: bool) {
        let knob = match pre {
            true => "JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES",
            false => "JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES",
        };
        let tags = unique(self.with.view, knob, &mut complain(self.say));
        for tag in tags {
            let name = format!("JOB_ROUTER_TRANSFORM_{tag}");
            let loaded = match unexpanded(self.with.view, &name) {
                None => Err(format!("ERROR: {name} not found\n")),
                Some(text) => Transform::from_knob(&tag.to_str_lossy(), &text, Dialect::of(self.with.world))
                    .map_err(|LoadError::Requirements { text, .. }| {
                        format!("{name} load error: invalid REQUIREMENTS : {text}\n")
                    }),
            };
            match loaded {
                Ok(transform) if pre => self.table.pre.push(transform),
                Ok(transform) => self.table.post.push(transform),
                Err(text) => self.disable(text.into()),
            }
        }
    }

    /// JOB_ROUTER_ROUTE_<name>.
    fn route(&mut self, name: &[u8]) {
        let shown = name.as_bstr();
        let Some(text) = unexpanded(self.with.view, &format!("JOB_ROUTER_ROUTE_{shown}")) else { return };
        if text.trim().is_empty() {
            let text = format!("JOB_ROUTER_ROUTE_{shown} definition is empty, ignoring.\n");
            (self.say)(Subject::Warning, text.into());
            return;
        }
        let text = self.today(name, text);
        match Route::load(name, &text, self.with, self.say) {
            Ok(route) => self.add(name, route),
            Err(error) => self.refused(name, &error),
        }
    }

    /// The text of a route; one of the old syntax is converted where 25.14 refuses it.
    fn today(&mut self, name: &[u8], text: BString) -> BString {
        // An old route in the new knob is expanded before it fails.
        let text = match text.trim_start() {
            old if old.starts_with(b"[") || old.starts_with(b"/*") => {
                self.with.view.expand(&text).unwrap_or(text)
            }
            _ => text,
        };
        for message in self.with.view.take_messages() {
            complain(self.say)(message.text.to_string(), format!("{message}\n"));
        }
        if !text.trim_start().starts_with(b"[") || self.with.quirks.has(Quirk::OldRoutesRefused) {
            return text;
        }
        let Some(Ok(route)) = Routes::new(&text).next() else { return text };
        let converted = legacy::convert(&route, name, &ClassAd::new(), LOADABLE, self.with.world);
        let warning = format!(
            "JOB_ROUTER_ROUTE_{} holds a route of the old syntax, which 25.14 refuses; it is converted here\n",
            name.as_bstr()
        );
        (self.say)(Subject::Warning, warning.into());
        converted.text
    }

    fn add(&mut self, name: &[u8], route: Route) {
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
        (self.say)(Subject::Warning, text.into());
    }

    fn refused(&mut self, name: &[u8], error: &RouteError) {
        let shown = name.as_bstr();
        let (line, ignored) = match error {
            RouteError::NoRequirements => (format!("JobRouter CONFIGURATION ERROR: {error}\n"), false),
            RouteError::TooShort => (String::new(), false),
            RouteError::Failed { reference, .. } => {
                let invalid = format!("JobRouter: route {shown} is not valid: {reference}\n");
                (self.say)(Subject::Warning, invalid.into());
                match reference.is_empty() {
                    true => (String::new(), false),
                    false => (format!("JobRouter CONFIGURATION ERROR: {reference}\n"), true),
                }
            }
            RouteError::Invalid(_) => (format!("JobRouter CONFIGURATION ERROR: {error}\n"), true),
        };
        (self.say)(Subject::Refused(name.into(), error.clone()), line.into());
        if ignored {
            // A message of its own, though it belongs to the one before.
            let text = format!("Ignoring route entry in JOB_ROUTER_ROUTE_{shown}\n");
            (self.say)(Subject::Progress, text.into());
        }
    }

    /// Puts the routes in the order in which they are tried.
    fn order(&mut self, names: &[u8]) {
        for route in &self.table.routes {
            let text = format!("JobRouter Note: adding new route '{}'\n", route.description());
            (self.say)(Subject::Progress, text.into());
        }
        knobs::noted_text(self.with.view, "JOB_ROUTER_ROUTE_NAMES", &mut complain(self.say));
        for name in list::split(names) {
            match self.table.find(name) {
                Some(at) => self.table.order.push(at),
                None => {
                    let name = BString::from(name);
                    let text = format!(
                        "route '{name}' from JOB_ROUTER_ROUTE_NAMES not found in the routing table.\n"
                    );
                    (self.say)(Subject::NotFound(name), text.into());
                }
            }
        }
        let order: Vec<&[u8]> = self.table.in_order().map(|(_, route)| route.name.as_slice()).collect();
        let text =
            [b"Routes will be matched in this order: ", bstr::join(", ", order).as_slice(), b"\n"].concat();
        (self.say)(Subject::Progress, text.into());
    }
}

impl RouteTable {
    /// Reads transforms and routes.
    pub fn load(with: Reading<'_>, note: &mut dyn FnMut(Note)) -> Self {
        let table = RouteTable { enabled: true, ..RouteTable::default() };
        let say = &mut |subject: Subject, text: BString| note(Note { text, subject });
        let mut loading = Loading { table, with, say };
        let names = loading.names();
        loading.transforms(true);
        loading.transforms(false);
        for name in list::split(&names).filter(|name| !caseless::eq(name, b"NAMES")) {
            loading.route(name);
        }
        loading.table.sort();
        if loading.table.enabled {
            loading.order(&names);
        }
        loading.table
    }

    /// Sorts the routes by name without case.
    fn sort(&mut self) {
        self.routes.sort_by_key(|route| route.name.to_ascii_lowercase());
        let numbers = self.routes.iter().enumerate();
        self.by_name = numbers.map(|(at, route)| (route.name.to_ascii_lowercase(), at)).collect();
    }

    /// Tries routes in the order of a list of names.
    pub fn reorder(&mut self, names: &[u8]) {
        self.order = list::split(names).filter_map(|name| self.find(name)).collect();
    }

    /// Takes in routes of the old syntax; what `self` has stays.
    pub fn take_old(&mut self, routes: &[OldRoute], with: Reading<'_>, note: &mut dyn FnMut(Note)) {
        for old in routes {
            let place = format!("{} [{}]", old.source, old.number);
            let mut say = |subject: Subject, text: BString| note(Note { text, subject });
            let converted = match &old.converted {
                Ok(converted) => converted,
                Err(error) => {
                    say(Subject::Warning, format!("{place}: {error}\n").into());
                    continue;
                }
            };
            let mut name = converted.name.clone();
            if name.trim().is_empty() {
                name = format!("route{}", self.routes.len() + 1).into();
            }
            let loaded = Route::load(&name, &converted.text, with, &mut |subject, text| {
                if matches!(subject, Subject::Complaint(_)) {
                    say(subject, text);
                }
            });
            match loaded {
                Ok(route) => {
                    if let Some(why) = self.take(route, old.overrides) {
                        say(Subject::Warning, format!("{place}: route {name} {why}\n").into());
                    }
                }
                Err(error) => {
                    let text = format!("{place}: route {name}: {error}\n");
                    say(Subject::Refused(name, error), text.into());
                }
            }
        }
        let order: Vec<BString> = self.order.iter().map(|&at| self.routes[at].name.clone()).collect();
        self.sort();
        self.order = order.iter().filter_map(|name| self.find(name)).collect();
        self.enabled = true;
    }

    /// Takes in a route behind all others, or in the place of the one of its name, as its OverrideRoutingEntry says; what is to be
    /// told of that.
    fn take(&mut self, route: Route, overrides: Option<bool>) -> Option<&'static str> {
        let key = route.name.to_ascii_lowercase();
        let Some(&at) = self.by_name.get(&key) else {
            self.by_name.insert(key, self.routes.len());
            self.order.push(self.routes.len());
            self.routes.push(route);
            return None;
        };
        if overrides == Some(false) {
            return Some("is there already, and OverrideRoutingEntry is false: left out");
        }
        self.routes[at] = route;
        overrides.is_none().then_some(
            "takes the place of the former one of its name; OverrideRoutingEntry = true says that this is meant",
        )
    }

    /// The number of a route, by its name without case.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(&name.to_ascii_lowercase()).copied()
    }

    /// Routes with their numbers, in the order in which they are tried.
    pub fn in_order(&self) -> impl Iterator<Item = (usize, &Route)> {
        self.order.iter().map(|&at| (at, &self.routes[at]))
    }
}
