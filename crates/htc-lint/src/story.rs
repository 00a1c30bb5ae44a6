//! The story of one value, from every place that set it to every step of its expansion and to who reads it.

use bstr::{BStr, BString, ByteSlice};

use crate::config::{Subject, usage};
use htc_base::text::caseless;
use htc_base::text::similar;
use htc_base::world::World;
use htc_config::expand::{self, Step};
use htc_config::macro_set::{Found, Place};
use htc_config::{Config, SourceId, View, defaults, descriptions};

/// One definition.
#[derive(Clone, Debug)]
pub struct Defined {
    /// Where it stands, as the tool says it.
    pub place: BString,
    /// The value as written.
    pub raw: BString,
    /// The files that included its file, and the lines they did it on, innermost first.
    pub included_from: Vec<(BString, u32)>,
}

/// A definition that a condition left out.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Where it stands.
    pub place: BString,
    /// The value as written.
    pub raw: BString,
    /// The condition that does not hold, and its line.
    pub condition: (BString, u32),
}

/// One name that is tried before the plain one.
#[derive(Clone, Debug)]
pub struct LookUp {
    /// The name with its prefix.
    pub name: BString,
    /// What the prefix is: `local name`, `subsystem`; nothing for the plain name.
    pub kind: &'static str,
    /// What was found.
    pub verdict: &'static str,
}

/// Where the value that counts comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comes {
    /// A source set it.
    Set,
    /// It is detected.
    Detected(BString),
    /// The table's default; the subsystem whose own it is.
    Default(Option<BString>),
    /// Nowhere.
    Nowhere,
}

/// The table's entry.
#[derive(Clone, Debug)]
pub struct Entered {
    /// The default, before expansion.
    pub default: BString,
    /// The type.
    pub kind: &'static str,
    /// The least and greatest value, where there are such.
    pub range: Option<(BString, BString)>,
}

/// One step of the expansion.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// How deep in references of references.
    pub depth: usize,
    /// The reference.
    pub reference: BString,
    /// What it becomes.
    pub value: BString,
    /// Where that stands; empty for functions.
    pub origin: String,
}

/// Everything there is to tell.
#[derive(Clone, Debug)]
pub struct Story {
    /// The name as asked.
    pub name: BString,
    /// The names that are tried, up to the one that counts.
    pub looked_up: Vec<LookUp>,
    /// Where the value comes from.
    pub comes: Comes,
    /// Every definition, the last one counts.
    pub definitions: Vec<Defined>,
    /// Definitions of a name that is always detected.
    pub in_vain: Vec<Defined>,
    /// Definitions that conditions left out.
    pub left_out: Vec<LeftOut>,
    /// Who reads it.
    pub usage: usage::Use,
    /// What the parameter is for.
    pub meaning: Option<&'static str>,
    /// What the table says.
    pub entered: Option<Entered>,
    /// The value before expansion.
    pub raw: Option<BString>,
    /// The steps of the expansion.
    pub steps: Vec<Stepped>,
    /// Messages of functions that failed.
    pub messages: Vec<BString>,
    /// The value in the end, or why there is none; `None` where nothing sets it.
    pub value: Option<Result<BString, String>>,
    /// What may have been meant by a name without a value.
    pub hints: Vec<String>,
}

impl Story {
    /// Collects it.
    pub fn of(name: &BStr, subject: &Subject<'_>) -> Story {
        let (config, view, world) = (subject.config, &subject.view, subject.world);
        let found = config.set.find(name, &config.who, world);
        let told = |place: &Place, raw: &BString| Defined {
            place: config.set.describe(place),
            raw: raw.clone(),
            included_from: included_from(config, place.source),
        };
        let (comes, definitions) = match &found {
            Some(Found::Set(entry)) => {
                let all = entry.replaced.iter().chain(std::iter::once(&entry.current));
                (Comes::Set, all.map(|definition| told(&definition.place, &definition.raw)).collect())
            }
            Some(Found::Detected { value, .. }) => (Comes::Detected((*value).into()), Vec::new()),
            Some(Found::Default(parameter)) => {
                (Comes::Default(parameter.subsystem().map(BString::from)), Vec::new())
            }
            None => (Comes::Nowhere, Vec::new()),
        };
        let usage = usage::of(subject, name);
        let in_vain = config.set.displaced().filter(|entry| caseless::eq(&entry.name, name));
        let left_out = config.skipped.iter().filter(|skipped| caseless::eq(&skipped.name, name));
        let mut story = Story {
            name: name.to_owned(),
            looked_up: looked_up(name, config, world, usage.is_used()),
            comes,
            definitions,
            in_vain: in_vain.map(|entry| told(&entry.current.place, &entry.current.raw)).collect(),
            left_out: left_out
                .map(|skipped| LeftOut {
                    place: config.set.describe(&skipped.place),
                    raw: skipped.value.clone(),
                    condition: skipped.condition.clone(),
                })
                .collect(),
            usage,
            meaning: descriptions::find(name).map(|description| description.text),
            entered: entered(name),
            raw: None,
            steps: Vec::new(),
            messages: Vec::new(),
            value: None,
            hints: Vec::new(),
        };
        match &found {
            Some(found) => {
                story.expand(found, view, world, config);
                story.hints =
                    of_others(name, config).map(|(set, _)| format!("{set}, which counts there")).collect();
            }
            None => story.hints = hints(name, config),
        }
        story
    }

