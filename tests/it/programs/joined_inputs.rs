//! Tests of input that other programs have written: pipes, compressed files, concatenated ads.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::input_forms::{
    CONFIG_DUMP, EVAL, EVENT_LOG, HOOK_TEST, ONE, QUEUE_LOG, SLOT_RUN, STARTER_RUN, STATUS, Source,
    TRANSLATE, VERBS, Verb, compress, prepared_home, run,
};

/// Concatenating the outputs of two programs gives the ads of both.
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
    // The account must be able to run the job: the current account, or another one if that is root.
    let this = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
    let owner = this.filter(|user| !user.uid.is_root()).map_or("nobody".to_owned(), |user| user.name);
    std::fs::write(home.path().join("mine.ad"), ONE.replace("\"ann\"", &format!("\"{owner}\""))).unwrap();
    let commands = [
        "$EVAL --ads job.ad --long".to_owned(),
        "$HOOK prepare ./hook --ads job.ad".to_owned(),
        "$TRANSLATE route --config-file router.config job.ad".to_owned(),
        "$TRANSLATE transform --rules rules.xfm job.ad".to_owned(),
        "$STARTER --ads mine.ad".to_owned(),
        "$STARTER --classad".to_owned(),
        "$HOOK startd-cron ./hook".to_owned(),
        "$HOOK schedd-cron ./hook".to_owned(),
        "$HOOK benchmark ./hook".to_owned(),
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
fn each_program_reads_the_output_of_the_one_before_it() {
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
fn every_reader_reports_two_joined_ads() {
    let home = prepared_home();
    let joined = format!("{ONE}{}", ONE.replace("ClusterId = 1", "ClusterId = 2"));
    let others = [
        (STARTER_RUN, "--dry-run --job-input-ad IN"),
        (HOOK_TEST, "fetch ./hook --slot-ads IN"),
        (HOOK_TEST, "startd-cron ./hook --slot-ads IN"),
        (HOOK_TEST, "finalize ./hook --ads job.ad --routed-ads IN"),
        (SLOT_RUN, "claim slot1 --ads IN"),
        (SLOT_RUN, "activate slot1 --ads IN"),
    ];
    let others = others.map(|(program, words)| Verb { program, words, file: "in.ads" });
    let of_events = |verb: &&Verb<'_>| verb.words.starts_with("--events-of");
    for verb in VERBS.iter().filter(|verb| !of_events(verb)).chain(&others) {
        let (_, out, err) = run(verb, joined.as_bytes(), Source::File, home.path());
        assert!(err.contains("ClusterId is set twice"), "{} {}: {out}{err}", verb.program, verb.words);
        let (_, out, err) = run(verb, ONE.as_bytes(), Source::File, home.path());
        assert!(!err.contains("ClusterId is set twice"), "{} {}: {out}{err}", verb.program, verb.words);
    }
    let (_, out, err) = run(
        &Verb { program: CONFIG_DUMP, words: "lint --ads IN", file: "in.ads" },
        joined.as_bytes(),
        Source::File,
        home.path(),
    );
    assert!(out.contains("ClusterId is already set in line 1"), "{out}{err}");
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
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
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

/// `--quiet` suppresses notes, but never an error.
#[test]
fn quiet_hides_no_error() {
    let home = prepared_home();
    for verb in &VERBS {
        for text in [EVENT_LOG, QUEUE_LOG, "no ad at all\n", "A = (\n\nB = 1\n"] {
            let quiet_words = format!("{} --quiet", verb.words);
            let quiet = Verb { program: verb.program, words: &quiet_words, file: verb.file };
            let loud = run(verb, text.as_bytes(), Source::File, home.path());
            let silent = run(&quiet, text.as_bytes(), Source::File, home.path());
            assert_eq!(loud.0, silent.0, "{}: {text}{}", verb.words, loud.2);
            let is_error =
                |line: &&str| line.contains("error") || line.contains("cannot") || line.contains("hint:");
            if loud.0 != 0 && loud.2.lines().any(|line| is_error(&line)) {
                assert!(!silent.2.is_empty(), "{}: {text}{}", verb.words, loud.2);
            }
        }
    }
}

/// Standard input can be read once, so a command line that names it for two inputs is refused instead of reading an empty input.
#[test]
fn standard_input_is_refused_as_a_second_input() {
    let home = prepared_home();
    for (program, words, names) in [
        (EVAL, &["--my-file", "-", "--target-file", "-", "1"][..], "--my-file and --target-file both read"),
        (EVAL, &["--ads", "-", "--match", "-"], "--ads and --match both read"),
        (EVAL, &["--match", "-", "--count"], "--ads and --match both read"),
        (EVAL, &["--ads", "-", "--ads", "-", "--count"], "--ads reads standard input twice"),
        (TRANSLATE, &["transform", "-r", "-", "-"], "--rules and --ads both read"),
        (TRANSLATE, &["transform", "-r", "-", "-r", "-"], "--rules reads standard input twice"),
        (TRANSLATE, &["match", "--config-file", "-", "--ads", "-"], "--ads and --config-file both read"),
        (TRANSLATE, &["route", "--config-file", "-", "-"], "--config-file and FILE both read"),
        (TRANSLATE, &["route", "--config-file", "-"], "--config-file and --ads both read"),
        (HOOK_TEST, &["fetch", "./hook", "--config-file", "-"], "--config-file and --ads both read"),
        (HOOK_TEST, &["reply", "./hook", "--slot-ads", "-", "--ads", "-"], "--ads and --slot-ads both read"),
        (STARTER_RUN, &["-n", "--slot-ads", "-", "--ads", "-"], "--ads and --slot-ads both read"),
        (STARTER_RUN, &["-n", "--slot-ads", "-"], "--ads and --slot-ads both read"),
        (SLOT_RUN, &["explain", "--slot-ads", "-", "--ads", "-"], "--ads and --slot-ads both read"),
        (
            SLOT_RUN,
            &["explain", "--config-file", "-", "--slot-ads", "-"],
            "--slot-ads and --config-file both read",
        ),
        (STATUS, &["--config-file", "-", "-"], "--config-file and FILE both read"),
    ] {
        let (status, out, err) = refused(program, words, "SET A 1\n", home.path());
        assert!(
            status == Some(2) && out.is_empty() && err.contains(names),
            "{program} {words:?}: {status:?} {err}"
        );
    }
    // Text after the rules is the ads, as for condor_transform_ads.
    let (status, out, err) = refused(
        TRANSLATE,
        &["transform", "-r", "-", "-"],
        "SET A 1\nTRANSFORM 1\nClusterId = 1\n",
        home.path(),
    );
    assert_eq!((status, out.as_str()), (Some(0), "A = 1\nClusterId = 1\n\n"), "{err}");
}

/// Runs a program with this standard input.
fn refused(program: &str, words: &[&str], input: &str, directory: &Path) -> (Option<i32>, String, String) {
    let mut child = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its command line does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A program that prints ads warns of those that the next program would not read as they are.
#[test]
fn printed_ads_that_read_back_as_something_else_are_reported() {
    let home = prepared_home();
    let run = |words: &[&str], input: &[u8]| {
        std::fs::write(home.path().join("odd"), input).unwrap();
        refused(TRANSLATE, &[words, &["--rules", "/dev/null", "odd"]].concat(), "", home.path()).2
    };
    let latin = b"ClusterId = 1\n\nClusterId = 2\nOwner = \"J\xf6rg\"\n";
    for threads in ["1", "2"] {
        for form in ["--json", "--jsonl"] {
            let err = run(&["transform", "--threads", threads, form], latin);
            assert!(err.contains("ad 2 of the output has text that is not UTF-8"), "{threads} {form}: {err}");
        }
    }
    assert_eq!(run(&["transform"], latin), "");
    assert_eq!(run(&["transform", "--jsonl", "-q"], latin), "");
    let err = run(&["transform"], b"{\"X\\nOwner\":\"root\"}");
    assert!(err.contains("of ad 1 of the output reads back as something else"), "{err}");
}
