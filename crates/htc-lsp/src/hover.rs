//! Hover: value, default, type, purpose and origin of the element at a position.

use std::fmt::Write as _;

use bstr::{BStr, ByteSlice};
use htc_base::world::World as _;
use htc_config::macro_definition::{Definition, FoundMacro};
use htc_config::registry::{self, ExpressionScope, RegisteredParameter};
use htc_config::{redact, template};
use htc_lint::config::attribute_type_word;
use htc_lint::value_explanation::{ExpandedValue, ValueExplanation, ValueOrigin};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

use crate::configuration::LoadedConfiguration;
use crate::definition::{included_paths, known_template};
use crate::elements::{Element, ElementKind};
use crate::query::{DocumentQuery, escape_markdown, format_code};
use crate::vocabulary::{self, attribute_description, find_function};

/// Returns the text about the element at a position, or `None` if nothing is known about it.
pub fn hover(query: &DocumentQuery<'_>, position: Position) -> Option<Hover> {
    let element = query.element(position)?;
    let offset = query.offset(position);
    let text = match &element.kind {
        ElementKind::Parameter(name) | ElementKind::Macro(name) => macro_text(query, name.as_ref(), offset),
        ElementKind::ListedName { parameter, .. } => macro_text(query, parameter.as_ref(), offset),
        ElementKind::MacroFunction(name) => vocabulary::macro_function_text(name)?.to_owned(),
        ElementKind::Variable(name) => variable_text(query, name.as_ref()),
        ElementKind::Keyword(word) => vocabulary::keyword_text(word)?.to_owned(),
        ElementKind::CommandKeyword(word) => vocabulary::command_text(word)?.to_owned(),
        ElementKind::Category(category) => category_text(category),
        ElementKind::Template { category, name } => template_text(category, name)?,
        ElementKind::IncludeTarget(target) => include_target_text(query, &element, target),
        ElementKind::Attribute(name) => attribute_text(query, name.as_ref())?,
        ElementKind::Scope(name) => vocabulary::scope_text(name)?.to_owned(),
        ElementKind::Function(name) => function_text(name)?,
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text }),
        range: Some(query.range(element.span)),
    })
}

fn macro_text(query: &DocumentQuery<'_>, name: &BStr, offset: usize) -> String {
    let mut text = format!("**{}**", escape_markdown(&name.to_str_lossy()));
    let registered = registry::find(name);
    if let Some(parameter) = registered {
        let _ = write!(text, ": {}", parameter_text(&parameter));
    }
    let local = query.local_assignments(name, offset);
    if let Some(statement) =
        local.iter().rev().find(|one| (one.span.end as usize) <= offset).or(local.first())
    {
        let line = query.range(statement.span).start.line + 1;
        let _ = write!(text, "\n\nSet in line {line}: {}", format_code(statement.line.text.as_ref()));
        return text;
    }
    let Some(configuration) = query.configuration else {
        if let Some(built_in) = vocabulary::built_in_macro_text(name) {
            let _ = write!(text, "\n\n{built_in}");
        }
        return text;
    };
    let explanation = ValueExplanation::explain(name, &configuration.subject(query.world));
    if let Some(description) = explanation.description {
        let _ = write!(text, "\n\n{}", escape_markdown(description));
    }
    push_value(query, &explanation, &mut text);
    push_origin(query, configuration, &explanation, &mut text);
    push_default(query, registered, &explanation, &mut text);
    for hint in &explanation.hints {
        let _ = write!(text, "\n\n{}", escape_markdown(hint));
    }
    text
}

/// Returns type, range or scope, and readers of a parameter.
fn parameter_text(parameter: &RegisteredParameter) -> String {
    let mut text = parameter.value_type.name().to_owned();
    match parameter.range() {
        (Some(min), Some(max)) => text += &format!(" from {min} to {max}"),
        (Some(min), None) => text += &format!(", at least {min}"),
        (None, Some(max)) => text += &format!(", at most {max}"),
        (None, None) => {}
    }
    let words: Vec<&str> = parameter.words().collect();
    if !words.is_empty() {
        text += &format!(" ({})", words.join(", "));
    }
    if let Some(scope) = parameter.scope().and_then(scope_text) {
        text += &format!("; {scope}");
    }
    let readers = parameter.daemons;
    if !readers.is_empty() {
        let readers = if readers == "all" { "all daemons".to_owned() } else { readers.replace(',', ", ") };
        text += &format!("; read by {readers}");
    }
    escape_markdown(&text)
}

