//! Output of ads in the requested format after their jobs have ended.

use crate::classad::format::json::{self, JsonLayout};
use crate::classad::format::long;
use crate::cli::common::AdFormat;

/// Formats ads that are given in the long form: as one array, as one object per line, or unchanged.
pub(super) fn render_ad_list<'a>(form: Option<AdFormat>, ads: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut count = 0_u32;
    for long_form in ads {
        match form {
            None | Some(AdFormat::Long) => text.extend_from_slice(long_form),
            Some(AdFormat::Json) => {
                text.extend_from_slice(if count == 0 { b"[\n" } else { b",\n" });
                json::push(&long::parse(long_form).0, JsonLayout::Indented, &mut text);
            }
            Some(AdFormat::Jsonl) => {
                json::push(&long::parse(long_form).0, JsonLayout::OneLine, &mut text);
                text.push(b'\n');
            }
        }
        count += 1;
    }
    if form == Some(AdFormat::Json) {
        text.extend_from_slice(if count == 0 { b"[\n]\n" } else { b"\n]\n" });
    }
    text
}
