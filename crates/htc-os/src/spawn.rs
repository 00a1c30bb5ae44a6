//! Preparation of a child process. Pipes, C strings and pointer arrays are created before the child exists, so that
//! the child allocates nothing.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::BString;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::stat::Mode;

use htc_base::process::{AncestorStamp, ChildSpec, Namespaces, Stdio};

use super::child::{self, ChildStack, ChildStart};
use super::child_failure::ChildFailure;
use super::child_plan::{AncestorMarker, ChildPlan, ChildStandardFile, RawResourceLimit};
use super::own_process;
use super::pipes::{InputWriter, MAX_DISCARDED_BYTES, OutputReader, OutputSink, Pipe, set_nonblocking};
use super::spawn_error::{SpawnError, SpawnStage};

/// Child that has been started, with our ends of its pipes.
pub(super) struct SpawnedChild {
    pub(super) pid: i32,
    pub(super) stdin: Option<InputWriter>,
    pub(super) stdout: Option<OutputReader>,
    pub(super) stderr: Option<OutputReader>,
    /// Ancestor marker in the child's environment, which identifies the child's family, or `None`.
    pub(super) marker: Option<Vec<u8>>,
    /// Pipe for the failure of a child that may still wait for the other end of a FIFO, or `None`.
    pub(super) deferred_exec_error: Option<DeferredExecError>,
}

/// Pipe through which a child reports a failure that occurs after the child was reported as started.
pub(super) struct DeferredExecError {
    failure_pipe: OwnedFd,
    plan: ChildPlan,
    program: PathBuf,
}

impl DeferredExecError {
    /// Returns the reason why the child, which has ended, did not execute its program, or `None` if the program was
    /// executed.
    pub(super) fn into_error(self) -> Option<SpawnError> {
        let failure = child::read_failure(self.failure_pipe)?;
        Some(to_spawn_error(failure, &self.plan, &self.program, &[]))
    }
}

/// Creator of child processes, which reuses its resources from one spawn to the next.
pub(super) struct Spawner {
    stack: ChildStack,
    dev_null: OwnedFd,
}

impl Spawner {
    pub(super) fn new() -> io::Result<Self> {
        let null = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Spawner { stack: ChildStack::new(), dev_null: null })
    }

    /// Starts a child according to a specification.
    pub(super) fn spawn(&mut self, mut spec: ChildSpec) -> Result<SpawnedChild, SpawnError> {
        let program = spec.program.clone();
        let stage = if spec.namespaces == Namespaces::default() {
            SpawnStage::Process
        } else {
            SpawnStage::Namespace
        };
        let groups = std::mem::take(&mut spec.cgroups);
        let mut ends = ChildPipes::default();
        let standard = ends.open_standard_files(&mut spec, self.dev_null.as_raw_fd())?;
        let open_groups = open_cgroups(&groups)?;
        let mut plan = build_plan(spec, standard, &open_groups)?;
        let process_error = |error: io::Error| {
            let errno = Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN));
            SpawnError::new(stage, &program, errno)
        };
        let mut started = child::start_child(&plan, &mut self.stack).map_err(process_error)?;
        let mut deferred_exec_error = None;
        if matches!(started, ChildStart::Failed(failure) if failure.is_blocked_on_fifo()) {
            let (read, write) = create_output_pipe(&program)?;
            plan.failure_report_fd = Some(write.as_raw_fd());
            started = child::start_child(&plan, &mut self.stack).map_err(process_error)?;
            deferred_exec_error = Some(read);
        }
        let pid = match started {
            ChildStart::Running(pid) => pid,
            ChildStart::Failed(failure) => return Err(to_spawn_error(failure, &plan, &program, &groups)),
        };
        let marker = plan.marker.as_ref().map(|marker| {
            let mut text = marker.prefix.clone();
            text.extend_from_slice(pid.to_string().as_bytes());
            text.extend_from_slice(&marker.suffix);
            text
        });
        let deferred_exec_error =
            deferred_exec_error.map(|report| DeferredExecError { failure_pipe: report, plan, program });
        let ChildPipes { stdin, outputs: [stdout, stderr], child_ends: theirs } = ends;
        drop(theirs);
        Ok(SpawnedChild { pid, stdin, stdout, stderr, marker, deferred_exec_error })
    }
}

/// Ends of a child's pipes. The child's ends are closed in this process as soon as the child has its copies.
#[derive(Default)]
struct ChildPipes {
    stdin: Option<InputWriter>,
    outputs: [Option<OutputReader>; 2],
    child_ends: Vec<OwnedFd>,
}

