//! The slot that a hook of the execution point is called for: that of the configuration, made where the slot runner makes its own, or
//! a built-in one.

use std::rc::Rc;

use super::call_setup::CallSetup;
use super::configure::{CallOptions, SetupError};
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::Config;
use htc_hook::HookType;
use htc_runner::hook_environment::ConfigSelection;
use htc_runner::slot::{StarterProgram, configured_surroundings, passive_execution_point};
use htc_slot as slot;
use htc_slot::{ExecutionPoint, ExitLimits};

impl CallSetup {
    /// Whether the hook reads the slot's internal ad.
    pub(super) fn reads_slot_policy(&self) -> bool {
        matches!(self.case.hook, HookType::ReplyFetch | HookType::EvictClaim)
    }

    /// The slot of the configuration, as the slot runner makes it. Whether it could be made: a configuration of another machine
    /// may ask for what this one does not have.
    ///
    /// # Errors
    /// There are slots, and none of them has the name that is wanted.
    pub(super) fn use_configured_slot(
        &mut self,
        config: &Config,
        options: &CallOptions,
        warn: &mut dyn FnMut(&str),
    ) -> Result<bool, SetupError> {
        let machine = match self.build_execution_point(config, &options.configuration, warn) {
            Ok(machine) if machine.slots().next().is_none() => {
                warn("the configuration makes no slots here, a built-in static slot stands for one");
                return Ok(false);
            }
            Ok(machine) => machine,
            Err(reason) => {
                warn(&reason);
                return Ok(false);
            }
        };
        if let Some(mut slot) = self.select_slot_ad(machine, &options.slot)? {
            options.changes.apply_to_slot(self.case.hook, &mut slot);
            self.case.slot = slot;
        }
        Ok(true)
    }

    /// The execution point of the configuration on this machine; or why it cannot be made.
    fn build_execution_point(
        &self,
        config: &Config,
        choice: &ConfigSelection,
        warn: &mut dyn FnMut(&str),
    ) -> Result<ExecutionPoint, String> {
        let world = &*self.world;
        let (mut around, warning) = match StarterProgram::find(None, config, world, self.quirks) {
            Ok(starter) => starter.surroundings(config, world, choice),
            Err(error) => (configured_surroundings(config, world), Some(error.to_string())),
        };
        warning.iter().for_each(|warning| warn(warning));
        // No job is run here.
        around.execute_problem = None;
        around.slot_volumes.values_mut().for_each(|volume| volume.execute_problem = None);
        match slot::configure(config, world, &around, self.quirks, ExitLimits::default()) {
            Ok(configured) => {
                Ok(passive_execution_point(configured.settings, Rc::clone(&self.world) as Rc<dyn World>))
            }
            Err(error) => Err(format!(
                "the slots of the configuration cannot be made here, a built-in static slot stands for them: {error}"
            )),
        }
    }

    /// The ad that the hook is told of the slot with this name; or that there is no such slot.
    fn select_slot_ad(
        &mut self,
        mut machine: ExecutionPoint,
        wanted: &str,
    ) -> Result<Option<ClassAd>, SetupError> {
        let all: Vec<_> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
        // A dynamic slot is made of the one whose name it begins with.
        let parent = wanted.split_once('_').map_or(wanted, |(parent, _)| parent);
        let found = all.iter().find(|(_, id)| id.eq_ignore_ascii_case(parent));
        // Slots may have another prefix than the usual one.
        let Some((key, id)) = found.or_else(|| all.first().filter(|_| wanted == "slot1")) else {
            let known = all.into_iter().map(|(_, id)| id).collect();
            return Err(SetupError::NoSlot { name: wanted.to_owned(), known });
        };
        let (mut key, mut id) = (*key, id.clone());
        if self.reads_job_slot() || parent != wanted {
            match machine.slot_for_job(key, &self.case.job) {
                Ok(own) => {
                    key = own;
                    id = machine.slot_id(key).unwrap_or(&id).to_owned();
                }
                Err(reason) => {
                    self.lookup_log.push(format!("no dynamic slot can be made for the job: {reason}"))
                }
            }
        }
        let ad = machine.sent_ad(key);
        if ad.is_some() {
            self.lookup_log.push(format!("{id} is as the configuration makes it on this machine"));
        }
        Ok(ad)
    }

    /// Whether the hook reads the ad of the slot that the job has, or has had; else that of the one it was fetched for.
    fn reads_job_slot(&self) -> bool {
        match self.case.hook {
            HookType::ReplyFetch => {
                self.case.word == "accept" && !slot::early_accept_decision(self.quirks).as_reference
            }
            hook => hook == HookType::EvictClaim,
        }
    }

    /// The policy of the slot in the configuration.
    fn slot_policy(&self, config: &Config, options: &CallOptions) -> Result<ClassAd, SetupError> {
        let own = config.view_for_slot(options.slot_type, &*self.world);
        Ok(slot::read_slot_policy(own, config.view(&*self.world), self.quirks)?)
    }

    /// Gives a built-in slot the START and RANK of the configuration, which decide about a fetched job. Options win.
    pub(super) fn apply_slot_policy(
        &mut self,
        config: &Config,
        options: &CallOptions,
    ) -> Result<(), SetupError> {
        let hook = self.case.hook;
        if hook == HookType::FetchWork || self.reads_slot_policy() {
            let policy = self.slot_policy(config, options)?;
            for (name, knob) in [("Start", "START"), ("Rank", "Rank")] {
                if let (Some(value), false) =
                    (policy.get(knob), options.changes.changes_slot_attribute(hook, name))
                {
                    self.case.slot.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// The policy of the slot, for hooks that read it.
    pub(super) fn load_slot_policy(
        &mut self,
        config: &Config,
        options: &CallOptions,
    ) -> Result<(), SetupError> {
        if self.reads_slot_policy() {
            self.case.policy = self.slot_policy(config, options)?;
        }
        Ok(())
    }
}
