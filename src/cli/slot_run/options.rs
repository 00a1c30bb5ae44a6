//! Command line of `htc-slot-run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::cli::common::{
    self, AdSelectionOptions, ConfigOptions, EventTarget, EventsOptions, InputOptions, LogLineOptions,
    OptionGroup, OutputOptions, QuirksOptions, RowOptions, RowOrderOptions,
};
use crate::time::MonotonicTime;

#[derive(Parser, Debug)]
#[command(subcommand_value_name = "VERB")]
pub(super) struct SlotRunCli {
    #[command(subcommand)]
    pub(super) verb: Option<SlotRunVerb>,
    #[command(flatten)]
    pub(super) run: RunOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Use the settings of this local name [default: none]
    #[arg(long, value_name = "NAME", global = true, help_heading = OptionGroup::Configuration, hide_short_help = true)]
    pub(super) local_name: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// Use the GPUs in FILE: output of condor_gpu_discovery -properties [default: detected]
    #[arg(long, value_name = "FILE", global = true, help_heading = OptionGroup::Configuration, hide_short_help = true)]
    pub(super) gpus: Option<PathBuf>,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
    #[command(flatten)]
    pub(super) events: EventsOptions,
    #[command(flatten)]
    pub(super) lines: LogLineOptions,
    /// Time at which `--timeout` expires, or `None` without a limit.
    #[arg(skip)]
    pub(super) end: Option<MonotonicTime>,
    /// Value of the verb's `--now` in microseconds since the epoch, or `None`.
    #[arg(skip)]
    pub(super) now: Option<i64>,
}

/// Verb; if there is none, the slots run.
#[derive(Subcommand, Debug)]
pub(super) enum SlotRunVerb {
    /// Fetch and run jobs until stopped (the default)
    Run(RunOptions),
    /// Print the slot ads that FETCH_WORK would get
    Ads {
        /// Slots to print, such as slot1 [default: all]
        #[arg(value_name = "SLOT")]
        slots: Vec<String>,
        /// Use T as the current time: seconds since 1970, or a date
        #[arg(long, value_name = "T", value_parser = common::parse_time)]
        now: Option<i64>,
        #[command(flatten)]
        selection: AdSelectionOptions,
    },
    /// Simulate slots and jobs over days or months
    Simulate(SimulateOptions),
    /// Check whether this configuration works on this machine
    Doctor(DoctorOptions),
    /// Show the slots of a running htc-slot-run
    Status(SlotStatusOptions),
    /// Match a slot, as a negotiator does; the slot then waits for a claim
    Match(SingleSlotOptions),
    /// Claim a slot for a job, as a schedd does, and print its name
    Claim(ClaimOptions),
    /// Run a job in a claimed slot, as a shadow does
    Activate(ActivateOptions),
    /// Renew the lease of a claim
    Alive(SingleSlotOptions),
    /// Evict the job of a claim and report it as held
    Hold(HoldOptions),
    /// Suspend running jobs
    Suspend(SlotSelection),
    /// Continue suspended jobs
    Continue(SlotSelection),
    /// Vacate running jobs
    Vacate(VacateOptions),
    /// End the job of a claim and keep the claim
    Deactivate(DeactivateOptions),
    /// Release a claim
    ReleaseClaim(ReleaseOptions),
    /// Vacate all jobs and accept no new ones
    Drain(DrainOptions),
    /// Cancel a drain
    Undrain(UndrainOptions),
    /// Stop a running htc-slot-run
    Off(OffOptions),
    /// Make a running htc-slot-run read its configuration again
    Reconfig(ExecutionPointOptions),
    /// Show which slots accept these jobs, and why others refuse them
    Explain(ExplainOptions),
}

/// Options that select the running execution point.
#[derive(Args, Debug)]
pub(super) struct ExecutionPointOptions {
    /// Use this control socket of a running htc-slot-run [default: in LOG]
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
}

