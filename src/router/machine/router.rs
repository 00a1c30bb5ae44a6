//! What a router has: its routes with their states, and the jobs that it manages.

use std::collections::{BTreeMap, VecDeque};

use bstr::BString;
use rustc_hash::FxHashMap;

use crate::hook::HookType;
use crate::job::JobId;
use crate::quirks::Quirks;
use crate::router::routed_job::{RoutedJob, Routing, Turn};
use crate::router::{Knobs, Route, RouteState, RouteTable};
use crate::time::Now;
use crate::world::World;

/// The router.
#[derive(Clone)]
pub struct Router {
    pub(super) knobs: Knobs,
    pub(super) table: RouteTable,
    pub(super) states: Vec<RouteState>,
    pub(super) jobs: BTreeMap<String, RoutedJob>,
    pub(super) polls: u64,
    pub(super) turn: u64,
    pub(super) quirks: Quirks,
    /// Sources whose translation failed: how often, and when they may be tried again.
    pub(super) paused: FxHashMap<JobId, (u32, i64)>,
    /// Keys of jobs whose hooks run, with the hooks; kept for the quirk alone.
    pub(super) running: Vec<(String, HookType)>,
    /// Keys of the jobs whose turn has not come in this poll.
    pub(super) turns: VecDeque<String>,
}

impl Router {
    /// A router that manages nothing yet.
    pub fn new(knobs: Knobs, table: RouteTable, quirks: Quirks, now: Now) -> Self {
        let states = vec![RouteState::new(now.epoch()); table.routes.len()];
        let (jobs, paused) = (BTreeMap::new(), FxHashMap::default());
        Router {
            knobs,
            table,
            states,
            jobs,
            polls: 0,
            turn: 0,
            quirks,
            paused,
            running: Vec::new(),
            turns: VecDeque::new(),
        }
    }

    /// The managed jobs, in the order of their keys as text.
    pub fn jobs(&self) -> impl Iterator<Item = &RoutedJob> {
        self.jobs.values()
    }

    /// The routes with their states.
    pub fn routes(&self) -> impl Iterator<Item = (&Route, &RouteState)> {
        self.table.routes.iter().zip(&self.states)
    }

    /// The router's parameters.
    pub fn knobs(&self) -> &Knobs {
        &self.knobs
    }

    /// Whether the files of a source's copy are spooled.
    pub fn is_sandboxed(&self, source: JobId) -> bool {
        self.jobs.get(&source.to_string()).is_some_and(|job| job.routing == Routing::Spooled)
    }

    /// The managed job with this source.
    pub fn job(&self, source: JobId) -> Option<&RoutedJob> {
        self.jobs.get(&source.to_string())
    }

    /// The proxy that the route of a job lends to its copy, which gets a file of its own (`RoutedJob::PrepareSharedX509UserProxy`).
    pub fn lent_proxy(&self, job: &RoutedJob, world: &dyn World) -> Option<BString> {
        let route = &self.table.routes[self.table.find(&job.route)?];
        route.lent_proxy(&job.source, world).filter(|_| job.routing == Routing::Spooled)
    }

    /// Takes note of which tokens can be sent from now on: their names and files.
    pub fn set_tokens(&mut self, tokens: Vec<(BString, BString)>) {
        self.knobs.tokens = tokens;
    }

    /// Whether nothing is managed and no answer is awaited.
    pub fn is_idle(&self) -> bool {
        self.jobs.values().all(|job| job.is_retired() && job.turn == Turn::Resting)
    }

    /// Whether the next phase of a job waits for the next poll only because a hook has ended since the last.
    pub fn is_due(&self) -> bool {
        self.jobs.values().any(RoutedJob::is_due)
    }
}
