//! Columns of ads: `-autoformat`, `-format` and print formats (reference: ad_printmask.cpp, class AttrListPrintMask).
//!
//! An ad is rendered to a row of values, which is displayed later: with headings, each column is as wide as its widest value in
//! all ads.

use crate::classad::stream::Projection;
use crate::classad::{AttrName, ClassAd, Context, Expr, Value, references};
use crate::world::World;

use super::column_functions::{ColumnFunction, ColumnFunctionUse, FunctionSettings};
use super::column_source::{BadColumn, ColumnSource, parse_source};
use super::machine_columns::ColumnWidth;
use super::print_format::{self, ConversionKind, PrintfFormat};
use super::print_letters::{AutoformatLetters, MissingValueText};
use super::print_row::{MaskCell, RenderedRow, attribute_cell};

/// Description of a column to add.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnSpec<'a> {
    pub(crate) expr: &'a [u8],
    /// Printf format, in which escape sequences are not yet resolved, or `None`.
    pub(crate) format: Option<&'a [u8]>,
    pub(crate) function: Option<ColumnFunction>,
    /// Width of the column: negative to align to the left, 0 for the width of the format.
    pub(crate) width: i64,
    pub(crate) flags: ColumnFlags,
    pub(crate) alternative: MissingValueText,
}

/// Options for the printing of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnFlags {
    pub(crate) left: bool,
    pub(crate) grows: bool,
    pub(crate) is_cut: bool,
    pub(crate) no_prefix: bool,
    pub(crate) no_suffix: bool,
    pub(crate) always: bool,
}

/// Column that a mask prints.
#[derive(Clone, Debug)]
pub(crate) struct MaskColumn {
    source: ColumnSource,
    format: Option<PrintfFormat>,
    function: Option<ColumnFunction>,
    pub(crate) width: usize,
    pub(crate) flags: ColumnFlags,
    pub(crate) alternative: MissingValueText,
    /// True if the column is not printed.
    pub(crate) is_hidden: bool,
}

/// Columns of an output and the separators between them.
#[derive(Clone, Debug, Default)]
pub struct PrintMask {
    columns: Vec<MaskColumn>,
    headings: Vec<Vec<u8>>,
    pub(crate) separators: Separators,
    /// Maximum length of a line, or `None`.
    overall_width: Option<usize>,
    pub(crate) functions: FunctionSettings,
    undefined: Option<Vec<u8>>,
    strict: bool,
}

/// Texts before and after rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Separators {
    pub(crate) row_prefix: Vec<u8>,
    pub(crate) prefix: Vec<u8>,
    pub(crate) suffix: Vec<u8>,
    pub(crate) row_suffix: Vec<u8>,
}

