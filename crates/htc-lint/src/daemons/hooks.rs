//! Keywords without hooks, and paths of hooks that the daemons refuse.

use htc_config::Advice;
use htc_config::lint_rule::LintRule;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::lint_scope::LintScope;
use crate::config::LintSubject;
use htc_base::text::{caseless, unqualified_name};
use htc_config::Config;
use htc_config::finding::Finding;
use htc_config::macro_definition::MacroEntry;
use htc_hook::{HookType, path_check};

/// Returns the keywords for which any parameter of a hook is set.
pub fn configured_keywords(config: &Config) -> Vec<BString> {
    let mut found: Vec<BString> = Vec::new();
    for entry in config.set.entries().filter(|entry| !entry.raw().is_empty()) {
        let name = unqualified_name(&entry.name);
        if let Some(keyword) = split_keyword(name).map(BString::from)
            && !found.iter().any(|known| caseless::eq(known, &keyword))
        {
            found.push(keyword);
        }
    }
    found
}

/// Returns the keyword in the name of a hook's path, `<KEYWORD>_HOOK_<TYPE>`, or `None` for other names.
fn split_keyword(name: &[u8]) -> Option<&[u8]> {
    HookType::REFERENCE_NAMES.iter().find_map(|hook| {
        let start = name.len().checked_sub(hook.len())?;
        let keyword = &name[..start.checked_sub(b"_HOOK_".len()).filter(|&end| end > 0)?];
        let is_hook = caseless::ends_with(name, hook.as_bytes())
            && caseless::eq(&name[keyword.len()..start], b"_HOOK_");
        is_hook.then_some(keyword)
    })
}

/// Returns true for parameters that name a keyword.
fn is_keyword_parameter(name: &[u8]) -> bool {
    let name = unqualified_name(name);
    caseless::ends_with(name, b"_JOB_HOOK_KEYWORD") || caseless::eq(name, b"JOB_ROUTER_HOOK_KEYWORD")
}

/// Reports keywords without hooks, and paths that the daemons refuse.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    let with_hooks = configured_keywords(subject.config);
    for entry in subject.user_written_entries().filter(|entry| is_keyword_parameter(&entry.name)) {
        let Ok(keyword) = subject.expand_entry(entry) else {
            continue;
        };
        let keyword = BString::from(keyword.trim());
        if keyword.is_empty() || with_hooks.iter().any(|known| caseless::eq(known, &keyword)) {
            continue;
        }
        // Another finding reports a hook of the keyword if its type is misspelled.
        let start = [&keyword[..], b"_HOOK_"].concat();
        if findings.iter().any(|it| it.rule == LintRule::HookKnob && caseless::starts_with(&it.name, &start))
        {
            continue;
        }
        let near =
            htc_base::text::similar_names::nearest(&keyword, with_hooks.iter().map(|known| &known[..]));
        findings.push(subject.make_finding(
            LintRule::KeywordWithoutHooks,
            &entry.current,
            Some((0, entry.raw().len())),
            format!("no hook is configured for keyword '{keyword}'"),
            match near {
                Some(near) => Advice::DidYouMean(near.into()),
                None => format!("set {keyword}_HOOK_<TYPE> to the path of a hook").into(),
            },
        ));
    }
    check_reply_hooks(subject, findings);
    let mut missing = Vec::new();
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        if !caseless::contains(name, b"_HOOK_") {
            continue;
        }
        let is_hook = split_keyword(name).is_some();
        // Another rule reports these names.
        if !is_hook || caseless::contains(name, b"_JOB_HOOK_") {
            continue;
        }
        check_hook_path(subject, entry, scope, &mut missing, findings);
    }
    report_missing_hooks(subject, &missing, findings);
}

/// Counts the hooks whose programs are not on this machine.
pub(super) fn count_absent_programs(subject: &LintSubject<'_>) -> usize {
    let is_absent = |entry: &&MacroEntry| {
        let name = unqualified_name(&entry.name);
        let is_hook = caseless::contains(name, b"_HOOK_") && !caseless::contains(name, b"_JOB_HOOK_");
        let path = subject.expand_entry(entry).ok().filter(|_| is_hook && split_keyword(name).is_some());
        path.is_some_and(|path| {
            path.starts_with(b"/") && subject.world.stat(Path::new(OsStr::from_bytes(&path))).is_err()
        })
    };
    subject.user_written_entries().filter(is_absent).count()
}

