//! Values to try for an attribute: those that conditions compare it with, and values next to them.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};

use super::goal;
use super::pattern_texts;
use htc_base::world::World;
use htc_classad::references::AttrNames;
use htc_classad::{AttrName, ClassAd, Expr, ExprKind, Value};

/// Value to try, or `None` to remove the attribute.
pub(super) type TrialValue = Option<Expr>;

/// Returns a value of each kind.
pub(super) fn one_of_each_kind() -> Vec<TrialValue> {
    let texts = ["true", "false", "0", "1", "-1", "2.5", "\"\"", "\"a\"", "{ 1,2 }"];
    let values = texts.iter().filter_map(|text| Expr::parse(text.as_bytes()).ok());
    std::iter::once(None).chain(values.map(Some)).collect()
}

/// Literals in an expression, from which trial values are made.
#[derive(Default)]
struct ExprLiterals {
    numbers: Vec<Value>,
    strings: BTreeSet<Vec<u8>>,
    patterns: BTreeSet<Vec<u8>>,
    /// True if the expression contains lists or functions of lists.
    has_lists: bool,
}

/// Functions with a list as an argument.
const LIST_FUNCTIONS: [&[u8]; 6] =
    [b"member", b"identicalmember", b"anycompare", b"allcompare", b"size", b"sum"];

impl ExprLiterals {
    fn from_expr(expr: &Expr) -> Self {
        let mut found = ExprLiterals::default();
        let mut todo = vec![(expr.clone(), false)];
        while let Some((part, is_pattern)) = todo.pop() {
            match part.kind() {
                ExprKind::Literal(Value::Str(text)) if is_pattern => {
                    found.patterns.insert(text.to_vec());
                }
                ExprKind::Literal(Value::Str(text)) => {
                    found.strings.insert(text.to_vec());
                }
                ExprKind::Literal(value @ (Value::Int(_) | Value::Real(_))) => found.numbers.push(value),
                ExprKind::Call(name, parts) => {
                    let is_regexp = name.to_lowercase().contains_str("regexp");
                    found.has_lists |= LIST_FUNCTIONS.iter().any(|list| name.eq_ignore_ascii_case(list));
                    todo.extend(parts.into_iter().enumerate().map(|(at, part)| (part, is_regexp && at == 0)));
                }
                ExprKind::Other(_) => {
                    found.has_lists = true;
                    todo.extend(part.parts().into_iter().map(|part| (part, false)));
                }
                _ => todo.extend(part.parts().into_iter().map(|part| (part, false))),
            }
        }
        found
    }

