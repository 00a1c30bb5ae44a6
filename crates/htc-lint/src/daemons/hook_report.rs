//! Which hooks slots, starters, shadows and the router would run, and which they would refuse.

use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;

use super::hooks::keywords;
use htc_base::quirks::Quirks;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{Config, ConfigError, LoadOptions, View, Who};
use htc_hook::keyword::{self, Lookup};
use htc_hook::{Caller, HookType, path_check};
use htc_slot::{ConfigureError, slots_asked_for};

/// One hook as one caller has it.
#[derive(Debug, Serialize)]
pub struct HookRow {
    /// `slot1`, `slot1-4`, `starter`, `starter (slot1-4)` for jobs that these slots fetch, `shadow`, `router`.
    pub caller: String,
    /// Its type.
    pub hook: &'static str,
    /// Under which it is looked up.
    pub keyword: Option<String>,
    /// The knob that holds its path.
    pub knob: String,
    /// What that says.
    pub path: Option<String>,
    /// `accepted`, `none` or the reason of the refusal.
    pub verdict: String,
    /// Whether it would be run.
    pub accepted: bool,
    /// Why not, without the path, where one is configured.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Seconds after which the caller goes on; missing where it waits for ever or not at all.
    pub time_out: Option<i64>,
    /// The words it gets.
    pub arguments: Option<String>,
}

/// One caller with the way it came to its keyword.
#[derive(Debug)]
pub struct CallerKeyword {
    /// As in [`HookRow::caller`].
    pub caller: String,
    /// `None`: it runs no hooks.
    pub keyword: Option<String>,
    /// Where it looked, one line a step.
    pub story: Vec<String>,
}

/// One caller for programs.
#[derive(Debug, Serialize)]
pub struct CallerRecord {
    /// Missing for a keyword that nobody uses.
    caller: Option<String>,
    keyword: Option<String>,
    story: Vec<String>,
    hooks: Vec<HookRow>,
}

/// Everything `--hooks` tells.
#[derive(Debug, Default)]
pub struct HookReport {
    /// Who may run hooks.
    pub callers: Vec<CallerKeyword>,
    /// The hooks of all of them.
    pub hooks: Vec<HookRow>,
    /// Why no startd starts with this configuration, and there are no slots.
    pub no_slots: Option<ConfigureError>,
    /// What is wrong with the slots that the configuration asks for.
    pub warnings: Vec<String>,
    /// Keywords with hooks that no knob names.
    pub unused_keywords: Vec<String>,
}

