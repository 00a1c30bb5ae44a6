//! `htc-classad-eval`: ClassAd expressions and streams of ads from a shell.

mod ask;
mod explanation;
mod manual;
mod operands;
mod output;
mod pairs;
mod stream;
mod tool;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, FromArgMatches, Parser};

use super::common::{
    ClockOptions, Compat, InputOptions, OutputOptions, Problem, Program, Session, Status, command,
};

const NAME: &str = "htc-classad-eval";

/// The program.
pub const PROGRAM: Program = Program {
    name: NAME,
    command: || {
        let rare = ["color", "now", "seed", "strict_input"];
        let command = command::<Cli>(NAME, &manual::MANUAL);
        let command = command.mut_arg("ads", |arg| arg.help_heading("Stream"));
        rare.iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide_short_help(true)))
    },
    manual: &manual::MANUAL,
    run,
    compat: &[
        Compat { tool: "classad_eval", run: tool::run },
        Compat { tool: "condor_q", run: super::compat::condor_q::run },
    ],
};

#[derive(Parser, Debug)]
struct Cli {
    /// Ads, assignments NAME=VALUE and expressions, worked off from left to right
    #[arg(value_name = "EXPR", allow_negative_numbers = true)]
    operands: Vec<OsString>,
    #[command(flatten)]
    context: ContextOptions,
    #[command(flatten)]
    question: QuestionOptions,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    stream: StreamOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    columns: ColumnOptions,
    #[command(flatten)]
    clock: ClockOptions,
}

/// What expressions are evaluated in.
#[derive(Args, Debug)]
struct ContextOptions {
    /// Take the first ad of FILE for MY
    #[arg(long, alias = "file", value_name = "FILE", action = ArgAction::Append, help_heading = "Question")]
    my_file: Vec<PathBuf>,
    /// Take the first ad of FILE for TARGET
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = "Question")]
    target_file: Vec<PathBuf>,
    /// Evaluate in strict mode, as with STRICT_CLASSAD_EVALUATION
    #[arg(long, help_heading = "Question", hide_short_help = true)]
    strict: bool,
}

/// What is asked of the expressions.
#[derive(Args, Debug, Clone, Copy)]
struct QuestionOptions {
    /// Show the value of each part, where names were found, and why
    #[arg(long, help_heading = "Question")]
    explain: bool,
    /// Print the expressions with all parentheses instead of evaluating them
    #[arg(long, help_heading = "Question", conflicts_with_all = ["explain", "refs"], hide_short_help = true)]
    parse: bool,
    /// Print the names that the expressions refer to
    #[arg(long, help_heading = "Question", conflicts_with = "explain", hide_short_help = true)]
    refs: bool,
    /// Exit with the last value: true 0, false 1, undefined 4, all else 5
    #[arg(long, short = 'e', help_heading = "Question")]
    exit_status: bool,
}

/// What is done with a stream of ads.
#[derive(Args, Debug)]
struct StreamOptions {
    /// Form of the ads: long, json, jsonl, xml, new, newl [default: found out]
    #[arg(long, value_name = "FORM", help_heading = "Input", value_parser = form, hide_short_help = true)]
    from: Option<crate::classad::stream::Form>,
    /// Keep the ads for which EXPR is true; all of several must be
    #[arg(long, short = 'c', value_name = "EXPR", action = ArgAction::Append, help_heading = "Stream")]
    constraint: Vec<OsString>,
    /// Match each ad with those of FILE and print the pairs
    #[arg(long, value_name = "FILE", help_heading = "Stream")]
    r#match: Option<PathBuf>,
    /// With --match: the best first, by Rank of the ads of --ads
    #[arg(long, requires = "match", help_heading = "Stream", hide_short_help = true)]
    rank: bool,
    /// Sort by EXPR; may be repeated
    #[arg(long, value_name = "EXPR", action = ArgAction::Append, help_heading = "Stream")]
    sort: Vec<OsString>,
    /// Stop after N results
    #[arg(long, value_name = "N", help_heading = "Stream")]
    limit: Option<u64>,
    /// Print equal results once
    #[arg(long, help_heading = "Stream", hide_short_help = true)]
    unique: bool,
    /// Print the number of results only
    #[arg(long, help_heading = "Stream")]
    count: bool,
}

/// What is printed of each ad.
#[derive(Args, Debug)]
struct ColumnOptions {
    /// Print columns, as -af:jh does for condor_q
    #[arg(long, alias = "af", value_name = "EXPR", num_args = 1.., action = ArgAction::Append,
          help_heading = "Output")]
    autoformat: Vec<OsString>,
    /// Print EXPR by a printf format
    #[arg(long, short = 'f', value_names = ["FORMAT", "EXPR"], num_args = 2, action = ArgAction::Append,
          allow_hyphen_values = true, help_heading = "Output", hide_short_help = true)]
    format: Vec<OsString>,
    /// Only these attributes
    #[arg(long, value_name = "A,B", action = ArgAction::Append, help_heading = "Output")]
    attributes: Vec<OsString>,
    /// Write XML
    #[arg(long, help_heading = "Output", conflicts_with_all = ["long", "json", "jsonl", "new"],
          hide_short_help = true)]
    xml: bool,
    /// Write ads in brackets
    #[arg(long, help_heading = "Output", conflicts_with_all = ["long", "json", "jsonl"],
          hide_short_help = true)]
    new: bool,
    /// Print STR where a column is undefined
    #[arg(long, value_name = "STR", help_heading = "Output", hide_short_help = true)]
    undefined: Option<OsString>,
}

fn form(text: &str) -> Result<crate::classad::stream::Form, String> {
    let form = crate::classad::stream::Form::from_name(text);
    form.ok_or_else(|| "expected long, json, jsonl, xml, new or newl".to_owned())
}

impl Cli {
    /// Whether ads are read from a stream: it was named, or something was asked for that only a stream has.
    fn is_stream(&self, matches: &ArgMatches) -> bool {
        let named = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let asked =
            ["ads", "constraint", "match", "sort", "limit", "unique", "count", "autoformat", "format"];
        let form = self.output.format().is_some() || self.columns.xml || self.columns.new;
        asked.into_iter().any(named)
            || named("attributes")
            || named("from")
            || (form && self.operands.is_empty() && self.context.my_file.is_empty())
    }
}

fn run(matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let cli = Cli::from_arg_matches(matches)?;
    if cli.stream.r#match.is_some() {
        return pairs::run(&cli, matches, session);
    }
    if cli.is_stream(matches) {
        return stream::run(&cli, matches, session);
    }
    if cli.operands.is_empty() && cli.context.my_file.is_empty() {
        return Err(Problem::usage("nothing to do")
            .hint("give an expression such as '1 + 1', or a file of ads with --ads FILE")
            .hint(format!("try '{NAME} --help'"))
            .into());
    }
    operands::run(&cli, matches, session)
}
