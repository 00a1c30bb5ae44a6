//! Tokens into expressions (classad.md 4; reference: source.cpp).

use std::fmt;
use std::sync::Arc;

use super::lexer::{BadToken, Kind, Lexer};
use super::times;
use super::tree::{ABSOLUTE, BinaryOp, Builder, Field, NO_BASE, Node, NodeId, Text, UnaryOp};
use super::{Expr, functions};
use crate::text::Span;

/// Levels of nesting the reference's parser admits, counted at each entry into expression, unary and postfix.
const MAX_DEPTH: u32 = 500;

/// How a text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Condor mode, as all tools and daemons use it; else strict mode (classad.md 1).
    pub(crate) condor: bool,
    /// Strings of long ads, where a backslash is an ordinary byte.
    pub(crate) old_strings: bool,
    /// The lexer of JSON ads.
    pub(crate) json: bool,
    /// Seconds east of Greenwich for `absTime("...")` without a zone.
    pub(crate) zone_offset: i32,
}

impl Dialect {
    /// New syntax, condor mode.
    pub const fn new_syntax() -> Self {
        Dialect { condor: true, old_strings: false, json: false, zone_offset: 0 }
    }

    /// The values of long ads, condor mode.
    pub const fn old_syntax() -> Self {
        Dialect { condor: true, old_strings: true, json: false, zone_offset: 0 }
    }

    /// The values of JSON ads, condor mode.
    pub const fn json() -> Self {
        Dialect { condor: true, old_strings: false, json: true, zone_offset: 0 }
    }

    /// The same in strict mode (`STRICT_CLASSAD_EVALUATION = true`), or back in condor mode.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.condor = !strict;
        self
    }

    /// The same with another local zone, in seconds east of Greenwich.
    #[must_use]
    pub const fn zone_offset(mut self, seconds: i32) -> Self {
        self.zone_offset = seconds;
        self
    }
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where it stops being one.
    pub span: Span,
    /// What went wrong.
    pub kind: ParseErrorKind,
    /// What would have been accepted at that place.
    pub expected: &'static str,
    /// What stands there: a few bytes of the text, empty at its end.
    pub found: String,
}

/// The ways in which parsing fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// Another token was expected.
    Unexpected,
    /// No token begins like that.
    BadToken(BadToken),
    /// `=` where a comparison was wanted.
    Assignment,
    /// The expression nests deeper than the reference admits.
    TooDeep,
    /// The text is larger than 2 GiB.
    TooLong,
    /// The text of an `absTime` or `relTime` literal is no time.
    BadTime,
    /// An attribute of an ad has an empty name.
    EmptyName,
}

