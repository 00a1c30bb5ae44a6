//! All the machine is given at its start and at each reconfiguration: plain data, made from the configuration by
//! [`super::configure`].

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

/// The execution point as configured.
#[derive(Clone, Debug)]
pub struct StartdSettings {
    /// The slots, in order of their numbers.
    pub slots: Vec<SlotPlan>,
    /// The machine's address as it stands in claim ids.
    pub address: Arc<str>,
    /// POLLING_INTERVAL: how often policies are looked at while a slot is claimed.
    pub polling_interval: Duration,
    /// UPDATE_INTERVAL: how often they are looked at anyway.
    pub update_interval: Duration,
    /// MATCH_TIMEOUT: how long a matched slot waits for the claimer.
    pub match_timeout: Duration,
    /// KILLING_TIMEOUT: how long a starter has between SIGQUIT and SIGKILL.
    pub killing_timeout: Duration,
    /// SHUTDOWN_GRACEFUL_TIMEOUT: when a graceful end becomes a fast one.
    pub graceful_timeout: Duration,
    /// PIPE_BUFFER_MAX: how much of a hook's output is read, in bytes.
    pub pipe_buffer_max: usize,
    /// Whether the machine has more than one processor: then starters get `-a <slot>`.
    pub several_cpus: bool,
    /// MAX_DRAINING_ACTIVATION_DELAY: how old an idle claim has to be to end for a drain, in seconds.
    pub draining_activation_delay: i64,
    /// DEFAULT_DRAINING_START_EXPR: START while draining, where a drain does not say another.
    pub drain_start: Option<htc_classad::Expr>,
    /// STARTD_JOB_ATTRS and the built-in ones: copied from the job into the slot ad.
    pub job_attributes: Vec<AttrName>,
    /// STARTD_LATCH_EXPRS: attributes whose changes are watched.
    pub latches: Vec<AttrName>,
    /// STARTD_SLOT_ATTRS: copied from each slot into all.
    pub slot_attributes: Vec<AttrName>,
    /// STARTD_EVAL_SLOT_ATTRS: they are copied as the values that they have in the slot they come from.
    pub slot_attributes_evaluated: bool,
    /// ADVERTISE_PSLOT_ROLLUP_INFORMATION: whether a partitionable slot lists its children.
    pub publishes_rollup: bool,
    /// STARTD_PARTITIONABLE_SLOT_ATTRS: listed beside the built-in ones.
    pub rollup_attributes: Vec<AttrName>,
    /// True if slots publish CpuBusyTime and CpuIsBusy: some expression reads them.
    pub publishes_cpu_busy: bool,
    /// SLOTS_CONNECTED_TO_KEYBOARD.
    pub keyboard_slots: u32,
    /// SLOTS_CONNECTED_TO_CONSOLE.
    pub console_slots: u32,
    /// DISCONNECTED_KEYBOARD_IDLE_BOOST, in seconds.
    pub idle_boost: i64,
    /// Names of the custom resources in order, spelled as configured.
    pub resource_tags: Vec<String>,
    /// Ids of devices that are to be off line, by tag (`OFFLINE_MACHINE_RESOURCE_<Tag>`).
    pub offline: BTreeMap<String, BTreeSet<String>>,
    /// Sleep.
    pub power: PowerSettings,
    /// What `Offline<Tag>` and hibernation publish, the same in all slots.
    pub common_dynamic: ClassAd,
    /// The cron jobs.
    pub cron: CronSettings,
    /// The benchmarks.
    pub benchmarks: BenchmarkSettings,
    /// How often docker is asked what the images of jobs take.
    pub image_cache: ImageCacheSettings,
    /// Whether slots that nobody claims may run a backfill client.
    pub backfill: Option<BackfillSettings>,
    /// DAEMON_SHUTDOWN and DAEMON_SHUTDOWN_FAST.
    pub daemon_shutdown: DaemonShutdownExpressions,
    /// STARTD_NOCLAIM_SHUTDOWN, in seconds: when to end if no slot is claimed.
    pub noclaim_shutdown: Option<i64>,
    /// ALIVE_INTERVAL and MAX_CLAIM_ALIVES_MISSED: seconds without a word from the claimer after which an idle claim ends,
    /// where whoever claims says nothing of it.
    pub claim_lease: i64,
    /// Which behaviour is wanted where 25.14 and its manual differ.
    pub quirks: QuirkMode,
    /// When to end by itself.
    pub limits: ExitLimits,
}

