//! Capabilities of this starter, reported to a startd that calls it with `-classad`. They are a part of the
//! reference's list.

use std::io;

use bstr::{BString, ByteSlice};

use super::accounts::condor_identity;
use super::file_transfer::FileTransferParameters;
use super::probe::{PluginQueryError, RuntimeProbe};
use crate::hook_environment::DaemonEnvironment;
use htc_base::quirks::QuirkMode;
use htc_classad::Value;
use htc_config::{ConfigView, ValueError};
use htc_hook::transfer::TransferPlugins;
use htc_starter::JavaParameters;
use htc_starter::container::ContainerParameters;

/// Capabilities of this starter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StarterCapabilities {
    /// Attributes and their values in the order of printing.
    pub attributes: Vec<(&'static str, Value)>,
    /// True if an sshd for interactive access to a job is installed.
    pub has_sshd: bool,
}

/// Reason why the capabilities cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum CapabilityError {
    /// A parameter has an invalid value.
    #[error(transparent)]
    Parameter(#[from] ValueError),
    /// The program with this name cannot be called.
    #[error("cannot query {0}")]
    ProgramQuery(&'static str, #[source] io::Error),
    /// A container runtime does not respond as expected.
    #[error("{0}")]
    Runtime(String),
}

impl StarterCapabilities {
    /// Determines the capabilities from the configuration and the programs that it names. Calls `warn` for each
    /// transfer plugin that is not used.
    ///
    /// # Errors
    /// Fails if a parameter is invalid or a program cannot be called.
    pub fn detect(
        view: &ConfigView<'_>,
        environment: &DaemonEnvironment,
        quirks: QuirkMode,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Self, CapabilityError> {
        let world = view.world();
        let flag = |name: &str, usual: bool| -> Result<bool, ValueError> {
            Ok(view.boolean(name)?.map_or(usual, |setting| setting.value))
        };
        let networking = !flag("NO_JOB_NETWORKING", false)?;
        let urls = flag("ENABLE_URL_TRANSFERS", true)?;
        let sshd = view.text("SSH_TO_JOB_SSHD");
        let sshd = sshd.unwrap_or_else(|| "/usr/sbin/sshd".into());
        let has_sshd = world.may_execute(sshd.to_path_lossy().as_ref());
        let mut found = builtin_capabilities(urls, networking);
        let parameters = ContainerParameters::read(view)?;
        let daemon = if world.effective_uid() == 0 { condor_identity(view, world) } else { None };
        let probing = RuntimeProbe::new(environment, daemon.as_ref(), world);
        let java = probing.java(&JavaParameters::read(view)?);
        found.extend(java.map_err(|error| CapabilityError::ProgramQuery("java", error))?);
        found.push(("HasVM", Value::Bool(false)));
        found
            .push(("VMOfflineReason", Value::from("virtual machines are only described here, by --dry-run")));
        let answer = probing.capabilities(&parameters, quirks);
        let (runtimes, failure) =
            answer.map_err(|error| CapabilityError::ProgramQuery("the container runtimes", error))?;
        if let Some(failure) = failure {
            return Err(CapabilityError::Runtime(failure.reason()));
        }
        found.extend(runtimes);
        if urls {
            let methods = query_plugin_methods(view, &probing, warn)?;
            if !methods.is_empty() {
                found.push(("HasFileTransferPluginMethods", Value::from(methods)));
            }
        }
        Ok(StarterCapabilities { attributes: found, has_sshd })
    }
}

/// Returns the capabilities that do not depend on installed programs. `urls` and `networking` are true if the
/// configuration enables URL transfers and networking for jobs.
fn builtin_capabilities(urls: bool, networking: bool) -> Vec<(&'static str, Value)> {
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

/// Returns the schemes supported by the configured transfer plugins, each called with `-classad`
/// (`FileTransfer::GetSupportedMethods`).
fn query_plugin_methods(
    view: &ConfigView<'_>,
    probing: &RuntimeProbe<'_>,
    warn: &mut dyn FnMut(&str),
) -> Result<BString, CapabilityError> {
    let parameters = FileTransferParameters::read(view, None)?;
    let mut plugins = TransferPlugins::new(parameters.list_plugins);
    for path in &parameters.plugins {
        let added = match probing.plugin(path, parameters.query_timeout) {
            Ok(printed) => plugins.add_configured_plugin(path, &printed, view.world()),
            Err(PluginQueryError::NoAnswer(reason)) => Err(reason),
            Err(PluginQueryError::Reactor(error)) => {
                return Err(CapabilityError::ProgramQuery("plugins", error));
            }
        };
        if let Err(reason) = added {
            warn(&format!("the transfer plugin '{path}' is not used: {reason}"));
        }
    }
    Ok(plugins.advertised_schemes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_without_a_program_come_from_the_configuration() {
        let of = |urls, networking, name: &str| {
            let found = builtin_capabilities(urls, networking);
            found.into_iter().find(|(it, _)| *it == name).map(|(_, value)| value)
        };
        assert_eq!(of(true, true, "HasJobTransferPlugins"), Some(Value::Bool(true)));
        assert_eq!(of(false, true, "HasJobTransferPlugins"), None);
        assert_eq!(of(false, false, "HasJobNetworking"), Some(Value::Bool(false)));
    }

    #[test]
    fn an_invalid_parameter_is_the_reason_for_missing_abilities() {
        let (config, world) = htc_testing::config_of("STARTER", "NO_JOB_NETWORKING = perhaps so\n");
        let environment = DaemonEnvironment::from_program(&world, &Default::default());
        let detected =
            StarterCapabilities::detect(&config.view(&world), &environment, QuirkMode::Manual, &mut |_| {});
        assert!(matches!(detected, Err(CapabilityError::Parameter(_))), "{detected:?}");
    }
}
