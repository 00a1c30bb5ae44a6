//! Events as ads, and those ads as XML and JSON (`ULogEvent::toClassAd`).

use bstr::BString;

use super::body::{Body, Ending, Evicted, Share, Terminated};
use super::{EventKind, JobEvent, others};
use htc_classad::format::{json, xml};
use htc_classad::syntax::Dialect;
use htc_classad::{ClassAd, Expr, Value};

impl JobEvent {
    /// The event as an ad.
    pub fn to_ad(&self) -> ClassAd {
        let mut ad = ClassAd::new();
        ad.set("EventTypeNumber", i64::from(self.number));
        let my_type = EventKind::from_number(self.number).map_or("FutureEvent", EventKind::my_type);
        ad.set("MyType", my_type);
        ad.set("EventTime", self.time.iso().as_str());
        for (name, value) in [("Cluster", self.cluster), ("Proc", self.proc), ("Subproc", self.subproc)] {
            if value >= 0 {
                ad.set(name, i64::from(value));
            }
        }
        self.body.add_to(&mut ad);
        ad
    }

    /// The event as XML: one ad without header, four blanks for each level.
    pub fn xml(&self) -> Vec<u8> {
        let mut out = Vec::new();
        xml::push(&self.to_ad(), xml::Layout::Spaced, &mut out);
        out
    }

    /// The event as JSON, as `EVENT_LOG` has it.
    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        json::push(&self.to_ad(), json::Layout::Indented, &mut out);
        out.push(b'\n');
        out
    }
}

fn text(ad: &mut ClassAd, name: &str, value: &[u8]) {
    if !value.is_empty() {
        ad.set(name, BString::from(value));
    }
}

fn share(ad: &mut ClassAd, run: &Share) {
    ad.set("RunLocalUsage", run.local.text().as_str());
    ad.set("RunRemoteUsage", run.remote.text().as_str());
    ad.set("SentBytes", run.sent);
    ad.set("ReceivedBytes", run.received);
}

fn ending(ad: &mut ClassAd, ending: &Ending) {
    ad.set("TerminatedNormally", matches!(ending, Ending::Exited(_)));
    match ending {
        Ending::Exited(code) => ad.set("ReturnValue", i64::from(*code)),
        Ending::Signalled(signal, core) => {
            ad.set("TerminatedBySignal", i64::from(*signal));
            text(ad, "CoreFile", core.as_ref().map_or(b"", |path| path.as_slice()));
        }
    }
}

fn hold_codes(ad: &mut ClassAd, code: i32, subcode: i32) {
    ad.set("HoldReasonCode", i64::from(code));
    ad.set("HoldReasonSubCode", i64::from(subcode));
}

fn measure(ad: &mut ClassAd, name: &str, value: Option<i64>) {
    // A number below 0 says that it is unknown.
    if let Some(value) = value.filter(|value| *value >= 0) {
        ad.set(name, value);
    }
}

/// What the slot tells of itself, in an ad of its own.
fn execute_properties(ad: &mut ClassAd, properties: &[(BString, BString)]) {
    let mut nested = ClassAd::new();
    for (name, value) in properties {
        if let Ok(expr) = Expr::parse(value) {
            nested.insert(name, expr);
        }
    }
    if !nested.is_empty() {
        ad.set("ExecuteProps", Value::Ad(nested.into()));
    }
}

fn evicted(ad: &mut ClassAd, event: &Evicted) {
    ad.set("Checkpointed", event.checkpointed);
    share(ad, &event.run);
    ad.set("TerminatedAndRequeued", event.requeued.is_some());
    ad.set("TerminatedNormally", false);
    if let Some(how) = &event.requeued {
        ending(ad, how);
    }
    text(ad, "Reason", &event.reason);
    let (code, subcode) = event.code;
    if code != 0 {
        ad.set("ReasonCode", i64::from(code));
        ad.set("ReasonSubCode", i64::from(subcode));
    }
}

fn terminated(ad: &mut ClassAd, event: &Terminated) {
    // Of an eviction the reference has them in its text alone.
    for (name, text) in event.resources.iter().flat_map(|table| &table.values) {
        if let Ok(expr) = Expr::parse_with(text, Dialect::old_syntax()) {
            ad.insert(name.as_slice(), expr);
        }
    }
    ending(ad, &event.ending);
    share(ad, &event.run);
    ad.set("TotalLocalUsage", event.total.local.text().as_str());
    ad.set("TotalRemoteUsage", event.total.remote.text().as_str());
    ad.set("TotalSentBytes", event.total.sent);
    ad.set("TotalReceivedBytes", event.total.received);
}

