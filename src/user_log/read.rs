//! Reading text logs, while they are being written too (`ReadUserLog`, `readEvent` of each event).

use std::io::{self, BufRead};

use bstr::{BString, ByteSlice};

use super::body::{Body, Ending, Evicted, Share, Terminated, Transfer, UsageTime};
use super::time::EventTime;
use super::{JobEvent, ResourceTable, Reuse};
use crate::classad::ClassAd;
use crate::text::number;

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

impl Body {
    fn parse(number: u16, lines: &[BString]) -> Option<Body> {
        let first = lines.first()?;
        let rest = &lines[1..];
        let after =
            |prefix: &str| -> Option<BString> { first.strip_prefix(prefix.as_bytes()).map(Into::into) };
        let is = |text: &str| (first.as_slice() == text.as_bytes()).then_some(());
        Some(match number {
            0 if rest.len() <= 2 => {
                let host = after("Job submitted from host: ")?;
                let note = |at: usize| match rest.get(at) {
                    Some(note) => note.strip_prefix(b"    ").map(Into::into),
                    None => Some(BString::default()),
                };
                Body::Submit { host, log_notes: note(0)?, user_notes: note(1)? }
            }
            1 => {
                let host = after("Job executing on host: ")?;
                let slot = rest.first().and_then(|line| line.strip_prefix(b"\tSlotName: "));
                let properties = &rest[usize::from(slot.is_some())..];
                let properties = properties.iter().map(|line| {
                    let (name, value) = line.strip_prefix(b"\t")?.split_once_str(" = ")?;
                    Some((BString::from(name), BString::from(value)))
                });
                Body::Execute {
                    host,
                    slot_name: slot.map(Into::into).unwrap_or_default(),
                    properties: properties.collect::<Option<_>>()?,
                }
            }
            4 => Body::Evicted(Box::new(evicted(first, rest)?)),
            5 => {
                is("Job terminated.")?;
                Body::Terminated(Box::new(terminated(rest)?))
            }
            6 => {
                let (size, _) = leading(&after("Image size of job updated: ")?)?;
                let (mut memory_usage, mut resident, mut proportional) = (None, None, None);
                for line in rest {
                    let (value, label) = leading(line.strip_prefix(b"\t")?)?;
                    let place = match label {
                        b"  -  MemoryUsage of job (MB)" => &mut memory_usage,
                        b"  -  ResidentSetSize of job (KB)" => &mut resident,
                        b"  -  ProportionalSetSize of job (KB)" => &mut proportional,
                        _ => return None,
                    };
                    *place = Some(value);
                }
                Body::ImageSize { size, memory_usage, resident, proportional }
            }
            8 if rest.is_empty() => Body::Generic(first.clone()),
            9 if rest.len() <= 1 => {
                is("Job was aborted.")?;
                Body::Aborted(reason(rest.first())?)
            }
            10 if rest.len() == 1 => {
                is("Job was suspended.")?;
                let count = rest[0].strip_prefix(b"\tNumber of processes actually suspended: ")?;
                Body::Suspended(leading(count)?.0)
            }
            11 if rest.is_empty() => {
                is("Job was unsuspended.")?;
                Body::Unsuspended
            }
            12 if rest.len() == 2 => {
                is("Job was held.")?;
                let (code, subcode) = code(rest[1].strip_prefix(b"\tCode ")?)?;
                Body::Held { reason: reason(rest.first())?, code, subcode }
            }
            13 if rest.len() <= 1 => {
                is("Job was released.")?;
                Body::Released(reason(rest.first())?)
            }
            21 => remote_error(first, rest)?,
            22 if rest.len() == 2 => {
                is("Job disconnected, attempting to reconnect")?;
                let target = rest[1].strip_prefix(b"    Trying to reconnect to ")?;
                let (startd, address) = target.split_once_str(" ")?;
                Body::Disconnected {
                    reason: rest[0].strip_prefix(b"    ")?.into(),
                    startd: startd.into(),
                    address: address.into(),
                }
            }
            23 if rest.len() == 2 => Body::Reconnected {
                startd: after("Job reconnected to ")?,
                startd_address: rest[0].strip_prefix(b"    startd address: ")?.into(),
                starter_address: rest[1].strip_prefix(b"    starter address: ")?.into(),
            },
            24 if rest.len() == 2 => {
                is("Job reconnection failed")?;
                let startd = rest[1].strip_prefix(b"    Can not reconnect to ")?;
                Body::ReconnectFailed {
                    reason: rest[0].strip_prefix(b"    ")?.into(),
                    startd: startd.strip_suffix(b", rescheduling job")?.into(),
                }
            }
            33 if rest.is_empty() => match after("Changing job attribute ") {
                Some(text) => {
                    let (name, text) = text.split_once_str(" from ")?;
                    let (old, value) = text.split_once_str(" to ")?;
                    Body::AttributeUpdate { name: name.into(), old: Some(old.into()), value: value.into() }
                }
                None => {
                    let text = after("Setting job attribute ")?;
                    let (name, value) = text.split_once_str(" to ")?;
                    Body::AttributeUpdate { name: name.into(), old: None, value: value.into() }
                }
            },
            35 if rest.is_empty() => Body::ClusterSubmit { host: after("Cluster submitted from host: ")? },
            28 => {
                is("Job ad information event triggered.")?;
                let mut ad = ClassAd::new();
                for line in rest {
                    ad.insert_line(line).ok()?;
                }
                Body::JobAdInformation(Box::new(ad))
            }
            36 if rest.len() <= 2 => {
                is("Cluster removed")?;
                cluster_remove(rest)?
            }
            41..=45 => Body::Reuse(Reuse::parse(number, lines)?),
            40 if rest.len() <= 1 => {
                let step = Transfer::ALL.iter().find(|(_, text)| text.as_bytes() == first.as_slice())?.0;
                let host = match rest.first() {
                    Some(line) => line.strip_prefix(b"\tTransferring to host: ")?.into(),
                    None => BString::default(),
                };
                Body::Transfer { step, host }
            }
            _ => return None,
        })
    }
}

