//! Results of work that a signal to this program can interrupt.

/// Result of work that runs in the reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Interruptible<T> {
    /// Result of work that ran to its end.
    Finished(T),
    /// Number of the signal to this program that interrupted the work.
    Interrupted(i32),
}

impl<T> Interruptible<T> {
    /// Converts the result of finished work.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Interruptible<U> {
        match self {
            Interruptible::Finished(result) => Interruptible::Finished(convert(result)),
            Interruptible::Interrupted(signal) => Interruptible::Interrupted(signal),
        }
    }

    /// Returns the number of the signal that interrupted the work, or `None` if it finished.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Interruptible::Finished(_) => None,
            Interruptible::Interrupted(signal) => Some(*signal),
        }
    }
}
