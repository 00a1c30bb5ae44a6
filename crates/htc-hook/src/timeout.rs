//! Time for which a caller waits for a hook.

use std::time::Duration;

use bstr::BString;

use super::HookType;
use super::parameter_source::ParameterSource;
use htc_base::world::World;
use htc_classad::{Context, Dialect, Expr};

/// Returns the time limit of a hook, or `None` if hooks of its type have no limit. The parameter is an integer
/// expression (`<KEYWORD>_HOOK_JOB_EXIT_TIMEOUT = 2 * 3`). If its value is not a 32-bit integer, the default applies,
/// and the text of the parameter is returned as the second value.
pub fn caller_timeout(
    hook: HookType,
    keyword: &[u8],
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> (Option<Duration>, Option<BString>) {
    let Some(limit) = hook.timeout_parameter(keyword) else { return (None, None) };
    let Some(text) = parameters.get(&limit.parameter).filter(|text| !text.is_empty()) else {
        return (Some(limit.default), None);
    };
    let value = Expr::parse_with(&text, Dialect::of_world(world))
        .ok()
        .and_then(|expr| Context::new(world).eval(&expr).as_int());
    // Integers of the configuration have 32 bits.
    match value.filter(|seconds| i32::try_from(*seconds).is_ok()) {
        // A negative limit expires immediately, like a timer with a negative time.
        Some(seconds) => (Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0))), None),
        None => (Some(limit.default), Some(text)),
    }
}
