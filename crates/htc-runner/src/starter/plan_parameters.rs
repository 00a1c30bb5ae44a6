//! Parameters of a starter, and the warnings about parameters and job that are printed before the run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::notice;
use super::run_request::RunRequest;
use crate::hook_call::DEFAULT_PIPE_BUFFER_MAX;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::Context;
use htc_config::unsupported::UnsupportedSettings;
use htc_config::{ConfigView, ValueError};
use htc_starter::hooks::FoundHooks;
use htc_starter::unsupported::AccessPointRole;
use htc_starter::{JobRefusal, StarterSettings, has_slot_ad, unsupported};

/// Parameters of a starter.
pub(super) struct PlanParameters {
    pub(super) settings: StarterSettings,
    /// Value of PIPE_BUFFER_MAX.
    pub(super) output_limit: usize,
    /// Processors to which the job is bound; empty for all processors.
    pub(super) affinity: Vec<usize>,
    /// Value of POLLING_INTERVAL.
    pub(super) polling: Duration,
    /// Reason to refuse a job that a slot has accepted, because a parameter is invalid; or `None`.
    pub(super) refusal: Option<JobRefusal>,
}

impl PlanParameters {
    /// Reads the parameters.
    ///
    /// # Errors
    /// Fails if a parameter is not a valid number or boolean. If a slot has accepted the job, `refusal` is set
    /// instead.
    pub(super) fn read(request: &RunRequest<'_>, view: &ConfigView<'_>) -> Result<Self, ValueError> {
        let (world, quirks) = (request.world, request.quirks);
        let with_shadow = request.role == AccessPointRole::Shadow;
        let slot_ad = request.machine.as_ref().filter(|_| has_slot_ad(with_shadow, quirks));
        // If a slot has accepted the job, an invalid parameter must not end the program: JOB_EXIT is called with the
        // reason.
        let mut refuses = BadParameterPolicy { accepted: request.private_directory.is_some(), reason: None };
        let path = |parameter: &str| -> Option<PathBuf> {
            view.string(parameter).ok().flatten().map(|path| path.value.to_path_lossy().into_owned())
        };
        let configured = || StarterSettings { execute: path("EXECUTE"), ..StarterSettings::default() };
        // 25.14 reports an invalid value only when it first reads the value.
        let reports_late = quirks.reproduces(Quirk::StarterExceptions);
        let settings = match reports_late {
            true => StarterSettings::read_deferring_faults(view, slot_ad, world)?,
            false => refuses.value_or_substitute(StarterSettings::read(view, slot_ad, world), configured)?,
        };
        let output_limit = refuses.value_or_substitute(output_limit(view), || DEFAULT_PIPE_BUFFER_MAX)?;
        let affinity = match affinity(view, &request.slot) {
            // The settings report the invalid value.
            Err(_) if reports_late => Vec::new(),
            read => refuses.value_or_substitute(read, Vec::new)?,
        };
        let polling = view.int("POLLING_INTERVAL")?.map_or(5, |setting| setting.value);
        let polling = Duration::from_secs(polling.max(1).unsigned_abs());
        Ok(PlanParameters { settings, output_limit, affinity, polling, refusal: refuses.reason })
    }
}

/// Treatment of invalid parameters.
struct BadParameterPolicy {
    /// True if a slot has accepted the job.
    accepted: bool,
    reason: Option<JobRefusal>,
}

impl BadParameterPolicy {
    /// Returns the value. If it is invalid and a slot has accepted the job, keeps the reason and returns a
    /// substitute.
    fn value_or_substitute<T>(
        &mut self,
        read: Result<T, ValueError>,
        instead: impl FnOnce() -> T,
    ) -> Result<T, ValueError> {
        match read {
            Err(error) if self.accepted => {
                self.reason.get_or_insert(JobRefusal::Knob { reason: error.user_message() });
                Ok(instead())
            }
            read => read,
        }
    }
}

