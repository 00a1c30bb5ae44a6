//! Conversion of the state machine's description of a process to a child of the reactor, and of the end of the child
//! to an event.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::fcntl::OFlag;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use htc_base::process::{ChildSpec, LeftoverPolicy, ProcessIdentity, Stdio};
use htc_base::world::World;
use htc_os::identity::run_as;
use htc_os::{SpawnError, SpawnStage, strerror};
use htc_starter::container::on_path;
use htc_starter::{
    END_RECORD_FILE, JavaRecords, JobProcess, START_RECORD_FILE, StandardFile, StartFailure, process,
};

/// Prefix of the variables that mark process families, which every child inherits.
const FAMILY_MARKER_PREFIX: &[u8] = b"_CONDOR_ANCESTOR_";

/// Describes the child for a process of the job (`OsProc::StartJob`).
pub(super) fn job_child_spec(
    process: &JobProcess,
    own: &[(BString, BString)],
    identity: Option<&ProcessIdentity>,
) -> ChildSpec {
    let mut env: Vec<BString> = own
        .iter()
        .filter(|(name, _)| name.starts_with(FAMILY_MARKER_PREFIX))
        .map(|(name, value)| environment_entry(name, value))
        .collect();
    env.extend(process.environment.iter().filter(|entry| !entry.starts_with(FAMILY_MARKER_PREFIX)).cloned());
    ChildSpec {
        argv: process.argv.clone(),
        env,
        cwd: Some(process.cwd.clone()),
        identity: identity.cloned(),
        stdio: [0, 1, 2].map(|at| match process.script {
            true => Stdio::Null,
            false => stdio(&process.files[at], at),
        }),
        session: process.session,
        nice: process.nice,
        limits: process.limits.clone(),
        // The job inherits the ignored SIGPIPE from the daemon, which does not reset it (`OsProc::StartJob`).
        ignore_sigpipe: true,
        private_shm: process.private_shm,
        leftover_policy: LeftoverPolicy::Kill,
        ..ChildSpec::new(&process.program)
    }
}

/// Calls `make` while this process is bound to the given processors, so that the created child inherits the binding.
/// Processors that this process may not use are ignored; if none is left, the child is not bound.
pub(super) fn with_cpu_affinity<T>(processors: &[usize], make: impl FnOnce() -> T) -> T {
    let own = Pid::from_raw(0);
    let before = sched_getaffinity(own).ok().filter(|_| !processors.is_empty());
    let mut wanted = CpuSet::new();
    let mut any = false;
    for &processor in processors {
        let there = before.as_ref().is_some_and(|set| set.is_set(processor).unwrap_or(false));
        any |= there && wanted.set(processor).is_ok();
    }
    if any {
        let _ = sched_setaffinity(own, &wanted);
    }
    let made = make();
    if let Some(before) = before.filter(|_| any) {
        let _ = sched_setaffinity(own, &before);
    }
    made
}

/// Finds the program of a runtime call. A name without a directory is searched for in PATH of this program. Other
/// relative paths are not accepted, because the working directory of the calls is one to which the job can write.
pub(crate) fn find_program(name: &BString, world: &dyn World) -> Option<PathBuf> {
    match name.starts_with(b"/") {
        true => Some(name.to_path_lossy().into_owned()),
        false => on_path(name, world).map(|path| path.to_path_lossy().into_owned()),
    }
}

/// Formats `NAME=value`.
pub(super) fn environment_entry(name: &[u8], value: &[u8]) -> BString {
    [name, b"=", value].concat().into()
}

fn stdio(file: &StandardFile, at: usize) -> Stdio {
    match file {
        // /dev/null is opened like any other file: for reading as standard input, for appending as an output.
        StandardFile::Null => {
            Stdio::File { path: "/dev/null".into(), write: at > 0, truncate: false, append: at > 0 }
        }
        StandardFile::Inherited => Stdio::Inherit,
        StandardFile::Path { path, truncate } => {
            Stdio::File { path: path.clone(), write: at > 0, truncate: *truncate, append: at > 0 }
        }
    }
}

/// Returns the reasons why the standard files cannot be opened, one per file. The reference opens all three files
/// before it gives up, and tries outputs a second time without truncating them. Nothing is returned for a file whose
/// second attempt would succeed.
pub(super) fn open_failures(
    files: &[StandardFile; 3],
    identity: Option<&ProcessIdentity>,
    scratch: &Path,
) -> io::Result<Vec<StartFailure>> {
    use std::os::unix::fs::OpenOptionsExt;
    let attempt = |at: usize| {
        let StandardFile::Path { path, truncate } = &files[at] else { return None };
        let open_or = |create: bool, truncate: bool| {
            let mut options = fs::OpenOptions::new();
            match at {
                0 => options.read(true),
                _ => options.append(true).create(create).mode(0o666),
            };
            let truncate = if truncate { nix::libc::O_TRUNC } else { 0 };
            // `O_NONBLOCK` keeps `open` from blocking on a FIFO; the child waits for the other end.
            options.custom_flags(nix::libc::O_NONBLOCK | truncate).open(scratch.join(path))
        };
        // The reference creates a file only if opening it as an existing file has failed
        // (`safe_create_keep_if_exists`). This matters for the error: `/dev/null/` is not a directory.
        let open = |truncate: bool| match open_or(false, truncate) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && at > 0 => open_or(true, truncate),
            opened => opened,
        };
        let dangling = at > 0 && is_dangling(&scratch.join(path));
        let first =
            if dangling { Err(io::Error::from_raw_os_error(nix::libc::ENOENT)) } else { open(*truncate) };
        let opened = match first {
            Err(error) if dangling => Err(error),
            Err(_) if *truncate => open(false),
            other => other,
        };
        let errno = opened.err()?.raw_os_error().unwrap_or(nix::libc::EIO);
        // Opening a FIFO without a reader fails without blocking; the child waits for a reader, so this is not an
        // error.
        let waits = errno == nix::libc::ENXIO && at > 0;
        (!waits).then(|| process::open_failure(path, at, errno, &strerror(errno)))
    };
    run_as(identity, || (0..3).filter_map(attempt).collect())
}

