//! How it stands with the job's container.

use std::collections::VecDeque;

use crate::action::{CallId, JobProcess, LogEvent};
use crate::container::{ContainerPlan, DockerNames, Image, Pruning, Remarks, Runtime, ToolCall};
use crate::event::FamilyUsage;
use htc_base::process::Exit;
use htc_base::time::Tick;
use htc_classad::ClassAd;

/// How it stands with the job's container.
#[derive(Debug, Default)]
pub(crate) struct Container {
    pub runtime: Option<Runtime>,
    pub stage: Stage,
    /// The call whose answer is waited for.
    pub call: Option<CallId>,
    /// The call whose answer decides nothing. They are made one after the other, and before the next one that does.
    pub side: Option<SideCall>,
    pub sides: VecDeque<ToolCall>,
    pub waiting: Option<Box<(Stage, ToolCall)>>,
    /// The job's process outside of a container, as far as it is the same.
    pub process: Option<Box<JobProcess>>,
    pub plan: Option<Box<ContainerPlan>>,
    pub docker: Docker,
    /// The ports of this machine by which its services are reached.
    pub services: ClassAd,
    /// Event 001, until it is written: a job that goes on from a checkpoint has it behind it.
    pub unwritten: Option<LogEvent>,
    /// What is said of settings and attributes about it.
    pub remarks: Remarks,
}

/// A call whose answer decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideCall {
    pub id: CallId,
    /// It is to stop the job.
    pub pauses: bool,
}

/// What docker has of the job.
#[derive(Debug, Default)]
pub(crate) enum Docker {
    /// Nothing.
    #[default]
    None,
    /// Names: of its image, and of a container that is not there.
    Named(DockerNames),
    /// A container by that name, at least perhaps.
    Made(DockerNames),
}

/// How what stood for the job ended, which is not how the container did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attached {
    pub exit: Exit,
    pub usage: FamilyUsage,
}

/// The answer to a call of the runtime.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    /// How the call ended; `None`: it could not be executed or took too long.
    pub exit: Option<Exit>,
    pub output: &'a [u8],
    pub errors: &'a [u8],
}

impl Answer<'_> {
    pub(crate) fn is_success(&self) -> bool {
        self.exit == Some(Exit::Code(0))
    }
}

/// What is waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Stage {
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
        attached: Attached,
    },
    Wait {
        tries: u32,
        until: Tick,
        attached: Attached,
    },
    /// Before what follows.
    LastState(After),
    Remove(After),
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
        images: Vec<Image>,
    },
    /// Room is made for it; whether the name is new to docker.
    Prune {
        pruning: Pruning,
        is_new: bool,
    },
    Pull,
}

/// What follows the removal of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The clean-up of the job.
    CleanUp,
    /// The removal of the scratch directory.
    RemoveScratch,
}

impl Container {
    pub(crate) fn is_docker(&self) -> bool {
        self.runtime == Some(Runtime::Docker)
    }

    /// When to look again.
    pub(crate) fn until(&self) -> Option<Tick> {
        match self.stage {
            Stage::Wait { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Whether the job has not been started yet.
    pub(crate) fn is_preparing(&self) -> bool {
        use Stage::{LastState, Remove, State, Wait};
        !matches!(self.stage, State { .. } | Wait { .. } | LastState(_) | Remove(_))
    }

    /// Docker's names for the job.
    pub(crate) fn names(&self) -> Option<&DockerNames> {
        match &self.docker {
            Docker::None => None,
            Docker::Named(names) | Docker::Made(names) => Some(names),
        }
    }
}
