//! Directories in which the access point permits files to be read and written (LIMIT_DIRECTORY_ACCESS,
//! LimitDirectoryAccess).
//!
//! Reference: `limit_directory_access.cpp`; denied access fails with "Permission denied" (`reli_sock.cpp`).

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};
use nix::errno::Errno;

/// Rejects a path that is outside of the permitted directories. If `allowed` is empty, every path is permitted.
pub(super) fn check(allowed: &[BString], path: &Path) -> io::Result<()> {
    if allowed.is_empty() || path == Path::new("/dev/null") {
        return Ok(());
    }
    // Symbolic links and dots are resolved in the part of the path that exists.
    let place = match fs::canonicalize(path) {
        Ok(path) => BString::from(path.as_os_str().as_bytes()),
        Err(_) => canonical_directory(path.parent().unwrap_or(Path::new("/")))?,
    };
    check_allowed(allowed, &place)
}

/// Checks a directory in which a file or directory will be created.
pub(super) fn check_directory(allowed: &[BString], path: &Path) -> io::Result<()> {
    if allowed.is_empty() { Ok(()) } else { check_allowed(allowed, &canonical_directory(path)?) }
}

fn check_allowed(allowed: &[BString], place: &[u8]) -> io::Result<()> {
    let is_in = |limit: &BString| {
        let limit = fs::canonicalize(limit.to_path_lossy())
            .map_or_else(|_| limit.clone(), |limit| BString::from(limit.as_os_str().as_bytes()));
        !limit.is_empty() && begins_with(place, &limit)
    };
    match allowed.iter().any(is_in) {
        true => Ok(()),
        false => Err(Errno::EACCES.into()),
    }
}

/// Returns the canonical path of a directory with a trailing slash.
fn canonical_directory(path: &Path) -> io::Result<BString> {
    let path = fs::canonicalize(path).map_err(|_| io::Error::from(Errno::EACCES))?;
    let mut name = BString::from(path.as_os_str().as_bytes());
    if !name.ends_with(b"/") {
        name.push(b'/');
    }
    Ok(name)
}

/// Returns true if a path is in the directory `limit`, whose name may contain a `*`.
fn begins_with(path: &[u8], limit: &[u8]) -> bool {
    let mut limit = BString::from(limit);
    if !limit.ends_with(b"/") && !limit.ends_with(b"*") {
        limit.push(b'/');
    }
    match limit.split_once_str(b"*") {
        None => path.starts_with(&limit),
        Some((start, rest)) => {
            let rest = rest.strip_suffix(b"*").unwrap_or(rest);
            path.strip_prefix(start).is_some_and(|path| path.contains_str(rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_a_directory_at_a_slash_or_an_asterisk() {
        assert!(begins_with(b"/home/a/f", b"/home/a") && begins_with(b"/home/a/f", b"/home/a/"));
        assert!(!begins_with(b"/home/ab/f", b"/home/a"));
        assert!(begins_with(b"/home/ab/f", b"/home/a*") && begins_with(b"/home/ab/pub/f", b"/home/*/pub"));
        assert!(!begins_with(b"/srv/ab/f", b"/home/*"));
        assert!(
            !begins_with(b"/home/ab/public_key", b"/home/*/pub")
                && !begins_with(b"/home/ab/pub-s/f", b"/home/*/pub")
        );
    }
}
