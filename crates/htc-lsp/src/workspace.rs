//! Open documents and the configurations that they belong to.

use std::path::{Path, PathBuf};

use htc_base::world::World;
use htc_config::finding::Finding;
use htc_lint::daemons::rules_file::lint_rules_file;
use lsp_types::{TextDocumentContentChangeEvent, Uri};

use crate::configuration::{CheckOutcome, ConfigurationRoot, LoadedConfiguration};
use crate::documents::{Document, DocumentLanguage, DocumentStore};
use crate::file_uri::uri_of_path;
use crate::overlay_world::OverlayWorld;
use crate::settings::ServerSettings;

/// A configuration with the result of its check.
#[derive(Debug)]
struct CheckedConfiguration {
    configuration: LoadedConfiguration,
    outcome: Option<CheckOutcome>,
    /// True if uncertain corrections have been removed from the outcome.
    has_certain_corrections: bool,
    /// False if another open configuration includes the root file of this one. The files are then checked
    /// with that configuration.
    is_active: bool,
}

/// Open documents and the configurations that they belong to.
///
/// A document belongs to the selected configuration if that configuration reads it. The selected configuration is the
/// one from the settings, or the one that HTCondor would find. Otherwise the document belongs to the configuration of
/// another open document that includes it. If no document includes it, it is checked alone.
#[derive(Debug)]
pub struct Workspace {
    settings: ServerSettings,
    documents: DocumentStore,
    configurations: Vec<CheckedConfiguration>,
    /// Files whose text has changed since the configurations were read.
    changed: Vec<PathBuf>,
    /// Directory of the files with templates, which are not checked.
    template_directory: Option<PathBuf>,
}

impl Workspace {
    /// Creates a workspace without documents.
    pub fn new(settings: ServerSettings, template_directory: Option<PathBuf>) -> Self {
        Workspace {
            settings,
            documents: DocumentStore::default(),
            configurations: Vec::new(),
            changed: Vec::new(),
            template_directory,
        }
    }

