//! Recognizes secrets in values, and masks them.

use std::borrow::Cow;
use std::ops::Range;

use bstr::{BString, ByteSlice};

use crate::Config;
use crate::advice::Advice;
use crate::defaults::{self, ParameterType};
use crate::finding::Finding;
use crate::load::LoadAttempt;
use crate::statement::{self, LogicalLines, StatementOperator};
use htc_base::text::{caseless, unqualified_name};
use htc_base::world::World;

/// Text that replaces a secret.
const MASK: &[u8] = b"********";

/// Words in a name that make its value a secret.
const SECRET_WORDS: [&str; 9] =
    ["PASSWORD", "PASSWD", "SECRET", "PASSPHRASE", "PRIVATE_KEY", "API_KEY", "ACCESS_KEY", "BEARER", "TOKEN"];

/// Endings of names whose value is a location or an option and not a secret, whatever the rest of the name.
const HARMLESS_ENDINGS: [&str; 22] = [
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

/// Returns true if a parameter of that name contains a secret, rather than the location of one.
pub fn is_secret_name(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    let has = |word: &&str| name.windows(word.len()).any(|part| part == word.as_bytes());
    // Inside other words these are too short to be significant; PWD alone is the shell's working directory.
    let is_word = |word: &[u8]| [&b"PASS"[..], b"PWD", b"APIKEY"].contains(&word);
    let has_word = name != b"PWD" && name.split(|&b| b == b'_' || b == b'.').any(is_word);
    (has_word || SECRET_WORDS.iter().any(has))
        && !HARMLESS_ENDINGS.iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Returns true if a part of a value is masked.
pub fn is_masked(value: &[u8]) -> bool {
    value.contains_str(MASK)
}

/// Returns true if the value of `name` is a secret. A boolean and an empty value are not, nor is the value of a
/// parameter that is a number, a boolean or a path in the table of defaults.
fn is_secret_value(name: &[u8], value: &[u8]) -> bool {
    let is_switch = ["true", "false", ""].iter().any(|word| caseless::eq(word.as_bytes(), value));
    let plain = unqualified_name(name);
    let is_harmless =
        defaults::find(plain).is_some_and(|known| known.parameter_type() != ParameterType::String);
    !is_switch && !is_harmless && is_secret_name(name)
}

/// Masks the secrets in a value: the whole value if the name says so, otherwise passwords in URLs,
/// `password=` words and secrets from the environment.
pub fn mask_value<'a>(name: &[u8], value: &'a [u8]) -> Cow<'a, [u8]> {
    if is_secret_value(name, value) {
        return Cow::Borrowed(MASK);
    }
    let mut text = Cow::Borrowed(value);
    for range in secret_ranges(value).into_iter().rev() {
        text.to_mut().splice(range, MASK.iter().copied());
    }
    text
}

