//! Parsed transform: its header, and its statements with all data that does not depend on the ad.

use std::sync::Arc;

use bstr::{BString, ByteSlice};

use super::attribute_pattern;
use super::command::{CommandAttribute, CommandKeyword, CommandSyntaxError, TransformCommand};
use super::header::{self, TransformHeader, TransformLoadError};
use super::rules_text::{RuleLine, RulesText};
use super::statement::{self, ConfigDirective, MacroAssignment, TransformStatement};
use super::step_memo::StepMemo;
use super::value_template::ValueTemplate;
use htc_base::text::space::is_space;
use htc_classad::regex::{PatternError, Regex};
use htc_classad::{Dialect, Expr, ParseError};
use htc_config::condition::IfLine;

/// Transform that can be applied to ads.
#[derive(Clone, Debug)]
pub struct Transform {
    /// Name from the NAME line, otherwise the name of the file or parameter.
    pub name: BString,
    /// Header of the transform: NAME, REQUIREMENTS, UNIVERSE and TRANSFORM.
    pub envelope: TransformHeader,
    /// Comment of a parameter's text that contains only comments and the header, or `None`.
    pub comment: Option<BString>,
    pub(super) program: TransformProgram,
}

impl Transform {
    /// Parses a rules file. The dialect determines how expressions are read, and `name` is the file's name.
    pub fn from_file(name: &str, text: &[u8], dialect: Dialect) -> Result<Self, TransformLoadError> {
        let (envelope, lines) = header::take_header_from_file(RulesText::from_file(name, text), dialect)?;
        let name = envelope.name.clone().unwrap_or_else(|| name.into());
        Ok(Transform { name, envelope, comment: None, program: TransformProgram::compile(lines, dialect) })
    }

    /// Parses the unexpanded value of a parameter. A NAME line in it is ignored unless `name` is empty.
    pub fn from_parameter(name: &str, text: &[u8], dialect: Dialect) -> Result<Self, TransformLoadError> {
        Self::from_parameter_at(name, name, text, dialect)
    }

    /// Parses a parameter like [`Transform::from_parameter`]. `place` is the name of the text in messages;
    /// its lines are counted from its own first line.
    pub fn from_parameter_at(
        name: &str,
        place: &str,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<Self, TransformLoadError> {
        let (envelope, lines) =
            header::take_header_from_parameter(RulesText::from_parameter(place, text), dialect)?;
        let own = if name.is_empty() { envelope.name.clone() } else { None };
        let name = own.unwrap_or_else(|| name.into());
        let comment = lines.first().map(|line| line.text.clone());
        let program = TransformProgram::compile(lines, dialect);
        let comment = comment.filter(|text| program.steps.is_empty() && text.trim_start().starts_with(b"#"));
        Ok(Transform { name, envelope, comment, program })
    }

    /// Returns true if the text contains nothing apart from the header.
    pub fn is_empty(&self) -> bool {
        self.program.steps.is_empty() && self.comment.is_none()
    }

    /// Returns the lines without header, comments and blank lines.
    pub fn lines(&self) -> impl Iterator<Item = &RuleLine> {
        self.program.steps.iter().map(|step| &step.line)
    }

    /// Returns true if both transforms have the same requirements.
    pub fn has_same_requirements(&self, other: &Transform) -> bool {
        let [left, right] = [self, other].map(|it| it.envelope.requirements.as_ref().map(|it| &it.expr));
        left == right
    }

    /// Returns true if both transforms have the same statements and therefore the same effect. Always false
    /// if one of them has an `include` or iterates.
    pub fn has_same_statements(&self, other: &Transform) -> bool {
        let includes = |it: &Transform| {
            let mut statements = it.statements();
            statements.any(|(_, statement)| {
                matches!(statement, TransformStatement::Directive(ConfigDirective::Include { .. }))
            })
        };
        let is_plain = |it: &Transform| it.envelope.iteration.is_none() && !includes(it);
        is_plain(self)
            && is_plain(other)
            && self.envelope.universe == other.envelope.universe
            && self.lines().map(|line| &line.text).eq(other.lines().map(|line| &line.text))
    }

    /// Returns true if a statement refers to a macro or macro function other than `$(MY.ATTRIBUTE)`.
    pub fn refers_to_macros(&self) -> bool {
        let refers = |text: &[u8]| {
            text.find_iter("$").any(|at| {
                let rest = text[at..].trim_start_with(|c| c == '$' || c == '_' || c.is_ascii_alphanumeric());
                rest.starts_with(b"(") && !rest.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"(MY."))
            })
        };
        self.lines().any(|line| refers(&line.text))
    }

    /// Returns the names of the files that `include` statements insert, except names that contain macros. Commands are
    /// omitted.
    pub fn included_files(&self) -> impl Iterator<Item = BString> {
        self.statements().filter_map(|(_, statement)| match statement {
            TransformStatement::Directive(ConfigDirective::Include { options, target })
                if !target.contains(&b'$') && !target.contains(&b'|') && !options.contains_str("command") =>
            {
                Some(target)
            }
            _ => None,
        })
    }

    /// Returns true if the text has no `include`, so that the effect on an ad depends only on that ad.
    pub fn has_no_includes(&self) -> bool {
        self.statements().all(|(_, statement)| {
            !matches!(statement, TransformStatement::Directive(ConfigDirective::Include { .. }))
        })
    }

    /// Returns the lines, each with its parsed statement.
    pub fn statements(&self) -> impl Iterator<Item = (&RuleLine, TransformStatement)> {
        self.program.steps.iter().map(|step| (&step.line, statement::split_statement(&step.line.text)))
    }
}

