//! Opening what `--events` names, and how lines of runners look.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use anyhow::Context;

use super::values::EventsTo;
use super::{LinesOptions, Painter, Problem, Status, When};
use crate::os::Outlet;
use crate::runner::events::{EventStream, Look, Tone};
use crate::text::calendar::Civil;

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

/// The status of a run whose events end here: that of a failed write where not all of them could be written, which the stream
/// has told. What else the status says of the run itself stays.
pub(crate) fn with_events(stream: EventStream, status: Status) -> Status {
    let written = stream.finish();
    match status {
        Status::Done | Status::No if !written => Status::Failed,
        status => status,
    }
}

/// Standard error for readable lines; `None` when it is closed.
pub fn standard_error() -> Option<Outlet> {
    Outlet::of(std::io::stderr().as_fd()).ok()
}

impl LinesOptions {
    /// How lines on standard error look.
    pub(crate) fn look(&self, color: When) -> Look {
        let painter = Painter::stderr(color);
        let wants_time = match self.timestamps {
            When::Always => true,
            When::Never => false,
            When::Auto => std::io::stderr().is_terminal(),
        };
        let time = |epoch: f64| {
            let seconds = epoch.floor() as i64;
            let (offset, _) = crate::os::local_time(seconds);
            let now = Civil::at(seconds, i64::from(offset));
            format!("{:02}:{:02}:{:02}", now.hour, now.minute, now.second)
        };
        let paint = move |tone: Tone, line: &str| match tone {
            Tone::Plain => line.to_owned(),
            Tone::Good => painter.good(line).to_string(),
            Tone::Bad => painter.bad(line).to_string(),
            Tone::Odd => painter.warn(line).to_string(),
        };
        Look {
            time: wants_time.then(|| Box::new(time) as Box<dyn Fn(f64) -> String>),
            paint: painter.is_on().then(|| Box::new(paint) as Box<dyn Fn(Tone, &str) -> String>),
        }
    }
}
