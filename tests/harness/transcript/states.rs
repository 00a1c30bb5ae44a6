//! States and activities of the slots, from the recording's log lines and our events.

use std::collections::BTreeMap;

use serde_json::Value;

/// The states of each slot, as `State/Activity`.
pub type States = BTreeMap<String, Vec<String>>;

/// Reads the states from the recording's timeline: lines `slot1: Changing state and activity: A/x -> B/y` and
/// shorter forms.
pub fn recorded(timeline: &str) -> States {
    let mut states = States::new();
    for line in timeline.lines() {
        let Some((_, rest)) = line.split_once(" startd ") else { continue };
        let Some((slot, change)) = rest.trim().split_once(": Changing ") else { continue };
        let Some((what, (from, to))) =
            change.split_once(": ").and_then(|(what, rest)| Some((what, rest.split_once(" -> ")?)))
        else {
            continue;
        };
        let list = states.entry(slot.to_owned()).or_default();
        let last = list.last().cloned().unwrap_or_else(|| "Owner/Idle".to_owned());
        if list.is_empty() {
            list.push(if what == "state" { format!("{from}/Idle") } else { last.clone() });
        }
        let (state, _) = last.split_once('/').unwrap_or((&last, "Idle"));
        list.push(match what {
            "state" => format!("{to}/Idle"),
            "activity" => format!("{state}/{to}"),
            _ => to.to_owned(),
        });
    }
    states
}

/// Reads the states from our events.
pub fn ours(events: &[Value]) -> States {
    let mut states = States::new();
    for event in events.iter().filter(|event| event.get("event").and_then(Value::as_str) == Some("state")) {
        let word = |key: &str| event.get(key).and_then(Value::as_str);
        let (Some(slot), Some(state), Some(activity)) = (word("slot"), word("state"), word("activity"))
        else {
            continue;
        };
        let list = states.entry(slot.to_owned()).or_default();
        let now = format!("{state}/{activity}");
        if list.is_empty() && now != "Owner/Idle" {
            list.push("Owner/Idle".to_owned());
        }
        if list.last() != Some(&now) {
            list.push(now);
        }
    }
    states
}

/// Removes the loops in which a claim was given up because a fetch returned nothing, and a new claim was made
/// at once.
pub fn without_gaps(states: &[String]) -> Vec<String> {
    const LOOP: [&str; 4] = ["Preempting/Vacating", "Owner/Idle", "Unclaimed/Idle", "Claimed/Idle"];
    let mut out: Vec<String> = Vec::new();
    let mut rest = states;
    while let Some((state, after)) = rest.split_first() {
        out.push(state.clone());
        rest = match after.get(..LOOP.len()) {
            Some(next) if state == "Claimed/Idle" && next == LOOP => &after[LOOP.len()..],
            _ => after,
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_activity_keeps_the_state() {
        let timeline = "   +1.0 startd         slot1: Changing state: Owner -> Unclaimed\n   +2.0 startd         slot1: Changing state: Unclaimed -> Claimed\n   +3.0 startd         slot1: Changing activity: Idle -> Busy\n";
        assert_eq!(
            recorded(timeline)["slot1"],
            ["Owner/Idle", "Unclaimed/Idle", "Claimed/Idle", "Claimed/Busy"]
        );
    }
}
