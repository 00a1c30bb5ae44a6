//! Opening what `--events` names.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;

use super::Problem;
use super::values::EventsTo;

/// The place JSON events are written to: one line, one write, so that a reader never sees half a line.
#[derive(Debug)]
pub struct EventSink {
    to: Sink,
}

#[derive(Debug)]
enum Sink {
    Stdout,
    Stderr,
    File(File),
}

impl EventSink {
    /// Opens it.
    ///
    /// # Errors
    /// The file cannot be opened for appending, or the descriptor is not open.
    pub fn open(to: &EventsTo) -> anyhow::Result<Self> {
        let path = match to {
            EventsTo::Descriptor(1) => return Ok(EventSink { to: Sink::Stdout }),
            EventsTo::Descriptor(2) => return Ok(EventSink { to: Sink::Stderr }),
            // Opening by this name needs no unsafe code; pipes and files can be opened so, sockets cannot.
            EventsTo::Descriptor(number) => PathBuf::from(format!("/proc/self/fd/{number}")),
            EventsTo::File(path) => path.clone(),
        };
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = file.with_context(|| match to {
            EventsTo::Descriptor(number) => {
                Problem::usage(format!("cannot write events to descriptor {number}"))
            }
            EventsTo::File(path) => Problem::usage(format!("cannot write events to '{}'", path.display())),
        })?;
        Ok(EventSink { to: Sink::File(file) })
    }
}

impl Write for EventSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            Sink::Stdout => io::stdout().write(bytes),
            Sink::Stderr => io::stderr().write(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Sink::Stdout => io::stdout().flush(),
            Sink::Stderr => io::stderr().flush(),
            Sink::File(file) => file.flush(),
        }
    }
}