impl ChildPipes {
    /// Opens the child's three standard files.
    fn open_standard_files(
        &mut self,
        spec: &mut ChildSpec,
        null: RawFd,
    ) -> Result<[ChildStandardFile; 3], SpawnError> {
        let stdio = std::mem::replace(&mut spec.stdio, [Stdio::Closed, Stdio::Closed, Stdio::Closed]);
        let program = &spec.program;
        let mut standard = [ChildStandardFile::Closed, ChildStandardFile::Closed, ChildStandardFile::Closed];
        for (number, stdio) in stdio.into_iter().enumerate() {
            standard[number] = match stdio {
                Stdio::Null => ChildStandardFile::DuplicateOf(null),
                Stdio::Closed => ChildStandardFile::Closed,
                Stdio::Inherit => inherit_descriptor(number as i32),
                Stdio::Descriptor(descriptor) => inherit_descriptor(descriptor),
                Stdio::Bytes(bytes) => self.feed_stdin(bytes, program)?,
                Stdio::Capture { .. } | Stdio::Stream | Stdio::Stdout if number == 0 => {
                    return Err(SpawnError::new(SpawnStage::Stdin, program, Errno::EINVAL));
                }
                Stdio::Stdout => ChildStandardFile::Stdout,
                Stdio::Capture { .. } | Stdio::Stream => {
                    let (read, write) = create_output_pipe(program)?;
                    self.outputs[number - 1] =
                        Some(OutputReader::new(read, output_sink(&stdio, spec.discards_excess_output)));
                    self.keep_child_end(write)
                }
                Stdio::File { path, write, truncate, append } => {
                    let access = if write { libc::O_WRONLY | libc::O_CREAT } else { libc::O_RDONLY };
                    let truncate = if truncate { libc::O_TRUNC } else { 0 };
                    let append = if append { libc::O_APPEND } else { 0 };
                    ChildStandardFile::Open {
                        path: to_c_string(path.as_os_str().as_bytes(), program)?,
                        flags: access | truncate | append,
                    }
                }
            };
        }
        Ok(standard)
    }

    /// Creates a pipe for standard input and writes the first bytes to it.
    fn feed_stdin(&mut self, bytes: Vec<u8>, program: &Path) -> Result<ChildStandardFile, SpawnError> {
        let failed = |errno| SpawnError::new(SpawnStage::Pipe, program, errno);
        let pipe = Pipe::new().map_err(failed)?;
        set_nonblocking(&pipe.write).map_err(failed)?;
        let mut writer = InputWriter::new(pipe.write, pipe.read.try_clone().ok(), bytes);
        // The first bytes are in the pipe before the child starts, so that the child can read them even if this
        // program is killed.
        writer.write();
        self.stdin = Some(writer);
        Ok(self.keep_child_end(pipe.read))
    }

    fn keep_child_end(&mut self, end: OwnedFd) -> ChildStandardFile {
        let standard = ChildStandardFile::DuplicateOf(end.as_raw_fd());
        self.child_ends.push(end);
        standard
    }
}

/// Creates a pipe for an output; our read end is non-blocking.
fn create_output_pipe(program: &Path) -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let failed = |errno| SpawnError::new(SpawnStage::Pipe, program, errno);
    let pipe = Pipe::new().map_err(failed)?;
    set_nonblocking(&pipe.read).map_err(failed)?;
    Ok((pipe.read, pipe.write))
}

/// Opens the file `cgroup.procs` of each control group.
fn open_cgroups(groups: &[PathBuf]) -> Result<Vec<OwnedFd>, SpawnError> {
    let opened = groups.iter().map(|group| {
        open(&group.join("cgroup.procs"), OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|errno| SpawnError::new(SpawnStage::Cgroup, group, errno))
    });
    opened.collect()
}

/// Builds the plan of a child from its specification and the open files of its control groups.
fn build_plan(
    spec: ChildSpec,
    standard: [ChildStandardFile; 3],
    cgroups: &[OwnedFd],
) -> Result<ChildPlan, SpawnError> {
    let program = &spec.program;
    let mut env = to_c_strings(&spec.env, program)?;
    let marker = spec.ancestor_stamp.map(|ancestor| insert_marker(&mut env, ancestor));
    let path = |path: &Path| to_c_string(path.as_os_str().as_bytes(), path);
    let mounts = spec.mounts.iter().map(|(source, target)| Ok((path(source)?, path(target)?)));
    let limits = spec.limits.iter().map(|limit| RawResourceLimit {
        kind: limit.kind,
        soft: limit.soft.unwrap_or(libc::RLIM_INFINITY),
        hard: limit.hard,
    });
    Ok(ChildPlan {
        program: path(program)?,
        argv: to_c_strings(&spec.argv, program)?,
        env,
        marker,
        session: spec.session,
        parent_to_die_with: spec.dies_with_parent.then(|| std::process::id().cast_signed()),
        cgroups: cgroups.iter().map(AsRawFd::as_raw_fd).collect(),
        mounts: mounts.collect::<Result<_, SpawnError>>()?,
        private_shm: spec.private_shm,
        namespaces: spec.namespaces,
        id_maps: build_id_maps(spec.namespaces),
        limits: limits.collect(),
        nice: (spec.nice != 0).then(|| own_process::own_nice_value().saturating_add(spec.nice).min(19)),
        umask: spec.umask,
        identity: spec.identity,
        standard_files: standard,
        kept_descriptors: spec.inherited_descriptors,
        cwd: spec.cwd.as_deref().map(path).transpose()?,
        blocked_signals: spec.blocked_signals,
        ignore_sigpipe: spec.ignore_sigpipe,
        failure_report_fd: None,
    })
}

