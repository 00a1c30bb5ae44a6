//! Conversion of the whole configuration to settings.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::machine_attributes::{self, HostMeasurements};
use super::machine_resources::MachineTotals;
use super::parameters::{ConfigureError, HookWarning, ParameterProblems, SlotParameters};
use super::{
    cron_jobs, hook_paths, machine_resources, plan_slots, resource_limits, slot_attributes, slot_policy,
    suspicious_values,
};
use crate::layout::{SlotAllocation, SlotVolumes, Volume};
use crate::settings::{
    BackfillSettings, CronSettings, DaemonShutdownExpressions, ExitLimits, ImageCacheSettings, PowerSettings,
    SlotHookPaths, SlotKind, SlotPlan, StartdSettings,
};
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::{NetworkAdapter, World};
use htc_classad::references;
use htc_classad::{AttrName, ClassAd, Expr, Value};
use htc_config::Config;

/// Settings, and warnings about the configuration.
#[derive(Clone, Debug)]
pub struct SettingsWithWarnings {
    /// Initial settings of the execution point.
    pub settings: StartdSettings,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// Warnings about hooks; `warnings` contains them too.
    pub hook_warnings: Vec<HookWarning>,
}

/// Attributes that are derived from CpuBusy.
const CPU_BUSY_ATTRIBUTES: [&str; 2] = ["CpuBusyTime", "CpuIsBusy"];

/// Attributes that STARTD_HEALTH_EXPRS publishes.
const HEALTH_ATTRIBUTES: [&str; 3] = ["HealthExprs", "HealthFactor", "Healthy"];

/// Maximum number of dynamic slots of a partitionable slot that may have their own hook keyword (`SLOT1_7_JOB_HOOK_KEYWORD`).
const MAX_CHILD_KEYWORDS: u32 = 64;

/// Builds the settings from a configuration.
///
/// # Errors
/// Fails if the value of a parameter prevents slots from being created, or if slots do not fit and
/// SLOT_CONFIG_FAILURE_MODE is ABORT.
pub fn configure(
    config: &Config,
    world: &dyn World,
    host_measurements: &HostMeasurements,
    quirks: QuirkMode,
    ends: ExitLimits,
) -> Result<SettingsWithWarnings, ConfigureError> {
    let problems = RefCell::default();
    let global = SlotParameters::new(config.view(world), &problems, quirks);
    let names: Vec<String> = global.view().names().map(|name| name.to_string()).collect();
    let totals = machine_resources::read_totals(&global, &names, host_measurements)?;
    let tags: Vec<String> = totals.amounts.custom.iter().map(|custom| custom.tag.clone()).collect();
    let volumes = slot_volumes(&global, host_measurements, &totals);
    let planned = plan_slots::plan_slots(&global, &totals.amounts, &volumes)?;

    let common = common_machine_ad(&global, world, host_measurements, &totals, &tags)?;
    let host = common.string("Machine").map(ToString::to_string).unwrap_or_default();
    let host = daemon_name(global.string("STARTD_NAME"), host, &world.machine().host);
    let maker = SlotPlanBuilder {
        config,
        world,
        quirks,
        problems: &problems,
        tags: &tags,
        common: &common,
        host: &host,
    };
    let mut slots = Vec::new();
    for (number, planned) in (1..).zip(planned) {
        slots.push(maker.build_slot_plan(number, planned)?);
    }
    let mut daemon_ad = common.clone();
    slot_attributes::publish_slot_attributes(&global, &global, "", &mut daemon_ad);
    daemon_ad.set("Name", host.as_str());
    let cron = cron_jobs::read_cron_jobs(&global, daemon_ad);
    let mut common_dynamic = ClassAd::new();
    machine_attributes::publish_awake_attributes(host_measurements.adapter.as_ref(), &mut common_dynamic);
    let power = power_settings(&global, &slots, host_measurements, &ends);
    power.publish(&mut common_dynamic);
    let backfill = backfill_settings(&global);
    if backfill.is_some() {
        suspicious_values::check_backfill(&global, &slots);
    }
    let cpu_busy = reads_cpu_busy(&global, &slots);
    let made =
        PartialSettings { publishes_cpu_busy: cpu_busy, slots, cron, common_dynamic, power, backfill, tags };
    let settings = complete_settings(&global, world, host_measurements, &totals, made, ends);
    let mut problems = problems.into_inner();
    let hook_warnings = std::mem::take(&mut problems.hook_warnings);
    Ok(SettingsWithWarnings { settings, warnings: problems.into_warnings()?, hook_warnings })
}

