//! Table of commands and the tokenizer for their arguments (`tokener.cpp`, `ParseRulesCallback` of
//! `xform_utils.cpp`).

use bstr::BString;

use htc_base::text::similar_names::nearest;
use htc_base::text::{caseless, words};

words! {
    /// Keyword of a command. NAME, REQUIREMENTS and UNIVERSE occur here only if loading left them in the
    /// text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "each is the command of that name in the manual")]
    pub enum CommandKeyword.name {
        Copy => "COPY",
        Default => "DEFAULT",
        Delete => "DELETE",
        EvalMacro => "EVALMACRO",
        EvalSet => "EVALSET",
        Name => "NAME",
        Rename => "RENAME",
        Requirements => "REQUIREMENTS",
        Set => "SET",
        Transform => "TRANSFORM",
        Universe => "UNIVERSE",
    }
}

impl CommandKeyword {
    /// Returns the keyword with this name, ignoring case, or `None`.
    pub fn parse(word: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|keyword| caseless::eq(word, keyword.name().as_bytes()))
    }

    /// Returns all names, for suggestions.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    fn takes_value(self) -> bool {
        use CommandKeyword::{Copy, Default, EvalMacro, EvalSet, Rename, Set};
        matches!(self, Set | EvalSet | Default | EvalMacro | Copy | Rename)
    }

    fn takes_pattern(self) -> bool {
        matches!(self, CommandKeyword::Copy | CommandKeyword::Rename | CommandKeyword::Delete)
    }
}

/// Command of a transform before macro expansion.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformCommand {
    /// Keyword of the command.
    pub keyword: CommandKeyword,
    /// First argument, or `None` for a bare TRANSFORM.
    pub attribute: Option<CommandAttribute>,
    /// Rest of the line before macro expansion. For commands with one argument, the rest begins at that argument.
    pub value: BString,
    /// Offset of `value` in the line.
    pub value_at: usize,
    /// Offset of the attribute in the line.
    pub attribute_at: usize,
}

impl TransformCommand {
    /// Returns the command without effect, a bare TRANSFORM.
    pub(super) fn no_op() -> Self {
        let (value_at, attribute_at) = (0, 0);
        TransformCommand {
            keyword: CommandKeyword::Transform,
            attribute: None,
            value: BString::default(),
            value_at,
            attribute_at,
        }
    }
}

/// First argument of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandAttribute {
    /// Name as written, without quotes. `trailing` is a `,` or `=` directly after the name. The reference replaces this
    /// character by a NUL byte that becomes part of the name; this parser removes the character, as the reference
    /// intended.
    Name {
        /// Name of the attribute or macro.
        name: BString,
        /// The character that was removed after the name, or `None`.
        trailing: Option<u8>,
    },
    /// Pattern `/regex/flags`.
    Pattern(AttributePattern),
}

/// Pattern for attribute names. Matching always ignores case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttributePattern {
    /// Text between the slashes.
    pub regex: BString,
    /// Flag `g`: the pattern matches only at the start of the name, because `g` has the number of PCRE2's ANCHORED in
    /// the reference.
    pub anchored: bool,
    /// Flag `m`: multi-line mode.
    pub multi_line: bool,
    /// Flag `U`: ungreedy mode.
    pub ungreedy: bool,
}

/// Reason why a line is not a valid command. The transform fails when it reaches the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandSyntaxError {
    /// The first word is not a valid keyword.
    #[error("{0} is not a valid transform keyword")]
    UnknownKeyword(BString),
    /// The argument after the keyword is missing.
    #[error("{} needs an argument", .0.name())]
    NoArgument(CommandKeyword),
    /// The argument after the attribute is missing.
    #[error("{} needs 2 arguments", .0.name())]
    OneArgument(CommandKeyword),
    /// A pattern has no second slash, or an unknown flag.
    #[error("invalid regex")]
    BadPattern,
}

/// Parses a line as a command.
pub(super) fn parse_command(line: &[u8]) -> Result<TransformCommand, CommandSyntaxError> {
    let mut tokens = TokenCursor { line, next: 0 };
    let Some(word) = tokens.next_token() else {
        return Err(CommandSyntaxError::UnknownKeyword(BString::default()));
    };
    // The line splitter does not recognize an indented comment in the last line of a file without a final newline.
    if word.text == b"#" {
        return Ok(TransformCommand::no_op());
    }
    let Some(keyword) = CommandKeyword::parse(word.text) else {
        return Err(CommandSyntaxError::UnknownKeyword(word.text.into()));
    };
    let Some(first) = tokens.next_token() else {
        let (attribute_at, value_at) = (line.len(), line.len());
        let bare =
            TransformCommand { keyword, attribute: None, value: BString::default(), value_at, attribute_at };
        return if keyword == CommandKeyword::Transform {
            Ok(bare)
        } else {
            Err(CommandSyntaxError::NoArgument(keyword))
        };
    };
    let attribute_at = first.at;
    let attribute = if keyword.takes_pattern() && line.get(first.at) == Some(&b'/') {
        CommandAttribute::Pattern(tokens.parse_pattern(first.at)?)
    } else {
        let (name, trailing) = match first.text {
            [name @ .., last @ (b',' | b'=')] => (name, Some(*last)),
            name => (name, None),
        };
        CommandAttribute::Name { name: name.into(), trailing }
    };
    let mut current = first;
    if keyword.takes_value() {
        let missing = CommandSyntaxError::OneArgument(keyword);
        current = tokens.next_token().ok_or(missing.clone())?;
        if matches!(current.text, b"=" | b",") {
            current = tokens.next_token().ok_or(missing)?;
        }
    }
    let value_at = current.at - usize::from(current.quoted);
    Ok(TransformCommand {
        keyword,
        attribute: Some(attribute),
        value: line[value_at..].into(),
        value_at,
        attribute_at,
    })
}

