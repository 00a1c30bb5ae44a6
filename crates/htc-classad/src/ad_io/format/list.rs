//! Writer of lists of ads as the HTCondor tools print them, in any syntax: brackets around the list and separators between
//! the ads (reference: `CondorClassAdListWriter`, compat_classad.cpp).
//!
//! ```
//! use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
//! let (mut list, mut out) = (ListWriter::new(ListForm::Json, AttributeOrder::Sorted), Vec::new());
//! list.write(&ClassAd::from([("Cpus", 4)]), &mut out).unwrap();
//! list.finish(&mut out).unwrap();
//! assert_eq!(String::from_utf8(out).unwrap(), "[\n{\n  \"Cpus\": 4\n}\n]\n");
//! ```

use std::borrow::Cow;
use std::io::{self, Write};

use super::{json, long, xml};
use crate::ad::unparse;
use crate::ad::{ClassAd, StoredValue};
use crate::syntax::AttrName;

/// Syntax of a list of ads.
///
/// ```
/// use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
/// let ad = ClassAd::from([("Cpus", 4)]);
/// let line = |form| ListWriter::new(form, AttributeOrder::Sorted).render_next(&ad).to_vec();
/// assert_eq!(line(ListForm::Long), b"Cpus = 4\n\n");
/// assert_eq!(line(ListForm::JsonLines), b"{\"Cpus\": 4}\n");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListForm {
    /// Lines `Name = value`, and a blank line after each ad.
    #[default]
    Long,
    /// JSON array of objects.
    Json,
    /// JSON objects, one per line.
    JsonLines,
    /// List in new syntax: `{`, the ads separated by commas, `}`.
    New,
    /// Ads in new syntax, one per line.
    NewLines,
    /// XML with header and footer, which are printed even for an empty list.
    Xml,
}

/// Order in which attributes are printed.
///
/// ```
/// use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
/// let ad: ClassAd = "[ Memory = 1; Cpus = 4; ClaimId = \"secret\" ]".parse().unwrap();
/// let print = |order| ListWriter::new(ListForm::JsonLines, order).render_next(&ad).to_vec();
/// assert_eq!(print(AttributeOrder::Sorted), b"{\"Cpus\": 4,\"Memory\": 1}\n");
/// assert!(print(AttributeOrder::Internal).windows(6).any(|part| part == b"secret"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttributeOrder {
    /// Attributes sorted by name, ignoring case; secrets are omitted.
    #[default]
    Sorted,
    /// Attributes in the internal order of the ad, including secrets. In the long form, attributes are sorted by bytes and
    /// secrets are omitted.
    Internal,
}

/// Writer that prints ads as one list.
///
/// ```
/// use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
/// let mut out = Vec::new();
/// let mut list = ListWriter::new(ListForm::NewLines, AttributeOrder::Sorted).only(["Cpus".into()]);
/// for cpus in [1, 2] {
///     list.write(&ClassAd::from([("Cpus", cpus), ("Memory", 7)]), &mut out).unwrap();
/// }
/// list.finish(&mut out).unwrap();
/// assert_eq!(String::from_utf8(out).unwrap(), "[ Cpus = 1 ]\n[ Cpus = 2 ]\n");
/// assert_eq!((list.form(), list.ads_written()), (ListForm::NewLines, 2));
/// ```
#[derive(Clone, Debug)]
pub struct ListWriter {
    form: ListForm,
    order: AttributeOrder,
    only: Option<Vec<AttrName>>,
    brackets_when_empty: bool,
    detect_misread: bool,
    first_misread: Option<(u64, AttrName)>,
    first_invalid_utf8: Option<u64>,
    ads_written: u64,
    buffer: Vec<u8>,
    arrangement: long::PrintArrangement,
}

impl ListWriter {
    /// Creates an empty list.
    ///
    /// ```
    /// use htc_classad::format::list::{AttributeOrder, ListForm, ListWriter};
    /// let mut out = Vec::new();
    /// ListWriter::new(ListForm::Xml, AttributeOrder::Sorted).finish(&mut out).unwrap();
    /// assert!(out.starts_with(b"<?xml version=\"1.0\"?>") && out.ends_with(b"</classads>\n"));
    /// ```
    pub fn new(form: ListForm, order: AttributeOrder) -> Self {
        ListWriter {
            form,
            order,
            only: None,
            brackets_when_empty: false,
            detect_misread: false,
            first_misread: None,
            first_invalid_utf8: None,
            ads_written: 0,
            buffer: Vec::new(),
            arrangement: long::PrintArrangement::default(),
        }
    }

    /// Restricts the output to these attributes, which are always printed in sorted order.
    #[must_use]
    pub fn only(mut self, names: impl IntoIterator<Item = AttrName>) -> Self {
        self.only = Some(names.into_iter().collect());
        self
    }