/// Settings that are built before the parameters of the daemon itself are read.
struct PartialSettings {
    publishes_cpu_busy: bool,
    slots: Vec<SlotPlan>,
    cron: CronSettings,
    common_dynamic: ClassAd,
    power: PowerSettings,
    backfill: Option<BackfillSettings>,
    tags: Vec<String>,
}

/// Completes the settings with the parameters of the daemon itself.
fn complete_settings(
    global: &SlotParameters<'_>,
    world: &dyn World,
    host_measurements: &HostMeasurements,
    totals: &MachineTotals,
    made: PartialSettings,
    limits: ExitLimits,
) -> StartdSettings {
    let seconds = |name: &str, default: i64| {
        Duration::from_secs(u64::try_from(global.int(name, default).max(0)).unwrap_or(0))
    };
    let attributes = |lists: &[&str]| -> Vec<AttrName> {
        lists.iter().flat_map(|list| global.words(list)).map(|name| AttrName::from(name.as_str())).collect()
    };
    StartdSettings {
        publishes_cpu_busy: made.publishes_cpu_busy,
        slots: made.slots,
        address: host_measurements.address.as_str().into(),
        polling_interval: seconds("POLLING_INTERVAL", 5).max(Duration::from_secs(1)),
        update_interval: seconds("UPDATE_INTERVAL", 300).max(Duration::from_secs(1)),
        match_timeout: seconds("MATCH_TIMEOUT", 120),
        killing_timeout: seconds("KILLING_TIMEOUT", 30),
        graceful_timeout: seconds("SHUTDOWN_GRACEFUL_TIMEOUT", 1800),
        pipe_buffer_max: usize::try_from(global.int("PIPE_BUFFER_MAX", 10_240).max(1)).unwrap_or(10_240),
        draining_activation_delay: global.int("MAX_DRAINING_ACTIVATION_DELAY", 20),
        drain_start: global.expr_or_warn("DEFAULT_DRAINING_START_EXPR"),
        several_cpus: totals.amounts.cpus > 1.0,
        job_attributes: attributes(&["STARTD_JOB_ATTRS", "STARTD_JOB_EXPRS", "SYSTEM_STARTD_JOB_ATTRS"]),
        latches: attributes(&["STARTD_LATCH_EXPRS"]),
        slot_attributes: attributes(&["STARTD_SLOT_ATTRS", "STARTD_SLOT_EXPRS", "SYSTEM_STARTD_SLOT_ATTRS"]),
        slot_attributes_evaluated: global.boolean("STARTD_EVAL_SLOT_ATTRS", false),
        publishes_rollup: global.boolean("ADVERTISE_PSLOT_ROLLUP_INFORMATION", true),
        rollup_attributes: attributes(&["STARTD_PARTITIONABLE_SLOT_ATTRS"]),
        keyboard_slots: u32::try_from(global.int("SLOTS_CONNECTED_TO_KEYBOARD", 0)).unwrap_or(0),
        console_slots: u32::try_from(global.int("SLOTS_CONNECTED_TO_CONSOLE", 0)).unwrap_or(0),
        idle_boost: global.int("DISCONNECTED_KEYBOARD_IDLE_BOOST", 1200),
        offline: machine_resources::read_offline_devices(global, &totals.amounts),
        resource_tags: made.tags,
        common_dynamic: made.common_dynamic,
        power: made.power,
        cron: made.cron,
        benchmarks: cron_jobs::read_benchmarks(global, world),
        image_cache: image_cache_settings(global),
        backfill: made.backfill,
        daemon_shutdown: daemon_shutdown_expressions(global),
        noclaim_shutdown: Some(global.int("STARTD_NOCLAIM_SHUTDOWN", 0)).filter(|limit| *limit > 0),
        claim_lease: global
            .int("ALIVE_INTERVAL", 300)
            .saturating_mul(global.int("MAX_CLAIM_ALIVES_MISSED", 6))
            .max(1),
        quirks: global.quirks(),
        limits,
    }
}

