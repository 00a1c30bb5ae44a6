//! Events as ads, and these ads as XML and JSON (`ULogEvent::toClassAd`).

use bstr::BString;

use super::event_body::{EventBody, EvictedEvent, JobTermination, RunUsage, TerminatedEvent};
use super::{EventKind, JobEvent, other_events};
use htc_classad::format::{json, xml};
use htc_classad::syntax::Dialect;
use htc_classad::{ClassAd, Expr, Value};

impl JobEvent {
    /// Converts the event to an ad.
    pub fn to_ad(&self) -> ClassAd {
        let mut ad = ClassAd::new();
        self.write_ad(&mut ad);
        ad
    }

    /// Replaces the attributes of an ad by those of the event.
    pub fn write_ad(&self, ad: &mut ClassAd) {
        ad.clear();
        ad.set("EventTypeNumber", i64::from(self.number));
        let my_type = EventKind::from_number(self.number).map_or("FutureEvent", EventKind::my_type);
        ad.set("MyType", my_type);
        ad.set("EventTime", self.time.to_iso().as_str());
        for (name, value) in [("Cluster", self.cluster), ("Proc", self.proc), ("Subproc", self.subproc)] {
            if value >= 0 {
                ad.set(name, i64::from(value));
            }
        }
        self.body.add_to_ad(ad);
    }

    /// Formats the event as XML: one ad without a header, with four spaces per level.
    pub fn to_xml(&self) -> Vec<u8> {
        let mut out = Vec::new();
        xml::push(&self.to_ad(), xml::XmlLayout::Spaced, &mut out);
        out
    }

    /// Formats the event as JSON in the layout of `EVENT_LOG`.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        json::push(&self.to_ad(), json::JsonLayout::Indented, &mut out);
        out.push(b'\n');
        out
    }
}

fn set_text(ad: &mut ClassAd, name: &str, value: &[u8]) {
    if !value.is_empty() {
        ad.set(name, BString::from(value));
    }
}

fn set_usage(ad: &mut ClassAd, run: &RunUsage) {
    ad.set("RunLocalUsage", run.local.to_text().as_str());
    ad.set("RunRemoteUsage", run.remote.to_text().as_str());
    ad.set("SentBytes", run.sent);
    ad.set("ReceivedBytes", run.received);
}

fn set_termination(ad: &mut ClassAd, ending: &JobTermination) {
    ad.set("TerminatedNormally", matches!(ending, JobTermination::Exited(_)));
    match ending {
        JobTermination::Exited(code) => ad.set("ReturnValue", i64::from(*code)),
        JobTermination::Signalled(signal, core) => {
            ad.set("TerminatedBySignal", i64::from(*signal));
            set_text(ad, "CoreFile", core.as_ref().map_or(b"", |path| path.as_slice()));
        }
    }
}

fn set_hold_codes(ad: &mut ClassAd, code: i32, subcode: i32) {
    ad.set("HoldReasonCode", i64::from(code));
    ad.set("HoldReasonSubCode", i64::from(subcode));
}

fn set_measurement(ad: &mut ClassAd, name: &str, value: Option<i64>) {
    // A negative number means that the value is unknown.
    if let Some(value) = value.filter(|value| *value >= 0) {
        ad.set(name, value);
    }
}

