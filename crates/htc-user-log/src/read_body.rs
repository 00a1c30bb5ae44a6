//! What stands behind the time of an event and below it, as the reference writes it (`readEvent` of each event).

use bstr::{BString, ByteSlice};

use super::body::{Body, Ending, Evicted, Share, Terminated, Transfer, UsageTime};
use super::{ResourceTable, Reuse};
use htc_base::text::number;
use htc_classad::ClassAd;

impl Body {
    /// Reads the lines of an event of this number; nothing where they are not as its kind expects.
    pub(super) fn parse(number: u16, lines: &[BString]) -> Option<Body> {
        let (first, rest) = lines.split_first()?;
        match number {
            0 => submit(first, rest),
            1 => execute(first, rest),
            4 => Some(Body::Evicted(Box::new(evicted(first, rest)?))),
            5 => Some(Body::Terminated(Box::new(terminated(first, rest)?))),
            6 => image_size(first, rest),
            8 => rest.is_empty().then(|| Body::Generic(first.clone())),
            9 => Some(Body::Aborted(only_reason("Job was aborted.", first, rest)?)),
            10 => suspended(first, rest),
            11 => (first == "Job was unsuspended." && rest.is_empty()).then_some(Body::Unsuspended),
            12 => held(first, rest),
            13 => Some(Body::Released(only_reason("Job was released.", first, rest)?)),
            21 => remote_error(first, rest),
            22 => disconnected(first, rest),
            23 => reconnected(first, rest),
            24 => reconnect_failed(first, rest),
            28 => job_ad_information(first, rest),
            33 => rest.is_empty().then(|| attribute_update(first))?,
            35 => rest.is_empty().then(|| cluster_submit(first))?,
            36 => cluster_remove(first, rest),
            40 => transfer(first, rest),
            41..=45 => Some(Body::Reuse(Reuse::parse(number, lines)?)),
            46 => Some(Body::DataflowSkipped(only_reason("Dataflow job was skipped.", first, rest)?)),
            _ => None,
        }
    }
}

/// Whether a line is exactly this.
fn is(line: &[u8], text: &str) -> Option<()> {
    (line == text.as_bytes()).then_some(())
}

/// What stands behind a text that a line begins with.
fn after(line: &[u8], text: &str) -> Option<BString> {
    line.strip_prefix(text.as_bytes()).map(BString::from)
}

/// The integer a text begins with and what follows it.
pub(super) fn leading(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, end) = number::integer_prefix(text)?;
    Some((value, &text[end..]))
}

/// The reason in a line of its own; empty where there is none.
fn reason(line: Option<&BString>) -> Option<BString> {
    match line {
        Some(line) => line.strip_prefix(b"\t").map(Into::into),
        None => Some(BString::default()),
    }
}

/// `C Subcode S`.
pub(super) fn code(text: &[u8]) -> Option<(i32, i32)> {
    let (code, rest) = leading(text)?;
    let (subcode, rest) = leading(rest.strip_prefix(b" Subcode ")?)?;
    rest.is_empty().then_some((i32::try_from(code).ok()?, i32::try_from(subcode).ok()?))
}

/// An event that gives a reason at the most.
fn only_reason(text: &str, first: &[u8], rest: &[BString]) -> Option<BString> {
    is(first, text)?;
    if rest.len() > 1 {
        return None;
    }
    reason(rest.first())
}

/// Whether a note is a structure, the name of a workflow's node or a warning.
fn is_structured(note: &[u8]) -> bool {
    [&b"["[..], b"DAG Node: ", b"WARNING: "].iter().any(|begin| note.trim_start().starts_with(begin))
}

fn submit(first: &[u8], rest: &[BString]) -> Option<Body> {
    if rest.len() > 2 {
        return None;
    }
    let note = |at: usize| match rest.get(at) {
        // What is more than a text is read elsewhere.
        Some(note) => after(note, "    ").filter(|note| !is_structured(note)),
        None => Some(BString::default()),
    };
    Some(Body::Submit {
        host: after(first, "Job submitted from host: ")?,
        log_notes: note(0)?,
        user_notes: note(1)?,
        structure: ClassAd::new(),
    })
}

