//! Process of a job, or of a script around it: starting it, observing it, sending signals to it, and handling its
//! end.

use nix::libc;

use super::control_group::JobControlGroup;
use super::job_child;
use super::run_state::RunState;
use super::running_process::{ProcessResources, RunningProcess};
use crate::events::error_with_causes;
use crate::hook_call::HookCall;
use htc_base::process::{ChildSpec, Exit, ProcessIdentity, ProcessUsage, SessionMode, Stdio};
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_os::namespace_init::NamespaceJobStatus;
use htc_os::terminal::TerminalGuard;
use htc_os::{ChildId, SignalScope, SpawnError, SpawnStage, cgroup, strerror};
use htc_starter::{FamilyTracking, JobProcess, ProcessAccount, StartFailure, StarterEvent, process};

impl RunState<'_> {
    pub(super) fn start(&mut self, now: ClockReading, process: &JobProcess) {
        let mut process_resources = ProcessResources::default();
        match self.try_start(now, process, &mut process_resources) {
            Ok(child) => {
                let pid = self.pid(child);
                self.record_child(child);
                self.report_tracking_method(process, process_resources.group.is_some());
                self.job.process = Some(RunningProcess {
                    child,
                    pid,
                    usage: Default::default(),
                    proportional_kib: None,
                    resources: process_resources,
                    attempt: Box::new(process.clone()),
                    next_sample: None,
                });
                if process.account == ProcessAccount::Daemon {
                    self.watch_container();
                }
                self.events.push_back(StarterEvent::ProcessStarted { pid });
            }
            Err(failures) => self.report_start_failure(process_resources, failures),
        }
    }

    /// Reports that a process could not be started. Its start may have been reported already, because the failure was
    /// found later: the process was waiting for the other end of a FIFO or for the first process of its PID
    /// namespace.
    pub(super) fn report_start_failure(
        &mut self,
        process_resources: ProcessResources,
        failures: Vec<StartFailure>,
    ) {
        self.drop_group(process_resources.group);
        self.events.push_back(StarterEvent::ProcessFailed(failures));
    }

    fn try_start(
        &mut self,
        now: ClockReading,
        process: &JobProcess,
        process_resources: &mut ProcessResources,
    ) -> Result<ChildId, Vec<StartFailure>> {
        if process.account == ProcessAccount::Daemon {
            return self.start_container(process);
        }
        let mounts = self.context.sandbox.make_mount_sources(&process.mounts).map_err(|error| {
            vec![StartFailure::silent(format!("cannot make the directories of MOUNT_UNDER_SCRATCH: {error}"))]
        })?;
        let mut identity = self.context.identity.clone();
        let nothing =
            job_child::has_dangling_output(&process.files, identity.as_ref(), &self.context.sandbox.scratch);
        if nothing || !process.failures.is_empty() {
            self.check_files(process, identity.as_ref())?;
            return Err(process.failures.clone());
        }

        let ancestor = HookCall::new_family_marker(now, self.world.random());
        process_resources.tracking = self.take_tracking(process)?;
        let tracking = process_resources.tracking.as_ref().map(|group| group.gid);
        if let Some(identity) = &mut identity {
            identity.groups.extend(tracking);
        }
        self.make_init_link(process);
        process_resources.group = self.make_group(process);
        let mut spec = job_child::job_child_spec(process, &self.context.environment, identity.as_ref());
        spec.ancestor_stamp = Some(ancestor);
        spec.mounts = mounts;
        spec.cgroups = process_resources.group.as_ref().map(JobControlGroup::directories).unwrap_or_default();
        if spec.session == SessionMode::ForegroundGroup {
            self.job.terminal = Some(TerminalGuard::save());
        }
        spec.namespaces = process.isolation.namespaces;
        spec.tracking_group = tracking;
        let error = match self.spawn_with_fallback(process, &mut spec, process_resources) {
            Ok(child) => return Ok(child),
            Err(error) => error,
        };
        if let Some((_, target)) = spec.mounts.iter().find(|(_, target)| error.path.starts_with(target)) {
            self.warn(format!(
                "'{}' is looked up in the job's own '{}' (MOUNT_UNDER_SCRATCH), not in the machine's",
                error.path.display(),
                target.display()
            ));
        }
        if !matches!(error.stage, SpawnStage::Stdin | SpawnStage::Stdout | SpawnStage::Stderr) {
            return Err(job_child::start_failures(process, &error));
        }
        self.check_files(process, identity.as_ref())?;
        for stdio in &mut spec.stdio {
            if let Stdio::File { truncate, .. } = stdio {
                *truncate = false;
            }
        }
        self.reactor.spawn(spec).map_err(|error| job_child::start_failures(process, &error))
    }

    /// Starts the child. If the kernel refuses a control group or a PID namespace, the child is started without it.
    fn spawn_with_fallback(
        &mut self,
        process: &JobProcess,
        spec: &mut ChildSpec,
        process_resources: &mut ProcessResources,
    ) -> Result<ChildId, SpawnError> {
        let affinity = if process.script { Vec::new() } else { self.context.affinity.clone() };
        loop {
            // Makes the kernel kill the job before other processes when memory is short.
            let spawn = || cgroup::with_job_oom_score(|| self.reactor.spawn(spec.clone()));
            let error = match job_child::with_cpu_affinity(&affinity, spawn) {
                Ok(child) => return Ok(child),
                Err(error) => error,
            };
            match error.stage {
                SpawnStage::Cgroup if !spec.cgroups.is_empty() => {
                    self.warn(format!(
                        "the job runs without its control group: {}",
                        error_with_causes(&error)
                    ));
                    self.drop_group(process_resources.group.take());
                    spec.cgroups.clear();
                }
                SpawnStage::Namespace if spec.namespaces.private_pids => {
                    self.warn(format!(
                        "the job runs without a PID namespace (USE_PID_NAMESPACES); its processes are recognized by their group or {}: {}",
                        FamilyTracking::ProcessMarks.description(),
                        error_with_causes(&error)
                    ));
                    spec.namespaces.private_pids = false;
                }
                _ => return Err(error),
            }
        }
    }

    /// Checks that the job's account can open the standard files.
    fn check_files(
        &self,
        process: &JobProcess,
        identity: Option<&ProcessIdentity>,
    ) -> Result<(), Vec<StartFailure>> {
        let failures = job_child::open_failures(&process.files, identity, &self.context.sandbox.scratch);
        failures.ok().filter(|failures| !failures.is_empty()).map_or(Ok(()), Err)
    }

    pub(super) fn handle_process_end(
        &mut self,
        mut process: RunningProcess,
        exit: Exit,
        usage: &ProcessUsage,
        left_behind: usize,
    ) {
        let inside = match self.read_init_status(&process.attempt) {
            Some(NamespaceJobStatus::ExecFailed(errno))
                if !self.context.quirks.reproduces(Quirk::PidnsExecFailureIsSuccess) =>
            {
                let text = strerror(errno);
                let failure = process::execute_failure(&process.attempt, "", errno, &text);
                return self.report_start_failure(process.resources, vec![failure]);
            }
            Some(NamespaceJobStatus::Exited(status)) => Exit::from_raw(status),
            // The first process of the PID namespace was killed before it could write the status, or there is no
            // such process.
            _ => process.attempt.isolation.status_file.is_some().then_some(exit),
        };
        self.kill_account_processes();
        let group = process.resources.group.as_mut();
        let (escaped, out_of_memory) = group.map_or((0, false), |group| group.take_final_sample(exit));
        let mut total = process.measured_usage();
        total.docker = self.stop_watching_container();
        self.job.terminal = None;
        total.out_of_memory = out_of_memory;
        let left_behind = left_behind.max(escaped);
        // The kernel's count is exact for the process and the children that it waited for; samples cover other
        // processes. A control group counts all processes until the end, in coarser ticks.
        total.user = total.user.max(usage.user);
        total.system = total.system.max(usage.system);
        total.resident_kib = total.resident_kib.max(usage.max_rss_kib);
        // Resident memory is part of the image. This also sets the image size of a job that ended before it was
        // sampled.
        total.max_image_kib = total.max_image_kib.max(total.resident_kib);
        // Processes that were killed on request are not counted as left behind.
        total.processes = if self.ending.killed { 0 } else { u32::try_from(left_behind).unwrap_or(u32::MAX) };
        self.drop_group(process.resources.group.take());
        let identity = self.context.identity.as_ref();
        let core = job_child::rename_core_file(&self.context.iwd, process.pid, &self.context.id, identity);
        // The file is read even without a wrapper, because the job itself may report an error in it.
        let wrapper_failure = job_child::read_wrapper_error(
            &self.context.sandbox.scratch,
            self.context.wrapper_error_account.as_ref(),
        );
        let java = process
            .attempt
            .java
            .then(|| job_child::take_java_records(&self.context.sandbox.scratch, identity));
        let ended = StarterEvent::ProcessEnded { exit, inside, usage: total, core, wrapper_failure, java };
        self.queue_with_disk_usage(ended);
    }

    pub(super) fn signal_job(&mut self, number: i32) {
        // A number that is not a signal cannot be sent, so the job is killed instead.
        if !(0..=64).contains(&number) {
            return self.signal_family(libc::SIGKILL);
        }
        if let Some(process) = &self.job.process
            && number != 0
        {
            self.reactor.send_signal(process.child, number, SignalScope::Process);
        }
    }

    pub(super) fn signal_family(&mut self, number: i32) {
        if number == libc::SIGKILL {
            self.kill_account_processes();
        }
        if let Some(process) = &self.job.process {
            if number == libc::SIGSTOP {
                // The signal is sent to the process before its family is searched, because the process may have been
                // executed just now (SuspendJobAtExec).
                self.reactor.send_signal(process.child, number, SignalScope::Process);
            }
            self.reactor.send_signal(process.child, number, SignalScope::Family);
            if let Some(group) = &process.resources.group {
                group.signal(number);
            }
        }
    }
}
