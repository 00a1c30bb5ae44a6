//! The attributes that the statements of a transform speak of.

use std::collections::BTreeSet;

use super::pattern;
use htc_base::text::caseless;
use htc_classad::{AttrName, Dialect, Expr, references};
use htc_config::reference::{Function, next_reference};
use htc_transform::Statement;
use htc_transform::Transform;
use htc_transform::pattern::is_attribute_name;
use htc_transform::{Attribute, Command, Keyword};

/// The attributes that a transform's statements look at or change, those that its patterns may match among them.
pub fn spoken_of(transform: &Transform) -> BTreeSet<AttrName> {
    let mut spoken = Spoken::default();
    for (line, statement) in transform.statements() {
        spoken.macros(&line.text);
        match statement {
            Statement::Command(Ok(command)) => spoken.command(&command),
            Statement::Condition => {
                let condition = line.text.splitn(2, |byte| *byte == b' ').nth(1).unwrap_or_default();
                spoken.expression(condition);
                // `if defined MY.x`.
                let words = condition.split(u8::is_ascii_whitespace);
                words
                    .filter(|word| caseless::starts_with(word, b"MY."))
                    .for_each(|word| spoken.name(&word[3..]));
            }
            Statement::Assign(assignment) => spoken.expression(&assignment.value),
            _ => {}
        }
    }
    spoken.names
}

#[derive(Default)]
struct Spoken {
    names: BTreeSet<AttrName>,
}

impl Spoken {
    fn command(&mut self, command: &Command) {
        match &command.attribute {
            Some(Attribute::Name { name, .. }) if command.keyword != Keyword::EvalMacro => self.name(name),
            Some(Attribute::Pattern(pattern)) => self.pattern(&pattern.regex),
            _ => {}
        }
        if matches!(command.keyword, Keyword::Copy | Keyword::Rename) {
            self.name(&command.value);
        } else {
            self.expression(&command.value);
        }
    }

    /// Names in what may be an expression.
    fn expression(&mut self, text: &[u8]) {
        if let Ok((expr, _)) = Expr::parse_prefix(text, Dialect::new_syntax()) {
            references::of(&expr).iter().for_each(|name| self.name(name.as_bytes()));
        }
    }

    /// `$(MY.x)`.
    fn macros(&mut self, text: &[u8]) {
        let mut at = 0;
        while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
            at = found.dollar + 2;
            if found.function == Function::Plain {
                let name = found.name_and_default(text).0;
                if caseless::starts_with(name, b"MY.") {
                    self.name(&name[3..]);
                }
            }
        }
    }

    fn name(&mut self, name: &[u8]) {
        let name = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        if is_attribute_name(name) {
            self.names.insert(name.into());
        }
    }

    /// Names that a pattern may match, and some that it may not.
    fn pattern(&mut self, regex: &[u8]) {
        const MOST: usize = 16;
        let names = pattern::texts(regex).into_iter().filter(|text| is_attribute_name(text));
        names.take(MOST).for_each(|name| self.name(&name));
        for run in regex.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).filter(|run| !run.is_empty()) {
            self.name(run);
            self.name(&[run, b"X1"].concat());
            self.name(&[b"Y", run].concat());
        }
        self.name(b"Z");
    }
}
