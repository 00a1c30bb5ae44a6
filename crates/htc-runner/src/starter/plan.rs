//! Plan of a run: creates the state machine and its execution context from configuration, ad and command line.
//!
//! The order is that of `JICLocal::init`: hooks, job, account, scratch directory, log. If the job is refused, the
//! state machine gets the reason and calls JOB_EXIT (quirk `starter-refusal-untold`).

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::credentials::{CredentialReader, Credentials};
use super::execution_context::ExecutionContext;
use super::file_transfer::{self, FileTransfer};
use super::notice;
use super::plan_parameters::{PlanParameters, hook_warnings, start_warnings};
use super::plan_paths::{execute_directory, free_name, refused_job_id, resolve, starter_user_log};
use super::run_accounts::{AdFilePolicy, RunAccounts};
use super::run_request::RunRequest;
use super::sandbox::Sandbox;
use super::user_log::{UserLog, empty_iwd_log_decision};
use super::visa::Visa;
use super::volume::ScratchVolume;
use crate::hook_limits;
use htc_base::job::{Universe, attr};
use htc_base::process::ProcessIdentity;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Context};
use htc_config::{ConfigView, ValueError};
use htc_hook::transfer::TransferRequest;
use htc_os::{cgroup, mounts};
use htc_starter::container::ContainerHost;
use htc_starter::disk;
use htc_starter::hooks::{self, FoundHooks};
use htc_starter::logical_volume::VolumeParameters;
use htc_starter::unsupported::AccessPointRole;
use htc_starter::virtual_machine::{self, VmContext};
use htc_starter::{
    JobInfo, JobRefusal, Starter, StarterHooks, StarterSetup, StarterVacateReason, job_info, process,
    refused_job_exit_hook_decision, unremovable_scratch_decision,
};

/// Inputs of [`super::run_starter`], and warnings.
pub struct Plan<'w> {
    /// The state machine.
    pub machine: Starter<'w>,
    /// Execution context of the state machine.
    pub context: ExecutionContext,
    /// Warnings to print before the run.
    pub warnings: Vec<String>,
    /// Reason for which the shadow holds the job before it runs, or `None`.
    pub hold: Option<StarterVacateReason>,
}

/// Makes the plan of a run. The job's log and ads, which are written later, have modes according to the umask of this
/// process: a program that acts as a daemon first sets the daemons' umask ([`htc_os::identity::set_umask`]).
///
/// # Errors
/// Fails if a parameter is not a valid number or boolean. If a slot has accepted the job, the plan contains a refusal
/// instead.
pub fn plan<'w>(request: RunRequest<'w>, view: &ConfigView<'_>) -> Result<Plan<'w>, ValueError> {
    let mut planning = PlanBuilder::begin(request, view)?;
    let credentials = planning.find_credentials();
    let held = planning.hold.take();
    let file_transfer = planning.file_transfer()?;
    let job = planning.build_execution_context(file_transfer, credentials)?;
    let warnings = std::mem::take(&mut planning.warnings);
    Ok(Plan { machine: Starter::new(planning.setup(&job)), context: job, warnings, hold: held })
}

/// Plan that is being built, in the order of `JICLocal::init`.
struct PlanBuilder<'w, 'v> {
    request: RunRequest<'w>,
    view: &'v ConfigView<'v>,
    parameters: PlanParameters,
    hooks: StarterHooks,
    /// The account of hooks, or `None` for the account of this program.
    hook_identity: Option<ProcessIdentity>,
    top: PathBuf,
    scratch: PathBuf,
    /// The ad as submitted; `request.ad` also contains the starter's additions.
    submitted: ClassAd,
    visa: Option<Visa>,
    transfers: Option<TransferRequest>,
    accounts: RunAccounts,
    job: Result<JobInfo, JobRefusal>,
    hold: Option<StarterVacateReason>,
    warnings: Vec<String>,
}

