//! Values to try an attribute with: what the conditions that speak of it compare it with, and what lies beside.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use super::goal::{self, Leaf};
use super::pattern;
use crate::classad::references::Names;
use crate::classad::{AttrName, ClassAd, Expr, Shape, Value};
use crate::world::World;

/// A value to try; `None` for an attribute that is not there.
pub(super) type Trial = Option<Expr>;

/// Values for attributes.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    trials: BTreeMap<AttrName, Vec<Trial>>,
    known: BTreeSet<(AttrName, BString)>,
}

/// No attribute is tried with more values.
const MOST: usize = 600;

impl Pool {
    /// The values for an attribute.
    pub(super) fn of(&self, name: &AttrName) -> &[Trial] {
        self.trials.get(name).map_or(&[], Vec::as_slice)
    }

    /// The attributes.
    pub(super) fn names(&self) -> impl Iterator<Item = &AttrName> {
        self.trials.keys()
    }

    /// Takes in an attribute, with a value of each kind.
    pub(super) fn name(&mut self, name: &AttrName) {
        if !self.trials.contains_key(name) {
            any_kind().into_iter().for_each(|trial| self.add(name, trial));
        }
    }

    /// Takes in a value.
    pub(super) fn add(&mut self, name: &AttrName, trial: Trial) {
        let text = trial.as_ref().map_or_else(BString::default, Expr::unparse);
        let trials = self.trials.entry(name.clone()).or_default();
        if trials.len() < MOST && self.known.insert((name.clone(), text)) {
            trials.push(trial);
        }
    }

    /// Takes in what a part of a condition speaks of; returns the values that it has for each of its attributes.
    pub(super) fn leaf(&mut self, leaf: &Leaf, world: &dyn World) -> Vec<(AttrName, Vec<Trial>)> {
        let literals = literals(&leaf.expr);
        let mut around = ClassAd::new();
        leaf.names.iter().for_each(|name| around.set(name.clone(), 1));
        let selected = selections(&leaf.expr);
        let of = |name: &AttrName| {
            let mut trials = any_kind();
            trials.extend(literals.iter().cloned().map(Some));
            let numbers = boundaries(&leaf.expr, name, &around, world);
            trials.extend(numbers.into_iter().map(|number| Some(Expr::literal(number))));
            for field in &selected {
                let texts = literals.iter().map(|value| format!("[ {field} = {} ]", value.unparse()));
                trials.extend(texts.filter_map(|text| Expr::parse(text.as_bytes()).ok()).map(Some));
            }
            trials
        };
        let own: Vec<(AttrName, Vec<Trial>)> =
            leaf.names.iter().map(|name| (name.clone(), of(name))).collect();
        for (name, trials) in &own {
            self.name(name);
            trials.iter().for_each(|trial| self.add(name, trial.clone()));
        }
        own
    }
}

/// A value of each kind.
pub(super) fn any_kind() -> Vec<Trial> {
    let texts = ["true", "false", "0", "1", "-1", "2.5", "\"\"", "\"a\"", "{ 1,2 }"];
    let values = texts.iter().filter_map(|text| Expr::parse(text.as_bytes()).ok());
    std::iter::once(None).chain(values.map(Some)).collect()
}

