//! `TRANSFORM [count] [variables] [in|from|matching ...]`: the iteration of rules files
//! (`SubmitForeachArgs::parse_queue_args`, `MacroStreamXFormSource::parse_iterate_args`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashSet;

use super::glob::{self, FileKindFilter};
use htc_base::text::space::{is_space, trim, trim_start};
use htc_base::world::World;
use htc_config::lines::LogicalLines;

/// Source of the items of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeachMode {
    /// Only a count, without items.
    CountOnly,
    /// `in`: the words of a list.
    In,
    /// `from`: lines.
    From,
    /// `matching`: file names.
    Matching(FileKindFilter),
}

/// Arguments of TRANSFORM after macro expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationArguments {
    /// Number of runs for each item.
    pub count: u32,
    /// Names of the variables; not empty if there are items.
    pub variables: Vec<BString>,
    /// Keyword that determines the kind of items.
    pub foreach_mode: ForeachMode,
    /// Items on the TRANSFORM line.
    pub items: Vec<BString>,
    /// Source of further items.
    pub source: ItemSource,
}

/// Source of items that are not on the TRANSFORM line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemSource {
    /// No further items.
    Line,
    /// The following lines of the rules file, up to one that begins with `)`.
    FollowingLines,
    /// Standard input.
    StandardInput,
    /// A file, or a command if the text ends in `|`.
    File(BString),
}

/// Reason why the arguments cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IterationError {
    /// The count, a keyword or a slice is not valid.
    #[error("invalid TRANSFORM statement")]
    Invalid,
    /// The closing parenthesis of the list is missing.
    #[error("Reached end of file without finding closing brace ')' for TRANSFORM command on line {0}")]
    NoClosingBrace(u32),
    /// The item file cannot be read.
    #[error("can't open item file {name}{}{reason}", if reason.is_empty() { "" } else { ": " })]
    Unreadable {
        /// Name of the file, or the command with its final `|`.
        name: BString,
        /// Reason, or empty if it is unknown.
        reason: String,
    },
    /// The items cannot be read from standard input.
    #[error("cannot read the items from standard input: {0}")]
    StandardInput(String),
}

/// Returns true if the arguments request more than one plain run (`is_non_trivial_iterate`).
pub fn is_non_trivial(arguments: &[u8]) -> bool {
    let digits = arguments.iter().take_while(|b| b.is_ascii_digit()).count();
    let number: Option<u64> = arguments[..digits].to_str().ok().and_then(|digits| digits.parse().ok());
    !arguments.is_empty() && (!trim(&arguments[digits..]).is_empty() || !matches!(number, Some(0 | 1)))
}

/// Parses expanded arguments. `integer` evaluates the count like an integer parameter.
pub fn parse_arguments(
    arguments: &[u8],
    integer: impl Fn(&[u8]) -> Option<i64>,
) -> Result<IterationArguments, IterationError> {
    let text = trim(arguments);
    let mut parsed = IterationArguments {
        count: 1,
        variables: Vec::new(),
        foreach_mode: ForeachMode::CountOnly,
        items: Vec::new(),
        source: ItemSource::Line,
    };
    let mut count_end = text.len();
    if let Some((keyword_at, keyword_end, foreach)) = find_keyword(text) {
        parsed.foreach_mode = foreach;
        let list = skip_qualifiers(&text[keyword_end..], &mut parsed.foreach_mode)?;
        read_list(list, &mut parsed);
        let before = trim_end(&text[..keyword_at]);
        count_end = variables_start(before);
        parsed.variables = split_words(&before[count_end..]).map(BString::from).collect();
        if parsed.variables.is_empty() {
            parsed.variables.push("Item".into());
        }
    }
    let count = trim(&text[..count_end]);
    if !count.is_empty() {
        let value = integer(count).ok_or(IterationError::Invalid)?;
        parsed.count = u32::try_from(value)
            .ok()
            .filter(|&value| value < i32::MAX as u32)
            .ok_or(IterationError::Invalid)?;
    }
    Ok(parsed)
}

/// Function that reads a file of items, or standard input if its argument is `None`.
pub type ReadItems<'a> = &'a mut dyn FnMut(Option<&Path>) -> std::io::Result<Vec<u8>>;

