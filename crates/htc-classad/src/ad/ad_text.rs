//! Text of an ad: one buffer with the names and strings of its attributes.
//!
//! Each name is followed by ` = `. If a string was added together with its name, it follows this separator in quotes
//! and with a newline, so that the attribute's line in the long form is one piece of the text; such a value is a
//! [`StoredValue::QuotedLine`]. Any other string is a [`StoredValue::Str`] and may be anywhere in the text.

use super::{AttributeEntry, ClassAd, StoredValue};
use crate::syntax::scalar::TextRange;

/// Separator between a name and its value.
const NAME_VALUE_SEPARATOR: &[u8] = b" = ";
/// Number of bytes around the string of a [`StoredValue::QuotedLine`]: two quotation marks and a newline.
const QUOTES_AND_NEWLINE: usize = 3;

impl AttributeEntry {
    /// Returns the number of bytes of the ad's text that the entry uses.
    fn text_len(&self) -> usize {
        self.len as usize + NAME_VALUE_SEPARATOR.len() + self.value.text_len()
    }
}

impl StoredValue {
    /// Returns the number of bytes of the ad's text that the value uses.
    pub(super) fn text_len(&self) -> usize {
        match self {
            StoredValue::Str(text) => text.len as usize,
            StoredValue::QuotedLine(text) => text.len as usize + QUOTES_AND_NEWLINE,
            StoredValue::Undefined
            | StoredValue::Error
            | StoredValue::Bool(_)
            | StoredValue::Int(_)
            | StoredValue::Real(_)
            | StoredValue::Expr(..) => 0,
        }
    }
}

impl ClassAd {
    #[inline]
    pub(crate) fn name_at(&self, at: usize) -> &[u8] {
        let entry = &self.entries[at];
        &self.text[entry.start as usize..entry.start as usize + entry.len as usize]
    }

    /// Returns the beginning of an attribute's line in the long form, `Name = `, and the value. If the text contains
    /// the complete line, returns that line, and `None` as value.
    #[inline]
    pub(crate) fn line_at(&self, at: usize) -> (&[u8], Option<&StoredValue>) {
        let entry = &self.entries[at];
        let start = entry.start as usize;
        match &entry.value {
            StoredValue::QuotedLine(_) => (&self.text[start..start + entry.text_len()], None),
            value => {
                (&self.text[start..start + entry.len as usize + NAME_VALUE_SEPARATOR.len()], Some(value))
            }
        }
    }

    /// Replaces the value of an entry and marks the text of the old value as unused.
    #[inline]
    pub(super) fn replace_value(&mut self, at: usize, value: StoredValue) {
        let old = std::mem::replace(&mut self.entries[at].value, value);
        self.unused_text_len += old.text_len();
    }

    /// Converts the [`StoredValue::QuotedLine`] of an entry to a [`StoredValue::Str`], because the entry is about to be
    /// renamed.
    pub(super) fn split_off_name(&mut self, at: usize) {
        if let StoredValue::QuotedLine(text) = self.entries[at].value {
            self.entries[at].value = StoredValue::Str(text);
            self.unused_text_len += QUOTES_AND_NEWLINE;
        }
    }

    /// Marks the text of an entry as unused before the entry is removed.
    pub(super) fn discard_entry_text(&mut self, at: usize) {
        self.unused_text_len += self.entries[at].text_len();
    }

    /// Renames an entry.
    pub(super) fn rename_entry(&mut self, at: usize, name: &[u8]) {
        self.split_off_name(at);
        self.compact_if_needed();
        self.unused_text_len += self.entries[at].len as usize + NAME_VALUE_SEPARATOR.len();
        self.entries[at].start = self.push_name(name);
        self.entries[at].len = name.len() as u32;
    }

    #[inline]
    pub(crate) fn push_text(&mut self, bytes: &[u8]) -> TextRange {
        self.compact_if_needed();
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        TextRange { start, len: bytes.len() as u32 }
    }

    /// Compacts the text if most of it is unused.
    #[inline]
    pub(super) fn compact_if_needed(&mut self) {
        if self.unused_text_len > 4096 && self.unused_text_len * 2 > self.text.len() {
            self.compact_text();
        }
    }

    #[inline]
    pub(super) fn push_name(&mut self, name: &[u8]) -> u32 {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(NAME_VALUE_SEPARATOR);
        start
    }

    /// Adds an attribute with a string value. The ad must not have the attribute yet.
    #[inline]
    pub(super) fn put_new_string(&mut self, name: &[u8], hash: u32, string: &[u8]) {
        if memchr::memchr(b'"', string).is_some() {
            let text = self.push_text(string);
            return self.put_new(name, hash, StoredValue::Str(text));
        }
        self.compact_if_needed();
        let start = self.push_name(name);
        self.text.push(b'"');
        let value =
            StoredValue::QuotedLine(TextRange { start: self.text.len() as u32, len: string.len() as u32 });
        self.text.extend_from_slice(string);
        self.text.extend_from_slice(b"\"\n");
        self.add_entry(AttributeEntry { start, len: name.len() as u32, value }, hash);
    }

