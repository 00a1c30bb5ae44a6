//! Corrections of advertised values that were intended as strings, numbers or truth values but are written differently.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, similar_names};
use htc_config::Advice;

use super::known_attributes::nearest_attribute;
use super::type_rules::suggest_boolean;

/// Correction of an advertised value.
pub(super) struct AdvertisedText {
    pub(super) advice: Advice,
    /// New value, or `None` if the correction is not certain.
    pub(super) replacement: Option<BString>,
}

impl AdvertisedText {
    fn certain(text: impl Into<BString>) -> Self {
        let text = text.into();
        AdvertisedText { advice: Advice::Write(text.clone()), replacement: Some(text) }
    }

    fn uncertain(advice: impl Into<Advice>) -> Self {
        AdvertisedText { advice: advice.into(), replacement: None }
    }
}

/// Returns the value that was probably intended. `raw` is the value as it is written, and `value` the expanded one.
pub(super) fn suggest_advertised(raw: &[u8], value: &[u8]) -> AdvertisedText {
    let quoted = |text: &[u8]| [b"\"", text, b"\""].concat();
    let text = raw.trim();
    if text.contains(&b'"') {
        return AdvertisedText::uncertain("write a string in double quotes");
    }
    if raw.trim() != value.trim() {
        let advice = format!("write \"{}\", with the quotes", text.as_bstr());
        return AdvertisedText::uncertain(advice);
    }
    let core = text.trim_end_with(|c| matches!(c, ';' | ',') || c.is_whitespace());
    if let Some(suggested) = suggest_truth_value(core, text) {
        return suggested;
    }
    if let Some(inner) = text.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'"))
        && !inner.contains(&b'\'')
    {
        return AdvertisedText::certain(quoted(inner));
    }
    let with_quotes = format!("write \"{}\", with the quotes", BStr::new(text));
    let has_operator = text.find_byteset(b"<>=&|!?(){}[]*+%^~'`\\$#").is_some();
    let is_number = text.first().is_some_and(u8::is_ascii_digit) && {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit() || b",._".contains(byte)).count();
        let unit = text[digits..].trim();
        unit.len() <= 5 && unit.iter().all(u8::is_ascii_alphabetic) && !text[..digits].contains(&b'.')
    };
    if is_number {
        return AdvertisedText::uncertain(format!(
            "write a number without a unit, or \"{}\" for a string",
            BStr::new(text)
        ));
    }
    if has_operator || core.len() < text.len() {
        let message = format!("correct the expression, or {with_quotes}");
        return AdvertisedText::uncertain(message);
    }
    let is_name = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    match nearest_attribute(text).filter(|near| is_name && is_slip(text, near)) {
        Some(near) => AdvertisedText::uncertain(Advice::DidYouMean(near.into())),
        None => AdvertisedText { advice: with_quotes.into(), replacement: Some(quoted(text).into()) },
    }
}

/// True if a name is at least five letters long and differs from an attribute in one letter.
fn is_slip(name: &[u8], attribute: impl AsRef<[u8]>) -> bool {
    const MIN_LENGTH: usize = 5;
    let [name, attribute] = [name, attribute.as_ref()].map(<[u8]>::to_ascii_lowercase);
    name.len() >= MIN_LENGTH && similar_names::distance(&name, &attribute, 1).is_some()
}

/// Returns the truth value that a word stands for. `text` is the whole value, which may have a semicolon at its end.
fn suggest_truth_value(word: &[u8], text: &[u8]) -> Option<AdvertisedText> {
    let is_literal = ["true", "false"].iter().any(|known| caseless::eq(known.as_bytes(), word));
    if is_literal && word.len() < text.len() {
        return Some(AdvertisedText::certain(word));
    }
    // A single letter may be a name, for example of a rack.
    let advice = suggest_boolean(word).filter(|_| word.len() > 1 && !is_literal)?;
    let lower = word.to_ascii_lowercase();
    match advice {
        Advice::Write(truth) => Some(AdvertisedText::certain(truth)),
        Advice::DidYouMean(near) => {
            let is_near = word.len() >= 4 && similar_names::distance(&lower, &near, 1).is_some();
            is_near.then(|| AdvertisedText::uncertain(Advice::DidYouMean(near)))
        }
        Advice::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_certainly_a_string() {
        let suggested = |raw: &str| suggest_advertised(raw.as_bytes(), raw.as_bytes()).replacement;
        let text = |raw: &str| suggested(raw).map(|text| text.to_string());
        for (raw, meant) in [
            ("Wisconsin", "\"Wisconsin\""),
            ("us-east-1a", "\"us-east-1a\""),
            ("Room 12", "\"Room 12\""),
            ("'UW'", "\"UW\""),
            ("yes", "true"),
            ("off", "false"),
            ("True;", "True"),
            ("n", "\"n\""),
        ] {
            assert_eq!(text(raw).as_deref(), Some(meant), "{raw}");
        }
        for raw in ["Treu", "5 GB", "1,000", "Memory > 1 &&", "Memroy", "a; b = 1", "x;"] {
            assert_eq!(text(raw), None, "{raw}");
        }
        assert!(suggest_advertised(b"$(HOSTNAME)", b"vm").replacement.is_none());
    }
}
