//! Explanations of matches in all programs: as a screen of text, as JSON, or as an HTML page.

mod by_slot;
mod html;
mod parallel_input;
mod screen;
mod summary;

use std::path::Path;

use serde::Serialize;

pub(super) use parallel_input::{BatchDiagnostics, LongJobStream, MAX_GROUPS};

use crate::cli::common::{OutputOptions, Problem, RowOptions, Status, write_report_file, write_to_stdout};
use crate::why::matching::Analysis;

/// Report about an analysis.
pub(super) struct ExplanationReport<'a> {
    /// Form of the output.
    pub(super) output: &'a OutputOptions,
    /// Options for separated rows.
    pub(super) rows: RowOptions,
    /// True if slots are explained, not jobs.
    pub(super) by_slot: bool,
    /// File of the page to write, or `None`.
    pub(super) html: Option<&'a Path>,
    /// True if the exit status is 0 as soon as one job has a slot (`--any`).
    pub(super) any: bool,
}

/// Keys of the explanation of a kind of jobs.
const JOB_GROUP_KEYS: [&str; 7] =
    ["first", "last", "jobs", "slots", "accepting_slots", "causes", "suggestions"];

/// Keys of the explanation of a kind of slots.
const SLOT_GROUP_KEYS: [&str; 5] = ["first", "slots", "jobs", "accepted_jobs", "causes"];

/// Returns a summary, at most one screen long, of the jobs that the fewest slots accept.
pub(super) fn summary_text(analysis: &Analysis<'_>) -> String {
    summary::text(analysis)
}

impl ExplanationReport<'_> {
    /// Prints the report. The exit status is 0 if every job has a slot or, with `--any`, if a job has one.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub(super) fn print(&self, analysis: &Analysis<'_>) -> anyhow::Result<Status> {
        let jobs = analysis.job_groups();
        let has_rows = self.output.wants_json() || self.rows.report_form().is_some();
        let has_page_on_stdout = self.html == Some(Path::new("-"));
        if has_page_on_stdout && has_rows {
            return Err(Problem::usage("the page of --html - and rows are both for standard output").into());
        }
        let text = match (has_rows, self.by_slot) {
            (true, false) => {
                let rows: Vec<_> = (0..jobs.len()).map(|at| analysis.explain_jobs(at)).collect();
                self.render_rows(&rows, &JOB_GROUP_KEYS)?
            }
            (true, true) => {
                let slots = 0..analysis.slot_groups().len();
                let rows: Vec<_> = slots.map(|at| analysis.explain_slots(at)).collect();
                self.render_rows(&rows, &SLOT_GROUP_KEYS)?
            }
            (false, true) => by_slot::text(analysis).into_bytes(),
            (false, false) => summary::text(analysis).into_bytes(),
        };
        if let Some(path) = self.html {
            write_report_file(path, html::page(analysis).as_bytes())?;
        }
        if !has_page_on_stdout {
            write_to_stdout(text)?;
        }
        let mut has_slot = jobs.iter().map(|group| group.accepting_slots > 0);
        let is_yes = if self.any { has_slot.any(|has| has) } else { has_slot.all(|has| has) };
        Ok(if is_yes { Status::Done } else { Status::No })
    }

    /// Formats rows as JSON or in a separated form. `keys` are those of the header if there are no rows.
    fn render_rows<Row: Serialize>(&self, rows: &[Row], keys: &[&str]) -> anyhow::Result<Vec<u8>> {
        match self.output.render_json(rows)? {
            Some(text) => Ok(text.into_bytes()),
            None => Ok(self.rows.render(rows, keys)?.unwrap_or_default()),
        }
    }
}
