//! Tests that all ways to read long ads give the same result: with a projection, completely, from input in small
//! pieces, and across the ends of the buffer.
//!
//! The regular tests include a short run; `PROPTEST_CASES=100000 cargo test -p htc-classad --lib stream::agreement`
//! runs more cases.

use std::io::{self, Read};

use proptest::prelude::*;

use super::{AdError, AdReader, AdRecord, Delimiter, LineKind, Projection, ReferenceReader, strip_cr};
use crate::ad::{ClassAd, LineError, check_exact_line};
use crate::ad_io::delimiter::as_banner;
use crate::ad_io::format::long;
use crate::syntax::Dialect;
use crate::text::Span;

/// Wanted attributes.
const WANTED_NAMES: [&str; 3] = ["A", "B", "Name"];

/// Input that returns a limited number of bytes in each read, like a pipe.
struct PiecewiseInput<'a>(&'a [u8], usize);

impl Read for PiecewiseInput<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = to.len().min(self.1);
        self.0.read(&mut to[..length])
    }
}

/// Contents of an ad for comparison: its long form, line, banner and errors.
type AdSummary = (String, u64, Option<String>, Vec<AdError>);

fn summarize(record: &AdRecord, ad: &ClassAd) -> AdSummary {
    let all = long::PrintOptions { private: true, ..long::PrintOptions::default() };
    let text = String::from_utf8_lossy(&long::print_with(ad, &all)).into_owned();
    // The line-by-line reader of this test does not create warnings.
    let errors = record.errors.iter().filter(|error| !error.is_warning).cloned().collect();
    (text, record.line, record.banner.as_ref().map(ToString::to_string), errors)
}

fn read_whole(read: impl Read, exact: bool) -> Vec<AdSummary> {
    let mut reader = AdReader::new(read, Some(super::AdForm::Long)).exact(exact);
    let mut all = Vec::new();
    while let Some(record) = reader.next_record().expect("memory") {
        all.push(summarize(&record, &record.ad));
        reader.reuse(record.ad);
    }
    all
}

/// Reads the ads of a text line by line, without the memo.
fn read_line_by_line(text: &[u8], exact: bool) -> Vec<AdSummary> {
    let (delimiter, dialect) = (Delimiter::BlankOrBanner, Dialect::old_syntax());
    let (mut all, mut record) = (Vec::new(), AdRecord::default());
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    for (number, line) in (1..).zip(lines.iter().map(|line| strip_cr(line)).chain([&b"***"[..]])) {
        let is_behind = number > lines.len() as u64;
        match delimiter.classify_line(line, record.line > 0) {
            LineKind::Ignored => continue,
            LineKind::EndOfAd if record.line == 0 => continue,
            LineKind::EndOfAd => {
                record.banner = as_banner(line).filter(|_| !is_behind).map(Into::into);
                all.push(summarize(&record, &record.ad));
                record = AdRecord::default();
                continue;
            }
            LineKind::Attribute => {}
        }
        record.line = if record.line == 0 { number } else { record.line };
        let good = match memchr::memchr(0, line) {
            Some(at) => Err(LineError::NulByte(Span::new(at, at + 1))),
            None if exact => check_exact_line(line, dialect),
            None => Ok(()),
        };
        if let Err(error) = good.and_then(|()| record.ad.insert_line(line).map(|_| ())) {
            record.errors.push(AdError::from_line_error(line, number, &error));
        }
    }
    all
}

/// Reads all ads through a projection. Returns the complete ads, and the wanted attributes of each.
fn read_projected(read: impl Read, exact: bool) -> (Vec<AdSummary>, Vec<String>) {
    let mut projection = Projection::default();
    WANTED_NAMES.into_iter().for_each(|name| projection.add(name.into()));
    let mut reader = AdReader::new(read, Some(super::AdForm::Long)).exact(exact);
    let (mut all, mut parts) = (Vec::new(), Vec::new());
    let mut record = AdRecord::default();
    while reader.next_projected(&mut projection, &mut record).expect("memory") {
        let ad = reader.whole_ad();
        all.push(summarize(&record, &ad));
        parts.push(wanted_attributes(&record.ad));
    }
    (all, parts)
}

/// Reads all ads with the reference reader, completely or through a projection. Returns the wanted attributes of each
/// ad, true if reading failed, and true if the reference would abort.
fn read_projected_by_reference(
    mut reader: ReferenceReader<PiecewiseInput<'_>>,
    mut projection: Option<Projection>,
) -> (Vec<String>, bool, bool) {
    projection
        .iter_mut()
        .for_each(|projection| WANTED_NAMES.into_iter().for_each(|name| projection.add(name.into())));
    let mut parts = Vec::new();
    loop {
        let next = match &mut projection {
            Some(projection) => {
                let mut ad = ClassAd::new();
                reader.next_projected(projection, &mut ad).map(|any| any.then_some(ad))
            }
            None => reader.next_ad(),
        };
        match next.expect("memory") {
            Some(ad) => parts.push(wanted_attributes(&ad)),
            None => return (parts, reader.has_failed(), reader.would_abort()),
        }
    }
}

