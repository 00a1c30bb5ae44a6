//! From the command line to a call that can be made: configuration, keyword, path, account, environment.

use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::options::{One, Shared};
use super::{ads, variables};
use crate::cli::common::{Problem, Session};
use crate::config::{CommandPolicy, Config, View, Who};
use crate::hook::{Caller, HookType, Knobs, caller_waits, keyword, path_check};
use crate::os::{RealWorld, identity};
use crate::quirks::Quirk;
use crate::router::{self, RouteTable};
use crate::runner::hook_test::{
    Case, Protocol, Setup, caller_environment, default_config, default_settings, known_words, patience,
};
use crate::slot;
use crate::starter::{Refusal, Settings, hooks};
use crate::text::arguments;
use crate::time::Now;
use crate::world::Account;

impl Setup {
    pub(super) fn new(cli: &Shared, hook: HookType, one: &One, session: &Session) -> anyhow::Result<Self> {
        let mut world = RealWorld::new();
        if let Some(now) = cli.clock.now {
            world = world.at(Now { wall_us: now, monotonic_us: u64::try_from(now).unwrap_or(0) });
        }
        if let Some(seed) = cli.clock.seed {
            world = world.seeded(seed);
        }
        let mut case = Case::new(hook);
        let call = &one.call;
        case.route.name = call.route.as_deref().unwrap_or("Site1").into();
        case.route.universe = call.target_universe.unwrap_or(case.route.universe);
        case.route.grid_resource = call.grid_resource.as_deref().unwrap_or_default().into();
        case.route.edit_in_place = call.edit_in_place;
        case.with_shadow |= call.shadow;
        case.before_job = call.before_job;
        if call.protocol.as_deref() == Some("7.1") {
            case.protocol = Protocol::Old;
            if !case.protocol.knows(hook) {
                let problem = Problem::usage(format!("the manual of 7.1 has no hook {}", hook.name()));
                let hint =
                    "it has FETCH_WORK, REPLY_FETCH, EVICT_CLAIM, PREPARE_JOB, UPDATE_JOB_INFO and JOB_EXIT";
                return Err(problem.hint(hint).into());
            }
            case.caller_waits = case.protocol.time_out(hook);
        }
        if let Some(id) = &call.claim_id {
            case.claim_id = id.as_str().into();
        }
        let built_in_slot = ads::take(&mut case, one, session)?;
        words(&mut case, one)?;

        let mut setup = Setup {
            account: account(call.user.as_deref())?,
            extra: variables::pairs(&call.env)?,
            prepend: call.path_prepend.clone(),
            ..Setup::plain(Rc::new(world), case, cli.quirks.quirks)
        };
        if call.user.is_some() {
            // One's own account is no other one, and changing to it is not allowed to everybody.
            let own = |account: &&Account| account.uid == identity::effective_uid() && account.uid != 0;
            setup.identity = setup.account.as_ref().filter(|account| !own(account)).map(identity::of_account);
        }
        setup.configure(cli, one, built_in_slot, session)?;
        for line in &setup.unread {
            session.warn(line);
        }
        let waits = setup.case.caller_waits;
        setup.patience = patience(waits, cli.events.timeout);
        Ok(setup)
    }

