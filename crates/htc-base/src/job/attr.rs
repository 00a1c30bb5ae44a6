//! Attribute names used by several crates, so that each is spelled in one place.
//!
//! A name that only one file uses is defined in that file.

/// Lists the constants with their names.
macro_rules! names {
    ($($constant:ident = $name:literal, $line:literal;)*) => {
        $(#[doc = $line] pub const $constant: &str = $name;)*

        #[cfg(test)]
        const ALL: &[&str] = &[$($name),*];
    };
}

names! {
    CLUSTER_ID = "ClusterId", "First part of a job's id.";
    PROC_ID = "ProcId", "Second part of a job's id.";
    JOB_UNIVERSE = "JobUniverse", "Number of a [`super::Universe`].";
    JOB_STATUS = "JobStatus", "Number of a [`super::JobStatus`].";
    JOB_STATE = "JobState", "`Running`, `Suspended`, `Exited` and so on, as starters tell it.";
    OWNER = "Owner", "The user's name at the access point.";
    USER = "User", "The same with its domain.";
    OS_USER = "OsUser", "The account on the execution point.";
    CMD = "Cmd", "The program to run.";
    ARGUMENTS_V1 = "Args", "Arguments in the language V1.";
    ARGUMENTS_V2 = "Arguments", "Arguments in the language V2.";
    ENVIRONMENT_V1 = "Env", "Environment in the language V1.";
    ENVIRONMENT_V2 = "Environment", "Environment in the language V2.";
    ENVIRONMENT_V1_DELIMITER = "EnvDelim", "What separates entries of `Env`.";
    IWD = "Iwd", "The directory in which the job begins.";
    INPUT = "In", "The file it reads.";
    OUTPUT = "Out", "The file its standard output goes to.";
    ERROR = "Err", "The file its standard error goes to.";
    KILL_SIG = "KillSig", "Signal of a soft kill, by name or number.";
    REMOVE_KILL_SIG = "RemoveKillSig", "The same when it is removed.";
    HOLD_KILL_SIG = "HoldKillSig", "The same when it is held.";
    REQUEST_CPUS = "RequestCpus", "Processors asked for.";
    REQUEST_MEMORY = "RequestMemory", "Memory asked for, in MiB.";
    REQUEST_DISK = "RequestDisk", "Disk asked for, in KiB.";
    VACATE_REASON = "VacateReason", "Why it was sent back, in words.";
    VACATE_REASON_CODE = "VacateReasonCode", "Number of a [`super::HoldCode`] from 1000 on.";
    VACATE_REASON_SUBCODE = "VacateReasonSubCode", "Further number that depends on the code.";
    JOB_CORE_DUMPED = "JobCoreDumped", "Whether it left a core file.";
    MACHINE = "Machine", "Name of the host.";
    CPUS = "Cpus", "Processors of a slot.";
    MEMORY = "Memory", "Memory of a slot, in MiB.";
    DISK = "Disk", "Disk of a slot, in KiB.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<_> = super::ALL.iter().map(|name| name.to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), super::ALL.len());
    }
}
