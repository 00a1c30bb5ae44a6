//! Names in scripts, submit files and templates: who asks for them with `condor_config_val` refers to them as well as a value does.
//!
//! Looked at are the files that values and commands of the configuration name by their paths (hooks, cron jobs, wrappers), and
//! those that stand beside and below its own files.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet};

use htc_base::text::unqualified_name;
use htc_base::world::{FileKind, World};
use htc_config::macro_set::{MacroEntry, SourceKind};
use htc_config::{Config, ConfigView};

/// So many files are looked at.
const MAX_FILES: usize = 2000;
/// A file with more bytes is not looked at.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// All together have no more bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// Directories below that of a configuration are looked into so deep.
const MAX_DIRECTORY_DEPTH: usize = 4;
/// Longer values are no paths.
const MAX_VALUE_LENGTH: usize = 4096;
/// So many values are expanded.
const MAX_VALUES: usize = 5000;

/// By name in lower case the file that mentions it, of the names that the configuration sets.
pub(super) fn find_mentions(config: &Config, view: &ConfigView<'_>) -> FxHashMap<Vec<u8>, BString> {
    let world = view.world();
    let plain = |name: &BString| unqualified_name(name).to_ascii_lowercase();
    let own: FxHashSet<Vec<u8>> = user_written_entries(config).map(|entry| plain(&entry.name)).collect();
    let mut files = FilesToScan::new(world);
    for path in paths_in_values(config, view) {
        files.add(path);
    }
    for path in config_files(config, world) {
        let Some(directory) = path.parent() else { continue };
        files.add_tree(directory, MAX_DIRECTORY_DEPTH);
        // A tree with the configuration in one directory and what it calls in others.
        if let Some(above) = directory.parent().filter(|above| files.is_tree_root(above)) {
            files.add_tree(above, MAX_DIRECTORY_DEPTH);
        }
    }
    let mut found = FxHashMap::default();
    let sources: FxHashSet<PathBuf> = config_files(config, world).collect();
    for path in files.paths.iter().filter(|path| !sources.contains(*path)) {
        let Ok(text) = world.read_file(path, Some(MAX_FILE_BYTES)) else { continue };
        let words = text.lines().flat_map(|line| strip_assigned_name(line).split(|b| !is_name_byte(*b)));
        for word in words.filter(|word| word.len() > 1) {
            let word = word.to_ascii_lowercase();
            if own.contains(&word) {
                found.entry(word).or_insert_with(|| path.to_string_lossy().as_bytes().into());
            }
        }
    }
    found
}

/// The entries that a person wrote.
fn user_written_entries(config: &Config) -> impl Iterator<Item = &MacroEntry> {
    config.set.entries().filter(|entry| entry.current.is_user_written())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A line without the name that it assigns to: a copy of the configuration sets what the configuration sets, and reads
/// none of it. The same in a line that is commented out, and with a prefix (`SLOT1.START = true`).
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

/// The files of the configuration.
fn config_files(config: &Config, world: &dyn World) -> impl Iterator<Item = PathBuf> {
    let files = config.set.sources().iter().filter(|source| source.kind == SourceKind::File);
    let here = world.current_dir().unwrap_or_default();
    files.map(move |source| here.join(source.name.to_path_lossy()))
}

/// The paths in values and commands.
fn paths_in_values(config: &Config, view: &ConfigView<'_>) -> Vec<PathBuf> {
    let raw = user_written_entries(config).map(|entry| &entry.current);
    let raw = raw.filter(|it| it.raw.len() <= MAX_VALUE_LENGTH && it.raw.contains_str("/")).take(MAX_VALUES);
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

/// The files to look at.
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

    fn add_tree(&mut self, directory: &Path, depth: usize) {
        if self.paths.len() >= MAX_FILES || !self.known.insert(directory.to_owned()) {
            return;
        }
        let mut names = self.world.list_dir(directory).unwrap_or_default();
        names.sort_unstable();
        for name in names.into_iter().take(MAX_FILES) {
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = directory.join(name);
            match self.world.stat(&path).map(|status| status.kind) {
                Ok(FileKind::File) => self.add(path),
                Ok(FileKind::Directory) if depth > 0 => self.add_tree(&path, depth - 1),
                Ok(FileKind::Directory | FileKind::Other) | Err(_) => {}
            }
        }
    }

    /// Returns true if a directory is the top of somebody's tree of files, and not one of the system's.
    fn is_tree_root(&self, directory: &Path) -> bool {
        let names = self.world.list_dir(directory).unwrap_or_default();
        names.iter().any(|name| {
            let name = name.as_encoded_bytes();
            name == b".git" || name.starts_with(b"README") || name.starts_with(b"LICENSE")
        })
    }
}
