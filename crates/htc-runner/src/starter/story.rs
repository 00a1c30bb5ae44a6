//! What a rehearsal finds out about a job, as data: for `--json` and `--explain`.

use std::collections::BTreeMap;

use bstr::BString;
use serde::Serialize;

use htc_base::process::{Identity, LimitKind};
use htc_starter::container::{CommandLine, ContainerPlan, Passed, Runtime, ToolCall};
use htc_starter::{JobProcess, StandardFile, StartFailure};

/// Everything that would be done for a job.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Story {
    /// Whether the job would be started.
    pub started: bool,
    /// Why not, if not.
    pub refused: Option<Refused>,
    /// The account of hooks and job; nothing: the caller's own.
    pub user: Option<User>,
    /// `plain`, `docker` or `singularity`.
    pub runtime: &'static str,
    /// What chose it.
    pub runtime_because: String,
    /// Hooks in order.
    pub hooks: Vec<Hook>,
    /// The image of the container.
    pub image: Option<String>,
    /// The command line that makes the container (docker), or is the job's (singularity).
    pub container: Vec<String>,
    /// What the runtime is asked, before the job and after it.
    pub calls: Vec<Vec<String>>,
    /// The command line of the job's process.
    pub command: Vec<String>,
    /// Where it begins.
    pub directory: String,
    /// Standard input, output and error.
    pub files: Vec<String>,
    /// The job's environment; in a container of docker that inside.
    pub environment: BTreeMap<String, String>,
    /// What is seen under another name, or inside a container.
    pub mounts: Vec<Mount>,
    /// Resource limits.
    pub limits: Vec<Limit>,
    /// What the job does not share with the machine.
    pub isolation: Vec<String>,
    /// What is removed at the end.
    pub removes: Vec<String>,
    /// Programs that are not on this machine.
    pub missing: Vec<String>,
    /// Which attribute or knob led to what.
    pub explain: Vec<Because>,
    /// What was looked at and not used.
    pub passed: Vec<NotUsed>,
}

/// Why a job would not be started.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Refused {
    /// The reason.
    pub reason: String,
    /// The hold code it would have in a pool; 0 for none.
    pub hold_code: i64,
    /// Its subcode.
    pub hold_subcode: i64,
}

/// An account.
#[derive(Clone, Debug, Serialize)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

/// A hook.
#[derive(Clone, Debug, Serialize)]
pub struct Hook {
    /// Its type.
    pub hook: &'static str,
    /// Its command line.
    pub command: Vec<String>,
    /// Whether it is waited for.
    pub waited_for: bool,
}

/// A directory under another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Where it lies; nothing: the runtime makes it.
    pub source: Option<String>,
    /// Where it is seen.
    pub target: String,
    /// What asked for it.
    pub because: String,
}

/// A limit.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Of what.
    pub of: String,
    /// How much.
    pub value: String,
    /// What led to it.
    pub because: String,
}

/// Words of a command line with their reason.
#[derive(Clone, Debug, Serialize)]
pub struct Because {
    /// The words.
    pub words: Vec<String>,
    /// The attribute, knob or rule.
    pub because: String,
}

/// An attribute or knob that changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotUsed {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

fn text(bytes: &BString) -> String {
    bytes.to_string()
}

fn texts(words: &[BString]) -> Vec<String> {
    words.iter().map(text).collect()
}

impl Story {
    pub(super) fn user(&mut self, identity: Option<&Identity>) {
        self.user = identity.map(|identity| User {
            uid: identity.uid,
            gid: identity.gid,
            groups: identity.groups.clone(),
        });
    }

    pub(super) fn runtime(&mut self, runtime: Runtime, because: &str, passed: &[Passed]) {
        self.runtime = match runtime {
            Runtime::Plain => "plain",
            Runtime::Docker => "docker",
            Runtime::Singularity => "singularity",
        };
        self.runtime_because = because.to_owned();
        self.passed(passed);
    }

    fn passed(&mut self, passed: &[Passed]) {
        for one in passed {
            let one = NotUsed { name: one.name.to_string(), why: one.why.to_string() };
            if !self.passed.contains(&one) {
                self.passed.push(one);
            }
        }
    }

    pub(super) fn contained(&mut self, plan: &ContainerPlan) {
        self.image = Some(text(&plan.image));
        self.container = texts(&plan.line.words());
        self.environment(&plan.environment.entries());
        self.mounts.extend(plan.mounts.iter().map(|mount| Mount {
            source: mount.source.as_ref().map(text),
            target: text(&mount.target),
            because: mount.because.to_string(),
        }));
        self.limits.extend(plan.limits.iter().map(|limit| Limit {
            of: limit.of.to_owned(),
            value: text(&limit.value),
            because: limit.because.to_string(),
        }));
        self.removes.extend(plan.removes.as_ref().map(|name| format!("container {name}")));
        self.because(&plan.line);
    }

