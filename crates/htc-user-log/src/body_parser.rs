//! Parser of event bodies in text form, as the reference writes them (`readEvent` of each event).

use bstr::{BString, ByteSlice};

use super::event_body::{
    CpuTime, EventBody, EvictedEvent, FileTransferStep, JobTermination, RunUsage, TerminatedEvent,
};
use super::{DataReuseEvent, ResourceTable};
use htc_base::text::number;
use htc_classad::ClassAd;

impl EventBody {
    /// Parses the lines of an event with this number, or returns `None` if they do not have the expected
    /// form.
    pub(super) fn parse(number: u16, lines: &[BString]) -> Option<EventBody> {
        let (first, rest) = lines.split_first()?;
        match number {
            0 => parse_submit(first, rest),
            1 => parse_execute(first, rest),
            4 => Some(EventBody::Evicted(Box::new(parse_evicted(first, rest)?))),
            5 => Some(EventBody::Terminated(Box::new(parse_terminated(first, rest)?))),
            6 => parse_image_size(first, rest),
            8 => rest.is_empty().then(|| EventBody::Generic(first.clone())),
            9 => Some(EventBody::Aborted(parse_only_reason("Job was aborted.", first, rest)?)),
            10 => parse_suspended(first, rest),
            11 => (first == "Job was unsuspended." && rest.is_empty()).then_some(EventBody::Unsuspended),
            12 => parse_held(first, rest),
            13 => Some(EventBody::Released(parse_only_reason("Job was released.", first, rest)?)),
            21 => parse_remote_error(first, rest),
            22 => parse_disconnected(first, rest),
            23 => parse_reconnected(first, rest),
            24 => parse_reconnect_failed(first, rest),
            28 => parse_job_ad_information(first, rest),
            33 => rest.is_empty().then(|| parse_attribute_update(first))?,
            35 => rest.is_empty().then(|| parse_cluster_submit(first))?,
            36 => parse_cluster_remove(first, rest),
            40 => parse_transfer(first, rest),
            41..=45 => Some(EventBody::Reuse(DataReuseEvent::parse(number, lines)?)),
            46 => {
                Some(EventBody::DataflowSkipped(parse_only_reason("Dataflow job was skipped.", first, rest)?))
            }
            _ => None,
        }
    }
}

/// Returns `Some` if the line is exactly this text.
fn expect_line(line: &[u8], text: &str) -> Option<()> {
    (line == text.as_bytes()).then_some(())
}

/// Returns the rest of a line after the given text, or `None` if the line does not begin with it.
fn strip_label(line: &[u8], text: &str) -> Option<BString> {
    line.strip_prefix(text.as_bytes()).map(BString::from)
}

/// Splits a text into its leading integer and the rest.
pub(super) fn split_integer(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, end) = number::integer_prefix(text)?;
    Some((value, &text[end..]))
}

/// Parses a reason on a line of its own; returns an empty reason if the line is missing.
fn parse_reason(line: Option<&BString>) -> Option<BString> {
    match line {
        Some(line) => line.strip_prefix(b"\t").map(Into::into),
        None => Some(BString::default()),
    }
}

/// Parses a hold code and subcode in the form `C Subcode S`.
pub(super) fn parse_hold_codes(text: &[u8]) -> Option<(i32, i32)> {
    let (code, rest) = split_integer(text)?;
    let (subcode, rest) = split_integer(rest.strip_prefix(b" Subcode ")?)?;
    rest.is_empty().then_some((i32::try_from(code).ok()?, i32::try_from(subcode).ok()?))
}

/// Parses an event whose lines contain at most a reason.
fn parse_only_reason(text: &str, first: &[u8], rest: &[BString]) -> Option<BString> {
    expect_line(first, text)?;
    if rest.len() > 1 {
        return None;
    }
    parse_reason(rest.first())
}

/// Returns true if a note contains structured data: an ad, the name of a DAG node, or a warning.
fn is_structured(note: &[u8]) -> bool {
    [&b"["[..], b"DAG Node: ", b"WARNING: "].iter().any(|begin| note.trim_start().starts_with(begin))
}

