//! Warnings about a stream, printed after its end.

use super::expr_reader::type_with_article;
use super::name_coverage::NameCoverage;
use super::stream_plan::StreamPlan;
use crate::classad::{Expr, Value};
use crate::cli::common::ProgramContext;
use crate::text::plural::counted;

/// Warnings about a stream: ads for which the constraint was neither true, false nor undefined, and names that no ad has.
#[derive(Default)]
pub(super) struct StreamDiagnostics {
    count: u64,
    first: Option<(u64, String)>,
    pub(super) name_coverage: NameCoverage,
}

impl StreamDiagnostics {
    /// Adds the warnings about a portion that begins after `lines` lines of the stream.
    pub(super) fn merge_portion(&mut self, portion: StreamDiagnostics, lines: u64) {
        self.count += portion.count;
        self.name_coverage.merge(portion.name_coverage);
        self.first = self.first.take().or(portion.first.map(|(line, what)| (lines + line, what)));
    }

    pub(super) fn record_constraint_value(&mut self, value: Option<&Value>, line: u64) {
        let what = match value {
            Some(value) if value.truth().is_some() || value.is_undefined() => return,
            Some(value) => format!("is {}", type_with_article(value)),
            None => "could not be evaluated".to_owned(),
        };
        self.count += 1;
        self.first.get_or_insert((line, what));
    }

    pub(super) fn report(&self, work: &StreamPlan<'_>, session: &ProgramContext) {
        if !work.cli.output.quiet {
            self.name_coverage.report_missing(work, session);
        }
        if let (Some((line, what)), false) = (&self.first, work.cli.output.quiet) {
            let ads = counted(self.count, "ad");
            let has_time = |expr: &Expr| expr.unparse().to_string().to_ascii_lowercase().contains("abstime(");
            let hint = match work.constraint.as_ref().is_some_and(has_time) {
                true => "\n    hint: attributes with times are numbers: compare them with int(absTime(...))",
                false => "",
            };
            session.warn(&format!(
                "the constraint was neither true nor false for {ads} (skipped): it {what} for the ad at line {line}{hint}"
            ));
        }
    }
}