/// Parsed statements of a text.
#[derive(Clone, Debug)]
pub(super) struct TransformProgram {
    pub(super) steps: Vec<ProgramStep>,
}

/// Parsed line of a transform.
#[derive(Clone, Debug)]
pub(super) struct ProgramStep {
    /// Text and position of the line.
    pub(super) line: RuleLine,
    plain: PreparedStatement,
    /// Statement for a line that begins with `:`, which has a different meaning inside an `if`.
    after_colon: Option<PreparedStatement>,
    /// Precomputed operand of a command whose text contains no macro.
    pub(super) operand: PreparedOperand,
    /// Value of a command, split at its macro references, if it contains only plain references.
    pub(super) template: Option<ValueTemplate>,
    /// Results for earlier ads.
    pub(super) memo: StepMemo,
    /// Dialect of the expressions.
    pub(super) dialect: Dialect,
}

/// Statement of a line, split into its parts.
#[derive(Clone, Debug)]
pub(super) enum PreparedStatement {
    /// A line of the `if` family.
    Condition(Option<IfLine>),
    Command(Result<TransformCommand, CommandSyntaxError>),
    Assign(MacroAssignment),
    Directive(ConfigDirective),
}

/// Part of a command that does not depend on the ad.
#[derive(Clone, Debug)]
pub(super) enum PreparedOperand {
    /// Nothing could be prepared, because the text contains a macro or the command has no such part.
    Unprepared,
    /// The expression of SET, DEFAULT, EVALSET or EVALMACRO.
    Expression(Result<Expr, ParseError>),
    /// The pattern of COPY, RENAME or DELETE.
    Pattern(Result<Arc<Regex>, PatternError>),
}

impl TransformProgram {
    /// Parses lines into steps; drops blank lines and comments.
    pub(super) fn compile(lines: Vec<RuleLine>, dialect: Dialect) -> Self {
        TransformProgram {
            steps: lines.into_iter().filter_map(|line| ProgramStep::compile(line, dialect)).collect(),
        }
    }
}

impl ProgramStep {
    fn compile(line: RuleLine, dialect: Dialect) -> Option<Self> {
        let plain = prepare_statement(&line.text)?;
        let nothing = || PreparedStatement::Command(Ok(TransformCommand::no_op()));
        let after_colon =
            line.text.strip_prefix(b":").map(|rest| prepare_statement(rest).unwrap_or_else(nothing));
        let command = after_colon.as_ref().unwrap_or(&plain);
        let (ready, template) = match command {
            PreparedStatement::Command(Ok(command)) => {
                (prepare_operand(command, dialect), ValueTemplate::compile(&command.value))
            }
            _ => (PreparedOperand::Unprepared, None),
        };
        Some(ProgramStep {
            line,
            plain,
            after_colon,
            operand: ready,
            template,
            memo: StepMemo::default(),
            dialect,
        })
    }

    /// Returns the statement and its offset in the line: a leading `:` is skipped inside an `if` body and
    /// before `if` itself.
    pub(super) fn statement_for(&self, inside_if: bool) -> (&PreparedStatement, usize) {
        match &self.after_colon {
            Some(after) if inside_if || is_colon_if(&self.line.text) => (after, 1),
            _ => (&self.plain, 0),
        }
    }
}

/// Returns true if the line is `:if`, compared in lower case as in the reference.
fn is_colon_if(line: &[u8]) -> bool {
    line.strip_prefix(b":if").is_some_and(|rest| rest.first().is_none_or(|&b| is_space(b)))
}

fn prepare_statement(text: &[u8]) -> Option<PreparedStatement> {
    Some(match statement::split_statement(text) {
        TransformStatement::Blank => return None,
        TransformStatement::Condition => PreparedStatement::Condition(IfLine::new(text)),
        TransformStatement::Command(command) => PreparedStatement::Command(command),
        TransformStatement::Assign(assignment) => PreparedStatement::Assign(assignment),
        TransformStatement::Directive(directive) => PreparedStatement::Directive(directive),
    })
}

fn prepare_operand(command: &TransformCommand, dialect: Dialect) -> PreparedOperand {
    if let Some(CommandAttribute::Pattern(pattern)) = &command.attribute {
        return PreparedOperand::Pattern(attribute_pattern::compile_pattern(pattern).map(Arc::new));
    }
    let constant = memchr::memchr(b'$', &command.value).is_none();
    match command.keyword {
        CommandKeyword::Set | CommandKeyword::Default if constant => {
            PreparedOperand::Expression(Expr::parse_with(&command.value, dialect.old()))
        }
        CommandKeyword::EvalSet | CommandKeyword::EvalMacro if constant => {
            PreparedOperand::Expression(Expr::parse_prefix(&command.value, dialect).map(|(expr, _)| expr))
        }
        _ => PreparedOperand::Unprepared,
    }
}