    /// Reads the configuration where one is wanted, and finds the hook.
    fn configure(
        &mut self,
        cli: &Shared,
        one: &One,
        built_in_slot: bool,
        session: &Session,
    ) -> anyhow::Result<()> {
        let wanted =
            one.hook.is_none() || cli.config.config_file.is_some() || !cli.config.set_knob.is_empty();
        let (hook, world) = (self.case.hook, Rc::clone(&self.world));
        self.daemon = caller_environment(&*world, &cli.config.choice(), self.quirks);
        let who = Who { subsystem: hook.caller().subsystem().into(), local_name: "".into() };
        if wanted {
            let options = cli.config.load_options(CommandPolicy::BOUNDED);
            let (config, warnings) = Config::load(&*world, &who, &options).map_err(Problem::of_config)?;
            for warning in warnings {
                session.warn(warning.text.to_str_lossy().trim());
            }
            let world = Rc::new(RealWorld::clone(&world).strict(config.is_strict()));
            self.world = Rc::clone(&world);
            let view = config.for_slot(one.call.slot_type, &slot_name(one), &*world);
            if let Ok(settings) = Settings::read(&view, Some(&self.case.slot), &*world) {
                self.settings = settings;
            }
            self.policy(&config, one)?;
            let reads_slot = hook == HookType::FetchWork || self.sees_policy();
            let of_configuration = built_in_slot && reads_slot && one.ads.sample_slot.is_none();
            if built_in_slot && !(of_configuration && self.configured_slot(cli, &config, one, session)?) {
                self.slot_of(&config, one)?;
            }
            self.find(&view, one)?;
            if let (HookType::TranslateJob, Some(name)) = (hook, &one.call.route) {
                self.route(&view, name, one)?;
            }
            let number = |name: &str| view.int(name).ok().flatten().map(|setting| setting.value);
            if let Some(limit) = number("PIPE_BUFFER_MAX").and_then(|limit| usize::try_from(limit).ok()) {
                self.case.output_limit = limit;
            }
        } else {
            if let Some(keyword) = &one.call.keyword {
                self.case.keyword = keyword.as_str().into();
            }
            self.settings = default_settings();
            if self.sees_policy() {
                let config = default_config(who).map_err(|error| Problem::unreadable(error.to_string()))?;
                self.policy(&config, one)?;
            }
        }
        if let Some(path) = &one.hook {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.path = path.as_os_str().as_bytes().into();
            let refusal = path_check::check(&*world, &self.path).err().map(|error| error.to_string());
            self.refusal = refusal.or(self.refusal.take());
        }
        if one.call.ignore_path_check {
            self.refusal = None;
        }
        Ok(())
    }

    /// What the hook is told of a route of the configuration. Options win.
    fn route(&mut self, view: &View<'_>, name: &str, one: &One) -> anyhow::Result<()> {
        let knobs = router::Knobs::load(view, &mut |_| {});
        let mut notes = Vec::new();
        let table = RouteTable::load(view, &knobs, &*self.world, self.quirks, &mut |note| {
            notes.push(note.text.trim().as_bstr().to_string());
        });
        let Some(route) = table.find(name.as_bytes()).and_then(|at| table.routes.get(at)) else {
            // A configuration of hooks alone: the options say what the route is.
            if table.routes.is_empty() && one.call.target_universe.is_some() {
                return Ok(());
            }
            let known: Vec<String> = table.routes.iter().map(|route| route.name.to_string()).collect();
            let why: String = notes.iter().map(|note| format!("\n  {note}")).collect();
            let message = format!("the configuration has no route '{name}' that can be used{why}");
            let hint = match known.is_empty() {
                true => "it has none that can be used".to_owned(),
                false => format!("its routes are: {}", known.join(", ")),
            };
            return Err(Problem::unreadable(message).hint(hint).into());
        };
        let told = &mut self.case.route;
        told.name = route.name.clone();
        told.universe = one.call.target_universe.unwrap_or(route.universe);
        if one.call.grid_resource.is_none() {
            told.grid_resource = route.grid_resource.clone();
        }
        told.edit_in_place |= route.edit_job_in_place.truth(&self.case.job, &*self.world);
        Ok(())
    }

