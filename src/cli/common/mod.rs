//! What all programs share: reading the command line, options that mean the same everywhere, exit statuses, messages,
//! colours, tables, progress, and the two ends of a pipe.
//!
//! A program is a [`Program`]: a clap definition, a function, and the names of condor tools it also answers to. Its
//! `main` is [`Program::main`], which turns every outcome into one message and one [`Status`].

mod color;
mod events;
mod man;
mod new_file;
mod normalise;
mod options;
mod overwrite;
mod pipe;
mod portions;
mod print_format;
mod print_mask;
mod problem;
mod program;
mod progress;
mod read_ads;
mod status;
mod table;
mod values;

pub use color::{Painter, When};
pub use events::standard_error;
pub use man::man_page;
pub(crate) use new_file::Sink;
pub use normalise::normalise;
pub(crate) use options::open_input;
pub use options::{
    AdFormat, ClockOptions, ConfigOptions, EventsOptions, InputOptions, OutputOptions, QuirksOptions,
};
pub(crate) use overwrite::overwritten;
pub use pipe::{Input, Output, pipe_ends};
pub(crate) use portions::{threads, work_off};
pub use print_mask::{BadColumn, PrintMask, Row};
pub use problem::Problem;
pub(crate) use problem::is_broken_pipe;
pub use program::{CLASSAD_KNOBS, Compat, Example, Manual, Program, Session, brief, command};
pub use progress::Progress;
pub(crate) use read_ads::{read_ads, refuse_malformed};
pub use status::Status;
pub use table::{Align, Column, table};
pub use values::EventsTo;
pub(crate) use values::{assignment, events_to, seconds};
