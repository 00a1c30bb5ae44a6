//! Compares the effective values of two configurations, for each daemon, with their origins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use serde::Serialize;

use crate::redact;
use crate::{Config, ConfigError, LoadOptions, LookupContext, SourceId, SourceKind};
use htc_base::world::World;

/// Daemons for which two configurations are compared by default.
pub const DEFAULT_DAEMONS: [&str; 8] =
    ["MASTER", "COLLECTOR", "NEGOTIATOR", "SCHEDD", "SHADOW", "STARTD", "STARTER", "JOB_ROUTER"];

/// Seed for `$RANDOM_INTEGER` and the like, set before each evaluation so that equal texts give equal values
/// in both configurations and for all daemons.
const RANDOM_SEED: u64 = 0;

/// Two configurations to compare, and the daemons for which they are read.
#[derive(Clone, Debug)]
pub struct ConfigComparison<'a> {
    /// The old and the new configuration.
    pub files: [&'a Path; 2],
    /// Options for reading both; `files` replaces the file in them.
    pub options: LoadOptions,
    /// The only daemon for which values are compared, or `None` for all daemons.
    pub subsystem: Option<&'a str>,
    /// The local name of the daemons.
    pub local_name: BString,
    /// True if secrets are masked in the result.
    pub redact: bool,
}

/// A parameter's value in one of the two configurations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ComparedValue {
    /// The expanded value, or `None` if the parameter is undefined or empty.
    pub value: Option<String>,
    /// File and line, or another origin; empty if nothing sets the value.
    pub origin: String,
    /// The template that sets the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A parameter whose value differs.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterDifference {
    /// Name of the parameter.
    pub name: String,
    /// Daemons for which the parameter differs in this way.
    pub daemons: Vec<&'static str>,
    /// Value in the first configuration.
    pub before: ComparedValue,
    /// Value in the second configuration.
    pub after: ComparedValue,
}

/// Result of a comparison of two configurations.
#[derive(Clone, Debug)]
pub struct ConfigDifferences {
    /// The differing parameters, by name.
    pub changed: Vec<ParameterDifference>,
    /// Names of parameters that differ only because the two files are in different directories: CONFIG_ROOT, and
    /// values that are made from it in the same way.
    pub relocated: BTreeSet<String>,
    /// Number of parameters that only one configuration sets and that have the same value in both.
    pub unchanged_count: usize,
    /// Number of parameters that both configurations set, to the same value.
    pub common_count: usize,
}

/// Path of a configuration that cannot be read, and the reason.
#[derive(Debug)]
pub struct UnreadableConfig(pub PathBuf, pub ConfigError);

