//! Reading ads from XML (reference: xmlSource.cpp, xmlLexer.cpp).

use crate::ad::{ClassAd, Value};
use crate::read::format::json;
use crate::syntax::Dialect;
use crate::syntax::tree::{Builder, Field, Node, NodeId};
use crate::syntax::{Expr, lexer, numbers, times};
use crate::text::space::is_space;

/// Why a text is no ad.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct XmlError {
    /// Offset of the tag or text that cannot be used.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Reads the first ad of a text; also tells how many bytes were read. There need not be one: then the ad is empty and
/// `found` is false, as at the end of a file.
///
/// ```
/// use htc_classad::{Dialect, format::xml};
/// let read = xml::parse_prefix(br#"<c><a n="Owner"><s>ana</s></a></c>"#, Dialect::new_syntax()).unwrap();
/// assert!(read.found && read.ad.contains("owner"));
/// ```
///
/// # Errors
/// An attribute without a name, without a value, or with one that cannot be read.
pub fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<Read, XmlError> {
    let text = &text[..memchr::memchr(0, text).unwrap_or(text.len())];
    let mut reader = Reader { text, at: 0, peeked: None, in_string: false, dialect };
    reader.ad()
}

/// What [`parse_prefix`] read.
#[derive(Clone, Debug)]
pub struct Read {
    /// The ad.
    pub ad: ClassAd,
    /// Whether a `<c>` was met.
    pub found: bool,
    /// Bytes read.
    pub used: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
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
enum Shape {
    Start,
    End,
    Empty,
    /// A name or value in it has an escape for a NUL byte; or the tag is not closed.
    Invalid,
}

#[derive(Clone, Debug)]
enum Token {
    Tag { tag: Tag, shape: Shape, name: Vec<u8>, truth: Vec<u8>, start: usize },
    Text { text: Vec<u8>, start: usize },
}

struct Reader<'s> {
    text: &'s [u8],
    at: usize,
    peeked: Option<Token>,
    /// White space counts directly behind `<s>`.
    in_string: bool,
    dialect: Dialect,
}

/// What is open around the value that is read.
enum Open {
    List(Vec<NodeId>),
    Ad(Vec<Field>, u32),
}

const NO_VALUE: &str = "the attribute has no value that could be read";

