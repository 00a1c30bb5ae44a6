//! The hooks of a queue, and one call of each of them.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use super::directory::QueueDirectory;
use super::error::QueueError;
use super::plan::QueueTest;
use super::step::{Step, Tag};
use crate::caller::caller_environment;
use crate::pool::Job;
use crate::{Around, Case, Place, samples};
use htc_base::quirks::Quirks;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{Config, LoadOptions, Who};
use htc_hook::{HookType, input, keyword, path_check};
use htc_os::{RealWorld, identity};
use htc_runner::hook_call::HookCall;
use htc_runner::hook_environment::{ConfigChoice, HookEnvironment};
use htc_slot::policy_of;
use htc_starter::Settings;

/// The hooks, and what their callers read of the configuration.
pub(super) struct Hooks {
    pub keyword: BString,
    /// Those of the starter that calls JOB_EXIT.
    pub settings: Settings,
    /// What REPLY_FETCH and EVICT_CLAIM see of the policy of each slot.
    pub policy: ClassAd,
    pub fetch: BString,
    pub reply: Option<BString>,
    pub exit: Option<BString>,
    pub evict: Option<BString>,
}

impl Hooks {
    /// Those of the configuration in `directory`.
    pub(super) fn find(test: &QueueTest<'_>, directory: &QueueDirectory) -> Result<Self, QueueError> {
        let world = test.world;
        let load = |subsystem: &str| {
            let who = Who { subsystem: subsystem.into(), local_name: "".into() };
            let options = LoadOptions { file: Some(directory.config_file.clone()), ..test.load.clone() };
            Config::load(world, &who, &options).map(|(config, _)| config)
        };
        let (startd, starter) = (load("STARTD")?, load("STARTER")?);
        let policy = policy_of(startd.view(world), startd.view(world), test.quirks)?;
        let (startd, starter) = (startd.view(world), starter.view(world));
        let keyword = match &test.keyword {
            Some(keyword) => keyword.clone(),
            None => {
                keyword::startd("slot1", None, &startd, test.quirks).keyword.ok_or(QueueError::NoKeyword)?
            }
        };
        let find = |hook: HookType| -> Result<Option<BString>, QueueError> {
            let view = if hook == HookType::JobExit { &starter } else { &startd };
            let path = path_check::configured(world, view, &keyword, hook)?;
            path.map(|path| directory.hook(&hook.knob(&keyword).to_string(), path)).transpose()
        };
        let fetch = find(HookType::FetchWork)?.ok_or_else(|| QueueError::NoFetch(keyword.clone()))?;
        let (reply, exit) = (find(HookType::ReplyFetch)?, find(HookType::JobExit)?);
        let evict = find(HookType::EvictClaim)?;
        let slot = samples::slot("static").unwrap_or_default();
        let settings = Settings::read(&starter, Some(&slot), world).unwrap_or_default();
        Ok(Hooks { keyword, settings, policy, fetch, reply, exit, evict })
    }
}

/// What every call of a round is made with.
pub(super) struct Calls<'a> {
    hooks: &'a Hooks,
    world: &'a RealWorld,
    slots: Vec<ClassAd>,
    daemon: HookEnvironment,
    /// Where the startd's hooks start.
    log: tempfile::TempDir,
    patience: Duration,
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        test: &QueueTest<'a>,
        hooks: &'a Hooks,
        config_file: PathBuf,
        slots: usize,
    ) -> Result<Self, QueueError> {
        let choice = ConfigChoice { file: Some(config_file), ..test.choice.clone() };
        let slot = |number: usize| {
            let mut slot = samples::slot("static").unwrap_or_default();
            slot.set("Name", format!("slot{}@node1.example.org", number + 1));
            slot.set("SlotID", number as i64 + 1);
            for (name, knob) in [("Start", "START"), ("Rank", "Rank")] {
                if let Some(value) = hooks.policy.get(knob) {
                    slot.insert(name, value);
                }
            }
            slot
        };
        Ok(Calls {
            hooks,
            world: test.world,
            slots: (0..slots).map(slot).collect(),
            daemon: caller_environment(test.world, &choice, test.quirks),
            log: tempfile::Builder::new().prefix("htc-hook-log.").tempdir()?,
            patience: test.patience,
        })
    }

    /// The call of a step, `None` if there is no such hook; `doom` is after how long it is killed in the middle.
    pub(super) fn make(
        &self,
        slot: usize,
        step: Step,
        doom: Option<Duration>,
    ) -> Result<Option<Job<Tag>>, QueueError> {
        let mut environment = self.daemon.clone();
        let mut place = None;
        let (hook, path, word, stdin) = match &step {
            Step::Fetch => {
                let stdin = input::fetch(&self.slots[slot]);
                (HookType::FetchWork, Some(&self.hooks.fetch), "", stdin)
            }
            Step::Reply { job, accept, .. } => {
                let word = if *accept { "accept" } else { "reject" };
                let stdin = self.startd_input(self.case(HookType::ReplyFetch, slot, job, word));
                (HookType::ReplyFetch, self.hooks.reply.as_ref(), word, stdin)
            }
            Step::Exit { job, word, .. } => {
                let case = self.case(HookType::JobExit, slot, job, word);
                let made = self.starter_place(&case, &mut environment).map_err(QueueError::Place)?;
                let stdin = place.insert(made).case().input(Quirks::None);
                (HookType::JobExit, self.hooks.exit.as_ref(), *word, stdin)
            }
            Step::Evict { job } => {
                let stdin = self.startd_input(self.case(HookType::EvictClaim, slot, job, ""));
                (HookType::EvictClaim, self.hooks.evict.as_ref(), "", stdin)
            }
        };
        let Some(path) = path else { return Ok(None) };
        let mut call = HookCall::new(hook, path.clone(), stdin, environment);
        call.arguments = Some(word).filter(|word| !word.is_empty()).map(BString::from).into_iter().collect();
        let directory = place.as_ref().map_or(self.log.path(), |place: &Place| place.directory.as_path());
        call.directory = Some(directory.to_owned());
        call.ancestor = Some(HookCall::marker(self.world.now(), self.world.random()));
        let Ok(spec) = call.child_spec() else { return Ok(None) };
        let tag = Tag { slot, step, doomed: doom.is_some(), place };
        Ok(Some(Job { tag, spec, patience: doom.unwrap_or(self.patience) }))
    }

    fn case(&self, hook: HookType, slot: usize, job: &ClassAd, word: &str) -> Case {
        let mut case = Case::new(hook);
        (case.job, case.slot) = (job.clone(), self.slots[slot].clone());
        (case.keyword, case.word) = (self.hooks.keyword.clone(), word.into());
        case.claim_id = format!("<192.0.2.1:9618>#1#{slot}#0").into();
        case
    }

    fn around(&self) -> Around<'_> {
        Around { settings: &self.hooks.settings, world: self.world, quirks: Quirks::None }
    }

    /// What REPLY_FETCH and EVICT_CLAIM read: the job as the startd has completed it, and the slot with its policy.
    fn startd_input(&self, mut case: Case) -> Vec<u8> {
        case.policy = self.hooks.policy.clone();
        case.completed(None, &self.around()).input(Quirks::None)
    }

    /// What a hook of the starter finds: the scratch directory of its job, with the ads and the variables that name them.
    fn starter_place(&self, case: &Case, environment: &mut HookEnvironment) -> std::io::Result<Place> {
        let place = Place::make(case, None, &self.around())?;
        let account = identity::by_uid(identity::effective_uid());
        let daemon = std::mem::take(environment);
        *environment = place.environment(daemon, account.as_ref(), &self.around());
        Ok(place)
    }
}
