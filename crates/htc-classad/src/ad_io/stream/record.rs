//! Ads of a stream with their places and errors.

use bstr::BString;

use super::error::AdError;
use crate::ad::ClassAd;

/// One ad of a stream.
#[must_use = "the ad may have errors"]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AdRecord {
    /// The ad, without the parts that could not be read.
    pub ad: ClassAd,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The banner or trailer line that ended it, or `None` if there was none.
    pub banner: Option<BString>,
    /// Errors in the ad, at most a thousand.
    pub errors: Vec<AdError>,
    /// Number of errors in the ad beyond those in `errors`.
    pub more_errors: u64,
}
