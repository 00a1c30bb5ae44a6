//! Hook keyword used by a caller, and the places where it was looked up.

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
    /// Places that were read, in order.
    pub steps: Vec<LookupStep>,
    /// A quirk that decides here, whichever way it was decided.
    pub quirk: Option<Quirk>,
}

/// One place that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupStep {
    /// Parameter, or `HookKeyword of the job`.
    pub place: BString,
    /// Place where it is set, if known.
    pub origin: Option<String>,
    /// Result.
    pub found: LookupResult,
}

/// Value found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// No value.
    NotSet,
    /// The keyword that is used.
    Used(BString),
    /// A keyword for which no hook is configured.
    WithoutHooks(BString),
    /// An attribute that is not a string.
    NotAString,
}

impl std::fmt::Display for LookupStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.as_bstr();
        match &self.found {
            LookupResult::NotSet => write!(f, "{place} is not set")?,
            LookupResult::Used(keyword) => write!(f, "{place} is '{keyword}': used")?,
            LookupResult::WithoutHooks(keyword) => {
                write!(f, "{place} is '{keyword}', for which no hook is configured: ignored")?;
            }
            LookupResult::NotAString => write!(f, "{place} is no string")?,
        }
        match &self.origin {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

impl KeywordLookup {
    /// Returns the keyword that the job names but for which no hook is configured, if any.
    pub fn ignored_keyword(&self) -> Option<&BString> {
        self.steps.iter().find_map(|step| match &step.found {
            LookupResult::WithoutHooks(keyword) => Some(keyword),
            _ => None,
        })
    }

    /// Looks at a knob; true when it settles the matter.
    fn try_parameter(&mut self, knobs: &dyn ParameterSource, name: BString) -> bool {
        let found = knobs.get(&name);
        let origin = found.as_ref().and_then(|_| knobs.origin(&name));
        self.keyword = found.clone();
        self.steps.push(LookupStep {
            place: name,
            origin,
            found: found.map_or(LookupResult::NotSet, LookupResult::Used),
        });
        self.keyword.is_some()
    }

    /// Looks at the job's attribute; the value is returned, not yet used.
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

/// The keyword of a slot: `SLOT1_JOB_HOOK_KEYWORD` (`SLOT1_2_...` for a dynamic one), then `STARTD_JOB_HOOK_KEYWORD`.
/// `knobs` must look names up the way that slot does, its slot type first. `parent` is the id of a dynamic slot's
/// partitionable slot; 25.14 does not look there (quirk `dslot-keyword-no-fallback`).
///
/// Reference: `Resource::getHookKeyword`.
pub fn startd_keyword(
    slot_id: &str,
    parent: Option<&str>,
    knobs: &dyn ParameterSource,
    quirks: QuirkMode,
) -> KeywordLookup {
    let mut lookup = KeywordLookup::default();
    let of_slot = |id: &str| BString::from(format!("{}_JOB_HOOK_KEYWORD", id.to_ascii_uppercase()));
    if lookup.try_parameter(knobs, of_slot(slot_id)) {
        return lookup;
    }
    if let Some(parent) = parent
        && knobs.get(&of_slot(parent)).is_some()
    {
        let without = quirks.decide(Quirk::DslotKeywordNoFallback);
        lookup.quirk = Some(without.quirk);
        if !without.as_reference && lookup.try_parameter(knobs, of_slot(parent)) {
            return lookup;
        }
    }
    lookup.try_parameter(knobs, "STARTD_JOB_HOOK_KEYWORD".into());
    lookup
}

/// The keyword for a job in starter or shadow (`<P>` = `STARTER`, `SHADOW`): `<P>_JOB_HOOK_KEYWORD`, the job's
/// `HookKeyword` unless no hook at all is configured for it, `<P>_DEFAULT_JOB_HOOK_KEYWORD`. Hooks of that caller count as
/// configured whether their paths are good or not: a bad one refuses the job, and no other keyword takes its place.
///
/// Reference: `JobHookClientMgr::initialize`, which never comes to the last step when the job names a keyword without
/// hooks (quirk `hook-keyword-fallback-blocked`).
pub fn starter_keyword(
    caller: HookCaller,
    job: &ClassAd,
    knobs: &dyn ParameterSource,
    world: &dyn World,
    quirks: QuirkMode,
) -> KeywordLookup {
    let prefix = caller.subsystem();
    let mut lookup = KeywordLookup::default();
    if lookup.try_parameter(knobs, format!("{prefix}_JOB_HOOK_KEYWORD").into()) {
        return lookup;
    }
    if let Some(wish) = lookup.try_job_attribute(job, world) {
        let has_own = HookType::ALL
            .iter()
            .any(|hook| hook.caller() == caller && knobs.get(&hook.path_parameter(&wish)).is_some());
        if has_own || path_check::has_usable_hook(world, knobs, &wish) {
            lookup.keyword = Some(wish);
            return lookup;
        }
        if let Some(step) = lookup.steps.last_mut() {
            step.found = LookupResult::WithoutHooks(wish.clone());
        }
        let default = format!("{prefix}_DEFAULT_JOB_HOOK_KEYWORD");
        let blocked = quirks.decide(Quirk::HookKeywordFallbackBlocked);
        if knobs.get(default.as_bytes()).is_some() {
            lookup.quirk = Some(blocked.quirk);
        }
        if blocked.as_reference {
            // It goes on with the keyword it has just said to ignore, and finds no hook.
            lookup.keyword = Some(wish);
            return lookup;
        }
    }
    lookup.try_parameter(knobs, format!("{prefix}_DEFAULT_JOB_HOOK_KEYWORD").into());
    lookup
}

/// The keyword for a routed job: `HookKeyword` of the source job as it is now, then `JOB_ROUTER_HOOK_KEYWORD`.
///
/// Reference: `JobRouterHookMgr::getHookKeyword`. An empty string in the job means no hooks.
pub fn router_keyword(source: &ClassAd, knobs: &dyn ParameterSource, world: &dyn World) -> KeywordLookup {
    let mut lookup = KeywordLookup::default();
    let wish = lookup.try_job_attribute(source, world);
    if wish.is_some() {
        lookup.keyword = wish;
        return lookup;
    }
    let names_none = matches!(lookup.steps.last().map(|step| &step.found), Some(LookupResult::Used(_)));
    if !names_none {
        lookup.try_parameter(knobs, "JOB_ROUTER_HOOK_KEYWORD".into());
    }
    lookup
}
