//! Classification of one line of a transform (`Parse_macros` of `config.cpp` in its submit form).
//!
//! The classification depends neither on the ad nor on the macros, so each line is classified once. Errors are only
//! reported when the line is executed, because an `if` around the line may skip it.

use bstr::{BString, ByteSlice};

use super::command::{self, CommandSyntaxError, TransformCommand};
use htc_base::text::space::{is_space, trim};

/// Kind of statement on a line.
#[derive(Clone, Debug, PartialEq)]
pub enum TransformStatement {
    /// A blank line or a comment.
    Blank,
    /// `if`, `elif`, `else`, `endif`: the `if` reader gets the whole line.
    Condition,
    /// A command, or the reason why it is not valid, which is reported when the line is reached.
    Command(Result<TransformCommand, CommandSyntaxError>),
    /// An assignment such as `name = value`.
    Assign(MacroAssignment),
    /// A directive: `use`, `include`, `error`, `warning`.
    Directive(ConfigDirective),
}

/// Macro assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroAssignment {
    /// Name before macro expansion.
    pub name: BString,
    /// Operator of the assignment.
    pub operator: AssignmentOperator,
    /// Rest of the line, or the tag of an `@=` block.
    pub value: BString,
    /// Offset of the value in the line.
    pub value_at: usize,
}

/// Operator of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentOperator {
    /// `=`: replaces the value.
    Replace,
    /// `+=`, or `+,=` and `+&&=` with a separator character that may be doubled: appends to the value.
    Append(Option<u8>, bool),
    /// `@=`: the value is the lines up to `@tag`.
    Block,
}

/// Configuration statement in a transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigDirective {
    /// `use`: always fails in a transform, because transforms have no templates.
    Use {
        /// Category, unexpanded.
        category: BString,
        /// Text after the colon.
        value: BString,
    },
    /// `include [options] : target`.
    Include {
        /// Words between `include` and the colon.
        options: BString,
        /// Target, unexpanded.
        target: BString,
    },
    /// `error : text`, unexpanded. A word before the colon is ignored.
    Error(BString),
    /// `warning : text`.
    Warning(BString),
}

/// Classifies one line. `text` begins at its first significant byte; a leading `:` has been removed.
pub fn split_statement(text: &[u8]) -> TransformStatement {
    if trim(text).is_empty() || text[0] == b'#' {
        return TransformStatement::Blank;
    }
    if is_if_line(text) {
        return TransformStatement::Condition;
    }
    let Some(name_end) = text.iter().position(|&b| is_space(b) || is_operator_byte(b)) else {
        return TransformStatement::Command(command::parse_command(text));
    };
    let name = &text[..name_end];
    let mut at = name_end + 1;
    let mut operator = Some((text[name_end], AssignmentOperator::Replace));
    let mut operator_at = name_end;
    let mut word_before = false;
    if !is_operator_byte(text[name_end]) {
        at = skip_space(text, at);
        word_before = at < text.len() && !is_operator_byte(text[at]) && !matches!(text[at], b'@' | b'+');
        while at < text.len() && !is_operator_byte(text[at]) && !matches!(text[at], b'@' | b'+') {
            at += 1;
        }
        operator_at = at;
        operator = read_operator(text, &mut at);
    }
    let value_at = skip_space(text, at);
    let value = &text[value_at..];
    let colon = matches!(operator, Some((b':', _)));
    let bare = name.strip_prefix(b"@").unwrap_or(name);
    if colon {
        let words = || trim(&text[(name_end).min(operator_at)..operator_at]);
        if bare.eq_ignore_ascii_case(b"include") {
            let options = BString::from(words());
            return TransformStatement::Directive(ConfigDirective::Include {
                options,
                target: trim(value).into(),
            });
        }
        if bare.eq_ignore_ascii_case(b"use") {
            // Without a space before the colon, the reference reads the rest of the line as the category.
            let category = match words() {
                b"" => b"",
                words if text[..operator_at].last().is_some_and(|&b| is_space(b)) => words,
                _ => &text[skip_space(text, name_end)..],
            };
            return TransformStatement::Directive(ConfigDirective::Use {
                category: category.into(),
                value: value.into(),
            });
        }
        if bare.eq_ignore_ascii_case(b"error") {
            return TransformStatement::Directive(ConfigDirective::Error(value.into()));
        }
        if bare.eq_ignore_ascii_case(b"warning") {
            return TransformStatement::Directive(ConfigDirective::Warning(value.into()));
        }
    }
    match operator {
        Some((b'=' | b'@' | b'+', append)) if !word_before && !name.eq_ignore_ascii_case(b"queue") => {
            TransformStatement::Assign(MacroAssignment {
                name: name.into(),
                operator: append,
                value: value.into(),
                value_at,
            })
        }
        _ => TransformStatement::Command(command::parse_command(text)),
    }
}

