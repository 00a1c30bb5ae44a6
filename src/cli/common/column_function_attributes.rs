//! Attributes that the column functions read besides the expression of their column (reference: queue.cpp,
//! `LocalPrintFormats`; print_format_tables.cpp, `GlobalPrintFormats`).

use super::column_functions::ColumnFunction;

impl ColumnFunction {
    /// Returns the attributes that condor_q adds to the projection for a column with this function.
    pub(crate) fn added_attributes(self) -> &'static [&'static str] {
        match self {
            ColumnFunction::ActivityCode | ColumnFunction::ActivityOrOcu => &["State"],
            ColumnFunction::ActivityTime => &["LastHeardFrom", "MyCurrentTime"],
            ColumnFunction::BatchName => &["JobBatchName", "Cmd", "DAGManJobId", "DAGNodeName"],
            ColumnFunction::BufferIoMisc => &[
                "FileSeekCount",
                "BufferSize",
                "BufferBlockSize",
                "TransferringInput",
                "TransferringOutput",
                "TransferQueued",
            ],
            ColumnFunction::CpuTime => {
                &["JobStatus", "ServerTime", "ShadowBday", "RemoteWallClockTime", "LastRemoteWallClockTime"]
            }
            ColumnFunction::DagOwner => &["NiceUser", "DAGManJobId", "DAGNodeName"],
            ColumnFunction::DueDate | ColumnFunction::ElapsedTime => &["LastHeardFrom"],
            ColumnFunction::GridJobId => &["GridResource"],
            ColumnFunction::GridResource => &["EC2RemoteVirtualMachineName"],
            ColumnFunction::JobCommand => &["JobDescription", "MATCH_EXP_JobDescription"],
            ColumnFunction::JobDescription => {
                &["Args", "Arguments", "JobDescription", "MATCH_EXP_JobDescription"]
            }
            ColumnFunction::JobId => &["ProcId", "JobId"],
            ColumnFunction::JobStatus => &[
                "LastSuspensionTime",
                "TransferringInput",
                "TransferringOutput",
                "TransferQueued",
                "JobCoolDownExpiration",
            ],
            ColumnFunction::MemoryUsage => &["MemoryUsage"],
            ColumnFunction::Owner => &["NiceUser"],
            ColumnFunction::Platform => &["Arch", "OpSysAndVer", "OpSysShortName"],
            ColumnFunction::RemoteHost => {
                &["JobUniverse", "RemoteHost", "EC2RemoteVirtualMachineName", "GridResource"]
            }
            ColumnFunction::Unhealth => &["Healthy", "BrokenReasons", "SlotBrokenReason"],
            _ => &[],
        }
    }
}
