//! `--redact`: values that are secrets are masked.

use std::borrow::Cow;

use crate::text::caseless;

/// What stands in the place of a secret.
const MASK: &[u8] = b"********";

/// Words in a name that make its value a secret.
const SECRET: [&str; 9] =
    ["PASSWORD", "PASSWD", "SECRET", "PASSPHRASE", "PRIVATE_KEY", "API_KEY", "ACCESS_KEY", "BEARER", "TOKEN"];

/// Ends of names whose value only tells where or how, whatever else they say.
const HARMLESS: [&str; 22] = [
    "_FILE",
    "_FILES",
    "_DIR",
    "_DIRECTORY",
    "_PATH",
    "_PLUGIN",
    "_PLUGINS",
    "_NAME",
    "_NAMES",
    "_LIFETIME",
    "_DURATION",
    "_INTERVAL",
    "_TTL",
    "_TIMEOUT",
    "_AGE",
    "_MAX_AGE",
    "_METHODS",
    "_SCOPES",
    "_ISSUER",
    "_DOMAIN",
    "_LIMIT",
    "_CACHE",
];

/// Whether a parameter of that name holds a secret rather than a place where one is kept.
pub(super) fn is_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    let has = |word: &&str| name.windows(word.len()).any(|part| part == word.as_bytes());
    SECRET.iter().any(has) && !HARMLESS.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// The value with secrets masked: all of it if the name says so (unless it is a reference, a path or a switch),
/// passwords in addresses and `password=` words in any.
pub(super) fn masked<'a>(name: &[u8], value: &'a [u8]) -> Cow<'a, [u8]> {
    let is_switch = ["true", "false", ""].iter().any(|word| caseless::eq(word.as_bytes(), value));
    let tells_where =
        value.starts_with(b"/") || value.starts_with(b"$(") || value.iter().all(u8::is_ascii_digit);
    if is_secret(name) && !is_switch && !tells_where {
        return Cow::Borrowed(MASK);
    }
    let mut text = Cow::Borrowed(value);
    for word in ["password=", "passwd=", "secret=", "token=", "apikey=", "api_key="] {
        let mut from = 0;
        while let Some(at) = find_caseless(&text[from..], word.as_bytes()) {
            let start = from + at + word.len();
            let rest = &text[start..];
            let end = start + rest.iter().position(|b| b" \t\n\"'&;,)".contains(b)).unwrap_or(rest.len());
            text.to_mut().splice(start..end, MASK.iter().copied());
            from = start + MASK.len();
        }
    }
    // scheme://user:password@host
    let mut from = 0;
    while let Some(at) = find_caseless(&text[from..], b"://") {
        let start = from + at + 3;
        let end =
            start + text[start..].iter().position(|b| b"/ \t\n\"'".contains(b)).unwrap_or(text.len() - start);
        let authority = &text[start..end];
        from = end;
        if let Some(at) = memchr::memrchr(b'@', authority)
            && let Some(colon) = memchr::memchr(b':', &authority[..at])
        {
            text.to_mut().splice(start + colon + 1..start + at, MASK.iter().copied());
            from = start + colon + 1 + MASK.len();
        }
    }
    text
}

fn find_caseless(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| caseless::eq(part, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, value: &str) -> String {
        String::from_utf8(masked(name.as_bytes(), value.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn secrets_are_masked_and_places_are_not() {
        assert_eq!(shown("Foo_Password", "abc"), "********");
        assert_eq!(shown("SEC_PASSWORD_FILE", "/etc/pw"), "/etc/pw");
        assert_eq!(shown("MY_TOKEN", "$(OTHER)"), "$(OTHER)");
        assert_eq!(shown("A", "x password=abc y"), "x password=******** y");
        assert_eq!(shown("A", "https://me:pw@host/x"), "https://me:********@host/x");
        assert_eq!(shown("START", "true"), "true");
    }
}
