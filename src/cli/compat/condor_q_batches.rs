//! Counts of batches, and the widths of the columns that show them.

use crate::cli::common::PrintMask;

/// Counts of a batch.
#[derive(Default)]
pub(super) struct BatchCounts {
    pub(super) jobs: i32,
    pub(super) done: i32,
    pub(super) total: i32,
    pub(super) has_unknown_total: bool,
    pub(super) states: [i32; 11],
    pub(super) first_process: i32,
    pub(super) last_process: i32,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl BatchCounts {
    pub(super) fn add_state(&mut self, status: Option<i32>) {
        let at = status.and_then(|status| usize::try_from(status).ok()).filter(|at| *at <= 10);
        self.states[at.unwrap_or(0)] += 1;
    }
}

/// Widths of the columns of the list of batches.
#[derive(Default)]
pub(super) struct BatchWidths {
    pub(super) owner: i64,
    pub(super) batch: i64,
    pub(super) ids: i64,
    pub(super) counts: [usize; 5],
    pub(super) has_held: bool,
}

impl BatchWidths {
    /// Divides the rest of the width, which the counts do not need, among the columns of names and ids.
    pub(super) fn fit_to(&mut self, columns: i64) {
        let room = columns - 50;
        if self.batch + self.owner + self.ids <= room {
            return;
        }
        // 8, 10 and 9 are the minimum widths of owner, batch and ids.
        let spare = (room - 27) / 3;
        let (mut batch, mut owner) = (spare, spare);
        if spare < self.ids && self.batch + self.owner - (batch + owner + 18) > 7 && batch < 10 {
            self.ids /= 2;
        }
        if spare + 9 > self.ids {
            let rest = spare + 9 - self.ids;
            owner += rest / 2;
            batch += rest - rest / 2;
        }
        if batch + 10 > self.batch {
            owner = (8 + owner + batch + 10 - self.batch).min(self.owner) - 8;
        }
        if owner + 8 > self.owner {
            batch = (10 + batch + owner + 8 - self.owner).min(self.batch) - 10;
        }
        self.batch = self.batch.min(batch + 10);
        self.owner = self.owner.min(owner + 8);
    }

    /// Sets the widths of the columns (`fnFixupWidthsForProgressFormat`).
    pub(super) fn apply(&self, mask: &mut PrintMask, zero_character: Option<u8>) {
        for (number, column) in mask.columns_mut().iter_mut().enumerate() {
            match number {
                0 if self.owner < column.width as i64 => {
                    column.width = self.owner.max(8) as usize;
                    (column.flags.is_cut, column.flags.grows) = (true, false);
                }
                0 => column.width = self.owner as usize,
                1 => {
                    column.width = self.batch.max(10) as usize;
                    // 25.14 gives this column a negative width: left-aligned, and never widened.
                    column.flags.left = true;
                }
                3..=7 => {
                    let size = self.counts[number - 3];
                    let digit = b'0' + size as u8;
                    let is_wider = (7..=9).contains(&size)
                        && column.format_mut().is_some_and(|format| format.widen(1, b'6', digit));
                    if is_wider {
                        column.width = size;
                    }
                    column.is_hidden |= number == 6 && !self.has_held;
                    if let Some(character) = zero_character {
                        column.alternative.replace_character(character);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the number of digits as the reference counts them, which is wrong for large and negative numbers.
pub(super) fn number_width(number: i32) -> usize {
    let mut width = 1;
    let mut limit: i64 = 10;
    while limit < 999_999_999 {
        if i64::from(number) < limit {
            return width;
        }
        width += 1;
        limit *= 10;
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_batches_fit_a_terminal() {
        let mut widths = BatchWidths { owner: 29, batch: 34, ids: 6, ..BatchWidths::default() };
        widths.fit_to(80);
        assert!(widths.owner + widths.batch <= 30, "{} {}", widths.owner, widths.batch);
        let mut widths = BatchWidths { owner: 3, batch: 4, ids: 5, ..BatchWidths::default() };
        widths.fit_to(80);
        assert_eq!((widths.owner, widths.batch), (3, 4));
    }
}
