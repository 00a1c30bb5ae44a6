//! Mistakes in commands such as SET and COPY.

use bstr::{BString, ByteSlice};
use htc_config::lint_rule::LintRule;

use crate::transforms::finding::TransformLinter;
use htc_base::text::space::trim;
use htc_classad::{Dialect, Expr, ParseError, pitfalls};
use htc_transform::RuleLine;
use htc_transform::attribute_pattern;
use htc_transform::scope_reference::find_scope;
use htc_transform::{
    AttributePattern, CommandAttribute, CommandKeyword, CommandSyntaxError, TransformCommand, command_hint,
};

/// Hint that describes the arguments of a command.
fn expected_arguments(keyword: CommandKeyword) -> &'static str {
    match keyword {
        CommandKeyword::Copy | CommandKeyword::Rename => "give an attribute or /regex/ and a new name",
        CommandKeyword::Delete => "give one attribute or /regex/",
        CommandKeyword::Default | CommandKeyword::EvalSet | CommandKeyword::Set => {
            "give an attribute and a value"
        }
        CommandKeyword::EvalMacro => "give a macro and an expression",
        CommandKeyword::Name => "give a name",
        CommandKeyword::Requirements => "give an expression",
        CommandKeyword::Transform => "give what to iterate over",
        CommandKeyword::Universe => "give a universe",
    }
}

