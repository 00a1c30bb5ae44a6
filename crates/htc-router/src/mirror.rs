//! Attributes that a source job takes over from its routed job (`update_job_status`, VanillaToGrid.cpp).

use bstr::BString;

use htc_base::job::JobStatus;
use htc_base::text::{caseless, list};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Expr};

/// Attributes that are always mirrored.
const MIRRORED_ATTRIBUTES: [&str; 35] = [
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

/// Event written to the source job's user log after a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLogEvent {
    /// The routed job began to run.
    Execute,
    /// The routed job stopped running.
    Evicted,
}

/// Changes that mirroring makes to one source job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirrorResult {
    /// Attributes of the source job with their new expressions, for an update of the queue. No attribute is removed:
    /// attributes that the router deletes from its own ad remain in the queue.
    pub changes: Vec<(BString, Option<Expr>)>,
    /// Event for the source job's user log.
    pub event: Option<SourceLogEvent>,
}

/// Reason why the state of a routed job could not be mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// The source job has no usable JobStatus.
    #[error("cannot evaluate JobStatus in source job")]
    Source,
    /// The routed job has no usable JobStatus.
    #[error("cannot evaluate JobStatus in routed job")]
    Copy,
}

/// Returns true if the job's hold was copied from its routed job.
pub fn is_hold_copied(source: &ClassAd, world: &dyn World) -> bool {
    Context::new(world).my(source).boolean("HoldCopiedFromTargetJob").unwrap_or(false)
}

/// Attributes that are mirrored in addition to the fixed list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtraAttributes<'a> {
    /// List of names from `<KW>_ATTRS_TO_COPY`.
    pub configured_names: &'a [u8],
    /// Patterns from `CHIRP_DELAYED_UPDATE_PREFIX`.
    pub chirp_patterns: &'a [BString],
}

/// Source job and routed job to compare.
#[derive(Clone, Copy)]
pub struct MirrorInput<'a> {
    /// Source job in the state of the queue, relative to which changes are determined.
    pub queued_source: &'a ClassAd,
    /// Ad of the routed job.
    pub copy_ad: &'a ClassAd,
    /// Attributes that are mirrored in addition to the fixed list.
    pub extra: ExtraAttributes<'a>,
    /// Current time, in seconds since the epoch.
    pub now: i64,
    /// Clock and other values from outside of this process, for evaluation.
    pub world: &'a dyn World,
}

/// Mirrors the state of a routed job into `source`, the router's own copy of the source ad.
///
/// # Errors
/// One of the two ads has no usable JobStatus. No attribute is changed in this case.
pub fn mirror_copy_state(
    source: &mut ClassAd,
    mirror_input: MirrorInput<'_>,
) -> Result<MirrorResult, MirrorError> {
    let MirrorInput { queued_source: queued, copy_ad: routed, extra, world, .. } = mirror_input;
    let old = Context::new(world).my(queued).int("JobStatus").ok_or(MirrorError::Source)?;
    let new = Context::new(world).my(routed).int("JobStatus").ok_or(MirrorError::Copy)?;
    let copied_hold = is_hold_copied(queued, world);
    let old_status = Context::new(world).my(source).int("JobStatus").unwrap_or(JobStatus::IDLE);
    let mut changes = MirrorChanges { ad: source, input: mirror_input, result: MirrorResult::default() };
    // Some schedds do not know HoldCopiedFromTargetJob and therefore do not reset it.
    if old != JobStatus::HELD && copied_hold {
        changes.set_value("HoldCopiedFromTargetJob", false);
    }
    if old != new {
        match new {
            JobStatus::IDLE if changes.set_status(old, JobStatus::IDLE, copied_hold) => {
                changes.result.event = (old_status == JobStatus::RUNNING).then_some(SourceLogEvent::Evicted);
            }
            JobStatus::RUNNING | JobStatus::TRANSFERRING_OUTPUT
                if changes.set_status(old, JobStatus::RUNNING, copied_hold) =>
            {
                changes.result.event = (old_status == JobStatus::IDLE).then_some(SourceLogEvent::Execute);
            }
            JobStatus::HELD
                if ![JobStatus::HELD, JobStatus::REMOVED, JobStatus::COMPLETED].contains(&old) =>
            {
                changes.copy_hold();
            }
            JobStatus::IDLE
            | JobStatus::RUNNING
            | JobStatus::TRANSFERRING_OUTPUT
            | JobStatus::HELD
            | JobStatus::REMOVED => {}
            _ => changes.set_value("JobStatus", new),
        }
    }
    for name in MIRRORED_ATTRIBUTES.iter().chain(&["MemoryProvisioned"]) {
        changes.copy_attribute(name.as_bytes());
    }
    for name in list::split(extra.configured_names) {
        changes.copy_attribute(name);
    }
    let flat = routed.flattened_chain();
    for (name, _) in flat.sorted() {
        if extra.chirp_patterns.iter().any(|pattern| list::matches_wildcard_caseless(pattern, name)) {
            changes.copy_attribute(name);
        }
    }
    Ok(changes.result)
}

