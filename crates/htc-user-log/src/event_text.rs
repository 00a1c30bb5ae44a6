//! Events as text, byte for byte as 25.14 writes them (`ULogEvent::formatEvent`).

use bstr::ByteSlice;

use super::event_body::{CpuTime, EventBody, EvictedEvent, JobTermination, RunUsage, TerminatedEvent};
use super::event_time::push_digits;
use super::{FormatOptions, JobEvent, ResourceTable};
use htc_classad::Value;
use htc_classad::format::long;

impl JobEvent {
    /// Formats the event, followed by the line `...`.
    pub fn to_text(&self, options: FormatOptions) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        let JobEvent { number, cluster, proc, subproc, .. } = *self;
        let time = self.time.to_text(options);
        append_text(&mut out, &format!("{number:03} ({cluster:03}.{proc:03}.{subproc:03}) {time} "));
        self.body.append_to(&mut out);
        out.extend_from_slice(b"...\n");
        out
    }
}

impl EventBody {
    /// Appends the text after the time, including the end of the last line.
    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            EventBody::Submit { host, log_notes, user_notes, structure } => {
                append_line(out, b"Job submitted from host: ", host);
                match structure.is_empty() {
                    true => append_line_unless_empty(out, b"    ", &log_notes[..log_notes.len().min(8191)]),
                    false => append_line(out, b"    ", &Value::from(structure.clone()).unparse()),
                }
                append_line_unless_empty(out, b"    ", &user_notes[..user_notes.len().min(8191)]);
            }
            EventBody::Execute { host, slot_name, properties } => {
                append_line(out, b"Job executing on host: ", host);
                append_line_unless_empty(out, b"\tSlotName: ", slot_name);
                for (name, value) in properties {
                    append_line(out, b"\t", &[name, &b" = "[..], value].concat());
                }
            }
            EventBody::Evicted(evicted) => append_evicted(out, evicted),
            EventBody::Terminated(terminated) => append_terminated(out, terminated),
            EventBody::ImageSize { size, memory_usage, resident, proportional } => {
                append_text(out, &format!("Image size of job updated: {size}\n"));
                append_measurement(out, *memory_usage, "MemoryUsage of job (MB)");
                append_measurement(out, *resident, "ResidentSetSize of job (KB)");
                append_measurement(out, *proportional, "ProportionalSetSize of job (KB)");
            }
            EventBody::Generic(text) => append_line(out, b"", text),
            EventBody::Aborted(reason) => {
                append_text(out, "Job was aborted.\n");
                append_line_unless_empty(out, b"\t", reason);
            }
            EventBody::DataflowSkipped(reason) => {
                append_text(out, "Dataflow job was skipped.\n");
                append_line_unless_empty(out, b"\t", reason);
            }
            EventBody::Suspended(count) => {
                append_text(out, "Job was suspended.\n");
                append_text(out, &format!("\tNumber of processes actually suspended: {count}\n"));
            }
            EventBody::Unsuspended => append_text(out, "Job was unsuspended.\n"),
            EventBody::Held { reason, code, subcode } => {
                append_text(out, "Job was held.\n");
                append_line(out, b"\t", if reason.is_empty() { b"Reason unspecified" } else { reason });
                append_text(out, &format!("\tCode {code} Subcode {subcode}\n"));
            }
            EventBody::Released(reason) => {
                append_text(out, "Job was released.\n");
                append_line_unless_empty(out, b"\t", reason);
            }
            EventBody::RemoteError { critical, daemon, host, message, code, subcode } => {
                let kind: &[u8] = if *critical { b"Error" } else { b"Message" };
                append_line(out, kind, &[b" from ", daemon.as_slice(), b" on ", host, b":"].concat());
                for text in message.lines() {
                    append_line(out, b"\t", text);
                }
                if *code != 0 {
                    append_text(out, &format!("\tCode {code} Subcode {subcode}\n"));
                }
            }
            EventBody::Disconnected { reason, startd, address } => {
                append_text(out, "Job disconnected, attempting to reconnect\n");
                append_line(out, b"    ", reason);
                append_line(
                    out,
                    b"    Trying to reconnect to ",
                    &[startd.as_slice(), b" ", address].concat(),
                );
            }
            EventBody::Reconnected { startd, startd_address, starter_address } => {
                append_line(out, b"Job reconnected to ", startd);
                append_line(out, b"    startd address: ", startd_address);
                append_line(out, b"    starter address: ", starter_address);
            }
            EventBody::ReconnectFailed { reason, startd } => {
                append_text(out, "Job reconnection failed\n");
                append_line(out, b"    ", reason);
                append_line(
                    out,
                    b"    Can not reconnect to ",
                    &[startd.as_slice(), b", rescheduling job"].concat(),
                );
            }
            EventBody::AttributeUpdate { name, old, value } => {
                let (verb, name) = match old {
                    Some(old) => ("Changing", [name.as_slice(), b" from ", old].concat()),
                    None => ("Setting", name.to_vec()),
                };
                append_text(out, &format!("{verb} job attribute "));
                append_line(out, &name, &[b" to ", value.as_slice()].concat());
            }
            EventBody::ClusterSubmit { host } => append_line(out, b"Cluster submitted from host: ", host),
            EventBody::ClusterRemove { jobs, items, completion, notes } => {
                append_text(out, "Cluster removed\n");
                append_text(out, &format!("\tMaterialized {jobs} jobs from {items} items."));
                append_text(out, &materialization_text(*completion));
                append_line_unless_empty(out, b"\t", notes);
            }
            EventBody::Reuse(reuse) => reuse.append_to(out),
            EventBody::Transfer { step, host } => {
                append_line(out, b"", step.text().as_bytes());
                append_line_unless_empty(out, b"\tTransferring to host: ", host);
            }
            EventBody::JobAdInformation(ad) => {
                append_text(out, "Job ad information event triggered.\n");
                out.extend_from_slice(&long::print(ad));
            }
            EventBody::Other { lines, .. } => {
                out.extend_from_slice(&bstr::join("\n", lines));
                out.push(b'\n');
            }
        }
    }
}