/// The integer a text begins with and what follows it.
fn leading(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, end) = number::integer_prefix(text)?;
    Some((value, &text[end..]))
}

fn reason(line: Option<&BString>) -> Option<BString> {
    match line {
        Some(line) => line.strip_prefix(b"\t").map(Into::into),
        None => Some(BString::default()),
    }
}

/// `C Subcode S`.
fn code(text: &[u8]) -> Option<(i32, i32)> {
    let (code, rest) = leading(text)?;
    let (subcode, rest) = leading(rest.strip_prefix(b" Subcode ")?)?;
    rest.is_empty().then_some((i32::try_from(code).ok()?, i32::try_from(subcode).ok()?))
}

/// How far a cluster had got, and anything else.
fn cluster_remove(rest: &[BString]) -> Option<Body> {
    let (jobs, text) = leading(rest.first()?.strip_prefix(b"\tMaterialized ")?)?;
    let (items, text) = leading(text.strip_prefix(b" jobs from ")?)?;
    let completion = match text.strip_prefix(b" items.\t")? {
        b"Complete" => 1,
        b"Incomplete" => 0,
        b"Paused" => 2,
        text => leading(text.strip_prefix(b"Error ")?)?.0,
    };
    let small = |number: i64| i32::try_from(number).ok();
    let notes = reason(rest.get(1))?;
    Some(Body::ClusterRemove {
        jobs: small(jobs)?,
        items: small(items)?,
        completion: small(completion)?,
        notes,
    })
}

fn remote_error(first: &[u8], rest: &[BString]) -> Option<Body> {
    let (kind, text) = first.split_once_str(" from ")?;
    let critical = match kind {
        b"Error" => true,
        b"Message" => false,
        _ => return None,
    };
    let (daemon, host) = text.strip_suffix(b":")?.split_once_str(" on ")?;
    let last = rest.last().and_then(|line| code(line.strip_prefix(b"\tCode ")?));
    let message = &rest[..rest.len() - usize::from(last.is_some())];
    let message: Vec<&[u8]> = message.iter().map(|line| line.strip_prefix(b"\t")).collect::<Option<_>>()?;
    let (code, subcode) = last.unwrap_or((0, 0));
    Some(Body::RemoteError {
        critical,
        daemon: daemon.into(),
        host: host.into(),
        message: message.join(&b"\n"[..]).into(),
        code,
        subcode,
    })
}

