//! JSON, XML and lists of ads.

use htc_hooks::classad::format::list::{AttributeOrder, ListForm, ListWriter};
use htc_hooks::classad::format::{json, xml};
use htc_hooks::classad::stream::{AdForm, Delimiter, ReferenceReader};
use htc_hooks::classad::{ClassAd, Dialect};
use serde::Deserialize;

use super::{Answer, NOT_PARSED, Record, Text};

/// Reads an ad from JSON or XML.
pub(super) fn read(record: &Record) -> Answer {
    let text = record.text();
    let ad = match (record.kind.as_str(), record.op.as_str()) {
        ("json", "in") => json::parse(text, Dialect::json()).ok(),
        ("json", _) => json::parse_prefix(text, Dialect::json()).ok().map(|(ad, _)| ad),
        _ => xml::parse_prefix(text, Dialect::new_syntax())
            .ok()
            .filter(|read| read.found_ad)
            .map(|read| read.ad),
    };
    record.answer(ad.map_or_else(|| NOT_PARSED.to_vec(), |ad| ad.unparse().into()))
}

/// Writes an ad as JSON or XML.
pub(super) fn write(record: &Record) -> Result<Answer, String> {
    let ad = ClassAd::parse_new(record.text(), record.dialect()).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    match record.op.as_str() {
        "out_json" => json::push(&ad, json::JsonLayout::Indented, &mut out),
        "out_json_oneline" => json::push(&ad, json::JsonLayout::OneLine, &mut out),
        "out_xml" => xml::push(&ad, xml::XmlLayout::Compact, &mut out),
        _ => xml::push(&ad, xml::XmlLayout::Spaced, &mut out),
    }
    Ok(record.answer(out))
}

/// Writes many ads as one list.
pub(super) fn list(record: &Record) -> Result<Answer, String> {
    let form = match record.fmt.as_deref() {
        Some("long") => ListForm::Long,
        Some("json") => ListForm::Json,
        Some("jsonl") => ListForm::JsonLines,
        Some("new") => ListForm::New,
        Some("newl") => ListForm::NewLines,
        Some("xml") => ListForm::Xml,
        other => return Err(format!("no such form: {other:?}")),
    };
    let order = if record.hash_order == Some(1) { AttributeOrder::Internal } else { AttributeOrder::Sorted };
    let mut writer = ListWriter::new(form, order);
    let mut out = Vec::new();
    for text in record.text().split(|byte| *byte == 0x1e) {
        let ad = ClassAd::parse_new(text, record.dialect()).map_err(|error| error.to_string())?;
        writer.write(&ad, &mut out).map_err(|error| error.to_string())?;
    }
    writer.finish(&mut out).map_err(|error| error.to_string())?;
    Ok(record.answer(out))
}

/// The forms in the order of the reference's numbers.
const NUMBERS: [AdForm; 6] =
    [AdForm::Long, AdForm::Xml, AdForm::Json, AdForm::New, AdForm::JsonLines, AdForm::NewLines];

/// Reads a stream as the tools do, up to the first ad that is empty or invalid.
pub(super) fn stream(record: &Record) -> Result<Answer, String> {
    let form = match record.fmt.as_deref() {
        Some("auto") | None => None,
        Some(name) => Some(AdForm::from_name(name).ok_or_else(|| format!("no such form: {name}"))?),
    };
    let delimiter = match &record.delim {
        Some(Text(delimiter)) if delimiter != b"\n" => Delimiter::Prefix(delimiter.clone()),
        _ => Delimiter::Blank,
    };
    let mut reader = ReferenceReader::new(record.text(), form, delimiter);
    let (mut ads, mut banners) = (Vec::new(), Vec::new());
    let last = loop {
        let step = reader.next_outcome().map_err(|error| error.to_string())?;
        banners.push(step.banner.to_vec());
        if step.status <= 0 {
            break step;
        }
        ads.push(step.ad.unparse().to_vec());
    };
    let mut answer = same_list("result", &record.result.0, &ads)?.and(
        "end",
        record.end.clone().unwrap_or_default(),
        last.status.to_string(),
    );
    if let Some(expected) = &record.banners {
        let expected: Vec<_> = expected.iter().map(|text| &text.0).collect();
        answer = answer.and("banners", format!("{expected:?}"), format!("{banners:?}"));
    }
    if let Some(expected) = record.detected {
        let got = reader.form().and_then(|form| NUMBERS.iter().position(|known| *known == form)).unwrap_or(6);
        answer = answer.and("detected", expected.to_string(), got.to_string());
    }
    Ok(answer)
}

/// Reads a stream as the Python bindings do (reference: `_classad_parse_next`, classad2/classad.cpp): with a
/// separate reader for each ad, whose form is determined by its first byte.
pub(super) fn python_stream(record: &Record) -> Result<Answer, String> {
    let mut ads = Vec::new();
    let mut rest = record.text();
    let end = loop {
        rest = rest.trim_ascii_start();
        let form = match rest.first() {
            Some(b'[' | b'/') if record.fmt.as_deref() == Some("Auto") => AdForm::New,
            _ => AdForm::Long,
        };
        let mut behind = rest;
        let mut reader = ReferenceReader::new(&mut behind, Some(form), Delimiter::Blank);
        let step = reader.next_outcome().map_err(|error| error.to_string())?;
        let left = reader.unread().len() + behind.len();
        match step.status {
            1.. => ads.push(step.ad.unparse().to_vec()),
            _ if left == 0 => break "eof",
            _ => break "ValueError",
        }
        rest = &rest[rest.len() - left..];
    };
    Ok(same_list("result", &record.result.0, &ads)?.and("end", record.end.clone().unwrap_or_default(), end))
}

/// Compares with a result that is a JSON array of texts.
fn same_list(what: &'static str, expected: &[u8], got: &[Vec<u8>]) -> Result<Answer, String> {
    #[derive(Deserialize)]
    struct Ads(Vec<Text>);
    let Ads(expected) = serde_json::from_slice(expected).map_err(|error| error.to_string())?;
    let join = |ads: &mut dyn Iterator<Item = &Vec<u8>>| {
        ads.flat_map(|ad| [&ad[..], b"\n"].concat()).collect::<Vec<u8>>()
    };
    let expected = join(&mut expected.iter().map(|text| &text.0));
    Ok(Answer(Vec::new()).and(what, expected, join(&mut got.iter())))
}
