//! Built-in print formats of `condor_q` (reference: condor_q.V6/queue.cpp, `jobDefault_PrintFormat` and the others).

/// Kind of report that the options request. The order is that of the reference's `QDO_` constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReportKind {
    /// No option requests a format.
    #[default]
    Unset,
    /// One line per job.
    Jobs,
    /// Running jobs.
    Running,
    /// Idle jobs.
    Idle,
    /// Grid jobs.
    Grid,
    /// Grid jobs in EC2.
    GridEc2,
    /// Held jobs.
    Held,
    /// One line per hold code and subcode.
    HoldCodes,
    /// File transfer.
    Io,
    /// Job factories.
    Factory,
    /// Jobs under the DAGMan jobs that submitted them.
    Dag,
    /// Totals only.
    Totals,
    /// One line per batch.
    Batches,
    /// Autoclusters.
    AutoClusters,
    /// Job sets.
    JobSets,
    /// Columns or a print format of the user.
    Custom,
    /// Analysis of matches.
    Analysis,
}

impl ReportKind {
    /// Returns the name of the mode that options have selected, as `-dry-run` reports it.
    pub(super) fn mode_name(self) -> &'static str {
        match self {
            ReportKind::Unset => "",
            ReportKind::Jobs => "normal",
            ReportKind::Running => "run",
            ReportKind::Idle => "idle",
            ReportKind::Grid => "grid",
            ReportKind::GridEc2 => "grid:ec2",
            ReportKind::Held => "hold",
            ReportKind::HoldCodes => "holdcodes",
            ReportKind::Io => "io",
            ReportKind::Factory => "factory",
            ReportKind::Dag => "dag",
            ReportKind::Totals => "totals",
            ReportKind::Batches => "batch",
            ReportKind::AutoClusters => "autocluster",
            ReportKind::JobSets => "jobset",
            ReportKind::Custom => "custom",
            ReportKind::Analysis => "analyze",
        }
    }

    /// Returns the infix of `Q_DEFAULT_..._PRINT_FORMAT_FILE`.
    pub(super) fn parameter(self) -> String {
        let tag = match self {
            ReportKind::Running => "RUN_",
            ReportKind::Idle => "IDLE_",
            ReportKind::Grid => "GRID_",
            ReportKind::GridEc2 => "GRID_EC2_",
            ReportKind::Held => "HOLD_",
            ReportKind::HoldCodes => "HOLDCODES_",
            ReportKind::Io => "IO_",
            ReportKind::Factory => "FACTORY_",
            ReportKind::Dag => "DAG_",
            ReportKind::Totals => "TOTALS_",
            ReportKind::Batches => "PROGRESS_",
            ReportKind::AutoClusters => "AUTOCLUSTER_",
            ReportKind::JobSets => "JOBSET_",
            ReportKind::Unset | ReportKind::Jobs | ReportKind::Custom | ReportKind::Analysis => "",
        };
        format!("Q_DEFAULT_{tag}PRINT_FORMAT_FILE")
    }

    /// Returns the print format, or `None` for reports that have none.
    pub(super) fn format(self) -> Option<&'static str> {
        Some(match self {
            ReportKind::Jobs => JOBS,
            ReportKind::Running => RUNNING,
            ReportKind::Idle => IDLE,
            ReportKind::Grid => GRID,
            ReportKind::GridEc2 => GRID_EC2,
            ReportKind::Held => HELD,
            ReportKind::HoldCodes => HOLD_CODES,
            ReportKind::Io => IO,
            ReportKind::Factory => FACTORY,
            ReportKind::Dag => DAG,
            ReportKind::Totals => TOTALS,
            ReportKind::Batches => BATCHES,
            ReportKind::AutoClusters => AUTO_CLUSTERS,
            ReportKind::JobSets => JOB_SETS,
            ReportKind::Unset | ReportKind::Custom | ReportKind::Analysis => return None,
        })
    }
}

const JOBS: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
QDate AS '  SUBMITTED' WIDTH 11 PRINTAS QDATE
RemoteUserCpu AS '    RUN_TIME' WIDTH 12 PRINTAS CPU_TIME
JobStatus AS ST PRINTAS JOB_STATUS
JobPrio AS PRI WIDTH AUTO
ImageSize AS SIZE WIDTH 4 PRINTAS MEMORY_USAGE
Cmd AS CMD WIDTH 0 PRINTAS JOB_DESCRIPTION
SUMMARY STANDARD
";

