//! Tables for people: aligned columns separated by two blanks, without frames and trailing blanks.

use tabled::builder::Builder;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::{Alignment, Padding, Style};

use super::Painter;
use crate::text::control_characters::mask_control_characters;

/// Formats rows below their headings, each line with its newline. Control characters in cells are shown as
/// `?`, so that one cell is one line. A table without rows consists of its headings. The first character of
/// each heading is the alignment of its column: `<` for left, as for words, `>` for right, as for numbers.
pub fn render_table<R>(headings: &[&str], rows: R, painter: Painter) -> String
where
    R: IntoIterator,
    R::Item: IntoIterator<Item = String>,
{
    let mut builder = Builder::default();
    builder.push_record(headings.iter().map(|heading| heading.trim_start_matches(['<', '>'])));
    for row in rows {
        builder.push_record(row.into_iter().map(|cell| mask_control_characters(&cell)));
    }
    let mut table = builder.build();
    table.with(Style::empty()).modify(Rows::new(..), Padding::new(0, 2, 0, 0));
    for (at, heading) in headings.iter().enumerate() {
        let to_right = heading.starts_with('>');
        table.modify(Columns::one(at), if to_right { Alignment::right() } else { Alignment::left() });
    }
    let mut text = String::new();
    for (at, line) in table.to_string().lines().enumerate() {
        let line = line.trim_end();
        if at == 0 {
            text.push_str(&painter.bold(line).to_string());
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line_and_lines_end_without_blanks() {
        let columns = ["<JOB", ">STATUS", "<WHY"];
        let rows = [["1.0", "0", "done\n"], ["12.0", "143", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(
            render_table(&columns, rows, Painter::plain()),
            "JOB   STATUS  WHY\n1.0        0  done?\n12.0     143\n"
        );
        let none: [[String; 3]; 0] = [];
        assert_eq!(render_table(&columns, none, Painter::plain()), "JOB  STATUS  WHY\n");
    }
}
