//! The templates of `use CATEGORY : NAME(arguments)` (`param_meta_value`, param_info.cpp).

use std::borrow::Cow;

use bstr::BString;

use htc_base::text::caseless;
use htc_base::text::space::{is_space, trim, trim_start};
use htc_base::text::table::{TableRow, count_lines, line_starts, table_row, unescape};

static TABLE_TEXT: &[u8] = include_bytes!("data/templates.tsv");
static ROW_STARTS: [u32; count_lines(include_bytes!("data/templates.tsv"))] =
    line_starts(include_bytes!("data/templates.tsv"));

/// A template of the table.
#[derive(Clone, Copy)]
pub struct Template {
    row: TableRow,
    index: u32,
}

impl Template {
    /// Returns the category in the table's spelling, such as `FEATURE`.
    pub fn category(self) -> &'static [u8] {
        self.row.key()
    }

    /// Returns the name in the table's spelling.
    pub fn name(self) -> &'static [u8] {
        self.row.field(1)
    }

    /// Returns the statements, with arguments not yet inserted.
    pub fn body(self) -> Cow<'static, [u8]> {
        unescape(self.row.field(2))
    }

    /// Returns the index in the table.
    pub fn index(self) -> u32 {
        self.index
    }
}

/// Returns all templates in the order of the table.
pub fn all() -> impl Iterator<Item = Template> {
    (0..ROW_STARTS.len()).filter_map(|index| by_index(index as u32))
}

/// Returns the template at an index of the table.
pub fn by_index(index: u32) -> Option<Template> {
    ((index as usize) < ROW_STARTS.len())
        .then(|| Template { row: table_row(TABLE_TEXT, &ROW_STARTS, index as usize), index })
}

/// Returns the category called `name`, in the table's spelling.
pub fn find_category(name: &[u8]) -> Option<&'static [u8]> {
    all().map(Template::category).find(|known| caseless::eq(known, name))
}

/// Returns the template with this category and name.
pub fn find(category: &[u8], name: &[u8]) -> Option<Template> {
    all().find(|template| caseless::eq(template.category(), category) && caseless::eq(template.name(), name))
}

/// One template in a `use` statement, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedTemplate<'a> {
    /// The template's name as written.
    pub name: &'a [u8],
    /// The text between the parentheses; empty if there are none.
    pub arguments: &'a [u8],
    /// True if a parenthesis is not closed.
    pub unbalanced: bool,
}

/// Parses the next template name on the right side of a `use` statement, and returns the rest of the text
/// (`config.cpp`, `MetaKnobAndArgs::init_from_string`). `None` if only blanks and commas are left.
pub fn next_used_template(text: &[u8]) -> Option<(UsedTemplate<'_>, &[u8])> {
    let is_blank = |byte: &u8| is_space(*byte);
    let start = text.iter().position(|byte| !is_blank(byte) && *byte != b',')?;
    let text = &text[start..];
    let end = text.iter().position(|&b| is_space(b) || b == b',' || b == b'(').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = trim_start(rest);
    if rest.first() != Some(&b'(') {
        // An empty name, for example before a parenthesis, ends the reference's loop.
        return (!name.is_empty())
            .then_some((UsedTemplate { name, arguments: b"", unbalanced: false }, rest));
    }
    if name.is_empty() {
        return None;
    }
    match closing_brace(rest, 25) {
        Some(close) if rest[close] == b')' => {
            let found = UsedTemplate { name, arguments: &rest[1..close], unbalanced: false };
            Some((found, trim_start(&rest[close + 1..])))
        }
        // The reference skips only the parenthesis and continues; it would read the arguments from beyond the
        // text.
        _ => Some((UsedTemplate { name, arguments: b"", unbalanced: true }, trim_start(&rest[1..]))),
    }
}

/// Returns the offset of the brace that closes the one at the start of `text`; parentheses and brackets are
/// nested up to `depth` deep.
fn closing_brace(text: &[u8], depth: u32) -> Option<usize> {
    let open = *text.first()?;
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        other => other,
    };
    let mut at = 1;
    loop {
        let byte = *text.get(at)?;
        if byte == close {
            return Some(at);
        }
        if byte == b'(' || byte == b'[' {
            at += closing_brace(&text[at..], depth.checked_sub(1)?)?;
        }
        at += 1;
    }
}

/// Maximum size of a body while arguments are inserted, in bytes; the reference has no limit (`T(2,$(2))`
/// never ends).
const MAX_BODY_BYTES: usize = 1 << 20;

/// Error of a template whose arguments refer to themselves or make the body too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndlessArguments;

/// Replaces every `$(n)` in a body (`config.cpp`, `expand_meta_args`).
pub fn insert_arguments(body: &[u8], arguments: &[u8]) -> Result<BString, EndlessArguments> {
    let mut text = body.to_vec();
    let mut replaced = 0u32;
    while let Some(found) = next_argument(&text) {
        let value = argument_value(&text, &found, arguments);
        text.splice(found.dollar..found.end, value);
        replaced += 1;
        if replaced > 20_000 || text.len() > MAX_BODY_BYTES {
            return Err(EndlessArguments);
        }
    }
    Ok(text.into())
}

/// Returns true if a body refers to arguments.
pub fn has_arguments(body: &[u8]) -> bool {
    body.windows(3).any(|w| w.starts_with(b"$(") && w[2].is_ascii_digit())
}

/// A `$(n...)` in a body.
struct ArgumentReference {
    dollar: usize,
    end: usize,
    number: i64,
    /// True for `$(n?)`: 1 if the argument is not empty, otherwise 0.
    is_presence_test: bool,
    /// True for `$(n#)` and `$(n+)`: argument n and all that follow it, or for n = 0 the number of arguments.
    includes_following: bool,
    /// Range of the default text.
    default: Option<(usize, usize)>,
}

