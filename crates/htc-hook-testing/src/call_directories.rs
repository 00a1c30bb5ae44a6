//! Directories and environment of a hook: its working directory, and for hooks of the starter the scratch directory
//! with the job's files.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::caller_ads::{VerdictInputs, exit_in_ad};
use super::case::Case;
use super::scratch_directory::ScratchDirectory;
use htc_base::process::ProcessIdentity;
use htc_base::quirks::QuirkMode;
use htc_base::world::Account;
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::{HookCaller, HookType};
use htc_os::{files, identity};
use htc_runner::hook_environment::HookEnvironment;
use htc_starter::environment::EnvironmentInputs;
use htc_starter::{has_slot_ad, hook_tmpdir_decision, job_info, process};

/// Name of the file in which a starter writes the job ad to the scratch directory.
const JOB_AD_FILE: &str = ".job.ad";
const MACHINE_AD_FILE: &str = ".machine.ad";

/// Directories of one hook call, which are removed when the value is dropped.
#[derive(Debug)]
pub struct CallDirectories {
    root: ScratchDirectory,
    /// Working directory of the hook.
    pub directory: PathBuf,
    /// Scratch directory of the job, for starter hooks only.
    pub scratch: Option<PathBuf>,
    /// Case with the ads as completed by the caller.
    case: Case,
}

impl CallDirectories {
    /// Creates the directories of a hook: `log` for hooks of the startd, shadow and router; the job's scratch
    /// directory with its files for hooks of the starter. The directories belong to `owner` if it is given.
    ///
    /// # Errors
    /// Returns errors of the file system.
    pub fn create(
        case: &Case,
        owner: Option<&ProcessIdentity>,
        inputs: &VerdictInputs<'_>,
    ) -> io::Result<Self> {
        let root = ScratchDirectory::create("htc-hook-test.")?;
        if case.hook.caller() != HookCaller::Starter {
            let directory = root.path().join("log");
            files::make_directory(&directory, 0o755, owner)?;
            return Ok(CallDirectories {
                root,
                directory,
                scratch: None,
                case: case.completed_by_caller(None, inputs),
            });
        }
        // The layout is that of a scratch directory in EXECUTE: `dir_PID/scratch`.
        let outer = root.path().join(format!("dir_{}", std::process::id()));
        files::make_directory(&outer, 0o755, None)?;
        let scratch = outer.join("scratch");
        files::make_directory(&scratch, 0o700, owner)?;
        let case = case.completed_by_caller(Some(&scratch), inputs);
        files::replace_file(&scratch.join(JOB_AD_FILE), &job_ad_bytes(&case), 0o644, owner)?;
        files::replace_file(
            &scratch.join(MACHINE_AD_FILE),
            &machine_ad_bytes(&case, inputs.quirks),
            0o644,
            owner,
        )?;
        Ok(CallDirectories { root, directory: scratch.clone(), scratch: Some(scratch), case })
    }

    /// Returns directories for another call under the account of this program: the existing directories if the
    /// previous call left them unchanged, else new ones. Reuse saves time, because creating and removing directories
    /// takes longer than many hooks. No process of the previous call may be running.
    ///
    /// # Errors
    /// Returns errors of the file system.
    pub fn reuse_or_create(mut self, case: &Case, inputs: &VerdictInputs<'_>) -> io::Result<Self> {
        let fits = self.scratch.is_some() == (case.hook.caller() == HookCaller::Starter);
        if !fits || !self.is_untouched().unwrap_or(false) {
            drop(self);
            return CallDirectories::create(case, None, inputs);
        }
        self.case = case.completed_by_caller(self.scratch.as_deref(), inputs);
        if let Some(scratch) = &self.scratch {
            overwrite_file(&scratch.join(JOB_AD_FILE), &job_ad_bytes(&self.case))?;
            overwrite_file(&scratch.join(MACHINE_AD_FILE), &machine_ad_bytes(&self.case, inputs.quirks))?;
        }
        Ok(self)
    }

    /// Returns the case with the ads as completed by the caller. It determines the hook's input and the ad that the
    /// output is about.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Returns true if the directories contain only the files created here, with their original permissions.
    fn is_untouched(&self) -> io::Result<bool> {
        let names = |directory: &Path| -> io::Result<Vec<std::ffi::OsString>> {
            let mut names: Vec<_> = std::fs::read_dir(directory)?
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?;
            names.sort();
            Ok(names)
        };
        let is = |path: &Path, mode: u32, file: bool| -> io::Result<bool> {
            let status = std::fs::symlink_metadata(path)?;
            let kind = if file { status.is_file() && status.nlink() == 1 } else { status.is_dir() };
            Ok(kind && status.mode() & 0o7777 == mode && status.uid() == identity::effective_uid())
        };
        let root = self.root.path();
        let Some(scratch) = &self.scratch else {
            let only = names(root)?.len() == 1 && names(&self.directory)?.is_empty();
            return Ok(only && is(root, 0o755, false)? && is(&self.directory, 0o755, false)?);
        };
        let outer = scratch.parent().unwrap_or(root);
        Ok(names(root)?.len() == 1
            && names(outer)? == ["scratch"]
            && names(scratch)? == [JOB_AD_FILE, MACHINE_AD_FILE]
            && is(root, 0o755, false)?
            && is(outer, 0o755, false)?
            && is(scratch, 0o700, false)?
            && is(&scratch.join(JOB_AD_FILE), 0o644, true)?
            && is(&scratch.join(MACHINE_AD_FILE), 0o644, true)?)
    }

