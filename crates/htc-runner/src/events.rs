//! Event stream of the runners: one record for each event, printed as a readable line or as a JSON line.
//!
//! Schema of a JSON line: an object with `time` (seconds since the epoch, a number with microseconds) and `event` (a
//! word of [`RunnerEventKind`]). The keys `slot`, `state`, `activity`, `hook`, `pid`, `job` (`cluster.proc`),
//! `verdict`, `exit`, `cron` (name of a cron job) and `reason` are present if they apply to the event. New keys may
//! be added; if a key changes its meaning, `schema` of `start` is incremented (`docs/schemas/event.json`).
//!
//! | event | keys | meaning |
//! |---|---|---|
//! | `start` | schema reason | the runner has started |
//! | `stop` | reason | the runner has ended |
//! | `state` | slot state activity reason | the slot changed into this state and activity |
//! | `hook-start` | slot hook pid job | a hook was started; the job is present if a starter called the hook |
//! | `hook-end` | slot hook pid job exit reason | a hook ended |
//! | `hook-failed` | slot hook pid job verdict reason | a hook could not be started, or ran too long; verdict `unknown`: its result is lost |
//! | `hook-stderr` | slot hook pid job reason | output of a hook to stderr, regardless of its exit status |
//! | `verdict` | slot hook job verdict reason | classification of a hook's output |
//! | `claim` | slot verdict reason | a claim `begins` or is `given up`; the reason has its public id, never its secret |
//! | `cron-start` | cron pid | a cron job was started |
//! | `cron-end` | cron pid exit | a cron job ended |
//! | `cron-failed` | cron reason | a cron job could not be started, or its output cannot be used |
//! | `cron-stderr` | cron reason | output of a cron job to stderr |
//! | `cron-published` | cron reason | the output of a cron job changed the attributes that the slots publish |
//! | `starter` | slot job pid exit | a starter was started (no exit), or ended |
//! | `job` | slot job pid exit verdict reason | from the starter: the job was started (`started` and pid), has ended or was not started; from the slot runner: `succeeded` or `failed`, with `exited N`, `signalled N`, `not started`, or `lost with its starter` |
//! | `log` | reason | a line of the job router's log |
//! | `note` | reason | an action was completed successfully |
//! | `warning` | slot hook pid job verdict reason | something needs the user's attention; the verdict is the id of a quirk, or `unknown` if a job may be lost |

use std::io;
use std::time::Duration;

use serde::Serialize;

use htc_base::process::Exit;
use htc_base::text::control_characters::escape_control_characters;
use htc_base::text::plural::counted;
use htc_base::text::words;
use htc_base::time::{ClockReading, MonotonicTime};
use htc_os::LineOutput;
use htc_slot::PolicyValue;

words! {
    /// Kind of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RunnerEventKind.word {
        /// The runner has started.
        Start => "start",
        /// The runner has ended.
        Stop => "stop",
        /// A slot changed its state or activity.
        State => "state",
        /// A hook was started.
        HookStart => "hook started",
        /// A hook ended.
        HookEnd => "hook ended",
        /// A hook could not be started or ran too long.
        HookFailed => "hook failed",
        /// A hook wrote to its standard error.
        HookStderr => "hook stderr",
        /// The output of a hook was classified.
        Verdict => "verdict",
        /// A claim begins or is given up.
        Claim => "claim",
        /// A cron job was started.
        CronStart => "cron job started",
        /// A cron job ended.
        CronEnd => "cron job ended",
        /// A cron job could not be started, or its output cannot be used.
        CronFailed => "cron job failed",
        /// A cron job wrote to its standard error.
        CronStderr => "cron job stderr",
        /// The output of a cron job changed the attributes that the slots publish.
        CronPublished => "cron job published",
        /// A starter was started or ended.
        Starter => "starter",
        /// A job was started, has ended or could not be started.
        Job => "job",
        /// A line that a job router logs.
        Log => "log",
        /// An action was completed successfully.
        Note => "note",
        /// The event needs the user's attention.
        Warning => "warning",
    }
}