/// Returns the contents of `uid_map` and `gid_map`, which map our user id and group id to themselves in a user
/// namespace. A private network requires a user namespace if we are not root; otherwise returns `None`.
fn build_id_maps(namespaces: Namespaces) -> Option<[CString; 2]> {
    if !namespaces.no_network || super::identity::can_switch_account() {
        return None;
    }
    let map = |id: u32| CString::new(format!("{id} {id} 1")).ok();
    let (user, group) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
    Some([map(user)?, map(group)?])
}

/// Returns the set-up of a standard file that duplicates one of our descriptors; the file is closed if our descriptor
/// is not open.
fn inherit_descriptor(descriptor: i32) -> ChildStandardFile {
    if own_process::is_descriptor_open(descriptor) {
        ChildStandardFile::DuplicateOf(descriptor)
    } else {
        ChildStandardFile::Closed
    }
}

fn output_sink(stdio: &Stdio, reads_on: bool) -> OutputSink {
    match stdio {
        Stdio::Capture { limit } => {
            let dropped = if reads_on { MAX_DISCARDED_BYTES } else { 0 };
            OutputSink::Capture { limit: *limit, captured: Vec::new(), cut: false, dropped }
        }
        _ => OutputSink::Pieces,
    }
}

fn to_c_string(bytes: &[u8], path: &Path) -> Result<CString, SpawnError> {
    CString::new(bytes).map_err(|_| SpawnError::new(SpawnStage::NulByte, path, Errno::EINVAL))
}

fn to_c_strings(list: &[BString], program: &Path) -> Result<Vec<CString>, SpawnError> {
    list.iter().map(|item| to_c_string(item, program)).collect()
}

/// Inserts a placeholder for the ancestor marker after the markers of earlier generations, in the order of `env.cpp`.
fn insert_marker(env: &mut Vec<CString>, ancestor: AncestorStamp) -> AncestorMarker {
    let older = |text: &CString| text.as_bytes().starts_with(b"_CONDOR_ANCESTOR_");
    let place = env.iter().take_while(|text| older(text)).count();
    env.insert(place, CString::default());
    AncestorMarker {
        env_index: place,
        prefix: format!("_CONDOR_ANCESTOR_{}=", std::process::id()).into_bytes(),
        suffix: format!(":{}:{}", ancestor.time, ancestor.random).into_bytes(),
    }
}

/// Converts a failure that the child reported to an error that names the file concerned.
fn to_spawn_error(
    failure: ChildFailure,
    plan: &ChildPlan,
    program: &Path,
    cgroups: &[std::path::PathBuf],
) -> SpawnError {
    let path = |text: &CString| Path::new(std::ffi::OsStr::from_bytes(text.as_bytes())).to_owned();
    let standard = |number: usize| match &plan.standard_files[number] {
        ChildStandardFile::Open { path: file, .. } => path(file),
        ChildStandardFile::Closed | ChildStandardFile::DuplicateOf(_) | ChildStandardFile::Stdout => {
            program.to_owned()
        }
    };
    let concerned = match failure.stage {
        SpawnStage::Stdin => standard(0),
        SpawnStage::Stdout => standard(1),
        SpawnStage::Stderr => standard(2),
        SpawnStage::WorkingDirectory => plan.cwd.as_ref().map_or_else(|| program.to_owned(), path),
        SpawnStage::Cgroup => cgroups.get(failure.index).cloned().unwrap_or_default(),
        SpawnStage::Mount => {
            plan.mounts.get(failure.index).map_or_else(|| program.to_owned(), |(_, target)| path(target))
        }
        _ => program.to_owned(),
    };
    let errno = Errno::from_raw(failure.errno);
    let mut error = SpawnError::new(failure.stage, &concerned, errno);
    if failure.stage == SpawnStage::Execute && errno == Errno::ENOENT {
        // The child resolves a relative path in its own working directory.
        let file = plan.cwd.as_ref().map_or_else(|| program.to_owned(), |cwd| path(cwd).join(program));
        error.interpreter = interpreter_of(&file);
    }
    error
}

/// Returns the interpreter in the first line of a script (`#!`), even if the interpreter does not exist.
pub fn interpreter_of(file: &Path) -> Option<BString> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut head).ok()?;
    // The line is split as the kernel does, which treats a carriage return as part of the interpreter's name.
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
    words.next().map(BString::from)
}
