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
    /// True if no other file of the configuration can make the name one that is read.
    pub holds_in_part: bool,
}

impl UnreadReason {
    /// Creates a reason that another file may remove.
    pub(super) fn new(why: impl Into<String>, fix: impl Into<Advice>) -> Self {
        UnreadReason { why: why.into(), fix: fix.into(), holds_in_part: false }
    }

    /// Creates the status of a name that nothing reads, whatever other files define.
    pub(super) fn never_read_status(why: impl Into<String>, fix: impl Into<Advice>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason { holds_in_part: true, ..UnreadReason::new(why, fix) }))
    }

    /// Creates the status of a name that nothing reads.
    pub(super) fn unread_status(why: impl Into<String>, fix: impl Into<Advice>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason::new(why, fix)))
    }

    /// Creates the status of a name that nothing reads, with the name that was probably meant.
    pub(super) fn misspelled_status(why: impl Into<String>, meant: impl Into<Vec<u8>>) -> Option<NameStatus> {
        Self::unread_status(why, Advice::DidYouMean(meant.into().into()))
    }
}
