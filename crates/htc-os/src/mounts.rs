//! What is mounted, and whether we may mount.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MntFlags, umount2};

/// One mount of our namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of it.
    pub id: u64,
    /// Where it is.
    pub target: PathBuf,
    /// The kind of file system.
    pub filesystem_type: BString,
    /// The device or other source.
    pub source: BString,
}

/// All mounts in the order they were made; none where `/proc` is missing.
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

/// Blanks, tabs, newlines and backslashes stand as three octal digits.
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

/// How often one is looked for again that somebody moves about meanwhile.
const MAX_UNMOUNT_TRIES: u32 = 3;

/// Nobody has that many; who makes new ones all the time is not followed for ever.
const MAX_UNMOUNTS: usize = 10_000;

/// What came of taking a mount away.
struct UnmountAttempt {
    mount: Mount,
    tries: u32,
    result: nix::Result<()>,
}

/// Takes away what is mounted on a directory and below it, and says of each whether that could be done. The outermost goes first, and
/// with it what is mounted in it, so that no file system of somebody else's is asked for a name.
pub fn unmount_below(directory: &Path) -> Vec<(PathBuf, nix::Result<()>)> {
    let mut all: Vec<UnmountAttempt> = Vec::new();
    for _ in 0..MAX_UNMOUNTS {
        let times = |id: u64| all.iter().find(|tried| tried.mount.id == id).map_or(0, |tried| tried.tries);
        let found = list_mounts().into_iter().filter(|mount| mount.target.starts_with(directory));
        // Of several on one place the last is the one that is seen.
        let next = found
            .rev()
            .filter(|mount| times(mount.id) < MAX_UNMOUNT_TRIES)
            .min_by_key(|mount| (times(mount.id), mount.target.components().count()));
        let Some(mount) = next else { break };
        let result = unmount(&mount);
        match all.iter_mut().find(|tried| tried.mount.id == mount.id) {
            Some(tried) => (tried.tries, tried.result) = (tried.tries + 1, result),
            None => all.push(UnmountAttempt { mount, tries: 1, result }),
        }
    }
    all.into_iter().map(|tried| (tried.mount.target, tried.result)).collect()
}

/// Takes one away. It is held by a descriptor first, which no link leads to, and which has to be of this mount: a path could lead
/// anywhere by the time that it is used, for whoever owns a directory on the way may put a link into its place.
pub fn unmount(mount: &Mount) -> nix::Result<()> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let held = openat2(AT_FDCWD, &mount.target, how)?;
    if mount_id_of(&held) != Some(mount.id) {
        return Err(Errno::ESTALE);
    }
    let itself = format!("/proc/self/fd/{}", held.as_raw_fd());
    umount2(itself.as_str(), MntFlags::MNT_DETACH)
}

/// The mount that a descriptor is in.
fn mount_id_of(held: &OwnedFd) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", held.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Whether `ChildSpec::mounts` can work here: it takes a mount namespace, which needs CAP_SYS_ADMIN.
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
    fn a_link_that_comes_into_the_way_takes_no_other_mount_away() {
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
        // Nor where another is mounted in the very place.
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
