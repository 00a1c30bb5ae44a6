//! Hooks of a queue, and preparation of their calls.

use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;

use super::queue_directory::QueueDirectory;
use super::queue_error::QueueError;
use super::slot_step::{SlotStep, StepTag};
use super::test_plan::QueueTest;
use crate::call_pool::PooledCall;
use crate::caller::caller_environment;
use crate::{CallDirectories, Case, VerdictInputs, samples};
use htc_base::quirks::QuirkMode;
use htc_base::world::World;
use htc_classad::ClassAd;
use htc_config::{Config, LoadOptions, LookupContext};
use htc_hook::{HookType, hook_input, keyword, path_check};
use htc_os::{RealWorld, identity};
use htc_runner::hook_call::HookCall;
use htc_runner::hook_environment::{ConfigSelection, HookEnvironment};
use htc_slot::read_slot_policy;
use htc_starter::StarterSettings;

/// Hooks of a queue, and the configuration of their callers.
pub(super) struct QueueHooks {
    pub keyword: BString,
    /// Settings of the starter that calls JOB_EXIT.
    pub settings: StarterSettings,
    /// Policy of each slot, which is part of the slot ad that REPLY_FETCH and EVICT_CLAIM read.
    pub policy: ClassAd,
    pub fetch: BString,
    pub reply: Option<BString>,
    pub exit: Option<BString>,
    pub evict: Option<BString>,
}

impl QueueHooks {
    /// Finds the hooks in the configuration in `directory`.
    pub(super) fn from_config(test: &QueueTest<'_>, directory: &QueueDirectory) -> Result<Self, QueueError> {
        let world = test.world;
        let load = |subsystem: &str| {
            let context = LookupContext { subsystem: subsystem.into(), local_name: "".into() };
            let options = LoadOptions { file: Some(directory.config_file.clone()), ..test.load.clone() };
            Config::load(world, &context, &options).map(|(config, _)| config)
        };
        let (startd, starter) = (load("STARTD")?, load("STARTER")?);
        let policy = read_slot_policy(startd.view(world), startd.view(world), test.quirks)?;
        let (startd, starter) = (startd.view(world), starter.view(world));
        let keyword = match &test.keyword {
            Some(keyword) => keyword.clone(),
            None => keyword::startd_keyword("slot1", None, &startd, test.quirks)
                .keyword
                .ok_or(QueueError::NoKeyword)?,
        };
        let find = |hook: HookType| -> Result<Option<BString>, QueueError> {
            let view = if hook == HookType::JobExit { &starter } else { &startd };
            let path = path_check::configured_path(world, view, &keyword, hook)?;
            path.map(|path| directory.hook_path(&hook.path_parameter(&keyword).to_string(), path)).transpose()
        };
        let fetch = find(HookType::FetchWork)?.ok_or_else(|| QueueError::NoFetch(keyword.clone()))?;
        let (reply, exit) = (find(HookType::ReplyFetch)?, find(HookType::JobExit)?);
        let evict = find(HookType::EvictClaim)?;
        let slot = samples::slot_ad("static").unwrap_or_default();
        let settings = StarterSettings::read(&starter, Some(&slot), world).unwrap_or_default();
        Ok(QueueHooks { keyword, settings, policy, fetch, reply, exit, evict })
    }
}

/// Inputs that all calls of a round have in common.
pub(super) struct CallFactory<'a> {
    hooks: &'a QueueHooks,
    world: &'a RealWorld,
    slots: Vec<ClassAd>,
    daemon: HookEnvironment,
    /// Working directory of the startd's hooks.
    log: tempfile::TempDir,
    patience: Duration,
}

impl<'a> CallFactory<'a> {
    pub(super) fn new(
        test: &QueueTest<'a>,
        hooks: &'a QueueHooks,
        config_file: PathBuf,
        slots: usize,
    ) -> Result<Self, QueueError> {
        let choice = ConfigSelection { file: Some(config_file), ..test.choice.clone() };
        let slot = |number: usize| {
            let mut slot = samples::slot_ad("static").unwrap_or_default();
            slot.set("Name", format!("slot{}@node1.example.org", number + 1));
            slot.set("SlotID", number as i64 + 1);
            for (name, knob) in [("Start", "START"), ("Rank", "Rank")] {
                if let Some(value) = hooks.policy.get(knob) {
                    slot.insert(name, value);
                }
            }
            slot
        };
        Ok(CallFactory {
            hooks,
            world: test.world,
            slots: (0..slots).map(slot).collect(),
            daemon: caller_environment(test.world, &choice, test.quirks),
            log: tempfile::Builder::new().prefix("htc-hook-log.").tempdir()?,
            patience: test.patience,
        })
    }

