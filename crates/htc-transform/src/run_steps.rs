//! Execution of the steps of a transform (`Parse_macros` with `ParseRulesCallback`).

use std::borrow::Cow;

use bstr::BString;

use super::command::CommandSyntaxError;
use super::execute_command;
use super::include::{IncludeContent, IncludeError, IncludeRequest};
use super::observer::{FailedInclude, FailureReason, Observer, TransformEvent, TransformFailure};
use super::program::{PreparedStatement, Transform, TransformProgram};
use super::rules_text::RuleLine;
use super::session::{TransformSession, report_function_problem};
use super::statement::{self, AssignmentOperator, ConfigDirective, MacroAssignment};
use htc_base::text::Span;
use htc_classad::ClassAd;
use htc_config::condition::{IfLine, IfStack};
use htc_config::{MacroSource, expand};

/// Maximum nesting depth of included files (`CONFIG_MAX_NESTING_DEPTH`).
const MAX_INCLUDE_DEPTH: usize = 20;

/// Maximum number of lines that are executed for one ad, including those of included files. Without a limit, a few files that
/// include each other could keep the program busy for hours.
const MAX_STATEMENTS: usize = 100_000;

/// Result of checking a text without an ad.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// Number of commands that were reached; conditions on the ad are false.
    pub commands: usize,
    /// Error that stopped the check, or `None`.
    pub failure: Option<TransformFailure>,
}

/// Object on which the text of a transform is executed.
enum RunTarget<'a> {
    /// The ad that the transform changes.
    Ad(&'a mut ClassAd),
    /// No ad: the text is only checked. Contains the number of commands reached so far.
    Check(usize),
}

impl RunTarget<'_> {
    fn ad(&self) -> Option<&ClassAd> {
        match self {
            RunTarget::Ad(ad) => Some(ad),
            RunTarget::Check(_) => None,
        }
    }
}

impl TransformSession<'_> {
    /// Applies the text of a transform to an ad without checking its REQUIREMENTS. After a failure the
    /// changes made so far remain.
    pub fn apply(
        &mut self,
        transform: &Transform,
        ad: &mut ClassAd,
        observer: &mut dyn Observer,
    ) -> Result<(), TransformFailure> {
        TransformRun { session: self, target: RunTarget::Ad(ad), observer, depth: 0, executed: 0 }
            .run_program(&transform.program)
    }

    /// Executes the text without an ad and checks that each command that is reached is valid
    /// (`ValidateXForm`). Macros are assigned.
    pub fn check_commands(&mut self, transform: &Transform, observer: &mut dyn Observer) -> CheckResult {
        let mut run =
            TransformRun { session: self, target: RunTarget::Check(0), observer, depth: 0, executed: 0 };
        let failure = run.run_program(&transform.program).err();
        let commands = if let RunTarget::Check(commands) = run.target { commands } else { 0 };
        CheckResult { commands, failure }
    }
}

/// Execution of one text in progress.
struct TransformRun<'r, 'w> {
    session: &'r mut TransformSession<'w>,
    target: RunTarget<'r>,
    observer: &'r mut dyn Observer,
    /// Number of nested includes around this text.
    depth: usize,
    /// Number of lines so far, including those of included texts.
    executed: usize,
}

impl TransformRun<'_, '_> {
    fn run_program(&mut self, program: &TransformProgram) -> Result<(), TransformFailure> {
        self.run_steps(program).map_err(|mut failure| {
            let stale = &mut self.session.stale_reason;
            if failure.inclusion.is_none() && !stale.is_empty() {
                failure.stale_reason = Some(std::mem::take(stale).into());
            }
            failure
        })
    }

