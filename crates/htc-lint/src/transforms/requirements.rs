//! Mistakes in REQUIREMENTS: conditions that can never be true, unknown names, and superseded lines.

use bstr::{BString, ByteSlice};
use htc_config::lint_rule::LintRule;

use crate::config::{is_slot_attribute, job_counterpart};
use crate::transforms::finding::{TransformLinter, TransformRunner};
use htc_base::job::Universe;
use htc_base::text::Span;
use htc_base::text::caseless;
use htc_base::text::similar_names;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr, Value, explain, references};
use htc_transform::RuleLine;
use htc_transform::Transform;
use htc_transform::attribute_pattern;
use htc_transform::scope_reference::find_scope;

impl TransformLinter<'_> {
    pub(super) fn lint_requirements(&mut self, transform: &Transform) {
        self.lint_superseded(transform);
        let Some(requirements) = &transform.envelope.requirements else { return };
        let (line, at) = (&requirements.line, requirements.at);
        let end = at + requirements.text.len();
        self.lint_expression_traps(line, &requirements.text, at, Dialect::of_world(self.world).old());
        let scopes: &[&str] = match self.runner {
            TransformRunner::Router => &["TARGET", "MY", "other"],
            _ => &["TARGET", "other"],
        };
        for word in scopes {
            if let Some(offset) = find_scope(&requirements.text, word) {
                let message = format!(
                    "{word}. is undefined in the REQUIREMENTS of a transform, because there is only one ad"
                );
                let place = Span::new(at + offset, at + offset + word.len() + 1);
                let fix = format!("write the attribute's name without '{word}.'");
                self.report(LintRule::Scope, line, place, message, fix);
            }
        }
        self.lint_slot_attributes(line, &requirements.expr, at, end);
        self.lint_universe_comparison(line, &requirements.expr, at, end);
        self.lint_job_expression(line, Span::new(at, end), &requirements.expr);
        if references::mentioned_attributes(&requirements.expr).is_empty() {
            if !may_be_true(&requirements.expr, self.world) {
                let message = "these REQUIREMENTS can never be true, so the transform is never applied";
                let fix = "remove the line or the transform";
                self.report(LintRule::Never, line, Span::new(at, end), message, fix);
            }
        } else if let Some(reason) = explain_never_true(&requirements.expr, self.world) {
            let message = format!("these REQUIREMENTS can never be true: {reason}");
            self.report(LintRule::Never, line, Span::new(at, end), message, "correct the condition");
        }
    }

    /// Reports attributes that only slots have.
    fn lint_slot_attributes(&mut self, line: &RuleLine, expr: &Expr, start: usize, end: usize) {
        for name in references::mentioned_attributes(expr) {
            let name = name.as_bytes();
            if !is_slot_attribute(name) {
                continue;
            }
            let shown = name.as_bstr();
            let message =
                format!("{shown} is always undefined: a job has no {shown}, which is an attribute of slots");
            let fix = match job_counterpart(name) {
                Some(near) => format!("write {near}"),
                None => format!("remove {shown}, or use a job attribute instead"),
            };
            let text = &line.text[start.min(line.text.len())..end.min(line.text.len())];
            let place = find_word(text, name)
                .map_or(Span::new(start, end), |found| Span::new(start + found, start + found + name.len()));
            self.report(LintRule::UnknownAttribute, line, place, message, fix);
        }
    }

    /// Reports `Universe is vanilla`: it compares two attributes that no job has, and is true if both are
    /// missing.
    fn lint_universe_comparison(&mut self, line: &RuleLine, expr: &Expr, start: usize, end: usize) {
        let names = references::mentioned_attributes(expr);
        let words = names.iter().filter(|name| Universe::from_name(name.as_bytes()).is_some());
        let universe = names.iter().filter(|name| caseless::eq(name.as_bytes(), b"Universe"));
        for name in words.chain(universe) {
            let text = &line.text[start.min(line.text.len())..end.min(line.text.len())];
            let found = find_word(text, name.as_bytes()).map_or(Span::new(start, end), |at| {
                Span::new(start + at, start + at + name.as_bytes().len())
            });
            let message =
                format!("{name} is the name of an attribute that jobs do not have, so it is undefined");
            let fix = match Universe::from_name(name.as_bytes()) {
                Some(universe) => {
                    format!("the universe is a number: write JobUniverse == {}", universe.number())
                }
                None => "write JobUniverse, the name of the attribute".to_owned(),
            };
            self.report(LintRule::Universe, line, found, message, fix);
        }
    }

    /// Reports a UNIVERSE that does not exist.
    pub(super) fn lint_universe(&mut self, transform: &Transform) {
        const NAMES: [&str; 7] = ["VANILLA", "GRID", "SCHEDULER", "LOCAL", "JAVA", "PARALLEL", "VM"];
        let lines = &transform.envelope.lines;
        let Some((_, line)) = lines.iter().rev().find(|(keyword, _)| *keyword == "UNIVERSE") else { return };
        let Some(word) = line.text.fields().nth(1) else { return };
        let is_number = || word.iter().all(u8::is_ascii_digit);
        if word.contains(&b'$') || is_number() || Universe::from_name(word).is_some() {
            return;
        }
        let start = line.text.rfind(word).unwrap_or_default();
        let message = format!("there is no universe {}", word.as_bstr());
        let near = similar_names::nearest(word, NAMES.map(str::as_bytes));
        let fix = match near {
            Some(near) => format!("did you mean {}?", near.as_bstr()),
            None => "write VANILLA, GRID, SCHEDULER or LOCAL".to_owned(),
        };
        let place = Span::new(start, start + word.len());
        self.report(LintRule::Universe, line, place, message, fix);
        if let Some(near) = near {
            self.correct_last(near);
        }
    }

    /// Reports superseded lines: NAME, REQUIREMENTS and UNIVERSE may appear anywhere and more than once, and HTCondor
    /// uses the last of each.
    fn lint_superseded(&mut self, transform: &Transform) {
        let lines = &transform.envelope.lines;
        for (at, (keyword, line)) in lines.iter().enumerate() {
            if let Some((_, last)) = lines[at + 1..].iter().rev().find(|(other, _)| other == keyword) {
                let message = format!("dead statement: only the last {keyword} is used,");
                let whole = Span::new(0, line.text.len());
                self.report(LintRule::Dead, line, whole, message, "remove it, or join the two");
                self.set_other_line(last.number);
            }
        }
    }
}

