//! Tests of ads with lines that cannot be read, and of files that are not ads: no program answers with status 0 from a part of an
//! ad.

use std::path::Path;
use std::process::{Command, Stdio};

const EVAL: &str = env!("CARGO_BIN_EXE_htc-classad-eval");
const HOOK_TEST: &str = env!("CARGO_BIN_EXE_htc-hook-test");
const STARTER: &str = env!("CARGO_BIN_EXE_htc-starter-run");
const SLOTS: &str = env!("CARGO_BIN_EXE_htc-slot-run");
const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");
const TRANSLATE: &str = env!("CARGO_BIN_EXE_htc-router-translate");

/// Verbs that read ads, each with the option that names the file at the end.
const VERBS: [(&str, &[&str]); 11] = [
    (EVAL, &["-af", "Owner", "--threads", "1", "--ads"]),
    (EVAL, &["-af", "Owner", "--threads", "2", "--ads"]),
    (EVAL, &["RequestMemory > 1", "--ads"]),
    (HOOK_TEST, &["prepare", "hook", "--quiet", "--ads"]),
    (SLOTS, &["explain", "--config-file", "c.conf", "--ads"]),
    (SLOTS, &["explain", "--config-file", "c.conf", "--summary", "--ads"]),
    (TRANSLATE, &["match", "--config-file", "c.conf", "--ads"]),
    (TRANSLATE, &["route", "--config-file", "c.conf", "--ads"]),
    (TRANSLATE, &["transform", "--rules", "rules", "--threads", "1", "--ads"]),
    (TRANSLATE, &["transform", "--rules", "rules", "--threads", "2", "--ads"]),
    (STATUS, &["--ads"]),
];

const CONFIG: &str = "LOCAL_DIR = /tmp
LOG = $(LOCAL_DIR)/log
SPOOL = $(LOCAL_DIR)/spool
START = True
NUM_CPUS = 1
MEMORY = 1000
JOB_ROUTER_ROUTE_NAMES = a
JOB_ROUTER_ROUTE_a = REQUIREMENTS True
";

const JOB: &str = "ClusterId = 1
ProcId = 0
Owner = \"ann\"
JobStatus = 1
JobUniverse = 5
RequestMemory = 10
RequestCpus = 1
RequestDisk = 1
Cmd = \"/bin/true\"
";

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("c.conf", CONFIG);
    write("rules", "SET A 1\n");
    write("good.ad", JOB);
    write("half.ad", &format!("{JOB}Rank = (\n"));
    write("later.ads", &format!("{JOB}\n{}Rank = (\n", JOB.replace("ProcId = 0", "ProcId = 1")));
    write("day.toml", "seed = 1\nlength = \"1d\"\n[[jobs]]\nname = \"a\"\nruns = \"1m\"\n");
    write("notes", "A = 1\nThese are notes.\nThey are no ads.\n");
    write("hook", "#!/bin/sh\ncat > /dev/null\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("hook"), executable).unwrap();
    place
}

