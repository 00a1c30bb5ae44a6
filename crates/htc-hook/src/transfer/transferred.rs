//! What came of a whole transfer.

use bstr::BString;

use super::failure::Failure;
use super::tally::Tally;
use super::task::Way;
use htc_classad::ClassAd;

/// What came of a whole transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Transferred {
    /// Which way.
    pub way: Way,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What was moved.
    pub tally: Tally,
    /// Names at the top of the target.
    pub stored: Vec<BString>,
    /// What a user should know.
    pub warnings: Vec<String>,
    /// What plugins tell of each file.
    pub results: Vec<ClassAd>,
}

impl Transferred {
    /// Where there was nothing to move.
    pub fn nothing(way: Way) -> Self {
        Transferred {
            way,
            failure: None,
            tally: Tally::default(),
            stored: Vec::new(),
            warnings: Vec::new(),
            results: Vec::new(),
        }
    }
}
