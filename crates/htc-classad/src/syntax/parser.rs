//! Parser, which builds expressions from tokens (reference: source.cpp).

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use crate::syntax::error::{ParseError, ParseErrorKind};
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::syntax::scalar::{Scalar, TextRange};
use crate::syntax::tree::{ABSOLUTE_BASE, AdField, BinaryOp, ExprTree, Node, NodeId, TreeBuilder, UnaryOp};
use crate::syntax::{Dialect, function_names, times};
use crate::text::Span;

/// Maximum nesting depth of expressions in the reference's parser. Each call of its functions for
/// expressions, unary operators and postfix operators counts as one level.
const MAX_DEPTH: u32 = 500;

const OPERAND: &str = "an operand: a name, a literal, `(`, `{`, `[` or a sign";

impl Expr {
    /// Parses a text that consists of one expression, in new syntax without strict mode. This is how `eval()` and the
    /// HTCondor tools parse expressions.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// assert_eq!(Expr::parse("a + 1")?.to_string(), "a + 1");
    /// assert_eq!(Expr::parse(b"a + 1")?, "a + 1".parse()?);
    /// # Ok::<(), htc_classad::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// Fails with the place where the text stops being an expression and what is expected there.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Expr, ParseError> {
        parse_whole_text(text.as_ref(), Dialect::new_syntax())
    }

    /// Parses a text that consists of one expression, in a given dialect.
    ///
    /// ```
    /// use htc_classad::{Dialect, Expr};
    /// let expr = Expr::parse_with(r#""C:\new""#, Dialect::old_syntax()).unwrap();
    /// assert_eq!(expr.as_literal().unwrap().as_str().unwrap(), r"C:\new");
    /// ```
    ///
    /// # Errors
    /// Same as [`Expr::parse`].
    pub fn parse_with(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<Expr, ParseError> {
        parse_whole_text(text.as_ref(), dialect)
    }

    /// Parses the expression at the beginning of a text and ignores the rest. Returns the expression and the number of
    /// bytes used.
    ///
    /// ```
    /// use htc_classad::{Dialect, Expr};
    /// let (expr, used) = Expr::parse_prefix("Cpus + 1 ] rest", Dialect::new_syntax()).unwrap();
    /// assert_eq!((expr.to_string().as_str(), used), ("Cpus + 1", 9));
    /// ```
    ///
    /// # Errors
    /// Same as [`Expr::parse`].
    pub fn parse_prefix(text: impl AsRef<[u8]>, dialect: Dialect) -> Result<(Expr, usize), ParseError> {
        parse_prefix(text.as_ref(), dialect)
    }
}

/// Parses a text that consists of one expression as [`Expr::parse`] does.
impl std::str::FromStr for Expr {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Expr::parse(text)
    }
}

/// Parses a text that consists of one expression.
fn parse_whole_text(text: &[u8], dialect: Dialect) -> Result<Expr, ParseError> {
    with_parser(text, dialect, |parser| parser.parse_whole())
}

/// Parses the expression at the beginning of a text. Returns the expression and the offset of the token that follows.
pub(crate) fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(Expr, usize), ParseError> {
    with_parser(text, dialect, |parser| {
        let root = parser.parse_expression()?;
        Ok((parser.finish_expr(root), parser.lexer.token.start))
    })
}

/// Calls `run` with a parser for a text, which uses the buffers of the thread.
pub(crate) fn with_parser<'s, T>(
    text: &'s [u8],
    dialect: Dialect,
    run: impl FnOnce(&mut Parser<'s, '_>) -> ParseResult<T>,
) -> Result<T, ParseError> {
    if text.len() > i32::MAX as usize {
        let (kind, found) = (ParseErrorKind::TooLong, String::new());
        return Err(ParseError { span: Span::at(0), kind, expected: OPERAND, found });
    }
    let mut buffers = SPARE_BUFFERS.take().unwrap_or_default();
    let result = run(&mut Parser::new(text, dialect, &mut buffers));
    let ParserBuffers { builder, items } = &*buffers;
    if builder.nodes.capacity().max(builder.fields.capacity()).max(items.capacity()) <= SPARE_NODES {
        buffers.clear();
        SPARE_BUFFERS.set(Some(buffers));
    }
    result.map_err(|error| *error)
}

/// Recursive-descent parser that adds nodes to a tree builder.
pub(crate) struct Parser<'s, 'w> {
    pub(crate) lexer: Lexer<'s>,
    buffers: &'w mut ParserBuffers,
    depth: u32,
    dialect: Dialect,
    /// True if the expression parsed last was a conditional.
    conditional: bool,
    /// Offset at which the ad parsed last ended.
    ad_end: usize,
}

