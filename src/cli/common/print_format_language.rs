//! Language of print formats: `SELECT`, `WHERE`, `GROUP BY`, `SUMMARY` (reference: make_printmask.cpp,
//! `SetAttrListPrintMaskFromStream`, and tokener.cpp).

use bstr::ByteSlice;

use super::column_functions::ColumnFunction;
use super::print_format_tokens::{Tokens, collapse_known_escapes};
use super::print_letters::MissingValueText;
use super::print_mask::{ColumnFlags, ColumnSpec, PrintMask, Separators};
use crate::classad::{Dialect, Expr};
use crate::text::number::integer_prefix;

/// Grouping of the rows of a print format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Aggregation {
    /// One row per job.
    #[default]
    None,
    /// One row for all jobs with equal values of all columns (`SELECT UNIQUE`).
    Unique,
    /// One row per autocluster (`SELECT FROM AUTOCLUSTER`).
    AutoCluster,
}

/// Expression of `GROUP BY`, by which rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupKey(pub Vec<u8>);

/// Selection of the lines that are printed before and after the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintedSections {
    /// True if the title, which names the source of the ads, is printed.
    pub title: bool,
    /// True if the headings of columns are printed.
    pub header: bool,
    /// True if a summary is printed after the rows.
    pub summary: bool,
    /// True if the print format defines the columns of the summary.
    pub custom: bool,
}

impl PrintedSections {
    /// All lines are printed, with the standard summary.
    pub(crate) const STANDARD: PrintedSections =
        PrintedSections { title: true, header: true, summary: true, custom: false };
    /// No lines except the rows are printed.
    pub(crate) const BARE: PrintedSections =
        PrintedSections { title: false, header: false, summary: false, custom: true };
}

/// Parsed print format.
#[derive(Clone, Debug)]
pub(crate) struct PrintFormat {
    /// Columns of the rows.
    pub mask: PrintMask,
    /// Columns of the summary.
    pub summary: PrintMask,
    /// Lines to print before and after the rows.
    pub head_foot: PrintedSections,
    /// Grouping of the rows.
    pub aggregation: Aggregation,
    /// Condition of `WHERE`, or `None`.
    pub condition: Option<Vec<u8>>,
    /// Expressions of `GROUP BY`.
    pub group_by: Vec<GroupKey>,
    /// Messages about mistakes, one per line, in the words of the condor tools.
    pub messages: String,
}

/// Syntax of a line that defines columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSyntax<'a> {
    /// True if columns get headings.
    pub headings: bool,
    /// True if values are cut to the width of their column.
    pub cuts: bool,
    /// Format of a column that does not define one.
    pub format: &'a [u8],
}

impl RowSyntax<'_> {
    /// Syntax in files of print formats.
    const FILE: RowSyntax<'static> = RowSyntax { headings: true, cuts: true, format: b"%v" };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Select,
    Summary,
    Join,
    Where,
    And,
    Group,
}

impl PrintFormat {
    /// Parses a print format and adds its columns to `mask`. Returns `None` if columns come before the first `SELECT`, which
    /// crashes the condor tools.
    pub(crate) fn parse(lines: impl IntoIterator<Item = Vec<u8>>, mask: PrintMask) -> Option<PrintFormat> {
        let mut parser = FormatParser {
            format: PrintFormat {
                mask,
                summary: PrintMask::default(),
                head_foot: PrintedSections { summary: false, ..PrintedSections::STANDARD },
                aggregation: Aggregation::None,
                condition: None,
                group_by: Vec::new(),
                messages: String::new(),
            },
            section: Section::Select,
            is_open: false,
            label_separator: None,
            separators: Separators {
                prefix: b" ".to_vec(),
                row_suffix: b"\n".to_vec(),
                ..Separators::default()
            },
            line: 0,
        };
        parser.format.mask.separators = parser.separators.clone();
        for line in lines {
            parser.line += 1;
            parser.parse_line(&line)?;
        }
        Some(parser.format)
    }

