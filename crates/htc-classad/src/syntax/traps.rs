//! What users write and do not mean: texts that are good expressions but rarely what their author wanted.

use crate::syntax::Dialect;
use crate::syntax::function_names;
use crate::syntax::lexer::{Kind, Lexer};
use crate::text::{Span, similar};

/// A part of an expression that probably says something else than it was meant to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The part.
    pub span: Span,
    /// What it really says.
    pub message: String,
    /// What was probably meant.
    pub hint: String,
}

/// Looks through the text of an expression.
///
/// ```
/// use htc_classad::{Dialect, traps};
/// let found = traps::find(b"Owner == 'ana'", Dialect::new_syntax());
/// assert_eq!(found[0].message, "'ana' is the name of an attribute, not a string");
/// assert!(traps::find(b"Owner == \"ana\"", Dialect::new_syntax()).is_empty());
/// ```
pub fn find(text: &[u8], dialect: Dialect) -> Vec<Trap> {
    let mut lexer = Lexer::new(text, dialect);
    let mut tokens = Vec::new();
    while !matches!(lexer.token.kind, Kind::End | Kind::Bad) {
        let token = lexer.token;
        tokens.push(Token { kind: token.kind, start: token.start, end: lexer.end(), integer: token.integer });
        lexer.advance();
    }
    let mut finder = Finder { text: lexer.source(), tokens: &tokens, traps: Vec::new() };
    for at in 0..tokens.len() {
        finder.look(at);
    }
    finder.traps
}

struct Token {
    kind: Kind,
    start: usize,
    end: usize,
    integer: i64,
}

struct Finder<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
    traps: Vec<Trap>,
}

