//! Mistakes in commands: SET, COPY and the others.

use bstr::{BString, ByteSlice};

use super::command::{Attribute, Command, CommandError, Keyword};
use super::lint::{Lint, Severity, command_hint, find_scope};
use super::pattern;
use super::rules::{Line, trim};
use crate::classad::{Dialect, Expr, traps};
use crate::text::Span;

/// What has to stand behind a command.
fn wanted(keyword: Keyword) -> &'static str {
    match keyword {
        Keyword::Copy | Keyword::Rename => "give an attribute or /regex/ and a new name",
        Keyword::Delete => "give one attribute or /regex/",
        Keyword::Default | Keyword::EvalSet | Keyword::Set => "give an attribute and a value",
        Keyword::EvalMacro => "give a macro and an expression",
        Keyword::Name => "give a name",
        Keyword::Requirements => "give an expression",
        Keyword::Transform => "give what to iterate over",
        Keyword::Universe => "give a universe",
    }
}

impl Lint<'_> {
    pub(super) fn not_a_command(&mut self, line: &Line, error: &CommandError) {
        let text = line.text.as_bstr();
        let word_end = text.iter().position(|&b| super::rules::is_space(b)).unwrap_or(text.len());
        let (at, fix) = match error {
            CommandError::UnknownKeyword(word) => ((0, word_end), command_hint(word).unwrap_or_default()),
            CommandError::NoArgument(keyword) | CommandError::OneArgument(keyword) => {
                ((0, text.len()), wanted(*keyword).to_owned())
            }
            CommandError::BadPattern => (
                (word_end, text.len()),
                "a pattern is /regex/ with flags i, m, U or g directly behind it, then a blank".to_owned(),
            ),
        };
        self.add(("command", Severity::Error), line, at, format!("{error}, the transform fails"), fix);
    }

    pub(super) fn command(&mut self, line: &Line, command: &Command, depth: usize) {
        let value_at = (command.value_at, line.text.len());
        self.quoting(line, command);
        match &command.attribute {
            None => {}
            Some(Attribute::Pattern(found)) => {
                let at = (command.attribute_at, command.attribute_at + found.regex.len() + 2);
                if let Err(error) = pattern::compile(found) {
                    let message = format!("{error}; the statement is ignored");
                    self.add(
                        ("regex", Severity::Warning),
                        line,
                        at,
                        message,
                        "correct the regular expression",
                    );
                }
                if found.anchored {
                    let message = "the flag 'g' does not repeat anything, in 25.14 it makes the pattern match at the start of a name only";
                    let fix = "write '^' where that is meant, and leave the 'g' out: every attribute that matches is taken";
                    self.add(("regex", Severity::Warning), line, at, message, fix);
                }
                if found.regex.ends_with(b"\\") {
                    let message = "'\\/' does not escape, the pattern ends at its slash";
                    self.add(
                        ("regex", Severity::Warning),
                        line,
                        at,
                        message,
                        "write '.' or '\\x2f' for a slash",
                    );
                }
                self.written.clear();
            }
            Some(Attribute::Name { name, trailing }) => {
                let at = (command.attribute_at, command.attribute_at + name.len());
                if let Some(character) = trailing {
                    let character = char::from(*character);
                    let message = format!(
                        "25.14 makes the '{character}' part of the name, as a NUL byte; the output is cut there"
                    );
                    let place = (at.1, at.1 + 1);
                    self.add(
                        ("trailing", Severity::Warning),
                        line,
                        place,
                        message,
                        format!("put a blank before '{character}'"),
                    );
                }
                self.attribute(line, command, name, at);
                self.overwritten(line, command, name, at, depth);
            }
        }
        if matches!(command.keyword, Keyword::Copy | Keyword::Rename)
            && !command.value.contains(&b'$')
            && !command.value.contains(&b'\\')
            && !pattern::is_attribute_name(&command.value)
        {
            let message = format!("'{}' is no attribute name, nothing is done", command.value);
            let fix = "a new name is a letter or '_' followed by letters, digits and '_', without quotes";
            self.add(("new-name", Severity::Warning), line, value_at, message, fix);
        }
        self.expression(line, command);
    }

    fn attribute(&mut self, line: &Line, command: &Command, name: &BString, at: (usize, usize)) {
        if name.contains(&b'$') && command.keyword != Keyword::EvalMacro {
            let message = "macros are not expanded in the attribute's name";
            let fix = "write the name itself, or use a pattern with COPY and RENAME";
            self.add(("name-macro", Severity::Warning), line, at, message, fix);
        } else if command.keyword != Keyword::EvalMacro && !pattern::is_attribute_name(name) {
            let starts = name.first() == Some(&b'/');
            let message = format!("'{name}' is no attribute name; what is stored cannot be read back");
            let fix = if starts {
                "patterns work with COPY, RENAME and DELETE only"
            } else {
                "use letters, digits and '_'"
            };
            self.add(("name", Severity::Warning), line, at, message, fix);
        }
    }

    /// A SET whose attribute is set again before anything could have looked at it.
    fn overwritten(
        &mut self,
        line: &Line,
        command: &Command,
        name: &BString,
        at: (usize, usize),
        depth: usize,
    ) {
        let key = name.to_ascii_lowercase();
        // A macro may read any attribute.
        if command.value.contains(&b'$') {
            self.written.clear();
        }
        for word in command.value.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')) {
            self.written.remove(&word.to_ascii_lowercase());
        }
        match command.keyword {
            Keyword::Set | Keyword::EvalSet | Keyword::Delete => {
                if let Some((before, place, at_depth)) = self.written.remove(&key)
                    && at_depth == depth
                {
                    let message = format!("dead statement: {name} is changed again on line {}", line.number);
                    self.add(("dead", Severity::Warning), &before, place, message, "remove one of the two");
                }
                if command.keyword != Keyword::Delete {
                    self.written.insert(key, (line.clone(), at, depth));
                }
            }
            Keyword::Default => {
                if let Some((before, ..)) = self.written.get(&key) {
                    let message = format!("dead statement: {name} was set on line {}", before.number);
                    self.add(
                        ("dead", Severity::Warning),
                        line,
                        at,
                        message,
                        "remove it, or put it before the SET",
                    );
                }
            }
            _ => {
                self.written.remove(&key);
            }
        }
    }

    fn expression(&mut self, line: &Line, command: &Command) {
        let offset = command.value_at;
        let place = |at: Span| (offset + at.start as usize, offset + at.end as usize);
        let constant = !command.value.contains(&b'$');
        let parsed = match command.keyword {
            Keyword::Set | Keyword::Default if constant => {
                Expr::parse_with(&command.value, Dialect::old_syntax()).map(|expr| (expr, None))
            }
            Keyword::EvalSet | Keyword::EvalMacro if constant => {
                Expr::parse_prefix(&command.value, Dialect::new_syntax()).map(|(expr, end)| (expr, Some(end)))
            }
            _ => return,
        };
        match parsed {
            Err(error) => {
                let remark = command.value.find(b" #").map(|hash| (offset + hash + 1, line.text.len()));
                let (at, fix) = match remark {
                    Some(at) => (at, "put the remark on a line of its own"),
                    None => (place(error.span), "correct the expression"),
                };
                let message = format!("{error}; {} does nothing", command.keyword.name());
                self.add(("expression", Severity::Warning), line, at, message, fix);
            }
            Ok((_, end)) => {
                let (text, dialect) = match end {
                    None => (&command.value[..], Dialect::old_syntax()),
                    Some(end) => (&command.value[..end], Dialect::new_syntax()),
                };
                self.traps(line, text, offset, dialect);
                if let Some(end) = end.filter(|&end| !trim(&command.value[end..]).is_empty()) {
                    let at = (offset + end, line.text.len());
                    let message = "reads as far as it parses, the rest is ignored without a word";
                    self.add(
                        ("rest-ignored", Severity::Warning),
                        line,
                        at,
                        message,
                        "remove it, or join it with an operator",
                    );
                }
                if let Some(target) = find_scope(&command.value, "target")
                    && matches!(command.keyword, Keyword::EvalSet | Keyword::EvalMacro)
                {
                    let at = (offset + target, offset + target + 7);
                    let message = "TARGET. is undefined here, there is one ad";
                    self.add(
                        ("scope", Severity::Warning),
                        line,
                        at,
                        message,
                        "write the attribute's name without 'TARGET.'",
                    );
                }
            }
        }
    }

    /// What an expression says that is rarely meant: `'a'` for a string, functions that do not exist. It stands at an
    /// offset of the line.
    pub(super) fn traps(&mut self, line: &Line, text: &[u8], offset: usize, dialect: Dialect) {
        for trap in traps::find(text, dialect) {
            let at = (offset + trap.span.start as usize, offset + trap.span.end as usize);
            self.add(("trap", Severity::Warning), line, at, trap.message, trap.hint);
        }
    }

    /// Quotes that do not do what they seem to.
    fn quoting(&mut self, line: &Line, command: &Command) {
        let offset = command.value_at;
        let value = &command.value;
        let sets = matches!(
            command.keyword,
            Keyword::Set | Keyword::Default | Keyword::EvalSet | Keyword::EvalMacro
        );
        if !sets {
            return;
        }
        if value.len() > 1 && value.starts_with(b"'") && value.ends_with(b"'") {
            let message = "single quotes make an attribute's name, not a string";
            let fix = format!("write \"{}\"", value[1..value.len() - 1].as_bstr());
            self.add(("quotes", Severity::Warning), line, (offset, line.text.len()), message, fix);
        }
        let quotes =
            value.iter().enumerate().filter(|&(at, &b)| b == b'"' && (at == 0 || value[at - 1] != b'\\'));
        if quotes.count() % 2 == 1 {
            let message = "a quotation mark is missing";
            self.add(("quotes", Severity::Warning), line, (offset, line.text.len()), message, "add it");
        }
    }
}
