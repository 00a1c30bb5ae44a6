//! Ad of a stream with its position and errors.

use bstr::BString;

use super::error::AdError;
use crate::ad::ClassAd;

/// Ad of a stream with its position and errors.
///
/// ```
/// use htc_classad::stream::AdReader;
/// let history = "Owner = \"ana\"\n*** Offset = 0 ClusterId = 7\n";
/// let record = AdReader::new(history.as_bytes(), None).next_record().unwrap().unwrap();
/// assert_eq!((record.line, record.errors.len(), record.more_errors), (1, 0, 0));
/// assert_eq!(record.banner.unwrap(), "*** Offset = 0 ClusterId = 7");
/// assert_eq!(record.ad.string("Owner").unwrap(), "ana");
/// ```
#[must_use = "the ad may have errors"]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AdRecord {
    /// The ad, without the parts that could not be read.
    pub ad: ClassAd,
    /// Number of the line on which the ad begins, counted from 1.
    pub line: u64,
    /// Banner or trailer line that ended the ad, or `None`.
    pub banner: Option<BString>,
    /// Errors in the ad, at most a thousand.
    pub errors: Vec<AdError>,
    /// Number of errors in the ad that are not in `errors`.
    pub more_errors: u64,
}
