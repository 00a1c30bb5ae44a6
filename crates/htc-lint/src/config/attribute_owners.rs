//! Attributes that only jobs have, and attributes that only slots have.
//!
//! Both lists leave out what ads of the other kind may hold as well: a claimed slot advertises some attributes of its job
//! (`Claim::publish`), and a site may copy more of them (STARTD_JOB_ATTRS).

use htc_base::text::caseless;

/// Kind of the ads that have an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeOwner {
    Job,
    Slot,
}

const JOB_ATTRIBUTES: [&str; 43] = [
    "AcctGroup",
    "AcctGroupUser",
    "Arguments",
    "ClusterId",
    "Cmd",
    "CompletionDate",
    "CumulativeSlotTime",
    "DAGManJobId",
    "DAGNodeName",
    "EnteredCurrentStatus",
    "Err",
    "HoldReason",
    "HoldReasonCode",
    "HoldReasonSubCode",
    "In",
    "Iwd",
    "JobBatchName",
    "JobCurrentStartDate",
    "JobMaxRetries",
    "JobPrio",
    "JobStartDate",
    "JobStatus",
    "LastHoldReason",
    "LastJobStatus",
    "LeaveJobInQueue",
    "NumJobCompletions",
    "NumJobStarts",
    "NumShadowStarts",
    "NumSystemHolds",
    "OnExitHold",
    "OnExitRemove",
    "Out",
    "PeriodicHold",
    "PeriodicRelease",
    "PeriodicRemove",
    "ProcId",
    "QDate",
    "RequestCpus",
    "RequestDisk",
    "RequestMemory",
    "ShouldTransferFiles",
    "UserLog",
    "WhenToTransferOutput",
];

const SLOT_ATTRIBUTES: [&str; 72] = [
    "Activity",
    "Arch",
    "ClockDay",
    "ClockMin",
    "CondorLoadAvg",
    "ConsoleIdle",
    "CpuBusy",
    "CpuBusyTime",
    "CpuIsBusy",
    "Cpus",
    "DetectedCpus",
    "DetectedMemory",
    "Disk",
    "DynamicSlot",
    "EnteredCurrentActivity",
    "EnteredCurrentState",
    "GPUs",
    "HasDocker",
    "HasFileTransfer",
    "HasJICLocalConfig",
    "HasJICLocalStdin",
    "HasMPI",
    "HasPerFileEncryption",
    "HasReconnect",
    "HasSingularity",
    "HasTDP",
    "HasVM",
    "IsWakeAble",
    "IsWakeOnLanEnabled",
    "IsWakeOnLanSupported",
    "KeyboardIdle",
    "KFlops",
    "LoadAvg",
    "Memory",
    "Mips",
    "NumDynamicSlots",
    "OpSys",
    "OpSysAndVer",
    "OpSysLegacy",
    "OpSysLongName",
    "OpSysMajorVer",
    "OpSysName",
    "OpSysShortName",
    "OpSysVer",
    "PartitionableSlot",
    "RetirementTimeRemaining",
    "SlotID",
    "SlotType",
    "SlotTypeID",
    "SlotWeight",
    "StartdIpAddr",
    "State",
    "TotalClaimRunTime",
    "TotalClaimSuspendTime",
    "TotalCondorLoadAvg",
    "TotalCpus",
    "TotalDisk",
    "TotalGPUs",
    "TotalJobRunTime",
    "TotalJobSuspendTime",
    "TotalLoadAvg",
    "TotalMemory",
    "TotalSlotCpus",
    "TotalSlotDisk",
    "TotalSlotMemory",
    "TotalSlots",
    "TotalVirtualMemory",
    "UtsnameMachine",
    "UtsnameNodename",
    "UtsnameRelease",
    "UtsnameSysname",
    "VirtualMemory",
];

/// Attributes of slots whose counterpart in jobs has a similar name.
const COUNTERPARTS: [(&str, &str); 6] = [
    ("EnteredCurrentState", "EnteredCurrentStatus"),
    ("State", "JobStatus"),
    ("Cpus", "RequestCpus"),
    ("Memory", "RequestMemory"),
    ("Disk", "RequestDisk"),
    ("GPUs", "RequestGPUs"),
];

impl AttributeOwner {
    /// Returns the kind of the only ads that have an attribute, or `None` if both kinds may have it.
    pub(super) fn of(name: &[u8]) -> Option<AttributeOwner> {
        let is_in = |names: &[&str]| names.iter().any(|known| caseless::eq(known.as_bytes(), name));
        match () {
            () if is_in(&JOB_ATTRIBUTES) => Some(AttributeOwner::Job),
            () if is_in(&SLOT_ATTRIBUTES) => Some(AttributeOwner::Slot),
            () => None,
        }
    }
}

/// Returns the attribute of jobs that corresponds to one of slots.
pub(super) fn job_counterpart(name: &[u8]) -> Option<&'static str> {
    COUNTERPARTS.iter().find(|(slot, _)| caseless::eq(slot.as_bytes(), name)).map(|(_, job)| *job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::known_attributes::is_exact_attribute;

    #[test]
    fn all_names_are_attributes_of_htcondor() {
        for name in JOB_ATTRIBUTES.iter().chain(&SLOT_ATTRIBUTES) {
            assert!(is_exact_attribute(name.as_bytes()), "{name}");
        }
    }
}
