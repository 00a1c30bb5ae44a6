//! Parameters that earlier versions read and 25.14 no longer reads: names in the parameter tables of earlier versions
//! that do not occur in the source of 25.14.

use std::sync::LazyLock;

use htc_base::text::caseless;
use rustc_hash::FxHashMap;

/// Names of removed parameters, with a star for any text, and their replacements.
const REMOVED_PARAMETERS: &[(&str, &str)] = &[
    ("HOSTALLOW_OWNER*", OWNER_ADVICE),
    ("HOSTDENY_OWNER*", OWNER_ADVICE),
    ("HOSTALLOW_*", "write ALLOW_ instead of HOSTALLOW_"),
    ("HOSTDENY_*", "write DENY_ instead of HOSTDENY_"),
    ("ALLOW_OWNER*", OWNER_ADVICE),
    ("DENY_OWNER*", OWNER_ADVICE),
    (
        "STARTD_CRON_JOBS",
        "list the jobs in STARTD_CRON_JOBLIST, and set STARTD_CRON_<JOB>_EXECUTABLE for each",
    ),
    (
        "SCHEDD_CRON_JOBS",
        "list the jobs in SCHEDD_CRON_JOBLIST, and set SCHEDD_CRON_<JOB>_EXECUTABLE for each",
    ),
    ("NUM_VIRTUAL_MACHINES*", SLOTS_ADVICE),
    ("VIRTUAL_MACHINE*", SLOTS_ADVICE),
    ("MAX_VIRTUAL_MACHINE_TYPES", SLOTS_ADVICE),
    ("ALLOW_VM_CRUFT", SLOTS_ADVICE),
    ("GSI_AUTH*", GSI_ADVICE),
    ("GSI_DAEMON_*", GSI_ADVICE),
    ("GSI_SKIP_HOST_CHECK*", GSI_ADVICE),
    ("GSS_ASSIST_GRIDMAP*", GSI_ADVICE),
    ("GRIDMAP", GSI_ADVICE),
    ("GLEXEC*", "remove it: glexec no longer starts jobs"),
    ("ALWAYS_USE_LOCAL_CKPT_SERVER", STANDARD_UNIVERSE_ADVICE),
    ("CHECKPOINT_PLATFORM", STANDARD_UNIVERSE_ADVICE),
    ("CKPT_*", STANDARD_UNIVERSE_ADVICE),
    ("COMPRESS_PERIODIC_CKPT", STANDARD_UNIVERSE_ADVICE),
    ("COMPRESS_VACATE_CKPT", STANDARD_UNIVERSE_ADVICE),
    ("IS_VALID_CHECKPOINT_PLATFORM", STANDARD_UNIVERSE_ADVICE),
    ("PERIODIC_MEMORY_SYNC", STANDARD_UNIVERSE_ADVICE),
    ("SHADOW_STANDARD", STANDARD_UNIVERSE_ADVICE),
    ("SLOW_CKPT_SPEED", STANDARD_UNIVERSE_ADVICE),
    ("STARTER_CHOOSES_CKPT_SERVER", STANDARD_UNIVERSE_ADVICE),
    ("STARTER_STANDARD", STANDARD_UNIVERSE_ADVICE),
    ("USE_CKPT_SERVER", STANDARD_UNIVERSE_ADVICE),
    ("ENABLE_SOAP*", SOAP_ADVICE),
    ("ENABLE_WEB_SERVER", SOAP_ADVICE),
    ("SOAP_*", SOAP_ADVICE),
    ("WEB_ROOT_DIR", SOAP_ADVICE),
    ("DATABASE_*_INTERVAL", QUILL_ADVICE),
    ("DBMSD*", QUILL_ADVICE),
    ("DBMSMANAGER*", QUILL_ADVICE),
    ("MASTER_SQLLOG", QUILL_ADVICE),
    ("QUILL*", QUILL_ADVICE),
    ("CREAM_GAHP*", GRID_ADVICE),
    ("ENABLE_GRID_MONITOR", GRID_ADVICE),
    ("GRID_MONITOR*", GRID_ADVICE),
    ("GRIDMANAGER_GLOBUS_*", GRID_ADVICE),
    ("GRIDMANAGER_MAX_JOBMANAGERS_PER_RESOURCE", GRID_ADVICE),
    ("GAHP_ARGS", GRID_ADVICE),
    ("GT2_GAHP", GRID_ADVICE),
    ("UNICORE_GAHP", GRID_ADVICE),
    ("CGROUP_SOFT_MEMORY_LIMIT_EXPR", "set CGROUP_MEMORY_LIMIT_POLICY"),
    ("CRED_STORE_DIR", NO_REPLACEMENT),
    ("COLLECTOR_REPEAT_STARTD_ADS", NO_REPLACEMENT),
    ("COLLECTOR_SOCKET_CACHE_SIZE", NO_REPLACEMENT),
    ("DAGMAN_ALLOW_LOG_ERROR", NO_REPLACEMENT),
    ("DAGMAN_PEGASUS_REPORT_*", NO_REPLACEMENT),
    ("ECRYPTFS_*", "remove it: ENCRYPT_EXECUTE_DIRECTORY now uses logical volumes"),
    ("EMAIL_NOTIFICATION_CC", NO_REPLACEMENT),
    ("ENABLE_ADDRESS_REWRITING", NO_REPLACEMENT),
    ("ENABLE_VERSIONED_OPSYS", NO_REPLACEMENT),
    ("ENCRYPT_EXECUTE_DIRECTORY_FILENAMES", "remove it: ENCRYPT_EXECUTE_DIRECTORY now uses logical volumes"),
    ("IGNORE_LEAF_OOM", NO_REPLACEMENT),
    ("JAVA_BENCHMARK_TIME", NO_REPLACEMENT),
    ("JOB_PROXY_OVERRIDE_FILE", NO_REPLACEMENT),
    ("LOCAL_ROOT_CONFIG_FILE", "set LOCAL_CONFIG_FILE"),
    ("PARALLEL_SHUTDOWN_POLICY", NO_REPLACEMENT),
    ("RESERVE_AFS_CACHE", NO_REPLACEMENT),
    ("SANDBOX_TRANSFER_METHOD", NO_REPLACEMENT),
    ("SEC_INVALIDATE_SESSIONS_VIA_TCP", NO_REPLACEMENT),
    ("SHADOW_ALLOW_UNSAFE_REMOTE_EXEC", NO_REPLACEMENT),
    ("SHARED_PORT_ADDRESS_REWRITING", NO_REPLACEMENT),
    ("STARTD_COMPUTE_AVAIL_STATS", NO_REPLACEMENT),
    ("STARTD_MAX_AVAIL_PERIOD_SAMPLES", NO_REPLACEMENT),
    ("STARTD_SENDS_ALIVES", NO_REPLACEMENT),
    ("STARTER_HANDLES_ALIVES", NO_REPLACEMENT),
    ("TRANSFERD", NO_REPLACEMENT),
    ("USE_AFS", NO_REPLACEMENT),
    ("VMWARE_BRIDGE_NETWORKING_TYPE", VMWARE_ADVICE),
    ("VMWARE_LOCAL_SETTINGS_FILE", VMWARE_ADVICE),
    ("VMWARE_NAT_NETWORKING_TYPE", VMWARE_ADVICE),
    ("VMWARE_NETWORKING_TYPE", VMWARE_ADVICE),
    ("VMWARE_PERL", VMWARE_ADVICE),
    ("VMWARE_SCRIPT", VMWARE_ADVICE),
    ("VMP_HOST_MACHINE", NO_REPLACEMENT),
    ("VMP_VM_LIST", NO_REPLACEMENT),
    ("XAUTHORITY_USERS", NO_REPLACEMENT),
];

