//! Checks for expressions that are valid but probably do not mean what their author intended.
//!
//! ```
//! use htc_classad::{Dialect, pitfalls};
//! for pitfall in pitfalls::find("Owner == 'ana'", Dialect::new_syntax()) {
//!     eprintln!("{}: {}", pitfall.message, pitfall.hint);
//! }
//! ```

use crate::syntax::Dialect;
use crate::syntax::function_names;
use crate::syntax::lexer::{Lexer, TokenKind};
use crate::text::{Span, similar_names};

/// Part of an expression that probably does not mean what its author intended.
///
/// ```
/// use htc_classad::{Dialect, pitfalls};
/// let text = "Owner == 'ana'";
/// let pitfall = &pitfalls::find(text, Dialect::new_syntax())[0];
/// assert_eq!(&text[pitfall.span.start as usize..pitfall.span.end as usize], "'ana'");
/// assert!(!pitfall.hint.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pitfall {
    /// Range of the part in the text.
    pub span: Span,
    /// Actual meaning of the part.
    pub message: String,
    /// Advice on writing what the author probably intended.
    pub hint: String,
    /// True if the part is a call of a function that does not exist.
    pub is_unknown_function: bool,
}

/// Returns the pitfalls in the text of an expression.
///
/// ```
/// use htc_classad::{Dialect, pitfalls};
/// let found = pitfalls::find(b"Owner == 'ana'", Dialect::new_syntax());
/// assert_eq!(found[0].message, "'ana' is the name of an attribute, not a string");
/// assert!(pitfalls::find(b"Owner == \"ana\"", Dialect::new_syntax()).is_empty());
/// ```
pub fn find(text: impl AsRef<[u8]>, dialect: Dialect) -> Vec<Pitfall> {
    find_pitfalls(text.as_ref(), dialect)
}

fn find_pitfalls(text: &[u8], dialect: Dialect) -> Vec<Pitfall> {
    let mut lexer = Lexer::new(text, dialect);
    let mut tokens = Vec::new();
    while !matches!(lexer.token.kind, TokenKind::End | TokenKind::Bad) {
        let token = lexer.token;
        tokens.push(PlacedToken {
            kind: token.kind,
            start: token.start,
            end: lexer.token_end(),
            integer: token.integer,
        });
        lexer.advance();
    }
    let mut finder = PitfallFinder { text: lexer.source(), tokens: &tokens, pitfalls: Vec::new() };
    for at in 0..tokens.len() {
        finder.check_token(at);
    }
    finder.pitfalls
}

/// Advice for an integer that does not fit in 64 bits.
pub(crate) const LARGE_INTEGER_HINT: &str = "write it as a real, with a decimal point or an exponent";

/// Minimum number of digits of an integer that does not fit in 64 bits.
const MIN_LARGE_DIGITS: usize = 19;

/// Returns the first integer of a text that does not fit in 64 bits, or `None`. The reference reads such an integer as
/// 0.
pub(crate) fn find_large_integer(text: &[u8], dialect: Dialect) -> Option<Span> {
    if !has_long_number(text) {
        return None;
    }
    let mut lexer = Lexer::new(text, dialect);
    while !matches!(lexer.token.kind, TokenKind::End | TokenKind::Bad) {
        let (start, end) = (lexer.token.start, lexer.token_end());
        let digits = text.get(start..end).unwrap_or_default();
        if lexer.token.kind == TokenKind::Integer && is_too_large(digits, lexer.token.integer) {
            return Some(Span::new(start, start + digits.trim_ascii_end().len()));
        }
        lexer.advance();
    }
    None
}

/// Returns true if a text may have a number with at least [`MIN_LARGE_DIGITS`] digits. Only every [`MIN_LARGE_DIGITS`]th byte
/// is tested first, because such a number has a digit at one of these positions.
fn has_long_number(text: &[u8]) -> bool {
    let mut places = (MIN_LARGE_DIGITS - 1..text.len()).step_by(MIN_LARGE_DIGITS);
    places.any(|at| {
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        text[at].is_ascii_digit()
            && text[..at].iter().rev().take_while(is_digit).count()
                + text[at..].iter().take_while(is_digit).count()
                >= MIN_LARGE_DIGITS
    })
}

/// Returns true if the integer of a token is 0 because its digits do not fit in 64 bits.
fn is_too_large(digits: &[u8], integer: i64) -> bool {
    integer == 0 && digits.iter().any(|byte| matches!(byte, b'1'..=b'9')) && !digits.contains(&b'x')
}

struct PlacedToken {
    kind: TokenKind,
    start: usize,
    end: usize,
    integer: i64,
}

struct PitfallFinder<'a> {
    text: &'a [u8],
    tokens: &'a [PlacedToken],
    pitfalls: Vec<Pitfall>,
}

