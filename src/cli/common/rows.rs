//! Rows of values as CSV, as TSV, or ended by NUL.

use clap::Args;

/// Form of rows, where it is not the usual one.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct RowOptions {
    /// Write rows as CSV (RFC 4180) with a header
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true,
          conflicts_with_all = ["tsv", "null", "json", "jsonl", "long"])]
    pub csv: bool,
    /// Write rows separated by tabs with a header; tabs and newlines in values become \t and \n
    #[arg(long, global = true, help_heading = "Output", hide_short_help = true,
          conflicts_with_all = ["null", "json", "jsonl", "long"])]
    pub tsv: bool,
    /// End each row with NUL instead of newline, as xargs -0 reads it
    #[arg(long, short = '0', global = true, help_heading = "Output", hide_short_help = true,
          conflicts_with_all = ["json", "jsonl", "long"])]
    pub null: bool,
}

/// Separated form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Tab-separated values.
    Tsv,
}

impl RowOptions {
    /// Returns the separated form, or `None`.
    pub(crate) fn form(self) -> Option<RowForm> {
        match self {
            RowOptions { csv: true, .. } => Some(RowForm::Csv),
            RowOptions { tsv: true, .. } => Some(RowForm::Tsv),
            _ => None,
        }
    }

    /// Returns the name of the option that was given, or `None`.
    pub(crate) fn given_option(self) -> Option<&'static str> {
        match self {
            RowOptions { csv: true, .. } => Some("--csv"),
            RowOptions { tsv: true, .. } => Some("--tsv"),
            RowOptions { null: true, .. } => Some("--null"),
            _ => None,
        }
    }
}

impl RowForm {
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
            }
        }
        out.extend_from_slice(match self {
            RowForm::Csv => b"\r\n",
            RowForm::Tsv => b"\n",
        });
    }
}

/// Returns the rows of objects, with their keys as the header.
pub(crate) fn render_objects(form: RowForm, rows: &[serde_json::Value]) -> Vec<u8> {
    let mut out = Vec::new();
    let objects: Vec<_> = rows.iter().filter_map(serde_json::Value::as_object).collect();
    let Some(first) = objects.first() else { return out };
    form.push_row(first.keys(), &mut out);
    for object in &objects {
        let cells = first.keys().map(|key| match object.get(key) {
            None | Some(serde_json::Value::Null) => String::new(),
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        });
        form.push_row(cells, &mut out);
    }
    out
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
    fn cells_with_separators_are_quoted_or_escaped() {
        let cells = ["a", "b,c", "say \"x\"", "two\nlines", "tab\t\\", ""];
        assert_eq!(row(RowForm::Csv, &cells), "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",tab\t\\,\r\n");
        assert_eq!(row(RowForm::Tsv, &cells), "a\tb,c\tsay \"x\"\ttwo\\nlines\ttab\\t\\\\\t\n");
    }
}
