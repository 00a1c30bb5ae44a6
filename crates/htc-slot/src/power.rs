//! Sleep: HIBERNATE of all slots, looked at every HIBERNATE_CHECK_INTERVAL (`ResMgr::checkHibernate`, `hibernator.cpp`).

use super::core::Core;
use super::execution_point::ExecutionPoint;
use super::interface::{Action, SlotKey, VacateReason};
use super::sleep_state::SleepState;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;

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

    /// Why the machine does not sleep though all slots agree to that state.
    fn stays_awake(&mut self, state: SleepState, first: SlotKey) -> Option<String> {
        let power = &self.core.settings.power;
        let name = state.name();
        if power.states.supported.is_empty() {
            return Some(format!(
                "HIBERNATE asks for {name}: this machine has no sleep state that is known here"
            ));
        }
        if !power.wakeable && !power.unwakeable {
            return Some(format!(
                "HIBERNATE asks for {name}: its network adapter cannot wake this machine (see WakeOnLanEnabledFlags), so that it stays awake; \
                 HIBERNATION_OVERRIDE_WOL = True lets it sleep all the same"
            ));
        }
        let (known, allowed) = (power.states.supported.contains(&state), power.allowed);
        if !known && !self.core.has(Quirk::HibernatePause, first) {
            return Some(format!(
                "HIBERNATE asks for {name}, which this machine does not know: it stays awake"
            ));
        }
        (!allowed).then(|| {
            format!("HIBERNATE of all slots asks for {name}: a pool's machine would sleep now; here --allow-hibernate lets it")
        })
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
        let name = state.name();
        let Some(first) = self.slots.keys().next() else { return };
        if let Some(reason) = self.stays_awake(state, first) {
            return self.core.power_refused(reason);
        }
        let known = self.core.settings.power.states.supported.contains(&state);
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
        let why = VacateReason::new("Startd hibernated", HoldCode::StartdHibernate);
        self.each_slot(|slot, core| slot.kill_claim(core, Some(why.clone()), "the machine hibernates"));
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
