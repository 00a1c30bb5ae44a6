//! Reports what is wrong with the ads of an input: the first errors one by one, of the rest the number.

use super::{ProgramContext, malformed_ad_problem};
use crate::classad::stream::{AdError, AdRecord};
use crate::text::plural::counted;

/// Number of errors of one input that are reported one by one.
const MAX_ERROR_MESSAGES: u64 = 20;

/// Reporter of the errors of one input.
pub(crate) struct AdErrorReporter {
    name: String,
    session: ProgramContext,
    /// Number of errors so far, without warnings.
    count: u64,
    warning_count: u64,
}

impl AdErrorReporter {
    /// Creates a reporter for an input with a name.
    pub(crate) fn new(name: String, session: &ProgramContext) -> Self {
        AdErrorReporter { name, session: session.clone(), count: 0, warning_count: 0 }
    }

    /// Returns the name of the input.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reports the errors of an ad.
    pub(crate) fn report(&mut self, record: &AdRecord) {
        self.report_all(&record.errors, record.more_errors);
    }

    /// Reports errors of several ads, and adds the number of further ones.
    pub(crate) fn report_all(&mut self, errors: &[AdError], more_errors: u64) {
        errors.iter().for_each(|error| self.report_error(error));
        self.count += more_errors;
    }

    fn report_error(&mut self, error: &AdError) {
        let count = if error.is_warning { &mut self.warning_count } else { &mut self.count };
        *count += 1;
        if *count <= MAX_ERROR_MESSAGES {
            report_ad_error(error, &self.name, &self.session);
        }
    }

    /// Reports how many errors were not reported one by one; returns the number of all errors.
    pub(crate) fn end(&mut self) -> u64 {
        if self.count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.count, "error")));
        }
        if self.warning_count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.warning_count, "warning")));
        }
        std::mem::take(&mut self.count)
    }
}

/// Reports one error in an ad, or warns of it.
pub(crate) fn report_ad_error(error: &AdError, name: &str, session: &ProgramContext) {
    if error.is_warning {
        session.warn(&render_ad_warning(error, name));
    } else {
        session.report(&malformed_ad_problem(error, name).into());
    }
}

/// Returns the text of a warning about an ad, with its place and advice.
pub(crate) fn render_ad_warning(error: &AdError, name: &str) -> String {
    let hint = error.help.map(|help| format!("\nhint: {help}")).unwrap_or_default();
    format!("{}{hint}", error.caret(name).render(&error.message))
}