    /// Returns the lines of a print format in a file. Lines are trimmed, and a line that ends with a backslash is joined with the
    /// next one (`getline_trim`).
    pub(crate) fn file_lines(text: &[u8]) -> Vec<Vec<u8>> {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut joins = false;
        for line in text.lines_with_terminator() {
            // A last line that does not end with a newline is not trimmed.
            let is_whole = line.ends_with(b"\n");
            let mut part = if is_whole { line.trim() } else { line };
            let continues = is_whole && part.ends_with(b"\\");
            if continues {
                part = &part[..part.len() - 1];
            }
            match lines.last_mut() {
                Some(last) if joins => last.extend_from_slice(part),
                _ => lines.push(part.to_vec()),
            }
            joins = continues;
        }
        lines
    }
}

struct FormatParser {
    format: PrintFormat,
    section: Section,
    /// True once a `SELECT` or `SUMMARY` was read.
    is_open: bool,
    label_separator: Option<Vec<u8>>,
    separators: Separators,
    line: usize,
}

impl FormatParser {
    fn parse_line(&mut self, line: &[u8]) -> Option<()> {
        let mut tokens = Tokens::new(line);
        if !tokens.next() || tokens.is(b"#") {
            return Some(());
        }
        let section = match tokens.token() {
            b"SELECT" => {
                self.parse_select(&mut tokens);
                return Some(());
            }
            b"SUMMARY" => {
                self.parse_summary(&mut tokens);
                return Some(());
            }
            b"JOIN" => Some(Section::Join),
            b"WHERE" => Some(Section::Where),
            b"AND" => Some(Section::And),
            b"GROUP" => Some(Section::Group),
            _ => None,
        };
        if let Some(section) = section {
            self.section = section;
            let has_argument =
                tokens.next() && (section != Section::Group || !tokens.is(b"BY") || tokens.next());
            if !has_argument {
                return Some(());
            }
        }
        match self.section {
            Section::Select | Section::Summary if !self.is_open => return None,
            Section::Select | Section::Summary => self.parse_column(&mut tokens),
            Section::Where => self.format.condition = Some(tokens.to_end().trim().to_vec()),
            Section::Group => self.parse_group_key(&mut tokens),
            Section::Join => self.parse_join(&mut tokens),
            Section::And => {}
        }
        Some(())
    }

    fn parse_select(&mut self, tokens: &mut Tokens<'_>) {
        (self.section, self.is_open) = (Section::Select, true);
        let text = |tokens: &mut Tokens<'_>| tokens.next().then(|| collapse_known_escapes(tokens.token()));
        while tokens.next() {
            match tokens.token() {
                b"FROM" if tokens.next() => {
                    if tokens.is(b"AUTOCLUSTER") {
                        self.format.aggregation = Aggregation::AutoCluster;
                    }
                }
                b"UNIQUE" => self.format.aggregation = Aggregation::Unique,
                b"BARE" => self.format.head_foot = PrintedSections::BARE,
                b"NOTITLE" => self.format.head_foot.title = false,
                b"NOHEADER" => self.format.head_foot.header = false,
                b"NOSUMMARY" => self.format.head_foot.summary = false,
                b"LABEL" => self.label_separator = Some(b" = ".to_vec()),
                b"SEPARATOR" if self.label_separator.is_some() => {
                    self.label_separator = text(tokens).or(self.label_separator.take());
                }
                b"RECORDPREFIX" => replace_if_some(&mut self.separators.row_prefix, text(tokens)),
                b"RECORDSUFFIX" => replace_if_some(&mut self.separators.row_suffix, text(tokens)),
                b"FIELDPREFIX" => replace_if_some(&mut self.separators.prefix, text(tokens)),
                b"FIELDSUFFIX" => replace_if_some(&mut self.separators.suffix, text(tokens)),
                other => {
                    let other = other.to_str_lossy();
                    self.format
                        .messages
                        .push_str(&format!("Warning: Unknown header argument {other} for SELECT\n"));
                }
            }
        }
        self.format.mask.separators = self.separators.clone();
    }

