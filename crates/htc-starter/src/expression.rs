//! Settings that are expressions over the slot (MY) and the job (TARGET): what they give, and what is said of one that gives
//! nothing of use. Whatever of them decides about containers and control groups is asked here.
//!
//! Reference: `param_boolean`, `param_longlong` and `param_eval_string` of `condor_config.cpp`.

use bstr::{BString, ByteSlice};

use super::environment::Publication;
use super::failure::StartFailure;
use htc_classad::{Context, Dialect, Expr, Value};
use htc_config::evaluate::{Number, integer_in};
use htc_config::value_error::{ValueError, ValueFailure, ValueProblem};
use htc_config::{Origin, Setting};

/// What an expression gave in place of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoString {
    /// Nothing, for this job or slot: it asks one of them by name.
    ForThis,
    /// Nothing of use for any: why.
    AtAll(String),
}

fn context<'a>(about: &Publication<'a>) -> Context<'a> {
    about.in_slot().target(about.ad)
}

/// A truth value (`param_boolean` with both ads).
///
/// # Errors
/// What gives none ends 25.14 by an exception.
pub(super) fn truth(
    about: &Publication<'_>,
    name: &str,
    setting: &Setting<BString>,
    default: bool,
) -> Result<bool, StartFailure> {
    super::ending::is_true(&setting.value, about.machine, about.ad, about.world).ok_or_else(|| {
        StartFailure::of_setting(&ValueError::no_truth(name.as_bytes(), setting.clone(), default))
    })
}

/// A whole number (`param_longlong` with both ads); `least` is what the reference names as the smallest, and checks nowhere.
///
/// # Errors
/// What gives none ends 25.14 by an exception.
pub(super) fn whole(
    about: &Publication<'_>,
    name: &str,
    setting: &Setting<BString>,
    least: i64,
) -> Result<i64, StartFailure> {
    let problem = match integer_in(&setting.value, &context(about), about.world) {
        Number::Value(number) => return Ok(number),
        Number::Unparsable => ValueProblem::NotExpression("integer"),
        Number::Otherwise => ValueProblem::NotNumber("integer"),
    };
    let mut failure =
        ValueFailure::new(name.as_bytes(), setting.value.clone(), problem, Some(setting.origin.clone()));
    failure.range = (least.to_string(), i64::MAX.to_string());
    failure.default = "0".to_owned();
    Err(StartFailure::of_setting(&failure.into()))
}

/// A string (`param_eval_string`): of a text behind the expression nothing is said.
///
/// # Errors
/// It gives none.
pub(super) fn string(about: &Publication<'_>, text: &[u8]) -> Result<BString, NoString> {
    let Ok((expression, _)) = Expr::parse_prefix(text, Dialect::of(about.world)) else {
        return Err(NoString::AtAll("is no expression".to_owned()));
    };
    match context(about).eval(&expression) {
        Value::Str(text) => Ok(text.as_bytes().into()),
        Value::Undefined if asks_by_name(text) => Err(NoString::ForThis),
        value => Err(NoString::AtAll(format!("gives {}, which is no string", value.unparse()))),
    }
}

/// Whether an expression asks job or slot for something that it may well not have.
pub(super) fn asks_by_name(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("target.") || text.contains_str("my.")
}

/// How a setting is named to whoever is to look at it.
pub(super) fn shown(name: &str, setting: &Setting<BString>) -> String {
    format!("{name} ({}) = {}", Origin::told(&setting.origin), setting.value)
}
