//! Tokens and their kinds.

use crate::syntax::scalar::TextRange;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TokenKind {
    End,
    Bad,
    Identifier,
    Undefined,
    Error,
    Boolean,
    Integer,
    Real,
    String,
    Selection,
    Multiply,
    Divide,
    Modulus,
    Plus,
    Minus,
    BitNot,
    Not,
    BitXor,
    BitAnd,
    BitOr,
    And,
    Or,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    Assign,
    Equal,
    NotEqual,
    Is,
    Isnt,
    Question,
    Colon,
    Elvis,
    Semicolon,
    Comma,
    OpenBox,
    CloseBox,
    OpenParenthesis,
    CloseParenthesis,
    OpenBrace,
    CloseBrace,
}

impl TokenKind {
    pub(crate) const COUNT: usize = TokenKind::CloseBrace as usize + 1;

    /// Returns true if the token may end an operand, so that a following minus sign subtracts.
    #[inline]
    pub(super) fn ends_operand(self) -> bool {
        matches!(
            self,
            TokenKind::Integer
                | TokenKind::Real
                | TokenKind::Boolean
                | TokenKind::String
                | TokenKind::Undefined
                | TokenKind::Error
                | TokenKind::Identifier
                | TokenKind::Selection
                | TokenKind::CloseBox
                | TokenKind::CloseParenthesis
                | TokenKind::CloseBrace
        )
    }
}

/// Error in a token of kind `TokenKind::Bad`.
///
/// ```
/// use htc_classad::{BadToken, Expr, ParseErrorKind};
/// let kind = |text: &str| Expr::parse(text).unwrap_err().kind;
/// assert_eq!(kind("1."), ParseErrorKind::BadToken(BadToken::Number));
/// assert_eq!(kind("A + \"b"), ParseErrorKind::BadToken(BadToken::Unterminated));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadToken {
    /// A byte that begins no token.
    Byte,
    /// A string or quoted name without its closing quote.
    Unterminated,
    /// A comment without its end.
    Comment,
    /// An escape that would produce a NUL byte in a string.
    Nul,
    /// A number with a leading zero, or an incomplete one (`1.`, `1e`).
    Number,
    /// `=?` without `=`.
    Operator,
}

/// Current token. Which fields are valid depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Offset of the token in the source.
    pub(crate) start: usize,
    /// Text of identifiers and strings: offset into source followed by `extra`.
    pub(crate) text: TextRange,
    pub(crate) integer: i64,
    pub(crate) real: f64,
    pub(crate) boolean: bool,
    /// True for a JSON string that was written between escaped slashes.
    pub(crate) quoted_expression: bool,
    pub(crate) bad: BadToken,
}
