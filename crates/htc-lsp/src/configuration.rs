//! A configuration that open documents belong to: its sources, values and findings.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use htc_base::world::World;
use htc_config::finding::Finding;
use htc_config::load::LoadAttempt;
use htc_config::macro_definition::{DefinitionPlace, SourceKind};
use htc_config::{Config, ConfigError, SourceId};
use htc_lint::config::LintSubject;
use htc_lint::daemons::LintRequest;

use crate::overlay_world::OverlayWorld;
use crate::settings::ServerSettings;

/// Root of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationRoot {
    /// The root file from the settings or, if they name none, the file that HTCondor would find: the one in
    /// CONDOR_CONFIG or in the usual places.
    Selected,
    /// A document that no other configuration reads; checked like `lint FILE`.
    Document(PathBuf),
}

/// A configuration, read with the unsaved text of open documents in place of their files.
#[derive(Debug)]
pub struct LoadedConfiguration {
    root: ConfigurationRoot,
    attempt: LoadAttempt,
    /// Paths of the sources, by number; `None` for a source that is not a file.
    paths: Vec<Option<PathBuf>>,
}

/// Result of a check: findings, or the error if nothing could be read.
#[derive(Debug)]
pub enum CheckOutcome {
    /// Findings, sorted by place.
    Findings(Vec<Finding>),
    /// The configuration has no readable root.
    Unreadable(Box<ConfigError>),
}

impl LoadedConfiguration {
    /// Reads a configuration.
    pub fn load(root: ConfigurationRoot, settings: &ServerSettings, world: &OverlayWorld<'_>) -> Self {
        let attempt = with_request(&root, settings, |request| request.load(world));
        let path = |source: &htc_config::macro_definition::ConfigSource| {
            (source.kind == SourceKind::File).then(|| world.document_path(&source.name.to_path_lossy()))
        };
        let paths = attempt.config.set.sources().iter().map(path).collect();
        LoadedConfiguration { root, attempt, paths }
    }

    /// Checks the configuration.
    pub fn check(&mut self, settings: &ServerSettings, world: &dyn World) -> CheckOutcome {
        let attempt = &mut self.attempt;
        match with_request(&self.root, settings, |request| request.lint_attempt(attempt, world)) {
            Ok(mut result) => {
                result.findings.retain(|finding| settings.selects(finding.rule));
                CheckOutcome::Findings(result.findings)
            }
            Err(error) => CheckOutcome::Unreadable(error),
        }
    }

    /// Keeps only the certain corrections. Each correction is tested by checking the corrected text, which takes as
    /// long as [`LoadedConfiguration::check`]. If secrets are masked, `check` has already tested the corrections.
    pub fn check_corrections(&self, findings: &mut [Finding], settings: &ServerSettings, world: &dyn World) {
        if !settings.redact {
            with_request(&self.root, settings, |request| {
                request.drop_wrong_corrections(&self.attempt, findings, world);
            });
        }
    }

    /// Returns the root.
    pub fn root(&self) -> &ConfigurationRoot {
        &self.root
    }

    /// Returns the values and definitions.
    pub fn config(&self) -> &Config {
        &self.attempt.config
    }

    /// Returns the path of the root file, or `None` if there is none.
    pub fn root_path(&self) -> Option<&Path> {
        match &self.root {
            ConfigurationRoot::Document(path) => Some(path),
            ConfigurationRoot::Selected => self.paths.iter().flatten().next().map(PathBuf::as_path),
        }
    }

    /// Returns true if the configuration reads this file.
    pub fn reads(&self, path: &Path) -> bool {
        self.paths.iter().flatten().any(|source| source == path)
    }

    /// Returns the path of a source, or `None` if it is not a file.
    pub fn path(&self, source: SourceId) -> Option<&Path> {
        self.paths.get(source.number() as usize)?.as_deref()
    }

    /// Returns the sources that have this path: a file that is included twice is two sources.
    pub fn sources_of(&self, path: &Path) -> impl Iterator<Item = SourceId> {
        let numbers =
            self.paths.iter().enumerate().filter(move |(_, source)| source.as_deref() == Some(path));
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        let ids = self.attempt.config.set.source_ids();
        ids.filter(move |id| numbers.contains(&(id.number() as usize)))
    }

    /// Returns the paths of all files, each once, in the order of reading.
    pub fn file_paths(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = Vec::new();
        for path in self.paths.iter().flatten() {
            if !paths.contains(&path.as_path()) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns the text of a file of the configuration, as it was read.
    pub fn text(&self, path: &Path) -> Option<&[u8]> {
        let source = self.sources_of(path).next()?;
        self.config().set.source(source).text.as_deref()
    }

    /// Returns path and text of the source of a definition, or `None` if it is not in a file.
    pub fn source_text(&self, place: &DefinitionPlace) -> Option<(&Path, &[u8])> {
        Some((self.path(place.source)?, self.config().set.source(place.source).text.as_deref()?))
    }

    /// Returns the configuration in the form that the rules of `lint` check.
    pub fn subject<'a>(&'a self, world: &'a dyn World) -> LintSubject<'a> {
        LintSubject::new(&self.attempt.config, world)
    }

    /// Returns true if no root file was found.
    pub fn is_missing(&self) -> bool {
        self.attempt.error.as_ref().is_some_and(|error| error.place.is_none())
            && self.paths.iter().flatten().next().is_none()
    }
}

fn with_request<T>(
    root: &ConfigurationRoot,
    settings: &ServerSettings,
    then: impl FnOnce(&LintRequest<'_>) -> T,
) -> T {
    let files = match root {
        ConfigurationRoot::Selected => Vec::new(),
        ConfigurationRoot::Document(path) => vec![path.clone()],
    };
    then(&LintRequest {
        context: &settings.context,
        options: &settings.load,
        files: &files,
        only_unsupported: false,
        used_by: &settings.used_by,
        version: settings.version,
        redact: settings.redact,
        // Otherwise `check_corrections` tests them when the editor requests corrections, which is less often than
        // diagnostics.
        checks_corrections: settings.redact,
    })
}
