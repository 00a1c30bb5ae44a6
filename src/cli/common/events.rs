//! Opening the target of `--events`, and the style of log lines.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use anyhow::Context;

use super::option_values::EventTarget;
use super::{LogLineOptions, Painter, Problem, Status, StyleChoice};
use crate::os::LineOutput;
use crate::runner::events::{EventStream, EventTone, LineStyle};
use crate::text::calendar::CivilTime;

impl EventTarget {
    /// Opens the target of JSON events. A file is created if necessary and appended to; an open descriptor is duplicated. Writing
    /// never waits for a reader.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened for appending, or the descriptor is not open for writing.
    pub fn open(&self) -> anyhow::Result<LineOutput> {
        match self {
            EventTarget::Descriptor(number) => LineOutput::from_descriptor_number(*number)
                .with_context(|| Problem::usage(format!("cannot write events to descriptor {number}"))),
            EventTarget::File(path) => LineOutput::open(path)
                .with_context(|| Problem::usage(format!("cannot write events to '{}'", path.display()))),
        }
    }
}

/// Ends the event stream and returns the exit status of the run. If some events could not be written, a successful run
/// is treated as failed; any other status is unchanged. The stream has already reported the write error.
pub(crate) fn finish_events(stream: EventStream, status: Status) -> Status {
    let written = stream.finish();
    match status {
        Status::Done | Status::No if !written => Status::Failed,
        status => status,
    }
}

/// Opens standard error for log lines; returns `None` if it is closed.
pub fn stderr_outlet() -> Option<LineOutput> {
    LineOutput::from_descriptor(std::io::stderr().as_fd()).ok()
}

impl LogLineOptions {
    /// Returns the style of lines on standard error.
    pub(crate) fn line_style(&self, color: StyleChoice) -> LineStyle {
        let painter = Painter::stderr(color);
        let wants_time = match self.timestamps {
            StyleChoice::Always => true,
            StyleChoice::Never => false,
            StyleChoice::Auto => std::io::stderr().is_terminal(),
        };
        let time = |epoch: f64| {
            let seconds = epoch.floor() as i64;
            let (offset, _) = crate::os::local_utc_offset(seconds);
            let now = CivilTime::from_seconds(seconds, i64::from(offset));
            format!("{:02}:{:02}:{:02}", now.hour, now.minute, now.second)
        };
        let paint = move |tone: EventTone, line: &str| match tone {
            EventTone::Plain => line.to_owned(),
            EventTone::Success => painter.good(line).to_string(),
            EventTone::Failure => painter.bad(line).to_string(),
            EventTone::Warning => painter.warn(line).to_string(),
        };
        LineStyle {
            time: wants_time.then(|| Box::new(time) as Box<dyn Fn(f64) -> String>),
            paint: painter.is_enabled().then(|| Box::new(paint) as Box<dyn Fn(EventTone, &str) -> String>),
        }
    }
}