/// Buffers that parsers use. Each thread reuses one set of buffers, so that parsing a short text allocates only memory
/// for its tree.
#[derive(Default)]
struct ParserBuffers {
    builder: TreeBuilder,
    /// Elements of the lists and arguments of the calls that are being parsed.
    items: Vec<NodeId>,
}

impl ParserBuffers {
    fn clear(&mut self) {
        self.builder.clear();
        self.items.clear();
    }
}

thread_local! {
    static SPARE_BUFFERS: Cell<Option<Box<ParserBuffers>>> = const { Cell::new(None) };
}

/// Maximum capacity, in nodes, of buffers that are kept for reuse.
const SPARE_NODES: usize = 4096;

/// Parses a part whose nesting depth is greater by `$levels`, and fails if the maximum depth is exceeded. The depth is
/// not restored after a failure, because parsing then stops. A closure would not be inlined for each operand, so this
/// is a macro.
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

/// Result of a parsing function. The error is boxed, because the success values are small.
pub(crate) type ParseResult<T> = Result<T, Box<ParseError>>;

impl<'s, 'w> Parser<'s, 'w> {
    fn new(text: &'s [u8], dialect: Dialect, buffers: &'w mut ParserBuffers) -> Self {
        let lexer = Lexer::new(text, dialect);
        Parser { lexer, buffers, depth: 0, dialect, conditional: false, ad_end: 0 }
    }

    /// Parses the text of the parser as one expression.
    fn parse_whole(&mut self) -> ParseResult<Expr> {
        let root = self.parse_expression()?;
        // After a conditional, the reference does not check for the end of the text (source.cpp parseExpression).
        if !self.conditional && self.token_kind() != TokenKind::End {
            return Err(self.unexpected_token("an operator or the end of the text"));
        }
        Ok(self.finish_expr(root))
    }

    /// Parses a part of the current string token as an expression. At this point, no list or call of the surrounding
    /// text may be incomplete.
    pub(crate) fn parse_embedded(&mut self, part: Range<usize>, dialect: Dialect) -> ParseResult<Expr> {
        let text = &self.lexer.token_text(self.lexer.token.text)[part];
        let result = Parser::new(text, dialect, self.buffers).parse_whole();
        self.buffers.clear();
        result
    }

    /// Builds the tree and returns the expression at the node `root`.
    pub(crate) fn finish_expr(&self, root: NodeId) -> Expr {
        match self.buffers.builder.nodes[root as usize].as_scalar() {
            // A scalar does not need the tree.
            Some(scalar) => Expr::from_scalar(scalar.map(|text| self.lexer.token_text(text))),
            None => Expr(ExprRepr::Node(self.finish_tree(), root)),
        }
    }

    /// Builds the tree from all nodes that were parsed. Its text is the source, followed by the texts that differ from
    /// the source.
    pub(crate) fn finish_tree(&self) -> Arc<ExprTree> {
        let (source, extra) = (self.lexer.source(), &self.lexer.extra);
        let mut text = Vec::with_capacity(source.len() + extra.len());
        text.extend_from_slice(source);
        text.extend_from_slice(extra);
        Arc::new(self.buffers.builder.finish_with(text.into_boxed_slice()))
    }

    /// Returns the offset at which the ad parsed last ended.
    pub(crate) fn last_ad_end(&self) -> usize {
        self.ad_end
    }

    #[inline]
    pub(crate) fn token_kind(&self) -> TokenKind {
        self.lexer.token.kind
    }

    #[cold]
    pub(crate) fn error(&self, kind: ParseErrorKind, expected: &'static str) -> Box<ParseError> {
        let token = &self.lexer.token;
        let source = self.lexer.source();
        let at_end = token.kind == TokenKind::End && kind == ParseErrorKind::Unexpected;
        let shown = &source[token.start.min(source.len())..self.lexer.token_end().min(source.len())];
        let found = if at_end {
            String::new()
        } else {
            let cut = shown.len().min(40);
            String::from_utf8_lossy(&shown[..cut]).replace(|c: char| c.is_control(), " ")
        };
        Box::new(ParseError { span: Span::new(token.start, self.lexer.token_end()), kind, expected, found })
    }

    /// Creates the error for a current token that is not valid at its position.
    #[cold]
    pub(crate) fn unexpected_token(&self, expected: &'static str) -> Box<ParseError> {
        let kind = match self.token_kind() {
            TokenKind::Bad => ParseErrorKind::BadToken(self.lexer.token.bad),
            TokenKind::Assign => ParseErrorKind::Assignment,
            _ => ParseErrorKind::Unexpected,
        };
        self.error(kind, expected)
    }

