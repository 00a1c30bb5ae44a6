//! Incremental reader of a queue log, including a log that is still being written (`ClassAdLogReader`,
//! `ClassAdLogParser`).

use super::job_queue::JobQueue;
use super::record::{QueueLogRecord, QueueRecords, RecordError};
use htc_base::job::JobId;
use htc_classad::{Dialect, ParseError};

/// Record that the reader skipped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{line}:1: {reason}")]
pub struct BadRecord {
    /// Number of the line in the file; the first is 1.
    pub line: u64,
    /// Reason for skipping the record.
    pub reason: BadRecordReason,
}

/// Reason for skipping a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadRecordReason {
    /// The line is not a valid record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The value is not a valid expression; the attribute keeps its previous value.
    #[error("value of {key}: {error}")]
    Value {
        /// Key of the ad.
        key: JobId,
        /// Syntax error in the value.
        error: ParseError,
    },
}

/// Result of processing a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineOutcome {
    /// The line begins a transaction.
    TransactionBegun,
    /// The line is part of a transaction and takes effect when the transaction ends.
    Pending,
    /// The line has taken effect.
    Applied,
}

/// Maximum number of bad records that are kept; further bad records are only counted.
const MAX_KEPT_BAD_RECORDS: usize = 20;

/// Reader of a queue log in pieces of any size. The queue reflects the last completed transaction.
#[derive(Clone, Debug, Default)]
pub struct QueueLogReader<Q = JobQueue> {
    queue: Q,
    /// Beginning of a line whose end has not been read yet.
    partial_line: Vec<u8>,
    /// Lines of an unfinished transaction.
    pending_lines: Vec<u8>,
    in_transaction: bool,
    /// Number of complete lines read so far.
    line_count: u64,
    /// Number of lines before the first line of the unfinished transaction.
    lines_before_pending: u64,
    header: Option<(i64, i64)>,
    bad_records: Vec<BadRecord>,
    bad_count: u64,
    record_count: u64,
}

impl QueueLogReader {
    /// Creates a reader at the start of a file.
    pub fn new() -> Self {
        QueueLogReader::default()
    }

    /// Sets the dialect of the values. The configuration of the reading program determines the dialect.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.queue.dialect = dialect;
        self
    }
}

impl<Q: QueueRecords> QueueLogReader<Q> {
    /// Creates a reader at the start of a file, for an empty queue.
    pub fn with_queue(queue: Q) -> Self {
        QueueLogReader {
            queue,
            partial_line: Vec::new(),
            pending_lines: Vec::new(),
            in_transaction: false,
            line_count: 0,
            lines_before_pending: 0,
            header: None,
            bad_records: Vec::new(),
            bad_count: 0,
            record_count: 0,
        }
    }

    /// Returns the queue.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Returns the queue, so that the caller can modify it.
    pub fn queue_mut(&mut self) -> &mut Q {
        &mut self.queue
    }

    /// Consumes the reader and returns the queue.
    pub fn into_queue(self) -> Q {
        self.queue
    }

    /// Returns the sequence number and creation time of the file, or `None` before the header is read.
    pub fn header(&self) -> Option<(i64, i64)> {
        self.header
    }

    /// Returns the first bad records and the number of all bad records.
    pub fn bad_records(&self) -> (&[BadRecord], u64) {
        (&self.bad_records, self.bad_count)
    }

    /// Returns the number of records that took effect.
    pub fn record_count(&self) -> u64 {
        self.record_count
    }

