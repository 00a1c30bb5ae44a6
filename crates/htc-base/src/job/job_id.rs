//! Job ids: `cluster.proc`.

use std::fmt;

use crate::text::number;

/// Id of a job, or of another ad in the queue, which has a key of the same form (reference: `proc.h`, `PROC_ID`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// `ClusterId`: the number of the submission, from 1.
    pub cluster: i32,
    /// `ProcId`: the number of the job within the submission, from 0. `-1` is the cluster ad, `-100` is a job set.
    pub proc: i32,
}

impl JobId {
    /// Key of the header ad of a queue log.
    pub const QUEUE_LOG_HEADER: JobId = JobId { cluster: 0, proc: 0 };

    /// Creates the id `cluster.proc`.
    pub fn new(cluster: i32, proc: i32) -> Self {
        JobId { cluster, proc }
    }

    /// Returns true if the id belongs to a job, and not to a cluster, a job set or the header of the queue log.
    pub fn is_job(self) -> bool {
        self.cluster > 0 && self.proc >= 0
    }

    /// Returns the id of the job's cluster.
    pub fn cluster_id(self) -> Self {
        JobId { cluster: self.cluster, proc: -1 }
    }

    /// Parses a key of a queue log: `12.3`, `012.-1` (the queue log writes clusters with a leading zero), `0.0`.
    pub fn parse_key(text: &[u8]) -> Option<Self> {
        let dot = memchr::memchr(b'.', text)?;
        let whole = |text: &[u8]| {
            let (value, end) = number::integer_prefix(text)?;
            (end == text.len() && !text[0].is_ascii_whitespace()).then(|| i32::try_from(value).ok())?
        };
        Some(JobId { cluster: whole(&text[..dot])?, proc: whole(&text[dot + 1..])? })
    }

    /// Parses user input: `12` and `12.` are clusters, `12.3` is a job. White space or a comma may follow the id (reference:
    /// `StrIsProcId`).
    ///
    /// ```
    /// use htc_base::job::JobId;
    /// assert_eq!(JobId::parse(b"12.3"), Some(JobId::new(12, 3)));
    /// assert_eq!(JobId::parse(b"12"), Some(JobId::new(12, -1)));
    /// assert_eq!(JobId::parse(b"alice"), None);
    /// ```
    pub fn parse(text: &[u8]) -> Option<Self> {
        let ends = |text: &[u8]| text.first().is_none_or(|&byte| byte.is_ascii_whitespace() || byte == b',');
        let (cluster, end) = number::integer_prefix(text)?;
        let cluster = i32::try_from(cluster).ok()?;
        let rest = &text[end..];
        let bare = (cluster >= 0).then_some(JobId { cluster, proc: -1 });
        if ends(rest) {
            return bare;
        }
        let rest = rest.strip_prefix(b".")?;
        if ends(rest) {
            return bare;
        }
        if !matches!(rest[0], b'-' | b'0'..=b'9') {
            return None;
        }
        let (proc, end) = number::integer_prefix(rest)?;
        ends(&rest[end..]).then_some(JobId { cluster, proc: i32::try_from(proc).ok()? })
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.cluster, self.proc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_users_and_queues_write_them() {
        for (text, expected) in [
            ("7", Some((7, -1))),
            ("7.", Some((7, -1))),
            ("7.0", Some((7, 0))),
            ("7.-1", Some((7, -1))),
            ("7.1,", Some((7, 1))),
            ("7.1x", None),
            ("7.x", None),
            ("-7", None),
            ("", None),
            ("99999999999.0", None),
        ] {
            let expected = expected.map(|(cluster, proc)| JobId { cluster, proc });
            assert_eq!(JobId::parse(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(JobId::parse_key(b"012.-1"), Some(JobId::new(12, -1)));
        assert_eq!(JobId::parse_key(b"0.0"), Some(JobId::QUEUE_LOG_HEADER));
        for bad in ["", ".", "1.", ".1", "1.2.3", " 1.2", "1.2 "] {
            assert_eq!(JobId::parse_key(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn ids_sort_by_number() {
        let mut ids = [JobId::new(10, 0), JobId::new(9, 10), JobId::new(9, 2)];
        ids.sort();
        assert_eq!(ids.map(|id| id.to_string()), ["9.2", "9.10", "10.0"]);
    }
}
