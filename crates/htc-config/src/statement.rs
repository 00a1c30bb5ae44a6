//! Splits one logical line into name, operator and value (`config.cpp`, `Parse_macros`).

use htc_base::text::caseless;
use htc_base::text::space::{is_space, trim, trim_end, trim_start};

pub use crate::lines::{CommentMode, LogicalLine, LogicalLines};

/// Operator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementOperator {
    /// `=`
    Equal,
    /// `:`
    Colon,
    /// `+=`, `+,=`, `+&&=`: appends to the current value.
    Append {
        /// The character between `+` and `=`, one of `,;|&*`.
        separator: Option<u8>,
        /// True if the character is doubled.
        doubled: bool,
    },
    /// `@=`: the value is on the following lines.
    Here,
}

/// A line with an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitLine<'a> {
    /// The first word.
    pub name: &'a [u8],
    /// Text between the first word and the operator, trimmed; usually empty.
    pub words: &'a [u8],
    /// The operator.
    pub operator: StatementOperator,
    /// The text after the operator, without leading white space.
    pub value: &'a [u8],
    /// Offset of the operator's first character in the line.
    pub operator_at: usize,
}

/// A line without an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineWithoutOperator {
    /// `[section]`, which is ignored.
    Section,
    /// An error, with the offset where an operator was expected.
    Missing(usize),
}

/// Splits a line that is not blank, not a comment and not of the `if` family.
pub fn split_line(line: &[u8]) -> Result<SplitLine<'_>, LineWithoutOperator> {
    let name_end = line.iter().position(|&b| is_space(b) || b == b'=' || b == b':');
    let Some(name_end) = name_end else {
        return Err(match line.first() {
            Some(b'[') => LineWithoutOperator::Section,
            _ => LineWithoutOperator::Missing(line.len()),
        });
    };
    let name = &line[..name_end];
    let mut at = name_end;
    if is_space(line[at]) {
        // Text before the first of `= : @ +` is dropped without a message.
        at = match line[at..].iter().position(|&b| matches!(b, b'=' | b':' | b'@' | b'+')) {
            Some(offset) => at + offset,
            None => return Err(LineWithoutOperator::Missing(trim_end(line).len())),
        };
    }
    let operator_at = at;
    let (operator, length) = read_operator(&line[at..]).ok_or(LineWithoutOperator::Missing(at))?;
    let words = trim(&line[name_end..operator_at]);
    Ok(SplitLine { name, words, operator, value: trim_start(&line[at + length..]), operator_at })
}

/// Returns the operator at the start of `text`, and its length.
fn read_operator(text: &[u8]) -> Option<(StatementOperator, usize)> {
    match text.first()? {
        b'=' => Some((StatementOperator::Equal, 1)),
        b':' => Some((StatementOperator::Colon, 1)),
        b'@' => (text.get(1) == Some(&b'=')).then_some((StatementOperator::Here, 2)),
        b'+' => {
            let separator = text.get(1).copied().filter(|b| b",;|&*".contains(b));
            let doubled = separator.is_some() && text.get(2).copied() == separator;
            let length = 1 + usize::from(separator.is_some()) + usize::from(doubled);
            let operator = StatementOperator::Append { separator, doubled };
            (text.get(length) == Some(&b'=')).then_some((operator, length + 1))
        }
        _ => None,
    }
}

/// Splits a line of a template (`config.cpp`, `Parse_config_string`). Unlike in files, the value may follow
/// the name without an operator, which is then `None`. A line with neither value nor operator is not valid.
pub(crate) fn split_template_line(line: &[u8]) -> Option<(&[u8], Option<StatementOperator>, &[u8])> {
    let is_operator = |b: u8| matches!(b, b'=' | b':');
    let name_end = line.iter().position(|&b| is_space(b) || is_operator(b)).unwrap_or(line.len());
    let name = &line[..name_end];
    let mut last_operator = match line.get(name_end) {
        Some(b'=') => Some(StatementOperator::Equal),
        Some(b':') => Some(StatementOperator::Colon),
        _ => None,
    };
    let mut at = (name_end + 1).min(line.len());
    while let Some(&byte) = line.get(at) {
        let length = match byte {
            b'@' | b'+' => match read_operator(&line[at..]) {
                Some((operator, length)) => {
                    last_operator = Some(operator);
                    length
                }
                None => {
                    last_operator = None;
                    break;
                }
            },
            byte if is_operator(byte) => {
                if matches!(last_operator, Some(StatementOperator::Equal | StatementOperator::Colon)) {
                    last_operator = None;
                    break;
                }
                last_operator =
                    Some(if byte == b'=' { StatementOperator::Equal } else { StatementOperator::Colon });
                1
            }
            byte if is_space(byte) => 1,
            _ => break,
        };
        at += length;
    }
    let value = trim_start(&line[at.min(line.len())..]);
    let is_statement =
        at < line.len() || matches!(last_operator, Some(StatementOperator::Equal | StatementOperator::Colon));
    is_statement.then_some((name, last_operator, value))
}

