//! Standard output, and the behaviour of a program after the reader of standard output has closed the pipe.
//!
//! A program whose exit status is an answer (`lint | head -2 && deploy`) continues: its output is discarded, and the status is
//! the same as with a reader. A plain filter stops at the first write without a reader.

use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the program stops after the reader of standard output has closed the pipe.
static STOPS_WITHOUT_READER: AtomicBool = AtomicBool::new(false);
/// True if the reader of standard output is known to have closed the pipe.
static IS_READER_GONE: AtomicBool = AtomicBool::new(false);

/// Makes the program end at the first write after the reader has closed the pipe: for filters of unlimited input, and for output
/// that is refreshed repeatedly.
pub(crate) fn exit_when_reader_is_gone() {
    STOPS_WITHOUT_READER.store(true, Ordering::Relaxed);
}

/// Standard output of a program.
#[derive(Debug)]
pub struct ProgramStdout {
    inner: io::Stdout,
}

/// Returns standard output. All output of the programs uses this handle.
pub fn stdout() -> ProgramStdout {
    ProgramStdout { inner: io::stdout() }
}

/// Treats a write to a closed pipe as successful, unless the program stops in this case.
fn ignore_closed_pipe(result: io::Result<usize>, length: usize) -> io::Result<usize> {
    match result {
        Err(error)
            if error.kind() == io::ErrorKind::BrokenPipe && !STOPS_WITHOUT_READER.load(Ordering::Relaxed) =>
        {
            IS_READER_GONE.store(true, Ordering::Relaxed);
            Ok(length)
        }
        other => other,
    }
}

impl ProgramStdout {
    fn lock_unless_reader_gone(&self) -> Option<StdoutLock<'static>> {
        (!IS_READER_GONE.load(Ordering::Relaxed)).then(|| self.inner.lock())
    }
}

impl Write for ProgramStdout {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let Some(mut out) = self.lock_unless_reader_gone() else { return Ok(text.len()) };
        ignore_closed_pipe(out.write(text), text.len())
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        let Some(mut out) = self.lock_unless_reader_gone() else { return Ok(()) };
        ignore_closed_pipe(out.write_all(text).map(|()| 0), 0).map(|_| ())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(mut out) = self.lock_unless_reader_gone() else { return Ok(()) };
        ignore_closed_pipe(out.flush().map(|()| 0), 0).map(|_| ())
    }
}

/// Returns the number of lines of the terminal that is standard output, or `None` if it is not a terminal.
pub(crate) fn terminal_height() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(_, terminal_size::Height(lines))| lines)
}

/// Returns the number of columns of the terminal that is standard output, or `None` if it is not a terminal.
pub(crate) fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(terminal_size::Width(columns), _)| columns)
}
