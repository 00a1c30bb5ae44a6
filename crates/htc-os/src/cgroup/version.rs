//! Interface of the two versions of control groups.

use std::fs;
use std::io;
use std::path::Path;

use super::usage::GroupUsage;
use htc_base::process::DeviceNumber;

/// Resource that a group can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedResource {
    /// Memory, in bytes.
    Memory,
    /// Protected memory, in bytes.
    MemoryLow,
    /// Swap space together with memory, in bytes.
    Swap {
        /// The limit of memory.
        memory: u64,
    },
    /// CPU weight.
    Cpu,
    /// Number of processes.
    Processes,
}

/// Version of control groups. The directories are those of a group in one hierarchy.
pub(super) trait CgroupVersion: Sync {
    /// Creates the group `name` below `parent`, and returns the created directories, outermost first. Limits
    /// are set in the first, and processes are placed in the last.
    fn create(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<std::path::PathBuf>>;

    /// Returns the name of the outermost directory.
    fn outermost_name(&self, name: &str) -> String;

    /// Sets a limit and returns the value that the kernel reports, or `None` if this version has no such
    /// limit.
    fn set_limit(&self, group: &Path, what: LimitedResource, value: u64) -> io::Result<Option<u64>>;

    /// Prevents a character device from being opened. Returns false if this version cannot do so by writing a
    /// file.
    fn deny_device(&self, group: &Path, device: DeviceNumber) -> io::Result<bool>;

    /// Stops or resumes all processes. Returns false if this hierarchy does not support it.
    fn set_frozen(&self, group: &Path, freeze: bool) -> bool;

    /// Kills all processes at once. Returns false if this hierarchy does not support it.
    fn kill_all(&self, group: &Path) -> bool;

    /// Adds the usage that this hierarchy counts with its controllers.
    fn add_usage(&self, group: &Path, controllers: &[String], counts: &mut GroupUsage);

    /// Returns how often the kernel has killed processes because memory was exhausted.
    fn oom_kill_count(&self, group: &Path) -> u64;

    /// Returns true if the whole group is killed when one of its processes is.
    fn kills_whole_group(&self) -> bool;

    /// Returns the files that an account must be able to write to create subgroups.
    fn delegated_files(&self) -> &'static [&'static str];
}

/// Writes a file of a group in one write.
pub(super) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    use io::Write;
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a number and reads back the resulting value, or returns `None` if the file does not exist.
pub(super) fn write_number(path: &Path, value: u64) -> io::Result<Option<u64>> {
    match write_file(path, &value.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        written => written.map(|()| read_number(path)),
    }
}

/// Reads the number in a file; `max` is the largest number.
pub(super) fn read_number(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    match text.trim() {
        "max" => Some(u64::MAX),
        text => text.parse().ok(),
    }
}

/// Returns the number after a word at the beginning of a line, or `None`.
pub(super) fn parse_field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (word, value) = line.split_once(' ')?;
        if word == name { value.trim().parse().ok() } else { None }
    })
}
