//! Tokens into expressions (reference: source.cpp).

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::syntax::error::{ParseError, ParseErrorKind};
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::lexer::{Kind, Lexer};
use crate::syntax::scalar::{Scalar, Text};
use crate::syntax::tree::{ABSOLUTE, BinaryOp, Builder, Field, Node, NodeId, Tree, UnaryOp};
use crate::syntax::{Dialect, function_names, times};
use crate::text::Span;

/// Levels of nesting the reference's parser admits, counted at each entry into expression, unary and postfix.
const MAX_DEPTH: u32 = 500;

const OPERAND: &str = "an operand: a name, a literal, `(`, `{`, `[` or a sign";

impl Expr {
    /// Reads a whole expression in the new syntax and condor mode: what `eval()` and the tools read.
    ///
    /// # Errors
    /// Says where the text stops being an expression and what would have been accepted there.
    pub fn parse(text: &[u8]) -> Result<Expr, ParseError> {
        parse_full(text, Dialect::new_syntax())
    }

    /// Reads a whole expression in a given dialect.
    ///
    /// # Errors
    /// As [`Expr::parse`].
    pub fn parse_with(text: &[u8], dialect: Dialect) -> Result<Expr, ParseError> {
        parse_full(text, dialect)
    }

    /// Reads the expression that a text begins with and ignores the rest; returns the number of bytes it used too.
    ///
    /// # Errors
    /// As [`Expr::parse`].
    pub fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(Expr, usize), ParseError> {
        parse_prefix(text, dialect)
    }
}

/// Reads a whole text.
fn parse_full(text: &[u8], dialect: Dialect) -> Result<Expr, ParseError> {
    parse_with(text, dialect, |parser| parser.whole())
}

/// Reads what a text begins with; also tells where the token behind it begins.
pub(crate) fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(Expr, usize), ParseError> {
    parse_with(text, dialect, |parser| {
        let root = parser.expression()?;
        Ok((parser.finish(root), parser.lexer.token.start))
    })
}

/// Lends a parser for a text.
pub(crate) fn parse_with<'s, T>(
    text: &'s [u8],
    dialect: Dialect,
    run: impl FnOnce(&mut Parser<'s, '_>) -> Parsed<T>,
) -> Result<T, ParseError> {
    if text.len() > i32::MAX as usize {
        let (kind, found) = (ParseErrorKind::TooLong, String::new());
        return Err(ParseError { span: Span::at(0), kind, expected: OPERAND, found });
    }
    let mut workbench = SPARE.take().unwrap_or_default();
    let result = run(&mut Parser::new(text, dialect, &mut workbench));
    let Workbench { builder, items } = &*workbench;
    if builder.nodes.capacity().max(builder.fields.capacity()).max(items.capacity()) <= SPARE_NODES {
        workbench.clear();
        SPARE.set(Some(workbench));
    }
    result.map_err(|error| *error)
}

/// The cursor of a recursive descent that makes nodes.
pub(crate) struct Parser<'s, 'w> {
    pub(crate) lexer: Lexer<'s>,
    workbench: &'w mut Workbench,
    depth: u32,
    dialect: Dialect,
    /// Whether the expression that was read last is a conditional.
    conditional: bool,
    /// Where the ad that was read last ended.
    ad_end: usize,
}

/// What the parser builds with. A thread keeps one, so that a short text costs no allocation but those of its tree.
#[derive(Default)]
struct Workbench {
    builder: Builder,
    /// Elements of the lists and calls that are not complete yet.
    items: Vec<NodeId>,
}

impl Workbench {
    fn clear(&mut self) {
        self.builder.clear();
        self.items.clear();
    }
}

thread_local! {
    static SPARE: Cell<Option<Box<Workbench>>> = const { Cell::new(None) };
}

/// Nodes that a spare workbench may have room for.
const SPARE_NODES: usize = 4096;

