//! Codes of hold and vacate reasons (attributes `HoldReasonCode`, `VacateReasonCode`).

/// Defines the codes with their numbers and documentation from one table.
macro_rules! codes {
    ($($name:ident = $number:literal, $line:literal;)*) => {
        /// Reason code of a hold; codes from 1000 are reasons for a vacate (reference: `condor_holdcodes.h`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HoldCode {
            $(#[doc = $line] $name = $number,)*
        }

        impl HoldCode {
            /// All codes, ordered by number.
            pub const ALL: &[HoldCode] = &[$(HoldCode::$name),*];

            /// Returns the reference's name of the code.
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
    UnableToOpenOutput = 7, "The job's output file could not be opened";
    UnableToOpenInput = 8, "The job's input file could not be opened";
    UnableToOpenOutputStream = 9, "The job's output stream could not be opened";
    UnableToOpenInputStream = 10, "The job's input stream could not be opened";
    InvalidTransferAck = 11, "The other side of a file transfer sent an invalid answer";
    TransferOutputError = 12, "Output files could not be transferred";
    TransferInputError = 13, "Input files could not be transferred";
    IwdError = 14, "`Iwd` cannot be entered";
    SubmittedOnHold = 15, "The job was submitted with `hold = true`";
    SpoolingInput = 16, "The job's input is still being spooled";
    JobShadowMismatch = 17, "The shadow is too old for the job";
    InvalidTransferGoAhead = 18, "A transfer was not allowed to begin";
    HookPrepareJobFailure = 19, "A prepare hook failed; the subcode is its exit status, or the negative number of the signal that ended it, or 0 if it was not started";
    MissedDeferredExecutionTime = 20, "The deferral time of the job has passed";
    StartdHeldJob = 21, "`WANT_HOLD` of the execution point was true";
    UnableToInitUserLog = 22, "The log of the job cannot be written";
    FailedToAccessUserAccount = 23, "The account of the user cannot be used";
    NoCompatibleShadow = 24, "No shadow supports the job";
    InvalidCronSettings = 25, "The cron settings of the job are wrong";
    SystemPolicy = 26, "`SYSTEM_PERIODIC_HOLD` was true";
    SystemPolicyUndefined = 27, "A SYSTEM_PERIODIC_* expression was undefined";
    MaxTransferInputSizeExceeded = 32, "The job's input is larger than allowed";
    MaxTransferOutputSizeExceeded = 33, "The job's output is larger than allowed";
    JobOutOfResources = 34, "The job used more memory (subcode 102) or disk space (104) than it was given";
    InvalidDockerImage = 35, "The image of the container cannot be used";
    FailedToCheckpoint = 36, "A checkpoint failed";
    PreScriptFailed = 43, "The pre command failed";
    PostScriptFailed = 44, "The post command failed";
    SingularityTestFailed = 45, "The container runtime failed its test";
    JobDurationExceeded = 46, "The job took longer than `AllowedJobDuration`";
    JobExecuteExceeded = 47, "The job ran longer than `AllowedExecuteDuration`";
    HookShadowPrepareJobFailure = 48, "The prepare hook of the shadow failed";
    CannotSwitchPrimaryGroup = 49, "The primary group cannot be set";
    JobPolicyVacate = 1000, "A policy expression of the job vacated it";
    SystemPolicyVacate = 1001, "A SYSTEM_PERIODIC_VACATE expression vacated the job";
    ShadowException = 1002, "The shadow failed";
    JobNotStarted = 1003, "The job could not be started";
    UserVacateJob = 1004, "`condor_vacate_job`";
    JobShouldRequeue = 1005, "The job ended and went back to the queue";
    FailedToActivateClaim = 1006, "The claim could not be activated";
    StarterError = 1007, "The starter failed";
    ReconnectFailed = 1008, "The connection was not restored before the lease expired";
    ClaimDeactivated = 1009, "The claim was deactivated";
    StartdVacateCommand = 1010, "`condor_vacate`";
    StartdPreemptExpression = 1011, "`PREEMPT` was true";
    StartdException = 1012, "The startd failed";
    StartdShutdown = 1013, "The startd is shutting down";
    StartdDraining = 1014, "The execution point is draining";
    StartdCoalesce = 1015, "Slots are being coalesced";
    StartdHibernate = 1016, "The machine is hibernating";
    StartdReleaseCommand = 1017, "The claim was released";
    StartdPreemptingClaimRank = 1018, "The job was preempted by a job of better rank";
    StartdPreemptingClaimUserPrio = 1019, "The job was preempted by a job of a user with better priority";
    VMError = 1020, "The virtual machine failed";
    ContainerError = 1021, "The container failed";
    ScheddVacate = 1022, "The schedd vacated the job";
    JobRemoved = 1023, "The job was removed while it ran";
    ScratchDirError = 1024, "The scratch directory could not be used";
    SuccessfulCheckpoint = 1025, "The job wrote a checkpoint and will start again";
}

impl HoldCode {
    /// Returns the value of `HoldReasonCode` or `VacateReasonCode`.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Returns the code with this number, or `None` if the number is unknown.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hold_codes_have_their_numbers() {
        assert_eq!(HoldCode::HookPrepareJobFailure.number(), 19);
        assert_eq!(HoldCode::from_number(1011), Some(HoldCode::StartdPreemptExpression));
        assert_eq!(HoldCode::from_number(-1), None);
        assert!(HoldCode::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
