//! Command line of `htc-slot-run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::cli::common::{
    self, ConfigOptions, EventTarget, EventsOptions, InputOptions, LogLineOptions, OutputOptions,
    QuirksOptions,
};
use crate::time::MonotonicTime;

#[derive(Parser, Debug)]
pub(super) struct SlotRunCli {
    #[command(subcommand)]
    pub(super) verb: Option<SlotRunVerb>,
    #[command(flatten)]
    pub(super) run: RunOptions,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// Local name for LOCAL.KNOB in the configuration, as condor_startd's -local-name
    #[arg(long, value_name = "NAME", global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(super) local_name: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// Give the machine the GPUs of this file: what condor_gpu_discovery -properties printed on another
    #[arg(long, value_name = "FILE", global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(super) gpus: Option<PathBuf>,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
    #[command(flatten)]
    pub(super) events: EventsOptions,
    #[command(flatten)]
    pub(super) lines: LogLineOptions,
    /// Time at which `--timeout` ends.
    #[arg(skip)]
    pub(super) end: Option<MonotonicTime>,
}

/// Verb; if there is none, the slots run.
#[derive(Subcommand, Debug)]
pub(super) enum SlotRunVerb {
    /// Fetch and run jobs until told to end (the default)
    Run,
    /// Print the ad of each slot as FETCH_WORK would get it
    Ads {
        /// Only these slots, such as slot1
        #[arg(value_name = "SLOT")]
        slots: Vec<String>,
    },
    /// Play a scenario on a clock moved by hand: what would come of this policy in a month
    Simulate(SimulateOptions),
    /// Tell whether this configuration will work here, and what to do where it will not
    Doctor,
    /// Print slots of a running one (also match claim activate alive hold suspend continue vacate deactivate
    /// release-claim drain undrain reconfig off)
    Status(SlotStatusOptions),
    /// Let a running execution point hold a slot for a claimer, as a negotiator does
    #[command(hide = true)]
    Match(SingleSlotOptions),
    /// Claim a slot for a job, as a schedd does; prints the slot that is claimed
    #[command(hide = true)]
    Claim(ClaimOptions),
    /// Run a job under a claim, as a shadow does
    #[command(hide = true)]
    Activate(ActivateOptions),
    /// Renew the lease of a claim
    #[command(hide = true)]
    Alive(SingleSlotOptions),
    /// Make the job of a claim leave and tell it that it is put on hold
    #[command(hide = true)]
    Hold(HoldOptions),
    /// Stop jobs of a running execution point for a while
    #[command(hide = true)]
    Suspend(SlotSelection),
    /// Let suspended jobs go on
    #[command(hide = true)]
    Continue(SlotSelection),
    /// Make jobs leave a running execution point
    #[command(hide = true)]
    Vacate(VacateOptions),
    /// End the job of a claim; the claim stays
    #[command(hide = true)]
    Deactivate(DeactivateOptions),
    /// Give a claim back
    #[command(hide = true)]
    ReleaseClaim(ReleaseOptions),
    /// Make all jobs leave and let nothing new in
    #[command(hide = true)]
    Drain(DrainOptions),
    /// End a drain
    #[command(hide = true)]
    Undrain(UndrainOptions),
    /// End a running execution point
    #[command(hide = true)]
    Off(OffOptions),
    /// Make a running execution point read its configuration again
    #[command(hide = true)]
    Reconfig(ExecutionPointOptions),
    /// Tell which slots would take these jobs, and which part of START or of the limits says no
    Explain(ExplainOptions),
}

/// Options that select the running execution point.
#[derive(Args, Debug)]
pub(super) struct ExecutionPointOptions {
    /// The socket that the execution point was given with --control; without, that in LOG of the same
    /// configuration
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
}

/// Options that select one slot or all.
#[derive(Args, Debug)]
pub(super) struct SlotSelection {
    #[command(flatten)]
    pub(super) of: ExecutionPointOptions,
    /// Only this slot, such as slot1
    #[arg(value_name = "SLOT")]
    pub(super) slot: Option<String>,
}

/// Options that select one slot.
#[derive(Args, Debug)]
pub(super) struct SingleSlotOptions {
    #[command(flatten)]
    pub(super) of: ExecutionPointOptions,
    /// The slot, such as slot1 or slot1_2
    #[arg(value_name = "SLOT")]
    pub(super) slot: String,
}

