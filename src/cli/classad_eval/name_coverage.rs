//! Names that no ad of a stream has. Usually they are misspelled.

use super::output;
use super::stream_plan::StreamPlan;
use crate::classad::{AttrName, ClassAd, references};
use crate::cli::common::ProgramContext;
use crate::supported;
use crate::text::{caseless, similar_names};

/// Record of the looked-up names that occurred in an ad, one bit for each, and of all names of the first ad.
#[derive(Clone, Debug, Default)]
pub(super) struct NameCoverage {
    bits: u64,
    ads: u64,
    known: Vec<AttrName>,
}

/// Returns the names that the expressions of the command line and `--attributes` look up in the ads, at most 64.
pub(super) fn looked_up_names(work: &StreamPlan<'_>, columns: &[crate::classad::Expr]) -> Vec<AttrName> {
    let aggregated = work.aggregates.iter().map(|aggregate| &aggregate.expr);
    let exprs =
        work.constraint.iter().chain(&work.sort).chain(&work.count_by).chain(aggregated).chain(columns);
    let operands = work.operands.iter().map(|operand| &operand.expr);
    let mut names: Vec<AttrName> = exprs.chain(operands).flat_map(references::mentioned_attributes).collect();
    names.extend(output::projected_attributes(work.cli));
    names.sort();
    names.dedup();
    names.retain(|name| {
        !caseless::eq(name.as_bytes(), b"CurrentTime") && !work.assigned.contains(name.as_bytes())
    });
    // Names that TARGET has are not looked up in the ads of the stream.
    names.retain(|name| work.target.as_ref().is_none_or(|target| !target.contains(name.as_bytes())));
    names.truncate(64);
    names
}

/// Attributes that every job in a queue or a history has.
const IN_EVERY_JOB: [&str; 11] = [
    "ClusterId",
    "ProcId",
    "Owner",
    "JobStatus",
    "JobUniverse",
    "JobPrio",
    "QDate",
    "Cmd",
    "CompletionDate",
    "EnteredCurrentStatus",
    "RemoteWallClockTime",
];

impl NameCoverage {
    /// Records the names of an ad. `whole` returns all names of the ad, including those that no expression uses.
    pub(super) fn record_ad(
        &mut self,
        asked: &[AttrName],
        ad: &ClassAd,
        whole: impl FnOnce() -> Vec<AttrName>,
    ) {
        self.ads += 1;
        if self.ads == 1 && !asked.is_empty() {
            self.known = whole();
        }
        if self.bits.count_ones() as usize == asked.len() {
            return;
        }
        for (at, name) in asked.iter().enumerate() {
            if self.bits & (1 << at) == 0 && ad.contains(name.as_bytes()) {
                self.bits |= 1 << at;
            }
        }
    }

    /// Adds the record for another portion of the stream.
    pub(super) fn merge(&mut self, other: NameCoverage) {
        self.bits |= other.bits;
        self.ads += other.ads;
        if self.known.is_empty() {
            self.known = other.known;
        }
    }

    /// Reports the looked-up names that no ad had. Ads may lack HTCondor's own attributes, so such an attribute is only
    /// reported if it is a column and every job normally has it.
    pub(super) fn report_missing(&self, work: &StreamPlan<'_>, session: &ProgramContext) {
        let looked_up = &work.looked_up_names;
        let constraint = work.constraint.as_ref().map(references::mentioned_attributes);
        let is_in_constraint = |name: &AttrName| {
            constraint.as_ref().is_some_and(|names| names.iter().any(|known| known == name))
        };
        let missing = (0..).zip(looked_up).filter(|(at, _)| self.bits & (1u64 << at) == 0);
        for (_, name) in missing.filter(|_| self.ads > 0) {
            let text = name.to_string();
            let is_known = supported::find_attribute(name.as_bytes()).is_some();
            let is_expected = IN_EVERY_JOB.iter().any(|known| *name == **known);
            if is_known && !(is_expected && work.column_names.contains(name)) {
                continue;
            }
            let ads =
                if self.ads == 1 { "the ad".to_owned() } else { format!("any of the {} ads", self.ads) };
            // The first ad may have the name in a line without a value, which does not define an attribute. The name
            // must not be suggested as its own correction.
            let known = self.known.iter().filter(|known| *known != name).map(AttrName::as_bytes);
            let others = supported::attribute_entries().map(|row| row.name.as_bytes());
            // Names of one or two letters are similar to many others.
            let similar_name = similar_names::nearest(name.as_bytes(), known)
                .or_else(|| similar_names::nearest(name.as_bytes(), others))
                .filter(|_| text.len() > 2)
                .map(|similar_name| String::from_utf8_lossy(similar_name).into_owned());
            let hint = match similar_name {
                _ if is_known => String::new(),
                _ if text.contains('*') => {
                    "\n    hint: names cannot be patterns: name each attribute".to_owned()
                }
                Some(similar_name) => format!("\n    hint: did you mean {similar_name}?"),
                None if is_in_constraint(name) => {
                    format!("\n    hint: if it is a string, it needs double quotes: \"{text}\"")
                }
                None => String::new(),
            };
            session.warn(&format!("'{text}' is not in {ads}{hint}"));
        }
    }
}