    #[inline]
    fn push_node(&mut self, node: Node) -> NodeId {
        self.buffers.builder.push_node(node)
    }

    #[inline]
    fn expect(&mut self, kind: TokenKind, expected: &'static str) -> ParseResult<()> {
        if self.token_kind() != kind {
            return Err(self.unexpected_token(expected));
        }
        self.lexer.advance();
        Ok(())
    }

    /// Parses an expression.
    pub(crate) fn parse_expression(&mut self) -> ParseResult<NodeId> {
        Ok(deeper!(self, 1, {
            let left = self.parse_unary()?;
            let left = self.parse_binary(left, 1)?;
            self.conditional = self.token_kind() == TokenKind::Question;
            if self.conditional { self.parse_branches(left) } else { Ok(left) }
        }))
    }

    /// Parses the two branches of a conditional expression.
    fn parse_branches(&mut self, condition: NodeId) -> ParseResult<NodeId> {
        self.lexer.advance();
        let yes = self.parse_expression()?;
        self.expect(TokenKind::Colon, "an operator or `:`")?;
        let no = self.parse_expression()?;
        self.conditional = true;
        let branches = self.buffers.builder.push_links(&[yes, no]);
        Ok(self.push_node(Node::Ternary { condition, branches }))
    }

    /// Parses the binary operators that follow an operand and have at least the precedence `least`, with their right
    /// operands. All operators are left associative.
    fn parse_binary(&mut self, mut left: NodeId, least: u8) -> ParseResult<NodeId> {
        loop {
            let (precedence, op) = BINARY_OPERATORS[self.token_kind() as usize];
            if precedence < least {
                return Ok(left);
            }
            self.lexer.advance();
            let mut right = self.parse_unary()?;
            if BINARY_OPERATORS[self.token_kind() as usize].0 > precedence {
                right = self.parse_binary(right, precedence + 1)?;
            }
            left = self.push_node(Node::Binary(op, left, right));
        }
    }

    /// Parses an operand with the signs and unary operators before it.
    #[inline(always)]
    fn parse_unary(&mut self) -> ParseResult<NodeId> {
        if matches!(
            self.token_kind(),
            TokenKind::Minus | TokenKind::Plus | TokenKind::BitNot | TokenKind::Not
        ) {
            return self.parse_signed();
        }
        self.parse_unsigned()
    }

    /// Parses an operand that has no sign. As in the reference, the depth increases by one level for the missing sign
    /// and by one for the operand.
    #[inline(always)]
    fn parse_unsigned(&mut self) -> ParseResult<NodeId> {
        Ok(deeper!(self, 2, self.parse_operand()))
    }

    #[inline(never)]
    fn parse_signed(&mut self) -> ParseResult<NodeId> {
        let op = match self.token_kind() {
            TokenKind::Minus => UnaryOp::Minus,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::BitNot => UnaryOp::BitNot,
            TokenKind::Not => UnaryOp::Not,
            _ => return self.parse_unsigned(),
        };
        let operand = deeper!(self, 1, {
            self.lexer.advance();
            self.parse_signed()
        });
        Ok(self.push_node(Node::Unary(op, operand)))
    }

    /// Parses an operand with the suffixes that follow it: selections, subscripts and `?:`.
    #[inline(always)]
    fn parse_operand(&mut self) -> ParseResult<NodeId> {
        let operand = self.parse_primary()?;
        match self.token_kind() {
            TokenKind::Selection | TokenKind::OpenBox | TokenKind::Elvis => self.parse_suffixes(operand),
            _ => Ok(operand),
        }
    }

    fn parse_suffixes(&mut self, mut left: NodeId) -> ParseResult<NodeId> {
        loop {
            left = match self.token_kind() {
                TokenKind::Selection => {
                    self.lexer.advance();
                    let name = self.take_identifier("the name of an attribute")?;
                    self.push_node(Node::Attr { base: left, name })
                }
                TokenKind::OpenBox => {
                    self.lexer.advance();
                    let index = self.parse_expression()?;
                    self.expect(TokenKind::CloseBox, "an operator or `]`")?;
                    self.push_node(Node::Binary(BinaryOp::Subscript, left, index))
                }
                TokenKind::Elvis => {
                    self.lexer.advance();
                    let right = deeper!(self, 1, self.parse_operand());
                    self.push_node(Node::Binary(BinaryOp::Elvis, left, right))
                }
                _ => return Ok(left),
            };
        }
    }

