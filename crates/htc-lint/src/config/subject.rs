//! What the rules see: a configuration, and what is asked of it again and again.

use std::cell::OnceCell;

use bstr::BString;
use rustc_hash::{FxHashMap, FxHashSet};

use super::known::Known;
use super::referenced::referenced;
use super::scripts::mentioned;
use htc_base::text::bare_name;
use htc_base::text::similar::Names;
use htc_base::world::World;
use htc_classad::Dialect;
use htc_config::finding::Finding;
use htc_config::macro_set::{Definition, Entry, SourceId};
use htc_config::source_index::SourceIndex;
use htc_config::spot::spot;
use htc_config::{Config, View};

/// What the rules see.
pub struct Subject<'a> {
    /// The configuration; its texts were kept.
    pub config: &'a Config,
    /// Its values.
    pub view: View<'a>,
    /// Everything outside.
    pub world: &'a dyn World,
    /// Which names mean something.
    pub known: Known,
    own: OnceCell<Names<&'a [u8]>>,
    ends: OnceCell<FxHashSet<Vec<u8>>>,
    referenced: OnceCell<FxHashSet<Vec<u8>>>,
    mentioned: OnceCell<FxHashMap<Vec<u8>, BString>>,
    sources: Vec<OnceCell<SourceIndex>>,
}

impl<'a> Subject<'a> {
    /// Prepares a configuration for the rules.
    pub fn new(config: &'a Config, world: &'a dyn World) -> Self {
        let view = config.view(world);
        let known = Known::new(config, &view);
        let sources = config.set.sources().iter().map(|_| OnceCell::new()).collect();
        Subject {
            config,
            view,
            world,
            known,
            own: OnceCell::new(),
            ends: OnceCell::new(),
            referenced: OnceCell::new(),
            mentioned: OnceCell::new(),
            sources,
        }
    }

    /// How expressions in its values are read.
    pub fn dialect(&self) -> Dialect {
        Dialect::of(self.world).strict(self.config.is_strict())
    }

    /// The names that the configuration sets.
    pub(super) fn own_names(&self) -> &Names<&'a [u8]> {
        self.own.get_or_init(|| Names::new(self.config.set.entries().map(|entry| &entry.name[..])))
    }

    /// The names that something refers to, in lower case.
    pub(super) fn referenced(&self) -> &FxHashSet<Vec<u8>> {
        self.referenced.get_or_init(|| referenced((self.config, &self.view), self.own_names(), &self.known))
    }

    /// The script, submit file or template that mentions a name.
    pub(super) fn mentioned(&self, name: &[u8]) -> Option<&BString> {
        self.mentioned.get_or_init(|| mentioned(self.config, &self.view)).get(&name.to_ascii_lowercase())
    }

    /// Whether a name is set at least with some prefix and a dot before it.
    pub(super) fn is_set_somewhere(&self, name: &[u8]) -> bool {
        let ends = self.ends.get_or_init(|| {
            let last = |name: &BString| bare_name(name).to_ascii_lowercase();
            self.config.set.entries().map(|entry| last(&entry.name)).collect()
        });
        ends.contains(&name.to_ascii_lowercase())
    }

    /// Where the lines and conditions of a source begin; `None` if it has no text.
    pub(super) fn source_index(&self, source: SourceId) -> Option<&SourceIndex> {
        let text = self.config.set.source(source).text.as_deref()?;
        let cell = self.sources.get(source.number() as usize)?;
        Some(cell.get_or_init(|| SourceIndex::new(text)))
    }

    /// The entries that a person wrote: of files, commands and overlays, not detected, not of templates alone.
    pub fn written(&self) -> impl Iterator<Item = &'a Entry> {
        self.config.set.entries().filter(|entry| entry.current.is_written())
    }

    /// A finding about a part of a definition's raw value, or about all of it.
    pub fn finding(
        &self,
        rule: &'static str,
        definition: &Definition,
        part: Option<(usize, usize)>,
        message: impl Into<String>,
        fix: impl Into<Option<String>>,
    ) -> Finding {
        let spot = self
            .source_index(definition.place.source)
            .and_then(|index| spot(self.config.set.source(definition.place.source), index, definition, part));
        Finding::new(rule, (definition, spot), message.into(), fix.into())
    }
}