impl<'w, 'v> PlanBuilder<'w, 'v> {
    fn begin(mut request: RunRequest<'w>, view: &'v ConfigView<'v>) -> Result<Self, ValueError> {
        let (world, quirks) = (request.world, request.quirks);
        let parameters = PlanParameters::read(&request, view)?;
        let mut warnings = start_warnings(&request, view);
        let found = hooks::find_hooks(&request.ad, view, world, quirks);
        warnings.extend(hook_warnings(&found, &parameters, &request));
        let FoundHooks { mut hooks, refusal, .. } = found;
        let execute = execute_directory(&parameters.settings, &request.fallback_execute, quirks, view);
        let top = free_name(&execute, std::process::id(), world);
        let scratch = if parameters.settings.nested_scratch { top.join("scratch") } else { top.clone() };
        // The visa shows the ad as submitted.
        let visa = Visa::from_job_ad(&request.ad, quirks, world);
        let submitted = request.ad.clone();
        let (transfers, info) = read_job(&mut request, &scratch, view);
        let rights = RunAccounts::choose(&request.ad, &request, view);
        warnings.extend(rights.warnings.iter().cloned());
        let refusal = refusal.or_else(|| parameters.refusal.clone());
        let job = match refusal {
            Some(refusal) => Err(refusal),
            None => info.and_then(|info| rights.refusal.clone().map_or(Ok(info), Err)),
        };
        let is_called = hooks.exit.is_some() && !refused_job_exit_hook_decision(quirks).as_reference;
        let (hook_identity, warning) = rights.choose_hook_identity(is_called, world);
        warnings.extend(warning);
        if hook_identity.is_err() {
            hooks = StarterHooks::default();
        }
        Ok(PlanBuilder {
            request,
            view,
            parameters,
            hooks,
            hook_identity: hook_identity.unwrap_or_default(),
            top,
            scratch,
            submitted,
            visa,
            transfers,
            accounts: rights,
            job,
            hold: None,
            warnings,
        })
    }

    /// Searches for the credentials that the job needs, and adds them to the job.
    fn find_credentials(&mut self) -> Option<Credentials> {
        let login = self.accounts.account.as_ref().map(|account| account.name.clone()).unwrap_or_default();
        let found = CredentialReader {
            ad: &self.request.ad,
            scratch: &self.scratch,
            role: self.request.role,
            login: &login,
            view: self.view,
            quirks: self.request.quirks,
            world: self.request.world,
        }
        .find();
        self.warnings.extend(found.warnings);
        self.hold = found.hold;
        if let Ok(job) = &mut self.job {
            job.credentials = found.tokens;
        }
        found.credentials
    }

    /// Creates the file transfer of the job, or `None` if no files are transferred.
    fn file_transfer(&mut self) -> Result<Option<FileTransfer>, ValueError> {
        let Some(transfers) = self.transfers.clone() else { return Ok(None) };
        let about = file_transfer::FileTransferInputs {
            ad: &self.submitted,
            view: self.view,
            world: self.request.world,
            job: self.accounts.job_identity.as_ref(),
        };
        let (helper, spool) = (self.request.helper.clone(), self.request.spool.clone());
        let (made, warnings) = file_transfer::make(transfers, about, helper, spool)?;
        self.warnings.extend(warnings);
        Ok(Some(made))
    }

    fn is_root(&self) -> bool {
        self.request.world.effective_uid() == 0
    }

    fn enforces_disk_limit(&self) -> bool {
        disk::has_disk_limit(&self.parameters.settings, self.request.quirks)
    }

    /// Returns the setting that requests an encrypted directory: ENCRYPT_EXECUTE_DIRECTORY, else the job's attribute;
    /// `None` if encryption is disabled (`execDCStarter`).
    fn encryption_requester(&self) -> Result<Option<String>, ValueError> {
        let truth = |name: &str| self.view.boolean(name).map(|found| found.filter(|setting| setting.value));
        if truth("DISABLE_EXECUTE_DIRECTORY_ENCRYPTION")?.is_some() {
            return Ok(None);
        }
        const PARAMETER: &str = "ENCRYPT_EXECUTE_DIRECTORY";
        const JOB_ATTRIBUTE: &str = "EncryptExecuteDirectory";
        let of_job =
            Context::new(self.request.world).my(&self.request.ad).boolean(JOB_ATTRIBUTE) == Some(true);
        // An invalid boolean has been reported when the settings were read, so it is ignored here.
        let setting = self.view.boolean_crufty(PARAMETER).ok().flatten().filter(|setting| setting.value);
        let requester = setting.map(|setting| format!("{PARAMETER} ({})", setting.origin.describe()));
        Ok(requester.or(of_job.then(|| JOB_ATTRIBUTE.into())))
    }

