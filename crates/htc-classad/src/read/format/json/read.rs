//! Reads JSON objects as ads (reference: jsonSource.cpp).

use std::borrow::Cow;
use std::ops::Range;

use crate::ad::{ClassAd, Slot, Value};
use crate::read::format::new;
use crate::read::memo::{Memo, NONE};
use crate::syntax::expr::Repr;
use crate::syntax::lexer::{Kind, Lexer};
use crate::syntax::parser::{Parsed, Parser, parse_with};
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{Builder, Field, NodeId};
use crate::syntax::{Dialect, Expr, ParseError, ParseErrorKind};

/// Reads an ad that is the whole text.
///
/// ```
/// use htc_classad::{Dialect, format::json};
/// let ad = json::parse(br#"{"Owner": "ana", "Rank": "\/Expr(Memory * 2)\/"}"#, Dialect::json()).unwrap();
/// assert_eq!(ad.get("rank").unwrap().unparse(), "Memory * 2");
/// ```
///
/// # Errors
/// Says where the text stops being an ad and what would have been accepted there.
pub fn parse(text: &[u8], dialect: Dialect) -> Result<ClassAd, ParseError> {
    let (ad, used) = parse_prefix(text, dialect)?;
    new::expect_end(text, used, Dialect { json: true, ..dialect })?;
    Ok(ad)
}

/// Reads the ad that a text begins with; also tells how many bytes it took.
///
/// # Errors
/// As [`parse`].
pub fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(ClassAd, usize), ParseError> {
    read(text, dialect, None)
}

/// As [`parse_prefix`], for an ad of many: names and expressions are looked up in what is remembered of those before.
pub(crate) fn parse_next(
    text: &[u8],
    dialect: Dialect,
    memo: &mut Memo,
) -> Result<(ClassAd, usize), ParseError> {
    read(text, dialect, Some(memo))
}

fn read(text: &[u8], dialect: Dialect, memo: Option<&mut Memo>) -> Result<(ClassAd, usize), ParseError> {
    let dialect = Dialect { json: true, old_strings: false, ..dialect };
    parse_with(text, dialect, |parser| Reader { parser, dialect, builder: Builder::default(), memo }.ad())
}

struct Reader<'p, 's, 'w, 'm> {
    /// For its cursor and its messages; expressions are not read with it.
    parser: &'p mut Parser<'s, 'w>,
    dialect: Dialect,
    builder: Builder,
    memo: Option<&'m mut Memo>,
}

/// An array or object that is not complete yet.
enum Open {
    Array(Vec<NodeId>),
    Object(Vec<Field>, u32),
}

/// Arrays and objects that may stand within one another. The reference has no limit and overflows its stack some way
/// beyond; what is indented by its depth must stay of a size.
pub(crate) const DEEPEST: usize = 5000;

const NAME: &str = "the name of an attribute in quotes or `}`";

