//! Tests that all programs read the same bytes in the same way, with every command: whole, filtered, from a pipe in pieces,
//! across the boundaries of the buffer. Ads, warnings and exit status are compared. Texts that `exact` reading refuses are
//! refused by all programs.
//!
//! `HTC_READING_TEXTS` sets the number of texts [default: 24], `HTC_READING_SEED` the random seed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::hook_test::calls::text;
use crate::random::Random;

/// Size in bytes of a block in the programs' reader.
const BUFFER: usize = 256 << 10;

const LINES: [&str; 44] = [
    "A = 1",
    "a = 2",
    "A=\"x\"",
    "B = \"yz\"",
    "B = \"say \\\"x\\\"\"",
    "b  =  A + 1 ",
    "Name = \"slot1@h\"",
    "NAME = undefined",
    "C = { 1, 2.50, \"three\" }",
    "C = [ a = 1; b = C ]",
    "Owner = \"ana\"",
    "Long = strcat(\"a\", Name, \"-\", B)",
    "D = 1.0E+02",
    "E = -0.0",
    "F = true && (A > 1 || B =?= \"x\")",
    "",
    "",
    "",
    " \t",
    "# a comment",
    "\x0b# another",
    "\x0bA = 7",
    "***",
    "*** Offset = 7",
    "--",
    "-- Jobads: x",
    "A =",
    "= 1",
    "A",
    "A 1",
    "A = \"open",
    "A = 1 +",
    "A = (",
    "B = \"a\" \"b\"",
    "2026 x [1] y = 2 in 3",
    "\"Q\" = 1",
    "'q r' = 1",
    "A = 99999999999999999999",
    "A = 007",
    "G = 1\0junk",
    "B = \"x\0y\"",
    "H\0 = 1",
    "A = B = 1",
    "MyType = \"Job\"\r",
];