fn scope_text(scope: ExpressionScope) -> Option<&'static str> {
    Some(match scope {
        ExpressionScope::Slot => "MY is the slot, TARGET the job",
        ExpressionScope::Match => "MY is the slot, TARGET the job, in the negotiator",
        ExpressionScope::JobAndSlot => "MY is the job, TARGET the slot",
        ExpressionScope::Job => "MY is the job",
        ExpressionScope::Schedd => "MY is the access point's ad, TARGET the job",
        ExpressionScope::MatchInSchedd => "MY is the job, TARGET the slot, in the schedd",
        ExpressionScope::Submit => "MY is the access point's ad, TARGET the submitted job",
        ExpressionScope::Machine => "MY is the slot",
        ExpressionScope::Daemon => "MY is the daemon's ad",
        ExpressionScope::Submitter => "MY is the submitter's ad",
        ExpressionScope::Group => "MY is the accounting group",
        ExpressionScope::Other => return None,
    })
}

fn format_value(query: &DocumentQuery<'_>, name: &BStr, value: &[u8]) -> String {
    match query.workspace.settings().redact {
        true => format_code(redact::mask_value(name, value).as_bstr()),
        false => format_code(value.as_bstr()),
    }
}

fn push_value(query: &DocumentQuery<'_>, explanation: &ValueExplanation, text: &mut String) {
    let name = explanation.name.as_ref();
    let _ = match &explanation.value {
        ExpandedValue::Value(value) if value.is_empty() => {
            write!(text, "\n\nValue: empty, which HTCondor treats as undefined")
        }
        ExpandedValue::Value(value) => write!(text, "\n\nValue: {}", format_value(query, name, value)),
        ExpandedValue::Failed(error) => write!(text, "\n\nNo value: {}", escape_markdown(error)),
        ExpandedValue::Unset => write!(text, "\n\nNot set"),
    };
    if let Some(raw) = &explanation.raw
        && matches!(&explanation.value, ExpandedValue::Value(value) if value != raw)
    {
        let _ = write!(text, "\n\nBefore expansion: {}", format_value(query, name, raw));
    }
    for message in &explanation.messages {
        let _ = write!(text, "\n\nA function failed: {}", escape_markdown(&message.to_str_lossy()));
    }
}

fn push_origin(
    query: &DocumentQuery<'_>,
    configuration: &LoadedConfiguration,
    explanation: &ValueExplanation,
    text: &mut String,
) {
    let config = configuration.config();
    match &explanation.value_origin {
        ValueOrigin::Set => {
            let Some(FoundMacro::Set(entry)) =
                config.set.find(&explanation.name, &config.context, query.world)
            else {
                return;
            };
            let _ = write!(text, "\n\nSet at {}", query.link(configuration, &entry.current));
            let earlier: Vec<String> =
                entry.replaced.iter().rev().map(|old: &Definition| query.link(configuration, old)).collect();
            if !earlier.is_empty() {
                let _ = write!(text, "\n\nEarlier definitions: {}", earlier.join("; "));
            }
        }
        ValueOrigin::Detected(_) => text.push_str("\n\nDetected on this machine"),
        ValueOrigin::Default(Some(subsystem)) => {
            let _ = write!(text, "\n\nDefault of {}", escape_markdown(&subsystem.to_str_lossy()));
        }
        ValueOrigin::Default(None) => text.push_str("\n\nNo source sets it; this is the default"),
        ValueOrigin::Nowhere => {}
    }
    for skipped in &explanation.disabled_definitions {
        let place = escape_markdown(&skipped.place.to_str_lossy());
        let (condition, line) = &skipped.condition;
        let _ = write!(text, "\n\nNot used: {place} (line {line}: {})", format_code(condition.as_ref()));
    }
}

