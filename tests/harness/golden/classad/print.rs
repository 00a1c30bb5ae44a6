//! Printing of ads.

use htc_hooks::classad::{ClassAd, Expr, Value, format::long};

use super::{Answer, NOT_PARSED, Record};

/// Prints an ad in a form that has no reader.
pub(super) fn one(record: &Record) -> Result<Answer, String> {
    let ad = ClassAd::parse_new(record.text(), record.dialect()).map_err(|error| error.to_string())?;
    Ok(match record.op.as_str() {
        "out_new" => record.answer(ad.unparse()),
        "out_long" => record.answer(long::print(&ad)),
        "out_pretty" => record.answer(Expr::literal(Value::Ad(ad.into())).unparse_pretty()),
        // Python's printOld: in the order of the ad, including secrets, with names quoted where needed; an
        // empty line for an empty ad.
        _ if ad.is_empty() => record.answer(b"\n"),
        _ => record.answer(long::print_with(
            &ad,
            &long::PrintOptions {
                order: long::PrintOrder::Ad,
                private: true,
                quote_names: true,
                ..Default::default()
            },
        )),
    })
}

/// Prints a text that is not a valid ad, which has no form.
pub(super) fn no_ad(record: &Record) -> Answer {
    match ClassAd::parse_new(record.text(), record.dialect()) {
        Ok(ad) => record.answer(ad.unparse()),
        Err(_) => record.answer(NOT_PARSED),
    }
}