impl ConfigComparison<'_> {
    /// Compares the two configurations.
    ///
    /// # Errors
    /// The first configuration that cannot be read.
    pub fn compare(&self, world: &dyn World) -> Result<ConfigDifferences, UnreadableConfig> {
        let mut differences: BTreeMap<(String, ComparedValue, ComparedValue), Vec<&'static str>> =
            BTreeMap::new();
        let mut same: BTreeMap<Vec<u8>, [bool; 2]> = BTreeMap::new();
        let mut differing: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut relocated: BTreeSet<String> = BTreeSet::new();
        for daemon in self.daemons_to_compare() {
            let [one, other] = self.files;
            let both = [self.load_config(one, daemon, world)?, self.load_config(other, daemon, world)?];
            for (lower, (name, is_set)) in parameter_names(&both) {
                let [before, after] =
                    [&both[0], &both[1]].map(|config| evaluate_parameter(config, &name, world));
                if before.value == after.value {
                    // Names that no source sets are detected values, which are not counted.
                    if is_set != [false; 2] {
                        let known = same.entry(lower).or_default();
                        *known = [known[0] || is_set[0], known[1] || is_set[1]];
                    }
                    continue;
                }
                if is_relocated(&both, &name, [&before, &after], world) {
                    relocated.insert(name.to_string());
                    continue;
                }
                differing.insert(lower);
                // Only the result is masked, because two different secrets are still a difference.
                let mask = |value: ComparedValue| if self.redact { value.mask_secret(&name) } else { value };
                let [before, after] = [before, after].map(mask);
                differences.entry((name.to_string(), before, after)).or_default().push(daemon);
            }
        }
        let to_difference =
            |((name, before, after), daemons)| ParameterDifference { name, daemons, before, after };
        let changed: Vec<ParameterDifference> = differences.into_iter().map(to_difference).collect();
        relocated.retain(|name| !differing.contains(&name.to_ascii_lowercase().into_bytes()));
        same.retain(|name, _| !differing.contains(name));
        let common_count = same.values().filter(|is_set| **is_set == [true; 2]).count();
        let unchanged_count = same.len() - common_count;
        Ok(ConfigDifferences { changed, relocated, unchanged_count, common_count })
    }

    /// Returns the daemons to compare for. A subsystem that is not a daemon is reported as TOOL.
    fn daemons_to_compare(&self) -> Vec<&'static str> {
        let is_wanted = |daemon: &&&str| self.subsystem.is_none_or(|only| only.eq_ignore_ascii_case(daemon));
        let daemons: Vec<&'static str> = DEFAULT_DAEMONS.iter().filter(is_wanted).copied().collect();
        if daemons.is_empty() { vec!["TOOL"] } else { daemons }
    }

    fn load_config(&self, file: &Path, daemon: &str, world: &dyn World) -> Result<Config, UnreadableConfig> {
        let subsystem = self.subsystem.unwrap_or(daemon);
        let context = LookupContext { subsystem: subsystem.into(), local_name: self.local_name.clone() };
        // The origin of a value that equals the default is needed, too.
        let options =
            LoadOptions { file: Some(file.to_owned()), keep_defaults: true, ..self.options.clone() };
        world.reseed(RANDOM_SEED);
        let loaded = Config::load(world, &context, &options).map(|(config, _)| config);
        loaded.map_err(|error| UnreadableConfig(file.to_owned(), error))
    }
}

/// Returns the names that either configuration has, without their prefixes. The key is the name in lower case; the
/// flags say which of the two configurations sets the name in a source.
fn parameter_names(both: &[Config; 2]) -> BTreeMap<Vec<u8>, (BString, [bool; 2])> {
    let mut names: BTreeMap<Vec<u8>, (BString, [bool; 2])> = BTreeMap::new();
    let entries = both.iter().enumerate();
    let entries = entries.flat_map(|(at, config)| config.set.entries().map(move |entry| (at, config, entry)));
    for (at, config, entry) in entries {
        let source_id = entry.current.place.source;
        let source = config.set.sources().get(source_id.number() as usize);
        // Settings by the default AUTO_USE_* templates do not count as set.
        let is_named = source.is_some_and(|source| source.kind != SourceKind::Special);
        let is_set = is_named || [SourceId::ENVIRONMENT, SourceId::OVERLAY].contains(&source_id);
        let bare = entry.name.rsplit_str(".").next().unwrap_or_default();
        let known = names.entry(bare.to_ascii_lowercase()).or_insert_with(|| (bare.into(), [false; 2]));
        known.1[at] |= is_set;
    }
    names
}

/// Parameter that contains the directory of the root file.
const CONFIG_ROOT: &str = "CONFIG_ROOT";

/// True if two values differ only in the directory of the root file: CONFIG_ROOT itself, and values with the same
/// text before expansion.
fn is_relocated(both: &[Config; 2], name: &BString, values: [&ComparedValue; 2], world: &dyn World) -> bool {
    let name = name.to_str_lossy();
    if name.eq_ignore_ascii_case(CONFIG_ROOT) {
        return true;
    }
    let views = [both[0].view(world), both[1].view(world)];
    let [Some(before), Some(after)] = [0, 1].map(|at| views[at].raw(&name).map(|setting| setting.value))
    else {
        return false;
    };
    let [Some(old_root), Some(new_root)] = [0, 1].map(|at| views[at].text(CONFIG_ROOT)) else { return false };
    let [Some(old), Some(new)] = values.map(|compared| compared.value.as_ref()) else { return false };
    before == after
        && !old_root.is_empty()
        && old.as_bytes().replace(old_root.as_bytes(), new_root.as_bytes()) == new.as_bytes()
}

impl ComparedValue {
    /// Masks the value if it is a secret.
    fn mask_secret(mut self, name: &BString) -> ComparedValue {
        let masked =
            |value: String| redact::mask_value(name.as_bytes(), value.as_bytes()).to_str_lossy().into_owned();
        self.value = self.value.map(masked);
        self
    }
}