    fn parse_summary(&mut self, tokens: &mut Tokens<'_>) {
        (self.section, self.is_open) = (Section::Summary, true);
        (self.format.head_foot.custom, self.format.head_foot.summary) = (true, true);
        while tokens.next() {
            match tokens.token() {
                b"STANDARD" => self.format.head_foot.custom = false,
                b"NONE" => (self.format.head_foot.custom, self.format.head_foot.summary) = (false, false),
                other => {
                    let other = other.to_str_lossy();
                    self.format.messages.push_str(&format!("Unknown argument {other} for SELECT\n"));
                }
            }
        }
    }

    fn parse_column(&mut self, tokens: &mut Tokens<'_>) {
        let mask =
            if self.section == Section::Summary { &mut self.format.summary } else { &mut self.format.mask };
        let messages = &mut self.format.messages;
        let mut row = RowParser { syntax: RowSyntax::FILE, line: self.line, messages };
        row.parse(tokens, mask, self.label_separator.as_deref());
    }

    fn parse_group_key(&mut self, tokens: &mut Tokens<'_>) {
        let (mark, mut key) = (tokens.start, tokens.to_end().to_vec());
        let mut has_key = false;
        while tokens.next() {
            if !matches!(tokens.token(), b"AS" | b"ASCENDING" | b"DESCENDING") {
                continue;
            }
            if !std::mem::replace(&mut has_key, true) {
                key = tokens.from(mark).to_vec();
            }
            if tokens.is(b"AS") {
                tokens.next();
            }
        }
        let key = key.trim();
        if key.is_empty() || key.starts_with(b"#") {
            return;
        }
        match Expr::parse_with(key, Dialect::old_syntax()) {
            Ok(_) => self.format.group_by.push(GroupKey(key.to_vec())),
            Err(_) => {
                let key = key.to_str_lossy();
                self.format.messages.push_str(&format!("GROUP BY expression is not valid: {key}\n"));
            }
        }
    }

    fn parse_join(&mut self, tokens: &mut Tokens<'_>) {
        let text = if tokens.is(b"ON") || tokens.is(b"USING") {
            format!(
                "expected data set name before ON or USING at line {} offset {} in JOIN\n",
                self.line, tokens.start
            )
        } else {
            tokens.next();
            let token = tokens.token().to_str_lossy();
            format!("{token} was unexpected at line {} offset {} in JOIN\n", self.line, tokens.start)
        };
        self.format.messages.push_str(&text);
    }
}

fn replace_if_some(place: &mut Vec<u8>, text: Option<Vec<u8>>) {
    if let Some(text) = text {
        *place = text;
    }
}

/// Adds the columns of the arguments of `-aaf` to a mask; returns false if one of them is not valid.
pub(crate) fn add_appended_columns<'a>(
    mask: &mut PrintMask,
    syntax: RowSyntax<'_>,
    words: impl IntoIterator<Item = &'a [u8]>,
) -> bool {
    words.into_iter().all(|word| {
        let mut messages = String::new();
        let mut tokens = Tokens::new(word);
        RowParser { syntax, line: 0, messages: &mut messages }.parse(&mut tokens, mask, None);
        messages.is_empty()
    })
}

struct RowParser<'a, 'm> {
    syntax: RowSyntax<'a>,
    line: usize,
    messages: &'m mut String,
}

/// Parts of a line that defines a column.
struct RowParts {
    expr: Option<Vec<u8>>,
    name: Vec<u8>,
    format: Option<Vec<u8>>,
    is_default_format: bool,
    function: Option<ColumnFunction>,
    width: Option<i64>,
    flags: ColumnFlags,
    /// True if the column grows with its values, unless a word of the line says otherwise.
    grows_by_default: bool,
    keeps_by_default: bool,
    keeps: bool,
    alternative: MissingValueText,
}