/// The lines of an event, one taken after the other.
struct Lines<'a>(&'a [BString]);

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn usage(&mut self, label: &str) -> Option<UsageTime> {
        let text = self.next()?.strip_prefix(b"\t\tUsr ")?.strip_suffix(label.as_bytes())?;
        let (user, system) = text.split_once_str(", Sys ")?;
        let seconds = |text: &[u8]| {
            let (days, rest) = leading(text)?;
            let (hours, rest) = leading(rest.strip_prefix(b" ")?)?;
            let (minutes, rest) = leading(rest.strip_prefix(b":")?)?;
            let (seconds, rest) = leading(rest.strip_prefix(b":")?)?;
            rest.is_empty().then_some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
        };
        Some(UsageTime { user: seconds(user)?, system: seconds(system)? })
    }

    fn usages(&mut self, share: &mut Share, which: &str) -> Option<()> {
        share.remote = self.usage(&format!("  -  {which} Remote Usage"))?;
        share.local = self.usage(&format!("  -  {which} Local Usage"))?;
        Some(())
    }

    fn bytes(&mut self, share: &mut Share, which: &str) -> Option<()> {
        let mut one = |label: String| -> Option<f64> {
            let text = self.next()?.strip_prefix(b"\t")?.strip_suffix(label.as_bytes())?;
            text.to_str().ok()?.parse().ok()
        };
        share.sent = one(format!("  -  {which} Bytes Sent By Job"))?;
        share.received = one(format!("  -  {which} Bytes Received By Job"))?;
        Some(())
    }

    fn ending(&mut self) -> Option<Ending> {
        let line = self.next()?;
        if let Some(text) = line.strip_prefix(b"\t(1) Normal termination (return value ") {
            return Some(Ending::Exited(i32::try_from(leading(text)?.0).ok()?));
        }
        let text = line.strip_prefix(b"\t(0) Abnormal termination (signal ")?;
        let signal = i32::try_from(leading(text)?.0).ok()?;
        let core = match self.next()? {
            b"\t(0) No core file" => None,
            line => Some(line.strip_prefix(b"\t(1) Corefile in: ")?.into()),
        };
        Some(Ending::Signalled(signal, core))
    }

    fn resources(self) -> Option<Option<ResourceTable>> {
        if self.0.is_empty() { Some(None) } else { ResourceTable::parse(self.0).map(Some) }
    }
}

fn terminated(lines: &[BString]) -> Option<Terminated> {
    let mut lines = Lines(lines);
    let ending = lines.ending()?;
    let (mut run, mut total) = (Share::default(), Share::default());
    lines.usages(&mut run, "Run")?;
    lines.usages(&mut total, "Total")?;
    lines.bytes(&mut run, "Run")?;
    lines.bytes(&mut total, "Total")?;
    Some(Terminated { ending, run, total, resources: lines.resources()? })
}

fn evicted(first: &[u8], lines: &[BString]) -> Option<Evicted> {
    let code = match first.strip_prefix(b"Job was evicted.")? {
        b"" => (0, 0),
        text => code(text.strip_prefix(b" Code ")?)?,
    };
    let mut lines = Lines(lines);
    let (requeued, checkpointed) = match lines.next()? {
        b"\t(0) Job terminated and was requeued" => (true, false),
        b"\t(1) Job was checkpointed." => (false, true),
        b"\t(0) CPU times" => (false, false),
        _ => return None,
    };
    let mut run = Share::default();
    lines.usages(&mut run, "Run")?;
    lines.bytes(&mut run, "Run")?;
    let requeued = if requeued { Some(lines.ending()?) } else { None };
    let mut reason = BString::default();
    if let Some(next) = lines.0.first().filter(|line| !line.starts_with(b"\tPartitionable")) {
        let prefix: &[u8] = if requeued.is_some() { b"\t" } else { b"\tReason: " };
        reason = next.strip_prefix(prefix)?.into();
        lines.next();
    }
    Some(Evicted { code, checkpointed, requeued, run, reason, resources: lines.resources()? })
}
