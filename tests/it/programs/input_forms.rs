//! Tests that every verb which reads ads gives the same result for the same input as a file, through a pipe, compressed and in a
//! directory.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::tests_all_combinations;

pub(super) const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");

pub(super) const CONFIG_DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");

pub(super) const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");

pub(super) const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");

pub(super) const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");

pub(super) const SLOT_RUN: &str = env!("CARGO_BIN_EXE_htc-slot-run");

pub(super) const STARTER_RUN: &str = env!("CARGO_BIN_EXE_htc-starter-run");

/// Time limit of one run.
const LIMIT: Duration = Duration::from_secs(120);

/// Verb that reads ads. `IN` in its words stands for the input.
pub(super) struct Verb<'a> {
    pub(super) program: &'static str,
    pub(super) words: &'a str,
    /// Name of the input file in a directory.
    pub(super) file: &'static str,
}

pub(super) const VERBS: [Verb<'static>; 25] = [
    Verb { program: EVAL, words: "--ads IN --count", file: "in.ads" },
    Verb { program: EVAL, words: "--ads IN --threads 4 -af ClusterId Owner", file: "in.ads" },
    Verb { program: EVAL, words: "--ads IN --jsonl", file: "in.ads" },
    Verb { program: EVAL, words: "--ads slots.ads --match IN", file: "in.ads" },
    Verb { program: EVAL, words: "--ads IN --match slots.ads", file: "in.ads" },
    Verb { program: EVAL, words: "--my-file IN ClusterId", file: "in.ads" },
    Verb { program: EVAL, words: "--target-file IN TARGET.Owner", file: "in.ads" },
    Verb { program: HOOK_TEST, words: "prepare ./hook --ads IN", file: "in.ads" },
    Verb { program: TRANSLATE, words: "match --config-file router.config --ads IN", file: "in.ads" },
    Verb { program: TRANSLATE, words: "route --config-file router.config IN", file: "in.ads" },
    Verb { program: TRANSLATE, words: "transform --rules rules.xfm --ads IN", file: "in.ads" },
    Verb { program: TRANSLATE, words: "compare --seed 1 --ads IN rules.xfm other.xfm", file: "in.ads" },
    Verb { program: STATUS, words: "queue IN", file: "in.ads" },
    Verb { program: STATUS, words: "doctor IN", file: "in.ads" },
    Verb { program: STATUS, words: "history IN", file: "history" },
    Verb { program: SLOT_RUN, words: "explain --slot-ads slots.ads --ads IN", file: "in.ads" },
    Verb { program: SLOT_RUN, words: "explain --slot-ads IN --ads slots.ads", file: "in.ads" },
    Verb { program: STARTER_RUN, words: "--dry-run --ads IN", file: "in.ads" },
    Verb { program: STARTER_RUN, words: "--dry-run --slot-ads IN --ads job.ad", file: "in.ads" },
    Verb {
        program: TRANSLATE,
        words: "update --dry-run --config-file router.config --ads IN",
        file: "in.ads",
    },
    Verb {
        program: TRANSLATE,
        words: "cleanup --dry-run --config-file router.config --ads IN",
        file: "in.ads",
    },
    Verb { program: TRANSLATE, words: "finish --config-file router.config --ads IN", file: "in.ads" },
    Verb { program: HOOK_TEST, words: "translate ./hook --ads IN --summary", file: "in.ads" },
    Verb { program: EVAL, words: "--ads IN --count-by Owner --sum ClusterId --csv", file: "in.ads" },
    Verb { program: STARTER_RUN, words: "--events-of IN", file: "in.ads" },
];

const LONG: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nCmd = \"/bin/true\"\nIwd = \"/\"\nJobStatus = 1\nJobUniverse = 5\nRouteName = \"A\"\n\n\
    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nCmd = \"/bin/true\"\nIwd = \"/\"\n";

pub(super) const ONE: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nCmd = \"/bin/true\"\nIwd = \"/\"\nJobStatus = 1\nJobUniverse = 5\n";

const JSON: &str =
    "[{\"ClusterId\": 1, \"ProcId\": 0, \"Owner\": \"ann\"}, {\"ClusterId\": 2, \"ProcId\": 0}]\n";

