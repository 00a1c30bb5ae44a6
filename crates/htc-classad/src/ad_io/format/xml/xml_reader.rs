//! Reader of ads as XML (reference: xmlSource.cpp, xmlLexer.cpp).

use crate::ad::{ClassAd, Value};
use crate::ad_io::format::json;
use crate::syntax::Dialect;
use crate::syntax::pitfalls::find_large_integer;
use crate::syntax::tree::{AdField, Node, NodeId, TreeBuilder};
use crate::syntax::{Expr, lexer, numbers, times};
use crate::text::Span;
use crate::text::space::is_space;

/// Error from reading an XML ad.
///
/// ```
/// use htc_classad::{Dialect, format::xml};
/// let error = xml::parse_prefix("<c><a><i>4</i></a></c>", Dialect::new_syntax()).unwrap_err();
/// assert!(error.at > 0 && !error.to_string().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
#[non_exhaustive]
pub struct XmlError {
    /// Offset of the tag or text that caused the error.
    pub at: usize,
    /// Description of the error.
    pub what: &'static str,
}

/// Reads the first ad of a text. If the text has no ad, as at the end of a file, the returned ad is empty and
/// `found_ad` is false.
///
/// ```
/// use htc_classad::{Dialect, format::xml};
/// let read = xml::parse_prefix(br#"<c><a n="Owner"><s>ana</s></a></c>"#, Dialect::new_syntax()).unwrap();
/// assert!(read.found_ad && read.ad.contains("owner"));
/// ```
///
/// # Errors
/// Fails on an attribute without a name or a value, or with an invalid value.
pub fn parse_prefix(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<XmlPrefix, XmlError> {
    let text = text.as_ref();
    let text = &text[..memchr::memchr(0, text).unwrap_or(text.len())];
    let mut reader = XmlReader { text, at: 0, peeked: None, in_string: false, dialect, large_integer: None };
    reader.read_ad()
}

/// Result of [`parse_prefix`].
///
/// ```
/// use htc_classad::{Dialect, format::xml};
/// let text = "<c><a n=\"Cpus\"><i>4</i></a></c>";
/// let first = xml::parse_prefix(text, Dialect::new_syntax()).unwrap();
/// assert_eq!((first.found_ad, first.ad["Cpus"].to_string().as_str()), (true, "4"));
/// let end = xml::parse_prefix(&text[first.used..], Dialect::new_syntax()).unwrap();
/// assert!(!end.found_ad && end.ad.is_empty());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct XmlPrefix {
    /// Ad that was read; empty if there was none.
    pub ad: ClassAd,
    /// True if the text contained an ad (the tag `<c>`).
    pub found_ad: bool,
    /// Number of bytes read.
    pub used: usize,
    /// First integer that does not fit in 64 bits, or `None`.
    pub large_integer: Option<LargeInteger>,
}

/// Integer that does not fit in 64 bits.
///
/// ```
/// use htc_classad::{Dialect, format::xml};
/// let text = "<c><a n=\"Big\"><i>99999999999999999999</i></a></c>";
/// assert!(xml::parse_prefix(text, Dialect::new_syntax()).unwrap().large_integer.unwrap().is_error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargeInteger {
    /// Range of the integer's digits in the text.
    pub span: Span,
    /// True if the integer was read as an error, as in the tag `<i>`; false if it was read as 0, as in an expression.
    pub is_error: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XmlTag {
    Ads,
    Ad,
    Attribute,
    Integer,
    Real,
    Str,
    Bool,
    Undefined,
    Error,
    AbsTime,
    RelTime,
    List,
    Expr,
    Prolog,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagShape {
    Start,
    End,
    Empty,
    /// Tag that is not closed, or whose name or value has an escape for a NUL byte.
    Invalid,
}

#[derive(Clone, Debug)]
enum XmlToken {
    Tag { tag: XmlTag, shape: TagShape, name: Vec<u8>, truth: Vec<u8>, start: usize },
    Text { text: Vec<u8>, start: usize },
}

struct XmlReader<'s> {
    text: &'s [u8],
    at: usize,
    peeked: Option<XmlToken>,
    /// True directly after the tag `<s>`, where white space is significant.
    in_string: bool,
    dialect: Dialect,
    large_integer: Option<LargeInteger>,
}

