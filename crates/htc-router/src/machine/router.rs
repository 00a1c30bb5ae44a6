//! What a router has: its routes with their states, and the jobs that it manages.

use std::collections::{BTreeMap, VecDeque};

use bstr::BString;
use rustc_hash::FxHashMap;

use super::event::{Event, HookResult};
use crate::pass::Pass;
use crate::routed_job::{RoutedJob, Routing, Turn};
use crate::{Choice, HookDecision, Knobs, Route, RouteState, RouteTable};
use htc_base::job::JobId;
use htc_base::quirks::Quirks;
use htc_base::time::Now;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::HookType;

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
    /// What could not be done with a source, by the hook that was to do it; of routing itself, TRANSLATE_JOB.
    pub(super) failures: BTreeMap<(JobId, HookType), String>,
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
            failures: BTreeMap::new(),
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

    /// What could not be done so far and was not done later: the source, the hook that was to do it (of routing itself,
    /// TRANSLATE_JOB) and why.
    pub fn failures(&self) -> impl Iterator<Item = (JobId, HookType, &str)> {
        self.failures.iter().map(|((source, hook), reason)| (*source, *hook, reason.as_str()))
    }

    /// Takes note of what an event says could not be done, or has been done.
    pub(super) fn note_failure(&mut self, event: &Event) {
        let routing = HookType::TranslateJob;
        let (id, hook, reason) = match event {
            Event::Claimed(id, Err(reason))
            | Event::Submitted(id, Err(reason))
            | Event::Edited(id, Err(reason))
            | Event::NotSpooled(id, _, reason)
            | Event::Unprepared(id, reason) => (*id, routing, Some(not_routed(reason))),
            Event::Unclear(id, reason) => (*id, routing, Some(format!("may have been submitted: {reason}"))),
            Event::Submitted(id, Ok(_)) | Event::Edited(id, Ok(())) => (*id, routing, None),
            Event::Hook(id, hook, HookResult::Failed(reason)) => {
                let text = format!("{}: {reason}", hook.name());
                (*id, *hook, Some(if *hook == routing { not_routed(&text) } else { text }))
            }
            Event::Hook(id, hook, HookResult::Ended(verdict)) => {
                let word = verdict.decision.word();
                let reason = match (*hook == routing, verdict.decision) {
                    (true, HookDecision::Routed | HookDecision::Edited) => return,
                    (true, _) => Some(not_routed(&format!("{}: {word}: {}", hook.name(), verdict.reason))),
                    (false, HookDecision::Failed | HookDecision::Dropped) => {
                        Some(format!("{}: {word}: {}", hook.name(), verdict.reason))
                    }
                    (false, _) => None,
                };
                (*id, *hook, reason.map(|text| text.trim_end_matches(": ").to_owned()))
            }
            _ => return,
        };
        match reason {
            Some(reason) => self.failures.insert((id, hook), reason),
            None => self.failures.remove(&(id, hook)),
        };
    }

    /// Why jobs that wait have no route as things stand, with their numbers, the most frequent reason first.
    pub fn why_waiting(&self, jobs: impl Iterator<Item = ClassAd>, world: &dyn World) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let pass = Pass::new((&self.table, &self.knobs), None, self.states.clone(), world);
        let Ok(mut pass) = pass.map(|pass| pass.with_managed(self.managed())) else { return Vec::new() };
        for job in jobs {
            let choice = pass.would_choose(&job);
            let reason = match choice {
                Choice::Route(_) => "not looked at yet: the next poll routes it".to_owned(),
                _ => pass.reason(choice, &job, None),
            };
            *counts.entry(reason).or_default() += 1;
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
        counts
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

/// Why a source has no copy.
pub(super) fn not_routed(reason: &str) -> String {
    format!("not routed: {reason}")
}
