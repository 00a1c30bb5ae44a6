//! Events as text, to the byte as 25.14 writes them (`ULogEvent::formatEvent`).

use bstr::ByteSlice;

use super::body::{Body, Ending, Evicted, Share, Terminated, UsageTime};
use super::{FormatOptions, JobEvent, ResourceTable};
use htc_classad::Value;
use htc_classad::format::long;

impl JobEvent {
    /// The event with the line `...` behind it.
    pub fn text(&self, options: FormatOptions) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        let JobEvent { number, cluster, proc, subproc, .. } = *self;
        let time = self.time.text(options);
        put(&mut out, &format!("{number:03} ({cluster:03}.{proc:03}.{subproc:03}) {time} "));
        self.body.print(&mut out);
        out.extend_from_slice(b"...\n");
        out
    }
}

impl Body {
    /// Appends what stands behind the time, up to and with the end of the last line.
    fn print(&self, out: &mut Vec<u8>) {
        match self {
            Body::Submit { host, log_notes, user_notes, structure } => {
                line(out, b"Job submitted from host: ", host);
                match structure.is_empty() {
                    true => line_unless_empty(out, b"    ", &log_notes[..log_notes.len().min(8191)]),
                    false => line(out, b"    ", &Value::from(structure.clone()).unparse()),
                }
                line_unless_empty(out, b"    ", &user_notes[..user_notes.len().min(8191)]);
            }
            Body::Execute { host, slot_name, properties } => {
                line(out, b"Job executing on host: ", host);
                line_unless_empty(out, b"\tSlotName: ", slot_name);
                for (name, value) in properties {
                    line(out, b"\t", &[name, &b" = "[..], value].concat());
                }
            }
            Body::Evicted(evicted) => evicted_text(out, evicted),
            Body::Terminated(terminated) => terminated_text(out, terminated),
            Body::ImageSize { size, memory_usage, resident, proportional } => {
                put(out, &format!("Image size of job updated: {size}\n"));
                measure(out, *memory_usage, "MemoryUsage of job (MB)");
                measure(out, *resident, "ResidentSetSize of job (KB)");
                measure(out, *proportional, "ProportionalSetSize of job (KB)");
            }
            Body::Generic(text) => line(out, b"", text),
            Body::Aborted(reason) => {
                put(out, "Job was aborted.\n");
                line_unless_empty(out, b"\t", reason);
            }
            Body::DataflowSkipped(reason) => {
                put(out, "Dataflow job was skipped.\n");
                line_unless_empty(out, b"\t", reason);
            }
            Body::Suspended(count) => {
                put(out, "Job was suspended.\n");
                put(out, &format!("\tNumber of processes actually suspended: {count}\n"));
            }
            Body::Unsuspended => put(out, "Job was unsuspended.\n"),
            Body::Held { reason, code, subcode } => {
                put(out, "Job was held.\n");
                line(out, b"\t", if reason.is_empty() { b"Reason unspecified" } else { reason });
                put(out, &format!("\tCode {code} Subcode {subcode}\n"));
            }
            Body::Released(reason) => {
                put(out, "Job was released.\n");
                line_unless_empty(out, b"\t", reason);
            }
            Body::RemoteError { critical, daemon, host, message, code, subcode } => {
                let kind: &[u8] = if *critical { b"Error" } else { b"Message" };
                line(out, kind, &[b" from ", daemon.as_slice(), b" on ", host, b":"].concat());
                for text in message.lines() {
                    line(out, b"\t", text);
                }
                if *code != 0 {
                    put(out, &format!("\tCode {code} Subcode {subcode}\n"));
                }
            }
            Body::Disconnected { reason, startd, address } => {
                put(out, "Job disconnected, attempting to reconnect\n");
                line(out, b"    ", reason);
                line(out, b"    Trying to reconnect to ", &[startd.as_slice(), b" ", address].concat());
            }
            Body::Reconnected { startd, startd_address, starter_address } => {
                line(out, b"Job reconnected to ", startd);
                line(out, b"    startd address: ", startd_address);
                line(out, b"    starter address: ", starter_address);
            }
            Body::ReconnectFailed { reason, startd } => {
                put(out, "Job reconnection failed\n");
                line(out, b"    ", reason);
                line(out, b"    Can not reconnect to ", &[startd.as_slice(), b", rescheduling job"].concat());
            }
            Body::AttributeUpdate { name, old, value } => {
                let (verb, name) = match old {
                    Some(old) => ("Changing", [name.as_slice(), b" from ", old].concat()),
                    None => ("Setting", name.to_vec()),
                };
                put(out, &format!("{verb} job attribute "));
                line(out, &name, &[b" to ", value.as_slice()].concat());
            }
            Body::ClusterSubmit { host } => line(out, b"Cluster submitted from host: ", host),
            Body::ClusterRemove { jobs, items, completion, notes } => {
                put(out, "Cluster removed\n");
                put(out, &format!("\tMaterialized {jobs} jobs from {items} items."));
                put(out, &progress(*completion));
                line_unless_empty(out, b"\t", notes);
            }
            Body::Reuse(reuse) => reuse.print(out),
            Body::Transfer { step, host } => {
                line(out, b"", step.text().as_bytes());
                line_unless_empty(out, b"\tTransferring to host: ", host);
            }
            Body::JobAdInformation(ad) => {
                put(out, "Job ad information event triggered.\n");
                out.extend_from_slice(&long::print(ad));
            }
            Body::Other { lines, .. } => {
                out.extend_from_slice(&bstr::join("\n", lines));
                out.push(b'\n');
            }
        }
    }
}

