//! Policy parameters of the shadow, such as PERIODIC_EXPR_INTERVAL and GRACEFULLY_REMOVE_JOBS.

use std::time::Duration;

use htc_config::{ConfigView, ValueError};
use htc_hook::user_policy;

/// Policy parameters of the shadow. Their expressions are parsed when they are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct PolicyParameters {
    /// PERIODIC_EXPR_INTERVAL, in seconds; 0 or less to disable periodic policies.
    pub interval: i64,
    /// Value of the attribute `MachineMaxVacateTime`.
    pub max_vacate_time: Duration,
    /// Value of GRACEFULLY_REMOVE_JOBS.
    pub removes_gracefully: bool,
}

impl PolicyParameters {
    /// Reads the parameters; also returns warnings about policies that are not valid expressions.
    ///
    /// # Errors
    /// Fails if a value is not a valid number or boolean.
    pub fn read(view: &ConfigView<'_>) -> Result<(Self, Vec<String>), ValueError> {
        let int = |name: &str, usual: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(usual, |setting| setting.value))
        };
        // The value is needed only for a held job, but an invalid value is reported before the run.
        int("SYSTEM_MAX_RELEASES", -1)?;
        let parameters = PolicyParameters {
            interval: int("PERIODIC_EXPR_INTERVAL", 60)?,
            max_vacate_time: Duration::from_secs(int("MachineMaxVacateTime", 600)?.max(0).unsigned_abs()),
            removes_gracefully: view.boolean("GRACEFULLY_REMOVE_JOBS")?.is_none_or(|setting| setting.value),
        };
        let bad = user_policy::invalid_policies(view, view.world());
        let invalid_expression_text =
            |name| format!("{name} is not a valid expression: it is ignored, as in a pool");
        Ok((parameters, bad.into_iter().map(invalid_expression_text).collect()))
    }
}