fn evaluate_parameter(config: &Config, name: &BString, world: &dyn World) -> ComparedValue {
    let view = config.view(world);
    let name = name.to_str_lossy();
    world.reseed(RANDOM_SEED);
    match view.string(&name) {
        Ok(Some(setting)) => {
            let value = setting.value.to_string();
            let template = setting.origin.template.as_ref().map(ToString::to_string);
            ComparedValue { value: Some(value), origin: setting.origin.to_string(), template }
        }
        Ok(None) => {
            // An empty setting has no value, but it does have an origin.
            let raw = view.raw(&name);
            let origin = raw.map_or_else(String::new, |setting| setting.origin.to_string());
            ComparedValue { value: None, origin, template: None }
        }
        Err(error) => {
            ComparedValue { value: Some(format!("error: {error}")), origin: String::new(), template: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn differences_are_reported_for_the_daemons_that_they_affect() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let before = file("before", "SAME = 1\nMINE = a\nSTARTD.MINE = b\nMY_TOKEN = x1\n");
        let after = file("after", "SAME = $(ONE:1)\nMINE = b\nMY_TOKEN = x2\n");
        let comparison = ConfigComparison {
            files: [&before, &after],
            options: LoadOptions { environment: false, user_file: false, ..LoadOptions::default() },
            subsystem: None,
            local_name: "".into(),
            redact: true,
        };
        let ConfigDifferences { changed: all, common_count: same, unchanged_count: alone, .. } =
            comparison.compare(&RealWorld::new()).unwrap();
        let [mine, token] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (&*mine.name, mine.before.value.as_deref(), mine.after.value.as_deref()),
            ("MINE", Some("a"), Some("b"))
        );
        assert_eq!(
            (mine.daemons.len(), mine.daemons.contains(&"STARTD")),
            (DEFAULT_DAEMONS.len() - 1, false)
        );
        assert!(mine.before.origin.ends_with("before, line 2"), "{}", mine.before.origin);
        assert_eq!(
            (&*token.name, token.before.value.as_deref(), token.daemons.len()),
            ("MY_TOKEN", Some("********"), 8)
        );
        assert_eq!((same, alone), (1, 0));
        // The same text in two directories, and then another text in the second one.
        let text = "LOG = $(CONFIG_ROOT)/log\nMY_LOG = $(LOG)/mine\nA = 1\n";
        let [one, two] = ["one", "two"].map(|directory| {
            std::fs::create_dir(home.path().join(directory)).unwrap();
            file(&format!("{directory}/condor_config"), text)
        });
        let moved = ConfigComparison { files: [&one, &two], ..comparison.clone() };
        let found = moved.compare(&RealWorld::new()).unwrap();
        assert!(found.changed.is_empty(), "{:?}", found.changed);
        let relocated: Vec<&str> = found.relocated.iter().map(String::as_str).collect();
        assert!(
            ["CONFIG_ROOT", "LOG", "MY_LOG"].iter().all(|name| relocated.contains(name)),
            "{relocated:?}"
        );
        let literal = format!("{text}LOG = {}/log\n", two.parent().unwrap().display());
        std::fs::write(&two, literal).unwrap();
        let found = moved.compare(&RealWorld::new()).unwrap();
        assert!(found.changed.iter().any(|it| it.name == "LOG"), "a text that differs is a difference");
        // A value that equals the default has the origin that sets it.
        let [default, other] =
            [file("default", "START = True\n"), file("other", "START = False\nKILL = False\n")];
        let started = ConfigComparison { files: [&default, &other], ..comparison.clone() };
        let found = started.compare(&RealWorld::new()).unwrap();
        let [start] = &found.changed[..] else { panic!("{:?}", found.changed) };
        assert!(start.before.origin.ends_with("default, line 1"), "{}", start.before.origin);
        assert_eq!((found.common_count, found.unchanged_count), (0, 1), "KILL is set in one file");
        let missing = ConfigComparison { files: [&before, Path::new("/nowhere")], ..comparison };
        let Err(UnreadableConfig(file, _)) = missing.compare(&RealWorld::new()) else { panic!("it is read") };
        assert_eq!(file, Path::new("/nowhere"));
    }
}