fn push_default(
    query: &DocumentQuery<'_>,
    registered: Option<RegisteredParameter>,
    explanation: &ValueExplanation,
    text: &mut String,
) {
    let is_default = matches!(explanation.value_origin, ValueOrigin::Default(_));
    match &explanation.table_entry {
        Some(entry) if !entry.default.is_empty() && !is_default => {
            let _ = write!(
                text,
                "\n\nDefault: {}",
                format_value(query, explanation.name.as_ref(), &entry.default)
            );
        }
        Some(_) => {}
        None if registered.is_none() => text.push_str("\n\nHTCondor has no parameter with this name"),
        None => {}
    }
}

fn variable_text(query: &DocumentQuery<'_>, name: &BStr) -> String {
    let shown = escape_markdown(&name.to_str_lossy());
    let value = query.world.env(&name.to_os_str_lossy());
    match value.filter(|_| !query.workspace.settings().redact) {
        Some(value) => {
            let value = value.into_encoded_bytes();
            format!(
                "**{shown}**: environment variable\n\nIn this environment: {}",
                format_code(value.as_bstr())
            )
        }
        None => format!("**{shown}**: environment variable of the process that reads the configuration"),
    }
}

fn category_text(category: &[u8]) -> String {
    match template::find_category(category.trim()) {
        Some(known) => {
            let names =
                template::all().filter(|one| one.category() == known).map(|one| one.name().to_str_lossy());
            format!("Templates of **{}**: {}", known.as_bstr(), names.collect::<Vec<_>>().join(", "))
        }
        None => "The categories of templates are EXPERIMENTAL, FEATURE, POLICY, ROLE and SECURITY".to_owned(),
    }
}

fn template_text(category: &[u8], name: &[u8]) -> Option<String> {
    let found = known_template(category, name)?;
    let body = [&found.body()[..], b"\n"].concat();
    let title = [found.category(), b":", found.name()].concat();
    Some(format!("**{}** stands for{}", escape_markdown(&title.to_str_lossy()), format_code(body.as_bstr())))
}

fn include_target_text(query: &DocumentQuery<'_>, element: &Element, target: &[u8]) -> String {
    let paths = included_paths(query, element, target);
    if !paths.is_empty() {
        let shown = paths.iter().map(|path| format_code(path.to_string_lossy().as_bytes().as_bstr()));
        return format!("Includes {}", shown.collect::<Vec<_>>().join(", "));
    }
    let unread = query.configuration.and_then(|configuration| {
        let config = configuration.config();
        let expanded = config.view(query.world).expand(target).ok()?;
        config.unread_sources.iter().find(|source| source.name == expanded)
    });
    match unread {
        Some(source) => {
            format!("{} was not read: {}", format_code(source.name.as_ref()), escape_markdown(&source.reason))
        }
        None => format!("{} is not read by this configuration", format_code(target.as_bstr())),
    }
}

fn attribute_text(query: &DocumentQuery<'_>, name: &BStr) -> Option<String> {
    let kind = attribute_type_word(name);
    let description = attribute_description(name);
    let set = query
        .configuration
        .and_then(|configuration| Some((configuration, configuration.config().set.find_exact(name)?)))
        .filter(|(_, entry)| entry.current.is_user_written());
    if kind.is_none() && description.is_none() && set.is_none() {
        return None;
    }
    let mut text = format!("**{}**: attribute", escape_markdown(&name.to_str_lossy()));
    if let Some(kind) = kind {
        let _ = write!(text, " ({kind})");
    }
    if let Some(description) = description {
        let _ = write!(text, "\n\n{}", escape_markdown(description));
    }
    if let Some((configuration, entry)) = set {
        let value = format_value(query, name, entry.raw());
        let link = query.link(configuration, &entry.current);
        let _ = write!(text, "\n\nThe configuration sets a parameter of this name: {value} at {link}");
    }
    Some(text)
}

fn function_text(name: &[u8]) -> Option<String> {
    let function = find_function(name)?;
    Some(format!("`{}`\n\n{}", function.signature, escape_markdown(function.description)))
}
