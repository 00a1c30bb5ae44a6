//! Completion of the given ads as the hook's caller does it before the call.
//!
//! A job is given in the form that a fetch hook prints. In a pool, the startd adds default requests and the keyword,
//! the starter completes the ad, and running the job adds further attributes. This module does the same with the
//! functions and state machines of the runners. An ad that a caller has already completed (a recorded input, or the
//! result of another call) is not changed again.

use std::path::Path;
use std::time::Duration;

use bstr::BString;

use super::case::Case;
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::quirks::QuirkMode;
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Value};
use htc_hook::HookType;
use htc_slot as slot;
use htc_starter::job_exit::{self, Deferral};
use htc_starter::{
    FamilyUsage, JobInfo, Starter, StarterAction, StarterCommand, StarterEvent, StarterHooks,
    StarterSettings, StarterSetup, StarterVacateReason, job_info,
};

/// Inputs of a verdict other than the case.
#[derive(Clone, Copy)]
pub struct VerdictInputs<'a> {
    /// Settings of the starter.
    pub settings: &'a StarterSettings,
    /// Access to the clock, accounts and files.
    pub world: &'a dyn World,
    /// Quirks of 25.14 to reproduce.
    pub quirks: QuirkMode,
}

/// Time for which the simulated job has run when JOB_EXIT is called.
const JOB_RUN_TIME: Duration = Duration::from_secs(10);
/// Process id of the simulated job. It is above the maximum process id of Linux, so that no process can get a signal
/// by accident.
const FAKE_PID: u32 = 4_194_304;
/// Returns the resource usage of a job that runs a program like `sleep`.
fn sample_usage() -> FamilyUsage {
    FamilyUsage { processes: 1, max_image_kib: 5092, resident_kib: 2924, ..FamilyUsage::default() }
}
/// Attributes that running the job always sets. Other attributes keep the values of the given ad.
const RUN_ATTRIBUTES: [&str; 6] =
    ["JobState", "NumPids", "ExitBySignal", "ExitCode", "ExitSignal", "ExitReason"];

impl Case {
    /// Returns the case with the ads as its caller completes them before it calls the hook. `scratch` is the job's
    /// scratch directory, for starter hooks only.
    pub fn completed_by_caller(&self, scratch: Option<&Path>, inputs: &VerdictInputs<'_>) -> Case {
        let mut case = self.clone();
        if case.recorded_input.is_some() {
            return case;
        }
        match (case.hook, scratch) {
            (HookType::ReplyFetch | HookType::EvictClaim, _) => {
                case.add_startd_attributes(inputs.world);
                case.slot = slot::to_internal_ad(&case.slot, &case.policy);
            }
            (
                HookType::PrepareJobBeforeTransfer
                | HookType::PrepareJob
                | HookType::UpdateJobInfo
                | HookType::JobExit,
                Some(scratch),
            ) => case.add_starter_attributes(scratch, inputs),
            _ => {}
        }
        case
    }

    /// Adds the attributes that the startd adds to a fetched job.
    fn add_startd_attributes(&mut self, world: &dyn World) {
        if slot::is_static_slot_ad(&self.slot, world) {
            slot::add_default_requests(&mut self.job);
        }
        let keyword = if self.fetching_keyword.is_empty() { &self.keyword } else { &self.fetching_keyword };
        slot::add_hook_keyword(&mut self.job, keyword, world);
    }

