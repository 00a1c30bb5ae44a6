//! State machine steps of a job in a docker container: creation and end of the container.
//!
//! Reference: `docker_proc.cpp`; the calls themselves are in [`super::container`].

use bstr::{BString, ByteSlice};

use super::action::{JobProcess, ProcessAccount, ScratchFile, StarterAction, StarterNotice};
use super::container::{self, ContainerState, DockerNames, docker_fits};
use super::environment::EnvironmentInputs;
use super::event::FamilyUsage;
use super::exception::EXCEPTION_STATUS;
use super::process;
use super::start_failure::StartFailure;
use super::state::container::{
    AfterRemoval, AttachedProcessEnd, BackgroundCall, ContainerStage, DockerProgress, ToolAnswer,
};
use super::state::job_run::{ProcessEnd, StartedProcess};
use super::state::phase::StarterPhase;
use super::state::shutdown_requests::HoldRequest;
use super::state_machine::Starter;
use htc_base::job::{HoldCode, attr};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::ClockReading;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context};
use htc_hook::transfer::url;

/// Maximum number of queries for the state of an ended container. The queries are one second apart.
const MAX_STATE_QUERIES: u32 = 20;

/// Returns the command line of the job inside the container.
fn command_in_container(about: &EnvironmentInputs<'_>) -> Result<Vec<BString>, StartFailure> {
    let job = || about.job_context();
    let command = job().string(attr::CMD).unwrap_or_default();
    let sent = job().boolean("TransferExecutable").unwrap_or(true);
    // A transferred executable is in the working directory of the container, under its base name.
    let mut words = vec![match about.job.transfers_files && sent {
        true => [b"./", url::base_name(&command)].concat().into(),
        false => command,
    }];
    words.extend(process::argument_list(about.ad, "", about.world).map_err(|error| {
        StartFailure::silent(format!("Failed to read job arguments from job ad: '{error}'."))
    })?);
    // An interactive job sleeps for the time that its user may work in the container.
    if job().boolean("InteractiveJob").unwrap_or(false) {
        words.push("86400".into());
    }
    Ok(words)
}

