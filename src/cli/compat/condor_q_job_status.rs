//! Sentences of the analysis about a job by itself: its state, its universe, its times.

use bstr::{BString, ByteSlice, ByteVec};

use crate::classad::Context;
use crate::job::Universe;
use crate::text::calendar::CivilTime;
use crate::world::World;

/// Returns the reason why the job does not wait for a match, or an empty string.
pub(super) fn job_status(context: &Context<'_>, world: &dyn World) -> BString {
    let now = context.int("ServerTime").unwrap_or_else(|| world.now().epoch());
    let cools = context.int("JobCoolDownExpiration").is_some_and(|end| end > now);
    let text = match context.int("JobStatus") {
        Some(2 | 6 | 7) => "Job is running.",
        Some(3) => "Job is removed.",
        Some(4) => "Job is completed.",
        Some(1) if cools => "Job is in cool down.",
        Some(5) => {
            let reason = context.string("HoldReason").unwrap_or_default();
            let mut text = BString::from("Job is held.");
            if !reason.is_empty() {
                text.push_str("\n\nHold reason: ");
                text.push_str(&reason);
            }
            return text;
        }
        _ => "",
    };
    text.into()
}

pub(super) fn append_universe_warning(context: &Context<'_>, out: &mut Vec<u8>) {
    let warning = match context.int("JobUniverse").and_then(Universe::from_number) {
        Some(Universe::Java | Universe::Vanilla | Universe::Parallel | Universe::Vm) => return,
        Some(Universe::Grid) => {
            if context.string("GridResource").is_some_and(|resource| resource.contains_str("$$")) {
                return;
            }
            "Analysis is only meaningful for Grid universe jobs using matchmaking."
        }
        Some(Universe::Mpi) => "Analysis is meaningless for MPI universe jobs.",
        Some(Universe::Scheduler | Universe::Local) => {
            "Analysis is not complete for Scheduler or Local universe jobs."
        }
        _ => "Job universe unknown.  Analysis may not be meaningful.",
    };
    out.extend_from_slice(format!("\nWARNING: {warning}\n").as_bytes());
}

/// Returns a time as `ctime` prints it.
pub(super) fn calendar_text(seconds: i64, world: &dyn World) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let offset = i64::from(world.zone(seconds).offset);
    let time = CivilTime::from_seconds(seconds, offset);
    let day = DAYS[(seconds + offset).div_euclid(86_400).rem_euclid(7) as usize];
    let month =
        usize::try_from(time.month - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or_default();
    let CivilTime { year, day: date, hour, minute, second, .. } = time;
    format!("{day} {month} {date:2} {hour:02}:{minute:02}:{second:02} {year}")
}
