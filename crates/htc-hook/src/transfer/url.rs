//! Recognition of URLs in lists of files, and their parts.

use bstr::{BString, ByteSlice};

/// Returns the length of the scheme, or `None` if the name is not a URL: a letter, then letters, digits and `+-.`, then `://` and
/// at least one more byte (`IsUrl`, condor_url.cpp).
fn scheme_end(name: &[u8]) -> Option<usize> {
    if !name.first()?.is_ascii_alphabetic() {
        return None;
    }
    let of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let end = name.iter().position(|byte| !of_scheme(byte))?;
    (name[end..].starts_with(b"://") && name.len() > end + 3).then_some(end)
}

/// Returns true if a name is a URL.
pub fn is_url(name: &[u8]) -> bool {
    scheme_end(name).is_some()
}

/// Returns the part of the scheme after its last `+`, `-` or `.`, which selects the plugin (`getURLType`), or `None` if the name
/// is not a URL.
pub fn scheme(name: &[u8]) -> Option<&[u8]> {
    let whole = &name[..scheme_end(name)?];
    let start = whole.iter().rposition(|byte| b"+-.".contains(byte)).map_or(0, |at| at + 1);
    Some(&whole[start..])
}

/// Returns the part of a path or URL after the last slash; the query of a URL is removed first.
pub fn base_name(name: &[u8]) -> &[u8] {
    let path = match is_url(name) {
        true => &name[..name.find_byte(b'?').unwrap_or(name.len())],
        false => name,
    };
    path.rfind_byte(b'/').map_or(path, |at| &path[at + 1..])
}

/// Returns the text of a URL for messages: `...` replaces the query, which may contain a signature (`UrlSafePrint`).
pub fn without_query(name: &[u8]) -> BString {
    match name.find_byte(b'?').filter(|_| is_url(name)) {
        Some(at) => [&name[..at], b"?..."].concat().into(),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_scheme_and_a_rest() {
        let schemes = [
            ("http://x", Some("http")),
            ("osdf+http://x/y", Some("http")),
            ("a.b-c://z", Some("c")),
            ("DBL://ok/f", Some("DBL")),
            ("http://", None),
            ("1http://x", None),
            ("a/b://c", None),
            ("://c", None),
            ("", None),
        ];
        for (name, wanted) in schemes {
            assert_eq!(scheme(name.as_bytes()), wanted.map(str::as_bytes), "{name}");
        }
    }

    #[test]
    fn the_query_is_not_part_of_the_name() {
        assert_eq!(base_name(b"dbl://ok/path/f3?x=1&y=/2"), b"f3");
        assert_eq!(base_name(b"dir/a?b"), b"a?b");
        assert_eq!(without_query(b"http://x/y?secret"), "http://x/y?...");
    }
}
