//! State machine steps at the start of the job: the choice of its runtime, its process, and failures to start
//! it.

use std::path::{Path, PathBuf};

use super::action::{JobProcess, StarterAction, StarterNotice};
use super::cgroup_plan::{self, CgroupPlan};
use super::container::{self, ContainerRuntime};
use super::environment::EnvironmentInputs;
use super::isolation::{self, ProcessIsolation};
use super::process;
use super::settings::ParameterReadPoint;
use super::start_failure::StartFailure;
use super::state::job_run::StartedProcess;
use super::state::phase::StarterPhase;
use super::state::usage::{CpuRate, UsageMeter};
use super::state_machine::Starter;
use super::update_timer::{decide_update_rounding, first_update};
use htc_base::job::{HoldCode, Universe};
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_base::world::{FileKind, World};
use htc_classad::Context;

/// Error number (ENOSYS) that 25.14 reports for mounts if PER_JOB_NAMESPACES is false.
const ENOSYS: i32 = 38;

/// Returns the actions that create the directories below the scratch directory which are mounted over directories of
/// the machine.
fn make_mount_directories(mounts: &[(PathBuf, PathBuf)], world: &dyn World) -> Vec<StarterAction> {
    let there = |target: &Path| world.stat(target).is_ok_and(|status| status.kind == FileKind::Directory);
    let mounts = mounts.iter().filter(|(_, target)| there(target));
    mounts.map(|(path, _)| StarterAction::MakeDirectory { path: path.clone(), mode: 0o700 }).collect()
}

/// Default of MOUNT_UNDER_SCRATCH.
const DEFAULT_MOUNTS: &[u8] = b"/tmp,/var/tmp";

