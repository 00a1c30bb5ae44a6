//! Versions of HTCondor that `lint --for` checks, as differences from 25.14.
//!
//! The tables compare `param_info.in` at the tags v24.0.23, v25.0.13 and at 25.14.0. A name that an older version reads
//! without a row in its table (`param("NAME")` in its source) is not listed as introduced later.

use std::fmt;

use htc_base::text::{caseless, unqualified_name};

/// Version of HTCondor for which a configuration is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetVersion {
    /// 24.0, the long-term support series.
    V24_0,
    /// 25.0, the long-term support series.
    V25_0,
    /// 25.14, whose behaviour these programs reproduce.
    #[default]
    V25_14,
}

impl TargetVersion {
    /// All versions, oldest first.
    pub const ALL: [TargetVersion; 3] = [TargetVersion::V24_0, TargetVersion::V25_0, TargetVersion::V25_14];

    /// Returns the version of a text such as `24.0` or `24.0.17`, or `None` if it is not one of these series.
    pub fn from_text(text: &str) -> Option<TargetVersion> {
        let mut parts = text.trim_start_matches('v').split('.');
        let series = [parts.next()?, parts.next()?].join(".");
        let patch = parts.next().map_or(Some(0), |patch| patch.parse::<u32>().ok());
        let version = TargetVersion::ALL.into_iter().find(|version| version.series() == series)?;
        (patch.is_some() && parts.next().is_none()).then_some(version)
    }

    /// Returns the first two numbers of the version.
    pub fn series(self) -> &'static str {
        match self {
            TargetVersion::V24_0 => "24.0",
            TargetVersion::V25_0 => "25.0",
            TargetVersion::V25_14 => "25.14",
        }
    }

    /// True if a later version than this one introduced a parameter.
    pub fn lacks(self, name: &[u8]) -> bool {
        let is_in = |names: &[&str]| is_listed(names, name);
        match self {
            TargetVersion::V24_0 => is_in(INTRODUCED_AFTER_25_0) || is_in(INTRODUCED_AFTER_24_0),
            TargetVersion::V25_0 => is_in(INTRODUCED_AFTER_25_0),
            TargetVersion::V25_14 => false,
        }
    }

    /// True if this version reads a parameter that 25.14 no longer reads.
    pub fn still_reads(self, name: &[u8]) -> bool {
        let is_in = |names: &[&str]| is_listed(names, name);
        match self {
            TargetVersion::V24_0 => is_in(DROPPED_AFTER_25_0) || is_in(DROPPED_AFTER_24_0),
            TargetVersion::V25_0 => is_in(DROPPED_AFTER_25_0),
            TargetVersion::V25_14 => false,
        }
    }

    /// True if routes in `JOB_ROUTER_ENTRIES` still work, with JOB_ROUTER_USE_DEPRECATED_ROUTER_ENTRIES.
    pub fn reads_router_entries(self) -> bool {
        self == TargetVersion::V24_0
    }
}

impl fmt::Display for TargetVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.series())
    }
}

fn is_listed(names: &[&str], name: &[u8]) -> bool {
    let name = unqualified_name(name);
    names.iter().any(|listed| caseless::eq(listed.as_bytes(), name))
}

/// Parameters of 25.14 that neither 24.0 nor 25.0 reads.
const INTRODUCED_AFTER_25_0: &[&str] = &[
    "ALLOW_COMMON_FILES_ON_LVS",
    "AUTO_USE_FEATURE_PELICANRETRYPOLICY",
    "CATALOG_SPACE",
    "CCB_CLIENT_STREAMING",
    "CCB_OUTBOUND_NEXT_HOP",
    "CCB_OUTBOUND_PROXY",
    "CCB_OUTBOUND_TARGET_ALLOWLIST",
    "CCB_OUTBOUND_TARGET_DENYLIST",
    "CCB_OUTBOUND_TTL",
    "CCB_SERVER_MAX_STREAMING_HANDSHAKES",
    "CCB_SERVER_MAX_STREAMING_SESSIONS",
    "CCB_SERVER_STREAMING",
    "CCB_SERVER_STREAMING_HANDSHAKE_TIMEOUT",
    "CCB_TUNNEL_REGISTRATION_TIMEOUT",
    "CHECK_REACTIVATE_AFTER_CHECKPOINT",
    "CONTAINER_IMAGES_COMMON_BY_DEFAULT",
    "CONTAINER_REGEX_COMMON_BY_DEFAULT",
    "CREDMON_ALLOW_SPECIAL_CHAR_NAMES",
    "DOCKER_LOG_DRIVER_NAME",
    "FORCE_NEGOTIATOR_SLOT_WEIGHT",
    "KEEP_DATA_CLAIM_IDLE",
    "LIBRARIAN_DATABASE",
    "LIBRARIAN_DATABASE_BUSY_TIMEOUT_MS",
    "LIBRARIAN_DEBUG",
    "LIBRARIAN_GC_BACKOFF_SECONDS",
    "LIBRARIAN_HIGH_WATER_MARK",
    "LIBRARIAN_LOG",
    "LIBRARIAN_LOW_WATER_MARK",
    "LIBRARIAN_MAX_DATABASE_SIZE",
    "LIBRARIAN_MAX_JOBS_CACHED",
    "LIBRARIAN_MAX_UPDATES_PER_CYCLE",
    "LIBRARIAN_STATUS_RETENTION_SECONDS",
    "LIBRARIAN_UPDATE_INTERVAL",
    "LVM_THICK_LV_MARGIN",
    "MAX_CONCURRENT_UPLOADS_PER_USER",
    "MAX_LIBRARIAN_LOG",
    "OUTBOUND_CCB_ADDRESS",
    "PARENT_CHECK_FIRST_INTERVAL",
    "PARENT_CHECK_INTERVAL",
    "PLACEMENTD",
    "PLACEMENTD_AUTHORIZATIONS_MAPFILE",
    "PLACEMENTD_LOG",
    "PLACEMENTD_MAPFILE",
    "REMOVE_SIGNIFICANT_ATTRIBUTES_REGEX",
    "SCHEDD_NOW_JOB_VACATE_TIMEOUT",
    "SCHEDULER_UNIVERSE_COOL_DOWN_DURATION",
    "SEC_ACCEPT_CAPABILITY_TOKENS",
    "SEC_USE_LOW_DATA_MODE",
    "SEC_USE_TOKENS_DATABASE",
    "SINGULARITY_ADD_ROCM_FLAG",
    "SINGULARITY_ALLOWED_JOB_ENV_VARS",
    "STARTD_REBOOT_COMMAND",
    "STARTER_DISABLE_USER_SUPPLIED_TRANSFER_PLUGINS",
    "STARTER_FIRST_CHILDALIVE_DELAY",
    "STASH_PLUGIN",
    "SUM_OF_CATALOGS",
    "TOKENS_DATABASE",
    "USE_OUTBOUND_CCB",
    "USING_LIBRARIAN",
];

