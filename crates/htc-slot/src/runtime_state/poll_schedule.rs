//! Schedule of polls and updates, which computes past and future times without iteration.

use std::time::Duration;

use super::alarm::Alarm;
use htc_base::time::{ClockReading, MonotonicTime};

/// Instants at equal intervals, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeriodicTimes {
    /// The next instant.
    at: u64,
    /// The first instant.
    first: u64,
    step: u64,
}

/// Schedule of all polls and updates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollSchedule {
    poll_and_update_times: [Option<PeriodicTimes>; 2],
    /// Offset of the wall clock from the monotonic clock, in microseconds.
    wall_clock_offset: i64,
}

impl PeriodicTimes {
    /// Returns the number of whole intervals in `time`. Comparisons avoid a slow division, because the result is mostly 0 or 1.
    fn whole_steps(self, time: u64) -> u64 {
        if time < self.step { 0 } else { time / self.step }
    }

    /// Returns the number of intervals needed to cover `time`, rounded up.
    fn steps_to_cover(self, time: u64) -> u64 {
        if time <= self.step { u64::from(time > 0) } else { time.div_ceil(self.step) }
    }

    /// Returns the last instant before `at` and after `from`, or `None`.
    fn last_before(self, at: u64, from: u64) -> Option<u64> {
        let last = at.checked_sub(1)?;
        let found = match last.checked_sub(self.at) {
            Some(elapsed) => self.at + self.whole_steps(elapsed) * self.step,
            None => self.at.checked_sub(self.steps_to_cover(self.at - last) * self.step)?,
        };
        Some(found).filter(|found| *found >= self.first && *found > from)
    }

    /// Returns the first instant at or after `at`.
    fn first_at_or_after(self, at: u64) -> u64 {
        let at = at.max(self.first);
        match at.checked_sub(self.at) {
            Some(elapsed) => self.at + self.steps_to_cover(elapsed) * self.step,
            None => self.at - self.whole_steps(self.at - at) * self.step,
        }
    }

    /// True if both have the same instants from now on.
    fn is_same_as(self, other: PeriodicTimes) -> bool {
        let apart = self.at.abs_diff(other.at);
        self.step == other.step && self.first == other.first && self.whole_steps(apart) * self.step == apart
    }
}

impl PollSchedule {
    /// Creates the schedule. `all` has, first for polls and then for updates, the next alarm, the first instant and the
    /// interval.
    pub(crate) fn from_alarms(now: ClockReading, all: [(Option<Alarm>, u64, Duration); 2]) -> PollSchedule {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let steps = all.map(|(alarm, first, step)| {
            alarm.map(|alarm| PeriodicTimes { at: alarm.at.0, first, step: micros(step) })
        });
        PollSchedule {
            poll_and_update_times: steps,
            wall_clock_offset: now.wall_us - i64::try_from(now.monotonic_us).unwrap_or(0),
        }
    }

    /// True if both schedules have the same poll and update times from now on.
    pub(crate) fn is_same_as(&self, other: &PollSchedule) -> bool {
        let same = |(one, other): (&Option<PeriodicTimes>, &Option<PeriodicTimes>)| match (one, other) {
            (Some(one), Some(other)) => one.is_same_as(*other),
            (None, None) => true,
            _ => false,
        };
        self.poll_and_update_times.iter().zip(&other.poll_and_update_times).all(same)
    }

    /// Returns the last poll or update before `at` and after `from`, or `None`.
    pub(crate) fn last_before(&self, at: MonotonicTime, from: MonotonicTime) -> Option<MonotonicTime> {
        self.poll_and_update_times
            .iter()
            .flatten()
            .filter_map(|steps| steps.last_before(at.0, from.0))
            .max()
            .map(MonotonicTime)
    }

    /// Returns the first poll or update at or after `at`.
    fn first_at_or_after(&self, at: u64) -> Option<MonotonicTime> {
        self.poll_and_update_times
            .iter()
            .flatten()
            .map(|steps| steps.first_at_or_after(at))
            .min()
            .map(MonotonicTime)
    }

    fn second_start(&self, second: i64) -> u64 {
        let wall = second.saturating_mul(1_000_000);
        u64::try_from(wall.saturating_sub(self.wall_clock_offset)).unwrap_or(0)
    }

    pub(crate) fn wall_second_at(&self, at: u64) -> i64 {
        i64::try_from(at).unwrap_or(i64::MAX).saturating_add(self.wall_clock_offset).div_euclid(1_000_000)
    }

    /// Returns the first future poll or update in the given second or later.
    pub(crate) fn first_in_second_or_later(&self, second: i64) -> Option<MonotonicTime> {
        let next = self.poll_and_update_times.iter().flatten().map(|steps| steps.at).min()?;
        self.first_at_or_after(self.second_start(second).max(next))
    }

    /// Returns the start of the given second, or `None` if a poll or update is at that instant. Between polls, a futile fetcher
    /// may fetch before it is evaluated.
    pub(crate) fn second_start_between_polls(&self, second: i64) -> Option<MonotonicTime> {
        let begins = MonotonicTime(self.second_start(second));
        (second != i64::MAX && self.first_in_second_or_later(second).is_none_or(|look| look > begins))
            .then_some(begins)
    }