    fn because(&mut self, line: &CommandLine) {
        let because = line
            .pieces()
            .iter()
            .map(|piece| Because { words: texts(&piece.words), because: piece.because.to_string() });
        self.explain.extend(because);
        self.passed(line.passed());
    }

    pub(super) fn call(&mut self, tool: &ToolCall) {
        self.calls.push(texts(&tool.argv));
    }

    fn environment(&mut self, entries: &[BString]) {
        for entry in entries {
            let entry = text(entry);
            let (name, value) = entry.split_once('=').unwrap_or((&entry, ""));
            self.environment.insert(name.to_owned(), value.to_owned());
        }
    }

    /// The job's own process.
    pub(super) fn process(&mut self, process: &JobProcess) {
        self.command = texts(&process.argv);
        self.directory = process.cwd.display().to_string();
        self.files = process.files.iter().map(file).collect();
        self.isolation = isolation(process);
        self.environment(&process.environment);
        self.mounts.extend(process.mounts.iter().map(|(source, target)| Mount {
            source: Some(source.display().to_string()),
            target: target.display().to_string(),
            because: "MOUNT_UNDER_SCRATCH".to_owned(),
        }));
        for limit in &process.limits {
            let (of, because) = match limit.kind {
                LimitKind::Core => ("core file", "CoreSize"),
                LimitKind::Stack => ("stack", "StackSize"),
                LimitKind::AddressSpace => ("address space", "STARTER_RLIMIT_AS"),
                LimitKind::Cpu | LimitKind::FileSize | LimitKind::Data => continue,
            };
            let value = limit.soft.map_or("unlimited".to_owned(), |soft| format!("{soft} bytes"));
            self.limits.push(Limit { of: of.to_owned(), value, because: because.to_owned() });
        }
        let groups = process.group.iter().flat_map(|plan| &plan.because);
        self.limits.extend(groups.map(|limit| Limit {
            of: limit.of.to_owned(),
            value: limit.value.clone(),
            because: limit.because.to_owned(),
        }));
        if process.account == htc_starter::Account::Job {
            let because = "JOB_RENICE_INCREMENT".to_owned();
            self.limits.push(Limit { of: "nice".to_owned(), value: process.nice.to_string(), because });
        }
    }

    /// The first reason is the cause; its codes may come with a later word of the same.
    pub(super) fn refused(&mut self, failure: &StartFailure) {
        if self.refused.as_ref().is_some_and(|refused| refused.reason != text(&failure.text)) {
            return;
        }
        self.refused = Some(Refused {
            reason: text(&failure.text),
            hold_code: failure.code,
            hold_subcode: failure.subcode,
        });
    }

    /// Its explanation as lines.
    pub fn explanation(&self) -> Vec<String> {
        let mut lines = vec![format!("in {}: {}", self.runtime, self.runtime_because)];
        let shown =
            |words: &[String]| htc_base::text::arguments::join_v2_raw(words.iter().map(String::as_bytes));
        lines.extend(self.explain.iter().map(|one| format!("{} <- {}", shown(&one.words), one.because)));
        let limits = self.limits.iter();
        lines.extend(
            limits.map(|limit| format!("limit of {}: {} <- {}", limit.of, limit.value, limit.because)),
        );
        lines.extend(self.mounts.iter().map(|mount| {
            let source = mount.source.as_deref().unwrap_or("a directory of the runtime's own");
            format!("{source} is seen as {} <- {}", mount.target, mount.because)
        }));
        lines.extend(self.passed.iter().map(|one| format!("not used: {} {}", one.name, one.why)));
        lines
    }
}

/// What the job has for itself, in words.
pub(super) fn isolation(process: &JobProcess) -> Vec<String> {
    let made = &process.isolation;
    let mut lines = Vec::new();
    if made.namespaces.processes {
        lines.push("a PID namespace of its own".to_owned());
    }
    if made.namespaces.network {
        lines.push("no network".to_owned());
    }
    if let Some(range) = &made.tracking {
        lines.push(format!("a group of its own, one of {} to {}", range.start(), range.end()));
    }
    if !process.script {
        lines.push(format!("its processes are known by {}", made.known_by(process.group.is_some()).line()));
    }
    lines
}

fn file(file: &StandardFile) -> String {
    match file {
        StandardFile::Null => "/dev/null".to_owned(),
        StandardFile::Own => "the starter's own".to_owned(),
        StandardFile::Path { path, .. } => path.display().to_string(),
    }
}
