//! Lookup of a hook as its caller does it: keyword, path, arguments and timeout.

use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::call_setup::CallSetup;
use super::case::Protocol;
use super::configure::{CallOptions, SetupError};
use htc_base::text::arguments;
use htc_base::text::plural::counted;
use htc_hook::{HookCaller, HookType, ParameterSource, caller_timeout, keyword, path_check};
use htc_slot as slot;
use htc_starter::{JobRefusal, hooks, refused_job_exit_hook_decision};

impl CallSetup {
    /// Finds the keyword, path, arguments and timeout of the hook as its caller does.
    pub(super) fn look_up_hook(
        &mut self,
        parameters: &dyn ParameterSource,
        options: &CallOptions,
    ) -> Result<(), SetupError> {
        let hook = self.case.hook;
        let found = match &options.keyword {
            Some(keyword) => Some(keyword.as_str().into()),
            None => self.find_keyword(parameters, &options.slot),
        };
        let Some(keyword) = found else {
            if options.hook.is_some() {
                return Ok(());
            }
            return Err(SetupError::NoKeyword { caller: hook.caller().name(), tried: self.lookup_steps() });
        };
        self.case.keyword = keyword.clone();
        if options.hook.is_none() {
            self.find_path(parameters, &keyword)?;
        }
        if hook.caller() == HookCaller::Starter {
            self.check_other_hooks(parameters, &keyword, options);
        }
        if !options.has_arguments {
            self.read_arguments(parameters, &keyword)?;
        }
        self.read_timeout(parameters, &keyword);
        Ok(())
    }

    /// Returns the steps of the lookup, each on a new line.
    fn lookup_steps(&self) -> String {
        self.lookup_log.iter().map(|line| format!("\n  {line}")).collect()
    }

    /// Returns the keyword that the caller finds for the slot and the job, or `None`.
    fn find_keyword(&mut self, parameters: &dyn ParameterSource, slot: &str) -> Option<BString> {
        let (clock, quirks) = (Rc::clone(&self.world), self.quirks);
        let world = &*clock;
        let of_slot = || {
            let parent = slot.split_once('_').map(|(parent, _)| parent);
            keyword::startd_keyword(slot, parent, parameters, quirks)
        };
        let lookup = match self.case.hook.caller() {
            HookCaller::Startd => of_slot(),
            HookCaller::Starter => {
                let mut job = self.case.job.clone();
                if !self.case.with_shadow
                    && let Some(fetched_under) = of_slot().keyword
                {
                    slot::add_hook_keyword(&mut job, &fetched_under, world);
                    self.case.fetching_keyword = fetched_under;
                }
                keyword::starter_keyword(HookCaller::Starter, &job, parameters, world, quirks)
            }
            HookCaller::Shadow => {
                keyword::starter_keyword(HookCaller::Shadow, &self.case.job, parameters, world, quirks)
            }
            HookCaller::Router => keyword::router_keyword(&self.case.job, parameters, world),
        };
        self.lookup_log.extend(lookup.steps.iter().map(ToString::to_string));
        lookup.keyword
    }

    /// Reads the configured arguments, if hooks of this type can have any.
    fn read_arguments(&mut self, parameters: &dyn ParameterSource, keyword: &[u8]) -> Result<(), SetupError> {
        let Some(knob) = self.case.hook.arguments_parameter(keyword) else { return Ok(()) };
        let Some(text) = parameters.get(&knob) else { return Ok(()) };
        match arguments::parse_v2_raw(&text) {
            Ok(words) => {
                self.lookup_log.push(format!("{knob} gives {}", counted(words.len(), "argument")));
                self.case.arguments = words;
                Ok(())
            }
            // The starter refuses the job for another reason, so the invalid arguments do not matter.
            Err(_) if self.refusal.is_some() => Ok(()),
            Err(error) => Err(SetupError::Arguments { knob, error }),
        }
    }

