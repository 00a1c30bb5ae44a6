//! Reasons why a job could not be started, with the reference's messages and hold codes.

use bstr::BString;

use htc_base::job::HoldCode;
use htc_config::{SettingOrigin, ValueError};

/// Failure to start a job. Without a shadow, the failure is only reported in the event stream and the starter's user
/// log; the codes are used for jobs with a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFailure {
    /// Message of the reference.
    pub text: BString,
    /// Hold code; 0 if the reference has none.
    pub code: i64,
    /// Hold subcode, usually the system's error number.
    pub subcode: i64,
    /// True if 25.14 writes the failure only to its own log (quirk `start-failure-silent`).
    pub silent: bool,
    /// True if the failure occurred after event 001 was written. No event about the end follows then
    /// (`JICLocal::notifyJobPreSpawn`).
    pub after_event: bool,
    /// True if 25.14 exits with an exception because of the failure.
    pub exception: bool,
    /// Place of the invalid setting in the configuration. It is part of messages to the user but not of the job's log.
    pub place: Option<String>,
}

impl StartFailure {
    /// Creates a failure that 25.14 reports.
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

    /// Creates a failure that 25.14 does not report: invalid arguments, invalid environment, missing wrapper.
    pub fn silent(text: impl Into<BString>) -> Self {
        StartFailure { silent: true, ..StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0) }
    }

    /// Creates a failure at which 25.14 exits with an exception: the failure has no hold code, and JOB_EXIT is not
    /// called (quirk `exception-drops-exit-hook`).
    pub fn exception(text: impl Into<BString>) -> Self {
        StartFailure { exception: true, ..StartFailure::new(text, 0, 0) }
    }

    /// Creates a failure for an invalid setting, in the reference's words.
    pub fn from_setting_error(error: &ValueError) -> Self {
        StartFailure::exception(error.to_string()).with_origin(error.origin.as_ref())
    }

    /// Sets the place of the invalid setting.
    #[must_use]
    pub fn with_origin(self, origin: Option<&SettingOrigin>) -> Self {
        StartFailure { place: origin.map(SettingOrigin::describe), ..self }
    }

    /// Returns the message for the user: the text, and the place of the setting if there is one.
    pub fn reason(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({place})", self.text),
            None => self.text.to_string(),
        }
    }

    /// Marks the failure as one that occurred after event 001.
    #[must_use]
    pub fn after_event(self) -> Self {
        StartFailure { after_event: true, ..self }
    }
}
