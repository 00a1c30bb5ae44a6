//! Sleep: HIBERNATE of all slots, looked at every HIBERNATE_CHECK_INTERVAL (`ResMgr::checkHibernate`, `hibernator.cpp`).

use std::time::Duration;

use super::core::{Alarm, Core};
use super::execution_point::ExecutionPoint;
use super::interface::{Action, VacateReason};
use crate::classad::ClassAd;
use crate::quirks::Quirk;

/// The machine hibernates (`condor_holdcodes.h`).
const HIBERNATES: i32 = 1016;

/// How deep a machine sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SleepState {
    /// Standby.
    S1,
    /// Standby, deeper.
    S2,
    /// Suspended to memory.
    S3,
    /// Suspended to disk.
    S4,
    /// Off.
    S5,
}

impl SleepState {
    /// All of them, the lightest first.
    const ALL: [(SleepState, &'static str, &'static [&'static str]); 5] = [
        (SleepState::S1, "S1", &["1", "standby", "sleep"]),
        (SleepState::S2, "S2", &["2"]),
        (SleepState::S3, "S3", &["3", "ram", "mem", "suspend"]),
        (SleepState::S4, "S4", &["4", "disk", "hibernate"]),
        (SleepState::S5, "S5", &["5", "shutdown", "off"]),
    ];

    /// By one of its names, in any case; every other text is no sleep.
    pub fn read(text: &str) -> Option<Self> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        let found =
            Self::ALL.iter().find(|(_, name, others)| is(name) || others.iter().any(|other| is(other)));
        found.map(|(state, ..)| *state)
    }

    /// Its name in ads.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Its number, from 1.
    pub fn level(self) -> i64 {
        self as i64 + 1
    }
}

/// What this machine can do about sleep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SleepStates {
    /// The states that it knows.
    pub supported: Vec<SleepState>,
    /// What else the program that knows them says: HibernationMethod, HibernationRawMask.
    pub method: Option<String>,
}

/// Sleep as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerSettings {
    /// HIBERNATE_CHECK_INTERVAL; nothing is looked at without.
    pub interval: Option<Duration>,
    /// Whether a packet wakes the machine (IsWakeAble).
    pub wakeable: bool,
    /// HIBERNATION_OVERRIDE_WOL: it sleeps though nobody can wake it through the network.
    pub unwakeable: bool,
    /// Whether it may really sleep (`--allow-hibernate`).
    pub allowed: bool,
    /// What the machine can do.
    pub states: SleepStates,
}

impl PowerSettings {
    /// What stands in every ad of a machine that is awake.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        if self.states.supported.is_empty() {
            return;
        }
        let names: Vec<&str> = self.states.supported.iter().map(|state| state.name()).collect();
        ad.set("HibernationSupportedStates", names.join(","));
        ad.set("CanHibernate", true);
        if let Some(method) = &self.states.method {
            ad.set("HibernationMethod", method.as_str());
        }
    }
}

/// Where it stands.
#[derive(Default)]
pub(super) struct Power {
    pub check_at: Option<Alarm>,
    /// The state that it is in, or goes to.
    pub asleep: Option<SleepState>,
    /// What was told of what does not come to pass, as long as it stays so.
    told: Option<String>,
}

impl Power {
    /// Over the attributes of a machine that is awake.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        if let Some(state) = self.asleep {
            ad.set("HibernationLevel", state.level());
            ad.set("HibernationState", state.name());
        }
    }
}

impl Core {
    /// The next look is one interval away, if there is any.
    pub(super) fn start_power(&mut self) {
        self.power.check_at = self.settings.power.interval.map(|interval| self.alarm(interval));
    }

    fn power_refused(&mut self, reason: String) {
        if self.power.told.as_ref() != Some(&reason) {
            self.warn(None, reason.clone());
            self.power.told = Some(reason);
        }
    }
}

impl ExecutionPoint {
    /// The state that all slots agree to: each has to name one, the deepest counts (`allHibernating`).
    fn wanted_sleep(&self) -> Option<SleepState> {
        let of_slots = self.slots.values().map(|slot| {
            let text = slot.look(&self.core, slot.job(), |context| context.string("HIBERNATE"))?;
            SleepState::read(&text.to_string())
        });
        of_slots.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Looks whether the machine is to sleep, and ends all jobs if so.
    pub(super) fn check_power(&mut self) {
        self.core.start_power();
        if self.core.power.asleep.is_some() || self.core.shutdown.is_some() {
            return;
        }
        let Some(state) = self.wanted_sleep() else {
            self.core.power.told = None;
            return;
        };
        let power = &self.core.settings.power;
        let name = state.name();
        if power.states.supported.is_empty() {
            let reason =
                format!("HIBERNATE asks for {name}: this machine has no sleep state that is known here");
            return self.core.power_refused(reason);
        }
        if !power.wakeable && !power.unwakeable {
            let reason = format!(
                "HIBERNATE asks for {name}: its network adapter cannot wake this machine (see WakeOnLanEnabledFlags), so that it stays awake; \
                 HIBERNATION_OVERRIDE_WOL = True lets it sleep all the same"
            );
            return self.core.power_refused(reason);
        }
        let known = power.states.supported.contains(&state);
        let allowed = power.allowed;
        let Some(first) = self.slots.keys().next() else { return };
        if !known && !self.core.has(Quirk::HibernatePause, first) {
            let reason =
                format!("HIBERNATE asks for {name}, which this machine does not know: it stays awake");
            return self.core.power_refused(reason);
        }
        if !allowed {
            let reason = format!(
                "HIBERNATE of all slots asks for {name}: a pool's machine would sleep now; here --allow-hibernate lets it"
            );
            return self.core.power_refused(reason);
        }
        self.core.power.told = None;
        self.core.warn(
            None,
            format!(
                "this machine is about to enter {name} (HIBERNATE); a pool's collector would keep its ads for OFFLINE_EXPIRE_ADS_AFTER \
                 seconds, and condor_rooster would wake it when Unhibernate says so; here nobody does"
            ),
        );
        self.core.power.asleep = Some(state);
        self.refresh_all();
        let why = VacateReason::new("Startd hibernated", HIBERNATES);
        let keys: Vec<_> = self.slots.keys().collect();
        for key in keys {
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.kill_claim(&mut self.core, Some(why.clone()), "the machine hibernates");
            }
            self.remove_gone();
        }
        self.slots.values_mut().for_each(|slot| slot.set_unavailable(None));
        self.core.out.push(Action::Sleep { state, known });
    }

    /// It is awake again, or did not sleep.
    pub(super) fn woke(&mut self, failure: Option<String>) {
        if let Some(failure) = failure {
            self.core.warn(None, format!("the machine does not sleep: {failure}"));
        }
        self.core.power.asleep = None;
        // No timer of the daemon runs while it waits for the machine.
        self.core.start_power();
        for slot in self.slots.values_mut() {
            slot.restore_requirements(&self.core);
        }
        self.refresh_all();
        self.core.start_polling();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_many_names() {
        for (text, level) in [("RAM", 3), ("4", 4), ("standby", 1), ("s2", 2), ("Off", 5)] {
            assert_eq!(SleepState::read(text).map(SleepState::level), Some(level), "{text}");
        }
        for text in ["NONE", "0", "", "S6", "deep"] {
            assert_eq!(SleepState::read(text), None, "{text}");
        }
        assert_eq!(SleepState::S4.name(), "S4");
    }
}
