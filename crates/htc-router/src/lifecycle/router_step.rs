//! One step of the state machine in progress: its inputs and requested actions.

use bstr::BString;

use super::action::{RouterAction, RouterHookCall};
use crate::routed_job::{JobTurn, RoutedJob, RoutingMode};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::QuirkDecision;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_config::MacroSource;
use htc_hook::{HookType, ParameterSource, keyword, path_check};
use htc_user_log::{CpuTime, EventBody, JobTermination, ResourceTable, RunUsage, TerminatedEvent};

/// Job queue as the router reads it.
pub trait QueueView {
    /// Returns the ad of a job including its cluster's attributes, or `None` if the job is not in the queue.
    fn job(&self, id: JobId) -> Option<ClassAd>;
    /// Returns all jobs in the order of submission.
    fn jobs(&self) -> Vec<JobId>;
    /// Returns false if jobs may be missing because they could not be read. A job that the queue does not list may then
    /// still exist.
    fn is_complete(&self) -> bool {
        true
    }
}

/// Inputs of a step.
pub struct RouterContext<'a> {
    /// Queue of the source jobs (SCHEDD1).
    pub queue: &'a dyn QueueView,
    /// Queue of the routed jobs (SCHEDD2); the same queue if there is only one.
    pub copies: &'a dyn QueueView,
    /// Configuration that supplies the value of `$(NAME)` if a transform does not define the macro.
    pub config: Option<&'a dyn MacroSource>,
    /// Configuration of hooks and of lists of attributes.
    pub parameters: &'a dyn ParameterSource,
    /// Clock and other values from outside of this process. The clock is the time of the step.
    pub world: &'a dyn World,
}

/// Step in progress.
pub(super) struct RouterStep<'a> {
    pub(super) now: i64,
    pub(super) context: &'a RouterContext<'a>,
    pub(super) actions: Vec<RouterAction>,
}

impl RouterStep<'_> {
    pub(super) fn evaluate_int(&self, ad: &ClassAd, name: &str) -> Option<i64> {
        Context::new(self.context.world).my(ad).int(name)
    }

    pub(super) fn evaluate_string(&self, ad: &ClassAd, name: &str) -> BString {
        Context::new(self.context.world).my(ad).string(name).unwrap_or_default()
    }

    pub(super) fn is_running(&self, ad: &ClassAd) -> bool {
        matches!(
            self.evaluate_int(ad, "JobStatus"),
            Some(JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT)
        )
    }

    pub(super) fn log_for_job(&mut self, job: &RoutedJob, text: &str) {
        self.actions.push(RouterAction::Log(format!("JobRouter ({}): {text}", job.description())));
    }

    /// Reports a quirk if it is reproduced for this job.
    pub(super) fn report_quirk(&mut self, job: &RoutedJob, decided: QuirkDecision) {
        if decided.as_reference {
            self.actions.push(RouterAction::Quirk(job.source_id, decided.quirk));
        }
    }

    /// Requests an action whose result comes back as an event.
    pub(super) fn request_action(&mut self, job: &mut RoutedJob, action: RouterAction) {
        job.turn = JobTurn::WaitingForQueue { then_advances: job.turn == JobTurn::Advancing };
        self.actions.push(action);
    }

    /// Returns true if the hook is configured for the job.
    pub(super) fn is_hook_configured(&self, job: &RoutedJob, hook: HookType) -> bool {
        let (parameters, world) = (self.context.parameters, self.context.world);
        let keyword = keyword::router_keyword(&job.source_ad, parameters, world)
            .keyword
            .filter(|keyword| !keyword.is_empty());
        keyword.is_some_and(|keyword| {
            path_check::configured_path(world, parameters, &keyword, hook).is_ok_and(|path| path.is_some())
        })
    }

    pub(super) fn request_hook(&mut self, job: &mut RoutedJob, hook: HookType, route: BString) {
        let action = RouterAction::CallHook(RouterHookCall {
            source: job.source_id,
            hook,
            route,
            source_ad: Box::new(job.source_ad.clone()),
            copy_ad: Box::new(job.copy_ad.clone()),
            is_in_place: job.routing == RoutingMode::InPlace,
        });
        self.request_action(job, action);
        // A hook may run for a long time, so other jobs do not wait for it. If no hook is configured, the result
        // arrives immediately.
        if self.is_hook_configured(job, hook) {
            job.turn = JobTurn::WaitingForHook;
        }
    }

    pub(super) fn set_source_idle(&mut self, job: &mut RoutedJob) {
        let old = self.evaluate_int(&job.source_ad, "JobStatus").unwrap_or(JobStatus::IDLE);
        if old == JobStatus::IDLE {
            return;
        }
        if self.is_running(&job.source_ad) {
            self.log_evict_event(job.source_id, &job.source_ad);
        }
        job.source_ad.set("JobStatus", JobStatus::IDLE);
        let changes = vec![("JobStatus".into(), Some(Expr::literal(JobStatus::IDLE)))];
        self.actions.push(RouterAction::UpdateSource(job.source_id, changes));
    }

    /// Writes an execute event to the source job's user log; the host is its RoutedToJobId.
    pub(super) fn log_execute_event(&mut self, id: JobId, source: &ClassAd) {
        let host = self.evaluate_string(source, "RoutedToJobId");
        let body = EventBody::Execute { host, slot_name: BString::default(), properties: Vec::new() };
        self.actions.push(RouterAction::UserLog(id, Box::new(source.clone()), body));
    }

    pub(super) fn log_evict_event(&mut self, id: JobId, source: &ClassAd) {
        let body = EventBody::Evicted(Box::default());
        self.actions.push(RouterAction::UserLog(id, Box::new(source.clone()), body));
    }

    /// Returns the terminated event of a source job (`InitializeTerminateEvent`). A job without an exit code
    /// is treated as killed by signal -1.
    pub(super) fn terminated_event(&self, source: &ClassAd) -> EventBody {
        let context = Context::new(self.context.world).my(source);
        let number = |name: &str| context.int(name).map(|number| number as i32);
        let ending = match (context.boolean("ExitBySignal"), number("ExitCode")) {
            (Some(false), Some(code)) => JobTermination::Exited(code),
            (Some(true), _) => JobTermination::Signalled(number("ExitSignal").unwrap_or(-1), None),
            _ => JobTermination::Signalled(-1, None),
        };
        let seconds = |name: &str| context.real(name).map_or(0, |seconds| seconds as i64);
        let remote = CpuTime { user: seconds("RemoteUserCpu"), system: seconds("RemoteSysCpu") };
        let share = RunUsage { remote, ..RunUsage::default() };
        let resources = ResourceTable::from_job_ad(source, self.context.world);
        EventBody::Terminated(Box::new(TerminatedEvent {
            termination: ending,
            run: share,
            total: share,
            resources,
        }))
    }
}
