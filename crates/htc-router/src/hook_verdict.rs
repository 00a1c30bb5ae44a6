//! Judgement of the output of a router hook, used by the router and by `htc-hook-test`.
//!
//! Reference: `JobRouterHookMgr.cpp` (`hookExited` of the four clients), `JobRouter.cpp`.

use bstr::{BStr, BString};

use super::failure_consequence::{consequence_of_failure, decide_missing_universe};
use super::hook_decision::HookDecision;
use super::queue_refusal;
use super::translate::ZEROED_ATTRIBUTES;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::caseless;
use htc_classad::{ClassAd, Dialect};
use htc_hook::HookType;
use htc_hook::hook_output::{self, BadOutputLine};

/// Finished call of a router hook, with the ads that its output refers to.
#[derive(Clone, Copy, Debug)]
pub struct FinishedHookCall<'a> {
    /// TRANSLATE_JOB, UPDATE_JOB_INFO (the router's), JOB_FINALIZE or JOB_CLEANUP.
    pub hook: HookType,
    /// Exit status or signal.
    pub exit: Exit,
    /// Captured standard output.
    pub stdout: &'a [u8],
    /// Dialect of the expressions in the output.
    pub dialect: Dialect,
    /// True if the output reached its size limit and was cut.
    pub is_truncated: bool,
    /// The source job.
    pub source_ad: &'a ClassAd,
    /// The routed job as last read, or `None` while it is being made.
    pub routed_ad: Option<&'a ClassAd>,
    /// True if the route edits the source job in place.
    pub edit_in_place: bool,
}

/// Judgement of the output of a router hook.
#[derive(Clone, Debug)]
pub struct HookVerdict {
    /// Decision of the router.
    pub decision: HookDecision,
    /// Reason, in the words of the reference's log if the reference logs one; empty if the decision needs no
    /// explanation.
    pub reason: String,
    /// Effective part of the output: the routed ad for TRANSLATE_JOB, otherwise the changed attributes.
    pub output_ad: ClassAd,
    /// Attributes that were printed but have no effect.
    pub ignored_attributes: Vec<BString>,
    /// The line that made the output invalid.
    pub bad_line: Option<BadOutputLine>,
    /// The attribute that the queue refuses; it makes the whole output fail.
    pub refused_attribute: Option<BString>,
    /// Quirks that affected the decision, reproduced or not.
    pub quirks: Vec<Quirk>,
}

impl HookVerdict {
    fn new(decision: HookDecision) -> Self {
        HookVerdict {
            decision,
            reason: String::new(),
            output_ad: ClassAd::new(),
            ignored_attributes: Vec::new(),
            bad_line: None,
            refused_attribute: None,
            quirks: Vec::new(),
        }
    }

    fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    fn with_refused_attribute(mut self, name: BString) -> Self {
        self.refused_attribute = Some(name);
        self
    }
}

/// Attributes of a translated job that the standard translation or the submission overwrites (`VanillaToGrid.cpp`,
/// `JobRouter.cpp` FinishSubmitJob), in addition to `ZEROED_ATTRIBUTES`.
const SET_BY_ROUTER: [&str; 15] = [
    "ClusterId",
    "ProcId",
    "GlobalJobId",
    "QDate",
    "AutoClusterId",
    "AutoClusterAttrs",
    "ServerTime",
    "UserLog",
    "JobStatus",
    "RemoteUserCpu",
    "RemoteSysCpu",
    "RoutedFromJobId",
    "RoutedBy",
    "RouteName",
    "RoutedToJobId",
];

/// Quirks that affected the decision.
#[derive(Default)]
struct UsedQuirks(Vec<Quirk>);

impl UsedQuirks {
    /// Returns true if the quirk is reproduced, and records that it affected the decision.
    fn decide_and_record(&mut self, quirks: QuirkMode, quirk: Quirk) -> bool {
        self.0.push(quirk);
        quirks.reproduces(quirk)
    }
}

