//! Status of a name in HTCondor.

use htc_config::Advice;

/// Status of a name in HTCondor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameStatus {
    /// A daemon or tool reads the parameter, or may read it.
    Read,
    /// The name looks like one of a family of parameters, but nothing reads it.
    Unread(UnreadReason),
    /// HTCondor has no parameter with this name: it belongs to the site.
    SiteOwn,
}

/// Reason why nothing reads a name, and what was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadReason {
    /// Reason, to be printed after `nothing reads NAME: `.
    pub why: String,
    /// Correction.
    pub fix: Advice,
}

impl UnreadReason {
    /// Creates the status of a name that nothing reads.
    pub(super) fn unread_status(why: impl Into<String>, fix: impl Into<Advice>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason { why: why.into(), fix: fix.into() }))
    }

    /// Creates the status of a name that nothing reads, with the name that was probably meant.
    pub(super) fn misspelled_status(why: impl Into<String>, meant: impl Into<Vec<u8>>) -> Option<NameStatus> {
        Self::unread_status(why, Advice::DidYouMean(meant.into().into()))
    }
}