/// Reports, once for all hooks, that their programs are not on this machine.
fn report_missing_hooks(
    subject: &LintSubject<'_>,
    missing: &[(&MacroEntry, BString)],
    findings: &mut Vec<Finding>,
) {
    const MAX_SHOWN: usize = 3;
    let Some((entry, _)) = missing.first() else { return };
    let shown: Vec<&BString> = missing.iter().take(MAX_SHOWN).map(|(_, path)| path).collect();
    let more = missing.len().saturating_sub(MAX_SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = bstr::join(", ", shown);
    let message = format!("programs of hooks are not on this machine: {}{more}", BStr::new(&shown));
    let fix = "check that the machines that use the configuration have them";
    let place = Some((0, entry.raw().len()));
    findings.push(subject.make_finding(LintRule::HookMissing, &entry.current, place, message, fix));
}

/// Reports fetch hooks without a hook that is called for rejected jobs: the fetch hook may have removed the jobs from
/// its queue.
fn check_reply_hooks(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        let Some(end) = name.len().checked_sub(b"_HOOK_FETCH_WORK".len()) else { continue };
        if !caseless::ends_with(name, b"_HOOK_FETCH_WORK") || end == 0 || entry.raw().trim().is_empty() {
            continue;
        }
        let keyword = BStr::new(&name[..end]);
        let reply = format!("{keyword}_HOOK_REPLY_FETCH");
        if subject.view.is_defined(&reply)
            || subject
                .config
                .set
                .entries()
                .any(|other| caseless::eq(unqualified_name(&other.name), reply.as_bytes()))
        {
            continue;
        }
        let message = format!(
            "{} is called, but {reply} is not set: a job that the slot rejects (START is not true for it, the slot is \
             preempting, or a job of the same or a higher RANK runs) is lost if the hook does not offer it again",
            entry.name
        );
        let fix = format!(
            "set {reply} to a hook that puts the job back when its argument is 'reject'; if the fetch hook offers each job \
             until it runs, add '# htc: allow no-reply-hook: REASON'"
        );
        findings.push(subject.make_finding(LintRule::NoReplyHook, &entry.current, None, message, fix));
    }
}

/// Returns the problem with a path that daemons reject on every machine, and the correction.
fn path_fault(path: &[u8]) -> Option<(&'static str, String)> {
    let first = *path.first()?;
    let inner = BStr::new(path.trim_with(|c| c == '"' || c == '\''));
    match first {
        b'"' | b'\'' => Some(("the quotes are part of the path", format!("write {inner}"))),
        b'/' | b'$' => None,
        _ => Some(("the path is not absolute", "write an absolute path".to_owned())),
    }
}

/// Returns advice about the arguments of a hook; two hook types have a parameter for them (`HookClientMgr`).
fn suggest_arguments(name: &[u8], path: &[u8]) -> String {
    let has_parameter = ["_HOOK_PREPARE_JOB", "_HOOK_SHADOW_PREPARE_JOB"]
        .iter()
        .any(|end| caseless::ends_with(name, end.as_bytes()));
    let (program, rest) = path.split_once_str(b" ").unwrap_or((path, b""));
    match has_parameter {
        true => format!(
            "write {} here, and set {}_ARGS = {}",
            BStr::new(program),
            BStr::new(name),
            BStr::new(rest.trim())
        ),
        false => "write a script that calls the hook with arguments, and name that script".to_owned(),
    }
}

fn check_hook_path<'a>(
    subject: &LintSubject<'a>,
    entry: &'a MacroEntry,
    scope: LintScope,
    missing: &mut Vec<(&'a MacroEntry, BString)>,
    findings: &mut Vec<Finding>,
) {
    let Ok(path) = subject.expand_entry(entry) else {
        return;
    };
    let whole = Some((0, entry.raw().len()));
    if path.is_empty() {
        return;
    }
    if let Some((problem, fix)) = path_fault(&path) {
        let message = format!("{}: {problem}, so no machine calls the hook: {path}", entry.name);
        findings.push(subject.make_finding(LintRule::HookPath, &entry.current, whole, message, fix));
        return;
    }
    // If the configuration is for another machine, its files may exist there.
    let file = Path::new(OsStr::from_bytes(&path));
    let exists_here = file.is_absolute() && subject.world.stat(file).is_ok();
    let has_arguments = path.starts_with(b"/") && path.fields().count() > 1;
    if has_arguments && !exists_here {
        let message = format!("the value of a hook is a path and cannot have arguments: '{path}'");
        let fix = suggest_arguments(&entry.name, &path);
        findings.push(subject.make_finding(LintRule::HookPath, &entry.current, whole, message, fix));
        return;
    }
    if scope.for_other_machine && !exists_here {
        return;
    }
    if scope.is_isolated && !exists_here {
        missing.push((entry, path));
        return;
    }
    if let Err(refusal) = path_check::check_path(subject.world, &path) {
        findings.push(subject.make_finding(
            LintRule::HookRefused,
            &entry.current,
            whole,
            refusal.to_string(),
            None,
        ));
    }
}