/// Returns the first argument reference of `text`.
fn next_argument(text: &[u8]) -> Option<ArgumentReference> {
    let mut from = 0;
    loop {
        let dollar = from + memchr::memchr(b'$', text.get(from..)?)?;
        let mut at = dollar + 1;
        if text.get(at) == Some(&b'$') {
            at += 1;
        }
        while text.get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_') {
            at += 1;
        }
        if at != dollar + 1 || text.get(at) != Some(&b'(') {
            from = at;
            continue;
        }
        let body = at + 1;
        let Some(close) = argument_end(text, body) else {
            from = body;
            continue;
        };
        if !text[body].is_ascii_digit() {
            from = close;
            continue;
        }
        let inner = &text[body..close];
        let digits = inner.iter().take_while(|b| b.is_ascii_digit()).count();
        let number = inner[..digits]
            .iter()
            .fold(0i64, |n, b| n.saturating_mul(10).saturating_add(i64::from(b - b'0')));
        let mark = inner.get(digits).copied();
        let (is_presence_test, includes_following) = (mark == Some(b'?'), matches!(mark, Some(b'#' | b'+')));
        let colon = digits + usize::from(is_presence_test || includes_following);
        let default = (inner.get(colon) == Some(&b':')).then_some((body + colon + 1, close));
        return Some(ArgumentReference {
            dollar,
            end: close + 1,
            number,
            is_presence_test,
            includes_following,
            default,
        });
    }
}

/// Returns the offset of the parenthesis that ends the reference whose body begins at `at`, or `None` if it
/// is not a reference.
fn argument_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut after_colon = false;
    loop {
        let byte = *text.get(at)?;
        if byte == b')' {
            return Some(at);
        }
        at += 1;
        if byte == b':' && !after_colon {
            after_colon = true;
        } else if after_colon {
            if byte == b'('
                && let Some(close) = memchr::memchr(b')', &text[at..])
            {
                at += close + 1;
            }
        } else if !(byte.is_ascii_digit() || matches!(byte, b'?' | b'#' | b'+')) {
            return None;
        }
    }
}

/// Returns the text that replaces a reference.
fn argument_value(text: &[u8], found: &ArgumentReference, arguments: &[u8]) -> Vec<u8> {
    let default = || found.default.map(|(start, end)| &text[start..end]);
    let number = usize::try_from(found.number).unwrap_or(usize::MAX);
    let value: Cow<'_, [u8]> = if number == 0 {
        match found.includes_following {
            true => list_items(arguments).count().to_string().into_bytes().into(),
            false => arguments.into(),
        }
    } else if found.includes_following {
        let mut rest = arguments;
        for _ in 1..number {
            match next_item(rest) {
                Some((_, after)) => rest = after,
                None => rest = b"",
            }
        }
        let rest = rest.strip_prefix(b",").unwrap_or(rest);
        match rest.is_empty() {
            true => default().unwrap_or_default().into(),
            false => rest.into(),
        }
    } else {
        list_items(arguments).nth(number - 1).or_else(default).unwrap_or_default().into()
    };
    let value = trim(&value);
    match (found.is_presence_test, value.is_empty()) {
        (true, true) => b"0".to_vec(),
        (true, false) => b"1".to_vec(),
        (false, _) => value.to_vec(),
    }
}

/// Returns the next non-empty item of a comma-separated list, trimmed, and the text after it, including its
/// comma.
fn next_item(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = list.iter().position(|&b| b != b',' && !is_space(b))?;
    let list = &list[start..];
    let end = memchr::memchr(b',', list).unwrap_or(list.len());
    Some((trim(&list[..end]), &list[end..]))
}

/// Returns the non-empty items of a comma-separated list, trimmed.
fn list_items(mut list: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (item, rest) = next_item(list)?;
        list = rest;
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(body: &str, arguments: &str) -> String {
        insert_arguments(body.as_bytes(), arguments.as_bytes()).unwrap().to_string()
    }

    #[test]
    fn arguments_are_inserted_as_in_the_reference() {
        assert_eq!(put("[$(0)][$(0#)]", " a, b,,c "), "[a, b,,c][3]");
        assert_eq!(put("[$(1)][$(2)][$(3)][$(4)]", "a, b,,c"), "[a][b][c][]");
        assert_eq!(put("[$(4:d (x) e)][$(4?)][$(1?)][$(0?)]", "a,b,c"), "[d (x) e][0][1][1]");
        assert_eq!(put("[$(2+)][$(1#)][$(5+:none)]", "a,b,,c"), "[b,,c][a,b,,c][none]");
        assert_eq!(put("$(A) $$(1) $INT(1)", "a"), "$(A) $$(1) $INT(1)");
    }

    #[test]
    fn an_argument_that_inserts_itself_is_refused() {
        assert_eq!(insert_arguments(b"$(2)", b"2,$(2)"), Err(EndlessArguments));
    }

    #[test]
    fn a_use_list_is_split_at_blanks_and_commas() {
        let mut rest: &[u8] = b" , A(1,(2)) B, C ( x ) ";
        let mut used = Vec::new();
        while let Some((found, after)) = next_used_template(rest) {
            used.push(format!("{}|{}", bstr::BStr::new(found.name), bstr::BStr::new(found.arguments)));
            rest = after;
        }
        assert_eq!(used, ["A|1,(2)", "B|", "C| x "]);
    }

    #[test]
    fn every_category_has_templates() {
        for name in ["EXPERIMENTAL", "FEATURE", "POLICY", "ROLE", "SECURITY", "UPGRADE"] {
            assert!(find_category(name.to_lowercase().as_bytes()).is_some());
        }
        assert!(find(b"feature", b"gpus").is_some());
    }
}
