//! Requests that are missing or are not numbers, and the number that was probably intended.

use htc_base::text::number::real_prefix;
use htc_classad::{AttrName, ClassAd, Context, Expr, Value, explain};

use super::slot_set::SlotSet;

/// Prefix of the requests of a job.
const REQUEST: &[u8] = b"Request";

/// Numbers that condor_submit of 25.14 sets for requests that a submit description does not have, with their
/// parameters. The default of RequestDisk is `MAX({1024, (TransferInputSizeMB+1) * 1.25}) * 1024`.
const DEFAULTS: [(&str, i64, &str); 3] = [
    ("RequestCpus", 1, "JOB_DEFAULT_REQUESTCPUS"),
    ("RequestMemory", 128, "JOB_DEFAULT_REQUESTMEMORY"),
    ("RequestDisk", 1_048_576, "JOB_DEFAULT_REQUESTDISK"),
];

/// Request of a job that is not a number.
pub(super) struct MissingRequest {
    name: AttrName,
    /// Value of the request.
    value: Value,
    /// Reason for an undefined value or an error, or `None` if there is no such attribute.
    reason: Option<String>,
}

impl MissingRequest {
    /// Returns the request if a name is that of one, and its value is not a number.
    pub(super) fn find(slots: &dyn SlotSet, job: &ClassAd, name: &AttrName) -> Option<Self> {
        let is_request =
            name.as_bytes().get(..REQUEST.len()).is_some_and(|it| it.eq_ignore_ascii_case(REQUEST));
        if !is_request || name.as_bytes().len() == REQUEST.len() {
            return None;
        }
        let context = Context::new(slots.world()).my(job);
        let value = context.eval_attr(name);
        let reason = job.get(name).and_then(|expr| match expr.as_literal() {
            Some(_) => None,
            None => explain::trace(&context, &expr).reason(),
        });
        let is_number = value.as_real().is_some() && !matches!(value, Value::Str(_));
        (!is_number).then(|| MissingRequest { name: name.clone(), value, reason })
    }

    /// True if the request is a string.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.value, Value::Str(_))
    }

    /// Returns the number to set: that of a text such as "4 GB", or the default of condor_submit.
    pub(super) fn number(&self) -> i64 {
        self.number_of_text().unwrap_or_else(|| self.default().map_or(1, |(_, number, _)| number))
    }

    fn default(&self) -> Option<(&'static str, i64, &'static str)> {
        DEFAULTS.into_iter().find(|(name, ..)| self.name == *name)
    }

    /// Returns the number of a text in the unit of the request: MiB of memory, KiB of disk (`parse_int64_bytes`).
    fn number_of_text(&self) -> Option<i64> {
        let Value::Str(text) = &self.value else { return None };
        let (number, end) = real_prefix(text)?;
        let unit = text[end..].trim_ascii();
        let power = match unit.first().map(u8::to_ascii_uppercase) {
            None => return positive_integer(number),
            Some(b'B') => 0,
            Some(b'K') => 1,
            Some(b'M') => 2,
            Some(b'G') => 3,
            Some(b'T') => 4,
            Some(b'P') => 5,
            _ => return None,
        };
        let own_power = match self.name {
            ref name if *name == "RequestMemory" => 2,
            ref name if *name == "RequestDisk" => 1,
            _ => return None,
        };
        positive_integer(number * 1024_f64.powi(power - own_power))
    }

    /// Returns a note about the request for the user, or `None`.
    pub(super) fn describe(&self) -> Option<String> {
        let name = &self.name;
        let unit = match self.default() {
            Some(("RequestMemory", ..)) => " of MiB",
            Some(("RequestDisk", ..)) => " of KiB",
            _ => "",
        };
        match (&self.value, &self.reason, self.default()) {
            (Value::Str(_), ..) => Some(format!("{name} must be a number{unit}")),
            (_, Some(reason), _) => Some(format!("{name} is {}: {reason}", self.value_word())),
            (Value::Undefined, None, Some((_, number, parameter))) => {
                Some(format!("condor_submit sets {name} = {number} by default ({parameter})"))
            }
            _ => None,
        }
    }

    fn value_word(&self) -> &'static str {
        if self.value.is_error() { "an error" } else { "undefined" }
    }
}

fn positive_integer(number: f64) -> Option<i64> {
    (number > 0.0 && number < 9e15).then(|| number.ceil() as i64)
}

/// Returns the expression of the number to set for a request that is not a number, or `None` if it is one.
pub(super) fn proposed_request(slots: &dyn SlotSet, job: &ClassAd, name: &AttrName) -> Option<Expr> {
    MissingRequest::find(slots, job, name).map(|request| Expr::literal(request.number()))
}
