//! Waits with a time limit.

use std::time::{Duration, Instant};

use crate::support::children::LONG;

/// Waits until a condition is true.
///
/// # Panics
/// Panics if the condition does not become true within [`LONG`].
pub(crate) fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