/// Container around the current value whose end has not been read yet.
enum OpenElement {
    List(Vec<NodeId>),
    Ad(Vec<AdField>, u32),
}

const NO_VALUE: &str = "the value of the attribute is missing or cannot be read";

impl XmlReader<'_> {
    fn peek(&mut self) -> Option<&XmlToken> {
        if self.peeked.is_none() {
            self.peeked = self.read_token();
            self.in_string =
                matches!(&self.peeked, Some(XmlToken::Tag { tag: XmlTag::Str, shape: TagShape::Start, .. }));
        }
        self.peeked.as_ref()
    }

    fn next_token(&mut self) -> Option<XmlToken> {
        self.peek();
        self.peeked.take()
    }

    /// Returns the number of bytes consumed, not counting a token that was peeked at but not consumed.
    fn bytes_used(&self) -> usize {
        match &self.peeked {
            Some(XmlToken::Tag { start, .. } | XmlToken::Text { start, .. }) => *start,
            None => self.at,
        }
    }

    fn read_token(&mut self) -> Option<XmlToken> {
        if !self.in_string {
            self.at += self.text[self.at..].iter().take_while(|byte| is_space(**byte)).count();
        }
        let start = self.at;
        if *self.text.get(start)? == b'<' {
            return Some(self.read_tag(start));
        }
        let (text, used) = grab_text(&self.text[start..]);
        self.at = start + used;
        Some(XmlToken::Text { text, start })
    }

    fn read_tag(&mut self, start: usize) -> XmlToken {
        let Some(length) = memchr::memchr(b'>', &self.text[start..]) else {
            self.at = self.text.len();
            return XmlToken::Tag {
                tag: XmlTag::Unknown,
                shape: TagShape::Invalid,
                name: Vec::new(),
                truth: Vec::new(),
                start,
            };
        };
        let end = start + length + 1;
        self.at = end;
        let mut inner = &self.text[start + 1..end - 1];
        inner = &inner[inner.iter().take_while(|byte| is_space(**byte)).count()..];
        let mut shape = TagShape::Start;
        if let Some(rest) = inner.strip_prefix(b"/") {
            (shape, inner) = (TagShape::End, rest);
        } else if let Some(rest) = inner.strip_suffix(b"/") {
            (shape, inner) = (TagShape::Empty, rest);
        }
        let word = inner.iter().position(|byte| is_space(*byte)).unwrap_or(inner.len());
        let tag = match &inner[..word] {
            b"classads" => XmlTag::Ads,
            b"c" => XmlTag::Ad,
            b"a" => XmlTag::Attribute,
            b"i" => XmlTag::Integer,
            b"r" => XmlTag::Real,
            b"s" => XmlTag::Str,
            b"b" => XmlTag::Bool,
            b"un" => XmlTag::Undefined,
            b"er" => XmlTag::Error,
            b"at" => XmlTag::AbsTime,
            b"rt" => XmlTag::RelTime,
            b"l" => XmlTag::List,
            b"e" => XmlTag::Expr,
            b"?xml" | b"?xml-stylesheet" | b"DOCTYPE" => XmlTag::Prolog,
            _ => XmlTag::Unknown,
        };
        let (mut name, mut truth) = (Vec::new(), Vec::new());
        for_each_attribute(&inner[word..], |key, value| match value {
            None => shape = TagShape::Invalid,
            Some(value) if value.is_empty() => {}
            Some(value) if key == b"n" => name = value,
            Some(value) if key == b"v" => truth = value,
            Some(_) => {}
        });
        XmlToken::Tag { tag, shape, name, truth, start }
    }

    fn read_ad(&mut self) -> Result<XmlPrefix, XmlError> {
        let mut ad = ClassAd::new();
        // Skips to the tag `<c>`, which begins an ad. The tags `</c>` and `<c/>` end the search without an ad.
        loop {
            match self.next_token() {
                None => {
                    return Ok(XmlPrefix {
                        ad,
                        found_ad: false,
                        used: self.bytes_used(),
                        large_integer: None,
                    });
                }
                Some(XmlToken::Tag { tag: XmlTag::Ad, shape: TagShape::Start, .. }) => break,
                Some(XmlToken::Tag { tag: XmlTag::Ad, .. }) => {
                    return Ok(XmlPrefix {
                        ad,
                        found_ad: false,
                        used: self.bytes_used(),
                        large_integer: None,
                    });
                }
                Some(_) => {}
            }
        }
        while let Some(name) = self.read_attribute_name()? {
            let value = self.read_value(name.1)?;
            ad.put_expr(&name.0, value);
            self.skip_end_tag(XmlTag::Attribute);
        }
        Ok(XmlPrefix { ad, found_ad: true, used: self.bytes_used(), large_integer: self.large_integer })
    }

    /// Reads the name of the next attribute of an ad and the offset of its tag. Returns `None` at the end of the ad.
    fn read_attribute_name(&mut self) -> Result<Option<(Vec<u8>, usize)>, XmlError> {
        loop {
            match self.next_token() {
                None => return Ok(None),
                Some(XmlToken::Text { .. }) => {}
                Some(XmlToken::Tag {
                    tag: XmlTag::Attribute, shape: TagShape::Start, name, start, ..
                }) => {
                    if name.is_empty() {
                        return Err(XmlError {
                            at: start,
                            what: "an attribute has no name; write <a n=\"Name\">",
                        });
                    }
                    return Ok(Some((name, start)));
                }
                Some(XmlToken::Tag { tag: XmlTag::Attribute, shape: TagShape::Invalid, start, .. }) => {
                    return Err(XmlError { at: start, what: "the name of an attribute has a NUL byte" });
                }
                Some(XmlToken::Tag { tag: XmlTag::Attribute, .. }) => {}
                Some(XmlToken::Tag { tag: XmlTag::Ad, shape, .. }) => {
                    if shape == TagShape::End {
                        return Ok(None);
                    }
                }
                // Within an ad, the reference loops forever on these two tags.
                Some(XmlToken::Tag { tag: XmlTag::Ads | XmlTag::Prolog, .. }) => {}
                Some(XmlToken::Tag { .. }) => return Ok(None),
            }
        }
    }

    fn skip_end_tag(&mut self, wanted: XmlTag) {
        if matches!(self.peek(), Some(XmlToken::Tag { tag, shape: TagShape::End, .. }) if *tag == wanted) {
            self.next_token();
        }
    }

    /// Reads the value of an attribute.
    fn read_value(&mut self, attribute: usize) -> Result<Expr, XmlError> {
        if let Some(scalar) = self.read_scalar()? {
            return Ok(scalar);
        }
        let mut builder = TreeBuilder::default();
        let mut open: Vec<OpenElement> = Vec::new();
        loop {
            if open.len() > json::MAX_DEPTH {
                return Err(XmlError { at: attribute, what: "the value is nested too deeply" });
            }
            let mut ended = self.begin_value(attribute, &mut open, &mut builder)?;
            while let Some(node) = ended.take() {
                match open.pop() {
                    None => return Ok(Expr::from_builder(&builder, node)),
                    Some(OpenElement::List(mut items)) => {
                        items.push(node);
                        open.push(OpenElement::List(items));
                    }
                    Some(OpenElement::Ad(mut fields, name)) => {
                        fields.push(AdField { name, node });
                        self.skip_end_tag(XmlTag::Attribute);
                        match self.read_attribute_name()? {
                            Some((name, _)) => {
                                let name = builder.push_name(&name);
                                open.push(OpenElement::Ad(fields, name));
                            }
                            None => ended = Some(builder.push_ad(&mut fields)),
                        }
                    }
                }
            }
        }
    }

    /// Reads the beginning of a value or, in a list, possibly the end of the list. Returns the value if it is complete.
    fn begin_value(
        &mut self,
        attribute: usize,
        open: &mut Vec<OpenElement>,
        builder: &mut TreeBuilder,
    ) -> Result<Option<NodeId>, XmlError> {
        let fail = |at: usize| Err(XmlError { at, what: NO_VALUE });
        if let Some(scalar) = self.read_scalar()? {
            return Ok(Some(builder.copy_expr(&scalar)));
        }
        let in_list = matches!(open.last(), Some(OpenElement::List(_)));
        match self.peek() {
            Some(XmlToken::Tag { tag: XmlTag::List, shape, .. })
                if *shape != TagShape::End || open.is_empty() =>
            {
                self.next_token();
                open.push(OpenElement::List(Vec::new()));
                Ok(None)
            }
            Some(XmlToken::Tag { tag: XmlTag::List, .. }) | None if in_list => {
                self.next_token();
                Ok(match open.pop() {
                    Some(OpenElement::List(items)) => Some(builder.push_list(&items)),
                    _ => None,
                })
            }
            Some(XmlToken::Tag { tag: XmlTag::Ad, shape: TagShape::Start, .. }) => {
                self.next_token();
                let Some((name, _)) = self.read_attribute_name()? else {
                    return Ok(Some(builder.push_ad(&mut [])));
                };
                let name = builder.push_name(&name);
                open.push(OpenElement::Ad(Vec::new(), name));
                Ok(None)
            }
            // Text or a tag that does not begin a value. Within a list, the reference would loop forever on it.
            Some(_) if in_list => {
                self.next_token();
                Ok(None)
            }
            Some(XmlToken::Tag { start, .. } | XmlToken::Text { start, .. }) => fail(*start),
            None => fail(attribute),
        }
    }

    /// Reads a scalar and its end tag. Returns `None` if anything else begins.
    fn read_scalar(&mut self) -> Result<Option<Expr>, XmlError> {
        let (tag, shape, truth, start) = match self.peek() {
            Some(XmlToken::Tag { tag, shape, truth, start, .. }) => (*tag, *shape, truth.clone(), *start),
            _ => return Ok(None),
        };
        let bad = |what: &'static str| Err(XmlError { at: start, what });
        let simple = match tag {
            XmlTag::Bool => Some(Value::Bool(truth == b"t" || truth == b"T")),
            XmlTag::Undefined => Some(Value::Undefined),
            XmlTag::Error => Some(Value::Error),
            XmlTag::Integer
            | XmlTag::Real
            | XmlTag::Str
            | XmlTag::AbsTime
            | XmlTag::RelTime
            | XmlTag::Expr => None,
            _ => return Ok(None),
        };
        self.next_token();
        if let Some(value) = simple {
            if shape == TagShape::Start {
                self.skip_end_tag(tag);
            }
            return Ok(Some(Expr::literal(value)));
        }
        let (text, text_start) = match self.peek() {
            Some(XmlToken::Text { text, start }) => (Some(text.clone()), *start),
            _ => (None, start),
        };
        if text.is_some() {
            self.next_token();
        }
        let expr = match (tag, text) {
            (XmlTag::Str, None) => Expr::literal(""),
            (_, None) => return bad(NO_VALUE),
            (XmlTag::Integer, Some(text)) => {
                let value = parse_integer(&text);
                if matches!(value, Value::Error) {
                    self.note_large_integer(&text, text_start, true);
                }
                Expr::literal(value)
            }
            (XmlTag::Real, Some(text)) => {
                let (real, used) = numbers::strtod(&text);
                Expr::literal(if used == 0 { Value::Error } else { Value::Real(real) })
            }
            (XmlTag::Str, Some(text)) => {
                let mut value = Vec::new();
                if !lexer::unescape(&text, &mut value) {
                    return bad("the string has an escape for a NUL byte");
                }
                Expr::literal(value)
            }
            (XmlTag::AbsTime, Some(text)) => {
                match times::parse_abs_time(&text, |seconds| self.dialect.local_time(seconds)) {
                    Some(time) => Expr::literal(time),
                    None => return bad("this is not a valid time"),
                }
            }
            (XmlTag::RelTime, Some(text)) => match times::parse_rel_time(&text) {
                Some(seconds) => {
                    let mut builder = TreeBuilder::default();
                    let root = builder.push_node(Node::RelTime(seconds));
                    Expr::from_builder(&builder, root)
                }
                None => return bad("this is not a valid time span"),
            },
            (_, Some(text)) => match Expr::parse_prefix(&text, self.dialect) {
                Ok((expr, _)) => {
                    self.note_large_integer(&text, text_start, false);
                    expr
                }
                Err(_) => return bad("the expression in <e> cannot be read"),
            },
        };
        self.skip_end_tag(tag);
        Ok(Some(expr))
    }
}

