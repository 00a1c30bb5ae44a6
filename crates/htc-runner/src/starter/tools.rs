//! Calls of a container's runtime as children, and the process that stands for a container.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use bstr::BString;
use nix::fcntl::OFlag;

use super::child;
use super::docker_socket::DockerWatch;
use super::live::{Live, Tool};
use crate::events::full_text;
use htc_base::process::{ChildSpec, Exit, Identity, LeftBehind, Session, Stdio};
use htc_base::time::Tick;
use htc_os as os;
use htc_os::files::make_directories;
use htc_os::identity::acting_as;
use htc_os::{ChildId, clock, strerror};
use htc_starter::container::{Actor, DockerUsage, ToolCall, Variables};
use htc_starter::{CallId, Event, JobProcess, StandardFile, StartFailure, process};

/// How much of a runtime's answer is kept, in bytes.
const OUTPUT_LIMIT: usize = 4 << 20;

/// How long one that was killed is waited for before it is killed again.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How much of what it complains of is read back.
const ERRORS_LIMIT: u64 = 64 * 1024;

impl Live<'_> {
    /// Makes a call; what comes of it is an event.
    pub(super) fn run_tool(&mut self, call: CallId, tool: ToolCall) {
        let until = clock::tick().plus(tool.limit);
        let (errors, is_long) = (tool.errors.clone(), tool.is_long());
        let spawned = self.tool_spec(tool).and_then(|(spec, open)| {
            let child = self.reactor.spawn(spec).map_err(|error| io::Error::other(full_text(&error)));
            drop(open);
            child
        });
        match spawned {
            Ok(child) => {
                if is_long {
                    self.note_child(child);
                }
                self.tools.push(Tool { child, call, until, errors });
            }
            Err(error) => self.events.push_back(Event::ToolEnded {
                call,
                exit: None,
                output: Vec::new(),
                errors: error.to_string().into_bytes(),
            }),
        }
    }

    /// The child of a call, and the file that gets its complaints, which has to stay open until it is made.
    fn tool_spec(&self, tool: ToolCall) -> io::Result<(ChildSpec, Option<OwnedFd>)> {
        let is_long = tool.is_long();
        let name = tool.argv.first().cloned().unwrap_or_default();
        let program = child::program(&name, self.world)
            .ok_or_else(|| io::Error::other(format!("there is no '{name}'")))?;
        let identity = match tool.actor {
            Actor::Starter => None,
            Actor::Daemon => self.job.sandbox.condor.clone(),
            Actor::Job => self.job.identity.clone(),
        };
        let open = match &tool.errors {
            Some(path) => Some(acting_as(self.job.identity.as_ref(), || {
                let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
                fs::OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .custom_flags(flags.bits())
                    .open(path)
            })??),
            None => None,
        };
        let open: Option<OwnedFd> = open.map(Into::into);
        let errors = open.as_ref().map_or(Stdio::Stdout, |open| Stdio::Descriptor(open.as_raw_fd()));
        let spec = ChildSpec {
            argv: tool.argv,
            env: self.variables(tool.variables).into_iter().chain(tool.more).collect(),
            cwd: Some(tool.directory.unwrap_or_else(|| self.job.hook_directory())),
            identity,
            stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, errors],
            session: Session::Own,
            reads_on: true,
            dies_with_us: is_long,
            // A runtime may leave a process of its own beside the container.
            left_behind: LeftBehind::Kept,
            ..ChildSpec::new(program)
        };
        Ok((spec, open))
    }

    fn variables(&self, variables: Variables) -> Vec<BString> {
        let own = |home: Option<BString>| {
            let others = self.job.environment.iter().filter(|(name, _)| home.is_none() || name != "HOME");
            let mut all: Vec<BString> = others.map(|(name, value)| child::entry(name, value)).collect();
            all.extend(home.map(|home| child::entry(b"HOME", &home)));
            all
        };
        match variables {
            Variables::Own => own(None),
            Variables::OwnWithHome(home) => own(home),
            Variables::These(these) => these,
        }
    }

    /// Whether a child that ended was such a call; then it is told.
    pub(super) fn tool_ended(&mut self, child: ChildId, exit: Exit, output: os::Captured) -> bool {
        let Some(at) = self.tools.iter().position(|tool| tool.child == child) else { return false };
        let tool = self.tools.remove(at);
        let errors = tool.errors.map(|path| read_back(&path, self.job.identity.as_ref())).unwrap_or_default();
        self.events.push_back(Event::ToolEnded {
            call: tool.call,
            exit: Some(exit),
            output: output.bytes,
            errors,
        });
        true
    }

    /// When the first of them takes too long.
    pub(super) fn tools_until(&self) -> Option<Tick> {
        self.tools.iter().map(|tool| tool.until).min()
    }

    /// Kills those that take too long; their end is told as any other.
    pub(super) fn kill_slow_tools(&mut self, now: Tick) {
        let slow: Vec<ChildId> =
            self.tools.iter().filter(|tool| tool.until <= now).map(|tool| tool.child).collect();
        for child in slow {
            self.warn("the runtime of the container does not answer; the call is killed".to_owned());
            self.reactor.kill(child, nix::libc::SIGKILL, os::Whom::Family);
            self.tools
                .iter_mut()
                .filter(|tool| tool.child == child)
                .for_each(|tool| tool.until = now.plus(AFTER_KILL));
        }
    }

    pub(super) fn open_files(&mut self, files: &[StandardFile; 3]) {
        let (identity, scratch) = (self.job.identity.as_ref(), &self.job.sandbox.scratch);
        let failures = match child::open_failures(files, identity, scratch) {
            Ok(failures) => failures,
            Err(error) => vec![StartFailure::new(format!("cannot take on the job's account: {error}"), 0, 0)],
        };
        self.events.push_back(Event::FilesOpened(failures));
    }

    pub(super) fn make_directory(&mut self, path: &Path, mode: u32) {
        let make = || make_directories(path, mode);
        let made = acting_as(self.job.identity.as_ref(), make).flatten();
        if let Err(error) = made {
            self.warn(format!("cannot make '{}' for the container: {error}", path.display()));
        }
    }

    /// The container runs: docker is asked what it uses from now on.
    pub(super) fn watch_container(&mut self) {
        let Some(container) = self.container.clone() else { return };
        match DockerWatch::new(container, &self.job, self.world) {
            Ok(watch) => self.docker = Some(watch),
            Err(why) => self.warn(format!("what the container uses is not known: {why}")),
        }
    }

    /// The container has ended: what it used in the end.
    pub(super) fn leave_container(&mut self) -> Option<DockerUsage> {
        self.docker.take()?.leave(self.reactor)
    }

    /// The process that stands for a container: with the rights and the environment of daemons, and the job's files.
    pub(super) fn start_container(&mut self, process: &JobProcess) -> Result<ChildId, Vec<StartFailure>> {
        let identity = self.job.identity.clone();
        let scratch = self.job.sandbox.scratch.clone();
        let mut open = Vec::new();
        let mut stdio = [Stdio::Null, Stdio::Null, Stdio::Null];
        for (at, file) in process.files.iter().enumerate() {
            stdio[at] = match file {
                StandardFile::Null => Stdio::Null,
                StandardFile::Own => Stdio::Inherit,
                StandardFile::Path { path, truncate } => {
                    let file = open_file(&scratch.join(path), at, *truncate, identity.as_ref()).map_err(
                        |error| {
                            let errno = error.raw_os_error().unwrap_or(nix::libc::EIO);
                            vec![process::open_failed(path, at, errno, &strerror(errno))]
                        },
                    )?;
                    open.push(OwnedFd::from(file));
                    Stdio::Descriptor(open.last().map_or(-1, AsRawFd::as_raw_fd))
                }
            };
        }
        let home = self.job.daemon_home.clone();
        let spec = ChildSpec {
            argv: process.argv.clone(),
            env: self.variables(Variables::OwnWithHome(home)),
            cwd: Some(process.cwd.clone()),
            identity: self.job.sandbox.condor.clone(),
            stdio,
            session: Session::Own,
            ignore_sigpipe: true,
            left_behind: LeftBehind::Kept,
            ..ChildSpec::new(&process.program)
        };
        self.reactor.spawn(spec).map_err(|error| child::failure(process, &error))
    }
}

/// Opens one of the job's files with its rights; the other end of a FIFO is not waited for.
fn open_file(path: &Path, at: usize, truncate: bool, identity: Option<&Identity>) -> io::Result<fs::File> {
    let open = |truncate: bool| {
        let mut options = fs::OpenOptions::new();
        match at {
            0 => options.read(true),
            _ => options.append(true).create(true).mode(0o666),
        };
        let fifo = fs::metadata(path)
            .is_ok_and(|status| std::os::unix::fs::FileTypeExt::is_fifo(&status.file_type()));
        if fifo {
            options.read(true).write(true);
        }
        options.custom_flags(if truncate { OFlag::O_TRUNC.bits() } else { 0 }).open(path)
    };
    acting_as(identity, || {
        open(truncate && at > 0).or_else(|error| if truncate { open(false) } else { Err(error) })
    })?
}

/// What a call complained of, read with the job's rights.
fn read_back(path: &Path, identity: Option<&Identity>) -> Vec<u8> {
    let read = || {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
        let mut text = Vec::new();
        file.take(ERRORS_LIMIT).read_to_end(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    acting_as(identity, read).flatten().unwrap_or_default()
}
