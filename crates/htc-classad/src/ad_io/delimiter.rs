//! What the lines of a stream of long ads are: attributes, what ends an ad, and what counts for nothing.

use crate::text::space::is_space;

/// Which lines end a long ad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delimiter {
    /// Blank lines.
    #[default]
    Blank,
    /// Lines that begin with this; blank lines are skipped.
    Prefix(Vec<u8>),
    /// Blank lines, and banners: lines that begin with `***` (history files) or `--` (queue tools).
    BlankOrBanner,
    /// What `condor_q -jobads` takes: empty lines, `...`, `***`, and `-- ` where something stands before it. A bad line
    /// costs the rest of its ad there.
    Queue,
}

/// What a line is to the reader of long ads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// It ends the ad.
    EndOfAd,
    /// A comment, or blank.
    Ignored,
    /// An attribute.
    Attribute,
}

impl Delimiter {
    /// What a line without its end is; `started` tells whether the ad has attributes already.
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

    /// Whether a line without its end is one.
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

/// A line without the carriage return at its end.
pub(crate) fn strip_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A delimiter line, if it is a banner.
pub(crate) fn as_banner(line: &[u8]) -> Option<&[u8]> {
    line.first().is_some_and(|byte| !is_space(*byte)).then_some(line)
}