impl ParseError {
    /// Advice on how to mend it, where there is some.
    pub fn help(&self) -> Option<&'static str> {
        match self.kind {
            ParseErrorKind::Assignment => Some("`==` compares, `=?=` compares and is never undefined"),
            ParseErrorKind::BadToken(BadToken::Number) => {
                Some("a number has no leading zero, and digits behind its point and exponent")
            }
            ParseErrorKind::BadToken(BadToken::Unterminated) => {
                Some("close the string with the quote it began with")
            }
            ParseErrorKind::BadToken(BadToken::Comment) => Some("close the comment with */"),
            ParseErrorKind::TooDeep => Some("at most 165 nested parentheses are allowed"),
            _ => None,
        }
    }

    /// The error as the user should see it: the message, the line of the text, and a caret under the place.
    pub fn render(&self, source: &[u8]) -> String {
        let start = (self.span.start as usize).min(source.len());
        let line_start = memchr::memrchr(b'\n', &source[..start]).map_or(0, |newline| newline + 1);
        let line_end =
            memchr::memchr(b'\n', &source[start..]).map_or(source.len(), |newline| start + newline);
        // A very long line is shown around the place only.
        let from = if start - line_start > 100 { start - 60 } else { line_start };
        let to = line_end.min(start + 60);
        let width = (self.span.end as usize).clamp(start + 1, to.max(start + 1)) - start;
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(|c: char| c.is_control(), " ");
        let before = clean(&source[from..start]);
        format!(
            "{self}\n  {}{}{}{}\n  {}{}{}",
            if from > line_start { "..." } else { "" },
            before,
            clean(&source[start..to]),
            if to < line_end { "..." } else { "" },
            " ".repeat(before.chars().count() + if from > line_start { 3 } else { 0 }),
            "^".repeat(width),
            self.help().map(|help| format!("\n  {help}")).unwrap_or_default(),
        )
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParseErrorKind::BadToken(BadToken::Unterminated) => return write!(f, "the string is not closed"),
            ParseErrorKind::BadToken(BadToken::Comment) => return write!(f, "the comment is not closed"),
            ParseErrorKind::BadToken(BadToken::Nul) => {
                return write!(f, "the string has an escape that is not allowed (a NUL byte)");
            }
            ParseErrorKind::BadToken(BadToken::Number) => {
                return write!(f, "`{}` is not a number", self.found);
            }
            ParseErrorKind::TooDeep => return write!(f, "the expression is nested too deeply"),
            ParseErrorKind::TooLong => return write!(f, "the text is too long for an expression"),
            ParseErrorKind::BadTime => return write!(f, "`{}` is not a time", self.found),
            ParseErrorKind::EmptyName => return write!(f, "an attribute has an empty name"),
            _ => {}
        }
        if self.found.is_empty() {
            write!(f, "expected {}, but the text ends", self.expected)
        } else {
            write!(f, "expected {}, found `{}`", self.expected, self.found)
        }
    }
}

impl std::error::Error for ParseError {}

const OPERAND: &str = "an operand: a name, a literal, `(`, `{`, `[` or a sign";

/// Reads a whole text.
pub(crate) fn parse_full(text: &[u8], dialect: Dialect) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text, dialect)?;
    let (root, ternary) = parser.expression()?;
    // The reference forgets to look for the end of the text behind a conditional (source.cpp parseExpression).
    if !ternary && parser.lexer.token.kind != Kind::End {
        return Err(parser.unexpected("an operator or the end of the text"));
    }
    Ok(parser.finish(root))
}

/// Reads what a text begins with; also tells where the token behind it begins.
pub(crate) fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(Expr, usize), ParseError> {
    let mut parser = Parser::new(text, dialect)?;
    let (root, _) = parser.expression()?;
    let used = parser.lexer.token.start;
    Ok((parser.finish(root), used))
}

/// The cursor of a recursive descent that makes nodes.
pub(crate) struct Parser<'s> {
    pub(crate) lexer: Lexer<'s>,
    builder: Builder,
    depth: u32,
    dialect: Dialect,
}

type Parsed<T> = Result<T, ParseError>;

impl<'s> Parser<'s> {
    pub(crate) fn new(text: &'s [u8], dialect: Dialect) -> Parsed<Self> {
        if text.len() > i32::MAX as usize {
            return Err(ParseError {
                span: Span::at(0),
                kind: ParseErrorKind::TooLong,
                expected: OPERAND,
                found: String::new(),
            });
        }
        let lexer = Lexer::new(text, dialect);
        let mut builder = Builder::default();
        let guess = lexer.source().len() / 8;
        builder.nodes.reserve(guess.clamp(4, 4096));
        builder.names.reserve((guess / 2).clamp(1, 1024));
        Ok(Parser { lexer, builder, depth: 0, dialect })
    }

    /// Makes the tree of what was read and the expression at `root` of it.
    pub(crate) fn finish(self, root: NodeId) -> Expr {
        let tree = self.finish_tree();
        Expr::from_tree(&tree, root)
    }

