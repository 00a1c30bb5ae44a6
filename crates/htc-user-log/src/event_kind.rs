//! Numbers and names of events.

/// Defines the event kinds with their number, `ULOG_` name and `MyType`.
macro_rules! kinds {
    ($($variant:ident = $number:literal, $name:literal, $my_type:literal, $line:literal;)*) => {
        /// Kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $(#[doc = $line] $variant = $number,)*
        }

        impl EventKind {
            /// All kinds in the order of their numbers.
            pub const ALL: &[EventKind] = &[$(EventKind::$variant),*];

            /// Returns the name in the reference's code, such as `ULOG_SUBMIT`.
            pub fn name(self) -> &'static str {
                match self { $(EventKind::$variant => $name,)* }
            }

            /// Returns the `MyType` of the event's ad.
            pub fn my_type(self) -> &'static str {
                match self { $(EventKind::$variant => $my_type,)* }
            }

            /// Returns the kind with this number, or `None` if the number is unknown.
            pub fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some(EventKind::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Submit = 0, "ULOG_SUBMIT", "SubmitEvent", "A job entered the queue.";
    Execute = 1, "ULOG_EXECUTE", "ExecuteEvent", "The job started running.";
    ExecutableError = 2, "ULOG_EXECUTABLE_ERROR", "ExecutableErrorEvent", "The job's executable cannot be run.";
    Checkpointed = 3, "ULOG_CHECKPOINTED", "CheckpointedEvent", "The job was checkpointed.";
    Evicted = 4, "ULOG_JOB_EVICTED", "JobEvictedEvent", "The job was evicted from its slot.";
    Terminated = 5, "ULOG_JOB_TERMINATED", "JobTerminatedEvent", "The job ended.";
    ImageSize = 6, "ULOG_IMAGE_SIZE", "JobImageSizeEvent", "The memory usage of the job was measured.";
    ShadowException = 7, "ULOG_SHADOW_EXCEPTION", "ShadowExceptionEvent", "The shadow of the job failed.";
    Generic = 8, "ULOG_GENERIC", "GenericEvent", "Free text.";
    Aborted = 9, "ULOG_JOB_ABORTED", "JobAbortedEvent", "The job was removed.";
    Suspended = 10, "ULOG_JOB_SUSPENDED", "JobSuspendedEvent", "The job was suspended.";
    Unsuspended = 11, "ULOG_JOB_UNSUSPENDED", "JobUnsuspendedEvent", "The job was unsuspended.";
    Held = 12, "ULOG_JOB_HELD", "JobHeldEvent", "The job was held.";
    Released = 13, "ULOG_JOB_RELEASED", "JobReleaseEvent", "The job was released.";
    NodeExecute = 14, "ULOG_NODE_EXECUTE", "NodeExecuteEvent", "One node of a parallel job started running.";
    NodeTerminated = 15, "ULOG_NODE_TERMINATED", "NodeTerminatedEvent", "One node of a parallel job ended.";
    PostScriptTerminated = 16, "ULOG_POST_SCRIPT_TERMINATED", "PostScriptTerminatedEvent", "The POST script of a DAGMan node ended.";
    RemoteError = 21, "ULOG_REMOTE_ERROR", "RemoteErrorEvent", "A starter or shadow reported an error.";
    Disconnected = 22, "ULOG_JOB_DISCONNECTED", "JobDisconnectedEvent", "The shadow lost the connection to the starter.";
    Reconnected = 23, "ULOG_JOB_RECONNECTED", "JobReconnectedEvent", "The shadow reconnected to the starter.";
    ReconnectFailed = 24, "ULOG_JOB_RECONNECT_FAILED", "JobReconnectFailedEvent", "The shadow could not reconnect to the starter.";
    GridResourceUp = 25, "ULOG_GRID_RESOURCE_UP", "GridResourceUpEvent", "The other batch system is available again.";
    GridResourceDown = 26, "ULOG_GRID_RESOURCE_DOWN", "GridResourceDownEvent", "The other batch system is not available.";
    GridSubmit = 27, "ULOG_GRID_SUBMIT", "GridSubmitEvent", "The job was submitted to another batch system.";
    JobAdInformation = 28, "ULOG_JOB_AD_INFORMATION", "JobAdInformationEvent", "Attributes of the job, logged together with another event.";
    JobStatusUnknown = 29, "ULOG_JOB_STATUS_UNKNOWN", "FutureEvent", "The status of the job in the other batch system is unknown.";
    JobStatusKnown = 30, "ULOG_JOB_STATUS_KNOWN", "FutureEvent", "The status of the job in the other batch system is known again.";
    JobStageIn = 31, "ULOG_JOB_STAGE_IN", "FutureEvent", "Input files are being transferred.";
    JobStageOut = 32, "ULOG_JOB_STAGE_OUT", "FutureEvent", "Output files are being transferred.";
    AttributeUpdate = 33, "ULOG_ATTRIBUTE_UPDATE", "AttributeUpdateEvent", "An attribute was changed.";
    PreSkip = 34, "ULOG_PRESKIP", "FutureEvent", "A node of a DAGMan workflow was skipped.";
    ClusterSubmit = 35, "ULOG_CLUSTER_SUBMIT", "ClusterSubmitEvent", "A cluster entered the queue.";
    ClusterRemove = 36, "ULOG_CLUSTER_REMOVE", "ClusterRemoveEvent", "A cluster left the queue.";
    FactoryPaused = 37, "ULOG_FACTORY_PAUSED", "FactoryPausedEvent", "The job factory was paused: it creates no more jobs.";
    FactoryResumed = 38, "ULOG_FACTORY_RESUMED", "FactoryResumedEvent", "The job factory was resumed.";
    FileTransfer = 40, "ULOG_FILE_TRANSFER", "FileTransferEvent", "A file transfer was queued, started or finished.";
    ReserveSpace = 41, "ULOG_RESERVE_SPACE", "ReserveSpaceEvent", "Space for reusable files was reserved.";
    ReleaseSpace = 42, "ULOG_RELEASE_SPACE", "ReleaseSpaceEvent", "The reserved space was released.";
    FileComplete = 43, "ULOG_FILE_COMPLETE", "FileCompleteEvent", "A reusable file was stored.";
    FileUsed = 44, "ULOG_FILE_USED", "FileUsedEvent", "A reusable file was used.";
    FileRemoved = 45, "ULOG_FILE_REMOVED", "FileRemovedEvent", "A reusable file was removed.";
    DataflowSkipped = 46, "ULOG_DATAFLOW_JOB_SKIPPED", "DataflowJobSkippedEvent", "The job was skipped: its output is newer than its input.";
    CommonFiles = 47, "ULOG_COMMON_FILES", "CommonFilesEvent", "A transfer of files that jobs share began or ended.";
}

impl EventKind {
    /// Returns the number used in logs.
    pub fn number(self) -> u16 {
        self as u16
    }
}
