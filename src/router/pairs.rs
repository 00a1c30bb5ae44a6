//! Sources and copies of a queue brought together, with the state of each pair.

use bstr::BString;
use rustc_hash::FxHashSet;

use crate::classad::{ClassAd, Context};
use crate::job::{JobId, JobStatus};
use crate::world::World;

/// Something that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The copy's source is gone.
    Orphan,
    /// The source is claimed, and no copy appears.
    Stuck,
    /// The source names a copy that is gone.
    CopyGone,
    /// The copy is on hold.
    Held,
    /// The copy has ended and nobody finalizes it.
    NotFinalized,
}

impl Trouble {
    pub(super) fn text(self) -> &'static str {
        match self {
            Trouble::Orphan => "its source is gone",
            Trouble::Stuck => "claimed, and no copy appears: translate hook silent or hanging",
            Trouble::CopyGone => "its copy is gone",
            Trouble::Held => "held at the destination",
            Trouble::NotFinalized => "finished, and not finalized",
        }
    }
}

/// One routed job: a copy, or a claimed source without one.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The copy.
    pub copy: Option<JobId>,
    /// The source, as the copy names it.
    pub source: Option<JobId>,
    pub route: BString,
    pub owner: BString,
    pub resource: BString,
    /// JobStatus of the copy; of the source where there is no copy.
    pub status: i64,
    /// In words.
    pub state: &'static str,
    /// Seconds in that state; `None` where the ad does not tell.
    pub age: Option<i64>,
    pub hold_reason: BString,
    pub trouble: Option<Trouble>,
    /// The ad that the row is about.
    pub ad: ClassAd,
}

/// The letter of a JobStatus, as the scripts write it.
pub(super) fn letter(status: i64) -> String {
    match usize::try_from(status).ok().and_then(|at| b"UIRXCHE".get(at)) {
        Some(&letter) => char::from(letter).to_string(),
        None => status.to_string(),
    }
}

impl Row {
    /// What the ad itself tells.
    fn of(ad: &ClassAd, world: &dyn World) -> Row {
        let context = Context::new(world).my(ad);
        let string = |name: &str| context.string(name).unwrap_or_default();
        Row {
            copy: None,
            source: JobId::parse_key(&string("RoutedFromJobId")),
            route: string("RouteName"),
            owner: string("Owner"),
            resource: string("GridResource"),
            status: context.int("JobStatus").unwrap_or(0),
            state: "",
            age: None,
            hold_reason: string("HoldReason"),
            trouble: None,
            ad: ClassAd::new(),
        }
    }
}

/// A past job's row: it is as it left the queue.
pub(super) fn of_past(ad: &ClassAd, world: &dyn World) -> Row {
    let context = Context::new(world).my(ad);
    let route = context.string("RouteName").or_else(|| context.string("RoutedFromRoute"));
    Row { route: route.unwrap_or_default(), hold_reason: BString::default(), ..Row::of(ad, world) }
}

/// The state of a copy. `waited`: it has been there for too long.
fn of_copy(ad: &ClassAd, status: i64, waited: bool) -> (&'static str, Option<Trouble>) {
    match status {
        JobStatus::IDLE => ("idle", None),
        JobStatus::RUNNING => ("running", None),
        JobStatus::REMOVED => ("removed", None),
        JobStatus::COMPLETED if ad.literal("LeaveJobInQueue").is_some() => ("finalized", None),
        JobStatus::COMPLETED => ("finished", waited.then_some(Trouble::NotFinalized)),
        JobStatus::HELD => ("held", Some(Trouble::Held)),
        JobStatus::TRANSFERRING_OUTPUT => ("output", None),
        JobStatus::SUSPENDED => ("suspended", None),
        _ => ("unknown", None),
    }
}

/// Rows of all routed jobs, in the order of the copies' ids. `sources` are the jobs of the other queue where copies have one of
/// their own, whose ids mean other jobs. `patience`: after so many seconds a claim or an end that leads to nothing is trouble.
pub(super) fn rows(
    jobs: Vec<(JobId, ClassAd)>,
    sources: Option<Vec<(JobId, ClassAd)>>,
    patience: i64,
    world: &dyn World,
) -> Vec<Row> {
    let now = world.now().epoch();
    let string = |ad: &ClassAd, name: &str| Context::new(world).my(ad).string(name).unwrap_or_default();
    let int = |ad: &ClassAd, name: &str| Context::new(world).my(ad).int(name);
    let known: FxHashSet<JobId> = sources.as_ref().unwrap_or(&jobs).iter().map(|(id, _)| *id).collect();
    let copied: FxHashSet<JobId> = jobs
        .iter()
        .filter(|(_, ad)| ad.contains("RoutedBy"))
        .filter_map(|(_, ad)| JobId::parse_key(&string(ad, "RoutedFromJobId")))
        .collect();
    let mut rows = Vec::new();
    let one_queue = sources.is_none();
    let copies = jobs.into_iter().map(|job| (true, one_queue, job));
    let sources = sources.into_iter().flatten().map(|job| (false, true, job));
    for (is_copy, is_source, (id, ad)) in copies.chain(sources) {
        let age = int(&ad, "EnteredCurrentStatus").or_else(|| int(&ad, "QDate")).map(|since| now - since);
        let waited = age.is_some_and(|age| age > patience);
        let status = int(&ad, "JobStatus").unwrap_or(0);
        let row = |copy, source, (state, trouble), ad: ClassAd| {
            let own = Row::of(&ad, world);
            Row { copy, source, state, age, trouble, ad, ..own }
        };
        if ad.contains("RouteName") {
            if !is_copy {
                continue;
            }
            let source = JobId::parse_key(&string(&ad, "RoutedFromJobId"));
            let state = match source.is_some_and(|source| !known.contains(&source)) {
                true => ("orphan", Some(Trouble::Orphan)),
                false => of_copy(&ad, status, waited),
            };
            rows.push(row(Some(id), source, state, ad));
        } else if is_source && string(&ad, "Managed") == "External" && !copied.contains(&id) {
            let named = JobId::parse_key(&string(&ad, "RoutedToJobId"));
            let state = match (named, status) {
                (_, JobStatus::COMPLETED) => ("finished", None),
                (Some(_), _) => ("copy gone", Some(Trouble::CopyGone)),
                (None, _) => ("claimed", waited.then_some(Trouble::Stuck)),
            };
            rows.push(row(None, Some(id), state, ad));
        }
    }
    rows.sort_by_key(|row| (row.copy.is_none(), row.copy, row.source));
    rows
}

/// Seconds as people write them.
pub(super) fn age_text(age: Option<i64>) -> String {
    match age {
        None => "-".into(),
        Some(age) if age < 0 => "0s".into(),
        Some(age) if age < 120 => format!("{age}s"),
        Some(age) if age < 7200 => format!("{}m", age / 60),
        Some(age) if age < 172_800 => format!("{}h", age / 3600),
        Some(age) => format!("{}d", age / 86_400),
    }
}
