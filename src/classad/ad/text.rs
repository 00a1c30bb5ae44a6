//! The text of an ad: its names and strings.
//!
//! A name is followed by ` = `, and a string that was read together with its name stands right behind that in quotes and
//! with a line's end, so that what a long ad shows of it is one piece of the text.

use super::{ClassAd, Entry, Slot};

/// What follows a name.
const EQUALS: &[u8] = b" = ";

impl ClassAd {
    #[inline]
    pub(crate) fn name_of(&self, at: usize) -> &[u8] {
        let entry = &self.entries[at];
        &self.text[entry.start as usize..entry.start as usize + entry.len as usize]
    }

    /// The text of a string literal.
    #[inline]
    pub(crate) fn slot_text(&self, start: u32, len: u32) -> &[u8] {
        &self.text[start as usize..start as usize + len as usize]
    }

    /// The beginning of an attribute's line in the long form, `Name = `, and its value; no value where the line is complete.
    #[inline]
    pub(crate) fn line_of(&self, at: usize) -> (&[u8], Option<&Slot>) {
        let Entry { start, len, value } = &self.entries[at];
        let value_start = start + len + EQUALS.len() as u32;
        match value {
            Slot::Str { start: text, len } if *text == value_start + 1 => {
                (&self.text[*start as usize..(text + len) as usize + 2], None)
            }
            value => (&self.text[*start as usize..value_start as usize], Some(value)),
        }
    }

    #[inline]
    pub(super) fn push_text(&mut self, bytes: &[u8]) -> (u32, u32) {
        self.tidy();
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        (start, bytes.len() as u32)
    }

    /// Gives text up that nothing uses any more, once that is most of it.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.dead > 4096 && self.dead * 2 > self.text.len() {
            self.compact();
        }
    }

    #[inline]
    pub(super) fn push_name(&mut self, name: &[u8]) -> u32 {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(EQUALS);
        start
    }

    /// Adds an attribute that is not there and holds a string.
    #[inline]
    pub(super) fn put_new_string(&mut self, name: &[u8], hash: u32, string: &[u8]) {
        if memchr::memchr(b'"', string).is_some() {
            let (start, len) = self.push_text(string);
            return self.put_new(name, hash, Slot::Str { start, len });
        }
        self.tidy();
        let start = self.push_name(name);
        self.text.push(b'"');
        let value = Slot::Str { start: self.text.len() as u32, len: string.len() as u32 };
        self.text.extend_from_slice(string);
        self.text.extend_from_slice(b"\"\n");
        self.add(Entry { start, len: name.len() as u32, value }, hash);
    }

    /// Adds an attribute that is not there and holds a string without quotation marks, given as its line in the long form;
    /// `beginning` is the length of `Name = ` in it.
    #[inline]
    pub(super) fn put_new_line(&mut self, beginning: usize, hash: u32, line: &[u8]) {
        self.tidy();
        let start = self.text.len() as u32;
        self.text.extend_from_slice(line);
        let value =
            Slot::Str { start: start + beginning as u32 + 1, len: (line.len() - beginning) as u32 - 3 };
        self.add(Entry { start, len: (beginning - EQUALS.len()) as u32, value }, hash);
    }

    /// Adds an attribute that is not there with the string that the one at a place holds.
    pub(super) fn copy_string(&mut self, at: usize, to: &[u8], hash: u32) {
        self.tidy();
        let is_line = self.line_of(at).1.is_none();
        let Slot::Str { start, len } = self.entries[at].value else { return };
        let range = start as usize..start as usize + len as usize;
        if is_line {
            let name = self.push_name(to);
            let value = Slot::Str { start: self.text.len() as u32 + 1, len };
            self.text.extend_from_within(range.start - 1..range.end + 2);
            self.add(Entry { start: name, len: to.len() as u32, value }, hash);
        } else {
            let value = Slot::Str { start: self.text.len() as u32, len };
            self.text.extend_from_within(range);
            self.put_new(to, hash, value);
        }
    }

    /// Copies the text that is still used together.
    fn compact(&mut self) {
        let old = std::mem::take(&mut self.text);
        let mut text = Vec::with_capacity(old.len().saturating_sub(self.dead) + 8 * self.entries.len());
        let mut keep = |start: &mut u32, len: u32| {
            let bytes = &old[*start as usize..*start as usize + len as usize];
            *start = text.len() as u32;
            text.extend_from_slice(bytes);
        };
        for entry in &mut self.entries {
            keep(&mut entry.start, entry.len + EQUALS.len() as u32);
            if let Slot::Str { start, len } = &mut entry.value {
                keep(start, *len);
            }
        }
        self.text = text;
        self.dead = 0;
    }
}

#[cfg(test)]
mod tests {
    use crate::classad::ClassAd;
    use crate::classad::format::long;

    #[test]
    fn lines_print_what_was_put_in_whatever_happened_between() {
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
        // Replaced, with all texts moved together on the way, and put back.
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
