//! Hibernation: HIBERNATE of all slots, evaluated every HIBERNATE_CHECK_INTERVAL (`ResMgr::checkHibernate`, `hibernator.cpp`).

use super::events::{SlotKey, StartdAction, VacateReason};
use super::execution_point::ExecutionPoint;
use super::execution_point_state::ExecutionPointState;
use super::sleep_state::SleepState;
use htc_base::job::HoldCode;
use htc_base::quirks::Quirk;

impl ExecutionPointState {
    /// Schedules the next check of HIBERNATE, or none if HIBERNATE_CHECK_INTERVAL is not set.
    pub(super) fn schedule_hibernation_check(&mut self) {
        self.power.check_at = self.settings.power.interval.map(|interval| self.alarm(interval));
    }

    fn report_no_hibernation(&mut self, reason: String) {
        if self.power.reported_reason.as_ref() != Some(&reason) {
            self.warn(None, reason.clone());
            self.power.reported_reason = Some(reason);
        }
    }
}

impl ExecutionPoint {
    /// Returns the sleep state that all slots agree on, or `None`. Each slot must name a state; the deepest of them is used
    /// (`allHibernating`).
    fn agreed_sleep_state(&self) -> Option<SleepState> {
        let of_slots = self.slots.values().map(|slot| {
            let text = slot.eval_in_slot_ad(&self.core, slot.job(), |context| context.string("HIBERNATE"))?;
            SleepState::from_name(&text.to_string())
        });
        of_slots.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Returns why the machine does not sleep although all slots agree on `state`, or `None` if it does.
    fn stay_awake_reason(&mut self, state: SleepState, first: SlotKey) -> Option<String> {
        let power = &self.core.settings.power;
        let name = state.name();
        if power.states.supported.is_empty() {
            return Some(format!("HIBERNATE is {name}, but no sleep state of this machine is known"));
        }
        if !power.can_be_woken && !power.sleeps_if_unwakeable {
            return Some(format!(
                "HIBERNATE asks for {name}: its network adapter cannot wake this machine (see WakeOnLanEnabledFlags), so that it stays awake; \
                 HIBERNATION_OVERRIDE_WOL = True lets it sleep all the same"
            ));
        }
        let (known, allowed) = (power.states.supported.contains(&state), power.allowed);
        if !known && !self.core.decide_and_report(Quirk::HibernatePause, first) {
            return Some(format!("HIBERNATE is {name}, which this machine does not support: it stays awake"));
        }
        (!allowed).then(|| {
            format!("HIBERNATE is {name} in all slots: a machine of a pool would sleep now; use --allow-hibernate to let this machine sleep")
        })
    }

    /// Checks if the machine must sleep, and ends all jobs if so.
    pub(super) fn check_hibernation(&mut self) {
        self.core.schedule_hibernation_check();
        if self.core.power.sleep_state.is_some() || self.core.ending.shutdown.is_some() {
            return;
        }
        let Some(state) = self.agreed_sleep_state() else {
            self.core.power.reported_reason = None;
            return;
        };
        let name = state.name();
        let Some(first) = self.slots.keys().next() else { return };
        if let Some(reason) = self.stay_awake_reason(state, first) {
            return self.core.report_no_hibernation(reason);
        }
        let known = self.core.settings.power.states.supported.contains(&state);
        self.core.power.reported_reason = None;
        self.core.warn(
            None,
            format!(
                "this machine is about to enter {name} (HIBERNATE); a pool's collector would keep its ads for OFFLINE_EXPIRE_ADS_AFTER \
                 seconds, and condor_rooster would wake it when Unhibernate is true; here nothing does"
            ),
        );
        self.core.power.sleep_state = Some(state);
        self.refresh_all();
        let why = VacateReason::new("Startd hibernated", HoldCode::StartdHibernate);
        self.for_each_slot(|slot, core| slot.kill_claim(core, Some(why.clone()), "the machine hibernates"));
        self.slots.values_mut().for_each(|slot| slot.set_unavailable(None));
        self.core.actions.push(StartdAction::Sleep { state, known });
    }

    /// Handles the wake-up of the machine, or its failure to sleep.
    pub(super) fn handle_wake_up(&mut self, failure: Option<String>) {
        if let Some(failure) = failure {
            self.core.warn(None, format!("the machine does not sleep: {failure}"));
        }
        self.core.power.sleep_state = None;
        // No timer of the daemon runs while the machine sleeps.
        self.core.schedule_hibernation_check();
        for slot in self.slots.values_mut() {
            slot.restore_requirements(&self.core);
        }
        self.refresh_all();
        self.core.start_polling();
    }
}
