//! Letters that select the style of columns (`-af`), and characters for columns without a value.

/// Output style selected by the letters of `-af`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AutoformatLetters {
    pub(super) row_prefix: Option<u8>,
    pub(super) prefix: Option<u8>,
    pub(super) suffix: Option<u8>,
    pub(super) label: bool,
    pub(super) headings: bool,
    pub(super) job_id: bool,
    pub(super) conversion: &'static str,
}

impl AutoformatLetters {
    /// Parses the letters after the colon. Their order matters only if several set the same separator.
    pub(super) fn parse(text: &[u8]) -> AutoformatLetters {
        let mut letters = AutoformatLetters { prefix: Some(b' '), ..AutoformatLetters::default() };
        let has = |wanted: &[u8]| text.iter().any(|letter| wanted.contains(letter));
        for letter in text {
            match letter {
                b',' => letters.suffix = Some(b','),
                b'n' => letters.suffix = Some(b'\n'),
                b'g' => (letters.prefix, letters.row_prefix) = (None, Some(b'\n')),
                b't' => letters.prefix = Some(b'\t'),
                b'l' => letters.label = true,
                b'h' => letters.headings = true,
                b'j' => letters.job_id = true,
                _ => {}
            }
        }
        letters.conversion = match () {
            () if has(b"ro") => "%r",
            () if has(b"V") => "%V",
            () if has(b"Y") => "%Y",
            () if has(b"T") => "%T",
            () => "%v",
        };
        letters
    }
}

/// Text that replaces a missing value of a column (`OR ?` in a print format).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingValueText {
    character: u8,
    /// True if the text is as wide as the column.
    is_wide: bool,
}

/// Characters that may replace a missing value.
const MISSING_VALUE_CHARACTERS: &[u8; 8] = b" ?*.-_#0";

impl MissingValueText {
    /// Parses the word after `OR`, or returns `None` if it is not a valid one.
    pub(crate) fn parse(word: &[u8]) -> Option<Self> {
        let character = *word.first().filter(|byte| MISSING_VALUE_CHARACTERS.contains(byte))?;
        Some(MissingValueText { character, is_wide: word.get(1) == Some(&character) })
    }

    /// Combines two words after `OR`. As in the reference, the positions of their characters are combined bit by bit.
    pub(crate) fn combined_with(self, other: Self) -> Self {
        let position =
            |text: Self| MISSING_VALUE_CHARACTERS.iter().position(|known| *known == text.character);
        let combined = position(self).unwrap_or(0) | position(other).unwrap_or(0);
        let character = MISSING_VALUE_CHARACTERS[combined];
        MissingValueText { character, is_wide: self.is_wide || other.is_wide }
    }

    /// Replaces the character; the text is then one character wide.
    pub(crate) fn replace_character(&mut self, character: u8) {
        *self = MissingValueText { character, is_wide: false };
    }

    pub(super) fn text(self, width: usize) -> Vec<u8> {
        let character = if self.character == 0 { b' ' } else { self.character };
        match (self.is_wide, width) {
            (false, _) if character == b' ' => Vec::new(),
            (false, _) => vec![character],
            (true, 0) => Vec::new(),
            (true, 1 | 2) => vec![character],
            (true, _) if character == b'?' => [b"[", &vec![b'?'; width - 2][..], b"]"].concat(),
            (true, _) => vec![character; width],
        }
    }
}
