//! Names of attributes, which compare case-insensitively and keep their spelling.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bstr::{BStr, BString, ByteSlice};

use crate::text::caseless;

/// Name of an attribute. Names that differ only in ASCII case are equal; each name keeps its spelling.
///
/// ```
/// use htc_classad::AttrName;
/// assert_eq!(AttrName::from("RequestCpus"), AttrName::from("requestcpus"));
/// assert_eq!(AttrName::from("RequestCpus").to_string(), "RequestCpus");
/// ```
#[derive(Clone, Default)]
pub struct AttrName(BString);

impl AttrName {
    /// Returns the bytes of the original spelling.
    ///
    /// ```
    /// use htc_classad::AttrName;
    /// let name = AttrName::from("RequestCpus");
    /// assert_eq!((name.as_bytes(), name.as_bstr().to_string().as_str()), (&b"RequestCpus"[..], "RequestCpus"));
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name as a byte string, for printing.
    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }
}

impl From<&str> for AttrName {
    fn from(name: &str) -> Self {
        AttrName(BString::from(name))
    }
}

impl From<&[u8]> for AttrName {
    fn from(name: &[u8]) -> Self {
        AttrName(BString::from(name))
    }
}

impl From<&BStr> for AttrName {
    fn from(name: &BStr) -> Self {
        AttrName(name.to_owned())
    }
}

impl From<Vec<u8>> for AttrName {
    fn from(name: Vec<u8>) -> Self {
        AttrName(BString::from(name))
    }
}

impl From<BString> for AttrName {
    fn from(name: BString) -> Self {
        AttrName(name)
    }
}

impl From<String> for AttrName {
    fn from(name: String) -> Self {
        AttrName(BString::from(name))
    }
}

impl From<AttrName> for BString {
    fn from(name: AttrName) -> Self {
        name.0
    }
}

impl AsRef<[u8]> for AttrName {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq for AttrName {
    fn eq(&self, other: &Self) -> bool {
        caseless::eq(&self.0, &other.0)
    }
}

impl Eq for AttrName {}

impl PartialEq<str> for AttrName {
    fn eq(&self, other: &str) -> bool {
        caseless::eq(&self.0, other.as_bytes())
    }
}

impl PartialEq<&str> for AttrName {
    fn eq(&self, other: &&str) -> bool {
        caseless::eq(&self.0, other.as_bytes())
    }
}

impl PartialOrd for AttrName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AttrName {
    fn cmp(&self, other: &Self) -> Ordering {
        caseless::cmp(&self.0, &other.0)
    }
}

impl Hash for AttrName {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        caseless::hash_name(&self.0, state);
    }
}

impl fmt::Display for AttrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0.as_bstr(), f)
    }
}

impl fmt::Debug for AttrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.as_bstr(), f)
    }
}

/// Reason why a name cannot be the name of an attribute. The reference rejects the same names.
///
/// ```
/// use htc_classad::{ClassAd, NameError};
/// let mut ad = ClassAd::new();
/// assert_eq!(ad.try_set("", 2), Err(NameError::Empty));
/// assert_eq!(ad.try_set("a\0b", 2), Err(NameError::Nul));
/// assert!(ad.try_set("any other name", 2).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("an attribute has an empty name")]
    Empty,
    /// The name has a NUL byte, which no syntax of ads can represent.
    #[error("the name of an attribute has a NUL byte")]
    Nul,
}

impl NameError {
    /// Checks that a name can be the name of an attribute.
    ///
    /// # Errors
    /// Fails with the reason why the name is invalid.
    ///
    /// ```
    /// use htc_classad::NameError;
    /// assert_eq!(NameError::check("Owner"), Ok(()));
    /// assert_eq!(NameError::check(""), Err(NameError::Empty));
    /// ```
    pub fn check(name: impl AsRef<[u8]>) -> Result<(), NameError> {
        check(name.as_ref())
    }
}

/// Checks that a name can be the name of an attribute.
#[inline]
pub(crate) fn check(name: &[u8]) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    // Names are so short that a vectorised search would not be faster.
    if name.contains(&0) { Err(NameError::Nul) } else { Ok(()) }
}

/// Compares names in the order in which the reference stores and prints the attributes of an ad: by length, then
/// case-insensitively.
#[inline]
pub(crate) fn ad_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| caseless::cmp(a, b))
}

/// Returns a case-insensitive hash of a name. Eight bytes at a time are hashed.
#[inline]
pub fn hash(name: &[u8]) -> u32 {
    const FOLD: u64 = 0x2020_2020_2020_2020;
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = name.len() as u64;
    let mut mix = |word: u64| state = (state.rotate_left(23) ^ (word | FOLD)).wrapping_mul(MIX);
    match name.last_chunk::<8>() {
        Some(last) => {
            let (chunks, rest) = name.as_chunks::<8>();
            for chunk in chunks {
                mix(u64::from_le_bytes(*chunk));
            }
            if !rest.is_empty() {
                mix(u64::from_le_bytes(*last));
            }
        }
        // The two halves may overlap; the length of the name was hashed before.
        None => match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                mix(u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32);
            }
            _ => mix(name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))),
        },
    }
    (state ^ state >> 32) as u32
}

/// Returns true if an attribute with this name is a secret, which is neither printed nor passed to jobs and
/// hooks (reference: `ClassAdAttributeIsPrivateAny`, compat_classad.cpp).
///
/// ```
/// use htc_classad::is_private;
/// assert!(is_private("ClaimId") && is_private("_condor_privRemoteUser") && !is_private("Owner"));
/// ```
#[inline]
pub fn is_private(name: impl AsRef<[u8]>) -> bool {
    const PRIVATE_ATTRIBUTES: [&[u8]; 6] =
        [b"Capability", b"ChildClaimIds", b"ClaimId", b"ClaimIdList", b"ClaimIds", b"TransferKey"];
    let name = name.as_ref();
    match name.first() {
        Some(b'c' | b'C' | b't' | b'T') => {
            PRIVATE_ATTRIBUTES.iter().any(|private| caseless::eq(private, name))
        }
        Some(b'_') => caseless::starts_with(name, b"_condor_priv"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_hash_alike() {
        for name in ["a", "Abc", "JobUniverse", "RequestMemoryAndMuchMoreOfIt", "12345678", "x_y"] {
            assert_eq!(hash(name.as_bytes()), hash(name.to_uppercase().as_bytes()), "{name}");
        }
        assert_ne!(hash(b"ab"), hash(b"ba"));
    }

    #[test]
    fn private_names_are_recognized_in_any_case() {
        assert!(is_private("claimid") && is_private("_CONDOR_PRIVx") && is_private("TransferKey"));
        assert!(!is_private("ClaimIdx") && !is_private("Owner"));
    }
}
