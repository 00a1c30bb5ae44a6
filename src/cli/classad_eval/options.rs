//! Command line of `htc-classad-eval`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Parser};

use crate::cli::common::{
    ClockOptions, InputOptions, OptionGroup, OutputOptions, QuirksOptions, RowOptions, TimeLimitOptions,
};

#[derive(Parser, Debug)]
pub(super) struct ClassadEvalCli {
    /// Ads, assignments NAME=VALUE and expressions, processed left to right
    #[arg(value_name = "EXPR", allow_negative_numbers = true)]
    pub(super) operands: Vec<OsString>,
    #[command(flatten)]
    pub(super) context: ContextOptions,
    #[command(flatten)]
    pub(super) question: EvaluationOptions,
    #[command(flatten)]
    pub(super) input: InputOptions,
    #[command(flatten)]
    pub(super) stream: StreamOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    #[command(flatten)]
    pub(super) columns: ColumnOptions,
    #[command(flatten)]
    pub(super) rows: RowOptions,
    #[command(flatten)]
    pub(super) clock: ClockOptions,
    #[command(flatten)]
    pub(super) quirks: QuirksOptions,
    #[command(flatten)]
    pub(super) limit: TimeLimitOptions,
}

/// Options for the context in which expressions are evaluated.
#[derive(Args, Debug)]
pub(super) struct ContextOptions {
    /// Use the first ad of FILE as MY
    #[arg(long, alias = "file", value_name = "FILE", action = ArgAction::Append, help_heading = OptionGroup::Evaluation)]
    pub(super) my_file: Vec<PathBuf>,
    /// Use the first ad of FILE as TARGET
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = OptionGroup::Evaluation)]
    pub(super) target_file: Vec<PathBuf>,
    /// Evaluate in strict mode, as with STRICT_CLASSAD_EVALUATION
    #[arg(long, help_heading = OptionGroup::Evaluation, hide_short_help = true)]
    pub(super) strict: bool,
}

/// Options for the evaluation of expressions.
#[derive(Args, Debug, Clone, Copy)]
pub(super) struct EvaluationOptions {
    /// Also print the value of each part, and where each name was found
    #[arg(long, help_heading = OptionGroup::Evaluation)]
    pub(super) explain: bool,
    /// Print the expressions with all parentheses; do not evaluate them
    #[arg(long, help_heading = OptionGroup::Evaluation, conflicts_with_all = ["explain", "refs"], hide_short_help = true)]
    pub(super) parse: bool,
    /// Print the names that the expressions refer to
    #[arg(long, help_heading = OptionGroup::Evaluation, conflicts_with = "explain", hide_short_help = true)]
    pub(super) refs: bool,
    /// Exit with the last value: true or a number other than 0: 0; false or 0: 1; undefined: 4; others: 5
    #[arg(long, short = 'e', help_heading = OptionGroup::Evaluation)]
    pub(super) exit_status: bool,
}

