//! Inputs of one hook call.

use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use super::samples;
use htc_base::quirks::{QuirkDecision, QuirkMode};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::{HookType, hook_input};
use htc_runner::hook_call::DEFAULT_PIPE_BUFFER_MAX;
use htc_starter::exit_reason_decision;

/// Version of the hook protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol of 7.8 and all later versions.
    #[default]
    Current,
    /// Protocol of 7.1: PREPARE_JOB also reads the slot ad, and its output is ignored.
    Legacy,
}

impl Protocol {
    /// Returns true if the manual of this version describes the hook.
    pub fn has_hook(self, hook: HookType) -> bool {
        let old = matches!(
            hook,
            HookType::FetchWork
                | HookType::ReplyFetch
                | HookType::EvictClaim
                | HookType::PrepareJob
                | HookType::UpdateJobInfo
                | HookType::JobExit
        );
        self == Protocol::Current || old
    }

    /// Returns the caller's default timeout, or `None` if it waits forever, as callers of 7.1 do for every hook.
    pub fn default_timeout(self, hook: HookType) -> Option<Duration> {
        if self == Protocol::Legacy {
            None
        } else {
            hook.timeout_parameter(b"").map(|time_out| time_out.default)
        }
    }
}

/// Route whose name and attributes TRANSLATE_JOB gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseRoute {
    /// Name of the route.
    pub name: BString,
    /// GridResource; empty if there is none.
    pub grid_resource: BString,
    /// Value of the attribute `TargetUniverse`.
    pub universe: i64,
    /// Value of the attribute `EditJobInPlace`.
    pub edit_in_place: bool,
}

impl Default for CaseRoute {
    fn default() -> Self {
        CaseRoute {
            name: "Site1".into(),
            grid_resource: BString::default(),
            universe: 5,
            edit_in_place: false,
        }
    }
}

/// Inputs of one hook call.
#[derive(Clone, Debug)]
pub struct Case {
    /// Hook type.
    pub hook: HookType,
    /// Hook keyword; may be empty.
    pub keyword: BString,
    /// Job ad; for hooks of the router, the ad of the source job.
    pub job: ClassAd,
    /// Slot ad.
    pub slot: ClassAd,
    /// Ad of the routed job.
    pub routed: ClassAd,
    /// Route of the routed job.
    pub route: CaseRoute,
    /// First argument of REPLY_FETCH (`accept`, `reject`) or JOB_EXIT (`exit`, `evict`, `hold`, `remove`).
    pub word: BString,
    /// Further arguments (`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`).
    pub arguments: Vec<BString>,
    /// Claim id, for REPLY_FETCH and EVICT_CLAIM.
    pub claim_id: BString,
    /// True if the starter has a shadow; false for a fetched job.
    pub with_shadow: bool,
    /// Version of the protocol.
    pub protocol: Protocol,
    /// Timeout of the caller, or `None` if it waits forever.
    pub caller_waits: Option<Duration>,
    /// Value of PIPE_BUFFER_MAX.
    pub output_limit: usize,
    /// True if UPDATE_JOB_INFO or JOB_EXIT is called for a job that has not been started.
    pub job_not_started: bool,
    /// Hook keyword of the slot that fetched the job; empty if that keyword is equal to `keyword`.
    pub fetching_keyword: BString,
    /// Policy of the slot, which is part of the slot ad that REPLY_FETCH and EVICT_CLAIM read.
    pub policy: ClassAd,
    /// Completed job ad before the start of the job, or `None` if the caller has not completed the ad.
    pub job_before_start: Option<ClassAd>,
    /// Input of a recorded call, or `None` if the input is made from the ads.
    pub recorded_input: Option<Vec<u8>>,
}

impl Case {
    /// Creates a call of a hook of the given type with sample ads.
    pub fn new(hook: HookType) -> Self {
        let job = samples::job_ad("vanilla").unwrap_or_default();
        let route = CaseRoute::default();
        Case {
            hook,
            keyword: BString::default(),
            slot: samples::slot_ad("static").unwrap_or_default(),
            routed: samples::routed_job_ad(&job, &route.name),
            job,
            route,
            word: default_argument_word(hook).into(),
            arguments: Vec::new(),
            claim_id: "<192.0.2.1:9618?addrs=192.0.2.1-9618>#1795217000#1#0123456789abcdef".into(),
            with_shadow: hook == HookType::PrepareJobBeforeTransfer,
            protocol: Protocol::Current,
            caller_waits: hook.timeout_parameter(b"").map(|time_out| time_out.default),
            output_limit: DEFAULT_PIPE_BUFFER_MAX,
            job_not_started: false,
            fetching_keyword: BString::default(),
            policy: ClassAd::new(),
            job_before_start: None,
            recorded_input: None,
        }
    }

    /// Returns the first argument of REPLY_FETCH or JOB_EXIT. A starter holds a job only on request of a shadow, and
    /// removes one on request of a shadow or on a signal. After a request of a shadow, 25.14 passes `evict` to
    /// JOB_EXIT.
    pub fn reported_word(&self, quirks: QuirkMode) -> &BStr {
        match self.shadow_reason_quirk(quirks).is_some_and(|decision| decision.as_reference) {
            true => b"evict".as_bstr(),
            false => self.word.as_bstr(),
        }
    }

    /// Returns the quirk decision about passing `evict` to JOB_EXIT after a request of a shadow, or `None` if no
    /// shadow requested the end of the job.
    pub(super) fn shadow_reason_quirk(&self, quirks: QuirkMode) -> Option<QuirkDecision> {
        let by_shadow = self.word == "hold" || self.word == "remove" && self.with_shadow;
        (self.hook == HookType::JobExit && by_shadow).then(|| exit_reason_decision(quirks))
    }

