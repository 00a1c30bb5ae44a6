//! The fraction of a second on the clock at the start of a recording. Whole seconds determine when a slot
//! fetches, so a replay begins at the same fraction.

use std::collections::HashMap;

use super::calls::{self, Call};
use super::scenario::{Scenario, text};

/// Returns the fraction for one attempt, counted from 1. The daemons' timers drift by some hundredths of a
/// second each time and ours do not, so no fraction fits a whole recording: the first attempt begins at that
/// of the first second, the second attempt at that of the middle, the third at the estimate from the ads, and
/// the fourth like the first.
pub fn of_attempt(scenario: &Scenario, attempt: usize) -> Option<f64> {
    let logged = logged(scenario);
    match attempt {
        1 | 4 => logged.or_else(|| estimated(scenario)),
        2 => logged.map(|phase| (phase + slip(scenario)).rem_euclid(1.0)).or_else(|| estimated(scenario)),
        _ => estimated(scenario).or(logged),
    }
}

/// Returns the fraction at the first change of state, which has the time `11/20/26 23:34:09.440` in the log
/// and `+1.304` in the timeline.
fn logged(scenario: &Scenario) -> Option<f64> {
    let log = text(&scenario.directory.join("StartLog.extract")).ok()?;
    let line = log.lines().find(|line| line.contains("Changing state"))?;
    let (_, fraction) = line.split_whitespace().nth(1)?.split_once('.')?;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some((fraction - scenario.begun()).rem_euclid(1.0))
}

/// Returns the average drift of the fetch timer over the recording, in seconds.
fn slip(scenario: &Scenario) -> f64 {
    let mut before: HashMap<Option<String>, f64> = HashMap::new();
    let (mut slipped, mut sum, mut count) = (0.0, 0.0, 0.0);
    for call in scenario.calls.iter().filter(|call| call.kind() == "FETCH_WORK") {
        if let Some(last) = before.insert(call.slot(), call.start) {
            // A fetch that was caused by an event instead of the timer is not a whole number of seconds after
            // the last one.
            let more = (call.start - last).rem_euclid(1.0);
            if more < 0.1 {
                slipped += more;
            }
            sum += slipped;
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Estimates the fraction from the times in the ads of each FETCH_WORK: the middle of the possible range.
fn estimated(scenario: &Scenario) -> Option<f64> {
    let (mut low, mut high) = (f64::MIN, f64::MAX);
    let mut within = |second: f64, at: f64| {
        // The recorder notes the start of a hook some milliseconds after the daemon, and its end some
        // milliseconds before the daemon.
        let (first, last) = (second - at - 0.004, second + 1.0 - at + 0.012);
        if first < high && last > low {
            (low, high) = (low.max(first), high.min(last));
        }
    };
    let seconds = |call: &Call, name: &str| {
        calls::value(call.stdin.as_deref()?, name).and_then(|text| text.parse::<f64>().ok())
    };
    let mut before: HashMap<Option<String>, &Call> = HashMap::new();
    for call in scenario.calls.iter().filter(|call| call.kind() == "FETCH_WORK") {
        let Some(made) = seconds(call, "LastHeardFrom") else { continue };
        within(made, call.start);
        let last = before.insert(call.slot(), call);
        // The last fetch in the ad is the last recorded one, unless a record was dropped.
        if let Some((last, end)) = last.and_then(|last| Some((last, last.end?)))
            && seconds(call, "LastFetchWorkSpawned") == seconds(last, "LastHeardFrom")
            && let Some(completed) = seconds(call, "LastFetchWorkCompleted")
        {
            within(completed, end);
        }
    }
    (low > f64::MIN).then(|| ((low + high) / 2.0).rem_euclid(1.0))
}