    /// Adds an attribute from its line in the long form. The value must be a string that contains no quotation marks;
    /// `beginning` is the length of `Name = ` in the line. The ad must not have the attribute yet.
    #[inline]
    pub(crate) fn put_new_line(&mut self, beginning: usize, hash: u32, line: &[u8]) {
        self.compact_if_needed();
        let start = self.text.len() as u32;
        self.text.extend_from_slice(line);
        let text = TextRange {
            start: start + beginning as u32 + 1,
            len: (line.len() - beginning - QUOTES_AND_NEWLINE) as u32,
        };
        let value = StoredValue::QuotedLine(text);
        self.add_entry(
            AttributeEntry { start, len: (beginning - NAME_VALUE_SEPARATOR.len()) as u32, value },
            hash,
        );
    }

    /// Adds the attribute `to` with a copy of the string of the entry at index `at`. The ad must not have an attribute
    /// `to` yet.
    pub(super) fn copy_string(&mut self, at: usize, to: &[u8], hash: u32) {
        self.compact_if_needed();
        let range = |text: TextRange| text.start as usize..text.start as usize + text.len as usize;
        match self.entries[at].value {
            StoredValue::QuotedLine(text) => {
                let name = self.push_name(to);
                let value =
                    StoredValue::QuotedLine(TextRange { start: self.text.len() as u32 + 1, len: text.len });
                let string = range(text);
                self.text.extend_from_within(string.start - 1..string.end + 2);
                self.add_entry(AttributeEntry { start: name, len: to.len() as u32, value }, hash);
            }
            StoredValue::Str(text) => {
                let copy = TextRange { start: self.text.len() as u32, len: text.len };
                self.text.extend_from_within(range(text));
                self.put_new(to, hash, StoredValue::Str(copy));
            }
            StoredValue::Undefined
            | StoredValue::Error
            | StoredValue::Bool(_)
            | StoredValue::Int(_)
            | StoredValue::Real(_)
            | StoredValue::Expr(..) => {}
        }
    }

    /// Copies the parts of the text that entries use to a new buffer.
    fn compact_text(&mut self) {
        let old = std::mem::take(&mut self.text);
        let mut text = Vec::with_capacity(old.len().saturating_sub(self.unused_text_len));
        let mut keep = |start: &mut u32, len: usize| {
            let bytes = &old[*start as usize..*start as usize + len];
            *start = text.len() as u32;
            text.extend_from_slice(bytes);
        };
        for entry in &mut self.entries {
            let before = entry.start;
            let name = entry.len as usize + NAME_VALUE_SEPARATOR.len();
            match &mut entry.value {
                StoredValue::Str(text) => {
                    keep(&mut entry.start, name);
                    keep(&mut text.start, text.len as usize);
                }
                StoredValue::QuotedLine(text) => {
                    keep(&mut entry.start, name + text.len as usize + QUOTES_AND_NEWLINE);
                    text.start = text.start - before + entry.start;
                }
                StoredValue::Undefined
                | StoredValue::Error
                | StoredValue::Bool(_)
                | StoredValue::Int(_)
                | StoredValue::Real(_)
                | StoredValue::Expr(..) => keep(&mut entry.start, name),
            }
        }
        self.text = text;
        self.unused_text_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::ad::ClassAd;
    use crate::ad_io::format::long;

    #[test]
    fn a_string_stored_after_its_name_is_not_a_complete_line() {
        for lines in [
            &["A = 1", "A = \"x\"", "A = \"y\""][..],
            &["A = 1", "A = \"x\"", "A = \"yz\"", "B = \"hello\""],
            &["A = 1", "A = \"\"", "A = \"\"", "B = 2", "A = \"\""],
        ] {
            let mut ad = ClassAd::new();
            for line in lines {
                ad.insert_line(line.as_bytes()).unwrap();
            }
            let last = |name: &str| lines.iter().rfind(|line| line.starts_with(name));
            let expected: String =
                ["A", "B"].into_iter().filter_map(last).map(|line| format!("{line}\n")).collect();
            assert_eq!(String::from_utf8(long::print(&ad)).unwrap(), expected);
        }
    }

    #[test]
    fn lines_print_the_last_value_after_any_changes() {
        let mut ad = ClassAd::new();
        let mut lines: Vec<String> = Vec::new();
        for (name, value) in [
            ("A", "\"x\""),
            ("B", "\"say \\\"x\\\"\""),
            ("C", "1"),
            ("D", "\"\""),
            ("E", "a + 1"),
            ("F", "\"back\\slash\""),
        ] {
            lines.push(format!("{name} = {value}"));
            ad.insert_line(format!("{name} = {value}").as_bytes()).unwrap();
        }
        assert_eq!(long::print(&ad), (lines.join("\n") + "\n").as_bytes());
        // The old value of C is set again after the text was compacted.
        ad.set("C", "a string now");
        for turn in 0..3000 {
            ad.set("A", format!("long enough to fill the text {turn}"));
        }
        lines[0] = String::from("A = \"long enough to fill the text 2999\"");
        lines[2] = String::from("C = \"a string now\"");
        assert_eq!(long::print(&ad), (lines.join("\n") + "\n").as_bytes());
        ad.remove("B");
        ad.set("B", "one \" in it");
        lines[1] = String::from("B = \"one \\\" in it\"");
        assert_eq!(long::print(&ad.clone()), (lines.join("\n") + "\n").as_bytes());
    }
}
