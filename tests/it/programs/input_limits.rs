//! Tests of inputs that are too large, never end, or are packed in a way that the programs do not unpack.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::manual_files::manual_directory;

fn run(directory: &Path, line: &str) -> (Option<i32>, String, String) {
    let mut words = line.split(' ');
    let program = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(words.next().unwrap());
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

#[test]
fn inputs_in_unsupported_compression_name_the_program_to_use() {
    let place = manual_directory();
    // The header of `xz --format=lzma`, and of lzip.
    let lzma = b"]\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x20\x90";
    let twice = packed(&packed(b"A = 1\n"));
    for (name, content, message) in [
        ("a.lzma", lzma.to_vec(), "compressed with lzma, which is unsupported"),
        ("a.lzma", lzma.to_vec(), "unpack it with 'unlzma -c'"),
        ("a.lz", b"LZIP\x01\x0c\0\0\0\0".to_vec(), "unpack it with 'lzip -dc'"),
        ("a.gz", twice, "compressed twice, with gzip and then gzip; unpack it once with 'gzip -dc'"),
        ("b.gz", packed(lzma), "compressed twice, with lzma and then gzip"),
    ] {
        std::fs::write(place.path().join(name), content).unwrap();
        for program in ["htc-classad-eval --ads", "htc-starter-run --ads", "htc-router-status"] {
            let (status, out, err) = run(place.path(), &format!("{program} {name}"));
            assert!(status == Some(3) && out.is_empty() && err.contains(message), "{program} {name}: {err}");
        }
    }
    // A text may begin like one of these formats.
    std::fs::write(place.path().join("text.ads"), "LZIP = 7\n").unwrap();
    assert_eq!(run(place.path(), "htc-classad-eval --ads text.ads").1, "LZIP = 7\n\n");
}

#[test]
fn files_without_end_are_refused() {
    let place = manual_directory();
    for line in [
        "htc-classad-eval --ads jobs.ads --print-format /dev/zero",
        "htc-config-dump lint --baseline /dev/zero condor_config",
        "htc-config-dump --config-file /dev/zero START",
        "htc-router-translate transform --rules /dev/zero jobs.ads",
    ] {
        let (status, out, err) = run(place.path(), line);
        assert!(status == Some(3) && out.is_empty() && err.contains("larger than 64 MiB"), "{line}: {err}");
    }
}

#[test]
fn a_file_of_bad_lines_has_a_limited_number_of_findings() {
    let place = manual_directory();
    std::fs::write(place.path().join("many.xfm"), "X\n".repeat(100_001)).unwrap();
    for verb in ["transform --rules many.xfm jobs.ads", "lint --rules many.xfm", "compare many.xfm rules.xfm"]
    {
        let (status, _, err) = run(place.path(), &format!("htc-router-translate {verb}"));
        let message = "'many.xfm' has too many statements: the limit is 100000";
        assert!(status == Some(3) && err.contains(message), "{verb}: {err}");
    }
    std::fs::write(place.path().join("bad.xfm"), "X\n".repeat(20_000)).unwrap();
    let (status, out, err) = run(place.path(), "htc-router-translate lint --jsonl --rules bad.xfm");
    assert!(status == Some(1) && out.lines().count() == 10_001, "{err}");
    let last = out.lines().last().unwrap();
    assert!(last.contains("too many findings (the limit is 10000): the rest is not checked"), "{last}");
}

/// Nothing writes to the pipe.
#[test]
fn timeout_ends_the_wait_for_every_file_of_explain() {
    let place = manual_directory();
    nix::unistd::mkfifo(&place.path().join("pipe"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    let explain = "htc-slot-run explain --config-file slots.conf --ads big.ad --timeout 0.3";
    for line in [
        format!("{explain} --cron pipe"),
        format!("{explain} --gpus pipe"),
        format!("{explain} --compare pipe"),
        "htc-slot-run explain --config-file slots.conf --ads pipe --timeout 0.3".to_owned(),
        "htc-slot-run explain --config-file slots.conf --slot-ads pipe --ads big.ad --timeout 0.3".to_owned(),
        "htc-slot-run explain --config-file pipe --ads big.ad --timeout 0.3".to_owned(),
        "htc-slot-run doctor --config-file slots.conf --gpus pipe --timeout 0.3".to_owned(),
        "htc-slot-run ads --config-file slots.conf --gpus pipe --timeout 0.3".to_owned(),
    ] {
        let (status, _, err) = run(place.path(), &line);
        assert!(status == Some(124) && err.contains("--timeout"), "{line}: {status:?} {err}");
    }
}

#[test]
fn a_dash_as_an_output_file_is_standard_output() {
    let place = manual_directory();
    for (line, beginning) in [
        ("htc-slot-run simulate --init -", "# A scenario"),
        ("htc-slot-run explain --config-file slots.conf --ads big.ad --html -", "<!DOCTYPE html>"),
        ("htc-router-translate simulate --config-file router.config routes.toml --svg -", "<svg"),
        ("htc-hook-test run prepare.toml --junit -", "<?xml"),
        ("htc-config-dump lint --write-baseline - condor_config.new", ""),
    ] {
        let (_, out, err) = run(place.path(), line);
        assert!(out.starts_with(beginning) && !place.path().join("-").exists(), "{line}: {out}{err}");
    }
}