    /// Parses an identifier and adds a node for the name.
    #[inline(always)]
    fn take_identifier(&mut self, expected: &'static str) -> ParseResult<NodeId> {
        if self.token_kind() != TokenKind::Identifier {
            return Err(self.unexpected_token(expected));
        }
        let text = self.lexer.token.text;
        let name = self.buffers.builder.push_name_at(text, self.lexer.token_text(text));
        self.lexer.advance();
        Ok(name)
    }

    /// Parses the beginning of an operand. Names and the most common literals are handled first, all other operands
    /// after them.
    #[inline(always)]
    fn parse_primary(&mut self) -> ParseResult<NodeId> {
        let token = &self.lexer.token;
        let scalar = match token.kind {
            TokenKind::Identifier => {
                let name = self.take_identifier(OPERAND)?;
                if self.token_kind() == TokenKind::OpenParenthesis {
                    return self.parse_call(name);
                }
                return Ok(name);
            }
            TokenKind::Integer => Scalar::Int(token.integer),
            TokenKind::String => Scalar::Str(token.text),
            TokenKind::Boolean => Scalar::Bool(token.boolean),
            _ => return self.parse_other_primary(),
        };
        self.lexer.advance();
        Ok(self.push_node(scalar.into()))
    }

    #[inline(never)]
    fn parse_other_primary(&mut self) -> ParseResult<NodeId> {
        let scalar = match self.token_kind() {
            TokenKind::Real => Scalar::Real(self.lexer.token.real),
            TokenKind::Undefined => Scalar::Undefined,
            TokenKind::Error => Scalar::Error,
            TokenKind::Selection => {
                self.lexer.advance();
                let name = self.take_identifier("the name of an attribute")?;
                return Ok(self.push_node(Node::Attr { base: ABSOLUTE_BASE, name }));
            }
            TokenKind::OpenParenthesis => {
                self.lexer.advance();
                let inner = self.parse_expression()?;
                self.expect(TokenKind::CloseParenthesis, "an operator or `)`")?;
                return Ok(self.push_node(Node::Unary(UnaryOp::Parentheses, inner)));
            }
            TokenKind::OpenBrace => {
                let first = self.parse_items(TokenKind::CloseBrace, "an operator, `,` or `}`")?;
                let ParserBuffers { builder, items } = &mut *self.buffers;
                let list = builder.push_list(&items[first..]);
                items.truncate(first);
                return Ok(list);
            }
            TokenKind::OpenBox => {
                let mut fields = self.parse_fields()?;
                return Ok(self.push_ad(&mut fields));
            }
            _ => return Err(self.unexpected_token(OPERAND)),
        };
        self.lexer.advance();
        Ok(self.push_node(scalar.into()))
    }

    /// Parses expressions separated by commas, and the token `close` after them. Appends their nodes to the items of
    /// the buffers, and returns the index of the first.
    fn parse_items(&mut self, close: TokenKind, expected: &'static str) -> ParseResult<usize> {
        let first = self.buffers.items.len();
        self.lexer.advance();
        if self.token_kind() == close {
            self.lexer.advance();
            return Ok(first);
        }
        loop {
            let item = self.parse_expression()?;
            self.buffers.items.push(item);
            match self.token_kind() {
                TokenKind::Comma => self.lexer.advance(),
                TokenKind::Semicolon if close == TokenKind::CloseParenthesis && !self.dialect.mode.strict => {
                    self.lexer.advance()
                }
                kind if kind == close => {
                    self.lexer.advance();
                    return Ok(first);
                }
                _ => return Err(self.unexpected_token(expected)),
            }
        }
    }

    fn parse_call(&mut self, name: NodeId) -> ParseResult<NodeId> {
        let open = self.lexer.token.start;
        let first = self.parse_items(TokenKind::CloseParenthesis, "an operator, `,` or `)`")?;
        let Node::Name { text, hash, .. } = self.buffers.builder.nodes[name as usize] else {
            return Err(self.unexpected_token(OPERAND));
        };
        if text.len == 7
            && let [argument] = self.buffers.items[first..]
            && let Node::Str(time) = self.buffers.builder.nodes[argument as usize]
            && let Some(literal) = self.parse_time_literal(open, text, time)?
        {
            self.buffers.items.truncate(first);
            return Ok(literal);
        }
        let ParserBuffers { builder, items } = &mut *self.buffers;
        let number = function_names::function_number_hashed(self.lexer.token_text(text), hash);
        let call = builder.push_numbered_call(name, number, &items[first..]);
        items.truncate(first);
        Ok(call)
    }

