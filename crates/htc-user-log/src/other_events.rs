//! Attributes of events that only other programs write: schedds with notes, failing shadows, grid managers,
//! DAGMan, job factories. Their lines are kept unchanged; this module extracts what 25.14 reads from them
//! (`readEvent` and `toClassAd` of each event, `condor_event.cpp`).

use bstr::{BString, ByteSlice};

use super::body_parser::{EventLines, parse_hold_codes, split_integer};
use super::event_body::{EventBody, FileTransferStep};
use htc_classad::{ClassAd, Dialect, Value};

/// Parses the attributes of an event with this number, or returns `None` if the lines do not have the expected form.
/// Lines that contain more than the attributes are also set as `Info`.
pub(super) fn parse_attributes(number: u16, lines: &[BString]) -> Option<ClassAd> {
    let (first, rest) = lines.split_first()?;
    let first = first.as_slice();
    let mut ad = ClassAd::new();
    match number {
        0 => parse_submit(first, rest, &mut ad)?,
        2 => parse_executable_error(first, &mut ad)?,
        3 => parse_checkpointed(first, rest, &mut ad)?,
        7 => parse_shadow_exception(first, rest, &mut ad)?,
        9 => parse_reason_event(b"Job was aborted", lines, &mut ad)?,
        12 => parse_held(first, rest, &mut ad)?,
        13 => parse_reason_event(b"Job was released.", lines, &mut ad)?,
        16 => parse_post_script(first, rest, &mut ad)?,
        25 => parse_grid_event(b"Grid Resource Back Up", first, rest, &mut ad)?,
        26 => parse_grid_event(b"Detected Down Grid Resource", first, rest, &mut ad)?,
        27 => {
            parse_grid_event(b"Job submitted to grid resource", first, rest, &mut ad)?;
            set_text(&mut ad, "GridJobId", rest.get(1)?.strip_prefix(b"    GridJobId: ")?);
        }
        29 | 30 => {}
        34 => {
            let notes = Some(rest.first()?.trim()).filter(|notes| !notes.is_empty())?;
            set_text(&mut ad, "SkipEventLogNotes", notes);
        }
        35 => {
            set_text(&mut ad, "SubmitHost", first.strip_prefix(b"Cluster submitted from host: ")?);
            parse_notes(rest, &mut ClassAd::new(), &mut ad);
        }
        36 => {
            first.strip_prefix(b"Cluster removed").filter(|_| rest.is_empty())?;
            ["NextProcId", "NextRow", "Completion"].into_iter().for_each(|name| ad.set(name, 0));
        }
        37 => parse_factory_paused(first, rest, &mut ad),
        38 => set_text(
            &mut ad,
            "Reason",
            lines_after_banner(first, rest, "esume").first().map_or(b"", |reason| reason.trim_start()),
        ),
        40 => parse_transfer(first, rest, &mut ad)?,
        46 => parse_reason_event(b"Dataflow job was skipped.", lines, &mut ad)?,
        47 => {
            let at = first.find(b"Common files event: ")?;
            let kind = &first[at + b"Common files event: ".len()..];
            ad.set("Type", BString::from(Some(kind).filter(|kind| !kind.is_empty())?));
        }
        1 | 4..=6 | 8 | 10 | 11 | 14 | 15 | 21..=24 | 28 | 33 | 41..=45 => return None,
        _ => parse_future_event(first, rest, lines, &mut ad),
    }
    Some(ad)
}

fn parse_executable_error(first: &[u8], ad: &mut ClassAd) -> Option<()> {
    let (kind, rest) = split_integer(first.strip_prefix(b"(")?)?;
    rest.strip_prefix(b")")?;
    if kind >= 0 {
        ad.set("ExecuteErrorType", kind);
    }
    Some(())
}

