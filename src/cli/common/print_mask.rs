//! Columns of ads: `-autoformat` and `-format` (reference: ad_printmask.cpp, class AttrListPrintMask).
//!
//! An ad is first rendered to a row of values and displayed later, because with headings the columns are as
//! wide as the widest value of all ads.

use crate::classad::stream::Projection;
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::world::World;

use super::print_format::{self, ConversionKind, PrintfFormat};

/// Output style selected by the letters of `-af`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AutoformatLetters {
    row_prefix: Option<u8>,
    prefix: Option<u8>,
    suffix: Option<u8>,
    label: bool,
    headings: bool,
    job_id: bool,
    conversion: &'static str,
}

impl AutoformatLetters {
    /// Parses the letters after the colon. Their order matters only for letters that set the same separator.
    fn parse(text: &[u8]) -> AutoformatLetters {
        let mut letters = AutoformatLetters { prefix: Some(b' '), ..AutoformatLetters::default() };
        let has = |wanted: &[u8]| text.iter().any(|letter| wanted.contains(letter));
        for letter in text {
            match letter {
                b',' => letters.suffix = Some(b','),
                b'n' => letters.suffix = Some(b'\n'),
                b'g' => (letters.prefix, letters.row_prefix) = (None, Some(b'\n')),
                b't' => letters.prefix = Some(b'\t'),
                b'l' => letters.label = true,
                b'h' => letters.headings = true,
                b'j' => letters.job_id = true,
                _ => {}
            }
        }
        letters.conversion = match () {
            () if has(b"ro") => "%r",
            () if has(b"V") => "%V",
            () if has(b"Y") => "%Y",
            () if has(b"T") => "%T",
            () => "%v",
        };
        letters
    }
}

/// Source of a column's values.
#[derive(Clone, Debug)]
enum ColumnSource {
    /// An attribute by its name. If the ad lacks it, the text is evaluated as an expression, unless it is not
    /// a valid one.
    Attribute { name: Vec<u8>, expr: Option<Expr> },
    /// `ClusterId.ProcId`.
    JobId,
}

impl ColumnSource {
    fn expr(&self) -> Option<&Expr> {
        match self {
            ColumnSource::Attribute { expr, .. } => expr.as_ref(),
            ColumnSource::JobId => None,
        }
    }
}

#[derive(Clone, Debug)]
struct MaskColumn {
    source: ColumnSource,
    format: PrintfFormat,
    width: usize,
    left: bool,
    auto_width: bool,
    truncate: bool,
}

/// Value of one column for one ad.
#[derive(Clone, Debug)]
enum MaskCell {
    /// A value that the format cannot print.
    Invalid,
    /// A failed evaluation: the condor tools print nothing.
    Failed,
    Value(Value),
}

/// Ad rendered to values.
#[derive(Clone, Debug)]
pub struct RenderedRow {
    cells: Vec<MaskCell>,
    truncated_number: Option<(String, i64)>,
}

impl RenderedRow {
    /// Returns the format and number of a column whose 32 bits would print a different number.
    pub fn truncated_number(&self) -> Option<&(String, i64)> {
        self.truncated_number.as_ref()
    }
}

/// Columns and their separators.
#[derive(Clone, Debug, Default)]
pub struct PrintMask {
    columns: Vec<MaskColumn>,
    headings: Vec<Vec<u8>>,
    row_prefix: Option<u8>,
    prefix: Option<u8>,
    suffix: Option<u8>,
    row_end: bool,
    undefined: Option<Vec<u8>>,
    strict: bool,
}

/// Column that is not a valid expression: its text, and the error.
#[derive(Clone, Debug)]
pub struct BadColumn {
    /// Text of the column.
    pub text: Vec<u8>,
    /// Parse error.
    pub error: crate::classad::ParseError,
}