const NEW: &str = "[ ClusterId = 1; ProcId = 0; Owner = \"ann\" ]\n";

const XML: &str = "<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"ClusterId\"><i>1</i></a><a n=\"ProcId\"><i>0</i></a></c>\n</classads>\n";

pub(super) const QUEUE_LOG: &str = "107 1 CreationTimestamp 1700000000\n105\n101 01.-1 Job Machine\n103 01.-1 Owner \"ana\"\n\
    101 1.0 Job Machine\n103 1.0 ProcId 0\n103 1.0 ClusterId 1\n101 1.1 Job Machine\n103 1.1 ProcId 1\n103 1.1 ClusterId 1\n106\n";

const HISTORY: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nRouteName = \"A\"\n\
    *** Offset = 0 ClusterId = 1 ProcId = 0 Owner = \"ann\" CompletionDate = 1700000000\n\
    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nRouteName = \"B\"\n\
    *** Offset = 60 ClusterId = 2 ProcId = 0 Owner = \"bob\" CompletionDate = 1700000000\n";

pub(super) const EVENT_LOG: &str = "000 (001.000.000) 2026-01-01 00:00:00 Job submitted from host: <127.0.0.1:1>\n...\n\
    009 (001.000.000) 2026-01-01 00:00:01 Job was aborted.\n\tvia condor_rm\n...\n";

pub(super) fn compress(text: &[u8], format: &str) -> Vec<u8> {
    match format {
        "gz" => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        }
        "bz2" => {
            let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        }
        "xz" => {
            let options = lzma_rust2::XzOptions::with_preset(1);
            let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        }
        "zst" => ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest),
        _ => text.to_vec(),
    }
}