    /// Makes the tree of all that was read: names and strings stand in the source and the texts made from it.
    pub(crate) fn finish_tree(mut self) -> Arc<super::tree::Tree> {
        if self.builder.names.is_empty()
            && self.builder.nodes.len() == 1
            && !matches!(self.builder.nodes[0], Node::Str(_))
        {
            return Arc::new(self.builder.finish());
        }
        self.builder.text.reserve_exact(self.lexer.source().len() + self.lexer.extra.len());
        self.builder.text.extend_from_slice(self.lexer.source());
        self.builder.text.extend_from_slice(&self.lexer.extra);
        Arc::new(self.builder.finish())
    }

    /// Where the token that was consumed last ended.
    pub(crate) fn last_end(&self) -> usize {
        self.lexer.last_end
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.lexer.token.kind
    }

    pub(crate) fn error(&self, kind: ParseErrorKind, expected: &'static str) -> ParseError {
        let token = &self.lexer.token;
        let source = self.lexer.source();
        let at_end = token.kind == Kind::End && kind == ParseErrorKind::Unexpected;
        let shown = &source[token.start.min(source.len())..token.end.min(source.len())];
        let found = if at_end {
            String::new()
        } else {
            let cut = shown.len().min(40);
            String::from_utf8_lossy(&shown[..cut]).replace(|c: char| c.is_control(), " ")
        };
        ParseError { span: Span::new(token.start, token.end), kind, expected, found }
    }

    /// The error for a token that is not what was expected.
    #[inline]
    pub(crate) fn unexpected(&self, expected: &'static str) -> ParseError {
        let kind = match self.kind() {
            Kind::Bad => ParseErrorKind::BadToken(self.lexer.token.bad),
            Kind::Bound => ParseErrorKind::Assignment,
            _ => ParseErrorKind::Unexpected,
        };
        self.error(kind, expected)
    }

