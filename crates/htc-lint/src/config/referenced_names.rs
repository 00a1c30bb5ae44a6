//! Names to which a configuration refers.

use bstr::ByteSlice;
use rustc_hash::FxHashSet;

use super::known_names::KnownParameterNames;
use super::parameter_names::is_attribute_list;
use super::removed_parameters::replacement_for;
use htc_base::text::similar_names::SimilarNames;
use htc_base::text::table::matches_family_pattern;
use htc_base::text::{caseless, list, unqualified_name};
use htc_config::condition::split_if_keyword;
use htc_config::lines::LogicalLines;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_config::statement::{StatementOperator, split_line};
use htc_config::{Config, ConfigView, defaults, template};

/// Names to which a configuration refers, in lower case.
#[derive(Debug, Default)]
pub(super) struct ReferencedNames {
    /// Names to which the value of another name, a condition or another statement refers.
    elsewhere: FxHashSet<Vec<u8>>,
    /// Names whose values refer to the same name.
    in_own_value: FxHashSet<Vec<u8>>,
    /// References from removed parameters to other removed parameters: the name that is set, and the name in the
    /// reference.
    between_removed: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ReferencedNames {
    /// Returns true if something refers to a name.
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.is_used_elsewhere(name) || self.is_self_reference(name)
    }

    /// Returns true if anything other than the value of `name` refers to `name`.
    pub(super) fn is_used_elsewhere(&self, name: &[u8]) -> bool {
        self.elsewhere.contains(&name.to_ascii_lowercase())
    }

    /// Returns true if the value of `name` refers to `name` itself.
    pub(super) fn is_self_reference(&self, name: &[u8]) -> bool {
        self.in_own_value.contains(&name.to_ascii_lowercase())
    }

    /// Adds the names to which the value of `owner` refers.
    fn add_value(&mut self, owner: &[u8], names: FxHashSet<Vec<u8>>) {
        let owner = owner.to_ascii_lowercase();
        let is_removed = |name: &[u8]| replacement_for(unqualified_name(name)).is_some();
        let is_owner_removed = is_removed(&owner);
        for name in names {
            if name == owner {
                self.in_own_value.insert(name);
            } else if is_owner_removed && is_removed(&name) {
                self.between_removed.push((owner.clone(), name));
            } else {
                self.elsewhere.insert(name);
            }
        }
    }

    /// Adds the names to which removed parameters refer, if something else refers to these parameters.
    fn follow_removed_parameters(&mut self) {
        loop {
            let before = self.between_removed.len();
            let (used, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.between_removed)
                .into_iter()
                .partition(|(owner, _)| self.elsewhere.contains(owner));
            self.between_removed = rest;
            self.elsewhere.extend(used.into_iter().map(|(_, name)| name));
            if self.between_removed.len() == before {
                return;
            }
        }
    }
}

/// Returns the names to which any value, condition or statement refers. `set_names` are the names that the
/// configuration sets.
pub(super) fn collect_referenced_names(
    config: &Config,
    view: &ConfigView<'_>,
    set_names: &SimilarNames<&[u8]>,
    known: &KnownParameterNames,
) -> ReferencedNames {
    let mut all = ReferencedNames::default();
    for entry in config.set.entries() {
        for definition in entry.replaced.iter().chain([&entry.current]) {
            let mut names = FxHashSet::default();
            collect_names(&definition.raw, &mut names);
            all.add_value(&entry.name, names);
        }
    }
    let names = &mut all.elsewhere;
    for parameter in defaults::all() {
        collect_names(&parameter.default(), names);
    }
    let undefined: Vec<Vec<u8>> =
        names.iter().filter(|name| view.raw_bytes(name).is_none() && name.len() >= 6).cloned().collect();
    // A known parameter without a value is not a misspelling.
    let undefined = undefined.into_iter().filter(|name| !known.is_known(name));
    for name in undefined {
        // The name that a misspelled reference stands for is treated as used.
        if let Some(near) = set_names.nearest(&name, |_| true) {
            names.insert(near.to_ascii_lowercase());
        }
    }
    // The name that a misspelled word of a list stands for is treated as used, too.
    for word in known.advertised_attributes().iter().filter(|word| view.raw_bytes(word).is_none()) {
        if let Some(near) = set_names.nearest(word, |_| true) {
            names.insert(near.to_ascii_lowercase());
        }
    }
    // If a list is set again, the list is reported, not the attributes in its earlier value.
    for entry in config.set.entries().filter(|entry| is_attribute_list(&entry.name)) {
        for earlier in &entry.replaced {
            names.extend(list::split(&earlier.raw).map(<[u8]>::to_ascii_lowercase));
        }
    }
    for template in template::all() {
        collect_statement_names(&template.body(), &mut all);
    }
    // Conditions, includes, composed names, and self references that were expanded immediately.
    for source in config.set.sources() {
        let Some(text) = &source.text else {
            continue;
        };
        collect_statement_names(text, &mut all);
    }
    add_composed_names(config, &mut all.elsewhere);
    all.follow_removed_parameters();
    all
}

