//! Parsing of expressions and ads.

use htc_hooks::classad::{ClassAd, Dialect, Expr, format::long};

use super::{Answer, NOT_PARSED, Record};

/// Parses a whole text with either lexer, or the beginning of a text; prints it in both forms and parses it
/// again.
pub(super) fn expression(record: &Record) -> Answer {
    let text = record.text();
    let parsed = match record.op.as_str() {
        "expr_old" => Expr::parse_with(text, Dialect::old_syntax().strict(record.is_strict())),
        "expr_prefix" => Expr::parse_prefix(text, record.dialect()).map(|(expr, _)| expr),
        _ => Expr::parse_with(text, record.dialect()),
    };
    let Ok(expr) = parsed else { return record.answer(NOT_PARSED) };
    let new = expr.unparse();
    let old = record.old.as_ref().unwrap_or(&record.result);
    let mut answer = record.answer(new.to_vec()).and("old form", old.0.clone(), expr.unparse_old());
    let again = Expr::parse_with(&new, record.dialect());
    let printed = again.as_ref().map_or_else(|_| NOT_PARSED.to_vec(), |again| again.unparse().into());
    answer = answer.and("read again", record.reparse.as_ref().unwrap_or(&record.result).0.clone(), printed);
    if let Some(same) = &record.reparse_same {
        let ours = again.is_ok_and(|again| again == expr);
        answer = answer.and("the tree read again", same.0.clone(), if ours { "same" } else { "diff" });
    }
    answer
}

/// Parses a whole ad of the new form.
pub(super) fn ad(record: &Record) -> Answer {
    match ClassAd::parse_new(record.text(), record.dialect()) {
        Ok(ad) => record.answer(ad.unparse()),
        Err(_) => record.answer(NOT_PARSED),
    }
}

/// Parses one line of a long ad, and prints the ad.
pub(super) fn line(record: &Record) -> Answer {
    let mut ad = ClassAd::new();
    if ad.insert_line(record.text()).is_err() {
        return record.answer(NOT_PARSED);
    }
    let answer = record.answer(ad.unparse());
    match &record.long {
        Some(long) => answer.and("long form", long.0.clone(), long::print(&ad)),
        None => answer,
    }
}

/// Parses many lines, all of which must be valid; comments are not allowed.
pub(super) fn lines(record: &Record) -> Answer {
    let mut ad = ClassAd::new();
    let mut lines = record.text().split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    if lines.all(|line| ad.insert_line(line).is_ok()) {
        record.answer(ad.unparse())
    } else {
        record.answer(NOT_PARSED)
    }
}
