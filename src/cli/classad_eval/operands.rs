//! Operands: ads, assignments and expressions, processed from left to right as `classad_eval` does.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context as _;
use bstr::ByteSlice as _;
use clap::ArgMatches;

use super::explanation;
use super::expr_reader::{self, expression_problem};
use super::options::ClassadEvalCli;
use crate::classad::format::json;
use crate::classad::stream::AdForm;
use crate::classad::{ClassAd, Context, Dialect, Expr, Value, explain, references};
use crate::cli::common::{
    AdErrorReporter, JsonLineWriter, Problem, ProgramContext, Status, malformed_ad_problem, open_input,
    open_stdio_pipe, stdout, tool_user_maps,
};
use crate::os::RealWorld;

/// Word of the command line whose effect depends on its position.
enum CommandLineAction<'a> {
    Quiet,
    My(&'a Path),
    Target(&'a Path),
    Operand(&'a OsStr),
}

/// State of the evaluation of operands.
struct OperandEvaluator<'a, W> {
    cli: &'a ClassadEvalCli,
    session: &'a ProgramContext,
    world: RealWorld,
    dialect: Dialect,
    out: JsonLineWriter<W>,
    my: ClassAd,
    target: Option<ClassAd>,
    /// True if MY is not printed.
    quiet: bool,
    /// True if MY has changed since it was last printed.
    changed: bool,
    /// The last value, or `None` if nothing was evaluated.
    last: Option<Value>,
    assigned: bool,
}

/// Processes the operands.
///
/// # Errors
/// Returns an error if a file cannot be read, a text is not valid, or standard output cannot be written.
pub(super) fn run(
    cli: &ClassadEvalCli,
    matches: &ArgMatches,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let mut work = OperandEvaluator {
        cli,
        session,
        world: cli.clock.world().with_shared_user_maps(tool_user_maps(Some(session))),
        dialect: expr_reader::expression_dialect(cli),
        out: JsonLineWriter::new(stdout(), cli.output.json && !cli.question.parse),
        my: ClassAd::new(),
        target: None,
        quiet: false,
        changed: true,
        last: None,
        assigned: false,
    };
    for turn in ordered_actions(cli, matches) {
        match turn {
            CommandLineAction::Quiet => work.quiet = true,
            CommandLineAction::My(file) => work.my = read_first_ad(file, cli, session)?,
            CommandLineAction::Target(file) => work.target = Some(read_first_ad(file, cli, session)?),
            CommandLineAction::Operand(text) => work.handle_operand(text.as_bytes())?,
        }
    }
    work.out.end()?;
    if work.last.is_none() && work.assigned && !cli.question.refs && !cli.output.quiet {
        session.warn("nothing was evaluated: `NAME = VALUE` is an assignment; write `==` to compare");
    }
    Ok(match (cli.question.exit_status, &work.last) {
        (true, Some(value)) => expr_reader::exit_status_of(value, session),
        _ => Status::Done,
    })
}

/// Warns if an expression is the name of an existing file, because the user probably wanted to read the file.
pub(super) fn warn_of_file_name(text: &[u8], session: &ProgramContext) {
    if text.iter().any(|byte| matches!(byte, b'.' | b'/')) {
        warn_if_file_exists(text, session);
    }
}

/// Warns if the text of an expression is the name of an existing file.
fn warn_if_file_exists(text: &[u8], session: &ProgramContext) {
    let path = Path::new(OsStr::from_bytes(text));
    if path.is_file() {
        session.warn(&format!(
            "'{}' is evaluated as an expression, and a file has this name\n    hint: --ads {0} reads the ads of the file",
            path.display()
        ));
    }
}

/// Returns the actions in the order in which the user typed them.
fn ordered_actions<'a>(cli: &'a ClassadEvalCli, matches: &ArgMatches) -> Vec<CommandLineAction<'a>> {
    let mut positioned_actions: Vec<(usize, CommandLineAction<'a>)> = Vec::new();
    let mut add = |id: &str, actions: Vec<CommandLineAction<'a>>| {
        let indices = matches.indices_of(id).into_iter().flatten();
        positioned_actions.extend(indices.zip(actions));
    };
    add("my_file", cli.context.my_file.iter().map(|file| CommandLineAction::My(file)).collect());
    add("target_file", cli.context.target_file.iter().map(|file| CommandLineAction::Target(file)).collect());
    add("operands", cli.operands.iter().map(|text| CommandLineAction::Operand(text)).collect());
    if cli.output.quiet {
        add("quiet", vec![CommandLineAction::Quiet]);
    }
    positioned_actions.sort_by_key(|(place, _)| *place);
    positioned_actions.into_iter().map(|(_, action)| action).collect()
}

