//! Attributes of a job that its owner cannot set to a value of their choice.

use htc_classad::AttrName;

/// Attributes that identify the job, its owner or its access point.
const IDENTITY: [&str; 9] = [
    "Owner",
    "User",
    "OsUser",
    "NTDomain",
    "ClusterId",
    "ProcId",
    "QDate",
    "GlobalJobId",
    "FileSystemDomain",
];

/// Attributes that the schedd and the shadow maintain.
const MAINTAINED: [&str; 38] = [
    "BytesRecvd",
    "BytesSent",
    "CommittedSlotTime",
    "CommittedSuspensionTime",
    "CommittedTime",
    "CompletionDate",
    "CpusUsage",
    "CumulativeRemoteSysCpu",
    "CumulativeRemoteUserCpu",
    "CumulativeSlotTime",
    "CumulativeSuspensionTime",
    "EnteredCurrentStatus",
    "ExitCode",
    "ExitStatus",
    "HoldReasonCode",
    "HoldReasonSubCode",
    "JobCurrentStartDate",
    "JobRunCount",
    "JobStartDate",
    "JobStatus",
    "LastJobStatus",
    "LastSuspensionTime",
    "LastVacateTime",
    "NumCkpts",
    "NumHolds",
    "NumJobCompletions",
    "NumJobMatches",
    "NumJobReconnects",
    "NumJobStarts",
    "NumRestarts",
    "NumShadowStarts",
    "NumSystemHolds",
    "NumVacates",
    "RemoteSysCpu",
    "RemoteUserCpu",
    "RemoteWallClockTime",
    "ServerTime",
    "TotalSuspensions",
];

/// True if the owner of a job may set an attribute, so that a change of it is useful advice.
pub(super) fn can_owner_set(name: &AttrName) -> bool {
    !IDENTITY.iter().chain(&MAINTAINED).any(|known| *name == **known)
}
