//! Messages about transforms. Problems are reported once per location, steps on request.

use std::collections::HashSet;

use super::options::TransformArguments;
use crate::classad::stream::AdError;
use crate::classad::{Context as Eval, explain};
use crate::cli::common::{ProgramContext, Status, malformed_ad_problem, report_ad_error};
use crate::cli::transform_report::{self as report, AdDifference, ExplanationObserver, StepRecorder};
use crate::transform::{Observer, ProblemKind, RuleLine, Transform, TransformEvent, TransformFailure};

/// Maximum number of errors in ads that are reported one by one.
pub(super) const MAX_REPORTED_AD_ERRORS: usize = 20;

/// Key of a problem that is reported once: source, line and text.
type ReportKey = (String, u32, String);

/// Line of a transform, identified by the number of its source and its own number.
type SourceLine = (usize, u32);

/// Note about an ad or a statement. Lines and ads are counted from the beginning of the input or portion.
pub(super) enum TransformNote {
    /// Error in a malformed part of an ad.
    Malformed(AdError),
    /// Problem with a statement, and the line whose value was undefined, or `None`.
    Problem { key: ReportKey, undefined: Option<SourceLine>, error: anyhow::Error },
    /// Reason why the ad with this number is not written.
    LeftOut { key: ReportKey, error: anyhow::Error, ad: u64 },
}

/// Observer of transforms that reports each problem once per location, and records steps on request.
pub(super) struct TransformReporter<'a> {
    program: &'a ProgramContext,
    /// Name of the input in messages.
    pub(super) input: String,
    strict: bool,
    reported: HashSet<ReportKey>,
    /// Lines with an undefined value that has been reported.
    undefined: HashSet<SourceLine>,
    /// Notes that are kept for the caller, or `None` if they are reported immediately.
    kept_notes: Option<Vec<TransformNote>>,
    /// Number of all errors in ads, including those that were not reported one by one.
    malformed: usize,
    /// Number of statements that had a problem.
    pub(super) broken: usize,
    trace: TraceMode,
}

/// Mode of recording the steps of a transform.
enum TraceMode {
    Nothing,
    Explanation(ExplanationObserver),
    Records(StepRecorder),
}

impl<'a> TransformReporter<'a> {
    pub(super) fn new(arguments: &TransformArguments, program: &'a ProgramContext) -> Self {
        let trace = match (arguments.trace, arguments.output.wants_json()) {
            (false, _) => TraceMode::Nothing,
            (true, false) => TraceMode::Explanation(ExplanationObserver::default()),
            (true, true) => TraceMode::Records(StepRecorder::default()),
        };
        TransformReporter {
            program,
            input: String::new(),
            strict: arguments.strict_input,
            reported: HashSet::new(),
            undefined: HashSet::new(),
            kept_notes: None,
            malformed: 0,
            broken: 0,
            trace,
        }
    }

    pub(super) fn begin_transform(&mut self, transform: &Transform) {
        if let TraceMode::Explanation(explanation) = &mut self.trace {
            explanation.text.push_str(&format!("transform {}\n", transform.name));
        }
    }

    pub(super) fn record_skipped(&mut self, transform: &Transform, seen: &Eval<'_>) {
        let Some(requirements) = transform.envelope.requirements.as_ref().filter(|_| self.wants_steps())
        else {
            return;
        };
        let reason = explain::first_not_true(seen, &requirements.expr).map(|clause| clause.to_string());
        match &mut self.trace {
            TraceMode::Nothing => {}
            TraceMode::Explanation(explanation) => {
                let (line, text) = (&requirements.line, &requirements.text);
                explanation.text.push_str(&format!(
                    "transform {} does not apply: {}:{}: REQUIREMENTS {text}\n",
                    transform.name, line.source.name, line.number
                ));
                if let Some(reason) = &reason {
                    explanation.text.push_str(&format!("  {reason}\n"));
                }
            }
            TraceMode::Records(steps) => steps.record_skipped(transform, requirements, reason.as_deref()),
        }
    }

    pub(super) fn report_failed(&mut self, failure: &TransformFailure, ad: u64) -> anyhow::Result<()> {
        let key = (failure.line.source.name.clone(), failure.line.number, failure.to_string());
        if self.reported.insert(key.clone()) {
            self.report_note(TransformNote::LeftOut {
                key,
                error: report::problem_from_failure(failure, Status::No),
                ad,
            })?;
        }
        Ok(())
    }

    /// Returns a reporter that does not report notes but keeps them for the caller.
    pub(super) fn with_kept_notes(self) -> Self {
        TransformReporter { kept_notes: Some(Vec::new()), ..self }
    }