    /// Looks the hook up as its caller does.
    fn find(&mut self, knobs: &dyn Knobs, one: &One) -> anyhow::Result<()> {
        let (hook, clock) = (self.case.hook, Rc::clone(&self.world));
        let world = &*clock;
        let of_slot = || {
            let slot = slot_name(one);
            let parent = slot.split_once('_').map(|(parent, _)| parent);
            keyword::startd(&slot, parent, knobs, self.quirks)
        };
        let keyword = match &one.call.keyword {
            Some(keyword) => Some(BString::from(keyword.as_str())),
            None => {
                let lookup = match hook.caller() {
                    Caller::Startd => of_slot(),
                    Caller::Starter => {
                        let mut job = self.case.job.clone();
                        if !self.case.with_shadow
                            && let Some(fetched_under) = of_slot().keyword
                        {
                            slot::add_keyword(&mut job, &fetched_under, world);
                            self.case.fetched_under = fetched_under;
                        }
                        keyword::starter(Caller::Starter, &job, knobs, world, self.quirks)
                    }
                    Caller::Shadow => {
                        keyword::starter(Caller::Shadow, &self.case.job, knobs, world, self.quirks)
                    }
                    Caller::Router => keyword::router(&self.case.job, knobs, world),
                };
                self.story.extend(lookup.story.iter().map(ToString::to_string));
                lookup.keyword
            }
        };
        let Some(keyword) = keyword else {
            if one.hook.is_some() {
                return Ok(());
            }
            let tried: String = self.story.iter().map(|line| format!("\n  {line}")).collect();
            let message =
                format!("the {} has no keyword, so that it calls no hooks{tried}", hook.caller().name());
            return Err(Problem::unreadable(message).hint("--keyword WORD uses one all the same").into());
        };
        let knob = hook.knob(&keyword);
        self.case.keyword = keyword.clone();
        if one.hook.is_none() {
            self.find_path(knobs, &keyword)?;
        }
        if hook.caller() == Caller::Starter {
            self.check_others(knobs, &keyword, one);
        }
        if let Some(knob) = hook.arguments_knob(&keyword)
            && let Some(text) = knobs.get(&knob)
            && one.words.is_empty()
        {
            match arguments::parse_v2_raw(&text) {
                Ok(words) => {
                    self.story.push(format!("{knob} gives {} arguments", words.len()));
                    self.case.arguments = words;
                }
                // The starter refuses the job.
                Err(_) if self.refusal.is_some() => {}
                Err(error) => return Err(Problem::unreadable(format!("{knob}: {error}")).into()),
            }
        }
        let time_out = BString::from(format!("{knob}_TIMEOUT"));
        if hook.time_out(&keyword).is_none() && knobs.get(&time_out).is_some() {
            self.unread.push(format!(
                "{time_out} is set, but nobody reads it: this hook is waited for without limit"
            ));
        }
        if self.case.protocol == Protocol::Present {
            let (waits, bad) = caller_waits(hook, &keyword, knobs, world);
            if let (Some(waits), Some(bad), Some(limit)) = (waits, bad, hook.time_out(&keyword)) {
                self.unread.push(format!(
                    "{} is '{bad}', which is no number of seconds: it counts as {}",
                    limit.knob,
                    waits.as_secs()
                ));
            }
            self.case.caller_waits = waits;
        }
        Ok(())
    }

    /// Takes the path from the configuration.
    fn find_path(&mut self, knobs: &dyn Knobs, keyword: &[u8]) -> anyhow::Result<()> {
        let hook = self.case.hook;
        let path_check::Tried { found, refused } = path_check::try_all(&*self.world, knobs, keyword, hook);
        for (knob, refusal) in &refused {
            self.story.push(refusal.reference_text(knob));
        }
        match (found, refused.into_iter().next()) {
            (Some((knob, path)), refused) => {
                if let Some((_, refusal)) = refused {
                    self.unread.push(format!("{refusal}; {knob} is used"));
                }
                let origin = knobs.origin(&knob).map(|place| format!(" ({place})")).unwrap_or_default();
                self.story.push(format!("{knob} is '{path}'{origin}"));
                self.path = path;
            }
            (None, Some((knob, refusal))) => {
                self.path = refusal.path.clone();
                self.refusal = Some(format!("{refusal}\n{}", refusal.reference_text(&knob)));
            }
            (None, None) => {
                let knob = hook.knob(keyword);
                let mut problem = Problem::unreadable(format!("{knob} is not set: no such hook is called"));
                if let Some(hint) = misnamed(knobs, keyword, hook) {
                    problem = problem.hint(hint);
                }
                return Err(problem.into());
            }
        }
        Ok(())
    }

