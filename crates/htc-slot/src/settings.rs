//! Settings of the execution point, at its start and at each reconfiguration: plain data, which [`super::configure`] builds from
//! the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bstr::BString;

use super::resources::ResourceAmounts;
use super::sleep_state::SleepSupport;
use htc_base::quirks::{QuirkDecision, QuirkMode};
use htc_classad::references::AttrNames;
use htc_classad::{AttrName, ClassAd};
use htc_hook::cron_job::{AutoPublish, CronJob};

/// Configuration of the execution point.
#[derive(Clone, Debug)]
pub struct StartdSettings {
    /// The slots, in order of their numbers.
    pub slots: Vec<SlotPlan>,
    /// Address of the machine in claim ids.
    pub address: Arc<str>,
    /// POLLING_INTERVAL: time between policy evaluations while a slot is claimed.
    pub polling_interval: Duration,
    /// UPDATE_INTERVAL: time between policy evaluations, whether or not a slot is claimed.
    pub update_interval: Duration,
    /// MATCH_TIMEOUT: time for which a matched slot waits to be claimed.
    pub match_timeout: Duration,
    /// KILLING_TIMEOUT: time between SIGQUIT and SIGKILL for a starter.
    pub killing_timeout: Duration,
    /// SHUTDOWN_GRACEFUL_TIMEOUT: time after which a graceful shutdown becomes a fast one.
    pub graceful_timeout: Duration,
    /// PIPE_BUFFER_MAX: maximum output read from a hook, in bytes.
    pub pipe_buffer_max: usize,
    /// True if the machine has more than one processor; starters then get `-a <slot>`.
    pub several_cpus: bool,
    /// MAX_DRAINING_ACTIVATION_DELAY: age in seconds from which a drain ends an idle claim.
    pub draining_activation_delay: i64,
    /// DEFAULT_DRAINING_START_EXPR: START during a drain, if the drain request does not contain its own.
    pub drain_start: Option<htc_classad::Expr>,
    /// STARTD_JOB_ATTRS and the built-in attributes, which are copied from the job ad to the slot ad.
    pub job_attributes: Vec<AttrName>,
    /// STARTD_LATCH_EXPRS: attributes whose changes are recorded.
    pub latches: Vec<AttrName>,
    /// STARTD_SLOT_ATTRS: attributes of each slot that are copied to all slot ads.
    pub slot_attributes: Vec<AttrName>,
    /// STARTD_EVAL_SLOT_ATTRS: true if the copies are values, evaluated in the original slot ad.
    pub slot_attributes_evaluated: bool,
    /// ADVERTISE_PSLOT_ROLLUP_INFORMATION: true if a partitionable slot lists attributes of its dynamic slots.
    pub publishes_rollup: bool,
    /// STARTD_PARTITIONABLE_SLOT_ATTRS: attributes listed in addition to the built-in ones.
    pub rollup_attributes: Vec<AttrName>,
    /// True if slots publish CpuBusyTime and CpuIsBusy, because some expression refers to one of them.
    pub publishes_cpu_busy: bool,
    /// Value of SLOTS_CONNECTED_TO_KEYBOARD.
    pub keyboard_slots: u32,
    /// Value of SLOTS_CONNECTED_TO_CONSOLE.
    pub console_slots: u32,
    /// DISCONNECTED_KEYBOARD_IDLE_BOOST, in seconds.
    pub idle_boost: i64,
    /// Names of custom resources in order, as spelled in the configuration.
    pub resource_tags: Vec<String>,
    /// Ids of offline devices, by resource tag (`OFFLINE_MACHINE_RESOURCE_<Tag>`).
    pub offline: BTreeMap<String, BTreeSet<String>>,
    /// Sleep settings.
    pub power: PowerSettings,
    /// Attributes of offline resources (`Offline<Tag>`) and hibernation, which all slot ads have in common.
    pub common_dynamic: ClassAd,
    /// Cron job settings.
    pub cron: CronSettings,
    /// Benchmark settings.
    pub benchmarks: BenchmarkSettings,
    /// Settings that determine when docker is asked for the size of its cached job images.
    pub image_cache: ImageCacheSettings,
    /// Backfill settings, or `None` if unclaimed slots run no backfill client.
    pub backfill: Option<BackfillSettings>,
    /// DAEMON_SHUTDOWN and DAEMON_SHUTDOWN_FAST.
    pub daemon_shutdown: DaemonShutdownExpressions,
    /// STARTD_NOCLAIM_SHUTDOWN: seconds without a claimed slot after which the execution point shuts down, or `None`.
    pub noclaim_shutdown: Option<i64>,
    /// ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED: seconds without an alive message of the claimer after which an idle claim
    /// ends, unless the claim request has its own lease.
    pub claim_lease: i64,
    /// Behaviour to use where 25.14 and its manual differ.
    pub quirks: QuirkMode,
    /// Conditions for exiting without a request.
    pub limits: ExitLimits,
}

