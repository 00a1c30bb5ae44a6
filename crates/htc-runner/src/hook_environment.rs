//! Environment that a daemon passes to the programs it starts: hooks, cron jobs, starters, jobs.
//!
//! Only this module determines the variables of a daemon. They are those of this program or, for a test of a single
//! hook, those that an ordinary system gives its daemons. In both cases they contain the location of the
//! configuration that this program has read, so that `condor_config_val` in a hook prints the values that this
//! program uses. The option `-config FILE` of a daemon sets CONDOR_CONFIG (`daemon_core_main.cpp`, dc_main), and
//! `--config-file` has the same effect here; `_CONDOR_NAME` overrides all files, like `--param`.
//!
//! Reference: `daemon_core.cpp` (Create_Process), `HookClientMgr.cpp`. Variables with addresses and keys of daemons
//! (`CONDOR_INHERIT`, `CONDOR_PARENT_ID`, `CONDOR_PROCD_ADDRESS`, `CONDOR_PRIVATE_*`) are not created here, because
//! there are no daemons to connect to. If this program itself has such variables, they are passed on like any other
//! variable, except the private ones (quirk `hooks-spawned-as-daemons`).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::spawn_mode::SpawnMode;
use htc_base::quirks::QuirkMode;
use htc_base::text::caseless;
use htc_base::text::environment::Environment;
use htc_base::world::{Account, World};
use htc_config::{CommandPolicy, LoadOptions};

/// Prefix of the variables that mark the process families of a process. They precede all other variables, oldest
/// first.
const FAMILY_MARKER_PREFIX: &[u8] = b"_CONDOR_ANCESTOR_";
/// Prefix of variables for communication between the programs of this project, which are not passed to hooks or jobs.
const INTERNAL_PREFIX: &[u8] = b"_HTC_";
/// Prefix of variables that hold private keys of daemons.
const PRIVATE_KEY_PREFIX: &[u8] = b"CONDOR_PRIVATE_";
/// Variable with the path of the configuration file.
const CONFIG_FILE_VARIABLE: &[u8] = b"CONDOR_CONFIG";
/// Prefix of variables that set parameters.
const PARAMETER_PREFIX: &[u8] = b"_CONDOR_";
/// Name and value of TZ, which daemons set if it is unset, so that the C library need not search for the zone file at
/// every call.
const DEFAULT_ZONE: (&[u8], &[u8]) = (b"TZ", b":/etc/localtime");
/// PATH of a daemon that was started by an ordinary system.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Options of the command line that select the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSelection {
    /// Path from `--config-file`, or `None` to use CONDOR_CONFIG.
    pub file: Option<PathBuf>,
    /// Parameters from `--param`, which override all files.
    pub parameters: Vec<(BString, BString)>,
    /// True with `--no-env`: `_CONDOR_*` variables are ignored.
    pub no_env: bool,
}

impl ConfigSelection {
    /// Returns the options for loading the configuration. `commands` decides whether commands in it are run.
    pub fn load_options(&self, commands: CommandPolicy) -> LoadOptions {
        let overlay = self.parameters.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        LoadOptions {
            file: self.file.clone(),
            absolute_root: true,
            environment: !self.no_env,
            overlay: overlay.collect(),
            commands,
            ..LoadOptions::default()
        }
    }
}

/// Variables with which a daemon was started, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonEnvironment(Vec<(BString, BString)>);

impl DaemonEnvironment {
    /// Returns the variables of this program.
    pub fn from_program(world: &dyn World, choice: &ConfigSelection) -> Self {
        let mut made = DaemonEnvironment(own_variables(world).collect());
        if choice.no_env {
            made.0.retain(|(name, _)| !is_parameter_variable(name));
        }
        made.with_configuration(world, choice)
    }

    /// Returns the variables of a daemon that was started by the system's master. Of the user's environment, only the
    /// location of the configuration is kept. `account` is the account of the daemons.
    pub fn from_system(account: Option<&Account>, world: &dyn World, choice: &ConfigSelection) -> Self {
        let name: &[u8] = account.map_or(b"root", |account| &account.name);
        let home: &[u8] = account.map_or(b"/root", |account| &account.home);
        let usual: [(&[u8], &[u8]); 4] =
            [(b"HOME", home), (b"LOGNAME", name), (b"PATH", DEFAULT_PATH), (b"USER", name)];
        let mut made = DaemonEnvironment(usual.map(|(name, value)| (name.into(), value.into())).into());
        made.0.extend(own_variables(world).filter(|(name, _)| {
            name == CONFIG_FILE_VARIABLE || is_parameter_variable(name) && !choice.no_env
        }));
        made.with_configuration(world, choice)
    }

