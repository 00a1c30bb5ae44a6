//! Settings that are expressions over the slot (MY) and the job (TARGET): what they give, and what is said of one that gives
//! nothing of use. Whatever of them decides about containers and control groups is asked here.
//!
//! Reference: `param_boolean`, `param_longlong` and `param_eval_string` of `condor_config.cpp`.

use bstr::{BString, ByteSlice};

use super::environment::EnvironmentInputs;
use super::start_failure::StartFailure;
use htc_classad::{Context, Dialect, Expr, Value};
use htc_config::evaluate::{NumberResult, parse_integer_in};
use htc_config::value_error::{ValueError, ValueErrorDetails, ValueProblem};
use htc_config::{Setting, SettingOrigin};

/// What an expression gave in place of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StringExprError {
    /// Nothing, for this job or slot: it asks one of them by name.
    UndefinedHere,
    /// Nothing of use for any: why.
    Invalid(String),
}

fn slot_and_job_context<'a>(about: &EnvironmentInputs<'a>) -> Context<'a> {
    about.slot_context().target(about.ad)
}

/// A truth value (`param_boolean` with both ads).
///
/// # Errors
/// What gives none ends 25.14 by an exception.
pub(super) fn eval_boolean(
    about: &EnvironmentInputs<'_>,
    name: &str,
    setting: &Setting<BString>,
    default: bool,
) -> Result<bool, StartFailure> {
    super::job_exit::eval_condition(&setting.value, about.machine, about.ad, about.world).ok_or_else(|| {
        StartFailure::from_setting_error(&ValueError::not_boolean(name.as_bytes(), setting.clone(), default))
    })
}

/// A whole number (`param_longlong` with both ads); `least` is what the reference names as the smallest, and checks nowhere.
///
/// # Errors
/// What gives none ends 25.14 by an exception.
pub(super) fn eval_integer(
    about: &EnvironmentInputs<'_>,
    name: &str,
    setting: &Setting<BString>,
    least: i64,
) -> Result<i64, StartFailure> {
    let problem = match parse_integer_in(&setting.value, &slot_and_job_context(about), about.world) {
        NumberResult::Value(number) => return Ok(number),
        NumberResult::Unparsable => ValueProblem::NotExpression("integer"),
        NumberResult::NotNumber => ValueProblem::NotNumber("integer"),
    };
    let mut failure =
        ValueErrorDetails::new(name.as_bytes(), setting.value.clone(), problem, Some(setting.origin.clone()));
    failure.range = (least.to_string(), i64::MAX.to_string());
    failure.default = "0".to_owned();
    Err(StartFailure::from_setting_error(&failure.into()))
}

/// A string (`param_eval_string`): of a text behind the expression nothing is said.
///
/// # Errors
/// It gives none.
pub(super) fn eval_string(about: &EnvironmentInputs<'_>, text: &[u8]) -> Result<BString, StringExprError> {
    let Ok((expression, _)) = Expr::parse_prefix(text, Dialect::of_world(about.world)) else {
        return Err(StringExprError::Invalid("is no expression".to_owned()));
    };
    match slot_and_job_context(about).eval(&expression) {
        Value::Str(text) => Ok(text.as_bytes().into()),
        Value::Undefined if references_ad_by_name(text) => Err(StringExprError::UndefinedHere),
        value => Err(StringExprError::Invalid(format!("gives {}, which is no string", value.unparse()))),
    }
}

/// Returns true if an expression asks job or slot for something that it may well not have.
pub(super) fn references_ad_by_name(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("target.") || text.contains_str("my.")
}

/// How a setting is named to whoever is to look at it.
pub(super) fn describe_setting(name: &str, setting: &Setting<BString>) -> String {
    format!("{name} ({}) = {}", SettingOrigin::describe(&setting.origin), setting.value)
}
