//! Applying transforms to ads (`TransformClassAd`, `Parse_macros` with `ParseRulesCallback`).

use std::borrow::Cow;
use std::rc::Rc;

use bstr::BString;

use super::command::{Command, CommandError};
use super::execute;
use super::include::{self, Found, IncludeError, Included};
use super::macros::{BuiltIn, Macros, Scope};
use super::observe::{Event, Failure, Inclusion, Observer, Problem, ProblemKind, Reason};
use super::program::{Prepared, Program, Step, Transform};
use super::rules::Line;
use super::statement::{self, Append, Assignment, Directive};
use crate::classad::{ClassAd, Context};
use crate::config::condition::{IfLine, IfStack};
use crate::config::expand;
use crate::config::{CommandPolicy, MacroSource};
use crate::quirks::Quirks;
use crate::text::Span;
use crate::world::World;

/// How deep files may include files (`CONFIG_MAX_NESTING_DEPTH`).
const DEPTH: usize = 20;

/// Applies transforms; keeps the macros that pass from one to the next.
pub struct Session<'w> {
    /// What is outside.
    pub world: &'w dyn World,
    /// The configuration that `$(NAME)` falls back to.
    pub knobs: Option<&'w dyn MacroSource>,
    /// The macros: set ones before the first ad with [`Macros::set`], go back between ads with [`Macros::rewind`].
    pub macros: Macros,
    /// The names that are defined by themselves.
    pub built_in: BuiltIn,
    /// Whether to do as 25.14 does where that is plainly not what was meant.
    pub quirks: Quirks,
    /// Whether commands that `include` and TRANSFORM name are run; the reference runs them.
    pub commands: CommandPolicy,
    /// Where what `include` gives is remembered; the reference reads it again for every ad.
    pub included: Option<Rc<Included>>,
    /// Why an `include ifexist` was passed over: the reference tells it with the next failure that has no reason of its own.
    pub stale_reason: String,
}

/// What came of checking a text without an ad.
#[derive(Clone, Debug)]
pub struct Checked {
    /// How many commands were reached; conditions on the ad are false here.
    pub commands: usize,
    /// What stopped it.
    pub failure: Option<Failure>,
}

/// What a run works on.
pub(super) enum Target<'a> {
    /// An ad.
    Ad(&'a mut ClassAd),
    /// Nothing; commands are counted.
    Check(usize),
}

impl Target<'_> {
    fn ad(&self) -> Option<&ClassAd> {
        match self {
            Target::Ad(ad) => Some(ad),
            Target::Check(_) => None,
        }
    }
}

impl<'w> Session<'w> {
    /// A session without macros.
    pub fn new(world: &'w dyn World, knobs: Option<&'w dyn MacroSource>) -> Self {
        let quirks = Quirks::default();
        let commands = CommandPolicy::BOUNDED;
        let (macros, built_in) = (Macros::default(), BuiltIn::Basic);
        let (included, stale_reason) = (None, String::new());
        Session { world, knobs, macros, built_in, quirks, commands, included, stale_reason }
    }

    /// Whether the transform's REQUIREMENTS let it be applied to this ad: evaluated in the ad without TARGET, as a text that
    /// stands in no ad; boolean and number count by their truth, anything else does not apply.
    pub fn matches(&self, transform: &Transform, ad: &ClassAd) -> bool {
        let Some(requirements) = &transform.envelope.requirements else { return true };
        // An evaluation that is given up lets it apply (`MacroStreamXFormSource::matches`).
        let value = Context::new(self.world).my(ad).alone().try_eval(&requirements.expr);
        value.is_none_or(|value| value.truth() == Some(true))
    }

    /// Applies the text of a transform to an ad, whatever its REQUIREMENTS say. After a failure the changes made so
    /// far remain.
    pub fn apply(
        &mut self,
        transform: &Transform,
        ad: &mut ClassAd,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        self.run(&transform.program, 0, &mut Target::Ad(ad), observer)
    }

    /// Runs the text without an ad, only looking whether each command that is reached is one (`ValidateXForm`). Macros
    /// are assigned.
    pub fn check(&mut self, transform: &Transform, observer: &mut dyn Observer) -> Checked {
        let mut target = Target::Check(0);
        let failure = self.run(&transform.program, 0, &mut target, observer).err();
        let commands = if let Target::Check(commands) = target { commands } else { 0 };
        Checked { commands, failure }
    }