impl Finder<'_> {
    fn kind(&self, at: usize) -> Kind {
        self.tokens.get(at).map_or(Kind::End, |token| token.kind)
    }

    fn before(&self, at: usize) -> Kind {
        at.checked_sub(1).map_or(Kind::End, |at| self.kind(at))
    }

    fn source(&self, at: usize) -> &[u8] {
        self.tokens.get(at).and_then(|token| self.text.get(token.start..token.end)).unwrap_or_default()
    }

    fn shown(&self, at: usize) -> String {
        String::from_utf8_lossy(self.source(at)).trim_end().to_owned()
    }

    fn add(&mut self, at: usize, message: String, hint: impl Into<String>) {
        let length = self.source(at).trim_ascii_end().len();
        let start = self.tokens[at].start;
        self.traps.push(Trap { span: Span::new(start, start + length), message, hint: hint.into() });
    }

    fn look(&mut self, at: usize) {
        match self.kind(at) {
            Kind::Identifier => self.identifier(at),
            Kind::Integer => {
                let digits = self.source(at).iter().any(|byte| matches!(byte, b'1'..=b'9'));
                if self.tokens[at].integer == 0 && digits && !self.source(at).contains(&b'x') {
                    let message = format!("{} does not fit 64 bits and counts as 0", self.shown(at));
                    self.add(at, message, "write it as a real, with a point or an exponent");
                }
            }
            Kind::Undefined => self.undefined(at),
            Kind::Elvis => self.elvis(at),
            _ => {}
        }
    }

    fn identifier(&mut self, at: usize) {
        let shown = self.shown(at);
        if self.source(at).first() == Some(&b'\'') {
            let compared = matches!(
                self.before(at),
                Kind::Equal
                    | Kind::NotEqual
                    | Kind::Is
                    | Kind::Isnt
                    | Kind::Less
                    | Kind::Greater
                    | Kind::LessEqual
                    | Kind::GreaterEqual
                    | Kind::Comma
                    | Kind::OpenParenthesis
                    | Kind::OpenBrace
            );
            if compared && self.kind(at + 1) != Kind::OpenParenthesis {
                let inner = shown.trim_matches('\'').to_owned();
                let message = format!("{shown} is the name of an attribute, not a string");
                self.add(at, message, format!("write \"{inner}\" for a string"));
            }
            return;
        }
        if self.kind(at + 1) == Kind::OpenParenthesis {
            if function_names::number(self.source(at)) == function_names::UNKNOWN {
                let hint = similar::nearest(&shown, function_names::function_names()).map_or_else(
                    || "the manual lists the functions".to_owned(),
                    |name| format!("did you mean {name}()?"),
                );
                self.add(at, format!("there is no function {shown}: the call is an error"), hint);
            }
            return;
        }
        let is_null = ["null", "nil", "none"].iter().any(|word| shown.eq_ignore_ascii_case(word));
        if is_null && self.before(at) != Kind::Selection && self.kind(at + 1) != Kind::Bound {
            let message = format!("{shown} is the name of an attribute like any other");
            self.add(at, message, "the word for a missing value is undefined");
        }
    }

    fn undefined(&mut self, at: usize) {
        let other = |kind: Kind| matches!(kind, Kind::Equal | Kind::NotEqual);
        let sign = if other(self.before(at)) {
            Some(at - 1)
        } else if other(self.kind(at + 1)) {
            Some(at + 1)
        } else {
            None
        };
        if let Some(sign) = sign {
            let (shown, better) = match self.kind(sign) {
                Kind::Equal => ("==", "=?="),
                _ => ("!=", "=!="),
            };
            let message = format!("`{shown} undefined` is undefined whatever stands on the other side");
            self.add(sign, message, format!("write `{better} undefined`"));
        }
        if self.kind(at + 1) == Kind::Elvis {
            let message = "`undefined ?: x` is x: `?:` binds tighter than any other operator".to_owned();
            self.add(at + 1, message, "put parentheses around what stands before it");
        }
    }

    /// `a ?: 1 + 1` is `(a ?: 1) + 1`.
    fn elvis(&mut self, at: usize) {
        let mut next = at + 1;
        let mut depth = 0usize;
        // Over the operand behind it: a name or literal with what hangs on it.
        while let Some(token) = self.tokens.get(next) {
            match token.kind {
                Kind::OpenParenthesis | Kind::OpenBox | Kind::OpenBrace => depth += 1,
                Kind::CloseParenthesis | Kind::CloseBox | Kind::CloseBrace if depth == 0 => return,
                Kind::CloseParenthesis | Kind::CloseBox | Kind::CloseBrace => depth -= 1,
                Kind::Identifier
                | Kind::Undefined
                | Kind::Error
                | Kind::Boolean
                | Kind::Integer
                | Kind::Real
                | Kind::String
                | Kind::Selection
                | Kind::Elvis => {}
                _ if depth > 0 => {}
                _ => break,
            }
            next += 1;
        }
        let binds = matches!(
            self.kind(next),
            Kind::Plus
                | Kind::Minus
                | Kind::Multiply
                | Kind::Divide
                | Kind::Modulus
                | Kind::Less
                | Kind::LessEqual
                | Kind::Greater
                | Kind::GreaterEqual
                | Kind::Equal
                | Kind::NotEqual
        );
        if binds && next > at + 1 {
            let sign = self.shown(next);
            let message = format!("`?:` binds tighter than `{sign}`: this is (... ?: ...) {sign} ...");
            self.add(at, message, "put parentheses around what belongs together");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        find(text.as_bytes(), Dialect::new_syntax()).into_iter().map(|trap| trap.message).collect()
    }

    #[test]
    fn the_usual_mistakes_are_seen() {
        for (text, part) in [
            ("x == 'a'", "is the name of an attribute"),
            ("x == undefined", "is undefined whatever"),
            ("undefined != x", "is undefined whatever"),
            ("x is undefined ?: 3", "binds tighter than any other"),
            ("a ?: 1 + 1", "binds tighter than `+`"),
            ("f.g[1] ?: size({1,2}) > 1", "binds tighter than `>`"),
            ("99999999999999999999", "counts as 0"),
            ("regexpp(\"a\", b)", "there is no function regexpp"),
            ("x is null", "like any other"),
        ] {
            let found = messages(text);
            assert!(found.len() == 1 && found[0].contains(part), "{text}: {found:?}");
        }
    }

    #[test]
    fn good_expressions_are_left_in_peace() {
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
