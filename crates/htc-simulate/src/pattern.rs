//! People at keyboards and loads of machines, as hours, days and chance have them. Where several patterns meet on a machine, the
//! keyboard is in use while any of them has somebody there, and their loads add up.

use std::time::Duration;

use super::chance::Dice;
use super::host::Host;
use super::scenario::{Pattern, Scenario, named};
use super::times::{Days, Hours};
use htc_base::text::calendar::DAY;
use htc_base::time::Now;

/// One pattern on one machine: it comes and goes.
pub(super) struct Presence {
    pub host: usize,
    /// Its number among those of all machines.
    number: u32,
    pattern: Pattern,
    is_load: bool,
    dice: Dice,
    /// Whether somebody is there now.
    is_on: bool,
    /// Seconds since the epoch of the last change.
    at: f64,
    start: i64,
}

impl Presence {
    /// Those of a scenario, each at its beginning.
    pub(super) fn all(scenario: &Scenario, hosts: &[Host], start: i64) -> Vec<Presence> {
        let keyboards = scenario.keyboards.iter().map(|pattern| (pattern, false));
        let loads = scenario.loads.iter().map(|pattern| (pattern, true));
        let mut presences = Vec::new();
        for (number, (pattern, is_load)) in keyboards.chain(loads).enumerate() {
            for (host, it) in hosts.iter().enumerate() {
                if !named(pattern.machines.as_deref(), &it.name) {
                    continue;
                }
                let dice = Dice::new(&[scenario.seed, 0x71DE, number as u64, host as u64]);
                let mut presence = Presence {
                    host,
                    number: u32::try_from(presences.len()).unwrap_or(u32::MAX),
                    pattern: pattern.clone(),
                    is_load,
                    dice,
                    is_on: false,
                    at: start as f64,
                    start,
                };
                // Somewhere in an absence, so that not all come at once.
                let away = presence.pattern.away.draw(&mut presence.dice);
                presence.at -= away * presence.dice.fraction();
                presence.at = presence.at.max(start as f64 - away);
                presences.push(presence);
            }
        }
        presences
    }

    /// When it changes next, in microseconds since the start; `None` when it never does again.
    pub(super) fn next(&mut self, offset: &dyn Fn(i64) -> i64) -> Option<u64> {
        let lasts = if self.is_on { &self.pattern.busy } else { &self.pattern.away };
        let lasts = lasts.draw(&mut self.dice).max(0.001);
        let mut at = self.at + lasts;
        let hours = self.pattern.hours;
        let days = self.pattern.days.unwrap_or(Days::ALL);
        if self.is_on {
            // Nobody stays beyond the hours.
            if let Some(end) = closes(self.at, hours, days, offset) {
                at = at.min(end);
            }
        } else {
            at = opens(at.max(self.start as f64), hours, days, offset)?;
        }
        self.at = at.max(self.start as f64);
        Some(((self.at - self.start as f64) * 1e6).round() as u64)
    }

    /// It changes.
    pub(super) fn turn(&mut self, host: &mut Host, now: Now) {
        self.is_on = !self.is_on;
        if self.is_load {
            let load = self.pattern.load.as_ref().map_or(1.0, |load| load.draw(&mut self.dice));
            if self.is_on {
                host.loads.insert(self.number, load);
            } else {
                host.loads.remove(&self.number);
            }
            return;
        }
        if self.is_on {
            host.present += 1;
        } else {
            host.present = host.present.saturating_sub(1);
            host.input_at = Some(now.epoch());
        }
    }
}

/// Whether the second of a week is within the hours.
fn is_open(epoch: f64, hours: Option<Hours>, days: Days, offset: &dyn Fn(i64) -> i64) -> bool {
    let second = epoch.floor() as i64;
    let local = second + offset(second);
    let of_day = local.rem_euclid(DAY);
    let weekday = (local.div_euclid(DAY) + 4).rem_euclid(7);
    let on = |weekday: i64| days.0[usize::try_from(weekday.rem_euclid(7)).unwrap_or(0)];
    match hours {
        None => on(weekday),
        Some(Hours { from, to }) if from <= to => on(weekday) && (from..to).contains(&of_day),
        // Over midnight: it belongs to the day on which it begins.
        Some(Hours { from, to }) => (of_day >= from && on(weekday)) || (of_day < to && on(weekday - 1)),
    }
}

/// Minutes that are looked at in search of a change.
const FAR: i64 = 15 * 24 * 60;

/// The first time from `at` on at which it is open.
fn opens(at: f64, hours: Option<Hours>, days: Days, offset: &dyn Fn(i64) -> i64) -> Option<f64> {
    if is_open(at, hours, days, offset) {
        return Some(at);
    }
    edge(at, true, (hours, days), offset)
}

/// When it closes, for a time at which it is open; `None` if it never does.
fn closes(at: f64, hours: Option<Hours>, days: Days, offset: &dyn Fn(i64) -> i64) -> Option<f64> {
    if hours.is_none() && days == Days::ALL {
        return None;
    }
    edge(at, false, (hours, days), offset)
}

/// The first whole minute at which it is open, or is not.
fn edge(
    at: f64,
    open: bool,
    (hours, days): (Option<Hours>, Days),
    offset: &dyn Fn(i64) -> i64,
) -> Option<f64> {
    let minute = Duration::from_secs(60).as_secs_f64();
    let first = (at / minute).floor() * minute;
    let is = |minutes: &i64| {
        let time = first + *minutes as f64 * minute;
        time > at && is_open(time, hours, days, offset) == open
    };
    (1..FAR).find(is).map(|minutes| first + minutes as f64 * minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_open_and_close_on_their_days() {
        // 1970-01-01 was a Thursday.
        let utc = |_: i64| 0;
        let hours = Some(Hours { from: 8 * 3600, to: 18 * 3600 });
        let days = Days([false, true, true, true, true, true, false]);
        assert_eq!(opens(0.0, hours, days, &utc), Some(8.0 * 3600.0));
        assert_eq!(closes(9.0 * 3600.0, hours, days, &utc), Some(18.0 * 3600.0));
        // Friday evening: Monday.
        let friday = (DAY + 19 * 3600) as f64;
        assert_eq!(opens(friday, hours, days, &utc), Some((4 * DAY + 8 * 3600) as f64));
        let night = Some(Hours { from: 22 * 3600, to: 6 * 3600 });
        assert!(is_open((DAY + 3600) as f64, night, Days::ALL, &utc));
        assert!(!is_open((DAY + 7 * 3600) as f64, night, Days::ALL, &utc));
        assert_eq!(opens(0.0, hours, Days([false; 7]), &utc), None);
    }
}
