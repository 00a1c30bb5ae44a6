//! URIs of documents and the paths of their files.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr as _;

use lsp_types::Uri;

/// Returns the URI of a file, or `None` if the path is not absolute.
pub fn uri_of_path(path: &Path) -> Option<Uri> {
    if !path.is_absolute() {
        return None;
    }
    let mut text = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    Uri::from_str(&text).ok()
}

/// Returns the path of a document. A document that is not in a file (`untitled:`) gets a path that no file has.
pub fn path_of_uri(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    let Some(rest) = text.strip_prefix("file://") else { return Path::new("/").join(text) };
    // A host name may precede the path.
    let path = rest.find('/').map_or(rest, |slash| &rest[slash..]);
    normalize(Path::new(&OsString::from_vec(decode_percents(path.as_bytes()))))
}

fn decode_percents(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    bytes
}

/// Removes `.` and `..` from a path without access to the file system.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_are_converted_both_ways() {
        for (path, uri) in [
            ("/etc/condor/condor_config", "file:///etc/condor/condor_config"),
            ("/a b/ü%.conf", "file:///a%20b/%C3%BC%25.conf"),
        ] {
            assert_eq!(uri_of_path(Path::new(path)).unwrap().as_str(), uri);
            assert_eq!(path_of_uri(&Uri::from_str(uri).unwrap()), Path::new(path));
        }
        let odd = Uri::from_str("file://host/a/./b/../c%3Ad").unwrap();
        assert_eq!(path_of_uri(&odd), Path::new("/a/c:d"));
        let untitled = Uri::from_str("untitled:Untitled-1").unwrap();
        assert_eq!(path_of_uri(&untitled), Path::new("/untitled:Untitled-1"));
        assert_eq!(uri_of_path(Path::new("relative")), None);
    }
}