    /// Returns a warning if encryption was requested but no volume provides it, or `None`.
    fn unmet_encryption_warning(&self, sandbox: &Sandbox) -> Result<Option<String>, ValueError> {
        let is_done = sandbox.volume.as_ref().is_some_and(|volume| volume.logical.is_some());
        let Some(requester) = self.encryption_requester()?.filter(|_| !is_done) else { return Ok(None) };
        let name = requester.split(' ').next().unwrap_or_default();
        let news = notice::is_first_report(self.request.private_directory.as_deref(), name);
        Ok(news.then(|| {
            format!(
                "the scratch directory is not encrypted although {requester} requests it: only logical volumes are \
                 encrypted (STARTD_ENFORCE_DISK_LIMITS with LVM_VOLUME_GROUP_NAME, as root), as in a pool"
            )
        }))
    }

    /// Returns a warning if the configuration hides the job's volume from other processes
    /// (`VolumeManager::CheckHideMount`), which is unsupported; or `None`.
    fn visible_volume_warning(&self, sandbox: &Sandbox) -> Option<String> {
        const PARAMETER: &str = "LVM_HIDE_MOUNT";
        let is_made = sandbox.volume.as_ref().is_some_and(|volume| volume.logical.is_some());
        // As in the reference, an invalid or missing boolean means AUTO.
        let setting = self.view.boolean(PARAMETER).ok().flatten();
        let is_hidden =
            setting.as_ref().map_or_else(|| self.hides_volume_by_default(), |setting| setting.value);
        if !is_made
            || !is_hidden
            || !notice::is_first_report(self.request.private_directory.as_deref(), PARAMETER)
        {
            return None;
        }
        let (parameter, others) = match setting {
            Some(setting) => (
                format!("{PARAMETER} = true ({})", setting.origin.describe()),
                ", and docker jobs are not accepted",
            ),
            None => (format!("{PARAMETER} is AUTO"), ""),
        };
        Some(format!(
            "{parameter}: the job's volume is mounted where all processes see it; in a pool only the job sees it{others}"
        ))
    }

    /// Returns true if LVM_HIDE_MOUNT = AUTO hides the volume of this job (`isHideMountCompatible`).
    fn hides_volume_by_default(&self) -> bool {
        let slot = self.request.machine.clone().unwrap_or_default();
        let of = |ad, name: &str| Context::new(self.request.world).my(ad).boolean(name).unwrap_or(false);
        let ad = &self.request.ad;
        let by_docker = of(ad, "WantDocker") || of(ad, "WantDockerImage") && of(&slot, "HasDocker");
        let universe = Context::new(self.request.world).my(ad).int(attr::JOB_UNIVERSE);
        !by_docker
            && universe.is_some_and(|universe| universe != Universe::Vm.number())
            && !of(ad, "IsTransferShadow")
    }

    /// Returns a warning if disk limits are enforced but the job has none, or `None`.
    fn missing_limit_warning(&self) -> Option<String> {
        const PARAMETER: &str = "STARTD_ENFORCE_DISK_LIMITS";
        let slot = self.request.machine.clone().unwrap_or_default();
        let is_set = disk::disk_limit_kib(&slot, &self.request.ad, self.request.world).is_some();
        let is_told = self.enforces_disk_limit() && !is_set;
        (is_told && notice::is_first_report(self.request.private_directory.as_deref(), PARAMETER)).then(|| {
            format!(
                "{PARAMETER} is true, but neither Disk of the slot nor RequestDisk is a number above 0: the scratch directory has no limit"
            )
        })
    }