/// Returns the position of a word in a text, compared without regard to case.
pub(super) fn find_word(text: &[u8], word: &[u8]) -> Option<usize> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (0..text.len().saturating_sub(word.len() - 1)).find(|&at| {
        let end = at + word.len();
        caseless::eq(&text[at..end], word) && !is_part(text[..at].last()) && !is_part(text.get(end))
    })
}

/// Returns true if the value of an expression without references is treated as true.
fn may_be_true(expr: &Expr, world: &dyn World) -> bool {
    match Context::new(world).my(&ClassAd::new()).eval(expr) {
        Value::Bool(value) => value,
        Value::Int(value) => value != 0,
        Value::Real(value) => value != 0.0,
        _ => false,
    }
}

/// Returns the reason why a condition can never be true, if comparisons with constants prove it.
fn explain_never_true(expr: &Expr, world: &dyn World) -> Option<String> {
    let alternatives = explain::disjuncts(expr);
    if alternatives.len() > 1 {
        let reasons: Option<Vec<String>> =
            alternatives.iter().map(|alternative| explain_never_true(alternative, world)).collect();
        return Some(reasons?.join(", and "));
    }
    let mut known: Vec<ConstantComparison> = Vec::new();
    for term in explain::conjuncts(expr) {
        if references::mentioned_attributes(&term).is_empty() {
            if !may_be_true(&term, world) {
                return Some(format!("`{}` is not true", term.unparse_old()));
            }
            continue;
        }
        let Some(comparison) = ConstantComparison::from_term(&term, world) else { continue };
        let other = known.iter().find(|known| known.excludes(&comparison));
        if let Some(other) = other {
            return Some(format!("`{}` and `{}` exclude each other", other.text, comparison.text));
        }
        known.push(comparison);
    }
    None
}

/// A comparison of an attribute with a constant.
struct ConstantComparison {
    name: BString,
    sign: &'static str,
    value: Value,
    text: BString,
}

/// The comparison operators as they are printed, each with its equivalent for exchanged sides.
const MIRRORED_OPERATORS: [(&str, &str); 8] = [
    (" == ", " == "),
    (" != ", " != "),
    (" =?= ", " =?= "),
    (" =!= ", " =!= "),
    (" <= ", " >= "),
    (" >= ", " <= "),
    (" < ", " > "),
    (" > ", " < "),
];