/// Reads all items. Returns them with the number of bytes read from the rules file. `rest` is the rules file
/// after the TRANSFORM line, and `line` is the number of that line.
///
/// # Errors
/// The list is not closed, or a file or command cannot be read.
pub fn read_items(
    arguments: &IterationArguments,
    rest: &[u8],
    line: u32,
    world: &dyn World,
    read: ReadItems<'_>,
    command: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<(Vec<BString>, usize), IterationError> {
    let mut items = arguments.items.clone();
    let mut consumed = 0;
    let mut take = |text: &[u8]| match arguments.foreach_mode {
        ForeachMode::From => items.push(text.into()),
        _ => items.extend(split_words(text).map(BString::from)),
    };
    match &arguments.source {
        ItemSource::Line => {}
        ItemSource::FollowingLines => {
            let mut reader = LogicalLines::new(rest);
            loop {
                let item = reader.next_line().ok_or(IterationError::NoClosingBrace(line))?;
                match item.text.first() {
                    Some(b'#') => {}
                    Some(b')') => break,
                    _ => take(&item.text),
                }
            }
            consumed = reader.bytes_read();
        }
        ItemSource::StandardInput => read(None)
            .map_err(|error| IterationError::StandardInput(error.to_string()))?
            .lines()
            .for_each(|text| take(trim(text))),
        ItemSource::File(name) => {
            let path = Path::new(OsStr::from_bytes(name));
            let text = match name.strip_suffix(b"|") {
                Some(words) => command(trim(words)).ok_or_else(String::new),
                None => read(Some(path)).map_err(|error| error.to_string()),
            };
            let text = text.map_err(|reason| IterationError::Unreadable { name: name.clone(), reason })?;
            items.extend(text.lines().map(|text| BString::from(trim(text))));
        }
    }
    if let ForeachMode::Matching(kind) = arguments.foreach_mode {
        let mut seen = FxHashSet::default();
        let found = items.iter().flat_map(|pattern| glob::expand_pattern(pattern, kind, world));
        items = found.filter(|name| seen.insert(name.clone())).collect();
    }
    Ok((items, consumed))
}

/// Splits an item into the values of its variables. Each variable except the last one gets the text up to a space, tab
/// or comma; whitespace after this separator is skipped. Returns fewer values if the item is too short.
pub fn split_item(item: &[u8], variables: usize) -> Vec<&[u8]> {
    let mut fields = Vec::with_capacity(variables);
    let mut rest = item;
    while fields.len() + 1 < variables {
        let Some(end) = rest.iter().position(|b| b", \t".contains(b)) else { break };
        fields.push(&rest[..end]);
        rest = rest[end + 1..].trim_start_with(|c| c == ' ' || c == '\t');
    }
    fields.push(rest);
    fields
}

/// Splits a list into words, separated by spaces, tabs, newlines or commas; empty words are dropped.
pub fn split_words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| b", \t\r\n".contains(b)).filter(|word| !word.is_empty())
}

fn trim_end(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&b| !is_space(b)).map_or(0, |at| at + 1)]
}

/// Finds the first of the words `in`, `from` and `matching` that is followed by whitespace or `(`. Returns
/// its start, its end and its mode.
fn find_keyword(text: &[u8]) -> Option<(usize, usize, ForeachMode)> {
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        if !is_space(byte) && byte != b'(' {
            continue;
        }
        let word = &text[start..at];
        let foreach = [
            (&b"in"[..], ForeachMode::In),
            (b"from", ForeachMode::From),
            (b"matching", ForeachMode::Matching(FileKindFilter::Unspecified)),
        ];
        if let Some((_, foreach)) = foreach.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)) {
            return Some((start, at, *foreach));
        }
        start = at + 1;
    }
    None
}

/// Skips `files`, `dirs`, `any`, `table` and slices. Tables and slices are parsed but ignored, as in the
/// reference. A qualifier ends at whitespace or `(`; a word that extends to the end of the line is an item.
fn skip_qualifiers<'a>(text: &'a [u8], foreach: &mut ForeachMode) -> Result<&'a [u8], IterationError> {
    let mut rest = trim_start(text);
    while let Some(end) = rest.iter().position(|&b| is_space(b) || b == b'(').filter(|&end| end > 0) {
        if rest[0] == b'[' {
            rest = trim_start(skip_slice(rest).ok_or(IterationError::Invalid)?);
            continue;
        }
        let kind = match rest[..end].to_ascii_lowercase().as_slice() {
            b"files" => FileKindFilter::Files,
            b"dirs" => FileKindFilter::Directories,
            b"any" => FileKindFilter::Any,
            b"table" if *foreach == ForeachMode::From => {
                rest = trim_start(skip_table_options(&rest[end..]).ok_or(IterationError::Invalid)?);
                continue;
            }
            b"table" => return Err(IterationError::Invalid),
            _ => break,
        };
        // A file kind may appear once, after `matching` alone.
        if *foreach != ForeachMode::Matching(FileKindFilter::Unspecified) {
            return Err(IterationError::Invalid);
        }
        *foreach = ForeachMode::Matching(kind);
        rest = trim_start(&rest[end..]);
    }
    Ok(rest)
}

/// Returns the text after a slice `[start:end:step]`, in which numbers may be missing (`qslice::set`).
fn skip_slice(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    for colons in 0..3 {
        rest = skip_number(&rest[1..]);
        match rest.first()? {
            b']' if colons == 2 => return Some(rest[1..].strip_prefix(b"]").unwrap_or(&rest[1..])),
            b']' => return Some(&rest[1..]),
            b':' if colons < 2 => {}
            _ => return None,
        }
    }
    None
}

