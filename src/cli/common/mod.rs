//! What all programs share: reading the command line, options that mean the same everywhere, exit statuses, messages,
//! colours, tables, progress, and the two ends of a pipe.
//!
//! A program is a [`Program`]: a clap definition, a function, and the names of condor tools it also answers to. Its
//! `main` is [`Program::main`], which turns every outcome into one message and one [`Status`].

mod color;
mod events;
mod json_rows;
mod man;
mod man_verbs;
mod normalise;
mod open;
mod options;
mod patience;
mod pipe;
mod print_format;
mod print_mask;
mod problem;
mod program;
mod progress;
mod read_ads;
mod scenario;
mod session;
mod sink;
mod start;
mod status;
mod stdout;
mod table;
mod user_maps;
mod values;
mod wrong_number;

pub use color::{Painter, When};
pub use events::standard_error;
pub(crate) use events::with_events;
pub(crate) use json_rows::JsonRows;
pub use man::man_page;
pub use man_verbs::verb_pages;
pub use normalise::normalise;
pub(crate) use open::{is_log, open_input, read_log};
pub use options::{
    AdFormat, ClockOptions, ConfigOptions, EventsOptions, InputOptions, LinesOptions, OutputOptions,
    QuirksOptions,
};
pub(crate) use patience::patience;
pub(crate) use pipe::print_out;
pub use pipe::{Input, Output, pipe_ends};
pub use print_mask::{BadColumn, PrintMask, Row};
pub use problem::Problem;
pub(crate) use problem::{is_broken_pipe, is_without_configuration, status_of};
pub use program::{CLASSAD_KNOBS, Compat, Example, Manual, Program, command};
pub use progress::Progress;
pub(crate) use read_ads::{AdStream, malformed, read_ads, refuse_malformed};
pub(crate) use scenario::{in_scenario, line_of_knob, read_jobs, read_scenario};
pub use session::{Session, brief};
pub(crate) use sink::Sink;
pub use status::Status;
pub(crate) use stdout::stop_without_reader;
pub use stdout::{Stdout, stdout};
pub use table::table;
pub(crate) use user_maps::maps_of_tool;
pub use values::EventsTo;
pub(crate) use values::{assignment, events_to, seconds};