impl TransformLinter<'_> {
    pub(super) fn report_not_a_command(&mut self, line: &RuleLine, error: &CommandSyntaxError) {
        let text = line.text.as_bstr();
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        let (at, fix) = match error {
            CommandSyntaxError::UnknownKeyword(word) => {
                ((0, word_end), command_hint(word).unwrap_or_default())
            }
            CommandSyntaxError::NoArgument(keyword) | CommandSyntaxError::OneArgument(keyword) => {
                ((0, text.len()), expected_arguments(*keyword).to_owned())
            }
            CommandSyntaxError::BadPattern => (
                (word_end, text.len()),
                "a pattern is /regex/ with flags i, m, U or g directly behind it, then a blank".to_owned(),
            ),
        };
        let near = fix.strip_prefix("did you mean ").and_then(|fix| fix.strip_suffix('?')).map(str::to_owned);
        self.report(LintRule::Command, (line, at), format!("{error}, the transform fails"), fix);
        if let Some(near) = near {
            self.correct_last(near);
        }
    }

    pub(super) fn lint_command(&mut self, line: &RuleLine, command: &TransformCommand, depth: usize) {
        let value_at = (command.value_at, line.text.len());
        if matches!(
            command.keyword,
            CommandKeyword::Name | CommandKeyword::Requirements | CommandKeyword::Universe
        ) {
            let message = format!("this is no {0} statement, it does nothing", command.keyword.name());
            let fix = format!("put nothing between {} and what it says", command.keyword.name());
            self.report(LintRule::Statement, (line, (0, line.text.len())), message, fix);
            return;
        }
        match &command.attribute {
            None => {}
            Some(CommandAttribute::Pattern(found)) => {
                self.lint_pattern(line, command, found);
                self.unread_sets.clear();
            }
            Some(CommandAttribute::Name { name, trailing }) => {
                let at = (command.attribute_at, command.attribute_at + name.len());
                if let Some(character) = trailing {
                    let character = char::from(*character);
                    let message = format!(
                        "25.14 makes the '{character}' part of the name, as a NUL byte; the output is cut there"
                    );
                    let place = (at.1, at.1 + 1);
                    self.report(
                        LintRule::Trailing,
                        (line, place),
                        message,
                        format!("put a blank before '{character}'"),
                    );
                }
                self.lint_attribute_name((line, at), command, name);
                self.lint_overwritten_set((line, at), command, name, depth);
            }
        }
        if matches!(command.keyword, CommandKeyword::Copy | CommandKeyword::Rename)
            && !command.value.contains(&b'$')
            && !can_be_attribute_name(command)
        {
            let message = format!("'{}' is no attribute name, nothing is done", command.value);
            let fix = "a new name is a letter or '_' followed by letters, digits and '_', without quotes";
            self.report(LintRule::NewName, (line, value_at), message, fix);
        }
        self.lint_expression(line, command);
    }

    /// Reports references in a new name to groups that the pattern does not have.
    fn lint_group_references(&mut self, line: &RuleLine, command: &TransformCommand, groups: usize) {
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
                self.report(LintRule::Regex, (line, place), message, fix);
                return;
            }
        }
    }

    fn lint_attribute_name(
        &mut self,
        place: (&RuleLine, (usize, usize)),
        command: &TransformCommand,
        name: &BString,
    ) {
        if name.contains(&b'$') && command.keyword != CommandKeyword::EvalMacro {
            let message = "macros are not expanded in the attribute's name";
            let fix = "write the name itself, or use a pattern with COPY and RENAME";
            self.report(LintRule::NameMacro, place, message, fix);
        } else if command.keyword != CommandKeyword::EvalMacro && !attribute_pattern::is_attribute_name(name)
        {
            let starts = name.first() == Some(&b'/');
            let message = format!("'{name}' is no attribute name; what is stored cannot be read back");
            let fix = if starts {
                "patterns work with COPY, RENAME and DELETE only"
            } else {
                "use letters, digits and '_'"
            };
            self.report(LintRule::Name, place, message, fix);
        }
    }

    fn lint_pattern(&mut self, line: &RuleLine, command: &TransformCommand, found: &AttributePattern) {
        let place = (line, (command.attribute_at, command.attribute_at + found.regex.len() + 2));
        match attribute_pattern::compile_pattern(found) {
            Err(error) => {
                let message = format!("{error}; the statement is ignored");
                self.report(LintRule::Regex, place, message, "correct the regular expression");
            }
            Ok(regex) if command.keyword != CommandKeyword::Delete => {
                self.lint_group_references(line, command, regex.groups())
            }
            Ok(_) => {}
        }
        if found.anchored {
            let message = "the flag 'g' does not repeat anything, in 25.14 it makes the pattern match at the start of a name only";
            let fix =
                "write '^' where that is meant, and leave the 'g' out: every attribute that matches is taken";
            self.report(LintRule::Regex, place, message, fix);
        }
        if found.regex.ends_with(b"\\") {
            let message = "'\\/' does not escape, the pattern ends at its slash";
            self.report(LintRule::Regex, place, message, "write '.' or '\\x2f' for a slash");
        }
    }

    /// Reports a SET whose attribute is set again before anything could have read it.
    fn lint_overwritten_set(
        &mut self,
        (line, at): (&RuleLine, (usize, usize)),
        command: &TransformCommand,
        name: &BString,
        depth: usize,
    ) {
        let key = name.to_ascii_lowercase();
        // A macro may read any attribute.
        if command.value.contains(&b'$') {
            self.unread_sets.clear();
        }
        // The value of DELETE is the attribute itself.
        let read = if command.keyword == CommandKeyword::Delete { &b""[..] } else { &command.value };
        for word in read.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')) {
            self.unread_sets.remove(&word.to_ascii_lowercase());
        }
        match command.keyword {
            CommandKeyword::Set | CommandKeyword::EvalSet | CommandKeyword::Delete => {
                if let Some((before, place, at_depth)) = self.unread_sets.remove(&key)
                    && at_depth == depth
                {
                    let message = format!("dead statement: {name} is changed again on line {}", line.number);
                    self.report(LintRule::Dead, (&before, place), message, "remove one of the two");
                }
                if command.keyword != CommandKeyword::Delete {
                    self.unread_sets.insert(key, (line.clone(), at, depth));
                }
            }
            CommandKeyword::Default => {
                if let Some((before, ..)) = self.unread_sets.get(&key) {
                    let message = format!("dead statement: {name} was set on line {}", before.number);
                    self.report(LintRule::Dead, (line, at), message, "remove it, or put it before the SET");
                }
            }
            _ => {
                self.unread_sets.remove(&key);
            }
        }
    }

    fn lint_expression(&mut self, line: &RuleLine, command: &TransformCommand) {
        let constant = !command.value.contains(&b'$');
        let (old, new) = (Dialect::of_world(self.world).old(), Dialect::of_world(self.world));
        // Length of the part that is parsed, and its syntax.
        let parsed = match command.keyword {
            CommandKeyword::Set | CommandKeyword::Default if constant => {
                Expr::parse_with(&command.value, old).map(|_| (command.value.len(), old))
            }
            CommandKeyword::EvalSet | CommandKeyword::EvalMacro if constant => {
                Expr::parse_prefix(&command.value, new).map(|(_, end)| (end, new))
            }
            _ => {
                self.lint_missing_quote(line, command);
                return;
            }
        };
        let (end, dialect) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                if !self.lint_missing_quote(line, command) {
                    self.report_invalid_expression(line, command, &error);
                }
                return;
            }
        };
        let offset = command.value_at;
        self.lint_single_quotes(line, command);
        self.lint_expression_traps(line, &command.value[..end], offset, dialect);
        if !trim(&command.value[end..]).is_empty() {
            let at = (offset + end, line.text.len());
            let message = "reads as far as it parses, the rest is ignored without a word";
            self.report(LintRule::RestIgnored, (line, at), message, "remove it, or join it with an operator");
        }
        if let Some(target) = find_scope(&command.value, "target")
            && matches!(command.keyword, CommandKeyword::EvalSet | CommandKeyword::EvalMacro)
        {
            let at = (offset + target, offset + target + 7);
            let message = "TARGET. is undefined here, there is one ad";
            self.report(LintRule::Scope, (line, at), message, "write the attribute's name without 'TARGET.'");
        }
    }

    fn report_invalid_expression(&mut self, line: &RuleLine, command: &TransformCommand, error: &ParseError) {
        let (offset, value) = (command.value_at, &command.value);
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        let comment = value.find(b" #");
        let (at, fix) = match comment {
            Some(hash) => {
                ((offset + hash + 1, line.text.len()), "put the remark on a line of its own".to_owned())
            }
            None => ((offset + start, offset + end), suggest_expression(value)),
        };
        let message = format!("{error}; {} does nothing", command.keyword.name());
        self.report(LintRule::Expression, (line, at), message, fix);
        // A '#' in a string is not a comment.
        if comment.is_some_and(|hash| !value[hash..].contains(&b'"') && !line.text.ends_with(b"\\")) {
            self.correct_last("");
        }
    }

    /// Reports parts of an expression that are rarely intended: `'a'` for a string, functions that do not
    /// exist. `offset` is the position of the expression in the line.
    pub(super) fn lint_expression_traps(
        &mut self,
        line: &RuleLine,
        text: &[u8],
        offset: usize,
        dialect: Dialect,
    ) {
        for trap in pitfalls::find(text, dialect) {
            let at = (offset + trap.span.start as usize, offset + trap.span.end as usize);
            self.report(LintRule::Trap, (line, at), trap.message, trap.hint);
        }
    }

    /// Reports a text in single quotes, which is an attribute name and not a string.
    fn lint_single_quotes(&mut self, line: &RuleLine, command: &TransformCommand) {
        let value = &command.value;
        if value.len() > 1 && value.starts_with(b"'") && value.ends_with(b"'") {
            let message = "single quotes make an attribute's name, not a string";
            let fix = format!("write \"{}\"", value[1..value.len() - 1].as_bstr());
            let at = (command.value_at, line.text.len());
            self.report(LintRule::Quotes, (line, at), message, fix);
        }
    }

    /// Reports a missing quotation mark in a value that is invalid or contains macros; returns true if one is
    /// missing.
    fn lint_missing_quote(&mut self, line: &RuleLine, command: &TransformCommand) -> bool {
        use CommandKeyword::{Default, EvalMacro, EvalSet, Set};
        if !matches!(command.keyword, Set | Default | EvalSet | EvalMacro) {
            return false;
        }
        self.lint_single_quotes(line, command);
        // In the old syntax a backslash escapes only a quotation mark.
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
            self.report(LintRule::Quotes, (line, at), message, "add it");
        }
        open
    }
}

/// Returns true if the new name of COPY or RENAME can be a valid attribute name.
fn can_be_attribute_name(command: &TransformCommand) -> bool {
    if !matches!(command.attribute, Some(CommandAttribute::Pattern(_))) {
        return attribute_pattern::is_attribute_name(&command.value);
    }
    // Each group reference stands for a part of a name.
    let (mut name, mut at) = (Vec::new(), 0);
    while let Some(&byte) = command.value.get(at) {
        let is_group = byte == b'\\' && command.value.get(at + 1).is_some_and(u8::is_ascii_digit);
        name.push(if is_group { b'x' } else { byte });
        at += 1 + usize::from(is_group);
    }
    attribute_pattern::is_attribute_name(&name)
}

/// Hint for a text that is not a valid expression.
fn suggest_expression(value: &BString) -> String {
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
