//! Hooks of one job: keyword, paths, and the reasons for which the reference refuses a job.
//!
//! Reference: `StarterHookMgr::initialize`. The starter checks every path once, before it runs anything of the job. A
//! single invalid path refuses the job, even if that hook would not be called.

use std::time::Duration;

use super::job_info::JobRefusal;
use super::setup::StarterHooks;
use htc_base::quirks::QuirkMode;
use htc_base::text::arguments;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::keyword::{self, KeywordLookup};
use htc_hook::{HookCaller, HookType, ParameterSource, caller_timeout, path_check};

/// Hooks that the configuration has for a job.
#[derive(Clone, Debug)]
pub struct FoundHooks {
    /// Hooks that can be used. If a path is refused, hooks found before it remain usable, so that they can report the
    /// refusal.
    pub hooks: StarterHooks,
    /// Result of looking up the keyword.
    pub lookup: KeywordLookup,
    /// First error in a path, the arguments or the timeout.
    pub refusal: Option<JobRefusal>,
}

/// Finds the hooks of a job.
pub fn find_hooks(
    ad: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
    quirks: QuirkMode,
) -> FoundHooks {
    let lookup = keyword::starter_keyword(HookCaller::Starter, ad, parameters, world, quirks);
    let (hooks, refusal) = match &lookup.keyword {
        Some(keyword) => find_hooks_of_keyword(keyword, parameters, world),
        None => (StarterHooks { exit_timeout: Duration::from_secs(30), ..StarterHooks::default() }, None),
    };
    FoundHooks { hooks, lookup, refusal }
}

/// Returns the usable hooks of a keyword, and the first error in a path, the arguments or the timeout.
pub fn find_hooks_of_keyword(
    keyword: &[u8],
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> (StarterHooks, Option<JobRefusal>) {
    let mut hooks = StarterHooks { exit_timeout: Duration::from_secs(30), ..StarterHooks::default() };
    let mut refusal = None;
    let mut path = |hook: HookType| match path_check::configured_path(world, parameters, keyword, hook) {
        Ok(path) => path,
        Err(error) => {
            let parameter = hook.path_parameter(keyword).to_string();
            refusal.get_or_insert(JobRefusal::Hook { parameter, reason: error.to_string() });
            None
        }
    };
    hooks.prepare = path(HookType::PrepareJob);
    hooks.prepare_before_transfer = path(HookType::PrepareJobBeforeTransfer);
    hooks.update = path(HookType::UpdateJobInfo);
    hooks.exit = path(HookType::JobExit);
    if let Some(parameter) = HookType::PrepareJob.arguments_parameter(keyword)
        && let Some(text) = parameters.get(&parameter)
    {
        match arguments::parse_v2_raw(&text) {
            Ok(words) => hooks.prepare_arguments = words,
            Err(error) => {
                let parameter = parameter.to_string();
                refusal.get_or_insert(JobRefusal::Hook { parameter, reason: error.to_string() });
            }
        }
    }
    let (limit, bad) = caller_timeout(HookType::JobExit, keyword, parameters, world);
    hooks.exit_timeout = limit.unwrap_or(hooks.exit_timeout);
    if let (Some(bad), Some(limit)) = (bad, HookType::JobExit.timeout_parameter(keyword)) {
        let reason = format!("'{bad}' is not an integer");
        refusal.get_or_insert(JobRefusal::HookTimeOut { parameter: limit.parameter.to_string(), reason });
    }
    (hooks, refusal)
}
