//! Users at keyboards and loads of machines, by hours, days and random times. If several patterns apply to a machine,
//! the keyboard is in use while any of them has a user present, and the loads of all patterns are added.

use std::time::Duration;

use super::host::Host;
use super::random::RandomGenerator;
use super::scenario::{PresencePattern, Scenario, matches_machine};
use super::times::{DayHours, Weekdays};
use htc_base::text::calendar::SECONDS_PER_DAY;
use htc_base::time::ClockReading;

/// Pattern on one machine: a user or a load that comes and goes repeatedly.
pub(super) struct MachinePresence {
    pub host: usize,
    /// Number that is unique among the patterns of all machines.
    number: u32,
    pattern: PresencePattern,
    is_load: bool,
    dice: RandomGenerator,
    /// True if the user is present, or if the load is on.
    is_present: bool,
    /// Time of the last change, in epoch seconds.
    changed_at: f64,
    start: i64,
}

impl MachinePresence {
    /// Creates the presences of a scenario in their initial state.
    pub(super) fn for_scenario(scenario: &Scenario, hosts: &[Host], start: i64) -> Vec<MachinePresence> {
        let keyboards = scenario.keyboards.iter().map(|pattern| (pattern, false));
        let loads = scenario.loads.iter().map(|pattern| (pattern, true));
        let mut presences = Vec::new();
        for (number, (pattern, is_load)) in keyboards.chain(loads).enumerate() {
            for (host, it) in hosts.iter().enumerate() {
                if !matches_machine(pattern.machines.as_deref(), &it.name) {
                    continue;
                }
                let dice = RandomGenerator::new(&[scenario.seed, 0x71DE, number as u64, host as u64]);
                let mut presence = MachinePresence {
                    host,
                    number: u32::try_from(presences.len()).unwrap_or(u32::MAX),
                    pattern: pattern.clone(),
                    is_load,
                    dice,
                    is_present: false,
                    changed_at: start as f64,
                    start,
                };
                // The pattern begins at a random time of an absence, so that users do not all arrive at the same
                // time.
                let away = presence.pattern.away.sample(&mut presence.dice);
                presence.changed_at -= away * presence.dice.next_fraction();
                presence.changed_at = presence.changed_at.max(start as f64 - away);
                presences.push(presence);
            }
        }
        presences
    }

    /// Returns the time of the next change, in microseconds since the start, or `None` if nothing changes any more.
    pub(super) fn next_change(&mut self, offset: &dyn Fn(i64) -> i64) -> Option<u64> {
        let lasts = if self.is_present { &self.pattern.busy } else { &self.pattern.away };
        let lasts = lasts.sample(&mut self.dice).max(0.001);
        let mut at = self.changed_at + lasts;
        let hours = self.pattern.hours;
        let days = self.pattern.days.unwrap_or(Weekdays::ALL);
        if self.is_present {
            // A user leaves, and a load ends, when the hours of the pattern end.
            if let Some(end) = next_closing(self.changed_at, hours, days, offset) {
                at = at.min(end);
            }
        } else {
            at = next_opening(at.max(self.start as f64), hours, days, offset)?;
        }
        self.changed_at = at.max(self.start as f64);
        Some(((self.changed_at - self.start as f64) * 1e6).round() as u64)
    }

    /// Returns true if the pattern is a load, not a user at the keyboard.
    pub(super) fn is_load(&self) -> bool {
        self.is_load
    }

    /// Starts or ends the presence of the user or the load.
    pub(super) fn toggle(&mut self, host: &mut Host, now: ClockReading) {
        self.is_present = !self.is_present;
        if self.is_load {
            let load = self.pattern.load.as_ref().map_or(1.0, |load| load.sample(&mut self.dice));
            if self.is_present {
                host.loads.insert(self.number, load);
            } else {
                host.loads.remove(&self.number);
            }
            return;
        }
        if self.is_present {
            host.users_present += 1;
        } else {
            host.users_present = host.users_present.saturating_sub(1);
            host.input_at = Some(now.epoch());
        }
    }
}

