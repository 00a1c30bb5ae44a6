//! One step of the machine under way: what it looks at and what it asks for.

use bstr::BString;

use super::action::{Action, Call};
use crate::routed_job::{RoutedJob, Routing, Turn};
use htc_base::job::{JobId, JobStatus};
use htc_base::quirks::Decided;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};
use htc_config::MacroSource;
use htc_hook::{HookType, Knobs, keyword, path_check};
use htc_user_log::{Body, Ending, ResourceTable, Share, Terminated, UsageTime};

/// The queue as the router sees it.
pub trait Queue {
    /// The ad of a job with its cluster's attributes.
    fn job(&self, id: JobId) -> Option<ClassAd>;
    /// All jobs in the order in which they entered.
    fn jobs(&self) -> Vec<JobId>;
}

/// What a step may look at.
pub struct Surroundings<'a> {
    /// The queue of the sources (SCHEDD1).
    pub queue: &'a dyn Queue,
    /// The queue of the copies (SCHEDD2): the same one where there is but one.
    pub copies: &'a dyn Queue,
    /// The configuration that `$(NAME)` of transforms falls back to.
    pub config: Option<&'a dyn MacroSource>,
    /// Where hooks and lists of attributes are configured.
    pub knobs: &'a dyn Knobs,
    /// What is outside; its clock stands at the time of the step.
    pub world: &'a dyn World,
}

/// One step under way.
pub(super) struct Step<'a> {
    pub(super) now: i64,
    pub(super) around: &'a Surroundings<'a>,
    pub(super) actions: Vec<Action>,
}

impl Step<'_> {
    pub(super) fn int(&self, ad: &ClassAd, name: &str) -> Option<i64> {
        Context::new(self.around.world).my(ad).int(name)
    }

    pub(super) fn string(&self, ad: &ClassAd, name: &str) -> BString {
        Context::new(self.around.world).my(ad).string(name).unwrap_or_default()
    }

    pub(super) fn runs(&self, ad: &ClassAd) -> bool {
        matches!(self.int(ad, "JobStatus"), Some(JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT))
    }

    pub(super) fn log(&mut self, job: &RoutedJob, text: &str) {
        self.actions.push(Action::Log(format!("JobRouter ({}): {text}", job.description())));
    }

    /// Tells that 25.14 does otherwise with this job, where its behaviour is wanted.
    pub(super) fn strikes(&mut self, job: &RoutedJob, decided: Decided) {
        if decided.as_reference {
            self.actions.push(Action::Quirk(job.source_id, decided.quirk));
        }
    }

    /// Does something that is answered by an event.
    pub(super) fn ask(&mut self, job: &mut RoutedJob, action: Action) {
        job.turn = Turn::Asking { then_moves: job.turn == Turn::Moving };
        self.actions.push(action);
    }

    /// Whether there is such a hook for the job.
    pub(super) fn is_configured(&self, job: &RoutedJob, hook: HookType) -> bool {
        let (knobs, world) = (self.around.knobs, self.around.world);
        let keyword =
            keyword::router(&job.source, knobs, world).keyword.filter(|keyword| !keyword.is_empty());
        keyword.is_some_and(|keyword| {
            path_check::configured(world, knobs, &keyword, hook).is_ok_and(|path| path.is_some())
        })
    }

    pub(super) fn hook(&mut self, job: &mut RoutedJob, hook: HookType, route: BString) {
        let action = Action::Hook(Call {
            source: job.source_id,
            hook,
            route,
            source_ad: Box::new(job.source.clone()),
            copy_ad: Box::new(job.copy_ad.clone()),
            in_place: job.routing == Routing::InPlace,
        });
        self.ask(job, action);
        // A hook may run for long: unless there is none, which is said at once, the others do not wait for its end.
        if self.is_configured(job, hook) {
            job.turn = Turn::Calling;
        }
    }

    pub(super) fn set_idle(&mut self, job: &mut RoutedJob) {
        let old = self.int(&job.source, "JobStatus").unwrap_or(JobStatus::IDLE);
        if old == JobStatus::IDLE {
            return;
        }
        if self.runs(&job.source) {
            self.evicts(job.source_id, &job.source);
        }
        job.source.set("JobStatus", JobStatus::IDLE);
        let changes = vec![("JobStatus".into(), Some(Expr::literal(JobStatus::IDLE)))];
        self.actions.push(Action::Update(job.source_id, changes));
    }

    /// Tells that a source runs: where, is its RoutedToJobId.
    pub(super) fn executes(&mut self, id: JobId, source: &ClassAd) {
        let host = self.string(source, "RoutedToJobId");
        let body = Body::Execute { host, slot_name: BString::default(), properties: Vec::new() };
        self.actions.push(Action::UserLog(id, Box::new(source.clone()), body));
    }

    pub(super) fn evicts(&mut self, id: JobId, source: &ClassAd) {
        let body = Body::Evicted(Box::default());
        self.actions.push(Action::UserLog(id, Box::new(source.clone()), body));
    }

    /// The end of a source as it is told (`InitializeTerminateEvent`): one that lacks its exit code has died by signal -1.
    pub(super) fn ending(&self, source: &ClassAd) -> Body {
        let context = Context::new(self.around.world).my(source);
        let number = |name: &str| context.int(name).map(|number| number as i32);
        let ending = match (context.boolean("ExitBySignal"), number("ExitCode")) {
            (Some(false), Some(code)) => Ending::Exited(code),
            (Some(true), _) => Ending::Signalled(number("ExitSignal").unwrap_or(-1), None),
            _ => Ending::Signalled(-1, None),
        };
        let seconds = |name: &str| context.real(name).map_or(0, |seconds| seconds as i64);
        let remote = UsageTime { user: seconds("RemoteUserCpu"), system: seconds("RemoteSysCpu") };
        let share = Share { remote, ..Share::default() };
        let resources = ResourceTable::of_job(source, self.around.world);
        Body::Terminated(Box::new(Terminated { ending, run: share, total: share, resources }))
    }
}
