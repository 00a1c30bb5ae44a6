//! Hooks of a slot: its hook keyword, and the paths that pass the checks (`Resource::getHookKeyword`,
//! `StartdHookMgr::getHookPath`).

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::parameters::{HookWarning, SlotParameters};
use crate::settings::SlotHookPaths;
use htc_base::world::World;
use htc_hook::{HookType, keyword, path_check};

impl htc_hook::ParameterSource for SlotParameters<'_> {
    fn get(&self, name: &[u8]) -> Option<BString> {
        self.text(&name.to_str_lossy())
    }

    fn origin(&self, name: &[u8]) -> Option<String> {
        self.origin(&name.to_str_lossy())
    }
}

/// View of the parameters in which relative paths are resolved against LOG, the daemon's working directory.
struct LogRelativeParameters<'a> {
    parameters: &'a SlotParameters<'a>,
    log: BString,
}

impl htc_hook::ParameterSource for LogRelativeParameters<'_> {
    fn get(&self, name: &[u8]) -> Option<BString> {
        let text = htc_hook::ParameterSource::get(self.parameters, name)?;
        if text.starts_with(b"/") || text.is_empty() {
            return Some(text);
        }
        Some([&self.log[..], b"/", &text[..]].concat().into())
    }

    fn origin(&self, name: &[u8]) -> Option<String> {
        htc_hook::ParameterSource::origin(self.parameters, name)
    }
}

/// Returns the hooks of the slot `id`. A dynamic slot may use the keyword of its `parent`; warnings are then reported only for
/// the parent.
pub(super) fn slot_hook_paths(
    parameters: &SlotParameters<'_>,
    world: &dyn World,
    id: &str,
    parent: Option<&str>,
) -> Option<SlotHookPaths> {
    let keyword = keyword::startd_keyword(id, parent, parameters, parameters.quirks()).keyword?;
    let in_log = LogRelativeParameters { parameters, log: parameters.text("LOG").unwrap_or_default() };
    let path = |hook: HookType| -> Result<Option<PathBuf>, String> {
        match path_check::configured_path(world, &in_log, &keyword, hook) {
            // The hook is executed with the path as configured, relative to LOG, the daemon's working directory.
            Ok(found) => {
                let written =
                    found.and_then(|_| parameters.text(&hook.path_parameter(&keyword).to_str_lossy()));
                Ok(written.map(|path| path.to_path_lossy().into_owned()))
            }
            Err(refusal) => {
                let reason = format!("{}: {refusal}", hook.path_parameter(&keyword));
                let warning = format!("{reason}; the hook is treated as not configured");
                parameters.warn_about_hook(HookWarning::RefusedPath(warning));
                Err(reason)
            }
        }
    };
    let fetch = path(HookType::FetchWork);
    let hooks = SlotHookPaths {
        fetch_refused: fetch.as_ref().err().cloned(),
        fetch: fetch.unwrap_or_default(),
        reply: path(HookType::ReplyFetch).unwrap_or_default(),
        evict: path(HookType::EvictClaim).unwrap_or_default(),
        keyword: keyword.to_str_lossy().into_owned(),
    };
    let parameter = HookType::FetchWork.path_parameter(&keyword).to_string();
    let is_own = parent.is_none() || parameters.string(&format!("{id}_JOB_HOOK_KEYWORD")).is_some();
    if hooks.fetch.is_none() && parameters.text(&parameter).is_none() && is_own {
        let warning =
            format!("{id} has the keyword {keyword}, but {parameter} is not defined: it fetches no work");
        parameters.warn_about_hook(HookWarning::NoFetchHook(warning));
    }
    Some(hooks)
}
