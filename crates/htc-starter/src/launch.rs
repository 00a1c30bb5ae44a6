//! The machine at the start of the job: what it runs in, its process, and what keeps that from being started.

use std::path::{Path, PathBuf};

use super::action::{Action, JobProcess, Notice};
use super::container::{self, Runtime};
use super::environment::Publication;
use super::failure::StartFailure;
use super::isolation::{self, Isolation};
use super::kept::job_run::Process;
use super::kept::phase::Phase;
use super::kept::usage::{Meter, Pace};
use super::limits::{self, GroupPlan};
use super::machine::Starter;
use super::process;
use super::settings::Moment;
use super::update_timer::{first_update, update_rounding};
use htc_base::job::{HoldCode, Universe};
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_base::world::{FileKind, World};
use htc_classad::Context;

/// What 25.14 says of mounts that PER_JOB_NAMESPACES forbids.
const ENOSYS: i32 = 38;

/// What makes the directories that are bound over those of the machine.
fn directories(mounts: &[(PathBuf, PathBuf)], world: &dyn World) -> Vec<Action> {
    let there = |target: &Path| world.stat(target).is_ok_and(|status| status.kind == FileKind::Directory);
    let mounts = mounts.iter().filter(|(_, target)| there(target));
    mounts.map(|(path, _)| Action::MakeDirectory { path: path.clone(), mode: 0o700 }).collect()
}

/// MOUNT_UNDER_SCRATCH where nobody has set it.
const USUAL_MOUNTS: &[u8] = b"/tmp,/var/tmp";