impl PrintMask {
    /// Adds the columns of one `-autoformat`, with the letters after its colon. If a word is invalid, the columns before it are
    /// kept.
    ///
    /// # Errors
    /// Returns an error for a word that is not a valid expression.
    pub fn add_autoformat<'a>(
        &mut self,
        letters: &[u8],
        words: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), BadColumn> {
        let letters = AutoformatLetters::parse(letters);
        self.separators = Separators {
            row_prefix: letters.row_prefix.into_iter().collect(),
            prefix: letters.prefix.into_iter().collect(),
            suffix: letters.suffix.into_iter().collect(),
            row_suffix: b"\n".to_vec(),
        };
        if letters.job_id {
            let with_heading = letters.headings || self.has_headings();
            if with_heading {
                self.headings.push(b" ID".to_vec());
            }
            self.columns.push(MaskColumn {
                source: parse_source(b"ClusterId")?,
                format: Some(PrintfFormat::new(if letters.label { b"ID = %v" } else { b"%v" })),
                function: Some(ColumnFunction::JobId),
                width: 0,
                flags: ColumnFlags { left: true, grows: with_heading, ..ColumnFlags::default() },
                alternative: MissingValueText::default(),
                is_hidden: false,
            });
        }
        for word in words {
            let source = parse_source(word)?;
            let with_heading = letters.headings || self.has_headings();
            // Columns without `h` after columns with headings also get headings, except long expressions.
            let is_scalar = |value: Value| !matches!(value, Value::List(_) | Value::Ad(_));
            let is_simple = |expr: &Expr| expr.is_reference() || expr.as_literal().is_some_and(is_scalar);
            let hidden = !letters.headings && word.len() > 16 && !source.expr.as_ref().is_some_and(is_simple);
            let heading: &[u8] = if hidden { b"(expr)" } else { word };
            let label = if letters.label && !with_heading { [word, b" = "].concat() } else { Vec::new() };
            let format = PrintfFormat::new(&[&label, letters.conversion.as_bytes()].concat());
            if with_heading {
                self.headings.push(heading.to_vec());
            }
            self.columns.push(MaskColumn {
                source,
                format: Some(format),
                function: None,
                width: if with_heading { heading.len() } else { 0 },
                flags: ColumnFlags {
                    left: with_heading,
                    grows: with_heading,
                    is_cut: letters.label && !with_heading,
                    ..ColumnFlags::default()
                },
                alternative: MissingValueText::default(),
                is_hidden: false,
            });
        }
        Ok(())
    }

    /// Adds the column of one `-format`. If the attribute is invalid, the column is kept and prints only the text of its format.
    ///
    /// # Errors
    /// Returns an error if the attribute is not a valid expression.
    pub fn add_format(&mut self, format: &[u8], attribute: &[u8]) -> Result<(), BadColumn> {
        self.add_column(&ColumnSpec { expr: attribute, format: Some(format), ..ColumnSpec::default() })
    }

    /// Adds a column, even if its expression is not valid (`commonRegisterFormat`).
    ///
    /// # Errors
    /// Returns an error if the text is not a valid expression.
    pub(crate) fn add_column(&mut self, spec: &ColumnSpec<'_>) -> Result<(), BadColumn> {
        let format = spec.format.map(PrintfFormat::new);
        let mut flags = spec.flags;
        flags.left |= spec.width < 0;
        let mut width = usize::try_from(spec.width.unsigned_abs()).unwrap_or(0);
        if let (0, Some(format)) = (width, &format) {
            let (of_format, left) = format.width();
            width = of_format;
            flags.left |= left;
        }
        let (source, outcome) = match parse_source(spec.expr) {
            Ok(source) => (source, Ok(())),
            Err(bad) => (ColumnSource { name: spec.expr.to_vec(), expr: None }, Err(bad)),
        };
        self.columns.push(MaskColumn {
            source,
            format,
            function: spec.function,
            width,
            flags,
            alternative: spec.alternative,
            is_hidden: false,
        });
        outcome
    }

    /// Adds a heading for the next column that has none.
    pub(crate) fn add_heading(&mut self, heading: &[u8]) {
        self.headings.push(heading.to_vec());
    }

    /// Removes all headings.
    pub(crate) fn clear_headings(&mut self) {
        self.headings.clear();
    }

    /// Limits lines to a length.
    pub(crate) fn set_overall_width(&mut self, width: Option<usize>) {
        self.overall_width = width.filter(|width| *width > 0);
    }

    /// Returns the columns, so that the caller can change how they are printed.
    pub(crate) fn columns_mut(&mut self) -> &mut [MaskColumn] {
        &mut self.columns
    }

    /// Returns the number of columns.
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Sets the text that is printed for an undefined value instead of `undefined`.
    pub fn set_undefined(&mut self, text: &[u8]) {
        self.undefined = Some(text.to_vec());
    }

    /// Makes the mask strict: [`RenderedRow::truncated_number`] returns a number that a conversion would cut to 32
    /// bits, and a failed evaluation is printed as `error`.
    pub fn refuse_truncation(&mut self) {
        self.strict = true;
    }

    /// Returns true if there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns true if a heading line is printed, so that all rows must be rendered before the first one is displayed.
    pub fn has_headings(&self) -> bool {
        !self.headings.is_empty()
    }

    /// Returns true if all rows must be rendered before the first one is displayed, because columns have headings or grow with
    /// their values.
    pub fn needs_all_rows(&self) -> bool {
        self.has_headings() || self.columns.iter().any(|column| column.flags.grows)
    }

    /// Removes headings and widths, for output formats that separate columns themselves.
    pub fn remove_layout(&mut self) {
        self.headings.clear();
        for column in &mut self.columns {
            column.width = 0;
            (column.flags.grows, column.flags.is_cut) = (false, false);
        }
    }

    /// Returns the names of the printed columns, which are the texts that define them.
    pub fn column_names(&self) -> Vec<Vec<u8>> {
        let printed = self.columns.iter().filter(|column| !column.is_hidden);
        printed.map(|column| column.source.name.clone()).collect()
    }

    /// Returns the values of a row as separate texts. The text of an undefined value is empty, unless `--undefined` sets another.
    pub fn cell_texts(&self, row: &RenderedRow, world: &dyn World) -> Vec<Vec<u8>> {
        let offset = |seconds| world.zone(seconds).offset;
        let text = |(column, cell): (&MaskColumn, &MaskCell)| {
            let formats = column.function.filter(|function| function.kind() != ColumnFunctionUse::Renders);
            match (cell, formats) {
                (MaskCell::Value(value), Some(function)) => function.text(value, offset),
                (MaskCell::Value(Value::Undefined) | MaskCell::Invalid(_) | MaskCell::Failed, _) => {
                    Vec::new()
                }
                (MaskCell::Value(value), None) => column.format_value(value, world),
            }
        };
        let cells = self.columns.iter().zip(&row.cells).filter(|(column, _)| !column.is_hidden);
        cells.map(text).collect()
    }

    /// Returns the expressions of the columns.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let own = self.columns.iter().filter(|column| column.function.is_none());
        own.filter_map(|column| column.source.expr.as_ref())
    }

    /// Returns the attributes that the columns from the given position on add to the projection of condor_q.
    pub(crate) fn attributes_from(&self, first: usize) -> Vec<AttrName> {
        let of_column = |column: &MaskColumn| {
            let names = column.source.expr.as_ref().map(references::projection).unwrap_or_default();
            let added = column.function.map_or(&[][..], ColumnFunction::added_attributes);
            names.into_iter().chain(added.iter().map(|name| AttrName::from(*name))).collect::<Vec<_>>()
        };
        self.columns.iter().skip(first).flat_map(of_column).collect()
    }

    /// Returns the attributes that the columns and the expressions `exprs` need, or `None` if they may need any.
    pub fn projection<'e>(&'e self, exprs: impl Iterator<Item = &'e Expr>) -> Option<Projection> {
        let mut needed = Projection::for_exprs(exprs.chain(self.expressions()))?;
        for column in &self.columns {
            match column.function {
                // Even a text that is not an expression may be the name of an attribute.
                None => needed.add(column.source.name.as_slice().into()),
                Some(ColumnFunction::JobId) => {
                    ["ClusterId", "ProcId", "JobId"].into_iter().for_each(|name| needed.add(name.into()))
                }
                Some(_) => return None,
            }
        }
        Some(needed)
    }

    /// Returns true if a format has more than one conversion, for which the reference prints arbitrary memory.
    pub fn has_second_conversion(&self) -> bool {
        self.formats().any(PrintfFormat::has_second_conversion)
    }

    /// Returns the first unknown conversion in a format that has no valid one, or `None`.
    pub fn unknown_conversion(&self) -> Option<&[u8]> {
        self.formats().find_map(PrintfFormat::unknown_conversion)
    }

    fn formats(&self) -> impl Iterator<Item = &PrintfFormat> {
        self.columns.iter().filter_map(|column| column.format.as_ref())
    }

    /// Renders an ad to a row of values. Columns that grow are widened to fit their values.
    pub fn render(&mut self, ad: &ClassAd, context: &Context<'_>) -> RenderedRow {
        let functions = &self.functions;
        let cells: Vec<MaskCell> = self
            .columns
            .iter_mut()
            .map(|column| match (column.render(ad, context, functions), &self.undefined) {
                (MaskCell::Value(Value::Undefined), Some(text)) => {
                    MaskCell::Value(Value::from(text.as_slice()))
                }
                (MaskCell::Failed, _) if self.strict => MaskCell::Value(Value::Error),
                (cell, _) => cell,
            })
            .collect();
        let cut = if self.strict { self.find_truncated_number(&cells) } else { None };
        RenderedRow { cells, truncated_number: cut }
    }

    fn find_truncated_number(&self, cells: &[MaskCell]) -> Option<(String, i64)> {
        self.columns.iter().zip(cells).find_map(|(column, cell)| match cell {
            MaskCell::Value(Value::Int(number)) => {
                let format = column.format.as_ref().filter(|format| format.truncates_integer(*number))?;
                Some((String::from_utf8_lossy(format.text()).escape_debug().to_string(), *number))
            }
            _ => None,
        })
    }

    /// Appends the line of headings to `out`.
    pub fn display_headings(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.separators.row_prefix);
        let count = self.columns.len();
        for (number, (column, heading)) in self.columns.iter().zip(&self.headings).enumerate() {
            if column.is_hidden {
                continue;
            }
            if number > 0 && !column.flags.no_prefix {
                out.extend_from_slice(&self.separators.prefix);
            }
            out.extend_from_slice(heading);
            out.resize(out.len() + column.width.saturating_sub(heading.len()), b' ');
            if number + 1 < count && !column.flags.no_suffix {
                out.extend_from_slice(&self.separators.suffix);
            }
        }
        self.end_line(start, out);
    }

    /// Appends a row to `out`.
    pub fn display(&mut self, row: &RenderedRow, world: &dyn World, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.separators.row_prefix);
        let count = self.columns.len();
        for (number, (column, cell)) in self.columns.iter_mut().zip(&row.cells).enumerate() {
            if column.is_hidden {
                continue;
            }
            if number > 0 && !column.flags.no_prefix {
                out.extend_from_slice(&self.separators.prefix);
            }
            column.display(cell, world, out);
            if number + 1 < count && !column.flags.no_suffix {
                out.extend_from_slice(&self.separators.suffix);
            }
        }
        self.end_line(start, out);
    }

    fn end_line(&self, start: usize, out: &mut Vec<u8>) {
        if let Some(width) = self.overall_width {
            out.truncate(start + width);
        }
        out.extend_from_slice(&self.separators.row_suffix);
    }
}

