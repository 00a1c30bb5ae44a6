//! Texts of the command line that become expressions: parsed with a caret where they are wrong, looked through for
//! what is rarely meant.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::options::Cli;
use crate::classad::{Dialect, Expr, ParseError, Value, traps};
use crate::cli::common::{Problem, Session, Status};
use crate::text::caret::Caret;

/// How texts are read: in strict mode or not.
pub(super) fn dialect(cli: &Cli) -> Dialect {
    Dialect::new_syntax().strict(cli.context.strict)
}

/// The problem of a text that is no expression.
pub(super) fn bad_text(what: &str, text: &[u8], error: &ParseError) -> Problem {
    let problem = Problem::usage(error.to_string()).at(&Caret { source: what, text, span: error.span });
    match error.help() {
        Some(help) => problem.hint(help),
        None => problem,
    }
}

/// Parses the value of an option; what it really says is told where that is odd.
pub(super) fn expression(
    what: &str,
    text: &OsStr,
    dialect: Dialect,
    cli: &Cli,
    session: &Session,
) -> anyhow::Result<Expr> {
    let bytes = text.as_bytes();
    let expr = Expr::parse_with(bytes, dialect).map_err(|error| bad_text(what, bytes, &error))?;
    if !cli.output.quiet {
        warn_of_traps(what, bytes, dialect, session);
    }
    Ok(expr)
}

/// The constraints of the command line joined; none where there are none.
pub(super) fn constraint(dialect: Dialect, cli: &Cli, session: &Session) -> anyhow::Result<Option<Expr>> {
    let mut joined: Option<Expr> = None;
    for text in &cli.stream.constraint {
        let expr = expression("-constraint", text, dialect, cli, session)?;
        joined = Some(match joined {
            Some(before) => before.and(&expr),
            None => expr,
        });
    }
    Ok(joined)
}

/// Warns of what users write and do not mean.
pub(super) fn warn_of_traps(what: &str, text: &[u8], dialect: Dialect, session: &Session) {
    for trap in traps::find(text, dialect) {
        let caret = Caret { source: what, text, span: trap.span };
        session.warn(&format!("{}\n    hint: {}", caret.render(&trap.message), trap.hint));
    }
    // A conditional ends the expression for the reference, whatever stands behind it.
    if let Ok((_, used)) = Expr::parse_prefix(text, dialect)
        && used < text.len()
        && !text[used..].trim_ascii().is_empty()
    {
        let span = crate::text::Span::new(used, text.len());
        let caret = Caret { source: what, text, span };
        session.warn(&caret.render("what stands behind the conditional is not looked at"));
    }
}

/// The exit status of a value for `if htc-classad-eval -e ...`. What is no truth value is an error, as it is for a
/// constraint.
pub(super) fn status(value: Option<&Value>, session: &Session) -> Status {
    match value {
        Some(Value::Undefined) => Status::Undefined,
        Some(Value::Error) | None => Status::ErrorValue,
        Some(value) => match value.truth() {
            Some(true) => Status::Done,
            Some(false) => Status::No,
            None => {
                let what = what(value);
                session.warn(&format!("-e: the last value is {what}, which is neither true nor false"));
                Status::ErrorValue
            }
        },
    }
}

fn what(value: &Value) -> &'static str {
    match value {
        Value::Str(_) => "a string",
        Value::List(_) => "a list",
        Value::Ad(_) => "an ad",
        _ => "a time",
    }
}
