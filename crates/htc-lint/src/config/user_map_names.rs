//! Maps that expressions use with `userMap()` and that no list of maps contains.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;

use super::lint_subject::LintSubject;
use super::parameter_names::list_items;

/// Last part of the names of the parameters that list user maps, such as `SCHEDD_CLASSAD_USER_MAP_NAMES`.
const LIST: &[u8] = b"CLASSAD_USER_MAP_NAMES";

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let lists: Vec<_> = subject
        .config
        .set
        .entries()
        .filter(|entry| caseless::ends_with(unqualified_name(&entry.name), LIST))
        .collect();
    let names: Vec<BString> =
        lists.iter().flat_map(|list| list_items(&subject.view, &list.name.to_str_lossy())).collect();
    for entry in subject.user_written_entries() {
        for (at, name) in used_maps(&entry.current.raw) {
            if names.iter().any(|known| caseless::eq(known, name)) {
                continue;
            }
            let shown = BStr::new(name);
            let is_defined = |kind: &str| subject.view.is_defined(&format!("CLASSAD_USER_MAP{kind}_{shown}"));
            let has_data = is_defined("DATA") || is_defined("FILE");
            // If a list contains a misspelling of this map, the mistake is reported for the list.
            if has_data && names.iter().any(|listed| is_misspelled_map(subject, listed, name)) {
                continue;
            }
            let message = format!("userMap(\"{shown}\", ...) is undefined: no list of maps contains {shown}");
            let fix = match similar_names::nearest(name, names.iter().map(|known| &known[..])) {
                Some(near) if !has_data => Advice::DidYouMean(near.into()),
                _ => match lists.first() {
                    Some(list) => format!("add {shown} to {}", list.name).into(),
                    None => format!("set {} = {shown}", list_for(&entry.name)).into(),
                },
            };
            let part = Some((at, at + name.len()));
            let finding = subject.make_finding(LintRule::NamedNotDefined, &entry.current, part, message, fix);
            let source = entry.current.place.source;
            let holds_in_part = lists.iter().any(|list| list.current.place.source == source);
            findings.push(Finding { holds_in_part, ..finding });
        }
    }
}

/// Returns the parameter that lists the maps of the daemon that evaluates an expression.
fn list_for(name: &[u8]) -> String {
    let reader = htc_config::registry::find(name).and_then(|found| found.daemons.split(',').next());
    let daemon = match reader {
        Some("schedd" | "negotiator" | "collector") => reader.unwrap_or_default().to_uppercase(),
        _ => "STARTD".to_owned(),
    };
    format!("{daemon}_CLASSAD_USER_MAP_NAMES")
}

/// True if a listed map is not defined and is similar to one that is.
fn is_misspelled_map(subject: &LintSubject<'_>, listed: &[u8], defined: &[u8]) -> bool {
    let shown = BStr::new(listed);
    let is_defined = ["DATA", "FILE"]
        .iter()
        .any(|kind| subject.view.is_defined(&format!("CLASSAD_USER_MAP{kind}_{shown}")));
    !is_defined && similar_names::nearest(listed, [defined]).is_some()
}

/// Returns the maps that a text uses with a literal name, each with its position. A method after a dot is not part of
/// the name.
fn used_maps(text: &[u8]) -> Vec<(usize, &[u8])> {
    const FUNCTION: &[u8] = b"usermap(";
    let lower = text.to_ascii_lowercase();
    let calls = lower.find_iter(FUNCTION).map(|at| at + FUNCTION.len());
    calls
        .filter_map(|start| {
            let quote = start + text[start..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let name = text.get(quote..)?.strip_prefix(b"\"")?;
            let name = &name[..name.find_byte(b'"')?];
            let name = &name[..name.find_byte(b'.').unwrap_or(name.len())];
            (!name.is_empty()).then_some((quote + 1, name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_maps_are_found_in_calls() {
        let text = b"UserMap( \"Groups.m\", Owner) =?= usermap(\"b\", X) || userMap(Name, X)";
        let found: Vec<_> = used_maps(text).into_iter().map(|(at, name)| (at, BStr::new(name))).collect();
        assert_eq!(found, [(10, BStr::new("Groups")), (41, BStr::new("b"))]);
    }
}