impl<W: Write> OperandEvaluator<'_, W> {
    /// Processes an operand: an ad or assignment changes MY, an expression is evaluated.
    fn handle_operand(&mut self, text: &[u8]) -> anyhow::Result<()> {
        if !self.cli.question.parse
            && let Some(ad) = parse_whole_ad(text)
        {
            self.my.update(&ad);
            self.changed = true;
            self.assigned = true;
            return Ok(());
        }
        self.evaluate(text)
    }

    fn evaluate(&mut self, text: &[u8]) -> anyhow::Result<()> {
        let OperandEvaluator { cli, session, dialect, .. } = *self;
        let (question, output) = (cli.question, cli.output);
        if !output.quiet {
            warn_of_file_name(text, session);
            // A single word may be a file name or an attribute. The warning is printed only if no ad has an attribute
            // of this name.
            let is_name = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let has_attribute =
                [Some(&self.my), self.target.as_ref()].into_iter().flatten().any(|ad| ad.contains(text));
            if is_name && text.first().is_some_and(|byte| !byte.is_ascii_digit()) && !has_attribute {
                warn_if_file_exists(text, session);
            }
        }
        let expr = Expr::parse_with(text, dialect).map_err(|error| {
            // In `NAME = VALUE`, the error is in the value, not at the `=`.
            let value = assignment_value(text).and_then(|value| Expr::parse_with(&value, dialect).err());
            expression_problem("expression", text, &value.unwrap_or(error))
        })?;
        if !output.quiet {
            expr_reader::warn_about_pitfalls("expression", text, dialect, session);
        }
        if question.parse {
            writeln!(self.out, "{}", expr.unparse_parenthesised())?;
            return Ok(());
        }
        let mut context = Context::new(&self.world).my(&self.my).strict(cli.context.strict);
        if question.refs {
            return Ok(print_references(&expr, context, output.wants_json(), &mut self.out)?);
        }
        if std::mem::take(&mut self.changed) {
            let prints_my = !self.quiet && !self.my.is_empty();
            if prints_my && !question.explain && !output.wants_json() {
                self.out.write_all(&self.my.unparse())?;
                self.out.write_all(b"\n")?;
            }
        }
        if let Some(target) = &self.target {
            context = context.target(target);
        }
        if question.explain {
            let value = explanation::print_explanation(&context, &expr, cli, &mut self.out)?;
            self.last = Some(value.unwrap_or(Value::Error));
            return Ok(());
        }
        let value = context.try_eval(&expr);
        print_value(value.as_ref(), cli, &mut self.out)?;
        if !output.quiet && matches!(value, Some(Value::Undefined | Value::Error)) {
            let trace = explain::trace(&context, &expr);
            trace.culprit().note.iter().for_each(|note| session.warn(note));
        }
        if value.is_none() && !output.quiet {
            session.warn("the evaluation failed: a limit was reached, or a function rejected its arguments");
        }
        self.last = Some(value.unwrap_or(Value::Error));
        Ok(())
    }
}

/// Returns the ad in a text, or the ad that results if the text is enclosed in brackets. The ad must be the whole text:
/// in `[a = 1].a` it is part of an expression. HTCondor's script ignores text after an ad.
pub(super) fn parse_whole_ad(text: &[u8]) -> Option<ClassAd> {
    let parse = |text: &[u8]| ClassAd::parse_new(text, Dialect::new_syntax()).ok();
    parse(text).or_else(|| parse(&[b"[", text, b"]"].concat()))
}

/// Returns the value of an assignment. Blanks replace the text before it, so that positions in errors are unchanged.
fn assignment_value(text: &[u8]) -> Option<Vec<u8>> {
    let equals = text.find_byte(b'=')?;
    let (name, value) = (text[..equals].trim(), &text[equals + 1..]);
    let is_name = !name.is_empty()
        && !name[0].is_ascii_digit()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if !is_name || value.first().is_some_and(|byte| b"=?!".contains(byte)) {
        return None;
    }
    Some([&vec![b' '; equals + 1], value].concat())
}

/// Prints a value on its own line. A failed evaluation is printed as `error`, as the condor tools do.
pub(super) fn print_value(
    value: Option<&Value>,
    cli: &ClassadEvalCli,
    out: &mut impl Write,
) -> io::Result<()> {
    let value = value.unwrap_or(&Value::Error);
    let mut text = Vec::new();
    if cli.output.wants_json() {
        json::push_value(value, json::JsonLayout::OneLine, &mut text);
    } else {
        text.extend_from_slice(&value.unparse());
    }
    text.push(b'\n');
    out.write_all(&text)
}

fn print_references(
    expr: &Expr,
    context: Context<'_>,
    as_json: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let internal = references::internal(expr, context).unwrap_or_default();
    let external =
        references::external(expr, context, references::ReferenceSpelling::Full).unwrap_or_default();
    let names = |names: &references::AttrNames| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    if as_json {
        let text = serde_json::json!({ "internal": names(&internal), "external": names(&external) });
        return writeln!(out, "{text}");
    }
    writeln!(out, "internal: {}", names(&internal).join(" "))?;
    writeln!(out, "external: {}", names(&external).join(" "))
}

/// Reads the first ad of a file in any format. Also accepts a list of assignments, with or without brackets.
pub(super) fn read_first_ad(
    file: &Path,
    cli: &ClassadEvalCli,
    session: &ProgramContext,
) -> anyhow::Result<ClassAd> {
    let (read, name) = open_input(file, open_stdio_pipe().0, session)?;
    let mut reader = session
        .with_dialect(expr_reader::expression_dialect(cli))
        .ad_reader(read)
        .exact(cli.input.strict_input);
    let problem = || Problem::cannot_read(&name);
    let Some(record) = reader.next_record().with_context(problem)? else {
        return Err(Problem::unreadable(format!("{name}: no ad found")).into());
    };
    if let Some(error) = record.errors.first().filter(|_| cli.input.strict_input || record.ad.is_empty()) {
        return Err(malformed_ad_problem(error, &name).into());
    }
    let mut errors = AdErrorReporter::new(name.clone(), session);
    errors.report(&record)?;
    errors.end();
    if reader.form() != AdForm::Long && !cli.output.quiet && matches!(reader.next_record(), Ok(Some(_))) {
        session.warn(&format!("{name} has more than one ad; the first is used"));
    }
    Ok(record.ad)
}