impl Reader<'_> {
    fn peek(&mut self) -> Option<&Token> {
        if self.peeked.is_none() {
            self.peeked = self.token();
            self.in_string =
                matches!(&self.peeked, Some(Token::Tag { tag: Tag::Str, shape: Shape::Start, .. }));
        }
        self.peeked.as_ref()
    }

    fn next(&mut self) -> Option<Token> {
        self.peek();
        self.peeked.take()
    }

    /// Bytes that were used up, a token that was only looked at not counted.
    fn used(&self) -> usize {
        match &self.peeked {
            Some(Token::Tag { start, .. } | Token::Text { start, .. }) => *start,
            None => self.at,
        }
    }

    fn token(&mut self) -> Option<Token> {
        if !self.in_string {
            self.at += self.text[self.at..].iter().take_while(|byte| is_space(**byte)).count();
        }
        let start = self.at;
        if *self.text.get(start)? == b'<' {
            return Some(self.tag(start));
        }
        let (text, used) = grab_text(&self.text[start..]);
        self.at = start + used;
        Some(Token::Text { text, start })
    }

    fn tag(&mut self, start: usize) -> Token {
        let Some(length) = memchr::memchr(b'>', &self.text[start..]) else {
            self.at = self.text.len();
            return Token::Tag {
                tag: Tag::Unknown,
                shape: Shape::Invalid,
                name: Vec::new(),
                truth: Vec::new(),
                start,
            };
        };
        let end = start + length + 1;
        self.at = end;
        let mut inner = &self.text[start + 1..end - 1];
        inner = &inner[inner.iter().take_while(|byte| is_space(**byte)).count()..];
        let mut shape = Shape::Start;
        if let Some(rest) = inner.strip_prefix(b"/") {
            (shape, inner) = (Shape::End, rest);
        } else if let Some(rest) = inner.strip_suffix(b"/") {
            (shape, inner) = (Shape::Empty, rest);
        }
        let word = inner.iter().position(|byte| is_space(*byte)).unwrap_or(inner.len());
        let tag = match &inner[..word] {
            b"classads" => Tag::Ads,
            b"c" => Tag::Ad,
            b"a" => Tag::Attribute,
            b"i" => Tag::Integer,
            b"r" => Tag::Real,
            b"s" => Tag::Str,
            b"b" => Tag::Bool,
            b"un" => Tag::Undefined,
            b"er" => Tag::Error,
            b"at" => Tag::AbsTime,
            b"rt" => Tag::RelTime,
            b"l" => Tag::List,
            b"e" => Tag::Expr,
            b"?xml" | b"?xml-stylesheet" | b"DOCTYPE" => Tag::Prolog,
            _ => Tag::Unknown,
        };
        let (mut name, mut truth) = (Vec::new(), Vec::new());
        attributes(&inner[word..], |key, value| match value {
            None => shape = Shape::Invalid,
            Some(value) if value.is_empty() => {}
            Some(value) if key == b"n" => name = value,
            Some(value) if key == b"v" => truth = value,
            Some(_) => {}
        });
        Token::Tag { tag, shape, name, truth, start }
    }

    fn ad(&mut self) -> Result<Read, XmlError> {
        let mut ad = ClassAd::new();
        // Up to the tag that begins an ad. An end tag of ads ends the search, as does `<c/>`.
        loop {
            match self.next() {
                None => return Ok(Read { ad, found: false, used: self.used() }),
                Some(Token::Tag { tag: Tag::Ad, shape: Shape::Start, .. }) => break,
                Some(Token::Tag { tag: Tag::Ad, .. }) => {
                    return Ok(Read { ad, found: false, used: self.used() });
                }
                Some(_) => {}
            }
        }
        while let Some(name) = self.attribute()? {
            let value = self.value(name.1)?;
            ad.insert(&name.0, value);
            self.swallow_end(Tag::Attribute);
        }
        Ok(Read { ad, found: true, used: self.used() })
    }

    /// The name of the next attribute of an ad and where its tag stands; none at the end of the ad.
    fn attribute(&mut self) -> Result<Option<(Vec<u8>, usize)>, XmlError> {
        loop {
            match self.next() {
                None => return Ok(None),
                Some(Token::Text { .. }) => {}
                Some(Token::Tag { tag: Tag::Attribute, shape: Shape::Start, name, start, .. }) => {
                    if name.is_empty() {
                        return Err(XmlError {
                            at: start,
                            what: "an attribute has no name; write <a n=\"Name\">",
                        });
                    }
                    return Ok(Some((name, start)));
                }
                Some(Token::Tag { tag: Tag::Attribute, shape: Shape::Invalid, start, .. }) => {
                    return Err(XmlError { at: start, what: "the name of an attribute has a NUL byte" });
                }
                Some(Token::Tag { tag: Tag::Attribute, .. }) => {}
                Some(Token::Tag { tag: Tag::Ad, shape, .. }) => {
                    if shape == Shape::End {
                        return Ok(None);
                    }
                }
                // The reference never gets past these two within an ad.
                Some(Token::Tag { tag: Tag::Ads | Tag::Prolog, .. }) => {}
                Some(Token::Tag { .. }) => return Ok(None),
            }
        }
    }

    fn swallow_end(&mut self, wanted: Tag) {
        if matches!(self.peek(), Some(Token::Tag { tag, shape: Shape::End, .. }) if *tag == wanted) {
            self.next();
        }
    }

    /// The value of an attribute.
    fn value(&mut self, attribute: usize) -> Result<Expr, XmlError> {
        if let Some(scalar) = self.scalar()? {
            return Ok(scalar);
        }
        let mut builder = Builder::default();
        let mut open: Vec<Open> = Vec::new();
        loop {
            if open.len() > json::DEEPEST {
                return Err(XmlError { at: attribute, what: "the value is nested too deeply" });
            }
            let mut ended = self.begin_value(attribute, &mut open, &mut builder)?;
            while let Some(node) = ended.take() {
                match open.pop() {
                    None => return Ok(Expr::from_builder(&builder, node)),
                    Some(Open::List(mut items)) => {
                        items.push(node);
                        open.push(Open::List(items));
                    }
                    Some(Open::Ad(mut fields, name)) => {
                        fields.push(Field { name, node });
                        self.swallow_end(Tag::Attribute);
                        match self.attribute()? {
                            Some((name, _)) => {
                                let name = builder.name(&name);
                                open.push(Open::Ad(fields, name));
                            }
                            None => ended = Some(builder.ad(&mut fields)),
                        }
                    }
                }
            }
        }
    }

    /// Takes what stands where a value is to begin, within a list also its end; the value that is whole with it.
    fn begin_value(
        &mut self,
        attribute: usize,
        open: &mut Vec<Open>,
        builder: &mut Builder,
    ) -> Result<Option<NodeId>, XmlError> {
        let fail = |at: usize| Err(XmlError { at, what: NO_VALUE });
        if let Some(scalar) = self.scalar()? {
            return Ok(Some(builder.expr(&scalar)));
        }
        let in_list = matches!(open.last(), Some(Open::List(_)));
        match self.peek() {
            Some(Token::Tag { tag: Tag::List, shape, .. }) if *shape != Shape::End || open.is_empty() => {
                self.next();
                open.push(Open::List(Vec::new()));
                Ok(None)
            }
            Some(Token::Tag { tag: Tag::List, .. }) | None if in_list => {
                self.next();
                Ok(match open.pop() {
                    Some(Open::List(items)) => Some(builder.list(&items)),
                    _ => None,
                })
            }
            Some(Token::Tag { tag: Tag::Ad, shape: Shape::Start, .. }) => {
                self.next();
                let Some((name, _)) = self.attribute()? else { return Ok(Some(builder.ad(&mut []))) };
                let name = builder.name(&name);
                open.push(Open::Ad(Vec::new(), name));
                Ok(None)
            }
            // Text and tags that begin no value: the reference would not get past them within a list.
            Some(_) if in_list => {
                self.next();
                Ok(None)
            }
            Some(Token::Tag { start, .. } | Token::Text { start, .. }) => fail(*start),
            None => fail(attribute),
        }
    }

    /// A scalar value with its end tag; none where something else begins.
    fn scalar(&mut self) -> Result<Option<Expr>, XmlError> {
        let (tag, shape, truth, start) = match self.peek() {
            Some(Token::Tag { tag, shape, truth, start, .. }) => (*tag, *shape, truth.clone(), *start),
            _ => return Ok(None),
        };
        let bad = |what: &'static str| Err(XmlError { at: start, what });
        let simple = match tag {
            Tag::Bool => Some(Value::Bool(truth == b"t" || truth == b"T")),
            Tag::Undefined => Some(Value::Undefined),
            Tag::Error => Some(Value::Error),
            Tag::Integer | Tag::Real | Tag::Str | Tag::AbsTime | Tag::RelTime | Tag::Expr => None,
            _ => return Ok(None),
        };
        self.next();
        if let Some(value) = simple {
            if shape == Shape::Start {
                self.swallow_end(tag);
            }
            return Ok(Some(Expr::literal(value)));
        }
        let text = match self.peek() {
            Some(Token::Text { text, .. }) => Some(text.clone()),
            _ => None,
        };
        if text.is_some() {
            self.next();
        }
        let expr = match (tag, text) {
            (Tag::Str, None) => Expr::literal(""),
            (_, None) => return bad(NO_VALUE),
            (Tag::Integer, Some(text)) => Expr::literal(integer(&text)),
            (Tag::Real, Some(text)) => {
                let (real, used) = numbers::strtod(&text);
                Expr::literal(if used == 0 { Value::Error } else { Value::Real(real) })
            }
            (Tag::Str, Some(text)) => {
                let mut value = Vec::new();
                if !lexer::unescape(&text, &mut value) {
                    return bad("the string has an escape for a NUL byte");
                }
                Expr::literal(value)
            }
            (Tag::AbsTime, Some(text)) => {
                match times::parse_abs(&text, |seconds| self.dialect.local_time(seconds)) {
                    Some(time) => Expr::literal(time),
                    None => return bad("this is no point of time"),
                }
            }
            (Tag::RelTime, Some(text)) => match times::parse_rel(&text) {
                Some(seconds) => {
                    let mut builder = Builder::default();
                    let root = builder.push(Node::RelTime(seconds));
                    Expr::from_builder(&builder, root)
                }
                None => return bad("this is no span of time"),
            },
            (_, Some(text)) => match Expr::parse_prefix(&text, self.dialect) {
                Ok((expr, _)) => expr,
                Err(_) => return bad("the expression in <e> cannot be read"),
            },
        };
        self.swallow_end(tag);
        Ok(Some(expr))
    }
}

/// `std::from_chars`: the digits a text begins with; error where there are none or they do not fit.
fn integer(text: &[u8]) -> Value {
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

/// The text up to the next tag with its entities replaced, and how long it was (reference: `XMLLexer::GrabText`). An
/// ampersand takes all up to a blank, a semicolon or the next ampersand with it, tags too; at the end of the input it is
/// lost with what follows it.
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

/// Replaces the three entities of a text. Others stand for themselves.
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
            // What a blank, a semicolon or the next `&` ends is copied as it is, so one byte at a time will do.
            None => {
                out.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// The attributes of a tag; a value of none has an escape for a NUL byte.
fn attributes(mut text: &[u8], mut found: impl FnMut(&[u8], Option<Vec<u8>>)) {
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
        // The quote, whatever it is.
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
