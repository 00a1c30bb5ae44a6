//! Why a slot would or would not take a job: which conditions are not true, and the values they saw.

use super::execution_point::ExecutionPoint;
use super::fetch_verdict::{add_requests, why_refused};
use super::interface::SlotKey;
use super::settings::SlotKind;
use super::single::Slot;
use crate::classad::{ClassAd, Context, Expr, Value};
use crate::world::{Frozen, World};

/// What a slot says to a job that nobody has fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Whether it would take it, were it free.
    pub accepted: bool,
    /// In one line.
    pub reason: String,
    /// The conditions that are not true, one each, with the values they saw.
    pub details: Vec<String>,
}

/// Conditions within conditions are followed so far.
const DEEPEST: usize = 8;
/// A value is shown up to this length.
const SHOWN: usize = 120;

impl ExecutionPoint {
    /// What a slot, were it free, would say to the job; `None` when there is no such slot.
    pub fn consider(&self, key: SlotKey, job: &ClassAd) -> Option<Offer> {
        let slot = self.slots.get(&key)?;
        let mut job = job.clone();
        if slot.kind == SlotKind::Static {
            add_requests(&mut job);
        }
        let world = Frozen { world: &*self.core.world, now: self.core.now };
        let context = Context::new(&world).my(&slot.live).target(&job);
        let accepted = slot.broken.is_none() && context.boolean("Requirements") == Some(true);
        let details = if accepted { Vec::new() } else { slot.untrue(&context) };
        let reason = if accepted {
            format!("rank {}", context.real("Rank").unwrap_or(0.0))
        } else {
            slot.in_one_line(&world, &job)
        };
        Some(Offer { accepted, reason, details })
    }
}

impl Slot {
    /// Why Requirements are not true for the job, in one line.
    pub(super) fn in_one_line(&self, world: &dyn World, job: &ClassAd) -> String {
        match &self.broken {
            Some(broken) => format!("the slot is broken: {}", broken.reason),
            None => why_refused(&self.live, job, world),
        }
    }

    /// All conditions of Requirements that are not true.
    fn untrue(&self, context: &Context<'_>) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(expr) = self.live.get("Requirements") {
            self.collect(context, &expr, 0, &mut found);
        }
        found
    }

    fn collect(&self, context: &Context<'_>, expr: &Expr, depth: usize, found: &mut Vec<String>) {
        let value = context.eval(expr);
        if value.truth() == Some(true) {
            return;
        }
        if depth < DEEPEST {
            if let Some((left, right)) = expr.as_conjunction() {
                self.collect(context, &left, depth, found);
                self.collect(context, &right, depth, found);
                return;
            }
            // START and WithinResourceLimits stand in Requirements by name only.
            if let Some(inner) = expr.as_attribute().and_then(|name| self.live.get(&name))
                && inner.as_literal().is_none()
            {
                self.collect(context, &inner, depth + 1, found);
                return;
            }
        }
        let text = shortened(&expr.unparse().to_string());
        let values = values_in(context, expr);
        let value = shortened(&value.unparse().to_string());
        let because = if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        found.push(if text == value { text } else { format!("{text} is {value}{because}") });
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The attributes that an expression names, with their values.
pub(super) fn values_in(context: &Context<'_>, expr: &Expr) -> Vec<String> {
    let text = expr.unparse().to_string();
    let mut shown: Vec<String> = Vec::new();
    for name in names_in(&text) {
        let Ok(reference) = Expr::parse(name.as_bytes()) else { continue };
        let value = context.eval(&reference);
        let value =
            if matches!(value, Value::Undefined) { "undefined".into() } else { value.unparse().to_string() };
        let line = format!("{name} = {}", shortened(&value));
        if !shown.contains(&line) {
            shown.push(line);
        }
    }
    shown
}

/// The attribute references in an unparsed expression: names that are no function, keyword or part of a string.
fn names_in(text: &str) -> Vec<String> {
    const WORDS: [&str; 7] = ["true", "false", "undefined", "error", "is", "isnt", "parent"];
    let bytes = text.as_bytes();
    let mut names = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'0'..=b'9' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                    at += 1;
                }
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let start = at;
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'.'))
                {
                    at += 1;
                }
                let name = &text[start..at];
                let is_call = bytes.get(at) == Some(&b'(');
                if !is_call && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(name)) {
                    names.push(name.to_owned());
                }
            }
            _ => at += 1,
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_strings_and_calls() {
        let text = "TARGET.Memory <= MY.Memory && regexp(\"a.b\", Owner) && X =?= undefined && 1.5E3 < y";
        assert_eq!(names_in(text), ["TARGET.Memory", "MY.Memory", "Owner", "X", "y"]);
        assert_eq!(names_in("\"open"), Vec::<String>::new());
        assert_eq!(names_in("'a b' + c"), ["c"]);
    }
}