/// The one guard of depth: reads a part so many levels further down. After a failure nothing more is read. A macro, since a closure
/// would not be inlined where it is read at each operand.
macro_rules! deeper {
    ($parser:ident, $levels:literal, $part:expr) => {{
        $parser.depth += $levels;
        if $parser.depth > MAX_DEPTH {
            return Err($parser.error(ParseErrorKind::TooDeep, OPERAND));
        }
        let node = $part?;
        $parser.depth -= $levels;
        node
    }};
}

/// What goes through the descent is small, so the error is boxed.
pub(crate) type Parsed<T> = Result<T, Box<ParseError>>;

impl<'s, 'w> Parser<'s, 'w> {
    fn new(text: &'s [u8], dialect: Dialect, workbench: &'w mut Workbench) -> Self {
        let lexer = Lexer::new(text, dialect);
        Parser { lexer, workbench, depth: 0, dialect, conditional: false, ad_end: 0 }
    }

    /// The expression that is the whole text.
    fn whole(&mut self) -> Parsed<Expr> {
        let root = self.expression()?;
        // The reference forgets to look for the end of the text behind a conditional (source.cpp parseExpression).
        if !self.conditional && self.kind() != Kind::End {
            return Err(self.unexpected("an operator or the end of the text"));
        }
        Ok(self.finish(root))
    }

    /// Reads the expression that a part of the present string's text is. Nothing of the text around may be under way.
    pub(crate) fn within(&mut self, part: Range<usize>, dialect: Dialect) -> Parsed<Expr> {
        let text = &self.lexer.bytes(self.lexer.token.text)[part];
        let result = Parser::new(text, dialect, self.workbench).whole();
        self.workbench.clear();
        result
    }

    /// Makes the tree of what was read and the expression at `root` of it.
    pub(crate) fn finish(&self, root: NodeId) -> Expr {
        match self.workbench.builder.nodes[root as usize].scalar() {
            // A scalar keeps no tree.
            Some(scalar) => Expr::scalar(scalar.map(|text| self.lexer.bytes(text))),
            None => Expr(Repr::Node(self.finish_tree(), root)),
        }
    }

    /// Makes the tree of all that was read: names and strings stand in the source and the texts made from it.
    pub(crate) fn finish_tree(&self) -> Arc<Tree> {
        let (source, extra) = (self.lexer.source(), &self.lexer.extra);
        let mut text = Vec::with_capacity(source.len() + extra.len());
        text.extend_from_slice(source);
        text.extend_from_slice(extra);
        Arc::new(self.workbench.builder.finish_with(text.into_boxed_slice()))
    }

    /// Where the ad that was read last ended.
    pub(crate) fn ad_end(&self) -> usize {
        self.ad_end
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.lexer.token.kind
    }

    #[cold]
    pub(crate) fn error(&self, kind: ParseErrorKind, expected: &'static str) -> Box<ParseError> {
        let token = &self.lexer.token;
        let source = self.lexer.source();
        let at_end = token.kind == Kind::End && kind == ParseErrorKind::Unexpected;
        let shown = &source[token.start.min(source.len())..self.lexer.end().min(source.len())];
        let found = if at_end {
            String::new()
        } else {
            let cut = shown.len().min(40);
            String::from_utf8_lossy(&shown[..cut]).replace(|c: char| c.is_control(), " ")
        };
        Box::new(ParseError { span: Span::new(token.start, self.lexer.end()), kind, expected, found })
    }

    /// The error for a token that is not what was expected.
    #[cold]
    pub(crate) fn unexpected(&self, expected: &'static str) -> Box<ParseError> {
        let kind = match self.kind() {
            Kind::Bad => ParseErrorKind::BadToken(self.lexer.token.bad),
            Kind::Bound => ParseErrorKind::Assignment,
            _ => ParseErrorKind::Unexpected,
        };
        self.error(kind, expected)
    }

    #[inline]
    fn push(&mut self, node: Node) -> NodeId {
        self.workbench.builder.push(node)
    }

