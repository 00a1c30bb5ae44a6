//! Ads as JSON objects (reference: jsonSink.cpp, jsonSource.cpp).
//!
//! Values that have no JSON form are written as `"\/Expr(...)\/"`. The reader uses the ClassAd lexer with the escapes
//! of JSON, so it also accepts comments, adjacent strings and extra commas. Neither the reader nor the writer
//! recurses.
//!
//! ```
//! use htc_classad::{Dialect, format::json::{self, JsonLayout}};
//! let text = r#"{"Cpus": 4}"#;
//! let mut again = Vec::new();
//! json::push(&json::parse(text, Dialect::json()).unwrap(), JsonLayout::OneLine, &mut again);
//! assert_eq!(again, text.as_bytes());
//! ```

mod json_reader;
mod json_writer;

pub(crate) use json_reader::{MAX_DEPTH, parse_next};
pub use json_reader::{parse, parse_prefix};
pub(crate) use json_writer::push_attributes;
pub use json_writer::{JsonLayout, push, push_value};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad_io::line_memo::LineMemo;
    use crate::syntax::Dialect;

    fn round(text: &str) -> String {
        let ad = parse(text.as_bytes(), Dialect::json()).expect("good JSON");
        let mut out = Vec::new();
        push(&ad, JsonLayout::OneLine, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn values_survive_a_round_trip_through_json() {
        for text in [
            r#"{}"#,
            r#"{"A": 1,"B": [1,[2,[]],{"C": null,"D": {}}]}"#,
            r#"{"E": "\/Expr(a + b)\/","F": "/Expr(a)/"}"#,
            r#"{"R": 1.5,"S": "x\ny\u0001\"\\"}"#,
        ] {
            assert_eq!(round(text), text);
        }
        assert_eq!(round(r#"{,,"A":1,,"B":2,}"#), r#"{"A": 1,"B": 2}"#);
    }

    #[test]
    fn an_ad_in_an_array_is_read_like_a_single_ad() {
        let texts = [
            r#"{"A": 1,"B": "x","E": "\/Expr(a + b)\/"}"#,
            r#"{"A": 2,"B": "y\"z","E": "\/Expr(a + b)\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 12 > strlen(\"x\"))\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 7 > strlen(\"longer\"))\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 007 > strlen(\"\"))\/"}"#,
            r#"{"A": 2,"B": "broken off","#,
            r#"{"A": 2,"a": 3,"B": "","E": "\/Expr(a + c)\/","e": 1.5}"#,
            r#"{"a": 1,"B": "\/Expr(\"x\")\/","E": "\/Expr(\/"}"#,
            r#"{"B": [1,{"c": null}],"A": true,"E": null}"#,
            "{}",
        ];
        let mut memo = LineMemo::default();
        for text in texts.iter().chain(&texts) {
            let remembered = parse_next(text.as_bytes(), Dialect::json(), &mut memo);
            let alone = parse_prefix(text.as_bytes(), Dialect::json());
            assert_eq!(
                remembered.as_ref().map(|(ad, used)| (ad.unparse(), *used)),
                alone.as_ref().map(|(ad, used)| (ad.unparse(), *used)),
                "{text}"
            );
            if let (Ok((ad, _)), Ok((other, _))) = (remembered, alone) {
                assert!(other.names().all(|name| ad.contains(name)), "{text}");
            }
        }
    }

    #[test]
    fn a_million_brackets_do_not_overflow() {
        let deep = |levels: usize| format!("{{\"A\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(round(&deep(MAX_DEPTH)).len(), deep(MAX_DEPTH).len());
        assert!(parse(deep(1_000_000).as_bytes(), Dialect::json()).is_err());
        assert!(parse("{\"A\": ".repeat(200_000).as_bytes(), Dialect::json()).is_err());
        let error = parse(deep(MAX_DEPTH + 1).as_bytes(), Dialect::json()).expect_err("one too many");
        assert_eq!(error.to_string(), "the arrays and objects are nested too deeply");
        assert!(error.help().is_some_and(|help| help.contains(&MAX_DEPTH.to_string())), "{:?}", error.help());
    }

    #[test]
    fn invalid_json_has_a_position() {
        for (text, at) in
            [("{\"A\": }", 6), ("{\"A\" 1}", 5), ("[1]", 0), ("{\"A\":[1,]}", 8), ("{\"A\":1} x", 8)]
        {
            let error = parse(text.as_bytes(), Dialect::json()).expect_err("bad JSON");
            assert_eq!(error.span.start, at, "{text}: {error}");
        }
    }
}
