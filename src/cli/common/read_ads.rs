//! Reading a few ads whole: what is wrong with each is told, or the end of it.

use std::path::Path;

use super::{Problem, Session, open_input, pipe_ends};
use crate::classad::ClassAd;
use crate::classad::stream::{AdError, AdReader};

/// Reads at most so many ads of a file, or of standard input for `-`.
///
/// # Errors
/// It cannot be read; with `strict` the first thing that is wrong in it.
pub(crate) fn read_ads(
    path: &Path,
    strict: bool,
    most: usize,
    session: &Session,
) -> anyhow::Result<Vec<ClassAd>> {
    let (stdin, _) = pipe_ends();
    let (input, name) = open_input(path, stdin)?;
    let mut reader = AdReader::new(input, None).exact(strict);
    let mut ads = Vec::new();
    while ads.len() < most {
        let record = reader
            .next_ad()
            .map_err(|error| Problem::unreadable(format!("cannot read '{name}'")).caused_by(error))?;
        let Some(record) = record else { break };
        for error in &record.errors {
            let problem = malformed(error, &name);
            if strict {
                return Err(problem.into());
            }
            session.report(&problem.into());
        }
        ads.push(record.ad);
    }
    Ok(ads)
}

/// Refuses what `--strict-input` refuses anywhere, in a text that is read by rules of its own otherwise.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn refuse_malformed(text: &[u8], name: &str) -> anyhow::Result<()> {
    let mut reader = AdReader::new(text, None).exact(true);
    loop {
        let record = reader
            .next_ad()
            .map_err(|error| Problem::unreadable(format!("cannot read '{name}'")).caused_by(error))?;
        match record {
            None => return Ok(()),
            Some(record) => {
                if let Some(error) = record.errors.first() {
                    return Err(malformed(error, name).into());
                }
            }
        }
    }
}

fn malformed(error: &AdError, name: &str) -> Problem {
    let problem = Problem::unreadable(error.message.clone()).at_line(&error.caret(name));
    match error.help {
        Some(help) => problem.hint(help),
        None => problem,
    }
}
