//! Rows of values that a print mask renders, before they are formatted.

use crate::classad::{ClassAd, Context, Value};

use super::column_source::ColumnSource;
use super::print_format::ConversionKind;

/// Value of one column for one ad.
#[derive(Clone, Debug)]
pub(super) enum MaskCell {
    /// Value that the format cannot print. A function that is called for all values still gets it.
    Invalid(Value),
    /// Evaluation that failed, for which the condor tools print nothing.
    Failed,
    Value(Value),
}

/// Row of the values that a mask renders for one ad.
#[derive(Clone, Debug)]
pub struct RenderedRow {
    pub(super) cells: Vec<MaskCell>,
    pub(super) truncated_number: Option<(String, i64)>,
}

impl RenderedRow {
    /// Returns the format and the number of a column that prints only the low 32 bits of the number, if that changes
    /// the number.
    pub fn truncated_number(&self) -> Option<&(String, i64)> {
        self.truncated_number.as_ref()
    }

    /// Returns the value of a column, or `None` if the column has no valid value.
    pub(crate) fn value(&self, column: usize) -> Option<&Value> {
        match self.cells.get(column) {
            Some(MaskCell::Value(value)) => Some(value),
            _ => None,
        }
    }

    /// Replaces the value of a column if the column exists. If `is_valid` is false, the value is not printed.
    pub(crate) fn set_value(&mut self, column: usize, value: Value, is_valid: bool) {
        if let Some(cell) = self.cells.get_mut(column) {
            *cell = if is_valid { MaskCell::Value(value) } else { MaskCell::Invalid(value) };
        }
    }
}

/// Returns the value that a conversion prints: the value of the attribute or, if the ad has no such attribute, the
/// value of the column's text as an expression.
pub(super) fn attribute_cell(
    ad: &ClassAd,
    context: &Context<'_>,
    source: &ColumnSource,
    kind: ConversionKind,
) -> MaskCell {
    let own = ad.get(&source.name);
    let is_own = own.is_some();
    let invalid = || MaskCell::Invalid(Value::Undefined);
    let Some(expr) = own.as_ref().or(source.expr.as_ref()) else { return invalid() };
    let unparsed = || MaskCell::Value(Value::Str(expr.unparse_old()));
    match kind {
        ConversionKind::Raw if !is_own && expr.is_reference() => MaskCell::Value(Value::from("undefined")),
        ConversionKind::Raw => unparsed(),
        // For a value that is not a string, %s prints the expression of an attribute, and nothing for any other
        // expression.
        ConversionKind::Str => match context.eval(expr) {
            Value::Str(text) => MaskCell::Value(Value::Str(text)),
            _ if is_own => unparsed(),
            _ => invalid(),
        },
        ConversionKind::Int | ConversionKind::Char | ConversionKind::Time => {
            let number = context.eval(expr).as_int();
            number.map_or(MaskCell::Invalid(Value::Int(0)), |number| MaskCell::Value(Value::Int(number)))
        }
        ConversionKind::Float => {
            let number = context.eval(expr).as_real();
            number.map_or(MaskCell::Invalid(Value::Real(0.0)), |number| MaskCell::Value(Value::Real(number)))
        }
        ConversionKind::Date => match context.eval(expr) {
            time @ Value::AbsTime(_) => MaskCell::Value(time),
            value => value.as_int().map_or_else(invalid, |number| MaskCell::Value(Value::Int(number))),
        },
        ConversionKind::Value | ConversionKind::Pointer => {
            context.try_eval(expr).map_or(MaskCell::Failed, MaskCell::Value)
        }
    }
}
