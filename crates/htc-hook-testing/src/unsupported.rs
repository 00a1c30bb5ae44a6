//! Findings about attributes in the output that the starter of this project does not support, although the starter of
//! a pool does.

use super::{Case, Finding, Rule, Verdict};
use htc_base::world::World;
use htc_hook::HookType;
use htc_starter::unsupported::{self, AccessPointRole};

/// Reports requests for something unsupported that a prepare hook has added. Such requests in the job itself are not
/// reported.
pub fn find_unsupported(case: &Case, verdict: &Verdict, world: &dyn World) -> Vec<Finding> {
    let prepares = matches!(
        case.hook,
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer | HookType::ShadowPrepareJob
    );
    let Some(result) = verdict.result_ads.first().filter(|_| prepares) else { return Vec::new() };
    let role = if case.with_shadow { AccessPointRole::Shadow } else { AccessPointRole::Absent };
    let before: Vec<String> = unsupported::unsupported_requests(&case.job, role, world)
        .into_iter()
        .map(|request| request.line)
        .collect();
    let added =
        unsupported::unsupported_requests(result, role, world).into_iter().map(|request| request.line);
    let added = added.filter(|line| !before.contains(line));
    let refused = unsupported::refused_request(result, world)
        .filter(|_| unsupported::refused_request(&case.job, world).is_none());
    added
        .chain(refused)
        .map(|line| Finding::new(Rule::UnsupportedHere, line, "a pool supports it; try this job in a pool"))
        .collect()
}
