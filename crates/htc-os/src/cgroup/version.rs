//! What the two versions of control groups do in different ways.

use std::fs;
use std::io;
use std::path::Path;

use super::usage::GroupUsage;

/// One thing that a group is limited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedResource {
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
pub(super) trait CgroupVersion: Sync {
    /// Makes what is below `parent` of the group `name`; returns the directories that were made, outermost first. Limits go to
    /// the first of them, processes into the last.
    fn create(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<std::path::PathBuf>>;

    /// The name of the first of them.
    fn outermost_name(&self, name: &str) -> String;

    /// Sets a limit and says what the kernel made of it; `None`: this version has no such limit.
    fn set_limit(&self, group: &Path, what: LimitedResource, value: u64) -> io::Result<Option<u64>>;

    /// Keeps a character device from being opened; `false`: this version cannot do it by a file.
    fn deny_device(&self, group: &Path, device: (u32, u32)) -> io::Result<bool>;

    /// Stops all processes, or lets them go on; `false`: this hierarchy cannot.
    fn set_frozen(&self, group: &Path, freeze: bool) -> bool;

    /// Kills everything at one stroke; `false`: this hierarchy cannot.
    fn kill_all(&self, group: &Path) -> bool;

    /// Adds what this hierarchy counts, by its controllers.
    fn add_usage(&self, group: &Path, controllers: &[String], counts: &mut GroupUsage);

    /// How often the kernel has killed for lack of memory.
    fn oom_kill_count(&self, group: &Path) -> u64;

    /// Whether all of a group is killed when one of it is.
    fn kills_whole_group(&self) -> bool;

    /// The files that whoever may make groups in this one has to be able to write.
    fn delegated_files(&self) -> &'static [&'static str];
}

/// Writes a file of a group at one stroke.
pub(super) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    use io::Write;
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a number and reads back what became of it; `None` where there is no such file.
pub(super) fn write_number(path: &Path, value: u64) -> io::Result<Option<u64>> {
    match write_file(path, &value.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        written => written.map(|()| read_number(path)),
    }
}

/// The number in a file; `max` is the largest.
pub(super) fn read_number(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    match text.trim() {
        "max" => Some(u64::MAX),
        text => text.parse().ok(),
    }
}

/// The number behind a word at the beginning of a line.
pub(super) fn parse_field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (word, value) = line.split_once(' ')?;
        if word == name { value.trim().parse().ok() } else { None }
    })
}
