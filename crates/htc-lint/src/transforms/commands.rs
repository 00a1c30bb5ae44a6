//! Mistakes in commands: SET, COPY and the others.

use bstr::{BString, ByteSlice};

use crate::transforms::finding::Lint;
use htc_base::text::space::trim;
use htc_classad::{Dialect, Expr, ParseError, traps};
use htc_transform::Line;
use htc_transform::pattern;
use htc_transform::scope_use::find_scope;
use htc_transform::{Attribute, Command, CommandError, Keyword, Pattern, command_hint};

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
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
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
        self.fails("command", (line, at), format!("{error}, the transform fails"), fix);
    }

    pub(super) fn command(&mut self, line: &Line, command: &Command, depth: usize) {
        let value_at = (command.value_at, line.text.len());
        if matches!(command.keyword, Keyword::Name | Keyword::Requirements | Keyword::Universe) {
            let message = format!("this is no {0} statement, it does nothing", command.keyword.name());
            let fix = format!("put nothing between {} and what it says", command.keyword.name());
            self.warn("statement", (line, (0, line.text.len())), message, fix);
            return;
        }
        match &command.attribute {
            None => {}
            Some(Attribute::Pattern(found)) => {
                self.pattern(line, command, found);
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
                    self.warn(
                        "trailing",
                        (line, place),
                        message,
                        format!("put a blank before '{character}'"),
                    );
                }
                self.attribute((line, at), command, name);
                self.overwritten((line, at), command, name, depth);
            }
        }
        if matches!(command.keyword, Keyword::Copy | Keyword::Rename)
            && !command.value.contains(&b'$')
            && !may_be_name(command)
        {
            let message = format!("'{}' is no attribute name, nothing is done", command.value);
            let fix = "a new name is a letter or '_' followed by letters, digits and '_', without quotes";
            self.warn("new-name", (line, value_at), message, fix);
        }
        self.expression(line, command);
    }

    /// References of a new name to groups that the pattern does not have.
    fn groups(&mut self, line: &Line, command: &Command, groups: usize) {
        for (at, pair) in command.value.windows(2).enumerate() {
            let number = usize::from(pair[1].wrapping_sub(b'0'));
            if pair[0] == b'\\' && number < 10 && number > groups {
                let place = (command.value_at + at, command.value_at + at + 2);
                let message = format!("the pattern has no group {number}, '\\{number}' stays as it is");
                let fix = match groups {
                    0 => "put parentheses around a part of the pattern, or write '\\0' for all of it"
                        .to_owned(),
                    last => format!("'\\0' is all that matched, the last group is '\\{last}'"),
                };
                self.warn("regex", (line, place), message, fix);
                return;
            }
        }
    }

    fn attribute(&mut self, place: (&Line, (usize, usize)), command: &Command, name: &BString) {
        if name.contains(&b'$') && command.keyword != Keyword::EvalMacro {
            let message = "macros are not expanded in the attribute's name";
            let fix = "write the name itself, or use a pattern with COPY and RENAME";
            self.warn("name-macro", place, message, fix);
        } else if command.keyword != Keyword::EvalMacro && !pattern::is_attribute_name(name) {
            let starts = name.first() == Some(&b'/');
            let message = format!("'{name}' is no attribute name; what is stored cannot be read back");
            let fix = if starts {
                "patterns work with COPY, RENAME and DELETE only"
            } else {
                "use letters, digits and '_'"
            };
            self.warn("name", place, message, fix);
        }
    }

    fn pattern(&mut self, line: &Line, command: &Command, found: &Pattern) {
        let place = (line, (command.attribute_at, command.attribute_at + found.regex.len() + 2));
        match pattern::compile(found) {
            Err(error) => {
                let message = format!("{error}; the statement is ignored");
                self.warn("regex", place, message, "correct the regular expression");
            }
            Ok(regex) if command.keyword != Keyword::Delete => self.groups(line, command, regex.groups()),
            Ok(_) => {}
        }
        if found.anchored {
            let message = "the flag 'g' does not repeat anything, in 25.14 it makes the pattern match at the start of a name only";
            let fix =
                "write '^' where that is meant, and leave the 'g' out: every attribute that matches is taken";
            self.warn("regex", place, message, fix);
        }
        if found.regex.ends_with(b"\\") {
            let message = "'\\/' does not escape, the pattern ends at its slash";
            self.warn("regex", place, message, "write '.' or '\\x2f' for a slash");
        }
    }

    /// A SET whose attribute is set again before anything could have looked at it.
    fn overwritten(
        &mut self,
        (line, at): (&Line, (usize, usize)),
        command: &Command,
        name: &BString,
        depth: usize,
    ) {
        let key = name.to_ascii_lowercase();
        // A macro may read any attribute.
        if command.value.contains(&b'$') {
            self.written.clear();
        }
        // The value of DELETE is the attribute itself.
        let read = if command.keyword == Keyword::Delete { &b""[..] } else { &command.value };
        for word in read.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')) {
            self.written.remove(&word.to_ascii_lowercase());
        }
        match command.keyword {
            Keyword::Set | Keyword::EvalSet | Keyword::Delete => {
                if let Some((before, place, at_depth)) = self.written.remove(&key)
                    && at_depth == depth
                {
                    let message = format!("dead statement: {name} is changed again on line {}", line.number);
                    self.warn("dead", (&before, place), message, "remove one of the two");
                }
                if command.keyword != Keyword::Delete {
                    self.written.insert(key, (line.clone(), at, depth));
                }
            }
            Keyword::Default => {
                if let Some((before, ..)) = self.written.get(&key) {
                    let message = format!("dead statement: {name} was set on line {}", before.number);
                    self.warn("dead", (line, at), message, "remove it, or put it before the SET");
                }
            }
            _ => {
                self.written.remove(&key);
            }
        }
    }

    fn expression(&mut self, line: &Line, command: &Command) {
        let constant = !command.value.contains(&b'$');
        let (old, new) = (Dialect::of(self.world).old(), Dialect::of(self.world));
        // How far it is read, and how.
        let parsed = match command.keyword {
            Keyword::Set | Keyword::Default if constant => {
                Expr::parse_with(&command.value, old).map(|_| (command.value.len(), old))
            }
            Keyword::EvalSet | Keyword::EvalMacro if constant => {
                Expr::parse_prefix(&command.value, new).map(|(_, end)| (end, new))
            }
            _ => {
                self.quoting(line, command);
                return;
            }
        };
        let (end, dialect) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                if !self.quoting(line, command) {
                    self.no_expression(line, command, &error);
                }
                return;
            }
        };
        let offset = command.value_at;
        self.single_quotes(line, command);
        self.traps(line, &command.value[..end], offset, dialect);
        if !trim(&command.value[end..]).is_empty() {
            let at = (offset + end, line.text.len());
            let message = "reads as far as it parses, the rest is ignored without a word";
            self.warn("rest-ignored", (line, at), message, "remove it, or join it with an operator");
        }
        if let Some(target) = find_scope(&command.value, "target")
            && matches!(command.keyword, Keyword::EvalSet | Keyword::EvalMacro)
        {
            let at = (offset + target, offset + target + 7);
            let message = "TARGET. is undefined here, there is one ad";
            self.warn("scope", (line, at), message, "write the attribute's name without 'TARGET.'");
        }
    }

    fn no_expression(&mut self, line: &Line, command: &Command, error: &ParseError) {
        let (offset, value) = (command.value_at, &command.value);
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        let (at, fix) = match value.find(b" #") {
            Some(hash) => {
                ((offset + hash + 1, line.text.len()), "put the remark on a line of its own".to_owned())
            }
            None => ((offset + start, offset + end), said_right(value)),
        };
        let message = format!("{error}; {} does nothing", command.keyword.name());
        self.warn("expression", (line, at), message, fix);
    }

    /// What an expression says that is rarely meant: `'a'` for a string, functions that do not exist. It stands at an
    /// offset of the line.
    pub(super) fn traps(&mut self, line: &Line, text: &[u8], offset: usize, dialect: Dialect) {
        for trap in traps::find(text, dialect) {
            let at = (offset + trap.span.start as usize, offset + trap.span.end as usize);
            self.warn("trap", (line, at), trap.message, trap.hint);
        }
    }

    /// A name in single quotes in place of a text.
    fn single_quotes(&mut self, line: &Line, command: &Command) {
        let value = &command.value;
        if value.len() > 1 && value.starts_with(b"'") && value.ends_with(b"'") {
            let message = "single quotes make an attribute's name, not a string";
            let fix = format!("write \"{}\"", value[1..value.len() - 1].as_bstr());
            let at = (command.value_at, line.text.len());
            self.warn("quotes", (line, at), message, fix);
        }
    }

    /// A quotation mark that is missing from a value which cannot be read, or not yet; whether one is.
    fn quoting(&mut self, line: &Line, command: &Command) -> bool {
        use Keyword::{Default, EvalMacro, EvalSet, Set};
        if !matches!(command.keyword, Set | Default | EvalSet | EvalMacro) {
            return false;
        }
        self.single_quotes(line, command);
        // In the old syntax a backslash escapes nothing but a quotation mark.
        let escapes = matches!(command.keyword, EvalSet | EvalMacro);
        let (mut open, mut at) = (false, 0);
        while let Some(byte) = command.value.get(at) {
            match (byte, command.value.get(at + 1)) {
                (b'\\', Some(b'"')) => at += 1,
                (b'\\', Some(_)) if escapes && open => at += 1,
                (b'"', _) => open = !open,
                _ => {}
            }
            at += 1;
        }
        if open {
            let message = format!("a quotation mark is missing; {} does nothing", command.keyword.name());
            let at = (command.value_at, line.text.len());
            self.warn("quotes", (line, at), message, "add it");
        }
        open
    }
}

/// Whether the new name of COPY or RENAME can be one.
fn may_be_name(command: &Command) -> bool {
    if !matches!(command.attribute, Some(Attribute::Pattern(_))) {
        return pattern::is_attribute_name(&command.value);
    }
    // Groups stand for a part of a name.
    let (mut name, mut at) = (Vec::new(), 0);
    while let Some(&byte) = command.value.get(at) {
        let is_group = byte == b'\\' && command.value.get(at + 1).is_some_and(u8::is_ascii_digit);
        name.push(if is_group { b'x' } else { byte });
        at += 1 + usize::from(is_group);
    }
    pattern::is_attribute_name(&name)
}

/// What to write in place of a text that is no expression.
fn said_right(value: &BString) -> String {
    if !value.contains(&b'"') && value.len() < 80 {
        return format!("correct the expression; a text stands in quotes: \"{value}\"");
    }
    match value.starts_with(b"\"") {
        true => {
            "a text has one pair of quotes; write \\\" for a quote within, strcat() joins texts".to_owned()
        }
        false => "correct the expression".to_owned(),
    }
}
