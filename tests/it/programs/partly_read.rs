//! Tests of inputs that are read only in part, or whose damaged parts would take a long time.

use std::path::Path;
use std::process::{Command, Stdio};

use super::input_forms::{EVAL, HOOK_TEST, ONE, STARTER_RUN, STATUS, TRANSLATE, VERBS, prepared_home};

fn call(directory: &Path, program: &str, line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(program)
        .args(line.split(' '))
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A file beside ads may have been meant as ads, but the history in the directory of a queue is another input.
#[test]
fn files_left_out_of_a_directory_are_named_and_the_status_is_3() {
    let home = prepared_home();
    let put = |name: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, ONE).unwrap();
    };
    ["alone/1.ads", "mixed/1.ads", "mixed/5.txt", "queue/1.ads", "queue/history", "queue/history.1.gz"]
        .into_iter()
        .for_each(put);
    let verbs = VERBS.iter().filter(|verb| verb.file != "history" && !verb.words.starts_with("--events-of"));
    for verb in verbs {
        let read = |name: &str| {
            let words = verb.words.split(' ').map(|word| if word == "IN" { name } else { word });
            call(home.path(), verb.program, &words.collect::<Vec<_>>().join(" "))
        };
        let (alone, ..) = read("alone");
        let (status, _, err) = read("mixed");
        let name = format!("{} {}", verb.program, verb.words);
        // An input of the wrong kind is refused.
        let expected = if alone == Some(2) { alone } else { Some(3) };
        assert!(status == expected && err.contains("mixed: skipped 5.txt"), "{name}: {status:?} {err}");
        let (status, _, err) = read("queue");
        assert_eq!(status, alone, "{name}: {err}");
        assert!(err.contains("queue: skipped history, history.1.gz"), "{name}: {err}");
    }
}

#[test]
fn damaged_records_of_a_history_have_places() {
    let home = prepared_home();
    let record = |id: u32, line: &str| {
        format!(
            "ClusterId = {id}\nProcId = 0\n{line}RouteName = \"A\"\n*** Offset = 0 ClusterId = {id} ProcId = 0\n"
        )
    };
    let text = record(1, "bad one\n") + &record(2, "") + &record(3, "X = (1\n") + &record(4, "");
    std::fs::write(home.path().join("history"), &text).unwrap();
    std::fs::write(home.path().join("history.gz"), super::input_forms::compress(text.as_bytes(), "gz"))
        .unwrap();
    for file in ["history", "history.gz"] {
        let (status, out, err) = call(home.path(), STATUS, &format!("history {file} --af ClusterId"));
        assert_eq!((status, out.as_str()), (Some(3), "4\n3\n2\n1\n"), "{file}: {err}");
        for place in ["3:1: no `=`", "12:7: "] {
            assert!(err.contains(&format!("{file}:{place}")), "{file}: {err}");
        }
        let (status, _, err) = call(home.path(), STATUS, &format!("history {file} --strict-input"));
        assert!(status == Some(3) && err.contains(&format!("{file}:")), "{file}: {err}");
    }
    // Only the records that were read are reported.
    let (status, out, err) = call(home.path(), STATUS, "history history --af ClusterId --limit 2");
    assert_eq!((status, out.as_str()), (Some(3), "4\n3\n"), "{err}");
    assert!(err.contains("history:12:7: ") && !err.contains("history:3:1"), "{err}");
    let many: String = (1..=50).map(|id| record(id, "bad\n")).collect();
    std::fs::write(home.path().join("history"), many).unwrap();
    let (_, _, err) = call(home.path(), STATUS, "history history");
    assert!(err.contains("50 damaged records in total") && err.contains("history:248:1"), "{err}");
    assert!(err.lines().count() < 90, "{err}");
}

/// The brackets of these ads are not closed, so that the end of each is searched for in the whole rest of the input.
#[test]
fn many_malformed_ads_take_linear_time() {
    let home = prepared_home();
    for (name, line) in [
        ("a.new", "[ A = ( ]\n"),
        ("b.new", "[ A = \"x\n"),
        ("c.json", "{ \"A\": [ }\n"),
        ("d.new", "/* [ A = 1 ]\n"),
    ] {
        std::fs::write(home.path().join(name), line.repeat(150_000)).unwrap();
        let form = if name.ends_with("json") { "json" } else { "new" };
        let line = format!("--ads {name} --from {form} --count --timeout 60");
        let (status, _, err) = call(home.path(), EVAL, &line);
        assert_eq!(status, Some(3), "{name}: {}", err.chars().take(500).collect::<String>());
    }
    // Well-formed ads between the malformed ones are still read.
    let text = "[ A = ( ]\n".repeat(100_000) + &"[ A = ( ]\n[ B =\n [ C = 1 ] ]\n".repeat(1000);
    std::fs::write(home.path().join("some.new"), text).unwrap();
    let (_, out, _) = call(home.path(), EVAL, "--ads some.new --count --timeout 60");
    assert_eq!(out, "1000\n");
}

