//! Result of a rehearsal as data, for `--json` and `--explain`.

use std::collections::BTreeMap;

use bstr::BString;
use serde::Serialize;

use htc_base::process::{ProcessIdentity, ResourceLimitKind};
use htc_starter::container::{
    AnnotatedCommandLine, ContainerPlan, ContainerRuntime, ToolCall, UnusedContainerSetting,
};
use htc_starter::{JobProcess, StandardFile, StartFailure};

/// Preview of everything that would be done for a job.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunPreview {
    /// True if the job would be started.
    pub started: bool,
    /// Reason why the job would not be started, or `None`.
    pub refused: Option<StartRefusal>,
    /// The account of hooks and job, or `None` for the caller's account.
    pub user: Option<PlannedAccount>,
    /// Runtime of the job: `plain`, `docker` or `singularity`.
    pub runtime: &'static str,
    /// The attribute or parameter that selected the runtime.
    pub runtime_because: String,
    /// Hooks in the order in which they would be called.
    pub hooks: Vec<PlannedHook>,
    /// Prepare hooks that are not called and are assumed to print nothing. Their output may change all results in the
    /// following fields.
    pub assumed_hooks: Vec<&'static str>,
    /// The image of the container, or `None` without a container.
    pub image: Option<String>,
    /// The command line that creates the container (docker), or runs the job (singularity).
    pub container: Vec<String>,
    /// Calls of the runtime, before the job and after it.
    pub calls: Vec<Vec<String>>,
    /// The command line of the job's process.
    pub command: Vec<String>,
    /// Initial working directory of the job's process.
    pub directory: String,
    /// Files for standard input, output and error.
    pub files: Vec<String>,
    /// The job's environment; for docker, the environment inside the container.
    pub environment: BTreeMap<String, String>,
    /// Directories mounted in the job's view of the file system, or in its container.
    pub mounts: Vec<PlannedMount>,
    /// Resource limits.
    pub limits: Vec<PlannedLimit>,
    /// Resources that the job does not share with the rest of the machine.
    pub isolation: Vec<String>,
    /// Paths that would be removed at the end.
    pub removes: Vec<String>,
    /// Programs that are missing on this machine.
    pub missing: Vec<String>,
    /// Attributes and parameters that caused parts of the command line.
    pub explain: Vec<ExplainedArguments>,
    /// Attributes and parameters that were read but have no effect.
    pub passed: Vec<UnusedSetting>,
}

/// Reason why a job would not be started.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StartRefusal {
    /// Text of the reason.
    pub reason: String,
    /// Hold code that the job would get in a pool, or 0 if it would not be held.
    pub hold_code: i64,
    /// Hold subcode that the job would get in a pool.
    pub hold_subcode: i64,
}

/// Unix account of hooks and job.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedAccount {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Ids of all groups.
    pub groups: Vec<u32>,
}

/// Hook that would be called.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedHook {
    /// Hook type.
    pub hook: &'static str,
    /// Command line of the hook.
    pub command: Vec<String>,
    /// True if the starter waits for the hook.
    pub waited_for: bool,
}

/// Directory mounted under another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedMount {
    /// Source directory, or `None` if the runtime creates it.
    pub source: Option<String>,
    /// Path of the target directory.
    pub target: String,
    /// The attribute or parameter that requested the mount.
    pub because: String,
}

/// Resource limit of the job.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedLimit {
    /// The limited resource.
    pub of: String,
    /// Value of the limit.
    pub value: String,
    /// The attribute or parameter that set the limit.
    pub because: String,
}

/// Arguments of a command line, with the reason for them.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedArguments {
    /// The arguments.
    pub words: Vec<String>,
    /// The attribute, parameter or rule that caused the arguments.
    pub because: String,
}

/// Attribute or parameter that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedSetting {
    /// Name of the attribute or parameter.
    pub name: String,
    /// Reason why the attribute or parameter has no effect.
    pub why: String,
}

fn text(bytes: &BString) -> String {
    bytes.to_string()
}

fn texts(words: &[BString]) -> Vec<String> {
    words.iter().map(text).collect()
}

impl RunPreview {
    pub(super) fn set_user(&mut self, identity: Option<&ProcessIdentity>) {
        self.user = identity.map(|identity| PlannedAccount {
            uid: identity.uid,
            gid: identity.gid,
            groups: identity.groups.clone(),
        });
    }

    pub(super) fn set_runtime(
        &mut self,
        runtime: ContainerRuntime,
        because: &str,
        passed: &[UnusedContainerSetting],
    ) {
        self.runtime = match runtime {
            ContainerRuntime::Plain => "plain",
            ContainerRuntime::Docker => "docker",
            ContainerRuntime::Singularity => "singularity",
        };
        self.runtime_because = because.to_owned();
        self.add_unused(passed);
    }

    fn add_unused(&mut self, passed: &[UnusedContainerSetting]) {
        for one in passed {
            let one = UnusedSetting { name: one.name.to_string(), why: one.why.to_string() };
            if !self.passed.contains(&one) {
                self.passed.push(one);
            }
        }
    }