fn parse_submit(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    if rest.len() > 2 {
        return None;
    }
    let note = |at: usize| match rest.get(at) {
        // This parser does not accept a structured note, which `other_events` parses.
        Some(note) => strip_label(note, "    ").filter(|note| !is_structured(note)),
        None => Some(BString::default()),
    };
    Some(EventBody::Submit {
        host: strip_label(first, "Job submitted from host: ")?,
        log_notes: note(0)?,
        user_notes: note(1)?,
        structure: ClassAd::new(),
    })
}

fn parse_execute(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    let slot = rest.first().and_then(|line| strip_label(line, "\tSlotName: "));
    let properties = rest[usize::from(slot.is_some())..].iter().map(|line| {
        let (name, value) = line.strip_prefix(b"\t")?.split_once_str(" = ")?;
        Some((BString::from(name), BString::from(value)))
    });
    Some(EventBody::Execute {
        host: strip_label(first, "Job executing on host: ")?,
        properties: properties.collect::<Option<_>>()?,
        slot_name: slot.unwrap_or_default(),
    })
}

fn parse_image_size(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    let (size, _) = split_integer(first.strip_prefix(b"Image size of job updated: ")?)?;
    let (mut memory_usage, mut resident, mut proportional) = (None, None, None);
    for line in rest {
        let (value, label) = split_integer(line.strip_prefix(b"\t")?)?;
        let place = match label {
            b"  -  MemoryUsage of job (MB)" => &mut memory_usage,
            b"  -  ResidentSetSize of job (KB)" => &mut resident,
            b"  -  ProportionalSetSize of job (KB)" => &mut proportional,
            _ => return None,
        };
        *place = Some(value);
    }
    Some(EventBody::ImageSize { size, memory_usage, resident, proportional })
}

fn parse_suspended(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Job was suspended.")?;
    let [count] = rest else { return None };
    let count = count.strip_prefix(b"\tNumber of processes actually suspended: ")?;
    Some(EventBody::Suspended(split_integer(count)?.0))
}

fn parse_held(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Job was held.")?;
    let [why, codes] = rest else { return None };
    let (code, subcode) = parse_hold_codes(codes.strip_prefix(b"\tCode ")?)?;
    let reason = parse_reason(Some(why))
        .map(|reason| if reason == "Reason unspecified" { "".into() } else { reason })?;
    Some(EventBody::Held { reason, code, subcode })
}

fn parse_disconnected(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Job disconnected, attempting to reconnect")?;
    let [reason, target] = rest else { return None };
    let (startd, address) = target.strip_prefix(b"    Trying to reconnect to ")?.split_once_str(" ")?;
    Some(EventBody::Disconnected {
        reason: strip_label(reason, "    ")?,
        startd: startd.into(),
        address: address.into(),
    })
}

fn parse_reconnected(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    let [startd, starter] = rest else { return None };
    Some(EventBody::Reconnected {
        startd: strip_label(first, "Job reconnected to ")?,
        startd_address: strip_label(startd, "    startd address: ")?,
        starter_address: strip_label(starter, "    starter address: ")?,
    })
}

fn parse_reconnect_failed(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Job reconnection failed")?;
    let [reason, target] = rest else { return None };
    let startd = target.strip_prefix(b"    Can not reconnect to ")?;
    Some(EventBody::ReconnectFailed {
        reason: strip_label(reason, "    ")?,
        startd: startd.strip_suffix(b", rescheduling job")?.into(),
    })
}

fn parse_job_ad_information(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Job ad information event triggered.")?;
    let mut ad = ClassAd::new();
    for line in rest {
        ad.insert_line(line).ok()?;
    }
    Some(EventBody::JobAdInformation(Box::new(ad)))
}

fn parse_attribute_update(first: &[u8]) -> Option<EventBody> {
    let (name, old, value) = match first.strip_prefix(b"Changing job attribute ") {
        Some(text) => {
            let (name, text) = text.split_once_str(" from ")?;
            let (old, value) = text.split_once_str(" to ")?;
            (name, Some(old), value)
        }
        None => {
            let (name, value) = first.strip_prefix(b"Setting job attribute ")?.split_once_str(" to ")?;
            (name, None, value)
        }
    };
    Some(EventBody::AttributeUpdate { name: name.into(), old: old.map(BString::from), value: value.into() })
}

