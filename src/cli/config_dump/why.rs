//! `--why NAME`: the story of one value, from every place that set it to every step of its expansion.

use std::fmt::Write;

use bstr::{BStr, BString, ByteSlice};

use super::redact;
use crate::config::expand::{self, Step};
use crate::config::macro_set::Found;
use crate::config::{Config, View, defaults, descriptions};
use crate::text::caseless;
use crate::text::similar;
use crate::world::World;

/// Tells the story; `false` if the name has no value.
pub(super) fn tell(
    name: &BStr,
    config: &Config,
    view: &View<'_>,
    world: &dyn World,
    redacting: bool,
    out: &mut String,
) -> bool {
    let shown = |value: &[u8]| -> String {
        let value = if redacting { redact::masked(name, value) } else { value.into() };
        value.to_str_lossy().replace('\n', "\n      | ")
    };
    let found = config.set.find(name, &config.who, world);
    let _ = writeln!(out, "{name}");
    looked_up(name, config, world, out);
    match &found {
        Some(Found::Set(entry)) => {
            let all = entry.replaced.iter().chain(std::iter::once(&entry.current));
            let count = entry.replaced.len() + 1;
            let _ = writeln!(out, "  set {count} time{}:", if count == 1 { "" } else { "s" });
            for (n, definition) in all.enumerate() {
                let place = config.set.describe(&definition.place);
                let counts = if n + 1 == count { "   <- this one counts" } else { "" };
                let _ = writeln!(out, "    {place}{counts}");
                let _ = writeln!(out, "      = {}", shown(&definition.raw));
                for (file, line) in included_from(config, definition.place.source) {
                    let _ = writeln!(out, "      included from {file}, line {line}");
                }
            }
            if entry.current.raw.is_empty() {
                let _ = writeln!(
                    out,
                    "  it is set to nothing: readers see it as undefined, and its default is hidden"
                );
            }
        }
        Some(Found::Detected { value, .. }) => {
            let _ = writeln!(out, "  detected: {}", shown(value));
        }
        Some(Found::Default(parameter)) => {
            let _ = writeln!(out, "  set by no source; the default counts");
            if let Some(subsystem) = parameter.subsystem() {
                let _ = writeln!(
                    out,
                    "  the default is that of subsystem {}, which goes before plain settings",
                    BStr::new(subsystem)
                );
            }
        }
        None => {
            let known = descriptions::find(name).is_some();
            let more = if known { "it has no default" } else { "HTCondor has no such parameter" };
            let _ = writeln!(out, "  set by no source, and {more}");
        }
    }
    for entry in config.set.displaced().filter(|entry| caseless::eq(&entry.name, name)) {
        let place = config.set.describe(&entry.current.place);
        let _ = writeln!(out, "  {place} sets it in vain: it is always detected");
        let _ = writeln!(out, "      = {}", shown(&entry.current.raw));
    }
    for skipped in config.skipped.iter().filter(|skipped| caseless::eq(&skipped.name, name)) {
        let place = config.set.describe(&skipped.place);
        let (condition, line) = &skipped.condition;
        let _ = writeln!(out, "  {place} is left out: '{condition}' of line {line} does not hold");
        let _ = writeln!(out, "      = {}", shown(&skipped.value));
    }
    if let Some(description) = descriptions::find(name) {
        let _ = writeln!(out, "  meaning: {}", description.text);
    }
    if let Some(parameter) = defaults::find(name) {
        let default = parameter.default();
        let default = if default.is_empty() { "none".to_owned() } else { shown(&default) };
        let range = parameter.range().map(|(min, max)| format!(", {} to {}", BStr::new(min), BStr::new(max)));
        let _ = writeln!(
            out,
            "  default: {default}   (type {}{})",
            parameter.kind().name().to_lowercase(),
            range.unwrap_or_default()
        );
    }
    let Some(found) = found else {
        hints(name, config, out);
        return false;
    };
    let raw = BString::from(found.raw().into_owned());
    let mut steps: Vec<Step> = Vec::new();
    let mut messages = Vec::new();
    let value = expand::expand_steps(name, &raw, view, world, &mut |m| messages.push(m), &mut steps);
    if !steps.is_empty() {
        let _ = writeln!(out, "  expansion of {}", shown(&raw));
        for step in &steps {
            let indent = "  ".repeat(step.depth.min(20));
            let origin = reference_origin(&step.reference, config, view, world);
            let _ = writeln!(out, "  {indent}{} -> {}{origin}", step.reference, shown(&step.value));
        }
    }
    for message in messages {
        let _ = writeln!(out, "  function failed: {}", message.text);
    }
    match value {
        Ok(value) if value.is_empty() => {
            let _ = writeln!(out, "  value: none; what it expands to is empty, which reads as undefined");
            false
        }
        Ok(value) => {
            let _ = writeln!(out, "  value: {}", shown(&value));
            true
        }
        Err(error) => {
            let _ = writeln!(out, "  value: none; {error}");
            false
        }
    }
}