impl PitfallFinder<'_> {
    fn token_kind(&self, at: usize) -> TokenKind {
        self.tokens.get(at).map_or(TokenKind::End, |token| token.kind)
    }

    fn previous_kind(&self, at: usize) -> TokenKind {
        at.checked_sub(1).map_or(TokenKind::End, |at| self.token_kind(at))
    }

    fn token_text(&self, at: usize) -> &[u8] {
        self.tokens.get(at).and_then(|token| self.text.get(token.start..token.end)).unwrap_or_default()
    }

    fn token_display(&self, at: usize) -> String {
        String::from_utf8_lossy(self.token_text(at)).trim_end().to_owned()
    }

    fn add_pitfall(&mut self, at: usize, message: String, hint: impl Into<String>) {
        let length = self.token_text(at).trim_ascii_end().len();
        let start = self.tokens[at].start;
        let span = Span::new(start, start + length);
        self.pitfalls.push(Pitfall { span, message, hint: hint.into(), is_unknown_function: false });
    }

    fn check_token(&mut self, at: usize) {
        match self.token_kind(at) {
            TokenKind::Identifier => self.check_identifier(at),
            TokenKind::Integer if is_too_large(self.token_text(at), self.tokens[at].integer) => {
                let message = format!("{} does not fit in 64 bits and is read as 0", self.token_display(at));
                self.add_pitfall(at, message, LARGE_INTEGER_HINT);
            }
            TokenKind::Undefined => self.check_undefined(at),
            TokenKind::Elvis => self.check_elvis(at),
            _ => {}
        }
    }

    fn check_identifier(&mut self, at: usize) {
        let shown = self.token_display(at);
        if self.token_text(at).first() == Some(&b'\'') {
            let compared = matches!(
                self.previous_kind(at),
                TokenKind::Equal
                    | TokenKind::NotEqual
                    | TokenKind::Is
                    | TokenKind::Isnt
                    | TokenKind::Less
                    | TokenKind::Greater
                    | TokenKind::LessEqual
                    | TokenKind::GreaterEqual
                    | TokenKind::Comma
                    | TokenKind::OpenParenthesis
                    | TokenKind::OpenBrace
            );
            if compared && self.token_kind(at + 1) != TokenKind::OpenParenthesis {
                let inner = shown.trim_matches('\'').to_owned();
                let message = format!("{shown} is the name of an attribute, not a string");
                self.add_pitfall(at, message, format!("write \"{inner}\" for a string"));
            }
            return;
        }
        if self.token_kind(at + 1) == TokenKind::OpenParenthesis {
            if function_names::function_number(self.token_text(at)) == function_names::UNKNOWN_FUNCTION {
                let near = || similar_names::nearest(&shown, function_names::function_names());
                let hint = match replacement_of_foreign_function(&shown) {
                    Some(replacement) => format!("write {replacement}"),
                    None => near().map_or_else(
                        || "the manual lists the functions".to_owned(),
                        |name| format!("did you mean {name}()?"),
                    ),
                };
                self.add_pitfall(at, format!("there is no function {shown}: the call is an error"), hint);
                if let Some(added) = self.pitfalls.last_mut() {
                    added.is_unknown_function = true;
                }
            }
            return;
        }
        let is_null = ["null", "nil", "none"].iter().any(|word| shown.eq_ignore_ascii_case(word));
        if is_null
            && self.previous_kind(at) != TokenKind::Selection
            && self.token_kind(at + 1) != TokenKind::Assign
        {
            let message = format!("{shown} is the name of an attribute like any other");
            self.add_pitfall(at, message, "write undefined");
        }
    }

    fn check_undefined(&mut self, at: usize) {
        let other = |kind: TokenKind| matches!(kind, TokenKind::Equal | TokenKind::NotEqual);
        let sign = if other(self.previous_kind(at)) {
            Some(at - 1)
        } else if other(self.token_kind(at + 1)) {
            Some(at + 1)
        } else {
            None
        };
        if let Some(sign) = sign {
            let (shown, better) = match self.token_kind(sign) {
                TokenKind::Equal => ("==", "=?="),
                _ => ("!=", "=!="),
            };
            let message = format!("`{shown} undefined` is undefined whatever is on the other side");
            self.add_pitfall(sign, message, format!("write `{better} undefined`"));
        }
        if self.token_kind(at + 1) == TokenKind::Elvis {
            let message = "`undefined ?: x` is x: `?:` binds tighter than any other operator".to_owned();
            self.add_pitfall(at + 1, message, "put parentheses around what is before it");
        }
    }

    /// Reports an expression like `a ?: 1 + 1`, which means `(a ?: 1) + 1`.
    fn check_elvis(&mut self, at: usize) {
        let mut next = at + 1;
        let mut depth = 0usize;
        // Skips the operand after `?:`, which is a name or literal with its suffixes.
        while let Some(token) = self.tokens.get(next) {
            match token.kind {
                TokenKind::OpenParenthesis | TokenKind::OpenBox | TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseParenthesis | TokenKind::CloseBox | TokenKind::CloseBrace if depth == 0 => {
                    return;
                }
                TokenKind::CloseParenthesis | TokenKind::CloseBox | TokenKind::CloseBrace => depth -= 1,
                TokenKind::Identifier
                | TokenKind::Undefined
                | TokenKind::Error
                | TokenKind::Boolean
                | TokenKind::Integer
                | TokenKind::Real
                | TokenKind::String
                | TokenKind::Selection
                | TokenKind::Elvis => {}
                _ if depth > 0 => {}
                _ => break,
            }
            next += 1;
        }
        let binds = matches!(
            self.token_kind(next),
            TokenKind::Plus
                | TokenKind::Minus
                | TokenKind::Multiply
                | TokenKind::Divide
                | TokenKind::Modulus
                | TokenKind::Less
                | TokenKind::LessEqual
                | TokenKind::Greater
                | TokenKind::GreaterEqual
                | TokenKind::Equal
                | TokenKind::NotEqual
        );
        if binds && next > at + 1 {
            let sign = self.token_display(next);
            let message = format!("`?:` binds tighter than `{sign}`: this is (... ?: ...) {sign} ...");
            self.add_pitfall(at, message, "put parentheses around what belongs together");
        }
    }
}