/// Returns true if the time is within the hours and days of a pattern.
fn is_within_hours(epoch: f64, hours: Option<DayHours>, days: Weekdays, offset: &dyn Fn(i64) -> i64) -> bool {
    let second = epoch.floor() as i64;
    let local = second + offset(second);
    let of_day = local.rem_euclid(SECONDS_PER_DAY);
    let weekday = (local.div_euclid(SECONDS_PER_DAY) + 4).rem_euclid(7);
    let on = |weekday: i64| days.0[usize::try_from(weekday.rem_euclid(7)).unwrap_or(0)];
    match hours {
        None => on(weekday),
        Some(DayHours { from, to }) if from <= to => on(weekday) && (from..to).contains(&of_day),
        // Hours that extend over midnight belong to the day on which they begin.
        Some(DayHours { from, to }) => (of_day >= from && on(weekday)) || (of_day < to && on(weekday - 1)),
    }
}

/// Maximum number of minutes that are searched for the beginning or the end of a pattern's hours.
const MAX_SEARCH_MINUTES: i64 = 15 * 24 * 60;

/// Returns the first time, at or after `at`, that is within the hours of a pattern.
fn next_opening(
    at: f64,
    hours: Option<DayHours>,
    days: Weekdays,
    offset: &dyn Fn(i64) -> i64,
) -> Option<f64> {
    if is_within_hours(at, hours, days, offset) {
        return Some(at);
    }
    next_boundary(at, true, hours, days, offset)
}

/// Returns the end of the hours that contain the given time, or `None` if they never end.
fn next_closing(
    at: f64,
    hours: Option<DayHours>,
    days: Weekdays,
    offset: &dyn Fn(i64) -> i64,
) -> Option<f64> {
    if hours.is_none() && days == Weekdays::ALL {
        return None;
    }
    next_boundary(at, false, hours, days, offset)
}

/// Returns the first whole minute that is within the hours, or outside of them if `open` is false.
fn next_boundary(
    at: f64,
    open: bool,
    hours: Option<DayHours>,
    days: Weekdays,
    offset: &dyn Fn(i64) -> i64,
) -> Option<f64> {
    let minute = Duration::from_secs(60).as_secs_f64();
    let first = (at / minute).floor() * minute;
    let is = |minutes: &i64| {
        let time = first + *minutes as f64 * minute;
        time > at && is_within_hours(time, hours, days, offset) == open
    };
    (1..MAX_SEARCH_MINUTES).find(is).map(|minutes| first + minutes as f64 * minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_apply_on_their_days() {
        // The epoch, 1970-01-01, was a Thursday.
        let utc = |_: i64| 0;
        let hours = Some(DayHours { from: 8 * 3600, to: 18 * 3600 });
        let days = Weekdays([false, true, true, true, true, true, false]);
        assert_eq!(next_opening(0.0, hours, days, &utc), Some(8.0 * 3600.0));
        assert_eq!(next_closing(9.0 * 3600.0, hours, days, &utc), Some(18.0 * 3600.0));
        // From Friday evening, the hours begin again on Monday.
        let friday = (SECONDS_PER_DAY + 19 * 3600) as f64;
        assert_eq!(next_opening(friday, hours, days, &utc), Some((4 * SECONDS_PER_DAY + 8 * 3600) as f64));
        let night = Some(DayHours { from: 22 * 3600, to: 6 * 3600 });
        assert!(is_within_hours((SECONDS_PER_DAY + 3600) as f64, night, Weekdays::ALL, &utc));
        assert!(!is_within_hours((SECONDS_PER_DAY + 7 * 3600) as f64, night, Weekdays::ALL, &utc));
        assert_eq!(next_opening(0.0, hours, Weekdays([false; 7]), &utc), None);
    }
}