    /// Returns the language of a document. Files with templates are not checked.
    pub fn language(&self, document: &Document) -> DocumentLanguage {
        let is_template =
            self.template_directory.as_ref().is_some_and(|directory| document.path.starts_with(directory));
        if is_template { DocumentLanguage::Unchecked } else { document.language() }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Replaces the settings.
    pub fn set_settings(&mut self, settings: ServerSettings) {
        self.settings = settings;
        self.invalidate();
    }

    /// Returns the open documents.
    pub fn documents(&self) -> &DocumentStore {
        &self.documents
    }

    /// Opens a document.
    pub fn open(&mut self, document: Document) {
        self.documents.open(document);
        self.invalidate();
    }

    /// Changes a document; returns false if it is not open.
    pub fn change(&mut self, uri: &Uri, version: i32, changes: &[TextDocumentContentChangeEvent]) -> bool {
        let Some(document) = self.documents.get_mut(uri) else { return false };
        document.apply_changes(version, changes);
        self.changed.push(document.path.clone());
        true
    }

    /// Closes a document; returns false if it was not open.
    pub fn close(&mut self, uri: &Uri) -> bool {
        self.invalidate();
        self.documents.close(uri)
    }

    /// Discards all configurations, so that they are read again.
    pub fn invalidate(&mut self) {
        self.configurations.clear();
        self.changed.clear();
    }

    /// Reads the configurations whose files have changed.
    pub fn refresh(&mut self, world: &OverlayWorld<'_>) {
        let changed = std::mem::take(&mut self.changed);
        self.configurations.retain(|one| {
            let is_root = |path: &PathBuf| {
                matches!(one.configuration.root(), ConfigurationRoot::Document(root) if root == path)
            };
            !changed.iter().any(|path| is_root(path) || one.configuration.reads(path))
        });
        self.load(ConfigurationRoot::Selected, 0, world);
        let paths: Vec<PathBuf> = self
            .documents
            .iter()
            .filter(|document| self.language(document) == DocumentLanguage::Config)
            .map(|document| document.path.clone())
            .collect();
        self.configurations.retain(|one| match one.configuration.root() {
            ConfigurationRoot::Selected => true,
            ConfigurationRoot::Document(root) => paths.contains(root),
        });
        for (at, path) in paths.iter().enumerate() {
            self.load(ConfigurationRoot::Document(path.clone()), at + 1, world);
        }
        self.choose_active();
    }

    /// Reads a configuration unless it is already in the list at this index. Configurations are in the order of their
    /// documents.
    fn load(&mut self, root: ConfigurationRoot, at: usize, world: &OverlayWorld<'_>) {
        if self.configurations.get(at).is_some_and(|one| *one.configuration.root() == root) {
            return;
        }
        let configuration = LoadedConfiguration::load(root, &self.settings, world);
        let checked = CheckedConfiguration {
            configuration,
            outcome: None,
            has_certain_corrections: false,
            is_active: true,
        };
        self.configurations.insert(at.min(self.configurations.len()), checked);
    }

    /// Deactivates the configurations of documents that another configuration reads. If two documents include each
    /// other, the configuration of the first one remains active.
    fn choose_active(&mut self) {
        let reads = |reader: usize, read: usize| {
            let root = self.configurations[read].configuration.root_path();
            root.is_some_and(|root| self.configurations[reader].configuration.reads(root))
        };
        let count = self.configurations.len();
        let is_absorbed = |at: usize| {
            (0..count).any(|other| other != at && reads(other, at) && (other < at || !reads(at, other)))
        };
        let is_wanted = self.settings.load.file.is_some();
        let active: Vec<bool> = (0..count)
            .map(|at| match self.configurations[at].configuration.root() {
                ConfigurationRoot::Selected => {
                    let configuration = &self.configurations[at].configuration;
                    let is_used = self.documents.iter().any(|document| configuration.reads(&document.path));
                    is_used || is_wanted && self.documents.iter().next().is_some()
                }
                ConfigurationRoot::Document(_) => !is_absorbed(at),
            })
            .collect();
        for (one, is_active) in self.configurations.iter_mut().zip(active) {
            one.is_active = is_active;
        }
    }

    /// Checks the configurations that have not been checked since they were read.
    pub fn check(&mut self, world: &OverlayWorld<'_>) {
        self.refresh(world);
        for one in self.configurations.iter_mut().filter(|one| one.is_active && one.outcome.is_none()) {
            one.outcome = Some(one.configuration.check(&self.settings, world));
        }
    }

    /// Checks the configurations and their corrections.
    pub fn check_corrections(&mut self, world: &OverlayWorld<'_>) {
        self.check(world);
        for one in self.configurations.iter_mut().filter(|one| one.is_active && !one.has_certain_corrections)
        {
            if let Some(CheckOutcome::Findings(findings)) = &mut one.outcome {
                one.configuration.check_corrections(findings, &self.settings, world);
            }
            one.has_certain_corrections = one.outcome.is_some();
        }
    }

    /// Returns the results of all configurations that are checked separately.
    pub fn outcomes(&self) -> impl Iterator<Item = (&LoadedConfiguration, &CheckOutcome)> {
        let active = self.configurations.iter().filter(|one| one.is_active);
        active.filter_map(|one| Some((&one.configuration, one.outcome.as_ref()?)))
    }

    /// Returns the findings of a rules file.
    pub fn check_rules(&self, document: &Document, world: &dyn World) -> Vec<Finding> {
        let name = document.path.to_string_lossy();
        let mut findings = lint_rules_file(&name, document.text(), None, world);
        findings.retain(|finding| self.settings.selects(finding.rule));
        findings
    }

    /// Returns the configuration that a file belongs to, or `None` if no configuration reads it.
    pub fn configuration_of(&self, path: &Path) -> Option<&LoadedConfiguration> {
        let active = self.configurations.iter().filter(|one| one.is_active);
        active.map(|one| &one.configuration).find(|configuration| configuration.reads(path))
    }

    /// Returns the URI of a file. For an open file, this is the URI that the editor uses.
    pub fn uri(&self, path: &Path) -> Option<Uri> {
        match self.documents.by_path(path) {
            Some(document) => Some(document.uri.clone()),
            None => uri_of_path(path),
        }
    }
}