fn run(program: &str, words: &[&str], file: &str, place: &Path) -> (Option<i32>, String, String) {
    let words: Vec<String> = words
        .iter()
        .map(
            |word| {
                if *word == "hook" { place.join("hook").display().to_string() } else { (*word).to_owned() }
            },
        )
        .collect();
    let output = Command::new(program)
        .args(words)
        .arg(file)
        .current_dir(place)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_answer_from_a_part_of_an_ad_has_status_3() {
    let place = place();
    for (program, words) in VERBS {
        let (status, out, err) = run(program, words, "good.ad", place.path());
        assert_eq!(status, Some(0), "{words:?}: {out}{err}");
        for file in ["half.ad", "later.ads"] {
            let (status, out, err) = run(program, words, file, place.path());
            assert_eq!(status, Some(3), "{words:?} {file}: {out}{err}");
            assert!(err.contains(&format!("{file}:")), "{words:?}: the line is named: {err}");
        }
    }
}

#[test]
fn other_files_than_ads_are_refused_with_a_hint() {
    let place = place();
    for (program, words) in VERBS {
        for (file, hint) in [
            ("c.conf", "hint: it looks like a configuration: use --config-file c.conf"),
            ("day.toml", "hint: it looks like TOML"),
            ("notes", "hint: most lines of its first ad are not attributes"),
        ] {
            let (status, out, err) = run(program, words, file, place.path());
            assert_eq!(status, Some(3), "{words:?} {file}: {out}{err}");
            assert!(err.contains(hint), "{words:?} {file}: {err}");
            assert!(err.contains(&format!("'{file}' is not a file of ads")), "{words:?}: {err}");
        }
    }
}

/// Nothing is printed about text in which nothing can be read as an attribute, because it is not an ad.
#[test]
fn a_file_without_ads_gives_no_ad() {
    let place = place();
    let write = |name: &str, text: &[u8]| std::fs::write(place.path().join(name), text).unwrap();
    write("text", b"root:x:0:0:root:/root:/bin/bash\n\nbin:x:1:1:bin:/bin:/sbin/nologin\n");
    let utf16: Vec<u8> =
        JOB.encode_utf16().fold(vec![0xff, 0xfe], |text, unit| [text, unit.to_le_bytes().to_vec()].concat());
    write("utf16", &utf16);
    for (program, words) in VERBS {
        for file in ["text", "utf16"] {
            let (status, out, err) = run(program, words, file, place.path());
            assert_eq!(status, Some(3), "{words:?} {file}: {out}{err}");
            assert!(err.contains(file), "{words:?} {file}: {err}");
            let is_table_of_none = out.lines().count() <= 2 && !out.contains('=');
            assert!(out.is_empty() || is_table_of_none, "{words:?} {file}: {out}");
        }
    }
    for file in ["text", "utf16"] {
        let words = ["explain", "--ads", "good.ad", "--slot-ads"];
        let (status, out, err) = run(SLOTS, &words, file, place.path());
        assert_eq!((status, out.as_str()), (Some(3), ""), "{file}: {err}");
        assert!(err.contains(&format!("{file}: no ad found")), "{err}");
    }
}

/// The missing end is the only sign that the program that wrote the list was interrupted.
#[test]
fn a_list_that_was_cut_off_between_two_ads_has_status_3() {
    let place = place();
    let job = |proc: u32| {
        format!(
            "{{\"ClusterId\":1,\"ProcId\":{proc},\"Owner\":\"ann\",\"RequestMemory\":10,\"JobUniverse\":5}}"
        )
    };
    std::fs::write(place.path().join("cut.json"), format!("[{},\n{}\n", job(0), job(1))).unwrap();
    std::fs::write(
        place.path().join("cut.xml"),
        "<?xml version=\"1.0\"?>\n<classads>\n<c><a n=\"Owner\"><s>ann</s></a><a n=\"RequestMemory\"><i>9</i></a></c>\n",
    )
    .unwrap();
    for (program, words) in VERBS {
        for (file, end) in
            [("cut.json", "its end `]` is missing"), ("cut.xml", "its end tag </classads> is missing")]
        {
            let (status, out, err) = run(program, words, file, place.path());
            assert_eq!(status, Some(3), "{words:?} {file}: {out}{err}");
            assert!(err.contains(end), "{words:?} {file}: {err}");
        }
    }
}

#[test]
fn a_line_with_a_nul_byte_is_skipped_with_a_message() {
    let place = place();
    std::fs::write(place.path().join("nul.ad"), format!("{JOB}Rank = 1\0 + 1\nPrio = 3\n")).unwrap();
    for (program, words) in VERBS {
        let (status, out, err) = run(program, words, "nul.ad", place.path());
        assert_eq!(status, Some(3), "{words:?}: {out}{err}");
        assert!(err.contains("nul.ad:10:9: the line has a NUL byte"), "{words:?}: {err}");
    }
    let (_, out, _) = run(EVAL, &["--ads"], "nul.ad", place.path());
    assert!(!out.contains("Rank") && out.contains("Prio = 3"), "{out}");
}

/// A job from a part of its ad may not do what the user means, so it is not run; HTCondor skips such lines.
#[test]
fn a_job_is_not_run_if_its_ad_is_damaged() {
    let place = place();
    let (status, _, err) = run(STARTER, &["--ads"], "half.ad", place.path());
    assert_eq!(status, Some(3), "{err}");
    assert!(err.contains("half.ad: 1 line of the job ad cannot be read: the job is not run"), "{err}");
    let (status, _, err) = run(STARTER, &["--ads"], "c.conf", place.path());
    assert!(status == Some(3) && err.contains("use --config-file c.conf"), "{err}");
    let (_, _, err) = run(STARTER, &["--quirks", "reference", "--ads"], "half.ad", place.path());
    assert!(err.contains("the line is skipped") && !err.contains("the job is not run"), "{err}");
}

/// Input of another kind is refused, and the message names the command that can read it.
#[test]
fn ads_are_neither_event_logs_nor_configurations() {
    const DUMP: &str = env!("CARGO_BIN_EXE_htc-config-dump");
    let place = place();
    let (status, out, err) = run(STARTER, &["--events-of"], "good.ad", place.path());
    assert_eq!((status, out.as_str()), (Some(3), ""), "{err}");
    assert!(
        err.contains("'good.ad' is not a job's event log\nhint: 'htc-classad-eval --ads FILE' reads"),
        "{err}"
    );
    for (program, words) in [(DUMP, &["lint"][..]), (TRANSLATE, &["lint"])] {
        let (status, out, err) = run(program, words, "good.ad", place.path());
        assert_eq!((status, out.as_str()), (Some(3), ""), "{program}: {err}");
        let expected = "'good.ad' is a file of ads, not a configuration\nhint: 'htc-config-dump lint --ads good.ad' checks";
        assert!(err.contains(expected), "{program}: {err}");
    }
}
