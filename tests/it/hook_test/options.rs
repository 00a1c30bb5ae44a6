//! Tests of `htc-hook-test`: mistakes in suites and options that must be reported.

use std::process::Stdio;

use crate::hook_test::calls::{command, status_and_output};
use crate::support::children::write_executable;

fn home(hook: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), hook.as_bytes());
    home
}

#[test]
fn an_invalid_case_fails_with_the_reason() {
    let home = home("#!/bin/sh\ncat >/dev/null\n");
    for (line, expected) in [
        ("timeout = -1.0", "timeout = -1: expected a number of seconds above 0"),
        ("timeout = nan", "timeout = NaN"),
        ("timeout = 1e30", "expected a number of seconds"),
        ("expect = { exit = 3.5 }", "exit = 3.5: expected a status"),
        ("type = \"prepair\"", "unknown hook type 'prepair': did you mean prepare?"),
        ("type = \"zzzzzzzz\"", "unknown hook type 'zzzzzzzz': its types are fetch, reply, evict,"),
        ("words = [\"bogus\"]", "words = [\"bogus\"]: expected one of exit, evict, hold, remove"),
        ("words = [\"exit\", \"${NOPE}\"]", "${NOPE} matches nothing"),
        (
            "hook = \"missing\"\nexpect = { verdict = \"not-started\", exit = 3 }",
            "nothing: the hook was not called",
        ),
        (
            "hook = \"missing\"\nexpect = { verdict = \"not-started\", stdout = \"x\" }",
            "the hook was not called",
        ),
        (
            "hook = \"missing\"\nexpect = { verdict = \"not-started\", stderr = \"x\" }",
            "the hook was not called",
        ),
    ] {
        let hook = if line.starts_with("hook") { "" } else { "hook = \"h\"\n" };
        let kind = if line.starts_with("type") { "" } else { "type = \"exit\"\n" };
        std::fs::write(home.path().join("s.toml"), format!("[[case]]\n{kind}{hook}{line}\n")).unwrap();
        let Some((status, _, err)) = status_and_output(home.path(), &["run", "s.toml"]) else { return };
        assert_eq!(status, 1, "{line}: {err}");
        assert!(err.contains(expected), "{line}: {err}");
    }
}

#[test]
fn suites_without_cases_keys_or_quotes_say_what_is_missing() {
    let home = home("#!/bin/sh\ncat >/dev/null\n");
    for (suite, status, expected) in [
        ("[[case]]\nhook = \"h\"\n", 1, "the case has no `type`: its types are fetch, reply"),
        ("[[case]]\ntype = \"prepare\"\n", 1, "the case has no `hook`"),
        ("[[case]]\ntype = \"prepare\"\nhook = ./h\n", 3, "write hook = \"./h\""),
        ("", 3, "there are no cases to run"),
    ] {
        std::fs::write(home.path().join("s.toml"), suite).unwrap();
        let Some((ended, _, err)) = status_and_output(home.path(), &["run", "s.toml"]) else { return };
        assert_eq!(ended, status, "{suite}: {err}");
        assert!(err.contains(expected), "{suite}: {err}");
    }
    std::fs::write(home.path().join("s.toml"), "[[case]]\nname = \"one\"\n").unwrap();
    let (ended, _, err) = status_and_output(home.path(), &["run", "s.toml", "--filter", "nonesuch"]).unwrap();
    assert_eq!(ended, 3, "{err}");
    assert!(err.contains("no case has 'nonesuch' in its name"), "{err}");
}

#[test]
fn a_misspelled_keyword_is_corrected_and_its_source_named() {
    let home = home("#!/bin/sh\ncat >/dev/null\n");
    let path = home.path().join("h");
    let text = format!("STARTER_JOB_HOOK_KEYWORD = STIE\nSITE_HOOK_PREPARE_JOB = {}\n", path.display());
    std::fs::write(home.path().join("c"), text).unwrap();
    let Some((status, _, err)) = status_and_output(home.path(), &["prepare", "--config-file", "c"]) else {
        return;
    };
    assert_eq!(status, 3, "{err}");
    assert!(err.contains("STIE_HOOK_PREPARE_JOB is not set"), "{err}");
    assert!(err.contains("STARTER_JOB_HOOK_KEYWORD"), "{err}");
    assert!(err.contains("did you mean the keyword SITE? SITE_HOOK_PREPARE_JOB is set"), "{err}");
}