/// Options that select one slot or all.
#[derive(Args, Debug)]
pub(super) struct SlotSelection {
    #[command(flatten)]
    pub(super) execution_point: ExecutionPointOptions,
    /// Slot, such as slot1 [default: all]
    #[arg(value_name = "SLOT")]
    pub(super) slot: Option<String>,
}

/// Options that select one slot.
#[derive(Args, Debug)]
pub(super) struct SingleSlotOptions {
    #[command(flatten)]
    pub(super) execution_point: ExecutionPointOptions,
    /// Slot, such as slot1 or slot1_2
    #[arg(value_name = "SLOT")]
    pub(super) slot: String,
}

/// Options for claiming a slot.
#[derive(Args, Debug)]
pub(super) struct ClaimOptions {
    #[command(flatten)]
    pub(super) target: SingleSlotOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
    /// End the claim after SECONDS without a job or alive message [default: ALIVE_INTERVAL *
    /// MAX_CLAIM_ALIVES_MISSED]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..=i64::from(i32::MAX)))]
    pub(super) lease: Option<i64>,
    /// Preempt these dynamic slots (as with ALLOW_PSLOT_PREEMPTION)
    #[arg(long, value_name = "SLOT", value_delimiter = ',')]
    pub(super) preempt: Vec<String>,
    /// Set RemoteScheddName to NAME
    #[arg(long, value_name = "NAME")]
    pub(super) schedd: Option<String>,
}

/// Options for running a job under a claim.
#[derive(Args, Debug)]
pub(super) struct ActivateOptions {
    #[command(flatten)]
    pub(super) target: SingleSlotOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
}

/// Options for putting a job on hold.
#[derive(Args, Debug)]
pub(super) struct HoldOptions {
    #[command(flatten)]
    pub(super) target: SingleSlotOptions,
    /// Set HoldReason to TEXT
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Options for vacating jobs.
#[derive(Args, Debug)]
pub(super) struct VacateOptions {
    #[command(flatten)]
    pub(super) target: SlotSelection,
    /// Kill jobs at once, without retirement or vacate time
    #[arg(long)]
    pub(super) fast: bool,
}

/// Options for ending the job of a claim.
#[derive(Args, Debug)]
pub(super) struct DeactivateOptions {
    #[command(flatten)]
    pub(super) target: SingleSlotOptions,
    /// Kill the job at once
    #[arg(long)]
    pub(super) fast: bool,
}

/// Options for releasing a claim.
#[derive(Args, Debug)]
pub(super) struct ReleaseOptions {
    #[command(flatten)]
    pub(super) target: SingleSlotOptions,
    /// Release the claim that waits for the slot, not the current one
    #[arg(long)]
    pub(super) waiting: bool,
}

/// Options for shutting down.
#[derive(Args, Debug)]
pub(super) struct OffOptions {
    #[command(flatten)]
    pub(super) execution_point: ExecutionPointOptions,
    /// Kill jobs at once, without retirement or vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Wait until all jobs have ended
    #[arg(long, conflicts_with = "fast")]
    pub(super) peaceful: bool,
    /// Grant retirement and vacate time (the default), even after off --peaceful
    #[arg(long, conflicts_with_all = ["fast", "peaceful"])]
    pub(super) force_graceful: bool,
}

/// Options for draining.
#[derive(Args, Debug)]
pub(super) struct DrainOptions {
    #[command(flatten)]
    pub(super) execution_point: ExecutionPointOptions,
    /// Grant retirement and vacate time (the default)
    #[arg(long, conflicts_with_all = ["quick", "fast"])]
    pub(super) graceful: bool,
    /// Grant vacate time, but no retirement
    #[arg(long, conflicts_with = "fast")]
    pub(super) quick: bool,
    /// Kill jobs at once, without retirement or vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Accept jobs again when all slots are drained
    #[arg(long = "resume-on-completion", visible_alias = "resume", group = "completion")]
    pub(super) resume: bool,
    /// Stop when all slots are drained
    #[arg(long = "exit-on-completion", group = "completion")]
    pub(super) exit: bool,
    /// Restart when all slots are drained
    #[arg(long = "restart-on-completion", group = "completion")]
    pub(super) restart: bool,
    /// Reread the configuration and accept jobs when all slots are drained
    #[arg(long = "reconfig-on-completion", group = "completion")]
    pub(super) reconfig: bool,
    /// Drain only if EXPR is true for every slot
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) check: Option<String>,
    /// Use EXPR as START while draining [default: DEFAULT_DRAINING_START_EXPR]
    ///
    /// Jobs for which EXPR is true may run until the last job from before the drain has ended.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) start: Option<String>,
    /// Set DrainReason to TEXT
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Options for ending a drain.
#[derive(Args, Debug)]
pub(super) struct UndrainOptions {
    #[command(flatten)]
    pub(super) execution_point: ExecutionPointOptions,
    /// Cancel only the drain with this id (printed by drain) [default: all]
    #[arg(long, value_name = "ID")]
    pub(super) request_id: Option<String>,
}

/// Options for the rows of `doctor`.
#[derive(Args, Debug)]
pub(super) struct DoctorOptions {
    #[command(flatten)]
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) order: RowOrderOptions,
}

