//! Hook keyword that a caller uses, and the places where the caller looks for it.

use bstr::{BString, ByteSlice};

use super::hook_type::{HookCaller, HookType};
use super::parameter_source::ParameterSource;
use super::path_check;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Job attribute that names the keyword.
pub const HOOK_KEYWORD: &str = "HookKeyword";

/// Result of looking up the keyword.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeywordLookup {
    /// Keyword, or `None` if no hooks are used.
    pub keyword: Option<BString>,
    /// Places where the keyword was looked up, in order.
    pub steps: Vec<LookupStep>,
    /// Quirk that affects this lookup, reproduced or not.
    pub quirk: Option<Quirk>,
}

/// Place where the keyword was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupStep {
    /// Name of the parameter, or `HookKeyword of the job`.
    pub place: BString,
    /// Position of the parameter's setting in the configuration, if known.
    pub origin: Option<String>,
    /// Value that was found in this place.
    pub found: LookupResult,
}

/// Value found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// The place has no value.
    NotSet,
    /// The keyword that is used.
    Used(BString),
    /// The place names a keyword for which no hook is configured.
    WithoutHooks(BString),
    /// The job attribute is not a string.
    NotAString,
}

impl std::fmt::Display for LookupStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.as_bstr();
        match &self.found {
            LookupResult::NotSet => write!(f, "{place} is not set")?,
            LookupResult::Used(keyword) => write!(f, "{place} is '{keyword}', which is used")?,
            LookupResult::WithoutHooks(keyword) => {
                write!(f, "{place} is '{keyword}', for which no hook is configured: ignored")?;
            }
            LookupResult::NotAString => write!(f, "{place} is not a string")?,
        }
        match &self.origin {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

impl KeywordLookup {
    /// Returns the keyword that the job names although no hook is configured for it, or `None`.
    pub fn ignored_keyword(&self) -> Option<&BString> {
        self.steps.iter().find_map(|step| match &step.found {
            LookupResult::WithoutHooks(keyword) => Some(keyword),
            _ => None,
        })
    }

    /// Looks up a parameter. Returns true if the parameter sets the keyword.
    fn try_parameter(&mut self, parameters: &dyn ParameterSource, name: BString) -> bool {
        let found = parameters.get(&name);
        let origin = found.as_ref().and_then(|_| parameters.origin(&name));
        self.keyword = found.clone();
        self.steps.push(LookupStep {
            place: name,
            origin,
            found: found.map_or(LookupResult::NotSet, LookupResult::Used),
        });
        self.keyword.is_some()
    }

    /// Looks up the job's attribute. Returns its value without making it the result of the lookup.
    fn try_job_attribute(&mut self, job: &ClassAd, world: &dyn World) -> Option<BString> {
        let value = Context::new(world).my(job).string(HOOK_KEYWORD);
        let found = match &value {
            None if job.contains(HOOK_KEYWORD) => LookupResult::NotAString,
            None => LookupResult::NotSet,
            Some(value) => LookupResult::Used(value.clone()),
        };
        let place = BString::from(format!("{HOOK_KEYWORD} of the job"));
        self.steps.push(LookupStep { place, origin: None, found });
        value.filter(|value| !value.is_empty())
    }
}

/// Looks up the keyword of a slot: `SLOT1_JOB_HOOK_KEYWORD` (`SLOT1_2_...` for a dynamic slot), then
/// `STARTD_JOB_HOOK_KEYWORD`. `parameters` must look up names as that slot does, with its slot type first.
/// `parent` is the id of a dynamic slot's partitionable slot, whose parameter 25.14 does not read (quirk
/// `dslot-keyword-no-fallback`).
///
/// Reference: `Resource::getHookKeyword`.
pub fn startd_keyword(
    slot_id: &str,
    parent: Option<&str>,
    parameters: &dyn ParameterSource,
    quirks: QuirkMode,
) -> KeywordLookup {
    let mut lookup = KeywordLookup::default();
    let of_slot = |id: &str| BString::from(format!("{}_JOB_HOOK_KEYWORD", id.to_ascii_uppercase()));
    if lookup.try_parameter(parameters, of_slot(slot_id)) {
        return lookup;
    }
    if let Some(parent) = parent
        && parameters.get(&of_slot(parent)).is_some()
    {
        let without = quirks.decide(Quirk::DslotKeywordNoFallback);
        lookup.quirk = Some(without.quirk);
        if !without.as_reference && lookup.try_parameter(parameters, of_slot(parent)) {
            return lookup;
        }
    }
    lookup.try_parameter(parameters, "STARTD_JOB_HOOK_KEYWORD".into());
    lookup
}

/// Looks up the keyword for a job in starter or shadow (`<P>` is `STARTER` or `SHADOW`): first `<P>_JOB_HOOK_KEYWORD`,
/// then the job's `HookKeyword` unless no hook is configured for it, then `<P>_DEFAULT_JOB_HOOK_KEYWORD`. A hook of
/// starter or shadow is treated as configured even if its path is invalid. The caller then refuses the job instead of
/// using another keyword.
///
/// Reference: `JobHookClientMgr::initialize`, which never reaches the last step if the job names a keyword
/// without hooks (quirk `hook-keyword-fallback-blocked`).
pub fn starter_keyword(
    caller: HookCaller,
    job: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
    quirks: QuirkMode,
) -> KeywordLookup {
    let prefix = caller.subsystem();
    let mut lookup = KeywordLookup::default();
    if lookup.try_parameter(parameters, format!("{prefix}_JOB_HOOK_KEYWORD").into()) {
        return lookup;
    }
    if let Some(job_keyword) = lookup.try_job_attribute(job, world) {
        let has_own = HookType::ALL.iter().any(|hook| {
            hook.caller() == caller && parameters.get(&hook.path_parameter(&job_keyword)).is_some()
        });
        if has_own || path_check::has_usable_hook(world, parameters, &job_keyword) {
            lookup.keyword = Some(job_keyword);
            return lookup;
        }
        if let Some(step) = lookup.steps.last_mut() {
            step.found = LookupResult::WithoutHooks(job_keyword.clone());
        }
        let default = format!("{prefix}_DEFAULT_JOB_HOOK_KEYWORD");
        let blocked = quirks.decide(Quirk::HookKeywordFallbackBlocked);
        if parameters.get(default.as_bytes()).is_some() {
            lookup.quirk = Some(blocked.quirk);
        }
        if blocked.as_reference {
            // The reference logs that it ignores the keyword of the job, but keeps using this keyword and finds no
            // hook.
            lookup.keyword = Some(job_keyword);
            return lookup;
        }
    }
    lookup.try_parameter(parameters, format!("{prefix}_DEFAULT_JOB_HOOK_KEYWORD").into());
    lookup
}

/// Looks up the keyword for a routed job: first the current `HookKeyword` of the source job, then
/// `JOB_ROUTER_HOOK_KEYWORD`.
///
/// Reference: `JobRouterHookMgr::getHookKeyword`. If `HookKeyword` is an empty string, no hooks are used.
pub fn router_keyword(
    source: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> KeywordLookup {
    let mut lookup = KeywordLookup::default();
    let job_keyword = lookup.try_job_attribute(source, world);
    if job_keyword.is_some() {
        lookup.keyword = job_keyword;
        return lookup;
    }
    let names_none = matches!(lookup.steps.last().map(|step| &step.found), Some(LookupResult::Used(_)));
    if !names_none {
        lookup.try_parameter(parameters, "JOB_ROUTER_HOOK_KEYWORD".into());
    }
    lookup
}
