//! Parts that all programs share: command line parsing, common options, exit statuses, messages, colours,
//! tables, progress, and pipes on standard input and output.
//!
//! A program is a [`Program`]: a clap definition, a function, and the condor tools whose names it supports.
//! Its `main` is [`Program::main`], which turns every outcome into one message and one [`Status`].

mod ad_errors;
mod ad_input;
mod ad_selection;
mod color;
mod column_function_attributes;
mod column_functions;
mod column_source;
mod compression;
mod deadline;
mod events;
mod file_texts;
mod help;
mod json_line_writer;
mod machine_columns;
mod man;
mod man_verbs;
mod normalise;
mod number_error;
mod open_metrics;
mod option_group;
mod option_values;
mod options;
mod output_findings;
mod output_target;
mod print_format;
mod print_format_language;
mod print_format_tokens;
mod print_letters;
mod print_mask;
mod print_row;
mod problem;
mod program;
mod program_context;
mod program_main;
mod progress;
mod read_ads;
mod row_order;
mod rows;
mod scenario;
mod sort_keys;
mod status;
mod stdin_use;
mod stdio_pipe;
mod stdout;
mod table;
mod unused_options;
mod user_maps;
mod value_counts;
mod vocabulary;
mod vocabulary_table;

pub(crate) use ad_errors::{
    AdErrorReporter, MAX_ERROR_MESSAGES, render_ad_warning, report_ad_error, warn_of_joined_ads,
    wrong_kind_of_record, wrong_kind_problem,
};
pub(crate) use ad_input::{
    BYTE_ORDER_MARK, InputKind, InputReader, OpenInput, is_not_found, list_inputs, open_input,
    read_queue_log, report_bad_records,
};
pub(crate) use ad_selection::AdSelection;
pub use ad_selection::AdSelectionOptions;
pub use color::{Painter, StyleChoice};
pub(crate) use column_functions::{ColumnFunction, FunctionSettings, memory};
pub use column_source::BadColumn;
pub(crate) use deadline::{InputWatch, exit_at_deadline, has_timed_out};
pub(crate) use events::finish_events;
pub use events::stderr_outlet;
pub(in crate::cli) use file_texts::{FileTexts, path_to_open};
pub use help::{HelpLength, render_help};
pub(crate) use json_line_writer::JsonLineWriter;
pub use man::man_page;
pub use man_verbs::verb_pages;
pub use normalise::normalise;
pub(crate) use open_metrics::{Metric, MetricKind, OpenMetrics, Sample, write_metrics};
pub use option_group::OptionGroup;
pub use option_values::EventTarget;
pub(crate) use option_values::{parse_assignment, parse_event_target, parse_form, parse_seconds, parse_time};
pub use options::{
    AdFormat, ClockOptions, ConfigOptions, EventsOptions, InputOptions, LogLineOptions, OutputOptions,
    QuirksOptions, TimeLimitOptions,
};
pub(crate) use output_findings::OutputFindings;
pub(crate) use output_target::{OutputTarget, write_report_file};
pub(crate) use print_format_language::{
    Aggregation, GroupKey, PrintFormat, PrintedSections, RowSyntax, add_appended_columns,
};
pub use print_mask::PrintMask;
pub(crate) use print_mask::{ColumnFlags, ColumnSpec, Separators};
pub use print_row::RenderedRow;
pub use problem::Problem;
pub(crate) use problem::{exit_status_of, is_broken_pipe, malformed_ad_problem};
pub use program::{
    CLASSAD_PARAMETERS_NOTE, CompatTool, Example, ExamplePrecondition, Manual, Program, VerbManual,
    program_command,
};
pub use program_context::{ProgramContext, shorten_message};
pub use program_main::RefusedArguments;
pub use progress::Progress;
pub(crate) use read_ads::{
    AdStream, has_unreadable_requirements, mark_requirements, read_ads, refuse_malformed,
};
pub use row_order::RowOrderOptions;
pub use rows::RowOptions;
pub(crate) use rows::{RowForm, render_objects};
pub(crate) use scenario::{
    SimulationEvents, find_param_line, find_scenario_and_events, read_jobs, read_scenario, scenario_problem,
};
pub(crate) use sort_keys::{
    SortKeys, compare_in_reverse, compare_sort_keys, parse_expressions, refuse_file_name, sort_error_warning,
};
pub use status::Status;
pub(crate) use stdin_use::stdin_twice_problem;
pub(crate) use stdio_pipe::write_to_stdout;
pub use stdio_pipe::{PipedStdin, PipedStdout, open_stdio_pipe};
pub use stdout::{ProgramStdout, stdout};
pub(crate) use stdout::{exit_when_reader_is_gone, terminal_height, terminal_width};
pub(crate) use table::TableBuilder;
pub use table::render_table;
pub use unused_options::{NO_VERB, UnusedOptions, hide_unused_options};
pub(crate) use user_maps::tool_user_maps;
pub(crate) use value_counts::{Aggregate, AggregateKind, CountForm, ValueCounts};
pub use vocabulary::{
    COMMON_OPTIONS, CommonOption, NAMES_NOT_ABBREVIATIONS, has_common_meaning, has_own_help,
};
pub use vocabulary_table::{verb_supports, vocabulary_table};
