//! State of a router: its routes with their states, and the jobs that the router manages.

use std::collections::{BTreeMap, VecDeque};

use bstr::BString;
use rustc_hash::FxHashMap;

use super::event::{RouterEvent, RouterHookResult};
use crate::routed_job::{JobTurn, RoutedJob, RoutingMode};
use crate::routing_pass::RoutingPass;
use crate::{HookDecision, Route, RouteChoice, RouteState, RouteTable, RouterParameters};
use htc_base::job::JobId;
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::HookType;

/// Job router.
#[derive(Clone)]
pub struct Router {
    pub(super) parameters: RouterParameters,
    pub(super) table: RouteTable,
    pub(super) route_states: Vec<RouteState>,
    pub(super) jobs: BTreeMap<String, RoutedJob>,
    pub(super) poll_count: u64,
    pub(super) choices_made: u64,
    pub(super) quirks: QuirkMode,
    /// Source jobs whose translation failed: number of failures, and the time of the next attempt in seconds
    /// since the epoch.
    pub(super) paused_sources: FxHashMap<JobId, (u32, i64)>,
    /// Keys of jobs whose hooks run, with the hook types; used only to reproduce a quirk (`call_hook`).
    pub(super) running_hooks: Vec<(String, HookType)>,
    /// Unresolved failures by source job and by the hook responsible; failures of the routing itself are
    /// listed under TRANSLATE_JOB.
    pub(super) failures: BTreeMap<(JobId, HookType), String>,
    /// Keys of the jobs that this poll has not processed yet.
    pub(super) waiting_keys: VecDeque<String>,
}

impl Router {
    /// Creates a router that manages no jobs.
    pub fn new(knobs: RouterParameters, table: RouteTable, quirks: QuirkMode, now: ClockReading) -> Self {
        let states = vec![RouteState::new(now.epoch()); table.routes.len()];
        let (jobs, paused) = (BTreeMap::new(), FxHashMap::default());
        Router {
            parameters: knobs,
            table,
            route_states: states,
            jobs,
            poll_count: 0,
            choices_made: 0,
            quirks,
            paused_sources: paused,
            running_hooks: Vec::new(),
            failures: BTreeMap::new(),
            waiting_keys: VecDeque::new(),
        }
    }

    /// Returns the managed jobs, in the order of their keys as text.
    pub fn jobs(&self) -> impl Iterator<Item = &RoutedJob> {
        self.jobs.values()
    }

    /// Returns the routes with their states.
    pub fn routes(&self) -> impl Iterator<Item = (&Route, &RouteState)> {
        self.table.routes.iter().zip(&self.route_states)
    }

    /// Returns the router's parameters.
    pub fn parameters(&self) -> &RouterParameters {
        &self.parameters
    }

    /// Returns true if the files of the source's copy are spooled.
    pub fn is_sandboxed(&self, source: JobId) -> bool {
        self.jobs.get(&source.to_string()).is_some_and(|job| job.routing == RoutingMode::Spooled)
    }

    /// Returns the managed job with this source, or `None`.
    pub fn job(&self, source: JobId) -> Option<&RoutedJob> {
        self.jobs.get(&source.to_string())
    }

    /// Returns the proxy that the job's route lends to the routed job, which gets its own copy of the file
    /// (`RoutedJob::PrepareSharedX509UserProxy`).
    pub fn lent_proxy(&self, job: &RoutedJob, world: &dyn World) -> Option<BString> {
        let route = &self.table.routes[self.table.index_of(&job.route)?];
        route.lent_proxy(&job.source_ad, world).filter(|_| job.routing == RoutingMode::Spooled)
    }

    /// Sets the names and files of the tokens that can be sent to routed jobs, replacing the previous list.
    pub fn set_tokens(&mut self, tokens: Vec<(BString, BString)>) {
        self.parameters.tokens = tokens;
    }

    /// Returns the failures that no later success has cleared: the source job, the hook responsible
    /// (TRANSLATE_JOB for the routing itself) and the reason.
    pub fn failures(&self) -> impl Iterator<Item = (JobId, HookType, &str)> {
        self.failures.iter().map(|((source, hook), reason)| (*source, *hook, reason.as_str()))
    }

    /// Records a failure that an event reports, or clears it after a success.
    pub(super) fn note_failure(&mut self, event: &RouterEvent) {
        let routing = HookType::TranslateJob;
        let (id, hook, reason) = match event {
            RouterEvent::ClaimResult(id, Err(reason))
            | RouterEvent::SubmitResult(id, Err(reason))
            | RouterEvent::EditResult(id, Err(reason))
            | RouterEvent::SpoolFailed(id, _, reason)
            | RouterEvent::SubmitNotPrepared(id, reason) => (*id, routing, Some(not_routed_text(reason))),
            RouterEvent::SubmitUncertain(id, reason) => {
                (*id, routing, Some(format!("may have been submitted: {reason}")))
            }
            RouterEvent::SubmitResult(id, Ok(_)) | RouterEvent::EditResult(id, Ok(())) => {
                (*id, routing, None)
            }
            RouterEvent::HookEnded(id, hook, RouterHookResult::Failed(reason)) => {
                let text = format!("{}: {reason}", hook.name());
                (*id, *hook, Some(if *hook == routing { not_routed_text(&text) } else { text }))
            }
            RouterEvent::HookEnded(id, hook, RouterHookResult::Ended(verdict)) => {
                let word = verdict.decision.word();
                let reason = match (*hook == routing, verdict.decision) {
                    (true, HookDecision::Routed | HookDecision::Edited) => return,
                    (true, _) => {
                        Some(not_routed_text(&format!("{}: {word}: {}", hook.name(), verdict.reason)))
                    }
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

    /// Counts the reasons why waiting jobs have no route at present, the most frequent reason first.
    pub fn waiting_reasons(
        &self,
        jobs: impl Iterator<Item = ClassAd>,
        world: &dyn World,
    ) -> Vec<(String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let pass = RoutingPass::new(&self.table, &self.parameters, None, self.route_states.clone(), world);
        let Ok(mut pass) = pass.map(|pass| pass.with_managed_jobs(self.managed_count())) else {
            return Vec::new();
        };
        for job in jobs {
            let choice = pass.choose_without_counting(&job);
            let reason = match choice {
                RouteChoice::Route(_) => "not examined yet: the next poll routes it".to_owned(),
                _ => pass.unrouted_reason(choice, &job, None),
            };
            *counts.entry(reason).or_default() += 1;
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, jobs)| std::cmp::Reverse(*jobs));
        counts
    }

    /// Returns true if no job is managed and no reply is expected.
    pub fn is_idle(&self) -> bool {
        self.jobs.values().all(|job| job.is_retired() && job.turn == JobTurn::WaitingForPoll)
    }

    /// Returns true if a hook of any job has ended and the next poll is to process the job's new state.
    pub fn has_due_job(&self) -> bool {
        self.jobs.values().any(RoutedJob::is_due)
    }
}

/// Returns the text for a source job that was not routed.
pub(super) fn not_routed_text(reason: &str) -> String {
    format!("not routed: {reason}")
}