impl MaskColumn {
    /// Returns the function of the column, or `None`.
    pub(crate) fn function(&self) -> Option<ColumnFunction> {
        self.function
    }

    /// Returns the format of the column, or `None`.
    pub(crate) fn format_mut(&mut self) -> Option<&mut PrintfFormat> {
        self.format.as_mut()
    }

    fn conversion(&self) -> Option<ConversionKind> {
        self.format.as_ref().and_then(PrintfFormat::kind)
    }

    fn render(&mut self, ad: &ClassAd, context: &Context<'_>, settings: &FunctionSettings) -> MaskCell {
        let kind = match (self.function.map(ColumnFunction::kind), &self.format) {
            (Some(ColumnFunctionUse::FormatsInt), _) => Some(ConversionKind::Int),
            (Some(ColumnFunctionUse::FormatsReal), _) => Some(ConversionKind::Float),
            (Some(_), _) | (None, None) => Some(ConversionKind::Value),
            (None, Some(format)) => format.kind(),
        };
        let cell = match kind {
            None => {
                let text = self.format.as_ref().map_or(&b""[..], PrintfFormat::text);
                MaskCell::Value(Value::Str(text.into()))
            }
            Some(kind) => attribute_cell(ad, context, &self.source, kind),
        };
        let cell = match self.function {
            Some(function) if function.kind() == ColumnFunctionUse::Renders => {
                let value = match &cell {
                    MaskCell::Value(value) => Some(value),
                    _ => None,
                };
                let width = ColumnWidth { width: self.width, grows: self.flags.grows };
                let rendered = function.render(value, ad, context, settings, width);
                rendered.map_or(MaskCell::Invalid(Value::Undefined), MaskCell::Value)
            }
            _ => cell,
        };
        if self.flags.grows
            && let MaskCell::Value(value) = &cell
        {
            self.width = self.width.max(self.value_width(value));
        }
        cell
    }