/// Returns the ranges of secrets in any text, recognized by the text before them. The ranges are in order and
/// do not overlap.
fn secret_ranges(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let find_end = |start: usize, ends: &[u8]| {
        start + text[start..].iter().position(|b| ends.contains(b)).unwrap_or(text.len() - start)
    };
    for word in ["password=", "passwd=", "secret=", "token=", "apikey=", "api_key="] {
        let mut from = 0;
        while let Some(at) = find_caseless(&text[from..], word.as_bytes()) {
            let start = from + at + word.len();
            from = find_end(start, b" \t\n\"'&;,)");
            found.push(start..from);
        }
    }
    // scheme://user:password@host
    let mut from = 0;
    while let Some(at) = find_caseless(&text[from..], b"://") {
        let start = from + at + 3;
        from = find_end(start, b"/ \t\n\"'");
        let authority = &text[start..from];
        if let Some(at) = memchr::memrchr(b'@', authority)
            && let Some(colon) = memchr::memchr(b':', &authority[..at])
        {
            found.push(start + colon + 1..start + at);
        }
    }
    let mut from = 0;
    while let Some(at) = text[from..].find(b"$ENV(") {
        let start = from + at;
        from = find_end(start, b")\n");
        let name = text[start + 5..from].split(|&b| b == b':').next().unwrap_or_default();
        if is_secret_name(name) {
            from = text.len().min(from + 1);
            found.push(start..from);
        }
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut end = 0;
    found.retain(|range| {
        let is_apart = range.start >= end && !range.is_empty();
        if is_apart {
            end = range.end;
        }
        is_apart
    });
    found
}

/// Secret values, which are removed from texts that may quote them.
#[derive(Debug, Default)]
pub struct KnownSecrets(Vec<BString>);

impl KnownSecrets {
    /// Minimum length of a secret that is searched for; shorter ones occur in too many words.
    const MIN_SECRET_LENGTH: usize = 3;

    /// Adds the secrets of a configuration: raw and expanded, whole and by lines.
    pub fn learn_from_config(&mut self, config: &Config, world: &dyn World) {
        let view = config.view(world);
        for entry in config.set.entries().chain(config.set.displaced_entries()) {
            for definition in entry.replaced.iter().chain([&entry.current]) {
                if is_secret_value(&definition.name, &definition.raw) {
                    self.add_secret(&definition.raw);
                    if let Ok(value) = view.expand_raw(&definition.name, &definition.raw) {
                        self.add_secret(&value);
                    }
                }
            }
        }
        for skipped in config.skipped.iter().filter(|skipped| is_secret_value(&skipped.name, &skipped.value))
        {
            self.add_secret(&skipped.value);
        }
        view.take_messages();
    }

    /// Adds the secrets in a text of `Name = value` lines, such as a job ad.
    pub fn learn_from_lines(&mut self, text: &[u8]) {
        for line in text.lines() {
            for range in secret_ranges(line) {
                self.add_secret(&line[range]);
            }
            if let Some((name, value)) = line.split_once_str("=")
                && is_secret_value(name.trim(), value.trim())
            {
                self.add_secret(value);
                self.add_secret(value.trim().trim_with(|c| c == '"'));
            }
        }
    }

    fn add_secret(&mut self, value: &[u8]) {
        for text in value.lines().map(ByteSlice::trim).chain([value.trim()]) {
            if text.len() >= Self::MIN_SECRET_LENGTH
                && text != MASK
                && !self.0.iter().any(|known| known == text)
            {
                self.0.push(text.into());
            }
        }
        self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
    }

    /// Returns a text without the secrets.
    pub fn remove_secrets(&self, text: &[u8]) -> BString {
        let mut text = mask_value(b"", text).into_owned();
        for secret in self.0.iter().filter(|secret| !MASK.contains_str(secret)) {
            if text.contains_str(secret) {
                text = text.replace(secret, MASK);
            }
        }
        text.into()
    }

    fn remove_secrets_from_string(&self, text: &mut String) {
        *text = self.remove_secrets(text.as_bytes()).to_str_lossy().into_owned();
    }

    /// Removes the secrets from a finding; `text` is the contents of its source.
    pub fn redact_finding(&self, finding: &mut Finding, text: Option<&[u8]>) {
        if is_secret_name(&finding.name) {
            finding.message =
                format!("the problem with {} is not shown, because secrets are masked", finding.name);
            finding.fix = None;
        }
        if let Some(replacement) = &finding.replacement
            && (is_secret_name(&finding.name) || self.remove_secrets(&replacement.text) != replacement.text)
        {
            finding.replacement = None;
        }
        self.remove_secrets_from_string(&mut finding.message);
        if let Some(fix) = &mut finding.fix {
            match fix {
                Advice::Text(text) => self.remove_secrets_from_string(text),
                Advice::DidYouMean(text) | Advice::Write(text) => {
                    *text = self.remove_secrets(text);
                }
            }
        }
        if let Some(spot) = &mut finding.spot {
            let (text, line) = match text {
                Some(text) => (redact_source_text(text), spot.line.saturating_sub(1) as usize),
                None => (redact_source_text(&spot.text), 0),
            };
            spot.text = text.split(|&b| b == b'\n').nth(line).unwrap_or_default().into();
            for secret in self.0.iter().filter(|secret| !MASK.contains_str(secret)) {
                // The length is kept, so that places stay valid.
                spot.text = spot.text.replace(secret, "*".repeat(secret.len())).into();
            }
        }
    }
}

/// Masks every secret in the result of reading a configuration, so that nothing derived from it can contain
/// one.
pub fn redact_attempt(attempt: &mut LoadAttempt, world: &dyn World) {
    let mut secrets = KnownSecrets::default();
    secrets.learn_from_config(&attempt.config, world);
    for error in attempt.skipped_errors.iter_mut().chain(&mut attempt.error) {
        if let Some(place) = &mut error.place {
            let shown = redact_source_text(&place.text);
            let common_length = place.text.iter().zip(&shown).take_while(|(a, b)| a == b).count();
            secrets.add_secret(&place.text[common_length..]);
            place.text = shown.into();
        }
        for line in &mut error.lines {
            *line = secrets.remove_secrets(line);
        }
        if let Some(hint) = &mut error.hint {
            secrets.remove_secrets_from_string(hint);
        }
    }
    for warning in &mut attempt.warnings {
        warning.text = secrets.remove_secrets(&warning.text);
    }
    let config = &mut attempt.config;
    config.set.rewrite_values(&|name, raw, is_template| match is_template {
        // Arguments of templates were expanded when they were inserted.
        true => secrets.remove_secrets(&mask_value(name, raw)),
        false => mask_value(name, raw).into_owned().into(),
    });
    config.set.rewrite_sources(&|name| secrets.remove_secrets(name), &redact_source_text);
    for name in config.local_sources.iter_mut().chain(&mut config.root) {
        *name = secrets.remove_secrets(name);
    }
    for skipped in &mut config.skipped {
        skipped.value = mask_value(&skipped.name, &skipped.value).into_owned().into();
    }
}

/// Returns the text of a source, or one line of it, with a star for each character of a secret, so that
/// places stay valid.
fn redact_source_text(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    for range in secret_ranges(text) {
        out[range].fill(b'*');
    }
    let mut lines = LogicalLines::new(text);
    let mut block: Option<Vec<u8>> = None;
    while let Some(line) = lines.next_line() {
        let mut from = line.text.len();
        if let Some(tag) = &block {
            if line.text.strip_prefix(b"@") == Some(&tag[..]) {
                block = None;
            } else {
                from = 0;
            }
        } else {
            match statement::split_line(&line.text) {
                Ok(split) if split.operator == StatementOperator::Here => {
                    block = is_secret_name(split.name).then(|| split.value.to_vec());
                }
                Ok(split) if is_secret_value(split.name, split.value) => {
                    from = line.text.len() - split.value.len()
                }
                Ok(_) => {}
                Err(_) => {
                    let word =
                        line.text.iter().position(|&b| b == b' ' || b == b'\t').unwrap_or(line.text.len());
                    if is_secret_name(&line.text[..word]) {
                        from = word;
                    }
                }
            }
        }
        for (n, &(at, in_file)) in line.pieces.iter().enumerate() {
            let end = line.pieces.get(n + 1).map_or(line.text.len(), |&(next, _)| next as usize);
            let start = from.max(at as usize);
            if start < end {
                let shift = in_file as usize - at as usize;
                let length = out.len();
                out[(start + shift).min(length)..(end + shift).min(length)].fill(b'*');
            }
        }
    }
    out
}

fn find_caseless(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|part| caseless::eq(part, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(name: &str, value: &str) -> String {
        String::from_utf8(mask_value(name.as_bytes(), value.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn secrets_are_masked_and_their_locations_are_not() {
        assert_eq!(masked("Foo_Password", "abc"), "********");
        assert_eq!(masked("SEC_PASSWORD_FILE", "/etc/pw"), "/etc/pw");
        assert_eq!(masked("MY_TOKEN", "$(OTHER)"), "********");
        assert_eq!(masked("MY_TOKEN", "12345"), "********");
        assert_eq!(masked("DB_PASS", "hunter2"), "********");
        assert_eq!(masked("COMPASS", "north"), "north");
        assert_eq!(masked("MY_TOKEN", "/8sjA="), "********");
        assert_eq!(masked("A", "x$ENV(DB_PASSWORD)y $ENV(HOME)"), "x********y $ENV(HOME)");
        assert_eq!(masked("A", "x password=abc y"), "x password=******** y");
        assert_eq!(masked("A", "https://me:pw@host/x"), "https://me:********@host/x");
        assert_eq!(masked("START", "true"), "true");
    }

    #[test]
    fn masked_texts_keep_their_positions() {
        let text = "A = 1\nMY_PASSWORD = ab\\\n  cd\nB_TOKEN @=e\n x y\n@e\nC = token=zz 2\nX_SECRET oops\n";
        let shown = String::from_utf8(redact_source_text(text.as_bytes())).unwrap();
        assert_eq!(shown.len(), text.len());
        for secret in ["ab", "cd", "x y", "zz", "oops"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
        assert!(
            shown.starts_with("A = 1\nMY_PASSWORD = **") && shown.contains("\n@e\nC = token=** 2\n"),
            "{shown}"
        );
    }
}