/// Cron job settings of the execution point.
#[derive(Clone, Debug, Default)]
pub struct CronSettings {
    /// The jobs in the order of STARTD_CRON_JOBLIST.
    pub jobs: Vec<CronJob>,
    /// STARTD_CRON_MAX_JOB_LOAD: maximum total load of all running jobs.
    pub max_load: f64,
    /// STARTD_CRON_AUTOPUBLISH: only affects updates of the collector.
    pub auto_publish: AutoPublish,
    /// ADVERTISE_CMR_UPTIME_SECONDS: true if ads that are sent contain the usage sums of resource monitors.
    pub keeps_seconds: bool,
    /// Daemon ad without its changing attributes; CONDITION of a job is evaluated in it.
    pub daemon_ad: Arc<ClassAd>,
}

/// Settings that determine when docker is asked for the size of its cached job images (DockerCachedImageSizeMb).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageCacheSettings {
    /// Value of DOCKER; empty if not set.
    pub docker: BString,
    /// DOCKER_CACHE_ADVERTISE_INTERVAL, or `None` if docker is never asked.
    pub interval: Option<Duration>,
}

/// Benchmark settings.
#[derive(Clone, Debug, Default)]
pub struct BenchmarkSettings {
    /// Benchmarks in the order of BENCHMARKS_JOBLIST; those whose program is missing are left out.
    pub jobs: Vec<CronJob>,
    /// BENCHMARKS_MAX_JOB_LOAD: maximum total load of all running benchmarks.
    pub max_load: f64,
}

/// Expressions that shut the daemon down once they are true in any slot ad.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonShutdownExpressions {
    /// DAEMON_SHUTDOWN: jobs retire first.
    pub graceful: Option<htc_classad::Expr>,
    /// DAEMON_SHUTDOWN_FAST: jobs are killed.
    pub fast: Option<htc_classad::Expr>,
}

impl DaemonShutdownExpressions {
    /// True if neither expression is set.
    pub fn is_unset(&self) -> bool {
        self.graceful.is_none() && self.fast.is_none()
    }
}

/// Sleep settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerSettings {
    /// HIBERNATE_CHECK_INTERVAL, or `None` if HIBERNATE is never checked.
    pub interval: Option<Duration>,
    /// True if a network packet can wake the machine (IsWakeAble).
    pub can_be_woken: bool,
    /// HIBERNATION_OVERRIDE_WOL: true if the machine sleeps even if a network packet cannot wake it.
    pub sleeps_if_unwakeable: bool,
    /// True if the machine may really sleep (`--allow-hibernate`).
    pub allowed: bool,
    /// Sleep states that the machine supports.
    pub states: SleepSupport,
}

impl PowerSettings {
    /// Publishes the hibernation attributes of a machine that is awake.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        if self.states.supported.is_empty() {
            return;
        }
        let names: Vec<&str> = self.states.supported.iter().map(|state| state.name()).collect();
        ad.set("HibernationSupportedStates", names.join(","));
        ad.set("CanHibernate", true);
        if let Some(method) = &self.states.method {
            ad.set("HibernationMethod", method.as_str());
        }
    }
}

/// Backfill settings: ENABLE_BACKFILL with BACKFILL_SYSTEM = BOINC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillSettings {
    /// Decision for the quirk `backfill-dead`: the client can never run.
    pub dead_client: QuirkDecision,
}

impl StartdSettings {
    /// True if the machine may sleep or shut down by itself. The polls that decide this must read all slots.
    pub fn can_stop_by_itself(&self) -> bool {
        self.power.interval.is_some() || self.noclaim_shutdown.is_some() || !self.daemon_shutdown.is_unset()
    }
}

/// Conditions for exiting without a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitLimits {
    /// True to stop fetching in a slot once there is no work for it, and to exit when there is no work for any slot.
    pub exit_when_no_work: bool,
    /// Number of jobs after which fetching stops, or `None`. The execution point exits when these jobs have finished.
    pub max_jobs: Option<u64>,
    /// Time without a job in any slot after which to exit, or `None`.
    pub idle_exit: Option<Duration>,
    /// True if the machine may really sleep when HIBERNATE asks for it.
    pub allow_hibernate: bool,
}

/// Kind of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotKind {
    /// Slot of fixed size, which runs one job.
    Static,
    /// Pool of resources for dynamic slots.
    Partitionable,
    /// Slot that is carved out of a partitionable slot for a job.
    Dynamic,
}

