//! Long conditions in several lines (reference: condor_utils/expr_analyze.cpp, `PrettyPrintExprTree`).

use crate::classad::Expr;

/// Appends an expression. Breaks each line of the whole text that is wider than `width` at an `&&` or `||`
/// (`PrettyPrintExprTree`).
pub(super) fn append_wrapped(expr: &Expr, out: &mut Vec<u8>, indent: usize, width: usize) {
    out.extend_from_slice(&expr.unparse());
    let mut indent = if indent > width { width * 2 / 3 } else { indent } as i64;
    let mut indent_at_break = indent;
    let (mut at, mut last_break, mut line_start) = (0, 0, 0);
    let mut position = indent;
    let mut was_operator = false;
    let mut previous = 0;
    while at < out.len() {
        let byte = out[at];
        let is_operator = matches!(byte, b'&' | b'|') && previous == byte;
        match byte {
            _ if is_operator => {}
            b'(' => indent += 2,
            b')' => indent -= 2,
            _ => {}
        }
        if position >= width as i64 && last_break != line_start {
            out[last_break] = b'\n';
            line_start = last_break + 1;
            last_break = line_start;
            position = 0;
            if let Ok(blanks @ 1..) = usize::try_from(indent_at_break) {
                out.splice(line_start..line_start, std::iter::repeat_n(b' ', blanks));
                at += blanks;
                position = (at - line_start) as i64;
            }
            indent_at_break = indent;
        }
        if was_operator {
            last_break = at;
            indent_at_break = indent;
        }
        previous = byte;
        at += 1;
        position += 1;
        was_operator = is_operator;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bstr::ByteSlice;

    #[test]
    fn a_long_condition_is_broken_after_its_operators() {
        let expr = Expr::parse(b"Aaaa == 1 && (Bbbb == 2 || Cccc == 3) && Dddd == 4").unwrap();
        let mut text = b"x ".to_vec();
        append_wrapped(&expr, &mut text, 4, 24);
        assert_eq!(
            text.to_str_lossy(),
            "x Aaaa == 1 &&\n    (Bbbb == 2 ||\n      Cccc == 3) &&\n    Dddd == 4"
        );
    }
}
