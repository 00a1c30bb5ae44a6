//! Transfer plugins for URLs, from the configuration and from the job.
//!
//! Reference: `InsertPluginAndMappings`, `InitializeJobPlugins`, `AddJobPluginsToInputFiles`.

use bstr::{BString, ByteSlice};

use htc_base::text::{caseless, list};
use htc_classad::{ClassAd, Context, Dialect, EvalWorld};

/// Program that transfers files to and from URLs.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferPlugin {
    /// Path in the configuration or in the job ad.
    pub path: BString,
    /// True if the job supplies the plugin.
    pub of_job: bool,
    /// Newest protocol that the plugin supports: 1 handles one file per call, 2 and later a list of files.
    pub protocol: i64,
    /// Name of the plugin. Environment variables of the job that begin with this name and `_` are passed to the plugin.
    pub name: BString,
}

/// Settings for plugins that handle a list of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiFilePluginSettings {
    /// ENABLE_MULTIFILE_TRANSFER_PLUGINS: true if plugins may get a list of files.
    pub enabled: bool,
    /// ASSUME_COMPATIBLE_MULTIFILE_PLUGINS: true if plugins of protocol 2 get the job's PluginData.
    pub get_data: bool,
}

impl Default for MultiFilePluginSettings {
    fn default() -> Self {
        MultiFilePluginSettings { enabled: true, get_data: true }
    }
}

/// All plugins, with the plugin to use for each URL scheme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferPlugins {
    /// Settings for plugins that handle a list of files.
    pub multi_file: MultiFilePluginSettings,
    plugins: Vec<TransferPlugin>,
    schemes: Vec<(BString, usize)>,
}

/// Reason why a plugin of the configuration cannot be used, in the reference's words.
type UnusableReason = String;

impl TransferPlugins {
    /// Creates an empty set of plugins.
    pub fn new(lists: MultiFilePluginSettings) -> Self {
        TransferPlugins { multi_file: lists, ..TransferPlugins::default() }
    }

    /// Returns the supported schemes in the form in which they are advertised. A plugin for `https` also supports `s3`
    /// and `gs` (`FileTransfer::GetSupportedMethods`).
    pub fn advertised_schemes(&self) -> BString {
        let mut names = self.supported_schemes();
        if names.iter().any(|name| name.eq_ignore_ascii_case(b"https")) {
            names.extend(["s3", "gs"].map(BString::from));
        }
        bstr::join(",", names).into()
    }

    /// Adds a plugin of the configuration. `printed` is the output of the plugin when it is called with `-classad`.
    ///
    /// # Errors
    /// Returns the reason if the output does not name a scheme.
    pub fn add_configured_plugin(
        &mut self,
        path: &[u8],
        printed: &[u8],
        world: &dyn EvalWorld,
    ) -> Result<(), UnusableReason> {
        if self.plugins.iter().any(|plugin| plugin.path == path) {
            return Ok(());
        }
        if printed.trim().is_empty() {
            return Err(format!("No output from {} -classad, ignoring", path.as_bstr()));
        }
        let mut ad = ClassAd::new();
        for line in printed.lines().map(<[u8]>::trim) {
            if !line.is_empty() && !line.starts_with(b"#") {
                drop(ad.insert_line_with(line, Dialect::of_world(world)));
            }
        }
        let context = Context::new(world).my(&ad);
        let Some(methods) = context.string("SupportedMethods").filter(|methods| !methods.is_empty()) else {
            let path = path.as_bstr();
            return Err(format!("{path} -classad did not produce a valid classad, ignoring"));
        };
        let several = context.boolean("MultipleFileSupport").unwrap_or(false);
        let usual = if several { 2 } else { 1 };
        if several && !self.multi_file.enabled {
            let path = path.as_bstr();
            return Err(format!(
                "{path} takes several files, and ENABLE_MULTIFILE_TRANSFER_PLUGINS is false"
            ));
        }
        let version = context.int("ProtocolVersion").filter(|version| (1..=100).contains(version));
        self.add_plugin(path, &methods, version.unwrap_or(usual), false);
        Ok(())
    }

    /// Adds a plugin of the job, which replaces other plugins for the same schemes.
    pub fn add_job_plugin(&mut self, path: &[u8], methods: &[u8]) {
        self.add_plugin(path, methods, 2, true);
    }

    fn add_plugin(&mut self, path: &[u8], methods: &[u8], protocol: i64, of_job: bool) {
        let known = self.plugins.iter().position(|plugin| plugin.path == path);
        let id = known.unwrap_or_else(|| {
            self.plugins.push(TransferPlugin {
                path: path.into(),
                of_job,
                protocol,
                name: plugin_name(path),
            });
            self.plugins.len() - 1
        });
        for method in list::split(methods) {
            self.schemes.retain(|(known, _)| !caseless::eq(known, method));
            self.schemes.push((method.into(), id));
            if caseless::eq(method, b"pelican") {
                self.plugins[id].name = "PELICAN".into();
            }
        }
    }

