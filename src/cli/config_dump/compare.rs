//! `compare A B`: which effective values two configurations give to which daemons, and where these come from.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use serde::Serialize;

use super::loading::problem;
use crate::cli::common::{OutputOptions, Painter, Status};
use crate::config::redact;
use crate::config::{Config, ConfigError, LoadOptions, SourceId, SourceKind, Who};
use crate::world::World;

/// The daemons that a configuration is read for, where none is named.
const DAEMONS: [&str; 8] =
    ["MASTER", "COLLECTOR", "NEGOTIATOR", "SCHEDD", "SHADOW", "STARTD", "STARTER", "JOB_ROUTER"];

/// What `$RANDOM_INTEGER` and the like begin with, each time: the same text draws the same in both and for all daemons.
const DRAWS: u64 = 0;

/// What is compared, and for whom.
pub(super) struct Request<'a> {
    pub files: [&'a Path; 2],
    pub options: LoadOptions,
    /// One daemon alone, or all.
    pub subsystem: Option<&'a str>,
    pub local_name: BString,
    pub redact: bool,
}

/// A value as one of them gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Seen {
    /// Expanded; missing where it is not defined or empty.
    value: Option<String>,
    /// File and line, or what else gives it; empty where nothing does.
    origin: String,
    /// The template behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<String>,
}

/// A parameter that differs.
#[derive(Clone, Debug, Serialize)]
struct Difference {
    name: String,
    /// Those who see it so.
    daemons: Vec<&'static str>,
    before: Seen,
    after: Seen,
}

/// Everything that differs.
struct Report {
    differences: Vec<Difference>,
    /// Parameters that one of them sets and that come to the same.
    same: usize,
}

/// A configuration that cannot be read: which, and why.
struct Unreadable(PathBuf, ConfigError);

/// Compares the two.
fn compare(request: &Request<'_>, world: &dyn World) -> Result<Report, Unreadable> {
    let mut found: BTreeMap<(String, Seen, Seen), Vec<&'static str>> = BTreeMap::new();
    let mut same: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut differing: BTreeSet<Vec<u8>> = BTreeSet::new();
    let wanted = |daemon: &&&str| request.subsystem.is_none_or(|only| only.eq_ignore_ascii_case(daemon));
    let mut daemons: Vec<&'static str> = DAEMONS.iter().filter(wanted).copied().collect();
    if daemons.is_empty() {
        daemons.push("TOOL");
    }
    for daemon in daemons {
        let subsystem = request.subsystem.unwrap_or(daemon);
        let who = Who { subsystem: subsystem.into(), local_name: request.local_name.clone() };
        let load = |file: &Path| {
            let options = LoadOptions { file: Some(file.to_owned()), ..request.options.clone() };
            world.reseed(DRAWS);
            let loaded = Config::load(world, &who, &options).map(|(config, _)| config);
            loaded.map_err(|error| Unreadable(file.to_owned(), error))
        };
        let both = [load(request.files[0])?, load(request.files[1])?];
        for (lower, (name, is_set)) in names(&both) {
            let [before, after] = [&both[0], &both[1]].map(|config| seen(config, &name, world));
            if before.value == after.value {
                // What nobody sets was only detected.
                is_set.then(|| same.insert(lower));
                continue;
            }
            differing.insert(lower);
            // Only what is told is masked: two secrets may well differ.
            let told = |seen: Seen| if request.redact { seen.masked(&name) } else { seen };
            let [before, after] = [before, after].map(told);
            found.entry((name.to_string(), before, after)).or_default().push(daemon);
        }
    }
    let differences = found
        .into_iter()
        .map(|((name, before, after), daemons)| Difference { name, daemons, before, after })
        .collect();
    Ok(Report { differences, same: same.difference(&differing).count() })
}