    /// The starter looks at all its hooks before it takes a job on: one bad path or argument text refuses the job. JOB_EXIT is
    /// told of that where the quirk is decided so.
    fn check_others(&mut self, knobs: &dyn Knobs, keyword: &[u8], one: &One) {
        let hook = self.case.hook;
        let (_, refusal) = hooks::find_under(keyword, knobs, &*self.world);
        let Some(refusal) = refusal.filter(|_| self.refusal.is_none()) else { return };
        let own = matches!(&refusal, Refusal::Hook { knob, .. } if hook.knob(keyword) == knob.as_str());
        if own && one.hook.is_some() {
            return;
        }
        if hook == HookType::JobExit && !self.quirks.has(Quirk::StarterRefusalUntold) {
            self.unread
                .push(format!("{refusal}: the starter refuses the job, which JOB_EXIT is told by evict"));
            self.case.word = "evict".into();
            self.case.before_job = true;
        } else {
            self.refusal = Some(refusal.to_string());
        }
    }
}

/// The slot that is meant; a mere number is that of a slot with an ordinary name.
pub(super) fn slot_name(one: &One) -> String {
    let slot = &one.call.slot;
    let number = slot.starts_with(|first: char| first.is_ascii_digit());
    if number { format!("slot{slot}") } else { slot.clone() }
}

/// A knob with a name of an old manual or a common slip, where the right one is not set.
fn misnamed(knobs: &dyn Knobs, keyword: &[u8], hook: HookType) -> Option<String> {
    let keyword = keyword.as_bstr();
    let name = hook.name();
    let mut wrong = vec![
        (format!("HOOK_{name}"), "the manual of 7.1 leaves the keyword out"),
        (format!("{keyword}_JOB_HOOK_{name}"), "there is no JOB_ in it"),
        (format!("{keyword}_{name}"), "HOOK_ is missing in it"),
        (format!("{keyword}_HOOK_{name}_HOOK"), "it ends in _HOOK"),
    ];
    match hook {
        HookType::ReplyFetch => {
            wrong.push((format!("{keyword}_HOOK_REPLY_CLAIM"), "manuals name it, no version reads it"));
        }
        HookType::FetchWork => {
            wrong.push((format!("{keyword}_HOOK_FETCH_JOB"), "the hook's name is FETCH_WORK"))
        }
        HookType::PrepareJobBeforeTransfer | HookType::PrepareJob => {
            wrong.push((format!("{keyword}_HOOK_PREPARE"), "the hook's name is PREPARE_JOB"));
        }
        HookType::JobExit => wrong.push((format!("{keyword}_HOOK_EXIT"), "the hook's name is JOB_EXIT")),
        _ => {}
    }
    wrong.into_iter().find(|(name, _)| knobs.get(name.as_bytes()).is_some()).map(|(name, why)| {
        format!("{name} is set, but nobody reads it: {why}; call it {}", hook.knob(keyword))
    })
}

/// What REPLY_FETCH and JOB_EXIT are told, and arguments of the others.
fn words(case: &mut Case, one: &One) -> anyhow::Result<()> {
    let Some(allowed) = known_words(case.hook) else {
        case.arguments = one.words.iter().map(|word| word.as_str().into()).collect();
        return Ok(());
    };
    if let Some((word, rest)) = one.words.split_first() {
        if !allowed.contains(&word.as_str()) {
            let message = format!("{} is not told '{word}'", case.hook.name());
            return Err(Problem::usage(message).hint(format!("it is told {}", allowed.join(", "))).into());
        }
        case.word = word.as_str().into();
        case.arguments = rest.iter().map(|word| word.as_str().into()).collect();
    }
    Ok(())
}

/// The account that `--user` names, else that of this program.
pub(super) fn account(user: Option<&str>) -> anyhow::Result<Option<Account>> {
    let Some(name) = user else {
        return Ok(identity::by_uid(identity::effective_uid()));
    };
    let account = identity::by_name(name.as_bytes())
        .ok_or_else(|| Problem::usage(format!("there is no account '{name}'")))?;
    if account.uid != identity::effective_uid() && !identity::may_switch() {
        return Err(Problem::usage("--user needs root").into());
    }
    Ok(Some(account))
}