/// Cursor over the words of a line.
struct TokenCursor<'a> {
    line: &'a [u8],
    next: usize,
}

struct Token<'a> {
    text: &'a [u8],
    /// Offset of the text, after the opening quote if it is quoted.
    at: usize,
    quoted: bool,
}

impl<'a> TokenCursor<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        let rest = self.line.get(self.next..)?;
        let at = self.next + rest.iter().position(|b| !b" \t\r\n".contains(b))?;
        let first = self.line[at];
        if matches!(first, b'"' | b'\'') {
            let at = at + 1;
            let end = memchr::memchr(first, &self.line[at..]).map(|length| at + length);
            self.next = end.map_or(self.line.len(), |end| end + 1);
            let text = &self.line[at..end.unwrap_or(self.line.len())];
            return Some(Token { text, at, quoted: true });
        }
        let length = self.line[at..].iter().position(|b| b" \t\r\n".contains(b));
        self.next = length.map_or(self.line.len(), |length| at + length);
        Some(Token { text: &self.line[at..self.next], at, quoted: false })
    }

    /// Parses the pattern whose first slash is at `at` and moves after its flags.
    fn parse_pattern(&mut self, at: usize) -> Result<AttributePattern, CommandSyntaxError> {
        let body = at + 1;
        let end = memchr::memchr(b'/', &self.line[body..]).ok_or(CommandSyntaxError::BadPattern)? + body;
        let mut pattern =
            AttributePattern { regex: self.line[body..end].into(), ..AttributePattern::default() };
        self.next = end + 1;
        while let Some(flag) = self.line.get(self.next).filter(|b| !b" \t\r\n".contains(b)) {
            match flag {
                b'i' => {}
                b'g' => pattern.anchored = true,
                b'm' => pattern.multi_line = true,
                b'U' => pattern.ungreedy = true,
                _ => return Err(CommandSyntaxError::BadPattern),
            }
            self.next += 1;
        }
        Ok(pattern)
    }
}

/// Returns the valid command that is most similar to a misspelled word, or `None`.
pub fn nearest_command(word: &[u8]) -> Option<&'static str> {
    nearest(word, CommandKeyword::names())
}

/// Returns a suggestion for a word that is not a valid command.
pub fn command_hint(word: &[u8]) -> String {
    let list = "the commands are COPY, DEFAULT, DELETE, EVALMACRO, EVALSET, RENAME and SET";
    nearest_command(word).map_or_else(|| list.to_owned(), |name| format!("did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str) -> String {
        parse_command(line.as_bytes())
            .map(|command| command.value.to_string())
            .unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn the_value_is_the_rest_of_the_line() {
        assert_eq!(value("SET X 1 + 2"), "1 + 2");
        assert_eq!(value("SET X = \"a b\" c"), "\"a b\" c");
        assert_eq!(value("SET X =1"), "=1");
        assert_eq!(value("COPY A Z Q"), "Z Q");
        assert_eq!(value("SET X"), "SET needs 2 arguments");
        assert_eq!(value("SET X ="), "SET needs 2 arguments");
        assert_eq!(value("SETT X 1"), "SETT is not a valid transform keyword");
    }

    #[test]
    fn patterns_end_at_the_next_slash() {
        let command = parse_command(b"RENAME /a b(.)/mU \\1").map(|c| c.attribute);
        let pattern =
            AttributePattern { regex: "a b(.)".into(), multi_line: true, ungreedy: true, anchored: false };
        assert_eq!(command, Ok(Some(CommandAttribute::Pattern(pattern))));
        assert_eq!(parse_command(b"COPY /x/, new"), Err(CommandSyntaxError::BadPattern));
        assert_eq!(parse_command(b"DELETE /x"), Err(CommandSyntaxError::BadPattern));
        assert!(matches!(
            parse_command(b"SET /x/ 1").map(|c| c.attribute),
            Ok(Some(CommandAttribute::Name { .. }))
        ));
    }

    #[test]
    fn a_trailing_comma_is_not_part_of_the_name() {
        let Ok(command) = parse_command(b"SET X, 1") else { panic!("a command") };
        assert_eq!(
            command.attribute,
            Some(CommandAttribute::Name { name: "X".into(), trailing: Some(b',') })
        );
    }
}