/// Returns the attributes that the ads of all slots have in common.
fn common_machine_ad(
    global: &SlotParameters<'_>,
    world: &dyn World,
    host_measurements: &HostMeasurements,
    totals: &machine_resources::MachineTotals,
    tags: &[String],
) -> Result<ClassAd, ConfigureError> {
    let mut common = ClassAd::new();
    machine_attributes::publish_machine_attributes(global, world, host_measurements, &mut common);
    common.set("TotalCpus", totals.amounts.cpus);
    common.set("TotalMemory", totals.amounts.memory);
    common.set("TotalDisk", totals.amounts.disk);
    let resources = ["Cpus", "Memory", "Disk", "Swap"].into_iter().chain(tags.iter().map(String::as_str));
    common.set("MachineResources", resources.collect::<Vec<_>>().join(" "));
    common.update(&totals.published);
    if global.int_if_set("DISK")?.is_some() {
        // If DISK is set, all slots share one volume, wherever EXECUTE is located (MachAttributes).
        common.set("DetectedDisk", totals.amounts.disk);
        common.set("ExecuteVolume", "<from-config>");
    }
    Ok(common)
}

fn power_settings(
    global: &SlotParameters<'_>,
    slots: &[SlotPlan],
    host_measurements: &HostMeasurements,
    ends: &ExitLimits,
) -> PowerSettings {
    let seconds = global.non_negative_int("HIBERNATE_CHECK_INTERVAL", 0);
    suspicious_values::check_hibernate(global, slots, seconds > 0);
    PowerSettings {
        interval: Some(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs),
        can_be_woken: host_measurements.adapter.as_ref().is_some_and(NetworkAdapter::can_wake_on_lan),
        sleeps_if_unwakeable: global.boolean("HIBERNATION_OVERRIDE_WOL", false),
        allowed: ends.allow_hibernate,
        states: host_measurements.sleep_support.clone(),
    }
}

/// True if a policy refers to CpuBusyTime or CpuIsBusy. 25.14 publishes neither.
fn reads_cpu_busy(global: &SlotParameters<'_>, slots: &[SlotPlan]) -> bool {
    let is_busy =
        |name: &AttrName| CPU_BUSY_ATTRIBUTES.iter().any(|busy| name.to_string().eq_ignore_ascii_case(busy));
    let reads = |slot: &SlotPlan| {
        slot.config
            .sorted()
            .iter()
            .any(|(_, expr)| references::mentioned_attributes(expr).iter().any(&is_busy))
    };
    // A latch of CpuBusy publishes CpuBusyTime itself, as the time of the last change.
    let is_latched =
        global.words("STARTD_LATCH_EXPRS").iter().any(|name| name.eq_ignore_ascii_case("CpuBusy"));
    if is_latched || !slots.iter().any(reads) {
        return false;
    }
    let quirk = Quirk::CpuBusyTimeMissing;
    let publishes = !global.reproduces(quirk);
    if publishes {
        global.warn(format!(
            "CpuBusyTime and CpuIsBusy are published because the policy reads them; {}",
            quirk.description()
        ));
    }
    publishes
}

/// Returns the volumes whose disk space is divided among slots: a volume of the size that DISK sets, or those of the execute
/// directories.
fn slot_volumes(
    global: &SlotParameters<'_>,
    host_measurements: &HostMeasurements,
    totals: &MachineTotals,
) -> SlotVolumes {
    let shared = Volume {
        id: host_measurements.volume.clone(),
        free: totals.amounts.disk,
        total: host_measurements.disk_total,
        execute_problem: host_measurements.execute_problem.clone(),
    };
    let is_given = global.int_if_set("DISK").ok().flatten().is_some();
    let reserved = global.int("RESERVED_DISK", 0).saturating_mul(1024);
    let own = host_measurements.slot_volumes.iter().map(|(number, volume)| {
        let missing = volume.execute_problem.clone();
        let volume = match is_given || volume.id == shared.id {
            // Slots with the same volume share its free space.
            true => Volume { execute_problem: missing, ..shared.clone() },
            false => Volume { free: (volume.free - reserved).max(0), ..volume.clone() },
        };
        (*number, volume)
    });
    SlotVolumes { slot_volumes: own.collect(), shared }
}

/// Returns DAEMON_SHUTDOWN and DAEMON_SHUTDOWN_FAST: the parameters, or else the attributes with these names
/// (`DaemonCore::evalExpr`).
fn daemon_shutdown_expressions(global: &SlotParameters<'_>) -> DaemonShutdownExpressions {
    DaemonShutdownExpressions {
        graceful: global.expr_or_warn("DAEMON_SHUTDOWN").or_else(|| global.expr_or_warn("DaemonShutdown")),
        fast: global
            .expr_or_warn("DAEMON_SHUTDOWN_FAST")
            .or_else(|| global.expr_or_warn("DaemonShutdownFast")),
    }
}

