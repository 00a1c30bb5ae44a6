//! Sources and copies of a queue brought together, with the state of each pair, as whoever looks at the queue alone can tell it.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::route::Route;
use super::route_table::RouteTable;
use htc_base::job::{JobId, JobStatus};
use htc_base::world::World;
use htc_classad::{ClassAd, Context};
use htc_config::ConfigView;
use htc_user_log::queue::JobQueue;

/// Something that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairProblem {
    /// The copy's source is gone.
    Orphan,
    /// The source is claimed, and no copy appears.
    NoCopy,
    /// The source names a copy that is gone.
    CopyGone,
    /// The copy is on hold.
    Held,
    /// The copy has ended and nobody finalizes it.
    NotFinalized,
}

impl PairProblem {
    /// In words.
    pub fn description(self) -> &'static str {
        match self {
            PairProblem::Orphan => "its source is gone",
            PairProblem::NoCopy => "claimed, and no copy appears: translate hook silent or hanging",
            PairProblem::CopyGone => "its copy is gone",
            PairProblem::Held => "held at the destination",
            PairProblem::NotFinalized => "finished, and not finalized",
        }
    }
}

/// One routed job: a copy, or a claimed source without one.
#[derive(Clone, Debug)]
pub struct JobPair {
    /// The copy.
    pub copy: Option<JobId>,
    /// The source, as the copy names it.
    pub source: Option<JobId>,
    /// Its route.
    pub route: BString,
    /// Its owner.
    pub owner: BString,
    /// Its GridResource.
    pub grid_resource: BString,
    /// JobStatus of the copy; of the source where there is no copy.
    pub status: i64,
    /// In words.
    pub state: &'static str,
    /// Seconds in that state; `None` where the ad does not tell.
    pub age: Option<i64>,
    /// Why it is on hold.
    pub hold_reason: BString,
    /// What is wrong with it.
    pub problem: Option<PairProblem>,
    /// The ad that it is about.
    pub ad: ClassAd,
}

impl JobPair {
    /// What the ad itself tells.
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

/// A job that has left the queue: it is as it left it.
pub fn from_history(ad: &ClassAd, world: &dyn World) -> JobPair {
    let context = Context::new(world).my(ad);
    let route = context.string("RouteName").or_else(|| context.string("RoutedFromRoute"));
    JobPair {
        route: route.unwrap_or_default(),
        hold_reason: BString::default(),
        ..JobPair::from_ad(ad, world)
    }
}

/// The state of a copy. `waited`: it has been there for too long.
fn copy_state(ad: &ClassAd, status: i64, waited: bool) -> (&'static str, Option<PairProblem>) {
    match status {
        JobStatus::IDLE => ("idle", None),
        JobStatus::RUNNING => ("running", None),
        JobStatus::REMOVED => ("removed", None),
        JobStatus::COMPLETED if ad.literal("LeaveJobInQueue").is_some() => ("finalized", None),
        JobStatus::COMPLETED => ("finished", waited.then_some(PairProblem::NotFinalized)),
        JobStatus::HELD => ("held", Some(PairProblem::Held)),
        JobStatus::TRANSFERRING_OUTPUT => ("output", None),
        JobStatus::SUSPENDED => ("suspended", None),
        _ => ("unknown", None),
    }
}

/// All routed jobs, in the order of the copies' ids. `sources` are the jobs of the other queue where copies have one of
/// their own, whose ids mean other jobs. `patience`: after so many seconds a claim or an end that leads to nothing is trouble.
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
        let waited = age.is_some_and(|age| age > patience);
        let status = int(&ad, "JobStatus").unwrap_or(0);
        let pair = |copy, source, (state, trouble), ad: ClassAd| {
            let own = JobPair::from_ad(&ad, world);
            JobPair { copy, source, state, age, problem: trouble, ad, ..own }
        };
        if ad.contains("RouteName") {
            if !is_copy {
                continue;
            }
            let source = JobId::parse_key(&string(&ad, "RoutedFromJobId"));
            let state = match source.is_some_and(|source| !known.contains(&source)) {
                true => ("orphan", Some(PairProblem::Orphan)),
                false => copy_state(&ad, status, waited),
            };
            pairs.push(pair(Some(id), source, state, ad));
        } else if is_source && string(&ad, "Managed") == "External" && !copied.contains(&id) {
            let named = JobId::parse_key(&string(&ad, "RoutedToJobId"));
            let state = match (named, status) {
                (_, JobStatus::COMPLETED) => ("finished", None),
                (Some(_), _) => ("copy gone", Some(PairProblem::CopyGone)),
                (None, _) => ("claimed", waited.then_some(PairProblem::NoCopy)),
            };
            pairs.push(pair(None, Some(id), state, ad));
        }
    }
    pairs.sort_by_key(|pair| (pair.copy.is_none(), pair.copy, pair.source));
    pairs
}

/// The jobs of a queue with their clusters' attributes in them.
pub fn flattened_jobs(queue: &JobQueue) -> Vec<(JobId, ClassAd)> {
    let ids = queue.job_ids();
    ids.into_iter().filter_map(|id| Some((id, queue.job(id)?.flattened_chain()))).collect()
}

/// Routes that have more jobs than they may, with how many.
pub fn routes_over_limit<'t>(pairs: &[JobPair], table: &'t RouteTable) -> Vec<(&'t Route, i64)> {
    let jobs = |route: &Route| {
        let of_it = |pair: &&JobPair| pair.copy.is_some() && pair.route.eq_ignore_ascii_case(&route.name);
        pairs.iter().filter(of_it).count() as i64
    };
    let counted = table.routes_in_order().map(|(_, route)| (route, jobs(route)));
    counted.filter(|(route, jobs)| *jobs > route.max_jobs).collect()
}

/// The queue log that the configuration names (`Scheduler::Scheduler`, schedd_main.cpp): that of the second schedd first where copies
/// are asked for.
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
            // A source with its copy, one whose copy is gone, one that waits for its copy, and a copy without source.
            "[ Managed = \"External\"; RoutedToJobId = \"2.0\" ]",
            "[ RouteName = \"r\"; RoutedBy = \"x\"; RoutedFromJobId = \"1.0\"; JobStatus = 5; EnteredCurrentStatus = 9900 ]",
            "[ Managed = \"External\"; RoutedToJobId = \"9.0\"; JobStatus = 1 ]",
            "[ Managed = \"External\"; JobStatus = 1; QDate = 9000 ]",
            "[ RouteName = \"r\"; RoutedBy = \"x\"; RoutedFromJobId = \"8.0\"; JobStatus = 2 ]",
            "[ JobStatus = 1 ]",
        ]);
        let found = find_pairs(jobs, None, 600, &world);
        let told: Vec<_> = found.iter().map(|it| (it.state, it.age, it.problem)).collect();
        let wanted = [
            ("held", Some(100), Some(PairProblem::Held)),
            ("orphan", None, Some(PairProblem::Orphan)),
            ("copy gone", None, Some(PairProblem::CopyGone)),
            ("claimed", Some(1000), Some(PairProblem::NoCopy)),
        ];
        assert_eq!(told, wanted);
    }

    #[test]
    fn copies_may_have_a_queue_of_their_own() {
        let (config, world) = config_of("JOB_ROUTER", "SPOOL = /s\nJOB_ROUTER_SCHEDD2_SPOOL = /t\n");
        let view = config.view(&world);
        assert_eq!(queue_log_path(&view, false).as_deref(), Some(Path::new("/s/job_queue.log")));
        assert_eq!(queue_log_path(&view, true).as_deref(), Some(Path::new("/t/job_queue.log")));
    }
}
