//! Explains one value: every place that sets it, each step of its expansion, and the readers of the parameter.

use bstr::{BStr, BString, ByteSlice};

use crate::config::{LintSubject, name_usage};
use htc_base::text::caseless;
use htc_base::text::similar_names;
use htc_base::world::World;
use htc_config::expand::{self, ExpansionStep};
use htc_config::macro_definition::{DefinitionPlace, FoundMacro};
use htc_config::{Config, ConfigView, SourceId, defaults, descriptions};

/// A definition of the parameter.
#[derive(Clone, Debug)]
pub struct DefinitionRecord {
    /// File and line of the definition, as the tool prints them.
    pub place: BString,
    /// The value as written.
    pub raw: BString,
    /// The files that include its file, each with the line of the include, innermost first.
    pub included_from: Vec<(BString, u32)>,
}

/// A definition inside a false `if`.
#[derive(Clone, Debug)]
pub struct DisabledDefinition {
    /// File and line of the definition.
    pub place: BString,
    /// The value as written.
    pub raw: BString,
    /// The false condition, and its line.
    pub condition: (BString, u32),
}

/// A name under which the parameter is looked up; prefixed names come before the plain one.
#[derive(Clone, Debug)]
pub struct ParameterLookup {
    /// The name with its prefix.
    pub name: BString,
    /// Kind of prefix: `local name` or `subsystem`; empty for the plain name.
    pub kind: &'static str,
    /// Result of the lookup.
    pub verdict: &'static str,
}

/// Origin of the effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The configuration sets it.
    Set,
    /// The value is detected.
    Detected(BString),
    /// The default of the table, with the subsystem if the default is specific to one.
    Default(Option<BString>),
    /// The name has no value.
    Nowhere,
}

/// Entry of the parameter table.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// The default, before expansion.
    pub default: BString,
    /// Name of the parameter's type.
    pub kind: &'static str,
    /// Minimum and maximum, if the parameter has a range.
    pub range: Option<(BString, BString)>,
}

/// A step of the expansion.
#[derive(Clone, Debug)]
pub struct ExpansionRecord {
    /// Nesting depth of the reference.
    pub depth: usize,
    /// Reference as written, such as `$(NAME)`.
    pub reference: BString,
    /// Text that replaces the reference.
    pub value: BString,
    /// File and line of the macro's definition; empty for functions.
    pub origin: String,
}

/// Value of a parameter after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ExpandedValue {
    /// Nothing sets the parameter.
    #[default]
    Unset,
    /// The expansion failed for this reason.
    Failed(String),
    /// The expanded value.
    Value(BString),
}

/// Everything known about one parameter's value.
#[derive(Clone, Debug)]
pub struct ValueExplanation {
    /// The name as requested.
    pub name: BString,
    /// The names that are tried, up to the effective one.
    pub looked_up: Vec<ParameterLookup>,
    /// Origin of the value.
    pub value_origin: ValueOrigin,
    /// All definitions; the last one is effective.
    pub definitions: Vec<DefinitionRecord>,
    /// Definitions of a name that is always detected.
    pub ineffective_definitions: Vec<DefinitionRecord>,
    /// Definitions inside a false `if`.
    pub disabled_definitions: Vec<DisabledDefinition>,
    /// Daemons and scripts that read the parameter.
    pub usage: name_usage::NameUsage,
    /// Purpose of the parameter.
    pub description: Option<&'static str>,
    /// Entry of the parameter in the parameter table.
    pub table_entry: Option<TableEntry>,
    /// The value before expansion.
    pub raw: Option<BString>,
    /// The steps of the expansion.
    pub steps: Vec<ExpansionRecord>,
    /// Messages of functions that failed.
    pub messages: Vec<BString>,
    /// The final value.
    pub value: ExpandedValue,
    /// Similar names, if the name has no value.
    pub hints: Vec<String>,
}

