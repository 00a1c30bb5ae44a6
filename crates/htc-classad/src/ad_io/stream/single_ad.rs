//! Parsing of a text that consists of one ad, in any syntax.

use std::str::FromStr;

use super::error::SurroundingText;
use super::{AdError, AdForm, AdReader};
use crate::ad::ClassAd;
use crate::ad_io::format::json;
use crate::syntax::{Dialect, ParseError};
use crate::text::Span;
use crate::text::space;

impl ClassAd {
    /// Parses a text that consists of one ad: `[ a = 1; b = 2 ]`, lines `Name = value`, JSON or XML. Nothing is skipped:
    /// any text that is not part of the ad is an error.
    ///
    /// [`AdReader`] reads files of many ads.
    ///
    /// ```
    /// use htc_classad::ClassAd;
    /// let ad = ClassAd::parse("[ Owner = \"ana\"; Cpus = 1 + 1 ]")?;
    /// assert_eq!(ClassAd::parse("Owner = \"ana\"\nCpus = 1 + 1\n")?, ad);
    /// assert_eq!(ClassAd::parse(r#"{ "Owner": "ana", "Cpus": "\/Expr(1 + 1)\/" }"#)?, ad);
    /// let error = ClassAd::parse("Owner = \"ana\"\nCpus = 1 +\n").unwrap_err();
    /// assert!(error.to_string().starts_with("line 2, column 11: expected an operand"));
    /// # Ok::<(), htc_classad::stream::AdError>(())
    /// ```
    ///
    /// # Errors
    /// Fails with the first place that is not part of an ad.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<ClassAd, AdError> {
        parse_single_ad(text.as_ref())
    }
}

/// Parses a text that consists of one ad as [`ClassAd::parse`] does.
impl FromStr for ClassAd {
    type Err = AdError;

    fn from_str(text: &str) -> Result<Self, AdError> {
        parse_single_ad(text.as_bytes())
    }
}

fn parse_single_ad(text: &[u8]) -> Result<ClassAd, AdError> {
    let parse_error =
        |error: ParseError| AdError::from_parse_error(text, SurroundingText::at_line(1), &error);
    let form = match space::trim_start(text).first() {
        Some(b'[') => return ClassAd::parse_new(text, Dialect::new_syntax()).map_err(parse_error),
        Some(b'{') => return json::parse(text, Dialect::json()).map_err(parse_error),
        Some(b'<') => AdForm::Xml,
        _ => AdForm::Long,
    };
    let mut reader = AdReader::new(text, Some(form)).exact(true);
    let Some(record) = reader.read_from_memory() else { return Ok(ClassAd::new()) };
    if let Some(error) = record.errors.into_iter().next() {
        return Err(error);
    }
    let Some(second) = reader.read_from_memory() else { return Ok(record.ad) };
    // The second ad begins on a later line, but its offset is not known, so the line is searched for.
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let before = usize::try_from(second.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let at = lines.take(before).map(<[u8]>::len).sum();
    let surroundings = SurroundingText::at_line(1);
    Err(AdError::at_span(
        text,
        surroundings,
        Span::new(at, at + 1),
        "expected one ad, found a second ad".into(),
        None,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_and_describe(text: &str) -> String {
        match text.parse::<ClassAd>() {
            Ok(ad) => ad.to_string(),
            Err(error) => format!("{}:{} {}", error.line, error.column(), error.message),
        }
    }

    #[test]
    fn one_ad_is_read_in_every_syntax() {
        for text in [
            " [ A = 1; B = \"x\" ] ",
            "\n# comment\nA = 1\r\nB = \"x\"",
            "{\"A\": 1, \"B\": \"x\"}\n",
            "<?xml version=\"1.0\"?>\n<c><a n=\"A\"><i>1</i></a><a n=\"B\"><s>x</s></a></c>",
        ] {
            assert_eq!(parse_and_describe(text), "[ A = 1; B = \"x\" ]", "{text}");
        }
        for text in ["", "\n\n", "[]", "{}"] {
            assert_eq!(parse_and_describe(text), "[  ]", "{text}");
        }
    }

    #[test]
    fn text_outside_of_a_single_ad_is_an_error() {
        for (text, start) in [
            ("A = 1\nbad\n", "2:1 no `=`"),
            ("A = 1\nB = 1 2\n", "2:7 the value ends before this text"),
            ("A = 1\nB C = 1\n", "2:1 the name"),
            ("A = 1\n\nB = 2\n", "3:1 expected one ad"),
            ("[ A = 1 ] [ B = 2 ]", "1:11 expected the end"),
            ("[ A = 1;\n B = ]", "2:6 expected an operand"),
            ("{\"A\": 1} x", "1:10 expected the end"),
            ("[ '' = 1 ]", "1:3 an attribute has an empty name"),
            ("<c><a n=\"\"><i>1</i></a></c>", "1:4 "),
        ] {
            assert!(parse_and_describe(text).starts_with(start), "{text}: {}", parse_and_describe(text));
        }
    }
}