struct MirrorChanges<'a> {
    ad: &'a mut ClassAd,
    input: MirrorInput<'a>,
    result: MirrorResult,
}

impl MirrorChanges<'_> {
    fn set(&mut self, name: &[u8], expr: Expr) {
        self.ad.insert(name, expr.clone());
        self.result.changes.retain(|(known, _)| !caseless::eq(known, name));
        self.result.changes.push((name.into(), Some(expr)));
    }

    fn set_value(&mut self, name: &str, value: impl Into<htc_classad::Value>) {
        self.set(name.as_bytes(), Expr::literal(value));
    }

    /// Removes an attribute from the router's own ad only: 25.14 does not write deletions to the queue
    /// (`push_dirty_attributes`).
    fn forget_attribute(&mut self, name: &str) {
        self.ad.remove(name);
    }

    fn copy_attribute(&mut self, name: &[u8]) {
        if let Some(expr) = self.input.copy_ad.get(name)
            && self.input.queued_source.get(name).as_ref() != Some(&expr)
        {
            self.set(name, expr);
        }
    }

    /// Sets the status to idle or running. Returns false if the source job's own state forbids it.
    fn set_status(&mut self, old: i64, new: i64, copied_hold: bool) -> bool {
        if (old == JobStatus::HELD && !copied_hold) || old == new || old == JobStatus::REMOVED {
            return false;
        }
        self.set_value("JobStatus", new);
        self.set_value("EnteredCurrentStatus", self.input.now);
        if copied_hold {
            self.set_value("HoldCopiedFromTargetJob", false);
        }
        true
    }

    fn copy_hold(&mut self) {
        let MirrorInput { queued_source: queued, copy_ad: routed, now, world, .. } = self.input;
        let context = Context::new(world).my(routed);
        let reason = context.string("HoldReason");
        let code = context.int("HoldReasonCode").unwrap_or(0);
        // The subcode is used only together with a reason.
        let subcode = reason.as_ref().and_then(|_| context.int("HoldReasonSubCode")).unwrap_or(0);
        self.set_value("JobStatus", JobStatus::HELD);
        self.set_value("EnteredCurrentStatus", now);
        self.set_value("HoldReason", reason.unwrap_or_default());
        self.set_value("HoldReasonCode", code);
        self.set_value("HoldReasonSubCode", subcode);
        self.set_value("HoldCopiedFromTargetJob", true);
        if let Some(release) = self.ad.get("ReleaseReason") {
            self.set(b"LastReleaseReason", release);
        }
        self.forget_attribute("ReleaseReason");
        let holds = Context::new(world).my(queued).int("NumSystemHolds").unwrap_or(0);
        self.set_value("NumSystemHolds", holds + 1);
    }
}

/// Mirrors the final state of a routed job (with its id, if known) into the source ad and sets Managed
/// accordingly.
///
/// # Errors
/// One of the two ads has no usable JobStatus.
pub fn finish_source(
    source: &mut ClassAd,
    routed: &ClassAd,
    id: Option<BString>,
    extra: ExtraAttributes<'_>,
    now: i64,
    world: &dyn World,
) -> Result<(), MirrorError> {
    let queued = source.clone();
    if let Some(id) = id {
        source.set("RoutedToJobId", id);
    }
    mirror_copy_state(source, MirrorInput { queued_source: &queued, copy_ad: routed, extra, now, world })?;
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
        let made = mirror_copy_state(
            &mut source,
            MirrorInput {
                queued_source: &queued,
                copy_ad: &copy,
                extra: ExtraAttributes::default(),
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
            let made =
                finish_source(&mut source, &copy, Some("7.0".into()), ExtraAttributes::default(), 9, &world);
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