/// Returns the wanted attributes of an ad as text.
fn wanted_attributes(ad: &ClassAd) -> String {
    let value =
        |name: &str| ad.get(name).map_or_else(|| String::from("-"), |expr| expr.unparse().to_string());
    WANTED_NAMES.map(value).join("|")
}

fn check_agreement(text: &[u8], piece: usize, exact: bool) {
    let expected = read_line_by_line(text, exact);
    assert_eq!(read_whole(text, exact), expected, "differs from reading line by line");
    assert_eq!(
        read_whole(PiecewiseInput(text, piece), exact),
        expected,
        "differs for input in pieces of {piece}"
    );
    let values: Vec<String> = {
        let mut reader = AdReader::new(text, Some(super::AdForm::Long)).exact(exact);
        std::iter::from_fn(|| reader.next_record().expect("memory"))
            .map(|record| wanted_attributes(&record.ad))
            .collect()
    };
    for (all, parts) in [read_projected(text, exact), read_projected(PiecewiseInput(text, piece), exact)] {
        assert_eq!(all, expected, "filtered");
        assert_eq!(parts, values, "filtered");
    }
    for delimiter in [Delimiter::Blank, Delimiter::Queue, Delimiter::Prefix(b"***".to_vec())] {
        let steps = |read: &mut dyn Read| {
            let mut reader = ReferenceReader::new(read, None, delimiter.clone());
            let mut steps = Vec::new();
            // An error at the end of the input is returned at each further call.
            for _ in 0..text.len() + 2 {
                let step = reader.next_outcome().expect("memory");
                steps.push((step.ad.unparse(), step.status, step.failed, step.banner, step.end));
                if step.end {
                    break;
                }
            }
            steps
        };
        assert_eq!(
            steps(&mut PiecewiseInput(text, piece)),
            steps(&mut &text[..]),
            "differs from the reference, {delimiter:?}"
        );
        for form in [None, Some(super::AdForm::Long)] {
            let reader = |text| ReferenceReader::new(text, form, delimiter.clone());
            let expected = read_projected_by_reference(reader(PiecewiseInput(text, text.len() + 1)), None);
            for piece in [piece, text.len() + 1] {
                let parts = read_projected_by_reference(
                    reader(PiecewiseInput(text, piece)),
                    Some(Projection::default()),
                );
                assert_eq!(
                    parts, expected,
                    "read in parts, differs from the reference, {delimiter:?} {form:?}"
                );
            }
        }
    }
}

/// Generates a valid or invalid line, or a delimiter.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec![
        "A",
        "a",
        "B",
        "Name",
        "C",
        " A",
        "\tB",
        "\x0bA",
        "--x",
        " --x",
        "***",
        "x y",
        "2026 x [1] y",
        "",
        "#A",
        " #",
        "\x0b#A",
        "A\0",
        "\u{e9}",
        "MyAd.A",
    ]);
    let equals = prop::sample::select(vec![
        " = ", " = ", " = ", " = ", "=", " =", "= ", "  =  ", " =\t", " \t= ", " ",
    ]);
    let value = prop::sample::select(vec![
        "1",
        "-1",
        "007",
        "1.5",
        "-0",
        "1.",
        "",
        " ",
        "true",
        "TRUE",
        "undefined",
        "error",
        "\"\"",
        "\"x\"",
        "\"yz\"",
        "\"say \\\"x\\\"\"",
        "\"C:\\\"",
        "\"a\\\"\"b\"",
        "\"a\\\\\"b\"",
        "\"\\\"\"",
        "\"\\\" x\" ",
        "Undefined",
        "undefinedx",
        "1.5.",
        "-1.25",
        "1e3",
        "B + 2 * 7",
        "B + 3 * 12",
        "f(\"x\", 5)",
        "f(\"\", 50)",
        "123456789012345678",
        "-1234567890123456789",
        "\"open",
        "\"x\0y\"",
        "1\0junk",
        "\0",
        "B + 1",
        "B + 1 ",
        "(",
        "2 in 3",
        "\"a\" \"b\"",
        "\"a\"x",
        "[ a = 1 ]",
        "{ 1, 2",
        "1 + ",
        "99999999999999999999",
        "\x0b5",
        "5\t",
        "A = 1",
    ]);
    let attribute =
        (name, equals, value).prop_map(|(name, equals, value)| format!("{name}{equals}{value}").into_bytes());
    let other = prop::sample::select(vec![
        "",
        "",
        "",
        " ",
        "\t",
        "\x0b",
        "# c",
        " # c = 1",
        "*** x = 1",
        "***",
        "-- Schedd: x",
        "--",
        "...",
        "junk",
        "\0",
        "\0\0\0\0",
        "A",
        "= 3",
        "\u{feff}A = 1",
    ]);
    prop_oneof![5 => attribute, 2 => other.prop_map(|text| text.as_bytes().to_vec())]
}

