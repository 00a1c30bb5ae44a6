//! Texts of the command line that become expressions: parsed with a caret where they are wrong, looked through for
//! what is rarely meant.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::options::ClassadEvalCli;
use crate::classad::{Dialect, Expr, ParseError, Value, pitfalls};
use crate::cli::common::{Problem, ProgramContext, Status};
use crate::text::caret::Caret;

/// How texts are read: in strict mode or not.
pub(super) fn expression_dialect(cli: &ClassadEvalCli) -> Dialect {
    Dialect::new_syntax().strict(cli.context.strict)
}

/// The problem of a text that is no expression.
pub(super) fn expression_problem(what: &str, text: &[u8], error: &ParseError) -> Problem {
    let problem = Problem::usage(error.to_string()).at(&Caret { source: what, text, span: error.span });
    problem.maybe_hint(error.help())
}

/// Reads expressions of the command line, and says where one is odd.
#[derive(Clone, Copy)]
pub(super) struct ExprReader<'a> {
    pub(super) dialect: Dialect,
    pub(super) cli: &'a ClassadEvalCli,
    pub(super) session: &'a ProgramContext,
}

impl<'a> ExprReader<'a> {
    /// Constraints and columns are read as the condor tools read them; a backslash is an ordinary byte.
    pub(super) fn with_old_syntax(cli: &'a ClassadEvalCli, session: &'a ProgramContext) -> Self {
        ExprReader { dialect: Dialect::old_syntax().strict(cli.context.strict), cli, session }
    }

    /// The value of an option.
    pub(super) fn parse_option(&self, what: &str, text: &OsStr) -> anyhow::Result<Expr> {
        let bytes = text.as_bytes();
        let expr =
            Expr::parse_with(bytes, self.dialect).map_err(|error| expression_problem(what, bytes, &error))?;
        if !self.cli.output.quiet {
            warn_about_pitfalls(what, bytes, self.dialect, self.session);
        }
        Ok(expr)
    }

    /// The values of an option.
    pub(super) fn parse_options(&self, what: &str, texts: &[OsString]) -> anyhow::Result<Vec<Expr>> {
        texts.iter().map(|text| self.parse_option(what, text)).collect()
    }

    /// The constraints of the command line joined; none where there are none.
    pub(super) fn parse_constraint(&self) -> anyhow::Result<Option<Expr>> {
        let all = self.parse_options("-constraint", &self.cli.stream.constraint)?;
        Ok(all.into_iter().reduce(|before, expr| before.and(&expr)))
    }
}

/// Warns of what users write and do not mean.
pub(super) fn warn_about_pitfalls(what: &str, text: &[u8], dialect: Dialect, session: &ProgramContext) {
    for trap in pitfalls::find(text, dialect) {
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
pub(super) fn exit_status_of(value: Option<&Value>, session: &ProgramContext) -> Status {
    match value {
        Some(Value::Undefined) => Status::Undefined,
        Some(Value::Error) | None => Status::ErrorValue,
        Some(value) => match value.truth() {
            Some(true) => Status::Done,
            Some(false) => Status::No,
            None => {
                let what = type_with_article(value);
                session.warn(&format!("-e: the last value is {what}, which is neither true nor false"));
                Status::ErrorValue
            }
        },
    }
}

fn type_with_article(value: &Value) -> &'static str {
    match value {
        Value::Str(_) => "a string",
        Value::List(_) => "a list",
        Value::Ad(_) => "an ad",
        _ => "a time",
    }
}
