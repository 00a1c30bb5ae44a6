//! Calls of a container runtime as child processes, and the process that stands for a container.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use bstr::BString;
use nix::fcntl::OFlag;

use super::docker_socket::DockerWatch;
use super::job_child;
use super::run_state::{RunState, RuntimeCall};
use crate::events::error_with_causes;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, ProcessIdentity, SessionMode, Stdio};
use htc_base::time::MonotonicTime;
use htc_os as os;
use htc_os::files::make_directories;
use htc_os::identity::run_as;
use htc_os::{ChildId, clock, strerror};
use htc_starter::container::{DockerUsage, ToolAccount, ToolCall, ToolEnvironment};
use htc_starter::{CallId, JobProcess, StandardFile, StartFailure, StarterEvent, process};

/// Maximum number of bytes kept of the output of a call.
const OUTPUT_LIMIT: usize = 4 << 20;

/// Time to wait for the end of a killed call before it is killed again.
const KILL_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Maximum number of bytes read from a call's error file.
const MAX_ERRORS_SIZE: u64 = 64 * 1024;

impl RunState<'_> {
    /// Starts a call of the container runtime. Its result becomes an event for the state machine.
    pub(super) fn start_runtime_call(&mut self, call: CallId, tool: ToolCall) {
        let until = clock::monotonic_now().plus(tool.limit);
        let (errors, is_long) = (tool.errors.clone(), tool.must_be_recorded());
        let spawned = self.runtime_child_spec(tool).and_then(|(spec, open)| {
            let child = self.reactor.spawn(spec).map_err(|error| io::Error::other(error_with_causes(&error)));
            drop(open);
            child
        });
        match spawned {
            Ok(child) => {
                if is_long {
                    self.record_child(child);
                }
                self.job.runtime_calls.push(RuntimeCall { child, call, deadline: until, errors });
            }
            Err(error) => self.events.push_back(StarterEvent::ToolEnded {
                call,
                exit: None,
                output: Vec::new(),
                errors: error.to_string().into_bytes(),
            }),
        }
    }

    /// Describes the child process of a call. Also returns the file for its standard error, which must stay open
    /// until the child is started.
    fn runtime_child_spec(&self, tool: ToolCall) -> io::Result<(ChildSpec, Option<OwnedFd>)> {
        let is_long = tool.must_be_recorded();
        let name = tool.argv.first().cloned().unwrap_or_default();
        let program = job_child::find_program(&name, self.world)
            .ok_or_else(|| io::Error::other(format!("there is no '{name}'")))?;
        let identity = match tool.actor {
            ToolAccount::Starter => None,
            ToolAccount::Daemon => self.context.sandbox.condor.clone(),
            ToolAccount::Job => self.context.identity.clone(),
        };
        let open = match &tool.errors {
            Some(path) => Some(run_as(self.context.identity.as_ref(), || {
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
            env: self.environment_entries(tool.environment).into_iter().chain(tool.extra_variables).collect(),
            cwd: Some(tool.directory.unwrap_or_else(|| self.context.hook_directory())),
            identity,
            stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, errors],
            session: SessionMode::NewSession,
            discards_excess_output: true,
            dies_with_parent: is_long,
            // A container runtime may leave a process behind that manages the container.
            leftover_policy: LeftoverPolicy::Keep,
            ..ChildSpec::new(program)
        };
        Ok((spec, open))
    }

    fn environment_entries(&self, variables: ToolEnvironment) -> Vec<BString> {
        let own = |home: Option<BString>| {
            let others = self.context.environment.iter().filter(|(name, _)| home.is_none() || name != "HOME");
            let mut all: Vec<BString> =
                others.map(|(name, value)| job_child::environment_entry(name, value)).collect();
            all.extend(home.map(|home| job_child::environment_entry(b"HOME", &home)));
            all
        };
        match variables {
            ToolEnvironment::Inherited => own(None),
            ToolEnvironment::InheritedWithHome(home) => own(home),
            ToolEnvironment::Explicit(these) => these,
        }
    }

    /// Handles the end of a child; returns true if the child was a call of the container runtime.
    pub(super) fn handle_runtime_call_end(
        &mut self,
        child: ChildId,
        exit: Exit,
        output: os::CapturedOutput,
    ) -> bool {
        let Some(at) = self.job.runtime_calls.iter().position(|tool| tool.child == child) else {
            return false;
        };
        let tool = self.job.runtime_calls.remove(at);
        let errors = tool
            .errors
            .map(|path| read_error_file(&path, self.context.identity.as_ref()))
            .unwrap_or_default();
        self.events.push_back(StarterEvent::ToolEnded {
            call: tool.call,
            exit: Some(exit),
            output: output.bytes,
            errors,
        });
        true
    }

    /// Returns the earliest time limit of the running calls, or `None` if no limit is running.
    pub(super) fn runtime_calls_deadline(&self) -> Option<MonotonicTime> {
        self.job.runtime_calls.iter().map(|tool| tool.deadline).min()
    }

    /// Kills calls that have exceeded their time limit. Their ends are handled like those of other calls.
    pub(super) fn kill_slow_runtime_calls(&mut self, now: MonotonicTime) {
        let slow: Vec<ChildId> = self
            .job
            .runtime_calls
            .iter()
            .filter(|tool| tool.deadline <= now)
            .map(|tool| tool.child)
            .collect();
        for child in slow {
            self.warn("the runtime of the container does not answer; the call is killed".to_owned());
            self.reactor.send_signal(child, nix::libc::SIGKILL, os::SignalScope::Family);
            self.job
                .runtime_calls
                .iter_mut()
                .filter(|tool| tool.child == child)
                .for_each(|tool| tool.deadline = now.plus(KILL_RETRY_DELAY));
        }
    }

    pub(super) fn open_files(&mut self, files: &[StandardFile; 3]) {
        let (identity, scratch) = (self.context.identity.as_ref(), &self.context.sandbox.scratch);
        let failures = match job_child::open_failures(files, identity, scratch) {
            Ok(failures) => failures,
            Err(error) => {
                vec![StartFailure::new(format!("cannot change to the job's account: {error}"), 0, 0)]
            }
        };
        self.events.push_back(StarterEvent::FilesOpened(failures));
    }

    pub(super) fn make_directory(&mut self, path: &Path, mode: u32) {
        let make = || make_directories(path, mode);
        let made = run_as(self.context.identity.as_ref(), make).flatten();
        if let Err(error) = made {
            self.warn(format!("cannot create '{}' for the container: {error}", path.display()));
        }
    }

    /// Starts querying docker about the usage of the running container.
    pub(super) fn watch_container(&mut self) {
        let Some(container) = self.job.container.clone() else { return };
        match DockerWatch::new(container, &self.context, self.world) {
            Ok(watch) => self.job.docker = Some(watch),
            Err(why) => self.warn(format!("the resource usage of the container is unknown: {why}")),
        }
    }

    /// Stops querying docker; returns the final usage of the container.
    pub(super) fn stop_watching_container(&mut self) -> Option<DockerUsage> {
        self.job.docker.take()?.into_final_usage(self.reactor)
    }

    /// Starts the process that stands for a container: as the account and with the environment of the daemons, and
    /// with the standard files of the job.
    pub(super) fn start_container(&mut self, process: &JobProcess) -> Result<ChildId, Vec<StartFailure>> {
        let identity = self.context.identity.clone();
        let scratch = self.context.sandbox.scratch.clone();
        let mut open = Vec::new();
        let mut stdio = [Stdio::Null, Stdio::Null, Stdio::Null];
        for (at, file) in process.files.iter().enumerate() {
            stdio[at] = match file {
                StandardFile::Null => Stdio::Null,
                StandardFile::Inherited => Stdio::Inherit,
                StandardFile::Path { path, truncate } => {
                    let file = open_file(&scratch.join(path), at, *truncate, identity.as_ref()).map_err(
                        |error| {
                            let errno = error.raw_os_error().unwrap_or(nix::libc::EIO);
                            vec![process::open_failure(path, at, errno, &strerror(errno))]
                        },
                    )?;
                    open.push(OwnedFd::from(file));
                    Stdio::Descriptor(open.last().map_or(-1, AsRawFd::as_raw_fd))
                }
            };
        }
        let home = self.context.daemon_home.clone();
        let spec = ChildSpec {
            argv: process.argv.clone(),
            env: self.environment_entries(ToolEnvironment::InheritedWithHome(home)),
            cwd: Some(process.cwd.clone()),
            identity: self.context.sandbox.condor.clone(),
            stdio,
            session: SessionMode::NewSession,
            ignore_sigpipe: true,
            leftover_policy: LeftoverPolicy::Keep,
            ..ChildSpec::new(&process.program)
        };
        self.reactor.spawn(spec).map_err(|error| job_child::start_failures(process, &error))
    }
}

/// Opens one of the job's files as the job's account, without waiting for the other end of a FIFO.
fn open_file(
    path: &Path,
    at: usize,
    truncate: bool,
    identity: Option<&ProcessIdentity>,
) -> io::Result<fs::File> {
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
    run_as(identity, || {
        open(truncate && at > 0).or_else(|error| if truncate { open(false) } else { Err(error) })
    })?
}

/// Reads the file with the standard error of a call, as the job's account.
fn read_error_file(path: &Path, identity: Option<&ProcessIdentity>) -> Vec<u8> {
    let read = || {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
        let mut text = Vec::new();
        file.take(MAX_ERRORS_SIZE).read_to_end(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    run_as(identity, read).flatten().unwrap_or_default()
}