fn parse_cluster_submit(first: &[u8]) -> Option<EventBody> {
    Some(EventBody::ClusterSubmit { host: strip_label(first, "Cluster submitted from host: ")? })
}

fn parse_transfer(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    let step = FileTransferStep::ALL.into_iter().find(|step| step.text().as_bytes() == first)?;
    let host = match rest {
        [] => BString::default(),
        [line] => strip_label(line, "\tTransferring to host: ")?,
        _ => return None,
    };
    Some(EventBody::Transfer { step, host })
}

/// Parses a removed cluster: the numbers of materialized jobs and items, the completion, and the notes.
fn parse_cluster_remove(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    expect_line(first, "Cluster removed")?;
    if rest.len() > 2 {
        return None;
    }
    let (jobs, text) = split_integer(rest.first()?.strip_prefix(b"\tMaterialized ")?)?;
    let (items, text) = split_integer(text.strip_prefix(b" jobs from ")?)?;
    let completion = match text.strip_prefix(b" items.\t")? {
        b"Complete" => 1,
        b"Incomplete" => 0,
        b"Paused" => 2,
        text => split_integer(text.strip_prefix(b"Error ")?)?.0,
    };
    let small = |number: i64| i32::try_from(number).ok();
    let notes = parse_reason(rest.get(1))?;
    Some(EventBody::ClusterRemove {
        jobs: small(jobs)?,
        items: small(items)?,
        completion: small(completion)?,
        notes,
    })
}

fn parse_remote_error(first: &[u8], rest: &[BString]) -> Option<EventBody> {
    let (kind, text) = first.split_once_str(" from ")?;
    let critical = match kind {
        b"Error" => true,
        b"Message" => false,
        _ => return None,
    };
    let (daemon, host) = text.strip_suffix(b":")?.split_once_str(" on ")?;
    let last = rest.last().and_then(|line| parse_hold_codes(line.strip_prefix(b"\tCode ")?));
    let message = &rest[..rest.len() - usize::from(last.is_some())];
    let message: Vec<&[u8]> = message.iter().map(|line| line.strip_prefix(b"\t")).collect::<Option<_>>()?;
    let (code, subcode) = last.unwrap_or((0, 0));
    Some(EventBody::RemoteError {
        critical,
        daemon: daemon.into(),
        host: host.into(),
        message: message.join(&b"\n"[..]).into(),
        code,
        subcode,
    })
}

/// Error for lines that do not have the form of the expected event.
struct InvalidEvent;

/// Reader of the lines of an event.
pub(super) struct EventLines<'a>(&'a [BString]);

