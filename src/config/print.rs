//! Definitions as statements that read back as they were.
//!
//! The reference's own `-writeconfig` always ends its blocks with `@end` and puts values down as they are; a value that
//! ends in a blank or a backslash, or a block with a line `@end`, does not come back.

use bstr::BString;

use crate::config::statement;
use crate::config::template::is_space;

/// The statement that gives `name` this raw value, newline included. `None` if no statement can: the name is none, or
/// the value was never written in a file (a newline from the environment beside blanks or empty lines).
pub fn statement(name: &[u8], raw: &[u8]) -> Option<BString> {
    let is_keyword =
        [&b"if"[..], b"elif", b"else", b"endif"].iter().any(|word| name.eq_ignore_ascii_case(word));
    if !statement::is_valid_name(name) || is_keyword || raw.contains(&0) {
        return None;
    }
    let mut text = BString::default();
    if raw.split(|&b| b == b'\n').any(|line| line.last() == Some(&b'\\')) {
        // Nothing can stand behind a backslash at the end of a line but the next one. The default of a reference to
        // the name itself can, which needs the name to be empty.
        text.extend_from_slice(&[name, b" =\n"].concat());
    }
    text.extend_from_slice(name);
    if !raw.contains(&b'\n') {
        if raw.first().is_some_and(|&b| is_space(b)) {
            return None;
        }
        text.extend_from_slice(b" = ");
        push_line(&mut text, name, raw);
        return Some(text);
    }
    let lines = || raw.split(|&b| b == b'\n');
    if lines().any(|line| line.is_empty() || is_space(line[0]) || line[0] == b'#') {
        return None;
    }
    let mut tag = String::from("end");
    let mut number = 0;
    while lines().any(|line| line.strip_prefix(b"@") == Some(tag.as_bytes())) {
        number += 1;
        tag = format!("end{number}");
    }
    text.extend_from_slice(format!(" @={tag}\n").as_bytes());
    for line in lines() {
        text.extend_from_slice(b"  ");
        push_line(&mut text, name, line);
    }
    text.extend_from_slice(format!("@{tag}\n").as_bytes());
    Some(text)
}

/// A line of a value. White space at its end is kept by an empty line that continues it.
fn push_line(text: &mut BString, name: &[u8], line: &[u8]) {
    match line.split_last() {
        Some((b'\\', before)) => {
            // A dollar before the reference would make `$$(...)` of it, which is another thing: it goes within.
            let dollars = before.iter().rev().take_while(|&&b| b == b'$').count();
            let (before, dollars) = before.split_at(before.len() - dollars);
            text.extend_from_slice(&[before, b"$(", name, b":", dollars, b"\\)"].concat());
        }
        Some((&last, _)) if is_space(last) => text.extend_from_slice(&[line, b"\\\n"].concat()),
        _ => text.extend_from_slice(line),
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::config::MacroSource;
    use crate::config::expand::expand_self;
    use crate::config::lines::LogicalLines;
    use crate::os::RealWorld;

    struct Nothing;

    impl MacroSource for Nothing {
        fn raw(&self, _name: &[u8]) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(b""))
        }
    }

    /// The value that a statement gives, as the reader of files has it.
    fn read_back(text: &[u8]) -> Vec<u8> {
        let mut lines = LogicalLines::new(text);
        let mut value: Vec<Vec<u8>> = Vec::new();
        while let Some(line) = lines.next_line() {
            let split = statement::split(&line.text).unwrap();
            value = vec![split.value.to_vec()];
            if split.operator == statement::Operator::Here {
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
        expand_self(&value, name, &Nothing, &RealWorld::new(), &mut |_| ()).unwrap().into_owned()
    }

    #[test]
    fn ends_of_lines_survive() {
        for raw in [
            "",
            "x",
            "x ",
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
        assert!(statement(b"A", b" x").is_none());
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
