//! Where a hook runs: working directory, scratch directory with the job's files, environment.

use std::io;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use tempfile::TempDir;

use super::case::Case;
use crate::classad::{ClassAd, format::long};
use crate::hook::{Caller, HookType};
use crate::os::files;
use crate::process::{Exit, Identity};
use crate::quirks::{Quirk, Quirks};
use crate::runner::hook_environment::HookEnvironment;
use crate::starter::environment::Publication;
use crate::starter::{Overrides, Settings, job_info};
use crate::world::{Account, World};

/// The search path of a daemon that an ordinary system has started.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of a daemon that was started by a master which an ordinary system has started: nothing of the user's
/// shell. `account` is that of the daemons.
pub fn caller_environment(
    account: Option<&Account>,
    config: Option<&Path>,
    quirks: Quirks,
) -> HookEnvironment {
    use std::os::unix::ffi::OsStrExt;
    let pair = |name: &str, value: &[u8]| (BString::from(name), BString::from(value));
    let name: &[u8] = account.map_or(b"root", |account| &account.name);
    let home: &[u8] = account.map_or(b"/root", |account| &account.home);
    let mut own =
        vec![pair("HOME", home), pair("LOGNAME", name), pair("PATH", PATH.as_bytes()), pair("USER", name)];
    if let Some(config) = config {
        own.push(pair("CONDOR_CONFIG", config.as_os_str().as_bytes()));
    }
    HookEnvironment::of_daemon(own, quirks)
}

/// The directories of one call; they are removed when it is dropped.
#[derive(Debug)]
pub struct Place {
    root: TempDir,
    /// The working directory of the caller.
    pub directory: PathBuf,
    /// The scratch directory of the job, for hooks of the starter.
    pub scratch: Option<PathBuf>,
}

impl Place {
    /// Makes the directories that a caller of this type has: `log` for startd and router, the job's scratch directory with
    /// its files for the starter. They belong to `owner` where one is given.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn make(case: &Case, owner: Option<&Identity>, quirks: Quirks) -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("htc-hook-test.").tempdir()?;
        files::make_directory(&root.path().join("log"), 0o755, owner)?;
        // The account must be able to pass.
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755))?;
        if case.hook.caller() != Caller::Starter {
            let directory = root.path().join("log");
            return Ok(Place { root, directory, scratch: None });
        }
        let execute = root.path().join("execute");
        files::make_directory(&execute, 0o755, None)?;
        let outer = execute.join(format!("dir_{}", std::process::id()));
        files::make_directory(&outer, 0o755, None)?;
        let scratch = outer.join("scratch");
        files::make_directory(&scratch, 0o700, owner)?;
        files::replace(&scratch.join(".job.ad"), &long::print(&case.job), 0o644, owner)?;
        files::replace(&scratch.join(".machine.ad"), &machine_ad(case, quirks), 0o644, owner)?;
        Ok(Place { root, directory: scratch.clone(), scratch: Some(scratch) })
    }

    /// The directory that holds everything.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The whole environment of the call: the daemon's, and what starter and shadow add.
    pub fn environment(
        &self,
        case: &Case,
        daemon: HookEnvironment,
        account: Option<&Account>,
        settings: &Settings,
        world: &dyn World,
        quirks: Quirks,
    ) -> HookEnvironment {
        let mut environment = daemon;
        let Some(scratch) = &self.scratch else { return environment };
        let execute = self.root().join("execute");
        use std::os::unix::ffi::OsStrExt;
        environment.variables.set("_CONDOR_EXECUTE", execute.as_os_str().as_bytes());
        let mut ad = case.job.clone();
        // A job that no starter would take on still has a place to run its hooks in.
        let info = job_info::read(&mut ad, scratch, &Overrides::default(), world).unwrap_or_else(|_| {
            let mut plain = ClassAd::new();
            plain.set("Cmd", "/bin/true");
            let fallback = job_info::read(&mut plain, scratch, &Overrides::default(), world);
            fallback.unwrap_or_else(|_| empty_job(scratch))
        });
        let empty = quirks.has(Quirk::MachineAdEmpty) && !case.with_shadow;
        let machine = if empty { ClassAd::new() } else { case.slot.clone() };
        let slot = case.slot.string("Name").map_or(&b""[..], |name| name.as_bytes());
        let slot = slot.split(|&byte| byte == b'@').next().unwrap_or_default();
        let after_job = case.hook == HookType::JobExit;
        Publication {
            settings,
            job: &info,
            ad: &case.job,
            machine: &machine,
            scratch,
            temporary: scratch,
            starter_pid: std::process::id(),
            slot: BStr::new(slot),
            home: account.map(|account| account.home.as_bstr()),
            output_ad: None,
            main_exit: if after_job { main_exit(&case.job) } else { None },
            pids: &[],
            quirks,
            world,
        }
        .publish(&mut environment.variables);
        environment
    }
}

/// `.machine.ad`: the slot the job was accepted with; 25.14 leaves the file of a fetched job empty.
fn machine_ad(case: &Case, quirks: Quirks) -> Vec<u8> {
    if quirks.has(Quirk::MachineAdEmpty) && !case.with_shadow {
        return Vec::new();
    }
    long::print(&case.slot)
}

fn empty_job(scratch: &Path) -> job_info::JobInfo {
    use std::os::unix::ffi::OsStrExt;
    job_info::JobInfo {
        cluster: 1,
        proc: 0,
        subproc: 0,
        iwd: scratch.as_os_str().as_bytes().into(),
        files: [None, None, None],
        overrides: [None, None, None],
    }
}

/// How the main job ended, as the ad that JOB_EXIT reads says it.
fn main_exit(job: &ClassAd) -> Option<Exit> {
    let number = |name: &str| job.literal(name).and_then(|value| value.as_int());
    if let Some(code) = number("ExitCode") {
        return Some(Exit::Code(u8::try_from(code & 0xff).unwrap_or(0)));
    }
    let signal = i32::try_from(number("ExitSignal")?).ok()?;
    Some(Exit::Signal { number: signal, core_dumped: false })
}
