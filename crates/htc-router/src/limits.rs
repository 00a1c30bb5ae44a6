//! Limits on the jobs of a route, and the throttle after failures (`JobRoute::AcceptingMoreJobs`,
//! `AdjustFailureThrottles`).

use bstr::BString;

use super::Route;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::plural::counted;
use htc_base::text::printf;

/// Interval over which throttles count jobs and after which they are adjusted, in seconds
/// (`THROTTLE_UPDATE_INTERVAL`).
const THROTTLE_INTERVAL: i64 = 600;

/// Current jobs of a route, with its recent successes and failures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RouteState {
    /// Number of current jobs.
    pub jobs: i64,
    /// Number of current jobs that are running.
    pub running: i64,
    /// Time since which `recently_routed`, `recently_failed` and `recently_succeeded` count, in seconds since the
    /// epoch.
    pub counts_since: i64,
    /// Number of jobs routed since `counts_since`.
    pub recently_routed: i64,
    /// Number of jobs that failed since `counts_since`.
    pub recently_failed: i64,
    /// Number of jobs that succeeded since `counts_since`.
    pub recently_succeeded: i64,
    /// Maximum number of jobs in 600 seconds; 0 for no throttle.
    pub throttle: f64,
    /// True if a failure with a threshold of 0 blocks the route until one of its jobs succeeds.
    pub blocked_by_failure: bool,
}

/// Limit that keeps a route from taking another job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FullReason {
    /// Limit set by `MaxJobs`.
    MaxJobs {
        /// Current number of jobs.
        jobs: i64,
        /// Maximum number of jobs.
        limit: i64,
    },
    /// Limit set by `MaxIdleJobs`.
    MaxIdleJobs {
        /// Current number of jobs that are not running.
        idle: i64,
        /// Maximum number of jobs that are not running.
        limit: i64,
    },
    /// Throttle after failures.
    Throttle {
        /// Number of jobs routed since the last adjustment.
        routed: i64,
        /// Maximum number of jobs in 600 seconds.
        throttle: f64,
    },
}

impl std::fmt::Display for FullReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FullReason::MaxJobs { jobs, limit } => {
                write!(f, "full: {jobs} of {} (MaxJobs)", counted(limit, "job"))
            }
            FullReason::MaxIdleJobs { idle, limit } => {
                write!(f, "full: {idle} of {} (MaxIdleJobs)", counted(limit, "idle job"))
            }
            FullReason::Throttle { routed, throttle } => {
                write!(f, "throttled after failures: {routed} routed, {throttle} allowed in 600 seconds")
            }
        }
    }
}

impl RouteState {
    /// Returns the state of a route without any jobs.
    pub fn new(now: i64) -> Self {
        RouteState { counts_since: now, ..RouteState::default() }
    }

    /// Returns the number of jobs that are not running, including held, completed and unclaimed ones.
    pub fn idle_jobs(&self) -> i64 {
        self.jobs - self.running
    }

    /// Returns the limit that keeps the route from taking another job, tested in the reference's order, or
    /// `None`.
    pub fn full_reason(&self, route: &Route) -> Option<FullReason> {
        if self.blocked_by_failure || (self.throttle > 0.0 && self.throttle <= self.recently_routed as f64) {
            return Some(FullReason::Throttle { routed: self.recently_routed, throttle: self.throttle });
        }
        if route.max_idle_jobs >= 0 && route.max_idle_jobs <= self.idle_jobs() {
            return Some(FullReason::MaxIdleJobs { idle: self.idle_jobs(), limit: route.max_idle_jobs });
        }
        (self.jobs >= route.max_jobs)
            .then_some(FullReason::MaxJobs { jobs: self.jobs, limit: route.max_jobs })
    }

    /// Adds a job for which the route was chosen to the counts.
    pub fn add_routed_job(&mut self) {
        self.jobs += 1;
        self.recently_routed += 1;
    }

    /// Counts the end of a job. Interrupted jobs are not counted: they are neither success nor failure.
    pub fn count_ended(&mut self, success: bool) {
        if success {
            self.recently_succeeded += 1;
            self.blocked_by_failure = false;
        } else {
            self.recently_failed += 1;
        }
    }