/// Checks that a starter could read its parameters for any job.
///
/// # Errors
/// Fails if a parameter is not a valid number or boolean.
pub fn check_parameters(view: &ConfigView<'_>, world: &dyn World) -> Result<(), ValueError> {
    StarterSettings::read(view, None, world)?;
    output_limit(view)?;
    affinity(view, b"slot1")?;
    Ok(())
}

/// Returns warnings about unsupported attributes of the job. Without a slot runner, which would have printed them,
/// also returns warnings about unsupported parameters.
pub(super) fn start_warnings(request: &RunRequest<'_>, view: &ConfigView<'_>) -> Vec<String> {
    let (ad, private) = (&request.ad, request.private_directory.as_deref());
    let played: &[&str] = match request.role {
        AccessPointRole::Absent => &["starter"],
        AccessPointRole::Schedd => &["starter", "schedd"],
        AccessPointRole::Shadow => &["starter", "shadow", "schedd"],
    };
    let mut lines = match private {
        None => UnsupportedSettings::collect(view).warning_lines(view, played),
        Some(_) => Vec::new(),
    };
    let requests = unsupported::unsupported_requests(ad, request.role, request.world).into_iter();
    let unreported = requests.filter(|request| notice::is_first_report(private, &request.attributes));
    lines.extend(unreported.map(|request| request.line));
    lines.extend(resource_warnings(request, view));
    let dead = ad.contains("RequestedChroot") || view.is_defined("NAMED_CHROOT");
    if dead && notice::is_first_report(private, "chroot") {
        let line = "RequestedChroot and NAMED_CHROOT have no effect: HTCondor 25.14 no longer supports chroots (use a container)";
        lines.push(line.to_owned());
    }
    lines
}

/// Returns warnings about custom resources that a job requests although no slot ad provides them.
fn resource_warnings(request: &RunRequest<'_>, view: &ConfigView<'_>) -> Vec<String> {
    if request.machine.is_some() || request.private_directory.is_some() {
        return Vec::new();
    }
    let context = Context::new(request.world).my(&request.ad);
    let mut resources = BTreeSet::from(["gpus".to_owned()]);
    resources.extend(view.names().filter_map(|name| {
        let name = name.to_ascii_lowercase();
        Some(name.strip_prefix(b"machine_resource_")?.to_str().ok()?.to_owned())
    }));
    let hint = if request.role == AccessPointRole::Schedd { "" } else { " (--slot-ads FILE)" };
    let mut lines = Vec::new();
    for (name, _) in request.ad.sorted() {
        let requested_name = name.to_ascii_lowercase();
        let of_resource = |prefix: &[u8]| {
            let resource = requested_name.strip_prefix(prefix).and_then(|rest| rest.to_str().ok());
            resource.filter(|resource| resources.contains(*resource)).is_some()
        };
        let counts = of_resource(b"request") && context.real(name).is_none_or(|count| count > 0.0);
        if counts || of_resource(b"require") {
            lines.push(format!(
                "{} has no effect: the job has no slot that could give it the resource{hint}",
                name.as_bstr()
            ));
        }
    }
    lines
}

/// Returns warnings about the configured hooks: differences from 25.14, and a keyword without hooks.
pub(super) fn hook_warnings(
    found: &FoundHooks,
    parameters: &PlanParameters,
    request: &RunRequest<'_>,
) -> Vec<String> {
    let FoundHooks { hooks, lookup, refusal } = found;
    let quirks: QuirkMode = request.quirks;
    let no_execute = parameters.settings.execute.is_none().then_some(Quirk::NoExecuteCrashes);
    let quirk = lookup.quirk.filter(|quirk| !quirks.reproduces(*quirk));
    let mut lines: Vec<String> = quirk.into_iter().chain(no_execute).map(Quirk::description).collect();
    if refusal.is_some() || parameters.refusal.is_some() || quirks.reproduces(Quirk::HooklessKeywordSilent) {
        return lines;
    }
    lines.extend(ignored_keyword_warning(found, request));
    let called = [&hooks.prepare, &hooks.prepare_before_transfer, &hooks.update, &hooks.exit];
    if let Some(keyword) = &lookup.keyword
        && called.into_iter().all(Option::is_none)
        && notice::is_first_report(request.private_directory.as_deref(), &no_hook_mark(keyword))
    {
        lines.push(format!(
            "neither {keyword}_HOOK_PREPARE_JOB nor _UPDATE_JOB_INFO nor _JOB_EXIT is set: jobs of the keyword \
             '{keyword}' run without hooks"
        ));
    }
    lines
}

