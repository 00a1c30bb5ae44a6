//! Macros that the sources have set: names, raw values, the place of each definition and the values that it
//! replaced.

use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::Arc;

use bstr::{BStr, BString};
use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::defaults::{self, Parameter, SubsystemDefaults};
use crate::detected::DetectedValues;
use crate::macro_definition::{
    ConfigSource, Definition, DefinitionPlace, FoundMacro, LookupContext, MacroEntry, SourceId, SourceKind,
};
use crate::shared_text::SharedText;
use crate::string_pool::StringPool;
use crate::template::{self, Template};
use crate::use_counts::{EntryUses, LookupPurpose, LookupPurposeGuard, UseCounts};
use htc_base::text::caseless;
use htc_base::world::World;

/// Maximum number of bytes of replaced values that are kept.
const MAX_HISTORY_BYTES: usize = 32 * 1024 * 1024;

/// Returns a new value for a definition. Its arguments are the name, the raw value, and true if a template
/// set it.
type ValueRewriter<'a> = dyn Fn(&[u8], &[u8], bool) -> BString + 'a;

/// All names that sources set.
#[derive(Clone, Debug, Default)]
pub struct MacroSet {
    entries: Vec<MacroEntry>,
    displaced: Vec<u32>,
    /// Numbers of entries by their names in lower case.
    index: HashTable<u32>,
    /// True if any name contains a dot; otherwise names with a prefix need not be looked up.
    has_dotted: bool,
    sources: Vec<ConfigSource>,
    history: usize,
    /// Properties of the machine; definitions in the table take precedence over them.
    pub(crate) detected: DetectedValues,
    /// STRICT_CLASSAD_EVALUATION, once it has been read: the mode in which expressions in values are parsed
    /// and evaluated.
    pub(crate) strict: bool,
    /// True if values equal to their defaults are stored (`-summary`, `-writeconfig`).
    pub(crate) keep_defaults: bool,
    /// True if the text of each source is kept.
    pub(crate) keep_texts: bool,
    /// Values that were replaced, if `record_replacements` is set.
    pub(crate) replacements: Vec<ValueReplacement>,
    /// True if `replacements` is kept.
    pub(crate) record_replacements: bool,
    /// Numbers of look-ups of each name, if they are counted.
    pub(crate) use_counts: Option<Box<UseCounts>>,
    /// Texts that the reference copies into its string pool, if they are counted.
    pub(crate) string_pool: Option<Box<StringPool>>,
}

/// Replacement of a name's value by a later definition.
#[derive(Clone, Debug)]
pub struct ValueReplacement {
    /// The name in its new spelling.
    pub name: BString,
    /// Raw value of the replaced definition.
    pub old_raw: BString,
    /// Place of the old value.
    pub place: DefinitionPlace,
}

/// Calls `then` with `prefix.name` in lower case. A short name needs no allocation.
fn with_lowercase_key<T>(prefix: &[u8], name: &[u8], then: impl FnOnce(&BStr) -> T) -> T {
    let length = name.len() + if prefix.is_empty() { 0 } else { prefix.len() + 1 };
    let mut short = [0u8; 120];
    let mut long;
    let key = if length <= short.len() {
        &mut short[..length]
    } else {
        long = vec![0; length];
        &mut long[..]
    };
    let at = length - name.len();
    if at > 0 {
        key[..prefix.len()].copy_from_slice(prefix);
        key[prefix.len()] = b'.';
    }
    key[at..].copy_from_slice(name);
    key.make_ascii_lowercase();
    then(BStr::new(key))
}

/// Returns the hash of a name in lower case.
fn hash_key(key: &BStr) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

impl MacroSet {
    pub(crate) fn new() -> Self {
        let special = |name: &str| ConfigSource::new(name.into(), SourceKind::Special, None);
        MacroSet {
            sources: ["<Detected>", "<Default>", "<Environment>", "<Over>"].map(special).into(),
            ..MacroSet::default()
        }
    }

    pub(crate) fn add_source(&mut self, source: ConfigSource) -> SourceId {
        let id = SourceId(u32::try_from(self.sources.len()).unwrap_or(u32::MAX));
        if let Some(pool) = &mut self.string_pool {
            pool.push(&source.name);
        }
        self.sources.push(source);
        id
    }

    /// Removes the last source, which has not defined any name.
    pub(crate) fn remove_last_source(&mut self) {
        self.sources.pop();
        if let Some(pool) = &mut self.string_pool {
            pool.pop();
        }
    }

    pub(crate) fn set_text(&mut self, id: SourceId, text: Arc<[u8]>) {
        if let Some(source) = self.sources.get_mut(id.0 as usize).filter(|_| self.keep_texts) {
            source.keep_text(text);
        }
    }

