//! Arguments of the programs that daemons start, and of the daemons themselves.

use bstr::{BStr, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use rustc_hash::FxHashSet;

use super::lint_subject::LintSubject;
use super::parameter_names::DAEMON_NAMES;
use super::referenced_names::collect_names;
use super::written_pieces::replace_if_certain;

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let fragments = argument_fragments(subject);
    for entry in subject.user_written_entries() {
        let raw = &entry.current.raw;
        if let Some(inner) = between_quotes(raw)
            && fragments.contains(&entry.name.to_ascii_lowercase())
        {
            let message = format!(
                "{}: the value is inserted between other arguments, so its quotes become part of the first and the last one",
                entry.name
            );
            let fix = Advice::Write(inner.into());
            let whole = Some((0, raw.len()));
            let finding = subject.make_finding(LintRule::QuotedValue, &entry.current, whole, message, fix);
            findings.push(replace_if_certain(finding, raw));
        }
        findings.extend(check_first_argument(subject, entry));
    }
}

/// Returns the macros, in lower case, that command lines contain next to other arguments.
fn argument_fragments(subject: &LintSubject<'_>) -> FxHashSet<Vec<u8>> {
    // The default of STARTD_DETECT_GPUS and the templates for GPUs contain this macro.
    let mut fragments = FxHashSet::from_iter([b"gpu_discovery_extra".to_vec()]);
    let is_command = |entry: &&MacroEntry| {
        let name = unqualified_name(&entry.name);
        caseless::starts_with(name, b"MACHINE_RESOURCE_INVENTORY_") || caseless::ends_with(name, b"_ARGS")
    };
    for entry in subject.config.set.entries().filter(is_command) {
        let text = entry.raw().trim();
        let is_one_reference = text.starts_with(b"$(") && text.find_byte(b')') == Some(text.len() - 1);
        if !is_one_reference && !text.starts_with(b"\"") {
            collect_names(text, &mut fragments);
        }
    }
    fragments
}

/// Returns the text between two quotes that enclose a whole value.
fn between_quotes(raw: &[u8]) -> Option<&[u8]> {
    let inner = raw.trim().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (!inner.is_empty() && !inner.contains(&b'"')).then_some(inner)
}

/// Reports a port without `-p` as the first argument of a daemon, which skips arguments that are not options
/// (`dc_main`).
fn check_first_argument(subject: &LintSubject<'_>, entry: &MacroEntry) -> Option<Finding> {
    let name = unqualified_name(&entry.name);
    let daemon = name.len().checked_sub(b"_ARGS".len()).filter(|_| caseless::ends_with(name, b"_ARGS"))?;
    let is_daemon = DAEMON_NAMES.iter().any(|known| caseless::eq(known.as_bytes(), &name[..daemon]));
    let value = subject.expand_entry(entry).ok().filter(|_| is_daemon)?;
    subject.view.take_messages();
    let word = value.trim_start_with(|c| c == '"').fields().next()?;
    if !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let shown = BStr::new(word);
    let message = format!("{}: {shown} is not an option: the daemon ignores it", entry.name);
    let whole = Some((0, entry.current.raw.len()));
    let fix = format!("write -p {shown} for a port");
    Some(subject.make_finding(LintRule::BadValue, &entry.current, whole, message, fix))
}
