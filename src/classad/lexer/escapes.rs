//! The escapes of strings in the new syntax and in JSON.

/// Resolves the escapes of the new syntax. `false` when one of them makes a NUL byte.
pub(crate) fn unescape(raw: &[u8], out: &mut Vec<u8>) -> bool {
    let octal = |at: usize| raw.get(at).filter(|b| (b'0'..=b'7').contains(*b)).map(|b| u32::from(b - b'0'));
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if byte != b'\\' || at == raw.len() {
            out.push(byte);
            continue;
        }
        let escape = raw[at];
        at += 1;
        out.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                if let Some(second) = octal(at) {
                    value = value * 8 + second;
                    at += 1;
                    if value < 0o40
                        && let Some(third) = octal(at)
                    {
                        value = value * 8 + third;
                        at += 1;
                    }
                }
                if value == 0 {
                    return false;
                }
                value as u8
            }
            other => other,
        });
    }
    true
}

/// Resolves the escapes of JSON strings, with the reference's own idea of `\u` (classad.md 13).
pub(crate) fn unescape_json(raw: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if byte != b'\\' || at == raw.len() {
            out.push(byte);
            continue;
        }
        let escape = raw[at];
        at += 1;
        match escape {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let Some(digits) = raw.get(at..at + 4) else { return false };
                let Some(code) = digits
                    .iter()
                    .try_fold(0u32, |sum, digit| Some(sum * 16 + (*digit as char).to_digit(16)?))
                    .filter(|code| *code != 0)
                else {
                    return false;
                };
                at += 4;
                if code < 0x80 {
                    out.push(code as u8);
                } else if code < 0x800 {
                    out.push((code >> 6) as u8);
                    out.push((code & 0x11) as u8);
                } else {
                    out.push((code >> 12) as u8);
                    out.push((code >> 6 | 0x11) as u8);
                    out.push((code | 0x11) as u8);
                }
            }
            other => out.push(other),
        }
    }
    true
}
