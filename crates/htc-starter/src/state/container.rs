//! How it stands with the job's container.

use std::collections::VecDeque;

use crate::action::{CallId, JobLogEvent, JobProcess};
use crate::container::{
    ContainerPlan, ContainerRuntime, DockerImage, DockerNames, ImagePruning, SettingRemarks, ToolCall,
};
use crate::event::FamilyUsage;
use htc_base::process::Exit;
use htc_base::time::MonotonicTime;
use htc_classad::ClassAd;

/// How it stands with the job's container.
#[derive(Debug, Default)]
pub(crate) struct JobContainer {
    pub runtime: Option<ContainerRuntime>,
    pub stage: ContainerStage,
    /// The call whose answer is waited for.
    pub call: Option<CallId>,
    /// The call whose answer decides nothing. They are made one after the other, and before the next one that does.
    pub background_call: Option<BackgroundCall>,
    pub background_queue: VecDeque<ToolCall>,
    pub waiting_call: Option<Box<(ContainerStage, ToolCall)>>,
    /// The job's process outside of a container, as far as it is the same.
    pub process: Option<Box<JobProcess>>,
    pub plan: Option<Box<ContainerPlan>>,
    pub docker: DockerProgress,
    /// The ports of this machine by which its services are reached.
    pub services: ClassAd,
    /// Event 001, until it is written: a job that goes on from a checkpoint has it behind it.
    pub pending_execute_event: Option<JobLogEvent>,
    /// What is said of settings and attributes about it.
    pub remarks: SettingRemarks,
}

/// A call whose answer decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackgroundCall {
    pub id: CallId,
    /// It is to stop the job.
    pub pauses: bool,
}

/// What docker has of the job.
#[derive(Debug, Default)]
pub(crate) enum DockerProgress {
    /// Nothing.
    #[default]
    None,
    /// Names: of its image, and of a container that is not there.
    NamesOnly(DockerNames),
    /// A container by that name, at least perhaps.
    Created(DockerNames),
}

/// How what stood for the job ended, which is not how the container did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AttachedProcessEnd {
    pub exit: Exit,
    pub usage: FamilyUsage,
}

/// The answer to a call of the runtime.
#[derive(Clone, Copy)]
pub(crate) struct ToolAnswer<'a> {
    /// How the call ended; `None`: it could not be executed or took too long.
    pub exit: Option<Exit>,
    pub output: &'a [u8],
    pub errors: &'a [u8],
}

impl ToolAnswer<'_> {
    pub(crate) fn is_success(&self) -> bool {
        self.exit == Some(Exit::Code(0))
    }
}

/// What is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ContainerStage {
    /// Nothing.
    #[default]
    Idle,
    /// Singularity: the standard files, the version, the trial of the image.
    Files,
    Version,
    Test,
    /// Docker: its configuration, with what it logs in to registries with.
    Config,
    /// The image.
    Image(ImageStage),
    /// The container.
    Create,
    Tag,
    OpenFiles,
    Architecture,
    /// The container has ended: how?
    State {
        tries: u32,
        attached: AttachedProcessEnd,
    },
    Wait {
        tries: u32,
        until: MonotonicTime,
        attached: AttachedProcessEnd,
    },
    /// Before what follows.
    LastState(AfterRemoval),
    Remove(AfterRemoval),
}

/// What is asked before the image is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageStage {
    /// What docker logs in to registries with.
    Credentials,
    /// Which images there are, and since when; once more before one is pulled.
    List {
        again: bool,
    },
    Tags {
        again: bool,
        images: Vec<DockerImage>,
    },
    /// Room is made for it; whether the name is new to docker.
    Prune {
        pruning: ImagePruning,
        is_new: bool,
    },
    Pull,
}

/// What follows the removal of a container.
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

    /// When to look again.
    pub(crate) fn next_state_query(&self) -> Option<MonotonicTime> {
        match self.stage {
            ContainerStage::Wait { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Whether the job has not been started yet.
    pub(crate) fn is_before_start(&self) -> bool {
        use ContainerStage::{LastState, Remove, State, Wait};
        !matches!(self.stage, State { .. } | Wait { .. } | LastState(_) | Remove(_))
    }

    /// Docker's names for the job.
    pub(crate) fn docker_names(&self) -> Option<&DockerNames> {
        match &self.docker {
            DockerProgress::None => None,
            DockerProgress::NamesOnly(names) | DockerProgress::Created(names) => Some(names),
        }
    }
}