    /// Returns the strings themselves, and texts that match the patterns.
    fn plain_texts(&self) -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> =
            self.patterns.iter().flat_map(|it| pattern_texts::generate_matching_texts(it)).collect();
        for string in &self.strings {
            texts.push(string.clone());
            let pieces = string.split(|byte| b", ;".contains(byte)).filter(|piece| !piece.is_empty());
            texts.extend(pieces.map(<[u8]>::to_vec));
        }
        texts
    }

    /// Returns the numbers themselves and those next to them.
    fn plain_numbers(&self) -> Vec<Expr> {
        let mut values = Vec::new();
        for number in &self.numbers {
            values.push(Expr::literal(number.clone()));
            match *number {
                Value::Int(number) => {
                    values.extend([number.saturating_add(1), number.saturating_sub(1)].map(Expr::literal));
                }
                Value::Real(number) => {
                    let step = (number.abs() * 1e-9).max(1e-9);
                    values.extend([number - step, number + step].map(Expr::literal));
                }
                _ => {}
            }
        }
        values
    }

    /// Returns texts that nearly match, and texts composed of the strings.
    fn near_texts(&self) -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> =
            self.patterns.iter().flat_map(|it| pattern_texts::generate_texts(it)).collect();
        let lengths = self.numbers.iter().filter_map(Value::as_int);
        let lengths: Vec<usize> = lengths.filter_map(|number| usize::try_from(number).ok()).collect();
        for &length in lengths.iter().filter(|length| (1..=300).contains(*length)) {
            texts.extend([length - 1, length, length + 1].map(|length| b"x".repeat(length)));
        }
        for string in self.strings.iter().take(20) {
            texts.extend(pattern_texts::near_misses(string));
            texts.extend(adjacent_versions(string));
            // Texts of which `substr(x, 3)` returns the string.
            texts.extend(lengths.iter().map(|&length| [&b"x".repeat(length.min(300))[..], string].concat()));
            // Texts that yield the string in `strcat(x, "@here")` and `split(x, "@")[0]`.
            for other in self.strings.iter().take(20).filter(|other| *other != string) {
                texts.extend(string.strip_suffix(&other[..]).map(<[u8]>::to_vec));
                texts.extend(string.strip_prefix(&other[..]).map(<[u8]>::to_vec));
                texts.extend([[&string[..], other, b"x"].concat(), [&b"x"[..], other, string].concat()]);
            }
        }
        texts
    }

    /// Returns integers as reals, and lists of some of the values.
    fn near_values(&self, plain: &[Expr]) -> Vec<Expr> {
        #[expect(clippy::cast_precision_loss, reason = "the nearest number of the other type")]
        let mut values: Vec<Expr> = self
            .numbers
            .iter()
            .filter_map(
                |number| if let Value::Int(it) = number { Some(Expr::literal(*it as f64)) } else { None },
            )
            .collect();
        if self.has_lists {
            let items: Vec<BString> = plain.iter().take(120).map(Expr::unparse).collect();
            let list = |items: &[BString]| {
                Expr::parse(format!("{{ {} }}", bstr::join(",", items).as_bstr()).as_bytes())
            };
            values.extend(list(&[]).ok());
            values.extend(items.iter().filter_map(|item| list(std::slice::from_ref(item)).ok()));
            values.extend(list(&items).ok());
        }
        values
    }
}

/// Values to try for an attribute: first those that a condition contains, then values near them.
#[derive(Clone, Debug, Default)]
pub(super) struct TrialValues {
    pub(super) plain: Vec<TrialValue>,
    pub(super) near: Vec<TrialValue>,
}

/// Returns the values of a part of a condition for each of its attributes.
pub(super) fn values_for_part(
    expr: &Expr,
    names: &AttrNames,
    world: &dyn World,
) -> Vec<(AttrName, TrialValues)> {
    let literals = ExprLiterals::from_expr(expr);
    let texts = |texts: Vec<Vec<u8>>| texts.into_iter().map(|it| text_literal(&it));
    let plain: Vec<Expr> = texts(literals.plain_texts()).chain(literals.plain_numbers()).collect();
    let near: Vec<Expr> = texts(literals.near_texts()).chain(literals.near_values(&plain)).collect();
    let mut other_values = ClassAd::new();
    names.iter().for_each(|name| other_values.set(name.clone(), 1));
    let selected = selected_fields(expr);
    let trials_for = |name: &AttrName| {
        let numbers = boundaries(expr, name, &other_values, world);
        let numbers = numbers.into_iter().map(|number| Some(Expr::literal(number)));
        let mut trials = TrialValues {
            plain: one_of_each_kind()
                .into_iter()
                .chain(plain.iter().cloned().map(Some))
                .chain(numbers)
                .collect(),
            near: near.iter().cloned().map(Some).collect(),
        };
        for field in &selected {
            let texts = plain.iter().chain(&near).map(|value| format!("[ {field} = {} ]", value.unparse()));
            trials.near.extend(texts.filter_map(|text| Expr::parse(text.as_bytes()).ok()).map(Some));
        }
        trials
    };
    names.iter().map(|name| (name.clone(), trials_for(name))).collect()
}

fn text_literal(bytes: &[u8]) -> Expr {
    Expr::literal(BString::from(bytes))
}

