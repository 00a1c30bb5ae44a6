//! `$F<flags>()`, `$BASENAME()` and `$DIRNAME()`: parts of a path (`config.cpp`, `evaluate_macro_func`,
//! `strdup_path_quoted`).
//!
//! The reference cuts its result out of one buffer and overwrites bytes of it with quotes, which is why some
//! flags produce unpaired quotes. The same buffer is used here for the same results.

use htc_base::text::caseless;

/// Flags of `$F`.
#[derive(Clone, Copy, Default)]
struct FilenameFlags {
    extension: bool,
    name: bool,
    path: bool,
    directories: usize,
    quote: Option<u8>,
    full_path: bool,
    separator: Option<u8>,
    strips_separators: bool,
}

/// Evaluates `$BASENAME(path,suffix)`.
pub(crate) fn basename(path: &[u8], suffix: Option<&[u8]>) -> Vec<u8> {
    let parts = FilenameFlags { extension: true, name: true, ..FilenameFlags::default() };
    cut_path(path, parts, suffix, None)
}

/// Evaluates `$DIRNAME(path)`.
pub(crate) fn dirname(path: &[u8]) -> Vec<u8> {
    cut_path(path, FilenameFlags { path: true, ..FilenameFlags::default() }, None, None)
}

/// Evaluates `$F<flags>(path)`; `call` is the name of the function with its flags. With flag `f`, a relative
/// path is appended to `directory`.
pub(crate) fn apply_filename_flags(path: &[u8], call: &[u8], directory: Option<&[u8]>) -> Vec<u8> {
    let mut parts = FilenameFlags::default();
    let (mut quoted, mut for_arguments) = (false, false);
    for flag in call.strip_prefix(b"F").unwrap_or(call) {
        match flag | 0x20 {
            b'x' => parts.extension = true,
            b'n' => parts.name = true,
            b'p' => parts.path = true,
            b'd' => parts.directories += 1,
            b'a' => for_arguments = true,
            b'b' => parts.strips_separators = true,
            b'f' => parts.full_path = true,
            b'w' => parts.separator = Some(b'\\'),
            b'u' => parts.separator = Some(b'/'),
            b'q' => quoted = true,
            _ => {}
        }
    }
    parts.quote = quoted.then_some(if for_arguments { b'\'' } else { b'"' });
    cut_path(path, parts, None, directory)
}

/// Removes one pair of equal quotes around the text.
fn strip_quotes(text: &[u8]) -> &[u8] {
    match text {
        [first, inner @ .., last] if first == last && matches!(first, b'"' | b'\'') => inner,
        _ => text,
    }
}

/// Copies a text, removing a quote at either end and adding `quote` around it (`strcpy_quoted`).
fn copy_quoted(text: &[u8], quote: Option<u8>) -> Vec<u8> {
    let mut text = text;
    if let Some((&first, rest)) = text.split_first()
        && (first == b'"' || Some(first) == quote)
    {
        text = rest.strip_suffix(&[first]).unwrap_or(rest);
    }
    let mut copy = Vec::with_capacity(text.len() + 3);
    copy.extend(quote);
    copy.extend_from_slice(text);
    copy.extend(quote);
    copy
}

/// Returns the buffer with the whole path, out of which the result is cut.
fn full_path_buffer(path: &[u8], parts: FilenameFlags, directory: Option<&[u8]>) -> Vec<u8> {
    let convert_separators = |mut text: Vec<u8>| {
        if let Some(separator) = parts.separator {
            let other = if separator == b'/' { b'\\' } else { b'/' };
            for byte in &mut text {
                if *byte == other {
                    *byte = separator;
                }
            }
        }
        text
    };
    let inner = strip_quotes(path);
    let directory = directory.filter(|directory| !directory.is_empty() && parts.full_path);
    match directory {
        Some(directory) if inner.first() != Some(&b'/') => {
            let delimiter = parts.separator.unwrap_or(b'/');
            let mut joined = directory.strip_suffix(b"/").unwrap_or(directory).to_vec();
            joined.push(delimiter);
            joined.extend_from_slice(
                inner.strip_prefix(b"./").filter(|rest| !rest.is_empty()).unwrap_or(inner),
            );
            convert_separators(copy_quoted(&joined, parts.quote))
        }
        _ => convert_separators(copy_quoted(inner, parts.quote)),
    }
}

/// Returns the offset of the name including its last `directories` directories, or `None` if there are fewer
/// (`condor_basename_plus_dirs`, which reads beyond its array in that case).
fn name_start_with_directories(buffer: &[u8], directories: usize) -> Option<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    if buffer.starts_with(br"\\") {
        at = if buffer[2..].starts_with(br".\") { 4 } else { 2 };
        starts.push(at);
    }
    starts.extend((at..buffer.len()).filter(|&at| matches!(buffer[at], b'/' | b'\\')).map(|at| at + 1));
    let kept = starts.len().checked_sub(directories)?;
    Some(kept.checked_sub(1).map_or(0, |last| starts[last]))
}

