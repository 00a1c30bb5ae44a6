//! Common interface of versions 1 and 2 of control groups.

use std::fs;
use std::io;
use std::path::Path;

use super::usage::GroupUsage;
use htc_base::process::DeviceNumber;

/// Resource for which a group can have a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedResource {
    /// Maximum memory, in bytes.
    Memory,
    /// Memory that the kernel does not reclaim, in bytes.
    MemoryLow,
    /// Maximum swap space together with memory, in bytes.
    Swap {
        /// Limit of memory alone, in bytes.
        memory: u64,
    },
    /// CPU weight.
    Cpu,
    /// Maximum number of processes.
    Processes,
}

/// Version of control groups. Each `group` is the directory of a group in one hierarchy.
pub(super) trait CgroupVersion: Sync {
    /// Creates the group `name` below `parent`, and returns the created directories, outermost first. Limits
    /// are set in the first, and processes are placed in the last.
    fn create(&self, parent: &Path, base: &str, name: &str) -> io::Result<Vec<std::path::PathBuf>>;

    /// Returns the name of the outermost directory of a group.
    fn outermost_name(&self, name: &str) -> String;

    /// Sets a limit and returns the value that the kernel reports, or `None` if this version has no such
    /// limit.
    fn set_limit(&self, group: &Path, what: LimitedResource, value: u64) -> io::Result<Option<u64>>;

    /// Prevents processes from opening a character device. Returns false if this version has no file for this
    /// purpose.
    fn deny_device(&self, group: &Path, device: DeviceNumber) -> io::Result<bool>;

    /// Stops (freezes) or resumes all processes of the group. Returns false if the hierarchy does not support
    /// freezing.
    fn set_frozen(&self, group: &Path, freeze: bool) -> bool;

    /// Kills all processes of the group at once. Returns false if the hierarchy does not support this.
    fn kill_all(&self, group: &Path) -> bool;

    /// Adds the resource usage that the controllers of the hierarchy have counted to `counts`.
    fn add_usage(&self, group: &Path, controllers: &[String], counts: &mut GroupUsage);

    /// Returns the number of processes in the group that the kernel has killed because memory was exhausted.
    fn oom_kill_count(&self, group: &Path) -> u64;

    /// Returns true if the kernel kills the whole group when it kills one of its processes because memory is
    /// exhausted.
    fn kills_whole_group(&self) -> bool;

    /// Returns the files in a group's directory that an account must be able to write in order to create
    /// subgroups.
    fn delegated_files(&self) -> &'static [&'static str];
}

/// Writes the content of a file of a group in one system call.
pub(super) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    use io::Write;
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a number to a file and returns the number that the file contains afterwards, or `None` if the file
/// does not exist.
pub(super) fn write_number(path: &Path, value: u64) -> io::Result<Option<u64>> {
    match write_file(path, &value.to_string()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        written => written.map(|()| read_number(path)),
    }
}

/// Reads the number in a file, or returns `None` if the text is not a number. The text `max` is read as the
/// largest number.
pub(super) fn read_number(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    match text.trim() {
        "max" => Some(u64::MAX),
        text => text.parse().ok(),
    }
}

/// Returns the number that follows the word `name` at the beginning of a line, or `None` if no line begins
/// with it.
pub(super) fn parse_field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (word, value) = line.split_once(' ')?;
        if word == name { value.trim().parse().ok() } else { None }
    })
}
