//! Report of the hooks that slots, starters, shadows and the router would run, and those that they would
//! refuse.

use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;

use super::hooks::configured_keywords;
use htc_base::quirks::QuirkMode;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{Config, ConfigError, ConfigView, LoadOptions, LookupContext};
use htc_hook::keyword::{self, KeywordLookup};
use htc_hook::{HookCaller, HookType, path_check};
use htc_slot::{ConfigureError, requested_slots};

/// Hook of one caller.
#[derive(Debug, Serialize)]
pub struct HookReportRow {
    /// Caller of the hook: `slot1`, `slot1-4`, `starter`, `starter (slot1-4)` for jobs that these slots fetch,
    /// `shadow`, `router`.
    pub caller: String,
    /// Hook type.
    pub hook: &'static str,
    /// Keyword under which the hook is looked up.
    pub keyword: Option<String>,
    /// Parameter that contains the path of the hook.
    pub knob: String,
    /// Value of that parameter.
    pub path: Option<String>,
    /// `accepted`, `none` or the reason for the refusal.
    pub verdict: String,
    /// True if the caller would run the hook.
    pub accepted: bool,
    /// Reason why the configured hook would not be run, without the path.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Seconds after which the caller stops waiting; missing if it waits forever or not at all.
    pub time_out: Option<i64>,
    /// Arguments of the hook.
    pub arguments: Option<String>,
}

/// Caller, with the lookup of its keyword.
#[derive(Debug)]
pub struct CallerKeyword {
    /// As in [`HookReportRow::caller`].
    pub caller: String,
    /// Keyword, or `None` if the caller runs no hooks.
    pub keyword: Option<String>,
    /// Steps of the lookup, one line each.
    pub lookup_steps: Vec<String>,
}

/// Caller and its hooks, as they are printed in JSON.
#[derive(Debug, Serialize)]
pub struct CallerRecord {
    /// Missing for a keyword that no caller uses.
    caller: Option<String>,
    keyword: Option<String>,
    story: Vec<String>,
    hooks: Vec<HookReportRow>,
}

/// Content of the report of `--hooks`.
#[derive(Debug, Default)]
pub struct HookReport {
    /// Callers that may run hooks.
    pub callers: Vec<CallerKeyword>,
    /// Hooks of all callers.
    pub hooks: Vec<HookReportRow>,
    /// Reason why no startd starts with this configuration, so that there are no slots.
    pub no_slots: Option<ConfigureError>,
    /// Warnings about the slots that the configuration requests.
    pub warnings: Vec<String>,
    /// Keywords with hooks that no parameter names.
    pub unused_keywords: Vec<String>,
}

