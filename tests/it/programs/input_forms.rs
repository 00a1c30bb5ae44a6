//! The same input as a file, through a pipe, compressed and in a directory: every verb that reads ads gives
//! the same result.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");
const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");
const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");
const SLOT_RUN: &str = env!("CARGO_BIN_EXE_htc-slot-run");
const STARTER_RUN: &str = env!("CARGO_BIN_EXE_htc-starter-run");

/// Limit of one run.
const LIMIT: Duration = Duration::from_secs(120);

/// A verb that reads ads; `IN` in its words is the input.
struct Verb {
    program: &'static str,
    words: &'static str,
    /// Name of the file in a directory.
    file: &'static str,
}

const VERBS: [Verb; 20] = [
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
    Verb { program: STARTER_RUN, words: "--events-of IN", file: "in.ads" },
];

const LONG: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nCmd = \"/bin/true\"\nIwd = \"/\"\nJobStatus = 1\nJobUniverse = 5\nRouteName = \"A\"\n\n\
    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nCmd = \"/bin/true\"\nIwd = \"/\"\n";
const ONE: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nCmd = \"/bin/true\"\nIwd = \"/\"\nJobStatus = 1\nJobUniverse = 5\n";
const JSON: &str =
    "[{\"ClusterId\": 1, \"ProcId\": 0, \"Owner\": \"ann\"}, {\"ClusterId\": 2, \"ProcId\": 0}]\n";
const NEW: &str = "[ ClusterId = 1; ProcId = 0; Owner = \"ann\" ]\n";
const XML: &str = "<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"ClusterId\"><i>1</i></a><a n=\"ProcId\"><i>0</i></a></c>\n</classads>\n";
const QUEUE_LOG: &str = "107 1 CreationTimestamp 1700000000\n105\n101 01.-1 Job Machine\n103 01.-1 Owner \"ana\"\n\
    101 1.0 Job Machine\n103 1.0 ProcId 0\n103 1.0 ClusterId 1\n101 1.1 Job Machine\n103 1.1 ProcId 1\n103 1.1 ClusterId 1\n106\n";
const HISTORY: &str = "ClusterId = 1\nProcId = 0\nOwner = \"ann\"\nRouteName = \"A\"\n\
    *** Offset = 0 ClusterId = 1 ProcId = 0 Owner = \"ann\" CompletionDate = 1700000000\n\
    ClusterId = 2\nProcId = 0\nOwner = \"bob\"\nRouteName = \"B\"\n\
    *** Offset = 60 ClusterId = 2 ProcId = 0 Owner = \"bob\" CompletionDate = 1700000000\n";
const EVENT_LOG: &str = "000 (001.000.000) 2026-01-01 00:00:00 Job submitted from host: <127.0.0.1:1>\n...\n\
    009 (001.000.000) 2026-01-01 00:00:01 Job was aborted.\n\tvia condor_rm\n...\n";

