//! The hooks of one job: which keyword, which paths, and what the reference refuses.
//!
//! Reference: `StarterHookMgr::initialize`. Every path is looked at once, before anything of the job runs; one bad path
//! refuses the job, whether that hook would be called or not.

use std::time::Duration;

use super::job_info::Refusal;
use super::setup::Hooks;
use htc_base::quirks::Quirks;
use htc_base::text::arguments;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::keyword::{self, Lookup};
use htc_hook::{Caller, HookType, Knobs, caller_waits, path_check};

/// What was found for a job.
#[derive(Clone, Debug)]
pub struct Found {
    /// The hooks that can be used. Those before a refused one stay usable for telling of the refusal.
    pub hooks: Hooks,
    /// How the keyword was found.
    pub lookup: Lookup,
    /// The first bad path or argument text.
    pub refusal: Option<Refusal>,
}

/// Finds the hooks of a job.
pub fn find(ad: &ClassAd, knobs: &dyn Knobs, world: &dyn World, quirks: Quirks) -> Found {
    let lookup = keyword::starter(Caller::Starter, ad, knobs, world, quirks);
    let (hooks, refusal) = match &lookup.keyword {
        Some(keyword) => find_under(keyword, knobs, world),
        None => (Hooks { exit_timeout: Duration::from_secs(30), ..Hooks::default() }, None),
    };
    Found { hooks, lookup, refusal }
}

/// The hooks under a keyword that can be used, and the first bad path or argument text.
pub fn find_under(keyword: &[u8], knobs: &dyn Knobs, world: &dyn World) -> (Hooks, Option<Refusal>) {
    let mut hooks = Hooks { exit_timeout: Duration::from_secs(30), ..Hooks::default() };
    let mut refusal = None;
    let mut path = |hook: HookType| match path_check::configured(world, knobs, keyword, hook) {
        Ok(path) => path,
        Err(error) => {
            let knob = hook.knob(keyword).to_string();
            refusal.get_or_insert(Refusal::Hook { knob, reason: error.to_string() });
            None
        }
    };
    hooks.prepare = path(HookType::PrepareJob);
    hooks.before = path(HookType::PrepareJobBeforeTransfer);
    hooks.update = path(HookType::UpdateJobInfo);
    hooks.exit = path(HookType::JobExit);
    if let Some(knob) = HookType::PrepareJob.arguments_knob(keyword)
        && let Some(text) = knobs.get(&knob)
    {
        match arguments::parse_v2_raw(&text) {
            Ok(words) => hooks.prepare_arguments = words,
            Err(error) => {
                let knob = knob.to_string();
                refusal.get_or_insert(Refusal::Hook { knob, reason: error.to_string() });
            }
        }
    }
    let (limit, bad) = caller_waits(HookType::JobExit, keyword, knobs, world);
    hooks.exit_timeout = limit.unwrap_or(hooks.exit_timeout);
    if let (Some(bad), Some(limit)) = (bad, HookType::JobExit.time_out(keyword)) {
        let reason = format!("'{bad}' is no integer");
        refusal.get_or_insert(Refusal::HookTimeOut { knob: limit.knob.to_string(), reason });
    }
    (hooks, refusal)
}
