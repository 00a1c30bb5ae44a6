//! Errors of readers of streams that are used as iterators.

use std::fmt;
use std::io;

use super::error::AdError;
use super::record::AdRecord;
use crate::ad::ClassAd;
use crate::text::plural::counted;

/// Error that a reader returns instead of the next ad of a stream.
///
/// ```
/// use htc_classad::stream::{AdReader, ReadError};
/// let text = "Cpus = 4\nbad line\n\nCpus = 8\n";
/// let (mut ads, mut error_lines) = (Vec::new(), Vec::new());
/// for ad in AdReader::new(text.as_bytes(), None) {
///     match ad {
///         Ok(ad) => ads.push(ad),
///         // The rest of the ad is usable.
///         Err(ReadError::Ad(record)) => {
///             error_lines.extend(record.errors.iter().map(|error| error.line));
///             ads.push(record.ad);
///         }
///         Err(other) => panic!("{other}"),
///     }
/// }
/// assert_eq!((ads.len(), error_lines), (2, vec![2]));
/// ```
#[non_exhaustive]
pub enum ReadError {
    /// The stream could not be read, and no more ads follow.
    Io(io::Error),
    /// A part of an ad could not be read. The record has the rest of the ad and all errors; the following ads can still
    /// be read.
    Ad(Box<AdRecord>),
}

impl ReadError {
    /// Returns the errors in the ad. Empty if the stream itself could not be read.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let error = AdReader::new(&b"bad line\n"[..], None).next().unwrap().unwrap_err();
    /// assert_eq!(error.ad_errors()[0].column(), 1);
    /// ```
    pub fn ad_errors(&self) -> &[AdError] {
        match self {
            ReadError::Io(_) => &[],
            ReadError::Ad(record) => &record.errors,
        }
    }
}

impl ReadError {
    /// Adds `lines` to all line numbers.
    pub(super) fn with_lines_added(mut self, lines: u64) -> Self {
        if let ReadError::Ad(record) = &mut self {
            record.line += lines;
            record.errors.iter_mut().for_each(|error| error.line += lines);
        }
        self
    }
}

/// Prints the message and its cause like `Display`, because a `main` that returns the error prints it with `Debug`.
impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => write!(f, "{self}: {error}"),
            ReadError::Ad(_) => fmt::Display::fmt(self, f),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(_) => f.write_str("cannot read the ads"),
            ReadError::Ad(record) => {
                let Some(first) = record.errors.first() else { return f.write_str("cannot read the ad") };
                fmt::Display::fmt(first, f)?;
                match record.errors.len() - 1 {
                    0 => Ok(()),
                    more => write!(f, " (and {} in this ad)", counted(more, "more error")),
                }
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            ReadError::Ad(_) => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        ReadError::Io(error)
    }
}

impl AdRecord {
    /// Returns the ad if it was read without errors; warnings are ignored.
    ///
    /// ```
    /// use htc_classad::stream::AdReader;
    /// let mut reader = AdReader::new(&b"Cpus = 4\n\nbad line\n"[..], None);
    /// let record = reader.next_record().unwrap().unwrap();
    /// assert_eq!(record.into_ad().unwrap().len(), 1);
    /// assert!(reader.next_record().unwrap().unwrap().into_ad().is_err());
    /// ```
    ///
    /// # Errors
    /// Fails with the record if it has errors.
    pub fn into_ad(self) -> Result<ClassAd, ReadError> {
        if self.errors.iter().all(|error| error.is_warning) {
            Ok(self.ad)
        } else {
            Err(ReadError::Ad(Box::new(self)))
        }
    }
}