impl Starter<'_> {
    /// The job.
    pub(super) fn start_job(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.setup.job.is_err() {
            return;
        }
        if self.faulted(now, Moment::Start, out) || self.faulted(now, Moment::Environment, out) {
            return;
        }
        if let Err(failure) = self.start_in_runtime(now, out) {
            self.start_failed(now, failure, out);
        }
    }

    /// The job in what its ad and the configuration choose for it.
    fn start_in_runtime(&mut self, now: Now, out: &mut Vec<Action>) -> Result<(), StartFailure> {
        let world = self.frozen(now);
        let universe = process::universe(&self.ad, &world)?;
        if universe == Universe::Java.number() {
            self.put_java(now)?;
        }
        let (runtime, late) = self.choose_runtime(now, out)?;
        if runtime != Runtime::Plain && matches!(self.phase, Phase::Exiting { .. }) {
            // Started too late: nobody would end the container.
            return Ok(());
        }
        if runtime == Runtime::Docker {
            if self.setup.shell.is_some() {
                let text = "no shell is started in a container of docker: run the job and use docker exec";
                return Err(StartFailure::new(text, 0, 0));
            }
            self.start_docker(now, out);
            return Ok(());
        }
        let mounts = self.mounts(&world, universe != Universe::Local.number(), out)?;
        // What comes after sees the job's, also if arguments or environment keep it from being started.
        self.temporary = process::temporary(mounts.as_deref(), &self.setup.scratch, self.setup.quirks);
        let encrypts = Context::new(&world).my(&self.ad).boolean("EncryptExecuteDirectory") == Some(true);
        if (!encrypts && self.faulted(now, Moment::Encryption, out))
            || self.faulted(now, Moment::Isolation, out)
        {
            return Ok(());
        }
        let directories = directories(mounts.as_deref().unwrap_or_default(), &world);
        let process = self.process(&world, (runtime, late), mounts, out);
        if runtime == Runtime::Singularity || process.is_err() {
            // 25.14 makes them before it reads arguments and environment: JOB_EXIT finds them (VanillaProc::StartJob).
            out.extend(directories);
        }
        let process = JobProcess { java: universe == Universe::Java.number(), ..process? };
        if runtime == Runtime::Singularity {
            self.start_singularity(process, out);
            return Ok(());
        }
        self.list_environment(&process.environment, out);
        self.phase = Phase::Starting;
        out.push(Action::StartProcess(Box::new(process)));
        Ok(())
    }

    /// What is bound over directories of the machine; `None`: nothing can be.
    fn mounts(
        &self,
        world: &dyn World,
        may_bind: bool,
        out: &mut Vec<Action>,
    ) -> Result<Option<Vec<(PathBuf, PathBuf)>>, StartFailure> {
        let setting = &self.setup.settings.mount_under_scratch;
        let mut mounts = process::mounts(setting, &self.ad, &self.setup.scratch, world)?;
        let of_job = Context::new(world).my(&self.ad).boolean("EncryptExecuteDirectory");
        if self.setup.settings.encrypts || of_job == Some(true) {
            mounts = Some(process::with_temporary(mounts.unwrap_or_default(), &self.setup.scratch));
        }
        let no_mounts = !self.setup.settings.isolation.mounts;
        // Its namespace is that of the machine (PER_JOB_NAMESPACES), where nothing is bound over anything.
        if mounts.is_some() && no_mounts && self.setup.can_mount && !self.has(Quirk::PerJobNamespacesFails) {
            let reason = "PER_JOB_NAMESPACES is false: the job sees the machine's own directories (MOUNT_UNDER_SCRATCH)";
            let reason = reason.to_owned();
            out.push(Action::Tell(Notice::Once { subject: "per-job-namespaces", reason }));
            return Ok(None);
        }
        let mut mounts = mounts.filter(|_| self.setup.can_mount && may_bind);
        if let Some(mounts) = &mut mounts {
            let usual = setting.trim_ascii() == USUAL_MOUNTS;
            mounts.retain(|(_, target)| {
                let why = self.unbound(target, world);
                let told = |why| Action::Tell(Notice::Unbound { target: target.clone(), why, usual });
                out.extend(why.map(told));
                why.is_none()
            });
        }
        Ok(mounts)
    }

    /// Why nothing is bound over a directory of the machine.
    fn unbound(&self, target: &Path, world: &dyn World) -> Option<&'static str> {
        if !target.is_absolute() {
            return Some("it is no path from / on");
        }
        // Bound over a directory above it the scratch directory would be out of reach, for the job and for what is bound next.
        if self.setup.scratch.starts_with(target) {
            return Some("the scratch directory lies below it (EXECUTE)");
        }
        let is_there = world.stat(target).is_ok_and(|status| status.kind == FileKind::Directory);
        (!is_there).then_some("it is no directory of this machine")
    }

    /// The job's process with all that is put around it. The failure that is given is found out only when the standard
    /// files are open.
    fn process(
        &mut self,
        world: &dyn World,
        (runtime, late): (Runtime, Option<StartFailure>),
        mounts: Option<Vec<(PathBuf, PathBuf)>>,
        out: &mut Vec<Action>,
    ) -> Result<JobProcess, StartFailure> {
        let Ok(job) = self.setup.job.clone() else { return Err(StartFailure::silent("there is no job")) };
        // Also where none of the directories is there (c40 012).
        let private_shm = self.setup.settings.private_shm && mounts.is_some() && runtime == Runtime::Plain;
        let about = self.publication(&job, world, &self.temporary, &[]);
        let group = limits::plan(&about, self.setup.no_groups.as_deref());
        if let Some(failure) = group.failure {
            return Err(failure);
        }
        let planned = isolation::plan(&about, runtime != Runtime::Plain, self.setup.can_mount);
        let ((isolation, told), late) = match planned {
            Ok(planned) => (planned, late),
            Err(failure) if !failure.after_event => return Err(failure),
            Err(failure) => (Default::default(), late.or(Some(failure))),
        };
        let late = late.or_else(|| isolation::network_fault(&isolation, self.setup.quirks));
        let process = process::job(&about, &self.setup.own_environment, mounts.unwrap_or_default());
        let process = process.map(|process| self.surrounded(process, (runtime, late), isolation, &about));
        out.extend(told.into_iter().map(|(subject, reason)| Action::Tell(Notice::Once { subject, reason })));
        process.map(|process| self.in_group(JobProcess { private_shm, ..process }, group, out))
    }

    /// A shell in its place, where one is wanted; namespaces and wrapper; what of these cannot be.
    fn surrounded(
        &self,
        process: JobProcess,
        (runtime, late): (Runtime, Option<StartFailure>),
        isolation: Isolation,
        about: &Publication<'_>,
    ) -> JobProcess {
        let is_plain = runtime == Runtime::Plain;
        let mut process = match &self.setup.shell {
            Some(shell) if is_plain => process::shell(process, shell, &self.setup.scratch),
            // In an image there is one shell for sure.
            Some(_) => process::shell(process, &"/bin/sh".into(), &self.setup.scratch),
            None => process,
        };
        process.failures.splice(0..0, late);
        process = process::isolated(process, isolation, about);
        if is_plain {
            process = process::wrapped(process, about);
        }
        process.failures.extend(self.late_faults(&process));
        let no_mounts = !self.setup.settings.isolation.mounts;
        if no_mounts && (!process.mounts.is_empty() || process.isolation.namespaces.processes) {
            let text = "Function not implemented";
            process.failures.push(process::execute_failed(&process, "", ENOSYS, text));
        }
        process
    }

    /// The job's process with its control group, and what is told of that.
    fn in_group(&mut self, process: JobProcess, plan: GroupPlan, out: &mut Vec<Action>) -> JobProcess {
        self.run.memory_mib = plan.memory_mib;
        self.run.group_fault = plan.late_failure.clone();
        let told = plan.told.iter().chain(&process.complaints);
        out.extend(
            told.map(|(subject, reason)| Action::Tell(Notice::Once { subject, reason: reason.clone() })),
        );
        JobProcess { group: plan.spec.is_some().then(|| Box::new(plan)), ..process }
    }

    /// Which runtime the job gets; what the configuration gives the job for that becomes part of its ad. The second is a
    /// failure that is found out only when the standard files are open.
    fn choose_runtime(
        &mut self,
        now: Now,
        out: &mut Vec<Action>,
    ) -> Result<(Runtime, Option<StartFailure>), StartFailure> {
        self.container.runtime = None;
        let choice = match self.with_inputs(now, container::choose) {
            Some(Ok(choice)) => choice,
            Some(Err(failure)) if failure.after_event => return Ok((Runtime::Plain, Some(failure))),
            Some(Err(failure)) => return Err(failure),
            None => return Ok((Runtime::Plain, None)),
        };
        self.ad.update(&choice.given);
        self.container.runtime = Some(choice.runtime);
        let runtime = choice.runtime;
        out.push(Action::Tell(Notice::Runtime(Box::new(choice))));
        Ok((runtime, None))
    }

    /// A process runs.
    pub(super) fn process_started(&mut self, now: Now, pid: u32, out: &mut Vec<Action>) {
        let process = Process::new(pid, now);
        match self.phase {
            Phase::Exiting { late: true, .. } => self.started_late(now, process, out),
            Phase::PreScript => self.scripts.pre = Some(process),
            Phase::PostScript => self.scripts.post = Some(process),
            Phase::Starting => {
                self.announce(out);
                out.push(Action::Tell(Notice::JobStarted { pid }));
                if !self.container.is_docker() {
                    self.note_renice();
                }
                if self.run.process.is_none() {
                    self.run.meter = Meter::new(now.epoch(), self.setup.settings.statistics_window);
                    self.run.pace = Pace::new(now.tick());
                }
                self.run.starts(process);
                self.phase = Phase::Running;
                if self.faulted_with_job(Moment::Updates, out) {
                    return;
                }
                let first = self.setup.settings.initial_update_interval;
                let rounded = update_rounding(self.setup.quirks).as_reference;
                self.run.update_due = Some(first_update(now, first, rounded));
                self.watch_disk(now);
                if self.run.suspended || self.is_suspended_at_exec(now) {
                    self.run.suspended = true;
                    self.stop_family(true, out);
                }
                if self.asked.any() {
                    self.end_job(now, out);
                }
            }
            _ => {}
        }
    }

    /// Whether the job is stopped as soon as it is executed.
    pub(super) fn is_suspended_at_exec(&self, now: Now) -> bool {
        let world = self.frozen(now);
        Context::new(&world).my(&self.ad).boolean("SuspendJobAtExec").unwrap_or(false)
    }

    /// `Renice` is in the ad from the exec on, tried or done.
    pub(super) fn note_renice(&mut self) {
        if let Some(renice) = &self.setup.settings.renice
            && let Ok(expression) = htc_classad::Expr::parse(renice)
        {
            self.ad.insert("Renice", expression);
        }
    }

    /// A process could not be started. Several standard files may have failed, and each is reported.
    pub(super) fn process_failed(&mut self, now: Now, failures: Vec<StartFailure>, out: &mut Vec<Action>) {
        if failures.is_empty() {
            return;
        }
        if let Phase::Exiting { late: late @ true, .. } = &mut self.phase {
            *late = false;
            return self.failed_late(failures, out);
        }
        let first = failures[0].clone();
        match self.phase {
            Phase::Starting => {
                if first.code == HoldCode::FailedToCreateProcess.number() || first.after_event {
                    // 001 is written before the exec and stays (`JICLocal::notifyJobPreSpawn`).
                    self.announce(out);
                    self.note_renice();
                }
            }
            Phase::PreScript | Phase::PostScript => self.closing.excepted = true,
            // It was taken for started, and waited for the other end of a FIFO.
            Phase::Running => {
                self.run.process = None;
                return self.not_started(now, first, out);
            }
            _ => return,
        }
        self.asked.end_fast();
        if self.phase != Phase::PostScript {
            out.push(Action::Tell(Notice::NotStarted { reason: first.reason() }));
        }
        failures.into_iter().for_each(|failure| self.report(failure, out));
        self.all_jobs_done(now, out);
    }

    /// The job cannot be started: fast shutdown.
    pub(super) fn start_failed(&mut self, now: Now, failure: StartFailure, out: &mut Vec<Action>) {
        if failure.after_event {
            self.announce(out);
        }
        self.asked.end_fast();
        self.not_started(now, failure, out);
    }
}
