//! What the two versions of control groups do in different ways.

use std::fs;
use std::io;
use std::path::Path;

use super::usage::Counts;

/// One thing that a group is limited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limited {
    /// Memory, in bytes.
    Memory,
    /// Memory that is kept for it, in bytes.
    MemoryLow,
    /// Swap space together with memory, in bytes, and the limit of memory.
    Swap {
        /// The limit of memory.
        memory: u64,
    },
    /// Share of the processors.
    Cpu,
    /// Number of processes.
    Processes,
}

/// A version of control groups. Directories are those of a group in one hierarchy.
pub(super) trait Version: Sync {
    /// Makes what is below `parent` of the group `name`; returns the directories that were made, outermost first. Limits go to
    /// the first of them, processes into the last.
    fn make(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<std::path::PathBuf>>;

    /// The name of the first of them.
    fn outermost(&self, name: &str) -> String;

    /// Sets a limit and says what the kernel made of it; `None`: this version has no such limit.
    fn limit(&self, group: &Path, what: Limited, value: u64) -> io::Result<Option<u64>>;

    /// Keeps a character device from being opened; `false`: this version cannot do it by a file.
    fn hide(&self, group: &Path, device: (u32, u32)) -> io::Result<bool>;

    /// Stops all processes, or lets them go on; `false`: this hierarchy cannot.
    fn freeze(&self, group: &Path, freeze: bool) -> bool;

    /// Kills everything at one stroke; `false`: this hierarchy cannot.
    fn kill(&self, group: &Path) -> bool;

    /// Adds what this hierarchy counts, by its controllers.
    fn count(&self, group: &Path, controllers: &[String], counts: &mut Counts);

    /// How often the kernel has killed for lack of memory.
    fn memory_kills(&self, group: &Path) -> u64;

    /// Whether all of a group is killed when one of it is.
    fn kills_all(&self) -> bool;

    /// The files that whoever may make groups in this one has to be able to write.
    fn delegated(&self) -> &'static [&'static str];
}

/// Writes a file of a group at one stroke.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    use io::Write;
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a number and reads back what became of it; `None` where there is no such file.
pub(super) fn write_number(path: &Path, value: u64) -> io::Result<Option<u64>> {
    match write(path, &value.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        written => written.map(|()| number(path)),
    }
}

/// The number in a file; `max` is the largest.
pub(super) fn number(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    match text.trim() {
        "max" => Some(u64::MAX),
        text => text.parse().ok(),
    }
}

/// The number behind a word at the beginning of a line.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (word, value) = line.split_once(' ')?;
        if word == name { value.trim().parse().ok() } else { None }
    })
}