impl RowParser<'_, '_> {
    /// Parses one line, and adds the column that it defines (`AddAttrListRow`).
    fn parse(&mut self, tokens: &mut Tokens<'_>, mask: &mut PrintMask, label: Option<&[u8]>) {
        let mark = tokens.start;
        let mut parts = RowParts {
            expr: None,
            name: Vec::new(),
            format: Some(self.syntax.format.to_vec()),
            is_default_format: true,
            function: None,
            width: None,
            flags: ColumnFlags::default(),
            grows_by_default: true,
            keeps_by_default: true,
            keeps: false,
            alternative: MissingValueText::default(),
        };
        while tokens.next() {
            if !KEYWORDS.contains(&tokens.token()) {
                continue;
            }
            if parts.expr.is_none() {
                parts.expr = Some(tokens.from(mark).to_vec());
            }
            self.parse_keyword(tokens, &mut parts);
        }
        let expr = parts.expr.take().unwrap_or_else(|| tokens.line.to_vec());
        let expr = expr.trim();
        if expr.is_empty() || expr.starts_with(b"#") {
            return;
        }
        self.add_column(expr, parts, mask, label);
    }

    fn parse_keyword(&mut self, tokens: &mut Tokens<'_>, parts: &mut RowParts) {
        let keyword = tokens.token();
        let mut flag = |set: fn(&mut ColumnFlags)| set(&mut parts.flags);
        match keyword {
            b"NOSUFFIX" => return flag(|flags| flags.no_suffix = true),
            b"NOPREFIX" => return flag(|flags| flags.no_prefix = true),
            b"LEFT" => return flag(|flags| flags.left = true),
            b"RIGHT" => return flag(|flags| flags.left = false),
            b"ALWAYS" => return flag(|flags| flags.always = true),
            b"FIT" => return parts.keeps = true,
            b"TRUNCATE" => return (parts.keeps, parts.keeps_by_default) = (false, false),
            b"AUTO" => {
                return self.messages.push_str(&format!(
                    "AUTO was unexpected at line {} offset {} in SELECT\n",
                    self.line, tokens.start
                ));
            }
            _ => {}
        }
        if !tokens.next() {
            let wanted = match keyword {
                b"AS" => "column name after AS",
                b"PRINTF" => "format after PRINTF",
                b"OR" => "? or ?? after OR",
                b"WIDTH" => "number or AUTO after WIDTH",
                b"RENDERAS" => "function name after RENDERAS",
                _ => "function name after PRINTAS",
            };
            let line = self.line;
            let at = i64::try_from(tokens.start).unwrap_or(-1);
            return self
                .messages
                .push_str(&format!("expected {wanted} at line {line} offset {at} in SELECT\n"));
        }
        self.parse_argument(keyword, tokens, parts);
    }

    fn parse_argument(&mut self, keyword: &[u8], tokens: &Tokens<'_>, parts: &mut RowParts) {
        let token = tokens.token();
        match keyword {
            b"AS" => {
                parts.name = if tokens.is_quoted() { collapse_known_escapes(token) } else { token.to_vec() };
            }
            b"PRINTF" => (parts.format, parts.is_default_format) = (Some(token.to_vec()), false),
            b"OR" => match MissingValueText::parse(token) {
                Some(text) => parts.alternative = parts.alternative.combined_with(text),
                None => {
                    let token = token.to_str_lossy();
                    self.messages.push_str(&format!("Unknown argument {token} for OR\n"));
                }
            },
            b"WIDTH" if token == b"AUTO" => {
                (parts.flags.grows, parts.grows_by_default, parts.keeps_by_default) = (true, true, true);
            }
            b"WIDTH" => {
                parts.width = Some(integer_prefix(token).map_or(0, |(width, _)| width));
                parts.grows_by_default = false;
                if self.syntax.cuts {
                    parts.keeps_by_default = false;
                }
                if parts.is_default_format {
                    (parts.format, parts.is_default_format) = (None, false);
                }
            }
            _ => match ColumnFunction::from_name(token) {
                Some(function) => {
                    parts.function = Some(function);
                    let format = function.format().map(|format| format.as_bytes().to_vec());
                    if keyword == b"PRINTAS" || (parts.is_default_format && format.is_some()) {
                        (parts.format, parts.is_default_format) = (format, false);
                    }
                }
                None => {
                    let (token, keyword) = (token.to_str_lossy(), keyword.to_str_lossy());
                    self.messages.push_str(&format!("Unknown argument {token} for {keyword}\n"));
                }
            },
        }
    }

