//! Walks through the parts of an expression.

use bstr::{BString, ByteSlice};
use htc_classad::{Expr, ExprKind, Value};

/// Maximum depth to which the parts of an expression are visited.
const MAX_DEPTH: usize = 120;

/// Functions whose arguments are evaluated with other ads.
const CONTEXT_FUNCTIONS: [&str; 4] = ["evalineachcontext", "countmatches", "anycompare", "allcompare"];

/// Calls a function for an expression and, from left to right, each of its parts that is evaluated with the same ad.
pub(super) fn for_each_part(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    visit_part(expr, visit, 0);
}

fn visit_part(expr: &Expr, visit: &mut dyn FnMut(&Expr), depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    visit(expr);
    match expr.kind() {
        ExprKind::Call(name, _)
            if CONTEXT_FUNCTIONS.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())) => {}
        // A name in a nested ad may refer to an attribute of that ad.
        ExprKind::Other(_) if expr.operator().is_none() && expr.without_parentheses().as_list().is_none() => {
        }
        _ => expr.parts().iter().for_each(|part| visit_part(part, visit, depth + 1)),
    }
}

/// Returns the name of a reference without its scope.
pub(super) fn reference_name(expr: &Expr) -> Option<BString> {
    let expr = expr.without_parentheses();
    if !expr.is_reference() {
        return None;
    }
    let text = expr.unparse();
    let name = text.rsplit_once_str(b".").map_or(&text[..], |(_, name)| name);
    Some(name.trim_with(|c| c == '\'').into())
}

/// Returns the scope of a reference in upper case: `MY`, `TARGET` or nothing.
pub(super) fn reference_scope(expr: &Expr) -> BString {
    let text = expr.without_parentheses().unparse();
    text.rsplit_once_str(b".").map_or_else(BString::default, |(scope, _)| scope.to_ascii_uppercase().into())
}

/// Returns the text of an expression for a message, cut after 60 characters.
pub(super) fn shorten(expr: &Expr) -> String {
    const MAX_LENGTH: usize = 60;
    let text = with_short_numbers(&expr.without_parentheses().unparse().to_str_lossy());
    match text.char_indices().nth(MAX_LENGTH) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

/// Returns a text with `1.5` in place of `1.500000000000000E+00`.
pub(super) fn with_short_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("000E") {
        // The number begins before its zeros and ends after the exponent.
        let start =
            rest[..at].rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |before| before + 1);
        let end = at + 4 + rest[at + 4..].find(|c| !is_part(c)).unwrap_or(rest.len() - at - 4);
        out.push_str(&rest[..start]);
        match rest[start..end].parse::<f64>() {
            Ok(number) => out.push_str(&number.to_string()),
            Err(_) => out.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Returns the attributes to which an expression refers without `TARGET`, in lower case.
pub(crate) fn references_in_same_ad(expr: &Expr) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for_each_part(expr, &mut |part| {
        if let Some(name) = reference_name(part)
            && reference_scope(part) != "TARGET"
        {
            names.push(name.to_ascii_lowercase());
        }
    });
    names
}

/// Returns the attributes to which an expression refers, each once, with its scope in upper case.
pub(crate) fn scoped_references(expr: &Expr) -> Vec<(BString, BString)> {
    let mut found = Vec::new();
    for_each_part(expr, &mut |part| {
        if let Some(name) = reference_name(part) {
            let reference = (reference_scope(part), name);
            if !found.contains(&reference) {
                found.push(reference);
            }
        }
    });
    found
}

/// Returns the text of a string literal.
pub(super) fn quoted_literal(expr: &Expr) -> Option<String> {
    match expr.as_literal() {
        Some(Value::Str(text)) => Some(text.to_str_lossy().into_owned()),
        _ => None,
    }
}