impl Starter<'_> {
    /// Starts the job.
    pub(super) fn start_job(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.setup.job.is_err() {
            return;
        }
        if self.end_if_faulty(now, ParameterReadPoint::Start, out)
            || self.end_if_faulty(now, ParameterReadPoint::Environment, out)
        {
            return;
        }
        if let Err(failure) = self.start_job_in_runtime(now, out) {
            self.on_start_failed(now, failure, out);
        }
    }

    /// Starts the job in the runtime that its ad and the configuration choose.
    fn start_job_in_runtime(
        &mut self,
        now: ClockReading,
        out: &mut Vec<StarterAction>,
    ) -> Result<(), StartFailure> {
        let world = self.world_at(now);
        let universe = process::current_universe(&self.ad, &world)?;
        if universe == Universe::Java.number() {
            self.set_java_command(now)?;
        }
        let (runtime, late_failure) = self.choose_runtime(now, out)?;
        if runtime != ContainerRuntime::Plain && matches!(self.phase, StarterPhase::Exiting { .. }) {
            // JOB_EXIT is already running, so the container would start too late, and nothing would remove it.
            return Ok(());
        }
        if runtime == ContainerRuntime::Docker {
            if self.setup.shell.is_some() {
                let text = "no shell can be started in a docker container: run the job and use docker exec";
                return Err(StartFailure::new(text, 0, 0));
            }
            self.start_docker_job(now, out);
            return Ok(());
        }
        let mounts = self.plan_mounts(&world, universe != Universe::Local.number(), out)?;
        // Later steps use the job's temporary directory, even if invalid arguments or an invalid environment prevent
        // the start of the job.
        self.temporary_directory =
            process::temporary_directory(mounts.as_deref(), &self.setup.scratch, self.setup.quirks);
        let encrypts = Context::new(&world).my(&self.ad).boolean("EncryptExecuteDirectory") == Some(true);
        if (!encrypts && self.end_if_faulty(now, ParameterReadPoint::Encryption, out))
            || self.end_if_faulty(now, ParameterReadPoint::Isolation, out)
        {
            return Ok(());
        }
        let directories = make_mount_directories(mounts.as_deref().unwrap_or_default(), &world);
        let process = self.plan_job_process(&world, runtime, late_failure, mounts, out);
        if runtime == ContainerRuntime::Singularity || process.is_err() {
            // 25.14 creates the directories before it reads arguments and environment, so JOB_EXIT finds them
            // (`VanillaProc::StartJob`).
            out.extend(directories);
        }
        let process = JobProcess { java: universe == Universe::Java.number(), ..process? };
        if runtime == ContainerRuntime::Singularity {
            self.start_singularity(process, out);
            return Ok(());
        }
        self.write_environment_manifest(&process.environment, out);
        self.phase = StarterPhase::Starting;
        out.push(StarterAction::StartProcess(Box::new(process)));
        Ok(())
    }

    /// Plans the mounts over directories of the machine. Returns `None` if mounts are not possible.
    fn plan_mounts(
        &self,
        world: &dyn World,
        may_bind: bool,
        out: &mut Vec<StarterAction>,
    ) -> Result<Option<Vec<(PathBuf, PathBuf)>>, StartFailure> {
        let setting = &self.setup.settings.mount_under_scratch;
        let mut mounts = process::plan_mounts(setting, &self.ad, &self.setup.scratch, world)?;
        let of_job = Context::new(world).my(&self.ad).boolean("EncryptExecuteDirectory");
        if self.setup.settings.encrypts || of_job == Some(true) {
            mounts = Some(process::with_private_tmp(mounts.unwrap_or_default(), &self.setup.scratch));
        }
        let no_mounts = !self.setup.settings.isolation.mounts;
        // The job shares the machine's mount namespace (PER_JOB_NAMESPACES), so nothing is mounted.
        if mounts.is_some()
            && no_mounts
            && self.setup.can_mount
            && !self.has_quirk(Quirk::PerJobNamespacesFails)
        {
            let reason = "PER_JOB_NAMESPACES is false: the job sees the machine's own directories (MOUNT_UNDER_SCRATCH)";
            let reason = reason.to_owned();
            out.push(StarterAction::Report(StarterNotice::WarningOnce {
                subject: "per-job-namespaces",
                reason,
            }));
            return Ok(None);
        }
        let mut mounts = mounts.filter(|_| self.setup.can_mount && may_bind);
        if let Some(mounts) = &mut mounts {
            let usual = setting.trim_ascii() == DEFAULT_MOUNTS;
            mounts.retain(|(_, target)| {
                let why = self.not_mounted_reason(target, world);
                let not_mounted_notice = |why| {
                    StarterAction::Report(StarterNotice::NotMounted {
                        target: target.clone(),
                        why,
                        is_default: usual,
                    })
                };
                out.extend(why.map(not_mounted_notice));
                why.is_none()
            });
        }
        Ok(mounts)
    }

    /// Returns the reason why nothing is mounted over a directory of the machine, or `None` if the mount is
    /// possible.
    fn not_mounted_reason(&self, target: &Path, world: &dyn World) -> Option<&'static str> {
        if !target.is_absolute() {
            return Some("it is not an absolute path");
        }
        // A mount over a parent directory would hide the scratch directory from the job and from later mounts.
        if self.setup.scratch.starts_with(target) {
            return Some("the scratch directory is below it (EXECUTE)");
        }
        let is_there = world.stat(target).is_ok_and(|status| status.kind == FileKind::Directory);
        (!is_there).then_some("there is no such directory on this machine")
    }

    /// Plans the job's process. `late_failure` is a failure that is reported only after the standard files are open, or
    /// is `None`.
    fn plan_job_process(
        &mut self,
        world: &dyn World,
        runtime: ContainerRuntime,
        late_failure: Option<StartFailure>,
        mounts: Option<Vec<(PathBuf, PathBuf)>>,
        out: &mut Vec<StarterAction>,
    ) -> Result<JobProcess, StartFailure> {
        let Ok(job) = self.setup.job.clone() else { return Err(StartFailure::silent("there is no job")) };
        // With MOUNT_PRIVATE_DEV_SHM, /dev/shm is private even if none of the directories to mount over exists.
        let private_shm =
            self.setup.settings.private_shm && mounts.is_some() && runtime == ContainerRuntime::Plain;
        let inputs = self.environment_inputs(&job, world, &self.temporary_directory, &[]);
        let group = cgroup_plan::plan_cgroup(&inputs, self.setup.no_groups.as_deref());
        if let Some(failure) = group.failure {
            return Err(failure);
        }
        let planned =
            isolation::plan_isolation(&inputs, runtime != ContainerRuntime::Plain, self.setup.can_mount);
        let ((isolation, notices), late_failure) = match planned {
            Ok(planned) => (planned, late_failure),
            Err(failure) if !failure.after_event => return Err(failure),
            Err(failure) => (Default::default(), late_failure.or(Some(failure))),
        };
        let late_failure =
            late_failure.or_else(|| isolation::network_quirk_failure(&isolation, self.setup.quirks));
        let process =
            process::plan_job_process(&inputs, &self.setup.own_environment, mounts.unwrap_or_default());
        let process =
            process.map(|process| self.wrap_process(process, runtime, late_failure, isolation, &inputs));
        out.extend(
            notices.into_iter().map(|(subject, reason)| {
                StarterAction::Report(StarterNotice::WarningOnce { subject, reason })
            }),
        );
        process.map(|process| self.put_in_cgroup(JobProcess { private_shm, ..process }, group, out))
    }

    /// Replaces the command of the process by a shell if the user asked for one. Adds the namespaces and the job
    /// wrapper, and the failures that they cause.
    fn wrap_process(
        &self,
        process: JobProcess,
        runtime: ContainerRuntime,
        late_failure: Option<StartFailure>,
        isolation: ProcessIsolation,
        inputs: &EnvironmentInputs<'_>,
    ) -> JobProcess {
        let is_plain = runtime == ContainerRuntime::Plain;
        let mut process = match &self.setup.shell {
            Some(shell) if is_plain => process::shell_process(process, shell, &self.setup.scratch),
            // /bin/sh is the only shell that every image can be expected to have.
            Some(_) => process::shell_process(process, &"/bin/sh".into(), &self.setup.scratch),
            None => process,
        };
        process.failures.splice(0..0, late_failure);
        process = process::with_namespaces(process, isolation, inputs);
        if is_plain {
            process = process::with_job_wrapper(process, inputs);
        }
        process.failures.extend(self.faults_before_exec(&process));
        let no_mounts = !self.setup.settings.isolation.mounts;
        if no_mounts && (!process.mounts.is_empty() || process.isolation.namespaces.private_pids) {
            let text = "Function not implemented";
            process.failures.push(process::execute_failure(&process, "", ENOSYS, text));
        }
        process
    }

    /// Puts the job's process in its control group, and reports the notices about it.
    fn put_in_cgroup(
        &mut self,
        process: JobProcess,
        plan: CgroupPlan,
        out: &mut Vec<StarterAction>,
    ) -> JobProcess {
        self.job_run.memory_mib = plan.memory_mib;
        self.job_run.group_fault = plan.late_failure.clone();
        let notices = plan.notices.iter().chain(&process.limit_warnings);
        out.extend(notices.map(|(subject, reason)| {
            StarterAction::Report(StarterNotice::WarningOnce { subject, reason: reason.clone() })
        }));
        JobProcess { group: plan.spec.is_some().then(|| Box::new(plan)), ..process }
    }

    /// Chooses the runtime of the job, and adds attributes from the configuration to the job ad. Also returns a failure
    /// that is reported only after the standard files are open, or `None`.
    fn choose_runtime(
        &mut self,
        now: ClockReading,
        out: &mut Vec<StarterAction>,
    ) -> Result<(ContainerRuntime, Option<StartFailure>), StartFailure> {
        self.container.runtime = None;
        let choice = match self.with_container_inputs(now, container::choose_runtime) {
            Some(Ok(choice)) => choice,
            Some(Err(failure)) if failure.after_event => return Ok((ContainerRuntime::Plain, Some(failure))),
            Some(Err(failure)) => return Err(failure),
            None => return Ok((ContainerRuntime::Plain, None)),
        };
        self.ad.update(&choice.job_attributes);
        self.container.runtime = Some(choice.runtime);
        let runtime = choice.runtime;
        out.push(StarterAction::Report(StarterNotice::RuntimeChosen(Box::new(choice))));
        Ok((runtime, None))
    }

    /// Handles the start of a process.
    pub(super) fn on_process_started(&mut self, now: ClockReading, pid: u32, out: &mut Vec<StarterAction>) {
        let process = StartedProcess::new(pid, now);
        match self.phase {
            StarterPhase::Exiting { late: true, .. } => self.on_late_job_started(now, process, out),
            StarterPhase::PreScript => self.scripts.pre = Some(process),
            StarterPhase::PostScript => self.scripts.post = Some(process),
            StarterPhase::Starting => {
                self.log_execute_event(out);
                out.push(StarterAction::Report(StarterNotice::JobStarted { pid }));
                if !self.container.is_docker() {
                    self.publish_renice();
                }
                if self.job_run.process.is_none() {
                    self.job_run.meter = UsageMeter::new(now.epoch(), self.setup.settings.statistics_window);
                    self.job_run.cpu_rate = CpuRate::new(now.monotonic());
                }
                self.job_run.record_start(process);
                self.phase = StarterPhase::Running;
                if self.kill_job_if_faulty(ParameterReadPoint::Updates, out) {
                    return;
                }
                let first = self.setup.settings.initial_update_interval;
                let rounded = decide_update_rounding(self.setup.quirks).as_reference;
                self.job_run.update_due = Some(first_update(now, first, rounded));
                self.start_disk_checks(now);
                if self.job_run.suspended || self.is_suspended_at_exec(now) {
                    self.job_run.suspended = true;
                    self.stop_or_continue_family(true, out);
                }
                if self.shutdown_requests.has_any() {
                    self.end_job(now, out);
                }
            }
            _ => {}
        }
    }

    /// Returns true if the job is stopped as soon as its program is executed.
    pub(super) fn is_suspended_at_exec(&self, now: ClockReading) -> bool {
        let world = self.world_at(now);
        Context::new(&world).my(&self.ad).boolean("SuspendJobAtExec").unwrap_or(false)
    }

    /// Sets `Renice` in the ad when the program is executed, even if the execution fails.
    pub(super) fn publish_renice(&mut self) {
        if let Some(renice) = &self.setup.settings.renice
            && let Ok(expression) = htc_classad::Expr::parse(renice)
        {
            self.ad.insert("Renice", expression);
        }
    }

    /// Handles a process that could not be started. If several standard files failed, reports each failure.
    pub(super) fn on_process_failed(
        &mut self,
        now: ClockReading,
        failures: Vec<StartFailure>,
        out: &mut Vec<StarterAction>,
    ) {
        if failures.is_empty() {
            return;
        }
        if let StarterPhase::Exiting { late: late @ true, .. } = &mut self.phase {
            *late = false;
            return self.on_late_job_failed(failures, out);
        }
        let first = failures[0].clone();
        match self.phase {
            StarterPhase::Starting => {
                if first.code == HoldCode::FailedToCreateProcess.number() || first.after_event {
                    // Event 001 is written before the program is executed, and remains (`JICLocal::notifyJobPreSpawn`).
                    self.log_execute_event(out);
                    self.publish_renice();
                }
            }
            StarterPhase::PreScript | StarterPhase::PostScript => self.job_end.ended_by_exception = true,
            // The process was reported as started while it waited to open a FIFO, and failed later.
            StarterPhase::Running => {
                self.job_run.process = None;
                return self.report_not_started(now, first, out);
            }
            _ => return,
        }
        self.shutdown_requests.request_fast_end();
        if self.phase != StarterPhase::PostScript {
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason: first.reason() }));
        }
        failures.into_iter().for_each(|failure| self.report_start_failure(failure, out));
        self.finish_all_jobs(now, out);
    }

    /// Ends the starter with a fast shutdown because the job cannot be started.
    pub(super) fn on_start_failed(
        &mut self,
        now: ClockReading,
        failure: StartFailure,
        out: &mut Vec<StarterAction>,
    ) {
        if failure.after_event {
            self.log_execute_event(out);
        }
        self.shutdown_requests.request_fast_end();
        self.report_not_started(now, failure, out);
    }
}
