//! Unbalanced brackets in expressions.

/// Bracket without its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnbalancedBracket {
    /// Position in the text.
    pub at: usize,
    /// Bracket that has no counterpart.
    pub bracket: u8,
    /// For an opening bracket, the bracket that would close it. For a closing bracket, the one that would close the
    /// innermost open bracket, or 0 if none is open.
    pub expected: u8,
}

/// Returns the first bracket of an expression that has no counterpart. Brackets in strings and comment lines
/// are ignored.
pub fn find_unbalanced(text: &[u8]) -> Option<UnbalancedBracket> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut quote: Option<u8> = None;
    let mut at = 0;
    let mut line_start = true;
    while let Some(&byte) = text.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            // A string ends at the end of its line.
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

/// Formats the problem for messages.
impl std::fmt::Display for UnbalancedBracket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (bracket, wanted) = (char::from(self.bracket), char::from(self.expected));
        match (self.expected, self.bracket) {
            (0, _) => write!(f, "'{bracket}' has no opening bracket"),
            (_, b'(' | b'[' | b'{') => write!(f, "'{bracket}' is never closed"),
            _ => write!(f, "found '{bracket}' where '{wanted}' is needed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_are_ignored() {
        assert_eq!(find_unbalanced(b"(a[\"(\"] \n # (\n + {1})"), None);
        assert_eq!(
            find_unbalanced(b"a (b"),
            Some(UnbalancedBracket { at: 2, bracket: b'(', expected: b')' })
        );
        assert_eq!(find_unbalanced(b"a)").unwrap().to_string(), "')' has no opening bracket");
        assert_eq!(find_unbalanced(b"(a]").unwrap().to_string(), "found ']' where ')' is needed");
    }
}
