//! Behaviour under the name `classad_eval`: the same as that of HTCondor's script (reference: condor_scripts/classad_eval).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use crate::classad::format::new_syntax;
use crate::classad::{AbsTime, ClassAd, Context, Dialect, Expr, List, Value};
use crate::cli::common::{ProgramContext, Status, stdout, tool_user_maps};
use crate::os::{RealWorld, read_whole};

const USAGE: &str = "Usage: {0} [options] <expr|assignment>[ <expr|assignment>]*

Evaluate ClassAd expressions.
Assignments modify the ClassAd context.

Where [options] is one of
\t-[my-]file   <file>\tA file containing the initial ClassAd context
\t-target-file <file>\tA file containing the target ClassAd
\t-debug             \tEnable debug mode
\t-help              \tPrint this screen and exit

Flags may replace expressions or assignments:
\t-quiet             \tDon't print the ClassAd context after this flag
";

/// State of the evaluation after the arguments processed so far.
struct EvaluationState {
    my: ClassAd,
    target: Option<ClassAd>,
    quiet: bool,
    changed: bool,
}

/// Processes the arguments from left to right.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(super) fn run(words: &[OsString], session: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new().with_shared_user_maps(tool_user_maps(None));
    let mut out = stdout();
    let mut state = EvaluationState { my: ClassAd::new(), target: None, quiet: false, changed: true };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_bytes() {
            b"-quiet" => state.quiet = true,
            b"-debug" => {}
            b"-help" => {
                out.write_all(USAGE.replace("{0}", session.name()).as_bytes())?;
                return Ok(Status::Tool(255));
            }
            option @ (b"-file" | b"-my-file" | b"-target-file") => {
                let Some(file) = words.next() else {
                    let option = word.to_string_lossy();
                    session.write_line(&format!("{option} requires an argument"));
                    return Ok(Status::Tool(255));
                };
                let Some(ad) = read_ad(file, session) else { return Ok(Status::Tool(1)) };
                if option == b"-target-file" {
                    state.target = Some(ad);
                } else {
                    state.my = ad;
                }
            }
            text => {
                if let Some(ad) = parse_ad(text) {
                    state.my.update(&after_python_round_trip(&ad));
                    state.changed = true;
                } else if !evaluate(text, &mut state, &world, &mut out, session)? {
                    return Ok(Status::Tool(1));
                }
            }
        }
    }
    Ok(Status::Tool(0))
}

fn evaluate(
    text: &[u8],
    state: &mut EvaluationState,
    world: &RealWorld,
    out: &mut impl Write,
    session: &ProgramContext,
) -> io::Result<bool> {
    if state.changed {
        state.changed = false;
        if !state.quiet {
            out.write_all(&state.my.unparse())?;
            out.write_all(b"\n")?;
        }
    }
    let Some(expr) = parse_expression(text) else {
        out.flush()?;
        let text = String::from_utf8_lossy(text);
        session.write_stderr(&format!("Unable to turn '{text}' into a ClassAd or an expression.\n"));
        return Ok(false);
    };
    let mut context = Context::new(world).my(&state.my);
    if let Some(target) = &state.target {
        context = context.target(target);
    }
    let Some(value) = context.try_eval(&expr) else {
        out.flush()?;
        let text = String::from_utf8_lossy(text);
        session.write_line(&format!("cannot evaluate '{text}': it fails or never ends"));
        return Ok(false);
    };
    out.write_all(&Expr::literal(value).unparse())?;
    out.write_all(b"\n")?;
    Ok(true)
}

/// Parses an expression as the Python bindings do: as an attribute of an enclosing ad, so that further attributes, or a bracket
/// and any text, may follow the expression (reference: `ExprTree.__init__`, _expr_tree.py).
fn parse_expression(text: &[u8]) -> Option<Expr> {
    let text = &text[..memchr::memchr(0, text).unwrap_or(text.len())];
    let enclosed = [b"[expression = ", text, b"]"].concat();
    let (ad, _) = new_syntax::parse_prefix(&enclosed, Dialect::new_syntax()).ok()?;
    ad.get("expression")
}