/// The names that are tried and which one there is.
fn looked_up(name: &BStr, config: &Config, world: &dyn World, out: &mut String) {
    let who = &config.who;
    let prefixes = [("local name", &who.local_name), ("subsystem", &who.subsystem)];
    for (kind, prefix) in prefixes.into_iter().filter(|(_, prefix)| !prefix.is_empty()) {
        let set = config.set.prefixed(prefix, name).is_some();
        let default = defaults::find_in_subsystem(prefix, name).is_some();
        let verdict = match (set, default) {
            (true, _) => "is set: it counts",
            (false, true) => "is not set, but has a default of its own: that counts",
            (false, false) => "is not set",
        };
        let _ = writeln!(out, "  {prefix}.{name} ({kind}) {verdict}");
        if set || default {
            return;
        }
    }
    if matches!(config.set.find(name, who, world), Some(Found::Set(_))) {
        let _ = writeln!(out, "  {name} is set: it counts");
    }
}

/// Which files included a source, innermost first.
fn included_from(config: &Config, source: crate::config::SourceId) -> Vec<(BString, u32)> {
    let mut chain = Vec::new();
    let mut at = config.set.source(source).included_from;
    while let Some((includer, line)) = at {
        let source = config.set.source(includer);
        chain.push((source.name.clone(), line));
        at = source.included_from.filter(|_| chain.len() < 64);
    }
    chain
}

/// Where the value of a plain reference stands.
fn reference_origin(reference: &[u8], config: &Config, view: &View<'_>, world: &dyn World) -> String {
    let Some(body) = reference.strip_prefix(b"$(").and_then(|rest| rest.strip_suffix(b")")) else {
        return String::new();
    };
    let name = body.split(|&b| b == b':').next().unwrap_or_default();
    match config.set.find(name, &config.who, world) {
        Some(found) if !found.raw().is_empty() => format!("   ({})", view.origin(&found)),
        _ if body.contains(&b':') => format!("   ({} is not defined: its default)", BStr::new(name)),
        _ => format!("   ({} is not defined)", BStr::new(name)),
    }
}

/// What may have been meant by a name that nobody knows.
pub(super) fn hints(name: &BStr, config: &Config, out: &mut String) {
    if name.contains(&b'=') {
        let _ =
            writeln!(out, "  names are looked up here; to set one, use --set-knob {}", name.trim().as_bstr());
        return;
    }
    for entry in config.set.entries() {
        let Some(dot) = memchr::memchr(b'.', &entry.name) else {
            continue;
        };
        if caseless::eq(&entry.name[dot + 1..], name) {
            let prefix = BStr::new(&entry.name[..dot]);
            let place = config.set.describe(&entry.current.place);
            let _ = writeln!(out, "  {} is set at {place}; use --subsystem {prefix}", entry.name);
        }
    }
    let set = config.set.entries().map(|entry| &entry.name[..]);
    let known = set.chain(defaults::all().map(|parameter| parameter.name()));
    if let Some(near) = similar::nearest(name, known) {
        let _ = writeln!(out, "  did you mean {}?", BStr::new(near));
    }
}
