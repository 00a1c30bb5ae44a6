//! What this starter can do, as a startd asks it with `-classad`: of the reference's list what is true of this one.

use std::io;

use bstr::{BString, ByteSlice};

use super::accounts::condor_identity;
use super::file_transfer::FileTransferKnobs;
use super::probe::Probing;
use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::Quirks;
use htc_classad::Value;
use htc_config::{ValueError, View};
use htc_hook::transfer::Plugins;
use htc_starter::JavaKnobs;
use htc_starter::container::ContainerKnobs;

/// What it is asked, and by what it tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Abilities {
    /// Attributes and their values, in the order in which they are told.
    pub found: Vec<(&'static str, Value)>,
    /// Whether there is an sshd for people who want to look at a job.
    pub has_sshd: bool,
}

/// Why that cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum AbilityError {
    /// A knob has a value that is none.
    #[error(transparent)]
    Knob(#[from] ValueError),
    /// Programs cannot be asked.
    #[error("cannot ask {0}")]
    Asking(&'static str, #[source] io::Error),
    /// A runtime of containers does not answer as it should.
    #[error("{0}")]
    Runtime(String),
}

impl Abilities {
    /// Looks at the configuration and at the programs that it names; `warn` is told of transfer plugins that are not used.
    ///
    /// # Errors
    /// Knobs that are none, and programs that cannot be asked.
    pub fn find(
        view: &View<'_>,
        environment: &DaemonEnvironment,
        quirks: Quirks,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self, AbilityError> {
        let world = view.world();
        let flag = |name: &str, usual: bool| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.map_or(usual, |setting| setting.value))
        };
        let networking = !flag("NO_JOB_NETWORKING", false)?;
        let urls = flag("ENABLE_URL_TRANSFERS", true)?;
        let sshd = view.text("SSH_TO_JOB_SSHD");
        let sshd = sshd.unwrap_or_else(|| "/usr/sbin/sshd".into());
        let has_sshd = world.may_execute(sshd.to_path_lossy().as_ref());
        let mut found = own(urls, networking);
        let knobs = ContainerKnobs::read(view)?;
        let daemon = if world.effective_uid() == 0 { condor_identity(view, world) } else { None };
        let probing = Probing::new(environment, daemon.as_ref(), world);
        let java = probing.java(&JavaKnobs::read(view)?);
        found.extend(java.map_err(|error| AbilityError::Asking("java", error))?);
        found.push(("HasVM", Value::Bool(false)));
        found
            .push(("VMOfflineReason", Value::from("virtual machines are only described here, by --dry-run")));
        let asked = probing.capabilities(&knobs, quirks);
        let (runtimes, failure) =
            asked.map_err(|error| AbilityError::Asking("the runtimes of containers", error))?;
        if let Some(failure) = failure {
            return Err(AbilityError::Runtime(failure.reason()));
        }
        found.extend(runtimes);
        if urls {
            let methods = plugin_methods(view, &probing, warn)?;
            if !methods.is_empty() {
                found.push(("HasFileTransferPluginMethods", Value::from(methods)));
            }
        }
        Ok(Abilities { found, has_sshd })
    }
}

/// What is so whatever programs there are.
fn own(urls: bool, networking: bool) -> Vec<(&'static str, Value)> {
    let mut found = vec![("HasFileTransfer", Value::Bool(true))];
    if urls {
        found.push(("HasJobTransferPlugins", Value::Bool(true)));
    }
    let flags = [
        ("HasJobDeferral", true),
        ("HasTransferInputRemaps", true),
        ("HasSelfCheckpointTransfers", true),
        ("HasOsUser", true),
        ("HasJobNetworking", networking),
        ("HasJICLocalConfig", true),
        ("HasJICLocalStdin", true),
    ];
    found.extend(flags.map(|(name, value)| (name, Value::Bool(value))));
    found
}

/// The schemes that the configured transfer plugins know, each asked with `-classad` (`FileTransfer::GetSupportedMethods`).
fn plugin_methods(
    view: &View<'_>,
    probing: &Probing<'_>,
    warn: &mut dyn FnMut(&str),
) -> Result<BString, AbilityError> {
    let knobs = FileTransferKnobs::read(view, None)?;
    let mut plugins = Plugins::new(knobs.lists);
    for path in &knobs.plugins {
        let printed = probing.plugin(path, knobs.ask_limit);
        let printed = printed.map_err(|error| AbilityError::Asking("plugins", error))?;
        let added = printed.and_then(|printed| plugins.add_system(path, &printed, view.world()));
        if let Err(reason) = added {
            warn(&format!("the transfer plugin '{path}' is not used: {reason}"));
        }
    }
    Ok(plugins.advertised())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_program_is_told_as_the_configuration_has_it() {
        let of = |urls, networking, name: &str| {
            let found = own(urls, networking);
            found.into_iter().find(|(it, _)| *it == name).map(|(_, value)| value)
        };
        assert_eq!(of(true, true, "HasJobTransferPlugins"), Some(Value::Bool(true)));
        assert_eq!(of(false, true, "HasJobTransferPlugins"), None);
        assert_eq!(of(false, false, "HasJobNetworking"), Some(Value::Bool(false)));
    }

    #[test]
    fn a_knob_that_is_none_is_why_nothing_can_be_told() {
        let (config, world) = htc_testing::config_of("STARTER", "NO_JOB_NETWORKING = perhaps so\n");
        let environment = DaemonEnvironment::of_program(&world, &Default::default());
        let told = Abilities::find(&config.view(&world), &environment, Quirks::None, &mut |_| {});
        assert!(matches!(told, Err(AbilityError::Knob(_))), "{told:?}");
    }
}
