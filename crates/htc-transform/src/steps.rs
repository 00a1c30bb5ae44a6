//! The steps of a transform, carried out one after the other (`Parse_macros` with `ParseRulesCallback`).

use std::borrow::Cow;

use bstr::BString;

use super::command::CommandError;
use super::execute;
use super::include::{Found, Include, IncludeError};
use super::observe::{Event, Failure, Inclusion, Observer, Reason};
use super::program::{Prepared, Program, Transform};
use super::rules::Line;
use super::session::{Session, function_problem};
use super::statement::{self, Append, Assignment, Directive};
use htc_classad::ClassAd;
use htc_config::condition::{IfLine, IfStack};
use htc_config::{MacroSource, expand};

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
        Run { session: self, target: Target::Ad(ad), observer, depth: 0 }.run(&transform.program)
    }

    /// Runs the text without an ad, only looking whether each command that is reached is one (`ValidateXForm`). Macros
    /// are assigned.
    pub fn check(&mut self, transform: &Transform, observer: &mut dyn Observer) -> Checked {
        let mut run = Run { session: self, target: Target::Check(0), observer, depth: 0 };
        let failure = run.run(&transform.program).err();
        let commands = if let Target::Check(commands) = run.target { commands } else { 0 };
        Checked { commands, failure }
    }
}

/// A text while it is run.
struct Run<'r, 'w> {
    session: &'r mut Session<'w>,
    target: Target<'r>,
    observer: &'r mut dyn Observer,
    /// How many files are included around it.
    depth: usize,
}

impl Run<'_, '_> {
    fn run(&mut self, program: &Program) -> Result<(), Failure> {
        self.steps(program).map_err(|mut failure| {
            let stale = &mut self.session.stale_reason;
            if failure.inclusion.is_none() && !stale.is_empty() {
                failure.stale_reason = Some(std::mem::take(stale).into());
            }
            failure
        })
    }

    fn steps(&mut self, program: &Program) -> Result<(), Failure> {
        let mut conditions = IfStack::default();
        let mut block: Option<Block> = None;
        let steps = self.observer.wants_steps();
        for step in &program.steps {
            let line = &step.line;
            if let Some(open) = &mut block {
                if statement::ends_block(&line.text, &open.tag) {
                    let Block { name, value, .. } = block.take().unwrap_or_default();
                    self.assign(line, &name, &value)?;
                } else {
                    open.add(&line.text);
                }
                continue;
            }
            let (prepared, cut) = step.prepared(!conditions.is_empty());
            if let Prepared::Condition(condition) = prepared {
                self.condition((line, cut), condition.as_ref(), &mut conditions)?;
                continue;
            }
            if !conditions.enabled() {
                if steps {
                    self.observer.event(line, Event::Skipped);
                }
                continue;
            }
            match prepared {
                Prepared::Condition(_) => {}
                Prepared::Command(Ok(command)) => match &mut self.target {
                    Target::Check(commands) => *commands += 1,
                    Target::Ad(ad) => execute::command(self.session, (step, command), ad, self.observer)?,
                },
                Prepared::Command(Err(error)) => {
                    if let (Target::Check(commands), known) =
                        (&mut self.target, !matches!(error, CommandError::UnknownKeyword(_)))
                    {
                        *commands += usize::from(known);
                        // Checking looks at the first argument only.
                        if matches!(error, CommandError::OneArgument(_)) {
                            continue;
                        }
                    }
                    return Err(Failure::new(line, (cut, line.text.len()), error.clone()));
                }
                Prepared::Assign(assignment) => block = self.assignment((line, cut), assignment)?,
                Prepared::Directive(directive) => self.directive(line, directive)?,
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
        &mut self,
        (line, cut): (&Line, usize),
        condition: Option<&IfLine>,
        conditions: &mut IfStack,
    ) -> Result<(), Failure> {
        let Run { session, target, observer, .. } = self;
        let scope = session.scope(target.ad());
        let result = {
            let mut report = |message: expand::Message| function_problem(*observer, line, &message);
            condition.map(|condition| conditions.prepared(condition, &scope, session.world, &mut report))
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

    fn assignment(
        &mut self,
        (line, cut): (&Line, usize),
        assignment: &Assignment,
    ) -> Result<Option<Block>, Failure> {
        let name = self.expand((line, cut), &assignment.name)?;
        if let (Append::No, Some(sign @ (b'+' | b'-'))) = (assignment.append, name.first()) {
            let value: &[u8] = if *sign == b'+' { &assignment.value } else { b"" };
            let name = [b"MY.", &name[1..]].concat();
            self.session.store(line, &name, value.into(), self.observer);
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
        let scope = self.session.scope(self.target.ad());
        if let Append::With(separator, doubled) = assignment.append
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
        self.assign(line, &name, &value)?;
        Ok(None)
    }

    /// Expands references of the value to its own name and stores it.
    fn assign(&mut self, line: &Line, name: &[u8], value: &[u8]) -> Result<(), Failure> {
        let Run { session, target, observer, .. } = self;
        let mut report = |message: expand::Message| function_problem(*observer, line, &message);
        let scope = session.scope(target.ad());
        let value: BString = expand::Expander::new(&scope, session.world, &mut report)
            .own(name, value)
            .map_err(|error| Failure::new(line, (0, line.text.len()), Reason::Expansion(error.to_string())))?
            .into_owned()
            .into();
        session.store(line, name, value, *observer);
        Ok(())
    }

    fn expand<'t>(&mut self, at: (&Line, usize), text: &'t [u8]) -> Result<Cow<'t, [u8]>, Failure> {
        self.session.expand(at, text, self.target.ad(), self.observer)
    }

    fn directive(&mut self, line: &Line, directive: &Directive) -> Result<(), Failure> {
        let whole = (0, line.text.len());
        match directive {
            Directive::Use { category, value } => {
                let category = self.expand((line, 0), category)?.into_owned().into();
                Err(Failure::new(line, whole, Reason::Use { category, value: value.clone() }))
            }
            Directive::Warning(text) => {
                let text = self.expand((line, 0), text)?;
                self.observer.event(line, Event::Warning(&text));
                Ok(())
            }
            Directive::Error(text) => {
                let text = self.expand((line, 0), text)?.into_owned().into();
                Err(Failure::new(line, whole, Reason::Error(text)))
            }
            Directive::Include { options, target: file } => {
                let file = self.expand((line, 0), file)?;
                if self.depth + 1 >= DEPTH {
                    return Err(unread(line, &file, IncludeError::TooDeep));
                }
                let session = &*self.session;
                let scope = session.scope(self.target.ad());
                let include = Include { target: &file, world: session.world, commands: session.commands };
                let program = include
                    .program(options, &scope, session.included.as_deref())
                    .map_err(|error| unread(line, &file, error))?;
                let program = match program {
                    Found::Program(program) => program,
                    Found::Missing(reference) => {
                        self.session.stale_reason = reference;
                        return Ok(());
                    }
                    Found::Empty(name) => {
                        self.observer.event(line, Event::EmptyInclude(&name));
                        return Ok(());
                    }
                };
                self.depth += 1;
                let done = self.run(&program);
                self.depth -= 1;
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