impl PrintMask {
    /// Adds the columns of one `-autoformat` with the letters after its colon. Columns before an invalid one
    /// are kept.
    ///
    /// # Errors
    /// Returns an error for a word that is not a valid expression.
    pub fn add_autoformat<'a>(
        &mut self,
        letters: &[u8],
        words: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), BadColumn> {
        let letters = AutoformatLetters::parse(letters);
        (self.row_prefix, self.prefix, self.suffix) = (letters.row_prefix, letters.prefix, letters.suffix);
        self.row_end = true;
        if letters.job_id {
            let with_heading = letters.headings || self.has_headings();
            if with_heading {
                self.headings.push(b" ID".to_vec());
            }
            self.columns.push(MaskColumn {
                source: ColumnSource::JobId,
                format: PrintfFormat::new(if letters.label { b"ID = %v" } else { b"%v" }),
                width: 0,
                left: true,
                auto_width: with_heading,
                truncate: false,
            });
        }
        for word in words {
            let source = parse_source(word)?;
            let with_heading = letters.headings || self.has_headings();
            // Columns without `h` after columns with headings also get headings, except long expressions.
            let is_scalar = |value: Value| !matches!(value, Value::List(_) | Value::Ad(_));
            let is_simple = |expr: &Expr| expr.is_reference() || expr.as_literal().is_some_and(is_scalar);
            let hidden = !letters.headings && word.len() > 16 && !source.expr().is_some_and(is_simple);
            let heading: &[u8] = if hidden { b"(expr)" } else { word };
            let label = if letters.label && !with_heading { [word, b" = "].concat() } else { Vec::new() };
            let format = PrintfFormat::new(&[&label, letters.conversion.as_bytes()].concat());
            if with_heading {
                self.headings.push(heading.to_vec());
            }
            self.columns.push(MaskColumn {
                source,
                format,
                width: if with_heading { heading.len() } else { 0 },
                left: with_heading,
                auto_width: with_heading,
                truncate: letters.label && !with_heading,
            });
        }
        Ok(())
    }

    /// Adds the column of one `-format`. An invalid one is kept too, and prints only the text of its format.
    ///
    /// # Errors
    /// Returns an error if the attribute is not a valid expression.
    pub fn add_format(&mut self, format: &[u8], attribute: &[u8]) -> Result<(), BadColumn> {
        let format = PrintfFormat::new(format);
        let (width, left) = format.width();
        let (source, outcome) = match parse_source(attribute) {
            Ok(source) => (source, Ok(())),
            Err(bad) => (ColumnSource::Attribute { name: attribute.to_vec(), expr: None }, Err(bad)),
        };
        self.columns.push(MaskColumn { source, format, width, left, auto_width: false, truncate: false });
        outcome
    }

    /// Sets the text that is printed for undefined values instead of the word `undefined`.
    pub fn set_undefined(&mut self, text: &[u8]) {
        self.undefined = Some(text.to_vec());
    }

    /// Makes errors visible: numbers that a conversion would cut to 32 bits are returned by
    /// [`RenderedRow::truncated_number`], and a failed evaluation is printed as `error`.
    pub fn refuse_truncation(&mut self) {
        self.strict = true;
    }

    /// Returns true if there are no columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns true if there is a heading line, so that all rows must be rendered before the first is
    /// displayed.
    pub fn has_headings(&self) -> bool {
        !self.headings.is_empty()
    }

    /// Returns the expressions of the columns, for projections.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().filter_map(|column| column.source.expr())
    }

    /// Returns the attributes that the columns and some expressions need, or `None` if they may need any.
    pub fn projection<'e>(&'e self, exprs: impl Iterator<Item = &'e Expr>) -> Option<Projection> {
        let mut skim = Projection::for_exprs(exprs.chain(self.expressions()))?;
        for column in &self.columns {
            match &column.source {
                // The name of an attribute may be any text.
                ColumnSource::Attribute { name, .. } => skim.add(name.as_slice().into()),
                ColumnSource::JobId => {
                    ["ClusterId", "ProcId", "JobId"].into_iter().for_each(|name| skim.add(name.into()))
                }
            }
        }
        Some(skim)
    }

    /// Returns true if a format has more conversions than values, for which the reference prints arbitrary
    /// memory.
    pub fn has_second_conversion(&self) -> bool {
        self.columns.iter().any(|column| column.format.has_second_conversion())
    }

    /// Returns an unknown conversion in a format without a valid one.
    pub fn unknown_conversion(&self) -> Option<&[u8]> {
        self.columns.iter().find_map(|column| column.format.unknown_conversion())
    }

    /// Returns the values of an ad, and widens columns that grow with their values.
    pub fn render(&mut self, ad: &ClassAd, context: &Context<'_>) -> RenderedRow {
        let cells: Vec<MaskCell> = self
            .columns
            .iter_mut()
            .map(|column| match (column.render(ad, context), &self.undefined) {
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
            MaskCell::Value(Value::Int(number)) if column.format.truncates(*number) => {
                Some((String::from_utf8_lossy(column.format.text()).escape_debug().to_string(), *number))
            }
            _ => None,
        })
    }

    /// Appends the heading line.
    pub fn display_headings(&self, out: &mut Vec<u8>) {
        out.extend(self.row_prefix);
        for (number, (column, heading)) in self.columns.iter().zip(&self.headings).enumerate() {
            if number > 0 {
                out.extend(self.prefix);
            }
            out.extend_from_slice(heading);
            out.resize(out.len() + column.width.saturating_sub(heading.len()), b' ');
            if number + 1 < self.columns.len() {
                out.extend(self.suffix);
            }
        }
        if self.row_end {
            out.push(b'\n');
        }
    }

    /// Appends a row.
    pub fn display(&mut self, row: &RenderedRow, world: &dyn World, out: &mut Vec<u8>) {
        out.extend(self.row_prefix);
        let count = self.columns.len();
        for (number, (column, cell)) in self.columns.iter_mut().zip(&row.cells).enumerate() {
            if number > 0 {
                out.extend(self.prefix);
            }
            column.display(cell, world, out);
            if number + 1 < count {
                out.extend(self.suffix);
            }
        }
        if self.row_end {
            out.push(b'\n');
        }
    }
}