impl<'s> Reader<'_, 's, '_, '_> {
    fn lexer(&mut self) -> &mut Lexer<'s> {
        &mut self.parser.lexer
    }

    fn kind(&self) -> Kind {
        self.parser.kind()
    }

    fn expect(&mut self, kind: Kind, expected: &'static str) -> Parsed<()> {
        if self.kind() != kind {
            return Err(self.parser.unexpected(expected));
        }
        self.lexer().advance();
        Ok(())
    }

    fn ad(&mut self) -> Parsed<(ClassAd, usize)> {
        if self.kind() != Kind::OpenBrace {
            return Err(self.parser.unexpected("an ad, which begins with `{`"));
        }
        self.lexer().advance();
        let mut ad = match self.memo.as_deref_mut() {
            Some(memo) => memo.begin(),
            None => ClassAd::likely_in(self.parser.lexer.source().len()),
        };
        while let Some(name) = self.name()? {
            let place = self.memo.as_deref_mut().map_or((NONE, None), |memo| memo.enter_name(&name));
            self.attribute(&mut ad, &name, place)?;
            self.separator(Kind::CloseBrace, "`,` or `}`")?;
        }
        if let Some(memo) = self.memo.as_deref_mut() {
            memo.end(&ad);
        }
        Ok((ad, self.parser.lexer.end()))
    }

    /// Sets an attribute to the value that comes next. Its number in the memory, and the hash of the name if it is not in the ad.
    fn attribute(&mut self, ad: &mut ClassAd, name: &[u8], (number, new): (u32, Option<u32>)) -> Parsed<()> {
        let token = &self.parser.lexer.token;
        let value = match token.kind {
            Kind::String => {
                let text = self.parser.lexer.bytes(token.text);
                if token.quoted_expression
                    && let Some(inner) = quoted_expression(text)
                {
                    let part = PREFIX.len()..PREFIX.len() + inner.len();
                    let known = |memo: &mut Memo| memo.recall(number, inner);
                    match self.memo.as_deref_mut().and_then(known) {
                        Some((root, tree)) => ad.put_known(name, new, Slot::Expr(root, tree)),
                        None => {
                            let expr = self.expression(part.clone())?;
                            if let (Some(memo), Repr::Node(tree, root)) = (self.memo.as_deref_mut(), &expr.0)
                            {
                                let lexer = &self.parser.lexer;
                                let text = &lexer.bytes(lexer.token.text)[part];
                                memo.learn(number, text, *root, tree);
                            }
                            ad.insert(name, expr);
                        }
                    }
                    self.lexer().advance();
                    return Ok(());
                }
                Scalar::Str(text)
            }
            Kind::Integer => Scalar::Int(token.integer),
            Kind::Real => Scalar::Real(token.real),
            Kind::Boolean => Scalar::Bool(token.boolean),
            Kind::Undefined => Scalar::Undefined,
            _ => {
                let value = self.value()?;
                ad.insert(name, value);
                return Ok(());
            }
        };
        ad.put_plain(name, new, value);
        self.lexer().advance();
        Ok(())
    }

    /// The name of the next attribute with its colon; none at the end of the object, whose brace is left standing.
    fn name(&mut self) -> Parsed<Option<Cow<'s, [u8]>>> {
        while self.kind() == Kind::Comma {
            self.lexer().advance();
        }
        if self.kind() == Kind::CloseBrace {
            return Ok(None);
        }
        if self.kind() != Kind::String {
            return Err(self.parser.unexpected(NAME));
        }
        let lexer = &self.parser.lexer;
        let text = lexer.token.text;
        if text.len == 0 {
            return Err(self.parser.error(ParseErrorKind::EmptyName, NAME));
        }
        let name = match lexer.in_source(text) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(lexer.bytes(text).to_vec()),
        };
        self.lexer().advance();
        self.expect(Kind::Colon, "`:`")?;
        Ok(Some(name))
    }

    /// Whatever must stand behind an element: a comma, which is taken, or the closing bracket, which is not.
    fn separator(&mut self, close: Kind, expected: &'static str) -> Parsed<()> {
        match self.kind() {
            Kind::Comma => self.lexer().advance(),
            kind if kind == close => {}
            _ => return Err(self.parser.unexpected(expected)),
        }
        Ok(())
    }

    /// The expression that a part of the present token's text is, which is a string.
    fn expression(&mut self, part: Range<usize>) -> Parsed<Expr> {
        let dialect = Dialect { json: false, ..self.dialect };
        self.parser.within(part, dialect).map_err(|mut error| {
            // The place within the decoded text means nothing to the user: point at the string.
            let lexer = &self.parser.lexer;
            error.span = crate::text::Span::new(lexer.token.start, lexer.end());
            error
        })
    }

    /// A scalar, or none where an array or object begins.
    fn scalar(&mut self) -> Parsed<Option<Expr>> {
        let token = &self.parser.lexer.token;
        let expr = match token.kind {
            Kind::Undefined => Expr::literal(Value::Undefined),
            Kind::Boolean => Expr::literal(token.boolean),
            Kind::Integer => Expr::literal(token.integer),
            Kind::Real => Expr::literal(token.real),
            Kind::String => {
                let text = self.parser.lexer.bytes(token.text);
                match quoted_expression(text).filter(|_| token.quoted_expression) {
                    Some(inner) => {
                        let part = PREFIX.len()..PREFIX.len() + inner.len();
                        self.expression(part)?
                    }
                    None => Expr::literal(text),
                }
            }
            Kind::OpenBrace | Kind::OpenBox => return Ok(None),
            _ => return Err(self.parser.unexpected("a value")),
        };
        self.lexer().advance();
        Ok(Some(expr))
    }

    fn value(&mut self) -> Parsed<Expr> {
        if let Some(scalar) = self.scalar()? {
            return Ok(scalar);
        }
        self.builder.clear();
        let mut open: Vec<Open> = Vec::new();
        loop {
            if open.len() >= DEEPEST {
                return Err(self.parser.error(ParseErrorKind::TooDeepJson, "a value"));
            }
            // A value begins here.
            let mut node = match self.scalar()? {
                Some(scalar) => self.builder.expr(&scalar),
                None if self.kind() == Kind::OpenBrace => {
                    self.lexer().advance();
                    if let Some(name) = self.name()? {
                        let name = self.builder.name(&name);
                        open.push(Open::Object(Vec::new(), name));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.ad(&mut [])
                }
                None => {
                    self.lexer().advance();
                    if self.kind() != Kind::CloseBox {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.list(&[])
                }
            };
            // A value ended here: it goes into what is open, which may end with it.
            loop {
                match open.pop() {
                    None => return Ok(Expr::from_builder(&self.builder, node)),
                    Some(Open::Array(mut items)) => {
                        items.push(node);
                        if self.kind() != Kind::CloseBox {
                            self.expect(Kind::Comma, "`,` or `]`")?;
                            open.push(Open::Array(items));
                            break;
                        }
                        node = self.builder.list(&items);
                    }
                    Some(Open::Object(mut fields, name)) => {
                        fields.push(Field { name, node });
                        self.separator(Kind::CloseBrace, "`,` or `}`")?;
                        if let Some(name) = self.name()? {
                            let name = self.builder.name(&name);
                            open.push(Open::Object(fields, name));
                            break;
                        }
                        node = self.builder.ad(&mut fields);
                    }
                }
                self.lexer().advance();
            }
        }
    }
}

/// What an expression begins with in a string.
const PREFIX: &[u8] = b"/Expr(";

/// The text within `/Expr(` and `)/`, right behind the former.
fn quoted_expression(text: &[u8]) -> Option<&[u8]> {
    let (start, rest) = text.split_at_checked(PREFIX.len())?;
    if !start.eq_ignore_ascii_case(PREFIX) {
        return None;
    }
    // `/Expr()/` has room for both ends; the shorter `/Expr(/` has not, but the reference looks at its ends only.
    if text.ends_with(b")/") { Some(rest.strip_suffix(b")/").unwrap_or_default()) } else { None }
}