/// What an older release has written, or a node of a parallel job; nothing where that is not understood either.
fn older(ad: &mut ClassAd, number: u16, lines: &[BString]) -> Option<()> {
    let (number, lines, node) = others::in_present_words(number, lines)?;
    others::body_before_extra_lines(number, &lines)?.add_to(ad);
    if let Some(node) = node {
        ad.set("Node", node);
        // Of a node both are told.
        for name in ["ReturnValue", "TerminatedBySignal"].into_iter().filter(|_| number == 5) {
            if !ad.contains(name) {
                ad.set(name, -1);
            }
        }
    }
    Some(())
}

impl Body {
    fn add_to(&self, ad: &mut ClassAd) {
        match self {
            Body::Submit { host, log_notes, user_notes, structure } => {
                text(ad, "SubmitHost", host);
                text(ad, "LogNotes", log_notes);
                text(ad, "UserNotes", user_notes);
                if !structure.is_empty() {
                    ad.set("StructuredNotes", Value::from(structure.clone()));
                }
            }
            Body::Execute { host, slot_name, properties } => {
                text(ad, "ExecuteHost", host);
                text(ad, "SlotName", slot_name);
                execute_properties(ad, properties);
            }
            Body::Evicted(event) => evicted(ad, event),
            Body::Terminated(event) => terminated(ad, event),
            Body::ImageSize { size, memory_usage, resident, proportional } => {
                measure(ad, "Size", Some(*size));
                measure(ad, "MemoryUsage", *memory_usage);
                measure(ad, "ResidentSetSize", Some(resident.unwrap_or(0)));
                measure(ad, "ProportionalSetSize", *proportional);
            }
            Body::Generic(info) => text(ad, "Info", info),
            Body::Aborted(reason) | Body::Released(reason) | Body::DataflowSkipped(reason) => {
                text(ad, "Reason", reason)
            }
            Body::Suspended(count) => ad.set("NumberOfPIDs", *count),
            Body::Unsuspended => {}
            Body::Held { reason, code, subcode } => {
                text(ad, "HoldReason", reason);
                hold_codes(ad, *code, *subcode);
            }
            Body::RemoteError { critical, daemon, host, message, code, subcode } => {
                text(ad, "Daemon", daemon);
                text(ad, "ExecuteHost", host);
                text(ad, "ErrorMsg", message);
                if !critical {
                    // A number, unlike all others.
                    ad.set("CriticalError", 0);
                }
                if *code != 0 {
                    hold_codes(ad, *code, *subcode);
                }
            }
            Body::Disconnected { reason, startd, address } => {
                text(ad, "DisconnectReason", reason);
                text(ad, "StartdName", startd);
                text(ad, "StartdAddr", address);
                ad.set("EventDescription", "Job disconnected, attempting to reconnect");
            }
            Body::Reconnected { startd, startd_address, starter_address } => {
                text(ad, "StartdName", startd);
                text(ad, "StartdAddr", startd_address);
                text(ad, "StarterAddr", starter_address);
                ad.set("EventDescription", "Job reconnected");
            }
            Body::ReconnectFailed { reason, startd } => {
                text(ad, "Reason", reason);
                text(ad, "StartdName", startd);
                ad.set("EventDescription", "Job reconnect impossible: rescheduling job");
            }
            Body::AttributeUpdate { name, value, .. } => {
                text(ad, "Attribute", name);
                text(ad, "Value", value);
            }
            Body::ClusterSubmit { host } => text(ad, "SubmitHost", host),
            Body::ClusterRemove { jobs, items, completion, notes } => {
                text(ad, "Notes", notes);
                ad.set("NextProcId", i64::from(*jobs));
                ad.set("NextRow", i64::from(*items));
                ad.set("Completion", i64::from(*completion));
            }
            Body::Reuse(reuse) => reuse.add_to(ad),
            Body::Transfer { step, host } => {
                ad.set("Type", *step as i64);
                text(ad, "Host", host);
            }
            Body::JobAdInformation(information) => {
                let kept = ad.clone();
                ad.update(information);
                // What stands there already says what event it is.
                ad.update(&kept);
            }
            Body::Other { number, lines } => match others::attributes(*number, lines) {
                Some(told) => ad.update(&told),
                None if older(ad, *number, lines).is_some() => {}
                None => text(ad, "Info", &bstr::join("\n", lines)),
            },
        }
    }
}
