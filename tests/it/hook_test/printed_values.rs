//! Tests of `--strict`, and of values in a hook's output that lint would report in a file.

use crate::hook_test::calls::{status_and_output, text};
use crate::support::children::write_executable;

const HOOK: &[u8] = b"#!/bin/sh
cat >/dev/null
echo 'Foo = bar'
echo 'RequestCpus = \"four\"'
echo 'W = None'
echo 'Late = JobSatus == 5'
";

#[test]
fn suspicious_printed_values_are_warnings() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), HOOK);
    let Some((status, _, err)) =
        status_and_output(home.path(), &["prepare", "./h", "--sample-job", "vanilla"])
    else {
        return;
    };
    assert_eq!(status, 0, "{err}");
    for rule in ["unquoted-string", "wrong-type", "foreign-literal", "unknown-attribute"] {
        assert!(err.contains(&format!("warning {rule}: ")), "{rule}: {err}");
    }
    assert!(err.contains("hint: a string needs double quotes: Foo = \"bar\""), "{err}");
}

#[test]
fn strict_makes_warnings_fail_in_calls_and_suites() {
    let home = tempfile::tempdir().unwrap();
    write_executable(&home.path().join("h"), HOOK);
    write_executable(&home.path().join("good"), b"#!/bin/sh\ncat >/dev/null\necho 'Foo = \"bar\"'\n");
    let call = |hook: &str| {
        status_and_output(home.path(), &["prepare", hook, "--sample-job", "vanilla", "--strict"])
    };
    let Some((status, _, err)) = call("./h") else { return };
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("4 warnings, which --strict treats as failure"), "{err}");
    assert_eq!(call("./good").unwrap().0, 0);
    // The input has several ads.
    std::fs::write(home.path().join("jobs.ads"), "ClusterId = 1\nProcId = 0\n\nClusterId = 2\nProcId = 0\n")
        .unwrap();
    let ads = |words: &[&str]| {
        status_and_output(
            home.path(),
            &[&["prepare", "./h", "--ads", "jobs.ads", "--summary"], words].concat(),
        )
        .unwrap()
    };
    assert_eq!((ads(&[]).0, ads(&["--strict"]).0), (0, 1));
    // A case accepts the findings that it lists.
    let listed = "[\"unquoted-string\", \"wrong-type\", \"foreign-literal\", \"unknown-attribute\"]";
    let suite = format!(
        "[[case]]\nname = \"any\"\nhook = \"h\"\ntype = \"prepare\"\n\n\
         [[case]]\nname = \"listed\"\nhook = \"h\"\ntype = \"prepare\"\nexpect = {{ findings = {listed} }}\n"
    );
    std::fs::write(home.path().join("s.toml"), suite).unwrap();
    let suite = |words: &[&str]| {
        status_and_output(home.path(), &[&["run", "s.toml", "--tap"], words].concat()).unwrap()
    };
    let (status, out, err) = suite(&[]);
    assert_eq!(status, 0, "{out}{err}");
    let (status, out, err) = suite(&["--strict"]);
    assert_eq!(status, 1, "{out}{err}");
    let failed: Vec<&str> = out.lines().filter(|line| line.starts_with("not ok")).collect();
    assert!(failed.len() == 1 && failed[0].ends_with("any"), "{}", text(out.as_bytes()));
}
