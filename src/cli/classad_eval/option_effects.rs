//! Refusal of options that have no effect together with the other options of the command line.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::operands;
use super::options::ClassadEvalCli;
use crate::cli::common::Problem;

/// Options that have no effect in certain circumstances.
struct IneffectiveOptions {
    /// Circumstances, such as `with --count`.
    circumstances: &'static str,
    /// Identifiers of the options; `expression` is an operand that is an expression.
    options: &'static [&'static str],
    /// Reason why the options have no effect.
    reason: &'static str,
}

/// Options on the command line.
struct GivenOptions<'a> {
    matches: &'a ArgMatches,
    /// True if an operand is an expression, and not an ad or an assignment.
    has_expression: bool,
}

const COLUMNS: [&str; 3] = ["autoformat", "format", "print_format"];
const AGGREGATES: [&str; 4] = ["sum", "avg", "min", "max"];

impl GivenOptions<'_> {
    fn has(&self, option: &str) -> bool {
        match option {
            "expression" => self.has_expression,
            option => self.matches.value_source(option) == Some(ValueSource::CommandLine),
        }
    }

    fn has_any(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.has(option))
    }

    /// Returns true if an expression is evaluated for the ads of a stream.
    fn evaluates_stream(&self) -> bool {
        let expressions = ["expression", "constraint", "sort", "count_by", "split_by"];
        self.has_any(&expressions) || self.has_any(&COLUMNS) || self.has_any(&AGGREGATES)
    }

    /// Returns the options that have no effect in the circumstances of this command line.
    fn ineffective_options(&self, is_stream: bool) -> Vec<IneffectiveOptions> {
        let mut found = Vec::new();
        let mut add = |circumstances, options, reason| {
            found.push(IneffectiveOptions { circumstances, options, reason });
        };
        if !self.has("sort") {
            add("without --sort", &["reverse"], "nothing is sorted");
        }
        if self.has("match") {
            self.add_for_match(&mut add);
        } else {
            add("without --match", &["summary", "html", "rank"], "no pairs of ads are matched");
            match is_stream {
                true => self.add_for_stream(&mut add),
                false => self.add_for_expressions(&mut add),
            }
        }
        found
    }

    fn add_for_match(&self, add: &mut dyn FnMut(&'static str, &'static [&'static str], &'static str)) {
        let with = "with --match";
        add(with, &["my_file", "target_file"], "MY and TARGET are the two ads of each pair");
        add(with, &["operands"], "--af prints the values of expressions for each pair");
        add(with, &["parse", "refs"], "expressions are evaluated for each pair");
        add(with, &["attributes", "xml", "new", "long"], "the pairs are printed, not their ads");
        add(with, &["unique"], "each pair is printed once");
        if self.has("count") {
            let options = &["explain", "autoformat", "format", "undefined", "sort", "rank", "json", "jsonl"];
            add("with --count", options, "only the number of pairs is printed");
        } else if self.has("explain") {
            let options = &["autoformat", "format", "print_format", "undefined", "sort"];
            add("with --explain", options, "the explanations of the pairs are printed in their order");
        } else if self.has_any(&COLUMNS) {
            add("with columns", &["json", "jsonl"], "columns are printed as text; --csv has a header");
        } else {
            add("with --match without columns", &["sort"], "--rank sorts the pairs; name columns with --af");
            add("without columns", &["undefined"], "it is the text of an undefined value in a column");
        }
    }

    fn add_for_stream(&self, add: &mut dyn FnMut(&'static str, &'static [&'static str], &'static str)) {
        add("for a stream of ads", &["parse", "refs"], "its expressions are evaluated");
        if self.has("count") {
            self.add_for_count(add);
        } else if self.has_any(&AGGREGATES) || self.has("count_by") {
            add("with a table of groups", &["split_by", "print_format"], "only the groups are printed");
            if !self.has("count_by") {
                add("without --count-by", &["limit"], "all ads are in one group");
            }
        } else if self.has("split_by") {
            let options = &["expression", "print_format", "undefined"];
            add("with --split-by", options, "whole ads are written");
        } else if self.has("explain") {
            let options =
                &["autoformat", "format", "print_format", "undefined", "attributes", "xml", "new", "long"];
            add("with --explain", options, "the explanations of expressions are printed");
        } else if self.has("expression") {
            let options =
                &["autoformat", "format", "print_format", "undefined", "attributes", "xml", "new", "long"];
            add("with expressions", options, "only the values of the expressions are printed");
        } else if self.has_any(&COLUMNS) {
            add("with columns", &["attributes"], "it selects attributes of whole ads");
        } else {
            add("without columns", &["undefined"], "it is the text of an undefined value in a column");
        }
        if !self.evaluates_stream() {
            add("without an expression", &["target_file", "strict"], "nothing is evaluated");
        }
    }

    fn add_for_count(&self, add: &mut dyn FnMut(&'static str, &'static [&'static str], &'static str)) {
        let reason = "only the number of results is printed";
        add("with --count", &["sort", "explain", "xml", "new", "long", "json", "jsonl"], reason);
        // With --unique, the number of different results is printed.
        if !self.has("unique") {
            add("with --count", &["autoformat", "format", "undefined", "attributes"], reason);
            if !self.has("exit_status") {
                add("with --count", &["expression"], reason);
            }
        }
    }

    fn add_for_expressions(&self, add: &mut dyn FnMut(&'static str, &'static [&'static str], &'static str)) {
        if self.has("parse") {
            let options = &["my_file", "target_file", "exit_status", "json", "jsonl"];
            add("with --parse", options, "the expressions are not evaluated");
        }
        if self.has("refs") {
            add("with --refs", &["target_file", "exit_status"], "the expressions are not evaluated");
        }
        add("without a stream of ads", &["xml", "new", "long"], "values are printed, not ads");
        add("without a stream of ads", &["undefined"], "it is the text of an undefined value in a column");
        add("without a stream of ads", &["threads"], "expressions are evaluated one after the other");
        if !self.has_any(&["my_file", "target_file"]) {
            add("without a file of ads", &["strict_input"], "no ads are read");
        }
    }
}

/// Returns the name of an option as the user writes it.
fn written_name(option: &str) -> String {
    match option {
        "expression" => "an expression".to_owned(),
        "operands" => "an expression or an assignment".to_owned(),
        "autoformat" => "--af".to_owned(),
        option => format!("--{}", option.replace('_', "-")),
    }
}

/// Refuses options that have no effect together with the other options.
///
/// # Errors
/// Returns an error that names the first such option and the reason.
pub(super) fn refuse_ineffective_options(cli: &ClassadEvalCli, matches: &ArgMatches) -> Result<(), Problem> {
    let is_expression = |text: &OsString| operands::parse_whole_ad(text.as_bytes()).is_none();
    let given = GivenOptions { matches, has_expression: cli.operands.iter().any(is_expression) };
    for IneffectiveOptions { circumstances, options, reason } in
        given.ineffective_options(cli.is_stream(matches))
    {
        if let Some(option) = options.iter().find(|option| given.has(option)) {
            let name = written_name(option);
            return Err(Problem::usage(format!("{name} has no effect {circumstances}: {reason}")));
        }
    }
    Ok(())
}
