//! Input of the rules: a configuration, with the results of queries that several rules need.

use htc_config::lint_rule::LintRule;
use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet};

use super::expanded_values::ExpandedValues;
use super::known_names::KnownParameterNames;
use super::referenced_names::{ReferencedNames, collect_referenced_names};
use super::script_mentions::find_mentions;
use htc_base::text::similar_names::SimilarNames;
use htc_base::text::{caseless, unqualified_name};
use htc_base::world::World;
use htc_classad::Dialect;
use htc_config::finding::Finding;
use htc_config::macro_definition::{Definition, MacroEntry, SourceId};
use htc_config::source_index::SourceIndex;
use htc_config::source_location::locate_definition;
use htc_config::{Config, ConfigView, ExpandError, IntoAdvice};

/// Input of the rules.
pub struct LintSubject<'a> {
    /// The configuration, loaded with the text of its sources.
    pub config: &'a Config,
    /// View of the configuration's values.
    pub view: ConfigView<'a>,
    /// Access to the machine.
    pub world: &'a dyn World,
    /// Names that have a meaning in the configuration.
    pub known: KnownParameterNames,
    /// Files outside the configuration that use its parameters.
    pub used_by: Vec<PathBuf>,
    /// False if sources that were not read may use a macro. Unused macros are then not reported.
    pub reports_unused_macros: bool,
    /// False if other files of the configuration, which are not known, may define attributes.
    pub is_complete: bool,
    /// Names in lower case to which the check is limited, or `None` if it is not.
    pub only_names: Option<FxHashSet<Vec<u8>>>,
    /// False if the environment was not read. It may set any parameter.
    pub reads_environment: bool,
    set_names: OnceCell<SimilarNames<&'a [u8]>>,
    names_after_prefix: OnceCell<FxHashSet<Vec<u8>>>,
    referenced: OnceCell<ReferencedNames>,
    mentioned: OnceCell<FxHashMap<Vec<u8>, BString>>,
    sources: Vec<OnceCell<SourceIndex>>,
    transform_text: OnceCell<Vec<u8>>,
    in_transforms: RefCell<FxHashMap<Vec<u8>, bool>>,
    resource_tags: OnceCell<Vec<&'a [u8]>>,
    expanded: RefCell<ExpandedValues>,
}

impl<'a> LintSubject<'a> {
    /// Creates the input of the rules for a configuration.
    pub fn new(config: &'a Config, world: &'a dyn World) -> Self {
        let view = config.view(world);
        let known = KnownParameterNames::new(config, &view);
        let sources = config.set.sources().iter().map(|_| OnceCell::new()).collect();
        LintSubject {
            config,
            view,
            world,
            known,
            used_by: Vec::new(),
            reports_unused_macros: true,
            is_complete: true,
            only_names: None,
            reads_environment: true,
            set_names: OnceCell::new(),
            names_after_prefix: OnceCell::new(),
            referenced: OnceCell::new(),
            mentioned: OnceCell::new(),
            sources,
            transform_text: OnceCell::new(),
            in_transforms: RefCell::default(),
            resource_tags: OnceCell::new(),
            expanded: RefCell::default(),
        }
    }

    /// True if a transform, a route or a list of job attributes contains the name.
    pub(super) fn is_in_transforms(&self, name: &[u8]) -> bool {
        let name = name.to_ascii_lowercase();
        if let Some(found) = self.in_transforms.borrow().get(&name) {
            return *found;
        }
        let found = memchr::memmem::find(self.transform_text(), &name).is_some();
        self.in_transforms.borrow_mut().insert(name, found);
        found
    }

    /// Returns the values of transforms, routes and lists of job attributes in lower case, with a zero byte after each.
    fn transform_text(&self) -> &[u8] {
        const STARTS: [&str; 7] = [
            "JOB_TRANSFORM_",
            "JOB_ROUTER_",
            "SUBMIT_ATTRS",
            "SUBMIT_EXPRS",
            "STARTD_JOB_",
            "EXTENDED_SUBMIT_COMMANDS",
            "SUBMIT_TEMPLATE_",
        ];
        self.transform_text.get_or_init(|| {
            let is_transform = |name: &[u8]| {
                let bare = unqualified_name(name);
                STARTS.iter().any(|start| caseless::starts_with(bare, start.as_bytes()))
            };
            let entries = self.config.set.entries().filter(|entry| is_transform(&entry.name));
            let mut text = Vec::new();
            for entry in entries {
                text.extend_from_slice(&entry.raw().to_ascii_lowercase());
                text.push(0);
            }
            text
        })
    }

