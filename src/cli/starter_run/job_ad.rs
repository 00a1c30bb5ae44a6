//! Reading of the job ad and the slot ad.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::Context;

use super::super::common::{
    BYTE_ORDER_MARK, InputKind, OpenInput, Problem, ProgramContext, list_inputs, open_input, open_stdio_pipe,
    refuse_malformed, warn_of_joined_ads, wrong_kind_problem,
};
use crate::classad::stream::{AdForm, AdReader};
use crate::classad::{ClassAd, Dialect};
use crate::os::read_at_most;
use crate::starter::job_source::{self, ParsedJobFile};
use crate::text::plural::counted;

/// Maximum size of a file with the ad of a job or slot, in bytes.
const MAX_JOB_BYTES: u64 = 64 << 20;

/// Text of an input with ads, and its name.
pub(super) struct AdText {
    pub(super) text: Vec<u8>,
    pub(super) name: String,
    /// True if empty lines separate ads, as in queue logs, directories and histories. In a job's own file, empty lines have no
    /// meaning.
    pub(super) is_list: bool,
    /// True if the input began with a byte order mark, which is not part of `text`.
    pub(super) had_byte_order_mark: bool,
}

/// Rules for parsing a job ad.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobAdRules {
    /// True if only the long form is accepted.
    pub(super) lines_only: bool,
    /// True if malformed lines are skipped.
    pub(super) skips_lines: bool,
    /// True if the first malformed line is an error.
    pub(super) strict: bool,
}

/// Reads a whole file or directory, or standard input for `-`.
pub(super) fn read_all(path: &Path, session: &ProgramContext) -> anyhow::Result<AdText> {
    let is_stdin = path == Path::new("-");
    if is_stdin && std::io::stdin().is_terminal() {
        session.write_stderr("reading the job's ad from the terminal; end it with Ctrl-D\n");
    }
    let stdin = open_stdio_pipe().0;
    let files = list_inputs(&[path], session)?;
    let [file] = files.as_slice() else {
        let (reader, name) = open_input(path, stdin, session)?;
        let text = read_at_most(reader, MAX_JOB_BYTES).with_context(|| Problem::cannot_read(&name))?;
        return Ok(AdText { text, name, is_list: true, had_byte_order_mark: false });
    };
    let input = OpenInput::open(file, stdin)?;
    let (name, is_list) = (input.name.clone(), input.kind == InputKind::QueueLog);
    let had_byte_order_mark = input.had_byte_order_mark;
    let text =
        read_at_most(input.into_ads(session)?, MAX_JOB_BYTES).with_context(|| Problem::cannot_read(&name))?;
    Ok(AdText { text, name, is_list, had_byte_order_mark })
}

/// Parses the job ad: in the long form by the rules of the starter or, unless `lines_only` is set, in any other format. With
/// `skips_lines`, malformed lines are skipped, as by 25.14.
///
/// # Errors
/// Returns an error if there is no ad, or if a line is malformed and not skipped.
pub(super) fn read_job_ad(
    AdText { text, name, is_list, had_byte_order_mark }: &AdText,
    JobAdRules { lines_only, skips_lines, strict }: JobAdRules,
    dialect: Dialect,
    session: &ProgramContext,
) -> anyhow::Result<ClassAd> {
    if strict {
        refuse_malformed(text, name, &session.with_dialect(dialect))?;
    }
    let form = session.ad_reader(text.as_slice()).detect().with_context(|| Problem::cannot_read(name))?;
    if !lines_only && (*is_list || form != AdForm::Long) {
        warn_of_joined_ads(text, name, session);
        return read_only_ad(text, name, &session.with_dialect(dialect));
    }
    // In the starter of 25.14, the mark becomes a part of the name of the first attribute.
    let with_mark = (lines_only && *had_byte_order_mark).then(|| [BYTE_ORDER_MARK, text].concat());
    let parsed = job_source::read_job_file(with_mark.as_ref().unwrap_or(text), dialect);
    let ParsedJobFile { ad, bad, lines, parts } = parsed;
    for line in &bad {
        let message = format!("{name}:{}: {}", line.number, line.render());
        if strict {
            return Err(Problem::unreadable(message).into());
        }
        if skips_lines {
            session.warn(&format!("{message}\nthe line is skipped"));
        } else {
            session.report(&Problem::unreadable(message).into());
        }
    }
    // If some of its attributes were missing, the job might not do what the user intends, so a malformed line is an
    // error.
    if !skips_lines && !bad.is_empty() {
        let count = counted(bad.len() as u64, "line");
        let lines: Vec<&[u8]> = bad.iter().map(|bad| bad.line.as_slice()).collect();
        if let Some(problem) = wrong_kind_problem(name, &lines, Some((bad.len() as u64, ad.len()))) {
            return Err(problem.into());
        }
        let problem =
            Problem::unreadable(format!("{name}: {count} of the job ad cannot be read: the job is not run"));
        return Err(problem.hint("--quirks reference skips such lines, as HTCondor does").into());
    }
    if !lines_only {
        warn_of_joined_ads(text, name, session);
    }
    if lines == 0 {
        return Err(Problem::unreadable(format!("{name}: no job ad: the input is empty")).into());
    }
    if parts > 1 {
        let message = format!(
            "{name}: empty lines do not separate ads here: the {parts} parts are read as one ad, as HTCondor does"
        );
        if strict {
            return Err(Problem::unreadable(message).into());
        }
        session.warn(&message);
    }
    Ok(ad)
}

fn read_only_ad(text: &[u8], name: &str, session: &ProgramContext) -> anyhow::Result<ClassAd> {
    let mut reader = session.ad_reader(text);
    let first = read_first_ad(&mut reader, name, "no job ad")?;
    match reader.next_record() {
        Ok(None) => Ok(first),
        _ => Err(Problem::unreadable(format!("{name}: more than one ad; a starter runs one job")).into()),
    }
}

fn read_first_ad(reader: &mut AdReader<&[u8]>, name: &str, missing: &str) -> anyhow::Result<ClassAd> {
    let record = reader.next_record().with_context(|| Problem::cannot_read(name))?;
    let Some(record) = record else {
        return Err(Problem::unreadable(format!("{name}: {missing}: the input is empty")).into());
    };
    match record.errors.iter().find(|error| !error.is_warning) {
        Some(error) => Err(Problem::unreadable(error.message.clone()).at_line(&error.caret(name)).into()),
        None => Ok(record.ad),
    }
}

/// Reads the first ad of a file.
pub(super) fn read_slot_ad(
    path: &Path,
    dialect: Dialect,
    session: &ProgramContext,
) -> anyhow::Result<ClassAd> {
    let AdText { text, name, .. } = read_all(path, session)?;
    warn_of_joined_ads(&text, &name, session);
    let mut reader = session.with_dialect(dialect).ad_reader(text.as_slice());
    read_first_ad(&mut reader, &name, "no slot ad")
}
