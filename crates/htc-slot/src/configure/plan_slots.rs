//! Slots of each type (`slot_builder.cpp` initTypes, countTypes).

use std::cell::RefCell;

use super::parameters::{ConfigureError, SlotParameters};
use crate::layout::{
    SlotAllocation, SlotConfigFailureMode, SlotType, SlotVolumes, bind_devices, lay_out_slots,
};
use crate::resources::ResourceAmounts;
use crate::settings::SlotKind;
use crate::slot_type_shares::SlotTypeShares;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_config::ConfigView;

/// Allocated slot, with settings of its slot type.
pub(super) struct PlannedSlot {
    pub allocation: SlotAllocation,
    pub kind: SlotKind,
    /// Prefix of the slot's name.
    pub name_prefix: String,
    /// Disk space in KiB that all slots of the slot's volume have together.
    pub provisioned_disk: i64,
}

/// Plans the slots of a machine with the resources `machine`, whose scratch directories are on `volumes`.
pub(super) fn plan_slots(
    parameters: &SlotParameters<'_>,
    machine: &ResourceAmounts,
    volumes: &SlotVolumes,
) -> Result<Vec<PlannedSlot>, ConfigureError> {
    let mode = read_failure_mode(parameters);
    let mut types = read_slot_types(parameters, machine, mode)?;
    if let (Some(reason), SlotConfigFailureMode::Abort) = (&volumes.shared.execute_problem, mode) {
        return Err(ConfigureError::Layout(reason.to_owned()));
    }
    // 25.14 makes no slots on a machine with negative resources or without a processor.
    if machine.cpus < 1.0 || machine.custom.iter().any(|custom| custom.quantity < 0.0) {
        types.clear();
    }
    let mut layout = lay_out_slots(machine, volumes, &types, mode).map_err(ConfigureError::Layout)?;
    let (world, quirks) = (parameters.world(), parameters.quirks());
    bind_devices(&mut layout, machine, &types, &|devices, index, wanted| {
        devices.is_wanted(index, wanted, world, quirks)
    });
    if mode == SlotConfigFailureMode::Abort
        && let Some(broken) = layout.slots.iter().find_map(|slot| slot.broken.as_ref())
    {
        return Err(ConfigureError::Layout(broken.reason.clone()));
    }
    layout.warnings.iter().for_each(|warning| parameters.warn(warning));
    let missing: Vec<(usize, &str)> = (1..)
        .zip(&layout.slots)
        .filter_map(|(number, slot)| Some((number, slot.volume.execute_problem.as_deref()?)))
        .collect();
    match missing.first() {
        Some((_, reason)) if missing.len() == layout.slots.len() => {
            parameters.warn(format!("no slot can be used: {reason}; create that directory"));
        }
        _ => missing.iter().for_each(|(number, reason)| {
            parameters.warn(format!("slot {number} cannot be used: {reason}; create that directory"));
        }),
    }
    let provisioned = layout.provisioned;
    Ok(layout
        .slots
        .into_iter()
        .map(|laid_out| {
            let id = laid_out.type_id;
            let kind =
                if is_partitionable(parameters, id) { SlotKind::Partitionable } else { SlotKind::Static };
            let provisioned = provisioned.get(&laid_out.volume.id).copied().unwrap_or(0);
            PlannedSlot {
                allocation: laid_out,
                kind,
                name_prefix: slot_name_prefix(parameters, id),
                provisioned_disk: provisioned,
            }
        })
        .collect())
}

