//! Events that the router writes to the user logs of source jobs, with all their lines.

use std::fs;
use std::path::Path;

use htc_hooks::job::JobId;
use htc_hooks::time::ClockReading;
use htc_hooks::user_log::{EventBody, EventTime, FormatOptions, JobEvent};
use htc_hooks::world::World;

use super::super::Outcome;
use super::super::findings::Difference;
use super::recording::{Recording, seconds_of_civil};
use super::session::Session;

/// Events written by the schedd and by submitters: SUBMIT and RELEASED; and events that follow another one.
const FOREIGN_EVENTS: [&str; 3] = ["000", "013", "028"];
/// Maximum time difference of an event, in seconds.
const SLACK: f64 = 3.0;

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct UserLogEvent {
    /// The job.
    pub id: JobId,
    /// The time, in seconds since the epoch.
    pub at: f64,
    /// The lines, without the time.
    pub text: String,
}

impl UserLogEvent {
    /// Formats an event with this body.
    pub fn of(id: JobId, at: f64, body: EventBody) -> Self {
        let zone = htc_hooks::os::RealWorld::new().zone(0);
        let time = EventTime::from_micros(
            ClockReading::from_epoch(at as i64).wall_us,
            FormatOptions::default(),
            &zone,
        );
        let text = JobEvent::new(id.cluster, id.proc, time, body).to_text(FormatOptions::default());
        UserLogEvent::read(&String::from_utf8_lossy(&text)).map_or_else(
            || UserLogEvent { id, at, text: "not an event".to_owned() },
            |event| UserLogEvent { at, ..event },
        )
    }

    /// Parses `NNN (CCC.PPP.SSS) YYYY-MM-DD HH:MM:SS TEXT`, and the following lines.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_end().strip_suffix("...").unwrap_or(text);
        let (head, rest) = text.split_once(") ")?;
        let (number, id) = head.split_once(" (")?;
        let mut parts = id.split('.').map(|part| part.parse::<i32>());
        let id = JobId::new(parts.next()?.ok()?, parts.next()?.ok()?);
        let (date, rest) = rest.split_once(' ')?;
        let (time, rest) = rest.split_once(' ')?;
        let numbers = |text: &str, separator| -> Option<Vec<i64>> {
            text.split(separator).map(|part| part.parse().ok()).collect()
        };
        let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
        let at = seconds_of_civil(
            [*date.first()?, *date.get(1)?, *date.get(2)?],
            [*time.first()?, *time.get(1)?, *time.get(2)?],
        );
        Some(UserLogEvent { id, at, text: format!("{number} {}", rest.trim_end()) })
    }
}

/// Returns the events in all logs of a recording that a router writes.
pub fn recorded(directory: &Path) -> Vec<UserLogEvent> {
    let entries = fs::read_dir(directory.join("jobs")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let logs = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "log"));
    let texts = logs.filter_map(|path| fs::read_to_string(path).ok());
    let mut all: Vec<UserLogEvent> = texts
        .flat_map(|text| text.split("...\n").filter_map(UserLogEvent::read).collect::<Vec<_>>())
        .collect();
    all.retain(|event| FOREIGN_EVENTS.iter().all(|number| !event.text.starts_with(number)));
    all
}

/// Compares the events of each job with the recorded ones, in order.
pub fn compare(recording: &Recording, session: &Session<'_>, outcome: &mut Outcome) {
    let ours = &session.events;
    let known = |event: &&UserLogEvent| event.at <= recording.end;
    let mut jobs: Vec<JobId> =
        recording.events.iter().chain(ours).filter(known).map(|event| event.id).collect();
    jobs.sort_unstable();
    jobs.dedup();
    for id in jobs {
        let of = |all: &[UserLogEvent]| -> Vec<UserLogEvent> {
            all.iter().filter(known).filter(|event| event.id == id).cloned().collect()
        };
        let (recorded, ours) = (of(&recording.events), of(ours));
        for at in 0..recorded.len().max(ours.len()) {
            let pair = (recorded.get(at), ours.get(at));
            outcome.counts.values.compared += pair.0.map_or(0, |event| event.text.lines().count());
            let same = matches!(pair, (Some(a), Some(b)) if a.text == b.text && (a.at - b.at).abs() <= SLACK);
            // Events of the last seconds may be missing in the recording.
            let last = matches!(pair, (None, Some(event)) if event.at > recording.end - SLACK);
            let of_parted = pair.1.is_none() && session.parted.contains(&id);
            if !same && !last && !of_parted {
                let shown = |event: Option<&UserLogEvent>| {
                    event.map(|event| format!("{:.0} {}", event.at, event.text))
                };
                outcome.differences.push(Difference {
                    place: format!("job {id}"),
                    what: format!("event {} of its user log", at + 1),
                    recorded: shown(pair.0),
                    ours: shown(pair.1),
                });
                break;
            }
        }
    }
}
