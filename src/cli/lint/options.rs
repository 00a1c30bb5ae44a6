//! Options that `lint` has in every program.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::common::{OutputOptions, Problem, RowOptions, RowOrderOptions};
use crate::config::lint_rule::LintRule;
use crate::config::target_version::TargetVersion;
use crate::text::similar_names;

/// Format of the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// Human-readable lines.
    Text,
    /// One JSON array.
    Json,
    /// One JSON object per line.
    Jsonl,
    /// SARIF 2.1.0, for code scanning services.
    Sarif,
    /// Workflow commands of GitHub Actions, which annotate the changed lines.
    Github,
}

/// Options of `lint`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LintOptions {
    /// Explain a rule, with an example of the mistake
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    pub explain: Option<LintRule>,
    /// Report only these rules (comma-separated) [default: all]
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = parse_rule)]
    pub select: Vec<LintRule>,
    /// Do not report these rules (comma-separated)
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = parse_rule)]
    pub ignore: Vec<LintRule>,
    /// Check for HTCondor 24.0, 25.0 or 25.14 [default: 25.14]
    #[arg(long = "for", value_name = "VERSION", value_parser = parse_version)]
    pub version: Option<TargetVersion>,
    /// Treat macros that occur in FILE (a script or submit file) as used
    ///
    /// The option may be repeated.
    #[arg(long, value_name = "FILE")]
    pub used_by: Vec<PathBuf>,
    /// Exit with status 1 for notes as well
    #[arg(long)]
    pub strict: bool,
    /// Write text, json, jsonl, sarif or github [default: text]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<LintFormat>,
    /// Report only findings that are not in FILE
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    pub baseline: Option<PathBuf>,
    /// Write the findings to FILE, for --baseline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "tsv", "null", "sort"])]
    pub write_baseline: Option<PathBuf>,
    /// Correct mistakes with one certain correction, and report the rest
    #[arg(long, conflicts_with_all = ["diff", "write_baseline"])]
    pub fix: bool,
    /// Print the corrections as a unified diff, and change nothing
    #[arg(long, conflicts_with_all = ["write_baseline", "csv", "tsv", "null", "sort"])]
    pub diff: bool,
    #[command(flatten)]
    pub rows: RowOptions,
    #[command(flatten)]
    pub order: RowOrderOptions,
}

impl LintOptions {
    /// True if findings of a rule are reported.
    pub(super) fn selects(&self, rule: LintRule) -> bool {
        (self.select.is_empty() || self.select.contains(&rule)) && !self.ignore.contains(&rule)
    }

    /// Returns true if corrections are applied or printed.
    pub(in crate::cli) fn uses_corrections(&self, output: &OutputOptions) -> bool {
        let is_text = matches!(self.format, None | Some(LintFormat::Text | LintFormat::Github));
        let has_rows = self.rows.given_option().is_some();
        self.fix || self.diff || has_rows || output.wants_json() || !is_text
    }

    /// Returns the output format.
    ///
    /// # Errors
    /// Returns an error if options for different formats are given.
    pub(super) fn format(&self, output: &OutputOptions) -> anyhow::Result<LintFormat> {
        let has_rows = self.rows.given_option().or(self.order.given_option());
        match self.format {
            Some(format) if has_rows.is_some() && format != LintFormat::Text => {
                let option = has_rows.unwrap_or_default();
                Err(Problem::usage(format!("{option} cannot be used with this --format")).into())
            }
            Some(_) if self.rows.given_option().is_some() => {
                Err(Problem::usage("--format cannot be used with --csv, --tsv or --null").into())
            }
            Some(_) if output.wants_json() => {
                Err(Problem::usage("--format cannot be used with --json or --jsonl").into())
            }
            Some(format) => Ok(format),
            None if output.jsonl => Ok(LintFormat::Jsonl),
            None if output.json => Ok(LintFormat::Json),
            None => Ok(LintFormat::Text),
        }
    }
}

/// Parses the value of `--for`.
pub(in crate::cli) fn parse_version(text: &str) -> Result<TargetVersion, String> {
    TargetVersion::from_text(text).ok_or_else(|| {
        let known: Vec<&str> = TargetVersion::ALL.iter().map(|version| version.series()).collect();
        format!("unknown version: '{text}'; the versions are {}", known.join(", "))
    })
}

/// Parses the name of a rule.
pub(in crate::cli) fn parse_rule(text: &str) -> Result<LintRule, String> {
    LintRule::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = LintRule::ALL.iter().map(|rule| rule.name()).collect();
        let near = similar_names::nearest(text, names.iter().copied());
        match near {
            Some(near) => format!("lint has no rule '{text}'; did you mean {near}?"),
            None => format!("lint has no rule '{text}'; 'htc-config-dump lint --rules' lists them"),
        }
    })
}
