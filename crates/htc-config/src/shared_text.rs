//! Names, values and lines of a configuration. If the text of their source is kept, they refer to it instead of copying
//! it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

/// Text of a source to which [`SharedText`] values refer. The outer pointer is one word long, which makes a reference
/// as small as an owned text.
pub(crate) type WholeText = Arc<Arc<[u8]>>;

/// Owned text, or a reference to a part of a source's text. A large configuration has a name and a value for each line;
/// copies of them would take twice the memory of the file.
#[derive(Clone)]
pub struct SharedText(Storage);

#[derive(Clone)]
enum Storage {
    Owned(BString),
    Part { whole: WholeText, start: u32, length: u32 },
}

impl SharedText {
    /// Returns `text` as a part of `whole` if it is located within it, otherwise a copy.
    pub(crate) fn part_of(whole: &WholeText, text: &[u8]) -> Self {
        let (all, part) = (whole.as_ptr_range(), text.as_ptr_range());
        let is_inside = !text.is_empty() && all.start <= part.start && part.end <= all.end;
        let start = (part.start as usize).wrapping_sub(all.start as usize);
        match (u32::try_from(start), u32::try_from(text.len())) {
            (Ok(start), Ok(length)) if is_inside => {
                SharedText(Storage::Part { whole: Arc::clone(whole), start, length })
            }
            _ => text.into(),
        }
    }

    /// Returns a text whose clones share its bytes.
    pub(crate) fn whole(text: Vec<u8>) -> Self {
        let whole: WholeText = Arc::new(Arc::from(text));
        match u32::try_from(whole.len()) {
            Ok(length) => SharedText(Storage::Part { whole, start: 0, length }),
            Err(_) => whole[..].into(),
        }
    }

    /// Takes the bytes out of the text to change them; they are copied only if they are shared.
    pub(crate) fn take(&mut self) -> BString {
        match std::mem::take(self).0 {
            Storage::Owned(text) => text,
            Storage::Part { whole, start, length } => part(&whole, start, length).into(),
        }
    }
}

fn part(whole: &[u8], start: u32, length: u32) -> &[u8] {
    let start = start as usize;
    whole.get(start..start + length as usize).unwrap_or_default()
}

impl Deref for SharedText {
    type Target = BStr;

    fn deref(&self) -> &BStr {
        match &self.0 {
            Storage::Owned(text) => BStr::new(text),
            Storage::Part { whole, start, length } => BStr::new(part(whole, *start, *length)),
        }
    }
}

impl Default for SharedText {
    fn default() -> Self {
        SharedText(Storage::Owned(BString::default()))
    }
}

impl AsRef<[u8]> for SharedText {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsRef<BStr> for SharedText {
    fn as_ref(&self) -> &BStr {
        self
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<Text: AsRef<[u8]> + ?Sized> PartialEq<Text> for SharedText {
    fn eq(&self, other: &Text) -> bool {
        self.as_bytes() == other.as_ref()
    }
}

impl Eq for SharedText {}

impl PartialOrd for SharedText {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SharedText {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl PartialEq<SharedText> for BString {
    fn eq(&self, other: &SharedText) -> bool {
        self[..] == other[..]
    }
}

impl Hash for SharedText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl From<BString> for SharedText {
    fn from(text: BString) -> Self {
        SharedText(Storage::Owned(text))
    }
}

impl From<Vec<u8>> for SharedText {
    fn from(text: Vec<u8>) -> Self {
        SharedText(Storage::Owned(text.into()))
    }
}

impl From<&[u8]> for SharedText {
    fn from(text: &[u8]) -> Self {
        SharedText(Storage::Owned(text.into()))
    }
}

impl From<&BStr> for SharedText {
    fn from(text: &BStr) -> Self {
        SharedText(Storage::Owned(text.into()))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        SharedText(Storage::Owned(text.into()))
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        SharedText(Storage::Owned(text.into()))
    }
}

impl From<&SharedText> for BString {
    fn from(text: &SharedText) -> Self {
        text[..].into()
    }
}

impl From<SharedText> for BString {
    fn from(mut text: SharedText) -> Self {
        text.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_shared_text_is_not_copied() {
        assert_eq!(size_of::<SharedText>(), size_of::<Vec<u8>>());
        let whole: WholeText = Arc::new(Arc::from(&b"A = one\n"[..]));
        let mut part = SharedText::part_of(&whole, &whole[4..7]);
        assert_eq!((&part, part.as_ptr()), (&SharedText::from("one"), whole[4..].as_ptr()));
        assert_eq!((part.take(), part.is_empty()), (BString::from("one"), true));
        for other in [&b"one"[..], b""] {
            let copy = SharedText::part_of(&whole, other);
            assert!(copy == *other && !whole.as_ptr_range().contains(&copy.as_ptr()));
        }
        let shared = SharedText::whole(b"name".to_vec());
        assert_eq!(shared.clone().as_ptr(), shared.as_ptr());
    }
}
