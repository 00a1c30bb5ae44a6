//! What an answer asks for that the starter of this package does not do, though that of a pool would.

use super::{Case, Finding, Rule, Verdict};
use htc_base::world::World;
use htc_hook::HookType;
use htc_starter::not_done::{self, With};

/// Looks at what a prepare hook has added: what the job asked for itself is not the hook's.
pub fn not_done_here(case: &Case, verdict: &Verdict, world: &dyn World) -> Vec<Finding> {
    let prepares = matches!(
        case.hook,
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer | HookType::ShadowPrepareJob
    );
    let Some(result) = verdict.result.first().filter(|_| prepares) else { return Vec::new() };
    let with = if case.with_shadow { With::Shadow } else { With::Nobody };
    let before: Vec<String> =
        not_done::told(&case.job, with, world).into_iter().map(|told| told.line).collect();
    let told = not_done::told(result, with, world).into_iter().map(|told| told.line);
    let told = told.filter(|line| !before.contains(line));
    let refused = not_done::refused(result, world).filter(|_| not_done::refused(&case.job, world).is_none());
    told.chain(refused)
        .map(|line| Finding::new(Rule::NotDoneHere, line, "in a pool it is done; try the job itself there"))
        .collect()
}