/// Options for showing slots.
#[derive(Args, Debug)]
pub(super) struct SlotStatusOptions {
    #[command(flatten)]
    pub(super) target: SlotSelection,
    /// Stops when htc-slot-run ends.
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds)]
    pub(super) watch: Option<Duration>,
    /// Print metrics for Prometheus, or write them to FILE atomically
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(super) openmetrics: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) order: RowOrderOptions,
}

/// Options for the end of a run and its limits.
#[derive(Args, Clone, Debug)]
pub(super) struct RunOptions {
    /// Ends when no slot has more work.
    #[arg(long, global = true)]
    pub(super) once: bool,
    /// Stop after N jobs (in a simulation: on all machines together)
    #[arg(long, value_name = "N", global = true)]
    pub(super) max_jobs: Option<u64>,
    /// Ends when no slot has had a job for this long.
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, global = true)]
    pub(super) idle_exit: Option<Duration>,
    /// Applies to FETCH_WORK and PREPARE_JOB; HTCondor waits forever.
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds)]
    pub(super) hook_timeout: Option<Duration>,
    /// Run jobs with this program [default: STARTER, or htc-starter-run]
    #[arg(long, value_name = "FILE")]
    pub(super) starter: Option<PathBuf>,
    /// Suspend the machine if HIBERNATE requests it [default: only report it]
    #[arg(long)]
    pub(super) allow_hibernate: bool,
    /// Checks the configuration and prints the slots.
    #[arg(long, short = 'n')]
    pub(super) dry_run: bool,
    /// Accept requests (status, claim, drain, ...) on this socket [default: in LOG]
    #[arg(long = "control", value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
}

impl RunOptions {
    /// Returns these options, completed by those that were given after the verb `run`.
    pub(super) fn merged_with(self, later: &RunOptions) -> RunOptions {
        RunOptions {
            once: self.once || later.once,
            max_jobs: later.max_jobs.or(self.max_jobs),
            idle_exit: later.idle_exit.or(self.idle_exit),
            hook_timeout: later.hook_timeout.or(self.hook_timeout),
            starter: later.starter.clone().or(self.starter),
            allow_hibernate: self.allow_hibernate || later.allow_hibernate,
            dry_run: self.dry_run || later.dry_run,
            control: later.control.clone().or(self.control),
        }
    }
}

