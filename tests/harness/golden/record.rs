//! Reading of records: plain or gzipped lines of JSON, with texts that are bytes.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::Result;

/// Returns the lines of a file that are not empty; a file whose name ends in `.gz` is unpacked.
pub fn lines(file: &Path) -> Result<Vec<String>> {
    let raw = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut text = String::new();
    let read = if file.extension().is_some_and(|end| end == "gz") {
        flate2::read::MultiGzDecoder::new(raw.as_slice()).read_to_string(&mut text)
    } else {
        raw.as_slice().read_to_string(&mut text)
    };
    read.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

/// Returns the names of the cases of a file.
pub fn ids(file: &Path) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let id = |line: &String| serde_json::from_str(line).map(|named: Named| named.id);
    lines(file)?.iter().map(id).collect::<std::result::Result<_, _>>().map_err(|error| error.to_string())
}

/// Bytes that are a string in JSON; bytes that are not UTF-8 are `\udc80` to `\udcff`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// Returns the text for messages.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", self.shown())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> std::result::Result<Text, E> {
                Ok(Text(without_surrogates(bytes)))
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Text, E> {
                Ok(Text(text.as_bytes().to_owned()))
            }
        }
        from.deserialize_byte_buf(Bytes)
    }
}

/// Replaces lone surrogates that represent a byte by that byte; the JSON reader returns them as three bytes.
fn without_surrogates(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        if let [0xed, high @ (0xb2 | 0xb3), low @ 0x80..=0xbf, ..] = rest {
            out.push(0x80 + (high - 0xb2) * 0x40 + (low - 0x80));
            rest = &rest[3..];
        } else {
            out.push(first);
            rest = tail;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf8_is_preserved() {
        let text: Text = serde_json::from_str(r#""a\udcff\u00e9\udca9\n""#).unwrap();
        assert_eq!(text.0, b"a\xff\xc3\xa9\xa9\n");
    }
}
