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

pub use crate::read::delimiter::Delimiter;
pub(crate) use crate::read::delimiter::{Line, without_cr};

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
