//! Looking up the hook: its keyword, its path, its arguments and how long it is waited for, as its caller does.

use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::case::Protocol;
use super::configure::{CallOptions, SetupError};
use super::setup::Setup;
use htc_base::text::arguments;
use htc_hook::{Caller, HookType, Knobs, caller_waits, keyword, path_check};
use htc_slot as slot;
use htc_starter::{Refusal, hooks, untold_refusal};

impl Setup {
    /// Looks the hook up as its caller does.
    pub(super) fn look_up(&mut self, knobs: &dyn Knobs, options: &CallOptions) -> Result<(), SetupError> {
        let hook = self.case.hook;
        let found = match &options.keyword {
            Some(keyword) => Some(keyword.as_str().into()),
            None => self.find_keyword(knobs, &options.slot),
        };
        let Some(keyword) = found else {
            if options.hook.is_some() {
                return Ok(());
            }
            let tried = self.story.iter().map(|line| format!("\n  {line}")).collect();
            return Err(SetupError::NoKeyword { caller: hook.caller().name(), tried });
        };
        self.case.keyword = keyword.clone();
        if options.hook.is_none() {
            self.find_path(knobs, &keyword)?;
        }
        if hook.caller() == Caller::Starter {
            self.check_others(knobs, &keyword, options);
        }
        if !options.has_arguments {
            self.take_arguments(knobs, &keyword)?;
        }
        self.take_time_out(knobs, &keyword);
        Ok(())
    }

    /// The keyword that the caller finds for this slot and job.
    fn find_keyword(&mut self, knobs: &dyn Knobs, slot: &str) -> Option<BString> {
        let (clock, quirks) = (Rc::clone(&self.world), self.quirks);
        let world = &*clock;
        let of_slot = || {
            let parent = slot.split_once('_').map(|(parent, _)| parent);
            keyword::startd(slot, parent, knobs, quirks)
        };
        let lookup = match self.case.hook.caller() {
            Caller::Startd => of_slot(),
            Caller::Starter => {
                let mut job = self.case.job.clone();
                if !self.case.with_shadow
                    && let Some(fetched_under) = of_slot().keyword
                {
                    slot::add_keyword(&mut job, &fetched_under, world);
                    self.case.fetched_under = fetched_under;
                }
                keyword::starter(Caller::Starter, &job, knobs, world, quirks)
            }
            Caller::Shadow => keyword::starter(Caller::Shadow, &self.case.job, knobs, world, quirks),
            Caller::Router => keyword::router(&self.case.job, knobs, world),
        };
        self.story.extend(lookup.story.iter().map(ToString::to_string));
        lookup.keyword
    }

    /// Takes the arguments that the configuration gives the hook, where it may give it some.
    fn take_arguments(&mut self, knobs: &dyn Knobs, keyword: &[u8]) -> Result<(), SetupError> {
        let Some(knob) = self.case.hook.arguments_knob(keyword) else { return Ok(()) };
        let Some(text) = knobs.get(&knob) else { return Ok(()) };
        match arguments::parse_v2_raw(&text) {
            Ok(words) => {
                self.story.push(format!("{knob} gives {} arguments", words.len()));
                self.case.arguments = words;
                Ok(())
            }
            // The starter refuses the job.
            Err(_) if self.refusal.is_some() => Ok(()),
            Err(error) => Err(SetupError::Arguments { knob, error }),
        }
    }

    /// How long the caller waits.
    fn take_time_out(&mut self, knobs: &dyn Knobs, keyword: &[u8]) {
        let hook = self.case.hook;
        let time_out = BString::from(format!("{}_TIMEOUT", hook.knob(keyword)));
        if hook.time_out(keyword).is_none() && knobs.get(&time_out).is_some() {
            self.unread.push(format!(
                "{time_out} is set, but nobody reads it: this hook is waited for without limit"
            ));
        }
        if self.case.protocol == Protocol::Present {
            let (waits, bad) = caller_waits(hook, keyword, knobs, &*self.world);
            if let (Some(waits), Some(bad), Some(limit)) = (waits, bad, hook.time_out(keyword)) {
                self.unread.push(format!(
                    "{} is '{bad}', which is no number of seconds: it counts as {}",
                    limit.knob,
                    waits.as_secs()
                ));
            }
            self.case.caller_waits = waits;
        }
    }

    /// Takes the path from the configuration.
    fn find_path(&mut self, knobs: &dyn Knobs, keyword: &[u8]) -> Result<(), SetupError> {
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
                return Err(SetupError::NotSet {
                    knob: hook.knob(keyword),
                    misnamed: misnamed(knobs, keyword, hook),
                });
            }
        }
        Ok(())
    }

    /// The starter looks at all its hooks before it takes a job on: one bad path or argument text refuses the job. JOB_EXIT is
    /// told of that where the quirk is decided so.
    fn check_others(&mut self, knobs: &dyn Knobs, keyword: &[u8], options: &CallOptions) {
        let hook = self.case.hook;
        let (_, refusal) = hooks::find_under(keyword, knobs, &*self.world);
        let Some(refusal) = refusal.filter(|_| self.refusal.is_none()) else { return };
        let own = matches!(&refusal, Refusal::Hook { knob, .. } if hook.knob(keyword) == knob.as_str());
        if own && options.hook.is_some() {
            return;
        }
        if hook == HookType::JobExit && !untold_refusal(self.quirks).as_reference {
            self.unread
                .push(format!("{refusal}: the starter refuses the job, which JOB_EXIT is told by evict"));
            self.case.word = "evict".into();
            self.case.before_job = true;
        } else {
            self.refusal = Some(refusal.to_string());
        }
    }
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