const FACTORY: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
QDate AS '  SUBMITTED' WIDTH 11 PRINTAS QDATE
JobMaterializeLimit AS ' LIMIT' WIDTH 6 PRINTF %6d
JobsPresent AS 'PRESNT' WIDTH 6 PRINTF %6d
JobsRunning AS '  RUN ' WIDTH 6 PRINTF %6d
JobsIdle AS '  IDLE' WIDTH 6 PRINTF %6d
JobsHeld AS '  HOLD' WIDTH 6 PRINTF %6d
JobMaterializeNextProcId AS 'NEXTID' WIDTH 6 PRINTF %6d
JobMaterializePaused?:JobFactoryPaused AS MODE PRINTAS JOB_FACTORY_MODE OR _
JobMaterializeDigestFile AS DIGEST
WHERE (ProcId is undefined) && (JobMaterializeDigestFile isnt undefined)
SUMMARY NONE
";

const DAG: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS 'OWNER/NODENAME' WIDTH -17 PRINTAS DAG_OWNER
QDate AS '  SUBMITTED' WIDTH 11 PRINTAS QDATE
RemoteUserCpu AS '    RUN_TIME' WIDTH 12 PRINTAS CPU_TIME
JobStatus AS ST PRINTAS JOB_STATUS
JobPrio AS PRI WIDTH AUTO
ImageSize AS SIZE WIDTH 4 PRINTAS MEMORY_USAGE
Cmd AS CMD WIDTH 0 PRINTAS JOB_DESCRIPTION
SUMMARY STANDARD
";

const RUNNING: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
QDate AS '  SUBMITTED' WIDTH 11 PRINTAS QDATE OR ??
RemoteUserCpu AS '    RUN_TIME' WIDTH 12 PRINTAS CPU_TIME OR ??
Owner AS 'HOST(S)' WIDTH 0 PRINTAS REMOTE_HOST OR ??
SUMMARY NONE
";

const IDLE: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
JobUniverse AS 'UNIVERSE ' PRINTAS JOB_UNIVERSE
RequestCpus AS CPUS PRINTF '%4d'
RequestMemory AS MEMORY PRINTF '%6d'
NumShadowStarts?:0 AS STARTS PRINTF '%6d'
LastRemoteHost AS LAST_HOST WIDTH 0
SUMMARY NONE
";

const GRID: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER
GridJobStatus AS STATUS WIDTH -10 PRINTAS GRID_STATUS
GridResource AS 'GRID->MANAGER    HOST' WIDTH -27 PRINTAS GRID_RESOURCE
GridJobId AS GRID_JOB_ID WIDTH 0 PRINTAS GRID_JOB_ID
SUMMARY NONE
";

const GRID_EC2: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER
GridJobStatus AS STATUS WIDTH -10 PRINTAS GRID_STATUS
GridJobId AS 'INSTANCE ID' WIDTH AUTO PRINTAS GRID_JOB_ID
Cmd AS CMD WIDTH AUTO PRINTF '%s'
SUMMARY NONE
";

const HELD: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
EnteredCurrentStatus AS HELD_SINCE WIDTH 11 PRINTAS QDATE OR ??
HoldReasonCode AS CODE NOSUFFIX PRINTF %4d OR ?
HoldReasonSubCode AS '/SUB' NOPREFIX PRINTF '/%-3d' TRUNCATE OR ' '
HoldReason AS HOLD_REASON WIDTH 0
SUMMARY STANDARD
";

const HOLD_CODES: &str = "SELECT
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
HoldReasonCode AS CODE NOSUFFIX PRINTF %4d OR ?
HoldReasonSubCode AS '/SUB' NOPREFIX PRINTF '/%-3d' OR ' '
JobStatus AS '   COUNT ' PRINTF %9d OR _
ClusterId AS OLDEST_JOB_ID PRINTAS JOB_ID
EnteredCurrentStatus AS HELD_SINCE WIDTH 11 PRINTAS QDATE OR ??
HoldReason AS HOLD_REASON WIDTH 0
GROUP BY
HoldReasonCode
HoldReasonSubCode
SUMMARY NONE
";

// FORMATAS is not a keyword of print formats, so the values of these columns are printed unchanged.
const IO: &str = "SELECT
ClusterId AS ' ID' NOSUFFIX WIDTH 5 PRINTF '%4d.'
ProcId AS ' ' NOPREFIX WIDTH 3 PRINTF '%-3d'
Owner AS OWNER WIDTH -14 PRINTAS OWNER OR ??
IfThenElse(JobUniverse==1,NumCkpts_RAW,NumJobStarts) AS RUNS PRINTF '%4d' OR ?
JobStatus AS ST PRINTAS JOB_STATUS
IfThenElse(JobUniverse==1,FileReadBytes,BytesRecvd) AS ' INPUT' FORMATAS READABLE_BYTES OR ??
IfThenElse(JobUniverse==1,FileWriteBytes,BytesSent) AS ' OUTPUT' FORMATAS READABLE_BYTES OR ??
IfThenElse(JobUniverse==1,FileReadBytes+FileWriteBytes,BytesRecvd+BytesSent) AS ' RATE' WIDTH 10 FORMATAS READABLE_BYTES OR ??
JobUniverse AS 'MISC' FORMATAS BUFFER_IO_MISC
WHERE JobUniverse==1 || TransferQueued=?=true || TransferringOutput=?=true || TransferringInput=?=true
SUMMARY STANDARD
";

