//! Ads as XML (reference: xmlSink.cpp, xmlSource.cpp, xmlLexer.cpp).
//!
//! The reader accepts the same texts as the reference, even if they are not valid XML: text outside of values is
//! skipped, and tags need not be closed. Where the reference loops forever, the reader skips the text that it cannot
//! use. Neither the reader nor the writer recurses.
//!
//! ```
//! use htc_classad::{ClassAd, Dialect, format::xml::{self, XmlLayout}};
//! let mut text = Vec::new();
//! xml::push(&ClassAd::from([("Cpus", 4)]), XmlLayout::Compact, &mut text);
//! assert_eq!(xml::parse_prefix(&text, Dialect::new_syntax()).unwrap().ad["Cpus"].to_string(), "4");
//! ```

mod xml_reader;
mod xml_writer;

pub use xml_reader::{LargeInteger, XmlError, XmlPrefix, parse_prefix};
pub(crate) use xml_writer::push_attributes;
pub use xml_writer::{FOOTER, HEADER, XmlLayout, push};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::Value;
    use crate::syntax::Dialect;

    fn read(text: &str) -> Result<String, XmlError> {
        parse_prefix(text.as_bytes(), Dialect::new_syntax())
            .map(|read| Value::from(read.ad).unparse().to_string())
    }

    #[test]
    fn written_xml_is_read_back() {
        let text = "<c><a n=\"A\"><i>7</i></a><a n=\"B\"><l><i>1</i><s> x&amp;y </s><c><a n=\"C\"><b v=\"t\"/></a></c></l></a></c>";
        let ad = parse_prefix(text.as_bytes(), Dialect::new_syntax()).expect("good XML").ad;
        let mut out = Vec::new();
        push(&ad, XmlLayout::Compact, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), text);
    }

    #[test]
    fn inputs_on_which_the_reference_hangs_end() {
        assert_eq!(read("<c><classads><a n=\"A\"><i>1</i></a></c>").as_deref(), Ok("[ A = 1 ]"));
        assert_eq!(read("<c><a n=\"A\"><l>text<x><i>1</i></l></a></c>").as_deref(), Ok("[ A = { 1 } ]"));
        assert_eq!(read("<c><a n=\"A\"><l><i>1</i>").as_deref(), Ok("[ A = { 1 } ]"));
        assert!(read("<c><a><i>1</i></a></c>").is_err());
        assert!(read("<c><a n=\"A\">").is_err());
        let deep = |levels| format!("<c><a n=\"A\">{}", "<l>".repeat(levels));
        assert!(read(&deep(1000)).is_ok() && read(&deep(1_000_000)).is_err());
    }
}