    #[inline]
    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(ParseErrorKind::TooDeep, OPERAND));
        }
        Ok(())
    }

    #[inline]
    fn expect(&mut self, kind: Kind, expected: &'static str) -> Parsed<()> {
        if self.kind() != kind {
            return Err(self.unexpected(expected));
        }
        self.lexer.advance();
        Ok(())
    }

    /// An expression; also tells whether it is a conditional.
    pub(crate) fn expression(&mut self) -> Parsed<(NodeId, bool)> {
        self.enter()?;
        let left = self.binary(1)?;
        if self.kind() != Kind::Question {
            self.depth -= 1;
            return Ok((left, false));
        }
        self.lexer.advance();
        let (yes, _) = self.expression()?;
        self.expect(Kind::Colon, "an operator or `:`")?;
        let (no, _) = self.expression()?;
        self.depth -= 1;
        let branches = self.builder.link(&[yes, no]);
        Ok((self.builder.push(Node::Ternary { condition: left, branches }), true))
    }

    /// Operators of at least precedence `least`, all of them left associative.
    fn binary(&mut self, least: u8) -> Parsed<NodeId> {
        let mut left = self.unary()?;
        while let Some((precedence, op)) = binary_operator(self.kind())
            && precedence >= least
        {
            self.lexer.advance();
            let right = self.binary(precedence + 1)?;
            left = self.builder.push(Node::Binary(op, left, right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<NodeId> {
        self.enter()?;
        let op = match self.kind() {
            Kind::Minus => UnaryOp::Minus,
            Kind::Plus => UnaryOp::Plus,
            Kind::BitNot => UnaryOp::BitNot,
            Kind::Not => UnaryOp::Not,
            _ => {
                let operand = self.postfix()?;
                self.depth -= 1;
                return Ok(operand);
            }
        };
        self.lexer.advance();
        let operand = self.unary()?;
        self.depth -= 1;
        Ok(self.builder.push(Node::Unary(op, operand)))
    }

    fn postfix(&mut self) -> Parsed<NodeId> {
        self.enter()?;
        let mut left = self.primary()?;
        loop {
            match self.kind() {
                Kind::Selection => {
                    self.lexer.advance();
                    let name = self.identifier("the name of an attribute")?;
                    left = self.builder.push(Node::Attr { base: left, name });
                }
                Kind::OpenBox => {
                    self.lexer.advance();
                    let (index, _) = self.expression()?;
                    self.expect(Kind::CloseBox, "an operator or `]`")?;
                    left = self.builder.push(Node::Binary(BinaryOp::Subscript, left, index));
                }
                Kind::Elvis => {
                    self.lexer.advance();
                    let right = self.postfix()?;
                    left = self.builder.push(Node::Binary(BinaryOp::Elvis, left, right));
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Takes an identifier as name.
    fn identifier(&mut self, expected: &'static str) -> Parsed<u32> {
        if self.kind() != Kind::Identifier {
            return Err(self.unexpected(expected));
        }
        let text = self.lexer.token.text;
        let name = self.builder.name_at(text, self.lexer.bytes(text));
        self.lexer.advance();
        Ok(name)
    }

    fn primary(&mut self) -> Parsed<NodeId> {
        let token = self.lexer.token;
        let node = match token.kind {
            Kind::Identifier => {
                let name = self.identifier(OPERAND)?;
                if self.kind() == Kind::OpenParenthesis {
                    return self.call(name);
                }
                return Ok(self.builder.push(Node::Attr { base: NO_BASE, name }));
            }
            Kind::Integer => Node::Int(token.integer),
            Kind::String => Node::Str(token.text),
            Kind::Real => Node::Real(token.real),
            Kind::Boolean => Node::Bool(token.boolean),
            Kind::Undefined => Node::Undefined,
            Kind::Error => Node::Error,
            Kind::Selection => {
                self.lexer.advance();
                let name = self.identifier("the name of an attribute")?;
                return Ok(self.builder.push(Node::Attr { base: ABSOLUTE, name }));
            }
            Kind::OpenParenthesis => {
                self.lexer.advance();
                let (inner, _) = self.expression()?;
                self.expect(Kind::CloseParenthesis, "an operator or `)`")?;
                return Ok(self.builder.push(Node::Unary(UnaryOp::Parentheses, inner)));
            }
            Kind::OpenBrace => return self.list(),
            Kind::OpenBox => {
                let mut fields = self.fields()?;
                return Ok(self.ad(&mut fields));
            }
            _ => return Err(self.unexpected(OPERAND)),
        };
        self.lexer.advance();
        Ok(self.builder.push(node))
    }

    /// Expressions separated by commas up to `close`, which is consumed.
    fn items(&mut self, close: Kind, expected: &'static str) -> Parsed<Vec<NodeId>> {
        let mut items = Vec::new();
        self.lexer.advance();
        if self.kind() == close {
            self.lexer.advance();
            return Ok(items);
        }
        loop {
            items.push(self.expression()?.0);
            match self.kind() {
                Kind::Comma => self.lexer.advance(),
                Kind::Semicolon if close == Kind::CloseParenthesis && self.dialect.condor => {
                    self.lexer.advance()
                }
                kind if kind == close => {
                    self.lexer.advance();
                    return Ok(items);
                }
                _ => return Err(self.unexpected(expected)),
            }
        }
    }

    fn list(&mut self) -> Parsed<NodeId> {
        let items = self.items(Kind::CloseBrace, "an operator, `,` or `}`")?;
        Ok(self.builder.list(&items))
    }

    fn call(&mut self, name: u32) -> Parsed<NodeId> {
        let open = self.lexer.token;
        let arguments = self.items(Kind::CloseParenthesis, "an operator, `,` or `)`")?;
        let text = self.builder.names[name as usize].text;
        let word = self.lexer.bytes(text);
        // `absTime("...")` and `relTime("...")` of a string literal are literals themselves.
        if word.len() == 7
            && let [argument] = arguments[..]
            && let Node::Str(time) = self.builder.nodes[argument as usize]
        {
            let absolute = word.eq_ignore_ascii_case(b"abstime");
            if absolute || word.eq_ignore_ascii_case(b"reltime") {
                let bytes = self.lexer.bytes(time);
                let literal = if absolute {
                    times::parse_abs(bytes, &|_| self.dialect.zone_offset).map(|time| self.builder.time(time))
                } else {
                    times::parse_rel(bytes).map(|seconds| self.builder.push(Node::RelTime(seconds)))
                };
                return literal.ok_or_else(|| ParseError {
                    span: Span::new(open.start, self.lexer.token.start),
                    kind: ParseErrorKind::BadTime,
                    expected: "a time",
                    found: String::from_utf8_lossy(self.lexer.bytes(time)).into_owned(),
                });
            }
        }
        self.builder.names[name as usize].function = functions::number(word);
        let first = self.builder.link(&arguments);
        Ok(self.builder.push(Node::Call { name, first, count: arguments.len() as u32 }))
    }

    /// The attributes of an ad, its brackets included.
    pub(crate) fn fields(&mut self) -> Parsed<Vec<Field>> {
        self.lexer.advance();
        let mut fields = Vec::new();
        // An ad of nothing but semicolons is refused by the reference, since it wants a name behind the first ones.
        let mut first = true;
        while !(self.kind() == Kind::CloseBox && (first || !fields.is_empty())) {
            first = false;
            if self.kind() == Kind::Semicolon {
                self.lexer.advance();
                continue;
            }
            let text = self.lexer.token.text;
            if self.kind() == Kind::Identifier && text.len == 0 {
                return Err(self.error(ParseErrorKind::EmptyName, "the name of an attribute"));
            }
            let name = self.identifier("the name of an attribute or `]`")?;
            if self.kind() != Kind::Bound {
                return Err(self.unexpected("`=`"));
            }
            self.lexer.advance();
            let (node, _) = self.expression()?;
            fields.push(Field { name, node });
            match self.kind() {
                Kind::Semicolon | Kind::CloseBox => {}
                _ => return Err(self.unexpected("an operator, `;` or `]`")),
            }
            while self.kind() == Kind::Semicolon {
                self.lexer.advance();
            }
        }
        self.lexer.advance();
        Ok(fields)
    }

    /// Adds an ad node. The names stand in the source still, so the order is found here.
    fn ad(&mut self, fields: &mut [Field]) -> NodeId {
        let lexer = &self.lexer;
        self.builder.ad_with(fields, |text: Text| lexer.bytes(text))
    }
}

/// Precedence and operator of a token that stands between two operands.
#[inline]
fn binary_operator(kind: Kind) -> Option<(u8, BinaryOp)> {
    Some(match kind {
        Kind::Or => (1, BinaryOp::Or),
        Kind::And => (2, BinaryOp::And),
        Kind::BitOr => (3, BinaryOp::BitOr),
        Kind::BitXor => (4, BinaryOp::BitXor),
        Kind::BitAnd => (5, BinaryOp::BitAnd),
        Kind::Equal => (6, BinaryOp::Equal),
        Kind::NotEqual => (6, BinaryOp::NotEqual),
        Kind::Is => (6, BinaryOp::Is),
        Kind::Isnt => (6, BinaryOp::Isnt),
        Kind::Less => (7, BinaryOp::Less),
        Kind::LessEqual => (7, BinaryOp::LessEqual),
        Kind::Greater => (7, BinaryOp::Greater),
        Kind::GreaterEqual => (7, BinaryOp::GreaterEqual),
        Kind::ShiftLeft => (8, BinaryOp::ShiftLeft),
        Kind::ShiftRight => (8, BinaryOp::ShiftRight),
        Kind::ShiftRightZero => (8, BinaryOp::ShiftRightZero),
        Kind::Plus => (9, BinaryOp::Add),
        Kind::Minus => (9, BinaryOp::Subtract),
        Kind::Multiply => (10, BinaryOp::Multiply),
        Kind::Divide => (10, BinaryOp::Divide),
        Kind::Modulus => (10, BinaryOp::Modulus),
        _ => return None,
    })
}
