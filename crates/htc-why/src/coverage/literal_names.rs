//! Attributes that the statements of a transform refer to.

use std::collections::BTreeSet;

use super::pattern_texts;
use htc_base::text::caseless;
use htc_classad::{AttrName, Dialect, Expr, references};
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_transform::Transform;
use htc_transform::TransformStatement;
use htc_transform::attribute_pattern::is_attribute_name;
use htc_transform::{CommandAttribute, CommandKeyword, TransformCommand};

/// Returns the attributes that a transform's statements read or change, including some that its patterns may
/// match.
pub fn attributes_mentioned_by(transform: &Transform) -> BTreeSet<AttrName> {
    let mut collector = LiteralNames::default();
    for (line, statement) in transform.statements() {
        collector.add_macros(&line.text);
        match statement {
            TransformStatement::Command(Ok(command)) => collector.add_names_of_command(&command),
            TransformStatement::Condition => {
                let condition = line.text.splitn(2, |byte| *byte == b' ').nth(1).unwrap_or_default();
                collector.add_expression(condition);
                // The names in `if defined MY.x`, which is not an expression.
                let words = condition.split(u8::is_ascii_whitespace);
                words
                    .filter(|word| caseless::starts_with(word, b"MY."))
                    .for_each(|word| collector.add_name(&word[3..]));
            }
            TransformStatement::Assign(assignment) => collector.add_expression(&assignment.value),
            _ => {}
        }
    }
    collector.names
}

#[derive(Default)]
struct LiteralNames {
    names: BTreeSet<AttrName>,
}

impl LiteralNames {
    fn add_names_of_command(&mut self, command: &TransformCommand) {
        match &command.attribute {
            Some(CommandAttribute::Name { name, .. }) if command.keyword != CommandKeyword::EvalMacro => {
                self.add_name(name)
            }
            Some(CommandAttribute::Pattern(pattern)) => self.add_pattern(&pattern.regex),
            _ => {}
        }
        if matches!(command.keyword, CommandKeyword::Copy | CommandKeyword::Rename) {
            self.add_name(&command.value);
        } else {
            self.add_expression(&command.value);
        }
    }

    /// Adds the names in a text that may be an expression.
    fn add_expression(&mut self, text: &[u8]) {
        if let Ok((expr, _)) = Expr::parse_prefix(text, Dialect::new_syntax()) {
            references::mentioned_attributes(&expr).iter().for_each(|name| self.add_name(name.as_bytes()));
        }
    }

    /// Adds the names in references such as `$(MY.x)`.
    fn add_macros(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
            at = found.dollar + 2;
            if found.function == MacroFunction::Plain {
                let name = found.name_and_default(text).0;
                if caseless::starts_with(name, b"MY.") {
                    self.add_name(&name[3..]);
                }
            }
        }
    }

    fn add_name(&mut self, name: &[u8]) {
        let name = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        if is_attribute_name(name) {
            self.names.insert(name.into());
        }
    }

    /// Adds names that a pattern may match, and some that it probably does not match.
    fn add_pattern(&mut self, regex: &[u8]) {
        const MAX_PATTERN_NAMES: usize = 16;
        let names = pattern_texts::generate_texts(regex).into_iter().filter(|text| is_attribute_name(text));
        names.take(MAX_PATTERN_NAMES).for_each(|name| self.add_name(&name));
        for word in
            regex.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).filter(|word| !word.is_empty())
        {
            self.add_name(word);
            self.add_name(&[word, b"X1"].concat());
            self.add_name(&[b"Y", word].concat());
        }
        self.add_name(b"Z");
    }
}
