//! Lines of user maps that the daemons skip, or that do not mean what they seem to mean (MapFile.cpp).

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_classad::UserMap;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;

use super::lint_scope::LintScope;
use crate::config::LintSubject;

/// Largest file of a map that is read.
const MAX_MAP_BYTES: u64 = 8 << 20;
/// Most lines of one map that are reported.
const MAX_FINDINGS: usize = 10;

/// Start of the parameters that contain a map.
const DATA: &[u8] = b"CLASSAD_USER_MAPDATA_";
/// Start of the parameters that name the file of a map.
const FILE: &[u8] = b"CLASSAD_USER_MAPFILE_";

/// Checks the maps in the configuration, and those in files of this machine.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        if let Some(map) = caseless::strip_prefix(name, DATA) {
            check_data(subject, entry, map, findings);
        } else if let Some(map) = caseless::strip_prefix(name, FILE).filter(|_| !scope.for_other_machine) {
            check_file(subject, entry, map, findings);
        }
    }
}

/// Mistake in one line.
struct LineMistake {
    message: String,
    fix: String,
}

fn check_data(subject: &LintSubject<'_>, entry: &MacroEntry, map: &[u8], findings: &mut Vec<Finding>) {
    let raw = &entry.current.raw;
    // The places are those of the text as it is written; macros in it are not followed.
    if raw.contains_str("$(") {
        return;
    }
    let is_prefix = is_prefix_map(subject, map);
    let mut start = 0;
    let mut count = 0;
    for (index, line) in raw.split(|byte| *byte == b'\n').enumerate() {
        let place = Some((start, start + line.len()));
        start += line.len() + 1;
        let Some(LineMistake { message, fix }) = check_line(line, is_prefix) else { continue };
        count += 1;
        if count > MAX_FINDINGS {
            return;
        }
        let message = format!("{}, line {}: {message}", entry.name, index + 1);
        findings.push(subject.make_finding(LintRule::MapLine, &entry.current, place, message, fix));
    }
}

fn check_file(subject: &LintSubject<'_>, entry: &MacroEntry, map: &[u8], findings: &mut Vec<Finding>) {
    let Ok(path) = subject.view.expand_raw(&entry.name, entry.raw()) else { return };
    let path = path.trim().to_path_lossy().into_owned();
    let Ok(text) = subject.world.read_file(&path, Some(MAX_MAP_BYTES)) else { return };
    let is_prefix = is_prefix_map(subject, map);
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let mistakes = lines.filter_map(|(index, line)| Some((index + 1, check_line(line, is_prefix)?)));
    for (number, LineMistake { message, fix }) in mistakes.take(MAX_FINDINGS) {
        let message = format!("{}, line {number}: {message}", path.display());
        let place = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::MapLine, &entry.current, place, message, fix));
    }
}

/// True if the users of a map are the beginnings of names.
fn is_prefix_map(subject: &LintSubject<'_>, map: &[u8]) -> bool {
    subject.view.flag(&format!("CLASSAD_USER_MAP_PREFIX_{}", BStr::new(map)), false)
}

fn check_line(line: &[u8], is_prefix: bool) -> Option<LineMistake> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(b"#") || text.starts_with(b"@") {
        return None;
    }
    let mut map = UserMap::default();
    map.read("", text, is_prefix, None);
    let fields: Vec<&[u8]> = text.fields().collect();
    if !map.problems().is_empty() {
        if fields.len() == 2 && !text.contains(&b'/') {
            let message = "a line has three fields, method, user and result; the line is skipped".to_owned();
            let fix = format!("write * {}", text.as_bstr());
            return Some(LineMistake { message, fix });
        }
        let message = "the line is not valid and is skipped".to_owned();
        let fix = "write * USER RESULT, or * /REGULAR EXPRESSION/ RESULT".to_owned();
        return Some(LineMistake { message, fix });
    }
    let user = BString::from(*fields.get(1)?);
    let is_pattern = user.starts_with(b"/") || user.starts_with(b"\"");
    let looks_like_pattern =
        [&b".*"[..], b".+", b"[0-9]", b"[a-z", b"\\d"].iter().any(|sign| user.contains_str(sign))
            || user.starts_with(b"^")
            || user.ends_with(b"$");
    if looks_like_pattern && !is_pattern && !is_prefix {
        let message = format!("{user} is compared as text, not as a pattern");
        let fix = format!("write /{user}/");
        return Some(LineMistake { message, fix });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_skipped_are_found() {
        for wrong in ["bob chemistry", "* /(/ x", "*", "* ^prod_.*$ production", "* .*@example.org x"] {
            assert!(check_line(wrong.as_bytes(), false).is_some(), "{wrong}");
        }
        for good in
            ["", "# text", "* alice physics,cms", "* /^prod_/i production", "@include more", "* \"a b\" c"]
        {
            assert!(check_line(good.as_bytes(), false).is_none(), "{good}");
        }
        assert!(check_line(b"* /DC=org/ grid", true).is_none());
    }
}
