//! What a starter is given by its daemons: options, tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::place::{Place, shell};

#[test]
fn standard_files_that_are_named_are_those_where_one_stands_and_in_the_scratch_directory_for_the_daemon() {
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
fn a_starter_of_a_schedd_ends_with_what_the_schedd_is_to_do_with_the_job() {
    for (script, policy, status, events) in [
        ("exit 0", "", 100, "000 001 005"),
        ("exit 3", "OnExitHold = ExitCode =?= 3", 112, "000 001 012"),
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

/// `CredDirCreator` (cred_dir.cpp); the directory is open to all there.
#[test]
fn a_played_access_point_gives_a_job_its_tokens_and_they_are_gone_with_it() {
    let place = |mode: u32| {
        let place = Place::new().noting().option(&["--as", "shadow"]);
        let tokens = place.path("tokens/nobody");
        fs::create_dir_all(&tokens).unwrap();
        let token = tokens.join("scitokens_x.use");
        fs::write(&token, "secret\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        let knob = format!("SEC_CREDENTIAL_DIRECTORY_OAUTH = {}", place.path("tokens").display());
        place.knob(&knob)
    };
    let needs = "ShouldTransferFiles = \"NO\"\nOAuthServicesNeeded = \"scitokens*x\"\nOut = \"out\"";
    let script = "cd $_CONDOR_CREDS; pwd; stat -c %a . *; cat *";
    let own = place(0o600);
    let ran = own.run(&format!("{}\n{needs}", shell(script)));
    assert!(ran.has("JobStatus = 4") && ran.has("ExitCode = 0"), "{}{}", ran.ad, ran.told);
    let out = fs::read_to_string(own.path("iwd/out")).unwrap();
    let (directory, rest) = out.split_once('\n').unwrap();
    assert!(directory.ends_with("/.condor_creds") && rest == "700\n600\nsecret\n", "{out}");
    assert!(ran.told.contains("laid down once"), "{}", ran.told);
    assert!(ran.left.is_empty(), "{:?}", ran.left);
    // A scratch directory that is kept has none either.
    let kept = own.path("iwd/kept");
    let moved = place(0o600).knob(&format!("STARTER_MOVE_WORKING_DIR_ON_EXIT = {}", kept.display()));
    moved.run(&format!("{}\n{needs}", shell("exit 0")));
    assert!(!kept.join("scratch/.condor_creds").exists() && !kept.join(".condor_creds").exists());
    for (mode, knob, services, why) in [
        (0o644, "", "scitokens*x", "others may read or write it"),
        (0o600, "", "other", "No such file"),
        (0o600, "", "../nobody/scitokens", "is no name of a file"),
        (0o600, "SEC_CREDENTIAL_DIRECTORY_OAUTH =", "scitokens*x", "is not set"),
    ] {
        let place = place(mode).knob(knob);
        let needs = needs.replace("scitokens*x", services);
        let ran = place.run(&format!("{}\n{needs}", shell("exit 0")));
        assert!(!ran.has("JobStatus = 4") && ran.told.contains(why), "{services}: {}{}", ran.ad, ran.told);
        assert!(ran.left.is_empty() && !place.path("iwd/out").exists(), "{:?}", ran.left);
    }
    let trusting = place(0o644).knob("TRUST_CREDENTIAL_DIRECTORY = true");
    assert!(trusting.run(&format!("{}\n{needs}", shell("exit 0"))).has("JobStatus = 4"));
}
