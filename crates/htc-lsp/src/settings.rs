//! Settings of the server, from the command line and from the editor.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bstr::ByteSlice;
use htc_base::text::similar_names;
use htc_config::lint_rule::LintRule;
use htc_config::target_version::TargetVersion;
use htc_config::{CommandPolicy, LoadOptions, LookupContext};
use htc_lint::config::DAEMON_NAMES;
use serde::Deserialize;

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Options for loading configurations. `file` is the root file of the configuration to which documents belong.
    pub load: LoadOptions,
    /// Daemon, or tool, as which configurations are read.
    pub context: LookupContext,
    /// Version of HTCondor for which configurations are checked.
    pub version: TargetVersion,
    /// Rules that are reported; all if empty.
    pub select: Vec<LintRule>,
    /// Rules that are not reported.
    pub ignore: Vec<LintRule>,
    /// Files outside the configuration that use its parameters.
    pub used_by: Vec<PathBuf>,
    /// True if secrets are masked.
    pub redact: bool,
}

/// Settings that an editor sends as `initializationOptions`, or as the section `htcondor` of its configuration. A
/// missing key keeps the setting from the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ClientSettings {
    config_file: Option<PathBuf>,
    param: BTreeMap<String, String>,
    no_env: Option<bool>,
    subsystem: Option<String>,
    local_name: Option<String>,
    exec: Option<bool>,
    #[serde(rename = "for")]
    version: Option<String>,
    select: Option<Vec<String>>,
    ignore: Option<Vec<String>>,
    used_by: Option<Vec<PathBuf>>,
    redact: Option<bool>,
}

impl ServerSettings {
    /// Returns these settings, with the values that the editor sends in place of the old ones.
    ///
    /// # Errors
    /// Returns a message if a value is not valid.
    pub fn with_client_settings(&self, client: &ClientSettings) -> Result<ServerSettings, String> {
        let mut settings = self.clone();
        if let Some(file) = &client.config_file {
            settings.load.file = Some(file.clone()).filter(|file| !file.as_os_str().is_empty());
        }
        let overlay = client.param.iter();
        let overlay = overlay.map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()));
        settings.load.overlay.extend(overlay);
        if let Some(no_env) = client.no_env {
            settings.load.environment = !no_env;
        }
        if let Some(name) = &client.subsystem {
            check_subsystem(name)?;
            settings.context.subsystem = name.as_str().into();
        }
        if let Some(name) = &client.local_name {
            settings.context.local_name = name.as_str().into();
        }
        if let Some(exec) = client.exec {
            settings.load.commands = if exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Skipped };
        }
        if let Some(text) = &client.version {
            settings.version = TargetVersion::from_text(text).ok_or_else(|| {
                let known: Vec<&str> = TargetVersion::ALL.iter().map(|version| version.series()).collect();
                format!("for: unknown version: '{text}'; the versions are {}", known.join(", "))
            })?;
        }
        if let Some(names) = &client.select {
            settings.select = parse_rules("select", names)?;
        }
        if let Some(names) = &client.ignore {
            settings.ignore = parse_rules("ignore", names)?;
        }
        if let Some(files) = &client.used_by {
            settings.used_by.clone_from(files);
        }
        if let Some(redact) = client.redact {
            settings.redact = redact;
        }
        Ok(settings)
    }

    /// True if findings of a rule are reported.
    pub fn selects(&self, rule: LintRule) -> bool {
        (self.select.is_empty() || self.select.contains(&rule)) && !self.ignore.contains(&rule)
    }
}

fn check_subsystem(name: &str) -> Result<(), String> {
    let plain = name.split_once('.').map_or(name, |(plain, _)| plain);
    if DAEMON_NAMES.iter().any(|known| known.eq_ignore_ascii_case(plain)) {
        return Ok(());
    }
    let near = similar_names::nearest(plain, DAEMON_NAMES.iter().map(|known| known.as_bytes()));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {}?", near.as_bstr()));
    Err(format!("subsystem: HTCondor has no daemon or tool of this name: '{name}'{hint}"))
}

fn parse_rules(key: &str, names: &[String]) -> Result<Vec<LintRule>, String> {
    let rules = names
        .iter()
        .map(|name| LintRule::from_name(name).ok_or_else(|| format!("{key}: lint has no rule '{name}'")));
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ServerSettings {
        ServerSettings {
            load: LoadOptions::default(),
            context: LookupContext::default(),
            version: TargetVersion::default(),
            select: Vec::new(),
            ignore: Vec::new(),
            used_by: Vec::new(),
            redact: false,
        }
    }

    fn parse_client_settings(json: &str) -> ClientSettings {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn settings_of_the_editor_replace_those_of_the_command_line() {
        let client = parse_client_settings(
            r#"{"configFile": "/c", "param": {"A": "1"}, "noEnv": true, "subsystem": "startd", "for": "24.0",
                "ignore": ["unused-macro"], "exec": true, "localName": "x", "usedBy": ["s"], "redact": true}"#,
        );
        let read = settings().with_client_settings(&client).unwrap();
        assert_eq!(read.load.file, Some("/c".into()));
        assert_eq!(read.load.overlay, [(b"A".to_vec(), b"1".to_vec())]);
        assert!(!read.load.environment && read.redact);
        assert_eq!(read.context.subsystem, "startd");
        assert_eq!(read.version.series(), "24.0");
        assert!(!read.selects(LintRule::UnusedMacro) && read.selects(LintRule::Syntax));
        assert_eq!(read.load.commands, CommandPolicy::BOUNDED_RUN);
    }

    #[test]
    fn invalid_settings_are_named() {
        for (json, message) in [
            (r#"{"subsystem": "STARTDD"}"#, "did you mean STARTD?"),
            (r#"{"for": "9"}"#, "for: unknown version: '9'"),
            (r#"{"select": ["x"]}"#, "select: lint has no rule 'x'"),
        ] {
            let error = settings().with_client_settings(&parse_client_settings(json)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        assert!(serde_json::from_str::<ClientSettings>(r#"{"configfile": "/c"}"#).is_err());
    }
}