/// Reads the slot types and the number of slots of each.
fn read_slot_types(
    parameters: &SlotParameters<'_>,
    machine: &ResourceAmounts,
    mode: SlotConfigFailureMode,
) -> Result<Vec<SlotType>, ConfigureError> {
    for parameter in ["SLOT_TYPE_0", "NUM_SLOTS_TYPE_0"] {
        if parameters.text(parameter).is_some() {
            let error = parameters
                .parameter_error(parameter, "type 0 means slots without a type and cannot be defined");
            match mode {
                SlotConfigFailureMode::Abort => return Err(error),
                _ => parameters.warn(format!("{error}; it is ignored")),
            }
        }
    }
    let tags: Vec<String> = machine.custom.iter().map(|custom| custom.tag.clone()).collect();
    let mut types = Vec::new();
    for (id, count) in read_slot_counts(parameters, machine.cpus as i64)? {
        let shares = if id == 0 { Ok(SlotTypeShares::default()) } else { read_shares(parameters, id, &tags) };
        match shares {
            Ok(shares) => {
                types.push(SlotType { id, shares, count, backfill: id != 0 && is_backfill(parameters, id) })
            }
            Err(error) if mode == SlotConfigFailureMode::Abort || mode == SlotConfigFailureMode::Clear => {
                return Err(error);
            }
            Err(error) if parameters.reproduces(Quirk::SlotTypeUnmade) => {
                parameters.warn(format!("{error}; there will be no slot of this type"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(types)
}

/// Reads the number of slots of each type. If no slot type is used, returns slots of type 0.
fn read_slot_counts(parameters: &SlotParameters<'_>, cpus: i64) -> Result<Vec<(u32, u32)>, ConfigureError> {
    let types = clamp_with_warning(
        parameters,
        "MAX_SLOT_TYPES",
        parameters.int("MAX_SLOT_TYPES", 10),
        MAX_SLOT_TYPES,
    );
    let mut counts: Vec<(u32, i64)> = Vec::new();
    for id in 1..=types {
        // A startd exits if the count is not a number, so no count is assumed in its place.
        let count = parameters.int_if_set(&format!("NUM_SLOTS_TYPE_{id}"))?.unwrap_or(0);
        if count != 0 {
            counts.push((id, count));
        }
    }
    if counts.is_empty() {
        let count = match parameters.int_if_set("NUM_SLOTS")? {
            Some(count) => count,
            None if is_partitionable(parameters, 0) => 1,
            None => cpus,
        };
        counts.push((0, count));
    }
    counts.retain(|(_, count)| *count > 0);
    let counted = counts.into_iter().map(|(id, count)| {
        let parameter = if id == 0 { "NUM_SLOTS".to_owned() } else { format!("NUM_SLOTS_TYPE_{id}") };
        (id, clamp_with_warning(parameters, &parameter, count, MAX_SLOTS))
    });
    Ok(counted.collect())
}

/// Upper limits that catch typing errors; no real machine has more slot types, or more slots of one type.
const MAX_SLOT_TYPES: u32 = 10_000;
const MAX_SLOTS: u32 = 100_000;

/// Returns `count`, the value of the parameter `parameter`, or `limit` with a warning if the value is larger.
fn clamp_with_warning(parameters: &SlotParameters<'_>, parameter: &str, count: i64, limit: u32) -> u32 {
    let count = count.max(0);
    if count > i64::from(limit) {
        parameters.warn(format!(
            "{parameter} = {count}: only the first {limit} are used here; a startd has no limit"
        ));
    }
    u32::try_from(count).unwrap_or(limit).min(limit)
}

/// Slots that a configuration requests on a machine.
#[derive(Debug)]
pub struct RequestedSlots {
    /// Slot types: number of the type, number of its slots, and prefix of their names.
    pub types: Vec<(u32, u32, String)>,
    /// Warnings about the requested slots.
    pub warnings: Vec<String>,
}

/// Returns the slots that a configuration requests on a machine with `cpus` processors.
///
/// # Errors
/// Fails if the count of a slot type is not a number. No startd starts with such a value.
pub fn requested_slots(view: ConfigView<'_>, cpus: i64) -> Result<RequestedSlots, ConfigureError> {
    let problems = RefCell::default();
    let parameters = SlotParameters::new(view, &problems, QuirkMode::Manual);
    let counts = read_slot_counts(&parameters, cpus)?;
    let types =
        counts.into_iter().map(|(id, count)| (id, count, slot_name_prefix(&parameters, id))).collect();
    Ok(RequestedSlots { types, warnings: problems.into_inner().into_warnings()? })
}

/// Returns the prefix of the names of a slot type's slots.
fn slot_name_prefix(parameters: &SlotParameters<'_>, id: u32) -> String {
    let prefix = parameters.string(&format!("SLOT_TYPE_{id}_NAME_PREFIX"));
    prefix.or_else(|| parameters.string("STARTD_RESOURCE_PREFIX")).unwrap_or_else(|| "slot".into())
}

fn is_partitionable(parameters: &SlotParameters<'_>, id: u32) -> bool {
    let parameter = format!("SLOT_TYPE_{id}_PARTITIONABLE");
    if id != 0 || parameters.text(&parameter).is_some() || !parameters.is_set("NUM_SLOTS") {
        return parameters.boolean(&parameter, id == 0);
    }
    // According to the manual, NUM_SLOTS makes static slots in every version.
    let quirk = Quirk::NumSlotsPartitionable;
    let is_reference = parameters.reproduces(quirk);
    if !is_reference {
        parameters.warn(format!(
            "NUM_SLOTS makes static slots, as in the manual; {}; set SLOT_TYPE_0_PARTITIONABLE to get the same slots from both",
            quirk.description()
        ));
    }
    is_reference
}

/// True if slots of this type are backfill slots.
fn is_backfill(parameters: &SlotParameters<'_>, id: u32) -> bool {
    parameters.boolean(&format!("SLOT_TYPE_{id}_BACKFILL"), false)
}

fn read_shares(
    parameters: &SlotParameters<'_>,
    id: u32,
    tags: &[String],
) -> Result<SlotTypeShares, ConfigureError> {
    let parameter = format!("SLOT_TYPE_{id}");
    let text = parameters.string(&parameter).unwrap_or_default();
    SlotTypeShares::parse(&text, tags, parameters.quirks()).map_err(|error| {
        let line = text.replace('\n', " ");
        let width = error.span.len().max(1);
        let caret = format!("{}{}", " ".repeat(text[..error.span.start].chars().count()), "^".repeat(width));
        ConfigureError::Parameter {
            name: parameter.clone(),
            problem: error.to_string(),
            origin: parameters.origin(&parameter),
            excerpt: Some(format!("{line}\n{caret}")),
        }
    })
}

fn read_failure_mode(parameters: &SlotParameters<'_>) -> SlotConfigFailureMode {
    match parameters.string("SLOT_CONFIG_FAILURE_MODE").unwrap_or_default().to_ascii_uppercase().as_str() {
        "ABORT" => SlotConfigFailureMode::Abort,
        "CLEAR" => SlotConfigFailureMode::Clear,
        _ => SlotConfigFailureMode::Continue,
    }
}
