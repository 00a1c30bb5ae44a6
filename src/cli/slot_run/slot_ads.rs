//! Output of the slots of a configuration: their ads, or a table.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use super::options::SlotRunCli;
use super::slot_config::{self, LoadedSlots};
use crate::classad::ClassAd;
use crate::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use crate::classad::format::long;
use crate::cli::common::{
    AdFormat, AdSelectionOptions, Painter, PipedStdout, Problem, ProgramContext, Status, open_stdio_pipe,
    render_table as render, write_to_stdout,
};
use crate::runner::slot::passive_execution_point;
use crate::slot::{ExecutionPoint, SlotKey, SlotPlan, requested_slots};

/// Returns the named slots, or all slots if none are named.
pub(super) fn select_slots(machine: &ExecutionPoint, names: &[String]) -> anyhow::Result<Vec<SlotKey>> {
    let all: Vec<(SlotKey, String)> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
    if let Some(missing) = names.iter().find(|name| !all.iter().any(|(_, id)| id.eq_ignore_ascii_case(name)))
    {
        let ids: Vec<&str> = all.iter().map(|(_, id)| id.as_str()).collect();
        return Err(Problem::usage(format!("there is no slot '{missing}'"))
            .hint(format!("the slots are {}", ids.join(", ")))
            .into());
    }
    let wanted = |id: &str| names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(id));
    Ok(all.into_iter().filter(|(_, id)| wanted(id)).map(|(key, _)| key).collect())
}

/// Prints the ads of the slots, separated by empty lines.
pub(super) fn print_ads(
    cli: &SlotRunCli,
    session: &ProgramContext,
    names: &[String],
    selection: &AdSelectionOptions,
) -> anyhow::Result<Status> {
    let selection = selection.parse()?;
    let loaded = slot_config::load_or_end(cli, session)?;
    slot_config::warn_once(session, &loaded.warnings);
    let machine = passive_execution_point(loaded.settings, loaded.world);
    let (_, mut output) = open_stdio_pipe();
    let keys = select_slots(&machine, names)?;
    let world = slot_config::query_world(cli);
    let ads = keys.into_iter().filter_map(|key| machine.sent_ad(key));
    let mut ads: Vec<ClassAd> = ads.filter(|ad| selection.holds(ad, &world)).collect();
    selection.sort_and_limit(&mut ads, |ad| ad, &world, session);
    write_ads(&mut output, cli, ads.into_iter()).context("standard output")?;
    Ok(Status::Done)
}

fn write_ads(
    output: &mut PipedStdout,
    cli: &SlotRunCli,
    ads: impl Iterator<Item = ClassAd>,
) -> io::Result<()> {
    let form = match cli.output.ad_format() {
        Some(AdFormat::Json) => ListForm::Json,
        Some(AdFormat::Jsonl) => ListForm::JsonLines,
        Some(AdFormat::Long) | None => {
            for ad in ads {
                output.write_all(&long::print(&ad))?;
                output.write_all(b"\n")?;
            }
            return output.flush();
        }
    };
    let mut list = ListWriter::new(form, AttributeOrder::Sorted).brackets_when_empty(true);
    for ad in ads {
        list.write(&ad, output)?;
    }
    list.finish(output)?;
    output.flush()
}

/// Slot in the output of `--dry-run`.
#[derive(Serialize)]
struct PlannedSlotRecord {
    slot: String,
    #[serde(rename = "type")]
    kind: &'static str,
    cpus: f64,
    memory: i64,
    disk: i64,
    keyword: Option<String>,
    fetch_work: Option<PathBuf>,
    broken: Option<String>,
}

impl PlannedSlotRecord {
    fn from_slot(slot: &SlotPlan) -> Self {
        let hooks = slot.hooks.as_ref();
        PlannedSlotRecord {
            slot: slot.id.clone(),
            kind: slot.kind.name(),
            cpus: slot.amounts.cpus,
            memory: slot.amounts.memory,
            disk: slot.amounts.disk,
            keyword: hooks.map(|hooks| hooks.keyword.clone()),
            fetch_work: hooks.and_then(|hooks| hooks.fetch.clone()),
            broken: slot.broken.as_ref().map(|broken| broken.reason.clone()),
        }
    }

    fn into_cells(self) -> Vec<String> {
        let cpus = self.cpus;
        vec![
            self.slot,
            self.kind.to_owned(),
            if cpus.fract() == 0.0 { format!("{cpus:.0}") } else { format!("{cpus:.2}") },
            self.memory.to_string(),
            self.disk.to_string(),
            self.keyword.unwrap_or_default(),
            self.fetch_work.map_or_else(|| "none".to_owned(), |path| path.display().to_string()),
            self.broken.map_or_else(String::new, |broken| format!("broken: {broken}")),
        ]
    }
}

/// Returns the number of slots that the NUM_SLOTS_TYPE_<n> parameters request.
fn requested_count(loaded: &LoadedSlots) -> usize {
    let requested = requested_slots(loaded.config.view(&*loaded.world), 0);
    let types = requested.map(|requested| requested.types).unwrap_or_default();
    types.iter().filter(|(id, ..)| *id != 0).map(|(_, count, _)| *count as usize).sum()
}

/// Prints one line per slot for `--dry-run`. The exit status is 0 if every requested slot was created and can be used.
pub(super) fn print_planned_slots(cli: &SlotRunCli, session: &ProgramContext) -> anyhow::Result<Status> {
    let loaded = slot_config::load_or_end(cli, session)?;
    slot_config::warn_once(session, &loaded.warnings);
    let columns = ["<SLOT", "<TYPE", ">CPUS", ">MEMORY", ">DISK", "<KEYWORD", "<FETCH_WORK", "<NOTE"];
    let slots: Vec<PlannedSlotRecord> =
        loaded.settings.slots.iter().map(PlannedSlotRecord::from_slot).collect();
    let are_all_usable =
        slots.len() >= requested_count(&loaded) && slots.iter().all(|slot| slot.broken.is_none());
    let rows = cli.output.render_json(&slots)?;
    let painter = Painter::stdout(cli.output.color);
    let text = || render(&columns, slots.into_iter().map(PlannedSlotRecord::into_cells), painter);
    write_to_stdout(rows.unwrap_or_else(text))?;
    Ok(if are_all_usable { Status::Done } else { Status::No })
}
