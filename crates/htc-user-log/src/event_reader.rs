//! Reader of text logs, including logs that are still being written (`ReadUserLog`, `readEvent` of each event).

use std::io::{self, BufRead, Read};

use bstr::{BString, ByteSlice};

use super::JobEvent;
use super::body_parser::split_integer;
use super::event_body::EventBody;
use super::event_time::EventTime;

/// Error while reading an event. The reader continues after the next `...`, or at the next line that begins
/// an event.
#[derive(Debug, thiserror::Error)]
pub enum EventReadError {
    /// The log cannot be read.
    #[error("cannot read the log")]
    Io(#[from] io::Error),
    /// The first line of an event is not valid.
    #[error("{line}:1: expected NUMBER (CLUSTER.PROC.SUBPROC) TIME, found {text:?}")]
    Header {
        /// Line number, from 1.
        line: usize,
        /// Beginning of the line.
        text: BString,
    },
    /// The line `...` at the end of an event is missing: the next event begins before it.
    #[error("{line}:1: an event begins before the previous one ends with '...'")]
    Unclosed {
        /// Line number of the first line of the next event.
        line: usize,
    },
    /// The log ends within an event: the event is still being written, or the log was cut.
    #[error("{line}:1: the log ends in the middle of an event")]
    Unfinished {
        /// Line number of the event's first line.
        line: usize,
    },
}

/// Maximum size of an event in memory, in bytes. A longer event is read to its end and reported as an error.
const MAX_EVENT_BYTES: usize = 64 << 20;

/// Bytes of memory that each line of an event needs in addition to its text.
const LINE_OVERHEAD: usize = size_of::<BString>() + 16;

/// Maximum number of lines whose buffers are kept for the next event.
const MAX_SPARE_LINES: usize = 64;

/// Reader that returns the events of a log in their order.
pub struct EventReader<R> {
    input: R,
    line: usize,
    /// First line of the next event, which was read where `...` was expected. True if the error is still to be
    /// reported.
    early_first_line: Option<(BString, bool)>,
    /// Buffers of the lines of earlier events.
    spare_lines: Vec<BString>,
}

impl<R: BufRead> EventReader<R> {
    /// Creates a reader at the start of a log.
    pub fn new(input: R) -> Self {
        EventReader { input, line: 0, early_first_line: None, spare_lines: Vec::new() }
    }

    fn next_event(&mut self) -> Option<Result<JobEvent, EventReadError>> {
        let mut lines: Vec<BString> = Vec::new();
        let mut first = self.line + 1;
        let mut size = 0;
        match self.early_first_line.take() {
            Some((text, true)) => {
                self.early_first_line = Some((text, false));
                return Some(Err(EventReadError::Unclosed { line: self.line }));
            }
            Some((text, false)) => {
                first = self.line;
                lines.push(text);
            }
            None => {}
        }
        loop {
            let mut text: Vec<u8> = self.spare_lines.pop().unwrap_or_default().into();
            text.clear();
            match self.input.by_ref().take(MAX_EVENT_BYTES as u64 + 1).read_until(b'\n', &mut text) {
                Err(error) => return Some(Err(error.into())),
                Ok(_) if text.len() > MAX_EVENT_BYTES => {
                    let message = format!("line {} is larger than 64 MiB", self.line + 1);
                    return Some(Err(io::Error::new(io::ErrorKind::InvalidData, message).into()));
                }
                Ok(0) if lines.is_empty() => return None,
                Ok(0) => return Some(Err(EventReadError::Unfinished { line: first })),
                Ok(_) => {}
            }
            self.line += 1;
            if !text.ends_with(b"\n") {
                return Some(Err(EventReadError::Unfinished { line: first }));
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
            // The text of an event is indented, or does not look like the start of an event, so this line begins a new
            // event. 25.14 would read it as part of the previous event and lose the new event.
            if !lines.is_empty() && is_event_start(&text) {
                let is_event = lines.first().is_some_and(|text| is_event_start(text));
                self.early_first_line = Some((text.into(), is_event));
                break;
            }
            size += text.len() + LINE_OVERHEAD;
            if size <= MAX_EVENT_BYTES {
                lines.push(text.into());
            }
        }
        let bad = |lines: &[BString]| {
            let text = lines.first().map(|text| text[..text.len().min(80)].into()).unwrap_or_default();
            EventReadError::Header { line: first, text }
        };
        if size > MAX_EVENT_BYTES {
            return Some(Err(bad(&lines)));
        }
        let event = JobEvent::from_lines(&mut lines).ok_or_else(|| bad(&lines));
        if lines.len() <= MAX_SPARE_LINES {
            self.spare_lines.extend(lines);
        }
        Some(event)
    }
}

impl<R: BufRead> Iterator for EventReader<R> {
    type Item = Result<JobEvent, EventReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event()
    }
}

impl JobEvent {
    /// Parses an event from its lines. Lines that do not match the event's kind become [`EventBody::Other`].
    fn from_lines(lines: &mut [BString]) -> Option<JobEvent> {
        let EventHeader { number, cluster, proc, subproc, time, rest } = EventHeader::parse(lines.first()?)?;
        lines[0] = rest;
        let body = EventBody::parse(number, lines)
            .unwrap_or_else(|| EventBody::Other { number, lines: lines.to_vec() });
        Some(JobEvent { number, cluster, proc, subproc, time, body })
    }
}

/// First line of an event.
struct EventHeader {
    number: u16,
    cluster: i32,
    proc: i32,
    subproc: i32,
    time: EventTime,
    /// Text after the time.
    rest: BString,
}

impl EventHeader {
    fn parse(line: &[u8]) -> Option<EventHeader> {
        let (number, rest) = split_integer(line)?;
        let rest = rest.strip_prefix(b" (")?;
        let (cluster, rest) = split_integer(rest)?;
        let (proc, rest) = split_integer(rest.strip_prefix(b".")?)?;
        let (subproc, rest) = split_integer(rest.strip_prefix(b".")?)?;
        let rest = rest.strip_prefix(b") ")?;
        let (time, length) = EventTime::parse(rest)?;
        let rest = &rest[length..];
        Some(EventHeader {
            number: u16::try_from(number).ok()?,
            cluster: i32::try_from(cluster).ok()?,
            proc: i32::try_from(proc).ok()?,
            subproc: i32::try_from(subproc).ok()?,
            time,
            rest: rest.strip_prefix(b" ").unwrap_or(rest).into(),
        })
    }
}

/// Returns true if a line begins an event in the form in which events are written: with three digits.
fn is_event_start(line: &[u8]) -> bool {
    let is_number = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    line.get(..3).is_some_and(is_number) && line.get(3) == Some(&b' ') && EventHeader::parse(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_up_to_64_mib_are_read() {
        let first = |length: usize| {
            let start = b"000 (1.000.000) 2026-01-01 00:00:00 Job submitted from host: <127.0.0.1:0>\n\t";
            let log = [&start[..], &vec![b'x'; length], b"\n...\n"].concat();
            EventReader::new(&log[..]).next_event().unwrap().map(|_| ()).map_err(|error| match error {
                EventReadError::Io(error) => error.to_string(),
                error => error.to_string(),
            })
        };
        assert_eq!(first(20 << 20), Ok(()));
        assert_eq!(first(65 << 20), Err("line 2 is larger than 64 MiB".to_owned()));
    }
}