    /// Returns the width that a value needs. For a real number, this is its width in the new ClassAd syntax, even if it is
    /// printed in another form.
    fn value_width(&self, value: &Value) -> usize {
        let Some(format) = &self.format else {
            return value.as_str().map_or(self.width, |text| text.len());
        };
        let kind = format.kind();
        let is_text = matches!(kind, Some(ConversionKind::Value | ConversionKind::Str | ConversionKind::Raw));
        match value {
            Value::Str(text) => text.len(),
            Value::Real(_) if is_text => value.unparse().len(),
            Value::Int(number) if is_text => number.to_string().len(),
            Value::Int(_) | Value::Real(_) => {
                let number = value.as_int().unwrap_or(0);
                let length = match kind {
                    Some(ConversionKind::Time) => print_format::format_duration(number).len(),
                    Some(ConversionKind::Date) => print_format::format_date(number, 0).len(),
                    Some(ConversionKind::Float) => format.format_real(value.as_real().unwrap_or(0.0)).len(),
                    Some(ConversionKind::Int | ConversionKind::Pointer) => {
                        format.format_integer(number).len()
                    }
                    _ => 0,
                };
                length.max(self.width)
            }
            _ => self.width,
        }
    }

    fn display(&mut self, cell: &MaskCell, world: &dyn World, out: &mut Vec<u8>) {
        let offset = |seconds| world.zone(seconds).offset;
        let formats = self.function.filter(|function| function.kind() != ColumnFunctionUse::Renders);
        let text: Vec<u8> = match (cell, formats) {
            (MaskCell::Value(value), Some(function)) => function.text(value, offset),
            (MaskCell::Invalid(value), Some(function)) if self.flags.always => function.text(value, offset),
            (MaskCell::Failed, Some(function)) if self.flags.always => {
                function.text(&Value::Undefined, offset)
            }
            (MaskCell::Invalid(_) | MaskCell::Failed, _) => self.alternative.text(self.width),
            (MaskCell::Value(value), None) => self.format_value(value, world),
        };
        if self.flags.grows {
            self.width = self.width.max(text.len());
        }
        let padding = self.width.saturating_sub(text.len());
        if !self.flags.left {
            out.resize(out.len() + padding, b' ');
        }
        let shown = if self.flags.is_cut && self.width > 0 { text.len().min(self.width) } else { text.len() };
        out.extend_from_slice(&text[..shown]);
        if self.flags.left {
            out.resize(out.len() + padding, b' ');
        }
    }

