//! Progress of putting a machine to sleep and of its waking up (`startd_hibernator.cpp`).

use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::events::{describe_exit, error_with_causes};
use crate::hook_environment::HookEnvironment;
use htc_base::process::{ChildSpec, Exit, LeftoverPolicy, Stdio};
use htc_base::time::MonotonicTime;
use htc_os::{ChildId, Reactor, clock};
use htc_slot::StartdEvent;

/// Time after which a machine that was put to sleep is assumed to be awake again (`ResMgr::checkHibernate`).
const ASSUMED_SLEEP_TIME: Duration = Duration::from_secs(10);

/// Progress of putting the machine to sleep and of its waking up.
#[derive(Debug, Default)]
pub(super) enum SleepProgress {
    #[default]
    Awake,
    /// The program that puts the machine to sleep is running.
    FallingAsleep(ChildId),
    /// The machine is assumed to be asleep until this time; `failure` is the reason if it could not be put to sleep.
    Asleep { until: MonotonicTime, failure: Option<String> },
}

impl SleepProgress {
    /// Begins the time in which the machine is assumed to be asleep.
    fn asleep_from_now(failure: Option<String>) -> Self {
        SleepProgress::Asleep { until: clock::monotonic_now().plus(ASSUMED_SLEEP_TIME), failure }
    }

    /// Runs a command that puts the machine to sleep.
    ///
    /// # Errors
    /// The command cannot be started; the machine is nevertheless assumed to be asleep for the usual time.
    pub(super) fn begin(
        command: Result<Vec<BString>, String>,
        environment: &HookEnvironment,
        reactor: &mut Reactor,
    ) -> Self {
        let child = command.and_then(|command| {
            let mut spec = ChildSpec::new(command[0].to_path_lossy().as_ref());
            spec.argv.extend(command[1..].iter().cloned());
            spec.env = environment.entries();
            spec.stdio = [Stdio::Null, Stdio::Null, Stdio::Inherit];
            spec.leftover_policy = LeftoverPolicy::Kill;
            reactor.spawn(spec).map_err(|error| error_with_causes(&error))
        });
        match child {
            Ok(child) => SleepProgress::FallingAsleep(child),
            Err(why) => SleepProgress::asleep_from_now(Some(why)),
        }
    }

    /// Handles the end of a child; returns true if the child was the program that puts the machine to sleep.
    pub(super) fn handle_exit(&mut self, child: ChildId, exit: Exit) -> bool {
        if !matches!(self, SleepProgress::FallingAsleep(going) if *going == child) {
            return false;
        }
        *self = SleepProgress::asleep_from_now(match exit {
            Exit::Code(0) => None,
            _ => Some(format!("the program {}", describe_exit(exit))),
        });
        true
    }

    /// Returns the time from which the machine is assumed to be awake, or `None` if it was not put to sleep.
    pub(super) fn wake_time(&self) -> Option<MonotonicTime> {
        match self {
            SleepProgress::Awake | SleepProgress::FallingAsleep(_) => None,
            SleepProgress::Asleep { until, .. } => Some(*until),
        }
    }

    /// Returns the event for waking up when the machine is assumed to be awake, or `None` before.
    pub(super) fn take_wake_event(&mut self) -> Option<StartdEvent> {
        self.wake_time().filter(|until| *until <= clock::monotonic_now())?;
        match std::mem::take(self) {
            SleepProgress::Asleep { failure, .. } => Some(StartdEvent::Awake { failure }),
            SleepProgress::Awake | SleepProgress::FallingAsleep(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_attempt_to_sleep_ends_with_a_reason() {
        let mut sleep = SleepProgress::asleep_from_now(Some("this machine cannot S3".to_owned()));
        assert!(sleep.wake_time().is_some_and(|at| at > clock::monotonic_now()));
        assert!(sleep.take_wake_event().is_none());
        let SleepProgress::Asleep { until, .. } = &mut sleep else { panic!("{sleep:?}") };
        *until = clock::monotonic_now();
        let woke = sleep.take_wake_event();
        assert!(
            matches!(woke, Some(StartdEvent::Awake { failure: Some(why) }) if why == "this machine cannot S3")
        );
        assert!(matches!(sleep, SleepProgress::Awake));
    }
}