/// Returns true if an output is a symbolic link to a file that does not exist: the reference never creates a file
/// through a link (`safe_open_wrapper`).
pub(super) fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns true if an output is a symbolic link to a file that does not exist, as seen by the job's account.
pub(super) fn has_dangling_output(
    files: &[StandardFile; 3],
    identity: Option<&ProcessIdentity>,
    scratch: &Path,
) -> bool {
    let dangling = |file: &StandardFile| match file {
        StandardFile::Path { path, .. } => is_dangling(&scratch.join(path)),
        _ => false,
    };
    run_as(identity, || files[1..].iter().any(dangling)).unwrap_or(false)
}

/// Returns the reasons why the job could not be started, in the reference's wording.
pub(super) fn start_failures(process: &JobProcess, error: &SpawnError) -> Vec<StartFailure> {
    let (errno, reason) = (error.errno(), &error.reason());
    if process.script {
        return process::script_failures(process, errno, reason);
    }
    vec![match error.stage {
        SpawnStage::Stdin => process::open_failure(&error.path, 0, errno, reason),
        SpawnStage::Stdout => process::open_failure(&error.path, 1, errno, reason),
        SpawnStage::Stderr => process::open_failure(&error.path, 2, errno, reason),
        SpawnStage::WorkingDirectory => {
            let detail = format!("Cannot access initial working directory \"{}\"", process.cwd.display());
            process::execute_failure(process, &detail, errno, reason)
        }
        SpawnStage::Execute => {
            let detail = error.interpreter.as_ref().map_or_else(String::new, |name| {
                format!("invalid interpreter ({}) specified on first line of script", name.as_bstr())
            });
            process::execute_failure(process, &detail, errno, reason)
        }
        _ => process::execute_failure(process, &error.to_string(), errno, reason),
    }]
}

/// Renames a core file in the job's directory to `core.<cluster>.<proc>`. Returns true if that file exists, even if
/// it is from an earlier run (`checkCoreFile`).
pub(super) fn rename_core_file(
    directory: &Path,
    pid: u32,
    id: &str,
    identity: Option<&ProcessIdentity>,
) -> bool {
    let new = directory.join(format!("core.{id}"));
    let renamed = run_as(identity, || {
        [format!("core.{pid}"), "core".to_owned()]
            .iter()
            .any(|old| fs::rename(directory.join(old), &new).is_ok())
    });
    renamed.unwrap_or(false)
}

/// Reads a wrapper's error file and joins its lines with `|`. The file is read as `reader`, the account that owns the
/// directory.
///
/// If the file exists but cannot be read, the result is an empty string (`UserProc::JobReaper`). The same holds for
/// anything but a regular file: symbolic links are not followed, and a FIFO or device does not block.
pub(super) fn read_wrapper_error(scratch: &Path, reader: Option<&ProcessIdentity>) -> Option<BString> {
    let text = run_as(reader, || read_job_file(&scratch.join(".job_wrapper_failure"))).ok().flatten()?;
    Some(text.trim().replace(b"\n", b"|").into())
}

/// Reads a small file that a job may have created or replaced. Only a regular file is read.
fn read_job_file(path: &Path) -> Option<Vec<u8>> {
    fs::metadata(path).ok()?;
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut text = Vec::new();
    if let Ok(file) = fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
        && file.metadata().is_ok_and(|status| status.is_file())
        && file.take(64 * 1024).read_to_end(&mut text).is_err()
    {
        text.clear();
    }
    Some(text)
}

/// Reads and removes the files written by CondorJavaWrapper.
pub(super) fn take_java_records(scratch: &Path, reader: Option<&ProcessIdentity>) -> JavaRecords {
    let [start, end] = [START_RECORD_FILE, END_RECORD_FILE].map(|name| scratch.join(name));
    let take = || {
        let records = JavaRecords { started: start.exists(), ended: read_job_file(&end) };
        for file in [&start, &end] {
            drop(fs::remove_file(file));
        }
        records
    };
    run_as(reader, take).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_wrapper_error_file_always_counts_but_only_a_plain_file_is_read() {
        let home = tempfile::tempdir().unwrap();
        let scratch = home.path();
        let file = scratch.join(".job_wrapper_failure");
        let outside = scratch.join("outside");
        fs::write(&outside, "secret").unwrap();
        assert_eq!(read_wrapper_error(scratch, None), None);
        fs::write(&file, "one\ntwo\n").unwrap();
        assert_eq!(read_wrapper_error(scratch, None), Some("one|two".into()));
        fs::remove_file(&file).unwrap();
        symlink(&outside, &file).unwrap();
        assert_eq!(read_wrapper_error(scratch, None), Some("".into()), "a link");
        fs::remove_file(&file).unwrap();
        symlink("/no/such/file", &file).unwrap();
        assert_eq!(read_wrapper_error(scratch, None), None, "a link to nothing");
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(read_wrapper_error(scratch, None), Some("".into()), "a FIFO");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(read_wrapper_error(scratch, None), Some("".into()), "a directory");
    }
}