    fn run_steps(&mut self, program: &TransformProgram) -> Result<(), TransformFailure> {
        let mut conditions = IfStack::default();
        let mut block: Option<OpenBlock> = None;
        let steps = self.observer.wants_steps();
        for step in &program.steps {
            let line = &step.line;
            self.executed += 1;
            if self.executed > MAX_STATEMENTS {
                let whole = Span::new(0, line.text.len());
                let reason = FailureReason::TooManyStatements(MAX_STATEMENTS);
                return Err(TransformFailure::new(line, whole, reason));
            }
            if let Some(open) = &mut block {
                if statement::is_block_end(&line.text, &open.tag) {
                    let OpenBlock { name, value, .. } = block.take().unwrap_or_default();
                    self.assign_macro(line, &name, &value)?;
                } else {
                    open.push_line(&line.text);
                }
                continue;
            }
            let (prepared, cut) = step.statement_for(!conditions.is_empty());
            if let PreparedStatement::Condition(condition) = prepared {
                self.run_condition(line, cut, condition.as_ref(), &mut conditions)?;
                continue;
            }
            if !conditions.is_enabled() {
                if steps {
                    self.observer.on_event(line, TransformEvent::Skipped);
                }
                continue;
            }
            match prepared {
                PreparedStatement::Condition(_) => {}
                PreparedStatement::Command(Ok(command)) => match &mut self.target {
                    RunTarget::Check(commands) => *commands += 1,
                    RunTarget::Ad(ad) => {
                        execute_command::execute_command(self.session, step, command, ad, self.observer)?
                    }
                },
                PreparedStatement::Command(Err(error)) => {
                    if let (RunTarget::Check(commands), known) =
                        (&mut self.target, !matches!(error, CommandSyntaxError::UnknownKeyword(_)))
                    {
                        *commands += usize::from(known);
                        // A check without an ad needs only the first argument.
                        if matches!(error, CommandSyntaxError::OneArgument(_)) {
                            continue;
                        }
                    }
                    return Err(TransformFailure::new(line, Span::new(cut, line.text.len()), error.clone()));
                }
                PreparedStatement::Assign(assignment) => {
                    block = self.run_assignment(line, cut, assignment)?
                }
                PreparedStatement::Directive(directive) => self.run_directive(line, directive)?,
            }
        }
        // If an `if` and an `@=` block are both open, the reference reports the `if`.
        if let (false, Some(last)) = (conditions.is_empty(), program.steps.last()) {
            let reason = FailureReason::UnclosedIf;
            return Err(TransformFailure::new(&last.line, Span::new(0, last.line.text.len()), reason));
        }
        if let (Some(open), Some(last)) = (block, program.steps.last()) {
            let line = open.line.unwrap_or_else(|| last.line.clone());
            return Err(TransformFailure::new(
                &line,
                Span::new(0, line.text.len()),
                FailureReason::UnendedBlock(open.tag),
            ));
        }
        Ok(())
    }

    fn run_condition(
        &mut self,
        line: &RuleLine,
        cut: usize,
        condition: Option<&IfLine>,
        conditions: &mut IfStack,
    ) -> Result<(), TransformFailure> {
        let TransformRun { session, target, observer, .. } = self;
        let scope = session.macro_scope(target.ad());
        let result = {
            let mut report =
                |message: expand::FunctionFailure| report_function_problem(*observer, line, &message);
            condition
                .map(|condition| conditions.process_prepared(condition, &scope, session.world, &mut report))
        };
        match result {
            None | Some(Ok(())) => {
                if observer.wants_steps() {
                    observer.on_event(line, TransformEvent::Condition { enabled: conditions.is_enabled() });
                }
                Ok(())
            }
            Some(Err(error)) => {
                let end = line.text.len();
                Err(TransformFailure::new(line, Span::new(cut, end), FailureReason::Condition(error)))
            }
        }
    }

    fn run_assignment(
        &mut self,
        line: &RuleLine,
        cut: usize,
        assignment: &MacroAssignment,
    ) -> Result<Option<OpenBlock>, TransformFailure> {
        let name = self.expand(line, cut, &assignment.name)?;
        if let (AssignmentOperator::Replace, Some(sign @ (b'+' | b'-'))) = (assignment.operator, name.first())
        {
            let value: &[u8] = if *sign == b'+' { &assignment.value } else { b"" };
            let name = [b"MY.", &name[1..]].concat();
            self.session.store_macro(line, &name, value.into(), self.observer);
            return Ok(None);
        }
        if !statement::is_macro_name(&name) {
            let at = Span::new(cut, cut + assignment.name.len());
            return Err(TransformFailure::new(line, at, FailureReason::MacroName(name.into_owned().into())));
        }
        if assignment.operator == AssignmentOperator::Block {
            let tag = assignment.value.clone();
            return Ok(Some(OpenBlock {
                name: name.into_owned().into(),
                tag,
                line: Some(line.clone()),
                ..OpenBlock::default()
            }));
        }
        let mut value = Cow::Borrowed(&assignment.value[..]);
        let scope = self.session.macro_scope(self.target.ad());
        if let AssignmentOperator::Append(separator, doubled) = assignment.operator
            && let Some(current) = scope.raw(&name).filter(|current| !current.is_empty())
        {
            let mut joined = current.into_owned();
            match (separator, doubled) {
                (None, _) => joined.push(b' '),
                (Some(separator), false) => joined.push(separator),
                (Some(separator), true) => joined.extend([b' ', separator, separator, b' ']),
            }
            joined.extend_from_slice(&assignment.value);
            value = Cow::Owned(joined);
        }
        self.assign_macro(line, &name, &value)?;
        Ok(None)
    }