/// Parses the line after the banner as the reason; further lines are ignored.
fn parse_reason_event(banner: &[u8], lines: &[BString], ad: &mut ClassAd) -> Option<()> {
    let (first, rest) = lines.split_first()?;
    first.strip_prefix(banner)?;
    set_text(ad, "Reason", rest.first()?.trim());
    ad.set("Info", bstr::join("\n", lines).as_bstr().to_owned());
    Some(())
}

fn parse_grid_event(banner: &[u8], first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    first.strip_prefix(banner)?;
    set_text(ad, "GridResource", rest.first()?.strip_prefix(b"    GridResource: ")?);
    Some(())
}

/// Rewrites the lines of an event to the wording of 25.14, for events of earlier releases and of the nodes of parallel
/// jobs. Returns the number, the lines and the node number, if there is one; or `None` if the event is neither of
/// these.
pub(super) fn to_current_wording(number: u16, lines: &[BString]) -> Option<(u16, Vec<BString>, Option<i64>)> {
    let count = lines.len() - lines.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let mut lines = lines.get(..count).filter(|lines| !lines.is_empty())?.to_vec();
    lines[1..].iter_mut().for_each(|line| normalize_indent(number, line));
    let mut node = None;
    let number = match number {
        4 => {
            update_old_eviction(&mut lines)?;
            4
        }
        5 => 5,
        14 | 15 => {
            let first = lines.first_mut()?;
            let (which, words) = split_integer(first.strip_prefix(b"Node ")?)?;
            node = Some(which);
            *first = [b"Job", words].concat().into();
            for line in &mut lines[1..] {
                if let Some(label) = line.strip_suffix(b"By Node") {
                    *line = [label, b"By Job"].concat().into();
                }
            }
            if number == 14 { 1 } else { 5 }
        }
        1 | 6 | 8 | 10..=12 | 21..=24 => number,
        _ => return None,
    };
    match number {
        1 => {
            let is_read = |line: &BString| line.starts_with(b"\tSlotName: ") || line.contains_str(" = ");
            let mut is_first = true;
            lines.retain(|line| std::mem::take(&mut is_first) || is_read(line));
        }
        5 => complete_terminated_lines(&mut lines),
        _ => {}
    }
    Some((number, lines, node))
}

/// Replaces the leading whitespace of a line by the whitespace that 25.14 writes for the event's kind. The reference
/// accepts any whitespace when it reads.
fn normalize_indent(number: u16, line: &mut BString) {
    let words = line.trim_start();
    let space: &[u8] = match number {
        22..=24 => b"    ",
        _ if words.starts_with(b"Usr ") => b"\t\t",
        // Rows of the table of resources keep their leading whitespace.
        _ if line.starts_with(b"\t ") => return,
        _ => b"\t",
    };
    *line = [space, words].concat().into();
}

/// Parses the event from the largest number of leading lines that match its kind; like the reference, ignores the lines
/// after them.
pub(super) fn parse_ignoring_extra_lines(number: u16, lines: &[BString]) -> Option<EventBody> {
    (1..=lines.len()).rev().find_map(|count| EventBody::parse(number, &lines[..count]))
}

/// Converts an eviction with the line `Job was not checkpointed.` to the wording of 25.14.
fn update_old_eviction(lines: &mut [BString]) -> Option<()> {
    let flag_line = lines.get_mut(1)?;
    let (flag, words) = split_integer(flag_line.strip_prefix(b"\t(")?)?;
    if words.starts_with(b") Job terminated and was requeued") {
        return Some(());
    }
    *flag_line = if flag == 0 { "\t(0) CPU times" } else { "\t(1) Job was checkpointed." }.into();
    let is_reason = |line: &&mut BString| {
        !line.starts_with(b"\tPartitionable Resources") && !line.starts_with(b"\tReason: ")
    };
    // The reason is the line after the flags, the usage and the byte counts.
    if let Some(reason) = lines.get_mut(6).filter(is_reason) {
        *reason = [b"\tReason: ", reason.trim()].concat().into();
    }
    Some(())
}

