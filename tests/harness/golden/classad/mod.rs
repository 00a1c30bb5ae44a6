//! Cases of the ClassAd library, compared with our library.

mod eval;
mod forms;
mod matching;
mod parse;
mod print;

use std::path::Path;

use htc_hooks::classad::{ClassAd, Dialect, LanguageMode, format::long};
use serde::Deserialize;

use super::{Case, Disagreement, Result, Text, Verdict};

/// A record of a golden file; `tests/data/README.md` explains its fields.
#[derive(Debug, Deserialize)]
struct Record {
    id: String,
    kind: String,
    op: String,
    mode: String,
    my: Option<Text>,
    target: Option<Text>,
    expr: Option<Text>,
    result: Text,
    #[serde(rename = "type")]
    kind_of_result: String,
    old: Option<Text>,
    bits: Option<String>,
    long: Option<Text>,
    reparse: Option<Text>,
    reparse_same: Option<Text>,
    fmt: Option<String>,
    delim: Option<Text>,
    detected: Option<i32>,
    banners: Option<Vec<Text>>,
    end: Option<String>,
    hash_order: Option<i32>,
}

/// Recorded result for a text that does not parse.
const NOT_PARSED: &[u8] = b"!parse";

/// One part of a result, which must be equal to that of the reference.
struct Point {
    what: &'static str,
    expected: Vec<u8>,
    got: Vec<u8>,
}

/// Our result, in parts.
struct Answer(Vec<Point>);

impl Record {
    /// Returns the main part of a result; further parts are added with [`Answer::and`].
    fn answer(&self, got: impl Into<Vec<u8>>) -> Answer {
        Answer(vec![Point { what: "result", expected: self.result.0.clone(), got: got.into() }])
    }

    /// Returns the input text.
    fn text(&self) -> &[u8] {
        self.expr.as_ref().map_or(b"", |text| &text.0)
    }

    fn is_strict(&self) -> bool {
        self.mode == "strict"
    }

    fn dialect(&self) -> Dialect {
        Dialect::new_syntax().mode(LanguageMode { strict: self.is_strict(), utc_times: true })
    }

    /// Parses an ad of the record: in new form if it begins with a bracket, else in long form.
    fn ad(&self, text: &Text) -> std::result::Result<ClassAd, String> {
        if text.0.starts_with(b"[") {
            return ClassAd::parse_new(&text.0, self.dialect()).map_err(|error| error.to_string());
        }
        let (ad, errors) = long::parse(&text.0);
        match errors.first() {
            None => Ok(ad),
            Some(error) => Err(error.to_string()),
        }
    }
}

impl Answer {
    fn and(mut self, what: &'static str, expected: impl Into<Vec<u8>>, got: impl Into<Vec<u8>>) -> Self {
        self.0.push(Point { what, expected: expected.into(), got: got.into() });
        self
    }
}

struct ClassAdCase(Record);

/// Reads a case of the ClassAd library.
pub fn read(line: &str, _program: &Path) -> Result<Box<dyn Case>> {
    let record: Record = serde_json::from_str(line).map_err(|error| error.to_string())?;
    Ok(Box::new(ClassAdCase(record)))
}

impl Case for ClassAdCase {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn check(&self) -> Verdict {
        let record = &self.0;
        let failed = |what: String, expected: &[u8], got: &[u8]| {
            let input = [
                Some(format!("{} {} {}", record.kind, record.op, record.mode)),
                record.expr.as_ref().map(|text| format!("{text:?}")),
                record.my.as_ref().map(|text| format!("MY {text:?}")),
                record.target.as_ref().map(|text| format!("TARGET {text:?}")),
            ];
            Verdict::Failed(Disagreement {
                what,
                input: input.into_iter().flatten().collect::<Vec<_>>().join(" "),
                expected: String::from_utf8_lossy(expected).into_owned(),
                got: String::from_utf8_lossy(got).into_owned(),
                stderr: String::new(),
            })
        };
        match answer(record) {
            Ok(Answer(points)) => match points.into_iter().find(|point| point.expected != point.got) {
                None => Verdict::Passed,
                Some(point) => failed(format!("{}: {}", record.op, point.what), &point.expected, &point.got),
            },
            Err(error) => {
                failed(format!("{}: cannot be evaluated", record.op), &record.result.0, error.as_bytes())
            }
        }
    }
}

fn answer(record: &Record) -> std::result::Result<Answer, String> {
    Ok(match record.op.as_str() {
        "expr" | "expr_old" | "expr_prefix" => parse::expression(record),
        "ad" => parse::ad(record),
        "line" => parse::line(record),
        "adinit" => parse::lines(record),
        "out_new" | "out_old" | "out_long" | "out_pretty" => print::one(record)?,
        "ad_all" => print::no_ad(record),
        "eval" => eval::expression(record)?,
        "flatten" | "flatten_inline" => eval::flattened(record)?,
        "refs" => eval::refer(record)?,
        "chain" => eval::chain(record)?,
        "in" | "in_prefix" => forms::read(record),
        "out_json" | "out_json_oneline" | "out_xml" | "out_xml_spaced" => forms::write(record)?,
        "list_writer" => forms::list(record)?,
        "stream" => forms::stream(record)?,
        "stream_py" => forms::python_stream(record)?,
        "symmetric" => matching::symmetric(record)?,
        "evalattr" => matching::attribute(record)?,
        other => return Err(format!("unknown operation: {other}")),
    })
}
