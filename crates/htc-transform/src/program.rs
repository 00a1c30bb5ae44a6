//! A transform, read once: its envelope and its statements with all that does not depend on the ad.

use std::sync::Arc;

use bstr::{BString, ByteSlice};

use super::command::{Attribute, Command, CommandError, Keyword};
use super::envelope::{self, Envelope, LoadError};
use super::memo::Memo;
use super::pattern;
use super::rules::{Line, Rules};
use super::statement::{self, Assignment, Directive, Statement};
use super::template::Template;
use htc_base::text::space::is_space;
use htc_classad::regex::{PatternError, Regex};
use htc_classad::{Dialect, Expr, ParseError};
use htc_config::condition::IfLine;

/// A transform that can be applied to ads.
#[derive(Clone, Debug)]
pub struct Transform {
    /// Its name: what NAME says, else the file or the knob's own name.
    pub name: BString,
    /// NAME, REQUIREMENTS, UNIVERSE, TRANSFORM.
    pub envelope: Envelope,
    /// The comment that is all a knob's text holds beside the envelope.
    pub comment: Option<BString>,
    pub(super) program: Program,
}

impl Transform {
    /// Reads a rules file, its expressions in the mode of a dialect. `name` is the file's name.
    pub fn from_file(name: &str, text: &[u8], dialect: Dialect) -> Result<Self, LoadError> {
        let (envelope, lines) = envelope::take_from_file(Rules::from_file(name, text), dialect)?;
        let name = envelope.name.clone().unwrap_or_else(|| name.into());
        Ok(Transform { name, envelope, comment: None, program: Program::compile(lines, dialect) })
    }

    /// Reads the unexpanded value of a knob. A NAME in it is ignored unless `name` is empty.
    pub fn from_knob(name: &str, text: &[u8], dialect: Dialect) -> Result<Self, LoadError> {
        Self::from_knob_at(name, name, text, dialect)
    }

    /// As [`Transform::from_knob`]; `place` is what messages call the text, whose lines are counted from its own first one.
    pub fn from_knob_at(name: &str, place: &str, text: &[u8], dialect: Dialect) -> Result<Self, LoadError> {
        let (envelope, lines) = envelope::take_from_knob(Rules::from_knob(place, text), dialect)?;
        let own = if name.is_empty() { envelope.name.clone() } else { None };
        let name = own.unwrap_or_else(|| name.into());
        let comment = lines.first().map(|line| line.text.clone());
        let program = Program::compile(lines, dialect);
        let comment = comment.filter(|text| program.steps.is_empty() && text.trim_start().starts_with(b"#"));
        Ok(Transform { name, envelope, comment, program })
    }

    /// Whether its text holds nothing at all beside the envelope.
    pub fn is_empty(&self) -> bool {
        self.program.steps.is_empty() && self.comment.is_none()
    }

    /// Its lines without the envelope, comments and blank lines.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.program.steps.iter().map(|step| &step.line)
    }

    /// Whether another has the same condition.
    pub fn has_same_requirements(&self, other: &Transform) -> bool {
        let [left, right] = [self, other].map(|it| it.envelope.requirements.as_ref().map(|it| &it.expr));
        left == right
    }

    /// Whether another does the same, for which its statements are the same; not where what they include or iterate over counts too.
    pub fn has_same_statements(&self, other: &Transform) -> bool {
        let includes = |it: &Transform| {
            let mut statements = it.statements();
            statements
                .any(|(_, statement)| matches!(statement, Statement::Directive(Directive::Include { .. })))
        };
        let is_plain = |it: &Transform| it.envelope.iteration.is_none() && !includes(it);
        is_plain(self)
            && is_plain(other)
            && self.envelope.universe == other.envelope.universe
            && self.lines().map(|line| &line.text).eq(other.lines().map(|line| &line.text))
    }

    /// Whether a statement refers to a macro or function of macros other than `$(MY.ATTRIBUTE)`.
    pub fn refers_to_macros(&self) -> bool {
        let refers = |text: &[u8]| {
            text.find_iter("$").any(|at| {
                let rest = text[at..].trim_start_with(|c| c == '$' || c == '_' || c.is_ascii_alphanumeric());
                rest.starts_with(b"(") && !rest.get(..4).is_some_and(|it| it.eq_ignore_ascii_case(b"(MY."))
            })
        };
        self.lines().any(|line| refers(&line.text))
    }

    /// The files that its `include` statements name, as far as that is known without macros.
    pub fn included_files(&self) -> impl Iterator<Item = BString> {
        self.statements().filter_map(|(_, statement)| match statement {
            Statement::Directive(Directive::Include { options, target })
                if !target.contains(&b'$') && !target.contains(&b'|') && !options.contains_str("command") =>
            {
                Some(target)
            }
            _ => None,
        })
    }

    /// Whether what it does to an ad depends on that ad alone: files and commands that it includes may give something else each time.
    pub fn includes_nothing(&self) -> bool {
        self.statements()
            .all(|(_, statement)| !matches!(statement, Statement::Directive(Directive::Include { .. })))
    }

    /// Its lines, each split into what it asks for.
    pub fn statements(&self) -> impl Iterator<Item = (&Line, Statement)> {
        self.program.steps.iter().map(|step| (&step.line, statement::split(&step.line.text)))
    }
}