    pub(super) fn set_container(&mut self, plan: &ContainerPlan) {
        self.image = Some(text(&plan.image));
        self.container = texts(&plan.line.words());
        self.add_environment(&plan.environment.entries());
        self.mounts.extend(plan.mounts.iter().map(|mount| PlannedMount {
            source: mount.source.as_ref().map(text),
            target: text(&mount.target),
            because: mount.because.to_string(),
        }));
        self.limits.extend(plan.limits.iter().map(|limit| PlannedLimit {
            of: limit.resource.to_owned(),
            value: text(&limit.value),
            because: limit.because.to_string(),
        }));
        self.removes.extend(plan.container_to_remove.as_ref().map(|name| format!("container {name}")));
        self.explain_command_line(&plan.line);
    }

    fn explain_command_line(&mut self, line: &AnnotatedCommandLine) {
        let because = line.annotated_arguments().iter().map(|piece| ExplainedArguments {
            words: texts(&piece.words),
            because: piece.because.to_string(),
        });
        self.explain.extend(because);
        self.add_unused(line.unused_settings());
    }

    pub(super) fn add_runtime_call(&mut self, tool: &ToolCall) {
        self.calls.push(texts(&tool.argv));
    }

    fn add_environment(&mut self, entries: &[BString]) {
        for entry in entries {
            let entry = text(entry);
            let (name, value) = entry.split_once('=').unwrap_or((&entry, ""));
            self.environment.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Fills the fields about the job's own process.
    pub(super) fn set_process(&mut self, process: &JobProcess) {
        self.command = texts(&process.argv);
        self.directory = process.cwd.display().to_string();
        self.files = process.files.iter().map(file).collect();
        self.isolation = isolation(process);
        self.add_environment(&process.environment);
        self.mounts.extend(process.mounts.iter().map(|(source, target)| PlannedMount {
            source: Some(source.display().to_string()),
            target: target.display().to_string(),
            because: "MOUNT_UNDER_SCRATCH".to_owned(),
        }));
        for limit in &process.limits {
            let (of, because) = match limit.kind {
                ResourceLimitKind::Core => ("core file", "CoreSize"),
                ResourceLimitKind::Stack => ("stack", "StackSize"),
                ResourceLimitKind::AddressSpace => ("address space", "STARTER_RLIMIT_AS"),
                ResourceLimitKind::Cpu | ResourceLimitKind::FileSize | ResourceLimitKind::Data => continue,
            };
            let value = limit.soft.map_or("unlimited".to_owned(), |soft| format!("{soft} bytes"));
            self.limits.push(PlannedLimit { of: of.to_owned(), value, because: because.to_owned() });
        }
        let groups = process.group.iter().flat_map(|plan| &plan.limits);
        self.limits.extend(groups.map(|limit| PlannedLimit {
            of: limit.resource.to_owned(),
            value: limit.value.clone(),
            because: limit.because.to_owned(),
        }));
        if process.account == htc_starter::ProcessAccount::Job {
            let because = "JOB_RENICE_INCREMENT".to_owned();
            self.limits.push(PlannedLimit {
                of: "nice".to_owned(),
                value: process.nice.to_string(),
                because,
            });
        }
    }

    /// Sets the reason for the refusal. The first reason is the cause and is kept, but a later failure with the same
    /// text may add its codes.
    pub(super) fn set_refusal(&mut self, failure: &StartFailure) {
        if self.refused.as_ref().is_some_and(|refused| refused.reason != text(&failure.text)) {
            return;
        }
        self.refused = Some(StartRefusal {
            reason: text(&failure.text),
            hold_code: failure.code,
            hold_subcode: failure.subcode,
        });
    }

    /// Returns the reasons for parts of the command line, and the settings without effect, as lines.
    pub fn explanation(&self) -> Vec<String> {
        let runtime = match self.runtime {
            "plain" => "no container",
            runtime => runtime,
        };
        let mut lines = vec![format!("{runtime}: {}", self.runtime_because)];
        let shown =
            |words: &[String]| htc_base::text::arguments::join_v2_raw(words.iter().map(String::as_bytes));
        lines.extend(self.explain.iter().map(|one| format!("{} <- {}", shown(&one.words), one.because)));
        let limits = self.limits.iter();
        lines.extend(
            limits.map(|limit| format!("limit of {}: {} <- {}", limit.of, limit.value, limit.because)),
        );
        lines.extend(self.mounts.iter().map(|mount| {
            let source = mount.source.as_deref().unwrap_or("a directory of the container runtime");
            format!("{source} is visible as {} <- {}", mount.target, mount.because)
        }));
        lines.extend(self.passed.iter().map(|one| format!("not used: {} {}", one.name, one.why)));
        lines
    }
}

/// Describes the isolation of the job, and how its processes are tracked.
pub(super) fn isolation(process: &JobProcess) -> Vec<String> {
    let made = &process.isolation;
    let mut lines = Vec::new();
    if made.namespaces.private_pids {
        lines.push("its own PID namespace".to_owned());
    }
    if made.namespaces.no_network {
        lines.push("no network".to_owned());
    }
    if let Some(range) = &made.tracking {
        lines.push(format!("its own group, one of {} to {}", range.start(), range.end()));
    }
    if !process.script {
        lines.push(format!(
            "its processes are recognized by {}",
            made.family_tracking(process.group.is_some()).description()
        ));
    }
    lines
}

fn file(file: &StandardFile) -> String {
    match file {
        StandardFile::Null => "/dev/null".to_owned(),
        StandardFile::Inherited => "the starter's own".to_owned(),
        StandardFile::Path { path, .. } => path.display().to_string(),
    }
}
