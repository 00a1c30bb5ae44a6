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
        }
    };
}

kinds! {
    Submit = 0, "ULOG_SUBMIT", "SubmitEvent", "A job entered the queue.";
    Execute = 1, "ULOG_EXECUTE", "ExecuteEvent", "It runs.";
    ExecutableError = 2, "ULOG_EXECUTABLE_ERROR", "ExecutableErrorEvent", "Its executable is bad.";
    Checkpointed = 3, "ULOG_CHECKPOINTED", "CheckpointedEvent", "It was checkpointed.";
    Evicted = 4, "ULOG_JOB_EVICTED", "JobEvictedEvent", "It had to leave its slot.";
    Terminated = 5, "ULOG_JOB_TERMINATED", "JobTerminatedEvent", "It ended.";
    ImageSize = 6, "ULOG_IMAGE_SIZE", "JobImageSizeEvent", "Its memory was measured.";
    ShadowException = 7, "ULOG_SHADOW_EXCEPTION", "ShadowExceptionEvent", "Its shadow gave up.";
    Generic = 8, "ULOG_GENERIC", "GenericEvent", "Free text.";
    Aborted = 9, "ULOG_JOB_ABORTED", "JobAbortedEvent", "It was removed.";
    Suspended = 10, "ULOG_JOB_SUSPENDED", "JobSuspendedEvent", "It was stopped for a while.";
    Unsuspended = 11, "ULOG_JOB_UNSUSPENDED", "JobUnsuspendedEvent", "It goes on.";
    Held = 12, "ULOG_JOB_HELD", "JobHeldEvent", "It was put on hold.";
    Released = 13, "ULOG_JOB_RELEASED", "JobReleaseEvent", "It was released.";
    NodeExecute = 14, "ULOG_NODE_EXECUTE", "NodeExecuteEvent", "One node of a parallel job runs.";
    NodeTerminated = 15, "ULOG_NODE_TERMINATED", "NodeTerminatedEvent", "One node of a parallel job ended.";
    PostScriptTerminated = 16, "ULOG_POST_SCRIPT_TERMINATED", "PostScriptTerminatedEvent", "A script of a workflow ended.";
    RemoteError = 21, "ULOG_REMOTE_ERROR", "RemoteErrorEvent", "A starter or shadow tells of an error.";
    Disconnected = 22, "ULOG_JOB_DISCONNECTED", "JobDisconnectedEvent", "Nobody answers.";
    Reconnected = 23, "ULOG_JOB_RECONNECTED", "JobReconnectedEvent", "The starter answers again.";
    ReconnectFailed = 24, "ULOG_JOB_RECONNECT_FAILED", "JobReconnectFailedEvent", "It never answered again.";
    GridResourceUp = 25, "ULOG_GRID_RESOURCE_UP", "GridResourceUpEvent", "The other batch system is back.";
    GridResourceDown = 26, "ULOG_GRID_RESOURCE_DOWN", "GridResourceDownEvent", "The other batch system is away.";
    GridSubmit = 27, "ULOG_GRID_SUBMIT", "GridSubmitEvent", "Handed to another batch system.";
    JobAdInformation = 28, "ULOG_JOB_AD_INFORMATION", "JobAdInformationEvent", "Attributes of the job at another event.";
    JobStatusUnknown = 29, "ULOG_JOB_STATUS_UNKNOWN", "FutureEvent", "The other batch system does not know it.";
    JobStatusKnown = 30, "ULOG_JOB_STATUS_KNOWN", "FutureEvent", "The other batch system knows it again.";
    JobStageIn = 31, "ULOG_JOB_STAGE_IN", "FutureEvent", "Input is on the way.";
    JobStageOut = 32, "ULOG_JOB_STAGE_OUT", "FutureEvent", "Output is on the way.";
    AttributeUpdate = 33, "ULOG_ATTRIBUTE_UPDATE", "AttributeUpdateEvent", "An attribute was changed.";
    PreSkip = 34, "ULOG_PRESKIP", "FutureEvent", "A node of a workflow was skipped.";
    ClusterSubmit = 35, "ULOG_CLUSTER_SUBMIT", "ClusterSubmitEvent", "A cluster entered the queue.";
    ClusterRemove = 36, "ULOG_CLUSTER_REMOVE", "ClusterRemoveEvent", "A cluster left the queue.";
    FactoryPaused = 37, "ULOG_FACTORY_PAUSED", "FactoryPausedEvent", "No more jobs are made for a while.";
    FactoryResumed = 38, "ULOG_FACTORY_RESUMED", "FactoryResumedEvent", "Jobs are made again.";
    FileTransfer = 40, "ULOG_FILE_TRANSFER", "FileTransferEvent", "Files begin or end to be transferred.";
    ReserveSpace = 41, "ULOG_RESERVE_SPACE", "ReserveSpaceEvent", "Space for files that are used again is kept.";
    ReleaseSpace = 42, "ULOG_RELEASE_SPACE", "ReleaseSpaceEvent", "It is given back.";
    FileComplete = 43, "ULOG_FILE_COMPLETE", "FileCompleteEvent", "A file to be used again is there.";
    FileUsed = 44, "ULOG_FILE_USED", "FileUsedEvent", "It was used again.";
    FileRemoved = 45, "ULOG_FILE_REMOVED", "FileRemovedEvent", "It was removed.";
    DataflowSkipped = 46, "ULOG_DATAFLOW_JOB_SKIPPED", "DataflowJobSkippedEvent", "It was not run: its output is newer than its input.";
    CommonFiles = 47, "ULOG_COMMON_FILES", "CommonFilesEvent", "Files that jobs share begin or end to be transferred.";
}

impl EventKind {
    /// Returns the number used in logs.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Returns the kind with this number, or `None` if the number is unknown.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.number() == number)
    }
}
