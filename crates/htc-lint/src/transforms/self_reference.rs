//! Attributes that refer to themselves because of a SET or DEFAULT.

use bstr::ByteSlice;
use htc_base::text::Span;
use htc_base::text::caseless;
use htc_classad::{Dialect, Expr};
use htc_config::lint_rule::LintRule;
use htc_config::macro_reference::next_reference;
use htc_transform::{CommandAttribute, CommandKeyword, RuleLine, TransformCommand};

use super::finding::TransformLinter;
use crate::config::references_in_same_ad;

/// Maximum number of attributes that are followed.
const MAX_STEPS: usize = 50;

impl TransformLinter<'_> {
    /// Reports a SET or DEFAULT that stores an expression which needs the attribute itself, directly or through others that
    /// the transform has set: evaluation never ends, so the attribute is undefined.
    pub(super) fn lint_self_reference(&mut self, line: &RuleLine, command: &TransformCommand) {
        let Some(CommandAttribute::Name { name, .. }) = &command.attribute else {
            // A pattern may change any attribute.
            self.set_references.clear();
            return;
        };
        let key = name.to_ascii_lowercase();
        let is_stored = matches!(command.keyword, CommandKeyword::Set | CommandKeyword::Default);
        if !is_stored {
            self.set_references.remove(&key);
            return;
        }
        let text = without_macros(&command.value);
        let Ok(expr) = Expr::parse_with(&text, Dialect::of_world(self.world).old()) else { return };
        // Another rule reports `SET A A`.
        if expr.without_parentheses().is_reference() {
            return;
        }
        let references = references_in_same_ad(&expr);
        let is_direct = references.contains(&key);
        let through = if is_direct { None } else { self.find_dependency(&key, &references) };
        if is_direct || through.is_some() {
            let message = match &through {
                None => format!(
                    "{} stores an expression: {name} refers to itself and is undefined",
                    command.keyword.name()
                ),
                Some(other) => format!(
                    "{} stores an expression: {name} refers to {}, which refers to {name}: both are undefined",
                    command.keyword.name(),
                    other.as_bstr()
                ),
            };
            let fix = format!("write EVALSET {name} to store the value that the expression has now");
            let at = Span::new(command.value_at, line.text.len());
            self.report(LintRule::Expression, line, at, message, fix);
        }
        self.set_references.insert(key, references);
    }

    /// Returns an attribute among `references` that needs `key`.
    fn find_dependency(&self, key: &[u8], references: &[Vec<u8>]) -> Option<Vec<u8>> {
        references.iter().find_map(|first| {
            let (mut waiting, mut visited) = (vec![first.clone()], Vec::new());
            while let Some(next) = waiting.pop() {
                if visited.len() > MAX_STEPS || visited.contains(&next) {
                    continue;
                }
                let needs = self.set_references.get(&next).map_or(&[][..], |needs| &needs[..]);
                if needs.iter().any(|need| caseless::eq(need, key)) {
                    return Some(first.clone());
                }
                waiting.extend(needs.iter().cloned());
                visited.push(next);
            }
            None
        })
    }
}

/// Returns a value with a number in place of each macro and function.
fn without_macros(value: &[u8]) -> Vec<u8> {
    let (mut text, mut at) = (Vec::new(), 0);
    while let Some(found) = next_reference(value, at, &mut None, |_, _| true) {
        let start = value[..found.body].rfind_byte(b'$').unwrap_or(found.body).max(at);
        text.extend_from_slice(&value[at..start]);
        text.extend_from_slice(b"1");
        at = found.end;
    }
    text.extend_from_slice(&value[at..]);
    text
}
