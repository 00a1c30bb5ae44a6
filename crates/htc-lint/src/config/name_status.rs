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

/// Reason why nothing reads a name, and the correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadReason {
    /// Reason, to be printed after `nothing reads NAME: `.
    pub cause: String,
    /// Correction.
    pub fix: Advice,
    /// True if nothing reads the name, whatever the other files of the configuration contain.
    pub holds_in_part: bool,
}

impl UnreadReason {
    /// Creates a reason that may not apply if other files define more names.
    pub(super) fn new(cause: impl Into<String>, fix: impl Into<Advice>) -> Self {
        UnreadReason { cause: cause.into(), fix: fix.into(), holds_in_part: false }
    }

    /// Creates the status of a name that nothing reads, whatever other files define.
    pub(super) fn never_read_status(cause: impl Into<String>, fix: impl Into<Advice>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason { holds_in_part: true, ..UnreadReason::new(cause, fix) }))
    }

    /// Creates the status of a name that nothing reads.
    pub(super) fn unread_status(cause: impl Into<String>, fix: impl Into<Advice>) -> Option<NameStatus> {
        Some(NameStatus::Unread(UnreadReason::new(cause, fix)))
    }

    /// Creates the status of a name that nothing reads, with the name that was probably intended.
    pub(super) fn misspelled_status(
        cause: impl Into<String>,
        intended: impl Into<Vec<u8>>,
    ) -> Option<NameStatus> {
        Self::unread_status(cause, Advice::DidYouMean(intended.into().into()))
    }
}
