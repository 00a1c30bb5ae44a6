//! Keywords of a daemon for which only the hooks of another daemon are set.

use bstr::{BString, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_hook::{HookCaller, HookType};

use crate::config::LintSubject;

/// Hook keyword that a parameter sets for a daemon.
struct CallerKeyword<'a> {
    entry: &'a MacroEntry,
    caller: HookCaller,
    keyword: BString,
}

/// Reports each keyword whose caller calls none of the hooks that are set for it.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let keywords: Vec<CallerKeyword<'_>> = subject
        .user_written_entries()
        .filter_map(|entry| {
            let caller = keyword_caller(&entry.name)?;
            let keyword = subject.view.expand_raw(&entry.name, entry.raw()).ok()?;
            let keyword = BString::from(keyword.trim());
            (!keyword.is_empty()).then_some(CallerKeyword { entry, caller, keyword })
        })
        .collect();
    for CallerKeyword { entry, caller, keyword } in &keywords {
        let hooks = hooks_of(subject, keyword);
        // The startd's keyword also selects the starter's hooks for fetched jobs, but without FETCH_WORK no job is
        // fetched.
        let is_called = hooks.iter().any(|hook| hook.caller() == *caller);
        let Some(first) = hooks.first().filter(|_| !is_called) else { continue };
        let callers: Vec<HookCaller> = hooks.iter().map(|hook| hook.caller()).collect();
        let has_other = keywords
            .iter()
            .any(|other| caseless::eq(&other.keyword, keyword) && callers.contains(&other.caller));
        if has_other {
            continue;
        }
        let message = format!(
            "keyword '{keyword}' has no hook of the {}: {keyword}_HOOK_{} is called by the {}",
            caller.name(),
            first.name(),
            first.caller().name()
        );
        let right = match first.caller() {
            HookCaller::Router => "JOB_ROUTER_HOOK_KEYWORD".to_owned(),
            other => format!("{}_JOB_HOOK_KEYWORD", other.subsystem()),
        };
        let fix = format!("set {right} = {keyword}");
        let place = Some((0, entry.raw().len()));
        findings.push(subject.make_finding(
            LintRule::KeywordWithoutHooks,
            &entry.current,
            place,
            message,
            fix,
        ));
    }
}

/// Returns the daemon that reads a keyword from a parameter.
fn keyword_caller(name: &[u8]) -> Option<HookCaller> {
    let name = unqualified_name(name);
    if caseless::eq(name, b"JOB_ROUTER_HOOK_KEYWORD") {
        return Some(HookCaller::Router);
    }
    let end = name.len().checked_sub(b"_JOB_HOOK_KEYWORD".len())?;
    if !caseless::ends_with(name, b"_JOB_HOOK_KEYWORD") {
        return None;
    }
    let owner = &name[..end];
    let is = |known: &str| caseless::eq(owner, known.as_bytes());
    match () {
        () if is("STARTER") || is("STARTER_DEFAULT") => Some(HookCaller::Starter),
        () if is("SHADOW") || is("SHADOW_DEFAULT") => Some(HookCaller::Shadow),
        () if is("STARTD") || caseless::starts_with(owner, b"SLOT") => Some(HookCaller::Startd),
        () => None,
    }
}

/// Returns the hooks that are set for a keyword.
fn hooks_of(subject: &LintSubject<'_>, keyword: &[u8]) -> Vec<HookType> {
    let is_set =
        |hook: &HookType| {
            let name = hook.path_parameter(keyword);
            subject.config.set.entries().any(|entry| {
                caseless::eq(unqualified_name(&entry.name), &name) && !entry.raw().trim().is_empty()
            })
        };
    HookType::ALL.iter().copied().filter(is_set).collect()
}