/// Judges the output of a router hook.
pub fn judge_hook_call(call: &FinishedHookCall<'_>, quirks: QuirkMode) -> HookVerdict {
    let mut used_quirks = UsedQuirks::default();
    let status = match call.exit {
        Exit::Code(code) => Ok(code),
        Exit::Signal { number, .. } => {
            // For a process killed by a signal, WEXITSTATUS is 0.
            if used_quirks.decide_and_record(quirks, Quirk::RouterSignalIsSuccess) {
                Ok(0)
            } else {
                Err(number)
            }
        }
    };
    let mut verdict = match status {
        Ok(0) => judge_success(call, quirks, &mut used_quirks),
        Ok(code) => judge_failure(call, format!("exit status {code}")),
        Err(signal) => judge_failure(call, format!("died with signal {signal}")),
    };
    used_quirks.0.extend(
        consequence_of_failure(call.hook, verdict.decision, quirks).map(|(_, decided)| decided.quirk),
    );
    verdict.quirks = used_quirks.0;
    verdict
}

fn judge_failure(call: &FinishedHookCall<'_>, how: String) -> HookVerdict {
    match call.hook {
        HookType::TranslateJob => HookVerdict::new(HookDecision::Dropped).with_reason(how),
        HookType::JobFinalize => HookVerdict::new(HookDecision::Failed)
            .with_reason("Hook exited with non-zero return code, ignoring hook output."),
        HookType::JobCleanup => {
            HookVerdict::new(HookDecision::Failed).with_reason(format!("failed ({})", call.exit))
        }
        _ => HookVerdict::new(HookDecision::Failed).with_reason(how),
    }
}

fn judge_success(
    call: &FinishedHookCall<'_>,
    quirks: QuirkMode,
    used_quirks: &mut UsedQuirks,
) -> HookVerdict {
    let text = hook_output::visible_output(call.stdout);
    if call.hook == HookType::JobCleanup {
        return HookVerdict::new(HookDecision::Cleaned);
    }
    if text.is_empty() {
        return match call.hook {
            HookType::TranslateJob => HookVerdict::new(HookDecision::Stuck).with_reason("returned no data"),
            HookType::JobFinalize => HookVerdict::new(HookDecision::Finalized),
            _ => HookVerdict::new(HookDecision::Unchanged),
        };
    }
    if let Some(counts) = hook_output::decide_cut_output(call.is_truncated, quirks) {
        used_quirks.0.push(counts.quirk);
        if !counts.as_reference {
            return judge_unusable_output(call, quirks, used_quirks)
                .with_reason("the output was cut at PIPE_BUFFER_MAX");
        }
    }
    match hook_output::parse_token_lines(text, call.dialect) {
        Err(bad) => {
            let mut reason = bad.reference_message();
            if call.hook != HookType::TranslateJob {
                reason.push_str(".  Job status NOT updated.");
            }
            let mut verdict = judge_unusable_output(call, quirks, used_quirks).with_reason(reason);
            verdict.bad_line = Some(bad);
            verdict
        }
        Ok(answer) => match call.hook {
            HookType::TranslateJob => judge_translation(call, answer, quirks, used_quirks),
            HookType::JobFinalize => judge_finalization(call, answer),
            _ => judge_update(call, answer, quirks, used_quirks),
        },
    }
}

/// Returns the verdict on output that cannot be used although the hook succeeded.
fn judge_unusable_output(
    call: &FinishedHookCall<'_>,
    quirks: QuirkMode,
    used_quirks: &mut UsedQuirks,
) -> HookVerdict {
    HookVerdict::new(match call.hook {
        HookType::TranslateJob => HookDecision::Dropped,
        HookType::JobFinalize => HookDecision::Failed,
        _ if used_quirks.decide_and_record(quirks, Quirk::UpdateBadlineRestarts) => HookDecision::Dropped,
        _ => HookDecision::Unchanged,
    })
}

