//! List of golden cases whose result intentionally differs from the reference's, with reasons.

use std::collections::HashMap;

use super::{KINDS, Result};

/// The list itself, with lines `KIND ID REASON...`.
const LIST: &str = include_str!("../../data/golden/differences.txt");

/// The list, by kind and id.
#[derive(Debug)]
pub struct Differences {
    reasons: HashMap<(&'static str, &'static str), &'static str>,
}

impl Differences {
    /// Reads the list. A line without a reason, with an unknown kind or with a repeated id is an error.
    pub fn load() -> Result<Self> {
        Self::parse(LIST)
    }

    fn parse(list: &'static str) -> Result<Self> {
        let mut reasons = HashMap::new();
        for (number, line) in list.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: &str| format!("differences.txt:{}: {what}: {line}", number + 1);
            let mut words = line.splitn(3, ' ');
            let (Some(kind), Some(id), Some(reason)) = (words.next(), words.next(), words.next()) else {
                return Err(wrong("not KIND ID REASON"));
            };
            if !KINDS.iter().any(|known| known.name == kind) {
                return Err(wrong("no such kind"));
            }
            if reason.trim().len() < 20 {
                return Err(wrong("a reason is a sentence"));
            }
            if reasons.insert((kind, id), reason).is_some() {
                return Err(wrong("listed already"));
            }
        }
        Ok(Self { reasons })
    }

    /// Returns the reason why the result of this case must differ, or `None`.
    pub fn reason(&self, kind: &str, id: &str) -> Option<&'static str> {
        let ((_, _), reason) = self.reasons.get_key_value(&(kind, id))?;
        Some(reason)
    }

    /// Returns the ids that are listed for a kind.
    pub fn of(&self, kind: &str) -> Vec<&'static str> {
        self.reasons.keys().filter(|(listed, _)| *listed == kind).map(|(_, id)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_a_kind_an_id_and_a_reason() {
        assert!(
            Differences::parse("# all is well\n\nconfig a-1 the reference reads stray memory here\n").is_ok()
        );
        for bad in ["config a-1", "config a-1 so", "nothing a-1 the reference reads stray memory", "config"] {
            assert!(Differences::parse(bad).is_err(), "{bad}");
        }
        let twice =
            "config a-1 the reference reads stray memory\nconfig a-1 the reference reads stray memory\n";
        assert!(Differences::parse(twice).is_err());
    }
}