    fn sandbox(&self) -> Result<Sandbox, ValueError> {
        let (settings, quirks) = (&self.parameters.settings, self.request.quirks);
        let slot = self.request.machine.clone().unwrap_or_default();
        let is_limited = self.enforces_disk_limit()
            && self.is_root()
            && mounts::can_mount()
            && settings.move_on_exit.is_none();
        let volume = disk::disk_limit_kib(&slot, &self.request.ad, self.request.world)
            .and_then(|kib| u64::try_from(kib).ok())
            .filter(|_| is_limited)
            .map(|kib| (kib, self.request.slot.as_slice()));
        let logical = VolumeParameters::read(self.view)?;
        let encrypted = self.encryption_requester()?.is_some();
        let volume = volume.map(|(kib, slot)| {
            let logical = logical.map(|parameters| parameters.volume_for_job(slot, std::process::id(), kib));
            let logical = logical.map(|volume| volume.with_encryption(encrypted));
            ScratchVolume::new(kib.saturating_mul(1024), logical)
        });
        Ok(Sandbox {
            top: self.top.clone(),
            scratch: self.scratch.clone(),
            mode: settings.scratch_mode,
            owner: self.accounts.job_identity.clone(),
            condor: self.accounts.condor.clone(),
            move_to: settings.move_on_exit.clone(),
            delay: settings.remove_delay,
            volume,
            made_as_condor: quirks.reproduces(Quirk::ScratchMadeAsCondor),
            keeps_modes: !unremovable_scratch_decision(quirks).as_reference,
        })
    }