/// Values made of the literals of an expression, the likeliest first.
fn literals(expr: &Expr) -> Vec<Expr> {
    let mut numbers: Vec<Value> = Vec::new();
    let mut strings: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut patterns: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut has_lists = false;
    let mut todo = vec![(expr.clone(), false)];
    while let Some((part, is_pattern)) = todo.pop() {
        match part.shape() {
            Shape::Literal(Value::Str(text)) if is_pattern => {
                patterns.insert(text.to_vec());
            }
            Shape::Literal(Value::Str(text)) => {
                strings.insert(text.to_vec());
            }
            Shape::Literal(value @ (Value::Int(_) | Value::Real(_))) => numbers.push(value),
            Shape::Call(name, parts) => {
                let is_regexp = name.to_lowercase().contains_str("regexp");
                has_lists |=
                    [&b"member"[..], b"identicalmember", b"anycompare", b"allcompare", b"size", b"sum"]
                        .into_iter()
                        .any(|list| name.eq_ignore_ascii_case(list));
                todo.extend(parts.into_iter().enumerate().map(|(at, part)| (part, is_regexp && at == 0)));
            }
            Shape::Other(_) => {
                has_lists = true;
                todo.extend(part.parts().into_iter().map(|part| (part, false)));
            }
            _ => todo.extend(part.parts().into_iter().map(|part| (part, false))),
        }
    }
    let mut values: Vec<Expr> = Vec::new();
    for number in &numbers {
        values.push(Expr::literal(number.clone()));
        match *number {
            Value::Int(number) => {
                values.extend([number.saturating_add(1), number.saturating_sub(1)].map(Expr::literal));
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a number of the other kind, as near as there is one"
                )]
                values.push(Expr::literal(number as f64));
                if let Ok(length @ 1..=300) = usize::try_from(number) {
                    values.extend([length - 1, length, length + 1].map(|length| text(&b"x".repeat(length))));
                }
            }
            Value::Real(number) => {
                let step = (number.abs() * 1e-9).max(1e-9);
                values.extend([number - step, number + step].map(Expr::literal));
            }
            _ => {}
        }
    }
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for pattern in &patterns {
        texts.extend(pattern::texts(pattern));
    }
    for string in &strings {
        texts.push(string.clone());
        let pieces = string.split(|byte| b", ;".contains(byte)).filter(|piece| !piece.is_empty());
        texts.extend(pieces.map(<[u8]>::to_vec));
    }
    let plain: Vec<Vec<u8>> = texts.iter().take(60).cloned().collect();
    for string in strings.iter().take(20) {
        texts.extend(pattern::near(string));
        texts.extend(other_digits(string));
        // What `substr(x, 3)` leaves over.
        for number in
            numbers.iter().filter_map(Value::as_int).filter_map(|number| usize::try_from(number).ok())
        {
            texts.push([&b"x".repeat(number.min(300))[..], string].concat());
        }
        // What `strcat(x, "@here")` and `split(x, "@")[0]` are made of.
        for other in strings.iter().take(20).filter(|other| *other != string) {
            texts.extend(string.strip_suffix(&other[..]).map(<[u8]>::to_vec));
            texts.extend(string.strip_prefix(&other[..]).map(<[u8]>::to_vec));
            texts.extend([[&string[..], other, b"x"].concat(), [&b"x"[..], other, string].concat()]);
        }
    }
    if has_lists {
        let items = values.iter().cloned().chain(plain.iter().map(|item| text(item)));
        let items: Vec<BString> = items.take(60).map(|item| item.unparse()).collect();
        let list =
            |items: &[BString]| Expr::parse(format!("{{ {} }}", bstr::join(",", items).as_bstr()).as_bytes());
        values.extend(list(&[]).ok());
        values.extend(items.iter().filter_map(|item| list(std::slice::from_ref(item)).ok()));
        values.extend(list(&items).ok());
    }
    let texts = texts.iter().map(|item| text(item));
    texts.chain(values).collect()
}

fn text(bytes: &[u8]) -> Expr {
    Expr::literal(BString::from(bytes))
}

/// The text with its last number one higher and one lower: versions.
fn other_digits(text: &[u8]) -> Vec<Vec<u8>> {
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

/// The fields that are selected from what an attribute may hold: `b` of `a.b`.
fn selections(expr: &Expr) -> Names {
    let mut names = Names::new();
    let mut todo = vec![expr.clone()];
    while let Some(part) = todo.pop() {
        if let Shape::Select(_, name) = part.shape() {
            names.insert(name.as_slice().into());
        }
        todo.extend(part.parts());
    }
    names
}

/// What is told apart of an expression's values when the number is looked for at which it changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Order(std::cmp::Ordering),
    Truth(bool),
    Text,
    Nothing,
}

fn class(expr: &Expr, ad: &ClassAd, world: &dyn World) -> Class {
    let value = |expr: &Expr| goal::value(expr, ad, world);
    let number = |value: &Value| match value {
        Value::Int(_) | Value::Real(_) | Value::AbsTime(_) | Value::RelTime(_) => value.as_real(),
        _ => None,
    };
    if let Shape::Compare(_, left, right) = expr.shape()
        && let (Some(left), Some(right)) = (number(&value(&left)), number(&value(&right)))
    {
        return left.partial_cmp(&right).map_or(Class::Nothing, Class::Order);
    }
    let value = value(expr);
    match (&value, value.truth()) {
        (_, Some(truth)) => Class::Truth(truth),
        (Value::Str(_), None) => Class::Text,
        _ => Class::Nothing,
    }
}

/// The whole numbers on both sides of each place where the expression changes as the attribute grows, the other attributes
/// being as in `ad`: the boundaries of comparisons, whatever is computed before they compare.
pub(super) fn boundaries(expr: &Expr, name: &AttrName, ad: &ClassAd, world: &dyn World) -> Vec<i64> {
    const MOST_CHANGES: usize = 12;
    let mut ad = ad.clone();
    let mut at = |number: i64| {
        ad.set(name.clone(), number);
        class(expr, &ad, world)
    };
    let ladder: Vec<(i64, Class)> =
        ladder(world.now().epoch()).into_iter().map(|number| (number, at(number))).collect();
    let mut found = Vec::new();
    for pair in ladder.windows(2) {
        let [(mut from, mut below), (to, above)] = [pair[0], pair[1]];
        while below != above && from < to && found.len() < MOST_CHANGES * 4 {
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

/// Numbers to begin with: powers of two and ten, and the same before and after the present.
fn ladder(now: i64) -> Vec<i64> {
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