fn to_display_text(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

/// Creates the report. The configuration is read once for each kind of caller, because its statements may depend on the
/// caller. `on_load` is called with each configuration.
///
/// # Errors
/// Returns an error if the configuration cannot be read.
pub fn build_hook_report(
    world: &dyn World,
    options: &LoadOptions,
    local_name: &BStr,
    on_load: &mut dyn FnMut(&Config),
) -> Result<HookReport, ConfigError> {
    let mut load = |subsystem: &str| {
        let context = LookupContext { subsystem: subsystem.into(), local_name: local_name.into() };
        Config::load(world, &context, options).map(|(config, _)| {
            on_load(&config);
            config
        })
    };
    let mut report = HookReport::default();
    let mut used: Vec<BString> = Vec::new();
    // Slots that fetch jobs, and the keyword that their jobs get.
    let mut fetching: Vec<(String, BString)> = Vec::new();
    let quirks = QuirkMode::default();

    let startd = load("STARTD")?;
    let groups = match requested_slots(startd.view(world), world.machine().cpus.into()) {
        Ok(requested) => {
            let groups = slot_groups(&startd, world, requested.types);
            report.warnings = requested.warnings;
            groups
        }
        Err(error) => {
            report.no_slots = Some(error);
            Vec::new()
        }
    };
    for group in groups {
        let view = startd.view_for_slot(Some(group.slot_type), world);
        let lookup = keyword::startd_keyword(&group.first, None, &view, quirks);
        report.add_caller(&group.label, HookCaller::Startd, &lookup, &view);
        if let Some(keyword) = &lookup.keyword
            && !matches!(path_check::configured_path(world, &view, keyword, HookType::FetchWork), Ok(None))
        {
            fetching.push((group.label, keyword.clone()));
        }
        used.extend(lookup.keyword);
    }
    let job = ClassAd::new();
    for caller in [HookCaller::Starter, HookCaller::Shadow] {
        let config = load(caller.subsystem())?;
        let view = config.view(world);
        let lookup = keyword::starter_keyword(caller, &job, &view, world, quirks);
        report.add_caller(caller.name(), caller, &lookup, &view);
        if caller == HookCaller::Starter {
            report.add_fetched_jobs(&fetching, &lookup, &view);
        }
        used.extend(lookup.keyword);
    }
    let router = load("JOB_ROUTER")?;
    let view = router.view(world);
    let lookup = keyword::router_keyword(&job, &view, world);
    report.add_caller("router", HookCaller::Router, &lookup, &view);
    used.extend(lookup.keyword);

    for keyword in configured_keywords(&startd) {
        if !used.iter().any(|known| caseless::eq(known, &keyword)) {
            report.unused_keywords.push(to_display_text(&keyword));
        }
    }
    Ok(report)
}

/// Slots of one type with the same keyword.
struct SlotGroup {
    /// `slot1` or `slot1-4`.
    label: String,
    /// Name of the first slot.
    first: String,
    /// Slot type.
    slot_type: u32,
}

/// Returns the slots that a startd creates with this configuration, grouped by type and keyword.
fn slot_groups(config: &Config, world: &dyn World, types: Vec<(u32, u32, String)>) -> Vec<SlotGroup> {
    let mut groups: Vec<(SlotGroup, Option<BString>)> = Vec::new();
    let mut slot = 0;
    for (slot_type, count, prefix) in types {
        let slot_view = config.view_for_slot(Some(slot_type), world);
        for _ in 0..count {
            slot += 1;
            let id = format!("{prefix}{slot}");
            let keyword = keyword::startd_keyword(&id, None, &slot_view, QuirkMode::default()).keyword;
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
    /// Adds the hooks of starters for fetched jobs: the startd gives each job the keyword of the slot that fetched it
    /// (StartdHookMgr.cpp). `default_lookup` is the lookup for other jobs.
    fn add_fetched_jobs(
        &mut self,
        fetching: &[(String, BString)],
        default_lookup: &KeywordLookup,
        view: &ConfigView<'_>,
    ) {
        let mut added: Vec<&BString> = default_lookup.keyword.iter().collect();
        for (slots, keyword) in fetching {
            if added.iter().any(|known| caseless::eq(known, keyword)) {
                continue;
            }
            added.push(keyword);
            let mut job = ClassAd::new();
            job.set("HookKeyword", keyword.clone());
            let lookup =
                keyword::starter_keyword(HookCaller::Starter, &job, view, view.world(), QuirkMode::default());
            self.add_caller(&format!("starter ({slots})"), HookCaller::Starter, &lookup, view);
        }
    }

    fn add_caller(&mut self, label: &str, caller: HookCaller, lookup: &KeywordLookup, view: &ConfigView<'_>) {
        let keyword = lookup.keyword.as_ref().map(|keyword| to_display_text(keyword));
        let steps = lookup.steps.iter().map(ToString::to_string).collect();
        self.callers.push(CallerKeyword {
            caller: label.to_owned(),
            keyword: keyword.clone(),
            lookup_steps: steps,
        });
        let Some(name) = &lookup.keyword else {
            return;
        };
        for hook in HookType::ALL.into_iter().filter(|hook| hook.caller() == caller) {
            let path_parameter = hook.path_parameter(name);
            let configured = path_check::configured_path(view.world(), view, name, hook);
            let (path, verdict) = match &configured {
                Ok(None) => (None, "none".to_owned()),
                Ok(Some(path)) => (Some(to_display_text(path)), "accepted".to_owned()),
                Err(refusal) => (Some(to_display_text(&refusal.path)), refusal.to_string()),
            };
            let time_out = hook.timeout_parameter(name).map(|time_out| {
                let set = view.int(time_out.parameter.to_str_lossy().as_ref()).ok().flatten();
                set.map_or(time_out.default.as_secs() as i64, |setting| setting.value)
            });
            let arguments = hook
                .arguments_parameter(name)
                .and_then(|parameter| view.string(&parameter.to_str_lossy()).ok().flatten())
                .map(|setting| to_display_text(&setting.value));
            self.hooks.push(HookReportRow {
                caller: label.to_owned(),
                hook: hook.name(),
                keyword: keyword.clone(),
                knob: to_display_text(&path_parameter),
                path,
                verdict,
                accepted: matches!(configured, Ok(Some(_))),
                refused: configured.err().map(|refusal| refusal.explanation()),
                time_out,
                arguments,
            });
        }
    }

    /// Returns true if a configured hook is refused.
    pub fn has_refused_hook(&self) -> bool {
        self.hooks.iter().any(|row| row.refused.is_some())
    }

    /// Converts the report to records: one per caller with its hooks, and one per keyword that no caller
    /// uses.
    pub fn into_records(self) -> Vec<CallerRecord> {
        let HookReport { callers, mut hooks, unused_keywords, .. } = self;
        let mut records = Vec::new();
        for CallerKeyword { caller, keyword, lookup_steps: story } in callers {
            let (caller_hooks, others) =
                hooks.into_iter().partition(|row: &HookReportRow| row.caller == caller);
            hooks = others;
            records.push(CallerRecord { caller: Some(caller), keyword, story, hooks: caller_hooks });
        }
        records.extend(unused_keywords.into_iter().map(|keyword| CallerRecord {
            caller: None,
            keyword: Some(keyword),
            story: vec!["no parameter selects this keyword".to_owned()],
            hooks: Vec::new(),
        }));
        records
    }
}
