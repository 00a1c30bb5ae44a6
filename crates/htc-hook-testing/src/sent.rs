//! What a caller makes of the ads that people give before its hook reads them.
//!
//! A job comes as a fetch hook prints it. The startd adds what it asks for and the keyword, the starter completes it, and a
//! run leaves its marks: all of that is done here by the functions and the machines that the runners use. What has been
//! through a caller already (a recorded input, the result of another call) is not changed a second time.

use std::path::Path;
use std::time::Duration;

use bstr::BString;

use super::case::Case;
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::quirks::Quirks;
use htc_base::time::Now;
use htc_base::world::World;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Value};
use htc_hook::HookType;
use htc_slot as slot;
use htc_starter::ending::{self, Deferral};
use htc_starter::{
    Action, Event, FamilyUsage, Hooks, JobInfo, Request, Settings, Setup, Starter, Vacate, job_info,
};

/// What a caller knows besides the case.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The starter's configuration.
    pub settings: &'a Settings,
    /// Clock, accounts, files.
    pub world: &'a dyn World,
    /// Deviations.
    pub quirks: Quirks,
}

/// How long the job has run when JOB_EXIT is called.
const RUN: Duration = Duration::from_secs(10);
/// The process of a job that never was: one more than Linux gives out, so that nobody can be hit by a signal to it.
const PID: u32 = 4_194_304;
/// What a job like `sleep` uses (s01).
fn usage() -> FamilyUsage {
    FamilyUsage { processes: 1, max_image_kib: 5092, resident_kib: 2924, ..FamilyUsage::default() }
}
/// What the run says of itself whatever the given ad says; all else that the ad has is kept.
const TOLD: [&str; 6] = ["JobState", "NumPids", "ExitBySignal", "ExitCode", "ExitSignal", "ExitReason"];

impl Case {
    /// The case as its caller has it when it calls the hook. `scratch` is the job's directory, for hooks of the starter.
    pub fn completed(&self, scratch: Option<&Path>, around: &Around<'_>) -> Case {
        let mut case = self.clone();
        if case.recorded_input.is_some() {
            return case;
        }
        match (case.hook, scratch) {
            (HookType::ReplyFetch | HookType::EvictClaim, _) => {
                case.fetch(around.world);
                case.slot = slot::internal_ad(&case.slot, &case.policy);
            }
            (
                HookType::PrepareJobBeforeTransfer
                | HookType::PrepareJob
                | HookType::UpdateJobInfo
                | HookType::JobExit,
                Some(scratch),
            ) => case.begin(scratch, around),
            _ => {}
        }
        case
    }

    /// What the startd adds to a job that it has fetched.
    fn fetch(&mut self, world: &dyn World) {
        if slot::is_static(&self.slot, world) {
            slot::add_requests(&mut self.job);
        }
        let keyword = if self.fetched_under.is_empty() { &self.keyword } else { &self.fetched_under };
        slot::add_keyword(&mut self.job, keyword, world);
    }

    /// What the starter makes of the job until the hook is called.
    fn begin(&mut self, scratch: &Path, around: &Around<'_>) {
        if self.with_shadow {
            self.job.update(&ending::provisioned(&self.slot, around.world));
        } else {
            self.fetch(around.world);
        }
        let info = read(&mut self.job, scratch, around.quirks, around.world);
        self.before_run = Some(self.job.clone());
        let state = Context::new(around.world).my(&self.job).string(attr::JOB_STATE);
        let told = match self.hook {
            HookType::UpdateJobInfo => state.is_some(),
            HookType::JobExit => state.is_some_and(|state| state == "Exited"),
            _ => true,
        };
        // A job of another universe is never run here, but somebody may want to see its hook called all the same.
        if let (Some(info), false) = (info, told)
            && let Some(mut sent) = self.run(info, scratch, around)
        {
            for (name, value) in self.job.sorted() {
                if !TOLD.iter().any(|told| name.eq_ignore_ascii_case(told.as_bytes())) {
                    sent.insert(name, value.clone());
                }
            }
            self.job = sent;
        }
    }

