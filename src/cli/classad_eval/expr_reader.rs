//! Parsing of expressions from the command line, with a caret at errors and warnings about common mistakes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::options::ClassadEvalCli;
use crate::classad::{Dialect, Expr, ParseError, Value, pitfalls};
use crate::cli::common::{Problem, ProgramContext, Status, refuse_file_name};
use crate::text::caret::Caret;

/// Returns the dialect in which expressions are parsed. It depends on strict mode.
pub(super) fn expression_dialect(cli: &ClassadEvalCli) -> Dialect {
    Dialect::new_syntax().strict(cli.context.strict)
}

/// Returns the error for a text that is not a valid expression.
pub(super) fn expression_problem(what: &str, text: &[u8], error: &ParseError) -> Problem {
    let problem = Problem::usage(error.to_string()).at(&Caret { source: what, text, span: error.span });
    problem.maybe_hint(error.help())
}

/// Parser of expressions from the command line that warns about common mistakes.
#[derive(Clone, Copy)]
pub(super) struct ExprReader<'a> {
    pub(super) dialect: Dialect,
    pub(super) cli: &'a ClassadEvalCli,
    pub(super) session: &'a ProgramContext,
}

impl<'a> ExprReader<'a> {
    /// Creates a reader for constraints and columns. The condor tools parse these in the old syntax, in which a backslash is an
    /// ordinary byte.
    pub(super) fn with_old_syntax(cli: &'a ClassadEvalCli, session: &'a ProgramContext) -> Self {
        ExprReader { dialect: Dialect::old_syntax().strict(cli.context.strict), cli, session }
    }

    /// Parses the value of an option as an expression; `what` is the name of the option.
    pub(super) fn parse_option(&self, what: &str, text: &OsStr) -> anyhow::Result<Expr> {
        let bytes = text.as_bytes();
        let expr = Expr::parse_with(bytes, self.dialect).map_err(|error| {
            let is_list = what == "--sort" && bytes.get(error.span.start as usize) == Some(&b',');
            match is_list {
                true => expression_problem(what, bytes, &error).hint("repeat --sort for each key"),
                false => expression_problem(what, bytes, &error),
            }
        })?;
        if !self.cli.output.quiet {
            warn_about_pitfalls(what, bytes, self.dialect, self.session);
        }
        Ok(expr)
    }

    /// Parses the values of an option as expressions.
    pub(super) fn parse_options(&self, what: &str, texts: &[OsString]) -> anyhow::Result<Vec<Expr>> {
        let parse = |text: &OsString| {
            refuse_file_name(what, text)?;
            self.parse_option(what, text)
        };
        texts.iter().map(parse).collect()
    }

    /// Returns the conjunction of all values of `--constraint`, or `None` if the option is not given.
    pub(super) fn parse_constraint(&self) -> anyhow::Result<Option<Expr>> {
        let all = self.parse_options("--constraint", &self.cli.stream.constraint)?;
        Ok(all.into_iter().reduce(|before, expr| before.and(&expr)))
    }
}

/// Warns about an expression that is valid but probably not what the user intended.
pub(super) fn warn_about_pitfalls(what: &str, text: &[u8], dialect: Dialect, session: &ProgramContext) {
    for trap in pitfalls::find(text, dialect) {
        let caret = Caret { source: what, text, span: trap.span };
        session.warn(&format!("{}\n    hint: {}", caret.render(&trap.message), trap.hint));
    }
    // In the reference, an expression ends after a conditional; any following text is ignored.
    if let Ok((_, used)) = Expr::parse_prefix(text, dialect)
        && used < text.len()
        && !text[used..].trim_ascii().is_empty()
    {
        let span = crate::text::Span::new(used, text.len());
        let caret = Caret { source: what, text, span };
        session.warn(&caret.render("the text after the conditional is ignored"));
    }
}

/// Returns the exit status for a value, for use in `if htc-classad-eval -e ...`. A value that is neither true nor false
/// is treated as an error, as in a constraint.
pub(super) fn exit_status_of(value: &Value, session: &ProgramContext) -> Status {
    match value {
        Value::Undefined => Status::Undefined,
        Value::Error => Status::ErrorValue,
        value => match value.truth() {
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

pub(super) fn type_with_article(value: &Value) -> &'static str {
    match value {
        Value::Error => "an error",
        Value::Str(_) => "a string",
        Value::List(_) => "a list",
        Value::Ad(_) => "an ad",
        _ => "a time",
    }
}
