//! Ends of jobs and processes: kill signals, exit attributes, deferral, checkpoint exits, required exit statuses.

use bstr::{BString, ByteSlice};

use htc_base::process::{Exit, signal_description, signal_number};
use htc_base::time::ClockReading;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Value};

/// SIGTERM, the default kill signal.
pub const SIGTERM: i32 = 15;
/// SIGTRAP, which 25.14 treats as a stop of the process.
pub const SIGTRAP: i32 = 5;

/// Returns the signal that an attribute names: a number that is not negative, or a name with `SIG`; `None`
/// for anything else.
///
/// Reference: `findSignal`.
pub fn kill_signal(ad: &ClassAd, name: &str, world: &dyn World) -> Option<i32> {
    if let Some(number) = Context::new(world).my(ad).int(name) {
        return i32::try_from(number).ok().filter(|number| *number >= 0);
    }
    signal_number(&Context::new(world).my(ad).string(name)?)
}

/// Returns the reason for an exit by a signal, such as `died on signal 9 (Killed)`.
fn exit_reason(signal: i32) -> String {
    // `GetExceptionString` uses only the low bits of a signal number that is too large.
    let shown = if signal > 64 { signal & 0x7f } else { signal };
    format!("died on signal {shown} ({})", signal_description(shown))
}

/// Sets the exit attributes of a process in an ad. Attributes of scripts have a prefix.
pub fn publish_exit(ad: &mut ClassAd, prefix: &str, exit: Exit) {
    let name = |name: &str| format!("{prefix}{name}");
    match exit {
        Exit::Code(code) => {
            ad.set(name("ExitBySignal").as_str(), false);
            ad.set(name("ExitCode").as_str(), i64::from(code));
        }
        Exit::Signal { number, .. } => {
            ad.set(name("ExitBySignal").as_str(), true);
            ad.set(name("ExitSignal").as_str(), i64::from(number));
            ad.set(name("ExitReason").as_str(), exit_reason(number).as_str());
        }
    }
}

/// Returns the seconds between two times like `timersub_double`, with the same rounding in the last digits of
/// `JobDuration`.
pub fn seconds_between(start: ClockReading, end: ClockReading) -> f64 {
    let parts = |now: ClockReading| (now.wall_us.div_euclid(1_000_000), now.wall_us.rem_euclid(1_000_000));
    let ((start_s, start_us), (end_s, end_us)) = (parts(start), parts(end));
    (end_s as f64 - start_s as f64) + (end_us as f64 - start_us as f64) / 1_000_000.0
}

/// Decision about the start time of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Start immediately.
    Now,
    /// Start after this number of seconds.
    Wait(u64),
    /// Do not start, because it is too late or the time is not valid. Contains the reference's message.
    Missed(String),
}

/// Reads `DeferralTime`, `DeferralOffset` and `DeferralWindow` (`Starter::jobWaitUntilExecuteTime`).
pub fn read_deferral(ad: &ClassAd, id: &str, now: i64, world: &dyn World) -> Deferral {
    let integer = |name: &str| Context::new(world).my(ad).int(name);
    if !ad.contains("DeferralTime") {
        return Deferral::Now;
    }
    let Some(time) = integer("DeferralTime") else {
        return Deferral::Missed(format!("Invalid deferred execution time for Job {id}."));
    };
    if time <= 0 {
        return Deferral::Missed(format!("Invalid execution time '{time}' for Job {id}."));
    }
    let now = now.saturating_sub(integer("DeferralOffset").unwrap_or(0));
    let delta = time.saturating_sub(now);
    if delta >= 0 {
        return if delta == 0 { Deferral::Now } else { Deferral::Wait(delta.unsigned_abs()) };
    }
    if delta.saturating_neg() > integer("DeferralWindow").unwrap_or(0) {
        return Deferral::Missed(format!("Job {id} missed its execution time."));
    }
    Deferral::Now
}

/// Returns the raw wait status that PreCmd (`Pre`), PostCmd (`Post`) or the job must have to be successful
/// (`computeDesiredExitStatus`), or `None` if the ad requires no status.
pub fn promised_status(ad: &ClassAd, prefix: &str, world: &dyn World) -> Option<i64> {
    let name = |what: &str| match prefix {
        "" => format!("JobSuccessExit{what}"),
        _ => format!("Success{prefix}Exit{what}"),
    };
    let integer = |what: &str| Context::new(world).my(ad).int(name(what));
    let by_signal = Context::new(world).my(ad).boolean(name("BySignal")).unwrap_or(false);
    match by_signal {
        true => integer("Signal"),
        false => integer("Code").map(|code| code << 8),
    }
}

/// Returns true if the exit means that the job wrote a checkpoint and is to be restarted.
pub fn is_checkpoint_exit(ad: &ClassAd, exit: Exit, world: &dyn World) -> bool {
    let boolean = |name: &str| Context::new(world).my(ad).boolean(name).unwrap_or(false);
    let integer = |name: &str| Context::new(world).my(ad).int(name);
    if !boolean("WantFTOnCheckpoint") {
        return false;
    }
    match exit {
        Exit::Signal { number, .. } => {
            boolean("SuccessCheckpointExitBySignal")
                && integer("SuccessCheckpointExitSignal") == Some(number.into())
        }
        Exit::Code(code) => {
            !boolean("SuccessCheckpointExitBySignal")
                && integer("SuccessCheckpointExitCode").unwrap_or(0) == i64::from(code)
        }
    }
}

/// Returns the attributes of the first update: the resources that the slot ad provides for the job.
///
/// Reference: `Starter::WriteAdFiles`.
pub fn provisioned_resources(machine: &ClassAd, world: &dyn World) -> ClassAd {
    let mut update = ClassAd::new();
    let resources = Context::new(world).my(machine).string("MachineResources");
    if let Some(resources) = &resources {
        update.set("ProvisionedResources", resources.clone());
    }
    let resources = resources.unwrap_or_else(|| BString::from("CPUs, Disk, Memory"));
    for resource in htc_base::text::list::split(&resources) {
        let resource = resource.as_bstr().to_string();
        if let Some(value) = machine.get(resource.as_str()) {
            update.insert(format!("{resource}Provisioned").as_str(), value);
        }
        let assigned = format!("Assigned{resource}");
        if let Some(value) = machine.get(assigned.as_str()) {
            update.insert(assigned.as_str(), value);
        }
    }
    update
}

/// Evaluates a condition of the configuration. MY is the slot, and TARGET is the job. Returns `None` if the value is
/// neither a boolean nor a number.
pub fn eval_condition(expression: &[u8], machine: &ClassAd, ad: &ClassAd, world: &dyn World) -> Option<bool> {
    let expression = htc_classad::Expr::parse_with(expression, Dialect::of_world(world).old()).ok()?;
    match Context::new(world).my(machine).target(ad).eval(&expression) {
        Value::Bool(truth) => Some(truth),
        Value::Int(number) => Some(number != 0),
        Value::Real(number) => Some(number != 0.0),
        _ => None,
    }
}