    /// Expands the references of a value to its own macro and stores the macro.
    fn assign_macro(&mut self, line: &RuleLine, name: &[u8], value: &[u8]) -> Result<(), TransformFailure> {
        let TransformRun { session, target, observer, .. } = self;
        let mut report =
            |message: expand::FunctionFailure| report_function_problem(*observer, line, &message);
        let scope = session.macro_scope(target.ad());
        let value: BString = expand::Expander::new(&scope, session.world, &mut report)
            .expand_self_references(name, value)
            .map_err(|error| {
                TransformFailure::new(
                    line,
                    Span::new(0, line.text.len()),
                    FailureReason::Expansion(error.to_string()),
                )
            })?
            .into_owned()
            .into();
        session.store_macro(line, name, value, *observer);
        Ok(())
    }

    fn expand<'t>(
        &mut self,
        line: &RuleLine,
        at: usize,
        text: &'t [u8],
    ) -> Result<Cow<'t, [u8]>, TransformFailure> {
        self.session.expand(line, at, text, self.target.ad(), self.observer)
    }

    fn run_directive(
        &mut self,
        line: &RuleLine,
        directive: &ConfigDirective,
    ) -> Result<(), TransformFailure> {
        let whole = Span::new(0, line.text.len());
        match directive {
            ConfigDirective::Use { category, value } => {
                let category = self.expand(line, 0, category)?.into_owned().into();
                Err(TransformFailure::new(line, whole, FailureReason::Use { category, value: value.clone() }))
            }
            ConfigDirective::Warning(text) => {
                let text = self.expand(line, 0, text)?;
                self.observer.on_event(line, TransformEvent::Warning(&text));
                Ok(())
            }
            ConfigDirective::Error(text) => {
                let text = self.expand(line, 0, text)?.into_owned().into();
                Err(TransformFailure::new(line, whole, FailureReason::Error(text)))
            }
            ConfigDirective::Include { options, target: file } => {
                let file = self.expand(line, 0, file)?;
                if self.depth + 1 >= MAX_INCLUDE_DEPTH {
                    return Err(include_failure(line, &file, IncludeError::TooDeep));
                }
                let session = &*self.session;
                let scope = session.macro_scope(self.target.ad());
                let include =
                    IncludeRequest { target: &file, world: session.world, commands: session.commands };
                let program = include
                    .load_program(options, &scope, session.include_cache.as_deref())
                    .map_err(|error| include_failure(line, &file, error))?;
                let program = match program {
                    IncludeContent::Program(program) => program,
                    IncludeContent::Missing(reference) => {
                        self.session.stale_reason = reference;
                        return Ok(());
                    }
                    IncludeContent::Empty(name) => {
                        self.observer.on_event(line, TransformEvent::EmptyInclude(&name));
                        return Ok(());
                    }
                };
                self.depth += 1;
                let done = self.run_program(&program);
                self.depth -= 1;
                done.map_err(|failure| failure.with_include(line, &file))
            }
        }
    }
}

/// Returns the failure of an `include` whose text cannot be read.
fn include_failure(line: &RuleLine, file: &[u8], error: IncludeError) -> TransformFailure {
    let reason = match &error {
        IncludeError::Unreadable(unreadable) => Some(unreadable.reference.clone()),
        IncludeError::TooDeep => Some(error.to_string()),
        _ => None,
    };
    let mut failure = TransformFailure::new(line, Span::new(0, line.text.len()), error);
    failure.inclusion = reason.map(|reason| {
        Box::new(FailedInclude { file: file.into(), line: 0, statement: line.reference_number, reason })
    });
    failure
}

/// Value of an `@=` block while it is being read.
#[derive(Default)]
struct OpenBlock {
    name: BString,
    tag: BString,
    value: BString,
    line: Option<RuleLine>,
}

impl OpenBlock {
    fn push_line(&mut self, text: &[u8]) {
        if !self.value.is_empty() {
            self.value.push(b'\n');
        }
        self.value.extend_from_slice(text);
    }
}