impl RunnerEventKind {}

/// Tone of an event for the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTone {
    /// Normal progress.
    Plain,
    /// A goal was reached.
    Success,
    /// A failure.
    Failure,
    /// The event needs attention.
    Warning,
}

/// Verdict on a hook or job whose end is unknown, so that a job may be lost.
pub(crate) const UNKNOWN: &str = "unknown";

/// Value of `exit` for a job whose starter was killed, so that the result of the job is unknown.
pub(crate) const LOST_WITH_STARTER: &str = "lost with its starter";

/// Value of `verdict` and `exit` for a job that was not started.
pub(crate) const NOT_STARTED: &str = "not started";

/// Version of the JSON schema, incremented when an existing key changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// Event of a runner. Create it with [`RunnerEvent::new`] and the setters that apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunnerEvent {
    /// Seconds since the epoch.
    pub time: f64,
    /// Kind of the event.
    #[serde(rename = "event")]
    pub kind: RunnerEventKind,
    /// Version of the schema, in the first event of a runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// Slot id, such as `slot1` or `slot1_2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// State of the slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Activity of the slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<&'static str>,
    /// Type of the hook, such as `FETCH_WORK`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<&'static str>,
    /// Name of a cron job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Process id of hook, starter or job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The job as `cluster.proc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Decision about a hook's output, a claim or a job, or the id of a quirk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Exit status of a process: `exited N` or `signalled N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// Reason, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Value of a policy parameter that is the reason for a change of state; not printed.
    #[serde(skip)]
    pub policy: Option<PolicyValue>,
}

impl RunnerEvent {
    /// Creates an event of a kind at a time; all other fields are empty.
    pub fn new(now: ClockReading, kind: RunnerEventKind) -> Self {
        RunnerEvent {
            time: now.epoch_seconds_f64(),
            kind,
            schema: (kind == RunnerEventKind::Start).then_some(SCHEMA_VERSION),
            slot: None,
            state: None,
            activity: None,
            hook: None,
            cron: None,
            pid: None,
            job: None,
            verdict: None,
            exit: None,
            reason: None,
            policy: None,
        }
    }

    /// Sets the slot.
    pub fn slot(mut self, slot: impl Into<String>) -> Self {
        self.slot = Some(slot.into());
        self
    }

    /// Sets state and activity.
    pub fn state(mut self, state: &'static str, activity: &'static str) -> Self {
        (self.state, self.activity) = (Some(state), Some(activity));
        self
    }

    /// Sets the type of hook.
    pub fn hook(mut self, hook: &'static str) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Sets the name of a cron job.
    pub fn cron(mut self, cron: impl Into<String>) -> Self {
        self.cron = Some(cron.into());
        self
    }

    /// Sets the process id.
    pub fn pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }

    /// Sets the job.
    pub fn job(mut self, job: impl Into<String>) -> Self {
        self.job = Some(job.into());
        self
    }

    /// Sets the verdict.
    pub fn verdict(mut self, verdict: impl Into<String>) -> Self {
        self.verdict = Some(verdict.into());
        self
    }

    /// Sets the exit status of a process.
    pub fn exit(mut self, exit: impl Into<String>) -> Self {
        self.exit = Some(exit.into());
        self
    }

    /// Sets the reason.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Returns the tone of the event.
    pub fn tone(&self) -> EventTone {
        let is_verdict_among =
            |words: &[&str]| self.verdict.as_deref().is_some_and(|verdict| words.contains(&verdict));
        match self.kind {
            RunnerEventKind::HookFailed | RunnerEventKind::CronFailed => EventTone::Failure,
            RunnerEventKind::Warning | RunnerEventKind::HookStderr | RunnerEventKind::CronStderr => {
                EventTone::Warning
            }
            RunnerEventKind::Job if is_verdict_among(&["succeeded"]) => EventTone::Success,
            RunnerEventKind::Job if is_verdict_among(&["failed"]) => EventTone::Failure,
            RunnerEventKind::Verdict if is_verdict_among(&["accepted"]) => EventTone::Success,
            RunnerEventKind::Verdict if is_verdict_among(&["rejected", "bad-output", "accepted-lost"]) => {
                EventTone::Failure
            }
            _ => EventTone::Plain,
        }
    }

