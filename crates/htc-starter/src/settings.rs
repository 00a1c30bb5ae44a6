//! Configuration parameters that determine how the starter runs jobs.

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

/// Parameters of the statistics about the recent past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentWindow {
    /// Seconds after which counts of the recent past are advanced.
    pub quantum: i64,
    /// Length of the recent past in seconds.
    pub length: i64,
}

/// Parameters of the starter, parsed and with defaults. The comment of each field names its parameter.
#[derive(Clone, Debug)]
pub struct StarterSettings {
    /// EXECUTE: parent of the scratch directories.
    pub execute: Option<PathBuf>,
    /// STARTER_NESTED_SCRATCH: true if the scratch directory is `dir_<pid>/scratch` rather than `dir_<pid>`.
    pub nested_scratch: bool,
    /// STARTER_MOVE_WORKING_DIR_ON_EXIT: path to which the scratch directory is moved instead of being removed.
    pub move_on_exit: Option<PathBuf>,
    /// STARTER_REMOVE_EXECUTE_DIR_DELAY_TIME: delay before the scratch directory is removed.
    pub remove_delay: Duration,
    /// JOB_EXECDIR_PERMISSIONS as the mode of scratch directories.
    pub scratch_mode: u32,
    /// STARTER_INITIAL_UPDATE_INTERVAL, limited to STARTER_UPDATE_INTERVAL.
    pub initial_update_interval: Duration,
    /// Value of STARTER_UPDATE_INTERVAL.
    pub update_interval: Duration,
    /// MEMORY_USAGE_METRIC, an expression.
    pub memory_usage_metric: BString,
    /// STATISTICS_WINDOW_QUANTUM and STATISTICS_WINDOW_SECONDS of the starter, in seconds.
    pub statistics_window: RecentWindow,
    /// Value of STARTER_JOB_ENVIRONMENT.
    pub job_environment: BString,
    /// Value of JOB_INHERITS_STARTER_ENVIRONMENT.
    pub inherits: EnvironmentInheritance,
    /// Value of BIN.
    pub bin: Option<BString>,
    /// Value of USER_JOB_WRAPPER.
    pub wrapper: Option<BString>,
    /// JOB_RENICE_INCREMENT, an expression.
    pub renice: Option<BString>,
    /// STARTER_RLIMIT_AS, an expression.
    pub rlimit_as: Option<BString>,
    /// Value of CHIRP_DELAYED_UPDATE_PREFIX.
    pub chirp_prefix: BString,
    /// Value of STARTER_SETS_HOME_ENV.
    pub sets_home: bool,
    /// Value of STARTER_NUM_THREADS_ENV_VARS.
    pub thread_variables: BString,
    /// LOWPORT and HIGHPORT, or OUT_LOWPORT and OUT_HIGHPORT: range of ports for outgoing connections.
    pub ports: Option<(u16, u16)>,
    /// Value of MOUNT_UNDER_SCRATCH.
    pub mount_under_scratch: BString,
    /// ENCRYPT_EXECUTE_DIRECTORY: true if scratch directories are encrypted. Jobs then always have a private /tmp and
    /// /var/tmp.
    pub encrypts: bool,
    /// MOUNT_PRIVATE_DEV_SHM: true if /dev/shm is private to a job for which MOUNT_UNDER_SCRATCH maps any directory.
    pub private_shm: bool,
    /// USE_PROCESS_GROUPS: true if each job has a new session.
    pub process_groups: bool,
    /// STARTER_ALLOW_JOB_PRE_AND_POST_CMD, an expression.
    pub allow_scripts: Option<Setting<BString>>,
    /// STARTD_ENFORCE_DISK_LIMITS: true if a job must not write more than Disk of the slot.
    pub enforce_disk: bool,
    /// PID_SNAPSHOT_INTERVAL: time between two scans of a job's processes.
    pub snapshot: Duration,
    /// USE_PSS: true if shared pages are divided among the processes that share them.
    pub use_pss: bool,
    /// Parameters of control groups.
    pub groups: CgroupParameters,
    /// Parameters of namespaces and tracking groups.
    pub isolation: IsolationParameters,
    /// Parameters of containers.
    pub containers: ContainerParameters,
    /// Parameters of Java.
    pub java: JavaParameters,
    /// Value of AUTO_SET_NVIDIA_VISIBLE_DEVICES.
    pub nvidia: bool,
    /// `ENVIRONMENT_FOR_Assigned<Res>` and `ENVIRONMENT_VALUE_FOR_UNAssigned<Res>` of each machine resource, by its lower-case
    /// name.
    pub assigned_resources: FxHashMap<Vec<u8>, (BString, BString)>,
    /// SHUTDOWN_GRACEFUL_TIMEOUT: time after which a graceful shutdown becomes a fast one.
    pub graceful_timeout: Duration,
    /// Invalid parameters because of which 25.14 exits only when it reads them. Only
    /// [`StarterSettings::read_deferring_faults`] fills this list.
    pub faults: Vec<ParameterFault>,
}

/// Parameter whose value makes 25.14 exit with an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFault {
    /// Point at which 25.14 reads the parameter.
    pub read_point: ParameterReadPoint,
    /// Text of the exception.
    pub text: BString,
}

/// Point in the life of a job at which 25.14 reads a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterReadPoint {
    /// Before the starter has a job: parameters of the daemon itself.
    Daemon,
    /// Time when the scratch directory gets its name, before the job ad is read.
    Directory,
    /// Each time the environment of a hook or of the job is made.
    Environment,
    /// Time when the job's process is prepared, before its mounts are planned.
    Start,
    /// Same time as `Start`, but only for a job that does not request encryption itself.
    Encryption,
    /// Same time as `Start`, but after the mounts and before event 001.
    Isolation,
    /// After event 001 was written.
    Launch,
    /// The parameter is read in the job's process, before its program is executed.
    Child,
    /// Time when the job has started and its updates begin.
    Updates,
    /// Arrival of SIGTERM.
    Shutdown,
    /// Time when the scratch directory is to be removed.
    Removal,
}

/// Part of the starter's environment that a job inherits.
#[derive(Clone, Debug)]
pub enum EnvironmentInheritance {
    /// No variables.
    Nothing,
    /// All variables. Variables from any other source override them.
    All,
    /// Variables that pass the filter and that no other source sets.
    Filtered(EnvironmentFilter),
}

impl Default for StarterSettings {
    /// Returns the reference's defaults; EXECUTE has no default.
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
            statistics_window: RecentWindow { quantum: 240, length: 1200 },
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
