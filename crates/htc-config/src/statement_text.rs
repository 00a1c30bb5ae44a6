//! Writes definitions as statements that read back as the same values.
//!
//! The reference's own `-writeconfig` always ends its blocks with `@end` and writes values as they are; a
//! value that ends in a blank or a backslash, or a block with a line `@end`, does not read back correctly.

use bstr::BString;

use crate::statement;
use htc_base::text::space::{is_space, trim};

/// Appends a statement that sets `name` to this raw value, including a newline. Returns false if there is no
/// such statement: the name is not valid, or the value cannot be written in a file (it comes from the
/// environment and has a newline next to blanks or empty lines).
pub fn push_statement(name: &[u8], raw: &[u8], out: &mut Vec<u8>) -> bool {
    let is_keyword =
        [&b"if"[..], b"elif", b"else", b"endif"].iter().any(|word| name.eq_ignore_ascii_case(word));
    if !statement::is_valid_name(name) || is_keyword {
        return false;
    }
    // Nearly all values are a single line without any of these characters.
    let has_special_bytes = memchr::memchr3(0, b'\n', b'\\', raw).is_some();
    let is_block = has_special_bytes && raw.contains(&b'\n');
    let lines = || raw.split(|&b| b == b'\n');
    if has_special_bytes {
        let has_bad_start = |line: &[u8]| match line.first() {
            Some(&first) => is_space(first) || (is_block && first == b'#'),
            None => is_block,
        };
        if raw.contains(&0) || lines().any(has_bad_start) {
            return false;
        }
        if lines().any(|line| line.last() == Some(&b'\\')) {
            // A backslash at the end of a line continues it. It is written as the default of a reference to
            // the name itself instead, which requires the name to be empty.
            out.extend_from_slice(name);
            out.extend_from_slice(b" =\n");
        }
    } else if raw.first().is_some_and(|first| is_space(*first)) {
        // The reader drops white space before a value; after a reference to the empty name itself it is kept.
        out.extend_from_slice(&[name, b" =\n", name, b" = $(", name, b")"].concat());
        push_value_line(out, name, raw);
        return true;
    }
    out.extend_from_slice(name);
    if !is_block {
        out.extend_from_slice(b" = ");
        push_value_line(out, name, raw);
        return true;
    }
    let mut tag = String::from("end");
    let mut number = 0;
    while lines().any(|line| line.strip_prefix(b"@") == Some(tag.as_bytes())) {
        number += 1;
        tag = format!("end{number}");
    }
    out.extend_from_slice(format!(" @={tag}\n").as_bytes());
    for line in lines() {
        out.extend_from_slice(b"  ");
        push_value_line(out, name, line);
    }
    out.extend_from_slice(format!("@{tag}\n").as_bytes());
    true
}

/// Appends a line of a value. White space at its end is preserved by continuing the line with an empty one.
fn push_value_line(out: &mut Vec<u8>, name: &[u8], line: &[u8]) {
    match line.split_last() {
        Some((b'\\', before)) => {
            // A dollar before the reference would turn it into `$$(...)`, which has another meaning, so it
            // goes inside the default.
            let dollars = before.iter().rev().take_while(|&&b| b == b'$').count();
            let (before, dollars) = before.split_at(before.len() - dollars);
            out.extend_from_slice(&[before, b"$(", name, b":", dollars, b"\\)"].concat());
        }
        Some((&last, _)) if is_space(last) => out.extend_from_slice(&[line, b"\\\n"].concat()),
        _ => out.extend_from_slice(line),
    }
    out.push(b'\n');
}

/// Formats a value as `condor_config_val` shows it: `@=end`, the lines trimmed and indented without empty
/// ones, `@end`; or `= value`.
pub fn format_assignment(value: &[u8], is_block: bool, indent: &str) -> BString {
    if !is_block {
        return [b"= ", value].concat().into();
    }
    let mut text = BString::from("@=end");
    text.extend_from_slice(&indent_lines(value, indent));
    text.extend_from_slice(b"\n@end");
    text
}

/// Trims each line and puts a newline and an indent before it; empty lines are dropped.
pub fn indent_lines(value: &[u8], indent: &str) -> BString {
    let mut text = BString::default();
    for line in value.split(|&b| b == b'\n') {
        let line = trim(line);
        if !line.is_empty() {
            text.push(b'\n');
            text.extend_from_slice(indent.as_bytes());
            text.extend_from_slice(line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use bstr::BString;

    use super::*;
    use crate::MacroSource;
    use crate::expand::Expander;
    use crate::lines::LogicalLines;
    use htc_os::RealWorld;

    struct Nothing;

    impl MacroSource for Nothing {
        fn raw(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(b""))
        }
    }

    fn statement(name: &[u8], raw: &[u8]) -> Option<BString> {
        let mut text = Vec::new();
        push_statement(name, raw, &mut text).then(|| text.into())
    }

    /// Returns the value that a statement gives, as the reader of files has it.
    fn read_back(text: &[u8]) -> Vec<u8> {
        let mut lines = LogicalLines::new(text);
        let mut value: Vec<Vec<u8>> = Vec::new();
        while let Some(line) = lines.next_line() {
            let split = statement::split_line(&line.text).unwrap();
            value = vec![split.value.to_vec()];
            if split.operator == statement::StatementOperator::Here {
                let tag = split.value.to_vec();
                value.clear();
                loop {
                    let line = lines.next_line().expect("the block is closed");
                    if line.text.strip_prefix(b"@") == Some(&tag[..]) {
                        break;
                    }
                    value.push(line.text.into_owned());
                }
            }
        }
        let name = text.split(|&b| b == b' ').next().unwrap();
        let value = value.join(&b'\n');
        Expander::new(&Nothing, &RealWorld::new(), &mut |_| ())
            .expand_self_references(name, &value)
            .unwrap()
            .into_owned()
    }

    #[test]
    fn line_ends_are_preserved() {
        for raw in [
            "",
            "x",
            "x ",
            " x",
            "\t x ",
            "x\\",
            "a\nb",
            "@end\n@end1",
            "a \nb\\\nc",
            "= 1",
            "# no comment",
            "\\",
            "0$\\",
            "$$$\\",
        ] {
            let text = statement(b"A", raw.as_bytes()).unwrap();
            assert_eq!(read_back(&text), raw.as_bytes(), "{text}");
        }
        assert!(statement(b"A-B", b"1").is_none());
        assert!(statement(b"A", b" x\ny").is_none());
    }

    proptest::proptest! {
        #[test]
        fn every_value_that_can_be_written_reads_back(raw in "[ -~\n\\\\\t@=#$()]{0,40}") {
            if let Some(text) = statement(b"Some.Name", raw.as_bytes()) {
                proptest::prop_assert_eq!(read_back(&text), raw.as_bytes());
            }
        }
    }
}
