//! Names in scripts, submit files and templates: who asks for them with `condor_config_val` refers to them as well as a value does.
//!
//! Looked at are the files that values and commands of the configuration name by their paths (hooks, cron jobs, wrappers), and
//! those that stand beside and below its own files.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use rustc_hash::{FxHashMap, FxHashSet};

use htc_base::text::bare_name;
use htc_base::world::{FileKind, World};
use htc_config::macro_set::{Entry, SourceKind};
use htc_config::{Config, View};

/// So many files are looked at.
const MOST_FILES: usize = 2000;
/// A file with more bytes is not looked at.
const LARGEST: u64 = 4 << 20;
/// All together have no more bytes.
const MOST_BYTES: u64 = 64 << 20;
/// Directories below that of a configuration are looked into so deep.
const DEEPEST: usize = 4;
/// Longer values are no paths.
const LONGEST: usize = 4096;
/// So many values are expanded.
const MOST_VALUES: usize = 5000;

/// By name in lower case the file that mentions it, of the names that the configuration sets.
pub(super) fn mentioned(config: &Config, view: &View<'_>) -> FxHashMap<Vec<u8>, BString> {
    let world = view.world();
    let plain = |name: &BString| bare_name(name).to_ascii_lowercase();
    let own: FxHashSet<Vec<u8>> = written(config).map(|entry| plain(&entry.name)).collect();
    let mut files = Files::new(world);
    for path in named(config, view) {
        files.add(path);
    }
    for path in sources(config, world) {
        let Some(directory) = path.parent() else { continue };
        files.walk(directory, DEEPEST);
        // A tree with the configuration in one directory and what it calls in others.
        if let Some(above) = directory.parent().filter(|above| files.is_tree(above)) {
            files.walk(above, DEEPEST);
        }
    }
    let mut found = FxHashMap::default();
    let sources: FxHashSet<PathBuf> = sources(config, world).collect();
    for path in files.paths.iter().filter(|path| !sources.contains(*path)) {
        let Ok(text) = world.read_file(path, Some(LARGEST)) else { continue };
        let words = text.lines().flat_map(|line| not_assigned(line).split(|b| !is_of_name(*b)));
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
fn written(config: &Config) -> impl Iterator<Item = &Entry> {
    config.set.entries().filter(|entry| entry.current.is_written())
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A line without the name that it assigns to: a copy of the configuration sets what the configuration sets, and reads
/// none of it. The same in a line that is commented out, and with a prefix (`SLOT1.START = true`).
fn not_assigned(line: &[u8]) -> &[u8] {
    let text = line.trim_start_with(|c| c.is_ascii_whitespace() || c == '#');
    let name = text.iter().take_while(|b| is_of_name(**b) || **b == b'.').count();
    let rest = text[name..].trim_start();
    let value =
        rest.strip_prefix(b"=").or_else(|| rest.strip_prefix(b"+=")).or_else(|| rest.strip_prefix(b"@="));
    match value {
        Some(value) if name > 0 && !value.starts_with(b"=") => value,
        _ => line,
    }
}

/// The files of the configuration.
fn sources(config: &Config, world: &dyn World) -> impl Iterator<Item = PathBuf> {
    let files = config.set.sources().iter().filter(|source| source.kind == SourceKind::File);
    let here = world.current_dir().unwrap_or_default();
    files.map(move |source| here.join(source.name.to_path_lossy()))
}

/// The paths in values and commands.
fn named(config: &Config, view: &View<'_>) -> Vec<PathBuf> {
    let raw = written(config).map(|entry| &entry.current);
    let raw = raw.filter(|it| it.raw.len() <= LONGEST && it.raw.contains_str("/")).take(MOST_VALUES);
    let values = raw.filter_map(|it| view.expand_raw(&it.name, &it.raw).ok());
    let commands = config.set.sources().iter().filter(|source| source.kind == SourceKind::Command);
    let texts = values.chain(commands.map(|source| source.name.clone()));
    let not_read = config.not_read.iter().map(|source| BString::from(source.name.as_bytes()));
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
struct Files<'a> {
    world: &'a dyn World,
    paths: Vec<PathBuf>,
    known: FxHashSet<PathBuf>,
    bytes: u64,
}

impl<'a> Files<'a> {
    fn new(world: &'a dyn World) -> Self {
        Files { world, paths: Vec::new(), known: FxHashSet::default(), bytes: 0 }
    }

    fn add(&mut self, path: PathBuf) {
        let Ok(status) = self.world.stat(&path) else { return };
        let fits = status.size <= LARGEST && self.bytes + status.size <= MOST_BYTES;
        if status.kind == FileKind::File
            && fits
            && self.paths.len() < MOST_FILES
            && self.known.insert(path.clone())
        {
            self.bytes += status.size;
            self.paths.push(path);
        }
    }

    fn walk(&mut self, directory: &Path, depth: usize) {
        if self.paths.len() >= MOST_FILES || !self.known.insert(directory.to_owned()) {
            return;
        }
        let mut names = self.world.list_dir(directory).unwrap_or_default();
        names.sort_unstable();
        for name in names.into_iter().take(MOST_FILES) {
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = directory.join(name);
            match self.world.stat(&path).map(|status| status.kind) {
                Ok(FileKind::File) => self.add(path),
                Ok(FileKind::Directory) if depth > 0 => self.walk(&path, depth - 1),
                Ok(FileKind::Directory | FileKind::Other) | Err(_) => {}
            }
        }
    }

    /// Whether a directory is the top of somebody's tree of files, and not one of the system's.
    fn is_tree(&self, directory: &Path) -> bool {
        let names = self.world.list_dir(directory).unwrap_or_default();
        names.iter().any(|name| {
            let name = name.as_encoded_bytes();
            name == b".git" || name.starts_with(b"README") || name.starts_with(b"LICENSE")
        })
    }
}