    /// Adds the configuration options of the command line. The path of the file is made absolute because hooks start
    /// in other directories than this program.
    fn with_configuration(mut self, world: &dyn World, choice: &ConfigSelection) -> Self {
        if let Some(file) = &choice.file {
            self.set(CONFIG_FILE_VARIABLE.into(), file.as_os_str().as_bytes().into());
        }
        if let (Some((_, file)), Ok(here)) =
            (self.0.iter_mut().find(|(name, _)| name == CONFIG_FILE_VARIABLE), world.current_dir())
        {
            let no_path =
                file.is_empty() || file.trim_end().ends_with(b"|") || caseless::eq(file, b"ONLY_ENV");
            if !no_path && !file.starts_with(b"/") {
                *file = here.join(file.to_path_lossy()).into_os_string().into_vec().into();
            }
        }
        for (name, value) in &choice.parameters {
            self.set([PARAMETER_PREFIX, name].concat().into(), value.clone());
        }
        self
    }

    fn set(&mut self, name: BString, value: BString) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, value));
    }

    /// Returns the names and values of the variables.
    pub fn variables(&self) -> &[(BString, BString)] {
        &self.0
    }

    /// Returns the environment of every hook of the daemon.
    pub fn for_hooks(&self, quirks: QuirkMode) -> HookEnvironment {
        HookEnvironment::from_daemon(self.0.iter().cloned(), quirks)
    }
}

/// Returns the variables of this program, except those for communication between the programs of this project.
fn own_variables(world: &dyn World) -> impl Iterator<Item = (BString, BString)> {
    let bytes = |text: OsString| BString::from(text.into_vec());
    let all = world.environment().into_iter().map(move |(name, value)| (bytes(name), bytes(value)));
    all.filter(|(name, _)| !name.starts_with(INTERNAL_PREFIX))
}

/// Returns true if a variable sets a parameter. The prefix `_CONDOR_` is case-insensitive (`condor_config.cpp`,
/// real_config).
fn is_parameter_variable(name: &[u8]) -> bool {
    caseless::starts_with(name, PARAMETER_PREFIX) && !name.starts_with(FAMILY_MARKER_PREFIX)
}

/// Environment of a process to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookEnvironment {
    markers: Vec<BString>,
    /// All variables except the family markers.
    pub variables: Environment,
}

impl HookEnvironment {
    /// Returns the environment of every hook of a daemon that was started with the given variables.
    pub fn from_daemon(own: impl IntoIterator<Item = (BString, BString)>, quirks: QuirkMode) -> Self {
        let mut made = HookEnvironment::default();
        made.variables.set(DEFAULT_ZONE.0, DEFAULT_ZONE.1);
        for (name, value) in own {
            if name.starts_with(FAMILY_MARKER_PREFIX) {
                made.markers.push([name.as_slice(), b"=", &value].concat().into());
            } else if !name.starts_with(INTERNAL_PREFIX)
                && (!name.starts_with(PRIVATE_KEY_PREFIX) || SpawnMode::from_quirks(quirks).as_daemon)
            {
                made.variables.set(name, value);
            }
        }
        made
    }

    /// Sets variables, replacing existing ones. Used for the variables that the starter publishes for its job,
    /// `_CONDOR_CREDS` of the shadow, and a cron job's ENV.
    #[must_use]
    pub fn with_variables(mut self, additions: impl IntoIterator<Item = (BString, BString)>) -> Self {
        for (name, value) in additions {
            self.variables.set(name, value);
        }
        self
    }

    /// Returns all entries `NAME=value` in the order in which the daemons pass them: family markers first, then the
    /// other variables sorted by name.
    pub fn entries(&self) -> Vec<BString> {
        self.markers.iter().cloned().chain(self.variables.entries()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(quirks: QuirkMode) -> Vec<String> {
        let own = [
            ("USER", "root"),
            ("_HTC_STARTER_DIR", "/x"),
            ("CONDOR_PRIVATE_INHERIT", "key"),
            ("_CONDOR_ANCESTOR_7", "8:9:1"),
        ];
        let environment = HookEnvironment::from_daemon(own.map(|(n, v)| (n.into(), v.into())), quirks)
            .with_variables([("BATCH_SYSTEM".into(), "HTCondor".into()), ("TZ".into(), "UTC".into())]);
        environment.entries().iter().map(|entry| entry.to_string()).collect()
    }

    #[test]
    fn markers_come_first_and_secrets_are_removed() {
        assert_eq!(
            made(QuirkMode::Manual),
            ["_CONDOR_ANCESTOR_7=8:9:1", "BATCH_SYSTEM=HTCondor", "TZ=UTC", "USER=root"]
        );
        assert!(made(QuirkMode::Reference).contains(&"CONDOR_PRIVATE_INHERIT=key".to_owned()));
    }
}