    /// Parses `absTime("...")` or `relTime("...")`. With a string literal as argument, these are literals and not
    /// calls.
    fn parse_time_literal(
        &mut self,
        open: usize,
        word: TextRange,
        time: TextRange,
    ) -> ParseResult<Option<NodeId>> {
        let word = self.lexer.token_text(word);
        let absolute = word.eq_ignore_ascii_case(b"abstime");
        if !absolute && !word.eq_ignore_ascii_case(b"reltime") {
            return Ok(None);
        }
        let bytes = self.lexer.token_text(time);
        let dialect = self.dialect;
        let builder = &mut self.buffers.builder;
        let literal = if absolute {
            times::parse_abs_time(bytes, |seconds| dialect.local_time(seconds))
                .map(|time| builder.push_time(time))
        } else {
            times::parse_rel_time(bytes).map(|seconds| builder.push_node(Node::RelTime(seconds)))
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

    /// Parses an ad with its brackets and returns its attributes.
    pub(crate) fn parse_fields(&mut self) -> ParseResult<Vec<AdField>> {
        self.lexer.advance();
        let mut fields = Vec::new();
        // The reference rejects an ad that consists only of semicolons, because it expects a name after the first
        // semicolons.
        let mut first = true;
        while !(self.token_kind() == TokenKind::CloseBox && (first || !fields.is_empty())) {
            first = false;
            if self.token_kind() == TokenKind::Semicolon {
                self.lexer.advance();
                continue;
            }
            let text = self.lexer.token.text;
            if self.token_kind() == TokenKind::Identifier && text.len == 0 {
                return Err(self.error(ParseErrorKind::EmptyName, "the name of an attribute"));
            }
            let name = self.take_identifier("the name of an attribute or `]`")?;
            if self.token_kind() != TokenKind::Assign {
                return Err(self.unexpected_token("`=`"));
            }
            self.lexer.advance();
            let node = self.parse_expression()?;
            fields.push(AdField { name, node });
            match self.token_kind() {
                TokenKind::Semicolon | TokenKind::CloseBox => {}
                _ => return Err(self.unexpected_token("an operator, `;` or `]`")),
            }
            while self.token_kind() == TokenKind::Semicolon {
                self.lexer.advance();
            }
        }
        self.ad_end = self.lexer.token_end();
        self.lexer.advance();
        Ok(fields)
    }

    /// Adds the node of an ad. The attributes are sorted here, because their names are still in the source.
    fn push_ad(&mut self, fields: &mut [AdField]) -> NodeId {
        let lexer = &self.lexer;
        self.buffers.builder.push_ad_with_names(fields, |text: TextRange| lexer.token_text(text))
    }
}

/// Precedence and operator for each kind of token. The precedence is 0 for a token that is not a binary operator.
const BINARY_OPERATORS: [(u8, BinaryOp); TokenKind::COUNT] = {
    let mut table = [(0, BinaryOp::Or); TokenKind::COUNT];
    let mut at = 0;
    while at < OPERATOR_TABLE.len() {
        let (kind, precedence, op) = OPERATOR_TABLE[at];
        table[kind as usize] = (precedence, op);
        at += 1;
    }
    table
};

const OPERATOR_TABLE: [(TokenKind, u8, BinaryOp); 21] = [
    (TokenKind::Or, 1, BinaryOp::Or),
    (TokenKind::And, 2, BinaryOp::And),
    (TokenKind::BitOr, 3, BinaryOp::BitOr),
    (TokenKind::BitXor, 4, BinaryOp::BitXor),
    (TokenKind::BitAnd, 5, BinaryOp::BitAnd),
    (TokenKind::Equal, 6, BinaryOp::Equal),
    (TokenKind::NotEqual, 6, BinaryOp::NotEqual),
    (TokenKind::Is, 6, BinaryOp::Is),
    (TokenKind::Isnt, 6, BinaryOp::Isnt),
    (TokenKind::Less, 7, BinaryOp::Less),
    (TokenKind::LessEqual, 7, BinaryOp::LessEqual),
    (TokenKind::Greater, 7, BinaryOp::Greater),
    (TokenKind::GreaterEqual, 7, BinaryOp::GreaterEqual),
    (TokenKind::ShiftLeft, 8, BinaryOp::ShiftLeft),
    (TokenKind::ShiftRight, 8, BinaryOp::ShiftRight),
    (TokenKind::ShiftRightZero, 8, BinaryOp::ShiftRightZero),
    (TokenKind::Plus, 9, BinaryOp::Add),
    (TokenKind::Minus, 9, BinaryOp::Subtract),
    (TokenKind::Multiply, 10, BinaryOp::Multiply),
    (TokenKind::Divide, 10, BinaryOp::Divide),
    (TokenKind::Modulus, 10, BinaryOp::Modulus),
];
