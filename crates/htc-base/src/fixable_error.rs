//! Errors that know how they can be corrected.

/// Error that a change of the configuration or of the machine corrects. Its message may contain both parts; a report
/// prints them separately.
pub trait FixableError {
    /// Returns the problem, without the correction.
    fn problem(&self) -> String;

    /// Returns the correction in the imperative, or `None` if the problem itself says what to correct.
    fn fix(&self) -> Option<String>;

    /// Returns the problem, followed by the correction if there is one.
    fn problem_with_fix(&self) -> String {
        match self.fix() {
            Some(fix) => format!("{}; {fix}", self.problem()),
            None => self.problem(),
        }
    }
}
