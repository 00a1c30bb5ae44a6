//! Follows the `if` lines of a transform, as far as this is possible without an ad.

use htc_base::text::space::trim;
use htc_transform::RuleLine;

/// Open `if` lines at the current line.
#[derive(Default)]
pub(super) struct ConstantConditions {
    open: Vec<OpenIf>,
}

struct OpenIf {
    line: RuleLine,
    /// Value of the current branch's condition, if it is constant.
    branch_value: Option<bool>,
    /// True if an earlier branch was certainly taken.
    earlier_branch_taken: bool,
    /// True if there was an else.
    has_else: bool,
}

impl ConstantConditions {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.open.iter().any(|open| open.branch_value == Some(false))
    }

    pub(super) fn outermost_if(&self) -> Option<RuleLine> {
        self.open.first().map(|open| open.line.clone())
    }

    /// Processes one line; returns a message if the line is not allowed here.
    pub(super) fn follow_line(&mut self, line: &RuleLine) -> Option<&'static str> {
        let text = line.text.strip_prefix(b":").unwrap_or(&line.text);
        let word_end = text.iter().position(|&b| htc_base::text::space::is_space(b)).unwrap_or(text.len());
        let condition = evaluate_constant(trim(&text[word_end..]));
        match text[..word_end].to_ascii_lowercase().as_slice() {
            b"if" => {
                let taken = condition == Some(true);
                self.open.push(OpenIf {
                    line: line.clone(),
                    branch_value: condition,
                    earlier_branch_taken: taken,
                    has_else: false,
                });
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
                if open.has_else {
                    return Some(if is_else {
                        "else is not allowed after else"
                    } else {
                        "elif is not allowed after else"
                    });
                }
                open.has_else = is_else;
                open.branch_value = match (open.earlier_branch_taken, is_else, open.branch_value) {
                    (true, ..) => Some(false),
                    (false, true, Some(false)) => Some(true),
                    (false, true, _) => None,
                    (false, false, _) => condition,
                };
                open.earlier_branch_taken |= open.branch_value == Some(true);
                None
            }
        }
    }
}

/// Returns the value of a condition that is a plain word or number.
fn evaluate_constant(condition: &[u8]) -> Option<bool> {
    match condition.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"t" | b"1" => Some(true),
        b"false" | b"no" | b"f" | b"0" => Some(false),
        _ => None,
    }
}
