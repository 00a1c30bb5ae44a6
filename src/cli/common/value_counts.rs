//! `--count-by`, `--sum` and similar options: counts the ads for each value, and computes aggregates of the ads.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use bstr::BString;
use rustc_hash::FxHashMap;

use super::{RowOptions, compare_sort_keys};
use crate::classad::format::list::ListWriter;
use crate::classad::{AttrName, ClassAd, Context, Expr, Value};
use crate::text::plural::counted;

/// Kind of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Sum,
    Average,
    Minimum,
    Maximum,
}

impl AggregateKind {
    /// Returns the option that requests this aggregate.
    pub(crate) fn option(self) -> &'static str {
        match self {
            AggregateKind::Sum => "--sum",
            AggregateKind::Average => "--avg",
            AggregateKind::Minimum => "--min",
            AggregateKind::Maximum => "--max",
        }
    }

    /// Returns the prefix of the names of columns with this aggregate.
    fn prefix(self) -> &'static str {
        match self {
            AggregateKind::Sum => "Sum",
            AggregateKind::Average => "Avg",
            AggregateKind::Minimum => "Min",
            AggregateKind::Maximum => "Max",
        }
    }
}

/// Aggregate of an expression over the ads of a group.
#[derive(Debug)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) expr: Expr,
}

/// State of an aggregate for one group. Sum and average ignore values that are not numbers; all aggregates ignore undefined
/// values and errors.
#[derive(Debug, Default)]
struct AggregateState {
    count: u64,
    integers: Option<i64>,
    reals: f64,
    extreme: Option<Value>,
}

impl AggregateState {
    /// Adds a value. Returns false if the aggregate cannot use the value although the value is not undefined.
    fn add(&mut self, kind: AggregateKind, value: Value) -> bool {
        match kind {
            AggregateKind::Sum | AggregateKind::Average => {
                let Some(number) = value.as_real() else { return matches!(value, Value::Undefined) };
                let is_integer = matches!(value, Value::Int(_) | Value::Bool(_));
                let sum = self.integers.or((self.count == 0).then_some(0)).filter(|_| is_integer);
                self.integers = sum.and_then(|sum| sum.checked_add(value.as_int()?));
                self.reals += number;
                self.count += 1;
            }
            AggregateKind::Minimum | AggregateKind::Maximum => {
                if matches!(value, Value::Undefined | Value::Error) {
                    return matches!(value, Value::Undefined);
                }
                let is_more = self.extreme.as_ref().is_none_or(|extreme| {
                    let order =
                        compare_sort_keys(std::slice::from_ref(&value), std::slice::from_ref(extreme));
                    if kind == AggregateKind::Minimum { order.is_lt() } else { order.is_gt() }
                });
                if is_more {
                    self.extreme = Some(value);
                }
            }
        }
        true
    }

    fn value(&self, kind: AggregateKind) -> Value {
        match kind {
            AggregateKind::Sum if self.count == 0 => Value::Int(0),
            AggregateKind::Sum => self.integers.map_or(Value::Real(self.reals), Value::Int),
            AggregateKind::Average if self.count == 0 => Value::Undefined,
            AggregateKind::Average => Value::Real(self.reals / self.count as f64),
            AggregateKind::Minimum | AggregateKind::Maximum => {
                self.extreme.clone().unwrap_or(Value::Undefined)
            }
        }
    }
}

/// Output form of the groups.
#[derive(Debug)]
pub(crate) struct CountForm<'a> {
    /// Options for separated rows.
    pub(crate) rows: RowOptions,
    /// Text for undefined values, or `None` for the default text.
    pub(crate) undefined: Option<&'a OsStr>,
    /// True if text rows with aggregates have a heading, which is printed only on a terminal.
    pub(crate) has_heading: bool,
    /// Maximum number of groups that are printed.
    pub(crate) limit: usize,
    /// Writer that prints the groups as ads, or `None` to print rows.
    pub(crate) list: Option<ListWriter>,
}

