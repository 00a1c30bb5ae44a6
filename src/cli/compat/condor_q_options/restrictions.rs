//! Restrictions of `condor_q`: jobs, clusters, owners and hold codes, and the constraint that combines them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use super::CondorQOptions;
use crate::classad::{Dialect, Expr};
use crate::cli::common::ProgramContext;
use crate::cli::compat::condor_q_refusal::OptionRefusal;
use crate::text::number::integer_prefix;

impl CondorQOptions {
    /// Refuses `-stream-results` with an option that needs all jobs first.
    pub(super) fn refuse_streamed_lists(&self, option: &str, is_refused: bool) -> Result<(), OptionRefusal> {
        match is_refused {
            true => Err(OptionRefusal::conflict(&format!("-stream-results and {option} are incompatible"))),
            false => Ok(()),
        }
    }

    /// Returns the condition that `expr` equals a string. The string is written in the old ClassAd syntax, in which a
    /// backslash is an ordinary byte.
    pub(super) fn string_condition(expr: &str, text: &[u8]) -> Vec<u8> {
        [expr.as_bytes(), b"==\"", &text.replace("\"", "\\\"")[..], b"\""].concat()
    }

    /// Restricts the jobs by the suffix of `-factory`: to cluster ads, or to jobs that are materialized late.
    pub(super) fn restrict_factories(&mut self, suffix: Option<&OsStr>) -> Result<(), OptionRefusal> {
        let (mut clusters, mut late) = (false, false);
        for word in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
            match () {
                () if b"clusters_only".starts_with(word) => clusters = true,
                () if b"late_materialize".starts_with(word) => late = true,
                () => {
                    let word = word.to_str_lossy();
                    return Err(OptionRefusal::new(&format!("unknown option {word} for -factory")));
                }
            }
        }
        self.factory = Some(if clusters || late { (clusters, late) } else { (true, true) });
        Ok(())
    }

    /// Parses the codes of `-hold:CODE,CODE/SUBCODE`.
    pub(super) fn restrict_hold_codes(&mut self, suffix: Option<&OsStr>) {
        let mut codes: Vec<String> = Vec::new();
        for word in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
            let Some((code, used)) = integer_prefix(word) else {
                let word = String::from_utf8_lossy(word);
                self.warnings
                    .push(format!("Warning \"{word}\" is not a hold code and/or subcode. ignoring\n"));
                continue;
            };
            let subcode = word[used..].strip_prefix(b"/").and_then(integer_prefix);
            codes.push(match subcode.filter(|(subcode, _)| *subcode >= 0) {
                Some((subcode, _)) => format!("(HoldReasonCode=={code} && HoldReasonSubCode=={subcode})"),
                None => format!("HoldReasonCode=={code}"),
            });
        }
        if !codes.is_empty() {
            self.all.push(codes.join(" || ").into_bytes());
        }
    }

    /// Adds the restriction of a word without a dash: a job, a cluster or an owner.
    pub(super) fn add_restriction(&mut self, word: &[u8]) {
        match parse_job_id(word) {
            Some(id) => self.ids.push(id),
            None => self.any.push(Self::string_condition("Owner", word)),
        }
    }

    /// Returns the alternative restrictions: a job must satisfy at least one of them. A list of batches for a DAG
    /// includes its jobs.
    fn any_restrictions(&self) -> Vec<Vec<u8>> {
        let mut alternatives = self.any.clone();
        let batches = self.modes.dags || self.modes.batches;
        for (cluster, process) in &self.ids {
            alternatives.push(match process {
                Some(process) => format!("ClusterId == {cluster} && ProcId == {process}").into(),
                None => format!("ClusterId == {cluster}").into(),
            });
            if batches && process.is_none_or(|process| process < 1) {
                alternatives.push(format!("DAGManJobId == {cluster}").into());
                // The condition is guarded, because in the reference it is an error for a job without a
                // batch, so that jobs with later IDs are lost.
                alternatives.push(
                    format!("(JobBatchId isnt undefined && int(split(JobBatchId, \".\")[0]) == {cluster})")
                        .into(),
                );
            }
        }
        alternatives
    }

    /// Returns the whole constraint. A constraint that does not parse selects all ads of a file.
    pub(in crate::cli::compat) fn constraint(&self, session: &ProgramContext) -> Option<Expr> {
        self.constraint_or_error(session).unwrap_or_default()
    }

    /// Returns the whole constraint. Unlike a file, a queue is not queried if the constraint does not parse.
    ///
    /// # Errors
    /// Returns an error if it does not parse, after reporting it.
    pub(in crate::cli::compat) fn constraint_or_error(
        &self,
        session: &ProgramContext,
    ) -> Result<Option<Expr>, ()> {
        let join = |constraints: &[Vec<u8>], separator: &[u8]| -> Vec<u8> {
            let each: Vec<Vec<u8>> =
                constraints.iter().map(|text| [b"(", &text[..], b")"].concat()).collect();
            [b"( ", &each.join(separator)[..], b" )"].concat()
        };
        let mut parts = Vec::new();
        if !self.all.is_empty() {
            parts.push(join(&self.all, b" && "));
        }
        let alternatives = self.any_restrictions();
        if !alternatives.is_empty() {
            parts.push(join(&alternatives, b" || "));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let text = parts.join(&b" && "[..]);
        Expr::parse_with(&text, Dialect::old_syntax()).map(Some).map_err(|_| {
            session.write_stderr(&format!("Invalid constraint: {}\n", String::from_utf8_lossy(&text)));
        })
    }
}

/// Returns the ID of a job, or of a whole cluster (`7`, `7.`, `7.-1`), or `None` if the word is not an ID
/// (proc_id.cpp, `StrIsProcId`).
fn parse_job_id(word: &[u8]) -> Option<(i32, Option<i32>)> {
    let (cluster, used) = integer_prefix(word)?;
    let cluster = i32::try_from(cluster).ok().filter(|cluster| *cluster >= 0)?;
    match word[used..].strip_prefix(b".") {
        None => (used == word.len()).then_some((cluster, None)),
        Some(b"") => Some((cluster, None)),
        Some(process) => {
            let digits = process.strip_prefix(b"-").unwrap_or(process);
            let (number, used) = integer_prefix(digits).filter(|_| digits[0].is_ascii_digit())?;
            let number = i32::try_from(number).ok().filter(|_| used == digits.len())?;
            Some((cluster, Some(number).filter(|_| digits.len() == process.len())))
        }
    }
}
