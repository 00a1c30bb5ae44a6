//! What a source job takes over from its copy while it is routed (`update_job_status`, VanillaToGrid.cpp).

use bstr::BString;

use htc_base::job::JobStatus;
use htc_base::text::{caseless, list};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};

/// Attributes that are always taken over.
const COPIED: [&str; 35] = [
    "BytesSent",
    "BytesRecvd",
    "CompletionDate",
    "JobRunCount",
    "JobStartDate",
    "ExitBySignal",
    "ExitSignal",
    "ExitCode",
    "ExitReason",
    "JobCurrentStartDate",
    "JobCurrentStartExecutingDate",
    "JobLastStartDate",
    "ShadowBday",
    "RemoteSysCpu",
    "RemoteUserCpu",
    "NumCkpts",
    "NumJobStarts",
    "NumJobReconnects",
    "NumShadowExceptions",
    "NumShadowStarts",
    "NumJobMatches",
    "NumRestarts",
    "RemoteWallClockTime",
    "LastRemoteWallClockTime",
    "JobCoreDumped",
    "ImageSize",
    "MemoryUsage",
    "ResidentSetSize",
    "ProportionalSetSizeKb",
    "DiskUsage",
    "ScratchDirFileCount",
    "SpooledOutputFiles",
    "CpusUsage",
    "CpusProvisioned",
    "DiskProvisioned",
];

/// What is written to the source's user log because of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceEvent {
    /// The copy began to run.
    Execute,
    /// It stopped running.
    Evicted,
}

/// What one look changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mirrored {
    /// Attributes of the source with their new expressions, as an update of the queue takes them: none goes, for what the router
    /// forgets of its own ad stays in the queue.
    pub changes: Vec<(BString, Option<Expr>)>,
    /// For the source's user log.
    pub event: Option<SourceEvent>,
}

/// Why nothing could be mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// The source has no usable JobStatus.
    #[error("cannot evaluate JobStatus in source job")]
    Source,
    /// The copy has none.
    #[error("cannot evaluate JobStatus in routed job")]
    Copy,
}

/// Whether a hold of this job came from its copy.
pub fn is_hold_copied(source: &ClassAd, world: &dyn World) -> bool {
    Context::new(world).my(source).boolean("HoldCopiedFromTargetJob").unwrap_or(false)
}

/// What is mirrored beside the fixed list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra<'a> {
    /// `<KW>_ATTRS_TO_COPY`, as text.
    pub attributes: &'a [u8],
    /// `CHIRP_DELAYED_UPDATE_PREFIX`.
    pub chirp: &'a [BString],
}

/// A look at a source and its copy.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The source as the queue shows it: what is compared with.
    pub queued: &'a ClassAd,
    /// The copy.
    pub routed: &'a ClassAd,
    /// What is mirrored beside the fixed list.
    pub extra: Extra<'a>,
    /// When, in seconds since the epoch.
    pub now: i64,
    /// What is outside.
    pub world: &'a dyn World,
}

/// Takes the state of a copy over into `source`, the router's own copy of the source ad.
///
/// # Errors
/// One of the two has no usable JobStatus; nothing is changed then.
pub fn mirror(source: &mut ClassAd, look: Look<'_>) -> Result<Mirrored, MirrorError> {
    let Look { queued, routed, extra, world, .. } = look;
    let old = Context::new(world).my(queued).int("JobStatus").ok_or(MirrorError::Source)?;
    let new = Context::new(world).my(routed).int("JobStatus").ok_or(MirrorError::Copy)?;
    let copied_hold = is_hold_copied(queued, world);
    let own = Context::new(world).my(source).int("JobStatus").unwrap_or(JobStatus::IDLE);
    let mut changes = Changes { ad: source, look, made: Mirrored::default() };
    // Some schedds do not know the mark and leave it behind.
    if old != JobStatus::HELD && copied_hold {
        changes.value("HoldCopiedFromTargetJob", false);
    }
    if old != new {
        match new {
            JobStatus::IDLE if changes.simple(old, JobStatus::IDLE, copied_hold) => {
                changes.made.event = (own == JobStatus::RUNNING).then_some(SourceEvent::Evicted);
            }
            JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT
                if changes.simple(old, JobStatus::RUNNING, copied_hold) =>
            {
                changes.made.event = (own == JobStatus::IDLE).then_some(SourceEvent::Execute);
            }
            JobStatus::HELD
                if ![JobStatus::HELD, JobStatus::REMOVED, JobStatus::COMPLETED].contains(&old) =>
            {
                changes.hold();
            }
            JobStatus::IDLE
            | JobStatus::RUNNING
            | JobStatus::TRANSFERRING_OUTPUT
            | JobStatus::HELD
            | JobStatus::REMOVED => {}
            _ => changes.value("JobStatus", new),
        }
    }
    for name in COPIED.iter().chain(&["MemoryProvisioned"]) {
        changes.copy(name.as_bytes());
    }
    for name in list::split(extra.attributes) {
        changes.copy(name);
    }
    let flat = routed.flattened_chain();
    for (name, _) in flat.sorted() {
        if extra.chirp.iter().any(|pattern| list::matches_caseless(pattern, name)) {
            changes.copy(name);
        }
    }
    Ok(changes.made)
}

