//! Slot for hooks of the execution point: the configured slot, created as the slot runner creates it, or a built-in
//! slot.

use std::rc::Rc;

use super::call_setup::CallSetup;
use super::configure::{CallOptions, SetupError};
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::Config;
use htc_hook::HookType;
use htc_os::RealWorld;
use htc_runner::configured_world;
use htc_runner::hook_environment::ConfigSelection;
use htc_runner::slot::{StarterProgram, configured_surroundings, passive_execution_point};
use htc_slot as slot;
use htc_slot::{ExecutionPoint, ExitLimits};

/// Builds an execution point on this machine from the configuration, or returns the reason why it cannot be built.
fn build_execution_point(
    config: &Config,
    choice: &ConfigSelection,
    world: &Rc<RealWorld>,
    quirks: QuirkMode,
    warn: &mut dyn FnMut(&str),
) -> Result<ExecutionPoint, String> {
    let (mut surroundings, warning) = match StarterProgram::find(None, config, &**world, quirks) {
        Ok(starter) => starter.surroundings(config, &**world, choice),
        Err(error) => (configured_surroundings(config, &**world), Some(error.to_string())),
    };
    warning.iter().for_each(|warning| warn(warning));
    // Problems with EXECUTE do not matter here, because no job is run.
    surroundings.execute_problem = None;
    surroundings.slot_volumes.values_mut().for_each(|volume| volume.execute_problem = None);
    match slot::configure(config, &**world, &surroundings, quirks, ExitLimits::default()) {
        Ok(configured) => {
            let machine = passive_execution_point(configured.settings, Rc::clone(world) as Rc<dyn World>);
            if machine.slots().next().is_none() {
                return Err(
                    "the configuration defines no slots on this machine; a built-in static slot is used"
                        .to_owned(),
                );
            }
            Ok(machine)
        }
        Err(error) => Err(format!(
            "cannot create the slots of the configuration; a built-in static slot is used: {error}"
        )),
    }
}

/// Returns the names and ads of the slots that the configuration defines on this machine, as the execution point
/// sends them. If no slot can be created, returns an empty list and calls `warn`.
pub fn configured_slot_ads(
    config: &Config,
    choice: &ConfigSelection,
    world: RealWorld,
    quirks: QuirkMode,
    warn: &mut dyn FnMut(&str),
) -> Vec<(String, ClassAd)> {
    let world = Rc::new(configured_world(world, config, warn));
    let machine = match build_execution_point(config, choice, &world, quirks, warn) {
        Ok(machine) => machine,
        Err(reason) => {
            warn(&reason);
            return Vec::new();
        }
    };
    let all: Vec<_> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
    all.into_iter().filter_map(|(key, id)| Some((id, machine.sent_ad(key)?))).collect()
}

impl CallSetup {
    /// Returns true if the hook reads the slot ad with the slot's policy.
    pub(super) fn reads_slot_policy(&self) -> bool {
        matches!(self.case.hook, HookType::ReplyFetch | HookType::EvictClaim)
    }

    /// Uses the configured slot, created as the slot runner creates it. Returns false if no slot can be created, for
    /// example because a configuration for another machine needs resources that this machine lacks.
    ///
    /// # Errors
    /// Slots were created, but none has the given name.
    pub(super) fn use_configured_slot(
        &mut self,
        config: &Config,
        options: &CallOptions,
        warn: &mut dyn FnMut(&str),
    ) -> Result<bool, SetupError> {
        let choice = &options.configuration;
        let machine = match build_execution_point(config, choice, &self.world, self.quirks, warn) {
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

    /// Returns the ad of the slot with the given name, in the form that the hook gets.
    fn select_slot_ad(
        &mut self,
        mut machine: ExecutionPoint,
        wanted: &str,
    ) -> Result<Option<ClassAd>, SetupError> {
        let all: Vec<_> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
        // The name of a dynamic slot begins with the name of its partitionable slot.
        let parent = wanted.split_once('_').map_or(wanted, |(parent, _)| parent);
        let found = all.iter().find(|(_, id)| id.eq_ignore_ascii_case(parent));
        // The configuration may use another prefix for slot names, so the default name `slot1` stands for the first
        // slot.
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
            self.lookup_log.push(format!("{id} is the slot that the configuration defines on this machine"));
            self.configured_slot = Some(id);
        }
        Ok(ad)
    }

    /// Returns true if the hook reads the ad of the slot on which the job runs, or false if it reads the ad of the
    /// slot that fetched the job.
    fn reads_job_slot(&self) -> bool {
        match self.case.hook {
            HookType::ReplyFetch => {
                self.case.word == "accept" && !slot::early_accept_decision(self.quirks).as_reference
            }
            hook => hook == HookType::EvictClaim,
        }
    }

    /// Reads the policy of the slot from the configuration.
    fn slot_policy(&self, config: &Config, options: &CallOptions) -> Result<ClassAd, SetupError> {
        let own = config.view_for_slot(options.slot_type, &*self.world);
        Ok(slot::read_slot_policy(own, config.view(&*self.world), self.quirks)?)
    }

    /// Sets START and RANK of a built-in slot from the configuration, because these expressions decide about a
    /// fetched job. Options on the command line override them.
    pub(super) fn apply_slot_policy(
        &mut self,
        config: &Config,
        options: &CallOptions,
    ) -> Result<(), SetupError> {
        let hook = self.case.hook;
        if hook == HookType::FetchWork || self.reads_slot_policy() {
            let policy = self.slot_policy(config, options)?;
            for (name, parameter) in [("Start", "START"), ("Rank", "Rank")] {
                if let (Some(value), false) =
                    (policy.get(parameter), options.changes.changes_slot_attribute(hook, name))
                {
                    self.case.slot.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// Reads the policy of the slot from the configuration if the hook reads it.
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
