//! What came of a whole transfer.

use bstr::BString;

use super::failure::TransferFailure;
use super::tally::TransferTally;
use super::task::TransferKind;
use htc_classad::ClassAd;

/// What came of a whole transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferOutcome {
    /// Which way.
    pub way: TransferKind,
    /// Why it failed, if it did.
    pub failure: Option<TransferFailure>,
    /// What was moved.
    pub tally: TransferTally,
    /// Names at the top of the target.
    pub stored: Vec<BString>,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// What plugins tell of each file.
    pub results: Vec<ClassAd>,
}

impl TransferOutcome {
    /// Where there was nothing to move.
    pub fn empty(way: TransferKind) -> Self {
        TransferOutcome {
            way,
            failure: None,
            tally: TransferTally::default(),
            stored: Vec::new(),
            warnings: Vec::new(),
            results: Vec::new(),
        }
    }
}
