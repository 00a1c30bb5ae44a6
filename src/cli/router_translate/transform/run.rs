//! Transforms applied to the ads of a stream.

use std::io::{Read, Write};

use anyhow::Context;

use super::options::Arguments;
use super::out::Out;
use super::watch::{Note, Watch};
use crate::classad::stream::AdReader;
use crate::classad::{ClassAd, Context as Eval};
use crate::cli::common::{Problem, Session as Program};
use crate::cli::transform_report::Difference;
use crate::config::Config;
use crate::os::SharedMaps;
use crate::transform::{Plan, Session, Transform};

/// The work on all ads.
pub(super) struct Run<'a, W> {
    pub(super) program: &'a Program,
    pub(super) arguments: &'a Arguments,
    pub(super) config: Option<&'a Config>,
    pub(super) maps: SharedMaps,
    pub(super) transforms: &'a mut [Transform],
    pub(super) plan: Option<Plan>,
    pub(super) writer: Out,
    pub(super) out: W,
    pub(super) observer: Watch<'a>,
    pub(super) number: u64,
    pub(super) failed: usize,
    pub(super) malformed: usize,
}

impl<W: Write + Send> Run<'_, W> {
    /// Whether what is written and told of an ad depends on no other ad, so that several threads may work.
    pub(super) fn is_independent(&self) -> bool {
        let Arguments { trace, diff, xml, new, output, clock, .. } = self.arguments;
        // Random numbers from a seed follow one another.
        let one_by_one = !(*trace || *diff || *xml || *new || output.json) && clock.seed.is_none();
        one_by_one && self.plan.is_none() && self.transforms.iter().all(Transform::includes_nothing)
    }

    /// Transforms the ads of a stream.
    pub(super) fn all<R: Read>(
        &mut self,
        reader: &mut AdReader<R>,
        session: &mut Session<'_>,
    ) -> anyhow::Result<()> {
        let problem = Problem::cannot_read(&self.observer.input);
        loop {
            let record = match reader.next_ad() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error).context(problem),
            };
            self.malformed += record.errors.len();
            let is_refused = self.arguments.strict_input && !record.errors.is_empty();
            for error in record.errors {
                self.observer.note(Note::Malformed(error))?;
            }
            // Whoever keeps the notes tells why.
            if is_refused {
                return Ok(());
            }
            self.number += 1;
            let mut ad = record.ad;
            self.ad(&mut ad, session)?;
            reader.reuse(ad);
        }
    }

    fn ad(&mut self, ad: &mut ClassAd, session: &mut Session<'_>) -> anyhow::Result<()> {
        match self.plan.take() {
            None => self.apply(ad, session)?,
            Some(plan) => {
                let mut result = Ok(());
                session.each_turn(&plan, |session| {
                    result = self.apply(&mut ad.clone(), session);
                    result.is_ok()
                });
                self.plan = Some(plan);
                result?;
            }
        }
        Ok(())
    }

    /// All transforms on one ad. What fails is told and the ad left out, as a job would not be routed or submitted.
    fn apply(&mut self, ad: &mut ClassAd, session: &mut Session<'_>) -> anyhow::Result<()> {
        let start = session.macros.mark();
        let before = self.arguments.diff.then(|| ad.clone());
        let mut applied = Vec::new();
        let mut failure = None;
        for transform in &*self.transforms {
            if !session.matches(transform, ad) {
                self.observer.skipped(transform, &Eval::new(session.world).my(ad));
                continue;
            }
            self.observer.begins(transform);
            applied.push(&transform.name);
            if let Err(error) = session.apply(transform, ad, &mut self.observer) {
                failure = Some(error);
                break;
            }
        }
        session.macros.rewind(start);
        if let Some(failure) = &failure {
            self.failed += 1;
            self.observer.failed(failure, self.number)?;
        }
        let difference = before.map(|before| Difference::between(&before, ad));
        if !self.writer.is_record() {
            self.observer.tell(self.number, difference.as_ref());
        }
        if failure.is_none() {
            let told = self.observer.take_steps();
            let written = self.writer.write(ad, &applied, told, difference, &mut self.out);
            written.context("cannot write the output")?;
        }
        Ok(())
    }
}