fn judge_translation(
    call: &FinishedHookCall<'_>,
    answer: ClassAd,
    quirks: QuirkMode,
    used_quirks: &mut UsedQuirks,
) -> HookVerdict {
    if call.edit_in_place {
        if answer.is_empty() && !used_quirks.decide_and_record(quirks, Quirk::EditBlankEmptiesJob) {
            return HookVerdict::new(HookDecision::Dropped)
                .with_reason("the output is an empty ad, which would remove all attributes of the job");
        }
        let mut verdict = match queue_refusal::refused_in_edit(&answer, call.source_ad) {
            Some(refused) => HookVerdict::new(HookDecision::Dropped)
                .with_reason(format!("Failed to edit job: push_classad_diff: {refused}"))
                .with_refused_attribute(refused.name),
            None => HookVerdict::new(HookDecision::Edited),
        };
        // An edit cannot remove the attributes that identify the job; the rest of the edit still applies.
        let kept = call.source_ad.names().filter(|name| queue_refusal::is_immutable(name));
        verdict.ignored_attributes = kept.filter(|name| !answer.contains(name)).map(BStr::to_owned).collect();
        verdict.ignored_attributes.sort();
        verdict.output_ad = answer;
        return verdict;
    }
    if !answer.contains("JobUniverse") {
        let (decision, aborts) = decide_missing_universe(quirks);
        used_quirks.0.push(aborts.quirk);
        return HookVerdict::new(decision).with_reason("VanillaToGrid: job ad lacks universe");
    }
    if let Some(refused) = queue_refusal::first_refused_in_new_job(&answer, call.source_ad) {
        let mut verdict = HookVerdict::new(HookDecision::Dropped)
            .with_reason(format!("failed to submit job: {refused}"))
            .with_refused_attribute(refused.name);
        // The router keeps the output as its ad of the routed job although the submission failed, and JOB_CLEANUP reads
        // this ad.
        verdict.output_ad = answer;
        return verdict;
    }
    let mut verdict = HookVerdict::new(HookDecision::Routed);
    verdict.ignored_attributes = changed_attribute_names(&answer, call.source_ad)
        .filter(|name| {
            SET_BY_ROUTER.iter().chain(&ZEROED_ATTRIBUTES).any(|set| caseless::eq(set.as_bytes(), name))
        })
        .map(BStr::to_owned)
        .collect();
    verdict.ignored_attributes.sort();
    verdict.output_ad = answer;
    verdict
}

fn judge_update(
    call: &FinishedHookCall<'_>,
    mut answer: ClassAd,
    quirks: QuirkMode,
    used_quirks: &mut UsedQuirks,
) -> HookVerdict {
    let empty = ClassAd::new();
    let routed = call.routed_ad.unwrap_or(&empty);
    let mut ignored = Vec::new();
    for name in ["MyType", "TargetType"] {
        if answer.remove(name).is_some() {
            ignored.push(BString::from(name));
        }
    }
    let redirects = changed_attribute_names(&answer, routed)
        .any(|name| caseless::eq(name, b"ClusterId") || caseless::eq(name, b"ProcId"));
    if redirects {
        used_quirks.0.push(Quirk::UpdateIdRedirects);
    }
    if let Some(refused) = queue_refusal::first_refused_change(&answer, routed) {
        let mut verdict = judge_unusable_output(call, quirks, used_quirks)
            .with_reason(format!("push_dirty_attributes: {refused}"))
            .with_refused_attribute(refused.name);
        // The router has already merged the output into its own ad of the routed job, and JOB_CLEANUP reads this ad.
        if verdict.decision == HookDecision::Dropped {
            verdict.output_ad = answer;
        }
        return verdict;
    }
    let decision = if answer.is_empty() { HookDecision::Unchanged } else { HookDecision::Updated };
    let mut verdict = HookVerdict::new(decision);
    verdict.output_ad = answer;
    verdict.ignored_attributes = ignored;
    verdict
}

fn judge_finalization(call: &FinishedHookCall<'_>, mut answer: ClassAd) -> HookVerdict {
    if let Some(refused) = queue_refusal::first_refused_change(&answer, call.source_ad) {
        return HookVerdict::new(HookDecision::Failed)
            .with_reason(format!("push_dirty_attributes: {refused}"))
            .with_refused_attribute(refused.name);
    }
    let mut verdict = HookVerdict::new(HookDecision::Finalized);
    // Mirroring sets JobStatus, so a value that the hook prints has no effect.
    if changed_attribute_names(&answer, call.source_ad).any(|name| caseless::eq(name, b"JobStatus")) {
        verdict.ignored_attributes.push("JobStatus".into());
    }
    answer.remove("JobStatus");
    verdict.output_ad = answer;
    verdict
}