    fn expand(&mut self, found: &Found<'_>, view: &View<'_>, world: &dyn World, config: &Config) {
        let raw = BString::from(found.raw().into_owned());
        let mut steps: Vec<Step> = Vec::new();
        let mut messages = Vec::new();
        let name: &BStr = self.name.as_ref();
        let mut report = |message: expand::Message| messages.push(message.text);
        let expander = expand::Expander::new(view, world, &mut report).of(name);
        let value = expander.telling(&mut steps).file(&raw);
        self.steps = steps
            .into_iter()
            .map(|step| Stepped {
                depth: step.depth,
                origin: reference_origin(&step.reference, config, view, world),
                reference: step.reference,
                value: step.value,
            })
            .collect();
        self.messages = messages;
        self.value = Some(value.map_err(|error| error.to_string()));
        self.raw = Some(raw);
    }

    /// Whether there is a value that readers see.
    pub fn has_value(&self) -> bool {
        matches!(&self.value, Some(Ok(value)) if !value.is_empty())
    }
}

fn entered(name: &BStr) -> Option<Entered> {
    let parameter = defaults::find(name)?;
    Some(Entered {
        default: parameter.default().into_owned().into(),
        kind: parameter.kind().name(),
        range: parameter.range().map(|(min, max)| (min.into(), max.into())),
    })
}

/// The verdict on a transform or route if it has the old syntax, an ad in brackets.
fn old_syntax(name: &[u8]) -> Option<&'static str> {
    let is = |prefix: &str| caseless::starts_with(name, prefix.as_bytes());
    if is("JOB_TRANSFORM_") {
        return Some("is set, but it has the old syntax: the schedd ignores it");
    }
    is("JOB_ROUTER_ROUTE_").then_some("is set, but it has the old syntax: the job router refuses it")
}

/// The names that are tried and which one there is.
fn looked_up(name: &BStr, config: &Config, world: &dyn World, is_used: bool) -> Vec<LookUp> {
    let who = &config.who;
    let is_ad = |found: Found<'_>| found.raw().trim_ascii_start().starts_with(b"[");
    let is_set = || config.set.find(name, who, world).is_some_and(is_ad);
    let counts = match old_syntax(name) {
        Some(ignored) if is_set() => ignored,
        _ if is_used => "is set: it counts",
        _ => "is set, and nothing is known to read it",
    };
    let mut all = Vec::new();
    let prefixes = [("local name", &who.local_name), ("subsystem", &who.subsystem)];
    for (kind, prefix) in prefixes.into_iter().filter(|(_, prefix)| !prefix.is_empty()) {
        let set = config.set.prefixed(prefix, name).is_some();
        let default = defaults::find_in_subsystem(prefix, name).is_some();
        let verdict = match (set, default) {
            (true, _) => counts,
            (false, true) => "is not set, but has a default of its own: that counts",
            (false, false) => "is not set",
        };
        all.push(LookUp { name: format!("{prefix}.{name}").into(), kind, verdict });
        if set || default {
            return all;
        }
    }
    if matches!(config.set.find(name, who, world), Some(Found::Set(_))) {
        all.push(LookUp { name: name.to_owned(), kind: "", verdict: counts });
    }
    all
}

/// Which files included a source, innermost first.
fn included_from(config: &Config, source: SourceId) -> Vec<(BString, u32)> {
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
        Some(found) if !found.raw().is_empty() => view.origin(&found).to_string(),
        _ if body.contains(&b':') => format!("{} is not defined: its default", BStr::new(name)),
        _ => format!("{} is not defined", BStr::new(name)),
    }
}

/// Settings of the name for other daemons or local names than the one that the configuration was read for: that it is set and
/// where, and the prefix.
fn of_others<'a>(name: &'a BStr, config: &'a Config) -> impl Iterator<Item = (String, &'a BStr)> {
    let own = [&config.who.subsystem, &config.who.local_name];
    config.set.entries().filter_map(move |entry| {
        let (prefix, last) = entry.name.split_once_str(".")?;
        if !caseless::eq(last, name) || own.iter().any(|own| caseless::eq(own, prefix)) {
            return None;
        }
        let place = config.set.describe(&entry.current.place);
        Some((format!("{} is set at {place}", entry.name), BStr::new(prefix)))
    })
}

/// What may have been meant by a name that nobody knows.
pub fn hints(name: &BStr, config: &Config) -> Vec<String> {
    if name.contains(&b'=') {
        let name = BStr::new(name.trim_ascii());
        return vec![format!("names are looked up here; to set one, use --set-knob {name}")];
    }
    let mut hints = Vec::new();
    hints.extend(of_others(name, config).map(|(set, prefix)| format!("{set}; use --subsystem {prefix}")));
    let set = config.set.entries().map(|entry| &entry.name[..]);
    let known = set.chain(defaults::all().map(|parameter| parameter.name()));
    if let Some(near) = similar::nearest(name, known) {
        hints.push(format!("did you mean {}?", BStr::new(near)));
    }
    hints
}