/// Returns the offset of the extension's dot within a file name, or its length if it has none.
fn extension_offset(name: &[u8]) -> usize {
    memchr::memrchr(b'.', name).filter(|&dot| dot > 0).unwrap_or(name.len())
}

fn cut_path(
    path: &[u8],
    mut parts: FilenameFlags,
    suffix: Option<&[u8]>,
    directory: Option<&[u8]>,
) -> Vec<u8> {
    let buffer = full_path_buffer(path, parts, directory);
    let mut end = buffer.len();
    let name = memchr::memrchr(b'/', &buffer).map_or(0, |slash| slash + 1);
    let mut dot = name + extension_offset(&buffer[name..]);
    if let Some(suffix) = suffix
        && end - name >= suffix.len()
        && caseless::eq(suffix, &buffer[end - suffix.len()..])
    {
        dot = end - suffix.len();
        parts.extension = false;
    }
    if name == 0 && (parts.extension || parts.name) {
        parts.path = false;
        parts.directories = 0;
    }
    let mut start = 0;
    match (parts.directories > 0, parts.path, parts.name, parts.extension) {
        (false, false, false, true) => start = dot + usize::from(parts.strips_separators && dot < end),
        (false, false, true, true) => start = name,
        (false, false, true, false) => (start, end) = (name, dot),
        (false, false, false, false) | (false, true, true, true) | (false, true, false, true) => {}
        (false, true, false, false) => end = name.saturating_sub(usize::from(parts.strips_separators)),
        (false, true, true, false) => end = dot,
        (true, _, has_name, has_extension) => {
            if name == 0 {
                (start, end) = (1, 1);
            } else {
                match name_start_with_directories(&buffer, parts.directories) {
                    Some(found) => start = found,
                    None => return Vec::new(),
                }
                match (has_name, has_extension) {
                    (true, false) => end = dot,
                    (false, false) => end = name - usize::from(parts.strips_separators),
                    _ => {}
                }
            }
        }
    }
    requote(buffer, start, end, parts.quote)
}

/// Returns a part of the buffer with the quotes restored.
fn requote(mut buffer: Vec<u8>, mut start: usize, mut end: usize, quote: Option<u8>) -> Vec<u8> {
    // Zero bytes reserve space for the quotes; a zero byte that is left ends the result.
    buffer.resize(buffer.len().max(end) + 3, 0);
    if let Some(quote) = quote {
        if buffer[start] != quote && start > 0 {
            start -= 1;
            buffer[start] = quote;
        }
        if end > 1 && buffer[end - 1] == quote {
            end -= 1;
        }
        buffer[end] = quote;
        end += 1;
    }
    let result = buffer.get(start..end).unwrap_or_default();
    result[..memchr::memchr(0, result).unwrap_or(result.len())].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(call: &str, path: &str) -> String {
        String::from_utf8(apply_filename_flags(path.as_bytes(), call.as_bytes(), None)).unwrap()
    }

    #[test]
    fn paths_are_split_into_their_parts() {
        let path = "/a/b.c/d.e.f";
        for (call, expected) in [
            ("Fn", "d.e"),
            ("Fx", ".f"),
            ("Fd", "b.c/"),
            ("Fdd", "a/b.c/"),
            ("Fpn", "/a/b.c/d.e"),
            ("Fdnx", "b.c/d.e.f"),
            ("Fpb", "/a/b.c"),
            ("Fxb", "f"),
            ("Fw", "\\a\\b.c\\d.e.f"),
            ("Fp", "/a/b.c/"),
        ] {
            assert_eq!(f(call, path), expected, "{call}");
        }
        assert_eq!(f("Fqa", "\"/a/b c/d.txt\""), "'/a/b c/d.txt'");
        assert_eq!(f("Fqn", "\"/a/b c/d.txt\""), "\"d\"");
        assert_eq!(f("Fpx", "file.tar.gz"), ".gz");
        assert_eq!(f("Fx", ".bashrc"), "");
        assert_eq!(f("F", "NOPE"), "NOPE");
    }

    #[test]
    fn lone_quotes_of_empty_parts_are_printed() {
        assert_eq!(f("Fqp", "file"), "\"");
        assert_eq!(f("Fqx", "noext"), "\"");
        assert_eq!(f("Fqd", "file"), "\"\"");
    }

    #[test]
    fn basename_removes_suffixes() {
        assert_eq!(basename(b"/x/file.tar.gz", Some(b".TAR.GZ")), b"file");
        assert_eq!(basename(b"/x/file.tar.gz", None), b"file.tar.gz");
        assert_eq!(dirname(b"/a/b.c/d"), b"/a/b.c/");
    }
}