impl ValueExplanation {
    /// Collects the explanation of a parameter.
    pub fn explain(name: &BStr, subject: &LintSubject<'_>) -> ValueExplanation {
        let (config, view, world) = (subject.config, &subject.view, subject.world);
        let found = config.set.find(name, &config.context, world);
        let record = |place: &DefinitionPlace, raw: &[u8]| DefinitionRecord {
            place: config.set.describe_place(place),
            raw: raw.into(),
            included_from: including_files(config, place.source),
        };
        let (origin, definitions) = match &found {
            Some(FoundMacro::Set(entry)) => {
                let all = entry.replaced.iter().chain(std::iter::once(&entry.current));
                (ValueOrigin::Set, all.map(|definition| record(&definition.place, &definition.raw)).collect())
            }
            Some(FoundMacro::Detected { value, .. }) => (ValueOrigin::Detected((*value).into()), Vec::new()),
            Some(FoundMacro::Default(parameter)) => {
                (ValueOrigin::Default(parameter.subsystem().map(BString::from)), Vec::new())
            }
            None => (ValueOrigin::Nowhere, Vec::new()),
        };
        let usage = name_usage::classify_usage(subject, name);
        let displaced = config.set.displaced_entries().filter(|entry| caseless::eq(&entry.name, name));
        let skipped_definitions = config.skipped.iter().filter(|skipped| caseless::eq(&skipped.name, name));
        let mut explanation = ValueExplanation {
            name: name.to_owned(),
            looked_up: look_up_names(name, config, world, usage.is_used()),
            value_origin: origin,
            definitions,
            ineffective_definitions: displaced
                .map(|entry| record(&entry.current.place, &entry.current.raw))
                .collect(),
            disabled_definitions: skipped_definitions
                .map(|skipped| DisabledDefinition {
                    place: config.set.describe_place(&skipped.place),
                    raw: skipped.value.clone(),
                    condition: skipped.condition.clone(),
                })
                .collect(),
            usage,
            description: descriptions::find_description(name).map(|description| description.text),
            table_entry: find_table_entry(name),
            raw: None,
            steps: Vec::new(),
            messages: Vec::new(),
            value: ExpandedValue::Unset,
            hints: Vec::new(),
        };
        match &found {
            Some(found) => {
                explanation.expand_value(found, view, world, config);
                explanation.hints = settings_for_others(name, config)
                    .map(|(set, _)| format!("{set}, and is used there"))
                    .collect();
            }
            None => explanation.hints = suggest_names(name, config),
        }
        explanation
    }

    fn expand_value(
        &mut self,
        found: &FoundMacro<'_>,
        view: &ConfigView<'_>,
        world: &dyn World,
        config: &Config,
    ) {
        let raw = BString::from(found.raw().into_owned());
        let mut steps: Vec<ExpansionStep> = Vec::new();
        let mut messages = Vec::new();
        let name: &BStr = self.name.as_ref();
        let mut report = |message: expand::FunctionFailure| messages.push(message.text);
        let expander = expand::Expander::new(view, world, &mut report).for_value_of(name);
        let value = expander.recording_steps(&mut steps).expand_file_mode(&raw);
        self.steps = steps
            .into_iter()
            .map(|step| ExpansionRecord {
                depth: step.depth,
                origin: origin_of_reference(&step.reference, config, view, world),
                reference: step.reference,
                value: step.value,
            })
            .collect();
        self.messages = messages;
        self.value =
            value.map_or_else(|error| ExpandedValue::Failed(error.to_string()), ExpandedValue::Value);
        self.raw = Some(raw);
    }

    /// Returns true if the value is set and not empty.
    pub fn has_value(&self) -> bool {
        matches!(&self.value, ExpandedValue::Value(value) if !value.is_empty())
    }
}

fn find_table_entry(name: &BStr) -> Option<TableEntry> {
    let parameter = defaults::find(name)?;
    Some(TableEntry {
        default: parameter.default().into_owned().into(),
        kind: parameter.parameter_type().name(),
        range: parameter.range().map(|(min, max)| (min.into(), max.into())),
    })
}

/// Returns a verdict on a transform or route that has the old syntax (an ad in brackets).
fn old_syntax_verdict(name: &[u8]) -> Option<&'static str> {
    let is = |prefix: &str| caseless::starts_with(name, prefix.as_bytes());
    if is("JOB_TRANSFORM_") {
        return Some("is set, but it has the old syntax: the schedd ignores it");
    }
    is("JOB_ROUTER_ROUTE_").then_some("is set, but it has the old syntax: the job router refuses it")
}