    /// Returns the number of notes that are kept for the caller, or `None` if they are reported.
    pub(super) fn note_count(&self) -> Option<usize> {
        self.kept_notes.as_ref().map(Vec::len)
    }

    /// Returns the notes that were kept since the last call.
    pub(super) fn take_notes(&mut self) -> Vec<TransformNote> {
        self.kept_notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reports a note, or keeps it for the caller.
    ///
    /// # Errors
    /// Returns an error for a malformed ad in strict mode.
    pub(super) fn report_note(&mut self, note: TransformNote) -> anyhow::Result<()> {
        if let Some(kept) = &mut self.kept_notes {
            kept.push(note);
            return Ok(());
        }
        let error = match note {
            TransformNote::Malformed(error) if self.strict => {
                return Err(malformed_ad_problem(&error, &self.input).into());
            }
            TransformNote::Malformed(error) => {
                self.malformed += 1;
                if self.malformed <= MAX_REPORTED_AD_ERRORS {
                    report_ad_error(&error, &self.input, self.program);
                }
                return Ok(());
            }
            TransformNote::Problem { error, .. } => error,
            TransformNote::LeftOut { error, ad, .. } => error.context(format!("ad {ad} is skipped")),
        };
        self.program.report(&error);
        Ok(())
    }

    /// Reports a note that another reporter has kept, unless it was reported before. `lines` and `ads` are the numbers of lines
    /// and ads before the portion of that reporter.
    ///
    /// # Errors
    /// Returns an error for a malformed ad in strict mode.
    pub(super) fn add_notes(&mut self, mut note: TransformNote, lines: u64, ads: u64) -> anyhow::Result<()> {
        let is_new = match &mut note {
            TransformNote::Malformed(error) => {
                error.line += lines;
                true
            }
            TransformNote::Problem { key, undefined, .. } => {
                undefined.is_none_or(|place| self.undefined.insert(place))
                    && self.reported.len() < MAX_REPORTED_PROBLEMS
                    && self.reported.insert(key.clone())
            }
            TransformNote::LeftOut { key, ad, .. } => {
                *ad += ads;
                self.reported.insert(key.clone())
            }
        };
        if is_new { self.report_note(note) } else { Ok(()) }
    }

    /// Prints the recorded steps and the changes of an ad.
    pub(super) fn print_explanation(&mut self, ad: u64, difference: Option<&AdDifference>) {
        let explanation = match &mut self.trace {
            TraceMode::Explanation(explanation) => std::mem::take(&mut explanation.text),
            TraceMode::Nothing | TraceMode::Records(_) => String::new(),
        };
        let text = explanation + &difference.map(ToString::to_string).unwrap_or_default();
        if !text.is_empty() {
            self.program.write_stderr(&format!("ad {ad}\n{text}"));
        }
    }

    pub(super) fn take_steps(&mut self) -> Option<Vec<serde_json::Value>> {
        match &mut self.trace {
            TraceMode::Records(steps) => Some(std::mem::take(&mut steps.records)),
            TraceMode::Nothing | TraceMode::Explanation(_) => None,
        }
    }
}

impl Observer for TransformReporter<'_> {
    fn wants_steps(&self) -> bool {
        !matches!(self.trace, TraceMode::Nothing)
    }

    fn wants_undefined_reason(&self, line: &RuleLine) -> bool {
        self.wants_steps()
            || (self.reported.len() < MAX_REPORTED_PROBLEMS && !self.undefined.contains(&line_place(line)))
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        if let TransformEvent::Problem(problem) = &event {
            let key = (line.source.name.clone(), line.number, problem.kind.to_string());
            let is_undefined = matches!(problem.kind, ProblemKind::Undefined { .. });
            let undefined = is_undefined.then(|| line_place(line));
            self.undefined.extend(undefined);
            self.broken += usize::from(problem.kind.is_failure());
            if self.reported.len() < MAX_REPORTED_PROBLEMS && self.reported.insert(key.clone()) {
                let error = report::statement_problem(line, problem, Status::No);
                // `report_note` fails only for malformed ads.
                let _ = self.report_note(TransformNote::Problem { key, undefined, error });
            }
        }
        match &mut self.trace {
            TraceMode::Nothing => {}
            TraceMode::Explanation(explanation) => explanation.on_event(line, event),
            TraceMode::Records(steps) => steps.on_event(line, event),
        }
    }
}

/// Returns the identification of a line.
fn line_place(line: &RuleLine) -> SourceLine {
    (std::sync::Arc::as_ptr(&line.source).addr(), line.number)
}

/// Maximum number of distinct problems that are reported, because each of a million ads may have another one.
const MAX_REPORTED_PROBLEMS: usize = 1000;
