//! Values that need no parser: plain numbers, strings without escapes, the words for true and false.

use super::{ClassAd, Slot};
use crate::syntax::name;
use crate::syntax::scalar::Scalar;

impl ClassAd {
    /// Sets an attribute. With a hash: the name has it and is not in the ad.
    #[inline]
    pub(crate) fn put_plain(&mut self, name: &[u8], new: Option<u32>, value: Scalar<'_>) {
        let slot = match value {
            Scalar::Undefined => Slot::Undefined,
            Scalar::Error => Slot::Error,
            Scalar::Str(text) => {
                if let Some(hash) = new {
                    return self.put_new_string(name, hash, text);
                }
                let hash = name::hash(name);
                if self.find(name, hash).is_none() {
                    return self.put_new_string(name, hash, text);
                }
                let (start, len) = self.push_text(text);
                Slot::Str { start, len }
            }
            Scalar::Int(integer) => Slot::Int(integer),
            Scalar::Real(real) => Slot::Real(real),
            Scalar::Bool(truth) => Slot::Bool(truth),
        };
        self.put_known(name, new, slot);
    }
}