/// Parameters of 25.0 that 24.0 does not read.
const INTRODUCED_AFTER_24_0: &[&str] = &[
    "BROKEN_SLOT_CONTEXT_ATTRS",
    "CGROUP_LOW_MEMORY_LIMIT_EXPR",
    "CONTINUE_TO_ADVERTISE_BROKEN_DYNAMIC_SLOTS",
    "DOCKER_PAT_PRODUCER",
    "DOCKER_TRUST_LOCAL_IMAGES",
    "LIBRARIAN",
    "LOCAL_UNIVERSE_CGROUP_ENFORCEMENT",
    "STARTD_LEFTOVER_PROCS_BREAK_SLOTS",
    "STARTER_DIAGNOSTIC_SEND_EP_LOGS",
    "STARTER_NESTED_SCRATCH",
    "STARTER_SETS_HOME_ENV",
    "SYSTEM_MAX_RELEASES",
    "TRUSTED_VAULT_HOSTS",
];

/// Parameters of 24.0 and 25.0 that 25.14 does not read.
const DROPPED_AFTER_25_0: &[&str] = &[
    "DAGMAN_COPY_TO_SPOOL",
    "NAMED_CHROOT",
    "SEC_INVALIDATE_SESSIONS_VIA_TCP",
    "STARTD_SENDS_ALIVES",
    "STARTER_HANDLES_ALIVES",
];

/// Parameters of 24.0 that 25.0 does not read.
const DROPPED_AFTER_24_0: &[&str] = &[
    "CREDD_ARGS",
    "CREDD_PORT",
    "ENABLE_STDOUT_TESTING",
    "GRIDMANAGER_PER_JOB",
    "JOB_ROUTER_USE_DEPRECATED_ROUTER_ENTRIES",
    "SEC_SCITOKENS_ALLOW_EXTRA_SLASH",
    "JOB_ROUTER_ENTRIES_REFRESH",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_named_by_their_series() {
        for (text, version) in [
            ("24.0", Some(TargetVersion::V24_0)),
            ("v24.0.17", Some(TargetVersion::V24_0)),
            ("25.0.x", None),
            ("25.14.1", Some(TargetVersion::V25_14)),
            ("24", None),
            ("23.0", None),
            ("24.0.1.2", None),
        ] {
            assert_eq!(TargetVersion::from_text(text), version, "{text}");
        }
    }

    #[test]
    fn later_parameters_are_lacking_and_dropped_ones_still_read() {
        assert!(TargetVersion::V24_0.lacks(b"librarian_database"));
        assert!(TargetVersion::V24_0.lacks(b"SCHEDD.LIBRARIAN_DATABASE"));
        assert!(TargetVersion::V24_0.lacks(b"SYSTEM_MAX_RELEASES"));
        assert!(!TargetVersion::V25_0.lacks(b"SYSTEM_MAX_RELEASES"));
        assert!(!TargetVersion::V24_0.lacks(b"START") && !TargetVersion::V25_14.lacks(b"LIBRARIAN_DATABASE"));
        assert!(
            TargetVersion::V24_0.still_reads(b"CREDD_PORT")
                && !TargetVersion::V25_0.still_reads(b"CREDD_PORT")
        );
        assert!(TargetVersion::V25_0.still_reads(b"NAMED_CHROOT"));
    }
}
