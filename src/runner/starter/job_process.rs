//! The process of a job, or of a script around it: started, looked at, signalled, and what came of it.

use std::time::Duration;

use nix::libc;

use super::child;
use super::group::JobGroup;
use super::live::Live;
use super::measure::family_usage;
use crate::os::namespace_init::Said;
use crate::os::terminal::Terminal;
use crate::os::tracking::TrackingGroup;
use crate::os::{self, ChildId, Whom, accounting, cgroup, clock};
use crate::process::{Exit, Session};
use crate::quirks::Quirk;
use crate::runner::events::full_text;
use crate::runner::hook_call::HookCall;
use crate::starter::{Account, Event, FamilyUsage, JobProcess, KnownBy, StartFailure, process};
use crate::time::Now;

/// When it is looked at first: a process that has just been executed has not mapped its libraries yet.
const FIRST_SNAPSHOT: Duration = Duration::from_millis(50);

/// The process of the job, or a script around it, that runs now.
pub(super) struct Running {
    pub(super) child: ChildId,
    pid: u32,
    usage: accounting::FamilyUsage,
    /// Memory with shared pages divided among their users, where no group counts it.
    proportional_kib: Option<u64>,
    group: Option<JobGroup>,
    /// Ours as long as it runs.
    _tracking: Option<TrackingGroup>,
    /// What was to be executed.
    pub(super) attempt: Box<JobProcess>,
}

impl Running {
    /// How often it is looked at, so that the largest image seen is worth its name.
    pub(super) fn interval(&self, snapshot: Duration) -> Duration {
        self.group.as_ref().map_or(snapshot.max(FIRST_SNAPSHOT), JobGroup::interval)
    }

    /// What the last look showed.
    fn measured(&self) -> FamilyUsage {
        let usage = FamilyUsage { proportional_kib: self.proportional_kib, ..family_usage(&self.usage) };
        match &self.group {
            Some(group) => group.measured(usage),
            None => usage,
        }
    }
}

