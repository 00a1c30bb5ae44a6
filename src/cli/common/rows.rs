//! Rows of values as CSV, as TSV, or ended by NUL.

use std::fmt;

use clap::Args;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::option_group::OptionGroup;

/// Options for separated rows.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct SeparatedRowOptions {
    /// Write rows as CSV (RFC 4180) with a header
    #[arg(long, help_heading = OptionGroup::Output, hide_short_help = true,
          conflicts_with_all = ["tsv", "json", "jsonl", "long"])]
    pub csv: bool,
    /// Write rows separated by tabs with a header; tabs and newlines in values become \t and \n
    #[arg(long, help_heading = OptionGroup::Output, hide_short_help = true,
          conflicts_with_all = ["json", "jsonl", "long"])]
    pub tsv: bool,
}

/// Options for rows of columns.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct RowOptions {
    /// Separated rows.
    #[command(flatten)]
    pub separated: SeparatedRowOptions,
    /// End each row with NUL instead of newline, as xargs -0 reads it
    #[arg(long, short = '0', help_heading = OptionGroup::Output, hide_short_help = true,
          conflicts_with_all = ["csv", "tsv", "json", "jsonl", "long"])]
    pub null: bool,
}

/// Format of separated rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Cells separated by tabs, without a header; each row ends with NUL.
    Null,
}

impl SeparatedRowOptions {
    /// Returns the requested format of separated rows, or `None`.
    pub(crate) fn form(self) -> Option<RowForm> {
        match self {
            SeparatedRowOptions { csv: true, .. } => Some(RowForm::Csv),
            SeparatedRowOptions { tsv: true, .. } => Some(RowForm::Tsv),
            _ => None,
        }
    }

    /// Returns the name of the option that was given, or `None`.
    pub(crate) fn given_option(self) -> Option<&'static str> {
        self.form().map(|form| match form {
            RowForm::Csv => "--csv",
            RowForm::Tsv => "--tsv",
            RowForm::Null => "--null",
        })
    }
}

impl RowOptions {
    /// Returns the requested format of separated rows, or `None`.
    pub(crate) fn form(self) -> Option<RowForm> {
        self.separated.form()
    }

    /// Returns the requested format of rows in a report, or `None` if no option selects one.
    pub(crate) fn report_form(self) -> Option<RowForm> {
        self.form().or_else(|| self.null.then_some(RowForm::Null))
    }

    /// Formats rows, or returns `None` if no option selects a format. `keys` are the first columns, whether or not a row has them.
    ///
    /// # Errors
    /// Returns an error if a row has no JSON form.
    pub(crate) fn render<Row: Serialize>(
        self,
        rows: &[Row],
        keys: &[&str],
    ) -> anyhow::Result<Option<Vec<u8>>> {
        self.report_form().map(|form| render_objects(form, rows, keys)).transpose()
    }

    /// Returns the name of the option that was given, or `None`.
    pub(crate) fn given_option(self) -> Option<&'static str> {
        self.separated.given_option().or_else(|| self.null.then_some("--null"))
    }
}

impl RowForm {
    /// Appends the header, if the format has one.
    pub(crate) fn push_header<C: AsRef<[u8]>>(self, names: impl IntoIterator<Item = C>, out: &mut Vec<u8>) {
        if self != RowForm::Null {
            self.push_row(names, out);
        }
    }

    /// Appends a row.
    pub(crate) fn push_row<C: AsRef<[u8]>>(self, cells: impl IntoIterator<Item = C>, out: &mut Vec<u8>) {
        for (number, cell) in cells.into_iter().enumerate() {
            match self {
                RowForm::Csv => {
                    if number > 0 {
                        out.push(b',');
                    }
                    push_csv_cell(cell.as_ref(), out);
                }
                RowForm::Tsv => {
                    if number > 0 {
                        out.push(b'\t');
                    }
                    push_tsv_cell(cell.as_ref(), out);
                }
                RowForm::Null => {
                    if number > 0 {
                        out.push(b'\t');
                    }
                    // A NUL within a cell would end the row.
                    out.extend(cell.as_ref().iter().filter(|byte| **byte != 0));
                }
            }
        }
        out.extend_from_slice(match self {
            RowForm::Csv => b"\r\n",
            RowForm::Tsv => b"\n",
            RowForm::Null => b"\0",
        });
    }
}

/// JSON object that keeps its members in the order in which they were written.
struct OrderedObject(Vec<(String, serde_json::Value)>);

impl<'de> Deserialize<'de> for OrderedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;
        impl<'de> Visitor<'de> for MemberVisitor {
            type Value = OrderedObject;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OrderedObject, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(OrderedObject(members))
            }
        }
        deserializer.deserialize_map(MemberVisitor)
    }
}

/// Formats objects as rows. The first columns are those of `leading_keys`, whether or not a row has them; other keys of the rows
/// follow in the order in which they first appear.
///
/// # Errors
/// Returns an error if a row is not an object.
pub(crate) fn render_objects<Row: Serialize>(
    form: RowForm,
    rows: &[Row],
    leading_keys: &[&str],
) -> anyhow::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut objects: Vec<OrderedObject> = Vec::new();
    for row in rows {
        objects.push(serde_json::from_str(&serde_json::to_string(row)?)?);
    }
    let mut keys: Vec<&str> = leading_keys.to_vec();
    for (key, _) in objects.iter().flat_map(|object| &object.0) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return Ok(out);
    }
    form.push_header(&keys, &mut out);
    for object in &objects {
        let cells = keys.iter().map(|key| match object.0.iter().find(|member| member.0 == *key) {
            None | Some((_, serde_json::Value::Null)) => String::new(),
            Some((_, serde_json::Value::String(text))) => text.clone(),
            Some((_, value)) => value.to_string(),
        });
        form.push_row(cells, &mut out);
    }
    Ok(out)
}

fn push_csv_cell(cell: &[u8], out: &mut Vec<u8>) {
    if !cell.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        out.extend_from_slice(cell);
        return;
    }
    out.push(b'"');
    for byte in cell {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

fn push_tsv_cell(cell: &[u8], out: &mut Vec<u8>) {
    for byte in cell {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(form: RowForm, cells: &[&str]) -> String {
        let mut out = Vec::new();
        form.push_row(cells, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_have_the_keys_of_all_objects() {
        let rows = [serde_json::json!({ "a": 1 }), serde_json::json!({ "a": null, "b": [1, "x"] })];
        let text = String::from_utf8(render_objects(RowForm::Csv, &rows, &["c", "a"]).unwrap()).unwrap();
        assert_eq!(text, "c,a,b\r\n,1,\r\n,,\"[1,\"\"x\"\"]\"\r\n");
        assert_eq!(render_objects::<serde_json::Value>(RowForm::Tsv, &[], &["a", "b"]).unwrap(), b"a\tb\n");
        assert_eq!(render_objects::<serde_json::Value>(RowForm::Null, &[], &["a"]).unwrap(), b"");
    }

    #[test]
    fn cells_with_separators_are_quoted_or_escaped() {
        let cells = ["a", "b,c", "say \"x\"", "two\nlines", "tab\t\\", ""];
        assert_eq!(row(RowForm::Csv, &cells), "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",tab\t\\,\r\n");
        assert_eq!(row(RowForm::Null, &["a\0b", "c\n"]), "ab\tc\n\0");
        let mut header = Vec::new();
        RowForm::Null.push_header(["a"], &mut header);
        assert_eq!(header, b"");
        assert_eq!(row(RowForm::Tsv, &cells), "a\tb,c\tsay \"x\"\ttwo\\nlines\ttab\\t\\\\\t\n");
    }
}