impl XmlReader<'_> {
    /// Records the first integer that does not fit in 64 bits. `start` is the offset of the text of the value.
    fn note_large_integer(&mut self, value: &[u8], start: usize, is_error: bool) {
        if self.large_integer.is_some() {
            return;
        }
        let Some(span) = find_large_integer(value, self.dialect) else { return };
        // Entities make the decoded value shorter than its text.
        let digits = span.slice(value);
        let rest = self.text.get(start + span.start as usize..).unwrap_or_default();
        if let Some(at) = memchr::memmem::find(rest, digits) {
            let begin = start + span.start as usize + at;
            self.large_integer =
                Some(LargeInteger { span: Span::new(begin, begin + digits.len()), is_error });
        }
    }
}

/// Parses the integer at the beginning of a text like `std::from_chars`. Returns the error value if there are no digits
/// or the integer does not fit in 64 bits.
fn parse_integer(text: &[u8]) -> Value {
    let negative = text.first() == Some(&b'-');
    let digits = text[usize::from(negative)..].iter().take_while(|byte| byte.is_ascii_digit());
    let mut value: Option<i64> = None;
    for digit in digits {
        let digit = i64::from(digit - b'0');
        let sum = value.unwrap_or(0).checked_mul(10);
        let sum = sum.and_then(|sum| if negative { sum.checked_sub(digit) } else { sum.checked_add(digit) });
        match sum {
            Some(sum) => value = Some(sum),
            None => return Value::Error,
        }
    }
    value.map_or(Value::Error, Value::Int)
}

