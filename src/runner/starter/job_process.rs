//! The process of a job, or of a script around it: started, looked at, signalled, and what came of it.

use std::time::Duration;

use nix::libc;

use super::child;
use super::group::JobGroup;
use super::live::Live;
use super::measure::family_usage;
use super::tools::full_text;
use crate::os::{self, ChildId, Whom, accounting, cgroup, clock, process_table};
use crate::process::Exit;
use crate::runner::hook_call::HookCall;
use crate::starter::{Account, Event, FamilyUsage, JobProcess, Left, StartFailure};
use crate::time::Now;

/// When it is looked at first: a process that has just been executed has not mapped its libraries yet.
const FIRST_SNAPSHOT: Duration = Duration::from_millis(50);

/// The process of the job, or a script around it, that runs now.
pub(super) struct Running {
    pub(super) child: ChildId,
    pid: u32,
    usage: accounting::FamilyUsage,
    group: Option<JobGroup>,
    /// What was to be executed.
    attempt: Box<JobProcess>,
}

/// How often memory is looked at between updates, so that the largest image seen is worth its name (PID_SNAPSHOT_INTERVAL).
const SNAPSHOT: Duration = Duration::from_secs(15);

impl Running {
    /// How often it is looked at.
    pub(super) fn interval(&self) -> Duration {
        self.group.as_ref().map_or(SNAPSHOT, JobGroup::interval)
    }

    /// What the last look showed.
    fn measured(&self) -> FamilyUsage {
        let usage = family_usage(&self.usage);
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
                let started = process_table::read(pid.cast_signed()).map_or(0, |one| one.started);
                self.note_left(&Left::Process { pid: pid.cast_signed(), started });
                let attempt = Box::new(process.clone());
                let group = self.new_group.take();
                self.process = Some(Running { child, pid, usage: Default::default(), group, attempt });
                self.is_new = true;
                self.snapshot_at = Some(clock::tick().plus(FIRST_SNAPSHOT));
                self.events.push_back(Event::ProcessStarted { pid });
            }
            Err(failures) => {
                self.drop_group();
                self.events.push_back(Event::ProcessFailed(failures));
            }
        }
    }

    pub(super) fn try_start(&mut self, now: Now, process: &JobProcess) -> Result<ChildId, Vec<StartFailure>> {
        if process.account == Account::Daemon {
            return self.start_container(process);
        }
        let identity = self.job.identity.clone();
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
        let cgroups = self.make_group(process);
        let mut spec =
            child::spec(process, &self.job.environment, identity.as_ref(), ancestor, (mounts, cgroups));
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
            process.usage = usage;
            if let Some(group) = &mut process.group {
                group.sample();
            }
        }
    }

    pub(super) fn measured(&self) -> FamilyUsage {
        self.process.as_ref().map_or_else(FamilyUsage::default, Running::measured)
    }

    /// The child had to wait for the other end of a FIFO, and then its program could not be executed.
    pub(super) fn gave_up(&mut self, process: Running, error: &os::SpawnError) {
        self.snapshot_at = None;
        self.new_group = process.group;
        self.drop_group();
        self.events.push_back(Event::ProcessFailed(child::failure(&process.attempt, error)));
    }

    pub(super) fn process_ended(
        &mut self,
        mut process: Running,
        exit: Exit,
        usage: &crate::process::Usage,
        left_behind: usize,
    ) {
        self.snapshot_at = None;
        let group = process.group.as_mut();
        let (escaped, out_of_memory) = group.map_or((0, false), |group| group.last_look(exit));
        let mut total = process.measured();
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
        self.events.push_back(Event::ProcessEnded { exit, usage: total, core, wrapper_failure });
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