/// The execution point's cron jobs as configured.
#[derive(Clone, Debug, Default)]
pub struct CronSettings {
    /// The jobs in the order of STARTD_CRON_JOBLIST.
    pub jobs: Vec<CronJob>,
    /// STARTD_CRON_MAX_JOB_LOAD: what all that run may make together.
    pub max_load: f64,
    /// STARTD_CRON_AUTOPUBLISH: matters to a collector alone.
    pub auto_publish: AutoPublish,
    /// ADVERTISE_CMR_UPTIME_SECONDS: whether the sums of resource monitors stay in the ads that are sent.
    pub keeps_seconds: bool,
    /// What CONDITION is evaluated in, less what changes: the ad of the daemon.
    pub daemon_ad: Arc<ClassAd>,
}

/// When docker is asked what the images of jobs take (DockerCachedImageSizeMb).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageCacheSettings {
    /// DOCKER; empty where it is not set.
    pub docker: BString,
    /// DOCKER_CACHE_ADVERTISE_INTERVAL; `None`: never.
    pub interval: Option<Duration>,
}

/// The benchmarks as configured.
#[derive(Clone, Debug, Default)]
pub struct BenchmarkSettings {
    /// The jobs in the order of BENCHMARKS_JOBLIST, those whose program is there.
    pub jobs: Vec<CronJob>,
    /// BENCHMARKS_MAX_JOB_LOAD: what all that run may make together.
    pub max_load: f64,
}

/// Expressions that end the daemon once they are true in the ad of any slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonShutdownExpressions {
    /// DAEMON_SHUTDOWN: jobs retire first.
    pub graceful: Option<htc_classad::Expr>,
    /// DAEMON_SHUTDOWN_FAST: jobs are killed.
    pub fast: Option<htc_classad::Expr>,
}

impl DaemonShutdownExpressions {
    /// True if neither is set.
    pub fn is_unset(&self) -> bool {
        self.graceful.is_none() && self.fast.is_none()
    }
}

/// Sleep as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerSettings {
    /// HIBERNATE_CHECK_INTERVAL; nothing is looked at without.
    pub interval: Option<Duration>,
    /// Whether a packet wakes the machine (IsWakeAble).
    pub can_be_woken: bool,
    /// HIBERNATION_OVERRIDE_WOL: it sleeps though nobody can wake it through the network.
    pub sleeps_if_unwakeable: bool,
    /// Whether it may really sleep (`--allow-hibernate`).
    pub allowed: bool,
    /// What the machine can do.
    pub states: SleepSupport,
}

impl PowerSettings {
    /// What stands in every ad of a machine that is awake.
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

/// ENABLE_BACKFILL with BACKFILL_SYSTEM = BOINC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillSettings {
    /// Whether the client can never run.
    pub dead_client: QuirkDecision,
}

impl StartdSettings {
    /// True if the machine may sleep or end by itself, which is decided in polls that look at all slots.
    pub fn can_stop_by_itself(&self) -> bool {
        self.power.interval.is_some() || self.noclaim_shutdown.is_some() || !self.daemon_shutdown.is_unset()
    }
}

/// When the execution point ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitLimits {
    /// A slot that is told that there is no work asks no more; the end comes when all are so.
    pub exit_when_no_work: bool,
    /// No more fetching once this many jobs were accepted; the end comes when they are done.
    pub max_jobs: Option<u64>,
    /// The end comes after no slot has had a job for this long.
    pub idle_exit: Option<Duration>,
    /// The machine may really sleep when HIBERNATE says so.
    pub allow_hibernate: bool,
}

/// How a slot comes by its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotKind {
    /// Runs one job with all it has.
    Static,
    /// Gives dynamic slots what jobs ask for.
    Partitionable,
    /// Carved from a partitionable one for a job.
    Dynamic,
}

