//! Pairs of source jobs and routed jobs found in a queue, with the state of each pair as far as the queue
//! alone shows it.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::route::Route;
use super::route_table::RouteTable;
use htc_base::job::{JobId, JobStatus};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;

/// Problem with a routed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairProblem {
    /// The source job of the routed job no longer exists.
    Orphan,
    /// The source job is claimed, but no routed job appears.
    NoCopy,
    /// The source job names a routed job that no longer exists.
    CopyGone,
    /// The routed job is on hold.
    Held,
    /// The routed job has ended but is not finalized.
    NotFinalized,
}

impl PairProblem {
    /// Returns a description of the problem.
    pub fn description(self) -> &'static str {
        match self {
            PairProblem::Orphan => "its source job no longer exists",
            PairProblem::NoCopy => {
                "claimed, but there is no routed job: the translate hook prints nothing or hangs"
            }
            PairProblem::CopyGone => "its routed job no longer exists",
            PairProblem::Held => "its routed job is held",
            PairProblem::NotFinalized => "finished, but not finalized",
        }
    }
}

/// Routed job with its source job, or a claimed source job that has no routed job.
#[derive(Clone, Debug)]
pub struct JobPair {
    /// Id of the routed job, if there is one.
    pub copy: Option<JobId>,
    /// Id of the source job, as the routed job names it.
    pub source: Option<JobId>,
    /// Name of the route.
    pub route: BString,
    /// Owner of the job.
    pub owner: BString,
    /// GridResource of the job.
    pub grid_resource: BString,
    /// JobStatus of the routed job, or of the source job if there is no routed job.
    pub status: i64,
    /// Short name of the state, for tables.
    pub state: &'static str,
    /// Seconds in this state, or `None` if the ad does not contain the time.
    pub age: Option<i64>,
    /// Hold reason, empty if the job is not on hold.
    pub hold_reason: BString,
    /// Problem with the pair, if there is one.
    pub problem: Option<PairProblem>,
    /// Ad of the routed job, or of the source job if there is no routed job.
    pub ad: ClassAd,
}

impl JobPair {
    /// Returns a pair with the fields that the ad itself contains.
    fn from_ad(ad: &ClassAd, world: &dyn World) -> JobPair {
        let context = Context::new(world).my(ad);
        let string = |name: &str| context.string(name).unwrap_or_default();
        JobPair {
            copy: None,
            source: JobId::parse_key(&string("RoutedFromJobId")),
            route: string("RouteName"),
            owner: string("Owner"),
            grid_resource: string("GridResource"),
            status: context.int("JobStatus").unwrap_or(0),
            state: "",
            age: None,
            hold_reason: string("HoldReason"),
            problem: None,
            ad: ClassAd::new(),
        }
    }
}

/// Returns the pair of a job that has left the queue, with its final state.
pub fn from_history(ad: &ClassAd, world: &dyn World) -> JobPair {
    let context = Context::new(world).my(ad);
    let route = context.string("RouteName").or_else(|| context.string("RoutedFromRoute"));
    JobPair {
        route: route.unwrap_or_default(),
        hold_reason: BString::default(),
        ..JobPair::from_ad(ad, world)
    }
}

/// Returns the state of a routed job. `is_overdue` means that it has been in this state longer than the limit.
fn copy_state(ad: &ClassAd, status: i64, is_overdue: bool) -> (&'static str, Option<PairProblem>) {
    match status {
        JobStatus::IDLE => ("idle", None),
        JobStatus::RUNNING => ("running", None),
        JobStatus::REMOVED => ("removed", None),
        JobStatus::COMPLETED if ad.literal("LeaveJobInQueue").is_some() => ("finalized", None),
        JobStatus::COMPLETED => ("finished", is_overdue.then_some(PairProblem::NotFinalized)),
        JobStatus::HELD => ("held", Some(PairProblem::Held)),
        JobStatus::TRANSFERRING_OUTPUT => ("output", None),
        JobStatus::SUSPENDED => ("suspended", None),
        _ => ("unknown", None),
    }
}

/// Finds all routed jobs and sorts them by id. `sources` are the jobs of the source queue if routed jobs have a queue
/// of their own, because the same id then means different jobs in the two queues. A claim without a routed job, or an
/// ended routed job that is not finalized, becomes a problem after `patience` seconds.
pub fn find_pairs(
    jobs: Vec<(JobId, ClassAd)>,
    sources: Option<Vec<(JobId, ClassAd)>>,
    patience: i64,
    world: &dyn World,
) -> Vec<JobPair> {
    let now = world.now().epoch();
    let string = |ad: &ClassAd, name: &str| Context::new(world).my(ad).string(name).unwrap_or_default();
    let int = |ad: &ClassAd, name: &str| Context::new(world).my(ad).int(name);
    let known: FxHashSet<JobId> = sources.as_ref().unwrap_or(&jobs).iter().map(|(id, _)| *id).collect();
    let copied: FxHashSet<JobId> = jobs
        .iter()
        .filter(|(_, ad)| ad.contains("RoutedBy"))
        .filter_map(|(_, ad)| JobId::parse_key(&string(ad, "RoutedFromJobId")))
        .collect();
    let mut pairs = Vec::new();
    let one_queue = sources.is_none();
    let copies = jobs.into_iter().map(|job| (true, one_queue, job));
    let sources = sources.into_iter().flatten().map(|job| (false, true, job));
    for (is_copy, is_source, (id, ad)) in copies.chain(sources) {
        let age = int(&ad, "EnteredCurrentStatus").or_else(|| int(&ad, "QDate")).map(|since| now - since);
        let is_overdue = age.is_some_and(|age| age > patience);
        let status = int(&ad, "JobStatus").unwrap_or(0);
        let pair = |copy, source, (state, trouble), ad: ClassAd| {
            let pair = JobPair::from_ad(&ad, world);
            JobPair { copy, source, state, age, problem: trouble, ad, ..pair }
        };
        if ad.contains("RouteName") {
            if !is_copy {
                continue;
            }
            let source = JobId::parse_key(&string(&ad, "RoutedFromJobId"));
            let state = match source.is_some_and(|source| !known.contains(&source)) {
                true => ("orphan", Some(PairProblem::Orphan)),
                false => copy_state(&ad, status, is_overdue),
            };
            pairs.push(pair(Some(id), source, state, ad));
        } else if is_source && string(&ad, "Managed") == "External" && !copied.contains(&id) {
            let named = JobId::parse_key(&string(&ad, "RoutedToJobId"));
            let state = match (named, status) {
                (_, JobStatus::COMPLETED) => ("finished", None),
                (Some(_), _) => ("copy gone", Some(PairProblem::CopyGone)),
                (None, _) => ("claimed", is_overdue.then_some(PairProblem::NoCopy)),
            };
            pairs.push(pair(None, Some(id), state, ad));
        }
    }
    pairs.sort_by_key(|pair| (pair.copy.is_none(), pair.copy, pair.source));
    pairs
}