#[test]
fn the_number_of_statements_of_a_transform_is_limited() {
    let home = prepared_home();
    for number in 0..17 {
        let include = format!("include : inc{}\n", number + 1);
        std::fs::write(home.path().join(format!("inc{number}")), include.repeat(2)).unwrap();
    }
    std::fs::write(home.path().join("inc17"), "SET A 1\n").unwrap();
    let statements = "  SET A 1\n".repeat(100_001);
    std::fs::write(home.path().join("large.config"), format!("JOB_TRANSFORM_Big @=end\n{statements}@end\n"))
        .unwrap();
    for rules in ["--rules inc0", "--config-file large.config --job-transforms Big"] {
        let line = format!("transform {rules} --ads job.ad --timeout 60");
        let (status, _, err) = call(home.path(), TRANSLATE, &line);
        assert!(
            matches!(status, Some(1 | 3)) && err.contains("too many statements: the limit is 100000"),
            "{rules}: {status:?} {}",
            err.chars().take(500).collect::<String>()
        );
    }
}

/// The user who asks for results only does not see that they are not those of the whole output of the hook, or of the whole input.
#[test]
fn quiet_does_not_hide_that_something_was_ignored() {
    let home = prepared_home();
    let hook = b"#!/bin/sh\ncat > /dev/null\necho 'A = 1'\necho 'bad line'\necho 'B = hello'\n";
    crate::support::children::write_executable(&home.path().join("odd"), hook);
    let two = format!("{ONE}\n{}", ONE.replace("ClusterId = 1", "ClusterId = 2"));
    std::fs::write(home.path().join("two.ads"), two).unwrap();
    for (program, line, message) in [
        (HOOK_TEST, "prepare ./odd -q --ads job.ad", "bad-line"),
        (HOOK_TEST, "prepare ./odd -q --ads two.ads", "warning bad-line: 2 ads"),
        (HOOK_TEST, "startd-cron ./odd -q --slot-ads slots.ads", "unquoted-string"),
        (TRANSLATE, "transform -q --rules undecided.xfm --ads job.ad", "REQUIREMENTS are an error for 1 ad"),
    ] {
        std::fs::write(home.path().join("undecided.xfm"), "REQUIREMENTS Owner > 5\nSET A 1\n").unwrap();
        let (_, _, err) = call(home.path(), program, line);
        assert!(err.contains(message), "{line}: {err}");
    }
    let (status, _, err) = call(home.path(), HOOK_TEST, "prepare ./hook -q --ads job.ad");
    assert_eq!((status, err.as_str()), (Some(0), ""));
}

#[test]
fn cron_jobs_get_the_slots_of_the_configuration() {
    let home = prepared_home();
    let two = "NUM_CPUS = 2\nMEMORY = 200\nSLOT_TYPE_1 = 50%\nNUM_SLOTS_TYPE_1 = 2\n";
    std::fs::write(home.path().join("two.conf"), two).unwrap();
    let cron = "startd-cron ./hook --config-file two.conf";
    let (status, out, err) = call(home.path(), HOOK_TEST, &format!("{cron} -q"));
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(out.matches("Checked = true").count(), 2, "{out}{err}");
    assert!(out.contains("Name = \"slot2@"), "{out}");
    assert!(
        err.contains("no slot ad is given: using the 2 slots of the configuration (see --slot-ads)"),
        "{err}"
    );
    let (_, out, err) = call(home.path(), HOOK_TEST, &format!("{cron} --slot slot2 -q"));
    assert!(out.matches("Checked = true").count() == 1 && out.contains("SlotID = 2"), "{out}{err}");
    assert!(err.contains("using slot 2 of the configuration"), "{err}");
    let (status, _, err) = call(home.path(), HOOK_TEST, &format!("{cron} --slot slot3"));
    assert!(status == Some(2) && err.contains("the configuration has no slot 3"), "{status:?} {err}");
    let (_, out, err) = call(home.path(), HOOK_TEST, &format!("{cron} --slot-ads slots.ads -q"));
    assert!(out.matches("Checked = true").count() == 1 && err.is_empty(), "{out}{err}");
}

/// The help names only what the program does.
#[test]
fn the_help_of_the_starter_describes_one_job() {
    let home = prepared_home();
    let (_, out, _) = call(home.path(), STARTER_RUN, "--help");
    assert!(out.contains("Read the ad of the job from FILE") && !out.contains("Read ads from FILE"), "{out}");
}
