//! Which keyword a caller uses, and how it came to it.

use bstr::{BString, ByteSlice};

use super::hook_type::{Caller, HookType};
use super::knobs::Knobs;
use super::path_check;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// The attribute of a job that names its keyword.
pub const HOOK_KEYWORD: &str = "HookKeyword";

/// The keyword and the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The keyword; `None`: no hooks.
    pub keyword: Option<BString>,
    /// Everything that was looked at, in order.
    pub story: Vec<Step>,
    /// A quirk that decides here, whichever way it was decided.
    pub quirk: Option<Quirk>,
}

/// One place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The knob, or `HookKeyword of the job`.
    pub place: BString,
    /// Where it is set, if that is known.
    pub origin: Option<String>,
    /// What was found.
    pub found: Found,
}

/// What a place held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// The keyword that is used.
    Used(BString),
    /// A keyword for which no hook at all is configured.
    WithoutHooks(BString),
    /// An attribute that is no string.
    NoString,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.as_bstr();
        match &self.found {
            Found::Nothing => write!(f, "{place} is not set")?,
            Found::Used(keyword) => write!(f, "{place} is '{keyword}': used")?,
            Found::WithoutHooks(keyword) => {
                write!(f, "{place} is '{keyword}', for which no hook is configured: ignored")?;
            }
            Found::NoString => write!(f, "{place} is no string")?,
        }
        match &self.origin {
            Some(origin) => write!(f, " ({origin})"),
            None => Ok(()),
        }
    }
}

impl Lookup {
    /// The keyword that the job names and for which no hook is configured, if it names one.
    pub fn ignored(&self) -> Option<&BString> {
        self.story.iter().find_map(|step| match &step.found {
            Found::WithoutHooks(keyword) => Some(keyword),
            _ => None,
        })
    }

    /// Looks at a knob; true when it settles the matter.
    fn knob(&mut self, knobs: &dyn Knobs, name: BString) -> bool {
        let found = knobs.get(&name);
        let origin = found.as_ref().and_then(|_| knobs.origin(&name));
        self.keyword = found.clone();
        self.story.push(Step { place: name, origin, found: found.map_or(Found::Nothing, Found::Used) });
        self.keyword.is_some()
    }

    /// Looks at the job's attribute; the value is returned, not yet used.
    fn attribute(&mut self, job: &ClassAd, world: &dyn World) -> Option<BString> {
        let value = Context::new(world).my(job).string(HOOK_KEYWORD);
        let found = match &value {
            None if job.contains(HOOK_KEYWORD) => Found::NoString,
            None => Found::Nothing,
            Some(value) => Found::Used(value.clone()),
        };
        let place = BString::from(format!("{HOOK_KEYWORD} of the job"));
        self.story.push(Step { place, origin: None, found });
        value.filter(|value| !value.is_empty())
    }
}

/// The keyword of a slot: `SLOT1_JOB_HOOK_KEYWORD` (`SLOT1_2_...` for a dynamic one), then `STARTD_JOB_HOOK_KEYWORD`.
/// `knobs` must look names up the way that slot does, its slot type first. `parent` is the id of a dynamic slot's
/// partitionable slot; 25.14 does not look there (quirk `dslot-keyword-no-fallback`).
///
/// Reference: `Resource::getHookKeyword`.
pub fn startd(slot_id: &str, parent: Option<&str>, knobs: &dyn Knobs, quirks: Quirks) -> Lookup {
    let mut lookup = Lookup::default();
    let of_slot = |id: &str| BString::from(format!("{}_JOB_HOOK_KEYWORD", id.to_ascii_uppercase()));
    if lookup.knob(knobs, of_slot(slot_id)) {
        return lookup;
    }
    if let Some(parent) = parent
        && knobs.get(&of_slot(parent)).is_some()
    {
        let without = quirks.decide(Quirk::DslotKeywordNoFallback);
        lookup.quirk = Some(without.quirk);
        if !without.as_reference && lookup.knob(knobs, of_slot(parent)) {
            return lookup;
        }
    }
    lookup.knob(knobs, "STARTD_JOB_HOOK_KEYWORD".into());
    lookup
}

/// The keyword for a job in starter or shadow (`<P>` = `STARTER`, `SHADOW`): `<P>_JOB_HOOK_KEYWORD`, the job's
/// `HookKeyword` unless no hook at all is configured for it, `<P>_DEFAULT_JOB_HOOK_KEYWORD`. Hooks of that caller count as
/// configured whether their paths are good or not: a bad one refuses the job, and no other keyword takes its place.
///
/// Reference: `JobHookClientMgr::initialize`, which never comes to the last step when the job names a keyword without
/// hooks (quirk `hook-keyword-fallback-blocked`).
pub fn starter(
    caller: Caller,
    job: &ClassAd,
    knobs: &dyn Knobs,
    world: &dyn World,
    quirks: Quirks,
) -> Lookup {
    let prefix = caller.subsystem();
    let mut lookup = Lookup::default();
    if lookup.knob(knobs, format!("{prefix}_JOB_HOOK_KEYWORD").into()) {
        return lookup;
    }
    if let Some(wish) = lookup.attribute(job, world) {
        let has_own = HookType::ALL
            .iter()
            .any(|hook| hook.caller() == caller && knobs.get(&hook.knob(&wish)).is_some());
        if has_own || path_check::any_good(world, knobs, &wish) {
            lookup.keyword = Some(wish);
            return lookup;
        }
        if let Some(step) = lookup.story.last_mut() {
            step.found = Found::WithoutHooks(wish.clone());
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
    lookup.knob(knobs, format!("{prefix}_DEFAULT_JOB_HOOK_KEYWORD").into());
    lookup
}

/// The keyword for a routed job: `HookKeyword` of the source job as it is now, then `JOB_ROUTER_HOOK_KEYWORD`.
///
/// Reference: `JobRouterHookMgr::getHookKeyword`. An empty string in the job means no hooks.
pub fn router(source: &ClassAd, knobs: &dyn Knobs, world: &dyn World) -> Lookup {
    let mut lookup = Lookup::default();
    let wish = lookup.attribute(source, world);
    if wish.is_some() {
        lookup.keyword = wish;
        return lookup;
    }
    let names_none = matches!(lookup.story.last().map(|step| &step.found), Some(Found::Used(_)));
    if !names_none {
        lookup.knob(knobs, "JOB_ROUTER_HOOK_KEYWORD".into());
    }
    lookup
}
