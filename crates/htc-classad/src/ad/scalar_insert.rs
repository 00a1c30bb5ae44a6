//! Insertion of scalars into an ad.

use super::ClassAd;
use crate::syntax::name;
use crate::syntax::scalar::Scalar;

impl ClassAd {
    /// Sets an attribute to a scalar. If `new` is given, it is the hash of the name, and the ad must not have the
    /// attribute yet.
    #[inline]
    pub(crate) fn put_scalar(&mut self, name: &[u8], new: Option<u32>, value: Scalar<&[u8]>) {
        if let Scalar::Str(text) = value {
            let hash = new.unwrap_or_else(|| name::hash(name));
            if new.is_some() || self.find(name, hash).is_none() {
                return self.put_new_string(name, hash, text);
            }
        }
        let slot = value.map(|text| self.push_text(text)).into();
        self.put_with_optional_hash(name, new, slot);
    }
}
