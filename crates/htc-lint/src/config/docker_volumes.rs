//! Volumes of docker containers: `DOCKER_VOLUME_DIR_x = /source:/target:ro`.
//!
//! The starter passes the value to `docker run --volume` unchanged (`buildExtraVolumes`, docker_proc.cpp), so a mode that
//! neither docker nor podman knows keeps each container from starting.

use bstr::{BStr, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;

use super::lint_subject::LintSubject;
use super::written_pieces::{find_written_piece, replace_if_certain};

/// Volume modes of docker and podman.
const MODES: [&str; 26] = [
    "ro",
    "rw",
    "z",
    "Z",
    "U",
    "O",
    "shared",
    "rshared",
    "slave",
    "rslave",
    "private",
    "rprivate",
    "unbindable",
    "runbindable",
    "bind",
    "rbind",
    "copy",
    "nocopy",
    "consistent",
    "cached",
    "delegated",
    "exec",
    "noexec",
    "dev",
    "nodev",
    "idmap",
];

const PREFIX: &[u8] = b"DOCKER_VOLUME_DIR_";

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        if caseless::starts_with(name, PREFIX) && !caseless::ends_with(name, b"_MOUNT_IF") {
            findings.extend(check_mode(subject, entry));
        }
    }
}

fn check_mode<'a>(subject: &LintSubject<'a>, entry: &'a MacroEntry) -> Option<Finding> {
    let value = subject.expand_entry(entry).ok()?;
    subject.view.take_messages();
    let is_windows = value.contains(&b'\\');
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b':').collect();
    let [_, target, modes] = parts[..] else { return None };
    if is_windows || !target.starts_with(b"/") {
        return None;
    }
    let mode = modes.split(|byte| *byte == b',').find(|mode| !is_mode(mode.trim()))?.trim();
    let shown = BStr::new(mode);
    let message = format!("{}: '{shown}' is not a volume mode of docker: no container starts", entry.name);
    let fix = match suggest_mode(mode) {
        Some(suggested) => Advice::Write(suggested.into()),
        None => "write ro or rw".into(),
    };
    let whole = (&entry.current, (0, entry.raw().len()));
    let (definition, place) = find_written_piece(subject, entry, mode).unwrap_or(whole);
    let finding = subject.make_finding(LintRule::BadValue, definition, Some(place), message, fix);
    Some(replace_if_certain(finding, mode))
}

/// True for a known mode, and for text that is not a single word, such as podman's `idmap=...`.
fn is_mode(mode: &[u8]) -> bool {
    let is_other =
        mode.is_empty() || !mode.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte));
    is_other || MODES.iter().any(|known| known.as_bytes() == mode) || matches!(mode, b"suid" | b"nosuid")
}

/// Returns the mode that a word probably stands for.
fn suggest_mode(mode: &[u8]) -> Option<&'static str> {
    let letters: Vec<u8> =
        mode.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect();
    match &letters[..] {
        b"readonly" | b"read" | b"r" | b"ro" | b"rdonly" => Some("ro"),
        b"readwrite" | b"write" | b"w" | b"rw" | b"wr" => Some("rw"),
        _ => None,
    }
}