impl Starter<'_> {
    /// Plans and creates the container. Failures before event 001 are reported as the starter's, later failures as the
    /// container's. Without a shadow, 25.14 waits forever after a failure if it had to pull the image.
    pub(super) fn create_docker_container(
        &mut self,
        now: ClockReading,
        pulled: bool,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        let own = self.setup.own_environment.clone();
        let prepared = self.with_container_inputs(now, |inputs| {
            let words = command_in_container(inputs.job_inputs)?;
            let mut environment = inputs.job_inputs.job_environment(&own)?;
            if pulled {
                // After a pull, 25.14 already lists the job among its processes, without a PID.
                environment.set("_CONDOR_JOB_PIDS", "-1");
            }
            Ok((words, environment))
        });
        let (words, environment) = match prepared {
            Some(Ok(prepared)) => prepared,
            Some(Err(failure)) => return self.on_launch_failed(now, pulled, failure, out),
            None => return,
        };
        out.push(StarterAction::RememberContainer { container: names.container.clone() });
        let planned = self.with_container_inputs(now, |inputs| {
            let plan = container::plan_docker_container(inputs, &names, &words, environment)?;
            let call = names.create_call(&plan, inputs);
            Ok((plan, call, process::standard_files(inputs.job_inputs)))
        });
        let (plan, call, files) = match planned {
            Some(Ok(planned)) => planned,
            Some(Err(failure)) => {
                self.log_execute_event(out);
                return self.on_launch_failed(now, pulled, failure, out);
            }
            None => return,
        };
        for path in &plan.directories {
            out.push(StarterAction::MakeDirectory { path: path.clone(), mode: 0o1777 });
        }
        self.log_execute_event(out);
        out.push(StarterAction::Report(StarterNotice::ContainerPlanned(Box::new(plan.clone()))));
        self.container.plan = Some(Box::new(plan));
        self.container.process = Some(Box::new(self.docker_process(&names, files)));
        self.container.docker = DockerProgress::Created(names);
        self.call_runtime(ContainerStage::Create, call, out);
    }

    /// Returns the process that represents the job while it runs.
    fn docker_process(&self, names: &DockerNames, files: [super::StandardFile; 3]) -> JobProcess {
        let process =
            JobProcess { cwd: "/".into(), files, account: ProcessAccount::Daemon, ..JobProcess::default() };
        process::with_command(process, names.start_command(), &self.setup.scratch)
    }

    fn on_launch_failed(
        &mut self,
        now: ClockReading,
        pulled: bool,
        failure: StartFailure,
        out: &mut Vec<StarterAction>,
    ) {
        let names = self.container.docker_names().filter(|_| failure.exception && pulled);
        if let Some(names) = names.filter(|_| self.has_quirk(Quirk::StarterExceptions)) {
            // After a pull, 25.14 already lists the job among its processes: it kills the job and does not call
            // JOB_EXIT.
            let kill = names.kill_call(9);
            self.job_end.status = EXCEPTION_STATUS;
            self.shutdown_requests.request_fast_end();
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason: failure.reason() }));
            self.report_start_failure(failure, out);
            return self.call_runtime(ContainerStage::Remove(AfterRemoval::RemoveScratch), kill, out);
        }
        if !pulled || failure.exception {
            return self.on_container_failed(now, failure, out);
        }
        self.report_hang_quirk("the starter ends", out);
        out.push(StarterAction::Report(StarterNotice::Warning(failure.reason())));
        let failure =
            StartFailure::new("Unable to Launch Container", HoldCode::InvalidDockerImage.number(), 0);
        self.on_container_failed(now, failure, out);
    }

    /// Handles the end of `docker create`.
    pub(super) fn on_container_created(
        &mut self,
        now: ClockReading,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        if names.config.is_some() {
            out.push(StarterAction::DockerConfig(None));
        }
        match answer.is_success() {
            true => self.call_runtime(ContainerStage::Tag, names.tag_call(), out),
            false => self.on_create_failed(now, answer, out),
        }
    }

    pub(super) fn open_docker_files(&mut self, out: &mut Vec<StarterAction>) {
        self.container.stage = ContainerStage::OpenFiles;
        let files = self.container.process.as_ref().map(|process| process.files.clone());
        out.extend(files.map(StarterAction::OpenFiles));
    }

    /// Handles a failed `docker create`. 25.14 treats the failure as the exit of the job, and a shadow that holds the
    /// job does not get this exit.
    fn on_create_failed(
        &mut self,
        now: ClockReading,
        ToolAnswer { exit, errors, .. }: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let text = errors[..errors.len().min(511)].replace("\n", " ");
        let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
        if let Some(exit) = exit
            && self.decide_quirk_without_shadow(Quirk::DockerCreateStatus, "the failure is reported", out)
        {
            self.job_run.process = Some(StartedProcess::new(0, now));
            self.report_hold_to_shadow(failure, out);
            return self.on_docker_job_ended(now, exit, FamilyUsage::default(), out);
        }
        self.on_container_failed(now, failure, out);
    }

    /// Reports that the job is held, as 25.14 does: a shadow gets the report; without a shadow, no report is made
    /// (`JICLocal::holdJob`).
    fn report_hold_to_shadow(&mut self, failure: StartFailure, out: &mut Vec<StarterAction>) {
        if self.setup.transfer.is_some() {
            self.shutdown_requests.hold = HoldRequest::ByRequest;
            self.report_start_failure(failure, out);
        }
    }

    /// Reports what the starter does after a failure to start without a shadow; 25.14 waits forever instead.
    pub(super) fn report_hang_quirk(&self, instead: &str, out: &mut Vec<StarterAction>) {
        self.report_quirk_without_shadow(Quirk::DockerStartHangs, instead, out);
    }

    pub(super) fn on_docker_files_opened(
        &mut self,
        now: ClockReading,
        mut failures: Vec<StartFailure>,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        if failures.is_empty() {
            return self.call_runtime(ContainerStage::Architecture, names.architecture_call(), out);
        }
        // Only the first failure is reported, because it ends the job.
        failures.truncate(1);
        self.treat_unstarted_as_evicted(now);
        self.call_in_background(names.kill_call(9), out);
        for failure in failures {
            self.on_container_failed(now, failure, out);
        }
    }

    /// If the quirk of 25.14 is reproduced, treats a container that could not be started as a job that ran and was
    /// evicted, and returns true.
    fn treat_unstarted_as_evicted(&mut self, now: ClockReading) -> bool {
        let counts = self.has_quirk(Quirk::DockerFailureIsEviction);
        if counts {
            self.job_run.process = self.job_run.live_process().or_else(|| Some(StartedProcess::new(0, now)));
            self.job_run.evicted = true;
        }
        counts
    }

    pub(super) fn on_image_architecture(
        &mut self,
        now: ClockReading,
        output: &[u8],
        out: &mut Vec<StarterAction>,
    ) {
        let skips = self.with_container_inputs(now, |inputs| {
            inputs.plain_boolean_parameter("DOCKER_SKIP_IMAGE_ARCH_CHECK")
        });
        match skips {
            Some(Err(failure)) => self.on_container_failed(now, failure, out),
            Some(Ok(false)) if !docker_fits(output) => {
                let machine = output.lines().next().unwrap_or_default().trim().as_bstr();
                let text = format!(
                    "DockerProc::StartJob(): Image Architecture {machine} not compatible with this machine."
                );
                self.report_hang_quirk("the failure is reported", out);
                let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
                self.on_container_failed(now, failure, out);
            }
            _ => self.start_container_process(now, out),
        }
    }

    /// Records the host ports of the container's services for all later updates, and appends them to the job ad file.
    pub(super) fn on_service_ports(&mut self, ports: ClassAd, out: &mut Vec<StarterAction>) {
        if self.phase != StarterPhase::Running || !self.container.is_docker() {
            return;
        }
        let mut bytes = long::print(&self.ad);
        bytes.extend(long::print(&ports));
        self.container.services = ports;
        out.push(StarterAction::WriteFile(ScratchFile { name: ".job.ad", bytes }));
    }

    /// Handles the end of the process that represents the job, and queries the state of the container.
    pub(super) fn on_docker_process_ended(
        &mut self,
        exit: Exit,
        usage: FamilyUsage,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        self.stop_monitoring();
        self.container.services = container::undefined_host_ports(&self.ad, self.setup.world);
        let attached = AttachedProcessEnd { exit, usage };
        self.call_runtime(
            ContainerStage::State { tries: 0, attached },
            container::inspect_state_call(&names),
            out,
        );
    }

    /// Queries the state of the container again.
    pub(super) fn query_state_again(&mut self, out: &mut Vec<StarterAction>) {
        let call = self.container.docker_names().map(container::inspect_state_call);
        if let (ContainerStage::Wait { tries, attached, .. }, Some(call)) = (&self.container.stage, call) {
            let (tries, attached) = (*tries, *attached);
            self.call_runtime(ContainerStage::State { tries, attached }, call, out);
        }
    }

    pub(super) fn on_container_state(
        &mut self,
        now: ClockReading,
        output: &[u8],
        tries: u32,
        attached: AttachedProcessEnd,
        out: &mut Vec<StarterAction>,
    ) {
        let state = ContainerState::parse(output, &self.world_at(now));
        let ended = state.as_ref().is_some_and(|state| state.running == Some(false));
        let tries = tries + 1;
        if !ended && tries < MAX_STATE_QUERIES && !self.shutdown_requests.is_fast() {
            let until = now.monotonic().plus(std::time::Duration::from_secs(1));
            self.container.stage = ContainerStage::Wait { tries, until, attached };
            return;
        }
        let Some(state) = state else {
            self.job_run.process = None;
            if self.report_exception_with_job(
                now,
                "Cannot inspect exited container",
                Quirk::DockerEndsSilent,
                out,
            ) && let Some(names) = self.container.docker_names().cloned()
            {
                self.call_runtime(
                    ContainerStage::Remove(AfterRemoval::RemoveScratch),
                    names.remove_container_call(),
                    out,
                );
            }
            return;
        };
        let exit = state.job_exit(self.setup.quirks).filter(|_| ended).unwrap_or(attached.exit);
        if ended && state.out_of_memory {
            return self.hold_for_container_memory(now, exit, attached.usage, out);
        }
        if ended && !state.error.is_empty() {
            return self.on_docker_run_error(now, &state, out);
        }
        self.on_docker_job_ended(now, exit, attached.usage, out);
    }

    /// Handles the end of the job that docker reports.
    fn on_docker_job_ended(
        &mut self,
        now: ClockReading,
        exit: Exit,
        usage: FamilyUsage,
        out: &mut Vec<StarterAction>,
    ) {
        self.container.stage = ContainerStage::Idle;
        self.phase = StarterPhase::Running;
        self.on_job_ended(ProcessEnd { at: now, exit, core: false }, usage, None, out);
    }

    /// Holds a job that exceeded the memory limit of its container. Without a shadow, 25.14 exits and reports nothing.
    fn hold_for_container_memory(
        &mut self,
        now: ClockReading,
        exit: Exit,
        usage: FamilyUsage,
        out: &mut Vec<StarterAction>,
    ) {
        let memory = Context::new(&self.world_at(now)).my(&self.machine).int(attr::MEMORY).unwrap_or(0);
        let text = format!("Docker job has gone over memory limit of {memory} Mb");
        out.push(StarterAction::Report(StarterNotice::Warning(text.clone())));
        let failure = StartFailure::new(text, HoldCode::JobOutOfResources.number(), 102);
        if self.has_quirk(Quirk::DockerEndsSilent) {
            self.job_run.process = None;
            self.report_hold_to_shadow(failure, out);
            if let Some(names) = self.container.docker_names().cloned() {
                self.call_runtime(
                    ContainerStage::Remove(AfterRemoval::RemoveScratch),
                    names.remove_container_call(),
                    out,
                );
            }
            return;
        }
        self.shutdown_requests.hold = HoldRequest::ByRequest;
        self.report_start_failure(failure, out);
        self.on_docker_job_ended(now, exit, usage, out);
    }

    /// Handles a job that docker could not run, most likely because its command is not in the image.
    fn on_docker_run_error(
        &mut self,
        now: ClockReading,
        state: &ContainerState,
        out: &mut Vec<StarterAction>,
    ) {
        let text = format!("Error running docker job: {}", state.error);
        let Some(names) = self.container.docker_names().cloned() else { return };
        self.container.stage = ContainerStage::Idle;
        if self.treat_unstarted_as_evicted(now) {
            // 25.14 kills the job twice although it has already ended, and treats the job as evicted.
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason: text.clone() }));
            self.report_hold_to_shadow(
                StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0),
                out,
            );
            let signal = super::job_exit::kill_signal(&self.ad, attr::HOLD_KILL_SIG, &self.world_at(now));
            self.call_in_background(names.remove_container_call(), out);
            self.call_in_background(names.kill_call(signal.unwrap_or(super::job_exit::SIGTERM)), out);
            self.call_in_background(names.kill_call(9), out);
            self.shutdown_requests.request_fast_end();
            return self.finish_all_jobs(now, out);
        }
        self.job_run.process = None;
        let failure = StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0);
        self.on_container_failed(now, failure, out);
    }

    /// Starts a call whose output is not needed.
    pub(super) fn call_in_background(
        &mut self,
        call: super::container::ToolCall,
        out: &mut Vec<StarterAction>,
    ) {
        self.container.background_queue.push_back(call);
        if self.container.background_call.is_none() {
            self.next_background_call(out);
        }
    }

    fn next_background_call(&mut self, out: &mut Vec<StarterAction>) {
        self.container.background_call = None;
        if let Some(call) = self.container.background_queue.pop_front() {
            let id = self.calls.new_id();
            let pauses = call.argv.iter().any(|word| word == "pause");
            self.container.background_call = Some(BackgroundCall { id, pauses });
            out.push(StarterAction::RunTool(id, Box::new(call)));
        } else if let Some(waiting) = self.container.waiting_call.take() {
            // If the phase has changed since the call was prepared, its output is no longer needed, and the call is not
            // made.
            let (stage, call) = *waiting;
            if self.phase == StarterPhase::Container {
                self.call_runtime(stage, call, out);
            }
        }
    }

    /// Handles the end of a background call. If the call failed and an immediate end of the job was requested, kills
    /// the process that represents the job.
    pub(super) fn on_background_call_ended(&mut self, answer: ToolAnswer<'_>, out: &mut Vec<StarterAction>) {
        let pauses = self.container.background_call.is_some_and(|side| side.pauses);
        if !answer.is_success() && pauses && self.job_run.suspended {
            let reason = "docker failed to pause the container: the job continues".to_owned();
            out.push(StarterAction::Report(StarterNotice::Warning(reason)));
            if !self.has_quirk(Quirk::DockerPauseAssumed) {
                self.job_run.suspended = false;
                out.push(StarterAction::Report(StarterNotice::JobSuspended(false)));
            }
        }
        self.next_background_call(out);
        if !answer.is_success() && self.shutdown_requests.is_fast() && self.phase == StarterPhase::Running {
            out.push(StarterAction::KillFamily);
        }
    }

    /// Removes the container, if docker has one for the job. Returns true if the next step has to wait for the removal.
    pub(super) fn remove_container(&mut self, after: AfterRemoval, out: &mut Vec<StarterAction>) -> bool {
        let Some(names) = self.container.docker_names().cloned() else { return false };
        if matches!(self.container.stage, ContainerStage::LastState(_) | ContainerStage::Remove(_)) {
            return true;
        }
        let call = container::inspect_state_call(&names);
        let was = std::mem::replace(&mut self.container.docker, DockerProgress::NamesOnly(names));
        let is_created = matches!(was, DockerProgress::Created(_));
        if is_created {
            self.call_runtime(ContainerStage::LastState(after), call, out);
        }
        is_created
    }

    /// Handles the state of the container that was queried before its removal.
    pub(super) fn on_last_container_state(
        &mut self,
        now: ClockReading,
        output: &[u8],
        after: AfterRemoval,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        let state = ContainerState::parse(output, &self.world_at(now));
        // 25.14 does not remove a container unless it knows that the container has ended.
        let ended = state.is_some_and(|state| state.running == Some(false));
        match ended || !self.has_quirk(Quirk::DockerUnknownStays) {
            true => self.call_runtime(ContainerStage::Remove(after), names.remove_container_call(), out),
            false => self.continue_after_removal(now, after, out),
        }
    }

    /// Handles the end of the call that removes the container.
    pub(super) fn on_container_removed(
        &mut self,
        now: ClockReading,
        answer: ToolAnswer<'_>,
        after: AfterRemoval,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names() else { return };
        if !answer.is_success() {
            // A container that could not be removed does not change the outcome of the job.
            let (name, why) = (&names.container, answer.output.trim().as_bstr());
            let way = format!("remove it with 'docker rm -f -v {name}'");
            let text = format!("the container '{name}' could not be removed: {why}; {way}");
            out.push(StarterAction::Report(StarterNotice::Warning(text)));
        }
        self.continue_after_removal(now, after, out);
    }

    fn continue_after_removal(
        &mut self,
        now: ClockReading,
        after: AfterRemoval,
        out: &mut Vec<StarterAction>,
    ) {
        self.container.stage = ContainerStage::Idle;
        self.container.docker = DockerProgress::None;
        match after {
            AfterRemoval::CleanUp => self.clean_up(now, out),
            AfterRemoval::RemoveScratch => self.remove_scratch(out),
        }
    }
}
