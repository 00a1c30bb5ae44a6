//! Accounts of a starter's job, hooks and ads.

use std::path::{Path, PathBuf};

use super::accounts;
use super::run_request::RunRequest;
use htc_base::process::ProcessIdentity;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::{Account, World};
use htc_classad::ClassAd;
use htc_config::ConfigView;
use htc_os::identity;
use htc_starter::JobRefusal;
use htc_starter::account::{self, AccountInputs};
use htc_starter::unsupported::AccessPointRole;

/// Accounts of one run; `None` stands for the account of this program.
pub(super) struct RunAccounts {
    /// Account of the job.
    pub(super) account: Option<Account>,
    /// Uid of the account if it is dedicated to the job, or `None`.
    pub(super) dedicated_uid: Option<u32>,
    /// Account of the daemons, or `None` if this program is not root or there is no such account.
    pub(super) condor: Option<ProcessIdentity>,
    /// The job's account with all its groups, even if this program cannot change accounts.
    pub(super) account_identity: Option<ProcessIdentity>,
    /// The identity with which the job runs if this program is root, or `None`.
    pub(super) job_identity: Option<ProcessIdentity>,
    /// Reason why the job has no account, or `None`.
    pub(super) refusal: Option<JobRefusal>,
    /// Warnings.
    pub(super) warnings: Vec<String>,
}

/// Policy for writing the ads named on the command line.
pub(super) struct AdFilePolicy {
    /// Directory relative to which file names are resolved.
    pub(super) base: PathBuf,
    /// Account that writes the files, or `None` for the caller's account.
    pub(super) writer: Option<ProcessIdentity>,
}

impl RunAccounts {
    /// Chooses the accounts of a job.
    pub(super) fn choose(ad: &ClassAd, request: &RunRequest<'_>, view: &ConfigView<'_>) -> Self {
        let (world, role) = (request.world, request.role);
        let root = world.effective_uid() == 0;
        let asking =
            AccountInputs { ad, view, slot: &request.slot, access_point: role, quirks: request.quirks };
        let (chosen, refusal) = match account::choose_account(&asking) {
            Ok(chosen) => (Some(chosen), None),
            Err(refusal) => (None, Some(refusal)),
        };
        let warnings = chosen.as_ref().map_or_else(Vec::new, |chosen| chosen.notices.clone());
        let dedicated = chosen.as_ref().filter(|chosen| chosen.dedicated).map(|chosen| chosen.account.uid);
        let account = chosen.map(|chosen| chosen.account);
        // The groups are looked up in all sources of accounts that the machine has configured.
        let own = account.as_ref().map(identity::identity_of_account);
        // Only the starter of a shadow supports PrimaryUnixGroup. The shadow has already held a job whose owner is
        // not in that group.
        let in_group = |job: ProcessIdentity| match role {
            AccessPointRole::Shadow => accounts::in_primary_group(job.clone(), ad, world).unwrap_or(job),
            AccessPointRole::Absent | AccessPointRole::Schedd => job,
        };
        let job = own.clone().filter(|_| root).map(in_group);
        let condor = if root { accounts::condor_identity(view, world) } else { None };
        RunAccounts {
            account,
            dedicated_uid: dedicated,
            condor,
            account_identity: own,
            job_identity: job,
            refusal,
            warnings,
        }
    }

    /// Chooses the identity of hooks; also returns a warning. The result is `Err` if hooks must not be called.
    pub(super) fn choose_hook_identity(
        &self,
        is_called: bool,
        world: &dyn World,
    ) -> (Result<Option<ProcessIdentity>, ()>, Option<String>) {
        if self.job_identity.is_some() || world.effective_uid() != 0 {
            return (Ok(self.job_identity.clone()), None);
        }
        let (identity, warning) = fallback_hook_identity(self.condor.as_ref(), is_called, world);
        // Without an identity the hooks are not called, so that they never run as root.
        (identity.map(Some).ok_or(()), warning)
    }

    /// Returns the account of the daemons with the supplementary groups of the job's account, because
    /// `set_condor_egid` does not change the groups.
    fn daemon_with_job_groups(&self) -> Option<ProcessIdentity> {
        self.condor.clone().map(|condor| match &self.job_identity {
            Some(job) => ProcessIdentity { groups: job.groups.clone(), ..condor },
            None => condor,
        })
    }

    /// Returns the policy for writing the ads named on the command line. In 25.14, relative names are relative to the
    /// scratch directory, which is removed, and the files are not written as root. By default, names here are
    /// relative to the caller's directory.
    pub(super) fn ad_file_policy(
        &self,
        scratch: &Path,
        quirks: QuirkMode,
        world: &dyn World,
    ) -> AdFilePolicy {
        match quirks.reproduces(Quirk::OutputAdAsCondor) {
            true => {
                let writer = self.daemon_with_job_groups().or_else(|| self.job_identity.clone());
                AdFilePolicy { base: scratch.to_owned(), writer }
            }
            false => AdFilePolicy { base: world.current_dir().unwrap_or_default(), writer: None },
        }
    }

    /// Returns the account as which a wrapper's error file is read. It has no more permissions than the accounts that
    /// can write the file.
    pub(super) fn wrapper_error_account(&self, quirks: QuirkMode) -> Option<ProcessIdentity> {
        match quirks.reproduces(Quirk::WrapperErrorFileIgnored) {
            true => self.daemon_with_job_groups().or_else(|| self.job_identity.clone()),
            false => self.job_identity.clone(),
        }
    }
}

/// Returns the account that runs JOB_EXIT for a job whose owner has no account on this machine, and a warning. The
/// account is that of the daemons, else `nobody`, as for jobs of unknown users. Daemons of 25.14 do not start as root
/// without an account (`uids.cpp`, `init_condor_ids`), and their starter calls no hook for a job that it refuses.
fn fallback_hook_identity(
    condor: Option<&ProcessIdentity>,
    is_called: bool,
    world: &dyn World,
) -> (Option<ProcessIdentity>, Option<String>) {
    if let Some(condor) = condor {
        return (Some(condor.clone()), None);
    }
    let nobody = world.account_by_name(b"nobody").filter(|account| account.uid != 0);
    let nobody = nobody.map(|account| identity::identity_of_account(&account));
    let action = match nobody {
        Some(_) => "JOB_EXIT runs as 'nobody'",
        None => "JOB_EXIT is not called for this job, because hooks do not run as root",
    };
    let warning = is_called.then(|| {
        format!(
            "{action}: the job has no account here, CONDOR_IDS does not name an ordinary account, and there is no \
             account 'condor' (in a pool, the daemons would not start); set CONDOR_IDS = UID.GID"
        )
    });
    (nobody, warning)
}