    /// The ad that the starter's machine gives to its hook when the job has been started, or has ended as the given ad says
    /// it; `None`: it would not call the hook.
    fn run(&self, info: JobInfo, scratch: &Path, around: &Around<'_>) -> Option<ClassAd> {
        let is_exit = self.hook == HookType::JobExit;
        // The first update is rounded to a whole second of the clock.
        let first_update = around.settings.initial_update_interval + Duration::from_secs(1);
        let lasts = if is_exit { RUN } else { first_update };
        let lasted = i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX);
        let present = around.world.now();
        let mut now = Now { wall_us: present.wall_us.saturating_sub(lasted), monotonic_us: 0 };
        match ending::deferral(&self.job, &info.id(), now.epoch(), around.world) {
            Deferral::Now => {}
            Deferral::Wait(seconds) => now = now.plus(Duration::from_secs(seconds)),
            Deferral::Missed(_) => return None,
        }
        let hooks = Hooks {
            update: (!is_exit).then(|| BString::from("update")),
            exit: is_exit.then(|| BString::from("exit")),
            ..Hooks::default()
        };
        let alone = Setup::alone(around.world, self.job.clone(), Ok(info), scratch.to_owned());
        let mut machine = Starter::new(Setup {
            quirks: around.quirks,
            machine: Some(self.slot.clone()),
            settings: around.settings.clone(),
            hooks,
            starter_pid: std::process::id(),
            ..alone
        });
        drop(machine.step(now, Event::Begin));
        let mut out = machine.step(now, Event::ScratchMade { encrypted: false });
        if self.before_job {
            return match is_exit {
                true => None,
                false => read_of(&out),
            };
        }
        while let Some(script) = started(&out) {
            drop(machine.step(now, Event::ProcessStarted { pid: PID }));
            if script {
                out = self.script_ends(&mut machine, now, "Pre", around);
                continue;
            }
            now = now.plus(lasts);
            return match is_exit {
                true => self.ended(&mut machine, now, around),
                false => {
                    drop(machine.step(now, Event::Timeout));
                    read_of(&machine.step(now, Event::Measured(usage())))
                }
            };
        }
        // It could not be started, which JOB_EXIT is told.
        read_of(&out)
    }

    /// JOB_EXIT after the job's end, of itself or asked for by the word that the hook is told.
    fn ended(&self, machine: &mut Starter<'_>, now: Now, around: &Around<'_>) -> Option<ClassAd> {
        let request = match self.word.as_slice() {
            b"evict" => Some(Request::Graceful(Some(Vacate {
                reason: "Claim vacated by the administrator".into(),
                code: 1010,
                subcode: 0,
            }))),
            b"remove" => Some(Request::Remove(None)),
            b"hold" => Some(Request::Hold(None)),
            _ => None,
        };
        let mut exit = Exit::Code(0);
        if let Some(request) = request {
            for action in machine.step(now, Event::Asked(request)) {
                if let Action::SignalJob(number) = action {
                    exit = Exit::Signal { number, core_dumped: false };
                }
            }
        }
        let exit = exit_of(&self.job).unwrap_or(exit);
        let usage = FamilyUsage { processes: 0, ..usage() };
        let mut out = machine.step(now, Event::process_ended(exit, usage));
        if started(&out).is_some() {
            drop(machine.step(now, Event::ProcessStarted { pid: PID }));
            out = self.script_ends(machine, now, "Post", around);
        }
        read_of(&out)
    }

    /// PreCmd or PostCmd ends as the job promises.
    fn script_ends(
        &self,
        machine: &mut Starter<'_>,
        now: Now,
        prefix: &str,
        around: &Around<'_>,
    ) -> Vec<Action> {
        let promised = ending::promised_status(&self.job, prefix, around.world);
        let exit = promised.and_then(|status| Exit::from_raw(i32::try_from(status).ok()?));
        let exit = exit.unwrap_or(Exit::Code(0));
        machine.step(now, Event::process_ended(exit, FamilyUsage::default()))
    }
}

/// Completes the job's ad as a starter does; an ad that another starter has completed keeps what it was like before.
fn read(job: &mut ClassAd, scratch: &Path, quirks: Quirks, world: &dyn World) -> Option<JobInfo> {
    let original = ["OrigCmd", "OrigIwd"].map(|name| (name, job.get(name)));
    let info = job_info::read(job, scratch, quirks, world).ok();
    for (name, value) in original {
        if let Some(value) = value {
            job.insert(name, value);
        }
    }
    info
}

/// How the main job ended, as its ad says it.
pub(super) fn exit_of(job: &ClassAd) -> Option<Exit> {
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

/// Whether a process is to be started, and whether that is a script.
fn started(actions: &[Action]) -> Option<bool> {
    actions.iter().find_map(|action| match action {
        Action::StartProcess(process) => Some(process.script),
        _ => None,
    })
}

/// The ad that the first hook of these actions reads.
fn read_of(actions: &[Action]) -> Option<ClassAd> {
    actions.iter().find_map(|action| match action {
        Action::Call(call) => Some(long::parse(&call.stdin).0),
        _ => None,
    })
}
