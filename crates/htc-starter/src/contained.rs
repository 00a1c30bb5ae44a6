//! The machine around a job in a container: what is asked of the runtime before the job, what stands for the job while
//! it runs, and that the container is removed at any end.
//!
//! Reference: `OsProc::StartJob` for Singularity; docker is in [`super::contained_docker`].

use std::path::Path;

use bstr::{BString, ByteSlice};

use super::action::{Account, Action, CallId, JobProcess, Notice};
use super::container::{self, Inputs, Remark, ToolCall, Version};
use super::exception::EXCEPTION;
use super::failure::StartFailure;
use super::kept::container::{Answer, Stage};
use super::kept::phase::Phase;
use super::machine::Starter;
use super::process;
use super::settings::Inherits;
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::text::environment::Environment;
use htc_base::time::Now;
use htc_base::world::FileKind;

impl Starter<'_> {
    /// Plans something with the ad as it is now.
    pub(super) fn with_inputs<T>(&self, now: Now, plan: impl FnOnce(&Inputs<'_>) -> T) -> Option<T> {
        let job = self.setup.job.as_ref().ok()?;
        let world = self.frozen(now);
        // Docker knows nothing of the job's own /tmp.
        let temporary: &Path = if self.container.is_docker() { &self.setup.scratch } else { &self.temporary };
        let about = self.publication(job, &world, temporary, &[]);
        let remarks = &self.container.remarks;
        Some(plan(&Inputs { about: &about, place: &self.setup.surroundings, remarks }))
    }

    /// What has been found out meanwhile about settings and attributes that are of no use.
    pub(super) fn tell_remarks(&self, out: &mut Vec<Action>) {
        let told =
            self.container.remarks.news().into_iter().map(|Remark { setting, line: reason, .. }| {
                Action::Tell(match setting {
                    Some(subject) => Notice::Once { subject, reason },
                    None => Notice::Warning(reason),
                })
            });
        let end = out.iter().position(|action| matches!(action, Action::Finish { .. })).unwrap_or(out.len());
        out.splice(end..end, told);
    }

    /// Event 001, once.
    pub(super) fn announce(&mut self, out: &mut Vec<Action>) {
        out.extend(self.container.unwritten.take().map(Action::Log));
    }

    /// Calls the runtime and waits for the answer.
    pub(super) fn ask(&mut self, stage: Stage, call: ToolCall, out: &mut Vec<Action>) {
        self.phase = Phase::Container;
        self.container.stage = stage.clone();
        if self.container.side.is_some() {
            self.container.waiting = Some(Box::new((stage, call)));
            return;
        }
        let id = self.calls.new_id();
        self.container.call = Some(id);
        out.push(Action::RunTool(id, Box::new(call)));
    }

    /// A job for Singularity: its files first, then event 001, then everything else.
    pub(super) fn start_singularity(&mut self, process: JobProcess, out: &mut Vec<Action>) {
        self.phase = Phase::Container;
        self.container.stage = Stage::Files;
        out.push(Action::OpenFiles(process.files.clone()));
        self.container.process = Some(Box::new(process));
    }

    pub(super) fn files_opened(&mut self, now: Now, failures: Vec<StartFailure>, out: &mut Vec<Action>) {
        match self.container.stage {
            Stage::Files => {
                let late = self.container.process.as_ref().map(|process| process.failures.clone());
                let failures = if failures.is_empty() { late.unwrap_or_default() } else { failures };
                if !failures.is_empty() {
                    self.container.stage = Stage::Idle;
                    self.phase = Phase::Starting;
                    return self.process_failed(now, failures, out);
                }
                self.announce(out);
                self.note_renice();
                match self.with_inputs(now, container::version_call) {
                    Some(Ok(call)) => self.ask(Stage::Version, call, out),
                    Some(Err(failure)) => self.container_failed(now, failure, out),
                    None => {}
                }
            }
            Stage::OpenFiles => self.docker_files_opened(now, failures, out),
            _ => {}
        }
    }

    /// A call of the runtime ended.
    pub(super) fn tool_ended(&mut self, now: Now, call: CallId, answer: Answer<'_>, out: &mut Vec<Action>) {
        if self.container.side.is_some_and(|side| side.id == call) {
            return self.side_call_ended(answer, out);
        }
        if self.container.call != Some(call) {
            return;
        }
        self.container.call = None;
        if self.asked.any() && self.container.is_preparing() && self.phase == Phase::Container {
            let was = std::mem::take(&mut self.container.stage);
            let reason = "its end was asked for before it began".to_owned();
            out.push(Action::Tell(Notice::NotStarted { reason }));
            self.note_pulled(&was, answer, out);
            return self.all_jobs_done(now, out);
        }
        match self.container.stage.clone() {
            Stage::Version => self.version_known(now, answer, out),
            Stage::Test if answer.is_success() => self.start_contained(now, out),
            Stage::Test => self.test_failed(now, answer, out),
            Stage::Image(asked) => self.image_answered(now, asked, answer, out),
            Stage::Create => self.created(now, answer, out),
            Stage::Tag => self.open_docker_files(out),
            Stage::Architecture => self.architecture_known(now, answer.output, out),
            Stage::State { tries, attached } => {
                self.state_known(now, answer.output, (tries, attached), out);
            }
            Stage::LastState(after) => self.last_state_known(now, answer.output, after, out),
            Stage::Remove(after) => self.removed(now, answer, after, out),
            Stage::Idle | Stage::Files | Stage::Config | Stage::OpenFiles | Stage::Wait { .. } => {}
        }
    }

    fn version_known(
        &mut self,
        now: Now,
        Answer { exit, output, errors }: Answer<'_>,
        out: &mut Vec<Action>,
    ) {
        let version = match exit {
            Some(Exit::Code(0)) => Version::parse(output),
            Some(exit) => {
                let why = format!("'--version' {exit}");
                return self.container_failed(now, container::version_failed(&why), out);
            }
            None => {
                return self.container_failed(now, container::version_failed(&errors.to_str_lossy()), out);
            }
        };
        let Some(process) = self.container.process.clone() else { return };
        let all = match self.setup.settings.inherits {
            Inherits::All => Some(self.setup.own_environment.clone()),
            Inherits::Nothing | Inherits::Some(_) => None,
        };
        let own: &[(BString, BString)] = if all.is_some() { &[] } else { &self.setup.own_environment };
        let planned = self.with_inputs(now, |inputs| {
            let environment = inputs.about.job_environment(own)?;
            container::singularity(inputs, &version, &process.argv, environment)
        });
        let plan = match planned {
            Some(Ok(plan)) => plan,
            Some(Err(failure)) => return self.container_failed(now, failure, out),
            None => return,
        };
        let mut environment = Environment::new();
        all.into_iter().flatten().for_each(|(name, value)| environment.set(name, value));
        environment.merge(&plan.environment);
        let process = process::instead(*process, plan.line.words(), &self.setup.scratch);
        self.container.process = Some(Box::new(JobProcess { environment: environment.entries(), ..process }));
        out.push(Action::Tell(Notice::Contained(Box::new(plan.clone()))));
        let test = container::test_call(&plan);
        self.container.plan = Some(Box::new(plan));
        match test {
            Some(test) => self.ask(Stage::Test, test, out),
            None => self.start_contained(now, out),
        }
    }

    /// The process that is, or stands for, the job.
    pub(super) fn start_contained(&mut self, now: Now, out: &mut Vec<Action>) {
        let Some(process) = self.container.process.take() else { return };
        let process = match process.account {
            Account::Daemon => *process,
            Account::Job => self
                .with_inputs(now, |inputs| process::wrapped(*process.clone(), inputs.about))
                .unwrap_or(*process),
        };
        self.container.stage = Stage::Idle;
        self.phase = Phase::Starting;
        out.push(Action::StartProcess(Box::new(process)));
    }

    /// The job does not start.
    /// The image could not be tried.
    fn test_failed(&mut self, now: Now, answer: Answer<'_>, out: &mut Vec<Action>) {
        let requeues = self.setup.quirks.decide(Quirk::SingularityTestRequeues);
        // Without a shadow nobody holds a job.
        if !requeues.as_reference && self.setup.moves.is_some() {
            Self::tell_quirk(requeues.quirk, "the job is held", out);
        }
        self.container_failed(now, container::test_failure(answer.output, requeues.as_reference), out);
    }

    pub(super) fn container_failed(&mut self, now: Now, failure: StartFailure, out: &mut Vec<Action>) {
        self.container.stage = Stage::Idle;
        if failure.after_event {
            self.announce(out);
        }
        self.not_started(now, failure, out);
    }

    /// Whether the runtime ended before it came as far as the job: then it has failed, and not the job.
    pub(super) fn never_launched(&mut self, now: Now, out: &mut Vec<Action>) -> bool {
        let mark = self.setup.scratch.join(".condor_container_launched");
        let there = || self.setup.world.stat(&mark).is_ok_and(|status| status.kind == FileKind::File);
        let asks = self.container.plan.as_ref().is_some_and(|plan| plan.uses_launcher());
        if !asks || there() {
            return false;
        }
        self.run.process = None;
        if self.fatal(now, ("Apptainer runtime failed to start", Quirk::StarterExceptions), out) {
            // It comes to no clean-up (c20b 016).
            self.end_in_exception(out);
        }
        true
    }

    /// An exception of 25.14 while there is a job: told, status 4; by default the clean-up follows as always. True where it does not.
    pub(super) fn fatal(&mut self, now: Now, (text, quirk): (&str, Quirk), out: &mut Vec<Action>) -> bool {
        self.closing.status = EXCEPTION;
        if !self.has(quirk) {
            self.not_started(now, StartFailure::new(text, 0, 0), out);
            return false;
        }
        self.asked.end_fast();
        self.report(StartFailure::new(text, 0, 0), out);
        out.push(Action::Tell(Notice::NotStarted { reason: text.to_owned() }));
        true
    }
}
