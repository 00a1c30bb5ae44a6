//! Tests of messages about files with arbitrary contents, and about names that are not in the tables of 25.14.0.

use std::fs;
use std::process::Command;

/// Returns all output of a program that runs in a directory with these files.
fn run_program(program: &str, words: &[&str], files: &[(&str, &str)]) -> String {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    let output = Command::new(program).args(words).env_clear().current_dir(place.path()).output().unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

#[test]
fn no_message_sends_a_terminal_the_commands_that_a_file_holds() {
    let config = ("c", "B@ = 1\u{1b}[2J\nif \u{1b}]0;x\u{7}\n");
    let rules = ("r", "SET X (\u{1b}[31m\nFOO \u{1b}[2J\n");
    let ads = ("a", "A = 1\n\u{1b}[2Jbad\nB = (\u{1b}[31m\n");
    for told in [
        run_program(env!("CARGO_BIN_EXE_htc-config-dump"), &["lint", "c"], &[config]),
        run_program(env!("CARGO_BIN_EXE_htc-router-translate"), &["lint", "r"], &[rules]),
        run_program(env!("CARGO_BIN_EXE_htc-classad-eval"), &["--ads", "a", "-af", "A"], &[ads]),
        run_program(
            env!("CARGO_BIN_EXE_htc-classad-eval"),
            &["--ads", "a", "-c", "A == \"\u{1b}[2J", "-af", "A"],
            &[ads],
        ),
    ] {
        assert!(!told.contains(['\u{1b}', '\u{7}']) && told.contains("?["), "{told:?}");
    }
}

#[test]
fn parameters_that_came_with_25_14_1_are_known() {
    let config = "METRICD_INTERVAL = 30\nPROMETHEUS_HTTP_PORT = 9618\nGANGLIA_WANT_RESET_METRICS = true\n";
    let lint = run_program(env!("CARGO_BIN_EXE_htc-config-dump"), &["lint", "c"], &[("c", config)]);
    assert!(lint.starts_with("no findings"), "{lint}");
}