/// Returns the routes that exceed MaxJobs, with their numbers of jobs.
pub fn routes_over_limit<'t>(pairs: &[JobPair], table: &'t RouteTable) -> Vec<(&'t Route, i64)> {
    let jobs = |route: &Route| {
        let of_it = |pair: &&JobPair| pair.copy.is_some() && pair.route.eq_ignore_ascii_case(&route.name);
        pairs.iter().filter(of_it).count() as i64
    };
    let counted = table.routes_in_order().map(|(_, route)| (route, jobs(route)));
    counted.filter(|(route, jobs)| *jobs > route.max_jobs).collect()
}

/// Returns the path of the queue log from the configuration (`Scheduler::Scheduler`, schedd_main.cpp). If `copies` is
/// true, the log of the second schedd is preferred.
pub fn queue_log_path(view: &ConfigView<'_>, copies: bool) -> Option<PathBuf> {
    let spool = |name: &str| {
        view.text(name).map(|spool| BString::from([spool.as_slice(), b"/job_queue.log"].concat()))
    };
    let second =
        || view.text("JOB_ROUTER_SCHEDD2_JOB_QUEUE_LOG").or_else(|| spool("JOB_ROUTER_SCHEDD2_SPOOL"));
    let found = copies
        .then(second)
        .flatten()
        .or_else(|| view.text("JOB_ROUTER_SCHEDD1_JOB_QUEUE_LOG"))
        .or_else(|| spool("JOB_ROUTER_SCHEDD1_SPOOL"))
        .or_else(|| view.text("JOB_QUEUE_LOG"))
        .or_else(|| spool("SPOOL"))?;
    Some(found.to_path_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use htc_base::time::ClockReading;
    use htc_base::world::FrozenClockWorld;
    use htc_classad::Dialect;
    use htc_os::RealWorld;
    use htc_testing::config_of;

    fn jobs(texts: &[&str]) -> Vec<(JobId, ClassAd)> {
        let ad = |text: &&str| ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap();
        (1..).zip(texts).map(|(cluster, text)| (JobId::new(cluster, 0), ad(text))).collect()
    }

    #[test]
    fn a_pair_is_in_the_state_of_its_copy_unless_one_of_the_two_is_gone() {
        let world = RealWorld::new();
        let world = FrozenClockWorld { world: &world, now: ClockReading::from_epoch(10_000) };
        let jobs = jobs(&[
            // A source with its copy, a source whose copy is gone, a source that waits for its copy, and a
            // copy without a source.
            "[ Managed = \"External\"; RoutedToJobId = \"2.0\" ]",
            "[ RouteName = \"r\"; RoutedBy = \"x\"; RoutedFromJobId = \"1.0\"; JobStatus = 5; EnteredCurrentStatus = 9900 ]",
            "[ Managed = \"External\"; RoutedToJobId = \"9.0\"; JobStatus = 1 ]",
            "[ Managed = \"External\"; JobStatus = 1; QDate = 9000 ]",
            "[ RouteName = \"r\"; RoutedBy = \"x\"; RoutedFromJobId = \"8.0\"; JobStatus = 2 ]",
            "[ JobStatus = 1 ]",
        ]);
        let found = find_pairs(jobs, None, 600, &world);
        let states: Vec<_> = found.iter().map(|it| (it.state, it.age, it.problem)).collect();
        let wanted = [
            ("held", Some(100), Some(PairProblem::Held)),
            ("orphan", None, Some(PairProblem::Orphan)),
            ("copy gone", None, Some(PairProblem::CopyGone)),
            ("claimed", Some(1000), Some(PairProblem::NoCopy)),
        ];
        assert_eq!(states, wanted);
    }

    #[test]
    fn copies_may_have_their_own_queue() {
        let (config, world) = config_of("JOB_ROUTER", "SPOOL = /s\nJOB_ROUTER_SCHEDD2_SPOOL = /t\n");
        let view = config.view(&world);
        assert_eq!(queue_log_path(&view, false).as_deref(), Some(Path::new("/s/job_queue.log")));
        assert_eq!(queue_log_path(&view, true).as_deref(), Some(Path::new("/t/job_queue.log")));
    }
}
