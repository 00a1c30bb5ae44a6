//! Tests of options that daemons pass to a starter.

use std::fs;

use crate::support::place::{Place, shell};

#[test]
fn standard_file_options_are_relative_to_the_current_directory() {
    let script = "read line; echo $line; echo bad >&2";
    let ad = format!("{}\nIn = \"/dev/null\"\nOut = \"other\"\nErr = \"other\"", shell(script));
    let place = |words: &[&str]| {
        let dashes = if words.is_empty() { "--" } else { "-" };
        let files = ["stdin", "stdout", "stderr"];
        let files = files.map(|name| [format!("{dashes}job-{name}"), format!("here/{name}")]);
        let mut place = Place::new().option(words);
        place.options.extend(files.into_iter().flatten());
        place.tool = !words.is_empty();
        fs::create_dir(place.path("here")).unwrap();
        place.chown_to_nobody("here");
        fs::write(place.path("here/stdin"), "heard\n").unwrap();
        place
    };
    let by_hand = place(&[]);
    let run = by_hand.run(&ad);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let written = |name: &str| fs::read_to_string(by_hand.path("here").join(name)).unwrap();
    assert_eq!((written("stdout"), written("stderr")), ("heard\n".into(), "bad\n".into()));
    assert!(!by_hand.path("iwd/other").exists());
    let run = place(&["-f", "-t", "-job-input-ad", "-"]).run(&ad);
    assert!(
        run.stderr.contains("/scratch/here/stdin' as standard input: No such file or directory (errno 2)"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_exit_status_tells_a_schedd_what_to_do_with_the_job() {
    for (script, policy, status, events) in [
        ("exit 0", "", 100, "000 001 005"),
        ("exit 3", "OnExitHold = ExitCode =?= 3", 112, "000 001 004 012"),
        ("exit 3", "OnExitRemove = ExitCode =?= 0", 107, "000 001 004"),
    ] {
        let mut place =
            Place::new().option(&["-f", "-job-input-ad", "-", "-schedd-addr", "<127.0.0.1:9618?alias=here>"]);
        place.tool = true;
        let run = place.run(&format!("{}\nJobUniverse = 12\nUserLog = \"log\"\n{policy}", shell(script)));
        assert_eq!(run.status, status, "{policy}: {}", run.stderr);
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        let heads = log.lines().filter(|line| line.get(3..5) == Some(" ("));
        let numbers: Vec<&str> = heads.map(|line| &line[..3]).collect();
        assert_eq!(numbers.join(" "), events, "{log}");
        assert!(run.left.is_empty(), "{:?}", run.left);
    }
}

#[test]
fn the_daemon_prints_its_version_and_option_errors() {
    let daemon = |words: &[&str]| {
        let place = Place::new().option(words);
        Place { tool: true, ..place }.run("")
    };
    for words in [&["-version"][..], &["-v"], &["-f", "-v", "-job-input-ad", "-"]] {
        let run = daemon(words);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let lines: Vec<&str> = run.ad.lines().collect();
        assert!(lines[0].starts_with("$CondorVersion: 25.14") && lines[1].starts_with("$CondorPlatform: "));
    }
    for (words, text) in [
        (&["-pidfile"][..], "-pidfile needs another argument"),
        (&["-k"], "-kill needs another argument"),
        (&["-k", "/nosuch"], "can't open pid file /nosuch for reading"),
        (&["-k", "/dev/null"], "does not stop other daemons"),
    ] {
        let run = daemon(words);
        assert!(run.status == 1 && run.stderr.contains(text), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn the_pid_file_exists_while_the_daemon_runs() {
    let words =
        |path: &str| ["-f", "-pidfile", path, "-job-input-ad", "-", "-job-output-ad", "-"].map(str::to_owned);
    let place = Place::new();
    let path = place.path("pid");
    let options = words(&path.display().to_string()).to_vec();
    let place = Place { tool: true, options, ..place };
    let script = format!("[ $(cat {}) = $CONDOR_STARTER_PID ] && exit 5", path.display());
    let run = place.run(&format!("{}\nEnvironment = \"A=1\"", shell(&script)));
    assert!(run.has("ExitCode = 5"), "{}\n{}", run.ad, run.stderr);
    assert!(!path.exists());

    let place = Place { tool: true, options: words("/nosuch/pid").to_vec(), ..Place::new() };
    let run = place.run(&shell("exit 5"));
    assert!(run.has("ExitCode = 5"), "{}", run.ad);
    assert!(run.stderr.contains("cannot write the pid file '/nosuch/pid' (-pidfile)"), "{}", run.stderr);
}

#[test]
fn invalid_ids_and_directories_as_logs_are_refused() {
    for id in ["-1", "x", "99999999999999999999"] {
        let run = Place::new().option(&[&format!("--job-cluster={id}")]).run(&shell("exit 0"));
        assert!(run.status == 2 && run.stderr.contains("is not a number from 0 to"), "{id}: {}", run.stderr);
    }
    let run = Place::new().option(&["--events-of", "iwd"]).run("");
    assert!(run.status == 3 && run.stderr.contains("'iwd' is a directory, not a log"), "{}", run.stderr);
}

#[test]
fn a_log_in_the_scratch_directory_is_reported() {
    let ad = format!("{}\nIwd = \"\"\nStarterUserLog = \"sulog\"", shell("exit 0"));
    let run = Place::new().run(&ad);
    assert!(run.stderr.contains("'sulog' is in the scratch directory"), "{}", run.stderr);
    assert!(run.stderr.contains("empty-iwd-log-in-root"), "{}", run.stderr);
    if nix::unistd::geteuid().is_root() {
        let run = Place::new().option(&["--quirks", "reference"]).run(&ad);
        assert!(run.stderr.contains("the job's log '/sulog' cannot be opened"), "{}", run.stderr);
        assert!(!std::path::Path::new("/sulog").exists());
    }
}
