//! Result of planning a container: a command line in which each word has its reason, with mounts, limits and environment.

use std::borrow::Cow;
use std::path::PathBuf;

use bstr::BString;

use htc_base::text::environment::Environment;

/// Runtime in which a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRuntime {
    /// The job is a process of the machine, without a container.
    Plain,
    /// A container run by docker or a program with the same command line.
    Docker,
    /// Singularity or Apptainer.
    Singularity,
}

/// Plan of a job in a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerPlan {
    /// Runtime of the container.
    pub runtime: ContainerRuntime,
    /// Image, as passed to the runtime.
    pub image: BString,
    /// Command line that runs the job (singularity) or creates its container (docker).
    pub line: AnnotatedCommandLine,
    /// Command line that tests the image before the job is started.
    pub test_command: Option<Vec<BString>>,
    /// Directories mounted in the container.
    pub mounts: Vec<ContainerMount>,
    /// Environment of the runtime's process (singularity) or inside the container (docker).
    pub environment: Environment,
    /// Limits passed to the runtime.
    pub limits: Vec<ContainerLimit>,
    /// Directories to create below the scratch directory, with access for all users.
    pub directories: Vec<PathBuf>,
    /// Container that has to be removed at the end, however the job ends.
    pub container_to_remove: Option<BString>,
}

/// Directory of the machine mounted in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount {
    /// Path on the machine, or `None` for a directory that the runtime provides below the scratch directory.
    pub source: Option<BString>,
    /// Path in the container.
    pub target: BString,
    /// Parameter, attribute or rule that asks for the mount.
    pub because: Cow<'static, str>,
}

/// Limit passed to the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerLimit {
    /// Resource: `cpu shares`, `memory`, ...
    pub resource: &'static str,
    /// Value, in the runtime's syntax.
    pub value: BString,
    /// Parameter, attribute or rule that sets the limit.
    pub because: Cow<'static, str>,
}

/// Command line in which each word has its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedCommandLine {
    pieces: Vec<AnnotatedArguments>,
    unused: Vec<UnusedContainerSetting>,
}

/// Group of arguments that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedArguments {
    /// Arguments of the group.
    pub words: Vec<BString>,
    /// Attribute, parameter or rule that adds the arguments.
    pub because: Cow<'static, str>,
}

/// Attribute or parameter that was read but had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedContainerSetting {
    /// Name of the attribute or parameter.
    pub name: Cow<'static, str>,
    /// Reason why the setting had no effect.
    pub why: Cow<'static, str>,
}

impl ContainerPlan {
    /// Returns true if the command line contains a launcher script, which reports from inside the container that the
    /// runtime has reached the job.
    pub fn uses_launcher(&self) -> bool {
        self.line.pieces.iter().any(|piece| piece.because == "SINGULARITY_USE_LAUNCHER")
    }
}

impl AnnotatedCommandLine {
    /// Adds arguments with their reason.
    pub fn add<W: Into<BString>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
        because: impl Into<Cow<'static, str>>,
    ) {
        let words: Vec<BString> = words.into_iter().map(Into::into).collect();
        if !words.is_empty() {
            self.pieces.push(AnnotatedArguments { words, because: because.into() });
        }
    }

    /// Records a setting that was read but had no effect.
    pub fn add_unused(&mut self, name: impl Into<Cow<'static, str>>, why: impl Into<Cow<'static, str>>) {
        self.unused.push(UnusedContainerSetting { name: name.into(), why: why.into() });
    }

    /// Returns all arguments.
    pub fn words(&self) -> Vec<BString> {
        self.pieces.iter().flat_map(|piece| piece.words.iter().cloned()).collect()
    }

    /// Returns the words with their reasons.
    pub fn annotated_arguments(&self) -> &[AnnotatedArguments] {
        &self.pieces
    }

    /// Returns the settings that were read but had no effect.
    pub fn unused_settings(&self) -> &[UnusedContainerSetting] {
        &self.unused
    }
}
