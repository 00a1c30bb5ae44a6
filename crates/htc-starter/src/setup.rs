//! Inputs of the starter's state machine.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use super::container::ContainerHost;
use super::job_info::{JobInfo, JobRefusal};
use super::settings::StarterSettings;
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_hook::transfer::WhenToTransferOutput;

/// Hooks of one job, whose paths have been checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarterHooks {
    /// Path of the PREPARE_JOB hook.
    pub prepare: Option<BString>,
    /// Path of the PREPARE_JOB_BEFORE_TRANSFER hook, which is called only with a shadow.
    pub prepare_before_transfer: Option<BString>,
    /// Path of the UPDATE_JOB_INFO hook.
    pub update: Option<BString>,
    /// Path of the JOB_EXIT hook.
    pub exit: Option<BString>,
    /// Arguments of PREPARE_JOB (`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`).
    pub prepare_arguments: Vec<BString>,
    /// Time limit of JOB_EXIT (`<KEYWORD>_HOOK_JOB_EXIT_TIMEOUT`).
    pub exit_timeout: Duration,
}

/// Settings for file transfer in a starter with a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferSetup {
    /// Condition for transferring output back, or `None` if no files are transferred.
    pub when_to_transfer: Option<WhenToTransferOutput>,
    /// True if files are transferred back for a job that could not be started or did not end as required: its
    /// FailureFiles, and its standard output and error unless they are streamed.
    pub failure_files: bool,
    /// True if the job names FailureFiles.
    pub names_failure_files: bool,
    /// Directory of the manifest, or `None` if the job asks for no manifest.
    pub manifest: Option<BString>,
    /// Text used in place of the addresses of starter and shadow.
    pub ip: String,
}

/// Inputs of a `Starter`.
pub struct StarterSetup<'w> {
    /// World in which expressions are evaluated; its clock is not used.
    pub world: &'w dyn World,
    /// Selection of the quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
    /// Job ad, completed by [`super::job_info::read_job_info`].
    pub ad: ClassAd,
    /// Slot ad from the slot runner, or `None` if there is no slot. Ignored if the quirk `machine-ad-empty` is
    /// reproduced.
    pub machine: Option<ClassAd>,
    /// Properties of the job, or the reason why the job is refused.
    pub job: Result<JobInfo, JobRefusal>,
    /// Parameters of the starter.
    pub settings: StarterSettings,
    /// The hooks of the job.
    pub hooks: StarterHooks,
    /// Scratch directory to create.
    pub scratch: PathBuf,
    /// Process ID of the starter.
    pub starter_pid: u32,
    /// The starter's own environment.
    pub own_environment: Vec<(BString, BString)>,
    /// Name of the slot; may be empty.
    pub slot: BString,
    /// Home directory of the job's account.
    pub home: Option<BString>,
    /// File of the result ad; `None` if there is no such file or the ad goes to standard output.
    pub output_ad: Option<BString>,
    /// True if the starter can make bind mounts, for which it needs root and the capability.
    pub can_mount: bool,
    /// Time limit for hooks on which the reference sets no limit.
    pub hook_timeout: Option<Duration>,
    /// Reason why control groups cannot be used here, if known.
    pub no_groups: Option<String>,
    /// Properties of this host that containers depend on.
    pub surroundings: ContainerHost,
    /// Settings for file transfer, or `None` if there is no shadow.
    pub transfer: Option<TransferSetup>,
    /// Interactive shell that runs instead of the job, or `None`.
    pub shell: Option<BString>,
}

impl<'w> StarterSetup<'w> {
    /// Creates the setup of a job that has no slot, hooks, control group or file transfer.
    pub fn minimal(
        world: &'w dyn World,
        ad: ClassAd,
        job: Result<JobInfo, JobRefusal>,
        scratch: PathBuf,
    ) -> Self {
        StarterSetup {
            world,
            quirks: QuirkMode::Manual,
            ad,
            machine: None,
            job,
            settings: StarterSettings::default(),
            hooks: StarterHooks::default(),
            scratch,
            starter_pid: 1,
            own_environment: Vec::new(),
            slot: BString::default(),
            home: None,
            output_ad: None,
            can_mount: false,
            hook_timeout: None,
            no_groups: Some("nothing is run".to_owned()),
            surroundings: ContainerHost::default(),
            transfer: None,
            shell: None,
        }
    }
}
