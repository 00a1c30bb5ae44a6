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
        place.give("here");
        fs::write(place.path("here/stdin"), "heard\n").unwrap();
        place
    };
    let by_hand = place(&[]);
    let ran = by_hand.run(&ad);
    assert_eq!(ran.status, 0, "{}", ran.told);
    let written = |name: &str| fs::read_to_string(by_hand.path("here").join(name)).unwrap();
    assert_eq!((written("stdout"), written("stderr")), ("heard\n".into(), "bad\n".into()));
    assert!(!by_hand.path("iwd/other").exists());
    let ran = place(&["-f", "-t", "-job-input-ad", "-"]).run(&ad);
    assert!(
        ran.told.contains("/scratch/here/stdin' as standard input: No such file or directory (errno 2)"),
        "{}",
        ran.told
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
        let ran = place.run(&format!("{}\nJobUniverse = 12\nUserLog = \"log\"\n{policy}", shell(script)));
        assert_eq!(ran.status, status, "{policy}: {}", ran.told);
        let log = fs::read_to_string(place.path("iwd/log")).unwrap();
        let heads = log.lines().filter(|line| line.get(3..5) == Some(" ("));
        let numbers: Vec<&str> = heads.map(|line| &line[..3]).collect();
        assert_eq!(numbers.join(" "), events, "{log}");
        assert!(ran.left.is_empty(), "{:?}", ran.left);
    }
}

#[test]
fn the_daemon_prints_its_version_and_option_errors() {
    let daemon = |words: &[&str]| {
        let place = Place::new().option(words);
        Place { tool: true, ..place }.run("")
    };
    for words in [&["-version"][..], &["-v"], &["-f", "-v", "-job-input-ad", "-"]] {
        let ran = daemon(words);
        assert_eq!(ran.status, 0, "{}", ran.told);
        let lines: Vec<&str> = ran.ad.lines().collect();
        assert!(lines[0].starts_with("$CondorVersion: 25.14") && lines[1].starts_with("$CondorPlatform: "));
    }
    for (words, text) in [
        (&["-pidfile"][..], "-pidfile needs another argument"),
        (&["-k"], "-kill needs another argument"),
        (&["-k", "/nosuch"], "can't open pid file /nosuch for reading"),
        (&["-k", "/dev/null"], "does not stop other daemons"),
    ] {
        let ran = daemon(words);
        assert!(ran.status == 1 && ran.told.contains(text), "{words:?}: {}", ran.told);
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
    let ran = place.run(&format!("{}\nEnvironment = \"A=1\"", shell(&script)));
    assert!(ran.has("ExitCode = 5"), "{}\n{}", ran.ad, ran.told);
    assert!(!path.exists());

    let place = Place { tool: true, options: words("/nosuch/pid").to_vec(), ..Place::new() };
    let ran = place.run(&shell("exit 5"));
    assert!(ran.has("ExitCode = 5"), "{}", ran.ad);
    assert!(ran.told.contains("cannot write the pid file '/nosuch/pid' (-pidfile)"), "{}", ran.told);
}

#[test]
fn invalid_ids_and_directories_as_logs_are_refused() {
    for id in ["-1", "x", "99999999999999999999"] {
        let ran = Place::new().option(&[&format!("--job-cluster={id}")]).run(&shell("exit 0"));
        assert!(ran.status == 2 && ran.told.contains("is not a number from 0 to"), "{id}: {}", ran.told);
    }
    let ran = Place::new().option(&["--events-of", "iwd"]).run("");
    assert!(ran.status == 3 && ran.told.contains("'iwd' is a directory, not a log"), "{}", ran.told);
}

#[test]
fn a_log_in_the_scratch_directory_is_reported() {
    let ad = format!("{}\nIwd = \"\"\nStarterUserLog = \"sulog\"", shell("exit 0"));
    let ran = Place::new().run(&ad);
    assert!(ran.told.contains("'sulog' is in the scratch directory"), "{}", ran.told);
    assert!(ran.told.contains("empty-iwd-log-in-root"), "{}", ran.told);
    if nix::unistd::geteuid().is_root() {
        let ran = Place::new().option(&["--quirks", "reference"]).run(&ad);
        assert!(ran.told.contains("the job's log '/sulog' cannot be opened"), "{}", ran.told);
        assert!(!std::path::Path::new("/sulog").exists());
    }
}
