//! `TransferOutputRemaps`: names under which output files are stored.

use bstr::{BString, ByteSlice};
use thiserror::Error;

/// Remap rules, `name = target ; ...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaps {
    rules: Vec<(BString, BString)>,
}

/// Error for remap rules that form a cycle. Contains the chain of rules as the reference prints it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("remaps resulted in a cycle: {0}")]
pub struct RemapCycle(pub BString);

/// Default of MAX_REMAP_RECURSIONS.
pub const DEFAULT_MAX_REMAP_RECURSIONS: usize = 128;

impl Remaps {
    /// Parses rules. Skips a field without `=`. A backslash escapes `=` in a name and `;` in a target
    /// (`filename_remap_find`).
    pub fn parse(text: &[u8]) -> Self {
        let text: Vec<u8> = text.iter().copied().filter(|byte| !b"\t\n".contains(byte)).collect();
        let (mut rest, mut rules) = (&text[..], Vec::new());
        while let Some((name, after)) = split_at_separator(rest, b'=') {
            if let Some(at) = rest[..rest.len() - after.len()].find_byte(b';') {
                rest = &rest[at + 1..];
                continue;
            }
            match split_at_separator(after, b';') {
                Some((target, after)) => {
                    rules.push((name, target));
                    rest = after;
                }
                None => {
                    rules.push((name, trim_and_unescape(after, b';')));
                    break;
                }
            }
        }
        Remaps { rules }
    }

    /// Adds a rule after the existing rules. If several rules match, the first one is used.
    pub fn add(&mut self, name: impl Into<BString>, target: impl Into<BString>) {
        self.rules.push((name.into(), target.into()));
    }

    /// Returns the name under which a file is stored, or `None` if no rule matches. A rule for a directory applies to
    /// the files in that directory. The rules are applied again to the result of a rule.
    ///
    /// # Errors
    /// Returns an error if more than `most` rules are applied in a row.
    pub fn find_target(&self, name: &[u8], most: usize) -> Result<Option<BString>, RemapCycle> {
        self.find_target_at_level(name, 0, most)
    }

    fn find_target_at_level(
        &self,
        name: &[u8],
        level: usize,
        most: usize,
    ) -> Result<Option<BString>, RemapCycle> {
        if level > most {
            return Err(RemapCycle("<abort>".into()));
        }
        let next = |name: &[u8]| {
            let found = self.find_target_at_level(name, level + 1, most);
            found.map_err(|cycle| extend_cycle(level, name, &cycle))
        };
        if let Some((_, target)) = self.rules.iter().find(|(known, _)| known == name) {
            return Ok(Some(next(target)?.unwrap_or_else(|| target.clone())));
        }
        let Some(slash) = name.rfind_byte(b'/') else { return Ok(None) };
        let parent = next(&name[..slash])?;
        Ok(parent.map(|parent| [&parent[..], b"/", &name[slash + 1..]].concat().into()))
    }

    /// Returns true if the target of a rule is a URL.
    pub fn has_url(&self) -> bool {
        self.rules.iter().any(|(_, target)| super::url::is_url(target))
    }

    /// Returns all rules in the order in which they are tried.
    pub fn rules(&self) -> &[(BString, BString)] {
        &self.rules
    }
}

fn extend_cycle(level: usize, name: &[u8], cycle: &RemapCycle) -> RemapCycle {
    // The chain is cut to a maximum length, because each level repeats the levels below it.
    let rest = &cycle.0[..cycle.0.len().min(512)];
    RemapCycle([format!("<{level}: ").as_bytes(), name, b">", rest].concat().into())
}

/// Splits the text at the first separator that is not escaped by a backslash (`copy_upto`).
fn split_at_separator(text: &[u8], separator: u8) -> Option<(BString, &[u8])> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find_byte(separator)?;
        if at == 0 || text[at - 1] != b'\\' {
            return Some((trim_and_unescape(&text[..at], separator), &text[at + 1..]));
        }
        from = at + 1;
    }
}

/// Removes surrounding white space and the backslashes that escape the separator.
fn trim_and_unescape(text: &[u8], separator: u8) -> BString {
    text.trim().replace([b'\\', separator], [separator]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(rules: &str, name: &str) -> Option<BString> {
        Remaps::parse(rules.as_bytes()).find_target(name.as_bytes(), DEFAULT_MAX_REMAP_RECURSIONS).unwrap()
    }

    #[test]
    fn the_first_rule_applies_and_rules_apply_to_results() {
        assert_eq!(find("o1 = renamed ; o2 = /x/two", "o1"), Some("renamed".into()));
        assert_eq!(find("o1 = renamed ; o2 = /x/two", "o2"), Some("/x/two".into()));
        assert_eq!(find("a=b;b=c;a=d", "a"), Some("c".into()));
        assert_eq!(find("d = e", "d/f/g"), Some("e/f/g".into()));
        assert_eq!(find("noise ; a = b", "a"), Some("b".into()));
        assert_eq!(find("a\\=b = c\\;d", "a=b"), Some("c;d".into()));
        assert_eq!(find("a = b", "c"), None);
        assert_eq!(find("", ""), None);
    }

    #[test]
    fn circular_rules_end() {
        let rules = Remaps::parse(b"a = b ; b = a");
        assert!(rules.find_target(b"a", DEFAULT_MAX_REMAP_RECURSIONS).is_err());
        assert!(Remaps::parse(b"a = a").find_target(b"a", DEFAULT_MAX_REMAP_RECURSIONS).is_err());
        // A rule that makes a name longer without end is treated as a cycle as well.
        assert!(Remaps::parse(b"a = a/a").find_target(b"a", DEFAULT_MAX_REMAP_RECURSIONS).is_err());
    }
}
