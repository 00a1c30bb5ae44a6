//! Result of work that can be interrupted by a signal to this program.

/// Result of work that waits in the reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Interruptible<T> {
    /// The work has finished with this result.
    Finished(T),
    /// A signal to this program has interrupted the work; contains its number.
    Interrupted(i32),
}

impl<T> Interruptible<T> {
    /// Converts the result of finished work with a function.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Interruptible<U> {
        match self {
            Interruptible::Finished(result) => Interruptible::Finished(convert(result)),
            Interruptible::Interrupted(signal) => Interruptible::Interrupted(signal),
        }
    }

    /// Returns the number of the signal that interrupted the work, or `None` if the work has finished.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Interruptible::Finished(_) => None,
            Interruptible::Interrupted(signal) => Some(*signal),
        }
    }
}