    /// Creates the log of a starter's job, or returns `None`. With a schedd or shadow, the schedd or shadow writes
    /// the log.
    fn log(&self) -> Result<Option<UserLog>, ValueError> {
        let RunRequest { ad, quirks, log, .. } = &self.request;
        match &self.job {
            Ok(info) if self.request.role == AccessPointRole::Absent => {
                starter_user_log(ad, info, &self.scratch, self.view, log.clone(), *quirks)
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Returns a warning if the job's log is in the scratch directory, which is removed at the end, or `None`.
    fn vanishing_log_warning(&self) -> Option<String> {
        let RunRequest { ad, world, quirks, log, role: with, .. } = &self.request;
        let name = Context::new(*world)
            .my(ad)
            .string("StarterUserLog")
            .filter(|_| *with == AccessPointRole::Absent)?;
        let in_root = self.job.as_ref().ok().and_then(|job| empty_iwd_log_decision(&job.iwd, *quirks))?;
        let goes = log.is_none() && !name.starts_with(b"/") && !in_root.as_reference;
        goes.then(|| {
            format!(
                "the job's log '{name}' is in the scratch directory and is removed with it, because Iwd is empty; {}",
                in_root.quirk.description()
            )
        })
    }

    fn virtual_machine(&self) -> Result<Option<Vec<String>>, ValueError> {
        let place = VmContext {
            server: self.view.string("VM_GAHP_SERVER")?.map(|server| server.value),
            scratch: &self.scratch,
            account: self.accounts.job_identity.as_ref(),
            world: self.request.world,
        };
        Ok(virtual_machine::describe_vm_start(&self.request.ad, &place))
    }

    fn ad_file_policy(&self) -> AdFilePolicy {
        self.accounts.ad_file_policy(&self.scratch, self.request.quirks, self.request.world)
    }

    fn resolve_ad_path(&self, path: &BString) -> PathBuf {
        resolve(path, &self.ad_file_policy().base)
    }

    fn daemon_home(&self) -> Option<BString> {
        let world = self.request.world;
        let uid = self.accounts.condor.as_ref().map_or_else(|| world.effective_uid(), |condor| condor.uid);
        world.account_by_uid(uid).map(|account| account.home)
    }

    /// Builds the execution context of the job.
    fn build_execution_context(
        &mut self,
        file_transfer: Option<FileTransfer>,
        credentials: Option<Credentials>,
    ) -> Result<ExecutionContext, ValueError> {
        let visa = self.visa.take();
        let sandbox = self.sandbox()?;
        let warning = self.unmet_encryption_warning(&sandbox)?;
        self.warnings.extend(warning);
        self.warnings.extend(self.visible_volume_warning(&sandbox));
        self.warnings.extend(self.missing_limit_warning());
        self.warnings.extend(self.vanishing_log_warning());
        let (request, settings) = (&self.request, &self.parameters.settings);
        let (world, quirks) = (request.world, request.quirks);
        let decision = quirks.decide(Quirk::HupMovesHooks);
        let log = self.view.string("LOG").ok().flatten().filter(|_| decision.as_reference);
        let job = self.job.as_ref();
        Ok(ExecutionContext {
            measures_disk: file_transfer.is_some() || self.enforces_disk_limit(),
            file_transfer,
            virtual_machine: self.virtual_machine()?,
            credentials,
            daemon_home: self.daemon_home(),
            sandbox,
            identity: self.hook_identity.clone(),
            hook_environment: request.environment.for_hooks(quirks),
            hook_limits: hook_limits::daemon_limits(self.view),
            hook_stack: process::stack_limit(&request.ad, world),
            output_limit: self.parameters.output_limit,
            quirks,
            environment: request.environment.variables().to_vec(),
            // A relative Iwd is in the scratch directory.
            iwd: job.map_or_else(|_| self.scratch.clone(), |job| self.scratch.join(job.iwd.to_path_lossy())),
            id: job.map_or_else(|_| refused_job_id(&request.ad, quirks, world), JobInfo::id),
            slot: request.event_slot.clone().unwrap_or_else(|| request.slot.to_string()),
            update_ad: request.update_ad.as_ref().map(|path| self.resolve_ad_path(path)),
            output_ad: request
                .output_ad
                .as_ref()
                .filter(|path| *path != "-")
                .map(|path| self.resolve_ad_path(path)),
            ad_writer: self.ad_file_policy().writer,
            wrapper_error_account: self.accounts.wrapper_error_account(quirks),
            log: self.log()?,
            visa,
            affinity: self.parameters.affinity.clone(),
            dedicated_uid: self.accounts.dedicated_uid,
            snapshot_interval: settings.snapshot,
            polling_interval: self.parameters.polling,
            ad: request.ad.clone(),
            uses_pss: settings.use_pss,
            private_directory: request.private_directory.clone(),
            timeout: request.timeout,
            orphan_grace: request.orphan_grace,
            log_directory: log.map(|log| log.value.to_path_lossy().into_owned()).ok_or(decision.quirk),
            config_reread: false,
            clock_skew_us: request.clock_skew_us,
        })
    }

    /// Returns the setup of the state machine of the planned run.
    fn setup(self, job: &ExecutionContext) -> StarterSetup<'w> {
        let quirks = self.request.quirks;
        let can_mount = self.is_root() && mounts::can_mount();
        let surroundings = ContainerHost {
            slot_directory: self.top,
            account: self.accounts.account_identity,
            processors: self.parameters.affinity,
            daemon_home: job.daemon_home.clone(),
        };
        let transfer_setup =
            || file_transfer::shadow_transfer_setup(self.transfers.as_ref(), self.request.world);
        let output_ad = job.output_ad.clone().map(|path| BString::from(path.into_os_string().into_vec()));
        StarterSetup {
            world: self.request.world,
            quirks,
            transfer: (self.request.role == AccessPointRole::Shadow).then(transfer_setup),
            ad: self.request.ad,
            machine: self.request.machine,
            job: self.job,
            settings: self.parameters.settings,
            hooks: self.hooks,
            scratch: self.scratch,
            starter_pid: std::process::id(),
            own_environment: job.environment.clone(),
            slot: self.request.slot,
            home: self.accounts.account.map(|account| account.home),
            output_ad,
            can_mount,
            no_groups: (quirks.reproduces(Quirk::GroupsUnfound) && !cgroup::reference_uses_cgroups())
                .then(|| "HTCondor 25.14 finds no control groups here".to_owned()),
            hook_timeout: self.request.hook_timeout,
            surroundings,
            shell: self.request.shell,
        }
    }
}

/// Reads the file transfers and the data of the job from its ad. Reading them also adds attributes to the ad.
fn read_job(
    request: &mut RunRequest<'_>,
    scratch: &Path,
    view: &ConfigView<'_>,
) -> (Option<TransferRequest>, Result<JobInfo, JobRefusal>) {
    let RunRequest { world, quirks, role: with, ad, overrides, .. } = request;
    let (world, quirks) = (*world, *quirks);
    let transfers = match with {
        AccessPointRole::Shadow => file_transfer::read_transfer_request(ad, view, world),
        AccessPointRole::Absent | AccessPointRole::Schedd => Ok(None),
    };
    match transfers {
        Ok(Some(transfers)) => {
            let info = job_info::read_transferred_job_info(ad, scratch, &transfers, quirks, world);
            (Some(transfers), info.map(|info| info.with_overrides(overrides)))
        }
        Ok(None) => (
            None,
            job_info::read_job_info(ad, scratch, quirks, world).map(|info| info.with_overrides(overrides)),
        ),
        Err(refusal) => (None, Err(refusal)),
    }
}
