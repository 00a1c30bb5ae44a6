//! Replacement of escape sequences in strings of the new syntax and of JSON.

/// Replaces the escape sequences of a string. For each escape sequence, `escape` is called with the byte after the
/// backslash and the rest of the text. It writes the characters and returns the number of bytes of the rest that it
/// has used, or `None` if the sequence is invalid. A backslash at the end of the string is literal.
fn resolve_escapes(
    raw: &[u8],
    out: &mut Vec<u8>,
    mut escape: impl FnMut(u8, &[u8], &mut Vec<u8>) -> Option<usize>,
) -> bool {
    out.reserve(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest)
        && let Some(letter) = rest.get(at + 1)
    {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 2..];
        let Some(used) = escape(*letter, rest, out) else { return false };
        rest = &rest[used..];
    }
    out.extend_from_slice(rest);
    true
}

/// Returns the control character for an escape letter that has the same meaning in both syntaxes. Any other byte is
/// returned unchanged.
fn control_character(letter: u8) -> u8 {
    match letter {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    }
}

/// Replaces the escape sequences of the new syntax. Returns false if one of them produces a NUL byte.
pub(crate) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    resolve_escapes(raw, out, |letter, rest, out| {
        let mut used = 0;
        out.push(match letter {
            b'a' => 7,
            b'v' => 11,
            b'0'..=b'7' => {
                // An octal escape has three digits if the first digit is at most 3, or else two.
                let mut value = u32::from(letter - b'0');
                while let Some(digit @ b'0'..=b'7') = rest.get(used)
                    && (used == 0 || used == 1 && value < 0o40)
                {
                    value = value * 8 + u32::from(digit - b'0');
                    used += 1;
                }
                if value == 0 {
                    return None;
                }
                value as u8
            }
            other => control_character(other),
        });
        Some(used)
    })
}

/// Replaces the escape sequences of JSON strings. `\u` is interpreted in the way of the reference (jsonSource.cpp).
pub(crate) fn unescape_json(raw: &[u8], out: &mut Vec<u8>) -> bool {
    resolve_escapes(raw, out, |letter, rest, out| {
        if letter != b'u' {
            out.push(control_character(letter));
            return Some(0);
        }
        let code = hex_code(rest).filter(|code| *code != 0)?;
        if code < 0x80 {
            out.push(code as u8);
        } else if code < 0x800 {
            out.extend_from_slice(&[(code >> 6) as u8, (code & 0x11) as u8]);
        } else {
            out.extend_from_slice(&[(code >> 12) as u8, (code >> 6 | 0x11) as u8, (code | 0x11) as u8]);
        }
        Some(4)
    })
}

/// Returns the number that consists of the four hexadecimal digits at the beginning of a text, or `None`.
fn hex_code(text: &[u8]) -> Option<u32> {
    let mut digits = text.get(..4)?.iter();
    digits.try_fold(0u32, |sum, digit| Some(sum * 16 + (*digit as char).to_digit(16)?))
}

/// Replaces the escape sequences of JSON strings as JSON defines them: `\u` is a code unit of UTF-16. A surrogate
/// without its counterpart becomes U+FFFD.
pub(crate) fn unescape_json_utf8(raw: &[u8], out: &mut Vec<u8>) -> bool {
    resolve_escapes(raw, out, |letter, rest, out| {
        if letter != b'u' {
            out.push(control_character(letter));
            return Some(0);
        }
        let code = hex_code(rest).filter(|code| *code != 0)?;
        let low = rest.get(4..).and_then(|rest| rest.strip_prefix(b"\\u")).and_then(hex_code);
        let (unit, used) = match (code, low) {
            (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                (0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00), 10)
            }
            _ => (code, 4),
        };
        let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Some(used)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(raw: &str, unescape: fn(&[u8], &mut Vec<u8>) -> bool) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        unescape(raw.as_bytes(), &mut out).then_some(out)
    }

    #[test]
    fn code_units_become_utf_8() {
        for (raw, text) in [
            (r"Zo\u00eb", Some("Zo\u{eb}")),
            (r"\u20ac\u0041", Some("\u{20ac}A")),
            (r"\ud83d\ude00!", Some("\u{1f600}!")),
            (r"\ud83dx\ude00", Some("\u{fffd}x\u{fffd}")),
            (r"\n\\", Some("\n\\")),
            (r"\u0000", None),
            (r"\u12", None),
        ] {
            assert_eq!(resolved(raw, unescape_json_utf8).as_deref(), text.map(str::as_bytes), "{raw}");
        }
    }

    #[test]
    fn escapes_have_the_meaning_of_the_reference() {
        for (raw, new, json) in [
            (r"a\nb", Some(&b"a\nb"[..]), Some(&b"a\nb"[..])),
            (r"\b\f\n\r\t\q\\", Some(b"\x08\x0c\n\r\tq\\"), Some(b"\x08\x0c\n\r\tq\\")),
            (r"\a\v", Some(b"\x07\x0b"), Some(b"av")),
            (r"\1018\3777\400", Some(b"A8\xff7 0"), Some(b"10183777400")),
            (r"\0", None, Some(b"0")),
            (r"\u0041\u00e9\u20ac", Some(b"u0041u00e9u20ac"), Some(b"A\x03\x01\x02\x93\xbd")),
            (r"\u0000", Some(b"u0000"), None),
            (r"\u12", Some(b"u12"), None),
            ("end\\", Some(b"end\\"), Some(b"end\\")),
        ] {
            assert_eq!(resolved(raw, unescape).as_deref(), new, "{raw}");
            assert_eq!(resolved(raw, unescape_json).as_deref(), json, "{raw} in JSON");
        }
    }
}