impl StartdSettings {
    /// Slots that differ by their names alone have one configuration from now on, unless `asked` says that somebody may ask for those:
    /// what thousands of slots look at stays within the processor's reach.
    pub fn share_slot_configurations(&mut self, asked: &AttrNames) {
        let names = ["Name", "SlotID"].map(AttrName::from);
        let own: Vec<AttrName> = names.into_iter().filter(|name| !asked.contains(name)).collect();
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

/// What a slot's ad is chained to before it is available for the first time (`reqexp_set_state`).
pub(super) fn config_without_requirements(config: &ClassAd) -> ClassAd {
    let mut config = config.clone();
    ["Requirements", "WithinResourceLimits"].into_iter().for_each(|name| drop(config.remove(name)));
    config
}

/// One slot as configured.
#[derive(Clone, Debug)]
pub struct SlotPlan {
    /// The id string, such as `slot1`.
    pub id: String,
    /// The slot's number, from 1.
    pub number: u32,
    /// Which SLOT_TYPE it is of; 0 for none.
    pub type_id: u32,
    /// How it comes by its resources.
    pub kind: SlotKind,
    /// What it has.
    pub amounts: ResourceAmounts,
    /// Attributes that only a reconfiguration changes, as sent (`publish_static`).
    pub statics: Arc<ClassAd>,
    /// Policy expressions and `statics` together: what expressions are evaluated in, below the live ad.
    pub config: Arc<ClassAd>,
    /// The same before it is available for the first time, where many slots share it.
    pub without_requirements: Option<Arc<ClassAd>>,
    /// START as written, or `true`.
    pub requirements: SlotRequirements,
    /// The same for its dynamic slots (DSLOT_REQUIREMENTS_CLAUSES).
    pub child_requirements: SlotRequirements,
    /// The hooks, when the slot has a keyword.
    pub hooks: Option<SlotHookPaths>,
    /// Hooks of dynamic slots of this one that have a keyword of their own, by their number.
    pub child_hooks: Vec<(u32, SlotHookPaths)>,
    /// Hooks of all its other dynamic slots.
    pub default_child_hooks: Option<SlotHookPaths>,
    /// EXECUTE, or `SLOT<N>_EXECUTE`: where scratch directories are made.
    pub execute: Option<PathBuf>,
    /// Why it can never run anything.
    pub broken: Option<BrokenReason>,
    /// The three `MODIFY_REQUEST_EXPR_REQUEST<X>` expressions: cpus, disk, memory.
    pub modify_request: [Option<htc_classad::Expr>; 3],
    /// MUST_MODIFY_REQUEST_EXPRS.
    pub must_modify: bool,
    /// CONSUMPTION_POLICY: what dynamic slots get is what `Consumption<Resource>` says.
    pub has_consumption_policy: bool,
    /// NUM_CLAIMS, published beside a consumption policy.
    pub num_claims: i64,
}

/// What Requirements are made of (`Reqexp.cpp`).
#[derive(Clone, Debug)]
pub struct SlotRequirements {
    /// START.
    pub start: htc_classad::Expr,
    /// WithinResourceLimits, or `None` if a resource has a name that no expression can have.
    pub limits: Option<htc_classad::Expr>,
    /// The whole.
    pub expr: htc_classad::Expr,
    /// The clauses of it that the administrator named.
    pub clauses: Vec<htc_classad::AttrName>,
}

/// The hooks of a slot; `None` where not configured or refused by the path checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotHookPaths {
    /// The keyword as configured.
    pub keyword: String,
    /// FETCH_WORK.
    pub fetch: Option<PathBuf>,
    /// Why the configured FETCH_WORK cannot be used, if it cannot.
    pub fetch_refused: Option<String>,
    /// REPLY_FETCH.
    pub reply: Option<PathBuf>,
    /// EVICT_CLAIM.
    pub evict: Option<PathBuf>,
}

/// Why a slot is of no use (`ResAttributes.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenReason {
    /// SlotBrokenCode.
    pub code: i32,
    /// SlotBrokenReason.
    pub reason: String,
}
