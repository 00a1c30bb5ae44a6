//! What the configuration says of policies.

use std::time::Duration;

use htc_config::{ConfigView, ValueError};
use htc_hook::user_policy;

/// What the configuration says of policies. Their expressions are read when they are looked at.
#[derive(Clone, Copy, Debug)]
pub struct PolicyParameters {
    /// PERIODIC_EXPR_INTERVAL, in seconds; none or less: no periodic policy.
    pub interval: i64,
    /// MachineMaxVacateTime.
    pub max_vacate_time: Duration,
    /// GRACEFULLY_REMOVE_JOBS.
    pub removes_gracefully: bool,
}

impl PolicyParameters {
    /// Reads it, with what a user should know of it.
    ///
    /// # Errors
    /// A knob that is no number or truth value.
    pub fn read(view: &ConfigView<'_>) -> Result<(Self, Vec<String>), ValueError> {
        let int = |name: &str, usual: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(usual, |setting| setting.value))
        };
        // Read when a held job is looked at; nobody wants to hear of it only then.
        int("SYSTEM_MAX_RELEASES", -1)?;
        let knobs = PolicyParameters {
            interval: int("PERIODIC_EXPR_INTERVAL", 60)?,
            max_vacate_time: Duration::from_secs(int("MachineMaxVacateTime", 600)?.max(0).unsigned_abs()),
            removes_gracefully: view.boolean("GRACEFULLY_REMOVE_JOBS")?.is_none_or(|setting| setting.value),
        };
        let bad = user_policy::invalid_policies(view, view.world());
        let told = |name| format!("{name} is no expression: it is passed over, as in a pool");
        Ok((knobs, bad.into_iter().map(told).collect()))
    }
}
