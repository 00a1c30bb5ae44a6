//! Application of transforms to the ads of a stream.

use std::io::{Read, Write};

use anyhow::Context;

use super::options::TransformArguments;
use super::transform_output::TransformOutput;
use super::transform_reporter::{TransformNote, TransformReporter};
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context as Eval, Truth};
use crate::cli::common::{AdSelection, OutputFindings, Problem, ProgramContext, wrong_kind_of_record};
use crate::cli::transform_report::AdDifference;
use crate::config::Config;
use crate::os::SharedUserMaps;
use crate::transform::{IterationPlan, Transform, TransformSession};

/// State of the transformation of all ads.
pub(super) struct AdTransformer<'a, W> {
    pub(super) program: &'a ProgramContext,
    pub(super) arguments: &'a TransformArguments,
    pub(super) config: Option<&'a Config>,
    pub(super) maps: SharedUserMaps,
    pub(super) transforms: &'a mut [Transform],
    pub(super) plan: Option<IterationPlan>,
    pub(super) selection: AdSelection,
    /// Selected ads, which are kept until all ads have been read and sorted.
    pub(super) waiting: Vec<ClassAd>,
    pub(super) writer: TransformOutput,
    pub(super) out: W,
    pub(super) observer: TransformReporter<'a>,
    pub(super) number: u64,
    /// Findings about the ads that were written in parallel.
    pub(super) found: OutputFindings,
    /// Number of ads that were written in parallel.
    pub(super) written: u64,
    pub(super) failed: usize,
    /// Number of times that a transform was not applied because its REQUIREMENTS were an error.
    pub(super) undecided: usize,
    pub(super) malformed: usize,
    /// Error that the input is not a file of ads, with the number of notes before the error; or `None`.
    pub(super) wrong_kind: Option<(usize, Problem)>,
}

impl<W: Write + Send> AdTransformer<'_, W> {
    /// Returns true if the output and messages for an ad do not depend on other ads, so that several threads can be used.
    pub(super) fn can_run_in_parallel(&self) -> bool {
        let TransformArguments { trace, diff, xml, new, output, clock, .. } = self.arguments;
        // With a seed, random numbers form one sequence over all ads.
        let selects = self.arguments.selection.is_given();
        let one_by_one = !(*trace || *diff || *xml || *new || output.json || selects) && clock.seed.is_none();
        // A TRANSFORM without iteration sets macros that other threads do not have.
        let iterates = self.transforms.iter().any(|transform| transform.envelope.iteration.is_some());
        one_by_one && !iterates && self.transforms.iter().all(Transform::has_no_includes)
    }

    /// Transforms the ads of a stream.
    pub(super) fn transform_all<R: Read>(
        &mut self,
        reader: &mut AdReader<R>,
        session: &mut TransformSession<'_>,
    ) -> anyhow::Result<()> {
        let problem = Problem::cannot_read(&self.observer.input);
        loop {
            let record = match reader.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error).context(problem),
            };
            let malformed = record.errors.iter().filter(|error| !error.is_warning).count();
            self.malformed += malformed + usize::try_from(record.more_errors).unwrap_or(usize::MAX);
            // Text of which nothing can be read as an attribute is not an ad.
            let is_ad = malformed == 0 || !record.ad.is_empty();
            let is_refused = self.arguments.strict_input && !record.errors.is_empty();
            let wrong_kind = (self.number == 0 && malformed > 0)
                .then(|| wrong_kind_of_record(&self.observer.input, &record, true))
                .flatten();
            for error in record.errors {
                self.observer.report_note(TransformNote::Malformed(error))?;
            }
            // The error is already among the reported or kept notes.
            if is_refused {
                return Ok(());
            }
            if let Some(problem) = wrong_kind {
                match self.observer.note_count() {
                    None => return Err(problem.into()),
                    // A thread does not know if the first ad of its portion is the first one of the input, so the error
                    // is kept for the function that adds the portions.
                    Some(count) => self.wrong_kind = Some((count, problem)),
                }
            }
            if !is_ad {
                continue;
            }
            let mut ad = record.ad;
            if self.selection.is_sorted() {
                if self.selection.holds(&ad, session.world) {
                    self.waiting.push(ad);
                }
                continue;
            }
            self.number += 1;
            if self.selection.selects(&ad, session.world) {
                self.transform_ad(&mut ad, session)?;
            }
            if self.selection.is_finished() {
                return Ok(());
            }
            reader.reuse(ad);
        }
    }

    /// Sorts the kept ads after all ads have been read, and transforms them.
    pub(super) fn transform_sorted(&mut self, session: &mut TransformSession<'_>) -> anyhow::Result<()> {
        let mut ads = std::mem::take(&mut self.waiting);
        self.selection.sort_and_limit(&mut ads, |ad| ad, session.world, self.program);
        for mut ad in ads {
            self.number += 1;
            self.transform_ad(&mut ad, session)?;
        }
        Ok(())
    }

    fn transform_ad(&mut self, ad: &mut ClassAd, session: &mut TransformSession<'_>) -> anyhow::Result<()> {
        match self.plan.take() {
            None => self.apply_transforms(ad, session)?,
            Some(plan) => {
                let mut result = Ok(());
                session.run_for_each_item(&plan, |session| {
                    result = self.apply_transforms(&mut ad.clone(), session);
                    result.is_ok()
                });
                self.plan = Some(plan);
                result?;
            }
        }
        Ok(())
    }

    /// Applies all transforms to one ad. If a transform fails, the failure is reported and the ad is skipped, because
    /// such a job would not be routed or submitted either.
    fn apply_transforms(
        &mut self,
        ad: &mut ClassAd,
        session: &mut TransformSession<'_>,
    ) -> anyhow::Result<()> {
        let start = session.macros.mark();
        let before = self.arguments.diff.then(|| ad.clone());
        let mut applied = Vec::new();
        let mut failure = None;
        for transform in &*self.transforms {
            let requirements = session.evaluate_requirements(transform, ad);
            if requirements == Truth::Error {
                self.undecided += 1;
            }
            if requirements != Truth::True {
                self.observer.record_skipped(transform, &Eval::new(session.world).my(ad));
                continue;
            }
            self.observer.begin_transform(transform);
            applied.push(&transform.name);
            if let Err(error) = session.apply(transform, ad, &mut self.observer) {
                failure = Some(error);
                break;
            }
        }
        session.macros.rewind(start);
        if let Some(failure) = &failure {
            self.failed += 1;
            self.observer.report_failed(failure, self.number)?;
        }
        let difference = before.map(|before| AdDifference::between(&before, ad));
        if !self.writer.writes_records() {
            self.observer.print_explanation(self.number, difference.as_ref());
        }
        if failure.is_none() {
            let steps = self.observer.take_steps();
            let result = self.writer.write(ad, &applied, steps, difference, &mut self.out);
            result.context("cannot write the output")?;
        }
        Ok(())
    }
}
