//! The `if` lines of a transform, as far as they can be followed without an ad.

use htc_base::text::space::trim;
use htc_transform::Line;

/// The `if` lines of a text, as far as they are constant.
#[derive(Default)]
pub(super) struct Conditions {
    open: Vec<Open>,
}

struct Open {
    line: Line,
    /// What is known of the branch we are in.
    branch: Option<bool>,
    /// Whether some branch before was certainly taken.
    taken: bool,
    /// Whether there was an else.
    last: bool,
}

impl Conditions {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.open.iter().any(|open| open.branch == Some(false))
    }

    pub(super) fn open(&self) -> Option<Line> {
        self.open.first().map(|open| open.line.clone())
    }

    /// Follows one line; a message when it stands where it may not.
    pub(super) fn line(&mut self, line: &Line) -> Option<&'static str> {
        let text = line.text.strip_prefix(b":").unwrap_or(&line.text);
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        let condition = constant(trim(&text[word_end..]));
        match text[..word_end].to_ascii_lowercase().as_slice() {
            b"if" => {
                let taken = condition == Some(true);
                self.open.push(Open { line: line.clone(), branch: condition, taken, last: false });
                None
            }
            b"endif" => self.open.pop().is_none().then_some("endif without matching if"),
            word => {
                let is_else = word == b"else";
                let Some(open) = self.open.last_mut() else {
                    return Some(if is_else {
                        "else without matching if"
                    } else {
                        "elif without matching if"
                    });
                };
                if open.last {
                    return Some(if is_else {
                        "else is not allowed after else"
                    } else {
                        "elif is not allowed after else"
                    });
                }
                open.last = is_else;
                open.branch = match (open.taken, is_else, open.branch) {
                    (true, ..) => Some(false),
                    (false, true, Some(false)) => Some(true),
                    (false, true, _) => None,
                    (false, false, _) => condition,
                };
                open.taken |= open.branch == Some(true);
                None
            }
        }
    }
}

/// The value of a condition that is a plain word or number.
fn constant(condition: &[u8]) -> Option<bool> {
    match condition.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"t" | b"1" => Some(true),
        b"false" | b"no" | b"f" | b"0" => Some(false),
        _ => None,
    }
}
