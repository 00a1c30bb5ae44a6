//! Programs that tests write, and the processes that run them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// Time limit of waits for events that must happen.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Writes an executable file.
pub(crate) fn write_executable(path: &Path, text: &[u8]) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns true if a process exists and is not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    htc_hooks::os::process_table::read_process(pid).is_some_and(|process| !process.is_zombie())
}

/// Returns a script line that prints this many bytes without a newline. It uses a small file at this path, because generating the
/// bytes would take longer than reading them.
pub(crate) fn flood(file: &Path, bytes: usize) -> String {
    std::fs::write(file, vec![b'y'; bytes / 32]).unwrap();
    format!("set -- '{}'; for one in 1 2 3 4 5; do set -- \"$@\" \"$@\"; done; cat \"$@\"", file.display())
}