impl StartdSettings {
    /// Shares one configuration ad between slots that differ only in their names, unless `referenced` contains the
    /// attributes with these names. Sharing keeps the working set small if there are thousands of slots.
    pub fn share_slot_configurations(&mut self, referenced: &AttrNames) {
        let names = ["Name", "SlotID"].map(AttrName::from);
        let own: Vec<AttrName> = names.into_iter().filter(|name| !referenced.contains(name)).collect();
        let mut known: Vec<(Arc<ClassAd>, Arc<ClassAd>)> = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| slot.kind == SlotKind::Static) {
            let mut config = (*slot.config).clone();
            own.iter().for_each(|name| drop(config.remove(name)));
            let found = known.iter().rev().find(|(it, _)| **it == config).cloned();
            let (shared, without) = found.unwrap_or_else(|| {
                let without = Arc::new(config_without_requirements(&config));
                known.push((Arc::new(config), without));
                known[known.len() - 1].clone()
            });
            (slot.config, slot.without_requirements) = (shared, Some(without));
        }
    }
}

/// Returns the slot's configuration ad without Requirements, as it is before the slot is first available (`reqexp_set_state`).
pub(super) fn config_without_requirements(config: &ClassAd) -> ClassAd {
    let mut config = config.clone();
    ["Requirements", "WithinResourceLimits"].into_iter().for_each(|name| drop(config.remove(name)));
    config
}

/// Configuration of one slot.
#[derive(Clone, Debug)]
pub struct SlotPlan {
    /// Id string of the slot, such as `slot1`.
    pub id: String,
    /// Number of the slot, from 1.
    pub number: u32,
    /// Number of the slot type, or 0 for a slot without a type.
    pub type_id: u32,
    /// Kind of the slot.
    pub kind: SlotKind,
    /// Resources of the slot.
    pub amounts: ResourceAmounts,
    /// Attributes that change only at a reconfiguration, as sent (`publish_static`).
    pub statics: Arc<ClassAd>,
    /// Policy expressions and `statics`. This is the parent of the live ad, in which expressions are evaluated.
    pub config: Arc<ClassAd>,
    /// `config` without Requirements, used before the slot is first available; `None` if slots do not share it.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// Requirements of the slot itself.
    pub requirements: SlotRequirements,
    /// Requirements of the slot's dynamic slots (DSLOT_REQUIREMENTS_CLAUSES).
    pub child_requirements: SlotRequirements,
    /// Hooks of the slot, or `None` if the slot has no hook keyword.
    pub hooks: Option<SlotHookPaths>,
    /// Hooks of the dynamic slots that have their own hook keyword, with the number of each.
    pub child_hooks: Vec<(u32, SlotHookPaths)>,
    /// Hooks of all other dynamic slots.
    pub default_child_hooks: Option<SlotHookPaths>,
    /// Parent of scratch directories: `SLOT<N>_EXECUTE` or EXECUTE.
    pub execute: Option<PathBuf>,
    /// Reason why the slot can never run a job, or `None`.
    pub broken: Option<BrokenReason>,
    /// The three expressions `MODIFY_REQUEST_EXPR_REQUEST<X>`: for cpus, disk and memory.
    pub modify_request: [Option<htc_classad::Expr>; 3],
    /// Value of MUST_MODIFY_REQUEST_EXPRS.
    pub must_modify: bool,
    /// CONSUMPTION_POLICY: true if `Consumption<Resource>` determines what dynamic slots get.
    pub has_consumption_policy: bool,
    /// NUM_CLAIMS, published if the slot has a consumption policy.
    pub num_claims: i64,
}

/// Parts of a slot's Requirements (`Reqexp.cpp`).
#[derive(Clone, Debug)]
pub struct SlotRequirements {
    /// Value of START.
    pub start: htc_classad::Expr,
    /// WithinResourceLimits, or `None` if a resource name is not a valid attribute name.
    pub limits: Option<htc_classad::Expr>,
    /// The complete Requirements expression.
    pub expr: htc_classad::Expr,
    /// Clauses of the slot requirements that the administrator named.
    pub clauses: Vec<htc_classad::AttrName>,
}

/// Hooks of a slot. A path is `None` if it is not configured or the path checks reject it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotHookPaths {
    /// Hook keyword as configured.
    pub keyword: String,
    /// Path of the FETCH_WORK hook.
    pub fetch: Option<PathBuf>,
    /// Reason why the configured FETCH_WORK cannot be used, or `None`.
    pub fetch_refused: Option<String>,
    /// Path of the REPLY_FETCH hook.
    pub reply: Option<PathBuf>,
    /// Path of the EVICT_CLAIM hook.
    pub evict: Option<PathBuf>,
}

/// Reason why a slot is broken (`ResAttributes.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenReason {
    /// Value of the attribute `SlotBrokenCode`.
    pub code: i32,
    /// Value of the attribute `SlotBrokenReason`.
    pub reason: String,
}
