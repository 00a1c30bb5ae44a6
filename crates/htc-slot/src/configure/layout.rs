//! How many slots of which type (`slot_builder.cpp` initTypes, countTypes).

use std::cell::RefCell;

use super::knobs::{ConfigureError, Knobs};
use crate::layout::{FailureMode, LaidOut, SlotType, Volumes, bind, lay_out};
use crate::resources::Amounts;
use crate::settings::SlotKind;
use crate::shares::Shares;
use htc_base::quirks::{Quirk, Quirks};
use htc_config::View;

/// A slot as it was laid out, with what its type says of it.
pub(super) struct Planned {
    pub laid_out: LaidOut,
    pub kind: SlotKind,
    /// What its name begins with.
    pub prefix: String,
    /// The disk that all slots of its volume have together, in KiB.
    pub provisioned: i64,
}

/// Lays the slots out on a machine that has `machine`, with the directories for jobs on these volumes.
pub(super) fn plan(
    knobs: &Knobs<'_>,
    machine: &Amounts,
    volumes: &Volumes,
) -> Result<Vec<Planned>, ConfigureError> {
    let mode = failure_mode(knobs);
    let mut types = types(knobs, machine, mode)?;
    if let (Some(reason), FailureMode::Abort) = (&volumes.shared.missing, mode) {
        return Err(ConfigureError::Layout(reason.to_owned()));
    }
    // 25.14 makes nothing of a machine that has less than nothing.
    if machine.cpus < 1.0 || machine.custom.iter().any(|custom| custom.quantity < 0.0) {
        types.clear();
    }
    let mut layout = lay_out(machine, volumes, &types, mode).map_err(ConfigureError::Layout)?;
    let (world, quirks) = (knobs.world(), knobs.quirks());
    bind(&mut layout, machine, &types, &|devices, index, wanted| devices.fits(index, wanted, world, quirks));
    if mode == FailureMode::Abort
        && let Some(broken) = layout.slots.iter().find_map(|slot| slot.broken.as_ref())
    {
        return Err(ConfigureError::Layout(broken.reason.clone()));
    }
    layout.warnings.iter().for_each(|warning| knobs.warn(warning));
    let missing: Vec<(usize, &str)> = (1..)
        .zip(&layout.slots)
        .filter_map(|(number, slot)| Some((number, slot.volume.missing.as_deref()?)))
        .collect();
    match missing.first() {
        Some((_, reason)) if missing.len() == layout.slots.len() => {
            knobs.warn(format!("no slot can be used: {reason}; make that directory"));
        }
        _ => missing.iter().for_each(|(number, reason)| {
            knobs.warn(format!("slot {number} cannot be used: {reason}; make that directory"));
        }),
    }
    let provisioned = layout.provisioned;
    Ok(layout
        .slots
        .into_iter()
        .map(|laid_out| {
            let id = laid_out.type_id;
            let kind = if partitionable(knobs, id) { SlotKind::Partitionable } else { SlotKind::Static };
            let provisioned = provisioned.get(&laid_out.volume.id).copied().unwrap_or(0);
            Planned { laid_out, kind, prefix: prefix(knobs, id), provisioned }
        })
        .collect())
}