    /// Adjusts the throttle if 600 seconds have passed since the last adjustment. Returns the old and the new throttle
    /// if the throttle changed.
    pub fn adjust_throttle(&mut self, threshold: f64, now: i64, quirks: QuirkMode) -> Option<(f64, f64)> {
        let interval = THROTTLE_INTERVAL as f64;
        let elapsed = now - self.counts_since;
        if elapsed < THROTTLE_INTERVAL {
            return None;
        }
        let (failed, succeeded) = (self.recently_failed as f64, self.recently_succeeded as f64);
        let old = self.throttle;
        let mut throttle = old;
        if self.recently_failed > 0 && failed / elapsed as f64 > threshold {
            throttle = interval * threshold / (failed / (failed + self.jobs as f64 + succeeded));
            // A throttle of 0 means no throttle, so that in 25.14 a threshold of 0 would have no effect.
            self.blocked_by_failure = throttle <= 0.0 && !quirks.reproduces(Quirk::ThrottleZeroIsNone);
        } else {
            // The reference keeps this factor in single precision.
            let mut factor = (3.0 * succeeded - 2.0 * failed) as f32;
            if factor > 0.0 {
                factor /= (self.recently_succeeded + self.recently_failed) as f32;
            }
            factor = (f64::from(factor) + 2.0) as f32;
            if factor > 1.0 {
                throttle *= f64::from(factor);
            }
            if throttle > interval * threshold * 10_000.0 {
                throttle = 0.0;
            }
            if throttle > 0.0 && throttle < 1.0 && self.recently_failed == 0 {
                throttle = 1.0;
            }
        }
        self.counts_since = now;
        (self.recently_routed, self.recently_failed, self.recently_succeeded) = (0, 0, 0);
        if (throttle - old).abs() > 0.0001 {
            self.throttle = throttle;
            return Some((old, throttle));
        }
        None
    }
}

/// Formats a throttle for display: `none`, `0.03 jobs/sec`.
pub fn format_throttle(throttle: f64) -> BString {
    if throttle <= 0.0 {
        return "none".into();
    }
    let rate = printf::format_general_upper(throttle / THROTTLE_INTERVAL as f64, 6).to_lowercase();
    format!("{rate} jobs/sec").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adjusts a throttle once, with the given numbers of current jobs, successes and failures, and returns it.
    fn adjusted_throttle(throttle: f64, jobs: i64, succeeded: i64, failed: i64) -> f64 {
        let mut state = RouteState { throttle, jobs, ..RouteState::new(0) };
        (state.recently_succeeded, state.recently_failed) = (succeeded, failed);
        state.adjust_throttle(0.03, 600, QuirkMode::Reference);
        assert_eq!((state.counts_since, state.recently_failed), (600, 0));
        state.throttle
    }

    #[test]
    fn throttles_change_as_in_the_reference() {
        for (before, jobs, succeeded, failed, after) in [
            (0.0, 0, 0, 18, 0.0),
            (0.0, 0, 0, 20, 18.0),
            (0.0, 10, 20, 20, 45.0),
            (18.0, 1, 0, 0, 36.0),
            (18.0, 1, 10, 0, 90.0),
            (18.0, 1, 5, 5, 45.0),
            (18.0, 1, 2, 3, 36.0),
            (18.0, 1, 0, 1, 18.0),
            (18.0, 1, 1, 2, 18.0),
            (100_000.0, 1, 10, 0, 0.0),
        ] {
            let got = adjusted_throttle(before, jobs, succeeded, failed);
            assert!((got - after).abs() < 1e-9, "{before} {jobs} {succeeded} {failed}: {got}");
        }
        assert_eq!(format_throttle(18.0), "0.03 jobs/sec");
        assert_eq!(format_throttle(0.0), "none");
    }

    #[test]
    fn nothing_changes_before_600_seconds() {
        let mut state = RouteState { recently_failed: 100, ..RouteState::new(0) };
        assert_eq!(state.adjust_throttle(0.03, 599, QuirkMode::Reference), None);
        assert_eq!(state.recently_failed, 100);
    }

    #[test]
    fn zero_tolerance_stops_the_route_until_a_success() {
        for (quirks, shut) in [(QuirkMode::Manual, true), (QuirkMode::Reference, false)] {
            let mut state = RouteState { recently_failed: 1, ..RouteState::new(0) };
            state.adjust_throttle(0.0, 600, quirks);
            assert_eq!(state.blocked_by_failure, shut);
            state.count_ended(true);
            assert!(!state.blocked_by_failure);
        }
    }
}