/// Adds the names to which composed references can refer: `$(ROLE_$(ROLE)_MEM)` can refer to every `ROLE_..._MEM`.
fn add_composed_names(config: &Config, names: &mut FxHashSet<Vec<u8>>) {
    let mut patterns: FxHashSet<Vec<u8>> = FxHashSet::default();
    for entry in config.set.entries() {
        for definition in entry.replaced.iter().chain([&entry.current]) {
            collect_patterns(&definition.raw, &mut patterns);
        }
    }
    for source in config.set.sources() {
        collect_patterns(source.text.as_deref().unwrap_or_default(), &mut patterns);
    }
    // More patterns would take too long. All names are then treated as used.
    const MAX_PATTERNS: usize = 500;
    if patterns.is_empty() {
        return;
    }
    if patterns.len() > MAX_PATTERNS {
        names.extend(config.set.entries().map(|entry| unqualified_name(&entry.name).to_ascii_lowercase()));
        return;
    }
    let matching = config.set.entries().filter(|entry| {
        patterns.iter().any(|pattern| matches_family_pattern(pattern, unqualified_name(&entry.name)))
    });
    names.extend(matching.map(|entry| unqualified_name(&entry.name).to_ascii_lowercase()));
}

/// Collects the names in references that contain other references, with `*` in place of each inner reference.
fn collect_patterns(text: &[u8], patterns: &mut FxHashSet<Vec<u8>>) {
    for start in text.find_iter(b"$(") {
        let mut pattern = Vec::new();
        let (mut at, mut depth) = (start + 2, 0usize);
        while let Some(&byte) = text.get(at) {
            let is_open = text[at..].starts_with(b"$(");
            match byte {
                _ if is_open => {
                    if depth == 0 {
                        pattern.push(b'*');
                    }
                    depth += 1;
                    at += 1;
                }
                b')' if depth > 0 => depth -= 1,
                _ if depth > 0 && byte != b'\n' => {}
                _ if byte.is_ascii_alphanumeric() || b"_.".contains(&byte) => pattern.push(byte),
                _ => break,
            }
            at += 1;
        }
        // A single star would match every name.
        let letters = pattern.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
        if pattern.contains(&b'*') && letters > 0 {
            patterns.insert(pattern);
        }
    }
}

/// Adds the names to which a text refers.
pub(super) fn collect_names(text: &[u8], names: &mut FxHashSet<Vec<u8>>) {
    if memchr::memchr(b'$', text).is_none() {
        return;
    }
    // References that are never expanded are included.
    let mut rest = text;
    while let Some(found) = memchr::memchr(b'$', rest) {
        rest = &rest[found + 1..];
        let Some(after) = rest.strip_prefix(b"(") else { continue };
        rest = after;
        let end = rest.find_byteset(b"):").unwrap_or(rest.len());
        names.insert(rest[..end].trim().to_ascii_lowercase());
    }
    let mut at = 0;
    while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
        match found.function {
            MacroFunction::Plain => {
                names.insert(found.name_and_default(text).0.to_ascii_lowercase());
            }
            MacroFunction::Env => {}
            _ => {
                for word in found.body(text).split(|b| !(b.is_ascii_alphanumeric() || b"_./".contains(b))) {
                    names.insert(word.to_ascii_lowercase());
                }
            }
        }
        // Defaults may contain references.
        at = found.body;
    }
}

/// Adds the names to which the statements of a text refer.
fn collect_statement_names(text: &[u8], all: &mut ReferencedNames) {
    let mut lines = LogicalLines::new(text);
    while let Some(line) = lines.next_line() {
        if line.text.first() == Some(&b'#') {
            continue;
        }
        let mut names = FxHashSet::default();
        collect_names(&line.text, &mut names);
        match split_line(&line.text) {
            Ok(statement) if statement.operator != StatementOperator::Here => {
                all.add_value(statement.name, names);
            }
            _ => all.elsewhere.extend(names),
        }
        if let Some(("if" | "elif", condition)) = split_if_keyword(&line.text) {
            let mut words = condition.split(|b| b" \t!".contains(b)).filter(|word| !word.is_empty());
            if words.next().is_some_and(|word| caseless::eq(word, b"defined"))
                && let Some(name) = words.next()
            {
                all.elsewhere.insert(name.to_ascii_lowercase());
            }
        }
    }
}
