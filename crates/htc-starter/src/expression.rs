//! Parameters that are expressions over the slot (MY) and the job (TARGET): their values, and the errors for values
//! that cannot be used. This module evaluates all such parameters for containers and control groups.
//!
//! Reference: `param_boolean`, `param_longlong` and `param_eval_string` of `condor_config.cpp`.

use bstr::{BString, ByteSlice};

use super::environment::EnvironmentInputs;
use super::start_failure::StartFailure;
use htc_classad::{Context, Dialect, Expr, Value};
use htc_config::evaluate::{NumberResult, parse_integer_in_context};
use htc_config::value_error::{ValueError, ValueErrorDetails, ValueProblem};
use htc_config::{Setting, SettingOrigin};

/// Reason why an expression has no string value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StringExprError {
    /// The expression refers to attributes of this job or slot and is undefined for them.
    UndefinedHere,
    /// The expression is unusable for every job. Contains the reason.
    Invalid(String),
}

fn slot_and_job_context<'a>(inputs: &EnvironmentInputs<'a>) -> Context<'a> {
    inputs.slot_context().target(inputs.ad)
}

/// Evaluates a boolean parameter (`param_boolean` with both ads).
///
/// # Errors
/// Returns an error if the value is not a boolean; 25.14 then exits with an exception.
pub(super) fn eval_boolean(
    inputs: &EnvironmentInputs<'_>,
    name: &str,
    setting: &Setting<BString>,
    default: bool,
) -> Result<bool, StartFailure> {
    super::job_exit::eval_condition(&setting.value, inputs.machine, inputs.ad, inputs.world).ok_or_else(
        || {
            StartFailure::from_setting_error(&ValueError::not_boolean(
                name.as_bytes(),
                setting.clone(),
                default,
            ))
        },
    )
}

/// Evaluates an integer parameter (`param_longlong` with both ads). `least` is the minimum that the reference's message
/// names; no code checks this minimum.
///
/// # Errors
/// Returns an error if the value is not an integer; 25.14 then exits with an exception.
pub(super) fn eval_integer(
    inputs: &EnvironmentInputs<'_>,
    name: &str,
    setting: &Setting<BString>,
    least: i64,
) -> Result<i64, StartFailure> {
    let problem = match parse_integer_in_context(&setting.value, &slot_and_job_context(inputs), inputs.world)
    {
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

/// Evaluates a string expression (`param_eval_string`); text after the expression is ignored.
///
/// # Errors
/// Returns an error if the value is not a string.
pub(super) fn eval_string(inputs: &EnvironmentInputs<'_>, text: &[u8]) -> Result<BString, StringExprError> {
    let Ok((expression, _)) = Expr::parse_prefix(text, Dialect::of_world(inputs.world)) else {
        return Err(StringExprError::Invalid("is not a valid expression".to_owned()));
    };
    match slot_and_job_context(inputs).eval(&expression) {
        Value::Str(text) => Ok(text.as_bytes().into()),
        Value::Undefined if references_ad_by_name(text) => Err(StringExprError::UndefinedHere),
        value => {
            Err(StringExprError::Invalid(format!("has the value {}, which is not a string", value.unparse())))
        }
    }
}

/// Returns true if an expression refers to attributes of job or slot by name. The value may be undefined if these
/// attributes are missing.
pub(super) fn references_ad_by_name(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("target.") || text.contains_str("my.")
}

/// Returns the name, origin and value of a setting, for messages.
pub(super) fn describe_setting(name: &str, setting: &Setting<BString>) -> String {
    format!("{name} ({}) = {}", SettingOrigin::describe(&setting.origin), setting.value)
}
