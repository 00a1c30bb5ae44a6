//! Columns of ads: `-autoformat` and `-format` (reference: ad_printmask.cpp, class AttrListPrintMask).
//!
//! An ad is first rendered to a row of values and then displayed, since with headings the columns are as wide as the
//! widest value of all ads.

use crate::classad::stream::Projection;
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::world::World;

use super::print_format::{self, ConversionKind, PrintfFormat};

/// How `-af` letters ask for values to be written.
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
    /// Reads the letters behind the colon. The order does not matter but for those that share a separator.
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

/// What a column shows.
#[derive(Clone, Debug)]
enum ColumnSource {
    /// An attribute by its name or, where the ad lacks it, an expression; none where it is no expression either.
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

/// The value of one column of one ad.
#[derive(Clone, Debug)]
enum MaskCell {
    /// Nothing that the format can print.
    Invalid,
    /// An evaluation that failed, which is no value: the condor tools show nothing.
    Failed,
    Value(Value),
}

/// An ad rendered to values.
#[derive(Clone, Debug)]
pub struct RenderedRow {
    cells: Vec<MaskCell>,
    truncated_number: Option<(String, i64)>,
}

impl RenderedRow {
    /// The format and number of a column that would print another number, since it has 32 bits only.
    pub fn truncated_number(&self) -> Option<&(String, i64)> {
        self.truncated_number.as_ref()
    }
}

/// Columns and what stands between them.
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

/// A word that is no expression: its text, and where and why it stops being one.
#[derive(Clone, Debug)]
pub struct BadColumn {
    /// The word.
    pub text: Vec<u8>,
    /// Why.
    pub error: crate::classad::ParseError,
}

impl PrintMask {
    /// Adds the columns of one `-autoformat` with the letters behind its colon. Columns before a bad one stay.
    ///
    /// # Errors
    /// A word that is no expression.
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
            // Without `h` of its own, a list behind one with headings has them too, but not those of long expressions.
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

    /// Adds the column of one `-format`. It stays even if it is bad, and shows nothing then but text of its format.
    ///
    /// # Errors
    /// The attribute is no expression.
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

    /// What stands for an undefined value, instead of the word `undefined`.
    pub fn set_undefined(&mut self, text: &[u8]) {
        self.undefined = Some(text.to_vec());
    }

    /// Nothing is passed over: numbers that a conversion would cut to 32 bits are told by [`RenderedRow::truncated_number`], and an evaluation
    /// that fails shows as `error`.
    pub fn refuse_truncation(&mut self) {
        self.strict = true;
    }

    /// Whether there is no column at all.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether a heading line is wanted, so that all rows must be rendered before the first is displayed.
    pub fn has_headings(&self) -> bool {
        !self.headings.is_empty()
    }

    /// The expressions of the columns, for projections.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().filter_map(|column| column.source.expr())
    }

    /// What the columns and some expressions look at in an ad; none where that may be anything.
    pub fn projection<'e>(&'e self, exprs: impl Iterator<Item = &'e Expr>) -> Option<Projection> {
        let mut skim = Projection::for_exprs(exprs.chain(self.expressions()))?;
        for column in &self.columns {
            match &column.source {
                // An attribute may have any text for a name.
                ColumnSource::Attribute { name, .. } => skim.add(name.as_slice().into()),
                ColumnSource::JobId => {
                    ["ClusterId", "ProcId", "JobId"].into_iter().for_each(|name| skim.add(name.into()))
                }
            }
        }
        Some(skim)
    }

    /// Whether a format has more conversions than values, for which the reference prints what lies in memory.
    pub fn has_second_conversion(&self) -> bool {
        self.columns.iter().any(|column| column.format.has_second_conversion())
    }

    /// What looks like a conversion in a format without any, and is none.
    pub fn unknown_conversion(&self) -> Option<&[u8]> {
        self.columns.iter().find_map(|column| column.format.unknown_conversion())
    }

    /// The values of an ad; widens columns that grow with their values.
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
    // The condor tools read columns as they read values of long ads: a backslash is an ordinary byte.
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

    /// The width a value asks for in advance. Reals count as long as their new form, whatever is printed.
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
        // Numbers are padded on the left first, even in columns that are aligned to the left.
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

/// The value of an attribute for a conversion; an expression where the ad has no attribute of that name.
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
        // An attribute that is no string is printed unevaluated by %s, an expression is not printed at all.
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
