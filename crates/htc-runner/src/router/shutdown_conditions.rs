//! DAEMON_SHUTDOWN and DAEMON_SHUTDOWN_FAST: conditions on the router's own ad that end the router. They are checked as
//! often as a daemon sends that ad to its collector (`DaemonCore::sendUpdates`).

use std::time::Duration;

use htc_base::time::MonotonicTime;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr};
use htc_config::ConfigView;
use htc_os::clock;

/// The two conditions and the schedule of their checks.
pub(super) struct ShutdownConditions {
    conditions: Vec<(&'static str, Expr)>,
    ad: ClassAd,
    interval: Duration,
    next_check: MonotonicTime,
}

impl ShutdownConditions {
    /// Reads the conditions from the configuration; logs a condition that is not a valid expression.
    pub(super) fn new(view: &ConfigView<'_>, name: &[u8], world: &dyn World, log: &dyn Fn(&str)) -> Self {
        let mut conditions = Vec::new();
        for parameter in ["DAEMON_SHUTDOWN_FAST", "DAEMON_SHUTDOWN"] {
            let Some(text) = view.text(parameter).filter(|text| !text.is_empty()) else { continue };
            match Expr::parse_with(&text, Dialect::of_world(world).old()) {
                Ok(expr) => conditions.push((parameter, expr)),
                Err(error) => {
                    log(&format!("{parameter} is not a valid expression and never ends the router: {error}"))
                }
            }
        }
        let mut ad = ClassAd::new();
        ad.set("MyType", "Job_Router");
        ad.set("Name", name);
        ad.set("DaemonStartTime", world.now().epoch());
        let seconds = view.int("UPDATE_INTERVAL").ok().flatten().map_or(60, |setting| setting.value);
        let every = Duration::from_secs(u64::try_from(seconds).unwrap_or(60).max(1));
        ShutdownConditions { conditions, ad, interval: every, next_check: clock::monotonic_now() }
    }

    /// Returns the name of the condition that is true now, or `None` if none is true or the check is not due.
    pub(super) fn check_if_due(&mut self, world: &dyn World) -> Option<&'static str> {
        if clock::monotonic_now() < self.next_check {
            return None;
        }
        self.next_check = clock::monotonic_now().plus(self.interval);
        self.ad.set("MyCurrentTime", world.now().epoch());
        let context = Context::new(world).my(&self.ad);
        let holds = |(_, expr): &&(&str, Expr)| context.eval(expr).truth() == Some(true);
        self.conditions.iter().find(holds).map(|(parameter, _)| *parameter)
    }
}
