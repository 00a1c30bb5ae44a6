//! Comparison with HTCondor's ClassAd library and with PelicanPlatform's library in Go, on the inputs of the Go library's
//! tests. The table in the README is generated from the results: `HTC_BOOK=write cargo test -p htc-classad --test comparison`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use htc_classad::{ClassAd, Context, Dialect, Expr, System};

/// Inputs with the results of the other libraries, written by `record.py`.
const RECORDED: &str = include_str!("recorded.tsv");

/// Nanoseconds that each library needs for an ad, written by `speed/measure.py`.
const SPEED: &str = include_str!("speed/speed.tsv");

/// Inputs for which results differ. `classad2` puts an expression in brackets before it parses the expression, so this input
/// ends at the `]` within it.
const DIFFERENT: [&str; 1] = ["\"([^\"]+)\""];

/// Line before the table in the README.
const BEGIN: &str = "<!-- comparison: written by a test -->\n";
const END: &str = "<!-- end of comparison -->\n";

/// Input with the results of the other libraries.
struct Recorded {
    input: String,
    /// Result of HTCondor's library (`classad2`).
    reference: String,
    /// Result that the tests of the Go library expect, or `None`.
    go: Option<String>,
}

fn recorded() -> Vec<Recorded> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split('\t').map(unescape).collect::<Vec<_>>());
    fields
        .map(|fields| match <[String; 3]>::try_from(fields) {
            Ok([input, reference, go]) => Recorded { input, reference, go: (go != "-").then_some(go) },
            Err(fields) => panic!("three fields are expected: {fields:?}"),
        })
        .collect()
}

fn unescape(field: &str) -> String {
    let mut text = String::new();
    let mut letters = field.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                other => other.unwrap(),
            },
            other => other,
        });
    }
    text
}

/// Returns the value of an expression, or the values of the attributes of an ad, in the format of `record.py`.
fn answer(input: &str) -> String {
    let Ok(expr) = Expr::parse(input.as_bytes()) else { return "parse error".to_owned() };
    let ad = ClassAd::parse_new(input.as_bytes(), Dialect::new_syntax());
    let ad = ad.ok().filter(|_| input.trim_start().starts_with('['));
    let Some(ad) = ad else {
        return Context::new(&System).my(&ClassAd::new()).eval(&expr).unparse().to_string();
    };
    let mut names: Vec<String> = ad.names().map(|name| name.to_string()).collect();
    names.sort_by_key(|name| (name.to_lowercase(), name.clone()));
    let values = names.iter().map(|name| {
        let value = Context::new(&System).my(&ad).eval_attr(name).unparse();
        format!("{name} = {value}")
    });
    values.collect::<Vec<_>>().join("; ")
}

/// Returns the rows about speed, one per kind of work: how many times as long as this crate each library takes.
fn speed_rows() -> Vec<String> {
    let lines = SPEED.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let work = match fields.next().unwrap() {
                "read" => "read an ad of 30 attributes in long form",
                "print" => "print this ad in long form",
                "evaluate" => "evaluate a constraint of five clauses",
                "match" => "match a job and a slot (Requirements of both)",
                other => panic!("unknown kind of work: {other}"),
            };
            let times: Vec<f64> = fields.map(|field| field.parse().unwrap()).collect();
            let [own, reference, go] = times[..] else { panic!("three times are expected: {line}") };
            format!("| time to {work} | 1 | {:.1} | {:.1} |", reference / own, go / own)
        })
        .collect()
}

/// Returns the table for the README.
fn table() -> String {
    let recorded = recorded();
    let answers: Vec<String> = recorded.iter().map(|one| answer(&one.input)).collect();
    let pairs = || recorded.iter().zip(&answers);
    let total = recorded.len();
    let equal = pairs().filter(|(one, answer)| one.reference == **answer).count();
    let go: Vec<(&Recorded, &String)> = pairs().filter(|(one, _)| one.go.is_some()).collect();
    let go_equal = go.iter().filter(|(one, _)| one.go.as_ref() == Some(&one.reference)).count();
    let own_equal = go.iter().filter(|(one, answer)| one.reference == **answer).count();
    let cases = go.len();
    let mut rows = vec![
        "| | htc-classad | `classad2` (Python, C++) | PelicanPlatform/classad (Go) |".to_owned(),
        "|---|---|---|---|".to_owned(),
        "| formats | long, new, JSON, JSON lines, XML | long, new, JSON, XML | long, new, JSON |".to_owned(),
        "| positions in errors, explanations, `pitfalls` | yes | no | no |".to_owned(),
        "| structures | `serde` | no | tags, `Marshal`, `Unmarshal` |".to_owned(),
        "| threads | all types are `Send` and `Sync`; streams on all cores | one at a time | yes |"
            .to_owned(),
        "| works without C code and in browsers | without the feature `regex` | no | yes |".to_owned(),
        format!(
            "| same result as `classad2` 25.14 for {total} inputs of PelicanPlatform's tests | {equal} | {total} | not recorded |"
        ),
        format!(
            "| the same for the {cases} inputs of `TestCppParity` | {own_equal} | {cases} | {go_equal} |"
        ),
    ];
    rows.extend(speed_rows());
    rows.join("\n") + "\n"
}

#[test]
fn answers_are_those_of_the_reference() {
    let recorded = recorded();
    assert!(recorded.len() > 900, "{}", recorded.len());
    let different: Vec<String> = recorded
        .iter()
        .map(|one| (one, answer(&one.input)))
        .filter(|(one, answer)| (one.reference != *answer) != DIFFERENT.contains(&one.input.as_str()))
        .map(|(one, answer)| format!("{}: {answer}, expected {}", one.input, one.reference))
        .collect();
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

#[test]
fn the_readme_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("HTC_BOOK").is_some_and(|what| what == "write") {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(written, table, "HTC_BOOK=write cargo test -p htc-classad --test comparison writes it");
    }
}
