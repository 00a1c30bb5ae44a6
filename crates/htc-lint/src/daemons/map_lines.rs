//! Lines of maps that the daemons skip or that do not have the intended effect (MapFile.cpp).

use bstr::{BStr, ByteSlice};
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_classad::UserMap;
use htc_classad::regex::{Regex, RegexOptions};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;

use super::lint_scope::LintScope;
use crate::config::LintSubject;

/// Maximum size of a map file that is read, in bytes.
const MAX_MAP_BYTES: u64 = 8 << 20;
/// Maximum number of lines of one map that are reported.
const MAX_FINDINGS: usize = 10;

/// Prefix of the parameters that contain a map.
const DATA: &[u8] = b"CLASSAD_USER_MAPDATA_";
/// Prefix of the parameters that name the file of a map.
const FILE: &[u8] = b"CLASSAD_USER_MAPFILE_";
/// Map of authenticated names to users (`Authentication::load_map_file`).
const CERTIFICATES: &[u8] = b"CERTIFICATE_MAPFILE";
/// Maps of URL prefixes (`getProtectedURLMap`, `fetchCheckpointDestinationCleanup`).
const URLS: [&str; 2] = ["PROTECTED_URL_TRANSFER_MAPFILE", "CHECKPOINT_DESTINATION_MAPFILE"];

/// Authentication methods that a line of CERTIFICATE_MAPFILE may contain (`Authentication::authenticate_continue`).
/// HTCondor no longer supports GSI, but lines for it are harmless.
const METHODS: [&str; 12] = [
    "SSL",
    "SCITOKENS",
    "KERBEROS",
    "PASSWORD",
    "IDTOKENS",
    "NTSSPI",
    "FS",
    "FS_REMOTE",
    "MUNGE",
    "CLAIMTOBE",
    "ANONYMOUS",
    "GSI",
];

/// Meaning of the second field of the lines of a map (`MapFile::ParseCanonicalization`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapSyntax {
    /// Text, or a pattern between slashes.
    TextOrPattern,
    /// The beginning of a name.
    Beginning,
    /// As [`MapSyntax::TextOrPattern`], for names that a security method has authenticated.
    CertificateText,
    /// Always a pattern.
    CertificatePattern,
}

impl MapSyntax {
    fn is_certificate_map(self) -> bool {
        matches!(self, MapSyntax::CertificateText | MapSyntax::CertificatePattern)
    }

    fn has_slashed_patterns(self) -> bool {
        matches!(self, MapSyntax::TextOrPattern | MapSyntax::CertificateText)
    }
}

/// Checks the maps in the configuration, and those in files of this machine.
pub(super) fn lint(subject: &LintSubject<'_>, scope: LintScope, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries() {
        let name = unqualified_name(&entry.name);
        if let Some(map) = caseless::strip_prefix(name, DATA) {
            check_data(subject, entry, user_map_syntax(subject, map), findings);
        } else if !scope.for_other_machine
            && let Some(syntax) = syntax_of_file(subject, name)
        {
            check_file(subject, entry, syntax, findings);
        }
    }
}

/// Returns the syntax of the file that a parameter names, or `None` if it names no map.
fn syntax_of_file(subject: &LintSubject<'_>, name: &[u8]) -> Option<MapSyntax> {
    if let Some(map) = caseless::strip_prefix(name, FILE) {
        return Some(user_map_syntax(subject, map));
    }
    if URLS.iter().any(|known| caseless::eq(known.as_bytes(), name)) {
        return Some(MapSyntax::Beginning);
    }
    caseless::eq(name, CERTIFICATES).then(|| {
        match subject.view.flag("CERTIFICATE_MAPFILE_ASSUME_HASH_KEYS", false) {
            true => MapSyntax::CertificateText,
            false => MapSyntax::CertificatePattern,
        }
    })
}

/// Returns the syntax of a map of `userMap()`.
fn user_map_syntax(subject: &LintSubject<'_>, map: &[u8]) -> MapSyntax {
    match subject.view.flag(&format!("CLASSAD_USER_MAP_PREFIX_{}", BStr::new(map)), false) {
        true => MapSyntax::Beginning,
        false => MapSyntax::TextOrPattern,
    }
}

/// Mistake in one line.
struct LineMistake {
    message: String,
    fix: String,
}

fn check_data(subject: &LintSubject<'_>, entry: &MacroEntry, syntax: MapSyntax, findings: &mut Vec<Finding>) {
    let raw = &entry.current.raw;
    // A map with macros is not checked, because findings need places in the unexpanded text.
    if raw.contains_str("$(") {
        return;
    }
    let mut start = 0;
    let mut count = 0;
    for (index, line) in raw.split(|byte| *byte == b'\n').enumerate() {
        let place = Some((start, start + line.len()));
        start += line.len() + 1;
        let Some(LineMistake { message, fix }) = check_line(line, syntax) else { continue };
        count += 1;
        if count > MAX_FINDINGS {
            return;
        }
        let message = format!("{}, line {}: {message}", entry.name, index + 1);
        findings.push(subject.make_finding(LintRule::MapLine, &entry.current, place, message, fix));
    }
}