fn compress(text: &[u8], format: &str) -> Vec<u8> {
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

/// Source of a text.
#[derive(Clone, Copy, Debug)]
enum Source {
    File,
    Stdin,
    Fifo,
    Packed(&'static str),
    PackedStdin(&'static str),
    Directory,
}

const SOURCES: [Source; 12] = [
    Source::File,
    Source::Stdin,
    Source::Fifo,
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

/// Result of a run, in which each name of the input is `IN`.
type Outcome = (i32, String, String);

fn run(verb: &Verb, text: &[u8], source: Source, home: &Path) -> Outcome {
    let name = match source {
        Source::File => "plain-input",
        Source::Stdin | Source::PackedStdin(_) => "-",
        Source::Fifo => "fifo",
        Source::Packed(_) => "packed",
        Source::Directory => "directory",
    };
    let mut piped: Option<Vec<u8>> = None;
    match source {
        Source::File => std::fs::write(home.join("plain-input"), text).unwrap(),
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
    let mut command = Command::new(verb.program);
    command
        .args(words)
        .current_dir(home)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("TZ", "UTC")
        .env("LC_ALL", "C");
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
        for name in
            [inside.as_str(), "standard input", "<stdin>", "directory", "packed", "fifo", "plain-input"]
        {
            text = text.replace(name, "IN");
        }
        text = text.replace("'-'", "'IN'").replace("'IN'", "IN");
        let lines = text.lines().map(|line| {
            let at = [" -:"].iter().find_map(|name| line.find(name).map(|at| (at, name.len())));
            at.map_or(line.to_owned(), |(at, length)| format!("{} IN:{}", &line[..at], &line[at + length..]))
        });
        // The duration of a hook is not part of the result.
        let lines = lines
            .map(|line| line.split_once("(exited with").map_or(line.clone(), |(start, _)| start.to_owned()));
        lines.collect::<Vec<_>>().join("\n")
    };
    (status.code().unwrap_or(-1), read(&out), read(&err))
}

fn prepared_home() -> tempfile::TempDir {
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

#[test]
fn every_verb_reads_an_input_alike_from_wherever_it_comes() {
    let home = prepared_home();
    let mut differences = Vec::new();
    for (kind, text) in [
        ("long", LONG),
        ("one", ONE),
        ("json", JSON),
        ("new", NEW),
        ("xml", XML),
        ("queue log", QUEUE_LOG),
        ("history", HISTORY),
        ("event log", EVENT_LOG),
    ] {
        for verb in &VERBS {
            let expected = run(verb, text.as_bytes(), Source::File, home.path());
            for source in &SOURCES[1..] {
                // A job has one log.
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
    for verb in &VERBS[..19] {
        for source in SOURCES {
            let (status, out, err) = run(verb, EVENT_LOG.as_bytes(), source, home.path());
            assert_eq!((status, out.as_str()), (3, ""), "{} {source:?}: {err}", verb.words);
            assert!(err.contains("htc-starter-run --events-of"), "{} {source:?}: {err}", verb.words);
        }
    }
    let (status, _, err) = run(&VERBS[19], QUEUE_LOG.as_bytes(), Source::File, home.path());
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
fn each_file_of_a_directory_has_a_form_of_its_own_and_skipped_files_are_named() {
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
fn any_asks_for_one_job_with_a_route_or_slot() {
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

/// The concatenated output of two programs contains the ads of both.
#[test]
fn printed_ads_end_with_an_empty_line_so_that_outputs_can_be_joined() {
    let home = prepared_home();
    let shell = |script: &str| {
        let mut command = Command::new("bash");
        command.args(["-ec", script]).current_dir(home.path()).env("CONDOR_CONFIG", "ONLY_ENV");
        for (name, program) in [
            ("EVAL", EVAL),
            ("HOOK", HOOK_TEST),
            ("TRANSLATE", TRANSLATE),
            ("SLOTS", SLOT_RUN),
            ("STARTER", STARTER_RUN),
        ] {
            command.env(name, program);
        }
        let output = command.output().unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    // An account that may run the job: this one, or another one for root.
    let this = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
    let owner = this.filter(|user| !user.uid.is_root()).map_or("nobody".to_owned(), |user| user.name);
    std::fs::write(home.path().join("mine.ad"), ONE.replace("\"ann\"", &format!("\"{owner}\""))).unwrap();
    let commands = [
        "$EVAL --ads job.ad --long".to_owned(),
        "$HOOK prepare ./hook --ads job.ad".to_owned(),
        "$TRANSLATE route --config-file router.config job.ad".to_owned(),
        "$TRANSLATE transform --rules rules.xfm job.ad".to_owned(),
        "$STARTER --ads mine.ad".to_owned(),
    ];
    for command in commands {
        let (out, err) = shell(&format!("({command}; {command}) 2>err | $EVAL --count; cat err >&2"));
        assert_eq!(out, "2\n", "{command}: {err}");
    }
    let (out, _) =
        shell("$HOOK prepare ./hook --ads two.ads --ads job.ad 2>/dev/null | $EVAL --count || true");
    assert_eq!(out, "0\n", "a file that is not there is an error before the first call");
    std::fs::write(home.path().join("two.ads"), format!("{ONE}\n{ONE}")).unwrap();
    let (out, _) = shell("$HOOK prepare ./hook --ads two.ads --ads job.ad 2>/dev/null | $EVAL --count");
    assert_eq!(out, "3\n");
}

#[test]
fn what_one_program_prints_the_next_one_reads_from_fetch_to_status() {
    let home = prepared_home();
    let this = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
    let owner = this.filter(|user| !user.uid.is_root()).map_or("nobody".to_owned(), |user| user.name);
    let fetch = format!(
        "#!/bin/sh\ncat >/dev/null\nprintf '%s\\n' 'ClusterId = 5' 'ProcId = 0' 'Owner = \"{owner}\"' 'Cmd = \"/bin/true\"' \
         'Iwd = \"/\"' 'JobUniverse = 5' 'JobStatus = 1' 'RoutedBy = \"r\"' 'RouteName = \"Here\"' 'RoutedFromJobId = \"1.0\"'\n"
    );
    crate::support::children::write_executable(&home.path().join("fetch"), fetch.as_bytes());
    let script = "\"$HOOK\" fetch ./fetch --sample-slot static 2>e1 | \"$HOOK\" prepare ./hook 2>e2 | \"$STARTER\" 2>e3 | \
        tee job | \"$STATUS\" - --af JobStatus Checked; cat e1 e2 e3 >&2";
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(home.path())
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("HOOK", HOOK_TEST)
        .env("STARTER", STARTER_RUN)
        .env("STATUS", STATUS)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4 true\n", "{err}");
}

/// Runs a program in a directory with a limit on its address space, in KiB.
fn run_in(home: &Path, program: &str, words: &[&str], stdin: &[u8]) -> (Option<i32>, String, String) {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -v 1200000; exec \"$0\" \"$@\"", program])
        .args(words)
        .current_dir(home)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = stdin.to_vec();
    let writer = std::thread::spawn(move || drop(input.write_all(&text)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn suites_scenarios_and_other_files_may_be_compressed() {
    let home = prepared_home();
    let put = |name: &str, bytes: &[u8]| std::fs::write(home.path().join(name), bytes).unwrap();
    let suite = b"[[case]]\nname = \"one\"\nhook = \"hook\"\ntype = \"prepare\"\njob_file = \"job.ad.xz\"\n\
        expect = { verdict = \"go-on\", result = [\"ClusterId == 1\"] }\n";
    put("job.ad.xz", &compress(ONE.as_bytes(), "xz"));
    put("a.toml.gz", &compress(suite, "gz"));
    for (words, stdin) in [
        (["run", "a.toml.gz"], Vec::new()),
        (["run", "."], Vec::new()),
        (["run", "-"], suite.to_vec()),
        (["run", "-"], compress(suite, "zst")),
    ] {
        let (status, out, err) = run_in(home.path(), HOOK_TEST, &words, &stdin);
        assert!(status == Some(0) && (out.clone() + &err).contains("1 case"), "{words:?}: {out}{err}");
    }
    let (status, _, err) = run_in(home.path(), HOOK_TEST, &["run", "a.toml.gz", "--update"], b"");
    assert!(status == Some(3) && err.contains("--update"), "{err}");

    let scenario = b"duration = \"1h\"\n[[jobs]]\ncount = 1\nrun = \"60\"\n";
    put("plain.toml", scenario);
    let (status, expected, err) = run_in(home.path(), SLOT_RUN, &["simulate", "plain.toml"], b"");
    for format in ["gz", "bz2"] {
        put("packed", &compress(scenario, format));
        let (other, out, _) = run_in(home.path(), SLOT_RUN, &["simulate", "packed"], b"");
        assert_eq!((other, &out), (status, &expected), "{err}");
    }

    put("cron.ads.bz2", &compress(b"HasThing = true\n", "bz2"));
    put("cron.ads", b"HasThing = true\n");
    let explain =
        |file: &str| run_in(home.path(), SLOT_RUN, &["explain", "--cron", file, "--ads", "job.ad"], b"");
    let first_line =
        |(status, out, _): (Option<i32>, String, String)| (status, out.lines().next().map(str::to_owned));
    assert_eq!(first_line(explain("cron.ads.bz2")), first_line(explain("cron.ads")));
    let (status, _, err) = explain("missing");
    assert_eq!(status, Some(3), "{err}");

    put("items.gz", &compress(b"a\nb\n", "gz"));
    put("each.xfm", b"SET A \"$(x)\"\nTRANSFORM 1 x from items.gz\n");
    let words = ["transform", "--rules", "each.xfm", "--ads", "job.ad"];
    let (_, out, err) = run_in(home.path(), TRANSLATE, &words, b"");
    assert!(out.contains("A = \"a\"") && out.contains("A = \"b\""), "{out}{err}");
}

#[test]
fn two_ads_that_were_joined_are_noticed_by_every_reader() {
    let home = prepared_home();
    let joined = format!("{ONE}{}", ONE.replace("ClusterId = 1", "ClusterId = 2"));
    for verb in VERBS.iter().filter(|verb| !verb.words.starts_with("--events-of")) {
        let (_, out, err) = run(verb, joined.as_bytes(), Source::File, home.path());
        assert!(err.contains("ClusterId is set twice"), "{} {}: {out}{err}", verb.program, verb.words);
        let (_, out, err) = run(verb, ONE.as_bytes(), Source::File, home.path());
        assert!(!err.contains("ClusterId is set twice"), "{} {}: {out}{err}", verb.program, verb.words);
    }
    let words = ["--ads", "-", "--count", "--strict-input"];
    assert_eq!(run_in(home.path(), EVAL, &words, joined.as_bytes()).0, Some(3));
}

#[test]
fn a_history_without_trailers_is_read_as_ads() {
    let home = prepared_home();
    let ad = |id: u32| format!("ClusterId = {id}\nProcId = 0\nRouteName = \"A\"\n\n");
    let text: String = (1..2000).map(ad).collect();
    for source in [Source::File, Source::Stdin, Source::Packed("gz")] {
        let verb = Verb { program: STATUS, words: "history --limit 2 -af ClusterId IN", file: "history" };
        let verb = Verb { words: "history IN --limit 2 --jsonl", ..verb };
        let (status, out, err) = run(&verb, text.as_bytes(), source, home.path());
        let ids: Vec<_> = out.lines().filter_map(|line| line.split("\"ClusterId\":").nth(1)).collect();
        let ids: Vec<_> = ids.iter().map(|rest| rest.trim_start().chars().next().unwrap()).collect();
        assert_eq!((status, ids), (0, vec!['1', '2']), "{source:?}: {out}{err}");
    }
    let trailers: String = (1..2000).map(|id| ad(id).trim_end().to_owned() + "\n*** Offset = 0\n").collect();
    for source in [Source::File, Source::Stdin, Source::Packed("gz")] {
        let verb = Verb { program: STATUS, words: "history IN --limit 2 --jsonl", file: "history" };
        let (status, out, err) = run(&verb, trailers.as_bytes(), source, home.path());
        let is_newest = out.lines().zip([1999, 1998]).all(|(line, id)| line.contains(&id.to_string()));
        assert!(status == 0 && out.lines().count() == 2 && is_newest, "{source:?}: {out}{err}");
    }
}

#[test]
fn memory_is_bounded_whatever_is_read() {
    let home = prepared_home();
    let bad = "bad\n".repeat(8 << 20);
    std::fs::write(home.path().join("bad"), &bad).unwrap();
    std::fs::write(home.path().join("lines.gz"), compress("x = 1\n".repeat(20 << 20).as_bytes(), "gz"))
        .unwrap();
    let program_words: [(&str, &[&str]); 10] = [
        (EVAL, &["--ads", "bad", "--count"]),
        (EVAL, &["--ads", "lines.gz", "--count"]),
        (TRANSLATE, &["transform", "--rules", "rules.xfm", "--ads", "bad"]),
        (STATUS, &["queue", "bad"]),
        (STATUS, &["queue", "/dev/zero"]),
        (STATUS, &["history", "/dev/zero"]),
        (STATUS, &["history", "lines.gz"]),
        (STARTER_RUN, &["--events-of", "/dev/zero"]),
        (STARTER_RUN, &["--dry-run", "--ads", "/dev/zero"]),
        (HOOK_TEST, &["run", "/dev/zero"]),
    ];
    for (program, words) in program_words {
        let (status, out, err) = run_in(home.path(), program, words, b"");
        let start: String = err.chars().take(300).collect();
        assert!(matches!(status, Some(1 | 3)) && out.len() < 1000, "{words:?}: {status:?} {start}");
        assert!(err.lines().count() < 200 && !err.contains("panicked"), "{words:?}: {start}");
    }
}