    /// Returns the directory that contains all directories of the call.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the environment of the call: that of the daemon, and the variables that the starter adds. `account` is
    /// the account of the hook.
    pub fn hook_environment(
        &self,
        daemon: HookEnvironment,
        account: Option<&Account>,
        inputs: &VerdictInputs<'_>,
    ) -> HookEnvironment {
        let (case, quirks, world) = (&self.case, inputs.quirks, inputs.world);
        let mut environment = daemon;
        let Some(scratch) = &self.scratch else { return environment };
        let execute = self.root();
        use std::os::unix::ffi::OsStrExt;
        environment.variables.set("_CONDOR_EXECUTE", execute.as_os_str().as_bytes());
        let mut ad = case.job.clone();
        // The starter would refuse the job, but its hooks still need a directory and an environment for the test.
        let info = job_info::read_job_info(&mut ad, scratch, quirks, world).unwrap_or_else(|_| {
            let mut plain = ClassAd::new();
            plain.set("Cmd", "/bin/true");
            let fallback = job_info::read_job_info(&mut plain, scratch, quirks, world);
            fallback.unwrap_or_else(|_| empty_job_info(scratch))
        });
        let machine = match has_slot_ad(case.with_shadow, quirks) {
            true => case.slot.clone(),
            false => ClassAd::new(),
        };
        let slot = case.slot.string("Name").map_or(&b""[..], |name| name.as_bytes());
        let slot = slot.split(|&byte| byte == b'@').next().unwrap_or_default();
        let state = case.job.string("JobState").map(|state| state.to_owned());
        let ran = matches!(case.hook, HookType::UpdateJobInfo | HookType::JobExit) && state.is_some();
        let pid = case.job.literal("JobPid").and_then(|value| u32::try_from(value.as_int()?).ok());
        let pid = pid.filter(|_| ran && state.is_some_and(|state| state != "Exited"));
        // 25.14 sets TMPDIR to the temporary directory of the job once the job has been started.
        let temporary = match ran && hook_tmpdir_decision(quirks).as_reference {
            true => process::plan_mounts(&inputs.settings.mount_under_scratch, &case.job, scratch, world)
                .map(|mounts| process::temporary_directory(mounts.as_deref(), scratch, quirks))
                .unwrap_or_else(|_| scratch.clone()),
            false => scratch.clone(),
        };
        EnvironmentInputs {
            settings: inputs.settings,
            job: &info,
            ad: &case.job,
            machine: &machine,
            scratch,
            temporary: &temporary,
            starter_pid: std::process::id(),
            slot: BStr::new(slot),
            home: account.map(|account| account.home.as_bstr()),
            output_ad: None,
            pre_exit: None,
            main_exit: if ran && case.hook == HookType::JobExit { exit_in_ad(&case.job) } else { None },
            pids: pid.as_slice(),
            quirks,
            world,
        }
        .publish(&mut environment.variables);
        environment
    }
}

/// Returns the contents of `.job.ad`: the job ad before the start of the job.
fn job_ad_bytes(case: &Case) -> Vec<u8> {
    long::print(case.job_before_start.as_ref().unwrap_or(&case.job))
}

/// Overwrites a file in place.
fn overwrite_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// Returns the contents of `.machine.ad`: the slot ad. If the quirks of 25.14 are reproduced, the file of a fetched
/// job is empty.
fn machine_ad_bytes(case: &Case, quirks: QuirkMode) -> Vec<u8> {
    if has_slot_ad(case.with_shadow, quirks) { long::print(&case.slot) } else { Vec::new() }
}

fn empty_job_info(scratch: &Path) -> job_info::JobInfo {
    use std::os::unix::ffi::OsStrExt;
    job_info::JobInfo { cluster: 1, iwd: scratch.as_os_str().as_bytes().into(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use htc_os::RealWorld;
    use htc_starter::StarterSettings;

    #[test]
    fn a_directory_is_reused_only_if_it_is_unchanged() {
        let (settings, world) = (StarterSettings::default(), RealWorld::new());
        let inputs = VerdictInputs { settings: &settings, world: &world, quirks: QuirkMode::Manual };
        for hook in [HookType::PrepareJob, HookType::FetchWork] {
            let mut case = Case::new(hook);
            let first = CallDirectories::create(&case, None, &inputs).unwrap();
            let path = first.directory.clone();
            case.job.set("Short", "x");
            case.job.remove("Requirements");
            let again = first.reuse_or_create(&case, &inputs).unwrap();
            assert_eq!(again.directory, path);
            if let Some(scratch) = &again.scratch {
                assert_eq!(std::fs::read(scratch.join(JOB_AD_FILE)).unwrap(), long::print(&again.case().job));
            }
            std::fs::write(again.directory.join("left"), "x").unwrap();
            let other = again.reuse_or_create(&case, &inputs).unwrap();
            assert_ne!(other.directory, path);
            assert!(!path.exists(), "the old one is gone");
            std::fs::set_permissions(&other.directory, std::fs::Permissions::from_mode(0o777)).unwrap();
            let path = other.directory.clone();
            assert_ne!(other.reuse_or_create(&case, &inputs).unwrap().directory, path);
            let third = CallDirectories::create(&case, None, &inputs).unwrap();
            let router = third.reuse_or_create(&Case::new(HookType::JobExit), &inputs).unwrap();
            assert!(router.scratch.is_some());
        }
    }
}
