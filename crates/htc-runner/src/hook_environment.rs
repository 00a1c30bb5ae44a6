//! What the daemon that a program stands for hands to whatever it starts: hooks, cron jobs, starters, jobs.
//!
//! A daemon's own variables are decided here, and here alone: those of the program, or, for a test of a single hook, those that
//! an ordinary system gives its daemons; and with either the way to the configuration that the program itself has read, so that
//! a `condor_config_val` in a hook answers what its caller has read. A daemon's `-config FILE` sets CONDOR_CONFIG
//! (`daemon_core_main.cpp`, dc_main), as `--config-file` does here; `_CONDOR_NAME` stands above all files, as `--set-knob`.
//!
//! Reference: `daemon_core.cpp` (Create_Process), `HookClientMgr.cpp`. Variables with addresses and keys of daemons
//! (`CONDOR_INHERIT`, `CONDOR_PARENT_ID`, `CONDOR_PROCD_ADDRESS`, `CONDOR_PRIVATE_*`) are not made up here: there are no
//! daemons to speak to. What the program itself was given is handed on like everything else, save the private ones
//! (quirk `hooks-spawned-as-daemons`).

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

/// Marks of the process families that a process belongs to; they come first, oldest first.
const FAMILY_MARKER_PREFIX: &[u8] = b"_CONDOR_ANCESTOR_";
/// What our own programs tell one another; never handed on.
const INTERNAL_PREFIX: &[u8] = b"_HTC_";
/// Keys of daemons.
const PRIVATE_KEY_PREFIX: &[u8] = b"CONDOR_PRIVATE_";
/// Where the configuration begins.
const CONFIG_FILE_VARIABLE: &[u8] = b"CONDOR_CONFIG";
/// Variables that are knobs.
const PARAMETER_PREFIX: &[u8] = b"_CONDOR_";
/// The zone file, named so that the C library does not look for it at every call; daemons set it where it is unset.
const DEFAULT_ZONE: (&[u8], &[u8]) = (b"TZ", b":/etc/localtime");
/// The search path of a daemon that an ordinary system has started.
const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Which configuration a program was told to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigSelection {
    /// `--config-file`; else what CONDOR_CONFIG names.
    pub file: Option<PathBuf>,
    /// `--set-knob`: knobs above all files.
    pub parameters: Vec<(BString, BString)>,
    /// `--no-env`: `_CONDOR_*` variables are ignored.
    pub no_env: bool,
}

impl ConfigSelection {
    /// How it is loaded: the choice's share, all else as usual. `commands` says whether commands that it names are run.
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

/// The variables that a daemon was itself started with, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonEnvironment(Vec<(BString, BString)>);

impl DaemonEnvironment {
    /// Those of this program.
    pub fn from_program(world: &dyn World, choice: &ConfigSelection) -> Self {
        let mut made = DaemonEnvironment(own_variables(world).collect());
        if choice.no_env {
            made.0.retain(|(name, _)| !is_parameter_variable(name));
        }
        made.with_configuration(world, choice)
    }

    /// Those of a daemon whose master an ordinary system has started: nothing of the user's shell but what it says of the
    /// configuration. `account` is that of the daemons.
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

    /// With what the command line says of the configuration. The file is named so that it is found from everywhere: hooks begin
    /// in other directories than their caller was started in.
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

    /// Names and values.
    pub fn variables(&self) -> &[(BString, BString)] {
        &self.0
    }

    /// What every hook of the daemon gets.
    pub fn for_hooks(&self, quirks: QuirkMode) -> HookEnvironment {
        HookEnvironment::from_daemon(self.0.iter().cloned(), quirks)
    }
}

/// Our own variables, without what our programs tell one another.
fn own_variables(world: &dyn World) -> impl Iterator<Item = (BString, BString)> {
    let bytes = |text: OsString| BString::from(text.into_vec());
    let all = world.environment().into_iter().map(move |(name, value)| (bytes(name), bytes(value)));
    all.filter(|(name, _)| !name.starts_with(INTERNAL_PREFIX))
}

/// Whether a variable is read as a knob: names of `_CONDOR_` variables have no case (`condor_config.cpp`, real_config).
fn is_parameter_variable(name: &[u8]) -> bool {
    caseless::starts_with(name, PARAMETER_PREFIX) && !name.starts_with(FAMILY_MARKER_PREFIX)
}

/// An environment in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookEnvironment {
    markers: Vec<BString>,
    /// Everything but the marks of process families.
    pub variables: Environment,
}

impl HookEnvironment {
    /// What every hook of a daemon gets that was itself started with `own`.
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

    /// Sets variables over those that are there: what the starter publishes of its job, `_CONDOR_CREDS` of the shadow, a
    /// cron job's ENV.
    #[must_use]
    pub fn with_variables(mut self, additions: impl IntoIterator<Item = (BString, BString)>) -> Self {
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
    fn markers_come_first_and_secrets_do_not_come_at_all() {
        assert_eq!(
            made(QuirkMode::Manual),
            ["_CONDOR_ANCESTOR_7=8:9:1", "BATCH_SYSTEM=HTCondor", "TZ=UTC", "USER=root"]
        );
        assert!(made(QuirkMode::Reference).contains(&"CONDOR_PRIVATE_INHERIT=key".to_owned()));
    }
}
