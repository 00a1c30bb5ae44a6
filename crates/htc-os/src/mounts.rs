//! List of mounts, unmounting, and the check that mounting is permitted.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MntFlags, umount2};

/// Mount in the mount namespace of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Id of the mount in the kernel.
    pub id: u64,
    /// Path of the mount point.
    pub target: PathBuf,
    /// Type of the file system.
    pub filesystem_type: BString,
    /// Device or other source.
    pub source: BString,
}

/// Returns all mounts in the order in which they were made, or an empty list if `/proc` is not mounted.
pub fn list_mounts() -> Vec<Mount> {
    parse_mountinfo(&fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn parse_mountinfo(text: &[u8]) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (before, after) = line.split_once_str(" - ")?;
            let id = before.split_str(" ").next()?.to_str().ok()?.parse().ok()?;
            let target = unescape_octal(before.split_str(" ").nth(4)?);
            let mut after = after.split_str(" ");
            let kind = BString::from(after.next()?);
            let source = BString::from(unescape_octal(after.next()?));
            Some(Mount {
                id,
                target: PathBuf::from(std::ffi::OsString::from_vec(target)),
                filesystem_type: kind,
                source,
            })
        })
        .collect()
}

/// Replaces escape sequences of a backslash and three octal digits by the spaces, tabs, newlines and
/// backslashes that they represent.
fn unescape_octal(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match tail.get(..3).and_then(octal) {
            Some(value) if byte == b'\\' => {
                plain.push(value);
                rest = &tail[3..];
            }
            _ => {
                plain.push(byte);
                rest = tail;
            }
        }
    }
    plain
}

/// Maximum number of attempts to remove one mount, because another process may keep moving the mount.
const MAX_UNMOUNT_TRIES: u32 = 3;

/// Maximum number of mounts to remove, so that a process that keeps adding mounts cannot keep us busy
/// forever.
const MAX_UNMOUNTS: usize = 10_000;

/// Mount that is to be removed, with the number of attempts and the result of the last attempt.
struct UnmountAttempt {
    mount: Mount,
    tries: u32,
    result: nix::Result<()>,
}

/// Unmounts all mounts on and below a directory, and returns the result for each mount. The outermost mount
/// is detached first, together with the mounts in it, so that no path within a foreign file system has to be
/// resolved.
pub fn unmount_below(directory: &Path) -> Vec<(PathBuf, nix::Result<()>)> {
    let mut all: Vec<UnmountAttempt> = Vec::new();
    for _ in 0..MAX_UNMOUNTS {
        let try_count =
            |id: u64| all.iter().find(|attempt| attempt.mount.id == id).map_or(0, |attempt| attempt.tries);
        let found = list_mounts().into_iter().filter(|mount| mount.target.starts_with(directory));
        // If several mounts have the same mount point, the last one hides the others.
        let next = found
            .rev()
            .filter(|mount| try_count(mount.id) < MAX_UNMOUNT_TRIES)
            .min_by_key(|mount| (try_count(mount.id), mount.target.components().count()));
        let Some(mount) = next else { break };
        let result = unmount(&mount);
        match all.iter_mut().find(|attempt| attempt.mount.id == mount.id) {
            Some(attempt) => (attempt.tries, attempt.result) = (attempt.tries + 1, result),
            None => all.push(UnmountAttempt { mount, tries: 1, result }),
        }
    }
    all.into_iter().map(|attempt| (attempt.mount.target, attempt.result)).collect()
}

/// Unmounts a mount through a descriptor of its mount point. The descriptor is opened without following links
/// and is checked to be in the expected mount. A path alone could lead anywhere when it is used, because the
/// owner of a directory on the path can replace the directory by a link.
pub fn unmount(mount: &Mount) -> nix::Result<()> {
    let options = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let mount_point = openat2(AT_FDCWD, &mount.target, options)?;
    if mount_id_of(&mount_point) != Some(mount.id) {
        return Err(Errno::ESTALE);
    }
    let itself = format!("/proc/self/fd/{}", mount_point.as_raw_fd());
    umount2(itself.as_str(), MntFlags::MNT_DETACH)
}

/// Returns the id of the mount that an open file or directory is in.
fn mount_id_of(open_file: &OwnedFd) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", open_file.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Returns true if we can set up `ChildSpec::mounts`: the private mount namespace requires CAP_SYS_ADMIN.
pub fn can_mount() -> bool {
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    super::identity::effective_capabilities() & CAP_SYS_ADMIN != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(place: &Path) -> bool {
        list_mounts().iter().any(|mount| mount.target == place)
    }

    #[test]
    fn a_link_in_the_path_does_not_unmount_anything_else() {
        if !can_mount() {
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(home.path()).unwrap();
        let (job, other) = (home.join("job"), home.join("other"));
        for place in [job.join("d/m"), other.join("m")] {
            fs::create_dir_all(&place).unwrap();
            let flags = nix::mount::MsFlags::empty();
            nix::mount::mount(Some("none"), &place, Some("tmpfs"), flags, None::<&str>).unwrap();
        }
        let listed = list_mounts().into_iter().find(|mount| mount.target == job.join("d/m")).unwrap();
        fs::rename(job.join("d"), job.join("e")).unwrap();
        std::os::unix::fs::symlink(&other, job.join("d")).unwrap();
        let result = unmount(&listed);
        let others = mounted(&other.join("m"));
        // Nothing is unmounted if a different file system is mounted at the path.
        let swapped = unmount(&Mount { target: other.join("m"), ..listed });
        let both = mounted(&other.join("m"));
        let below = unmount_below(&job);
        let last = unmount_below(&other);
        assert_eq!((result, others), (Err(Errno::ELOOP), true));
        assert_eq!((swapped, both), (Err(Errno::ESTALE), true));
        assert_eq!(below, [(job.join("e/m"), Ok(()))]);
        assert_eq!(last, [(other.join("m"), Ok(()))]);
        assert!(!list_mounts().iter().any(|mount| mount.target.starts_with(&home)));
    }

    #[test]
    fn escaped_blanks_and_optional_fields_are_read() {
        let text = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\nnonsense\n";
        let mounts = parse_mountinfo(text);
        assert_eq!(mounts.len(), 1);
        assert_eq!((mounts[0].id, mounts[0].target.as_path()), (36, Path::new("/mnt 2")));
        assert_eq!(
            (mounts[0].filesystem_type.as_bstr(), mounts[0].source.as_bstr()),
            ("ext3".into(), "/dev/root".into())
        );
    }
}
