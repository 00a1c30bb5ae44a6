//! `--json` and `--jsonl`: parameters with everything that is known of them.

use bstr::{BStr, ByteSlice};
use serde::Serialize;

use crate::config::macro_set::{Entry, Place};
use crate::config::redact;
use crate::config::rows::{Kind, Row};
use crate::config::{Config, View, defaults};

/// One parameter.
#[derive(Debug, Serialize)]
pub(super) struct Parameter {
    name: String,
    /// Before expansion.
    raw: String,
    /// After it; missing where it cannot be expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    expanded: Option<String>,
    /// Why it cannot be expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Messages of functions that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<String>,
    /// The table's default, before expansion.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// The table's type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(flatten)]
    place: Where,
    /// Definitions that this one replaced, oldest first.
    overridden: Vec<Overridden>,
    /// Whether the value is masked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

/// Where a definition stands.
#[derive(Debug, Serialize)]
struct Where {
    source: String,
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
}

/// A definition that counts no more.
#[derive(Debug, Serialize)]
struct Overridden {
    raw: String,
    #[serde(flatten)]
    place: Where,
}

fn text(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

fn place(config: &Config, place: &Place) -> Where {
    Where {
        source: text(&config.set.source(place.source).name),
        line: place.line,
        template: config.set.template_place(place).map(|template| text(&template)),
    }
}

fn special(source: &str) -> Where {
    Where { source: source.to_owned(), line: None, template: None }
}

/// What is known of a row.
pub(super) fn parameter(row: &Row<'_>, config: &Config, view: &View<'_>, redacting: bool) -> Parameter {
    let name: &BStr = &row.name;
    let mask = |value: &[u8]| match redacting {
        true => text(&redact::masked(name, value)),
        false => text(value),
    };
    let known = match row.kind {
        Kind::Set(entry) => entry.parameter,
        Kind::Detected => defaults::find(name),
        Kind::Default(parameter) => Some(parameter),
    };
    let entry: Option<&Entry> = match row.kind {
        Kind::Set(entry) => Some(entry),
        _ => None,
    };
    let (expanded, error) = match view.expand_raw(name, &row.raw) {
        Ok(value) => (Some(mask(&value)), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let messages = view.take_messages().iter().map(|message| text(&message.text)).collect();
    let redacted = redacting
        && (redact::is_masked(&row.raw)
            || expanded.as_ref().is_some_and(|text| redact::is_masked(text.as_bytes())));
    let overridden = entry.map(|entry| &entry.replaced[..]).unwrap_or_default();
    Parameter {
        name: text(name),
        raw: mask(&row.raw),
        expanded,
        error,
        messages,
        default: known.map(|known| known.default()).filter(|default| !default.is_empty()).map(|d| text(&d)),
        kind: known.map(|known| known.kind().name()),
        place: match row.kind {
            Kind::Set(entry) => place(config, &entry.current.place),
            Kind::Detected => special("<Detected>"),
            Kind::Default(_) => special("<Default>"),
        },
        overridden: overridden
            .iter()
            .map(|old| Overridden { raw: mask(&old.raw), place: place(config, &old.place) })
            .collect(),
        redacted,
    }
}
