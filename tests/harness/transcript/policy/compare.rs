//! Compares the states of slots with the recorded ones.

use super::super::exceptions::{Allow, Exceptions};
use super::super::findings::Difference;
use super::super::subject::Subject;
use super::super::{Outcome, Result};
use super::player::Played;
use super::recording::{Change, Recording};

/// Timers of the daemon and of cron jobs have whole seconds, and each may be up to one second early or late.
const WHOLE_SECONDS: f64 = 2.0;

/// Compares everything.
pub fn compare(
    recording: &Recording,
    played: &Played,
    subject: &Subject,
    outcome: &mut Outcome,
) -> Result<()> {
    let exceptions = Exceptions::load()?;
    let none = Vec::new();
    for (slot, recorded) in &recording.states {
        let ours = played.states.get(slot).unwrap_or(&none);
        outcome.counts.states.compared += recorded.len();
        states(recording, slot, recorded, ours, &mut outcome.differences);
    }
    for (slot, ours) in played.states.iter().filter(|(slot, _)| !recording.states.contains_key(*slot)) {
        outcome.differences.push(Difference {
            place: slot.clone(),
            what: "states".to_owned(),
            recorded: None,
            ours: Some(ours.iter().map(change_text).collect::<Vec<_>>().join(", ")),
        });
    }
    super::ads::compare(recording, played, outcome)?;
    // Decided by random numbers in 25.14.
    let before = outcome.differences.len();
    outcome.differences.retain(|difference| {
        exceptions.find(subject, &difference.place, "states", &difference.what, Allow::Value).is_none()
    });
    let excused = before - outcome.differences.len();
    outcome.counts.states.excused += excused;
    outcome.counts.states.compared -= excused.min(outcome.counts.states.compared);
    outcome.counts.states.compared += recording.ends.len();
    let end = |ends: &[f64]| ends.first().map(|at| format!("at +{at:.3}"));
    let close =
        recording.ends.iter().zip(&played.ends).all(|(then, now)| (then - now).abs() <= tick(recording));
    if recording.ends.len() != played.ends.len() || !close {
        outcome.differences.push(Difference {
            place: "startd".to_owned(),
            what: "end that nobody asked for".to_owned(),
            recorded: end(&recording.ends),
            ours: end(&played.ends),
        });
    }
    if std::env::var_os("HTC_REPLAY_SAID").is_some() {
        played.refusals.iter().for_each(|line| println!("{}: {line}", outcome.name));
        for (slot, changes) in &played.states {
            let all: Vec<String> = changes.iter().map(change_text).collect();
            println!("{}: {slot}: {}", outcome.name, all.join(", "));
        }
    }
    Ok(())
}

fn change_text(change: &Change) -> String {
    let (at, state) = change;
    format!("{state} at +{at:.3}")
}

fn states(
    recording: &Recording,
    slot: &str,
    recorded: &[Change],
    ours: &[Change],
    differences: &mut Vec<Difference>,
) {
    let tick = tick(recording);
    let mut differ = |number: usize, recorded: Option<&Change>, ours: Option<&Change>| {
        differences.push(Difference {
            place: slot.to_owned(),
            what: format!("change {number}"),
            recorded: recorded.map(change_text),
            ours: ours.map(change_text),
        });
    };
    for number in 0..recorded.len().max(ours.len()) {
        match (recorded.get(number), ours.get(number)) {
            (Some(then), Some(now)) if then.1 == now.1 => {
                if (then.0 - now.0).abs() > tick {
                    differ(number + 1, Some(then), Some(now));
                }
            }
            // All later states differ for the same reason.
            (then, now) => return differ(number + 1, then, now),
        }
    }
}

/// Returns the maximum delay of a change, because policies are evaluated at intervals.
pub fn tick(recording: &Recording) -> f64 {
    let number = |name: &str| {
        let mut lines = recording.config.lines().filter_map(|line| line.split_once('='));
        let last = lines.rfind(|(parameter, _)| parameter.trim() == name);
        last.and_then(|(_, value)| value.trim().parse::<f64>().ok())
    };
    let interval = |name: &str, default: f64| number(name).unwrap_or(default);
    interval("POLLING_INTERVAL", 5.0).max(interval("UPDATE_INTERVAL", 300.0)) + WHOLE_SECONDS
}
