//! State machine steps of a job in a container: queries to the runtime before the job starts, the process that
//! represents the job, and the removal of the container at the end.
//!
//! Reference: `OsProc::StartJob` for Singularity; docker is in [`super::docker_run`].

use std::path::Path;

use bstr::{BString, ByteSlice};

use super::action::{CallId, JobProcess, ProcessAccount, StarterAction, StarterNotice};
use super::container::{self, ContainerInputs, RuntimeVersion, SettingRemark, ToolCall};
use super::exception::EXCEPTION_STATUS;
use super::process;
use super::settings::EnvironmentInheritance;
use super::start_failure::StartFailure;
use super::state::container::{ContainerStage, ToolAnswer};
use super::state::phase::StarterPhase;
use super::state_machine::Starter;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::text::environment::Environment;
use htc_base::time::ClockReading;
use htc_base::world::FileKind;

impl Starter<'_> {
    /// Calls `plan` with the current ad. Returns `None` if the job was refused.
    pub(super) fn with_container_inputs<T>(
        &self,
        now: ClockReading,
        plan: impl FnOnce(&ContainerInputs<'_>) -> T,
    ) -> Option<T> {
        let job = self.setup.job.as_ref().ok()?;
        let world = self.world_at(now);
        // A docker container does not have the job's private /tmp.
        let temporary: &Path =
            if self.container.is_docker() { &self.setup.scratch } else { &self.temporary_directory };
        let about = self.environment_inputs(job, &world, temporary, &[]);
        let remarks = &self.container.remarks;
        Some(plan(&ContainerInputs { job_inputs: &about, host: &self.setup.surroundings, remarks }))
    }

    /// Reports new remarks about settings and attributes that have no usable value.
    pub(super) fn report_remarks(&self, out: &mut Vec<StarterAction>) {
        let notices = self.container.remarks.take_new().into_iter().map(
            |SettingRemark { setting, line: reason, .. }| {
                StarterAction::Report(match setting {
                    Some(subject) => StarterNotice::WarningOnce { subject, reason },
                    None => StarterNotice::Warning(reason),
                })
            },
        );
        let end =
            out.iter().position(|action| matches!(action, StarterAction::Finish { .. })).unwrap_or(out.len());
        out.splice(end..end, notices);
    }

    /// Writes event 001 unless it has already been written.
    pub(super) fn log_execute_event(&mut self, out: &mut Vec<StarterAction>) {
        out.extend(self.container.pending_execute_event.take().map(StarterAction::Log));
    }

    /// Starts a call of the runtime and waits for its output before the next step.
    pub(super) fn call_runtime(
        &mut self,
        stage: ContainerStage,
        call: ToolCall,
        out: &mut Vec<StarterAction>,
    ) {
        self.phase = StarterPhase::Container;
        self.container.stage = stage.clone();
        if self.container.background_call.is_some() {
            self.container.waiting_call = Some(Box::new((stage, call)));
            return;
        }
        let id = self.calls.new_id();
        self.container.call = Some(id);
        out.push(StarterAction::RunTool(id, Box::new(call)));
    }

    /// Starts a job under Singularity. The job's standard files are opened first, then event 001 is written.
    pub(super) fn start_singularity(&mut self, process: JobProcess, out: &mut Vec<StarterAction>) {
        self.phase = StarterPhase::Container;
        self.container.stage = ContainerStage::Files;
        out.push(StarterAction::OpenFiles(process.files.clone()));
        self.container.process = Some(Box::new(process));
    }

    pub(super) fn on_files_opened(
        &mut self,
        now: ClockReading,
        failures: Vec<StartFailure>,
        out: &mut Vec<StarterAction>,
    ) {
        match self.container.stage {
            ContainerStage::Files => {
                let later_failures = self.container.process.as_ref().map(|process| process.failures.clone());
                let failures =
                    if failures.is_empty() { later_failures.unwrap_or_default() } else { failures };
                if !failures.is_empty() {
                    self.container.stage = ContainerStage::Idle;
                    self.phase = StarterPhase::Starting;
                    return self.on_process_failed(now, failures, out);
                }
                self.log_execute_event(out);
                self.publish_renice();
                match self.with_container_inputs(now, container::version_call) {
                    Some(Ok(call)) => self.call_runtime(ContainerStage::Version, call, out),
                    Some(Err(failure)) => self.on_container_failed(now, failure, out),
                    None => {}
                }
            }
            ContainerStage::OpenFiles => self.on_docker_files_opened(now, failures, out),
            _ => {}
        }
    }

    /// Handles the end of a call of the runtime that the next step waits for.
    pub(super) fn on_tool_ended(
        &mut self,
        now: ClockReading,
        call: CallId,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        if self.container.background_call.is_some_and(|side| side.id == call) {
            return self.on_background_call_ended(answer, out);
        }
        if self.container.call != Some(call) {
            return;
        }
        self.container.call = None;
        if self.shutdown_requests.has_any()
            && self.container.is_before_start()
            && self.phase == StarterPhase::Container
        {
            let was = std::mem::take(&mut self.container.stage);
            let reason = "the job was asked to end before it started".to_owned();
            out.push(StarterAction::Report(StarterNotice::NotStarted { reason }));
            self.remember_pulled_image(&was, answer, out);
            return self.finish_all_jobs(now, out);
        }
        match self.container.stage.clone() {
            ContainerStage::Version => self.on_runtime_version(now, answer, out),
            ContainerStage::Test if answer.is_success() => self.start_container_process(now, out),
            ContainerStage::Test => self.on_image_test_failed(now, answer, out),
            ContainerStage::Image(stage) => self.on_image_call_ended(now, stage, answer, out),
            ContainerStage::Create => self.on_container_created(now, answer, out),
            ContainerStage::Tag => self.open_docker_files(out),
            ContainerStage::Architecture => self.on_image_architecture(now, answer.output, out),
            ContainerStage::State { tries, attached } => {
                self.on_container_state(now, answer.output, tries, attached, out);
            }
            ContainerStage::LastState(after) => self.on_last_container_state(now, answer.output, after, out),
            ContainerStage::Remove(after) => self.on_container_removed(now, answer, after, out),
            ContainerStage::Idle
            | ContainerStage::Files
            | ContainerStage::Config
            | ContainerStage::OpenFiles
            | ContainerStage::Wait { .. } => {}
        }
    }

    fn on_runtime_version(
        &mut self,
        now: ClockReading,
        ToolAnswer { exit, output, errors }: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let version = match exit {
            Some(Exit::Code(0)) => RuntimeVersion::parse(output),
            Some(exit) => {
                let why = format!("'--version' {exit}");
                return self.on_container_failed(now, container::version_failure(&why), out);
            }
            None => {
                return self.on_container_failed(
                    now,
                    container::version_failure(&errors.to_str_lossy()),
                    out,
                );
            }
        };
        let Some(process) = self.container.process.clone() else { return };
        let all = match self.setup.settings.inherits {
            EnvironmentInheritance::All => Some(self.setup.own_environment.clone()),
            EnvironmentInheritance::Nothing | EnvironmentInheritance::Filtered(_) => None,
        };
        let own: &[(BString, BString)] = if all.is_some() { &[] } else { &self.setup.own_environment };
        let planned = self.with_container_inputs(now, |inputs| {
            let environment = inputs.job_inputs.job_environment(own)?;
            container::plan_singularity_process(inputs, &version, &process.argv, environment)
        });
        let plan = match planned {
            Some(Ok(plan)) => plan,
            Some(Err(failure)) => return self.on_container_failed(now, failure, out),
            None => return,
        };
        let mut environment = Environment::new();
        all.into_iter().flatten().for_each(|(name, value)| environment.set(name, value));
        environment.merge(&plan.environment);
        let process = process::with_command(*process, plan.line.words(), &self.setup.scratch);
        self.container.process = Some(Box::new(JobProcess { environment: environment.entries(), ..process }));
        out.push(StarterAction::Report(StarterNotice::ContainerPlanned(Box::new(plan.clone()))));
        let test = container::test_call(&plan);
        self.container.plan = Some(Box::new(plan));
        match test {
            Some(test) => self.call_runtime(ContainerStage::Test, test, out),
            None => self.start_container_process(now, out),
        }
    }

    /// Starts the process that is the job (singularity) or represents it (docker).
    pub(super) fn start_container_process(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let Some(process) = self.container.process.take() else { return };
        let process = match process.account {
            ProcessAccount::Daemon => *process,
            ProcessAccount::Job => self
                .with_container_inputs(now, |inputs| {
                    process::with_job_wrapper(*process.clone(), inputs.job_inputs)
                })
                .unwrap_or(*process),
        };
        self.container.stage = ContainerStage::Idle;
        self.phase = StarterPhase::Starting;
        out.push(StarterAction::StartProcess(Box::new(process)));
    }

    /// Handles a failed image test, after which the job is not started.
    fn on_image_test_failed(
        &mut self,
        now: ClockReading,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let requeues = self.setup.quirks.decide(Quirk::SingularityTestRequeues);
        // Without a shadow, jobs cannot be held.
        if !requeues.as_reference && self.setup.transfer.is_some() {
            Self::report_quirk(requeues.quirk, "the job is held", out);
        }
        self.on_container_failed(now, container::test_failure(answer.output, requeues.as_reference), out);
    }

    pub(super) fn on_container_failed(
        &mut self,
        now: ClockReading,
        failure: StartFailure,
        out: &mut Vec<StarterAction>,
    ) {
        self.container.stage = ContainerStage::Idle;
        if failure.after_event {
            self.log_execute_event(out);
        }
        self.report_not_started(now, failure, out);
    }

    /// Returns true if the runtime ended before it reached the job, and reports this failure of the runtime.
    pub(super) fn runtime_ended_before_job(
        &mut self,
        now: ClockReading,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        let mark = self.setup.scratch.join(".condor_container_launched");
        let there = || self.setup.world.stat(&mark).is_ok_and(|status| status.kind == FileKind::File);
        let uses_launcher = self.container.plan.as_ref().is_some_and(|plan| plan.uses_launcher());
        if !uses_launcher || there() {
            return false;
        }
        self.job_run.process = None;
        if self.report_exception_with_job(
            now,
            "Apptainer runtime failed to start",
            Quirk::StarterExceptions,
            out,
        ) {
            // 25.14 does not clean up after this exception.
            self.end_in_exception(out);
        }
        true
    }

    /// Reports an exception that ends 25.14 while it has a job, and sets exit status 4. Returns true if the quirk of
    /// 25.14 is reproduced; otherwise the usual clean-up follows.
    pub(super) fn report_exception_with_job(
        &mut self,
        now: ClockReading,
        text: &str,
        quirk: Quirk,
        out: &mut Vec<StarterAction>,
    ) -> bool {
        self.job_end.status = EXCEPTION_STATUS;
        if !self.has_quirk(quirk) {
            self.report_not_started(now, StartFailure::new(text, 0, 0), out);
            return false;
        }
        self.shutdown_requests.request_fast_end();
        self.report_start_failure(StartFailure::new(text, 0, 0), out);
        out.push(StarterAction::Report(StarterNotice::NotStarted { reason: text.to_owned() }));
        true
    }
}
