//! References to attributes of the job in values of statements and in macros: names that are probably misspelled.

use bstr::{BStr, ByteSlice};
use htc_base::text::Span;
use htc_classad::{AttrName, Dialect, Expr, references};
use htc_config::lint_rule::LintRule;
use htc_config::macro_reference::{MacroFunction, next_reference};
use htc_transform::{
    CommandAttribute, CommandKeyword, RuleLine, Transform, TransformCommand, TransformStatement,
};
use rustc_hash::FxHashSet;

use super::finding::TransformLinter;
use super::requirements::find_word;
use crate::config::suggest_attribute;

impl TransformLinter<'_> {
    /// Reports attributes that HTCondor does not have, that no statement of the transform sets, and whose names are similar
    /// to a known one.
    pub(super) fn lint_attribute_references(&mut self, transform: &Transform) {
        let set = attributes_set_by(transform);
        for (line, statement) in transform.statements() {
            let (from, names) = match &statement {
                TransformStatement::Command(Ok(command)) => {
                    (command.value_at, self.expression_attributes(command))
                }
                TransformStatement::Assign(assignment) => (assignment.value_at, Vec::new()),
                TransformStatement::Condition => (0, Vec::new()),
                _ => continue,
            };
            let names = names.into_iter().chain(macro_attributes(line, from));
            let mut checked: FxHashSet<AttrName> = FxHashSet::default();
            for name in names {
                if !set.contains(&name) && checked.insert(name.clone()) {
                    self.report_unknown_attribute(line, from, name.as_bytes());
                }
            }
        }
    }

    /// Returns the attributes that the value of a command refers to as an expression.
    fn expression_attributes(&self, command: &TransformCommand) -> Vec<AttrName> {
        let dialect = Dialect::of_world(self.world);
        // The text of a value with macros is known only when they are expanded.
        let value = Some(&command.value).filter(|value| !value.contains(&b'$'));
        let expr = value.and_then(|value| match command.keyword {
            CommandKeyword::Set | CommandKeyword::Default => Expr::parse_with(value, dialect.old()).ok(),
            CommandKeyword::EvalSet | CommandKeyword::EvalMacro => {
                Expr::parse_prefix(value, dialect).ok().map(|(expr, _)| expr)
            }
            _ => None,
        });
        expr.map(|expr| references::mentioned_attributes(&expr).into_iter().collect()).unwrap_or_default()
    }

    fn report_unknown_attribute(&mut self, line: &RuleLine, from: usize, name: &[u8]) {
        let Some(advice) = suggest_attribute(name) else { return };
        // Another rule may have reported more about the same place.
        let is_reported = self.findings.iter().any(|other| {
            other.line.number == line.number
                && matches!(
                    other.rule,
                    LintRule::UnknownAttribute | LintRule::Universe | LintRule::Quotes | LintRule::Expression
                )
        });
        if is_reported {
            return;
        }
        let text = line.text.get(from..).unwrap_or_default();
        let at = find_word(text, name)
            .map_or(Span::new(from, line.text.len()), |at| Span::new(from + at, from + at + name.len()));
        let message =
            format!("HTCondor has no attribute {}: it is undefined unless jobs define it", BStr::new(name));
        self.report(LintRule::UnknownAttribute, line, at, message, advice);
    }
}

/// Returns the attributes that some statement of a transform sets, and the macros that hide attributes.
pub(crate) fn attributes_set_by(transform: &Transform) -> FxHashSet<AttrName> {
    let mut set = FxHashSet::default();
    for (_, statement) in transform.statements() {
        match statement {
            TransformStatement::Command(Ok(command)) => {
                if let Some(CommandAttribute::Name { name, .. }) = &command.attribute {
                    set.insert(AttrName::from(&name[..]));
                }
                if matches!(command.keyword, CommandKeyword::Copy | CommandKeyword::Rename) {
                    set.insert(AttrName::from(command.value.trim()));
                }
            }
            TransformStatement::Assign(assignment) => {
                let name = assignment.name.trim_start_with(|c| c == '+' || c == '-');
                let scope = name.get(..3).filter(|start| start.eq_ignore_ascii_case(b"MY."));
                set.insert(AttrName::from(scope.map_or(name, |_| &name[3..])));
            }
            _ => {}
        }
    }
    set
}

/// Returns the attributes that the macros of a line refer to: `$(MY.x)` and functions of `MY.x`.
fn macro_attributes(line: &RuleLine, from: usize) -> Vec<AttrName> {
    let text = &line.text;
    let (mut names, mut at) = (Vec::new(), from);
    while let Some(found) = next_reference(text, at, &mut None, |_, _| true) {
        let body = found.body(text);
        let name = match found.function {
            MacroFunction::Plain => found.name_and_default(text).0,
            _ => body.split(|byte| b",:".contains(byte)).next().unwrap_or_default(),
        };
        let name = name.trim();
        if name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"MY."))
            && name[3..].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        {
            names.push(AttrName::from(&name[3..]));
        }
        at = found.dollar + 2;
    }
    names
}
