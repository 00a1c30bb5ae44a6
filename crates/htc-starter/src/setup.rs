//! What a machine is made from.

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

/// The hooks of one job, found and checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StarterHooks {
    /// PREPARE_JOB.
    pub prepare: Option<BString>,
    /// PREPARE_JOB_BEFORE_TRANSFER, which is called only with a shadow.
    pub prepare_before_transfer: Option<BString>,
    /// UPDATE_JOB_INFO.
    pub update: Option<BString>,
    /// JOB_EXIT.
    pub exit: Option<BString>,
    /// Arguments of PREPARE_JOB (`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`).
    pub prepare_arguments: Vec<BString>,
    /// How long JOB_EXIT is waited for (`<KEYWORD>_HOOK_JOB_EXIT_TIMEOUT`).
    pub exit_timeout: Duration,
}

/// What a starter does for a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferSetup {
    /// When output goes back; `None`: no files are transferred.
    pub when_to_transfer: Option<WhenToTransferOutput>,
    /// True if files go back of a job that could not be started or did not end as promised: its FailureFiles, and
    /// its standard output and error unless they are streamed.
    pub failure_files: bool,
    /// True if the job names FailureFiles.
    pub names_failure_files: bool,
    /// The directory of the manifest.
    pub manifest: Option<BString>,
    /// What stands for the addresses of starter and shadow.
    pub ip: String,
}

/// Everything a machine is made from.
pub struct StarterSetup<'w> {
    /// What expressions are evaluated in; its clock is not used.
    pub world: &'w dyn World,
    /// Deviations.
    pub quirks: QuirkMode,
    /// The job's ad, completed by [`super::job_info::read_job_info`].
    pub ad: ClassAd,
    /// The slot's ad, where the slot runner gave one; counts only without quirk `machine-ad-empty`.
    pub machine: Option<ClassAd>,
    /// The job, or why it is not taken on.
    pub job: Result<JobInfo, JobRefusal>,
    /// The configuration.
    pub settings: StarterSettings,
    /// The hooks.
    pub hooks: StarterHooks,
    /// The scratch directory to be made.
    pub scratch: PathBuf,
    /// The starter's own process.
    pub starter_pid: u32,
    /// The starter's own environment.
    pub own_environment: Vec<(BString, BString)>,
    /// Name of the slot; may be empty.
    pub slot: BString,
    /// Home of the job's account.
    pub home: Option<BString>,
    /// File of the result ad, unless it is standard output.
    pub output_ad: Option<BString>,
    /// Whether directories can be bound over others here (root with the capability).
    pub can_mount: bool,
    /// Limit for hooks that the reference would wait for without end.
    pub hook_timeout: Option<Duration>,
    /// Why there can be no control groups, where that is known beforehand.
    pub no_groups: Option<String>,
    /// What containers need to know.
    pub surroundings: ContainerHost,
    /// What is done for a shadow, where there is one.
    pub transfer: Option<TransferSetup>,
    /// The shell that is run for a person instead of the job.
    pub shell: Option<BString>,
}

impl<'w> StarterSetup<'w> {
    /// A job with nothing around it: no slot, no hooks, no control group, nobody who moves files.
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
