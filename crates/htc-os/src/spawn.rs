//! From the description of a child to the plan that it carries out: all pipes, texts and pointers are made here.

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

use htc_base::process::{Ancestor, ChildSpec, Namespaces, Stdio};

use super::child::{self, Stack};
use super::child_failure::Failure;
use super::child_plan::{Marker, Plan, RawLimit, Standard};
use super::pipes::{DROPPED, Pipe, Reader, Sink, Writer, set_nonblocking};
use super::spawn_error::{SpawnError, Stage};

/// A child that runs, with our ends of its pipes.
pub(super) struct Spawned {
    pub(super) pid: i32,
    pub(super) stdin: Option<Writer>,
    pub(super) stdout: Option<Reader>,
    pub(super) stderr: Option<Reader>,
    /// The text of its ancestor marker, by which its family is known.
    pub(super) marker: Option<Vec<u8>>,
    /// Of a child that may still wait for the other end of a FIFO.
    pub(super) late: Option<Late>,
}

/// How to learn that a child gave up after it had been reported as started.
pub(super) struct Late {
    report: OwnedFd,
    plan: Plan,
    program: PathBuf,
}

impl Late {
    /// Why the child, which has ended, did not execute its program; `None` if it did.
    pub(super) fn failure(self) -> Option<SpawnError> {
        let failure = child::read_failure(self.report)?;
        Some(explain(failure, &self.plan, &self.program, &[]))
    }
}

/// What is kept from one spawn to the next.
pub(super) struct Spawner {
    stack: Stack,
    null: OwnedFd,
}

impl Spawner {
    pub(super) fn new() -> io::Result<Self> {
        let null = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Spawner { stack: Stack::new(), null })
    }

    /// Makes the child.
    pub(super) fn spawn(&mut self, mut spec: ChildSpec) -> Result<Spawned, SpawnError> {
        let program = spec.program.clone();
        let stage = if spec.namespaces == Namespaces::default() { Stage::Process } else { Stage::Namespace };
        let groups = std::mem::take(&mut spec.cgroups);
        let mut ends = Ends::default();
        let standard = ends.standard(&mut spec, self.null.as_raw_fd())?;
        let open_groups = open_cgroups(&groups)?;
        let mut plan = plan(spec, standard, &open_groups)?;
        let process_error = |error: io::Error| {
            let errno = Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN));
            SpawnError::new(stage, &program, errno)
        };
        let mut started = child::start(&plan, &mut self.stack).map_err(process_error)?;
        let mut late = None;
        if started.is_err_and(|failure| failure.is_fifo()) {
            let (read, write) = pipe_to_read(&program)?;
            plan.waits = Some(write.as_raw_fd());
            started = child::start(&plan, &mut self.stack).map_err(process_error)?;
            late = Some(read);
        }
        let pid = started.map_err(|failure| explain(failure, &plan, &program, &groups))?;
        let marker = plan.marker.as_ref().map(|marker| {
            let mut text = marker.before.clone();
            text.extend_from_slice(pid.to_string().as_bytes());
            text.extend_from_slice(&marker.after);
            text
        });
        let late = late.map(|report| Late { report, plan, program });
        let Ends { stdin, outputs: [stdout, stderr], theirs } = ends;
        drop(theirs);
        Ok(Spawned { pid, stdin, stdout, stderr, marker, late })
    }
}

/// The ends of a child's pipes: ours, and those that it gets, which are closed here once it has them.
#[derive(Default)]
struct Ends {
    stdin: Option<Writer>,
    outputs: [Option<Reader>; 2],
    theirs: Vec<OwnedFd>,
}