/// Returns a warning if the job's HookKeyword has no hooks, or `None`. The hooks of the site's keyword are not called
/// for such a job.
fn ignored_keyword_warning(
    FoundHooks { lookup, .. }: &FoundHooks,
    request: &RunRequest<'_>,
) -> Option<String> {
    let wish = lookup.ignored_keyword()?;
    if !notice::is_first_report(request.private_directory.as_deref(), &no_hook_mark(wish)) {
        return None;
    }
    let instead = match &lookup.keyword {
        Some(keyword) if keyword != wish => {
            format!("the hooks of STARTER_DEFAULT_JOB_HOOK_KEYWORD ({}) are called", keyword.escape_ascii())
        }
        _ => "the job runs without PREPARE_JOB, UPDATE_JOB_INFO and JOB_EXIT".to_owned(),
    };
    Some(format!(
        "the job's HookKeyword is '{}', for which no hook is configured: {instead}",
        wish.escape_ascii()
    ))
}

/// Returns the name of the marker file for the warning about a keyword without hooks.
fn no_hook_mark(keyword: &[u8]) -> String {
    let plain = |letter: &u8| if letter.is_ascii_alphanumeric() { char::from(*letter) } else { '_' };
    format!("no-hook-{}", keyword.iter().map(plain).collect::<String>())
}

/// Returns the processors to which the job is bound if ENFORCE_CPU_AFFINITY is true: STARTD_ASSIGNED_AFFINITY, else
/// `SLOT<N>_CPU_AFFINITY`, else the processor with the slot's number (`OsProc::StartJob`). Returns an empty list for
/// all processors.
fn affinity(view: &ConfigView<'_>, slot: &[u8]) -> Result<Vec<usize>, ValueError> {
    let wanted = view.boolean("ENFORCE_CPU_AFFINITY")?.is_some_and(|setting| setting.value);
    let digits = slot.to_str_lossy();
    let digits = digits.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let Some(number) = digits[..end].parse::<usize>().ok().filter(|number| wanted && *number > 0) else {
        return Ok(Vec::new());
    };
    for name in ["STARTD_ASSIGNED_AFFINITY".to_owned(), format!("SLOT{number}_CPU_AFFINITY")] {
        if let Some(list) = view.list(&name)? {
            let number =
                |cpu: &BString| usize::try_from(htc_starter::job_source::parse_leading_number(cpu)).ok();
            return Ok(list.value.iter().filter_map(number).collect());
        }
    }
    Ok(vec![number - 1])
}

/// Returns the value of PIPE_BUFFER_MAX, or its default.
fn output_limit(view: &ConfigView<'_>) -> Result<usize, ValueError> {
    let setting = view.int("PIPE_BUFFER_MAX")?;
    let configured = setting.and_then(|setting| usize::try_from(setting.value).ok());
    Ok(configured.filter(|limit| *limit > 0).unwrap_or(DEFAULT_PIPE_BUFFER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_without_hooks_are_marked() {
        assert_eq!(no_hook_mark(b"A_1"), "no-hook-A_1");
        assert_eq!(no_hook_mark(b"../b.c"), "no-hook-___b_c");
    }
}