    /// Builds the call for a step, or returns `None` if the hook of the step is not configured. If `doom` is given,
    /// the hook is killed after that time.
    pub(super) fn build_call(
        &self,
        slot: usize,
        step: SlotStep,
        doom: Option<Duration>,
    ) -> Result<Option<PooledCall<StepTag>>, QueueError> {
        let mut environment = self.daemon.clone();
        let mut place = None;
        let (hook, path, word, stdin) = match &step {
            SlotStep::Fetch => {
                let stdin = hook_input::fetch_work_input(&self.slots[slot]);
                (HookType::FetchWork, Some(&self.hooks.fetch), "", stdin)
            }
            SlotStep::Reply { job, accept, .. } => {
                let word = if *accept { "accept" } else { "reject" };
                let stdin = self.startd_hook_input(self.build_case(HookType::ReplyFetch, slot, job, word));
                (HookType::ReplyFetch, self.hooks.reply.as_ref(), word, stdin)
            }
            SlotStep::Exit { job, word, .. } => {
                let case = self.build_case(HookType::JobExit, slot, job, word);
                let made =
                    self.starter_directories(&case, &mut environment).map_err(QueueError::CallDirectories)?;
                let stdin = place.insert(made).case().input(QuirkMode::Manual);
                (HookType::JobExit, self.hooks.exit.as_ref(), *word, stdin)
            }
            SlotStep::Evict { job } => {
                let stdin = self.startd_hook_input(self.build_case(HookType::EvictClaim, slot, job, ""));
                (HookType::EvictClaim, self.hooks.evict.as_ref(), "", stdin)
            }
        };
        let Some(path) = path else { return Ok(None) };
        let mut call = HookCall::new(hook, path.clone(), stdin, environment);
        call.arguments = Some(word).filter(|word| !word.is_empty()).map(BString::from).into_iter().collect();
        let directory =
            place.as_ref().map_or(self.log.path(), |place: &CallDirectories| place.directory.as_path());
        call.directory = Some(directory.to_owned());
        call.ancestor = Some(HookCall::new_family_marker(self.world.now(), self.world.random()));
        let Ok(spec) = call.child_spec() else { return Ok(None) };
        let tag = StepTag { slot, step, is_killed: doom.is_some(), directories: place };
        Ok(Some(PooledCall { tag, spec, patience: doom.unwrap_or(self.patience) }))
    }

    fn build_case(&self, hook: HookType, slot: usize, job: &ClassAd, word: &str) -> Case {
        let mut case = Case::new(hook);
        (case.job, case.slot) = (job.clone(), self.slots[slot].clone());
        (case.keyword, case.word) = (self.hooks.keyword.clone(), word.into());
        case.claim_id = format!("<192.0.2.1:9618>#1#{slot}#0").into();
        case
    }

    fn verdict_inputs(&self) -> VerdictInputs<'_> {
        VerdictInputs { settings: &self.hooks.settings, world: self.world, quirks: QuirkMode::Manual }
    }

    /// Returns the input of REPLY_FETCH or EVICT_CLAIM: the job ad as completed by the startd, and the slot ad with
    /// its policy.
    fn startd_hook_input(&self, mut case: Case) -> Vec<u8> {
        case.policy = self.hooks.policy.clone();
        case.completed_by_caller(None, &self.verdict_inputs()).input(QuirkMode::Manual)
    }

    /// Creates the directories for a starter hook: the scratch directory of the job with the files of its ads. Adds
    /// the variables that name these directories and files to the environment.
    fn starter_directories(
        &self,
        case: &Case,
        environment: &mut HookEnvironment,
    ) -> std::io::Result<CallDirectories> {
        let place = CallDirectories::create(case, None, &self.verdict_inputs())?;
        let account = identity::account_by_uid(identity::effective_uid());
        let daemon = std::mem::take(environment);
        *environment = place.hook_environment(daemon, account.as_ref(), &self.verdict_inputs());
        Ok(place)
    }
}