/// The types of slots that there are to be, and how many of each.
fn types(knobs: &Knobs<'_>, machine: &Amounts, mode: FailureMode) -> Result<Vec<SlotType>, ConfigureError> {
    for knob in ["SLOT_TYPE_0", "NUM_SLOTS_TYPE_0"] {
        if knobs.text(knob).is_some() {
            let error = knobs.error(knob, "type 0 stands for slots without a type and cannot be defined");
            match mode {
                FailureMode::Abort => return Err(error),
                _ => knobs.warn(format!("{error}; it is ignored")),
            }
        }
    }
    let tags: Vec<String> = machine.custom.iter().map(|custom| custom.tag.clone()).collect();
    let mut types = Vec::new();
    for (id, count) in counts(knobs, machine.cpus as i64)? {
        let shares = if id == 0 { Ok(Shares::default()) } else { shares(knobs, id, &tags) };
        match shares {
            Ok(shares) => {
                types.push(SlotType { id, shares, count, backfill: id != 0 && backfill(knobs, id) })
            }
            Err(error) if mode == FailureMode::Abort || mode == FailureMode::Clear => return Err(error),
            Err(error) if knobs.has(Quirk::SlotTypeUnmade) => {
                knobs.warn(format!("{error}; there will be no slot of this type"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(types)
}

/// The types of which there are to be slots, and how many of each; type 0 where none is named.
fn counts(knobs: &Knobs<'_>, cpus: i64) -> Result<Vec<(u32, u32)>, ConfigureError> {
    let types = at_most(knobs, "MAX_SLOT_TYPES", knobs.int("MAX_SLOT_TYPES", 10), MAX_TYPES);
    let named = (1..=types).map(|id| (id, knobs.int(&format!("NUM_SLOTS_TYPE_{id}"), 0)));
    let mut counts: Vec<(u32, i64)> = named.filter(|(_, count)| *count != 0).collect();
    if counts.is_empty() {
        let count = match knobs.int_if_set("NUM_SLOTS")? {
            Some(count) => count,
            None if partitionable(knobs, 0) => 1,
            None => cpus,
        };
        counts.push((0, count));
    }
    counts.retain(|(_, count)| *count > 0);
    let counted = counts.into_iter().map(|(id, count)| {
        let knob = if id == 0 { "NUM_SLOTS".to_owned() } else { format!("NUM_SLOTS_TYPE_{id}") };
        (id, at_most(knobs, &knob, count, MAX_SLOTS))
    });
    Ok(counted.collect())
}

/// More types and more slots of one than any machine has are a slip of the finger.
const MAX_TYPES: u32 = 10_000;
const MAX_SLOTS: u32 = 100_000;

/// What a knob asks for, but no more than so many, which is said.
fn at_most(knobs: &Knobs<'_>, knob: &str, asked: i64, limit: u32) -> u32 {
    let asked = asked.max(0);
    if asked > i64::from(limit) {
        knobs.warn(format!("{knob} = {asked}: only the first {limit} count here; a startd has no limit"));
    }
    u32::try_from(asked).unwrap_or(limit).min(limit)
}

/// The slots that a configuration asks for.
#[derive(Debug)]
pub struct SlotsAskedFor {
    /// Of each type its number, how many of it, and what their names begin with.
    pub types: Vec<(u32, u32, String)>,
    /// What is wrong with what is asked for.
    pub warnings: Vec<String>,
}

/// The slots that a configuration asks for on a machine with so many processors.
///
/// # Errors
/// NUM_SLOTS is no number, with which no startd starts.
pub fn slots_asked_for(view: View<'_>, cpus: i64) -> Result<SlotsAskedFor, ConfigureError> {
    let warnings = RefCell::default();
    let knobs = Knobs::new(view, &warnings, Quirks::None);
    let counts = counts(&knobs, cpus)?;
    let types = counts.into_iter().map(|(id, count)| (id, count, prefix(&knobs, id))).collect();
    Ok(SlotsAskedFor { types, warnings: warnings.into_inner() })
}

/// What the names of slots of a type begin with.
fn prefix(knobs: &Knobs<'_>, id: u32) -> String {
    let prefix = knobs.string(&format!("SLOT_TYPE_{id}_NAME_PREFIX"));
    prefix.or_else(|| knobs.string("STARTD_RESOURCE_PREFIX")).unwrap_or_else(|| "slot".into())
}

fn partitionable(knobs: &Knobs<'_>, id: u32) -> bool {
    let knob = format!("SLOT_TYPE_{id}_PARTITIONABLE");
    if id != 0 || knobs.text(&knob).is_some() || !knobs.is_set("NUM_SLOTS") {
        return knobs.boolean(&knob, id == 0);
    }
    // By the manual NUM_SLOTS is how to have static slots in any version.
    let quirk = Quirk::NumSlotsPartitionable;
    let is_reference = knobs.has(quirk);
    if !is_reference {
        knobs.warn(format!(
            "NUM_SLOTS makes static slots, as the manual says; {}; SLOT_TYPE_0_PARTITIONABLE says it for both",
            quirk.told()
        ));
    }
    is_reference
}

/// Whether slots of a type are of the second copy of the machine.
fn backfill(knobs: &Knobs<'_>, id: u32) -> bool {
    knobs.boolean(&format!("SLOT_TYPE_{id}_BACKFILL"), false)
}

fn shares(knobs: &Knobs<'_>, id: u32, tags: &[String]) -> Result<Shares, ConfigureError> {
    let knob = format!("SLOT_TYPE_{id}");
    let text = knobs.string(&knob).unwrap_or_default();
    Shares::parse(&text, tags, knobs.quirks()).map_err(|error| {
        let line = text.replace('\n', " ");
        let width = error.span.len().max(1);
        let caret = format!("{}{}", " ".repeat(text[..error.span.start].chars().count()), "^".repeat(width));
        ConfigureError::Knob {
            name: knob.clone(),
            problem: error.to_string(),
            origin: knobs.origin(&knob),
            excerpt: Some(format!("{line}\n{caret}")),
        }
    })
}

fn failure_mode(knobs: &Knobs<'_>) -> FailureMode {
    match knobs.string("SLOT_CONFIG_FAILURE_MODE").unwrap_or_default().to_ascii_uppercase().as_str() {
        "ABORT" => FailureMode::Abort,
        "CLEAR" => FailureMode::Clear,
        _ => FailureMode::Continue,
    }
}
