//! The result of planning: a command line that knows why each of its words is there, and what comes with it.

use std::borrow::Cow;
use std::path::PathBuf;

use bstr::BString;

use htc_base::text::environment::Environment;

/// What a job runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRuntime {
    /// Nothing: a process of the machine.
    Plain,
    /// A container of docker, or of what takes its words.
    Docker,
    /// Singularity or Apptainer.
    Singularity,
}

/// What a job in a container is run with.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerPlan {
    /// The runtime.
    pub runtime: ContainerRuntime,
    /// The image, as the runtime gets it.
    pub image: BString,
    /// The command line: of the job itself, or of the container that is made for it.
    pub line: AnnotatedCommandLine,
    /// The command line that tries the image before the job is started.
    pub test_command: Option<Vec<BString>>,
    /// What is visible inside.
    pub mounts: Vec<ContainerMount>,
    /// The environment: of the runtime's process (singularity), or inside (docker).
    pub environment: Environment,
    /// What the runtime is told to limit.
    pub limits: Vec<ContainerLimit>,
    /// Directories to be made below the scratch directory, open to all.
    pub directories: Vec<PathBuf>,
    /// The container that has to be removed at any end.
    pub container_to_remove: Option<BString>,
}

/// One directory of the machine inside a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount {
    /// Where it lies outside; `None`: somewhere of the runtime's own below the scratch directory.
    pub source: Option<BString>,
    /// Where it is seen inside.
    pub target: BString,
    /// What asked for it.
    pub because: Cow<'static, str>,
}

/// A limit that the runtime is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerLimit {
    /// Of what: `cpu shares`, `memory`, ...
    pub resource: &'static str,
    /// How much, in the runtime's words.
    pub value: BString,
    /// What led to it.
    pub because: Cow<'static, str>,
}

/// A command line that knows why each of its words is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedCommandLine {
    pieces: Vec<AnnotatedWords>,
    unused: Vec<UnusedContainerSetting>,
}

/// Words that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedWords {
    /// The words.
    pub words: Vec<BString>,
    /// The attribute, knob or rule that they come from.
    pub because: Cow<'static, str>,
}

/// An attribute or knob that was looked at and changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedContainerSetting {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Why nothing came of it.
    pub why: Cow<'static, str>,
}

impl ContainerPlan {
    /// Whether a script inside tells that the runtime has come as far as the job.
    pub fn uses_launcher(&self) -> bool {
        self.line.pieces.iter().any(|piece| piece.because == "SINGULARITY_USE_LAUNCHER")
    }
}

impl AnnotatedCommandLine {
    /// Adds words.
    pub fn add<W: Into<BString>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
        because: impl Into<Cow<'static, str>>,
    ) {
        let words: Vec<BString> = words.into_iter().map(Into::into).collect();
        if !words.is_empty() {
            self.pieces.push(AnnotatedWords { words, because: because.into() });
        }
    }

    /// Notes what was looked at and not used.
    pub fn add_unused(&mut self, name: impl Into<Cow<'static, str>>, why: impl Into<Cow<'static, str>>) {
        self.unused.push(UnusedContainerSetting { name: name.into(), why: why.into() });
    }

    /// All words.
    pub fn words(&self) -> Vec<BString> {
        self.pieces.iter().flat_map(|piece| piece.words.iter().cloned()).collect()
    }

    /// The words with their reasons.
    pub fn annotated_words(&self) -> &[AnnotatedWords] {
        &self.pieces
    }

    /// What was looked at and not used.
    pub fn unused_settings(&self) -> &[UnusedContainerSetting] {
        &self.unused
    }
}