/// Returns the ClassAd expression to use instead of a function of another language, or `None` if the function is
/// unknown.
fn replacement_of_foreign_function(name: &str) -> Option<&'static str> {
    const FUNCTIONS: [(&[&str], &str); 17] = [
        (
            &["strftime", "date", "date_format", "format_time", "hour", "weekday"],
            "formatTime(time(), \"%H\")",
        ),
        (&["now", "getdate", "current_time", "currenttime", "systime"], "time()"),
        (&["len", "length", "strlen"], "size()"),
        (&["lower", "lcase", "lowercase", "to_lower"], "toLower()"),
        (&["upper", "ucase", "uppercase", "to_upper"], "toUpper()"),
        (&["concat", "concatenate", "strconcat"], "strcat()"),
        (&["str", "tostring", "to_string"], "string()"),
        (&["toint", "to_int", "integer", "parseint", "atoi"], "int()"),
        (&["tofloat", "to_float", "float", "double", "atof"], "real()"),
        (&["if", "iif", "iff", "case"], "ifThenElse(condition, value, other)"),
        (&["isnull", "is_null", "isnone", "is_undefined"], "isUndefined(attribute)"),
        (&["defined", "isdefined", "is_defined", "exists"], "attribute =!= undefined"),
        (&["coalesce", "ifnull", "nvl"], "attribute ?: value"),
        (
            &["startswith", "endswith", "match", "matches", "like", "regex", "regexmatch", "regexp_like"],
            "regexp(\"pattern\", attribute)",
        ),
        (&["contains", "stringlistcontains", "inlist", "in_list"], "stringListMember(item, \"a,b\")"),
        (&["stringlistlength", "stringlistcount"], "stringListSize()"),
        (&["sqrt"], "pow(x, 0.5)"),
    ];
    let is_named = |names: &&(&[&str], &str)| names.0.iter().any(|known| known.eq_ignore_ascii_case(name));
    FUNCTIONS.iter().find(is_named).map(|(_, replacement)| *replacement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        find(text.as_bytes(), Dialect::new_syntax()).into_iter().map(|pitfall| pitfall.message).collect()
    }

    #[test]
    fn common_mistakes_are_found() {
        for (text, part) in [
            ("x == 'a'", "is the name of an attribute"),
            ("x == undefined", "is undefined whatever"),
            ("undefined != x", "is undefined whatever"),
            ("x is undefined ?: 3", "binds tighter than any other"),
            ("a ?: 1 + 1", "binds tighter than `+`"),
            ("f.g[1] ?: size({1,2}) > 1", "binds tighter than `>`"),
            ("99999999999999999999", "is read as 0"),
            ("regexpp(\"a\", b)", "there is no function regexpp"),
            ("x is null", "like any other"),
        ] {
            let found = messages(text);
            assert!(found.len() == 1 && found[0].contains(part), "{text}: {found:?}");
        }
    }

    #[test]
    fn good_expressions_have_no_findings() {
        for text in [
            "x =?= undefined",
            "a ?: (1 + 1)",
            "(a ?: 1) + 1",
            "'odd name' > 3",
            "'strcat'(\"a\")",
            "9223372036854775807 + 0",
            "TARGET.null",
            "x is undefined ? 1 : 2",
        ] {
            assert!(messages(text).is_empty(), "{text}: {:?}", messages(text));
        }
    }
}
