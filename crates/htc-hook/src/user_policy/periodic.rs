//! Periodic expressions of a managed job and of the configuration, in the order of evaluation
//! (`UserPolicy::AnalyzePolicy`, user_job_policy.cpp). A router does not evaluate release and vacate policies.

use bstr::{BString, ByteSlice};

use crate::ParameterSource;
use htc_base::job::{HoldCode, JobStatus};
use htc_base::text::{caseless, list};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, Expr};

/// Action that a policy requires for a running job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunningJobAction {
    /// The job is vacated and run again.
    Vacate {
        /// Reason for the vacate.
        reason: BString,
        /// Value of the attribute `VacateReasonCode`.
        code: HoldCode,
        /// Value of the attribute `VacateReasonSubCode`.
        subcode: i64,
    },
    /// The job is held or removed.
    HoldOrRemove(PolicyAction),
}

/// Action that a policy requires for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyAction {
    /// The job is held.
    Hold {
        /// Reason for the hold.
        reason: BString,
        /// Value of the attribute `HoldReasonCode`.
        code: HoldCode,
        /// Value of the attribute `HoldReasonSubCode`.
        subcode: i64,
    },
    /// The job is removed, for this reason.
    Remove(BString),
}

/// Returns the action of the first policy that is true for a running job, or `None` if no policy is true.
/// PeriodicVacate is evaluated after AllowedJobDuration and AllowedExecuteDuration, and before all other policies. The
/// codes of a vacate differ from the codes of a hold (`ShadowUserPolicy::doAction`).
pub fn evaluate_while_running(
    job: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> Option<RunningJobAction> {
    let status = Context::new(world).my(job).int("JobStatus");
    let runs = matches!(status, Some(JobStatus::RUNNING | JobStatus::SUSPENDED));
    if runs && duration_hold(job, world).is_none() {
        let why = find_true_policy(job, "PeriodicVacate", Some("SYSTEM_PERIODIC_VACATE"), parameters, world);
        if let Some(PolicyReason { reason, code, subcode }) = why {
            let code = match code {
                HoldCode::SystemPolicy => HoldCode::SystemPolicyVacate,
                _ => HoldCode::JobPolicyVacate,
            };
            return Some(RunningJobAction::Vacate { reason, code, subcode });
        }
    }
    evaluate_periodic(job, parameters, world).map(RunningJobAction::HoldOrRemove)
}

fn hold_action(reason: String, code: HoldCode) -> Option<PolicyAction> {
    Some(PolicyAction::Hold { reason: reason.into(), code, subcode: 0 })
}

/// Returns the hold for a job that exceeded its allowed duration, or `None`.
fn duration_hold(job: &ClassAd, world: &dyn World) -> Option<PolicyAction> {
    let context = Context::new(world).my(job);
    let now = world.now().epoch();
    let birthday = context.int("ShadowBday")?;
    if let Some(allowed) = context.int("AllowedJobDuration")
        && now - birthday >= allowed
    {
        let text = format!("The job exceeded allowed job duration of {}", format_duration(allowed));
        return hold_action(text, HoldCode::JobDurationExceeded);
    }
    let allowed = context.int("AllowedExecuteDuration")?;
    let began = context.int("JobCurrentStartExecutingDate").filter(|began| *began >= birthday)?;
    let began = context.int("TransferOutFinished").map_or(began, |moved| moved.max(began));
    if now - began <= allowed {
        return None;
    }
    let text = format!("The job exceeded allowed execute duration of {}", format_duration(allowed));
    hold_action(text, HoldCode::JobExecuteExceeded)
}

/// Returns the action of the first policy that is true for a job, or `None` if no policy is true. Release and
/// vacate policies are not evaluated here.
pub fn evaluate_periodic(
    job: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> Option<PolicyAction> {
    let context = Context::new(world).my(job);
    let now = world.now().epoch();
    let Some(status) = context.int("JobStatus") else {
        return hold_action("Unknown user policy expression".into(), HoldCode::Unspecified);
    };
    if status == JobStatus::REMOVED {
        return None;
    }
    if (status == JobStatus::RUNNING || status == JobStatus::SUSPENDED)
        && let Some(held) = duration_hold(job, world)
    {
        return Some(held);
    }
    let reason = |value| {
        let text = job.get("TimerRemove").map(|expr| expr.unparse_old()).unwrap_or_default();
        reason_sentence("job attribute", "TimerRemove", &text, value)
    };
    if job.contains("TimerRemove") {
        match context.int("TimerRemove") {
            None => return hold_action(reason("UNDEFINED"), HoldCode::JobPolicyUndefined),
            Some(at) if at >= 0 && at < now => return Some(PolicyAction::Remove(reason("TRUE").into())),
            Some(_) => {}
        }
    }
    if status != JobStatus::HELD
        && status != JobStatus::COMPLETED
        && let Some(why) =
            find_true_policy(job, "PeriodicHold", Some("SYSTEM_PERIODIC_HOLD"), parameters, world)
    {
        return Some(PolicyAction::Hold { reason: why.reason, code: why.code, subcode: why.subcode });
    }
    let why = find_true_policy(job, "PeriodicRemove", Some("SYSTEM_PERIODIC_REMOVE"), parameters, world)?;
    Some(PolicyAction::Remove(why.reason))
}

/// Returns the reason to release a held job, or `None` if the job stays held. A job that its user has put on hold is
/// not released, and neither is a job that was held SYSTEM_MAX_RELEASES times or more.
pub fn release_reason(
    job: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> Option<PolicyReason> {
    let int = |name: &str| Context::new(world).my(job).int(name).unwrap_or(0);
    let most = parameters
        .get(b"SYSTEM_MAX_RELEASES")
        .and_then(|text| text.to_str().ok()?.trim().parse::<i64>().ok());
    if most.is_some_and(|most| most >= 0 && int("NumHolds") >= most) {
        return None;
    }
    if int("HoldReasonCode") == i64::from(HoldCode::UserRequest as u16) {
        return None;
    }
    find_true_policy(job, "PeriodicRelease", Some("SYSTEM_PERIODIC_RELEASE"), parameters, world)
}

/// Returns the reason to hold a job that has ended, or `None` if OnExitHold is not true.
pub fn exit_hold_reason(
    job: &ClassAd,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> Option<PolicyReason> {
    find_true_policy(job, "OnExitHold", None, parameters, world)
}

/// Returns the reason why a job that has ended stays in the queue, or `None`. A job stays in the queue if OnExitRemove
/// is false or 0.
pub fn stay_in_queue_reason(job: &ClassAd, world: &dyn World) -> Option<BString> {
    let expr = job.get("OnExitRemove")?;
    let value = Context::new(world).my(job).eval(&expr);
    (value.truth() == Some(false))
        .then(|| reason_sentence("job attribute", "OnExitRemove", &expr.unparse_old(), "FALSE").into())
}

/// Reason why a policy is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReason {
    /// Reason that the job ad gives, or the sentence that the reference makes.
    pub reason: BString,
    /// Code that identifies the policy.
    pub code: HoldCode,
    /// Value of `<Attribute>SubCode`.
    pub subcode: i64,
}

/// Returns the reason for the first true expression, in the job ad or in the configuration.
fn find_true_policy(
    job: &ClassAd,
    attribute: &str,
    parameter: Option<&str>,
    parameters: &dyn ParameterSource,
    world: &dyn World,
) -> Option<PolicyReason> {
    let context = Context::new(world).my(job);
    let is_true = |expr: &Expr| context.eval(expr).truth() == Some(true);
    if let Some(expr) = job.get(attribute).filter(is_true) {
        let reason = context.string(format!("{attribute}Reason")).filter(|reason| !reason.is_empty());
        let usual = || reason_sentence("job attribute", attribute, &expr.unparse_old(), "TRUE").into();
        let subcode = context.int(format!("{attribute}SubCode")).unwrap_or(0);
        return Some(PolicyReason {
            reason: reason.unwrap_or_else(usual),
            code: HoldCode::JobPolicy,
            subcode,
        });
    }
    let parameter = parameter?;
    for name in policy_parameters(parameter, parameters) {
        let Some(text) = parameters.get(name.as_bytes()) else { continue };
        let Some(expr) = Expr::parse_with(&text, Dialect::of_world(world).old()).ok().filter(is_true) else {
            continue;
        };
        let own = |ending: &str| {
            let text = parameters.get(format!("{name}_{ending}").as_bytes())?;
            Some(context.eval(&Expr::parse_with(&text, Dialect::of_world(world).old()).ok()?))
        };
        let reason = own("REASON").and_then(|value| value.as_str().map(BString::from));
        let usual = || reason_sentence("system macro", parameter, &expr.unparse_old(), "TRUE").into();
        let reason = reason.filter(|reason| !reason.is_empty()).unwrap_or_else(usual);
        let subcode = own("SUBCODE").and_then(|value| value.as_int()).unwrap_or(0);
        return Some(PolicyReason { reason, code: HoldCode::SystemPolicy, subcode });
    }
    None
}

/// Returns the policies of the configuration that are not valid expressions; the reference skips them.
pub fn invalid_policies(parameters: &dyn ParameterSource, world: &dyn World) -> Vec<String> {
    let kinds = ["HOLD", "RELEASE", "REMOVE", "VACATE"].map(|kind| format!("SYSTEM_PERIODIC_{kind}"));
    let all = kinds.iter().flat_map(|kind| policy_parameters(kind, parameters));
    let is_bad = |name: &String| {
        let text = parameters.get(name.as_bytes()).unwrap_or_default();
        !text.trim().is_empty() && Expr::parse_with(&text, Dialect::of_world(world).old()).is_err()
    };
    all.filter(is_bad).collect()
}

fn reason_sentence(source: &str, name: &str, text: &[u8], value: &str) -> String {
    format!("The {source} {name} expression '{}' evaluated to {value}", String::from_utf8_lossy(text))
}

/// Returns the parameters of one kind of policy: first the parameters that the list of names selects, then the
/// parameter without a name.
fn policy_parameters(parameter: &str, parameters: &dyn ParameterSource) -> Vec<String> {
    let list = parameters.get(format!("{parameter}_NAMES").as_bytes()).unwrap_or_default();
    let tags = list::split(&list).filter(|tag| !caseless::eq(tag, b"NAMES"));
    let named = tags.map(|tag| format!("{parameter}_{}", String::from_utf8_lossy(tag)));
    named.chain([parameter.to_owned()]).collect()
}

/// Formats days, hours, minutes and seconds without leading zeros (`format_time_short`).
fn format_duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let text = format!("{days:3}+{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let short = text.trim_start_matches([' ', '0', '+']);
    short.strip_prefix(':').unwrap_or(short).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::time::ClockReading;
    use htc_base::world::FrozenClockWorld;
    use htc_os::RealWorld;

    fn at_1000(job: &str, parameters: &[(&str, &str)]) -> Option<PolicyAction> {
        let (ad, errors) = htc_classad::format::long::parse(job.as_bytes());
        assert!(errors.is_empty());
        let parameters = |name: &[u8]| {
            parameters
                .iter()
                .find(|(known, _)| known.as_bytes() == name)
                .map(|(_, text)| BString::from(*text))
        };
        let real = RealWorld::new();
        evaluate_periodic(
            &ad,
            &parameters,
            &FrozenClockWorld { world: &real, now: ClockReading::from_epoch(1000) },
        )
    }

    fn hold(reason: &str, code: HoldCode, subcode: i64) -> Option<PolicyAction> {
        Some(PolicyAction::Hold { reason: reason.into(), code, subcode })
    }

    #[test]
    fn policies_are_evaluated_in_the_order_of_the_reference() {
        let both = "JobStatus = 1\nPeriodicHold = JobStatus == 1\nPeriodicRemove = true\n";
        let text = "The job attribute PeriodicHold expression 'JobStatus == 1' evaluated to TRUE";
        assert_eq!(at_1000(both, &[]), hold(text, HoldCode::JobPolicy, 0));
        let own = format!("{both}PeriodicHoldReason = \"so\"\nPeriodicHoldSubCode = 7\n");
        assert_eq!(at_1000(&own, &[]), hold("so", HoldCode::JobPolicy, 7));
        // A job that is already held is removed instead of being held again.
        let removed = "The job attribute PeriodicRemove expression 'true' evaluated to TRUE";
        assert_eq!(at_1000(&both.replace("= 1\n", "= 5\n"), &[]), Some(PolicyAction::Remove(removed.into())));
        let timer = format!("{both}TimerRemove = 999\n");
        let text = "The job attribute TimerRemove expression '999' evaluated to TRUE";
        assert_eq!(at_1000(&timer, &[]), Some(PolicyAction::Remove(text.into())));
        let text = "The job attribute TimerRemove expression 'Later' evaluated to UNDEFINED";
        let undefined = format!("{both}TimerRemove = Later\n");
        assert_eq!(at_1000(&undefined, &[]), hold(text, HoldCode::JobPolicyUndefined, 0));
        assert_eq!(at_1000(&both.replace("JobStatus = 1", "JobStatus = 3"), &[]), None);
        assert_eq!(at_1000("JobStatus = 1\nPeriodicHold = Nothing\n", &[]), None);
    }

    #[test]
    fn configured_policies_are_evaluated_after_those_of_the_job() {
        let parameters = [
            ("SYSTEM_PERIODIC_HOLD_NAMES", "Big NAMES"),
            ("SYSTEM_PERIODIC_HOLD_Big", "Size > 10"),
            ("SYSTEM_PERIODIC_HOLD_Big_REASON", "strcat(\"size \", Size)"),
            ("SYSTEM_PERIODIC_HOLD_Big_SUBCODE", "Size"),
            ("SYSTEM_PERIODIC_HOLD", "Old"),
            ("SYSTEM_PERIODIC_REMOVE", "Size > 5"),
        ];
        assert_eq!(
            at_1000("JobStatus = 1\nSize = 11\n", &parameters),
            hold("size 11", HoldCode::SystemPolicy, 11)
        );
        let text = "The system macro SYSTEM_PERIODIC_HOLD expression 'Old' evaluated to TRUE";
        let job = "JobStatus = 1\nSize = 6\nOld = 1\n";
        assert_eq!(at_1000(job, &parameters), hold(text, HoldCode::SystemPolicy, 0));
        // The reasons quote the parsed expressions.
        let knobs_of = |text| [("SYSTEM_PERIODIC_HOLD", text)];
        let text = "The system macro SYSTEM_PERIODIC_HOLD expression 'Size =!= 5' evaluated to TRUE";
        let held_for = at_1000("JobStatus = 1\nSize = 6\n", &knobs_of("Size   isnt 5"));
        assert_eq!(held_for, hold(text, HoldCode::SystemPolicy, 0));
        let text = "The system macro SYSTEM_PERIODIC_REMOVE expression 'Size > 5' evaluated to TRUE";
        assert_eq!(
            at_1000("JobStatus = 1\nSize = 6\n", &parameters),
            Some(PolicyAction::Remove(text.into()))
        );
    }

    #[test]
    fn vacate_comes_before_remove_and_hold_but_after_allowed_durations() {
        let running = |job: &str, parameters: &[(&str, &str)]| {
            let (ad, _) = htc_classad::format::long::parse(job.as_bytes());
            let parameters = |name: &[u8]| {
                parameters
                    .iter()
                    .find(|(known, _)| known.as_bytes() == name)
                    .map(|(_, text)| BString::from(*text))
            };
            let real = RealWorld::new();
            evaluate_while_running(
                &ad,
                &parameters,
                &FrozenClockWorld { world: &real, now: ClockReading::from_epoch(1000) },
            )
        };
        let job = "JobStatus = 2\nPeriodicHold = true\nTimerRemove = 5\n";
        let own =
            format!("{job}PeriodicVacate = true\nPeriodicVacateReason = \"so\"\nPeriodicVacateSubCode = 7\n");
        let vacated = |reason: &str, code, subcode| {
            Some(RunningJobAction::Vacate { reason: reason.into(), code, subcode })
        };
        assert_eq!(running(&own, &[]), vacated("so", HoldCode::JobPolicyVacate, 7));
        let parameters = [("SYSTEM_PERIODIC_VACATE", "true"), ("SYSTEM_PERIODIC_VACATE_SUBCODE", "9")];
        let text = "The system macro SYSTEM_PERIODIC_VACATE expression 'true' evaluated to TRUE";
        assert_eq!(running(job, &parameters), vacated(text, HoldCode::SystemPolicyVacate, 9));
        let late = format!("{own}ShadowBday = 1\nAllowedJobDuration = 9\n");
        let text = "The job exceeded allowed job duration of 00:09";
        assert_eq!(
            running(&late, &[]),
            hold(text, HoldCode::JobDurationExceeded, 0).map(RunningJobAction::HoldOrRemove)
        );
        // A job that does not run cannot be vacated.
        let idle = own.replace("JobStatus = 2", "JobStatus = 1");
        assert!(matches!(running(&idle, &[]), Some(RunningJobAction::HoldOrRemove(PolicyAction::Remove(_)))));
    }

    #[test]
    fn jobs_that_run_too_long_are_held() {
        let job = "JobStatus = 2\nShadowBday = 100\nAllowedJobDuration = 900\n";
        let text = "The job exceeded allowed job duration of 15:00";
        assert_eq!(at_1000(job, &[]), hold(text, HoldCode::JobDurationExceeded, 0));
        assert_eq!(at_1000(&job.replace("= 900", "= 901"), &[]), None);
        let job =
            "JobStatus = 2\nShadowBday = 0\nJobCurrentStartExecutingDate = 0\nAllowedExecuteDuration = 9\n";
        let text = "The job exceeded allowed execute duration of 00:09";
        assert_eq!(at_1000(job, &[]), hold(text, HoldCode::JobExecuteExceeded, 0));
        assert_eq!(format_duration(90_061), "1+01:01:01");
        assert_eq!(format_duration(3_661), "1:01:01");
    }
}
