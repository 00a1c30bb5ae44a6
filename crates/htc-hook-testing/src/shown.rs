//! One call: made, judged, looked at for what is wrong.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::call::{Ending, Outcome, call};
use super::case::Case;
use super::facts::facts;
use super::find::find;
use super::finding::Finding;
use super::here::not_done_here;
use super::judge::verdict;
use super::place::Place;
use super::record::Record;
use super::setup::{CallError, Setup};
use super::verdict::Verdict;
use htc_base::process::ChildSpec;
use htc_base::world::World;
use htc_os::Reactor;

/// Everything that one call has shown.
pub struct Shown {
    /// The call as its caller made it.
    pub case: Case,
    /// The call as it is kept.
    pub record: Record,
    /// Where it ran; new for each call.
    pub root: PathBuf,
    /// What came of it.
    pub outcome: Outcome,
    /// What its caller decides.
    pub verdict: Verdict,
    /// The verdict of the other side of `--quirks`.
    pub other: Verdict,
    /// What is wrong with the hook.
    pub findings: Vec<Finding>,
}

impl Shown {
    /// Writes the call below a directory, under the next free number.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, directory: &Path) -> Result<(), CallError> {
        let kept = self.record.write_below(directory);
        kept.map(drop).map_err(|error| CallError::Keep(directory.to_owned(), error))
    }
}

/// A call that has not ended.
pub struct Begun {
    place: Place,
    record: Record,
}

impl Setup {
    /// Makes all ready for a call.
    ///
    /// # Errors
    /// The call cannot be made.
    pub fn begin(&self) -> Result<(Begun, ChildSpec), CallError> {
        let place = self.place()?;
        let environment = self.environment(&place);
        let mut record = Record {
            name: self.case.hook.name().to_owned(),
            hook: Some(self.case.hook),
            argv: std::iter::once(self.path.clone()).chain(self.case.words(self.quirks)).collect(),
            env: environment.entries(),
            stdin: place.case().input(self.quirks),
            ..Record::default()
        };
        record.describe(&self.case);
        let spec = self.child(&place, environment)?;
        record.facts = facts(&spec);
        record.began = Some(self.world.now().epoch_f64());
        Ok((Begun { place, record }, spec))
    }

    /// What comes of a hook that its caller does not run, if it does not.
    pub fn refused(&self) -> Option<Outcome> {
        let reason = self.refusal.clone()?;
        Some(Outcome { ending: Ending::Refused { reason }, took: Duration::ZERO })
    }

    /// Judges a call that has ended.
    pub fn end(&self, begun: Begun, outcome: Outcome) -> Shown {
        let Begun { place, mut record } = begun;
        record.take(&outcome);
        let judged = |quirks| verdict(place.case(), &outcome, &self.path, &*self.world, quirks);
        let mine = judged(self.quirks);
        let other = judged(self.quirks.other());
        let mut findings = find(place.case(), &outcome, &mine);
        findings.extend(not_done_here(place.case(), &mine, &*self.world));
        let (case, root) = (place.case().clone(), place.root().to_owned());
        Shown { case, record, root, outcome, verdict: mine, other, findings }
    }

    /// Makes the call and judges it; the signal that interrupted it, if one did.
    ///
    /// # Errors
    /// The call cannot be made.
    pub fn shown(
        &self,
        reactor: &mut Reactor,
        mut complaint: impl FnMut(&[u8]),
    ) -> Result<Result<Shown, i32>, CallError> {
        let (begun, spec) = self.begin()?;
        if let Some(outcome) = self.refused() {
            return Ok(Ok(self.end(begun, outcome)));
        }
        let outcome = call(reactor, spec, Some(self.patience), &mut complaint)?;
        Ok(outcome.map(|outcome| self.end(begun, outcome)))
    }
}
