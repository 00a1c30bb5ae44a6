//! Tests of reading ads from a stream.

use super::super::input_window::CONTEXT_SIZE;
use super::*;

/// Input that returns one byte at a time, like a slow pipe.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(&mut to[..1])
    }
}

fn all(read: impl Read) -> Vec<String> {
    let mut reader = AdReader::new(read, None);
    let mut out = Vec::new();
    while let Some(record) = reader.next_record().expect("memory") {
        let ad = crate::ad::Value::from(record.ad).unparse();
        let errors: Vec<String> =
            record.errors.iter().map(|e| format!(" !{}:{}", e.line, e.column())).collect();
        out.push(format!("{}:{ad}{}", record.line, errors.concat()));
    }
    out
}

#[test]
fn joined_ads_are_reported_at_the_start_of_the_second() {
    let text = b"ClusterId = 1\nA = 1\n\nA = 0\nClusterId = 2\nB = 1\nclusterid=3\nB = 2\n\nClusterId = 4\n";
    let mut reader = AdReader::new(&text[..], None);
    let mut lines: Vec<Vec<(u64, bool)>> = Vec::new();
    while let Some(record) = reader.next_record().expect("memory") {
        lines.push(record.errors.iter().map(|error| (error.line, error.is_warning)).collect());
    }
    assert_eq!(lines, [vec![], vec![(7, true)], vec![]]);
    let mut projection = Projection::default();
    projection.add("B".into());
    let (mut reader, mut record) = (AdReader::new(&text[..], Some(AdForm::Long)), AdRecord::default());
    let mut counts = Vec::new();
    while reader.next_projected(&mut projection, &mut record).expect("memory") {
        counts.push(record.errors.len());
    }
    assert_eq!(counts, [0, 1, 0]);
}

#[test]
fn a_file_without_ads_has_a_limited_number_of_errors() {
    let text = "bad\n".repeat(5000);
    let record = AdReader::new(text.as_bytes(), None).next_record().expect("memory").expect("one");
    assert_eq!((record.errors.len(), record.more_errors), (1000, 4000));
}

#[test]
fn every_format_is_detected_and_read_from_pipes() {
    for (text, ads) in [
        ("", &[][..]),
        ("\n# c\nA = 1\r\n\r\n\nB = 2", &["3:[ A = 1 ]", "6:[ B = 2 ]"]),
        (
            "-- Schedd: x : <1.2.3.4:9618?a=b>\nA = 1\n\n-- Schedd: y\nB = 2\n",
            &["2:[ A = 1 ]", "5:[ B = 2 ]"],
        ),
        ("A = 1\nB = \n = 3\nC = 4 4\n***\nD = 1\n", &["1:[ A = 1; C = 4 ] !2:5 !3:2", "6:[ D = 1 ]"]),
        ("[{\"A\":1},{\"B\":2}]", &["1:[ A = 1 ]", "1:[ B = 2 ]"]),
        ("[\n{\"A\":1}\n,\n{\"B\":}\n,\n{\"C\":3}\n]\n", &["2:[ A = 1 ]", "4:[  ] !4:6", "6:[ C = 3 ]"]),
        (
            "{\"A\":1}\nbad\nworse\n{\"B\":\"x}\n{\"C\":3}\n",
            &["1:[ A = 1 ]", "2:[  ] !2:1", "4:[  ] !5:3", "5:[ C = 3 ]"],
        ),
        ("{[A=1],[],[B=2]}", &["1:[ A = 1 ]", "1:[ B = 2 ]"]),
        ("[A=1]\n[B=\n2] // x\n/* [C */ [ D = 4 ]", &["1:[ A = 1 ]", "2:[ B = 2 ]", "4:[ D = 4 ]"]),
        (
            "<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"A\"><i>1</i></a></c>\n<c>\n<a n=\"B\"></a></c><c></c>\n</classads>\n",
            &["3:[ A = 1 ]", "4:[  ] !5:10"],
        ),
        ("<html>", &["1:[  ] !1:1"]),
    ] {
        assert_eq!(all(text.as_bytes()), ads, "{text}");
        assert_eq!(all(Slow(text.as_bytes())), ads, "{text} byte by byte");
    }
}

#[test]
fn an_error_in_a_line_of_several_ads_has_its_position_in_the_line() {
    let many = |ad: &str, count: usize| ad.repeat(count);
    for (text, line, column) in [
        (r#"[{"A":1,"B":"x"},{"A":2,"B":"y"#.to_owned(), 1, 29),
        ("[A=1][A=2][A=".to_owned(), 1, 14),
        ("[A=1]\n[A=2] [A=3 4] [A=5]\n".to_owned(), 2, 12),
        ("<classads><c><a n=\"A\"><i>1</i></a></c><c><a n=\"B\"></a></c></classads>".to_owned(), 1, 51),
        (format!("{}[A=", many("[A=1]", 1000)), 1, 5004),
        (format!("{}[A=", many("[A=1]", 200_000)), 1, 1_000_004),
        (format!("[A=1]\n{}[A=", many("[A=1]", 200_000)), 2, 1_000_004),
    ] {
        let mut reader = AdReader::new(text.as_bytes(), None);
        let mut errors = Vec::new();
        while let Some(record) = reader.next_record().expect("memory") {
            errors.extend(record.errors);
        }
        let start = &text[..text.len().min(80)];
        assert_eq!((errors.len(), errors[0].line, errors[0].column()), (1, line, column), "{start}");
        let error = &errors[0];
        let whole = text.lines().nth(usize::try_from(line).expect("small") - 1).expect("that line");
        let shown = &whole.as_bytes()[error.cut..];
        assert!(shown.starts_with(&error.text) && error.text.len() <= 1300, "{start}: {}", error.text);
        assert!(error.cut == 0 || column - 1 - error.cut >= CONTEXT_SIZE, "{start}");
        assert_eq!(error.caret("f").to_string(), format!("f:{line}:{column}"));
    }
}

#[test]
fn a_missing_end_damages_only_one_ad() {
    assert_eq!(all(&b"{\"A\": 1\n{\"B\": 2}\n"[..]), ["1:[  ] !2:1", "2:[ B = 2 ]"]);
    assert_eq!(all(&b"<c><a n=\"A\"><i>1</i></a>"[..]), ["1:[ A = 1 ] !1:1"]);
    assert_eq!(all(&b"[A = \"x ]"[..]), ["1:[  ] !1:6"]);
}