    /// Returns all sources in the order in which they were opened, the four special ones first.
    pub fn sources(&self) -> &[ConfigSource] {
        &self.sources
    }

    /// Returns the ids of all sources in the order in which they were opened.
    pub fn source_ids(&self) -> impl Iterator<Item = SourceId> + use<> {
        (0..u32::try_from(self.sources.len()).unwrap_or(u32::MAX)).map(SourceId)
    }

    /// Returns the replacements of values in the order in which they happened, if they were recorded.
    pub fn replacements(&self) -> &[ValueReplacement] {
        &self.replacements
    }

    /// Returns the source with this id.
    pub fn source(&self, id: SourceId) -> &ConfigSource {
        &self.sources[(id.0 as usize).min(self.sources.len() - 1)]
    }

    /// Returns all entries in the order of their first definitions.
    pub fn entries(&self) -> impl Iterator<Item = &MacroEntry> {
        let displaced = |at: usize| self.displaced.iter().any(|&gone| gone as usize == at);
        self.entries.iter().enumerate().filter(move |&(at, _)| !displaced(at)).map(|(_, entry)| entry)
    }

    /// Returns all detected values, in the order of their names. A detected name that a file sets is
    /// also among [`MacroSet::entries`].
    pub fn detected<'a>(&'a self, world: &'a dyn World) -> impl Iterator<Item = (&'a BStr, &'a BStr)> {
        self.detected.all(world).map(|(name, value)| (self.display_spelling(name), value))
    }

    /// Returns the spelling of a detected name in output: that of the first source that set it before it was
    /// detected.
    pub(crate) fn display_spelling<'a>(&'a self, known: &'static str) -> &'a BStr {
        let first = self.displaced_entries().find(|entry| caseless::eq(&entry.name, known.as_bytes()));
        first.map_or(BStr::new(known), |entry| &entry.name)
    }

    /// Returns the entry with exactly that name, without defaults or prefixes.
    pub fn find_exact(&self, name: &[u8]) -> Option<&MacroEntry> {
        self.find_with_prefix(b"", name)
    }

    /// Returns the entry `prefix.name`, or `name` if the prefix is empty.
    pub fn find_with_prefix(&self, prefix: &[u8], name: &[u8]) -> Option<&MacroEntry> {
        if !prefix.is_empty() && !self.has_dotted {
            return None;
        }
        self.entries.get(self.find_index(prefix, name)?)
    }

    /// Sets a name (`config.cpp`, `insert_macro`); self references must have been expanded. The first
    /// spelling is kept; a new plain name whose value equals its default is not stored.
    pub(crate) fn insert(&mut self, name: &[u8], raw: BString, place: DefinitionPlace) {
        self.insert_as(name, name, Cow::Owned(raw.into()), place);
    }

    /// Does the same as [`MacroSet::insert`], but a new entry is shown as `shown`.
    pub(crate) fn insert_as(
        &mut self,
        shown: &[u8],
        name: &[u8],
        raw: Cow<'_, [u8]>,
        place: DefinitionPlace,
    ) {
        let parameter = find_parameter(name);
        let matches_default = parameter.is_some_and(|parameter| is_same_value(&parameter.default(), &raw));
        let source = self.source(place.source);
        let (shared_name, raw) = (
            source.share(name),
            match raw {
                Cow::Borrowed(raw) => source.share(raw),
                Cow::Owned(raw) => raw.into(),
            },
        );
        if let Some(at) = self.find_index(b"", name) {
            let entry = &mut self.entries[at];
            if let Some(pool) = self.string_pool.as_mut().filter(|_| entry.current.raw != raw) {
                pool.push(&raw);
            }
            let definition = Definition { name: shared_name, raw, place, matches_default };
            let mut old = std::mem::replace(&mut entry.current, definition);
            if self.record_replacements {
                self.replacements.push(ValueReplacement {
                    name: name.into(),
                    old_raw: (&old.raw).into(),
                    place: old.place,
                });
            }
            self.history += old.raw.len() + 64;
            if self.history > MAX_HISTORY_BYTES {
                old.raw = SharedText::default();
            }
            if self.history < 4 * MAX_HISTORY_BYTES {
                entry.replaced.push(old);
            }
            return;
        }
        if matches_default && defaults::find(name).is_some() && !self.keep_defaults {
            return;
        }
        if let Some(pool) = self.string_pool.as_mut() {
            pool.push_entry(name, &raw, matches_default);
        }
        self.has_dotted |= name.contains(&b'.');
        let shown = if shown == name { shared_name.clone() } else { shown.into() };
        let current = Definition { name: shared_name, raw, place, matches_default };
        self.push_entry(MacroEntry { name: shown, current, replaced: Vec::new(), parameter });
    }

    /// Adds an entry of a new name.
    fn push_entry(&mut self, entry: MacroEntry) {
        let at = self.entries.len();
        self.entries.push(entry);
        let entries = &self.entries;
        let hash_of = |at: &u32| with_lowercase_key(b"", &entries[*at as usize].name, hash_key);
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.index.insert_unique(hash_of(&at), at, hash_of);
    }

    /// Returns the number of the entry `prefix.name`, or of `name` if the prefix is empty.
    fn find_index(&self, prefix: &[u8], name: &[u8]) -> Option<usize> {
        let at = with_lowercase_key(prefix, name, |key| {
            let is_name = |at: &u32| caseless::eq(&self.entries[*at as usize].name, key);
            self.index.find(hash_key(key), is_name).copied()
        })?;
        Some(at as usize)
    }

    /// Appends to the value of a name in place; returns false if this is not possible, because the old value
    /// or the number of reads must be kept.
    pub(crate) fn append(&mut self, name: &[u8], appended: &[u8], place: DefinitionPlace) -> bool {
        let is_watched = self.use_counts.is_some() || self.string_pool.is_some() || self.record_replacements;
        let Some(at) = self.find_index(b"", name) else {
            return false;
        };
        let current = &mut self.entries[at].current;
        let length = current.raw.len();
        if is_watched || length == 0 || self.history + length + 64 <= MAX_HISTORY_BYTES {
            return false;
        }
        let mut raw = Vec::from(current.raw.take());
        raw.extend_from_slice(appended);
        self.history += length;
        self.insert(name, raw.into(), place);
        true
    }

    /// Replaces all raw values, including those that are no longer in effect.
    pub(crate) fn rewrite_values(&mut self, value: &ValueRewriter<'_>) {
        for entry in &mut self.entries {
            for definition in entry.replaced.iter_mut().chain([&mut entry.current]) {
                let is_template = definition.place.template.is_some();
                definition.raw = value(&definition.name, &definition.raw, is_template).into();
            }
        }
        for old in &mut self.replacements {
            old.old_raw = value(&old.name, &old.old_raw, old.place.template.is_some());
        }
    }

    /// Replaces the names and the kept texts of all sources.
    pub(crate) fn rewrite_sources(
        &mut self,
        name: &dyn Fn(&[u8]) -> BString,
        text: &dyn Fn(&[u8]) -> Vec<u8>,
    ) {
        for source in &mut self.sources {
            source.name = name(&source.name);
            if let Some(kept) = source.text.take() {
                source.keep_text(Arc::from(text(&kept)));
            }
        }
    }

    /// Removes a name from the table, because a detected value replaces it.
    pub(crate) fn displace(&mut self, name: &str) {
        let entries = &self.entries;
        let found = with_lowercase_key(b"", name.as_bytes(), |key| {
            self.index.find_entry(hash_key(key), |at| caseless::eq(&entries[*at as usize].name, key)).ok()
        });
        if let Some(found) = found {
            self.displaced.push(found.remove().0);
        }
    }

    /// Returns the definitions of names that are always detected, so that the definitions had no effect.
    pub fn displaced_entries(&self) -> impl Iterator<Item = &MacroEntry> {
        self.displaced.iter().filter_map(|&at| self.entries.get(at as usize))
    }

    /// Looks up `name` (`lookup_macro`): local name, its defaults, subsystem, its defaults, plain name,
    /// defaults.
    pub fn find(&self, name: &[u8], context: &LookupContext, world: &dyn World) -> Option<FoundMacro<'_>> {
        let found = self.find_uncounted(name, context, world);
        if let Some(counts) = &self.use_counts
            && let Some(found) = &found
        {
            counts.count(found.count_key());
        }
        found
    }

    /// Does the same as [`MacroSet::find`] without counting the look-up as a use.
    pub fn find_uncounted(
        &self,
        name: &[u8],
        context: &LookupContext,
        world: &dyn World,
    ) -> Option<FoundMacro<'_>> {
        for prefix in [&context.local_name, &context.subsystem] {
            if prefix.is_empty() {
                continue;
            }
            if let Some(entry) = self.find_with_prefix(prefix, name) {
                return Some(FoundMacro::Set(entry));
            }
            if let Some(parameter) = defaults::find_in_subsystem(prefix, name) {
                return Some(FoundMacro::Default(parameter));
            }
        }
        if let Some(entry) = self.find_exact(name) {
            return Some(FoundMacro::Set(entry));
        }
        if let Some((name, value)) = self.detected.find(name, world) {
            return Some(FoundMacro::Detected { name: self.display_spelling(name), value });
        }
        defaults::find_qualified(name).map(FoundMacro::Default)
    }

    /// Returns the number of times an entry was read; 0 if reads are not counted.
    pub fn use_count(&self, found: &FoundMacro<'_>) -> EntryUses {
        self.use_counts.as_ref().map(|counts| counts.uses_of(found.count_key())).unwrap_or_default()
    }

    /// Restores the count of an entry.
    pub fn restore_use_count(&self, found: &FoundMacro<'_>, uses: EntryUses) {
        if let Some(counts) = &self.use_counts {
            counts.restore(found.count_key(), uses);
        }
    }

    /// Returns two numbers: entries whose value was used, and entries to which other values refer.
    pub fn count_used_entries(&self) -> (usize, usize) {
        self.use_counts.as_ref().map(|counts| counts.totals()).unwrap_or_default()
    }

    /// Sets the purpose of look-ups until the guard is dropped.
    pub fn set_lookup_purpose(&self, purpose: LookupPurpose) -> Option<LookupPurposeGuard<'_>> {
        self.use_counts.as_ref().map(|counts| counts.set_purpose(purpose))
    }

    /// Returns the texts that the reference would have copied, if they were counted.
    pub fn string_pool(&self) -> Option<&StringPool> {
        self.string_pool.as_deref()
    }

    /// Returns the entry that is displayed for `name`: that of [`MacroSet::find`], but without the defaults of the
    /// local name (`param_get_info`, condor_config.cpp).
    pub fn find_for_display(
        &self,
        name: &[u8],
        context: &LookupContext,
        world: &dyn World,
    ) -> Option<FoundMacro<'_>> {
        if let Some(entry) = self.find_for_local_name(name, context) {
            return Some(entry);
        }
        let subsystem_context =
            LookupContext { subsystem: context.subsystem.clone(), local_name: BString::default() };
        self.find_uncounted(name, &subsystem_context, world)
    }

    /// Does the same as [`MacroSet::find_for_display`] for a name that is not set without a prefix, so that
    /// only prefixed names are looked up. `defaults` are those of the context's subsystem.
    pub fn find_prefixed(
        &self,
        name: &[u8],
        context: &LookupContext,
        defaults: &SubsystemDefaults,
    ) -> Option<FoundMacro<'_>> {
        let of_subsystem = || self.find_with_prefix(&context.subsystem, name).map(FoundMacro::Set);
        self.find_for_local_name(name, context).or_else(|| match context.subsystem.is_empty() {
            true => None,
            false => of_subsystem().or_else(|| defaults.find(name).map(FoundMacro::Default)),
        })
    }

    fn find_for_local_name(&self, name: &[u8], context: &LookupContext) -> Option<FoundMacro<'_>> {
        let local = Some(&context.local_name).filter(|local| !local.is_empty());
        local.and_then(|local| self.find_with_prefix(local, name)).map(FoundMacro::Set)
    }

    /// Returns a place as output shows it: `FILE, line N, use CATEGORY:NAME+K`.
    pub fn describe_place(&self, place: &DefinitionPlace) -> BString {
        let mut text = self.source(place.source).name.clone();
        if let Some(line) = place.line {
            text.extend_from_slice(format!(", line {line}").as_bytes());
        }
        if let Some(template) = self.template_place(place) {
            text.extend_from_slice(b", use ");
            text.extend_from_slice(&template);
        }
        text
    }

    /// Returns the template at a place: `CATEGORY:NAME+K`.
    pub fn template_place(&self, place: &DefinitionPlace) -> Option<BString> {
        let at = place.template?;
        let mut text = template_name(template::by_index(at.index)?);
        text.extend_from_slice(format!("+{}", at.line).as_bytes());
        Some(text.into())
    }
}

/// Returns `CATEGORY:NAME` of a template.
fn template_name(template: Template) -> Vec<u8> {
    [template.category(), b":", template.name()].concat()
}

/// Returns the parameter of a name: that of the name itself, or of the part after its first dot
/// (`param_default_get_id`).
fn find_parameter(name: &[u8]) -> Option<Parameter> {
    defaults::find(name).or_else(|| {
        let dot = memchr::memchr(b'.', name)?;
        defaults::find(&name[dot + 1..])
    })
}

/// Returns true if a value equals its default: the same bytes, or the same boolean in another case.
fn is_same_value(default: &[u8], value: &[u8]) -> bool {
    !default.is_empty() && default == value
        || caseless::eq(default, value) && (caseless::eq(value, b"true") || caseless::eq(value, b"false"))
}
