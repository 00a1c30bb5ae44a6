//! Lists of ads as the condor tools print them: brackets around, separators between, in any of the forms
//! (reference: `CondorClassAdListWriter`, compat_classad.cpp).

use std::borrow::Cow;
use std::io::{self, Write};

use super::{json, long, xml};
use crate::ad::unparse;
use crate::ad::{ClassAd, StoredValue};
use crate::syntax::AttrName;

/// The forms a list is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListForm {
    /// `Name = value` lines and a blank line behind each ad.
    #[default]
    Long,
    /// A JSON array of objects.
    Json,
    /// A JSON object a line.
    JsonLines,
    /// A list in the new syntax: `{`, ads with commas between, `}`.
    New,
    /// An ad in the new syntax a line.
    NewLines,
    /// XML with header and footer, which are there even without any ad.
    Xml,
}

/// The order of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttributeOrder {
    /// By name without regard to case, secrets left out.
    #[default]
    Sorted,
    /// As the ad itself has them, secrets included; the long form is sorted by bytes then, without secrets.
    Internal,
}

/// Writes ads as one list.
#[derive(Clone, Debug)]
pub struct ListWriter {
    form: ListForm,
    order: AttributeOrder,
    only: Option<Vec<AttrName>>,
    brackets_when_empty: bool,
    detect_misread: bool,
    first_misread: Option<(u64, AttrName)>,
    ads_written: u64,
    buffer: Vec<u8>,
    arrangement: long::PrintArrangement,
}

impl ListWriter {
    /// A list with nothing in it yet.
    pub fn new(form: ListForm, order: AttributeOrder) -> Self {
        ListWriter {
            form,
            order,
            only: None,
            brackets_when_empty: false,
            detect_misread: false,
            first_misread: None,
            ads_written: 0,
            buffer: Vec::new(),
            arrangement: long::PrintArrangement::default(),
        }
    }

    /// Only these attributes, where an ad has them. They are sorted whatever the order.
    #[must_use]
    pub fn only(mut self, names: impl IntoIterator<Item = AttrName>) -> Self {
        self.only = Some(names.into_iter().collect());
        self
    }

    /// The brackets of a JSON or new list are printed even if no ad is. The condor tools print nothing then.
    #[must_use]
    pub fn brackets_when_empty(mut self, always: bool) -> Self {
        self.brackets_when_empty = always;
        self
    }

    /// Long ads are looked through for attributes that read back as something else; see [`ListWriter::first_misread`].
    #[must_use]
    pub fn detect_misread(mut self, notes: bool) -> Self {
        self.detect_misread = notes && self.form == ListForm::Long;
        self
    }

    /// The first attribute that reads back as something else, as the long form has no way to write its value, and the number of
    /// its ad, from 1.
    pub fn first_misread(&self) -> Option<&(u64, AttrName)> {
        self.first_misread.as_ref()
    }

    /// The form.
    pub fn form(&self) -> ListForm {
        self.form
    }

    /// How many ads were printed.
    pub fn ads_written(&self) -> u64 {
        self.ads_written
    }

    /// Writes an ad; tells whether anything was printed, which is not so for empty ads.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, ad: &ClassAd, out: &mut dyn Write) -> io::Result<bool> {
        let text = self.render_next(ad);
        out.write_all(text)?;
        Ok(!text.is_empty())
    }

    /// What [`ListWriter::write`] would write for the next ad, which counts as written.
    pub fn render_next(&mut self, ad: &ClassAd) -> &[u8] {
        self.buffer.clear();
        if !ad.is_empty() {
            self.push_ad(ad);
        }
        self.ads_written += u64::from(!self.buffer.is_empty());
        &self.buffer
    }

    fn push_long(&mut self, ad: &ClassAd, order: long::PrintOrder) {
        let out = &mut self.buffer;
        let options = long::PrintOptions { order, only: self.only.clone(), ..long::PrintOptions::default() };
        long::push_arranged(ad, &options, &mut self.arrangement, out);
        if self.detect_misread && self.first_misread.is_none() {
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
                // An ad without attributes is `{}` here, which the reference takes for nothing.
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

    /// Ends the list.
    ///
    /// # Errors
    /// Those of the output.
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

/// Appends an ad of these attributes in one line.
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
