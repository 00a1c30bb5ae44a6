//! Names in scripts, submit files and templates. A script that calls `condor_config_val NAME` uses the parameter, as a
//! reference in a value does.
//!
//! Only files whose paths are in values and commands of the configuration (hooks, cron jobs, wrappers), and files that
//! the caller names, are read.

use std::cell::LazyCell;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet};

use htc_base::text::unqualified_name;
use htc_base::world::{FileKind, World};
use htc_config::macro_definition::{MacroEntry, SourceKind};
use htc_config::{Config, ConfigView};

/// Maximum number of files that are scanned.
const MAX_FILES: usize = 2000;
/// Maximum size of a file that is scanned, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum size of all scanned files together, in bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// Maximum length of a value that may be a path.
const MAX_VALUE_LENGTH: usize = 4096;
/// Maximum number of values that are expanded.
const MAX_VALUES: usize = 5000;

/// Returns a map from each name that the configuration sets, in lower case, to a file that mentions it.
pub(super) fn find_mentions(
    config: &Config,
    view: &ConfigView<'_>,
    used_by: &[PathBuf],
) -> FxHashMap<Vec<u8>, BString> {
    let world = view.world();
    let plain = |name: &[u8]| unqualified_name(name).to_ascii_lowercase();
    // Collected only when needed: most configurations name no script, and a large one has many names.
    let set_names: LazyCell<FxHashSet<Vec<u8>>, _> =
        LazyCell::new(|| user_written_entries(config).map(|entry| plain(&entry.name)).collect());
    let mut files = FilesToScan::new(world);
    for path in paths_in_values(config, view) {
        files.add(path);
    }
    for path in used_by {
        files.add(path.clone());
    }
    let mut found = FxHashMap::default();
    let sources: FxHashSet<PathBuf> = config_files(config, world).collect();
    for path in files.paths.iter().filter(|path| !sources.contains(*path)) {
        let Ok(text) = world.read_file(path, Some(MAX_FILE_BYTES)) else { continue };
        let words = text.lines().flat_map(|line| strip_assigned_name(line).split(|b| !is_name_byte(*b)));
        for word in words.filter(|word| word.len() > 1) {
            let word = word.to_ascii_lowercase();
            if set_names.contains(&word) {
                found.entry(word).or_insert_with(|| path.to_string_lossy().as_bytes().into());
            }
        }
    }
    found
}

/// Returns the entries from files, commands and overlays.
fn user_written_entries(config: &Config) -> impl Iterator<Item = &MacroEntry> {
    config.set.entries().filter(|entry| entry.current.is_user_written())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Removes the name that a line sets: a copy of the configuration sets the same names but does not use them. This also
/// applies to lines that are commented out, and to names with a prefix (`SLOT1.START = true`).
fn strip_assigned_name(line: &[u8]) -> &[u8] {
    let text = line.trim_start_with(|c| c.is_ascii_whitespace() || c == '#');
    let name = text.iter().take_while(|b| is_name_byte(**b) || **b == b'.').count();
    let rest = text[name..].trim_start();
    let value =
        rest.strip_prefix(b"=").or_else(|| rest.strip_prefix(b"+=")).or_else(|| rest.strip_prefix(b"@="));
    match value {
        Some(value) if name > 0 && !value.starts_with(b"=") => value,
        _ => line,
    }
}

/// Returns the files of the configuration.
fn config_files(config: &Config, world: &dyn World) -> impl Iterator<Item = PathBuf> {
    let files = config.set.sources().iter().filter(|source| source.kind == SourceKind::File);
    let here = world.current_dir().unwrap_or_default();
    files.map(move |source| here.join(source.name.to_path_lossy()))
}

/// Returns the paths in values and commands.
fn paths_in_values(config: &Config, view: &ConfigView<'_>) -> Vec<PathBuf> {
    let raw = user_written_entries(config).map(|entry| &entry.current);
    let raw = raw.filter(|it| it.raw.len() <= MAX_VALUE_LENGTH && it.raw.contains(&b'/')).take(MAX_VALUES);
    let values = raw.filter_map(|it| view.expand_raw(&it.name, &it.raw).ok());
    let commands = config.set.sources().iter().filter(|source| source.kind == SourceKind::Command);
    let texts = values.chain(commands.map(|source| source.name.clone()));
    let not_read = config.unread_sources.iter().map(|source| BString::from(source.name.as_bytes()));
    let mut paths = Vec::new();
    for text in texts.chain(not_read) {
        let words = text.split(|b| b.is_ascii_whitespace() || b"\"',;=|".contains(b));
        paths.extend(
            words.filter(|word| word.starts_with(b"/")).map(|word| word.to_path_lossy().into_owned()),
        );
    }
    paths
}

/// Files to scan, each once, within the limits.
struct FilesToScan<'a> {
    world: &'a dyn World,
    paths: Vec<PathBuf>,
    known: FxHashSet<PathBuf>,
    bytes: u64,
}

impl<'a> FilesToScan<'a> {
    fn new(world: &'a dyn World) -> Self {
        FilesToScan { world, paths: Vec::new(), known: FxHashSet::default(), bytes: 0 }
    }

    fn add(&mut self, path: PathBuf) {
        let Ok(status) = self.world.stat(&path) else { return };
        let fits = status.size <= MAX_FILE_BYTES && self.bytes + status.size <= MAX_TOTAL_BYTES;
        if status.kind == FileKind::File
            && fits
            && self.paths.len() < MAX_FILES
            && self.known.insert(path.clone())
        {
            self.bytes += status.size;
            self.paths.push(path);
        }
    }
}