struct Changes<'a> {
    ad: &'a mut ClassAd,
    look: Look<'a>,
    made: Mirrored,
}

impl Changes<'_> {
    fn set(&mut self, name: &[u8], expr: Expr) {
        self.ad.insert(name, expr.clone());
        self.made.changes.retain(|(known, _)| !caseless::eq(known, name));
        self.made.changes.push((name.into(), Some(expr)));
    }

    fn value(&mut self, name: &str, value: impl Into<htc_classad::Value>) {
        self.set(name.as_bytes(), Expr::literal(value));
    }

    /// Forgets an attribute: the queue keeps it, for what is deleted is not among what 25.14 writes (`push_dirty_attributes`).
    fn forget(&mut self, name: &str) {
        self.ad.remove(name);
    }

    fn copy(&mut self, name: &[u8]) {
        if let Some(expr) = self.look.routed.get(name)
            && self.look.queued.get(name).as_ref() != Some(&expr)
        {
            self.set(name, expr);
        }
    }

    /// Idle or running; false when the source's own state forbids it.
    fn simple(&mut self, old: i64, new: i64, copied_hold: bool) -> bool {
        if (old == JobStatus::HELD && !copied_hold) || old == new || old == JobStatus::REMOVED {
            return false;
        }
        self.value("JobStatus", new);
        self.value("EnteredCurrentStatus", self.look.now);
        if copied_hold {
            self.value("HoldCopiedFromTargetJob", false);
        }
        true
    }

    fn hold(&mut self) {
        let Look { queued, routed, now, world, .. } = self.look;
        let context = Context::new(world).my(routed);
        let reason = context.string("HoldReason");
        let code = context.int("HoldReasonCode").unwrap_or(0);
        // Without a reason there is no subcode either.
        let subcode = reason.as_ref().and_then(|_| context.int("HoldReasonSubCode")).unwrap_or(0);
        self.value("JobStatus", JobStatus::HELD);
        self.value("EnteredCurrentStatus", now);
        self.value("HoldReason", reason.unwrap_or_default());
        self.value("HoldReasonCode", code);
        self.value("HoldReasonSubCode", subcode);
        self.value("HoldCopiedFromTargetJob", true);
        if let Some(release) = self.ad.get("ReleaseReason") {
            self.set(b"LastReleaseReason", release);
        }
        self.forget("ReleaseReason");
        let holds = Context::new(world).my(queued).int("NumSystemHolds").unwrap_or(0);
        self.value("NumSystemHolds", holds + 1);
    }
}

/// A source as the router leaves it after a last look at its copy, whose id is given: what it takes over, and whether it is done.
///
/// # Errors
/// One of the two has no usable JobStatus.
pub fn finish(
    source: &mut ClassAd,
    (routed, id): (&ClassAd, Option<BString>),
    extra: Extra<'_>,
    (now, world): (i64, &dyn World),
) -> Result<(), MirrorError> {
    let queued = source.clone();
    if let Some(id) = id {
        source.set("RoutedToJobId", id);
    }
    mirror(source, Look { queued: &queued, routed, extra, now, world })?;
    let done = Context::new(world).my(source).int("JobStatus") == Some(JobStatus::COMPLETED);
    source.set("Managed", if done { "ScheddDone" } else { "External" });
    if done {
        source.set("ManagedManager", "");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::format::long;
    use htc_os::RealWorld;

    #[test]
    fn a_mirrored_hold_leaves_the_reason_of_the_last_release_in_the_queue() {
        let queued = long::parse(b"JobStatus = 2\nReleaseReason = \"by hand\"\n").0;
        let copy = long::parse(b"JobStatus = 5\nHoldReason = \"full\"\nHoldReasonCode = 3\n").0;
        let mut source = queued.clone();
        let made = mirror(
            &mut source,
            Look {
                queued: &queued,
                routed: &copy,
                extra: Extra::default(),
                now: 9,
                world: &RealWorld::new(),
            },
        );
        let changes = made.map(|made| made.changes).unwrap_or_default();
        assert!(changes.iter().all(|(name, expr)| name != "ReleaseReason" && expr.is_some()), "{changes:?}");
        assert!(!source.contains("ReleaseReason"));
        assert_eq!(source.string("LastReleaseReason").map(bstr::BStr::new), Some("by hand".into()));
    }

    #[test]
    fn a_source_whose_copy_has_completed_is_done() {
        let world = RealWorld::new();
        let finished = |copy: &[u8]| {
            let mut source =
                long::parse(b"JobStatus = 2\nManaged = \"External\"\nManagedManager = \"r\"\n").0;
            let copy = long::parse(copy).0;
            let made = finish(&mut source, (&copy, Some("7.0".into())), Extra::default(), (9, &world));
            let text = |name: &str| source.string(name).map(ToString::to_string);
            (made, text("Managed"), text("ManagedManager"), text("RoutedToJobId"))
        };
        let some = |text: &str| Some(text.to_owned());
        let done = finished(b"JobStatus = 4\n");
        assert_eq!(done, (Ok(()), some("ScheddDone"), some(""), some("7.0")));
        assert_eq!(finished(b"JobStatus = 2\n").1, some("External"));
        assert_eq!(finished(b"A = 1\n").0, Err(MirrorError::Copy));
    }
}
