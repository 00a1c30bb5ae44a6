//! Column functions about slots and machines.

use std::collections::BTreeSet;

use bstr::{BStr, BString, ByteSlice};

use crate::classad::{Context, Expr, Value};

/// Width of a column, which determines how a version is shortened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnWidth {
    pub(crate) width: usize,
    pub(crate) grows: bool,
}

const STATES: [&str; 10] = [
    "Owner",
    "Unclaimed",
    "Matched",
    "Claimed",
    "Preempting",
    "Shutdown",
    "Delete",
    "Backfill",
    "Drained",
    "",
];
const ACTIVITIES: [&str; 8] =
    ["Idle", "Busy", "Retiring", "Vacating", "Suspended", "Benchmarking", "Killing", ""];

/// Returns the letters of state and activity (`digest_state_and_activity`). `text` is the state or the activity; the other is
/// read from the ad.
pub(super) fn activity_code(text: &[u8], context: &Context<'_>) -> Option<String> {
    let find = |words: &[&str], letters: &[u8], word: &[u8]| {
        let at = words.iter().position(|known| !known.is_empty() && known.as_bytes() == word)?;
        letters.get(at).copied().map(char::from)
    };
    let state = |word: &[u8]| find(&STATES, b"OUMCPSXFD", word);
    let activity = |word: &[u8]| find(&ACTIVITIES, b"ibrvsek", word);
    let other = |name: &str| context.string(name).unwrap_or_default();
    let (state, activity) = match activity(text) {
        Some(activity) => (state(&other("State")), Some(activity)),
        None => (Some(state(text)?), activity(&other("Activity"))),
    };
    Some([state.unwrap_or(' '), activity.unwrap_or(' ')].iter().collect())
}

pub(super) fn activity_or_ocu(text: &[u8], context: &Context<'_>) -> BString {
    let activity = context.string("Activity").unwrap_or_default();
    match () {
        () if activity.is_empty() => "??".into(),
        () if activity == "Idle" && context.boolean("OCU") == Some(true) => "OCU".into(),
        () => text.into(),
    }
}

pub(super) fn machine_platform(context: &Context<'_>) -> Option<BString> {
    let is_windows = context.string("OpSys").is_some_and(|system| system == "WINDOWS");
    let system = context.string(if is_windows { "OpSysShortName" } else { "OpSysAndVer" })?;
    let arch = match context.string("Arch").unwrap_or_default().as_slice() {
        b"X86_64" => BString::from("x64"),
        b"X86" => "x86".into(),
        other => other.into(),
    };
    Some([arch.as_slice(), b"/", &system].concat().into())
}

/// Returns the platform in `$CondorPlatform: X86_64-AlmaLinux_9 $` (`render_condor_platform`).
pub(super) fn platform_of_build(text: &BStr) -> BString {
    let rest = text.find_byte(b' ').map_or(text.as_bytes(), |blank| text[blank..].trim_start());
    let mut name: BString = rest[..rest.find_byteset(b" .$").unwrap_or(rest.len())].into();
    if name.starts_with(b"X") {
        name[0] = b'x';
    }
    name = name.replace("-", "_").into();
    if let Some(at) = name.find("WINDOWS_") {
        name.truncate(at + 7);
    }
    name
}

/// Returns version and build in `$CondorVersion: 25.14.0 2026-01-01 BuildID: 1 $` (`format_version`).
pub(super) fn version_of(text: &BStr, width: ColumnWidth) -> BString {
    let mut words = text.split_str(" ").filter(|word| !word.is_empty()).skip(1).peekable();
    let mut version = BString::from(words.next().unwrap_or_default());
    version.truncate(21);
    let is_iso = |word: &&[u8]| word.get(4) == Some(&b'-') && word.get(7) == Some(&b'-');
    let date_words = if words.peek().is_some_and(is_iso) { 1 } else { 3 };
    let mut words = words.skip(date_words).peekable();
    words.next_if(|word| word.starts_with(b"B"));
    let build = words.next().filter(|word| !word.starts_with(b"$"));
    if let Some(build) = build.filter(|_| width.grows || width.width >= 10) {
        version.push(b'.');
        version.extend(build.split(|byte| *byte == b'-').next().unwrap_or_default());
        version.truncate(22);
    }
    version
}

pub(super) fn join_strings(items: &[Expr]) -> BString {
    let texts = items.iter().filter_map(|item| item.as_literal()?.as_str().map(BString::from));
    BString::from(bstr::join(", ", texts))
}

pub(super) fn join_unique(value: &Value) -> Option<Value> {
    let members: BTreeSet<BString> = match value {
        Value::List(list) => list
            .items()
            .iter()
            .map(|item| {
                let literal = item.as_literal();
                let text = literal.as_ref().and_then(Value::as_str).map(BString::from);
                text.unwrap_or_else(|| item.unparse_old())
            })
            .collect(),
        Value::Str(text) => crate::text::list::split(text).map(BString::from).collect(),
        _ => return None,
    };
    Some(Value::Str(bstr::join(", ", members).into()))
}

pub(super) fn health_problems(value: Option<&Value>, context: &Context<'_>) -> Option<Value> {
    let Some(items) = value.and_then(Value::as_list) else {
        let reason = context.string("SlotBrokenReason").map(Value::Str);
        return reason.or_else(|| join_unique(&context.eval_attr("BrokenReasons")));
    };
    let mut text = BString::default();
    for item in items {
        let (separator, word): (&str, BString) = match context.eval(item) {
            Value::Error => (",", "error".into()),
            found if found.truth() == Some(false) => (", ", item.unparse_old()),
            _ => continue,
        };
        if !text.is_empty() {
            text.extend_from_slice(separator.as_bytes());
        }
        text.extend_from_slice(&word);
    }
    Some(Value::Str(text))
}