/// Options of a simulation and its output.
#[derive(Args, Debug)]
pub(super) struct SimulateOptions {
    /// Scenario file (TOML), see htc-scenario(5)
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: Option<PathBuf>,
    /// Write a commented example scenario to SCENARIO or standard output
    #[arg(long)]
    pub(super) init: bool,
    /// Append JSON events to FILE or fd:N, or print them as text
    ///
    /// If FILE is not given, every event is printed as text instead of the summary.
    #[arg(
        long,
        value_name = "FILE|fd:N",
        value_parser = common::parse_event_target,
        num_args = 0..=1,
        default_missing_value = "-"
    )]
    pub(super) events: Option<EventTarget>,
    /// Write a timeline of all slots to FILE, as a picture
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Write a web page with timeline, states and summary to FILE
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) order: RowOrderOptions,
    /// Explain a job (CLUSTER.PROC), or a slot at a time (slot1@2h or slot1@pc1@2h)
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["events", "svg", "html", "compare"])]
    pub(super) why: Option<String>,
    /// Compare with the result of another configuration
    #[arg(long, value_name = "FILE", conflicts_with_all = ["events", "svg", "html"])]
    pub(super) compare: Option<PathBuf>,
    /// The default is the seed of the scenario.
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Evaluate every slot at every poll; slower, with the same result
    #[arg(long, hide_short_help = true)]
    pub(super) every_poll: bool,
}

impl ExplainOptions {
    /// True if `explain` reads the slots of a running execution point.
    pub(super) fn is_about_running_slots(&self) -> bool {
        self.live || self.running.control.is_some()
    }
}

/// Options for the slots of `explain`.
#[derive(Args, Debug)]
pub(super) struct ExplainOptions {
    #[command(flatten)]
    pub(super) input: InputOptions,
    #[command(flatten)]
    pub(super) selection: AdSelectionOptions,
    #[command(flatten)]
    pub(super) rows: RowOptions,
    /// FILE is the output of condor_status -long, for example. [default: the slots of the configuration]
    #[arg(long, value_name = "FILE")]
    pub(super) slot_ads: Option<PathBuf>,
    #[command(flatten)]
    pub(super) running: ExecutionPointOptions,
    /// Use the slots of the running htc-slot-run, with their claims and jobs
    #[arg(long, conflicts_with_all = ["slot_ads", "cron", "run_cron", "compare"])]
    pub(super) live: bool,
    /// Treat claimed slots as unclaimed
    #[arg(long)]
    pub(super) ignore_claims: bool,
    /// Set an attribute of every slot, such as LoadAvg=0; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = common::parse_assignment)]
    pub(super) set: Vec<(String, String)>,
    /// Add the attributes in FILE, as if cron jobs had published them
    #[arg(long, value_name = "FILE", conflicts_with = "slot_ads")]
    pub(super) cron: Option<PathBuf>,
    /// Run the cron jobs once and add what they publish
    #[arg(long, conflicts_with_all = ["slot_ads", "cron"])]
    pub(super) run_cron: bool,
    /// Compare how many jobs each slot accepts with another configuration
    #[arg(long, value_name = "FILE", conflicts_with = "slot_ads")]
    pub(super) compare: Option<PathBuf>,
    /// Prints one screen: causes by clause, and what to change. This is the default for more than 10 pairs of a job and a slot.
    #[arg(long, conflicts_with = "compare")]
    pub(super) summary: bool,
    /// Explain slots instead of jobs: why each kind of slot is empty
    #[arg(long, conflicts_with = "compare")]
    pub(super) by_slot: bool,
    /// Write a web page with all kinds of jobs and clauses to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(super) html: Option<PathBuf>,
    /// Print every pair of a job and a slot
    #[arg(long, conflicts_with_all = ["compare", "summary", "by_slot", "html"])]
    pub(super) pairs: bool,
    /// Exit with 0 if at least one job is accepted [default: if all are]
    #[arg(long, conflicts_with = "compare")]
    pub(super) any: bool,
    /// Use T as the current time: seconds since 1970, or a date
    #[arg(long, value_name = "T", value_parser = common::parse_time)]
    pub(super) now: Option<i64>,
    /// Slots to ask, such as slot1 [default: all]
    #[arg(value_name = "SLOT")]
    pub(super) slots: Vec<String>,
}