    /// Returns the plugin for a scheme, or `None` if no plugin supports the scheme.
    pub fn plugin_for_scheme(&self, scheme: &[u8]) -> Option<&TransferPlugin> {
        let (_, id) = self.schemes.iter().find(|(known, _)| caseless::eq(known, scheme))?;
        self.plugins.get(*id)
    }

    /// Returns the schemes, sorted without regard to case.
    pub fn supported_schemes(&self) -> Vec<BString> {
        let mut methods: Vec<BString> = self.schemes.iter().map(|(scheme, _)| scheme.clone()).collect();
        methods.sort_by_key(|method| method.to_ascii_lowercase());
        methods
    }
}

/// Returns the base name of a plugin in capitals, up to `_plugin` or otherwise up to the extension.
pub fn plugin_name(path: &[u8]) -> BString {
    let base = path.rfind_byte(b'/').map_or(path, |at| &path[at + 1..]);
    let end = base.find("_plugin").or_else(|| base.rfind_byte(b'.')).unwrap_or(base.len());
    base[..end].to_ascii_uppercase().into()
}

/// Parses the plugins of a job into (path, schemes) in the order of the list. Also returns the fields without `=`.
pub(super) fn parse_job_plugins(text: &[u8]) -> (Vec<(BString, BString)>, Vec<BString>) {
    let (mut plugins, mut bad) = (Vec::new(), Vec::new());
    for field in list::split_by(text, b";") {
        match field.split_once_str("=") {
            Some((methods, path)) => plugins.push((path.trim().into(), methods.trim().into())),
            None => bad.push(field.into()),
        }
    }
    (plugins, bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::System;

    #[test]
    fn the_last_plugin_that_names_a_scheme_handles_it() {
        let mut plugins = TransferPlugins::default();
        let printed = b"MultipleFileSupport = true\n# x\nSupportedMethods = \"dbl, dbl2\"\nnonsense\n";
        plugins.add_configured_plugin(b"/x/job.d/plugin", printed, &System).unwrap();
        plugins
            .add_configured_plugin(b"/x/curl_plugin.py", b"SupportedMethods = \"http\"\n", &System)
            .unwrap();
        assert_eq!(plugins.plugin_for_scheme(b"DBL").unwrap().protocol, 2);
        assert_eq!(plugins.plugin_for_scheme(b"http").unwrap().protocol, 1);
        assert_eq!(plugins.plugin_for_scheme(b"http").unwrap().name, "CURL");
        plugins.add_job_plugin(b"/j/mine", b"http,Mine");
        assert!(plugins.plugin_for_scheme(b"HTTP").unwrap().of_job);
        assert_eq!(plugins.supported_schemes(), ["dbl", "dbl2", "http", "Mine"]);
        assert!(plugins.plugin_for_scheme(b"x").is_none());
    }

    #[test]
    fn listed_plugins_are_used_as_configured() {
        let lists = MultiFilePluginSettings { enabled: false, ..MultiFilePluginSettings::default() };
        let mut plugins = TransferPlugins { multi_file: lists, ..TransferPlugins::default() };
        let printed = b"MultipleFileSupport = true\nSupportedMethods = \"dbl\"\n";
        let error = plugins.add_configured_plugin(b"/p", printed, &System).unwrap_err();
        assert_eq!(error, "/p takes several files, and ENABLE_MULTIFILE_TRANSFER_PLUGINS is false");
        plugins.add_configured_plugin(b"/q", b"SupportedMethods = \"old\"\n", &System).unwrap();
        assert_eq!(plugins.supported_schemes(), ["old"]);
    }

    #[test]
    fn a_program_that_names_no_scheme_is_not_a_plugin() {
        let mut plugins = TransferPlugins::default();
        assert_eq!(
            plugins.add_configured_plugin(b"/p", b" \n", &System),
            Err("No output from /p -classad, ignoring".into())
        );
        assert!(plugins.add_configured_plugin(b"/p", b"SupportedMethods = 7\n", &System).is_err());
        assert_eq!(plugins, TransferPlugins::default());
    }

    #[test]
    fn the_list_of_a_job_has_methods_and_programs() {
        let (plugins, bad) = parse_job_plugins(b" a,b = /x/p ; c=q ; nothing");
        assert_eq!(plugins, [("/x/p".into(), "a,b".into()), ("q".into(), "c".into())]);
        assert_eq!(bad, ["nothing"]);
    }
}
