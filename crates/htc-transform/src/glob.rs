//! File name patterns of `TRANSFORM ... matching`, with the syntax of glob(3).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteVec};

use htc_base::world::{FileKind, World};

/// Kinds of files that `matching` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKindFilter {
    /// No kind is given: files and directories.
    Unspecified,
    /// `any`: files and directories.
    Any,
    /// `files`: files only.
    Files,
    /// `dirs`: directories only.
    Directories,
}

/// Returns the matching names, sorted; directories end in `/`. With `Directories`, a name without wildcards
/// need only exist, because the flag that the reference passes to glob(3) is only a hint.
pub(super) fn expand_pattern(pattern: &[u8], kind: FileKindFilter, world: &dyn World) -> Vec<BString> {
    let (absolute, relative) = match pattern.strip_prefix(b"/") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let mut found = vec![BString::from(if absolute { "/" } else { "" })];
    let parts: Vec<&[u8]> = relative.split(|&b| b == b'/').filter(|part| !part.is_empty()).collect();
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        found = found.iter().flat_map(|base| match_entries(base, part, last, world)).collect();
    }
    let literal = !parts.last().is_some_and(|part| has_wildcard(part));
    found.retain_mut(|name| {
        let directory = is_directory(name, world);
        if directory && !name.ends_with(b"/") {
            name.push_byte(b'/');
        }
        !name.is_empty()
            && (directory || !pattern.ends_with(b"/"))
            && match kind {
                FileKindFilter::Unspecified | FileKindFilter::Any => true,
                FileKindFilter::Files => !directory,
                FileKindFilter::Directories => directory || literal,
            }
    });
    found.sort();
    found
}

fn has_wildcard(part: &[u8]) -> bool {
    part.iter().any(|b| b"*?[\\".contains(b))
}

/// Returns the entries of `base` that match one component of the pattern.
fn match_entries(base: &BString, part: &[u8], last: bool, world: &dyn World) -> Vec<BString> {
    let join = |name: &[u8]| {
        let mut path = base.clone();
        path.extend_from_slice(name);
        if !last {
            path.push(b'/');
        }
        path
    };
    if !has_wildcard(part) {
        let path = join(part);
        return if world.stat(OsStr::from_bytes(&path).as_ref()).is_ok() { vec![path] } else { Vec::new() };
    }
    let directory: &[u8] = if base.is_empty() { b"." } else { base };
    let names = world.list_dir(OsStr::from_bytes(directory).as_ref()).unwrap_or_default();
    let names = names.iter().map(|name| name.as_bytes());
    // glob(3) also reads the entries `.` and `..` of a directory.
    [&b"."[..], b".."]
        .into_iter()
        .chain(names)
        .filter(|name| !name.starts_with(b".") || part.starts_with(b"."))
        .filter(|name| matches(part, name))
        .map(join)
        .filter(|path| last || is_directory(path, world))
        .collect()
}

fn is_directory(path: &[u8], world: &dyn World) -> bool {
    world.stat(OsStr::from_bytes(path).as_ref()).is_ok_and(|status| status.kind == FileKind::Directory)
}

/// Returns true if a name matches a pattern of `*`, `?`, `[...]` and `\x`. Takes time at most proportional to the
/// product of the two lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut byte_at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while byte_at < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, byte_at));
            at += 1;
        } else if let Some(next) = match_byte(&pattern[at..], name[byte_at]) {
            at += next;
            byte_at += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, byte_at) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&b| b == b'*')
}

/// Returns the number of pattern bytes that match this byte of the name, or `None` if the pattern does not match the
/// byte.
fn match_byte(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => Some(1),
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        b'[' => {
            let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
            let start = 1 + usize::from(negated);
            let Some(length) = memchr::memchr(b']', pattern.get(start + 1..)?) else {
                return (byte == b'[').then_some(1);
            };
            let end = start + 1 + length;
            (is_in_class(&pattern[start..end], byte) != negated).then_some(end + 1)
        }
        literal => (literal == byte).then_some(1),
    }
}

fn is_in_class(class: &[u8], byte: u8) -> bool {
    let mut at = 0;
    while at < class.len() {
        if at + 2 < class.len() && class[at + 1] == b'-' {
            if (class[at]..=class[at + 2]).contains(&byte) {
                return true;
            }
            at += 3;
        } else {
            if class[at] == byte {
                return true;
            }
            at += 1;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        assert!(matches(b"a*c?", b"abbcd"));
        assert!(!matches(b"a*c?", b"abbc"));
        assert!(matches(b"[!a-c]x", b"dx"));
        assert!(!matches(b"[!a-c]x", b"bx"));
        assert!(matches(b"\\*", b"*"));
        assert!(!matches(&[b'*'; 40], b"").eq(&false));
    }
}
