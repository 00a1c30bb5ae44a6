//! What a name may be to HTCondor.

/// What a name is to HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameStatus {
    /// Some daemon or tool reads it, or may.
    Read,
    /// It looks like a name of a family of which nobody reads this one.
    Unread(UnreadReason),
    /// HTCondor has no such name: one of the site's own.
    SiteOwn,
}

/// Why nobody reads a name, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadReason {
    /// What is wrong, to stand behind `nothing reads NAME: `.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl UnreadReason {
    /// As what a name is.
    pub(super) fn unread_status(why: impl Into<String>, fix: impl Into<String>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason { why: why.into(), fix: fix.into() }))
    }
}
