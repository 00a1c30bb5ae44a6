//! What is odd about a stream and is told when it has ended.

use super::unknown::Met;
use super::work::Work;
use crate::classad::Value;
use crate::cli::common::Session;

/// What is odd about a stream: ads for which the constraint was neither true nor false nor undefined, names that no ad has.
#[derive(Default)]
pub(super) struct Odd {
    count: u64,
    first: Option<(u64, String)>,
    pub(super) met: Met,
}

impl Odd {
    /// Takes in those of a portion that begins behind so many lines.
    pub(super) fn add(&mut self, portion: Odd, lines: u64) {
        self.count += portion.count;
        self.met.add(portion.met);
        self.first = self.first.take().or(portion.first.map(|(line, what)| (lines + line, what)));
    }

    pub(super) fn note(&mut self, value: Option<&Value>, line: u64) {
        let what = match value {
            Some(value) if value.truth().is_some() || value.is_undefined() => return,
            Some(value) => value.type_name(),
            None => "nothing, since its evaluation failed",
        };
        self.count += 1;
        self.first.get_or_insert_with(|| (line, what.to_owned()));
    }

    pub(super) fn tell(&self, work: &Work<'_>, session: &Session) {
        if !work.cli.output.quiet {
            self.met.tell(&work.asked, session);
        }
        if let (Some((line, what)), false) = (&self.first, work.cli.output.quiet) {
            let ads = if self.count == 1 { "1 ad".to_owned() } else { format!("{} ads", self.count) };
            session.warn(&format!(
                "the constraint was no truth value for {ads}, which were left out: {what} for that of line {line}"
            ));
        }
    }
}
