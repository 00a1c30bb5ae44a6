//! The process of a job, or of a script around it: started, looked at, signalled, and what came of it.

use nix::libc;

use super::child;
use super::group::JobGroup;
use super::live::Live;
use super::running::{Own, Running};
use crate::events::full_text;
use crate::hook_call::HookCall;
use htc_base::process::{ChildSpec, Exit, Identity, Session, Stdio, Usage};
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_os::namespace_init::Said;
use htc_os::terminal::Terminal;
use htc_os::{ChildId, SpawnError, Stage, Whom, cgroup, strerror};
use htc_starter::{Account, Event, JobProcess, KnownBy, StartFailure, process};

impl Live<'_> {
    pub(super) fn start(&mut self, now: Now, process: &JobProcess) {
        let mut own = Own::default();
        match self.try_start(now, process, &mut own) {
            Ok(child) => {
                let pid = self.pid(child);
                self.note_child(child);
                self.note_known_by(process, own.group.is_some());
                self.process = Some(Running {
                    child,
                    pid,
                    usage: Default::default(),
                    proportional_kib: None,
                    own,
                    attempt: Box::new(process.clone()),
                    next_look: None,
                });
                if process.account == Account::Daemon {
                    self.watch_container();
                }
                self.events.push_back(Event::ProcessStarted { pid });
            }
            Err(failures) => self.failed(own, failures),
        }
    }

    /// There is no process. It may have been taken for started, and then its program could not be executed: it had to wait for the
    /// other end of a FIFO, or for the first process of its PID namespace.
    pub(super) fn failed(&mut self, own: Own, failures: Vec<StartFailure>) {
        self.drop_group(own.group);
        self.events.push_back(Event::ProcessFailed(failures));
    }

    fn try_start(
        &mut self,
        now: Now,
        process: &JobProcess,
        own: &mut Own,
    ) -> Result<ChildId, Vec<StartFailure>> {
        if process.account == Account::Daemon {
            return self.start_container(process);
        }
        let mounts = self.job.sandbox.mounts(&process.mounts).map_err(|error| {
            vec![StartFailure::silent(format!("cannot make the directories of MOUNT_UNDER_SCRATCH: {error}"))]
        })?;
        let mut identity = self.job.identity.clone();
        let nothing =
            child::writes_through_nothing(&process.files, identity.as_ref(), &self.job.sandbox.scratch);
        if nothing || !process.failures.is_empty() {
            self.check_files(process, identity.as_ref())?;
            return Err(process.failures.clone());
        }

        let ancestor = HookCall::marker(now, self.world.random());
        own.tracking = self.take_tracking(process)?;
        let tracking = own.tracking.as_ref().map(|group| group.gid);
        if let Some(identity) = &mut identity {
            identity.groups.extend(tracking);
        }
        self.link_init(process);
        own.group = self.make_group(process);
        let mut spec = child::spec(process, &self.job.environment, identity.as_ref());
        spec.ancestor = Some(ancestor);
        spec.mounts = mounts;
        spec.cgroups = own.group.as_ref().map(JobGroup::entered).unwrap_or_default();
        if spec.session == Session::Foreground {
            self.terminal = Some(Terminal::lend());
        }
        spec.namespaces = process.isolation.namespaces;
        spec.tracking_group = tracking;
        let error = match self.spawn_as_it_may_be(process, &mut spec, own) {
            Ok(child) => return Ok(child),
            Err(error) => error,
        };
        if let Some((_, target)) = spec.mounts.iter().find(|(_, target)| error.path.starts_with(target)) {
            self.warn(format!(
                "'{}' is looked for in the job's own '{}' (MOUNT_UNDER_SCRATCH), not in the machine's",
                error.path.display(),
                target.display()
            ));
        }
        if !matches!(error.stage, Stage::Stdin | Stage::Stdout | Stage::Stderr) {
            return Err(child::failure(process, &error));
        }
        self.check_files(process, identity.as_ref())?;
        for stdio in &mut spec.stdio {
            if let Stdio::File { truncate, .. } = stdio {
                *truncate = false;
            }
        }
        self.reactor.spawn(spec).map_err(|error| child::failure(process, &error))
    }

    /// Makes the child, without control group or PID namespace where the kernel refuses it those.
    fn spawn_as_it_may_be(
        &mut self,
        process: &JobProcess,
        spec: &mut ChildSpec,
        own: &mut Own,
    ) -> Result<ChildId, SpawnError> {
        let affinity = if process.script { Vec::new() } else { self.job.affinity.clone() };
        loop {
            // The kernel kills it before others when memory is short.
            let spawn = || cgroup::killed_first(|| self.reactor.spawn(spec.clone()));
            let error = match child::bound(&affinity, spawn) {
                Ok(child) => return Ok(child),
                Err(error) => error,
            };
            match error.stage {
                Stage::Cgroup if !spec.cgroups.is_empty() => {
                    self.warn(format!("the job runs without its control group: {}", full_text(&error)));
                    self.drop_group(own.group.take());
                    spec.cgroups.clear();
                }
                Stage::Namespace if spec.namespaces.processes => {
                    self.warn(format!(
                        "the job runs without a PID namespace (USE_PID_NAMESPACES), known by its group or {}: {}",
                        KnownBy::Marks.line(),
                        full_text(&error)
                    ));
                    spec.namespaces.processes = false;
                }
                _ => return Err(error),
            }
        }
    }

    /// Whether the standard files can be opened.
    fn check_files(
        &self,
        process: &JobProcess,
        identity: Option<&Identity>,
    ) -> Result<(), Vec<StartFailure>> {
        let failures = child::open_failures(&process.files, identity, &self.job.sandbox.scratch);
        failures.ok().filter(|failures| !failures.is_empty()).map_or(Ok(()), Err)
    }

    pub(super) fn process_ended(
        &mut self,
        mut process: Running,
        exit: Exit,
        usage: &Usage,
        left_behind: usize,
    ) {
        let inside = match self.said_by_init(&process.attempt) {
            Some(Said::ExecFailed(errno)) if !self.job.quirks.has(Quirk::PidnsExecFailureIsSuccess) => {
                let text = strerror(errno);
                let failure = process::execute_failed(&process.attempt, "", errno, &text);
                return self.failed(process.own, vec![failure]);
            }
            Some(Said::Exited(status)) => Exit::from_raw(status),
            // It was killed before it could write, or has nothing to write of.
            _ => process.attempt.isolation.status_file.is_some().then_some(exit),
        };
        self.kill_account();
        let group = process.own.group.as_mut();
        let (escaped, out_of_memory) = group.map_or((0, false), |group| group.last_look(exit));
        let mut total = process.measured();
        total.docker = self.leave_container();
        self.terminal = None;
        total.out_of_memory = out_of_memory;
        let left_behind = left_behind.max(escaped);
        // The kernel's count of the process and those it waited for is exact; samples know of the others.
        // A group counts all of them to the end, in ticks that are larger.
        total.user = total.user.max(usage.user);
        total.system = total.system.max(usage.system);
        total.resident_kib = total.resident_kib.max(usage.max_rss_kib);
        // What is resident is part of the image, also of a job that ended before it was looked at.
        total.max_image_kib = total.max_image_kib.max(total.resident_kib);
        // What we killed ourselves was not left behind.
        total.processes = if self.killed { 0 } else { u32::try_from(left_behind).unwrap_or(u32::MAX) };
        self.drop_group(process.own.group.take());
        let identity = self.job.identity.as_ref();
        let core = child::take_core(&self.job.iwd, process.pid, &self.job.id, identity);
        // Looked for whether there is a wrapper or not: a job may tell in the same way (c09 029).
        let wrapper_failure =
            child::wrapper_failure(&self.job.sandbox.scratch, self.job.wrapper_reader.as_ref());
        let java = process.attempt.java.then(|| child::java_records(&self.job.sandbox.scratch, identity));
        let ended = Event::ProcessEnded { exit, inside, usage: total, core, wrapper_failure, java };
        self.with_disk(ended);
    }

    pub(super) fn signal_job(&mut self, number: i32) {
        // A number that is no signal cannot be sent, so that the hard way is left (c12: 999).
        if !(0..=64).contains(&number) {
            return self.signal_family(libc::SIGKILL);
        }
        if let Some(process) = &self.process
            && number != 0
        {
            self.reactor.kill(process.child, number, Whom::Process);
        }
    }

    pub(super) fn signal_family(&mut self, number: i32) {
        if number == libc::SIGKILL {
            self.kill_account();
        }
        if let Some(process) = &self.process {
            if number == libc::SIGSTOP {
                // Before its family is looked for: it may have been executed just now (SuspendJobAtExec; c12 056).
                self.reactor.kill(process.child, number, Whom::Process);
            }
            self.reactor.kill(process.child, number, Whom::Family);
            if let Some(group) = &process.own.group {
                group.signal(number);
            }
        }
    }
}