const OWNER_ADVICE: &str = "write ALLOW_ADMINISTRATOR or DENY_ADMINISTRATOR: there is no level OWNER";
const SLOTS_ADVICE: &str =
    "write SLOT_TYPE_<n>, NUM_SLOTS_TYPE_<n> or MAX_SLOT_TYPES: virtual machines are called slots";
const GSI_ADVICE: &str =
    "remove it, and list other methods in SEC_DEFAULT_AUTHENTICATION_METHODS: GSI authentication was removed";
const STANDARD_UNIVERSE_ADVICE: &str = "remove it: the standard universe and its checkpoints were removed";
const SOAP_ADVICE: &str = "remove it: the web service was removed";
const QUILL_ADVICE: &str = "remove it: the job database (Quill) was removed";
const GRID_ADVICE: &str = "remove it: grids of this type were removed";
const VMWARE_ADVICE: &str = "remove it: virtual machines of VMware were removed";
const NO_REPLACEMENT: &str = "remove it: nothing replaces it";

/// Daemons that were removed, whose settings nothing reads (param_info.in, `$UPGRADE.DISCARD`). LEASEMANGER is misspelled
/// there.
const REMOVED_DAEMONS: [&str; 7] =
    ["LEASEMANAGER", "LEASEMANGER", "STORK", "QUILL", "DBMSD", "CKPT_SERVER", "TRANSFERD"];
