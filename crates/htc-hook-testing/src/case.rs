//! What the caller knows when it calls a hook.

use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use super::samples;
use htc_base::quirks::{Decided, Quirks};
use htc_classad::ClassAd;
use htc_classad::format::long;
use htc_hook::{HookType, input};
use htc_runner::hook_call::PIPE_BUFFER_MAX;
use htc_starter::shadow_reason_unseen;

/// Which manual's protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// That of 7.8 and all later versions.
    #[default]
    Present,
    /// That of 7.1: PREPARE_JOB reads the slot as well, and nobody reads its output.
    Old,
}

impl Protocol {
    /// Whether that manual knows the hook at all.
    pub fn knows(self, hook: HookType) -> bool {
        let old = matches!(
            hook,
            HookType::FetchWork
                | HookType::ReplyFetch
                | HookType::EvictClaim
                | HookType::PrepareJob
                | HookType::UpdateJobInfo
                | HookType::JobExit
        );
        self == Protocol::Present || old
    }

    /// How long its caller waits: 7.1 has no time-outs.
    pub fn time_out(self, hook: HookType) -> Option<Duration> {
        if self == Protocol::Old { None } else { hook.time_out(b"").map(|time_out| time_out.default) }
    }
}

/// What TRANSLATE_JOB is told of its route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name.
    pub name: BString,
    /// GridResource; empty for none.
    pub grid_resource: BString,
    /// TargetUniverse.
    pub universe: i64,
    /// EditJobInPlace.
    pub edit_in_place: bool,
}

impl Default for Route {
    fn default() -> Self {
        Route { name: "Site1".into(), grid_resource: BString::default(), universe: 5, edit_in_place: false }
    }
}

/// One call to be made.
#[derive(Clone, Debug)]
pub struct Case {
    /// The type of hook.
    pub hook: HookType,
    /// The keyword it is configured under; may be empty.
    pub keyword: BString,
    /// The job; for the router the source job.
    pub job: ClassAd,
    /// The slot.
    pub slot: ClassAd,
    /// The routed job.
    pub routed: ClassAd,
    /// The route.
    pub route: Route,
    /// What REPLY_FETCH (`accept`, `reject`) and JOB_EXIT (`exit`, `evict`, `hold`, `remove`) are told.
    pub word: BString,
    /// Further arguments (`<KEYWORD>_HOOK_PREPARE_JOB_ARGS`).
    pub arguments: Vec<BString>,
    /// The id of the claim, for REPLY_FETCH and EVICT_CLAIM.
    pub claim_id: BString,
    /// Whether a shadow stands behind the starter; without one the job was fetched.
    pub with_shadow: bool,
    /// Which manual's protocol.
    pub protocol: Protocol,
    /// How long the caller waits; `None` for ever.
    pub caller_waits: Option<Duration>,
    /// PIPE_BUFFER_MAX.
    pub output_limit: usize,
    /// Whether UPDATE_JOB_INFO and JOB_EXIT are called for a job that has not been started.
    pub before_job: bool,
    /// The keyword of the slot that fetched the job; empty: the same as `keyword`.
    pub fetched_under: BString,
    /// The policy of the slot, as REPLY_FETCH sees it.
    pub policy: ClassAd,
    /// The job as it was before it was started; `None`: the caller has not completed it.
    pub before_run: Option<ClassAd>,
    /// These bytes are read instead of those made from the ads: a recorded call.
    pub recorded_input: Option<Vec<u8>>,
}

impl Case {
    /// A call of this type with sample ads.
    pub fn new(hook: HookType) -> Self {
        let job = samples::job("vanilla").unwrap_or_default();
        let route = Route::default();
        Case {
            hook,
            keyword: BString::default(),
            slot: samples::slot("static").unwrap_or_default(),
            routed: samples::routed(&job, &route.name),
            job,
            route,
            word: default_word(hook).into(),
            arguments: Vec::new(),
            claim_id: "<192.0.2.1:9618?addrs=192.0.2.1-9618>#1795217000#1#0123456789abcdef".into(),
            with_shadow: hook == HookType::PrepareJobBeforeTransfer,
            protocol: Protocol::Present,
            caller_waits: hook.time_out(b"").map(|time_out| time_out.default),
            output_limit: PIPE_BUFFER_MAX,
            before_job: false,
            fetched_under: BString::default(),
            policy: ClassAd::new(),
            before_run: None,
            recorded_input: None,
        }
    }

