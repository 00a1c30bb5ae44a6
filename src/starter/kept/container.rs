//! How it stands with the job's container.

use std::collections::VecDeque;

use crate::classad::ClassAd;
use crate::process::Exit;
use crate::starter::action::{CallId, JobProcess};
use crate::starter::container::{ContainerPlan, DockerNames, Image, Pruning, Remarks, Runtime, ToolCall};
use crate::starter::event::FamilyUsage;
use crate::time::Tick;

/// How it stands with the job's container.
#[derive(Debug, Default)]
pub(in crate::starter) struct Container {
    pub runtime: Option<Runtime>,
    pub stage: Stage,
    /// The call whose answer is waited for.
    pub call: Option<CallId>,
    /// The call whose answer decides nothing, and whether it is to stop the job. They are made one after the other, and
    /// before the next one that does.
    pub side: Option<(CallId, bool)>,
    pub sides: VecDeque<ToolCall>,
    pub waiting: Option<Box<(Stage, ToolCall)>>,
    /// The job's process outside of a container, as far as it is the same.
    pub process: Option<Box<JobProcess>>,
    pub plan: Option<Box<ContainerPlan>>,
    pub docker: Option<DockerNames>,
    pub images: Vec<Image>,
    pub pruning: Option<Pruning>,
    /// The image had to be pulled.
    pub pulled: bool,
    /// The ports of this machine by which its services are reached.
    pub services: ClassAd,
    /// There may be a container to remove.
    pub made: bool,
    /// Event 001 is written.
    pub announced: bool,
    /// What is said of settings and attributes about it.
    pub remarks: Remarks,
    /// How what stood for the job ended.
    pub ended: Option<(Exit, FamilyUsage)>,
}

/// What is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::starter) enum Stage {
    /// Nothing.
    #[default]
    Idle,
    /// Singularity: the standard files, the version, the trial of the image.
    Files,
    Version,
    Test,
    /// Docker: what it logs in to registries with.
    Credentials,
    Config,
    /// Which images there are, and since when; once more before one is pulled.
    Images {
        again: bool,
    },
    Tags {
        again: bool,
    },
    Prune,
    Pull,
    Create,
    Tag,
    OpenFiles,
    Architecture,
    /// The container has ended: how?
    State {
        tries: u32,
    },
    Wait {
        tries: u32,
        until: Tick,
    },
    /// Before what follows.
    LastState(After),
    Remove(After),
}

/// What follows the removal of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::starter) enum After {
    /// The clean-up of the job.
    CleanUp,
    /// The removal of the scratch directory.
    RemoveScratch,
}

impl Container {
    pub(in crate::starter) fn is_docker(&self) -> bool {
        self.runtime == Some(Runtime::Docker)
    }

    /// When to look again.
    pub(in crate::starter) fn until(&self) -> Option<Tick> {
        match self.stage {
            Stage::Wait { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Whether the job has not been started yet.
    pub(in crate::starter) fn is_preparing(&self) -> bool {
        self.ended.is_none() && !matches!(self.stage, Stage::LastState(_) | Stage::Remove(_))
    }
}