    /// Returns true if the event is an error, which is printed at any verbosity: a hook that failed, or whose output
    /// is not valid.
    pub fn is_error(&self) -> bool {
        match self.kind {
            RunnerEventKind::HookFailed | RunnerEventKind::CronFailed => true,
            RunnerEventKind::Warning => self.verdict.as_deref() == Some(UNKNOWN),
            RunnerEventKind::Job => {
                // A starter that failed before it could report anything has not named its job in an event.
                let is_unreported = self.exit.as_deref() == Some(NOT_STARTED) && self.reason.is_none();
                self.verdict.as_deref() == Some(NOT_STARTED)
                    || self.exit.as_deref() == Some(LOST_WITH_STARTER)
                    || is_unreported
            }
            RunnerEventKind::Verdict => {
                matches!(self.verdict.as_deref(), Some("bad-output" | "accepted-lost"))
            }
            _ => false,
        }
    }

    /// Returns the readable line without a newline: `slot1: state: Claimed/Busy: reason`. Control characters are
    /// escaped, so that the event is one line regardless of a hook's output.
    pub fn to_readable_line(&self) -> String {
        let mut line = String::new();
        if let Some(slot) = &self.slot {
            line += slot;
            line += ": ";
        }
        line += self.kind.word();
        let mut part = |lead: &str, text: &str| {
            line += lead;
            line += &escape_control_characters(text);
        };
        if let (Some(state), Some(activity)) = (self.state, self.activity) {
            part(" ", state);
            part("/", activity);
        }
        self.hook.into_iter().for_each(|hook| part(" ", hook));
        self.cron.iter().for_each(|cron| part(" ", cron));
        let lead = if self.kind == RunnerEventKind::Job { " " } else { " job " };
        self.job.iter().for_each(|job| part(lead, job));
        self.pid.into_iter().for_each(|pid| part(" pid ", &pid.to_string()));
        [&self.verdict, &self.exit, &self.reason].into_iter().flatten().for_each(|text| part(": ", text));
        line
    }
}

/// Interval between attempts to write to a reader that does not read fast enough.
const FLUSH_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time to wait, when the stream ends, for a reader that is still reading.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Output of events: readable lines to one destination, JSON lines to another. Writing never blocks a runner: if a
/// reader is too slow, lines are lost, and the loss is reported in their place once the reader reads again. A
/// destination that fails is no longer written to; the failure is reported once at the other destination, or at the
/// destination for [loss reports](EventStream::with_loss_reports).
pub struct EventStream {
    readable: Option<LineOutput>,
    /// Destination for reports of lost events if there are no readable lines.
    complaints: Option<LineOutput>,
    json: Option<LineOutput>,
    prefix: String,
    /// True if a warning about delayed JSON lines was printed.
    reported_slow_reader: bool,
    /// True if a warning about a full disk was printed.
    reported_full_disk: bool,
    /// True if JSON lines could not be written although their reader had not closed the pipe.
    failed: bool,
    ended: bool,
    /// True if readable lines are written only for events that are errors.
    only_errors: bool,
    style: LineStyle,
}

/// Function that colours a text according to a tone.
pub type LinePainter = Box<dyn Fn(EventTone, &str) -> String>;

/// Style of readable lines.
#[derive(Default)]
pub struct LineStyle {
    /// Formats the time of a line, given in seconds since the epoch, or `None` if lines have no time.
    pub time: Option<Box<dyn Fn(f64) -> String>>,
    /// Colours a line, or `None` if lines are not coloured.
    pub paint: Option<LinePainter>,
}