    /// Prints the brackets of a list in JSON or new syntax even if the list is empty. By default nothing is printed for
    /// an empty list, like the HTCondor tools.
    ///
    /// ```
    /// use htc_classad::format::list::{AttributeOrder, ListForm, ListWriter};
    /// let print = |always| {
    ///     let mut out = Vec::new();
    ///     let mut list = ListWriter::new(ListForm::Json, AttributeOrder::Sorted).brackets_when_empty(always);
    ///     list.finish(&mut out).unwrap();
    ///     String::from_utf8(out).unwrap()
    /// };
    /// assert_eq!(print(false), "");
    /// assert_eq!(print(true).split_whitespace().collect::<String>(), "[]");
    /// ```
    #[must_use]
    pub fn brackets_when_empty(mut self, always: bool) -> Self {
        self.brackets_when_empty = always;
        self
    }

    /// Detects attributes of long ads that would be read back with another value; see [`ListWriter::first_misread`].
    ///
    /// ```
    /// use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
    /// let mut list = ListWriter::new(ListForm::Long, AttributeOrder::Sorted).detect_misread(true);
    /// // A long ad has one line for each attribute, whatever the value.
    /// list.render_next(&ClassAd::from([("Fine", "a b"), ("Broken", "two\nlines")]));
    /// assert_eq!(list.first_misread(), Some(&(1, "Broken".into())));
    /// ```
    #[must_use]
    pub fn detect_misread(mut self, notes: bool) -> Self {
        self.detect_misread = notes && self.form == ListForm::Long;
        self
    }

    /// Returns the first attribute that would be read back with another value because the long form cannot represent its
    /// value, with the number of its ad, counted from 1. Returns `None` if no such attribute was printed.
    pub fn first_misread(&self) -> Option<&(u64, AttrName)> {
        self.first_misread.as_ref()
    }

    /// Returns the number of the first ad, counted from 1, whose JSON is invalid because a string is not UTF-8, or `None`.
    ///
    /// ```
    /// use htc_classad::{ClassAd, format::list::{AttributeOrder, ListForm, ListWriter}};
    /// let mut list = ListWriter::new(ListForm::JsonLines, AttributeOrder::Sorted);
    /// list.render_next(&ClassAd::from([("Name", b"J\xfcrgen")]));
    /// assert_eq!(list.first_invalid_utf8(), Some(1));
    /// ```
    pub fn first_invalid_utf8(&self) -> Option<u64> {
        self.first_invalid_utf8
    }

    /// Returns the syntax of the list.
    pub fn form(&self) -> ListForm {
        self.form
    }

    /// Returns the number of ads that have been printed.
    pub fn ads_written(&self) -> u64 {
        self.ads_written
    }