/// Heading of the column with the number of ads.
const COUNT_HEADING: &str = "Count";

/// Group of ads with the same values.
#[derive(Debug, Default)]
struct Group {
    values: Vec<Value>,
    count: u64,
    aggregates: Vec<AggregateState>,
}

/// Counts of the ads with each value, or with each combination of values if there are several expressions, and their aggregates.
#[derive(Debug, Default)]
pub(crate) struct ValueCounts {
    groups: FxHashMap<BString, Group>,
    /// For each aggregate, the number of values that it left out although they are not undefined.
    left_out: Vec<u64>,
}

impl ValueCounts {
    /// Adds an ad to the group of its values.
    pub(crate) fn add_ad(&mut self, by: &[Expr], aggregates: &[Aggregate], context: &Context<'_>) {
        let values: Vec<Value> = by.iter().map(|expr| context.eval(expr)).collect();
        let mut key = BString::default();
        for value in &values {
            key.extend_from_slice(&value.unparse());
            key.push(0);
        }
        let group = self.groups.entry(key).or_default();
        if group.count == 0 {
            group.values = values;
            group.aggregates.resize_with(aggregates.len(), AggregateState::default);
        }
        group.count += 1;
        self.left_out.resize(aggregates.len(), 0);
        for ((state, aggregate), left_out) in
            group.aggregates.iter_mut().zip(aggregates).zip(&mut self.left_out)
        {
            *left_out += u64::from(!state.add(aggregate.kind, context.eval(&aggregate.expr)));
        }
    }

