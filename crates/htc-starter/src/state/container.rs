//! State of a job's container.

use std::collections::VecDeque;

use crate::action::{CallId, JobLogEvent, JobProcess};
use crate::container::{
    ContainerPlan, ContainerRuntime, DockerImage, DockerNames, ImagePruning, SettingRemarks, ToolCall,
};
use crate::event::FamilyUsage;
use htc_base::process::Exit;
use htc_base::time::MonotonicTime;
use htc_classad::ClassAd;

/// State of the job's container.
#[derive(Debug, Default)]
pub(crate) struct JobContainer {
    pub runtime: Option<ContainerRuntime>,
    pub stage: ContainerStage,
    /// Pending call whose output determines the next step.
    pub call: Option<CallId>,
    /// Running call whose output is not needed. Such calls run one at a time, and before the next call whose output is
    /// needed.
    pub background_call: Option<BackgroundCall>,
    pub background_queue: VecDeque<ToolCall>,
    pub waiting_call: Option<Box<(ContainerStage, ToolCall)>>,
    /// Process that would run the job outside of a container, from which the container's process is derived.
    pub process: Option<Box<JobProcess>>,
    pub plan: Option<Box<ContainerPlan>>,
    pub docker: DockerProgress,
    /// Host ports of the services of the container.
    pub services: ClassAd,
    /// Event 001 until it is written; `None` afterwards, and for a job that continues from a checkpoint.
    pub pending_execute_event: Option<JobLogEvent>,
    /// Remarks about container parameters and attributes.
    pub remarks: SettingRemarks,
}

/// Call whose output is not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackgroundCall {
    pub id: CallId,
    /// True if the call suspends the job.
    pub pauses: bool,
}

/// Objects that docker has for the job, as far as the starter knows.
#[derive(Debug, Default)]
pub(crate) enum DockerProgress {
    /// Docker has no objects for the job.
    #[default]
    None,
    /// The names of the objects are known, but the container does not exist.
    NamesOnly(DockerNames),
    /// The container exists, or may exist.
    Created(DockerNames),
}

/// Exit of the process attached to the container. The container itself may have another exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AttachedProcessEnd {
    pub exit: Exit,
    pub usage: FamilyUsage,
}

/// Answer to a call of the container runtime.
#[derive(Clone, Copy)]
pub(crate) struct ToolAnswer<'a> {
    /// Exit of the call, or `None` if it could not be executed or timed out.
    pub exit: Option<Exit>,
    pub output: &'a [u8],
    pub errors: &'a [u8],
}

impl ToolAnswer<'_> {
    pub(crate) fn is_success(&self) -> bool {
        self.exit == Some(Exit::Code(0))
    }
}

/// Step of the job's container that is in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ContainerStage {
    /// No step is in progress.
    #[default]
    Idle,
    /// Singularity: the job's standard files are opened.
    Files,
    Version,
    Test,
    /// Docker: its configuration with the registry credentials is written.
    Config,
    /// Docker: the image is provided.
    Image(ImageStage),
    /// Docker: the container is created.
    Create,
    Tag,
    OpenFiles,
    Architecture,
    /// Docker: the container has ended, and its state is queried.
    State {
        tries: u32,
        attached: AttachedProcessEnd,
    },
    Wait {
        tries: u32,
        until: MonotonicTime,
        attached: AttachedProcessEnd,
    },
    /// Docker: the state of the container is queried before the container is removed.
    LastState(AfterRemoval),
    Remove(AfterRemoval),
}

/// Step in which docker gets the image of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageStage {
    /// The registry credentials are fetched.
    Credentials,
    /// The images are listed with the times at which they were tagged. This step is repeated before an image is pulled.
    List {
        again: bool,
    },
    Tags {
        again: bool,
        images: Vec<DockerImage>,
    },
    /// Old images are removed. `is_new` is true if docker does not have the image yet.
    Prune {
        pruning: ImagePruning,
        is_new: bool,
    },
    Pull,
}

/// Step that follows the removal of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterRemoval {
    /// The clean-up of the job.
    CleanUp,
    /// The removal of the scratch directory.
    RemoveScratch,
}

impl JobContainer {
    pub(crate) fn is_docker(&self) -> bool {
        self.runtime == Some(ContainerRuntime::Docker)
    }

    /// Returns the time of the next query of the container's state.
    pub(crate) fn next_state_query(&self) -> Option<MonotonicTime> {
        match self.stage {
            ContainerStage::Wait { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Returns true if the step belongs to the time before the job is started.
    pub(crate) fn is_before_start(&self) -> bool {
        use ContainerStage::{LastState, Remove, State, Wait};
        !matches!(self.stage, State { .. } | Wait { .. } | LastState(_) | Remove(_))
    }

    /// Returns the names of docker's objects for the job, or `None` if they are not known.
    pub(crate) fn docker_names(&self) -> Option<&DockerNames> {
        match &self.docker {
            DockerProgress::None => None,
            DockerProgress::NamesOnly(names) | DockerProgress::Created(names) => Some(names),
        }
    }
}