    /// Returns all arguments of the hook, beginning with that of REPLY_FETCH or JOB_EXIT.
    pub fn all_arguments(&self, quirks: QuirkMode) -> Vec<BString> {
        match self.hook {
            HookType::ReplyFetch | HookType::JobExit => {
                std::iter::once(self.reported_word(quirks).to_owned())
                    .chain(self.arguments.iter().cloned())
                    .collect()
            }
            _ => self.arguments.clone(),
        }
    }

    /// Returns the standard input of the hook. The ads are used unchanged: see [`Case::completed_by_caller`].
    pub fn input(&self, quirks: QuirkMode) -> Vec<u8> {
        if let Some(bytes) = &self.recorded_input {
            return bytes.clone();
        }
        match self.hook {
            HookType::FetchWork => hook_input::fetch_work_input(&self.slot),
            HookType::ReplyFetch => {
                let id = (self.word == "accept").then_some(self.claim_id.as_slice());
                hook_input::reply_fetch_input(&self.job, &self.slot, id, quirks)
            }
            HookType::EvictClaim => {
                hook_input::evict_claim_input(&self.job, &self.slot, &self.claim_id, quirks)
            }
            HookType::PrepareJob if self.protocol == Protocol::Legacy => {
                hook_input::prepare_job_7_1_input(&self.job, &self.slot)
            }
            HookType::PrepareJobBeforeTransfer
            | HookType::PrepareJob
            | HookType::UpdateJobInfo
            | HookType::JobExit
            | HookType::ShadowPrepareJob => hook_input::job_ad_input(&self.job),
            HookType::TranslateJob => {
                let CaseRoute { name, grid_resource, universe, .. } = &self.route;
                hook_input::translate_job_input(
                    &hook_input::format_route(name, grid_resource, *universe),
                    &self.job,
                )
            }
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => hook_input::job_ad_input(&self.routed),
            HookType::JobFinalize => hook_input::job_finalize_input(&self.job, &self.routed),
        }
    }

    /// Returns the ad that the hook's output is about: the slot ad for FETCH_WORK, otherwise the ad of the job or
    /// routed job.
    pub fn subject(&self) -> &ClassAd {
        match self.hook {
            HookType::FetchWork => &self.slot,
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => &self.routed,
            _ => &self.job,
        }
    }

    /// Returns the ad of [`Case::subject`] for changes.
    pub(super) fn subject_mut(&mut self) -> &mut ClassAd {
        match self.hook {
            HookType::FetchWork => &mut self.slot,
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut self.routed,
            _ => &mut self.job,
        }
    }

    /// Sets the ads from the input of a recorded call, and keeps the input itself.
    pub fn read_input(&mut self, bytes: &[u8]) {
        let ad = |text: &[u8]| long::parse(text).0;
        let parts = |separator: &[u8]| match bytes.find(separator) {
            Some(at) => (&bytes[..at], &bytes[at + separator.len()..]),
            None => (bytes, &b""[..]),
        };
        match self.hook {
            HookType::FetchWork => self.slot = ad(bytes),
            HookType::ReplyFetch | HookType::EvictClaim => {
                let (job, slot) = parts(b"-----\n");
                (self.job, self.slot) = (ad(job), ad(slot));
            }
            HookType::TranslateJob => {
                let (route, job) = parts(b"\n------\n");
                self.job = ad(job);
                if let Ok(route) = ClassAd::parse_new(route, htc_classad::Dialect::new_syntax()) {
                    let text =
                        |name: &str| route.string(name).map(|text| text.to_owned()).unwrap_or_default();
                    self.route.name = text("Name");
                    self.route.grid_resource = text("GridResource");
                    let universe = route.literal("TargetUniverse").and_then(|value| value.as_int());
                    self.route.universe = universe.unwrap_or(self.route.universe);
                }
            }
            HookType::JobFinalize => {
                let (source, routed) = parts(b"\n------\n");
                (self.job, self.routed) = (ad(source), ad(routed));
            }
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => self.routed = ad(bytes),
            _ => self.job = ad(parts(b"-----\n").0),
        }
        self.recorded_input = Some(bytes.to_vec());
    }
}

fn default_argument_word(hook: HookType) -> &'static str {
    match hook {
        HookType::ReplyFetch => "accept",
        HookType::JobExit => "exit",
        _ => "",
    }
}

/// Returns the valid first arguments of a hook, or `None` if hooks of the type have no such argument.
pub fn known_argument_words(hook: HookType) -> Option<&'static [&'static str]> {
    match hook {
        HookType::ReplyFetch => Some(&["accept", "reject"]),
        HookType::JobExit => Some(&["exit", "evict", "hold", "remove"]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_back_from_its_own_input() {
        for hook in HookType::ALL {
            let case = Case::new(hook);
            let bytes = case.input(QuirkMode::Manual);
            let mut again = Case::new(hook);
            again.read_input(&bytes);
            again.recorded_input = None;
            assert_eq!(again.input(QuirkMode::Manual), bytes, "{hook:?}");
        }
    }

    #[test]
    fn the_old_protocol_shows_the_slot_to_prepare() {
        let mut case = Case::new(HookType::PrepareJob);
        assert!(!case.input(QuirkMode::Manual).contains_str("-----"));
        case.protocol = Protocol::Legacy;
        assert!(case.input(QuirkMode::Manual).contains_str("\n-----\nActivity = \"Idle\"\n"));
    }
}
