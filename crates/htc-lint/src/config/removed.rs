//! Parameters that earlier versions read and 25.14 reads no more: names of its predecessors' tables that stand nowhere
//! in its source.

use htc_base::text::caseless;

/// Their names, those with a star as beginnings, and what there is instead.
const REMOVED: &[(&str, &str)] = &[
    ("HOSTALLOW_*", "write ALLOW_ in place of HOSTALLOW_"),
    ("HOSTDENY_*", "write DENY_ in place of HOSTDENY_"),
    ("ALLOW_OWNER*", OWNER),
    ("DENY_OWNER*", OWNER),
    (
        "STARTD_CRON_JOBS",
        "list the jobs in STARTD_CRON_JOBLIST, and set STARTD_CRON_<JOB>_EXECUTABLE for each",
    ),
    (
        "SCHEDD_CRON_JOBS",
        "list the jobs in SCHEDD_CRON_JOBLIST, and set SCHEDD_CRON_<JOB>_EXECUTABLE for each",
    ),
    ("NUM_VIRTUAL_MACHINES*", SLOTS),
    ("VIRTUAL_MACHINE*", SLOTS),
    ("MAX_VIRTUAL_MACHINE_TYPES", SLOTS),
    ("ALLOW_VM_CRUFT", SLOTS),
    ("GSI_AUTH*", GSI),
    ("GSI_DAEMON_*", GSI),
    ("GSI_SKIP_HOST_CHECK*", GSI),
    ("GSS_ASSIST_GRIDMAP*", GSI),
    ("GRIDMAP", GSI),
    ("GLEXEC*", "jobs are no longer started by glexec; it can go"),
    ("ALWAYS_USE_LOCAL_CKPT_SERVER", STANDARD),
    ("CHECKPOINT_PLATFORM", STANDARD),
    ("CKPT_*", STANDARD),
    ("COMPRESS_PERIODIC_CKPT", STANDARD),
    ("COMPRESS_VACATE_CKPT", STANDARD),
    ("IS_VALID_CHECKPOINT_PLATFORM", STANDARD),
    ("PERIODIC_MEMORY_SYNC", STANDARD),
    ("SHADOW_STANDARD", STANDARD),
    ("SLOW_CKPT_SPEED", STANDARD),
    ("STARTER_CHOOSES_CKPT_SERVER", STANDARD),
    ("STARTER_STANDARD", STANDARD),
    ("USE_CKPT_SERVER", STANDARD),
    ("ENABLE_SOAP*", SOAP),
    ("ENABLE_WEB_SERVER", SOAP),
    ("SOAP_*", SOAP),
    ("WEB_ROOT_DIR", SOAP),
    ("DATABASE_*_INTERVAL", QUILL),
    ("DBMSD*", QUILL),
    ("DBMSMANAGER*", QUILL),
    ("MASTER_SQLLOG", QUILL),
    ("QUILL*", QUILL),
    ("CREAM_GAHP*", GRID),
    ("ENABLE_GRID_MONITOR", GRID),
    ("GRID_MONITOR*", GRID),
    ("GRIDMANAGER_GLOBUS_*", GRID),
    ("GRIDMANAGER_MAX_JOBMANAGERS_PER_RESOURCE", GRID),
    ("GAHP_ARGS", GRID),
    ("GT2_GAHP", GRID),
    ("UNICORE_GAHP", GRID),
    ("CRED_STORE_DIR", GONE),
    ("COLLECTOR_REPEAT_STARTD_ADS", GONE),
    ("COLLECTOR_SOCKET_CACHE_SIZE", GONE),
    ("DAGMAN_ALLOW_LOG_ERROR", GONE),
    ("DAGMAN_PEGASUS_REPORT_*", GONE),
    ("ECRYPTFS_*", "ENCRYPT_EXECUTE_DIRECTORY works by logical volumes now"),
    ("EMAIL_NOTIFICATION_CC", GONE),
    ("ENABLE_ADDRESS_REWRITING", GONE),
    ("ENABLE_VERSIONED_OPSYS", GONE),
    ("ENCRYPT_EXECUTE_DIRECTORY_FILENAMES", "ENCRYPT_EXECUTE_DIRECTORY works by logical volumes now"),
    ("IGNORE_LEAF_OOM", GONE),
    ("JAVA_BENCHMARK_TIME", GONE),
    ("JOB_PROXY_OVERRIDE_FILE", GONE),
    ("LOCAL_ROOT_CONFIG_FILE", "set LOCAL_CONFIG_FILE"),
    ("PARALLEL_SHUTDOWN_POLICY", GONE),
    ("RESERVE_AFS_CACHE", GONE),
    ("SANDBOX_TRANSFER_METHOD", GONE),
    ("SEC_INVALIDATE_SESSIONS_VIA_TCP", GONE),
    ("SHADOW_ALLOW_UNSAFE_REMOTE_EXEC", GONE),
    ("SHARED_PORT_ADDRESS_REWRITING", GONE),
    ("STARTD_COMPUTE_AVAIL_STATS", GONE),
    ("STARTD_MAX_AVAIL_PERIOD_SAMPLES", GONE),
    ("STARTD_SENDS_ALIVES", GONE),
    ("STARTER_HANDLES_ALIVES", GONE),
    ("TRANSFERD", GONE),
    ("USE_AFS", GONE),
    ("VMP_HOST_MACHINE", GONE),
    ("VMP_VM_LIST", GONE),
    ("XAUTHORITY_USERS", GONE),
];

const OWNER: &str = "there is no permission level OWNER; ADMINISTRATOR is the nearest";
const SLOTS: &str = "virtual machines are called slots: SLOT_TYPE_<n>, NUM_SLOTS_TYPE_<n>, MAX_SLOT_TYPES";
const GSI: &str = "GSI authentication is gone; see SEC_DEFAULT_AUTHENTICATION_METHODS for what there is";
const STANDARD: &str = "the standard universe and its checkpoints are gone";
const SOAP: &str = "the web service is gone";
const QUILL: &str = "the database of jobs (Quill) is gone";
const GRID: &str = "grids of this kind are gone";
const GONE: &str = "there is nothing in its place";

/// What there is in place of a parameter that was removed; `None` for every other name.
pub(super) fn instead_of(name: &[u8]) -> Option<&'static str> {
    let is_meant = |removed: &str| match removed.split_once('*') {
        Some((start, end)) => {
            caseless::starts_with(name, start.as_bytes())
                && name.len() >= start.len() + end.len()
                && caseless::ends_with(name, end.as_bytes())
        }
        None => caseless::eq(name, removed.as_bytes()),
    };
    REMOVED.iter().find(|(removed, _)| is_meant(removed)).map(|&(_, instead)| instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parameters::is_parameter;

    #[test]
    fn nothing_that_is_read_counts_as_removed() {
        for (removed, _) in REMOVED.iter().filter(|(removed, _)| !removed.contains('*')) {
            assert!(!is_parameter(removed.as_bytes()), "{removed}");
        }
        assert!(instead_of(b"hostallow_read").is_some() && instead_of(b"QUILL_NAME").is_some());
        assert!(instead_of(b"DATABASE_PURGE_INTERVAL").is_some());
        assert_eq!(instead_of(b"GRIDMAPS"), None);
    }
}