    fn add_column(&mut self, expr: &[u8], parts: RowParts, mask: &mut PrintMask, label: Option<&[u8]>) {
        let mut flags = parts.flags;
        flags.grows |= parts.grows_by_default;
        flags.is_cut = !(parts.keeps || parts.keeps_by_default);
        let name = if parts.name.is_empty() { expr } else { &parts.name };
        let mut width = parts.width.unwrap_or(0);
        let format = if let Some(separator) = label {
            let of_value = parts.format.unwrap_or_else(|| {
                let letter = if parts.function.is_some() { 's' } else { 'v' };
                match (width, flags.is_cut) {
                    (0, _) => format!("%{letter}"),
                    (_, false) => format!("%{width}{letter}"),
                    (_, true) => format!("%{width}.{}{letter}", width.abs()),
                }
                .into_bytes()
            });
            width = 0;
            Some([name, separator, &of_value].concat())
        } else {
            if parts.width.is_none() {
                width = -(name.len() as i64);
            }
            if self.syntax.headings {
                mask.add_heading(name);
            }
            match parts.format {
                None if parts.function.is_some() => None,
                None if width == 0 => Some(self.syntax.format.to_vec()),
                None if self.syntax.cuts => {
                    let minus = if width < 0 { "-" } else { "" };
                    flags.left |= width < 0;
                    width = width.abs();
                    let precision = if flags.is_cut { format!(".{width}") } else { String::new() };
                    Some(format!("%{minus}{width}{precision}v").into_bytes())
                }
                format => format,
            }
        };
        let spec = ColumnSpec {
            expr,
            format: format.as_deref(),
            function: parts.function,
            width,
            flags,
            alternative: parts.alternative,
        };
        if mask.add_column(&spec).is_err() {
            let expr = expr.to_str_lossy();
            self.messages.push_str(&format!("attribute or expression is not valid: {expr}\n"));
        }
    }
}

const KEYWORDS: [&[u8]; 14] = [
    b"ALWAYS",
    b"AS",
    b"AUTO",
    b"FIT",
    b"LEFT",
    b"NOPREFIX",
    b"NOSUFFIX",
    b"OR",
    b"PRINTAS",
    b"PRINTF",
    b"RENDERAS",
    b"RIGHT",
    b"TRUNCATE",
    b"WIDTH",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PrintFormat {
        PrintFormat::parse(PrintFormat::file_lines(text.as_bytes()), PrintMask::default()).unwrap()
    }

    #[test]
    fn lines_are_trimmed_and_joined() {
        let lines = PrintFormat::file_lines(b"  a \\\n  b  \n\nc");
        assert_eq!(lines, [&b"a b"[..], b"", b"c"]);
    }

    #[test]
    fn sections_and_their_words_are_parsed() {
        let format = parse(
            "SELECT NOTITLE UNIQUE\n A AS ' x ' WIDTH 5\n#c\nWHERE B > 1 \nGROUP BY C DESCENDING\nSUMMARY NONE\n",
        );
        assert_eq!(format.condition.as_deref(), Some(&b"B > 1"[..]));
        assert_eq!(format.group_by, [GroupKey(b"C".to_vec())]);
        assert_eq!(format.aggregation, Aggregation::Unique);
        assert_eq!(
            format.head_foot,
            PrintedSections { title: false, header: true, summary: false, custom: false }
        );
        let mut headings = Vec::new();
        format.mask.display_headings(&mut headings);
        assert_eq!(headings, b" x   \n");
    }

    #[test]
    fn unknown_words_are_named() {
        let format = parse("SELECT FOO\nA PRINTAS NONE\nB OR x\nC WIDTH\n1 +\n");
        assert_eq!(
            format.messages,
            "Warning: Unknown header argument FOO for SELECT\nUnknown argument NONE for PRINTAS\n\
             Unknown argument x for OR\nexpected number or AUTO after WIDTH at line 4 offset 7 in SELECT\n\
             attribute or expression is not valid: 1 +\n"
        );
        assert!(PrintFormat::parse([b"A".to_vec()], PrintMask::default()).is_none());
    }
}
