//! Delimiters of long ads, and classification of the lines of a stream as attributes, delimiters or ignored lines.

use crate::text::space::is_space;

/// Kind of line that ends a long ad.
///
/// ```
/// use htc_classad::stream::{AdReader, Delimiter};
/// let text = "A = 1\n\nB = 2\n---\nA = 3\n";
/// let by_lines = AdReader::new(text.as_bytes(), None).delimiter(Delimiter::Prefix(b"---".to_vec()));
/// assert_eq!(by_lines.map(|ad| ad.unwrap().len()).collect::<Vec<_>>(), [2, 1]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delimiter {
    /// Blank lines end an ad.
    #[default]
    Blank,
    /// Lines with this prefix end an ad; blank lines are ignored.
    Prefix(Vec<u8>),
    /// Blank lines and banners end an ad. A banner begins with `***` (history files) or `--` (queue tools).
    BlankOrBanner,
    /// Empty lines and lines with `...`, `***` or, after the first attribute, `-- ` end an ad, as in `condor_q
    /// -jobads`. After an invalid line, the rest of the ad is skipped.
    Queue,
}

/// Kind of a line for the reader of long ads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// The line ends the ad.
    EndOfAd,
    /// The line is blank or a comment.
    Ignored,
    /// The line is an attribute.
    Attribute,
}

impl Delimiter {
    /// Classifies a line, given without its newline. `started` is true if the ad already has attributes.
    pub(crate) fn classify_line(&self, line: &[u8], started: bool) -> LineKind {
        match self {
            Delimiter::Queue if line.starts_with(b"-- ") => {
                if started {
                    LineKind::EndOfAd
                } else {
                    LineKind::Ignored
                }
            }
            delimiter if delimiter.is_delimiter(line) => LineKind::EndOfAd,
            _ => match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
                None | Some(b'#') => LineKind::Ignored,
                Some(_) => LineKind::Attribute,
            },
        }
    }

    /// Returns true if a delimiter line may have the same beginning as an attribute line. Only delimiters with a prefix
    /// may.
    #[inline]
    pub(crate) fn may_begin_like(&self, beginning: &[u8]) -> bool {
        match self {
            Delimiter::Prefix(prefix) => prefix.is_empty() || prefix.first() == beginning.first(),
            Delimiter::Blank | Delimiter::BlankOrBanner | Delimiter::Queue => false,
        }
    }

    /// Returns true if a line, given without its newline, is a delimiter.
    pub(crate) fn is_delimiter(&self, line: &[u8]) -> bool {
        let blank = || line.iter().all(|byte| is_space(*byte));
        match (self, line.first()) {
            (Delimiter::Prefix(prefix), _) => line.starts_with(prefix),
            (_, None) => true,
            (Delimiter::Queue, Some(_)) => line.starts_with(b"...") || line.starts_with(b"***"),
            (Delimiter::Blank, _) => blank(),
            (Delimiter::BlankOrBanner, Some(b'*')) => line.starts_with(b"***"),
            (Delimiter::BlankOrBanner, Some(b'-')) => line.starts_with(b"--"),
            (Delimiter::BlankOrBanner, Some(first)) => is_space(*first) && blank(),
        }
    }
}

/// Returns a line without the carriage return at its end.
pub(crate) fn strip_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns a delimiter line if it is a banner, or `None` for other delimiters.
pub(crate) fn as_banner(line: &[u8]) -> Option<&[u8]> {
    line.first().is_some_and(|byte| !is_space(*byte)).then_some(line)
}