/// Returns the text after an integer as strtol reads it, or the whole text if there is no integer.
fn skip_number(text: &[u8]) -> &[u8] {
    let signed = trim_start(text);
    let digits = signed.strip_prefix(b"-").or_else(|| signed.strip_prefix(b"+")).unwrap_or(signed);
    match digits.iter().take_while(|b| b.is_ascii_digit()).count() {
        0 => text,
        length => &digits[length..],
    }
}

/// Returns the text after the options of a table. The options may be missing or are in parentheses, in which brackets
/// nest and quoted brackets are ignored.
fn skip_table_options(text: &[u8]) -> Option<&[u8]> {
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    if text.first() != Some(&b'(') {
        return Some(text);
    }
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'"' | b'\'' => {
                while *text.get(at)? != byte {
                    at += if text[at] == b'\\' && text.get(at + 1).is_some_and(|&b| b == byte || b == b'\\') {
                        2
                    } else {
                        1
                    };
                }
                at += 1;
            }
            _ if open.last() == Some(&byte) => {
                open.pop();
                if open.is_empty() {
                    return Some(&text[at..]);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads the list after the keyword and its qualifiers.
fn read_list(list: &[u8], parsed: &mut IterationArguments) {
    let take = |text: &[u8]| -> Vec<BString> {
        match parsed.foreach_mode {
            ForeachMode::From => vec![trim_start(text).into()],
            _ => split_words(text).map(BString::from).collect(),
        }
    };
    let closed = list.strip_prefix(b"(").and_then(|inner| inner.strip_suffix(b")"));
    // A second opening parenthesis starts a list of several lines, even if this line also closes the list.
    match closed.unwrap_or(list).strip_prefix(b"(") {
        Some(inner) => {
            parsed.source = ItemSource::FollowingLines;
            if !trim_start(inner).is_empty() {
                parsed.items = take(trim_start(inner));
            }
        }
        None if closed.is_none() && parsed.foreach_mode == ForeachMode::From => {
            let name = trim(list);
            parsed.source = match name {
                b"" => ItemSource::Line,
                b"-" => ItemSource::StandardInput,
                b"<" => ItemSource::FollowingLines,
                name => ItemSource::File(name.into()),
            };
        }
        None => parsed.items = take(closed.unwrap_or(list)),
    }
}

/// Returns the start of the variable names, searching backwards from the keyword: they consist of letters,
/// `_`, `.`, commas, whitespace, and digits after a letter.
fn variables_start(text: &[u8]) -> usize {
    let mut start = text.len();
    let mut at = text.len();
    while at > 0 {
        let mut byte = text[at - 1];
        if byte.is_ascii_digit() {
            at -= 1;
            while at > 0 {
                byte = text[at - 1];
                if byte.is_ascii_alphabetic() {
                    break;
                }
                if !byte.is_ascii_digit() {
                    byte = b'!';
                    break;
                }
                at -= 1;
            }
        }
        if !(is_space(byte) || byte.is_ascii_alphabetic() || matches!(byte, b',' | b'_' | b'.')) || at == 0 {
            break;
        }
        start = at - 1;
        at -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Result<IterationArguments, IterationError> {
        parse_arguments(text.as_bytes(), |count| count.to_str().ok()?.parse().ok())
    }

    #[test]
    fn count_variables_and_list_are_distinguished() {
        let parsed = arguments("2 a,b in (x y, z)").unwrap();
        assert_eq!(parsed.count, 2);
        assert_eq!(parsed.variables, ["a", "b"]);
        assert_eq!(parsed.items, ["x", "y", "z"]);
    }

    #[test]
    fn the_default_variable_is_item() {
        assert_eq!(arguments("from data").unwrap().variables, ["Item"]);
        assert_eq!(arguments("from data").unwrap().source, ItemSource::File("data".into()));
        assert_eq!(arguments("3").unwrap().variables, [""; 0]);
        assert_eq!(arguments("x y"), Err(IterationError::Invalid));
    }

    #[test]
    fn the_last_variable_takes_the_rest() {
        assert_eq!(split_item(b"a b  c d", 3), [&b"a"[..], b"b", b"c d"]);
        assert_eq!(split_item(b"a", 3), [&b"a"[..]]);
        assert_eq!(split_item(b"a,, b", 2), [&b"a"[..], b", b"]);
    }

    #[test]
    fn trivial_arguments_do_not_iterate() {
        assert!(!is_non_trivial(b""));
        assert!(!is_non_trivial(b"1 "));
        assert!(is_non_trivial(b"2"));
        assert!(is_non_trivial(b"1v in (a)"));
        assert!(is_non_trivial(b"in (a)"));
    }
}
