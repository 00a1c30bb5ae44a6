//! Checks of directories, disk space and clocks.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, eaccess};

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use htc_config::macro_definition::SourceKind;
use htc_os::identity;
use htc_runner::slot::{check_directories, check_room};

/// Maximum difference between the clock of a file system and the system clock.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(5);

/// Checks EXECUTE, LOG, SPOOL and the clock.
pub(super) fn check_host_directories(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    if let Err(error) = check_directories(input.execute.as_deref(), input.log.as_deref()) {
        let subject = if error.parameter == "LOG" { "log" } else { "execute" };
        return vec![DoctorCheck::failed_with_fix(subject, &error), check_clock(input, None)];
    }
    let mut all: Vec<PathBuf> = input.execute.iter().cloned().collect();
    all.extend(input.settings.slots.iter().filter_map(|slot| slot.execute.clone()));
    all.sort();
    all.dedup();
    let mut checks: Vec<DoctorCheck> = all.iter().flat_map(|path| check_execute(path)).collect();
    checks.extend(all.iter().filter_map(|path| check_execute_owner(input, path)));
    checks.extend(input.log.iter().map(|log| check_log_directory(input, log)));
    checks.extend(check_spool(input));
    checks.push(check_clock(input, input.execute.as_deref()));
    checks
}

/// Checks if the directory of a job can be created there, and its properties.
fn check_execute(path: &Path) -> Vec<DoctorCheck> {
    let shown = path.display();
    let attempt = tempfile::Builder::new().prefix("doctor.").tempdir_in(path);
    if let Err(error) = attempt.and_then(tempfile::TempDir::close) {
        let found = format!("cannot create a directory in '{shown}': {error}");
        return vec![DoctorCheck::failed(
            "execute",
            found,
            "give the account that runs the slots permission to write there",
        )];
    }
    if let Err(reason) = check_room(path) {
        return vec![DoctorCheck::failed(
            "execute",
            reason,
            "make room, or set EXECUTE to another file system",
        )];
    }
    let status = statvfs(path).ok();
    let free = status.map_or(0, |status| {
        (u128::from(status.blocks_available()) * u128::from(status.fragment_size().max(1))) >> 20
    });
    let mut checks = vec![DoctorCheck::passed("execute", format!("'{shown}': {free} MiB are free"))];
    if status.is_some_and(|status| status.flags().contains(FsFlags::ST_NOEXEC)) {
        let found = format!("'{shown}' is mounted with noexec: a program that comes with its job cannot run");
        checks.push(DoctorCheck::noted(
            "execute",
            found,
            "mount it without noexec, or set EXECUTE to another place",
        ));
    }
    checks
}

/// Reports an EXECUTE directory that belongs to another account. A startd would not use slots with this directory
/// (`check_execute_dir_perms`), but htc-slot-run does.
fn check_execute_owner(input: &DoctorInput<'_>, path: &Path) -> Option<DoctorCheck> {
    let identity = input.account.as_ref().ok()?.identity.as_ref();
    let wanted = identity.map_or_else(identity::effective_uid, |identity| identity.uid);
    let owner = std::fs::metadata(path).ok()?.uid();
    (owner != wanted).then(|| {
        let shown = path.display();
        let found = format!(
            "'{shown}' belongs to uid {owner}, but HTCondor's account is uid {wanted}: htc-slot-run accepts that, but the slots of a startd would be broken"
        );
        DoctorCheck::noted("execute", found, format!("chown {wanted} '{shown}' for a pool"))
    })
}

/// Checks that hooks can use LOG, their working directory, under their own account.
fn check_log_directory(input: &DoctorInput<'_>, log: &Path) -> DoctorCheck {
    let shown = log.display();
    let identity = input.account.as_ref().ok().and_then(|account| account.identity.as_ref());
    let access = identity::run_as(identity, || eaccess(log, AccessFlags::X_OK));
    match access.and_then(|access| access.map_err(std::io::Error::from)) {
        Ok(()) => DoctorCheck::passed("log", format!("hooks run in '{shown}'")),
        Err(error) => DoctorCheck::failed(
            "log",
            format!("hooks cannot enter '{shown}': {error}"),
            "give the account of the hooks permission to enter it and all directories above it",
        ),
    }
}

/// Checks SPOOL. An execution point stores nothing in it, but job hooks and routers may.
fn check_spool(input: &DoctorInput<'_>) -> Option<DoctorCheck> {
    let view = input.config.view(input.world);
    let setting = view.string("SPOOL").ok().flatten().filter(|setting| !setting.origin.is_default())?;
    let path = PathBuf::from(setting.value.to_string());
    Some(match path.is_dir() {
        true => DoctorCheck::passed("spool", format!("'{}'; the slots store nothing there", path.display())),
        false => DoctorCheck::noted(
            "spool",
            format!(
                "{}: SPOOL: '{}' is not a directory; the slots do not need it",
                setting.origin,
                path.display()
            ),
            "create it if your routers or job hooks use it",
        ),
    })
}

/// Compares the clock with the modification times of the configuration files, and with the clock of the file
/// system.
fn check_clock(input: &DoctorInput<'_>, execute: Option<&Path>) -> DoctorCheck {
    let now = SystemTime::now();
    let sources = input.config.set.sources().iter().filter(|source| source.kind == SourceKind::File);
    for source in sources {
        let path = PathBuf::from(source.name.to_string());
        let written = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        if let Ok(ahead) = written.unwrap_or(now).duration_since(now)
            && ahead > MAX_CLOCK_SKEW
        {
            let found = format!("'{}' was written {} s in the future", path.display(), ahead.as_secs());
            return DoctorCheck::noted(
                "clock",
                found,
                "set the clock: deadlines of jobs and times in hooks depend on it",
            );
        }
    }
    let difference = execute.and_then(|execute| {
        let file = tempfile::NamedTempFile::new_in(execute).ok()?;
        let created = file.as_file().metadata().and_then(|metadata| metadata.modified()).ok()?;
        let now = SystemTime::now();
        Some(created.duration_since(now).unwrap_or_else(|error| error.duration()))
    });
    match difference {
        Some(difference) if difference > MAX_CLOCK_SKEW => DoctorCheck::noted(
            "clock",
            format!(
                "the clock of the file system of EXECUTE differs from the system clock by {} s",
                difference.as_secs()
            ),
            "synchronise both clocks, because programs compare timestamps of files",
        ),
        _ => DoctorCheck::passed("clock", "the system clock agrees with the timestamps of files"),
    }
}