impl UsageTime {
    /// `Usr D HH:MM:SS, Sys D HH:MM:SS` (`rusageToStr`).
    pub fn text(self) -> String {
        let part = |seconds: i64| {
            let (days, rest) = (seconds / 86_400, seconds % 86_400);
            format!("{days} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
        };
        format!("Usr {}, Sys {}", part(self.user), part(self.system))
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn line(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    out.extend_from_slice(before);
    out.extend_from_slice(text);
    out.push(b'\n');
}

fn line_unless_empty(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    if !text.is_empty() {
        line(out, before, text);
    }
}

fn measure(out: &mut Vec<u8>, value: Option<i64>, label: &str) {
    if let Some(value) = value {
        put(out, &format!("\t{value}  -  {label}\n"));
    }
}

/// How far the jobs of a cluster had been made when it was removed.
fn progress(completion: i32) -> String {
    match completion {
        ..0 => format!("\tError {completion}\n"),
        0 => "\tIncomplete\n".to_owned(),
        1 => "\tComplete\n".to_owned(),
        2.. => "\tPaused\n".to_owned(),
    }
}

fn usages(out: &mut Vec<u8>, share: &Share, which: &str) {
    put(out, &format!("\t\t{}  -  {which} Remote Usage\n", share.remote.text()));
    put(out, &format!("\t\t{}  -  {which} Local Usage\n", share.local.text()));
}

fn bytes(out: &mut Vec<u8>, share: &Share, which: &str) {
    put(out, &format!("\t{:.0}  -  {which} Bytes Sent By Job\n", share.sent));
    put(out, &format!("\t{:.0}  -  {which} Bytes Received By Job\n", share.received));
}

fn ending(out: &mut Vec<u8>, ending: &Ending) {
    match ending {
        Ending::Exited(code) => put(out, &format!("\t(1) Normal termination (return value {code})\n")),
        Ending::Signalled(signal, core) => {
            put(out, &format!("\t(0) Abnormal termination (signal {signal})\n"));
            match core {
                Some(path) => line(out, b"\t(1) Corefile in: ", path),
                None => put(out, "\t(0) No core file\n"),
            }
        }
    }
}

fn resources(out: &mut Vec<u8>, table: Option<&ResourceTable>) {
    if let Some(table) = table {
        table.print(out);
    }
}

fn terminated_text(out: &mut Vec<u8>, event: &Terminated) {
    put(out, "Job terminated.\n");
    ending(out, &event.ending);
    usages(out, &event.run, "Run");
    usages(out, &event.total, "Total");
    bytes(out, &event.run, "Run");
    bytes(out, &event.total, "Total");
    resources(out, event.resources.as_ref());
}

fn evicted_text(out: &mut Vec<u8>, event: &Evicted) {
    let (code, subcode) = event.code;
    match code {
        0 => put(out, "Job was evicted.\n"),
        code => put(out, &format!("Job was evicted. Code {code} Subcode {subcode}\n")),
    }
    put(
        out,
        match (&event.requeued, event.checkpointed) {
            (Some(_), _) => "\t(0) Job terminated and was requeued\n",
            (None, true) => "\t(1) Job was checkpointed.\n",
            (None, false) => "\t(0) CPU times\n",
        },
    );
    usages(out, &event.run, "Run");
    bytes(out, &event.run, "Run");
    if let Some(how) = &event.requeued {
        ending(out, how);
    }
    line_unless_empty(out, if event.requeued.is_some() { b"\t" } else { b"\tReason: " }, &event.reason);
    resources(out, event.resources.as_ref());
}