    #[inline]
    fn expect(&mut self, kind: Kind, expected: &'static str) -> Parsed<()> {
        if self.kind() != kind {
            return Err(self.unexpected(expected));
        }
        self.lexer.advance();
        Ok(())
    }

    /// An expression.
    pub(crate) fn expression(&mut self) -> Parsed<NodeId> {
        Ok(deeper!(self, 1, {
            let left = self.unary()?;
            let left = self.binary(left, 1)?;
            self.conditional = self.kind() == Kind::Question;
            if self.conditional { self.branches(left) } else { Ok(left) }
        }))
    }

    /// The two branches of a conditional.
    fn branches(&mut self, condition: NodeId) -> Parsed<NodeId> {
        self.lexer.advance();
        let yes = self.expression()?;
        self.expect(Kind::Colon, "an operator or `:`")?;
        let no = self.expression()?;
        self.conditional = true;
        let branches = self.workbench.builder.link(&[yes, no]);
        Ok(self.push(Node::Ternary { condition, branches }))
    }

    /// What follows an operand by operators of at least a precedence, all of them left associative.
    fn binary(&mut self, mut left: NodeId, least: u8) -> Parsed<NodeId> {
        loop {
            let (precedence, op) = BINARY[self.kind() as usize];
            if precedence < least {
                return Ok(left);
            }
            self.lexer.advance();
            let mut right = self.unary()?;
            if BINARY[self.kind() as usize].0 > precedence {
                right = self.binary(right, precedence + 1)?;
            }
            left = self.push(Node::Binary(op, left, right));
        }
    }

    /// An operand with the signs in front of it.
    #[inline(always)]
    fn unary(&mut self) -> Parsed<NodeId> {
        if matches!(self.kind(), Kind::Minus | Kind::Plus | Kind::BitNot | Kind::Not) {
            return self.signed();
        }
        self.unsigned()
    }

    /// An operand without signs: a level for the sign that is not there, and one for the operand.
    #[inline(always)]
    fn unsigned(&mut self) -> Parsed<NodeId> {
        Ok(deeper!(self, 2, self.operand()))
    }

    #[inline(never)]
    fn signed(&mut self) -> Parsed<NodeId> {
        let op = match self.kind() {
            Kind::Minus => UnaryOp::Minus,
            Kind::Plus => UnaryOp::Plus,
            Kind::BitNot => UnaryOp::BitNot,
            Kind::Not => UnaryOp::Not,
            _ => return self.unsigned(),
        };
        let operand = deeper!(self, 1, {
            self.lexer.advance();
            self.signed()
        });
        Ok(self.push(Node::Unary(op, operand)))
    }

    /// An operand with what may stand behind it: selections, subscripts, `?:`.
    #[inline(always)]
    fn operand(&mut self) -> Parsed<NodeId> {
        let operand = self.primary()?;
        match self.kind() {
            Kind::Selection | Kind::OpenBox | Kind::Elvis => self.suffixes(operand),
            _ => Ok(operand),
        }
    }

    fn suffixes(&mut self, mut left: NodeId) -> Parsed<NodeId> {
        loop {
            left = match self.kind() {
                Kind::Selection => {
                    self.lexer.advance();
                    let name = self.identifier("the name of an attribute")?;
                    self.push(Node::Attr { base: left, name })
                }
                Kind::OpenBox => {
                    self.lexer.advance();
                    let index = self.expression()?;
                    self.expect(Kind::CloseBox, "an operator or `]`")?;
                    self.push(Node::Binary(BinaryOp::Subscript, left, index))
                }
                Kind::Elvis => {
                    self.lexer.advance();
                    let right = deeper!(self, 1, self.operand());
                    self.push(Node::Binary(BinaryOp::Elvis, left, right))
                }
                _ => return Ok(left),
            };
        }
    }