    /// Writes an ad as the next element of the list. Returns false if nothing was printed because the ad is empty.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn write(&mut self, ad: &ClassAd, out: &mut dyn Write) -> io::Result<bool> {
        let text = self.render_next(ad);
        out.write_all(text)?;
        Ok(!text.is_empty())
    }

    /// Returns the text that [`ListWriter::write`] would write for the next ad. The ad is counted as written.
    pub fn render_next(&mut self, ad: &ClassAd) -> &[u8] {
        self.buffer.clear();
        if !ad.is_empty() {
            self.push_ad(ad);
            self.check_utf8();
        }
        self.ads_written += u64::from(!self.buffer.is_empty());
        &self.buffer
    }

    fn check_utf8(&mut self) {
        let is_json = matches!(self.form, ListForm::Json | ListForm::JsonLines);
        if is_json
            && self.first_invalid_utf8.is_none()
            && !self.buffer.is_ascii()
            && std::str::from_utf8(&self.buffer).is_err()
        {
            self.first_invalid_utf8 = Some(self.ads_written + 1);
        }
    }

    fn push_long(&mut self, ad: &ClassAd, order: long::PrintOrder) {
        let out = &mut self.buffer;
        let options = long::PrintOptions { order, only: self.only.clone(), ..long::PrintOptions::default() };
        let start = out.len();
        let count = long::push_arranged(ad, &options, &mut self.arrangement, out);
        if self.detect_misread
            && self.first_misread.is_none()
            && long::may_be_misread(ad, &out[start..], count)
        {
            self.first_misread =
                long::first_misread_attribute(ad, &options).map(|name| (self.ads_written + 1, name));
        }
        if !out.is_empty() {
            out.push(b'\n');
        }
    }

    fn push_ad(&mut self, ad: &ClassAd) {
        let first = self.ads_written == 0;
        let out = &mut self.buffer;
        let sorted = self.order == AttributeOrder::Sorted || self.only.is_some();
        if self.form == ListForm::Long {
            return self
                .push_long(ad, if sorted { long::PrintOrder::Caseless } else { long::PrintOrder::Bytes });
        }
        let ad = match ad.parent() {
            Some(_) if sorted => Cow::Owned(ad.flattened_chain()),
            _ => Cow::Borrowed(ad),
        };
        let usual = long::PrintOptions::default();
        let options = match sorted {
            true => {
                long::PrintOptions { order: long::PrintOrder::Caseless, only: self.only.clone(), ..usual }
            }
            false => long::PrintOptions { order: long::PrintOrder::Ad, private: true, ..usual },
        };
        let slots = self.arrangement.order_for(&ad, &options).map(|at| ad.stored_value_at(at as usize));
        match self.form {
            ListForm::Json => {
                out.extend_from_slice(if first { b"[\n" } else { b",\n" });
                json::push_attributes(&ad, slots, json::JsonLayout::Indented, out);
                out.push(b'\n');
            }
            ListForm::JsonLines => {
                json::push_attributes(&ad, slots, json::JsonLayout::OneLine, out);
                // The text of an ad without attributes is `{}`; the reference prints nothing for such an ad.
                if out.len() > 2 { out.push(b'\n') } else { out.clear() }
            }
            ListForm::New | ListForm::NewLines => {
                if self.form == ListForm::New {
                    out.extend_from_slice(if first { b"{\n" } else { b",\n" });
                }
                push_new_form(&ad, slots, out);
            }
            ListForm::Xml => {
                if first {
                    out.extend_from_slice(xml::HEADER.as_bytes());
                }
                xml::push_attributes(&ad, slots, xml::XmlLayout::Spaced, out);
            }
            ListForm::Long => {}
        }
    }

    /// Ends the list and writes its closing bracket or footer.
    ///
    /// # Errors
    /// Fails if writing fails.
    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let empty = self.ads_written == 0;
        let text = match self.form {
            ListForm::Xml if empty => format!("{}{}", xml::HEADER, xml::FOOTER),
            ListForm::Xml => xml::FOOTER.to_owned(),
            ListForm::Json if !empty => "]\n".to_owned(),
            ListForm::New if !empty => "}\n".to_owned(),
            ListForm::Json if self.brackets_when_empty => "[\n]\n".to_owned(),
            ListForm::New if self.brackets_when_empty => "{\n}\n".to_owned(),
            _ => return Ok(()),
        };
        out.write_all(text.as_bytes())
    }
}

/// Appends an ad that consists of the given attributes, in new syntax on one line.
fn push_new_form<'s>(
    ad: &ClassAd,
    slots: impl Iterator<Item = (&'s [u8], &'s StoredValue)>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"[ ");
    for (at, (name, slot)) in slots.enumerate() {
        if at > 0 {
            out.extend_from_slice(b"; ");
        }
        unparse::push_name(name, unparse::UnparseForm::New, out);
        out.extend_from_slice(b" = ");
        unparse::push_stored_value(ad, slot, unparse::UnparseForm::New, out);
    }
    out.extend_from_slice(b" ]\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(form: ListForm, order: AttributeOrder) -> String {
        let mut writer = ListWriter::new(form, order);
        let mut out = Vec::new();
        for text in ["bb = 1\nA = \"x\"\nClaimId = \"s\"\n", "", "C = 2 + 2\n"] {
            let (ad, _) = long::parse(text.as_bytes());
            writer.write(&ad, &mut out).expect("memory");
        }
        writer.finish(&mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn text_that_is_not_utf_8_is_reported_only_for_json() {
        let (ad, _) = long::parse(b"A = \"\xeb\"\n");
        for (form, first) in
            [(ListForm::JsonLines, Some(1)), (ListForm::Json, Some(1)), (ListForm::Long, None)]
        {
            let mut writer = ListWriter::new(form, AttributeOrder::Sorted);
            writer.render_next(&ad);
            writer.render_next(&ad);
            assert_eq!(writer.first_invalid_utf8(), first);
        }
    }

    #[test]
    fn lists_have_brackets_and_separators() {
        assert_eq!(list(ListForm::Long, AttributeOrder::Sorted), "A = \"x\"\nbb = 1\n\nC = 2 + 2\n\n");
        assert_eq!(
            list(ListForm::New, AttributeOrder::Internal),
            "{\n[ A = \"x\"; bb = 1; ClaimId = \"s\" ]\n,\n[ C = 2 + 2 ]\n}\n"
        );
        assert_eq!(
            list(ListForm::JsonLines, AttributeOrder::Sorted),
            "{\"A\": \"x\",\"bb\": 1}\n{\"C\": \"\\/Expr(2 + 2)\\/\"}\n"
        );
        let mut out = Vec::new();
        ListWriter::new(ListForm::Json, AttributeOrder::Sorted).finish(&mut out).expect("memory");
        assert!(out.is_empty());
    }
}
