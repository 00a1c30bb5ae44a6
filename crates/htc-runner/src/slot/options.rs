//! What a live run is given.

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

/// Reads the configuration again (SIGHUP): the new settings with their warnings, or why the old ones stay.
pub type ConfigReloader = Box<dyn FnMut() -> Result<(StartdSettings, Vec<String>), String>>;

/// Whether starters can read their configuration as it is now; why not.
pub type StarterConfigCheck = Box<dyn FnMut() -> Result<(), String>>;

/// How a live run is done.
pub struct ExecutionPointSetup {
    /// Which program runs jobs.
    pub starter: StarterProgram,
    /// The account of the execution point's own hooks.
    pub account: HookAccount,
    /// Removes what starters that were killed have left.
    pub cleaner: ExecuteCleaner,
    /// LOG: the working directory of its hooks.
    pub log_directory: Option<PathBuf>,
    /// The resource limits of hooks.
    pub hook_limits: Vec<ResourceLimit>,
    /// Where requests come in.
    pub control: Option<PathBuf>,
    /// The lease of claims that ask for none, in seconds: ALIVE_INTERVAL times MAX_CLAIM_ALIVES_MISSED.
    pub default_lease: i64,
    /// What is written down before it is done; nothing where there is no place for it.
    pub journal: Option<RunJournal>,
    /// What a run that was killed has left.
    pub recovered: RecoveredRun,
    /// How the machine is made to sleep.
    pub sleep_method: Option<SleepMethod>,
    /// Limits hooks that 25.14 waits for without end.
    pub hook_timeout: Option<Duration>,
    /// Ends everything after this time.
    pub timeout: Option<Duration>,
    /// What hooks, cron jobs and starters inherit.
    pub environment: DaemonEnvironment,
    /// Options for the sibling starter: a V2 raw argument text.
    pub starter_options: BString,
    /// Whether starters tell their events to us, to be passed on; else their options say where.
    pub relays_events: bool,
    /// Which behaviour is wanted where 25.14 and its manual differ.
    pub quirks: QuirkMode,
    /// Reads the configuration again.
    pub config_reloader: ConfigReloader,
    /// Looks at the configuration of starters; cheap, as it is asked before each decision.
    pub starter_config_check: StarterConfigCheck,
    /// Environment and randomness.
    pub world: Rc<dyn World>,
    /// A directory of our own: starters find theirs in it.
    pub private_directory: PathBuf,
}
