//! Where output goes: standard output, or a file whose old content is there until the new one is complete.

use std::io::{self, Write};
use std::path::Path;

use super::stdout::{Stdout, stdout};
use crate::os::NewFile;

/// Where output goes: standard output, or a file.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Standard output.
    Stdout(Stdout),
    /// A file.
    File(NewFile),
}

impl Sink {
    /// Opens a file, or standard output where none is named.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        Ok(match path {
            None => Sink::Stdout(stdout()),
            Some(path) => Sink::File(NewFile::create(path)?),
        })
    }

    /// The output is complete.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            Sink::Stdout(mut stdout) => stdout.flush(),
            Sink::File(file) => file.commit(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(stdout) => stdout.write(text),
            Sink::File(file) => file.file().write(text),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::File(file) => file.file().flush(),
        }
    }
}
