//! Brackets of expressions that do not match.

/// A bracket without its partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnbalancedBracket {
    /// Its place in the text.
    pub at: usize,
    /// The bracket.
    pub bracket: u8,
    /// What would close it, or what is open where something else closes; 0 where nothing is open.
    pub expected: u8,
}

/// The first bracket of an expression text that has no partner. Brackets in strings and in comment lines do not count.
pub fn find_unbalanced(text: &[u8]) -> Option<UnbalancedBracket> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut quote: Option<u8> = None;
    let mut at = 0;
    let mut line_start = true;
    while let Some(&byte) = text.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            // A string ends with its line at the latest.
            (Some(mark), _) if byte == mark || byte == b'\n' => quote = None,
            (Some(_), _) => {}
            (None, b'#') if line_start => {
                at = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |more| at + more);
                continue;
            }
            (None, b'"') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => open.push((at, byte)),
            (None, b')' | b']' | b'}') => match open.pop() {
                Some((_, opened)) if closing_bracket(opened) == byte => {}
                Some((_, opened)) => {
                    return Some(UnbalancedBracket { at, bracket: byte, expected: closing_bracket(opened) });
                }
                None => return Some(UnbalancedBracket { at, bracket: byte, expected: 0 }),
            },
            _ => {}
        }
        line_start = byte == b'\n' || line_start && byte.is_ascii_whitespace();
        at += 1;
    }
    open.pop().map(|(at, bracket)| UnbalancedBracket { at, bracket, expected: closing_bracket(bracket) })
}

fn closing_bracket(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

/// What is wrong, in words.
impl std::fmt::Display for UnbalancedBracket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (bracket, wanted) = (char::from(self.bracket), char::from(self.expected));
        match (self.expected, self.bracket) {
            (0, _) => write!(f, "'{bracket}' closes nothing"),
            (_, b'(' | b'[' | b'{') => write!(f, "'{bracket}' is never closed"),
            _ => write!(f, "'{bracket}' stands where '{wanted}' is needed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        assert_eq!(find_unbalanced(b"(a[\"(\"] \n # (\n + {1})"), None);
        assert_eq!(
            find_unbalanced(b"a (b"),
            Some(UnbalancedBracket { at: 2, bracket: b'(', expected: b')' })
        );
        assert_eq!(find_unbalanced(b"a)").unwrap().to_string(), "')' closes nothing");
        assert_eq!(find_unbalanced(b"(a]").unwrap().to_string(), "']' stands where ')' is needed");
    }
}