/// The statements of a text.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
}

/// One line.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Where it stands and what it says.
    pub(super) line: Line,
    plain: Prepared,
    /// A line that begins with `:` means something else inside an `if`.
    after_colon: Option<Prepared>,
    /// What could be made ready of a command whose text holds no macro.
    pub(super) ready: Ready,
    /// The value of a command, where it holds plain references only.
    pub(super) template: Option<Template>,
    /// What it has worked out for other ads.
    pub(super) memo: Memo,
    /// How its expressions are read.
    pub(super) dialect: Dialect,
}

/// A statement, split.
#[derive(Clone, Debug)]
pub(super) enum Prepared {
    /// A line of the `if` family.
    Condition(Option<IfLine>),
    Command(Result<Command, CommandError>),
    Assign(Assignment),
    Directive(Directive),
}

/// The constant part of a command.
#[derive(Clone, Debug)]
pub(super) enum Ready {
    /// Nothing.
    No,
    /// The expression of SET, DEFAULT, EVALSET or EVALMACRO.
    Expression(Result<Expr, ParseError>),
    /// The pattern of COPY, RENAME or DELETE.
    Pattern(Result<Arc<Regex>, PatternError>),
}

impl Program {
    /// Splits lines; blank lines and comments fall out.
    pub(super) fn compile(lines: Vec<Line>, dialect: Dialect) -> Self {
        Program { steps: lines.into_iter().filter_map(|line| Step::compile(line, dialect)).collect() }
    }
}

impl Step {
    fn compile(line: Line, dialect: Dialect) -> Option<Self> {
        let plain = prepare(&line.text)?;
        let nothing = || Prepared::Command(Ok(Command::nothing()));
        let after_colon = line.text.strip_prefix(b":").map(|rest| prepare(rest).unwrap_or_else(nothing));
        let command = after_colon.as_ref().unwrap_or(&plain);
        let (ready, template) = match command {
            Prepared::Command(Ok(command)) => (ready(command, dialect), Template::compile(&command.value)),
            _ => (Ready::No, None),
        };
        Some(Step { line, plain, after_colon, ready, template, memo: Memo::default(), dialect })
    }

    /// The statement and how many characters of the line stand before it: a leading `:` is dropped inside an `if` body and
    /// before `if` itself.
    pub(super) fn prepared(&self, inside_if: bool) -> (&Prepared, usize) {
        match &self.after_colon {
            Some(after) if inside_if || begins_if(&self.line.text) => (after, 1),
            _ => (&self.plain, 0),
        }
    }
}

/// Whether the line is `:if`, in lower case as the reference compares.
fn begins_if(line: &[u8]) -> bool {
    line.strip_prefix(b":if").is_some_and(|rest| rest.first().is_none_or(|&b| is_space(b)))
}

fn prepare(text: &[u8]) -> Option<Prepared> {
    Some(match statement::split(text) {
        Statement::Nothing => return None,
        Statement::Condition => Prepared::Condition(IfLine::new(text)),
        Statement::Command(command) => Prepared::Command(command),
        Statement::Assign(assignment) => Prepared::Assign(assignment),
        Statement::Directive(directive) => Prepared::Directive(directive),
    })
}

fn ready(command: &Command, dialect: Dialect) -> Ready {
    if let Some(Attribute::Pattern(pattern)) = &command.attribute {
        return Ready::Pattern(pattern::compile(pattern).map(Arc::new));
    }
    let constant = memchr::memchr(b'$', &command.value).is_none();
    match command.keyword {
        Keyword::Set | Keyword::Default if constant => {
            Ready::Expression(Expr::parse_with(&command.value, dialect.old()))
        }
        Keyword::EvalSet | Keyword::EvalMacro if constant => {
            Ready::Expression(Expr::parse_prefix(&command.value, dialect).map(|(expr, _)| expr))
        }
        _ => Ready::No,
    }
}
