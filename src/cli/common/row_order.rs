//! Order and number of the rows of a report.

use clap::Args;
use serde::Serialize;

use super::option_group::OptionGroup;
use super::sort_keys::{SortKeys, parse_expressions};
use super::{Problem, ProgramContext};
use crate::classad::Dialect;
use crate::classad::format::json;
use crate::os::RealWorld;

/// Options that order the rows of a report.
#[derive(Args, Clone, Debug, Default)]
pub struct RowOrderOptions {
    /// The attributes are the keys of --json.
    #[arg(long, value_name = "EXPR", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub sort: Vec<String>,
    /// Sort in descending order
    #[arg(long, requires = "sort", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub reverse: bool,
    /// Stop after N results
    #[arg(long, value_name = "N", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub limit: Option<usize>,
}

impl RowOrderOptions {
    /// Returns the name of the option that was given, or `None`.
    pub(crate) fn given_option(&self) -> Option<&'static str> {
        match self {
            RowOrderOptions { sort, .. } if !sort.is_empty() => Some("--sort"),
            RowOrderOptions { limit: Some(_), .. } => Some("--limit"),
            _ => None,
        }
    }

    /// Refuses `--sort`, `--reverse` and `--limit` for output that has no rows.
    ///
    /// # Errors
    /// Returns an error if one of these options is given.
    pub(crate) fn refuse(&self, output: &str) -> Result<(), Problem> {
        match self.given_option() {
            Some(option) => Err(Problem::usage(format!("{option} has no effect with {output}"))),
            None => Ok(()),
        }
    }

    /// Sorts rows by expressions about their members, and keeps the first rows up to the limit.
    ///
    /// # Errors
    /// Returns an error for a sort key that is not an expression, or a row that has no JSON form.
    pub(crate) fn apply_to_rows<Row: Serialize>(
        &self,
        rows: Vec<Row>,
        session: &ProgramContext,
    ) -> anyhow::Result<Vec<Row>> {
        self.apply(rows, |row| serde_json::to_string(row), session)
    }

    /// Sorts items by expressions about the members of their rows, which `to_json` returns, and keeps the first items up to the
    /// limit.
    ///
    /// # Errors
    /// Returns an error for a sort key that is not an expression, or a row that has no JSON form.
    pub(crate) fn apply<T>(
        &self,
        mut items: Vec<T>,
        to_json: impl Fn(&T) -> serde_json::Result<String>,
        session: &ProgramContext,
    ) -> anyhow::Result<Vec<T>> {
        let keys = SortKeys::new(parse_expressions("--sort", &self.sort)?, self.reverse);
        if !keys.is_empty() {
            let mut rows = Vec::new();
            for item in items {
                rows.push((json::parse(to_json(&item)?, Dialect::json().json_utf8(true))?, item));
            }
            keys.sort(&mut rows, |(ad, _)| ad, &RealWorld::new(), ("row", session));
            items = rows.into_iter().map(|(_, item)| item).collect();
        }
        items.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(items)
    }
}