    /// Expands a text as a command's value would be, with no ad: for arguments of TRANSFORM.
    pub fn expand_alone(
        &self,
        line: &Line,
        text: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<BString, Failure> {
        let empty = Macros::default();
        let scope = Scope { macros: &empty, built_in: &self.built_in, ad: None, knobs: None };
        expand_in(&scope, self.world, line, 0, text, observer).map(|text| text.into_owned().into())
    }

    pub(super) fn scope<'a>(&'a self, ad: Option<&'a ClassAd>) -> Scope<'a> {
        Scope { macros: &self.macros, built_in: &self.built_in, ad, knobs: self.knobs }
    }

    fn run(
        &mut self,
        program: &Program,
        depth: usize,
        target: &mut Target<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        self.steps(program, depth, target, observer).map_err(|mut failure| {
            if failure.inclusion.is_none() && !self.stale_reason.is_empty() {
                failure.stale_reason = Some(std::mem::take(&mut self.stale_reason).into());
            }
            failure
        })
    }

    fn steps(
        &mut self,
        program: &Program,
        depth: usize,
        target: &mut Target<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let mut conditions = IfStack::default();
        let mut block: Option<Block> = None;
        let steps = observer.wants_steps();
        for step in &program.steps {
            let line = &step.line;
            if let Some(open) = &mut block {
                if statement::ends_block(&line.text, &open.tag) {
                    let Block { name, value, .. } = block.take().unwrap_or_default();
                    self.assign(line, &name, &value, target.ad(), observer)?;
                } else {
                    open.add(&line.text);
                }
                continue;
            }
            let (prepared, cut) = step.prepared(!conditions.is_empty());
            if let Prepared::Condition(condition) = prepared {
                self.condition(line, cut, condition.as_ref(), &mut conditions, target.ad(), observer)?;
                continue;
            }
            if !conditions.enabled() {
                if steps {
                    observer.event(line, Event::Skipped);
                }
                continue;
            }
            match prepared {
                Prepared::Condition(_) => {}
                Prepared::Command(Ok(command)) => self.command(step, command, target, observer)?,
                Prepared::Command(Err(error)) => {
                    if let (Target::Check(commands), known) =
                        (&mut *target, !matches!(error, CommandError::UnknownKeyword(_)))
                    {
                        *commands += usize::from(known);
                        // Checking looks at the first argument only.
                        if matches!(error, CommandError::OneArgument(_)) {
                            continue;
                        }
                    }
                    return Err(Failure::new(line, (cut, line.text.len()), error.clone()));
                }
                Prepared::Assign(assignment) => {
                    block = self.assignment(line, cut, assignment, target, observer)?;
                }
                Prepared::Directive(directive) => {
                    self.directive(line, directive, depth, target, observer)?;
                }
            }
        }
        // Where both are open, the reference speaks of the `if`.
        if let (false, Some(last)) = (conditions.is_empty(), program.steps.last()) {
            let reason = Reason::Unclosed;
            return Err(Failure::new(&last.line, (0, last.line.text.len()), reason));
        }
        if let (Some(open), Some(last)) = (block, program.steps.last()) {
            let line = open.line.unwrap_or_else(|| last.line.clone());
            return Err(Failure::new(&line, (0, line.text.len()), Reason::Unended(open.tag)));
        }
        Ok(())
    }

    fn condition(
        &self,
        line: &Line,
        cut: usize,
        condition: Option<&IfLine>,
        conditions: &mut IfStack,
        ad: Option<&ClassAd>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let scope = self.scope(ad);
        let result = {
            let mut report = |message: expand::Message| function_problem(observer, line, &message);
            condition.map(|condition| conditions.prepared(condition, &scope, self.world, &mut report))
        };
        match result {
            None | Some(Ok(())) => {
                if observer.wants_steps() {
                    observer.event(line, Event::Condition { enabled: conditions.enabled() });
                }
                Ok(())
            }
            Some(Err(error)) => {
                let end = line.text.len();
                Err(Failure::new(line, (cut, end), Reason::Condition(error.to_string())))
            }
        }
    }

    fn command(
        &mut self,
        step: &Step,
        command: &Command,
        target: &mut Target<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        match target {
            Target::Check(commands) => {
                *commands += 1;
                Ok(())
            }
            Target::Ad(ad) => execute::command(self, step, command, ad, observer),
        }
    }

    /// Expands the value of a command.
    pub(super) fn expand<'t>(
        &self,
        line: &Line,
        at: usize,
        text: &'t [u8],
        ad: Option<&ClassAd>,
        observer: &mut dyn Observer,
    ) -> Result<Cow<'t, [u8]>, Failure> {
        expand_in(&self.scope(ad), self.world, line, at, text, observer)
    }

    fn assignment(
        &mut self,
        line: &Line,
        cut: usize,
        assignment: &Assignment,
        target: &Target<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Block>, Failure> {
        let ad = target.ad();
        let name = self.expand(line, cut, &assignment.name, ad, observer)?;
        if let (Append::No, Some(sign @ (b'+' | b'-'))) = (assignment.append, name.first()) {
            let value: &[u8] = if *sign == b'+' { &assignment.value } else { b"" };
            let name = [b"MY.", &name[1..]].concat();
            self.store(line, &name, value.into(), observer);
            return Ok(None);
        }
        if !statement::is_macro_name(&name) {
            let at = (cut, cut + assignment.name.len());
            return Err(Failure::new(line, at, Reason::MacroName(name.into_owned().into())));
        }
        if assignment.append == Append::Block {
            let tag = assignment.value.clone();
            return Ok(Some(Block {
                name: name.into_owned().into(),
                tag,
                line: Some(line.clone()),
                ..Block::default()
            }));
        }
        let mut value = Cow::Borrowed(&assignment.value[..]);
        if let Append::With(separator, doubled) = assignment.append
            && let Some(current) = self.scope(ad).raw(&name).filter(|current| !current.is_empty())
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
        let name = name.into_owned();
        self.assign(line, &name, &value, ad, observer)?;
        Ok(None)
    }

    /// Expands references of the value to its own name and stores it.
    fn assign(
        &mut self,
        line: &Line,
        name: &[u8],
        value: &[u8],
        ad: Option<&ClassAd>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let mut report = |message: expand::Message| function_problem(observer, line, &message);
        let value: BString = expand::expand_self(value, name, &self.scope(ad), self.world, &mut report)
            .map_err(|error| Failure::new(line, (0, line.text.len()), Reason::Expansion(error.to_string())))?
            .into_owned()
            .into();
        self.store(line, name, value, observer);
        Ok(())
    }

    /// Stores a macro.
    pub(super) fn store(&mut self, line: &Line, name: &[u8], value: BString, observer: &mut dyn Observer) {
        if observer.wants_steps() {
            observer.event(line, Event::Assigned { name, value: &value });
        }
        self.macros.set(name, value);
    }

    fn directive(
        &mut self,
        line: &Line,
        directive: &Directive,
        depth: usize,
        target: &mut Target<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let whole = (0, line.text.len());
        match directive {
            Directive::Use { category, value } => {
                let category = self.expand(line, 0, category, target.ad(), observer)?.into_owned().into();
                Err(Failure::new(line, whole, Reason::Use { category, value: value.clone() }))
            }
            Directive::Warning(text) => {
                let text = self.expand(line, 0, text, target.ad(), observer)?;
                observer.event(line, Event::Warning(&text));
                Ok(())
            }
            Directive::Error(text) => {
                let text = self.expand(line, 0, text, target.ad(), observer)?.into_owned().into();
                Err(Failure::new(line, whole, Reason::Error(text)))
            }
            Directive::Include { options, target: file } => {
                let file = self.expand(line, 0, file, target.ad(), observer)?;
                if depth + 1 >= DEPTH {
                    return Err(unread(line, &file, IncludeError::TooDeep));
                }
                let scope = self.scope(target.ad());
                let (outside, included) = ((self.world, self.commands), self.included.as_deref());
                let program = include::program(options, &file, &scope, outside, included)
                    .map_err(|error| unread(line, &file, error))?;
                let program = match program {
                    Found::Program(program) => program,
                    Found::Missing(reference) => {
                        self.stale_reason = reference;
                        return Ok(());
                    }
                    Found::Empty(name) => {
                        observer.event(line, Event::EmptyInclude(&name));
                        return Ok(());
                    }
                };
                let done = self.run(&program, depth + 1, target, observer);
                done.map_err(|failure| failure.included_by(line, &file))
            }
        }
    }
}