    fn format_value(&self, value: &Value, world: &dyn World) -> Vec<u8> {
        let string = || value.as_str().map(|text| text.to_vec()).unwrap_or_default();
        let Some(format) = self.format.as_ref().filter(|format| !format.is_plain_string()) else {
            return string();
        };
        let number = value.as_int().unwrap_or(0);
        let text = match self.conversion() {
            None => return format.text().to_vec(),
            Some(ConversionKind::Int | ConversionKind::Char | ConversionKind::Pointer) => {
                format.format_integer(number)
            }
            Some(ConversionKind::Float) => format.format_real(value.as_real().unwrap_or(0.0)),
            Some(ConversionKind::Str) => return format.format_string(&string()),
            Some(ConversionKind::Time) => print_format::format_duration(number),
            Some(ConversionKind::Date) => {
                let seconds = match value {
                    Value::AbsTime(time) => time.seconds,
                    _ => number,
                };
                print_format::format_date(seconds, world.zone(seconds).offset)
            }
            Some(ConversionKind::Value | ConversionKind::Raw) => {
                let plain = if format.letter() == b'V' { None } else { value.as_str() };
                let text = plain.map_or_else(|| value.unparse_old().into(), |text| text.to_vec());
                return format.format_string(&text);
            }
        };
        // A number is first padded on the left, even if its column is aligned to the left.
        let padding = self.width.saturating_sub(text.len());
        let mut padded = vec![b' '; padding];
        padded.extend(text);
        padded
    }
}
