//! Parts that all programs share: command line parsing, common options, exit statuses, messages, colours,
//! tables, progress, and pipes on standard input and output.
//!
//! A program is a [`Program`]: a clap definition, a function, and the condor tools whose names it supports.
//! Its `main` is [`Program::main`], which turns every outcome into one message and one [`Status`].

mod ad_errors;
mod ad_input;
mod color;
mod column_functions;
mod compression;
mod deadline;
mod events;
mod json_line_writer;
mod man;
mod man_verbs;
mod normalise;
mod number_error;
mod option_values;
mod options;
mod output_target;
mod print_format;
mod print_format_language;
mod print_mask;
mod problem;
mod program;
mod program_context;
mod program_main;
mod progress;
mod read_ads;
mod rows;
mod scenario;
mod status;
mod stdio_pipe;
mod stdout;
mod table;
mod user_maps;
mod vocabulary;

pub(crate) use ad_errors::{AdErrorReporter, render_ad_warning, report_ad_error};
pub(crate) use ad_input::{InputKind, OpenInput, is_not_found, list_inputs, open_input, read_queue_log};
pub use color::{Painter, StyleChoice};
pub(crate) use column_functions::{ColumnFunction, FunctionSettings, memory};
pub(crate) use deadline::{exit_at_deadline, time_is_over};
pub(crate) use events::finish_events;
pub use events::stderr_outlet;
pub(crate) use json_line_writer::JsonLineWriter;
pub use man::man_page;
pub use man_verbs::verb_pages;
pub use normalise::normalise;
pub use option_values::EventTarget;
pub(crate) use option_values::{parse_assignment, parse_event_target, parse_seconds};
pub use options::{
    AdFormat, ClockOptions, ConfigOptions, EventsOptions, InputOptions, LogLineOptions, OutputOptions,
    QuirksOptions, TimeLimitOptions,
};
pub(crate) use output_target::OutputTarget;
pub(crate) use print_format_language::{
    Aggregation, GroupKey, HeadFoot, PrintFormat, RowSyntax, add_appended_columns,
};
pub use print_mask::{BadColumn, PrintMask, RenderedRow};
pub(crate) use print_mask::{ColumnFlags, ColumnSpec, Separators};
pub use problem::Problem;
pub(crate) use problem::{exit_status_of, is_broken_pipe, is_missing_config, malformed_ad_problem};
pub use program::{CLASSAD_PARAMETERS_NOTE, CompatTool, Example, Manual, Program, program_command};
pub use program_context::{ProgramContext, shorten_message};
pub use progress::Progress;
pub(crate) use read_ads::{AdStream, read_ads, refuse_malformed};
pub use rows::RowOptions;
pub(crate) use rows::{RowForm, render_objects};
pub(crate) use scenario::{find_param_line, read_jobs, read_scenario, scenario_problem};
pub use status::Status;
pub(crate) use stdio_pipe::write_to_stdout;
pub use stdio_pipe::{PipedStdin, PipedStdout, open_stdio_pipe};
pub(crate) use stdout::exit_when_reader_is_gone;
pub use stdout::{ProgramStdout, stdout};
pub use table::render_table;
pub(crate) use user_maps::tool_user_maps;
pub use vocabulary::{COMMON_OPTIONS, CommonOption, vocabulary_table};
