//! What is mounted, and whether we may mount.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

/// One mount of our namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is.
    pub target: PathBuf,
    /// The kind of file system.
    pub kind: BString,
    /// The device or other source.
    pub source: BString,
}

/// All mounts in the order they were made; none where `/proc` is missing.
pub fn list() -> Vec<Mount> {
    parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
}

fn parse(text: &[u8]) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (before, after) = line.split_once_str(" - ")?;
            let target = unescape(before.split_str(" ").nth(4)?);
            let mut after = after.split_str(" ");
            let kind = BString::from(after.next()?);
            let source = BString::from(unescape(after.next()?));
            Some(Mount { target: PathBuf::from(std::ffi::OsString::from_vec(target)), kind, source })
        })
        .collect()
}

/// Blanks, tabs, newlines and backslashes stand as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
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

/// Whether `ChildSpec::mounts` can work here: it takes a mount namespace, which needs CAP_SYS_ADMIN.
pub fn may_mount() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    super::identity::capabilities() & SYS_ADMIN != 0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn escaped_blanks_and_optional_fields_are_read() {
        let text = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\nnonsense\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].target, Path::new("/mnt 2"));
        assert_eq!(
            (mounts[0].kind.as_bstr(), mounts[0].source.as_bstr()),
            ("ext3".into(), "/dev/root".into())
        );
    }
}
