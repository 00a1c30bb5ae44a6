//! What a name may be to HTCondor.

/// What a name is to HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Some daemon or tool reads it, or may.
    Read,
    /// It looks like a name of a family of which nobody reads this one.
    Unread(Unread),
    /// HTCondor has no such name: one of the site's own.
    Own,
}

/// Why nobody reads a name, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What is wrong, to stand behind `nothing reads NAME: `.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl Unread {
    /// As what a name is.
    pub(super) fn standing(why: impl Into<String>, fix: impl Into<String>) -> Option<Standing> {
        Some(Standing::Unread(Unread { why: why.into(), fix: fix.into() }))
    }
}
