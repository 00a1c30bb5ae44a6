//! The steps of a transform, carried out one after the other (`Parse_macros` with `ParseRulesCallback`).

use std::borrow::Cow;

use bstr::BString;

use super::command::{Command, CommandError};
use super::execute;
use super::include::{self, Found, IncludeError};
use super::observe::{Event, Failure, Inclusion, Observer, Reason};
use super::program::{Prepared, Program, Step, Transform};
use super::rules::Line;
use super::session::{Session, function_problem};
use super::statement::{self, Append, Assignment, Directive};
use crate::classad::ClassAd;
use crate::config::condition::{IfLine, IfStack};
use crate::config::{MacroSource, expand};

/// How deep files may include files (`CONFIG_MAX_NESTING_DEPTH`).
const DEPTH: usize = 20;

/// What came of checking a text without an ad.
#[derive(Clone, Debug)]
pub struct Checked {
    /// How many commands were reached; conditions on the ad are false here.
    pub commands: usize,
    /// What stopped it.
    pub failure: Option<Failure>,
}

/// What a run works on.
enum Target<'a> {
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

impl Session<'_> {
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
