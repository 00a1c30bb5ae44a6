//! Whether anybody reads a name: a daemon, a value that refers to it, or nobody.

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::known::Standing;
use super::{Subject, Unread, removed};
use crate::config::condition::if_keyword;
use crate::config::lines::LogicalLines;
use crate::config::reference::{Function, next_reference};
use crate::config::{defaults, template};
use crate::text::{bare_name, caseless};

/// What becomes of a name that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A daemon or tool reads it, or may.
    Read,
    /// Another value, condition or statement refers to it.
    ReferredTo,
    /// This script, submit file or template mentions it, and may ask for it.
    Mentioned(BString),
    /// Nobody reads this one of its family.
    Unread(Unread),
    /// Nobody reads it, and a parameter is called nearly so.
    Misspelled(BString),
    /// Earlier versions read it; what there is instead.
    Removed(&'static str),
    /// The site's own, and nothing that was read refers to it.
    Own,
}

impl Use {
    /// Whether it is known that something uses it.
    pub fn is_used(&self) -> bool {
        match self {
            Use::Read | Use::ReferredTo | Use::Mentioned(_) => true,
            Use::Unread(_) | Use::Misspelled(_) | Use::Removed(_) | Use::Own => false,
        }
    }
}

/// Judges a name.
pub fn of(subject: &Subject<'_>, name: &[u8]) -> Use {
    let standing = subject.known.standing(name);
    if standing == Standing::Read {
        return Use::Read;
    }
    let bare = bare_name(name);
    let referenced = subject.referenced();
    // A reference to the plain name does not use what is set behind a prefix that nobody has.
    let plain = if matches!(standing, Standing::Unread(_)) { name } else { bare };
    if [name, plain].iter().any(|name| referenced.contains(&name.to_ascii_lowercase())) {
        return Use::ReferredTo;
    }
    match standing {
        Standing::Unread(unread) => Use::Unread(unread),
        Standing::Read | Standing::Own if bare.len() > 1 && subject.mentioned(bare).is_some() => {
            Use::Mentioned(subject.mentioned(bare).cloned().unwrap_or_default())
        }
        Standing::Read | Standing::Own => match removed::instead_of(bare) {
            Some(instead) => Use::Removed(instead),
            None => subject.known.nearest(bare).map_or(Use::Own, Use::Misspelled),
        },
    }
}

/// The names that any value, condition or statement refers to, in lower case.
pub(super) fn referenced(subject: &Subject<'_>) -> FxHashSet<Vec<u8>> {
    let mut names = FxHashSet::default();
    for entry in subject.config.set.entries() {
        for definition in entry.replaced.iter().chain([&entry.current]) {
            collect(&definition.raw, &mut names);
        }
    }
    for parameter in defaults::all() {
        collect(&parameter.default(), &mut names);
    }
    let undefined: Vec<Vec<u8>> = names
        .iter()
        .filter(|name| subject.view.raw_bytes(name).is_none() && name.len() >= 6)
        .cloned()
        .collect();
    for name in undefined {
        // What was meant by a reference that is told as misspelled is used.
        if let Some(near) = subject.own_names().nearest(&name, |_| true) {
            names.insert(near.to_ascii_lowercase());
        }
    }
    // What was meant by a misspelled word of a list is used, too.
    for word in subject.known.attributes().iter().filter(|word| subject.view.raw_bytes(word).is_none()) {
        if let Some(near) = subject.own_names().nearest(word, |_| true) {
            names.insert(near.to_ascii_lowercase());
        }
    }
    for template in template::all() {
        statements(&template.body(), &mut names);
    }
    // Conditions, includes, names made from names, self references that were put in.
    for source in subject.config.set.sources() {
        let Some(text) = &source.text else {
            continue;
        };
        statements(text, &mut names);
    }
    names
}

/// The names that a text refers to.
pub(super) fn collect(text: &[u8], names: &mut FxHashSet<Vec<u8>>) {
    // References that never expand mean something, too.
    let mut rest = text;
    while let Some(found) = rest.find(b"$(") {
        rest = &rest[found + 2..];
        let end = rest.find_byteset(b"):").unwrap_or(rest.len());
        names.insert(rest[..end].trim().to_ascii_lowercase());
    }
    let mut at = 0;
    while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
        match found.function {
            Function::Plain => {
                names.insert(found.name_and_default(text).0.to_ascii_lowercase());
            }
            Function::Env => {}
            _ => {
                for word in found.body(text).split(|b| !(b.is_ascii_alphanumeric() || b"_./".contains(b))) {
                    names.insert(word.to_ascii_lowercase());
                }
            }
        }
        // Defaults hold references of their own.
        at = found.body;
    }
}

/// The names that the statements of a text refer to.
fn statements(text: &[u8], names: &mut FxHashSet<Vec<u8>>) {
    let mut lines = LogicalLines::new(text);
    while let Some(line) = lines.next_line() {
        if line.text.first() == Some(&b'#') {
            continue;
        }
        collect(&line.text, names);
        if let Some(("if" | "elif", condition)) = if_keyword(&line.text) {
            let mut words = condition.split(|b| b" \t!".contains(b)).filter(|word| !word.is_empty());
            if words.next().is_some_and(|word| caseless::eq(word, b"defined"))
                && let Some(name) = words.next()
            {
                names.insert(name.to_ascii_lowercase());
            }
        }
    }
}
