//! Rows of a timeline: the states of each slot over time, and the times at which jobs were preempted or refused.

use super::state_activity::StateActivity;

/// Number of columns of a coarse timeline, which determines its resolution in time.
pub const COLUMNS: usize = 1200;
/// Maximum number of stays in all rows. If it is exceeded, the stays are reduced to columns.
const MAX_STAYS: usize = 60_000;
/// Maximum number of marks in one row.
const MAX_MARKS: usize = 2000;

/// Mark in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineMark {
    /// A job was preempted.
    Preempted,
    /// A job was refused, or a hook returned no valid output.
    Refused,
}

/// Row of one slot.
#[derive(Clone, Debug, Default)]
pub struct TimelineRow {
    /// Stays in order of time: index of state and activity, start, and end. Times are in microseconds since the
    /// start.
    pub stays: Vec<(u8, u64, u64)>,
    /// Time in seconds that the slot has spent in a state, as column, index of state and activity, and seconds.
    /// Columns without time in a state have no entry for it.
    pub columns: Vec<(u16, u8, f32)>,
    /// Marks with their times, in microseconds since the start.
    pub marks: Vec<(u64, TimelineMark)>,
}

/// Timeline of all slots.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Length of the timeline in microseconds.
    pub length: u64,
    /// Rows of the slots.
    pub rows: Vec<TimelineRow>,
    stays: usize,
    /// True if the stays were reduced to columns to save memory.
    pub is_coarse: bool,
}

impl Timeline {
    /// Creates an empty timeline with the given length in microseconds.
    pub fn new(length: u64) -> Self {
        Timeline { length: length.max(1), rows: Vec::new(), stays: 0, is_coarse: false }
    }

    fn row_mut(&mut self, row: u32) -> &mut TimelineRow {
        let row = row as usize;
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, TimelineRow::default);
        }
        &mut self.rows[row]
    }

    /// Adds a slot's stay in a state.
    pub fn add_state_time(&mut self, row: u32, state: StateActivity, from: u64, to: u64) {
        if to <= from {
            return;
        }
        let number = u8::try_from(state.index()).unwrap_or(0);
        let length = self.length;
        if self.is_coarse {
            add_to_columns(self.row_mut(row), length, number, from, to);
            return;
        }
        self.row_mut(row).stays.push((number, from, to));
        self.stays += 1;
        if self.stays > MAX_STAYS {
            self.is_coarse = true;
            for row in &mut self.rows {
                for stay in std::mem::take(&mut row.stays) {
                    add_to_columns(row, length, stay.0, stay.1, stay.2);
                }
            }
        }
    }

    /// Adds a mark to a row.
    pub fn add_mark(&mut self, row: u32, at: u64, mark: TimelineMark) {
        let marks = &mut self.row_mut(row).marks;
        if marks.len() < MAX_MARKS {
            marks.push((at, mark));
        }
    }
}

/// Distributes the time of a stay over the columns that it overlaps.
fn add_to_columns(row: &mut TimelineRow, length: u64, number: u8, from: u64, to: u64) {
    let width = length as f64 / COLUMNS as f64;
    let first = (from as f64 / width) as usize;
    let last = ((to as f64 / width) as usize).min(COLUMNS - 1);
    for column in first..=last {
        let (begins, ends) = (column as f64 * width, (column + 1) as f64 * width);
        let part = (to as f64).min(ends) - (from as f64).max(begins);
        if part <= 0.0 {
            continue;
        }
        let column = u16::try_from(column).unwrap_or(0);
        let seconds = (part / 1e6) as f32;
        // Stays are added in order of time, so the entries of the column are at the end.
        let known = row
            .columns
            .iter_mut()
            .rev()
            .take_while(|(it, ..)| *it == column)
            .find(|(_, it, _)| *it == number);
        match known {
            Some((.., sum)) => *sum += seconds,
            None => row.columns.push((column, number, seconds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_slot::{Activity, SlotState};

    #[test]
    fn columns_contain_exactly_the_recorded_time() {
        let mut timeline = Timeline::new(7_000_000_000);
        let mut at = 0;
        for turn in 0..70_000u64 {
            let state = if turn % 2 == 0 {
                StateActivity::new(SlotState::Claimed, Activity::Busy)
            } else {
                StateActivity::new(SlotState::Owner, Activity::Idle)
            };
            timeline.add_state_time(0, state, at, at + 100_000);
            at += 100_000;
        }
        assert!(timeline.is_coarse);
        let sum: f32 = timeline.rows[0].columns.iter().map(|(.., seconds)| seconds).sum();
        assert!((sum - 7000.0).abs() < 1.0, "{sum}");
        assert!((0..56).all(|it| StateActivity::from_index(it).index() == it));
    }
}