impl Live<'_> {
    pub(super) fn start(&mut self, now: Now, process: &JobProcess) {
        match self.try_start(now, process) {
            Ok(child) => {
                let pid = self.pid(child);
                self.note_child(child);
                let attempt = Box::new(process.clone());
                let (group, tracking) = (self.new_group.take(), self.new_tracking.take());
                self.note_known_by(process, group.is_some());
                self.process = Some(Running {
                    child,
                    pid,
                    usage: Default::default(),
                    proportional_kib: None,
                    group,
                    _tracking: tracking,
                    attempt,
                });
                self.is_new = true;
                if process.account == Account::Daemon {
                    self.watch_container();
                }
                self.snapshot_at = Some(clock::tick().plus(FIRST_SNAPSHOT));
                self.events.push_back(Event::ProcessStarted { pid });
            }
            Err(failures) => {
                self.drop_group();
                self.new_tracking = None;
                self.events.push_back(Event::ProcessFailed(failures));
            }
        }
    }

    pub(super) fn try_start(&mut self, now: Now, process: &JobProcess) -> Result<ChildId, Vec<StartFailure>> {
        if process.account == Account::Daemon {
            return self.start_container(process);
        }
        let mut identity = self.job.identity.clone();
        let mounts = self.job.sandbox.mounts(&process.mounts).map_err(|error| {
            vec![StartFailure::silent(format!("cannot make the directories of MOUNT_UNDER_SCRATCH: {error}"))]
        })?;
        let scratch = self.job.sandbox.scratch.clone();
        if child::writes_through_nothing(&process.files, identity.as_ref(), &scratch)
            || !process.failures.is_empty()
        {
            let failures =
                child::open_failures(&process.files, identity.as_ref(), &scratch).unwrap_or_default();
            return Err(if failures.is_empty() { process.failures.clone() } else { failures });
        }

        let ancestor = HookCall::marker(now, self.world.random());
        self.take_tracking(process)?;
        let tracking = self.new_tracking.as_ref().map(|group| group.gid);
        if let Some(identity) = &mut identity {
            identity.groups.extend(tracking);
        }
        self.link_init(process);
        let cgroups = self.make_group(process);
        let mut spec =
            child::spec(process, &self.job.environment, identity.as_ref(), ancestor, (mounts, cgroups));
        if spec.session == Session::Foreground {
            self.terminal = Some(Terminal::lend());
        }
        spec.namespaces = process.isolation.namespaces;
        spec.tracking_group = tracking;
        let affinity = if process.script { Vec::new() } else { self.job.affinity.clone() };
        let affinity = affinity.as_slice();
        let mut error = match self.spawn_preferred(affinity, &spec) {
            Ok(child) => return Ok(child),
            Err(error) => error,
        };
        if error.stage == os::Stage::Cgroup {
            self.warn(format!("the job runs without its control group: {}", full_text(&error)));
            self.drop_group();
            spec.cgroups.clear();
            error = match self.spawn_preferred(affinity, &spec) {
                Ok(child) => return Ok(child),
                Err(error) => error,
            };
        }
        if error.stage == os::Stage::Namespace && spec.namespaces.processes {
            self.warn(format!(
                "the job runs without a PID namespace (USE_PID_NAMESPACES), known by its group or {}: {}",
                KnownBy::Marks.line(),
                full_text(&error)
            ));
            spec.namespaces.processes = false;
            error = match self.spawn_preferred(affinity, &spec) {
                Ok(child) => return Ok(child),
                Err(error) => error,
            };
        }
        if let Some((_, target)) = spec.mounts.iter().find(|(_, target)| error.path.starts_with(target)) {
            self.warn(format!(
                "'{}' is looked for in the job's own '{}' (MOUNT_UNDER_SCRATCH), not in the machine's",
                error.path.display(),
                target.display()
            ));
        }
        if !matches!(error.stage, os::Stage::Stdin | os::Stage::Stdout | os::Stage::Stderr) {
            return Err(child::failure(process, &error));
        }
        let scratch = &self.job.sandbox.scratch;
        let failures = child::open_failures(&process.files, identity.as_ref(), scratch).unwrap_or_default();
        if !failures.is_empty() {
            return Err(failures);
        }
        let mut again = spec;
        for stdio in &mut again.stdio {
            if let crate::process::Stdio::File { truncate, .. } = stdio {
                *truncate = false;
            }
        }
        self.reactor.spawn(again).map_err(|error| child::failure(process, &error))
    }

    /// Makes a child that is bound to processors, and that the kernel kills before others when memory is short.
    fn spawn_preferred(
        &mut self,
        affinity: &[usize],
        spec: &crate::process::ChildSpec,
    ) -> Result<ChildId, os::SpawnError> {
        child::bound(affinity, || cgroup::killed_first(|| self.reactor.spawn(spec.clone())))
    }

    /// Looks at the family's use of the machine.
    pub(super) fn sample(&mut self) {
        if let Some(process) = &mut self.process
            && let Some(usage) = self.reactor.usage(process.child)
        {
            // Asked of the procd alone, which does not watch control groups (`procapi.cpp`, `getPSSInfo`).
            if process.group.is_none() && self.job.proportional {
                process.proportional_kib = usage
                    .pids
                    .iter()
                    .filter_map(|pid| accounting::proportional_kib(*pid))
                    .reduce(|sum, one| sum + one);
            }
            process.usage = usage;
            if let Some(group) = &mut process.group {
                group.sample();
            }
        }
    }

    pub(super) fn measured(&self) -> FamilyUsage {
        let usage = self.process.as_ref().map_or_else(FamilyUsage::default, Running::measured);
        FamilyUsage { docker: self.docker.as_ref().and_then(|watch| watch.usage), ..usage }
    }

    /// It was taken for started, and then its program could not be executed: it had to wait for the other end of a FIFO, or for the
    /// first process of its PID namespace.
    pub(super) fn gave_up(&mut self, process: Running, failures: Vec<StartFailure>) {
        self.snapshot_at = None;
        self.new_group = process.group;
        self.drop_group();
        self.events.push_back(Event::ProcessFailed(failures));
    }

    pub(super) fn process_ended(
        &mut self,
        mut process: Running,
        exit: Exit,
        usage: &crate::process::Usage,
        left_behind: usize,
    ) {
        self.snapshot_at = None;
        let inside = match self.said_by_init(&process.attempt) {
            Some(Said::ExecFailed(errno)) if !self.job.quirks.has(Quirk::PidnsExecFailureIsSuccess) => {
                let text = os::strerror(errno);
                let failure = process::execute_failed(&process.attempt, "", errno, &text);
                return self.gave_up(process, vec![failure]);
            }
            Some(Said::Exited(status)) => Exit::from_raw(status),
            // It was killed before it could write, or has nothing to write of.
            _ => process.attempt.isolation.status_file.is_some().then_some(exit),
        };
        self.kill_account();
        let group = process.group.as_mut();
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
        self.new_group = process.group.take();
        self.drop_group();
        let identity = self.job.identity.as_ref();
        let core = child::take_core(&self.job.iwd, process.pid, &self.job.id, identity);
        // Looked for whether there is a wrapper or not: a job may tell in the same way (c09 029).
        let wrapper_failure =
            child::wrapper_failure(&self.job.sandbox.scratch, self.job.wrapper_reader.as_ref());
        let java = process.attempt.java.then(|| child::java_records(&self.job.sandbox.scratch, identity));
        let ended = Event::ProcessEnded { exit, inside, usage: total, core, wrapper_failure, java };
        self.with_disk(ended, true);
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
            if let Some(group) = &process.group {
                group.signal(number);
            }
        }
    }
}