impl ConstantComparison {
    fn from_term(term: &Expr, world: &dyn World) -> Option<Self> {
        let text = term.without_parentheses().unparse_old();
        let (at, sign, mirrored) = MIRRORED_OPERATORS
            .iter()
            .find_map(|(sign, mirrored)| Some((text.find(sign)?, *sign, *mirrored)))?;
        let (left, right) = (&text[..at], &text[at + sign.len()..]);
        let constant = |text: &[u8]| {
            let expr = Expr::parse_with(text, Dialect::of_world(world).old()).ok()?;
            let value = Context::new(world).my(&ClassAd::new()).eval(&expr);
            let is_sign = matches!(text.first(), Some(b'-' | b'+' | b' '));
            (expr.as_literal().is_some() || (is_sign && references::mentioned_attributes(&expr).is_empty()))
                .then_some(value)
        };
        let name = |text: &[u8]| {
            let bare = if caseless::starts_with(text, b"MY.") { &text[3..] } else { text };
            attribute_pattern::is_attribute_name(bare).then(|| BString::from(bare))
        };
        let (name, sign, value) = match (name(left), constant(right)) {
            (Some(name), Some(value)) => (name, sign, value),
            _ => (name(right)?, mirrored, constant(left)?),
        };
        Some(ConstantComparison { name, sign: sign.trim(), value, text })
    }

    /// Returns true if this comparison is false or undefined whenever the other one is true.
    fn excludes(&self, other: &ConstantComparison) -> bool {
        if !caseless::eq(&self.name, &other.name) {
            return false;
        }
        if self.requires_undefined() || other.requires_undefined() {
            let wants_value =
                |one: &ConstantComparison| !matches!(one.sign, "=?=" | "=!=") || one.requires_other_value();
            return wants_value(self) || wants_value(other);
        }
        let is = |one: &ConstantComparison| matches!(one.sign, "==" | "=?=");
        let is_not = |one: &ConstantComparison| matches!(one.sign, "!=" | "=!=");
        match (as_number(&self.value), as_number(&other.value)) {
            (Some(a), Some(b)) => match (is_not(self), is_not(other)) {
                (true, true) => false,
                (true, false) => is(other) && a == b,
                (false, true) => is(self) && a == b,
                (false, false) => {
                    let (low, high) = (self.value_bounds(a), other.value_bounds(b));
                    let (from, to) = (low.0.max(high.0), low.1.min(high.1));
                    let open = |sign| matches!(sign, "<" | ">");
                    from > to || (from == to && (open(self.sign) || open(other.sign)))
                }
            },
            _ => match (&self.value, &other.value) {
                (Value::Str(a), Value::Str(b)) => {
                    let same = caseless::eq(a, b);
                    (is(self) && is(other) && !same)
                        || (same && a == b && ((is(self) && is_not(other)) || (is_not(self) && is(other))))
                }
                (Value::Bool(a), Value::Bool(b)) => is(self) && is(other) && a != b,
                _ => false,
            },
        }
    }

    fn requires_undefined(&self) -> bool {
        self.sign == "=?=" && self.value == Value::Undefined
    }

    /// Returns true for `=?=` with a value, and for `=!= undefined`.
    fn requires_other_value(&self) -> bool {
        match self.sign {
            "=?=" => self.value != Value::Undefined,
            "=!=" => self.value == Value::Undefined,
            _ => false,
        }
    }

    /// Returns the range in which the attribute's value must be.
    fn value_bounds(&self, value: f64) -> (f64, f64) {
        match self.sign {
            "<" | "<=" => (f64::NEG_INFINITY, value),
            ">" | ">=" => (value, f64::INFINITY),
            _ => (value, value),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference gives the same result")]
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Real(value) => Some(*value).filter(|value| !value.is_nan()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn only_contradictory_conditions_are_reported() {
        let world = RealWorld::new();
        let is_never = |text: &str| {
            explain_never_true(&Expr::parse_with(text.as_bytes(), Dialect::old_syntax()).unwrap(), &world)
                .is_some()
        };
        for text in [
            "A == 1 && A == 2",
            "A == 1 && B && (a =?= 2)",
            "A == \"x\" && A == \"y\"",
            "A > 5 && A < 3",
            "A > 5 && A <= 5",
            "5 < A && 5 > MY.A",
            "A == 5 && A != 5",
            "A == 5 && A > 7.5",
            "A > 1 && false",
            "A =?= undefined && A == 1",
            "A =?= undefined && A =!= undefined",
            "(A == 1 && A == 2) || (B < 0 && B > 0)",
            "A == true && A == false",
            "A == -1 && A > 0",
        ] {
            assert!(is_never(text), "{text}");
        }
        for text in [
            "A == 1 && B == 2",
            "A == \"x\" && A == \"X\"",
            "A == \"x\" && A =!= \"X\"",
            "A > 3 && A < 5",
            "A >= 5 && A <= 5",
            "A != 1 && A != 2",
            "A == 1 || A == 2",
            "(A == 1 && A == 2) || B",
            "A =!= undefined && A == 1",
            "A =!= 1 && A =?= undefined",
            "A == B && A == 1",
            "A == 1 && size(A) == 2",
            "!(A == 1) && A == 2",
        ] {
            assert!(!is_never(text), "{text}");
        }
    }
}