/// Returns valid and invalid lines in which some bytes are changed.
fn mutated(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(60) + 1 {
        bytes.extend_from_slice(random.pick(&LINES).as_bytes());
        bytes.push(b'\n');
    }
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] = *random.pick(b"\0\n\r\t \"\\=#[]{}()<&|\x0b\x7f\xff\xe9;"),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *random.pick(b"\n\"'=[{\\\0")),
            _ => bytes.truncate(at.max(1)),
        }
        if bytes.is_empty() {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Returns exit status, standard output, and messages without the name of the input.
fn seen(output: &Output) -> (Option<i32>, String, String) {
    (output.status.code(), text(&output.stdout), text(&output.stderr).replace("standard input", "file"))
}

fn eval(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-classad-eval"));
    command.args(words).current_dir(directory).env_clear().env("TZ", "UTC").stdin(Stdio::null());
    command
}

fn from_file(directory: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    seen(&eval(directory, words).args(["-ads", "file", "-from", "long"]).output().unwrap())
}

/// Runs the program with the text on standard input, written in pieces of this size.
fn in_pieces(directory: &Path, words: &[&str], bytes: &[u8], piece: usize) -> (Option<i32>, String, String) {
    let mut command = eval(directory, words);
    command.args(["-ads", "-", "-from", "long"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let pieces: Vec<Vec<u8>> = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
    // A program that refuses the text stops reading, so a write may fail.
    let writer = std::thread::spawn(move || pieces.iter().all(|piece| stdin.write_all(piece).is_ok()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    seen(&output)
}

#[test]
fn whole_filtered_and_streamed_texts_give_the_same_ads_warnings_and_status() {
    let texts = number("HTC_READING_TEXTS").unwrap_or(24);
    let seed = number("HTC_READING_SEED").unwrap_or(1);
    let mut random = Random::new(seed as u64);
    let place = tempfile::tempdir().unwrap();
    let (mut with_ads, mut with_warnings) = (0, 0);
    for turn in 0..texts {
        let mut bytes = mutated(&mut random);
        // In every second text, the first block of the reader ends within the text.
        if random.one_in(2) {
            let before = BUFFER - 2 - random.below(bytes.len());
            bytes = [b"#".repeat(before), vec![b'\n'], bytes].concat();
        }
        std::fs::write(place.path().join("file"), &bytes).unwrap();
        let told = |what: &str| format!("text {turn} of seed {seed}, {what}: {:?}", tail(&bytes));
        for strict in [&[][..], &["-strict-input"]] {
            let with = |words: &[&'static str]| [words, strict].concat();
            let whole = from_file(place.path(), &with(&["-jsonl"]));
            let filtered = from_file(place.path(), &with(&["-jsonl", "-constraint", "true"]));
            assert_eq!(filtered, whole, "{}", told("filtered"));
            let piece = [1 + random.below(7), 100 + random.below(900), BUFFER - 1][random.below(3)];
            let piece = if bytes.len() > BUFFER { piece.max(50) } else { piece };
            let streamed = in_pieces(place.path(), &with(&["-jsonl"]), &bytes, piece);
            assert_eq!(streamed, whole, "{}", told("streamed"));
            let columns = ["-constraint", "A =!= 5", "-af:rl", "A", "B", "Name"];
            let by_filter = from_file(place.path(), &with(&columns));
            // Setting an attribute makes the program read whole ads.
            let by_whole = from_file(place.path(), &with(&[&["Zz=1"], &columns[..]].concat()));
            assert_eq!(by_filter, by_whole, "{}", told("columns"));
            with_ads += usize::from(!whole.1.is_empty());
            with_warnings += usize::from(!whole.2.is_empty());
        }
    }
    assert!(with_ads > texts / 4 && with_warnings > texts / 4, "{with_ads} {with_warnings} of {texts}");
}

/// Regression test: `htc-starter-run` and `htc-slot-run explain` accepted texts that the other programs refuse.
#[test]
fn every_program_refuses_malformed_ads_with_the_same_message() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("conf"), "NUM_CPUS = 1\nSLOT_TYPE_1_PARTITIONABLE = false\n").unwrap();
    std::fs::write(place.path().join("rules"), "SET Done true\n").unwrap();
    let programs: [(&str, &[&str]); 4] = [
        (env!("CARGO_BIN_EXE_htc-slot-run"), &["explain", "--config-file", "conf"]),
        (env!("CARGO_BIN_EXE_htc-starter-run"), &["--dry-run", "--config-file", "conf"]),
        (env!("CARGO_BIN_EXE_htc-hook-test"), &["prepare", "/bin/true", "--show-input"]),
        (
            env!("CARGO_BIN_EXE_htc-router-translate"),
            &["transform", "--config-file", "conf", "--rules", "rules"],
        ),
    ];
    let good = "Cmd = \"/bin/true\"\nOwner = \"nobody\"\n";
    let mut refused = 0;
    for line in
        ["A = 1", "2026 x [1] y = 2 in 3", "A = 1\0", "B = \"x\0y\"", "A =", "A", "A = \"open", "\"Q\" = 1"]
    {
        std::fs::write(place.path().join("file"), format!("{good}{line}\n")).unwrap();
        let (status, _, err) = from_file(place.path(), &["-jsonl", "-strict-input"]);
        refused += usize::from(status == Some(3));
        let message =
            err.lines().next().and_then(|line| line.split_once("file:")).map(|(_, message)| message);
        for (program, words) in programs {
            let mut command = Command::new(program);
            command
                .args(words)
                .args(["--no-env", "--strict-input", "--ads", "file"])
                .current_dir(place.path());
            if program.ends_with("hook-test") {
                command = Command::new(program);
                command.args(words).args(["--strict-input", "--ads", "file"]).current_dir(place.path());
            }
            let output = command.env_clear().stdin(Stdio::null()).output().unwrap();
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code() == Some(3), status == Some(3), "{program}: {line:?}: {stderr}");
            if let Some(message) = message {
                assert!(stderr.contains(message), "{program}: {line:?}: {message}\n{stderr}");
            }
        }
    }
    assert!(refused >= 6, "{refused}");
}

/// Returns the end of a text, after the padding.
fn tail(bytes: &[u8]) -> String {
    let start =
        if bytes.len() > BUFFER { bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0) } else { 0 };
    text(&bytes[start..])
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// A print format that comes through a pipe is read once, for columns and conditions.
#[test]
fn a_print_format_may_come_through_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("jobs"),
        "ClusterId = 1\nRequirements = true\n\nClusterId = 2\nRequirements = true\n",
    )
    .unwrap();
    let format = "SELECT NOHEADER\\nClusterId\\nWHERE ClusterId > 1\\n";
    for (words, expected) in [("--ads jobs", "2\n"), ("--ads jobs --match jobs", "2\n2\n")] {
        let line = format!("\"$0\" {words} --print-format <(printf '{format}')");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_htc-classad-eval")]).current_dir(home.path());
        let output = command.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let numbers: String = stdout.lines().map(|line| format!("{}\n", line.trim())).collect();
        assert_eq!((numbers.as_str(), output.status.code()), (expected, Some(0)), "{words}: {output:?}");
    }
}
