//! What is told of transforms: problems once for each place, stories and steps if wanted.

use std::collections::HashSet;

use super::options::Arguments;
use crate::classad::stream::AdError;
use crate::classad::{Context as Eval, explain};
use crate::cli::common::{Session as Program, Status, malformed};
use crate::cli::transform_report::{self as report, Difference, Steps, Story};
use crate::transform::{Event, Failure, Line, Observer, ProblemKind, Transform};

/// What is told once: source, line, text.
type Key = (String, u32, String);

/// A line, by its source and number.
type Place = (usize, u32);

/// Something to be told. Lines and ads are counted from where the reading began.
pub(super) enum Note {
    /// What could not be read of an ad.
    Malformed(AdError),
    /// What kept a statement from doing what was asked; a line whose value was undefined.
    Problem { key: Key, undefined: Option<Place>, error: anyhow::Error },
    /// Why an ad, by its number, is not written.
    LeftOut { key: Key, error: anyhow::Error, ad: u64 },
}

/// Listens to transforms: problems are told once for each place, stories and steps are kept if wanted.
pub(super) struct Watch<'a> {
    program: &'a Program,
    /// The name of the input.
    pub(super) input: String,
    strict: bool,
    told: HashSet<Key>,
    /// Lines of which it was told once why their value is undefined.
    undefined: HashSet<Place>,
    /// What is told later.
    kept: Option<Vec<Note>>,
    /// How often a statement could not do what was asked.
    pub(super) broken: usize,
    trace: Trace,
}

/// What is told of each step of a transform.
enum Trace {
    Nothing,
    Story(Story),
    Records(Steps),
}

impl<'a> Watch<'a> {
    pub(super) fn new(arguments: &Arguments, program: &'a Program) -> Self {
        let trace = match (arguments.trace, arguments.output.wants_json()) {
            (false, _) => Trace::Nothing,
            (true, false) => Trace::Story(Story::default()),
            (true, true) => Trace::Records(Steps::default()),
        };
        Watch {
            program,
            input: String::new(),
            strict: arguments.strict_input,
            told: HashSet::new(),
            undefined: HashSet::new(),
            kept: None,
            broken: 0,
            trace,
        }
    }

    pub(super) fn begins(&mut self, transform: &Transform) {
        if let Trace::Story(story) = &mut self.trace {
            story.text.push_str(&format!("transform {}\n", transform.name));
        }
    }

    pub(super) fn skipped(&mut self, transform: &Transform, seen: &Eval<'_>) {
        let Some(requirements) = transform.envelope.requirements.as_ref().filter(|_| self.wants_steps())
        else {
            return;
        };
        let reason = explain::first_not_true(seen, &requirements.expr).map(|clause| clause.to_string());
        match &mut self.trace {
            Trace::Nothing => {}
            Trace::Story(story) => {
                let (line, text) = (&requirements.line, &requirements.text);
                story.text.push_str(&format!(
                    "transform {} does not apply: {}:{}: REQUIREMENTS {text}\n",
                    transform.name, line.source.name, line.number
                ));
                if let Some(reason) = &reason {
                    story.text.push_str(&format!("  {reason}\n"));
                }
            }
            Trace::Records(steps) => steps.skipped(transform, requirements, reason.as_deref()),
        }
    }

    pub(super) fn failed(&mut self, failure: &Failure, ad: u64) -> anyhow::Result<()> {
        let key = (failure.line.source.name.clone(), failure.line.number, failure.to_string());
        if self.told.insert(key.clone()) {
            self.note(Note::LeftOut { key, error: report::failure(failure, Status::No), ad })?;
        }
        Ok(())
    }

    /// Keeps what is to be told for whoever tells it in its place.
    pub(super) fn keeping(self) -> Self {
        Watch { kept: Some(Vec::new()), ..self }
    }

    /// What is to be told since the last time.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Tells it, or keeps it.
    ///
    /// # Errors
    /// Malformed ads, where those are refused.
    pub(super) fn note(&mut self, note: Note) -> anyhow::Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.push(note);
            return Ok(());
        }
        let error = match note {
            Note::Malformed(error) if self.strict => return Err(malformed(&error, &self.input).into()),
            Note::Malformed(error) => malformed(&error, &self.input).into(),
            Note::Problem { error, .. } => error,
            Note::LeftOut { error, ad, .. } => error.context(format!("ad {ad} is left out")),
        };
        self.program.report(&error);
        Ok(())
    }

    /// Tells what another one has kept of a portion behind so many lines and ads, unless it was told already.
    ///
    /// # Errors
    /// Malformed ads, where those are refused.
    pub(super) fn add(&mut self, mut note: Note, lines: u64, ads: u64) -> anyhow::Result<()> {
        let is_new = match &mut note {
            Note::Malformed(error) => {
                error.line += lines;
                true
            }
            Note::Problem { key, undefined, .. } => {
                undefined.is_none_or(|place| self.undefined.insert(place))
                    && self.told.len() < MOST_TOLD
                    && self.told.insert(key.clone())
            }
            Note::LeftOut { key, ad, .. } => {
                *ad += ads;
                self.told.insert(key.clone())
            }
        };
        if is_new { self.note(note) } else { Ok(()) }
    }

    /// Tells the story of an ad.
    pub(super) fn tell(&mut self, ad: u64, difference: Option<&Difference>) {
        let story = match &mut self.trace {
            Trace::Story(story) => std::mem::take(&mut story.text),
            Trace::Nothing | Trace::Records(_) => String::new(),
        };
        let text = story + &difference.map(ToString::to_string).unwrap_or_default();
        if !text.is_empty() {
            self.program.tell(&format!("ad {ad}\n{text}"));
        }
    }

    pub(super) fn take_steps(&mut self) -> Option<Vec<serde_json::Value>> {
        match &mut self.trace {
            Trace::Records(steps) => Some(std::mem::take(&mut steps.records)),
            Trace::Nothing | Trace::Story(_) => None,
        }
    }
}

impl Observer for Watch<'_> {
    fn wants_steps(&self) -> bool {
        !matches!(self.trace, Trace::Nothing)
    }

    fn wants_reason(&self, line: &Line) -> bool {
        self.wants_steps() || (self.told.len() < MOST_TOLD && !self.undefined.contains(&place(line)))
    }

    fn event(&mut self, line: &Line, event: Event<'_>) {
        if let Event::Problem(problem) = &event {
            let key = (line.source.name.clone(), line.number, problem.kind.to_string());
            let is_undefined = matches!(problem.kind, ProblemKind::Undefined { .. });
            let undefined = is_undefined.then(|| place(line));
            self.undefined.extend(undefined);
            self.broken += usize::from(problem.kind.is_failure());
            if self.told.len() < MOST_TOLD && self.told.insert(key.clone()) {
                let error = report::problem(line, problem, Status::No);
                // Only malformed ads are ever refused.
                let _ = self.note(Note::Problem { key, undefined, error });
            }
        }
        match &mut self.trace {
            Trace::Nothing => {}
            Trace::Story(story) => story.event(line, event),
            Trace::Records(steps) => steps.event(line, event),
        }
    }
}

/// The place of a line.
fn place(line: &Line) -> Place {
    (std::sync::Arc::as_ptr(&line.source).addr(), line.number)
}

/// How many different problems are told: a stream of a million ads may have a problem each.
const MOST_TOLD: usize = 1000;
