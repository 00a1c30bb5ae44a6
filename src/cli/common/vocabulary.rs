//! Options that have one name, one meaning and one default in all programs, and option names that were removed.

use clap::{Arg, Command, Id};

/// Option that several programs have.
#[derive(Clone, Copy, Debug)]
pub struct CommonOption {
    /// Name of the option without the dashes.
    pub long: &'static str,
    /// Short form of the option, or `None`.
    pub short: Option<char>,
    /// Name of the option's value, or an empty string for a flag.
    pub value: &'static str,
    /// Meaning of the option, including its default.
    pub meaning: &'static str,
}

const fn option(
    long: &'static str,
    short: Option<char>,
    value: &'static str,
    meaning: &'static str,
) -> CommonOption {
    CommonOption { long, short, value, meaning }
}

/// Options of the vocabulary, in the order of the table in the book.
pub const COMMON_OPTIONS: [CommonOption; 45] = [
    option("config-file", None, "FILE", "Read this configuration [default: CONDOR_CONFIG or /etc/condor]"),
    option("param", None, "NAME=VALUE", "Set a parameter, overriding all files; may be repeated"),
    option("no-env", None, "", "Ignore _CONDOR_* environment variables"),
    option("local-name", None, "NAME", "Use the settings of this local name [default: none]"),
    option("ads", None, "FILE", "Read ads from FILE; may be repeated; '-' is standard input"),
    option("slot-ads", None, "FILE", "Read slot ads from FILE"),
    option(
        "from",
        None,
        "FORM",
        "Read ads in this format: long, json, jsonl, xml, new, newl [default: detected]",
    ),
    option("strict-input", None, "", "Stop at the first malformed ad [default: report it and continue]"),
    option("constraint", Some('c'), "EXPR", "Keep ads for which EXPR is true; if repeated, all must be true"),
    option("limit", None, "N", "Stop after N results"),
    option("sort", None, "EXPR", "Sort by EXPR; may be repeated"),
    option("reverse", None, "", "Sort in descending order"),
    option("count-by", None, "EXPR", "Count the ads by the value of EXPR; may be repeated"),
    option("sum", None, "EXPR", "Print the sum of EXPR (for each group of --count-by); may be repeated"),
    option("avg", None, "EXPR", "Print the average of EXPR (for each group of --count-by); may be repeated"),
    option("min", None, "EXPR", "Print the minimum of EXPR (for each group of --count-by); may be repeated"),
    option("max", None, "EXPR", "Print the maximum of EXPR (for each group of --count-by); may be repeated"),
    option("split-by", None, "EXPR DIR", "Write each ad to DIR/VALUE.ads, where VALUE is its value of EXPR"),
    option("af", None, "EXPR", "Print these attributes or expressions of each ad as columns"),
    option("long", Some('l'), "", "Write ads as 'Name = value' lines"),
    option("json", None, "", "Write one JSON array"),
    option("jsonl", None, "", "Write one JSON object per line"),
    option("csv", None, "", "Write rows as CSV (RFC 4180) with a header"),
    option(
        "tsv",
        None,
        "",
        "Write rows separated by tabs with a header; tabs and newlines in values become \\t and \\n",
    ),
    option("null", Some('0'), "", "End each row with NUL instead of newline, as xargs -0 reads it"),
    option("xml", None, "", "Write XML"),
    option("new", None, "", "Write ads in brackets"),
    option("summary", None, "", "Print a summary instead of the details"),
    option("quiet", Some('q'), "", "Print only results and errors"),
    option("color", None, "WHEN", "Use colours: auto, always or never [default: auto]"),
    option(
        "timestamps",
        None,
        "WHEN",
        "Start each line with the time: auto, always or never [default: auto]",
    ),
    option("events", None, "FILE|fd:N", "Append JSON events to FILE or fd:N"),
    option("now", None, "T", "Use T as the current time: seconds since 1970, or a date"),
    option("seed", None, "N", "Use N as the random seed"),
    option("threads", Some('j'), "N", "Use N threads [default: number of CPUs]"),
    option("timeout", None, "SECONDS", "Stop after SECONDS with exit status 124 [default: never]"),
    option("hook-timeout", None, "SECONDS", "Kill a hook that runs longer than SECONDS"),
    option(
        "quirks",
        None,
        "none|reference",
        "With 'reference', imitate HTCondor 25.14 even where it contradicts its manual [default: none]",
    ),
    option("dry-run", Some('n'), "", "Print what would be done, and do nothing"),
    option("explain", None, "", "Print the reasons as well"),
    option("any", None, "", "Exit with 0 if at least one job is accepted [default: if all are]"),
    option("once", None, "", "Stop when there is no more work"),
    option("idle-exit", None, "SECONDS", "Stop when there has been no work for SECONDS"),
    option("watch", None, "SECONDS", "Refresh every SECONDS"),
    option("openmetrics", None, "FILE", "Print metrics for Prometheus, or write them to FILE atomically"),
];

