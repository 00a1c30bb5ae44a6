//! Options of a live run of an execution point.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bstr::BString;

use super::account::HookAccount;
use super::run_journal::{RecoveredRun, RunJournal};
use super::sleep_method::SleepMethod;
use super::starter_program::StarterProgram;
use crate::hook_environment::DaemonEnvironment;
use crate::starter::ExecuteCleaner;
use htc_base::process::ResourceLimit;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_slot::StartdSettings;

/// Function that reads the configuration again after SIGHUP. Returns the new settings with their warnings, or the
/// reason why the old settings are kept.
pub type ConfigReloader = Box<dyn FnMut() -> Result<(StartdSettings, Vec<String>), String>>;

/// Function that checks whether starters can read the configuration files as they are now.
pub type StarterConfigCheck = Box<dyn FnMut() -> Result<(), String>>;

/// Setup of a live run of an execution point.
pub struct ExecutionPointSetup {
    /// The program that runs a job (the starter).
    pub starter: StarterProgram,
    /// The account of the execution point's own hooks.
    pub account: HookAccount,
    /// Remover of leftovers of starters that were killed.
    pub cleaner: ExecuteCleaner,
    /// LOG: the working directory of the execution point's hooks.
    pub log_directory: Option<PathBuf>,
    /// The resource limits of hooks.
    pub hook_limits: Vec<ResourceLimit>,
    /// Path of the control socket, or `None`.
    pub control: Option<PathBuf>,
    /// Lease in seconds of claims that do not request one: ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED.
    pub default_lease: i64,
    /// Journal of actions, or `None` to run without one.
    pub journal: Option<RunJournal>,
    /// State recovered from a run that was killed.
    pub recovered: RecoveredRun,
    /// Reason why no slot can ever run a job, or `None`. If set, the run ends at once.
    pub unusable: Option<String>,
    /// Method to put the machine to sleep, or `None` if it cannot sleep.
    pub sleep_method: Option<SleepMethod>,
    /// Time limit for hooks that 25.14 waits for without a limit.
    pub hook_timeout: Option<Duration>,
    /// Total time limit of the run.
    pub timeout: Option<Duration>,
    /// Environment that hooks, cron jobs and starters inherit.
    pub environment: DaemonEnvironment,
    /// Options for the sibling starter program, as V2 raw arguments.
    pub starter_options: BString,
    /// True if starters send their events to this program, which passes them on. If false, `starter_options` say
    /// where starters write their events.
    pub relays_events: bool,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Function that reads the configuration again.
    pub config_reloader: ConfigReloader,
    /// Function that checks the configuration of starters. It must be cheap because it is called before each
    /// decision.
    pub starter_config_check: StarterConfigCheck,
    /// Access to the outside world: time, files, accounts, environment, programs.
    pub world: Rc<dyn World>,
    /// Private directory with a subdirectory for each starter.
    pub private_directory: PathBuf,
}