/// Removes the final line `Job terminated ...` and the empty line before it, and adds byte counts if they are
/// missing.
fn complete_terminated_lines(lines: &mut Vec<BString>) {
    if lines.last().is_some_and(|line| line.starts_with(b"\tJob terminated ")) {
        lines.pop();
        lines.pop_if(|line| line.trim().is_empty());
    }
    if lines.last().is_some_and(|line| line.ends_with(b"  -  Total Local Usage")) {
        for period in ["Run", "Total"] {
            lines.extend(
                ["Sent", "Received"]
                    .map(|direction| format!("\t0  -  {period} Bytes {direction} By Job").into()),
            );
        }
    }
}

fn set_text(ad: &mut ClassAd, name: &str, value: &[u8]) {
    if !value.is_empty() {
        ad.set(name, BString::from(value));
    }
}

/// Parses a submitted job with notes of more than one kind.
fn parse_submit(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    set_text(ad, "SubmitHost", first.strip_prefix(b"Job submitted from host: ")?);
    let mut text_notes = ClassAd::new();
    parse_notes(rest, &mut text_notes, ad);
    ad.update(&text_notes);
    Some(())
}

/// Parses notes. Sets structured notes and node names in `ad`, and text notes in `text_notes`.
fn parse_notes(lines: &[BString], text_notes: &mut ClassAd, ad: &mut ClassAd) {
    const STRUCTURE: &str = "StructuredNotes";
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let mut set_structure = |found: Option<ClassAd>| {
            text_notes.set("LogNotes", BString::from(line));
            if let Some(found) = found.filter(|found| !found.is_empty() && !ad.contains(STRUCTURE)) {
                ad.set(STRUCTURE, Value::Ad(found.into()));
            }
        };
        if line.starts_with(b"[") {
            set_structure(ClassAd::parse_new(line, Dialect::new_syntax()).ok());
        } else if let Some(node) = line.strip_prefix(b"DAG Node: ") {
            let mut structure = ClassAd::new();
            structure.set("DAGNodeName", BString::from(node.trim()));
            set_structure(Some(structure));
        } else if line.starts_with(b"WARNING: ") {
            text_notes.set("Warnings", BString::from(line));
        } else if let Some(name) = ["LogNotes", "UserNotes"].get(at) {
            set_text(text_notes, name, line);
        }
    }
}

/// Parses a hold without a reason or without codes.
fn parse_held(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    first.strip_prefix(b"Job was held.")?;
    let reason = rest.first().map_or(b"".as_slice(), |line| line.trim());
    set_text(ad, "HoldReason", if reason == b"Reason unspecified" { b"" } else { reason });
    let codes = rest.get(1).and_then(|line| parse_hold_codes(line.strip_prefix(b"\tCode ")?));
    let (code, subcode) = codes.unwrap_or((0, 0));
    ad.set("HoldReasonCode", i64::from(code));
    ad.set("HoldReasonSubCode", i64::from(subcode));
    Some(())
}

fn parse_checkpointed(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    first.strip_prefix(b"Job was checkpointed.")?;
    let mut lines = EventLines::new(rest);
    let mut usage = |label: &str| lines.read_cpu_time(&format!("  -  {label}")).map(|time| time.to_text());
    ad.set("RunRemoteUsage", usage("Run Remote Usage")?.as_str());
    ad.set("RunLocalUsage", usage("Run Local Usage")?.as_str());
    let sent = match rest.get(2) {
        Some(line) => parse_bytes(line, b"  -  Run Bytes Sent By Job For Checkpoint")?,
        None => 0.0,
    };
    ad.set("SentBytes", sent);
    Some(())
}