/// An `include` whose text cannot be had.
fn unread(line: &Line, file: &[u8], error: IncludeError) -> Failure {
    let reason = match &error {
        IncludeError::Unreadable(unreadable) => Some(unreadable.reference.clone()),
        IncludeError::TooDeep => Some(error.to_string()),
        _ => None,
    };
    let mut failure = Failure::new(line, (0, line.text.len()), error);
    failure.inclusion =
        reason.map(|reason| Box::new(Inclusion { file: file.into(), line: 0, statement: line.last, reason }));
    failure
}

/// Expands macros; a text without `$` is returned as it is.
fn expand_in<'t>(
    scope: &Scope<'_>,
    world: &dyn World,
    line: &Line,
    at: usize,
    text: &'t [u8],
    observer: &mut dyn Observer,
) -> Result<Cow<'t, [u8]>, Failure> {
    if memchr::memchr(b'$', text).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut report = |message: expand::Message| function_problem(observer, line, &message);
    match expand::expand(text, scope, world, &mut report) {
        Ok(expanded) => Ok(Cow::Owned(expanded.into())),
        Err(error) => Err(Failure::new(line, (at, at + text.len()), Reason::Expansion(error.to_string()))),
    }
}

fn function_problem(observer: &mut dyn Observer, line: &Line, message: &expand::Message) {
    let kind = ProblemKind::Function(message.to_string());
    let problem = Problem { kind, text: line.text.clone(), at: Span::default(), in_line: None };
    observer.event(line, Event::Problem(problem));
}

/// An `@=` value that is being read.
#[derive(Default)]
struct Block {
    name: BString,
    tag: BString,
    value: BString,
    line: Option<Line>,
}

impl Block {
    fn add(&mut self, text: &[u8]) {
        if !self.value.is_empty() {
            self.value.push(b'\n');
        }
        self.value.extend_from_slice(text);
    }
}