    /// Takes an identifier as name.
    #[inline(always)]
    fn identifier(&mut self, expected: &'static str) -> Parsed<NodeId> {
        if self.kind() != Kind::Identifier {
            return Err(self.unexpected(expected));
        }
        let text = self.lexer.token.text;
        let name = self.workbench.builder.name_at(text, self.lexer.bytes(text));
        self.lexer.advance();
        Ok(name)
    }

    /// What an operand begins with. Names and the commonest literals are made here, all else below.
    #[inline(always)]
    fn primary(&mut self) -> Parsed<NodeId> {
        let token = &self.lexer.token;
        let scalar = match token.kind {
            Kind::Identifier => {
                let name = self.identifier(OPERAND)?;
                if self.kind() == Kind::OpenParenthesis {
                    return self.call(name);
                }
                return Ok(name);
            }
            Kind::Integer => Scalar::Int(token.integer),
            Kind::String => Scalar::Str(token.text),
            Kind::Boolean => Scalar::Bool(token.boolean),
            _ => return self.other_primary(),
        };
        self.lexer.advance();
        Ok(self.push(scalar.into()))
    }

    #[inline(never)]
    fn other_primary(&mut self) -> Parsed<NodeId> {
        let scalar = match self.kind() {
            Kind::Real => Scalar::Real(self.lexer.token.real),
            Kind::Undefined => Scalar::Undefined,
            Kind::Error => Scalar::Error,
            Kind::Selection => {
                self.lexer.advance();
                let name = self.identifier("the name of an attribute")?;
                return Ok(self.push(Node::Attr { base: ABSOLUTE, name }));
            }
            Kind::OpenParenthesis => {
                self.lexer.advance();
                let inner = self.expression()?;
                self.expect(Kind::CloseParenthesis, "an operator or `)`")?;
                return Ok(self.push(Node::Unary(UnaryOp::Parentheses, inner)));
            }
            Kind::OpenBrace => {
                let first = self.items(Kind::CloseBrace, "an operator, `,` or `}`")?;
                let Workbench { builder, items } = &mut *self.workbench;
                let list = builder.list(&items[first..]);
                items.truncate(first);
                return Ok(list);
            }
            Kind::OpenBox => {
                let mut fields = self.fields()?;
                return Ok(self.ad(&mut fields));
            }
            _ => return Err(self.unexpected(OPERAND)),
        };
        self.lexer.advance();
        Ok(self.push(scalar.into()))
    }

    /// Expressions separated by commas up to `close`, which is consumed. They are the last of the workbench's items from
    /// the returned number on.
    fn items(&mut self, close: Kind, expected: &'static str) -> Parsed<usize> {
        let first = self.workbench.items.len();
        self.lexer.advance();
        if self.kind() == close {
            self.lexer.advance();
            return Ok(first);
        }
        loop {
            let item = self.expression()?;
            self.workbench.items.push(item);
            match self.kind() {
                Kind::Comma => self.lexer.advance(),
                Kind::Semicolon if close == Kind::CloseParenthesis && !self.dialect.mode.strict => {
                    self.lexer.advance()
                }
                kind if kind == close => {
                    self.lexer.advance();
                    return Ok(first);
                }
                _ => return Err(self.unexpected(expected)),
            }
        }
    }

    fn call(&mut self, name: NodeId) -> Parsed<NodeId> {
        let open = self.lexer.token.start;
        let first = self.items(Kind::CloseParenthesis, "an operator, `,` or `)`")?;
        let Node::Name { text, hash, .. } = self.workbench.builder.nodes[name as usize] else {
            return Err(self.unexpected(OPERAND));
        };
        if text.len == 7
            && let [argument] = self.workbench.items[first..]
            && let Node::Str(time) = self.workbench.builder.nodes[argument as usize]
            && let Some(literal) = self.time(open, text, time)?
        {
            self.workbench.items.truncate(first);
            return Ok(literal);
        }
        let Workbench { builder, items } = &mut *self.workbench;
        let number = function_names::number_hashed(self.lexer.bytes(text), hash);
        let call = builder.call_of(name, number, &items[first..]);
        items.truncate(first);
        Ok(call)
    }