/// Returns the names in the output whose values differ from those of the job.
fn changed_attribute_names<'a>(answer: &'a ClassAd, job: &'a ClassAd) -> impl Iterator<Item = &'a BStr> {
    answer.names().filter(move |name| answer.get(name) != job.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(hook: HookType, exit: Exit, stdout: &str, quirks: QuirkMode) -> (HookDecision, String) {
        let mut source = ClassAd::new();
        for line in ["JobUniverse = 5", "Owner = \"ana\"", "ClusterId = 3", "ProcId = 0"] {
            source.insert_line(line.as_bytes()).unwrap();
        }
        let answer = FinishedHookCall {
            dialect: Dialect::new_syntax(),
            hook,
            exit,
            stdout: stdout.as_bytes(),
            is_truncated: false,
            source_ad: &source,
            routed_ad: Some(&source),
            edit_in_place: false,
        };
        let verdict = judge_hook_call(&answer, quirks);
        (verdict.decision, verdict.reason)
    }

    #[test]
    fn a_translated_job_without_a_universe_aborts_25_14_or_is_released() {
        let ask = |quirks| judge(HookType::TranslateJob, Exit::Code(0), "A = 1\n", quirks).0;
        assert_eq!(ask(QuirkMode::Reference), HookDecision::RouterAbort);
        assert_eq!(ask(QuirkMode::Manual), HookDecision::Dropped);
    }

    #[test]
    fn translate_failures_have_the_references_message() {
        let ask = |text| judge(HookType::TranslateJob, Exit::Code(0), text, QuirkMode::Reference).1;
        assert_eq!(ask("# note = 1\nJobUniverse = 5"), "failed to submit job: Failed to set # note = 1");
        assert_eq!(
            ask("Owner = \"eve\"\nJobUniverse = 5"),
            "failed to submit job: Failed to set Owner = \"eve\""
        );
        assert_eq!(ask("text"), "Failed to insert \"text\" into ClassAd, ignoring invalid hook output");
        assert_eq!(ask(""), "returned no data");
    }

    #[test]
    fn a_killed_hook_counts_as_successful_only_in_the_reference() {
        let killed = Exit::Signal { number: 9, core_dumped: false };
        let ask = |hook, quirks| judge(hook, killed, "A = 1\nJobUniverse = 5\n", quirks).0;
        assert_eq!(ask(HookType::TranslateJob, QuirkMode::Reference), HookDecision::Routed);
        assert_eq!(ask(HookType::TranslateJob, QuirkMode::Manual), HookDecision::Dropped);
        assert_eq!(ask(HookType::JobCleanup, QuirkMode::Reference), HookDecision::Cleaned);
        assert_eq!(ask(HookType::JobCleanup, QuirkMode::Manual), HookDecision::Failed);
    }

    #[test]
    fn an_update_may_not_contain_a_job_id() {
        let ask = |text, quirks| judge(HookType::RouterUpdateJobInfo, Exit::Code(0), text, quirks).0;
        assert_eq!(ask("MyType = \"Job\"\nProgress = 1\n", QuirkMode::Reference), HookDecision::Updated);
        assert_eq!(ask("ClusterId = 3\nProgress = 1\n", QuirkMode::Reference), HookDecision::Dropped);
        assert_eq!(ask("ClusterId = 3\nProgress = 1\n", QuirkMode::Manual), HookDecision::Unchanged);
        assert_eq!(ask("ClusterId = 9\n", QuirkMode::Reference), HookDecision::Dropped);
        assert_eq!(ask("ClusterId = 9\n", QuirkMode::Manual), HookDecision::Unchanged);
        assert_eq!(ask("", QuirkMode::Manual), HookDecision::Unchanged);
    }

    #[test]
    fn finalize_cannot_write_identifying_attributes() {
        let ask = |text| judge(HookType::JobFinalize, Exit::Code(0), text, QuirkMode::Reference).0;
        assert_eq!(ask("Owner = \"ana\"\nNote = 1\n"), HookDecision::Failed);
        assert_eq!(ask("MyType = \"Job\"\n"), HookDecision::Failed);
        assert_eq!(ask("Owner = \"eve\"\n"), HookDecision::Failed);
        assert_eq!(ask("JobStatus = 5\nNote = 1\n"), HookDecision::Finalized);
        assert_eq!(ask("\n"), HookDecision::Finalized);
    }
}