/// Returns the text with its last number increased and decreased by one, for version numbers.
fn adjacent_versions(text: &[u8]) -> Vec<Vec<u8>> {
    let Some(end) = text.iter().rposition(u8::is_ascii_digit).map(|at| at + 1) else { return Vec::new() };
    let start = text[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let Some(number) = text[start..end].to_str().ok().and_then(|digits| digits.parse::<u64>().ok()) else {
        return Vec::new();
    };
    [number.checked_add(1), number.checked_sub(1)]
        .into_iter()
        .flatten()
        .map(|number| [&text[..start], number.to_string().as_bytes(), &text[end..]].concat())
        .collect()
}

/// Returns the fields selected from attributes: `b` of `a.b`.
fn selected_fields(expr: &Expr) -> AttrNames {
    let mut names = AttrNames::new();
    let mut todo = vec![expr.clone()];
    while let Some(part) = todo.pop() {
        if let ExprKind::Select(_, name) = part.kind() {
            names.insert(name.as_slice().into());
        }
        todo.extend(part.parts());
    }
    names
}

/// Class of an expression's value, used to find the numbers at which it changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueClass {
    Order(std::cmp::Ordering),
    Truth(bool),
    Text,
    Other,
}

fn classify(expr: &Expr, ad: &ClassAd, world: &dyn World) -> ValueClass {
    let value = |expr: &Expr| goal::evaluate(expr, ad, world);
    let number = |value: &Value| match value {
        Value::Int(_) | Value::Real(_) | Value::AbsTime(_) | Value::RelTime(_) => value.as_real(),
        _ => None,
    };
    if let ExprKind::Compare(_, left, right) = expr.kind()
        && let (Some(left), Some(right)) = (number(&value(&left)), number(&value(&right)))
    {
        return left.partial_cmp(&right).map_or(ValueClass::Other, ValueClass::Order);
    }
    let value = value(expr);
    match (&value, value.truth()) {
        (_, Some(truth)) => ValueClass::Truth(truth),
        (Value::Str(_), None) => ValueClass::Text,
        _ => ValueClass::Other,
    }
}

/// Returns the integers on both sides of each point where the expression changes as the attribute increases,
/// with the other attributes as in `ad`. These are the boundaries of comparisons, whatever is computed before
/// the comparison.
pub(super) fn boundaries(expr: &Expr, name: &AttrName, ad: &ClassAd, world: &dyn World) -> Vec<i64> {
    const MAX_CHANGES: usize = 12;
    let mut ad = ad.clone();
    let mut at = |number: i64| {
        ad.set(name.clone(), number);
        classify(expr, &ad, world)
    };
    let probes: Vec<(i64, ValueClass)> =
        probe_numbers(world.now().epoch()).into_iter().map(|number| (number, at(number))).collect();
    let mut found = Vec::new();
    for pair in probes.windows(2) {
        let [(mut from, mut below), (to, above)] = [pair[0], pair[1]];
        while below != above && from < to && found.len() < MAX_CHANGES * 4 {
            let (mut low, mut high) = (from, to);
            while high.abs_diff(low) > 1 {
                let middle = low + (high.abs_diff(low) / 2).cast_signed();
                if at(middle) == below { low = middle } else { high = middle }
            }
            found.extend([low.saturating_sub(1), low, high, high.saturating_add(1)]);
            (from, below) = (high, at(high));
        }
    }
    found
}

/// Returns the numbers at which the search begins: powers of two and ten, positive and negative, and the current time
/// plus and minus these powers.
fn probe_numbers(now: i64) -> Vec<i64> {
    let powers = (0..53).map(|power| 1_i64 << power).chain((0..16).map(|power| 10_i64.pow(power)));
    let steps: Vec<i64> = powers.collect();
    let mut numbers: Vec<i64> = vec![0, now];
    numbers.extend(steps.iter().flat_map(|step| [*step, -*step]));
    let near = steps.iter().filter(|step| **step < 1 << 36);
    numbers.extend(near.flat_map(|step| [now.saturating_add(*step), now.saturating_sub(*step)]));
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