fn check_file(subject: &LintSubject<'_>, entry: &MacroEntry, syntax: MapSyntax, findings: &mut Vec<Finding>) {
    let Ok(path) = subject.view.expand_raw(&entry.name, entry.raw()) else { return };
    let path = path.trim().to_path_lossy().into_owned();
    let Ok(text) = subject.world.read_file(&path, Some(MAX_MAP_BYTES)) else { return };
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let mistakes = lines.filter_map(|(index, line)| Some((index + 1, check_line(line, syntax)?)));
    for (number, LineMistake { message, fix }) in mistakes.take(MAX_FINDINGS) {
        let message = format!("{}, line {number}: {message}", path.display());
        let place = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::MapLine, &entry.current, place, message, fix));
    }
}

fn check_line(line: &[u8], syntax: MapSyntax) -> Option<LineMistake> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(b"#") {
        return None;
    }
    let fields = split_fields(text, syntax.has_slashed_patterns());
    let mistake = |message: String, fix: String| Some(LineMistake { message, fix });
    let method = fields.first().copied().unwrap_or_default();
    if method.starts_with(b"@") {
        return match fields.len() {
            _ if method != b"@include" => mistake(
                format!("{} is not a directive; the line is read as a mapping", method.as_bstr()),
                "write @include".to_owned(),
            ),
            1 => {
                mistake("@include without a file has no effect".to_owned(), "write @include PATH".to_owned())
            }
            _ => None,
        };
    }
    let [_, user, result, rest @ ..] = &fields[..] else { return check_short_line(text, &fields, syntax) };
    if syntax.is_certificate_map()
        && let Some(found) = check_method(method)
    {
        return Some(found);
    }
    if let Some(first) = rest.first().filter(|rest| !rest.starts_with(b"#")) {
        let message = format!(
            "'{}' and the text after it are ignored: a line has three fields, and the third is {}",
            first.as_bstr(),
            result.as_bstr()
        );
        let fix = "put double quotes around a field that contains blanks, or remove its blanks".to_owned();
        return mistake(message, fix);
    }
    check_user(text, user, syntax)
}

/// Checks a line with fewer than three fields.
fn check_short_line(text: &[u8], fields: &[&[u8]], syntax: MapSyntax) -> Option<LineMistake> {
    let (user, methods) = match syntax.is_certificate_map() {
        true => ("name", "SSL"),
        false => ("user", "*"),
    };
    let is_plain = fields.len() == 2 && !text.contains(&b'/');
    let message = format!("a line has three fields, method, {user} and result; the line is skipped");
    let fix = match is_plain && !syntax.is_certificate_map() {
        true => format!("write * {}", text.as_bstr()),
        false => format!("write {methods} {} RESULT", user.to_uppercase()),
    };
    Some(LineMistake { message, fix })
}

/// Checks the name of a security method.
fn check_method(method: &[u8]) -> Option<LineMistake> {
    if METHODS.iter().any(|known| caseless::eq(known.as_bytes(), method)) {
        return None;
    }
    let shown = method.as_bstr();
    let message = format!("{shown} is not an authentication method; the line is never used");
    let near = similar_names::nearest(method, METHODS.iter().map(|known| known.as_bytes()));
    let fix = match near {
        Some(near) => format!("write {}", near.as_bstr()),
        None => "write a method such as SSL, SCITOKENS, KERBEROS or FS".to_owned(),
    };
    Some(LineMistake { message, fix })
}

/// Checks the second field, which may be a pattern.
fn check_user(text: &[u8], user: &[u8], syntax: MapSyntax) -> Option<LineMistake> {
    let shown = user.as_bstr();
    if syntax == MapSyntax::CertificatePattern {
        let bare = user.trim_end_with(|c| c == 'i' || c == 'U');
        if bare.len() > 2 && bare.starts_with(b"/") && bare.ends_with(b"/") {
            let message = format!(
                "the slashes are part of the pattern {shown}, because CERTIFICATE_MAPFILE_ASSUME_HASH_KEYS is false"
            );
            let fix = format!(
                "write {} without slashes, or set CERTIFICATE_MAPFILE_ASSUME_HASH_KEYS = true",
                bare[1..bare.len() - 1].as_bstr()
            );
            return Some(LineMistake { message, fix });
        }
        let pattern = user.trim_with(|c| c == '"');
        let error = Regex::compile(pattern, RegexOptions::NONE).err();
        return error.map(|error| LineMistake {
            message: format!("{shown} is not a valid regular expression: {error}; the line is skipped"),
            fix: "correct the pattern; write \\ before a character that is meant literally".to_owned(),
        });
    }
    let mut map = UserMap::default();
    map.read("", text, syntax == MapSyntax::Beginning, None);
    if !map.problems().is_empty() {
        let message = "the line is not valid and is skipped".to_owned();
        let fix = "write * USER RESULT, or * /REGULAR EXPRESSION/ RESULT".to_owned();
        return Some(LineMistake { message, fix });
    }
    let is_pattern = user.starts_with(b"/") || user.starts_with(b"\"");
    let looks_like_pattern =
        [&b".*"[..], b".+", b"[0-9]", b"[a-z", b"\\d"].iter().any(|sign| user.contains_str(sign))
            || user.starts_with(b"^")
            || user.ends_with(b"$");
    if looks_like_pattern && !is_pattern && syntax.has_slashed_patterns() {
        let message = format!("{shown} is compared as text, not as a pattern");
        return Some(LineMistake { message, fix: format!("write /{shown}/") });
    }
    None
}