    /// The word that REPLY_FETCH and JOB_EXIT are told. A starter is asked to hold by a shadow alone, and to remove also by a
    /// signal; 25.14 tells no hook of what a shadow asks.
    pub fn told(&self, quirks: Quirks) -> &BStr {
        match self.untold(quirks).is_some_and(|untold| untold.as_reference) {
            true => b"evict".as_bstr(),
            false => self.word.as_bstr(),
        }
    }

    /// Whether JOB_EXIT is not told of what a shadow has asked; `None` where none has asked.
    pub(super) fn untold(&self, quirks: Quirks) -> Option<Decided> {
        let by_shadow = self.word == "hold" || self.word == "remove" && self.with_shadow;
        (self.hook == HookType::JobExit && by_shadow).then(|| shadow_reason_unseen(quirks))
    }

    /// All arguments after the path.
    pub fn words(&self, quirks: Quirks) -> Vec<BString> {
        match self.hook {
            HookType::ReplyFetch | HookType::JobExit => {
                std::iter::once(self.told(quirks).to_owned()).chain(self.arguments.iter().cloned()).collect()
            }
            _ => self.arguments.clone(),
        }
    }

    /// The bytes of its standard input. The ads are taken as they stand: see [`Case::completed`].
    pub fn input(&self, quirks: Quirks) -> Vec<u8> {
        if let Some(bytes) = &self.recorded_input {
            return bytes.clone();
        }
        match self.hook {
            HookType::FetchWork => input::fetch(&self.slot),
            HookType::ReplyFetch => {
                let id = (self.word == "accept").then_some(self.claim_id.as_slice());
                input::reply(&self.job, &self.slot, id, quirks)
            }
            HookType::EvictClaim => input::evict(&self.job, &self.slot, &self.claim_id, quirks),
            HookType::PrepareJob if self.protocol == Protocol::Old => {
                input::prepare_7_1(&self.job, &self.slot)
            }
            HookType::PrepareJobBeforeTransfer
            | HookType::PrepareJob
            | HookType::UpdateJobInfo
            | HookType::JobExit
            | HookType::ShadowPrepareJob => input::job_ad(&self.job),
            HookType::TranslateJob => {
                let Route { name, grid_resource, universe, .. } = &self.route;
                input::translate(&input::route_line(name, grid_resource, *universe), &self.job)
            }
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => input::job_ad(&self.routed),
            HookType::JobFinalize => input::finalize(&self.job, &self.routed),
        }
    }

    /// The ad that the hook's answer is about: the slot asks for a job, all others are about a job they were given.
    pub fn subject(&self) -> &ClassAd {
        match self.hook {
            HookType::FetchWork => &self.slot,
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => &self.routed,
            _ => &self.job,
        }
    }

    /// The same, to be changed.
    pub(super) fn subject_mut(&mut self) -> &mut ClassAd {
        match self.hook {
            HookType::FetchWork => &mut self.slot,
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut self.routed,
            _ => &mut self.job,
        }
    }

    /// Takes the ads out of what a hook of this type has read, and keeps the bytes.
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

fn default_word(hook: HookType) -> &'static str {
    match hook {
        HookType::ReplyFetch => "accept",
        HookType::JobExit => "exit",
        _ => "",
    }
}

/// The words of which a hook is told one, where it is told any.
pub fn known_words(hook: HookType) -> Option<&'static [&'static str]> {
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
            let bytes = case.input(Quirks::None);
            let mut again = Case::new(hook);
            again.read_input(&bytes);
            again.recorded_input = None;
            assert_eq!(again.input(Quirks::None), bytes, "{hook:?}");
        }
    }

    #[test]
    fn the_old_protocol_shows_the_slot_to_prepare() {
        let mut case = Case::new(HookType::PrepareJob);
        assert!(!case.input(Quirks::None).contains_str("-----"));
        case.protocol = Protocol::Old;
        assert!(case.input(Quirks::None).contains_str("\n-----\nActivity = \"Idle\"\n"));
    }
}