    /// Processes the next piece of the log.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if !self.partial_line.is_empty() {
            let Some(end) = memchr::memchr(b'\n', piece) else {
                self.partial_line.extend_from_slice(piece);
                return;
            };
            self.partial_line.extend_from_slice(&piece[..end]);
            let line = std::mem::take(&mut self.partial_line);
            if self.process_line(&line, &[]) == LineOutcome::Pending {
                self.pending_lines.extend_from_slice(&line);
                self.pending_lines.push(b'\n');
            }
            piece = &piece[end + 1..];
        }
        let mut start = 0;
        // Start of the current transaction's lines in this piece. The lines are copied only if the transaction ends in
        // a later piece.
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', piece) {
            if self.process_line(&piece[start..end], &piece[from..start]) == LineOutcome::TransactionBegun {
                from = end + 1;
            }
            start = end + 1;
        }
        if self.in_transaction {
            self.pending_lines.extend_from_slice(&piece[from..start]);
        }
        self.partial_line.extend_from_slice(&piece[start..]);
    }

    /// Processes a line. `before` contains the lines of the same transaction that precede it in the current piece and
    /// are not in `pending_lines`.
    fn process_line(&mut self, line: &[u8], before: &[u8]) -> LineOutcome {
        self.line_count += 1;
        // Only the operation of the line is needed here, because the records of a transaction are parsed when it ends.
        match line.get(..3) {
            Some(b"105") => {
                self.in_transaction = true;
                self.pending_lines.clear();
                self.lines_before_pending = self.line_count;
                return LineOutcome::TransactionBegun;
            }
            Some(b"106") => {
                if std::mem::take(&mut self.in_transaction) {
                    let mut pending = std::mem::take(&mut self.pending_lines);
                    let mut number = self.lines_before_pending;
                    for lines in [&pending, before] {
                        let mut start = 0;
                        for end in memchr::memchr_iter(b'\n', lines) {
                            number += 1;
                            self.apply_record(&lines[start..end], number);
                            start = end + 1;
                        }
                    }
                    pending.clear();
                    self.pending_lines = pending;
                }
            }
            _ if self.in_transaction => return LineOutcome::Pending,
            _ => self.apply_record(line, self.line_count),
        }
        LineOutcome::Applied
    }

    fn apply_record(&mut self, line: &[u8], number: u64) {
        let done = match QueueLogRecord::parse(line) {
            Ok(QueueLogRecord::Header { sequence, created }) => {
                self.header = Some((sequence, created));
                Ok(())
            }
            Ok(record) => {
                let key = match record {
                    QueueLogRecord::Set { key, .. } => key,
                    _ => JobId::QUEUE_LOG_HEADER,
                };
                self.queue.apply_record(record).map_err(|error| BadRecordReason::Value { key, error })
            }
            Err(error) => Err(error.into()),
        };
        match done {
            Ok(()) => self.record_count += 1,
            Err(reason) => {
                self.bad_count += 1;
                if self.bad_records.len() < MAX_KEPT_BAD_RECORDS {
                    self.bad_records.push(BadRecord { line: number, reason });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"107 1 CreationTimestamp 17\n101 0.0 Job Machine\n105 \n101 01.-1 Job Machine\n\
        101 1.0 Job Machine\n103 01.-1 Cmd \"/bin/sh\"\n103 1.0 JobStatus 1\n106 \n\
        105 \n103 1.0 JobStatus 2\n104 01.-1 Cmd\n106 #note\n103 1.0 X 1 +\n103 9.0 X 1\n105 \n102 1.0\n";

    fn queue_of(pieces: &[&[u8]]) -> QueueLogReader {
        let mut reader = QueueLogReader::new();
        for piece in pieces {
            reader.feed(piece);
        }
        reader
    }

    #[test]
    fn values_are_read_in_the_mode_of_the_reader() {
        for strict in [false, true] {
            let mut reader = QueueLogReader::new().with_dialect(Dialect::new_syntax().strict(strict));
            reader.feed(b"101 1.0 Job Machine\n103 1.0 X 010\n");
            let has = reader.queue().job(JobId::new(1, 0)).unwrap().contains("X");
            assert_eq!((has, reader.bad_records().1), if strict { (true, 0) } else { (false, 1) });
        }
    }

    #[test]
    fn transactions_apply_at_their_end_and_bad_records_are_reported() {
        let reader = queue_of(&[LOG]);
        let id = JobId::new(1, 0);
        let job = reader.queue().job(id).unwrap();
        assert_eq!(job.get("JobStatus").unwrap().unparse(), "2");
        assert!(!job.contains("Cmd"));
        assert_eq!(reader.header(), Some((1, 17)));
        let (bad, count) = reader.bad_records();
        assert_eq!(count, 1);
        assert!(bad[0].to_string().starts_with("13:1: value of 1.0"), "{}", bad[0]);
    }

    #[test]
    fn the_queue_does_not_depend_on_the_block_size() {
        let whole = queue_of(&[LOG]);
        for cut in 0..LOG.len() {
            let (a, b) = LOG.split_at(cut);
            let third = queue_of(&[a, &b[..b.len() / 2], &b[b.len() / 2..]]);
            assert_eq!(third.bad_records(), whole.bad_records(), "cut at {cut}");
            assert_eq!(third.record_count(), whole.record_count(), "cut at {cut}");
            let reader = queue_of(&[a, b]);
            assert_eq!(reader.bad_records(), whole.bad_records(), "cut at {cut}");
            assert_eq!(reader.queue().job_ids(), whole.queue().job_ids(), "cut at {cut}");
            let job = reader.queue().job(JobId::new(1, 0));
            assert_eq!(job, whole.queue().job(JobId::new(1, 0)), "cut at {cut}");
        }
    }
}
