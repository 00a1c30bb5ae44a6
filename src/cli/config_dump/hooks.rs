//! `--hooks`: which hooks slots, starters, shadows and the router would run, and which they would refuse.

use std::fmt::Write;

use bstr::{BStr, BString, ByteSlice};
use serde::Serialize;

use crate::classad::ClassAd;
use crate::cli::common::{Painter, table};
use crate::config::{Config, ConfigError, LoadOptions, View, Who};
use crate::hook::keyword::{self, Lookup};
use crate::hook::{Caller, HookType, path_check};
use crate::quirks::Quirks;
use crate::runner::config_lint;
use crate::text::caseless;
use crate::world::World;

/// Slots beyond this many of one type are not listed one by one.
const MAX_SLOTS: i64 = 4096;

/// One hook as one caller has it.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// `slot1`, `slot1-4`, `starter`, `shadow`, `router`.
    caller: String,
    hook: &'static str,
    keyword: Option<String>,
    knob: String,
    path: Option<String>,
    /// `accepted`, `none` or the reason of the refusal.
    verdict: String,
    accepted: bool,
    /// Seconds after which the caller goes on; missing where it waits for ever or not at all.
    time_out: Option<i64>,
    arguments: Option<String>,
}

/// One caller with the way it came to its keyword.
#[derive(Debug)]
pub(super) struct Who1 {
    caller: String,
    keyword: Option<String>,
    story: Vec<String>,
}

/// One caller for programs.
#[derive(Debug, Serialize)]
pub(super) struct CallerRecord {
    /// Missing for a keyword that nobody uses.
    caller: Option<String>,
    keyword: Option<String>,
    story: Vec<String>,
    hooks: Vec<Row>,
}

/// Everything `--hooks` tells.
#[derive(Debug, Default)]
pub(super) struct Report {
    callers: Vec<Who1>,
    hooks: Vec<Row>,
    /// Keywords with hooks that no knob names.
    unused_keywords: Vec<String>,
}

