//! Route table including routes in the old syntax, for programs that simulate or run a router; each problem
//! is reported once.

use bstr::{BString, ByteSlice};

use super::limits::RouteState;
use super::old_routes;
use super::route::RouteLoadContext;
use super::route_table::RouteTable;
use super::table_note::{InvalidMacro, NoteSubject, RouteError, TableNote};
use htc_base::job::JobStatus;
use htc_base::quirks::Quirk;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::Context;
use htc_transform::requirements_advice;
use htc_user_log::queue::JobQueue;

impl RouteTable {
    /// Reads the route table and returns it with the messages about it. Routes in the old syntax, which 25.14
    /// ignores, are converted unless the quirk is reproduced.
    pub fn load_with_old_routes(with: RouteLoadContext<'_>) -> (RouteTable, Vec<String>) {
        let RouteLoadContext { parameters: knobs, quirks, .. } = with;
        let mut notes = Vec::new();
        let mut messages = Vec::new();
        let mut table = RouteTable::load(with, &mut |note| notes.push(note));
        let old = knobs.deprecated_parameters.iter().any(|name| name.starts_with("JOB_ROUTER_ENTRIES"));
        if old && !quirks.reproduces(Quirk::OldRoutesRefused) {
            convert_old_routes(&mut table, with, &mut notes, &mut messages);
        }
        describe_notes(notes, &mut messages);
        (table, messages)
    }

    /// Returns the states of the routes, counted from the routed jobs in a queue: the number of all jobs and of running
    /// jobs.
    pub fn states_from_queue(
        &self,
        queue: Option<&JobQueue>,
        now: i64,
        world: &dyn World,
    ) -> Vec<RouteState> {
        let mut states = vec![RouteState::new(now); self.routes.len()];
        let Some(queue) = queue else { return states };
        for id in queue.job_ids() {
            let Some(ad) = queue.job(id) else { continue };
            let context = Context::new(world).my(&ad);
            let Some(at) = context.string("RouteName").and_then(|name| self.index_of(&name)) else {
                continue;
            };
            states[at].jobs += 1;
            if matches!(context.int("JobStatus"), Some(JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT)) {
                states[at].running += 1;
            }
        }
        states
    }
}

