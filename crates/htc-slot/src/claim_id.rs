//! The id of a claim: who holds it may use the slot, so its last part is a secret (`claim.cpp`, class ClaimId).

use std::fmt;
use std::sync::Arc;

use bstr::BString;

/// What 25.14 writes for a claim that a schedd may take (recording s01).
const SESSION_ATTRIBUTES: &str = "[Integrity=\"NO\";Encryption=\"NO\";ShortVersion=\"25.14.0\";\
                       CryptoMethods=\"BLOWFISH\";CryptoMethodsList=\"AES.BLOWFISH.3DES\";]";

/// `<address>#<start time>#<sequence>#<key>`. Printing it, also for debugging, leaves the key out.
///
/// Its text is made when somebody asks for it: most claims of a simulation are never told to anybody.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClaimId {
    address: Arc<str>,
    start: i64,
    sequence: u64,
    /// Whether it carries the session attributes that ids offered to schedds have.
    has_session: bool,
    key: [u64; 4],
}

impl ClaimId {
    /// Makes the id of claim number `sequence` of an execution point that began at `start` (epoch seconds).
    ///
    /// `key` is the secret: 256 random bits, in hexadecimal in the id.
    pub fn new(address: &Arc<str>, start: i64, sequence: u64, key: [u64; 4]) -> Self {
        ClaimId { address: address.clone(), start, sequence, has_session: false, key }
    }

    /// As [`ClaimId::new`], with the session attributes that ids offered to schedds carry before their secret. They
    /// hold double quotes and no `#`.
    pub fn with_session(address: &Arc<str>, start: i64, sequence: u64, key: [u64; 4]) -> Self {
        ClaimId { has_session: true, ..ClaimId::new(address, start, sequence, key) }
    }

    /// The whole id with its secret: only for the stdin of hooks.
    pub fn secret(&self) -> BString {
        let key: String = self.key.iter().map(|word| format!("{word:016x}")).collect();
        let session = if self.has_session { SESSION_ATTRIBUTES } else { "" };
        format!("{}#{}#{}#{session}{key}", self.address, self.start, self.sequence).into()
    }

    /// The id up to its last `#`, then `#...`: the attribute PublicClaimId, logs and events.
    pub fn public(&self) -> String {
        format!("{}#{}#{}#...", self.address, self.start, self.sequence)
    }
}

impl fmt::Debug for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public())
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_a_claim_id_never_shows_its_secret() {
        let id = ClaimId::new(&"<127.0.0.1:9618?addrs=127.0.0.1-9618>".into(), 1795217630, 2, [0xabcdef; 4]);
        assert_eq!(id.to_string(), "<127.0.0.1:9618?addrs=127.0.0.1-9618>#1795217630#2#...");
        assert!(!format!("{id:?}").contains("abcdef"));
        assert!(id.secret().ends_with(b"abcdef"));
    }
}