/// Options for claiming a slot.
#[derive(Args, Debug)]
pub(super) struct ClaimOptions {
    #[command(flatten)]
    pub(super) of: SingleSlotOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
    /// Seconds without alive after which an idle claim ends (default: ALIVE_INTERVAL times
    /// MAX_CLAIM_ALIVES_MISSED)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..=i64::from(i32::MAX)))]
    pub(super) lease: Option<i64>,
    /// Dynamic slots that have to make room at once, as a negotiator with ALLOW_PSLOT_PREEMPTION names them
    #[arg(long, value_name = "SLOT", value_delimiter = ',')]
    pub(super) preempt: Vec<String>,
    /// The claimer's name, for RemoteScheddName
    #[arg(long, value_name = "NAME")]
    pub(super) schedd: Option<String>,
}

/// Options for running a job under a claim.
#[derive(Args, Debug)]
pub(super) struct ActivateOptions {
    #[command(flatten)]
    pub(super) of: SingleSlotOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
}

/// Options for putting a job on hold.
#[derive(Args, Debug)]
pub(super) struct HoldOptions {
    #[command(flatten)]
    pub(super) of: SingleSlotOptions,
    /// Why, for HoldReason
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Options for vacating jobs.
#[derive(Args, Debug)]
pub(super) struct VacateOptions {
    #[command(flatten)]
    pub(super) of: SlotSelection,
    /// At once: no retirement, no vacate time
    #[arg(long)]
    pub(super) fast: bool,
}

/// Options for ending the job of a claim.
#[derive(Args, Debug)]
pub(super) struct DeactivateOptions {
    #[command(flatten)]
    pub(super) of: SingleSlotOptions,
    /// Kill it at once
    #[arg(long)]
    pub(super) fast: bool,
}

/// Options for releasing a claim.
#[derive(Args, Debug)]
pub(super) struct ReleaseOptions {
    #[command(flatten)]
    pub(super) of: SingleSlotOptions,
    /// The one that waits to take over, not the present one
    #[arg(long)]
    pub(super) waiting: bool,
}

/// Options for shutting down.
#[derive(Args, Debug)]
pub(super) struct OffOptions {
    #[command(flatten)]
    pub(super) of: ExecutionPointOptions,
    /// At once: no retirement, no vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Let jobs run to their end
    #[arg(long, conflicts_with = "fast")]
    pub(super) peaceful: bool,
    /// With retirement and vacate time (the default), also where a peaceful end was asked for before
    #[arg(long, conflicts_with_all = ["fast", "peaceful"])]
    pub(super) force_graceful: bool,
}

/// Options for draining.
#[derive(Args, Debug)]
pub(super) struct DrainOptions {
    #[command(flatten)]
    pub(super) of: ExecutionPointOptions,
    /// With retirement and vacate time (the default)
    #[arg(long, conflicts_with_all = ["quick", "fast"])]
    pub(super) graceful: bool,
    /// Without retirement, with vacate time
    #[arg(long, conflicts_with = "fast")]
    pub(super) quick: bool,
    /// Without retirement and vacate time
    #[arg(long)]
    pub(super) fast: bool,
    /// Take jobs again when all slots are drained
    #[arg(long = "resume-on-completion", visible_alias = "resume", group = "completion")]
    pub(super) resume: bool,
    /// End when all slots are drained
    #[arg(long = "exit-on-completion", group = "completion")]
    pub(super) exit: bool,
    /// End and begin anew when all slots are drained
    #[arg(long = "restart-on-completion", group = "completion")]
    pub(super) restart: bool,
    /// Read the configuration and take jobs again when all slots are drained
    #[arg(long = "reconfig-on-completion", group = "completion")]
    pub(super) reconfig: bool,
    /// Drain only if this is true in the ad of each slot
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) check: Option<String>,
    /// START meanwhile: jobs that it admits may run as long as one from before does (default:
    /// DEFAULT_DRAINING_START_EXPR)
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(super) start: Option<String>,
    /// Why, for DrainReason
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
}

/// Options for ending a drain.
#[derive(Args, Debug)]
pub(super) struct UndrainOptions {
    #[command(flatten)]
    pub(super) of: ExecutionPointOptions,
    /// Only the one of this number, which drain printed
    #[arg(long, value_name = "ID")]
    pub(super) request_id: Option<String>,
}

/// Options for showing slots.
#[derive(Args, Debug)]
pub(super) struct SlotStatusOptions {
    #[command(flatten)]
    pub(super) of: SlotSelection,
    /// Until the execution point ends
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds)]
    pub(super) watch: Option<Duration>,
}

