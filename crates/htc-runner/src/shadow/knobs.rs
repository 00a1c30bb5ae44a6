//! What the configuration says of policies.

use std::time::Duration;

use htc_config::{ValueError, View};
use htc_hook::user_policy;

/// What the configuration says of policies. Their expressions are read when they are looked at.
#[derive(Clone, Copy, Debug)]
pub struct PolicyKnobs {
    /// PERIODIC_EXPR_INTERVAL, in seconds; none or less: no periodic policy.
    pub interval: i64,
    /// MachineMaxVacateTime.
    pub vacate: Duration,
    /// GRACEFULLY_REMOVE_JOBS.
    pub graceful: bool,
}

impl PolicyKnobs {
    /// Reads it, with what a user should know of it.
    ///
    /// # Errors
    /// A knob that is no number or truth value.
    pub fn read(view: &View<'_>) -> Result<(Self, Vec<String>), ValueError> {
        let int = |name: &str, usual: i64| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(usual, |setting| setting.value))
        };
        // Read when a held job is looked at; nobody wants to hear of it only then.
        int("SYSTEM_MAX_RELEASES", -1)?;
        let knobs = PolicyKnobs {
            interval: int("PERIODIC_EXPR_INTERVAL", 60)?,
            vacate: Duration::from_secs(int("MachineMaxVacateTime", 600)?.max(0).unsigned_abs()),
            graceful: view.boolean("GRACEFULLY_REMOVE_JOBS")?.is_none_or(|setting| setting.value),
        };
        let bad = user_policy::unreadable(view, view.world());
        let told = |name| format!("{name} is no expression: it is passed over, as in a pool");
        Ok((knobs, bad.into_iter().map(told).collect()))
    }
}