const ENTITIES: [(&[u8], u8); 3] = [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>')];

/// Returns the text up to the next tag with its entities replaced, and its length in the input (reference:
/// `XMLLexer::GrabText`). After an ampersand the text continues to a blank, a semicolon or the next ampersand, even
/// across tags. If the input ends first, the ampersand and the text after it are lost.
fn grab_text(text: &[u8]) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(length) = memchr::memchr2(b'<', b'&', &text[at..]) {
        out.extend_from_slice(&text[at..at + length]);
        at += length;
        if text[at] == b'<' {
            return (out, at);
        }
        let Some(length) = memchr::memchr3(b' ', b';', b'&', &text[at + 1..]) else {
            return (out, text.len());
        };
        let stop = at + 1 + length;
        let end = if text[stop] == b'&' { stop } else { stop + 1 };
        out.extend_from_slice(&replace_entities(&text[at..end]));
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    (out, text.len())
}

/// Replaces the three known entities in a text and keeps all other entities unchanged.
fn replace_entities(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match ENTITIES.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, byte)) => {
                out.push(*byte);
                rest = &rest[name.len()..];
            }
            // An unknown entity is copied unchanged, so its bytes can be copied one at a time.
            None => {
                out.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Calls `found` with the name and value of each attribute of a tag. The value is `None` if it has an escape for a NUL
/// byte.
fn for_each_attribute(mut text: &[u8], mut found: impl FnMut(&[u8], Option<Vec<u8>>)) {
    let skip = |text: &mut &[u8], what: &dyn Fn(u8) -> bool| {
        let length = text.iter().take_while(|byte| what(**byte)).count();
        let (skipped, rest) = text.split_at(length);
        *text = rest;
        skipped.to_vec()
    };
    while !text.is_empty() {
        skip(&mut text, &is_space);
        let key = skip(&mut text, &|byte| !is_space(byte) && byte != b'=');
        skip(&mut text, &|byte| is_space(byte) || byte == b'=');
        // Skips the opening quote, which may be any character.
        text = text.get(1..).unwrap_or_default();
        let mut length = 0;
        while length < text.len() && (text[length] != b'"' || (length > 0 && text[length - 1] == b'\\')) {
            length += 1;
        }
        let value = replace_entities(&text[..length]);
        text = &text[length..];
        let mut plain = Vec::new();
        let good = lexer::unescape(&value, &mut plain);
        if !good {
            found(&key, None);
        } else if !key.is_empty() {
            found(&key, Some(plain));
        }
    }
}