    /// `absTime("...")` and `relTime("...")` of a string literal are literals themselves.
    fn time(&mut self, open: usize, word: Text, time: Text) -> Parsed<Option<NodeId>> {
        let word = self.lexer.bytes(word);
        let absolute = word.eq_ignore_ascii_case(b"abstime");
        if !absolute && !word.eq_ignore_ascii_case(b"reltime") {
            return Ok(None);
        }
        let bytes = self.lexer.bytes(time);
        let dialect = self.dialect;
        let builder = &mut self.workbench.builder;
        let literal = if absolute {
            times::parse_abs(bytes, |seconds| dialect.local_time(seconds)).map(|time| builder.time(time))
        } else {
            times::parse_rel(bytes).map(|seconds| builder.push(Node::RelTime(seconds)))
        };
        match literal {
            Some(literal) => Ok(Some(literal)),
            None => Err(Box::new(ParseError {
                span: Span::new(open, self.lexer.token.start),
                kind: ParseErrorKind::BadTime,
                expected: "a time",
                found: String::from_utf8_lossy(bytes).into_owned(),
            })),
        }
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
            let node = self.expression()?;
            fields.push(Field { name, node });
            match self.kind() {
                Kind::Semicolon | Kind::CloseBox => {}
                _ => return Err(self.unexpected("an operator, `;` or `]`")),
            }
            while self.kind() == Kind::Semicolon {
                self.lexer.advance();
            }
        }
        self.ad_end = self.lexer.end();
        self.lexer.advance();
        Ok(fields)
    }

    /// Adds an ad node. The names stand in the source still, so the order is found here.
    fn ad(&mut self, fields: &mut [Field]) -> NodeId {
        let lexer = &self.lexer;
        self.workbench.builder.ad_with(fields, |text: Text| lexer.bytes(text))
    }
}

/// Precedence and operator of each kind of token; 0 for those that stand between no operands.
const BINARY: [(u8, BinaryOp); Kind::COUNT] = {
    let mut table = [(0, BinaryOp::Or); Kind::COUNT];
    let mut at = 0;
    while at < OPERATORS.len() {
        let (kind, precedence, op) = OPERATORS[at];
        table[kind as usize] = (precedence, op);
        at += 1;
    }
    table
};

const OPERATORS: [(Kind, u8, BinaryOp); 21] = [
    (Kind::Or, 1, BinaryOp::Or),
    (Kind::And, 2, BinaryOp::And),
    (Kind::BitOr, 3, BinaryOp::BitOr),
    (Kind::BitXor, 4, BinaryOp::BitXor),
    (Kind::BitAnd, 5, BinaryOp::BitAnd),
    (Kind::Equal, 6, BinaryOp::Equal),
    (Kind::NotEqual, 6, BinaryOp::NotEqual),
    (Kind::Is, 6, BinaryOp::Is),
    (Kind::Isnt, 6, BinaryOp::Isnt),
    (Kind::Less, 7, BinaryOp::Less),
    (Kind::LessEqual, 7, BinaryOp::LessEqual),
    (Kind::Greater, 7, BinaryOp::Greater),
    (Kind::GreaterEqual, 7, BinaryOp::GreaterEqual),
    (Kind::ShiftLeft, 8, BinaryOp::ShiftLeft),
    (Kind::ShiftRight, 8, BinaryOp::ShiftRight),
    (Kind::ShiftRightZero, 8, BinaryOp::ShiftRightZero),
    (Kind::Plus, 9, BinaryOp::Add),
    (Kind::Minus, 9, BinaryOp::Subtract),
    (Kind::Multiply, 10, BinaryOp::Multiply),
    (Kind::Divide, 10, BinaryOp::Divide),
    (Kind::Modulus, 10, BinaryOp::Modulus),
];