/// Returns when docker is asked for its image sizes. With a negative interval, docker is asked at each update
/// (`compute_for_update`).
fn image_cache_settings(global: &SlotParameters<'_>) -> ImageCacheSettings {
    let update = global.int("UPDATE_INTERVAL", 300).max(1);
    let seconds = match global.int("DOCKER_CACHE_ADVERTISE_INTERVAL", 1200) {
        ..0 => update,
        seconds => seconds,
    };
    let interval = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
    ImageCacheSettings { docker: global.string("DOCKER").unwrap_or_default().into(), interval }
}

/// Returns the name of the startd (`build_valid_daemon_name`). The host is appended to a name that does not contain `@` and is
/// not the name of this host.
fn daemon_name(name: Option<String>, full_host: String, host: &str) -> String {
    match name {
        Some(name) if name.contains('@') => name,
        Some(name) if !name.eq_ignore_ascii_case(&full_host) && !name.eq_ignore_ascii_case(host) => {
            format!("{name}@{full_host}")
        }
        _ => full_host,
    }
}

/// Returns the settings of ENABLE_BACKFILL and BACKFILL_SYSTEM (`ResMgr::backfillMgrConfig`), or `None` if backfill is disabled.
fn backfill_settings(global: &SlotParameters<'_>) -> Option<BackfillSettings> {
    if !global.boolean("ENABLE_BACKFILL", false) {
        return None;
    }
    match global.string("BACKFILL_SYSTEM") {
        Some(system) if system.eq_ignore_ascii_case("BOINC") => {
            // `BOINC_BackfillMgr::reconfig` requires these parameters, each with two names.
            let needed = [["Executable", "Cmd"], ["InitialDir", "Iwd"], ["Universe", "JobUniverse"]];
            let is_missing =
                |names: &&[&str; 2]| names.iter().all(|name| global.text(&format!("BOINC_{name}")).is_none());
            if let Some([name, _]) = needed.iter().find(is_missing) {
                global.warn(format!(
                    "ENABLE_BACKFILL is true, but BOINC_{name} is not set: there is no backfill, as in a pool"
                ));
                return None;
            }
            Some(BackfillSettings { dead_client: global.quirks().decide(Quirk::BackfillDead) })
        }
        Some(system) => {
            global.warn(format!(
                "BACKFILL_SYSTEM = {system} is unknown: only BOINC is supported; there is no backfill"
            ));
            None
        }
        None => {
            global.warn("ENABLE_BACKFILL is true, but BACKFILL_SYSTEM is not set: there is no backfill");
            None
        }
    }
}

/// Inputs for building slots that are the same for all slots.
struct SlotPlanBuilder<'a> {
    config: &'a Config,
    world: &'a dyn World,
    quirks: QuirkMode,
    problems: &'a RefCell<ParameterProblems>,
    tags: &'a [String],
    common: &'a ClassAd,
    host: &'a str,
}