/// Returns true if the reference reports an invalid command as a syntax error: the first word is followed by an
/// operator or the end of the line, so that the reference first reads the line as an assignment.
pub(super) fn is_reported_as_syntax_error(text: &[u8]) -> bool {
    let Some(name_end) = text.iter().position(|&b| is_space(b) || is_operator_byte(b)) else { return false };
    let at = skip_space(text, name_end);
    is_operator_byte(text[name_end])
        || text.get(at).is_none_or(|&b| is_operator_byte(b) || matches!(b, b'@' | b'+'))
}

/// Returns true if the first word belongs to the `if` family.
fn is_if_line(text: &[u8]) -> bool {
    let word = &text[..text.iter().position(|&b| is_space(b)).unwrap_or(text.len())];
    [&b"if"[..], b"elif", b"else", b"endif"].iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn is_operator_byte(byte: u8) -> bool {
    matches!(byte, b'=' | b':')
}

fn skip_space(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|&&b| is_space(b)).count()
}

/// Reads the operator at `at` and moves `at` after it: `=`, `:`, `@=`, `+=`, `+S=`, `+SS=`.
fn read_operator(text: &[u8], at: &mut usize) -> Option<(u8, AssignmentOperator)> {
    let first = *text.get(*at)?;
    *at += 1;
    let mut append = AssignmentOperator::Replace;
    match first {
        b'@' => append = AssignmentOperator::Block,
        b'+' => {
            let separator = text.get(*at).copied().filter(|b| b",;|&*".contains(b));
            let mut doubled = false;
            if separator.is_some() {
                *at += 1;
                doubled = text.get(*at).copied() == separator;
                *at += usize::from(doubled);
            }
            append = AssignmentOperator::Append(separator, doubled);
        }
        _ => return Some((first, append)),
    }
    if text.get(*at) == Some(&b'=') {
        *at += 1;
        return Some((first, append));
    }
    None
}

/// Returns true if the name is valid in an assignment: letters, digits, `_`, `.` and `/`.
pub fn is_macro_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/'))
}

/// Returns true if the text is the last line of an `@=` block with this tag.
pub fn is_block_end(line: &[u8], tag: &[u8]) -> bool {
    line.strip_prefix(b"@").is_some_and(|rest| rest.as_bstr() == tag.as_bstr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(text: &str) -> Option<(String, AssignmentOperator, String)> {
        match split_statement(text.as_bytes()) {
            TransformStatement::Assign(a) => Some((a.name.to_string(), a.operator, a.value.to_string())),
            _ => None,
        }
    }

    #[test]
    fn assignments_are_distinguished_from_commands() {
        assert_eq!(assigned("V = a b"), Some(("V".into(), AssignmentOperator::Replace, "a b".into())));
        assert_eq!(assigned("SET=5"), Some(("SET".into(), AssignmentOperator::Replace, "5".into())));
        assert_eq!(
            assigned("V +&&= x"),
            Some(("V".into(), AssignmentOperator::Append(Some(b'&'), true), "x".into()))
        );
        assert_eq!(assigned("V @=end"), Some(("V".into(), AssignmentOperator::Block, "end".into())));
        assert_eq!(assigned("V+= b"), Some(("V+".into(), AssignmentOperator::Replace, "b".into())));
        assert!(assigned("SET A = 5").is_none());
        assert!(assigned("queue = 1").is_none());
    }

    #[test]
    fn directives_need_a_colon() {
        assert_eq!(
            split_statement(b"use ROLE : Submit"),
            TransformStatement::Directive(ConfigDirective::Use {
                category: "ROLE".into(),
                value: "Submit".into()
            })
        );
        assert!(is_reported_as_syntax_error(b"BOGUS: x") && is_reported_as_syntax_error(b"A @ b"));
        assert!(!is_reported_as_syntax_error(b"BOGUS x") && !is_reported_as_syntax_error(b"BOGUS"));
        assert_eq!(
            split_statement(b"@include ifexist : a b"),
            TransformStatement::Directive(ConfigDirective::Include {
                options: "ifexist".into(),
                target: "a b".into()
            })
        );
        assert!(matches!(
            split_statement(b"V : 5"),
            TransformStatement::Command(Err(CommandSyntaxError::UnknownKeyword(_)))
        ));
        assert!(assigned("include = 5").is_some());
    }

    #[test]
    fn an_at_sign_without_equals_is_a_command() {
        assert!(matches!(split_statement(b"X @foo"), TransformStatement::Command(Err(_))));
        assert!(matches!(split_statement(b"SET X := 1"), TransformStatement::Command(Ok(_))));
    }
}