#[test]
fn a_hook_that_runs_long_is_reported_once_with_the_option_that_ends_it() {
    let home = home("#!/bin/sh\ncat >/dev/null\nexec sleep 6\n");
    let words = ["prepare", "h", "--sample-job", "vanilla"];
    let Some((status, _, err)) = status_and_output(home.path(), &words) else { return };
    assert_eq!(status, 0, "{err}");
    let notice = "the hook has not ended after 5 s; --timeout SECONDS limits the time\n";
    assert_eq!(err.matches(notice).count(), 1, "{err}");
}

#[test]
fn update_changes_the_case_and_not_similar_text() {
    let home = home("#!/bin/sh\nexit 3\n");
    let suite = "[[case]]\nname = \"one\"\nhook = \"h\"\ntype = \"prepare\"\n\
                 job = \"\"\"\nCmd = \"/bin/true\"\nB = \"[[case]]\"\n\"\"\"\nexpect = { verdict = \"not-started\" }\n\
                 [[case]]\nname = \"two\"\nhook = \"h\"\ntype = \"prepare\"\n\
                 [[case]]\nname = \"three\"\nhook = \"h\"\ntype = \"prepare\"\nexpect = { stderr = \"never\" }\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let Some((status, _, err)) = status_and_output(home.path(), &["run", "s.toml", "--update"]) else {
        return;
    };
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("not updated, edit by hand: s: three: the expected stderr"), "{err}");
    let now = std::fs::read_to_string(home.path().join("s.toml")).unwrap();
    assert!(now.contains("[[case]]\nexpect = { verdict = \"not-started\" }\nname = \"two\""), "{now}");
    assert!(now.contains("B = \"[[case]]\"\n\"\"\""), "{now}");

    let suite =
        "[defaults]\nexpect = { findings = [] }\n[[case]]\nname = \"x\"\nhook = \"h\"\ntype = \"prepare\"\n";
    std::fs::write(home.path().join("d.toml"), suite).unwrap();
    let (_, _, err) = status_and_output(home.path(), &["run", "d.toml", "--update"]).unwrap();
    assert!(err.contains("its expectations are in [defaults]"), "{err}");
    assert_eq!(std::fs::read_to_string(home.path().join("d.toml")).unwrap(), suite);
}

#[test]
fn another_scratch_directory_name_is_not_a_difference() {
    let home = home("#!/bin/sh\ncat >/dev/null\necho \"Where = \\\"$_CONDOR_SCRATCH_DIR\\\"\"\n");
    for words in [&["--repeat", "3"][..], &["--probe"]] {
        let words: Vec<&str> =
            ["prepare", "h", "--sample-job", "vanilla"].iter().chain(words).copied().collect();
        let Some((status, _, err)) = status_and_output(home.path(), &words) else { return };
        assert_eq!(status, 0, "{err}");
        assert!(!err.contains("varies") && !err.contains("gives a different result"), "{err}");
    }
    let words = ["prepare", "h", "--sample-job", "vanilla", "--repeat", "3", "--keep", "kept"];
    status_and_output(home.path(), &words).unwrap();
    assert_eq!(std::fs::read_dir(home.path().join("kept")).unwrap().count(), 3);
}