impl<'a> EventLines<'a> {
    /// Creates a reader whose first line is the first of these lines.
    pub(super) fn new(lines: &'a [BString]) -> Self {
        EventLines(lines)
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Reads CPU times from a line with two tabs that ends in `  -  <period> <place> Usage`, such as `  -  Run Remote Usage`.
    fn read_indented_cpu_time(&mut self, period: &str, place: &str) -> Option<CpuTime> {
        let line = self.next_line().filter(|line| line.starts_with(b"\t\t"))?;
        let text = line.strip_suffix(b" Usage")?.strip_suffix(place.as_bytes())?;
        parse_cpu_time(text.strip_suffix(b" ")?.strip_suffix(period.as_bytes())?.strip_suffix(b"  -  ")?)
    }

    /// Reads CPU times that this label follows, at any indentation.
    pub(super) fn read_cpu_time(&mut self, label: &str) -> Option<CpuTime> {
        parse_cpu_time(self.next_line()?.strip_suffix(label.as_bytes())?)
    }

    fn read_cpu_times(&mut self, usage: &mut RunUsage, period: &str) -> Option<()> {
        usage.remote = self.read_indented_cpu_time(period, "Remote")?;
        usage.local = self.read_indented_cpu_time(period, "Local")?;
        Some(())
    }

    fn read_byte_counts(&mut self, usage: &mut RunUsage, period: &str) -> Option<()> {
        let mut read_count = |direction: &str| -> Option<f64> {
            let text = self.next_line()?.strip_prefix(b"\t")?.strip_suffix(b" By Job")?;
            let text = text.strip_suffix(direction.as_bytes())?.strip_suffix(b" Bytes ")?;
            text.strip_suffix(period.as_bytes())?.strip_suffix(b"  -  ")?.to_str().ok()?.parse().ok()
        };
        usage.sent = read_count("Sent")?;
        usage.received = read_count("Received")?;
        Some(())
    }

    fn read_termination(&mut self) -> Option<JobTermination> {
        let line = self.next_line()?;
        if let Some(text) = line.strip_prefix(b"\t(1) Normal termination (return value ") {
            return Some(JobTermination::Exited(i32::try_from(split_integer(text)?.0).ok()?));
        }
        let text = line.strip_prefix(b"\t(0) Abnormal termination (signal ")?;
        let signal = i32::try_from(split_integer(text)?.0).ok()?;
        let core = match self.next_line()? {
            b"\t(0) No core file" => None,
            line => Some(line.strip_prefix(b"\t(1) Corefile in: ")?.into()),
        };
        Some(JobTermination::Signalled(signal, core))
    }

    /// Reads the table of resources, which extends to the end of the event. Returns `None` if the event has no table.
    fn read_resources(self) -> Result<Option<ResourceTable>, InvalidEvent> {
        match self.0.is_empty() {
            true => Ok(None),
            false => ResourceTable::parse(self.0).map(Some).ok_or(InvalidEvent),
        }
    }
}

/// Parses `Usr 0 00:00:01, Sys 0 00:00:00`, at any indentation.
fn parse_cpu_time(text: &[u8]) -> Option<CpuTime> {
    let text = text.trim_start().strip_prefix(b"Usr ")?;
    let (user, system) = text.split_at_checked(memchr::memchr(b',', text)?)?;
    let system = system.strip_prefix(b", Sys ")?;
    let seconds = |text: &[u8]| {
        let (days, rest) = split_integer(text)?;
        let (hours, rest) = split_integer(rest.strip_prefix(b" ")?)?;
        let (minutes, rest) = split_integer(rest.strip_prefix(b":")?)?;
        let (seconds, rest) = split_integer(rest.strip_prefix(b":")?)?;
        let hours = days.checked_mul(24)?.checked_add(hours)?;
        let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
        let seconds = minutes.checked_mul(60)?.checked_add(seconds)?;
        rest.is_empty().then_some(seconds)
    };
    Some(CpuTime { user: seconds(user)?, system: seconds(system)? })
}

fn parse_terminated(first: &[u8], lines: &[BString]) -> Option<TerminatedEvent> {
    expect_line(first, "Job terminated.")?;
    let mut lines = EventLines(lines);
    let ending = lines.read_termination()?;
    let (mut run, mut total) = (RunUsage::default(), RunUsage::default());
    lines.read_cpu_times(&mut run, "Run")?;
    lines.read_cpu_times(&mut total, "Total")?;
    lines.read_byte_counts(&mut run, "Run")?;
    lines.read_byte_counts(&mut total, "Total")?;
    Some(TerminatedEvent { termination: ending, run, total, resources: lines.read_resources().ok()? })
}

fn parse_evicted(first: &[u8], lines: &[BString]) -> Option<EvictedEvent> {
    let code = match first.strip_prefix(b"Job was evicted.")? {
        b"" => (0, 0),
        text => parse_hold_codes(text.strip_prefix(b" Code ")?)?,
    };
    let mut lines = EventLines(lines);
    let (requeued, checkpointed) = match lines.next_line()? {
        b"\t(0) Job terminated and was requeued" => (true, false),
        b"\t(1) Job was checkpointed." => (false, true),
        b"\t(0) CPU times" => (false, false),
        _ => return None,
    };
    let mut run = RunUsage::default();
    lines.read_cpu_times(&mut run, "Run")?;
    lines.read_byte_counts(&mut run, "Run")?;
    let requeued = if requeued { Some(lines.read_termination()?) } else { None };
    let mut reason = BString::default();
    if let Some(next) = lines.0.first().filter(|line| !line.starts_with(b"\tPartitionable")) {
        let prefix: &[u8] = if requeued.is_some() { b"\t" } else { b"\tReason: " };
        reason = next.strip_prefix(prefix)?.into();
        lines.next_line();
    }
    Some(EvictedEvent { code, checkpointed, requeued, run, reason, resources: lines.read_resources().ok()? })
}