/// Splits a line into fields with their quotes or slashes (`MapFile::ParseField`); `has_slashes` is true if the second
/// field may be a pattern between slashes.
fn split_fields(line: &[u8], has_slashes: bool) -> Vec<&[u8]> {
    let mut fields: Vec<&[u8]> = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.first() {
        let is_delimited = *first == b'"' || *first == b'/' && has_slashes && fields.len() == 1;
        let mut length = 1;
        while let Some(byte) = rest.get(length) {
            match byte {
                b'\\' if is_delimited => length += 1,
                byte if is_delimited && byte == first => {
                    let flags = rest[length + 1..].iter().take_while(|flag| b"iU".contains(flag)).count();
                    length += if *first == b'/' { flags } else { 0 };
                    break;
                }
                b' ' | b'\t' if !is_delimited => break,
                _ => {}
            }
            length += 1;
        }
        let end = (length + usize::from(is_delimited)).min(rest.len());
        fields.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_skipped_are_found() {
        for wrong in [
            "bob chemistry",
            "* /(/ x",
            "*",
            "* ^prod_.*$ production",
            "* .*@example.org x",
            "* ann a, b",
            "@includes x",
            "@include",
        ] {
            assert!(check_line(wrong.as_bytes(), MapSyntax::TextOrPattern).is_some(), "{wrong}");
        }
        for good in
            ["", "# text", "* alice physics,cms", "* /^prod_/i production", "@include more", "* \"a b\" c"]
        {
            assert!(check_line(good.as_bytes(), MapSyntax::TextOrPattern).is_none(), "{good}");
        }
        assert!(check_line(b"* /DC=org/ grid", MapSyntax::Beginning).is_none());
    }

    #[test]
    fn lines_about_authenticated_names_are_checked() {
        let message = |line: &str, syntax| check_line(line.as_bytes(), syntax).map(|found| found.message);
        for (wrong, part) in [
            ("SSL CN=ann", "three fields"),
            ("SSL /^CN=ann$/ ann", "slashes"),
            ("SSL CN=Ann Smith ann", "are ignored"),
            ("SLL CN=ann ann", "not an authentication method"),
            ("TOKEN .* ann", "not an authentication method"),
            ("SCITOKENS ^https://(a.org,.* ann", "regular expression"),
        ] {
            let found = message(wrong, MapSyntax::CertificatePattern).unwrap_or_default();
            assert!(found.contains(part), "{wrong}: {found}");
        }
        for good in [
            "SSL \"CN=Ann Smith\" ann",
            "SSL /DC=org/CN=ann ann",
            "GSI (.*) GSS_ASSIST_GRIDMAP",
            "SCITOKENS ^https://phys.uz.edu, PLUGIN:A",
            "fs (.*) \\1 # own users",
            "@include /etc/condor/more",
        ] {
            assert_eq!(message(good, MapSyntax::CertificatePattern), None, "{good}");
        }
        assert_eq!(message("SSL /^CN=Ann Smith$/i ann", MapSyntax::CertificateText), None);
        assert!(message("SSL ^CN=ann$ ann", MapSyntax::CertificateText).is_some());
    }

    #[test]
    fn fields_are_split_as_the_daemons_split_them() {
        let split = |line: &'static str, has_slashes| -> Vec<&BStr> {
            split_fields(line.as_bytes(), has_slashes).into_iter().map(BStr::new).collect()
        };
        assert_eq!(split("* /a b/i c", true), ["*", "/a b/i", "c"]);
        assert_eq!(split("* /a b/i c", false), ["*", "/a", "b/i", "c"]);
        assert_eq!(split("* \"a \\\" b\" c", true), ["*", "\"a \\\" b\"", "c"]);
        assert_eq!(split("SSL \"a", true), ["SSL", "\"a"]);
    }
}
