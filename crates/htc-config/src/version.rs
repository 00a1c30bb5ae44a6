//! The version of HTCondor that these programs reproduce, and `if version` (`Test_config_if_expression`,
//! config.cpp).

use htc_base::text::space::trim_start;

/// The version that `if version` compares with.
pub const VERSION: (u32, u32, u32) = (25, 14, 0);

/// The text of `$CondorVersion` in `-version` and `-summary`.
pub const VERSION_LINE: &str = "$CondorVersion: 25.14.0 2026-11-20 PRE-RELEASE-UWCS $";

/// The text of `$CondorPlatform` in `-version`.
pub const PLATFORM_LINE: &str = "$CondorPlatform: x86_64_Debian12 $";

/// Returns true if `OP VERSION` is true for [`VERSION`]; `None` for a version of fewer than two numbers or
/// before 6 (`config.cpp`, `Evaluate_config_if`).
pub(crate) fn is_satisfied(text: &[u8]) -> Option<bool> {
    let mut rest = trim_start(text);
    let negated = rest.first() == Some(&b'!');
    if negated {
        rest = &rest[1..];
    }
    let mut wanted_order = 0;
    if let Some(&byte) = rest.first().filter(|byte| (b'<'..=b'>').contains(byte)) {
        wanted_order = i32::from(byte) - i32::from(b'=');
        rest = &rest[1..];
    }
    let or_equal = rest.first() == Some(&b'=');
    if or_equal {
        rest = &rest[1..];
    }
    rest = trim_start(rest);
    if let Some(b'v' | b'V') = rest.first() {
        rest = &rest[1..];
    }
    let [major, minor, sub] = parse_version_numbers(rest);
    let (major, minor) = (major?, minor?);
    if major < 6 {
        return None;
    }
    let compared = comparable_number(major, minor, sub.unwrap_or(i64::from(VERSION.2)));
    let current = i64::from(VERSION.0) * 1_000_000 + i64::from(VERSION.1) * 1_000 + i64::from(VERSION.2);
    let order = current.cmp(&compared) as i32;
    let holds = order == wanted_order || or_equal && order == 0;
    Some(holds != negated)
}

/// Returns a number that represents a version in comparisons; 0 if a part is greater than 99
/// (`condor_version.cpp`, `CondorVersionInfo`).
fn comparable_number(major: i64, minor: i64, sub: i64) -> i64 {
    match (0..=99).contains(&minor) && (0..=99).contains(&sub) {
        true => major * 1_000_000 + minor * 1_000 + sub,
        false => 0,
    }
}

/// Returns up to three numbers separated by dots, as `sscanf("%d.%d.%d")` reads them.
fn parse_version_numbers(text: &[u8]) -> [Option<i64>; 3] {
    let mut numbers = [None; 3];
    let mut rest = text;
    for slot in &mut numbers {
        let Some((value, end)) = htc_base::text::number::integer_prefix(rest) else {
            break;
        };
        *slot = Some(value);
        match rest.get(end) {
            Some(b'.') => rest = &rest[end + 1..],
            _ => break,
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_with_our_own() {
        for (text, expected) in [
            (" >= 8.1", Some(true)),
            (" < 25.14.1", Some(true)),
            (" = 25.14", Some(true)),
            (" == v25.14x", Some(true)),
            (" != 25.14", Some(false)),
            (" > 25.14.0.1", Some(false)),
            (" >= 8", None),
            (" => 8.1", None),
            (" < 5.9", None),
            (" > 25.100", Some(true)),
        ] {
            assert_eq!(is_satisfied(text.as_bytes()), expected, "{text}");
        }
    }
}
