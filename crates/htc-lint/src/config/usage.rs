//! Whether anybody reads a name: a daemon, a value that refers to it, or nobody.

use bstr::BString;

use super::removed;
use super::standing::{Standing, Unread};
use super::subject::Subject;
use htc_base::text::bare_name;

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
