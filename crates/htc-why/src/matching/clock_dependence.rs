//! Clauses that read the clock: the time that was used, and when their value changes.

use htc_base::time::ClockReading;
use htc_base::world::FrozenClockWorld;
use htc_classad::{ClassAd, Context, Expr, ExprKind};

use super::clauses::{ClauseSide, mentioned_references};
use super::slot_set::SlotSet;

/// Functions that read the clock if they have at most this number of arguments.
const CLOCK_FUNCTIONS: [(&str, usize); 5] =
    [("time", 0), ("currentTime", 0), ("dayTime", 0), ("formatTime", 0), ("absTime", 0)];

/// Maximum depth to which definitions of names are followed.
const MAX_DEPTH: usize = 6;

/// Pairs of a step in seconds and the distance up to which it is used: each minute of a day, each hour of
/// eight days.
const STEPS: [(i64, i64); 2] = [(60, 86_400), (3600, 8 * 86_400)];

/// Longest distance in time that is tried: a hundred years.
const MAX_DISTANCE: i64 = 100 * 366 * 86_400;

/// Clause that is not true now, for one slot and one job.
pub(super) struct ClockDependence<'a> {
    pub(super) slots: &'a dyn SlotSet,
    pub(super) side: ClauseSide,
    pub(super) slot: &'a ClassAd,
    pub(super) job: &'a ClassAd,
    pub(super) part: &'a Expr,
}

impl ClockDependence<'_> {
    /// Returns the time that the clause was evaluated with, or `None` if it does not read the clock.
    pub(super) fn used_phrase(&self) -> Option<String> {
        let now = self.slots.world().epoch();
        self.reads_clock(self.part, MAX_DEPTH)
            .then(|| format!("time() is {now}, {}", self.format_local_time(now)))
    }

    /// Returns when the clause becomes true or was last true, or an empty string if no such time was found.
    pub(super) fn change_phrase(&self) -> String {
        let now = self.slots.world().epoch();
        if let Some(at) = self.nearest(now, 1) {
            return format!("; it is true from {at}, {}", self.format_local_time(at));
        }
        match self.nearest(now, -1) {
            Some(at) => format!("; it was true until {at}, {}", self.format_local_time(at)),
            None => String::new(),
        }
    }

    /// Formats a time as local time.
    fn format_local_time(&self, time: i64) -> String {
        let text = format!("formatTime({time}, \"%Y-%m-%d %H:%M:%S\")");
        let value = Expr::parse(text.as_bytes()).map(|expr| Context::new(self.slots.world()).eval(&expr));
        value.ok().and_then(|value| value.as_str().map(ToString::to_string)).unwrap_or_default()
    }

    /// True if an expression, or the definition of a name in it, reads the clock.
    fn reads_clock(&self, expr: &Expr, depth: usize) -> bool {
        if depth == 0 {
            return false;
        }
        if let ExprKind::Call(function, arguments) = expr.kind()
            && CLOCK_FUNCTIONS.iter().any(|(name, max_arguments)| {
                arguments.len() <= *max_arguments && function.eq_ignore_ascii_case(name.as_bytes())
            })
        {
            return true;
        }
        if mentioned_references(expr).iter().any(|reference| {
            let reading_side = self.slots.reading_side(self.side);
            if reference.name == "CurrentTime" {
                return true;
            }
            let definition = match reference.defining_side(reading_side, self.slot, self.job) {
                Some(ClauseSide::Slot) => self.slot.get(&reference.name),
                Some(ClauseSide::Job) => self.job.get(&reference.name),
                None => None,
            };
            definition.is_some_and(|it| it.as_literal().is_none() && self.reads_clock(&it, depth - 1))
        }) {
            return true;
        }
        expr.parts().iter().any(|part| self.reads_clock(part, depth - 1))
    }

    fn is_true_at(&self, time: i64) -> bool {
        let now = ClockReading::from_epoch(time);
        let world = FrozenClockWorld { world: self.slots.world(), now };
        let context = self.slots.context_in(&world, self.side, self.slot, self.job);
        context.eval(self.part).truth() == Some(true)
    }

    /// Returns a time in a direction (1: later, -1: earlier) at which the clause is true, or `None` if it is true at
    /// none of the times that are tried. One second closer to `now`, it is not true. A nearer period in which the
    /// clause is true is missed if it is between two of these times.
    fn nearest(&self, now: i64, direction: i64) -> Option<i64> {
        let [(minute, day), (hour, days)] = STEPS;
        let near = (1..=day / minute).map(|step| step * minute);
        let near = near.chain((1..=(days - day) / hour).map(|step| day + step * hour));
        let far = std::iter::successors(Some(days), |distance| Some(distance + distance / 2));
        let far = far.take_while(|distance| *distance < MAX_DISTANCE);
        let mut previous = 0;
        for distance in near.chain(far) {
            let time = now + direction * distance;
            if time < 0 {
                return None;
            }
            if self.is_true_at(time) {
                let (mut false_at, mut true_at) = (previous, distance);
                while true_at - false_at > 1 {
                    let middle = false_at + (true_at - false_at) / 2;
                    if self.is_true_at(now + direction * middle) {
                        true_at = middle;
                    } else {
                        false_at = middle;
                    }
                }
                return Some(now + direction * true_at);
            }
            previous = distance;
        }
        None
    }
}
