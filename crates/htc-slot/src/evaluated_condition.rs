//! Conditions that are not true, and the values they refer to.

use serde::Serialize;

use htc_classad::{ClassAd, Context, Expr, Value};

/// Maximum depth to which nested conditions are followed.
const MAX_DEPTH: usize = 8;

/// Maximum length of a value as shown.
const MAX_VALUE_LENGTH: usize = 120;

/// Condition that is not true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvaluatedCondition {
    /// Name of the attribute that contains it, such as `START`.
    pub attribute: String,
    /// Text of the condition.
    pub text: String,
    /// Value of the condition.
    pub value: String,
    /// The attributes it refers to, with their values.
    pub seen: Vec<String>,
}

impl std::fmt::Display for EvaluatedCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)?;
        if self.text != self.value {
            write!(f, " is {}", self.value)?;
        }
        if self.seen.is_empty() { Ok(()) } else { write!(f, " ({})", self.seen.join(", ")) }
    }
}

/// Returns all conditions of Requirements that are not true, each with the attribute that contains it.
pub(super) fn untrue_conditions(ad: &ClassAd, context: &Context<'_>) -> Vec<EvaluatedCondition> {
    let mut found = Vec::new();
    if let Some(expr) = ad.get("Requirements") {
        collect_untrue_conditions(ad, "Requirements", context, &expr, 0, &mut found);
    }
    found
}

fn collect_untrue_conditions(
    ad: &ClassAd,
    attribute: &str,
    context: &Context<'_>,
    expr: &Expr,
    depth: usize,
    found: &mut Vec<EvaluatedCondition>,
) {
    let value = context.eval(expr);
    if value.truth() == Some(true) {
        return;
    }
    if depth < MAX_DEPTH {
        if let Some((left, right)) = expr.as_conjunction() {
            collect_untrue_conditions(ad, attribute, context, &left, depth, found);
            collect_untrue_conditions(ad, attribute, context, &right, depth, found);
            return;
        }
        // Requirements refer to START and WithinResourceLimits by name, in older startds within parentheses.
        if let Some(name) = expr.without_parentheses().as_attribute()
            && let Some(inner) = ad.get(&name)
            && inner.as_literal().is_none()
        {
            collect_untrue_conditions(ad, &name.to_string(), context, &inner, depth + 1, found);
            return;
        }
    }
    let bare = expr.without_parentheses();
    found.push(EvaluatedCondition {
        attribute: bare.as_attribute().map_or_else(|| attribute.to_owned(), |name| name.to_string()),
        // The old syntax begins a negation with a blank.
        text: shorten(expr.unparse_old().to_string().trim_start()),
        value: shorten(&format_value(&value)),
        seen: attribute_values(context, expr),
    });
}

/// Formats a value in a human-readable form: 0.3 instead of 3.000000000000000E-01.
pub(super) fn format_value(value: &Value) -> String {
    match value {
        Value::Real(number) if number.is_finite() && number.abs() < 1e15 => {
            let text = format!("{number}");
            if text.contains('.') { text } else { text + ".0" }
        }
        other => other.unparse().to_string(),
    }
}

/// Returns the attributes that an expression refers to, with their values.
pub(super) fn attribute_values(context: &Context<'_>, expr: &Expr) -> Vec<String> {
    let text = expr.unparse_old().to_string();
    let mut shown: Vec<String> = Vec::new();
    for name in attribute_names(&text) {
        let Ok(reference) = Expr::parse(name.as_bytes()) else { continue };
        let value = context.eval(&reference);
        let value = if matches!(value, Value::Undefined) { "undefined".into() } else { format_value(&value) };
        let line = format!("{name} = {}", shorten(&value));
        if !shown.contains(&line) {
            shown.push(line);
        }
    }
    shown
}

/// Returns the attribute references in an unparsed expression: names that are not functions, keywords or parts of a string.
fn attribute_names(text: &str) -> Vec<String> {
    const KEYWORDS: [&str; 7] = ["true", "false", "undefined", "error", "is", "isnt", "parent"];
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
                if !is_call && !KEYWORDS.iter().any(|word| word.eq_ignore_ascii_case(name)) {
                    names.push(name.to_owned());
                }
            }
            _ => at += 1,
        }
    }
    names
}

pub(super) fn shorten(text: &str) -> String {
    truncate(text, MAX_VALUE_LENGTH)
}

pub(super) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_of_strings_and_calls() {
        let text = "TARGET.Memory <= MY.Memory && regexp(\"a.b\", Owner) && X =?= undefined && 1.5E3 < y";
        assert_eq!(attribute_names(text), ["TARGET.Memory", "MY.Memory", "Owner", "X", "y"]);
        assert_eq!(attribute_names("\"open"), Vec::<String>::new());
        assert_eq!(attribute_names("'a b' + c"), ["c"]);
    }
}
