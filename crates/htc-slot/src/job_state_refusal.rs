//! Jobs that a negotiator never offers to a slot, whatever their Requirements.

use super::events::job_id;
use super::unfit_reason::UnfitReason;
use htc_base::job::{JobStatus, Universe, attr};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Attributes that [`refusal_by_job_state`] reads to decide.
pub const JOB_STATE_ATTRIBUTES: [&str; 2] = [attr::JOB_STATUS, attr::JOB_UNIVERSE];

/// Returns why no negotiator offers a job to a slot: it is held, or its universe runs without a slot. Other states are
/// ignored: ads of running and of completed jobs are compared with slots as if the jobs were idle.
pub fn refusal_by_job_state(job: &ClassAd, world: &dyn World) -> Option<UnfitReason> {
    let context = Context::new(world).my(job);
    if context.int(attr::JOB_STATUS) == Some(JobStatus::HELD) {
        let reason = context.string("HoldReason");
        let reason = reason.map_or_else(String::new, |reason| format!(" ({}: {reason})", job_id(job, world)));
        return Some(UnfitReason::from(format!("the job is held until condor_release{reason}")));
    }
    let universe = Universe::from_number(context.int(attr::JOB_UNIVERSE)?)?;
    let name = format!("{} universe (JobUniverse = {})", universe.name().to_lowercase(), universe.number());
    let reason = match universe {
        Universe::Vanilla | Universe::Java | Universe::Parallel | Universe::Vm => return None,
        Universe::Scheduler | Universe::Local => {
            format!("a job of the {name} runs on its access point and is never matched with a slot")
        }
        Universe::Grid => {
            format!("a job of the {name} is sent to another batch system and is never matched with a slot")
        }
        Universe::Standard
        | Universe::Pipe
        | Universe::Linda
        | Universe::Pvm
        | Universe::Pvmd
        | Universe::Mpi => format!("the {name} no longer exists"),
    };
    Some(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::Dialect;
    use htc_os::RealWorld;

    #[test]
    fn held_jobs_and_universes_without_slots_are_refused() {
        let reason = |text: &str| {
            let job = ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap();
            refusal_by_job_state(&job, &RealWorld::new()).map(|unfit| unfit.reason)
        };
        assert_eq!(
            reason("[ClusterId = 7; JobStatus = 5; HoldReason = \"too big\"]").as_deref(),
            Some("the job is held until condor_release (7.0: too big)")
        );
        assert_eq!(reason("[JobStatus = 5]").as_deref(), Some("the job is held until condor_release"));
        assert_eq!(
            reason("[JobUniverse = 7]").as_deref(),
            Some(
                "a job of the scheduler universe (JobUniverse = 7) runs on its access point and is never matched with a slot"
            )
        );
        assert_eq!(
            reason("[JobUniverse = 1; JobStatus = 1]").as_deref(),
            Some("the standard universe (JobUniverse = 1) no longer exists")
        );
        for job in ["[JobStatus = 4]", "[JobStatus = 2; JobUniverse = 11]", "[JobUniverse = 99]", "[]"] {
            assert_eq!(reason(job), None, "{job}");
        }
    }
}
