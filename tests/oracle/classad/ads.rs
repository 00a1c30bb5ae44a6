//! Reads random long ads with repeated names with the reference's library and with ours, prints them in every
//! form, whole and filtered, and reads the result with the reference again.
//!
//! `HTC_ORACLE_ADS` sets the number of ads [default: 2,000], `HTC_ORACLE_SEED` the random seed.

use std::io::Write;
use std::process::{Command, Stdio};

use htc_hooks::classad::stream::AdReader;
use serde_json::{Value, json};

use super::ours;
use crate::python::Running;
use crate::random::Random;

const PROGRAM: &str = include_str!("ads.py");

/// Ads in one file.
const BATCH: usize = 500;

const NAMES: [&str; 12] =
    ["A", "a", "B", "b", "C", "Name", "NAME", "Owner", "D", "Long_Name_1", "x", "Memory"];

const VALUES: [&str; 26] = [
    "1",
    "-7",
    "0",
    "2.5",
    "-0.25",
    "1e10",
    "true",
    "FALSE",
    "undefined",
    "error",
    "\"\"",
    "\"x\"",
    "\"y\"",
    "\"yz\"",
    "\"hello\"",
    "\"say \\\"x\\\" again\"",
    "\"back\\slash\"",
    "\" = \"",
    "A + 1",
    "B =?= \"x\"",
    "{ 1,\"x\",a }",
    "[ b = \"x\"; c = 1 ]",
    "strcat(Name,\"-\",b)",
    "MY.A ?: \"none\"",
    "(1 + 2) * C",
    "\"x\" ",
];

const CONSTRAINTS: [&str; 9] = [
    "true",
    "A =?= 1",
    "A =!= 1",
    "isString(A)",
    "isUndefined(B) is false",
    "Name =?= \"x\" || B =?= \"yz\"",
    "A =?= B",
    "size(Name) > 1",
    "Memory >= 0 && Owner =!= undefined",
];

/// Returns a long ad of up to 14 lines with few names.
fn ad(random: &mut Random) -> String {
    let mut text = String::new();
    // Most ads of a queue are similar to the previous one; some names occur in all of them.
    if random.one_in(2) {
        for name in ["A", "Owner", "B", "Name"] {
            text += &format!("{name} = {}\n", random.pick(&VALUES));
        }
    }
    for _ in 0..random.below(10) + 1 {
        let value = if random.one_in(30) {
            format!("\"{}\"", "t".repeat(random.below(3000)))
        } else {
            (*random.pick(&VALUES)).to_owned()
        };
        text += &format!("{} = {value}\n", random.pick(&NAMES));
    }
    text
}

/// Returns the output of our program.
fn filtered(text: &str, words: &[&str]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().write_all(text.as_bytes()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"))
        .args(words)
        .arg("-ads")
        .arg(file.path())
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the ads in a text, in the reference's new form.
fn read_again(peer: &mut Running, form: &str, text: &str) -> Vec<String> {
    let question = json!({ "form": form, "text": text, "constraint": Value::Null });
    peer.exchange(&question)
        .unwrap_or_else(|| panic!("the reference does not read what we wrote as {form}:\n{text}"))
}

#[test]
fn ads_with_repeated_names_are_as_in_the_reference_in_every_format() {
    let Some(mut peer) = Running::start(PROGRAM) else {
        println!("skipped: no Python with the module classad2 (set HTC_PYTHON)");
        return;
    };
    let wanted = crate::number("HTC_ORACLE_ADS").unwrap_or(2000) as usize;
    let seed = crate::number("HTC_ORACLE_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let (mut compared, mut kept, mut differences) = (0, 0, Vec::new());
    while compared < wanted && differences.len() < 10 {
        let texts: Vec<String> = (0..BATCH.min(wanted - compared)).map(|_| ad(&mut random)).collect();
        let constraint = *random.pick(&CONSTRAINTS);
        compared += texts.len();
        let text = texts.join("\n");
        let question = json!({ "form": "long", "text": text, "constraint": constraint });
        let theirs: Vec<[String; 4]> = peer.exchange(&question).expect("the reference reads the ads");
        assert_eq!(theirs.len(), texts.len(), "ads of the reference");
        // Read whole, one after the other, and printed as the module prints.
        let mut reader = AdReader::new(text.as_bytes(), None);
        for (text, theirs) in texts.iter().zip(&theirs) {
            let record = reader.next_record().unwrap().expect("an ad");
            assert_eq!(record.errors, []);
            let ours = ours::printed(&record.ad);
            if ours[..] != theirs[..3] {
                differences.push(format!("{text}\n  reference {theirs:?}\n  ours      {ours:?}"));
            }
            reader.reuse(record.ad);
        }
        // Printed by the program in every form: all of them, and those that match the constraint.
        let all: Vec<&String> = theirs.iter().map(|texts| &texts[0]).collect();
        let some: Vec<&String> =
            theirs.iter().filter(|texts| texts[3] == "True").map(|texts| &texts[0]).collect();
        kept += some.len();
        for form in ["long", "json", "jsonl", "new", "xml"] {
            let option = format!("-{form}");
            for (words, expected) in
                [(&[&*option][..], &all), (&[&*option, "-q", "-constraint", constraint], &some)]
            {
                let printed = filtered(&text, words);
                let read = read_again(&mut peer, form, &printed);
                if read.iter().ne(expected.iter().copied()) {
                    let first = read.iter().zip(expected.iter()).find(|(ours, theirs)| ours != *theirs);
                    let count = (expected.len(), read.len());
                    differences.push(format!("{words:?}: {count:?} ads; first other one {first:?}"));
                }
            }
        }
    }
    println!("{compared} ads, seed {seed}, {kept} kept by constraints: {} differ", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
