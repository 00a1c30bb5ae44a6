//! Opening what `--events` names.

use std::os::fd::AsFd;

use anyhow::Context;

use super::Problem;
use super::values::EventsTo;
use crate::os::Outlet;

impl EventsTo {
    /// Opens the place JSON events are written to: a file is appended to and made where there is none, an open descriptor is
    /// duplicated. Nobody who reads there is ever waited for.
    ///
    /// # Errors
    /// The file cannot be opened for appending, or the descriptor is not open for writing.
    pub fn open(&self) -> anyhow::Result<Outlet> {
        match self {
            EventsTo::Descriptor(number) => Outlet::numbered(*number)
                .with_context(|| Problem::usage(format!("cannot write events to descriptor {number}"))),
            EventsTo::File(path) => Outlet::open(path)
                .with_context(|| Problem::usage(format!("cannot write events to '{}'", path.display()))),
        }
    }
}

/// Standard error for readable lines; `None` when it is closed.
pub fn standard_error() -> Option<Outlet> {
    Outlet::of(std::io::stderr().as_fd()).ok()
}