fn execute(first: &[u8], rest: &[BString]) -> Option<Body> {
    let slot = rest.first().and_then(|line| after(line, "\tSlotName: "));
    let properties = rest[usize::from(slot.is_some())..].iter().map(|line| {
        let (name, value) = line.strip_prefix(b"\t")?.split_once_str(" = ")?;
        Some((BString::from(name), BString::from(value)))
    });
    Some(Body::Execute {
        host: after(first, "Job executing on host: ")?,
        properties: properties.collect::<Option<_>>()?,
        slot_name: slot.unwrap_or_default(),
    })
}

fn image_size(first: &[u8], rest: &[BString]) -> Option<Body> {
    let (size, _) = leading(first.strip_prefix(b"Image size of job updated: ")?)?;
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
    Some(Body::ImageSize { size, memory_usage, resident, proportional })
}

fn suspended(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Job was suspended.")?;
    let [count] = rest else { return None };
    let count = count.strip_prefix(b"\tNumber of processes actually suspended: ")?;
    Some(Body::Suspended(leading(count)?.0))
}

fn held(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Job was held.")?;
    let [why, codes] = rest else { return None };
    let (code, subcode) = code(codes.strip_prefix(b"\tCode ")?)?;
    let reason =
        reason(Some(why)).map(|reason| if reason == "Reason unspecified" { "".into() } else { reason })?;
    Some(Body::Held { reason, code, subcode })
}

fn disconnected(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Job disconnected, attempting to reconnect")?;
    let [reason, target] = rest else { return None };
    let (startd, address) = target.strip_prefix(b"    Trying to reconnect to ")?.split_once_str(" ")?;
    Some(Body::Disconnected {
        reason: after(reason, "    ")?,
        startd: startd.into(),
        address: address.into(),
    })
}

fn reconnected(first: &[u8], rest: &[BString]) -> Option<Body> {
    let [startd, starter] = rest else { return None };
    Some(Body::Reconnected {
        startd: after(first, "Job reconnected to ")?,
        startd_address: after(startd, "    startd address: ")?,
        starter_address: after(starter, "    starter address: ")?,
    })
}

fn reconnect_failed(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Job reconnection failed")?;
    let [reason, target] = rest else { return None };
    let startd = target.strip_prefix(b"    Can not reconnect to ")?;
    Some(Body::ReconnectFailed {
        reason: after(reason, "    ")?,
        startd: startd.strip_suffix(b", rescheduling job")?.into(),
    })
}

fn job_ad_information(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Job ad information event triggered.")?;
    let mut ad = ClassAd::new();
    for line in rest {
        ad.insert_line(line).ok()?;
    }
    Some(Body::JobAdInformation(Box::new(ad)))
}

fn attribute_update(first: &[u8]) -> Option<Body> {
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
    Some(Body::AttributeUpdate { name: name.into(), old: old.map(BString::from), value: value.into() })
}

fn cluster_submit(first: &[u8]) -> Option<Body> {
    Some(Body::ClusterSubmit { host: after(first, "Cluster submitted from host: ")? })
}

fn transfer(first: &[u8], rest: &[BString]) -> Option<Body> {
    let step = Transfer::ALL.into_iter().find(|step| step.text().as_bytes() == first)?;
    let host = match rest {
        [] => BString::default(),
        [line] => after(line, "\tTransferring to host: ")?,
        _ => return None,
    };
    Some(Body::Transfer { step, host })
}

/// How far a cluster had got, and anything else.
fn cluster_remove(first: &[u8], rest: &[BString]) -> Option<Body> {
    is(first, "Cluster removed")?;
    if rest.len() > 2 {
        return None;
    }
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
pub(super) struct Lines<'a>(&'a [BString]);

impl<'a> Lines<'a> {
    /// From the first of these on.
    pub(super) fn of(lines: &'a [BString]) -> Self {
        Lines(lines)
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn usage(&mut self, label: &str) -> Option<UsageTime> {
        self.0.first().filter(|line| line.starts_with(b"\t\t"))?;
        self.usage_of(label)
    }

    /// Processor time with this label behind it, however far it is indented.
    pub(super) fn usage_of(&mut self, label: &str) -> Option<UsageTime> {
        let text = self.next()?.trim_start().strip_prefix(b"Usr ")?.strip_suffix(label.as_bytes())?;
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

fn terminated(first: &[u8], lines: &[BString]) -> Option<Terminated> {
    is(first, "Job terminated.")?;
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