impl EventStream {
    /// Creates a stream to the given destinations. Each readable line begins with `prefix` (for example
    /// `htc-slot-run: `).
    pub fn new(prefix: &str, readable: Option<LineOutput>, json: Option<LineOutput>) -> Self {
        EventStream {
            readable,
            complaints: None,
            json,
            prefix: prefix.to_owned(),
            reported_slow_reader: false,
            reported_full_disk: false,
            failed: false,
            ended: false,
            only_errors: false,
            style: LineStyle::default(),
        }
    }

    /// Sets the destination for reports of lost events, used if there are no readable lines.
    pub fn with_loss_reports(mut self, complaints: Option<LineOutput>) -> Self {
        self.complaints = complaints;
        self
    }

    /// Restricts readable lines to events that are errors if `only_errors` is true.
    pub fn with_errors_only(mut self, only_errors: bool) -> Self {
        self.only_errors = only_errors;
        self
    }

    /// Writes all pending lines and ends the stream. Returns true if every event was written, ignoring readers that
    /// have closed their pipes.
    pub fn finish(mut self) -> bool {
        self.flush_and_close();
        !self.failed
    }

    /// Sets the style of readable lines: their time and colours.
    pub fn with_style(mut self, style: LineStyle) -> Self {
        self.style = style;
        self
    }

    /// Writes an event to both destinations.
    pub fn report(&mut self, event: &RunnerEvent) {
        self.flush();
        self.write_json_event(event);
        if self.only_errors && !event.is_error() {
            return;
        }
        let time = self.style.time.as_ref().map_or_else(String::new, |time| time(event.time) + " ");
        let line = format!("{}{}", self.prefix, event.to_readable_line());
        let line = self.style.paint.as_ref().map_or(line.clone(), |paint| paint(event.tone(), &line));
        self.write_readable(format!("{time}{line}\n").into_bytes());
    }

    /// Writes an event only as JSON. Used for frequent events that a person need not see.
    pub fn report_as_json(&mut self, event: &RunnerEvent) {
        self.flush();
        self.write_json_event(event);
    }

    /// Writes JSON lines received from another program to the JSON destination only.
    pub fn relay_json_lines(&mut self, lines: Vec<u8>) {
        self.write_json_line(lines);
    }

    /// Writes pending lines, as far as the readers accept them.
    pub fn flush(&mut self) {
        self.write_json_line(Vec::new());
        let lost = self.json.as_mut().map_or(0, LineOutput::take_lost_line_count);
        let why = if self.reported_full_disk { DISK_FULL_REASON } else { SLOW_READER_REASON };
        if lost > 0 {
            let now = htc_os::clock::now();
            self.write_json_event(
                &RunnerEvent::new(now, RunnerEventKind::Warning)
                    .reason(format!("{} could not be written here: {why}", counted(lost, "event"))),
            );
        }
        if self.reported_full_disk && self.json.as_ref().is_some_and(|outlet| !outlet.is_disk_full()) {
            self.reported_full_disk = false;
            let lost = if lost > 0 { format!(", except {lost}") } else { String::new() };
            self.write_text_line(&format!(
                "warning: --events can be written again, and the held events are written{lost}"
            ));
        }
        self.write_readable(Vec::new());
        let lost = self.readable.as_mut().map_or(0, LineOutput::take_lost_line_count);
        if lost > 0 {
            self.write_text_line(&format!(
                "warning: {} could not be written here: {SLOW_READER_REASON}",
                counted(lost, "line")
            ));
        }
    }

    /// Returns the time of the next call of [`EventStream::flush`], or `None` if nothing is pending.
    pub fn next_flush(&self, now: MonotonicTime) -> Option<MonotonicTime> {
        let stalled = [&self.readable, &self.json].into_iter().flatten().any(LineOutput::has_pending_lines);
        stalled.then(|| now.plus(FLUSH_RETRY_INTERVAL))
    }

