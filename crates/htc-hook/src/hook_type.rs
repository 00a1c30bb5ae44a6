//! Hook types: the daemons that call them, their parameters, and whether the caller waits for them.
//!
//! Reference: `enum_utils.cpp` (HookTypeTranslation) for names, the hook managers of startd, starter, shadow and router.

use std::time::Duration;

use bstr::BString;

use htc_base::text::words;

/// The daemon that calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookCaller {
    /// The startd on the execution point. Its hooks run under the condor account.
    Startd,
    /// The starter of one job. Its hooks run under the job's account.
    Starter,
    /// The shadow of the job on the access point. Its hooks run under the account of the job's owner.
    Shadow,
    /// The job router. Its hooks run under the account of the source job's owner.
    Router,
}

impl HookCaller {
    /// Returns the usual name of the daemon.
    pub fn name(self) -> &'static str {
        match self {
            HookCaller::Startd => "startd",
            HookCaller::Starter => "starter",
            HookCaller::Shadow => "shadow",
            HookCaller::Router => "job router",
        }
    }

    /// Returns the name of the subsystem in the configuration.
    pub fn subsystem(self) -> &'static str {
        match self {
            HookCaller::Startd => "STARTD",
            HookCaller::Starter => "STARTER",
            HookCaller::Shadow => "SHADOW",
            HookCaller::Router => "JOB_ROUTER",
        }
    }
}

/// Parameter that limits how long the caller waits for a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeoutParameter {
    /// Name of the parameter, an integer in seconds.
    pub parameter: BString,
    /// Timeout if the parameter is not set.
    pub default: Duration,
}

words! {
    /// Hook type. UPDATE_JOB_INFO of the starter and of the router are separate types, because the two callers use the
    /// output differently.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum HookType.word {
        /// Asks for a job.
        FetchWork => "fetch",
        /// Reports that the fetched job was accepted or rejected.
        ReplyFetch => "reply",
        /// Reports that a fetched claim was evicted.
        EvictClaim => "evict",
        /// Prepares a job before its input is transferred. Only starters with a shadow call this hook.
        PrepareJobBeforeTransfer => "prepare-before-transfer",
        /// Prepares a job before it is started.
        PrepareJob => "prepare",
        /// Reports the state of the running job.
        UpdateJobInfo => "update",
        /// Reports that the job has ended.
        JobExit => "exit",
        /// Prepares a job before its claim is activated.
        ShadowPrepareJob => "shadow-prepare",
        /// Translates the source job to the routed job.
        TranslateJob => "translate",
        /// May change the routed job while it is in the queue.
        RouterUpdateJobInfo => "router-update",
        /// May change the source job when the routed job has completed.
        JobFinalize => "finalize",
        /// Cleans up after a routed job.
        JobCleanup => "cleanup",
    }
}

impl HookType {
    /// All names in the reference's table of hook types. The reference uses this list to check whether a keyword has
    /// any hook. The list includes `EVICT_JOB`, a hook that is never called.
    pub const REFERENCE_NAMES: [&str; 12] = [
        "FETCH_WORK",
        "REPLY_FETCH",
        "EVICT_CLAIM",
        "PREPARE_JOB",
        "UPDATE_JOB_INFO",
        "JOB_EXIT",
        "EVICT_JOB",
        "TRANSLATE_JOB",
        "JOB_CLEANUP",
        "JOB_FINALIZE",
        "PREPARE_JOB_BEFORE_TRANSFER",
        "SHADOW_PREPARE_JOB",
    ];