impl CpuTime {
    /// Formats CPU times as `Usr D HH:MM:SS, Sys D HH:MM:SS` (`rusageToStr`).
    pub fn to_text(self) -> String {
        let mut out = String::with_capacity(40);
        for (label, seconds) in [("Usr ", self.user), (", Sys ", self.system)] {
            out.push_str(label);
            push_duration(&mut out, seconds);
        }
        out
    }
}

/// Appends a duration as `D HH:MM:SS`.
fn push_duration(out: &mut String, seconds: i64) {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    match u32::try_from(rest) {
        // Avoids the cost of a format string, because a log has millions of durations.
        Ok(rest) if days == 0 => {
            out.push('0');
            for (separator, number) in [(' ', rest / 3600), (':', rest / 60 % 60), (':', rest % 60)] {
                out.push(separator);
                push_digits(out, number, 2);
            }
        }
        _ => out.push_str(&format!("{days} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)),
    }
}

fn append_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn append_line(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    out.extend_from_slice(before);
    out.extend_from_slice(text);
    out.push(b'\n');
}

fn append_line_unless_empty(out: &mut Vec<u8>, before: &[u8], text: &[u8]) {
    if !text.is_empty() {
        append_line(out, before, text);
    }
}

fn append_measurement(out: &mut Vec<u8>, value: Option<i64>, label: &str) {
    if let Some(value) = value {
        append_text(out, &format!("\t{value}  -  {label}\n"));
    }
}

/// Returns the text for the materialization state of a removed cluster.
fn materialization_text(completion: i32) -> String {
    match completion {
        ..0 => format!("\tError {completion}\n"),
        0 => "\tIncomplete\n".to_owned(),
        1 => "\tComplete\n".to_owned(),
        2.. => "\tPaused\n".to_owned(),
    }
}

fn append_cpu_times(out: &mut Vec<u8>, usage: &RunUsage, period: &str) {
    append_text(out, &format!("\t\t{}  -  {period} Remote Usage\n", usage.remote.to_text()));
    append_text(out, &format!("\t\t{}  -  {period} Local Usage\n", usage.local.to_text()));
}

fn append_byte_counts(out: &mut Vec<u8>, usage: &RunUsage, period: &str) {
    append_text(out, &format!("\t{:.0}  -  {period} Bytes Sent By Job\n", usage.sent));
    append_text(out, &format!("\t{:.0}  -  {period} Bytes Received By Job\n", usage.received));
}

fn append_termination(out: &mut Vec<u8>, ending: &JobTermination) {
    match ending {
        JobTermination::Exited(code) => {
            append_text(out, &format!("\t(1) Normal termination (return value {code})\n"))
        }
        JobTermination::Signalled(signal, core) => {
            append_text(out, &format!("\t(0) Abnormal termination (signal {signal})\n"));
            match core {
                Some(path) => append_line(out, b"\t(1) Corefile in: ", path),
                None => append_text(out, "\t(0) No core file\n"),
            }
        }
    }
}

fn append_resources(out: &mut Vec<u8>, table: Option<&ResourceTable>) {
    if let Some(table) = table {
        table.append_to(out);
    }
}

fn append_terminated(out: &mut Vec<u8>, event: &TerminatedEvent) {
    append_text(out, "Job terminated.\n");
    append_termination(out, &event.termination);
    append_cpu_times(out, &event.run, "Run");
    append_cpu_times(out, &event.total, "Total");
    append_byte_counts(out, &event.run, "Run");
    append_byte_counts(out, &event.total, "Total");
    append_resources(out, event.resources.as_ref());
}

fn append_evicted(out: &mut Vec<u8>, event: &EvictedEvent) {
    let (code, subcode) = event.code;
    match code {
        0 => append_text(out, "Job was evicted.\n"),
        code => append_text(out, &format!("Job was evicted. Code {code} Subcode {subcode}\n")),
    }
    append_text(
        out,
        match (&event.requeued, event.checkpointed) {
            (Some(_), _) => "\t(0) Job terminated and was requeued\n",
            (None, true) => "\t(1) Job was checkpointed.\n",
            (None, false) => "\t(0) CPU times\n",
        },
    );
    append_cpu_times(out, &event.run, "Run");
    append_byte_counts(out, &event.run, "Run");
    if let Some(termination) = &event.requeued {
        append_termination(out, termination);
    }
    append_line_unless_empty(
        out,
        if event.requeued.is_some() { b"\t" } else { b"\tReason: " },
        &event.reason,
    );
    append_resources(out, event.resources.as_ref());
}
