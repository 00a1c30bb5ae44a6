//! Mistakes in commands such as SET and COPY.

use bstr::{BString, ByteSlice};
use htc_config::lint_rule::LintRule;

use crate::config::{SyntaxAdvice, advise_syntax, convert_quantity, find_unbalanced, is_known_attribute};
use crate::transforms::finding::{TransformLinter, TransformRunner};
use crate::transforms::macros::route_setting;
use htc_base::text::Span;
use htc_base::text::space::trim;
use htc_classad::{Dialect, Expr, ParseError, pitfalls};
use htc_transform::RuleLine;
use htc_transform::attribute_pattern;
use htc_transform::scope_reference::find_scope;
use htc_transform::{
    AttributePattern, CommandAttribute, CommandKeyword, CommandSyntaxError, TransformCommand, command_hint,
    nearest_command,
};

/// Returns a hint that describes the arguments of a command.
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
        CommandKeyword::Transform => "write what to iterate over",
        CommandKeyword::Universe => "give a universe",
    }
}

impl TransformLinter<'_> {
    pub(super) fn report_not_a_command(&mut self, line: &RuleLine, error: &CommandSyntaxError) {
        let text = line.text.as_bstr();
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        let mut near = None;
        let (at, fix) = match error {
            CommandSyntaxError::UnknownKeyword(word) => {
                near = nearest_command(word);
                let setting = route_setting(word).filter(|_| self.runner == TransformRunner::Router);
                let fix = match setting {
                    Some(setting) => format!("write '{setting} = {}'", text[word_end..].trim().as_bstr()),
                    None => command_hint(word),
                };
                (Span::new(0, word_end), fix)
            }
            CommandSyntaxError::NoArgument(keyword) | CommandSyntaxError::OneArgument(keyword) => {
                (Span::new(0, text.len()), expected_arguments(*keyword).to_owned())
            }
            CommandSyntaxError::BadPattern => (
                Span::new(word_end, text.len()),
                "write /regex/, directly followed by flags (i, m, U or g) and a space".to_owned(),
            ),
        };
        self.report(LintRule::Command, line, at, format!("{error}, so the transform fails"), fix);
        if let Some(near) = near {
            self.correct_last(near);
        }
    }

    /// Reports a statement that sets a route setting as a job attribute. The router does not read it there.
    fn lint_route_setting(&mut self, line: &RuleLine, at: Span, command: &TransformCommand, name: &[u8]) {
        use CommandKeyword::{Default, EvalSet, Set};
        let is_assignment = matches!(command.keyword, Set | Default | EvalSet);
        let setting = route_setting(name)
            .filter(|_| is_assignment && self.runner == TransformRunner::Router)
            .filter(|setting| name.eq_ignore_ascii_case(setting.as_bytes()) || !is_known_attribute(name));
        if let Some(setting) = setting {
            let message = format!(
                "{} sets an attribute of the job; the router reads {setting} only as a macro of the route",
                command.keyword.name()
            );
            let fix = format!("write '{setting} = {}'", command.value);
            self.report(LintRule::Trap, line, at, message, fix);
        }
    }

    pub(super) fn lint_command(&mut self, line: &RuleLine, command: &TransformCommand, depth: usize) {
        let value_at = Span::new(command.value_at, line.text.len());
        if matches!(
            command.keyword,
            CommandKeyword::Name | CommandKeyword::Requirements | CommandKeyword::Universe
        ) {
            let message =
                format!("this is not a valid {0} statement; it does nothing", command.keyword.name());
            let fix = format!("write nothing between {} and its value", command.keyword.name());
            self.report(LintRule::Statement, line, Span::new(0, line.text.len()), message, fix);
            return;
        }
        match &command.attribute {
            None => {}
            Some(CommandAttribute::Pattern(found)) => {
                self.lint_pattern(line, command, found);
                self.unread_sets.clear();
            }
            Some(CommandAttribute::Name { name, trailing }) => {
                let at = Span::new(command.attribute_at, command.attribute_at + name.len());
                self.lint_route_setting(line, at, command, name);
                if let Some(character) = trailing {
                    let character = char::from(*character);
                    let message = format!(
                        "HTCondor 25.14 makes the '{character}' part of the name, as a NUL byte, and cuts the output there"
                    );
                    let place = Span::new(at.end as usize, at.end as usize + 1);
                    self.report(
                        LintRule::Trailing,
                        line,
                        place,
                        message,
                        format!("write a space before '{character}'"),
                    );
                }
                let rest = line.text.get(at.end as usize..).unwrap_or_default().trim();
                if command.keyword == CommandKeyword::Delete && trailing.is_none() && !rest.is_empty() {
                    let place = Span::new(line.text.len() - rest.len(), line.text.len());
                    let message = format!("only {name} is deleted; the rest is ignored without a message");
                    self.report(
                        LintRule::RestIgnored,
                        line,
                        place,
                        message,
                        "write a DELETE for each attribute",
                    );
                }
                self.lint_attribute_name(line, at, command, name);
                self.lint_overwritten_set(line, at, command, name, depth);
            }
        }
        if matches!(command.keyword, CommandKeyword::Copy | CommandKeyword::Rename)
            && !command.value.contains(&b'$')
            && !can_be_attribute_name(command)
        {
            let message =
                format!("'{}' is not a valid attribute name; the statement does nothing", command.value);
            let fix = "write a letter or '_' followed by letters, digits and '_', without quotes";
            self.report(LintRule::NewName, line, value_at, message, fix);
        }
        self.lint_self_reference(line, command);
        self.lint_brackets(line, command);
        self.lint_expression(line, command);
    }

    /// Reports an unbalanced bracket in an expression with macros, which is parsed only after their expansion.
    fn lint_brackets(&mut self, line: &RuleLine, command: &TransformCommand) {
        let is_expression = matches!(
            command.keyword,
            CommandKeyword::Set | CommandKeyword::Default | CommandKeyword::EvalSet
        );
        // Another rule reports an unfinished macro.
        let is_macro = |at: usize| at > 0 && command.value[at - 1] == b'$';
        let wrong = find_unbalanced(&command.value).filter(|wrong| is_expression && !is_macro(wrong.at));
        if let Some(wrong) = wrong.filter(|_| command.value.contains_str("$(")) {
            let at = command.value_at + wrong.at;
            let message = format!("the expression is not valid when its macros are expanded: {wrong}");
            self.report(
                LintRule::Unbalanced,
                line,
                Span::new(at, at + 1),
                message,
                "write each bracket in pairs",
            );
        }
    }

    /// Reports references in a new name to groups that the pattern does not have.
    fn lint_group_references(&mut self, line: &RuleLine, command: &TransformCommand, groups: usize) {
        for (at, pair) in command.value.windows(2).enumerate() {
            let number = usize::from(pair[1].wrapping_sub(b'0'));
            if pair[0] == b'\\' && number < 10 && number > groups {
                let place = Span::new(command.value_at + at, command.value_at + at + 2);
                let message = format!("the pattern has no group {number}; '\\{number}' remains unchanged");
                let fix = match groups {
                    0 => "put parentheses around a part of the pattern, or write '\\0' for all of it"
                        .to_owned(),
                    last => format!("write '\\0' for the whole match, or at most '\\{last}' for a group"),
                };
                self.report(LintRule::Regex, line, place, message, fix);
                return;
            }
        }
    }

    fn lint_attribute_name(&mut self, line: &RuleLine, at: Span, command: &TransformCommand, name: &BString) {
        if name.contains(&b'$') && command.keyword != CommandKeyword::EvalMacro {
            let message = "macros are not expanded in the attribute's name";
            let fix = "write the name itself, or use a pattern with COPY and RENAME";
            self.report(LintRule::NameMacro, line, at, message, fix);
        } else if command.keyword != CommandKeyword::EvalMacro && !attribute_pattern::is_attribute_name(name)
        {
            let starts = name.first() == Some(&b'/');
            let message =
                format!("'{name}' is not a valid attribute name; the stored attribute cannot be read");
            let fix = if starts {
                "use patterns only with COPY, RENAME and DELETE"
            } else {
                "use letters, digits and '_'"
            };
            self.report(LintRule::Name, line, at, message, fix);
        }
    }

    fn lint_pattern(&mut self, line: &RuleLine, command: &TransformCommand, found: &AttributePattern) {
        let place = Span::new(command.attribute_at, command.attribute_at + found.regex.len() + 2);
        match attribute_pattern::compile_pattern(found) {
            Err(error) => {
                let message = format!("{error}; the statement is ignored");
                self.report(LintRule::Regex, line, place, message, "correct the regular expression");
            }
            Ok(regex) if command.keyword != CommandKeyword::Delete => {
                self.lint_group_references(line, command, regex.groups())
            }
            Ok(_) => {}
        }
        if found.anchored {
            let message = "the flag 'g' does not repeat the match; in HTCondor 25.14 the pattern then matches only at the start of a name";
            let fix = "omit the 'g': every matching attribute is used; write '^' to match only at the start";
            self.report(LintRule::Regex, line, place, message, fix);
        }
        if found.regex.ends_with(b"\\") {
            let message = "'\\/' does not escape the slash: the pattern ends there";
            self.report(LintRule::Regex, line, place, message, "write '.' or '\\x2f' for a slash");
        }
    }

    /// Reports a SET whose attribute is set again before anything can read it.
    fn lint_overwritten_set(
        &mut self,
        line: &RuleLine,
        at: Span,
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
                    let message = format!("dead statement: {name} is changed again");
                    self.report(LintRule::Dead, &before, place, message, "remove one of the two");
                    self.set_other_line(line.number);
                }
                if command.keyword != CommandKeyword::Delete {
                    self.unread_sets.insert(key, (line.clone(), at, depth));
                }
            }
            CommandKeyword::Default => {
                if let Some((before, ..)) = self.unread_sets.get(&key) {
                    let (message, number) = (format!("dead statement: {name} was set"), before.number);
                    self.report(LintRule::Dead, line, at, message, "remove it, or put it before the SET");
                    self.set_other_line(number);
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
                if !self.lint_missing_quote(line, command) {
                    self.lint_dangling_operator(line, command);
                }
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
        if let (Ok(expr), Some(CommandAttribute::Name { name, .. })) =
            (Expr::parse_with(&command.value[..end], dialect), &command.attribute)
            && command.keyword != CommandKeyword::EvalMacro
        {
            self.lint_attribute_value(line, Span::new(offset, offset + end), name, &expr);
            if !matches!(command.keyword, CommandKeyword::EvalSet) {
                self.lint_value_scopes(line, Span::new(offset, offset + end), name, &expr);
            }
        }
        self.lint_single_quotes(line, command);
        self.lint_expression_traps(line, &command.value[..end], offset, dialect);
        if !trim(&command.value[end..]).is_empty() {
            let at = Span::new(offset + end, line.text.len());
            let message = "only the first part is a valid expression; the rest is ignored without a message";
            self.report(
                LintRule::RestIgnored,
                line,
                at,
                message,
                "remove the rest, or join it with an operator",
            );
        }
        if !matches!(command.keyword, CommandKeyword::EvalSet | CommandKeyword::EvalMacro) {
            return;
        }
        for scope in ["TARGET", "other"] {
            if let Some(start) = find_scope(&command.value, scope) {
                let at = Span::new(offset + start, offset + start + scope.len() + 1);
                let message = format!("{scope}. is undefined here, because there is only one ad");
                let fix = format!("write the attribute's name without '{scope}.'");
                self.report(LintRule::Scope, line, at, message, fix);
            }
        }
    }

    fn report_invalid_expression(&mut self, line: &RuleLine, command: &TransformCommand, error: &ParseError) {
        let (offset, value) = (command.value_at, &command.value);
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        let comment = value.find(b" #");
        let quantity = match &command.attribute {
            Some(CommandAttribute::Name { name, .. }) => convert_quantity(name, value),
            _ => None,
        };
        let mut replacement = None;
        let (at, fix) = match (comment, quantity) {
            (Some(hash), _) => {
                (Span::new(offset + hash + 1, line.text.len()), "put the comment on its own line".to_owned())
            }
            (None, Some((unit, number))) => {
                replacement = Some(number.clone().into());
                (Span::new(offset, offset + value.len()), format!("in {unit}: write {number}"))
            }
            (None, None) => match self.advise_value(command, error) {
                Some(advice) => {
                    let change = advice.smallest_change(value);
                    let place = change.as_ref().map_or(advice.place, |(place, _)| place.clone());
                    replacement = change.map(|(_, text)| text);
                    (Span::new(offset + place.start, offset + place.end), advice.fix.to_string())
                }
                None => (Span::new(offset + start, offset + end), suggest_expression(value)),
            },
        };
        let message = format!("{error}; {} does nothing", command.keyword.name());
        self.report(LintRule::Expression, line, at, message, fix);
        if let Some(text) = replacement {
            self.correct_last(text);
        }
        // A '#' in a string is not a comment.
        if comment.is_some_and(|hash| !value[hash..].contains(&b'"') && !line.text.ends_with(b"\\")) {
            self.correct_last("");
        }
    }

    /// Returns advice about a value that is not a valid expression, or `None` if it looks like a string without quotes.
    fn advise_value(&self, command: &TransformCommand, error: &ParseError) -> Option<SyntaxAdvice> {
        let dialect = match command.keyword {
            CommandKeyword::EvalSet | CommandKeyword::EvalMacro => Dialect::of_world(self.world),
            _ => Dialect::of_world(self.world).old(),
        };
        let advice = advise_syntax(&command.value, error, None, dialect)?;
        let is_expression = command.value.find_byteset(b"\"<>=!*&|").is_some();
        let is_word = command
            .value
            .get(advice.place.clone())
            .is_some_and(|part| part.iter().all(u8::is_ascii_alphanumeric));
        (is_expression || !is_word).then_some(advice)
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
            let at = Span::new(offset + trap.span.start as usize, offset + trap.span.end as usize);
            self.report(LintRule::Trap, line, at, trap.message, trap.hint);
        }
    }

    /// Reports a text in single quotes, which is an attribute name and not a string.
    fn lint_single_quotes(&mut self, line: &RuleLine, command: &TransformCommand) {
        let value = &command.value;
        if value.len() > 1 && value.starts_with(b"'") && value.ends_with(b"'") {
            let message = "text in single quotes is the name of an attribute, not a string";
            let fix = format!("write \"{}\"", value[1..value.len() - 1].as_bstr());
            let at = Span::new(command.value_at, line.text.len());
            self.report(LintRule::Quotes, line, at, message, fix);
            let text = &value[1..value.len() - 1];
            if text.find_byteset(b"\"'\\").is_none() {
                self.correct_last([b"\"", text, b"\""].concat());
            }
        }
    }

    /// Reports an operator at the end of an expression with macros: no value of the macros makes it valid.
    fn lint_dangling_operator(&mut self, line: &RuleLine, command: &TransformCommand) {
        use CommandKeyword::{Default, EvalMacro, EvalSet, Set};
        let value = command.value.trim_end();
        let is_operator = value.last().is_some_and(|last| b"+-*/%<>=&|^?:!~".contains(last));
        if !is_operator || !matches!(command.keyword, Set | Default | EvalSet | EvalMacro) {
            return;
        }
        let end = command.value_at + value.len();
        let message =
            format!("the expression ends with an operator; {} does nothing", command.keyword.name());
        let fix = "write a value after the operator; a string needs double quotes";
        self.report(LintRule::Expression, line, Span::new(end - 1, end), message, fix);
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
            let at = Span::new(command.value_at, line.text.len());
            self.report(LintRule::Quotes, line, at, message, "add it");
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

/// Returns a hint for a text that is not a valid expression.
fn suggest_expression(value: &BString) -> String {
    if !value.contains(&b'"') && value.len() < 80 {
        return format!("correct the expression; a string must be quoted: \"{value}\"");
    }
    match value.starts_with(b"\"") {
        true => {
            "write one pair of quotes around a string, \\\" for a quote inside it, and strcat() to join strings".to_owned()
        }
        false => "correct the expression".to_owned(),
    }
}