/// Option names that were removed, each with the name that replaces it.
const REMOVED_SPELLINGS: [(&str, &str); 4] =
    [("set-knob", "param"), ("hook-limit", "hook-timeout"), ("jobs", "threads"), ("job-ad", "ads")];

/// Names of options that are prefixes of other options' names. In a program without such an option, its name is not
/// accepted as an abbreviation of the other one.
pub const NAMES_NOT_ABBREVIATIONS: [&str; 23] = [
    "as", "by", "check", "count", "events", "expect", "for", "help", "hook", "id", "idle", "ignore", "json",
    "max", "queue", "reconfig", "route", "set", "slot", "start", "strict", "sum", "time",
];

/// Returns the current name of an option whose name was removed, or `None`.
pub(super) fn present_spelling(name: &[u8]) -> Option<&'static str> {
    REMOVED_SPELLINGS.iter().find(|(old, _)| old.as_bytes() == name).map(|(_, present)| *present)
}

/// True if an option has the meaning that its name has in the vocabulary. These have another meaning: `--explain` of lint, which
/// explains a rule, and `--reverse` of `explain`, which explains slots instead of jobs.
pub fn has_common_meaning(command: &Command, arg: &Arg) -> bool {
    match arg.get_long() {
        Some("explain") => !arg.get_action().takes_values(),
        Some("reverse") => command.get_arguments().any(|other| other.get_long() == Some("sort")),
        _ => true,
    }
}

/// Program whose `--ads` names one job.
const ONE_JOB_PROGRAM: &str = "htc-starter-run";

/// True if the help of an option of a command says more than the vocabulary: the reasons that `--explain` prints, the
/// text that `--events` without a value prints, the single job that the starter reads, or the ad of `--ads` that lint
/// checks instead of a configuration.
pub fn has_own_help(command: &Command, arg: &Arg) -> bool {
    let is_optional = || arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    match arg.get_long() {
        Some("explain") => arg.get_help().is_some(),
        Some("events") => is_optional(),
        Some("ads") => arg.get_id() == "job_ad" || command.get_name() == ONE_JOB_PROGRAM,
        _ => false,
    }
}

/// Gives each option of the vocabulary its common meaning, in the command and its verbs. Additional text of a verb is
/// kept for `--help-all` and the man page.
pub(super) fn apply_shared_option_texts(command: Command) -> Command {
    let others: Vec<Id> = command
        .get_arguments()
        .filter(|arg| !has_common_meaning(&command, arg) || has_own_help(&command, arg))
        .map(|arg| arg.get_id().clone())
        .collect();
    command
        .mut_args(|arg| {
            let Some(common) = COMMON_OPTIONS.iter().find(|common| arg.get_long() == Some(common.long))
            else {
                return arg;
            };
            if others.contains(arg.get_id()) {
                return arg;
            }
            let own = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let details = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
            let details = details.strip_prefix(&own).unwrap_or(&details).trim();
            let notes = [own.as_str(), details];
            let notes: Vec<&str> =
                notes.into_iter().filter(|note| !note.is_empty() && *note != common.meaning).collect();
            let arg = arg.help(common.meaning);
            if notes.is_empty() {
                return arg;
            }
            arg.long_help(format!("{}\n\n{}", common.meaning, notes.join("\n\n")))
        })
        .mut_subcommands(apply_shared_option_texts)
}