fn parse_shadow_exception(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    first.strip_prefix(b"Shadow exception!")?;
    ad.set("Message", rest.first().map_or_else(BString::default, |line| line.trim().into()));
    let sent = rest.get(1).and_then(|line| parse_bytes(line, b"  -  Run Bytes Sent By Job"));
    let received = rest.get(2).filter(|_| sent.is_some());
    ad.set("SentBytes", sent.unwrap_or(0.0));
    ad.set(
        "ReceivedBytes",
        received.and_then(|line| parse_bytes(line, b"  -  Run Bytes Received By Job")).unwrap_or(0.0),
    );
    Some(())
}

fn parse_bytes(line: &[u8], label: &[u8]) -> Option<f64> {
    line.strip_prefix(b"\t")?.strip_suffix(label)?.to_str().ok()?.trim().parse().ok()
}

fn parse_post_script(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    first.strip_prefix(b"POST Script terminated.")?;
    let termination = rest.first()?;
    if let Some(code) = termination.strip_prefix(b"\t(1) Normal termination (return value ") {
        ad.set("TerminatedNormally", true);
        let (code, _) = split_integer(code)?;
        if code >= 0 {
            ad.set("ReturnValue", code);
        }
    } else {
        let signal = termination.strip_prefix(b"\t(0) Abnormal termination (signal ")?;
        ad.set("TerminatedNormally", false);
        let (signal, _) = split_integer(signal)?;
        if signal >= 0 {
            ad.set("TerminatedBySignal", signal);
        }
    }
    if let Some(node) = rest.get(1).and_then(|line| line.trim().strip_prefix(b"DAG Node: ")) {
        set_text(ad, "DAGNodeName", node);
    }
    Some(())
}

/// Returns the lines after the first line, or an empty slice if the first line does not contain `word`.
fn lines_after_banner<'a>(first: &[u8], rest: &'a [BString], word: &str) -> &'a [BString] {
    if first.contains_str(word) { rest } else { &[] }
}

fn parse_factory_paused(first: &[u8], rest: &[BString], ad: &mut ClassAd) {
    let (mut pause, mut hold) = (0, 0);
    let lines = lines_after_banner(first, rest, "ause");
    if let Some((reason, codes)) = lines.split_first() {
        set_text(ad, "Reason", reason.trim_start());
        let number = |line: &[u8], word: &str| {
            let at = line.find(word)?;
            Some(split_integer(&line[at + word.len()..]).map_or(0, |(code, _)| code))
        };
        for line in codes {
            pause = number(line, "PauseCode ").unwrap_or(pause);
            hold = number(line, "HoldCode ").unwrap_or(hold);
        }
    }
    ad.set("PauseCode", pause);
    ad.set("HoldCode", hold);
}

/// Parses a file transfer event with the time that the transfer waited in a queue.
fn parse_transfer(first: &[u8], rest: &[BString], ad: &mut ClassAd) -> Option<()> {
    let step = FileTransferStep::ALL.into_iter().find(|step| step.text().as_bytes() == first)?;
    ad.set("Type", step as i64);
    let mut rest = rest.iter();
    let mut line = rest.next();
    if let Some(seconds) = line.and_then(|line| line.strip_prefix(b"\tSeconds spent in queue: ")) {
        let (seconds, end) = split_integer(seconds)?;
        end.is_empty().then_some(())?;
        ad.set("QueueingDelay", seconds);
        line = rest.next();
    }
    if let Some(host) = line.and_then(|line| line.strip_prefix(b"\tTransferring to host: ")) {
        set_text(ad, "Host", host);
    }
    Some(())
}

/// Parses an event of a kind unknown to 25.14 by reading the assignments in its lines.
fn parse_future_event(first: &[u8], rest: &[BString], lines: &[BString], ad: &mut ClassAd) {
    ad.set("EventHead", BString::from(first));
    let mut all_assigned = true;
    for line in rest {
        all_assigned &= ad.insert_line(line).is_ok();
    }
    if !all_assigned {
        ad.set("Info", bstr::join("\n", lines).as_bstr().to_owned());
    }
}
