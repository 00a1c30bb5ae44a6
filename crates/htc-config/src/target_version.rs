//! Versions of HTCondor that `lint --for` checks, as differences from 25.14.
//!
//! Names come from [`parameter_versions`]; changed defaults compare `param_info.in` at the tags v24.0.23, v25.0.13 and
//! at 25.14.0.

use std::fmt;

use crate::parameter_versions::{self, Release};
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

    /// Returns the version of a text such as `24.0` or `24.0.17`, or `None` if it is not in the series of
    /// a supported version.
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

    fn release(self) -> Release {
        match self {
            TargetVersion::V24_0 => Release { major: 24, minor: 0 },
            TargetVersion::V25_0 => Release { major: 25, minor: 0 },
            TargetVersion::V25_14 => Release { major: 25, minor: 14 },
        }
    }

    /// Returns true if a later version than this one introduced a parameter.
    pub fn lacks_parameter(self, name: &[u8]) -> bool {
        let versions = parameter_versions::find(name);
        versions.is_some_and(|versions| versions.since.is_some_and(|since| since > self.release()))
    }

    /// Returns true if this version reads a parameter that 25.14 no longer reads.
    pub fn still_reads(self, name: &[u8]) -> bool {
        let versions = parameter_versions::find(name);
        versions.is_some_and(|versions| versions.until.is_some_and(|until| until >= self.release()))
    }

    /// Returns the default of a parameter in this version if it differs from that of 25.14.
    pub fn changed_default(self, name: &[u8]) -> Option<&'static str> {
        let name = unqualified_name(name);
        let row = CHANGED_DEFAULTS.iter().find(|row| caseless::eq(row.0.as_bytes(), name))?;
        match self {
            TargetVersion::V24_0 => row.1,
            TargetVersion::V25_0 => row.2,
            TargetVersion::V25_14 => None,
        }
    }

    /// Returns the words of a parameter that this version does not accept although 25.14 does.
    pub fn rejected_words(self, name: &[u8]) -> &'static [&'static str] {
        let is_tristate = caseless::eq(unqualified_name(name), b"LVM_HIDE_MOUNT");
        if self == TargetVersion::V24_0 && is_tristate { &["auto"] } else { &[] }
    }

    /// Returns true if routes in `JOB_ROUTER_ENTRIES` still work, with JOB_ROUTER_USE_DEPRECATED_ROUTER_ENTRIES.
    pub fn reads_router_entries(self) -> bool {
        self == TargetVersion::V24_0
    }
}

impl fmt::Display for TargetVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.series())
    }
}

/// Name of a parameter and its defaults in 24.0 and 25.0; `None` if a default is the same as in 25.14.
type ChangedDefault = (&'static str, Option<&'static str>, Option<&'static str>);

/// Parameters whose defaults changed.
const CHANGED_DEFAULTS: &[ChangedDefault] = &[
    ("FILETRANSFER_PLUGINS", Some(OLD_PLUGINS), Some(OLD_PLUGINS)),
    ("GRIDMANAGER_LOCK", Some("$(LOCK)/GridmanagerLock.$(USERNAME)"), None),
    ("GRIDMANAGER_LOG", Some("$(LOG)/GridmanagerLog.$(USERNAME)"), None),
    ("HISTORY_HELPER_MAX_HISTORY", Some("50000"), None),
    ("JOB_DEFAULT_REQUESTDISK", Some("DiskUsage"), Some("DiskUsage")),
    ("JOB_DEFAULT_REQUESTMEMORY", Some(OLD_REQUEST_MEMORY), Some(OLD_REQUEST_MEMORY)),
    ("LVM_HIDE_MOUNT", Some("false"), None),
    (
        "MODIFY_REQUEST_EXPR_REQUESTDISK",
        Some("quantize(RequestDisk,{1024})"),
        Some("quantize(RequestDisk,{Target.DiskQuantum?:1024})"),
    ),
    ("SEC_CLAIMTOBE_INCLUDE_DOMAIN", Some("false"), None),
    ("STARTER_NESTED_SCRATCH", None, Some("false")),
    ("SUBMIT_SEND_RESCHEDULE", Some("true"), Some("true")),
    ("SYSTEM_IMMUTABLE_JOB_ATTRS", Some("Owner ClusterId JobUniverse ProcId MyType TargetType User"), None),
    (
        "SYSTEM_SECURE_JOB_ATTRS",
        Some("without AuthTokenProject and OsUser"),
        Some("without AuthTokenProject"),
    ),
    ("SYSTEM_STARTD_JOB_ATTRS", Some("without StdoutMtime and StderrMtime"), None),
    ("SYSTEM_VALID_SPOOL_FILES", Some("without TokensDatabase"), Some("without TokensDatabase")),
    (
        "TRANSFER_JOB_ATTRS",
        Some("ClusterID, ProcID, NumShadowStarts"),
        Some("ClusterID, ProcID, NumShadowStarts"),
    ),
];

const OLD_PLUGINS: &str = "without $(STASH_PLUGIN)";
const OLD_REQUEST_MEMORY: &str = "ifthenelse(MemoryUsage =!= UNDEFINED,MemoryUsage,(ImageSize+1023)/1024)";

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
    fn later_parameters_are_missing_and_removed_ones_are_still_read() {
        assert!(TargetVersion::V24_0.lacks_parameter(b"librarian_database"));
        assert!(TargetVersion::V24_0.lacks_parameter(b"SCHEDD.LIBRARIAN_DATABASE"));
        assert!(TargetVersion::V24_0.lacks_parameter(b"SYSTEM_MAX_RELEASES"));
        assert!(!TargetVersion::V25_0.lacks_parameter(b"SYSTEM_MAX_RELEASES"));
        assert!(
            !TargetVersion::V24_0.lacks_parameter(b"START")
                && !TargetVersion::V25_14.lacks_parameter(b"LIBRARIAN_DATABASE")
        );
        assert!(
            TargetVersion::V24_0.still_reads(b"CREDD_PORT")
                && !TargetVersion::V25_0.still_reads(b"CREDD_PORT")
        );
        assert!(TargetVersion::V25_0.still_reads(b"NAMED_CHROOT"));
        let default = |version: TargetVersion, name: &str| version.changed_default(name.as_bytes());
        assert_eq!(default(TargetVersion::V24_0, "history_helper_max_history"), Some("50000"));
        assert_eq!(default(TargetVersion::V25_0, "HISTORY_HELPER_MAX_HISTORY"), None);
        assert_eq!(default(TargetVersion::V25_0, "SCHEDD.SUBMIT_SEND_RESCHEDULE"), Some("true"));
        assert_eq!(default(TargetVersion::V25_14, "SUBMIT_SEND_RESCHEDULE"), None);
        assert_eq!(default(TargetVersion::V24_0, "START"), None);
        assert!(CHANGED_DEFAULTS.iter().all(|row| crate::defaults::find(row.0.as_bytes()).is_some()));
    }
}
