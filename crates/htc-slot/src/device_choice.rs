//! Choice of devices for a job: free devices of a slot for which the job's `Require<Tag>` is true.

use bstr::ByteSlice;

use super::devices::{DeviceConstraint, Devices};
use super::evaluated_condition::{EvaluatedCondition, attribute_values, shorten};
use super::execution_point_state::ExecutionPointState;
use super::resources::ResourceAmounts;
use super::slot::Slot;
use super::unfit_reason::UnfitReason;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::world::{FrozenClockWorld, World};
use htc_classad::{ClassAd, Context, Value};

/// Maximum number of unfit devices whose properties are shown.
const MAX_SHOWN_DEVICES: usize = 4;

/// Checks that a slot that is claimed as a whole has the devices that a job requires.
pub(super) fn check_devices(
    slot: &Slot,
    core: &ExecutionPointState,
    job: &ClassAd,
) -> Result<(), UnfitReason> {
    if slot.amounts.custom.iter().all(|custom| custom.machine_devices.is_none()) {
        return Ok(());
    }
    let context = Context::new(&*core.world).my(job).target(&slot.ads.live);
    let mut wanted = slot.amounts.clone();
    for custom in &mut wanted.custom {
        custom.quantity = context.real(format!("Request{}", custom.tag)).unwrap_or(0.0).max(0.0);
    }
    choose_devices(&mut wanted, slot, core, job)
}

/// Checks the devices of a slot that is claimed as a whole. 25.14 does not check them (quirk `require-ignored-static`).
pub(super) fn check_undivided_slot_devices(
    has: impl FnOnce() -> Result<(), UnfitReason>,
    quirks: QuirkMode,
) -> Result<(), (UnfitReason, QuirkDecision)> {
    let decision = quirks.decide(Quirk::RequireIgnoredStatic);
    match decision.as_reference {
        true => Ok(()),
        false => has().map_err(|unfit| (unfit, decision)),
    }
}

/// Chooses devices of `parent` for the job, and assigns them in `amounts`.
pub(super) fn choose_devices(
    amounts: &mut ResourceAmounts,
    parent: &Slot,
    core: &ExecutionPointState,
    job: &ClassAd,
) -> Result<(), UnfitReason> {
    let world = FrozenClockWorld { world: &*core.world, now: core.now };
    for custom in amounts.custom.iter_mut().filter(|custom| custom.quantity > 0.0) {
        let Some(devices) = &custom.machine_devices else { continue };
        let (require, wanted) = required_devices(&custom.tag, job, &world);
        let available = parent.amounts.custom.iter().find(|available| available.tag == custom.tag);
        let free = available
            .map(|available| available.available_devices(&core.resources.offline_devices))
            .unwrap_or_default();
        let free: Vec<usize> =
            free.into_iter().filter(|index| !parent.is_device_contested(&custom.tag, *index)).collect();
        let free = parent.amounts.allocation_order(free, devices);
        let fits = |index: &usize| devices.is_wanted(*index, &wanted, &world, core.quirks());
        let (mut fit, other): (Vec<usize>, Vec<usize>) = free.into_iter().partition(fits);
        let count = custom.quantity as usize;
        fit.truncate(count);
        fit.sort_unstable();
        custom.assigned = fit;
        if custom.assigned.len() < count {
            let (tag, found) = (&custom.tag, custom.assigned.len());
            let reason = match wanted {
                DeviceConstraint::None => format!("{found} of {count} {tag} are free"),
                _ => too_few_devices_text(tag, found, count),
            };
            let clauses = unmet_device_condition(&require, &wanted, devices.as_ref(), &other[..], &world)
                .into_iter()
                .collect();
            return Err(UnfitReason { reason, untrue_conditions: clauses });
        }
    }
    Ok(())
}