#[test]
fn an_interrupted_series_of_calls_is_a_failure() {
    let home = home("#!/bin/sh\necho >> \"$0.calls\"\nsleep 0.3\n");
    let calls = home.path().join("h.calls");
    for words in [&["--time", "100"][..], &["--repeat", "100"], &["--fuzz", "100"]] {
        let words: Vec<&str> =
            ["prepare", "h", "--sample-job", "vanilla"].iter().chain(words).copied().collect();
        let Some(mut command) = command(home.path(), &words) else { return };
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The signal is sent in the middle of the series of calls.
        let called = || std::fs::read_to_string(&calls).unwrap_or_default().lines().count();
        assert!(crate::router::live::waits_for(|| called() > 2), "{words:?}");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        let mut child = child;
        let status = child.wait().unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert!(status.code() == Some(130) || status.signal() == Some(2), "{words:?}: {status}");
        std::fs::remove_file(&calls).unwrap();
    }
}

#[test]
fn events_of_a_call_are_written_and_refused_by_other_verbs() {
    let home = home("#!/bin/sh\nexit 3\n");
    let words = ["prepare", "h", "--sample-job", "vanilla", "--events", "e"];
    let Some((status, ..)) = status_and_output(home.path(), &words) else { return };
    assert_eq!(status, 1);
    let events = std::fs::read_to_string(home.path().join("e")).unwrap();
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let word = |at: usize, key: &str| events[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!((word(0, "event"), word(0, "exit")), ("hook-end".into(), "exited 3".into()));
    assert_eq!((word(1, "event"), word(1, "verdict")), ("verdict".into(), "not-started".into()));
    for words in [&["run", ".", "--events", "e"][..], &["prepare", "h", "--time", "2", "--events", "e"]] {
        assert_eq!(status_and_output(home.path(), words).unwrap().0, 2, "{words:?}");
    }
    assert_eq!(status_and_output(home.path(), &["prepare", "h", "--events", "/nonexistent/e"]).unwrap().0, 2);
}

#[test]
fn options_without_effect_are_refused_and_json_is_valid() {
    let home = home("#!/bin/sh\ncat >/dev/null\nexit 3\n");
    for words in [
        &["--time", "2", "--expect", "true"][..],
        &["--time", "2", "--keep", "k"],
        &["--fuzz", "2", "--expect", "true"],
        &["--fuzz", "2", "--keep", "k"],
        &["--fuzz", "2", "--repeat", "2"],
    ] {
        let words: Vec<&str> =
            ["prepare", "h", "--sample-job", "vanilla"].iter().chain(words).copied().collect();
        let Some((status, ..)) = status_and_output(home.path(), &words) else { return };
        assert_eq!(status, 2, "{words:?}");
    }
    for (words, key) in
        [(&["--time", "2"][..], "/0/milliseconds/median"), (&["--fuzz", "3", "--seed", "1"], "/0/found")]
    {
        let words: Vec<&str> =
            ["prepare", "h", "--sample-job", "vanilla", "--json"].iter().chain(words).copied().collect();
        let (_, out, err) = status_and_output(home.path(), &words).unwrap();
        let all: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        assert!(all.pointer(key).is_some(), "{all}");
    }
}

#[test]
fn options_set_the_call_of_a_cron_job() {
    let home = home("#!/bin/sh\necho \"A = \\\"$SITE\\\"\"\necho \"B = \\\"$(tool)\\\"\"\n");
    std::fs::create_dir(home.path().join("bin")).unwrap();
    write_executable(&home.path().join("bin/tool"), b"#!/bin/sh\necho double\n");
    let words = ["startd-cron", "h", "--env", "SITE=here", "--path-prepend", "bin"];
    let Some((status, out, err)) = status_and_output(home.path(), &words) else { return };
    assert_eq!(status, 0, "{err}");
    assert!(out.contains("A = \"here\"\n") && out.contains("B = \"double\"\n"), "{out}{err}");
    let (status, out, err) =
        status_and_output(home.path(), &["startd-cron", "h", "--env", "SITE=here", "-i"]).unwrap();
    assert_eq!((status, out.as_str()), (0, ""), "{err}");
    assert!(err.contains("argv[0]: H\n") && err.contains("env: SITE=here\n"), "{err}");
    for bad in ["nan", "-5", "1e300"] {
        assert_eq!(
            status_and_output(home.path(), &["startd-cron", "h", "--for", bad]).unwrap().0,
            2,
            "{bad}"
        );
    }
}

#[test]
fn kept_files_show_how_the_hook_was_called() {
    let home = home("#!/bin/sh\ncat >/dev/null\numask >&2\npwd >&2\n");
    let words = ["prepare", "h", "--sample-job", "vanilla", "--keep", "kept"];
    if status_and_output(home.path(), &words).is_none() {
        return;
    }
    let call = std::fs::read_dir(home.path().join("kept")).unwrap().next().unwrap().unwrap().path();
    let meta: serde_json::Value =
        serde_json::from_slice(&std::fs::read(call.join("meta.json")).unwrap()).unwrap();
    let said = std::fs::read_to_string(call.join("stderr")).unwrap();
    let said: Vec<&str> = said.lines().collect();
    assert_eq!([&meta["umask"], &meta["cwd"]], said[..]);
    assert_eq!(meta["fds"][0], serde_json::json!({ "fd": 0, "flags": "r", "target": "pipe" }));
    let uid = nix::unistd::geteuid().as_raw();
    assert_eq!(meta["uid"], serde_json::json!([uid, uid, uid]));
    let seconds = |name: &str| meta[name].as_f64().unwrap();
    assert!(
        seconds("start_s") > 1.7e9
            && (seconds("end_s") - seconds("start_s") - seconds("seconds")).abs() < 1e-3
    );
}

#[test]
fn job_exit_hold_has_a_note_that_a_real_pool_passes_evict() {
    let home = home("#!/bin/sh\ncat >/dev/null\necho told $1 >&2\n");
    let Some((status, _, stderr)) = status_and_output(home.path(), &["exit", "./h", "hold"]) else { return };
    assert_eq!(status, 0, "{stderr}");
    assert!(stderr.contains("told hold\n"), "{stderr}");
    assert!(stderr.contains("HTCondor 25.14 itself: done, it is called with `evict`"), "{stderr}");
    assert!(stderr.contains("25.14 (exit-reason-always-evict)"), "{stderr}");
    let words = ["exit", "./h", "hold", "--quirks", "reference"];
    let Some((_, _, stderr)) = status_and_output(home.path(), &words) else { return };
    assert!(stderr.contains("told evict\n"), "{stderr}");
    // A starter of 25.14 also calls the hook with `evict`, so there is no note about the version.
    let Some((_, _, stderr)) = status_and_output(home.path(), &["exit", "./h", "evict"]) else { return };
    assert!(!stderr.contains("25.14"), "{stderr}");
}

/// Regression test: a single word was treated as the path of the hook.
#[test]
fn a_single_word_is_the_argument_of_the_configured_hook() {
    let home = home("#!/bin/sh\ncat >/dev/null\necho told \"$1\" >&2\n");
    let config = format!(
        "STARTD_JOB_HOOK_KEYWORD = T\nSTARTER_DEFAULT_JOB_HOOK_KEYWORD = T\nT_HOOK_REPLY_FETCH = {0}/h\n\
         T_HOOK_JOB_EXIT = {0}/h\n",
        home.path().display()
    );
    std::fs::write(home.path().join("c"), config).unwrap();
    for (words, expected) in [
        (&["reply", "reject"][..], "told reject"),
        (&["reply"], "told accept"),
        (&["exit", "evict"], "told evict"),
        (&["exit", "./h", "hold"], "told hold"),
        (&["reply", "h", "reject"], "told reject"),
    ] {
        let words: Vec<&str> = words.iter().chain(&["--config-file", "c"]).copied().collect();
        let Some((status, _, err)) = status_and_output(home.path(), &words) else { return };
        assert_eq!(status, 0, "{words:?}: {err}");
        assert!(err.contains(expected), "{words:?}: {err}");
    }
}

/// `ArgList::AppendArgsFromClassAd` reads Args only if there is no Arguments.
#[test]
fn arguments_in_a_form_that_is_not_read_are_reported() {
    let home = home("#!/bin/sh\ncat >/dev/null\necho 'Args = \"a b\"'\n");
    let job = ["--sample-job", "vanilla", "--set"];
    for (set, is_told) in [("Arguments=\"x y\"", true), ("Arguments=undefined", false)] {
        let words: Vec<&str> = ["prepare", "h"].iter().chain(&job).chain(&[set]).copied().collect();
        let Some((_, _, err)) = status_and_output(home.path(), &words) else { return };
        assert_eq!(err.contains("Args has no effect: the job has Arguments"), is_told, "{set}: {err}");
    }
}

#[test]
fn the_input_of_a_hook_is_available_as_json() {
    let home = home("#!/bin/sh\n");
    let words = ["prepare", "h", "--sample-job", "vanilla", "--show-input", "--json"];
    let Some((status, out, err)) = status_and_output(home.path(), &words) else { return };
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!((status, rows[0]["hook"].as_str()), (0, Some("PREPARE_JOB")), "{out}");
    assert!(rows[0]["stdin"].as_str().unwrap().contains("Cmd = "), "{out}");
}

#[test]
fn control_characters_of_output_do_not_reach_the_terminal() {
    for (words, hook) in [
        (&["startd-cron", "./h"][..], "printf 'A = \\033[31mred\\n'"),
        (&["fetch", "./h"][..], "printf 'A = \\033[31mred\\n'"),
    ] {
        let home = home(&format!("#!/bin/sh\n{hook}\n"));
        let Some((_, _, err)) = status_and_output(home.path(), words) else { return };
        assert!(err.contains("?[31mred") && !err.contains('\u{1b}'), "{words:?}: {err}");
    }
}

#[test]
fn a_string_without_quotes_is_pointed_out() {
    let answer =
        "Foo = bar\nW = None\nI = 'docker://debian'\nA = true\nB = undefined\nC = RequestCpus\nD = Foo";
    let home = home(&format!("#!/bin/sh\ncat <<'E'\n{answer}\nE\n"));
    let Some((status, _, err)) = status_and_output(home.path(), &["prepare", "./h"]) else { return };
    assert_eq!(status, 0, "{err}");
    for (name, word) in [("Foo", "bar"), ("I", "docker://debian")] {
        let expected =
            format!("{word} is the name of an attribute that the ad does not have, so {name} is undefined");
        assert!(
            err.contains(&expected) && err.contains(&format!("{name} = \"{word}\"")),
            "{expected}: {err}"
        );
    }
    assert_eq!(err.matches("unquoted-string").count(), 2, "{err}");
    assert_eq!(err.matches("foreign-literal").count(), 1, "{err}");
}

/// Regression test: an `expect` that was still correct was rewritten in another form.
#[test]
fn an_update_keeps_the_format_of_correct_expectations() {
    let home = home("#!/bin/sh\ncat >/dev/null\n");
    let suite = "[[case]]\nname = \"one\"\nhook = \"h\"\ntype = \"prepare\"\nexpect = { verdict = \"go-on\", \
                 result = [\"Owner == \\\"zoe\\\"\"] }\n";
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let Some((status, _, err)) = status_and_output(home.path(), &["run", "s.toml", "--update"]) else {
        return;
    };
    assert!(status == 1 && err.contains("not updated, edit by hand: s: one: the expected result"), "{err}");
    assert_eq!(std::fs::read_to_string(home.path().join("s.toml")).unwrap(), suite);
}

/// The verdict is about another ad than the user probably means.
#[test]
fn quiet_does_not_hide_that_a_file_of_ads_is_only_an_argument() {
    let home = home("#!/bin/sh\ncat >/dev/null\n");
    std::fs::write(home.path().join("go.ad"), "ClusterId = 1\n").unwrap();
    let Some((_, _, err)) =
        status_and_output(home.path(), &["prepare", "./h", "go.ad", "-q", "--sample-job", "vanilla"])
    else {
        return;
    };
    assert!(err.contains("'go.ad' is an argument of the hook"), "{err}");
}