/// Options for the end of a run and its limits.
#[derive(Args, Debug)]
pub(super) struct RunOptions {
    /// End when no slot has more work
    #[arg(long, help_heading = "Ending")]
    pub(super) once: bool,
    /// Take at most N jobs, then end
    #[arg(long, value_name = "N", help_heading = "Ending")]
    pub(super) max_jobs: Option<u64>,
    /// End when no slot has had a job for this long
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = "Ending")]
    pub(super) idle_exit: Option<Duration>,
    /// Kill FETCH_WORK and PREPARE_JOB that run longer
    #[arg(long, value_name = "SECONDS", value_parser = common::parse_seconds, help_heading = "Behaviour")]
    pub(super) hook_timeout: Option<Duration>,
    /// Run jobs with this program instead of STARTER or htc-starter-run
    #[arg(long, value_name = "FILE", help_heading = "Behaviour", hide_short_help = true)]
    pub(super) starter: Option<PathBuf>,
    /// Let the machine really sleep when HIBERNATE of all slots says so; without, that is told
    #[arg(long, help_heading = "Behaviour", hide_short_help = true)]
    pub(super) allow_hibernate: bool,
    /// Check the configuration and print the slots; run nothing
    #[arg(long, short = 'n', help_heading = "Behaviour")]
    pub(super) dry_run: bool,
    /// Take requests (status, claim, drain ...) at this socket; without, at one in LOG
    #[arg(long = "control", value_name = "SOCKET", help_heading = "Behaviour")]
    pub(super) control: Option<PathBuf>,
}

/// Options of a simulation and its output.
#[derive(Args, Debug)]
pub(super) struct SimulateOptions {
    /// The scenario, in TOML: htc-scenario(5)
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: Option<PathBuf>,
    /// Write a scenario with comments to begin with, to SCENARIO or to standard output
    #[arg(long)]
    pub(super) init: bool,
    /// Tell all that happens, line by line, instead of a summary; or as JSON to FILE
    #[arg(
        long,
        value_name = "FILE|fd:N",
        value_parser = common::parse_event_target,
        num_args = 0..=1,
        default_missing_value = "-"
    )]
    pub(super) events: Option<EventTarget>,
    /// Draw a timeline of all slots
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Write one page with timeline, states, changes and summary
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Tell what became of a job (CLUSTER.PROC), or what decided about a slot (SLOT@TIME, such as slot1@2h)
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["events", "svg", "html", "compare"])]
    pub(super) why: Option<String>,
    /// Play it with this configuration as well, and tell what differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["events", "svg", "html"])]
    pub(super) compare: Option<PathBuf>,
    /// Random seed [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Look at every slot in every poll, as the daemon does: slow, and the same
    #[arg(long, hide_short_help = true)]
    pub(super) every_poll: bool,
}

/// Options for the slots of `explain`.
#[derive(Args, Debug)]
pub(super) struct ExplainOptions {
    #[command(flatten)]
    pub(super) input: InputOptions,
    /// Ask these slots, a pool's own ads (condor_status -long), in place of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(super) slot_ads: Option<PathBuf>,
    /// Let an attribute of all slots have this value, such as LoadAvg=0; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = common::parse_assignment)]
    pub(super) set: Vec<(String, String)>,
    /// Let cron jobs have published the attributes of this file
    #[arg(long, value_name = "FILE", conflicts_with = "slot_ads")]
    pub(super) cron: Option<PathBuf>,
    /// Run the configuration's cron jobs once first, and let slots have what they publish
    #[arg(long, conflicts_with_all = ["slot_ads", "cron"])]
    pub(super) run_cron: bool,
    /// Tell how many of the jobs each slot would take with this configuration in place of the present one
    #[arg(long, value_name = "FILE", conflicts_with = "slot_ads")]
    pub(super) compare: Option<PathBuf>,
    /// Print one screen: causes by clause, and what to change [default: for more than 10 pairs of a job and a slot]
    #[arg(long, conflicts_with = "compare")]
    pub(super) summary: bool,
    /// Explain slots instead of jobs: what keeps each kind of slots empty, and which jobs it would accept
    #[arg(long, conflicts_with = "compare")]
    pub(super) reverse: bool,
    /// Write one page with a table of all kinds of jobs and a bar for each clause
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(super) html: Option<PathBuf>,
    /// Print each pair of a job and a slot, however many there are
    #[arg(long, conflicts_with_all = ["compare", "summary", "reverse", "html"])]
    pub(super) pairs: bool,
    /// Exit with 0 if a slot accepts at least one job [default: if every job is accepted]
    #[arg(long, conflicts_with = "compare")]
    pub(super) any: bool,
    /// Only these slots, such as slot1
    #[arg(value_name = "SLOT")]
    pub(super) slots: Vec<String>,
}