fn shown(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

/// Collects the report. The configuration is read once for each kind of caller, since statements may depend on it;
/// `seen` gets each.
///
/// # Errors
/// A configuration that cannot be read.
pub fn hook_report(
    world: &dyn World,
    options: &LoadOptions,
    local_name: &BStr,
    seen: &mut dyn FnMut(&Config),
) -> Result<HookReport, ConfigError> {
    let mut load = |subsystem: &str| {
        let who = Who { subsystem: subsystem.into(), local_name: local_name.into() };
        Config::load(world, &who, options).map(|(config, _)| {
            seen(&config);
            config
        })
    };
    let mut report = HookReport::default();
    let mut used: Vec<BString> = Vec::new();
    // Slots that fetch jobs, and the keyword that their jobs are given.
    let mut fetching: Vec<(String, BString)> = Vec::new();
    let quirks = Quirks::default();

    let startd = load("STARTD")?;
    let groups = match slots_asked_for(startd.view(world), world.machine().cpus.into()) {
        Ok(asked) => {
            let groups = slot_groups(&startd, world, asked.types);
            report.warnings = asked.warnings;
            groups
        }
        Err(error) => {
            report.no_slots = Some(error);
            Vec::new()
        }
    };
    for group in groups {
        let view = startd.for_slot(Some(group.slot_type), world);
        let lookup = keyword::startd(&group.first, None, &view, quirks);
        report.add(&group.label, Caller::Startd, &lookup, &view);
        if let Some(keyword) = &lookup.keyword
            && !matches!(path_check::configured(world, &view, keyword, HookType::FetchWork), Ok(None))
        {
            fetching.push((group.label, keyword.clone()));
        }
        used.extend(lookup.keyword);
    }
    let job = ClassAd::new();
    for caller in [Caller::Starter, Caller::Shadow] {
        let config = load(caller.subsystem())?;
        let view = config.view(world);
        let lookup = keyword::starter(caller, &job, &view, world, quirks);
        report.add(caller.name(), caller, &lookup, &view);
        if caller == Caller::Starter {
            report.add_fetched(&fetching, &lookup, &view);
        }
        used.extend(lookup.keyword);
    }
    let router = load("JOB_ROUTER")?;
    let view = router.view(world);
    let lookup = keyword::router(&job, &view, world);
    report.add("router", Caller::Router, &lookup, &view);
    used.extend(lookup.keyword);

    for keyword in keywords(&startd) {
        if !used.iter().any(|known| caseless::eq(known, &keyword)) {
            report.unused_keywords.push(shown(&keyword));
        }
    }
    Ok(report)
}

/// Slots of one type that have the same keyword.
struct SlotGroup {
    /// `slot1` or `slot1-4`.
    label: String,
    /// The first of them.
    first: String,
    /// Their type.
    slot_type: u32,
}

/// The slots that a startd with this configuration makes, those alike together.
fn slot_groups(config: &Config, world: &dyn World, types: Vec<(u32, u32, String)>) -> Vec<SlotGroup> {
    let mut groups: Vec<(SlotGroup, Option<BString>)> = Vec::new();
    let mut slot = 0;
    for (slot_type, count, prefix) in types {
        let of_slot = config.for_slot(Some(slot_type), world);
        for _ in 0..count {
            slot += 1;
            let id = format!("{prefix}{slot}");
            let keyword = keyword::startd(&id, None, &of_slot, Quirks::default()).keyword;
            match groups.last_mut() {
                Some((group, same)) if group.slot_type == slot_type && *same == keyword => {
                    group.label = format!("{}-{slot}", group.first);
                }
                _ => groups.push((SlotGroup { label: id.clone(), first: id, slot_type }, keyword)),
            }
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

impl HookReport {
    /// The hooks of starters whose jobs were fetched: the startd gives each job the keyword of the slot that fetched it
    /// (StartdHookMgr.cpp). `usual` is what a starter has without that.
    fn add_fetched(&mut self, fetching: &[(String, BString)], usual: &Lookup, view: &View<'_>) {
        let mut told: Vec<&BString> = usual.keyword.iter().collect();
        for (slots, keyword) in fetching {
            if told.iter().any(|known| caseless::eq(known, keyword)) {
                continue;
            }
            told.push(keyword);
            let mut job = ClassAd::new();
            job.set("HookKeyword", keyword.clone());
            let lookup = keyword::starter(Caller::Starter, &job, view, view.world(), Quirks::default());
            self.add(&format!("starter ({slots})"), Caller::Starter, &lookup, view);
        }
    }

    fn add(&mut self, label: &str, caller: Caller, lookup: &Lookup, view: &View<'_>) {
        let keyword = lookup.keyword.as_ref().map(|keyword| shown(keyword));
        let story = lookup.story.iter().map(ToString::to_string).collect();
        self.callers.push(CallerKeyword { caller: label.to_owned(), keyword: keyword.clone(), story });
        let Some(name) = &lookup.keyword else {
            return;
        };
        for hook in HookType::ALL.into_iter().filter(|hook| hook.caller() == caller) {
            let knob = hook.knob(name);
            let configured = path_check::configured(view.world(), view, name, hook);
            let (path, verdict) = match &configured {
                Ok(None) => (None, "none".to_owned()),
                Ok(Some(path)) => (Some(shown(path)), "accepted".to_owned()),
                Err(refusal) => (Some(shown(&refusal.path)), refusal.to_string()),
            };
            let time_out = hook.time_out(name).map(|time_out| {
                let set = view.int(time_out.knob.to_str_lossy().as_ref()).ok().flatten();
                set.map_or(time_out.default.as_secs() as i64, |setting| setting.value)
            });
            let arguments = hook
                .arguments_knob(name)
                .and_then(|knob| view.string(&knob.to_str_lossy()).ok().flatten())
                .map(|setting| shown(&setting.value));
            self.hooks.push(HookRow {
                caller: label.to_owned(),
                hook: hook.name(),
                keyword: keyword.clone(),
                knob: shown(&knob),
                path,
                verdict,
                accepted: matches!(configured, Ok(Some(_))),
                refused: configured.err().map(|refusal| refusal.why()),
                time_out,
                arguments,
            });
        }
    }

    /// Whether a configured hook is refused.
    pub fn any_refused(&self) -> bool {
        self.hooks.iter().any(|row| row.refused.is_some())
    }

    /// The report for programs: one record a caller with its hooks, one for each keyword that nobody uses.
    pub fn records(self) -> Vec<CallerRecord> {
        let HookReport { callers, mut hooks, unused_keywords, .. } = self;
        let mut records = Vec::new();
        for CallerKeyword { caller, keyword, story } in callers {
            let (own, others) = hooks.into_iter().partition(|row: &HookRow| row.caller == caller);
            hooks = others;
            records.push(CallerRecord { caller: Some(caller), keyword, story, hooks: own });
        }
        records.extend(unused_keywords.into_iter().map(|keyword| CallerRecord {
            caller: None,
            keyword: Some(keyword),
            story: vec!["no knob names this keyword".to_owned()],
            hooks: Vec::new(),
        }));
        records
    }
}