fn parse_source(word: &[u8]) -> Result<ColumnSource, BadColumn> {
    // The condor tools parse columns like values of long ads: a backslash is an ordinary byte.
    match Expr::parse_with(word, Dialect::old_syntax()) {
        Ok(expr) => Ok(ColumnSource::Attribute { name: word.to_vec(), expr: Some(expr) }),
        Err(error) => Err(BadColumn { text: word.to_vec(), error }),
    }
}

impl MaskColumn {
    fn render(&mut self, ad: &ClassAd, context: &Context<'_>) -> MaskCell {
        let cell = match &self.source {
            ColumnSource::JobId => job_id_cell(context),
            ColumnSource::Attribute { name, expr } => match self.format.kind() {
                None => MaskCell::Value(Value::Str(self.format.text().into())),
                Some(kind) => attribute_cell(ad, context, name, expr.as_ref(), kind),
            },
        };
        if self.auto_width
            && let MaskCell::Value(value) = &cell
        {
            self.width = self.width.max(self.value_width(value));
        }
        cell
    }

    /// Returns the width that a value needs. For reals it is the width in the new syntax, whatever is
    /// printed.
    fn value_width(&self, value: &Value) -> usize {
        let is_text = matches!(
            self.format.kind(),
            Some(ConversionKind::Value | ConversionKind::Str | ConversionKind::Raw)
        );
        match value {
            Value::Str(text) => text.len(),
            Value::Real(_) if is_text => value.unparse().len(),
            Value::Int(number) if is_text => number.to_string().len(),
            Value::Int(number) => match self.format.kind() {
                Some(ConversionKind::Time) => print_format::format_duration(*number).len(),
                Some(ConversionKind::Date) => print_format::format_date(*number, 0).len(),
                _ => self.format.format_integer(*number).len(),
            }
            .max(self.width),
            Value::Real(number) => self.format.format_real(*number).len().max(self.width),
            _ => self.width,
        }
    }

    fn display(&mut self, cell: &MaskCell, world: &dyn World, out: &mut Vec<u8>) {
        let text: Vec<u8> = match cell {
            MaskCell::Invalid | MaskCell::Failed => Vec::new(),
            MaskCell::Value(value) => self.format_value(value, world),
        };
        if self.auto_width {
            self.width = self.width.max(text.len());
        }
        let padding = self.width.saturating_sub(text.len());
        if !self.left {
            out.resize(out.len() + padding, b' ');
        }
        let shown = if self.truncate && self.width > 0 { text.len().min(self.width) } else { text.len() };
        out.extend_from_slice(&text[..shown]);
        if self.left {
            out.resize(out.len() + padding, b' ');
        }
    }

