//! Options of a live run.

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

/// Function that reads the configuration again (SIGHUP): returns the new settings with their warnings, or the reason
/// why the old ones are kept.
pub type ConfigReloader = Box<dyn FnMut() -> Result<(StartdSettings, Vec<String>), String>>;

/// Function that checks whether starters can read their current configuration.
pub type StarterConfigCheck = Box<dyn FnMut() -> Result<(), String>>;

/// Setup of a live run.
pub struct ExecutionPointSetup {
    /// The program that runs jobs.
    pub starter: StarterProgram,
    /// The account of the execution point's own hooks.
    pub account: HookAccount,
    /// Removes leftovers of starters that were killed.
    pub cleaner: ExecuteCleaner,
    /// LOG: the working directory of its hooks.
    pub log_directory: Option<PathBuf>,
    /// The resource limits of hooks.
    pub hook_limits: Vec<ResourceLimit>,
    /// Path of the control socket, or `None`.
    pub control: Option<PathBuf>,
    /// Lease in seconds of claims that do not request one: ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED.
    pub default_lease: i64,
    /// Journal of actions, or `None` if there is no place for it.
    pub journal: Option<RunJournal>,
    /// State recovered from a run that was killed.
    pub recovered: RecoveredRun,
    /// Reason why no slot can ever run a job, so that the run ends at once, or `None`.
    pub unusable: Option<String>,
    /// Method to make the machine sleep, or `None`.
    pub sleep_method: Option<SleepMethod>,
    /// Time limit for hooks that 25.14 waits for without a limit.
    pub hook_timeout: Option<Duration>,
    /// Total time limit of the run.
    pub timeout: Option<Duration>,
    /// Environment that hooks, cron jobs and starters inherit.
    pub environment: DaemonEnvironment,
    /// Options for the sibling starter, as V2 raw arguments.
    pub starter_options: BString,
    /// True if starters send their events to this program to be passed on; otherwise their options say where to write
    /// them.
    pub relays_events: bool,
    /// Selection of quirks.
    pub quirks: QuirkMode,
    /// Reads the configuration again.
    pub config_reloader: ConfigReloader,
    /// Checks the configuration of starters; it must be cheap because it is called before each decision.
    pub starter_config_check: StarterConfigCheck,
    /// Environment and randomness.
    pub world: Rc<dyn World>,
    /// A private directory with a subdirectory for each starter.
    pub private_directory: PathBuf,
}
