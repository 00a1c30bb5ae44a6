//! The slot that a hook of the execution point is called for: that of the configuration, made where the slot runner makes its own, or
//! a built-in one.

use std::rc::Rc;

use super::ads;
use super::options::{One, Shared};
use super::setup::slot_name;
use crate::cli::common::{Problem, Session};
use crate::config::Config;
use crate::hook::HookType;
use crate::quirks::Quirk;
use crate::runner::hook_test::Setup;
use crate::runner::slot::{StarterProgram, at_rest, surroundings_of};
use crate::slot::{self, Limits};
use crate::world::World;

impl Setup {
    /// Whether the hook reads the slot's internal ad.
    pub(super) fn sees_policy(&self) -> bool {
        matches!(self.case.hook, HookType::ReplyFetch | HookType::EvictClaim)
    }

    /// The slot of the configuration, as the slot runner makes it. Whether it could be made: a configuration of another machine
    /// may ask for what this one does not have.
    pub(super) fn configured_slot(
        &mut self,
        cli: &Shared,
        config: &Config,
        one: &One,
        session: &Session,
    ) -> anyhow::Result<bool> {
        let world = &*self.world;
        let (mut around, warning) = match StarterProgram::find(None, config, world, self.quirks) {
            Ok(starter) => starter.surroundings(config, world, &cli.config.choice()),
            Err(error) => (surroundings_of(config, world), Some(error.to_string())),
        };
        if let Some(warning) = warning {
            session.warn(&warning);
        }
        // No job is run here.
        around.no_execute = None;
        let configured = match slot::configure(config, world, &around, self.quirks, Limits::default()) {
            Ok(configured) => configured,
            Err(error) => {
                session.warn(&format!(
                    "the slots of the configuration cannot be made here, a built-in static slot stands for them: {error}"
                ));
                return Ok(false);
            }
        };
        let mut machine = at_rest(configured.settings, Rc::clone(&self.world) as Rc<dyn World>);
        let wanted = slot_name(one);
        let all: Vec<_> = machine.slots().map(|(key, id, ..)| (key, id.to_owned())).collect();
        // A dynamic slot is made of the one whose name it begins with.
        let parent = wanted.split_once('_').map_or(wanted.as_str(), |(parent, _)| parent);
        let found = all.iter().find(|(_, id)| id.eq_ignore_ascii_case(parent));
        // Slots may have another prefix than the default of --slot.
        let Some((key, id)) = found.or_else(|| all.first().filter(|_| wanted == "slot1")) else {
            let names: Vec<&str> = all.iter().map(|(_, id)| id.as_str()).collect();
            session.warn(&format!(
                "the configuration makes no slot '{wanted}' here, only {}: a built-in static slot stands for it",
                names.join(", ")
            ));
            return Ok(false);
        };
        let (mut key, mut id) = (*key, id.clone());
        if self.is_told_of_the_jobs_slot() || parent != wanted {
            match machine.slot_for(key, &self.case.job) {
                Ok(own) => {
                    key = own;
                    id = machine.slot_id(key).unwrap_or(&id).to_owned();
                }
                Err(reason) => self.story.push(format!("no dynamic slot can be made for the job: {reason}")),
            }
        }
        if let Some(ad) = machine.sent_ad(key) {
            self.story.push(format!("{id} is as the configuration makes it on this machine"));
            ads::put_slot(&mut self.case, ad, &one.ads)?;
        }
        Ok(true)
    }

    /// Whether the hook reads the ad of the slot that the job has, or has had; else that of the one it was fetched for.
    fn is_told_of_the_jobs_slot(&self) -> bool {
        match self.case.hook {
            HookType::ReplyFetch => self.case.word == "accept" && !self.quirks.has(Quirk::AcceptBeforeDslot),
            hook => hook == HookType::EvictClaim,
        }
    }

    /// Gives a built-in slot the START and RANK of the configuration, which decide about a fetched job. Options win.
    pub(super) fn slot_of(&mut self, config: &Config, one: &One) -> anyhow::Result<()> {
        let hook = self.case.hook;
        if hook == HookType::FetchWork || self.sees_policy() {
            let own = config.for_slot(one.call.slot_type, &slot_name(one), &*self.world);
            let policy = slot::policy_of(own, config.view(&*self.world), self.quirks)
                .map_err(|error| Problem::unreadable(error.to_string()))?;
            for (name, knob) in [("Start", "START"), ("Rank", "Rank")] {
                if let (Some(value), false) = (policy.get(knob), ads::slot_has(&one.ads, hook, name)) {
                    self.case.slot.insert(name, value);
                }
            }
        }
        Ok(())
    }

    /// The policy of the slot, for hooks that read it.
    pub(super) fn policy(&mut self, config: &Config, one: &One) -> anyhow::Result<()> {
        if self.sees_policy() {
            let world = &*self.world;
            let own = config.for_slot(one.call.slot_type, &slot_name(one), world);
            self.case.policy = slot::policy_of(own, config.view(world), self.quirks)
                .map_err(|error| Problem::unreadable(error.to_string()))?;
        }
        Ok(())
    }
}
