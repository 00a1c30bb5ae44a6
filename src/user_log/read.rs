//! Reading text logs, while they are being written too (`ReadUserLog`, `readEvent` of each event).

use std::io::{self, BufRead};

use bstr::{BString, ByteSlice};

use super::JobEvent;
use super::body::Body;
use super::read_body::leading;
use super::time::EventTime;

/// Why an event could not be read. The reader goes on behind the next `...`.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The log cannot be read.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
    /// The first line of an event is none.
    #[error("line {line}: an event begins with NUMBER (CLUSTER.PROC.SUBPROC) TIME, this one with {text:?}")]
    Header {
        /// Number of the line, from 1.
        line: usize,
        /// Its beginning.
        text: BString,
    },
    /// The log ends within an event: it is still being written or was cut.
    #[error("line {line}: the log ends within an event")]
    Unfinished {
        /// Number of the event's first line.
        line: usize,
    },
}

/// The longest event kept in memory, in bytes; what is longer is read to its end and reported as bad.
const LONGEST: usize = 16 << 20;

/// Reads one event after the other.
pub struct EventReader<R> {
    input: R,
    line: usize,
}

impl<R: BufRead> EventReader<R> {
    /// A reader at the start of a log.
    pub fn new(input: R) -> Self {
        EventReader { input, line: 0 }
    }

    fn next_event(&mut self) -> Option<Result<JobEvent, ReadError>> {
        let mut lines: Vec<BString> = Vec::new();
        let mut first = self.line + 1;
        let mut size = 0;
        loop {
            let mut text = Vec::new();
            match self.input.read_until(b'\n', &mut text) {
                Err(error) => return Some(Err(error.into())),
                Ok(0) if lines.is_empty() => return None,
                Ok(0) => return Some(Err(ReadError::Unfinished { line: first })),
                Ok(_) => {}
            }
            self.line += 1;
            if !text.ends_with(b"\n") {
                return Some(Err(ReadError::Unfinished { line: first }));
            }
            text.pop();
            if text.ends_with(b"\r") {
                text.pop();
            }
            if text.starts_with(b"...") {
                break;
            }
            if lines.is_empty() && text.trim().is_empty() {
                first = self.line + 1;
                continue;
            }
            size += text.len();
            if size <= LONGEST {
                lines.push(text.into());
            }
        }
        let bad = |lines: &[BString]| {
            let text = lines.first().map(|text| text[..text.len().min(80)].into()).unwrap_or_default();
            ReadError::Header { line: first, text }
        };
        if size > LONGEST {
            return Some(Err(bad(&lines)));
        }
        Some(JobEvent::from_lines(&mut lines).ok_or_else(|| bad(&lines)))
    }
}

impl<R: BufRead> Iterator for EventReader<R> {
    type Item = Result<JobEvent, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event()
    }
}

impl JobEvent {
    /// Reads an event from its lines. What its kind does not expect makes it [`Body::Other`], which keeps them.
    fn from_lines(lines: &mut [BString]) -> Option<JobEvent> {
        let header = lines.first()?;
        let (number, rest) = leading(header)?;
        let rest = rest.strip_prefix(b" (")?;
        let (cluster, rest) = leading(rest)?;
        let (proc, rest) = leading(rest.strip_prefix(b".")?)?;
        let (subproc, rest) = leading(rest.strip_prefix(b".")?)?;
        let rest = rest.strip_prefix(b") ")?;
        let (time, length) = EventTime::parse(rest)?;
        let body = rest[length..].strip_prefix(b" ").unwrap_or(&rest[length..]).to_vec();
        lines[0] = body.into();
        let number = u16::try_from(number).ok()?;
        let body =
            Body::parse(number, lines).unwrap_or_else(|| Body::Other { number, lines: lines.to_vec() });
        Some(JobEvent {
            number,
            cluster: i32::try_from(cluster).ok()?,
            proc: i32::try_from(proc).ok()?,
            subproc: i32::try_from(subproc).ok()?,
            time,
            body,
        })
    }
}