/// Way in which a program gets its input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    File,
    Stdin,
    Fifo,
    ProcessSubstitution,
    Packed(&'static str),
    PackedStdin(&'static str),
    Directory,
}

const SOURCES: [Source; 13] = [
    Source::File,
    Source::Stdin,
    Source::Fifo,
    Source::ProcessSubstitution,
    Source::Packed("gz"),
    Source::Packed("zst"),
    Source::Packed("xz"),
    Source::Packed("bz2"),
    Source::PackedStdin("gz"),
    Source::PackedStdin("zst"),
    Source::PackedStdin("xz"),
    Source::PackedStdin("bz2"),
    Source::Directory,
];

/// Quotes a word for the shell, unless the word is a process substitution.
fn shell_word(word: &str) -> String {
    if word.starts_with("<(") { word.to_owned() } else { format!("'{word}'") }
}

/// Exit status and outputs of a run, in which each name of the input is replaced by `IN`.
type Outcome = (i32, String, String);

pub(super) fn run(verb: &Verb<'_>, text: &[u8], source: Source, home: &Path) -> Outcome {
    let name = match source {
        Source::File => "plain-input",
        Source::Stdin | Source::PackedStdin(_) => "-",
        Source::Fifo => "fifo",
        Source::ProcessSubstitution => "<(cat plain-input)",
        Source::Packed(_) => "packed",
        Source::Directory => "directory",
    };
    let mut piped: Option<Vec<u8>> = None;
    match source {
        Source::File | Source::ProcessSubstitution => std::fs::write(home.join("plain-input"), text).unwrap(),
        Source::Stdin => piped = Some(text.to_vec()),
        Source::PackedStdin(format) => piped = Some(compress(text, format)),
        Source::Packed(format) => std::fs::write(home.join("packed"), compress(text, format)).unwrap(),
        Source::Fifo => {}
        Source::Directory => {
            let _ = std::fs::remove_dir_all(home.join("directory"));
            std::fs::create_dir(home.join("directory")).unwrap();
            std::fs::write(home.join("directory").join(verb.file), text).unwrap();
        }
    }
    let words = verb.words.split(' ').map(|word| if word == "IN" { name } else { word });
    let mut command = match source {
        Source::ProcessSubstitution => {
            let line = words.map(shell_word).collect::<Vec<_>>().join(" ");
            let mut command = Command::new("bash");
            command.args(["-c", &format!("exec \"$0\" {line}"), verb.program]);
            command
        }
        _ => {
            let mut command = Command::new(verb.program);
            command.args(words);
            command
        }
    };
    command.current_dir(home).env("CONDOR_CONFIG", "ONLY_ENV").env("TZ", "UTC").env("LC_ALL", "C");
    command.stdin(if piped.is_some() { Stdio::piped() } else { Stdio::null() });
    let (out, err) = (home.join("out"), home.join("err"));
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let writer = piped.map(|piped| {
        let mut stdin = child.stdin.take().unwrap();
        std::thread::spawn(move || drop(stdin.write_all(&piped)))
    });
    let started = Instant::now();
    let mut is_written = !matches!(source, Source::Fifo);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // A program that refuses its command line never opens the FIFO.
        if !is_written {
            use std::os::unix::fs::OpenOptionsExt;
            let fifo = std::fs::OpenOptions::new()
                .write(true)
                .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
                .open(home.join("fifo"));
            if let Ok(mut fifo) = fifo {
                fifo.write_all(text).unwrap();
                is_written = true;
            }
        }
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{} {} with {source:?} does not end", verb.program, verb.words);
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if let Some(writer) = writer {
        writer.join().unwrap();
    }
    let pid = child.id();
    let read = |path: &Path| {
        let mut text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        for (own, general) in [
            (format!("dir_{pid}"), "dir_PID"),
            (format!("CONDOR_STARTER_PID={pid}"), "CONDOR_STARTER_PID=PID"),
        ] {
            text = text.replace(&own, general);
        }
        let inside = format!("directory/{}", verb.file);
        for name in [
            "/dev/fd/63",
            inside.as_str(),
            "standard input",
            "<stdin>",
            "directory",
            "packed",
            "fifo",
            "plain-input",
        ] {
            text = text.replace(name, "IN");
        }
        text = text.replace("'-'", "'IN'").replace("'IN'", "IN");
        let lines = text.lines().map(|line| {
            let at = [" -:"].iter().find_map(|name| line.find(name).map(|at| (at, name.len())));
            at.map_or(line.to_owned(), |(at, length)| format!("{} IN:{}", &line[..at], &line[at + length..]))
        });
        // The duration of a hook differs between runs.
        let lines = lines
            .map(|line| line.split_once("(exited with").map_or(line.clone(), |(start, _)| start.to_owned()));
        lines.collect::<Vec<_>>().join("\n")
    };
    (status.code().unwrap_or(-1), read(&out), read(&err))
}

pub(super) fn prepared_home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    put(
        "slots.ads",
        "MyType = \"Machine\"\nName = \"slot1@a\"\nCpus = 1\nMemory = 100\nState = \"Unclaimed\"\nActivity = \"Idle\"\nCmd = \"/bin/true\"\n",
    );
    put("job.ad", ONE);
    put("rules.xfm", "SET A 1\n");
    put("other.xfm", "SET A 2\n");
    put(
        "router.config",
        "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n  REQUIREMENTS Owner == \"ann\"\n  UNIVERSE VANILLA\n  SET B 1\n@end\n",
    );
    crate::support::children::write_executable(
        &home.path().join("hook"),
        b"#!/bin/sh\ncat >/dev/null\necho Checked = true\n",
    );
    nix::unistd::mkfifo(&home.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    home
}

/// Returns the sources other than a file from which a verb reads a kind of text: all if `HTC_ALL_COMBINATIONS` is set, else a
/// quarter of them, so that over all kinds each verb reads from each source twice, and each kind comes from each source.
fn sources_of(kind: usize, verb: usize) -> Vec<&'static Source> {
    let is_chosen = |number: usize| tests_all_combinations() || (number + kind + verb).is_multiple_of(4);
    SOURCES[1..]
        .iter()
        .enumerate()
        .filter(|(number, _)| is_chosen(*number))
        .map(|(_, source)| source)
        .collect()
}

