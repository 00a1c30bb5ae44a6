//! Our answers, in the format of the reference's.

use htc_hooks::classad::flatten::{self, FlattenResult};
use htc_hooks::classad::format::{json, long, new_syntax};
use htc_hooks::classad::references::{self, AttrNames, ReferenceSpelling};
use htc_hooks::classad::{ClassAd, Context, Dialect, Expr, MatchAd};
use htc_hooks::os::RealWorld;

use super::{Kind, Question};

pub(crate) fn answer(question: &Question) -> String {
    // The module reads the ad at the beginning of a text.
    let read = |text: &str| {
        new_syntax::parse_prefix(text.as_bytes(), Dialect::new_syntax())
            .ok()
            .map(|(ad, _): (ClassAd, usize)| ad)
    };
    let Some(my) = read(&question.my) else { return String::from("!ad") };
    let target = match &question.target {
        None => None,
        Some(text) => match read(text) {
            Some(ad) => Some(ad),
            None => return String::from("!ad"),
        },
    };
    let world = RealWorld::new().in_utc();
    match question.kind {
        Kind::Print => return print(&my),
        Kind::Match => {
            let pair = MatchAd::new(&world, &my, target.as_ref().unwrap_or(&my));
            let value =
                |context: Context<'_>| match context.my_ad().is_some_and(|ad| ad.contains("Requirements")) {
                    false => String::from("undefined"),
                    true => context
                        .try_eval_attr("Requirements")
                        .value()
                        .map_or_else(|| String::from("!fail"), |value| Expr::literal(value).to_string()),
                };
            let values = [value(pair.left()), value(pair.right())];
            let values: Vec<_> = values.iter().map(|text| python_json(text)).collect();
            return format!("[{}]", values.join(", "));
        }
        _ => {}
    }
    // The module parses an expression by inserting it into an ad.
    let Some(expr) = read(&format!("[expression = {}]", question.text)).and_then(|ad| ad.get("expression"))
    else {
        return String::from("!parse");
    };
    match question.kind {
        Kind::Flatten => match flatten::flatten(&expr, Context::new(&world).my(&my)) {
            Some(FlattenResult::Value(value)) => Expr::literal(value).to_string(),
            Some(FlattenResult::Expr(rest)) => rest.to_string(),
            None => String::from("!fail"),
        },
        Kind::Refs => {
            let list = |names: Option<AttrNames>| match names {
                None => String::from("\"!fail\""),
                Some(names) => {
                    let mut names: Vec<_> = names.iter().map(ToString::to_string).collect();
                    names.sort();
                    let names: Vec<_> =
                        names.iter().map(|name| serde_json::to_string(name).unwrap_or_default()).collect();
                    format!("[{}]", names.join(", "))
                }
            };
            format!(
                "[{}, {}]",
                list(references::external(&expr, Context::new(&world).my(&my), ReferenceSpelling::Full)),
                list(references::internal(&expr, Context::new(&world).my(&my)))
            )
        }
        _ => {
            let mut context = Context::new(&world).my(&my);
            if let Some(target) = &target {
                context = context.target(target);
            }
            let value = match context.try_eval(&expr) {
                Some(value) => Expr::literal(value).to_string(),
                None => String::from("!fail"),
            };
            format!("{expr}\n{value}")
        }
    }
}

fn print(ad: &ClassAd) -> String {
    let texts = printed(ad).map(|text| python_json(&text));
    format!("[{}]", texts.join(", "))
}

/// Returns an ad as the module's `repr`, `printOld` and `printJson` print it.
pub(crate) fn printed(ad: &ClassAd) -> [String; 3] {
    let options = long::PrintOptions {
        order: long::PrintOrder::Ad,
        private: true,
        quote_names: true,
        ..long::PrintOptions::default()
    };
    let mut old = String::from_utf8_lossy(&long::print_with(ad, &options)).into_owned();
    if old.is_empty() {
        // The module prints a newline for an empty ad.
        old.push('\n');
    }
    let mut out = Vec::new();
    json::push(ad, json::JsonLayout::Indented, &mut out);
    let json = String::from_utf8_lossy(&out).into_owned();
    [ad.unparse().to_string(), old, json]
}

/// Returns a string as Python's `json.dumps` writes it: everything outside ASCII is escaped.
fn python_json(text: &str) -> String {
    let mut out = String::new();
    for c in serde_json::to_string(text).unwrap_or_default().chars() {
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out += &format!("\\u{unit:04x}");
            }
        }
    }
    out.replace("\\u007f", "\u{7f}")
}
