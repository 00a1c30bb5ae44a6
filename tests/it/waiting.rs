//! Waits that have a limit.

use std::time::{Duration, Instant};

use crate::children::LONG;

/// Waits until something is true.
///
/// # Panics
/// If it is not true within [`LONG`].
pub(crate) fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