    /// Completes the job as the starter does before it calls the hook.
    fn add_starter_attributes(&mut self, scratch: &Path, inputs: &VerdictInputs<'_>) {
        if self.with_shadow {
            self.job.update(&job_exit::provisioned_resources(&self.slot, inputs.world));
        } else {
            self.add_startd_attributes(inputs.world);
        }
        let info = complete_job_ad(&mut self.job, scratch, inputs.quirks, inputs.world);
        self.job_before_start = Some(self.job.clone());
        let state = Context::new(inputs.world).my(&self.job).string(attr::JOB_STATE);
        let is_complete = match self.hook {
            HookType::UpdateJobInfo => state.is_some(),
            HookType::JobExit => state.is_some_and(|state| state == "Exited"),
            _ => true,
        };
        // The starter refuses a job of an unsupported universe, but its hook can still be tested with the given ad.
        if let (Some(info), false) = (info, is_complete)
            && let Some(mut sent) = self.simulate_run(info, scratch, inputs)
        {
            for (name, value) in self.job.sorted() {
                if !RUN_ATTRIBUTES.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())) {
                    sent.insert(name, value.clone());
                }
            }
            self.job = sent;
        }
    }

    /// Returns the ad that the starter passes to its hook after the start of the job, or after the end of the job
    /// that the given ad describes. Returns `None` if the starter would not call the hook.
    fn simulate_run(&self, info: JobInfo, scratch: &Path, inputs: &VerdictInputs<'_>) -> Option<ClassAd> {
        let is_exit = self.hook == HookType::JobExit;
        // The starter sends its first update at a whole second of the clock, so it may be later than the configured
        // interval.
        let first_update = inputs.settings.initial_update_interval + Duration::from_secs(1);
        let lasts = if is_exit { JOB_RUN_TIME } else { first_update };
        let lasted = i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX);
        let present = inputs.world.now();
        let mut now = ClockReading { wall_us: present.wall_us.saturating_sub(lasted), monotonic_us: 0 };
        match job_exit::read_deferral(&self.job, &info.id(), now.epoch(), inputs.world) {
            Deferral::Now => {}
            Deferral::Wait(seconds) => now = now.plus(Duration::from_secs(seconds)),
            Deferral::Missed(_) => return None,
        }
        let hooks = StarterHooks {
            update: (!is_exit).then(|| BString::from("update")),
            exit: is_exit.then(|| BString::from("exit")),
            ..StarterHooks::default()
        };
        let alone = StarterSetup::minimal(inputs.world, self.job.clone(), Ok(info), scratch.to_owned());
        let mut machine = Starter::new(StarterSetup {
            quirks: inputs.quirks,
            machine: Some(self.slot.clone()),
            settings: inputs.settings.clone(),
            hooks,
            starter_pid: std::process::id(),
            ..alone
        });
        drop(machine.step(now, StarterEvent::Begin));
        let mut out = machine.step(now, StarterEvent::ScratchMade { encrypted: false });
        if self.job_not_started {
            return match is_exit {
                true => None,
                false => ad_of_first_hook(&out),
            };
        }
        while let Some(script) = starting_process_is_script(&out) {
            drop(machine.step(now, StarterEvent::ProcessStarted { pid: FAKE_PID }));
            if script {
                out = self.end_script(&mut machine, now, "Pre", inputs);
                continue;
            }
            now = now.plus(lasts);
            return match is_exit {
                true => self.simulate_job_end(&mut machine, now, inputs),
                false => {
                    drop(machine.step(now, StarterEvent::Timeout));
                    ad_of_first_hook(&machine.step(now, StarterEvent::Measured(sample_usage())))
                }
            };
        }
        // The job could not be started, so JOB_EXIT is called.
        ad_of_first_hook(&out)
    }

    /// Returns the ad for JOB_EXIT after the job has ended by itself, or because of the request in the hook's
    /// argument.
    fn simulate_job_end(
        &self,
        machine: &mut Starter<'_>,
        now: ClockReading,
        inputs: &VerdictInputs<'_>,
    ) -> Option<ClassAd> {
        let request = match self.word.as_slice() {
            b"evict" => Some(StarterCommand::Graceful(Some(StarterVacateReason {
                reason: "Claim vacated by the administrator".into(),
                code: 1010,
                subcode: 0,
            }))),
            b"remove" => Some(StarterCommand::Remove(None)),
            b"hold" => Some(StarterCommand::Hold(None)),
            _ => None,
        };
        let mut exit = Exit::Code(0);
        if let Some(request) = request {
            for action in machine.step(now, StarterEvent::Requested(request)) {
                if let StarterAction::SignalJob(number) = action {
                    exit = Exit::Signal { number, core_dumped: false };
                }
            }
        }
        let exit = exit_in_ad(&self.job).unwrap_or(exit);
        let usage = FamilyUsage { processes: 0, ..sample_usage() };
        let mut out = machine.step(now, StarterEvent::process_ended(exit, usage));
        if starting_process_is_script(&out).is_some() {
            drop(machine.step(now, StarterEvent::ProcessStarted { pid: FAKE_PID }));
            out = self.end_script(machine, now, "Post", inputs);
        }
        ad_of_first_hook(&out)
    }

    /// Ends PreCmd or PostCmd with the exit status that the job ad gives for it, or with 0.
    fn end_script(
        &self,
        machine: &mut Starter<'_>,
        now: ClockReading,
        prefix: &str,
        inputs: &VerdictInputs<'_>,
    ) -> Vec<StarterAction> {
        let promised = job_exit::promised_status(&self.job, prefix, inputs.world);
        let exit = promised.and_then(|status| Exit::from_raw(i32::try_from(status).ok()?));
        let exit = exit.unwrap_or(Exit::Code(0));
        machine.step(now, StarterEvent::process_ended(exit, FamilyUsage::default()))
    }
}

/// Completes the job ad as a starter does. If another starter has already completed the ad, OrigCmd and OrigIwd are
/// kept.
fn complete_job_ad(
    job: &mut ClassAd,
    scratch: &Path,
    quirks: QuirkMode,
    world: &dyn World,
) -> Option<JobInfo> {
    let original = ["OrigCmd", "OrigIwd"].map(|name| (name, job.get(name)));
    let info = job_info::read_job_info(job, scratch, quirks, world).ok();
    for (name, value) in original {
        if let Some(value) = value {
            job.insert(name, value);
        }
    }
    info
}

/// Returns the exit status of the main job from its ad, or `None` if the ad has none.
pub(super) fn exit_in_ad(job: &ClassAd) -> Option<Exit> {
    let number = |name: &str| job.literal(name).and_then(|value| value.as_int());
    let signal = || {
        let number = i32::try_from(number("ExitSignal")?).ok()?;
        Some(Exit::Signal { number, core_dumped: false })
    };
    let by_signal = job.literal("ExitBySignal").map(|value| value == Value::Bool(true));
    match (by_signal, number("ExitCode")) {
        (Some(true), _) | (None, None) => signal(),
        (_, code) => Some(Exit::Code(u8::try_from(code? & 0xff).unwrap_or(0))),
    }
}

/// Returns true if the process to be started is a script, false if it is not, or `None` if no process is to be
/// started.
fn starting_process_is_script(actions: &[StarterAction]) -> Option<bool> {
    actions.iter().find_map(|action| match action {
        StarterAction::StartProcess(process) => Some(process.script),
        _ => None,
    })
}

/// Returns the input ad of the first hook call among the actions, or `None` if they call no hook.
fn ad_of_first_hook(actions: &[StarterAction]) -> Option<ClassAd> {
    actions.iter().find_map(|action| match action {
        StarterAction::Call(call) => Some(long::parse(&call.stdin).0),
        _ => None,
    })
}
