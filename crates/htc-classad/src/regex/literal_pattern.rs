//! Patterns that are plain text, such as `^ana` or `gpu`, which are the most common. They are searched without PCRE2,
//! because compiling them would take longer than evaluating the rest of a constraint.

use super::RegexOptions;

/// Plain text to be found anywhere in the subject or, if the pattern begins with `^`, only at its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiteralPattern<'p> {
    anchored: bool,
    text: &'p [u8],
}

/// Maximum length of a plain text in bytes. Longer patterns are compiled by PCRE2, which has a limit of its own.
const MAX_LENGTH: usize = 255;

impl<'p> LiteralPattern<'p> {
    /// Returns the plain text of a pattern, or `None` if an option is set or a byte of the pattern has a special
    /// meaning.
    pub(crate) fn from_pattern(pattern: &'p [u8], options: RegexOptions) -> Option<Self> {
        let special = |byte: &u8| br"\^$.[|()?*+{".contains(byte);
        let (anchored, text) = match pattern.strip_prefix(b"^") {
            Some(text) => (true, text),
            None => (false, pattern),
        };
        let is_plain = options == RegexOptions::NONE && (1..=MAX_LENGTH).contains(&text.len());
        (is_plain && !text.iter().any(special)).then_some(LiteralPattern { anchored, text })
    }

    /// Returns true if the pattern matches `subject`.
    pub(crate) fn is_match(self, subject: &[u8]) -> bool {
        match self.anchored {
            true => subject.starts_with(self.text),
            false => memchr::memmem::find(subject, self.text).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Regex;
    use super::*;

    /// Returns all texts that consist of at most `most` of these bytes.
    fn texts(bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..most {
            let until = all.len();
            for at in from..until {
                for byte in bytes {
                    let mut longer = all[at].clone();
                    longer.push(*byte);
                    all.push(longer);
                }
            }
            from = until;
        }
        all
    }

    #[test]
    #[cfg(feature = "regex")]
    fn literal_patterns_match_as_in_pcre2() {
        let subjects = texts(b"a\nB]", 4);
        let mut plain = 0;
        for pattern in texts(b"^aB]\n}-#\0\\$.[|()?*+{", 3) {
            let Some(literal) = LiteralPattern::from_pattern(&pattern, RegexOptions::NONE) else { continue };
            plain += 1;
            let regex = Regex::compile(&pattern, RegexOptions::NONE).unwrap();
            for subject in &subjects {
                assert_eq!(Ok(literal.is_match(subject)), regex.is_match(subject), "{pattern:?} {subject:?}");
            }
        }
        assert!(plain > 400, "{plain}");
    }

    #[test]
    fn with_options_no_pattern_is_literal() {
        for letters in ["i", "m", "s", "x"] {
            assert!(
                LiteralPattern::from_pattern(b"a b", RegexOptions::from_letters(letters.as_bytes()))
                    .is_none()
            );
        }
        assert!(
            LiteralPattern::from_pattern(b"", RegexOptions::NONE).is_none()
                && LiteralPattern::from_pattern(b"^", RegexOptions::NONE).is_none()
        );
        assert!(LiteralPattern::from_pattern(&[b'a'; MAX_LENGTH + 1], RegexOptions::NONE).is_none());
    }
}
