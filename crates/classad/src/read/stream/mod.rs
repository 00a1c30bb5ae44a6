//! Streams of ads from anything that can be read, in constant memory, in any of the forms (`CondorClassAdFileIterator`, compat_classad.cpp).
//!
//! [`AdReader`] is for people: it finds out the form by itself, takes banners and history trailers for what they are,
//! and reports what it cannot read without losing the rest. [`ReferenceReader`] does to the letter what the condor
//! tools do, whatever that is.

#[cfg(test)]
mod agreement;
mod block;
mod deal;
mod error;
mod extent;
mod reader;
mod reference;
mod skim;

pub use deal::{Dealer, Hand};
pub use error::AdError;
pub use reader::{AdReader, AdRecord};
pub use reference::{ReferenceReader, Step};
pub use skim::Skim;

/// The forms in which streams of ads are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `Name = value` lines; a delimiter line ends an ad.
    Long,
    /// `<classads>` with an element for each ad.
    Xml,
    /// JSON objects, in an array or one after the other.
    Json,
    /// Ads in brackets, in a list or one after the other.
    New,
    /// A JSON object a line.
    JsonLines,
    /// An ad in brackets a line.
    NewLines,
}

impl Form {
    /// The word for it, as options of the condor tools have it.
    pub fn name(self) -> &'static str {
        match self {
            Form::Long => "long",
            Form::Xml => "xml",
            Form::Json => "json",
            Form::New => "new",
            Form::JsonLines => "jsonl",
            Form::NewLines => "newl",
        }
    }

    /// The form of that name.
    pub fn from_name(name: &str) -> Option<Form> {
        [Form::Long, Form::Xml, Form::Json, Form::New, Form::JsonLines, Form::NewLines]
            .into_iter()
            .find(|form| form.name() == name)
    }
}

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
pub(crate) enum Line {
    /// It ends the ad.
    End,
    /// A comment, or blank.
    Nothing,
    /// An attribute.
    Attribute,
}

impl Delimiter {
    /// What a line without its end is; `started` tells whether the ad has attributes already.
    pub(crate) fn line(&self, line: &[u8], started: bool) -> Line {
        match self {
            Delimiter::Queue if line.starts_with(b"-- ") => {
                if started {
                    Line::End
                } else {
                    Line::Nothing
                }
            }
            delimiter if delimiter.is(line) => Line::End,
            _ => match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
                None | Some(b'#') => Line::Nothing,
                Some(_) => Line::Attribute,
            },
        }
    }

    /// Whether a line without its end is one.
    pub(crate) fn is(&self, line: &[u8]) -> bool {
        let blank = || line.iter().all(|byte| crate::syntax::numbers::is_space(*byte));
        match (self, line.first()) {
            (Delimiter::Prefix(prefix), _) => line.starts_with(prefix),
            (_, None) => true,
            (Delimiter::Queue, Some(_)) => line.starts_with(b"...") || line.starts_with(b"***"),
            (Delimiter::Blank, _) => blank(),
            (Delimiter::BlankOrBanner, Some(b'*')) => line.starts_with(b"***"),
            (Delimiter::BlankOrBanner, Some(b'-')) => line.starts_with(b"--"),
            (Delimiter::BlankOrBanner, Some(first)) => crate::syntax::numbers::is_space(*first) && blank(),
        }
    }
}

/// A line without the carriage return at its end.
pub(crate) fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A delimiter line, if it is a banner.
fn banner(line: &[u8]) -> Option<&[u8]> {
    line.first().is_some_and(|byte| !crate::syntax::numbers::is_space(*byte)).then_some(line)
}