    fn format_value(&self, value: &Value, world: &dyn World) -> Vec<u8> {
        let string = || value.as_str().map(|text| text.to_vec()).unwrap_or_default();
        if self.format.is_plain_string() {
            return string();
        }
        let number = value.as_int().unwrap_or(0);
        let text = match self.format.kind() {
            None => return self.format.text().to_vec(),
            Some(ConversionKind::Int | ConversionKind::Char | ConversionKind::Pointer) => {
                self.format.format_integer(number)
            }
            Some(ConversionKind::Float) => self.format.format_real(value.as_real().unwrap_or(0.0)),
            Some(ConversionKind::Str) => return self.format.format_string(&string()),
            Some(ConversionKind::Time) => print_format::format_duration(number),
            Some(ConversionKind::Date) => {
                let seconds = match value {
                    Value::AbsTime(time) => time.seconds,
                    _ => number,
                };
                print_format::format_date(seconds, world.zone(seconds).offset)
            }
            Some(ConversionKind::Value | ConversionKind::Raw) => {
                let plain = if self.format.letter() == b'V' { None } else { value.as_str() };
                let text = plain.map_or_else(|| value.unparse_old().into(), |text| text.to_vec());
                return self.format.format_string(&text);
            }
        };
        // Numbers are first padded on the left, even in left-aligned columns.
        let padding = self.width.saturating_sub(text.len());
        let mut padded = vec![b' '; padding];
        padded.extend(text);
        padded
    }
}

fn job_id_cell(context: &Context<'_>) -> MaskCell {
    let number = |name: &str| context.int(name).map(|number| number as i32);
    match number("ClusterId") {
        Some(cluster) => {
            let process = number("ProcId").unwrap_or(-1);
            MaskCell::Value(Value::from(format!("{cluster}.{process}")))
        }
        None => context.string("JobId").map_or(MaskCell::Invalid, |text| MaskCell::Value(Value::Str(text))),
    }
}

/// Returns the value of an attribute for a conversion, or of an expression if the ad has no attribute of that
/// name.
fn attribute_cell(
    ad: &ClassAd,
    context: &Context<'_>,
    name: &[u8],
    expr: Option<&Expr>,
    kind: ConversionKind,
) -> MaskCell {
    let own = ad.get(name);
    let is_own = own.is_some();
    let Some(expr) = own.as_ref().or(expr) else { return MaskCell::Invalid };
    let unparsed = || MaskCell::Value(Value::Str(expr.unparse_old()));
    match kind {
        ConversionKind::Raw if !is_own && expr.is_reference() => MaskCell::Value(Value::from("undefined")),
        ConversionKind::Raw => unparsed(),
        // %s prints an attribute that is not a string unevaluated, and prints nothing for an expression.
        ConversionKind::Str => match context.eval(expr) {
            Value::Str(text) => MaskCell::Value(Value::Str(text)),
            _ if is_own => unparsed(),
            _ => MaskCell::Invalid,
        },
        ConversionKind::Int | ConversionKind::Char | ConversionKind::Time => context
            .eval(expr)
            .as_int()
            .map_or(MaskCell::Invalid, |number| MaskCell::Value(Value::Int(number))),
        ConversionKind::Float => context
            .eval(expr)
            .as_real()
            .map_or(MaskCell::Invalid, |number| MaskCell::Value(Value::Real(number))),
        ConversionKind::Date => match context.eval(expr) {
            time @ Value::AbsTime(_) => MaskCell::Value(time),
            value => value.as_int().map_or(MaskCell::Invalid, |number| MaskCell::Value(Value::Int(number))),
        },
        ConversionKind::Value | ConversionKind::Pointer => {
            context.try_eval(expr).map_or(MaskCell::Failed, MaskCell::Value)
        }
    }
}
