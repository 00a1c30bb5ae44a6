//! A reader of the book: an ordinary user in an empty directory, with the programs on PATH.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The account used if root runs the tests, since readers are ordinary users.
pub(crate) const NOBODY: u32 = 65534;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The book's name for a chapter's directory; as long as the real name, so that tables keep their columns.
pub(crate) const SHOWN: &str = "/home/ann/hooks";

/// Creates a directory that is empty except for `examples`, which every reader of the sources has too.
pub(crate) fn place() -> tempfile::TempDir {
    let random = SHOWN.len() - "/tmp/".len();
    let place = tempfile::Builder::new().prefix("").rand_bytes(random).tempdir_in("/tmp").unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    // The account may have no access to the sources if root runs the tests.
    let copied = Command::new("cp")
        .arg("-R")
        .args([root().join("examples"), place.path().to_owned()])
        .status()
        .unwrap();
    assert!(copied.success());
    if nix::unistd::geteuid().is_root() {
        let given = Command::new("chown")
            .args(["-R", &format!("{NOBODY}:{NOBODY}")])
            .arg(place.path())
            .status()
            .unwrap();
        assert!(given.success());
    }
    place
}

/// Returns a directory with the programs that the reader can access, wherever they were built.
fn programs() -> &'static Path {
    static PLACE: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).parent().unwrap();
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        for program in htc_hooks::cli::PROGRAMS {
            let (from, to) = (built.join(program.name), place.path().join(program.name));
            // The directory remains after the test, so the programs are copied only if no link is possible.
            let shared = if nix::unistd::geteuid().is_root() {
                fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop))
            } else {
                std::os::unix::fs::symlink(&from, &to)
            };
            shared.unwrap();
        }
        place
    });
    PLACE.path()
}

/// Returns a command that calls `program` in `place` as the reader does.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, place: &Path) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", "umask 022 && exec \"$0\" \"$@\""]).arg(program);
    if nix::unistd::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .current_dir(place)
        .env_clear()
        .env("PATH", format!("{}:{path}", programs().display()))
        .env("HTC_PROGRAMS", programs())
        .env("HOME", place)
        .env("USER", "ann")
        .env("LANG", "C.UTF-8")
        .env("TZ", "UTC");
    command
}
