//! Claim ids. Knowing the id of a claim is the right to use its slot, so the last part of the id is secret (`claim.cpp`, class
//! ClaimId).

use std::fmt;
use std::sync::Arc;

use bstr::BString;

/// Session attributes that 25.14 includes in claim ids offered to schedds.
const SESSION_ATTRIBUTES: &str = "[Integrity=\"NO\";Encryption=\"NO\";ShortVersion=\"25.14.0\";\
                       CryptoMethods=\"BLOWFISH\";CryptoMethodsList=\"AES.BLOWFISH.3DES\";]";

/// Claim id: `<address>#<start time>#<sequence>#<key>`. `Display` and `Debug` omit the key.
///
/// The text is formatted on demand, because most claims of a simulation are never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClaimId {
    address: Arc<str>,
    start: i64,
    sequence: u64,
    /// True if the id contains session attributes, as ids offered to schedds do.
    has_session: bool,
    key: [u64; 4],
}

impl ClaimId {
    /// Creates the id of claim number `sequence` of an execution point started at `start` (epoch seconds).
    ///
    /// `key` is the secret: 256 random bits, written in hexadecimal.
    pub fn new(address: &Arc<str>, start: i64, sequence: u64, key: [u64; 4]) -> Self {
        ClaimId { address: address.clone(), start, sequence, has_session: false, key }
    }

    /// Creates an id as [`ClaimId::new`] does, with the session attributes that precede the secret in ids offered to schedds. The
    /// session attributes contain double quotes and no `#`.
    pub fn with_session(address: &Arc<str>, start: i64, sequence: u64, key: [u64; 4]) -> Self {
        ClaimId { has_session: true, ..ClaimId::new(address, start, sequence, key) }
    }

    /// Returns the whole id with its secret. Use it only for the standard input of hooks.
    pub fn secret(&self) -> BString {
        let key: String = self.key.iter().map(|word| format!("{word:016x}")).collect();
        let session = if self.has_session { SESSION_ATTRIBUTES } else { "" };
        format!("{}#{}#{}#{session}{key}", self.address, self.start, self.sequence).into()
    }

    /// Returns the id up to its last `#`, followed by `...`. This form is used in the attribute PublicClaimId, in logs and in
    /// events.
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