/// The names that either has, without the daemon that they are for, by their small letters; and whether somebody set them.
fn names(both: &[Config; 2]) -> BTreeMap<Vec<u8>, (BString, bool)> {
    let mut names: BTreeMap<Vec<u8>, (BString, bool)> = BTreeMap::new();
    let entries = both.iter().flat_map(|config| config.set.entries().map(move |entry| (config, entry)));
    for (config, entry) in entries {
        let source = entry.current.place.source;
        let from = config.set.sources().get(source.number() as usize);
        // What AUTO_USE_* brings by default nobody has set.
        let is_named = from.is_some_and(|from| from.kind != SourceKind::Special);
        let is_set = is_named || [SourceId::ENVIRONMENT, SourceId::OVERLAY].contains(&source);
        let bare = entry.name.rsplit_str(".").next().unwrap_or_default();
        let known = names.entry(bare.to_ascii_lowercase()).or_insert_with(|| (bare.into(), false));
        known.1 |= is_set;
    }
    names
}

impl Seen {
    /// The same with a secret left out.
    fn masked(mut self, name: &BString) -> Seen {
        let masked =
            |value: String| redact::masked(name.as_bytes(), value.as_bytes()).to_str_lossy().into_owned();
        self.value = self.value.map(masked);
        self
    }
}

fn seen(config: &Config, name: &BString, world: &dyn World) -> Seen {
    let view = config.view(world);
    let name = name.to_str_lossy();
    world.reseed(DRAWS);
    match view.string(&name) {
        Ok(Some(setting)) => {
            let value = setting.value.to_string();
            let template = setting.origin.template.as_ref().map(ToString::to_string);
            Seen { value: Some(value), origin: setting.origin.to_string(), template }
        }
        Ok(None) => {
            // Set to nothing is not the same as not set, though it is worth as much.
            let raw = view.raw(&name);
            let origin = raw.map_or_else(String::new, |setting| setting.origin.to_string());
            Seen { value: None, origin, template: None }
        }
        Err(error) => Seen { value: Some(format!("error: {error}")), origin: String::new(), template: None },
    }
}

impl Report {
    /// For people.
    fn text(&self, painter: Painter, files: [&Path; 2]) -> String {
        let mut text = String::new();
        let mut last = None;
        for Difference { name, daemons, before, after } in &self.differences {
            if last.is_some_and(|last: &String| last != name) {
                text.push('\n');
            }
            last = Some(name);
            let of =
                if daemons.len() == DAEMONS.len() { "all daemons".to_owned() } else { daemons.join(", ") };
            text += &format!("{}  ({of})\n", painter.bold(name));
            for (sign, seen) in [('-', before), ('+', after)] {
                let value = match &seen.value {
                    Some(value) => value.replace('\n', "\n      | "),
                    None if seen.origin.is_empty() => "not defined".to_owned(),
                    None => "empty".to_owned(),
                };
                let from =
                    if seen.origin.is_empty() { String::new() } else { format!("  [{}]", seen.origin) };
                text += &format!("    {sign} {value}{from}\n");
            }
        }
        let [before, after] = files.map(|file| file.display().to_string());
        let count = self.differences.iter().map(|it| &it.name).collect::<BTreeSet<_>>().len();
        text += &match count {
            0 => format!("{before} and {after} come to the same; "),
            1 => "\n1 parameter differs; ".to_owned(),
            _ => format!("\n{count} parameters differ; "),
        };
        text += &match self.same {
            0 if count == 0 => "neither sets anything\n".to_owned(),
            1 => "1 that one of them sets comes to the same\n".to_owned(),
            same => format!("{same} that one of them sets come to the same\n"),
        };
        text
    }
}

/// Compares and prints; exit status 1 if anything differs.
pub(super) fn run(request: &Request<'_>, world: &dyn World, output: OutputOptions) -> anyhow::Result<Status> {
    let report = compare(request, world).map_err(|Unreadable(file, error)| {
        anyhow::Error::from(problem(&error)).context(format!("'{}'", file.display()))
    })?;
    let text = || report.text(Painter::stdout(output.color), request.files);
    let text = output.rows(&report.differences)?.unwrap_or_else(text);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if report.differences.is_empty() { Status::Done } else { Status::No })
}