/// Sets the properties that the slot reports, as a nested ad.
fn set_execute_properties(ad: &mut ClassAd, properties: &[(BString, BString)]) {
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

fn set_evicted(ad: &mut ClassAd, event: &EvictedEvent) {
    ad.set("Checkpointed", event.checkpointed);
    set_usage(ad, &event.run);
    ad.set("TerminatedAndRequeued", event.requeued.is_some());
    ad.set("TerminatedNormally", false);
    if let Some(termination) = &event.requeued {
        set_termination(ad, termination);
    }
    set_text(ad, "Reason", &event.reason);
    let (code, subcode) = event.code;
    if code != 0 {
        ad.set("ReasonCode", i64::from(code));
        ad.set("ReasonSubCode", i64::from(subcode));
    }
}

fn set_terminated(ad: &mut ClassAd, event: &TerminatedEvent) {
    // The reference does not put the resources of an eviction into its ad, only into its text.
    for (name, text) in event.resources.iter().flat_map(|table| &table.attributes) {
        if let Ok(expr) = Expr::parse_with(text, Dialect::old_syntax()) {
            // The reference omits a name that is not a valid attribute name.
            let _ = ad.try_insert(name.as_slice(), expr);
        }
    }
    set_termination(ad, &event.termination);
    set_usage(ad, &event.run);
    ad.set("TotalLocalUsage", event.total.local.to_text().as_str());
    ad.set("TotalRemoteUsage", event.total.remote.to_text().as_str());
    ad.set("TotalSentBytes", event.total.sent);
    ad.set("TotalReceivedBytes", event.total.received);
}

/// Adds the attributes of an event that an older release or a node of a parallel job wrote. Returns `None` for any
/// other event.
fn add_older_event(ad: &mut ClassAd, number: u16, lines: &[BString]) -> Option<()> {
    let (number, lines, node) = other_events::to_current_wording(number, lines)?;
    other_events::parse_ignoring_extra_lines(number, &lines)?.add_to_ad(ad);
    if let Some(node) = node {
        ad.set("Node", node);
        // The terminated event of a node has both attributes, -1 for the missing one.
        for name in ["ReturnValue", "TerminatedBySignal"].into_iter().filter(|_| number == 5) {
            if !ad.contains(name) {
                ad.set(name, -1);
            }
        }
    }
    Some(())
}

impl EventBody {
    fn add_to_ad(&self, ad: &mut ClassAd) {
        match self {
            EventBody::Submit { host, log_notes, user_notes, structure } => {
                set_text(ad, "SubmitHost", host);
                set_text(ad, "LogNotes", log_notes);
                set_text(ad, "UserNotes", user_notes);
                if !structure.is_empty() {
                    ad.set("StructuredNotes", Value::from(structure.clone()));
                }
            }
            EventBody::Execute { host, slot_name, properties } => {
                set_text(ad, "ExecuteHost", host);
                set_text(ad, "SlotName", slot_name);
                set_execute_properties(ad, properties);
            }
            EventBody::Evicted(event) => set_evicted(ad, event),
            EventBody::Terminated(event) => set_terminated(ad, event),
            EventBody::ImageSize { size, memory_usage, resident, proportional } => {
                set_measurement(ad, "Size", Some(*size));
                set_measurement(ad, "MemoryUsage", *memory_usage);
                set_measurement(ad, "ResidentSetSize", Some(resident.unwrap_or(0)));
                set_measurement(ad, "ProportionalSetSize", *proportional);
            }
            EventBody::Generic(info) => set_text(ad, "Info", info),
            EventBody::Aborted(reason) | EventBody::Released(reason) | EventBody::DataflowSkipped(reason) => {
                set_text(ad, "Reason", reason)
            }
            EventBody::Suspended(count) => ad.set("NumberOfPIDs", *count),
            EventBody::Unsuspended => {}
            EventBody::Held { reason, code, subcode } => {
                set_text(ad, "HoldReason", reason);
                set_hold_codes(ad, *code, *subcode);
            }
            EventBody::RemoteError { critical, daemon, host, message, code, subcode } => {
                set_text(ad, "Daemon", daemon);
                set_text(ad, "ExecuteHost", host);
                set_text(ad, "ErrorMsg", message);
                if !critical {
                    // CriticalError is a number, unlike other flags.
                    ad.set("CriticalError", 0);
                }
                if *code != 0 {
                    set_hold_codes(ad, *code, *subcode);
                }
            }
            EventBody::Disconnected { reason, startd, address } => {
                set_text(ad, "DisconnectReason", reason);
                set_text(ad, "StartdName", startd);
                set_text(ad, "StartdAddr", address);
                ad.set("EventDescription", "Job disconnected, attempting to reconnect");
            }
            EventBody::Reconnected { startd, startd_address, starter_address } => {
                set_text(ad, "StartdName", startd);
                set_text(ad, "StartdAddr", startd_address);
                set_text(ad, "StarterAddr", starter_address);
                ad.set("EventDescription", "Job reconnected");
            }
            EventBody::ReconnectFailed { reason, startd } => {
                set_text(ad, "Reason", reason);
                set_text(ad, "StartdName", startd);
                ad.set("EventDescription", "Job reconnect impossible: rescheduling job");
            }
            EventBody::AttributeUpdate { name, value, .. } => {
                set_text(ad, "Attribute", name);
                set_text(ad, "Value", value);
            }
            EventBody::ClusterSubmit { host } => set_text(ad, "SubmitHost", host),
            EventBody::ClusterRemove { jobs, items, completion, notes } => {
                set_text(ad, "Notes", notes);
                ad.set("NextProcId", i64::from(*jobs));
                ad.set("NextRow", i64::from(*items));
                ad.set("Completion", i64::from(*completion));
            }
            EventBody::Reuse(reuse) => reuse.add_to_ad(ad),
            EventBody::Transfer { step, host } => {
                ad.set("Type", *step as i64);
                set_text(ad, "Host", host);
            }
            EventBody::JobAdInformation(information) => {
                let kept = ad.clone();
                ad.update(information);
                // The attributes that `ad` already had identify the event and take precedence.
                ad.update(&kept);
            }
            EventBody::Other { number, lines } => match other_events::parse_attributes(*number, lines) {
                Some(attributes) => ad.update(&attributes),
                None if add_older_event(ad, *number, lines).is_some() => {}
                None => set_text(ad, "Info", &bstr::join("\n", lines)),
            },
        }
    }
}
