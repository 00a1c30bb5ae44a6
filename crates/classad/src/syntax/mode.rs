//! Condor mode or strict mode: how the ClassAd language of this process reads and evaluates (reference:
//! `ClassAdReconfig` and `SetOldClassAdSemantics`, where it is one switch of the whole process, set whenever a
//! configuration is read).

use std::cell::Cell;

thread_local! {
    /// One for each thread, so that tests that run side by side do not meddle with one another; the programs read, parse and
    /// evaluate on one.
    static STRICT: Cell<bool> = const { Cell::new(false) };
}

/// Sets the mode that later readings and evaluations of this thread begin in: strict as with
/// `STRICT_CLASSAD_EVALUATION = true`, or condor mode, in which a thread begins. Reading a configuration sets it.
pub fn set_strict(strict: bool) {
    STRICT.set(strict);
}

/// Runs something that may set the mode, such as the reading of a configuration that is another one's, and sets it back.
pub fn kept<T>(run: impl FnOnce() -> T) -> T {
    let before = STRICT.get();
    let result = run();
    STRICT.set(before);
    result
}

/// Whether strict mode is set.
pub fn is_strict() -> bool {
    STRICT.get()
}