    /// Advances the alarms of polls and updates to their next times at or after `now`.
    pub(crate) fn advance_alarms(&self, now: MonotonicTime, alarms: [&mut Option<Alarm>; 2]) {
        for (steps, alarm) in self.poll_and_update_times.iter().zip(alarms) {
            if let (Some(steps), Some(alarm)) = (steps, alarm)
                && alarm.at < now
            {
                *alarm = self.alarm_at(MonotonicTime(steps.first_at_or_after(now.0)));
            }
        }
    }

    /// Returns a timer that expires at `at`.
    pub(crate) fn alarm_at(&self, at: MonotonicTime) -> Alarm {
        Alarm::new(at, self.wall_second_at(at.0))
    }

    /// Returns when a slot fetches next if its timer expires at `alarm` and its delay ends in the second `delay_end`.
    /// Until then, each poll and update sets the timer again, to the whole seconds left (`tryFetchWork`); once the
    /// delay has ended, the poll or update calls FETCH_WORK. `set_at` is the time at which the timer was set.
    pub(crate) fn next_fetch_time(
        &self,
        alarm: MonotonicTime,
        delay_end: i64,
        set_at: MonotonicTime,
    ) -> MonotonicTime {
        let begins = self.second_start(delay_end);
        let next_poll = self
            .poll_and_update_times
            .iter()
            .flatten()
            .map(|steps| steps.first_at_or_after(begins.max(set_at.0 + 1)))
            .min();
        let alarm = match self.last_before(MonotonicTime(begins), set_at) {
            Some(last) => {
                let left = u64::try_from(delay_end - self.wall_second_at(last.0)).unwrap_or(0);
                last.0 + left * 1_000_000
            }
            None => alarm.0,
        };
        MonotonicTime(next_poll.map_or(alarm, |next_poll| next_poll.min(alarm)))
    }

    /// Returns when the timer of an unwilling slot expires after a poll or update at `last`: when its delay ends in the
    /// second `delay_end`, or one full delay later if that second has passed (`tryFetchWork`).
    pub(crate) fn timer_after_poll(&self, last: MonotonicTime, delay: i64, delay_end: i64) -> MonotonicTime {
        let left = delay_end.saturating_sub(self.wall_second_at(last.0));
        let wait = if left > 0 { left.min(delay) } else { delay };
        last.plus(Duration::from_secs(u64::try_from(wait).unwrap_or(1)))
    }

    /// Returns when the timer of an unwilling slot may expire after START has become true, or `None` if a poll or
    /// update comes first. Each poll, each update and each expiry sets the timer again. `set_at` is the time at which
    /// the alarm was set; earlier polls have no effect. `delay_end` is the second in which the delay ends, and
    /// `willing` is the second from which START may be true.
    pub(crate) fn next_timer_when_willing(
        &self,
        alarm: MonotonicTime,
        set_at: MonotonicTime,
        delay: i64,
        delay_end: i64,
        willing: i64,
    ) -> Option<MonotonicTime> {
        if willing == i64::MAX {
            return None;
        }
        let from = self.second_start(willing);
        let next_poll =
            self.poll_and_update_times.iter().flatten().map(|steps| steps.first_at_or_after(from)).min();
        let set = |last| self.timer_after_poll(last, delay, delay_end).0;
        let mut at =
            self.last_before(MonotonicTime(from), set_at).map_or(alarm.0, set).max(alarm.0.min(from));
        let delay = u64::try_from(delay).unwrap_or(1).saturating_mul(1_000_000);
        if at < from {
            at = at.saturating_add((from - at).div_ceil(delay).saturating_mul(delay));
        }
        (next_poll.is_none_or(|next_poll| at < next_poll)).then_some(MonotonicTime(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periodic_times_are_found_as_by_counting() {
        let steps = PeriodicTimes { at: 103, first: 3, step: 10 };
        for at in 0..140u64 {
            let all = || (0..20).map(|k| 3 + k * 10);
            assert_eq!(steps.last_before(at, 0), all().filter(|it| *it < at).max(), "{at}");
            assert_eq!(Some(steps.first_at_or_after(at)), all().find(|it| *it >= at), "{at}");
        }
    }

    /// The last poll has set the timer after the last update, so the time that the update had set no longer matters.
    #[test]
    fn a_timer_set_after_the_last_update_continues() {
        let seconds = |seconds: u64| MonotonicTime(seconds * 1_000_000);
        let updates = PeriodicTimes { at: seconds(747).0, first: seconds(61).0, step: seconds(61).0 };
        let schedule = PollSchedule { poll_and_update_times: [None, Some(updates)], wall_clock_offset: 0 };
        let asks = |set_at| schedule.next_timer_when_willing(seconds(742), seconds(set_at), 45, 0, 726);
        assert_eq!(asks(697), Some(seconds(742)));
        assert_eq!(asks(600), Some(seconds(731)));
    }
}