/// Generates lines with various line endings.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\n", "\r\n", "\r\r\n", " \n"]);
    let last = prop::sample::select(vec!["", "\n", "\r"]);
    (prop::collection::vec((any_line(), end), 0..24), 1_usize..4, any_line(), last).prop_map(
        |(lines, times, line, last)| {
            let lines: Vec<Vec<u8>> =
                lines.into_iter().map(|(line, end)| [&line, end.as_bytes()].concat()).collect();
            // The lines are repeated, because the memo has an effect only if ads repeat.
            [lines.concat().repeat(times), line, last.into()].concat()
        },
    )
}

/// Generates a text with a few bytes replaced, removed or doubled.
fn mutated_text() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::sample::select(b"\n\n\r\0= \"\\#*-A1(\x0b\t.".to_vec());
    let change = (any::<prop::sample::Index>(), 0..3, bytes);
    (any_text(), prop::collection::vec(change, 1..6)).prop_map(|(mut text, changes)| {
        for (at, how, byte) in changes {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_readers_agree(text in any_text(), piece in 1_usize..40, exact: bool) {
        check_agreement(&text, piece, exact);
    }

    #[test]
    fn all_readers_agree_on_damaged_text(text in mutated_text(), piece in 1_usize..40, exact: bool) {
        check_agreement(&text, piece, exact);
    }
}

proptest! {
    // Only a few cases are run, because each text is larger than the reader's large buffer.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn all_readers_agree_across_the_end_of_a_buffer(
        text in mutated_text(),
        before in 0_usize..600,
        blocks in 1_usize..3,
        piece in prop::sample::select(vec![1 << 10, 1 << 16, 1 << 20]),
    ) {
        let ad = b"Name = \"x\"\nA = 1\n\n";
        let length = (blocks * (128 << 10)).saturating_sub(before);
        let mut long = ad.repeat(length / ad.len());
        long.resize(length, b'\n');
        long.extend_from_slice(&text);
        let (expected, parts) = (read_whole(&long[..], false), read_projected(&long[..], false));
        prop_assert_eq!(&parts.0, &expected);
        prop_assert_eq!(read_whole(PiecewiseInput(&long, piece), false), expected);
        prop_assert_eq!(read_projected(PiecewiseInput(&long, piece), false), parts);
    }
}

#[test]
fn a_line_without_a_value_is_bad_for_all_readers() {
    for text in
        ["A =\nB = 1\n", "A = \nB = 1\n", "A = x\nB = 1\n\nA = \nB = 2\n", "A = \"x\0y\"\nB = 1\n\nB = 2\n"]
    {
        check_agreement(text.as_bytes(), 3, false);
    }
    assert_eq!(read_whole(&b"A =\nB = 1\n"[..], false)[0].3.len(), 1);
}

#[test]
fn exact_mode_refuses_lines_that_only_the_reference_accepts() {
    let text = b"2026 x [1] y = 2 in 3\nA = 2 in 3\nB = 1 \nC = \"a\" b\nD = 1\0x\n";
    let errors: Vec<_> =
        read_whole(&text[..], true)[0].3.iter().map(|error| (error.line, error.column())).collect();
    assert_eq!(errors, [(1, 1), (2, 7), (4, 9), (5, 6)]);
    let errors: Vec<_> = read_whole(&text[..], false)[0].3.iter().map(|error| error.line).collect();
    assert_eq!(errors, [5]);
}

#[test]
fn a_line_with_a_nul_byte_is_skipped_with_an_error() {
    let (ad, _, _, errors) = read_whole(&b"A = 1\0B\nC = 2\n"[..], false).remove(0);
    assert_eq!(ad, "C = 2\n");
    let errors: Vec<_> =
        errors.iter().map(|error| (error.line, error.column(), error.message.as_str())).collect();
    assert_eq!(errors, [(1, 6, "the line has a NUL byte")]);
}

#[test]
fn a_line_with_a_nul_byte_is_invalid_even_if_its_start_is_cached() {
    let text = b"A = B + 1\n\nA = B + 1\0x\n\nA = B + 1\n";
    for piece in [1, 3, 40] {
        check_agreement(text, piece, true);
        check_agreement(text, piece, false);
        check_agreement(b"C =B + 1\r\r\n***\nC =B + 1\r\0\r\n", piece, true);
    }
    let (all, parts) = read_projected(&text[..], true);
    assert_eq!(all.iter().map(|seen| seen.3.len()).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(parts, ["B + 1|-|-", "-|-|-", "B + 1|-|-"]);
}
