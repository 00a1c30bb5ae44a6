//! Status of a name in HTCondor.

/// Status of a name in HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameStatus {
    /// A daemon or tool reads it, or may read it.
    Read,
    /// It looks like a member of a family, but nothing reads this member.
    Unread(UnreadReason),
    /// HTCondor has no such name: it belongs to the site.
    SiteOwn,
}

/// Reason why nothing reads a name, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadReason {
    /// Reason, to be printed after `nothing reads NAME: `.
    pub why: String,
    /// How to fix it.
    pub fix: String,
}

impl UnreadReason {
    /// Creates the status of a name that nothing reads.
    pub(super) fn unread_status(why: impl Into<String>, fix: impl Into<String>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason { why: why.into(), fix: fix.into() }))
    }
}