    /// True if a name contains the name of a machine resource, from which HTCondor derives attributes: `Licence`,
    /// `TotalLicence`.
    pub(super) fn is_machine_resource(&self, name: &[u8]) -> bool {
        let tags = self.resource_tags.get_or_init(|| {
            let tag = |entry: &'a MacroEntry| {
                ["MACHINE_RESOURCE_INVENTORY_", "MACHINE_RESOURCE_"]
                    .iter()
                    .find_map(|start| caseless::strip_prefix(&entry.name, start.as_bytes()))
            };
            self.config.set.entries().filter_map(tag).filter(|tag| tag.len() > 1).collect()
        });
        tags.iter().any(|tag| caseless::contains(name, tag))
    }

    /// Returns the dialect of expressions in the configuration's values.
    pub fn dialect(&self) -> Dialect {
        Dialect::of_world(self.world).strict(self.config.is_strict())
    }

    /// Returns the names that the configuration sets.
    pub(super) fn names_set(&self) -> &SimilarNames<&'a [u8]> {
        self.set_names
            .get_or_init(|| SimilarNames::new(self.config.set.entries().map(|entry| entry.name.as_bytes())))
    }

    /// Returns the end of a message that a parameter is not set: `, unless the environment, which was not read, sets
    /// _condor_X`, or nothing if the environment was read.
    pub(super) fn environment_limit(&self, name: &[u8]) -> String {
        match self.reads_environment {
            true => String::new(),
            false => format!(", unless the environment, which was not read, sets _condor_{}", name.as_bstr()),
        }
    }

    /// Returns the names to which the configuration refers.
    pub(super) fn referenced_names(&self) -> &ReferencedNames {
        self.referenced
            .get_or_init(|| collect_referenced_names(self.config, &self.view, self.names_set(), &self.known))
    }

    /// Returns the script, submit file or template that mentions a name.
    pub(super) fn file_mentioning(&self, name: &[u8]) -> Option<&BString> {
        self.mentioned
            .get_or_init(|| find_mentions(self.config, &self.view, &self.used_by))
            .get(&name.to_ascii_lowercase())
    }

    /// Expands the value of an entry.
    ///
    /// # Errors
    /// The expansion is circular or too long.
    pub(crate) fn expand_entry(&self, entry: &MacroEntry) -> Result<BString, ExpandError> {
        let raw = entry.raw();
        if memchr::memchr(b'$', raw).is_none() {
            return Ok(raw.into());
        }
        let is_found = self.view.raw_bytes(&entry.name).is_some_and(|found| found == **raw);
        let known = is_found.then(|| self.expanded.borrow_mut().expand(&self.view, &entry.name));
        known.flatten().map_or_else(|| self.view.expand_raw(&entry.name, raw), Ok)
    }

    /// Returns true if a name is set, possibly with a prefix and a dot.
    pub(crate) fn is_set_with_any_prefix(&self, name: &[u8]) -> bool {
        let prefixed = self.names_after_prefix.get_or_init(|| {
            let entries = self.config.set.entries().filter(|entry| entry.name.contains(&b'.'));
            entries.map(|entry| unqualified_name(&entry.name).to_ascii_lowercase()).collect()
        });
        self.config.set.find_exact(name).is_some() || prefixed.contains(&name.to_ascii_lowercase())
    }

    /// Returns the index of lines and conditions of a source, or `None` if it has no text.
    pub(super) fn source_index(&self, source: SourceId) -> Option<&SourceIndex> {
        let text = self.config.set.source(source).text.as_deref()?;
        let cell = self.sources.get(source.number() as usize)?;
        Some(cell.get_or_init(|| SourceIndex::new(text)))
    }

    /// Returns the entries from files, commands and overlays, without those that are detected or come only from
    /// templates.
    pub fn user_written_entries(&self) -> impl Iterator<Item = &'a MacroEntry> {
        let is_checked = |entry: &&MacroEntry| {
            self.only_names.as_ref().is_none_or(|names| names.contains(&entry.name.to_ascii_lowercase()))
        };
        self.config.set.entries().filter(|entry| entry.current.is_user_written()).filter(is_checked)
    }

    /// Creates a finding about a part of a definition's raw value, or about the whole value.
    pub fn make_finding(
        &self,
        rule: LintRule,
        definition: &Definition,
        part: Option<(usize, usize)>,
        message: impl Into<String>,
        fix: impl IntoAdvice,
    ) -> Finding {
        let spot = self.source_index(definition.place.source).and_then(|index| {
            locate_definition(self.config.set.source(definition.place.source), index, definition, part)
        });
        Finding::new(rule, definition, spot, message.into(), fix)
    }
}