    /// Returns the name used in parameters and logs.
    pub fn name(self) -> &'static str {
        match self {
            HookType::FetchWork => "FETCH_WORK",
            HookType::ReplyFetch => "REPLY_FETCH",
            HookType::EvictClaim => "EVICT_CLAIM",
            HookType::PrepareJobBeforeTransfer => "PREPARE_JOB_BEFORE_TRANSFER",
            HookType::PrepareJob => "PREPARE_JOB",
            HookType::UpdateJobInfo | HookType::RouterUpdateJobInfo => "UPDATE_JOB_INFO",
            HookType::JobExit => "JOB_EXIT",
            HookType::ShadowPrepareJob => "SHADOW_PREPARE_JOB",
            HookType::TranslateJob => "TRANSLATE_JOB",
            HookType::JobFinalize => "JOB_FINALIZE",
            HookType::JobCleanup => "JOB_CLEANUP",
        }
    }

    /// Returns the daemon that calls the hook.
    pub fn caller(self) -> HookCaller {
        match self {
            HookType::FetchWork | HookType::ReplyFetch | HookType::EvictClaim => HookCaller::Startd,
            HookType::PrepareJobBeforeTransfer
            | HookType::PrepareJob
            | HookType::UpdateJobInfo
            | HookType::JobExit => HookCaller::Starter,
            HookType::ShadowPrepareJob => HookCaller::Shadow,
            HookType::TranslateJob
            | HookType::RouterUpdateJobInfo
            | HookType::JobFinalize
            | HookType::JobCleanup => HookCaller::Router,
        }
    }

    /// Returns the parameter with the hook's path: `<KEYWORD>_HOOK_<NAME>`.
    pub fn path_parameter(self, keyword: &[u8]) -> BString {
        hook_parameter_name(keyword, self.name())
    }

    /// Returns the parameter that is read if the hook's own path parameter is not set: `JOB_EXIT` for the router's
    /// `JOB_FINALIZE`.
    pub fn legacy_path_parameter(self, keyword: &[u8]) -> Option<BString> {
        (self == HookType::JobFinalize).then(|| hook_parameter_name(keyword, "JOB_EXIT"))
    }

    /// Returns the parameter with extra arguments in raw V2 syntax. Both prepare hooks of the starter use the same
    /// parameter (`JobHookClientMgr::getHookArgs` is only called for PREPARE_JOB).
    pub fn arguments_parameter(self, keyword: &[u8]) -> Option<BString> {
        match self {
            HookType::PrepareJob | HookType::PrepareJobBeforeTransfer => {
                Some(hook_parameter_name(keyword, "PREPARE_JOB_ARGS"))
            }
            HookType::ShadowPrepareJob => Some(hook_parameter_name(keyword, "SHADOW_PREPARE_JOB_ARGS")),
            _ => None,
        }
    }

    /// Returns the parameter for the timeout, or `None` if the caller does not wait for the hook or waits without a
    /// limit.
    pub fn timeout_parameter(self, keyword: &[u8]) -> Option<TimeoutParameter> {
        let (name, seconds) = match self {
            HookType::JobExit => ("JOB_EXIT_TIMEOUT", 30),
            HookType::ShadowPrepareJob => ("SHADOW_PREPARE_JOB_TIMEOUT", 120),
            _ => return None,
        };
        Some(TimeoutParameter {
            parameter: hook_parameter_name(keyword, name),
            default: Duration::from_secs(seconds),
        })
    }

    /// Returns true if a job or slot waits for the end of the hook.
    pub fn is_waited_for(self) -> bool {
        !matches!(self, HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo)
    }

    /// Returns true if the caller reads the output of the hook. Otherwise descriptors 1 and 2 of the hook are closed
    /// (quirk `closed-stdio`).
    pub fn is_output_read(self) -> bool {
        !matches!(self, HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo)
    }

    /// Returns true if remaining child processes are killed when the hook ends: startd and router put hooks in process families,
    /// starter and shadow do not (`useProcd()`).
    pub fn is_family_killed(self) -> bool {
        matches!(self.caller(), HookCaller::Startd | HookCaller::Router)
    }

    /// Returns the type with this name, as used in parameters or on command lines (case-insensitive; `_` and `-` are
    /// the same). `UPDATE_JOB_INFO` means the starter's hook.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let plain = |text: &[u8]| -> Vec<u8> {
            text.iter().map(|&b| if b == b'_' { b'-' } else { b.to_ascii_lowercase() }).collect()
        };
        let wanted = plain(name);
        HookType::ALL
            .into_iter()
            .find(|hook| plain(hook.name().as_bytes()) == wanted || hook.word().as_bytes() == wanted)
    }

    /// Returns the type suggested by a file name such as `prepare-hook` or `Q_HOOK_FETCH_WORK.sh`, or `None`. `update`
    /// means UPDATE_JOB_INFO of the starter, `exit` means JOB_EXIT.
    pub fn guess_from_file_name(file: &[u8]) -> Option<Self> {
        let name = file.to_ascii_lowercase();
        [
            ("shadow", HookType::ShadowPrepareJob),
            ("before", HookType::PrepareJobBeforeTransfer),
            ("prepare", HookType::PrepareJob),
            ("translate", HookType::TranslateJob),
            ("finalize", HookType::JobFinalize),
            ("cleanup", HookType::JobCleanup),
            ("fetch_work", HookType::FetchWork),
            ("reply", HookType::ReplyFetch),
            ("fetch", HookType::FetchWork),
            ("evict", HookType::EvictClaim),
            ("router-update", HookType::RouterUpdateJobInfo),
            ("exit", HookType::JobExit),
            ("update", HookType::UpdateJobInfo),
        ]
        .into_iter()
        .find(|(word, _)| memchr::memmem::find(&name, word.as_bytes()).is_some())
        .map(|(_, hook)| hook)
    }
}

fn hook_parameter_name(keyword: &[u8], name: &str) -> BString {
    let mut parameter = BString::from(keyword);
    parameter.extend_from_slice(b"_HOOK_");
    parameter.extend_from_slice(name.as_bytes());
    parameter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_word_and_a_name_of_the_reference() {
        for hook in HookType::ALL {
            assert!(HookType::REFERENCE_NAMES.contains(&hook.name()));
            assert_eq!(HookType::from_name(hook.word().as_bytes()), Some(hook));
        }
        assert_eq!(HookType::from_name(b"update_job_info"), Some(HookType::UpdateJobInfo));
        assert_eq!(HookType::from_name(b"REPLY_CLAIM"), None);
        for (file, hook) in [
            (&b"prepare-hook"[..], Some(HookType::PrepareJob)),
            (b"Q_HOOK_FETCH_WORK.sh", Some(HookType::FetchWork)),
            (b"reply_fetch", Some(HookType::ReplyFetch)),
            (b"job_exit.py", Some(HookType::JobExit)),
            (b"hook", None),
        ] {
            assert_eq!(HookType::guess_from_file_name(file), hook);
        }
    }

    #[test]
    fn both_prepare_hooks_share_one_argument_parameter() {
        let parameter = |hook: HookType| hook.arguments_parameter(b"Farm").unwrap();
        assert_eq!(parameter(HookType::PrepareJobBeforeTransfer), "Farm_HOOK_PREPARE_JOB_ARGS");
        assert_eq!(parameter(HookType::PrepareJob), parameter(HookType::PrepareJobBeforeTransfer));
        assert_eq!(HookType::FetchWork.arguments_parameter(b"Farm"), None);
    }
}
