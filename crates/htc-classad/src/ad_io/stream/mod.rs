//! Streams of ads from anything that can be read, in constant memory, in any of the forms (`CondorClassAdFileIterator`, compat_classad.cpp).
//!
//! [`AdReader`] is for people: it finds out the form by itself, takes banners and history trailers for what they are,
//! and reports what it cannot read without losing the rest. [`ReferenceReader`] does to the letter what the condor
//! tools do, whatever that is.

mod batches;
mod element_end;
mod error;
mod input_window;
mod projection;
mod reader;
#[cfg(test)]
mod reader_agreement;
mod reference_reader;

pub use batches::{AdBatcher, BatchReader};
pub use error::AdError;
pub use projection::Projection;
pub use reader::{AdReader, AdRecord};
pub use reference_reader::{ReadOutcome, ReferenceReader};

pub use crate::ad_io::delimiter::Delimiter;
pub(crate) use crate::ad_io::delimiter::{LineKind, strip_cr};

/// The forms in which streams of ads are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdForm {
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

impl AdForm {
    /// The word for it, as options of the condor tools have it.
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

    /// The form of that name.
    pub fn from_name(name: &str) -> Option<AdForm> {
        [AdForm::Long, AdForm::Xml, AdForm::Json, AdForm::New, AdForm::JsonLines, AdForm::NewLines]
            .into_iter()
            .find(|form| form.name() == name)
    }
}