    /// Reads the timeout that the caller has for the hook.
    fn read_timeout(&mut self, parameters: &dyn ParameterSource, keyword: &[u8]) {
        let hook = self.case.hook;
        let time_out = BString::from(format!("{}_TIMEOUT", hook.path_parameter(keyword)));
        if hook.timeout_parameter(keyword).is_none() && parameters.get(&time_out).is_some() {
            self.ignored_settings.push(format!(
                "{time_out} is set, but nothing reads it: the caller waits for this hook without a limit"
            ));
        }
        if self.case.protocol == Protocol::Current {
            let (waits, bad) = caller_timeout(hook, keyword, parameters, &*self.world);
            if let (Some(waits), Some(bad), Some(limit)) = (waits, bad, hook.timeout_parameter(keyword)) {
                self.ignored_settings.push(format!(
                    "{} is '{bad}', which is not a number of seconds: the caller uses {}",
                    limit.parameter,
                    waits.as_secs()
                ));
            }
            self.case.caller_waits = waits;
        }
    }

    /// Finds the path of the hook in the configuration.
    fn find_path(&mut self, parameters: &dyn ParameterSource, keyword: &[u8]) -> Result<(), SetupError> {
        let hook = self.case.hook;
        let path_check::HookPathSearch { found, refused } =
            path_check::search_hook_path(&*self.world, parameters, keyword, hook);
        for (knob, refusal) in &refused {
            self.lookup_log.push(refusal.reference_message(knob));
        }
        match (found, refused.into_iter().next()) {
            (Some((knob, path)), refused) => {
                if let Some((_, refusal)) = refused {
                    self.ignored_settings.push(format!("{refusal}; {knob} is used"));
                }
                let origin = parameters.origin(&knob).map(|place| format!(" ({place})")).unwrap_or_default();
                self.lookup_log.push(format!("{knob} is '{path}'{origin}"));
                self.path = path;
            }
            (None, Some((knob, refusal))) => {
                self.path = refusal.path.clone();
                self.refusal = Some(format!("{refusal}\n{}", refusal.reference_message(&knob)));
            }
            (None, None) => {
                return Err(SetupError::NotSet {
                    knob: hook.path_parameter(keyword),
                    keyword: keyword.into(),
                    tried: self.lookup_steps(),
                    misnamed: misnamed_parameter(parameters, keyword, hook),
                });
            }
        }
        Ok(())
    }

    /// Checks the other hooks of the starter, because an invalid path or invalid arguments of any hook make the
    /// starter refuse the job. Whether JOB_EXIT is then called depends on a quirk.
    fn check_other_hooks(&mut self, parameters: &dyn ParameterSource, keyword: &[u8], options: &CallOptions) {
        let hook = self.case.hook;
        let (_, refusal) = hooks::find_hooks_of_keyword(keyword, parameters, &*self.world);
        let Some(refusal) = refusal.filter(|_| self.refusal.is_none()) else { return };
        let own = matches!(&refusal, JobRefusal::Hook { parameter, .. } if hook.path_parameter(keyword) == parameter.as_str());
        if own && options.hook.is_some() {
            return;
        }
        if hook == HookType::JobExit && !refused_job_exit_hook_decision(self.quirks).as_reference {
            self.ignored_settings
                .push(format!("{refusal}: the starter refuses the job; JOB_EXIT is called with 'evict'"));
            self.case.word = "evict".into();
            self.case.job_not_started = true;
        } else {
            self.refusal = Some(refusal.to_string());
        }
    }
}

/// Searches for a parameter whose name is from an old manual or a common mistake. Returns a hint with the correct
/// name, or `None`.
fn misnamed_parameter(parameters: &dyn ParameterSource, keyword: &[u8], hook: HookType) -> Option<String> {
    let keyword = keyword.as_bstr();
    let name = hook.name();
    let mut wrong = vec![
        (format!("HOOK_{name}"), "the name has no keyword, as in the manual of 7.1"),
        (format!("{keyword}_JOB_HOOK_{name}"), "JOB_ is not part of the name"),
        (format!("{keyword}_{name}"), "HOOK_ is missing in the name"),
        (format!("{keyword}_HOOK_{name}_HOOK"), "the name ends in _HOOK"),
    ];
    match hook {
        HookType::ReplyFetch => {
            wrong.push((format!("{keyword}_HOOK_REPLY_CLAIM"), "manuals name it, but no version reads it"));
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
    wrong.into_iter().find(|(name, _)| parameters.get(name.as_bytes()).is_some()).map(|(name, why)| {
        format!("{name} is set, but nothing reads it: {why}; call it {}", hook.path_parameter(keyword))
    })
}
