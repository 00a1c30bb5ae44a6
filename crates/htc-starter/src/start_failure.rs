//! Why a job could not be started, in the reference's words and with its hold codes.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_config::{SettingOrigin, ValueError};

/// A job that was not started. Without a shadow nobody is told but the event stream and the starter's user log; the codes
/// are kept for jobs that have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFailure {
    /// The text of the reference.
    pub text: BString,
    /// Hold code; 0 where the reference has none.
    pub code: i64,
    /// Hold subcode, mostly the system's error number.
    pub subcode: i64,
    /// True if 25.14 says nothing of it but in its log (quirk `start-failure-silent`).
    pub silent: bool,
    /// True if it came after event 001 had been written, which then stays alone (`JICLocal::notifyJobPreSpawn`).
    pub after_event: bool,
    /// True if it ends 25.14 by an exception.
    pub exception: bool,
    /// Where the setting stands that made it: for whoever runs the job, not for the job's log.
    pub place: Option<String>,
}

impl StartFailure {
    /// A failure that 25.14 reports.
    pub fn new(text: impl Into<BString>, code: i64, subcode: i64) -> Self {
        StartFailure {
            text: text.into(),
            code,
            subcode,
            silent: false,
            after_event: false,
            exception: false,
            place: None,
        }
    }

    /// A failure that 25.14 tells to nobody: bad arguments, bad environment, missing wrapper.
    pub fn silent(text: impl Into<BString>) -> Self {
        StartFailure { silent: true, ..StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0) }
    }

    /// One that ends 25.14 by an exception: no hold code, and JOB_EXIT is dropped (quirk `exception-drops-exit-hook`).
    pub fn exception(text: impl Into<BString>) -> Self {
        StartFailure { exception: true, ..StartFailure::new(text, 0, 0) }
    }

    /// The exception that a setting makes, in the reference's words.
    pub fn from_setting_error(error: &ValueError) -> Self {
        StartFailure::exception(error.to_string()).with_origin(error.origin.as_ref())
    }

    /// The same, of a setting that stands there.
    #[must_use]
    pub fn with_origin(self, origin: Option<&SettingOrigin>) -> Self {
        StartFailure { place: origin.map(SettingOrigin::describe), ..self }
    }

    /// What a user is told: the text, and where to look.
    pub fn reason(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({place})", self.text),
            None => self.text.to_string(),
        }
    }

    /// The same failure after event 001.
    #[must_use]
    pub fn after_event(self) -> Self {
        StartFailure { after_event: true, ..self }
    }
}
