//! Environment variables that options add to a call (`--env`).

use bstr::BString;

use crate::cli::common::Problem;

/// Parses the values of `--env`.
pub(super) fn parse_variables(texts: &[String]) -> anyhow::Result<Vec<(BString, BString)>> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
            _ => Err(Problem::usage(format!("--env {text}: expected NAME=VALUE")).into()),
        })
        .collect()
}