/// Returns the ad at the start of the text, or the ad that results if the text is enclosed in brackets.
fn parse_ad(text: &[u8]) -> Option<ClassAd> {
    // A Python string may contain NUL bytes; the C++ library stops at the first one.
    let text = &text[..memchr::memchr(0, text).unwrap_or(text.len())];
    let parse_prefix =
        |text: &[u8]| new_syntax::parse_prefix(text, Dialect::new_syntax()).ok().map(|(ad, _)| ad);
    parse_prefix(text).or_else(|| parse_prefix(&[b"[", text, b"]"].concat()))
}

/// Returns the ad that results when the script merges an ad attribute by attribute through the Python bindings. They
/// convert literals to Python values and back, also in lists: a relative time becomes a number, an absolute time is
/// converted to UTC (reference: `ClassAd.update`, `_convert_local_datetime_to_utc_ts`, classad2/_class_ad.py).
fn after_python_round_trip(ad: &ClassAd) -> ClassAd {
    let mut merged = ClassAd::new();
    for (name, expr) in ad.iter() {
        merged.insert(name, literal_after_python_round_trip(&expr).unwrap_or(expr));
    }
    merged
}

/// Returns the expression after conversion to a Python value and back, or `None` if this does not change it.
fn literal_after_python_round_trip(expr: &Expr) -> Option<Expr> {
    if let Some(items) = expr.as_list() {
        let converted = items.into_iter().map(|item| literal_after_python_round_trip(&item).unwrap_or(item));
        return Some(Expr::literal(Value::List(List::new(converted.collect::<Vec<_>>()))));
    }
    match expr.as_literal()? {
        // The literal of a relative time evaluates to a number of seconds.
        value @ Value::Real(_) => Some(Expr::literal(value)),
        Value::AbsTime(AbsTime { seconds, .. }) => Some(Expr::literal(AbsTime { seconds, offset: 0 })),
        _ => None,
    }
}

/// Parses the ad in a file. If the file has a list of ads, skips the braces around the list.
fn parse_file_ad(text: &[u8]) -> Option<ClassAd> {
    let is_list = text.starts_with(b"{\n") && text.ends_with(b"\n}\n");
    parse_ad(if is_list { &text[2..] } else { text })
}

fn read_ad(file: &OsStr, session: &ProgramContext) -> Option<ClassAd> {
    let name = file.to_string_lossy();
    let text = match File::open(file).and_then(read_whole) {
        Ok(text) => text,
        Err(error) => {
            session.write_line(&format!("cannot read '{name}': {error}"));
            return None;
        }
    };
    let ad = parse_file_ad(&text);
    if ad.is_none() {
        session.write_stderr(&format!("Unable to turn file '{name}' into a ClassAd.\n"));
    }
    ad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_times_are_merged_as_by_the_python_bindings() {
        let merged =
            |text: &str| after_python_round_trip(&parse_ad(text.as_bytes()).unwrap()).unparse().to_string();
        for (text, expected) in [
            ("a=relTime(\"1.5\")", "[ a = 1.500000000000000E+00 ]"),
            ("a=(relTime(\"5\"))", "[ a = (relTime(\"05\")) ]"),
            ("a=absTime(\"2021-12-31T23:59:59+05:30\")", "[ a = absTime(\"2021-12-31T18:29:59-00:00\") ]"),
            ("a={relTime(\"5\"),{b}}", "[ a = { 5.000000000000000E+00,{ b } } ]"),
            ("a=[b=relTime(\"5\")]", "[ a = [ b = relTime(\"05\") ] ]"),
        ] {
            assert_eq!(merged(text), expected, "{text}");
        }
    }

    #[test]
    fn an_expression_may_be_followed_by_attributes_or_a_bracket() {
        let parsed_text = |text: &str| parse_expression(text.as_bytes()).map(|expr| expr.to_string());
        for (text, expression) in [("1;", "1"), ("a ; b = 2", "a"), ("1] x", "1"), ("1; expression = 7", "7")]
        {
            assert_eq!(parsed_text(text).as_deref(), Some(expression), "{text}");
        }
        for text in ["1;2", "1,", "1)", "1 2", "= 3"] {
            assert_eq!(parsed_text(text), None, "{text}");
        }
    }
}