    /// Returns a warning about the values that aggregates left out because they are errors or not numbers, or `None`.
    pub(crate) fn left_out_warning(&self, aggregates: &[Aggregate]) -> Option<String> {
        let mut parts = Vec::new();
        for (aggregate, left_out) in aggregates.iter().zip(&self.left_out).filter(|(_, count)| **count > 0) {
            let values = counted(usize::try_from(*left_out).unwrap_or(usize::MAX), "value");
            let reason = match aggregate.kind {
                AggregateKind::Sum | AggregateKind::Average => "not a number",
                AggregateKind::Minimum | AggregateKind::Maximum => "error",
            };
            parts.push(format!(
                "{} {} left out {values} ({reason})",
                aggregate.kind.option(),
                aggregate.expr.unparse()
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Prints the groups, the most frequent first. Equally frequent groups are sorted by their texts. Returns the number of rows.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub(crate) fn print(
        self,
        form: CountForm<'_>,
        by: &[Expr],
        aggregates: &[Aggregate],
        out: &mut impl Write,
    ) -> anyhow::Result<u64> {
        let mut groups: Vec<(BString, Group)> = self.groups.into_iter().collect();
        // Without --count-by, all ads are one group, even if there are none.
        if by.is_empty() && groups.is_empty() {
            let mut group = Group::default();
            group.aggregates.resize_with(aggregates.len(), AggregateState::default);
            groups.push((BString::default(), group));
        }
        groups.sort_by(|(one, few), (other, many)| many.count.cmp(&few.count).then_with(|| one.cmp(other)));
        groups.truncate(form.limit);
        let lines = groups.len() as u64;
        let names = column_names(by, aggregates);
        let row = |group: &Group| -> Vec<Value> {
            let states = group.aggregates.iter().zip(aggregates);
            let aggregated = states.map(|(state, aggregate)| state.value(aggregate.kind));
            group.values.iter().cloned().chain(aggregated).collect()
        };
        if let Some(separated) = form.rows.form() {
            let mut text = Vec::new();
            let header = names.iter().map(|name| name.as_bytes().to_vec());
            separated.push_row(std::iter::once(b"Count".to_vec()).chain(header), &mut text);
            for (_, group) in &groups {
                let cells =
                    row(group).iter().map(|value| cell_text(value, form.undefined)).collect::<Vec<_>>();
                separated.push_row(
                    std::iter::once(BString::from(group.count.to_string())).chain(cells),
                    &mut text,
                );
            }
            out.write_all(&text)?;
            return Ok(lines);
        }
        match form.list {
            None => {
                if by.is_empty() {
                    return print_aggregates(&form, &names, groups.iter().map(|(_, group)| row(group)), out);
                }
                let mut width = groups.first().map_or(0, |(_, group)| group.count.to_string().len());
                // Columns of numbers cannot be distinguished without headings.
                if form.has_heading && !aggregates.is_empty() && !form.rows.null {
                    width = width.max(COUNT_HEADING.len());
                    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                    writeln!(out, "{COUNT_HEADING:>width$} {}", names.join(" "))?;
                }
                for (_, group) in &groups {
                    write!(out, "{:>width$}", group.count)?;
                    for value in row(group) {
                        out.write_all(b" ")?;
                        out.write_all(&format_value(&value, form.undefined))?;
                    }
                    out.write_all(if form.rows.null { b"\0" } else { b"\n" })?;
                }
            }
            Some(mut writer) => {
                for (_, group) in &groups {
                    let mut ad = ClassAd::new();
                    ad.set("Count", i64::try_from(group.count).unwrap_or(i64::MAX));
                    for (name, value) in names.iter().zip(row(group)) {
                        ad.insert(name.clone(), Expr::literal(value));
                    }
                    writer.write(&ad, out)?;
                }
                writer.finish(out)?;
            }
        }
        Ok(lines)
    }
}

/// Prints the aggregates of all ads as text, without their number. Returns the number of rows.
fn print_aggregates(
    form: &CountForm<'_>,
    names: &[AttrName],
    rows: impl Iterator<Item = Vec<Value>>,
    out: &mut impl Write,
) -> anyhow::Result<u64> {
    // A single number needs no heading.
    if form.has_heading && names.len() > 1 && !form.rows.null {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        writeln!(out, "{}", names.join(" "))?;
    }
    let mut lines = 0;
    for row in rows {
        let cells: Vec<BString> = row.iter().map(|value| format_value(value, form.undefined)).collect();
        out.write_all(&bstr::join(" ", cells))?;
        out.write_all(if form.rows.null { b"\0" } else { b"\n" })?;
        lines += 1;
    }
    Ok(lines)
}

/// Returns the names of the columns that follow the count.
fn column_names(by: &[Expr], aggregates: &[Aggregate]) -> Vec<AttrName> {
    let counted = (1..).zip(by).map(|(number, expr)| column_name(expr, number));
    let aggregated = (1..).zip(aggregates).map(|(number, aggregate)| {
        let of = column_name(&aggregate.expr, number);
        AttrName::from([aggregate.kind.prefix().as_bytes(), of.as_bytes()].concat())
    });
    counted.chain(aggregated).collect()
}

/// Returns the text for a value in a separated row. The text for an undefined value is empty, unless `--undefined` sets another.
fn cell_text(value: &Value, undefined: Option<&OsStr>) -> BString {
    match (value, undefined) {
        (Value::Undefined, None) => BString::default(),
        _ => format_value(value, undefined),
    }
}

/// Returns the name of a column: the name of the attribute, or a numbered name if the expression is not a single attribute.
fn column_name(expr: &Expr, number: usize) -> AttrName {
    let text = expr.unparse();
    let is_name = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !text.first().is_none_or(u8::is_ascii_digit);
    if is_name { AttrName::from(&text[..]) } else { AttrName::from(format!("Value{number}").as_bytes()) }
}

fn format_value(value: &Value, undefined: Option<&OsStr>) -> BString {
    match (value, undefined) {
        (Value::Undefined, Some(text)) => text.as_bytes().into(),
        (value, _) => match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.unparse_old(),
        },
    }
}
