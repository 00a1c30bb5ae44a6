//! Reader of ads as JSON objects (reference: jsonSource.cpp).

use std::borrow::Cow;
use std::ops::Range;

use crate::ad::{ClassAd, StoredValue, Value};
use crate::ad_io::format::new_syntax;
use crate::ad_io::line_memo::{LineMemo, NO_LINE};
use crate::syntax::expr::ExprRepr;
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::syntax::parser::{ParseResult, Parser, with_parser};
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{AdField, NodeId, TreeBuilder};
use crate::syntax::{Dialect, Expr, ParseError, ParseErrorKind};

/// Parses a text that consists of one ad as a JSON object.
///
/// ```
/// use htc_classad::{Dialect, format::json};
/// let ad = json::parse(br#"{"Owner": "ana", "Rank": "\/Expr(Memory * 2)\/"}"#, Dialect::json()).unwrap();
/// assert_eq!(ad.get("rank").unwrap().unparse(), "Memory * 2");
/// ```
///
/// # Errors
/// Fails with the place where the text stops being an ad and what is expected there.
pub fn parse(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<ClassAd, ParseError> {
    let text = text.as_ref();
    let (ad, used) = parse_prefix(text, dialect)?;
    new_syntax::expect_end(text, used, Dialect { json: true, ..dialect })?;
    Ok(ad)
}

/// Parses the ad at the beginning of a text. Returns the ad and the number of bytes used.
///
/// ```
/// use htc_classad::{Dialect, format::json};
/// let text = r#"{"Cpus": 4} {"Cpus": 8}"#;
/// let (first, used) = json::parse_prefix(text, Dialect::json()).unwrap();
/// let (second, _) = json::parse_prefix(&text[used..], Dialect::json()).unwrap();
/// assert_eq!((first["Cpus"].to_string(), second["Cpus"].to_string()), ("4".into(), "8".into()));
/// ```
///
/// # Errors
/// Same as [`parse`].
pub fn parse_prefix(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<(ClassAd, usize), ParseError> {
    parse_with_memo(text.as_ref(), dialect, None)
}

/// Parses an ad like [`parse_prefix`], with a memo in which the names and expressions of earlier ads are looked up.
pub(crate) fn parse_next(
    text: &[u8],
    dialect: Dialect,
    memo: &mut LineMemo,
) -> Result<(ClassAd, usize), ParseError> {
    parse_with_memo(text, dialect, Some(memo))
}

fn parse_with_memo(
    text: &[u8],
    dialect: Dialect,
    memo: Option<&mut LineMemo>,
) -> Result<(ClassAd, usize), ParseError> {
    let dialect = Dialect { json: true, old_strings: false, ..dialect };
    with_parser(text, dialect, |parser| {
        JsonReader { parser, dialect, builder: TreeBuilder::default(), memo }.read_ad()
    })
}

struct JsonReader<'p, 's, 'w, 'm> {
    /// Parser, used for its lexer and its errors; it does not parse expressions here.
    parser: &'p mut Parser<'s, 'w>,
    dialect: Dialect,
    builder: TreeBuilder,
    memo: Option<&'m mut LineMemo>,
}

/// Array or object whose end has not been read yet.
enum OpenContainer {
    Array(Vec<NodeId>),
    Object(Vec<AdField>, u32),
}

/// Maximum nesting depth of arrays and objects. The reference has no limit, but its stack overflows at a somewhat
/// greater depth. The limit also bounds the size of indented output.
pub(crate) const MAX_DEPTH: usize = 5000;

const EXPECTED_NAME: &str = "the name of an attribute in quotes or `}`";

impl<'s> JsonReader<'_, 's, '_, '_> {
    fn lexer(&mut self) -> &mut Lexer<'s> {
        &mut self.parser.lexer
    }

    fn token_kind(&self) -> TokenKind {
        self.parser.token_kind()
    }

    fn expect(&mut self, kind: TokenKind, expected: &'static str) -> ParseResult<()> {
        if self.token_kind() != kind {
            return Err(self.parser.unexpected_token(expected));
        }
        self.lexer().advance();
        Ok(())
    }

    fn read_ad(&mut self) -> ParseResult<(ClassAd, usize)> {
        if self.token_kind() != TokenKind::OpenBrace {
            return Err(self.parser.unexpected_token("an ad, which begins with `{`"));
        }
        self.lexer().advance();
        let mut ad = match self.memo.as_deref_mut() {
            Some(memo) => memo.begin_ad(),
            None => ClassAd::sized_for_text(self.parser.lexer.source().len()),
        };
        while let Some(name) = self.read_name()? {
            let place = self.memo.as_deref_mut().map_or((NO_LINE, None), |memo| memo.enter_name(&name));
            self.read_attribute(&mut ad, &name, place.0, place.1)?;
            self.read_separator(TokenKind::CloseBrace, "`,` or `}`")?;
        }
        if let Some(memo) = self.memo.as_deref_mut() {
            memo.end_ad(&ad);
        }
        Ok((ad, self.parser.lexer.token_end()))
    }

    /// Reads the value of an attribute and adds the attribute to the ad. `number` is the number of its name in the
    /// memo; `new` is the hash of the name if the ad certainly lacks the name.
    fn read_attribute(
        &mut self,
        ad: &mut ClassAd,
        name: &[u8],
        number: u32,
        new: Option<u32>,
    ) -> ParseResult<()> {
        let token = &self.parser.lexer.token;
        let value = match token.kind {
            TokenKind::String => {
                let text = self.parser.lexer.token_text(token.text);
                if token.quoted_expression
                    && let Some(inner) = strip_expr_wrapper(text)
                {
                    let part = EXPR_PREFIX.len()..EXPR_PREFIX.len() + inner.len();
                    let known = |memo: &mut LineMemo| memo.recall_expression(number, inner);
                    match self.memo.as_deref_mut().and_then(known) {
                        Some((root, tree)) => {
                            ad.put_with_optional_hash(name, new, StoredValue::Expr(root, tree))
                        }
                        None => {
                            let expr = self.parse_expression(part.clone())?;
                            if let (Some(memo), ExprRepr::Node(tree, root)) =
                                (self.memo.as_deref_mut(), &expr.0)
                            {
                                let lexer = &self.parser.lexer;
                                let text = &lexer.token_text(lexer.token.text)[part];
                                memo.learn_expression(number, text, *root, tree);
                            }
                            ad.put_expr(name, expr);
                        }
                    }
                    self.lexer().advance();
                    return Ok(());
                }
                Scalar::Str(text)
            }
            TokenKind::Integer => Scalar::Int(token.integer),
            TokenKind::Real => Scalar::Real(token.real),
            TokenKind::Boolean => Scalar::Bool(token.boolean),
            TokenKind::Undefined => Scalar::Undefined,
            _ => {
                let value = self.read_value()?;
                ad.put_expr(name, value);
                return Ok(());
            }
        };
        ad.put_scalar(name, new, value);
        self.lexer().advance();
        Ok(())
    }

    /// Reads the name of the next attribute and the colon after it. Returns `None` at the end of the object, without
    /// consuming the brace.
    fn read_name(&mut self) -> ParseResult<Option<Cow<'s, [u8]>>> {
        while self.token_kind() == TokenKind::Comma {
            self.lexer().advance();
        }
        if self.token_kind() == TokenKind::CloseBrace {
            return Ok(None);
        }
        if self.token_kind() != TokenKind::String {
            return Err(self.parser.unexpected_token(EXPECTED_NAME));
        }
        let lexer = &self.parser.lexer;
        let text = lexer.token.text;
        if text.len == 0 {
            return Err(self.parser.error(ParseErrorKind::EmptyName, EXPECTED_NAME));
        }
        let name = match lexer.source_text(text) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(lexer.token_text(text).to_vec()),
        };
        self.lexer().advance();
        self.expect(TokenKind::Colon, "`:`")?;
        Ok(Some(name))
    }

    /// Consumes the comma after an element. The closing bracket, if it follows instead, is not consumed.
    fn read_separator(&mut self, close: TokenKind, expected: &'static str) -> ParseResult<()> {
        match self.token_kind() {
            TokenKind::Comma => self.lexer().advance(),
            kind if kind == close => {}
            _ => return Err(self.parser.unexpected_token(expected)),
        }
        Ok(())
    }

    /// Parses a part of the current string token as an expression.
    fn parse_expression(&mut self, part: Range<usize>) -> ParseResult<Expr> {
        let dialect = Dialect { json: false, ..self.dialect };
        self.parser.parse_embedded(part, dialect).map_err(|mut error| {
            // An offset in the decoded text would not help the user, so the error refers to the beginning of the
            // string.
            let lexer = &self.parser.lexer;
            error.span = crate::text::Span::new(lexer.token.start, lexer.token_end());
            error
        })
    }

    /// Reads a scalar. Returns `None` if an array or object begins instead.
    fn read_scalar(&mut self) -> ParseResult<Option<Expr>> {
        let token = &self.parser.lexer.token;
        let expr = match token.kind {
            TokenKind::Undefined => Expr::literal(Value::Undefined),
            TokenKind::Boolean => Expr::literal(token.boolean),
            TokenKind::Integer => Expr::literal(token.integer),
            TokenKind::Real => Expr::literal(token.real),
            TokenKind::String => {
                let text = self.parser.lexer.token_text(token.text);
                match strip_expr_wrapper(text).filter(|_| token.quoted_expression) {
                    Some(inner) => {
                        let part = EXPR_PREFIX.len()..EXPR_PREFIX.len() + inner.len();
                        self.parse_expression(part)?
                    }
                    None => Expr::literal(text),
                }
            }
            TokenKind::OpenBrace | TokenKind::OpenBox => return Ok(None),
            _ => return Err(self.parser.unexpected_token("a value")),
        };
        self.lexer().advance();
        Ok(Some(expr))
    }

    fn read_value(&mut self) -> ParseResult<Expr> {
        if let Some(scalar) = self.read_scalar()? {
            return Ok(scalar);
        }
        self.builder.clear();
        let mut open: Vec<OpenContainer> = Vec::new();
        loop {
            if open.len() >= MAX_DEPTH {
                return Err(self.parser.error(ParseErrorKind::TooDeepJson, "a value"));
            }
            // A value begins at this point.
            let mut node = match self.read_scalar()? {
                Some(scalar) => self.builder.copy_expr(&scalar),
                None if self.token_kind() == TokenKind::OpenBrace => {
                    self.lexer().advance();
                    if let Some(name) = self.read_name()? {
                        let name = self.builder.push_name(&name);
                        open.push(OpenContainer::Object(Vec::new(), name));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.push_ad(&mut [])
                }
                None => {
                    self.lexer().advance();
                    if self.token_kind() != TokenKind::CloseBox {
                        open.push(OpenContainer::Array(Vec::new()));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.push_list(&[])
                }
            };
            // A value has been completed: add it to the innermost open array or object, which may be completed by it.
            loop {
                match open.pop() {
                    None => return Ok(Expr::from_builder(&self.builder, node)),
                    Some(OpenContainer::Array(mut items)) => {
                        items.push(node);
                        if self.token_kind() != TokenKind::CloseBox {
                            self.expect(TokenKind::Comma, "`,` or `]`")?;
                            open.push(OpenContainer::Array(items));
                            break;
                        }
                        node = self.builder.push_list(&items);
                    }
                    Some(OpenContainer::Object(mut fields, name)) => {
                        fields.push(AdField { name, node });
                        self.read_separator(TokenKind::CloseBrace, "`,` or `}`")?;
                        if let Some(name) = self.read_name()? {
                            let name = self.builder.push_name(&name);
                            open.push(OpenContainer::Object(fields, name));
                            break;
                        }
                        node = self.builder.push_ad(&mut fields);
                    }
                }
                self.lexer().advance();
            }
        }
    }
}

/// Beginning of a string that contains an expression.
const EXPR_PREFIX: &[u8] = b"/Expr(";

/// Returns the expression between `/Expr(` and `)/` in a string, or `None` if the string does not contain an
/// expression.
fn strip_expr_wrapper(text: &[u8]) -> Option<&[u8]> {
    let (start, rest) = text.split_at_checked(EXPR_PREFIX.len())?;
    if !start.eq_ignore_ascii_case(EXPR_PREFIX) {
        return None;
    }
    // The reference checks only that the string begins with `/Expr(` and ends with `)/`, so in `/Expr()/` the
    // expression is empty and `/Expr(/` is not an expression.
    if text.ends_with(b")/") { Some(rest.strip_suffix(b")/").unwrap_or_default()) } else { None }
}