impl Ends {
    /// What the child has as its three standard files.
    fn standard(&mut self, spec: &mut ChildSpec, null: RawFd) -> Result<[Standard; 3], SpawnError> {
        let stdio = std::mem::replace(&mut spec.stdio, [Stdio::Closed, Stdio::Closed, Stdio::Closed]);
        let program = &spec.program;
        let mut standard = [Standard::Closed, Standard::Closed, Standard::Closed];
        for (number, stdio) in stdio.into_iter().enumerate() {
            standard[number] = match stdio {
                Stdio::Null => Standard::From(null),
                Stdio::Closed => Standard::Closed,
                Stdio::Inherit => inherited(number as i32),
                Stdio::Descriptor(descriptor) => inherited(descriptor),
                Stdio::Bytes(bytes) => self.given(bytes, program)?,
                Stdio::Capture { .. } | Stdio::Pieces | Stdio::Stdout if number == 0 => {
                    return Err(SpawnError::new(Stage::Stdin, program, Errno::EINVAL));
                }
                Stdio::Stdout => Standard::Stdout,
                Stdio::Capture { .. } | Stdio::Pieces => {
                    let (read, write) = pipe_to_read(program)?;
                    self.outputs[number - 1] = Some(Reader::new(read, sink(&stdio, spec.reads_on)));
                    self.keep(write)
                }
                Stdio::File { path, write, truncate, append } => {
                    let access = if write { libc::O_WRONLY | libc::O_CREAT } else { libc::O_RDONLY };
                    let truncate = if truncate { libc::O_TRUNC } else { 0 };
                    let append = if append { libc::O_APPEND } else { 0 };
                    Standard::Open {
                        path: text(path.as_os_str().as_bytes(), program)?,
                        flags: access | truncate | append,
                    }
                }
            };
        }
        Ok(standard)
    }

    /// Standard input with these bytes.
    fn given(&mut self, bytes: Vec<u8>, program: &Path) -> Result<Standard, SpawnError> {
        let failed = |errno| SpawnError::new(Stage::Pipe, program, errno);
        let pipe = Pipe::new().map_err(failed)?;
        set_nonblocking(&pipe.write).map_err(failed)?;
        let mut writer = Writer::new(pipe.write, pipe.read.try_clone().ok(), bytes);
        // What the pipe takes is there before the child is: it reads that even if we are killed now.
        writer.write();
        self.stdin = Some(writer);
        Ok(self.keep(pipe.read))
    }

    fn keep(&mut self, end: OwnedFd) -> Standard {
        let standard = Standard::From(end.as_raw_fd());
        self.theirs.push(end);
        standard
    }
}

/// A pipe whose end for reading is ours.
fn pipe_to_read(program: &Path) -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let failed = |errno| SpawnError::new(Stage::Pipe, program, errno);
    let pipe = Pipe::new().map_err(failed)?;
    set_nonblocking(&pipe.read).map_err(failed)?;
    Ok((pipe.read, pipe.write))
}

/// The `cgroup.procs` of each group.
fn open_cgroups(groups: &[PathBuf]) -> Result<Vec<OwnedFd>, SpawnError> {
    let opened = groups.iter().map(|group| {
        open(&group.join("cgroup.procs"), OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())
            .map_err(|errno| SpawnError::new(Stage::Cgroup, group, errno))
    });
    opened.collect()
}

/// What the child carries out; its groups are open.
fn plan(spec: ChildSpec, standard: [Standard; 3], cgroups: &[OwnedFd]) -> Result<Plan, SpawnError> {
    let program = &spec.program;
    let mut env = texts(&spec.env, program)?;
    let marker = spec.ancestor.map(|ancestor| insert_marker(&mut env, ancestor));
    let path = |path: &Path| text(path.as_os_str().as_bytes(), path);
    let mounts = spec.mounts.iter().map(|(source, target)| Ok((path(source)?, path(target)?)));
    let limits = spec.limits.iter().map(|limit| RawLimit {
        kind: limit.kind,
        soft: limit.soft.unwrap_or(libc::RLIM_INFINITY),
        hard: limit.hard,
    });
    Ok(Plan {
        program: path(program)?,
        argv: texts(&spec.argv, program)?,
        env,
        marker,
        session: spec.session,
        dies_with: spec.dies_with_us.then(|| std::process::id().cast_signed()),
        cgroups: cgroups.iter().map(AsRawFd::as_raw_fd).collect(),
        mounts: mounts.collect::<Result<_, SpawnError>>()?,
        private_shm: spec.private_shm,
        namespaces: spec.namespaces,
        maps: maps(spec.namespaces),
        limits: limits.collect(),
        nice: (spec.nice != 0).then(|| child::nice().saturating_add(spec.nice).min(19)),
        umask: spec.umask,
        identity: spec.identity,
        standard,
        kept: spec.kept,
        cwd: spec.cwd.as_deref().map(path).transpose()?,
        blocked: spec.blocked_signals,
        ignore_sigpipe: spec.ignore_sigpipe,
        waits: None,
    })
}