/// Print format of the totals. It is read as soon as the option `-totals` is parsed.
pub(super) const TOTALS: &str = "SELECT NOHEADER\nSUMMARY STANDARD";

const AUTO_CLUSTERS: &str = "SELECT
AutoClusterId AS '   ID' WIDTH 5 PRINTF %5d
JobCount AS COUNT WIDTH 5 PRINTF %5d
JobUniverse AS UNIVERSE WIDTH -8 PRINTAS JOB_UNIVERSE OR ??
RequestCPUs AS CPUS WIDTH 4 PRINTF %4d OR ??
RequestMemory AS MEMORY WIDTH 6 PRINTF %6d OR ??
RequestDisk AS '    DISK' WIDTH 8 PRINTF %8d OR ??
Requirements AS REQUIREMENTS PRINTF %r
SUMMARY NONE
";

const JOB_SETS: &str = "SELECT
JobSetId AS JOBSETID WIDTH 8 PRINTF %8d
JobSetName AS NAME WIDTH AUTO
Owner AS OWNER WIDTH AUTO PRINTAS OWNER OR ??
NumCompleted AS COMPLETE WIDTH 8 PRINTF %8d
NumRemoved AS REMOVED WIDTH 7 PRINTF %7d
NumIdle AS '   IDLE' WIDTH 7 PRINTF %7d
NumRunning AS RUNNING WIDTH 7 PRINTF %7d
NumHeld AS '   HELD' WIDTH 7 PRINTF %7d
WHERE ProcId is undefined
SUMMARY NONE
";

// The counts replace the values of the columns 3 to 8 after the jobs of a batch are added up.
const BATCHES: &str = "SELECT
Owner AS OWNER WIDTH AUTO PRINTAS DAG_OWNER OR ??
Cmd AS BATCH_NAME WIDTH -12 PRINTAS BATCH_NAME
QDate AS '   SUBMITTED' WIDTH 12 PRINTAS QDATE
JobStatus AS '  DONE' WIDTH 6 PRINTF %6d OR _
JobUniverse AS '  RUN ' WIDTH 6 PRINTF %6d OR _
DAG_NodesQueued AS '  IDLE' WIDTH 6 PRINTF %6d OR _
DAG_NodesDone AS '  HOLD' WIDTH 6 PRINTF %6d OR _
DAG_NodesTotal?:TotalSubmitProcs AS ' TOTAL' WIDTH 6 PRINTF %6d OR _
JobStatus?:JobMaterializeNextProcId AS JOB_IDS WIDTH 0 PRINTAS JOB_STATUS
SUMMARY STANDARD
";

const SUMMARY: &str = "SELECT
Jobs PRINTF 'Total for query: %d jobs;'
Completed PRINTF '%d completed,'
Removed PRINTF '%d removed,'
Idle PRINTF '%d idle,'
Running PRINTF '%d running,'
Held PRINTF '%d held,'
Suspended PRINTF '%d suspended'
AllusersJobs AS Jobs PRINTF '\\nTotal for all users: %d jobs;'
AllusersCompleted AS Completed PRINTF '%d completed,'
AllusersRemoved AS Removed PRINTF '%d removed,'
AllusersIdle AS Idle PRINTF '%d idle,'
AllusersRunning AS Running PRINTF '%d running,'
AllusersHeld AS Held PRINTF '%d held,'
AllusersSuspended AS Suspended PRINTF '%d suspended'
";

const OLD_SUMMARY: &str = "SELECT
Jobs + SchedulerJobs AS Jobs PRINTF '%d jobs;'
Completed + SchedulerCompleted AS Completed PRINTF '%d completed,'
Removed + SchedulerRemoved AS Removed PRINTF '%d removed,'
Idle + SchedulerIdle AS Idle PRINTF '%d idle,'
Running + SchedulerRunning AS Running PRINTF '%d running,'
Held + SchedulerHeld AS Held PRINTF '%d held,'
Suspended PRINTF '%d suspended'
";

/// Returns the print format of the standard summary, or that of old versions (`CONDOR_Q_SHOW_OLD_SUMMARY`).
pub(super) fn summary_format(is_old: bool) -> &'static str {
    if is_old { OLD_SUMMARY } else { SUMMARY }
}
