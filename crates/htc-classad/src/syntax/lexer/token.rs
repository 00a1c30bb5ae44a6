//! Tokens and their kinds.

use crate::syntax::scalar::TextRange;

/// Kind of a token.
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

    /// Returns true if the token may be the end of an operand, so that a minus sign after it is a
    /// subtraction.
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

/// Error in an invalid token (`TokenKind::Bad`).
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
    /// The byte does not begin any token.
    Byte,
    /// A string or quoted name has no closing quote.
    Unterminated,
    /// A comment is not closed.
    Comment,
    /// An escape sequence in a string would produce a NUL byte.
    Nul,
    /// A number has an invalid digit after a leading zero, or is incomplete (`1.`, `1e`).
    Number,
    /// The operator `=?=` is incomplete: `=?` is not followed by `=`.
    Operator,
}

/// Token of a text. The kind determines which fields are valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Offset of the token in the source.
    pub(crate) start: usize,
    /// Text of an identifier or string: range of the source followed by the lexer's `extra`.
    pub(crate) text: TextRange,
    pub(crate) integer: i64,
    pub(crate) real: f64,
    pub(crate) boolean: bool,
    /// True for a JSON string that contains an expression between escaped slashes.
    pub(crate) quoted_expression: bool,
    pub(crate) bad: BadToken,
}
