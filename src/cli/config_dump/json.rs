//! `--json` and `--jsonl`: prints parameters with all their properties.

use bstr::{BStr, ByteSlice};
use serde::Serialize;

use crate::config::macro_definition::{DefinitionPlace, MacroEntry};
use crate::config::parameter_rows::{ParameterRow, RowKind};
use crate::config::redact;
use crate::config::{Config, ConfigView, defaults};

/// Parameter in JSON output.
#[derive(Debug, Serialize)]
pub(super) struct ParameterRecord {
    name: String,
    /// Value before expansion of its macros.
    raw: String,
    /// Expanded value, or `None` if the value cannot be expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    expanded: Option<String>,
    /// Reason why the value cannot be expanded, or `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Messages of macro functions that failed during the expansion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<String>,
    /// Default in the table of parameters, before expansion.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// Type in the table of parameters.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(flatten)]
    place: DefinitionPlaceRecord,
    /// Earlier definitions that the current one has replaced, oldest first.
    overridden: Vec<OverriddenDefinition>,
    /// True if the value is masked, because it is a secret.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

impl ParameterRecord {
    /// Returns the cells of a row: name, raw value, expanded value, file and line.
    pub(super) fn into_cells(self) -> [String; 5] {
        let line = self.place.line.map(|line| line.to_string()).unwrap_or_default();
        [self.name, self.raw, self.expanded.unwrap_or_default(), self.place.source, line]
    }
}

/// Location of a definition in JSON output.
#[derive(Debug, Serialize)]
struct DefinitionPlaceRecord {
    source: String,
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
}

/// Definition that a later one has replaced.
#[derive(Debug, Serialize)]
struct OverriddenDefinition {
    raw: String,
    #[serde(flatten)]
    place: DefinitionPlaceRecord,
}

fn lossy_text(bytes: &[u8]) -> String {
    bytes.to_str_lossy().into_owned()
}

fn definition_place(config: &Config, place: &DefinitionPlace) -> DefinitionPlaceRecord {
    DefinitionPlaceRecord {
        source: lossy_text(&config.set.source(place.source).name),
        line: place.line,
        template: config.set.template_place(place).map(|template| lossy_text(&template)),
    }
}

fn special_place(source: &str) -> DefinitionPlaceRecord {
    DefinitionPlaceRecord { source: source.to_owned(), line: None, template: None }
}

/// Returns the JSON record for a row.
pub(super) fn parameter_record(
    row: &ParameterRow<'_>,
    config: &Config,
    view: &ConfigView<'_>,
    redacting: bool,
) -> ParameterRecord {
    let name: &BStr = &row.name;
    let mask = |value: &[u8]| match redacting {
        true => lossy_text(&redact::mask_value(name, value)),
        false => lossy_text(value),
    };
    let known = match row.kind {
        RowKind::Set(entry) => entry.parameter,
        RowKind::Detected => defaults::find(name),
        RowKind::Default(parameter) => Some(parameter),
    };
    let entry: Option<&MacroEntry> = match row.kind {
        RowKind::Set(entry) => Some(entry),
        _ => None,
    };
    let (expanded, error) = match view.expand_raw(name, &row.raw) {
        Ok(value) => (Some(mask(&value)), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let messages = view.take_messages().iter().map(|message| lossy_text(&message.text)).collect();
    let redacted = redacting
        && (redact::is_masked(&row.raw)
            || expanded.as_ref().is_some_and(|text| redact::is_masked(text.as_bytes())));
    let overridden = entry.map(|entry| &entry.replaced[..]).unwrap_or_default();
    ParameterRecord {
        name: lossy_text(name),
        raw: mask(&row.raw),
        expanded,
        error,
        messages,
        default: known
            .map(|known| known.default())
            .filter(|default| !default.is_empty())
            .map(|d| lossy_text(&d)),
        kind: known.map(|known| known.parameter_type().name()),
        place: match row.kind {
            RowKind::Set(entry) => definition_place(config, &entry.current.place),
            RowKind::Detected => special_place("<Detected>"),
            RowKind::Default(_) => special_place("<Default>"),
        },
        overridden: overridden
            .iter()
            .map(|old| OverriddenDefinition {
                raw: mask(&old.raw),
                place: definition_place(config, &old.place),
            })
            .collect(),
        redacted,
    }
}