/// The words that form a statement with a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKeyword {
    /// `include : FILE`
    Include,
    /// `use CATEGORY : NAME`
    Use,
    /// `error : TEXT`
    Error,
    /// `warning : TEXT`
    Warning,
}

/// Returns the keyword of a line whose operator is a colon. A leading `@` makes no difference; it hid the
/// line from very old versions.
pub fn statement_keyword(split: &SplitLine<'_>) -> Option<StatementKeyword> {
    if split.operator != StatementOperator::Colon {
        return None;
    }
    let name = split.name.strip_prefix(b"@").unwrap_or(split.name);
    let known: [(&[u8], StatementKeyword); 4] = [
        (b"include", StatementKeyword::Include),
        (b"use", StatementKeyword::Use),
        (b"error", StatementKeyword::Error),
        (b"warning", StatementKeyword::Warning),
    ];
    known.iter().find(|(word, _)| caseless::eq(word, name)).map(|&(_, keyword)| keyword)
}

/// Words between `include` and its colon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncludeOptions<'a> {
    /// `ifexist`: a target that cannot be opened is skipped.
    pub if_exists: bool,
    /// `command` or `output`: the target is a command.
    pub command: bool,
    /// `into FILE`: the file in which the output is stored.
    pub into: Option<&'a [u8]>,
}

/// Parses the words after `include` (`parse_include_options`). The error says what is missing, or is empty.
pub fn parse_include_options(words: &[u8]) -> Result<IncludeOptions<'_>, &'static str> {
    let mut words = words.split(|&b| b == b' ' || b == b'\t').filter(|word| !word.is_empty());
    let mut options = IncludeOptions::default();
    let Some(mut word) = words.next() else {
        return Ok(options);
    };
    if word == b"ifexist" || word == b"ifexists" {
        options.if_exists = true;
        match words.next() {
            Some(next) => word = next,
            None => return Ok(options),
        }
    }
    if word != b"command" && word != b"output" {
        return Err("");
    }
    options.command = true;
    if words.next() == Some(b"into") {
        options.into = Some(words.next().ok_or("expected filename after keyword 'into'")?);
    }
    Ok(options)
}

/// Returns true if a name is not empty and all its characters are allowed (`is_valid_param_name`).
pub fn is_valid_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| is_name_byte(byte))
}

/// Returns true for letters, digits, `_`, `.` and `/`.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/')
}

/// Returns the value of `NAME += text`: the current raw value, the separator, the text.
pub fn appended_value(current: &[u8], operator: StatementOperator, text: &[u8]) -> Vec<u8> {
    let mut joined = current.to_vec();
    match operator {
        StatementOperator::Append { separator: Some(byte), doubled: true } => {
            joined.extend_from_slice(&[b' ', byte, byte, b' ']);
        }
        StatementOperator::Append { separator: Some(byte), doubled: false } => joined.push(byte),
        StatementOperator::Append { separator: None, .. }
        | StatementOperator::Equal
        | StatementOperator::Colon
        | StatementOperator::Here => {
            joined.push(b' ');
        }
    }
    joined.extend_from_slice(text);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> String {
        match split_line(line.as_bytes()) {
            Ok(s) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                format!("{}|{}|{:?}|{}", text(s.name), text(s.words), s.operator, text(s.value))
            }
            Err(none) => format!("{none:?}"),
        }
    }

    #[test]
    fn lines_are_split_as_the_reference_splits_them() {
        assert_eq!(parts("A=1"), "A||Equal|1");
        assert_eq!(parts("A junk words = v"), "A|junk words|Equal|v");
        assert_eq!(parts("A == 2"), "A||Equal|= 2");
        assert_eq!(parts("A := 2"), "A||Colon|= 2");
        assert_eq!(parts("A @=end x"), "A||Here|end x");
        assert_eq!(parts("A +&&= 2"), "A||Append { separator: Some(38), doubled: true }|2");
        assert_eq!(parts("A+=1"), "A+||Equal|1");
        for bad in ["A", "A B", "A + = 1", "A @ = 1", "A +# = 2", ";c", "if(true)"] {
            assert!(split_line(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(parts("[section]"), "Section");
    }

    #[test]
    fn options_of_include() {
        assert_eq!(parse_include_options(b"ifexist command into F junk").unwrap().into, Some(&b"F"[..]));
        assert!(parse_include_options(b"command foo").unwrap().command);
        assert_eq!(parse_include_options(b"foo"), Err(""));
        assert!(parse_include_options(b"command into").is_err());
    }
}
