//! Attribute names that several crates use, so that each name is spelled in one place.
//!
//! A name that only one file uses is defined in that file.

/// Defines a constant for each name.
macro_rules! names {
    ($($constant:ident = $name:literal, $line:literal;)*) => {
        $(#[doc = $line] pub const $constant: &str = $name;)*

        #[cfg(test)]
        const ALL: &[&str] = &[$($name),*];
    };
}

names! {
    CLUSTER_ID = "ClusterId", "Cluster number, the first part of a job's id.";
    PROC_ID = "ProcId", "Process number within the cluster, the second part of a job's id.";
    JOB_UNIVERSE = "JobUniverse", "Number of a [`super::Universe`].";
    JOB_STATUS = "JobStatus", "Number of a [`super::JobStatus`].";
    JOB_STATE = "JobState", "State of the job as its starter reports it: `Running`, `Suspended`, `Exited`, ...";
    OWNER = "Owner", "Name of the job's owner, without a domain.";
    USER = "User", "Name of the job's owner, with the domain.";
    OS_USER = "OsUser", "Account that runs the job on the execution point.";
    CMD = "Cmd", "Program that the job runs.";
    ARGUMENTS_V1 = "Args", "Arguments in V1 syntax.";
    ARGUMENTS_V2 = "Arguments", "Arguments in V2 syntax.";
    ENVIRONMENT_V1 = "Env", "Environment in V1 syntax.";
    ENVIRONMENT_V2 = "Environment", "Environment in V2 syntax.";
    ENVIRONMENT_V1_DELIMITER = "EnvDelim", "Separator of the entries of `Env`.";
    IWD = "Iwd", "Initial working directory of the job.";
    INPUT = "In", "File for the standard input of the job.";
    OUTPUT = "Out", "File for the standard output of the job.";
    ERROR = "Err", "File for the standard error of the job.";
    KILL_SIG = "KillSig", "Signal of a soft kill, by name or number.";
    REMOVE_KILL_SIG = "RemoveKillSig", "Signal of a soft kill when the job is removed.";
    HOLD_KILL_SIG = "HoldKillSig", "Signal of a soft kill when the job is held.";
    REQUEST_CPUS = "RequestCpus", "Requested number of processors.";
    REQUEST_MEMORY = "RequestMemory", "Requested memory, in MiB.";
    REQUEST_DISK = "RequestDisk", "Requested disk space, in KiB.";
    VACATE_REASON = "VacateReason", "Reason why the job was vacated.";
    VACATE_REASON_CODE = "VacateReasonCode", "Code of the vacate reason: a [`super::HoldCode`] from 1000 on.";
    VACATE_REASON_SUBCODE = "VacateReasonSubCode", "Subcode of the vacate reason; its meaning depends on the code.";
    JOB_CORE_DUMPED = "JobCoreDumped", "True if the job left a core file.";
    MACHINE = "Machine", "Name of the host.";
    CPUS = "Cpus", "Processors of a slot.";
    MEMORY = "Memory", "Memory of a slot, in MiB.";
    DISK = "Disk", "Disk of a slot, in KiB.";
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_name_occurs_twice() {
        let mut names: Vec<_> = super::ALL.iter().map(|name| name.to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), super::ALL.len());
    }
}
