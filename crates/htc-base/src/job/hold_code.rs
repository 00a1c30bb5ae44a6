//! Codes of hold and vacate reasons (attributes `HoldReasonCode`, `VacateReasonCode`).

/// Defines the codes with their numbers and documentation in one table.
macro_rules! codes {
    ($($name:ident = $number:literal, $line:literal;)*) => {
        /// Reason code of a hold, or, from 1000 on, of a vacate (reference: `condor_holdcodes.h`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HoldCode {
            $(#[doc = $line] $name = $number,)*
        }

        impl HoldCode {
            /// All codes, ordered by number.
            pub const ALL: &[HoldCode] = &[$(HoldCode::$name),*];

            /// Returns the reference's name.
            pub fn name(self) -> &'static str {
                match self { $(HoldCode::$name => stringify!($name),)* }
            }

        }
    };
}

codes! {
    Unspecified = 0, "No reason was given";
    UserRequest = 1, "`condor_hold`";
    GlobusGramError = 2, "Obsolete: Globus";
    JobPolicy = 3, "`PeriodicHold` or `OnExitHold` was true";
    CorruptedCredential = 4, "The access point has no credentials for the job";
    JobPolicyUndefined = 5, "A policy expression of the job was undefined";
    FailedToCreateProcess = 6, "The job could not be executed; the subcode is errno";
    UnableToOpenOutput = 7, "Its output file could not be opened";
    UnableToOpenInput = 8, "Its input file could not be opened";
    UnableToOpenOutputStream = 9, "Its output stream could not be opened";
    UnableToOpenInputStream = 10, "Its input stream could not be opened";
    InvalidTransferAck = 11, "The other side of a transfer answered nonsense";
    TransferOutputError = 12, "Output files could not be transferred";
    TransferInputError = 13, "Input files could not be transferred";
    IwdError = 14, "`Iwd` cannot be entered";
    SubmittedOnHold = 15, "Submitted with `hold = true`";
    SpoolingInput = 16, "Its input is still being spooled";
    JobShadowMismatch = 17, "The shadow is too old for the job";
    InvalidTransferGoAhead = 18, "A transfer was not allowed to begin";
    HookPrepareJobFailure = 19, "A prepare hook failed; the subcode is its status, minus a signal, or 0";
    MissedDeferredExecutionTime = 20, "The time to start at is past";
    StartdHeldJob = 21, "`WANT_HOLD` of the execution point";
    UnableToInitUserLog = 22, "The log of the job cannot be written";
    FailedToAccessUserAccount = 23, "The account of the user cannot be used";
    NoCompatibleShadow = 24, "No shadow fits";
    InvalidCronSettings = 25, "The cron settings of the job are wrong";
    SystemPolicy = 26, "`SYSTEM_PERIODIC_HOLD` was true";
    SystemPolicyUndefined = 27, "A policy expression of the system was undefined";
    MaxTransferInputSizeExceeded = 32, "More input than is allowed";
    MaxTransferOutputSizeExceeded = 33, "More output than is allowed";
    JobOutOfResources = 34, "Memory (subcode 102) or disk (104) ran out";
    InvalidDockerImage = 35, "The image of the container cannot be used";
    FailedToCheckpoint = 36, "A checkpoint failed";
    PreScriptFailed = 43, "The pre command failed";
    PostScriptFailed = 44, "The post command failed";
    SingularityTestFailed = 45, "The container runtime failed its test";
    JobDurationExceeded = 46, "Longer than `AllowedJobDuration`";
    JobExecuteExceeded = 47, "Executed longer than `AllowedExecuteDuration`";
    HookShadowPrepareJobFailure = 48, "The prepare hook of the shadow failed";
    CannotSwitchPrimaryGroup = 49, "The primary group cannot be set";
    JobPolicyVacate = 1000, "A policy expression of the job vacates it";
    SystemPolicyVacate = 1001, "A policy expression of the system vacates it";
    ShadowException = 1002, "The shadow failed";
    JobNotStarted = 1003, "The job could not be started";
    UserVacateJob = 1004, "`condor_vacate_job`";
    JobShouldRequeue = 1005, "Back into the queue after it ended";
    FailedToActivateClaim = 1006, "The claim could not be activated";
    StarterError = 1007, "The starter failed";
    ReconnectFailed = 1008, "No connection within the lease";
    ClaimDeactivated = 1009, "The claim was deactivated";
    StartdVacateCommand = 1010, "`condor_vacate`";
    StartdPreemptExpression = 1011, "`PREEMPT` was true";
    StartdException = 1012, "The startd failed";
    StartdShutdown = 1013, "The startd shuts down";
    StartdDraining = 1014, "The execution point drains";
    StartdCoalesce = 1015, "Slots are being coalesced";
    StartdHibernate = 1016, "The machine hibernates";
    StartdReleaseCommand = 1017, "The claim was released";
    StartdPreemptingClaimRank = 1018, "A job of better rank preempts";
    StartdPreemptingClaimUserPrio = 1019, "A user of better priority preempts";
    VMError = 1020, "The virtual machine failed";
    ContainerError = 1021, "The container failed";
    ScheddVacate = 1022, "The schedd vacates it";
    JobRemoved = 1023, "It was removed while it ran";
    ScratchDirError = 1024, "The scratch directory could not be used";
    SuccessfulCheckpoint = 1025, "It checkpointed and is to start again";
}

impl HoldCode {
    /// Returns the value of `HoldReasonCode` or `VacateReasonCode`.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the code with that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_their_numbers() {
        assert_eq!(HoldCode::HookPrepareJobFailure.number(), 19);
        assert_eq!(HoldCode::from_number(1011), Some(HoldCode::StartdPreemptExpression));
        assert_eq!(HoldCode::from_number(-1), None);
        assert!(HoldCode::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