/// Looks up the name with all its prefixes and reports the effective definition.
fn look_up_names(name: &BStr, config: &Config, world: &dyn World, is_used: bool) -> Vec<ParameterLookup> {
    let context = &config.context;
    let is_ad = |found: FoundMacro<'_>| found.raw().trim_ascii_start().starts_with(b"[");
    let is_set = || config.set.find(name, context, world).is_some_and(is_ad);
    let set_verdict = match old_syntax_verdict(name) {
        Some(ignored) if is_set() => ignored,
        _ if is_used => "is set: this value is used",
        _ => "is set, and nothing is known to read it",
    };
    let mut all = Vec::new();
    let prefixes = [("local name", &context.local_name), ("subsystem", &context.subsystem)];
    for (kind, prefix) in prefixes.into_iter().filter(|(_, prefix)| !prefix.is_empty()) {
        let set = config.set.find_with_prefix(prefix, name).is_some();
        let default = defaults::find_in_subsystem(prefix, name).is_some();
        let verdict = match (set, default) {
            (true, _) => set_verdict,
            (false, true) => "is not set, but has its own default, which is used",
            (false, false) => "is not set",
        };
        all.push(ParameterLookup { name: format!("{prefix}.{name}").into(), kind, verdict });
        if set || default {
            return all;
        }
    }
    if matches!(config.set.find(name, context, world), Some(FoundMacro::Set(_))) {
        all.push(ParameterLookup { name: name.to_owned(), kind: "", verdict: set_verdict });
    }
    all
}

/// Returns the files that include a source, innermost first.
fn including_files(config: &Config, source: SourceId) -> Vec<(BString, u32)> {
    let mut chain = Vec::new();
    let mut at = config.set.source(source).included_from;
    while let Some((includer, line)) = at {
        let source = config.set.source(includer);
        chain.push((source.name.clone(), line));
        at = source.included_from.filter(|_| chain.len() < 64);
    }
    chain
}

/// Returns the place of the definition that a plain reference refers to.
fn origin_of_reference(
    reference: &[u8],
    config: &Config,
    view: &ConfigView<'_>,
    world: &dyn World,
) -> String {
    let Some(body) = reference.strip_prefix(b"$(").and_then(|rest| rest.strip_suffix(b")")) else {
        return String::new();
    };
    let name = body.split(|&b| b == b':').next().unwrap_or_default();
    match config.set.find(name, &config.context, world) {
        Some(found) if !found.raw().is_empty() => view.origin(&found).to_string(),
        _ if body.contains(&b':') => format!("{} is not defined: its default", BStr::new(name)),
        _ => format!("{} is not defined", BStr::new(name)),
    }
}

/// Returns the definitions of the name for daemons and local names other than those for which the configuration was
/// read. Each has a description of its place, and its prefix.
fn settings_for_others<'a>(name: &'a BStr, config: &'a Config) -> impl Iterator<Item = (String, &'a BStr)> {
    let current = [&config.context.subsystem, &config.context.local_name];
    config.set.entries().filter_map(move |entry| {
        let (prefix, last) = entry.name.split_once_str(".")?;
        if !caseless::eq(last, name) || current.iter().any(|current| caseless::eq(current, prefix)) {
            return None;
        }
        let place = config.set.describe_place(&entry.current.place);
        Some((format!("{} is set at {place}", entry.name), BStr::new(prefix)))
    })
}

/// Returns hints about an unknown name.
pub fn suggest_names(name: &BStr, config: &Config) -> Vec<String> {
    if name.contains(&b'=') {
        let name = BStr::new(name.trim_ascii());
        return vec![format!("the arguments are names to look up; to set a parameter, use --param {name}")];
    }
    let mut hints = Vec::new();
    hints.extend(
        settings_for_others(name, config).map(|(set, prefix)| format!("{set}; use --subsystem {prefix}")),
    );
    let set = config.set.entries().map(|entry| entry.name.as_bytes());
    let known = set.chain(defaults::all().map(|parameter| parameter.name()));
    if let Some(near) = similar_names::nearest(name, known) {
        hints.push(format!("did you mean {}?", BStr::new(near)));
    }
    hints
}
