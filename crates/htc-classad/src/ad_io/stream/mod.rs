//! Streams of ads from any reader, in constant memory and in any syntax (`CondorClassAdFileIterator`,
//! compat_classad.cpp).
//!
//! [`AdReader`] is for general use: it detects the syntax, recognizes banners and history trailers, and continues after errors.
//! It is an iterator that returns an ad or an error for each ad of the stream. [`ReferenceReader`] behaves exactly like the
//! HTCondor tools.
//!
//! ```
//! use htc_classad::stream::AdReader;
//! let ads: Result<Vec<_>, _> = AdReader::new(&b"Cpus = 4\n\nCpus = 8\n"[..], None).collect();
//! assert_eq!(ads.unwrap().len(), 2);
//! ```

mod batches;
mod element_end;
mod error;
mod input_window;
mod parallel;
mod projection;
mod read_error;
mod reader;
#[cfg(test)]
mod reader_agreement;
mod record;
mod reference_reader;
mod single_ad;

pub use batches::{AdBatcher, BatchReader};
pub use error::AdError;
pub use projection::Projection;
pub use read_error::ReadError;
pub use reader::AdReader;
pub use record::AdRecord;
pub use reference_reader::{ReadOutcome, ReferenceReader};

pub use crate::ad_io::delimiter::Delimiter;
pub(crate) use crate::ad_io::delimiter::{LineKind, strip_cr};

/// Syntax of a stream of ads.
///
/// ```
/// use htc_classad::stream::AdForm;
/// assert_eq!((AdForm::JsonLines.name(), AdForm::from_name("xml")), ("jsonl", Some(AdForm::Xml)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdForm {
    /// Lines `Name = value`, with a delimiter line after each ad.
    Long,
    /// XML: the element `<classads>` with an element for each ad.
    Xml,
    /// JSON objects, as elements of an array or one after the other.
    Json,
    /// Ads in new syntax, as elements of a list or one after the other.
    New,
    /// JSON objects, one per line.
    JsonLines,
    /// Ads in new syntax, one per line.
    NewLines,
}

impl AdForm {
    /// Returns the name of the syntax, as in options of the HTCondor tools.
    pub fn name(self) -> &'static str {
        match self {
            AdForm::Long => "long",
            AdForm::Xml => "xml",
            AdForm::Json => "json",
            AdForm::New => "new",
            AdForm::JsonLines => "jsonl",
            AdForm::NewLines => "newl",
        }
    }

    /// Returns the syntax with this name, or `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<AdForm> {
        [AdForm::Long, AdForm::Xml, AdForm::Json, AdForm::New, AdForm::JsonLines, AdForm::NewLines]
            .into_iter()
            .find(|form| form.name() == name)
    }
}