const DAEMON_ADVICE: &str = "remove it: this daemon was removed";

/// True for the name of a removed daemon, and for those of its settings that every daemon has, such as `QUILL_LOG`.
fn is_setting_of_removed_daemon(name: &[u8]) -> bool {
    const ENDINGS: [&str; 12] = [
        "_ADDRESS_FILE",
        "_ARGS",
        "_DAEMON_AD_FILE",
        "_DEBUG",
        "_ENVIRONMENT",
        "_HOST",
        "_LOCK",
        "_LOG",
        "_LOG_BASE",
        "_PORT",
        "_LOG_ON_OPEN",
        "_BACKOFF_CEILING",
    ];
    let daemon_setting = ["MAX_NUM_", "MAX_", "TRUNC_", "MASTER_"]
        .iter()
        .find_map(|start| caseless::strip_prefix(name, start.as_bytes()))
        .unwrap_or(name);
    REMOVED_DAEMONS.iter().filter_map(|daemon| caseless::strip_prefix(daemon_setting, daemon.as_bytes())).any(
        |rest| {
            rest.is_empty() && daemon_setting.len() == name.len()
                || rest.starts_with(b".")
                || ENDINGS.iter().any(|ending| caseless::eq(ending.as_bytes(), rest))
        },
    )
}

/// Name or pattern of removed parameters, split at its star.
struct RemovedName {
    start: &'static [u8],
    /// Text after the star, or `None` if the name has no star.
    end: Option<&'static [u8]>,
    replacement: &'static str,
}

impl RemovedName {
    fn includes(&self, name: &[u8]) -> bool {
        match self.end {
            Some(end) => {
                name.len() >= self.start.len() + end.len()
                    && caseless::starts_with(name, self.start)
                    && caseless::ends_with(name, end)
            }
            None => caseless::eq(name, self.start),
        }
    }
}

/// Removed names by their first letter in upper case. The index saves time, because each name of a configuration is
/// looked up.
static NAMES_BY_LETTER: LazyLock<FxHashMap<u8, Vec<RemovedName>>> = LazyLock::new(|| {
    let mut names: FxHashMap<u8, Vec<RemovedName>> = FxHashMap::default();
    for (name, replacement) in REMOVED_PARAMETERS {
        let (start, end) = match name.split_once('*') {
            Some((start, end)) => (start, Some(end.as_bytes())),
            None => (*name, None),
        };
        let removed = RemovedName { start: start.as_bytes(), end, replacement };
        names.entry(name.as_bytes()[0].to_ascii_uppercase()).or_default().push(removed);
    }
    names
});

/// Returns the replacement for a removed parameter, or `None` for any other name.
pub(super) fn replacement_for(name: &[u8]) -> Option<&'static str> {
    let letter = name.first()?.to_ascii_uppercase();
    let mut removed = NAMES_BY_LETTER.get(&letter).into_iter().flatten();
    let found = removed.find(|removed| removed.includes(name)).map(|removed| removed.replacement);
    found.or_else(|| is_setting_of_removed_daemon(name).then_some(DAEMON_ADVICE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parameter_names::is_parameter;

    #[test]
    fn no_parameter_that_is_read_is_treated_as_removed() {
        for (removed, _) in REMOVED_PARAMETERS.iter().filter(|(removed, _)| !removed.contains('*')) {
            assert!(!is_parameter(removed.as_bytes()), "{removed}");
        }
        for (removed, _) in REMOVED_PARAMETERS {
            assert!(
                replacement_for(removed.replace('*', "x").to_lowercase().as_bytes()).is_some(),
                "{removed}"
            );
        }
        assert!(replacement_for(b"hostallow_read").is_some() && replacement_for(b"QUILL_NAME").is_some());
        assert!(replacement_for(b"DATABASE_PURGE_INTERVAL").is_some());
        for name in [
            "LeaseManager",
            "LeaseManager.PRUNE_INTERVAL",
            "MAX_LeaseManager_LOG",
            "STORK_LOG_BASE",
            "MAX_QUILL_LOG",
        ] {
            assert!(replacement_for(name.as_bytes()).is_some(), "{name}");
        }
        assert_eq!(replacement_for(b"HOSTALLOW_OWNER"), Some(OWNER_ADVICE));
        for name in ["GRIDMAPS", "DEFRAG_STATE_FILE", "MAX_STORK", "STORKS_LOG"] {
            assert_eq!(replacement_for(name.as_bytes()), None, "{name}");
        }
    }
}