/// Who we are in a user namespace, which a network of one's own takes without root: who we are outside.
fn maps(namespaces: Namespaces) -> Option<[CString; 2]> {
    if !namespaces.network || super::identity::may_switch() {
        return None;
    }
    let map = |id: u32| CString::new(format!("{id} {id} 1")).ok();
    let (user, group) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
    Some([map(user)?, map(group)?])
}

/// A descriptor of ours; closed in the child if it is not open here.
fn inherited(descriptor: i32) -> Standard {
    if child::is_open(descriptor) { Standard::From(descriptor) } else { Standard::Closed }
}

fn sink(stdio: &Stdio, reads_on: bool) -> Sink {
    match stdio {
        Stdio::Capture { limit } => {
            let dropped = if reads_on { DROPPED } else { 0 };
            Sink::Capture { limit: *limit, captured: Vec::new(), cut: false, dropped }
        }
        _ => Sink::Pieces,
    }
}

fn text(bytes: &[u8], path: &Path) -> Result<CString, SpawnError> {
    CString::new(bytes).map_err(|_| SpawnError::new(Stage::Text, path, Errno::EINVAL))
}

fn texts(list: &[BString], program: &Path) -> Result<Vec<CString>, SpawnError> {
    list.iter().map(|item| text(item, program)).collect()
}

/// Makes room for the marker behind those of older generations, as `env.cpp` orders them.
fn insert_marker(env: &mut Vec<CString>, ancestor: Ancestor) -> Marker {
    let older = |text: &CString| text.as_bytes().starts_with(b"_CONDOR_ANCESTOR_");
    let place = env.iter().take_while(|text| older(text)).count();
    env.insert(place, CString::default());
    Marker {
        place,
        before: format!("_CONDOR_ANCESTOR_{}=", std::process::id()).into_bytes(),
        after: format!(":{}:{}", ancestor.time, ancestor.random).into_bytes(),
    }
}

/// Turns the child's report into an error that names the file.
fn explain(failure: Failure, plan: &Plan, program: &Path, cgroups: &[std::path::PathBuf]) -> SpawnError {
    let path = |text: &CString| Path::new(std::ffi::OsStr::from_bytes(text.as_bytes())).to_owned();
    let standard = |number: usize| match &plan.standard[number] {
        Standard::Open { path: file, .. } => path(file),
        Standard::Closed | Standard::From(_) | Standard::Stdout => program.to_owned(),
    };
    let concerned = match failure.stage {
        Stage::Stdin => standard(0),
        Stage::Stdout => standard(1),
        Stage::Stderr => standard(2),
        Stage::WorkingDirectory => plan.cwd.as_ref().map_or_else(|| program.to_owned(), path),
        Stage::Cgroup => cgroups.get(failure.index).cloned().unwrap_or_default(),
        Stage::Mount => {
            plan.mounts.get(failure.index).map_or_else(|| program.to_owned(), |(_, target)| path(target))
        }
        _ => program.to_owned(),
    };
    let errno = Errno::from_raw(failure.errno);
    let mut error = SpawnError::new(failure.stage, &concerned, errno);
    if failure.stage == Stage::Execute && errno == Errno::ENOENT {
        // Under a relative path the child looked elsewhere than we do.
        let file = plan.cwd.as_ref().map_or_else(|| program.to_owned(), |cwd| path(cwd).join(program));
        error.interpreter = interpreter_of(&file);
    }
    error
}

/// The interpreter that the first line of a script names, whether it is there or not.
pub fn interpreter_of(file: &Path) -> Option<BString> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut head).ok()?;
    // Split as the kernel does it, which takes a carriage return for part of the name.
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty());
    words.next().map(BString::from)
}