/// Returns the name and value of the job attribute that constrains the devices of this resource.
fn required_devices(tag: &str, job: &ClassAd, world: &dyn World) -> (String, DeviceConstraint) {
    let require = match tag {
        "GPUs" => "RequireGPUs".to_owned(),
        tag => format!("Require{tag}"),
    };
    let wanted = job.get(require.as_str());
    let wanted = wanted.map_or(DeviceConstraint::None, |expr| DeviceConstraint::from_job(&expr, job, world));
    (require, wanted)
}

fn too_few_devices_text(tag: &str, found: usize, count: usize) -> String {
    format!("Require{tag} is true for {found} of the free {tag}, and the job asks for {count}")
}

/// Checks, with the slot ad alone, that a slot has the devices that a job requires. Requirements have already checked
/// their number.
pub(super) fn check_devices_by_ad(
    slot: &ClassAd,
    job: &ClassAd,
    world: &dyn World,
    quirks: QuirkMode,
) -> Result<(), UnfitReason> {
    let resources = slot.string("MachineResources").unwrap_or_else(|| "GPUs".into());
    for tag in resources.to_str_lossy().split_whitespace() {
        let context = Context::new(world).my(job).target(slot);
        let count = context.real(format!("Request{tag}")).unwrap_or(0.0).max(0.0) as usize;
        let (require, wanted) = required_devices(tag, job, world);
        if count == 0 || wanted == DeviceConstraint::None {
            continue;
        }
        let Some(devices) = available_devices(tag, slot, world) else {
            let reason = format!(
                "{require} cannot be checked: the slot's ad has no Available{tag} with the properties of each"
            );
            return Err(reason.into());
        };
        let all = 0..devices.ids.len();
        let (fit, other): (Vec<usize>, Vec<usize>) =
            all.partition(|index| devices.is_wanted(*index, &wanted, world, quirks));
        if fit.len() < count {
            let clauses =
                unmet_device_condition(&require, &wanted, &devices, &other, world).into_iter().collect();
            return Err(UnfitReason {
                reason: too_few_devices_text(tag, fit.len(), count),
                untrue_conditions: clauses,
            });
        }
    }
    Ok(())
}

/// Returns the free devices in a slot ad: `Available<Tag>`, a list of ads.
fn available_devices(tag: &str, slot: &ClassAd, world: &dyn World) -> Option<Devices> {
    let context = Context::new(world).my(slot);
    let Value::List(list) = context.eval_attr(format!("Available{tag}")) else { return None };
    let mut devices = Devices::default();
    for item in list.items() {
        let Value::Ad(properties) = context.eval(item) else { return None };
        let id = properties.string("Id").map(|id| id.to_string())?;
        devices.properties.insert(id.clone(), properties.as_ref().clone());
        devices.ids.push(id);
    }
    Some(devices)
}

/// Returns the condition that devices do not meet, with their properties.
fn unmet_device_condition(
    require: &str,
    wanted: &DeviceConstraint,
    devices: &Devices,
    other: &[usize],
    world: &dyn World,
) -> Option<EvaluatedCondition> {
    let text = match wanted {
        DeviceConstraint::None => return None,
        DeviceConstraint::Index(number) => number.to_string(),
        DeviceConstraint::Expression(expr) => expr.unparse_old().to_string(),
    };
    let mut shown = Vec::new();
    for id in other.iter().take(MAX_SHOWN_DEVICES).filter_map(|index| devices.ids.get(*index)) {
        let values = match (wanted, devices.properties.get(id)) {
            (DeviceConstraint::Expression(expr), Some(ad)) => {
                attribute_values(&Context::new(world).my(ad), expr)
            }
            _ => Vec::new(),
        };
        shown.push(if values.is_empty() { id.clone() } else { format!("{id}: {}", values.join(", ")) });
    }
    if other.len() > MAX_SHOWN_DEVICES {
        shown.push(format!("and {} more", other.len() - MAX_SHOWN_DEVICES));
    }
    Some(EvaluatedCondition {
        attribute: require.to_owned(),
        text: shorten(&text),
        value: "false".to_owned(),
        seen: shown,
    })
}
