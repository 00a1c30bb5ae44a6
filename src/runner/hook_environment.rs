//! The environment of hooks: that of the daemon which calls them, with a few additions.
//!
//! Reference: `daemon_core.cpp` (Create_Process), `HookClientMgr.cpp`. Variables with addresses and keys of daemons
//! (`CONDOR_INHERIT`, `CONDOR_PARENT_ID`, `CONDOR_PROCD_ADDRESS`, `CONDOR_PRIVATE_*`) are not made up here: there are no
//! daemons to speak to. What the program itself was given is handed on like everything else, save the private ones
//! (quirk `hooks-spawned-as-daemons`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use bstr::BString;

use crate::quirks::{Quirk, Quirks};
use crate::text::environment::Environment;

/// Marks of the process families that a process belongs to; they come first, oldest first.
const MARKER: &[u8] = b"_CONDOR_ANCESTOR_";
/// What our own programs tell one another; never handed on.
const OURS: &[u8] = b"_HTC_";
/// Keys of daemons.
const PRIVATE: &[u8] = b"CONDOR_PRIVATE_";
/// The zone file, named so that the C library does not look for it at every call; daemons set it where it is unset.
const ZONE: (&[u8], &[u8]) = (b"TZ", b":/etc/localtime");

/// An environment in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookEnvironment {
    markers: Vec<BString>,
    /// Everything but the marks of process families.
    pub variables: Environment,
}

impl HookEnvironment {
    /// What every hook of a daemon gets that was itself started with `own`.
    pub fn of_daemon(own: impl IntoIterator<Item = (BString, BString)>, quirks: Quirks) -> Self {
        let mut made = HookEnvironment::default();
        made.variables.set(ZONE.0, ZONE.1);
        for (name, value) in own {
            if name.starts_with(MARKER) {
                made.markers.push([name.as_slice(), b"=", &value].concat().into());
            } else if !name.starts_with(OURS)
                && (!name.starts_with(PRIVATE) || quirks.has(Quirk::HooksSpawnedAsDaemons))
            {
                made.variables.set(name, value);
            }
        }
        made
    }

    /// The same out of the environment of this program, as [`crate::world::World::environment`] gives it.
    pub fn of_program(environment: Vec<(OsString, OsString)>, quirks: Quirks) -> Self {
        let bytes = |text: OsString| BString::from(text.into_vec());
        let own = environment.into_iter().map(|(name, value)| (bytes(name), bytes(value)));
        HookEnvironment::of_daemon(own, quirks)
    }

    /// Sets variables over those that are there: what the starter publishes of its job, `_CONDOR_CREDS` of the shadow, a
    /// cron job's ENV.
    #[must_use]
    pub fn with(mut self, additions: impl IntoIterator<Item = (BString, BString)>) -> Self {
        for (name, value) in additions {
            self.variables.set(name, value);
        }
        self
    }

    /// All entries `NAME=value` in the order the daemons pass them: marks, then by name.
    pub fn entries(&self) -> Vec<BString> {
        self.markers.iter().cloned().chain(self.variables.entries()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(quirks: Quirks) -> Vec<String> {
        let own = [
            ("USER", "root"),
            ("_HTC_STARTER_DIR", "/x"),
            ("CONDOR_PRIVATE_INHERIT", "key"),
            ("_CONDOR_ANCESTOR_7", "8:9:1"),
        ];
        let environment = HookEnvironment::of_daemon(own.map(|(n, v)| (n.into(), v.into())), quirks)
            .with([("BATCH_SYSTEM".into(), "HTCondor".into()), ("TZ".into(), "UTC".into())]);
        environment.entries().iter().map(|entry| entry.to_string()).collect()
    }

    #[test]
    fn markers_come_first_and_secrets_do_not_come_at_all() {
        assert_eq!(
            made(Quirks::None),
            ["_CONDOR_ANCESTOR_7=8:9:1", "BATCH_SYSTEM=HTCondor", "TZ=UTC", "USER=root"]
        );
        assert!(made(Quirks::Reference).contains(&"CONDOR_PRIVATE_INHERIT=key".to_owned()));
    }
}