fn shown(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

/// Collects the report. The configuration is read once for each kind of caller, since statements may depend on it;
/// `seen` gets each.
pub(super) fn report(
    world: &dyn World,
    options: &LoadOptions,
    local_name: &BStr,
    seen: &mut dyn FnMut(&Config),
) -> Result<Report, ConfigError> {
    let mut load = |subsystem: &str| {
        let who = Who { subsystem: subsystem.into(), local_name: local_name.into() };
        Config::load(world, &who, options).map(|(config, _)| {
            seen(&config);
            config
        })
    };
    let mut report = Report::default();
    let mut used: Vec<BString> = Vec::new();
    let quirks = Quirks::default();

    let startd = load("STARTD")?;
    for group in slot_groups(&startd, world) {
        let view = startd.for_slot(Some(group.slot_type), world);
        let lookup = keyword::startd(&group.first, None, &view, quirks);
        report.add(&group.label, Caller::Startd, &lookup, &view);
        used.extend(lookup.keyword);
    }
    let job = ClassAd::new();
    for caller in [Caller::Starter, Caller::Shadow] {
        let config = load(caller.subsystem())?;
        let view = config.view(world);
        let lookup = keyword::starter(caller, &job, &view, world, quirks);
        report.add(caller.name(), caller, &lookup, &view);
        used.extend(lookup.keyword);
    }
    let router = load("JOB_ROUTER")?;
    let view = router.view(world);
    let lookup = keyword::router(&job, &view, world);
    report.add("router", Caller::Router, &lookup, &view);
    used.extend(lookup.keyword);

    for keyword in config_lint::keywords(&startd) {
        if !used.iter().any(|known| caseless::eq(known, &keyword)) {
            report.unused_keywords.push(shown(&keyword));
        }
    }
    Ok(report)
}

/// Slots of one type that have the same keyword.
pub(super) struct SlotGroup {
    /// `slot1` or `slot1-4`.
    pub(super) label: String,
    /// The first of them.
    pub(super) first: String,
    /// Their type.
    pub(super) slot_type: u32,
}

/// The slots that a startd with this configuration makes, those alike together (`slot_builder.cpp`, initTypes, countTypes).
fn slot_groups(config: &Config, world: &dyn World) -> Vec<SlotGroup> {
    let view = config.view(world);
    let number =
        |name: &str| view.int(name).ok().flatten().map_or(0, |setting| setting.value.clamp(0, MAX_SLOTS));
    let types = view.number("MAX_SLOT_TYPES", 10).clamp(0, 1000);
    let mut counts: Vec<(u32, i64)> = (1..=types as u32)
        .map(|n| (n, number(&format!("NUM_SLOTS_TYPE_{n}"))))
        .filter(|&(_, count)| count > 0)
        .collect();
    if counts.is_empty() {
        let partitionable = view.flag("SLOT_TYPE_0_PARTITIONABLE", true);
        let set = number("NUM_SLOTS");
        let cpus = i64::from(world.machine().cpus);
        counts.push((
            0,
            if set > 0 {
                set
            } else if partitionable {
                1
            } else {
                cpus
            },
        ));
    }
    let mut groups: Vec<(SlotGroup, Option<BString>, u32)> = Vec::new();
    let mut slot = 0;
    for (slot_type, count) in counts {
        let prefix = view
            .string(&format!("SLOT_TYPE_{slot_type}_NAME_PREFIX"))
            .ok()
            .flatten()
            .or_else(|| view.string("STARTD_RESOURCE_PREFIX").ok().flatten())
            .map_or_else(|| "slot".to_owned(), |setting| shown(&setting.value));
        for _ in 0..count {
            slot += 1;
            let id = format!("{prefix}{slot}");
            let of_slot = config.for_slot(Some(slot_type), world);
            let keyword = keyword::startd(&id, None, &of_slot, Quirks::default()).keyword;
            match groups.last_mut() {
                Some((group, same, last)) if group.slot_type == slot_type && *same == keyword => {
                    *last = slot;
                    group.label = format!("{}-{slot}", group.first);
                }
                _ => groups.push((SlotGroup { label: id.clone(), first: id, slot_type }, keyword, slot)),
            }
        }
    }
    groups.into_iter().map(|(group, ..)| group).collect()
}

impl Report {
    fn add(&mut self, label: &str, caller: Caller, lookup: &Lookup, view: &View<'_>) {
        let keyword = lookup.keyword.as_ref().map(|keyword| shown(keyword));
        let story = lookup.story.iter().map(ToString::to_string).collect();
        self.callers.push(Who1 { caller: label.to_owned(), keyword: keyword.clone(), story });
        let Some(name) = &lookup.keyword else {
            return;
        };
        for hook in HookType::ALL.into_iter().filter(|hook| hook.caller() == caller) {
            let knob = hook.knob(name);
            let (path, verdict, accepted) = match path_check::configured(view.world(), view, name, hook) {
                Ok(None) => (None, "none".to_owned(), false),
                Ok(Some(path)) => (Some(shown(&path)), "accepted".to_owned(), true),
                Err(refusal) => (Some(shown(&refusal.path)), refusal.to_string(), false),
            };
            let time_out = hook.time_out(name).map(|time_out| {
                let set = view.int(time_out.knob.to_str_lossy().as_ref()).ok().flatten();
                set.map_or(time_out.default.as_secs() as i64, |setting| setting.value)
            });
            let arguments = hook
                .arguments_knob(name)
                .and_then(|knob| view.string(&knob.to_str_lossy()).ok().flatten())
                .map(|setting| shown(&setting.value));
            self.hooks.push(Row {
                caller: label.to_owned(),
                hook: hook.name(),
                keyword: keyword.clone(),
                knob: shown(&knob),
                path,
                verdict,
                accepted,
                time_out,
                arguments,
            });
        }
    }

    /// Whether a configured hook is refused.
    pub(super) fn any_refused(&self) -> bool {
        self.hooks.iter().any(|row| row.path.is_some() && !row.accepted)
    }

    /// The report for programs: one record a caller with its hooks, one for each keyword that nobody uses.
    pub(super) fn records(self) -> Vec<CallerRecord> {
        let Report { callers, mut hooks, unused_keywords } = self;
        let mut records = Vec::new();
        for Who1 { caller, keyword, story } in callers {
            let (own, others) = hooks.into_iter().partition(|row: &Row| row.caller == caller);
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

    /// The report for people.
    pub(super) fn text(&self, painter: Painter) -> String {
        let mut text = String::new();
        for caller in &self.callers {
            let keyword = caller.keyword.as_deref().unwrap_or("no keyword: no hooks");
            let _ = writeln!(text, "{}: {}", caller.caller, painter.bold(keyword));
            for step in &caller.story {
                let _ = writeln!(text, "  {step}");
            }
        }
        if !self.hooks.is_empty() {
            text.push('\n');
            let columns = ["<CALLER", "<KNOB", "<PATH", "<TIME-OUT", "<ARGUMENTS", "<VERDICT"];
            let rows = self.hooks.iter().map(|row| {
                vec![
                    row.caller.clone(),
                    row.knob.clone(),
                    row.path.clone().unwrap_or_else(|| "-".to_owned()),
                    row.time_out.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s")),
                    row.arguments.clone().unwrap_or_else(|| "-".to_owned()),
                    match row.path.is_some() && !row.accepted {
                        // The path is in its own column.
                        true => row
                            .verdict
                            .split_once("refused: ")
                            .map_or(row.verdict.clone(), |(_, why)| format!("refused: {why}")),
                        false => row.verdict.clone(),
                    },
                ]
            });
            text.push_str(&table(&columns, rows, painter));
        }
        for keyword in &self.unused_keywords {
            let _ = writeln!(
                text,
                "\nkeyword {keyword} has hooks, but no knob names it; jobs may, by their attribute HookKeyword"
            );
        }
        text
    }
}