/// Converts notes to messages. Several notes with the same text become one message.
fn describe_notes(notes: Vec<TableNote>, messages: &mut Vec<String>) {
    // A refused route is not in the table. It must not be reported as undefined, because the configuration defines it.
    let refused: Vec<BString> = notes
        .iter()
        .filter_map(|note| match &note.subject {
            NoteSubject::RouteRefused(name, _) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let mut complaints: Vec<String> = Vec::new();
    for note in notes {
        let text = note.text.to_str_lossy().trim_end().to_owned();
        match note.subject {
            NoteSubject::Progress | NoteSubject::Error | NoteSubject::MissingGridResource => continue,
            // The same note occurs for each route that uses the router's default limit.
            NoteSubject::InvalidValue(text) if complaints.contains(&text) => continue,
            NoteSubject::InvalidMacro(InvalidMacro { text, .. }) if complaints.contains(&text) => continue,
            NoteSubject::InvalidValue(text) | NoteSubject::InvalidMacro(InvalidMacro { text, .. }) => {
                messages.push(text.clone());
                complaints.push(text);
            }
            NoteSubject::RouteRefused(name, error) => {
                let hint = match &error {
                    RouteError::InvalidRequirements(text) => requirements_advice(text),
                    _ => None,
                };
                let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                messages.push(format!("route {name} is left out: {}{hint}", error.to_string().trim_end()));
            }
            NoteSubject::RouteNotFound(name) if refused.iter().any(|known| caseless::eq(known, &name)) => {}
            NoteSubject::RouteNotFound(name) => {
                messages.push(format!("route {name} of JOB_ROUTER_ROUTE_NAMES is not defined"));
            }
            NoteSubject::Disabled | NoteSubject::Warning => {
                messages
                    .push(text.trim_start_matches("JobRouter ").trim_start_matches("WARNING: ").to_owned());
            }
        }
    }
}

/// Converts routes in the old syntax. If JOB_ROUTER_ROUTE_NAMES is set, converts only routes that the list names and
/// that have no definition in the new syntax, like the router versions that read both syntaxes.
fn convert_old_routes(
    table: &mut RouteTable,
    with: RouteLoadContext<'_>,
    notes: &mut Vec<TableNote>,
    messages: &mut Vec<String>,
) {
    let mut routes =
        old_routes::load_old_routes(with.view, with.world, true, &mut |text| messages.push(text));
    let names = with.view.text("JOB_ROUTER_ROUTE_NAMES");
    if let Some(names) = &names {
        let is_missing = |name: &[u8]| {
            notes
                .iter()
                .any(|note| matches!(&note.subject, NoteSubject::RouteNotFound(other) if caseless::eq(other, name)))
        };
        let mut left_out = Vec::new();
        routes.retain(|route| match &route.converted {
            Ok(converted) if is_missing(&converted.name) => true,
            Ok(converted) => {
                left_out.push(converted.name.clone());
                false
            }
            Err(_) => true,
        });
        let is_taken = |name: &[u8]| {
            routes.iter().any(|route| matches!(&route.converted, Ok(one) if caseless::eq(&one.name, name)))
        };
        notes.retain(|note| !matches!(&note.subject, NoteSubject::RouteNotFound(name) if is_taken(name)));
        notes.retain(|note| note.subject != NoteSubject::Warning);
        if !routes.is_empty() {
            messages.push(
                "routes of the old syntax (JOB_ROUTER_ENTRIES) that JOB_ROUTER_ROUTE_NAMES names are converted here; 25.14 \
                 ignores them, see 'htc-router-translate convert'"
                    .to_owned(),
            );
        }
        for name in left_out {
            messages.push(format!(
                "route {name} of JOB_ROUTER_ENTRIES is ignored: it is not in JOB_ROUTER_ROUTE_NAMES"
            ));
        }
        table.add_old_routes(&routes, with, &mut |note| notes.push(note));
        table.set_order(names);
        return;
    }
    messages.push(
        "routes of the old syntax (JOB_ROUTER_ENTRIES) are converted here; 25.14 ignores them, see \
         'htc-router-translate convert'"
            .to_owned(),
    );
    notes.clear();
    table.add_old_routes(&routes, with, &mut |note| notes.push(note));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RouterParameters;
    use htc_base::quirks::QuirkMode;
    use htc_testing::config_of;

    fn loaded(text: &str) -> (Vec<String>, Vec<String>) {
        let (config, world) = config_of("JOB_ROUTER", text);
        let view = config.view(&world);
        let knobs = RouterParameters::load(&view, &mut |_| {});
        let (table, messages) = RouteTable::load_with_old_routes(RouteLoadContext {
            view: &view,
            parameters: &knobs,
            world: &world,
            quirks: QuirkMode::Manual,
        });
        (table.routes_in_order().map(|(_, route)| route.name.to_string()).collect(), messages)
    }

    #[test]
    fn names_without_a_route_and_refused_routes_are_reported_once() {
        let (names, messages) = loaded(
            "JOB_ROUTER_ROUTE_NAMES = A B C\nJOB_ROUTER_ROUTE_A @=r\nREQUIREMENTS true\nUNIVERSE vanilla\n@r\n\
             JOB_ROUTER_ROUTE_B @=r\nREQUIREMENTS = )\n@r\n",
        );
        assert_eq!(names, ["A"]);
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages.iter().any(|line| line.starts_with("route B is left out: ")), "{messages:?}");
        assert!(
            messages.contains(&"route C of JOB_ROUTER_ROUTE_NAMES is not defined".to_owned()),
            "{messages:?}"
        );
    }

    #[test]
    fn old_routes_are_used_if_no_list_names_others() {
        let old = "JOB_ROUTER_ENTRIES = [ Name = \"old\"; Requirements = true; TargetUniverse = 5 ]\n";
        let (names, messages) = loaded(old);
        assert_eq!(names, ["old"]);
        assert!(
            messages[0].starts_with("routes of the old syntax (JOB_ROUTER_ENTRIES) are converted"),
            "{messages:?}"
        );
        let new = "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=r\nREQUIREMENTS true\n@r\n";
        let (names, messages) = loaded(&format!("{old}{new}"));
        assert_eq!(names, ["A"]);
        assert!(
            messages.iter().any(|line| line.starts_with("route old of JOB_ROUTER_ENTRIES is ignored")),
            "{messages:?}"
        );
    }
}