impl SlotPlanBuilder<'_> {
    /// Returns the attributes of a slot that never change.
    fn static_attributes(&self, id: &str, allocation: &SlotAllocation, disk: i64) -> ClassAd {
        let mut statics = self.common.clone();
        statics.set("Name", format!("{id}@{}", self.host));
        allocation.amounts.publish_static(&mut statics);
        statics.set("TotalDisk", disk);
        if statics.string("ExecuteVolume").is_some_and(|volume| volume != "<from-config>") {
            statics.set("DetectedDisk", allocation.volume.total);
            statics.set("ExecuteVolume", allocation.volume.id.as_str());
        }
        statics
    }

    fn build_slot_plan(
        &self,
        number: u32,
        planned: plan_slots::PlannedSlot,
    ) -> Result<SlotPlan, ConfigureError> {
        let plan_slots::PlannedSlot {
            allocation: laid_out,
            kind,
            name_prefix: prefix,
            provisioned_disk: provisioned,
        } = planned;
        let type_id = laid_out.type_id;
        let id = format!("{prefix}{number}");
        let view = self.config.view_for_slot((type_id > 0).then_some(type_id), self.world);
        let parameters = SlotParameters::new(view, self.problems, self.quirks);
        let global = SlotParameters::new(self.config.view(self.world), self.problems, self.quirks);

        let consumption = kind == SlotKind::Partitionable && parameters.boolean("CONSUMPTION_POLICY", false);
        let mut statics = self.static_attributes(&id, &laid_out, provisioned);
        if consumption {
            resource_limits::publish_consumption(&parameters, self.tags, &mut statics)?;
        }
        slot_attributes::publish_slot_attributes(&parameters, &global, &id, &mut statics);
        publish_slot_kind(&laid_out, number, kind, &mut statics);
        let mut internal = ClassAd::new();
        slot_policy::publish_policy(&parameters, &global, &mut internal)?;
        let start = slot_policy::start_expression(&parameters)?;
        let network = self.common.literal("HasJobNetworking") != Some(Value::Bool(false));
        let limited = resource_limits::ResourceLimitInputs {
            tags: self.tags,
            has_consumption_policy: consumption,
            has_network: network,
        };
        let requirements =
            resource_limits::build_requirements(&parameters, kind, &start, limited, &mut internal)?;
        for name in HEALTH_ATTRIBUTES {
            if let Some(expr) = internal.get(name) {
                statics.insert(name, expr);
            }
        }
        let child_requirements = match kind {
            SlotKind::Partitionable => {
                let child = SlotKind::Dynamic;
                resource_limits::build_requirements(&parameters, child, &start, limited, &mut internal)?
            }
            SlotKind::Static | SlotKind::Dynamic => requirements.clone(),
        };
        internal.update(&statics);
        internal.insert("Requirements", requirements.expr.clone());
        if let Some(limits) = &requirements.limits {
            internal.insert("WithinResourceLimits", limits.clone());
        }

        let (child_hooks, child_default) = match kind {
            SlotKind::Partitionable => child_hook_paths(&parameters, &id, self.world),
            SlotKind::Static | SlotKind::Dynamic => (Vec::new(), None),
        };
        let modify =
            |name: &str| -> Option<Expr> { parameters.expr_or_warn(&format!("MODIFY_REQUEST_EXPR_{name}")) };
        let claims = parameters.int("NUM_CLAIMS", laid_out.amounts.cpus.ceil() as i64);
        Ok(SlotPlan {
            has_consumption_policy: consumption,
            num_claims: claims,
            number,
            type_id,
            kind,
            amounts: laid_out.amounts,
            statics: Arc::new(statics),
            config: Arc::new(internal),
            without_requirements: None,
            requirements,
            child_requirements,
            hooks: hook_paths::slot_hook_paths(&parameters, self.world, &id, None),
            child_hooks,
            default_child_hooks: child_default,
            execute: execute_directory(&parameters, &id),
            broken: laid_out.broken,
            modify_request: [modify("REQUESTCPUS"), modify("REQUESTDISK"), modify("REQUESTMEMORY")],
            must_modify: parameters.boolean("MUST_MODIFY_REQUEST_EXPRS", false),
            id,
        })
    }
}

/// Returns the execute directory of the slot, or else that of the execution point.
fn execute_directory(parameters: &SlotParameters<'_>, id: &str) -> Option<std::path::PathBuf> {
    let own = parameters.string(&format!("{id}_EXECUTE"));
    own.or_else(|| parameters.string("EXECUTE")).map(std::path::PathBuf::from)
}

/// Returns the hooks of the dynamic slots that have their own keyword, and the hooks of all other dynamic slots.
fn child_hook_paths(
    parameters: &SlotParameters<'_>,
    id: &str,
    world: &dyn World,
) -> (Vec<(u32, SlotHookPaths)>, Option<SlotHookPaths>) {
    let hooks_of = |child: &str| hook_paths::slot_hook_paths(parameters, world, child, Some(id));
    let child = |sub: u32| {
        let child = format!("{id}_{sub}");
        parameters.string(&format!("{child}_JOB_HOOK_KEYWORD"))?;
        Some((sub, hooks_of(&child)?))
    };
    let own = (1..=MAX_CHILD_KEYWORDS).filter_map(child).collect();
    (own, hooks_of(&format!("{id}_{}", MAX_CHILD_KEYWORDS + 1)))
}

/// Publishes the attributes that give the kind of the slot.
fn publish_slot_kind(laid_out: &SlotAllocation, number: u32, kind: SlotKind, ad: &mut ClassAd) {
    ad.set("SlotID", i64::from(number));
    ad.set("SlotTypeID", i64::from(laid_out.type_id));
    ad.set("SlotType", kind.name());
    if kind == SlotKind::Partitionable {
        ad.set("PartitionableSlot", true);
    }
    if laid_out.amounts.is_backfill {
        ad.set("BackfillSlot", true);
    }
    if let Some(broken) = &laid_out.broken {
        ad.set("SlotBrokenCode", i64::from(broken.code));
        ad.set("SlotBrokenReason", broken.reason.as_str());
    }
}
