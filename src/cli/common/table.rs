//! Human-readable tables: aligned columns separated by two blanks, without frames and trailing blanks.

use unicode_width::UnicodeWidthStr;

use super::Painter;
use crate::text::control_characters::mask_control_characters;

/// Number of blanks between two columns.
const COLUMN_GAP: usize = 2;

/// Table to which rows are added one by one. All cells are kept in one string.
pub(crate) struct TableBuilder {
    /// True for columns that are aligned to the right.
    to_right: Vec<bool>,
    /// Widths of the columns.
    widths: Vec<usize>,
    text: String,
    /// End of each cell in the string, and the width of the cell.
    cells: Vec<(usize, usize)>,
}

impl TableBuilder {
    /// Creates a table with its headings. The first character of each heading is the alignment of its column: `<` for left
    /// (words), `>` for right (numbers).
    pub(crate) fn new(headings: &[&str]) -> Self {
        let to_right: Vec<bool> = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let widths = vec![0; headings.len()];
        let mut table = TableBuilder { to_right, widths, text: String::new(), cells: Vec::new() };
        table.push_row(headings.iter().map(|heading| heading.trim_start_matches(['<', '>'])));
        table
    }

    /// Adds a row. Control characters in cells are replaced by `?`, so that each cell is on one line.
    pub(crate) fn push_row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells = cells.into_iter();
        for column in 0..self.widths.len() {
            let start = self.text.len();
            if let Some(cell) = cells.next() {
                let cell = cell.as_ref();
                match cell.bytes().any(|byte| byte.is_ascii_control() || !byte.is_ascii()) {
                    true => self.text.push_str(&mask_control_characters(cell)),
                    false => self.text.push_str(cell),
                }
            }
            let cell = &self.text[start..];
            let width = if cell.is_ascii() { cell.len() } else { cell.width() };
            self.widths[column] = self.widths[column].max(width);
            self.cells.push((self.text.len(), width));
        }
    }

    /// Formats the table.
    pub(crate) fn render(&self, painter: Painter) -> String {
        let mut out = String::with_capacity(self.text.len() * 2);
        let mut start = 0;
        for (row, cells) in self.cells.chunks(self.widths.len().max(1)).enumerate() {
            let begin = out.len();
            for (column, (end, width)) in cells.iter().copied().enumerate() {
                let blanks = self.widths[column] - width;
                let (before, after) = if self.to_right[column] { (blanks, 0) } else { (0, blanks) };
                out.extend(std::iter::repeat_n(' ', before));
                out.push_str(&self.text[start..end]);
                out.extend(std::iter::repeat_n(' ', after + COLUMN_GAP));
                start = end;
            }
            out.truncate(begin + out[begin..].trim_end().len());
            if row == 0 {
                let heading = painter.bold(&out[begin..]).to_string();
                out.truncate(begin);
                out.push_str(&heading);
            }
            out.push('\n');
        }
        out
    }
}

/// Formats rows below their headings, which have the form of `TableBuilder::new`. Each line ends with a newline. Without rows,
/// the table consists of its headings.
pub fn render_table<R>(headings: &[&str], rows: R, painter: Painter) -> String
where
    R: IntoIterator,
    R::Item: IntoIterator<Item = String>,
{
    let mut table = TableBuilder::new(headings);
    rows.into_iter().for_each(|row| table.push_row(row));
    table.render(painter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_trailing_blanks() {
        let columns = ["<JOB", ">STATUS", "<WHY"];
        let rows = [["1.0", "0", "done\n"], ["12.0", "143", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(
            render_table(&columns, rows, Painter::plain()),
            "JOB   STATUS  WHY\n1.0        0  done?\n12.0     143\n"
        );
        // Wide characters take two columns, and combining characters none.
        let wide =
            [["\u{6f22}\u{5b57}", "1", "a"], ["e\u{301}", "22", "tab\t"]].map(|row| row.map(str::to_owned));
        assert_eq!(
            render_table(&columns, wide, Painter::plain()),
            "JOB   STATUS  WHY\n\u{6f22}\u{5b57}       1  a\ne\u{301}         22  tab?\n"
        );
        let none: [[String; 3]; 0] = [];
        assert_eq!(render_table(&columns, none, Painter::plain()), "JOB  STATUS  WHY\n");
    }
}
