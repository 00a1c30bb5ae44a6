//! Programs that tests write, and what is there of those that run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// How long a test waits for what must happen.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Writes an executable file.
pub(crate) fn write_executable(path: &Path, text: &[u8]) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    htc_hooks::os::process_table::read_process(pid).is_some_and(|process| !process.is_zombie())
}

/// The line of a script that prints so many bytes without a newline, out of a small file at this path: making them up would take
/// longer than reading them.
pub(crate) fn flood(file: &Path, bytes: usize) -> String {
    std::fs::write(file, vec![b'y'; bytes / 32]).unwrap();
    format!("set -- '{}'; for one in 1 2 3 4 5; do set -- \"$@\" \"$@\"; done; cat \"$@\"", file.display())
}
