//! Actions of the router: the jobs that they are about, and the replies to those that are not compared.

use htc_hooks::job::JobId;
use htc_hooks::router::{RouterAction, RouterEvent, RouterHookCall, RouterHookResult};

/// Returns the job of an action: a source job, or a copy that is removed.
pub(super) fn job_of_action(action: &RouterAction) -> Option<JobId> {
    match action {
        RouterAction::Claim(id)
        | RouterAction::CallHook(RouterHookCall { source: id, .. })
        | RouterAction::SubmitCopy(id, _)
        | RouterAction::EditSource(id, _)
        | RouterAction::UpdateSource(id, _)
        | RouterAction::UpdateCopy(id, ..)
        | RouterAction::FinalizeCopy(id, _)
        | RouterAction::RemoveCopy(id, _)
        | RouterAction::YieldSource(id, _)
        | RouterAction::UserLog(id, ..)
        | RouterAction::Quirk(id, _) => Some(*id),
        RouterAction::Log(_) | RouterAction::Stop(_) => None,
    }
}

/// Returns the reply to an action that is no longer compared: success.
pub(super) fn successful_reply(action: &RouterAction) -> Option<RouterEvent> {
    match action {
        RouterAction::Claim(id) => Some(RouterEvent::ClaimResult(*id, Err("not recorded".to_owned()))),
        RouterAction::CallHook(RouterHookCall { source, hook, .. }) => {
            Some(RouterEvent::HookEnded(*source, *hook, RouterHookResult::NotConfigured))
        }
        RouterAction::SubmitCopy(id, _) => {
            Some(RouterEvent::SubmitResult(*id, Err("not recorded".to_owned())))
        }
        RouterAction::EditSource(id, _) => Some(RouterEvent::EditResult(*id, Ok(()))),
        RouterAction::UpdateCopy(source, ..) => Some(RouterEvent::CopyUpdateResult(*source, Ok(()))),
        RouterAction::FinalizeCopy(source, _) => Some(RouterEvent::FinalizeResult(*source, Ok(()))),
        RouterAction::YieldSource(id, _) => Some(RouterEvent::YieldResult(*id, Ok(()))),
        RouterAction::UpdateSource(..)
        | RouterAction::RemoveCopy(..)
        | RouterAction::UserLog(..)
        | RouterAction::Log(_)
        | RouterAction::Quirk(..)
        | RouterAction::Stop(_) => None,
    }
}
