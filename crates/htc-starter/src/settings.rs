//! What the configuration says about the running of jobs.

pub(super) mod cgroup;
mod isolation;
mod java;

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use rustc_hash::FxHashMap;

pub use cgroup::CgroupParameters;
pub use isolation::IsolationParameters;
pub use java::JavaParameters;

use super::container::ContainerParameters;
use htc_base::text::environment::EnvironmentFilter;
use htc_config::Setting;

/// The knobs of the starter, converted and with their defaults. The names of the knobs stand in the fields' texts.
#[derive(Clone, Debug)]
pub struct StarterSettings {
    /// EXECUTE: where scratch directories are made.
    pub execute: Option<PathBuf>,
    /// STARTER_NESTED_SCRATCH: `dir_<pid>/scratch` rather than `dir_<pid>`.
    pub nested_scratch: bool,
    /// STARTER_MOVE_WORKING_DIR_ON_EXIT: the scratch directory is renamed to this path instead of being removed.
    pub move_on_exit: Option<PathBuf>,
    /// STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME: how long the scratch directory stays before it goes.
    pub remove_delay: Duration,
    /// JOB_EXECDIR_PERMISSIONS as a mode.
    pub scratch_mode: u32,
    /// STARTER_INITIAL_UPDATE_INTERVAL, already not above the next one.
    pub initial_update_interval: Duration,
    /// STARTER_UPDATE_INTERVAL.
    pub update_interval: Duration,
    /// MEMORY_USAGE_METRIC, an expression.
    pub memory_usage_metric: BString,
    /// STATISTICS_WINDOW_QUANTUM and STATISTICS_WINDOW_SECONDS of the starter, in seconds.
    pub statistics_window: (i64, i64),
    /// STARTER_JOB_ENVIRONMENT.
    pub job_environment: BString,
    /// JOB_INHERITS_STARTER_ENVIRONMENT.
    pub inherits: EnvironmentInheritance,
    /// BIN.
    pub bin: Option<BString>,
    /// USER_JOB_WRAPPER.
    pub wrapper: Option<BString>,
    /// JOB_RENICE_INCREMENT, an expression.
    pub renice: Option<BString>,
    /// STARTER_RLIMIT_AS, an expression.
    pub rlimit_as: Option<BString>,
    /// CHIRP_DELAYED_UPDATE_PREFIX.
    pub chirp_prefix: BString,
    /// STARTER_SETS_HOME_ENV.
    pub sets_home: bool,
    /// STARTER_NUM_THREADS_ENV_VARS.
    pub thread_variables: BString,
    /// LOWPORT and HIGHPORT of outgoing connections.
    pub ports: Option<(u16, u16)>,
    /// MOUNT_UNDER_SCRATCH.
    pub mount_under_scratch: BString,
    /// ENCRYPT_EXECUTE_DIRECTORY: jobs have /tmp and /var/tmp of their own in any case.
    pub encrypts: bool,
    /// MOUNT_PRIVATE_DEV_SHM: /dev/shm is the job's own wherever MOUNT_UNDER_SCRATCH maps something.
    pub private_shm: bool,
    /// USE_PROCESS_GROUPS: a session for each job.
    pub process_groups: bool,
    /// STARTER_ALLOW_JOB_PRE_AND_POST_CMD, an expression.
    pub allow_scripts: Option<Setting<BString>>,
    /// STARTD_ENFORCE_DISK_LIMITS: more than the slot's Disk is not written.
    pub enforce_disk: bool,
    /// PID_SNAPSHOT_INTERVAL: how often the processes of a job are looked at.
    pub snapshot: Duration,
    /// USE_PSS: shared pages of a job are divided among those who share them.
    pub use_pss: bool,
    /// What it says about control groups.
    pub groups: CgroupParameters,
    /// What it says about namespaces and tracking groups.
    pub isolation: IsolationParameters,
    /// What it says about containers.
    pub containers: ContainerParameters,
    /// What it says about java.
    pub java: JavaParameters,
    /// AUTO_SET_NVIDIA_VISIBLE_DEVICES.
    pub nvidia: bool,
    /// For each resource of the machine, by its lower-case name: `ENVIRONMENT_FOR_Assigned<Res>` and
    /// `ENVIRONMENT_VALUE_FOR_UNAssigned<Res>`.
    pub assigned_resources: FxHashMap<Vec<u8>, (BString, BString)>,
    /// SHUTDOWN_GRACEFUL_TIMEOUT: after which a soft end becomes a hard one.
    pub graceful_timeout: Duration,
    /// Knobs with values that 25.14 ends at only when it comes to them; filled by [`StarterSettings::read_deferring_faults`] alone.
    pub faults: Vec<ParameterFault>,
}

/// A knob whose value ends 25.14 by an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFault {
    /// Where 25.14 reads it.
    pub read_point: ParameterReadPoint,
    /// The exception's text.
    pub text: BString,
}

/// Where in a job's life 25.14 reads a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterReadPoint {
    /// Before there is a job: the daemon's own knobs.
    Daemon,
    /// When the scratch directory is named, before the job's ad is read.
    Directory,
    /// Whenever an environment is made, of a hook or of the job.
    Environment,
    /// When the job's process is prepared, before its mounts are planned.
    Start,
    /// The same, for a job that does not ask for encryption itself.
    Encryption,
    /// The same, after the mounts and before event 001.
    Isolation,
    /// After event 001.
    Launch,
    /// In the job's process, before its program is executed.
    Child,
    /// When the job runs and its updates are to begin.
    Updates,
    /// When SIGTERM comes.
    Shutdown,
    /// When the scratch directory is to be removed.
    Removal,
}

/// What of the starter's own environment a job gets.
#[derive(Clone, Debug)]
pub enum EnvironmentInheritance {
    /// Nothing.
    Nothing,
    /// All, below everything else.
    All,
    /// What the list lets pass and nothing else has set.
    Filtered(EnvironmentFilter),
}

impl Default for StarterSettings {
    /// The reference's defaults; EXECUTE has none.
    fn default() -> Self {
        StarterSettings {
            execute: None,
            nested_scratch: true,
            move_on_exit: None,
            remove_delay: Duration::ZERO,
            scratch_mode: 0o700,
            initial_update_interval: Duration::from_secs(8),
            update_interval: Duration::from_secs(300),
            memory_usage_metric: "((ResidentSetSize+1023)/1024)".into(),
            statistics_window: (240, 1200),
            job_environment: BString::default(),
            inherits: EnvironmentInheritance::Nothing,
            bin: None,
            wrapper: None,
            renice: None,
            rlimit_as: None,
            chirp_prefix: "CHIRP".into(),
            sets_home: true,
            thread_variables: BString::default(),
            ports: None,
            mount_under_scratch: BString::default(),
            encrypts: false,
            private_shm: true,
            process_groups: true,
            allow_scripts: None,
            enforce_disk: false,
            use_pss: false,
            snapshot: Duration::from_secs(15),
            groups: CgroupParameters::default(),
            isolation: IsolationParameters::default(),
            containers: ContainerParameters::default(),
            java: JavaParameters::default(),
            nvidia: true,
            assigned_resources: FxHashMap::default(),
            graceful_timeout: Duration::from_secs(1800),
            faults: Vec::new(),
        }
    }
}