/// Options for a stream of ads.
#[derive(Args, Debug)]
pub(super) struct StreamOptions {
    /// Keep ads for which EXPR is true; if repeated, all must be true
    #[arg(long, short = 'c', value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads)]
    pub(super) constraint: Vec<OsString>,
    /// Match each ad with the ads of FILE and print the pairs
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Ads)]
    pub(super) r#match: Option<PathBuf>,
    /// Print a summary of all pairs (--match --explain) [default: for more than 10]
    #[arg(long, requires_all = ["match", "explain"], help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["rank", "constraint", "limit", "strict", "exit_status"])]
    pub(super) summary: bool,
    /// Write the result of --match --explain, with all clauses, as a web page to FILE
    #[arg(long, value_name = "FILE", requires_all = ["match", "explain"], help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["rank", "constraint", "limit", "strict", "exit_status"])]
    pub(super) html: Option<PathBuf>,
    /// Sort the pairs by Rank, highest first (--match)
    #[arg(long, requires = "match", help_heading = OptionGroup::Ads, hide_short_help = true)]
    pub(super) rank: bool,
    /// Sort by EXPR; may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads)]
    pub(super) sort: Vec<OsString>,
    /// Sort in descending order
    #[arg(long, requires = "sort", help_heading = OptionGroup::Ads)]
    pub(super) reverse: bool,
    /// Write each ad to DIR/VALUE.ads, where VALUE is its value of EXPR
    ///
    /// Files of an earlier run that no ad belongs to are not removed.
    #[arg(long, value_names = ["EXPR", "DIR"], num_args = 2, help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["sort", "unique", "count", "count_by", "autoformat", "format", "attributes", "explain",
                                "match", "xml", "new", "json", "jsonl", "csv", "tsv", "null"])]
    pub(super) split_by: Vec<OsString>,
    /// Stop after N results
    #[arg(long, value_name = "N", help_heading = OptionGroup::Ads)]
    pub(super) limit: Option<u64>,
    /// Use N threads [default: number of CPUs]
    #[arg(long, short = 'j', value_name = "N", help_heading = OptionGroup::Ads, hide_short_help = true)]
    pub(super) threads: Option<std::num::NonZero<usize>>,
    /// Print each result only once
    #[arg(long, help_heading = OptionGroup::Ads, hide_short_help = true)]
    pub(super) unique: bool,
    /// Count the ads by the value of EXPR; may be repeated
    ///
    /// The most frequent value comes first. If repeated, combinations of the values are counted.
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads,
          conflicts_with_all = ["sort", "unique", "count", "autoformat", "format", "attributes", "explain", "match"])]
    pub(super) count_by: Vec<OsString>,
    /// Print the sum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads,
          conflicts_with_all = ["sort", "unique", "count", "autoformat", "format", "attributes", "explain", "match"])]
    pub(super) sum: Vec<OsString>,
    /// Print the average of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["sort", "unique", "count", "autoformat", "format", "attributes", "explain", "match"])]
    pub(super) avg: Vec<OsString>,
    /// Print the minimum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["sort", "unique", "count", "autoformat", "format", "attributes", "explain", "match"])]
    pub(super) min: Vec<OsString>,
    /// Print the maximum of EXPR (for each group of --count-by); may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = OptionGroup::Ads, hide_short_help = true,
          conflicts_with_all = ["sort", "unique", "count", "autoformat", "format", "attributes", "explain", "match"])]
    pub(super) max: Vec<OsString>,
    /// Print only the number of results
    #[arg(long, help_heading = OptionGroup::Ads)]
    pub(super) count: bool,
}

/// Options for the output of each ad.
#[derive(Args, Debug)]
pub(super) struct ColumnOptions {
    /// Suffixes such as -af:jh work as in condor_q.
    #[arg(long = "af", visible_alias = "autoformat", value_name = "EXPR", num_args = 1.., action = ArgAction::Append,
          help_heading = OptionGroup::Output)]
    pub(super) autoformat: Vec<OsString>,
    /// Print EXPR with a printf format; may be repeated
    #[arg(long, short = 'f', value_names = ["FORMAT", "EXPR"], num_args = 2, action = ArgAction::Append,
          allow_hyphen_values = true, help_heading = OptionGroup::Output, hide_short_help = true)]
    pub(super) format: Vec<OsString>,
    /// Print the columns of a print format (SELECT ...), as condor_q -print-format does
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Output, hide_short_help = true,
          conflicts_with_all = ["autoformat", "format", "attributes", "count_by"])]
    pub(super) print_format: Option<PathBuf>,
    /// Print only these attributes
    #[arg(long, value_name = "A,B", action = ArgAction::Append, help_heading = OptionGroup::Output)]
    pub(super) attributes: Vec<OsString>,
    /// Write XML
    #[arg(long, help_heading = OptionGroup::Output, conflicts_with_all = ["long", "json", "jsonl", "new"],
          hide_short_help = true)]
    pub(super) xml: bool,
    /// Write ads in brackets
    #[arg(long, help_heading = OptionGroup::Output, conflicts_with_all = ["long", "json", "jsonl"],
          hide_short_help = true)]
    pub(super) new: bool,
    /// Print STR for undefined values in columns [default: undefined]
    #[arg(long, value_name = "STR", help_heading = OptionGroup::Output, hide_short_help = true)]
    pub(super) undefined: Option<OsString>,
}

impl ClassadEvalCli {
    /// Returns true if ads are read from a stream, because an input or an option that needs a stream is given.
    pub(super) fn is_stream(&self, matches: &ArgMatches) -> bool {
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let stream_options = [
            "ads",
            "constraint",
            "match",
            "sort",
            "limit",
            "unique",
            "count",
            "count_by",
            "autoformat",
            "format",
            "print_format",
            "split_by",
            "sum",
            "avg",
            "min",
            "max",
        ];
        let form = self.output.ad_format().is_some() || self.columns.xml || self.columns.new;
        stream_options.into_iter().any(is_given)
            || is_given("attributes")
            || is_given("from")
            || (form && self.operands.is_empty() && self.context.my_file.is_empty())
    }
}