#[test]
fn every_verb_reads_the_same_from_every_kind_of_input() {
    let home = prepared_home();
    let mut differences = Vec::new();
    for (kind_number, (kind, text)) in [
        ("long", LONG),
        ("one", ONE),
        ("json", JSON),
        ("new", NEW),
        ("xml", XML),
        ("queue log", QUEUE_LOG),
        ("history", HISTORY),
        ("event log", EVENT_LOG),
    ]
    .into_iter()
    .enumerate()
    {
        for (verb_number, verb) in VERBS.iter().enumerate() {
            let expected = run(verb, text.as_bytes(), Source::File, home.path());
            for source in sources_of(kind_number, verb_number) {
                // A job has only one event log.
                if verb.words.starts_with("--events-of") && matches!(source, Source::Directory) {
                    continue;
                }
                let outcome = run(verb, text.as_bytes(), *source, home.path());
                if outcome != expected {
                    let program = verb.program.rsplit('/').next().unwrap_or_default();
                    differences.push(format!(
                        "{program} {} of {kind}, {source:?}:\n{outcome:?}\nbut from a file:\n{expected:?}",
                        verb.words
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n\n"));
}

#[test]
fn an_event_log_is_refused_with_the_command_that_reads_it() {
    let home = prepared_home();
    for (number, verb) in VERBS[..24].iter().enumerate() {
        for source in sources_of(0, number) {
            let (status, out, err) = run(verb, EVENT_LOG.as_bytes(), *source, home.path());
            assert_eq!((status, out.as_str()), (3, ""), "{} {source:?}: {err}", verb.words);
            assert!(err.contains("htc-starter-run --events-of"), "{} {source:?}: {err}", verb.words);
        }
    }
    let (status, _, err) = run(&VERBS[24], QUEUE_LOG.as_bytes(), Source::File, home.path());
    assert!(status == 3 && err.contains("it is a queue log"), "{err}");
}

#[test]
fn damaged_compressed_input_is_refused() {
    let home = prepared_home();
    for format in ["gz", "zst", "xz", "bz2"] {
        let packed = compress(LONG.repeat(100).as_bytes(), format);
        let cut = &packed[..packed.len() / 2];
        let (status, _, err) = run(&VERBS[0], cut, Source::File, home.path());
        assert!(
            status == 3 && (err.contains("truncated") || err.contains("damaged")),
            "{format}: {status} {err}"
        );
    }
    let (status, _, err) = run(&VERBS[0], b"PK\x03\x04rest", Source::Stdin, home.path());
    assert!(status == 3 && err.contains("compressed with zip"), "{err}");
}

#[test]
fn each_file_of_a_directory_has_its_own_form_and_skipped_files_are_named() {
    let home = prepared_home();
    let directory = home.path().join("d");
    std::fs::create_dir(&directory).unwrap();
    for (name, text) in [
        ("1.ad", "A = 1\n"),
        ("2.ad", "{\"A\":2}\n"),
        ("3.ad", "[ A = 3 ]\n"),
        ("4.ad", "<?xml version=\"1.0\"?><classads><c><a n=\"A\"><i>4</i></a></c></classads>\n"),
        ("5.ad", "A = 5\nno attribute\n"),
        ("history", "A = 9\n"),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    std::fs::write(directory.join("6.ads.gz"), compress(b"A = 6\n", "gz")).unwrap();
    let words = ["--ads", "d", "--ads", "job.ad", "-af", "A", "ClusterId"];
    let output = Command::new(EVAL).args(words).current_dir(home.path()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let expected: String = (1..7).map(|number| format!("{number} undefined\n")).collect();
    assert_eq!(out, expected + "undefined 1\n", "{err}");
    assert!(err.contains("d: skipped history") && err.contains("d/5.ad:2"), "{err}");
}

#[test]
fn a_pipe_is_compared_with_a_file_after_being_read_once() {
    let home = prepared_home();
    let shell = |script: &str| {
        let output =
            Command::new("bash").args(["-c", script]).arg(TRANSLATE).current_dir(home.path()).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (status, text) = shell("\"$0\" compare <(cat rules.xfm) <(cat other.xfm)");
    assert_eq!(status, Some(1), "{text}");
    let (status, text) = shell("\"$0\" compare <(cat rules.xfm) rules.xfm");
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = shell("cat other.xfm | \"$0\" compare - rules.xfm");
    assert_eq!(status, Some(1), "{text}");
    let (status, text) = shell("sed 's/SET B 1/SET B 2/' router.config | \"$0\" compare - router.config");
    assert!(status == Some(1) && text.contains("B = 2"), "{text}");
    let (status, text) = shell("\"$0\" compare <(cat router.config) router.config");
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = shell("\"$0\" match --ads /nonexistent job.ad --config-file router.config");
    assert_eq!(status, Some(3), "{text}");
    let (status, text) = shell("cat router.config | \"$0\" match --config-file - job.ad");
    assert!(status == Some(0) && text.contains("1.0"), "{text}");
}

#[test]
fn any_requires_one_job_with_a_route_or_slot() {
    let home = prepared_home();
    std::fs::write(home.path().join("two.ads"), format!("{ONE}\n{}", ONE.replace("ann", "bob"))).unwrap();
    std::fs::write(home.path().join("none.ads"), ONE.replace("ann", "bob")).unwrap();
    let status = |program: &str, words: &str| {
        let output = Command::new(program).args(words.split(' ')).current_dir(home.path()).output().unwrap();
        output.status.code()
    };
    for verb in ["match", "route"] {
        let ask = |words: &str| status(TRANSLATE, &format!("{verb} --config-file router.config {words}"));
        assert_eq!(
            [ask("two.ads"), ask("--any two.ads"), ask("--any none.ads")],
            [Some(1), Some(0), Some(1)],
            "{verb}"
        );
    }
    std::fs::write(home.path().join("ann.ads"), "Name = \"slot1@a\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 10\nDisk = 100\nStart = TARGET.Owner == \"ann\"\nRequirements = TARGET.Owner == \"ann\"\n").unwrap();
    let ask = |words: &str| status(SLOT_RUN, &format!("explain --slot-ads ann.ads {words}"));
    assert_eq!(
        [ask("--ads two.ads"), ask("--any --ads two.ads"), ask("--any --ads none.ads")],
        [Some(1), Some(0), Some(1)]
    );
}

/// A verb that waits for its input ends when its time limit ends.
#[test]
fn every_verb_that_reads_ads_keeps_its_time_limit() {
    let home = prepared_home();
    for verb in &VERBS {
        let words = verb.words.split(' ').map(|word| if word == "IN" { "-" } else { word });
        let begun = Instant::now();
        let mut child = Command::new(verb.program)
            .args(words)
            .args(["--timeout", "0.3"])
            .current_dir(home.path())
            .env("CONDOR_CONFIG", "ONLY_ENV")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Nothing is written to the pipe, which stays open.
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(124), "{} {}: {err}", verb.program, verb.words);
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", verb.words);
    }
}

/// Tests the inputs that are not ads: configurations, scenarios, suites, slot ads.
#[test]
fn every_other_input_from_a_silent_pipe_keeps_the_time_limit() {
    let home = prepared_home();
    let slot_run = env!("CARGO_BIN_EXE_htc-slot-run");
    let hook_test = env!("CARGO_BIN_EXE_htc-hook-test");
    let starter_run = env!("CARGO_BIN_EXE_htc-starter-run");
    for (program, words) in [
        (slot_run, "--config-file -"),
        (slot_run, "-n --config-file -"),
        (slot_run, "ads --config-file -"),
        (slot_run, "doctor --config-file -"),
        (slot_run, "simulate -"),
        (hook_test, "run -"),
        (hook_test, "startd-cron --config-file -"),
        (starter_run, "--ads -"),
        (starter_run, "--config-file - --ads job.ad"),
    ] {
        let mut child = Command::new(program)
            .args(words.split(' '))
            .args(["--timeout", "0.3"])
            .current_dir(home.path())
            .env("CONDOR_CONFIG", "ONLY_ENV")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut errors = child.stderr.take().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    child.kill().unwrap();
                    panic!("{program} {words} goes on after its time limit");
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        drop(stdin);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut errors, &mut text).unwrap();
        assert_eq!(status.code(), Some(124), "{program} {words}: {text}");
    }
}