    fn write_json_event(&mut self, event: &RunnerEvent) {
        if self.json.is_none() {
            return;
        }
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        self.write_json_line(line);
        if self.json.as_ref().is_some_and(LineOutput::is_disk_full) {
            if !std::mem::replace(&mut self.reported_full_disk, true) {
                self.report_loss("warning: the disk of --events is full: events are held in memory, and lost if there are too many");
            }
        } else if !self.reported_slow_reader && self.json.as_ref().is_some_and(LineOutput::has_pending_lines)
        {
            self.reported_slow_reader = true;
            self.write_text_line("warning: the reader of --events is too slow: events are held in memory, and lost if there are too many");
        }
    }

    fn write_json_line(&mut self, line: Vec<u8>) {
        if let Some(outlet) = &mut self.json
            && let Err(error) = outlet.write_line(line)
        {
            self.json = None;
            let text = format!("warning: events are no longer written: {error}");
            // A reader that has closed the pipe does not want the lines, so nothing is reported as lost.
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.write_text_line(&text);
            } else {
                self.failed = true;
                self.report_loss(&text);
            }
        }
    }

    /// Reports a loss among the readable lines, or at the destination for loss reports if there are no readable
    /// lines.
    fn report_loss(&mut self, text: &str) {
        match &mut self.complaints {
            Some(outlet) if self.readable.is_none() => {
                // If this write fails as well, no destination is left for reporting the failure.
                let _ = outlet.write_line(format!("{}{text}\n", self.prefix).into_bytes());
            }
            _ => self.write_text_line(text),
        }
    }

    fn write_text_line(&mut self, text: &str) {
        self.write_readable(format!("{}{text}\n", self.prefix).into_bytes());
    }

    fn write_readable(&mut self, line: Vec<u8>) {
        if let Some(outlet) = &mut self.readable
            && outlet.write_line(line).is_err()
        {
            self.readable = None;
        }
    }
}

/// Reason for lost events in reports.
const SLOW_READER_REASON: &str = "nothing read them in time";
const DISK_FULL_REASON: &str = "the disk was full";

impl EventStream {
    fn flush_and_close(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.flush();
        for outlet in [&mut self.json, &mut self.readable].into_iter().flatten() {
            outlet.finish(FINAL_FLUSH_TIMEOUT);
        }
        self.flush();
        let unwritten = self.json.as_ref().map_or(0, LineOutput::unwritten_line_count);
        if unwritten > 0 {
            self.failed |= self.reported_full_disk;
            let why = if self.reported_full_disk { DISK_FULL_REASON } else { SLOW_READER_REASON };
            self.report_loss(&format!("warning: lost at the end: {}: {why}", counted(unwritten, "event")));
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.flush_and_close();
    }
}

/// Formats an exit status as in the schema: `exited 3`, `signalled 9`.
pub fn describe_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited {code}"),
        Exit::Signal { number, .. } => format!("signalled {number}"),
    }
}

/// Formats an error and its causes in one line, for use as a reason.
pub fn error_with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_for_any_hook_output() {
        let event = RunnerEvent::new(ClockReading::from_epoch(7), RunnerEventKind::HookFailed)
            .slot("slot1")
            .hook("FETCH_WORK")
            .reason("a\nb\u{1b}");
        assert_eq!(event.to_readable_line(), "slot1: hook failed FETCH_WORK: a\\nb\\u{1b}");
        assert_eq!(
            serde_json::to_string(&event).ok().as_deref(),
            Some(
                r#"{"time":7.0,"event":"hook-failed","slot":"slot1","hook":"FETCH_WORK","reason":"a\nb\u001b"}"#
            )
        );
    }

    #[test]
    fn a_job_that_its_starter_did_not_report_is_an_error() {
        let event = || {
            let event = RunnerEvent::new(ClockReading::from_epoch(7), RunnerEventKind::Job);
            event.job("2.0").verdict("failed").exit(NOT_STARTED)
        };
        assert!(event().is_error());
        assert!(!event().reason("PREPARE_JOB failed").is_error());
    }
}
