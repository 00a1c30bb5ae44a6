//! A machine on its way to sleep and back (`startd_hibernator.cpp`).

use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::events::{exit_words, full_text};
use crate::hook_environment::HookEnvironment;
use htc_base::process::{ChildSpec, Exit, LeftBehind, Stdio};
use htc_base::time::Tick;
use htc_os::{ChildId, Reactor, clock};
use htc_slot::Event;

/// What passes until a machine that was told to sleep is thought to be awake again (`ResMgr::checkHibernate`).
const PAUSE: Duration = Duration::from_secs(10);

/// How far it is.
#[derive(Debug, Default)]
pub(super) enum Sleep {
    #[default]
    Awake,
    /// The program that makes it sleep runs.
    Going(ChildId),
    /// It sleeps, or does not as something failed, and is thought to be awake then.
    Asleep { until: Tick, failure: Option<String> },
}

impl Sleep {
    /// The program has ended, or there is none.
    fn since_now(failure: Option<String>) -> Self {
        Sleep::Asleep { until: clock::tick().plus(PAUSE), failure }
    }

    /// Makes the machine sleep by a command.
    ///
    /// # Errors
    /// Why it does not: nothing is waited for, but the machine takes it for asleep for a while as well.
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
            spec.left_behind = LeftBehind::Killed;
            reactor.spawn(spec).map_err(|error| full_text(&error))
        });
        match child {
            Ok(child) => Sleep::Going(child),
            Err(why) => Sleep::since_now(Some(why)),
        }
    }

    /// The program that makes it sleep may have ended; whether the child was that.
    pub(super) fn ended(&mut self, child: ChildId, exit: Exit) -> bool {
        if !matches!(self, Sleep::Going(going) if *going == child) {
            return false;
        }
        *self = Sleep::since_now(match exit {
            Exit::Code(0) => None,
            _ => Some(format!("the program {}", exit_words(exit))),
        });
        true
    }

    /// When it is thought to be awake.
    pub(super) fn wakes(&self) -> Option<Tick> {
        match self {
            Sleep::Awake | Sleep::Going(_) => None,
            Sleep::Asleep { until, .. } => Some(*until),
        }
    }

    /// What the machine is told where it is awake again.
    pub(super) fn look(&mut self) -> Option<Event> {
        self.wakes().filter(|until| *until <= clock::tick())?;
        match std::mem::take(self) {
            Sleep::Asleep { failure, .. } => Some(Event::Woke { failure }),
            Sleep::Awake | Sleep::Going(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_cannot_sleep_is_awake_after_a_while_and_says_why() {
        let mut sleep = Sleep::since_now(Some("there is no way to S3".to_owned()));
        assert!(sleep.wakes().is_some_and(|at| at > clock::tick()));
        assert!(sleep.look().is_none());
        let Sleep::Asleep { until, .. } = &mut sleep else { panic!("{sleep:?}") };
        *until = clock::tick();
        let woke = sleep.look();
        assert!(matches!(woke, Some(Event::Woke { failure: Some(why) }) if why == "there is no way to S3"));
        assert!(matches!(sleep, Sleep::Awake));
    }
}
